"""The registry of reproductions, comparisons, the published numbers, and the command line."""
import csv
import math
import os
import re
from importlib.resources import files
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_eval import reproduce
from cost_eval.__main__ import main
from cost_eval.reproduce import (COLUMNS, ITEMS, ItemResult, Margin, Reproduction, by_paper, board, compare,
                                 published, reproduces, rows, run, run_item, scoreboard, select, stored_rows,
                                 unlisted)

pd = pytest.importorskip("pandas")
pytest.importorskip("joblib")


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    """No registered items, no data, an empty cache."""
    monkeypatch.setattr(reproduce, "discover", lambda: [])
    monkeypatch.delenv("COST_EVAL_DATA", raising=False)
    monkeypatch.setenv("COST_EVAL_CACHE", str(tmp_path / "cache"))
    with patch.dict(ITEMS, clear=True):
        yield


def numbers(**cells):
    """Published numbers as the package reads them."""
    values = [float(text or "nan") for text in cells.values()]
    decimals = [len(text.partition(".")[2]) for text in cells.values()]
    return pd.DataFrame({"cell": list(cells), "published": values, "decimals": decimals})


# -- compare -------------------------------------------------------------------------------------------------

@given(st.integers(-10**6, 10**6), st.integers(0, 5))
def test_every_number_agrees_with_its_own_rounding(units, decimals):
    text = f"{units / 10**decimals:.{decimals}f}"
    half = .5 * 10.**-decimals
    for shift, outcome in ((0, "agrees"), (.99, "agrees"), (-.99, "agrees"), (1.01, "open"), (-1.01, "open")):
        table = compare(numbers(a=text), {"a": float(text) + shift * half})
        assert table["outcome"][0] == outcome
        assert table["tolerance"][0] == pytest.approx(half)


def test_the_band_of_repeated_runs_by_hand():
    """The central 99 % for one more run: of three runs 1, 2, 4 the variance is (16/9 + 1/9 + 25/9)/2, and t
    with two degrees of freedom is 9.9248."""
    table = compare(numbers(a="2.0"), {"a": [1., 2., 4.]})
    band = 9.92484 * (7 / 3) ** .5 * (4 / 3) ** .5
    assert table["ours"][0] == pytest.approx(7 / 3)
    assert table["tolerance"][0] == pytest.approx(.05 + band, rel=1e-6)
    rng = np.random.default_rng(0)
    inside = [compare(numbers(a="0.00000"), {"a": rng.normal(size=20)})["outcome"][0] for _ in range(400)]
    assert inside.count("consistent") > .97 * 400


RUNS = .32 + .01 * np.random.default_rng(0).normal(size=20)
OWN, OTHER = {"basis": {"*": "own inputs"}}, {"basis": {"*": "other data"}}
BETWEEN = {"expected": {"a": (.39, .41)}}
STATED, DEFINED = {"kind": "statement"}, {"kind": "definition"}
OUTCOMES = {  # printed, ours, and what is known of the row
    "agrees": [("0.32", .33, {"error": .002}), ("0.32", .33, {"error": .002, "trivial": .5}),
               ("1", True, STATED), ("0.32", .32, OWN)],
    # a wide tolerance is no agreement: a trivial answer lies in it, runs are few, a margin is near 0
    "undecided": [("0.32", .33, {"error": .02, "trivial": .5}), ("0.32", RUNS[:19], {"trivial": .6}),
                  ("1", Margin(.02, .01), STATED)],
    "consistent": [("0.32", RUNS, {"trivial": .6})],
    "caused": [("0.32", .4, {"causes": {"x": {"a": .35}, "y": {"a": .321}}})],
    "contradicted": [("0.32", .4, OWN | BETWEEN)],  # ours is what follows from the paper's own inputs
    "other data": [("0.32", .4, OTHER | BETWEEN)],
    "definition": [("1", 1, DEFINED)],
    "open": [("0.32", .33, {}), ("0.32", .9, {"error": .02, "trivial": .5}), ("0.60", RUNS, {"trivial": .6}),
             ("0.32", .4, {"causes": {"x": {"a": .35}}}), ("1", Margin(-.2, .01), STATED), ("1", 0, DEFINED),
             # other than what follows, or nobody says what follows
             *(("0.32", ours, OWN | BETWEEN) for ours in (.45, .35, .32)), ("0.32", .4, OWN),
             ("0.32", 5, OTHER | BETWEEN), ("0.32", .32, OTHER)],
}


