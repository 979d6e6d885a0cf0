"""What the default interval covers, computed and not drawn: every outcome of a small sample is given its
interval, and a truth is covered as
often as the outcomes that hold it occur. Each test also shows a method that fails it, so that it is known to
be able to."""
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, binomtest, hypergeom, multinomial, norm

from cost_eval import bootstrap as bs

ZERO_ONE = np.array([[0, 1.], [1, 0]])
NEVER = 1e-9  # of the scale of costs: what an end may be short of the truth by rounding alone


def outcomes(n, cells):
    "All counts of n units in so many cells."
    inner = np.array(list(product(range(n + 1), repeat=cells - 1))).reshape(-1, cells - 1)
    inner = inner[inner.sum(1) <= n]
    return np.column_stack([inner, n - inner.sum(1)])


def misses(found, truth, chance):
    "Chances that the interval lies below, and above, each truth (P,); chance (P, N) of the outcomes."
    low, high = np.asarray(found.low)[None], np.asarray(found.high)[None]
    near = NEVER * np.abs(truth).max()
    return (chance * (high < truth[:, None] - near)).sum(1), (chance * (low > truth[:, None] + near)).sum(1)


def keeps(found, truth, chance, confidence):
    "Whether each end misses as seldom as it should, whatever the truth."
    tail = (1 - confidence) / 2
    return max(part.max() for part in misses(found, truth, chance)) <= tail * (1 + 1e-7)


def rates(p):
    "Pairs of rates, both from a list."
    return (part.ravel() for part in np.meshgrid(p, p))


GRID = np.r_[.001, .01, np.linspace(.02, .98, 49), .99, .999]


# ---- one sample

@pytest.mark.parametrize("costs", [[0, .99, 1], [0, .01, 1], [0, .5, 1], [0, .003, .997, 1], [-5, 0, 1, 1.5]])
@pytest.mark.parametrize("confidence", [.5, .95])
def test_one_sample_of_a_few_costs(costs, confidence):
    "Mass just inside the extreme, a rare extreme, both signs; percentiles of resamples fail."
    m, rng = outcomes(9, len(costs)), np.random.default_rng(0)
    p = rng.dirichlet(np.full(len(costs), .4), 400)
    chance, truth = multinomial.pmf(m[None], 9, p[:, None]), p @ np.array(costs)
    stack, price = m[:, None], np.array([costs])
    assert keeps(bs.interval(stack, price, confidence=confidence), truth, chance, confidence)
    assert not keeps(bs.interval(stack, price, method="normal", confidence=confidence), truth, chance,
                     confidence)


# ---- strata

def two_samples(first, second):
    "All pairs of errors, and their counts as two classes (N, 2, 2)."
    i, j = (part.ravel() for part in np.mgrid[:first + 1, :second + 1])
    return i, j, np.stack([np.stack([first - i, i], -1), np.stack([j, second - j], -1)], -2)


@pytest.mark.parametrize("first, second", [(1, 1), (7, 1), (20, 3), (10, 8)])
@pytest.mark.parametrize("prior, miss", [(.01, 1), (.01, 100), (.5, 1), (.9, 5)])
def test_two_classes_with_priors(first, second, prior, miss):
    """A share of misses and one of false alarms, each class drawn on its own, the deployment's prior; the
    normal one fails."""
    i, j, counts = two_samples(first, second)
    p, q = rates(GRID)
    chance, truth = binom.pmf(i, first, p[:, None]) * binom.pmf(j, second,
            q[:, None]), (1 - prior) * p + prior * miss * q
    found = bs.interval(counts, [[0, 1], [miss, 0]], priors=[1 - prior, prior])
    assert keeps(found, truth, chance, .95)
    known = bs.interval(counts, [[0, 1], [miss, 0]], priors=[1 - prior, prior], method="percentile", rng=0)
    assert not keeps(known, truth, chance, .95)


