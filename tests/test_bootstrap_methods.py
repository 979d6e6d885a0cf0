"Intervals other than the bootstrap, tests with a margin, several models, sample size and power (part 2 of chapter 4)."
from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from scipy.optimize import minimize
from scipy.special import xlogy
from scipy.stats import binom, chi2, dirichlet, norm

from cost_eval import bootstrap as bs

COUNTS = np.array([[80, 6, 1], [5, 60, 0], [2, 3, 43]])
COSTS = np.array([[0, 1, 4.], [2, 0, 50], [1, 3, 0]])
JOINT = np.array([[[85, 4], [3, 8]], [[2, 6], [5, 37]]])
BILL = np.array([[0, 1.], [5, 0]])
RANDOM = ("bcost", "dirichlet", "percentile", "bca", "bootstrap-t")
ANALYTIC = ("likelihood ratio", "exact", "normal")


def seeded(name): return {"rng": 0} if name in RANDOM else {}


# exact: enumeration and the binomial

@pytest.mark.parametrize("costs", [[0, 2, 5], [0, np.pi, 1e3], [-2.5, .1, 1]])
@pytest.mark.parametrize("n", [1, 2, 6])
def test_exact_distribution_is_the_enumerated_one(costs, n):
    p, c = np.array([.5, .3, .2]), np.array(costs, float)
    values, mass, step = bs._exact_distribution(p, c, n)
    every = [np.array(m) for m in product(range(n + 1), repeat=3) if sum(m) == n]
    cost = np.array([m @ c / n for m in every])
    chance = np.array([factorial(n) / prod(map(factorial, m)) * np.prod(p**m) for m in every])
    cdf_at = np.setdiff1d(np.linspace(cost.min(), cost.max(), 37), cost)
    for t in cdf_at:
        if np.abs(cost - t).min() > step: assert mass[values <= t].sum() == pytest.approx(chance[cost <= t].sum(), abs=1e-9)
    assert values @ mass == pytest.approx(p @ c, abs=1e-9)


