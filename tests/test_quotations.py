"""What the chapters quote with a place stands in the paper in one piece: no two sentences spliced into one,
nothing left out unsaid."""
import json
import re
from pathlib import Path

import pytest
from conftest import paper_text

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "40_weighted_accuracy": "weighted",
    "41_metric_study": "weighted",
    "49_weighted_accuracy_reproduced": "weighted",
    "10_expected_cost": "expected_cost",
    "11_rivals": "expected_cost",
    "12_scores": "expected_cost",
    "30_cost_score": "cscore",
    "50_outperformance": "outperformance",
    "51_curves": "outperformance",
}
PLACE = re.compile(r"section \d|equation|[Pp]aper(?:'s)? "
                   r"(?:says|takes|wants|writes|prints|speaks|words)|Table \d")


def plain(text):
    "Letters and digits only, without the commands of formulas."
    return re.sub(r"[^0-9a-z]", "", re.sub(r"\\[a-zA-Z]+", "", text).lower())


def quotations():
    "(page, quotation) of four words or more, in paragraphs that name their place in the paper."
    for page in PAGES:
        cells = json.loads((ROOT / "nbs" / f"{page}.ipynb").read_text(encoding="utf-8"))["cells"]
        for paragraph in "\n\n".join("".join(c["source"]) for c in cells
                                     if c["cell_type"] == "markdown").split("\n\n"):
            if PLACE.search(paragraph) and not re.match(r"\*\*\d+\.\*\* (\*Find|\")", paragraph):
                yield from ((page, quote) for quote in paragraph.split('"')[1::2] if len(quote.split()) >= 4)


FOUND = list(quotations())


def test_there_are_quotations():
    assert len(FOUND) >= 8 and {page for page, _ in FOUND} >= set(PAGES) - {"41_metric_study"}


@pytest.mark.parametrize("page, quote", FOUND, ids=lambda v: v[:40])
def test_a_quotation_is_in_the_paper_in_one_piece(page, quote):
    text = plain(paper_text(PAGES[page]))
    # a word in square brackets is ours, [...] leaves out
    for piece in re.split(r"\[(?:[a-z]+|\.{3})\]", quote):
        assert plain(piece) in text, quote


def test_a_spliced_one_would_be_noticed():
    assert plain("outcomes with low TCC or high metric values") not in plain(paper_text("weighted"))