@pytest.mark.parametrize("times", [1, 100, 10**4])
def test_two_classes_are_not_wide(times):
    """What is added to the normal's width is about one example's part in the mean of each class, however
    large the mean is, and the half percent by which several samples are rounded outward."""
    table, priors = times * np.array([[50, 950], [190, 10]]), np.array([.5, .5])
    ours, plain = (bs.interval(table, ZERO_ONE, priors=priors, method=name) for name in ("auto", "normal"))
    added = (ours.high - ours.low) - (plain.high - plain.low)
    assert 0 < added < 1.2 * (priors / table.sum(1)).sum() + .005 * (plain.high - plain.low)


@pytest.mark.parametrize("first, second", [(5, 5), (12, 4), (9, 14)])
def test_two_test_sets_of_equal_error_are_told_apart_as_by_fisher(first, second):
    """The p-value of equal error rates is twice the smaller tail of Fisher's exact test, for every outcome, the
    level rounded outward by at most half a percent of the half width."""
    i, j = (part.ravel() for part in np.mgrid[:first + 1, :second + 1])
    tables = [np.stack([np.stack([n - k, k], -1), np.zeros((len(k), 2), int)], -2)
              for n, k in ((first, i), (second, j))]
    found = bs.independent_difference(*tables, ZERO_ONE)
    law = hypergeom(first + second, i + j, first)
    fisher = np.minimum(2 * np.minimum(law.cdf(i), law.sf(i - 1)), 1)
    grown = 2 * norm.sf(norm.isf(fisher / 2) - .005 * norm.isf(.025))
    assert (fisher - 1e-9 <= found.p_value).all() and (found.p_value <= np.minimum(grown, 1) + 1e-9).all()
    p, q = rates(GRID)
    chance = binom.pmf(i, first, p[:, None]) * binom.pmf(j, second, q[:, None])
    assert keeps(found, p - q, chance, .95)


def test_pairs_within_classes():
    "Differences within each of two classes, weighed by priors and costs; BDELTACOST fails."
    m = outcomes(4, 3)
    i, j = (part.ravel() for part in np.mgrid[:len(m), :len(m)])
    joint = np.zeros((len(i), 2, 2, 2), int)
    joint[:, 0, 0, 1], joint[:, 0, 1, 0], joint[:, 0, 0, 0] = m[i].T
    joint[:, 1, 0, 1], joint[:, 1, 1, 0], joint[:, 1, 1, 1] = m[j].T
    costs, priors = np.array([[0, 1.], [10, 0]]), [.8, .2]
    p, q = np.random.default_rng(1).dirichlet([.5, .5, 1], (2, 300))
    chance = np.prod([multinomial.pmf(m[None], 4, part[:, None])[:, k] for part, k in ((p, i), (q, j))],
                     axis=0)
    truth = .8 * (p[:, 1] - p[:, 0]) + .2 * 10 * (q[:, 0] - q[:, 1])
    assert keeps(bs.difference(joint, costs, priors=priors), truth, chance, .95)
    assert not keeps(bs.difference(joint, costs, priors=priors, method="bdelta_cost", n_resamples=400, rng=0),
                     truth, chance, .95)


def test_disagreements_of_equal_cost_are_mcnemars():
    "With two equal costs the paired test is McNemar's exact one, for every pair of disagreements up to 9."
    b, c = (part.ravel() for part in np.mgrid[:10, :10])
    joint = np.zeros((100, 2, 2, 2), int)
    joint[:, 0, 1, 0], joint[:, 0, 0, 1], joint[:, 1, 1, 1] = b, c, 5
    exact = [binomtest(int(k), int(k + other)).pvalue if k + other else 1 for k, other in zip(b, c)]
    assert_allclose(bs.difference(joint, ZERO_ONE).p_value, exact, atol=1e-9)


# ---- ratios

