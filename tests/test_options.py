"""Every option of every public function matters: changing it changes the result. A loop over the signatures; an option without a case fails."""
import dataclasses
import importlib
import inspect
import os
import pkgutil

import numpy as np
import pytest

import cost_eval
from cost_eval.costs import CostMatrix, ExampleCosts

pd = pytest.importorskip("pandas")
plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")


@dataclasses.dataclass
class Alternative:
    """Another value of an option; `base` are the other options in whose company it is tried, `first` the value it replaces there.

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


class Case:
    "A call, and another value for each of its options."

    def __init__(self, *args, **alternatives):
        self.args, self.alternatives = args, alternatives


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
EXAMPLES = {"fp": np.arange(1, N + 1), "fn": np.arange(N, 0, -1) * 2}
NOTHING = np.zeros((2, 2))
COSTS = np.array([[0., 1.], [5., 0.]])
COSTS3 = np.array([[0., 1, 3], [10, 0, 1], [50, 10, 0]])
LABELLED3 = CostMatrix(COSTS3, classes=["home", "ward", "icu"])
PRIORS, PRIORS3 = [.9, .1], [.5, .3, .2]
NAMES = ["no", "yes"]

CASES = {
    "confusion": {
        "confusion_counts": Case(Y, D, classes=[1, 0], decision_labels=given([1, 0, 2], classes=[0, 1]), sample_weight=WEIGHT),
        "joint_counts": Case(Y, D, E, classes=[1, 0], decision_labels=given([1, 0, 2], classes=[0, 1]), sample_weight=WEIGHT),
        "threshold_counts": Case(Y, SCORES, sample_weight=WEIGHT),
        "ConfusionCounts": Case(COUNTS, classes=NAMES, decisions=["stay", "go"]),
        "JointCounts": Case(np.stack([COUNTS, COUNTS]), classes=NAMES, decisions=["stay", "go"]),
        "BinaryCounts.from_labels": Case(Y, D, sample_weight=WEIGHT),
        "ConfusionCounts.binary": Case(COUNTS, positive=0),
    },
    "costs": {
        "CostMatrix": Case(COSTS, classes=NAMES, decisions=["stay", "go"]),
        "CostMatrix.zero_one": Case(2, abstain=.1, classes=NAMES),
        "CostMatrix.inverse_prior": Case(PRIORS, classes=NAMES),
        "CostMatrix.binary": Case(fp=3, fn=3, tp=-1, tn=-1, classes=NAMES, decisions=["stay", "go"]),
        "CostMatrix.from_ratio": Case(3, classes=NAMES, decisions=["stay", "go"]),
        "CostMatrix.from_weight": Case(.3, classes=NAMES, decisions=["stay", "go"]),
        "CostMatrix.from_utilities": Case(-COSTS, classes=NAMES, decisions=["stay", "go"]),
        "CostMatrix.from_frame": Case(pd.DataFrame(COSTS, NAMES, NAMES[::-1]), classes=NAMES[::-1]),
        "CostMatrix.with_abstain": Case(COSTS, .3, label="ask"),
        "ExampleCosts": Case(fp=given([1, 2], fn=[3, 4]), fn=given([3, 4], fp=[1, 2]), tp=given(-1, fp=[1, 2], fn=[3, 4]),
                             tn=given(-1, fp=[1, 2], fn=[3, 4]), classes=given(NAMES, fp=[1, 2], fn=[3, 4]), decisions=given(NAMES, fp=[1, 2], fn=[3, 4])),
        "ExampleCosts.mean": Case(ExampleCosts(**EXAMPLES), sample_weight=WEIGHT),
        "ExampleCosts.from_array": Case(np.stack([COSTS, 2 * COSTS]), classes=NAMES, decisions=["stay", "go"]),
    },
    "decisions": {
        "bayes_decisions": Case(P3, LABELLED3, priors=given([.02, .9, .08], first=PRIORS3, train_priors=PRIORS3),
                                train_priors=given([.02, .9, .08], first=PRIORS3, priors=PRIORS3), log=refused(True), labels=True),
        "bayes_threshold": Case(COSTS, log_odds=True),
        "threshold_costs": Case(Y, SCORES, COSTS, priors=PRIORS, sample_weight=WEIGHT),
        "best_threshold": Case(Y, SCORES, COSTS, priors=PRIORS, sample_weight=WEIGHT),
        "cross_entropy": Case(P3, Y3, classes=[2, 1, 0], sample_weight=WEIGHT, log=refused(True)),
        "stratified_folds": Case(Y3, folds=3, rng=1),
        "cross_calibrate": Case(P3, Y3, folds=3, rng=1, log=refused(True), classes=[2, 1, 0]),
        "reliability": Case(Y, P2[:, 1], bins=4),
        "plot_reliability": Case(Y, P2[:, 1], bins=4),
    },
    "metrics": {
        "f_beta": Case(COUNTS, beta=2),
        "macro_f_beta": Case(COUNTS, beta=2),
        "f_beta_of_macro_averages": Case(COUNTS, beta=2),
        "micro_f_beta": Case(np.diag([1, 2, 3]) + 1, beta=unchanged(2)),  # it is the accuracy, whatever beta
        "expected_cost": Case(COUNTS, COSTS, priors=PRIORS),
        "normalized_expected_cost": Case(COUNTS, COSTS, priors=PRIORS),
        "h_measure": Case(COUNTS, a=5, b=5),
        "expected_weighted_accuracy": Case(COUNTS, a=5, b=5),
        "evaluate_metrics": Case(COUNTS, costs=COSTS, names=["accuracy"]),
    },
    "expected_cost": {
        "equal_error_rate": Case(Y, SCORES, method="hull", sample_weight=WEIGHT),
        "roc_auc": Case(Y, SCORES, sample_weight=WEIGHT),
    },
    "cost_score": {
        "plot_isocost": Case(8., plane=given("rates", prevalence=.3), prevalence=given(.1, first=.5), y_true=given(1 - Y, scores=SCORES, first=Y),
                             scores=given(-SCORES, y_true=Y, first=SCORES), levels=[1., 2.], sample_weight=given(WEIGHT, y_true=Y, scores=SCORES)),
        "tune_threshold": Case(Y, SCORES, 8., prevalence=.05, sample_weight=WEIGHT),
        "paired_saving": Case(Y, D, E, 8., prevalence=given(.05, rng=0), confidence=given(.5, rng=0), n_resamples=given(500, rng=0),
                              sample_weight=given(WEIGHT, rng=0), rng=given(1, first=0)),
        "held_out_saving": Case(Y, SCORES, 1., 0., 8., prevalence=given(.05, rng=0), confidence=given(.5, rng=0), n_resamples=given(500, rng=0),
                                sample_weight=given(WEIGHT, rng=0), rng=given(1, first=0)),
        "plot_threshold_cost": Case(Y, SCORES, cost_ratio=5., prevalence=.05, near=.5, sample_weight=WEIGHT),
        "multiclass_cost_score": Case(COSTS3 + 1, 4., average="harmonic", weights=[1., 2, 3]),
        "multilabel_cost_score": Case(np.stack([COUNTS, COUNTS.T]), 4., average="harmonic", weights=[1., 2]),
    },
}
EXEMPT = {
    "datasets": "test_datasets.py drives them against a server",
    "reproduce": "test_reproduce.py drives them through the command",
    "plotting": "they draw; their callers are tried here",
    "api": "names of other modules",
}
FREE = {"ax", "axes", "style", "progress"}  # where to draw and whether to report


def modules():
    found = [m.name for m in pkgutil.iter_modules(cost_eval.__path__) if m.name[0] != "_" and not m.ispkg]
    only = os.environ.get("OPTIONS_OF")  # .ci/mutants.py asks for the module it changed
    return [name for name in found if name not in {"core", *EXEMPT} and only in (None, name)]


def load(module):
    return importlib.import_module(f"cost_eval.{module}")


def options(function):
    "Names of parameters with a default."
    return [p.name for p in inspect.signature(function).parameters.values() if p.default is not inspect.Parameter.empty and p.name not in FREE]


def public_functions(module):
    "(name, function) of the functions, classes and methods that a module exports."
    for name in load(module).__all__:
        thing = getattr(load(module), name)
        if getattr(thing, "__module__", None) != f"cost_eval.{module}" or not callable(thing) or name.startswith("explore_"):
            continue
        record = inspect.isclass(thing) and (issubclass(thing, (tuple, Exception)) or hasattr(thing, "__dataclass_fields__"))
        if not record:
            yield name, thing
        if inspect.isclass(thing):
            yield from ((f"{name}.{member}", getattr(thing, member)) for member, raw in vars(thing).items()
                        if member[0] != "_" and inspect.isfunction(getattr(raw, "__func__", raw)) and member not in ("plot", "get_params", "set_params"))


def every_option():
    for module in modules():
        try:
            functions = list(public_functions(module))
        except Exception:  # a module that does not import fails elsewhere
            continue
        yield from ((module, name, option) for name, function in functions for option in options(function))


def call(module, name, function, args, kwargs):
    "The function; a method is called on what its class makes of the first argument."
    owner, _, member = name.partition(".")
    if member and not inspect.ismethod(function) and not isinstance(args[0], getattr(load(module), owner)):
        args = [getattr(load(module), owner)(args[0]), *args[1:]]
    return function(*args, **kwargs)


def outcome(value):
    "A result as plain values that can be compared."
    if isinstance(value, np.ndarray):
        return [str(value.dtype.kind), value.shape, [outcome(v) for v in value.ravel().tolist()] if value.dtype.kind == "O" else value.tobytes()]
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
    shapes = [outcome(np.asarray(line.get_xydata(), float)) for line in ax.get_lines()]
    shapes += [outcome(np.asarray(c.get_offsets(), float)) for c in ax.collections] + [outcome(np.asarray(p.vertices)) for c in ax.collections for p in c.get_paths()]
    return [texts, shapes, [outcome(np.asarray(i.get_array(), float)) for i in ax.images], ax.get_xlim(), ax.get_ylim()]


def effect(function, name, module, args, option, alternative):
    "What the option does: changed, same or refused."
    base = alternative.base
    first = {} if alternative.first is None else {option: alternative.first}
    with np.errstate(all="ignore"):
        before = outcome(call(module, name, function, args, {**base, **first}))
        try:
            after = outcome(call(module, name, function, args, {**base, option: alternative.value}))
        except (TypeError, ValueError):
            if alternative.expected != "refused":
                raise
            return "refused"
    plt.close("all")
    return "same" if before == after else "changed"


@pytest.mark.parametrize("module, name, option", list(every_option()))
def test_the_option_matters(module, name, option):
    function = dict(public_functions(module))[name]
    if option == "undefined":
        return undefined_matters(module, name, function)
    case = CASES.get(module, {}).get(name)
    assert case is not None and option in case.alternatives, f"{module}.{name}: add another value of {option} to CASES"
    alternative = case.alternatives[option]
    if not isinstance(alternative, Alternative):
        alternative = given(alternative)
    assert effect(function, name, module, case.args, option, alternative) == alternative.expected


PARAMETERS = {"costs": COSTS, "weight": .3, "cost_ratio": 2., "threshold": .2}


def undefined_matters(module, name, function):
    "Counts of nothing have no value, but the one asked for."
    parameters = inspect.signature(function).parameters.values()
    args = [PARAMETERS[p.name] for p in list(parameters)[1:] if p.default is inspect.Parameter.empty]
    assert outcome(function(NOTHING, *args)) != outcome(function(NOTHING, *args, undefined=7.)), name


@pytest.mark.parametrize("module", [module for module in CASES if module in modules()])
def test_every_case_is_of_an_option(module):
    functions = dict(public_functions(module))
    assert not [(name, option) for name, case in CASES[module].items() for option in case.alternatives if option not in inspect.signature(functions[name]).parameters]


def test_the_test_sees_an_option_that_does_nothing():
    def deaf(counts, *, priors=None):
        return counts.sum()
    assert effect(deaf, "deaf", "", (COUNTS,), "priors", given(PRIORS)) == "same"
    assert effect(lambda counts, scale=1: scale * counts, "f", "", (COUNTS,), "scale", given(2)) == "changed"
