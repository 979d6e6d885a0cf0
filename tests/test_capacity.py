"""Whom to call if only so many can be called: against brute force, weights against repetition, ties,
intervals, what is refused."""

import numpy as np
import pytest

from conftest import refuses
from cost_eval import capacity as cap
from cost_eval.capacity import capacity_curve
from cost_eval.costs import CostMatrix, ExampleCosts, losses
from cost_eval.policies import fit_rule
from cost_eval.report import evaluate
from cost_eval.samples import Posteriors, Scores
from problems import decide

rng = np.random.default_rng(0)
N = 90
Y = (rng.random(N) < .3).astype(int)
P = 1 / (1 + np.exp(-(1.5 * rng.normal(Y) - 1.5)))
OWN = ExampleCosts(fp=rng.uniform(1, 2, N), fn=rng.lognormal(2, 1, N), tp=.5)
SAME = CostMatrix.binary(fp=1, fn=5, tp=1)
W = rng.integers(1, 4, N)


def each_saving(p, costs):
    array = np.broadcast_to(costs.array, (len(p), 2, 2))
    gain = array[:, :, 0] - array[:, :, 1]
    return (1 - p) * gain[:, 0] + p * gain[:, 1]


@pytest.mark.parametrize("costs", [OWN, SAME], ids=["own", "same"])
def test_every_number_of_calls_against_brute_force(costs):
    curve = capacity_curve(Y, P, costs, rule="bayes", points=2)
    expected = each_saving(P, costs)
    order = np.argsort(-expected)
    nobody = losses(Y, np.zeros(N, int), costs)
    right = np.broadcast_to(costs.array, (N, 2, 2))[np.arange(N), Y].min(1)
    gain = nobody - losses(Y, np.ones(N, int), costs)
    for k in range(N + 1):
        called = np.zeros(N, int)
        called[order[:k]] = 1
        paid = losses(Y, called, costs)
        np.testing.assert_array_equal(curve.called(k), called)
        assert curve.calls[k] == k and curve.saving[k] == pytest.approx((nobody - paid).mean(), abs=1e-12)
        if k % 9 == 0:
            point = curve.at(k)
            assert point.calls == k and point.saving.mean == pytest.approx(curve.saving[k], abs=1e-12)
            assert point.expected == pytest.approx(expected[order[:k]].sum() / N)
            assert point.perfect == pytest.approx(np.sort(np.maximum(gain, 0))[::-1][:k].sum() / N)
            assert point.cost == pytest.approx((paid - right).mean())
            lot = max(0, k / N * gain.mean())
            most = (nobody - right).mean() - lot
            assert point.normalized_cost == pytest.approx((paid - right).mean() / most)
            assert k == N or point.one_more == pytest.approx(expected[order[k]])
    assert curve.best.calls == (expected > 0).sum()


@pytest.mark.parametrize("model", [P, Scores(P)], ids=["posteriors", "scores"])
def test_it_is_the_list_of_decide(model):
    curve = capacity_curve(Y, model, OWN, points=2, rng=0)
    for k in (1, 10, int(curve.best.calls)):
        np.testing.assert_array_equal(decide(model, Y, OWN, capacity=k, rng=0).decisions, curve.called(k))
    for k, rival in ((9, "1 by lot"), (N, "always 1")):
        nobody, other = evaluate(Y, model, OWN, capacity=k, draws=1, baseline=rival).ladder[:2].itertuples()
        assert other.model == rival and nobody.cost - other.cost == pytest.approx(k / N * curve.saving[-1])


def test_ties_share_the_calls():
    grade = np.round(4 * P)
    curve = capacity_curve(Y, Scores(grade), SAME, points=2, rng=0)
    assert len(curve.calls) == len(np.unique(grade)) + 1
    called = curve.called(20)
    assert called.sum() == pytest.approx(20) and set(called[grade == 4]) == {1.0}
    cut = grade[(called > 0) & (called < 1)]
    assert len(set(cut)) == 1 and len(set(called[grade == cut[0]])) == 1
    assert curve.at(20).saving.mean == pytest.approx(called @ np.where(Y == 1, 4, -1) / N)


def test_at_other_priors():
    "Negatives ten times as often is the same as priors that say so."
    many = np.concatenate([np.flatnonzero(Y == 1), np.repeat(np.flatnonzero(Y == 0), 10)])
    there = capacity_curve(Y[many], Scores(P[many]), SAME, rule="calibrated", rng=0, points=2)
    share = float(Y[many].mean())
    here = capacity_curve(Y, Scores(P), SAME, priors=share, rng=0, points=2)
    for q in (1e-4, .05, .2, .6):
        np.testing.assert_allclose(*((c.at(q).saving.mean, c.at(q).perfect) for c in (here, there)), 1e-9)


@pytest.mark.parametrize("options", [{}, {"priors": .1}, {"sample_weight": np.ones(N)},
                                     {"clusters": np.arange(N)}], ids=lambda o: "".join(o) or "plain")
