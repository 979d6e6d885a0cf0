"""Labels travel: no order of labels changes a number; tables that do not fit are refused with both lists of
labels."""
import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import refuses
from cost_eval.confusion import BinaryCounts, ConfusionCounts, confusion_counts, joint_counts, threshold_counts
from cost_eval.costs import CostMatrix, ExampleCosts, losses
from cost_eval.decisions import bayes_decisions, best_threshold
from cost_eval.metrics import expected_cost

WARDS = CostMatrix([[0, 1, 3], [10, 0, 1], [50, 10, 0]], classes=["home", "ward", "icu"])
Y, D = ["home", "ward", "icu", "icu"], ["home", "ward", "home", "icu"]


def test_counts_sorted_by_the_alphabet_meet_costs_in_their_own_order():
    assert expected_cost(confusion_counts(Y, D), WARDS) == 12.5


def test_a_cross_tabulation_is_aligned_too():
    table = pd.crosstab(pd.Series(Y, name="truth"), pd.Series(D, name="predicted"))
    assert expected_cost(table, WARDS) == 12.5
    with pytest.raises(ValueError, match="pass frame.T"):
        expected_cost(table.T, WARDS)


def test_classes_may_be_a_cost_matrix():
    costs = WARDS.with_abstain(2, "wait")
    counts = confusion_counts(Y, ["home", "wait", "home", "icu"], classes=costs)
    assert (counts.classes, counts.decisions) == (costs.classes, costs.decisions)
    assert expected_cost(counts, costs) == 13


@pytest.mark.parametrize("counts", [
    confusion_counts([0, 1, 2], [0, 1, 2]), pd.DataFrame(np.eye(3), ["home", "ward", "ICU"],
        ["home", "ward", "ICU"]), ConfusionCounts(np.eye(3)),
], ids=["codes", "frame", "default"])
def test_other_labels_are_refused_with_both_lists(counts):
    with pytest.raises(ValueError, match=r"counts: .*\['home', 'ward', 'icu'\]|counts: 2 x 2"):
        expected_cost(counts, WARDS)


def test_an_array_goes_by_position():
    assert expected_cost(confusion_counts(Y, D, classes=WARDS).array, WARDS) == 12.5
    assert expected_cost(np.eye(2), CostMatrix.binary(1, 5)) == 0
    assert expected_cost(BinaryCounts(1, 2, 3, 4), CostMatrix.binary(1, 5, classes=["no", "yes"])) == 1.7


def test_booleans_and_codes_are_the_labels_0_and_1():
    costs = CostMatrix.binary(1, 5)
    for dtype in (bool, int, float, np.uint8):
        counts = confusion_counts(np.array([0, 1, 1]).astype(dtype), np.array([1, 0, 1]).astype(dtype))
        assert expected_cost(counts, costs) == 2
    assert expected_cost(confusion_counts([0, 1, 1], [1, 0, 1], classes=[1, 0]), costs) == 2


def test_classes_true_false_in_either_order():
    y, d = np.array([True, False, True]), np.array([True, True, False])
    assert confusion_counts(y, d, classes=[True, False]).array.tolist() == [[1, 1], [1, 0]]


@pytest.mark.parametrize("table", [confusion_counts(Y, D), joint_counts(Y, D, D), WARDS,
                                   ExampleCosts(fp=1, fn=[2., 3.])], ids=lambda t: type(t).__name__)
def test_tables_are_read_only_values(table):
    for twin in (copy.copy(table), copy.deepcopy(table), pickle.loads(pickle.dumps(table))):
        assert twin == table and hash(twin) == hash(table) and not twin.array.flags.writeable
        with pytest.raises(ValueError):
            twin.array[0] = 1
        with pytest.raises(AttributeError):
            twin.classes = ()
    assert table != 3 and "<" not in repr(table)[:1] and np.asarray(table).shape == table.shape


