"""Ferrer: the blocks that make the board's rows, against scikit-learn, SciPy and larger samples."""

import numpy as np
import pytest
from scipy.special import log_softmax

sk = pytest.importorskip("sklearn.metrics")

from cost_eval.expected_cost import expected_cost, normalized_expected_cost
from cost_eval.reproductions import expected_cost as paper


def random_scores(n_classes, n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)]
    return log_softmax(rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[y], axis=1), y


def test_population_counts_are_the_limit_of_samples():
    y, log_odds = paper._gaussian_log_odds(0.2, n_samples=400_000, seed=1)
    thresholds = np.array([-2.0, -0.5, 0.0, 1.0])
    sample = paper._counts_above(y, log_odds, thresholds)
    population = paper.population_counts(thresholds, 0.2)
    for cell in ("tp", "fp", "fn", "tn"):
        np.testing.assert_allclose(getattr(sample, cell) / len(y), getattr(population, cell), atol=0.003)


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
    np.testing.assert_allclose(early, exact, atol=0.02)
    lost, least = (-z[np.arange(len(y)), y].mean() for z in (paper.calibrated_early(logs, y), exact))
    assert -1e-3 <= lost - least < 1e-3


def test_standard_error_is_that_of_multinomial_samples():
    counts, costs = np.array([[80, 15, 5], [3, 6, 1]]), np.array([[0.0, 1, 0.3], [20, 0, 0.3]])
    sizes = counts.sum(1)
    y, lost = np.repeat([0, 1], sizes), np.repeat(costs.ravel(), counts.ravel())
    draws = np.random.default_rng(0).multinomial(sizes, counts / sizes[:, None], (100_000, 2))
    error = paper._nec_error(y, lost, costs)
    assert error == pytest.approx(normalized_expected_cost(draws, costs).std(), rel=0.02)
    assert paper._nec_error(np.tile(y, 4), np.tile(lost, 4), costs) == pytest.approx(error / 2)
