"""The cost score: against counts, scikit-learn and closed forms; its savings against resampling."""

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from conftest import refuses
from cost_eval import metrics
from cost_eval.bootstrap import difference
from cost_eval.confusion import BinaryCounts
from cost_eval.cost_score import (cost_score_from_precision, cost_score_from_rates, f1_cost, held_out_saving,
                                  isocost_precision, isocost_slope, multiclass_cost_score,
                                  multilabel_cost_score, paired_saving, tune_threshold)

cells = st.integers(1, 10_000)
ratio = st.floats(0.01, 100)
share = st.floats(0.01, 0.99)


@pytest.fixture
def sample():
    rng = np.random.default_rng(3)
    y = rng.random(3000) < 0.15
    return y, np.round(rng.normal(1.5 * y), 1)  # many ties


# ---- the score


@given(cells, cells, cells, cells, ratio)
def test_is_an_expected_cost_in_other_units(tp, fp, fn, tn, r):
    c = BinaryCounts(tp, fp, fn, tn)
    score = cost_score_from_precision(c.precision, c.tpr, r)
    assert_allclose(score, (fp + r * fn) / (tp + fn), rtol=1e-9)
    assert_allclose(score, metrics.cost_score(c, r), rtol=1e-9)
    assert_allclose(score, cost_score_from_rates(c.tpr, c.fpr, c.prevalence, r) / c.prevalence, rtol=1e-9)
    assert_allclose(score * c.prevalence * 7, metrics.expected_cost(c, [[0, 7], [7 * r, 0]]), rtol=1e-9)


@given(share, ratio, st.floats(0.05, 20), ratio)
def test_contours(recall, r, level, other):
    p = isocost_precision(recall, level, r)
    if np.isnan(p):  # no precision in (0, 1] gives that score
        assert level < r * (1 - recall) * (1 + 1e-9)
        return
    assert_allclose(cost_score_from_precision(p, recall, r), level, rtol=1e-6, atol=1e-9)
    assert_allclose(isocost_precision(recall, other, other), 1 / (1 + other), rtol=1e-9)


def test_slope_is_the_derivative():
    recall, level, r = np.array([0.4, 0.6, 0.8]), np.array([3.0, 0.9, 5.0]), np.array([2.0, 1.5, 5.0])
    step = 1e-6
    ends = [isocost_precision(recall + d, level, r) for d in (-step, step)]
    assert_allclose(isocost_slope(recall, level, r), (ends[1] - ends[0]) / (2 * step), rtol=1e-5, atol=1e-9)


def test_where_nobody_is_predicted_positive():
    assert cost_score_from_precision(np.nan, 0, 3) == cost_score_from_precision(1, 0, 3) == 3
    assert np.isnan(cost_score_from_precision(0, 0, 3))
    assert_array_equal(cost_score_from_precision([1, np.nan], [1, 0], 3), [0, 3])


def test_f1_cost():
    y, d = np.array([1, 1, 1, 0, 0, 1]), np.array([1, 0, 1, 1, 0, 1])
    assert_allclose(f1_cost(sk.f1_score(y, d)), 2 / (2 * 3))
    assert f1_cost(0) == np.inf


# ---- thresholds


@pytest.mark.parametrize("weighted", [False, True])
def test_the_threshold_is_the_best_of_all(sample, weighted):
    y, s = sample
    w = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    ratios = np.geomspace(0.05, 50, 9)
    tuned = tune_threshold(y, s, ratios, sample_weight=w)
    decided = s >= np.r_[np.unique(s), np.inf][:, None]
    weight = np.ones(len(y)) if w is None else w
    fp, fn = decided @ (weight * ~y), ~decided @ (weight * y)
    assert_allclose(tuned.cost_score, ((fp + ratios[:, None] * fn) / (weight * y).sum()).min(1))
    for t, low, high, p, r in zip(tuned.threshold, tuned.low, tuned.high, tuned.precision, tuned.recall):
        assert low < t <= high and not ((s > low) & (s < high)).any()
        expected = [f(y, s >= t, sample_weight=w) for f in (sk.precision_score, sk.recall_score)]
        assert_allclose([p, r], expected)


