"""A public function, given nonsense for one argument, works or says so in a ValueError that names it; what is
known to be wrong is refused in known words,
and a range ends where it says. Plots and files are left out. Functions and arguments are found, not listed:
by name (invariances.py) and in the examples.

And what the messages advise is tried: the advice is taken out of the message, followed to the letter, and
gives the right answer.
"""
import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import warnings
from pathlib import Path

import numpy
import numpy as np
import pandas as pd
import pytest
import scipy.special

import invariances as iv

import cost_eval
import cost_eval.api as ce
from cost_eval import bootstrap as bs
from cost_eval import cost_score as cs
from cost_eval import curves as cv
from cost_eval import decisions as de
from cost_eval import expected_cost as ec
from cost_eval import metric_study as ms
from cost_eval import planning as pl
from cost_eval import rivals
from cost_eval import scores as sc
from cost_eval import training as tr
from cost_eval import weighted_accuracy as wa
from cost_eval.__main__ import _in_the_shell as in_the_shell
from cost_eval.core import same
from cost_eval.costs import as_costs
from cost_eval.policies import fit_rule
from cost_eval.samples import labelled_rows, read_samples

pytestmark = pytest.mark.usefixtures("few_draws")
# files, frames of Dask, axes, what takes a report
LEFT_OUT = ("api", "datasets", "reproduce", "reproductions", "scale", "plotting", "page")
MODULES = [m.name for m in pkgutil.iter_modules(cost_eval.__path__) if m.name[0] != "_"
           and m.name not in LEFT_OUT]
NONSENSE = {"None": None, "text": "x", "an object": [object()], "ragged": [[1], [1, 2]],
            "no rows": np.zeros((0, 2)), "a negative number": -1,
            "beyond 64 bits": 10**25}
TAKEN_AS_IT_IS = ("n_jobs", "a negative number")  # all processors
PLAIN = {"None", "text", "an object", "a negative number", "beyond 64 bits"}  # refused by the argument's name
# no check of ours: flags; axes; a record's own field; a cached function of whole numbers; more memory than
# there is
ALLOWED = {("log", ""), ("ax", ""), ("moments", "standardize_spearman"), ("n", "spearman_moments"),
           ("n0", "spearman_moments"),
           ("n_draws", "spearman_moments"), ("n", "paired_power")}


def named(said, parameters, parameter):
    "Does a message begin with an argument, this one or what it meets?"
    return {*parameters, *SAID_AS.get(parameter, "").split()} & {*re.findall(r"\w+", said.partition(":")[0])}


def example_calls(module):
    "(function, arguments by name) of the calls in the examples of a module's functions."
    calls = []

    def recorded(function):
        def call(*args, **kwargs):
            calls.append((function, inspect.signature(function).bind(*args, **kwargs)))
            return function(*args, **kwargs)
        return call

    for name in module.__all__:
        function = getattr(module, name)
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith(
            ("plot_", "explore_")):
            for test in doctest.DocTestFinder().find(function, name,
                                                     globs={**vars(module), name: recorded(function)}):
                doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None, clear_globs=True)
    return {(function, *bound.arguments): (function, bound) for function, bound in calls}.values()


def changed(bound, name, value):
    "The arguments with one exchanged, by position and by name as the call needs them."
    new = bound.signature.bind_partial()
    new.arguments.update({p: {**bound.arguments, name: value}[p] for p in bound.signature.parameters
                          if p == name or p in bound.arguments})
    return new


@pytest.mark.parametrize("name", MODULES)
def test_nonsense_is_refused(name):
    calls, wrong = example_calls(importlib.import_module(f"cost_eval.{name}")), []
    assert calls or name in ("core", "costs", "estimators", "report")
    inner = {  # what our own functions hand on, read and checked
        "runner": "chosen_by believed step_odds limit room queued", "mean_law": "compressed upper_level share_above",
        "bootstrap": "sample_interval sample_difference monotone_interval from_unit",
        "decisions": "read_requirements best_threshold_counted out_of_fold",
        "policies": "within_capacity rule_of isotonic_steps",
    }.get(name, "").split()
    calls = [call for call in calls if call[0].__name__ not in inner and next(iter(call[1].signature.parameters), None)
             not in ("case", "found", "losses", "questions", "asked")]
    for function, bound in calls:
        for parameter in bound.signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or {(parameter.name, ""),
                    (parameter.name, function.__name__)} & ALLOWED:
                continue
            for what, value in NONSENSE.items():
                if (parameter.name, what) == TAKEN_AS_IT_IS:
                    continue
                new = changed(bound, parameter.name, value)
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        function(*new.args, **new.kwargs)
                except ValueError as error:
                    if len(str(error)) < 15 or what in PLAIN and not named(str(error),
                            bound.signature.parameters, parameter.name):
                        wrong.append(f"{function.__name__}({parameter.name}={what}): only says {error}")
                except Exception as error:
                    wrong.append(
                        f"{function.__name__}({parameter.name}={what}): {type(error).__name__}: {error}"[
                            :200])
            wrong += [] if function in iv.subjects().values() else taken_as_example(function, bound,
                    parameter.name)
    assert wrong == []


def taken_as_example(function, bound, parameter):
    "What is wrong with one argument of an example and not refused by its name."
    for what, (change, says) in ({} if parameter in OF_ROWS else WRONG.get(parameter, {})).items():
        if parameter not in bound.arguments or {f"{function.__name__}.{parameter}",
                                                f"{function.__name__}.{parameter}: {what}"} & TAKEN.keys():
            continue
        new, said = changed(bound, parameter, change(bound.arguments[parameter])), "taken"
        try:
            function(*new.args, **new.kwargs)
        except ValueError as error:
            said = str(error)
        if not named(said, bound.signature.parameters, parameter) or not re.search(says, said):
            yield f"{function.__name__}: {parameter}, {what}: {said[:150]}"


# ---- one wrong argument, the others right

