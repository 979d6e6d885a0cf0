"""What a type checker sees: strict mypy takes the README and every example of a docstring, and refuses what
is wrong; every public name says its types; the package is
without errors."""
import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import cost_eval

ROOT = Path(__file__).resolve().parent.parent
NOT_OF_USERS = {"_modidx", "api", "core", "__main__", "reproductions"}


def modules():
    "Modules that users import from: without the flat name space and the command."
    return [m.name for m in pkgutil.iter_modules(cost_eval.__path__) if m.name not in NOT_OF_USERS]


# The program is strict; a function that an example defines needs no annotations, and a library without types
# is no error.
STRICT = ["check_untyped_defs", "disallow_any_generics", "disallow_incomplete_defs",
          "disallow_subclassing_any", "disallow_untyped_decorators", "extra_checks",
          "strict_equality", "warn_return_any"]


def checked(folder, text):
    """What mypy says of the package, by its own settings, and of a program: line -> errors. One run for both,
    of which build/ keeps what the next one need not look
    at again.
    """
    pytest.importorskip("mypy", reason='needs pip install "cost_eval[dev]"')
    (folder / "program.py").write_text(text, encoding="utf-8")
    settings = (ROOT / ".ci/mypy.ini").read_text(encoding="utf-8")
    (folder / "mypy.ini").write_text("\n".join([settings, "[mypy-program]",
                                                "disable_error_code = import-untyped",
                                                *(f"{flag} = true" for flag in STRICT)]), encoding="utf-8")
    how = ["--config-file", str(folder / "mypy.ini"), "--cache-dir", str(ROOT / "build" / "mypy"),
           "--no-error-summary"]
    done = subprocess.run([sys.executable, "-m", "mypy", *how, "cost_eval", str(folder / "program.py")],
                          cwd=ROOT, capture_output=True, text=True)
    assert done.returncode < 2, done.stdout + done.stderr
    found, package = {}, []
    for file, line, told in re.findall(r"^(.*?):(\d+): error: (.*)$", done.stdout, re.M):
        found.setdefault(int(line), []).append(told) if file.endswith("program.py") else package.append(
            f"{file}:{line}: {told}")
    return package, found


# ---- the examples

def home(name, module):
    "The line that imports what an example of a module finds there under a name."
    thing = getattr(module, name)
    if inspect.ismodule(thing):
        return f"import {thing.__name__} as {name}"
    known = [module.__name__.split(".")[1], *modules()]
    for other in (importlib.import_module(f"cost_eval.{m}") for m in known):
        if name in other.__all__ and getattr(other, name) is thing:
            return f"from {other.__name__} import {name}"
    # pathlib keeps its Path in pathlib._local, or did
    return f"from {thing.__module__.partition('._')[0]} import {name}"


def examples(module):
    "The examples of the docstrings of a module, a function each."
    module = importlib.import_module(f"cost_eval.{module}")
    for found in doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__):
        if not found.examples or any(part.startswith("_") for part in found.name.split(".")[2:]):
            continue
        source = "".join(e.source for e in found.examples if not e.exc_msg)
        names = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
        lines = [home(name, module) for name in sorted(names) if hasattr(module, name)
                 and name not in dir(__builtins__)]
        body = "".join(f"    {line}\n" for line in [*lines, *source.splitlines()])
        yield f"def {re.sub(r'[^0-9a-z_A-Z]', '_', found.name)}() -> None:\n{body}\n"


def readme():
    "The blocks of Python in README.md, one after the other, as one function."
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = "\n".join(re.findall(r"^``` ?python\n(.*?)^```", text, re.M | re.S)).splitlines()
    return "def readme() -> None:\n" + "".join(f"    {line}\n" for line in lines)


