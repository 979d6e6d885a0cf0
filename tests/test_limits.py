"""Arguments are taken up to the ends of their range, and not beyond: the smallest and largest legal values, and their neighbours."""
import warnings

import numpy as np
import pytest

from cost_eval import bootstrap as bs
from cost_eval import comparisons as cp
from cost_eval import planning as pl
from cost_eval import cost_score as cs
from cost_eval import curves as cv
from cost_eval import decisions as de
from cost_eval import rivals
from cost_eval import metric_study as ms
from cost_eval import outperformance as op
from cost_eval import weighted_accuracy as wa

COUNTS, BILL = [[80, 10], [3, 7]], [[0, 1], [5, 0]]
JOINT = np.array([[[60, 6], [9, 5]], [[2, 4], [3, 11]]])
Y, S = np.array([0, 1, 0, 1, 1, 0]), np.array([.1, .4, .3, .8, .6, .5])
DECIDED = [S > .2, S > .35]
NAN, INF = np.nan, np.inf
OPEN = ([1e-9, 1 - 1e-9], [0, 1, -.1, 1.1, NAN])  # a share strictly between 0 and 1
SHARE = ([0, 1], [-.01, 1.01, NAN])
POSITIVE = ([1e-6, 1e6], [0, -1, INF, NAN])
NOT_NEGATIVE = ([0, 1e6], [-1e-6, INF, NAN])


def from_(least, *more):
    return [least], [least - 1, least + .5, *more]


