"""What people have, read or refused: labels, orientation, indices, kinds of models, and the messages."""
import re

import numpy as np
import pytest
import cost_eval.api as ce
from scipy.stats import mannwhitneyu
from sklearn.linear_model import LogisticRegression

from conftest import refuses
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Posteriors, Scores, read_samples, read_table


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
INDEX, IDS = rng.permutation(N) + 1000, [f"c{k}" for k in range(N)]
DAY = np.datetime64("2026-01-01") + np.arange(N) % 3
OTHER = np.clip(P + rng.normal(0, .2, N), .01, .99)


def one(models, y=Y, costs=PLAIN, **options):
    "The only model, as it was read."
    (model,) = read_samples(y, models, costs, **options).models.values()
    return model


# ---- labels

LABELS = {"booleans": Y == 1, "text": Y.astype(str), "objects": Y.astype(object), "a list": Y.tolist(),
          "unsigned": Y.astype(np.uint8), "nullable": pd.Series(Y, dtype="Int64"),
          "nullable booleans": pd.Series(Y == 1, dtype="boolean"),
          "categories": pd.Series(Y).astype("category"), "strings": pd.Series(Y.astype(str), dtype="string")}


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
    words = WORDS.tolist()
    return {"polars": (pl.Series(WORDS, dtype=pl.Categorical), pl.Series(P, dtype=pl.Float32)),
            "arrow chunks": (pa.chunked_array([words[:50], words[50:]]), pa.chunked_array([P])),
            "arrow dictionary": (pa.array(words).dictionary_encode(), pa.array(P)),
            "pandas on arrow": (pd.Series(words, dtype="string[pyarrow]"),
                                pd.Series(P, dtype="float64[pyarrow]"))}


def test_other_libraries():
    for name, (labels, p) in libraries().items():
        read = read_samples(labels, {"p": p}, NAMED)
        np.testing.assert_array_equal(read.y, Y, err_msg=name)
        np.testing.assert_allclose(read.models["p"].values[:, 1], P, rtol=1e-6)
    polars = pytest.importorskip("polars").DataFrame({"ill": P, "well": 1 - P})
    np.testing.assert_allclose(one(polars, WORDS, NAMED).values[:, 1], P)


@pytest.mark.parametrize("labels, positive", [(WORDS, "ill"), (2 * Y - 1, 1),
                                              (np.where(Y, "1.5", "x"), "1.5")])
def test_two_labels_need_the_positive_one(labels, positive):
    for costs in (PLAIN, dict(fp=1, fn=10), [[0, 1], [10, 0]], ExampleCosts(fp=1, fn=np.full(N, 10))):
        with pytest.raises(ValueError, match="y_true: the labels .* do not say .*positive=.*classes="):
            read_samples(labels, P, costs)
        read = read_samples(labels, P, costs, positive=positive)
        np.testing.assert_array_equal(read.y, Y)
        np.testing.assert_allclose(read.costs.array, PLAIN.array)
        assert read.costs.classes[1] == positive and read.costs.decisions == read.costs.classes
        np.testing.assert_array_equal(one(labels, labels, costs, positive=positive).values, Y)
    other = next(v for v in labels.tolist() if v != positive)
    flipped = read_samples(labels, P, dict(fp=1, fn=10), positive=other)
    np.testing.assert_array_equal(flipped.y, 1 - Y)
    zero = read_samples(Y, 1 - P, dict(fp=1, fn=10), positive=0)
    assert zero.costs.classes == (1, 0) and zero.costs.array[1, 0] == 10 and (zero.y == 1 - Y).all()


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
    y, p = np.array(["a", "b", "c"] * 4), rng.dirichlet([1, 1, 1], 12)
    frame = pd.DataFrame(p, columns=list("abc"))
    for given_ in (p, frame, frame[["c", "a", "b"]], Posteriors(p[:, ::-1], classes=["c", "b", "a"])):
        np.testing.assert_allclose(one(given_, y, THREE).values, p)
    assert one(["a", "b", "abstain"] * 4, y, THREE).values.tolist() == [0, 1, 3] * 4


# ---- kinds

@pytest.mark.parametrize("values, kind", [
    (P, "posteriors"), (S, "scores"), (Y, "decisions"), (Y == 1, "decisions"), (Y.astype(float), "decisions"),
    (rng.integers(1, 8, N), "scores"), (np.r_[np.zeros(N - 1, int), 7], "scores"),
    (np.r_[np.zeros(N - 1), .5], "posteriors"), (np.r_[np.zeros(N - 1), 1.5], "scores")])
