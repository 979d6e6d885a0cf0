"""Counts against scikit-learn, against enumeration, and against the properties that counting must have;
labels travel with them."""
import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import confusion_matrix, roc_curve

from conftest import refuses
from problems import ce

from cost_eval.confusion import BinaryCounts, ConfusionCounts, JointCounts, confusion_counts, joint_counts
from cost_eval.confusion import threshold_counts
from cost_eval.costs import CostMatrix, ExampleCosts, losses
from cost_eval.metrics import expected_cost

words = st.integers(1, 40).flatmap(lambda n: hnp.arrays("U1", (3, n), elements=st.sampled_from("abcd")))
odd = st.sampled_from([0., -0., np.inf, -np.inf, 1e-320, -1e-320, .1, .1 + 2**-56, 2.])
scored = st.integers(0, 40).flatmap(lambda n: st.tuples(
    hnp.arrays(bool, n), hnp.arrays(float, n, elements=odd | st.floats(allow_nan=False))))


# ---- counts

@pytest.mark.filterwarnings("ignore:A single label was found")
@given(words, st.integers(1, 5))
def test_counts_are_scikit_learns_those_of_shards_and_margins_of_joint_ones(data, k):
    y, a, b = data
    np.testing.assert_array_equal(confusion_counts(y, a), confusion_matrix(y, a, labels=sorted({*y, *a})))
    whole = confusion_counts(y, a, classes=list("dcba"))
    np.testing.assert_array_equal(whole, confusion_matrix(y, a, labels=list("dcba")))
    assert sum(confusion_counts(y[i::k], a[i::k], classes=list("dcba")) for i in range(k)) == whole
    joint = joint_counts(y, a, b, classes=list("dcba"))
    np.testing.assert_array_equal(joint.first, whole)
    np.testing.assert_array_equal(joint.second, confusion_counts(y, b, classes=list("dcba")))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint64", "float32", "bool", "str", "object", "category",
                                   "Int64"])
def test_label_types(dtype):
    y, d = np.random.default_rng(0).integers(0, 2, (2, 200))
    cast = [pd.Series(v, dtype=dtype) if dtype in ("category", "Int64") else v.astype(dtype) for v in (y, d)]
    np.testing.assert_array_equal(confusion_counts(*cast), confusion_matrix(y, d))


def test_mixed_labels_and_decisions_that_are_not_classes():
    counts = confusion_counts([0, "spam", (1, 2)], ["keep", None, "keep"], classes=[0, "spam", (1, 2)],
                              decision_labels=["keep", None])
    assert counts.array.tolist() == [[1, 0], [0, 1], [1, 0]]
    text = confusion_counts([np.str_("0"), 0], [0, 0], classes=[0, "0"])
    assert text.array.tolist() == [[1, 0], [1, 0]]  # text of numpy beside numbers stays text


def test_more_samples_than_a_block():
    rng = np.random.default_rng(0)
    y, d = rng.integers(0, 7, (2, 100_000))
    np.testing.assert_array_equal(confusion_counts(y, d), confusion_matrix(y, d))
    s = rng.normal(size=100_000).round(4)
    ours, (fpr, tpr, t) = threshold_counts(y > 3, s), roc_curve(y > 3, s, drop_intermediate=False)
    np.testing.assert_array_equal(ours.thresholds, t)
    np.testing.assert_allclose([ours.counts.fpr, ours.counts.tpr], [fpr, tpr], rtol=1e-13)


def enumerated(y, scores, weight):
    "Counts at every threshold, one threshold at a time."
    thresholds = np.r_[np.inf, np.sort(np.unique(scores + 0.))[::-1]]
    rows = [[weight[(y == c) & (scores >= t)].sum() for c in (True, False)] for t in thresholds[1:]]
    tp, fp = np.array([[0, 0], *rows]).T
    return thresholds, BinaryCounts(tp, fp, weight[y].sum() - tp, weight[~y].sum() - fp)


