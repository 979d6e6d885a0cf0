"""Errors planted into the reproductions, one at a time: each must be noticed by the board, or it is said here
why it cannot be."""
import datetime
import functools
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import item_result

from cost_eval import reproduce
from cost_eval.reproduce import ITEMS, Margin, compare, discover, outcome_of, published, run_item, stored_board, stored_rows

pd = pytest.importorskip("pandas")
ROOT = Path(__file__).resolve().parent.parent
discover()

from cost_eval.reproductions import bootstrap as md  # noqa: E402
from cost_eval.reproductions import cost_score as marwah  # noqa: E402
from cost_eval.reproductions import expected_cost as ferrer  # noqa: E402
from cost_eval.reproductions import outperformance as zhao  # noqa: E402
from cost_eval.reproductions import weighted_accuracy as lombardo  # noqa: E402


def inverted(f):
    "A function of a cost ratio that gets its inverse."
    return lambda *a: f(*a[:-1], 1 / np.asarray(a[-1], float))


def shifted(f, by):
    return lambda *a, **k: f(*a, **k) + by


def exchanged(f):
    "The first two arguments in each other's place."
    return lambda a, b, *rest, **k: f(b, a, *rest, **k)


def _wrong_contours(ax, ratio, best, draw=marwah._contours):
    draw(ax, 1 / ratio, best)


def _exchanged_columns():
    table = marwah.__dict__["_printed"]()
    return table.rename(columns={"F1 precision": "precision", "precision": "F1 precision"})


marwah._printed = marwah._printed_table_6

