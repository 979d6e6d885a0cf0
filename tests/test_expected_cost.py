"""The expected cost against independent sources, and the properties that any implementation must have."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special, stats
from sklearn import metrics as sk

from cost_eval import expected_cost as ec
from cost_eval import rivals
from cost_eval import scores as sc
from cost_eval.confusion import BinaryCounts, confusion_counts
from cost_eval.costs import CostMatrix
from cost_eval.decisions import bayes_decisions, best_threshold
from cost_eval.metrics import METRICS

seeds = st.integers(0, 2**32 - 1)


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
    rng, counts, costs, priors = random_problem(seed)
    y, d = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    assert ec.expected_cost(counts, costs) == pytest.approx(costs[y, d].mean())
    weight = (priors / counts.sum(1))[y]
    assert ec.expected_cost(counts, costs, priors=priors) == pytest.approx((weight * costs[y, d]).sum())


@given(seeds)
def test_broadcasts_like_a_loop(seed):
    rng, counts, costs, priors = random_problem(seed, 3, 4)
    many_counts = counts * rng.integers(1, 4, size=(5, 1, 3, 1))
    many_costs = costs + rng.integers(0, 3, size=(2, 3, 4))
    many_priors = rng.dirichlet(np.ones(3), size=(5, 2))
    for metric in (ec.expected_cost, ec.normalized_expected_cost):
        got = metric(many_counts, many_costs, priors=many_priors)
        assert got.shape == (5, 2)
        for i, j in np.ndindex(5, 2):
            np.testing.assert_allclose(
                got[i, j], metric(many_counts[i, 0], many_costs[j], priors=many_priors[i, j])
            )
    assert ec.naive_cost(many_costs, many_priors).shape == (5, 2)


# special cases


@given(seeds)
def test_error_rate_and_balanced_error_agree_with_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    k = rng.integers(2, 6)
    y = np.r_[np.arange(k), rng.integers(k, size=60)]
    d = np.where(rng.random(len(y)) < 0.5, y, rng.integers(k, size=len(y)))
    counts = confusion_counts(y, d, classes=list(range(k)), decision_labels=list(range(k)))
    assert ec.expected_cost(counts, CostMatrix.zero_one(k)) == pytest.approx(1 - sk.accuracy_score(y, d))
    balanced = 1 - sk.balanced_accuracy_score(y, d)
    assert ec.expected_cost(counts, CostMatrix.zero_one(k), priors=np.full(k, 1 / k)) == pytest.approx(
        balanced
    )
    assert ec.expected_cost(
        counts, CostMatrix.inverse_prior(counts.array.sum(1) / counts.array.sum())
    ) == pytest.approx(balanced)


@given(st.floats(0.01, 0.99), st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 100), st.floats(0.01, 100))
def test_equation_4(prevalence, fpr, fnr, fp, fn):
    alpha = fp * (1 - prevalence) / (fn * prevalence)
    expected = alpha * fpr + fnr if alpha >= 1 else fpr + fnr / alpha
    counts = BinaryCounts.from_rates(1, prevalence, fpr, fnr)
    assert ec.normalized_expected_cost(counts, CostMatrix.binary(fp=fp, fn=fn)) == pytest.approx(expected)


# invariances


@given(seeds)
def test_row_shifts_move_all_systems_alike_and_scaling_scales(seed):
    rng, counts, costs, priors = random_problem(seed)
    other = counts[:, rng.permutation(counts.shape[1])]
    shift = rng.integers(-5, 6, size=(len(costs), 1))
    gap = lambda c: ec.expected_cost(counts, c, priors=priors) - ec.expected_cost(other, c, priors=priors)
    assert gap(costs + shift) == pytest.approx(gap(costs), abs=1e-9)
    assert gap(3 * costs) == pytest.approx(3 * gap(costs), abs=1e-9)
    moved = ec.normalized_expected_cost(counts, 3 * (costs + shift), priors=priors)
    np.testing.assert_allclose(moved, ec.normalized_expected_cost(counts, costs, priors=priors), rtol=1e-9)


@given(seeds)
def test_the_best_constant_decision_has_nec_1_and_no_constant_one_less(seed):
    rng, counts, costs, priors = random_problem(seed)
    k, m = costs.shape
    constant = np.zeros((m, k, m))
    constant[np.arange(m), :, np.arange(m)] = rng.integers(1, 9, size=k)
    nec = ec.normalized_expected_cost(constant, costs, priors=priors)
    if np.isnan(nec).all():
        assert (costs == costs.min(1, keepdims=True)).all(0).any()  # a decision is right for every class
    else:
        assert nec.min() == pytest.approx(1)


@given(seeds)
def test_no_decision_rule_beats_bayes_decisions(seed):
    rng, _, costs, _ = random_problem(seed, 3, 3)
    posteriors, weight = rng.dirichlet(np.ones(3), size=5), rng.dirichlet(np.ones(5))

    def cost_of(rule):
        table = np.zeros((3, 3))
        for x, decision in enumerate(rule):
            table[:, decision] += weight[x] * posteriors[x]
        return ec.expected_cost(table, costs)

    best = min(cost_of(rule) for rule in itertools.product(range(3), repeat=5))
    assert cost_of(bayes_decisions(posteriors, costs)) == pytest.approx(best)


# edges and errors


def test_undefined_is_nan():
    right_for_all = [[0, 1], [0, 1]]
    assert np.isnan(ec.normalized_expected_cost([[5, 5], [5, 5]], right_for_all))
    assert np.isnan(ec.normalized_expected_cost([[5, 5], [5, 5]], [[0, 1], [1, 0]], priors=[1, 0]))
    assert np.isnan(ec.expected_cost(np.zeros((2, 2)), [[0, 1], [1, 0]]))


def test_a_class_without_samples_needs_prior_zero():
    counts = [[5, 5], [0, 0]]
    assert ec.expected_cost(counts, [[0, 1], [1, 0]], priors=[1, 0]) == 0.5
    assert ec.expected_cost(counts, [[0, 1], [1, 0]]) == 0.5
    with pytest.raises(ValueError, match=r"counts: no sample of class\(es\) \[1\]"):
        ec.expected_cost(counts, [[0, 1], [1, 0]], priors=[0.5, 0.5])


# the soft version


@given(seeds, st.floats(1, 30), st.booleans())
def test_soft_gradient_is_the_slope(seed, slope, with_priors):
    rng = np.random.default_rng(seed)
    p, y, costs = (
        rng.uniform(0.05, 0.95, 12),
        np.r_[0, 1, rng.integers(2, size=10)],
        rng.uniform(0, 3, size=(2, 2)),
    )
    priors, h = [0.3, 0.7] if with_priors else None, 1e-5
    at = lambda q, t: sc.soft_expected_cost(q, y, costs, t, slope, priors=priors)
    by_posterior, by_threshold = sc.soft_expected_cost_gradient(p, y, costs, 0.4, slope, priors=priors)
    np.testing.assert_allclose(
        by_posterior, [(at(p + h * e, 0.4) - at(p - h * e, 0.4)) / (2 * h) for e in np.eye(12)], atol=1e-6
    )
    assert by_threshold == pytest.approx((at(p, 0.4 + h) - at(p, 0.4 - h)) / (2 * h), abs=1e-6)


@given(seeds)
def test_a_steep_soft_cost_is_the_expected_cost(seed):
    rng = np.random.default_rng(seed)
    p, y, costs = (
        rng.choice([0.1, 0.3, 0.7, 0.9], 30),
        np.r_[0, 1, rng.integers(2, size=28)],
        rng.uniform(0, 3, size=(2, 2)),
    )
    hard = ec.expected_cost(
        confusion_counts(y, (p > 0.5).astype(int), classes=[0, 1], decision_labels=[0, 1]), costs
    )
    assert sc.soft_expected_cost(np.column_stack([1 - p, p]), y, costs, 0.5, 1e6) == pytest.approx(hard)


# implicit costs and F-beta


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.3, 3))
def test_implicit_ratio_of_f_beta(prevalence, fpr, fnr, beta):
    counts = BinaryCounts.from_rates(500, prevalence, fpr, fnr)
    f = METRICS["f_beta"].function(counts, beta)
    assert rivals.implicit_cost_ratio("f_beta", counts, beta=beta) == pytest.approx(
        (1 + beta**2) / f - 1, rel=1e-6
    )
    assert rivals.implicit_cost_ratio(lambda c: c.tp - 3 * c.fp, counts) == pytest.approx(1 / 3, rel=1e-6)


def test_implicit_ratio_of_an_empty_cell_is_nan():
    assert np.isnan(rivals.implicit_cost_ratio("f_beta", BinaryCounts(tp=3, fp=0, fn=1, tn=5)))


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
    return rng, y, np.round(rng.normal(size=len(y)) + y, rng.integers(0, 4))


@given(seeds)
def test_auc_agrees_with_scikit_learn(seed):
    rng, y, scores = random_scores(seed)
    assert sc.roc_auc(y, scores) == pytest.approx(sk.roc_auc_score(y, scores), abs=1e-12)
    weight = rng.integers(1, 4, size=len(y))
    assert sc.roc_auc(y, scores, sample_weight=weight) == pytest.approx(
        sk.roc_auc_score(y, scores, sample_weight=weight), abs=1e-12
    )
    assert sc.roc_auc(y, scores, sample_weight=weight) == pytest.approx(
        sc.roc_auc(np.repeat(y, weight), np.repeat(scores, weight)), abs=1e-12
    )
    assert sc.roc_auc(1 - y, -scores) == pytest.approx(sc.roc_auc(y, scores), abs=1e-12)


@given(seeds)
def test_eer_conventions(seed):
    rng, y, scores = random_scores(seed)
    e = sc.equal_error_rate(y, scores)
    fpr, tpr, _ = sk.roc_curve(y, scores, drop_intermediate=False)
    if len(np.unique(fpr)) == len(fpr):
        assert np.interp(e, fpr, tpr) == pytest.approx(1 - e)
    hull = sc.equal_error_rate(y, scores, method="hull")
    assert hull <= e + 1e-12
    priors = np.column_stack([1 - (p := np.linspace(0, 1, 21)), p])
    lowest = [best_threshold(y, scores, CostMatrix.zero_one(2), priors=prior).cost for prior in priors]
    assert max(lowest) <= hull + 1e-12
    assert sc.equal_error_rate(y, np.exp(scores), method="hull") == pytest.approx(hull)


@given(seeds)
def test_hull_eer_is_the_largest_smallest_error(seed):
    _, y, scores = random_scores(seed)
    from scipy.optimize import minimize_scalar
    from cost_eval.confusion import threshold_counts

    counts = threshold_counts(y, scores).counts
    lowest = lambda p: np.min((1 - p) * counts.fpr + p * counts.fnr)
    found = -minimize_scalar(
        lambda p: -lowest(p), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
    ).fun  # concave
    assert found == pytest.approx(sc.equal_error_rate(y, scores, method="hull"), abs=1e-6)


def test_eer_of_perfect_and_reversed_scores():
    y, scores = np.array([0, 0, 1, 1]), np.array([1.0, 2, 3, 4])
    for method in ("interpolate", "hull"):
        assert sc.equal_error_rate(y, scores, method=method) == 0
    # the lowest score is a positive
    assert sc.equal_error_rate(y, -scores) == 1
    assert sc.equal_error_rate(y, -scores, method="hull") == 0.5  # the hull may use a coin


# regions


@given(seeds, st.sampled_from([2, 3]))
def test_regions_agree_with_bayes_decisions(seed, k):
    rng, _, costs, _ = random_problem(seed, k)
    regions = ec._bayes_regions(costs)
    inside = [j for j, region in enumerate(regions) if len(region) >= k]
    for j in inside:
        corners = regions[j]
        points = rng.dirichlet(np.ones(len(corners)), size=20) @ corners
        risk = points @ costs
        assert (risk[:, j] <= risk.min(1) + 1e-9).all()
    covered = set(np.unique(bayes_decisions(rng.dirichlet(np.ones(k), size=300), costs)))
    assert covered <= set(inside)


def test_intervals_of_the_loan():
    intervals = ec.decision_intervals(ec.loan_costs())
    assert [name for name, *_ in intervals] == ["standard", "high rate", "deny"]
    np.testing.assert_allclose([high for *_, high in intervals], [2 / 9.5, 8 / 18, 1])


def test_the_loan_figure_shows_the_costs_it_speaks_of():
    bars = ec.plot_loan(defaulters=0.3)[1].patches
    costs = ec.loan_costs().array * 100
    expected = [
        *(np.array([0.7, 0.3]) @ costs),
        *(ec.expected_cost(counts, costs, priors=[0.7, 0.3]) for counts in ec._APPLICATIONS.values()),
    ]
    np.testing.assert_allclose([bar.get_width() for bar in bars], expected)


# plots and widgets


def test_of_equal_decisions_the_last_has_the_region():
    assert ec.decision_intervals([[0, 1, 1], [3, 0, 0]]) == [(0, 0.0, 0.25), (2, 0.25, 1.0)]
    assert ec.decision_intervals([[0, 0, 1], [3, 3, 0]]) == [(1, 0.0, 0.25), (2, 0.25, 1.0)]
    assert [len(region) > 0 for region in ec._bayes_regions(np.array([[0, 1, 1, 0], [1, 0, 1, 1],
            [1, 1, 0, 1]]))] == [False, True, True, True]


def placed(y, scores):
    "From all pairs: the area, and what each sample adds to its error."
    wins = np.sign(scores[y == 1][:, None] - scores[y == 0]) / 2 + 0.5
    off = np.empty(len(y))
    off[y == 1], off[y == 0] = wins.mean(1) / (y == 1).sum(), wins.mean(0) / (y == 0).sum()
    return wins.mean(), off


@pytest.mark.parametrize("patients", [False, True])
def test_the_error_of_an_area_is_delongs_and_of_clusters_by_their_sums(patients):
    rng = np.random.default_rng(3)
    y, who = np.repeat([0, 1], [70, 40]), rng.permutation(110) % 30
    scores = rng.integers(0, 9, 110) + 2 * y
    area, off = placed(y, scores)
    off = off - area / np.where(y == 1, 40, 70)
    sums = np.bincount(who, off) if patients else off
    error = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1))
    found = sc.auc_interval(y, scores, clusters=who if patients else None)
    assert found.auc == pytest.approx(area)
    log_odds = special.logit(area) + stats.norm.ppf([0.025, 0.975]) * error / (area * (1 - area))
    assert [found.low, found.high] == pytest.approx(special.expit(log_odds))


@pytest.mark.parametrize("n", [1, 10, 30, 100])
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
