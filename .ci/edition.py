"""The reader's edition of the notebooks, for JupyterLab: `make lab` opens it, the sources stay as they are.

Imports, tests and exported code are collapsed (a click on the bar opens them), captions stand as text below their figures, solutions
are folded, options of the page and badges are gone. The cells run as before.

    python .ci/edition.py FOLDER        writes the edition of nbs/ there
"""
import ast
import json
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".ci" / "site"))

from reading import BADGE, DEFINITIONS, IMPORTS, is_test, statements  # noqa: E402
from translate import Problem, markdown_cell, source, split_options  # noqa: E402

FOLD = re.compile(r'^::: \{\.callout-\w+ collapse="true" title="([^"]*)"\}\n(.*?)\n:::$', re.M | re.S)
FENCE = re.compile(r"^:::.*\n?", re.M)
MACHINERY = re.compile(r"^#\|\s*(?:export|exporti|hide)\b", re.M)
NOTHING = re.compile(r"^#\|\s*default_exp\b|google\.colab", re.M)  # cells that say nothing here


def edition(nb):
    "The notebook as a reader opens it."
    cells, solution = [], False
    for cell in nb["cells"]:
        if cell["cell_type"] == "markdown":
            text = unfenced(source(cell))
            solution = text.endswith("</details>")
            cells.append({**cell, "source": text})
        elif not NOTHING.search(source(cell)):
            cells += [collapsed(piece, outputs=True) if solution else piece for piece in pieces(cell)]
    return {**nb, "cells": joined(cells)}


def unfenced(text):
    "Markdown without badges, and with folds that JupyterLab knows."
    text = FOLD.sub(r"<details><summary>\1</summary>\n\n\2\n\n</details>", BADGE.sub("", text))
    return FENCE.sub("", text).rstrip()


def pieces(cell):
    "A code cell as it is read: the story, its caption, and collapsed what only checks."
    try:
        options, code = split_options(source(cell))
        parts = statements(code)
    except (Problem, SyntaxError):  # magics
        return [cell]
    nodes = [node for node, _ in parts]
    quiet = MACHINERY.search(source(cell)) or options.get("code-fold") or options.get("echo") is False
    story, checks = ({**cell, "source": code}, None) if quiet else told(cell, code, parts)
    if quiet or all(isinstance(node, (*IMPORTS, *DEFINITIONS)) or is_test(node) for node in nodes):
        story = collapsed(story)
    if not story["source"] and not story["outputs"]:
        return []
    return [story, *caption(cell, options), *([collapsed(checks)] if checks else [])]


def caption(cell, options):
    "A figure's caption as text; its label stays with it, out of sight, for who looks figures up (92_which_metric)."
    if "fig-cap" not in options:
        return []
    said = "\n".join(line for line in source(cell).splitlines() if re.match(r"#\| (label|fig-cap):", line))
    return [markdown_cell(f"**Figure.** {options['fig-cap']}\n\n<!--\n{said}\n-->") | {"id": f"{cell['id']}-caption"}]


def told(cell, code, parts):
    "A cell's story, and the tests at its end (before what it shows, if it shows something) in a cell of their own."
    shows = len(parts) - bool(cell["outputs"] and isinstance(parts[-1][0], ast.Expr) and not is_test(parts[-1][0]))
    first = shows
    while first and is_test(parts[first - 1][0]):
        first -= 1
    if first == shows or (first, shows) == (0, len(parts)):
        return {**cell, "source": code}, None
    text = lambda some: "\n".join(text for _, text in some).strip("\n")
    story = {**cell, "source": text(parts[:first] + parts[shows:])}
    return story, {**cell, "id": f"{cell['id']}-checks", "source": text(parts[first:shows]), "outputs": []}


def collapsed(cell, outputs=False):
    "The cell with its code behind a bar, and what it prints if `outputs`."
    if cell["cell_type"] == "markdown":
        return cell
    hidden = {"source_hidden": True} | ({"outputs_hidden": True} if outputs else {})
    return {**cell, "metadata": {**cell["metadata"], "jupyter": hidden}}


def joined(cells):
    "Neighbours that are collapsed and show nothing become one bar."
    out, last = [], None
    for cell in cells:
        bare = cell["cell_type"] == "code" and "jupyter" in cell["metadata"] and not cell["outputs"]
        if bare and last and not re.search(r"^%%|^from __future__", cell["source"], re.M):
            last["source"] += f"\n\n{cell['source']}"
        else:
            out.append(cell)
            last = out[-1] if bare else None
    return out


def write(folder):
    "The edition of nbs/, with the files beside the notebooks; signed, else JupyterLab shows no drawing before it is drawn again."
    import nbformat.sign

    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    notary = nbformat.sign.NotebookNotary(db_file=str(folder.parent / "signatures.db"), secret_file=str(folder.parent / "secret"))
    for file in (ROOT / "nbs").glob("[!_.]*"):
        if file.suffix == ".ipynb":
            nb = edition(json.loads(file.read_text(encoding="utf-8")))
            (folder / file.name).write_text(json.dumps(nb, indent=1, ensure_ascii=False), encoding="utf-8")
            notary.sign(nbformat.read(folder / file.name, as_version=4))
        else:
            shutil.copyfile(file, folder / file.name)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