PLANTED = {  # what was planted: item, module, name, what stands there instead
    "contours of the cost score drawn at 1/r_c": ("cost_score/figure2", marwah, "_contours", _wrong_contours),
    "best points of the cost score drawn at 1/r_c": ("cost_score/figure2", marwah._NormalModel,
                                                     "best", lambda s, r: s.counts(s.best_threshold(1 / r))),
    "isocost lines of another ratio": ("cost_score/figure2", marwah, "isocost_precision",
                                       inverted(marwah.isocost_precision)),
    "Table 6 with precision taken at the other threshold": ("cost_score/table6", marwah, "_printed_table_6",
        _exchanged_columns),
    "cost score with r_c inverted": ("cost_score/table6", marwah, "cost_score_from_precision",
                                     inverted(marwah.cost_score_from_precision)),
    "cost score with recall for precision": ("cost_score/table6", marwah, "cost_score_from_precision",
                                             exchanged(marwah.cost_score_from_precision)),
    "one rounding unit taken for half of one, ten times": ("cost_score/table6", marwah, "_score_interval",
                                                         lambda p, r, c, h=.0005, f=marwah._score_interval: f(
                                                             p, r, c, .005)),
    "a limit that is finite on every way": ("cost_score/sentences", marwah,
                                            "_limit_at_zero", lambda: Margin(-5.0)),
    "a refuted sentence with the wrong number": ("cost_score/sentences", marwah, "_sentences",
                                                 lambda rows, m="", f=marwah._sentences: f(rows, m)
                                                 | {"Internal data/10/saving": 35.0}),
    "a refuted sum with the wrong terms": ("cost_score/table5", marwah, "_table_5_sums",
                                           lambda cell, f=marwah._table_5_sums: f(cell)
                                           | {"Internal data/class 1 in percent": 18.7}),
    "F1 contours of the arithmetic mean": ("cost_score/figure1", marwah,
                                           "_f1_contour", lambda r, f: np.broadcast_to(2 * f - r,
        np.broadcast(r, f).shape)),
    "always the wrong bound of MSU": ("weighted_accuracy/table2", lombardo, "_ranges",
                                      lambda f=lombardo._ranges: f()
                                      | {"MSU: at least -TCC_min/TCC_max": Margin(-.3)}),
    "weights of exchanged costs": ("weighted_accuracy/eq13", lombardo, "cost_weight",
                                   exchanged(lombardo.cost_weight)),
    "bounds at another prevalence": ("weighted_accuracy/eq13", lombardo, "weight_range_from_ranking",
                                     lambda r, p, a, f=lombardo.weight_range_from_ranking: f(r, 2 * p, a)),
    "a density that leans, of the wrong order": ("weighted_accuracy/section3", lombardo,
                                                 "_middle_order", lambda lean: 1.5),
    "a target weight that forgets the prevalence": ("weighted_accuracy/section3", lombardo,
                                                    "target_weight", lambda w, here, there: w),
    "OPS of the other side": ("outperformance/table5", zhao,
                              "outperformance", lambda *a, f=zhao.outperformance, **k: 1 - f(*a, **k)),
    "OPS off by .003": ("outperformance/table5", zhao, "outperformance", shifted(zhao.outperformance, .003)),
    "positives off by a hundred": ("outperformance/table5", zhao,
                                   "positives", lambda n, f=zhao.positives: (f(n)[0] - 100, f(n)[1])),
    "worst areas of zero": ("outperformance/section2.4", zhao, "worst_auc", lambda kind, pi: 0.0),
    "an MCC that fits the print": ("outperformance/table2", zhao,
                                   "rate_forms", lambda a, b, p, f=zhao.rate_forms: f(a, b, p)
                                   | {"MCC": 0.0}),
    "ideal areas of the gain curve for the lift": ("outperformance/table3", zhao, "_ideal_areas_printed",
                                                   lambda pi: dict.fromkeys(("ROC", "PRC", "Lift Curve",
        "Gain Curve"), 1 - pi / 2)),
    "a tree that loses a level": ("outperformance/figure2", zhao, "sample_directed_binary_tree",
                                  lambda n, depth, rng, f=zhao.sample_directed_binary_tree: f(n, depth - 1,
        rng=rng)),
    "a cost of Table 1 (M&D) mistyped": ("bootstrap/table1", md, "example_costs",
                                         lambda f=md.example_costs: md.CostMatrix(np.where(f().array == 40.5,
        45.0, f().array))),
    "replicates without smoothing rank": ("bootstrap/table2", md, "bcost", lambda *a, f=md.bcost, **k: f(*a,
        confidence=.9, **k)),
    "least chance against one class only": ("bootstrap/section2", md, "least_chance", lambda *a: 0.2),
    "classes of Table 3 in another order": ("bootstrap/table4", md, "CLASS_SHARES",
                                            (0.4473, 0.2102, 0.2568, 0.0016, 0.0841)),
    "the naive F1 with beta 2": ("expected_cost/section3.1", ferrer, "f_beta", lambda c, f=ferrer.f_beta: f(c,
        beta=2)),
    "another seed of the synthetic data": ("expected_cost/table1", ferrer, "gaussian_sample",
                                           lambda *a, f=ferrer.gaussian_sample, **k: f(*a,
        **k | {"seed": 3})),
    "costs times the wrong class": ("expected_cost/table1", ferrer,
                                    "expected_cost", lambda n, c, f=ferrer.expected_cost: f(n,
        c.array[::-1])),
    "NEC over the argmax decision": ("expected_cost/table1", ferrer,
                                     "normalized_expected_cost", lambda n, c: ferrer.expected_cost(n, c)),
    "a picture of other data": ("expected_cost/figure2", ferrer,
                                "_plot_figure_2", lambda f=ferrer._plot_figure_2: f((.2, .2))),
    "a picture at inverted costs": ("expected_cost/figure2", ferrer,
                                    "_plot_figure_2", lambda f=ferrer._plot_figure_2: f(costs=(1, 1 / 1.8))),
    "an MC1 that follows from exchanged columns": ("expected_cost/section4.2-columns", ferrer, "_implied_mc1",
                                                   exchanged(ferrer._implied_mc1)),
    "an EER of other data": ("expected_cost/section3.6", ferrer,
                             "population_counts", lambda t, v, p, f=ferrer.population_counts: f(t, 2 * v, p)),
    "a system that is always right": ("expected_cost/section3.6", ferrer,
                                      "bayes_decisions", lambda p, c: np.array([0, 1])),
    "calibration that worsens Cimb": ("expected_cost/section4.2", ferrer,
                                      "calibrated", lambda logs, y, seed=0, f=ferrer.calibrated: 3
                                      * f(logs, y, seed)),
    "one test set in another's place": ("expected_cost/section4.2", ferrer, "_gain_error", lambda *a: 1.0),
    "cost score (8) with its false alarms twice": ("cost_score/equations", marwah, "_equations",
                                                   lambda c, r, f=marwah._equations: f(c, r)
                                                   | {"(8)": f(c, r)["(8)"] + c.fpr}),
    "F1 over the errors": ("cost_score/equations", marwah, "_equations", lambda c, r, f=marwah._equations: f(
        c, r) | {"(15)": 1 / (1 + f(c, r)["(15)"])}),
    "gaps of ratio 1 everywhere": ("cost_score/sentences", marwah,
                                   "_gap_widens", lambda gaps, f=marwah._gap_widens: f(gaps * 0)),
    "another row's counts for KDD": ("cost_score/table6", marwah, "_pinned", lambda *a: (.0035, .0045)),
    "equation (7) without its corner": ("outperformance/figure1", zhao, "_equation_7", lambda mu, pi: (1 + pi)
                                        * mu / (2 * pi * (2 - mu))),
    "an F1 scored at one prevalence": ("outperformance/figure1", zhao,
                                       "outperformance", lambda m, v, pi, f=zhao.outperformance: f(m, v, .3)),
    "a point scored at one prevalence": ("outperformance/figure3", zhao, "outperformance_curve_point",
                                         lambda k, x, y, pi, f=zhao.outperformance_curve_point: f(k, x, y,
        0 * np.asarray(pi) + .1)),
    "an area scored at one prevalence": ("outperformance/figure3", zhao, "outperformance_curve_auc",
                                         lambda k, a, pi, f=zhao.outperformance_curve_auc, **o: f(k, a,
        0 * np.asarray(pi) + .1 if np.ndim(pi) else pi, **o)),
    "normalized areas upside down": ("outperformance/section4.3", zhao, "normalized_auc", lambda k, a, pi: 1
                                     - np.asarray(a)),
    "test sets ranked upwards": ("outperformance/section4.3", zhao, "_ranked", lambda i, c, f=zhao._ranked: f(
        i, c)[::-1] if c != "Precision" else f(i, c)),
    "lift scored as precision": ("outperformance/section4.3", zhao,
                                 "outperformance", lambda m, v, pi, f=zhao.outperformance: f("precision", v
        if m == "precision" else .3, pi)),
    "abstaining at the cost itself": ("expected_cost/appendixA.3", ferrer, "bayes_decisions",
                                      lambda logs, c, log: np.where(logs.max(1) < np.log(.3), 10, 0)),
}


