"""What may be done to a problem without changing the answer, tried on every call of calls.py.

A property changes the problem (`Problem.but`) or the arguments of a call; it means something for a call whose
arguments it changes, and nobody lists functions. What does not hold of a line stands in NOT with its reason,
and a reason that is not needed fails. `python tests/test_invariances.py [LINE]` prints lines x properties.
"""
import copy
import functools
import itertools
import pickle
import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import calls
from answers import flat
from calls import dressed, function_of
from problems import Problem, ce

from cost_eval.core import LabelledTable

N = 41  # of rows; no other axis is as long
PLAIN = Problem(1, classes=2, n=N, says={"draws"})
GIVEN = Problem(2, classes=2, n=N, says={"draws", "weight", "clusters", "priors", "groups", "own"})
WAIT = Problem(3, classes=3, n=N, says={"draws", "weight", "clusters", "priors", "groups", "named", "ask"})
ORDER = np.random.default_rng(9).permutation(N)
HEAVY = {  # what takes long is walked of one problem
    "training_variation": slice(1), **dict.fromkeys(("capacity_curve", "metric_interval", "evaluate mixed",
                                                     "evaluate own costs", "evaluate require"), slice(1, 2))}
# files and pages, which have tests of their own; and what takes longest, of a name's lines
UNWALKED = re.compile(
    "main|explore|run_item|moved|places|by_paper|stored_rows|read_file|Report.to_|example|"
    "evaluate( weighted| scenarios| missing labels| given folds| scores| capacity| positive| columns.*)?$|"
    "scale.evaluate|cost_scorer of|plot_correlation_map|plot_tree_curves|correlation_samples|"
    "sample_tree_aucs|Report.with_costs|Report.robustness|Report.plot")


# ---- the calls, and what they say

def said(name, call):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return flat(call.answer(function_of(name)))


def walked(name):
    "Is a line walked here? What takes long is, once; pages, files and widgets have tests of their own."
    return not UNWALKED.match(name)


@functools.cache
def attempts(name):
    "(case, call, the call of the problem seen otherwise, what it says) of each call that is taken."
    found = []
    two = PLAIN, GIVEN if name in calls.TWO else WAIT
    for problem in two[HEAVY.get(name, slice(None))]:
        for label, call in calls.lines(name, problem).items():
            again = functools.partial(seen_otherwise, name, label, problem)
            try:
                found.append((f"{label} ({problem})".strip(), call, again, said(name, call)))
            except ValueError:  # a case that is not taken
                continue
    return found


def seen_otherwise(name, label, problem, **seen):
    return calls.lines(name, problem.but(**seen))[label]


def mapped(call, dress):
    "A call, the columns of whose arguments are dressed otherwise."
    return call.like([dressed(one, dress) for one in call.args], dressed(call.options, dress))


def of_rows(change):
    "A change of what has a value a row."
    return lambda array: change(array) if len(array) == N else array


def taken(call, rows):
    "The call about these rows, in this order."
    def one(value):
        if isinstance(value, ce.ExampleCosts) and len(value.array) == N:
            return value[rows]
        if isinstance(value, ce.Samples):
            return value.take(rows)
        return dressed(value, of_rows(lambda array: array.iloc[rows] if hasattr(array, "iloc")
                                      else array[rows]))
    return call.like([one(value) for value in call.args], {key: one(value) for key,
        value in call.options.items()})


def printed(value):
    "What an argument holds, in its order."
    if isinstance(value, calls.Call):
        return printed([value.args, value.options])
    if isinstance(value, dict):
        return [(key, printed(one)) for key, one in value.items()]
    if isinstance(value, (list, tuple)):
        return [printed(one) for one in value]
    if isinstance(value, pd.DataFrame):
        return [list(value.columns), value.to_numpy().tolist()]
    if isinstance(value, LabelledTable):
        return [value.array.tolist(), value.classes, value.decisions]
    if hasattr(value, "__dataclass_fields__"):
        return [printed(getattr(value, name)) for name in value.__dataclass_fields__]
    return value.tolist() if isinstance(value, np.ndarray) else repr(value)


def takes(name, call, *parameters):
    "Has the function of a line such a parameter, and is the call its own?"
    known = calls.parameters(function_of(name))
    return not call.way and any(parameter in known for parameter in parameters)


def columns(call):
    "How many columns of rows there are in the arguments."
    found = []
    mapped(call, of_rows(lambda array: found.append(array)))
    return len(found)


# ---- relations of two answers: of what stands at one path

