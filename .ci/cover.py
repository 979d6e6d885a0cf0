"""Run the tests (with the examples in the docstrings) and the notebooks, and say which lines and branches of the package they reach.

    python .ci/cover.py [TEST ...]        with tests named: only these, no notebooks, and no least share

Fails if a check fails, or if fewer than 95 % of the package's lines are reached. What is measured stands in .ci/coverage.ini; the lines
that are missing are listed by `coverage report -m --rcfile .ci/coverage.ini`.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from make import PYTEST

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "build" / "coverage"
LEAST = 95  # per cent of the lines


def coverage(command, *words):
    "Run a command of coverage; whether it succeeded."
    return not subprocess.run([sys.executable, "-m", "coverage", command, *words], cwd=ROOT).returncode


def main(*tests):
    os.environ["COVERAGE_RCFILE"] = str(ROOT / ".ci" / "coverage.ini")
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    passed = coverage("run", *PYTEST, "-q", *(tests or ["tests"]))
    if not tests:
        passed &= coverage("run", ".ci/notebooks.py", "--check")
    if not (coverage("combine", "-q") and coverage("report") and coverage("json", "-q", "-o", str(DATA / "found.json"))):
        return "nothing was measured"
    totals = json.loads((DATA / "found.json").read_text())["totals"]
    if not passed:
        return "a check failed, see above"
    if not tests and 100 * totals["covered_lines"] < LEAST * totals["num_statements"]:
        return f"fewer than {LEAST} % of the lines are reached"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
