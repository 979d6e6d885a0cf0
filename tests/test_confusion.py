"""Counts against scikit-learn, against enumeration, and against the properties that counting must have."""
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import confusion_matrix, roc_curve

from conftest import refuses
import cost_eval.api as ce
from cost_eval.confusion import BinaryCounts, confusion_counts, joint_counts, threshold_counts
from cost_eval.core import check_counts
from cost_eval.confusion import ThresholdCounts

labelled = st.integers(1, 40).flatmap(lambda n: st.tuples(*[st.lists(st.sampled_from("abcd"), min_size=n,
        max_size=n)] * 3))
scored = st.integers(0, 40).flatmap(lambda n: st.tuples(
    hnp.arrays(bool, n),
    hnp.arrays(float, n, elements=st.one_of(st.sampled_from([0., -0., np.inf, -np.inf, 1e-320, -1e-320, .1,
        .1 + 2**-56, 2.]), st.floats(allow_nan=False)))))


def enumerated(y, scores, weight=None):
    "Counts at every threshold, one threshold at a time."
    weight = np.ones(len(y), int) if weight is None else weight
    thresholds = np.r_[np.inf, np.sort(np.unique(scores + 0.))[::-1]]
    rows = [[weight[(y == c) & (scores >= t)].sum() for c in (True, False)] for t in thresholds[1:]]
    tp, fp = np.array([[0, 0], *rows]).T
    return thresholds, BinaryCounts(tp, fp, weight[y].sum() - tp, weight[~y].sum() - fp)


@pytest.mark.filterwarnings("ignore:A single label was found")
@given(labelled)
def test_confusion_counts_are_scikit_learns(data):
    y, d, _ = data
    np.testing.assert_array_equal(confusion_counts(y, d), confusion_matrix(y, d, labels=sorted({*y, *d})))
    np.testing.assert_array_equal(confusion_counts(y, d, classes=list("dcba")),
                                  confusion_matrix(y, d, labels=list("dcba")))


@given(labelled, st.integers(1, 5))
def test_order_shards_and_joint_marginals(data, k):
    y, a, b = (np.array(v) for v in data)
    classes = list("abcd")
    whole = confusion_counts(y, a, classes=classes)
    order = np.random.default_rng(k).permutation(len(y))
    np.testing.assert_array_equal(confusion_counts(y[order], a[order], classes=classes), whole)
    np.testing.assert_array_equal(sum(confusion_counts(y[i::k], a[i::k], classes=classes) for i in range(k)),
                                  whole)
    joint = joint_counts(y, a, b, classes=classes)
    np.testing.assert_array_equal(joint.first, whole)
    np.testing.assert_array_equal(joint.second, confusion_counts(y, b, classes=classes))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int64", "uint64", "float32", "bool", "str",
                                   "object", "category", "Int64"])
def test_label_types(dtype):
    rng = np.random.default_rng(0)
    y, d = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    cast = (lambda v: pd.Series(v, dtype=dtype)) if dtype in ("category",
            "Int64") else (lambda v: v.astype(dtype))
    np.testing.assert_array_equal(confusion_counts(cast(y), cast(d)), confusion_matrix(y, d))


@pytest.mark.parametrize("values", [[-100, 100, 27], [5, 10**9, -(10**9)], [2, 4, 1000]])
def test_integer_labels_with_gaps(values):
    rng = np.random.default_rng(0)
    y, d = rng.choice(values, 300), rng.choice(values, 300)
    np.testing.assert_array_equal(confusion_counts(y, d), confusion_matrix(y, d))
    np.testing.assert_array_equal(confusion_counts(y, d, classes=values),
                                  confusion_matrix(y, d, labels=values))


def test_mixed_labels_and_decisions_that_are_not_classes():
    counts = confusion_counts([0, "spam", (1, 2)], ["keep", None, "keep"], classes=[0, "spam", (1, 2)],
                              decision_labels=["keep", None])
    assert counts.array.tolist() == [[1, 0], [0, 1], [1, 0]]


def test_more_samples_than_a_block():
    rng = np.random.default_rng(0)
    y, d = rng.integers(0, 7, 100_000), rng.integers(0, 7, 100_000)
    np.testing.assert_array_equal(confusion_counts(y, d), confusion_matrix(y, d))
    s = rng.normal(size=100_000).round(4)
    ours, (fpr, tpr, t) = threshold_counts(y > 3, s), roc_curve(y > 3, s, drop_intermediate=False)
    np.testing.assert_array_equal(ours.thresholds, t)
    np.testing.assert_allclose([ours.counts.fpr, ours.counts.tpr], [fpr, tpr], rtol=1e-13)


