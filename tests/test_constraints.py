"""Which model under whose costs, and at least cost under a requirement: against hand computation, all
thresholds one by one, and the exact binomial."""
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import cost_eval.api as ce
from conftest import refuses
from cost_eval.policies import CrossFit
from cost_eval.samples import read_samples
from problems import decide

rng = np.random.default_rng(5)
N = 300
Y = (rng.random(N) < .3).astype(int)
SCORE = {name: rng.normal(size=N) + s * Y for name, s in (("sharp", 1.6), ("blunt", 1.1), ("coin", .2))}
MODELS = {name: ce.Scores(s)
          for name, s in SCORE.items()} | {"bold": ce.Decisions((SCORE["blunt"] > -.5).astype(int))}
COSTS = ce.CostMatrix.binary(fp=1, fn=5)
OTHERS = {"risk": ce.CostMatrix.binary(fp=1, fn=40), "sales": ce.CostMatrix.binary(fp=4, fn=1)}
Y3, P3 = np.arange(60) % 3, np.full((60, 3), 1 / 3)


def by(table, scenario):
    return table[table["scenario"] == scenario].set_index("model")


# ---- scenarios

@pytest.mark.parametrize("given", [{}, {"priors": .1}, {"capacity": .5}, {"rule": "tuned"}], ids=str)
def test_a_scenario_is_the_report_at_its_costs(given):
    """Costs of each model and of the best constant decision; the regret is what a model costs more than the
    cheapest."""
    found = ce.evaluate(Y, MODELS, COSTS, scenarios=OTHERS, draws=1, rng=0, **given).scenarios
    for name, costs in OTHERS.items():
        report, own = ce.evaluate(Y, MODELS, costs, draws=1, rng=0, **given), by(found, name)
        best = report.best.set_index("model")["cost"]
        naive = report.ladder.loc[report.ladder["rule"] == "constant", "cost"].min()
        assert own.index.tolist() == best.index.tolist()
        for column, wanted in (("cost", best), ("regret", best - best.min()), ("naive", naive),
                               ("of_naive", (best - best.min()) / naive)):
            assert own[column].to_numpy() == pytest.approx(np.broadcast_to(wanted, len(own)))
    worst = found.groupby("model")["regret"].max()
    assert set(found.loc[found["compromise"], "model"]) == {worst.idxmin()}


def test_a_regret_is_bounded_by_the_differences_from_all():
    "One scenario: the ends are the largest of the simultaneous differences' from every other model."
    now = {"now": OTHERS["sales"]}
    found = by(ce.evaluate(Y, MODELS, COSTS, scenarios=now, draws=1, rng=0).scenarios, "now")
    d = ce.evaluate(Y, MODELS, OTHERS["sales"], draws=1, rng=0).differences
    turned = d.rename(columns={"first": "second", "second": "first"}).assign(low=-d["high"], high=-d["low"])
    ends = pd.concat([d, turned]).groupby("first")[["low", "high"]].max().clip(0)
    assert found[["low", "high"]].to_numpy(float) == pytest.approx(ends.loc[found.index].to_numpy(float))
    assert ((found["low"] <= found["regret"]) & (found["regret"] <= found["high"])).all()
    assert found["told_apart"].tolist() == (found["p_value"] < .05).tolist()
    assert found["told_apart"].any() and not found["told_apart"].all()


def test_decisions_by_hand():
    "10 samples; one model alarms twice in vain, the other misses one."
    y = np.repeat([0, 1], [6, 4])
    alarms, misses = y.copy(), y.copy()
    alarms[:2], misses[-1] = 1, 0
    scenarios = {"risk": [[0, 1], [10, 0]], "sales": [[0, 3], [2, 0]]}
    report = ce.evaluate(y, {"alarms": ce.Decisions(alarms), "misses": ce.Decisions(misses)},
                         [[0, 1], [1, 0]], scenarios=scenarios, rng=0)
    table = report.scenarios.round(9)
    wanted = [("risk", "alarms", .2, 0, .6, 0, True), ("risk", "misses", 1, .8, .6, round(.8 / .6, 9), False),
              ("sales", "misses", .2, 0, .8, 0, False), ("sales", "alarms", .6, .4, .8, .5, True)]
    columns = ["scenario", "model", "cost", "regret", "naive", "of_naive", "compromise"]
    assert [tuple(row) for row in table[columns].to_numpy()] == wanted
    said = next(line for line in report.summary().splitlines() if "Under other costs" in line)
    assert re.search("alarms .*under risk; misses .*under sales.*alarms is the compromise.* 0.4 ", said)


