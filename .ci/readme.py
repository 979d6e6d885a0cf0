"""README.md from nbs/index.ipynb, in GitHub's Markdown: text, code, and outputs as text, and the first state of its widget as the picture."""
import html
import json
import re
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
PICTURE = "nbs/home.svg"
SHOWN = re.compile(r'<img class="ce-shown" data-frame="0" alt="([^"]*)" src="data:image/svg\+xml,([^"]*)">')
SITE = r"](https://cost-eval.github.io/cost_eval/\1.html"
NOTE = "<!-- Made from nbs/index.ipynb by .ci/readme.py: edit the notebook. -->\n"


def text_of(output):
    "An output as Markdown; of a widget its picture, nothing for another figure."
    data = output.get("data", {})
    if found := SHOWN.search("".join(data.get("text/html", ""))):
        return f"![{html.unescape(found[1])}]({PICTURE})"
    if "text/markdown" in data:
        return "".join(data["text/markdown"]).strip("\n")
    text = "".join(output.get("text", data.get("text/plain", ""))).rstrip()
    figure = any(kind.startswith("image/") or "widget" in kind for kind in data)
    return f"```text\n{text}\n```" if text and not figure else ""


def render_cell(cell):
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return re.sub(r"\n\n- keywords: .*", "", re.sub(r"\]\((?:\d\d_)?(\w+)\.ipynb", SITE, source))
    if cell["cell_type"] != "code" or re.search(r"^#\| *hide$", source, re.M):
        return ""
    code = re.sub(r"^(?:#\|.*\n?)*", "", source).strip("\n")
    shown = "" if re.search(r"^#\| *echo: *false$", source, re.M) else f"```python\n{code}\n```"
    return "\n\n".join(filter(None, [shown, *map(text_of, cell["outputs"])]))


def render(notebook):
    "The notebook (a dict) as Markdown."
    return "\n\n".join(filter(None, [NOTE.strip(), *map(render_cell, notebook["cells"])])) + "\n"


def picture(notebook):
    "The first widget's picture as it stands, an SVG."
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    pages = ("".join(output.get("data", {}).get("text/html", "")) for output in outputs)
    return unquote(next(filter(None, map(SHOWN.search, pages)))[2]) + "\n"


def main():
    notebook = json.loads((ROOT / "nbs" / "index.ipynb").read_text(encoding="utf-8"))
    made = {"README.md": render(notebook), PICTURE: picture(notebook)}
    for name, text in made.items():
        if not (ROOT / name).is_file() or (ROOT / name).read_text(encoding="utf-8") != text:
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"{name} written")


if __name__ == "__main__":
    main()
