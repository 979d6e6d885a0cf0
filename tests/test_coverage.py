"""What intervals cover, computed and not drawn: every outcome of a small sample is given its interval, and a
truth is covered as often as the outcomes that hold it occur. Tests also show a method that fails them, so
that they are known to be able to."""
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, binomtest, hypergeom, multinomial, norm

from cost_eval import bootstrap as bs

ZERO_ONE, BILL = np.array([[0, 1.], [1, 0]]), np.array([[0, 1.], [5, 0]])
NEVER = 1e-9  # of the scale of costs: what an end may be short of the truth by rounding alone


def outcomes(n, cells):
    "All counts of n units in so many cells."
    return np.array([k for k in product(range(n + 1), repeat=cells) if sum(k) == n])


def misses(found, truth, chance):
    "Chances that the interval lies below, and above, each truth (P,); chance (P, N) of the outcomes."
    low, high = np.asarray(found.low)[None], np.asarray(found.high)[None]
    near = NEVER * np.abs(truth).max()
    return (chance * (high < truth[:, None] - near)).sum(1), (chance * (low > truth[:, None] + near)).sum(1)


def keeps(found, truth, chance, confidence=.95):
    "Whether each end misses as seldom as it should, whatever the truth."
    return max(part.max() for part in misses(found, truth, chance)) <= (1 - confidence) / 2 * (1 + 1e-7)


GRID = np.r_[.001, .01, np.linspace(.02, .98, 49), .99, .999]
RATES = [part.ravel() for part in np.meshgrid(GRID, GRID)]


def two_samples(first, second):
    "All pairs of errors in two samples, and the chance of each at all pairs of rates."
    i, j = (part.ravel() for part in np.mgrid[:first + 1, :second + 1])
    p, q = (part[:, None] for part in RATES)
    return i, j, binom.pmf(i, first, p) * binom.pmf(j, second, q)


# ---- one sample, and several

FEW = {  # costs of each sample, its size
    "two costs": ([[0, 1.]], [9]), "nearly the largest": ([[0, .99, 1.]], [9]),
    "a rare extreme": ([[0, 1, 20.]], [9]), "four costs": ([[0, .003, .997, 1.]], [7]),
    "signed": ([[-4, 0, 5.]], [8]), "two classes": ([[0, 1.], [0, 20]], [7, 4]),
    "two test sets": ([[0, 1.], [-1, 0]], [6, 5]), "unequal": ([[0, 1.], [0, 1, 5]], [6, 4]),
}
PROVED = [name for name, record in bs.METHODS.items() if record.guarantee_for("strata").startswith("proved")]


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("method", ["clopper_pearson", *PROVED])
def test_no_end_misses_more_often_than_promised(method, name):
    "All test sets, each with its chance under many laws; the normal one fails."
    costs, sizes = FEW[name]
    width, sets = max(map(len, costs)), [outcomes(n, len(c)) for c, n in zip(costs, sizes)]
    pick = np.array(list(product(*(range(len(one)) for one in sets))))
    m = np.zeros((len(pick), len(costs), width), int)
    c = np.array([[*one, *[one[0]] * (width - len(one))] for one in costs])
    for s, one in enumerate(sets):
        m[:, s, :one.shape[1]] = one[pick[:, s]]
    rng, chance, truth = np.random.default_rng(0), 1, 0
    for s, one in enumerate(sets):
        ends = [[1 - p, *[0] * (len(costs[s]) - 2), p] for p in np.linspace(.001, .999, 60)]
        laws = np.array([*ends, *rng.dirichlet(np.full(len(costs[s]), .4), 200)])
        chance = chance * multinomial.pmf(one[None], sizes[s], laws[:, None])[:, pick[:, s]]
        truth = truth + laws @ np.array(costs[s])
    for confidence in (.4, .95):
        found = bs.sample_interval(bs.Sample(m, c), method=method, confidence=confidence)
        assert (c.min(-1).sum() - 1e-12 <= found.low).all() and (found.high <= c.max(-1).sum() + 1e-12).all()
        assert keeps(found, truth, chance, confidence)
    assert not keeps(bs.sample_interval(bs.Sample(m, c), method="normal"), truth, chance)


@pytest.mark.parametrize("first, second", [(1, 1), (7, 1), (20, 3), (10, 8)])
@pytest.mark.parametrize("prior, miss", [(.01, 1), (.01, 100), (.9, 5)])
def test_two_classes_with_priors(first, second, prior, miss):
    """A share of misses and one of false alarms, each class drawn on its own, the deployment's prior;
    percentiles of resamples fail."""
    (i, j, chance), (p, q) = two_samples(first, second), RATES
    counts = np.stack([first - i, i, j, second - j], -1).reshape(-1, 2, 2)
    options = {"costs": [[0, 1], [miss, 0]], "priors": [1 - prior, prior], "rng": 0}
    truth = (1 - prior) * p + prior * miss * q
    assert keeps(bs.interval(counts, **options), truth, chance)
    assert not keeps(bs.interval(counts, method="percentile", **options), truth, chance)


