"""BCOST, BDELTACOST, bootstraps of any metric: against the paper's rule on the same draws, enumeration, and
SciPy."""
import tracemalloc

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.stats import binom

from conftest import refuses
from cost_eval import bootstrap as bs, core, metrics
from cost_eval.confusion import joint_counts
from cost_eval.metrics import expected_cost
from cost_eval.confusion import BinaryCounts
from cost_eval.confusion import ConfusionCounts
from cost_eval.costs import CostMatrix

COUNTS = np.array([[70, 5, 2], [4, 60, 1], [3, 2, 53]])
COSTS = np.array([[0, 1, 4.], [2, 0, 30], [1, 3, 0]])
ALARM = np.array([[880, 40], [25, 55]])
PRIORS = [.2, .3, .5]


@pytest.fixture
def joint():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    a, b = (np.where(rng.random(400) < good, y, rng.integers(3, size=400)) for good in (.8, .9))
    return joint_counts(y, a, b, classes=range(3), decision_labels=range(3)).array


# ---- BCOST

@pytest.mark.parametrize("confidence, rank", [(.95, 25), (.9, 50), (.99, 5), (.8, 100)])
@pytest.mark.parametrize("laplace", [0, .1, .5])
def test_bcost_is_the_rule_of_the_paper(confidence, rank, laplace):
    """Number floor((1 - rho) / 2 B) + 1 from either end of the sorted costs of draws from (M + lambda) / (n +
    k^2 lambda)."""
    found = bs.bcost(COUNTS, COSTS, confidence=confidence, laplace=laplace, rng=3)
    p = (COUNTS + laplace).ravel() / (COUNTS.sum() + 9 * laplace)
    draws = np.sort(np.random.default_rng(3).multinomial(COUNTS.sum(), p,
            1000) @ COSTS.ravel()) / COUNTS.sum()
    assert_allclose(found.distribution, draws)
    assert_allclose([found.low, found.high, found.mean], [draws[rank], draws[999 - rank], p @ COSTS.ravel()])


@pytest.mark.parametrize("laplace", [0, .3])
@pytest.mark.parametrize("own", [False, True])
def test_bcost_class_by_class(laplace, own):
    sizes = COUNTS.sum(1)
    share = sizes / sizes.sum() if own else np.array(PRIORS)
    p = (COUNTS + laplace) / (COUNTS + laplace).sum(1, keepdims=True)
    drawn = np.random.default_rng(1).multinomial(sizes, p, (1000, 3)) / sizes[:, None] * share[:, None]
    draws = np.sort((drawn * COSTS).sum((1, 2)))
    found = bs.bcost(COUNTS, COSTS, laplace=laplace, rng=1, priors=share)
    assert_allclose([found.low, found.high], draws[[25, 974]])
    assert_allclose(found.mean, share @ (p * COSTS).sum(1))
    variance = (p * COSTS**2).sum(1) - (p * COSTS).sum(1)**2
    assert_allclose(found.standard_error, np.sqrt(share**2 @ (variance / sizes)))
    if laplace == 0:
        assert_allclose(found.mean, expected_cost(COUNTS, COSTS, priors=share))


def test_standard_error_is_that_of_the_multinomial():
    found = bs.bcost(COUNTS, COSTS, laplace=.5, n_resamples=100_000, rng=0)
    p = ((COUNTS + .5) / (COUNTS + .5).sum()).ravel()
    variance = COSTS.ravel() @ scipy.stats.multinomial(COUNTS.sum(),
                                                       p).cov() @ COSTS.ravel() / COUNTS.sum()**2
    assert_allclose([found.standard_error, found.distribution.std()], np.sqrt(variance), rtol=.01)
    assert_allclose(found.standard_error, np.sqrt(variance))