def test_a_bare_array_is_taken_for_what_it_looks_like(values, kind):
    "The last row counts as much as the first."
    for order in (np.arange(N), np.arange(N)[::-1]):
        read = read_samples(Y[order], np.asarray(values)[order], PLAIN)
        assert read.models["model"].kind == kind
        assert kind[:5] in read.taken["model"].replace("probabilities", "posteriors")


def test_what_is_said_goes():
    for model, kind in ((Scores(P), "scores"), (Scores(Y), "scores"), (Posteriors(Y), "posteriors"),
                        (Decisions(Y), "decisions"), (Scores(np.r_[np.inf, S[1:-1], -np.inf]), "scores")):
        assert one(model).kind == kind
    for model in (Posteriors(1 - P, classes=["well"]), Posteriors(P, classes="ill")):
        np.testing.assert_allclose(one(model, WORDS, NAMED).values[:, 1], P)
    np.testing.assert_array_equal(one(P > .5, WORDS, NAMED).values, P > .5)  # the positive class is named


def test_models_by_name_by_column_alone():
    frame = pd.DataFrame({"a": P, "b": OTHER})
    for models, names in ((frame, ["a", "b"]), (frame["b"], ["b"]), (pd.Series(S), ["model"])):
        assert list(read_samples(Y, models, PLAIN).models) == names
    assert one(pd.DataFrame({"ill": P, "well": 1 - P}), WORDS, NAMED).kind == "posteriors"
    assert one(pd.DataFrame(np.column_stack([1 - P, P]))).kind == "posteriors"


def test_a_model_turned_round_is_named_with_a_remedy_that_works():
    for models, word in ((1 - P, "Posteriors(values, classes=['well'])"), (-S, "Scores(-values)")):
        note, = read_samples(WORDS, models, NAMED).notes
        assert word in note
        given = {"values": models, "Posteriors": Posteriors, "Scores": Scores}
        assert not read_samples(WORDS, eval(word, given), NAMED).notes
    assert not read_samples(WORDS, {"p": P, "noise": rng.random(N)}, NAMED).notes


def test_a_model_is_called_turned_round_beyond_three_standard_errors():
    y, z, base = np.arange(100) % 2, [], np.random.default_rng(3).random(100)
    for shift in np.linspace(0, .5, 200):
        scores = base - shift * y
        U = mannwhitneyu(scores[y == 1], scores[y == 0]).statistic
        z.append((U / 50**2 - .5) / np.sqrt(101 / (12 * 50**2)))
        assert bool(read_samples(y, Scores(scores), PLAIN).notes) == (z[-1] < -3)
    assert -3 < min(v for v in z if v > -3) < -2.8 and max(v for v in z if v < -3) > -3.2


# ---- rows

def test_rows_meet_by_index_or_id():
    y, p = pd.Series(Y, INDEX), pd.Series(P, INDEX)
    for read in (read_samples(y, {"p": p}, PLAIN), read_samples(y, P, PLAIN)):
        assert not read.notes and read.ids.tolist() == INDEX.tolist()
    assert "only numbered" in read_samples(y, pd.Series(P), PLAIN).notes[0]
    numbered = read_samples(pd.Series(Y), pd.Series(P), PLAIN)
    assert not numbered.notes and numbered.ids is None
    for truth, more in ((y, {"b": p}), (Y, {})):
        read = read_samples(truth, {"a": pd.Series(P, IDS), **more}, PLAIN, ids=IDS)
        assert read.ids.tolist() == IDS and read.take([3, 1]).ids.tolist() == ["c3", "c1"] and not read.notes
    report = evaluate(Y, {"a": P}, PLAIN, ids=IDS, draws=1, rng=0)  # what comes later meets them, too
    here = report.with_costs([[0, 1], [5, 0]]).best["cost"][0]
    for index in (IDS, range(N)):
        later = report.with_costs(ExampleCosts(fp=1, fn=pd.Series(5., index)))
        assert later.best["cost"][0] == pytest.approx(here, rel=1e-14)
    with pytest.raises(ValueError, match="costs: its index has the rows of y_true in another order"):
        report.with_costs(ExampleCosts(fp=1, fn=pd.Series(P + 1, IDS[::-1])))


def meets(models=P, y=Y, costs=PLAIN, **options):
    return lambda: read_samples(y, models, costs, **options)


