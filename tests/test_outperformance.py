"""Outperformance scores against simulation, integration and enumeration, and what a percentile must be."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.interpolate import BSpline

from conftest import refuses
from cost_eval import outperformance as op
from cost_eval.confusion import BinaryCounts
from cost_eval.costs import CostMatrix
from cost_eval.metrics import METRICS

COSTS = CostMatrix.binary(fp=1, fn=4)
NAMES = sorted(METRICS)
prevalences = st.floats(0.01, 0.99)
rates = st.floats(0.01, 0.99)
names = st.sampled_from(NAMES)


def arguments(name):
    return {"costs": COSTS} if METRICS[name].needs_costs else {}


def value_at(name, prevalence, fpr, fnr):
    given = METRICS[name].parameters(**arguments(name))
    return METRICS[name].at_rates(np.subtract(1, fnr), fpr, prevalence, **given)


# ---- the score


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("prevalence", [0.03, 0.5, 0.8])
def test_against_a_fine_grid(name, prevalence):
    "The share of a 1000 x 1000 grid of midpoints, which errs by about the length of the border over 1000."
    grid = (np.arange(1000) + 0.5) / 1000
    values = value_at(name, prevalence, grid[:, None], grid[None, :])
    for q in (0.1, 0.5, 0.97):
        v = np.quantile(values, q)
        worse = np.mean(values < v) if METRICS[name].greater_is_better else np.mean(values > v)
        assert op.outperformance(name, v, prevalence, **arguments(name)) == pytest.approx(worse, abs=1.5e-3)


@given(names, prevalences)
def test_ends_of_the_range(name, prevalence):
    low, high = METRICS[name].limits(prevalence, **op._arguments(METRICS[name], arguments(name)))
    worst, best = (low, high) if METRICS[name].greater_is_better else (high, low)
    assert op.outperformance(name, best, prevalence, **arguments(name)) == pytest.approx(1, abs=1e-6)
    assert op.outperformance(name, worst, prevalence, **arguments(name)) == pytest.approx(0, abs=1e-6)


@given(names, prevalences, st.floats(0.001, 0.999))
@settings(max_examples=20, deadline=None)
def test_the_inverse(name, prevalence, score):
    value = op.outperformance_value(name, score, prevalence, **arguments(name))
    assert op.outperformance(name, value, prevalence, **arguments(name)) == pytest.approx(score, abs=1e-6)


def test_many_values_at_once_by_the_integral(monkeypatch):
    values, pis = np.random.default_rng(0).random((8, 1)), np.linspace(0.1, 0.9, 5)
    whole = op.outperformance("p4", values, pis)
    assert whole[2, 1] == pytest.approx(op.outperformance("p4", values[2, 0], pis[1]), abs=1e-9)
    monkeypatch.setattr("cost_eval.core.BLOCK_BYTES", 200_000)  # in several blocks
    np.testing.assert_array_equal(op.outperformance("p4", values, pis), whole)


def test_infinite_ratios():
    assert op.outperformance("likelihood_ratio_positive", np.inf, 0.2) == 1
    assert op.outperformance("diagnostic_odds_ratio", [0, 1, np.inf], 0.2) == pytest.approx([0, 0.5, 1])


# ---- references


@pytest.mark.parametrize("name", ["f_beta", "mcc", "p4", "markedness", "expected_cost", "g_mean"])
def test_references_against_samples(name):
    rng, n = np.random.default_rng(1), 200_000
    fpr, fnr = rng.random((2, n))
    better = fpr < 1 - fnr
    pair = stats.beta(1, 3), stats.beta(2, 5)
    cases = [("better than chance", fpr[better], fnr[better]), (pair, rng.beta(1, 3, n), rng.beta(2, 5, n))]
    for reference, a, b in cases:
        values = value_at(name, 0.2, a, b)
        chosen = np.quantile(values, [0.1, 0.5, 0.9])
        sign = 1 if METRICS[name].greater_is_better else -1
        sampled = [np.mean(sign * values < sign * v) for v in chosen]
        got = op.outperformance(name, chosen, 0.2, reference=reference, **arguments(name))
        np.testing.assert_allclose(got, sampled, atol=5e-3)


@given(st.sampled_from("f_beta accuracy expected_cost cohen_kappa mcc".split()), prevalences, rates, rates)
@settings(max_examples=30, deadline=None)
def test_the_integral_agrees_with_the_closed_forms(name, prevalence, fpr, fnr):
    m, kwargs = METRICS[name], op._arguments(METRICS[name], arguments(name))
    value, pi = np.array([value_at(name, prevalence, fpr, fnr)]), np.array([prevalence])
    for reference in ("uniform", "better than chance"):
        integral = op._quadrature(m, value, pi, kwargs, op._find_reference(reference))
        closed = op.outperformance(name, value, pi, reference=reference, **arguments(name))
        assert integral[0] == pytest.approx(closed[0], abs=2e-6)


# ---- costs of many classes


def simulated(costs, priors, n=400_000):
    rng = np.random.default_rng(5)
    shares = rng.dirichlet(np.ones(np.shape(costs)[1]), size=(n, len(costs)))
    return np.sort(np.einsum("k,nkm,km->n", priors, shares, np.asarray(costs)))


CASES = {
    "5 x 6": (np.random.default_rng(1).integers(0, 9, (5, 6)), [0.3, 0.05, 0.25, 0.1, 0.3]),
    "0/1": (1 - np.eye(3), [0.2, 0.3, 0.5]),
    "abstention": ([[0, 1, 0.3], [10, 0, 0.3]], [0.9, 0.1]),
    "repeated knots": ([[0, 1, 1], [5, 0, 0]], [0.6, 0.4]),
    "skewed": (1 - np.eye(3), [0.998, 0.001, 0.001]),
    "a constant class": ([[0, 1, 2], [3, 3, 3]], [0.5, 0.5]),
    "an absent class": ([[0, 1, 2, 2], [3, 1, 0, 7]], [1, 0]),
    "one class of two decisions": ([[0, 1], [2, 2]], [0.3, 0.7]),
    "negative costs": ([[-3, 1, 0.5], [2, -1, 0.5]], [0.4, 0.6]),
}


@pytest.mark.parametrize("case", CASES)
def test_cost_of_many_classes_against_simulation(case):
    costs, priors = CASES[case]
    drawn = simulated(costs, priors)
    at = np.quantile(drawn, [0.001, 0.1, 0.4, 0.5, 0.8, 0.999])
    got = op.outperformance_of_cost(at, costs, priors)
    np.testing.assert_allclose(got, 1 - np.searchsorted(drawn, at) / len(drawn), atol=4 * 0.5 / 632)
    knots = np.asarray(priors)[:, None] * np.asarray(costs, float)
    ends = op.outperformance_of_cost([knots.min(1).sum(), knots.max(1).sum()], costs, priors)
    np.testing.assert_allclose(ends, [1, 0], atol=1e-7)


@given(st.floats(0.02, 0.98), st.floats(0.05, 20), st.floats(0, 1))
def test_two_by_two_is_the_uniform_reference(pi, ratio, at):
    v = at * (1 - pi + ratio * pi)
    costs = [[0, 1], [ratio, 0]]
    expected = op.outperformance("expected_cost", v, pi, costs=costs)
    assert op.outperformance_of_cost(v, costs, [1 - pi, pi]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("widths", [(3, 2, 1), (10**5, 10, 1), (9, 8, 7, 5, 3, 2, 1), (10**12, 10**6, 1)])
def test_two_decisions_against_the_exact_share_of_a_cube(widths):
    "The share of a cube on one side of a plane, in whole numbers and fractions."
    total, places = sum(widths), [Fraction(k, 40) for k in range(41)]
    corners = [(sum(w), (-1) ** len(w)) for n in range(len(widths) + 1) for w in combinations(widths, n)]
    volume = math.factorial(len(widths)) * math.prod(widths)
    below = [
        sum(sign * max(z * total - at, 0) ** len(widths) for at, sign in corners) / volume for z in places
    ]
    costs, n = [[0, len(widths) * w / total] for w in widths], len(widths)  # the largest sum is one
    got = op.outperformance_of_cost([float(z) for z in places], costs, np.full(n, 1 / n))
    np.testing.assert_allclose(got, [1 - float(share) for share in below], atol=2e-7, rtol=0)


@pytest.mark.parametrize("n", [20, 100])
def test_many_classes_and_decisions_against_the_characteristic_function(n):
    "0/1 costs: the error of each class has a Beta(n - 1, 1) law; its transform is an integral of Gauss."
    x, weights = (part / 2 for part in np.polynomial.legendre.leggauss(400))
    weights = weights * (n - 1) * (x + 0.5) ** (n - 2)
    spread = math.sqrt((n - 1) / n / n / (n + 1) / n)
    at = 1 - 1 / n + spread * np.linspace(-5, min(3, 0.9 / n / spread), 33)
    steps = np.arange(1, 400)
    t = 2 * np.pi * steps / (24 * spread)
    power = (np.exp(1j * np.multiply.outer(t / n, x - 0.5 + 1 / n)) @ weights) ** n
    start = 1 - 1 / n - 12 * spread
    waves = np.exp(1j * np.multiply.outer(at - 1 + 1 / n, t)) - np.exp(-12j * spread * t)
    below = (at - start) / (24 * spread) + (waves * power.conj() / (np.pi * steps)).imag.sum(1)
    got = op.outperformance_of_cost(at, 1 - np.eye(n), np.full(n, 1 / n))
    np.testing.assert_allclose(got, 1 - below, atol=2e-7)


def test_sum_of_two_splines_against_quadrature():
    "The density of one class by de Boor's B-spline, the distribution of the other, integrated numerically."
    costs, priors = np.array([[0, 1, 4, 6.0], [9, 0, 2, 3.0]]), np.array([0.7, 0.3])
    knots = np.sort(priors[:, None] * costs, axis=1)
    splines = [BSpline.basis_element(k, extrapolate=False) for k in knots]
    totals = [s.integrate(k[0], k[-1]) for s, k in zip(splines, knots)]

    def below(v):
        def part(x):
            top = np.clip(v - x, knots[1, 0], knots[1, -1])
            return splines[0](x) / totals[0] * splines[1].integrate(knots[1, 0], top) / totals[1]

        points = knots[0, 1:3]
        return integrate.quad(part, knots[0, 0], knots[0, -1], limit=400, points=points, epsabs=1e-8)[0]

    for v in (0.8, 1.9, 3.5):
        assert op.outperformance_of_cost(v, costs, priors) == pytest.approx(1 - below(v), abs=1e-7)


# ---- intervals, ties, labels


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
def test_interval_of_one_rate_is_clopper_pearson(confidence):
    "Recall's score is recall itself."
    counts = BinaryCounts(tp=30, fp=7, fn=10, tn=93)
    found = op.outperformance_interval("recall", counts, confidence=confidence)
    tail = (1 - confidence) / 2
    ends = [stats.beta(30, 11).ppf(tail), stats.beta(31, 10).isf(tail)]
    assert [found.low, found.high] == pytest.approx(ends, abs=1e-9)
    assert found.mean == pytest.approx(0.75) and found.confidence == confidence
    assert found.guarantee.startswith("measured")


def test_rare_errors_do_not_end_the_interval_at_what_was_seen():
    """FINDINGS A5: 200 cases, prevalence .1, FPR .001, FNR .003, every table of them; drawn posteriors cover
    .83."""
    fp, fn = (part.ravel() for part in np.meshgrid(np.arange(7), np.arange(5)))
    chance = stats.binom.pmf(fp, 180, 0.001) * stats.binom.pmf(fn, 20, 0.003)
    counts = BinaryCounts(tp=20 - fn, fp=fp, fn=fn, tn=180 - fp)
    for metric in ("f_beta", "mcc"):
        truth = op.outperformance(metric, METRICS[metric].at_rates(0.997, 0.001, 0.1), 0.1)
        found = op.outperformance_interval(metric, counts)
        assert chance @ ((found.low <= truth) & (truth <= found.high)) > 0.975


def test_interval_against_the_delta_method():
    counts = BinaryCounts(tp=14_000, fp=8_000, fn=6_000, tn=72_000)
    found = op.outperformance_interval("informedness", counts)
    deviation = 0.4 * np.sqrt(0.1 * 0.9 / 80_000 + 0.3 * 0.7 / 20_000)  # OPS = 1 - (1 - J)^2 / 2
    assert found.high - found.low == pytest.approx(2 * 1.96 * deviation, rel=0.03)


def test_interval_at_another_prevalence():
    "The score of the same rates elsewhere, inside its own interval, and away from the one here."
    counts = BinaryCounts(tp=140, fp=80, fn=60, tn=720)
    here, there = (op.outperformance_interval("f_beta", counts, prevalence=pi) for pi in (None, 0.7))
    for found, pi in ((here, 0.2), (there, 0.7)):
        assert found.mean == pytest.approx(op.outperformance("f_beta", value_at("f_beta", pi, 0.1, 0.3), pi))
    assert there.low < there.mean < there.high < here.low
    assert np.isnan(op.outperformance_interval("precision", BinaryCounts(tp=0, fp=0, fn=10, tn=90)).mean)


# ---- what is no reference, and scores that nothing has

test_what_has_no_score_is_refused = refuses([
    (lambda: op.outperformance("f_beta", 0.5, 0.1, reference=(stats.norm(), stats.norm())), "support"),
    (lambda: op.outperformance("f_beta", 0.5, 0.1, reference=(1, 2)), "no cdf and ppf"),
    (lambda: op.add_reference(op.Reference("r", lambda s: 1 - s, lambda f, r: f)), r"recall\(s\)"),
    (lambda: op.add_reference(op.Reference("r", lambda s: s, lambda f, r: f / 2)), "fpr_cdf"),
    (lambda: op.outperformance_interval("f_beta", BinaryCounts(5, 0, 5, 0)), "both classes"),
    (lambda: op.outperformance_interval("f_beta", BinaryCounts(5.5, 1, 5, 9)), "whole numbers"),
    (lambda: op.outperformance_of_cost(1, [[2, 2], [5, 0]], [1, 0]), "nothing to outperform"),
])


def test_shares_of_the_square_where_coefficients_vanish():
    lines = [[0, 0, 1], [0, 0, 0], [0, 0, -1], [2, 0, 0.5], [0, -2, -0.5], [1, 1, 1], [1, -1, 0], [0, 3, 4]]
    np.testing.assert_allclose(op._share_below(*np.transpose(lines)), [1, 0, 0, 0.25, 0.75, 0.5, 0.5, 1])


# ---- no model


@pytest.mark.parametrize("reference", ["uniform", "better than chance"])
@pytest.mark.parametrize("name", ["f_beta", "accuracy", "expected_cost", "cohen_kappa", "mcc"])
def test_no_model_is_the_better_constant_decision(name, reference):
    for prevalence in (0.02, 0.5, 0.9):
        options = {"reference": reference, **arguments(name)}
        constants = [value_at(name, prevalence, rate, 1 - rate) for rate in (0.0, 1.0)]
        # the correlation of a constant is 0/0, that of a coin is 0
        values = [v for v in constants if not np.isnan(v)] or [0.0]
        best = max(op.outperformance(name, v, prevalence, **options) for v in values)
        assert op.naive_outperformance(name, prevalence, **options) == pytest.approx(best, abs=1e-9)
