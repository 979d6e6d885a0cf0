"""Every public function with an argument `costs` or `priors` takes every form of them, and answers as it does
to the CostMatrix; the functions are found, not listed."""
import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

import invariances as iv  # noqa: E402

from cost_eval.costs import ExampleCosts  # noqa: E402

CASES = {"numbers": iv.Case(), "words": iv.Case(names=("well", "ill"))}
NO_MATRIX = {  # functions whose costs are no matrix, with the reason
    "read_table": "asks for the names of the classes only",
    "CostMatrix": "the class itself: what it takes is said in test_costs.py", "as_costs": "test_costs.py",
    "as_priors": "test_costs.py",
}
BY_POSITION = {"losses", "best_threshold", 
               "naive_cost", "naive_decision", "outperformance_of_cost",
               "scale.losses", "evaluate",
               "read_samples", "decide", "capacity_curve", "training_variation", "scale.evaluate",
               # an array without names cannot tell which word is which class
               "bounds_without_labels", "prediction_powered",
               "cost_scorer", "CostSensitiveClassifier"}
FUNCTIONS = {name: set(iv.parameters(f)) & {"costs", "priors", "now_costs"}
             for name, f in iv.subjects().items() if "[" not in name}
COSTS = [name for name, found in FUNCTIONS.items() if found & {"costs", "now_costs"}
         and name not in NO_MATRIX]
PRIORS = [name for name, found in FUNCTIONS.items() if "priors" in found
          and name not in ("Report", "as_priors")]
DATA_FIRST = {"soft_expected_cost", "plot_cost_curve"}  # takes labels 0 and 1 only


def forms(costs):
    "A labelled matrix as people write it."
    flat = pl.DataFrame({"class": list(costs.classes)} | {str(d): costs.array[:, j]
            for j, d in enumerate(costs.decisions)})
    bare, numbered = pd.DataFrame(costs.array, list(costs.classes),
                                  list(costs.decisions)), pd.DataFrame(costs.array)
    found = {"frame": costs.to_frame(), "polars": flat, "numbered": numbered, "array": costs.array,
             "list": costs.array.tolist()}
    if costs.classes == (0, 1):
        return found | {"outcomes": {"fp": costs.array[0, 1], "fn": costs.array[1, 0]},
                        "outcomes, all": dict(zip(("tn", "fp", "fn", "tp"), costs.array.ravel().tolist()))}
    return found | {"bare frame": bare}


def answer(name, case, **changed):
    "The function's answer with some arguments in another form."
    lazily = iv.on_dask if name.startswith("scale.") else (lambda made: made)
    return iv.call(name, case, lambda made: lazily({**made, **changed}))


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("name", COSTS)
def test_every_form_of_costs_gives_the_answer_of_the_matrix(name, kind):
    case = CASES[kind]
    if kind == "words" and name in DATA_FIRST:
        pytest.skip("takes labels 0 and 1 only")
    matrix = iv.costs(case)
    given = {"costs": matrix} | ({"metric": "expected_cost"} if name == "metric_interval" else {})
    given |= {"bounds": None} if "bounds" in iv.parameters(iv.subjects()[name]) else {}  # the costs tell them
    expected = answer(name, case, **given)
    for form, costs in forms(matrix).items():
        if kind == "words" and form in ("numbered", "array", "list") and name in BY_POSITION:
            continue
        if kind == "words" and name.endswith("best_threshold"):
            with pytest.raises(ValueError,
                               match=r"do not say which class is the positive one.* "
                                     r"CostMatrix.binary\(fp=..., fn=..., classes=\["):
                answer(name, case, **given | {"costs": costs})
            continue
        plain = "evaluate" if name == "scale.evaluate" else name  # which hands its options on
        asks = "positive" in iv.parameters(iv.subjects()[plain])
        more = {"positive": "ill"} if kind == "words" and asks else {}
        wrong = iv.difference(expected, answer(name, case, **given | {"costs": costs} | more), iv.same, ())
        assert not wrong, f"{form}: {wrong}"


@pytest.mark.parametrize("name", [name for name in COSTS if iv.columns(iv.arguments(name, iv.Case(own=True)))
                                  > 1])
def test_columns_are_the_costs_of_rows(name):
    """Where each row may have its own costs, columns of a mapping or a frame are such; where not, both are
    refused in words."""
    case = iv.Case(own=True)
    if name.startswith("scale."):
        pytest.skip("its columns are lazy, of the length of all blocks: test_scale.py")
    own = iv.costs(case)
    columns = {"fp": own.array[:, 0, 1], "fn": own.array[:, 1, 0]}
    assert ExampleCosts(**columns) == own
    try:
        expected = answer(name, case, costs=own)
    except ValueError:
        for costs in (columns, pd.DataFrame(columns)):
            with pytest.raises(ValueError, match="costs:"):
                answer(name, case, costs=costs)
        return
    for costs in (columns, pd.DataFrame(columns), pl.DataFrame(columns)):
        assert not iv.difference(expected, answer(name, case, costs=costs), iv.same, ())


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("name", PRIORS)
def test_every_form_of_priors_gives_the_answer_of_the_array(name, kind):
    case = CASES[kind].but(given=("priors",))
    if kind == "words" and name in DATA_FIRST:
        pytest.skip("takes labels 0 and 1 only")
    labels = case.labels
    given = iv.arguments(name, case)
    more = {"train_priors": [.5, .5]} if "train_priors" in iv.parameters(iv.subjects()[name]) else {}
    expected = answer(name, case, priors=np.array([.75, .25]), **more)
    series = pd.Series({labels[1]: .25, labels[0]: .75})
    for priors in (.25, [.75, .25], (.75, .25), {labels[1]: .25, labels[0]: .75},
                   {str(label): p for label, p in zip(labels, (.75, .25))}, series):
        if name in ("fit_rule", "Posteriors") or "priors" not in given and name not in PRIORS:
            continue
        wrong = iv.difference(expected, answer(name, case, priors=priors, **more), iv.same, ())
        assert not wrong, f"{priors!r}: {wrong}"
