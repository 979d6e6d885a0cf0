"""Every option of every public function matters: changing it changes the result. A loop over the signatures;
an option without a case fails."""
import dataclasses
import functools
import importlib
import inspect
import os
import pkgutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import cost_eval
from cost_eval.costs import CostMatrix, ExampleCosts

pd = pytest.importorskip("pandas")
plt = pytest.importorskip("matplotlib.pyplot")
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402


@dataclasses.dataclass
class Alternative:
    """Another value of an option; `base` are the other options in whose company it is tried, `first` the
    value it replaces there.

    It is expected to change the result; "same": to change nothing, "refused": to raise.
    """

    value: object
    base: dict
    first: object = None
    expected: str = "changed"


def given(value, *, first=None, **base):
    return Alternative(value, base, first)


def unchanged(value, **base):
    return Alternative(value, base, expected="same")


def refused(value, **base):
    return Alternative(value, base, expected="refused")


def said(function, *args, **kwargs):
    "The result, or what the error says: for functions that only check."
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        return str(error)


class Case:
    "A call, and another value for each of its options."

    def __init__(self, *args, via=None, **alternatives):
        self.args, self.via, self.alternatives = args, via or (lambda function, *args, **options: function(
            *args, **options)), alternatives


rng = np.random.default_rng(0)
N = 60
Y = rng.integers(2, size=N)
SCORES = np.round(rng.normal(size=N) + Y, 1)
D, E = (SCORES > .5).astype(int), (SCORES + rng.normal(size=N) > .4).astype(int)
WEIGHT = rng.integers(1, 4, size=N).astype(float)
Y3 = rng.integers(3, size=N)
P3 = rng.dirichlet([1, 1, 1], N) * .5 + .5 * np.eye(3)[Y3]
P3 /= P3.sum(1, keepdims=True)
P2 = np.column_stack([1 - 1 / (1 + np.exp(-SCORES)), 1 / (1 + np.exp(-SCORES))])
COUNTS = np.array([[30, 10], [3, 17]])
GAPS = np.where(np.arange(N) % 3 == 0, np.nan, Y)
ODD = Path(tempfile.mkdtemp()) / "odd.csv"  # a table for each mark between its columns
ODD.write_bytes(b"a\ty;x,b\n" + b"1\t2;0,5\n" * 20)
TABLE = ODD.with_name("table.csv")
pd.DataFrame({"y": Y, "a": SCORES, "b": D, "c": SCORES[::-1], "d": np.where(Y, "ask", "tell")}).to_csv(
    TABLE, index=False)
EXAMPLES = {"fp": np.arange(1, N + 1), "fn": np.arange(N, 0, -1) * 2}
NOTHING = np.zeros((2, 2))
COSTS = np.array([[0., 1.], [5., 0.]])
COSTS3 = np.array([[0., 1, 3], [10, 0, 1], [50, 10, 0]])
LABELLED3 = CostMatrix(COSTS3, classes=["home", "ward", "icu"])
PRIORS, PRIORS3 = [.9, .1], [.5, .3, .2]
NAMES = ["no", "yes"]
REVENUES = np.linspace(20., 110., 10)

OTHER = np.array([[25, 15], [6, 14]])
JOINT = np.array([[[85, 4], [3, 8]], [[2, 6], [5, 37]]])
MANY = [[[0, .5], [4, 0]], [[0, 1.5], [14, 0]], [[0, 1.], [5, 0]]]
GROUPS = np.arange(N) // 3
LOSSES, LOSSES_B = COSTS[Y, D], COSTS[Y, E]
X = np.column_stack([SCORES, rng.normal(size=N)])
DRAWN = {"method": "percentile", "rng": 0}
FEW = {"n_sets": 10, "n_resamples": 100, "method": "normal"}
DRAWN_FEW = {"method": "percentile", "n_sets": 10, "n_resamples": 100}
TREE = {"n_curves": 5, "rng": 0}
ONCE = {"repeats": 1, "rng": 0}


def registered(metric, *args, **options):
    "The record of a metric registered with these options."
    @metric(*args, undefined="never", source="a test", **options)
    def probe(counts, weight=.5):
        "A probe."
        return counts.tp
    record = load("metrics").METRICS.pop("probe")
    return [repr(getattr(record, f.name)) for f in dataclasses.fields(record)
            if f.name != "function"], "undefined" in inspect.signature(probe).parameters


NAMED = np.array(["no", "yes"])[Y]


def read():
    return load("samples").read_samples(Y, {"model": P2[:, 1], "other": SCORES}, COSTS)


def crossed(fits, samples, **options):
    return fits(samples(), **options).decide("model").posteriors


def called(capacity_curve, scores, costs, **options):
    return capacity_curve(Y, scores, costs, **options)


def unfitted(**options):
    from sklearn.linear_model import LogisticRegression
    return load("estimators").CostSensitiveClassifier(LogisticRegression(), COSTS, **options)


