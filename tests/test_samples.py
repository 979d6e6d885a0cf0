"""What people have, read or refused: labels, orientation, indices, kinds of models, and the messages."""
import json
import re

import numpy as np
import pytest
import cost_eval.api as ce
from scipy.stats import mannwhitneyu

from conftest import refuses
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.report import evaluate
import cost_eval.samples as samples_module
from cost_eval.samples import Decisions, Posteriors, Scores, read_samples, read_table
import itertools

pd = pytest.importorskip("pandas")

rng = np.random.default_rng(0)
N = 120
Y = (rng.random(N) < .3).astype(int)
S = rng.normal(1.5 * Y)
P = 1 / (1 + np.exp(1.5 - S))
WORDS = np.array(["well", "ill"])[Y]
PLAIN = CostMatrix.binary(fp=1, fn=10)
NAMED = CostMatrix.binary(fp=1, fn=10, classes=["well", "ill"])
THREE = CostMatrix.zero_one(3, abstain=.2, classes=["a", "b", "c"])
INDEX = rng.permutation(N) + 1000
OTHER = np.clip(P + rng.normal(0, .2, N), .01, .99)


class Forest:
    "A model by mistake: it has a length and can be called."

    def __len__(self):
        return N

    def predict_proba(self, X):
        return X


def one(models, y=Y, costs=PLAIN, **options):
    "The only model, as it was read."
    (model,) = read_samples(y, models, costs, **options).models.values()
    return model


# ---- labels

LABELS = {"integers": Y, "floats": Y.astype(float), "booleans": Y == 1, "text": Y.astype(str),
          "objects": Y.astype(object), "unsigned": Y.astype(np.uint8),
          "nullable": pd.Series(Y, dtype="Int64"), "nullable booleans": pd.Series(Y == 1, dtype="boolean"),
          "categories": pd.Series(Y).astype("category"),
          "strings": pd.Series(Y.astype(str), dtype="string"), "a list": Y.tolist()}


@pytest.mark.parametrize("kind", LABELS)
def test_zero_and_one_in_every_dress(kind):
    "As true labels and as decisions."
    read = read_samples(LABELS[kind], {"m": LABELS[kind], "p": P}, PLAIN)
    np.testing.assert_array_equal(read.y, Y)
    np.testing.assert_array_equal(read.models["m"].values, Y)
    assert read.models["m"].kind == "decisions" and read.costs == PLAIN


def libraries():
    "Labels and posteriors of other libraries."
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    return {"polars": (pl.Series(WORDS), pl.Series(P)),
            "polars categories": (pl.Series(WORDS, dtype=pl.Categorical), pl.Series(P, dtype=pl.Float32)),
            "arrow": (pa.array(WORDS.tolist()), pa.array(P)),
            "arrow chunks": (pa.chunked_array([WORDS[:50].tolist(), WORDS[50:].tolist()]),
                             pa.chunked_array([P])),
            "arrow dictionary": (pa.array(WORDS.tolist()).dictionary_encode(), pa.array(P)),
            "pandas on arrow": (pd.Series(WORDS, dtype="string[pyarrow]"),
                                pd.Series(P, dtype="float64[pyarrow]"))}


def test_other_libraries():
    for name, (labels, p) in libraries().items():
        read = read_samples(labels, {"p": p}, NAMED)
        np.testing.assert_array_equal(read.y, Y, err_msg=name)
        np.testing.assert_allclose(read.models["p"].values[:, 1], P, rtol=1e-6)
    pl = pytest.importorskip("polars")
    read = read_samples(pl.Series(WORDS), {"a": pl.Series(P), "b": pl.Series(S)}, NAMED)
    assert [m.kind for m in read.models.values()] == ["posteriors", "scores"]
    np.testing.assert_allclose(one(pl.DataFrame({"ill": P, "well": 1 - P}), WORDS, NAMED).values[:, 1], P)


@pytest.mark.parametrize("labels, positive", [(WORDS, "ill"), (2 * Y - 1, 1), (Y + 1, 2),
                                              (np.where(Y, "1.5", "x"), "1.5")])
def test_two_labels_need_the_positive_one(labels, positive):
    for costs in (PLAIN, dict(fp=1, fn=10), [[0, 1], [10, 0]], ExampleCosts(fp=1, fn=np.full(N, 10))):
        with pytest.raises(ValueError,
                           match="y_true: the labels .* do not say which class is the positive "
                                 "one.*positive=.*classes="):
            read_samples(labels, P, costs)
        read = read_samples(labels, P, costs, positive=positive)
        np.testing.assert_array_equal(read.y, Y)
        np.testing.assert_allclose(read.costs.array, PLAIN.array)
        assert read.costs.classes[1] == positive and read.costs.decisions == read.costs.classes
        np.testing.assert_array_equal(one(labels, labels, costs, positive=positive).values, Y)
    other = next(v for v in labels.tolist() if v != positive)
    flipped = read_samples(labels, P, dict(fp=1, fn=10), positive=other)
    np.testing.assert_array_equal(flipped.y, 1 - Y)