def test_binary_view():
    counts = confusion_counts(["well", "ill", "ill"], ["ill", "ill", "well"], classes=["ill", "well"])
    assert counts.binary() == BinaryCounts(0, 1, 1, 1) and counts.binary("ill") == BinaryCounts(1, 1, 1, 0)
    three = ConfusionCounts(np.arange(9).reshape(3, 3), classes="abc", decisions="cab")
    assert three.binary("b") == BinaryCounts(tp=5, fp=2 + 8, fn=3 + 4, tn=0 + 1 + 6 + 7)
    with pytest.raises(ValueError, match="positive: say which of"):
        three.binary()
    with pytest.raises(ValueError, match="label 'x' is not in the classes"):
        three.binary("x")
    with pytest.raises(ValueError, match="are not the classes"):
        ConfusionCounts(np.ones((2, 3))).binary()


@given(st.integers(0, 10**6))
def test_threshold_counts_of_shards_merge_exactly(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 60))
    y, part = rng.random(n) < .4, rng.integers(0, 3, n)
    scores = rng.choice([0., -0., .3, .7, np.inf, -np.inf, 1e-320], n)
    merged = sum(threshold_counts(y[part == k], scores[part == k]) for k in range(3))
    assert merged == threshold_counts(y, scores)


def test_losses_are_the_counts_in_another_order():
    rng = np.random.default_rng(0)
    y, d = rng.choice(WARDS.classes, 500), rng.choice(WARDS.decisions, 500)
    assert losses(y, d, WARDS).mean() == pytest.approx(expected_cost(confusion_counts(y, d), WARDS))
    amounts = ExampleCosts(fp=rng.random(500), fn=rng.random(500) * 9, tp=.1, tn=rng.random(500))
    truth, taken = rng.integers(0, 2, 500), rng.integers(0, 2, 500)
    by_hand = [amounts.array[k, truth[k], taken[k]] for k in range(500)]
    assert losses(truth, taken, amounts).tolist() == by_hand
    assert losses(truth[:3], taken[:3], amounts[:3]).tolist() == by_hand[:3]
    assert amounts.mean().array[1, 0] == pytest.approx(amounts.array[:, 1, 0].mean())


test_bad_input = refuses([
    (lambda: losses(["ill"], ["home"], WARDS), "y_true: label 'ill' is not in the costs' classes"),
    (lambda: losses([0], [0], WARDS), "label 0 is not in"),
    (lambda: ExampleCosts(fp=[1, 2], fn=[1, 2, 3]), "of one length"),
    (lambda: ExampleCosts.from_array(np.ones((2, 2))), r"\(N, K, M\)"),
    (lambda: ExampleCosts(fp="much", fn=1), "fp: expected numbers"),
    (lambda: confusion_counts(np.ma.masked_equal([0, 1], 1), [0, 1]), "y_true: masked"),
    (lambda: confusion_counts({0: 1}, [0]), "y_true: a dict"),
    (lambda: confusion_counts([0], [0]) + confusion_counts([1], [1]),
     r"\[1\], but those of the first table are \[0\]"),
    (lambda: BinaryCounts([1, 0], [1, -1], 1, 1), "from_labels"),
    (lambda: ConfusionCounts([[1, 2], [3]]), "different lengths"),
])


def test_one_table_is_not_indexed():
    with pytest.raises(TypeError, match="one table is not indexed"):
        confusion_counts(Y, D)[0]
    assert (ConfusionCounts(np.ones((3, 2, 2, 2)))[1].array == np.ones((2, 2, 2))).all()


def test_binary_view_of_decisions_with_names_of_their_own():
    counts = ConfusionCounts([[5, 1], [2, 3]], classes=["well", "ill"], decisions=["home", "treat"])
    assert counts.binary() == counts.binary("ill") == BinaryCounts(tp=3, fp=1, fn=2, tn=5)
    assert counts.binary("well") == BinaryCounts(tp=5, fp=2, fn=1, tn=3)


