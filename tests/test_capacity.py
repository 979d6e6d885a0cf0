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
from cost_eval.samples import Decisions, Posteriors, Scores
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
    curve = capacity_curve(Y, P, costs, rule="bayes")
    expected, order = each_saving(P, costs), np.argsort(-each_saving(P, costs))
    nobody = losses(Y, np.zeros(N, int), costs)
    right = np.broadcast_to(costs.array, (N, 2, 2))[np.arange(N), Y].min(1)
    gain = nobody - losses(Y, np.ones(N, int), costs)
    for k in range(N + 1):
        called = np.zeros(N, int)
        called[order[:k]] = 1
        paid = losses(Y, called, costs)
        point = curve.at(k)
        assert point.saving.mean == pytest.approx((nobody - paid).mean(), abs=1e-12)
        assert (curve.saving[k] == pytest.approx(point.saving.mean, abs=1e-12)
                and curve.calls[k] == k == point.calls)
        assert point.expected == pytest.approx(expected[order[:k]].sum() / N)
        assert point.perfect == pytest.approx(np.sort(np.maximum(gain, 0))[::-1][:k].sum() / N)
        assert point.cost == pytest.approx((paid - right).mean())
        lot = max(0, k / N * gain.mean())
        assert point.normalized_cost == pytest.approx((paid - right).mean() / ((nobody - right).mean() - lot))
        np.testing.assert_array_equal(curve.called(k), called)
        if k < N:
            assert point.one_more == pytest.approx(expected[order[k]])
    assert curve.best.calls == (expected > 0).sum()


def test_no_list_is_better_on_average():
    "The best list of each length, of all subsets, by expected saving."
    few = np.arange(8)
    expected = each_saving(P[few], OWN[few])
    subsets = (np.arange(256)[:, None] >> np.arange(8)) & 1
    y = np.array([0, 1, 0, 1, 1, 0, 0, 1])
    curve = capacity_curve(y, P[few], OWN[few], rule="bayes")
    for k in range(9):
        best = (subsets @ expected)[subsets.sum(1) == k].max()
        assert curve.called(k) @ expected == pytest.approx(best)


def test_it_is_the_list_of_decide():
    for model in (P, Scores(P)):
        curve = capacity_curve(Y, model, OWN, rng=0)
        for k in (1, 10, int(curve.best.calls)):
            np.testing.assert_array_equal(decide(model, Y, OWN, capacity=k, rng=0).decisions, curve.called(k))


def test_ties_share_the_calls():
    grade = np.round(4 * P)
    curve = capacity_curve(Y, Scores(grade), SAME, rng=0)
    assert len(curve.calls) == len(np.unique(grade)) + 1
    called = curve.called(20)
    assert called.sum() == pytest.approx(20) and set(called[grade == 4]) == {1.0}
    cut = grade[(called > 0) & (called < 1)]
    assert len(set(cut)) == 1 and len(set(called[grade == cut[0]])) == 1
    gain = np.where(Y == 1, 4, -1)
    drawn = [decide(Scores(grade), Y, SAME, capacity=20, rule="tuned", folds=np.arange(N) % 2, rng=s)
             for s in range(3)]
    assert {d.decisions.sum() for d in drawn} <= set(range(21))
    assert curve.at(20).saving.mean == pytest.approx(called @ gain / N)


def test_weights_are_repetitions():
    grade = np.round(6 * P) / 6
    many = np.repeat(np.arange(N), W)
    one = capacity_curve(Y, grade, SAME, rule="bayes", sample_weight=W)
    other = capacity_curve(Y[many], grade[many], SAME, rule="bayes")
    np.testing.assert_allclose(one.saving, other.saving)
    for share in (.1, .33, .8):
        a, b = one.at(share), other.at(share)
        assert (a.saving.mean, a.expected, a.perfect, a.naive) == pytest.approx((b.saving.mean, b.expected,
                b.perfect, b.naive))
    zero = np.where(np.arange(N) < 5, 0, W)
    left, right = capacity_curve(Y, P, OWN, rule="bayes", sample_weight=zero), capacity_curve(Y[5:], P[5:],
            OWN[5:], rule="bayes", sample_weight=W[5:])
    np.testing.assert_allclose(left.saving, right.saving)
    assert not left.called(.999)[:5].any()