NAN, INF = np.nan, np.inf


def numbers(*values):
    return {f"{value!r}": (lambda good, value=value: value, "") for value in values}


def with_entry(new, at=0):
    "The argument with one entry exchanged, in each model where there are several."
    def change(good):
        if isinstance(good, dict):
            return {name: change(one) for name, one in good.items()}
        array = np.array(getattr(good, "array", getattr(good, "values", good)), object if new is None
                         else float)
        array[at if np.ndim(at) else (at,) * array.ndim] = new
        return array
    return change


def table(good):
    return np.asarray(getattr(good, "array", good))


OPEN, SHARE = numbers(0, 1, -.1, 1.1, NAN), numbers(-.01, 1.01, NAN)
POSITIVE, NOT_NEGATIVE = numbers(0, -1, INF, NAN), numbers(-1e-6, INF, NAN)
WHOLE, SEED = numbers(0, 1.5), {f"{seed!r}": (lambda good, seed=seed: seed, "a seed .* is needed")
                                for seed in ("x", -1, 1.5)}
WORD = {"an unknown word": (lambda good: "nosuch", "'nosuch' is unknown; there are|got 'nosuch'")}
TOO_FEW = {"one too few": (lambda good: {name: one[:-1] for name, one in good.items()} if isinstance(good,
        dict) else good[:-1], "values, but|rows, but|rows; one each|losses, but|shape")}
MEMBERS = {**TOO_FEW, "a missing one": (with_entry(None, 1),
                                        "missing values|are missing, .* label of their own")}
CELLS = {"negative": (lambda good: -table(good) - 1, "negative, infinite or NaN"),
         "NaN": (with_entry(NAN), "negative, infinite or NaN"),
         "infinite": (with_entry(INF), "negative, infinite or NaN"),
         "a vector": (lambda good: table(good).ravel(),
                      r"BinaryCounts.from_labels|\(..., K, M(, M)?\)|see `joint_counts`"),
         "of another shape": (lambda good: np.ones((2, 5)), "2 x 5|shape|as many decisions|2 classes"),
         "masked": (lambda good: np.ma.masked_equal(table(good), table(good).flat[0]), "masked entries"),
         "empty": (lambda good: 0 * table(good), "are 0|no example|both classes|sum to 0")}
WRONG = {  # argument: what is wrong with it: how it is made of the right one, and what the message must say
    "confidence": {value: (change, "95 % is .95") for value, (change, _) in numbers(0, 1, 95, NAN).items()},
    **dict.fromkeys(("prevalence", "target_prevalence", "alpha"), OPEN),
    **dict.fromkeys(("weight", "tpr", "fpr", "score", "recall", "precision", "auc"), SHARE),
    **dict.fromkeys(("a", "b", "fp_cost", "fn_cost", "factor"), POSITIVE),
    **dict.fromkeys(("beta", "cost_score", "laplace", "n0", "margin"), NOT_NEGATIVE),
    "cost_ratio": numbers(-1, INF, NAN), "rng": SEED,
    **dict.fromkeys(("method", "rule", "metric", "curve", "average", "weighted", "kind"), WORD),
    **dict.fromkeys(("n_resamples", "n_sets", "n_samples", "n_curves", "depth", "repeats", "points", "bins",
                     "n_jobs", "folds", "cv", "n_labels"), WHOLE),
    "sample_weight": {**TOO_FEW, "negative": (with_entry(-1), "-1.* at position 0"), "NaN": (with_entry(NAN),
        "nan at position|missing"), "infinite": (with_entry(INF), "inf at position"),
                      "all 0": (lambda good: 0 * good, "at least|both classes|all are 0|no |needed|weight 0"),
                      "text": (lambda good: good.astype(str).astype("U1") + "x", "numbers?")},
    **dict.fromkeys(("clusters", "groups", "strata"), MEMBERS),
    "y_true": {**TOO_FEW, "a missing one": (with_entry(None, 1), "verification bias"),
               "two columns": (lambda good: np.column_stack([good, good]), "one value per|one label a"),
               "nobody": (lambda good: good[:0],
                          "y_true has 0|no samples|0 labels|needed|needs|no positive|no case|is known")},
    **dict.fromkeys(("decisions", "decisions_a", "decisions_b"),
                    {**TOO_FEW, "unknown": (with_entry(7, [0]), "7.* is not in")}),
    "scores": {**TOO_FEW, "NaN": (with_entry(NAN, [1]), "nan at position 1; drop"),
               "text": (lambda good: np.array(["a"] * len(good)), "expected numbers")},
    "posteriors": {**TOO_FEW, "NaN": (with_entry(NAN, 1), "nan"), "negative": (lambda good: with_entry(-.5,
        1)(good), "negative value -0.5; .*softmax|got -0.5"),
                   "summing to 1.01": (lambda good: good * 1.01, "row 0 sums to 1.01")},
    **dict.fromkeys(("counts", "counts_a", "counts_b", "joint", "probabilities"), CELLS),
    **dict.fromkeys(("losses", "losses_a", "losses_b"), {"NaN": (with_entry(NAN, 1),
        "(nan|infinite) at position 1"), "text": (lambda good: good.astype(str), "expected numbers"),
                                                         "none": (lambda good: good[:0],
        "no examples|losses")}),
    "costs": {"NaN": (with_entry(NAN, (0, 1)), "leave out the column"), "infinite": (with_entry(INF, (0, 1)),
        "leave out the column"),
              "None": (lambda good: None, "needed, got None|shape"),
              "text": (lambda good: "much", "needed, got 'much'|numbers"),
              "a number": (lambda good: 5, r"CostMatrix.from_ratio\(5\)|shape"),
              "a vector": (lambda good: np.ones(5), r"shape \(5,\)"), "ragged": (lambda good: [[0, 1], [1]],
        "rows of different lengths"),
              "one decision": (lambda good: table(good)[..., :1], "at least two decisions"),
              "one cost": (lambda good: {"fp": 1}, "fn is missing|a dict has no order"),
              "nothing to decide": (lambda good: np.ones((2, 2)), "every decision costs the same"),
              "rows of four": (lambda good: np.ones((iv.N, 4)) * [1, 5, 0, .5],
                               "ExampleCosts|equally likely matrices|expected numbers"),
              "rows of two": (lambda good: np.ones((iv.N, 2)) * [1,
        5], "ExampleCosts|equally likely matrices|expected numbers"), "a row": (lambda good: np.ones(iv.N), "ExampleCosts|is needed, got")},
    "priors": {"summing to 1.1": (lambda good: [.5, .6], "sum to 1.1"), "three": (lambda good: [.2, .3,
        .5], "expected 2 priors"), "negative": (lambda good: [-.5, 1.5], "not negative"),
               "NaN": (lambda good: [NAN, 1], "finite"), "of other classes": (lambda good: {"a": .5, "b": .5},
        r"classes \['a', 'b'\]"), "in per cent": (lambda good: 25, "% is")},
}
LEGAL = {**dict.fromkeys(("weight", "tpr", "fpr", "score"), (0, 1)),
         **dict.fromkeys(("fp_cost", "fn_cost", "factor", "margin"), (1e-6, 1e6)),
         # the ends of its range
         "prevalence": (1e-9,), "target_prevalence": (1e-9, 1 - 1e-9),
         **dict.fromkeys(("beta", "cost_score", "n0", "laplace"), (0, 1e6))}