def test_costs_that_name_their_classes_say_it():
    assert read_samples(WORDS, P, NAMED) == read_samples(WORDS, P, NAMED, positive="ill")
    turned = CostMatrix([[0, 10], [1, 0]], classes=["ill", "well"])
    np.testing.assert_array_equal(read_samples(WORDS, P, turned).y, 1 - Y)
    frame = NAMED.to_frame()
    for table in (frame, frame.iloc[::-1, ::-1], frame.iloc[::-1]):
        read = read_samples(WORDS, P, table, positive="ill")
        assert read.costs == NAMED
        with pytest.raises(ValueError, match="do not say which class is the positive one"):
            read_samples(WORDS, P, table)


def test_three_classes_by_name():
    y = np.array(["a", "b", "c"] * 4)
    p = rng.dirichlet([1, 1, 1], 12)
    for given_ in (p, pd.DataFrame(p, columns=["a", "b", "c"]), pd.DataFrame(p,
            columns=["a", "b", "c"])[["c", "a", "b"]], Posteriors(p[:, ::-1], classes=["c", "b", "a"])):
        np.testing.assert_allclose(one(given_, y, THREE).values, p)
    assert one(["a", "b", "abstain"] * 4, y, THREE).values.tolist() == [0, 1, 3] * 4


# ---- kinds

@pytest.mark.parametrize("values, kind", [(P, "posteriors"), (S, "scores"), (Y, "decisions"),
                                          (Y == 1, "decisions"), (rng.integers(1, 8, N), "scores"),
                                          (np.r_[np.zeros(N - 1, int), 7], "scores"),
                                          (np.r_[np.zeros(N - 1), .5], "posteriors"),
                                          (np.r_[np.zeros(N - 1), 1.5], "scores"), (np.linspace(300, 850,
        N).astype(int), "scores"), (Y.astype(float), "decisions")])
def test_a_bare_array_is_taken_for_what_it_looks_like(values, kind):
    for order in (np.arange(N), np.arange(N)[::-1], rng.permutation(N)):
        read = read_samples(Y[order], np.asarray(values)[order], PLAIN)
        assert read.models["model"].kind == kind and kind[:5] in read.taken["model"].replace("probabilities",
                "posteriors")


def test_the_late_row_counts():
    "The 2,000th number decides as much as the first."
    y = np.tile([0, 1], 1000)
    values = np.r_[np.tile([0., 1.], 999), 0., .5]
    assert one(values, y).kind == one(values[::-1], y[::-1]).kind == "posteriors"


def test_what_is_said_goes():
    assert one(Scores(P)).kind == "scores" and one(Scores(Y)).kind == "scores" and one(
        Posteriors(Y)).kind == "posteriors"
    np.testing.assert_allclose(one(Posteriors(1 - P, classes=["well"]), WORDS, NAMED).values[:, 1], P)
    np.testing.assert_allclose(one(Posteriors(P, classes="ill"), WORDS, NAMED).values[:, 1], P)
    assert one(Scores(np.r_[np.inf, S[1:-1], -np.inf])).kind == "scores"
    np.testing.assert_array_equal(one(P > .5, WORDS, NAMED).values, P > .5)  # the positive class is named


def test_models_by_name_by_column_alone():
    frame = pd.DataFrame({"a": P, "b": OTHER})
    assert list(read_samples(Y, frame, PLAIN).models) == ["a", "b"]
    assert list(read_samples(Y, frame["b"], PLAIN).models) == ["b"] and list(read_samples(Y, pd.Series(S),
            PLAIN).models) == ["model"]
    assert one(pd.DataFrame({"ill": P, "well": 1 - P}), WORDS, NAMED).kind == "posteriors"
    assert one(pd.DataFrame(np.column_stack([1 - P, P]))).kind == "posteriors"
    assert one(Decisions(Y)).kind == "decisions"


@pytest.mark.parametrize("posteriors, columns",
                         [(Posteriors([.1, .7]), [0]), (Posteriors([[.9, .1], [.3, .7]]), [0, 1]),
                          (Posteriors([[.9, .1], [.3, .7]], classes=["a", "b"]), ["a", "b"]),
                                                 (Posteriors([.1, .7], classes=["ill"]), ["ill"])])
def test_posteriors_are_a_frame_with_a_column_a_class(posteriors, columns):
    frame = posteriors.to_frame()
    assert list(frame) == columns and (frame.to_numpy() == np.reshape(posteriors.values, (2, -1))).all()


def test_a_model_turned_round_is_named():
    for models, word in ((1 - P, "Posteriors(values, classes=['well'])"), (-S, "Scores(-values)")):
        note, = read_samples(WORDS, models, NAMED).notes
        assert word in note and "area under the ROC curve" in note
    assert not read_samples(WORDS, {"p": P, "noise": rng.random(N)}, NAMED).notes


def test_a_model_is_called_turned_round_beyond_three_standard_errors():
    y, z, base = np.arange(100) % 2, [], np.random.default_rng(3).random(100)
    for shift in np.linspace(0, .5, 200):
        scores = base - shift * y
        U, n = mannwhitneyu(scores[y == 1], scores[y == 0]).statistic, 50 * 50
        z.append((U / n - .5) / np.sqrt(101 / (12 * n)))
        assert bool(read_samples(y, Scores(scores), PLAIN).notes) == (z[-1] < -3)
    assert -3 < min(v for v in z if v > -3) < -2.8 and -3.2 > min(z) and max(v for v in z if v < -3) > -3.2


# ---- rows