def test_at_other_priors():
    "Negatives ten times as often is the same as priors that say so."
    many = np.concatenate([np.flatnonzero(Y == 1), np.repeat(np.flatnonzero(Y == 0), 10)])
    there = capacity_curve(Y[many], Scores(P[many]), SAME, rule="calibrated", rng=0, points=2)
    share = float(Y[many].mean())
    here = capacity_curve(Y, Scores(P), SAME, priors=share, rng=0, points=2)
    for q in (.05, .2, .6):
        assert here.at(q).saving.mean == pytest.approx(there.at(q).saving.mean, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"priors": .1}, {"sample_weight": np.ones(N)},
                                     {"clusters": np.arange(N)}], ids=lambda o: "".join(o) or "plain")
@pytest.mark.parametrize("costs", [OWN, SAME], ids=["own", "same"])
def test_the_grid_is_what_each_number_gives_alone(costs, options):
    curve = capacity_curve(Y, P, costs, rule="bayes", points=4, **options)
    plain = capacity_curve(Y, P, costs, rule="bayes", points=4, **{k: v for k, v in options.items()
            if k == "priors"})
    for cut, alike in zip(curve.cuts, plain.cuts):
        alone = cut.share and curve.at(cut.share) if cut.share < 1 else curve.at(N)
        if cut.share:
            for other in (alone, alike):
                assert (cut.saving.low, cut.saving.mean, cut.saving.high) == pytest.approx((other.saving.low,
                        other.saving.mean, other.saving.high), abs=1e-7)
            assert cut.saving.low <= cut.saving.mean <= cut.saving.high
    nobody = curve.cuts[0]
    assert (nobody.calls, nobody.saving.low, nobody.saving.high) == (0, 0, 0)


