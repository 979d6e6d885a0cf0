"""A public function, given nonsense for one argument of a call of calls.py, works or says so in a ValueError
that names it; what is known to be wrong is refused, with what was given; a range ends where it says. And what
messages advise is tried: followed to the letter, it gives the right answer."""
import ast
import importlib
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.special

import calls
from problems import Problem, ce
from test_invariances import columns

import cost_eval.api
from cost_eval.__main__ import _in_the_shell as in_the_shell
from cost_eval.core import same

pytestmark = pytest.mark.usefixtures("few_draws")
N = 41
PLAIN = Problem(1, classes=2, n=N, says=set())
GIVEN = Problem(2, classes=2, n=N, says={"weight", "clusters", "groups", "priors", "strata"})
# methods; files, pictures and the command; what our own functions hand on, read and checked
LEFT_OUT = re.compile(
    r"\w+\.|main|explore|run_item|compare|published|places|by_paper|stored_rows|moved|names|describe|"
    "by_author|display_name|plot_|read_file|given_folds|fold_parts|out_of_fold|run_rule|CrossFit|"
    "isotonic_steps|best_threshold_counted|read_requirements|hull_vertices|metric$|metric ")


def functions():
    "The first line of each function that is given nonsense here: not of files, pictures and the command."
    return {line.partition(" ")[0]: line for line in reversed(calls.CALLS) if not LEFT_OUT.match(line)}


def attempts(name):
    "Every call of a function about two classes, with little given and with much."
    for line in calls.CALLS:
        if line.partition(" ")[0] == name:
            for problem in (PLAIN, GIVEN):
                yield from calls.lines(line, problem).values()


def refusal(function, call):
    "What a function says to a call; None where it takes it."
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call.answer(function)
    except ValueError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


# ---- one wrong argument, the others right

NAN, INF = np.nan, np.inf


def with_entry(new, at=0):
    "The argument with one entry exchanged."
    def change(good):
        if isinstance(good, dict):
            return {name: change(one) for name, one in good.items()}
        array = np.array(getattr(good, "array", getattr(good, "values", good)), object if new is None
                         else float)
        array[at if np.ndim(at) else (at,) * array.ndim] = new
        return array
    return change


def each(change):
    "The change of an argument, or of each model in it."
    return lambda good: {name: change(one) for name, one in good.items()} if isinstance(good,
        dict) else change(good)


def table(good):
    return np.asarray(getattr(good, "array", good))


OPEN, SHARE, POSITIVE = [0, 1, -.1, 1.1, NAN], [-.01, 1.01, NAN], [0, -1, INF, NAN]
NOT_NEGATIVE, WHOLE = [-1e-6, INF, NAN], [0, 1.5]
SHORT = each(lambda good: good[:-1] if not hasattr(good, "values") or hasattr(good, "iloc")
             else good.values[:-1])
MEMBERS = [SHORT, with_entry(None, 1)]
COUNTS = [lambda good: -table(good) - 1, with_entry(NAN), with_entry(INF), lambda good: table(good).ravel(),
          lambda good: np.ones((2, 5)), lambda good: np.ma.masked_equal(table(good), table(good).flat[0])]