def near(a, b, rtol=1e-9):
    return np.isclose(a, b, rtol=rtol, atol=rtol * np.abs(a[np.isfinite(a)]).max(initial=0), equal_nan=True)


def close(a, b, rtol=1e-9):
    "Equal up to rounding; what cancels is measured by the largest number beside it."
    if a.dtype.kind != "f" or b.dtype.kind != "f":
        return np.array_equal(a.astype(str), b.astype(str))
    return a.shape == b.shape and near(a, b, rtol).all()


def same(a, b, path):
    return close(a, b)


def identical(a, b, path):
    return close(a, b, 1e-13)


def moved(rows):
    "Where there is a value a row, those of these rows."
    return lambda a, b, path: close(a, b) or any(
        size == N and close(np.take(a, rows, axis), b) for axis, size in enumerate(a.shape))


def axes_moved(*orders):
    "What is by position may stand in the order in which the labels are listed."
    def relation(a, b, path):
        whole = a.dtype.kind == "f" and np.isin(a, range(WAIT.M)).all()
        if whole and any(close(1. * np.argsort(order)[a.astype(int) % len(order)], b) for order in orders):
            return True  # decisions by their place
        ways = [[None, *(order for order in orders if len(order) == size),
                 *([*order, size - 1] for order in orders if len(order) == size - 1)] for size in a.shape]
        return any(close(functools.reduce(lambda array, axis: np.take(array, way[axis], axis) if way[axis]
                                          else array, range(a.ndim), a), b)
                                          for way in itertools.product(*ways))
    return relation


def models_moved(a, b, path):
    return close(a, b) or any(size == 2 and close(np.flip(a, axis), b) for axis, size in enumerate(a.shape))


def scaled(factor):
    "Each number is the same, or it is money."
    def relation(a, b, path):
        if close(a, b) or a.dtype.kind != "f" or a.shape != b.shape:
            return close(a, b)
        nothing = (a == 0) & (np.abs(b) <= 1e-12 * max(factor, 1))  # a rounding error of money
        with np.errstate(all="ignore"):
            return np.any([near(a * f, b) for f in (1, factor, 1 / factor)] + [nothing], axis=0).all()
    return relation


def each_rows(a, b, path):
    "One number, or one for each row's costs, all the same."
    return close(a, b) or b.shape[:1] == (N,) and all(close(a, np.asarray(one)) for one in b)


def ranked(before, after, ends):
    "Numbers in the unit of the scores as their place among the scores."
    def relation(a, b, path):
        if path.rpartition("/")[2] in ("threshold", "thresholds", "same_from", "same_to", *ends):
            a, b = (np.searchsorted(np.sort(scores), values).astype(float)
                    for scores, values in ((before, a), (after, b)))
        return close(a, b)
    return relation


def translated(found, words):
    "What is said in these words, by the place of a word."
    def text(said):
        return functools.reduce(lambda said, k: said.replace(words[k], str(k)), range(len(words)), said)

    def array(values):
        told = np.array([text(str(one)) for one in values.ravel()]).reshape(values.shape)
        return told.astype(float) if all(re.fullmatch("\\d", one) for one in told.flat) else told
    return {text(path): array(values) if values.dtype.kind == "O" else values for path,
            values in found.items()}


def difference(before, after, relation, unlike=()):
    "Where two answers disagree; empty if nowhere."
    before, after = ({path: values for path, values in found.items() if not {*path.split("/")} & {*unlike}}
                     for found in (before, after))
    if before.keys() != after.keys():
        return f"other fields: {sorted(before.keys() ^ after.keys())[:4]}"
    for path in before:
        if not relation(before[path], after[path], path):
            return f"{path}: {short(before[path])} became {short(after[path])}"
    return ""


def short(values):
    return np.array2string(values, precision=6, threshold=12).replace("\n", "")


# ---- properties: (the call before, or None; the call after; the relation of what they say)

def rows(name, call, again):
    yield None, taken(call, ORDER), moved(ORDER)


def rows_by_index(name, call, again):
    if not call.way:
        dress = of_rows(lambda array: as_series(array, slice(None), ORDER))
        yield None, mapped(taken(call, ORDER), dress), moved(ORDER)


def as_series(array, order, index):
    "Rows in an order, under these names."
    if array.ndim > 2:
        return array[order]
    kind = type(array) if hasattr(array, "iloc") else pd.Series if array.ndim == 1 else pd.DataFrame
    return kind(array).iloc[order].set_axis(index)


