"""Every metric of the registry goes through the same properties; after that, checks against independent
sources."""
import inspect

import mpmath
import numpy as np
import pytest
import sklearn.metrics as sk
from scipy import integrate, stats

from cost_eval import metrics as module
from cost_eval.confusion import BinaryCounts
from cost_eval.costs import CostMatrix
from cost_eval.metrics import METRICS, Metric, evaluate_metrics, f_beta_of_macro_averages
from cost_eval.metrics import macro_f_beta, micro_f_beta, one_vs_rest

COSTS = CostMatrix.binary(fp=2, fn=7)
# every pattern of empty cells, then small counts with many ties, then large ones
CORNERS = np.stack(np.meshgrid(*[[0, 1, 4]] * 4, indexing="ij"), -1).reshape(-1, 2, 2)
RANDOM = np.random.default_rng(1).integers(0, 9, (300, 2, 2))
LARGE = np.random.default_rng(2).integers(1, 10**9, (100, 2, 2))
COUNTS = np.concatenate([CORNERS, RANDOM, LARGE])
INTERIOR = COUNTS[(COUNTS > 0).all(axis=(1, 2))]
GOOD = np.array([[5, 2], [1, 3]])

every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


def same(a, b, rtol=1e-12, atol=1e-14):
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)


def labels_of(counts):
    "True labels and decisions with these counts."
    true, decided = np.indices(counts.shape).reshape(2, -1)
    return np.repeat(true, counts.ravel()), np.repeat(decided, counts.ravel())


# --- the registry

@every_metric
def test_record_is_complete(metric):
    assert isinstance(metric, Metric) and METRICS[metric.name] is metric and metric.lower < metric.upper
    assert getattr(module, metric.name) is metric.function and metric.name in module.__all__
    assert metric.formula and metric.symbol and metric.undefined and metric.source
    parameters = inspect.signature(metric.function).parameters
    assert list(parameters)[0] == "counts" and np.isnan(parameters["undefined"].default)
    assert metric.needs_costs == (metric.cost_parameter is not None)
    assert not metric.needs_costs or parameters[metric.cost_parameter].default is inspect.Parameter.empty
    assert metric.source in metric.function.__doc__ and metric.undefined in metric.function.__doc__
    assert f"`{metric.name}`" in METRICS._repr_markdown_() and metric.name in metric._repr_markdown_()


# --- properties

@every_metric
def test_only_proportions_matter(metric):
    same(metric(COUNTS * 3, COSTS), metric(COUNTS, COSTS), rtol=1e-11)


@every_metric
def test_symmetric_exactly_where_claimed(metric):
    "Where Lombardo et al. 2025, section 6.2, lists it, too."
    turned = [metric(counts[..., ::-1, ::-1], COSTS.array[::-1, ::-1]) for counts in (COUNTS, INTERIOR)]
    if metric.symmetric:
        same(turned[0], metric(COUNTS, COSTS), rtol=1e-11)
    else:
        assert not np.allclose(turned[1], metric(INTERIOR, COSTS), rtol=1e-3)
    assert metric.symmetric or metric.name not in """accuracy mcc cohen_kappa g_mean single_point_auc p4
    h_measure class_balance_accuracy imbalance_accuracy weighted_class_accuracy weighted_relative_accuracy
    weighted_accuracy accuracy_cost_distance expected_weighted_accuracy""".split()


@every_metric
def test_no_matrix_with_the_same_classes_beats_the_perfect_one(metric):
    fn, fp = np.meshgrid(np.arange(8), np.arange(13))
    values = metric(BinaryCounts(tp=7 - fn, fp=fp, fn=fn, tn=12 - fp), COSTS)
    same(np.nanmax(values) if metric.greater_is_better else np.nanmin(values), values[0, 0])


@every_metric
def test_undefined_values_are_nan_or_replaced(metric):
    values = metric(COUNTS, COSTS)
    missing = np.isnan(values)
    assert missing[(COUNTS == 0).all(axis=(1, 2))].all() and not missing[(COUNTS > 0).all(axis=(1, 2))].any()
    for convention in (0, -1, 1.5):
        same(metric(COUNTS, COSTS, undefined=convention), np.where(missing, convention, values))