@pytest.mark.parametrize("metric, options", [("f_beta", {}), ("f_beta", {"beta": 3.}), ("precision", {})])
def test_ratios_of_counts(metric, options):
    """Five examples, each table through the function that users call, from hardly an error to as many errors
    as hits."""
    n, m = 5, outcomes(5, 4)
    each = [bs.metric_interval(row.reshape(2, 2), metric, undefined=0., **options) for row in m]
    low, high = np.array([[found.low, found.high] for found in each]).T
    settings = [(.1, .001, .003), (.1, .01, .05), (.3, .1, .2), (.02, .01, .3), (.5, .3, .3), (.9, .5, .05)]
    p = np.array([[(1 - s) * (1 - f), (1 - s) * f, s * g, s * (1 - g)] for s, f, g in settings])
    truth = bs.METRICS[metric](p.reshape(-1, 2, 2), **options)
    found = bs.Interval(low, high, low, low, low, "", .95)
    assert keeps(found, truth, multinomial.pmf(m[None], n, p[:, None]), .95)


def test_f1_of_a_classifier_with_hardly_an_error():
    """200 examples, a tenth of them positive, one false alarm in a thousand, three misses in a thousand:
    percentiles of resamples
    hold the true F1 one time in five, since the others have no error."""
    n, prevalence, fpr, fnr = 200, .1, .001, .003
    p = np.array([(1 - prevalence) * fpr, prevalence * fnr, prevalence * (1 - fnr)])
    m = np.stack([part.ravel() for part in np.mgrid[:6, :4, 1:46]], -1)  # FP, FN, TP; beyond: one set in 10^5
    chance = multinomial.pmf(np.column_stack([m, n - m.sum(1)]), n, [*p, 1 - p.sum()])
    assert chance.sum() > 1 - 1e-5
    stack = m[:, None]
    f1 = bs.Sample(stack, np.array([[0., 0, 2]]), np.array([[1., 1, 2]]), kind="weights")
    truth = np.array([2 * p[2] / (p[0] + p[1] + 2 * p[2])])
    assert keeps(bs.sample_interval(f1), truth, chance[None], .95)
    below, above = misses(bs.sample_interval(f1, method="percentile", n_resamples=200, rng=0), truth,
                          chance[None])
    assert below + above > .78
    alone = bs.metric_interval([[180, 0], [0, 20]], "f_beta")
    assert alone.low < .95 and alone.high == 1


# ---- weights and clusters

KINDS_OF_UNITS = [(1, 5), (1, 20), (.2, 1)]


@pytest.mark.parametrize("light, heavy", KINDS_OF_UNITS)
@pytest.mark.parametrize("clusters", [False, True])
def test_units_of_two_sizes(light, heavy, clusters):
    """Four units, light or heavy, right or wrong as a whole, through the function that users call. The
    heaviest seen bounds what one more may
    weigh: where the heavy ones are so rare that most sets have none, that is no bound, and nothing is
    promised. So here a heavy one is seen."""
    m = outcomes(4, 4)
    m = m[m[:, 2:].sum(1) > 0]
    weight, wrong = np.array([light, light, heavy, heavy]), np.array([0., 1, 0, 1])
    low, high = np.array([_ends_of_units(np.repeat(np.arange(4), row), weight, wrong, clusters)
                          for row in m]).T
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, .3, 1, .3], 300)
    p = p[p[:, 2:].sum(1) > .3]
    truth = (p @ (weight * wrong)) / (p @ weight)
    found, chance = bs.Interval(low, high, low, low, low, "", .95), multinomial.pmf(m[None], 4, p[:, None])
    assert keeps(found, truth, chance, .95)
    plain = bs.Sample(m[:, None], (weight * wrong)[None], weight[None], kind="weights")
    assert not keeps(bs.sample_interval(plain, method="normal"), truth, chance, .95)


