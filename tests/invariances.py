"""One small problem, the arguments that any public function takes from it, and what may be done to it without
changing an answer.

A property changes the problem (`Case`) or the containers of the arguments. It is meaningful for a function if
it changes one of the arguments that the
function gets, and nobody lists functions: `subjects()` finds them in `cost_eval.api`, METRICS, METHODS and
`cost_eval.scale`; arguments are made by
name. `python tests/invariances.py` prints the table functions x properties.
"""
import copy
import dataclasses
import functools
import importlib
import inspect
import itertools
import pickle
import sys
import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd

import cost_eval.api as ce
from cost_eval.core import LabelledTable, Result
from cost_eval.policies import DecisionRule
from cost_eval.samples import read_samples

N = 41  # of rows; no other axis is as long
WARDS = ("home", "ward", "icu")


# ---- the problem

def _rows(K, M):
    """Labels, two models' decisions, posteriors, scores, weights, clusters, groups and features; all floats
    are short binary fractions."""
    rng = np.random.default_rng(K)
    y = np.concatenate([np.arange(K), rng.choice(K, N - K, p=[.6, .4] if K == 2 else [.5, .3, .2])])
    d = np.stack([np.where(rng.random(N) < right, y, rng.integers(0, M, N)) for right in (.7, .5)])
    z = rng.integers(-64, 64, N) / 64
    s = z[np.argsort(np.argsort(z))] + y + np.arange(N) / 1024
    p = np.round(64 * (.5 * rng.dirichlet(np.ones(K), N) + .5 * (.5 * np.eye(K)[y] + .5 / K)))
    p = np.clip(p, 1, 62)
    p[:, 0] += 64 - p.sum(1)
    return {"y": y, "d": d, "s": s, "p": p / 64, "w": rng.integers(1, 4, N) / 1.,
            "cl": rng.integers(0, 17, N), "g": rng.integers(0, 2, N),
            "x": np.column_stack([s, rng.integers(-64, 64, N) / 64])}


@dataclasses.dataclass(frozen=True)
class Case:
    """The problem as a function sees it: what was drawn, what is called how and stands in which order, and in
    what unit."""

    K: int = 2
    M: int = 2
    given: tuple = ()  # optional arguments that are given, too
    names: tuple = ()  # of the decisions, those of the classes first; () is 0, 1 or the wards
    rows: np.ndarray = None
    weights: np.ndarray = None
    clusters: np.ndarray = None
    classes: tuple = ()  # codes in the order in which they are listed; () is 0, 1, ...
    decisions: tuple = ()
    listed: str = "both"  # "costs": only the costs list them so
    unit: float = 1.
    turned: bool = False  # models in the other order
    stretch: object = None  # a rising function of the scores
    own: bool = False  # each row has its own costs, all the same but those of rows of weight 0
    fixed: bool = False  # models hand over decisions, and nothing is fitted
    bare: bool = False  # arrays without labels
    index: bool = False  # labels carry the places of the rows as their index
    table: object = None  # which of the tables of a stack, or several

    def __getattr__(self, name):
        if name not in ("y", "s", "p", "w", "cl", "g", "x", "d"):
            raise AttributeError(name)
        array = drawn(self.K, self.M)[name]
        rows = slice(None) if self.rows is None else self.rows
        return array[:, rows] if name == "d" else array[rows]

    def but(self, **changes):
        return dataclasses.replace(self, **changes)

    @property
    def labels(self):
        return tuple(range(self.M)) if self.bare else self.names or ((0, 1) if self.K == 2
                else WARDS) + (("wait",) if self.M > self.K else ())

    def order(self, of, who="costs"):
        K, given = (self.K, self.classes) if of == "classes" else (self.M, self.decisions)
        return list(given) if given and (who == "costs" or self.listed == "both") else list(range(K))

    def called(self, codes):
        return np.array(self.labels, object if isinstance(self.labels[0], str) else None)[codes]

    def words(self, who="costs"):
        "classes= and decisions= of a table."
        return {of: [self.labels[k] for k in self.order(of, who)] for of in ("classes", "decisions")}

    def turn(self, table, who="costs", axes=1):
        "A table with its classes and decisions in the order in which they are listed."
        table = np.asarray(table)
        for axis in range(-1 - axes, 0):
            table = np.take(table, self.order("classes" if axis == -1 - axes else "decisions", who), axis)
        return table

    def money(self, *amounts):
        return tuple(self.unit * a for a in amounts)


drawn = functools.cache(_rows)
BILL = {(2, 2): [[0, 1], [5, 0]], (3, 3): [[0, 1, 3], [10, 0, 1], [50, 10, 0]],
        (3, 4): [[0, 1, 3, .5], [10, 0, 1, .5], [50, 10, 0, .5]]}
CASES = {"2": Case(), "3": Case(K=3, M=3), "wait": Case(K=3, M=4)}
TAGS = {  # what takes long is tried on two cases, or on one
    **dict.fromkeys(["evaluate", "scale.evaluate"], ("2", "wait all")),
    **dict.fromkeys(["difference", "independent_difference"], ("2", "wait")),
    **dict.fromkeys(["required_pairs", "training_variation"], ("3",)),
}
EVERYTHING = ("priors", "sample_weight", "clusters", "groups")


# ---- arguments by name

def costs(case):
    table = case.unit * case.turn(BILL[case.K, case.M])
    if case.own:
        each = np.ones(len(case.y)) if case.weights is None else np.where(case.weights > 0, 1, 1000)
        return ce.ExampleCosts.from_array(table * each[:, None, None], **({} if case.bare else case.words()))
    return table if case.bare else ce.CostMatrix(table, **case.words())