BY_INDEX, BY_ID, AMOUNT = pd.Series(P, INDEX), pd.Series(P, IDS), pd.Series(P + 1, IDS[::-1])
OF_XARRAY = type("DataArray", (), {"coords": {"i": INDEX[::-1]}, "__array__": lambda self, *_, **__: P[::-1],
                                   "to_series": lambda self: BY_INDEX[::-1]})()
ORDER = "its index has the rows of %s in another order"
test_rows_in_another_order_are_refused = refuses({
    **{kind: (meets({"a": model}, pd.Series(Y, INDEX)), rf"models\['a'\]: {ORDER % 'y_true'}")
       for kind, model in (("series", BY_INDEX[::-1]), ("frame", pd.DataFrame({0: 1 - P, 1: P}, INDEX)[::-1]),
                           ("scores", Scores(BY_INDEX[::-1])), ("xarray", OF_XARRAY),
                           ("ratios", Posteriors.from_llr(BY_INDEX[::-1])))},
    **{name: (meets(y=pd.Series(Y, INDEX), **{name: value[::-1]}),
              rf"{name}: {ORDER % 'y_true'}.*{name}.loc\[y_true.index\]")
       for name, value in (("sample_weight", pd.Series(1., INDEX)), ("clusters", pd.Series(INDEX, INDEX)),
                           ("groups", pd.Series("g", INDEX)))},
    "other rows": (meets(BY_INDEX.set_axis(INDEX + 1), pd.Series(Y, INDEX)), "has other rows than y_true"),
    "two models": (meets({"a": BY_INDEX, "b": BY_INDEX[::-1]}), "another order"),
    "numbers": (meets(pd.Series(P).sample(frac=1, random_state=0), pd.Series(Y)), "another order"),
    "ids": (meets({"a": BY_ID[::-1]}, ids=IDS), ORDER % "ids" + r".*give models\['a'\].loc\[ids\]"),
    "other ids": (meets(BY_ID.rename(lambda name: f"d{name}"), ids=IDS), "has other rows than ids"),
    "ids of rows": (meets(y=BY_INDEX > .5, ids=pd.Series(IDS, INDEX)[::-1]), "ids: " + ORDER % "y_true"),
    "a missing id": (meets(ids=[*IDS[:-1], None]), "ids: 1 of 120 values are missing, .* position 119"),
    "costs": (meets(costs=ExampleCosts(fp=1, fn=AMOUNT), ids=IDS), "costs: " + ORDER % "ids"),
    "a column of costs": (meets(costs={"fp": 1, "fn": AMOUNT}, ids=IDS), r"costs\['fn'\]: " + ORDER % "ids"),
    "folds": (lambda: evaluate(Y, P, PLAIN, ids=IDS, folds=AMOUNT > 1.5), "folds: " + ORDER % "y_true"),
})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_column_of_ids_in_a_frame_of_models_is_the_key(library):
    "Frames without an index (polars) have a column of that name; it is no model."
    frame, ids = pytest.importorskip(library).DataFrame, np.arange(N) + 500
    key = frame({"nr": ids})["nr"]
    assert list(read_samples(Y, frame({"nr": ids, "p": P}), PLAIN, ids=key).models) == ["p"]
    with pytest.raises(ValueError, match=r"models\['nr'\]: .* of ids in another order.*sort both by 'nr'"):
        read_samples(Y, frame({"nr": ids[::-1], "p": P}), PLAIN, ids=key)


def test_ids_that_stand_twice_are_said_with_the_remedy():
    ids = np.arange(N) // 2
    note = read_samples(Y, P, PLAIN, ids=ids).notes[-1]
    assert note.startswith("60 of the 120 rows have an id that stood before") and "clusters=" in note
    assert not read_samples(Y, P, PLAIN, ids=ids, clusters=ids).notes


# ---- refused

