"""Each interval method against a computation that shares no code with it: both ends, mean and standard error,
for one sample and
for one sample a class."""
from itertools import product
from math import factorial, prod

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp, xlogy
from scipy.stats import beta, binom, chi2, dirichlet, fisher_exact, multinomial, norm

from cost_eval import bootstrap as bs

COUNTS = np.array([[70, 5, 2], [4, 60, 1], [3, 2, 53]])
COSTS = np.array([[0, 1, 4.], [2, 0, 30], [1, 3, 0]])
PRIORS = np.array([.2, .3, .5])
EXAMPLES = np.repeat(COSTS.ravel(), COUNTS.ravel())
ZERO_ONE = [[0, 1], [1, 0]]


def ends(found): return [found.low, found.high]


def by_class(): return [(np.repeat(c, m), w) for c, m, w in zip(COSTS, COUNTS, PRIORS)]


# ---- normal

def test_normal_is_the_textbook():
    found = bs.interval(COUNTS, COSTS, method="normal", confidence=.9)
    error = scipy.stats.sem(EXAMPLES)
    assert_allclose([*ends(found), found.mean, found.standard_error],
                    [*norm.interval(.9, EXAMPLES.mean(), error), EXAMPLES.mean(), error])
    assert found.distribution.shape == (0,)


def test_normal_class_by_class():
    found = bs.interval(COUNTS, COSTS, method="normal", priors=PRIORS)
    mean = sum(w * x.mean() for x, w in by_class())
    error = np.sqrt(sum((w * scipy.stats.sem(x))**2 for x, w in by_class()))
    assert_allclose([*ends(found), found.standard_error], [*norm.interval(.95, mean, error), error])


def test_normal_of_two_test_sets_is_welch():
    other = np.array([[50, 9, 1], [8, 40, 2], [1, 1, 60]])
    x = np.repeat(COSTS.ravel(), other.ravel())
    found = bs.independent_difference(COUNTS, other, COSTS, method="normal")
    z = (EXAMPLES.mean() - x.mean()) / np.hypot(scipy.stats.sem(EXAMPLES), scipy.stats.sem(x))
    assert_allclose([found.mean, found.p_value, found.mean / found.standard_error],
                    [EXAMPLES.mean() - x.mean(), 2 * norm.sf(abs(z)), z])


# ---- percentile, BCa, bootstrap-t

def draws(seed=0, n_resamples=1000):
    return np.random.default_rng(seed).multinomial(COUNTS.sum(), COUNTS.ravel() / COUNTS.sum(), n_resamples)


def test_percentile_on_the_same_draws():
    values = np.sort(draws(7) @ COSTS.ravel()) / COUNTS.sum()
    found = bs.interval(COUNTS, COSTS, method="percentile", confidence=.8, rng=7)
    assert_allclose([*ends(found), found.mean], [values[100], values[899], EXAMPLES.mean()])


@pytest.mark.parametrize("name, peer", [("percentile", "percentile"), ("bca", "BCa")])
def test_against_scipy(name, peer):
    """At 80 %: with this skewness BCa's upper end of 95 % is the quantile .9993, which is mostly noise in
    either."""
    found = bs.interval(COUNTS, COSTS, method=name, confidence=.8, n_resamples=50_000, rng=0)
    theirs = scipy.stats.bootstrap((EXAMPLES,), np.mean, method=peer, confidence_level=.8, n_resamples=20_000,
                                   batch=1000, random_state=1)
    assert_allclose(ends(found), theirs.confidence_interval, atol=.08 * found.standard_error)


def test_bca_on_the_same_draws():
    values = np.sort(draws(2) @ COSTS.ravel()) / COUNTS.sum()
    mean = EXAMPLES.mean()
    bias = norm.ppf(((values < mean - 1e-9).sum() + .5 * (abs(values - mean) <= 1e-9).sum()) / 1000)
    jackknife = (EXAMPLES.sum() - EXAMPLES) / (len(EXAMPLES) - 1)
    u = jackknife.mean() - jackknife
    a = (u**3).sum() / 6 / (u**2).sum()**1.5
    low, high = (norm.cdf(bias + (bias + z) / (1 - a * (bias + z))) for z in norm.ppf([.05, .95]))
    found = bs.interval(COUNTS, COSTS, method="bca", confidence=.9, rng=2)
    assert_allclose(ends(found), [values[int(low * 1000)], values[999 - int((1 - high) * 1000)]])


