"""cost_eval.decisions: enumeration, independent optimisers and properties."""
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from conftest import refuses
from cost_eval import core, decisions as d
from cost_eval.confusion import BinaryCounts, threshold_counts
from cost_eval.costs import CostMatrix, ExampleCosts
import pickle

numbers = st.integers(0, 20)


@st.composite
def posteriors_and_costs(draw, max_classes=4, max_decisions=5):
    k, m, n = draw(st.integers(2, max_classes)), draw(st.integers(2, max_decisions)), draw(st.integers(1, 8))
    weights = draw(hnp.arrays(float, (n, k), elements=st.integers(1, 50)))
    costs = draw(hnp.arrays(float, (k, m), elements=numbers).filter(lambda c: (c.min(1) < c.max(1)).all()))
    return weights / weights.sum(1, keepdims=True), costs


@st.composite
def scored(draw, max_size=14, weighted=False):
    n = draw(st.integers(2, max_size))
    y = draw(hnp.arrays(int, n, elements=st.integers(0, 1)).filter(lambda v: 0 < v.sum() < len(v)))
    scores = draw(hnp.arrays(float, n, elements=st.integers(-3, 3)))
    return y, scores


binary_costs = hnp.arrays(float, (2, 2), elements=numbers).filter(lambda c: (c[0, 1] > c[0, 0]
        and c[1, 0] > c[1, 1]))


# --- Bayes decisions

@given(posteriors_and_costs())
def test_bayes_decisions_minimise_the_expected_posterior_cost(case):
    p, c = case
    decided = d.bayes_decisions(p, c)
    by_hand = np.array([[sum(p[n, i] * c[i, j] for i in range(len(c))) for j in range(c.shape[1])]
                        for n in range(len(p))])
    np.testing.assert_allclose(by_hand[np.arange(len(p)), decided], by_hand.min(1), rtol=1e-12, atol=1e-12)


@given(posteriors_and_costs(), st.data())
def test_prior_shift_in_decisions_equals_shifted_posteriors(case, data):
    p, c = case
    train, target = (np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(c), max_size=len(c))), float)
                     for _ in range(2))
    train, target = train / train.sum(), target / target.sum()
    shifted = d.shift_priors(p, train, target)
    np.testing.assert_allclose(shifted.sum(1), 1)
    np.testing.assert_allclose(d.shift_priors(shifted, target, train), p, rtol=1e-9)
    risk = shifted @ c
    decided = d.bayes_decisions(p, c, priors=target, train_priors=train)
    np.testing.assert_allclose(risk[np.arange(len(p)), decided], risk.min(1), rtol=1e-9, atol=1e-9)


# ---- ties: at or above the threshold, whatever the last digit (B7)

PERCENT = np.arange(1, 100) / 100


@pytest.mark.parametrize("given", [lambda p: np.column_stack([1 - p, p]), lambda p: np.column_stack([1 - p,
        1 - (1 - p)]),
                                   lambda p: np.column_stack([1 - p.astype(np.float32),
        p.astype(np.float32)])], ids=["p", "1 - (1 - p)", "float32"])
def test_every_whole_percent_is_decided_at_and_above_its_threshold(given):
    for k in range(1, 100):
        for costs in ([[0, k], [100 - k, 0]], d.implied_costs(k / 100), [[-7, k - 7], [100 - k + 3, 3]]):
            np.testing.assert_array_equal(d.bayes_decisions(given(PERCENT), costs), np.arange(1, 100) >= k)
            assert d.naive_decision(costs, given(PERCENT[[k - 1]])[0]) == 1
        assert d.bayes_threshold([[0, k], [100 - k, 0]]) == k / 100


