"""Change the numeric modules at random, one small slip at a time, and see whether a test notices.

    python .ci/mutants.py [-n 300] [--seed 0] [--jobs 2] [--out FILE] [MODULE ...]        default: all numeric modules
    python .ci/mutants.py --again FILE        only what survived in the run that wrote FILE, against the tests as they are now

A mutant is one change in the syntax tree of one module: another comparison, operator, number, constant or argument, a negated
condition, a result thrown away. Each runs in a copy of the project against those tests of its module that call the changed function, the
quick ones first (-x: until one fails). What no test notices is printed with its line, for a human to judge. Nothing in the checkout is touched.
"""
import argparse
import ast
import copy
import importlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Module -> the files that test it, the likeliest first; doctests count, as they are tests.
TESTS = {
    "core": ["test_core", "test_labels", "test_confusion", "test_costs"],
    "confusion": ["test_confusion", "test_labels", "test_options"],
    "costs": ["test_costs", "test_labels", "test_decisions", "test_options"],
    "metrics": ["test_metrics", "test_labels", "test_options", "test_expected_cost"],
    "decisions": ["test_decisions", "test_costs", "test_labels", "test_options", "test_policies"],
    "mean_law": ["test_engine_grid", "test_second_evaluator", "test_bootstrap", "test_bootstrap_methods", "test_intervals"],
    "samples": ["test_samples", "test_policies", "test_missing_labels", "test_report", "test_options"],
    "policies": ["test_policies", "test_capacity", "test_report", "test_options"],
    "expected_cost": ["test_expected_cost", "test_labels", "test_options"],
    "bootstrap": ["test_bootstrap", "test_intervals", "test_bootstrap_methods", "test_options", "test_comparisons"],
    "comparisons": ["test_comparisons", "test_bootstrap_methods", "test_options"],
    "planning": ["test_planning", "test_sequences", "test_options"],
    "training": ["test_training", "test_options"],
    "cost_score": ["test_cost_score", "test_options"],
    "weighted_accuracy": ["test_weighted_accuracy", "test_options", "test_metric_study"],
    "metric_study": ["test_metric_study", "test_weighted_accuracy", "test_options"],
    "outperformance": ["test_outperformance", "test_options", "test_curves"],
    "curves": ["test_curves", "test_outperformance", "test_options"],
    "report": ["test_report", "test_verdicts", "test_policies", "test_recipe", "test_options"],
    "estimators": ["test_estimators", "test_options"],
    "scale": ["test_scale", "test_options"],
    "capacity": ["test_capacity", "test_options"],
    "missing_labels": ["test_missing_labels", "test_options"],
    "robustness": ["test_report", "test_verdicts", "test_options"],
    "page": ["test_report", "test_verdicts", "test_options"],
    "rivals": ["test_expected_cost", "test_options"],
    "scores": ["test_expected_cost", "test_options"],
}
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


def survivors(file):
    "The mutants of an earlier run that survived, where they stand now: the same change, nearest to the line it was on."
    found, known = [], {}
    for old in (result for result in json.loads(file.read_text()) if result["outcome"] == "survived"):
        module = old["module"]
        if module not in known:
            tree = ast.parse(source(module))
            nodes = list(ast.walk(tree))
            known[module] = [(place, in_words(node, list(changes(node))[place[1]][1]())) for place in places(tree) for node in [nodes[place[0]]]]
        same = [place for place, change in known[module] if place[2] == old["kind"] and change == old["change"]]
        if same:
            found.append((module, *min(same, key=lambda place: abs(place[3] - old["line"]))))
        else:
            print(f"no longer there, or no longer asked: {describe(old)}", flush=True)
    return found


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


def test_files(module, folder):
    return [f"cost_eval/{module}.py", *(f"tests/{name}.py" for name in [*TESTS[module], "test_refusals", "test_contract", "test_invariances"] if (folder / "tests" / f"{name}.py").exists())]


