"""The errata: what they quote stands in the papers, letter by letter, and every contradicted row of the board
is told once."""
import re

import pytest
from conftest import paper_text

from cost_eval.reproduce import errata, stored_rows

FILES = {"expected_cost": "expected_cost", "bootstrap": "bootstrap", "cost_score": "cscore",
         "weighted_accuracy": "weighted", "outperformance": "outperf"}


ENTRIES = [*errata()[["paper", "title", "finding", "quote"]].itertuples(index=False, name=None)]


def plain(text):
    """Letters and digits only: line ends, markup and typographic signs differ between a page and its text
    file."""
    return re.sub(r"[^0-9a-z]", "", text.lower())


def test_there_are_entries_for_all_five_papers():
    assert {paper for paper, *_ in ENTRIES} == set(FILES) and len(ENTRIES) > 25


def test_each_refutation_of_the_board_is_told_once_under_its_name():
    "But the two numbers that only the authors' repository has."
    rows = stored_rows().query("outcome in ('contradicted', 'reading') and finding != 'code-moments'")
    refuted = set(zip(rows["item"].str.partition("/")[0], rows["finding"]))
    named = [(paper, name) for paper, _, name, _ in ENTRIES]
    assert len(set(named)) == len(named) and refuted <= set(named) and set(named) - refuted == {
        ("expected_cost", "samples")}


@pytest.mark.parametrize("paper, title, name, quote", [e for e in ENTRIES if e[3]], ids=lambda v: v[:40])
def test_a_quotation_is_in_the_paper(paper, title, name, quote):
    assert plain(quote) in plain(paper_text(FILES[paper])), quote


def test_a_false_quotation_would_be_noticed():
    assert plain("sigma is the variance") not in plain("sigma is the standard deviation")
    assert plain("$\\sigma$ is\n the variance") == plain("\\sigma is the variance")


def test_what_is_right_in_one_reading_is_not_called_refuted():
    rows, grades = stored_rows(), errata().set_index("finding")["grade"]
    read = rows["finding"].map(grades) == "reading-dependent"
    assert (rows["outcome"][read] == "reading").all() and (rows["outcome"] == "reading").sum() == read.sum() == 19
    assert (rows["outcome"] == "contradicted").sum() == 28 + 2  # two of them in the authors' code, not in print
    table = errata()
    assert (table[["title", "place", "answer", "grade"]] != "").all(axis=None)
