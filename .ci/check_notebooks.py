"""Run the cells of notebooks as tests, each notebook in a process of its own.

    python .ci/check_notebooks.py [--slow] [--jobs N] [NOTEBOOK ...]        default: all of nbs/

What `nbdev_test` runs, it runs, and stores nothing: a slider is taken to its ends and its middle, the pictures between are drawn
where they are stored. `nbdev_test` itself runs several notebooks in one process, whose settings and seeds leak from one to the next,
and then waits minutes for idle workers that a notebook started. Where the system can fork, the processes begin with the libraries of
others already imported, which takes seconds, and nothing of ours.
"""
import argparse
import contextlib
import importlib
import json
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
from functools import partialmethod
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT / "nbs"
SHARED = ["nbdev.test", "nbdev.showdoc", "scipy.stats", "scipy.optimize", "pandas", "matplotlib.pyplot", "ipywidgets", "sklearn.ensemble"]


def run_cells(path, slow, log):
    "Run one notebook in this process, a leader of its group, with its output in the file `log`; ends the process."
    with contextlib.suppress(AttributeError):  # Windows
        os.setsid()
    os.chdir(NBS)
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), stream)
    import captions
    import execnb.shell
    from nbdev.config import get_config
    from nbdev.test import test_nb

    # nothing is stored: what a cell shows is drawn once, not again for a file, and not in the double resolution of one
    execnb.shell._out_nb = lambda *_: []
    execnb.shell.CaptureShell.__init__ = partialmethod(execnb.shell.CaptureShell.__init__, mpl_format="png")
    from cost_eval import plotting
    positions = plotting._positions
    plotting._positions = lambda control, count: positions(control, min(count, 3))
    if folder := os.environ.get("COST_EVAL_NUMBERS"):
        from cost_eval import reproduce
        reproduce.run_item = remembered(reproduce.run_item, Path(folder))
    untrue = []
    captions.watch(untrue)
    execnb.shell.CaptureShell.showtraceback = partialmethod(told, untrue)
    flags = (get_config(path=ROOT).tst_flags or "").split()
    success = test_nb(path, skip_flags=[] if slow else flags, force_flags=flags if slow else [], basepath=NBS)[0]
    for line in untrue:
        print(line)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(not success or bool(untrue))  # at once: idle workers of joblib would keep an ordinary exit waiting


def told(shell, untrue, *args, **kwargs):
    "An error of something that was shown (a widget's page, a table) fails no cell: IPython prints it and goes on."
    untrue.append(traceback.format_exc())


def remembered(run_item, folder):
    "`run_item`, which writes down what an item gives, so that the tests of the same run need not compute it again (tests/conftest.py)."
    def run(item, **options):
        result = run_item(item, **options)
        if not options and result.table is not None:
            (folder / item.name.replace("/", "-")).write_bytes(pickle.dumps(result))
        return result
    return run


def processes(paths, slow, jobs):
    "Run each notebook in a new process, `jobs` at a time: (its file, success, seconds, its output) as they end."
    context = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
    if context.get_start_method() == "fork":
        for name in SHARED:
            importlib.import_module(name)
    waiting, running = list(paths), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            log, path = tempfile.NamedTemporaryFile(), waiting.pop(0)
            child = context.Process(target=run_cells, args=(path, slow, log.name))
            child.start()
            running[child.sentinel] = child, path, log, time.time()
        for sentinel in multiprocessing.connection.wait(running):
            child, path, log, start = running.pop(sentinel)
            child.join()
            with contextlib.suppress(OSError, AttributeError):
                os.killpg(child.pid, signal.SIGTERM)  # the idle workers
            with log:
                yield path, child.exitcode == 0, time.time() - start, log.read().decode(errors="replace")


def slow_cells(path):
    "How many cells are marked slow."
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    heads = ["".join(cell["source"]).split("\n\n")[0].splitlines() for cell in cells if cell["cell_type"] == "code"]
    return sum(any(line.replace(" ", "") == "#|slow" for line in head) for head in heads)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", metavar="NOTEBOOK")
    parser.add_argument("--slow", action="store_true", help="run the cells marked slow, too")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="notebooks at a time (default: 2)")
    options = parser.parse_args(argv)
    paths = [path if path.exists() else NBS / path for path in map(Path, options.notebooks)] or sorted(NBS.glob("[!_]*.ipynb"))
    if absent := [str(path) for path in paths if not path.exists()]:
        parser.error(f"no such notebook: {', '.join(absent)}")
    return run_all([path.resolve() for path in paths], options)


def run_all(paths, options):
    "The longest first (reproductions, then by size), so that both cores end together."
    order = sorted(paths, key=lambda path: ("_reproduced" not in path.name, -path.stat().st_size))
    failed = []
    for number, (path, success, seconds, text) in enumerate(processes(order, options.slow, options.jobs), 1):
        print(f"[{number}/{len(paths)}] {path.name}: {'ok' if success else 'FAILED'}, {seconds:.1f} s", flush=True)
        if not success:
            failed.append(path.name)
            print(text, flush=True)
    if not options.slow:
        for path in paths:
            if count := slow_cells(path):
                print(f"left out: {path.name}: {count} slow cell{'s' if count > 1 else ''}")
    print(f"{len(failed)} of {len(paths)} notebooks failed: {', '.join(failed)}" if failed else f"{len(paths)} notebooks")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
