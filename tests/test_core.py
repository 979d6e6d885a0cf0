"""The ground floor by itself: checks, labels, kinds, packing and tables, each against enumeration or a slower
way."""
import itertools
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import refuses
from cost_eval import core
from cost_eval.confusion import JointCounts
from cost_eval.costs import CostMatrix
from cost_eval.confusion import ConfusionCounts

integers = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), max_size=30)


# ---- what is refused, and what is said of it

@pytest.mark.parametrize("ends", ["()", "[]", "[)", "(]"])
def test_a_range_has_the_ends_it_says(ends):
    for value, inside in ((1, ends[0] == "["), (2, True), (3, ends[1] == "]"), (0.999, False), (3.001, False),
                          (np.nan, False)):
        if inside:
            assert core.check_range(value, "x", 1, 3, ends=ends) == value
        else:
            with pytest.raises(ValueError,
                               match=rf"^x: must lie in \{ends[0]}1, 3\{ends[1]}, got {value:g}; so$"):
                core.check_range([2, value], "x", 1, 3, ends=ends, hint="so")
    assert core.check_range(np.ones((2, 3)), "x", shape=(2, 3)).shape == (2, 3)
    for value, shape, said in ([1, 2], (), "one number"), (1, (1,), r"shape \(1,\)"):
        with pytest.raises(ValueError, match="x: expected " + said):
            core.check_range(value, "x", shape=shape)


def test_rounding_may_pass_the_end_of_what_is_possible_but_no_more():
    for value in (1.0, 0.25, 1 + 1e-12, -1e-12):
        assert core.check_within(value, "v", 0, 1, "here") == min(max(value, 0), 1)
    assert core.check_within(1e6 + 1e-5, "v", 0, 1e6, "here") == 1e6
    assert core.check_within([0.5, 3], "v", [0, 2], [1, 4], "here").tolist() == [0.5, 3]
    for value, said in ((1 + 1e-6, "outside"), (-1e-6, "outside"), (np.inf, "inf is outside"),
                        (np.nan, "NaN")):
        with pytest.raises(ValueError, match=f"v: .*{said}.*here"):
            core.check_within(value, "v", 0, 1, "here")
    with pytest.raises(ValueError, match=r"v: 5 is outside \[2, 4\], here"):
        core.check_within([0.5, 5], "v", [0, 2], [1, 4], "here")


@pytest.mark.parametrize("value, wanted", [(3, 3), (3.0, 3), (np.int8(3), 3), (2, 2), (9, 9), ("x",
        "numbers"), (3.5, "whole number"), (1, "from 2 to 9, got 1; h"),
                                           (10, "from 2 to 9"), ([3], "one number")])
def test_integers(value, wanted):
    if isinstance(wanted, int):
        assert core.check_integer(value, "n", 2, 9) == wanted
        return
    with pytest.raises(ValueError, match=f"n: .*{wanted}"):
        core.check_integer(value, "n", 2, 9, hint="h")


def test_integers_fit_an_array_of_numpy():
    assert core.check_integer(2**63 - 1, "n") == 2**63 - 1 and core.check_integer(0, "n") == 0
    with pytest.raises(ValueError, match="n: must be from 0 to 9.22337e[+]18, got 1000000"):
        core.check_integer(10**30, "n")
    with pytest.raises(ValueError, match="n: must be at least 0, got -1$"):
        core.check_integer(-1, "n")


