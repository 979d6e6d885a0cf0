"""The cost score: against counts, scikit-learn, brute force and closed forms, its options, its pictures, bad
input."""


import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from conftest import refuses
from cost_eval import metrics
from cost_eval.bootstrap import difference
from cost_eval.confusion import BinaryCounts
from cost_eval.cost_score import (
    cost_score_from_precision,
    cost_score_from_rates,
    f1_cost,
    held_out_saving,
    isocost_precision,
    isocost_slope,
    multiclass_cost_score,
    multilabel_cost_score,
    paired_saving,
    plot_isocost,
    tune_threshold,
)
from cost_eval.confusion import confusion_counts
import pandas as pd

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
    assert 0 < score <= (1 - c.prevalence) / c.prevalence + r + 1e-9


@given(share, ratio, st.floats(0.05, 20), ratio)
def test_contours(recall, r, level, other):
    p = isocost_precision(recall, level, r)
    if np.isnan(p):  # no precision in (0, 1] gives that score
        assert level < r * (1 - recall) * (1 + 1e-9)
        return
    assert_allclose(cost_score_from_precision(p, recall, r), level, rtol=1e-6, atol=1e-9)
    assert np.sign(isocost_slope(recall, level, r)) == np.sign(level - r)
    assert_allclose(isocost_precision(recall, other, other), 1 / (1 + other), rtol=1e-9)


def test_slope_is_the_derivative():
    recall, level, r = np.array([0.4, 0.6, 0.8]), np.array([3.0, 0.9, 5.0]), np.array([2.0, 1.5, 5.0])
    step = 1e-6
    ends = [isocost_precision(recall + d, level, r) for d in (-step, step)]
    assert_allclose(isocost_slope(recall, level, r), (ends[1] - ends[0]) / (2 * step), rtol=1e-5, atol=1e-9)


@given(st.floats(0.2, 20), st.floats(0.05, 0.95))
def test_a_concave_curve_has_one_cheapest_point(r, part):
    """The chapter's theorem on a quarter ellipse, by a fine grid: scores fall up to the optimum and rise
    after it."""
    recall = np.linspace(0.01, 1, 4001)
    precision = 0.2 + 0.75 * np.sqrt(np.maximum(1 - (part * recall) ** 2, 0))
    score = cost_score_from_precision(precision, recall, r)
    if score.min() >= r:
        return
    below = np.flatnonzero(score < score.min() + 1e-7 * r)
    assert np.ptp(recall[below]) < 0.05


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
    thresholds = np.r_[np.unique(s), np.inf]
    decided = s >= thresholds[:, None]
    weight = np.ones(len(y)) if w is None else w
    fp, fn = decided @ (weight * ~y), ~decided @ (weight * y)
    scores = (fp + ratios[:, None] * fn) / (weight * y).sum()
    assert_allclose(tuned.cost_score, scores.min(1))
    rows = zip(tuned.threshold, tuned.low, tuned.high, tuned.precision, tuned.recall)
    for t, low, high, p, r in rows:
        assert low < t <= high and not ((s > low) & (s < high)).any()
        expected = [f(y, s >= t, sample_weight=w) for f in (sk.precision_score, sk.recall_score)]
        assert_allclose([p, r], expected)


def test_of_equal_thresholds_the_highest():
    tuned = tune_threshold(
        [1, 0, 1, 0], [4.0, 3, 2, 1], 1.0
    )  # two alarms more, one hit and one false: no gain
    assert tuned.high == 4 and tuned.cost_score == 0.5


def fields(record):
    return [
        getattr(record, name) for name in ("threshold", "low", "high", "precision", "recall", "cost_score")
    ]


def test_target_prevalence_is_a_weight(sample):
    y, s = sample
    w = np.where(y, 0.4 / y.mean(), 0.6 / (1 - y.mean()))
    moved = tune_threshold(y, s, [0.5, 5.0], prevalence=0.4)
    weighted = tune_threshold(y, s, [0.5, 5.0], sample_weight=w)
    for a, b in zip(fields(moved), fields(weighted)):
        assert_allclose(a, b)
    assert not np.allclose(moved.cost_score, tune_threshold(y, s, [0.5, 5.0]).cost_score)


