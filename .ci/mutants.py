"""Change the numeric modules at random, one small slip at a time, and see whether a test notices.

    python .ci/mutants.py [-n 300] [--seed 0] [--jobs 2] [--out FILE] [MODULE ...]        default: all numeric modules

A mutant is one change in the syntax tree of one module: another comparison, operator, number, constant or argument, a negated
condition, a result thrown away. Each runs in a copy of the project against the tests of its notebook that `make change` runs, too, and
the module's examples (-x: until one fails). What no test notices is printed with its line, for a human to judge. Nothing in the checkout is touched.
"""
import argparse
import ast
import copy
import importlib
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

MODULES = ("core confusion costs metrics decisions mean_law samples policies expected_cost rivals scores bootstrap comparisons planning training cost_score weighted_accuracy metric_study "
           "outperformance curves page report estimators hand_over capacity missing_labels scale").split()
COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn,
           ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
BINARY = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
          ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.MatMult: ast.Mult, ast.BitXor: ast.BitAnd}
DRAWING = ("plot", "explore", "_repr_", "__repr__", "to_html")  # judged by eye, not by tests


# ---- the changes

def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def changes(node):
    "The ways to change one node: (what is said of it, function that makes the new node)."
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARE:
        yield "comparison", lambda: replaced(node, ops=[COMPARE[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in BINARY and not (is_text(getattr(node, "left", None)) or is_text(getattr(node, "right", None))):
        yield "operator", lambda: replaced(node, op=BINARY[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield "and/or", lambda: replaced(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
        yield "sign", lambda: node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "boolean", lambda: ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not 0 < abs(node.value) <= 1e-6:
        yield "number", lambda: ast.Constant(node.value + 1)
        yield "number", lambda: ast.Constant(node.value * 2 if node.value else -1)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)) and not isinstance(node.test, ast.Constant):
        yield "condition", lambda: replaced(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Call) and node.keywords:
        yield "keyword left out", lambda: replaced(node, keywords=node.keywords[1:])
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield "returns None", lambda: replaced(node, value=ast.Constant(None))


def replaced(node, **fields):
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def takes_axes(node):
    return isinstance(node, ast.FunctionDef) and bool({"ax", "axes"} & {argument.arg for argument in node.args.args})


def only_for_drawing(node, tree, skipped):
    "Whether a private function or constant of a module is used in what is left out, and nowhere else."
    names = {node.name} if isinstance(node, ast.FunctionDef) else {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    uses = [id(n) in skipped for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names]
    return bool(uses) and all(uses) and all(name[0] == "_" for name in names)


def places(tree):
    """Every node that can be changed, by its number in the walk.

    Docstrings, annotations, messages of errors and drawing (what takes Axes, and private helpers that nothing else uses) are left out, as
    are tolerances (numbers up to 1e-6) and the bytes a row of a block takes.
    """
    skipped = set()
    for node in ast.walk(tree):
        drawing = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and (node.name.startswith(DRAWING) or takes_axes(node))
        parts = [node] if drawing or isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)) else []
        if isinstance(node, ast.FunctionDef):
            parts += [*filter(None, [node.returns]), *(a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg) and a.annotation)]
        elif isinstance(node, ast.AnnAssign):
            parts.append(node.annotation)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "blocks":
            parts += node.args[1:]
        skipped |= {id(inner) for part in parts for inner in ast.walk(part)}
    while helpers := [node for node in tree.body if id(node) not in skipped and only_for_drawing(node, tree, skipped)]:
        skipped |= {id(inner) for node in helpers for inner in ast.walk(node)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in skipped:
            yield from ((number, way, what, node.lineno) for way, (what, _) in enumerate(changes(node)) if hasattr(node, "lineno"))


class Change(ast.NodeTransformer):
    def __init__(self, target, new):
        self.target, self.new = target, new

    def visit(self, node):
        return ast.copy_location(self.new, node) if node is self.target else super().generic_visit(node)


def mutated(source, number, way):
    "The source with one change."
    tree = ast.parse(source)
    node = list(ast.walk(tree))[number]
    new = list(changes(node))[way][1]()
    told = in_words(node, new)
    return ast.unparse(ast.fix_missing_locations(Change(node, new).visit(tree))), told


def in_words(node, new):
    before = ast.unparse(node).partition("\n")[0]
    after = ast.unparse(ast.fix_missing_locations(ast.copy_location(new, node))).partition("\n")[0]
    return f"{before}  ->  {after}"


def sample(modules, n, seed):
    "`n` mutants, each place as likely as any other."
    every = [(module, *place) for module in modules for place in places(ast.parse(source(module)))]
    random.Random(seed).shuffle(every)
    return every[:n], len(every)


def source(module):
    return (ROOT / "cost_eval" / f"{module}.py").read_text(encoding="utf-8")


# ---- the runs

def workshop(folder):
    "A copy of what the tests need."
    for part in ("cost_eval", "tests", ".ci", "nbs"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("settings.ini", "setup.py", "_quarto.yml", "README.md", "CITATION.cff", "CONTRIBUTING.md"):
        shutil.copy(ROOT / part, folder / part)
    return folder


def tests_of(module):
    "What pytest is told to run: the module's examples, its own tests, and its cases of the common ones (the form of its notebook apart)."
    notebook = re.search(r"nbs/(\w+)\.ipynb", source(module))[1]
    return ["--of", notebook, "--doctest-modules", f"cost_eval/{module}.py", "tests", "--ignore=tests/test_house.py", "--ignore=tests/test_widgets.py"]


class SameProcess:
    "A plugin of pytest: without the tests whose processes are not the ones that read the mutant."

    @staticmethod
    def pytest_collection_modifyitems(items):
        items[:] = [item for item in items if "client" not in getattr(item, "fixturenames", ())]


def run_tests(folder, module, timeout):
    "Whether the tests of a module pass in a workshop: pass, fail or time-out; and what they say. In a fork, which has the libraries loaded already."
    log = folder / "log.txt"
    child = os.fork()
    if not child:
        os.setsid()
        with open(log, "w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os._exit(pytest_here(folder, module))
    end = time.time() + timeout
    while time.time() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return ("fail" if os.waitstatus_to_exitcode(status) else "pass"), log.read_text(errors="replace")
        time.sleep(.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "time-out", ""


def pytest_here(folder, module):
    "Run the tests in this process."
    import pytest

    threading.Thread(target=watch, daemon=True).start()
    os.chdir(folder)
    os.environ.update(PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(folder), str(folder / "tests")]
    words = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=no", *tests_of(module)]
    try:
        return int(pytest.main(words, plugins=[SameProcess]))
    except BaseException:  # a mutant that does not even import
        return 1


def watch():
    "Leave no process behind when the one that started it is gone."
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def own_workshop(folders):
    "A worker has a workshop of its own."
    return folders[multiprocessing.current_process()._identity[0] % len(folders)]


def unchanged(task):
    "A module, and the seconds its tests take while nothing is changed: they must pass."
    module, folders = task
    start = time.time()
    outcome, text = run_tests(own_workshop(folders), module, 3600)
    if outcome != "pass":
        raise SystemExit(f"{text[-1500:]}\nthe tests of {module} must pass while nothing is changed")
    return module, time.time() - start


def judge(task):
    "One mutant: caught or survived."
    (module, number, way, what, line), seconds, folders = task
    folder = own_workshop(folders)
    file, original = folder / "cost_eval" / f"{module}.py", source(module)
    text, told = mutated(original, number, way)
    try:
        file.write_text(text, encoding="utf-8")
        outcome, log = run_tests(folder, module, 60 + 5 * seconds)
    finally:
        file.write_text(original, encoding="utf-8")
    by = next((line for line in log.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
    return {"module": module, "line": line, "kind": what, "change": told, "outcome": "survived" if outcome == "pass" else "caught", "how": outcome, "by": by}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", choices=[*MODULES, []], help=f"default: {' '.join(MODULES)}")
    parser.add_argument("-n", type=int, default=300, help="how many mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a JSON file for the results")
    options = parser.parse_args(argv)
    mutants, n_places = sample(options.modules or MODULES, options.n, options.seed)
    print(f"{len(mutants)} of {n_places} possible changes", flush=True)
    for name in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{name}_NUM_THREADS"] = "1"
    os.environ["MPLBACKEND"] = "Agg"
    for library in ("numpy", "scipy.stats", "scipy.optimize", "pandas", "matplotlib.pyplot", "sklearn.metrics", "hypothesis.strategies", "pytest"):
        importlib.import_module(library)
    with tempfile.TemporaryDirectory() as scratch:
        folders = [workshop(Path(scratch).resolve() / str(job)) for job in range(options.jobs)]
        with multiprocessing.get_context("fork").Pool(len(folders)) as pool:
            seconds = dict(pool.imap_unordered(unchanged, [(module, folders) for module in dict.fromkeys(mutant[0] for mutant in mutants)]))
            print(f"the tests pass unchanged, {sum(seconds.values()):.0f} s", flush=True)
            results = told(pool.imap_unordered(judge, [(mutant, seconds[mutant[0]], folders) for mutant in mutants]), len(mutants))
    report(results)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))
    return 0


def told(results, n):
    "All of them; what survives is said at once."
    known, start = [], time.time()
    for result in results:
        known.append(result)
        if result["outcome"] == "survived" or len(known) % 25 == 0:
            print(f"[{len(known)}/{n}, {time.time() - start:.0f} s] {describe(result)}", flush=True)
    return known


def describe(result):
    return f"{result['outcome']}: cost_eval/{result['module']}.py:{result['line']}: {result['kind']}: {result['change'][:160]}"


def report(results):
    caught = [result for result in results if result["outcome"] == "caught"]
    print(f"\n{len(results)} mutants, {len(caught)} caught ({len(caught) / max(1, len(results)):.0%}), {len(results) - len(caught)} survived")
    for module in dict.fromkeys(sorted(result["module"] for result in results)):
        mine = [result for result in results if result["module"] == module]
        print(f"  {module:18} {sum(r['outcome'] == 'caught' for r in mine):4d} of {len(mine):4d}")
    for result in sorted(results, key=lambda r: (r["module"], r["line"])):
        if result["outcome"] == "survived":
            print("  " + describe(result))


if __name__ == "__main__":
    sys.exit(main())