def fitted(cls, costs, **options):
    model = unfitted(**options).fit(X, Y)
    return np.append(model.predict_proba(X), model.score(X, Y))


def after_fit(fit, *args, **options):
    return fit(*args, **options).predict_proba(X)


def scored(cost_scorer, costs, **options):
    from sklearn.naive_bayes import GaussianNB
    return cost_scorer(costs, **options)(GaussianNB().fit(X, Y), X, Y)


def tabled(evaluate, *args, draws=1, **options):
    report = evaluate(*args, draws=draws, **options)
    return [frame.to_dict() for frame in (report.differences, report.ladder, report.groups, report.scenarios)]


def tabled_best(evaluate, *args, **options):
    report = evaluate(*args, **options)
    return [frame.to_dict() for frame in (report.ladder, report.differences, report.best, report.groups,
                                          report.group_differences)]


def on_dask(function, *args, **options):
    "The function on columns of a Dask frame; results that are lazy are computed."
    import dask.dataframe as dd
    columns = {}

    def named(values):
        if np.ndim(values) != 1 or len(values) != N:
            return values
        columns[f"c{len(columns)}"] = np.asarray(values)
        return list(columns)[-1]

    args = [{k: named(v) for k, v in a.items()} if isinstance(a, dict) else named(a) for a in args]
    options = {name: named(value) for name, value in options.items()}
    options["data"] = dd.from_pandas(pd.DataFrame(columns), npartitions=2)
    found = function(*args, **options)
    if hasattr(found, "ladder"):
        return [frame.to_dict() for frame in (found.ladder, found.differences, found.best, found.groups)]
    return found.compute() if hasattr(found, "compute") else found


FRAME = pd.DataFrame({"a": Y, "b": E, "c": D})


@functools.cache
def reported():
    return load("report").evaluate(Y, {"a": P2[:, 1], "b": E}, COSTS, draws=1, rng=0)


def undrawn(page, report, **options):
    "A page's text; no option is about its pictures."
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load("page"), "_picture", lambda report, panel: {})
        return str(page(report(), **options))


def load(module):
    return importlib.import_module(f"cost_eval.{module}")