def test_ratios_to_a_thousandth_are_ties_and_what_is_below_is_not():
    k, n = (a.ravel() for a in np.meshgrid(np.arange(1, 1000), np.arange(2, 1001)))
    k, n = k[k < n], n[k < n]
    costs, p = ExampleCosts(fp=k, fn=n - k), k / n
    p = [p, 1 - (1 - p)]
    for p1 in p:
        rows = np.column_stack([1 - p1, p1])
        for values, more in ((rows, {}), (rows.astype(np.float32), {}), (np.log(rows), {"log": True})):
            assert d.bayes_decisions(values, costs, **more).all()
    for below in (p[0] * (1 - 1e-12), p[0] * (1 - 1e-5)):
        assert not d.bayes_decisions(np.column_stack([1 - below, below]), costs).any()
    below = (p[0] - 1e-6).astype(np.float32)
    assert not d.bayes_decisions(np.column_stack([1 - below, below]), costs).any()


@given(posteriors_and_costs(), st.integers(0, 3))
def test_ties_of_many_decisions_are_those_of_exact_arithmetic(case, form):
    p, c = case
    exact = [[sum(Fraction(x).limit_denominator(200) * int(v) for x, v in zip(row, column)) for column in c.T]
             for row in p]
    want = [max(j for j, cost in enumerate(costs) if cost == min(costs)) for costs in exact]
    if form == 1:
        p = p.astype(np.float32)
    elif form == 2:
        p = np.column_stack([1 - p[:, 1:].sum(1), p[:, 1:]])
    assert d.bayes_decisions(np.log(p) if form == 3 else p, c, log=form == 3).tolist() == want
    assert d.bayes_decisions(p, ExampleCosts.from_array(np.stack([c] * len(p)))).tolist() == want


def test_a_group_that_may_go_either_way_is_positive_for_bayes_and_negative_for_the_best_threshold():
    equal = CostMatrix.zero_one(2)
    assert d.bayes_decisions([[.5, .5]], equal).tolist() == [1] and d.best_threshold([0, 1], [.5, .5],
            equal).counts.tp == 0


def test_a_tie_is_no_excuse_for_a_worse_decision():
    """What is as small as the rounding of the large costs beside it is still told apart, and so are tiny
    posteriors."""
    assert d.bayes_decisions([[1, 1e-18], [1, 0], [1, 2e-17]], [[0, 1], [1e17, 0]]).tolist() == [0, 0, 1]
    assert d.bayes_decisions([[.49, .51, 0], [.51, .49, 0]],
                             [[0, 1, 1e15], [1, 0, 1e15], [0, 0, 0]]).tolist() == [1, 0]
    assert d.bayes_decisions([[.3, .2, .5]], [[0, 1, 9], [1, 0, 9], [1e12, 1e12, 0]]).tolist() == [2]
    assert d.bayes_decisions([[.3, .2, .5]], [[0, 1, 1e13], [1, 0, 1e13], [1e12, 1e12, 0]]).tolist() == [0]


def test_blocks_and_logs_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    p, c = rng.dirichlet(np.ones(5), size=1000), rng.random((5, 3))
    whole = d.bayes_decisions(p, c)
    np.testing.assert_array_equal(d.bayes_decisions(np.log(p), c, log=True), whole)
    calibrated = d.AffineCalibrator().fit(np.log(p), rng.integers(5, size=1000))
    rng = np.random.default_rng(0); rng.dirichlet(np.ones(5), size=1000); rng.random((5, 3))
    monkeypatch.setattr(core, "BLOCK_BYTES", 7 * 400)
    np.testing.assert_array_equal(d.bayes_decisions(p, c), whole)
    in_blocks = d.AffineCalibrator().fit(np.log(p), rng.integers(5, size=1000))
    np.testing.assert_allclose([in_blocks.alpha_, *in_blocks.beta_], [calibrated.alpha_, *calibrated.beta_],
                               rtol=1e-8, atol=1e-9)


def test_no_samples_no_decisions():
    assert d.bayes_decisions(np.empty((0, 3)), CostMatrix.zero_one(3)).shape == (0,)


@given(posteriors_and_costs())
def test_naive_decision_is_the_bayes_decision_of_the_priors(case):
    p, c = case
    for priors in p: assert d.naive_decision(c, priors) == d.bayes_decisions(priors[None], c)[0]


# --- thresholds