def test_rows_meet_by_index():
    y, p = pd.Series(Y, INDEX), pd.Series(P, INDEX)
    assert not read_samples(y, {"p": p}, PLAIN).notes and not read_samples(y, P, PLAIN).notes
    assert "only numbered" in read_samples(y, pd.Series(P), PLAIN).notes[0]
    assert not read_samples(pd.Series(Y), pd.Series(P), PLAIN).notes
    options = {"sample_weight": pd.Series(1., INDEX), "clusters": pd.Series(INDEX, INDEX),
               "groups": pd.Series("g", INDEX)}
    read_samples(y, p, PLAIN, **options)
    for name, value in options.items():
        with pytest.raises(ValueError,
                           match=rf"{name}: its index has the rows of y_true in another "
                                 rf"order.*{name}.loc\[y_true.index\]"):
            read_samples(y, p, PLAIN, **{name: value[::-1]})
    of_xarray = type("DataArray", (),
                     {"coords": {"i": INDEX[::-1]}, "__array__": lambda self, *_, **__: P[::-1],
                      "to_series": lambda self: p[::-1]})()
    for wrong in (p.sample(frac=1, random_state=0), pd.DataFrame({0: 1 - p, 1: p}).iloc[::-1],
                  Scores(p[::-1]), of_xarray):
        with pytest.raises(ValueError,
                           match=r"models\['a'\]: its index has the rows of y_true in another order"):
            read_samples(y, {"a": wrong}, PLAIN)
    with pytest.raises(ValueError, match="has other rows than y_true"):
        read_samples(y, p.set_axis(INDEX + 1), PLAIN)
    with pytest.raises(ValueError, match="another order"):  # among models, where y_true has none
        read_samples(Y, {"a": p, "b": p[::-1]}, PLAIN)
    with pytest.raises(ValueError, match="another order"):  # a numbered index that was shuffled
        read_samples(pd.Series(Y), pd.Series(P).sample(frac=1, random_state=0), PLAIN)


def test_rows_meet_by_id():
    ids = [f"c{k}" for k in range(N)]
    for y, more in ((pd.Series(Y, INDEX), {"b": pd.Series(P, INDEX)}), (Y, {})):
        read = read_samples(y, {"a": pd.Series(P, ids), **more}, PLAIN, ids=ids)
        assert read.ids.tolist() == ids and read.take([3, 1]).ids.tolist() == ["c3", "c1"] and not read.notes
    assert read_samples(pd.Series(Y, INDEX), P, PLAIN).ids.tolist() == INDEX.tolist() and read_samples(
        pd.Series(Y), P, PLAIN).ids is None
    with pytest.raises(ValueError,
                       match=r"models\['a'\]: its index has the rows of ids in another order.*give "
                             r"models\['a'\].loc\[ids\]"):
        read_samples(Y, {"a": pd.Series(P, ids[::-1])}, PLAIN, ids=ids)
    with pytest.raises(ValueError, match="costs: its index has the rows of ids in another order"):
        read_samples(Y, P, ExampleCosts(fp=1, fn=pd.Series(P + 1, ids[::-1])), ids=ids)
    with pytest.raises(ValueError, match=r"costs\['fn'\]: its index has the rows of ids in another order"):
        read_samples(Y, P, {"fp": 1, "fn": pd.Series(P + 1, ids[::-1])}, ids=ids)
    with pytest.raises(ValueError, match="has other rows than ids"):
        read_samples(Y, pd.Series(P, [f"d{k}" for k in range(N)]), PLAIN, ids=ids)
    with pytest.raises(ValueError, match="ids: its index has the rows of y_true in another order"):
        read_samples(pd.Series(Y, INDEX), P, PLAIN, ids=pd.Series(ids, INDEX)[::-1])
    with pytest.raises(ValueError, match="ids: 1 of 120 values are missing, the first at position 119"):
        read_samples(Y, P, PLAIN, ids=[*ids[:-1], None])


def test_a_column_of_ids_in_a_frame_of_models_is_the_key():
    "Frames without an index (polars) have a column of that name; it is no model."
    pl, ids = pytest.importorskip("polars"), np.arange(N) + 500
    for name, series, frame in (("pandas", pd.Series, pd.DataFrame),
                                ("polars", lambda values, name: pl.Series(name, values), pl.DataFrame)):
        key = series(ids, name="nr")
        assert list(read_samples(Y, frame({"nr": ids, "p": P}), PLAIN, ids=key).models) == ["p"], name
        with pytest.raises(ValueError,
                           match=r"models\['nr'\]: its index has the rows of ids in another order.*sort both "
                                 r"by 'nr'"):
            read_samples(Y, frame({"nr": ids[::-1], "p": P}), PLAIN, ids=key)


def test_ids_that_stand_twice_are_said_with_the_remedy():
    ids = np.arange(N) // 2
    note = read_samples(Y, P, PLAIN, ids=ids).notes[-1]
    assert note.startswith("60 of the 120 rows have an id that stood before") and "clusters=" in note
    assert not read_samples(Y, P, PLAIN, ids=ids, clusters=ids).notes
    one, other = (evaluate(Y, {"a": P}, PLAIN, ids=ids, rng=0, **more) for more in ({}, {"clusters": ids}))
    assert note in one.notes and note not in other.notes