ON_DASK = {"costs", "priors", "confidence"}
# a few rows of an example may mean something else
OF_ROWS = {"counts", "joint", "y_true", "decisions_a", "decisions_b", "scores", "posteriors", "costs",
           "probabilities"}
SAID_AS = {"joint": "counts", "decisions": "models", "posteriors": "models", "y_true": "models",
           "model": "models", "metric": "metrics",
           # what a message may name instead
           "curves": "curve", "rows": "samples", "source": "x", "labels": "x",
           **dict.fromkeys(("sep", "decimal", "index_col"), "csv")}
DRAWS_NOTHING = ("difference", "independent_difference", "interval", "loss_difference", "loss_interval",
                 "metric_interval", "paired_power", "required_pairs",
                 "outperformance", "outperformance_value")
TAKEN = {  # function.argument, and what is wrong elsewhere: why it is taken, or refused for another reason
    **{f"{name}.{parameter}": "read by methods that draw, below" for name in DRAWS_NOTHING
       for parameter in ("rng", "n_resamples", "n_samples")},
    **dict.fromkeys([f"{name}.decisions" for name in (*iv.TABLES, "ExampleCosts")], "labels of a table"),
    "Posteriors.priors": "kept as they are said until the classes are known",
    **{f"{name}.y_true: a missing one": "what it is for" for name in ("labelled_rows",
        "bounds_without_labels", "prediction_powered")},
    **{f"{name}.sample_weight: all 0": "counts of nothing" for name in ("confusion_counts", "joint_counts",
        "threshold_counts", "labelled_rows")},
    **{f"{name}.posteriors: summing to 1.01": "those of one class"
       for name in ("reliability", "f_beta_threshold", "soft_expected_cost")},
    **{f"{name}.costs: None": "without costs, or not yet" for name in ("evaluate_metrics", "metric_interval",
        "CostSensitiveClassifier")},
    **{f"{name}.costs: rows of {many}": "knows of no rows: a matrix of as many classes"
       for name in ("attainable", "CostMatrix", "as_costs") for many in ("four", "two")},
    "certify.counts: of another shape": "of any number of classes",
    **{f"bayes_decisions.{which}priors": "asks for both first" for which in ("", "train_")},
    "as_costs.y_true": "only counted", "cost_scorer.decisions": "a word",
    **{f"{name}.costs": "in place of bounds: test_sequences.py"
       for name in ("confidence_sequence", "difference_sequence", "cost_alarm")},
     "curve_auc.fpr": "a curve",
    "monotone_interval.prevalence": "a coefficient of a line", "study_ranks.metric": "said as metrics",
    "CostSensitiveClassifier.cv: 0": "told with the class that is too small",
    "scale.losses.costs: one cost": "told when they are computed",
    "hull_vertices.counts": "points of a curve: test_decisions.py",
}


def refusal(name, made, parameter, value):
    "What a function says to one argument; None where it takes it."
    case, given = iv.Case(), (iv.on_dask if name.startswith("scale.") else dict)({**made, parameter: value})
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            iv.use(name, iv.made_by(name, given), case)
    except ValueError as error:
        return str(error)


def right_arguments(name):
    return iv.arguments(name, iv.Case()) | ({"metric": "expected_cost", "costs": iv.costs(iv.Case())}
                                            if name == "metric_interval" else {})


def wrong_arguments(name, made):
    "(argument, what is wrong, its value, what the message must say), of all that are known to be wrong."
    case, plain = iv.Case(), name.partition("[")[0]
    for parameter in iv.parameters(iv.subjects()[name]).keys() & (ON_DASK if name.startswith("scale.")
            else WRONG.keys()):
        maker = iv.OWN.get(f"{plain}.{parameter}", iv.MAKERS.get(parameter))
        good = made.get(parameter, maker(case) if maker else None)
        for what, (change, says) in WRONG[parameter].items():
            # a metric of nobody is NaN
            of_nobody = what == "empty" and "confidence" not in iv.parameters(iv.subjects()[name])
            if not ({f"{plain}.{parameter}", f"{plain}.{parameter}: {what}"} & TAKEN.keys() or of_nobody
                    or what in TOO_FEW and iv.columns({**made, parameter: good}) < 2):
                yield parameter, what, change(good), says


@pytest.mark.parametrize("name", [name for name in iv.subjects() if not name.startswith("plot_")
                                  and not iv.missing(name)])