test_messages = refuses([
    (lambda: core.check_choice("percentle", ["percentile", "normal"], "method"), "did you mean 'percentile'"),
    (lambda: core.check_choice("zzz", ["percentile", "normal"], "method"), "there are percentile, normal"),
    (lambda: core.check_choice(3, [3], "method"), "3 is unknown"),
    (lambda: core.check_binary(list("abcdef")), r"got \['a', 'b', 'c', 'd'\];"),
    (lambda: core.dense({1, 2}, "x"), "a set has no order"),
    (lambda: core.check_labels(["a", "b"], 3, "classes", "rows"),
     "2 labels for 3 rows; is the table transposed"),
    (lambda: core.check_labels(-1, 2, "classes", "rows"), "classes: a list of labels is needed, got -1"),
    (lambda: core.check_labels(np.zeros((2, 2)), 2, "classes", "rows"),
     "classes: a list of labels is needed, got array"),
    (lambda: core.check_labels(["a", "a"], 2, "classes", "rows"), "each only once"),
    (lambda: core.check_counts(np.ones((4, 3)), (3, 4)), "4 x 3, but 3 x 4 .*look transposed"),
    (lambda: core.check_counts(np.ones((4, 2)), (3, 4)), "4 x 2, but 3 x 4 .*needed$"),
    (lambda: core.check_counts(np.ones((2, 3, 2)), (3, 2, 2)), "2 x 3 x 2, but 3 x 2 x 2 .*needed$"),
    (lambda: core.check_counts([[1, 2.5], [3, 4]], whole=True), "got 2.5; of weights"),
    (lambda: core.check_costs(np.eye(2, 3), 3, 2), "2 x 3, not 3 classes .* x 2 decisions"),
    (lambda: core.check_costs(np.eye(2, 3), 3), "not 3 classes .* x any decisions"),
    (lambda: core.check_costs(np.eye(2, 3), None, 2), "not any classes .* x 2 decisions"),
    (lambda: core.check_costs(np.eye(2, 3), 4), "not 4 classes .*columns\\)$"),
    (lambda: core.check_costs(np.eye(3), 2, 2), "3 x 3, not 2 classes .*columns\\)$"),
    (lambda: core.check_costs([[[0, 1], [1, 0]], [[2, 2], [3, 3]]]), "costs the same for each class"),
    (lambda: core.check_priors([[0.5, 0.5], [0.5, 0.4]]), "sum to 0.9"),
    (lambda: core.check_priors([[0.5, 0.5], [-0.5, 1.5]]), r"not negative and sum to 1, got \[-0.5"),
    (lambda: core.check_priors({"a": 0.5, "b": 0.5}, classes=["a", "c"]),
     r"\['a', 'b'\], but those of the classes are \['a', 'c'\]"),
    (lambda: core.check_priors({1: 0.5, 2: 0.5}), r"are \[0, 1\]"),
    (lambda: core.check_posteriors([[0.5, 0.5], [0.6, 0.5]], first=10), "row 11 sums to 1.1"),
    (lambda: core.check_posteriors([[0.5, 0.502]]), "row 0 sums to 1.002"),
    (lambda: core.check_posteriors([[0.5, 0.5]], 3), "2 columns, but 3 classes"),
    (lambda: core.check_posteriors([[0.5, 0.5], [0.5, np.nan]], first=7), "nan in row 8, column 1"),
    (lambda: core.check_posteriors([[0.0, 0.0]], log=True), "row 0 sums to 2"),
])


def test_what_is_near_enough_is_taken():
    assert core.check_priors([0.5, 0.5 + 5e-7]).sum() != 1
    assert core.check_posteriors([[0.5, 0.5005]]).shape == (1, 2)
    assert core.check_posteriors(np.log([[0.25, 0.75]]), log=True).max() < 0
    assert core.check_posteriors(np.zeros((0, 3))).shape == (0, 3)
    assert core.dense(np.ma.array([1, 2]), "x").tolist() == [1, 2] and type(core.dense(np.ma.array([1, 2]),
            "x")) is np.ndarray
    assert core.check_counts([[1, 2], [3, 4]], whole=True).dtype == np.int64
    assert core.check_counts([[1.0, 2], [3, 4]], whole=True).dtype == np.float64
    assert core.check_counts(np.array([[True, False], [True, True]])).tolist() == [[1, 0], [1, 1]]
    assert core.check_counts(np.zeros((0, 2, 2))).shape == (0, 2, 2)
    assert core.check_costs([[0, -0.0], [1, 0]]).tolist() == [[0, 0],
            [1, 0]] and not np.signbit(core.check_costs([[0, -0.0], [1, 0]])).any()
    assert core.numbers([Decimal("1.5"), 2], "x").tolist() == [1.5, 2]


# ---- labels

@given(integers, st.sampled_from([np.int64, np.uint64, np.int8, np.uint8, bool, float]))
def test_labels_seen_are_those_of_a_set(values, dtype):
    info = (0, 1) if dtype is bool else (-(2**63), 2**63) if dtype is float else (np.iinfo(dtype).min,
            np.iinfo(dtype).max)
    values = np.array([v for v in values if info[0] <= v <= info[1]], dtype)
    wanted = [False, True] if dtype is bool else sorted(set(values.tolist()))
    assert core.seen_labels(values, values[:1]) == wanted