@pytest.mark.parametrize("outcome, printed, ours, known", [(outcome, *row) for outcome in OUTCOMES
                                                           for row in OUTCOMES[outcome]])
def test_the_outcome_of_a_row(outcome, printed, ours, known):
    line = numbers(a=printed).assign(kind=known.get("kind", "number"))
    options = {name: value for name, value in known.items() if name != "kind"}
    row = compare(line, {"a": ours}, **options).iloc[0]
    assert row["outcome"] == outcome
    assert outcome != "caused" or row["with_cause"] == .321


def test_a_cause_that_draws_stands_by_the_mean_of_its_seeds():
    """Seeds that scatter around .32 with a mean inside and half of them outside; then a mean outside, with one
    lucky seed. A single draw counts for nothing, whatever it gives."""
    inside = .32 + .02 * np.array([-1, 1, -1, 1, -.5, .5, -.1, .1])
    outside = np.full(8, .34)
    outside[3] = .32
    never = {"a": .9}
    made = compare(numbers(a="0.32"), {"a": .4}, causes={"x": {"a": inside}, "y": never})
    assert made["outcome"][0] == "caused" and made["with_cause"][0] == pytest.approx(.32)
    for x, y in ((outside, never["a"]), (inside, inside[::-1])):
        made = compare(numbers(a="0.32"), {"a": .4}, causes={"x": {"a": x}, "y": {"a": y}})
        assert made["outcome"].tolist() == ["open"]
    with pytest.raises(ValueError, match="causes: 'x' gives not one number for each of 8 seeds"):
        compare(numbers(a="0.32"), {"a": .4}, causes={"x": {"a": [.32]}, "y": never})
    assert reproduce.SEEDS == tuple(range(8)), "the first ones, not chosen ones"


@pytest.mark.parametrize("b, why, off", [(2, "", []), (3, "", ["b"]), (3, "the seed is unknown", []),
                                        (math.nan, "", ["b"]), (None, "", [])])
def test_an_open_row_needs_a_reason(b, why, off):
    known = numbers(a="1", b="2", lost="").assign(reason=["the same", why, ""])
    assert unlisted(compare(known, {"a": 1} if b is None else {"a": 1, "b": b})) == off


# -- published numbers ---------------------------------------------------------------------------------------

def test_published_reads_text_and_digits():
    table = published("expected_cost", "table1").set_index("cell")
    assert table.loc["Cabs1/Bayes/NEC", ["published", "decimals"]].tolist() == [.35, 2]
    assert table.loc["Cabs1/Bayes/abs", ["published", "decimals"]].tolist() == [25, 0]


def test_the_stored_rows_are_read_to_the_last_digit():
    """As Python reads them, whichever pandas is there: a digit less, and a run would differ from the
    committed board."""
    lines = (files("cost_eval") / "published" / "scoreboard_rows.csv").read_text(
        encoding="utf-8").splitlines()
    for name in ("published", "ours", "tolerance"):
        written = [float(row[name] or "nan") for row in csv.DictReader(lines)]
        np.testing.assert_array_equal(stored_rows()[name], written)


# -- registry ------------------------------------------------------------------------------------------------

def good():
    """A table that agrees"""
    return Reproduction(compare(numbers(a="0.32"), {"a": .3249}), note="said")


def register_some():
    @reproduces("toy", "table1")
    def one():
        """A table and a figure"""
        from matplotlib.figure import Figure
        figures = {}
        for name in ("left", "right"):
            figures[name] = Figure(figsize=(2, 1))
            figures[name].subplots().plot([0, 1])
        known = numbers(a="0.32", b="7").assign(reason=["", "a slip | with a bar <b>"])
        table = compare(known, {"a": .3249, "b": 9})
        return Reproduction(table, figures)

    @reproduces("toy", "table2", needs=("telco", "ferrer/sitw_plda"))
    def two(data_dir):
        """Needs data"""

    @reproduces("toy", "figure3", budget="full")
    def three(budget):
        """Takes long"""
        return Reproduction(compare(numbers(a="1"), {"a": 1}), note=budget)

    reproduces("other", "table1")(good)


