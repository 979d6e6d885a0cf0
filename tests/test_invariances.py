"""What may be done to a problem without changing the answer, tried on every public function.

The functions are found, not listed (`invariances.subjects`). A function of new arguments says how they are
made (MAKERS there). What does not apply to
a function stands here with its reason, and a reason that is not needed fails.
"""
import contextlib

import numpy as np
import pytest

import invariances as iv

import cost_eval.api as ce

RECORD = "a record that functions hand over, or that a user fills by hand: nothing is computed"
FILES = "files, papers' data and pages: test_datasets.py, test_reproduce.py, test_command_line.py drive it"
NO_ARGUMENTS = {  # functions without arguments to change
    **dict.fromkeys(["ThresholdCounts", "ThresholdChoice", "Metric", "Difference", "Interval", "Report"],
                    RECORD),
    **dict.fromkeys(["load", "available", "describe", "DataNotAvailable", "reproduces", "run", "scoreboard",
                     "DecisionRule", "read_table"], FILES),
    "as_priors": "reads one argument: test_costs.py, test_forms.py",
    "metric": "a decorator; what it registers is tried",
}
DRAWS = "its replicates are drawn cell by cell, table by table: in another order they are others"
FOLDS = "the folds are drawn class by class, and clusters are dealt out by another rule: other random folds"
ANOTHER = "without ids another order of the rows is another draw of the folds: test_policies.py says how far that moves the answer"
IN_TIME = "the order of the rows is the order in time"
PAIRS = "a pair's difference is the first model's cost minus the second's"
HANDS_OVER = "hands over what it was given"
NOT = {
    "cross_calibrate": {"rows": ANOTHER, "rows by index": ANOTHER},
    **dict.fromkeys(["CrossFit"],
                    {"rows": ANOTHER,
                     "own costs": "a calibrated rule has one cut where all rows have the same costs"}),
    "capacity_curve": {"rows": ANOTHER, "weights": FOLDS},
    "evaluate": {"rows": ANOTHER, "models": PAIRS},
    "read_samples": dict.fromkeys(["rows by index", "classes", "decisions", "weights", "clusters",
                                   "own costs", "scores"], HANDS_OVER),
    **{name: dict.fromkeys(["rows", "rows by index"], IN_TIME)
       for name in ("confidence_sequence", "difference_sequence", "cost_alarm")},
    "training_variation": {"rows": ANOTHER,
                           "rows by index": "estimators see the rows in the order in which they stand",
                           "models": PAIRS},
    "Scores": {"scores": HANDS_OVER}, "Posteriors": {"containers": HANDS_OVER,
                                                     "labels": "it keeps priors as they were said"},
    "plot_cost_curve": {"scores": "it draws them along the axis"},
    "bcost": dict.fromkeys(["classes", "decisions", "stack"], DRAWS),
    "bdelta_cost": dict.fromkeys(["classes", "decisions", "stack"], DRAWS),
    **{f"{use}[{name}]": dict.fromkeys(["classes", "decisions", "stack"], DRAWS)
       for use in ("interval", "difference") for name, record in ce.METHODS.items() if record.needs_rng
       and (record.single if use == "interval" else record.paired)},
}


@pytest.mark.parametrize("name", [name for name in iv.subjects() if name not in NO_ARGUMENTS])
def test_the_answer_stays(name):
    found, reasons = {property_: iv.check(name, property_) for property_ in iv.PROPERTIES}, NOT.get(name, {})
    assert {p: told for p, told in found.items() if p not in reasons
            and told not in ("", "holds", "refused")} == {}
    unneeded = {p: reason for p, reason in reasons.items() if found[p] in ("", "holds", "refused")}
    assert unneeded == {}, "these properties hold, or mean nothing here: their reasons in NOT are not needed"


def test_no_reason_for_what_is_not_there():
    assert not set(NOT) - set(iv.subjects()) and not set(NO_ARGUMENTS) - set(iv.subjects())
    assert not [name for name, properties in NOT.items() if set(properties) - set(iv.PROPERTIES)]
    assert not set(NOT) & set(NO_ARGUMENTS)


@pytest.mark.parametrize("name", NO_ARGUMENTS)
def test_what_has_no_arguments_to_change_cannot_be_made_one(name):
    assert not iv.parameters(iv.subjects()[name]) or iv.missing(name) or name in ("available", "describe",
            "run", "scoreboard", "load"), f"{name} can be tried now"


@contextlib.contextmanager
def afresh():
    "Nothing that was computed without the new functions, and nothing with them afterwards."
    kept = iv.variants.kept.copy()
    iv.subjects.cache_clear()
    iv.variants.kept.clear()
    try:
        yield
    finally:
        iv.subjects.cache_clear()
        iv.variants.kept.clear()
        iv.variants.kept.update(kept)


def test_a_new_function_is_in_the_suite_or_says_what_is_missing(monkeypatch):
    "One with arguments of known names is tried at once; one with others is told what to declare."
    monkeypatch.setattr(ce, "mean_loss", lambda losses: float(np.mean(losses)), raising=False)
    monkeypatch.setattr(ce, "odd", lambda losses, moon: moon, raising=False)
    monkeypatch.setattr(ce, "first_loss", lambda losses: losses[0], raising=False)
    monkeypatch.setattr(ce, "__all__", [*ce.__all__, "mean_loss", "odd", "first_loss"])
    with afresh():
        assert iv.check("mean_loss", "rows") == "holds" and iv.check("mean_loss", "unit") == "holds"
        assert "result: " in iv.check("first_loss", "rows")
        with pytest.raises(TypeError, match="odd: nobody knows how to make moon; add it to MAKERS"):
            iv.check("odd", "rows")
