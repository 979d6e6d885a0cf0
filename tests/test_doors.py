"""The same question through every door: what says nothing, to weights, clusters, costs of rows or labels,
changes no number of a report; also for classes and cells that were not seen, priors of 0, costs below 0, a
decision to abstain, one row.
"""
import numpy as np

import pytest

import cost_eval.api as ce

ENDS = {"best": ["cost", "low", "high"], "ladder": ["cost", "low", "high", "nec"], "differences": None,
        "against_constant": None, "groups": None, "group_differences": None,
        "approximate": ["estimate", "low", "high", "p_value"]}


def problem(seed):
    "Few rows, random costs, models and rule; often a class, a cell or all but one row of a group is missing."
    rng = np.random.default_rng(seed)
    K = rng.choice([2, 2, 3])
    M, n = K + rng.integers(2), int(rng.choice([1, 2, 5, 13, 40]))
    costs = np.round(10 * rng.random((K, M)), 1) * rng.choice([1, 10], (K, M))
    costs += rng.choice([0, 1]) * rng.integers(-20, 20, (K, 1)) - rng.choice([0, 5])
    costs[np.arange(K), np.arange(K)] = costs.min(1) - 1
    labels = [*range(K), *["wait"] * (M - K)]
    y = rng.choice(K, n, p=rng.dirichlet(np.full(K, .5)))
    d = [np.where(rng.random(n) < right, y, rng.integers(0, M, n)) for right in (.9, .6)]
    p = .5 * rng.dirichlet(np.ones(K), n) + .5 * np.eye(K)[y]
    fitted = rng.random() < .4
    models = {"p": ce.Posteriors(p)} if fitted else {
        name: ce.Decisions(np.array(labels, object)[each]) for name, each in zip("ab", d)}
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
    found = {name: table if ENDS.get(name) is None else table[ENDS[name]] for name, table in tables.items()}
    found = {name: table.select_dtypes("number").to_numpy(float) for name, table in found.items()}
    if report.winner is not None:
        found["winner"] = np.r_[report.winner.low, report.winner.high]
    return found


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