def _ends_of_units(kind, weight, wrong, clusters):
    if not clusters:
        found = bs.loss_interval(wrong[kind], sample_weight=weight[kind], bounds=(0, 1))
    else:
        size = np.maximum(np.rint(weight[kind] / weight.min()), 1).astype(int)
        rows = np.repeat(np.arange(len(kind)), size)
        found = bs.loss_interval(wrong[kind][rows], clusters=rows, bounds=(0, 1))
    return found.low, found.high


@pytest.mark.parametrize("n", [30, 300, 3000])
def test_the_inverted_law_is_the_expanded_one_and_what_replicates_give(n):
    "The same test sets by both ways, and by replicates that are drawn."
    p, c = np.array([.6, .3, .1]), np.array([0, 1., 4])
    expanded, inverted = (bs.bootstrap_coverage(p, c, n=n, n_sets=400, method=method, rng=0).share
                          for method in ("expansion", "inversion"))
    assert inverted == pytest.approx(expanded, abs=.01)
    several, one = (bs.bootstrap_coverage([p, p[::-1]], c, n=n, n_sets=40, laplace=each, rng=1)
                    for each in ([.5, 0], 0))
    assert several.share.shape == (2, 2) and (several.share[:,
            1] == one.share).all() and (several.standard_error[:, 1] == one.standard_error).all()
    rng = np.random.default_rng(0)
    held = [(found.low <= p @ c <= found.high) for found in (bs.bcost(m[None], c[None], laplace=0, rng=rng)
            for m in rng.multinomial(n, p, 400))]
    assert abs(np.mean(held) - inverted) < 4 * np.sqrt(.06 / 400)


# ---- the approximate line

def offered_line(units, truth, chance):
    """Chances that it is offered, and that it is offered and misses; the same of Student's t without the
    further case."""
    line, t = bs.sample_difference(units, method="normal").approximate, bs.sample_difference(units,
            method="normal")
    reach = 1.96 * t.standard_error
    found = [np.where(line.offered, chance, 0).sum(1)]
    for low, high in ((line.low, line.high), (t.mean - reach, t.mean + reach)):
        out = line.offered & ((low > truth[:, None] + NEVER) | (high < truth[:, None] - NEVER))
        found.append(np.where(out, chance, 0).sum(1))
    return found


@pytest.mark.parametrize("n, costs", [(60, [0, 1]), (90, [0, 1, 4.]), (70, [-1, 0, 20.]),
                                      (22, [-5, -1, 0, 1, 5.])])
def test_where_the_approximate_line_is_offered_it_covers(n, costs):
    """In .92 of the sets in which it is offered, if these are a fifth; it is offered and misses in .08 at
    most, whatever the truth."""
    m, rng = outcomes(n, len(costs)), np.random.default_rng(0)
    p = np.r_[rng.dirichlet(np.full(len(costs), .5), 150),
              rng.dirichlet(np.r_[np.full(len(costs) - 1, .5), 8], 150)]
    p = np.r_[p, p[:, ::-1]]
    parts = [offered_line(bs.Sample(m[:, None], np.array([costs])), p[k] @ np.array(costs),
                          multinomial.pmf(m[None], n, p[k][:, None]))
             for k in np.split(np.arange(len(p)), 20)]
    offered, missed, alone = (np.concatenate(part) for part in zip(*parts))
    often = offered >= .2
    assert often.sum() > 50 and (offered[~often] < .2).all() and (~often).any()
    assert missed.max() <= .08 and (missed[often] / offered[often]).max() <= .08
    assert alone.max() > max(.07, missed.max())


def test_with_amounts_of_their_own_the_approximate_line_covers_given_these_rows():
    """Labels and decisions drawn anew, the amounts being what they are; Student's t without the rule and the
    further case does not."""
    rng, n = np.random.default_rng(1), 2000
    kept, alone, offered = [], [], []
    for spread in (1.1, 1.7):
        amount = rng.lognormal(0, spread, n)
        for rate in (.004, .02, .1):
            truth, sets = rate * amount.mean(), rng.random((250, n)) < rate
            found = [bs.loss_interval(amount * missed, bounds=(0, amount), method="normal")
                     for missed in sets]
            lines = [one.approximate for one in found]
            offered.append(np.mean([line.offered for line in lines]))
            kept.append(np.mean([line.offered and not line.low <= truth <= line.high for line in lines]))
            alone.append(np.mean([not one.low <= truth <= one.high for one in found]))
    assert max(kept) <= .08 and max(alone) > .2 and min(offered) < .05 and max(offered) > .8