def test_calibrated_scores_need_no_tuning():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 4, 400_000)
    y = rng.random(len(p)) < p
    for r in (0.5, 2, 10):
        here = metrics.cost_score(BinaryCounts.from_labels(y, p >= 1 / (1 + r)), r)
        assert here <= tune_threshold(y, p, r).cost_score * 1.003


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=3, max_size=40))
@settings(max_examples=40, deadline=None)
def test_the_threshold_of_the_largest_f1_is_the_cheapest_at_its_own_ratio(cases):
    "Equation (30.8), for any scores: 2/F - 1."
    y, s = (np.array(v) for v in zip(*cases))
    if y.all() or not y.any():
        return
    best = max(sk.f1_score(y, s >= t) for t in np.unique(s))
    if best == 1:
        return
    at = [t for t in np.unique(s) if np.isclose(sk.f1_score(y, s >= t), best)]
    r = 2 / best - 1
    for t in at:
        score = metrics.cost_score(BinaryCounts.from_labels(y, s >= t), r)
        assert_allclose(score, tune_threshold(y, s, r).cost_score)


# ---- savings


def test_saving_interval_against_resampled_cases(sample):
    "Of 3,000 cases, with all disagreements seen, it is near the bootstrap's, and a little wider."
    y, s = sample
    ours = held_out_saving(y, s, 1.5, 0.5, 8.0)
    rng, n = np.random.default_rng(1), len(y)
    cost = np.stack([np.where(y, 8.0 * (s < t), s >= t) for t in (1.5, 0.5)])
    draws = [1 - np.divide(*cost[::-1][:, rng.integers(n, size=n)].mean(1)) for _ in range(2000)]
    assert_allclose([ours.low, ours.high], np.quantile(draws, [0.025, 0.975]), atol=0.025)
    assert_allclose(ours.saving, 1 - cost[1].sum() / cost[0].sum())
    assert_allclose(ours.cost_scores, cost.sum(1) / y.sum())
    assert ours.guarantee.startswith("conjectured")


def test_saving_at_another_prevalence_against_resampled_classes(sample):
    y, s = sample
    ours = held_out_saving(y, s, 1.5, 0.5, 8.0, prevalence=0.4)
    rng, rows = np.random.default_rng(1), {k: np.flatnonzero(y == k) for k in (False, True)}

    def scores(pick):
        fpr = [(s[pick[False]] >= t).mean() for t in (1.5, 0.5)]
        fnr = [(s[pick[True]] < t).mean() for t in (1.5, 0.5)]
        return np.array(fpr) * 0.6 / 0.4 + 8 * np.array(fnr)

    assert_allclose(ours.cost_scores, scores(rows))
    draws = [scores({k: rng.choice(v, len(v)) for k, v in rows.items()}) for _ in range(2000)]
    draws = [1 - b / a for a, b in draws]
    assert_allclose([ours.low, ours.high], np.quantile(draws, [0.025, 0.975]), atol=0.025)
    assert ours.guarantee.startswith("measured")


def cases(counts):
    "Labels, decisions a and b from counts of the eight kinds."
    code = np.repeat(np.arange(8), np.ravel(counts))
    return code // 4, code // 2 % 2, code % 2


def test_an_unseen_miss_is_possible():
    "FINDINGS A10: 20 against 5 false alarms among 1,000, no miss seen, a miss costs 100."
    n = np.array([880, 0, 15, 5, 0, 0, 0, 100])
    found = paired_saving(*cases(n), 100.0)
    assert found.saving == pytest.approx(0.75) and found.low < -10 and found.high > 0.98
    assert found.p_value == difference(n.reshape(2, 2, 2), [[0, 1], [100, 0]]).p_value == 1


@pytest.mark.parametrize("prevalence", [None, 0.03])
def test_a_saving_leaves_out_0_exactly_where_equal_costs_are_rejected(prevalence):
    rng, seen = np.random.default_rng(0), []
    for _ in range(30 if prevalence is None else 4):
        size, ratio_here = rng.choice([12, 60, 400]), rng.choice([0.1, 1.0, 7.0, 300.0])
        n = rng.multinomial(size, rng.dirichlet([2, 0.2, 0.6, 0.2, 0.1, 0.6, 0.1, 0.5])) + [1, 0, 0, 0, 0, 0,
                0, 1]
        costs = [[0, 1], [ratio_here, 0]]
        priors = prevalence and [1 - prevalence, prevalence]
        confidence = rng.choice([0.5, 0.9])
        test = difference(n.reshape(2, 2, 2), costs, priors=priors, confidence=confidence)
        found = paired_saving(*cases(n), ratio_here, prevalence=prevalence, confidence=confidence)
        assert found.p_value == pytest.approx(test.p_value, rel=1e-6, abs=1e-9)
        out = found.low > 0 or found.high < 0
        assert out == test.rejects == (found.p_value < 1 - confidence)
        assert -np.inf <= found.low <= found.saving <= found.high <= 1 or np.isinf(found.saving)
        seen.append(out)
    assert prevalence is not None or 0 < np.mean(seen) < 1