def test_what_comes_later_meets_the_ids():
    called = [f"c{k}" for k in range(N)]
    report = evaluate(Y, {"a": P}, PLAIN, ids=called, rng=0)
    for index in (called, range(N)):
        assert report.with_costs(ExampleCosts(fp=1, fn=pd.Series(5., index))).best["cost"][
            0] == pytest.approx(report.with_costs([[0, 1], [5, 0]]).best["cost"][0], rel=1e-14)
    with pytest.raises(ValueError, match="costs: its index has the rows of y_true in another order"):
        report.with_costs(ExampleCosts(fp=1, fn=pd.Series(P + 1, called[::-1])))
    with pytest.raises(ValueError, match="folds: its index has the rows of y_true in another order"):
        evaluate(Y, {"a": P}, PLAIN, ids=called, folds=pd.Series(np.arange(N) % 3, called[::-1]))


# ---- refused

REFUSED = {
    "NaN in a model": (lambda: read_samples(Y, {"a": np.r_[np.nan, P[1:]]}, PLAIN),
                       r"models\['a'\]: 1 of 120 values are missing, the first at position 0"),
    "NA booleans": (lambda: read_samples(Y, {"a": pd.array([True, None] * 60, dtype="boolean")}, PLAIN),
                    r"models\['a'\]: 60 of 120 values are missing"),
    "names that are one": (lambda: read_samples(Y, {1: P, "1": S}, PLAIN),
                           "models: two models are called '1'"),
    "an estimator": (lambda: read_samples(Y, {"rf": Forest()}, PLAIN),
                     r"models\['rf'\]: Forest is not what a model says.*predict_proba\(X\)"),
    "a class": (lambda: read_samples(Y, {"rf": Forest}, PLAIN), r"models\['rf'\]: Forest"),
    "nothing": (lambda: read_samples(Y, {"rf": None}, PLAIN), r"models\['rf'\]"),
    "no models": (lambda: read_samples(Y, {}, PLAIN), "models: at least one"),
    "counts": (lambda: read_samples(Y, pd.crosstab(Y, P > .5), PLAIN),
               "models: 2 rows, but y_true has 120; .* counts go to expected_cost and interval"),
    "columns of others": (lambda: read_samples(Y, {"a": pd.DataFrame({"x": P, "z": 1 - P})},
                                               NAMED.to_frame().set_axis([0, 1]).set_axis([0, 1], axis=1),
                                               positive=1), "columns"),
    "percentages said": (lambda: read_samples(Y, Posteriors(100 * P), PLAIN),
                         r"probabilities lie in \[0, 1\]; divide percentages by 100"),
    "negative probabilities": (lambda: read_samples(Y, Posteriors(S), PLAIN), r"a score is Scores\(\.\.\.\)"),
    "a paid miss": (lambda: read_samples(Y, P, dict(fp=1, fn=-10)),
                    r"costs: a false negative \(fn\) costs -10.*positive numbers"),
    "a paid alarm": (lambda: read_samples(Y, P, CostMatrix.binary(fp=-1, fn=10)),
                     r"costs: a false positive \(fp\) costs -1"),
    "a paid miss of one": (lambda: read_samples(Y, P, ExampleCosts(fp=1, fn=np.r_[-3, np.ones(N - 1)])),
                           "costs: a false negative"),
    "unknown outcome": (lambda: read_samples(Y, P, dict(fp=1, fm=10)),
                        "costs: fn is missing"),
    "costs of others": (lambda: read_samples(Y, P, ExampleCosts(fp=1, fn=[1, 2])),
                        "costs: of 2 samples, but y_true has 120"),
    "text": (lambda: read_samples(WORDS, {"a": np.where(Y, "sick", "well")}, NAMED),
             r"models\['a'\]: 'sick' is not in the costs' decisions"),
    "exchanged": (lambda: read_samples(P, Y, PLAIN), "were y_true and a model swapped"),
    "three labels": (lambda: read_samples(["x", "y", "z"], [.1, .2, .3], PLAIN, positive="z"), "3 labels"),
    "labels in two spellings": (lambda: read_samples(np.where(np.arange(N) % 7, WORDS, "ill "), P, dict(fp=1,
        fn=2)), "3 labels.*one spelling to labels that are one class"),
    "a mapping a row": (lambda: read_samples(pd.Series([{"is": w} for w in WORDS]), P, NAMED),
                        r"y_true: values such as .*; give pandas.DataFrame\(list\(values\)\)"),
    "answers of a language model": (lambda: read_samples(WORDS,
        pd.DataFrame({"said": np.where(P > .5, "Ill.", "well")}), NAMED),
        r"'said' \(no numbers\); name the models, columns of numbers or of the decisions \['well', 'ill'\]"),
    "one weight": (lambda: read_samples(Y, P, PLAIN, sample_weight=1),
                   "sample_weight: .* with one for each sample"),
    "amounts of a spreadsheet": (lambda: read_samples(Y, P, dict(fp=1, fn=["5", *["$1,234.50"] * (N - 1)])),
                                 r"fn: expected numbers, got '\$1,234.50' at position 1; give numbers "
                                 r"without units"),
}


test_refused_in_words = refuses(REFUSED)


def test_the_class_0_can_be_positive_where_outcomes_say_the_costs():
    read = read_samples(Y, 1 - P, dict(fp=1, fn=10), positive=0)
    assert read.costs.classes == (1, 0) and read.costs.array[1, 0] == 10
    np.testing.assert_array_equal(read.y, 1 - Y)


def test_one_class_is_a_note():
    assert "Every label is 'ill'" in read_samples(["ill"] * 5, [.1] * 5, NAMED).notes[0]


# ---- the result