REFUSED = {
    "NaN in a model": (meets({"a": np.r_[np.nan, P[1:]]}), r"\['a'\]: 1 of 120 .* first at position 0"),

    "names that are one": (meets({1: P, "1": S}), "models: two models are called '1'"),
    "an estimator": (meets({"rf": LogisticRegression()}), r"models\['rf'\]: Logis.*predict_proba\(X\)"),

    "no models": (meets({}), "models: at least one"),
    "counts": (meets(pd.crosstab(Y, P > .5)), "models: 2 rows, .* counts go to expected_cost and interval"),
    "percentages said": (meets(Posteriors(100 * P)), r"lie in \[0, 1\]; divide percentages by 100"),
    "negative probabilities": (meets(Posteriors(S)), r"a score is Scores\(\.\.\.\)"),
    "a paid miss": (meets(costs=dict(fp=1, fn=-10)), r"\(fn\) costs -10.*positive numbers"),


    "text": (meets({"a": np.where(Y, "sick", "well")}, WORDS, NAMED), r"\['a'\]: 'sick' is not in"),
    "exchanged": (meets(Y, P), "were y_true and a model swapped"),
    "labels in two spellings": (meets(P, np.where(np.arange(N) % 7, WORDS, "ill "), dict(fp=1, fn=2)),
                                "3 labels.*one spelling to labels that are one class"),
    "a mapping a row": (meets(P, pd.Series([{"is": w} for w in WORDS]), NAMED),
                        r"y_true: values such as .*; give pandas.DataFrame\(list\(values\)\)"),
    "answers of a language model": (
        meets(pd.DataFrame({"said": np.where(P > .5, "Ill.", "well")}), WORDS, NAMED),
        r"'said' \(no numbers\); name the models, .*\['well', 'ill'\]"),
    "amounts of a spreadsheet": (meets(costs=dict(fp=1, fn=["5", *["$1,234.50"] * (N - 1)])),
                                 r"fn: expected numbers, got '\$1,234.50' at position 1; give numbers"),
    "a date that is missing": (meets(groups=np.where(np.arange(N) == 7, np.datetime64("NaT"), DAY)),
                               "groups: 1 of 120 values are missing, the first at position 7"),
    "no label": (lambda: read_table(pd.DataFrame({"p": P, "flag": Y})), "none of the .* label='flag'"),
    "two labels": (lambda: read_table(pd.DataFrame({"label": Y, "p": P, "target": Y})),
                   r"label: the columns \['label', 'target'\] are called like a label; .*='label'"),
    "no model": (lambda: read_table(pd.DataFrame({"label": Y, "id": Y})), r"left out: 'id' \(its name\)"),
    "an unknown column": (lambda: read_table(pd.DataFrame({"label": Y, "p": P}), models={"one": "pp"}),
                          r"models\['one'\]: 'pp' is unknown; there are label"),
    "text in one row": (lambda: read_table(pd.DataFrame({"label": Y, "m": [.5, "n/k", *P[2:]]})),
                        r"\['m'\]: holds text, 'n/k'"),
    "a table on its side": (meets([.1, .9], ["ham", "spam"], pd.DataFrame(
        [[0, 2], [3, 0], [1, 1]], ["ham", "spam", "ask"], ["ham", "spam"]), positive="spam"),
        "rows must be true classes"),
    "one number beyond 1": (meets(np.r_[P[1:], 1.2]), r"1.2 at position 119 is no probability.*Scores\(val"),
    "one of three as positive": (meets(y=["a", "b", "c"] * 40, costs=THREE, positive="a"), "of 3 classes none is"),
}


test_refused_in_words = refuses(REFUSED)


# ---- the result

def test_samples():
    read = read_samples(WORDS, {"a": P, "b": S, "c": WORDS}, NAMED, sample_weight=np.arange(N) + 1.,
                        clusters=INDEX, groups=DAY)
    assert len(read) == N and read.to_frame().shape == (N, 3) and read.groups.tolist() == DAY.tolist()
    for priors, wanted in ((.05, [.95, .05]), ({"ill": .05, "well": .95}, [.95, .05]), (None, read.shares)):
        np.testing.assert_allclose(read.target_priors(*() if priors is None else (priors,)), wanted)
    part = read.take(Y == 1)
    assert len(part) == Y.sum() and (part.y == 1).all() and part.clusters.tolist() == INDEX[Y == 1].tolist()
    own = read_samples(Y, P, dict(fp=1, fn=np.arange(N)))
    assert own.own.shape == (N, 2, 2) and own.take([3, 4]).own.array[1, 1, 0] == 4
    assert "Every label is 'ill'" in read_samples(["ill"] * 5, [.1] * 5, NAMED).notes[0]


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
    assert read_table(frame[["p", "flag"]], label="flag").models == {"p": "p"}