def index(name, call, again):
    "The first of the columns in order, the others shuffled with their index."
    first, rng = iter([True]), np.random.default_rng(4)

    def shuffled(array):
        order = np.arange(N) if next(first, False) else rng.permutation(N)
        return as_series(array, order, order + 7)
    if columns(call) > 1 and not call.way:
        yield None, mapped(call, of_rows(shuffled)), moved(np.arange(N))


def classes(name, call, again):
    other = again(order=[2, 0, 1], decision_order=[2, 0, 1, 3])
    for changed in (other, *listed(other, call)):
        yield None, changed, axes_moved([2, 0, 1], [2, 0, 1, 3])


def decisions(name, call, again):
    other = again(decision_order=[3, 1, 0, 2])
    for changed in (other, *listed(other, call)):
        yield None, changed, axes_moved([3, 1, 0, 2])


def listed(call, before):
    "The call where only the costs list their labels otherwise, and what goes by their order."
    def one(old, new):
        return new if isinstance(old, ce.CostMatrix) or isinstance(old,
            np.ndarray) and old.shape[-1:] == (WAIT.K,) else old
    if any(isinstance(value, ce.CostMatrix) for value in (*call.args, *call.options.values())):
        yield call.like([one(*pair) for pair in zip(before.args, call.args)],
                        {key: one(before.options[key], value) for key, value in call.options.items()})


def models(name, call, again):
    for key in ("models", "estimators"):
        if takes(name, call, key) and isinstance(given := call.named(function_of(name)).get(key), dict):
            yield None, call.but(function_of(name), **{key: dict(reversed(given.items()))}), models_moved


def unit(name, call, again):
    for factor in (1e103, 1e-108):
        yield None, again(unit=factor), scaled(factor)


def weights(name, call, again):
    "Whole weights against rows that stand so often; weights of one against none."
    if takes(name, call, "sample_weight"):
        function, whole = function_of(name), np.random.default_rng(3).integers(1, 4, N)
        given, row = call.named(function), np.repeat(np.arange(N), whole)
        if "sample_weight" not in given:
            yield None, call.but(function, sample_weight=np.ones(N)), same
        else:
            units = {"clusters": given.get("clusters", np.arange(N))} if takes(name, call, "clusters") else {}
            repeated = taken(call.but(function, **units), row)
            yield (call.but(function, sample_weight=whole * 1.),
                   repeated.but(function, sample_weight=np.ones(len(row))), moved(row))


def rows_without_weight(name, call, again):
    "Rows of weight 0, the first and the last scores among them, are not there."
    if takes(name, call, "sample_weight") and columns(call):
        function, order = function_of(name), np.argsort(PLAIN.scores())
        kept = np.setdiff1d(np.arange(N), [*order[[0, 1, 20, -2, -1]], *np.arange(5, 41, 9)])
        weight = np.random.default_rng(3).integers(1, 4, N) / 1.
        alone = taken(call.but(function, sample_weight=weight), kept)
        yield alone, call.but(function, sample_weight=np.where(np.isin(np.arange(N), kept), weight,
            0)), dropped(kept)


def dropped(kept):
    return lambda a, b, path: moved(kept)(b, a, path)


def clusters(name, call, again):
    "Clusters of one are rows."
    if takes(name, call, "clusters") and "clusters" not in call.named(function_of(name)):
        yield None, call.but(function_of(name), clusters=np.arange(N)[::-1] + 100), same


def own_costs(name, call, again):
    "One matrix is each row's own."
    if takes(name, call, "costs") and columns(call):
        costs = call.named(function_of(name)).get("costs")
        if isinstance(costs, ce.CostMatrix):
            each = np.repeat(costs.array[None], N, axis=0)
            own = ce.ExampleCosts.from_array(each, classes=costs.classes, decisions=costs.decisions)
            yield None, call.but(function_of(name), costs=own), each_rows


def scores(name, call, again):
    "A rising function, into (0, 1) and far beyond."
    if takes(name, call, "scores"):
        before = call.named(function_of(name)).get("scores")
        for stretched in (1 / (1 + np.exp(-before)), np.exp(before)) if before is not None else ():
            ends = ("low", "high") if name in ("best_threshold", "tune_threshold") else ()
            yield None, call.but(function_of(name), scores=stretched), ranked(before, stretched, ends)


HARD = {  # tables whose costliest error is unseen, or much of whose mass is just inside
    2: [[[45, 1950], [0, 5]], [[960, 40], [0, 7]], [[1950, 45], [0, 5]]],
    3: [[[[1379, 0], [45, 72]], [[94, 5], [0, 405]]], [[[57, 51], [0, 1365]], [[421, 0], [9, 97]]]]}


