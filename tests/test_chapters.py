"""What the chapters say, where no cell of theirs can look: across notebooks, and words that were refuted."""

import itertools
import json
import re
from pathlib import Path

import pytest

NBS = sorted((Path(__file__).parents[1] / "nbs").glob("[0-9]*.ipynb"))


def text(path):
    return "\n".join("".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"])


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
    alike = [
        (asked[i][:2], asked[j][:2])
        for i, j in itertools.combinations(range(len(asked)), 2)
        if len(runs[i] & runs[j]) > 0.4 * min(len(runs[i]), len(runs[j])) and min(len(runs[i]), len(runs[j])) > 3
    ]
    assert not alike


REFUTED = {
    r"[Bb]etter is up and to the right": "false on most of the plane at small cost ratios (30)",
    r"\bkeeps? counting\b": "looking again needs an interval that may be looked at again (22)",
    r"come together at the prevalence": "a perfect ranking's curve does not (51)",
    r"because pairs share models": "pairs that share no model would overlap too (21)",
    r"no threshold mended": "three cuts did (63)",
}


@pytest.mark.parametrize("words", REFUTED)
def test_what_was_refuted_is_not_said_again(words):
    said = [path.stem for path in NBS if re.search(words, text(path))]
    assert not said, REFUTED[words]


def test_a_percentile_on_the_home_page_has_no_model_beside_it():
    cells = json.loads((NBS[0].parent / "index.ipynb").read_text(encoding="utf-8"))["cells"]
    shown = [cell for cell in cells if cell["cell_type"] == "code" and "outperformance_of_cost" in "".join(cell["source"])]
    assert shown
    for cell in shown:
        said = "".join(line for output in cell["outputs"] for line in output.get("data", {}).get("text/plain", ""))
        assert len(re.findall(r"0\.\d+", said)) == 2  # the model's, and that of the better constant decision
