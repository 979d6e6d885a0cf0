"""What the chapters say, where no cell of theirs can look: across notebooks, and words that were refuted."""

import ast
import itertools
import json
import re
from pathlib import Path

import pytest

from cost_eval import reproduce as claims

NBS = sorted((Path(__file__).parents[1] / "nbs").glob("[0-9]*.ipynb"))


def cells_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def text(path, before="\n"):
    return "".join(before + "".join(cell["source"]) for cell in cells_of(path))


def exercises():
    "(notebook, number, words of the question) of every exercise of the book."
    for path in NBS:
        after = text(path).partition("## Exercises")[2].partition("## Sources")[0]
        for number, question in re.findall(r"\*\*(\d+)\.?\*\*\.?\s(.*?)\n\n", after, re.S):
            yield path.stem, int(number), re.findall(r"[a-z]+|\d+", question.lower())


def test_no_exercise_is_set_twice():
    asked = list(exercises())
    assert len(asked) > 100
    runs = [{tuple(words[i : i + 3]) for i in range(len(words) - 2)} for *_, words in asked]
    pairs = ((i, j, min(len(runs[i]), len(runs[j]))) for i, j in itertools.combinations(range(len(asked)), 2))
    assert not [(asked[i][:2], asked[j][:2]) for i, j, n in pairs if len(runs[i] & runs[j]) > .4 * n > 1.2]


def test_guess_first_hides_its_answer():
    """Behind a question to guess is a fold with the answer, or a widget that has to be moved; a picture on
    the same screen needs no guess."""
    for path in NBS:
        for behind in re.split(r"[Gg]uess first", text(path, "\0\n"))[1:]:
            screen = "".join(behind.split("\0")[:4])
            assert re.search(r'title="Answer"|\nexplore_', screen), (path.stem, behind[:80])


def claimed():
    "(notebook, name of a claim, all that the notebook shows)."
    for path in [*NBS, NBS[0].with_name("index.ipynb")]:
        code = [cell for cell in cells_of(path) if cell["cell_type"] == "code"]
        outputs = [output for cell in code for output in cell["outputs"]]
        data = [output.get("data", {}) | {"text": output.get("text", "")} for output in outputs]
        shown = "\n".join("".join(part) for parts in data for kind, part in parts.items() if "text" in kind)
        made = ["".join(cell["source"]) for cell in code if path.name != "91_reproduce.ipynb"]
        calls = (node for source in made if "claim(" in source for node in ast.walk(ast.parse(source))
                 if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "claim")
        yield from ((path.stem, ast.literal_eval(call.args[0]), shown) for call in calls)


def test_every_claim_of_the_book_shows_its_stored_record():
    """Of each there is one record, the page prints it as it is stored, the board how often it held; none is
    typed into a text or caption."""
    made, records = list(claimed()), claims.stored_claims()
    assert sorted(name for _, name, _ in made) == sorted(records)
    page = lambda stem: stem[:2] if stem[0].isdigit() else "index"
    assert not [name for stem, name, _ in made if page(stem) != name.partition(":")[0]]
    assert not [name for _, name, shown in made if str(records[name]) not in shown]
    board = NBS[0].with_name("91_reproduce.ipynb").read_text(encoding="utf-8")
    counted = r"{}</td>(?:(?!col2).)*col2[^>]*>{}<".format  # the cell of how often it held
    assert not [n for n, r in records.items() if not re.search(counted(re.escape(n), r.held), board, re.S)]
    for path in NBS:
        words = ["".join(c["source"]) for c in cells_of(path) if c["cell_type"] == "markdown"]
        words += [line for c in cells_of(path) for line in c["source"] if line.startswith("#| fig-")]
        assert not [line for line in words if re.search(r"\bin (?:all|\d+ of) 20 ", line)], path.stem


def test_a_claim_that_comes_out_otherwise_is_refused(tmp_path, monkeypatch):
    """A draw that turned, one that is not as large as it was, other draws than those that are stored; without
    its data a claim is shown, not run."""
    monkeypatch.setattr(claims, "CLAIMS", tmp_path / "claims.csv")
    claims.CLAIMS.write_text("name,of,first,stack,values\n", encoding="utf-8")
    margin = lambda seed: float(seed - 103)
    claim = lambda draw=margin, **other: claims.claim("9: a", draw, **{"of": "draws"} | other)
    monkeypatch.setenv("COST_EVAL_CLAIMS", "store")
    assert str(claim()) == "in 16 of 20 draws"
    for asked in ("", "all"):
        monkeypatch.setenv("COST_EVAL_CLAIMS", asked)
        assert claim().held == claim(lambda seed: 1 / 0, run=False).held == 16
        for other in (-16.0, 15.0, 0.0, float("nan")):
            with pytest.raises(ValueError, match="stored is 16"):
                claim(lambda seed: other if seed == 119 else margin(seed))  # noqa: B023
    monkeypatch.setattr(claims, "_this_stack", lambda: "another")
    assert claim(lambda seed: margin(seed) - 10).held == 16
    for change in ({"of": "splits"}, {"first": 0}):
        with pytest.raises(ValueError, match="no record of '9: a'"):
            claim(**change)
    with pytest.raises(ValueError, match="stored is"):
        claim(lambda seed: -margin(seed))