def stack(name, call, again):
    "A stack of tables, and each alone."
    for key in ("counts", "joint", "array", "counts_a"):
        if takes(name, call,
                 key) and np.ndim(np.asarray(table := call.named(function_of(name)).get(key))) in HARD:
            array = np.asarray(table)
            more = HARD[array.ndim] if set(array.shape) == {2} else [array + 3, array + 5]
            several = np.array([array, *more])
            made = functools.partial(type(table), classes=table.classes,
                                     decisions=table.decisions) if isinstance(
                table, LabelledTable) else np.asarray
            together = call.but(function_of(name), **{key: made(several)})
            for k, one in enumerate(several):
                yield call.but(function_of(name), **{key: made(one)}), together, one_of(len(several), k)


def one_of(n, k):
    "Of n tables; a number is measured by the largest of them."
    def relation(a, b, path):
        if a.shape != b.shape and len(b) == n:
            beside = np.max(np.abs(b[np.isfinite(b)]), initial=0)
            return np.allclose(np.squeeze(a), b[k], rtol=1e-9, atol=1e-9 * beside, equal_nan=True)
        return close(a, b)
    return relation


def carried(array):
    "A read-only copy, column by column, of every second row of what was pickled, big-endian."
    array = pickle.loads(pickle.dumps(copy.deepcopy(array)))
    array = array.astype(array.dtype.newbyteorder(">")) if array.dtype.kind in "fi" else array
    array = np.asfortranarray(np.repeat(array, 2, axis=0))[::2]
    array.flags.writeable = False
    return array


def narrow(array):
    "Half the bytes, if no digit is lost."
    small = array.astype(array.dtype.kind + "4") if array.dtype.kind in "fi" else array
    return small if (small == array).all() else array


def containers(name, call, again):
    for dress in (carried, narrow, np.ndarray.tolist):
        yield None, mapped(call, lambda array: dress(array) if isinstance(array, np.ndarray)
                           else array), identical


def in_memory(name, call, again):
    if name.startswith("scale.") and call.way:
        plain = call.like(call.args, call.options).by(None)
        yield plain.by(lambda function, *args, **options: ce.find(name[6:].partition(" ")[0])(*args,
            **options)), call, same


WORDS = ["lesser", "middling", "topmost", "nobody"], ["yeti", "ghoul", "Banshee", "?!"]


def labels(name, call, again):
    "Other names, in another order of the alphabet; words for numbers."
    yield again(words=WORDS[0]), again(words=WORDS[1]), same


PROPERTIES = {f.__name__: f for f in (
    rows, rows_by_index, index, classes, decisions, models, unit, weights, rows_without_weight, clusters,
    own_costs, scores, stack, containers, in_memory, labels)}
MAY_REFUSE = {"rows_by_index", "index", "own_costs", "stack", "labels"}
OPS = {"ops", "ops_low", "ops_high"}  # told of costs that are the same in all rows
UNLIKE = {"weights": {"n", "labelled", "luck", "corrected"}, "unit": {"sums"}, "scores": {"sums"},
          "own_costs": {"luck", "corrected", *OPS},
          **dict.fromkeys(["classes", "decisions", "models", "clusters"], {"luck", "corrected"})}


# ---- checks

def check(name, property_):
    "(case, 'holds', 'refused', or where it fails) of the calls that a property means something for."
    for case, call, again, before in attempts(name):
        if property_ in ("classes", "decisions") and "named" not in again.args[2].seen["says"]:
            continue
        try:
            changes = [*PROPERTIES[property_](name, call, again)]
        except ValueError:  # the problem seen so is refused
            changes = ()
        for first, other, relation in changes:
            if printed(call) != printed(other) or other.way:
                yield case, tried(name, property_, before if first is None else first, other, relation)


def tried(name, property_, before, other, relation):
    "One outcome."
    try:
        before, after = before if isinstance(before, dict) else said(name, before), said(name, other)
        if property_ == "labels":
            before, after = translated(before, WORDS[0]), translated(after, WORDS[1])
        wrong = difference(before, after, relation, UNLIKE.get(property_, ()))
    except ValueError as error:
        wrong = "refused" if property_ in MAY_REFUSE else f"ValueError: {error}"
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    return wrong[:300] or "holds"


