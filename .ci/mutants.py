"""Change the numeric modules at random, one small slip at a time, and see whether a test notices.

    python .ci/mutants.py [-n 300] [--seed 0] [--jobs 2] [MODULE ...]     default: all numeric modules

A mutant is one change in the syntax tree of one module: another comparison, operator, number, constant or
argument, a negated condition, a result thrown away. Each runs in a copy of the project against the tests of its
notebook that `make change` runs, too, and the module's examples (-x: until one fails). What no test notices is
printed with its line, for a human to judge. Nothing in the checkout is touched.
"""
import argparse
import ast
import copy
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

UNJUDGED = ("api", "app", "datasets", "plotting", "reproduce", "runner", "__init__", "__main__", "_modidx")
MODULES = sorted({file.stem for file in (ROOT / "cost_eval").glob("*.py")} - {*UNJUDGED})
OTHER = {"Lt": "LtE", "Gt": "GtE", "Eq": "NotEq", "In": "NotIn", "Is": "IsNot", "Add": "Sub", "And": "Or",
         "BitAnd": "BitOr", "LShift": "RShift", "Mult": "Div"}
OTHER |= {to: of for of, to in OTHER.items()} | dict.fromkeys(("FloorDiv", "Mod", "Pow", "MatMult"), "Mult")
OTHER["BitXor"] = "BitAnd"
DRAWING = ("plot", "explore", "_repr_", "__repr__", "to_html")  # judged by eye, not by tests


# ---- the changes

def other(operator):
    "The operator that takes its place."
    return getattr(ast, OTHER[type(operator).__name__])()


def joins_text(node):
    sides = [getattr(node, "left", None), getattr(node, "right", None)]
    return any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides)


def changes(node):
    "The ways to change one node: (what is said of it, function that makes the new node)."
    if isinstance(node, ast.Compare):
        yield "comparison", lambda: replaced(node, ops=[other(node.ops[0]), *node.ops[1:]])
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and not joins_text(node):
        yield "operator", lambda: replaced(node, op=other(node.op))
    elif isinstance(node, ast.BoolOp):
        yield "and/or", lambda: replaced(node, op=other(node.op))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
        yield "sign", lambda: node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "boolean", lambda: ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and is_number(node.value):
        yield "number", lambda: ast.Constant(node.value + 1)
        yield "number", lambda: ast.Constant(node.value * 2 if node.value else -1)
    elif isinstance(node, (ast.If, ast.While, ast.IfExp)) and not isinstance(node.test, ast.Constant):
        yield "condition", lambda: replaced(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Call) and node.keywords:
        yield "keyword left out", lambda: replaced(node, keywords=node.keywords[1:])
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield "returns None", lambda: replaced(node, value=ast.Constant(None))


def is_number(value):
    "One that counts; a tolerance does not."
    return isinstance(value, (int, float)) and not 0 < abs(value) <= 1e-6


def replaced(node, **fields):
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def named(tree, context):
    "The names that a piece of code reads (ast.Load) or sets (ast.Store)."
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, context)]


def only_for_drawing(node, tree, skipped):
    "Whether a private function or constant of a module is used in what is left out, and nowhere else."
    names = {node.name} if isinstance(node, ast.FunctionDef) else {name.id for name in named(node, ast.Store)}
    uses = [id(name) in skipped for name in named(tree, ast.Load) if name.id in names]
    return bool(uses) and all(uses) and all(name[0] == "_" for name in names)


def unjudged(node):
    "The parts of a node that no test judges."
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return [node]
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name.startswith(DRAWING):
        return [node]
    if isinstance(node, ast.FunctionDef):
        draws = {"ax", "axes"} & {argument.arg for argument in node.args.args}
        return [node] if draws else [node.returns] if node.returns else []
    if isinstance(node, (ast.AnnAssign, ast.arg)):
        return [node.annotation] if node.annotation else []
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "blocks":
        return node.args[1:]
    return []