def test_a_wrong_argument_is_refused_by_name(name):
    made, told = right_arguments(name), []
    for parameter, what, value, says in wrong_arguments(name, made):
        said = refusal(name, made, parameter, value) or "taken"
        if not named(said, iv.parameters(iv.subjects()[name]), parameter) or not re.search(says, said):
            told.append(f"{parameter}, {what}: {said[:150]}")
    told += [f"{parameter}: {value} is legal" for parameter in iv.parameters(iv.subjects()[name])
             if f"{name}.{parameter}" not in TAKEN for value in LEGAL.get(parameter, ())
             if refusal(name, made, parameter, value)]
    assert told == []


# ---- what messages advise

RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
P = np.clip(.5 * Y + .5 * RNG.random(60), .01, .99)
TWO, THREE, C = np.column_stack([1 - P, P]), RNG.dirichlet([1, 1, 1], 60), np.array([[0., 1], [5, 0]])
NAMES, IDS = np.where(Y == 1, "ill", "well"), np.array([f"c{k}" for k in range(60)])[RNG.permutation(60)]
# labels that the posteriors do not separate
AMOUNT, BY_CHANCE = 1 + 9 * RNG.random(60), RNG.integers(0, 2, 60)
WITH_ZERO = np.where(TWO < .02, 0, TWO)
LOG_ZERO = np.log(WITH_ZERO, where=WITH_ZERO > 0, out=np.full_like(TWO, -np.inf))
CLASSES = {kind.__name__: kind for kind in (ce.Decisions, ce.Posteriors, ce.Scores, ce.CostMatrix,
                                            ce.ExampleCosts,
                                            ce.BinaryCounts)} | {"read_samples": read_samples}
NAMED = ce.CostMatrix(C, classes=["well", "ill"])
OWN = ce.ExampleCosts(fp=1, fn=pd.Series(AMOUNT, IDS)[::-1])
BACK = np.arange(60)[::-1]


def cost(y=Y, models=P, costs=C, **options):
    return ce.evaluate(y, models, costs, **{"rule": "bayes", "rng": 0} | options).best["cost"].tolist()


def decided(p, costs=C, **options):
    return ce.bayes_decisions(p, costs, **options)


