"""Every call of calls.py with costs or priors takes every form of them, and answers as it does to the matrix
or the array; the calls are found, not listed."""
import numpy as np
import pandas as pd
import pytest

import calls
from problems import Problem, ce
from test_invariances import columns, difference, said, same, walked

pl = pytest.importorskip("polars")
NUMBERS = Problem(1, classes=2, n=41, says={"draws", "priors"})
WORDS = Problem(1, classes=2, n=41, says={"draws", "priors", "named"})
# test_costs.py
OF_THEIR_OWN = {"as_costs", "as_priors", "read_table", "read_samples", "read_requirements",
                "bootstrap_coverage", "shift_priors", "outperformance_of_cost"}


def forms_of_costs(matrix):
    "A labelled matrix as people write it."
    flat = pl.DataFrame({"class": [*matrix.classes]} | {str(d): matrix.array[:, j]
                                                         for j, d in enumerate(matrix.decisions)})
    bare = pd.DataFrame(matrix.array, [*matrix.classes], [*matrix.decisions])
    found = {"a frame": matrix.to_frame(), "polars": flat, "a bare frame": bare}
    if matrix.classes == (0, 1):  # without names nobody can tell which word is which class
        (tn, fp), (fn, tp) = matrix.array.tolist()
        found |= {"an array": matrix.array, "a list": matrix.array.tolist(), "outcomes": {"fp": fp, "fn": fn},
                  "all outcomes": {"tn": tn, "fp": fp, "fn": fn, "tp": tp}}
    return found


def forms_of_priors(labels):
    shares = {labels[1]: .25, labels[0]: .75}
    return {"a number": .25, "a list": [.75, .25], "by class": shares, "a series": pd.Series(shares),
            "by the class's text": {str(label): share for label, share in shares.items()}}


def takers(argument):
    "Lines whose calls give such an argument."
    return [name for name in calls.CALLS if walked(name)
            and name.partition(" ")[0] not in OF_THEIR_OWN
            and argument in calls.parameters(calls.function_of(name))
            and not name.startswith("CostMatrix")]


def asked(name, problem, argument, value, rows=0):
    "What each call of a line that takes this value says of it, and the call as a function of another one."
    function = calls.function_of(name)
    for call in calls.lines(name, problem).values():
        def ask(value, call=call, **more):
            return said(name, call.but(function, **{argument: value} | more))
        if not call.way and call.named(function).get(argument) is not None and columns(call) >= rows:
            try:
                yield ask(value), ask
            except ValueError as refused:  # the call takes no such thing
                yield str(refused), ask


def taken(*given):
    "Those that take it."
    return ((expected, ask) for expected, ask in asked(*given) if isinstance(expected, dict))


def problems(name):
    return (NUMBERS,) if name in calls.TWO else (NUMBERS, WORDS)


@pytest.mark.parametrize("name", takers("costs"))
def test_every_form_of_costs_gives_the_answer_of_the_matrix(name):
    for problem in problems(name):
        for expected, ask in taken(name, problem, "costs", problem.named_costs):
            asks = problem is WORDS and "positive" in calls.parameters(calls.function_of(name))
            more = {"positive": "ill"} if asks else {}  # the matrix says it by the order of its names
            for form, costs in forms_of_costs(problem.named_costs).items():
                assert difference(expected, ask(costs, **more), same) == "", form


@pytest.mark.parametrize("name", takers("costs"))
def test_columns_are_the_costs_of_rows_or_refused(name):
    own = {"fp": NUMBERS.prices[0, 1] * NUMBERS.amounts, "fn": NUMBERS.prices[1, 0] * NUMBERS.amounts}
    for expected, ask in asked(name, NUMBERS, "costs", ce.ExampleCosts(**own), rows=2):
        for costs in (own, pd.DataFrame(own), pl.DataFrame(own)):
            try:
                found = ask(costs)
            except ValueError as refused:
                assert "costs" in str(refused)
            else:
                assert difference(expected, found, same) == ""


@pytest.mark.parametrize("name", takers("priors"))
def test_every_form_of_priors_gives_the_answer_of_the_array(name):
    for problem in problems(name):
        for expected, ask in taken(name, problem, "priors", np.array([.75, .25])):
            for form, priors in forms_of_priors(problem.classes).items():
                assert difference(expected, ask(priors), same) == "", form
