"""From output to decisions: rules, folds, clusters, capacity, and what may not matter."""
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from cost_eval import report
from cost_eval.capacity import capacity_curve
from cost_eval.comparisons import Decided, ask, differences
from cost_eval.costs import CostMatrix, ExampleCosts, losses
from cost_eval.decisions import AffineCalibrator, bayes_decisions, best_threshold, stratified_folds
from cost_eval.policies import RULES, CrossFit, fit_rule, isotonic_steps, within_capacity
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
FITTED = ("calibrated", "tuned")


# ---- rules

def test_as_given_and_bayes():
    for rule in RULES:
        policy = decide(Decisions(S > 1), Y, COSTS, rule=rule, rng=0)
        assert (policy.rule, policy.kind) == ("as given", "decisions") and not len(policy.folds)
        np.testing.assert_array_equal(policy.decisions, S > 1)
    np.testing.assert_array_equal(decide(P, Y, COSTS, rule="as given").decisions, P > .5)
    policy = decide(P, Y, COSTS, rule="bayes")
    np.testing.assert_array_equal(policy.decisions, bayes_decisions(np.column_stack([1 - P, P]), COSTS))
    assert policy.threshold == pytest.approx(1 / 6)
    shifted = decide(P, Y, COSTS, rule="bayes", priors=.05)
    share = np.bincount(Y) / N
    np.testing.assert_array_equal(shifted.decisions, bayes_decisions(np.column_stack([1 - P, P]), COSTS,
            priors=[.95, .05], train_priors=share))
    np.testing.assert_array_equal(shifted.decisions, P > shifted.threshold)
    np.testing.assert_allclose(shifted.posteriors.sum(1), 1)


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
            inside = np.flatnonzero(policy.folds != k)
            part = {name: v[inside] if name == "sample_weight" else v for name, v in options.items()}
            table = costs if costs is COSTS else costs[inside]
            found = best_threshold(Y[inside], S[inside], table, **part)
            np.testing.assert_array_equal(policy.decisions[policy.folds == k], S[policy.folds == k]
                                          >= found.threshold)
        whole = best_threshold(Y, S, costs, **options)
        assert (policy.threshold, policy.same_from, policy.same_to) == (whole.threshold, whole.low,
                whole.high)


def test_three_classes_and_a_fourth_decision():
    for rule in RULES[:3]:
        policy = decide(P3, Y3, CostMatrix(THREE.array, classes=[0, 1, 2], decisions=[0, 1, 2, "ask"]),
                        rule=rule, rng=0)
        assert policy.decisions.max() == (2 if rule == "as given" else 3) and policy.labels[3] == "ask"
    own = ExampleCosts.from_array(rng.gamma(1, 1, (N, 3, 4)))
    policy = decide(P3, Y3, own, rng=0)
    np.testing.assert_array_equal(policy.decisions, bayes_decisions(policy.posteriors, own))
    with pytest.raises(ValueError, match="rule: 'tuned' takes two"):
        decide(P3, Y3, THREE, rule="tuned")


def test_what_scores_cannot_do():
    for rule in ("as given", "bayes"):
        with pytest.raises(ValueError,
                           match="needs posteriors, not scores; use 'calibrated' or 'tuned'"):
            decide(Scores(S), Y, COSTS, rule=rule)
    with pytest.raises(ValueError,
                       match=r"model: got \['a', 'b'\]; a rule is of one"):
        fit_rule(Y, {"a": P, "b": S}, COSTS)
    with pytest.raises(ValueError, match="needs a decision called as each class"):
        decide(P, Y, CostMatrix([[0, 1], [5, 0]], classes=[0, 1], decisions=["stay", "go"]), rule="as given")


RESCALED = {"exp": np.exp, "cubes": lambda s: s**3, "ranks": lambda s: np.unique(s, return_inverse=True)[1],
            "in [0, .1]": lambda s: (s - s.min()) / np.ptp(s) * .1,
            "points": lambda s: 500 + 100 * s}


@pytest.mark.parametrize("option", [{}, {"clusters": WHO}, {"sample_weight": W}, {"priors": .05},
                                    {"capacity": 31}, {"folds": 3}], ids=lambda o: "".join(o) or "plain")
@pytest.mark.parametrize("rule", FITTED)
@pytest.mark.parametrize("costs", [COSTS, OWN], ids=["matrix", "own"])
def test_a_rescaling_of_scores_changes_no_decision(rule, option, costs):
    """But for rows between the two values that enclose a tuned cut, midway between which it is installed: of
    those a bent scale may turn one or two of a fold."""
    tied = np.round(S, 1)
    for scores in (S, tied):
        wanted = decide(Scores(scores), Y, costs, rule=rule, rng=4, **option).decisions
        assert 0 < wanted.sum() < N
        for name, form in RESCALED.items():
            found = decide(Scores(form(scores)), Y, costs, rule=rule, rng=4, **option).decisions
            bent = rule == "tuned" and name in ("exp", "cubes", "ranks") and scores is S
            assert (found != wanted).sum() <= 10 * bent, name