def test_labels_seen():
    for values in (np.arange(99) % 7 + 5, np.append(np.arange(99) % 7, 10**6), -np.arange(9)):
        assert core.seen_labels(values) == sorted(set(values.tolist()))
    for values in ([2**63 + 5, 2**63, 2**64 - 1], [2**63 + 5, 2**63]):
        assert core.seen_labels(np.array(values, np.uint64)) == sorted(values)
    assert core.seen_labels(np.array([3, 1]), np.array([True, False])) == [0, 1, 3]
    # cannot be sorted: as they appear
    assert core.seen_labels(np.array(["b", 2, "a"], object)) == ["b", 2, "a"]
    for missing in (None, np.nan, pd.NA, pd.NaT):
        with pytest.raises(ValueError, match="missing values"):
            core.seen_labels(np.array(["a", missing], object))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=30), st.lists(st.integers(-4, 4), min_size=1,
        max_size=7, unique=True),
       st.sampled_from([np.int64, np.int8, float, object, bool]))
def test_codes_are_positions(values, labels, dtype):
    values = np.array(values).astype(dtype)
    unknown = [v for v in values.tolist() if v not in labels]
    if unknown:
        with pytest.raises(ValueError, match=f"^y: label {unknown[0]!r} is not in classes = "):
            core.encode(values, labels, "y", "classes")
    else:
        assert core.encode(values, labels, "y", "classes").tolist() == [labels.index(v)
                for v in values.tolist()]


def test_codes_of_labels_far_apart():
    labels = [5, -(10**12), 10**12]
    assert core.encode(np.array([10**12, 5]), labels, "y", "classes").tolist() == [2, 0]
    assert core.encode(np.array([2**63 + 1, 2**63], np.uint64), [2**63, 2**63 + 1], "y",
                       "classes").tolist() == [1, 0]
    assert core.encode(np.array([], int), [1, 2], "y", "classes").tolist() == []


def test_labels_as_given():
    assert core.label_list("ab", "x") == ["a", "b"] and core.check_labels("ab", 2, "x", "rows") == ("a", "b")
    assert core.label_array([(1, 2), (3, 4)], "x").shape == (2,)
    assert core.label_array(["a", 1], "x").tolist() == ["a", 1] and core.label_array([1, 2.5],
            "x").dtype == float
    assert core.check_labels(None, 3, "x", "rows") == (0, 1, 2)
    for labels in ([], ["a", "a"]):
        with pytest.raises(ValueError, match="at least one label and each only once"):
            core.label_list(labels, "x")


@given(st.integers(0, 10**6))
def test_cells_are_counted(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 5, 3)
    n = int(rng.choice([0, 1, 50, core.BLOCK, core.BLOCK + 1]))
    codes = [rng.integers(0, size, n) for size in sizes]
    for weight in (None, rng.random(n)):
        wanted = np.zeros(sizes)
        np.add.at(wanted, tuple(codes), 1 if weight is None else weight)
        np.testing.assert_allclose(core.count_cells(codes, list(sizes), weight), wanted, rtol=1e-12)


def test_a_labelled_table_is_its_array_and_its_labels():
    table = core.LabelledTable([[1, 2], [3, 4]], classes=["a", "b"])
    assert table.classes == table.decisions == ("a", "b") and table.shape == (2, 2)
    assert core.LabelledTable(np.ones((2, 3)), classes=["a", "b"]).decisions == (0, 1, 2)
    for other in (core.LabelledTable([[1, 2], [3, 5]], classes=["a", "b"]),
                  core.LabelledTable([[1, 2], [3, 4]], classes=["a", "c"]),
                  core.LabelledTable([[1, 2], [3, 4]], classes=["a", "b"], decisions=[0, 1])):
        assert table != other
    assert np.asarray(table, float).dtype == float
    array = np.asarray(table)
    array[0, 0] = 9
    assert table.array[0, 0] == 1  # a copy
    assert repr(table) == "LabelledTable([[1, 2], [3, 4]], classes=['a', 'b'], decisions=['a', 'b'])"
    assert "array of shape (5, 13)" in repr(core.LabelledTable(np.ones((5, 13)))) and "array of" not in repr(
        core.LabelledTable(np.ones((4, 16))))
    with pytest.raises(AttributeError, match="LabelledTable is read-only"):
        del table.classes


@pytest.mark.parametrize("name, kind", [("decision", "decision"), ("predicted label", "decision"),
                                        ("Decided", "decision"), ("class", "class"), ("y_true", "class"),
                                        ("ground truth", "class"), ("Actual", "class"), (None, ""),
                                        ("label", "class"), ("Outcome", "class"), ("y", "class"),
                                        ("y_pred", "decision"), ("pred", "decision"), ("y_hat", "decision"),
                                        ("yesterday", ""), ("row_0", "")])
def test_axes_by_name(name, kind):
    assert core.axis_kind(name) == kind