CASES = {
    "confusion": {
        "confusion_counts": Case(Y, D, classes=[1, 0], decision_labels=given([1, 0, 2], classes=[0, 1])),
        "joint_counts": Case(Y, D, E, classes=[1, 0], decision_labels=given([1, 0, 2], classes=[0, 1])),
        "ConfusionCounts": Case(COUNTS),
        "JointCounts": Case(np.stack([COUNTS, COUNTS])),
        "BinaryCounts.from_labels": Case(Y, D),
        "ConfusionCounts.binary": Case(COUNTS, positive=0),
    },
    "costs": {
        "as_costs": Case(ExampleCosts(**EXAMPLES), y_true=refused([0, 1]),
                         classes=given(CostMatrix.binary(classes=NAMES)), one=refused(True)),
        "as_priors": Case(PRIORS, NAMES, sizes=refused([1, 0])),
        "attainable": Case(load("costs").ExampleCosts(fp=1, fn=[2, 5]), first=1, second=1, largest=9.,
                           heaviest=3., by_class=True),
        "CostMatrix.zero_one": Case(2, abstain=.1),
        "CostMatrix.inverse_prior": Case(PRIORS),
        "CostMatrix.binary": Case(fp=3, fn=3, tp=-1, tn=-1),
        "CostMatrix.from_ratio": Case(3),
        "CostMatrix.from_weight": Case(.3),
        "CostMatrix.from_utilities": Case(-COSTS),
        "CostMatrix.with_abstain": Case(COSTS, .3, label="ask"),
        "ExampleCosts": Case(fp=given([1, 2], first=[2, 2], fn=[3, 4]),
                             fn=given([3, 4], first=[3, 3], fp=[1, 2]), tp=given(-1, fp=[1, 2], fn=[3, 4]),
                             tn=given(-1, fp=[1, 2], fn=[3, 4]), classes=given(NAMES, fp=[1, 2], fn=[3, 4]),
                             decisions=given(NAMES, fp=[1, 2], fn=[3, 4])),
        "ExampleCosts.mean": Case(ExampleCosts(**EXAMPLES)),
        "ExampleCosts.from_array": Case(np.stack([COSTS, 2 * COSTS])),
    },
    "decisions": {
        "bayes_decisions": Case(P3, LABELLED3, priors=given([.02, .9, .08], first=PRIORS3,
        train_priors=PRIORS3),
                                train_priors=given([.02, .9, .08], first=PRIORS3, priors=PRIORS3),
                                labels=True),
        "bayes_threshold": Case(COSTS, log_odds=True),
        "best_threshold_counted": Case(lambda: load("confusion").threshold_counts(Y, SCORES), COSTS,
                                       via=lambda f, curve, costs, **options: f(curve(), costs, **options),
                                       kind="float16"),
        "stratified_folds": Case(Y3, folds=3),
        "given_folds": Case([0, 1], via=said, n=3, clusters=[7, 7]),
        "cross_entropy": Case(Y3, P3),
        "cross_calibrate": Case(Y3, P3, folds=3),
        "AffineCalibrator.fit": Case(lambda: load("decisions").AffineCalibrator(), np.log(P3), Y3,
                                     via=lambda fit, *args, **options: (
                                         fit(*args, **options).transform(np.log(P3)))),
        "AffineCalibrator.transform": Case(lambda: load("decisions").AffineCalibrator().fit(np.log(P3), Y3),
                                           np.log(P3), log=True),
        "reliability": Case(Y, P2[:, 1]),
    },
    "samples": {
        "told_by_costs": Case(ExampleCosts(fp=1, fn=9. * Y), Y, clusters=Y),
        "refuse_told": Case("fn is 0 in 30 of 30 rows", via=said, instead="say"),
        "read_samples": Case(NAMED, P2[:, 1], {"fp": 1, "fn": 5}, costs_known=given(True, positive="yes"),
                             positive=given("no", first="yes"),
                             sample_weight=given(WEIGHT, positive="yes"),
                             clusters=given(GROUPS, positive="yes"), groups=given(GROUPS, positive="yes"),
                             ids=refused(GROUPS[1:], positive="yes")),
        "labelled_rows": Case(GAPS, propensity=.5),
        "long_form": Case(np.c_[Y, D]),
        "Samples.target_priors": Case(lambda: read(), priors=.1),
        "Labelled.heaviest": Case(lambda: load("samples").labelled_rows(GAPS, propensity=.5)),
        "read_file": Case(ODD, sep=";", decimal=given(",", sep=";"), index_col=0),
        "read_table": Case(TABLE, label="b", models={"m": "a"}, taken=("a",), sep=refused(";"),
                           decimal=refused(","),
                           costs=pd.DataFrame([[0, 1], [5, 0]], [0, 1], ["ask", "tell"])),
    },
    "policies": {
        "CrossFit": Case(lambda: read(), via=crossed),
        "CrossFit.decide": Case(lambda: load("policies").CrossFit(read(), rng=0), "model",
                                posteriors=False),
        "CrossFit.levels": Case(lambda: load("policies").CrossFit(read(), folds=np.arange(N) % 7 // 3, rng=0),
                                "model", "calibrated", np.linspace(-3, 3, 200),
                                shifted=True),
        "CrossFit.queue": Case(lambda: load("policies").CrossFit(read(), rng=0), "model", rule="bayes"),
        "isotonic_steps": Case(SCORES, Y, n_units=10),
        "rule_of": Case(lambda: read(), via=lambda f, samples, **options: f(samples(), "model", **options).content,
                        rule="tuned", folds=np.arange(N) % 3, otherwise=1),
        **{f"DecisionRule.{name}": Case(lambda: load("policies").fit_rule(Y, P2[:, 1], COSTS), P2[:,
        1], costs=ExampleCosts(fp=1, fn=np.arange(N))) for name in ("decide", "columns", "explain")},
        "DecisionRule.to_json": Case(lambda: load("policies").fit_rule(Y, P2[:, 1], COSTS),
                                     path=unchanged(os.path.join(tempfile.gettempdir(), "rule.json"))),
        "fit_rule": Case(Y, P2[:, 1], COSTS, via=lambda fit, *args, **options: fit(*args, **options).content,
                         sample_weight=np.arange(N) % 3 + 1., clusters=np.arange(N) // 2,
                         costs_known=unchanged(True), folds=np.arange(N) % 3, otherwise=1),
    },
    "runner": {
        **{name: Case(lambda: load("policies").fit_rule(Y, P2[:, 1], COSTS).content, P2[:, 1],
                      via=lambda run, rule, values, **options: run(rule(), values, **options),
                      costs=ExampleCosts(fp=1, fn=np.arange(N)).array)
           for name in ("run_rule", "decided", "chosen_by", "queued")},
    },
    "metrics": {
        "micro_f_beta": Case(np.diag([1, 2, 3]) + 1, beta=unchanged(2)),  # it is the accuracy, whatever beta
        "evaluate_metrics": Case(COUNTS, costs=COSTS, names=["accuracy"]),
        "Metric.parameters": Case(lambda: load("metrics").METRICS["weighted_accuracy"],
                                  costs=given(COSTS, first=2 * COSTS + [[0, 1], [0, 0]]),
                                  given=given({"weight": .2}, costs=COSTS)),
        "metric": Case("x", "y", via=registered, bounds=(0, 2), greater_is_better=False, symmetric=True,
                       cost_parameter="weight", parts=len, uniform_cdf=len),
    },
    "weighted_accuracy": {
        "effective_weight": Case([.5, .9], .3, unit="worst"),
        "expected_weighted_accuracy_over": Case(COUNTS, lambda w: 1., support=(.2, .4)),
        "hand_h_measure": Case(Y, SCORES, a=3., b=3.),
        "check_coherence": Case(load("costs").ExampleCosts(fp=1, fn=[2., .5, 3.], tp=1), via=said, of="mean"),
        "churn_costs": Case([40., 90.], 5., p_eff=.5),
        "weight_range_from_ranking": Case("M+ < M-; Mbad < M-", .2, alpha=.3,
                                          models={"M+": (1, .1), "M-": (.1, 1), "Mbad": (.5, .6)}),
    },
    "metric_study": {
        "rank_correlation": Case(SCORES[:9], WEIGHT[:9], n0=1.),
        "spearman_moments": Case(9, n0=5., n_draws=200),
        "standardize_spearman": Case(.3, load("metric_study").spearman_moments(6), slip=True),
        "correlation_samples": Case(REVENUES, .4, .7, metrics="mcc", n_samples=3, weighted="worst", skill=2.,
                                    population=9 * REVENUES),
        "cost_correlation": Case(REVENUES, .4, .7, metrics="mcc", n_samples=3, weighted="worst", skill=2.,
                                 population=9 * REVENUES),
        "study_ranks": Case(REVENUES, .4, .7, "mcc", skill=2., population=9 * REVENUES),
        "plot_correlation_map": Case(lambda: load("metric_study").cost_correlation(REVENUES, [.2, .5], .5,
        metrics="mcc", n_samples=2), "mcc",
                                     via=lambda plot, table, *args, **options: plot(table(), *args,
        **options)),
        "plot_mean_correlations": Case(pd.DataFrame({"flips": [.1, .9], "skill": [.8, .2]},
                                                    index=["a", "b"])),
    },
    "rivals": {
        "f_beta_threshold": Case(P2[:, 1]),
        "plot_expected_cost": Case(fp_cost=2., fn_cost=2., prevalence=.4, separation=1., threshold=1.),
    },
    "scores": {
        "auc_interval": Case(Y, SCORES),
        "equal_error_rate": Case(Y, SCORES, method="hull"),
        "soft_expected_cost": Case(P2[:, 1], Y, COSTS, .3, 5.),
        "soft_expected_cost_gradient": Case(P2[:, 1], Y, COSTS, .3, 5.),
        "plot_cost_curve": Case(Y, SCORES, cost_ratios=(1, 9)),
    },
    "expected_cost": {
        "loan_costs": Case(standard=.2, high=.3, acceptance=.6, recovered=.5),
        "plot_cost_lines": Case(COSTS, systems={"a": COUNTS}, up_to=.5),
        "plot_simplex_decisions": Case(COSTS3),
        "plot_loan": Case(acceptance=.6, recovered=.5, defaulters=.3),
    },
    "bootstrap": {
        "interval": Case(COUNTS, COSTS, method="normal", normalized=True, laplace=given(2., method="bcost")),
        "difference": Case(JOINT, COSTS, factor=1.5,
                           laplace=given(2., method="bdelta_cost")),
        "independent_difference": Case(COUNTS, OTHER, COSTS, laplace=refused(2.)),
        "bcost": Case(COUNTS, COSTS, laplace=2.),
        "bdelta_cost": Case(JOINT, COSTS, laplace=2.),
        "bootstrap_coverage": Case([.85, .1, .05], [0, 1, 10], n=200, laplace=.5, n_sets=50,
                                   method=given("inversion", n_sets=50), rng=1),
        "loss_interval": Case(LOSSES, strata=given(GROUPS % 2, bounds=(-10, 10)),
                              shares=given({0: .9, 1: .1}, strata=GROUPS % 2, bounds=(-10, 10)),
                              sample_weight=given(WEIGHT, **DRAWN), clusters=given(GROUPS, **DRAWN),
                              bounds=(-10, 10), heaviest=5.),
        "loss_difference": Case(LOSSES, LOSSES_B, strata=given(GROUPS % 2, bounds=(-10, 10)),
                                shares=given({0: .9, 1: .1}, strata=GROUPS % 2, bounds=(-10, 10)),
                                sample_weight=given(WEIGHT, **DRAWN), clusters=given(GROUPS, **DRAWN),
                                bounds=(-10, 10), heaviest=5.),
        "metric_interval": Case(COUNTS, "normalized_expected_cost", costs=given(2 * COSTS + [[0, 0], [1, 0]],
        first=COSTS), priors=given(PRIORS, costs=COSTS),
                                confidence=given(.8, costs=COSTS),
                                n_resamples=given(100, costs=COSTS, method="percentile"),
                                rng=given(1, first=0, costs=COSTS, method="percentile"),
                                method=given("percentile", costs=COSTS)),
    },
    "comparisons": {
        "certify": Case(COUNTS, {"recall": .6}),
    },
    "planning": {
        "required_pairs": Case(JOINT / JOINT.sum(), COSTS, saving=given(.6, first=.4, method="normal",
        n_sets=200),
                               power=given(.9, saving=.4, method="normal", n_sets=200),
                               confidence=given(.8, saving=.4, method="normal", n_sets=200),
                               method=given("normal", saving=.4, n_sets=20),
                               n_sets=given(51, saving=.4, method="normal"),
                               n_resamples=given(300, saving=.4, method="percentile", n_sets=30),
                               rng=given(1, saving=.4, method="normal", n_sets=20),
                               laplace=given(5., saving=.4, method="bdelta_cost", n_sets=20,
                                             n_resamples=100)),
        "confidence_sequence": Case(E * 1., bounds=given((0, 2), first=(0, 1)),
                                    costs=given([[0, 5], [3, 0]], first=[[0, 1], [2, 0]]),
                                    clusters=given(np.arange(N) // 2, first=np.arange(N), bounds=(0, 1),
                                                   largest_cluster=2),
                                    largest_cluster=given(9, first=2, bounds=(0, 1),
        clusters=np.arange(N) // 2), confidence=given(.8, bounds=(0, 1))),
        "check_rule": Case(via=lambda check, heavy=None, **options: check(
            load("policies").fit_rule(Y, P2[:, 1], COSTS), Y, P2[:, 1], **{"sample_weight": heavy} | options).table,
                           costs=given(ExampleCosts(fp=1, fn=np.arange(N)), max_cost=1.),
                           sample_weight=given(WEIGHT, max_cost=1.),
                           clusters=given(np.arange(N) // 2, max_cost=1.),
                           largest=given(999., costs=ExampleCosts(fp=1, fn=np.arange(N)), max_cost=1.),
                           max_cost=given(2., first=1.), min_rates=given({"recall": .5}, max_cost=1.),
                           confidence=given(.8, max_cost=1.),
                           heaviest=given(50., max_cost=1., heavy=WEIGHT)),
        "ConfidenceSequence.first_outside": Case(via=lambda f, *_, **options: f(
            load("planning").confidence_sequence(E * 1., bounds=(0, 1)), **options),
                                                 value=given(1., first=0.)),
        "difference_sequence": Case(E * 1., D * 1., bounds=given((-2, 2), first=(-1, 1)),
                                    costs=given([[0, 5], [3, 0]], first=[[0, 1], [2, 0]]),
                                    clusters=given(np.arange(N) // 2, first=np.arange(N), bounds=(-1, 1),
                                                   largest_cluster=2),
                                    largest_cluster=given(9, first=2, bounds=(-1, 1),
        clusters=np.arange(N) // 2), confidence=given(.8, bounds=(-1, 1))),
        "cost_alarm": Case(E * 1., bounds=given((0, 2), first=(0, 1), limit=.4),
                           costs=given([[0, 5], [3, 0]], first=[[0, 1], [2, 0]], limit=.4),
                           limit=given(.5, first=.4, bounds=(0, 1)),
                           false_alarms=given(.1, bounds=(0, 1), limit=.4)),
        "paired_power": Case(JOINT / JOINT.sum(), COSTS, 50, saving=given(.3, n_sets=50),
                             method=given("percentile", n_sets=50, n_resamples=100),
                             n_sets=given(51, first=50, method="percentile", n_resamples=100),
                             n_resamples=given(300, first=100, method="percentile", n_sets=300),
                             rng=given(3, method="percentile", n_sets=333, n_resamples=100),
                             laplace=given(5., method="bdelta_cost", n_sets=50, n_resamples=100)),
    },
    "training": {
        "corrected_interval": Case([1., 2, 4, 3], .25),
        "resampled_coverage": Case([5, 50], .25, .1),
        "training_variation": Case({"a": GaussianNB(), "b": LinearSVC(),
                                    "t": DecisionTreeClassifier(max_depth=3)}, X, Y, COSTS,
                                    cv=given(3, **ONCE),
                                   repeats=given(2, **ONCE), rule=given("tuned", **ONCE),
                                   priors=given(PRIORS, **ONCE), positive=refused(2, **ONCE),
                                   groups=given(GROUPS, **ONCE),
                                   confidence=given(.8, **ONCE), rng=given(1, first=0, repeats=1),
                                   n_jobs=unchanged(2, **ONCE)),
    },
    "scale": {
        "confusion_counts": Case(Y, D, via=on_dask, classes=given([1, 0]), decision_labels=given([0, 1, 2],
        classes=[0, 1]), groups=GROUPS % 2),
        "joint_counts": Case(Y, D, E, via=on_dask, classes=given([1, 0]), decision_labels=given([0, 1, 2],
        classes=[0, 1])),
        "threshold_counts": Case(Y, SCORES, via=on_dask),
        "losses": Case(Y, D, COSTS, via=on_dask),
        "evaluate": Case(Y, {"m": D}, COSTS, via=on_dask, rows=40, rng=given(1, rows=40)),
    },
    "outperformance": {
        "plot_unit_square": Case("f_beta", .6, .1),
        "outperformance": Case("mcc", .4, .2, reference="better than chance"),
        "outperformance_value": Case("mcc", .4, .2, reference="better than chance"),
        "naive_outperformance": Case("f_beta", .2, reference="better than chance"),
        "outperformance_interval": Case("mcc", COUNTS, prevalence=.1, reference="better than chance"),
    },
    "curves": {
        "PerformanceCurve.auc": Case(lambda: load("curves").performance_curve(Y, SCORES, "pr"), rule="step"),
        "performance_curve": Case(Y, SCORES, kind="pr"),
        "curve_auc": Case("pr", [0, .2, 1], [0, .8, 1], .3, rule="step"),
        "sample_directed_binary_tree": Case(5, 3),
        "sample_tree_aucs": Case(["pr"], .3, 5, depth=3, rule="step"),
        "outperformance_curve_auc": Case("pr", .6, .3, n_curves=given(1024), return_error=True),
        "outperformance_curve": Case(load("curves").performance_curve(Y, SCORES), x=[.1, .3]),
        "plot_tree_curves": Case(curve=given("pr", **TREE), prevalence=given(.1, curve="pr", **TREE),
                                 n_curves=6, depth=given(3, **TREE), boxes=given(3, **TREE),
                                 rng=given(1, first=0, n_curves=5)),
    },
    "capacity": {
        "capacity_curve": Case(P2[:, 1], COSTS, via=called, costs_known=unchanged(True),
                               rule="bayes", points=3),
    },
    "hand_over": {
        "risk_coverage": Case(Y, P2, scores=SCORES, thresholds=[.6, .8]),
        "certified_threshold": Case(Y, P2, risk=given(.4, first=.5), confidence=given(.8, risk=.5),
                                    scores=given(SCORES, risk=.5), thresholds=given([.6, .8], risk=.5),
                                    priors=given(PRIORS, risk=.5)),
    },
    "missing_labels": {
        "bounds_without_labels": Case(GAPS, D, COSTS),
        "prediction_powered": Case(GAPS, D, COSTS, P2[:, 1], strength=.1),
    },
    "estimators": {
        "cost_scorer": Case(COSTS, via=scored, costs_known=unchanged(True),
                            priors=given(PRIORS, first=[.6, .4]),
                            decisions=given("predict")),
        "CostSensitiveClassifier": Case(COSTS, via=fitted, calibration=None, cv=3),
        "CostSensitiveClassifier.fit": Case(lambda: unfitted(), X, Y, via=after_fit),
        "CostSensitiveClassifier.predict": Case(lambda: unfitted().fit(X, Y), X,
                                                costs=ExampleCosts(**EXAMPLES)),
        "CostSensitiveClassifier.score": Case(lambda: unfitted().fit(X, Y), X, Y,
                                              costs=ExampleCosts(**EXAMPLES)),
    },
    "page": {
       "draw_panel": Case(lambda: reported(), "differences", via=lambda draw, report, *args, **options: draw(report(),
        *args, **options)),
       "panel_image": Case(lambda: reported(), "ladder", via=lambda image, report, *args, **options:
                           image(report(), *args, **options)[:4]),
       "robustness_map": Case(lambda: reported(), cost_ratios=[1., 5.], prevalences=[.1, .3],
                              via=lambda draw, report, **options: draw(report(), **options).to_frame()),
       "answers": Case(lambda: reported(), say=lambda note: "a doubt.", via=undrawn),
       "grave_first": Case(["a note"], say=str.upper)},
    "report": {
        "evaluate": Case(Y, {"a": P2[:, 1], "b": SCORES, "c": E}, COSTS, via=tabled, rng=1,
                         costs_known=unchanged(True),
                         propensity=WEIGHT / 4, groups=GROUPS % 2, folds=3, ids=refused(GROUPS[1:]),
                         heaviest=given(50., clusters=GROUPS), largest=refused(9.), method="betting",
                         scenarios={"risk": {"fp": 1, "fn": 40}}),
        "Report.robustness": Case(lambda: reported(), cost_ratios=[1., 5.], prevalences=[.1, .3]),
        "Report.with_costs": Case(lambda: reported(), [[0, 1], [7, 0]], via=tabled_best),
        "Report.breakdown": Case(lambda: reported(), model=given("b", first="a")),
        "Report.decision_rule": Case(lambda: reported(), name=given("b", first="a"), otherwise=1,
                                     via=lambda rule, report, **options: rule(report, **options).content),
        "Report.to_markdown": Case(lambda: reported(), path=unchanged(os.path.join(tempfile.gettempdir(),
        "report.md"))),
    },
    "cost_score": {
        "plot_isocost": Case(8., y_true=given(1 - Y, scores=SCORES, first=Y),
                             scores=given(-SCORES, y_true=Y, first=SCORES)),
        "tune_threshold": Case(Y, SCORES, 8., prevalence=.05),
        "paired_saving": Case(Y, D, E, 8., prevalence=.05, confidence=.5),
        "held_out_saving": Case(Y, SCORES, 1., 0., 8., prevalence=.05, confidence=.5),
        "multiclass_cost_score": Case(COSTS3 + 1, 4., average="micro"),
        "multilabel_cost_score": Case(np.stack([COUNTS, COUNTS.T]), 4., average="micro"),
    },
}
ALTERNATIVES = {  # of an option that a case says nothing about
    "confidence": .8, "priors": PRIORS, "sample_weight": WEIGHT, "clusters": GROUPS, "groups": GROUPS,
    "rng": 1, "data": FRAME,
    "average": "harmonic", "n_jobs": unchanged(2), "n_resamples": 100,
    "positive": refused(0),
    "classes": NAMES, "decisions": ["stay", "go"], "log": refused(True), "method": "normal", "folds": 2,
    "rule": "tuned", "bins": 4,
    "versus": E, "capacity": 5, "require": {"workload": .1}, "beta": 2, "a": 5, "b": 5, "draws": 3,
}
KNOWN = {  # of a function without a case, by name
    "y_true": Y, "decisions": D, "decisions_a": D, "decisions_b": E, "scores": SCORES, "counts": COUNTS,
    "costs": COSTS, "joint": JOINT, "losses": LOSSES, "losses_a": LOSSES, "losses_b": LOSSES_B,
    "counts_a": COUNTS, "counts_b": OTHER,
}
EXEMPT = {
    **{f"comparisons.{name}": "evaluate, tried here, is made of it" for name in (
        "Losses.asks", "Losses.at", "Losses.attainable", "Losses.cost", "Losses.gap", "Losses.parts",
        "Losses.take", "ask", "best_policy", "Losses.of", "Losses.known")},
    "datasets": "test_datasets.py drives them against a server",
    "reproduce": "test_reproduce.py drives them through the command",
    "plotting": "they draw; their callers are tried here",
    "api": "names of other modules",
    "report.Report.to_html": "test_report.py reads what it writes",
    "report.Report.metrics": "that of page.flat_metrics",
    "mean_law": "test_engine_grid.py holds it to a second evaluator",
    "bootstrap.sample_interval": "interval and loss_interval, tried here, are made of it",
    "bootstrap.sample_difference": "difference and loss_difference, tried here, are made of it",
}
FREE = {"axes", "style", "progress"}  # whether to report, and where several axes are


def modules():
    found = [m.name for m in pkgutil.iter_modules(cost_eval.__path__) if m.name[0] != "_" and not m.ispkg]
    return [name for name in found if name not in {"core", *EXEMPT}]


def options(function):
    "Names of parameters with a default, and of the options that `**options` hands to a method."
    found = inspect.signature(function).parameters.values()
    return [p.name for p in found if p.default is not inspect.Parameter.empty and p.name not in FREE]


def public_functions(module):
    "(name, function) of the functions, classes and methods that a module exports."
    for name in load(module).__all__:
        thing = getattr(load(module), name)
        if getattr(thing, "__module__",
                   None) != f"cost_eval.{module}" or not callable(thing) or name.startswith("explore_"):
            continue
        record = inspect.isclass(thing) and (issubclass(thing, (tuple, Exception))
                                             or hasattr(thing, "__dataclass_fields__"))
        if not record:
            yield name, thing
        if inspect.isclass(thing):
            yield from ((f"{name}.{member}", getattr(thing, member)) for member, raw in vars(thing).items()
                        if member[0] != "_" and inspect.isfunction(getattr(raw, "__func__", raw))
                        and member not in ("plot", "get_params"))


def every_option():
    for module in modules():
        try:
            functions = list(public_functions(module))
        except Exception:  # a module that does not import fails elsewhere
            continue
        for name, function in functions:
            # also those that reach the function as **options
            more = CASES.get(module, {}).get(name, Case()).alternatives
            if f"{module}.{name}" not in EXEMPT:
                yield from ((module, name, option) for option in dict.fromkeys([*options(function), *more]))


def call(module, name, function, case, kwargs):
    """The function; a method is called on what its class makes of the first argument, or on what that makes
    if it is a function."""
    owner, _, member = name.partition(".")
    args = case.args
    if member and args and inspect.isfunction(args[0]):
        args = [args[0](), *args[1:]]
    if member and not inspect.ismethod(function) and args and not isinstance(args[0],
            getattr(load(module), owner)):
        args = [getattr(load(module), owner)(args[0]), *args[1:]]
    return case.via(function, *args, **kwargs)


def outcome(value):
    "A result as plain values that can be compared."
    if isinstance(value, np.ndarray):
        return [str(value.dtype.kind), value.shape, [outcome(v) for v in value.ravel().tolist()]
                if value.dtype.kind == "O" else value.tobytes()]
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return outcome(value.to_dict())
    if isinstance(value, dict):
        return [(repr(k), outcome(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(outcome, value)]
    if hasattr(value, "get_lines"):
        return drawn(value)
    if dataclasses.is_dataclass(value):
        return [(f.name, outcome(getattr(value, f.name))) for f in dataclasses.fields(value)]
    if hasattr(value, "array") and hasattr(value, "classes"):
        return [outcome(value.array), repr(value.classes), repr(value.decisions)]
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    if hasattr(value, "__dict__") and not callable(value):
        return [type(value).__name__, outcome(vars(value))]
    return repr(value)


def drawn(ax):
    "What stands in a figure."
    texts = [t.get_text() for t in ax.texts] + [ax.get_title(), ax.get_xlabel(), ax.get_ylabel()]
    legend = ax.get_legend()
    texts += [t.get_text() for t in legend.get_texts()] if legend else []
    texts += [t.get_text() for t in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    shapes = [outcome(np.asarray(patch.get_extents().extents)) for patch in ax.patches]
    shapes += [outcome(np.asarray(line.get_xydata(), float)) for line in ax.get_lines()]
    shapes += [outcome(np.asarray(c.get_offsets(), float)) for c in ax.collections] + [
        outcome(np.asarray(p.vertices)) for c in ax.collections for p in c.get_paths()]
    shapes += [outcome(np.asarray(c.get_array(), float)) for c in ax.collections if c.get_array() is not None]
    return [texts, shapes, [outcome(np.asarray(i.get_array(), float)) for i in ax.images], ax.get_xlim(),
            ax.get_ylim()]


BEFORE = {}  # what the calls that several options start from give


def effect(function, name, module, case, option, alternative):
    "What the option does: changed, same or refused."
    base = ({"rng": 0} if "rng" in inspect.signature(function).parameters else {}) | alternative.base
    first = {} if alternative.first is None else {option: alternative.first}
    with np.errstate(all="ignore"):
        key = module, name, repr(base | first)
        before = BEFORE[key] if key in BEFORE else BEFORE.setdefault(key,
                outcome(call(module, name, function, case, {**base, **first})))
        try:
            after = outcome(call(module, name, function, case, {**base, option: alternative.value}))
        except (TypeError, ValueError):
            if alternative.expected != "refused":
                raise
            return "refused"
    return "same" if before == after else "changed"


@pytest.mark.parametrize("module, name, option", [pytest.param(*each,
        marks=pytest.mark.xdist_group(".".join(each[:2]))) for each in every_option()])
def test_the_option_matters(module, name, option):
    function = dict(public_functions(module))[name]
    if option == "undefined":
        return undefined_matters(function)
    if option == "ax":
        return drawn_where_it_is_told(module, name, function)
    parameters = inspect.signature(function).parameters
    case = CASES.get(module, {}).get(name) or Case(*(KNOWN[p.name] for p in parameters.values() if p.default
                                                     is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD))
    alternative = case.alternatives.get(option, ALTERNATIVES.get(option))
    assert (alternative is not None
            or option in case.alternatives), f"{module}.{name}: add another value of {option} to CASES"
    if option not in case.alternatives and option in ("rng", "n_resamples") and "method" in parameters:
        alternative = given(alternative, **DRAWN)  # of a method that draws
    if not isinstance(alternative, Alternative):
        alternative = given(alternative)
    assert effect(function, name, module, case, option, alternative) == alternative.expected


def drawn_where_it_is_told(module, name, function):
    ax, parameters = plt.figure().subplots(), inspect.signature(function).parameters
    case = CASES.get(module, {}).get(name) or Case(*(KNOWN[p.name] for p in parameters.values()
                                                     if p.default is p.empty))
    assert call(module, name, function, case, {"ax": ax} | ({"rng": 0} if "rng" in parameters else {})) is ax


ARGUMENTS = {"costs": COSTS, "weight": .3, "cost_ratio": 2., "threshold": .2, "counts": NOTHING,
             "metric": "precision"}


def undefined_matters(function):
    "Counts of nothing have no value, but the one asked for."
    parameters = inspect.signature(function).parameters.values()
    args = [ARGUMENTS[p.name] for p in parameters if p.default is inspect.Parameter.empty
            and p.kind is p.POSITIONAL_OR_KEYWORD]
    # classifiers that call nothing positive have no precision
    if "metric" in inspect.signature(function).parameters:
        args[1] = np.array([[6, 0], [4, 0]]) if "ties" in inspect.signature(
            function).parameters else np.stack([np.array([[6, 0], [4, 0]])] * 2)
    assert outcome(function(*args)) != outcome(function(*args, undefined=.7))


@pytest.mark.parametrize("module", [module for module in CASES if module in modules()])
def test_every_case_is_of_an_option(module):
    functions = dict(public_functions(module))
    for name, case in CASES[module].items():
        parameters = inspect.signature(functions[name]).parameters
        assert "options" in parameters or case.alternatives.keys() <= parameters.keys(), name


def test_the_test_sees_an_option_that_does_nothing():
    def deaf(counts, *, priors=None):
        return counts.sum()
    assert effect(deaf, "deaf", "", Case(COUNTS), "priors", given(PRIORS)) == "same"
    assert effect(lambda counts, scale=1: scale * counts, "f", "", Case(COUNTS), "scale",
                  given(2)) == "changed"