def test_bootstrap_t_on_the_same_draws():
    m, n = draws(3), COUNTS.sum()
    means = m @ COSTS.ravel() / n
    sems = np.sqrt((m @ COSTS.ravel()**2 / n - means**2) / (n - 1))
    t = np.sort((means - EXAMPLES.mean()) / sems)
    found = bs.interval(COUNTS, COSTS, method="bootstrap_t", rng=3)
    error = scipy.stats.sem(EXAMPLES)
    assert_allclose(ends(found), [max(EXAMPLES.mean() - t[974] * error, 0), EXAMPLES.mean() - t[25] * error])


def test_bootstrap_t_class_by_class():
    sizes = COUNTS.sum(1)
    m = np.random.default_rng(3).multinomial(sizes, COUNTS / sizes[:, None], (1000, 3))
    means = (m * COSTS).sum(-1) / sizes
    variances = ((m * COSTS**2).sum(-1) / sizes - means**2) / (sizes - 1)
    mean, error = sum(w * x.mean() for x, w in by_class()), np.sqrt(sum((w * scipy.stats.sem(x))**2
            for x, w in by_class()))
    t = np.sort((means @ PRIORS - mean) / np.sqrt(variances @ PRIORS**2))
    found = bs.interval(COUNTS, COSTS, method="bootstrap_t", priors=PRIORS, rng=3)
    assert_allclose(ends(found), [max(mean - t[974] * error, 0), mean - t[25] * error])


@pytest.mark.parametrize("counts", [[[99, 1], [0, 0]], [[1, 1], [0, 0]]])
def test_bootstrap_t_keeps_replicates_without_spread(counts):
    """A third of the resamples of 99 right and 1 error hold no error: t is -inf there, and the end is the
    largest cost."""
    found = bs.interval(counts, [[0, 1], [10, 0]], method="bootstrap_t", rng=0)
    assert found.high == 10 and found.low == 0


@pytest.mark.parametrize("name", ["normal", "percentile", "bca", "bootstrap_t", "exact_bootstrap"])
def test_nothing_varies_nothing_is_wide(name):
    assert ends(bs.interval([[50, 0], [0, 0]], ZERO_ONE, method=name, rng=0)) == [0, 0]


# ---- the bootstrap's distribution by Fourier transform

def enumerated(m, c, laplace=0):
    "Every resample with its probability: sorted costs and cumulative probabilities."
    n, p = sum(m), (np.array(m) + laplace) / (sum(m) + laplace * len(m))
    every = [np.array(k) for k in product(range(n + 1), repeat=len(m)) if sum(k) == n]
    return np.array([k @ c / n for k in every]), np.array([factorial(n) / prod(map(factorial, k))
            * np.prod(p**k) for k in every])


def quantile(values, chances, q):
    order = np.argsort(values)
    return values[order][np.searchsorted(np.cumsum(chances[order]), q)]


@pytest.mark.parametrize("costs", [[0, 2, 5], [0, np.pi, 1e3], [-2.5, .1, 1]])
@pytest.mark.parametrize("laplace", [0, .7])
@pytest.mark.parametrize("confidence", [.95, .6])
def test_exact_bootstrap_is_the_enumerated_one(costs, laplace, confidence):
    m, c = [4, 2, 1], np.array(costs, float)
    found = bs.interval([m], [c], method="exact_bootstrap", laplace=laplace, confidence=confidence)
    values, chances = enumerated(m, c, laplace)
    wanted = [quantile(values, chances, q) for q in (.5 - confidence / 2, .5 + confidence / 2)]
    assert_allclose(ends(found), wanted, atol=2e-3 * np.ptp(c))
    assert_allclose(found.mean, values @ chances)
    assert_allclose(found.standard_error, np.sqrt((values - values @ chances)**2 @ chances))