def test_samples():
    read = read_samples(WORDS, {"a": P, "b": S, "c": WORDS}, NAMED, sample_weight=np.arange(N) + 1.,
                        clusters=INDEX, groups=WORDS)
    assert len(read) == N and read.shares.sum() == pytest.approx(1) and read.to_frame().shape == (N, 3)
    np.testing.assert_allclose(read.target_priors(.05), [.95, .05])
    np.testing.assert_allclose(read.target_priors({"ill": .05, "well": .95}), [.95, .05])
    np.testing.assert_allclose(read.target_priors(), read.shares)
    part = read.take(Y == 1)
    assert len(part) == Y.sum() and (part.y == 1).all() and part.clusters.tolist() == INDEX[Y == 1].tolist()
    own = read_samples(Y, P, dict(fp=1, fn=np.arange(N)))
    assert own.own.shape == (N, 2, 2) and own.take([3, 4]).own.array[1, 1, 0] == 4
    assert read_samples(Y, P, ExampleCosts.from_array(own.own.array.tolist())).own == own.own


def test_dates_are_labels():
    day = np.datetime64("2026-01-01") + np.arange(N) % 3
    assert read_samples(Y, P, PLAIN, groups=day).groups.tolist() == day.tolist()
    with pytest.raises(ValueError, match="groups: 1 of 120 values are missing, the first at position 7"):
        read_samples(Y, P, PLAIN, groups=np.where(np.arange(N) == 7, np.datetime64("NaT"), day))


# ---- columns of a table

def test_columns_of_a_table():
    frame = pd.DataFrame({"id": np.arange(N), "row": np.arange(N)[::-1] + 7, "age": rng.integers(20, 80, N),
                          "const": 3., "remark": "x", "visit_date": "2020", "label": WORDS, "p": P,
                          "confidence": OTHER, "b_ill": P, "b_well": 1 - P, "weight": 1., "flag": Y,
                          "vectors": [[0, 1]] * N})
    found = read_table(frame, taken=["weight"])
    assert found.label == "label" and set(found.models) == {"p", "b"}
    assert found.left_out == {
        **dict.fromkeys(("id", "row", "age", "visit_date", "confidence"), "its name"),
        "const": "one value for all", "remark": "no numbers", "flag": "the true labels again",
        "vectors": "no numbers"}
    assert set(found.to_frame()["column"]) == set(frame) - {"weight"}
    read = read_samples(frame["label"], found.values(), NAMED)
    np.testing.assert_allclose(read.models["b"].values, read.models["p"].values)
    assert list(read_table(frame[["label"]].assign(points=rng.integers(1, 8, N))).models) == ["points"]
    for call, words in ((lambda: read_table(frame[["p", "flag"]]),
                         "label: none of the columns .* label='flag'"),
                        (lambda: read_table(frame[["label", "p"]].assign(target=Y)),
                         r"label: the columns \['label', 'target'\] are called like a label; .*='label'"),
                        (lambda: read_table(frame[["label", "id"]]), r"left out: 'id' \(its name\)"),):
        with pytest.raises(ValueError, match=words):
            call()
    assert read_table(frame[["p", "flag"]], label="flag").models == {"p": "p"}


def test_columns_of_models_that_are_named():
    frame = pd.DataFrame({"label": WORDS, "patientID": np.arange(N) % 9, "p": P, "q_well": 1 - P,
                          "said": np.where(P > .4, "ill", "well")})
    named = read_table(frame, models={"one": "patientID", "two": {"well": "q_well"}})
    assert named.label == "label" and named.left_out == {} and len(named.notes) == 1
    np.testing.assert_allclose(read_samples(WORDS, named.values(), NAMED).models["two"].values[:, 1], P)
    found = read_table(frame.drop(columns="q_well"))
    assert read_samples(frame["label"], found.values(), NAMED).models["said"].kind == "decisions"
    with pytest.raises(ValueError, match=r"models\['one'\]: 'pp' is unknown; there are label"):
        read_table(frame, models={"one": "pp"})


@pytest.mark.parametrize("columns, name", [
    (("p0", "p1"), "p"), ((0, 1), "model"), (("net_0", "net_1"), "net"), (("P 0", "P 1"), "P"),
    (("no", "yes"), "model"), (("m_no", "m_yes"), "m"), ((".pred_no", ".pred_yes"), ".pred"),
    (("a-no", "a-yes"), "a")])
def test_columns_called_after_the_classes_are_one_model(columns, name):
    "From a frame and from a table, in either order, with another model beside it."
    y = Y if "no" not in str(columns) else np.where(Y, "yes", "no")
    positive = None if y is Y else "yes"
    frame = pd.DataFrame({columns[1]: P, "other": OTHER, columns[0]: 1 - P})
    wanted = read_samples(y, {name: P, "other": OTHER}, dict(fp=1, fn=10), positive=positive)
    found = read_table(frame.assign(label=y))
    assert found.models == {name: dict(zip(wanted.costs.classes, columns)), "other": "other"}
    for models in (found.values(), frame, frame[frame.columns[::-1]]):
        read = read_samples(y, models, dict(fp=1, fn=10), positive=positive)
        assert set(read.models) == {name, "other"}
        np.testing.assert_allclose(read.models[name].values, wanted.models[name].values, atol=1e-12)
    assert read.read_as.startswith("Read from the table: model") and f"{columns[0]!r} for" in read.read_as