GIVEN = """
from typing import Any

import numpy as np
import cost_eval.api as ce
from cost_eval.cost_score import multiclass_cost_score
from cost_eval.metrics import recall
from cost_eval.policies import RULES, Policy

y, s = np.array([0, 1, 1]), np.array([0.1, 0.4, 0.9])
costs = ce.CostMatrix.binary(fp=1, fn=20, classes=["a", "b"])
counts = ce.confusion_counts(y, s > 0.5)
joint = ce.joint_counts(y, y, 1 - y)
found = ce.interval(counts, costs)
report = ce.evaluate(y, {"m": s}, costs, rng=0)
"""
RIGHT = """
labels: tuple[object, ...] = counts.classes + costs.decisions
array: np.ndarray[Any, Any] = counts.array + costs.array
width: float = found.high - found.low
p: float = ce.difference(joint, costs, rng=np.random.default_rng(0)).p_value
rates = ce.BinaryCounts(tp=3, fp=1, fn=1, tn=5).fpr + recall([[3, 1], [1, 5]], undefined=0.0)
cut: float = ce.best_threshold(y, s, costs).threshold
ce.threshold_counts([0, 1], (0.1, 0.9)).thresholds.mean()
ce.losses(["a", "b"], ["b", "b"], ce.ExampleCosts(fp=np.ones(2), fn=[1, 2])).sum()
ce.bayes_decisions(np.array([[0.2, 0.8]]), costs, priors={"a": 0.5, "b": 0.5})
ce.expected_cost(np.ones((5, 2, 2)), [[0, 1], [np.float64(2), 0]], priors=[[0.1, 0.9], [0.5, 0.5]])
ce.interval([np.array([3, 1]), np.array([0, 4])], costs, method="betting", rng=np.int64(3))
ce.evaluate(y, {"m": s, "n": ce.Scores(s)}, costs, rule={"m": "bayes", "n": "tuned"}, priors=0.1)
for rule in RULES:
    ce.evaluate(y, s, costs, rule=rule)
text: str = report.summary()
report.ladder["cost"].min()
"""
WRONG = """
ce.interval(counts, "costs")
ce.interval(counts, costs, confidence="ninety")
ce.interval([0.1, 0.9, 0.4], costs)
ce.interval(counts, costs, rng="a")
ce.interval(counts, costs, priors="equal")
ce.difference(counts, costs)
ce.interval(counts, costs, normalized="yes")
ce.confusion_counts("y", "decisions")
recall([1, 2, 3, 4])
ce.CostMatrix.binary(fp="one")
ce.CostMatrix("0 1; 20 0")
ce.bayes_decisions([0.2, 0.8], costs)
ce.best_threshold(y, ["low", "high", "high"], costs)
ce.evaluate(y, {"m": s}, costs, rule="bayess")
ce.evaluate(y, {"m": s}, costs, weights=s)
ce.performance_curve(y, s, "receiver")
multiclass_cost_score(counts, 2.0, average="median")
ce.required_pairs(joint, costs, saving="half")
wrong: str = found.high
found.no_such_field
report.plot(panel="mapp")
ce.no_such_name
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    "What mypy says of the package, and of the program: (part, its line) -> errors."
    parts = {"readme": readme(), "examples": "\n".join(text for m in modules() for text in examples(m)),
             "given": GIVEN, "right": RIGHT, "wrong": WRONG}
    lines = [(part, line) for part, text in parts.items() for line in text.splitlines()]
    package, errors = checked(tmp_path_factory.mktemp("mypy"), "\n".join(line for _, line in lines) + "\n")
    return package, {part: {line.strip(): errors.get(n, []) for n, (p, line) in enumerate(lines, 1)
                            if p == part} for part in parts}


@pytest.mark.parametrize("part", ["readme", "examples", "given", "right"])
def test_a_strict_checker_accepts(said, part):
    assert len(said[1][part]) > 8
    assert {line: errors for line, errors in said[1][part].items() if errors} == {}


def test_a_strict_checker_refuses_each_misuse(said):
    assert [line for line, errors in said[1]["wrong"].items() if line and not errors] == []


# ---- every public name says its types

def functions(module):
    "(name, function) of the public functions of a module, and of the methods and properties of its classes."
    for thing in (getattr(module, name) for name in module.__all__):
        if inspect.isfunction(thing):
            yield thing.__name__, inspect.unwrap(thing)
        for name, raw in vars(thing).items() if inspect.isclass(thing) else ():
            function = getattr(raw, "__func__", None) or getattr(raw, "fget", None) or getattr(raw, "func",
                None) or raw
            # no dataclass's
            ours = inspect.isfunction(function) and function.__qualname__ == f"{thing.__name__}.{name}"
            if ours and function.__module__ == module.__name__ and (name[0] != "_" or name in SPECIAL):
                yield f"{thing.__name__}.{name}", function


SPECIAL = ("__init__", "__call__", "__getitem__", "__add__")


@pytest.mark.parametrize("module", [*modules(), "__main__"])
def test_every_public_name_says_its_types_and_they_can_be_asked_for(module):
    "Whoever reads annotations when a program runs finds every word."
    module, untold = importlib.import_module(f"cost_eval.{module}"), []
    for name, function in functions(module):
        signature = inspect.signature(function, eval_str=True)
        untold += [f"{name}({p.name})" for p in signature.parameters.values() if p.annotation is p.empty
                   and p.name not in ("self", "cls")]
        untold += [f"{name} ->"] if signature.return_annotation is signature.empty else []
    assert untold == []
    for thing in filter(inspect.isclass, (getattr(module, name) for name in module.__all__)):
        get_type_hints(thing)


def test_names_of_methods_and_rules_are_those_there_are():
    "What a checker knows by heart is what the package has."
    from cost_eval import core, cost_score, curves, page, policies

    assert get_args(core.Rule) == policies.RULES and get_args(core.CurveKind) == curves.CURVES
    assert get_args(core.PanelName) == tuple(page.PANELS) and get_args(core.Average) == cost_score._AVERAGES


def test_a_checker_finds_nothing_in_the_package(said):
    assert said[0] == []


def test_what_a_checker_shall_not_say_has_a_code_and_a_reason():
    lines = [line.strip() for path in sorted((ROOT / "cost_eval").rglob("*.py"))
             for line in path.read_text(encoding="utf-8").splitlines() if "type: ignore" in line]
    assert lines and not [line for line in lines if not re.search(r"  # type: ignore\[[a-z-]+\]  # \w.{4,}$",
            line)]
    assert len(lines) < 25, "a clearer line is better than one more of these"


def test_the_package_says_that_it_has_types():
    assert (ROOT / "cost_eval" / "py.typed").is_file() and '"py.typed"' in (ROOT / "setup.py").read_text(
        encoding="utf-8")


def test_ruff_finds_nothing():
    pytest.importorskip("ruff", reason='needs pip install "cost_eval[dev]"')
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--no-cache", "--config", ".ci/ruff.toml",
                           "."], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
