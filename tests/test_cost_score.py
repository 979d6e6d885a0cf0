"""The cost score: against counts, scikit-learn, brute force and closed forms, and its properties."""
import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr

from cost_eval import metrics
from cost_eval.confusion import BinaryCounts
from cost_eval.cost_score import (cost_score, cost_score_from_rates, explore_isocost, f1_cost, held_out_saving, isocost_precision, isocost_slope,
                                  lowest_precision, multiclass_cost_score, multilabel_cost_score, paired_saving, plot_isocost, plot_threshold_cost, tune_threshold)

cells = st.integers(1, 10_000)
ratio = st.floats(.01, 100)
share = st.floats(.01, .99)


@pytest.fixture
def sample():
    rng = np.random.default_rng(3)
    y = rng.random(3000) < .15
    return y, np.round(rng.normal(1.5 * y), 1)  # many ties


# ---- the score

@given(cells, cells, cells, cells, ratio)
def test_is_an_expected_cost_in_other_units(tp, fp, fn, tn, r):
    c = BinaryCounts(tp, fp, fn, tn)
    score = cost_score(c.precision, c.tpr, r)
    assert_allclose(score, (fp + r * fn) / (tp + fn), rtol=1e-9)
    assert_allclose(score, cost_score_from_rates(c.tpr, c.fpr, c.prevalence, r) / c.prevalence, rtol=1e-9)
    assert_allclose(score, cost_score_from_rates(c.tpr, c.fpr, c.prevalence, r, per="positive"), rtol=1e-9)
    assert_allclose(score * c.prevalence * 7, metrics.expected_cost(c, [[0, 7], [7 * r, 0]]), rtol=1e-9)
    assert 0 < score <= (1 - c.prevalence) / c.prevalence + r + 1e-9
    assert c.precision >= lowest_precision(c.tpr, c.prevalence) - 1e-12


@given(share, ratio, st.floats(.05, 20), ratio)
def test_contours(recall, r, level, other):
    p = isocost_precision(recall, level, r)
    if np.isnan(p):  # no precision in (0, 1] gives that score
        assert level < r * (1 - recall) * (1 + 1e-9)
        return
    assert_allclose(cost_score(p, recall, r), level, rtol=1e-6, atol=1e-9)
    assert np.sign(isocost_slope(recall, level, r)) == np.sign(level - r)
    assert_allclose(isocost_precision(recall, other, other), 1 / (1 + other), rtol=1e-9)


def test_slope_is_the_derivative():
    recall, level, r = np.array([.4, .6, .8]), np.array([3., .9, 5.]), np.array([2., 1.5, 5.])
    step = 1e-6
    difference = (isocost_precision(recall + step, level, r) - isocost_precision(recall - step, level, r)) / (2 * step)
    assert_allclose(isocost_slope(recall, level, r), difference, rtol=1e-5, atol=1e-9)


def test_where_nobody_is_predicted_positive():
    assert cost_score(np.nan, 0, 3) == cost_score(1, 0, 3) == 3
    assert np.isnan(cost_score(0, 0, 3))
    assert_array_equal(cost_score([1, np.nan], [1, 0], 3), [0, 3])


def test_f1_cost():
    y, d = np.array([1, 1, 1, 0, 0, 1]), np.array([1, 0, 1, 1, 0, 1])
    assert_allclose(f1_cost(sk.f1_score(y, d)), 2 / (2 * 3))
    assert f1_cost(0) == np.inf


# ---- thresholds

@pytest.mark.parametrize("weighted", [False, True])
def test_the_threshold_is_the_best_of_all(sample, weighted):
    y, s = sample
    w = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    ratios = np.geomspace(.05, 50, 9)
    tuned = tune_threshold(y, s, ratios, sample_weight=w)
    thresholds = np.r_[np.unique(s), np.inf]
    decided = s >= thresholds[:, None]
    weight = np.ones(len(y)) if w is None else w
    fp, fn = decided @ (weight * ~y), ~decided @ (weight * y)
    scores = (fp + ratios[:, None] * fn) / (weight * y).sum()
    assert_allclose(tuned.cost_score, scores.min(1))
    for t, low, high, p, r in zip(tuned.threshold, tuned.low, tuned.high, tuned.precision, tuned.recall):
        assert low < t <= high and not ((s > low) & (s < high)).any()
        assert_allclose([p, r], [sk.precision_score(y, s >= t, sample_weight=w), sk.recall_score(y, s >= t, sample_weight=w)])


