"""The same question through every door: Python functions, the report, tables of models, the command line and
Dask give one answer, also for
classes and cells that were not seen, priors of 0, costs below 0, a decision to abstain, one row.
"""
import numpy as np
import pandas as pd
import pytest

import cost_eval.api as ce
from cost_eval.costs import as_costs

ENDS = {"best": ["cost", "low", "high"], "ladder": ["cost", "low", "high", "nec"], "differences": None,
        "against_constant": None,
        "groups": None, "group_differences": None, "approximate": ["estimate", "low", "high", "p_value"]}


def problem(seed):
    "Few rows, random costs, models and rule; often a class, a cell or all but one row of a group is missing."
    rng = np.random.default_rng(seed)
    K = rng.choice([2, 2, 3])
    M, n = K + rng.integers(2), int(rng.choice([1, 2, 5, 13, 40]))
    costs = np.round(10 * rng.random((K, M)), 1) * rng.choice([1, 10],
            (K, M)) - rng.choice([0, 5]) + rng.choice([0, 1]) * rng.integers(-20, 20, (K, 1))
    costs[np.arange(K), np.arange(K)] = costs.min(1) - 1
    labels = [*range(K), *["wait"] * (M - K)]
    y = rng.choice(K, n, p=rng.dirichlet(np.full(K, .5)))
    d = [np.where(rng.random(n) < right, y, rng.integers(0, M, n)) for right in (.9, .6)]
    p = .5 * rng.dirichlet(np.ones(K), n) + .5 * np.eye(K)[y]
    fitted = rng.random() < .4
    models = {"p": ce.Posteriors(p)} if fitted else {name: ce.Decisions(np.array(labels, object)[each])
                                                     for name, each in zip("ab", d)}
    priors = None
    if rng.random() < .5:
        priors = rng.dirichlet(np.ones(K)) * (np.bincount(y, minlength=K) > 0) + 1e-9 * np.eye(K)[y[0]]
        priors = priors / priors.sum()
    given = {"rule": rng.choice(["calibrated", "bayes"]) if fitted else "as given", "priors": priors,
             "draws": 2}
    if n > 2 and rng.random() < .5:
        given["groups"] = np.arange(n) < rng.choice([1, n // 2])
    return y, models, ce.CostMatrix(costs, classes=labels[:K], decisions=labels), given


def numbers(report):
    tables = {name: getattr(report, name) for name in ENDS} | {"breakdown": report.breakdown()}
    found = {name: (table if ENDS.get(name) is None else table[ENDS[name]]).select_dtypes("number").to_numpy(
        float) for name, table in tables.items()}
    return found if report.winner is None else found | {"winner": np.r_[report.winner.low, report.winner.high]}


@pytest.mark.parametrize("seed", range(9))
def test_what_says_nothing_changes_nothing(seed):
    """Weights of 7, clusters of one, the matrix for each row, a propensity of 1. Clusters choose other folds,
    and may hold several classes."""
    y, models, costs, given = problem(seed)
    n = len(y)
    own = ce.ExampleCosts.from_array(np.broadcast_to(costs.array, (n, *costs.shape)), classes=costs.classes,
                                     decisions=costs.decisions)
    doors = {"weights": {"sample_weight": np.full(n, 7.)}, "own costs": {"costs": own},
             "propensity": {"propensity": 1.}}
    if given["priors"] is None and "groups" not in given and given["rule"] == "as given":
        doors["clusters"] = {"clusters": np.arange(n)}
    plain = numbers(ce.evaluate(y, models, costs, rng=0, **given))
    for door, more in doors.items():
        found = numbers(ce.evaluate(y, models, **{"costs": costs, **more}, rng=0, **given))
        for name, table in plain.items():
            np.testing.assert_allclose(found[name], table, rtol=1e-5, atol=1e-7, equal_nan=True,
                                       err_msg=f"{door}: {name}")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-300, 1e-170, 2.**-500, 1e300])