LOSSES = [with_entry(NAN, 1), lambda good: good.astype(str), lambda good: good[:0]]
WRONG = {  # argument: values that are wrong, or how they are made of the right one
    "confidence": [0, 1, 95, NAN], **dict.fromkeys(("prevalence", "target_prevalence", "alpha"), OPEN),
    **dict.fromkeys(("weight", "tpr", "fpr", "score", "recall", "precision", "auc"), SHARE),
    **dict.fromkeys(("a", "b", "fp_cost", "fn_cost", "factor"), POSITIVE), "rng": ["x", -1, 1.5],
    **dict.fromkeys(("beta", "cost_score", "laplace", "n0", "margin"), NOT_NEGATIVE), "cost_ratio": [-1, INF,
        NAN],
    **dict.fromkeys(("method", "rule", "metric", "curve", "average", "weighted", "kind"), ["nosuch"]),
    **dict.fromkeys(("n_resamples", "n_sets", "n_samples", "n_curves", "depth", "repeats", "points", "bins",
                     "n_jobs", "folds", "cv", "n_labels"), WHOLE),
    "sample_weight": [SHORT, with_entry(-1), with_entry(NAN), with_entry(INF),
                      lambda good: np.array(["x"] * len(good))],
    **dict.fromkeys(("clusters", "groups", "strata"), MEMBERS),
    "y_true": [*MEMBERS, lambda good: np.column_stack([good, good]), lambda good: good[:0]],
    **dict.fromkeys(("decisions", "decisions_a", "decisions_b"), [SHORT, with_entry(7, [0])]),
    "scores": [SHORT, with_entry(NAN, [1]), lambda good: np.array(["a"] * len(good))],
    "posteriors": [SHORT, with_entry(NAN, 1), with_entry(-.5, 1)],
    **dict.fromkeys(("counts", "counts_a", "counts_b", "joint", "probabilities"), COUNTS),
    **dict.fromkeys(("losses", "losses_a", "losses_b"), LOSSES),
    "costs": [lambda good: with_entry(NAN, (0, 1))(ce.as_costs(good)), lambda good: with_entry(INF, (0,
        1))(ce.as_costs(good)), "much", 5, lambda good: np.ones(5), lambda good: [[0, 1], [1]],
              lambda good: {"fp": 1}, lambda good: np.ones((N, 4)) * [1, 5, 0, .5]],
    "priors": [[.5, .6], [.2, .3, .5], [-.5, 1.5], [NAN, 1], {"a": .5, "b": .5}, 25],
}
NONSENSE = {"None": None, "text": "x", "an object": [object()], "ragged": [[1], [1, 2]],
            "no rows": np.zeros((0, 2)), "a negative number": -1, "beyond 64 bits": 10**25}
# refused by the argument's name
BY_NAME = {"None", "text", "an object", "a negative number", "beyond 64 bits"}
# what may be named instead
SAID_AS = {"joint": "counts", "decisions": "models", "posteriors": "models", "y_true": "models",
           "model": "models", "metric": "metrics", "curves": "curve", "rows": "samples", "source": "x",
           "labels": "x",
           **dict.fromkeys(("fp", "fn", "tp", "tn"), "costs")}
TAKEN = {
    **dict.fromkeys(("log", "ax", "cv"), "no check of ours"),
    "standardize_spearman.moments": "a record's own field",
    "cost_scorer.decisions": "a word", "paired_power.n": "more memory than there is",
    **{f"{name}.costs": "in place of bounds: test_sequences.py"
       for name in ("confidence_sequence", "difference_sequence", "cost_alarm")},
    **dict.fromkeys(("interval.rng", "interval.n_resamples", "difference.rng", "difference.n_resamples"),
                    "read by methods that draw: bcost, loss_interval"),
    **dict.fromkeys(("bootstrap_coverage.costs", "bootstrap_coverage.probabilities", "fit_rule.folds"),
                    "one number a class, a label a row"),
    **dict.fromkeys(("attainable.costs", "as_costs.y_true"), "only counted: there are no rows"),
    **{f"{name}.decisions": "labels of a table" for name in ("CostMatrix", "ConfusionCounts", "JointCounts")},
    **dict.fromkeys(("prediction_powered.y_true", "bounds_without_labels.y_true", "labelled_rows.y_true"),
                    "labels that are missing are what it is for"),
    **{f"spearman_moments.{n}": "a cached function of whole numbers" for n in ("n", "n0", "n_draws")},
}  # function.argument, or argument: why what is wrong elsewhere is taken or refused in other words


def named(said, parameters, parameter):
    "Does a message begin with an argument, this one or what it meets?"
    return {*parameters, SAID_AS.get(parameter, "")} & {*re.findall(r"\w+", said.partition(":")[0])}


def spoilt(name):
    "(argument, what is wrong, its value, the call) of what is known to be wrong in some call of a function."
    function, tries = ce.find(name), [*attempts(name)]
    for parameter in sorted(calls.parameters(function).keys() & WRONG.keys()):
        if known(name, parameter):
            continue
        given = [call for call in tries if call.named(function).get(parameter) is not None]
        for wrong in WRONG[parameter]:
            if wrong is SHORT and columns(given[0] if given else tries[0]) < 2:
                continue
            if callable(wrong) and given:
                yield parameter, wrong, wrong(given[0].named(function)[parameter]), given[0]
            elif not callable(wrong):
                yield parameter, wrong, wrong, (given or tries)[0]