UNDEFINED = {  # exactly when each metric is 0/0, of tp, fp, fn, tn
    "recall": lambda tp, fp, fn, tn: tp + fn == 0,
    "specificity": lambda tp, fp, fn, tn: tn + fp == 0,
    "precision": lambda tp, fp, fn, tn: tp + fp == 0,
    "npv": lambda tp, fp, fn, tn: tn + fn == 0,
    "lift b_roc": lambda tp, fp, fn, tn: (tp + fp == 0) | (tp + fn == 0),
    "likelihood_ratio_positive": lambda tp, fp, fn, tn: (tp + fn == 0) | (fp + tn == 0) | (tp + fp == 0),
    "likelihood_ratio_negative": lambda tp, fp, fn, tn: (tp + fn == 0) | (fp + tn == 0) | (fn + tn == 0),
    "diagnostic_odds_ratio": lambda tp, fp, fn, tn: (tp * tn == 0) & (fp * fn == 0),
    "accuracy error_rate h_measure weighted_accuracy expected_weighted_accuracy accuracy_cost_distance "
    "expected_cost net_benefit mean_subjective_utility": lambda tp, fp, fn, tn: tp + fp + fn + tn == 0,
    "balanced_accuracy balanced_error_rate single_point_auc g_mean informedness weighted_class_accuracy "
    "weighted_relative_accuracy normalized_expected_cost":
        lambda tp, fp, fn, tn: (tp + fn == 0) | (fp + tn == 0),
    "markedness": lambda tp, fp, fn, tn: (tp + fp == 0) | (fn + tn == 0),
    "mcc": lambda tp, fp, fn, tn: (tp + fp) * (fn + tn) * (tp + fn) * (fp + tn) == 0,
    "f_beta jaccard cost_score": lambda tp, fp, fn, tn: tp + fp + fn == 0,
    "class_balance_accuracy imbalance_accuracy cohen_kappa":
        lambda tp, fp, fn, tn: (tp + fp + fn == 0) | (tn + fp + fn == 0),
    "p4": lambda tp, fp, fn, tn: (tp + tn == 0) | ((fp + fn == 0) & (tp * tn == 0)),
}


@pytest.mark.parametrize("names", UNDEFINED)
def test_undefined_exactly_where_stated(names):
    (tn, fp), (fn, tp) = np.moveaxis(CORNERS, 0, -1)
    for name in names.split():
        missing = np.isnan(METRICS[name](CORNERS, COSTS))
        np.testing.assert_array_equal(missing, UNDEFINED[names](tp, fp, fn, tn))


def test_positive_over_zero_is_infinite():
    assert METRICS["likelihood_ratio_positive"]([[5, 0], [1, 2]]) == np.inf
    assert METRICS["cost_score"]([[5, 3], [0, 0]], COSTS) == np.inf


# --- independent sources

def paid(fp, fn):
    return 2 * fp + 7 * fn


def beta_mean(f, a=2, b=2):
    return integrate.quad(lambda w: stats.beta.pdf(w, a, b) * f(w), 0, 1, epsabs=1e-12)[0]


