"""cost_eval.decisions: enumeration, independent optimisers and properties."""
import pickle
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
from sklearn.metrics import log_loss

from conftest import refuses
from cost_eval import core, decisions as d
from cost_eval.confusion import BinaryCounts, threshold_counts
from cost_eval.costs import CostMatrix, ExampleCosts

close, equal = np.testing.assert_allclose, np.testing.assert_array_equal
numbers = st.integers(0, 20)


@st.composite
def posteriors_and_costs(draw, max_classes=4, max_decisions=5):
    k, m, n = draw(st.integers(2, max_classes)), draw(st.integers(2, max_decisions)), draw(st.integers(1, 8))
    weights = draw(hnp.arrays(float, (n, k), elements=st.integers(1, 50)))
    costs = draw(hnp.arrays(float, (k, m), elements=numbers).filter(lambda c: (c.min(1) < c.max(1)).all()))
    return weights / weights.sum(1, keepdims=True), costs


@st.composite
def scored(draw, max_size=14):
    n = draw(st.integers(2, max_size))
    y = draw(hnp.arrays(int, n, elements=st.integers(0, 1)).filter(lambda v: 0 < v.sum() < len(v)))
    return y, draw(hnp.arrays(float, n, elements=st.integers(-3, 3)))


binary_costs = hnp.arrays(float, (2, 2), elements=numbers).filter(
    lambda c: c[0, 1] > c[0, 0] and c[1, 0] > c[1, 1])
zero_one = CostMatrix.zero_one(2)


# --- Bayes decisions

def cheapest(risk, decided):
    close(risk[np.arange(len(risk)), decided], risk.min(1), rtol=1e-9, atol=1e-12)


@given(posteriors_and_costs(), st.data())
def test_bayes_decisions_minimise_the_expected_posterior_cost(case, data):
    "Of one matrix, of each row's own, at other priors; the best decision for all is that of the priors."
    p, c = case
    own = data.draw(hnp.arrays(float, (*p.shape, 3), elements=numbers))
    target, train = data.draw(hnp.arrays(float, (2, len(c)), elements=st.integers(1, 9)))
    given = {"priors": target / target.sum(), "train_priors": train / train.sum()}
    shifted = d.shift_priors(p, given["train_priors"], given["priors"])
    by_bayes = p * target / train
    close(shifted, by_bayes / by_bayes.sum(1, keepdims=True), rtol=1e-9)
    for costs, each in ((c, np.stack([c] * len(p))), (ExampleCosts.from_array(own), own)):
        cheapest(np.array([row @ one for row, one in zip(p, each)]), d.bayes_decisions(p, costs))
        risk = np.array([row @ one for row, one in zip(shifted, each)])
        cheapest(risk, d.bayes_decisions(p, costs, **given))
    for row in p:
        assert d.naive_decision(c, row) == d.bayes_decisions(row[None], c)[0]


# ---- ties: at or above the threshold, whatever the last digit

PERCENT = np.arange(1, 100) / 100


@pytest.mark.parametrize("p", [PERCENT, 1 - (1 - PERCENT), PERCENT.astype(np.float32)])
def test_every_whole_percent_is_decided_at_and_above_its_threshold(p):
    rows = np.column_stack([1 - PERCENT.astype(p.dtype), p])
    for k in range(1, 100):
        for costs in ([[0, k], [100 - k, 0]], d.implied_costs(k / 100), [[-7, k - 7], [100 - k + 3, 3]]):
            equal(d.bayes_decisions(rows, costs), np.arange(1, 100) >= k)
            assert d.naive_decision(costs, rows[k - 1]) == 1
        assert d.bayes_threshold([[0, k], [100 - k, 0]]) == k / 100