LIMITS = {
    "interval n_resamples": (lambda v: bs.interval(COUNTS, BILL, method="percentile", n_resamples=v, rng=0), from_(100)),
    "interval laplace": (lambda v: bs.interval(COUNTS, BILL, method="bcost", laplace=v, rng=0), ([0, 3], [-1e-6, INF, NAN])),
    "interval prior": (lambda v: bs.interval(COUNTS, BILL, method="dirichlet", prior=v, rng=0), ([1e-3, 3], [0, INF, NAN])),
    "interval confidence": (lambda v: bs.interval(COUNTS, BILL, method="normal", confidence=v), OPEN),
    "difference factor": (lambda v: bs.difference(JOINT, BILL, method="normal", factor=v), ([1e-3, 9], [0, INF, NAN])),
    "metric_interval n_resamples": (lambda v: bs.metric_interval(COUNTS, "recall", n_resamples=v, rng=0), from_(100)),
    "loss_interval n_resamples": (lambda v: bs.loss_interval([1, 2, 3.5], clusters=[0, 1, 2], method="percentile", n_resamples=v, rng=0), from_(100)),
    "equivalence_test margin": (lambda v: cp.equivalence_test(JOINT, BILL, v, method="normal"), POSITIVE),
    "non_inferiority_test margin": (lambda v: cp.non_inferiority_test(JOINT, BILL, v, method="normal"), NOT_NEGATIVE),
    "non_inferiority_test confidence": (lambda v: cp.non_inferiority_test(JOINT, BILL, .1, confidence=v, method="normal"), ([.501, .999], [.5, 1, .4, NAN])),
    "simultaneous_differences n_resamples": (lambda v: cp.simultaneous_differences(Y, DECIDED, BILL, method="max-t", confidence=.4, n_resamples=v, rng=0), ([2], [0, 1.5])),
    "best_of n_resamples": (lambda v: cp.best_of(Y, DECIDED, BILL, n_resamples=v, rng=0), from_(1)),
    "probability_best n_resamples": (lambda v: cp.probability_best(Y, DECIDED, BILL, n_resamples=v, rng=0), from_(1)),
    "uncertain_cost_interval n_resamples": (lambda v: cp.uncertain_cost_interval(COUNTS, [BILL, BILL], n_resamples=v, rng=0), from_(100)),
    "uncertain_cost_difference n_resamples": (lambda v: cp.uncertain_cost_difference(JOINT, [BILL, BILL], n_resamples=v, rng=0), from_(100)),
    "required_sample_size relative_precision": (lambda v: pl.required_sample_size(COUNTS, BILL, v, method="z"), ([.01, 3], [0, INF, NAN])),
    "required_sample_size n_sets": (lambda v: pl.required_sample_size(COUNTS, BILL, .5, n_sets=v, method="normal", rng=0), from_(10)),
    "required_pairs power": (lambda v: pl.required_pairs(JOINT, BILL, saving=.5, power=v, method="normal", n_sets=20), ([.06, .99], [0, .05, 1, NAN])),
    "required_pairs saving": (lambda v: pl.required_pairs(JOINT, BILL, saving=v, method="normal", n_sets=20), ([-.5, .5], [0, 5, -5, INF, NAN])),
    "required_pairs n_sets": (lambda v: pl.required_pairs(JOINT, BILL, saving=.5, method="normal", n_sets=v), from_(10)),
    "paired_power n": (lambda v: pl.paired_power(JOINT / JOINT.sum(), BILL, v, method="normal", n_sets=10, rng=0), ([2, 40], [1, 1.9, INF, NAN])),
    "paired_power n_sets": (lambda v: pl.paired_power(JOINT / JOINT.sum(), BILL, 30, method="likelihood_ratio", n_sets=v, rng=0), from_(10)),
    "cost_score_from_rates tpr": (lambda v: cs.cost_score_from_rates(v, .2, .3, 4), SHARE),
    "cost_score_from_rates fpr": (lambda v: cs.cost_score_from_rates(.5, v, .3, 4), SHARE),
    "cost_score_from_rates prevalence": (lambda v: cs.cost_score_from_rates(.5, .2, v, 4), OPEN),
    "cost_score_from_rates cost_ratio": (lambda v: cs.cost_score_from_rates(.5, .2, .3, v), POSITIVE),
    "isocost_precision cost_score": (lambda v: cs.isocost_precision(.5, v, 2), ([0, .7], [-1e-6, INF, NAN])),
    "tune_threshold prevalence": (lambda v: cs.tune_threshold(Y, S, 2, prevalence=v), OPEN),
    "cost_weight fn_cost": (lambda v: wa.cost_weight(v, 2), POSITIVE),
    "cost_weight fp_cost": (lambda v: wa.cost_weight(2, v), POSITIVE),
    "target_weight prevalence": (lambda v: wa.target_weight(.4, v, .3), OPEN),
    "target_weight target_prevalence": (lambda v: wa.target_weight(.4, .3, v), OPEN),
    "target_weight weight": (lambda v: wa.target_weight(v, .3, .2), SHARE),
    "emblematic_models alpha": (wa.emblematic_models, OPEN),
    "weight_range_from_ranking prevalence": (lambda v: wa.weight_range_from_ranking("M+ < M-", v), OPEN),
    "rank_correlation n0": (lambda v: ms.rank_correlation([1, 2, 3], [1, 3, 2], n0=v), NOT_NEGATIVE),
    "spearman_moments n": (ms.spearman_moments, from_(3)),
    "spearman_moments n_draws": (lambda v: ms.spearman_moments(9, 2.0, v), from_(100)),
    "spearman_moments n0": (lambda v: ms.spearman_moments(4, v), NOT_NEGATIVE),
    "matched_beta weight": (lambda v: ms.matched_beta(v, 9, 0), OPEN),
    "matched_beta n": (lambda v: ms.matched_beta(.4, v, .1), from_(1)),
    "matched_beta spread": (lambda v: ms.matched_beta(.4, 9, v), ([0, .5], [-1e-6, INF, NAN])),
    "outperformance prevalence": (lambda v: op.outperformance("recall", .5, v), OPEN),
    "outperformance n_samples": (lambda v: op.outperformance("mcc", .5, .3, reference=lambda n, rng: rng.random((2, n)), n_samples=v, rng=0), from_(1)),
    "outperformance_value score": (lambda v: op.outperformance_value("recall", v, .3), SHARE),
    "sample_directed_binary_tree n_samples": (lambda v: cv.sample_directed_binary_tree(v, 2, rng=0), from_(1)),
    "sample_directed_binary_tree depth": (lambda v: cv.sample_directed_binary_tree(2, v, rng=0), from_(1)),
    "sample_tree_aucs n_curves": (lambda v: cv.sample_tree_aucs("roc", .3, v, rng=0), from_(1)),
    "sample_tree_aucs depth": (lambda v: cv.sample_tree_aucs("roc", .3, 2, depth=v, rng=0), from_(1)),
    "sample_tree_aucs prevalence": (lambda v: cv.sample_tree_aucs("pr", v, 2, rng=0), OPEN),
    "outperformance_curve_auc n_curves": (lambda v: cv.outperformance_curve_auc("roc", .6, .3, n_curves=v), from_(16)),
    "outperformance_curve_interval x": (lambda v: cv.outperformance_curve_interval("roc", Y, S, x=v, n_resamples=2, rng=0), SHARE),
    "outperformance_curve_interval n_resamples": (lambda v: cv.outperformance_curve_interval("roc", Y, S, x=.5, n_resamples=v, rng=0), from_(2)),
    "curve_auc prevalence": (lambda v: cv.curve_auc("pr", [0, .2, 1], [0, .7, 1], v), OPEN),
    "f_beta_threshold beta": (lambda v: rivals.f_beta_threshold([.2, .7], beta=v), NOT_NEGATIVE),
    "implied_costs threshold": (de.implied_costs, OPEN),
    "stratified_folds folds": (lambda v: de.stratified_folds(Y, v, rng=0), ([2, 6], [1, 7, 2.5])),
    "reliability bins": (lambda v: de.reliability(Y, S, bins=v), from_(1)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_up_to_the_ends_and_not_beyond(name):
    (call, (legal, illegal)), argument = LIMITS[name], name.split()[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in legal:
            call(value)
        for value in illegal:
            with pytest.raises(ValueError, match=f"^{argument}: "):
                call(value)


def test_a_table_of_another_library_is_refused_by_name():
    from cost_eval import api as ce

    pa = pytest.importorskip("pyarrow")
    table, costs = pa.table({"a": [.5, .2], "b": [.5, .8]}), ce.CostMatrix([[0, 1], [1, 0]], classes=["a", "b"])
    for call, name in ((lambda: ce.bayes_decisions(table, costs), "posteriors"), (lambda: ce.expected_cost(table, [[0, 1], [1, 0]]), "counts"),
                       (lambda: ce.evaluate(["a", "b"], {"m": table}, costs), "models"), (lambda: ce.losses(["a", "b"], table, costs), "decisions")):
        with pytest.raises(ValueError, match=rf"{name}.*: a Table of pyarrow; hand over a pandas or polars data frame, or an array"):
            call()