def known(name, parameter):
    return {f"{name}.{parameter}", parameter} & TAKEN.keys()


def untold(name):
    "What is wrong and not refused as it should be."
    function, tries = ce.find(name), [*attempts(name)]
    parameters = calls.parameters(function)
    for parameter, wrong, value, call in spoilt(name):
        said = refusal(function, call.but(function, **{parameter: value})) or "taken"
        short = isinstance(value, (int, float, str))
        if not (named(said, parameters, parameter) and len(said) > 15
                                               and (not short or f"{value}" in said.replace("NaN", "nan")
                                                    or "shape" in said)):
            yield f"{parameter}={wrong if short else np.shape(value)}: {said[:110]}"
    for parameter in parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or known(name, parameter.name):
            continue
        for what, value in NONSENSE.items():
            said = refusal(function, tries[0].but(function, **{parameter.name: value}))
            if said and (re.match(r"\w+(Error|Exception): ", said) or len(said) < 15
                         or what in BY_NAME and not named(said, parameters, parameter.name)):
                yield f"{parameter.name}={what}: {said[:110]}"


@pytest.mark.parametrize("name", functions())
def test_a_wrong_argument_is_refused_by_name(name):
    assert [*untold(name)] == []



# ---- what messages advise

RNG = np.random.default_rng(0)
Y = np.arange(60) % 2
P = np.clip(.5 * Y + .5 * RNG.random(60), .01, .99)
TWO, C = np.column_stack([1 - P, P]), np.array([[0., 1], [5, 0]])
NAMES, IDS = np.where(Y == 1, "ill", "well"), np.array([f"c{k}" for k in range(60)])[RNG.permutation(60)]
# labels that the posteriors do not separate
AMOUNT, BY_CHANCE = 1 + 9 * RNG.random(60), RNG.integers(0, 2, 60)
NAMED = ce.CostMatrix(C, classes=["well", "ill"])
TURNED = pd.DataFrame([[3, 4], [2, 1]], ["ok", "fraud"], ["fraud", "ok"])
OWN = ce.ExampleCosts(fp=1, fn=pd.Series(AMOUNT, IDS)[::-1])
ACT = np.where(P > .4, "act", "wait")


def cost(y=Y, models=P, costs=C, **options):
    return ce.evaluate(y, models, costs, **{"rule": "bayes", "rng": 0} | options).best["cost"].tolist()


def count(y):
    return ce.confusion_counts(y, Y)


def judge(models):
    return cost(models=models)


def priced(costs):
    return cost(costs=costs)


def decided(p, costs=C):
    return ce.bayes_decisions(p, costs)


def calibrated(x):
    return ce.AffineCalibrator().fit(x, BY_CHANCE).alpha_


def acted(costs):
    return cost(models=ce.Decisions(ACT), costs=costs)