@pytest.mark.parametrize("first, second", [(5, 5), (12, 4), (9, 14)])
def test_two_test_sets_of_equal_error_are_told_apart_as_by_fisher(first, second):
    """The p-value of equal error rates is twice the smaller tail of Fisher's exact test, for every outcome,
    the level rounded outward by at most half a percent of the half width."""
    i, j, chance = two_samples(first, second)
    tables = [np.stack([n - k, k, 0 * k, 0 * k], -1).reshape(-1, 2, 2) for n, k in ((first, i), (second, j))]
    found, law = bs.independent_difference(*tables, ZERO_ONE), hypergeom(first + second, i + j, first)
    fisher = np.minimum(2 * np.minimum(law.cdf(i), law.sf(i - 1)), 1)
    grown = 2 * norm.sf(norm.isf(fisher / 2) - .005 * norm.isf(.025))
    assert (fisher - 1e-9 <= found.p_value).all() and (found.p_value <= np.minimum(grown, 1) + 1e-9).all()
    assert keeps(found, RATES[0] - RATES[1], chance)


def test_pairs_within_classes():
    "Differences within each of two classes, weighed by priors and costs; BDELTACOST fails."
    m = outcomes(4, 3)
    i, j = (part.ravel() for part in np.mgrid[:len(m), :len(m)])
    joint = np.zeros((len(i), 2, 2, 2), int)
    joint[:, 0, 0, 1], joint[:, 0, 1, 0], joint[:, 0, 0, 0] = m[i].T
    joint[:, 1, 0, 1], joint[:, 1, 1, 0], joint[:, 1, 1, 1] = m[j].T
    p, q = np.random.default_rng(1).dirichlet([.5, .5, 1], (2, 300))
    chance = multinomial.pmf(m, 4, p[:, None])[:, i] * multinomial.pmf(m, 4, q[:, None])[:, j]
    truth, options = .8 * (p[:, 1] - p[:, 0]) + .2 * 10 * (q[:, 0] - q[:, 1]), {"priors": [.8, .2]}
    assert keeps(bs.difference(joint, [[0, 1.], [10, 0]], **options), truth, chance)
    drawn = bs.difference(joint, [[0, 1.], [10, 0]], method="bdelta_cost", n_resamples=400, rng=0, **options)
    assert not keeps(drawn, truth, chance)


def test_disagreements_of_equal_cost_are_mcnemars():
    "With two equal costs the paired test is McNemar's exact one, for every pair of disagreements up to 9."
    b, c = (part.ravel() for part in np.mgrid[:10, :10])
    joint = np.zeros((100, 2, 2, 2), int)
    joint[:, 0, 1, 0], joint[:, 0, 0, 1], joint[:, 1, 1, 1] = b, c, 5
    exact = [binomtest(int(k), int(k + other)).pvalue if k + other else 1 for k, other in zip(b, c)]
    assert_allclose(bs.difference(joint, ZERO_ONE).p_value, exact, atol=1e-9)


# ---- ratios, weights and clusters

def each_of(found):
    "Intervals that were asked one by one."
    low, high = np.array([[one.low, one.high] for one in found]).T
    return bs.Interval(low, high, low, low, low, "", .95)


@pytest.mark.parametrize("metric, options", [("f_beta", {"beta": 3.}), ("precision", {})])
def test_ratios_of_counts(metric, options):
    """Five examples, each table through the function that users call, from hardly an error to as many errors
    as hits."""
    m = outcomes(5, 4)
    found = each_of(bs.metric_interval(row.reshape(2, 2), metric, undefined=0., **options) for row in m)
    s, f, g = np.array([[.1, .1, .3, .02, .5, .9], [.001, .01, .1, .01, .3, .5], [.003, .05, .2, .3, .3, .1]])
    p = np.transpose([(1 - s) * (1 - f), (1 - s) * f, s * g, s * (1 - g)])
    truth = bs.METRICS[metric](p.reshape(-1, 2, 2), **options)
    assert keeps(found, truth, multinomial.pmf(m[None], 5, p[:, None]))