@pytest.mark.parametrize("option", [{}, {"clusters": WHO}, {"sample_weight": W * (W > 1)}, {"priors": .05},
                                    {"capacity": 31}, {"capacity": .07}], ids=lambda o: "".join(o) or "plain")
@pytest.mark.parametrize("model", [P, Scores(S)], ids=["posteriors", "scores"])
@pytest.mark.parametrize("costs", [COSTS, OWN], ids=["matrix", "own"])
def test_with_an_index_the_order_of_rows_changes_no_decision(model, option, costs):
    """The index of a shuffled frame is what the rows are called; without it another order is another draw of
    the folds."""
    turn = np.random.default_rng(9).permutation(N)
    turned = type(model)(model.values[turn]) if isinstance(model, Scores) else model[turn]
    moved = {name: v[turn] if isinstance(v, np.ndarray) else v for name, v in option.items()}
    for rule in FITTED:
        here = decide(model, Y, costs, rule=rule, rng=2, **option)
        there, drawn = (decide(turned, y, costs if costs is COSTS else costs[turn], rule=rule, rng=2, **moved)
                        for y in (pd.Series(Y[turn], turn), Y[turn]))
        for name in ("decisions", "folds", "posteriors"):
            before, after = getattr(here, name), getattr(there, name)
            np.testing.assert_array_equal(before[turn] if len(before) else before, after)
        assert (here.folds[turn] != drawn.folds).mean() > .5


# ---- what may not matter

def cheapest(y, models, costs=COSTS, **options):
    return evaluate(y, models, costs, **options).best.set_index("model").loc["a",
            ["cost", "low", "high"]].to_numpy(float)


OF_SERIES, TURN = pd.DataFrame({"y": Y, "a": P}), np.random.default_rng(9).permutation(N)
WORDS = CostMatrix(COSTS.array, classes=["well", "ill"])
MOVES = {  # of the same question: FINDINGS C
    "again": lambda: cheapest(Y, {"a": P}),
    "the seed that is printed": lambda: cheapest(Y, {"a": P},
                                                 rng=evaluate(Y, {"a": P}, COSTS).provenance["seed"]),
    "the last digit": lambda: cheapest(Y, {"a": np.nextafter(P, 1)}),
    "float32": lambda: cheapest(Y, {"a": P.astype(np.float32)}),
    "models beside it": lambda: cheapest(Y, {"b": Scores(S**3), "a": P, "c": S > 0}),
    "another name": lambda: cheapest(Y, pd.DataFrame({"a": P}).rename(columns=str.upper).rename(
        columns=str.lower)),
    "two columns": lambda: cheapest(Y, {"a": np.column_stack([1 - P, P])}),
    "classes swapped": lambda: cheapest(1 - Y, {"a": 1 - P}, CostMatrix.binary(fp=1, fn=5).array[::-1, ::-1]),
    "classes listed otherwise": lambda: cheapest(Y, {"a": Posteriors(np.column_stack([P, 1 - P]),
        classes=[1, 0])}, CostMatrix(COSTS.array[::-1, ::-1], classes=[1, 0], decisions=[1, 0])),
    "classes renamed": lambda: cheapest(np.array(["well", "ill"])[Y], {"a": P}, WORDS, positive="ill"),
    "clusters of one": lambda: cheapest(Y, {"a": P}, clusters=np.arange(N)),
    "clusters of one, named": lambda: cheapest(Y, {"a": P}, clusters=[f"customer {N - i}" for i in range(N)]),
    "weights of one": lambda: cheapest(Y, {"a": P}, sample_weight=np.ones(N)),
    "groups": lambda: cheapest(Y, {"a": P}, groups=np.arange(N) % 3),
    "own costs, all alike": lambda: cheapest(Y, {"a": P}, ExampleCosts(fp=np.ones(N), fn=np.full(N, 5.))),
    "a shuffled frame": lambda: cheapest(OF_SERIES["y"][TURN], OF_SERIES[["a"]].loc[TURN]),
    "shuffled ids": lambda: cheapest(Y[TURN], {"a": P[TURN]}, ids=[f"id {i:03}" for i in TURN]),
    "ids of words and numbers": lambda: cheapest(Y[TURN], {"a": P[TURN]}, ids=np.array([i if i < 10
        else f"z{i:03}" for i in TURN], object)),
}


@pytest.mark.parametrize("move", MOVES)
def test_the_headline_stands_still(move):
    "Weights, own costs and clusters have intervals of their own kind; else nothing moves at all."
    ends = slice(1) if {"weights", "own", "clusters"} & set(move.replace(",", "").split()) else slice(3)
    np.testing.assert_allclose(MOVES[move]()[ends], cheapest(Y, {"a": P})[ends], rtol=1e-9)