@given(scored, st.data())
@settings(max_examples=100)
def test_thresholds_by_enumeration_and_of_shards(data, draw):
    """Without weights they are packed and sorted; with weights, 0 among them, not packed: a row without
    weight has no threshold. The scores are left as they were."""
    y, scores = data
    before = scores.tobytes()
    part = draw.draw(hnp.arrays(np.int64, len(y), elements=st.integers(0, 2)))
    for w in (np.ones(len(y), int), part):
        got = threshold_counts(y, scores, sample_weight=None if w is not part else w)
        thresholds, counts = enumerated(y[w > 0], scores[w > 0], w[w > 0])
        np.testing.assert_array_equal(got.thresholds, thresholds)
        assert got.counts == counts and not np.signbit(got.thresholds[got.thresholds == 0]).any()
    merged = sum(threshold_counts(y[part == k], scores[part == k]) for k in range(3))
    assert merged == threshold_counts(y, scores) and scores.tobytes() == before


rate = st.floats(0, 1)


@given(st.integers(1, 10**6), rate, rate, rate)
def test_rates_go_round(total, prevalence, fpr, fnr):
    counts = BinaryCounts.from_rates(total, prevalence, fpr, fnr)
    assert counts.total == pytest.approx(total) and counts.prevalence == pytest.approx(prevalence)
    if counts.n > 1e-300:
        assert counts.fpr == pytest.approx(fpr) and counts.tnr == pytest.approx(1 - fpr)
    if counts.p > 1e-300:
        assert counts.fnr == pytest.approx(fnr) and counts.tpr == pytest.approx(1 - fnr)
    assert BinaryCounts.from_matrix(counts.to_matrix()) == counts


def test_binary_counts_are_shown_as_the_table_that_they_are():
    counts = BinaryCounts.from_labels([True, True, False, False], [1, 0, 0, 0], sample_weight=[1, 2, 3, 4])
    assert counts == BinaryCounts(1, 0, 2, 7) and counts != 3 and "tp=" in repr(counts)
    assert counts._repr_html_() == ConfusionCounts([[7., 0], [2, 1]])._repr_html_()
    small = np.full((2, 2), 200, np.uint8)
    assert BinaryCounts.from_matrix(small).total == 800 and BinaryCounts(*small.ravel()).p == 400


def test_only_tables_are_added_to_tables():
    one, joint = BinaryCounts([1, 2], 3, 4, 5), JointCounts(np.arange(8).reshape(2, 2, 2))
    curve = threshold_counts([0, 1, 1], [.1, .4, .3])
    assert one + one == sum([one, one]) == BinaryCounts([2, 4], 6, 8, 10)
    assert sum([joint, joint]).array.tolist() == (2 * joint.array).tolist()
    assert sum([curve]) == curve
    for table in (one, joint, curve, confusion_counts([0, 1], [1, 1])):
        for other in (1, .5):
            with pytest.raises(TypeError):
                table + other
    for table, other in ((one, np.eye(2)), (joint, ConfusionCounts(np.eye(2)))):
        with pytest.raises(TypeError):
            table + other
    frame = joint.to_frame()
    assert (frame.index.names, frame.columns.name) == (["class", "first decision"], "second decision")


def test_integer_scores_that_a_float_cannot_tell_apart_are_refused():
    assert len(threshold_counts([0, 1], [2**53, -(2**53)]).thresholds) == 3
    for score in (2**53 + 2, -(2**53) - 2):
        with pytest.raises(ValueError, match="would be rounded and tie"):
            threshold_counts([0, 1], np.array([0, score]))


COSTS = CostMatrix.binary(fp=1, fn=5)


@pytest.mark.parametrize("kind", [np.float64, np.float32, object, list], ids=str)
def test_probabilities_are_no_decisions(kind):
    "A 1,994 x 1,994 table came without a word, and joint counts asked for 59 GiB."
    rng = np.random.default_rng(0)
    y, d, p = *rng.integers(0, 2, (2, 2000)), rng.random(2000)
    p = p.tolist() if kind is list else p.astype(kind)
    doors = [lambda: confusion_counts(y, p), lambda: confusion_counts(p, y), lambda: joint_counts(y, d, p),
             lambda: joint_counts(y, p, d), lambda: confusion_counts(y, p, classes=[0, 1]),
             lambda: losses(y, p, COSTS), lambda: ce.evaluate(y, ce.Decisions(p), COSTS)]
    for door in doors:
        with pytest.raises(ValueError, match="0.* is no label.*take decisions first"):
            door()
    assert confusion_counts(y, d.astype(float)).array.sum() == 2000