clean = functools.cache(lambda name: item_result(ITEMS[name]))


@pytest.mark.parametrize("planted", [pytest.param(name, marks=pytest.mark.xdist_group(item))
                                     for name, (item, *_) in PLANTED.items()])
def test_a_planted_error_is_noticed(monkeypatch, planted):
    item, where, name, instead = PLANTED[planted]
    if any(not reproduce.datasets.available(need) for need in ITEMS[item].needs):
        pytest.skip("needs data")
    assert not clean(item).fails, "before anything is planted"
    monkeypatch.setattr(where, name, instead)
    result = run_item(ITEMS[item])
    worse = result.fails or (result.table["outcome"] != clean(item).table["outcome"]).any()
    assert worse, f"{planted}: {result.counts}"


# -- rows that cannot be run again quickly -------------------------------------------------------------------

def row_of(item, cell):
    rows = stored_rows().set_index(["item", "cell"])
    return rows.loc[(item, cell)].to_dict()


def with_ours(item, cell, value):
    return outcome_of(row_of(item, cell) | {"ours": value})


@pytest.mark.parametrize("data", ["UNSW-NB15", "Phishing data"])
def test_precision_and_recall_exchanged_on_a_stand_in(data):
    item, noticed = "cost_score/table6-study", []
    for where in ("F1 ", "0.1/", "1/", "10/"):
        pair = [f"{data}/{where}{column}" for column in ("precision", "recall")]
        for cell, other in (pair, pair[::-1]):
            assert row_of(item, cell)["outcome"] == "other data"
            noticed.append(with_ours(item, cell, row_of(item, other)["ours"]) == "open")
    assert sum(noticed) >= 6, noticed