def test_exact_bootstrap_class_by_class():
    counts, costs, priors = np.array([[4, 1], [2, 3]]), np.array([[0, 1.], [7, 0]]), np.array([.6, .4])
    one, other = (enumerated(m, w * c) for m, w, c in zip(counts.tolist(), priors, costs))
    values, chances = (one[0][:, None] + other[0]).ravel(), (one[1][:, None] * other[1]).ravel()
    found = bs.interval(counts, costs, method="exact_bootstrap", priors=priors, confidence=.9)
    assert_allclose(ends(found), [quantile(values, chances, q) for q in (.05, .95)], atol=1e-3)


@pytest.mark.parametrize("n, errors", [(50, 5), (1000, 30), (200_000, 20)])
def test_exact_bootstrap_is_binomial_for_one_kind_of_error(n, errors):
    found = bs.interval([[n - errors, errors], [0, 0]], [[0, 7], [7, 0]], method="exact_bootstrap")
    assert_allclose(ends(found), 7 * binom.ppf([.025, .975], n, errors / n) / n, rtol=1e-3)


@pytest.mark.parametrize("laplace", [0, .1, 1])
def test_exact_bootstrap_is_the_limit_of_bcost(laplace):
    exact = bs.interval(COUNTS, COSTS, method="exact_bootstrap", laplace=laplace)
    drawn = bs.bcost(COUNTS, COSTS, laplace=laplace, n_resamples=40_000, rng=0)
    assert_allclose(ends(exact), ends(drawn), atol=.06 * exact.standard_error)
    assert_allclose([exact.mean, exact.standard_error], [drawn.mean, drawn.standard_error])


@pytest.mark.parametrize("S", [1, 2])
def test_a_large_lattice_spans_what_bernstein_allows(S):
    """Beyond the reach R of the lattice there is no more than exp(-20) on either side: R^2 / 2 / (V + w R /
    3) = 20."""
    n, p, v = 10**6 * np.arange(1, S + 1), np.array([[.9, .07, .03], [.5, .1, .4]])[:S], np.array([[0, np.pi,
            50], [3, np.e, -40]])[:S]
    step, complete = bs._lattice(p[None], v[None], n[None])
    reach, variance = step[0] * (2**16 - 2) / 2, sum(w @ multinomial(k, q).cov() @ w
                                                     for k, q, w in zip(n, p, v))
    assert not complete[0] and reach**2 / 2 / (variance + np.ptp(v, 1).max() * reach / 3) == pytest.approx(20)