# ---- labels

WARDS = CostMatrix([[0, 1, 3], [10, 0, 1], [50, 10, 0]], classes=["home", "ward", "icu"])
Y, D = ["home", "ward", "icu", "icu"], ["home", "ward", "home", "icu"]


def test_counts_meet_costs_by_their_labels_and_arrays_by_position():
    table = pd.crosstab(pd.Series(Y, name="truth"), pd.Series(D, name="predicted"))
    assert expected_cost(confusion_counts(Y, D), WARDS) == expected_cost(table, WARDS) == 12.5
    assert expected_cost(confusion_counts(Y, D, classes=WARDS).array, WARDS) == 12.5
    assert expected_cost(BinaryCounts(1, 2, 3, 4), CostMatrix.binary(1, 5, classes=["no", "yes"])) == 1.7
    turned = pd.DataFrame([[30, 70], [20, 10]], ["ok", "fraud"], ["fraud", "ok"])
    assert ce.metric_interval(turned, "recall").mean == 2 / 3 and ce.certify(turned, {"recall": .4}).certified
    costs = WARDS.with_abstain(2, "wait")
    counts = confusion_counts(Y, ["home", "wait", "home", "icu"], classes=costs)
    assert (counts.classes, counts.decisions) == (costs.classes, costs.decisions)
    assert expected_cost(counts, costs) == 13


@pytest.mark.parametrize("counts", [
    ConfusionCounts(np.eye(3)), pd.DataFrame(np.eye(3), *[["home", "ward", "ICU"]] * 2)])
def test_other_labels_are_refused_with_both_lists(counts):
    with pytest.raises(ValueError, match=r"counts: .*\['home', 'ward', 'icu'\]"):
        expected_cost(counts, WARDS)


def test_binary_view():
    counts = confusion_counts(["well", "ill", "ill"], ["ill", "ill", "well"], classes=["ill", "well"])
    assert counts.binary() == BinaryCounts(0, 1, 1, 1) and counts.binary("ill") == BinaryCounts(1, 1, 1, 0)
    three = ConfusionCounts(np.arange(9).reshape(3, 3), classes="abc", decisions="cab")
    assert three.binary("b") == BinaryCounts(tp=5, fp=2 + 8, fn=3 + 4, tn=0 + 1 + 6 + 7)


def test_losses_are_the_counts_in_another_order():
    rng = np.random.default_rng(0)
    y, d = rng.choice(WARDS.classes, 500), rng.choice(WARDS.decisions, 500)
    assert losses(y, d, WARDS).mean() == pytest.approx(expected_cost(confusion_counts(y, d), WARDS))
    amounts = ExampleCosts(fp=rng.random(500), fn=rng.random(500) * 9, tp=.1, tn=rng.random(500))
    truth, taken = rng.integers(0, 2, (2, 500))
    by_hand = [amounts.array[k, truth[k], taken[k]] for k in range(500)]
    assert losses(truth, taken, amounts).tolist() == by_hand
    assert losses(truth[:3], taken[:3], amounts[:3]).tolist() == by_hand[:3]


def test_a_label_of_another_type_is_the_same_label():
    "The text 0 against the number 0: one rule from counting to pricing."
    y, d = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
    for a, b in ((y.astype(str), d), (y, d.astype(str)), (y.astype(float), d.astype(str)),
                 (y.astype(str).astype(object), d.astype(np.uint8))):
        assert confusion_counts(a, b).array.tolist() == [[2, 0], [1, 1]]
        assert losses(a, b, CostMatrix.binary(1, 5)).tolist() == [0, 0, 5, 0]
        assert BinaryCounts.from_labels(a, b) == BinaryCounts(tp=1, fp=0, fn=1, tn=2)
        assert confusion_counts(a, b, classes=["1", "0"]).array.tolist() == [[1, 1], [0, 2]]
        assert threshold_counts(a, d) == threshold_counts(y, d)
    text, numbers = confusion_counts(y.astype(str), d.astype(str)), confusion_counts(y, d)
    priced = CostMatrix.binary(1, 5), CostMatrix.binary(1, 5, classes=["0", "1"])
    assert expected_cost(text, priced[0]) == expected_cost(numbers, priced[1]) == 1.25
    assert (text + numbers).array.tolist() == [[4, 0], [2, 2]] and numbers.binary("1") == numbers.binary(1)
    assert confusion_counts(["1", 1], ["1", 1]).classes == ("1", 1)  # in one array they are two