@given(binary_costs, st.floats(.001, .999))
def test_bayes_threshold_separates_the_bayes_decisions(costs, p):
    t = d.bayes_threshold(costs)
    if abs(p - t) > 1e-9: assert d.bayes_decisions([[1 - p, p]], costs)[0] == (p > t)
    log_odds = d.bayes_threshold(costs, log_odds=True)
    assert log_odds == pytest.approx(np.log(t) - np.log1p(-t), abs=1e-9)


def test_bayes_threshold_of_dominated_decisions_and_many_matrices():
    many = np.array([[[0, 1], [4, 0]], [[1, 0], [5, 0]], [[0, 5], [0, 1]], [[0, 0], [1, 0]],
                     [[0, 1], [0, 0]]], float)
    np.testing.assert_array_equal(d.bayes_threshold(many), [.2, -np.inf, np.inf, 0, 1])
    np.testing.assert_array_equal(d.bayes_threshold(many, log_odds=True), [np.log(1) - np.log(4), -np.inf,
            np.inf, -np.inf, np.inf])


@given(st.floats(1e-6, 1 - 1e-6))
def test_implied_costs_invert_bayes_threshold(t):
    assert d.bayes_threshold(d.implied_costs(t)) == pytest.approx(t, rel=1e-12)


@given(scored(), hnp.arrays(float, (2, 3, 2, 2), elements=numbers), st.sampled_from([None, (.3, .7)]))
def test_many_cost_matrices_equal_one_by_one(case, costs, priors):
    costs[..., 0, 1] += costs[..., 0, 0] + 1
    costs[..., 1, 0] += costs[..., 1, 1] + 1
    many = d.best_threshold(*case, costs, priors=priors)
    assert many.threshold.shape == many.cost.shape == many.counts.tp.shape == (2, 3)
    for index in np.ndindex(2, 3):
        one = d.best_threshold(*case, costs[index], priors=priors)
        assert (many.threshold[index], many.low[index], many.high[index]) == (one.threshold, one.low,
                one.high)
        assert many.cost[index] == pytest.approx(one.cost, rel=1e-12)


def test_hull_of_one_threshold_and_of_what_is_no_curve():
    assert d.hull_vertices([[5, 1], [2, 3]]).tolist() == d.hull_vertices([[[5, 1], [2, 3]]]).tolist() == [0]
    with pytest.raises(ValueError, match=r"^counts: .*got shape \(2, 3\)"):
        d.hull_vertices(np.ones((2, 3, 2, 2)))


@given(scored(max_size=40))
def test_hull_is_concave_above_all_points_and_isotonic(case):
    y, scores = case
    counts = threshold_counts(y, scores).counts
    vertices = d.hull_vertices(counts)
    tp, fp = counts.tp[vertices], counts.fp[vertices]
    up, right = np.diff(tp), np.diff(fp)
    assert vertices[0] == 0 and (tp[-1], fp[-1]) == (y.sum(), (1 - y).sum())
    assert (up[:-1] * right[1:] > up[1:] * right[:-1]).all()
    for a, b, u, r in zip(tp, fp, up, right): assert (u * (counts.fp - b) - r * (counts.tp - a) >= 0).all()
    pooled = IsotonicRegression().fit_transform(scores, y)
    # 1-based segment of each sample
    group = np.searchsorted(-threshold_counts(y, scores).thresholds[vertices], -scores)
    np.testing.assert_allclose((up / (up + right))[group - 1], pooled, atol=1e-12)


def test_large_hull_is_exact():
    rng = np.random.default_rng(5)
    y = rng.random(200_000) < .1
    counts = threshold_counts(y, np.round(rng.normal(y), 4)).counts
    ratios = np.geomspace(1e-3, 1e3, 200)
    tp, fp = counts.tp[d.hull_vertices(counts)], counts.fp[d.hull_vertices(counts)]
    for r in ratios: assert (r * tp - fp).max() == (r * counts.tp - counts.fp).max()