# of what scikit-learn does not have, the formulas as printed in the papers, typed a second time
PRINTED = {
    "lift": lambda tp, fp, fn, tn: tp / (tp + fp) / ((tp + fn) / (tp + fp + fn + tn)),
    "diagnostic_odds_ratio": lambda tp, fp, fn, tn: (tp / fp) / (fn / tn),
    "markedness": lambda tp, fp, fn, tn: tp / (tp + fp) - fn / (tn + fn),
    "g_mean": lambda tp, fp, fn, tn: (tp * tn / ((tp + fn) * (tn + fp))) ** 0.5,
    "balanced_error_rate": lambda tp, fp, fn, tn: (fn / (tp + fn) + fp / (tn + fp)) / 2,
    "class_balance_accuracy": lambda tp, fp, fn, tn:
        (tp / max(tp + fn, tp + fp) + tn / max(tn + fp, tn + fn)) / 2,
    "imbalance_accuracy": lambda tp, fp, fn, tn:
        ((tp - max(fp, fn)) / max(tp + fn, tp + fp) + (tn - max(fp, fn)) / max(tn + fp, tn + fn)) / 2,
    "p4": lambda tp, fp, fn, tn: 4 * tp * tn / (4 * tp * tn + (tp + tn) * (fp + fn)),
    "b_roc": lambda tp, fp, fn, tn: (tp / (tp + fn) + tp / (fp + tp)) / 2,
    "weighted_class_accuracy": lambda tp, fp, fn, tn: 7 / 9 * tp / (tp + fn) + (1 - 7 / 9) * tn / (tn + fp),
    "weighted_relative_accuracy": lambda tp, fp, fn, tn:
        4 * (tp / (tp + fn) - fp / (tn + fp)) * (tn + fp) * 2 / ((tp + fn) * 7)
        / (1 + (tn + fp) * 2 / ((tp + fn) * 7)) ** 2,
    "accuracy_cost_distance": lambda tp, fp, fn, tn:
        ((1 - (tp + tn) / (tp + fp + fn + tn)) ** 2 + (paid(fp, fn) / paid(tn + fp, tp + fn)) ** 2) ** 0.5,
    "cost_score": lambda tp, fp, fn, tn: paid(fp, fn) / ((tp + fn) * 2),
    "mean_subjective_utility": lambda tp, fp, fn, tn: 1 - paid(fp, fn) / paid(tn + fp, tp + fn),
    "weighted_accuracy": lambda tp, fp, fn, tn: 1 - paid(fp, fn) / paid(tn + fp, tp + fn),
    "h_measure": lambda tp, fp, fn, tn: 1 - beta_mean(lambda c: c * fp + (1 - c) * fn)
        / beta_mean(lambda c: c * (fp + tn) + (1 - c) * (tp + fn)),
    "expected_weighted_accuracy": lambda tp, fp, fn, tn:
        beta_mean(lambda w: (w * tp + (1 - w) * tn) / (w * (tp + fn) + (1 - w) * (tn + fp))),
    "net_benefit": lambda tp, fp, fn, tn: (tp - (2 / 9) / (7 / 9) * fp) / (tp + fp + fn + tn),
    "expected_cost": lambda tp, fp, fn, tn: paid(fp, fn) / (tp + fp + fn + tn),
    "normalized_expected_cost": lambda tp, fp, fn, tn: paid(fp, fn) / min(2 * (tn + fp), 7 * (tp + fn)),
}


@pytest.mark.parametrize("name", PRINTED)
def test_formula_as_printed(name):
    points = INTERIOR[:60]
    expected = [PRINTED[name](tp, fp, fn, tn) for (tn, fp), (fn, tp) in points.tolist()]
    same(METRICS[name](points, COSTS), expected, rtol=1e-10)


SKLEARN = {
    "accuracy": sk.accuracy_score, "error_rate": sk.zero_one_loss, "single_point_auc": sk.roc_auc_score,
    "balanced_accuracy": sk.balanced_accuracy_score, "mcc": sk.matthews_corrcoef,
    "cohen_kappa": sk.cohen_kappa_score,
    "recall": sk.recall_score, "specificity": lambda y, d: sk.recall_score(y, d, pos_label=0),
    "precision": sk.precision_score, "npv": lambda y, d: sk.precision_score(y, d, pos_label=0),
    "f_beta": sk.f1_score, "jaccard": sk.jaccard_score,
    "likelihood_ratio_positive": lambda y, d: sk.class_likelihood_ratios(y, d)[0],
    "likelihood_ratio_negative": lambda y, d: sk.class_likelihood_ratios(y, d)[1],
    "informedness": lambda y, d: sk.balanced_accuracy_score(y, d, adjusted=True),
}


def test_every_metric_has_another_source():
    assert PRINTED.keys() | SKLEARN.keys() == METRICS.keys()
    assert {name for names in UNDEFINED for name in names.split()} == METRICS.keys()


@pytest.mark.parametrize("name", SKLEARN)
def test_agrees_with_scikit_learn(name):
    points = INTERIOR[INTERIOR.sum(axis=(1, 2)) < 100][:40]
    same(METRICS[name](points), [SKLEARN[name](*labels_of(c)) for c in points])


@pytest.mark.parametrize("beta", [0, 0.5, 2, 10])
def test_f_beta_for_other_betas(beta):
    same(METRICS["f_beta"](INTERIOR[5], beta=beta), sk.fbeta_score(*labels_of(INTERIOR[5]), beta=beta))


