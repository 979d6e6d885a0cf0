"""The ground floor by itself: checks, labels, kinds, packing and tables, each against enumeration or a
slower way."""
import itertools
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import refuses
from cost_eval import core

integers = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5), max_size=30)


# ---- what is refused, and what is said of it

@pytest.mark.parametrize("ends", ["()", "[]", "[)", "(]"])
def test_a_range_has_the_ends_it_says(ends):
    for value, inside in ((1, ends[0] == "["), (2, True), (3, ends[1] == "]"), (.999, False), (3.001, False)):
        if inside:
            assert core.check_range(value, "x", 1, 3, ends=ends) == value
        else:
            with pytest.raises(ValueError, match=rf"x: must lie in \{ends[0]}1, 3\{ends[1]}, got {value:g}"):
                core.check_range([2, value], "x", 1, 3, ends=ends)


def test_rounding_may_pass_the_end_of_what_is_possible_but_no_more():
    for value in (1.0, 0.25, 1 + 1e-12, -1e-12):
        assert core.check_within(value, "v", 0, 1, "here") == min(max(value, 0), 1)
    assert core.check_within(1e6 + 1e-5, "v", 0, 1e6, "here") == 1e6
    assert core.check_within([0.5, 3], "v", [0, 2], [1, 4], "here").tolist() == [0.5, 3]
    for value, said in ((1 + 1e-6, "outside"), (-1e-6, "outside"), (np.inf, "inf is out"), (np.nan, "NaN")):
        with pytest.raises(ValueError, match=f"v: .*{said}.*here"):
            core.check_within(value, "v", 0, 1, "here")
    with pytest.raises(ValueError, match=r"v: 5 is outside \[2, 4\], here"):
        core.check_within([0.5, 5], "v", [0, 2], [1, 4], "here")


@pytest.mark.parametrize("value, wanted", [
    (3.0, 3), (np.int8(3), 3), (2, 2), (9, 9), ("x", "numbers"), (3.5, "whole number"), ([3], "one number"),
    (1, "from 2 to 9, got 1; h"), (10, "from 2 to 9"), (10**30, "from 2 to 9, got 1000000")])
def test_integers(value, wanted):
    if isinstance(wanted, int):
        assert core.check_integer(value, "n", 2, 9) == wanted
        assert core.check_integer(2**63 - 1, "n") == 2**63 - 1
        return
    with pytest.raises(ValueError, match=f"n: .*{wanted}"):
        core.check_integer(value, "n", 2, 9, hint="h")


test_messages = refuses([
    (lambda: core.check_range([1, 2], "x", shape=()), "x: expected one number"),
    (lambda: core.dense({1, 2}, "x"), "a set has no order"),
    (lambda: core.check_labels(["a", "b"], 3, "c", "rows"), "2 labels for 3 rows; is the table transposed"),
    (lambda: core.check_labels(np.zeros((2, 2)), 2, "c", "rows"), "c: a list of labels is needed, got array"),
    (lambda: core.check_counts(np.ones((4, 3)), (3, 4)), "4 x 3, but 3 x 4 .*look transposed"),
    (lambda: core.check_counts(np.ones((4, 2)), (3, 4)), "4 x 2, but 3 x 4 .*needed$"),
    (lambda: core.check_counts([[1, 2.5], [3, 4]], whole=True), "got 2.5; of weights"),
    (lambda: core.check_costs(np.eye(2, 3), 3, 2), "2 x 3, not 3 classes .* x 2 decisions"),
    (lambda: core.check_costs(np.eye(2, 3), None, 2), "not any classes .* x 2 decisions"),
    (lambda: core.check_costs(np.eye(2, 3), 4), "not 4 classes .*columns\\)$"),
    (lambda: core.check_priors([[0.5, 0.5], [0.5, 0.4]]), "sum to 0.9"),
    (lambda: core.check_posteriors([[0.5, 0.5], [0.6, 0.5]], first=10), "row 11 sums to 1.1"),
    (lambda: core.check_posteriors([[0.5, 0.502]]), "row 0 sums to 1.002"),
    (lambda: core.check_posteriors([[0.5, 0.5], [0.5, np.nan]], first=7), "nan in row 8, column 1"),
])


