"""Curves, the Directed Binary Tree and its percentiles: against scikit-learn, simulation, integration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from conftest import refuses
from cost_eval import curves as cv

sk = pytest.importorskip("sklearn.metrics")

prevalences = st.floats(0.01, 0.99)


def scored(n=300, seed=7, shift=1.0, prevalence=0.3):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prevalence
    return y, np.round(rng.normal(size=n) + shift * y, 1)  # with ties


# ---- curves


@given(st.integers(0, 2**32 - 1), st.integers(2, 60))
def test_curves_agree_with_scikit_learn(seed, n):
    rng = np.random.default_rng(seed)
    y = np.append(rng.random(n) < 0.4, [True, False])
    scores = rng.integers(0, 8, n + 2) / 2  # many ties
    roc, pr = (cv.performance_curve(y, scores, kind) for kind in ("roc", "pr"))
    assert roc.auc() == pytest.approx(sk.roc_auc_score(y, scores))
    assert roc.auc("trapezoid") == pytest.approx(roc.auc())
    assert pr.auc("step") == pytest.approx(sk.average_precision_score(y, scores))
    gain = cv.performance_curve(y, scores, "gain")
    assert gain.auc() == pytest.approx(gain.prevalence / 2 + (1 - gain.prevalence) * roc.auc())
    lift = cv.performance_curve(y, scores, "lift")
    np.testing.assert_allclose(lift.x, [(scores >= t).mean() for t in lift.thresholds])
    np.testing.assert_allclose(lift.y[1:], [y[scores >= t].mean() / y.mean() for t in lift.thresholds[1:]])
    for kind in cv.CURVES:
        c = cv.performance_curve(y, scores, kind)
        low, high = cv.worst_auc(kind, c.prevalence), cv.ideal_auc(kind, c.prevalence)
        assert low - 1e-9 <= c.auc() <= high + 1e-9
        assert cv.normalized_auc(kind, c.auc(), c.prevalence) <= 1 + 1e-9


@pytest.mark.parametrize("kind", cv.CURVES)
def test_an_exact_area_is_that_of_many_short_chords(kind):
    rng = np.random.default_rng(3)
    fpr, recall = (np.sort(np.append(rng.random(4), [0, 1])) for _ in range(2))
    fine = [np.interp(np.linspace(0, 5, 50_001), np.arange(6), r) for r in (fpr, recall)]
    chords = cv.curve_auc(kind, *fine, 0.2, rule="trapezoid")
    assert chords == pytest.approx(cv.curve_auc(kind, fpr, recall, 0.2), abs=1e-4)


def test_value_of_a_curve_between_its_points():
    y, s = np.array([1, 1, 0, 1, 0, 0]), np.array([5, 4, 3, 3, 2, 1.0])
    pr, roc = cv.performance_curve(y, s, "pr"), cv.performance_curve(y, s)
    assert pr.at(1.0)[0] == pytest.approx(3 / 4)
    assert pr.at(2 / 3)[0] == pytest.approx(1)
    assert pr.at(5 / 6)[1] == pytest.approx(1 / 6)  # half way along the tie
    assert roc.at(0.0)[0] == pytest.approx(2 / 3) and roc.at(1.0)[0] == 1


def test_ideal_and_worst_areas_by_numerical_integration():
    for pi in (0.05, 0.3, 0.8):
        lift = integrate.quad(lambda q: min(q / pi, 1) / q, 0, 1, points=[pi])[0]
        worst = integrate.quad(lambda q: max(q - 1 + pi, 0) / pi / q, 0, 1, points=[1 - pi])[0]
        assert (cv.ideal_auc("lift", pi), cv.worst_auc("lift", pi)) == pytest.approx((lift, worst), abs=1e-6)
        worst_pr = integrate.quad(lambda x: pi * x / (pi * x + 1 - pi), 0, 1)[0]
        assert cv.worst_auc("pr", pi) == pytest.approx(worst_pr, abs=1e-9)


# ---- the tree


def test_sampler_is_reproducible_and_uniform_at_the_root():
    fpr, fnr = cv.sample_directed_binary_tree(20_000, 3, rng=5)
    np.testing.assert_array_equal(fpr, cv.sample_directed_binary_tree(20_000, 3, rng=5)[0])
    assert fpr.shape == fnr.shape == (20_000, 9)
    assert (np.diff(fpr) >= 0).all() and (np.diff(fnr) <= 0).all()
    for root in (fpr[:, 4], fnr[:, 4], fpr[:, 2] / fpr[:, 4]):
        assert stats.kstest(root, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(fpr[:, 4], fnr[:, 4])[0, 1]) < 0.03


def test_cached_draw_has_the_exact_moments():
    areas = cv._area("roc", *cv._tree_draw(cv._CURVES_DRAWN), 0.5)
    assert areas.mean() == pytest.approx(0.5, abs=1e-3)
    assert areas.var() == pytest.approx(3 / 56, abs=3e-4)


AREAS = [("pr", 0.354, 0.09), ("lift", 1.8, 0.3), ("roc", 0.8, 0.2)]


@pytest.mark.parametrize("curve, auc, prevalence", AREAS)
def test_area_scores_against_plain_monte_carlo(curve, auc, prevalence):
    areas = cv.sample_tree_aucs([curve], prevalence, 40_000, depth=7, rng=3)[0]
    score, error = cv.outperformance_curve_auc(curve, auc, prevalence, return_error=True)
    assert error < 0.002
    assert score == pytest.approx(np.mean(areas < auc), abs=4 * 0.5 / 200)
    if curve == "roc":
        of_gain = prevalence / 2 + (1 - prevalence) * auc
        assert cv.outperformance_curve_auc("gain", of_gain, prevalence) == pytest.approx(score, abs=1e-12)


# ---- points


def test_point_table_solves_its_equation():
    "The fixed-point equation itself, by two-dimensional quadrature."
    share, loose = cv._point_share, dict(epsabs=2e-5, epsrel=1e-4)

    def right_side(t, u):
        upper = integrate.dblquad(lambda r, a: share(t / a, u / r), t, 1, u, 1, **loose)[0]
        outer = lambda r, a: share((t - a) / (1 - a), (u - r) / (1 - r))
        lower = integrate.dblquad(outer, 0, t, 0, u, **loose)[0]
        return t * (1 - u) + upper + lower

    assert right_side(0.3, 0.6) == pytest.approx(float(share(0.3, 0.6)), abs=1e-4)


@pytest.mark.parametrize("t, u", [(0.5, 0.8), (0.02, 0.2), (0.7, 0.4)])
def test_points_against_curves(t, u):
    fpr, recall = cv._grow(np.random.default_rng(4), 20_000, 8)
    at_t = [np.interp(t, *points) for points in zip(fpr.T, recall.T)]
    got = cv.outperformance_curve_point("roc", t, u, 0.5)
    assert got == pytest.approx(np.mean(np.array(at_t) < u), abs=4 * 0.5 / np.sqrt(20_000))


@given(st.floats(1e-4, 0.9999), st.floats(1e-4, 0.9999), prevalences)
def test_one_point_has_one_score(t, u, pi):
    q, tp = pi * u + (1 - pi) * t, pi * u
    expected = cv.outperformance_curve_point("roc", t, u, pi)
    assert expected == pytest.approx(1 - cv.outperformance_curve_point("roc", u, t, pi), abs=1e-5)
    for curve, x, y in (("pr", u, tp / q), ("lift", q, u / q), ("gain", q, u)):
        assert cv.outperformance_curve_point(curve, x, y, pi) == pytest.approx(expected, abs=1e-5)


# y that no classifier reaches at this x: (curve, x, prevalence, y refused, the end y that is not)
WORST = 0.1 * 0.6 / (0.1 * 0.6 + 0.9)  # the precision when every negative is alarmed
REACHED = [("pr", 0.6, 0.1, WORST * (1 - 1e-3), WORST * (1 + 1e-6)), ("lift", 0, 0.1, 10.1, 10),
           ("lift", 0, 0.1, -0.1, 0), ("gain", 0.95, 0.1, 0.49, 0.5), ("gain", 0.05, 0.1, 0.6, 0.5)]


@pytest.mark.parametrize("curve, x, prevalence, beyond, end", REACHED)
def test_points_that_no_classifier_reaches_are_refused(curve, x, prevalence, beyond, end):
    assert 0 <= cv.outperformance_curve_point(curve, x, end, prevalence) <= 1
    with pytest.raises(ValueError, match=r"y: .* is outside \["):
        cv.outperformance_curve_point(curve, x, beyond, prevalence)


def test_ends_of_the_square():
    got = cv._point_share([0.3, 0, 1, 0.3, 0.3], [0.3, 0.5, 0.5, 0, 1])
    np.testing.assert_allclose(got, [0.5, 0, 1, 1, 0], atol=1e-6)


def test_standardized_curve():
    for kind in cv.CURVES:
        c = cv.performance_curve(*scored(500, 6), kind)
        x, scores = cv.outperformance_curve(c)
        direct = cv.outperformance_curve_point(kind, x, c.at(x)[0], c.prevalence)
        np.testing.assert_allclose(scores[:-1], direct[:-1], atol=1e-6)
        assert len(cv.outperformance_curve(c, [0.2, 0.4])[0]) == 2


test_what_is_no_curve_is_refused = refuses([
    (lambda: cv.outperformance_curve_auc("pr", 0.5, 0.1, n_curves=20), "multiple of 16"),
    (lambda: cv.performance_curve([0, 1], [0.1, 0.2]).at(1.5), "x: 1.5 is outside"),
    (lambda: cv.curve_auc("pr", [0, 0.5, 0.2, 1], [0, 0.1, 0.2, 1], 0.5), "fpr: must rise"),
    (lambda: cv.curve_auc("pr", [0, 1], [0, 0.9], 0.5), "recall: must rise from 0 to 1"),
])


@pytest.mark.parametrize("curve", ["pr", "lift"])
@pytest.mark.parametrize("prevalence", [1e-12, 1e-9, 1e-5, .3])
def test_areas_at_a_tiny_prevalence(curve, prevalence):
    """The worst ranking's area is half the prevalence there, not a difference of two numbers near 1."""
    area = cv.curve_auc(curve, [0, 1, 1], [0, 0, 1], prevalence)
    assert area == pytest.approx(sum(prevalence**k / (k * (k + 1)) for k in range(1, 60)), rel=1e-3)
    assert cv.worst_auc(curve, prevalence) == pytest.approx(area, rel=1e-3)
    assert cv.normalized_auc(curve, area, prevalence) >= 0