def test_ten_stumps_for_the_loan(monkeypatch):
    "Trained for it: one split, ten stumps. The ranges are those of the real settings."
    pytest.importorskip("xgboost")
    if not reproduce.datasets.available("loan"):
        pytest.skip("needs data")
    monkeypatch.setitem(zhao._SPLITS["loan"], "quick", 1)
    monkeypatch.setitem(zhao._SETTINGS, "25 stumps", {"n_estimators": 10, "learning_rate": 0.1,
                                                      "max_depth": 1})
    zhao.train.cache_clear()
    found = zhao._trained_table("table7", "loan", budget="quick", mutant="25 stumps").table
    zhao.train.cache_clear()
    if not reproduce.stored_rows().query("item == 'outperformance/table7-loan'")["outcome"].eq(
        "other data").all():
        pytest.skip("the paper's own loan data are at hand")
    assert (found["outcome"] == "open").sum() >= 6, found[["cell", "ours", "low", "high", "outcome"]]


def test_lambda_one_tenth_of_table_5_cannot_be_told_from_two_tenths():
    """Why the planted lambda of .2 is not noticed in Table 5: on the same test sets it moves the coverage by
    less than the rows' tolerance,
    which is the noise of one run of 1,000 test sets. A lambda of 10 moves it by more."""
    p, c = np.array([0.9, 0.05, 0.03, 0.02]), np.array([0, 1.37, 2.91, 7.77])
    tenth, fifth, ten = (1000 * md.bootstrap_coverage(p, c, laplace=v, n_sets=2000, rng=0).share
                         for v in (.1, .2, 10))
    rows = stored_rows().query("item == 'bootstrap/table5' and outcome == 'consistent'")
    assert abs(tenth - fifth) < rows["tolerance"].min() < abs(tenth - ten)


def test_the_seeds_of_the_forests_are_not_chosen(monkeypatch):
    """Seeds picked because their numbers lie near the printed ones would look like any others: so they are
    the first ones."""
    asked = []
    monkeypatch.setattr(marwah, "_run", lambda name, data_dir, paths, seed, most: asked.append(seed))
    monkeypatch.setattr(marwah.datasets, "find", lambda *a: ("form", ["file"]))
    for budget, n in (("quick", 20), ("full", 40)):
        asked.clear()
        marwah._runs("KDD cup 99", budget)
        assert asked == list(range(n))
    monkeypatch.setattr(zhao, "_load_task", lambda *a: zhao._Task(None, None, None, 1.0, 0))
    monkeypatch.setattr(zhao, "_set_sizes", lambda *a: [1, 1, 1])
    splits = []

    def stop(data, data_dir, seed, *rest):
        splits.append(seed)
        if seed == 5:
            raise RuntimeError
        return .5, [({}, ()) for _ in range(3)]

    monkeypatch.setattr(zhao, "_fit_split", stop)
    with pytest.raises(RuntimeError):
        zhao.train.__wrapped__("loan")
    assert splits == list(range(6))


def test_cost_models_exchanged(monkeypatch):
    "M6 and M7 in each other's place: what their limits are is a definition, how they behave is not."
    limits = dict(md._LIMITS) | {"M6": md._LIMITS["M7"], "M7": md._LIMITS["M6"]}
    monkeypatch.setattr(md, "_LIMITS", limits)
    assert run_item(ITEMS["bootstrap/table4"]).fails