def tables(case, joint=False):
    """A stack of confusion matrices: of the rows, and ordinary hard ones (the costliest error unseen, much
    mass just inside)."""
    K, M = case.K, case.M
    seen = np.zeros((K, M, M) if joint else (K, M), int)
    y, (a, b) = drawn(K, M)["y"], drawn(K, M)["d"]
    np.add.at(seen, (y, a, b) if joint else (y, a), 1)
    rng = np.random.default_rng(5)
    more = [rng.integers(0, 40, seen.shape) for _ in range(3)]
    if joint and K == 2:
        more += [[[[1379, 0], [45, 72]], [[94, 5], [0, 405]]], [[[1365, 0], [51, 57]], [[97, 9], [0, 421]]],
                 [[[57, 51], [0, 1365]], [[421, 0], [9, 97]]]]
    elif not joint and K == 2:
        more += [[[45, 1950], [0, 5]], [[960, 40], [0, 7]], [[1950, 45], [0, 5]]]
    return np.stack([seen, *more])[list(case.table) if isinstance(case.table, tuple) else 0
                                   if case.table is None else case.table]


def counts(case):
    if case.bare:
        return tables(case)
    return ce.ConfusionCounts(case.turn(tables(case), "counts"), **case.words("counts"))


def joint(case):
    return tables(case, True) if case.bare else ce.JointCounts(case.turn(tables(case, True), "counts",
            axes=2), **case.words("counts"))


def label_counts(case):
    "A matrix for each of two labels."
    return np.stack([tables(case), tables(case) + 3], -3)


def priors(case):
    share = np.array([.75, .25] if case.K == 2 else [.5, .375, .125])
    if case.bare or case.K == 2 and not case.names:
        return share[case.order("classes")]
    return {case.labels[k]: float(share[k]) for k in case.order("classes")}


def y_true(case):
    return pd.Series(case.called(case.y), case.rows) if case.index else case.called(case.y)


def posteriors(case):
    p = case.p[:, case.order("classes")]
    return p if case.bare or not isinstance(case.labels[0], str) else pd.DataFrame(p,
            columns=case.words()["classes"])


def scores(case):
    return case.s if case.stretch is None else case.stretch(case.s)


def model(case):
    if case.K == 2:
        return ce.Scores(scores(case))
    return case.p[:, case.order("classes")] if case.bare else ce.Posteriors(case.p[:, case.order("classes")],
            classes=case.words()["classes"])


def spread(case):
    "Posteriors of all classes, named."
    p = case.p[:, case.order("classes")]
    return p if case.bare else ce.Posteriors(p, classes=case.words()["classes"])


def models(case):
    if case.fixed:
        return judged(case)
    both = {"a": model(case), "b": ce.Decisions(case.called(case.d[0]))}
    return dict(reversed(both.items())) if case.turned else both


def judged(case):
    both = {"a": case.called(case.d[0]), "b": case.called(case.d[1])}
    return dict(reversed(both.items())) if case.turned else both


def estimators(case):
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    both = {"a": LogisticRegression(), "b": GaussianNB()}
    return dict(reversed(both.items())) if case.turned else both


def losses(case, k=0):
    return case.unit * np.asarray(BILL[case.K, case.M], float)[case.y, case.d[k]]


def gaps(case):
    "Labels, every third of which is missing."
    return np.where(np.isin(case.s, drawn(case.K, case.M)["s"][::3]), None,
                    case.called(case.y).astype(object))