def test_a_shuffled_file_with_ids_is_the_same_report():
    "Every number of it, and that at other costs of single rows; folds given go along."
    draw, fold = np.random.default_rng(3), np.unique(WHO, return_inverse=True)[1] % 4
    models, amount = {"a": P, "b": Scores(S + draw.normal(size=N))}, pd.Series(draw.gamma(2, 3, N))
    given = {"clusters": WHO, "groups": np.arange(N) % 2, "sample_weight": W, "folds": fold}
    plain, turned = (evaluate(Y[i], {k: type(m)(m.values[i]) if isinstance(m, Scores) else m[i] for k, m
                                     in models.items()}, COSTS, ids=i, **{k: v[i] for k, v in given.items()},
                              scenarios={"own": OWN[i], "table": [[0, 1], [9, 0]]})
                              for i in (np.arange(N), TURN))
    assert plain == turned and plain.with_costs(ExampleCosts(fp=1,
            fn=amount)) == turned.with_costs(ExampleCosts(fp=1, fn=amount[TURN]))
    with pytest.raises(ValueError, match="costs: its index has the rows of y_true in another order"):
        turned.with_costs(ExampleCosts(fp=1, fn=amount))


@pytest.mark.parametrize("rule", FITTED)
def test_draws_are_rows_and_the_first_is_that_of_one(rule):
    samples = read_samples(Y, {"p": P, "s": Scores(S), "d": S > 0}, COSTS)
    fits = CrossFit(samples, draws=4, rng=2)
    for name in ("p", "s"):
        several, one = fits.decide(name, rule), CrossFit(samples, rng=2).decide(name, rule)
        assert several.decisions.shape == several.folds.shape == (4, N) and one.decisions.shape == (N,)
        np.testing.assert_array_equal(several.decisions[0], one.decisions)
        np.testing.assert_array_equal(several.decisions[2],
                                      CrossFit(samples, folds=several.folds[2]).decide(name, rule).decisions)
        np.testing.assert_array_equal(fits.decide(name, rule, posteriors=False).decisions, several.decisions)
        # where a row's decisions cost the same there is no cut
        for costs in (OWN, ExampleCosts(fp=1, fn=np.where(np.arange(N) % 3, 4., 0))):
            own = [fits.at_costs(costs).decide(name, rule, priors=[.9, .1], posteriors=asked).decisions
                   for asked in (False, True)]
            np.testing.assert_array_equal(*own)
        assert (several.folds[0] != several.folds[1]).mean() > .5 and len(
            several.to_frame()) == 4 * N and "4 draws" in repr(several)
        odds = np.log([.5, 2, 9])
        np.testing.assert_array_equal(fits.levels(name, rule, odds)[0], CrossFit(samples, rng=2).levels(name,
                rule, odds))
    assert fits.decide("d", rule).decisions.shape == fits.decide("p", "bayes").decisions.shape == (N,)
    assert CrossFit(samples, folds=np.arange(N) % 3, draws=4).draws == 1 and fits.draw(2).draws == 2
    np.testing.assert_array_equal(decide(P, Y, COSTS, rule=rule, draws=4, rng=2).decisions,
                                  CrossFit(read_samples(Y, P, COSTS), draws=4, rng=2).decide("model",
            rule).decisions)


def mean_losses(samples, costs, rule, draws, **options):
    "By hand: each row's loss in each draw."
    fits = CrossFit(samples, draws=draws, rng=0)
    paid = (lambda d: costs.array[samples.y, d]) if isinstance(costs,
            CostMatrix) else lambda d: losses(samples.y, d, costs)
    return {name: np.mean([paid(d) for d in np.atleast_2d(fits.decide(name, rule, **options).decisions)],
                          axis=0) for name in samples.models}