@given(posteriors_and_costs(), st.integers(0, 3))
def test_ties_of_many_decisions_are_those_of_exact_arithmetic(case, form):
    p, c = case
    exact = [[sum(Fraction(x).limit_denominator(200) * int(v) for x, v in zip(row, column)) for column in c.T]
             for row in p]
    want = [max(j for j, cost in enumerate(costs) if cost == min(costs)) for costs in exact]
    given = [p, p.astype(np.float32), np.column_stack([1 - p[:, 1:].sum(1), p[:, 1:]]), np.log(p)][form]
    assert d.bayes_decisions(given, c, log=form == 3).tolist() == want
    assert d.bayes_decisions(p, ExampleCosts.from_array(np.stack([c] * len(p)))).tolist() == want


def test_a_tie_is_no_excuse_for_a_worse_decision():
    """What is as small as the rounding of the large costs beside it is still told apart, and so are tiny
    posteriors. A group that may go either way is positive for Bayes and negative for the best threshold."""
    assert d.bayes_decisions([[1, 1e-18], [1, 0], [1, 2e-17]], [[0, 1], [1e17, 0]]).tolist() == [0, 0, 1]
    far = [[0, 1, 1e15], [1, 0, 1e15], [0, 0, 0]]
    assert d.bayes_decisions([[.49, .51, 0], [.51, .49, 0]], far).tolist() == [1, 0]
    assert d.bayes_decisions([[.3, .2, .5]], [[0, 1, 9], [1, 0, 9], [1e12, 1e12, 0]]).tolist() == [2]
    assert d.bayes_decisions([[.3, .2, .5]], [[0, 1, 1e13], [1, 0, 1e13], [1e12, 1e12, 0]]).tolist() == [0]
    assert d.bayes_decisions([[.5, .5]], zero_one).tolist() == [1]
    assert d.best_threshold([0, 1], [.5, .5], zero_one).counts.tp == 0


def test_blocks_and_logs_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    p, c, y = rng.dirichlet(np.ones(5), size=1000), rng.random((5, 3)), rng.integers(5, size=1000)
    own, broken = ExampleCosts.from_array(rng.random((1000, 5, 3))), p.copy()
    broken[287] *= 1.1

    def found():
        fitted = d.AffineCalibrator().fit(np.log(p), y)
        return [fitted.alpha_, *fitted.beta_], d.bayes_decisions(p, c), d.bayes_decisions(p, own)
    whole = found()
    equal(d.bayes_decisions(np.log(p), c, log=True), whole[1])
    monkeypatch.setattr(core, "BLOCK_BYTES", 7 * 400)
    for one, before in zip(found(), whole):
        close(one, before, rtol=1e-8, atol=1e-9)
    with pytest.raises(ValueError, match="row 287 sums to 1.1"):
        d.bayes_decisions(broken, own)


def test_a_class_that_occurs_neither_here_nor_there_decides_nothing():
    p, costs = np.array([[.3, .3, .4], [.05, .05, .9]]), np.array([[0, 1.], [4, 0], [99, 0]])
    given = {"priors": [.9, .1, 0], "train_priors": [.5, .5, 0]}
    assert (d.bayes_decisions(p, costs, **given) == d.bayes_decisions([[.9, .1]] * 2, costs[:2])).all()
    shifted = d.shift_priors(p, given["train_priors"], given["priors"])
    assert shifted == pytest.approx(np.array([[.9, .1, 0]] * 2))


WARDS = ["home", "ward", "icu"]
TRIAGE = CostMatrix([[0, 1, 3], [10, 0, 1], [50, 10, 0]], classes=WARDS)


