"""README.md from nbs/index.ipynb, in GitHub's Markdown: text, code, and outputs as text; figures stay on the site."""
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTE = "<!-- Made from nbs/index.ipynb by .ci/readme.py: edit the notebook. -->\n"


def directives(source):
    "The `#| ` lines at the top of a cell: name -> value."
    lines = re.match(r"(?:#\|.*\n?)*", source)[0].splitlines()
    return dict((name.strip(), value.strip()) for name, _, value in (line[2:].partition(":") for line in lines))


def text_of(output):
    "An output as Markdown; nothing for a figure."
    data = output.get("data", {})
    if "text/markdown" in data:
        return "".join(data["text/markdown"]).strip("\n")
    text = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
    figure = any(kind.startswith("image/") or "widget" in kind for kind in data)
    return f"```text\n{text}\n```" if text and not figure else ""


def render_cell(cell):
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return re.sub(r"\]\((\w+\.ipynb)", r"](nbs/\1", source)
    flags = directives(source)
    if cell["cell_type"] != "code" or "hide" in flags or flags.get("include") == "false":
        return ""
    code = re.sub(r"^(?:#\|.*\n?)*", "", source).strip("\n")
    shown = [] if flags.get("echo") == "false" or not code else [f"```python\n{code}\n```"]
    if flags.get("output") != "false":
        shown += [text_of(output) for output in cell["outputs"]]
    return "\n\n".join(filter(None, shown))


def render(notebook):
    "The notebook (a dict) as Markdown."
    return "\n\n".join(filter(None, [NOTE.strip(), *map(render_cell, notebook["cells"])])) + "\n"


def main(check):
    made = render(json.loads((ROOT / "nbs" / "index.ipynb").read_text(encoding="utf-8")))
    readme = ROOT / "README.md"
    if readme.read_text(encoding="utf-8") == made:
        return 0
    if check:
        return 1
    readme.write_text(made, encoding="utf-8")
    print("README.md written")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
