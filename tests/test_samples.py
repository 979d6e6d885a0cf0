"""What people have, read or refused: labels, orientation, indices, kinds of models, and the messages."""
import json
import re

import numpy as np
import pytest
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
    read = read_samples(pl.Series(WORDS), pl.DataFrame({"a": P, "b": S}), NAMED)
    assert [m.kind for m in read.models.values()] == ["posteriors", "scores"]
    stated = [{"ill": p, "well": 1 - p} for p in P.tolist()]
    pair = np.array(list(zip(P, 1 - P)), [("ill", float), ("well", float)])
    for stated_so in (pl.DataFrame({"ill": P, "well": 1 - P}), pl.DataFrame({"of": stated}),
                      pl.DataFrame({"p": [[1 - p, p] for p in P.tolist()],
                                    "said": np.where(P > .5, "ill", "well")}), stated, pair,
                  {"m": stated}, {"m": pd.Series([[1 - p, p] for p in P.tolist()])},
                  [[{"label": k, "score": p} for k, p in one.items()] for one in stated]):
        np.testing.assert_allclose(one(stated_so, WORDS, NAMED).values[:, 1], P)
    np.testing.assert_allclose(one(pl.DataFrame({"m": [f"{100 * p!r}%" for p in P.tolist()]})).values[:, 1],
                               P)


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
    frame = pd.DataFrame({"a": P, "b": S})
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
    with pytest.raises(ValueError, match="has other rows than that of y_true"):
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
    with pytest.raises(ValueError, match="has other rows than that of ids"):
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
    "counts": (lambda: read_samples(Y, pd.crosstab(Y, P > .5), PLAIN), "models: a table of counts"),
    "columns of others": (lambda: read_samples(Y, {"a": pd.DataFrame({"x": P, "z": 1 - P})},
                                               NAMED.to_frame().set_axis([0, 1]).set_axis([0, 1], axis=1),
                                               positive=1), "columns"),
    "percentages said": (lambda: read_samples(Y, Posteriors(100 * P), PLAIN),
                         r"probabilities lie in \[0, 1\]; percentages are divided by 100"),
    "negative probabilities": (lambda: read_samples(Y, Posteriors(S), PLAIN), r"a score is Scores\(\.\.\.\)"),
    "a paid miss": (lambda: read_samples(Y, P, dict(fp=1, fn=-10)),
                    r"costs: a false negative \(fn\) costs -10.*positive numbers"),
    "a paid alarm": (lambda: read_samples(Y, P, CostMatrix.binary(fp=-1, fn=10)),
                     r"costs: a false positive \(fp\) costs -1"),
    "a paid miss of one": (lambda: read_samples(Y, P, ExampleCosts(fp=1, fn=np.r_[-3, np.ones(N - 1)])),
                           "costs: a false negative"),
    "unknown outcome": (lambda: read_samples(Y, P, dict(fp=1, fm=10)),
                        "costs: 'fm' is unknown; did you mean"),
    "costs of others": (lambda: read_samples(Y, P, ExampleCosts(fp=1, fn=[1, 2])),
                        "costs: of 2 samples, but y_true has 120"),
    "text": (lambda: read_samples(WORDS, {"a": np.where(Y, "sick", "well")}, NAMED),
             r"models\['a'\]: 'sick' is not in the costs' decisions"),
    "exchanged": (lambda: read_samples(P, Y, PLAIN), "were y_true and a model swapped"),
    "three labels": (lambda: read_samples(["x", "y", "z"], [.1, .2, .3], PLAIN, positive="z"), "3 labels"),
    "labels in two spellings": (lambda: read_samples(np.where(np.arange(N) % 7, WORDS, "ill "), P, dict(fp=1,
        fn=2)), "3 labels.*one spelling to labels that are one class"),
    "a mapping a row": (lambda: read_samples(pd.Series([{"is": w} for w in WORDS]), P, NAMED),
                        r"y_true: values such as .*; give \[v\['is'\] for v in values\]"),
    "the most probable class only": (lambda: read_samples(WORDS,
        [{"label": "ill" if p > .5 else "well", "score": max(p, 1 - p)} for p in P.tolist()], NAMED),
        "'score', .* may be the confidence in the decisions 'label'"),
    "answers of a language model": (lambda: read_samples(WORDS,
        pd.DataFrame({"said": np.where(P > .5, "Ill.", "well")}), NAMED),
        r"'said' \(no numbers, but '(Ill.|well)'\); name the models, columns of numbers or of the decisions "
        r"\['well', 'ill'\]"),
    "one weight": (lambda: read_samples(Y, P, PLAIN, sample_weight=1),
                   "sample_weight: .* give a list or an array with one for each sample"),
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
                          "const": 3., "remark": "x", "visit_date": "2020", "label": WORDS,
                          "p": P, "grade": rng.integers(1, 8, N), "b_ill": P, "b_well": 1 - P, "weight": 1.,
                          "flag": Y})
    found = read_table(frame, taken=["weight"])
    assert found.label == "label" and set(found.models) == {"p", "grade", "b"}
    assert found.left_out["flag"] == "the true labels again" and set(found.left_out) == {"id", "row", "age",
            "const", "remark", "visit_date", "flag"}
    read = read_samples(frame["label"], found.values(), NAMED)
    np.testing.assert_allclose(read.models["b"].values, read.models["p"].values)
    assert read_table(frame[["flag", "p"]]).label == "flag" and read_table(frame[["p", "flag"]],
            label="flag").models == {"p": "p"}
    for call, words in ((lambda: read_table(frame[["p", "grade"]]), "label: none of the columns"),
                        (lambda: read_table(frame[["label", "id"]]), r"left out: 'id' \(its name\)"),):
        with pytest.raises(ValueError, match=words):
            call()


