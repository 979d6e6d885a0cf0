"""Each method of an interval against a computation that shares no code with it: the papers' rules on the
same draws, textbooks, enumeration, SciPy. The default's ends are held by test_engine_grid.py, betting's by
test_sequences.py."""
import tracemalloc

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose as close
from scipy.stats import beta, binom, norm

from conftest import refuses
from cost_eval import bootstrap as bs, core
from cost_eval.confusion import joint_counts
from cost_eval.metrics import METRICS, expected_cost

COUNTS = np.array([[70, 5, 2], [4, 60, 1], [3, 2, 53]])
COSTS = np.array([[0, 1, 4.], [2, 0, 30], [1, 3, 0]])
PRIORS = np.array([.2, .3, .5])
EXAMPLES = np.repeat(COSTS.ravel(), COUNTS.ravel())
APART = (COSTS[:, :, None] - COSTS[:, None, :]).reshape(3, -1)  # of pairs, class by class
ALARM = np.array([[880, 40], [25, 55]])
ZERO_ONE, BILL = [[0, 1], [1, 0]], np.array([[0, 1.], [5, 0]])
PAIRED = [name for name, record in bs.METHODS.items() if record.paired]


def ends(found):
    return [found.low, found.high]


def drawn(counts, seed, share=1.0, laplace=0.0):
    "(1000, ...) shares of resampled tables, in one sample or, of tables with weights, class by class."
    rng, more = np.random.default_rng(seed), counts + laplace
    if np.ndim(share) == 0:
        tables = rng.multinomial(counts.sum(), more.ravel() / more.sum(), 1000)
        return tables.reshape(-1, *counts.shape) / counts.sum()
    p, n = more.reshape(len(more), -1), counts.reshape(len(counts), -1).sum(1)
    tables = rng.multinomial(n, p / p.sum(1, keepdims=True), (1000, len(n)))
    return (tables * (share / n)[:, None]).reshape(-1, *counts.shape)


# ---- the textbook

def test_normal_is_the_textbook_class_by_class_and_welch():
    found = bs.interval(COUNTS, COSTS, method="normal", confidence=.9)
    error, mean = scipy.stats.sem(EXAMPLES), EXAMPLES.mean()
    close([*ends(found), found.mean, found.standard_error], [*norm.interval(.9, mean, error), mean, error])
    assert found.distribution.shape == (0,)
    rows = [np.repeat(c, m) for c, m in zip(COSTS, COUNTS)]
    mean = PRIORS @ [x.mean() for x in rows]
    error = np.sqrt(sum((w * scipy.stats.sem(x))**2 for x, w in zip(rows, PRIORS)))
    found = bs.interval(COUNTS, COSTS, method="normal", priors=PRIORS)
    close([*ends(found), found.standard_error], [*norm.interval(.95, mean, error), error])
    other = np.array([[50, 9, 1], [8, 40, 2], [1, 1, 60]])
    rows = np.repeat(COSTS.ravel(), other.ravel())
    welch = scipy.stats.ttest_ind(EXAMPLES, rows, equal_var=False).statistic
    found = bs.independent_difference(COUNTS, other, COSTS, method="normal")
    close([found.mean / found.standard_error, found.p_value], [welch, 2 * norm.sf(abs(welch))])


def test_percentile_on_the_same_draws_and_as_scipys():
    found = bs.interval(COUNTS, COSTS, method="percentile", confidence=.8, rng=7)
    values = np.sort((drawn(COUNTS, 7) * COSTS).sum((1, 2)))
    close([*ends(found), found.mean], [values[100], values[899], EXAMPLES.mean()])
    found = bs.interval(COUNTS, COSTS, method="percentile", confidence=.8, n_resamples=50_000, rng=0)
    theirs = scipy.stats.bootstrap((EXAMPLES,), np.mean, method="percentile", confidence_level=.8,
                                   n_resamples=20_000, batch=1000, random_state=1)
    close(ends(found), theirs.confidence_interval, atol=.08 * found.standard_error)
    for name in ("normal", "percentile"):
        assert ends(bs.interval([[50, 0], [0, 0]], ZERO_ONE, method=name, rng=0)) == [0, 0]


