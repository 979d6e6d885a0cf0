"""Every metric of the registry goes through the same invariances; after that, checks against independent
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
from cost_eval.core import LabelledTable

COSTS = CostMatrix.binary(fp=2, fn=7)
# every pattern of empty cells, then small counts with many ties, then large ones
CORNERS = np.stack(np.meshgrid(*[[0, 1, 4]] * 4, indexing="ij"), -1).reshape(-1, 2, 2)
RANDOM = np.random.default_rng(1).integers(0, 9, (300, 2, 2))
LARGE = np.random.default_rng(2).integers(1, 10**9, (100, 2, 2))
COUNTS = np.concatenate([CORNERS, RANDOM, LARGE])
INTERIOR = COUNTS[(COUNTS > 0).all(axis=(1, 2))]

every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def same(a, b, rtol=1e-12, atol=1e-14):
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)


def labels_of(counts):
    "True labels and decisions with these counts."
    return np.repeat([0, 0, 1, 1], counts.ravel()), np.repeat([0, 1, 0, 1], counts.ravel())


# --- the registry -------------------------------------------------------------------------------------------

@every_metric
def test_record_is_complete(metric):
    assert isinstance(metric, Metric) and METRICS[metric.name] is metric
    assert getattr(module, metric.name) is metric.function and metric.name in module.__all__
    assert (
        metric.formula
        and metric.symbol
        and metric.undefined
        and metric.source
        and metric.lower < metric.upper
    )
    signature = inspect.signature(metric.function)
    assert list(signature.parameters)[0] == "counts" and np.isnan(signature.parameters["undefined"].default)
    assert metric.needs_costs == (metric.cost_parameter is not None)
    if metric.needs_costs:
        assert signature.parameters[metric.cost_parameter].default is inspect.Parameter.empty
    assert metric.source in metric.function.__doc__ and metric.undefined in metric.function.__doc__
    assert f"`{metric.name}`" in METRICS._repr_markdown_() and metric.name in metric._repr_markdown_()


# --- invariances --------------------------------------------------------------------------------------------


@every_metric
def test_only_proportions_matter(metric):
    same(metric(COUNTS * 3, COSTS), metric(COUNTS, COSTS), rtol=1e-11)


@every_metric
def test_symmetric_exactly_where_claimed(metric):
    swapped_costs = CostMatrix(COSTS.array[::-1, ::-1])
    if metric.symmetric:
        same(metric(COUNTS[..., ::-1, ::-1], swapped_costs), metric(COUNTS, COSTS), rtol=1e-11)
    else:
        assert not np.allclose(
            metric(INTERIOR[..., ::-1, ::-1], swapped_costs), metric(INTERIOR, COSTS), rtol=1e-3
        )


def test_symmetric_metrics_include_those_the_paper_lists():
    "Lombardo et al. 2025, section 6.2."
    listed = """accuracy mcc cohen_kappa g_mean single_point_auc class_balance_accuracy imbalance_accuracy p4
    weighted_class_accuracy weighted_relative_accuracy accuracy_cost_distance h_measure
    weighted_accuracy expected_weighted_accuracy""".split()
    assert all(METRICS[name].symmetric for name in listed)


@every_metric
def test_no_matrix_with_the_same_classes_beats_the_perfect_one(metric):
    positives, negatives = 7, 12
    fn, fp = np.meshgrid(np.arange(positives + 1), np.arange(negatives + 1))
    values = metric(BinaryCounts(tp=positives - fn, fp=fp, fn=fn, tn=negatives - fp), COSTS)
    perfect = values[0, 0]
    assert not np.isnan(perfect)
    best = np.nanmax(values) if metric.greater_is_better else np.nanmin(values)
    same(best, perfect)


@every_metric
def test_undefined_values_are_nan_or_replaced(metric):
    values = metric(COUNTS, COSTS)
    missing = np.isnan(values)
    assert missing[(COUNTS == 0).all(axis=(1, 2))].all() and not missing[(COUNTS > 0).all(axis=(1, 2))].any()
    for convention in (0, -1, 1.5):
        replaced = metric(COUNTS, COSTS, undefined=convention)
        assert (replaced[missing] == convention).all()
        same(replaced[~missing], values[~missing])
    assert metric(np.zeros((2, 2)), COSTS, undefined=0) == 0


def empty_class(tp, fp, fn, tn):
    return (tp + fn == 0) | (fp + tn == 0)


def no_samples(tp, fp, fn, tn):
    return tp + fp + fn + tn == 0


def one_decision(tp, fp, fn, tn):
    return (tp + fp == 0) | (fn + tn == 0)


def no_hits_or_errors(tp, fp, fn, tn):
    return tp + fp + fn == 0


def class_without_trace(tp, fp, fn, tn):
    return (tp + fp + fn == 0) | (tn + fp + fn == 0)


UNDEFINED = {  # exactly when each metric is 0/0
    "recall": lambda tp, fp, fn, tn: tp + fn == 0,
    "specificity": lambda tp, fp, fn, tn: tn + fp == 0,
    "precision": lambda tp, fp, fn, tn: tp + fp == 0,
    "npv": lambda tp, fp, fn, tn: tn + fn == 0,
    "lift": lambda tp, fp, fn, tn: (tp + fp == 0) | (tp + fn == 0),
    "b_roc": lambda tp, fp, fn, tn: (tp + fp == 0) | (tp + fn == 0),
    "likelihood_ratio_positive": lambda *c: empty_class(*c) | (c[0] + c[1] == 0),
    "likelihood_ratio_negative": lambda *c: empty_class(*c) | (c[2] + c[3] == 0),
    "diagnostic_odds_ratio": lambda tp, fp, fn, tn: (tp * tn == 0) & (fp * fn == 0),
    "accuracy": no_samples,
    "error_rate": no_samples,
    "h_measure": no_samples,
    "weighted_accuracy": no_samples,
    "expected_weighted_accuracy": no_samples,
    "accuracy_cost_distance": no_samples,
    "expected_cost": no_samples,
    "net_benefit": no_samples,
    "mean_subjective_utility": no_samples,
    "balanced_accuracy": empty_class,
    "balanced_error_rate": empty_class,
    "single_point_auc": empty_class,
    "g_mean": empty_class,
    "informedness": empty_class,
    "weighted_class_accuracy": empty_class,
    "weighted_relative_accuracy": empty_class,
    "markedness": one_decision,
    "mcc": lambda *c: empty_class(*c) | one_decision(*c),
    "f_beta": no_hits_or_errors,
    "jaccard": no_hits_or_errors,
    "class_balance_accuracy": class_without_trace,
    "imbalance_accuracy": class_without_trace,
    "cohen_kappa": class_without_trace,
    "p4": lambda tp, fp, fn, tn: (tp + tn == 0) | ((fp + fn == 0) & (tp * tn == 0)),
    "cost_score": no_hits_or_errors,
    "normalized_expected_cost": empty_class,
}


@pytest.mark.parametrize("name", UNDEFINED)
def test_undefined_exactly_where_stated(name):
    c = BinaryCounts.from_matrix(CORNERS)
    np.testing.assert_array_equal(
        np.isnan(METRICS[name](CORNERS, COSTS)), UNDEFINED[name](c.tp, c.fp, c.fn, c.tn)
    )


def test_positive_over_zero_is_infinite():
    assert METRICS["likelihood_ratio_positive"]([[5, 0], [1, 2]]) == np.inf
    assert METRICS["cost_score"]([[5, 3], [0, 0]], COSTS) == np.inf


# --- independent sources ------------------------------------------------------------------------------------

C_FP, C_FN = 2, 7
# of what scikit-learn does not have, the formulas as printed in the papers, typed a second time with plain
# numbers
PRINTED = {
    "lift": lambda TP, FP, FN, TN: TP / (TP + FP) / ((TP + FN) / (TP + FP + FN + TN)),
    "diagnostic_odds_ratio": lambda TP, FP, FN, TN: (TP / FP) / (FN / TN),
    "markedness": lambda TP, FP, FN, TN: TP / (TP + FP) - FN / (TN + FN),
    "g_mean": lambda TP, FP, FN, TN: (TP * TN / ((TP + FN) * (TN + FP))) ** 0.5,
    "balanced_error_rate": lambda TP, FP, FN, TN: (FN / (TP + FN) + FP / (TN + FP)) / 2,
    "class_balance_accuracy": lambda TP, FP, FN, TN: (
        (TP / max(TP + FN, TP + FP) + TN / max(TN + FP, TN + FN)) / 2
    ),
    "imbalance_accuracy": lambda TP, FP, FN, TN: (
        (TP - max(FP, FN)) / (2 * max(TP + FN, TP + FP)) + (TN - max(FP, FN)) / (2 * max(TN + FP, TN + FN))
    ),
    "p4": lambda TP, FP, FN, TN: 4 * TP * TN / (4 * TP * TN + (TP + TN) * (FP + FN)),
    "b_roc": lambda TP, FP, FN, TN: (TP / (TP + FN) + TP / (FP + TP)) / 2,
    "weighted_class_accuracy": lambda TP, FP, FN, TN: 7 / 9 * TP / (TP + FN) + (1 - 7 / 9) * TN / (TN + FP),
    "weighted_relative_accuracy": lambda TP, FP, FN, TN: (
        4
        * (TP / (TP + FN) - FP / (TN + FP))
        * (TN + FP)
        * C_FP
        / ((TP + FN) * C_FN)
        / (1 + (TN + FP) * C_FP / ((TP + FN) * C_FN)) ** 2
    ),
    "accuracy_cost_distance": lambda TP, FP, FN, TN: (
        (
            (1 - (TP + TN) / (TP + FP + FN + TN)) ** 2
            + ((C_FN * FN + C_FP * FP) / (C_FN * (TP + FN) + C_FP * (TN + FP))) ** 2
        )
        ** 0.5
    ),
    "cost_score": lambda TP, FP, FN, TN: (C_FN * FN + C_FP * FP) / ((TP + FN) * C_FP),
    "mean_subjective_utility": lambda TP, FP, FN, TN: (
        1 - (C_FN * FN + C_FP * FP) / (C_FN * (TP + FN) + C_FP * (TN + FP))
    ),
    "weighted_accuracy": lambda TP, FP, FN, TN: (
        1 - (C_FN * FN + C_FP * FP) / (C_FN * (TP + FN) + C_FP * (TN + FP))
    ),
    "h_measure": lambda TP, FP, FN, TN: (
        1
        - integrate.quad(lambda c: stats.beta.pdf(c, 2, 2) * (c * FP + (1 - c) * FN), 0, 1)[0]
        / integrate.quad(lambda c: stats.beta.pdf(c, 2, 2) * (c * (FP + TN) + (1 - c) * (TP + FN)), 0, 1)[0]
    ),
    "expected_weighted_accuracy": lambda TP, FP, FN, TN: integrate.quad(
        lambda w: stats.beta.pdf(w, 2, 2) * (w * TP + (1 - w) * TN) / (w * (TP + FN) + (1 - w) * (TN + FP)),
        0,
        1,
        epsabs=1e-12,
    )[0],
    "net_benefit": lambda TP, FP, FN, TN: (
        TP / (TP + FP + FN + TN) - (2 / 9) / (7 / 9) * FP / (TP + FP + FN + TN)
    ),
    "expected_cost": lambda TP, FP, FN, TN: (C_FN * FN + C_FP * FP) / (TP + FP + FN + TN),
    "normalized_expected_cost": lambda TP, FP, FN, TN: (
        (C_FN * FN + C_FP * FP) / min(C_FP * (TN + FP), C_FN * (TP + FN))
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_formula_as_printed(name):
    points = INTERIOR[:60]
    expected = [
        PRINTED[name](TP=int(c[1, 1]), FP=int(c[0, 1]), FN=int(c[1, 0]), TN=int(c[0, 0])) for c in points
    ]
    same(METRICS[name](points, COSTS), expected, rtol=1e-10)


SKLEARN = {
    "accuracy": sk.accuracy_score,
    "error_rate": sk.zero_one_loss,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "single_point_auc": sk.roc_auc_score,
    "mcc": sk.matthews_corrcoef,
    "cohen_kappa": sk.cohen_kappa_score,
    "recall": lambda y, d: sk.recall_score(y, d, zero_division=np.nan),
    "specificity": lambda y, d: sk.recall_score(y, d, pos_label=0, zero_division=np.nan),
    "precision": lambda y, d: sk.precision_score(y, d, zero_division=np.nan),
    "npv": lambda y, d: sk.precision_score(y, d, pos_label=0, zero_division=np.nan),
    "f_beta": lambda y, d: sk.f1_score(y, d, zero_division=np.nan),
    "jaccard": sk.jaccard_score,
    "likelihood_ratio_positive": lambda y, d: sk.class_likelihood_ratios(y, d)[0],
    "likelihood_ratio_negative": lambda y, d: sk.class_likelihood_ratios(y, d)[1],
    "informedness": lambda y, d: sk.balanced_accuracy_score(y, d, adjusted=True),
}


def test_every_metric_has_another_source():
    assert PRINTED.keys() | SKLEARN.keys() == METRICS.keys()


@pytest.mark.parametrize("name", SKLEARN)
def test_agrees_with_scikit_learn(name):
    points = np.concatenate(
        [INTERIOR[INTERIOR.sum(axis=(1, 2)) < 100][:40], [[[3, 0], [0, 4]], [[5, 2], [1, 1]]]]
    )
    if name.startswith("likelihood"):
        points = points[:-2]
    same(METRICS[name](points), [SKLEARN[name](*labels_of(c)) for c in points])


@pytest.mark.parametrize("beta", [0, 0.5, 1, 2, 10])
def test_f_beta_for_other_betas(beta):
    c = INTERIOR[5]
    same(METRICS["f_beta"](c, beta=beta), sk.fbeta_score(*labels_of(c), beta=beta))


def gauss_share(p, n, a, b):
    "Expected share of the weight on the positives, by mpmath's Gauss hypergeometric function."
    odds, a, b = mpmath.mpf(int(p)) / int(n), mpmath.mpf(a), mpmath.mpf(b)
    if odds > 1:
        return 1 - gauss_share(n, p, b, a)
    return a / (a + b) * odds * mpmath.hyp2f1(1, a + 1, a + b + 1, 1 - odds)


@pytest.mark.parametrize(
    "a, b", [(2, 2), (1, 1), (2, 198), (198, 2), (0.5, 0.5), (0.1, 30), (2.5, 3.7), (30, 10), (400, 900)]
)
def test_expected_weighted_accuracy_is_a_hypergeometric_function(a, b):
    positives, negatives = np.array(
        [(1, 1), (2, 198), (198, 2), (1, 10**6), (10**6, 1), (40, 160), (333, 334), (7, 3)]
    ).T
    with mpmath.workdps(40):
        share = [float(gauss_share(p, n, a, b)) for p, n in zip(positives, negatives)]
    only_tp = BinaryCounts(
        tp=positives, fp=negatives, fn=0 * positives, tn=0 * negatives
    )  # recall 1, specificity 0: EWA is the share
    only_tn = BinaryCounts(tp=0 * positives, fp=0 * negatives, fn=positives, tn=negatives)
    same(METRICS["expected_weighted_accuracy"](only_tp, a=a, b=b), share, rtol=0, atol=1e-14)
    same(METRICS["expected_weighted_accuracy"](only_tn, a=a, b=b), 1 - np.array(share), rtol=0, atol=1e-14)
    more = np.arange(1001, 13_000)  # more prevalences than are integrated at a time
    p, n = np.append(positives, more), np.append(negatives, 0 * more + 1000)
    many = BinaryCounts(tp=p, fp=n, fn=0 * p, tn=0 * n)
    same(METRICS["expected_weighted_accuracy"](many, a=a, b=b)[:8], share, rtol=0, atol=2e-14)


@pytest.mark.parametrize("prevalences, size", [(1, 961), (1, 10_000), (40, 1000)])
def test_expected_weighted_accuracy_integrates_once_a_prevalence(monkeypatch, prevalences, size):
    "However many tables have it; the exponentials are of the distinct log odds, and of the nodes."
    nodes, rows, exp = len(module._weight_nodes(2.0, 2.0)[0]), [], np.exp
    monkeypatch.setattr(np, "exp", lambda x: rows.append(len(x)) or exp(x))
    tp, p = np.arange(size) % 60, 60 + np.arange(size) % prevalences
    found = METRICS["expected_weighted_accuracy"](BinaryCounts(tp=tp, fp=0 * tp + 7, fn=p - tp,
            tn=0 * tp + 30))
    assert rows == [prevalences, nodes]
    k = np.array([0, 5, size - 1])
    each = [METRICS["expected_weighted_accuracy"](BinaryCounts(tp=tp[i], fp=7, fn=p[i] - tp[i], tn=30))
            for i in k]
    same(found[k], each, rtol=0, atol=1e-15)


def test_expected_weighted_accuracy_concentrates_on_the_mean_weight():
    same(
        METRICS["expected_weighted_accuracy"](INTERIOR, a=3e8, b=1e8),
        METRICS["weighted_accuracy"](INTERIOR, weight=0.75),
        rtol=1e-6,
    )


@pytest.mark.parametrize("size", [3, 2000])
def test_expected_weighted_accuracy_with_an_empty_class(size):
    one_class = np.tile([[[7, 3], [0, 0]]], (size, 1, 1))
    same(METRICS["expected_weighted_accuracy"](one_class, a=0.5, b=0.5), np.full(size, 0.7))
    same(METRICS["expected_weighted_accuracy"](one_class[..., ::-1, ::-1], a=0.5, b=0.5), np.full(size, 0.7))
    assert np.isnan(METRICS["expected_weighted_accuracy"](np.zeros((size, 2, 2)))).all()


@pytest.mark.parametrize("a, b", [(2, 2), (1, 5), (0.7, 0.2)])
def test_h_measure_is_the_ratio_of_two_means(a, b):
    (tn, fp), (fn, tp) = INTERIOR[3]

    def mean(f):
        return integrate.quad(lambda c: f(c) * c ** (a - 1) * (1 - c) ** (b - 1), 0, 1)[0]

    expected = 1 - mean(lambda c: c * fp + (1 - c) * fn) / mean(lambda c: c * (tn + fp) + (1 - c) * (tp + fn))
    same(METRICS["h_measure"](INTERIOR[3], a=a, b=b), expected, rtol=1e-7)


# --- costs --------------------------------------------------------------------------------------------------

GENERAL = np.array([[1.0, 4.0], [9.0, 3.0]])  # correct decisions cost something


def test_costs_become_each_metrics_own_parameter():
    same(
        METRICS["weighted_accuracy"](INTERIOR, COSTS), METRICS["weighted_accuracy"].function(INTERIOR, 7 / 9)
    )
    same(METRICS["cost_score"](INTERIOR, COSTS), METRICS["cost_score"].function(INTERIOR, 3.5))
    same(METRICS["net_benefit"](INTERIOR, COSTS), METRICS["net_benefit"].function(INTERIOR, 2 / 9))
    same(METRICS["cost_score"](INTERIOR, cost_ratio=3.5), METRICS["cost_score"](INTERIOR, COSTS))
    same(METRICS["recall"](INTERIOR, COSTS), METRICS["recall"](INTERIOR))


@pytest.mark.parametrize(
    "name",
    [
        m.name
        for m in METRICS.values()
        if m.needs_costs and m.name not in ("expected_cost", "mean_subjective_utility")
    ],
)
def test_adding_a_constant_to_a_row_or_changing_the_currency_does_nothing(name):
    for costs in (GENERAL + [[5], [-2]], GENERAL * 100, CostMatrix(GENERAL).standardized()):
        same(METRICS[name](INTERIOR, costs), METRICS[name](INTERIOR, GENERAL))


def test_mean_subjective_utility_has_the_stated_smallest_value():
    all_wrong = np.array([[0, 12], [5, 0]])
    smallest, largest = 1 * 12 + 3 * 5, 4 * 12 + 9 * 5
    same(METRICS["mean_subjective_utility"](all_wrong, GENERAL), smallest / largest)
    assert METRICS["mean_subjective_utility"](np.array([[12, 0], [0, 5]]), GENERAL) == 1


@pytest.mark.parametrize("metric", [m for m in METRICS.values() if m.needs_costs], ids=lambda m: m.name)
def test_many_cost_matrices_broadcast_against_counts(metric):
    many = np.stack([GENERAL, GENERAL + [[0, 3], [0, 0]], COSTS.array])
    values = metric(INTERIOR[:5, None], many)
    assert values.shape == (5, 3)
    for j, costs in enumerate(many):
        same(values[:, j], metric(INTERIOR[:5], costs))


def test_evaluate_metrics_equals_one_by_one_across_blocks():
    many = np.random.default_rng(5).integers(0, 50, (5, 7001, 2, 2))
    values = evaluate_metrics(many, COSTS)
    assert list(values) == list(METRICS)
    for name, value in values.items():
        assert value.shape == (5, 7001)
        same(value, METRICS[name](many, COSTS))
    for form in (BinaryCounts.from_matrix(many), many.astype(float)):
        same(evaluate_metrics(form, names="p4")["p4"], values["p4"])


# --- many at once -------------------------------------------------------------------------------------------


def test_evaluate_metrics_scalars_names_and_conventions():
    values = evaluate_metrics([[4, 0], [2, 0]], COSTS, ["precision", "cost_score"], undefined=0)
    assert values == {"precision": 0, "cost_score": 3.5} and all(type(v) is float for v in values.values())
    assert evaluate_metrics(np.empty((0, 2, 2)), COSTS)["mcc"].shape == (0,)


# --- more than two classes ----------------------------------------------------------------------------------

MULTI = np.random.default_rng(6).integers(0, 12, (40, 4, 4))
MULTI[0, 3] = 0  # class 3 does not occur,
MULTI[1, :, 3] = 0  # is never predicted,
MULTI[2, 3] = 0  # or neither
MULTI[2, :, 3] = 0


def multi_labels(counts):
    k = len(counts)
    return np.repeat(np.repeat(np.arange(k), k), counts.ravel()), np.repeat(
        np.tile(np.arange(k), k), counts.ravel()
    )


@pytest.mark.parametrize("undefined, zero_division", [(0, 0.0), (1, 1.0), ("omit", np.nan)])
@pytest.mark.parametrize("beta", [1, 0.5, 3])
def test_both_macro_averages_agree_with_scikit_learn(undefined, zero_division, beta):
    options = {"labels": range(4), "average": "macro", "zero_division": zero_division}
    found = [sk.precision_recall_fscore_support(*multi_labels(c), beta=beta, **options)[:3] for c in MULTI]
    precision, recall, f_beta = np.transpose(found)
    same(macro_f_beta(MULTI, beta, undefined=undefined), f_beta)
    of_averages = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    same(f_beta_of_macro_averages(MULTI, beta, undefined=undefined), of_averages)


@pytest.mark.parametrize("beta", [0.5, 1, 4])
def test_micro_f_beta_is_accuracy(beta):
    same(micro_f_beta(MULTI, beta), np.trace(MULTI, axis1=1, axis2=2) / MULTI.sum(axis=(1, 2)))


def test_two_classes_one_vs_rest_are_the_matrix_and_its_mirror_image():
    parts = one_vs_rest(INTERIOR)
    same(METRICS["f_beta"](parts)[:, 1], METRICS["f_beta"](INTERIOR))
    same(METRICS["f_beta"](parts)[:, 0], METRICS["f_beta"](INTERIOR[:, ::-1, ::-1]))


GOOD = np.array([[5, 2], [1, 3]])


@pytest.mark.parametrize("name", ["weighted_accuracy", "cost_score", "net_benefit"])
@pytest.mark.parametrize("costs", [[[1, 0], [0, 1]], [[1, 0], [5, 0]], [[0, 1], [0, 5]]],
                         ids=["both rows", "the first", "the second"])
def test_costs_with_their_columns_swapped_are_refused(name, costs):
    with pytest.raises(ValueError, match="columns swapped"):
        METRICS[name](GOOD, costs)


# --- bad input ----------------------------------------------------------------------------------------------

# --- types and labels ---------------------------------------------------------------------------------------


@every_metric
@pytest.mark.parametrize("kind", ["int8", "uint8", "uint64", "float32", "bool"])
def test_narrow_and_unsigned_counts_do_not_run_over(metric, kind):
    counts = np.array([[1, 1], [1, 1]], kind) if kind == "bool" else np.array([[120, 101], [99, 127]], kind)
    same(metric(counts, COSTS), metric(counts.astype(float), COSTS))


@every_metric
def test_the_order_of_labels_cannot_change_a_number(metric):
    costs = CostMatrix([[0, 2], [7, 0]], classes=["no", "yes"])
    expected = metric(GOOD, costs)
    turned = LabelledTable(GOOD[::-1, ::-1], classes=["yes", "no"])
    same(metric(turned, costs), expected)
    same(
        metric(LabelledTable(GOOD[:, ::-1], classes=["no", "yes"], decisions=["yes", "no"]), costs), expected
    )
    pd = pytest.importorskip("pandas")
    same(metric(pd.DataFrame(GOOD[::-1], index=["yes", "no"], columns=["no", "yes"]), costs), expected)
    same(evaluate_metrics(turned, costs)[metric.name], expected)
    with pytest.raises(ValueError, match="'maybe'"):
        metric(LabelledTable(GOOD, classes=["no", "maybe"]), costs)


# --- metrics as functions of the error rates ----------------------------------------------------------------

FRACTIONAL = [m for m in METRICS.values() if m.line(0.3, **m.parameters(COSTS)) is not None]
CLOSED = [m for m in METRICS.values() if m.uniform_cdf is not None]


@pytest.mark.parametrize("metric", FRACTIONAL, ids=lambda m: m.name)
@pytest.mark.parametrize("costs", [COSTS, CostMatrix(GENERAL)], ids=["binary", "general"])
def test_the_line_is_the_metric(metric, costs):
    rng = np.random.default_rng(8)
    x, y, p = rng.uniform(0.02, 0.98, (3, 400))
    parameters = metric.parameters(costs)
    tp, fp = p * x, (1 - p) * y
    above, below = (k[0] + k[1] * x + k[2] * y for k in metric.line(p, **parameters))
    value = above / below
    same(value, metric.at_rates(x, y, p, **parameters), rtol=1e-9)
    same(value, metric(BinaryCounts(tp=tp, fp=fp, fn=p - tp, tn=1 - p - fp), costs), rtol=1e-9)


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("f_beta", {"beta": np.array([0.5, 2, 3])}),
        ("weighted_accuracy", {"weight": np.array([0.1, 0.5, 0.9])}),
        ("h_measure", {"a": np.array([1, 2, 9.0]), "b": 3.0}),
        ("expected_weighted_accuracy", {"a": np.array([1, 2, 9.0]), "b": np.array([3, 0.5, 2])}),
        ("cost_score", {"cost_ratio": np.array([0, 1, 7.0])}),
        ("net_benefit", {"threshold": np.array([0, 0.2, 0.7])}),
        ("expected_cost", {"costs": np.stack([GENERAL, GENERAL.T + 9 * np.eye(2)[::-1], COSTS.array])}),
        ("normalized_expected_cost", {"costs": np.stack([GENERAL, COSTS.array * 2, COSTS.array])}),
    ],
)
def test_lines_broadcast_over_their_parameters(name, parameters):
    p, x, y = 0.3, 0.6, 0.2
    line = METRICS[name].line(p, **parameters)
    assert line.shape == (2, 3, 3)
    above, below = np.array([1, x, y]) @ line
    same(above / below, METRICS[name].at_rates(x, y, p, **parameters))


def test_cells_are_those_of_metrics_that_are_one_ratio_at_all_sizes_of_the_classes():
    told = {m.name for m in METRICS.values() if m.cells(**m.parameters(COSTS)) is not None}
    assert told == set("""accuracy cost_score error_rate expected_cost f_beta h_measure jaccard
                          mean_subjective_utility net_benefit npv precision recall specificity
                          weighted_accuracy""".split())
    assert METRICS["f_beta"].cells(beta=2).tolist() == [[0, 0, 0, 5], [0, 1, 4, 5]]
    assert METRICS["expected_cost"].cells(costs=COSTS).tolist() == [COSTS.array.ravel().tolist(), [1] * 4]


def test_expected_weighted_accuracy_broadcasts_over_its_parameters():
    ewa, a = METRICS["expected_weighted_accuracy"].function, np.array([1.0, 2.0, 30.0])
    same(ewa(INTERIOR[:5, None], a=a, b=2), [[ewa(c, a=v, b=2) for v in a] for c in INTERIOR[:5]])
    assert ewa(GOOD, a=[1.0, 2.0]).shape == (2,) and type(ewa(GOOD, a=1)) is float


@pytest.mark.parametrize("metric", CLOSED, ids=lambda m: m.name)
@pytest.mark.parametrize("prevalence", [0.02, 0.3, 0.5, 0.9])
def test_closed_distribution_is_that_of_uniform_error_rates(metric, prevalence):
    n = 400
    u, v = np.meshgrid((np.arange(n) + 0.5) / n, (np.arange(n) + 0.5) / n)  # midpoints: P(<=) to about 1/n
    drawn = np.sort(metric.at_rates(u, v, prevalence).ravel())
    values = drawn[(np.array([0.001, 0.03, 0.2, 0.5, 0.8, 0.97, 0.999]) * n * n).astype(int)]
    same(
        metric.uniform_cdf(values, prevalence),
        np.searchsorted(drawn, values, "right") / n**2,
        rtol=0,
        atol=0.004,
    )
    low, high = max(metric.lower, -1), min(metric.upper, 1e300)
    same(metric.uniform_cdf(np.array([low, high]), prevalence), [0, 1], atol=1e-9)


@pytest.mark.parametrize("s", [1e-9, 1e-3, 0.02, 0.0499, 0.0501, 0.3, -0.02, -2.0])
def test_the_odds_ratio_near_1_to_the_last_digits(s):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        e = mpmath.exp(-abs(mpmath.mpf(s)))
        half = (1 - e * e - 2 * abs(mpmath.mpf(s)) * e) / (2 * (1 - e) ** 2)
        wanted = float(half) if s > 0 else -float(half)
    same(METRICS["diagnostic_odds_ratio"].uniform_cdf(np.exp(s), 0.3) - 0.5, wanted, atol=1e-12)


def test_no_metric_has_both_forms_and_most_have_one():
    assert not {m.name for m in FRACTIONAL} & {m.name for m in CLOSED}
    rest = METRICS.keys() - {m.name for m in FRACTIONAL} - {m.name for m in CLOSED}
    assert rest == {
        "class_balance_accuracy",
        "imbalance_accuracy",
        "p4",
        "b_roc",
        "markedness",
        "accuracy_cost_distance",
    }


@pytest.mark.parametrize("name, parameter, legal, illegal", [
    ("weighted_accuracy", "weight", [0, 0.5, 1], [-1e-3, 1.001, np.nan]),
    ("net_benefit", "threshold", [0, 0.99], [-1e-3, 1, 1.5]),
    ("cost_score", "cost_ratio", [0, 1e6], [-1e-3, np.inf]), ("f_beta", "beta", [0, 1e3], [-1e-3, np.inf]),
    ("h_measure", "a", [0.01, 50], [0.0099, 0, np.inf]), ("h_measure", "b", [0.01, 50], [0.0099, 0, np.inf])])
def test_parameters_are_legal_up_to_their_ends(name, parameter, legal, illegal):
    counts = BinaryCounts(20, 5, 4, 71)
    for value in legal:
        assert np.isfinite(METRICS[name](counts, **{parameter: value}))
    for value in illegal:
        with pytest.raises(ValueError, match=f"{parameter}: must lie in"):
            METRICS[name](counts, **{parameter: value})


@pytest.mark.parametrize("name", sorted(METRICS))
def test_bounds_are_reached(name):
    "By a table of extremes, or nearly."
    cells = (0, 1, 3, 1000)
    tables = np.array([[[a, b], [c, d]] for a in cells for b in cells for c in cells for d in cells if a + b
                       and c + d], float)
    metric, costs = METRICS[name], CostMatrix.binary(fp=1, fn=4)
    values = np.asarray(metric(tables, **({"costs": costs} if metric.needs_costs else {})), float)
    values = values[np.isfinite(values)]
    assert metric.lower - 1e-12 <= values.min() and values.max() <= metric.upper + 1e-12
    for bound, reached in ((metric.lower, values.min()), (metric.upper, values.max())):
        assert not np.isfinite(bound) or reached == pytest.approx(bound, abs=0.05)