def test_columns_of_models_that_are_named_or_look_otherwise():
    words = np.where(P > .5, "ill", "well")
    frame = pd.DataFrame({"label": WORDS, "patientID": np.arange(N) % 9, "Age (years)": 1., "said": words,
                          "p": P, "q_well": 1 - P, "city": np.where(P > .5, "x", "y")})
    found = read_table(frame)
    assert found.models == {"p, q_well": {"well": "q_well", "ill": "p"}} and set(found.left_out) == {
        "patientID", "Age (years)", "city", "said"}
    found = read_table(frame.assign(said=np.where(P > .4, "ill", "well")).drop(columns="q_well"))
    assert read_samples(frame["label"], found.values(), NAMED).models["said"].kind == "decisions"
    named = read_table(frame, models={"one": "patientID", "two": {"well": "q_well"}})
    assert named.label == "label" and named.left_out == {} and len(named.notes) == 1
    np.testing.assert_allclose(read_samples(WORDS, named.values(), NAMED).models["two"].values[:, 1], P)
    with pytest.raises(ValueError, match=r"models\['one'\]: 'pp' is unknown; did you mean 'p'"):
        read_table(frame, models={"one": "pp"})
    # of class c there is no sample
    three = pd.DataFrame({"label": ["a", "b"] * 6, "m_a": .5, "m_b": .3, "m_c": .2})
    assert read_table(three).models == {"m": {"a": "m_a", "b": "m_b", "c": "m_c"}}


# ---- files as other programs write them: the columns of one model are one model