# the call; what is wrong; what is right; what the message advises; the advice with its blanks filled, if it
# has any. The advice is run as code, the wrong value under every name that messages use.
ADVICE = {
    "labels in a column of their own": (cost, Y[:, None], Y, "numpy.ravel(values)"),
    "a list of lists of one": (count, Y[:, None].tolist(), Y, "numpy.ravel(values)"),
    "labels beside ids": (cost, pd.DataFrame({"nr": np.arange(60) + 7, "y": Y}), Y, "values['y']"),
    "several labels a row": (cost, np.column_stack([1 - Y * (P > .6), Y]), Y, "values[:, j]"),
    "labels in lists of one": (cost, pd.Series([[v] for v in Y.tolist()]), Y,
                               "numpy.stack(values).squeeze()"),
    "values of a dict": (cost, dict(enumerate(Y.tolist())).values(), Y, "list(values)"),
    "a generator": (count, iter(Y.tolist()), Y, "list(...)", "list(values)"),
    "logits": (judge, np.log(TWO) + 3, P, "scipy.special.softmax(values, axis=1)"),
    "log-posteriors": (decided, np.log(TWO), TWO, "scipy.special.softmax(values, axis=1)"),
    "votes": (judge, 500 * TWO, P, "values / values.sum(axis=1, keepdims=True)"),
    "percentages of one class": (judge, ce.Posteriors(100 * P), P, "divide percentages by 100",
                                 "Posteriors(values.values / 100)"),
    "models as a list": (judge, [P, P**2], {"a": P, "b": P**2}, "{'a': values[0], ...}",
                         "{'a': values[0], 'b': values[1]}"),
    "classes in rows": (judge, TWO.T, P, "numpy.transpose(values)"),
    "columns of classes in a mapping": (lambda p: judge({"m": p}), {0: 1 - P, 1: P}, P,
                                        "pandas.DataFrame(mapping)"),
    "vectors in cells": (lambda p: judge({"m": p}), pd.Series(TWO.tolist()), P,
                         "numpy.stack(values).squeeze()"),
    "one column of posteriors": (decided, P, TWO, "np.column_stack([1 - p, p])"),
    "a model in a column of its own": (judge, P[:, None], P, "numpy.ravel(values)"),
    "numbers as text": (judge, P.astype(str), P, "values.astype(float)"),
    "posteriors under other names": (lambda p: judge({"m": p}), pd.DataFrame(TWO, columns=["a", "b"]), P,
                                     "classes=", "Posteriors(values.to_numpy(), classes=[0, 1])"),
    "a frame of either": (judge, pd.DataFrame(TWO, columns=["a", "b"]), {"a": 1 - P, "b": P},
                          "dict(frame[['a', 'b']])"),
    "columns named twice over": (judge, ce.Posteriors(pd.DataFrame(TWO), classes=[0, 1]), P,
                                 "give its values, or no classes=", "Posteriors(values.values)"),
    "columns that may stand either way": (lambda p: cost(NAMES, p, NAMED), TWO, P,
                                          "Posteriors(numpy.asarray(values), classes=['well', 'ill'])"),
    "the probability of nobody": (judge, ce.Posteriors(P, classes=["a"]), 1 - P, "name it, classes=[1]",
                                  "Posteriors(values.values, classes=[0])"),
    "probabilities as decisions": (lambda d: ce.confusion_counts(Y, d), P, P >= .5, "scores >= threshold",
                                   "scores >= .5"),
    "a sparse matrix": (decided, scipy.sparse.csr_matrix(TWO), TWO, "values.toarray()"),
    "masked entries": (lambda p: ce.roc_auc(Y[:59], p), np.ma.masked_array(P, np.arange(60) == 59), P[:59],
                       "values.compressed()"),
    "posteriors for their logarithms": (calibrated, TWO, np.log(TWO), "np.log(posteriors)"),
    "posteriors of exactly 0": (calibrated, np.log(np.where(TWO < .02, 1e-300,
        TWO) - 1e-300 + 1e-300 * (TWO >= .02)),
                                np.log(np.where(TWO < .02, 1e-12, TWO)), "np.log(np.maximum(p, 1e-12))",
                                "np.log(np.maximum(np.exp(x), 1e-12))"),
    "a calibrator that knows nothing": (lambda model: model.transform(np.log(TWO)), ce.AffineCalibrator(),
                                        ce.AffineCalibrator().fit(np.log(TWO), BY_CHANCE),
                                        "fit(log_posteriors, y_true)", "model.fit(np.log(TWO), BY_CHANCE)"),
    "costs of rows where one matrix is needed": (lambda costs: ce.as_costs(costs, one=True), OWN, OWN.mean(),
                                                 "costs.mean()"),
    "amounts as text": (lambda f: priced(dict(fp=1, fn=f)), AMOUNT.astype(str), AMOUNT,
                        "numpy.asarray(values, float)"),
    "a frame of costs": (ce.CostMatrix, NAMED.to_frame(), NAMED, "CostMatrix.from_frame(frame)"),
    "a frame of costs on its side": (ce.CostMatrix.from_frame, NAMED.to_frame().T, NAMED.to_frame(),
                                     "frame.T"),
    "a number for costs": (priced, 5, C, "CostMatrix.from_ratio(5)"),
    "costs by other words": (priced, {"false alarm": 1, "miss": 5}, C, "dict(fp=..., fn=...)",
                             "dict(fp=1, fn=5)"),
    "half of the costs": (priced, {"fp": 1}, C, "dict(fp=..., fn=...)", "dict(fp=1, fn=5)"),
    "costs without end": (lambda costs: decided(TWO, costs), np.column_stack([C, [INF, INF]]), C,
                          "leave out the column", "costs[:, :2]"),
    "costs a row as a stack": (lambda costs: decided(TWO, costs), np.stack([C] * 60), C,
                               "ExampleCosts.from_array(costs)"),
    "decisions without costs for them": (acted, C, ce.CostMatrix(C, classes=[0, 1], decisions=["wait",
        "act"]), "CostMatrix(costs, classes=..., decisions=...)",
                                         "CostMatrix(costs, classes=[0, 1], decisions=['wait', 'act'])"),
    "the other class positive": (lambda costs: cost(costs=costs, positive=0), C,
                                 ce.CostMatrix.binary(fp=1, fn=5, classes=[1, 0]),
                                 "CostMatrix.binary(fp=..., fn=..., classes=[1, 0])",
                                 "CostMatrix.binary(fp=1, fn=5, classes=[1, 0])"),
    "weights in another order": (lambda w: ce.confusion_counts(pd.Series(Y, IDS), Y, sample_weight=w),
                                 pd.Series(AMOUNT, IDS)[::-1], AMOUNT, "sample_weight.loc[y_true.index]"),
    "posteriors in another order": (lambda p: ce.bounds_without_labels(pd.Series([None] * 60, IDS), Y, C,
        posteriors=p).if_calibrated, pd.Series(P, IDS)[::-1], P, "posteriors.loc[y_true.index]"),
    "costs in another order": (lambda costs: ce.losses(pd.Series(Y, IDS), 1 - Y, costs), OWN,
                               ce.ExampleCosts(fp=1, fn=AMOUNT),
                               "costs[costs.index.get_indexer(y_true.index)]"),
    "models in another order than the ids": (lambda p: cost(models={"a": p}, ids=IDS), pd.Series(P,
        IDS)[::-1], P, "models['a'].loc[ids]", "values.loc[ids]"),
    "labels that were only numbered": (lambda y: ce.confusion_counts(y, pd.Series(1 - Y,
        np.arange(60)[::-1])), pd.Series(Y), pd.Series(Y, np.arange(60)[::-1]),
                                       "give it its ids as index", "values.set_axis(numpy.arange(60)[::-1])"),
    "columns of costs for counts": (lambda v: ce.expected_cost(ce.confusion_counts(Y, 1 - Y), v)
                                    if isinstance(v, dict) else np.mean(v), {"fp": 1, "fn": AMOUNT},
                                    ce.losses(Y, 1 - Y, ce.ExampleCosts(fp=1, fn=AMOUNT)),
                                    "losses(y_true, decisions, costs)", "losses(Y, 1 - Y, costs)"),
    "a positive class that nobody named": (lambda o: cost(NAMES, P, {"fp": 1, "fn": 5}, **o), {},
                                           {"positive": "ill"}, "positive='ill'", "dict(positive='ill')"),
    "a class that the costs do not name": (lambda o: cost(NAMES, P, C, **o), {}, {"positive": "ill"},
                                           "positive='ill'", "dict(positive='ill')"),
    "a positive class that the costs have": (lambda o: cost(NAMES, P, NAMED, **o), {"positive": "well"}, {},
                                             "leave positive out", "dict()"),
    "words by the alphabet": (lambda costs: ce.expected_cost(TURNED[::-1], costs), {"fp": 1, "fn": 5},
                              ce.CostMatrix([[0, 5], [1, 0]], classes=["fraud", "ok"]),
                              "CostMatrix.binary(fp=..., fn=..., classes=['fraud', 'ok'] or",
                              "CostMatrix.binary(fp=1, fn=5, classes=['ok', 'fraud'])"),
    "decisions by the alphabet": (lambda costs: ce.expected_cost(TURNED.set_axis([0, 1]), costs),
                                  {"fp": 1, "fn": 5},
                                  ce.CostMatrix([[1, 0], [0, 5]], classes=[0, 1], decisions=["fraud", "ok"]),
                                  "CostMatrix.binary(fp=..., fn=..., classes=[...], decisions=[...])",
                                  "CostMatrix.binary(1, 5, classes=[0, 1], decisions=['ok', 'fraud'])"),
    "decisions in another order": (lambda frame: ce.expected_cost(frame, [[0, 1], [1, 0]]), TURNED,
                                   TURNED[["ok", "fraud"]], "frame[list(frame.index)]"),
    "costs that tell the class": (lambda o: cost(costs=ce.ExampleCosts(fp=1, fn=9. * Y), **o), {},
                                  {"costs_known": True}, "costs_known=True", "dict(costs_known=True)"),
}
CALLED = ("values", "frame", "mapping", "costs", "p", "x", "posteriors", "model", "labels", "sample_weight",
          "scores")