def test_what_becomes_of_an_item():
    "An exception fails one item only."
    register_some()

    @reproduces("toy", "bug")
    def bug():
        """Has a bug"""
        raise RuntimeError("the oven is cold")

    @reproduces("toy", "nothing")
    def nothing():
        """Returns nothing"""

    results = {r.name: r for r in run()}
    assert {n: r.words for n, r in results.items()} == {
        "toy/table1": "1 agrees, 1 open", "toy/table2": "needs data", "toy/figure3": "not run",
        "other/table1": "1 agrees", "toy/bug": "failed", "toy/nothing": "failed"}
    assert [n for n, r in results.items() if r.fails] == ["toy/bug", "toy/nothing"]
    assert "RuntimeError: the oven is cold" in results["toy/bug"].note
    assert results["toy/table2"].note == "cost-eval data fetch telco ferrer/sitw_plda"
    full = run("toy/figure3", budget="full")
    assert [(r.words, r.note) for r in full] == [("1 agrees", "full")]


def test_selection():
    register_some()
    names = lambda *patterns: [item.name for item in select(list(patterns))]
    assert names("toy") == ["toy/table1", "toy/table2", "toy/figure3"]
    assert names("*/table1", "toy/table1") == ["toy/table1", "other/table1"]
    assert names() == list(ITEMS)


ONE = numbers(a="1")
MISTAKES = [(lambda: published("expected_cots"), "'expected_cots' is unknown; did you mean 'expected_cost'"),
            (lambda: published("expected_cost", "table9"), "'table9' is unknown.*table1"),
            (lambda: compare(ONE, {"x": 1}), "no such published cell .*'x'"),
            (lambda: compare(ONE, {"a": 1}, error=-1), "error.*negative"),
            (lambda: compare(ONE, {"a": 1}, error={"x": 1}), "error: 'x' matches no published cell"),
            (lambda: compare(ONE, {"a": 1}, notes={"x": 1}), "notes: 'x' matches no published cell"),
            (lambda: select("toy/tabel1"), "'toy/tabel1'.*toy/table1"),
            (lambda: reproduces("toy", "y", needs=("telcoo",)), "'telcoo' is unknown; did you mean 'telco'"),
            (lambda: reproduces("toy", "y", budget="huge"), "budget: 'huge' is unknown"),
            (lambda: reproduces("toy", "y", needs=("telco",))(good), "data_dir"),
            (lambda: reproduces("toy", "table1")(good), "toy/table1 is registered already"),
            (lambda: run(budget="huge"), "budget: 'huge' is unknown"), (lambda: run(jobs=0), "jobs: got 0"),
            (lambda: scoreboard([], "pdf"), "form: 'pdf' is unknown")]


@pytest.mark.parametrize("call, says", MISTAKES)
def test_mistakes_in_names_and_registrations(call, says):
    register_some()
    reproduces("other", "table1")(good)  # a notebook cell run twice
    with pytest.raises((ValueError, TypeError), match=says):
        call()


def test_scoreboard_forms():
    register_some()
    results = run()
    assert scoreboard(results)["rows"].to_dict() == {r.name: r.words for r in results}
    counts = dict.fromkeys(reproduce.OUTCOMES, 0) | {"agrees": 1, "open": 1}
    assert board(results).loc["toy/table1"].to_dict() == counts
    text = scoreboard(results, "text").splitlines()
    assert text[0].split() == ["toy/table1", "1", "agrees,", "1", "open"]
    assert text[-1] == "2 items, 3 rows: 2 reproduced, 1 open"
    markdown = scoreboard(results, "markdown")
    assert len({line.count("|") for line in markdown.splitlines()[:4]}) == 1 and "| toy |" in markdown
    assert "0 items" in scoreboard([], "text") and scoreboard([]).empty