ANOTHER = "another order of the rows is another draw of the folds: test_policies.py says how far that goes"
PAIRS = "a pair's difference is the first model's minus the second's"
TIES = "a replicate that ties with 0 falls to either side by rounding"
IN_TIME = "the order of the rows is the order in time"
DRAWS = "its replicates are drawn cell by cell, table by table: in another order they are others"
HANDS_OVER = "hands over what it was given"
NOT = {  # the beginning of a line and its case: properties that do not hold, and why
    "ExampleCosts ": ("rows_by_index", "it keeps the index"),
    "check_rule \\(": ("weights", "it counts all rows, too"),
    "BinaryCounts.from_matrix": ("stack", "a row a table"),
    "cross_calibrate|CrossFit \\(|stratified_folds": ("rows rows_by_index", ANOTHER),
    "capacity_curve|evaluate|training_variation|scale.evaluate scores": ("rows", ANOTHER),
    "evaluate|training_variation|scale.evaluate": ("models", PAIRS),
    "act_dcf|cllr|held_out_saving": ("scores", "ratios, or given cuts, are of their scale"),
    "scale\\.": ("containers weights", "its columns are named, in data="),
    "auc_interval": ("rows_without_weight", "it counts all rows, too"),
    "outperformance (better than chance )?expected_cost": ("unit", "the score is in another unit"),
    "capacity_curve": ("weights", "the folds are drawn of rows"),
    "CostSensitiveClassifier": ("labels", "columns stand in the order of the sorted labels"),
    "stratified_folds|capacity_curve": ("clusters", "clusters are dealt out by another rule: other folds"),
    "shift_priors": ("rows_by_index", "a frame in, a frame out"),
    "fold_parts": ("rows", "it says the places of rows"),
    "out_of_fold": ("rows rows_by_index", "another function of the rows"),
    "(confidence|difference)_sequence \\(|cost_alarm": ("rows rows_by_index", IN_TIME),
    "(confidence|difference)_sequence of": ("rows", IN_TIME),
    "(confidence|difference)_sequence \\(": ("clusters", "how many rows one can have is asked for"),
    "(independent_difference|interval|difference) (drawn|percentile|bcost|bdelta)|bcost|bdelta_cost": (
        "classes decisions stack", DRAWS),
    "Interval.plot": ("classes decisions", DRAWS), "bootstrap_coverage": ("classes", DRAWS),
    "bdelta_cost|independent_difference drawn": ("unit", TIES),
    "loss_interval betting": ("rows_without_weight", "it counts equal units, and says so"),
    "corrected_interval": ("scores", "results of repetitions, no scores of cases"),
    "isotonic_steps": ("weights scores",
                       "what fit_rule hands on, read and counted: steps are in the unit of the scores"),
    "read_samples|Samples.take|labelled_rows|long_form|read_table": (
        "rows rows_by_index classes weights rows_without_weight clusters own_costs labels", HANDS_OVER),
}


def reasons(case, property_):
    return [line for line, (properties, _) in NOT.items() if property_ in properties.split()
            and re.match(line, case)]


def failures(name, property_):
    "What fails of a line without a reason, by case; and reasons of a line that are not needed."
    outcomes, needed = [*check(name, property_)], set()
    for case, told in outcomes:
        if told not in ("holds", "refused"):
            known = reasons(f"{name} {case}", property_)
            needed.update(known)
            if not known:
                yield case, told
    for case in {case for case, _ in outcomes}:
        if line := [one for one in reasons(f"{name} {case}", property_)
                    if one not in needed and NOT[one][1] is not HANDS_OVER]:
            yield case, f"holds: the reason of {line} is not needed"


@pytest.mark.parametrize("name", [*filter(walked, calls.CALLS)])
def test_the_answer_stays(name):
    assert attempts(name), "every call is refused"
    found = {property_: dict(failures(name, property_)) for property_ in PROPERTIES}
    assert {property_: wrong for property_, wrong in found.items() if wrong} == {}


if __name__ == "__main__":
    import time
    for name in filter(walked, calls.CALLS):
        if not sys.argv[1:] or re.match(sys.argv[1], name):
            start, told = time.process_time(), []
            for property_ in PROPERTIES:
                found = [*check(name, property_)]
                wrong = {case: one for case, one in found if one not in ("holds", "refused")}
                told.append(f"{property_}:{'x' if wrong else min(found)[1][0]}" if found else "")
                for case, one in wrong.items():
                    print(f"    {name} {case}: {property_}: {one}")
            print(f"{name:36}", *filter(None, told), f"{time.process_time() - start:.1f} s", flush=True)