def test_weights_are_in_any_unit(unit):
    rng = np.random.default_rng(0)
    y, weight = np.arange(60) % 3 // 2, rng.random(60) + .5
    models = {name: ce.Scores(rng.normal(size=60) + y) for name in "ab"}
    plain, other = (ce.evaluate(y, models, [[0, 1], [5, 0]], sample_weight=weight * u, draws=1, rng=0)
                    for u in (1, unit))
    for here, there in ((plain.ladder, other.ladder), (plain.best, other.best), (plain.areas, other.areas),
                        (plain.robustness().to_frame(), other.robustness().to_frame())):
        pd.testing.assert_frame_equal(here, there, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("given", [{"sample_weight": [3.]}, {"clusters": ["a"]},
                                   {"strata": [0], "shares": {0: 1.}}])
def test_one_row_is_one_row(given):
    one, plain = ce.loss_interval([1.], bounds=(0, 20), **given), ce.loss_interval([1.], bounds=(0, 20))
    assert [one.low, one.high] == pytest.approx([plain.low, plain.high]) and 0 < one.low < one.high < 20


# ---- costs and posteriors

@pytest.mark.parametrize("turned", [
    pd.DataFrame([[0, 20], [1, 0]], index=[1, 0], columns=[1, 0]),
    pd.DataFrame([[20, 0], [0, 1]], index=[1, 0], columns=[0, 1]),
    pd.DataFrame([[0, 20, .5], [1, 0, .5]], index=[True, False], columns=[True, False, "wait"]),
])
def test_a_table_that_lists_1_first_is_refused(turned):
    "The second class is the positive one, and 1 is meant by it."
    for call in (as_costs, ce.bayes_threshold, lambda costs: ce.best_threshold([0, 1], [.1, .9], costs)):
        with pytest.raises(ValueError, match="the second class is the positive one, here .*turn the rows"):
            call(turned)
    assert as_costs(turned.iloc[::-1]).classes in ((0, 1), (False, True))



@pytest.mark.parametrize("said", [.25, [.75, .25], {0: .75, 1: .25}, {"1": .25, "0": .75},
                                  pd.Series({1: .25, 0: .75})])
def test_where_posteriors_are_right_is_said_in_any_form(said):
    y, p = np.tile([0, 1, 0], 20), np.linspace(.01, .99, 60)
    cost = [ce.evaluate(y, {"a": ce.Posteriors(p, priors=of)}, [[0, 1], [3, 0]], rule="bayes", priors=.5,
                        rng=0).best["cost"][0] for of in (said, np.array([.75, .25]))]
    assert cost[0] == cost[1]


def test_a_row_without_a_label_weighs_what_it_would():
    """Ten rows of .02, all missed, cost 20 * 10 / 300: out of the interval in .44 of the draws, where none of
    them had a label."""
    rows = np.arange(300)
    y, p, d = np.where((rows % 2 > 0) & (rows >= 10), 0., np.nan), np.where(rows < 10, .02, .5), np.zeros(300,
            int)
    found = ce.evaluate(y, {"a": ce.Decisions(d)}, [[0, 1], [20, 0]], propensity=p, rng=0)
    assert found.best["high"][0] > 20 * 10 / 300


@pytest.mark.parametrize("kind", [lambda v: v, ce.Posteriors])
def test_posteriors_in_another_order_are_refused(kind):
    y, p = pd.Series([0., 1, np.nan] * 20, list(map(str, range(60)))), pd.Series(np.linspace(.1, .9, 60),
            list(map(str, range(60))))
    d = (p > .5).astype(int)
    with pytest.raises(ValueError, match="index has"):
        ce.prediction_powered(y, d, [[0, 1], [20, 0]], kind(p[::-1]))


# ---- rows

# ---- columns that are one model

RNG = np.random.default_rng(3)
Y = RNG.integers(0, 2, 80)
P = np.clip(.4 * Y + .6 * RNG.random(80), .01, .99)


@pytest.mark.parametrize("columns, models", [
    ({"predict": Y, "p0": 1 - P, "p1": P}, ["p", "predict"]), ({"pred": Y, "proba": P}, ["pred", "proba"]),
    ({"0": 1 - P, "1": P, "again": Y}, ["model"]),
    ({"pred": Y, "confidence": np.maximum(P, 1 - P)}, ["pred"]),
    ({"p0": (1 - P).round(2) + .01, "p1": P.round(2)}, "does not sum to 1"),
])
def test_a_model_without_an_error_is_no_label(columns, models):
    if isinstance(models, str):
        with pytest.raises(ValueError, match=models):
            ce.evaluate(Y, pd.DataFrame(columns), [[0, 1], [20, 0]], rng=0)
    else:
        assert sorted(ce.evaluate(Y, pd.DataFrame(columns), [[0, 1], [20, 0]], rng=0).best["model"]) == models


# ---- the command line and Dask

def test_the_command_and_dask_say_what_python_says(tmp_path, capsys):
    "With a class that was not seen, in each way to say nothing."
    d = pytest.importorskip("dask.dataframe")
    from cost_eval import scale
    from cost_eval.__main__ import main
    y, n = np.zeros(60, int), 60
    plain = ce.evaluate(y, {"a": ce.Decisions(y)}, [[0, 1], [20, 0]],
                        rng=0).best[["cost", "low", "high"]].to_numpy(float)
    table = pd.DataFrame({"y": y, "a": y, "one": 1., "twenty": 20., "who": np.arange(n)})
    table.to_csv(tmp_path / "f.csv", index=False)
    lazy = d.from_pandas(table, chunksize=25)
    for options, given in ((["--weight", "one", "--cluster", "who"],
                            {"sample_weight": "one", "clusters": "who"}), (["--fn", "twenty",
            "--fp", "one"], {"costs": {"fp": "one", "fn": "twenty"}})):
        costs = [] if "--fn" in options else ["--fp", "1", "--fn", "20"]
        main(["evaluate", str(tmp_path / "f.csv"), "--label", "y", "--scores", "a", *costs, *options])
        assert "costs 0 per case (95% interval 0 to 1.193)" in capsys.readouterr().out
        report = scale.evaluate("y", {"a": ce.Decisions("a")},
                                **{"costs": [[0, 1], [20, 0]], **given}, data=lazy, rng=0)
        np.testing.assert_allclose(report.best[["cost", "low", "high"]].to_numpy(float), plain, rtol=1e-7,
                                   err_msg=str(options))