def test_a_comparison_is_shown_to_be_read():
    known = numbers(a="0.33", b="1").assign(kind=["number", "statement"])
    table = compare(known, {"a": 1 / 3, "b": 0}, notes={"b": "a < b"})
    shown = ItemResult("toy/x", "X", "ran", table)._repr_html_()
    head, one, other = (re.findall("<t[dh]>(.*?)</t[dh]>", row) for row in shown.split("</tr>")[:3])
    assert head == ["cell", "published", "ours", "tolerance", "outcome", "note"]
    assert one[:4] == ["a", "0.33", "0.333", "0.005"]
    assert other[:4] == ["b", "true", "false", ""] and other[-1] == "a &lt; b"
    assert "<em>needs data</em>: fetch" in ItemResult("toy/x", "X", "needs data", note="fetch")._repr_html_()


def test_files_are_the_same_bytes_from_any_number_of_workers(tmp_path):
    register_some()
    run(out=tmp_path / "a")
    run(out=tmp_path / "b", jobs=2)
    one, other = ({str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*.*")}
                  for out in (tmp_path / "a", tmp_path / "b"))
    figures = {f"toy/table1-{side}.{kind}" for side in ("left", "right") for kind in ("png", "svg")}
    assert one == other and {*one} == {"scoreboard_rows.csv", "other/table1.csv", "toy/table1.csv"} | figures
    again = pd.read_csv(tmp_path / "a" / "toy" / "table1.csv")
    assert list(again.columns) == COLUMNS and again["outcome"].tolist() == ["agrees", "open"]


# -- the command ---------------------------------------------------------------------------------------------

def inside(capsys, *arguments):
    """The command in this process: no registry but the toys, no data, an empty cache."""
    try:
        code = main(list(arguments))
    except SystemExit as stop:
        code = stop.code
    said = capsys.readouterr()
    return SimpleNamespace(returncode=code, stdout=said.out, stderr=said.err)


def test_command_reproduce(tmp_path, monkeypatch, capsys):
    register_some()

    @reproduces("toy", "off")
    def off():
        """Is off"""
        return compare(numbers(a="0.5"), {"a": .6})

    monkeypatch.chdir(tmp_path)
    done = inside(capsys, "reproduce", "toy/table1", "toy/table2")
    assert done.returncode == 0 and "toy/table1  1 agrees, 1 open" in done.stdout
    assert "cost-eval data fetch telco" in done.stdout
    assert "toy/table1: 1 agrees" in done.stderr, "progress goes to stderr"
    assert (tmp_path / "_reproduced" / "toy" / "table1.csv").is_file()
    done = inside(capsys, "reproduce", "--out", "there")
    assert done.returncode == 1 and re.search("toy/off +1 open", done.stdout)


def test_command_mistakes(tmp_path, monkeypatch, capsys):
    register_some()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    mistakes = {"reproduce toy/tabel1": "toy/table1", "reproduce --jobs 0": "jobs: got 0",
                "reproduce --data nowhere": "'nowhere' is not a directory",
                "reproduce --budget huge": "--budget: 'huge' is unknown; there are quick, full",
                "reproduce --out file": "out: cannot write to 'file'", "": "COMMAND",
                "data fetch telcoo": "did you mean 'telco'", "data fetch --timeout 0": "--timeout"}
    for line, says in mistakes.items():
        done = inside(capsys, *line.split())
        assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr, line
    assert not (tmp_path / "_reproduced").exists()


def test_command_data_without_network(tmp_path, monkeypatch, capsys):
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    done = inside(capsys, "data", "fetch", "--small", "--timeout", "2")
    assert done.returncode == 0, done.stderr
    *lines, count, place = done.stdout.splitlines()
    assert len(lines) == 16 and all("not fetched:" in line and "; by hand: http" in line for line in lines)
    assert count.startswith("0 of 16 data sets") and "COST_EVAL_DATA" in place
    done = inside(capsys, "data", "fetch", "telco", "--timeout", "2")
    assert done.returncode == 1 and "could not be reached" in done.stdout
    done = inside(capsys, "data", "list")
    assert done.returncode == 0 and "creditcard" in done.stdout and str(tmp_path / "cache") in done.stdout


def test_command_list_and_version(capsys):
    register_some()
    done = inside(capsys, "list")
    assert done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()] == list(ITEMS)
    done = inside(capsys, "--version")
    assert done.returncode == 0 and done.stdout.startswith("cost-eval ")