class Calls:
    "A plugin of pytest: notes which functions of the package each test calls, and how long each test takes."

    def __init__(self, folder, told):
        self.package, self.told = str(folder / "cost_eval") + os.sep, told
        self.calls, self.seconds, self.now = {}, {}, set()
        sys.settrace(self.trace)
        threading.settrace(self.trace)

    def trace(self, frame, event, arg):
        if frame.f_code.co_filename.startswith(self.package):
            self.now.add(frame.f_code)

    def note(self, name):
        for code in self.now:
            self.calls.setdefault(f"{Path(code.co_filename).stem}.{code.co_qualname}", []).append(name)
        self.now.clear()

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if "client" not in getattr(item, "fixturenames", ())]  # processes of their own, which are not seen

    def pytest_collection_finish(self, session):
        self.note("")  # called by an import: all tests depend on it

    def pytest_runtest_setup(self, item):
        for module in [module for name, module in sys.modules.items() if name.startswith("cost_eval.")]:
            for value in [*vars(module).values()]:
                getattr(value, "cache_clear", int)()

    def pytest_runtest_logreport(self, report):
        self.note(report.nodeid.partition("::")[0] if report.when == "setup" else report.nodeid)  # a fixture serves the whole file
        if report.when == "call":
            self.seconds[report.nodeid] = report.duration

    def pytest_unconfigure(self):
        sys.settrace(None)
        threading.settrace(None)
        self.told.write_text(json.dumps([self.calls, self.seconds]))


class Only:
    "A plugin of pytest: only these tests (or whole files) and new ones, those that take long last."

    def __init__(self, names, seconds, changed):
        self.names, self.seconds, self.changed = set(names), seconds, changed

    def wanted(self, test):
        home = test.partition("::")[0]
        return bool(self.names & {"", test, home}) or (home in self.changed and test not in self.seconds)

    def limit(self):
        return 60 + 5 * sum(seconds for test, seconds in self.seconds.items() if self.wanted(test))

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if "client" not in getattr(item, "fixturenames", ())]
        items[:] = sorted((item for item in items if self.wanted(item.nodeid)), key=lambda item: self.seconds.get(item.nodeid, 0) > .3)


def calling(calls, module, number):
    "The tests that call the function in whose body a node is; all, if it is in none."
    tree = ast.parse(source(module))
    node = list(ast.walk(tree))[number]
    for part in tree.body:
        for function in (f for f in (part.body if isinstance(part, ast.ClassDef) else [part]) if isinstance(f, ast.FunctionDef)):
            if any(node is inner for statement in function.body for inner in ast.walk(statement)):
                method = "" if function is part else f"{part.name}."
                return calls.get(f"{module}.{method}{function.name}", [])
    return [""]


