"""The expected cost, its rivals and scores: against scikit-learn, SciPy, enumeration and closed forms."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special, stats
from scipy.optimize import minimize_scalar
from sklearn import metrics as sk

from cost_eval import expected_cost as ec
from cost_eval import rivals
from cost_eval import scores as sc
from cost_eval.confusion import BinaryCounts, threshold_counts
from cost_eval.costs import CostMatrix
from cost_eval.decisions import bayes_decisions
from cost_eval.metrics import METRICS

seeds = st.integers(0, 2**32 - 1)
rate = st.floats(0.05, 0.95)


def random_problem(seed, n_classes=None, n_decisions=None):
    "Counts with every class present, costs and priors, all of one random size."
    rng = np.random.default_rng(seed)
    k, m = n_classes or rng.integers(2, 6), n_decisions or rng.integers(2, 6)
    counts = rng.integers(0, 30, size=(k, m))
    counts[:, 0] += 1
    costs = rng.integers(0, 20, size=(k, m)) / 4
    costs[0, 0] = costs[0].max() + 0.25  # at least one decision is wrong for one class
    return rng, counts, costs, rng.dirichlet(np.ones(k))


# the definition


@given(seeds)
def test_is_the_average_over_samples(seed):
    _, counts, costs, priors = random_problem(seed)
    y, d = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    assert ec.expected_cost(counts, costs) == pytest.approx(costs[y, d].mean())
    weight = (priors / counts.sum(1))[y]
    assert ec.expected_cost(counts, costs, priors=priors) == pytest.approx((weight * costs[y, d]).sum())


@given(seeds)
def test_error_rate_and_balanced_error_agree_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    k = rng.integers(2, 6)
    y = np.r_[np.arange(k), rng.integers(k, size=60)]
    d = np.where(rng.random(len(y)) < 0.5, y, rng.integers(k, size=len(y)))
    counts, zero_one = sk.confusion_matrix(y, d), CostMatrix.zero_one(k)
    assert ec.expected_cost(counts, zero_one) == pytest.approx(1 - sk.accuracy_score(y, d))
    balanced = 1 - sk.balanced_accuracy_score(y, d)
    assert ec.expected_cost(counts, zero_one, priors=np.full(k, 1 / k)) == pytest.approx(balanced)
    inverse = CostMatrix.inverse_prior(counts.sum(1) / counts.sum())
    assert ec.expected_cost(counts, inverse) == pytest.approx(balanced)


@given(st.floats(0.01, 0.99), st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 100), st.floats(0.01, 100))
def test_equation_4(prevalence, fpr, fnr, fp, fn):
    alpha = fp * (1 - prevalence) / (fn * prevalence)
    expected = alpha * fpr + fnr if alpha >= 1 else fpr + fnr / alpha
    counts = BinaryCounts.from_rates(1, prevalence, fpr, fnr)
    assert ec.normalized_expected_cost(counts, CostMatrix.binary(fp=fp, fn=fn)) == pytest.approx(expected)


@given(seeds)
def test_a_constant_per_class_changes_no_nec_and_the_best_constant_decision_has_1(seed):
    rng, counts, costs, priors = random_problem(seed)
    k, m = costs.shape
    shifted = costs + rng.integers(-5, 6, size=(k, 1))
    nec = ec.normalized_expected_cost(counts, costs, priors=priors)
    assert ec.normalized_expected_cost(counts, shifted, priors=priors) == pytest.approx(nec, nan_ok=True)
    constant = np.zeros((m, k, m))
    constant[np.arange(m), :, np.arange(m)] = rng.integers(1, 9, size=k)
    of_constants = ec.normalized_expected_cost(constant, costs, priors=priors)
    right_for_all = (costs == costs.min(1, keepdims=True)).all(0).any()
    assert np.isnan(of_constants).all() if right_for_all else of_constants.min() == pytest.approx(1)


@given(seeds)
def test_no_decision_rule_beats_bayes_decisions(seed):
    rng, _, costs, _ = random_problem(seed, 3, 3)
    posteriors, weight = rng.dirichlet(np.ones(3), size=5), rng.dirichlet(np.ones(5))
    every = np.eye(3)[list(itertools.product(range(3), repeat=5))]  # rule, point, decision
    tables = np.einsum("x,xk,rxd->rkd", weight, posteriors, every)
    best = np.eye(3)[bayes_decisions(posteriors, costs)]
    cost = ec.expected_cost(np.einsum("x,xk,xd->kd", weight, posteriors, best), costs)
    assert cost == pytest.approx(ec.expected_cost(tables, costs).min())


def test_undefined_is_nan():
    assert np.isnan(ec.normalized_expected_cost([[5, 5], [5, 5]], [[0, 1], [0, 1]]))
    assert np.isnan(ec.normalized_expected_cost([[5, 5], [5, 5]], [[0, 1], [1, 0]], priors=[1, 0]))
    assert np.isnan(ec.expected_cost(np.zeros((2, 2)), [[0, 1], [1, 0]]))
    assert np.isnan(rivals.implicit_cost_ratio("f_beta", BinaryCounts(tp=3, fp=0, fn=1, tn=5)))
    assert ec.expected_cost([[5, 5], [0, 0]], [[0, 1], [1, 0]], priors=[1, 0]) == 0.5


# the soft version


def scored(seed, n, p):
    rng = np.random.default_rng(seed)
    return p(rng), np.r_[0, 1, rng.integers(2, size=n - 2)], rng.uniform(0, 3, size=(2, 2))


@given(seeds, st.floats(1, 30), st.booleans())
def test_soft_gradient_is_the_slope(seed, slope, with_priors):
    p, y, costs = scored(seed, 12, lambda rng: rng.uniform(0.05, 0.95, 12))
    priors, h = [0.3, 0.7] if with_priors else None, 1e-5
    at = lambda q, t: sc.soft_expected_cost(q, y, costs, t, slope, priors=priors)
    by_posterior, by_threshold = sc.soft_expected_cost_gradient(p, y, costs, 0.4, slope, priors=priors)
    slopes = [(at(p + h * e, 0.4) - at(p - h * e, 0.4)) / (2 * h) for e in np.eye(12)]
    np.testing.assert_allclose(by_posterior, slopes, atol=1e-6)
    assert by_threshold == pytest.approx((at(p, 0.4 + h) - at(p, 0.4 - h)) / (2 * h), abs=1e-6)


@given(seeds)
def test_a_steep_soft_cost_is_the_expected_cost(seed):
    p, y, costs = scored(seed, 30, lambda rng: rng.choice([0.1, 0.3, 0.7, 0.9], 30))
    hard = ec.expected_cost(sk.confusion_matrix(y, p > 0.5), costs)
    assert sc.soft_expected_cost(np.column_stack([1 - p, p]), y, costs, 0.5, 1e6) == pytest.approx(hard)


# implicit costs and F-beta


@given(rate, rate, rate, st.floats(0.3, 3))
def test_implicit_ratio_of_f_beta(prevalence, fpr, fnr, beta):
    counts = BinaryCounts.from_rates(500, prevalence, fpr, fnr)
    expected = (1 + beta**2) / METRICS["f_beta"].function(counts, beta) - 1
    assert rivals.implicit_cost_ratio("f_beta", counts, beta=beta) == pytest.approx(expected, rel=1e-6)
    assert rivals.implicit_cost_ratio(lambda c: c.tp - 3 * c.fp, counts) == pytest.approx(1 / 3, rel=1e-6)


@given(hnp.arrays(float, st.integers(1, 9), elements=st.floats(0.001, 1)), st.floats(0.3, 3))
def test_f_beta_threshold_is_the_best_of_all_decisions(p, beta):
    decided = np.array(list(itertools.product((0, 1), repeat=len(p))))
    f = (1 + beta**2) * (decided @ p) / (decided.sum(1) + beta**2 * p.sum())
    t = rivals.f_beta_threshold(p, beta)
    assert (1 + beta**2) * t == pytest.approx(f.max())
    above = p > t * (1 + 1e-12)
    assert (1 + beta**2) * p[above].sum() / (above.sum() + beta**2 * p.sum()) == pytest.approx(f.max())


# AUC and EER


def random_scores(seed):
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.integers(2, size=rng.integers(1, 80))]
    return rng.integers(1, 4, size=len(y)), y, np.round(rng.normal(size=len(y)) + y, rng.integers(0, 4))


@given(seeds)
def test_auc_agrees_with_scikit_learn(seed):
    weight, y, scores = random_scores(seed)
    for w in (None, weight):
        expected = sk.roc_auc_score(y, scores, sample_weight=w)
        assert sc.roc_auc(y, scores, sample_weight=w) == pytest.approx(expected, abs=1e-12)


@given(seeds)
def test_eer_is_where_the_curve_or_its_hull_meets_the_diagonal(seed):
    "On the hull it is the largest of all smallest errors, which are concave in the prior; found by SciPy."
    _, y, scores = random_scores(seed)
    e, hull = (sc.equal_error_rate(y, scores, method=method) for method in ("interpolate", "hull"))
    fpr, tpr, _ = sk.roc_curve(y, scores, drop_intermediate=False)
    if len(np.unique(fpr)) == len(fpr):
        assert np.interp(e, fpr, tpr) == pytest.approx(1 - e)
    counts = threshold_counts(y, scores).counts
    negated = lambda p: -np.min((1 - p) * counts.fpr + p * counts.fnr)
    found = -minimize_scalar(negated, bounds=(0, 1), method="bounded", options={"xatol": 1e-12}).fun
    assert found == pytest.approx(hull, abs=1e-6) and hull <= e + 1e-12


def test_eer_of_perfect_and_reversed_scores():
    y, scores = np.array([0, 0, 1, 1]), np.array([1.0, 2, 3, 4])
    for method, reverse in (("interpolate", 1), ("hull", 0.5)):  # the hull may use a coin
        assert sc.equal_error_rate(y, scores, method=method) == 0
        assert sc.equal_error_rate(y, -scores, method=method) == reverse


# regions


@given(seeds, st.sampled_from([2, 3]))
def test_regions_agree_with_bayes_decisions(seed, k):
    rng, _, costs, _ = random_problem(seed, k)
    regions = ec._bayes_regions(costs)
    inside = [j for j, region in enumerate(regions) if len(region) >= k]
    for j in inside:
        risk = rng.dirichlet(np.ones(len(regions[j])), size=20) @ regions[j] @ costs
        assert (risk[:, j] <= risk.min(1) + 1e-9).all()
    assert {*np.unique(bayes_decisions(rng.dirichlet(np.ones(k), size=300), costs))} <= {*inside}


def test_intervals_of_the_loan_and_of_equal_decisions_the_last():
    intervals = ec.decision_intervals(ec.loan_costs())
    assert [name for name, *_ in intervals] == ["standard", "high rate", "deny"]
    np.testing.assert_allclose([high for *_, high in intervals], [2 / 9.5, 8 / 18, 1])
    assert ec.decision_intervals([[0, 1, 1], [3, 0, 0]]) == [(0, 0.0, 0.25), (2, 0.25, 1.0)]
    of_three = ec._bayes_regions(np.array([[0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 0, 1]]))
    assert [len(region) > 0 for region in of_three] == [False, True, True, True]


def test_the_loan_figure_shows_the_costs_it_speaks_of():
    bars = ec.plot_loan(defaulters=0.3)[1].patches
    costs, priors = ec.loan_costs().array * 100, [0.7, 0.3]
    rules = (ec.expected_cost(counts, costs, priors=priors) for counts in ec._APPLICATIONS.values())
    expected = [*(priors @ costs), *rules]
    np.testing.assert_allclose([bar.get_width() for bar in bars], expected)


# the error of an area


@pytest.mark.parametrize("patients", [False, True])
def test_the_error_of_an_area_is_delongs_and_of_clusters_by_their_sums(patients):
    "From all pairs: the area, and what each sample adds to its error."
    rng = np.random.default_rng(3)
    y, who = np.repeat([0, 1], [70, 40]), rng.permutation(110) % 30
    scores = rng.integers(0, 9, 110) + 2 * y
    wins = np.sign(scores[y == 1][:, None] - scores[y == 0]) / 2 + 0.5
    area = wins.mean()
    off = np.r_[(wins.mean(0) - area) / 70, (wins.mean(1) - area) / 40]
    sums = np.bincount(who, off) if patients else off
    error = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1))
    found = sc.auc_interval(y, scores, clusters=who if patients else None)
    assert found.auc == pytest.approx(area)
    log_odds = special.logit(area) + stats.norm.ppf([0.025, 0.975]) * error / (area * (1 - area))
    assert [found.low, found.high] == pytest.approx(special.expit(log_odds))


@pytest.mark.parametrize("n", [1, 10, 100])
def test_a_perfect_ranking_ends_where_pairs_that_share_no_sample_do(n):
    "P(all in order) <= area^n; for skewed scores it is equal, so no larger end is proved."
    y = np.repeat([0, 1], [3 * n, n])
    found, worst = sc.auc_interval(y, y + 0.1), sc.auc_interval(y, -y)
    assert (found.low, found.high) == (pytest.approx(0.025 ** (1 / n)), 1)
    assert (worst.low, worst.high) == (0, pytest.approx(1 - 0.025 ** (1 / n)))
    twice, who = np.repeat(y, 2), np.repeat(np.arange(4 * n), 2)
    assert sc.auc_interval(twice, twice, clusters=who).low == pytest.approx(found.low)
    assert sc.auc_interval(y, y, sample_weight=np.full(4 * n, 0.1)).low == pytest.approx(found.low)
    constant = sc.auc_interval(y, np.zeros(4 * n))  # no error and no knowledge
    assert constant.low < 0.5 < constant.high


def test_areas_near_one_are_covered_where_nearly_all_is_in_order():
    """One positive of a hundred below all negatives: the variance sees one sample, and none in a third of the
    sets."""
    rng, y, held = np.random.default_rng(0), np.repeat([0, 1], [300, 30]), []
    for _ in range(600):
        found = sc.auc_interval(y, y * np.where(rng.random(330) < 0.01, -9, 9) + rng.random(330))
        held.append(found.low <= 0.99 <= found.high)
    assert np.mean(held) >= 0.93