@pytest.mark.parametrize("n,errors", [(50, 5), (1000, 30), (200_000, 20)])
def test_exact_is_binomial_for_one_kind_of_error(n, errors):
    found = bs.exact_interval([[n - errors, errors], [0, 0]], [[0, 7], [7, 0]])
    ends = 7 * binom.ppf([.025, .975], n, errors / n) / n
    assert (found.low, found.high) == pytest.approx(tuple(ends), rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_exact_moments_for_costs_on_no_lattice(seed):
    rng = np.random.default_rng(seed)
    p, c = rng.dirichlet(np.full(30, .2)), rng.lognormal(0, 2, 30)
    values, mass, step = bs._exact_distribution(p, c, 800)
    sd = np.sqrt(p @ (c - p @ c)**2 / 800)
    assert values @ mass == pytest.approx(p @ c, rel=1e-7)
    extra = (values - p @ c)**2 @ mass - sd**2                      # noise of rounding, within the stated bound
    assert -1e-6 * sd**2 < extra < step**2 / 4 / 800 + 1e-6 * sd**2


@pytest.mark.parametrize("laplace", [0, .1, 1])
def test_exact_agrees_with_bcost(laplace):
    exact = bs.exact_interval(COUNTS, COSTS, laplace=laplace)
    drawn = bs.bcost(COUNTS, COSTS, laplace=laplace, n_resamples=40_000, rng=0)
    assert (exact.low, exact.high) == pytest.approx((drawn.low, drawn.high), abs=.1 * exact.standard_error)


def test_exact_when_only_one_cost_was_seen():
    found = bs.exact_interval([[10, 0], [0, 20]], [[2.5, 7], [1, 2.5]])
    assert (found.low, found.high) == pytest.approx((2.5, 2.5))


# likelihood ratio: a general optimiser

def optimum(m, c, limit):
    m, c = np.asarray(m, float), np.asarray(c, float)
    room = {"type": "ineq", "fun": lambda p: limit / 2 - xlogy(m, m / m.sum()).sum() + xlogy(m, np.maximum(p, 1e-12)).sum()}
    start = m / m.sum() * (1 - 1e-6) + 1e-6 / len(m)
    found = minimize(lambda p: -p @ c, start, bounds=[(0, 1)] * len(m), method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
                     constraints=[room, {"type": "eq", "fun": lambda p: p.sum() - 1}])
    assert room["fun"](found.x) > -1e-6 and abs(found.x.sum() - 1) < 1e-9
    return -found.fun


@pytest.mark.parametrize("m", [[30, 8, 2], [30, 8, 0], [0, 8, 30], [30, 0, 3], [40, 0, 0]])
@pytest.mark.parametrize("confidence", [.5, .95])
def test_likelihood_ratio_against_optimiser(m, confidence):
    costs, limit = np.array([0., 1, 10]), chi2.ppf(confidence, 1)
    assert bs._likelihood_ratio_high(m, costs, limit) == pytest.approx(optimum(m, costs, limit), rel=1e-4)


def test_likelihood_ratio_of_a_proportion():
    n, x = 120, 7
    found = bs.likelihood_ratio_interval([[n - x, x], [0, 0]], [[0, 1], [0, 0]])
    for p in (found.low, found.high):
        assert 2 * (binom.logpmf(x, n, x / n) - binom.logpmf(x, n, p)) == pytest.approx(chi2.ppf(.95, 1), rel=1e-6)


def test_likelihood_ratio_of_a_stack_is_that_of_each():
    sets = np.random.default_rng(0).multinomial(200, [.9, .09, .01], 20)
    c, limit = np.array([0., 1, 30]), chi2.ppf(.95, 1)
    each = [bs._likelihood_ratio_high(m, c, limit) for m in sets]
    np.testing.assert_allclose(bs._likelihood_ratio_high(sets, c, limit), each, rtol=1e-9)


def test_likelihood_ratio_covers():
    p, c, limit = np.array([.8, .15, .05]), np.array([0., 1, 10]), chi2.ppf(.95, 1)
    sets = np.random.default_rng(0).multinomial(500, p, 4000)
    low, high = -bs._likelihood_ratio_high(sets, -c, limit), bs._likelihood_ratio_high(sets, c, limit)
    assert .93 < ((low <= p @ c) & (p @ c <= high)).mean() < .97


# Dirichlet: closed forms

def test_dirichlet_moments():
    found = bs.dirichlet_interval(COUNTS, COSTS, prior=.2, n_resamples=50_000, rng=0)
    a, c = COUNTS.ravel() + .2, COSTS.ravel()
    sd = np.sqrt(c @ dirichlet(a).cov() @ c)
    assert found.mean == pytest.approx(dirichlet(a).mean() @ c, abs=5 * sd / np.sqrt(50_000))
    assert found.standard_error == pytest.approx(sd, rel=.03)


# one interface

@pytest.mark.parametrize("name", [*RANDOM, *ANALYTIC, "auto"])
def test_interval_moves_with_the_costs(name):
    plain = bs.interval(COUNTS, COSTS, name, **seeded(name))
    moved = bs.interval(COUNTS, 3 * COSTS + 2, name, **seeded(name))
    assert (moved.low, moved.high) == pytest.approx((3 * plain.low + 2, 3 * plain.high + 2), rel=1e-4)
    assert plain.low < plain.high


@pytest.mark.parametrize("name", [*ANALYTIC, "auto"])
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_intervals_nest_and_hold_the_estimate(name, data):
    counts = np.array(data.draw(st.lists(st.integers(0, 40), min_size=6, max_size=6))).reshape(2, 3)
    counts[0, 0] += 2
    counts[1, 2] += 1
    costs = np.array(data.draw(st.lists(st.integers(0, 9), min_size=6, max_size=6))).reshape(2, 3)
    assume((np.ptp(costs, axis=1) > 0).any())
    narrow, wide = (bs.interval(counts, costs, name, confidence=level) for level in (.8, .99))
    estimate = (counts * costs).sum() / counts.sum()
    assert wide.low - 1e-9 <= narrow.low <= narrow.high <= wide.high + 1e-9
    if name != "exact": assert narrow.low - 1e-9 <= estimate <= narrow.high + 1e-9


@pytest.mark.parametrize("name", [*ANALYTIC, "auto"])
def test_difference_turns_round(name):
    one, other = bs.difference(JOINT, BILL, name), bs.difference(np.swapaxes(JOINT, 1, 2), BILL, name)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-2 if name == "exact" else 1e-6)


def test_difference_of_a_model_and_itself_is_zero():
    same = np.zeros((2, 2, 2), int)
    same[:, [0, 1], [0, 1]] = [[50, 4], [3, 60]]
    found = bs.difference(same, BILL, "normal")
    assert (found.low, found.high) == pytest.approx((0, 0))
    assert bs.difference(same, BILL).high > 0                         # disagreement was not seen, but is possible


# bad input

SURE = dict(counts=COUNTS, costs=COSTS)

@pytest.mark.parametrize("name", [*RANDOM, *ANALYTIC])
@pytest.mark.parametrize("change,word", [
    ({"counts": COUNTS - 1}, "counts"), ({"counts": COUNTS + .5}, "counts"), ({"counts": 0 * COUNTS}, "counts"),
    ({"costs": BILL}, "costs|counts"), ({"confidence": 1}, "confidence"), ({"confidence": 0}, "confidence")])
def test_methods_refuse(name, change, word):
    arguments = SURE | change
    with pytest.raises(ValueError, match=word): bs.interval(arguments.pop("counts"), arguments.pop("costs"), name, **arguments)


@pytest.mark.parametrize("name", RANDOM)
def test_too_few_resamples(name):
    with pytest.raises(ValueError, match="n_resamples"): bs.interval(COUNTS, COSTS, name, n_resamples=99)


@pytest.mark.parametrize("call,word", [
    (lambda: bs.interval(COUNTS, COSTS, "bayes"), "method"),
    (lambda: bs.exact_interval(COUNTS, COSTS, laplace=-1), "laplace"),
    (lambda: bs.dirichlet_interval(COUNTS, COSTS, prior=0), "prior"),
    (lambda: bs.difference(JOINT[0], BILL), "joint"),
    (lambda: bs.difference(JOINT, COSTS), "joint"),
])
def test_bad_input(call, word):
    with pytest.raises(ValueError, match=word): call()
