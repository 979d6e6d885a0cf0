"""Ferrer: the blocks that make the board's rows, against scikit-learn, SciPy and larger samples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from scipy.stats import multivariate_normal, norm

sk = pytest.importorskip("sklearn.metrics")

from cost_eval.expected_cost import expected_cost, normalized_expected_cost
from cost_eval.reproductions import expected_cost as paper


def random_scores(n_classes, n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)]
    return log_softmax(rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[y], axis=1), y


# Synthetic data


def test_sample_is_drawn_from_numpys_legacy_stream_class_by_class():
    x, y, priors = paper.gaussian_sample(3, 1000, 0.2)
    assert np.bincount(y).tolist() == [800, 100, 100] and priors == pytest.approx([0.8, 0.1, 0.1])
    stream = np.random.RandomState(0)
    drawn = [multivariate_normal(k, 0.2).rvs(n, random_state=stream) for k, n in enumerate([800, 100, 100])]
    np.testing.assert_allclose(x, np.concatenate(drawn))


def test_log_posteriors_are_bayes_rule_on_the_true_densities():
    x, priors = np.linspace(-2, 4, 50), np.array([0.7, 0.2, 0.1])
    joint = norm.pdf(x[:, None], np.arange(3), np.sqrt(0.3)) * priors
    posteriors = np.exp(paper.gaussian_log_posteriors(x, priors, 0.3))
    np.testing.assert_allclose(posteriors, joint / joint.sum(1, keepdims=True))


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=2, max_size=30),
       st.lists(st.integers(-4, 4), min_size=1, max_size=5))
@settings(deadline=None)
def test_counts_above_is_a_loop_over_thresholds(samples, thresholds):
    y, scores = (np.array(v) for v in zip(*samples))
    counts = paper._counts_above(y.astype(int), scores, thresholds)
    for i, t in enumerate(thresholds):
        assert (counts.tp[i], counts.fp[i]) == (((scores > t) & y).sum(), ((scores > t) & ~y).sum())
        assert (counts.fn[i], counts.tn[i]) == (((scores <= t) & y).sum(), ((scores <= t) & ~y).sum())


def test_population_counts_are_the_limit_of_samples():
    y, log_odds = paper._gaussian_log_odds(0.2, n_samples=400_000, seed=1)
    thresholds = np.array([-2.0, -0.5, 0.0, 1.0])
    sample = paper._counts_above(y, log_odds, thresholds)
    population = paper.population_counts(thresholds, 0.2)
    for cell in ("tp", "fp", "fn", "tn"):
        np.testing.assert_allclose(getattr(sample, cell) / len(y), getattr(population, cell), atol=0.003)


def test_threshold_metrics_agree_with_scikit_learn():
    y, log_odds = paper._gaussian_log_odds(0.2, n_samples=2_000)
    curves = paper.threshold_metrics(paper._counts_above(y, log_odds, [-0.5]), c21s=(4,))
    decided = log_odds > -0.5
    assert 1 - curves["1-F1"][0] == pytest.approx(sk.f1_score(y, decided))
    assert 1 - curves["1-MCC"][0] == pytest.approx(sk.matthews_corrcoef(y, decided))
    assert curves["R*2"][0] == decided.mean()
    cost = (decided & (y == 0)).sum() + 4 * (~decided & (y == 1)).sum()
    assert curves["NEC4"][0] == pytest.approx(cost / min((y == 0).sum(), 4 * (y == 1).sum()))


def test_the_population_of_table_1_is_the_limit_of_samples_and_bayes_decisions_the_best():
    joint, costs = paper.population_table_1(n_cells=20_000), paper._paper_costs(paper._gaussian_priors(10))
    big = paper._table_1_cells(paper._table_1_counts(n_samples=400_000, seed=1))
    for cell, value in paper._table_1_cells(joint).items():
        assert big[cell] == pytest.approx(value, rel=0.05, abs=0.003), cell
    for (matrix, rule), p in joint.items():
        best = expected_cost(joint[matrix, "Bayes"], costs[matrix])
        assert best <= expected_cost(p, costs[matrix]) + 1e-9, (matrix, rule)


# Table 2: the metrics


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_row_of_table_2_agrees_with_scikit_learn(n_classes):
    logs, y = random_scores(n_classes)
    row, decided, p = paper._table_2_row(logs, y), logs.argmax(1), np.bincount(y) / len(y)
    assert row["1-ACC"] == pytest.approx(1 - sk.accuracy_score(y, decided))
    assert row["C01"] == pytest.approx(row["1-ACC"] / (1 - p.max()))
    assert row["MC1 argmax"] == pytest.approx(1 - sk.f1_score(y, decided, average="macro"))
    cimb = np.where(np.arange(n_classes) == n_classes - 1, 100.0, 1.0)[:, None] * (1 - np.eye(n_classes))
    by_cost = (np.exp(logs) @ cimb).argmin(1)
    assert row["Cimb"] == pytest.approx(cimb[y, by_cost].mean() / (p @ cimb).min())
    assert row["MC1"] == pytest.approx(1 - sk.f1_score(y, by_cost, average="macro"))
    r, q = (f(y, by_cost, average="macro", zero_division=0) for f in (sk.recall_score, sk.precision_score))
    assert row["MC2"] == pytest.approx(1 - 2 * r * q / (r + q))
    inverse = (np.exp(logs) / p).argmax(1)
    assert row["CinvP"] == pytest.approx((1 - sk.balanced_accuracy_score(y, inverse)) / (1 - 1 / n_classes))
    assert ("EER" in row) == (n_classes == 2)
    if n_classes == 2:
        assert row["Bin"] == pytest.approx(1 - sk.f1_score(y, decided))
        assert row["1-AUC"] == pytest.approx(1 - sk.roc_auc_score(y, logs[:, 1]))
        fpr, tpr, _ = sk.roc_curve(y, logs[:, 1])
        assert row["EER"] == pytest.approx(fpr[np.abs(1 - tpr - fpr).argmin()])


@pytest.mark.parametrize("n_classes", [2, 5])
def test_stopping_early_is_nearly_the_optimum(n_classes):
    logs, y = random_scores(n_classes)
    early, exact = paper.calibrated_early(3 * logs, y), paper.calibrated(log_softmax(3 * logs, axis=1), y)

    def loss(z):
        return -z[np.arange(len(y)), y].mean()

    np.testing.assert_allclose(early, exact, atol=0.02)
    assert 0 <= loss(paper.calibrated_early(logs, y)) - loss(exact) + 1e-3 < 2e-3


def test_standard_error_is_that_of_multinomial_samples():
    counts, costs = np.array([[80, 15, 5], [3, 6, 1]]), np.array([[0.0, 1, 0.3], [20, 0, 0.3]])
    sizes = counts.sum(1)
    y, lost = np.repeat([0, 1], sizes), np.repeat(costs.ravel(), counts.ravel())
    draws = np.random.default_rng(0).multinomial(sizes, counts / sizes[:, None], (100_000, 2))
    error = paper._nec_error(y, lost, costs)
    assert error == pytest.approx(normalized_expected_cost(draws, costs).std(), rel=0.02)
    assert paper._nec_error(np.tile(y, 4), np.tile(lost, 4), costs) == pytest.approx(error / 2)