def test_f1_of_a_classifier_with_hardly_an_error():
    """200 examples, a tenth of them positive, one false alarm in a thousand, three misses in a thousand:
    percentiles of resamples hold the true F1 one time in five, since the others have no error."""
    p = np.array([.9 * .001, .1 * .003, .1 * .997])
    m = np.stack([part.ravel() for part in np.mgrid[:6, :4, 1:46]], -1)  # FP, FN, TP; beyond: one set in 10^5
    chance = multinomial.pmf(np.column_stack([m, 200 - m.sum(1)]), 200, [*p, 1 - p.sum()])[None]
    f1 = bs.Sample(m[:, None], np.array([[0., 0, 2]]), np.array([[1., 1, 2]]), kind="weights")
    truth = np.array([2 * p[2] / (p[0] + p[1] + 2 * p[2])])
    assert chance.sum() > 1 - 1e-5 and keeps(bs.sample_interval(f1), truth, chance)
    drawn = bs.sample_interval(f1, method="percentile", n_resamples=200, rng=0)
    assert sum(misses(drawn, truth, chance)) > .78
    alone = bs.metric_interval([[180, 0], [0, 20]], "f_beta")
    assert alone.low < .95 and alone.high == 1


@pytest.mark.parametrize("light, heavy", [(1, 5), (1, 20), (.2, 1)])
@pytest.mark.parametrize("clusters", [False, True])
def test_units_of_two_sizes(light, heavy, clusters):
    """Four units, light or heavy, right or wrong as a whole, through the function that users call. The
    heaviest seen bounds what one more may weigh: where the heavy ones are so rare that most sets have none,
    that is no bound, and nothing is promised. So here a heavy one is seen."""
    weight, wrong = np.array([light, light, heavy, heavy]), np.array([0., 1, 0, 1])
    m = outcomes(4, 4)
    m = m[m[:, 2:].sum(1) > 0]

    def ends(kind):
        if not clusters:
            return bs.loss_interval(wrong[kind], sample_weight=weight[kind], bounds=(0, 1))
        rows = np.repeat(np.arange(4), np.rint(weight[kind] / min(weight)).astype(int))
        return bs.loss_interval(wrong[kind][rows], clusters=rows, bounds=(0, 1))

    p = np.random.default_rng(2).dirichlet([1, .3, 1, .3], 300)
    p = p[p[:, 2:].sum(1) > .3]
    truth, chance = (p @ (weight * wrong)) / (p @ weight), multinomial.pmf(m[None], 4, p[:, None])
    assert keeps(each_of(ends(np.repeat(np.arange(4), row)) for row in m), truth, chance)
    plain = bs.Sample(m[:, None], (weight * wrong)[None], weight[None], kind="weights")
    assert not keeps(bs.sample_interval(plain, method="normal"), truth, chance)


@pytest.mark.parametrize("hazard, sizes", [(1.5, np.ones(250, int)), (3.6, np.full(50, 5))])
def test_ranges_cover_where_the_largest_are_missed_the_most(hazard, sizes):
    "A risk of 1 - l / u of the largest makes the cost as large as it can be where it is rarely seen."
    rng, missed, group = np.random.default_rng(3), 0, np.repeat(np.arange(len(sizes)), sizes)
    for _ in range(100):
        most = rng.lognormal(0, 1, 250)
        whole = np.bincount(group, most)
        worst = np.sort(whole)[::-1]
        gaps = np.cumsum(np.log(worst)) - np.arange(1, len(worst) + 1) * np.log(np.append(worst[1:], 1e-9))
        k = np.searchsorted(gaps, hazard) + 1  # so many of the largest are at risk
        risk = np.maximum(.01, 1 - np.exp((np.log(worst[:k]).sum() - hazard) / k) / whole)
        losses = np.where((rng.random(len(whole)) < risk)[group], most, 0)
        found = bs.loss_interval(losses, bounds=(0 * most, most), clusters=None if sizes[0] == 1 else group)
        missed += not found.low <= (risk[group] * most).mean() <= found.high
    assert binom.cdf(missed - 1, 100, .05) < .999


@pytest.mark.parametrize("n", [30, 3000])
def test_the_inverted_law_is_the_expanded_one_and_what_replicates_give(n):
    "The same test sets by both ways, and by replicates that are drawn."
    p, c = np.array([.6, .3, .1]), np.array([0, 1., 4])
    expanded, inverted = (bs.bootstrap_coverage(p, c, n=n, n_sets=400, method=method, rng=0).share
                          for method in ("expansion", "inversion"))
    assert inverted == pytest.approx(expanded, abs=.01)
    several, one = (bs.bootstrap_coverage([p, p[::-1]], c, n=n, n_sets=40, laplace=laplace, rng=1)
                    for laplace in ([.5, 0], 0))
    assert several.share.shape == (2, 2) and (several.share[:, 1] == one.share).all()
    rng = np.random.default_rng(0)
    found = bs.interval(rng.multinomial(n, p, 400)[:, None], c[None], method="bcost", rng=rng)
    held = (found.low <= p @ c) & (p @ c <= found.high)
    assert abs(held.mean() - inverted) < 4 * np.sqrt(.06 / 400)


# ---- the approximate line