@given(scored, st.data())
@settings(max_examples=100)
def test_thresholds_by_enumeration(data, draw):
    """Without weights they are packed and sorted; with weights, 0 among them, not packed: a row without
    weight has no threshold."""
    y, scores = data
    for w in (None, draw.draw(hnp.arrays(np.int64, len(y), elements=st.integers(0, 3)))):
        got, kept = threshold_counts(y, scores, sample_weight=w), slice(None) if w is None else w > 0
        thresholds, counts = enumerated(y[kept], scores[kept], w if w is None else w[kept])
        np.testing.assert_array_equal(got.thresholds, thresholds)
        assert got.counts == counts
        assert not np.signbit(got.thresholds[got.thresholds == 0]).any()


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint16", "bool"])
def test_score_types(dtype):
    y, s = [1, 0, 1, 0], np.array([1, 0, 1, 1]).astype(dtype)
    got = threshold_counts(y, s)
    assert got.thresholds.tolist() == [np.inf, 1, 0] and got.counts == BinaryCounts([0, 2, 2], [0, 1, 2],
            [2, 0, 0], [2, 1, 0])


def test_inputs_are_left_alone():
    y, s = np.array([True, False, True]), np.array([-1., 2., -0.])
    before = s.tobytes()
    threshold_counts(y, s), threshold_counts(y, s[::-1])
    assert s.tobytes() == before


@pytest.mark.parametrize("y", [[1, 1, 1], [0, 0, 0]])
def test_one_class(y):
    counts = threshold_counts(y, [.1, .2, .3]).counts
    merged = threshold_counts([0, 1], [0., 1.]) + threshold_counts([0, 1], [-0., 2.])
    assert merged.thresholds.tolist() == [np.inf, 2, 1, 0] and not np.signbit(
        merged.thresholds[-1]), "a threshold of 0 is not shown as -0.0"
    missing, present = ("fpr", "tpr") if y[0] else ("tpr", "fpr")
    assert np.isnan(getattr(counts, missing)).all() and np.allclose(getattr(counts, present),
            [0, 1 / 3, 2 / 3, 1])


rate = st.floats(0, 1)


@given(st.integers(1, 10**6), rate, rate, rate)
def test_rates_go_round(total, prevalence, fpr, fnr):
    counts = BinaryCounts.from_rates(total, prevalence, fpr, fnr)
    assert counts.total == pytest.approx(total) and counts.prevalence == pytest.approx(prevalence)
    if counts.n > 1e-300: assert counts.fpr == pytest.approx(fpr) and counts.tnr == pytest.approx(1 - fpr)
    if counts.p > 1e-300: assert counts.fnr == pytest.approx(fnr) and counts.tpr == pytest.approx(1 - fnr)
    assert BinaryCounts.from_matrix(counts.to_matrix()) == counts


@given(hnp.arrays(np.int64, (3, 2, 2), elements=st.integers(0, 20)))
def test_binary_counts_of_arrays_are_those_of_each(m):
    many = BinaryCounts.from_matrix(m)
    for name in ("prevalence", "tpr", "fpr", "fnr", "tnr", "precision", "npv",
                 "predicted_prevalence"):
        np.testing.assert_array_equal(getattr(many, name), [getattr(BinaryCounts.from_matrix(one), name)
                for one in m])
    assert sum(many[i] for i in range(3)) == BinaryCounts.from_matrix(m.sum(0))
    np.testing.assert_array_equal(many.to_matrix(), m)


def test_binary_counts_is_frozen_and_shown():
    counts = BinaryCounts.from_labels(["1" == v for v in "1100"], [1, 0, 0, 0], sample_weight=[1, 2, 3, 4])
    with pytest.raises(AttributeError): counts.tp = 3
    assert counts == BinaryCounts(1, 0, 2, 7) and counts != 3
    assert counts._repr_html_() == ce.ConfusionCounts([[7., 0], [2, 1]])._repr_html_() and "tp=" in repr(counts)
    assert isinstance(threshold_counts([1], [1]), ThresholdCounts)