def test_one_class_is_fine_without_priors():
    best = d.best_threshold([1, 1], [.2, .4], CostMatrix.binary(fp=1, fn=1))
    assert (best.cost, best.high, best.low, best.threshold) == (0, .2, -np.inf, .2)
    best = d.best_threshold([0, 0], [.2, .4], CostMatrix.binary(fp=1, fn=1))
    assert (best.cost, best.high, best.low, best.threshold) == (0, np.inf, .4, np.inf)


def test_dominated_decisions_choose_everybody_or_nobody():
    y, scores = [0, 1, 0], [.1, .2, .3]
    assert d.best_threshold(y, scores, [[1, 0], [5, 0]]).high == .1
    assert d.best_threshold(y, scores, [[0, 5], [0, 1]]).high == np.inf


# --- calibration

@pytest.fixture(scope="module")
def overconfident():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(600, 4)) * 2
    y = (logits * .5 + [0, .5, -1, 0] + rng.gumbel(size=logits.shape)).argmax(1)
    return log_softmax(logits, axis=1), y


def test_binary_calibration_is_platt_without_penalty(overconfident):
    x = log_softmax(overconfident[0][:, :2], axis=1)
    y = (overconfident[1] % 2).astype(int)
    weight = np.random.default_rng(0).integers(1, 4, size=len(y))
    for w in (None, weight):
        fitted = d.AffineCalibrator().fit(x, y, sample_weight=w)
        platt = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000).fit(np.diff(x), y, sample_weight=w)
        np.testing.assert_allclose([fitted.alpha_, np.diff(fitted.beta_)[0]],
                                   [platt.coef_[0, 0], platt.intercept_[0]], rtol=1e-4, atol=1e-5)
        assert fitted.beta_.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("share", [None, (.1, .2, .3, .4)])
def test_calibration_equals_an_independent_optimiser(overconfident, share):
    x, y = overconfident
    share = np.bincount(y) / len(y) if share is None else np.array(share)
    weight = (share / np.bincount(y))[y]
    fitted = d.AffineCalibrator().fit(x, y, sample_weight=weight)

    def loss(theta):
        z = theta[0] * x + np.append(0, theta[1:])  # another gauge: the first offset is 0
        return weight @ (logsumexp(z, axis=1) - z[np.arange(len(y)), y])

    other = minimize(loss, [1, 0, 0, 0], method="BFGS", options={"gtol": 1e-8})
    beta = np.append(0, other.x[1:])
    np.testing.assert_allclose([fitted.alpha_, *fitted.beta_], [other.x[0], *(beta - beta.mean())], atol=1e-5)
    out = fitted.transform(x)
    # first-order condition: calibrated in the large
    np.testing.assert_allclose(weight @ out, share, atol=1e-9)
    np.testing.assert_allclose(np.exp(fitted.transform(x, log=True)), out)


def test_calibrating_twice_changes_nothing_and_logits_will_do(overconfident):
    x, y = overconfident
    first = d.AffineCalibrator().fit(x, y)
    again = d.AffineCalibrator().fit(first.transform(x, log=True), y)
    np.testing.assert_allclose([again.alpha_, *again.beta_], [1, 0, 0, 0, 0], atol=1e-8)
    logits = x + np.arange(len(x))[:, None] % 7
    np.testing.assert_allclose(d.AffineCalibrator().fit(logits, y).transform(logits), first.transform(x),
                               atol=1e-9)


def test_uninformative_scores_give_the_priors():
    y = np.array([0, 0, 0, 1])
    out = d.AffineCalibrator().fit(np.log(np.full((4, 2), .5)), y).transform(np.log(np.full((1, 2), .5)))
    np.testing.assert_allclose(out, [[.75, .25]], atol=1e-9)


def test_separable_classes_warn_and_stay_finite():
    with pytest.warns(RuntimeWarning, match="separate the classes") as found:
        fitted = d.AffineCalibrator().fit(np.log([[.9, .1], [.6, .4], [.3, .7]]), [0, 0, 1])
    assert np.isfinite([fitted.alpha_, *fitted.beta_]).all() and found[0].filename == __file__