def test_equal_costs_leave_no_regret():
    report = ce.evaluate(Y, MODELS, COSTS, scenarios={"same": COSTS}, draws=1, rng=0)
    top, found = report.best.loc[0, "model"], report.scenarios
    assert by(found, "same").loc[top, "regret"] == 0
    assert found.loc[found["compromise"], "model"].tolist() == [top]
    twins = {"a": MODELS["bold"], "b": MODELS["bold"]}
    found = ce.evaluate(Y, twins, COSTS, scenarios=OTHERS, rng=0).scenarios
    assert (found[["regret", "low"]] == 0).all(axis=None)
    assert found["compromise"].all() and not found["told_apart"].any()


def test_scenarios_of_a_report_at_other_costs_and_of_labelled_rows():
    report = ce.evaluate(Y, MODELS, COSTS, scenarios=OTHERS, draws=1, rng=0)
    moved = report.with_costs(OTHERS["sales"])
    assert moved.scenarios.equals(report.scenarios)
    assert moved.best.loc[0, "cost"] == pytest.approx(by(report.scenarios, "sales")["cost"].min())
    gaps, own = np.where(np.arange(N) % 3 == 0, np.nan, Y), {"fp": 1, "fn": np.linspace(1, 9, N)}
    options = {"propensity": .7, "scenarios": {"own": own}, "draws": 1, "rng": 0}
    lacking, alone = (ce.evaluate(gaps, MODELS, costs, **options) for costs in (COSTS, own))
    assert lacking.scenarios["cost"].to_numpy() == pytest.approx(alone.best["cost"].to_numpy())
    assert lacking.scenarios["high"].max() == pytest.approx(alone.scenarios["high"].max())


# ---- least cost under a requirement

SHARES = {  # share of what among what, written out; y, d: booleans
    "recall": lambda y, d, w: w[y & d].sum() / w[y].sum(), "tpr": lambda y, d, w: w[y & d].sum() / w[y].sum(),
    "fnr": lambda y, d, w: w[y & ~d].sum() / w[y].sum(),
    "specificity": lambda y, d, w: w[~y & ~d].sum() / w[~y].sum(),
    "fpr": lambda y, d, w: w[~y & d].sum() / w[~y].sum(),
    "precision": lambda y, d, w: w[y & d].sum() / w[d].sum() if d.any() else 1.,
    "npv": lambda y, d, w: w[~y & ~d].sum() / w[~d].sum() if (~d).any() else 1.,
    "workload": lambda y, d, w: w[d].sum() / w.sum(),
}
AT_LEAST = {"recall", "tpr", "specificity", "precision", "npv"}
LIMITS = {"recall": .9, "tpr": 1, "fnr": .25, "specificity": .9, "fpr": 0, "precision": .75, "npv": .9,
          "workload": .25}


def by_trying(y, s, costs, require, weight, priors):
    """The least cost of a cut that keeps to what is required, every cut tried by itself; of equal ones the
    fewest positives. None: there is none."""
    at = weight if priors is None else weight * np.where(y, priors[1] / weight[y].sum(),
            priors[0] / weight[~y].sum())
    best = None
    for t in [np.inf, *np.unique(s)[::-1]]:
        d = s >= t
        paid = np.average(costs[np.arange(len(y)), y.astype(int), d.astype(int)], weights=at)
        share = {key: SHARES[key](y, d, at) for key in require}
        kept = all(share[key] >= limit - 1e-9 if key in AT_LEAST else share[key] <= limit + 1e-9
                   for key, limit in require.items())
        if kept and (best is None or paid < best[0] - 1e-9):
            best = paid, d
    return best