def test_of_equal_thresholds_the_highest():
    tuned = tune_threshold([1, 0, 1, 0], [4.0, 3, 2, 1], 1.0)  # two alarms more gain nothing
    assert tuned.high == 4 and tuned.cost_score == 0.5


def test_target_prevalence_is_a_weight(sample):
    y, s = sample
    w = np.where(y, 0.4 / y.mean(), 0.6 / (1 - y.mean()))
    moved = tune_threshold(y, s, [0.5, 5.0], prevalence=0.4)
    weighted = tune_threshold(y, s, [0.5, 5.0], sample_weight=w)
    for name in ("threshold", "low", "high", "precision", "recall", "cost_score"):
        assert_allclose(getattr(moved, name), getattr(weighted, name))
    assert not np.allclose(moved.cost_score, tune_threshold(y, s, [0.5, 5.0]).cost_score)


# ---- savings


@pytest.mark.parametrize("prevalence, guarantee", [(None, "conjectured"), (0.4, "measured")])
def test_saving_interval_against_resampled_cases_or_classes(sample, prevalence, guarantee):
    "Of 3,000 cases, with all disagreements seen, it is near the bootstrap's."
    y, s = sample
    ours = held_out_saving(y, s, 1.5, 0.5, 8.0, prevalence=prevalence)
    rng, rows = np.random.default_rng(1), np.arange(len(y))
    alarm = np.stack([s >= t for t in (1.5, 0.5)])

    def scores(pick):
        here = y[pick].mean() if prevalence is None else prevalence
        fpr, fnr = alarm[:, pick][:, ~y[pick]].mean(1), 1 - alarm[:, pick][:, y[pick]].mean(1)
        return fpr * (1 - here) / here + 8 * fnr

    def resampled():
        groups = (rows,) if prevalence is None else (rows[y], rows[~y])
        return scores(np.concatenate([rng.choice(group, len(group)) for group in groups]))

    draws = [1 - b / a for a, b in (resampled() for _ in range(2000))]
    assert_allclose([ours.low, ours.high], np.quantile(draws, [0.025, 0.975]), atol=0.025)
    assert_allclose(ours.cost_scores, scores(rows))
    assert_allclose(ours.saving, 1 - ours.cost_scores[1] / ours.cost_scores[0])
    assert ours.guarantee.startswith(guarantee)


def cases(counts):
    "Labels, decisions a and b from counts of the eight kinds."
    code = np.repeat(np.arange(8), np.ravel(counts))
    return code // 4, code // 2 % 2, code % 2


def test_an_unseen_miss_is_possible():
    "FINDINGS A10: 20 against 5 false alarms among 1,000, no miss seen, a miss costs 100."
    found = paired_saving(*cases(np.array([880, 0, 15, 5, 0, 0, 0, 100])), 100.0)
    assert found.saving == pytest.approx(0.75) and found.low < -10 and found.high > 0.98
    assert found.p_value == 1


@pytest.mark.parametrize("prevalence, size", [(None, 30), (None, 400), (0.2, 150)])
def test_the_ends_are_where_the_test_of_a_level_has_the_tail(prevalence, size):
    """The interval's levels m, put into `difference` as a factor: C_b against (1 - m) C_a; so 0 is left out
    where equal costs are rejected."""
    n = np.random.default_rng(size).multinomial(size, [0.4, 0.04, 0.1, 0.04, 0.02, 0.15, 0.02, 0.23]) + 1
    priors = prevalence and [1 - prevalence, prevalence]
    found = paired_saving(*cases(n), 3.0, prevalence=prevalence, confidence=0.9)
    test = lambda level: difference(n.reshape(2, 2, 2).swapaxes(-1, -2), [[0, 1], [3, 0]], priors=priors,
                                    factor=1 - level, confidence=0.9)
    for end in (found.low, found.high):
        assert test(end).p_value == pytest.approx(0.1, abs=1e-6)
    assert found.p_value == pytest.approx(test(0).p_value, rel=1e-6, abs=1e-9)
    assert (found.low > 0 or found.high < 0) == test(0).rejects == (found.p_value < 0.1)


