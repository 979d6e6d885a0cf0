"""Every item of every paper: the committed board comes out again, wrong computations do not, a moved digit is
noticed, and what is printed is on the board."""
import functools
import warnings

import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("sklearn")

from conftest import item_result

from cost_eval import datasets
from cost_eval.reproduce import ITEMS, discover, moved, published, stored_board, stored_rows, survivors

discover()
PAPERS = sorted({item.paper for item in ITEMS.values()})
# of bootstrap; the others draw for minutes
UNSIMULATED = ("table1", "section2", "table2", "table3", "table4", "figure1", "variance")
BY_HAND = ("cost_score/table5",)  # some of its rows need data: test_reproductions_cost_score.py


def long(item):
    return item.item not in UNSIMULATED if item.paper == "bootstrap" else bool(
        item.needs) and item.paper != "weighted_accuracy"


def cases():
    "Items that a quick budget runs."
    for name, item in ITEMS.items():
        if item.budget == "quick" and name not in BY_HAND:
            absent = not all(map(datasets.available, item.needs))
            yield pytest.param(name, marks=[pytest.mark.skipif(absent, reason="its data are not at hand"),
                                            *([pytest.mark.slow] if long(item) else [])])


@functools.cache
def result(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = item_result(ITEMS[name])
    return found


@pytest.mark.parametrize("name", [*cases()])
def test_the_board_comes_out_again(name):
    off = moved([result(name)])
    assert off.empty and not result(name).fails, (off, result(name).note)
    assert bool(result(name).figures) >= name.partition("/")[2].startswith("figure")


@pytest.mark.parametrize("name", [case for case in cases() if long(ITEMS[case.values[0]])
                                  or case.values[0].startswith("bootstrap/")])
def test_wrong_computations_change_the_verdict(name):
    "Of what no notebook tries in every run."
    assert survivors([result(name)]) == []


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_printed_is_registered_and_on_the_board(paper):
    rows, mine, board = published(paper), {item.item: item for item in ITEMS.values()
                                           if item.paper == paper}, stored_rows()
    names = set(rows["item"])
    assert not rows.duplicated(["item", "cell"]).any() and (rows["source"].str.len()
            > 3).all() and set(rows["kind"]) <= {"number", "statement", "definition"}
    assert names <= set(mine) == {name.partition("/")[2] for name in stored_board()["item"]
                                  if name.startswith(f"{paper}/")}
    assert all({name, name.partition("-")[0]} & names or item.heat_map for name, item in mine.items())
    assert all(item.mutants for item in mine.values() if "loan" not in item.needs or "heart"
               in item.needs), "the loans are others than the paper's: nothing wrong is told from right there"
    for name in names:
        here = board["item"].str.fullmatch(f"{paper}/{name}(-heart|-loan)?")
        assert set(rows.loc[rows["item"] == name, "cell"]) == set(board.loc[here, "cell"]), name