# the call; what is wrong; what the message calls it; what it advises; the right answer; and the advice with
# its blanks filled, if it has any. The advice is run
# as code, the wrong value under the name that the message uses, and the call repeated with what comes out (or
# with the options, where nothing but one was missing).
ADVICE = {
    "labels in a column of their own": (lambda y: cost(y), Y[:, None], "values",
                                        "numpy.ravel(values)", lambda: cost()),
    "a list of lists of one": (lambda y: ce.confusion_counts(y, Y), Y[:, None].tolist(), "values",
                               "numpy.ravel(values)", lambda: ce.confusion_counts(Y, Y)),
    "labels beside ids": (lambda y: cost(y), pd.DataFrame({"nr": np.arange(60) + 7, "y": Y}), "values",
                          "values['y']", lambda: cost()),
    "a frame of labels": (lambda y: ce.confusion_counts(y, Y), pd.DataFrame({"nr": np.arange(60) + 7,
        "y": Y}), "values", "values['y']", lambda: ce.confusion_counts(Y, Y)),
    "several labels a row": (lambda y: cost(y), np.column_stack([1 - Y * (P > .6), Y]), "values",
                             "values[:, j]", lambda: cost()),
    "logits": (lambda p: cost(models=p), np.log(TWO) + 3, "values",
               "scipy.special.softmax(values, axis=1)", lambda: cost()),
    "log-posteriors": (lambda p: decided(p), np.log(TWO), "values",
                       "scipy.special.softmax(values, axis=1)", lambda: decided(TWO)),
    "logits that are said to be logarithms": (lambda p: decided(p, log=True), np.log(TWO) + 3, "values",
                                              "scipy.special.log_softmax(values, axis=1)", lambda: decided(
                                                  TWO)),
    "votes": (lambda p: cost(models=p), 500 * TWO, "values",
              "values / values.sum(axis=1, keepdims=True)", lambda: cost()),
    "percentages of one class": (lambda p: cost(models=p), ce.Posteriors(100 * P), "p",
                                 "divide percentages by 100", lambda: cost(), "Posteriors(p.values / 100)"),
    "models as a list": (lambda p: cost(models=p), [P, P**2], "values",
                         "{'a': values[0], ...}", lambda: cost(models={"a": P, "b": P**2}),
                         "{'a': values[0], 'b': values[1]}"),
    "classes in rows": (lambda p: cost(models=p), TWO.T, "values", "numpy.transpose(values)", lambda: cost()),
    "columns of classes in a mapping": (lambda p: cost(models={"m": p}), {0: 1 - P, 1: P}, "mapping",
                                        "pandas.DataFrame(mapping)", lambda: cost()),
    "labels in lists of one": (lambda y: cost(y), pd.Series([[v] for v in Y.tolist()]), "values",
                               "numpy.stack(values).squeeze()", lambda: cost()),
    "vectors in cells": (lambda p: cost(models={"m": p}), pd.Series(TWO.tolist()), "values",
                         "numpy.stack(values).squeeze()", lambda: cost()),
    "values of a dict": (lambda y: cost(y), dict(enumerate(Y.tolist())).values(), "values",
                         "list(values)", lambda: cost()),
    "amounts as text": (lambda f: cost(costs=dict(fp=1, fn=f)), AMOUNT.astype(str), "values",
                        "numpy.asarray(values, float)", lambda: cost(costs=dict(fp=1, fn=AMOUNT))),
    "one column of posteriors": (lambda p: decided(p), P, "p",
                                 "np.column_stack([1 - p, p])", lambda: decided(TWO)),
    "a model in a column of its own": (lambda p: cost(models=p), P[:, None], "values",
                                       "numpy.ravel(values)", lambda: cost()),
    "numbers as text": (lambda p: cost(models=p), P.astype(str), "values",
                        "values.astype(float)", lambda: cost()),
    "posteriors under other names": (lambda p: cost(models={"m": p}), pd.DataFrame(TWO, columns=["a", "b"]),
                                     "values", "classes=", lambda: cost(
                                         models={"m": TWO}), "Posteriors(values.to_numpy(), classes=[0, 1])"),
    "a frame of either": (lambda p: cost(models=p), pd.DataFrame(TWO, columns=["a", "b"]), "frame",
                          "dict(frame[['a', 'b']])", lambda: cost(models={"a": 1 - P,
        "b": P})),
    "models named as classes": (lambda p: cost(models=p), pd.DataFrame({0: 1 - P, 1: P**2}), "frame",
                                "dict(frame[[0, 1]])", lambda: cost(models={"0": 1 - P,
        "1": P**2})),
    "costs of rows where one matrix is needed": (lambda costs: as_costs(costs, one=True), OWN, "costs",
                                                 "costs.mean()", lambda: OWN.mean()),
    "a sparse matrix": (lambda p: decided(p), scipy.sparse.csr_matrix(TWO), "values",
                        "values.toarray()", lambda: decided(TWO)),
    "a generator": (lambda y: ce.confusion_counts(y, Y), iter(Y.tolist()), "values",
                    "list(...)", lambda: ce.confusion_counts(Y, Y), "list(values)"),
    "masked entries": (lambda p: ce.roc_auc(Y[:59], p), np.ma.masked_array(P, np.arange(60) == 59), "values",
                       "values.compressed()", lambda: ce.roc_auc(Y[:59], P[:59])),
    "decisions without costs for them": (lambda costs: cost(models=ce.Decisions(np.where(P > .4, "act",
        "wait")), costs=costs), C, "costs", "CostMatrix(costs, classes=..., decisions=...)",
                                         lambda: cost(models=ce.Decisions(P > .4)),
                                         "CostMatrix(costs, classes=[0, 1], decisions=['wait', 'act'])"),
    "gains typed as costs": (lambda costs: cost(models=np.where(P > .4, "act", "wait"), costs=costs),
                             [[0, 50], [0, 60]], "costs", "CostMatrix(costs, classes=..., decisions=...)",
                             lambda: [60 * float(((P > .4) & (Y == 1)).mean()) + 50 * float(
                                 ((P > .4) & (Y == 0)).mean())],
                             "CostMatrix(costs, classes=[0, 1], decisions=['wait', 'act'])"),
    "a frame of costs": (lambda costs: ce.CostMatrix(costs), NAMED.to_frame(), "frame",
                         "CostMatrix.from_frame(frame)", lambda: NAMED),
    "a number for costs": (lambda costs: cost(costs=costs), 5, "",
                           "CostMatrix.from_ratio(5)", lambda: cost()),
    "costs without end": (lambda costs: decided(TWO, costs), np.column_stack([C, [np.inf, np.inf]]), "costs",
                          "leave out the column", lambda: decided(TWO), "costs[:, :2]"),
    "costs a row as a stack": (lambda costs: decided(TWO, costs), np.stack([C] * 60), "costs",
                               "ExampleCosts.from_array(costs)", lambda: decided(TWO)),
    "rows in another order": (lambda w: ce.confusion_counts(pd.Series(Y, IDS), Y,
        sample_weight=w), pd.Series(AMOUNT, IDS)[::-1], "sample_weight", "sample_weight.loc[y_true.index]",
                              lambda: ce.confusion_counts(Y, Y, sample_weight=AMOUNT)),
    "costs in another order": (lambda costs: ce.losses(pd.Series(Y, IDS), 1 - Y, costs), OWN, "costs",
                               "costs[costs.index.get_indexer(y_true.index)]",
                               lambda: ce.losses(Y, 1 - Y, ce.ExampleCosts(fp=1, fn=AMOUNT))),
    "models in another order than the ids": (lambda p: cost(models={"a": p}, ids=IDS), pd.Series(P,
        IDS)[::-1], "p", "models['a'].loc[ids]", lambda: cost(models={"a": P}), "p.loc[ids]"),
    "labels that were only numbered": (lambda y: ce.confusion_counts(y, pd.Series(1 - Y, BACK)), pd.Series(Y),
                                       "labels", "give it its ids as index",
                                       lambda: ce.confusion_counts(Y, 1 - Y),
                                       "labels.set_axis(numpy.arange(60)[::-1])"),
    "a positive class that nobody named": (lambda **o: cost(NAMES, P, {"fp": 1, "fn": 5}, **o), {}, "",
                                           "positive='ill'", lambda: cost()),
    "a class that the costs do not name": (lambda **o: cost(NAMES, P, C, **o), {}, "",
                                           "positive='ill'", lambda: cost()),
    "columns of costs for counts": (lambda v: v.mean() if isinstance(v,
        np.ndarray) else ce.expected_cost(ce.confusion_counts(Y, 1 - Y), v), {"fp": 1, "fn": AMOUNT}, "costs",
                                    "losses(y_true, decisions, costs)", lambda: ce.losses(Y, 1 - Y,
        ce.ExampleCosts(fp=1, fn=AMOUNT)).mean(), "losses(Y, 1 - Y, costs)"),
    "costs by other words": (lambda costs: cost(costs=costs), {"false alarm": 1, "miss": 5}, "",
                             "dict(fp=..., fn=...)", lambda: cost(), "dict(fp=1, fn=5)"),
    "half of the costs": (lambda costs: cost(costs=costs), {"fp": 1}, "",
                          "dict(fp=..., fn=...)", lambda: cost(), "dict(fp=1, fn=5)"),
    "a frame of costs on its side": (lambda frame: ce.CostMatrix.from_frame(frame), NAMED.to_frame().T, "frame",
                                     "frame.T", lambda: NAMED),
    "posteriors of exactly 0": (lambda x: de.AffineCalibrator().fit(x, BY_CHANCE).alpha_, LOG_ZERO, "x",
                                "np.log(np.maximum(p, 1e-12))",
                                lambda: de.AffineCalibrator().fit(np.log(np.where(TWO < .02, 1e-12, TWO)),
        BY_CHANCE).alpha_, "np.log(np.maximum(np.exp(x), 1e-12))"),
    "posteriors for their logarithms": (lambda x: de.AffineCalibrator().fit(x, BY_CHANCE).alpha_, TWO,
                                        "posteriors", "np.log(posteriors)", lambda: de.AffineCalibrator().fit(
                                            np.log(TWO), BY_CHANCE).alpha_),
    "a calibrator that knows nothing": (lambda model: model.transform(np.log(TWO)), de.AffineCalibrator(),
                                        "model", "fit(log_posteriors, y_true)",
                                        lambda: de.AffineCalibrator().fit(np.log(TWO),
        BY_CHANCE).transform(np.log(TWO)), "model.fit(np.log(np.column_stack([1 - P, P])), BY_CHANCE)"),
    "the other class positive": (lambda costs: cost(costs=costs, positive=0), C, "",
                                 "CostMatrix.binary(fp=..., fn=..., classes=[1, 0])", lambda: cost(1 - Y),
                                 "CostMatrix.binary(fp=1, fn=5, classes=[1, 0])"),
    "a positive class that the costs have": (lambda **o: cost(NAMES, P, NAMED, **o), {"positive": "well"}, "",
                                             "leave positive out", lambda: cost(), ""),
    "the probability of nobody": (lambda p: cost(models=p), ce.Posteriors(P, classes=["a"]), "p",
                                  "must be of [0, 1], got ['a']; name it, classes=[1]",
                                  lambda: cost(models=1 - P),
                                  "Posteriors(p.values, classes=[0])"),
    "columns named twice over": (lambda p: cost(models=p), ce.Posteriors(pd.DataFrame(TWO),
        classes=[0, 1]), "p", "give its values, or no classes=", lambda: cost(), "Posteriors(p.values)"),
    "probabilities as decisions": (lambda d: ce.confusion_counts(Y, d), P, "scores", "scores >= threshold",
                                   lambda: ce.confusion_counts(Y, P >= .5), "scores >= .5"),
    "columns that may stand either way": (lambda p: cost(NAMES, p, NAMED), TWO, "values",
                                          "Posteriors(numpy.asarray(values), classes=['well', 'ill'])",
                                          lambda: cost(NAMES, P, NAMED)),
    "a gain typed as a cost": (lambda costs: cost(models=np.where(Y, "treat", "home"), costs=costs),
                               np.array([[0, 1], [5, 9.]]), "costs",
                               "CostMatrix(costs, classes=..., decisions=...)",
                               lambda: [4.5], "CostMatrix(costs, classes=[0, 1], decisions=['home', 'treat'])"),
    "costs that tell the class": (lambda **o: cost(costs=ce.ExampleCosts(fp=1, fn=9. * Y), **o), {}, "",
                                  "costs_known=True", lambda: [0.]),
}