def test_heat_maps_are_counted_apart():
    table = compare(numbers(a="1", b="2"), {"a": 1, "b": 2})
    results = [ItemResult("p/map", "t", "ran", table, heat_map=True),
               ItemResult("p/i", "t", "ran", table[:1])]
    counted = by_paper(results).loc["p"]
    assert counted["rows"] == counted["reproduced"] == 1 and counted["heat-map cells"] == "map: 2 of 2 agree"
    assert rows(results)["kind"].tolist() == ["heat map", "number"]
    assert board(results)["agrees"].tolist() == [2, 1]


PAPERS = ("expected_cost", "bootstrap", "cost_score", "weighted_accuracy", "outperformance")
# Numbers printed that neither set up nor repeat anything, less those compared, paper by paper: by hand
NOT_COMPARED = [5 + 2 + 54 + 1 + 3, 2 + 3 + 1, 3 + (4 + 3 + 1) + 27, 2 + 2 * 60 * 23, 0]


def test_what_a_paper_prints_and_what_is_compared_fit_together():
    """papers.csv, counted by hand, against the committed board: each item once, and never more compared than
    printed."""
    listed = reproduce.places()
    named = listed["paper"] + ":" + listed["items"] + ";" + listed["again"]
    items = [f"{p}/{i}" for p, every in named.str.split(":") for i in every.split(";") if i]
    assert sorted(items) == sorted(stored_rows()["item"].unique()) and len(set(items)) == len(items)
    assert tuple(dict.fromkeys(listed["paper"])) == PAPERS and not listed.duplicated(["paper", "place"]).any()
    for row in listed.itertuples():
        assert row.settings + row.repeats <= row.printed and row.compared <= row.printed, row
        assert row.why or row.printed <= row.settings + row.repeats + row.compared, row
    left = listed["printed"] - listed["settings"] - listed["repeats"] - listed["compared"]
    assert (left >= 0).all() and left.groupby(listed["paper"], sort=False).sum().tolist() == NOT_COMPARED
    of_items = stored_rows().groupby("item")["kind"].apply(lambda kinds: (kinds == "statement").sum())
    assert listed["statements"].sum() <= of_items.sum()


def test_a_number_compared_twice_counts_once():
    table = stored_rows()
    twice = pd.concat([table, table[table["item"] == "outperformance/table5"]])
    assert reproduce.places(twice)["compared"].tolist() == reproduce.places()["compared"].tolist()
    none = reproduce.places(table[:0])
    assert (none["compared"] == 0).all() and (none["statements"] == 0).all()


def test_items_that_share_a_computation_run_in_one_process():
    for name in ("a", "b", "c", "d"):
        def item():
            """Title"""
            return Reproduction(compare(numbers(a="1"), {"a": 1}), note=str(os.getpid()))

        item.__qualname__ = name
        reproduces("toy", name, shares="" if name == "c" else "draws")(item)
    groups = [[item.item for item in group] for group in reproduce._groups(list(ITEMS.values()))]
    assert groups == [["a", "b", "d"], ["c"]]
    results = run(jobs=2)
    assert [r.name for r in results] == ["toy/a", "toy/b", "toy/c", "toy/d"], "in the order asked for"
    assert len({r.note for r in results if r.name != "toy/c"}) == 1


def test_out_is_tried_before_anything_is_computed(tmp_path):
    @reproduces("toy", "x")
    def never():
        """Title"""
        raise AssertionError("computed")

    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="out: cannot write to"):
        run(out=tmp_path / "file" / "below")


def test_figures_are_left_to_those_who_show_them():
    plt = pytest.importorskip("matplotlib.pyplot")

    @reproduces("toy", "pyplot")
    def draws():
        return Reproduction(compare(numbers(a="1"), {"a": 1}), plt.subplots()[0])

    before, result = plt.get_fignums(), run_item(ITEMS["toy/pyplot"])
    assert plt.get_fignums() == before and list(result.figures) == [""]