def places(tree):
    """Every node that can be changed, by its number in the walk.

    Docstrings, annotations, messages of errors and drawing (what takes Axes, and private helpers that nothing else
    uses) are left out, as are tolerances (numbers up to 1e-6) and the bytes a row of a block takes.
    """
    left = [part for node in ast.walk(tree) for part in unjudged(node)]
    while left:
        skipped = {id(inner) for part in left for inner in ast.walk(part)}
        rest = [node for node in tree.body if id(node) not in skipped]
        helpers = [node for node in rest if only_for_drawing(node, tree, skipped)]
        left = helpers and left + helpers
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in skipped and hasattr(node, "lineno"):
            for way, (what, _) in enumerate(changes(node)):
                yield number, way, what, node.lineno


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


def tested(folder, module, timeout=None):
    """What becomes of a module's tests in a workshop (pass, fail, time-out), and what they say: its examples, its own
    tests, and its cases of the common ones; of its notebook's form nothing."""
    notebook = re.search(r"nbs/(\w+)\.ipynb", source(module))[1]
    words = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no", "--of", notebook,
             "--ignore=tests/test_house.py", "--ignore=tests/test_widgets.py",
             "--doctest-modules", f"cost_eval/{module}.py", "tests"]
    env = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run([sys.executable, "-m", "pytest", *words], cwd=folder, env=env, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return "time-out", ""
    return ("fail" if done.returncode else "pass"), done.stdout


class Bench:
    "Workshops, each of which one thread at a time works in."

    def __init__(self, folders):
        self.free = queue.SimpleQueue()
        for folder in folders:
            self.free.put(folder)

    def unchanged(self, module):
        "The seconds its tests take while nothing is changed: they must pass."
        folder, start = self.free.get(), time.time()
        outcome, text = tested(folder, module)
        self.free.put(folder)
        if outcome != "pass":
            raise SystemExit(f"{text[-1500:]}\nthe tests of {module} must pass while nothing is changed")
        return time.time() - start

    def judge(self, mutant, seconds):
        "One mutant: caught or survived."
        module, number, way, what, line = mutant
        folder, original = self.free.get(), source(module)
        file = folder / "cost_eval" / f"{module}.py"
        text, told = mutated(original, number, way)
        file.write_text(text, encoding="utf-8")
        outcome, _ = tested(folder, module, 60 + 5 * seconds)
        file.write_text(original, encoding="utf-8")
        self.free.put(folder)
        return {"module": module, "line": line, "kind": what, "change": told, "how": outcome}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", choices=[*MODULES, []])
    parser.add_argument("-n", type=int, default=300, help="how many mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(argv)
    mutants, n_places = sample(options.modules or MODULES, options.n, options.seed)
    modules = sorted({module for module, *_ in mutants})
    print(f"{len(mutants)} of {n_places} possible changes", flush=True)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        bench = Bench(workshop(Path(scratch).resolve() / str(job)) for job in range(options.jobs))
        seconds = dict(zip(modules, pool.map(bench.unchanged, modules)))
        print(f"the tests pass unchanged, {sum(seconds.values()):.0f} s", flush=True)
        results = []
        for result in pool.map(bench.judge, mutants, (seconds[module] for module, *_ in mutants)):
            results.append(result)
            print(f"[{len(results)}/{len(mutants)}] {describe(result)}", flush=True)
    report(results)


def survived(result):
    return result["how"] == "pass"


def describe(result):
    verdict, place = "survived" if survived(result) else "caught", f"{result['module']}.py:{result['line']}"
    return f"{verdict}: cost_eval/{place}: {result['kind']}: {result['change'][:160]}"


def report(results):
    left = sorted(filter(survived, results), key=lambda result: (result["module"], result["line"]))
    caught = len(results) - len(left)
    print(f"\n{len(results)} mutants, {caught} caught ({caught / len(results):.0%}), {len(left)} survived")
    for result in left:
        print("  " + describe(result))


if __name__ == "__main__":
    main()
