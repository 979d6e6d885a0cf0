"""Each interval method against a computation that shares no code with it: both ends, mean and standard error,
for one sample and
for one sample a class."""
from itertools import product

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import beta, multinomial, norm

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


# ---- percentile

def draws(seed=0, n_resamples=1000):
    return np.random.default_rng(seed).multinomial(COUNTS.sum(), COUNTS.ravel() / COUNTS.sum(), n_resamples)


def test_percentile_on_the_same_draws():
    values = np.sort(draws(7) @ COSTS.ravel()) / COUNTS.sum()
    found = bs.interval(COUNTS, COSTS, method="percentile", confidence=.8, rng=7)
    assert_allclose([*ends(found), found.mean], [values[100], values[899], EXAMPLES.mean()])


def test_percentile_is_scipys():
    found = bs.interval(COUNTS, COSTS, method="percentile", confidence=.8, n_resamples=50_000, rng=0)
    theirs = scipy.stats.bootstrap((EXAMPLES,), np.mean, method="percentile", confidence_level=.8,
                                   n_resamples=20_000, batch=1000, random_state=1)
    assert_allclose(ends(found), theirs.confidence_interval, atol=.08 * found.standard_error)


@pytest.mark.parametrize("name", ["normal", "percentile"])
def test_nothing_varies_nothing_is_wide(name):
    assert ends(bs.interval([[50, 0], [0, 0]], ZERO_ONE, method=name, rng=0)) == [0, 0]


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
    "Log of the capital (8.5) over what refutes a claim, example by example, as it is written down."
    stakes = 10**np.arange(-4, 4.1, .2)
    shares = 1 / (1 + ((np.log10(stakes) + .5) / .7)**2)
    each = [np.log1p(t * x).sum() - len(x) * np.log1p(t * v) for t in stakes]
    return logsumexp(each, b=shares / shares.sum()) + np.log(tail)


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


@pytest.mark.parametrize("name", ["betting", "clopper_pearson", "normal"])
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


@pytest.mark.parametrize("name", ["normal", "clopper_pearson", "betting"])
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


@pytest.mark.parametrize("name", [n for n, record in bs.METHODS.items() if record.paired])
def test_models_that_never_disagree_have_a_p_value_of_1(name):
    found = bs.difference([[[80, 0], [0, 9]], [[4, 0], [0, 37]]], BILL, method=name, rng=0)
    assert found.p_value == 1 and not found.rejects and found.low <= 0 <= found.high


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