@pytest.mark.parametrize("key", LIMITS)
@pytest.mark.parametrize("own", [False, True])
def test_the_cut_is_the_cheapest_of_all_that_keep_to_it(key, own):
    "Ties among scores, weights, priors, and with each row's own costs, against trying every cut."
    draw, require = np.random.default_rng(3), {key: LIMITS[key]}
    for seed in range(8):
        y, s = draw.random(40) < .4, np.round(draw.normal(size=40), 1)
        s, weight = s + y, draw.integers(1, 4, 40).astype(float)
        table = np.stack([np.array([[0, 1], [draw.integers(1, 9), 0]])] * 40).astype(float)
        if own:
            table[:, 1, 0] = draw.integers(1, 20, 40)
        costs = ce.ExampleCosts.from_array(table) if own else table[0]
        for given in ({}, {"sample_weight": weight}, {"priors": [.9, .1]}):
            how = given.get("sample_weight", np.ones(40)), given.get("priors")
            cost, d = by_trying(y, s, table, require, *how) or (None, None)
            if cost is None:
                with pytest.raises(ValueError, match="require: no threshold has"):
                    ce.best_threshold(y, s, costs, require=require, **given)
                continue
            found = ce.best_threshold(y, s, costs, require=require, **given)
            assert found.cost == pytest.approx(cost) and np.array_equal(s >= found.threshold, d)
            assert np.array_equal(s >= found.high, d) and not (found.low >= found.high)
            free = ce.best_threshold(y, s, costs, **given)
            assert by_trying(y, s, table, {}, *how)[0] == pytest.approx(free.cost)


def test_the_cut_is_chosen_on_the_other_folds():
    "Row by row: the cut of `best_threshold` on the other folds; the one that is handed over on all rows."
    fold, sharp = np.arange(N) % 4, SCORE["sharp"]
    for require in ({"recall": .95}, {"workload": .2, "precision": .3}):
        policy = decide(MODELS["sharp"], Y, COSTS, require=require, folds=fold, rng=0)
        cuts = [ce.best_threshold(Y[fold != k], sharp[fold != k], COSTS, require=require).threshold
                for k in range(4)]
        assert np.array_equal(policy.decisions, sharp >= np.array(cuts)[fold]) and policy.rule == "tuned"
        installed = ce.best_threshold(Y, sharp, COSTS, require=require)
        rule = ce.fit_rule(Y, MODELS["sharp"], COSTS, require=require)
        assert policy.threshold == rule.threshold == installed.threshold
        assert np.array_equal(rule.decide(MODELS["sharp"]), sharp >= installed.threshold)
        report = ce.evaluate(Y, {"sharp": MODELS["sharp"]}, COSTS, require=require, draws=1, rng=0)
        assert report.decision_rule().threshold == installed.threshold
    free, loose = (decide(MODELS["sharp"], Y, COSTS, rule="tuned", require=r, rng=0)
                   for r in (None, {"recall": .01}))
    assert np.array_equal(free.decisions, loose.decisions)


def test_the_best_that_was_reached_is_that_of_all_cuts_and_can_be_asked_for():
    s = SCORE["blunt"]
    best = min((s[Y == 0] >= t).mean() for t in s if (s[Y == 1] >= t).mean() >= .99)
    with pytest.raises(ValueError) as told:
        ce.best_threshold(Y, s, COSTS, require={"recall": .99, "fpr": .01})
    reached = float(str(told.value).partition("reached is fpr ")[2].partition(";")[0])
    assert best <= reached < best + 1e-4
    assert ce.best_threshold(Y, s, COSTS, require={"recall": .99, "fpr": reached}).counts.fpr == best


SAID = 1 / (1 + np.exp(-SCORE["sharp"]))


def asked(require, costs=COSTS, model=SAID, **options):
    return lambda: decide(model, Y, costs, require=require, rng=0, **options)


def scenario(costs):
    return lambda: ce.evaluate(Y, MODELS, COSTS, scenarios={"risk": costs}, rng=0)