def test_columns_are_named_numbered_or_refused_and_decisions_have_labels():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=500)
    frame, right = pd.DataFrame(p, columns=WARDS), d.bayes_decisions(p, TRIAGE)
    # arrays go by position, as do numbered columns and costs without labels
    assert (d.bayes_decisions(frame[["icu", "home", "ward"]].to_numpy(), TRIAGE) != right).mean() > .3
    equal(d.bayes_decisions(pd.DataFrame(p), TRIAGE), right)
    equal(d.bayes_decisions(frame, TRIAGE.array), right)
    assert d.bayes_decisions(pd.DataFrame(good, columns=[1, 0]), C).tolist() == [1, 1]  # fp and fn are of 1
    assert d.bayes_decisions(p, TRIAGE, labels=True).tolist() == [WARDS[j] for j in right]
    ask = zero_one.with_abstain(.1)
    assert d.bayes_decisions([[.5, .5], [.99, .01]], ask, labels=True).tolist() == ["abstain", 0]


# --- thresholds

@given(binary_costs, st.floats(.001, .999))
def test_bayes_threshold_separates_the_bayes_decisions_and_is_implied(costs, p):
    t = d.bayes_threshold(costs)
    if abs(p - t) > 1e-9:
        assert d.bayes_decisions([[1 - p, p]], costs)[0] == (p > t)
    assert d.bayes_threshold(costs, log_odds=True) == pytest.approx(np.log(t) - np.log1p(-t), abs=1e-9)
    assert d.bayes_threshold(d.implied_costs(p)) == pytest.approx(p, rel=1e-12)


def test_bayes_threshold_of_dominated_decisions_and_many_matrices():
    inf, y, scores = np.inf, [0, 1, 0], [.1, .2, .3]
    many = [[[0, 1], [4, 0]], [[1, 0], [5, 0]], [[0, 5], [0, 1]], [[0, 0], [1, 0]], [[0, 1], [0, 0]]]
    equal(d.bayes_threshold(many), [.2, -inf, inf, 0, 1])
    equal(d.bayes_threshold(many, log_odds=True), [-np.log(4), -inf, inf, -inf, inf])
    assert [d.best_threshold(y, scores, one).high for one in many[1:3]] == [.1, inf]


@given(scored(), hnp.arrays(float, (2, 3, 2, 2), elements=numbers), st.sampled_from([None, (.3, .7)]))
def test_many_cost_matrices_equal_one_by_one(case, costs, priors):
    costs[..., 0, 1] += costs[..., 0, 0] + 1
    costs[..., 1, 0] += costs[..., 1, 1] + 1
    many = d.best_threshold(*case, costs, priors=priors)
    assert many.threshold.shape == many.cost.shape == many.counts.tp.shape == (2, 3)
    for at in np.ndindex(2, 3):
        one = d.best_threshold(*case, costs[at], priors=priors)
        assert (many.threshold[at], many.low[at], many.high[at]) == (one.threshold, one.low, one.high)
        assert many.cost[at] == pytest.approx(one.cost, rel=1e-12)


@given(scored(max_size=40))
def test_hull_is_concave_above_all_points_and_isotonic(case):
    y, scores = case
    counts = threshold_counts(y, scores).counts
    vertices = d.hull_vertices(counts)
    assert vertices.tolist() == d.hull_vertices(counts.to_matrix() * 10**12).tolist()
    tp, fp = counts.tp[vertices], counts.fp[vertices]
    up, right = np.diff(tp), np.diff(fp)
    assert vertices[0] == 0 and (tp[-1], fp[-1]) == (y.sum(), (1 - y).sum())
    assert (up[:-1] * right[1:] > up[1:] * right[:-1]).all()
    for a, b, u, r in zip(tp, fp, up, right):
        assert (u * (counts.fp - b) - r * (counts.tp - a) >= 0).all()
    pooled = IsotonicRegression().fit_transform(scores, y)
    # 1-based segment of each sample
    group = np.searchsorted(-threshold_counts(y, scores).thresholds[vertices], -scores)
    close((up / (up + right))[group - 1], pooled, atol=1e-12)