@pytest.mark.parametrize("outcome", [o for o in reproduce.OUTCOMES if o != "agrees"])
def test_no_row_that_says_something_else_can_be_called_an_agreement(outcome):
    rows = stored_rows()
    for row in rows[rows["outcome"] == outcome].to_dict("records"):
        assert outcome_of(row) == outcome, row


def test_every_stored_outcome_follows_from_its_row():
    rows = stored_rows()
    again = [outcome_of(row) for row in rows.to_dict("records")]
    wrong = rows.loc[rows["outcome"] != again, ["item", "cell", "outcome"]]
    assert wrong.empty, wrong


def test_how_a_row_was_obtained_goes_with_its_outcome():
    """A change is named where a row is caused and nowhere else; data that are not the paper's are a sample or
    a stand-in; every refutation has a name."""
    rows = stored_rows()
    assert set(rows["how"]) == {"", *reproduce.HOW} and ((rows["how"] == "") == (rows["outcome"] == "")).all()
    assert ((rows["how"] == "named change") == (rows["outcome"] == "caused")).all()
    unjudged = rows["outcome"] == "other data"
    assert rows.loc[unjudged, "how"].isin(["sample", "stand-in"]).all() and set(rows.loc[rows["how"]
            == "stand-in", "outcome"]) == {"other data"}
    judged = rows[(rows["how"] == "sample") & ~unjudged]
    assert set(judged["outcome"]) == {"consistent"} and judged["cell"].str.contains(
        "Prevalence|per cent").all(), "the sample's error is in their band"
    assert ((rows["finding"] != "") == (rows["outcome"] == "contradicted")).all()
    told = compare(published("outperformance", "table8")[:2], {}, how={"*": "fitted"})
    assert (told["how"] == "").all()
    with pytest.raises(ValueError, match="how.*did you mean 'fitted'"):
        compare(published("outperformance", "table8")[:2], {}, how={"*": "fited"})


def test_a_refutation_expects_something_else_than_the_paper():
    rows = stored_rows()
    found = rows[rows["outcome"] == "contradicted"]
    assert len(found) > 30 and found["low"].notna().all()
    for row in found.to_dict("records"):
        if np.isnan(row["margin"]):
            assert not row["low"] <= row["published"] <= row["high"], row
        else:
            assert row["high"] <= 0 if row["published"] else row["low"] > 0, row


def test_a_refuted_row_with_any_other_number_is_open():
    rows = stored_rows()
    for row in rows[rows["outcome"].isin(["contradicted", "other data"])].to_dict("records"):
        seen = "ours" if np.isnan(row["margin"]) else "margin"
        far = row["high"] + 2 * (row["high"] - row["low"])
        assert outcome_of(row | {seen: far}) == "open", row


def test_published_numbers_changed_by_two_units_are_noticed():
    "A slip of transcription, in numbers that agree: two units of the last digit, both ways."
    missed = 0
    rows = stored_rows()
    rows = rows[(rows["outcome"] == "agrees") & (rows["kind"] == "number")
                & (rows["resolution"].fillna(0) < .1)]
    for row in rows.to_dict("records"):
        for sign in (-1, 1):
            missed += outcome_of(row | {"published": row["published"] + sign * 4.1
                                        * row["tolerance"]}) != "open"
    assert len(rows) > 350 and missed == 0