THREE = ce.ConfusionCounts([[90, 0, 10], [1, 80, 19]], classes=[0, 1], decisions=[0, 1, "ask"])
test_what_is_refused = refuses({
    "another rate": (asked({"rcall": .9}), "did you mean 'recall'"),
    "a cell": (asked({("ill", "treat"): .9}), "a rate"), "percent": (asked({"recall": 2}), r"\[0, 1\]"),
    "text": (asked({"recall": "much"}), r"require\['recall'\]"), "nothing": (asked({}), "require: a mapping"),
    "a number": (asked(.95), "require: a mapping"),
    "a rule without a cut": (asked({"recall": .9}, rule="bayes"), "require: .*use rule='tuned'"),
    "a queue": (asked({"recall": .9}, capacity=10), "require: .*workload"),
    "three decisions": (asked({"recall": .9}, ce.CostMatrix.zero_one(2).with_abstain(.2),
                              np.column_stack([1 - SAID, SAID])), "two classes and decisions|one cut"),
    "a map": (lambda: ce.evaluate(Y, MODELS, COSTS, require={"recall": .9}, draws=1, rng=0).robustness(),
              "held by what is required"),
    "three classes": (scenario(np.zeros((3, 3))), r"scenarios\['risk'\]"),
    "four rows": (scenario({"fp": 1, "fn": np.ones(4)}), r"scenarios\['risk'\].*4"),
    "other classes": (scenario(ce.CostMatrix([[0, 1], [5, 0]], classes=["a", "b"])), r"'risk'\].*classes"),
    "no mapping": (lambda: ce.evaluate(Y, MODELS, COSTS, scenarios=OTHERS["risk"]), "scenarios: a mapping"),
    "half a row": (lambda: ce.certify([[1.5, 0], [0, 2]], {"recall": .9}), "counts: .*whole"),
    "abstention": (lambda: ce.certify(THREE, {"recall": .9}), "two classes and decisions"),
    "no such rate": (lambda: ce.certify([[1, 0], [0, 1]], {"recal": .9}), "did you mean 'recall'"),
})


def test_the_remedies_of_what_has_no_cut():
    "A limit on the work in place of a queue, one class against all others in place of three."
    assert decide(SAID, Y, COSTS, require={"workload": .1}, rng=0).decisions.mean() < .2
    assert decide(P3[:, 2], Y3 == 2, COSTS, require={"recall": .9}, rng=0).rule == "tuned"
    bold = decide(MODELS["bold"], Y, COSTS, require={"recall": .999}, rng=0)
    assert "whatever was required" in bold.notes[0]


# ---- in the report, and on new samples

