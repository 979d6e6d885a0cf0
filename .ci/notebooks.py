"""Run notebooks, each in a process of its own, and store their outputs in place, byte for byte the same each time; or only check them.

    python .ci/notebooks.py [--check] [--slow] [--jobs N] [NOTEBOOK ...]        default: all of nbs/

Cells with `#| eval: false` and, without --slow, `#| slow` are not run and keep their outputs. A cell that raises or warns fails its
notebook, which is then left as it was.
--check runs what `nbdev_test` runs and stores nothing: a slider is taken to its ends and its middle, captions are held against their
figures; --without-ci leaves to CI what draws or trains, the cells marked `#| ci`. `nbdev_test` itself runs several notebooks in one process, whose settings and seeds leak from one to the next, and then waits
minutes for idle workers that a notebook started. The processes begin with the libraries of others already imported, which takes
seconds, and nothing of ours.
"""
import argparse
import contextlib
import importlib
import itertools
import json
import multiprocessing.connection
import os
import pickle
import re
import signal
import sys
import tempfile
import time
import traceback
from functools import partialmethod
from pathlib import Path

import nbformat
from execnb.nbio import nb2str
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbdev.clean import clean_nb
from nbdev.config import get_config
from nbdev.process import extract_directives
from traitlets.config import Config

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT / "nbs"
SHARED = ["nbdev.test", "nbdev.showdoc", "scipy.stats", "scipy.optimize", "pandas", "matplotlib.pyplot",
          "ipywidgets", "sklearn.ensemble"]
VIEW = "application/vnd.jupyter.widget-view+json"
INLINE = "module://matplotlib_inline.backend_inline"


# ---- which cells run

def execute(nb, folder, slow=False):
    "Run the cells of `nb` in `folder`."
    for cell in nb.cells:
        flags = extract_directives(cell, remove=False) if cell.cell_type == "code" else {}
        if flags.get("eval:") == ["false"] or ("slow" in flags and not slow):
            cell.metadata.tags = ["skip-execution"]  # for nbclient; it is not stored
    with tempfile.TemporaryDirectory() as scratch:
        client = NotebookClient(nb, timeout=1200, resources={"metadata": {"path": str(folder)}},
                                config=sockets(scratch), extra_arguments=["--log-level=ERROR"])
        client.execute(env=kernel_environment(scratch))
    nb.metadata.pop("widgets", None)  # no page needs the state of widgets
    for number, cell in enumerate(nb.cells):
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr" and "Warning: " in output["text"]:
                raise RuntimeError(f"cell {number} ({cell.id}) warns:\n{output['text']}")
            if VIEW in output.get("data", {}) and "text/html" not in output.data:
                raise RuntimeError(f"cell {number} ({cell.id}) shows a widget without a form for pages: "
                                   "see plotting.for_page")
            output.get("data", {}).pop(VIEW, None)  # it leads to a kernel that is gone


def sockets(scratch):
    "Files as sockets: of two kernels that start at once, one may lose the port that it was promised."
    return Config({"KernelManager": {"transport": "ipc", "ip": f"{scratch}/kernel"}})


def kernel_environment(scratch):
    "The same for everybody: no user's settings, hashes and SVG ids that do not vary."
    rc = Path(scratch) / "matplotlibrc"
    rc.write_text("svg.hashsalt: cost_eval\n")
    return os.environ | {"PYTHONHASHSEED": "0", "MATPLOTLIBRC": str(rc), "IPYTHONDIR": scratch,
                         "JUPYTER_PREFER_ENV_PATH": "1", "MPLBACKEND": INLINE}


# ---- the same bytes each time

def without_metadata(nb):
    "Drawings tell no software and no date."
    for data in (output.get("data", {}) for cell in nb.cells for output in cell.get("outputs", ())):
        if "image/svg+xml" in data:
            data["image/svg+xml"] = re.sub(r"(?s)\s*<metadata>.*?</metadata>", "", data["image/svg+xml"])


def name_tables(nb):
    "Styled tables of pandas are named after their cells."
    for cell in nb.cells:
        if cell.get("outputs"):
            text = json.dumps(cell.outputs)
            names = list(dict.fromkeys(re.findall(r'id=\\"T_([0-9a-f]{5})\\"', text)))
            for number, name in enumerate(names):
                text = text.replace(f"T_{name}", f"T_{cell.id}_{number}")
            cell["outputs"] = nbformat.from_dict(json.loads(text))


def to_text(nb) -> str:
    "A notebook that was run, as `nbdev_clean` would write it."
    without_metadata(nb)
    name_tables(nb)
    plain, config = json.loads(nbformat.writes(nb)), get_config(path=ROOT)
    allowed = (config.allowed_metadata_keys.split(), config.allowed_cell_metadata_keys.split())
    clean_nb(plain, False, *allowed, config.clean_ids)
    return nb2str(plain)


# ---- one notebook

def process(path, slow=False):
    "Run one notebook and store its outputs: (what became of it, text to show)."
    nb = nbformat.read(path, as_version=4)
    try:
        execute(nb, path.parent, slow)
    except (CellExecutionError, CellTimeoutError, DeadKernelError, RuntimeError) as error:
        return "FAILED", str(error)
    old, new = path.read_text(encoding="utf-8"), to_text(nb)
    if new != old:
        path.write_text(new, encoding="utf-8")
    return "outputs " + ("changed" if new != old else "as before"), ""