def options(call):
    "Is what is wrong with a call among its options?"
    return "o" in inspect.signature(call).parameters


@pytest.fixture(scope="module")
def messages():
    "What each wrong call says."
    found = {}
    for case, (call, wrong, *_) in ADVICE.items():
        with pytest.raises(ValueError) as error:
            call(**wrong) if options(call) else call(wrong)
        found[case] = str(error.value)
    return found


@pytest.mark.parametrize("case", ADVICE)
def test_what_messages_advise_works_and_does_no_harm(case, messages):
    call, wrong, name, advice, right, *filled = ADVICE[case]
    assert advice in messages[case]
    inside = {**vars(ce), **CLASSES, "numpy": numpy, "np": np, "pandas": pd, "P": P, "Y": Y,
              "BY_CHANCE": BY_CHANCE, "scipy": scipy, "y_true": pd.Series(Y, IDS), "ids": IDS, "j": 1,
              name: wrong}
    code = filled[0] if filled else advice
    found = call(**eval(f"dict({code})", inside)) if options(call) else call(eval(code, inside))
    want = right()
    assert np.allclose(found, want) if isinstance(want, (list, np.ndarray)) else same(found, want)


# ---- the ends of ranges that are one function's own

COUNTS, BILL = [[80, 10], [3, 7]], [[0, 1], [5, 0]]
JOINT = np.array([[[60, 6], [9, 5]], [[2, 4], [3, 11]]])
Y6, S6 = np.array([0, 1, 0, 1, 1, 0]), np.array([.1, .4, .3, .8, .6, .5])


def from_(least, *more):
    return [least], [least - 1, least + .5, *more]


