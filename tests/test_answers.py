"""The oracle: what it calls same, MOVED or gone; that it sees slips; that this tree answers as the base."""
import argparse
import csv
import importlib
import inspect
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import answers
import calls
from problems import Problem, ce, modules

ROOT = answers.HERE.parent
BASE = (answers.HERE / "answers_base.txt").read_text().strip()
INSIDE = subprocess.run(["git", "cat-file", "-e", f"{BASE}^{{commit}}"], cwd=ROOT, capture_output=True)
needs_base = pytest.mark.skipif(INSIDE.returncode != 0, reason=f"the history here does not hold {BASE}")


# ---- the verdict

ENDS = {"/mean": [1.], "/low": [.5], "/high": [1.5], "/p_value": [.04]}
MOVES = {  # what the case is called, what changes of ENDS, and the verdict
    "nothing": ("interval 1", {}, {"same"}),
    "rounding": ("interval 1", {"/mean": [1 + 1e-10]}, {"same"}),
    "a number": ("interval 1", {"/mean": [1 + 1e-8]}, {"same", "MOVED"}),
    "an end of a metric by little": ("metric_interval 1", {"/high": [1.5 + 1e-6]}, {"same"}),
    "an end outward": ("interval 1 (priors)", {"/low": [.498], "/high": [1.502]}, {"same", "outward"}),
    "an end outward, of one sample": ("interval 1", {"/low": [.498]}, {"same", "MOVED"}),
    "an end inward": ("interval 1 (priors)", {"/low": [.502]}, {"same", "MOVED"}),
    "an end far outward": ("interval 1 (priors)", {"/high": [1.51]}, {"same", "MOVED"}),
    "a p that grew": ("interval 1 (priors)", {"/p_value": [.0408]}, {"same", "outward"}),
    "a p that fell": ("interval 1 (priors)", {"/p_value": [.0399]}, {"same", "MOVED"}),
    "a number that is none": ("interval 1", {"/mean": [float("nan")]}, {"same", "MOVED"}),
    "a label": ("interval 1", {"/mean": ["a"]}, {"same", "MOVED"}),
    "a shape": ("interval 1", {"/mean": [1., 1.]}, {"same", "MOVED"}),
    "a column less": ("interval 1", {"/mean": None}, {"same", "gone"}),
}


@pytest.mark.parametrize("case, changes, wanted", MOVES.values(), ids=MOVES)
def test_what_a_change_is_called(case, changes, wanted):
    now = {path: values for path, values in {**ENDS, **changes}.items() if values is not None}
    assert {kind for kind, *_ in answers.compared(case, {"says": ENDS}, {"says": now})} == wanted


REFUSED, OTHERS, CRASHED, ABSENT = (
    {"error": kind, "refusal": kind in ("ValueError", "TypeError"), "words": ""}
    for kind in ("ValueError", "TypeError", "ZeroDivisionError", "Absent"))
ANSWERED = {"says": {"": [1.]}}
ERRORS = {
    "both refuse": (REFUSED, REFUSED, "same"), "in another kind": (REFUSED, OTHERS, "MOVED"),
    "a refusal dropped": (REFUSED, ANSWERED, "MOVED"), "a new refusal": (ANSWERED, REFUSED, "MOVED"),
    "a crash": (ANSWERED, CRASHED, "MOVED"), "a crash refused": (CRASHED, REFUSED, "mended"),
    "a crash answered": (CRASHED, ANSWERED, "mended"), "a name gone": (ANSWERED, ABSENT, "gone"),
    "nobody's name": (ABSENT, ABSENT, "MOVED"),
}


@pytest.mark.parametrize("base, now, wanted", ERRORS.values(), ids=ERRORS)
def test_errors_are_answers(base, now, wanted):
    assert [kind for kind, *_ in answers.compared("interval 1", base, now)] == [wanted]


def test_what_is_meant_is_named_and_a_side_that_ended_is_no_answer():
    base = {"interval 1": {"says": {"/mean": [1.]}}, "difference 1": {"says": {"/mean": [1.]}}}
    now = {"interval 1": {"says": {"/mean": [2.]}}}
    rows = list(answers.judged(base, now, [re.compile("^interval .*/mean")]))
    assert [(kind, case) for kind, case, *_ in rows] == [("named", "interval 1"), ("MOVED", "difference 1")]
    assert "the process ended" in rows[1][-1]


def options(**more):
    return argparse.Namespace(**{"rev": BASE, "cases": 1, "seed": 1, "only": "", "show": 9} | more)