@pytest.fixture(scope="module")
def messages():
    "What each wrong call says."
    found = {}
    for case, (call, wrong, *_) in ADVICE.items():
        with pytest.raises(ValueError) as error, np.errstate(all="ignore"):
            call(wrong)
        found[case] = str(error.value)
    return found


@pytest.mark.parametrize("case", ADVICE)
def test_what_messages_advise_works_and_does_no_harm(case, messages):
    call, wrong, right, advice, *filled = ADVICE[case]
    assert advice in messages[case]
    given = {**vars(cost_eval.api), **globals(), "numpy": np, "pandas": pd, "y_true": pd.Series(Y, IDS),
             "ids": IDS, "j": 1,
             **dict.fromkeys(CALLED, wrong), **{kind: getattr(ce, kind) for kind in ("Posteriors",
                 "CostMatrix", "ExampleCosts", "losses")}}
    found, want = call(eval(filled[0] if filled else advice, given)), call(right)
    assert np.allclose(found, want) if isinstance(want, (list, float, np.ndarray)) else same(found, want)


FLOORS = ("core", "confusion", "costs", "decisions", "samples")
ADVISED = re.compile(r"[\w.]+\([^)]*\)|\b\w+=")
TRIED_ELSEWHERE = {  # the beginning of what is advised, and why no one line of code follows it
    "by its name the probability of": "whose it is, by the name of its column: test_samples.py",
    **dict.fromkeys(["holds text, ", "are numbers beyond [0, 1] beside probabilities, ",
                     "called like a label; ",
                     "; give sep="], "columns of a table, marks of a file: test_samples.py"),
    "give both the same labels (classes=, decisions=)": "labels that nobody knows: test_labels.py",
    "once is needed, as of np.argsort(ids)": "the order itself: test_decisions.py",
}