def test_of_equal_thresholds_the_highest():
    tuned = tune_threshold([1, 0, 1, 0], [4., 3, 2, 1], 1.)  # two alarms more, one hit and one false: no gain
    assert tuned.high == 4 and tuned.cost_score == .5


def test_weights_are_repetitions(sample):
    y, s = sample
    w = np.random.default_rng(1).integers(0, 3, len(y))
    for a, b in zip(tune_threshold(y, s, [.5, 5.], sample_weight=w), tune_threshold(np.repeat(y, w), np.repeat(s, w), [.5, 5.])):
        assert_allclose(a, b)


@given(st.permutations(range(30)), st.floats(.1, 10))
def test_order_and_monotone_transformations_do_not_matter(order, r):
    rng = np.random.default_rng(5)
    y, s = rng.random(30) < .4, rng.normal(size=30)
    a, b, c = tune_threshold(y, s, r), tune_threshold(y[list(order)], s[list(order)], r), tune_threshold(y, np.exp(s), r)
    for one, other in zip(a, b): assert_array_equal(one, other)
    assert_allclose([a.cost_score, a.recall], [c.cost_score, c.recall])


def test_dearer_misses_never_raise_the_threshold(sample):
    tuned = tune_threshold(*sample, np.geomspace(.01, 100, 60))
    assert (np.diff(tuned.threshold[np.isfinite(tuned.threshold)]) <= 0).all() and (np.diff(tuned.recall) >= 0).all()


def test_target_prevalence_is_a_weight(sample):
    y, s = sample
    w = np.where(y, .4 / y.mean(), .6 / (1 - y.mean()))
    moved, weighted = tune_threshold(y, s, [.5, 5.], prevalence=.4), tune_threshold(y, s, [.5, 5.], sample_weight=w)
    for a, b in zip(moved, weighted): assert_allclose(a, b)


def test_calibrated_scores_need_no_tuning():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 4, 400_000)
    y = rng.random(len(p)) < p
    for r in (.5, 2, 10):
        here = metrics.cost_score(BinaryCounts.from_labels(y, p >= 1 / (1 + r)), r)
        assert here <= tune_threshold(y, p, r).cost_score * 1.003


# ---- savings

def test_saving_interval_against_resampled_cases(sample):
    y, s = sample
    ours = held_out_saving(y, s, 1.5, .5, 8., rng=0)
    rng, n = np.random.default_rng(1), len(y)
    cost = np.stack([np.where(y, 8. * (s < t), s >= t) for t in (1.5, .5)])
    draws = np.array([1 - np.divide(*cost[::-1][:, rng.integers(n, size=n)].mean(1)) for _ in range(2000)])
    assert_allclose([ours.low, ours.high], np.quantile(draws, [.025, .975]), atol=.015)
    assert_allclose(ours.saving, 1 - cost[1].sum() / cost[0].sum())
    assert_allclose(ours.cost_scores, cost.sum(1) / y.sum())
    assert ours.distribution.shape == (10_000,)


def test_saving_of_weighted_cases_is_that_of_repeated_ones(sample):
    y, s = sample
    w = np.where(y, 1, 4)
    a, b = held_out_saving(y, s, 1.5, .5, [1., 8.], sample_weight=w, rng=0), held_out_saving(np.repeat(y, w), np.repeat(s, w), 1.5, .5, [1., 8.], rng=0)
    assert_allclose(a.saving, b.saving)
    assert_allclose(a.cost_scores, b.cost_scores)
    assert (a.high - a.low > b.high - b.low).all()  # four copies of a case are not four cases


def test_saving_is_reproducible_and_zero_against_itself(sample):
    y, s = sample
    a, b = (held_out_saving(y, s, 1., .5, 3., rng=7) for _ in range(2))
    assert_array_equal(a.distribution, b.distribution)
    same = paired_saving(y, s > 1, s > 1, [1., 3.], rng=0)
    assert_array_equal([same.saving, same.low, same.high], np.zeros((3, 2)))


# ---- several classes

def test_averages_against_scikit_learn():
    rng = np.random.default_rng(2)
    y, d = rng.integers(5, size=(2, 400))
    matrices, r = sk.multilabel_confusion_matrix(y, d), np.array([1., 2, 3, 4, 5])
    each = (matrices[:, 0, 1] + r * matrices[:, 1, 0]) / matrices[:, 1].sum(1)
    counts = sk.confusion_matrix(y, d)
    support = counts.sum(1)
    assert_allclose(multiclass_cost_score(counts, r, average=None), each)
    for average, value in (("macro", each.mean()), ("weighted", np.average(each, weights=support)), ("harmonic", 1 / np.mean(1 / each)),
                           ("micro", (each * support).sum() / support.sum())):
        assert_allclose(multiclass_cost_score(counts, r, average=average), value)
        assert_allclose(multilabel_cost_score(matrices, r, average=average), value)
        assert_allclose(multiclass_cost_score(np.stack([counts, 2 * counts]), r, average=average), [value, value])
    assert_allclose(multiclass_cost_score([[90, 10], [3, 7]], 4., average=None)[1], cost_score(7 / 17, .7, 4.))