def test_columns_of_models_that_are_named():
    frame = pd.DataFrame({"label": WORDS, "patientID": np.arange(N) % 9, "p": P, "q_well": 1 - P,
                          "said": np.where(P > .4, "ill", "well")})
    named = read_table(frame, models={"one": "patientID", "two": {"well": "q_well"}})
    assert named.label == "label" and named.left_out == {}
    np.testing.assert_allclose(read_samples(WORDS, named.values(), NAMED).models["two"].values[:, 1], P)
    found = read_table(frame.drop(columns="q_well"))
    assert read_samples(frame["label"], found.values(), NAMED).models["said"].kind == "decisions"


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
    said, other = (evaluate(y, m, costs, draws=1, rng=0)
                   for m in (frame, Posteriors(frame[list("abc")].to_numpy())))
    assert said.best["cost"].tolist() == other.best["cost"].tolist()
    read = "model 'model' (probabilities: 'a' for a, 'b' for b, 'c' for c); left out 'species' ("
    assert read in said.summary()
    seen = y != "c"  # of class c there is no sample
    assert read_table(frame[seen], label="species", costs=costs).models == found.models
    with pytest.raises(ValueError, match=r"\['a', 'b'\]: named as the classes, but row \d+ does not sum"):
        read_table(frame[seen], label="species")


MARGIN = np.random.default_rng(4).normal(size=N)
BEYOND = r"\['%s'\]: numbers beyond \[0, 1\] beside probabilities, \['p"
WHOSE = r"Posteriors\(frame\[.*?\]\.to_numpy\(\), classes=\["
TWO_READINGS = {  # columns that may be one model or several -> what is said of them
    "other names": ({"P (Churn=0)": 1 - P, "P (Churn=1)": P}, "rows add up to 1.*" + WHOSE),
    "a model and its reverse": ({"lr": P, "inv": 1 - P}, "rows add up to 1.*" + WHOSE),
    "margins called as the classes": ({"l0": -MARGIN, "l1": MARGIN}, "named as the classes.*not sum to 1"),
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
    if name in ("other names", "a model and its reverse"):
        whose = re.search(r"Posteriors\(frame.*?\.to_numpy\(\), classes=\[", str(refused.value))[0]
        classes = "0, 1])" if name == "other names" else "1, 0])"
        np.testing.assert_allclose(one(eval(whose + classes, given)).values[:, 1], P)


APART = {  # columns that are a model each
    "sums of 1 in a few rows": ({"a": P, "b": np.where(np.arange(N) < 9, 1 - P, OTHER)}, ["a", "b"]),
    "a rival that decides": ({"p0": 1 - P, "p1": P, "rule": P > .3}, ["p", "rule"]),
    "two constant decisions": ({"nobody": 0 * Y, "all": 0 * Y + 1}, ["nobody", "all"]),
    "two constant probabilities": ({"low": 0 * P + .3, "high": 0 * P + .7}, ["low", "high"]),
    "nearly each other's reverse": ({"a": MARGIN, "b": -MARGIN + np.r_[1., np.zeros(N - 1)]}, ["a", "b"]),
    "infinite scores": ({"a": np.r_[np.inf, S[1:]], "b": np.r_[-np.inf, S[1:]]}, ["a", "b"]),
    "huge scores": ({"a": np.linspace(-1, 2, N) * 1e200}, ["a"]),  # of which every one is a whole number
}


@pytest.mark.parametrize("name", APART)
def test_a_column_each(name):
    columns, wanted = APART[name]
    frame = pd.DataFrame(columns)
    for found in (read_samples(Y, frame, PLAIN), read_table(frame.assign(label=Y))):
        assert list(found.models) == wanted


@pytest.mark.parametrize("mark", ["%", " %"])
def test_text_that_holds_numbers_is_refused_with_what_to_write(mark):
    frame = pd.DataFrame({"label": Y, "p": [f"{100 * p!r}{mark}" for p in P.tolist()], "m": OTHER})
    with pytest.raises(ValueError, match=r"models: \['p'\]: holds text, '") as refused:
        read_table(frame)
    remedy = re.search(r"give (frame\['p'\].*? / 100)", str(refused.value))[1]
    np.testing.assert_allclose(eval(remedy, {"frame": frame}), P)


def test_costs_of_a_frame_as_files_hold_them():
    absent = pd.DataFrame([[0, 3, 1], [2, 0, 1], [90, 9, 1]], ["ham", "spam", "virus"],
                          ["deliver", "delete", "ask"])
    read = read_samples(["ham", "spam"], {"m": Decisions(["ask", "delete"])}, absent)
    assert read.costs.classes == ("ham", "spam", "virus")
    text = pd.DataFrame([[0, 1], [9, 0]], [0, 1], ["0", "1"])  # a header is text, an index of numbers is not
    turned = read_samples([0, 1], [.1, .9], text, positive=0).costs
    assert turned.classes == turned.decisions == (1, 0) and turned.array.tolist() == [[0, 9], [1, 0]]


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


@pytest.mark.parametrize("labels", [["good", "bad"], ["home", "ward", "icu"], [2, 0, 1]], ids=str)
@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist, Posteriors, lambda p: {"model": p}],
                         ids=["array", "list", "Posteriors", "named"])