def test_what_is_near_enough_is_taken():
    assert core.check_priors([0.5, 0.5 + 5e-7]).sum() != 1
    assert core.check_posteriors([[0.5, 0.5005]]).shape == (1, 2)
    assert core.check_posteriors(np.log([[0.25, 0.75]]), log=True).max() < 0
    assert type(core.dense(np.ma.array([1, 2]), "x")) is np.ndarray
    assert core.check_counts([[1, 2], [3, 4]], whole=True).dtype == np.int64
    assert core.check_counts([[1.0, 2], [3, 4]], whole=True).dtype == np.float64
    assert core.check_counts(np.array([[True, False], [True, True]])).tolist() == [[1, 0], [1, 1]]
    assert core.check_counts(np.full((2, 2), 200, np.uint8)).sum() == 800
    assert not np.signbit(core.check_costs([[0, -0.0], [1, 0]])).any()
    assert core.numbers([Decimal("1.5"), 2], "x").tolist() == [1.5, 2]


# ---- labels

@given(integers, st.sampled_from([np.int64, np.uint64, np.int8, np.uint8, bool, float]))
def test_labels_seen_are_those_of_a_set(values, dtype):
    ends = {bool: (0, 1), float: (-(2**63), 2**63)}
    low, high = ends.get(dtype) or (np.iinfo(dtype).min, np.iinfo(dtype).max)
    values = np.array([v for v in values if low <= v <= high], dtype)
    wanted = [False, True] if dtype is bool else sorted(set(values.tolist()))
    assert core.seen_labels(values, values[:1]) == wanted


def test_labels_that_cannot_be_sorted_stand_as_they_appear():
    assert core.seen_labels(np.array(["b", 2, "a"], object)) == ["b", 2, "a"]
    assert core.seen_labels(np.array([3, 1]), np.array([True, False])) == [0, 1, 3]
    for missing in (None, np.nan, pd.NA, pd.NaT):
        with pytest.raises(ValueError, match="missing values"):
            core.seen_labels(np.array(["a", missing], object))


few = st.integers(-4, 4)


@given(st.lists(few, max_size=30), st.lists(few, min_size=1, max_size=7, unique=True),
       st.sampled_from([np.int64, np.int8, float, object, bool]))
def test_codes_are_positions(values, labels, dtype):
    values = np.array(values).astype(dtype)
    unknown = [v for v in values.tolist() if v not in labels]
    if unknown:
        with pytest.raises(ValueError, match=f"^y: label {unknown[0]!r} is not in classes = "):
            core.encode(values, labels, "y", "classes")
    else:
        found = core.encode(values, labels, "y", "classes")
        assert found.tolist() == [labels.index(v) for v in values.tolist()]


@pytest.mark.parametrize("labels", [
    np.array([7, 3, 7, 0, 3]), np.array([70, -3, 70, 10 ** 9, -3]), np.array([2, 1, 2], np.uint8),
    np.array([.5, -1., .5]), np.array(["b", "a", "b"]), np.array([True, False]), np.array(["b", "a"], object),
    np.array([(1, 2), "a", None, "a"], object)[1:], np.array([], int), np.array([], object)])
@pytest.mark.parametrize("ascending", [False, True])
def test_labels_are_numbered_in_one_place(labels, ascending):
    "By a plain loop; in order of appearance, or sorted where that can be."
    known, code = core.numbered(labels, ascending)
    seen = list(dict.fromkeys(labels.tolist()))
    assert known == (sorted(seen) if ascending and None not in seen else seen)
    assert code.dtype == np.intp and [known[k] for k in code] == labels.tolist()


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
    for array, labels in (([[1, 2], [3, 5]], {"classes": "ab"}), ([[1, 2], [3, 4]], {"classes": "ac"}),
                          ([[1, 2], [3, 4]], {"classes": "ab", "decisions": [0, 1]})):
        assert table != core.LabelledTable(array, **labels)
    array = np.asarray(table, float)
    array[0, 0] = 9
    assert array.dtype == float and table.array[0, 0] == 1  # a copy
    assert repr(table) == "LabelledTable([[1, 2], [3, 4]], classes=['a', 'b'], decisions=['a', 'b'])"
    assert "array of shape (5, 13)" in repr(core.LabelledTable(np.ones((5, 13))))
    assert "array of" not in repr(core.LabelledTable(np.ones((4, 16))))
    with pytest.raises(AttributeError, match="LabelledTable is read-only"):
        del table.classes


