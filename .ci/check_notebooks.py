"""Run the cells of notebooks as tests, each notebook in a process of its own.

    python .ci/check_notebooks.py [--slow] [--jobs N] [NOTEBOOK ...]        default: all of nbs/

What `nbdev_test` runs, it runs, and stores nothing. `nbdev_test` itself runs several notebooks in one process, whose settings and
seeds leak from one to the next, and then waits minutes for idle workers that a notebook started.
"""
import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NBS = ROOT / "nbs"


def run_cells(path, slow):
    "Run one notebook here; True if all its cells did."
    from nbdev.config import get_config
    from nbdev.test import test_nb

    flags = (get_config(path=ROOT).tst_flags or "").split()
    return test_nb(path, skip_flags=[] if slow else flags, force_flags=flags if slow else [], basepath=NBS)[0]


def process(path, slow):
    "Run one notebook in a new process: (its file, success, seconds, its output)."
    start = time.time()
    command = [sys.executable, __file__, "--here", str(path), *(["--slow"] if slow else [])]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:  # a pipe would stay open as long as a worker idles
        child = subprocess.Popen(command, cwd=NBS, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        code = child.wait()
        with contextlib.suppress(OSError, AttributeError):
            os.killpg(child.pid, signal.SIGTERM)  # the idle workers
        log.seek(0)
        return path, not code, time.time() - start, log.read()


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
    parser.add_argument("--here", action="store_true", help="run the one notebook in this process")
    options = parser.parse_args(argv)
    paths = [path if path.exists() else NBS / path for path in map(Path, options.notebooks)] or sorted(NBS.glob("[!_]*.ipynb"))
    if absent := [str(path) for path in paths if not path.exists()]:
        parser.error(f"no such notebook: {', '.join(absent)}")
    if options.here:
        success = run_cells(paths[0], options.slow)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(not success)  # at once: idle workers of joblib would keep an ordinary exit waiting
    return run_all([path.resolve() for path in paths], options)


def run_all(paths, options):
    "The longest first (reproductions, then by size), so that both cores end together."
    order = sorted(paths, key=lambda path: ("_reproduced" not in path.name, -path.stat().st_size))
    failed = []
    with ThreadPoolExecutor(options.jobs) as pool:
        running = [pool.submit(process, path, options.slow) for path in order]
        for number, future in enumerate(as_completed(running), 1):
            path, success, seconds, text = future.result()
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