BAD = {
    "missing label": (lambda: confusion_counts([1, np.nan], [1., 1.]), "missing values"),
    "pandas' NA": (lambda: confusion_counts(pd.array(["a", None], dtype="string"), ["a", "a"]),
                   "missing values"),
    "negative total": (lambda: BinaryCounts.from_rates(-5, .5, .1, .1), "total: must lie in"),
    "repeated classes": (lambda: confusion_counts([1], [1], classes=[1, 1]), "classes: .* only once"),
    "no classes": (lambda: confusion_counts([1], [1], classes=[]), "classes: .* at least one"),
    "negative counts": (lambda: BinaryCounts(-1, 0, 0, 0), "tp: .*at least 0"),
    "NaN counts": (lambda: BinaryCounts(np.nan, 0, 0, 0), "tp"),
    "3 x 3 counts": (lambda: BinaryCounts.from_matrix(np.ones((3, 3))), "3 x 3, but 2 x 2"),
    "ragged counts": (lambda: check_counts([[1, 2], [3]]), "rows of one length"),
    "transposed counts": (lambda: check_counts(np.ones((3, 2)), (2, 3)), "transposed"),
    "rate beyond 1": (lambda: BinaryCounts.from_rates(10, .5, .1, 1.1), "fnr: must lie in"),
    "prevalence of one class": (lambda: BinaryCounts(3, 0, 1, 0).with_prevalence(.5), "no sample"),
}


test_bad_input = refuses(BAD)


def test_small_integer_types_do_not_run_over():
    matrix = np.full((2, 2), 200, np.uint8)
    assert BinaryCounts.from_matrix(matrix).total == 800
    assert BinaryCounts(*matrix.ravel()).p == 400
    assert check_counts(matrix).sum(1).dtype == np.int64


def test_text_of_numpy_beside_numbers_stays_text():
    np.testing.assert_array_equal(confusion_counts([np.str_("0"), 0], [0, 0], classes=[0, "0"]),
                                  [[1, 0], [1, 0]])


def test_only_tables_are_added_to_tables():
    curve, table = threshold_counts([0, 1, 1], [.1, .4, .3]), confusion_counts([0, 1], [1, 1])
    for one in (curve, table):
        with pytest.raises(TypeError):
            one + 5
        with pytest.raises(TypeError):
            one + 0.5
    assert (sum([curve]).thresholds == curve.thresholds).all()


def test_integer_scores_that_a_float_cannot_tell_apart_are_refused():
    assert len(threshold_counts([0, 1], [2**53, -(2**53)]).thresholds) == 3
    for score in (2**53 + 2, -(2**53) - 2):
        with pytest.raises(ValueError, match="would be rounded and tie"):
            threshold_counts([0, 1], np.array([0, score]))


def test_binary_counts_add_up_and_nothing_else():
    one = BinaryCounts([1, 2], 3, 4, 5)
    assert one + one == BinaryCounts([2, 4], 6, 8, 10) and sum([one, one]) == one + one
    for other in (1, .5, np.eye(2)):
        with pytest.raises(TypeError):
            one + other


@pytest.mark.parametrize("kind", [np.float64, np.float32, object, list], ids=str)
def test_probabilities_are_no_decisions(kind):
    "A 1,994 x 1,994 table came without a word, and joint counts asked for 59 GiB."
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2, 2000), rng.random(2000)
    p = p.tolist() if kind is list else p.astype(kind)
    d = rng.integers(0, 2, 2000)
    costs = ce.CostMatrix.binary(fp=1, fn=5)
    doors = [lambda: ce.confusion_counts(y, p), lambda: ce.confusion_counts(p, y),
             lambda: ce.joint_counts(y, d, p), lambda: ce.joint_counts(y, p, d),
             lambda: ce.confusion_counts(y, p, classes=[0, 1]),
             lambda: ce.confusion_counts(y, p, classes=costs), lambda: ce.losses(y, p, costs),
             lambda: ce.evaluate(y, ce.Decisions(p), costs)]
    for door in doors:
        with pytest.raises(ValueError, match="0.* is no label.*take decisions first"):
            door()
    assert ce.confusion_counts(y, d.astype(float)).array.sum() == 2000


def test_scores_that_are_whole_numbers_ask_for_no_gigabytes():
    y, s = np.arange(2000) % 2, np.arange(2000)
    with pytest.raises(ValueError, match="2,000 different labels make a table of 8,000,000,000 cells"):
        ce.joint_counts(y, s, s)