@given(scored(), st.booleans(), st.sampled_from([None, (.3, .7), (.9, .1), (0, 1), (1, 0)]), st.data())
@settings(max_examples=90)
def test_best_threshold_of_one_matrix_or_single_costs_equals_enumeration(case, single, priors, data):
    y, scores = case
    own = data.draw(hnp.arrays(float, (len(y), 2, 2), elements=numbers) if single else binary_costs)
    costs = np.broadcast_to(own, (len(y), 2, 2))
    w = data.draw(hnp.arrays(int, len(y), elements=st.integers(0, 3)).filter(
        lambda w: w[y == 0].sum() and w[y == 1].sum()) | st.just(np.ones(len(y), int)))
    size = np.array([w[y == i].sum() for i in (0, 1)])
    each = w * (np.ones(2) / size.sum() if priors is None else np.array(priors) / size)[y]
    at = [np.inf, *sorted(set(scores[w > 0].tolist()), reverse=True)]
    table = [sum(each * costs[np.arange(len(y)), y, (scores >= t).astype(int)]) for t in at]
    best = d.best_threshold(y, scores, ExampleCosts.from_array(costs) if single else own, priors=priors,
                            sample_weight=None if (w == 1).all() else w)
    assert best.cost == pytest.approx(min(table), rel=1e-12, abs=1e-12)
    assert best.high == at[next(i for i, cost in enumerate(table) if cost <= min(table) + 1e-9)]
    assert best.low == max([s for s in scores[w > 0] if s < best.high], default=-np.inf)
    assert best.low < best.threshold <= best.high
    for t in (best.threshold, best.high, np.nextafter(best.low, np.inf)):
        assert best.counts == BinaryCounts.from_labels(y, scores >= t, sample_weight=w)
    if not single:
        curve = sum(threshold_counts(y[k::2], scores[k::2], sample_weight=w[k::2]) for k in range(2))
        counted = d.best_threshold_counted(curve, own, priors=priors)
        assert (counted.threshold, counted.high) == (best.threshold, best.high)
        assert counted.cost == pytest.approx(best.cost, rel=1e-12, abs=1e-12)


@given(st.data(), st.sampled_from(["float64", "float32", "float16", "int64", "int8", "uint8"]), binary_costs,
       st.booleans())
@settings(max_examples=60)
def test_the_threshold_decides_as_stated_in_the_type_of_the_scores(data, kind, costs, single):
    n = data.draw(st.integers(2, 12))
    y = data.draw(hnp.arrays(int, n, elements=st.integers(0, 1)).filter(lambda v: 0 < v.sum() < n))
    steps = np.arange(9).astype(kind)
    if kind.startswith("float"):  # dense: neighbours, and the infinite ones
        steps[0] = data.draw(st.sampled_from([0, .1, 1, 1000, -1e-5]))
        for k in range(1, 7):
            steps[k] = np.nextafter(steps[k - 1], np.dtype(kind).type(np.inf))
        steps[7:] = np.inf, -np.inf
    scores = steps[data.draw(hnp.arrays(int, n, elements=st.integers(0, 8)))]
    c = ExampleCosts.from_array(np.broadcast_to(costs, (n, 2, 2))) if single else costs
    best = d.best_threshold(y, scores, c)
    assert isinstance(best.threshold, float)
    for threshold in (best.threshold, np.float64(best.threshold), best.high):
        assert BinaryCounts.from_labels(y, scores >= threshold) == best.counts
    brute = min(costs[y, (scores >= t).astype(int)].mean() for t in [np.inf, *scores.tolist()])
    assert best.cost == pytest.approx(brute, rel=1e-12, abs=1e-12)