def test_three_classes_and_what_a_report_begins_with():
    y, p = np.array(list("abc"))[rng.integers(0, 3, N)], rng.dirichlet([1, 1, 1], N)
    frame = pd.DataFrame(p, columns=list("bca")).assign(species=y)
    found = read_table(frame, label="species")
    assert found.models == {"model": dict(zip("abc", "abc"))}
    costs = CostMatrix([[0, 1, 9], [2, 0, 1], [1, 4, 0]], classes=list("abc"))
    one_, other = (evaluate(y, m, costs, rng=0) for m in (frame, Posteriors(frame[list("abc")].to_numpy())))
    assert one_.best["cost"].tolist() == other.best["cost"].tolist()
    assert one_.summary().startswith("Read: model 'model' (probabilities: 'a' for a, 'b' for b, 'c' for c); "
                                     "left out 'species' (the true labels again).")
    seen = y != "c"  # of class c there is no sample
    assert read_table(frame[seen], label="species", costs=costs).models == found.models
    with pytest.raises(ValueError, match=r"\['a', 'b'\]: named as the classes, but row 33 does not sum"):
        read_table(frame[seen], label="species")


MARGIN = np.random.default_rng(4).normal(size=N)
BEYOND = r"\['%s'\]: numbers beyond \[0, 1\] beside probabilities, \['p"
WHOSE = r"Posteriors\(frame\[.*?\]\.to_numpy\(\), classes=\["
TWO_READINGS = {  # columns that may be one model or several -> what is said of them
    "other names": ({"P (Churn=0)": 1 - P, "P (Churn=1)": P}, "rows add up to 1.*" + WHOSE),
    "a model and its reverse": ({"lr": P, "inv": 1 - P}, "rows add up to 1.*" + WHOSE),
    "margins called as the classes": ({"l0": -MARGIN, "l1": MARGIN}, "named as the classes.*does not sum to 1"),
    "percentages": ({"p0": 100 - 100 * P, "p1": 100 * P}, "named as the classes.*row 0 does not sum to 1"),
    "two decimals": ({"p0": (1 - P).round(2), "p1": (P + .004).round(2)}, "named as the classes"),
    "numbered models": ({"model_0": P, "model_1": OTHER}, r"named as the classes.*dict\(frame\["),
    "a score": ({"p": P, "points": S}, BEYOND % "points"),
    "a feature": ({"p0": 1 - P, "p1": P, "income": 900 + 99 * S}, BEYOND % "income"),
}


@pytest.mark.parametrize("name", TWO_READINGS)
def test_what_can_be_read_in_two_ways_is_refused_with_what_to_write(name):
    columns, says = TWO_READINGS[name]
    frame = pd.DataFrame(columns)
    for call in (lambda: read_samples(Y, frame, PLAIN), lambda: read_table(frame.assign(label=Y))):
        with pytest.raises(ValueError, match=f"models: .*{says}") as refused:
            call()
    given = {"frame": frame, "dict": dict, "Posteriors": Posteriors, "Scores": Scores}
    (remedy,) = re.findall(r"dict\(frame\[\[.*?\]\]\)", str(refused.value))
    kept = eval(remedy, given)
    read = read_samples(Y, kept if len(kept) > 1 or "p" in kept else frame[[*kept]], PLAIN)
    assert read.models and read_table(frame.assign(label=Y), models={c: c for c in kept}).models
    if "to_numpy" in str(refused.value):
        whose = re.search(r"Posteriors\(frame.*?\.to_numpy\(\), classes=\[", str(refused.value))[0] + "0, 1])"
        if name in ("other names", "a model and its reverse"):
            classes = whose if name == "other names" else whose.replace("0, 1", "1, 0")
            np.testing.assert_allclose(one(eval(classes, given)).values[:, 1], P)


APART = {  # columns that are a model each
    "sums of 1 in a few rows": ({"a": P, "b": np.where(np.arange(N) < 9, 1 - P, OTHER)}, ["a", "b"]),
    "a rival that decides": ({"p0": 1 - P, "p1": P, "rule": P > .3}, ["p", "rule"]),
    "constant decisions": ({"p0": (1 - P) / 2 + .5, "p1": P / 2, "nobody": 0 * Y}, ["p", "nobody"]),
    "two constant decisions": ({"nobody": 0 * Y, "all": 0 * Y + 1}, ["nobody", "all"]),
    "a constant probability": ({"m": P, "prior": 0 * P + .3}, ["m", "prior"]),
    "two constant probabilities": ({"low": 0 * P + .3, "high": 0 * P + .7}, ["low", "high"]),
    "scores alone": ({"a": S, "b": 3 * S**3}, ["a", "b"]),
    "nearly each other's reverse": ({"a": MARGIN, "b": -MARGIN + np.r_[1., np.zeros(N - 1)]}, ["a", "b"]),
    "infinite scores": ({"a": np.r_[np.inf, S[1:]], "b": np.r_[-np.inf, S[1:]]}, ["a", "b"]),
}


@pytest.mark.parametrize("name", APART)
def test_a_column_each(name):
    columns, wanted = APART[name]
    frame = pd.DataFrame(columns)
    for found in (read_samples(Y, frame, PLAIN), read_table(frame.assign(label=Y))):
        assert list(found.models) == wanted