@pytest.mark.parametrize("n, errors", [(1, 0), (1, 1), (10, 0), (10, 3), (1000, 1), (50, 49), (10**6, 7)])
@pytest.mark.parametrize("confidence", [.2, .95, 1 - 1e-6])
def test_clopper_pearson_is_clopper_pearson(n, errors, confidence):
    found = bs.interval([[n - errors, errors], [0, 0]], ZERO_ONE, confidence=confidence)
    tail = (1 - confidence) / 2
    low = beta.ppf(tail, errors, n - errors + 1) if errors else 0
    high = beta.isf(tail, errors + 1, n - errors) if errors < n else 1
    close(ends(found), [low, high], rtol=1e-9)


# ---- BCOST and BDELTACOST

@pytest.mark.parametrize("confidence, rank", [(.95, 25), (.9, 50), (.99, 5), (.8, 100)])
@pytest.mark.parametrize("laplace", [0, .1, .5])
def test_bcost_is_the_rule_of_the_paper(confidence, rank, laplace):
    """Number floor((1 - rho) / 2 B) + 1 from either end of the sorted costs of draws from (M + lambda) / (n
    + k^2 lambda)."""
    found = bs.bcost(COUNTS, COSTS, confidence=confidence, laplace=laplace, rng=3)
    p = (COUNTS + laplace).ravel() / (COUNTS.sum() + 9 * laplace)
    draws = np.sort((drawn(COUNTS, 3, laplace=laplace) * COSTS).sum((1, 2)))
    close(found.distribution, draws)
    close([found.low, found.high, found.mean], [draws[rank], draws[999 - rank], p @ COSTS.ravel()])
    variance = COSTS.ravel() @ scipy.stats.multinomial(COUNTS.sum(), p).cov() @ COSTS.ravel()
    close(found.standard_error, np.sqrt(variance) / COUNTS.sum())


@pytest.mark.parametrize("laplace", [0, .3])
@pytest.mark.parametrize("share", [COUNTS.sum(1) / COUNTS.sum(), PRIORS])
def test_bcost_class_by_class(laplace, share):
    found = bs.bcost(COUNTS, COSTS, laplace=laplace, rng=1, priors=share)
    draws = np.sort((drawn(COUNTS, 1, share, laplace) * COSTS).sum((1, 2)))
    p = (COUNTS + laplace) / (COUNTS + laplace).sum(1, keepdims=True)
    close([found.low, found.high, found.mean], [draws[25], draws[974], share @ (p * COSTS).sum(1)])
    variance = (p * COSTS**2).sum(1) - (p * COSTS).sum(1)**2
    close(found.standard_error, np.sqrt(share**2 @ (variance / COUNTS.sum(1))))


