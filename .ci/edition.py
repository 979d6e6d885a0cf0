"""The reader's edition of the notebooks, for JupyterLab: `make lab` opens it, the sources stay as they are.

What folds on the page and exported code are collapsed (a click on the bar opens them), captions stand as text
below their figures, solutions are folded, options of the page and badges are gone. The cells run as before.

    python .ci/edition.py FOLDER        writes the edition of nbs/ there
"""
import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".ci" / "site"))

from reading import BADGE, read  # noqa: E402
from translate import markdown_cell, source, split_options  # noqa: E402

FOLD = re.compile(r'^::: \{\.callout-\w+ collapse="true" title="([^"]*)"\}\n(.*?)\n:::$', re.M | re.S)
FENCE = re.compile(r"^(?::::|- keywords:).*\n?", re.M)
BEHIND = re.compile(r"^#\|\s*(?:export|exporti|hide|code-fold: true|echo: false)\b", re.M)
NOTHING = re.compile(r"^#\|\s*default_exp\b|google\.colab", re.M)  # cells that say nothing here


def edition(nb):
    "The notebook as a reader opens it: the cells as they are, collapsed by their metadata."
    cells, solution = [], False
    for cell in nb["cells"]:
        if cell["cell_type"] == "markdown":
            text = unfenced(source(cell))
            solution = text.endswith("</details>")
            cells += [{**cell, "source": text}] * bool(text)  # nothing is left of badges
        elif not NOTHING.search(source(cell)):
            cells += opened(cell, solution)
    return {**nb, "cells": cells}


def unfenced(text):
    "Markdown without badges and words for the search, and with folds that JupyterLab knows."
    text = FOLD.sub(r"<details><summary>\1</summary>\n\n\2\n\n</details>", BADGE.sub("", text))
    return FENCE.sub("", text).rstrip()


def opened(cell, solution):
    """A code cell without the page's options, and its caption as text; its label, by which 92_which_metric
    finds it, is no text."""
    options, code = split_options(source(cell))
    if not code and not cell["outputs"]:
        return []
    hidden = {"source_hidden": bool(solution or BEHIND.search(source(cell))), "outputs_hidden": solution}
    story = {**cell, "source": code, "metadata": {**cell["metadata"], "jupyter": hidden}}
    if "fig-cap" not in options:
        return [story]
    said = "\n".join(re.findall(r"(?m)^#\| (?:label|fig-cap):.*", source(cell)))
    caption = markdown_cell(f"**Figure.** {options['fig-cap']}\n\n<!--\n{said}\n-->")
    return [story, caption | {"id": f"{cell['id']}-caption"}]


def write(folder):
    """The edition of nbs/, with the files beside the notebooks; signed, else JupyterLab shows no drawing
    before it is drawn again."""
    import nbformat.sign

    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "nbs", folder, ignore=shutil.ignore_patterns("_*", ".*"))
    notary = nbformat.sign.NotebookNotary(data_dir=str(folder.parent))
    for file in folder.glob("*.ipynb"):
        file.write_text(json.dumps(edition(read(file)), indent=1, ensure_ascii=False), encoding="utf-8")
        notary.sign(nbformat.read(file, as_version=4))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