@pytest.mark.parametrize("case", ["matrix", "own", "wait", "weights", "priors", "capacity"])
def test_everything_of_a_report_speaks_of_the_mean_over_draws(case):
    rule, y, models, costs, given = "calibrated", Y, {"p": P, "s": Scores(S + rng.normal(size=N)),
                                                      "d": Decisions(S > 0)}, COSTS, {}
    if case == "wait":
        y, costs = Y3, CostMatrix(THREE.array, classes=[0, 1, 2], decisions=[0, 1, 2, "ask"])
        models = {"p": P3, "d": Decisions(P3.argmax(1)), "s": .5 * P3 + 1 / 6}
    costs = OWN if case == "own" else costs
    given |= {"weights": {"sample_weight": W}, "priors": {"priors": [.9, .1]},
              "capacity": {"capacity": 60}}.get(case, {})
    report = evaluate(y, models, costs, rule=rule, draws=7, groups=np.arange(N) % 2, **given)
    samples = read_samples(y, models, costs)
    if "sample_weight" in given:
        samples = read_samples(y, models, costs, sample_weight=W)
    by_hand = mean_losses(samples, costs, rule, 7, **{k: v for k, v in given.items() if k != "sample_weight"})
    weight = W if case == "weights" else np.array([.9, .1])[Y] / np.bincount(Y)[
        Y] if case == "priors" else np.ones(N)
    best, cost = report.best.set_index("model"), {name: np.average(loss, weights=weight)
                                                  for name, loss in by_hand.items()}
    for name in models:
        assert best.loc[name, "cost"] == pytest.approx(cost[name]) and best.loc[name,
                "low"] < cost[name] < best.loc[name, "high"]
        parts = report.breakdown(name).groupby("part")["cost"].sum()
        assert parts.to_numpy() == pytest.approx(cost[name])
        here = report.groups.query("model == @name").set_index("group")["cost"]
        assert here.loc[1] == pytest.approx(np.average(by_hand[name][1::2], weights=np.ones(N // 2)
                                                       if case == "priors" else weight[1::2]))
    for row in report.differences.to_dict("records"):
        assert row["difference"] == pytest.approx(cost[row["first"]] - cost[row["second"]]) and row[
            "low"] <= row["difference"] <= row["high"]
    # calibration keeps the order of the queue
    moved = [name != "d" and case != "capacity" for name in best.index]
    assert (best["draw_error"] > 0).tolist() == moved and report.draws == 7
    if case in ("matrix", "weights", "priors"):
        at = report.robustness([1., 5.], [.01, float(report.priors[1])])
        assert [at.cost[at.names.index(name), 1, 1] for name in models] == pytest.approx([cost[name]
                for name in models])
    other = OWN if case == "matrix" else costs
    assert case in ("weights", "own") or report.with_costs(other, priors=given.get("priors")) == evaluate(y,
            models, other, rule=rule, draws=7, groups=np.arange(N) % 2, **given)


@pytest.mark.parametrize("model", [P, Scores(S)], ids=["posteriors", "scores"])
def test_another_order_moves_the_headline_within_four_of_its_monte_carlo_errors(model):
    """And the draws are as many as bring that error below a tenth of half the interval, or the report says
    that they are not."""
    plain = evaluate(Y, {"a": model}, COSTS, draws=None).best.iloc[0]
    for seed in range(6):
        turn = np.random.default_rng(seed).permutation(N)
        report = evaluate(Y[turn], {"a": Scores(S[turn]) if isinstance(model, Scores) else P[turn]}, COSTS,
                          draws=None)
        row = report.best.iloc[0]
        assert abs(row["cost"] - plain["cost"]) < 4 * np.hypot(row["draw_error"], plain["draw_error"])
        enough = row["draw_error"] <= (row["high"] - row["low"]) / 20
        assert enough or report.draws == 40 and any("Monte Carlo error" in note for note in report.notes)
    assert np.isnan(evaluate(Y, {"a": model}, COSTS, draws=1).best["draw_error"][0])
    assert evaluate(Y, {"a": S > 0}, COSTS).best["draw_error"][0] == 0


def test_of_many_rows_all_draws_decide_about_so_many(monkeypatch):
    "Forty draws of four million rows took 12 GB; a note says what fewer leave open."
    rows = np.arange(N)
    ask = dict(y_true=rows % 10 == 0, models={"noise": Scores(rows * .618034 % 1)}, costs=dict(fp=1, fn=10))
    wanted = evaluate(**ask).draws
    monkeypatch.setattr("cost_eval.report._DECIDED", 6 * N)
    few = evaluate(**ask)
    assert wanted > few.draws == 6 and any("Over 6 draws of the folds" in note for note in few.notes)


def test_samples_without_weight_take_no_part():
    """Not in the folds of the others either: two of a class that count are never in one fold because of a
    third."""
    nothing, odds = np.r_[np.ones(N), np.zeros(50)], np.log([.2, 1, 9])
    for seed in range(8):
        draw = np.random.default_rng(seed)
        y, p = np.r_[Y, draw.integers(0, 2, 50)], np.r_[P, draw.random(50)]
        for clusters in ({}, {"clusters": np.r_[WHO, np.full(50, 3)]}):
            alone = read_samples(Y, P, COSTS, **{k: v[:N] for k, v in clusters.items()})
            fits, beside = CrossFit(alone, rng=0), CrossFit(read_samples(y, p, COSTS, sample_weight=nothing,
                    **clusters), rng=0)
            for rule, require in [*((rule, None) for rule in FITTED), ("tuned", {"recall": .8})]:
                asked = [one.decide("model", rule, require=require).decisions for one in (fits, beside)]
                np.testing.assert_array_equal(asked[0], asked[1][:N])
            for rule in FITTED:
                np.testing.assert_array_equal(fits.levels("model", rule, odds),
                                              beside.levels("model", rule, odds)[:N])


def test_the_seed_matters_and_models_share_its_folds():
    folds = [CrossFit(read_samples(Y, P, COSTS), rng=seed).folds for seed in (0, 1, 0)]
    np.testing.assert_array_equal(folds[0], folds[2])
    assert (folds[0] != folds[1]).mean() > .5
    fits = CrossFit(read_samples(Y, {"a": P, "b": Scores(S)}, COSTS), rng=0)
    first = fits.decide("a", capacity=20).decisions
    fits.decide("b", "tuned", capacity=20)
    np.testing.assert_array_equal(fits.decide("a", capacity=20).decisions, first)
    np.testing.assert_array_equal(fits.decide("b").folds, fits.decide("a").folds)


def test_other_costs_and_priors_need_no_other_fit():
    fits, other = CrossFit(read_samples(Y, P, COSTS), rng=0), CostMatrix.binary(fp=1, fn=40)
    for rule in RULES:
        for costs, given_ in ((other, other), (OWN, OWN), ([[0, 1], [40, 0]], other)):
            np.testing.assert_array_equal(fits.at_costs(costs).decide("model", rule, priors=.1).decisions[:50]
                                          if given_ is other else 0,
                                          CrossFit(read_samples(Y, P, given_), folds=fits.folds,
                                                    rng=0).decide("model", rule, priors=.1).decisions[:50]
                                                    if given_ is other else 0)
    with pytest.raises(ValueError, match="costs: classes"):
        fits.at_costs(CostMatrix([[0, 1], [5, 0]], classes=["a", "b"]))
    with pytest.raises(ValueError, match="costs: of 2 samples"):
        fits.at_costs(ExampleCosts(fp=1, fn=[2, 3]))


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


def test_a_threshold_is_told_where_there_is_a_choice():
    "No weight on the only class whose decisions differ in cost: all thresholds are alike."
    for priors, told in (([1, 0], False), ([.9, .1], True)):
        assert np.isfinite(decide(P, Y, [[1, 1], [5, 0]], rule="bayes", priors=priors).threshold) == told


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


def test_folds_by_cluster_of_one_are_those_of_samples_and_a_rare_class_is_spread():
    y = np.r_[np.zeros(90, int), np.ones(3, int)].repeat(4)
    fold = stratified_folds(y, 3, clusters=np.arange(93).repeat(4), rng=0)
    assert len(set(fold[y == 1])) == 3
    # two clusters of a class in two folds: by chance both would be in one every other time
    for seed in range(6):
        fits = CrossFit(read_samples(y[:-4], np.arange(368.), COSTS, clusters=np.arange(92).repeat(4)),
                         rng=seed)
        assert set(fits.folds[y[:-4] == 1]) == {0, 1}
    with pytest.raises(ValueError, match="folds: must be from 2 to 3, got 4; at most one per cluster"):
        stratified_folds([0, 1, 0, 1, 0], 4, clusters=[1, 1, 2, 2, 3])
    with pytest.raises(ValueError, match="clusters: missing"):
        stratified_folds([0, 1, 0, 1, 0], 2, clusters=[1, 1, 2, 2, None])
    with pytest.raises(ValueError, match="clusters: 2 values"):
        stratified_folds([0, 1, 0, 1, 0], 2, clusters=[1, 1])
    parted = {"folds": np.arange(N) % 2, "clusters": np.arange(N) // 2}
    for refuses in (lambda: decide(P, Y, COSTS,
            **parted), lambda: evaluate(Y[TURN], {"a": P[TURN]}, COSTS, ids=TURN, **parted)):
        with pytest.raises(ValueError, match="folds: they part the cluster of sample"):
            refuses()


def customers(draw, many):
    "Forty customers or more of fifteen rows; a score that knows the customer and nothing else."
    who = np.repeat(np.arange(many), 15)
    score = draw.normal(size=many)[who] + .1 * draw.normal(size=len(who))
    return who, score, (draw.random(many) < .2)[who].astype(int)


@pytest.mark.filterwarnings("ignore:.*rows lie outside")  # other customers
@pytest.mark.parametrize("rule", FITTED)
def test_a_score_without_signal_has_no_value_among_customers(rule):
    "Rows dealt into folds make noise look a quarter cheaper than it is; whole customers do not."
    found = []
    for seed in range(30):
        draw = np.random.default_rng(seed)
        who, score, y = customers(draw, 40)
        _, later, truth = customers(draw, 2000)
        told = [losses(y, decide(Scores(score), y, COSTS, rule=rule, clusters=c, rng=0).decisions,
                       COSTS).mean() for c in (None, who)]
        service = fit_rule(y, Scores(score), COSTS, clusters=who, rule=rule)
        found.append([*told, losses(truth, service.decide(later), COSTS).mean()])
    leak, clean, true = np.mean(found, 0)
    error = np.std([b - c for _, b, c in found]) / np.sqrt(len(found))
    assert leak < .8 * true and abs(clean - true) < 2 * error


def test_small_classes_are_told():
    y = np.r_[np.zeros(30, int), 1]
    p, s = rng.random(31), rng.normal(size=31)
    for rule in FITTED:
        policy = decide(p, y, COSTS, rule=rule, rng=0)
        assert policy.rule == "bayes" and "Class 1 has 1 samples: nothing can be calibrated" in policy.notes[
            1] and "at their word" in policy.notes[2] or \
            "Class 1 has 1 samples" in " ".join(policy.notes) and "at their word" in " ".join(policy.notes)
        np.testing.assert_array_equal(policy.decisions, decide(p, y, COSTS, rule="bayes").decisions)
        policy = decide(Scores(s), y, COSTS, rule=rule, rng=0)
        assert "everybody got the decision that is best for everybody" in " ".join(policy.notes) and set(
            policy.decisions) == {0}
    y = np.r_[np.zeros(30, int), 1, 1, 1]
    policy = decide(rng.normal(size=33), y, COSTS, rng=0)
    assert "Class 1 has 3 samples, so there are 3 folds and not 5." in policy.notes and set(policy.folds) == {
        0, 1, 2}
    clustered = decide(rng.normal(size=33), y, COSTS, clusters=np.r_[np.arange(30), 50, 50, 50], rng=0)
    assert "Class 1 has 1 clusters" in " ".join(clustered.notes)
    weightless = decide(rng.normal(size=33), y, COSTS, sample_weight=np.r_[np.ones(31), 0, 0], rng=0)
    assert "Class 1 has 1 samples" in " ".join(weightless.notes)
    three = decide(P3[:40], np.minimum(Y3[:40], 1), THREE, rng=0)
    assert "Class 2 has 0 samples" in " ".join(three.notes) and three.rule == "bayes"
    for model, rule in ((P, "calibrated"), (Scores(S), "tuned")):
        with pytest.raises(ValueError, match=f"samples: a class has no sample where '{rule}' is fitted; give folds"):
            decide(model, Y, COSTS, rule=rule, folds=np.where(Y == 1, 1, 0), rng=0)


def test_separated_classes_are_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy = decide(np.where(Y, .9, .1), Y, COSTS, rng=0)
    assert "separates the classes" in policy.notes[0]


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


def test_isotonic_weights_are_repetitions_up_to_their_number():
    """The steps are those of repeated rows; how far they are pulled in depends on how many samples weights
    are worth."""
    repeats = rng.integers(1, 4, N)
    one = isotonic_steps(S, Y, repeats)
    other = isotonic_steps(np.repeat(S, repeats), np.repeat(Y, repeats))
    np.testing.assert_array_equal(one[:2], other[:2])
    np.testing.assert_allclose(one[2], isotonic_steps(S, Y, repeats * 7.)[2])
    np.testing.assert_allclose(isotonic_steps(S, Y, np.r_[0., np.ones(N - 1)])[2],
                               isotonic_steps(S[1:], Y[1:])[2])
    with pytest.raises(ValueError, match="both classes"):
        isotonic_steps(S, np.zeros(N, int))


# ---- capacity

def test_capacity_keeps_the_greatest_expected_savings():
    saving = np.column_stack([1 - P, P]) @ [-1, 5]
    for many in (0, 1, 40, len(Y)):
        policy = decide(P, Y, COSTS, rule="bayes", capacity=many, rng=0)
        wanted = np.argsort(-saving)[:min(many, (saving > 0).sum())]
        assert set(np.flatnonzero(policy.decisions)) == set(wanted)
    each = -(1 - P) * OWN.array[:, 0, 1] + P * OWN.array[:, 1, 0]
    policy = decide(P, Y, OWN, rule="bayes", capacity=.1, rng=0)
    assert set(np.flatnonzero(policy.decisions)) == set(np.argsort(-each)[:40]) != set(np.argsort(-P)[:40])
    assert "40 of" in policy.notes[0]
    calibrated = decide(P, Y, OWN, capacity=40, rng=0)
    each = calibrated.posteriors[:, 1] * OWN.array[:, 1, 0] - calibrated.posteriors[:, 0]
    assert set(np.flatnonzero(calibrated.decisions)) == set(np.argsort(-each)[:40])


def test_capacity_ties_are_decided_by_lot():
    coarse = np.round(P, 1)
    taken = [np.flatnonzero(decide(coarse, Y, COSTS, rule="bayes", capacity=100, rng=seed).decisions)
             for seed in (0, 1, 0)]
    assert taken[0].tolist() == taken[2].tolist() != taken[1].tolist()
    lowest = coarse[taken[0]].min()
    assert all((coarse[rows] >= lowest).all() for rows in taken)
    share = np.mean([decide(coarse, Y, COSTS, rule="bayes", capacity=100, rng=seed).decisions
                     for seed in range(60)], axis=0)
    tied = share[np.isclose(coarse, lowest)]
    first, second = np.array_split(tied, 2)
    assert abs(first.mean() - second.mean()) < .1  # the head of the file is not preferred
    given_ = decide(S > 0, Y, COSTS, capacity=10, rng=0)
    assert given_.decisions.sum() == 10 and "drawn at random" in given_.notes[0]


def test_the_queue_is_the_order_of_the_score_where_all_have_the_same_costs():
    fits = CrossFit(read_samples(Y, {"p": P, "s": Scores(S), "d": S > 0}, COSTS), rng=0)
    named = CrossFit(read_samples(Y, {"p": P, "s": Scores(S)}, CostMatrix(COSTS, decisions=["no", "yes"])),
                      rng=0)
    for name, values in (("p", P), ("s", S)):
        place, *_ = fits.queue(name)
        assert (np.diff(values[np.argsort(place)]) <= 0).all() and place.max() + 1 == len(np.unique(values))
        turned = named.at_costs(CostMatrix([[5, 0], [0, 1]], decisions=["no", "yes"])).queue(name)[0]  # decision 1 is for class 0
        np.testing.assert_array_equal(turned, place.max() - place)
    place, gain, _ = fits.at_costs(OWN).queue("p", "bayes")
    saving = P * OWN.array[:, 1, 0] - (1 - P) * OWN.array[:, 0, 1]
    np.testing.assert_allclose(gain, saving)
    assert (np.diff(saving[np.argsort(place, kind="stable")]) <= 1e-12).all()
    with pytest.raises(ValueError, match="model: 'd': decisions have no order"):
        fits.queue("d")
    with pytest.raises(ValueError, match="y_true: Class 1 has 1 samples.*no expected saving"):
        CrossFit(read_samples([0, 0, 0, 1], Scores([1, 2, 3, 9]), COSTS)).queue("model")


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


def test_capacity_as_a_share_of_the_weight():
    policy = decide(P, Y, COSTS, rule="bayes", capacity=.1, sample_weight=W, rng=0)
    assert .08 < W[policy.decisions == 1].sum() / W.sum() <= .1
    for rule in RULES:
        assert decide(P, Y, COSTS, rule=rule, capacity=12, rng=0).decisions.sum() == 12
    for capacity, words in ((2.5, "whole number"),
                            (len(Y) + 1,
                             f"from 0 to {len(Y)}, got {len(Y) + 1}; a count of the {len(Y)} samples")):
        with pytest.raises(ValueError, match=words):
            decide(P, Y, COSTS, capacity=capacity)
    with pytest.raises(ValueError, match="capacity: limits the second of two decisions"):
        decide(P3, Y3, THREE, capacity=3)


# ---- into service

def test_within_capacity_is_the_head_of_the_queue():
    rows = read_samples([0, 1, 1, 0], {"m": [.2, .9, .6, .1]}, [[0, 1], [5, 0]])
    for capacity, queue, kept in ((3, [2, 1], [2, 1]), (.25, [2, 1], [2]), (2, [], []), (1, [2, 1], [2])):
        assert within_capacity(capacity, rows, queue).tolist() == kept


def test_a_posterior_at_the_threshold_is_positive_by_every_door():
    """At or above: decisions, the threshold of the policy, the rule that is installed, the number of calls,
    the map (B7)."""
    y, percent = np.arange(99) % 2, np.arange(1, 100)
    p = percent / 100
    forms = {"p": p, "float32": p.astype(np.float32), "two columns": np.column_stack([1 - p, p]),
             "of the other": Posteriors(1 - p, classes=[0])}
    for k in range(1, 100, 7):
        costs, want = [[0, k], [100 - k, 0]], (percent >= k).tolist()
        for name, values in forms.items():
            policy = decide(values, y, costs, rule="bayes")
            assert policy.decisions.tolist() == want and policy.threshold == pytest.approx(k / 100,
                    rel=1e-15), (name, k)
            stated = 1 - (1 - p) if name == "of the other" else values if values.ndim == 1 else values[:, 1]
            assert (stated >= policy.threshold).tolist() == want, (name, k)
        samples = read_samples(y, p, costs)
        assert fit_rule(y, p, costs, rule="bayes").decide(p).tolist() == want
        assert capacity_curve(y, p, costs, rule="bayes").best.calls == sum(want)
        assert decide(p, y, ExampleCosts(fp=np.full(99, k), fn=100. - k),
                      rule="bayes").decisions.tolist() == want
        odds = np.log([(100 - k) / k * samples.shares[1] / samples.shares[0]])
        assert (CrossFit(samples).levels("model", "bayes", odds) == 0).tolist() == want
        moved = decide(p, y, costs, rule="bayes", priors=[.3, .7])
        assert (moved.decisions == (p >= moved.threshold * (1 - 1e-12))).all()
    assert decide([[.5, .5]] * 9, [0, 1, 0] * 3, costs, rule="as given").decisions.tolist() == [1] * 9


# ---- where posteriors are right

def test_risks_of_the_population_in_a_case_control_file():
    """Half of the file is ill, one in twenty of the population; the model states the population's risks: they
    must not be moved once more."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 2000)
    x = rng.normal(1.5 * y)
    odds = np.exp(1.5 * x - 1.5**2 / 2)  # likelihood ratio
    at = {share: odds * share / (1 - share) / (1 + odds * share / (1 - share)) for share in (.05, .5, .2)}
    costs, priors = CostMatrix.binary(fp=1, fn=10), [.95, .05]
    right = (at[.05] >= 1 / 11).astype(int)
    for model in (Posteriors(at[.05], priors=.05), Posteriors(at[.5]), at[.5],
                  Posteriors(at[.2], priors=[.8, .2]), Posteriors(np.column_stack([at[.2], 1 - at[.2]]),
            classes=[1, 0], priors=[.2, .8]), Posteriors(at[.2], priors={1: .2, 0: .8})):
        policy = decide(model, y, costs, rule="bayes", priors=priors, rng=0)
        assert (policy.decisions == right).all()
        assert bool(policy.notes) == (getattr(model, "priors", None) is None)
        rule = fit_rule(y, model, costs, rule="bayes", priors=priors)
        assert (rule.decide(np.asarray(getattr(model, "values", model)) if np.ndim(getattr(model, "values",
                model)) == 1 else model.values[:, ::-1]) == right).all()
    moved_twice = decide(at[.05], y, costs, rule="bayes", priors=priors, rng=0)
    assert (moved_twice.decisions
            != right).mean() > .1 and "moved from the sample's shares" in moved_twice.notes[0]
    report = evaluate(y, {"m": Posteriors(at[.05], priors=.05)}, costs, rule="bayes", priors=priors,
                      rng=0)
    truth = .95 * np.mean(right[y == 0]) + .05 * 10 * np.mean(1 - right[y == 1])
    assert float(report.best["cost"][0]) == pytest.approx(truth) and truth < .6
    map_ = report.robustness(cost_ratios=[5, 10], prevalences=[.05, .5])
    assert map_.cost[0, 1, 0] == pytest.approx(truth)
    assert decide(Posteriors(at[.05], priors=.05), y, costs, rule="bayes",
                  rng=0).decisions.tolist() == (at[.5] >= 1 / 11).astype(int).tolist()
    for model, said in ((Posteriors(at[.05], priors="there"), "priors: expected numbers"),
                        (Posteriors(at[.05], priors=5), "must lie in"), (Posteriors(at[.05], priors=[.3, .3]),
            "sum to 0.6")):
        with pytest.raises(ValueError, match=said):
            decide(model, y, costs, rule="bayes")


def test_a_fitted_rule_reads_decisions_by_label_though_positions_look_alike():
    backwards = fit_rule(Y, Decisions(Y), CostMatrix.binary(fp=1, fn=5, classes=[1, 0]),
                         rule="as given")
    assert backwards.decide([0, 1]).tolist() == [0, 1] and backwards.columns([0, 1]).tolist() == [1, 0]
    with pytest.raises(ValueError, match="values: 2 in row 0"):
        backwards.decide([2, 1])


# ---- the draws of the folds are each model's own

DRAWS = np.random.default_rng(5)
FEW = (DRAWS.random(400) < .2).astype(int)
SEEN, LITTLE = DRAWS.normal(1.2 * FEW), DRAWS.normal(.3 * FEW)
RIVALS = {"b": 1 / (1 + np.exp(1.6 - LITTLE)), "c": Scores(DRAWS.normal(.5 * FEW))}


@pytest.mark.parametrize("rule", ["tuned", "calibrated"])
@pytest.mark.parametrize("how", [{}, {"priors": .05}, {"sample_weight": DRAWS.random(400) + .5},
                                   {"clusters": np.arange(400) // 2}, {"own": DRAWS.lognormal(1, 1, 400)}],
                         ids=["plain", "priors", "weights", "clusters", "own"])
def test_another_model_moves_no_headline(rule, how):
    "It moved .5545 to .5346: how often folds were drawn was decided by all models together."
    how = dict(how)
    own = how.pop("own", None)
    costs = [[0, 1], [20, 0]] if own is None else ExampleCosts(fp=5 * np.ones(400), fn=9 * own)
    for model in (1 / (1 + np.exp(2 - 1.2 * SEEN)), Scores(SEEN)):
        alone, beside = (evaluate(FEW, models, costs, rule=rule, rng=0, **how)
                         for models in ({"a": model}, {"a": model} | RIVALS))
        ours, theirs = (one.best.set_index("model").loc["a"] for one in (alone, beside))
        pd.testing.assert_series_equal(ours, theirs, rtol=1e-12)


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
    codes, mixed = report._mixtures(list(decided.values()), 2, [True, True, False])
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
    y, told = (np.arange(40) < 6) * 1, 0
    for seed in range(12):
        noise = np.random.default_rng(seed).normal(size=40)
        p = 1 / (1 + np.exp(2 - 4 * y - noise))
        mixed = p[y == 1].min() < p[y == 0].max()
        notes = " ".join(decide(Posteriors(p), y, COSTS, rng=0).notes)
        told += "separates the classes once one fold is left out, so" in notes
        assert not mixed or "separates the classes, so" not in notes
    assert told