def test_causes_compete():
    paper = pd.DataFrame({"cell": list("abc"), "published": [1.0, 2, 3], "decimals": 0})
    ours = {"a": 1, "b": 2, "c": 5}
    only = compare(paper, ours, causes={"x": {"b": 2, "c": 3}, "y": {"b": 4, "c": 3}}).set_index("cell")
    assert only["outcome"].tolist() == ["agrees", "agrees", "caused"] and "alone of 2" in only["note"]["c"]
    both = compare(paper, ours, causes={"x": {"b": 2, "c": 3}, "y": {"c": 3}}).set_index("cell")
    assert both["outcome"]["c"] == "open" and "2 of 2 causes" in both["note"]["c"]
    alone = compare(paper, ours, causes={"x": {"c": 3}}).set_index("cell")
    assert alone["outcome"]["c"] == "open", "a cause without a rival is none"
    assert compare(paper, ours, with_cause={"c": 3})["outcome"][2] == "open"


def test_ranges_name_rows_that_exist():
    listed = reproduce._expected_ranges()
    names = {f"{paper}/{item}" for paper in ("expected_cost", "bootstrap", "cost_score", "weighted_accuracy",
                                             "outperformance")
             for item in published(paper)["item"]} | set(ITEMS)
    assert {item for item, *_ in listed} <= names and {budget for *_, budget in listed} == {"", "quick"}
    rows = stored_rows().set_index(["item", "cell"])
    for (*key, budget), (low, high) in listed.items():
        assert low < high and tuple(key) in rows.index and (*key, "") in listed, key
        if not budget:  # of the full one, which is stored
            assert rows.loc[tuple(key), "low"] == pytest.approx(low) and rows.loc[tuple(key),
                    "high"] == pytest.approx(high), key


# -- the committed board against a run -----------------------------------------------------------------------

def of_the_day(items, parts=10):
    """A tenth of the items, another one each day; the day can be set, so that a failure can be looked at
    again."""
    day = int(os.environ.get("COST_EVAL_DAY", datetime.date.today().toordinal()))
    return [name for k, name in enumerate(sorted(items)) if k % parts == day % parts]


BOARD = stored_board().set_index("item")
QUICK = [name for name, row in BOARD.iterrows() if row["seconds"] <= 8 and not row["heat_map"]
         and row["budget"] == "full"]
SLOW = [name for name in BOARD.index if name not in QUICK and not BOARD.loc[name, "heat_map"]]


def recomputed_as_stored(name):
    if any(not reproduce.datasets.available(need) for need in ITEMS[name].needs):
        pytest.skip("needs data")
    now = run_item(ITEMS[name], budget=BOARD.loc[name, "budget"])
    off = reproduce.moved([now])
    assert now.verdict == BOARD.loc[name, "verdict"] and off.empty, (now.note, off)