def run_tests(folder, files, timeout, plugin):
    "Whether the tests of these files pass in a workshop: pass, fail or time-out. In a fork, which has the libraries loaded already."
    log = folder / "log.txt"
    child = os.fork()
    if not child:
        os.setsid()
        with open(log, "w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os._exit(pytest_here(folder, files, plugin))
    end = time.time() + timeout
    while time.time() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return ("pass" if os.waitstatus_to_exitcode(status) in (0, 5) else "fail"), log.read_text(errors="replace")  # 5: no tests
        time.sleep(.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "time-out", ""


def pytest_here(folder, files, plugin):
    "Run the tests in this process."
    import pytest

    threading.Thread(target=watch, daemon=True).start()
    os.chdir(folder)
    os.environ.update(PYTHONPATH=str(folder), PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(folder), str(folder / "tests")]
    words = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "--doctest-modules", *files]
    try:
        return int(pytest.main(words, plugins=[plugin()]))
    except BaseException:  # a mutant that does not even import
        return 1


def watch():
    "Leave no process behind when the one that started it is gone."
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def judge(task):
    "One mutant: caught or survived. A worker has a workshop of its own."
    (module, number, way, what, line), (calls, seconds, changed), end, folders = task
    if time.time() > end:
        return None
    folder = folders[multiprocessing.current_process()._identity[0] % len(folders)]
    file = folder / "cost_eval" / f"{module}.py"
    original = source(module)
    text, told = mutated(original, number, way)
    only = Only(calling(calls, module, number), seconds, changed)
    homes = {*changed, *(name.partition("::")[0] for name in only.names)}
    files = [name for name in test_files(module, folder) if name in homes or "" in only.names]
    try:
        file.write_text(text, encoding="utf-8")
        outcome, log = run_tests(folder, files, only.limit(), lambda: only) if files else ("pass", "")
    finally:
        file.write_text(original, encoding="utf-8")
    by = next((line for line in log.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
    return {"module": module, "line": line, "kind": what, "change": told, "outcome": "survived" if outcome == "pass" else "caught", "how": outcome, "by": by}


def unchanged(modules, folder):
    "Which functions each test calls, and its seconds, when nothing is changed: all tests must pass."
    start, told = time.time(), folder / "calls.json"
    files = dict.fromkeys(file for module in modules for file in test_files(module, folder))
    outcome, text = run_tests(folder, files, 3600, lambda: Calls(folder, told))
    if outcome != "pass":
        sys.exit(f"{text[-1500:]}\nthe tests must pass while nothing is changed")
    print(f"the tests pass unchanged, {time.time() - start:.0f} s", flush=True)
    return json.loads(told.read_text())


def what_tests_call(modules, folder, kept):
    "The same from the file where an earlier run kept it, if there is one, and the files of tests that are newer than it."
    if kept and kept.exists():
        return json.loads(kept.read_text()), {f"tests/{file.name}" for file in (ROOT / "tests").glob("*.py") if file.stat().st_mtime > kept.stat().st_mtime}
    known = unchanged(modules, folder)
    if kept:
        kept.write_text(json.dumps(known))
    return known, set()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"default: {' '.join(TESTS)}")
    parser.add_argument("-n", type=int, default=300, help="how many mutants (default: 300)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--again", type=Path, metavar="FILE", help="only the survivors of the run that wrote FILE")
    parser.add_argument("--calls", type=Path, help="keep here which functions each test calls, for the next run")
    parser.add_argument("--out", type=Path, help="a JSON file for the results")
    options = parser.parse_args(argv)
    modules = [m for m in options.modules or TESTS if (ROOT / "cost_eval" / f"{m}.py").exists()]
    if unknown := set(options.modules) - set(TESTS):
        parser.error(f"no tests are known for {', '.join(sorted(unknown))}; there are {', '.join(TESTS)}")
    if options.again:
        mutants = survivors(options.again)
        print(f"{len(mutants)} survivors of {options.again}", flush=True)
    else:
        mutants, n_places = sample(modules, options.n, options.seed)
        print(f"{len(mutants)} of {n_places} possible changes in {', '.join(modules)}", flush=True)
    for name in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{name}_NUM_THREADS"] = "1"
    os.environ["MPLBACKEND"] = "Agg"
    for library in ("numpy", "scipy.stats", "scipy.optimize", "pandas", "matplotlib.pyplot", "sklearn.metrics", "hypothesis.strategies", "pytest"):
        importlib.import_module(library)
    with tempfile.TemporaryDirectory() as scratch:
        folders = [workshop(Path(scratch).resolve() / str(job)) for job in range(options.jobs)]
        known, changed = what_tests_call(sorted({mutant[0] for mutant in mutants}), folders[0], options.calls)
        results = race(mutants, folders, (*known, changed), options.minutes)
    report(results)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))
    return 0


def race(mutants, folders, known, minutes):
    "Judge them, two at a time; what survives is said at once."
    start, results = time.time(), []
    tasks = [(mutant, known, start + 60 * minutes, folders) for mutant in mutants]
    with multiprocessing.get_context("fork").Pool(len(folders)) as pool:
        for result in pool.imap_unordered(judge, tasks):
            if result is None:
                continue
            results.append(result)
            if result["outcome"] == "survived" or len(results) % 25 == 0:
                print(f"[{len(results)}/{len(mutants)}, {time.time() - start:.0f} s] {describe(result)}", flush=True)
    return results


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