def test_inseparable_classes_do_not_warn(overconfident):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d.AffineCalibrator().fit(*overconfident)


@given(hnp.arrays(int, st.integers(6, 60), elements=st.integers(0, 3)), st.integers(2, 6), st.integers(0, 9))
def test_folds_are_stratified_and_repeatable(y, folds, seed):
    fold = d.stratified_folds(y, folds, rng=seed)
    np.testing.assert_array_equal(fold, d.stratified_folds(y, folds, rng=seed))
    assert np.ptp(np.bincount(fold, minlength=folds)) <= 1
    for c in np.unique(y): assert np.ptp(np.bincount(fold[y == c], minlength=folds)) <= 1


def test_cross_calibration_never_sees_the_sample(overconfident):
    x, y = overconfident
    fold = d.stratified_folds(y, 5, rng=0)
    out = d.cross_calibrate(y, np.exp(x), folds=fold)
    np.testing.assert_allclose(out, d.cross_calibrate(y, np.exp(x), folds=5, rng=0))
    np.testing.assert_allclose(np.log(out), d.cross_calibrate(y, x, folds=fold, log=True), rtol=1e-9,
                               atol=1e-12)
    other = y.copy()
    other[fold == 3] = (other[fold == 3] + 1) % 4
    np.testing.assert_allclose(d.cross_calibrate(other, np.exp(x), folds=fold)[fold == 3], out[fold == 3])
    assert d.cross_entropy(y, out) < d.cross_entropy(y, np.exp(x))


def test_cross_entropy_agrees_with_sklearn_and_log_form(overconfident):
    x, y = overconfident
    assert d.cross_entropy(y, np.exp(x)) == pytest.approx(log_loss(y, np.exp(x)))
    assert d.cross_entropy(y, x, log=True) == pytest.approx(log_loss(y, np.exp(x)))
    assert d.cross_entropy([1], [[1., 0.]]) == np.inf


@given(hnp.arrays(float, st.integers(1, 50), elements=st.sampled_from([0, .1, .25, .5, .9, 1])),
       st.integers(1, 10))
def test_reliability_groups_keep_all_samples_and_ties_together(p, bins):
    y = (np.arange(len(p)) % 2).astype(int)
    r = d.reliability(y, p, bins=bins)
    assert r.size.sum() == len(p) and (r.size > 0).all() and len(r.size) <= bins
    assert r.size @ r.predicted == pytest.approx(p.sum()) and r.size @ r.observed == pytest.approx(y.sum())
    assert (np.diff(r.predicted) > 0).all()


ORDER = ["home", "ward", "icu"]


triage = CostMatrix([[0, 1, 3], [10, 0, 1], [50, 10, 0]], classes=ORDER)


def test_columns_are_named_numbered_or_refused():
    pd = pytest.importorskip("pandas")
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=500)
    frame, right = pd.DataFrame(p, columns=ORDER), d.bayes_decisions(p, triage)
    # arrays go by position
    assert (d.bayes_decisions(frame[["icu", "home", "ward"]].to_numpy(), triage) != right).mean() > .3
    with pytest.raises(ValueError, match="posteriors: columns .*'street'.* are .*'icu'"):
        d.bayes_decisions(frame.rename(columns={"icu": "street"}), triage)
    with pytest.raises(ValueError, match="posteriors: columns"):
        d.bayes_decisions(frame, CostMatrix(triage.array))  # classes 0, 1, 2
    np.testing.assert_array_equal(d.bayes_decisions(pd.DataFrame(p), triage), right)  # numbered, not named
    # costs without labels: by position
    np.testing.assert_array_equal(d.bayes_decisions(frame, triage.array), right)


def test_labels_of_decisions():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    assert d.bayes_decisions(p, triage, labels=True).tolist() == [ORDER[j]
            for j in d.bayes_decisions(p, triage)]
    mixed = CostMatrix.zero_one(2).with_abstain(.1)
    assert d.bayes_decisions([[.5, .5], [.99, .01]], mixed, labels=True).tolist() == ["abstain", 0]
    assert d.bayes_decisions(p, triage.array, labels=True).tolist() == d.bayes_decisions(p, triage).tolist()