def test_blocks_change_nothing_and_bound_the_memory(monkeypatch):
    counts, costs = np.full((10, 10), 10), np.arange(100.).reshape(10, 10)
    whole = bs.bcost(counts, costs, n_resamples=20_000, rng=0)
    stack = np.stack([COUNTS, COUNTS[::-1]] * 20)
    whole_stack = bs.interval(stack, COSTS, method="bcost", n_resamples=500, rng=0)
    monkeypatch.setattr(core, "BLOCK_BYTES", 2**20)
    assert_allclose(bs.bcost(counts, costs, n_resamples=20_000, rng=0).distribution, whole.distribution,
                    rtol=1e-12)
    assert_allclose(bs.interval(stack, COSTS, method="bcost", n_resamples=500, rng=0).low, whole_stack.low)
    tracemalloc.start()
    bs.bcost(counts, costs, n_resamples=20_000, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6, "all draws at once take 16 MB"


# ---- BDELTACOST

def test_bdelta_cost_is_the_rule_of_the_paper(joint):
    cells = (COSTS[:, :, None] - COSTS[:, None, :]).ravel()
    for laplace in (0, .1):
        found = bs.bdelta_cost(joint, COSTS, laplace=laplace, confidence=.9, rng=5)
        p = (joint + laplace).ravel() / (joint + laplace).sum()
        draws = np.sort(np.random.default_rng(5).multinomial(400, p, 1000) @ cells) / 400
        assert_allclose([found.low, found.high, found.mean], [draws[50], draws[949], p @ cells])
        rarer = min((draws <= 0).sum(), (draws >= 0).sum())
        assert_allclose(found.p_value, 2 * max(rarer, 1) / 1000)
        assert found.rejects == (found.low > 0 or found.high < 0)


def test_difference_with_priors(joint):
    found = bs.bdelta_cost(joint, COSTS, priors=PRIORS, rng=0)
    assert_allclose(found.mean, expected_cost(joint.sum(2), COSTS, priors=PRIORS)
                    - expected_cost(joint.sum(1), COSTS, priors=PRIORS))
    sizes = joint.sum((1, 2))
    p = joint.reshape(3, -1) / sizes[:, None]
    cells = (COSTS[:, :, None] - COSTS[:, None, :]).reshape(3, -1)
    drawn = np.random.default_rng(0).multinomial(sizes, p, (1000, 3)) / sizes[:, None] * np.array(PRIORS)[:,
            None]
    assert_allclose([found.low, found.high], np.sort((drawn * cells).sum((1, 2)))[[25, 974]])


def test_type_one_error_is_near_its_level():
    rng = np.random.default_rng(0)
    p = np.array([[.45, .04, .04, .02], [.02, .05, .05, .33]]).reshape(2, 2, 2)  # exchangeable models
    sets = rng.multinomial(500, p.ravel(), 1200).reshape(-1, 2, 2, 2)
    rejected = bs.difference(sets, [[0, 1], [4, 0]], method="bdelta_cost", rng=rng).rejects
    assert .033 < np.mean(rejected) < .07  # 0.05 with a standard error of 0.006


def test_many_matrices_for_differences(joint):
    found = bs.bdelta_cost(joint, np.stack([COSTS, 2 * COSTS]), rng=0)
    assert_allclose(found.high[1], 2 * found.high[0])
    assert_allclose(found.low[0], bs.bdelta_cost(joint, COSTS, rng=0).low)
    assert found.rejects.shape == found.p_value.shape == (2,) and "rejects" in found.to_frame()


# ---- any metric

@pytest.mark.parametrize("confidence", [.95, .8])
def test_metric_interval_on_the_same_draws(confidence):
    found = bs.metric_interval(ALARM, "f_beta", beta=2, method="percentile", confidence=confidence, rng=4)
    drawn = np.random.default_rng(4).multinomial(1000, ALARM.ravel() / 1000, 1000).reshape(-1, 2, 2)
    f2 = 5 * drawn[:, 1, 1] / (5 * drawn[:, 1, 1] + 4 * drawn[:, 1, 0] + drawn[:, 0, 1])
    rank = int((1 - confidence) / 2 * 1000 + 1e-9)
    assert_allclose([found.low, found.high], np.sort(f2)[[rank, 999 - rank]])
    assert_allclose(found.mean, 5 * 55 / (5 * 55 + 4 * 25 + 40))
    assert_allclose(found.standard_error, f2.std(ddof=1))


@pytest.mark.parametrize("name", ["precision", "npv", "lift", "likelihood_ratio_positive", "accuracy",
                                  "balanced_accuracy", "f_beta", "jaccard", "cohen_kappa", "informedness"])
def test_metric_interval_is_about_the_metric_at_the_priors(name):
    at_priors = ALARM / ALARM.sum(1, keepdims=True) * [[.7], [.3]]
    found = bs.metric_interval(ALARM, name, method="clopper_pearson", priors=[.7, .3])
    assert found.mean == pytest.approx(
        float(metrics.METRICS[name](at_priors))) and found.low < found.mean < found.high


def test_metric_interval_with_priors():
    found = bs.metric_interval(ALARM, "precision", method="percentile", priors=[.9, .1], rng=0)
    drawn = np.random.default_rng(0).multinomial(ALARM.sum(1), ALARM / ALARM.sum(1, keepdims=True),
                                                 (1000, 2)) / ALARM.sum(1)[:, None]
    precision = .1 * drawn[:, 1, 1] / (.1 * drawn[:, 1, 1] + .9 * drawn[:, 0, 1])
    assert_allclose([found.low, found.high], np.sort(precision)[[25, 974]])
    assert_allclose(found.mean, .1 * 55 / 80 / (.1 * 55 / 80 + .9 * 40 / 920))


def test_infinite_values_are_values():
    found = bs.metric_interval([[50, 0], [5, 20]], "likelihood_ratio_positive")
    assert np.isfinite(found.low) and found.high == np.inf and found.mean == np.inf and found.low > 5
    found.plot()


def test_undefined_replicates_are_counted():
    found = bs.metric_interval([[50, 1], [3, 0]], "precision", method="percentile", rng=0)
    drawn = np.random.default_rng(0).multinomial(54, np.array([50, 1, 3, 0]) / 54, 1000)
    lost = (drawn[:, 1] == 0).sum()
    assert found.notes[0].startswith(f"{lost} of 1000 replicates leave precision undefined")
    assert len(found.distribution) == 1000 - lost and found.method == "percentile"
    assert bs.metric_interval(ALARM, "precision").notes == ()


def test_metric_interval_takes_what_metrics_take():
    labels = ConfusionCounts(ALARM[::-1, ::-1], classes=["sick", "well"])
    costs = CostMatrix([[0, 1], [9, 0]], classes=["well", "sick"])
    ends = [bs.metric_interval(counts, "expected_cost", costs=costs, rng=0).low for counts in (ALARM, labels)]
    assert_allclose(ends[0], ends[1])
    assert bs.metric_interval(BinaryCounts.from_matrix(ALARM), "recall", rng=0) == bs.metric_interval(ALARM,
            "recall", rng=0)
    own = bs.metric_interval(ALARM, lambda c: c[..., 1, 1] / c[..., 1, :].sum(-1), rng=0)
    named = bs.metric_interval(ALARM, "recall", method="percentile", rng=0)
    assert_allclose([own.low, own.high], [named.low, named.high])
    assert bs.metric_interval(ALARM, metrics.mcc) == bs.metric_interval(ALARM, "mcc")


test_bad_input = refuses([
    (lambda: bs.bcost(COUNTS + .5, COSTS), "whole.*loss_interval"), (lambda: bs.bcost(0 * COUNTS, COSTS),
        "all are 0"),
    (lambda: bs.bcost([[1, 1], [0, 0]], [[0, 1], [1, 0]], priors=[.5, .5]), "class 1 has no example"),
    (lambda: bs.bdelta_cost(np.ones((3, 3, 2)), COSTS), "joint"),
    (lambda: bs.bdelta_cost(np.zeros((3, 3, 3)), COSTS), "joint"),
    (lambda: bs.metric_interval([[5, 0], [3, 0]], "precision", method="percentile", rng=0),
     "undefined in every"),
    (lambda: bs.metric_interval(np.stack([ALARM, ALARM]), "recall"), "one"),
    (lambda: bs.metric_interval([[5, 1], [0, 0]], "recall", priors=[.5, .5]), "class 1"),
    (lambda: bs.metric_interval(ALARM + .5, "recall"), "whole"),
    (lambda: bs.metric_interval(0 * ALARM, "recall"), "all are 0"),
])


# ---- results

# ---- bad input

def test_a_class_without_examples_may_have_the_prior_0_only():
    table, costs = [[5, 3, 0], [1, 4, 0], [0, 0, 0]], 1 - np.eye(3)
    found = bs.metric_interval(table, "expected_cost", costs=costs, priors=[.5, .5, 0], rng=0)
    assert found.low < found.mean < found.high and found.mean == pytest.approx(.5 * 3 / 8 + .5 * 1 / 5,
            abs=.02)
    with pytest.raises(ValueError, match="class 2 has no example, but a prior"):
        bs.metric_interval(table, "expected_cost", costs=costs, priors=[.4, .4, .2], rng=0)


TABLE, MISSES = [[90, 5], [2, 30]], np.array([[0, 1.], [20, 0]])


@pytest.mark.parametrize("unit", [1e-100, 1e-15, 1e-9, 1e6, 1e12, 1e100])
def test_metric_interval_of_costs_is_the_interval_in_any_currency(unit):
    "It was 0 to 0 in units of 1e15, and percentiles of the bootstrap in units of a millionth."
    found, same = bs.metric_interval(TABLE, "expected_cost", costs=MISSES * unit), bs.interval(TABLE, MISSES)
    assert found.method == "clopper_pearson"
    assert_allclose([found.low / unit, found.high / unit], [same.low, same.high], rtol=1e-9)


@pytest.mark.parametrize("ratio", [1e-12, 1e-3, 1., 1e9, 1e12, 1e300])
def test_metric_interval_of_a_cost_score_at_any_ratio(ratio):
    """The false alarms are as many as they are where a miss costs next to nothing, and the misses at the
    other end."""
    found = bs.metric_interval(TABLE, "cost_score", cost_ratio=ratio)
    assert found.method == "clopper_pearson" and found.low < found.mean < found.high
    one = bs.metric_interval(TABLE, "cost_score", cost_ratio=1e12 if ratio > 1 else 1e-12)
    assert ratio in (1., 1e-3) or found.high / max(ratio, 1) == pytest.approx(one.high / max(1e12 if ratio > 1
            else 1, 1), rel=1e-5)


@pytest.mark.parametrize("weight", [1e-12, .1, .5, .9, 1 - 1e-12])
def test_weighted_accuracy_is_a_mean_of_weighted_examples(weight):
    "A ratio of linear functions, so it has the default interval: that of the same losses with these weights."
    found = bs.metric_interval(TABLE, "weighted_accuracy", weight=weight)
    y, d = np.repeat([0, 0, 1, 1], np.ravel(TABLE)), np.repeat([0, 1, 0, 1], np.ravel(TABLE))
    of_rows = bs.loss_interval(1. * (y == d), sample_weight=np.where(y == 1, weight, 1 - weight),
                               bounds=(0, 1))
    assert found.method == "clopper_pearson" and found.mean == pytest.approx(of_rows.mean)
    assert_allclose([found.low, found.high], [of_rows.low, of_rows.high], rtol=1e-9)


def test_all_ratios_of_linear_functions_have_the_default_interval():
    names = ("weighted_accuracy", "h_measure", "mean_subjective_utility", "net_benefit", "f_beta",
             "precision", "lift", "cost_score")
    more = {"weighted_accuracy": {"weight": .8}, "mean_subjective_utility": {"costs": MISSES},
            "net_benefit": {"threshold": .1}, "cost_score": {"cost_ratio": 7}}
    methods = {name: bs.metric_interval(TABLE, name, rng=0, **more.get(name, {})).method for name in names}
    assert set(methods.values()) == {"clopper_pearson"}
    assert bs.metric_interval(TABLE, "lift").guarantee == bs.MONOTONE  # it is quadratic in the cells


@pytest.mark.parametrize("ratio", [1e-12, 1e12])
def test_weighted_relative_accuracy_lies_in_its_interval(ratio):
    found = bs.metric_interval(TABLE, "weighted_relative_accuracy", cost_ratio=ratio, rng=0)
    assert found.low < found.mean < found.high and found.mean == pytest.approx(
        metrics.weighted_relative_accuracy(TABLE, ratio))


@pytest.mark.parametrize("costs", [[[2, 5], [7, 1]], [[-3, 1], [20, -5]], [[0, 1], [1e200, 0]]])
@pytest.mark.parametrize("priors", [None, [.4, .6]])
def test_a_normalized_interval_is_around_the_normalized_cost(costs, priors):
    "Both put the costs into standard form first."
    found = bs.interval(TABLE, costs, normalized=True, priors=priors)
    assert found.low < found.mean < found.high and found.mean == pytest.approx(
        metrics.normalized_expected_cost(TABLE, costs, priors=priors))


def covered(name, n, prevalence, fpr, fnr, rarest, beyond=None):
    """Chance that the interval of a metric holds the truth: the tables are enumerated, but for those rarer
    than `rarest`."""
    metric, costs = metrics.METRICS[name], [[0, 1], [5, 0]]
    arguments = metric.parameters(costs if metric.needs_costs else None)
    # more errors than that have no chance
    seldom = [np.arange(binom.isf(1e-12, n, rate) + 1) for rate in (fpr, fnr)]
    positives, fp, fn = (part.ravel() for part in np.meshgrid(np.arange(1, n), *seldom))
    chance = binom.pmf(positives, n, prevalence) * binom.pmf(fp, n - positives, fpr) * binom.pmf(fn,
            positives, fnr)
    kept = chance > rarest
    positives, fp, fn, chance = (part[kept] for part in (positives, fp, fn, chance))
    tables = np.stack([np.stack([n - positives - fp, fp], -1), np.stack([fn, positives - fn], -1)], -2)
    _, *rows = bs._rows_of_tables(metric, tables, beyond, arguments)
    truth = float(metric.at_rates(1 - fnr, fpr, prevalence if beyond is None else beyond, **arguments))
    size = len(rows[0])
    laws = [bs._monotone_chance(metric, side, *rows)(np.full(size, truth), np.arange(size))
            for side in (1, -1)]
    return chance @ (np.reshape(laws, (2, -1, len(tables))).max(1).min(0) >= .025)


JOINT = ("lift", "diagnostic_odds_ratio", "g_mean", "class_balance_accuracy", "imbalance_accuracy", "p4",
         "b_roc", "markedness", "mcc",
         "cohen_kappa", "expected_weighted_accuracy", "accuracy_cost_distance", "normalized_expected_cost")


@pytest.mark.parametrize("name", JOINT)
def test_a_metric_of_rates_and_prevalence_covers_where_errors_are_rare(name):
    "The percentiles of the bootstrap cover .00 (odds ratio) to .28 (B-ROC) of 200 cases with such errors."
    assert covered(name, 60, .3, .001, .003, 1e-3) > .95


@pytest.mark.parametrize("name, n, prevalence, fpr, fnr", [("mcc", 200, .1, .001, .003),
        ("markedness", 16, .4, .1, .2), ("cohen_kappa", 12, .5, .05, .4)])
def test_a_metric_of_rates_and_prevalence_covers(name, n, prevalence, fpr, fnr):
    assert covered(name, n, prevalence, fpr, fnr, 1e-3 if n > 100 else 1e-4) > .95
    # at other priors
    assert covered(name, n, prevalence, fpr, fnr, 1e-3 if n > 100 else 1e-4, beyond=.02) > .95


@pytest.mark.parametrize("name", ["mcc", "g_mean", "accuracy_cost_distance", "cohen_kappa"])
@pytest.mark.parametrize("priors", [None, [.9, .1]])
def test_beyond_an_end_lies_half_of_what_is_left(name, priors):
    """Drawn from the laws themselves: rates with one more example in the worst place, the prevalence with one
    more of either class."""
    table, metric, draws = np.array([[37, 3], [4, 16]]), metrics.METRICS[name], np.random.default_rng(4)
    arguments = metric.parameters([[0, 1], [5, 0]] if metric.needs_costs else None)
    found = bs.metric_interval(table, name, priors=priors, confidence=.9, **({"costs": [[0, 1], [5, 0]]}
            if metric.needs_costs else {}))
    quantiles = {}
    for better in (0, 1):
        recall, right = draws.beta(16 + better, 5 - better, 400_000), draws.beta(37 + better, 4 - better,
                400_000)
        shares = [.1] if priors else [draws.beta(20 + one, 41 - one, 400_000) for one in (0, 1)]
        level = .95 if better == metric.greater_is_better else .05
        quantiles[level] = [np.quantile(metric.at_rates(recall, 1 - right, share, **arguments), level)
                            for share in shares]
    assert_allclose([found.low, found.high], [min(quantiles[.05]), max(quantiles[.95])], atol=4e-3)


@pytest.mark.parametrize("name", JOINT)
@pytest.mark.parametrize("table", [[[200, 0], [20, 0]], [[5, 0], [0, 5]], [[0, 5], [5, 0]], [[0, 7], [0, 9]],
                                   [[1, 0], [0, 1]]])
def test_ends_stay_inside_the_metric(name, table):
    metric = metrics.METRICS[name]
    found = bs.metric_interval(table, name, **({"costs": [[0, 1], [5, 0]]} if metric.needs_costs else {}))
    assert metric.lower <= found.low < found.high <= metric.upper
    assert np.isnan(found.mean) == bool(
        found.notes) and not found.mean < found.low - 1e-9 and not found.mean > found.high + 1e-9
