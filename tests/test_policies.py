"""From output to decisions: rules, folds, clusters, capacity, and what may not matter."""
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from conftest import refuses
from cost_eval import report
from cost_eval.capacity import capacity_curve
from cost_eval.comparisons import Decided, ask, differences
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.decisions import AffineCalibrator, bayes_decisions, best_threshold, stratified_folds
from cost_eval.policies import RULES, CrossFit, fit_rule, isotonic_steps
from cost_eval.report import evaluate
from cost_eval.runner import step_odds
from cost_eval.samples import Decisions, Posteriors, Scores, read_samples
from problems import decide

rng = np.random.default_rng(0)
N = 400
Y = (rng.random(N) < .3).astype(int)
S = rng.normal(1.3 * Y)
P = 1 / (1 + np.exp(1.2 - 1.3 * S))
W = rng.integers(1, 4, N).astype(float)
WHO = rng.integers(0, 70, N)
COSTS = CostMatrix.binary(fp=1, fn=5)
OWN = ExampleCosts(fp=1, fn=rng.gamma(2, 3, N))
Y3 = rng.integers(0, 3, N)
P3 = rng.dirichlet([1, 1, 1], N) * .6 + .4 * np.eye(3)[Y3]
THREE = CostMatrix.zero_one(3, abstain=.3)
WAIT = CostMatrix(THREE.array, classes=[0, 1, 2], decisions=[0, 1, 2, "ask"])
FITTED = ("calibrated", "tuned")


# ---- rules

def test_as_given_and_bayes():
    for rule in RULES:
        policy = decide(Decisions(S > 1), Y, COSTS, rule=rule, rng=0)
        assert (policy.rule, policy.kind) == ("as given", "decisions") and not len(policy.folds)
        np.testing.assert_array_equal(policy.decisions, S > 1)
    np.testing.assert_array_equal(decide(P, Y, COSTS, rule="as given").decisions, P > .5)
    for priors, options in ((None, {}), (.05, {"priors": [.95, .05], "train_priors": np.bincount(Y) / N})):
        policy = decide(P, Y, COSTS, rule="bayes", priors=priors)
        wanted = bayes_decisions(np.column_stack([1 - P, P]), COSTS, **options)
        np.testing.assert_array_equal(policy.decisions, wanted)
        np.testing.assert_array_equal(policy.decisions, P > policy.threshold)
        np.testing.assert_allclose(policy.posteriors.sum(1), 1)
    assert decide(P, Y, COSTS, rule="bayes").threshold == pytest.approx(1 / 6)


def test_calibrated_posteriors_are_those_of_the_other_folds():
    policy = decide(P, Y, COSTS, sample_weight=W, rng=0)
    logs = np.log(np.column_stack([1 - P, P]))
    for k in range(5):
        inside = policy.folds != k
        fitted = AffineCalibrator().fit(logs[inside], Y[inside], W[inside])
        np.testing.assert_allclose(np.log(policy.posteriors[~inside]),
                                   fitted.transform(logs[~inside], log=True), atol=1e-6)
    np.testing.assert_array_equal(policy.decisions, bayes_decisions(policy.posteriors, COSTS))
    assert policy.to_frame()["decision"].tolist() == policy.decisions.tolist()


def test_tuned_thresholds_are_those_of_the_other_folds():
    "At the priors, with weights and own costs."
    for costs, options in ((COSTS, {}), (OWN, {}), (COSTS, {"priors": [.9, .1]}),
                           (COSTS, {"sample_weight": W})):
        policy = decide(Scores(S), Y, costs, rule="tuned", rng=0, **options)
        for k in range(5):
            inside, there = policy.folds != k, policy.folds == k
            part = {name: v[inside] if name == "sample_weight" else v for name, v in options.items()}
            found = best_threshold(Y[inside], S[inside], costs if costs is COSTS else costs[inside], **part)
            np.testing.assert_array_equal(policy.decisions[there], S[there] >= found.threshold)
        whole = best_threshold(Y, S, costs, **options)
        cut = policy.threshold, policy.same_from, policy.same_to
        assert cut == (whole.threshold, whole.low, whole.high)