@pytest.mark.parametrize("costs", [OWN, SAME], ids=["own", "same"])
def test_the_grid_is_what_each_number_gives_alone(costs, options):
    "And what weights or clusters that say nothing give."
    curve = capacity_curve(Y, P, costs, rule="bayes", points=3, **options)
    priors = {name: value for name, value in options.items() if name == "priors"}
    plain = capacity_curve(Y, P, costs, rule="bayes", points=3, **priors)
    for cut, alike in zip(curve.cuts[1:], plain.cuts[1:]):
        alone = curve.at(cut.share if cut.share < 1 else N)
        for other in (alone.saving, alike.saving):
            ends = [cut.saving.low, cut.saving.mean, cut.saving.high]
            assert ends == pytest.approx([other.low, other.mean, other.high], abs=1e-7)
    nobody = curve.cuts[0]
    assert (nobody.calls, nobody.saving.low, nobody.saving.high) == (0, 0, 0)


@pytest.mark.parametrize("priors", [None, .2])
def test_steps_and_differences(priors):
    shuffled = np.random.default_rng(1).permutation(P)
    curve, other = (capacity_curve(Y, p, OWN, rule="bayes", priors=priors, points=2) for p in (P, shuffled))
    step, gap, back = curve.step(10, 40), curve.difference(other, 30), other.difference(curve, 30)
    assert step.mean == pytest.approx(curve.at(40).saving.mean - curve.at(10).saving.mean)
    assert gap.mean == pytest.approx(curve.at(30).saving.mean - other.at(30).saving.mean)
    assert step.low < step.mean < step.high and gap.low <= gap.mean <= gap.high
    assert (back.low, back.high, back.p_value) == pytest.approx((-gap.high, -gap.low, gap.p_value))
    same = curve.difference(curve, 30)
    assert same.mean == 0 and same.p_value == 1


CURVE = capacity_curve(Y, P, OWN, rule="bayes", points=1)
test_what_is_refused = refuses([
    (lambda: capacity_curve(Y, P > .5, SAME), "model: 'model': decisions have no order"),
    (lambda: capacity_curve(Y, {"a": P, "b": P}, SAME), r"model: one at a time, got \['a', 'b'\]"),
    (lambda: capacity_curve(Y, Scores(P), SAME, rule="bayes"), "rule: 'bayes' needs posteriors"),
    (lambda: capacity_curve(Y, P, SAME.with_abstain(.1)), "capacity: limits the second of two decisions"),
    (lambda: capacity_curve([0, 0, 0, 1], Scores([1, 2, 3, 4]), SAME), "y_true: Class 1 has 1 samples"),
    *[(lambda k=k: CURVE.at(k), f"capacity: {words}") for k, words in (
        (N + 1, f"must be from 0 to {N}, got {N + 1}"), (-1, r"must lie in \[0, inf\)"),
        (1., "1.0 may be one sample or all; give the whole number 1"), (2.5, "must be a whole number"))],
    *[(call, "capacity: 1.0 may be one sample or all") for call in (
        lambda: evaluate(Y, P, SAME, capacity=1.), lambda: fit_rule(Y, P, SAME, capacity=1.))],
    (lambda: CURVE.step(40, 40), "stop: 40 calls are not more than start = 40; exchange"),
    (lambda: CURVE.difference(capacity_curve(Y[:50], P[:50], OWN[:50], rule="bayes", points=1), 30),
     "other: a curve of other samples"),
    (lambda: CURVE.difference(P, 30), "other: another capacity_curve"),
])


def covered(n, share, repeats, seed=0):
    "Coverage of the true saving of the share, two normal scores."
    at, saved, _ = cap._population(.2, 1.2, 10, 200)
    truth, hits = np.interp(share, at, saved), 0
    for k in range(repeats):
        rng = np.random.default_rng([seed, k])
        y = (rng.random(n) < .2).astype(int)
        odds = 1.2 * rng.normal(1.2 * y) - .72 + np.log(.25)
        found = capacity_curve(y, Posteriors(1 / (1 + np.exp(-odds))), dict(fp=10, fn=200, tp=10),
                               rule="bayes", points=1).at(share).saving
        hits += found.low <= truth <= found.high
    return hits / repeats


def test_coverage_small():
    assert covered(300, .1, 100) >= .9


@pytest.mark.slow
@pytest.mark.parametrize("share", [.05, .2, .5])
def test_coverage(share):
    assert .925 < covered(600, share, 500) <= 1


@pytest.mark.parametrize("options", [{}, {"priors": .01}, {"sample_weight": W},
                                     {"clusters": np.arange(N) // 2}], ids=str)
def test_no_end_lies_beyond_what_so_many_calls_can_save(options):
    "Every call saves at least the least gain and at most the largest, seen or not."
    costs = CostMatrix.binary(fp=1, fn=20)
    curve = capacity_curve(Y, 10 * P, costs, rule="calibrated", points=2, rng=0, **options)
    for share in (.005, .02, .1, .5):
        saving = curve.at(share).saving
        assert -share - 1e-12 <= saving.low <= saving.mean <= saving.high <= 20 * share + 1e-12
    more = curve.step(.01, .03)
    assert -.02 - 1e-12 <= more.low <= more.mean <= more.high <= 20 * .02 + 1e-12