# the papers' notebooks hold every item to its stored outcomes under the quick budget, in every run
@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_the_committed_board_is_what_a_run_gives(name):
    "All that takes seconds under the full budget."
    recomputed_as_stored(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", of_the_day(SLOW))
def test_the_committed_board_is_what_a_long_run_gives(name):
    "A tenth of what takes minutes, the next tenth tomorrow."
    recomputed_as_stored(name)


def test_every_item_has_its_day(monkeypatch):
    seen = []
    for day in range(10):
        monkeypatch.setenv("COST_EVAL_DAY", str(day))
        seen += of_the_day(SLOW)
    assert sorted(seen) == sorted(SLOW) and len(QUICK) > 25


def test_the_items_of_the_board_count_its_rows():
    counted = stored_rows().groupby(["item", "outcome"]).size()
    for name in [*QUICK, *SLOW]:
        for outcome in reproduce.OUTCOMES:
            assert BOARD.loc[name, outcome] == counted.get((name, outcome), 0), (name, outcome)
        assert BOARD.loc[name, "verdict"] == reproduce.verdict(stored_rows().query("item == @name")), name


def test_no_finding_hides_behind_a_stand_in():
    for name, row in BOARD.iterrows():
        if row["contradicted"]:
            assert row["verdict"] == "contradicted" or row["open"], name


@pytest.mark.parametrize("name", [name for name, item in ITEMS.items() if item.needs])
def test_without_data_an_item_names_the_command(no_data, name):
    result = run_item(ITEMS[name], budget="full")
    assert (result.verdict == "needs data" and result.table is None
            and result.note == f"cost-eval data fetch {' '.join(ITEMS[name].needs)}")


@pytest.mark.parametrize("notebook", ["19_expected_cost", "29_bootstrap", "39_cost_score",
                                      "49_weighted_accuracy", "59_outperformance"])
def test_every_quick_item_is_held_against_the_board(notebook):
    """CI recomputes them all where their notebooks run, once; here they would take a minute and a half more.
    The last cell of results
    stops if an outcome is not the stored one, or a wrong computation leaves the verdict as it is."""
    cells = json.loads((ROOT / "nbs" / f"{notebook}_reproduced.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(c["source"]) for c in cells]
    checks = [source for source in sources if " moved(" in source and "#| export" not in source]
    assert len(checks) == 1 and ".empty" in checks[0] and "#| slow" not in checks[
        0] and "#| eval" not in checks[0]
    assert "ITEMS if name.startswith(" in checks[0] or "for name in ITEMS" in checks[0], "are they all?"
    assert "assert survivors(" in checks[0] or any('assert (mutants["right"] != mutants["wrong"]).all()'
                                                   in source for source in sources)


@pytest.fixture(scope="module")
def table5():
    "Published F1, MCC, OPS of one table: no randomness."
    return run_item(ITEMS["outperformance/table5"])


def test_a_run_is_held_against_the_board_row_by_row(table5, monkeypatch):
    """Stored: an outcome changed by hand, each of ours set to what is printed, a printed digit, a row that
    nobody computes, a row that is not there."""
    assert reproduce.moved([table5]).empty and reproduce.moved([]).empty
    mine = stored_rows()["item"] == table5.name

    def found(change):
        rows = stored_rows()
        rows = change(rows)
        monkeypatch.setattr(reproduce, "stored_rows", lambda: rows)
        told = reproduce.moved([table5])
        monkeypatch.undo()
        assert set(told["item"]) <= {table5.name}
        return sorted(zip(told["what"], told["cell"]))

    cells = table5.table["cell"].tolist()
    assert found(lambda rows: rows.assign(outcome=rows["outcome"].mask(mine, "undecided"))) == sorted(
        ("outcome", cell) for cell in cells)
    off = table5.table.loc[(table5.table["ours"] - table5.table["published"]).abs() > 1e-5, "cell"]
    assert len(off) > 8 and found(lambda rows: rows.assign(ours=rows["ours"].mask(mine,
            rows["published"]))) == sorted(("ours", cell) for cell in off)
    assert found(lambda rows: rows.assign(published=rows["published"].mask(rows.index == rows.index[mine][2],
            .2))) == [("published", cells[2])]
    assert found(lambda rows: rows.drop(rows.index[mine][3])) == [("outcome", cells[3])]
    assert found(lambda rows: pd.concat([rows, rows[mine][:1].assign(cell="another")])) == [("outcome",
            "another")]


def test_errors_that_are_too_large_and_rows_that_vanish_are_noticed(table5):
    """Planted in the run: an error of 1.0, errors times 300, a row that is gone, an item that failed. They
    were silent: what is undecided was passed over."""
    from dataclasses import replace as with_
    table = table5.table
    for tolerance in (table["tolerance"] + 3, 300 * table["tolerance"]):
        wide = table.assign(tolerance=tolerance, resolution=table["resolution"]
                            * tolerance / table["tolerance"])
        wide["outcome"] = [outcome_of(row) for row in wide.to_dict("records")]
        assert (wide["outcome"] == "undecided").any()
        assert set(reproduce.moved([with_(table5, table=wide)])["cell"]) == set(wide.loc[wide["outcome"]
                != table["outcome"], "cell"])
    assert reproduce.moved([with_(table5, table=table.drop(1))])["cell"].tolist() == [table["cell"][1]]
    assert len(reproduce.moved([with_(table5, table=None, verdict="failed")])) == len(table)
    assert reproduce.moved([with_(table5, table=None, verdict="needs data")]).empty


def test_what_a_small_budget_may_leave_undecided_is_listed():
    rows = stored_rows().set_index(["item", "cell"])
    listed = reproduce._may_be_undecided()
    assert 0 < len(listed) < 20 and {budget for *_, budget in listed} == {"quick"}
    assert all(rows.loc[(item, cell), "outcome"] in ("agrees", "consistent", "undecided")
               for item, cell, _ in listed)
    name, tied, _ = next(key for key in listed if key[0] == "bootstrap/laplace")
    stored = stored_rows().query("item == @name").drop(columns="item").reset_index(drop=True)
    turned = stored.assign(outcome=stored["outcome"].mask(stored["cell"] == tied, "undecided"))
    for budget, moves in (("quick", 0), ("full", 1)):
        assert len(reproduce.moved([reproduce.ItemResult(name, "", "agrees", turned,
                budget=budget)])) == moves


def test_counts_of_heat_maps_are_held_against_the_board():
    board = stored_board().set_index("item")
    name = "weighted_accuracy/figure1"
    outcomes = [outcome for outcome in reproduce.OUTCOMES for _ in range(board.loc[name, outcome])]
    for shown, moves in ((outcomes, []), (outcomes[1:], ["agrees"]),
                         (["open", *outcomes[1:]], ["agrees", "open"])):
        result = reproduce.ItemResult(name, "", "undecided", pd.DataFrame({"outcome": shown}), heat_map=True)
        assert reproduce.moved([result])["cell"].tolist() == moves


def test_the_board_names_what_the_papers_files_say_is_printed():
    "A threshold of .19 that became .20 in the file of a paper."
    rows = stored_rows()
    for paper, mine in rows.groupby(rows["item"].str.partition("/")[0]):
        printed = published(paper)
        own = printed.assign(item=paper + "/" + printed["item"]).set_index(["item",
                "cell"])["published"].to_dict()
        anywhere = printed.groupby("cell")["published"].agg(set).to_dict()
        for item, cell, value in zip(mine["item"], mine["cell"], mine["published"]):
            said = {own[item, cell]} if (item, cell) in own else anywhere.get(cell)
            assert said and (value in said or np.isnan(value) and all(map(np.isnan, said))), (item, cell,
                    value, said)


def test_sheets():
    for paper in ("ferrer", "margineantu", "marwah", "lombardo", "zhao"):
        lines = reproduce.sheet(paper).splitlines()
        assert 10 < len(lines) <= 25 and max(map(len, lines)) <= 110, paper
        name, rows = reproduce.by_author(paper), stored_rows()
        mine = rows[rows["item"].str.startswith(name + "/")]
        refuted = mine[mine["outcome"] == "contradicted"]
        told = [re.search(r"\[([\w.-]+)\]", line)[1] for line in lines if line.startswith("  # ")]
        assert (f"contradicted ({len(refuted)}), refuted by what the paper itself gives:" in lines
                and told == list(dict.fromkeys(refuted["finding"])))
        listed = reproduce.places().query("paper == @name and kind != 'heat map'")
        results = np.maximum(listed["printed"] - listed["settings"] - listed["repeats"],
                             listed["compared"]).sum()
        parts = [int(line.split()[0]) for line in lines if re.match(" +[0-9]+ ", line)]
        assert lines[0].startswith(f"Of {results} results in ") and sum(
            parts) == results, "each printed result once"
    with pytest.raises(ValueError, match="bayes"):
        reproduce.sheet("bayes")
    assert reproduce.by_author("zaho/table6") == "outperformance/table6" and reproduce.select(
        "ferrer/table1")[0].name == "expected_cost/table1"


def test_a_listing_explains_its_words():
    said = reproduce.listing(run_item(ITEMS["cost_score/sentences"]))
    assert ("contradicted: the paper's own inputs refute" in said and "Internal data/10/saving" in said
            and said.startswith("cost_score/sentences"))
    assert "consistent" not in said
