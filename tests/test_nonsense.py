"""A public function with an example, given nonsense for one argument of it, works or says so in a ValueError; plots and files are left out.

And what the messages advise is tried: the advice is taken out of the message, followed to the letter, and gives the right answer.
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

import cost_eval
import cost_eval.api as ce
from cost_eval.core import same
from cost_eval.costs import as_costs
from cost_eval.policies import fit_rule
from cost_eval.samples import read_samples

LEFT_OUT = ("api", "app", "datasets", "reproduce", "reproductions", "scale", "plotting", "robustness", "page")  # files, frames of Dask, axes, what takes a report
MODULES = [m.name for m in pkgutil.iter_modules(cost_eval.__path__) if m.name[0] != "_" and m.name not in LEFT_OUT]
NONSENSE = {"None": None, "text": "x", "an object": [object()], "ragged": [[1], [1, 2]], "no rows": np.zeros((0, 2)), "a negative number": -1,
            "beyond 64 bits": 10**25}
# no check of ours: flags; axes; a record's own field; a cached function of whole numbers; more memory than there is
ALLOWED = {("log", ""), ("ax", ""), ("moments", "standardize_spearman"), ("n", "spearman_moments"), ("n0", "spearman_moments"),
           ("n_draws", "spearman_moments"), ("n", "paired_power")}


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
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith(("plot_", "explore_")):
            for test in doctest.DocTestFinder().find(function, name, globs={**vars(module), name: recorded(function)}):
                doctest.DocTestRunner(verbose=False).run(test, out=lambda text: None, clear_globs=True)
    return {(function, *bound.arguments): (function, bound) for function, bound in calls}.values()


def changed(bound, name, value):
    "The arguments with one exchanged, by position and by name as the call needs them."
    new = bound.signature.bind_partial()
    new.arguments.update({p: {**bound.arguments, name: value}[p] for p in bound.signature.parameters if p == name or p in bound.arguments})
    return new


@pytest.mark.parametrize("name", MODULES)
def test_nonsense_is_refused(name):
    calls, wrong = example_calls(importlib.import_module(f"cost_eval.{name}")), []
    assert calls or name in ("core", "costs", "estimators", "report")
    calls = [call for call in calls if next(iter(call[1].signature.parameters), None) not in ("case", "found")]  # samples that were read and checked
    for function, bound in calls:
        for parameter in bound.signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or {(parameter.name, ""), (parameter.name, function.__name__)} & ALLOWED:
                continue
            for what, value in NONSENSE.items():
                new = changed(bound, parameter.name, value)
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        function(*new.args, **new.kwargs)
                except ValueError as error:
                    if len(str(error)) < 15:
                        wrong.append(f"{function.__name__}({parameter.name}={what}): only says {error}")
                except Exception as error:
                    wrong.append(f"{function.__name__}({parameter.name}={what}): {type(error).__name__}: {error}"[:200])
    assert wrong == []


# ---- what messages advise

RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
P = np.clip(.5 * Y + .5 * RNG.random(60), .01, .99)
TWO, THREE, C = np.column_stack([1 - P, P]), RNG.dirichlet([1, 1, 1], 60), np.array([[0., 1], [5, 0]])
NAMES, IDS = np.where(Y == 1, "ill", "well"), np.array([f"c{k}" for k in range(60)])[RNG.permutation(60)]
AMOUNT, BY_CHANCE = 1 + 9 * RNG.random(60), RNG.integers(0, 2, 60)  # labels that the posteriors do not separate
CLASSES = {kind.__name__: kind for kind in (ce.Decisions, ce.Posteriors, ce.Scores, ce.CostMatrix, ce.ExampleCosts, ce.BinaryCounts)} | {"read_samples": read_samples}
NAMED = ce.CostMatrix(C, classes=["well", "ill"])
OWN = ce.ExampleCosts(fp=1, fn=pd.Series(AMOUNT, IDS)[::-1])
BACK = np.arange(60)[::-1]


def cost(y=Y, models=P, costs=C, **options):
    return ce.evaluate(y, models, costs, **{"rule": "bayes", "rng": 0} | options).best["cost"].tolist()


def decided(p, costs=C, **options):
    return ce.bayes_decisions(p, costs, **options)


# the call; what is wrong; what the message calls it; what it advises; the right answer; and the advice with its blanks filled, if it has any. The advice is run
# as code, the wrong value under the name that the message uses, and the call repeated with what comes out (or with the options, where nothing but one was missing).
ADVICE = {
    "labels in a column of their own": (lambda y: cost(y), Y[:, None], "values", "numpy.ravel(values)", lambda: cost()),
    "a list of lists of one": (lambda y: ce.confusion_counts(y, Y), Y[:, None].tolist(), "values", "numpy.ravel(values)", lambda: ce.confusion_counts(Y, Y)),
    "labels beside ids": (lambda y: cost(y), pd.DataFrame({"nr": np.arange(60) + 7, "y": Y}), "y_true", "y_true['y']", lambda: cost()),
    "a frame of labels": (lambda y: ce.confusion_counts(y, Y), pd.DataFrame({"nr": np.arange(60) + 7, "y": Y}), "values", "values['y']", lambda: ce.confusion_counts(Y, Y)),
    "one-hot labels": (lambda y: cost(y), np.eye(2, dtype=int)[Y], "y_true", "numpy.argmax(y_true, axis=1)", lambda: cost()),
    "one-hot labels as lists": (lambda y: cost(y), np.eye(2)[Y].tolist(), "y_true", "numpy.argmax(y_true, axis=1)", lambda: cost()),
    "one-hot labels with names": (lambda y: cost(y, TWO, NAMED), pd.DataFrame(np.eye(2)[Y], columns=["well", "ill"]), "y_true", "y_true.idxmax(axis=1)", lambda: cost(NAMES, TWO, NAMED)),
    "several labels a row": (lambda y: cost(y), np.column_stack([1 - Y * (P > .6), Y]), "y_true", "numpy.asarray(y_true)[:, j]", lambda: cost()),
    "logits": (lambda p: cost(models=p), np.log(TWO) + 3, "values", "scipy.special.softmax(values, axis=1)", lambda: cost()),
    "log-posteriors": (lambda p: decided(p), np.log(TWO), "values", "scipy.special.softmax(values, axis=1)", lambda: decided(TWO)),
    "logits that are said to be logarithms": (lambda p: decided(p, log=True), np.log(TWO) + 3, "values", "scipy.special.log_softmax(values, axis=1)", lambda: decided(TWO)),
    "votes": (lambda p: cost(models=p), 500 * TWO, "values", "values / values.sum(axis=1, keepdims=True)", lambda: cost()),
    "percentages of one class": (lambda p: cost(models=p), 100 * P, "values", "values / 100", lambda: cost()),
    "scores that look like percentages": (lambda p: cost(models=p, rule="tuned", folds=3), 100 * P, "values", "Scores(values)", lambda: cost(models=ce.Scores(P), rule="tuned", folds=3)),
    "models as a list": (lambda p: cost(models=p), [P, P**2], "values", "{'a': values[0], ...}", lambda: cost(models={"a": P, "b": P**2}), "{'a': values[0], 'b': values[1]}"),
    "classes in rows": (lambda p: cost(models=p), TWO.T, "values", "numpy.transpose(values)", lambda: cost()),
    "one column of posteriors": (lambda p: decided(p), P, "p", "np.column_stack([1 - p, p])", lambda: decided(TWO)),
    "a model in a column of its own": (lambda p: cost(models=p), P[:, None], "values", "numpy.ravel(values)", lambda: cost()),
    "numbers as text": (lambda p: cost(models=p), P.astype(str), "values", "values.astype(float)", lambda: cost()),
    "posteriors under other names": (lambda p: cost(models={"m": p}), pd.DataFrame(TWO, columns=["a", "b"]), "values", "Posteriors(values, classes=[...])", lambda: cost(models={"m": TWO}), "Posteriors(values.to_numpy(), classes=[0, 1])"),
    "a frame of either": (lambda p: cost(models=p), pd.DataFrame(TWO, columns=["a", "b"]), "frame", "{name: frame[name] for name in ['a', 'b']}", lambda: cost(models={"a": 1 - P, "b": P})),
    "models named as classes": (lambda p: cost(models=p), pd.DataFrame({0: 1 - P, 1: P**2}), "frame", "{name: frame[name] for name in frame}", lambda: cost(models={"0": 1 - P, "1": P**2})),
    "costs of rows where one matrix is needed": (lambda costs: as_costs(costs, one=True), OWN, "costs", "costs.mean()", lambda: OWN.mean()),
    "a sparse matrix": (lambda p: decided(p), scipy.sparse.csr_matrix(TWO), "values", "values.toarray()", lambda: decided(TWO)),
    "a generator": (lambda y: ce.confusion_counts(y, Y), iter(Y.tolist()), "values", "list(...)", lambda: ce.confusion_counts(Y, Y), "list(values)"),
    "masked entries": (lambda p: ce.roc_auc(Y[:59], p), np.ma.masked_array(P, np.arange(60) == 59), "values", "values.compressed()", lambda: ce.roc_auc(Y[:59], P[:59])),
    "decisions without costs for them": (lambda costs: cost(models=ce.Decisions(np.where(P > .4, "act", "wait")), costs=costs), C, "costs", "CostMatrix(costs, classes=..., decisions=...)",
                                         lambda: cost(models=ce.Decisions(P > .4)), "CostMatrix(costs, classes=[0, 1], decisions=['wait', 'act'])"),
    "labels that the costs do not name": (lambda costs: cost(np.array(list("abc"))[Y + (P > .9)], THREE, costs), 1 - np.eye(3), "costs", "CostMatrix(costs, classes=['a', 'b', 'c'])",
                                          lambda: cost(Y + (P > .9), THREE, 1 - np.eye(3))),
    "a frame of costs": (lambda costs: ce.CostMatrix(costs), NAMED.to_frame(), "frame", "CostMatrix.from_frame(frame)", lambda: NAMED),
    "a number for costs": (lambda costs: cost(costs=costs), 5, "", "CostMatrix.from_ratio(5)", lambda: cost()),
    "costs without end": (lambda costs: decided(TWO, costs), np.column_stack([C, [np.inf, np.inf]]), "costs", "leave out the column", lambda: decided(TWO), "costs[:, :2]"),
    "costs a row as a stack": (lambda costs: decided(TWO, costs), np.stack([C] * 60), "costs", "ExampleCosts.from_array(costs)", lambda: decided(TWO)),
    "rows in another order": (lambda w: ce.confusion_counts(pd.Series(Y, IDS), Y, sample_weight=w), pd.Series(AMOUNT, IDS)[::-1], "sample_weight", "sample_weight.loc[y_true.index]",
                              lambda: ce.confusion_counts(Y, Y, sample_weight=AMOUNT)),
    "costs in another order": (lambda costs: ce.losses(pd.Series(Y, IDS), 1 - Y, costs), OWN, "costs", "costs[costs.index.get_indexer(y_true.index)]",
                               lambda: ce.losses(Y, 1 - Y, ce.ExampleCosts(fp=1, fn=AMOUNT))),
    "models in another order than the ids": (lambda p: cost(models={"a": p}, ids=IDS), pd.Series(P, IDS)[::-1], "p", "models['a'].loc[ids]", lambda: cost(models={"a": P}), "p.loc[ids]"),
    "labels that were only numbered": (lambda y: ce.confusion_counts(y, pd.Series(1 - Y, BACK)), pd.Series(Y), "labels", "give it its ids as index",
                                       lambda: ce.confusion_counts(Y, 1 - Y), "labels.set_axis(numpy.arange(60)[::-1])"),
    "a positive class that nobody named": (lambda **o: cost(NAMES, P, {"fp": 1, "fn": 5}, **o), {}, "", "positive='ill'", lambda: cost()),
    "a class that the costs do not name": (lambda **o: cost(NAMES, P, C, **o), {}, "", "positive='ill'", lambda: cost()),
    "columns of costs for counts": (lambda v: v.mean() if isinstance(v, np.ndarray) else ce.expected_cost(ce.confusion_counts(Y, 1 - Y), v), {"fp": 1, "fn": AMOUNT}, "costs",
                                    "losses(y_true, decisions, costs)", lambda: ce.losses(Y, 1 - Y, ce.ExampleCosts(fp=1, fn=AMOUNT)).mean(), "losses(Y, 1 - Y, costs)"),
    "costs by other words": (lambda costs: cost(costs=costs), {"false alarm": 1, "miss": 5}, "", "dict(fp=..., fn=...)", lambda: cost(), "dict(fp=1, fn=5)"),
    "half of the costs": (lambda costs: cost(costs=costs), {"fp": 1}, "", "dict(fp=..., fn=...)", lambda: cost(), "dict(fp=1, fn=5)"),
    "a numbered frame of costs": (lambda frame: decided(TWO, frame), pd.DataFrame(C), "frame", "frame.rename_axis('class')", lambda: decided(TWO)),
    "a frame whose rows may be anything": (lambda **o: ce.CostMatrix.from_frame(pd.DataFrame(C), **o), {}, "", "give classes=...", lambda: ce.CostMatrix(C), "classes=[0, 1]"),
    "labels without columns": (lambda **o: ce.AffineCalibrator(**o).fit(np.log(TWO), np.array(["well", "ill"])[BY_CHANCE]).alpha_, {}, "", "classes=[...]", lambda: ce.AffineCalibrator().fit(np.log(TWO), BY_CHANCE).alpha_,
                               "classes=['well', 'ill']"),
    "posteriors of exactly 0": (lambda x: ce.AffineCalibrator().fit(x, BY_CHANCE).alpha_, np.log(np.where(TWO < .02, 0, TWO)), "x", "np.log(np.maximum(p, 1e-12))",
                                lambda: ce.AffineCalibrator().fit(np.log(np.where(TWO < .02, 1e-12, TWO)), BY_CHANCE).alpha_, "np.log(np.maximum(np.exp(x), 1e-12))"),
    "posteriors for their logarithms": (lambda x: ce.AffineCalibrator().fit(x, BY_CHANCE).alpha_, TWO, "posteriors", "np.log(posteriors)", lambda: ce.AffineCalibrator().fit(np.log(TWO), BY_CHANCE).alpha_),
    "a calibrator that knows nothing": (lambda model: model.transform(np.log(TWO)), ce.AffineCalibrator(), "model", "fit(log_posteriors, y_true)",
                                        lambda: ce.AffineCalibrator().fit(np.log(TWO), BY_CHANCE).transform(np.log(TWO)), "model.fit(np.log(np.column_stack([1 - P, P])), BY_CHANCE)"),
    "samples that were not read": (lambda samples: fit_rule(samples, rule="bayes").threshold, "x", "", "read_samples(y_true, models, costs)", lambda: np.nan, "read_samples(Y, P, [[0, 1], [5, 0]])"),
    "the other class positive": (lambda costs: cost(costs=costs, positive=0), C, "", "CostMatrix.binary(fp=..., fn=..., classes=[1, 0])", lambda: cost(1 - Y), "CostMatrix.binary(fp=1, fn=5, classes=[1, 0])"),
    "a positive class that the costs have": (lambda **o: cost(NAMES, P, NAMED, **o), {"positive": "well"}, "", "leave positive out", lambda: cost(), ""),
    "the probability of nobody": (lambda p: cost(models=p), ce.Posteriors(P, classes=["a"]), "p", "must name the one class whose probability this is, of [0, 1]", lambda: cost(models=1 - P),
                                  "Posteriors(p.values, classes=[0])"),
    "columns named twice over": (lambda p: cost(models=p), ce.Posteriors(pd.DataFrame(TWO), classes=[0, 1]), "p", "give its values, or no classes=", lambda: cost(), "Posteriors(p.values)"),
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
    inside = {**vars(ce), **CLASSES, "numpy": numpy, "np": np, "P": P, "Y": Y, "BY_CHANCE": BY_CHANCE, "scipy": scipy, "y_true": pd.Series(Y, IDS), "ids": IDS, "j": 1, name: wrong}
    code = filled[0] if filled else advice
    found = call(**eval(f"dict({code})", inside)) if options(call) else call(eval(code, inside))
    want = right()
    assert np.allclose(found, want) if isinstance(want, (list, np.ndarray)) else same(found, want)


FLOORS = ("core", "confusion", "costs", "decisions", "samples")
ADVISED = re.compile(r"[\w.]+\([^)]*\)|\b\w+=")
TRIED_ELSEWHERE = {  # the beginning of what is advised, and why no one line of code follows it
    "may be the confidence in the decisions": "a frame with decisions beside it: test_samples.py",
    "give both the same labels (classes=, decisions=)": "labels that nobody knows: test_labels.py",
}


def advised(module):
    "The fixed parts of each error message of a module that advises code."
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.Raise) and node.exc is not None:
            parts = [n.value for n in ast.walk(node.exc) if isinstance(n, ast.Constant) and isinstance(n.value, str) and not n.value.startswith(".")]
            if ADVISED.search(" ".join(parts)):
                yield parts


@pytest.mark.parametrize("name", FLOORS)
def test_every_message_that_advises_code_is_tried(name, messages):
    untried = [parts for parts in advised(importlib.import_module(f"cost_eval.{name}"))
               if not any(all(part in said for part in parts if len(part) > 3) or any(part in said for part in parts if ADVISED.search(part)) for said in messages.values())
               and not any(known in " ".join(parts) for known in TRIED_ELSEWHERE)]
    assert untried == []