def gauss_share(p, n, a, b):
    "Expected share of the weight on the positives, by mpmath's Gauss hypergeometric function."
    odds, a, b = mpmath.mpf(int(p)) / int(n), mpmath.mpf(a), mpmath.mpf(b)
    if odds > 1:
        return 1 - gauss_share(n, p, b, a)
    return a / (a + b) * odds * mpmath.hyp2f1(1, a + 1, a + b + 1, 1 - odds)


ewa = METRICS["expected_weighted_accuracy"]


@pytest.mark.parametrize("a, b", [(2, 2), (1, 1), (2, 198), (198, 2), (0.5, 0.5), (0.1, 30), (2.5, 3.7),
                                  (400, 900)])
def test_expected_weighted_accuracy_is_a_hypergeometric_function(a, b):
    p = np.array([1, 2, 198, 1, 10**6, 40, 333, 7])
    n = np.array([1, 198, 2, 10**6, 1, 160, 334, 3])
    with mpmath.workdps(40):
        share = np.array([float(gauss_share(*one, a, b)) for one in zip(p, n)])
    # recall 1, specificity 0; and the other way round
    same(ewa(BinaryCounts(tp=p, fp=n, fn=0 * p, tn=0 * n), a=a, b=b), share, rtol=0)
    same(ewa(BinaryCounts(tp=0 * p, fp=0 * n, fn=p, tn=n), a=a, b=b), 1 - share, rtol=0)
    # more than are integrated at a time
    p, n = np.append(p, np.arange(1001, 13_000)), np.append(n, np.full(11_999, 1000))
    same(ewa(BinaryCounts(tp=p, fp=n, fn=0 * p, tn=0 * n), a=a, b=b)[:8], share, rtol=0, atol=2e-14)


@pytest.mark.parametrize("size", [3, 2000])
def test_expected_weighted_accuracy_in_the_limit_of_an_empty_class_and_of_its_parameters(size):
    one_class = np.tile([[[7, 3], [0, 0]]], (size, 1, 1))
    same(ewa(one_class, a=0.5, b=0.5), np.full(size, 0.7))
    same(ewa(one_class[..., ::-1, ::-1], a=0.5, b=0.5), np.full(size, 0.7))
    same(ewa(INTERIOR, a=3e8, b=1e8), METRICS["weighted_accuracy"](INTERIOR, weight=0.75), rtol=1e-6)
    function, a = ewa.function, np.array([1.0, 2.0, 30.0])
    same(function(INTERIOR[:5, None], a=a, b=2), [[function(c, a=v, b=2) for v in a] for c in INTERIOR[:5]])


# --- costs

GENERAL = np.array([[1.0, 4.0], [9.0, 3.0]])  # correct decisions cost something
COSTED = [metric for metric in METRICS.values() if metric.needs_costs]


def test_costs_become_each_metrics_own_parameter():
    for name, value in (("weighted_accuracy", 7 / 9), ("cost_score", 3.5), ("net_benefit", 2 / 9)):
        same(METRICS[name](INTERIOR, COSTS), METRICS[name].function(INTERIOR, value))
        same(METRICS[name](INTERIOR, **{METRICS[name].cost_parameter: value}), METRICS[name](INTERIOR, COSTS))
    same(METRICS["recall"](INTERIOR, COSTS), METRICS["recall"](INTERIOR))


@pytest.mark.parametrize("metric", COSTED, ids=lambda m: m.name)
def test_a_constant_added_to_a_row_the_currency_and_further_matrices_do_nothing(metric):
    if metric.name not in ("expected_cost", "mean_subjective_utility"):
        for costs in (GENERAL + [[5], [-2]], GENERAL * 100, CostMatrix(GENERAL).standardized()):
            same(metric(INTERIOR, costs), metric(INTERIOR, GENERAL))
    many = np.stack([GENERAL, GENERAL + [[0, 3], [0, 0]], COSTS.array])
    same(metric(INTERIOR[:5, None], many), np.stack([metric(INTERIOR[:5], costs) for costs in many], -1))


