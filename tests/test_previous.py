"""The public calls of the release before (0.2.0) answer today: as they did, or as CHANGELOG says.

`previous_calls.csv` holds a line a call, with the keywords of 0.2.0: `number` of its answer there; where
today's differs on purpose, today's and
the words of CHANGELOG. "refused" stands for an error."""
import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cost_eval.api as ce
from cost_eval import samples

HERE = Path(__file__).parent
CALLS = [tuple(line.values())
         for line in csv.DictReader((HERE / "previous_calls.csv").read_text(encoding="utf-8").splitlines())]
UNRELEASED = (HERE.parent / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1]


def inputs():
    """What the calls are about: 200 samples, of which 60 positive; two models' decisions, weights, clusters,
    costs of rows, missing labels."""
    rng = np.random.default_rng(0)
    Y, row = np.repeat([0, 1], [140, 60]), np.arange(200)
    P = np.clip(.3 * Y + .7 * rng.random(200), .01, .99).round(2)
    D, E, C = (P > .5).astype(int), (P > .65).astype(int), [[0, 1], [5, 0]]
    return {
        "np": np, "Y": Y, "P": P, "Q": np.column_stack([1 - P, P]), "D": D, "E": E, "C": C, "W": 1. + Y,
        "G": row // 2,
        "T": [[70, 10], [5, 15]], "J": [[[60, 5], [9, 6]], [[3, 2], [0, 15]]],
        "OWN": ce.ExampleCosts(fp=1. + row % 7, fn=2. + 2 * (row % 7)),
        "L": ce.losses(Y, D, C), "M": ce.losses(Y, E, C), "HALF": np.where(row % 2, Y, np.nan),
        "PERCENT": np.arange(1, 100),
    }


def number(answer):
    "One number that moves with each number of an answer: of its ends, its array, or itself."
    if hasattr(answer, "low"):
        answer = [np.ravel(answer.low)[-1], np.ravel(answer.high)[-1]]
    flat = np.ravel(np.asarray(getattr(answer, "array", answer), float))
    return float(np.nansum(flat * (1 + np.arange(len(flat)) % 7)))


@pytest.fixture(scope="module")
def names():
    linear_model = pytest.importorskip("sklearn.linear_model")
    return {name: getattr(ce, name)
            for name in ce.__all__} | inputs() | {"LOGIT": linear_model.LogisticRegression()}


@pytest.mark.parametrize(("call", "before", "today", "word"), CALLS, ids=[line[0][:60] for line in CALLS])
def test_a_call_of_the_previous_release_answers(call, before, today, word, names):
    assert bool(today) == bool(word) and word in UNRELEASED
    if today == "refused":
        with pytest.raises(ValueError):
            eval(call, names)
        return
    assert number(eval(call, names)) == pytest.approx(float(today or before), rel=1e-4)
    if today and before != "refused":
        assert float(today) != pytest.approx(float(before), rel=2e-4)


@pytest.mark.parametrize("name", re.findall(r"`(\w+)`", next(line for line in UNRELEASED.splitlines()
        if "left `cost_eval.api`" in line).split(" left ")[0]))
def test_names_that_left_since_then_are_in_their_modules_and_warn(name):
    with pytest.warns(DeprecationWarning, match=f"api.{name} is now cost_eval"):
        assert getattr(ce, name).__name__ == name


def test_guess_columns_and_deployment_priors_answer_in_their_old_form():
    frame = pd.DataFrame({"id": [7, 8, 9], "y": [0, 1, 1], "a": [.2, .7, .9]})
    with pytest.warns(DeprecationWarning, match="read_table"):
        found = samples.guess_columns(frame, label=None, models=None, taken=())
    assert (found.label, found.models, found.left_out) == ("y", {"a": "a"}, {"id": "its name"})
    assert found.values(frame.iloc[:2])["a"].tolist() == [.2, .7]
    with pytest.warns(DeprecationWarning, match="as_priors"):
        assert samples.deployment_priors(.25, [3, 5], ["well", "ill"]).tolist() == [.75, .25]