def test_clusters_widen():
    one, other = (capacity_curve(Y, P, SAME, rule="bayes", clusters=c).at(30).saving
                  for c in (None, np.arange(N) // 3))
    assert one.mean == pytest.approx(other.mean) and other.high - other.low > 1.2 * (one.high - one.low)


def test_steps_and_differences():
    curve, other = (capacity_curve(Y, p, OWN, rule="bayes", points=2)
                    for p in (P, np.random.default_rng(1).permutation(P)))
    step = curve.step(10, 40)
    assert step.mean == pytest.approx(curve.at(40).saving.mean
                                      - curve.at(10).saving.mean) and step.low < step.mean < step.high
    gap = curve.difference(other, 30)
    assert gap.mean == pytest.approx(curve.at(30).saving.mean
                                     - other.at(30).saving.mean) and gap.low <= gap.mean <= gap.high
    back = other.difference(curve, 30)
    assert (back.low, back.high, back.p_value) == pytest.approx((-gap.high, -gap.low, gap.p_value))
    same = curve.difference(curve, 30)
    assert same.mean == 0 and same.p_value == 1
    at_priors = [capacity_curve(Y, p, OWN, rule="bayes", priors=.2, points=2)
                 for p in (P, np.random.default_rng(1).permutation(P))]
    found = at_priors[0].difference(at_priors[1], .3)
    assert found.mean == pytest.approx(at_priors[0].at(.3).saving.mean - at_priors[1].at(.3).saving.mean)
    with pytest.raises(ValueError, match="stop: 10 calls are not more than start = 40; exchange"):
        curve.step(40, 10)
    with pytest.raises(ValueError, match="other: a curve of other samples"):
        curve.difference(capacity_curve(Y[:50], P[:50], OWN[:50], rule="bayes"), 30)
    with pytest.raises(ValueError, match="other: another capacity_curve"):
        curve.difference(P, 30)


def test_precision_lift_and_the_tuned_threshold():
    call, hit = 1., 5.
    curve, order = capacity_curve(Y, P, CostMatrix.binary(fp=call, fn=hit, tp=call),
                                  rule="bayes"), np.argsort(-P)
    for k in (5, 20, 60):
        precision = Y[order[:k]].mean()
        assert curve.at(k).saving.mean == pytest.approx(k / N * (hit * precision - call))
        assert (call + curve.at(k).one_more) / hit == pytest.approx(P[order[k]])
    assert curve.best.calls == (P > call / hit).sum()


test_what_is_refused = refuses([
    (lambda: capacity_curve(Y, P > .5, SAME), "model: 'model': decisions have no order"),
    (lambda: capacity_curve(Y, Decisions(Y), SAME), "model: 'model': decisions"),
    (lambda: capacity_curve(Y, {"a": P, "b": P}, SAME), r"model: one at a time, got \['a', 'b'\]"),
    (lambda: capacity_curve(Y, Scores(P), SAME, rule="bayes"),
     "rule: 'bayes' needs posteriors"),
    (lambda: capacity_curve(Y, P, SAME.with_abstain(.1)), "capacity: limits the second of two decisions"),
    (lambda: capacity_curve(Y, P, SAME).at(N + 1),
     f"capacity: must be from 0 to {N}, got {N + 1}; a count of the {N} samples, or a share below 1"),
    *[(asked, "capacity: 1.0 may be one sample or all; give the whole number 1 for one") for asked in (
        lambda: capacity_curve(Y, P, SAME).at(1.), lambda: evaluate(Y, P, SAME,
        capacity=np.float64(1)), lambda: fit_rule(Y, P, SAME, capacity=1.))],
    (lambda: capacity_curve(Y, P, SAME).at(-1), r"capacity: must lie in \[0, inf\), got -1; a count of"),
    (lambda: capacity_curve(Y, P, SAME).at(2.5), "capacity: must be a whole number, got 2.5"),
    (lambda: capacity_curve(Y, P, SAME).called("all"), "capacity: expected numbers"),
    (lambda: capacity_curve([0, 0, 0, 1], Scores([1, 2, 3, 4]), SAME), "y_true: Class 1 has 1 samples"),
])


def test_a_million_rows():
    rng, n = np.random.default_rng(0), 1_000_000
    y = (rng.random(n) < .1).astype(int)
    p = 1 / (1 + np.exp(-(1.5 * rng.normal(1.5 * y) - 3.3)))
    curve = capacity_curve(y, Posteriors(p), CostMatrix.binary(fp=1, fn=10), rng=0)
    order = np.argsort(-p)
    for k in (1000, 123_456):
        assert curve.at(k).saving.mean == pytest.approx((10 * y[order[:k]].sum()
                - (y[order[:k]] == 0).sum()) / n)


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
    """Every call saves at least the least gain and at most the largest, seen or not; 50 of 10,000 ended 20
    times below that at priors of 1 %."""
    curve = capacity_curve(Y, 10 * P, CostMatrix.binary(fp=1, fn=20), rule="calibrated", rng=0, **options)
    for share in (.005, .02, .1, .5):
        saving = curve.at(share).saving
        assert -share - 1e-12 <= saving.low <= saving.mean <= saving.high <= 20 * share + 1e-12
    more = curve.step(.01, .03)
    assert -.02 - 1e-12 <= more.low <= more.mean <= more.high <= 20 * .02 + 1e-12


@pytest.mark.slow
def test_equal_ratios_of_clusters_raise_no_warning(recwarn):
    "The called of one class each gain the same, up to rounding."
    rng = np.random.default_rng(0)
    y = (rng.random(400) < .2).astype(int)
    p = np.clip(.2 + .3 * y + .15 * rng.normal(size=400), .01, .99)
    found = capacity_curve(y, p, CostMatrix.binary(fp=1, fn=10), priors=.1, clusters=np.arange(400) // 5,
                           sample_weight=np.linspace(0, 2, 400), rng=0)
    table = found.to_frame()
    assert not len(recwarn) and (table["low"] <= table["saving"]).all() and (table["saving"] <= table["high"]).all()