def test_the_same_threshold_saves_nothing_and_equal_decisions_may(sample):
    y, s = sample
    same = held_out_saving(y, s, 1.0, [1.0, 0.5], [1.0, 3.0])
    assert same.saving[0] == same.low[0] == same.high[0] == 0 < same.high[1] - same.low[1]
    alone = held_out_saving(y, s, 1.0, 0.5, 3.0)  # many thresholds at once are each by itself
    for name in ("saving", "low", "high"):
        assert_allclose(getattr(same, name)[1], getattr(alone, name), rtol=1e-9)
    equal = paired_saving(y, s > 1, s > 1, [1.0, 3.0])
    assert_array_equal(equal.saving, [0, 0])
    assert (equal.low < 0).all() and (equal.high > 0).all() and (equal.p_value == 1).all()


def test_a_saving_against_nothing_is_minus_infinity_never_nan():
    y = np.repeat([0, 1], 10)
    perfect, worse = y.copy(), y.copy()
    perfect[3], worse[[3, 4, 5]] = 1, 1
    found = paired_saving(y, perfect, worse, 5.0)
    assert np.isfinite([found.saving, found.low, found.high]).all() and found.low < -2
    nothing = paired_saving(y, y, worse, 5.0)
    assert nothing.saving == nothing.low == -np.inf and nothing.cost_scores[0] == 0 and nothing.high < 1
    for prevalence in (None, 0.3):
        both = paired_saving(y, y, y, 5.0, prevalence=prevalence)
        assert (both.saving, both.low, both.high) == (0, -np.inf, 1)


def test_infinite_thresholds_are_nobody_and_everybody(sample):
    y, s = sample
    assert_allclose(held_out_saving(y, s, np.inf, -np.inf, 9.0).cost_scores, [9, (1 - y.mean()) / y.mean()])


# ---- several classes


def test_averages_against_scikit_learn():
    y, d = np.random.default_rng(2).integers(5, size=(2, 400))
    matrices, r = sk.multilabel_confusion_matrix(y, d), np.array([1.0, 2, 3, 4, 5])
    each = (matrices[:, 0, 1] + r * matrices[:, 1, 0]) / matrices[:, 1].sum(1)
    counts = sk.confusion_matrix(y, d)
    support = counts.sum(1)
    assert_allclose(multiclass_cost_score(counts, r, average=None), each)
    expected = {"macro": each.mean(), "weighted": np.average(each, weights=support),
                "harmonic": 1 / np.mean(1 / each), "micro": (each * support).sum() / support.sum()}
    for average, value in expected.items():
        assert_allclose(multiclass_cost_score(counts, r, average=average), value)
        assert_allclose(multilabel_cost_score(matrices, r, average=average), value)
    binary = multiclass_cost_score([[90, 10], [3, 7]], 4.0, average=None)[1]
    assert_allclose(binary, cost_score_from_precision(7 / 17, 0.7, 4.0))


def test_an_empty_class_is_nan_and_a_perfect_one_makes_the_harmonic_mean_zero():
    assert np.isnan(multiclass_cost_score([[3, 1, 0], [0, 2, 0], [0, 0, 0]], 1.0))
    assert multiclass_cost_score([[3, 0, 0], [0, 2, 1], [0, 1, 2]], 1.0, average="harmonic") == 0


# ---- what no table of counts can have, nor a threshold be tuned on

test_impossible_values_are_refused = refuses([
    (lambda: cost_score_from_precision(50, 0.5, 1), "percentages"),
    (lambda: cost_score_from_precision(0, 0.5, 1), "impossible"),
    (lambda: cost_score_from_precision(np.nan, 0.5, 1), "without alarms"),
    (lambda: tune_threshold([0, 0], [1, 2], 1), "no case of class 1"),
    (lambda: tune_threshold([0, 1], [1, 2], 1, sample_weight=[1, 0]), "class 1 have weight 0"),
    (lambda: paired_saving([0, 0], [0, 1], [0, 1], 1), "no positive"),
    (lambda: paired_saving([1, 1], [0, 1], [0, 1], 1, prevalence=0.5), "class 0"),
    (lambda: held_out_saving([0, 1], [0, 1], np.nan, 0.5, 1), "threshold_a"),
    (lambda: multilabel_cost_score([[1, 2], [1, 2]], 1), "a label"),
])