@pytest.mark.parametrize("given", [{}, {"priors": .1}, {"sample_weight": np.where(Y, 2., 1.)},
                                   {"clusters": np.arange(N) // 2}], ids=lambda given: "".join(given) or "no")
def test_the_report_says_what_is_reached_and_what_it_costs(given):
    "Rates by hand at the priors, intervals by SciPy where rows are plain."
    require = {"recall": .9, "workload": .96, "precision": .05, "fpr": .97}
    report = ce.evaluate(Y, MODELS, COSTS, require=require, rng=0, **given)
    table, best = report.constraint, report.best.set_index("model")["cost"]
    rows = {name: value for name, value in given.items() if name != "priors"}
    fits = CrossFit(read_samples(Y, MODELS, COSTS, **rows), rng=0)
    weight = given.get("sample_weight", np.ones(N))
    at = weight if "priors" not in given else np.where(Y, .1 / Y.mean(), .9 / (1 - Y.mean()))
    assert table["asked"].tolist() == [.9, .96, .05, .97] * 4
    assert report.rule == {"sharp": "tuned", "blunt": "tuned", "coin": "tuned", "bold": "as given"}
    for name, own in table.groupby("model", sort=False):
        with_it, without = (fits.decide(name, "tuned", priors=given.get("priors"), require=r).decisions
                            for r in (require, None))
        d = with_it == 1
        by_hand = [SHARES[key](Y == 1, d, w) for key, w in zip(require, (weight, at, at, weight))]
        paid, free = (np.average(ce.losses(Y, one, COSTS), weights=at) for one in (with_it, without))
        assert own["reached"].to_numpy() == pytest.approx(by_hand) and best[name] == pytest.approx(paid)
        assert own["cost"].to_numpy() == pytest.approx([paid] * 4)
        assert own["price"].to_numpy() == pytest.approx([paid - free] * 4)
        assert ((own["low"] <= own["reached"]) & (own["reached"] <= own["high"])).all()
        assert (own["price_low"] <= own["price"]).all()
        if not given:
            seen = (Y & d).sum(), d.sum(), (Y & d).sum(), (~(Y == 1) & d).sum()
            for row, k, n in zip(own.to_dict("records"), seen, (Y.sum(), N, d.sum(), N - Y.sum())):
                ends = stats.binomtest(int(k), int(n)).proportion_ci(.95, "exact")
                assert [row["low"], row["high"]] == pytest.approx([ends.low, ends.high], abs=1e-9)


def test_constants_costs_and_map_under_a_requirement():
    """Nobody is called where recall is required; other costs keep the requirement; the map and other rules,
    which would break it, are left out."""
    held = {"draws": 1, "rng": 0, "require": {"recall": .9}}
    report = ce.evaluate(Y, MODELS, COSTS, scenarios=OTHERS, **held)
    rungs = report.ladder
    assert rungs.loc[rungs["rule"] == "constant", "model"].tolist() == ["always 1"]
    assert report.panels == ("ladder", "differences") and not len(report.alternatives)
    assert set(rungs["rule"]) == {"constant", "tuned", "as given", "knows the class"}
    # against deciding nobody positive, which the requirement forbids
    benefit = (5 * Y.mean() - rungs["cost"].to_numpy()) / 5
    assert rungs["net_benefit"].to_numpy() == pytest.approx(benefit)
    there = by(report.scenarios, "sales")["cost"].to_numpy()
    for moved in (report.with_costs(OTHERS["sales"]), ce.evaluate(Y, MODELS, OTHERS["sales"], **held)):
        assert moved.best["cost"].to_numpy() == pytest.approx(there) and len(moved.constraint) == 4
    free, loose = (ce.evaluate(Y, MODELS, COSTS, rule="tuned", require=require, draws=1, rng=0)
                   for require in (None, {"recall": .01}))
    assert loose.best.equals(free.best) and not len(free.constraint)
    assert (loose.constraint["price"] == 0).all() and not loose.constraint["told_apart"].any()
    assert free.ladder.loc[free.ladder["rule"] == "constant", "model"].tolist() == ["always 0", "always 1"]


@pytest.mark.parametrize("key, cell, good", [
    ("recall", (1, 0), (1, 1)), ("fnr", (1, 0), (1, 1)), ("specificity", (0, 1), (0, 0)),
    ("precision", (0, 1), (1, 1)), ("npv", (1, 0), (0, 0)), ("workload", (0, 1), (0, 0))])
def test_a_certificate_is_the_exact_binomial(key, cell, good):
    "Against SciPy's one-sided test, and as few samples without a failure as it says; one fewer do not do."
    limit = .95 if key in AT_LEAST else .05
    for failures, n in ((0, 59), (0, 58), (1, 93), (1, 92), (7, 200)):
        counts = np.zeros((2, 2), int)
        counts[cell], counts[good] = failures, n - failures
        found, test = ce.certify(counts, {key: limit}), stats.binomtest(failures, n, .05, alternative="less")
        assert found.p_value[0] == pytest.approx(test.pvalue)
        assert found.certified == (test.pvalue <= .05) == (n in (59, 93))
        end, rate = test.proportion_ci(.95, "exact").high, failures / n
        if key in AT_LEAST:
            end, rate = 1 - end, 1 - rate
        assert [found.bound[0], found.reached[0]] == pytest.approx([end, rate])
        assert (found.failures[0], found.n[0], found.needed[0]) == (failures, n, 59)
    never = ce.certify([[300, 0], [0, 300]], {"fnr": 0, "recall": .95})
    assert never.met.tolist() == [False, True] and not never.certified and never.needed[0] == np.inf
    assert not ce.certify([[10, 0], [0, 0]], {"recall": .5}).certified


def test_a_false_certificate_is_as_rare_as_promised():
    """True recall just below .95: at most one certificate in twenty, exactly, whatever the number of
    positives."""
    for n in (59, 60, 100, 400):
        k = np.arange(n + 1)
        certified = [ce.certify([[0, 0], [n - hits, hits]], {"recall": .95}).certified for hits in k]
        assert stats.binom.pmf(k, n, .95) @ certified <= .05