def two_tiers(sets, n=20_000, few=5, price=20., rates=(.002, .2)):
    "Rows of 1 and some dear ones: what the approximate line of each set is, and the truth."
    amount, rate = np.repeat([1., price], [n, few]), np.repeat(rates, [n, few])
    rng = np.random.default_rng(0)
    lines = [bs.loss_interval(amount * (rng.random(n + few) < rate), bounds=(0, amount), method="normal")
             for _ in range(sets)]
    return [one.approximate for one in lines], (amount * rate).mean()


@pytest.mark.parametrize("setting", [{}, dict(n=4000, rates=(.021, .2)), dict(price=60.)])
def test_a_dear_size_that_could_carry_a_tenth_is_seen_twice_before_a_line_is_offered(setting):
    """It was offered in .58 of the first sets and covered .53 of these: five rows of 20, of which none was
    seen missed, say nothing about what they cost."""
    lines, truth = two_tiers(600, **setting)
    offered = np.array([line.offered for line in lines])
    covers = np.array([line.low <= truth <= line.high for line in lines])
    assert .2 < offered.mean() < 1 and covers[offered].mean() >= .92 and (offered & ~covers).mean() <= .08
    assert any("of each size that could carry a tenth" in line.reason for line in lines)
    assert all(line.seen < 2 for line in lines if not line.offered)


def test_classes_at_priors_are_sizes_too_and_more_than_ten_are_not_looked_at():
    rare = np.array([[19_960, 40], [0, 5]])
    assert not bs.interval(rare, [[0, 1], [20, 0]], priors=[20_000 / 20_005, 5 / 20_005]).approximate.offered
    assert bs.interval(rare, [[0, 1], [.1, 0]], priors=[20_000 / 20_005, 5 / 20_005]).approximate.offered
    rng = np.random.default_rng(0)
    amounts = np.repeat([1., 20], [20_000, 5])
    missed = np.arange(20_005) < 40
    for jitter, offered in ((0, False), (1e-13, False), (1e-3, True)):
        own = amounts * (1 + jitter * rng.random(20_005))
        assert bs.loss_interval(own * missed, bounds=(0, own)).approximate.offered == offered


def test_the_record_of_the_approximate_line_is_told_with_its_league_and_premise():
    told = repr(bs.interval([[900, 90], [30, 90]], [[0, 1], [5, 0]]).approximate)
    assert "or more in the league of chapter 20: the risk is the same for all amounts, or grows as" in told


def units_of(family, scale, n, rng):
    "A Bernoulli risk that grows as the root of the amount, in rows of their own amounts."
    amount = rng.lognormal(0, family, n)
    risk = np.minimum(.9, scale * np.sqrt(amount) / np.sqrt(amount).mean())
    return amount, risk


def test_where_the_risk_grows_as_the_root_of_the_amount_the_approximate_line_covers():
    rng = np.random.default_rng(3)
    for spread, scale in ((1.1, .02), (1.7, .05)):
        amount, risk = units_of(spread, scale, 2000, rng)
        lines = [bs.loss_interval(amount * (rng.random(2000) < risk), bounds=(0, amount),
                                  method="normal").approximate for _ in range(400)]
        offered, truth = np.array([line.offered for line in lines]), (amount * risk).mean()
        wrong = np.array([not line.low <= truth <= line.high for line in lines]) & offered
        assert offered.mean() > .2 and wrong.mean() <= .08 and wrong.sum() <= .08 * offered.sum() + 4
