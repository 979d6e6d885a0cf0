"""The reader's edition of the notebooks, for JupyterLab: `make lab` opens it, the sources stay as they are.

Cells that only import, test or define and exported code are collapsed (a click on the bar opens them), captions stand as text below
their figures, solutions are folded, options of the page and badges are gone. The cells run as before.

    python .ci/edition.py FOLDER        writes the edition of nbs/ there
"""
import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".ci" / "site"))

from reading import BADGE, DEFINITIONS, IMPORTS, is_test, statements  # noqa: E402
from translate import markdown_cell, source, split_options  # noqa: E402

FOLD = re.compile(r'^::: \{\.callout-\w+ collapse="true" title="([^"]*)"\}\n(.*?)\n:::$', re.M | re.S)
FENCE = re.compile(r"^:::.*\n?", re.M)
MACHINERY = re.compile(r"^#\|\s*(?:export|exporti|hide)\b", re.M)
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
            cells += read(cell, solution)
    return {**nb, "cells": cells}


def unfenced(text):
    "Markdown without badges, and with folds that JupyterLab knows."
    text = FOLD.sub(r"<details><summary>\1</summary>\n\n\2\n\n</details>", BADGE.sub("", text))
    return FENCE.sub("", text).rstrip()


def read(cell, solution):
    "A code cell without the page's options, and its caption as text; its label stays out of sight, for who looks figures up (92_which_metric)."
    try:
        options, code = split_options(source(cell))
        quiet = all(isinstance(node, (*IMPORTS, *DEFINITIONS)) or is_test(node) for node, _ in statements(code))
    except SyntaxError:  # magics
        return [cell]
    if not code and not cell["outputs"]:
        return []
    behind = solution or quiet or MACHINERY.search(source(cell)) or options.get("code-fold") or options.get("echo") is False
    hidden = {"source_hidden": True} | ({"outputs_hidden": True} if solution else {})
    story = {**cell, "source": code, "metadata": {**cell["metadata"], **({"jupyter": hidden} if behind else {})}}
    if "fig-cap" not in options:
        return [story]
    said = "\n".join(line for line in source(cell).splitlines() if re.match(r"#\| (label|fig-cap):", line))
    return [story, markdown_cell(f"**Figure.** {options['fig-cap']}\n\n<!--\n{said}\n-->") | {"id": f"{cell['id']}-caption"}]


def write(folder):
    "The edition of nbs/, with the files beside the notebooks; signed, else JupyterLab shows no drawing before it is drawn again."
    import nbformat.sign

    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "nbs", folder, ignore=shutil.ignore_patterns("_*", ".*"))
    notary = nbformat.sign.NotebookNotary(db_file=str(folder.parent / "signatures.db"), secret_file=str(folder.parent / "secret"))
    for file in folder.glob("*.ipynb"):
        nb = edition(json.loads(file.read_text(encoding="utf-8")))
        file.write_text(json.dumps(nb, indent=1, ensure_ascii=False), encoding="utf-8")
        notary.sign(nbformat.read(file, as_version=4))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