def test_text_that_holds_numbers_is_refused_with_what_to_write():
    for text in ([f"{100 * p!r}%" for p in P.tolist()], [f"{100 * p!r} %" for p in P.tolist()]):
        frame = pd.DataFrame({"label": Y, "p": text, "m": OTHER})
        with pytest.raises(ValueError, match=r"models: \['p'\]: holds text, '") as refused:
            read_table(frame)
        remedy = re.search(r"give (frame\['p'\].*? / 100)", str(refused.value))[1]
        np.testing.assert_allclose(eval(remedy, {"frame": frame}), P)
        assert read_table(frame, models={"m": "m"}).models == {"m": "m"}
    spoilt = pd.DataFrame({"label": Y, "m": [.5, "n/k", *P[2:]]})
    with pytest.raises(ValueError, match=r"\['m'\]: holds text, 'n/k'"):
        read_table(spoilt)


def test_vectors_in_cells_become_columns_by_the_line_that_is_said():
    given = {"numpy": np, "pandas": pd}
    for cells in ([[1 - p, p] for p in P.tolist()], [{0: 1 - p, 1: p} for p in P.tolist()]):
        values = pd.Series(cells)
        with pytest.raises(ValueError, match="not one a sample; give ") as refused:
            one({"m": values})
        remedy = str(refused.value).partition("; give ")[2]
        np.testing.assert_allclose(one({"m": eval(remedy, given | {"values": values})}).values[:, 1], P)


def test_costs_of_a_frame_as_files_hold_them():
    absent = pd.DataFrame([[0, 3, 1], [2, 0, 1], [90, 9, 1]], ["ham", "spam", "virus"],
                          ["deliver", "delete", "ask"])
    assert read_samples(["ham", "spam"], {"m": Decisions(["ask", "delete"])}, absent).costs.classes == ("ham",
            "spam", "virus")
    text = pd.DataFrame([[0, 1], [9, 0]], [0, 1], ["0", "1"])  # a header is text, an index of numbers is not
    read = read_samples([0, 1], [.1, .9], text, positive=0)
    assert read.costs.classes == read.costs.decisions == (1, 0) and read.costs.array.tolist() == [[0, 9],
            [1, 0]]
    # a class without samples, or a third decision?
    with pytest.raises(ValueError, match="rows must be true classes"):
        read_samples(["ham", "spam"], [.1, .9], pd.DataFrame([[0, 2], [3, 0], [1, 1]], ["ham", "spam", "ask"],
                ["ham", "spam"]), positive="spam")


def test_priors_by_what_is_written():
    read = read_samples([0, 1], [.1, .9], PLAIN)
    np.testing.assert_allclose(read.target_priors({"1": .1, "0": .9}), [.9, .1])
    for priors, says in ((5, r"priors: must lie in \[0, 1\], got 5; 5 % is .05"),
                         ("x", "priors: expected numbers")):
        with pytest.raises(ValueError, match=says):
            read.target_priors(priors)


def test_the_order_of_columns_and_models_changes_nothing_but_the_order():
    for order in itertools.permutations(["a", "b", "c"]):
        values = {"a": P, "b": S, "c": Y}
        read = read_samples(Y, {name: values[name] for name in order}, PLAIN)
        assert list(read.models) == list(order) and {n: m.kind for n, m in read.models.items()} == {
            "a": "posteriors", "b": "scores", "c": "decisions"}




def test_huge_scores_are_no_counter_of_rows():
    "Beyond 2**53 every float is a whole number."
    frame = pd.DataFrame({"label": [0, 1] * 10, "m": np.linspace(-1, 2, 20) * 1e200})
    assert list(read_table(frame).models) == ["m"]


def test_json_is_read_to_the_last_digit_in_each_form(tmp_path):
    values = np.append(np.random.default_rng(0).random(2000), [1e-300, 1.7976931348623157e308])
    rows = [{"m": float(v)} for v in values]
    for name, text in (("x.jsonl", "\n".join(map(json.dumps, rows))), ("x.json", json.dumps(rows)),
                       ("y.json", json.dumps({"m": {k: float(v) for k, v in enumerate(values)}}))):
        (tmp_path / name).write_text(text)
        assert (samples_module.read_file(tmp_path / name)["m"].to_numpy() == values).all(), name


def test_a_file_is_read_as_it_is_said_to_be_written(tmp_path):
    frame = pd.DataFrame({"label": Y, "m": P})
    frame.to_csv(tmp_path / "german.csv", index=False, sep=";", decimal=",")
    with pytest.raises(ValueError, match=r"german.csv: .* give sep=';' \(and decimal=','") as refused:
        read_table(tmp_path / "german.csv")
    said = dict(re.findall(r"(sep|decimal)='(.)'", str(refused.value)))
    np.testing.assert_allclose(read_table(tmp_path / "german.csv", **said).frame["m"], P, rtol=1e-15)
    with pytest.raises(ValueError, match=r"\['m'\]: holds text, '0,.*read the file with decimal=','"):
        read_table(tmp_path / "german.csv", sep=";")


def _columns(labels, n=400):
    "Truth, and probabilities in sorted order, of which the right reading has a great area."
    rng = np.random.default_rng(2)
    codes = rng.integers(0, len(labels), n)
    p = np.exp(rng.normal(0, 1, (n, len(labels))) + 2 * np.eye(len(labels))[codes])
    return np.array(sorted(labels))[codes], p / p.sum(1, keepdims=True)


