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
from itertools import groupby
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
            cells += [{**cell, "source": text}] * bool(text)  # nothing is left of badges
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
    story = {**cell, "source": code}
    if not code and not cell["outputs"]:
        return []
    if MACHINERY.search(source(cell)) or options.get("code-fold") or options.get("echo") is False or all(map(is_quiet, nodes)):
        return [collapsed(story), *caption(cell, options)]
    before, story, after = told(story, parts)
    return [*before, story, *caption(cell, options), *after]


def is_quiet(node):
    return isinstance(node, (*IMPORTS, *DEFINITIONS)) or is_test(node)


def caption(cell, options):
    "A figure's caption as text; its label stays with it, out of sight, for who looks figures up (92_which_metric)."
    if "fig-cap" not in options:
        return []
    said = "\n".join(line for line in source(cell).splitlines() if re.match(r"#\| (label|fig-cap):", line))
    return [markdown_cell(f"**Figure.** {options['fig-cap']}\n\n<!--\n{said}\n-->") | {"id": f"{cell['id']}-caption"}]


def told(cell, parts):
    "A cell with its tests in cells of their own: what stands before it, the cell with what it shows, what stands after it."
    runs = [(test, [text for _, text in run]) for test, run in groupby(parts, lambda part: is_test(part[0]))]
    kinds, last = [test for test, _ in runs], parts[-1][0]
    piece = lambda k, texts: {**cell, "id": f"{cell['id']}-{k}", "source": "\n".join(texts).strip("\n"), "outputs": []}
    shows = isinstance(last, ast.Expr) and len(runs[-1][1]) == 1 and bool(cell["outputs"])
    if kinds == [False, True] or shows and kinds in ([True, False], [False, True, False]):  # what is shown stays with the story
        story, checks = ([text for test, run in runs if test is kind for text in run] for kind in (False, True))
        return [], {**cell, "source": "\n".join(story).strip("\n")}, [collapsed(piece("checks", checks))]
    if len(runs) == 1 or any(kind.startswith("image/") for output in cell["outputs"] for kind in output.get("data", ())):  # a figure is shown where its cell ends
        return [], cell, []
    at = max(k for k, test in enumerate(kinds) if not test)
    cut = [collapsed(each) if all(map(is_quiet, ast.parse(each["source"]).body)) else each for each in (piece(k, run) for k, (_, run) in enumerate(runs))]
    return cut[:at], {**cut[at], "id": cell["id"], "outputs": cell["outputs"]}, cut[at + 1:]


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