def test_frames_the_other_way_round_and_with_labels_twice():
    for index, columns in (("predicted", None), (None, "truth"), ("predicted", "truth")):
        with pytest.raises(ValueError, match="pass frame.T"):
            core.labelled(pd.DataFrame(np.eye(2)).rename_axis(index=index, columns=columns), "counts")
    assert core.labelled(pd.DataFrame(np.eye(2)).rename_axis(index="truth", columns="predicted"),
                         "counts")[1:] == ((0, 1), (0, 1))
    for frame, axis in ((pd.DataFrame(np.eye(2), ["a", "a"]), "rows"),
                        (pd.DataFrame(np.eye(2), columns=["a", "a"]), "columns")):
        with pytest.raises(ValueError, match=f"the frame has {axis} with one label"):
            core.labelled(frame, "counts")


@given(st.permutations(range(3)), st.permutations(range(4)), st.booleans())
def test_joint_counts_in_any_order_meet_the_costs(rows, columns, stack):
    array = np.random.default_rng(0).integers(0, 99, (2, 3, 4, 4) if stack else (3, 4, 4))
    classes, decisions = list("abc"), list("wxyz")
    costs = CostMatrix(np.arange(12).reshape(3, 4), classes=classes, decisions=decisions)
    turned = JointCounts(array[..., rows, :, :][..., columns, :][..., columns],
                         classes=[classes[i] for i in rows], decisions=[decisions[j] for j in columns])
    table, values = core.aligned(turned, costs, joint=True)
    assert (table == array).all() and values is costs.array
    assert ((JointCounts(array, classes=classes, decisions=decisions) + turned).array == 2 * array).all()


def test_joint_tables_add_up():
    one = JointCounts(np.arange(8).reshape(2, 2, 2))
    assert sum([one, one]).array.tolist() == (2 * np.arange(8)).reshape(2, 2, 2).tolist()
    for other in (1, 0.5, False + 2, ConfusionCounts(np.eye(2))):
        with pytest.raises(TypeError):
            one + other
        with pytest.raises(TypeError):
            other + one
    frame = ConfusionCounts(np.eye(2)).to_frame()
    assert (frame.index.name, frame.columns.name) == ("class", "decision")
    assert (one.to_frame().index.names, one.to_frame().columns.name) == (["class", "first decision"],
            "second decision")


def test_quotients():
    assert core.ratio(1, 4) == 0.25 and type(core.ratio(1, 4)) is float and np.isnan(core.ratio(0,
            0)) and core.ratio(3, 0, undefined=0.5) == 0.5
    assert core.ratio([1, 3], [2, 0], undefined=7).tolist() == [0.5, 7]


# ---- arithmetic

@given(st.integers(0, 50), st.integers(0, 9), st.integers(1, 40))
def test_blocks_cover_everything_once(n, each, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "BLOCK_BYTES", most)
        found = list(core.blocks(n, each))
    assert [i for block in found for i in range(n)[block]] == [*range(n)] and all(block.stop <= n
            for block in found)
    sizes = [block.stop - block.start for block in found]
    assert all(size * each <= most or size == 1 for size in sizes)
    assert all((size + 1) * max(each, 1) > most for size in sizes[:-1])  # as few as possible


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closed_test_with_bonferroni(p):
    "A hypothesis is rejected when every set of hypotheses that holds it is, by Bonferroni."
    p = np.array(p)
    sets = [list(s) for size in range(1, len(p) + 1) for s in itertools.combinations(range(len(p)), size)]
    wanted = [max(min(1, len(s) * p[s].min()) for s in sets if i in s) for i in range(len(p))]
    np.testing.assert_allclose(core.holm(p), wanted, rtol=1e-12)


