"""Which model under whose costs, and at least cost under a requirement: against hand computation, all
thresholds one by one, and the exact binomial."""
import numpy as np
import pytest
from scipy import stats

import cost_eval.api as ce
from cost_eval.samples import read_samples
from cost_eval.policies import CrossFit
from asked import simultaneous_differences
import pandas as pd
from problems import decide

rng = np.random.default_rng(5)
N = 300
Y = (rng.random(N) < .3).astype(int)
SCORE = {name: rng.normal(size=N) + s * Y for name, s in (("sharp", 1.6), ("blunt", 1.1), ("coin", .2))}
MODELS = {name: ce.Scores(s)
          for name, s in SCORE.items()} | {"bold": ce.Decisions((SCORE["blunt"] > -.5).astype(int))}
COSTS = ce.CostMatrix.binary(fp=1, fn=5)
OTHERS = {"risk": ce.CostMatrix.binary(fp=1, fn=40), "sales": ce.CostMatrix.binary(fp=4, fn=1)}


def by(table, scenario):
    return table[table["scenario"] == scenario].set_index("model")


# ---- scenarios

@pytest.mark.parametrize("given", [{}, {"priors": .1}, {"capacity": .5}, {"clusters": np.arange(N) // 2},
                                   {"rule": "tuned"}])
def test_a_scenario_is_the_report_at_its_costs(given):
    """Costs of each model and of the best constant decision; the regret is what a model costs more than the
    cheapest."""
    found = ce.evaluate(Y, MODELS, COSTS, scenarios=OTHERS, draws=1, rng=0, **given).scenarios
    for name, costs in OTHERS.items():
        report, own = ce.evaluate(Y, MODELS, costs, draws=1, rng=0, **given), by(found, name)
        assert own.index.tolist() == report.best["model"].tolist()
        best = report.best.set_index("model")["cost"]
        assert own["cost"].to_numpy() == pytest.approx(best.to_numpy()) and own[
            "regret"].to_numpy() == pytest.approx((best - best.min()).to_numpy())
        naive = report.ladder.loc[report.ladder["rule"] == "constant", "cost"].min()
        assert own["naive"].to_numpy() == pytest.approx(naive) and own[
            "of_naive"].to_numpy() == pytest.approx(((best - best.min()) / naive).to_numpy())
    worst = found.groupby("model")["regret"].max()
    assert set(found.loc[found["compromise"], "model"]) == {worst.idxmin()}


def test_a_regret_is_bounded_by_the_differences_from_all():
    "One scenario: the ends are the largest of the simultaneous differences' from every other model."
    found = by(ce.evaluate(Y, MODELS, COSTS, scenarios={"now": OTHERS["sales"]}, draws=1, rng=0).scenarios,
               "now")
    report = ce.evaluate(Y, MODELS, OTHERS["sales"], draws=1, rng=0)
    for name, row in found.iterrows():
        d = report.differences
        low = [r["low"] if r["first"] == name else -r["high"] for _, r in d.iterrows()
               if name in (r["first"], r["second"])]
        high = [r["high"] if r["first"] == name else -r["low"] for _, r in d.iterrows()
                if name in (r["first"], r["second"])]
        assert [row["low"], row["high"]] == pytest.approx([max(0, *low),
                max(0, *high)]) and row["low"] <= row["regret"] <= row["high"]
    assert found["told_apart"].tolist() == (found["p_value"] < .05).tolist() and found[
        "told_apart"].any() and not found["told_apart"].all()


def test_a_worse_scenario_widens_what_is_held_together():
    one, two = (ce.evaluate(Y, MODELS, COSTS, scenarios=dict(list(OTHERS.items())[:k]), rng=0).scenarios
                for k in (1, 2))
    assert (by(two, "risk")["high"] >= by(one, "risk")["high"]).all() and (by(two, "risk")["p_value"]
            >= by(one, "risk")["p_value"]).all()


def test_decisions_by_hand():
    "10 samples; one model alarms twice in vain, the other misses one."
    y = np.repeat([0, 1], [6, 4])
    alarms, misses = y.copy(), y.copy()
    alarms[:2], misses[-1] = 1, 0
    scenarios = {"risk": [[0, 1], [10, 0]], "sales": [[0, 3], [2, 0]]}
    report = ce.evaluate(y, {"alarms": ce.Decisions(alarms), "misses": ce.Decisions(misses)},
                         [[0, 1], [1, 0]], scenarios=scenarios, rng=0)
    table = report.scenarios.set_index(["scenario", "model"])
    assert table["cost"].round(9).to_dict() == {("risk", "alarms"): .2, ("risk", "misses"): 1.0,
                                                ("sales", "misses"): .2, ("sales", "alarms"): .6}
    assert table["regret"].round(9).tolist() == [0, .8, 0, .4] and table["naive"].round(9).tolist() == [.6,
            .6, .8, .8]
    assert table["compromise"].tolist() == [True, False, False, True] and table["of_naive"].round(
        9).tolist() == [0, round(.8 / .6, 9), 0, .5]
    said = next(line for line in report.summary().splitlines() if "Under other costs" in line)
    assert "alarms is the cheapest under risk; misses is the cheapest under sales" in said and "alarms is the compromise: it costs at most 0.4 per case more than the cheapest, under sales." in said


def test_equal_costs_leave_no_regret_and_forms_agree():
    report = ce.evaluate(Y, MODELS, COSTS, scenarios={"same": COSTS}, rng=0)
    top = report.best.loc[0, "model"]
    assert by(report.scenarios, "same").loc[top, "regret"] == 0 and report.scenarios.loc[
        report.scenarios["compromise"], "model"].tolist() == [top]
    twins = ce.evaluate(Y, {"a": MODELS["bold"], "b": MODELS["bold"]}, COSTS, scenarios=OTHERS,
                        rng=0).scenarios
    assert (twins[["regret", "low"]] == 0).all(axis=None) and twins["compromise"].all() and not twins[
        "told_apart"].any()
    forms = [{"fp": 1, "fn": 40}, pd.DataFrame([[0., 1], [40, 0]], index=[0, 1], columns=[0, 1]),
             [[0, 1], [40, 0]], OTHERS["risk"],
             {"fp": np.ones(N), "fn": np.full(N, 40.)}, ce.ExampleCosts(fp=np.ones(N), fn=np.full(N, 40.))]
    tables = [ce.evaluate(Y, MODELS, COSTS, scenarios={"risk": form}, rng=0).scenarios for form in forms]
    for table in tables[1:]:
        assert table["cost"].to_numpy() == pytest.approx(tables[0]["cost"].to_numpy()) and table[
            "high"].to_numpy() == pytest.approx(tables[0]["high"].to_numpy(), rel=1e-6)
    assert not len(ce.evaluate(Y, MODELS, COSTS, rng=0).scenarios)


def test_scenarios_of_a_report_at_other_costs_and_of_labelled_rows():
    report = ce.evaluate(Y, MODELS, COSTS, scenarios=OTHERS, draws=1, rng=0)
    moved = report.with_costs(OTHERS["sales"])
    assert moved.scenarios.equals(report.scenarios) and moved.best.loc[0,
            "cost"] == pytest.approx(by(report.scenarios, "sales")["cost"].min())
    gaps, own = np.where(np.arange(N) % 3 == 0, np.nan, Y), {"fp": 1, "fn": np.linspace(1, 9, N)}
    lacking = ce.evaluate(gaps, MODELS, COSTS, propensity=.7, scenarios={"own": own}, draws=1,
                          rng=0).scenarios
    alone = ce.evaluate(gaps, MODELS, own, propensity=.7, draws=1, rng=0)
    assert lacking["cost"].to_numpy() == pytest.approx(alone.best["cost"].to_numpy())
    assert lacking["high"].max() == pytest.approx(ce.evaluate(gaps, MODELS, own, propensity=.7,
            scenarios={"own": own}, draws=1, rng=0).scenarios["high"].max())


@pytest.mark.parametrize("scenarios, words", [
    ({"risk": np.zeros((3, 3))}, r"scenarios\['risk'\]"), ({"risk": {"fp": 1, "fn": np.ones(4)}},
        r"scenarios\['risk'\].*4"), ({"risk": 20}, r"scenarios\['risk'\]"),
    ({"risk": ce.CostMatrix([[0, 1], [5, 0]], classes=["well", "ill"])}, r"scenarios\['risk'\].*classes"),
    (OTHERS["risk"], "scenarios: a mapping"), ({}, "scenarios: a mapping"),
    ({"risk": np.zeros((2, 3))}, r"scenarios\['risk'\]")])
def test_a_scenario_of_another_problem_is_refused_by_name(scenarios, words):
    with pytest.raises(ValueError, match=words):
        ce.evaluate(Y, MODELS, COSTS, scenarios=scenarios, rng=0)


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
    draw = np.random.default_rng(3)
    for seed in range(12):
        y, s = draw.random(40) < .4, np.round(draw.normal(size=40), 1)
        s, weight = s + y, draw.integers(1, 4, 40).astype(float)
        table = np.stack([np.array([[0, 1], [draw.integers(1, 9), 0]])] * 40).astype(float)
        if own:
            table[:, 1, 0] = draw.integers(1, 20, 40)
        costs = ce.ExampleCosts.from_array(table) if own else table[0]
        for given in ({}, {"sample_weight": weight}, {"priors": [.9, .1]}):
            how = given.get("sample_weight", np.ones(40)), given.get("priors")
            cost, d = by_trying(y, s, table, {key: LIMITS[key]}, *how) or (None, None)
            if cost is None:
                with pytest.raises(ValueError, match="require: no threshold has"):
                    ce.best_threshold(y, s, costs, require={key: LIMITS[key]}, **given)
                continue
            found = ce.best_threshold(y, s, costs, require={key: LIMITS[key]}, **given)
            assert found.cost == pytest.approx(cost) and np.array_equal(s >= found.threshold, d)
            assert np.array_equal(s >= found.high, d) and not (found.low >= found.high)
            free = ce.best_threshold(y, s, costs, **given)
            assert by_trying(y, s, table, {},
                             *how)[0] == pytest.approx(free.cost) and found.cost >= free.cost - 1e-12


@pytest.mark.parametrize("key, stricter", [("recall", 1), ("fpr", -1), ("workload", -1), ("specificity", 1)])
def test_a_stricter_requirement_never_costs_less(key, stricter):
    limits = np.linspace(0, 1, 41)[::stricter]
    paid = [ce.best_threshold(Y, SCORE["sharp"], COSTS, require={key: limit}).cost for limit in limits]
    free = ce.best_threshold(Y, SCORE["sharp"], COSTS)
    assert paid[0] == free.cost and (np.diff(paid) >= 0).all() and paid[-1] > free.cost
    kept = SHARES[key](Y == 1, SCORE["sharp"] >= free.threshold, np.ones(N))
    assert ce.best_threshold(Y, SCORE["sharp"], COSTS, require={key: kept}) == free
    assert ce.best_threshold(Y, SCORE["sharp"], [COSTS.array, OTHERS["risk"].array],
                             require={key: kept}).cost[0] == free.cost


def test_the_cut_is_chosen_on_the_other_folds():
    "Row by row: the cut of `best_threshold` on the other folds; the installed one on all rows."
    fold = np.arange(N) % 4
    for require in ({"recall": .95}, {"workload": .2, "precision": .3}):
        policy = decide(MODELS["sharp"], Y, COSTS, require=require, folds=fold, rng=0)
        cuts = [ce.best_threshold(Y[fold != k], SCORE["sharp"][fold != k], COSTS, require=require).threshold
                for k in range(4)]
        assert np.array_equal(policy.decisions,
                              SCORE["sharp"] >= np.array(cuts)[fold]) and policy.rule == "tuned"
        installed = ce.best_threshold(Y, SCORE["sharp"], COSTS, require=require)
        rule = ce.fit_rule(Y, MODELS["sharp"], COSTS, require=require)
        assert (policy.threshold == rule.threshold == installed.threshold
                and installed.cost > ce.best_threshold(Y, SCORE["sharp"], COSTS).cost)
    free, loose = (decide(MODELS["sharp"], Y, COSTS, rule="tuned", require=r, rng=0)
                   for r in (None, {"recall": .01}))
    assert np.array_equal(free.decisions, loose.decisions)


@pytest.mark.parametrize("ask", [
    lambda r: ce.best_threshold(Y, SCORE["blunt"], COSTS, require=r),
    lambda r: decide(MODELS["blunt"], Y, COSTS, require=r, rng=0),
    lambda r: ce.evaluate(Y, {"a": MODELS["blunt"], "b": MODELS["coin"]}, COSTS, require=r, rng=0)])
def test_what_nothing_meets_is_refused_with_the_best_that_was_reached(ask):
    with pytest.raises(ValueError, match="require: no threshold has recall of at least 0.99 and fpr of at "
                                         "most 0.01 .* the best that was reached is fpr 0.[5-9]"):
        ask({"recall": .99, "fpr": .01})


def test_the_best_that_was_reached_is_that_of_all_cuts_and_can_be_asked_for():
    s = SCORE["blunt"]
    best = min((s[Y == 0] >= t).mean() for t in s if (s[Y == 1] >= t).mean() >= .99)
    with pytest.raises(ValueError) as told:
        ce.best_threshold(Y, s, COSTS, require={"recall": .99, "fpr": .01})
    reached = float(str(told.value).partition("reached is fpr ")[2].partition(";")[0])
    assert best <= reached < best + 1e-4
    assert ce.best_threshold(Y, s, COSTS, require={"recall": .99, "fpr": reached}).counts.fpr == best


def test_more_than_two_classes_or_decisions_have_no_cut():
    "As two, one class against all others, they have."
    y, p = np.arange(60) % 3, np.full((60, 3), 1 / 3)
    four = ce.CostMatrix.zero_one(3).with_abstain(.2)
    for ask in (lambda **o: ce.evaluate(y, p, four, rng=0, **o),
                lambda **o: decide(p, y, four, rule="bayes", **o),
                lambda **o: decide(ce.Decisions(y), y, four, **o), lambda **o: ce.fit_rule(y, p, four, **o)):
        with pytest.raises(ValueError, match="of two classes and decisions, not .3, 4.; take.*certified_thr"):
            ask(require={"recall": .9})
    assert decide(p[:, 2], y == 2, COSTS, require={"recall": .9}, rng=0).rule == "tuned"


WORDS = {"rcall": "did you mean 'recall'", ("ill", "treat"): "a rate", "error": "a rate"}


@pytest.mark.parametrize("require, words", [({key: .9}, words) for key, words in WORDS.items()] + [
    ({"recall": 2}, r"require\['recall'\].*\[0, 1\]"), ({"recall": "much"}, r"require\['recall'\]"),
    ({}, "require: a mapping"), (.95, "require: a mapping")])
def test_what_is_no_requirement_is_refused(require, words):
    for ask in (lambda: ce.best_threshold(Y, SCORE["sharp"], COSTS, require=require), lambda: ce.evaluate(Y,
            MODELS, COSTS, require=require, rng=0)):
        with pytest.raises(ValueError, match=words):
            ask()


def test_what_has_no_cut_cannot_keep_to_a_requirement():
    three, p = ce.CostMatrix.zero_one(2).with_abstain(.2), ce.Posteriors(np.column_stack([1
            - (q := 1 / (1 + np.exp(-SCORE["sharp"]))), q]))
    for costs, how, words in ((COSTS, {"rule": "bayes"}, "use rule='tuned'"), (COSTS, {"capacity": 10},
            "workload"), (three, {}, "two classes and decisions|one cut")):
        with pytest.raises(ValueError, match=f"require: .*({words})"):
            decide(p, Y, costs, require={"recall": .9}, rng=0, **how)
    assert "whatever was required" in decide(MODELS["bold"], Y, COSTS, require={"recall": .999},
                                                rng=0).notes[0]
    assert decide(p, Y, COSTS, require={"workload": .1}, rng=0).decisions.mean() < .2


# ---- in the report, and on new samples

@pytest.mark.parametrize("given", [{}, {"priors": .1}, {"sample_weight": np.where(Y, 2., 1.)},
                                   {"clusters": np.arange(N) // 2}])
def test_the_report_says_what_is_reached_and_what_it_costs(given):
    """Rates by hand at the priors, intervals by SciPy where rows are plain, the price by the paired
    differences."""
    require = {"recall": .9, "workload": .96, "precision": .05, "fpr": .97}
    report = ce.evaluate(Y, MODELS, COSTS, require=require, rng=0, **given)
    table, fits = report.constraint, CrossFit(read_samples(Y, MODELS, COSTS,
            **{k: v for k, v in given.items() if k != "priors"}), rng=0)
    weight = given.get("sample_weight", np.ones(N))
    at = weight if "priors" not in given else np.where(Y, .1 / Y.mean(), .9 / (1 - Y.mean()))
    assert table["asked"].tolist() == [.9, .96, .05, .97] * 4 and report.rule == {"sharp": "tuned",
            "blunt": "tuned", "coin": "tuned", "bold": "as given"}
    for name, own in table.groupby("model", sort=False):
        with_it, without = (fits.decide(name, "tuned", priors=given.get("priors"), require=r).decisions
                            for r in (require, None))
        d = with_it == 1
        by_hand = [SHARES["recall"](Y == 1, d, weight), SHARES["workload"](Y == 1, d, at),
                   SHARES["precision"](Y == 1, d, at), SHARES["fpr"](Y == 1, d, weight)]
        assert own["reached"].to_numpy() == pytest.approx(by_hand)
        paid, free = (np.average(ce.losses(Y, one, COSTS), weights=at) for one in (with_it, without))
        assert own["cost"].to_numpy() == pytest.approx(paid) and own["price"].to_numpy() == pytest.approx(paid
                - free)
        assert report.best.set_index("model")["cost"][name] == pytest.approx(paid)
        assert ((own["low"] <= own["reached"]) & (own["reached"] <= own["high"])).all() and (own["price_low"]
                <= own["price"]).all()
        if not given:
            for row, (k, n) in zip(own.to_dict("records"), (((Y & d).sum(), Y.sum()), (d.sum(), N),
                    ((Y & d).sum(), d.sum()), (((1 - Y) & d).sum(), N - Y.sum()))):
                ends = stats.binomtest(int(k), int(n)).proportion_ci(.95, "exact")
                assert [row["low"], row["high"]] == pytest.approx([ends.low, ends.high], abs=1e-9)
    if not given:
        d = simultaneous_differences(Y, {f"{n} {r}": fits.decide(n, "tuned", require=x).decisions
                                         for n in ("sharp", "blunt")
                                         for r, x in (("with", require), ("without", None))}, COSTS)
        raw = [k for k, pair in enumerate(zip(d.model, d.against)) if pair == ("sharp with", "sharp without")]
        assert table["price"][0] == pytest.approx(d.estimate[raw[0]])
    assert "certif" not in report.summary()


def test_constants_costs_and_map_under_a_requirement():
    """Nobody is called where recall is required; other costs keep the requirement; the map and other rules,
    which would break it, are left out."""
    report = ce.evaluate(Y, MODELS, COSTS, require={"recall": .9}, scenarios=OTHERS, rng=0)
    assert report.ladder.loc[report.ladder["rule"] == "constant",
                             "model"].tolist() == ["always 1"] and report.panels == ("ladder", "differences")
    assert not len(report.alternatives) and set(report.ladder["rule"]) == {"constant", "tuned", "as given",
            "knows the class"}
    for moved in (report.with_costs(OTHERS["sales"]), ce.evaluate(Y, MODELS, OTHERS["sales"],
            require={"recall": .9}, rng=0)):
        assert moved.best["cost"].to_numpy() == pytest.approx(by(report.scenarios,
                "sales")["cost"].to_numpy()) and len(moved.constraint) == 4
    free = ce.evaluate(Y, MODELS, COSTS, rule="tuned", draws=1, rng=0)
    held = ce.evaluate(Y, MODELS, COSTS, rule="tuned", require={"recall": .01}, rng=0)
    assert held.best.equals(free.best) and (held.constraint["price"] == 0).all() and not held.constraint[
        "told_apart"].any() and not len(free.constraint)
    assert free.ladder.loc[free.ladder["rule"] == "constant", "model"].tolist() == ["always 0", "always 1"]
    with pytest.raises(ValueError, match="held by what is required"):
        report.robustness()
    # against deciding nobody positive, which the requirement forbids
    rungs = ce.evaluate(Y, MODELS, COSTS, require={"recall": .9}, rng=0).ladder
    assert rungs["model"][0] == "always 1" and rungs["net_benefit"].to_numpy() == pytest.approx((5 * Y.mean()
            - rungs["cost"].to_numpy()) / 5)


@pytest.mark.parametrize("key, cell, good", [("recall", (1, 0), (1, 1)), ("fnr", (1, 0),
        (1, 1)), ("specificity", (0, 1), (0, 0)), ("precision", (0, 1), (1, 1)), ("npv", (1, 0), (0, 0)),
                                             ("workload", (0, 1), (0, 0))])
def test_a_certificate_is_the_exact_binomial(key, cell, good):
    "Against SciPy's one-sided test, and as few samples without a failure as it says; one fewer do not do."
    limit = .95 if key in AT_LEAST else .05
    for failures, n in ((0, 59), (0, 58), (1, 93), (1, 92), (7, 200)):
        counts = np.zeros((2, 2), int)
        counts[cell], counts[good] = failures, n - failures
        found, test = ce.certify(counts, {key: limit}), stats.binomtest(failures, n, .05, alternative="less")
        assert found.p_value[0] == pytest.approx(test.pvalue) and found.certified == (test.pvalue
                <= .05) == (failures / n < .05 and n in (59, 93))
        end = test.proportion_ci(.95, "exact").high
        assert found.bound[0] == pytest.approx(1 - end if key in AT_LEAST else end) and found.needed[0] == 59
        assert found.failures[0] == failures and found.n[0] == n and found.reached[0] == pytest.approx(1
                - failures / n if key in AT_LEAST else failures / n)


def test_what_cannot_be_certified():
    never = ce.certify([[300, 0], [0, 300]], {"fnr": 0, "recall": .95})
    assert never.met.tolist() == [False, True] and not never.certified and never.needed[
        0] == np.inf and "none of 300 allows a rate of 0.01" in never.notes[0]
    three = ce.ConfusionCounts([[90, 0, 10], [1, 80, 19]], classes=["well", "ill"],
                               decisions=["well", "ill", "ask"])
    assert not ce.certify([[10, 0], [0, 0]], {"recall": .5}).certified
    for counts, require, words in (([[1.5, 0], [0, 2]], {"recall": .9}, "counts: .*whole"),
                                   (three, {"recall": .9}, "two classes and decisions"),
                                   ([[1, 0], [0, 1]], {"recal": .9}, "did you mean 'recall'")):
        with pytest.raises(ValueError, match=words):
            ce.certify(counts, require)


def test_a_false_certificate_is_as_rare_as_promised():
    """True recall just below .95: at most one certificate in twenty, exactly, whatever the number of
    positives."""
    for n in (59, 60, 100, 400):
        k = np.arange(n + 1)
        certified = [ce.certify([[0, 0], [n - hits, hits]], {"recall": .95}).certified for hits in k]
        assert stats.binom.pmf(k, n, .95) @ certified <= .05


def test_the_rule_that_is_handed_over_has_the_constrained_cut():
    report = ce.evaluate(Y, MODELS, COSTS, require={"recall": .97}, rng=0)
    for name in ("sharp", "blunt"):
        rule, cut = report.decision_rule(name), ce.best_threshold(Y, SCORE[name], COSTS,
                require={"recall": .97})
        assert rule.threshold == cut.threshold < ce.best_threshold(Y, SCORE[name], COSTS).threshold
        assert np.array_equal(rule.decide(MODELS[name]), (SCORE[name] >= cut.threshold).astype(int))
    assert report.decision_rule("bold").decide(MODELS["bold"].values).tolist() == MODELS[
        "bold"].values.tolist()