def test_a_label_of_another_type_is_the_same_label():
    "The text 0 against the number 0: one rule from counting to pricing."
    y, d = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
    for a, b in ((y.astype(str), d), (y, d.astype(str)), (y.astype(float), d.astype(str)),
                 (y.astype(str).astype(object), d.astype(np.uint8))):
        assert confusion_counts(a, b).array.tolist() == [[2, 0], [1, 1]]
        assert losses(a, b, CostMatrix.binary(1, 5)).tolist() == [0, 0, 5, 0]
        assert BinaryCounts.from_labels(a, b) == BinaryCounts(tp=1, fp=0, fn=1, tn=2)
        assert confusion_counts(a, b, classes=["1", "0"]).array.tolist() == [[1, 1], [0, 2]]
        assert (threshold_counts(a, d).counts.tp == threshold_counts(y, d).counts.tp).all()
    text, numbers = confusion_counts(y.astype(str), d.astype(str)), confusion_counts(y, d)
    assert expected_cost(text, CostMatrix.binary(1, 5)) == expected_cost(numbers,
            CostMatrix.binary(1, 5, classes=["0", "1"])) == 1.25
    assert text + numbers == confusion_counts([*"0110", *"0110"],
                                              [*"0100", *"0100"]) and numbers.binary("1") == numbers.binary(1)
    with pytest.raises(ValueError, match="y_true: label 'a' is not in"):
        losses(["a"], [0], CostMatrix.binary())
    assert confusion_counts(["1", 1], ["1", 1]).classes == ("1", 1)  # in one array they are two

# ---- rows that carry an index

CUSTOMERS = pd.Index([f"c{k}" for k in range(6)])
AMOUNT = pd.Series([5., 900, 20, 40, 1, 300], CUSTOMERS)
OWED = ExampleCosts(fp=1, fn=AMOUNT)


def test_costs_of_rows_keep_their_index():
    assert OWED.index.equals(CUSTOMERS) and ExampleCosts(fp=1, fn=AMOUNT.to_numpy()).index is None
    for twin in (copy.copy(OWED), pickle.loads(pickle.dumps(OWED)),
                 ExampleCosts.from_array(OWED, classes=["well", "ill"])):
        assert twin.index.equals(CUSTOMERS)
    turned = OWED[OWED.index.get_indexer(CUSTOMERS[::-1])]
    assert turned.index.equals(CUSTOMERS[::-1]) and turned == OWED[::-1] and OWED[1:3].index.tolist() == [
        "c1", "c2"]
    assert OWED[AMOUNT > 30].index.tolist() == ["c1", "c3", "c5"] and OWED[2] == CostMatrix.binary(fp=1,
            fn=20)
    assert ExampleCosts.from_array(OWED.array).index is None


@pytest.mark.parametrize("call", [
    lambda index: losses(pd.Series([0, 1] * 3, index), [1, 0] * 3, OWED),
    lambda index: losses([0, 1] * 3, pd.Series([1, 0] * 3, index), OWED),
    lambda index: bayes_decisions(pd.DataFrame({0: .9, 1: .1}, index), OWED),
    lambda index: best_threshold(pd.Series([0, 1] * 3, index), np.arange(6), OWED).cost,
    lambda index: OWED[pd.Series([True, False] * 3, index)].array,
    lambda index: OWED.mean(pd.Series(1., index)).array,
    lambda index: ExampleCosts(fp=pd.Series(2., index), fn=AMOUNT).array])
def test_rows_of_costs_meet_by_index_or_are_refused(call):
    "`index` of the other argument; that of numbers only goes by position, as everywhere."
    assert np.array_equal(call(CUSTOMERS), call(pd.RangeIndex(6)))
    with pytest.raises(ValueError, match=r"its index has the rows of \w+ in another order.*; give "):
        call(CUSTOMERS[::-1])
    with pytest.raises(ValueError, match="its index has other rows than"):
        call(CUSTOMERS + "x")


def test_the_remedy_for_costs_in_another_order_works():
    y, decided = pd.Series([0, 1] * 3, CUSTOMERS[::-1]), [1, 0] * 3
    assert losses(y, decided, OWED[OWED.index.get_indexer(y.index)]).tolist() == [1, 1, 1, 20, 1, 5]