@pytest.mark.parametrize("priors", [None, [.7, .3]])
@pytest.mark.parametrize("size", [10**5, 10**6, 10**9])
def test_exact_bootstrap_of_a_large_test_set_is_normal_with_a_bend(size, priors):
    """Cornish and Fisher's quantiles, with the skewness of the sum. (A billion costs put on a lattice would
    add to its variance.)"""
    counts, costs = np.array([[60, 20], [3, 17]]) * (size // 100), np.array([[0, np.pi], [40, 1]])
    n = np.array([counts.sum()]) if priors is None else counts.sum(1)
    p, v = counts / n.sum() if priors is None else counts / n[:,
            None], costs if priors is None else costs * np.array(priors)[:, None]
    p, v = (a.reshape(len(n), -1) for a in (p, v))
    mean = (p * v).sum(1)
    second, third = ((p * (v - mean[:, None])**k).sum(1) for k in (2, 3))
    error, skew = np.sqrt((second / n).sum()), (third / n**2).sum() / (second / n).sum()**1.5
    found = bs.interval(counts, costs, method="exact_bootstrap", priors=priors, confidence=.9)
    z = norm.ppf([.05, .95])
    assert_allclose((ends(found) - mean.sum()) / error, z + skew * (z**2 - 1) / 6, atol=5e-4)
    assert (z**2 - 1)[0] * skew > (1e-3 if size < 10**8 else 1e-5)


# ---- Dirichlet

def test_dirichlet_against_its_moments_and_draws():
    found = bs.interval(COUNTS, COSTS, method="dirichlet", prior=.2, n_resamples=50_000, rng=0)
    a, c = COUNTS.ravel() + .2, COSTS.ravel()
    assert_allclose([found.mean, found.standard_error],
                    [dirichlet(a).mean() @ c, np.sqrt(c @ dirichlet(a).cov() @ c)])
    theirs = np.random.default_rng(1).dirichlet(a, 50_000) @ c
    assert_allclose(ends(found), np.quantile(theirs, [.025, .975]), atol=.05 * found.standard_error)


def test_dirichlet_prior_is_one_example_in_all():
    a = COUNTS.ravel() + 1 / 9
    assert_allclose(bs.interval(COUNTS, COSTS, method="dirichlet", rng=0).mean, a @ COSTS.ravel() / a.sum())
    classes = sum(w * (m + 1 / 3) @ c / (m.sum() + 1) for m, c, w in zip(COUNTS, COSTS, PRIORS))
    assert_allclose(bs.interval(COUNTS, COSTS, method="dirichlet", priors=PRIORS, rng=0).mean, classes)


# ---- likelihood ratio

def optimum(m, c, limit):
    "The largest cost by sequential quadratic programming."
    m, c = np.asarray(m, float), np.asarray(c, float)
    room = {"type": "ineq", "fun": lambda p: limit / 2 - xlogy(m, m / m.sum()).sum()
            + xlogy(m, np.maximum(p, 1e-12)).sum()}
    one, best = {"type": "eq", "fun": lambda p: p.sum() - 1}, -np.inf
    for spread in (1e-6, 1e-3, .01, .05):  # it stalls from some starts
        start = m / m.sum() * (1 - spread) + spread / len(m)
        found = minimize(lambda p: -p @ c, start, bounds=[(0, 1)] * len(m), method="SLSQP",
                         options={"maxiter": 500, "ftol": 1e-12}, constraints=[room, one])
        if room["fun"](found.x) > -1e-6 and abs(found.x.sum() - 1) < 1e-9: best = max(best, -found.fun)
    return best


@pytest.mark.parametrize("m", [[30, 8, 2], [30, 8, 0], [0, 8, 30], [30, 0, 3], [40, 0, 0]])
@pytest.mark.parametrize("confidence", [.5, .95])
def test_likelihood_ratio_against_an_optimiser(m, confidence):
    found, limit = bs.interval([m], [[0, 1, 10]], method="likelihood_ratio",
                               confidence=confidence), chi2.ppf(confidence, 1)
    assert_allclose(found.high, optimum(m, [0, 1, 10], limit), rtol=1e-4)
    assert_allclose(found.low, -optimum(m, [0, -1, -10], limit), rtol=1e-4, atol=1e-5)
    assert_allclose(found.mean, np.dot(m, [0, 1, 10]) / sum(m))


def test_likelihood_ratio_of_a_proportion():
    n, x = 120, 7
    found = bs.interval([[n - x, x], [0, 0]], ZERO_ONE, method="likelihood_ratio")
    for p in ends(found):
        assert_allclose(2 * (binom.logpmf(x, n, x / n) - binom.logpmf(x, n, p)), chi2.ppf(.95, 1), rtol=1e-6)
    assert_allclose(bs.interval([[100, 0], [0, 0]], ZERO_ONE, method="likelihood_ratio").high,
                    -np.expm1(-chi2.ppf(.95, 1) / 200))


@pytest.mark.parametrize("counts", [[[90, 10], [4, 16]], [[90, 10], [0, 20]], [[90, 0], [0, 20]]])
@pytest.mark.parametrize("sign", [1, -1])
def test_likelihood_ratio_class_by_class(counts, sign):
    """Two proportions: what one class leaves of the limit goes to the other; the best split by a search in
    one dimension."""
    (a, x), (y, b) = counts
    weights, limit = np.array([.7 * 1, .3 * 8]), chi2.ppf(.95, 1)

    def used(k, n, p): return -2 * (xlogy(k, p) + xlogy(n - k, 1 - p) - xlogy(k, k / n)
                                    - xlogy(n - k, 1 - k / n))

    def reach(k, n, room):
        estimate, end = k / n, (1 - 1e-12 if sign > 0 else 1e-12)
        if room < 1e-12: return estimate
        if sign * (end - estimate) <= 0 or used(k, n, end) < room: return end
        return brentq(lambda p: used(k, n, p) - room, *sorted((estimate, end)))

    shares = np.linspace(0, 1, 4001)
    costs = [weights @ [reach(x, a + x, s * limit), reach(y, y + b, (1 - s) * limit)] for s in shares]
    found = bs.interval(counts, [[0, 1], [8, 0]], method="likelihood_ratio", priors=[.7, .3])
    assert_allclose(found.high if sign > 0 else found.low, max(costs) if sign > 0 else min(costs), rtol=2e-5,
                    atol=1e-9)


# ---- Clopper-Pearson

@pytest.mark.parametrize("n, errors", [(1, 0), (1, 1), (10, 0), (10, 3), (100, 0), (1000, 1), (1000, 500),
                                       (50, 49), (10**6, 7)])
@pytest.mark.parametrize("confidence", [.2, .95, 1 - 1e-6])
def test_clopper_pearson_is_clopper_pearson(n, errors, confidence):
    found, tail = bs.interval([[n - errors, errors], [0, 0]], ZERO_ONE, confidence=confidence,
                              method="clopper_pearson"), (1 - confidence) / 2
    low = beta.ppf(tail, errors, n - errors + 1) if errors else 0
    high = beta.isf(tail, errors + 1, n - errors) if errors < n else 1
    assert_allclose(ends(found), [low, high], rtol=1e-9)


# ---- betting

def refuted(x, v, tail):
    "Log of the left side of (8.6) over its right side, example by example, as it is written down."
    def capital(stakes, shares, x):
        return logsumexp([np.log1p(t * x).sum() - len(x) * np.log1p(t * v) for t in stakes], b=shares)

    n, prudent = len(x), 10**np.arange(-4, 4.1, .2)
    shares = 1 / (1 + ((np.log10(prudent) + .5) / .7)**2)
    bold = 10**np.arange(-4, 8.1, .2)
    bold = bold[bold >= 4 / np.sqrt(n)]
    left = capital(prudent, shares / shares.sum(), 0 * x)
    return np.logaddexp(capital(prudent, shares / shares.sum(), x), np.log(1 - tail) + left
                        + capital(bold, np.full(len(bold), 1 / len(bold)), x)) + np.log(tail)


@pytest.mark.parametrize("confidence", [.5, .95])
@pytest.mark.parametrize("priors", [None, [.7, .3]])
def test_betting_example_by_example(confidence, priors):
    counts, costs = np.array([[30, 6], [3, 11]]), np.array([[0, 1.], [5, 0]])
    n, sizes = counts.sum(), counts.sum(1)
    z = costs if priors is None else costs * (np.array(priors) * n / sizes)[:, None]
    x, top = np.repeat(z.ravel(), counts.ravel()), z.max()
    tail = (1 - confidence) / 2
    low = brentq(lambda v: refuted(x / top, v, tail), 1e-9, x.mean() / top, xtol=1e-13)
    high = brentq(lambda v: refuted(1 - x / top, v, tail), 1e-9, 1 - x.mean() / top, xtol=1e-13)
    found = bs.interval(counts, costs, method="betting", confidence=confidence, priors=priors)
    assert_allclose(ends(found), [top * low, top * (1 - high)], rtol=1e-9)
    assert_allclose(found.mean, x.mean())


PROVED = [name for name, record in bs.METHODS.items() if record.guarantee_for("strata").startswith("proved")]
FEW = {  # costs of each sample, its size
    "two costs": ([[0, 1.]], [9]),
    "three costs": ([[0, 1, 20.]], [9]),
    "signed": ([[-4, 0, 5.]], [8]),
    "nearly equal": ([[0, .98, 1.]], [8]),
    "two classes": ([[0, 1.], [0, 20]], [7, 4]),
    "two test sets": ([[0, 1.], [-1, 0]], [6, 5]),
    "unequal": ([[0, 1.], [0, 1, 5]], [6, 4]),
}


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("method", PROVED)
def test_no_end_that_is_proved_misses_more_often_than_promised(method, name):
    "All test sets, each with its chance under many laws."
    costs, sizes = FEW[name]
    width, S = max(map(len, costs)), len(sizes)
    sets = [np.array([k for k in product(range(n + 1), repeat=len(c)) if sum(k) == n])
            for c, n in zip(costs, sizes)]
    pick = np.array(list(product(*(range(len(one)) for one in sets))))
    m, c = np.zeros((len(pick), S, width)), np.zeros((S, width))
    for s, one in enumerate(sets):
        m[:, s, :one.shape[1]], c[s] = one[pick[:, s]], (costs[s] + [costs[s][0]] * width)[:width]
    rng, least, most = np.random.default_rng(0), c.min(-1).sum(), c.max(-1).sum()
    laws = [[[1 - p, *[0] * (len(c) - 2), p] for c in costs] for p in np.linspace(.001, .999, 60)]
    laws += [[rng.dirichlet(np.full(len(c), .4)) for c in costs] for _ in range(120)]
    for confidence in (.4, .95):
        tail = (1 - confidence) / 2
        low, high = bs.METHODS[method].function(m.astype(int), c).ends(tail)
        assert (least - 1e-12 <= low).all() and (low <= high).all() and (high <= most + 1e-12).all()
        for law in laws:
            chance = np.ones(len(pick))
            for s, (one, p) in enumerate(zip(sets, law)):
                chance *= multinomial.pmf(one, sizes[s], p)[pick[:, s]]
            true = sum(np.dot(one, p) for one, p in zip(costs, law))
            assert chance @ (low > true + 1e-12) <= tail + 1e-12 and chance @ (high < true
                    - 1e-12) <= tail + 1e-12


@pytest.mark.parametrize("name", ["betting", "clopper_pearson", "likelihood_ratio", "normal"])
@pytest.mark.parametrize("tables, costs", [(([[14, 56]], [[32, 48]]), [[0, 1]]),
                                           (([[90, 10], [4, 16]], [[95, 5], [9, 11]]), [[0, 1], [5, 0]])])
def test_first_minus_second_is_minus_the_reverse(name, tables, costs):
    found, turned = (bs.independent_difference(*pair, costs, method=name) for pair in (tables, tables[::-1]))
    assert_allclose([found.low, found.high, found.p_value], [-turned.high, -turned.low, turned.p_value],
                    rtol=1e-9)


# ---- p-values are inversions

# the second misses more and raises fewer false alarms
JOINT = np.array([[[85, 4], [32, 8]], [[2, 6], [19, 37]]])
BILL = np.array([[0, 1.], [5, 0]])


@pytest.mark.parametrize("name", ["normal", "likelihood_ratio", "clopper_pearson", "betting"])
@pytest.mark.parametrize("priors", [None, [.8, .2]])
def test_p_value_is_where_the_interval_meets_zero(name, priors):
    joint = JOINT * 16 * (1 if priors is None else 4) if name == "betting" else JOINT
    p = bs.difference(joint, BILL, method=name, priors=priors).p_value
    assert 1e-9 < p < .95
    found = bs.difference(joint, BILL, method=name, priors=priors, confidence=1 - p)
    assert min(abs(found.low), abs(found.high)) < 1e-6
    assert bs.difference(np.swapaxes(joint, 1, 2), BILL, method=name,
                         priors=priors).p_value == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("name", [n for n, record in bs.METHODS.items() if record.paired])
@pytest.mark.parametrize("confidence", [.5, .9, .98])
def test_p_value_and_interval_agree(name, confidence):
    rng = np.random.default_rng(0)
    sets = rng.multinomial(120, JOINT.ravel() / JOINT.sum(), 12).reshape(-1, 2, 2, 2)
    found = bs.difference(sets, BILL, method=name, confidence=confidence, rng=1)
    assert (found.rejects == (found.p_value <= 1 - confidence + 1e-12)).all()
    if confidence < .6: assert found.rejects.any()


def test_two_proportions_and_fisher():
    """Two separate test sets of 0/1 costs: never more than a few per cent of false rejections, and close to
    Fisher's exact test."""
    a, b = [[80, 20], [0, 0]], [[95, 5], [0, 0]]
    found = bs.independent_difference(a, b, [[0, 1], [0, 1]], method="likelihood_ratio")
    pooled = 2 * (binom.logpmf(20, 100, .2) + binom.logpmf(5, 100, .05) - binom.logpmf(20, 100, .125)
                  - binom.logpmf(5, 100, .125))
    assert_allclose(found.p_value, chi2.sf(pooled, 1), rtol=1e-6)
    proved = bs.independent_difference(a, b, [[0, 1], [0, 1]])
    assert .1 < fisher_exact([[80, 20], [95, 5]])[1] / proved.p_value < 10


@pytest.mark.parametrize("name", [n for n, record in bs.METHODS.items() if record.paired])
def test_models_that_never_disagree_have_a_p_value_of_1(name):
    found = bs.difference([[[80, 0], [0, 9]], [[4, 0], [0, 37]]], BILL, method=name, rng=0)
    # whose prior lets them disagree
    assert found.p_value == (pytest.approx(1, abs=.1) if name == "dirichlet" else 1)
    assert not found.rejects and found.low <= 0 <= found.high


def test_bca_where_all_replicates_are_on_one_side():
    "A bias of half a replicate in B, on either side: no infinite shift."
    shift = scipy.stats.norm.ppf(.5 / 1000)
    for ordered, bias in ((np.arange(1., 1001), shift), (np.arange(-1000., 0), -shift)):
        low, high = bs._bca_fit(0., 1., ordered, 0.).ends(.025)
        levels = scipy.stats.norm.cdf(2 * bias + np.array([-1, 1]) * scipy.stats.norm.isf(.025))
        assert [low, high] == [ordered[int(np.floor(levels[0] * 1000))],
                               ordered[999 - int(np.floor((1 - levels[1]) * 1000))]]


# ---- the approximate line

def test_the_approximate_line_is_students_t_with_one_costly_case_more_in_the_variance():
    "By hand for equal costs, and by Welch for two classes."
    k, n, cost = 12, 400, 7.
    found, z = bs.interval([[n - k, k], [0, 0]], [[0, cost], [0, 0]]).approximate, cost * np.r_[np.ones(k),
            np.zeros(n - k)]
    error = np.hypot(z.std(ddof=1) / np.sqrt(n), cost * (1 - k / n) / n)
    t = scipy.stats.t(n - 1)
    assert_allclose([found.low, found.high], z.mean() + np.array([-1, 1]) * t.ppf(.975) * error)
    assert_allclose(found.seen, ((z - z.mean())**2).sum() / (cost * (1 - k / n))**2)
    classes, share = np.array([[380, 20], [30, 70]]), np.array([.9, .1])
    found = bs.interval(classes, [[0, 1], [5, 0]], priors=share).approximate
    wrong, each = np.array([20, 30]) / [400, 100], share * [1, 5]
    variance, size = each**2 * wrong * (1 - wrong) / [399, 99], each * np.maximum(wrong, 1 - wrong) / [400,
            100]
    usual = max((counts * size**3).sum() / (counts * size**2).sum() for counts, size in (
        (np.array([400, 100]), size), (classes.T, np.abs(np.array([[0, 1], [1, 0]]) - wrong)
                                       * each / [400, 100])))
    df, error = variance.sum()**2 / (variance**2 / [399, 99]).sum(), np.sqrt(variance.sum() + usual**2)
    reach = scipy.stats.t(df).ppf(.975) * error
    assert_allclose([found.low, found.high], each @ wrong + np.array([-1, 1]) * reach)


def test_of_rows_with_bounds_of_their_own_the_costlier_ones_count_more():
    """The usual costly size is the mean of the largest losses, each weighted by its square; a cluster's is
    that of all its rows."""
    rng = np.random.default_rng(0)
    amount = rng.lognormal(0, 1, 3000)
    x, w, cluster = np.where(rng.random(3000) < .1, amount, 0), rng.choice([1., 2], 3000), rng.integers(0,
            1500, 3000)
    for options in ({}, dict(sample_weight=w), dict(clusters=cluster),
                    dict(clusters=cluster, sample_weight=w)):
        weight = options.get("sample_weight", np.ones(3000))
        unit = options.get("clusters", np.arange(3000))
        mean = np.average(x, weights=weight)
        most, z = (np.bincount(unit, weight * part) for part in (np.maximum(amount - mean, mean), x - mean))
        usual = max((most**3).sum() / (most**2).sum(), (np.abs(z)**3).sum() / (z**2).sum())
        found = bs.loss_interval(x, bounds=(0, amount), **options).approximate
        assert_allclose(found.seen, (z**2).sum() / usual**2)
        many = (np.bincount(unit) > 0).sum()
        assert_allclose(found.high - mean, scipy.stats.t(many - 1).ppf(.975) / weight.sum()
                        * np.sqrt((z**2).sum() * many / (many - 1) + usual**2))