def test_nothing_is_compared_with_a_base_that_did_not_answer():
    few = {f"interval {k}": {"says": {"": [1.]}} for k in range(50)}
    crashed = {f"difference {k}": CRASHED for k in range(5)}
    assert "ended in an error" in answers.unanswered(None, options())
    assert "answered 50 of" in answers.unanswered(few, options())
    assert "5 of 55 answers are errors" in answers.unanswered(few | crashed, options(only="i"))
    assert answers.unanswered(few, options(only="interval")) == ""


def test_what_is_said_of_a_result():
    frame = pd.DataFrame({"model": ["a", "b"], "cost": [1., 2.], "notes": ["x", "y"]})
    told = answers.thinned(answers.flat({
        "table": frame, "n": 3, "classes": ("no", "yes"), "prose": "many words " * 9,
        "more": [np.arange(999.), {"low": None}]}))
    assert told["/table/a#1/cost"] == [1.] and told["/table/rows"] == [2] and told["/n"] == [3.]
    assert told["/classes/list"] == ["no",
                                     "yes"] and told["/more/0/shape"] == [999] and len(told["/more/0"]) == 500
    assert not [path for path in told if "notes" in path or "prose" in path or "low" in path]


# ---- the calls

def test_a_problem_is_the_same_every_time_and_has_what_it_says():
    one, other = (Problem(5, seed=3) for _ in range(2))
    assert (one.y == other.y).all() and str(one) == str(other) and (one.prices == other.prices).all()
    assert sum(Problem(k).has("weight") for k in range(20)) == 7
    assert all((Problem(k).maybe.weight is None) is not Problem(k).has("weight") for k in range(20))
    assert all(Problem(k).plain.choices == [0, 1] for k in range(9))


def test_a_problem_seen_otherwise_is_the_same_problem():
    one = Problem(5, classes=3, says={"named", "ask"})
    other = one.but(order=[2, 0, 1], decision_order=[3, 1, 0, 2], words=["x", "y", "z", "?"], unit=3.)
    named = dict(zip(one.words, other.words))
    assert [named[label]
            for label in one.decided()] == [*other.decided()] and (one.scores() == other.scores()).all()
    assert (other.prices == 3 * one.prices[np.ix_([2, 0, 1], [3, 1, 0, 2])]).all()
    assert (other.counts().array == one.counts().array[np.ix_([2, 0, 1], [3, 1, 0, 2])]).all()


def test_a_call_whose_form_changed_is_asked_in_both_forms():
    call = calls.Call(1, new=2).was(lambda: calls.Call(1, old=2))
    assert call.answer(lambda x, *, new: x + new) == call.answer(lambda x, *, old: x + old) == 3


BY_MODULE = {  # modules whose names have no line where others ask them, and who does
    "page": "Report.to_html, to_markdown, summary, the shell", "plotting": "the pictures",
    "datasets": "fetch, the shell",
    "reproduce": "run_item, by_paper, moved, the shell", "runner": "run_rule", "comparisons": "evaluate",
    "robustness": "Report.robustness", "mean_law": "interval, difference",
}
WITHOUT = {  # why functions have no line
    "the engine: intervals, reports and rules are asked": """refuse_told told_by_costs monotone_interval
        from_unit not_gained sample_difference sample_interval within_capacity rule_of read_model""",
    "they write into a table that all lines read": "add_method add_reference reproduces",
}


def test_every_public_name_has_a_line_or_a_reason():
    "Records apart, which are what others answer or are handed."
    known = {*(name.partition(" ")[0].partition(".")[0] for name in calls.CALLS),
             *" ".join(WITHOUT.values()).split()}
    homes = [importlib.import_module(f"cost_eval.{name}") for name in modules() if name not in BY_MODULE]
    public = {name: getattr(home, name) for home in homes for name in home.__all__}
    asked = [name for name, thing in public.items() if callable(thing) and not hasattr(thing,
        "__dataclass_fields__")
             and not (inspect.isclass(thing) and issubclass(thing, (tuple, Exception)))]
    assert sorted({*asked} - known) == []
    assert [name for name in " ".join(WITHOUT.values()).split() if not hasattr(ce, name)] == []


def test_what_moved_stands_in_the_changelog():
    said = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    with open(answers.HERE / "moved.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(answers.meant())
    lines = [" ".join(row["changelog"].split()) for row in rows]
    assert [line for line in lines if not line or line not in said] == []


# ---- the package against the base

@pytest.mark.slow
@needs_base
def test_the_package_answers_as_the_base():
    done = subprocess.run([sys.executable, answers.__file__, "--cases", "1"], capture_output=True, text=True,
                          timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