def checked(path, left):
    """Run the cells of one notebook in this process but those with the flags `left`, and hold its figures against
    their captions: whether all is well."""
    os.chdir(NBS)
    import captions
    import execnb.shell
    from nbdev.test import test_nb

    # nothing is stored: what a cell shows is drawn once, when it is shown, not again for a file, and not in
    # the double resolution of one
    sys.modules["matplotlib.pyplot"].draw_all = lambda **_: None
    execnb.shell._out_nb = lambda *_: []
    execnb.shell.CaptureShell.__init__ = partialmethod(execnb.shell.CaptureShell.__init__, mpl_format="png")
    from cost_eval import plotting
    plotting._positions = lambda control, count, of=plotting._positions: of(control, min(count, 3))
    if folder := os.environ.get("COST_EVAL_NUMBERS"):
        from cost_eval import reproduce
        reproduce.run_item = remembered(reproduce.run_item, Path(folder))
    untrue = []
    captions.watch(untrue)
    execnb.shell.CaptureShell.showtraceback = partialmethod(told, untrue)
    success = test_nb(path, basepath=NBS, skip_flags=left)[0]
    print("\n".join(untrue))
    return success and not untrue


def told(shell, untrue, *args, **kwargs):
    """An error of something that was shown (a widget's page, a table) fails no cell: IPython prints it and
    goes on."""
    untrue.append(traceback.format_exc())


def remembered(run_item, folder):
    """`run_item`, which writes down what an item gives, so that the tests of the same run need not compute it
    again (tests/conftest.py)."""
    def run(item, **options):
        result = run_item(item, **options)
        if not options and result.table is not None:
            (folder / item.name.replace("/", "-")).write_bytes(pickle.dumps(result))
        return result
    return run


# ---- all notebooks

def job(path, options, log):
    """One notebook in this process, a leader of its group, with its output in the file `log`; ends the
    process."""
    os.setsid()
    for stream in (1, 2):
        os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), stream)
    if options.check:
        success = checked(path, options.left)
    else:
        outcome, text = process(path, options.slow)
        success = outcome != "FAILED"
        print(outcome, text, sep="\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(not success)  # at once: idle workers of joblib would keep an ordinary exit waiting


def processes(paths, options):
    """Run each notebook in a new process, some at a time: (its file, success, seconds, its output) as they
    end."""
    context = multiprocessing.get_context("fork")
    if options.check:
        for name in SHARED:
            importlib.import_module(name)
    waiting, running = list(paths), {}
    while waiting or running:
        while waiting and len(running) < options.jobs:
            log, path = tempfile.NamedTemporaryFile(), waiting.pop(0)
            child = context.Process(target=job, args=(path, options, log.name))
            child.start()
            running[child.sentinel] = child, path, log, time.time()
        for sentinel in multiprocessing.connection.wait(running):
            child, path, log, start = running.pop(sentinel)
            child.join()
            with contextlib.suppress(OSError):
                os.killpg(child.pid, signal.SIGTERM)  # the idle workers
            with log:
                yield path, child.exitcode == 0, time.time() - start, log.read().decode(errors="replace")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("notebooks", nargs="*", metavar="NOTEBOOK")
    parser.add_argument("--check", action="store_true", help="store nothing")
    parser.add_argument("--slow", action="store_true", help="run the cells marked slow, too")
    parser.add_argument("--without-ci", action="store_true", help="leave to CI the cells marked so")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="notebooks at a time (default: 2)")
    options = parser.parse_args(argv)
    options.left = [] if options.slow else ["slow", "ci"] if options.without_ci else ["slow"]
    if options.slow:  # the book's claims (91_reproduce): all draws are held to the record, or make it
        os.environ.setdefault("COST_EVAL_CLAIMS", "all" if options.check else "store")
    paths = [path if path.exists() else NBS / path for path in map(Path, options.notebooks)]
    paths = paths or sorted(NBS.glob("[!_]*.ipynb"))
    if absent := [str(path) for path in paths if not path.exists()]:
        parser.error(f"no such notebook: {', '.join(absent)}")
    print(f"data: {os.environ.get('COST_EVAL_DATA') or 'no COST_EVAL_DATA, so what needs it is left out'}")
    return run_all([path.resolve() for path in paths], options)


def run_all(paths, options):
    "The longest first (reproductions, then by size), so that both cores end together."
    order = sorted(paths, key=lambda path: ("_reproduced" not in path.name, -path.stat().st_size))
    failed = []
    for number, (path, success, seconds, text) in enumerate(processes(order, options), 1):
        verdict = "ok" if success else "FAILED"
        print(f"[{number}/{len(paths)}] {path.name}: {verdict}, {seconds:.1f} s", flush=True)
        failed += [] if success else [path.name]
        if not (success and options.check):
            print(text.strip(), flush=True)
    for path, flag in itertools.product(paths if options.check else (), options.left):
        if count := path.read_text(encoding="utf-8").count(f'"#| {flag}'):
            print(f"left out: {path.name}: {flag} cells ({count})")
    print(f"failed: {', '.join(failed)}" if failed else f"{len(paths)} notebooks")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