@pytest.mark.parametrize("name", ["weighted_accuracy", "cost_score", "net_benefit"])
@pytest.mark.parametrize("costs", [[[1, 0], [0, 1]], [[1, 0], [5, 0]], [[0, 1], [0, 5]]])
def test_costs_with_their_columns_swapped_are_refused(name, costs):
    with pytest.raises(ValueError, match="columns swapped"):
        METRICS[name](GOOD, costs)


# --- many at once, and more than two classes

def test_evaluate_metrics_equals_one_by_one_across_blocks():
    many = np.random.default_rng(5).integers(0, 50, (5, 7001, 2, 2))
    values = evaluate_metrics(many, COSTS)
    assert list(values) == list(METRICS)
    for name, value in values.items():
        assert value.shape == (5, 7001)
        same(value, METRICS[name](many, COSTS))
    few = evaluate_metrics([[4, 0], [2, 0]], COSTS, ["precision", "cost_score"], undefined=0)
    assert few == {"precision": 0, "cost_score": 3.5} and all(type(v) is float for v in few.values())
    assert evaluate_metrics(np.empty((0, 2, 2)), COSTS)["mcc"].shape == (0,)


MULTI = np.random.default_rng(6).integers(0, 12, (40, 4, 4))
MULTI[0, 3] = 0  # class 3 does not occur,
MULTI[1, :, 3] = 0  # is never predicted,
MULTI[2, 3] = 0  # or neither
MULTI[2, :, 3] = 0


@pytest.mark.parametrize("undefined, zero_division", [(0, 0.0), (1, 1.0), ("omit", np.nan)])
@pytest.mark.parametrize("beta", [1, 0.5, 3])
def test_averages_over_classes_agree_with_scikit_learn(undefined, zero_division, beta):
    options = {"labels": range(4), "average": "macro", "zero_division": zero_division}
    found = [sk.precision_recall_fscore_support(*labels_of(c), beta=beta, **options)[:3] for c in MULTI]
    precision, recall, f_beta = np.transpose(found)
    same(macro_f_beta(MULTI, beta, undefined=undefined), f_beta)
    of_averages = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    same(f_beta_of_macro_averages(MULTI, beta, undefined=undefined), of_averages)
    same(micro_f_beta(MULTI, beta), np.trace(MULTI, axis1=1, axis2=2) / MULTI.sum(axis=(1, 2)))


def test_two_classes_one_vs_rest_are_the_matrix_and_its_mirror_image():
    parts = METRICS["f_beta"](one_vs_rest(INTERIOR))
    same(parts[:, 1], METRICS["f_beta"](INTERIOR))
    same(parts[:, 0], METRICS["f_beta"](INTERIOR[:, ::-1, ::-1]))


@every_metric
@pytest.mark.parametrize("kind", ["int8", "uint8", "uint64", "float32", "bool"])
def test_narrow_and_very_large_counts_do_not_run_over(metric, kind):
    "Products of counts (MCC, kappa, odds ratios) would overflow in whole numbers, too, from 3.04e9 on."
    counts = np.array([[1, 1], [1, 1]], kind) if kind == "bool" else np.array([[120, 101], [99, 127]], kind)
    same(metric(counts, COSTS), metric(counts.astype(float), COSTS))
    for size in (10**7, 10**13):
        same(metric(GOOD * size, COSTS), metric(GOOD, COSTS))


# --- metrics as functions of the error rates

FRACTIONAL = [m for m in METRICS.values() if m.line(0.3, **m.parameters(COSTS)) is not None]
CLOSED = [m for m in METRICS.values() if m.uniform_cdf is not None]


@pytest.mark.parametrize("metric", FRACTIONAL, ids=lambda m: m.name)
@pytest.mark.parametrize("costs", [COSTS, CostMatrix(GENERAL)], ids=["binary", "general"])
def test_the_line_is_the_metric(metric, costs):
    x, y, p = np.random.default_rng(8).uniform(0.02, 0.98, (3, 400))
    parameters = metric.parameters(costs)
    tp, fp = p * x, (1 - p) * y
    above, below = (k[0] + k[1] * x + k[2] * y for k in metric.line(p, **parameters))
    same(above / below, metric.at_rates(x, y, p, **parameters), rtol=1e-9)
    same(above / below, metric(BinaryCounts(tp=tp, fp=fp, fn=p - tp, tn=1 - p - fp), costs), rtol=1e-9)