def test_best_thresholds_where_there_is_little_to_choose():
    best = d.best_threshold([0, 0, 0, 1], [np.inf] * 3 + [0.], zero_one)  # only what can be attained
    assert (best.threshold, best.counts.fp, best.cost) == (0., 3, .75)
    best = d.best_threshold([0, 1, 1], [np.inf, 1, 2], zero_one, sample_weight=[0, 1, 1])
    assert (best.high, best.cost) == (1, 0)  # weight 0 counts for nothing
    for y, ends in (([1, 1], (-np.inf, .2, .2)), ([0, 0], (.4, np.inf, np.inf))):  # one class, without priors
        best = d.best_threshold(y, [.2, .4], zero_one)
        assert best.cost == 0 and (best.low, best.threshold, best.high) == ends
    assert d.best_threshold([1, 0, 1, 1], [.3, .6, .5, .1], [[5, 1], [1, 1]]).high == .6
    many = np.array([zero_one.array, zero_one.array * 2])
    assert d.best_threshold([0, 1, 0, 1], [.1, .4, .5, .8], many).to_frame().shape == (2, 8)


# --- calibration

@pytest.fixture(scope="module")
def overconfident():
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(600, 4)) * 2
    y = (logits * .5 + [0, .5, -1, 0] + rng.gumbel(size=logits.shape)).argmax(1)
    return log_softmax(logits, axis=1), y


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
    close([fitted.alpha_, *fitted.beta_], [other.x[0], *(beta - beta.mean())], atol=1e-5)
    out = fitted.transform(x)
    close(weight @ out, share, atol=1e-9)  # first-order condition: calibrated in the large
    close(np.exp(fitted.transform(x, log=True)), out)


def test_calibrating_twice_changes_nothing_and_logits_and_names_will_do(overconfident):
    x, y = overconfident
    first = d.AffineCalibrator().fit(x, y)
    again = d.AffineCalibrator().fit(first.transform(x, log=True), y)
    close([again.alpha_, *again.beta_], [1, 0, 0, 0, 0], atol=1e-8)
    logits = x + np.arange(len(x))[:, None] % 7
    close(d.AffineCalibrator().fit(logits, y).transform(logits), first.transform(x), atol=1e-9)
    named = d.AffineCalibrator().fit(pd.DataFrame(x, columns=list("abcd")), np.array(list("abcd"))[y])
    assert named.alpha_ == first.alpha_
    assert pickle.loads(pickle.dumps(first)).transform(x).tolist() == first.transform(x).tolist()
    half = np.log(np.full((4, 2), .5))
    shares = d.AffineCalibrator().fit(half, [0, 0, 0, 1]).transform(half[:1])
    close(shares, [[.75, .25]], atol=1e-9)


def test_separable_classes_warn_and_stay_finite_and_others_do_not_warn(overconfident):
    with pytest.warns(RuntimeWarning, match="separate the classes") as found:
        fitted = d.AffineCalibrator().fit(np.log([[.9, .1], [.6, .4], [.3, .7]]), [0, 0, 1])
    assert np.isfinite([fitted.alpha_, *fitted.beta_]).all() and found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d.AffineCalibrator().fit(*overconfident)


@pytest.mark.parametrize("p", [0.3, 1e-9, 1e-25])
def test_curvature_where_posteriors_are_nearly_certain(p):
    "p (1 - p) must not be lost in 1 - p: the Hessian of two offsets is p (1 - p) [[1, -1], [-1, 1]]."
    x = np.log([[1 - p], [p]])
    hessian = d._entropy_derivatives(np.array([1.0, 0, 0]), x, np.array([0]), np.ones(1))[2]
    close(hessian[1:, 1:], p * (1 - p) * np.array([[1, -1], [-1, 1]]), rtol=1e-9)


@given(hnp.arrays(int, st.integers(6, 60), elements=st.integers(0, 3)), st.integers(2, 6), st.integers(0, 9))
def test_folds_are_stratified_and_repeatable(y, folds, seed):
    fold = d.stratified_folds(y, folds, rng=seed)
    equal(fold, d.stratified_folds(y, folds, rng=seed))
    for part in (fold, *(fold[y == c] for c in np.unique(y))):
        assert np.ptp(np.bincount(part, minlength=folds)) <= 1