# --- labels travel

# --- costs of single samples

@given(scored(), st.booleans(), st.sampled_from([None, (.3, .7), (.9, .1), (0, 1), (1, 0)]), st.data())
@settings(max_examples=90)
def test_best_threshold_of_one_matrix_or_single_costs_equals_enumeration(case, single, priors, data):
    y, scores = case
    own = data.draw(hnp.arrays(float, (len(y), 2, 2), elements=numbers) if single else binary_costs)
    costs = np.broadcast_to(own, (len(y), 2, 2))
    weight = data.draw(st.one_of(st.none(), hnp.arrays(int, len(y), elements=st.integers(0,
            3)).filter(lambda w: w[y == 0].sum() and w[y == 1].sum())))
    w = np.ones(len(y)) if weight is None else weight
    size = np.array([w[y == i].sum() for i in (0, 1)])
    each = w * (np.ones(2) / size.sum() if priors is None else np.array(priors) / size)[y]
    at = [np.inf, *sorted(set(scores[w > 0].tolist()), reverse=True)]
    table = [sum(each * costs[np.arange(len(y)), y, (scores >= t).astype(int)]) for t in at]
    own = ExampleCosts.from_array(costs) if single else own
    best = d.best_threshold(y, scores, own, priors=priors, sample_weight=weight)
    assert best.cost == pytest.approx(min(table), rel=1e-12, abs=1e-12)
    assert best.high == at[next(i for i, cost in enumerate(table) if cost <= min(table) + 1e-9)]
    assert best.low == max([s for s in scores[w > 0] if s < best.high],
                           default=-np.inf) and best.low < best.threshold <= best.high
    for t in (best.threshold, best.high, np.nextafter(best.low, np.inf)):
        assert best.counts == BinaryCounts.from_labels(y, scores >= t, sample_weight=weight)


@given(posteriors_and_costs(), st.data())
@settings(max_examples=40)
def test_bayes_decisions_of_single_costs(case, data):
    p, _ = case
    own = data.draw(hnp.arrays(float, (*p.shape, 3), elements=numbers))
    table = ExampleCosts.from_array(own)
    decided = d.bayes_decisions(p, table)
    by_hand = np.array([row @ c for row, c in zip(p, own)])
    np.testing.assert_allclose(by_hand[np.arange(len(p)), decided], by_hand.min(1), rtol=1e-12, atol=1e-12)
    priors = np.arange(1, p.shape[1] + 1) / np.arange(1, p.shape[1] + 1).sum()
    shifted = np.array([row @ c for row, c in zip(d.shift_priors(p, priors[::-1], priors), own)])
    decided = d.bayes_decisions(p, table, priors=priors, train_priors=priors[::-1])
    np.testing.assert_allclose(shifted[np.arange(len(p)), decided], shifted.min(1), rtol=1e-9, atol=1e-12)


def test_single_costs_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    p, own = rng.dirichlet(np.ones(4), size=300), ExampleCosts.from_array(rng.random((300, 4, 5)))
    whole = d.bayes_decisions(p, own)
    monkeypatch.setattr(core, "BLOCK_BYTES", 10_000)
    np.testing.assert_array_equal(d.bayes_decisions(p, own), whole)
    broken = p.copy()
    broken[287] *= 1.1
    with pytest.raises(ValueError, match="row 287 sums to 1.1"):
        d.bayes_decisions(broken, own)


# --- thresholds that do what they say

@given(st.data(), st.sampled_from(["float64", "float32", "float16", "int64", "int8", "uint8"]), binary_costs,
       st.booleans())
