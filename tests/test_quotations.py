"""Quotations in chapters and errata stand in the papers in one piece; each refuted row is told once."""
import json
import re

import pytest
from conftest import ROOT, paper_text

from cost_eval.reproduce import errata, stored_rows

FILES = {"expected_cost": "expected_cost", "bootstrap": "bootstrap", "cost_score": "cscore",
         "weighted_accuracy": "weighted", "outperformance": "outperf"}
PAGES = {"40_weighted_accuracy": "weighted", "41_metric_study": "weighted",
         "49_weighted_accuracy_reproduced": "weighted", "10_expected_cost": "expected_cost",
         "11_rivals": "expected_cost", "12_scores": "expected_cost", "30_cost_score": "cscore",
         "50_outperformance": "outperformance", "51_curves": "outperformance"}
PLACE = re.compile(r"section \d|equation|[Pp]aper(?:'s)? "
                   r"(?:says|takes|wants|writes|prints|speaks|words)|Table \d")


def plain(text):
    "Letters and digits only, without the commands of formulas."
    return re.sub(r"[^0-9a-z]", "", re.sub(r"\\[a-zA-Z]+", "", text).lower())


def quotations():
    "(page, paper, quotation) of four words or more, in paragraphs that name their place; and of the errata."
    for page, paper in PAGES.items():
        cells = json.loads((ROOT / "nbs" / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
        texts = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        for paragraph in "\n\n".join(texts).split("\n\n"):
            if PLACE.search(paragraph) and not re.match(r"\*\*\d+\.\*\* (\*Find|\")", paragraph):
                quoted = paragraph.split('"')[1::2]
                yield from ((page, paper, quote) for quote in quoted if len(quote.split()) >= 4)
    told = errata()
    yield from ((title, FILES[paper], quote)
                for paper, title, quote in told[["paper", "title", "quote"]].to_numpy() if quote)


FOUND = list(quotations())


def test_there_are_quotations():
    assert {page for page, *_ in FOUND} >= set(PAGES) - {"41_metric_study"} and len(FOUND) > 30
    assert plain("outcomes with low TCC or high metric value") not in plain(paper_text("weighted"))


@pytest.mark.parametrize("page, paper, quote", FOUND, ids=lambda v: v[:40])
def test_a_quotation_is_in_the_paper_in_one_piece(page, paper, quote):
    text = plain(paper_text(paper))
    # a word in square brackets is ours, [...] leaves out
    for piece in re.split(r"\[(?:[a-z]+|\.{3})\]", quote):
        assert plain(piece) in text, quote


def test_each_refutation_of_the_board_is_told_once_under_its_name():
    "But the two numbers that only the authors' repository has."
    rows, told = stored_rows(), errata()
    refuted = rows.query("outcome in ('contradicted', 'reading') and finding != 'code-moments'")
    named = [*zip(told["paper"], told["finding"])]
    missing = {*zip(refuted["item"].str.partition("/")[0], refuted["finding"])} ^ {*named}
    assert len({*named}) == len(named) > 25 and missing == {("expected_cost", "samples")}
    assert {*told["paper"]} == {*FILES} and (told[["title", "place", "answer", "grade"]] != "").all(axis=None)


def test_what_is_right_in_one_reading_is_not_called_refuted():
    rows, grades = stored_rows(), errata().set_index("finding")["grade"]
    read = rows["finding"].map(grades) == "reading-dependent"
    assert ((rows["outcome"] == "reading") == read).all() and read.sum() == 19
    assert (rows["outcome"] == "contradicted").sum() == 28 + 2  # two in the authors' code, not in print