def test_frames_the_other_way_round_and_with_labels_twice():
    for index, columns in (("predicted", None), (None, "truth"), ("predicted", "truth")):
        with pytest.raises(ValueError, match="pass frame.T"):
            core.labelled(pd.DataFrame(np.eye(2)).rename_axis(index=index, columns=columns), "counts")
    right = pd.DataFrame(np.eye(2)).rename_axis(index="truth", columns="predicted")
    assert core.labelled(right, "counts")[1:] == ((0, 1), (0, 1))
    for labels, axis in (({"index": ["a", "a"]}, "rows"), ({"columns": ["a", "a"]}, "columns")):
        with pytest.raises(ValueError, match=f"the frame has {axis} with one label"):
            core.labelled(pd.DataFrame(np.eye(2), **labels), "counts")


# ---- arithmetic

@given(st.integers(0, 50), st.integers(0, 9), st.integers(1, 40))
def test_blocks_cover_everything_once(n, each, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "BLOCK_BYTES", most)
        found = list(core.blocks(n, each))
    assert [i for block in found for i in range(n)[block]] == [*range(n)]
    assert all(block.stop <= n for block in found)
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
    some = [rng.integers(0, 3, n), rng.choice([.5, -.5, 2], n), rng.integers(990, 1010, n), rng.random(n)]
    columns = [some[k] for k in rng.integers(0, 4, rng.integers(1, 6))]
    unit, first = core.kinds(columns)
    rows = list(zip(*(column.tolist() for column in columns)))
    assert [rows.index(rows[i]) for i in range(n)] == first[unit].tolist()
    assert len(first) == len(set(unit.tolist())) == len(set(rows))


def test_kinds_of_very_many_combinations():
    n = 3000
    columns = [np.random.default_rng(k).integers(0, 999, n) for k in range(7)]  # 999**7 overflows 64 bits
    unit, first = core.kinds([np.tile(column, 2) for column in columns])
    assert len(first) == n and (unit[:n] == unit[n:]).all() and sorted(first) == [*range(n)]


# ---- results and tables

@core.result
class Record(core.Result):
    x: object
    y: object = 1.0
    z: object = None


@pytest.mark.parametrize("a, b, equal", [
    (1.0, 1.0, True), (1.0, 2.0, False), (np.nan, np.nan, True), (np.nan, 1.0, False), ("a", "b", False),
    (np.array([1, np.nan]), np.array([1, np.nan]), True), (np.arange(2), [0, 1], True),
    (np.arange(2), np.arange(3), False),
    (np.array(["a"]), np.array(["a"]), True), (np.array(["a"]), np.array([1.0]), False),
    (pd.Series([1, 2]), pd.Series([1, 2]), True), (pd.Series([1, 2]), pd.Series([1, 3]), False)])
def test_records_are_equal_if_every_field_is(a, b, equal):
    assert (Record(a) == Record(b)) is equal and (Record(b) != Record(a)) is not equal
    assert Record(a) != Record(a, 2.0) and Record(a) != 1.0


def test_a_missing_library_is_named_with_its_extra(monkeypatch):
    assert core.optional_import("math", extra="book").pi == np.pi
    with pytest.raises(ImportError, match=r'^nowhere is needed for this: pip install "cost_eval\[scale\]"$'):
        core.optional_import("nowhere.at.all", extra="scale")

    def missing(name):
        raise ModuleNotFoundError(name)
    monkeypatch.setattr(core.importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r"pandas is needed for this: pip install .cost_eval\[data\]"):
        core.pandas()
    with pytest.raises(ImportError, match=r"matplotlib is needed for this: pip install .cost_eval\[book\]"):
        core.pyplot()
