"""Which model under whose costs, and at least cost under a requirement: against hand computation, all thresholds one by one, and the exact binomial."""
import numpy as np
import pandas as pd
import pytest

import cost_eval.api as ce

rng = np.random.default_rng(5)
N = 300
Y = (rng.random(N) < .3).astype(int)
SCORE = {name: rng.normal(size=N) + s * Y for name, s in (("sharp", 1.6), ("blunt", 1.1), ("coin", .2))}
MODELS = {name: ce.Scores(s) for name, s in SCORE.items()} | {"bold": ce.Decisions((SCORE["blunt"] > -.5).astype(int))}
COSTS = ce.CostMatrix.binary(fp=1, fn=5)
OTHERS = {"risk": ce.CostMatrix.binary(fp=1, fn=40), "sales": ce.CostMatrix.binary(fp=4, fn=1)}


def by(table, scenario):
    return table[table["scenario"] == scenario].set_index("model")


# ---- scenarios

@pytest.mark.parametrize("given", [{}, {"priors": .1}, {"capacity": .5}, {"clusters": np.arange(N) // 2}, {"rule": "tuned"}])
def test_a_scenario_is_the_report_at_its_costs(given):
    "Costs of each model and of the best constant decision; the regret is what a model costs more than the cheapest."
    found = ce.evaluate(Y, MODELS, COSTS, scenarios=OTHERS, rng=0, **given).scenarios
    for name, costs in OTHERS.items():
        report, own = ce.evaluate(Y, MODELS, costs, rng=0, **given), by(found, name)
        assert own.index.tolist() == report.best["model"].tolist()
        best = report.best.set_index("model")["cost"]
        assert own["cost"].to_numpy() == pytest.approx(best.to_numpy()) and own["regret"].to_numpy() == pytest.approx((best - best.min()).to_numpy())
        naive = report.ladder.loc[report.ladder["rule"] == "constant", "cost"].min()
        assert own["naive"].to_numpy() == pytest.approx(naive) and own["of_naive"].to_numpy() == pytest.approx(((best - best.min()) / naive).to_numpy())
    worst = found.groupby("model")["regret"].max()
    assert set(found.loc[found["compromise"], "model"]) == {worst.idxmin()}


def test_a_regret_is_bounded_by_the_differences_from_all():
    "One scenario: the ends are the largest of the simultaneous differences' from every other model."
    found = by(ce.evaluate(Y, MODELS, COSTS, scenarios={"now": COSTS}, rng=0).scenarios, "now")
    report = ce.evaluate(Y, MODELS, COSTS, rng=0)
    for name, row in found.iterrows():
        d = report.differences
        low = [r["low"] if r["first"] == name else -r["high"] for _, r in d.iterrows() if name in (r["first"], r["second"])]
        high = [r["high"] if r["first"] == name else -r["low"] for _, r in d.iterrows() if name in (r["first"], r["second"])]
        assert [row["low"], row["high"]] == pytest.approx([max(0, *low), max(0, *high)]) and row["low"] <= row["regret"] <= row["high"]
    assert found["told_apart"].tolist() == (found["p_value"] < .05).tolist() and found["told_apart"].any() and not found["told_apart"].all()


def test_a_worse_scenario_widens_what_is_held_together():
    one, two = (ce.evaluate(Y, MODELS, COSTS, scenarios=dict(list(OTHERS.items())[:k]), rng=0).scenarios for k in (1, 2))
    assert (by(two, "risk")["high"] >= by(one, "risk")["high"]).all() and (by(two, "risk")["p_value"] >= by(one, "risk")["p_value"]).all()


def test_decisions_by_hand():
    "10 samples; one model alarms twice in vain, the other misses one."
    y = np.repeat([0, 1], [6, 4])
    alarms, misses = y.copy(), y.copy()
    alarms[:2], misses[-1] = 1, 0
    scenarios = {"risk": [[0, 1], [10, 0]], "sales": [[0, 3], [2, 0]]}
    report = ce.evaluate(y, {"alarms": ce.Decisions(alarms), "misses": ce.Decisions(misses)}, [[0, 1], [1, 0]], scenarios=scenarios, rng=0)
    table = report.scenarios.set_index(["scenario", "model"])
    assert table["cost"].round(9).to_dict() == {("risk", "alarms"): .2, ("risk", "misses"): 1.0, ("sales", "misses"): .2, ("sales", "alarms"): .6}
    assert table["regret"].round(9).tolist() == [0, .8, 0, .4] and table["naive"].round(9).tolist() == [.6, .6, .8, .8]
    assert table["compromise"].tolist() == [True, False, False, True] and table["of_naive"].round(9).tolist() == [0, round(.8 / .6, 9), 0, .5]
    said = next(line for line in report.summary().splitlines() if "Under other costs" in line)
    assert "alarms is the cheapest under risk; misses is the cheapest under sales" in said and "alarms is the compromise: it costs at most 0.4 per case more than the cheapest, under sales (" in said


def test_equal_costs_leave_no_regret_and_forms_agree():
    report = ce.evaluate(Y, MODELS, COSTS, scenarios={"same": COSTS}, rng=0)
    top = report.best.loc[0, "model"]
    assert by(report.scenarios, "same").loc[top, "regret"] == 0 and report.scenarios.loc[report.scenarios["compromise"], "model"].tolist() == [top]
    twins = ce.evaluate(Y, {"a": MODELS["bold"], "b": MODELS["bold"]}, COSTS, scenarios=OTHERS, rng=0).scenarios
    assert (twins[["regret", "low"]] == 0).all(axis=None) and twins["compromise"].all() and not twins["told_apart"].any()
    forms = [{"fp": 1, "fn": 40}, pd.DataFrame([[0., 1], [40, 0]], index=[0, 1], columns=[0, 1]), [[0, 1], [40, 0]], OTHERS["risk"],
             {"fp": np.ones(N), "fn": np.full(N, 40.)}, ce.ExampleCosts(fp=np.ones(N), fn=np.full(N, 40.))]
    tables = [ce.evaluate(Y, MODELS, COSTS, scenarios={"risk": form}, rng=0).scenarios for form in forms]
    for table in tables[1:]:
        assert table["cost"].to_numpy() == pytest.approx(tables[0]["cost"].to_numpy()) and table["high"].to_numpy() == pytest.approx(tables[0]["high"].to_numpy(), rel=1e-6)
    assert not len(ce.evaluate(Y, MODELS, COSTS, rng=0).scenarios)


def test_scenarios_of_a_report_at_other_costs_and_of_labelled_rows():
    report = ce.evaluate(Y, MODELS, COSTS, scenarios=OTHERS, rng=0)
    moved = report.with_costs(OTHERS["sales"])
    assert moved.scenarios.equals(report.scenarios) and moved.best.loc[0, "cost"] == pytest.approx(by(report.scenarios, "sales")["cost"].min())
    gaps, own = np.where(np.arange(N) % 3 == 0, np.nan, Y), {"fp": 1, "fn": np.linspace(1, 9, N)}
    lacking = ce.evaluate(gaps, MODELS, COSTS, propensity=.7, scenarios={"own": own}, rng=0).scenarios
    alone = ce.evaluate(gaps, MODELS, own, propensity=.7, rng=0)
    assert lacking["cost"].to_numpy() == pytest.approx(alone.best["cost"].to_numpy())
    assert lacking["high"].max() == pytest.approx(ce.evaluate(gaps, MODELS, own, propensity=.7, scenarios={"own": own}, rng=0).scenarios["high"].max())


@pytest.mark.parametrize("scenarios, words", [
    ({"risk": np.zeros((3, 3))}, r"scenarios\['risk'\]"), ({"risk": {"fp": 1, "fn": np.ones(4)}}, r"scenarios\['risk'\].*4"), ({"risk": 20}, r"scenarios\['risk'\]"),
    ({"risk": ce.CostMatrix([[0, 1], [5, 0]], classes=["well", "ill"])}, r"scenarios\['risk'\].*classes"), (OTHERS["risk"], "scenarios: a mapping"), ({}, "scenarios: a mapping"),
    ({"risk": np.zeros((2, 3))}, r"scenarios\['risk'\]")])
def test_a_scenario_of_another_problem_is_refused_by_name(scenarios, words):
    with pytest.raises(ValueError, match=words):
        ce.evaluate(Y, MODELS, COSTS, scenarios=scenarios, rng=0)