def advised(module):
    "The fixed parts of each error message of a module that advises code."
    for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            parts = [n.value for n in ast.walk(node.exc) if isinstance(n, ast.Constant)
                     and isinstance(n.value, str) and not n.value.startswith(".")]
            if ADVISED.search(" ".join(parts)):
                yield parts


@pytest.mark.parametrize("name", FLOORS)
def test_every_message_that_advises_code_is_tried(name, messages):
    def tried(parts, said):
        return all(part in said for part in parts if len(part) > 3) or any(
            part in said for part in parts if ADVISED.search(part))
    assert [parts for parts in advised(importlib.import_module(f"cost_eval.{name}"))
            if not any(tried(parts, said) for said in messages.values())
            and not any(known in " ".join(parts) for known in TRIED_ELSEWHERE)] == []


def test_no_message_speaks_python_in_the_shell(messages):
    "No argument=, call, index or mapping is left; what a user called like Python stays."
    with pytest.raises(ValueError) as refused:
        ce.evaluate(["a", "b"], {"P (x=a)": [.1, .9]}, [[0, 1], [5, 0]], positive="c=d")
    assert "'c=d' is unknown; there are a, b" in in_the_shell(str(refused.value))
    for message in messages.values():
        shown = in_the_shell(message)
        bare = re.sub(r"(?<!\w)'[^']*'|\"[^\"]*\"|--[a-z-]+=|there are [^;]*|COL=CLASS|LIMIT,...", "", shown)
        assert not re.search(r"[a-z_]+=|\w\(|\w\[|\{|(?<!\w)\.[a-z]|\by_true\b", bare), (message, shown)
        first = re.split("[;(=,]", message.partition(": ")[2])[0].replace("y_true", "--label").strip()
        assert first in shown or ADVISED.search(message.partition(";")[0]), (message, shown)



if __name__ == "__main__":
    import sys
    import time
    for name in functions():
        if not sys.argv[1:] or re.match(sys.argv[1], name):
            start = time.process_time()
            found = [*untold(name)]
            print(f"{name} {time.process_time() - start:.1f} s", *found, sep="\n    ", flush=True)
