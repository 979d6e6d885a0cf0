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


def table(found):
    "Lines and branches of each module, and of all."
    print(f"{'':46}{'lines':>7}{'reached':>9}{'branches':>10}{'reached':>9}")
    for name, each in [*((file, each["summary"]) for file, each in found["files"].items()), ("all", found["totals"])]:
        lines, branches = (f"{100 * done / max(all_, 1):.1f} %" if all_ else "" for done, all_ in shares(each))
        print(f"{name:46}{each['num_statements']:7,}{lines:>9}{each['num_branches']:10,}{branches:>9}")


def shares(each):
    "Reached and existing lines, the same of branches."
    return (each["covered_lines"], each["num_statements"]), (each["covered_branches"], each["num_branches"])


def main(*tests):
    os.environ["COVERAGE_RCFILE"] = str(ROOT / ".ci" / "coverage.ini")
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    passed = coverage("run", *PYTEST, "-q", *(tests or ["tests"]))
    if not tests:
        passed &= coverage("run", ".ci/check_notebooks.py")
    if not (coverage("combine", "-q") and coverage("json", "-q", "-o", str(DATA / "found.json"))):
        return "nothing was measured"
    found = json.loads((DATA / "found.json").read_text())
    table(found)
    (reached, lines), _ = shares(found["totals"])
    if not passed:
        return "a check failed, see above"
    if not tests and 100 * reached < LEAST * lines:
        return f"fewer than {LEAST} % of the lines are reached"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