LIMITS = {
    "interval n_resamples": (lambda v: bs.interval(COUNTS, BILL, method="percentile", n_resamples=v, rng=0),
                             from_(100)),
    "interval laplace": (lambda v: bs.interval(COUNTS, BILL, method="bcost", laplace=v, rng=0),
                         ([0, 3], [-1e-6, INF, NAN])),
    "difference factor": (lambda v: bs.difference(JOINT, BILL, method="normal", factor=v),
                          ([1e-3, 9], [0, INF, NAN])),
    "metric_interval n_resamples": (lambda v: bs.metric_interval(COUNTS, "recall", n_resamples=v, rng=0),
                                    from_(100)),
    "loss_interval n_resamples": (lambda v: bs.loss_interval([1, 2, 3.5], clusters=[0, 1, 2],
        method="percentile", n_resamples=v, rng=0), from_(100)),
    "required_pairs power": (lambda v: pl.required_pairs(JOINT, BILL, saving=.5, power=v, method="normal",
        n_sets=20), ([.06, .99], [0, .05, 1, NAN])),
    "required_pairs saving": (lambda v: pl.required_pairs(JOINT, BILL, saving=v, method="normal", n_sets=20),
                              ([-.5, .5], [0, 5, -5, INF, NAN])),
    "required_pairs n_sets": (lambda v: pl.required_pairs(JOINT, BILL, saving=.5, method="normal", n_sets=v),
                              from_(10)),
    "paired_power n": (lambda v: pl.paired_power(JOINT / JOINT.sum(), BILL, v, method="normal", n_sets=10,
                                                 rng=0), ([2, 40], [1, 1.9, INF, NAN])),
    "paired_power n_sets": (lambda v: pl.paired_power(JOINT / JOINT.sum(), BILL, 30,
                                                      method="auto", n_sets=v, rng=0), from_(10)),
    "cost_score_from_rates cost_ratio": (lambda v: cs.cost_score_from_rates(.5, .2, .3, v),
                                         ([1e-6, 1e6], [0, -1, INF, NAN])),
    "isocost_precision cost_score": (lambda v: cs.isocost_precision(.5, v, 2), ([0, .7], [-1e-6, INF, NAN])),
    "spearman_moments n": (ms.spearman_moments, from_(3)),
    "spearman_moments n_draws": (lambda v: ms.spearman_moments(9, 2.0, v), from_(100)),
    "spearman_moments n0": (lambda v: ms.spearman_moments(4, v), ([0, 1e6], [-1e-6, INF, NAN])),
    "matched_beta n": (lambda v: ms.matched_beta(.4, v, .1), from_(1)),
    "matched_beta spread": (lambda v: ms.matched_beta(.4, 9, v), ([0, .5], [-1e-6, INF, NAN])),
    "sample_directed_binary_tree n_samples": (lambda v: cv.sample_directed_binary_tree(v, 2, rng=0),
                                              from_(1)),
    "sample_directed_binary_tree depth": (lambda v: cv.sample_directed_binary_tree(2, v, rng=0), from_(1)),
    "sample_tree_aucs n_curves": (lambda v: cv.sample_tree_aucs("roc", .3, v, rng=0), from_(1)),
    "sample_tree_aucs depth": (lambda v: cv.sample_tree_aucs("roc", .3, 2, depth=v, rng=0), from_(1)),
    "outperformance_curve_auc n_curves": (lambda v: cv.outperformance_curve_auc("roc", .6, .3, n_curves=v),
                                          from_(16)),
    "implied_costs threshold": (de.implied_costs, ([1e-9, 1 - 1e-9], [0, 1, -.1, 1.1, NAN])),
    "stratified_folds folds": (lambda v: de.stratified_folds(Y6, v, rng=0), ([2, 6], [1, 7, 2.5])),
    "reliability bins": (lambda v: de.reliability(Y6, S6, bins=v), from_(1)),
    "bcost n_resamples": (lambda v: bs.bcost(COUNTS, BILL, n_resamples=v, rng=0), from_(100)),
    "prediction_powered strength": (lambda v: ce.prediction_powered(GAPS, Y, C, P, strength=v),
                                    ([0, 1], [-.01, 1.01, NAN])),
    "labelled_rows propensity": (lambda v: labelled_rows(GAPS, v), ([.01, 1], [0, -.1, 1.01])),
    "resampled_coverage n_scores": (lambda v: tr.resampled_coverage(v, 0, 0), ([2], [1])),
    "resampled_coverage test_share": (lambda v: tr.resampled_coverage(5, v, 0), ([0], [-.01])),
    "resampled_coverage correlation": (lambda v: tr.resampled_coverage(5, 0, v), ([0, .99], [1])),
    "churn_costs p_eff": (lambda v: wa.churn_costs([1., 2.], .01, v), ([.1, 1], [0, 1.1])),
    "churn_costs retention_cost": (lambda v: wa.churn_costs([1., 2.], v), ([.01], [0, .5])),
    "cost_correlation n_samples": (lambda v: ms.cost_correlation(np.arange(9.) + 1, .5, .5, metrics="mcc",
        n_samples=v, rng=0), from_(2)),
    "effective_weight weights": (lambda v: wa.effective_weight([.5, v], .5), ([.01, .99], [0, 1])),
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


# ---- what is like no other refusal: the call, and what is said (a ValueError, where no other kind of error
# stands beside it)

LETTERS = ce.CostMatrix([[0, 1], [1, 0]], classes=["a", "b"])
BY_NAME = "a Table of pyarrow; give a pandas or polars frame"
GAPS = np.where(np.arange(60) % 3 == 0, np.nan, Y)


def arrow():
    import pyarrow
    return pyarrow.table({"a": [.5, .2], "b": [.5, .8]})


REFUSED = {
    "another library's posteriors": (lambda: ce.bayes_decisions(arrow(), LETTERS), "posteriors.*: "
                                     + BY_NAME),
    "another library's counts": (lambda: ce.expected_cost(arrow(), C), "counts.*: " + BY_NAME),
    "another library's model": (lambda: ce.evaluate(["a", "b"], {"m": arrow()}, LETTERS),
                                "models.*: " + BY_NAME),
    "another library's decisions": (lambda: ce.losses(["a", "b"], arrow(), LETTERS),
                                    "decisions.*: " + BY_NAME),
    "twice as certain": (lambda: ce.paired_power(2 * JOINT / JOINT.sum(), C, 10), "probabilities"),
    "a saving too small to be seen": (lambda: ce.required_pairs(JOINT / JOINT.sum(), C, saving=1e-6),
                                      r"10\^9"),
    "no posteriors": (lambda: rivals.f_beta_threshold([]), "posteriors"),
    "a rule of one class": (lambda: fit_rule([0, 0], [.1, .2], C),
                            "samples: a class has no sample"),
    "folds of nobody": (lambda: cost(folds=np.full(60, None)), r"^folds\b.*[;:]"),
    "the metric of a class that is not there": (lambda: ce.metric_interval([[5, 1], [0, 0]], "mcc"),
                                                "class 1 has no example"),
    "three labels for two": (lambda: sc.soft_expected_cost([.1, .2], [0, 2], C, .5, 1), "y_true"),
    "costs of three for two": (lambda: sc.soft_expected_cost([.1, .2], [0, 1], 1 - np.eye(3), .5, 1),
                               "3 x 3, not 2 classes"),
    "a map of four classes": (lambda: ec._bayes_regions(1 - np.eye(4)), "two or three classes"),
    "an area of one class": (lambda: sc.auc_interval([1, 1], [.1, .2]), "y_true: both classes are needed"),
    "posteriors above 1": (lambda: ce.prediction_powered(GAPS, Y, C, 3 * P),
                           "posteriors.*: .* but probabilities lie in"),
    "one loss": (lambda: ce.confidence_sequence([1.], bounds=(0, 1)),
                 "losses: at least 2 losses are needed, got 1"),
    "a kappa below its least": (lambda: ce.outperformance("cohen_kappa", -.9, .1), "value: -0.9 is outside"),
    "a lift above its largest": (lambda: ce.outperformance("lift", 11, .1), "value: 11 is outside"),
    "a limit beyond the bounds": (lambda: ce.cost_alarm(1. * Y, bounds=(0, 1), limit=2),
                                  "limit: must lie in"),
    "two revenues": (lambda: ms.cost_correlation([1, 2], .5, .5), "^revenues"),
    "an option of no metric": (lambda: ce.METRICS["recall"](COUNTS, beta=1), "beta", TypeError),
    "a metric without its weight": (lambda: ce.METRICS["weighted_accuracy"].function(COUNTS), "weight",
                                    TypeError),
    "an option in other letters": (lambda: ce.METRICS["f_beta"](COUNTS, betta=1), "did you mean 'beta'",
                                   TypeError),
    "an option of no metric, outperformed": (lambda: ce.outperformance("mcc", .5, .1, beta=2), "beta",
                                             TypeError),
    "a convention in words": (lambda: ce.METRICS["recall"](COUNTS, undefined="zero"),
                              "undefined: expected numbers"),
    "a score without costs": (lambda: ce.METRICS["cost_score"](COUNTS), "cost_score needs them.*cost_ratio"),
    "a cost without costs": (lambda: ce.evaluate_metrics(COUNTS, names=["recall", "expected_cost"]),
                             "expected_cost needs them"),
    "a metric in other letters": (lambda: ce.METRICS["recal"], "did you mean 'recall'", KeyError),
    "three classes for a metric of two": (lambda: ce.METRICS["recall"](np.ones((3, 3))),
                                          r"got 3 x 3; one_vs_rest\(counts\).*expected_cost"),
    "many matrices": (lambda: ce.evaluate_metrics(COUNTS, [C, C]), "costs: expected one cost matrix"),
    "axes of three lengths": (lambda: ce.JointCounts(np.ones((2, 2, 3))),
                              r"array: expected shape \(..., K, M, M\)"),
    "an axis too few": (lambda: ce.JointCounts(np.ones((3, 3))), r"array: expected shape \(..., K, M, M\)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_words(case):
    call, words, *error = REFUSED[case]
    if "library" in case:
        pytest.importorskip("pyarrow")
    with pytest.raises(*error or [ValueError], match=words):
        call()


FLOORS = ("core", "confusion", "costs", "decisions", "samples")
ADVISED = re.compile(r"[\w.]+\([^)]*\)|\b\w+=")
TRIED_ELSEWHERE = {  # the beginning of what is advised, and why no one line of code follows it
    "by its name the probability of": "whose it is, by the name of its column: test_samples.py",
    **dict.fromkeys(["holds text, ", "are numbers beyond [0, 1] beside probabilities, ",
                     "called like a label; ", "; give sep="],
                    "columns of a table, marks of a file: test_samples.py"),
    "give both the same labels (classes=, decisions=)": "labels that nobody knows: test_labels.py",
    "once is needed, as of np.argsort(ids)": "the order itself: test_decisions.py",
}


def advised(module):
    "The fixed parts of each error message of a module that advises code."
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Raise) and node.exc is not None:
            parts = [n.value for n in ast.walk(node.exc) if isinstance(n, ast.Constant)
                     and isinstance(n.value, str) and not n.value.startswith(".")]
            if ADVISED.search(" ".join(parts)):
                yield parts


@pytest.mark.parametrize("name", FLOORS)
def test_every_message_that_advises_code_is_tried(name, messages):
    untried = [parts for parts in advised(importlib.import_module(f"cost_eval.{name}"))
               if not any(all(part in said for part in parts if len(part) > 3) or any(part in said
            for part in parts if ADVISED.search(part)) for said in messages.values())
               and not any(known in " ".join(parts) for known in TRIED_ELSEWHERE)]
    assert untried == []


# ---- in the shell's grammar

def test_no_message_speaks_python_in_the_shell(messages):
    """No argument=, call, index or mapping is left of what is raised here; what is wrong is still said, and
    what a user called like Python stays."""
    said = list(messages.values())
    for call, *_ in REFUSED.values():
        with pytest.raises((ValueError, TypeError, KeyError)) as refused:
            call()
        said.append(str(refused.value))
    with pytest.raises(ValueError) as refused:
        ce.evaluate(["a", "b"], {"P (x=a)": [.1, .9]}, [[0, 1], [5, 0]], positive="c=d")
    assert "'c=d' is unknown; there are a, b" in in_the_shell(str(refused.value))
    for message in said:
        shown = in_the_shell(message)
        bare = re.sub(r"(?<!\w)'[^']*'|\"[^\"]*\"|--[a-z-]+=|there are [^;]*|COL=CLASS|LIMIT,...", "", shown)
        assert not re.search(r"[a-z_]+=|\w\(|\w\[|\{|(?<!\w)\.[a-z]|\by_true\b", bare), (message, shown)
        first = re.split("[;(=,]", message.partition(": ")[2])[0].replace("y_true", "--label").strip()
        assert first in shown or ADVISED.search(message.partition(";")[0]), (message, shown)