YES, SAID = np.where(Y, "yes", "no"), np.where(P > .5, "yes", "no")
OTHER = np.clip(P + rng.normal(0, .2, N), .01, .99)
TREE = rng.dirichlet([1, 1, 1], N)
ABC = np.array(list("abc"))
# columns as the tool's documentation or the tool itself names them: label first, and what the model says of
# each class
FOREIGN = {
    "H2O, predict(): cut where F1 is largest": {"y": Y, "predict": (P > .31).astype(int), "p0": 1 - P,
                                                "p1": P},
    "H2O, a domain of words": {"outcome": YES, "predict": SAID, "no": 1 - P, "yes": P},
    "caret, train()$pred": {"obs": YES, "pred": SAID, "no": 1 - P, "yes": P, "rowIndex": np.arange(N) % 50,
                            "Resample": np.where(P > .5, "Fold1", "Fold2")},
    "yardstick, two_class_example": {"truth": np.where(Y, "Class2", "Class1"), "Class1": 1 - P, "Class2": P,
                                     "predicted": np.where(P > .5, "Class2", "Class1")},
    "tidymodels, augment()": {"reference": YES, ".pred_class": SAID, ".pred_no": 1 - P, ".pred_yes": P},
    "KNIME, Predictor nodes": {"Churn": YES, "P (Churn=no)": 1 - P, "P (Churn=yes)": P,
                               "Prediction (Churn)": SAID, "Prediction (Churn) (Confidence)": np.maximum(P,
        1 - P)},
    "RapidMiner, Apply Model": {"label": YES, "prediction(label)": SAID, "confidence(no)": 1 - P,
                                "confidence(yes)": P},
    "Azure ML, Score Model": {"income": YES, "Scored Labels": SAID, "Scored Probabilities": P},
    "Vertex AI": {"target": YES, "churn_no_scores": 1 - P, "churn_yes_scores": P},
    "scikit-learn, DataFrame(predict_proba(X))": {"target": Y, 0: 1 - P, 1: P},
    "polars, DataFrame(predict_proba(X))": {"target": Y, "column_0": 1 - P, "column_1": P},
    "0 and 1 in words": {"actual": Y, "prob_No": 1 - P, "prob_Yes": P, "fold": np.arange(N) % 5,
                         "customer_id": np.arange(N)},
    "Orange, Predictions": {"y": YES, "Logistic Regression": SAID, "Logistic Regression (no)": 1 - P,
                            "Logistic Regression (yes)": P, "Fold": np.arange(N) % 10},
    "DataRobot": {"target": YES, "readmitted_yes_PREDICTION": P, "readmitted_no_PREDICTION": 1 - P,
                  "readmitted_PREDICTION": SAID, "THRESHOLD": .5, "POSITIVE_CLASS": "yes"},
    "Spark ML, toPandas() or CSV": {"label": Y.astype(float), "rawPrediction": [f"[{-s},{s}]" for s in S],
                                    "probability": [f"[{1 - p!r},{p!r}]" for p in P.tolist()],
                                    "prediction": (P > .5).astype(float)},
    "vectors in lists, as DuckDB and polars hold them": {"label": Y, "probability": [[1 - p, p]
        for p in P.tolist()]},
    "WEKA, -classifications CSV -distribution": {"actual": np.where(Y, "2:yes", "1:no"),
                                                 "inst#": np.arange(N), "predicted": np.where(P > .5, "2:yes",
        "1:no"), "error": np.where((P > .5) != Y, "+", ""),
                                                 "distribution": [f"{'*' * (p < .5)}{1 - p!r}"
        for p in P.tolist()], "Unnamed: 5": [f"{'*' * (p > .5)}{p!r}" for p in P.tolist()]},
    "SPSS Modeler": {"truth": YES, "$L-churn": SAID, "$LP-churn": np.maximum(P, 1 - P), "$LP-no": 1 - P,
                     "$LP-yes": P},
    "a spreadsheet's percentages, as text": {"label": YES, "P(no)": [f"{100 * (1 - p)!r}%"
        for p in P.tolist()], "P(yes)": [f"{100 * p!r} %".replace(".", ",") for p in P.tolist()]},
    "BigQuery ML, predicted_label_probs": {"label": YES, "predicted_label": SAID,
                                           "predicted_label_probs": [[{"label": "yes", "prob": p},
        {"label": "no", "prob": 1 - p}] for p in P.tolist()]},
    "Vertex AI, batch prediction": {"label": YES, "predicted_churn": [{"classes": ["no", "yes"],
        "scores": [1 - p, p]} for p in P.tolist()]},
    "Snowflake, CLASSIFICATION!PREDICT": {"label": YES, "PREDICTION": [{"class": d,
        "probability": {"no": 1 - p, "yes": p}} for d, p in zip(SAID, P.tolist())]},
    "DataRobot, as a service": {"label": YES,
                                "data": [{"prediction": d, "predictionValues": [{"value": 1 - p,
        "label": "no"}, {"value": p, "label": "yes"}]} for d, p in zip(SAID, P.tolist())]},
    "Hugging Face, pipeline(top_k=None)": {"label": Y, "output": [sorted([{"label": "LABEL_1", "score": p},
        {"label": "LABEL_0", "score": 1 - p}], key=lambda one: -one["score"]) for p in P.tolist()]},
    "the same as text in a CSV file": {"label": Y,
                                       "output": [str([{"label": "LABEL_1", "score": p}, {"label": "LABEL_0",
        "score": 1 - p}]) for p in P.tolist()], "why": [["a", "b"], {"c": 1}] * (N // 2), "note": "see [1]"},
    "a number in a list, as Keras returns it": {"label": Y, "score": [[p] for p in P.tolist()],
                                                "fold": np.arange(N) % 5},
    "labels twice": {"class": YES, "class_code": Y, "p": P},
    "in another order, with what is decided": {"y": Y, "malignant": P, "benign": 1 - P, "said": P > .5},
    "of which two rows differ": {"y": Y, "P1": P, "P0": 1 - P, "said": np.where(np.arange(N) < 2, P <= .5,
        P > .5)},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_file_is_its_plain_twin(name):
    """The same numbers as from the one column that the model is, whether or not the label still stands in the
    frame."""
    columns = FOREIGN[name]
    frame = pd.DataFrame(columns)
    label, costs = frame.columns[0], dict(fp=1, fn=10)
    truth = frame[label].str.partition(":")[2] if "WEKA" in name else frame[label]
    positive = max(truth.unique()) if truth.dtype.kind not in "bi" else None
    rivals = {"said": frame["said"]} if "two rows" in name else {}
    twin = read_samples(truth, {"m": P, **rivals}, costs, positive=positive)
    found = read_table(frame)
    assert found.label == label and set(found.frame) == {label, *found.left_out,
            *(c for w in found.models.values() for c in (w.values() if isinstance(w, dict) else [w]))}
    # WEKA's unnamed columns need theirs before them
    turned = frame.drop(columns=label).iloc[:, :: 1 if "WEKA" in name else -1]
    for models in (found.values(), frame, turned):
        read = read_samples(truth, models, costs, positive=positive)
        assert len(read.models) == 1 + len(rivals) and {m.kind for m in read.models.values()} == {m.kind
                for m in twin.models.values()}
        for own, plain in zip(sorted(read.models.values(), key=lambda m: m.kind),
                              sorted(twin.models.values(), key=lambda m: m.kind)):
            np.testing.assert_allclose(own.values, plain.values, atol=1e-12)
        assert isinstance(models, dict) or read.read_as.startswith("Read from the table: model") and all(
            repr(c) in read.read_as for c in found.left_out)


def test_three_classes_under_their_bare_names_and_what_a_report_begins_with():
    species = ABC[rng.integers(0, 3, N)]
    frame = pd.DataFrame(TREE, columns=list("bca")).assign(species=species,
            guess=np.array(list("bca"))[TREE.argmax(1)])
    found = read_table(frame.rename(columns={"guess": "predicted"}))
    assert found.label == "species" and found.models == {"model": dict(zip("abc",
            "abc"))} and found.left_out == {"predicted": "the most probable of 'a', 'b', 'c'"}
    costs = CostMatrix([[0, 1, 9], [2, 0, 1], [1, 4, 0]], classes=list("abc"))
    one_, other = (evaluate(species, m, costs, rng=0)
                   for m in (frame, {"model": Posteriors(frame[list("abc")].to_numpy())}))
    assert one_.best["cost"].tolist() == other.best["cost"].tolist()
    assert one_.summary().startswith(
        "Read: model 'model' (probabilities: 'a' for a, 'b' for b, 'c' for c); left out 'species' (the true "
        "labels again), 'guess' (the most probable")
    unsure = frame.drop(columns=list("abc")).assign(sure=TREE.max(1))
    assert list(read_samples(species, unsure, costs).models) == ["guess"]


NEAR = {  # columns that might be taken for one model -> the models that they are
    "a model and its reverse": ({"lr": P, "inv": 1 - P},
                                r"the rows of \['lr', 'inv'\] sum to 1.*dict of names and columns"),
    "sums of 1 in a few rows": ({"a": P, "b": np.where(np.arange(N) < 9, 1 - P, OTHER)}, ["a", "b"]),
    "sums of 1 in all rows but one": ({"m_0": np.where(np.arange(N) == 9, .4 * P, 1 - P), "m_1": P},
                                      ["m_0", "m_1"]),
    "numbered models": ({"model_0": P, "model_1": OTHER}, ["model_0", "model_1"]),
    "a rival that decides like it in nearly all rows": ({"p0": 1 - P, "p1": P,
        "rule": np.where(np.arange(N) < 3, P <= .5, P > .5)}, ["p", "rule"]),
    "a rival with a cut of its own": ({"p0": 1 - P, "p1": P, "cautious": P > .3}, ["p", "cautious"]),
    "a rival that decides the reverse": ({"p": P, "prediction": P < .5}, ["p", "prediction"]),
    "constant decisions": ({"p0": (1 - P) / 2 + .5, "p1": P / 2, "nobody": 0 * Y}, ["p", "nobody"]),
    "two constant decisions": ({"nobody": 0 * Y, "all": 0 * Y + 1}, ["nobody", "all"]),
    "a constant probability": ({"m": P, "prior": 0 * P + .3}, ["m", "prior"]),
    "two constant probabilities": ({"low": 0 * P + .3, "high": 0 * P + .7}, ["low", "high"]),
    "confidence or probability": ({"said": P > .5, "sure": np.maximum(P, 1 - P)},
                                  r"'sure', 0.5. to .*, may be the confidence in the decisions 'said' beside "
                                  r"it, or tell of one class"),
    "log-probabilities of what was said": ({"answer": np.where(P > .5, 1, 0), "logprob": np.log(np.maximum(P,
        1 - P))}, r"'logprob', -.* may be the confidence in the decisions 'answer'.*c = np.exp\(frame"),
    "confidence below a half": ({"answer": P > .5, "confidence": OTHER},
                                "'confidence', .* may be the confidence in the decisions 'answer'"),
    "confidence in words that are no classes": ({"pred_label": np.where(P > .5, "LABEL_1", "LABEL_0"),
                                                 "score": np.maximum(P, 1 - P)},
                                                 "'score', .* may be the confidence in the decisions "
                                                 "'pred_label'"),
    "percent": ({"p0": 100 - 100 * P, "p1": 100 * P},
                "named as the classes, but its rows do not sum to 1 .*percentages divided by 100"),
}


@pytest.mark.parametrize("name", NEAR)
def test_near_misses_are_not_taken_for_one_model(name):
    columns, wanted = NEAR[name]
    frame = pd.DataFrame(columns)
    for call in (lambda: read_samples(Y, frame, PLAIN), lambda: read_table(frame.assign(label=Y))):
        if isinstance(wanted, str):
            with pytest.raises(ValueError, match=wanted):
                call()
        else:
            assert list(call().models) == wanted
    if name not in ("percent", "confidence in words that are no classes"):
        # what the messages advise
        assert list(read_samples(Y, {c: frame[c] for c in frame}, PLAIN).models) == list(columns)
    if "sure" in columns:
        p = np.where(frame["said"] == 1, frame["sure"], 1 - frame["sure"])
        np.testing.assert_allclose(one(Posteriors(p, classes=[1])).values[:, 1], P)


def test_ids_that_repeat_are_said():
    frame = pd.DataFrame({"label": Y, "p": P, "patient_id": np.arange(N) % 100})
    assert read_table(frame).notes[1:] == (
        "The 120 rows have 100 different values of 'patient_id', and rows of one are not independent; if "
        "they belong together, these are the clusters.",)
    assert len(read_table(frame.assign(patient_id=np.arange(N))).notes) == 1


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
    with pytest.raises(ValueError, match="do not tell which are classes"):
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


@pytest.mark.parametrize("distinct", [20, 21])
def test_percentages_have_more_values_than_grades(distinct):
    "Twenty grades from 5 to 100 may be a scale of their own; one more, and they are asked about."
    percent = np.repeat(np.linspace(5, 99, distinct), 20)
    y = (np.arange(len(percent)) % 20 < percent / 5).astype(int)
    if distinct == 20:
        assert one(percent, y=y).kind == "scores"
        return
    with pytest.raises(ValueError, match="divided by 100 predict"):
        one(percent, y=y)


def test_huge_scores_are_no_counter_of_rows():
    "Beyond 2**53 every float is a whole number."
    frame = pd.DataFrame({"label": [0, 1] * 10, "m": np.linspace(-1, 2, 20) * 1e200})
    assert list(read_table(frame).models) == ["m"]


# ---- one model's other column

MARGIN = np.random.default_rng(4).normal(size=40)
TRUTH = (MARGIN + np.random.default_rng(5).normal(size=40) > 0).astype(int)


@pytest.mark.parametrize("names", [("l0", "l1"), ("l1", "l0"), ("neg", "pos"), ("0", "1"), ("a", "b"),
                                   ("logit_0", "logit_1")])
@pytest.mark.parametrize("columns", [(-MARGIN, MARGIN), (-np.log1p(np.exp(MARGIN)),
        -np.log1p(np.exp(-MARGIN)))], ids=["margins", "logarithms"])
def test_two_margins_of_one_model_are_no_rivals(names, columns):
    "They decide oppositely, so one of two models was always the worst. As a dict they are two."
    frame = pd.DataFrame(dict(zip(names, columns)))
    with pytest.raises(ValueError,
                       match=r"give the positive class's column alone, Scores\(frame\[column\]\); if each is "
                             r"a model, a dict"):
        read_samples(TRUTH, frame, PLAIN)
    assert list(read_samples(TRUTH, {"m": Scores(frame[names[1]])}, PLAIN).models) == ["m"]
    assert list(read_samples(TRUTH, {name: Scores(frame[name]) for name in names},
                             PLAIN).models) == list(names)
    near = pd.DataFrame({"a": MARGIN, "b": -MARGIN + np.r_[1e-3, np.zeros(39)]})
    assert list(read_samples(TRUTH, near, PLAIN).models) == ["a", "b"]


@pytest.mark.parametrize("name", ["p0", "p_0", "P(0)", "prob_0", "proba0", "xgb_p0", "class_0", "P(no)",
                                  "prob_no", "no_probability", "no", "probability_negative"])
def test_a_lone_column_of_the_negative_class_is_not_the_positive_ones(name):
    p = pd.Series(1 / (1 + np.exp(MARGIN)), name=name)
    words = np.array(["no", "yes"])[TRUTH]
    for y, classes in ((words, ("no", "yes")),) if name == "no" else ((words, ("no", "yes")),
            (TRUTH, (0, 1))):
        costs = CostMatrix.binary(fp=1, fn=5, classes=classes)
        for models in (p, p.to_frame(), {name: p}):
            with pytest.raises(ValueError, match="by its name the probability of .*Posteriors") as refused:
                read_samples(y, models, costs)
        remedy = re.search(r"(classes=\[.*?\])\) or", str(refused.value))[1]
        read = read_samples(y, {name: eval(f"Posteriors(p, {remedy})", {"Posteriors": Posteriors, "p": p})},
                            costs)
        np.testing.assert_allclose(read.models[name].values[:, 0], p)


def test_columns_of_very_many_values_are_compared_in_little_memory():
    many = np.arange(100_000)
    assert samples_module._alike(many, many[::-1]) and not samples_module._alike(many, many // 2)


def test_json_is_read_to_the_last_digit_in_each_form():
    values = np.append(np.random.default_rng(0).random(2000), [5e-324, 1e-310, 1.7976931348623157e308])
    rows = [{"m": float(v)} for v in values]
    for name, text in (("x.jsonl", "\n".join(map(json.dumps, rows))), ("x.json", json.dumps(rows)),
                       ("y.json", json.dumps({"m": {k: float(v) for k, v in enumerate(values)}}))):
        assert (samples_module.read_file(text.encode(), name)["m"].to_numpy() == values).all(), name


@pytest.mark.parametrize("text", ['{"y": 1, "m": 0.2, "m": 0.9}\n{"y": 0, "m": 0.1}',
                                  '[{"y": 1, "m": 0.2, "m": 0.9}]', '{"m": [0.2], "y": [1], "m": [0.9]}',
                                  '{"rows": [{"m": 1, "m": 2}]}'])
def test_a_name_twice_in_a_json_object_is_refused(text):
    for name in ("x.json", "x.jsonl"):
        with pytest.raises(ValueError, match="column 'm' occurs twice; rename one"):
            samples_module.read_file(text.encode(), name)