@pytest.mark.parametrize("labels", [["good", "bad"], ["home", "ward", "icu"], [2, 0, 1], [1, 0]], ids=str)
@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, Posteriors, lambda p: {"model": p},
                                  lambda p: {"model": pd.DataFrame(p)},
                                  lambda p: Posteriors(pd.DataFrame(p))],
                         ids=["array", "list", "Posteriors", "named", "numbered", "frame"])
def test_columns_without_names_are_refused_with_both_readings(labels, form):
    "scikit-learn's columns are sorted: read in the order of the costs, a cost of .57 was told as .92."
    y, p = _columns(labels)
    costs = CostMatrix(1 - np.eye(len(labels)), classes=labels)
    given = form(p)
    given = given.get("model") if isinstance(given, dict) else getattr(given, "values", given)
    if isinstance(given, pd.DataFrame) and 0 in labels:  # its columns are called as the classes
        assert (read_samples(y, form(p), costs).models["model"].values == p[:, labels]).all()
        return
    with pytest.raises(ValueError, match="say which") as refused:
        read_samples(y, form(p), costs)
    said = str(refused.value)
    areas = [float(v) for v in re.findall(r"\] (0\.\d\d)", said)]
    assert areas[1] > .85 > .7 > areas[0]
    assert f"classes={labels}" in said and f"classes={sorted(labels)}" in said
    read = read_samples(y, Posteriors(np.asarray(p), classes=sorted(labels)), costs)  # the remedy
    assert (read.models["model"].values == p[:, [sorted(labels).index(v) for v in labels]]).all()
    for call in (ce.evaluate, lambda y, m, c: ce.fit_rule(y, m, c)):
        with pytest.raises(ValueError, match="columns without names"):
            call(y, form(p), costs)


def test_columns_that_can_be_read_in_one_way_are_read():
    y, p = _columns(["a", "b"])
    sorted_ = CostMatrix([[0, 1], [5, 0]], classes=["a", "b"])
    assert (read_samples(y, p, sorted_).models["model"].values == p).all()
    turned = CostMatrix([[0, 1], [5, 0]], classes=["b", "a"])
    named = read_samples(y, pd.DataFrame(p, columns=["a", "b"]), turned)
    assert (named.models["model"].values == p[:, ::-1]).all()
    assert read_samples(y, np.full((400, 2), .5), turned).models  # both readings are one
    assert read_samples(y, p[:, 0], turned).models["model"].values[0, 1] == p[0, 0]


def test_the_remedy_of_a_turned_model_works():
    y, p = _columns(["a", "b"])
    costs = CostMatrix([[0, 1], [5, 0]], classes=["a", "b"])
    note, = (n for n in read_samples(y, p[:, ::-1], costs).notes if "higher values go with" in n)
    remedy = re.search(r"classes=\[(.*)\]", note)[1].replace("'", "").split(", ")
    read = read_samples(y, Posteriors(p[:, ::-1], classes=remedy), costs)
    assert (read.models["model"].values == p).all() and not read.notes


@pytest.mark.parametrize("costs, of", [
    (dict(tp=60, fp=50, fn=0), 1), (dict(tp=60, fp=50, fn=10), 1), (dict(tn=30, fp=10, fn=50), 0),
    ([[10, 0], [0, 5]], 0), (ExampleCosts(fp=1, fn=0, tp=np.arange(1., 7)), 1), (np.diag([3, 2, 4]), 0)])
def test_a_gain_typed_as_a_cost_is_refused(costs, of):
    "It makes one decision right for every class; where that is meant, decisions have names of their own."
    K = len(costs) if isinstance(costs, np.ndarray) else 2
    y, rows = np.arange(6) % K, np.full((6, K), 1 / K)
    with pytest.raises(ValueError, match=f"right decision for {of} costs more than.*negative numbers"):
        read_samples(y, rows, costs)
    for honest in (dict(tp=-60, fp=50, fn=0), dict(fp=1, fn=0), dict(tp=5, fp=50, fn=60),
                   ExampleCosts(fp=1, fn=4, tp=np.arange(1., 7)),
                   CostMatrix([[0, 50], [0, 60]], decisions=["wait", "act"])):
        assert len(read_samples(np.arange(6) % 2, np.full((6, 2), .5), honest)) == 6


@pytest.mark.parametrize("name, negative", [
    *((name, 0) for name in ("p0", "p_0", "prob_0", "proba0", "xgb_p0", "class_0")), ("no", "no"),
    ("prob_no", "no"), ("probability negative", "negative")])
def test_a_lone_column_of_the_negative_class_is_not_the_positive_ones(name, negative):
    p = pd.Series(1 - P, name=name)
    classes = {0: (0, 1), "no": ("no", "yes"), "negative": ("negative", "positive")}[negative]
    y, costs = np.array(classes)[Y], CostMatrix.binary(fp=1, fn=5, classes=classes)
    for models in (p, p.to_frame(), {name: p}):
        with pytest.raises(ValueError, match="by its name the probability of .*Posteriors") as refused:
            read_samples(y, models, costs)
    remedy = re.search(r"(classes=\[.*?\])\) or", str(refused.value))[1]
    model = eval(f"Posteriors(p, {remedy})", {"Posteriors": Posteriors, "p": p})
    read = read_samples(y, {name: model}, costs)
    np.testing.assert_allclose(read.models[name].values[:, 0], p)
    assert one({f"{name}_x": P}, Y).kind == "posteriors"