def test_an_empty_class_is_nan():
    assert np.isnan(multiclass_cost_score([[3, 1, 0], [0, 2, 0], [0, 0, 0]], 1.))


# ---- pictures

def test_plots_show_the_optimum(sample):
    import matplotlib
    matplotlib.use("Agg")
    ax = plot_isocost(5., y_true=sample[0], scores=sample[1], prevalence=.05)
    best = tune_threshold(*sample, 5., prevalence=.05)
    dot = next(line for line in ax.lines if line.get_marker() == "o")
    assert_allclose([dot.get_xdata()[0], dot.get_ydata()[0]], [best.recall, best.precision])
    ax = plot_threshold_cost(*sample, [1., 5.])
    assert min(ax.lines[1].get_ydata()) == pytest.approx(tune_threshold(*sample, 5.).cost_score)


def test_widget_follows_its_sliders():
    widget = explore_isocost()
    sliders, image, table = widget.children
    before = image.value, table.value
    sliders.children[1].value = .4
    assert image.value != before[0] and table.value != before[1]
    pi, r = .4, 10**.5
    at = 1 + np.log((1 - pi) / (pi * r)) / 2
    assert f"{1000 * ((1 - pi) * ndtr(-at) + r * pi * ndtr(at - 2)):.1f}" in table.value


# ---- bad input

@pytest.mark.parametrize("call, message", [
    (lambda: cost_score(.5, .5, 0), "cost_ratio"), (lambda: cost_score(.5, .5, np.nan), "cost_ratio"), (lambda: cost_score(.5, .5, np.inf), "cost_ratio"),
    (lambda: cost_score(1.2, .5, 1), "precision"), (lambda: cost_score(.5, 1.2, 1), "recall"), (lambda: cost_score(0, .5, 1), "impossible"),
    (lambda: cost_score(np.nan, .5, 1), "precision"), (lambda: cost_score(.1, 1, 1, prevalence=.2), "least possible"),
    (lambda: cost_score_from_rates(1.1, .5, .2, 1), "tpr"), (lambda: cost_score_from_rates(.5, -1, .2, 1), "fpr"), (lambda: cost_score_from_rates(.5, .5, 1, 1), "prevalence"),
    (lambda: isocost_precision(.5, -1, 1), "cost_score"), (lambda: isocost_precision(2, 1, 1), "recall"), (lambda: f1_cost(-1), "f1"),
    (lambda: tune_threshold([0, 0], [1, 2], 1), "only class 0"), (lambda: tune_threshold([1, 1], [1, 2], 1), "only class 1"), (lambda: tune_threshold([], [], 1), "y_true"),
    (lambda: tune_threshold([0, 1], [1, np.nan], 1), "scores"), (lambda: tune_threshold([0, 1], [1, 2, 3], 1), "scores"), (lambda: tune_threshold([0, 1], [1, 2], -1), "cost_ratio"),
    (lambda: tune_threshold([0, 1], [1, 2], 1, prevalence=1.5), "prevalence"), (lambda: tune_threshold([0, 1], [1, 2], 1, sample_weight=[1, -1]), "sample_weight"),
    (lambda: paired_saving([0, 1], [0, 1], [0], 1), "decisions_b"), (lambda: paired_saving([0, 0], [0, 1], [0, 1], 1), "no positive"),
    (lambda: held_out_saving([0, 1], [0, 1], .5, .5, 1, confidence=95), "confidence"), (lambda: held_out_saving([0, 1], [0, 1], .5, .5, 1, n_resamples=10), "n_resamples"),
    (lambda: multiclass_cost_score([[1, 2, 3], [1, 2, 3]], 1), "counts"), (lambda: multiclass_cost_score([[1, -2], [1, 2]], 1), "counts"),
    (lambda: multiclass_cost_score([[1, 2], [1, 2]], [1, 2, 3]), "cost_ratios"), (lambda: multiclass_cost_score([[1, 2], [1, 2]], 1, average="median"), "average"),
    (lambda: multilabel_cost_score([[1, 2], [1, 2]], 1), "a label"), (lambda: plot_isocost(1, y_true=[0, 1]), "both or neither")])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message): call()
