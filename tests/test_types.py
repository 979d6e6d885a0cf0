"""What a type checker sees of the public names: a small program that uses them has no error, and a wrong one has; ruff finds nothing."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import numpy as np

from cost_eval.bootstrap import bdelta_cost, difference, interval
from cost_eval.confusion import BinaryCounts, ConfusionCounts, confusion_counts, joint_counts, threshold_counts
from cost_eval.costs import CostMatrix, ExampleCosts, losses
from cost_eval.decisions import bayes_decisions, bayes_threshold, best_threshold
from cost_eval.expected_cost import decision_intervals, roc_auc
from cost_eval.metrics import evaluate_metrics, expected_cost, normalized_expected_cost
from cost_eval.outperformance import outperformance, outperformance_of_cost
from cost_eval.comparisons import simultaneous_differences
from cost_eval.report import Report, evaluate

y, s = np.array([0, 1, 1]), np.array([0.1, 0.4, 0.9])
costs = CostMatrix.binary(fp=1, fn=20, classes=["a", "b"])
counts: ConfusionCounts = confusion_counts(y, s > 0.5)
labels: tuple = counts.classes + costs.decisions
array: np.ndarray = counts.array + costs.array
ec = expected_cost(counts, costs, priors=[0.5, 0.5]), normalized_expected_cost(counts, costs)
found = interval(counts, costs, confidence=0.9, rng=0)
width = found.high - found.low
pair = difference(joint_counts(y, y, 1 - y), costs, rng=0)
p = pair.p_value
b = BinaryCounts(tp=3, fp=1, fn=1, tn=5)
rates = b.fpr + b.fnr
choice = best_threshold(y, s, costs)
cut = choice.threshold + choice.low
many = threshold_counts(y, s)
t = many.thresholds.mean()
cost = losses(y, y, ExampleCosts(fp=np.ones(3), fn=np.ones(3))).sum()
decided = bayes_decisions(np.array([[0.2, 0.8]]), costs)
o = outperformance("f1", 0.5, 0.1), outperformance_of_cost(0.1, costs, [0.5, 0.5]), roc_auc(y, s), decision_intervals(costs)
report: Report = evaluate(y, {"m": s}, costs, rng=0)
text: str = report.summary()
cheapest = report.ladder["cost"].min()
which = report.differences.loc[0, "p_value"]
"""
WRONG = """
wrong: str = found.high
missing = counts.no_such_thing
"""


def checked(folder, text):
    (folder / "program.py").write_text(text)
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--follow-imports=silent", "--cache-dir", str(folder / "cache"), "program.py"]
    return subprocess.run(command, cwd=folder, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True)


@pytest.mark.slow
def test_public_names_have_types(tmp_path):
    pytest.importorskip("mypy", reason='needs pip install "cost_eval[dev]"')
    done = checked(tmp_path, PROGRAM)
    assert done.returncode == 0, done.stdout
    done = checked(tmp_path, PROGRAM + WRONG)
    assert done.returncode == 1 and "Found 2 errors" in done.stdout, done.stdout


def test_the_package_says_that_it_has_types():
    assert (ROOT / "cost_eval" / "py.typed").is_file() and '"py.typed"' in (ROOT / "setup.py").read_text(encoding="utf-8")


def test_ruff_finds_nothing():
    pytest.importorskip("ruff", reason='needs pip install "cost_eval[dev]"')
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--no-cache", "--config", ".ci/ruff.toml", "."], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