def test_blocks_change_nothing_and_bound_the_memory(monkeypatch):
    counts, costs = np.full((10, 10), 10), np.arange(100.).reshape(10, 10)
    stack = np.stack([COUNTS, COUNTS[::-1]] * 20)

    def found():
        return (bs.bcost(counts, costs, n_resamples=20_000, rng=0).distribution,
                bs.interval(stack, COSTS, method="bcost", n_resamples=500, rng=0).low)
    whole = found()
    monkeypatch.setattr(core, "BLOCK_BYTES", 2**20)
    for one, before in zip(found(), whole):
        close(one, before, rtol=1e-12)
    tracemalloc.start()
    bs.bcost(counts, costs, n_resamples=20_000, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6, "all draws at once take 16 MB"


@pytest.fixture(scope="module")
def joint():
    rng = np.random.default_rng(0)
    y, *more = rng.integers(3, size=(3, 400))
    a, b = (np.where(rng.random(400) < good, y, one) for good, one in zip((.8, .9), more))
    return joint_counts(y, a, b, classes=range(3), decision_labels=range(3)).array


@pytest.mark.parametrize("laplace, priors", [(0, None), (.1, None), (0, PRIORS)])
def test_bdelta_cost_is_the_rule_of_the_paper(joint, laplace, priors):
    options = {"laplace": laplace, "priors": priors, "confidence": .9, "rng": 5}
    found = bs.bdelta_cost(joint, COSTS, **options)
    tables = drawn(joint, 5, 1.0 if priors is None else priors, laplace)
    draws = np.sort((tables.reshape(1000, 3, 9) * APART).sum((1, 2)))
    first, second = (expected_cost((joint + laplace).sum(axis), COSTS, priors=priors) for axis in (2, 1))
    close([found.low, found.high, found.mean], [draws[50], draws[949], first - second])
    rarer = min((draws <= 0).sum(), (draws >= 0).sum())
    close(found.p_value, 2 * max(rarer, 1) / 1000)
    assert found.rejects == (found.low > 0 or found.high < 0)
    twice = bs.bdelta_cost(joint, np.stack([COSTS, 2 * COSTS]), **options)
    close(twice.high, [found.high, 2 * found.high])


# ---- tests

# the second misses more and raises fewer false alarms
JOINT = np.array([[[85, 4], [32, 8]], [[2, 6], [19, 37]]])


@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize("confidence", [.5, .9, .98])
def test_p_value_and_interval_agree(name, confidence):
    sets = np.random.default_rng(0).multinomial(120, JOINT.ravel() / JOINT.sum(), 12).reshape(-1, 2, 2, 2)
    found = bs.difference(sets, BILL, method=name, confidence=confidence, rng=1)
    assert (found.rejects == (found.p_value <= 1 - confidence + 1e-12)).all()
    assert confidence > .6 or found.rejects.any()
    alike = bs.difference([[[80, 0], [0, 9]], [[4, 0], [0, 37]]], BILL, method=name, rng=0)
    assert alike.p_value == 1 and not alike.rejects and alike.low <= 0 <= alike.high


# ---- the approximate line

def test_the_approximate_line_is_students_t_with_one_costly_case_more_in_the_variance():
    "By hand for equal costs, and by Welch for two classes."
    k, n, cost = 12, 400, 7.
    found = bs.interval([[n - k, k], [0, 0]], [[0, cost], [0, 0]]).approximate
    z, worst, t = cost * np.repeat([1., 0], [k, n - k]), cost * (1 - k / n), scipy.stats.t(n - 1)
    error = np.hypot(z.std(ddof=1) / np.sqrt(n), worst / n)
    close(ends(found), z.mean() + np.array([-1, 1]) * t.ppf(.975) * error)
    close(found.seen, ((z - z.mean())**2).sum() / worst**2)
    sizes, misses, each = np.array([400, 100]), np.array([20, 30]), np.array([.9, .1]) * [1, 5]
    wrong, part = misses / sizes, each / sizes
    found = bs.interval([[380, 20], [30, 70]], BILL, priors=[.9, .1]).approximate
    variance, worst = each**2 * wrong * (1 - wrong) / (sizes - 1), part * np.maximum(wrong, 1 - wrong)
    rows = np.array([[380, 30], [20, 70]]), part * abs(np.array([[0, 1], [1, 0]]) - wrong)
    usual = max((m * size**3).sum() / (m * size**2).sum() for m, size in ((sizes, worst), rows))
    df = variance.sum()**2 / (variance**2 / (sizes - 1)).sum()
    reach = scipy.stats.t(df).ppf(.975) * np.sqrt(variance.sum() + usual**2)
    close(ends(found), each @ wrong + np.array([-1, 1]) * reach)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_of_rows_with_bounds_of_their_own_the_costlier_ones_count_more(weighted, clustered):
    """The usual costly size is the mean of the largest losses, each weighted by its square; a cluster's is
    that of all its rows."""
    rng, n = np.random.default_rng(0), 3000
    amount = rng.lognormal(0, 1, n)
    x = np.where(rng.random(n) < .1, amount, 0)
    weight = rng.choice([1., 2], n) if weighted else np.ones(n)
    unit = rng.integers(0, 1500, n) if clustered else np.arange(n)
    mean = np.average(x, weights=weight)
    most, z = (np.bincount(unit, weight * part) for part in (np.maximum(amount - mean, mean), x - mean))
    usual = max((most**3).sum() / (most**2).sum(), (abs(z)**3).sum() / (z**2).sum())
    options = {"sample_weight": weight if weighted else None, "clusters": unit if clustered else None}
    found = bs.loss_interval(x, bounds=(0, amount), **options).approximate
    close(found.seen, (z**2).sum() / usual**2)
    many = (np.bincount(unit) > 0).sum()
    error = np.sqrt((z**2).sum() * many / (many - 1) + usual**2) / weight.sum()
    close(found.high - mean, scipy.stats.t(many - 1).ppf(.975) * error)


# ---- any metric

@pytest.mark.parametrize("confidence", [.95, .8])
def test_metric_interval_on_the_same_draws(confidence):
    options = {"method": "percentile", "confidence": confidence}
    found = bs.metric_interval(ALARM, "f_beta", beta=2, rng=4, **options)
    (_, fp), (fn, tp) = np.moveaxis(drawn(ALARM, 4), 0, -1)
    f2, rank = 5 * tp / (5 * tp + 4 * fn + fp), int((1 - confidence) / 2 * 1000 + 1e-9)
    close(ends(found), np.sort(f2)[[rank, 999 - rank]])
    close([found.mean, found.standard_error], [5 * 55 / (5 * 55 + 4 * 25 + 40), f2.std(ddof=1)])
    found = bs.metric_interval(ALARM, "precision", priors=[.9, .1], rng=0, **options)
    (_, fp), (fn, tp) = np.moveaxis(drawn(ALARM, 0, np.array([.9, .1])), 0, -1)
    close(ends(found), np.sort(tp / (tp + fp))[[rank, 999 - rank]])


@pytest.mark.parametrize("name", ["precision", "npv", "lift", "likelihood_ratio_positive", "accuracy",
                                  "jaccard", "f_beta", "balanced_accuracy", "cohen_kappa", "informedness"])
def test_metric_interval_is_about_the_metric_at_the_priors(name):
    at_priors = ALARM / ALARM.sum(1, keepdims=True) * [[.7], [.3]]
    found = bs.metric_interval(ALARM, name, priors=[.7, .3])
    assert found.mean == pytest.approx(METRICS[name](at_priors)) and found.low < found.mean < found.high
    close(ends(bs.metric_interval([[30, 0], [4, 16]], "accuracy", priors=0)), [.025**(1 / 30), 1])


def test_undefined_replicates_are_counted_and_infinite_values_are_values():
    found = bs.metric_interval([[50, 1], [3, 0]], "precision", method="percentile", rng=0)
    lost = (drawn(np.array([[50, 1], [3, 0]]), 0)[:, 0, 1] == 0).sum()
    assert found.notes[0].startswith(f"{lost} of 1000 replicates leave precision undefined")
    assert len(found.distribution) == 1000 - lost and bs.metric_interval(ALARM, "precision").notes == ()
    found = bs.metric_interval([[50, 0], [5, 20]], "likelihood_ratio_positive")
    assert np.isfinite(found.low) and found.high == found.mean == np.inf and found.low > 5


test_bad_input = refuses([
    (lambda: bs.bcost(COUNTS + .5, COSTS), "whole.*loss_interval"),
    (lambda: bs.bdelta_cost(np.ones((3, 3, 2)), COSTS), "joint"),
    (lambda: bs.metric_interval([[5, 0], [3, 0]], "precision", method="percentile"), "undefined in every"),
    (lambda: bs.metric_interval([[5, 1], [0, 0]], "recall", priors=[.5, .5]), "class 1"),
])


TABLE, MISSES = [[90, 5], [2, 30]], np.array([[0, 1.], [20, 0]])


@pytest.mark.parametrize("weight", [1e-12, .1, .5, .9, 1 - 1e-12])
def test_a_ratio_is_a_mean_of_weighted_examples(weight):
    """So it has the default interval: weighted accuracy that of the same losses with these weights; others
    are offered it."""
    found = bs.metric_interval(TABLE, "weighted_accuracy", weight=weight)
    y, d = np.repeat([0, 0, 1, 1], np.ravel(TABLE)), np.repeat([0, 1, 0, 1], np.ravel(TABLE))
    rows = bs.loss_interval(1. * (y == d), sample_weight=np.where(y == 1, weight, 1 - weight), bounds=(0, 1))
    close([*ends(found), found.mean], [*ends(rows), rows.mean], rtol=1e-9)
    more = {"mean_subjective_utility": {"costs": MISSES}, "net_benefit": {"threshold": weight},
            "h_measure": {}, "f_beta": {}, "precision": {}, "cost_score": {"cost_ratio": 1 / weight}}
    for name, options in more.items():
        found = bs.metric_interval(TABLE, name, **options)
        assert found.method == "clopper_pearson" and found.low < found.mean < found.high
    assert bs.metric_interval(TABLE, "lift").guarantee == bs.MONOTONE  # it is quadratic in the cells


@pytest.mark.parametrize("ratio", [1e-12, 1e12, 1e300])
def test_metrics_of_costs_at_any_ratio(ratio):
    """The false alarms are as many as they are where a miss costs next to nothing, and the misses at the
    other end."""
    found = bs.metric_interval(TABLE, "cost_score", cost_ratio=ratio)
    one = bs.metric_interval(TABLE, "cost_score", cost_ratio=1e9 if ratio > 1 else 1e-9)
    assert found.high / max(ratio, 1) == pytest.approx(one.high / (1e9 if ratio > 1 else 1), rel=1e-5)
    found = bs.metric_interval(TABLE, "weighted_relative_accuracy", cost_ratio=min(ratio, 1e12))
    assert found.low < found.mean < found.high


# ---- metrics of the two rates and the prevalence

JOINT_METRICS = """lift diagnostic_odds_ratio g_mean class_balance_accuracy imbalance_accuracy p4 b_roc mcc
markedness cohen_kappa expected_weighted_accuracy accuracy_cost_distance normalized_expected_cost""".split()


def parameters(name):
    return METRICS[name].parameters(BILL if METRICS[name].needs_costs else None)


def covered(name, n, prevalence, fpr, fnr, rarest, beyond=None):
    """Chance that the interval of a metric holds the truth: the tables are enumerated, but for those rarer
    than `rarest`."""
    metric, arguments = METRICS[name], parameters(name)
    seldom = [np.arange(binom.isf(1e-12, n, rate) + 1) for rate in (fpr, fnr)]  # more errors have no chance
    p, fp, fn = (part.ravel() for part in np.meshgrid(np.arange(1, n), *seldom))
    chance = binom.pmf(p, n, prevalence) * binom.pmf(fp, n - p, fpr) * binom.pmf(fn, p, fnr)
    p, fp, fn, chance = (part[chance > rarest] for part in (p, fp, fn, chance))
    tables = np.stack([n - p - fp, fp, fn, p - fn], -1).reshape(-1, 2, 2)
    _, *rows = bs._rows_of_tables(metric, tables, beyond, arguments)
    truth = float(metric.at_rates(1 - fnr, fpr, prevalence if beyond is None else beyond, **arguments))
    at = np.full(len(rows[0]), truth), np.arange(len(rows[0]))
    laws = [bs._monotone_chance(metric, side, *rows)(*at) for side in (1, -1)]
    return chance @ (np.reshape(laws, (2, -1, len(tables))).max(1).min(0) >= .025)


@pytest.mark.parametrize("name", JOINT_METRICS)
def test_a_metric_of_rates_and_prevalence_covers_where_errors_are_rare(name):
    "The percentiles of the bootstrap cover .00 (odds ratio) to .28 (B-ROC) of 200 cases with such errors."
    assert covered(name, 60, .3, .001, .003, 1e-3) > .95


@pytest.mark.parametrize("name, n, prevalence, fpr, fnr", [("cohen_kappa", 12, .5, .05, .4),
        pytest.param("markedness", 16, .4, .1, .2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("beyond", [None, .02])
def test_a_metric_of_rates_and_prevalence_covers_at_other_priors_too(name, n, prevalence, fpr, fnr, beyond):
    assert covered(name, n, prevalence, fpr, fnr, 1e-4, beyond) > .95


@pytest.mark.parametrize("name", ["mcc", "g_mean", "accuracy_cost_distance", "cohen_kappa"])
@pytest.mark.parametrize("priors", [None, [.9, .1]])
def test_beyond_an_end_lies_half_of_what_is_left(name, priors):
    """Drawn from the laws themselves: rates with one more example in the worst place, the prevalence with
    one more of either class."""
    metric, g = METRICS[name], np.random.default_rng(4)
    costs = {"costs": BILL} if metric.needs_costs else {}
    found = bs.metric_interval([[37, 3], [4, 16]], name, priors=priors, confidence=.9, **costs)
    told = []
    for better in (0, 1):
        recall, right = g.beta(16 + better, 5 - better, 400_000), g.beta(37 + better, 4 - better, 400_000)
        shares = [.1] if priors else [g.beta(20 + one, 41 - one, 400_000) for one in (0, 1)]
        level, outer = (.95, max) if better == metric.greater_is_better else (.05, min)
        values = [metric.at_rates(recall, 1 - right, share, **parameters(name)) for share in shares]
        told.append(outer(np.quantile(each, level) for each in values))
    close(ends(found), sorted(told), atol=4e-3)


@pytest.mark.parametrize("name", JOINT_METRICS)
def test_ends_stay_inside_the_metric(name):
    metric = METRICS[name]
    costs = {"costs": BILL} if metric.needs_costs else {}
    for cells in ([40, 0, 4, 0], [0, 5, 5, 0], [0, 7, 0, 9], [1, 0, 0, 1]):
        found = bs.metric_interval(np.reshape(cells, (2, 2)), name, **costs)
        assert metric.lower <= found.low < found.high <= metric.upper
        assert np.isnan(found.mean) == bool(found.notes)
        assert not (found.mean < found.low - 1e-9 or found.mean > found.high + 1e-9)