def test_three_classes_and_a_fourth_decision():
    for rule in RULES[:3]:
        policy = decide(P3, Y3, WAIT, rule=rule, rng=0)
        assert policy.decisions.max() == (2 if rule == "as given" else 3) and policy.labels[3] == "ask"
    own = ExampleCosts.from_array(rng.gamma(1, 1, (N, 3, 4)))
    policy = decide(P3, Y3, own, rng=0)
    np.testing.assert_array_equal(policy.decisions, bayes_decisions(policy.posteriors, own))


CALLED = CostMatrix([[0, 1], [5, 0]], classes=[0, 1], decisions=["stay", "go"])
test_what_no_rule_or_capacity_is_for_is_refused = refuses({
    "three tuned": (lambda: decide(P3, Y3, THREE, rule="tuned"), "rule: 'tuned' takes two"),
    "scores as given": (lambda: decide(Scores(S), Y, COSTS, rule="as given"),
                        "needs posteriors, not scores; use 'calibrated' or 'tuned'"),
    "scores as they are": (lambda: decide(Scores(S), Y, COSTS, rule="bayes"), "needs posteriors, not scores"),
    "two models": (lambda: fit_rule(Y, {"a": P, "b": S}, COSTS), r"model: got \['a', 'b'\]; a rule is"),
    "other names": (lambda: decide(P, Y, CALLED, rule="as given"), "needs a decision called as each class"),
    "costs of others": (lambda: CrossFit(read_samples(Y, P, COSTS)).at_costs(ExampleCosts(fp=1, fn=[2, 3])),
                        "costs: of 2 samples"),
    "many folds": (lambda: stratified_folds([0, 1, 0, 1, 0], 4, clusters=[1, 1, 2, 2, 3]),
                   "folds: must be from 2 to 3, got 4; at most one per cluster"),
    "parted clusters": (lambda: decide(P, Y, COSTS, folds=Y, clusters=np.arange(N) // 2), "part the cluster"),
    "a class in one fold": (lambda: decide(P, Y, COSTS, folds=Y), "where 'calibrated' is fitted; give folds"),
    "one class": (lambda: isotonic_steps(S, np.zeros(N, int)), "both classes"),

    "more calls than rows": (lambda: decide(P, Y, COSTS, capacity=N + 1), f"from 0 to {N}, got {N + 1}"),
    "calls of three": (lambda: decide(P3, Y3, THREE, capacity=3), "capacity: limits the second of two"),
    "calls of nobody": (lambda: decide(P, Y, COSTS, capacity=0), "capacity: 0 leaves no choice"),
    "a queue of decisions": (lambda: CrossFit(read_samples(Y, S > 0, COSTS)).queue("model"), "have no order"),
    "nowhere": (lambda: decide(Posteriors(P, priors=[.3, .3]), Y, COSTS, rule="bayes"), "sum to 0.6"),
})


RESCALED = {"exp": np.exp, "ranks": lambda s: np.unique(s, return_inverse=True)[1],
            "in [0, .1]": lambda s: (s - s.min()) / np.ptp(s) * .1}


@pytest.mark.parametrize("option", [{}, {"clusters": WHO, "sample_weight": W, "capacity": 31}], ids=len)
@pytest.mark.parametrize("rule", FITTED)
@pytest.mark.parametrize("costs", [COSTS, OWN], ids=["matrix", "own"])
def test_a_rescaling_of_scores_changes_no_decision(rule, option, costs):
    """But for rows between the two values that enclose a tuned cut, midway between which it is installed: of
    those a bent scale may turn one or two of a fold."""
    for scores in (S, np.round(S, 1)):
        wanted = decide(Scores(scores), Y, costs, rule=rule, rng=4, **option).decisions
        assert 0 < wanted.sum() < N
        for name, form in RESCALED.items():
            found = decide(Scores(form(scores)), Y, costs, rule=rule, rng=4, **option).decisions
            bent = rule == "tuned" and name in ("exp", "ranks") and scores is S
            assert (found != wanted).sum() <= 10 * bent, name


# ---- what may not matter


@pytest.mark.parametrize("rule", FITTED)
@pytest.mark.parametrize("name", ["p", "s"])
def test_draws_are_rows_and_the_first_is_that_of_one(rule, name):
    samples = read_samples(Y, {"p": P, "s": Scores(S), "d": S > 0}, COSTS)
    fits, one = CrossFit(samples, draws=4, rng=2), CrossFit(samples, rng=2)
    several, first = fits.decide(name, rule), one.decide(name, rule)
    assert several.decisions.shape == several.folds.shape == (4, N) and first.decisions.shape == (N,)
    assert (several.folds[0] != several.folds[1]).mean() > .5 and len(several.to_frame()) == 4 * N
    third = CrossFit(samples, folds=several.folds[2]).decide(name, rule)
    np.testing.assert_array_equal(several.decisions[[0, 2]], [first.decisions, third.decisions])
    bare = fits.decide(name, rule, posteriors=False)
    np.testing.assert_array_equal(bare.decisions, several.decisions)
    # where a row's decisions cost the same there is no cut
    for costs in (OWN, ExampleCosts(fp=1, fn=np.where(np.arange(N) % 3, 4., 0))):
        own = [fits.at_costs(costs).decide(name, rule, priors=[.9, .1], posteriors=asked).decisions
               for asked in (False, True)]
        np.testing.assert_array_equal(*own)
    odds = np.log([.5, 2, 9])
    np.testing.assert_array_equal(fits.levels(name, rule, odds)[0], one.levels(name, rule, odds))
    assert fits.decide("d", rule).decisions.shape == fits.decide("p", "bayes").decisions.shape == (N,)
    assert CrossFit(samples, folds=np.arange(N) % 3, draws=4).draws == 1 and fits.draw(2).draws == 2


def mean_losses(samples, costs, rule, draws, **options):
    "By hand: each row's mean loss over the draws, of each model."
    fits = CrossFit(samples, draws=draws, rng=0)
    decided = {name: np.atleast_2d(fits.decide(name, rule, **options).decisions) for name in samples.models}
    array = np.broadcast_to(costs.array, (len(samples), *costs.array.shape[-2:]))
    rows = np.arange(len(samples))
    return {name: array[rows, samples.y, each].mean(0) for name, each in decided.items()}


@pytest.mark.parametrize("case", ["matrix", "own", "wait", "weights", "priors", "capacity"])
def test_everything_of_a_report_speaks_of_the_mean_over_draws(case):
    y, costs = Y, OWN if case == "own" else COSTS
    models = {"p": P, "s": Scores(S + np.random.default_rng(8).normal(size=N)), "d": Decisions(S > 0)}
    if case == "wait":
        y, costs = Y3, WAIT
        models = {"p": P3, "d": Decisions(P3.argmax(1)), "s": .5 * P3 + 1 / 6}
    rows = {"sample_weight": W} if case == "weights" else {}
    options = {"priors": {"priors": [.9, .1]}, "capacity": {"capacity": 60}}.get(case, {})
    given = {"draws": 7, "groups": np.arange(N) % 2, **rows, **options}
    report = evaluate(y, models, costs, **given)
    by_hand = mean_losses(read_samples(y, models, costs, **rows), costs, "calibrated", 7, **options)
    weight = W if case == "weights" else np.ones(N)
    at = (np.array([.9, .1]) / np.bincount(Y))[Y] if case == "priors" else weight
    best, cost = report.best.set_index("model"), {k: np.average(v, weights=at) for k, v in by_hand.items()}
    groups = report.groups.set_index(["model", "group"])["cost"]
    for name in models:
        assert best.loc[name, "cost"] == pytest.approx(cost[name])
        assert best.loc[name, "low"] < cost[name] < best.loc[name, "high"]
        parts = report.breakdown(name).groupby("part")["cost"].sum()
        assert parts.to_numpy() == pytest.approx(cost[name])
        assert groups[name, 1] == pytest.approx(np.average(by_hand[name][1::2], weights=weight[1::2]))
    for row in report.differences.to_dict("records"):
        assert row["difference"] == pytest.approx(cost[row["first"]] - cost[row["second"]])
        assert row["low"] <= row["difference"] <= row["high"]
    # calibration keeps the order of the queue
    moved = [name != "d" and case != "capacity" for name in best.index]
    assert (best["draw_error"] > 0).tolist() == moved and report.draws == 7
    if case in ("matrix", "weights", "priors"):
        at = report.robustness([1., 5.], [.01, float(report.priors[1])])
        assert at.cost[:3, 1, 1] == pytest.approx([cost[name] for name in at.names[:3]])
    if case in ("matrix", "priors"):
        other = report.with_costs(OWN, priors=given.get("priors"))
        assert other == evaluate(y, models, OWN, **given)


@pytest.mark.parametrize("model", [P, Scores(S)], ids=["posteriors", "scores"])
def test_another_order_moves_the_headline_within_four_of_its_monte_carlo_errors(model):
    """And the draws are as many as bring that error below a tenth of half the interval, or the report says
    that they are not."""
    plain = evaluate(Y, {"a": model}, COSTS, draws=None).best.iloc[0]
    for seed in range(3):
        turn = np.random.default_rng(seed).permutation(N)
        turned = Scores(S[turn]) if isinstance(model, Scores) else P[turn]
        report = evaluate(Y[turn], {"a": turned}, COSTS, draws=None)
        row = report.best.iloc[0]
        assert abs(row["cost"] - plain["cost"]) < 4 * np.hypot(row["draw_error"], plain["draw_error"])
        enough = row["draw_error"] <= (row["high"] - row["low"]) / 20
        assert enough or report.draws == 40 and any("Monte Carlo error" in note for note in report.notes)
    assert np.isnan(evaluate(Y, {"a": model}, COSTS, draws=1).best["draw_error"][0])


@pytest.mark.parametrize("clusters", [{}, {"clusters": np.r_[WHO, np.full(50, 3)]}], ids=["rows", "clusters"])
def test_samples_without_weight_take_no_part(clusters):
    """Not in the folds of the others either: two of a class that count are never in one fold because of a
    third."""
    nothing, odds = np.r_[np.ones(N), np.zeros(50)], np.log([.2, 1, 9])
    for seed in range(3):
        draw = np.random.default_rng(seed)
        y, p = np.r_[Y, draw.integers(0, 2, 50)], np.r_[P, draw.random(50)]
        alone = read_samples(Y, P, COSTS, **{k: v[:N] for k, v in clusters.items()})
        beside = read_samples(y, p, COSTS, sample_weight=nothing, **clusters)
        one, other = CrossFit(alone, rng=0), CrossFit(beside, rng=0)
        for rule, require in (*((rule, None) for rule in FITTED), ("tuned", {"recall": .8})):
            wanted, found = (fits.decide("model", rule, require=require).decisions for fits in (one, other))
            np.testing.assert_array_equal(wanted, found[:N])
        for rule in FITTED:
            wanted, found = (fits.levels("model", rule, odds) for fits in (one, other))
            np.testing.assert_array_equal(wanted, found[:N])


@pytest.mark.parametrize("rule", RULES)
def test_levels_are_the_odds_at_which_a_decision_turns(rule):
    "Cost ratio times odds of the classes: the decisions at each such ratio, found anew."
    fits, share = CrossFit(read_samples(Y, P, COSTS, sample_weight=W), rng=0), np.bincount(Y, W)
    ratios = np.array([.3, 1.1, 2.3, 5.7, 19.1])
    found = fits.levels("model", rule, np.log(ratios * share[1] / share[0]))
    for k, ratio in enumerate(ratios):
        decided = fits.at_costs(CostMatrix.binary(fp=1, fn=ratio)).decide("model", rule).decisions
        np.testing.assert_array_equal(decided, P > .5 if found is None else found <= k)
    assert (found is None) == (rule == "as given")
    if rule == "bayes":
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            certain = CrossFit(read_samples([0, 0, 1, 1], [0., .3, .8, 1.], COSTS)).levels("model", rule,
                    [-99., 99.])
        assert certain.tolist() == [2, 1, 1, 0], "the impossible never, the certain always"
    assert CrossFit(read_samples([0, 0, 1], [.1, .2, .3], COSTS)).levels("model", "calibrated", [0.]) is None


# ---- folds and clusters

@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(6, 30))
def test_a_cluster_is_in_one_fold(seed, folds, many):
    draw = np.random.default_rng(seed)
    who = np.r_[np.arange(many), draw.integers(0, many, 60)]
    y = draw.integers(0, 2, len(who))
    fold = stratified_folds(y, folds, clusters=who, rng=seed)
    assert all(len(np.unique(fold[who == w])) == 1 for w in range(many)) and set(fold) == set(range(folds))
    first = np.unique(who, return_index=True)[1]
    assert np.ptp(np.bincount(fold[first])) <= 1
    fits = CrossFit(read_samples(y, draw.random(len(y)), COSTS, clusters=who), folds=folds, rng=seed)
    assert all(len(np.unique(fits.folds[who == w])) == 1 for w in range(many))


def test_a_rare_class_is_spread_over_folds():
    y = np.r_[np.zeros(90, int), np.ones(3, int)].repeat(4)
    fold = stratified_folds(y, 3, clusters=np.arange(93).repeat(4), rng=0)
    assert len(set(fold[y == 1])) == 3
    # two clusters of a class in two folds: by chance both would be in one every other time
    rows = read_samples(y[:-4], np.arange(368.), COSTS, clusters=np.arange(92).repeat(4))
    assert all(set(CrossFit(rows, rng=seed).folds[y[:-4] == 1]) == {0, 1} for seed in range(6))


def test_small_classes_are_told():
    y = np.r_[np.zeros(30, int), 1]
    p, s = rng.random(31), rng.normal(size=33)
    for rule in FITTED:
        policy = decide(p, y, COSTS, rule=rule, rng=0)
        said = " ".join(policy.notes)
        assert policy.rule == "bayes" and "Class 1 has 1 samples" in said and "at their word" in said
        np.testing.assert_array_equal(policy.decisions, decide(p, y, COSTS, rule="bayes").decisions)
        policy = decide(Scores(s[:31]), y, COSTS, rule=rule, rng=0)
        assert "everybody got the decision that is best for everybody" in " ".join(policy.notes)
        assert set(policy.decisions) == {0}
    y = np.r_[y, 1, 1]
    policy = decide(s, y, COSTS, rng=0)
    assert set(policy.folds) == {0, 1, 2}
    for found, said in ((policy, "Class 1 has 3 samples, so there are 3 folds and not 5."),
                        (decide(s, y, COSTS, clusters=np.r_[:30, 50, 50, 50]), "Class 1 has 1 clusters"),
                        (decide(s, y, COSTS, sample_weight=np.r_[[1.] * 31, 0, 0]), "Class 1 has 1 samples"),
                        (decide(P3[:40], np.minimum(Y3[:40], 1), THREE), "Class 2 has 0 samples")):
        assert said in " ".join(found.notes)


# ---- isotonic calibration

def read_by(steps, *scores):
    "Posteriors of class 1 of scores by the steps."
    return expit(step_odds(np.array(scores, float), *steps))


def test_isotonic_steps_have_finite_odds_and_pool_ties():
    steps = isotonic_steps(S, Y)
    odds = step_odds(S, *steps)
    assert np.isfinite(odds).all() and (np.diff(odds[np.argsort(S)]) >= -1e-12).all()
    pure = isotonic_steps([1, 2, 3, 4, 5], [0, 0, 0, 1, 1])
    np.testing.assert_allclose(read_by(pure, 1, 5, -9, 99), [.4 / 4, 2.4 / 3, .4 / 4, 2.4 / 3])
    middle = np.log(1 / 9) / 2 + np.log(4) / 2  # between the two steps
    assert step_odds(np.array([3.5]), *pure)[0] == pytest.approx(middle)
    np.testing.assert_allclose(read_by(isotonic_steps([1, 1, 1, 1], [0, 1, 0, 1]), 1), [.5])
    assert np.ptp(isotonic_steps(S, Y, n_units=20)[2]) < np.ptp(steps[2])


# ---- capacity

def test_capacity_keeps_the_greatest_expected_savings():
    for costs in (COSTS, OWN):
        table = np.broadcast_to(costs.array, (N, 2, 2))
        saving = P * table[:, 1, 0] - (1 - P) * table[:, 0, 1]
        fits = CrossFit(read_samples(Y, P, costs))
        place, gain, _ = fits.queue("model", "bayes")
        if costs is OWN:
            np.testing.assert_allclose(gain, saving)
        assert (np.diff(saving[np.argsort(place, kind="stable")]) <= 1e-12).all()
        for many in (1, 40, N):
            policy = fits.decide("model", "bayes", capacity=many)
            wanted = np.argsort(-saving)[:min(many, (saving > 0).sum())]
            assert set(np.flatnonzero(policy.decisions)) == set(wanted)
    calibrated = decide(P, Y, OWN, capacity=.1, rng=0)
    each = calibrated.posteriors[:, 1] * OWN.array[:, 1, 0] - calibrated.posteriors[:, 0]
    assert set(np.flatnonzero(calibrated.decisions)) == set(np.argsort(-each)[:40])
    assert "40 of" in calibrated.notes[0]
    for rule in RULES:
        assert decide(P, Y, COSTS, rule=rule, capacity=12, rng=0).decisions.sum() == 12
    policy = decide(P, Y, COSTS, rule="bayes", capacity=.1, sample_weight=W, rng=0)  # of the weight
    assert .08 < W[policy.decisions == 1].sum() / W.sum() <= .1
    ways = {"priors": .02}, {"sample_weight": np.array([.98, .02])[Y] / np.bincount(Y)[Y]}  # of what is there
    one, other = (evaluate(Y, P, {"fp": 1, "fn": 99}, capacity=.05, draws=1, rng=0, **way) for way in ways)
    assert one.ladder["cost"].tolist() == pytest.approx(other.ladder["cost"].tolist())


def test_capacity_ties_are_decided_by_lot():
    fits = [CrossFit(read_samples(Y, np.round(P, 1), COSTS), rng=seed) for seed in (*range(60), 0)]
    taken = np.array([one.decide("model", "bayes", capacity=100).decisions for one in fits])
    assert (taken[0] == taken[-1]).all() and (taken[0] != taken[1]).any() and (taken.sum(1) == 100).all()
    lowest = np.round(P, 1)[taken[0] == 1].min()
    assert not taken[:, np.round(P, 1) < lowest].any() and taken[:, np.round(P, 1) > lowest].all()
    first, second = np.array_split(taken[:60].mean(0)[np.isclose(np.round(P, 1), lowest)], 2)
    assert abs(first.mean() - second.mean()) < .1  # the head of the file is not preferred
    given_ = decide(S > 0, Y, COSTS, capacity=10, rng=0)
    assert given_.decisions.sum() == 10 and "drawn at random" in given_.notes[0]


@pytest.mark.parametrize("costs", [COSTS, OWN, CostMatrix([[5, 0], [0, 1]], decisions=[0, 9])],
                         ids=["matrix", "own", "turned costs"])
@pytest.mark.parametrize("turned", [False, True])
def test_under_a_capacity_the_judged_are_those_that_the_installed_rule_takes(costs, turned):
    "Also of a model whose calibration turns it round, alpha < 0: the least of its values save the most."
    p = 1 - P if turned else P
    rule = fit_rule(Y, p, costs, capacity=20)
    assert (rule.content["calibration"]["alpha"] < 0) is turned
    installed = rule.decide(p, costs if costs is OWN else None) > 0
    judged = decide(p, Y, costs, capacity=20, rng=0).decisions
    assert (installed == judged).all() if costs is not OWN else (installed == judged).mean() > .98


# ---- into service


def test_a_posterior_at_the_threshold_is_positive_by_every_door():
    """At or above: decisions, the threshold of the policy, the rule that is installed, the number of calls,
    the map."""
    y, percent = np.arange(99) % 2, np.arange(1, 100)
    p = percent / 100
    forms = {"p": p, "float32": p.astype(np.float32), "two columns": np.column_stack([1 - p, p]),
             "of the other": Posteriors(1 - p, classes=[0])}
    for k in range(1, 100, 7):
        costs, want = [[0, k], [100 - k, 0]], (percent >= k).tolist()
        for name, values in forms.items():
            policy = decide(values, y, costs, rule="bayes")
            assert policy.decisions.tolist() == want, (name, k)
            assert policy.threshold == pytest.approx(k / 100, rel=1e-15), (name, k)
        samples, own = read_samples(y, p, costs), ExampleCosts(fp=np.full(99, k), fn=100. - k)
        assert fit_rule(y, p, costs, rule="bayes").decide(p).tolist() == want
        assert capacity_curve(y, p, costs, rule="bayes", points=1).best.calls == sum(want)
        assert decide(p, y, own, rule="bayes").decisions.tolist() == want
        odds = np.log([(100 - k) / k * samples.shares[1] / samples.shares[0]])
        assert (CrossFit(samples).levels("model", "bayes", odds) == 0).tolist() == want
        moved = decide(p, y, costs, rule="bayes", priors=[.3, .7])
        assert (moved.decisions == (p >= moved.threshold * (1 - 1e-12))).all()
    assert decide([[.5, .5]] * 9, [0, 1, 0] * 3, costs, rule="as given").decisions.tolist() == [1] * 9


# ---- where posteriors are right

def test_risks_of_the_population_in_a_case_control_file():
    """Half of the file is ill, one in twenty of the population; the model states the population's risks: they
    must not be moved once more."""
    y = np.repeat([0, 1], 2000)
    odds = np.exp(1.5 * np.random.default_rng(1).normal(1.5 * y) - 1.5**2 / 2)  # likelihood ratio
    here, half, fifth = (odds * s / (1 - s) / (1 + odds * s / (1 - s)) for s in (.05, .5, .2))
    costs, priors = CostMatrix.binary(fp=1, fn=10), [.95, .05]
    right = (here >= 1 / 11).astype(int)
    for model in (Posteriors(here, priors=.05), Posteriors(half), Posteriors(fifth, priors=[.8, .2]),
                  Posteriors(np.column_stack([fifth, 1 - fifth]), classes=[1, 0], priors=[.2, .8]),
                  Posteriors(fifth, priors={1: .2, 0: .8})):
        policy = decide(model, y, costs, rule="bayes", priors=priors, rng=0)
        assert (policy.decisions == right).all() and bool(policy.notes) == (model.priors is None)
        values = model.values if model.values.ndim == 1 else model.values[:, ::-1]
        assert (fit_rule(y, model, costs, rule="bayes", priors=priors).decide(values) == right).all()
    moved_twice = decide(here, y, costs, rule="bayes", priors=priors, rng=0)
    assert (moved_twice.decisions != right).mean() > .1
    assert "moved from the sample's shares" in moved_twice.notes[0]
    stated = Posteriors(here, priors=.05)
    report = evaluate(y, {"m": stated}, costs, rule="bayes", priors=priors, rng=0)
    truth = .95 * np.mean(right[y == 0]) + .05 * 10 * np.mean(1 - right[y == 1])
    assert float(report.best["cost"][0]) == pytest.approx(truth) and truth < .6
    map_ = report.robustness(cost_ratios=[5, 10], prevalences=[.05, .5])
    assert map_.cost[0, 1, 0] == pytest.approx(truth)
    at_sample = decide(stated, y, costs, rule="bayes", rng=0)
    assert (at_sample.decisions == (half >= 1 / 11)).all()


# ---- the draws of the folds are each model's own

DRAWS = np.random.default_rng(5)
FEW = (DRAWS.random(200) < .2).astype(int)
SEEN, LITTLE = DRAWS.normal(1.2 * FEW), DRAWS.normal(.3 * FEW)
RIVALS = {"b": 1 / (1 + np.exp(1.6 - LITTLE)), "c": Scores(DRAWS.normal(.5 * FEW))}


@pytest.mark.parametrize("rule", ["tuned", "calibrated"])
@pytest.mark.parametrize("how", [
    {}, {"priors": .05, "sample_weight": DRAWS.random(200) + .5}, {"clusters": np.arange(200) // 2},
    {"costs": ExampleCosts(fp=5, fn=9 * DRAWS.lognormal(1, 1, 200))}],
    ids=["plain", "priors and weights", "clusters", "own"])
def test_another_model_moves_no_headline(rule, how):
    "How often folds are drawn is decided for each model by itself."
    how = {"costs": [[0, 1], [20, 0]], "rule": rule} | how
    ours = {"a": Scores(SEEN) if rule == "tuned" else 1 / (1 + np.exp(2 - 1.2 * SEEN))}
    alone, beside = (evaluate(FEW, models, rng=0, **how).best.set_index("model").loc["a"]
                     for models in (ours, ours | RIVALS))
    pd.testing.assert_series_equal(alone, beside, rtol=1e-12)


def test_two_models_are_compared_in_the_draws_that_both_have():
    "One of five draws, one of twenty: each one's cost is of all its own, their difference of the first five."
    y, models = FEW, {"a": Scores(SEEN), "b": Scores(LITTLE), "p": 1 / (1 + np.exp(1.6 - LITTLE))}
    samples = read_samples(y, models, [[0, 1], [20, 0]])
    fits, table = CrossFit(samples, rng=0), np.array([[0, 1], [20, 0]])
    fits.draw(5, "a").draw(20, "b").draw(10, "p")
    assert fits.many == {"a": 5, "b": 20, "p": 10} and fits.draws == 20
    decided = {name: fits.decide(name, "tuned").decisions for name in models}
    assert [len(one) for one in decided.values()] == [5, 20, 10]
    for name, draws in fits.many.items():  # and what another has changes nothing
        alone = CrossFit(samples, draws=draws, rng=0)
        np.testing.assert_array_equal(alone.decide(name, "tuned").decisions, decided[name])
        np.testing.assert_array_equal(alone.posteriors(name), fits.posteriors(name))
    codes, mixed = report._mixtures(list(decided.values()), np.empty((0, 2)), [True, True, False])
    case = replace(evaluate(y, {"a": y > 2}, [[0, 1], [20, 0]])._case, **mixed)
    paid = {name: table[y, one].mean(1) for name, one in decided.items()}
    policies = [Decided(name, "tuned", code) for name, code in zip(models, codes)]
    found = ask([case.asks(one) for one in policies])
    assert found.estimate == pytest.approx([one.mean() for one in paid.values()])
    pairs = ask(differences(case, policies))
    both, mean = (paid["a"] - paid["b"][:5]).mean(), {name: one.mean() for name, one in paid.items()}
    assert pairs.estimate == pytest.approx([both, mean["a"] - mean["p"], mean["b"] - mean["p"]])


def test_classes_are_not_called_separated_where_they_are_not():
    "Once one fold is left out, perhaps; a constant separates nothing."
    assert decide(Posteriors(np.full(80, .5)), np.arange(80) % 2, COSTS, rng=0).notes == ()
    assert "separates the classes" in decide(np.where(Y, .9, .1), Y, COSTS, rng=0).notes[0]
    y, told = (np.arange(40) < 6) * 1, 0
    for seed in range(12):
        p = 1 / (1 + np.exp(2 - 4 * y - np.random.default_rng(seed).normal(size=40)))
        mixed = p[y == 1].min() < p[y == 0].max()
        notes = " ".join(decide(Posteriors(p), y, COSTS, rng=0).notes)
        told += "separates the classes once one fold is left out, so" in notes
        assert not mixed or "separates the classes, so" not in notes
    assert told