def test_the_ends_are_where_the_test_of_a_level_has_the_tail():
    "The interval's levels m, put into `difference` as a factor: C_b against (1 - m) C_a."
    n = np.array([[[60, 4], [9, 6]], [[3, 2], [5, 30]]])
    for priors, prevalence in ((None, None), ([0.8, 0.2], 0.2)):
        found = paired_saving(*cases(n), 3.0, prevalence=prevalence, confidence=0.9)
        for end in (found.low, found.high):
            swapped = np.swapaxes(n, -1, -2)
            at = difference(swapped, [[0, 1], [3, 0]], priors=priors, factor=1 - end)
            assert at.p_value == pytest.approx(0.1, abs=1e-6)


def test_saving_covers_the_true_one_in_small_test_sets():
    "60 test sets of 30 cases, with errors in every disagreement."
    p = np.array([0.6, 0.03, 0.07, 0.0, 0.1, 0.08, 0.02, 0.1])
    truth, held, r = 1 - (p[1] + 5 * (p[4] + p[6])) / (p[2] + 5 * (p[4] + p[5])), [], 5.0
    rng = np.random.default_rng(0)
    for n in rng.multinomial(30, p, 60):
        if n[4:].any():
            found = paired_saving(*cases(n), r)
            held.append(found.low <= truth <= found.high)
    assert np.mean(held) > 0.92


def test_many_thresholds_at_once_are_each_by_itself(sample):
    y, s = sample
    ratios = np.array([0.5, 2.0, 8.0])
    tuned = tune_threshold(y[:1500], s[:1500], ratios)
    together = held_out_saving(y[1500:], s[1500:], 1.5, tuned.threshold, ratios)
    for k, r in enumerate(ratios):
        decisions = s[1500:] >= 1.5, s[1500:] >= tuned.threshold[k]
        alone = paired_saving(y[1500:], *decisions, r)
        assert_allclose([together.saving[k], *together.cost_scores[:, k]], [alone.saving, *alone.cost_scores])
        assert_allclose([together.low[k], together.high[k]], [alone.low, alone.high], rtol=1e-9)


def test_the_same_threshold_saves_nothing_and_equal_decisions_may(sample):
    y, s = sample
    assert held_out_saving(y, s, 1.0, 0.5, 3.0) == held_out_saving(y, s, 1.0, 0.5, 3.0)
    same = held_out_saving(y, s, 1.0, [1.0, 0.5], [1.0, 3.0])
    assert same.saving[0] == same.low[0] == same.high[0] == 0 < same.high[1] - same.low[1]
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
    both = paired_saving(y, y, y, 5.0)
    assert both.saving == 0 and both.low == -np.inf and both.high == 1
    by_class = paired_saving(y, y, y, 5.0, prevalence=0.3)
    assert by_class.saving == 0 and by_class.low == -np.inf and by_class.high == 1


def test_classes_are_one_sample_unless_the_prevalence_is_given():
    "Silence against alarms for everybody: their costs are the class sizes, which vary or are given."
    y = np.repeat([0, 1], [3000, 1000])
    free = paired_saving(y, 0 * y, 0 * y + 1, 5.0)
    fixed = paired_saving(y, 0 * y, 0 * y + 1, 5.0, prevalence=0.25)
    assert free.saving == pytest.approx(0.4) == fixed.saving
    assert free.low < 0.37 and free.high > 0.43
    assert fixed.low > 0.39 and fixed.high < 0.41


def test_infinite_thresholds_are_nobody_and_everybody(sample):
    y, s = sample
    found = held_out_saving(y, s, np.inf, -np.inf, 9.0)
    assert_allclose(found.cost_scores, [9, (1 - y.mean()) / y.mean()])


# ---- several classes


