"""A public function with an example, given nonsense for one argument of it, works or says so in a ValueError; plots and files are left out."""
import doctest
import importlib
import inspect
import pkgutil
import warnings

import numpy as np
import pytest

import cost_eval

LEFT_OUT = ("api", "app", "datasets", "reproduce", "reproductions", "scale", "plotting", "robustness", "words", "panels", "page")  # files, frames of Dask, axes, what takes a report
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