def at(k):
    "A threshold that is a score."
    return lambda case: float(np.sort(scores(case.but(rows=None)))[k * N // 10])


def always(value):
    return lambda case: value


def binary(case):
    "P(class 1), for what takes two classes only."
    if case.K > 2:
        raise ValueError("two classes")
    return case.p[:, 1]


MAKERS = {
    "y_true": lambda case: y_true(case), "y": lambda case: case.called(case.y), "X": lambda case: case.x,
    "decisions": lambda case: case.called(case.d[0]), "decisions_a": lambda case: case.called(case.d[0]),
    "decisions_b": lambda case: case.called(case.d[1]),
    "scores": scores, "posteriors": posteriors, "model": model, "models": models, "estimators": estimators,
    "estimator": lambda case: estimators(case)["a"],
    "costs": costs, "counts": counts, "counts_a": counts,
    "counts_b": lambda case: counts(case.but(table=1 if case.table is None else case.table)),
    "joint": joint, "losses": losses, "losses_a": losses, "losses_b": lambda case: losses(case, 1),
    "priors": priors, "train_priors": lambda case: np.full(case.K, 1 / case.K),
    "sample_weight": lambda case: case.w if case.weights is None else case.weights,
    "clusters": lambda case: case.cl if case.clusters is None else case.clusters,
    "largest_cluster": lambda case: None if "clusters" not in case.given else 1,
    "groups": lambda case: np.array(["north", "south"])[case.g], "strata": lambda case: case.g,
    "ids": lambda case: None,
    "bounds": lambda case: case.money(*((-5, 5) if case.K == 2 else (-50, 50))), "margin": lambda case: .5
    * case.unit, "saving": lambda case: .25 * case.unit,
    "fn_cost": lambda case: 5 * case.unit, "fp_cost": lambda case: 2 * case.unit,
    "metric": always("f_beta"), "value": always(.75), "score": always(.5), "prevalence": always(.25),
    "target_prevalence": always(.125), "weight": always(.25),
    "cost_ratio": always(4.), "cost_ratios": always(4.), "threshold": always(.25), "slope": always(8.),
    "precision": always(.75), "recall": always(.5), "f1": always(.5),
    "tpr": always(.75), "fpr": always(.25), "cost_score": always(1.), "curve": always("pr"),
    "auc": always(.5), "x": always(.5),
    "threshold_a": at(3), "threshold_b": at(6), "samples": lambda case: read_samples(y_true(case),
        models(case), costs(case)),
    "ranking": always("M+ < M-"), "n_labels": always(9), "prevalences": always([.25]),
    "weights": always([.25, .75]), "depth": always(3),
    "name": always("a"), "rng": always(0), "n_resamples": always(200), "n_sets": always(10),
    "n_samples": always(50), "n_curves": always(64), "folds": always(3),
    "cv": always(2), "repeats": always(2), "points": always(3), "progress": always(False),
    "undefined": always(0.),
}
# given wherever a function has them
QUICK = ("rng", "n_resamples", "n_sets", "n_samples", "n_curves", "folds", "cv", "repeats", "points",
         "largest_cluster")
OWN = {  # function.parameter: where a name means something else
    **{f"{name}.posteriors": binary for name in ("f_beta_threshold", "reliability", "soft_expected_cost")},
    "multilabel_cost_score.counts": label_counts,
    **{f"{name}.y_true": gaps for name in ("bounds_without_labels", "prediction_powered", "labelled_rows")},
    "risk_coverage.model": MAKERS["decisions"], "risk_coverage.scores": scores,
    "certified_threshold.model": spread, "certified_threshold.risk": always(.375),
    "read_samples.models": models,
    # the larger problem by the quick method
    **{f"{name}.method": lambda case: "normal" if case.M > case.K else "auto"
       for name in ("evaluate", "scale.evaluate")},
    "evaluate.draws": always(2),
    "evaluate.scenarios": lambda case: {"now": costs(case)},
    "best_threshold.require": always({"recall": .75}), "certify.require": always({"recall": .25}),
    "hull_vertices.counts": lambda case: ce.threshold_counts(case.y, scores(case)).counts,
    "paired_power.probabilities": lambda case: case.turn(tables(case, True), axes=2) / tables(case, True).sum(
        (-3, -2, -1), keepdims=True), "paired_power.n": always(40),
    "cost_alarm.limit": lambda case: 2 * case.unit, "curve_auc.fpr": always([0, .25, 1]),
    "curve_auc.recall": always([0, .75, 1]),
    "outperformance_curve_point.y": always(.75), "sample_directed_binary_tree.n_samples": always(5),
    "rank_correlation.x": lambda case: case.s, "rank_correlation.y": lambda case: case.x[:, 1],
    "cost_correlation.revenues": lambda case: case.unit
    * (1 + np.arange(12) / 4), "cost_correlation.n_samples": always(3),
    "outperformance_of_cost.expected_cost": lambda case: .5 * case.unit, "cost_scorer.decisions": None,
    "CostMatrix.costs": lambda case: case.unit * case.turn(BILL[case.K, case.M]),
    "ExampleCosts.fp": lambda case: case.unit * case.w, "ExampleCosts.fn": lambda case: 5 * case.unit
    * case.w,
    "ConfusionCounts.array": lambda case: case.turn(tables(case), "counts"),
    "JointCounts.array": lambda case: case.turn(tables(case, True), "counts", axes=2),
    **{f"BinaryCounts.{cell}": lambda case, i=i, j=j: tables(case)[..., i, j]
       for cell, i, j in (("tp", 1, 1), ("fp", 0, 1), ("fn", 1, 0), ("tn", 0, 0))},
    "Decisions.values": lambda case: case.called(case.d[0]), "Posteriors.values": posteriors,
    "Scores.values": scores,
    # a result for each group: test_scale.py
    "scale.confusion_counts.groups": None,
    "metric_interval.costs": None, "evaluate_metrics.names": None,
    "plot_isocost.cost_ratio": always(4.), "fit_rule.name": always("a"), "fit_rule.folds": None,
    "fit_rule.threshold": None, "required_pairs.power": always(.3),
}
CLASSES = ("classes", "decision_labels")
TABLES = ("ConfusionCounts", "JointCounts", "CostMatrix", "cross_calibrate")


def use(name, result, case):
    """What is made of a result that is not yet a number: a scorer scores, a classifier is fitted and decides,
    a rule decides."""
    if name == "cost_scorer":
        from sklearn.naive_bayes import GaussianNB  # which says what it was trained on
        return result(GaussianNB().fit(case.x, case.called(case.y)), case.x, case.called(case.y))
    if name == "CostSensitiveClassifier":
        fitted = result.fit(case.x, case.called(case.y))
        return fitted.predict_proba(case.x) @ fitted.costs_.array, fitted.predict(case.x)
    if name == "naive_decision":
        return np.array(case.order("decisions"))[result]
    if name == "bayes_decisions" and not case.bare:
        return np.array(case.order("decisions"))[result]
    if name == "labelled_rows":
        return np.unique((np.arange(len(case.y)) if case.rows is None else case.rows)[result.rows])
    if name == "AffineCalibrator":
        return result.fit(np.log(case.p), case.y).transform(np.log(case.p))
    if name == "CrossFit":
        return {model: result.decide(model) for model in ("a", "b")}
    if isinstance(result, DecisionRule):
        decided = result.columns(case.p[:, case.order("classes")] if case.K > 2 else scores(case))
        return np.array(case.order("decisions"))[decided]
    return result


# ---- functions

ALSO = {  # public names of the modules that the flat API leaves where they are
    "costs": "as_costs as_priors",
    "metrics": """Metric accuracy accuracy_cost_distance b_roc balanced_accuracy class_balance_accuracy
        cohen_kappa diagnostic_odds_ratio error_rate expected_weighted_accuracy f_beta g_mean h_measure
        imbalance_accuracy informedness jaccard lift likelihood_ratio_negative likelihood_ratio_positive
        macro_f_beta markedness mcc mean_subjective_utility micro_f_beta naive_cost npv p4 precision
        recall specificity weighted_class_accuracy weighted_relative_accuracy""",
    "decisions": "AffineCalibrator ThresholdChoice cross_entropy implied_costs naive_decision",
    "samples": "labelled_rows read_samples",
    "policies": "RULES CrossFit",
    "rivals": "f_beta_threshold plot_expected_cost",
    "scores": "plot_cost_curve soft_expected_cost",
    "bootstrap": "Difference Interval loss_difference",
    "cost_score": """cost_score_from_precision cost_score_from_rates f1_cost held_out_saving isocost_precision
        isocost_slope multiclass_cost_score""",
    "weighted_accuracy": "cost_weight hand_h_measure target_weight",
    "metric_study": "cost_correlation rank_correlation",
    "outperformance": "outperformance_interval outperformance_value",
    "curves": "curve_auc normalized_auc outperformance_curve_point sample_directed_binary_tree",
    "datasets": "available describe DataNotAvailable",
    "reproduce": "reproduces",
}


@functools.cache
def subjects():
    """Every public callable by name: those of the flat API and of `ALSO`, the metrics and the methods that
    are not among them, and those on Dask."""
    found = {name: getattr(ce, name) for name in ce.__all__}
    for module, names in ALSO.items():
        found |= {name: getattr(importlib.import_module(f"cost_eval.{module}"), name) for name in names.split()}
    del found["check_rule"]  # takes a rule: test_decision_rule.py
    found = {name: thing for name, thing in found.items() if callable(thing)
             and not isinstance(thing, Mapping)}
    known = {id(thing) for thing in found.values()}
    found |= {f"METRICS[{name}]": record.function for name, record in ce.METRICS.items()
              if id(record.function) not in known}
    for name, record in ce.METHODS.items():
        if name == "clopper_pearson":
            continue  # what `interval` and `difference` do unasked
        found |= {f"interval[{name}]": functools.partial(ce.interval, method=name)} if record.single else {}
        found |= {f"difference[{name}]": functools.partial(ce.difference,
                method=name)} if record.paired else {}
    scale = importlib.import_module("cost_eval.scale")
    return found | {f"scale.{name}": getattr(scale, name) for name in scale.__all__}


def parameters(function):
    try:
        return {p.name: p for p in inspect.signature(function).parameters.values()
                if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name != "data"}  # `on_dask` makes it
    except ValueError:
        return {}


def missing(name):
    "Required parameters that nobody knows how to make."
    plain = name.partition("[")[0]
    return [p.name for p in parameters(subjects()[name]).values() if p.default is p.empty
            and (OWN.get(f"{plain}.{p.name}") or MAKERS.get(p.name)) is None]


def arguments(name, case):
    """Arguments by name: the required ones, quick simulations, what the case gives, and labels where a
    function must be told their order."""
    plain, made = name.partition("[")[0], {}
    for parameter in parameters(subjects()[name]).values():
        key, required = f"{plain}.{parameter.name}", parameter.default is parameter.empty
        maker = OWN[key] if key in OWN else MAKERS.get(parameter.name)
        if not required and not case.bare and (parameter.name in CLASSES or (parameter.name == "decisions"
                and plain in TABLES)):
            if "y_true" in made or plain in TABLES:
                made[parameter.name] = case.words("counts" if "Counts" in plain else "costs")["classes"
                        if parameter.name == "classes" else "decisions"]
        elif maker is not None and (required or parameter.name in QUICK or parameter.name in case.given
                                    or key in OWN or parameter.name == "bounds"):
            made[parameter.name] = maker(case)
    return made


def call(name, case, change=lambda made: made):
    "The result of a function for a case, its arguments changed on the way, as leaves."
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = use(name, made_by(name, change(arguments(name, case))), case)
    return leaves(result, case)


def made_by(name, made):
    "What a function gives for these arguments, by name."
    function = subjects()[name]
    by_position = [p.name for p in parameters(function).values() if p.kind is p.POSITIONAL_ONLY]
    return function(*[made.pop(p) for p in by_position], **made)


# ---- results

# words about a result; lists of labels
SILENT = {"notes", "guarantee", "provenance", "taken", "quantity", "kind", "classes", "decisions", "labels",
          "source", "doubts", "units", "ops", "ops_low", "ops_high", "net_benefit"}
IN_SCORES = {"threshold", "thresholds", "same_from", "same_to"}  # numbers in the unit of the scores
# functions whose low and high are in it, too
CUTS = {"best_threshold", "tune_threshold", "decide", "CrossFit", "fit_rule"}


def code(label, case):
    "A label as the number that the case has for it."
    if isinstance(label, (str, np.str_)) and label in case.labels:
        return case.labels.index(label)
    if isinstance(label, str) and label.startswith("always "):
        return f"always {next((k for k, known in enumerate(case.labels) if str(known) == label[7:]), label[7:])}"
    return label


def leaves(value, case, path=()):
    "Everything that a result says, by where it says it: arrays of numbers, and words."
    if isinstance(value, pd.DataFrame):
        found = {}
        whole = isinstance(value.index, pd.RangeIndex) and not {"model", "a"} & set(value.columns)
        if whole and set(value.columns) <= set(case.labels):
            return leaves(value[[label for label in case.labels if label in value.columns]].to_numpy(), case,
                          path)
        for column in value.columns:
            values = value[column].to_numpy()
            place = (*path, str(code(column, case)))
            if whole:
                found |= leaves(values, case, place)
            else:
                keys = value.index if not isinstance(value.index, pd.RangeIndex) else [value[c].to_numpy()
                        for c in value.columns if value[c].dtype == object or str(value[c].dtype) == "str"]
                keys = list(zip(*keys)) if isinstance(keys, list) else list(keys)
                for n, (key, one) in enumerate(zip(keys, values)):
                    name = str(tuple(code(k, case) for k in key) if isinstance(key, tuple)
                               else code(key, case))
                    found |= leaves(one, case, (*place, name if (*place, name) not in found
                                                else f"{name}#{n}"))
        return found
    if isinstance(value, pd.Series):
        return leaves(value.to_numpy() if isinstance(value.index, pd.RangeIndex) else value.to_dict(), case,
                      path)
    if isinstance(value, LabelledTable):
        classes, decisions = ([code(label, case) for label in labels]
                              for labels in (value.classes, value.decisions))
        array = np.asarray(value.array)
        joint = type(value).__name__ == "JointCounts"
        for axis, labels in zip(range(array.ndim - (3 if joint else 2), array.ndim),
                                [classes, decisions, decisions]):
            array = np.take(array, np.argsort([str(label) for label in labels]), axis)
        return {(*path, "array"): array}
    if isinstance(value, Mapping):
        return {k: v for key, one in value.items()
                for k, v in leaves(one, case, (*path, str(code(key, case)))).items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [f.name for f in dataclasses.fields(value) if f.name[0] != "_" and f.compare
                  and f.name not in SILENT]
        return {k: v for name in fields for k, v in leaves(getattr(value, name), case, (*path, name)).items()}
    if hasattr(value, "get_lines"):
        return {(*path, f"line {n}"): np.asarray(line.get_xydata(), float)
                for n, line in enumerate(value.get_lines())}
    if isinstance(value, (list, tuple)) and any(isinstance(v, (list, tuple, str, np.ndarray, Result,
            LabelledTable)) or hasattr(v, "get_lines") for v in value):
        return {k: v for n, one in enumerate(value) for k, v in leaves(one, case, (*path, str(n))).items()}
    if value is None or isinstance(value, (str, np.str_)):
        value = code(value, case)
        return {path: value if isinstance(value, (str, type(None))) else np.asarray(float(value))}
    array = np.asarray(value)
    if array.dtype.kind in "UO":
        flat = [code(v, case) for v in array.ravel().tolist()]
        if any(isinstance(v, str) or v is None for v in flat):
            return {path: array.astype(str)}
        try:
            array = np.array(flat, float).reshape(array.shape)
        except (TypeError, ValueError):
            return {}
    return {path: array.astype(float)} if array.dtype.kind in "biuf" else {}


# ---- relations of two results

def near(a, b, rtol=1e-9):
    return np.isclose(a, b, rtol=rtol, atol=rtol * np.abs(a[np.isfinite(a)]).max(initial=0), equal_nan=True)


def close(a, b, rtol=1e-9):
    """Equal up to rounding, NaN and infinity included; what cancels is measured by the largest number beside
    it."""
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype.kind == b.dtype.kind == "f"):
        return np.array_equal(a, b)
    if a.shape != b.shape:
        return False
    return near(a, b, rtol).all()


def rows_moved(order):
    return lambda a, b, path: close(a, b) or (np.ndim(a) > 0 and (a.shape[0] == N and close(a[order], b)
            or a.shape[-1] == N and close(a[..., order], b)))


def rows_repeated(row):
    return lambda a, b, path: close(a, b) or (np.ndim(a) > 0 and a.shape[0] == N and close(a[row], b))


def axes_moved(case):
    "What is by position may stand in the order in which the labels are listed."
    orders = [case.order("classes"), case.order("decisions")]

    def relation(a, b, path):
        choices = [[None, *(order for order in orders if len(order) == size)] for size in np.shape(a)]
        return any(close(functools.reduce(lambda moved, axis: np.take(moved, ways[axis], axis) if ways[axis]
                                          else moved, range(np.ndim(a)), a), b)
                   for ways in itertools.product(*choices))

    return relation


def models_moved(a, b, path):
    "By name, or in the order in which the models are listed."
    return close(a, b) or (np.ndim(a) > 0 and 2 in np.shape(a) and any(close(np.flip(a, axis), b)
            for axis in range(np.ndim(a)) if np.shape(a)[axis] == 2))


def scaled(factor):
    "Each number is the same, or it is money."
    def relation(a, b, path):
        if close(a, b):
            return True
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.shape == b.shape):
            return False
        with np.errstate(all="ignore"):
            nothing = np.abs(b) <= 1e-12 * max(factor, 1)  # a rounding error of money
            return np.any([near(a * f, b) for f in (1, factor, 1 / factor)] + [(a == 0) & nothing],
                          axis=0).all()
    return relation


def each_rows(a, b, path):
    "One number, or one for each row's costs, all the same."
    return close(a, b) or (np.shape(b)[:1] == (N,) and all(close(np.asarray(a), np.asarray(one))
            for one in b))


def same(a, b, path):
    return close(a, b)


def identical(a, b, path):
    return close(a, b, 1e-13)


def difference(before, after, relation, unlike=()):
    "Where two results disagree: '' if nowhere; `unlike` are fields that are not compared."
    before, after = ({path: value for path, value in found.items() if not set(path) & {*unlike, *SILENT}}
                     for found in (before, after))
    if before.keys() != after.keys():
        return f"other fields: {sorted(set(before) ^ set(after))[:4]}"
    for path in before:
        if not relation(before[path], after[path], path):
            return f"{'.'.join(path) or 'result'}: {short(before[path])} became {short(after[path])}"
    return ""


def short(value):
    return f"{np.array2string(value, precision=6, threshold=12)}".replace("\n", "") if isinstance(value,
            np.ndarray) else repr(value)


# ---- properties

ORDER = np.random.default_rng(9).permutation(N)


def rows_in_another_order(case):
    yield case.but(rows=ORDER), rows_moved(ORDER)


def rows_with_an_index_in_another_order(case):
    yield case.but(rows=ORDER, index=True), rows_moved(ORDER)


def classes_in_another_order(case):
    if case.K > 2:
        turned = case.but(classes=(2, 0, 1), decisions=(2, 0, 1, *range(3, case.M)))
        yield turned, axes_moved(turned)
        yield turned.but(listed="costs"), axes_moved(turned)


def decisions_in_another_order(case):
    if case.K > 2:
        turned = case.but(decisions=(2, 0, 1) if case.M == 3 else (3, 1, 0, 2))
        yield turned, axes_moved(turned)
        yield turned.but(listed="costs"), axes_moved(turned)


def models_in_another_order(case):
    yield case.but(turned=True), models_moved


def labels_renamed(case):
    yield case.but(names=("well", "ill") if case.K == 2 else ("c", "a d", "B") + (("?",) if case.M > 3
            else ())), same


def weights_are_repetition(case):
    """Whole weights against rows that stand so often (weights do not say who belongs together: what asks is
    told by clusters); weights of one against none."""
    if "sample_weight" in case.given:
        row = np.repeat(np.arange(N), case.w.astype(int))
        yield case.but(rows=row, weights=np.ones(len(row)), clusters=case.cl[row] if "clusters" in case.given
                       else row, given=(*case.given, "clusters")), rows_repeated(row)
    else:
        yield case.but(given=(*case.given, "sample_weight"), weights=np.ones(N)), same


def rows_without_weight_are_not_there(name, property_, tag, case, before):
    """Rows of weight 0, the first and the last scores among them and amounts beyond all others, against the
    other rows alone."""
    if scale_of(name) or "sample_weight" not in parameters(subjects()[name]):
        return
    order = np.argsort(case.s)
    kept = np.setdiff1d(np.arange(N), [*order[[0, 1, 20, -2, -1]], *np.arange(5, 41, 9)])
    weights, given = np.where(np.isin(np.arange(N), kept), case.w, 0), tuple({*case.given, "sample_weight"})
    for own in (False, True):
        with_, without = case.but(weights=weights, given=given, own=own), case.but(rows=kept,
                weights=weights[kept], given=given, own=own)
        try:
            alone = call(name, without)
        except ValueError:
            continue
        relation = lambda a, b, path: close(a, b) or (np.ndim(a) > 0 and any(n == N
                and close(np.take(a, kept, axis), b) for axis, n in enumerate(a.shape)))  # noqa: E731
        if printed(arguments(name, with_)) != printed(arguments(name, without)):
            try:
                wrong = difference(call(name, with_), alone, relation)
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
            yield f"[{tag}{', own costs' * own}] {wrong}"[:400] if wrong else "holds"


def clusters_of_one_are_rows(case):
    if "clusters" not in case.given:
        yield case.but(given=(*case.given, "clusters"), clusters=np.arange(N)[::-1] + 100), same


def one_matrix_is_each_rows_own(case):
    yield case.but(own=True), each_rows


def scores_stretched(case):
    "A rising function, into (0, 1) and far beyond."
    yield case.but(stretch=lambda s: 1 / (1 + np.exp(-s))), same
    yield case.but(stretch=lambda s: np.exp(4 * s)), same


def costs_in_another_unit(case):
    for factor in (1e103, 1e-108):
        yield case.but(unit=factor), scaled(factor)


CHANGES = {"rows": rows_in_another_order, "rows by index": rows_with_an_index_in_another_order,
           "classes": classes_in_another_order, "decisions": decisions_in_another_order,
           "models": models_in_another_order,
           "labels": labels_renamed, "weights": weights_are_repetition, "clusters": clusters_of_one_are_rows,
           "own costs": one_matrix_is_each_rows_own,
           "scores": scores_stretched, "unit": costs_in_another_unit}
NEEDS = {"weights": "sample_weight", "clusters": "clusters"}
# asked of decisions where models are judged: what is fitted depends on random folds, which are drawn of rows
UNFITTED = {"weights", "clusters"}
DRAWN = {"luck", "corrected"}
# counts of rows; shares of draws
UNLIKE = {"weights": {"n", "labelled", *DRAWN}, **dict.fromkeys(["classes", "decisions", "models", "clusters",
        "own costs"], DRAWN), "costs' index": {"ids"}}
MAY_REFUSE = {"labels", "rows by index", "own costs", "index", "stack"}


def dressed(value, dress):
    "The arrays inside an argument in another container."
    if isinstance(value, np.ndarray) and value.ndim:
        return dress(value)
    if isinstance(value, dict):
        return {key: dressed(one, dress) for key, one in value.items()}
    if isinstance(value, (ce.Scores, ce.Posteriors, ce.Decisions)):
        return dataclasses.replace(value, values=dressed(value.values, dress))
    return value


def read_only(array):
    array.flags.writeable = False
    return array


def narrow(array):
    "Half the bytes, if no digit is lost."
    if array.dtype.kind not in "fi":
        return array
    small = array.astype(array.dtype.kind + "4")
    return small if (small == array).all() else array


def carried(array):
    """A read-only copy, column by column, of every second row of what was pickled, numbers the other way
    round."""
    array = pickle.loads(pickle.dumps(copy.deepcopy(array)))
    array = array.astype(array.dtype.newbyteorder(">")) if array.dtype.kind in "fi" else array
    return read_only(np.asfortranarray(np.repeat(array, 2, axis=0))[::2])


CONTAINERS = {"pickled, copied, big-endian, strided, read-only": carried, "float32": narrow,
              "a list": np.ndarray.tolist}


def as_series(array, index):
    return pd.Series(array, index) if array.ndim == 1 else pd.DataFrame(array, index)


def shuffled_index(made):
    "The first of the columns in order, the others shuffled with their index."
    first, rng = iter([True]), np.random.default_rng(4)

    def dress(array):
        if len(array) != N:
            return array
        order = np.arange(N) if next(first, False) else rng.permutation(N)
        return as_series(array[order], order + 7)

    return {name: dressed(value, dress) for name, value in made.items()}


def columns(made):
    "How many columns of rows there are in arguments."
    found = []
    for value in made.values():
        dressed(value, lambda array: found.append(array) if len(array) == N else None)
    return len(found)


def on_dask(made):
    import dask.dataframe as dd
    columns = {}

    def named(array):
        if len(array) != N:
            return array
        start = len(columns)
        columns.update({f"c{start + k}": column for k, column in enumerate(np.atleast_2d(array.T))})
        return f"c{start}" if array.ndim == 1 else list(columns)[start:]

    found = {name: dressed(value, named) for name, value in made.items()}
    return found | {"data": dd.from_pandas(pd.DataFrame(columns), chunksize=17)}


# ---- checks

def printed(value):
    "What an argument holds, in its order."
    if isinstance(value, dict):
        return [(key, printed(one)) for key, one in value.items()]
    if isinstance(value, pd.DataFrame):
        return [list(value.columns), value.to_numpy().tolist()]
    if isinstance(value, LabelledTable):
        return [value.array.tolist(), value.classes, value.decisions]
    if dataclasses.is_dataclass(value):
        return [printed(getattr(value, f.name)) for f in dataclasses.fields(value)]
    return value.tolist() if isinstance(value, np.ndarray) else repr(value)


def scale_of(name):
    return name.removeprefix("scale.") if name.startswith("scale.") else None


def variants(name):
    if name not in variants.kept:
        variants.kept[name] = tried_cases(name)
    return variants.kept[name]


variants.kept = {}


def once(name, case, *key):
    "`call(name, case)`, which several properties start from; `key` is the case's name, as a case has none."
    if (name, *key) not in variants.kept:
        variants.kept[name, *key] = call(name, case)
    return variants.kept[name, *key]


def tried_cases(name):
    """The cases that a function takes: two classes, three, three and a fourth decision; each plain, and with
    all that can be given. A ValueError is a case not taken."""
    if missing(name):
        raise TypeError(f"{name}: nobody knows how to make {', '.join(missing(name))}; add it to MAKERS (or, "
                        f"if the name means something else here, "
                        f"to OWN as '{name}.{missing(name)[0]}') in tests/invariances.py, or say in NOT of "
                        f"tests/test_invariances.py why {name!r} has no arguments to change")
    known, found, refusals = parameters(subjects()[name]), {}, []
    options = [option for option in EVERYTHING if option in known and known[option].default
               is not inspect.Parameter.empty]
    for tag, case in CASES.items():
        for more in [(), *([(*options,)] if options and tag != "3" else [])]:
            if tag + (" all" if more else "") not in TAGS.get(name, (tag, f"{tag} all")):
                continue
            try:
                found[tag + (" all" if more else "")] = case.but(given=more), call(name, case.but(given=more),
                        on_dask if scale_of(name) else lambda made: made)
            except ValueError as error:
                refusals.append(f"{tag}: {error}")
    if not found:
        raise TypeError(f"{name}: refuses every case; see MAKERS and OWN in tests/invariances.py: {refusals}")
    return found


def check(name, property_):
    "What a property comes to for a function: '' not meaningful, 'holds', 'refused', or where it fails."
    function = PROPERTIES[property_]
    outcomes = [told for tag, (case, result) in variants(name).items()
                for told in function(name, property_, tag, case, result)]
    bad = [told for told in outcomes if told not in ("holds", "refused")]
    return bad[0] if bad else "holds" if "holds" in outcomes else "refused" if outcomes else ""


def tried(property_, tag, before, relation, again):
    "One outcome."
    try:
        wrong = difference(before, again(), relation, UNLIKE.get(property_, ()))
    except ValueError as error:
        if property_ in MAY_REFUSE:
            return "refused"
        wrong = f"ValueError: {error}"
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    return f"[{tag}] {wrong}"[:400] if wrong else "holds"


def of_the_case(name, property_, tag, case, before):
    if scale_of(name) or (property_ in NEEDS and NEEDS[property_] not in parameters(subjects()[name])):
        return
    if property_ in UNFITTED and "models" in parameters(subjects()[name]):
        case = case.but(fixed=True)
        before = once(name, case, tag, "fixed")
    made = printed(arguments(name, case))
    for changed, relation in CHANGES[property_](case):
        if printed(arguments(name, changed)) != made:
            if property_ == "scores":
                yield tried(property_, tag, in_ranks(name, before, case), relation, lambda: in_ranks(name,
                        call(name, changed), changed))
            else:
                yield tried(property_, tag, before, relation, lambda: call(name, changed))


def in_ranks(name, found, case):
    "Numbers in the unit of the scores as their place among the scores."
    places = np.sort(scores(case))
    ends = IN_SCORES | ({"low", "high"} if name in CUTS else set())
    return {path: np.searchsorted(places, value).astype(float) if ends & set(path)
            and isinstance(value, np.ndarray) else value for path, value in found.items()}


def stacked(name, property_, tag, case, before):
    n = 7 if case.K == 2 else 4
    several = case.but(table=tuple(range(n)))
    if scale_of(name) or printed(arguments(name, several)) == printed(arguments(name, case)):
        return
    try:
        together = call(name, several)
    except ValueError:
        yield "refused"
        return
    for k in (0, n - 2, n - 1):
        def part(path, alone):
            found = together.get(path)
            return np.asarray(found[k]) if isinstance(found, np.ndarray) and np.ndim(found) == np.ndim(
                alone) + 1 and len(found) == n else found
        single = case.but(table=k)
        alone = call(name, single) if k or printed(arguments(name, single)) != printed(arguments(name,
                case)) else before
        yield tried(property_, f"{tag}, table {k}", alone, same, lambda: {path: part(path, value)
                for path, value in alone.items()})


def contained(name, property_, tag, case, before):
    if scale_of(name):
        return
    bare = case.but(bare=True)
    try:
        plain = once(name, bare, tag, "bare")
    except (ValueError, TypeError):  # needs names
        return
    made = arguments(name, bare)
    for how, dress in CONTAINERS.items():
        if any(printed(dressed(value, lambda array: np.zeros(1))) != printed(value)
               for value in made.values()):
            yield tried(property_, f"{tag}, {how}", plain, identical, lambda: call(name,
                    bare, lambda made: {key: dressed(value, dress) for key, value in made.items()}))


def indexed(name, property_, tag, case, before):
    bare = case.but(bare=True)
    if scale_of(name) or columns(arguments(name, bare)) < 2:
        return
    try:
        plain = once(name, bare, tag, "bare")
    except (ValueError, TypeError):
        return
    yield tried(property_, tag, plain, rows_moved(np.arange(N)), lambda: call(name, bare, shuffled_index))


def own_costs_indexed(name, property_, tag, case, before):
    """Costs of single rows remember the index of the series that they came from: in the same order nothing
    changes, in another they are refused."""
    own = case.but(bare=True, own=True)
    if scale_of(name) or case.K != 2 or not columns(arguments(name, own)) or not any(isinstance(v,
            ce.ExampleCosts) for v in arguments(name, own).values()):
        return
    try:
        plain = call(name, own)
    except (ValueError, TypeError):  # takes no costs of single rows
        return
    index = np.arange(N) + 7

    def dress(made, order):
        of_rows = {key: dressed(value, lambda array: as_series(array, index) if len(array) == N else array)
                   for key, value in made.items()}
        return {key: ce.ExampleCosts(fp=pd.Series(v.array[:, 0, 1], index[order]), fn=v.array[:, 1, 0])
                if isinstance(v, ce.ExampleCosts) else v for key, v in of_rows.items()}

    yield tried(property_, tag, plain, same, lambda: call(name, own, lambda made: dress(made, np.arange(N))))
    try:
        call(name, own, lambda made: dress(made, np.arange(N)[::-1]))
        yield f"[{tag}] costs in another order are taken without a word"
    except ValueError as error:
        yield "holds" if "in another order" in str(error) else f"[{tag}] {error}"


def in_memory(name, property_, tag, case, before):
    plain = scale_of(name)
    if plain is None:
        return
    function = getattr(ce, plain)

    def memory(case):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return leaves(use(name, function(**arguments(name, case)), case), case)

    cases = {"": case, ", words": case.but(names=("well", "ill")), ", turned": case.but(names=(1, 0)),
             ", letters": case.but(names=("b", "a"))} if case.K == 2 and "all" not in tag else {"": case}
    for how, case in cases.items():
        try:
            expected = memory(case)
        except ValueError:
            yield from () if how else ("in memory it is refused",)
            continue
        yield tried(property_, tag + how, expected, same, lambda: call(name, case, on_dask))


def kept(name, property_, tag, case, before):
    "A result pickled and copied is the result; a second call gives it again."
    if scale_of(name):
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        result = made_by(name, arguments(name, case))
        told = tried(property_, tag, before, identical, lambda: leaves(use(name, result, case), case))
    yield told
    if isinstance(result, (Result, LabelledTable)):
        for twin in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
            yield "holds" if twin == result else f"[{tag}] a pickled or copied result is not equal to it"


def ends_are_where_the_test_turns(name, property_, tag, case, before):
    """The p-value of a method at an end of its interval is one minus the confidence; of methods without
    replicates."""
    unasked = "clopper_pearson" if name in ("interval", "difference") else ""
    record = ce.METHODS.get(name.partition("[")[2].rstrip("]") or unasked)
    if record is None or record.needs_rng or tag != "2":
        return
    several = np.array(tables(case.but(table=tuple(range(7))), name.startswith("difference"))).reshape(7, -1)
    worth = np.array([0, 1, 10, 0] if several.shape[1] == 4 else [0, -1, 1, 0, 0, 10, -10, 0]) / 16
    for table in several:
        fit = record.function(table[None, None].astype(float), worth[None, None])
        ends = [float(np.ravel(end)[0]) for end in fit.ends(.025)]
        told = [float(np.ravel(fit.p_value(end))[0]) for end in ends if fit.p_value
                and worth.min() < end < worth.max()]
        yield "holds" if np.allclose(told, .05, rtol=1e-4) else f"[{tag}] p is {told} at the ends {ends}"


PROPERTIES = {**dict.fromkeys(CHANGES, of_the_case), "stack": stacked, "containers": contained,
              "index": indexed, "costs' index": own_costs_indexed,
              "no weight": rows_without_weight_are_not_there, "Dask": in_memory,
              "ends": ends_are_where_the_test_turns, "twice": kept}


def table(names):
    "Functions x properties, in a letter each: + holds, r refused, blank not meaningful, x does not hold."
    import time
    lines = [f"{'':36} " + " ".join(f"{p[:6]:6}" for p in PROPERTIES)]
    for name in names:
        start = time.process_time()
        try:
            told = [check(name, p) for p in PROPERTIES]
        except (TypeError, ArithmeticError) as error:
            print(f"{name:36} {error}"[:300], flush=True)
            continue
        lines.append(f"{name:36} " + " ".join(f"{ {'': '', 'holds': '+', 'refused': 'r'}.get(t, 'x'):6}"
                                              for t in told) + (f" {time.process_time() - start:.1f} s"
                if "-v" in sys.argv else ""))
        if "-v" in sys.argv:
            lines += [f"    {p}: {t}" for p, t in zip(PROPERTIES, told) if t not in ("", "holds", "refused")]
        print("\n".join(lines), flush=True)
        lines = []


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word[0] != "-"]
    table([name for name in subjects() if not words or any(word in name for word in words)])
