"""Run a script in a process that begins with the libraries of others imported: to import Sphinx or pandas
takes longer than most of what tests want."""
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARIES = ["myst_nb.sphinx_ext", "sphinx.builders.html", "nbdev.quarto", "nbdev.serve", "nbdev.showdoc",
             "lxml.html", "yaml", "scipy.stats", "pandas",
             "matplotlib.pyplot", "joblib"]


def run(script, *arguments, env, cwd="."):
    "As subprocess.run([python, script, *arguments], capture_output=True, text=True, env=env, cwd=cwd)."
    command = [str(script), *map(str, arguments)]
    if "forkserver" not in multiprocessing.get_all_start_methods():  # Windows
        return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=env, cwd=cwd)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LIBRARIES)
    with tempfile.TemporaryDirectory() as scratch:
        streams = [Path(scratch) / name for name in ("stdout", "stderr")]
        process = context.Process(target=begin, args=(command, env, os.path.abspath(cwd), streams))
        process.start()
        process.join()
        return subprocess.CompletedProcess(command, process.exitcode, *(stream.read_text(encoding="utf-8")
                for stream in streams))


def begin(command, env, cwd, streams):
    "In the new process: become the script."
    for number, stream in enumerate(streams, 1):
        os.dup2(os.open(stream, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = command
    sys.path.insert(0, str(Path(command[0]).parent))
    runpy.run_path(command[0], run_name="__main__")