@pytest.mark.parametrize("name, parameters", [
    ("f_beta", {"beta": np.array([0.5, 2, 3])}), ("weighted_accuracy", {"weight": np.array([0.1, 0.5, 0.9])}),
    ("h_measure", {"a": np.array([1, 2, 9.0]), "b": 3.0}), ("cost_score", {"cost_ratio": np.arange(3)}),
    ("expected_weighted_accuracy", {"a": np.array([1, 2, 9.0]), "b": np.array([3, 0.5, 2])}),
    ("net_benefit", {"threshold": np.array([0, 0.2, 0.7])}),
    ("expected_cost", {"costs": np.stack([GENERAL, GENERAL.T + 9 * np.eye(2)[::-1], COSTS.array])}),
    ("normalized_expected_cost", {"costs": np.stack([GENERAL, COSTS.array * 2, COSTS.array])})])
def test_lines_broadcast_over_their_parameters(name, parameters):
    line = METRICS[name].line(.3, **parameters)
    assert line.shape == (2, 3, 3)
    above, below = np.array([1, .6, .2]) @ line
    same(above / below, METRICS[name].at_rates(.6, .2, .3, **parameters))


def test_cells_are_those_of_metrics_that_are_one_ratio_at_all_sizes_of_the_classes():
    told = {m.name for m in METRICS.values() if m.cells(**m.parameters(COSTS)) is not None}
    assert told == set("""accuracy cost_score error_rate expected_cost f_beta h_measure jaccard npv precision
                          mean_subjective_utility net_benefit recall specificity weighted_accuracy""".split())
    assert METRICS["f_beta"].cells(beta=2).tolist() == [[0, 0, 0, 5], [0, 1, 4, 5]]
    assert METRICS["expected_cost"].cells(costs=COSTS).tolist() == [COSTS.array.ravel().tolist(), [1] * 4]


@pytest.mark.parametrize("metric", CLOSED, ids=lambda m: m.name)
@pytest.mark.parametrize("prevalence", [0.02, 0.3, 0.5, 0.9])
def test_closed_distribution_is_that_of_uniform_error_rates(metric, prevalence):
    n = 400
    u, v = np.meshgrid((np.arange(n) + 0.5) / n, (np.arange(n) + 0.5) / n)  # midpoints: P(<=) to about 1/n
    drawn = np.sort(metric.at_rates(u, v, prevalence).ravel())
    values = drawn[(np.array([0.001, 0.03, 0.2, 0.5, 0.8, 0.97, 0.999]) * n * n).astype(int)]
    shares = np.searchsorted(drawn, values, "right") / n**2
    same(metric.uniform_cdf(values, prevalence), shares, rtol=0, atol=0.004)
    low, high = max(metric.lower, -1), min(metric.upper, 1e300)
    same(metric.uniform_cdf(np.array([low, high]), prevalence), [0, 1], atol=1e-9)


@pytest.mark.parametrize("s", [1e-9, 1e-3, 0.02, 0.0499, 0.0501, 0.3, -0.02, -2.0])
def test_the_odds_ratio_near_1_to_the_last_digits(s):
    with mpmath.workdps(60):
        t = abs(mpmath.mpf(s))
        e = mpmath.exp(-t)
        wanted = np.sign(s) * float((1 - e * e - 2 * t * e) / (2 * (1 - e) ** 2))
    same(METRICS["diagnostic_odds_ratio"].uniform_cdf(np.exp(s), 0.3) - 0.5, wanted, atol=1e-12)


@every_metric
def test_bounds_are_reached(metric):
    "By a table of extremes, or nearly."
    tables = np.stack(np.meshgrid(*[[0., 1, 3, 1000]] * 4, indexing="ij"), -1).reshape(-1, 2, 2)
    values = metric(tables[tables.any(2).all(1)], CostMatrix.binary(fp=1, fn=4))
    values = values[np.isfinite(values)]
    for bound, reached, sign in ((metric.lower, values.min(), 1), (metric.upper, values.max(), -1)):
        assert sign * (reached - bound) >= -1e-12
        assert not np.isfinite(bound) or reached == pytest.approx(bound, abs=0.05)