def test_columns_without_names_are_refused_with_both_readings(labels, form):
    "scikit-learn's columns are sorted; the areas tell which reading is right, and the remedy names it."
    y, p = _columns(labels)
    costs = CostMatrix(1 - np.eye(len(labels)), classes=labels)
    for call in (read_samples, ce.evaluate, ce.fit_rule):
        with pytest.raises(ValueError, match="columns without names.*say which") as refused:
            call(y, form(p), costs)
    said = str(refused.value)
    wrong, right = [float(v) for v in re.findall(r"\] (0\.\d\d)", said)][:2]
    assert right > .85 > .7 > wrong
    assert f"classes={labels}" in said and f"classes={sorted(labels)}" in said
    read = read_samples(y, Posteriors(np.asarray(p), classes=sorted(labels)), costs)
    assert (read.models["model"].values == p[:, [sorted(labels).index(v) for v in labels]]).all()


def test_columns_that_can_be_read_in_one_way_are_read():
    y, p = _columns(["a", "b"])
    sorted_ = CostMatrix([[0, 1], [5, 0]], classes=["a", "b"])
    assert (read_samples(y, p, sorted_).models["model"].values == p).all()
    turned = CostMatrix([[0, 1], [5, 0]], classes=["b", "a"])
    named = read_samples(y, pd.DataFrame(p, columns=["a", "b"]), turned)
    assert (named.models["model"].values == p[:, ::-1]).all()
    assert read_samples(y, np.full((400, 2), .5), turned).models  # both readings are one
    assert read_samples(y, p[:, 0], turned).models["model"].values[0, 1] == p[0, 0]


@pytest.mark.parametrize("costs, of", [
    (dict(tp=60, fp=50, fn=0), 1), (dict(tn=30, fp=10, fn=50), 0), ([[10, 0], [0, 5]], 0),
    (ExampleCosts(fp=1, fn=0, tp=np.arange(1., 7)), 1), (np.diag([3, 2, 4]), 0)])
def test_a_gain_typed_as_a_cost_is_refused(costs, of):
    "It makes one decision right for every class; where that is meant, decisions have names of their own."
    K = len(costs) if isinstance(costs, np.ndarray) else 2
    with pytest.raises(ValueError, match=f"right decision for {of} costs more than.*negative numbers"):
        read_samples(np.arange(6) % K, np.full((6, K), 1 / K), costs)
    for honest in (dict(tp=-60, fp=50, fn=0), dict(tp=5, fp=50, fn=60),
                   CostMatrix([[0, 50], [0, 60]], decisions=["wait", "act"])):
        assert len(read_samples(np.arange(6) % 2, np.full((6, 2), .5), honest)) == 6


@pytest.mark.parametrize("name, negative", [
    *((name, 0) for name in ("p0", "prob_0", "xgb_p0", "class_0")), ("no", "no"), ("prob_no", "no"),
    ("probability negative", "negative")])
def test_a_lone_column_of_the_negative_class_is_not_the_positive_ones(name, negative):
    p = pd.Series(1 - P, name=name)
    classes = {0: (0, 1), "no": ("no", "yes"), "negative": ("negative", "positive")}[negative]
    y, costs = np.array(classes)[Y], CostMatrix.binary(fp=1, fn=5, classes=classes)
    for models in (p, p.to_frame(), {name: p}, {"m": p}, Posteriors(p)):
        with pytest.raises(ValueError, match="by its name the probability of .*Posteriors") as refused:
            read_samples(y, models, costs)
    remedy = re.search(r"(classes=\[.*?\])\) or", str(refused.value))[1]
    model = eval(f"Posteriors(p, {remedy})", {"Posteriors": Posteriors, "p": p})
    np.testing.assert_allclose(read_samples(y, {name: model}, costs).models[name].values[:, 0], p)
    assert one({f"{name}_x": P}, Y).kind == "posteriors"