@settings(max_examples=60)
def test_the_threshold_decides_as_stated_in_the_type_of_the_scores(data, kind, costs, single):
    n = data.draw(st.integers(2, 12))
    y = data.draw(hnp.arrays(int, n, elements=st.integers(0, 1)).filter(lambda v: 0 < v.sum() < n))
    if kind.startswith("float"):
        start = np.dtype(kind).type(data.draw(st.sampled_from([0, .1, 1, 1000, -1e-5])))
        steps = [start]
        # dense: neighbours
        for _ in range(6): steps.append(np.nextafter(steps[-1], np.dtype(kind).type(np.inf)))
        steps += [np.dtype(kind).type(v) for v in (np.inf, -np.inf)]
        scores = np.array([steps[i] for i in data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))])
    else:
        scores = data.draw(hnp.arrays(kind, n, elements=st.integers(0, 100)))
    c = ExampleCosts.from_array(np.broadcast_to(costs, (n, 2, 2))) if single else costs
    best = d.best_threshold(y, scores, c)
    assert isinstance(best.threshold, float)
    for threshold in (best.threshold, np.float64(best.threshold), best.high):
        assert BinaryCounts.from_labels(y, scores >= threshold) == best.counts
    brute = min(costs[y, (scores >= t).astype(int)].mean() for t in [np.inf, *scores.tolist()])
    assert best.cost == pytest.approx(brute, rel=1e-12, abs=1e-12)


def test_infinite_scores_leave_only_attainable_thresholds():
    best = d.best_threshold([0, 0, 0, 1], [np.inf] * 3 + [0.], zero_one)
    assert (best.threshold, best.counts.fp, best.cost) == (0., 3, .75)
    best = d.best_threshold([0, 1], [np.inf, np.inf], zero_one)
    assert best.counts.tp == best.counts.fp == 1
    # weight 0 counts for nothing
    best = d.best_threshold([0, 1, 1], [np.inf, 1, 2], zero_one, sample_weight=[0, 1, 1])
    assert (best.high, best.cost) == (1, 0)


def test_a_threshold_for_each_of_several_matrices():
    y, scores, many = [0, 1, 0, 1], [.1, .4, .5, .8], np.array([zero_one.array, zero_one.array * 2])
    assert d.best_threshold(y, scores, many).to_frame().shape == (2, 8)


def test_a_calibrator_is_kept_and_reads_names(overconfident):
    x, y = overconfident
    fitted, fresh = d.AffineCalibrator().fit(x, y), d.AffineCalibrator()
    named = pd.DataFrame(x, columns=list("abcd"))
    assert fresh.fit(named, np.array(list("abcd"))[y]).alpha_ == fitted.alpha_
    assert pickle.loads(pickle.dumps(fitted)).transform(x).tolist() == fitted.transform(x).tolist()
    with pytest.raises(ValueError, match="these are posteriors"): fitted.transform(np.exp(x))


# --- results

# --- bad input

good = np.array([[.9, .1], [.2, .8]])
zero_one = CostMatrix.zero_one(2)