def offered_line(units, truth, chance):
    """Chances that it is offered, and that it is offered and misses; the same of Student's t without the
    further case."""
    t = bs.sample_difference(units, method="normal")
    line, reach = t.approximate, 1.96 * t.standard_error
    out = [line.offered & ((low > truth[:, None] + NEVER) | (high < truth[:, None] - NEVER))
           for low, high in ((line.low, line.high), (t.mean - reach, t.mean + reach))]
    return [np.where(one, chance, 0).sum(1) for one in (line.offered, *out)]


@pytest.mark.parametrize("n, costs", [(60, [0, 1]), (90, [0, 1, 4.]), (70, [-1, 0, 20.]),
                                      (22, [-5, -1, 0, 1, 5.])])
def test_where_the_approximate_line_is_offered_it_covers(n, costs):
    """In .92 of the sets in which it is offered, if these are a fifth; it is offered and misses in .08 at
    most, whatever the truth."""
    inner = np.indices([n + 1] * (len(costs) - 1)).reshape(len(costs) - 1, -1).T
    m, half, rng = inner[inner.sum(1) <= n], np.full(len(costs), .5), np.random.default_rng(0)
    m, p = np.c_[m, n - m.sum(1)], np.r_[rng.dirichlet(half, 150), rng.dirichlet([*half[1:], 8], 150)]
    p = np.r_[p, p[:, ::-1]]
    chance = np.stack([multinomial.pmf(m, n, one) for one in p])
    units = bs.Sample(m[:, None], np.array([costs]))
    offered, missed, alone = offered_line(units, p @ np.array(costs), chance)
    often = offered >= .2
    assert often.sum() > 50 and (~often).any()
    assert missed.max() <= .08 and (missed[often] / offered[often]).max() <= .08
    assert alone.max() > max(.07, missed.max())


def lines_of(amount, risk, sets, seed=0):
    "Student's t, the approximate line's ends, whether it is offered and whether it holds, of drawn sets."
    rng, truth = np.random.default_rng(seed), (amount * risk).mean()
    found = [bs.loss_interval(amount * (rng.random(len(amount)) < risk), bounds=(0, amount), method="normal")
             for _ in range(sets)]
    lines = [one.approximate for one in found]
    holds = [[low <= truth <= high for low, high in ((one.low, one.high), (line.low, line.high))]
             for one, line in zip(found, lines)]
    return lines, np.array([line.offered for line in lines]), *np.transpose(holds)


def test_with_amounts_of_their_own_the_approximate_line_covers_given_these_rows():
    """Labels and decisions drawn anew, the amounts being what they are, the risk the same for all or grown
    as the root of the amount; Student's t without the rule and the further case does not."""
    rng, kept, alone, often = np.random.default_rng(1), [], [], []
    for spread, rate in product((1.1, 1.7), (.004, .02, .1)):
        amount = rng.lognormal(0, spread, 2000)
        for power in (0, .5):
            risk = np.minimum(.9, rate * amount**power / (amount**power).mean())
            _, offered, t, line = lines_of(amount, risk, 100)
            often.append(offered.mean())
            kept.append((offered & ~line).mean())
            alone.append((~t).mean())
    assert max(kept) <= .08 and max(alone) > .2 and min(often) < .05 and max(often) > .8


@pytest.mark.parametrize("n, price, rate", [(20_000, 20., .002), (4000, 20., .021)])
def test_a_dear_size_that_could_carry_a_tenth_is_seen_twice_before_a_line_is_offered(n, price, rate):
    """It was offered in .58 of the first sets and covered .53 of these: five rows of 20, of which none was
    seen missed, say nothing about what they cost."""
    lines, offered, _, covers = lines_of(np.repeat([1., price], [n, 5]), np.repeat([rate, .2], [n, 5]), 300)
    assert .2 < offered.mean() < 1 and covers[offered].mean() >= .92 and (offered & ~covers).mean() <= .08
    assert any("of each size that could carry a tenth" in line.reason for line in lines)
    assert all(line.seen < 2 for line in lines if not line.offered)


def test_classes_at_priors_are_sizes_too_and_more_than_ten_are_not_looked_at():
    rare, priors = np.array([[19_960, 40], [0, 5]]), np.array([20_000, 5]) / 20_005
    for miss, offered in ((20, False), (.1, True)):
        assert bs.interval(rare, [[0, 1], [miss, 0]], priors=priors).approximate.offered == offered
    amounts, missed = np.repeat([1., 20], [20_000, 5]), np.arange(20_005) < 40
    for jitter, offered in ((0, False), (1e-13, False), (1e-3, True)):
        own = amounts * (1 + jitter * np.random.default_rng(0).random(20_005))
        assert bs.loss_interval(own * missed, bounds=(0, own)).approximate.offered == offered
    told = repr(bs.interval([[900, 90], [30, 90]], BILL).approximate)
    assert "or more in the league of chapter 20: the risk is the same for all amounts, or grows as" in told