def test_averages_against_scikit_learn():
    rng = np.random.default_rng(2)
    y, d = rng.integers(5, size=(2, 400))
    matrices, r = sk.multilabel_confusion_matrix(y, d), np.array([1.0, 2, 3, 4, 5])
    each = (matrices[:, 0, 1] + r * matrices[:, 1, 0]) / matrices[:, 1].sum(1)
    counts = sk.confusion_matrix(y, d)
    support = counts.sum(1)
    assert_allclose(multiclass_cost_score(counts, r, average=None), each)
    expected = {
        "macro": each.mean(),
        "weighted": np.average(each, weights=support),
        "harmonic": 1 / np.mean(1 / each),
        "micro": (each * support).sum() / support.sum(),
    }
    for average, value in expected.items():
        assert_allclose(multiclass_cost_score(counts, r, average=average), value)
        assert_allclose(multilabel_cost_score(matrices, r, average=average), value)
        assert_allclose(
            multiclass_cost_score(np.stack([counts, 2 * counts]), r, average=average), [value] * 2
        )
    binary = multiclass_cost_score([[90, 10], [3, 7]], 4.0, average=None)[1]
    assert_allclose(binary, cost_score_from_precision(7 / 17, 0.7, 4.0))


def test_labels_travel():
    y = ["ward", "icu", "home", "icu", "ward", "home", "home"]
    d = ["ward", "home", "home", "icu", "icu", "home", "ward"]
    counts = confusion_counts(y, d)
    by_label = {"icu": 10.0, "home": 1.0, "ward": 3.0}
    in_order = [by_label[label] for label in counts.classes]
    right = multiclass_cost_score(counts.array, in_order)
    assert (
        multiclass_cost_score(counts, by_label) == right == multiclass_cost_score(counts, pd.Series(by_label))
    )
    with pytest.raises(ValueError, match="icu.*ward"):
        multiclass_cost_score(counts, {"icu": 1.0, "home": 1.0, "bed": 1.0})


def test_an_empty_class_is_nan():
    assert np.isnan(multiclass_cost_score([[3, 1, 0], [0, 2, 0], [0, 0, 0]], 1.0))


def test_a_perfect_class_makes_the_harmonic_mean_zero():
    assert multiclass_cost_score([[3, 0, 0], [0, 2, 1], [0, 1, 2]], 1.0, average="harmonic") == 0


# ---- pictures


# ---- bad input

BAD = [
    (lambda: cost_score_from_precision(0.5, 0.5, 0), "cost_ratio"),
    (lambda: cost_score_from_precision(50, 0.5, 1), "percentages"),
    (lambda: cost_score_from_precision(0, 0.5, 1), "impossible"),
    (lambda: cost_score_from_precision(np.nan, 0.5, 1), "without alarms"),
    (lambda: f1_cost(-1), "f1"),
    (lambda: tune_threshold([0, 0], [1, 2], 1), "no case of class 1"),
    (lambda: tune_threshold([1, 1], [1, 2], 1), "no case of class 0"),
    (lambda: tune_threshold([0, 1, 2], [1, 2, 3], 1), "y_true"),
    (lambda: tune_threshold([0, 1], [1, 2], 1, sample_weight=[1, 0]), "class 1 have weight 0"),
    (lambda: tune_threshold([0, 1], [1, 2], 1, sample_weight=[0, 1]), "class 0 have weight 0"),
    (lambda: paired_saving([0, 1], [0, 1], [0], 1), "decisions_b"),
    (lambda: paired_saving([0, 0], [0, 1], [0, 1], 1), "no positive"),
    (lambda: paired_saving([1, 1], [0, 1], [0, 1], 1, prevalence=0.5), "class 0"),
    (lambda: held_out_saving([0, 1], [0, 1], np.nan, 0.5, 1), "threshold_a"),
    (lambda: held_out_saving([0, 1], [0, 1], 0.5, [0.1, 0.2], 1), "threshold_b"),
    (lambda: multiclass_cost_score([[1, 2], [1, 2]], [1, 2, 3]), "cost_ratios"),
    (lambda: multilabel_cost_score([[1, 2], [1, 2]], 1), "a label"),
    (lambda: plot_isocost(1, y_true=[0, 1]), "both or neither"),
    (lambda: plot_isocost([1, 2]), "cost_ratio"),
]


test_bad_input = refuses(BAD)