test_bad_input_is_named = refuses([
    (lambda: d.bayes_decisions(good, CostMatrix.zero_one(3)),
     "posteriors: 2 columns, but 3 classes are needed"),
    (lambda: d.bayes_decisions(good, zero_one, priors=[.5, .5], train_priors=[1, 0]),
     "train_priors: class 1 has prior 0"),
    (lambda: d.bayes_decisions(good, CostMatrix.zero_one(2, classes=["a", "b"]), priors=[.5, .5],
                               train_priors=[1, 0]),
     "train_priors: class b has prior 0"),
    (lambda: d.shift_priors([[1., 0.]], [.5, .5], [0, 1]),
     "posteriors: row 0 is certain of a class whose target prior is 0"),
    (lambda: d.bayes_threshold(CostMatrix.zero_one(3)), "costs: a threshold needs two classes"),
    (lambda: d.bayes_threshold([[1, 0], [0, 1]]), "costs: each class is cheaper"),
    (lambda: d.best_threshold([0, 1], [.1, .2], [[1, 1], [1, 0]], priors=[1, 0]),
     "costs: both decisions cost the same"),
    (lambda: d.best_threshold([1, 1], [.1, .2], zero_one, priors=[.5, .5]), "y_true: no sample of 0, whose prior is above 0"),
    (lambda: d.best_threshold([0, 1], [.1, .2], [[0, 1, 2], [1, 0, 2]]), "costs: a threshold needs two classes"),
    (lambda: d.cross_entropy([0, 2], good), "y_true: label 2 is not in the columns of posteriors"),
    (lambda: d.AffineCalibrator().fit(np.log(good), [0, 0]), "y_true: class 1 has no sample"),
    (lambda: d.AffineCalibrator().fit(np.log(good), [0, 1], sample_weight=[1, 0]),
     "y_true: class 1 has no sample"),
    (lambda: d.cross_calibrate([0, 1], good, folds=[0, 0]), "folds: at least 2 different"),
    (lambda: d.cross_calibrate([0, 1, 1, 0], [[1., 0.], [.5, .5], [.2, .8], [.4, .6]], folds=[0, 0, 1, 1]),
     "floor them"),
    (lambda: d.reliability(["a", "b"], [.5, .6]), "y_true: expected 0/1"),
    (lambda: d.bayes_decisions(good, ExampleCosts(fp=1, fn=[1, 2, 3])),
     "costs: 3 samples, but posteriors has 2 rows"),
    (lambda: d.bayes_decisions(good, zero_one, priors=[[.5, .5]], train_priors=[.5, .5]),
     "priors: one set of 2 priors"),
    (lambda: d.naive_decision(ExampleCosts(fp=1, fn=[1, 2]), [.5, .5]), r"\(K, M\) and \(K,\)"),
    (lambda: d.naive_decision(zero_one, [[.5, .5]]),
     r"and \(K,\) are needed, got shapes \(2, 2\), \(1, 2\)"),
    (lambda: d.best_threshold([0, 1], [.1, .2], ExampleCosts(fp=1, fn=[1, 2, 3])),
     "costs: of 3 samples, but y_true has 2"),
    (lambda: d.best_threshold(["a", "c"], [.1, .2], CostMatrix.binary(classes=["a", "b"])),
     "y_true: label 'c'"),
    (lambda: d.best_threshold({0: 1}, [.1], zero_one), "y_true: a dict"),
    (lambda: d.AffineCalibrator().fit(pd.DataFrame(np.log(good), columns=["a", "b"]), ["a", "a"]),
     "y_true: class b has no sample"),
    (lambda: d.shift_priors(good, [.5, .5], [[.5, .5], [.1, .9]]), "priors: one set of 2 priors"),
])


def test_curvature_where_posteriors_are_nearly_certain():
    "p (1 - p) must not be lost in 1 - p: the Hessian of two offsets is p (1 - p) [[1, -1], [-1, 1]]."
    for p in (0.3, 1e-9, 1e-25):
        x = np.log([[1 - p], [p]])
        hessian = d._entropy_derivatives(np.array([1.0, 0, 0]), x, np.array([0]), np.ones(1))[2]
        np.testing.assert_allclose(hessian[1:, 1:], p * (1 - p) * np.array([[1, -1], [-1, 1]]), rtol=1e-9)


def test_a_class_that_occurs_neither_here_nor_there_decides_nothing():
    p, costs = np.array([[.3, .3, .4], [.05, .05, .9]]), np.array([[0, 1.], [4, 0], [99, 0]])
    given = {"priors": [.9, .1, 0], "train_priors": [.5, .5, 0]}
    assert (d.bayes_decisions(p, costs, **given) == d.bayes_decisions([[.9, .1]] * 2, costs[:2])).all()
    assert d.shift_priors(p, given["train_priors"], given["priors"]) == pytest.approx(np.array([[.9, .1, 0]]
            * 2))


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_the_best_of_counted_thresholds_is_that_of_the_rows(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 50))
    y, s = np.arange(n) % 3 == 0, rng.integers(0, 9, n)
    costs, half = CostMatrix.binary(fp=1, fn=float(rng.integers(1, 9))), n // 2
    curve = threshold_counts(y[:half], s[:half]) + threshold_counts(y[half:], s[half:])
    assert d.best_threshold_counted(curve, costs, priors=[.8, .2]) == d.best_threshold(y, s, costs,
            priors=[.8, .2])