def test_cross_calibration_never_sees_the_sample(overconfident):
    x, y = overconfident
    fold = d.stratified_folds(y, 5, rng=0)
    out = d.cross_calibrate(y, np.exp(x), folds=fold)
    close(out, d.cross_calibrate(y, np.exp(x), folds=5, rng=0))
    close(np.log(out), d.cross_calibrate(y, x, folds=fold, log=True), rtol=1e-9, atol=1e-12)
    other = np.where(fold == 3, (y + 1) % 4, y)
    close(d.cross_calibrate(other, np.exp(x), folds=fold)[fold == 3], out[fold == 3])
    assert d.cross_entropy(y, out) < d.cross_entropy(y, np.exp(x))


def test_cross_entropy_agrees_with_sklearn_and_log_form(overconfident):
    x, y = overconfident
    assert d.cross_entropy(y, np.exp(x)) == pytest.approx(log_loss(y, np.exp(x)))
    assert d.cross_entropy(y, x, log=True) == pytest.approx(log_loss(y, np.exp(x)))
    assert d.cross_entropy([1], [[1., 0.]]) == np.inf


@given(hnp.arrays(float, st.integers(1, 50), elements=st.sampled_from([0, .1, .5, 1])), st.integers(1, 10))
def test_reliability_groups_keep_all_samples_and_ties_together(p, bins):
    y = (np.arange(len(p)) % 2).astype(int)
    r = d.reliability(y, p, bins=bins)
    assert r.size.sum() == len(p) and (r.size > 0).all() and len(r.size) <= bins
    assert r.size @ r.predicted == pytest.approx(p.sum()) and r.size @ r.observed == pytest.approx(y.sum())
    assert (np.diff(r.predicted) > 0).all()


# --- bad input

good, C = np.array([[.9, .1], [.2, .8]]), [[0, 1], [5, 0]]
letters = CostMatrix.binary(classes=["a", "b"])


test_bad_input_is_named = refuses([
    (lambda: d.bayes_decisions(pd.DataFrame(np.eye(3), columns=["home", "ward", "street"]), TRIAGE),
     "posteriors: columns .*'street'.* are .*'icu'"),
    (lambda: d.bayes_decisions(pd.DataFrame(good, columns=["ill", "no"]), C), "posteriors: .*'no'. do not"),
    (lambda: d.bayes_decisions(good, letters, priors=[.5, .5], train_priors=[1, 0]), "class b has prior 0"),
    (lambda: d.shift_priors([[1., 0.]], [.5, .5], [0, 1]), "row 0 is certain of a class whose target"),
    (lambda: d.bayes_threshold(TRIAGE), "costs: a threshold needs two classes"),
    (lambda: d.bayes_threshold([[1, 0], [0, 1]]), "costs: each class is cheaper"),
    (lambda: d.hull_vertices(np.ones((2, 3, 2, 2))), r"^counts: .*got shape \(2, 3\)"),
    (lambda: d.best_threshold([0, 1], [.1, .2], [[1, 1], [1, 0]], priors=[1, 0]), "both decisions cost"),
    (lambda: d.best_threshold([1, 1], [.1, .2], zero_one, priors=[.5, .5]), "no sample of 0, whose prior"),
    (lambda: d.best_threshold([0, 1], [.1, .2], TRIAGE), "costs: a threshold needs two classes"),
    (lambda: d.AffineCalibrator().fit(np.log(good), [0, 1]).transform(good), "these are posteriors"),
    (lambda: d.AffineCalibrator().fit(np.log(good), [0, 1], sample_weight=[1, 0]), "class 1 has no sample"),
    (lambda: d.cross_calibrate([0, 1], good, folds=[0, 0]), "folds: at least 2 different"),
    (lambda: d.cross_calibrate([0, 1, 1, 0], [[1, 0], *good, [.4, .6]], folds=[0, 0, 1, 1]), "floor them"),
    (lambda: d.naive_decision(ExampleCosts(fp=1, fn=[1, 2]), [.5, .5]), r"\(K, M\) and \(K,\)"),
])