@given(st.integers(0, 10**6))
def test_kinds_are_those_of_a_dictionary(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    makers = [lambda: rng.integers(0, 3, n), lambda: rng.integers(-2, 2, n), lambda: rng.choice([0.5, -0.5,
            2], n), lambda: rng.integers(990, 1010, n),
              lambda: rng.integers(0, 10**6, n), lambda: rng.random(n)]
    columns = [makers[i]() for i in rng.integers(0, len(makers), rng.integers(1, 6))]
    unit, first = core.kinds(columns)
    rows = list(zip(*(column.tolist() for column in columns)))
    assert [rows.index(rows[i]) for i in range(n)] == first[unit].tolist()
    assert len(first) == len(set(unit.tolist())) == len(set(rows))


def test_kinds_of_very_many_combinations():
    n = 3000
    columns = [np.random.default_rng(k).integers(0, 999, n) for k in range(7)]  # 999**7 overflows 64 bits
    twice = [np.concatenate([column, column]) for column in columns]
    unit, first = core.kinds(twice)
    assert len(first) == n and (unit[:n] == unit[n:]).all() and sorted(first) == [*range(n)]


# ---- results and tables

@pytest.mark.parametrize("value, text", [(1 / 3, "0.3333"), (-0.0, "0"), (3, "3"), (True, "True"), ("a",
        "'a'"), (None, "None"), ([1.0, 2.5], "[1, 2.5]"), ([1, 2, 3, 4], "[1, 2, 3, 4]"),
                                         (np.arange(5), "<array (5,)>"), (np.ones((2, 2)), "<(2, 2)>"),
                                         (np.float32(0.5), "0.5"), (123456.0, "1.235e+05"), ((), "[]")])
def test_short_print(value, text):
    assert core.short(value) == text


def test_percent():
    assert [core.percent(share) for share in (0.95, 0.999, 1, 0.1 + 0.2)] == ["95%", "99.9%", "100%", "30%"]


@core.result
class Record(core.Result):
    x: object
    y: object = 1.0
    z: object = None


@pytest.mark.parametrize("a, b, equal", [
    (Record(1.0), Record(1.0), True), (Record(1.0), Record(2.0), False), (Record(np.nan), Record(np.nan),
        True), (Record(np.nan), Record(1.0), False),
    (Record(1.0), Record(np.nan), False), (Record(np.array([1, np.nan])), Record(np.array([1, np.nan])),
                                           True), (Record(np.arange(2)), Record([0, 1]), True),
    (Record(np.arange(2)), Record(np.arange(3)), False), (Record(np.array(["a"])), Record(np.array(["a"])),
        True), (Record(np.array(["a"])), Record(np.array([1.0])), False),
    (Record(pd.Series([1, 2])), Record(pd.Series([1, 2])), True),
    (Record(pd.Series([1, 2])), Record(pd.Series([1, 3])), False), (Record("a"), Record("b"), False),
    (Record(1.0), Record(1.0, 2.0), False), (Record(1.0), 1.0, False)])
def test_records_are_equal_if_every_field_is(a, b, equal):
    assert (a == b) is equal and (a != b) is not equal


def test_a_record_as_a_frame_has_its_single_values_too():
    assert Record(np.arange(2) / 7, 3, np.ones((2, 2))).to_frame().to_dict("list") == {"x": [0, 1 / 7],
            "y": [3, 3]}


def test_html_tables_escape_labels():
    text = core.table_html("<c>", ["<a>"], [("<r>", ["<b>1</b>"])], "what")
    assert (text.count("&lt;") == 3 and "<b>1</b>" in text and "<caption" in text
            and "caption" not in core.table_html("c", ["a"], []))


def test_extras_are_named():
    assert core.optional_import("math", extra="book").pi == np.pi
    with pytest.raises(ImportError, match=r'^nowhere is needed for this: pip install "cost_eval\[scale\]"$'):
        core.optional_import("nowhere.at.all", extra="scale")


@pytest.mark.parametrize("labels", [
    np.array([7, 3, 7, 0, 3]), np.array([70, -3, 70, 10 ** 9, -3]), np.array([2, 1, 2], np.uint8),
    np.array([.5, -1., .5]), np.array(["b", "a", "b"]), np.array([True, False]),
    np.array(["b", "a", "b"], object), np.array([(1, 2), "a", None, "a"], object)[1:], np.array([], int),
    np.array([], object)])
@pytest.mark.parametrize("ascending", [False, True])
def test_labels_are_numbered_in_one_place(labels, ascending):
    "By a plain loop; in order of appearance, or sorted where that can be."
    known, code = core.numbered(labels, ascending)
    seen = list(dict.fromkeys(labels.tolist()))
    assert known == (sorted(seen) if ascending and None not in seen else seen)
    assert code.dtype == np.intp and [known[k] for k in code] == labels.tolist()


@pytest.mark.parametrize("gap", [None, float("nan"), np.datetime64("NaT")])
def test_a_missing_label_is_refused_by_the_name_of_its_argument(gap):
    with pytest.raises(ValueError,
                       match="clusters: missing values; give these samples a label of their own or drop "
                             "them"):
        core.check_numbered([gap, "a"] if gap is None else [gap, gap], "clusters", 2)
    with pytest.raises(ValueError, match="strata: 2 values, but there are 3 samples"):
        core.check_numbered([1, 2], "strata", 3)


def test_pandas_alone_asks_for_no_book(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name)
    monkeypatch.setattr(core.importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r"pandas is needed for this: pip install .cost_eval\[data\]"):
        core.pandas()
    with pytest.raises(ImportError, match=r"matplotlib is needed for this: pip install .cost_eval\[book\]"):
        core.pyplot()