test_bad_input = refuses({
    "pandas' NA": (lambda: confusion_counts(pd.array(["a", None], dtype="string"), ["a"] * 2), "missing"),
    "rate beyond 1": (lambda: BinaryCounts.from_rates(10, .5, .1, 1.1), "fnr: must lie in"),
    "negative counts": (lambda: BinaryCounts([1, 0], [1, -1], 1, 1), "from_labels"),
    "prevalence of one class": (lambda: BinaryCounts(3, 0, 1, 0).with_prevalence(.5), "no sample"),
    "other labels in a sum": (lambda: confusion_counts([0], [0]) + confusion_counts([1], [1]),
                              r"\[1\], but those of the first table are \[0\]"),
    "an unknown positive": (lambda: ConfusionCounts(np.eye(3)).binary("x"), "label 'x' is not in the class"),
    "no binary view": (lambda: ConfusionCounts(np.ones((2, 3))).binary(), "are not the classes"),
    "None": (lambda: losses([None], ["None"], CostMatrix.binary(classes=["None", "x"])), "None among"),
    "a, b": (lambda: ce.evaluate_metrics(ConfusionCounts(np.eye(2), classes="ab"), COSTS.array), "not say"),
    "an unknown label": (lambda: losses(["ill"], ["home"], WARDS), "y_true: label 'ill' is not in the"),
    "too many labels": (lambda: joint_counts(np.arange(2000) % 2, *[np.arange(2000)] * 2),
                        "2,000 different labels make a table of 8,000,000,000 cells"),
})


# ---- rows that carry an index

CUSTOMERS = pd.Index([f"c{k}" for k in range(6)])
AMOUNT = pd.Series([5., 900, 20, 40, 1, 300], CUSTOMERS)
LOGS = np.log(pd.DataFrame({0: [.4, .6, .8, .3, .5, .7], 1: [.6, .4, .2, .7, .5, .3]}, CUSTOMERS))
OWED = ExampleCosts(fp=1, fn=AMOUNT)


def test_costs_of_rows_keep_their_index():
    assert OWED.index.equals(CUSTOMERS) and ExampleCosts(fp=1, fn=AMOUNT.to_numpy()).index is None
    for twin in (copy.copy(OWED), pickle.loads(pickle.dumps(OWED)), ExampleCosts.from_array(OWED)):
        assert twin.index.equals(CUSTOMERS)
    turned = OWED[OWED.index.get_indexer(CUSTOMERS[::-1])]
    assert turned.index.equals(CUSTOMERS[::-1]) and turned == OWED[::-1]
    assert OWED[1:3].index.tolist() == ["c1", "c2"] and OWED[AMOUNT > 30].index.tolist() == ["c1", "c3", "c5"]
    assert OWED[2] == CostMatrix.binary(fp=1, fn=20)


@pytest.mark.parametrize("call", [lambda index: losses(pd.Series([0, 1] * 3, index), [1, 0] * 3, OWED),
    lambda index: OWED[pd.Series([True, False] * 3, index)].array,
    lambda index: OWED.mean(pd.Series(1., index)).array,
    lambda index: ce.isotonic_steps(AMOUNT, pd.Series([0, 1] * 3, index))[2],
    lambda index: ce.AffineCalibrator().fit(LOGS, pd.Series([0, 1] * 3, index)).beta_,
    lambda index: ce.cross_calibrate([0, 1] * 3, LOGS, folds=pd.Series([0, 0, 0, 1, 1, 1], index), log=True),
    lambda index: ExampleCosts(fp=pd.Series(2., index), fn=AMOUNT).array])
def test_rows_of_costs_meet_by_index_or_are_refused(call):
    "`index` of the other argument; that of numbers only goes by position, as everywhere."
    assert np.array_equal(call(CUSTOMERS), call(pd.RangeIndex(6)))
    with pytest.raises(ValueError, match=r"its index has the rows of \w+ in another order.*; give "):
        call(CUSTOMERS[::-1])
    with pytest.raises(ValueError, match="its index has other rows than"):
        call(CUSTOMERS + "x")
