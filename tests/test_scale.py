"""On Dask: equal to the in-memory package over random partitionings, orders and dtypes; sketches within their
bounds; failures whole."""
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from cost_eval import reproduce
import inspect
import joblib
import os
import signal
import threading
from pathlib import Path

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

import dask  # noqa: E402

import cost_eval.api as ce  # noqa: E402
from cost_eval import scale  # noqa: E402
import test_options as options  # noqa: E402

COSTS = ce.CostMatrix.binary(fp=1, fn=7, classes=["no", "yes"])
HERE = {"scheduler": "synchronous"}
pytestmark = pytest.mark.usefixtures("few_draws")


def cut(rng, n):
    "Random chunks of n rows, empty ones among them."
    ends = np.sort(rng.integers(0, n + 1, rng.integers(0, 5)))
    return tuple(int(k) for k in np.diff(np.concatenate([[0], ends, [n]])))


def chunked(values, chunks, unknown=False):
    "A Dask array with these chunks, their sizes known or not."
    ends = np.cumsum(chunks)
    parts = [dask.delayed(values[end - size:end]) for size, end in zip(chunks, ends)]
    sizes = [np.nan if unknown else size for size in chunks]
    return da.concatenate([da.from_delayed(p, shape=(s, *values.shape[1:]), dtype=values.dtype)
                           for p, s in zip(parts, sizes)])


@given(st.integers(0, 10**6), st.sampled_from(["int8", "uint8", "bool", "str", "object", "float64"]),
       st.booleans(), st.booleans())
@settings(max_examples=20, deadline=None)
def test_counts_over_random_partitions(seed, dtype, weighted, unknown):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    chunks = cut(rng, n)
    y, d, e = (rng.integers(0, 2, n).astype(dtype) for _ in range(3))
    w = rng.integers(0, 4, n).astype(float)
    lazy = [chunked(v, chunks, unknown) for v in (y, d, e, w)]
    weights, memory = ({"sample_weight": lazy[3]}, {"sample_weight": w}) if weighted else ({}, {})
    labels = {"classes": [False, True]} if dtype == "bool" else {}
    assert scale.confusion_counts(lazy[0], lazy[1], **labels, **weights, **HERE) == ce.confusion_counts(y, d,
            **labels, **memory)
    assert scale.joint_counts(*lazy[:3], **labels, **weights, **HERE) == ce.joint_counts(y, d, e, **labels,
            **memory)
    order = rng.permutation(n)
    again = scale.confusion_counts(chunked(y[order], chunks), chunked(d[order], chunks), **labels, **HERE)
    assert again == ce.confusion_counts(y, d, **labels)


def test_categories_abstention_and_groups():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.choice(["a", "b", "c"], 300), "g": rng.choice([1, 2], 300)})
    frame["d"] = np.where(rng.random(300) < .2, "ask", frame["y"])
    costs = ce.CostMatrix(1 - np.eye(3), classes=["a", "b", "c"]).with_abstain(.3, "ask")
    lazy = dd.from_pandas(frame.astype({"y": "category", "d": "category"}), npartitions=7)
    assert scale.confusion_counts("y", "d", classes=costs, data=lazy,
                                  **HERE) == ce.confusion_counts(frame["y"], frame["d"], classes=costs)
    found, given = scale.confusion_counts("y", "d", classes=costs, groups="g", data=lazy, **HERE), {
        "priors": [.5, .3, .2], "confidence": .8, "method": "normal"}
    ends = scale.interval("y", "d", costs, groups="g", data=lazy, **given, **HERE)
    for g in (1, 2):
        part = frame[frame["g"] == g]
        assert found[g] == ce.confusion_counts(part["y"], part["d"], classes=costs) and ends[
            g] == ce.interval(found[g], costs, **given)
    whole, pair = ce.confusion_counts(frame["y"], frame["d"], classes=costs), ce.joint_counts(frame["y"],
            frame["d"], frame["y"], classes=costs)
    assert scale.interval("y", "d", costs, data=lazy, **given, **HERE) == ce.interval(whole, costs, **given)
    assert scale.difference("y", "d", "y", costs, data=lazy, **given, **HERE) == ce.difference(pair, costs,
            **given)
    assert scale.losses("y", "d", costs, data=lazy).compute().tolist() == ce.losses(frame["y"], frame["d"],
            costs).tolist()


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["float32", "float64"]))
@settings(max_examples=25, deadline=None)
def test_thresholds_over_random_partitions(seed, weighted, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 80))
    chunks = cut(rng, n)
    y = rng.random(n) < .4
    s = np.where(rng.random(n) < .3, rng.choice([0., .5, -np.inf, np.inf], n),
                 rng.normal(size=n)).astype(dtype)
    w = rng.integers(0, 4, n).astype(float) if weighted else None
    weights = {} if w is None else {"sample_weight": chunked(w, chunks)}
    lazy = chunked(y, chunks), chunked(s, chunks)
    exact = scale.threshold_counts(*lazy, **weights, **HERE)
    direct = ce.threshold_counts(y, s, sample_weight=w)
    assert exact.thresholds.tolist() == direct.thresholds.tolist() and np.allclose(exact.counts.tp,
            direct.counts.tp)
    sketch = scale.threshold_counts(*lazy, bins=5, **weights, **HERE)
    for t, tp, fp in zip(sketch.thresholds[1:-1], sketch.counts.tp[1:-1], sketch.counts.fp[1:-1]):
        mass = np.ones(n) if w is None else w
        assert tp == pytest.approx(mass[y & (s >= t)].sum()) and fp == pytest.approx(mass[~y
                & (s >= t)].sum())
    if not (np.isfinite(s).all() and (w is None or (w[y].sum() > 0 and w[~y].sum() > 0)) and 0 < y.sum() < n):
        return
    costs = np.array([[0, 1], [rng.uniform(.2, 9), 0]])
    best, mine = ce.best_threshold(y, s, costs, sample_weight=w), scale.best_threshold(*lazy, costs, bins=6,
            **weights, **HERE)
    assert mine.cost == pytest.approx(best.cost, rel=1e-12)
    bound = scale.sketch_error(sketch, costs)
    assert bound.cost - bound.error - 1e-12 <= best.cost <= bound.cost + 1e-12
    if w is None:
        assert (mine.low, mine.high) == (best.low, best.high)


@given(st.integers(0, 10**6), st.sampled_from([[1, 0], [0, 1], ["b", "a"], [3, 7]]), st.booleans(),
       st.booleans())
@settings(max_examples=30, deadline=None)
def test_the_best_threshold_is_the_in_memory_one(seed, classes, shifted, reverse):
    "Any two labels, whichever is positive; whole points; costs of any sign that a threshold can serve."
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    chunks = cut(rng, n)
    y = np.where(np.arange(n) % 3 == 0, classes[1], classes[0])
    y = y.astype(object) if isinstance(classes[0], str) else y
    points = rng.integers(-5, 12, n) * (1 if reverse else -1)
    costs = ce.CostMatrix.binary(fp=1, fn=float(rng.integers(1, 9)), tp=float(rng.integers(-2, 1)),
                                 classes=classes)
    given = {"priors": {classes[0]: .7, classes[1]: .3}} if shifted else {}
    here = ce.best_threshold(y, points, costs, **given)
    found = scale.best_threshold(chunked(y, chunks), chunked(points, chunks), costs,
                                 bins=int(rng.integers(1, 9)), **given, **HERE)
    assert (found.threshold, found.low, found.high, found.counts) == (here.threshold, here.low, here.high,
            here.counts)
    assert found.cost == pytest.approx(here.cost, rel=1e-12, abs=1e-15)


def test_bounds_shrink_with_bins():
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < .2
    s = rng.normal(size=20_000) + 1.5 * y
    lazy = da.from_array(y, chunks=3000), da.from_array(s, chunks=3000)
    best = ce.best_threshold(y, s, COSTS.array).cost
    errors = [scale.sketch_error(scale.threshold_counts(*lazy, bins=b, **HERE), COSTS)
              for b in (10, 100, 1000)]
    assert errors[0].error > errors[1].error > errors[2].error > 0
    np.testing.assert_allclose(scale.threshold_counts(*lazy, bins=10, **HERE).thresholds[-2:0:-1],
                               np.histogram_bin_edges(s, 10))
    assert all(e.cost - best <= e.error + 1e-12 for e in errors)


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    "30,000 rows of parquet in six parts, and the frame."
    rng = np.random.default_rng(0)
    n = 30_000
    y = rng.random(n) < .1
    frame = pd.DataFrame({"y": np.where(y, "yes", "no"), "group": rng.choice(["a", "b"], n)})
    for name, skill in (("one", 1.), ("two", 1.6)):
        frame[name] = 1 / (1 + np.exp(2.2 - skill * (rng.normal(size=n) + 1.5 * y)))
    frame["rule"] = np.where(frame["one"] > .3, "yes", "no")
    folder = tmp_path_factory.mktemp("scores")
    dd.from_pandas(frame, npartitions=6).to_parquet(folder)
    return folder, frame


def test_a_question_is_asked_in_the_same_words():
    frame = pd.DataFrame({"y": ["well", "ill", "well"] * 20, "m": np.linspace(.1, .9, 60)})
    said = []
    for ask in (lambda: ce.evaluate(frame["y"], {"m": frame["m"]}, {"fp": 1, "fn": 20}, rng=0),
                lambda: scale.evaluate("y", {"m": "m"}, {"fp": 1, "fn": 20},
                                       data=dd.from_pandas(frame, npartitions=3), rng=0, **HERE)):
        with pytest.raises(ValueError, match="positive") as asked:
            ask()
        said.append(str(asked.value))
    assert said[0] == said[1]


NOT_FITTED = ("as given", "bayes", "constant", "knows the class")


def same_ladders(found, here, rows=NOT_FITTED, rel=1e-12, columns=("cost", "low", "high")):
    "Rows of two ladders that need nothing fitted are equal, and both have the same rows."
    a, b = (r.ladder.set_index(["model", "rule"]) for r in (found, here))
    assert list(a.index) == list(b.index) and a["main"].tolist() == b["main"].tolist()
    kept = a.index.get_level_values("rule").isin(rows)
    np.testing.assert_allclose(a.loc[kept, list(columns)], b.loc[kept, list(columns)], rtol=rel, atol=1e-12)
    return a, b


def test_the_report_beyond_memory_counts_every_row(scored, monkeypatch):
    folder, frame = scored
    monkeypatch.setattr(scale, "_SAMPLED", 12_000)
    models = ("one", "two", "rule")
    given = {"groups": "group", "data": str(folder), "rng": 0, "gather": 1000}
    found = scale.evaluate("y", {m: m for m in models}, COSTS, **given, **HERE)
    here = ce.evaluate(frame["y"].to_numpy(), {m: frame[m].to_numpy() for m in models}, COSTS,
                       groups=frame["group"].to_numpy(), rng=0)
    a, b = same_ladders(found, here)
    for key in [("one", "tuned"), ("two", "calibrated")]:
        assert a.loc[key, "cost"] == pytest.approx(b.loc[key, "cost"], rel=.05)
    assert found.n == 30_000 and found.rule == here.rule and found.taken == here.taken and found.provenance[
        "seed"] == here.provenance["seed"] == 0
    tuned, best = a.loc[("two", "tuned")], ce.best_threshold(frame["y"], frame["two"], COSTS)
    assert best.cost <= tuned["cost"] and tuned["threshold"] == pytest.approx(best.threshold, abs=.05)
    even = scale.evaluate("y", "two", COSTS, rule="tuned", priors=[.5, .5], **given,
                          **HERE).ladder.set_index("rule").loc["tuned", "threshold"]
    assert even == pytest.approx(ce.best_threshold(frame["y"], frame["two"], COSTS, priors=[.5,
            .5]).threshold, rel=.3) and even < tuned["threshold"] / 2
    assert any("random rows, those of one half, to judge all rows of the other" in note
               for note in found.notes)
    assert found.panels == ("ladder", "differences") and "map" in here.panels
    with pytest.raises(ValueError, match="would decide anew.*a random sample is enough"):
        found.robustness()
    again = scale.evaluate("y", {m: m for m in models}, COSTS, **given, scheduler="threads")
    assert again == found, "the halves do not depend on who computes them"


def test_what_needs_the_rows_is_refused_beyond_gather(scored):
    folder, frame = scored
    lazy = dd.from_pandas(frame.assign(fold=0), npartitions=2)
    for more in ({"capacity": 100}, {"capacity": .1}, {"folds": "fold"}):
        with pytest.raises(ValueError,
                           match=rf"{next(iter(more))}: taken for at most gather=10 rows, but there are "
                                 rf"30000.*gather=30000"):
            scale.evaluate("y", {"m": "one"}, COSTS, data=lazy, gather=10, **more, **HERE)


def test_the_report_of_many_classes_and_of_scores_beyond_memory():
    rng = np.random.default_rng(0)
    n = 3000
    y = rng.integers(0, 3, n)
    p = rng.dirichlet([1, 1, 1], n) * .6 + .4 * np.eye(3)[y]
    costs = ce.CostMatrix([[0, 1, 2, .5], [3, 0, 1, .5], [9, 4, 0, .5]], decisions=[0, 1, 2, "ask"])
    lazy = da.from_array(y, chunks=700), da.from_array(p, chunks=(700, 2))
    given = {"priors": [.5, .3, .2], "rng": 0}
    found, here = scale.evaluate(lazy[0], lazy[1], costs, gather=100, **given, **HERE), ce.evaluate(y, p,
            costs, **given)
    a, b = same_ladders(found, here)
    assert a.loc[("model", "calibrated"), "cost"] == pytest.approx(b.loc[("model", "calibrated"), "cost"],
            rel=.05)
    # whole numbers are scores, whatever a block holds of them
    points = np.rint(100 * np.log(p[:, 1] / p[:, 0])).astype(int)
    lazy = da.from_array(y == 1, chunks=700), da.from_array(points, chunks=700)
    found, here = (f(*args, [[0, 1], [4, 0]], rng=0, **o) for f, args, o in (
        (scale.evaluate, (lazy[0], {"s": lazy[1]}), HERE | {"gather": 100}),
        (ce.evaluate, (y == 1, {"s": points}), {})))
    assert found.best["cost"][0] == pytest.approx(here.best["cost"][0], rel=.05) and found.taken == here.taken
    same_ladders(found, here)


def test_clusters_are_never_in_two_halves(monkeypatch):
    "A score without signal in customers of one label each: tuned on their other rows it would seem to help."
    rng = np.random.default_rng(0)
    who = np.tile(np.arange(60), 50)
    y, score = (rng.random(60) < .5)[who], rng.random(60)[who]
    lazy = [da.from_array(v, chunks=600) for v in (y, score, who)]
    seen = []
    monkeypatch.setattr(scale, "_sampled", spy := lambda block, *args, old=scale._sampled: seen.append(block)
                        or old(block, *args))
    found = scale.evaluate(lazy[0], {"s": ce.Scores(lazy[1])}, [[0, 1], [1, 0]], rule="tuned",
                           clusters=lazy[2], gather=0, rng=0, **HERE)
    halves = {(int(c), int(h)) for block in seen for c, h in zip(block["clusters"], block["half"])}
    assert len(halves) == 60 and 15 < sum(h for _, h in halves) < 45 and spy
    assert found.best["cost"][0] > .35


@given(st.integers(0, 10**6), st.sampled_from(["calibrated", "tuned", "bayes", "as given"]), st.booleans(),
       st.booleans(), st.sampled_from([[1, 0], [0, 1], ["b", "a"]]))
@example(0, "calibrated", False, False, [1, 0])
@settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_the_report_over_random_partitions(seed, rule, shifted, points, classes):
    """Whatever the blocks, the classes' order, and what models hand over: the in-memory report; of more rows
    what needs no fitting."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(80, 160))
    chunks, unknown = cut(rng, n), bool(rng.integers(2))
    hidden = rng.random(n) < .4
    y = np.where(hidden, classes[1], classes[0]) if isinstance(classes[0], int) else np.where(hidden,
            classes[1], classes[0]).astype(object)
    p = (.2 + .6 * rng.random(n) * np.where(hidden, 1, .7)).astype(rng.choice(["float32", "float64"]))
    values = {"p": p, "d": np.where(p > .5, classes[1], classes[0]).astype(y.dtype)}
    if points and rule in ("calibrated", "tuned"):
        values["s"] = np.rint(40 * p).astype(int)
    else:
        values["say"] = ce.Posteriors(p, classes=[classes[0]])
    lazy = {k: chunked(v, chunks, unknown) if isinstance(v, np.ndarray)
            else ce.Posteriors(chunked(p, chunks, unknown), classes=[classes[0]]) for k, v in values.items()}
    costs = ce.CostMatrix.binary(fp=1, fn=float(rng.uniform(.5, 6)), classes=classes)
    given = {"rule": rule, "priors": .3 if shifted else None, "rng": 0, "confidence": .9}
    own = {"folds": (rng.random(n) * 3).astype(int),
           "capacity": .3} if shifted else {"groups": rng.choice(["u", "v"], n).astype(object)}
    more = {k: chunked(v, chunks, unknown) if isinstance(v, np.ndarray) else v for k, v in own.items()}
    assert scale.evaluate(chunked(y, chunks, unknown), lazy, costs, **given, **more, **HERE) == ce.evaluate(y,
            values, costs, **given, **own)
    beyond = scale.evaluate(chunked(y, chunks, unknown), lazy, costs, **given, gather=0, **HERE)
    here = ce.evaluate(y, values, costs, **given)
    # a class may be missing in half of so few rows
    if beyond.ladder["rule"].tolist() == here.ladder["rule"].tolist():
        same_ladders(beyond, here)
    assert beyond.taken == here.taken


TABLES = ("ladder", "differences", "best", "groups", "group_differences", "against_constant")


def same_tables(found, here):
    """Tables to 1e-12; the laws of two samples against each other are polynomials, and follow the order of
    sums to 1e-10."""
    for part in TABLES:
        # with weighted clusters the pieces follow the last digits: 1.5e-6 was seen
        rel = 1e-5 if part == "group_differences" else 1e-12
        tables = [getattr(report, part).drop(columns="probability_best", errors="ignore")
                  for report in (found, here)]
        pd.testing.assert_frame_equal(*tables, rtol=rel, atol=rel)
    # a thousand draws each, of units in another order
    drawn = [report.best.set_index("model")["probability_best"] for report in (found, here)]
    assert drawn[0].to_dict() == pytest.approx(drawn[1].to_dict(), abs=.09)


def weighed(rng, n, clusters):
    "Rows of two rules, a group, a cluster and a weight."
    y = rng.random(n) < .4
    columns = {"y": y, "a": y ^ (rng.random(n) < .2), "b": y ^ (rng.random(n) < .3)}
    frame = pd.DataFrame({name: np.where(v, "yes", "no") for name, v in columns.items()})
    return frame.assign(g=rng.choice(["u", "v"], n), who=rng.integers(0, clusters, n),
                        w=rng.exponential(1, n))


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_the_sums_of_a_cluster_are_all_that_its_rows_tell(seed, weighted, shifted):
    rng = np.random.default_rng(seed)
    frame = weighed(rng, 90, 9)
    named = ["y", "a", "b", "g", "who"]
    rows = frame.groupby(named).agg(w=("w", "sum"), repeats=("w", "size")).reset_index().sample(frac=1,
            random_state=seed)

    def given(table, **more):
        extra = {"sample_weight": table["w"]} if weighted else {}
        # of equal clusters rounding decides which is drawn first
        priors = [.8, .2] if shifted and weighted else None
        return {"groups": table["g"], "clusters": table["who"], "priors": priors, "rng": 0} | extra | more
    models = {k: frame[k] for k in "ab"}
    whole = ce.evaluate(frame["y"], models, COSTS, **given(frame))
    found = ce.evaluate_counted(rows["y"], {k: rows[k] for k in "ab"}, COSTS, rows["repeats"], **given(rows))
    same_tables(found, whole)
    assert (found.n, found.notes) == (90, whole.notes) and found.sample_priors == pytest.approx(
        whole.sample_priors, rel=1e-12)
    if not weighted:
        assert found.panels == whole.panels and found.robustness() == whole.robustness()
        return
    assert "map" not in found.panels
    with pytest.raises(ValueError, match="need the weight of each sample"):
        found.robustness()


@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.booleans(),
       st.sampled_from(["int", "text", "mixed"]))
@settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_weights_and_clusters_over_random_partitions(seed, weighted, few, unknown, kind):
    rng = np.random.default_rng(seed)
    frame = weighed(rng, 200, 25)
    chunks = cut(rng, 200)
    lazy = {name: chunked(frame[name].to_numpy(object if name in "yabg" else None), chunks, unknown)
            for name in frame}
    labels = frame["who"].to_numpy()
    if kind == "text":
        lazy["who"] = chunked(labels.astype(str), chunks, unknown)
    if kind == "mixed":  # the types of a customer's number differ between blocks
        types, at = ["int8", "float32", "int64", "object", "float64", "uint16"], np.cumsum([0, *chunks])
        lazy["who"] = da.concatenate([chunked(labels[i:j].astype(t), (j - i,), unknown)
                                      for i, j, t in zip(at, at[1:], types)])
    extra, memory = ({"sample_weight": lazy["w"]}, {"sample_weight": frame["w"]}) if weighted else ({}, {})
    memory["groups"] = extra["groups"] = None
    if few:
        memory["groups"], extra["groups"] = frame["g"], lazy["g"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scale, "_UNITS", 40 if few else 11)
        found = scale.evaluate(lazy["y"], {k: lazy[k] for k in "ab"}, COSTS, clusters=lazy["who"], gather=0,
                               rng=0, **extra, **HERE)
    here = ce.evaluate(frame["y"], {k: frame[k] for k in "ab"}, COSTS, clusters=labels, rng=0, **memory)
    said = [note for note in found.notes if "batches" in note]
    assert found.n == 200 and len(said) == (not few)
    if few:
        same_tables(found, here)
        return
    same_ladders(found, here, columns=["cost"])
    assert said[0].startswith(f"The {len(np.unique(labels))} clusters were put whole into")
    # more clusters than batches: a batch is a function of the label, wherever its rows are, and one more
    # cluster may be the worst
    w = frame["w"].to_numpy() if weighted else np.ones(200)
    heaviest = np.bincount(labels, w).max()
    batch = scale._hashed(labels.astype(str if kind == "text" else int)) % 11
    counted = ce.evaluate_counted(frame["y"], {k: frame[k] for k in "ab"}, COSTS, np.ones(200),
                                  clusters=batch, sample_weight=w, heaviest=heaviest, rng=0)
    same_ladders(found, counted, rel=1e-9)
    wide = ce.evaluate_counted(frame["y"], {k: frame[k] for k in "ab"}, COSTS, np.ones(200), clusters=batch,
                               sample_weight=w, rng=0)
    assert (counted.best["high"]
            < wide.best["high"]).all(), "one more batch in the worst place asks for more than one more cluster"


@pytest.mark.parametrize("taken, units, priors", [(["sample_weight"], 1000, None), (["sample_weight",
        "clusters"], 1000, [.8, .2]), (["clusters"], 300, None)])
def test_weights_and_clusters_beyond_memory(monkeypatch, taken, units, priors):
    "Intervals beside those in memory, and rules that are fitted with the weights."
    monkeypatch.setattr(scale, "_SAMPLED", 4000)
    monkeypatch.setattr(scale, "_UNITS", units)
    rng = np.random.default_rng(0)
    n = 3000
    who = rng.integers(0, 400, n)
    y = rng.random(n) < .15
    hard = rng.random(400)[who] < .2  # customers whom the model gets wrong
    p = 1 / (1 + np.exp(2.3 - 2 * (rng.normal(size=n) + 1.3 * (y ^ hard))))
    w = np.where(y, 4., .5) * rng.exponential(1, n)  # weights that the posteriors do not know
    values = {"y": y, "p": p, "rule": p > .4, "clusters": who, "sample_weight": w}
    lazy = {name: da.from_array(v, chunks=700) for name, v in values.items()}
    costs = ce.CostMatrix.binary(fp=1, fn=3, classes=[False, True])
    found, here = (f(x["y"], {k: x[k] for k in ("p", "rule")}, costs, rule="bayes", priors=priors, rng=0,
                     **{k: x[k] for k in taken}, **more)
                   for f, x, more in ((scale.evaluate, lazy, {"gather": 0} | HERE),
                                      (ce.evaluate, values, {})))
    a, b = same_ladders(found, here, columns=["cost"])
    batched = len(taken) == 1
    assert any(" batches, which" in note for note in found.notes) == batched
    kept = a.index.get_level_values("rule").isin(["bayes", "as given", "constant"])
    widths = [(r["high"] - r["low"])[kept].to_numpy() for r in (a, b)]
    # the spread of some 700 (217) batches
    np.testing.assert_allclose(*widths, rtol=3.5 / np.sqrt(2 * .7 * units) if batched else 1e-12, atol=1e-12)
    pair, other = found.differences.iloc[0], here.differences.iloc[0]
    assert pair["difference"] == pytest.approx(other["difference"], rel=1e-9, abs=1e-12)
    assert pair["high"] - pair["low"] == pytest.approx(other["high"] - other["low"], rel=.1 if batched
                                                       else 1e-12)
    assert a.loc[("p", "calibrated"), "cost"] == pytest.approx(b.loc[("p", "calibrated"), "cost"], rel=.05)
    if "sample_weight" in taken and not priors:
        assert a.loc[("p", "calibrated"), "cost"] < .9 * a.loc[("p", "bayes"), "cost"]


@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=15, deadline=None)
def test_calibration_over_random_partitions(seed, weighted, shifted, binary):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 200))
    chunks = cut(rng, n)
    y = rng.integers(0, 3 - binary, n)
    y[:3] = [0, 1, 1 if binary else 2]
    p = rng.dirichlet(np.ones(3 - binary), n) * .8 + .2 * (rng.random((n, 1)) < .5) * np.eye(3
            - binary)[y] + .01
    p /= p.sum(1, keepdims=True)
    given = {"priors": [.2, .8] if binary else [.2, .5, .3]} if shifted else {}
    w = rng.random(n) + .1
    here = ce.AffineCalibrator().fit(np.log(p), y, w if weighted else None, **given)
    weights = {"sample_weight": chunked(w, chunks)} if weighted else {}
    lazy = chunked(p[:, 1] if binary else p, chunks, unknown=True), chunked(y, chunks)
    found = scale.fit_calibrator(*lazy, **weights, **given, **HERE)
    assert found.alpha_ == pytest.approx(here.alpha_, abs=1e-8) and found.beta_ == pytest.approx(here.beta_,
            abs=1e-8)
    logs = scale.fit_calibrator(chunked(np.log(p), chunks), lazy[1], log=True, **weights, **given, **HERE)
    assert logs.alpha_ == pytest.approx(here.alpha_, abs=1e-8)


def test_calibration_by_label():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    frame = pd.DataFrame({"y": np.where(rng.random(200) < p, "yes", "no"), "no": 1 - p, "yes": p})
    lazy = dd.from_pandas(frame, npartitions=3)
    found = scale.fit_calibrator(["no", "yes"], "y", classes=COSTS, data=lazy, **HERE)
    here = ce.AffineCalibrator(classes=COSTS).fit(np.log(frame[["no", "yes"]].to_numpy()), frame["y"])
    assert found.classes_ == here.classes_ == ("no", "yes") and found.alpha_ == pytest.approx(here.alpha_)


@given(st.integers(0, 10**6), st.integers(1, 12))
@settings(max_examples=15, deadline=None)
def test_reliability_over_random_partitions(seed, bins):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 300))
    chunks = cut(rng, n)
    p = rng.random(n).round(3)
    y = rng.random(n) < p
    lazy = chunked(y, chunks), chunked(p, chunks)
    assert scale.reliability(*lazy, bins=bins, **HERE) == ce.reliability(y, p, bins=bins)
    rough = scale.reliability(*lazy, bins=bins, gather=0, **HERE)
    assert rough.size.sum() == n and rough.size @ rough.predicted == pytest.approx(
        p.sum()) and rough.size @ rough.observed == pytest.approx(y.sum())
    assert len(rough.size) <= bins and (np.diff(rough.predicted) > 0).all()
    ends = np.cumsum(rough.size)[:-1]
    ordered = np.sort(p)
    assert (ordered[ends - 1] < ordered[ends]).all(), "equal posteriors stay together"
    most = np.unique(p, return_counts=True)[1].max()
    assert rough.size.max() <= n / bins + 2 * most


def test_the_ends_of_the_whole_numbers_are_two_clusters():
    assert len(set(scale._hashed(np.array([-(2.0**63), 2.0**63, 2.0**62, 0])))) == 4


def test_a_bin_of_one_row_stays():
    lazy, p = da.from_array([0, 1, 0, 1], chunks=3), np.array([.1, .3, .6, .8])
    found = scale.reliability(lazy, da.from_array(p, chunks=3), bins=4, gather=0, **HERE)
    assert found.size.tolist() == [1, 1, 1, 1] and found.predicted == pytest.approx(
        p) and found.observed.tolist() == [0, 1, 0, 1]


def test_reliability_tells_posteriors_apart_that_differ_by_a_ten_thousandth():
    "At both ends, 0 and 1 among them."
    for p in ([0, 1.5e-4], [1 - 1.5e-4, 1]):
        lazy, p = da.from_array([0, 1] * 10, chunks=7), np.repeat(p, 10)
        found = scale.reliability(lazy, da.from_array(p, chunks=7), bins=2, gather=0, **HERE)
        assert found.predicted == pytest.approx(np.unique(p)) and found.size.tolist() == [10,
                10] and found.observed.tolist() == [.5, .5]


@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=8, deadline=None)
def test_losses_of_every_row_over_random_partitions(seed, weighted, unknown):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 120))
    chunks = cut(rng, n)
    y, a, b = (rng.integers(0, 2, n) for _ in range(3))
    amount, w, who = rng.exponential(10, n), rng.random(n) + .5, rng.integers(0, 12, n)
    own = ce.ExampleCosts(fp=2, fn=amount)
    lazy = {k: chunked(v, chunks, unknown) for k, v in {"y": y, "a": a, "b": b, "amount": amount, "w": w,
                                                        "who": who}.items()}
    la, lb = (scale.losses(lazy["y"], lazy[d], {"fp": 2, "fn": lazy["amount"]}) for d in "ab")
    xa, xb = ce.losses(y, a, own), ce.losses(y, b, own)
    assert la.compute().tolist() == xa.tolist()
    weights, memory = ({"sample_weight": lazy["w"]}, {"sample_weight": w}) if weighted else ({}, {})
    assert scale.loss_interval(la, **weights, rng=0, **HERE) == ce.loss_interval(xa, **memory, rng=0)
    assert scale.loss_difference(la, lb, clusters=lazy["who"], rng=0, **HERE) == ce.loss_difference(xa, xb,
            clusters=who, rng=0)
    one = {"gather": 0, "method": "normal", **HERE}
    for found, here in ((scale.loss_interval(la, clusters=lazy["who"], **weights, **one),
                         ce.loss_interval(xa, clusters=who, **memory, method="normal")),
                        (scale.loss_difference(la, lb, clusters=lazy["who"], **weights, **one),
                         ce.loss_difference(xa, xb, clusters=who, **memory, method="normal"))):
        assert (found.low, found.high, found.mean) == pytest.approx((here.low, here.high, here.mean),
                abs=1e-9)


def test_batches_stand_in_for_rows():
    rng = np.random.default_rng(0)
    x, w = np.sort(rng.exponential(1, 60_000)), rng.random(60_000)
    lazy, weight = da.from_array(x, chunks=9000), da.from_array(w, chunks=9000)
    for weights, memory in (({}, {}), ({"sample_weight": weight}, {"sample_weight": w})):
        found = scale.loss_interval(lazy, **weights, gather=1000, rng=0, **HERE)
        here = ce.loss_interval(x, **memory)
        # the range seen is that of the rows
        assert found.mean == pytest.approx(here.mean) and found.notes[0] == here.notes[0]
        assert found.high - found.low == pytest.approx(here.high - here.low, rel=3 / np.sqrt(2 * 5000))
        wide = (scale.loss_interval(lazy, **weights, bounds=(0, 50), gather=1000, rng=0, **HERE),
                ce.loss_interval(x, **memory, bounds=(0, 50)))
        assert wide[0].high == pytest.approx(wide[1].high,
                                             rel=1e-3), "one more row at 50, and not one more batch"


def test_failures_are_whole(scored, tmp_path):
    folder, frame = scored
    dd.from_pandas(frame, npartitions=4).to_parquet(tmp_path / "p")
    victim = sorted((tmp_path / "p").glob("*.parquet"))[2]
    content = victim.read_bytes()

    def count():
        return scale.confusion_counts("y", "rule", data=tmp_path / "p", **HERE)
    for broken in (content[: len(content) // 2], content[:50] + b"\0" * (len(content) - 8000)
                   + content[len(content) - 7950:], b""):
        victim.write_bytes(broken)
        with pytest.raises(ValueError, match=f"{victim.name} cannot be read"):
            count()
    victim.write_bytes(content)
    assert count() == ce.confusion_counts(frame["y"], frame["rule"]), "a second run starts clean"


class Reader:
    "A column that no block may be read of: errors come before the work."

    def __init__(self, frame):
        self.lazy = dd.from_pandas(frame, npartitions=3).map_partitions(self.refuse, meta=frame.iloc[:0])

    @staticmethod
    def refuse(part):
        raise AssertionError("work has started")


def test_bad_input_is_refused(scored, tmp_path):
    folder, frame = scored
    lazy, unread = dd.from_pandas(frame, npartitions=3), Reader(frame).lazy
    mixed = dd.concat([dd.from_pandas(pd.DataFrame({"y": [0, 1], "d": [1, 1]}), npartitions=1),
                       dd.from_pandas(pd.DataFrame({"y": ["0", "1"], "d": ["1", "1"]}), npartitions=1)])
    p3 = da.ones((6, 3), chunks=3) / 3
    two = {"one": [["one", "two", "one"]]}
    labels = da.from_array(np.array(["no", "yes"] * 3, object), chunks=3)
    two_blocks = labels, {"m": labels}
    cases = [
        (lambda: scale.confusion_counts("y", "rul", data=unread, **HERE), "did you mean .*'rule'"),
        (lambda: scale.confusion_counts("y", "rul", data=str(folder), **HERE), "did you mean .*'rule'"),
        (lambda: scale.confusion_counts("y", "rule", data=str(tmp_path / "nowhere"), **HERE),
         "no parquet files at .*nowhere"),
        (lambda: scale.confusion_counts("y", "rule", data=str(tmp_path), **HERE), "no parquet files at"),
        (lambda: scale.confusion_counts("y", frame["rule"], data=lazy, **HERE),
         "decisions: with data=, the name of a column"),
        (lambda: scale.confusion_counts(frame["y"], frame["rule"], **HERE), "Dask arrays or series"),
        (lambda: scale.confusion_counts(lazy["y"], frame["rule"], **HERE),
         "decisions: a Series beside Dask collections"),
        (lambda: scale.evaluate(lazy["y"], {"m": lazy[["y", "rule"]]}, [[0, 1], [1, 0]], **HERE),
         "model 0: a frame, with columns .*to_dask_array"),
        (lambda: scale.confusion_counts(lazy["y"], lazy["rule"].repartition(npartitions=2), **HERE),
         "differ in number"),
        (lambda: scale.confusion_counts(da.ones(4, chunks=2), da.ones(5, chunks=3), **HERE),
         "5 rows, but the first argument has 4"),
        (lambda: scale.confusion_counts(chunked(np.ones(4), (2, 2), True), chunked(np.ones(4), (1, 3), True),
                                        **HERE), r"block \d: .*cut alike"),
        (lambda: scale.confusion_counts(mixed["y"], mixed["d"], **HERE), "text and numbers"),
        (lambda: scale.confusion_counts("y", "rule", classes=["no"], data=lazy, **HERE),
         "label 'yes' is not in"),
        (lambda: scale.interval("y", "rule", [[0, 1], [1, 0]], data=lazy, **HERE), "label 'no' is not in"),
        (lambda: scale.confusion_counts("y", "rule", data=lazy.assign(rule=None), **HERE),
         r"rule: missing values in partition \d"),
        (lambda: scale.threshold_counts(da.from_array([0, 1], chunks=1),
                                        da.from_array([.1, np.nan], chunks=1), bins=3, **HERE), "NaN"),
        (lambda: scale.threshold_counts("y", "one", data=unread, bins=[2, 1], **HERE), "ascending edges"),
        (lambda: scale.threshold_counts("y", "one", data=lazy, bins=5, **HERE),
         "say which label is positive"),
        (lambda: scale.best_threshold("y", "one", [[1, 0], [0, 1]], data=unread, **HERE), "swap the columns"),
        (lambda: scale.evaluate("y", {"m": ["one", "two", "one"]}, COSTS, data=unread, **HERE),
         r"models\['m'\]: 3 columns, but the costs have 2 classes"),
        (lambda: scale.evaluate(da.ones(6, chunks=3), {"m": p3}, COSTS, **HERE),
         "3 columns, but the costs have 2 classes"),
        (lambda: scale.evaluate("y", {}, COSTS, data=unread, **HERE), "at least one is needed"),
        (lambda: scale.evaluate("y", two, COSTS, data=unread, **HERE),
         "with data=, the name of a column|1 columns"),
        (lambda: scale.evaluate("y", {"m": "one"}, COSTS, data=lazy.assign(two=-1.), sample_weight="two",
                                gather=10, **HERE), "sample_weight: -1 at position 0"),
        (lambda: scale.evaluate("y", {"m": "one"}, COSTS, data=lazy.assign(two=0.), sample_weight="two",
                                gather=10, **HERE), "sample_weight: 0 for every sample"),
        (lambda: scale.evaluate(*two_blocks, COSTS, clusters=da.from_array(np.array([1, "a"] * 3, object),
            chunks=3), gather=0, **HERE), "clusters: labels must be all text or all numbers, got mixed"),
        (lambda: scale.evaluate(*two_blocks, COSTS, clusters=da.from_array([1, 2, np.nan] * 2, chunks=3),
                                gather=0, **HERE), "clusters: NaN"),
        (lambda: ce.evaluate_counted([0, 1], {"a": [0, 1]}, COSTS.array, [5, 2], sample_weight=[1.5, 2]),
         "sample_weight: totals of rows .* give clusters="),
        (lambda: ce.evaluate_counted([0, 1], {"a": [0, 1]}, COSTS.array, [5, 0], clusters=[1, 2]),
         "repeats: whole numbers of at least 1"),
        (lambda: scale.evaluate("y", {"m": "one"}, {"fp": 1, "fn": "two", "classes": ["no", "yes"]},
                                data=lazy, gather=10, **HERE),
                                "costs, fn of single rows: taken for at most gather=10 rows.*loss_interval"),
        (lambda: scale.losses("y", "rule", {"fp": 1, "fm": "one"}, data=lazy), "did you mean"),
        (lambda: scale.fit_calibrator(da.from_array([0, .2, .9], chunks=2),
                                      da.from_array([0, 1, 1], chunks=2), **HERE), "posteriors of exactly 0"),
        (lambda: scale.fit_calibrator("one", "y", log=True, data=lazy, **HERE), "a column for each class"),
        (lambda: scale.loss_interval(da.from_array([1., np.inf], chunks=1), gather=0, **HERE),
         "NaN or infinite")]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_parquet_files_are_looked_at_before_any_work(tmp_path):
    frame = pd.DataFrame({"y": [0, 1, 1], "d": [1, 1, 0], "s": [.1, .5, .9]})

    def write(name, part):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        part.to_parquet(tmp_path / name, row_group_size=2)
    write("a/g=x/1.parquet", frame)
    write("a/g=y/2.parquet", frame.astype({"y": "int8", "s": "float32"}))
    (tmp_path / "a/_SUCCESS").write_text("")
    both = pd.concat([frame, frame])
    want = ce.confusion_counts(both["y"], both["d"])
    for path in (tmp_path / "a", f"{tmp_path}/a/*/*.parquet", f"file://{tmp_path}/a",
                 [f"{tmp_path}/a/g=x/1.parquet", f"{tmp_path}/a/g=y/2.parquet"]):
        assert scale.confusion_counts("y", "d", data=path, **HERE) == want
    by_folder = scale.confusion_counts("y", "d", groups="g", data=tmp_path / "a", **HERE)
    assert set(by_folder) == {"x", "y"} and by_folder["x"] == ce.confusion_counts(frame["y"], frame["d"])
    write("a/g=y/3.parquet", frame.astype({"y": str}))
    with pytest.raises(ValueError, match="y: numbers in .*1.parquet, but text in .*3.parquet"):
        scale.confusion_counts("y", "d", data=tmp_path / "a", **HERE)
    write("a/g=y/3.parquet", frame[["y", "s"]])
    with pytest.raises(ValueError, match="column.*'d'.* in .*3.parquet"):
        scale.confusion_counts("y", "d", data=tmp_path / "a", **HERE)


def test_other_file_systems():
    fsspec = pytest.importorskip("fsspec")
    frame = pd.DataFrame({"y": [0, 1, 1], "d": [1, 1, 0]})
    with fsspec.open("memory://scored/part.parquet", "wb") as file:
        frame.to_parquet(file)
    assert scale.confusion_counts("y", "d", data="memory://scored", **HERE) == ce.confusion_counts(frame["y"],
            frame["d"])


def test_unknown_divisions_and_types_that_differ_between_partitions(scored):
    folder, frame = scored
    lazy = dd.from_pandas(frame, npartitions=4).clear_divisions()
    assert not lazy.known_divisions
    assert scale.confusion_counts("y", "rule", data=lazy, **HERE) == ce.confusion_counts(frame["y"],
            frame["rule"])
    numbers = frame.assign(y=(frame["y"] == "yes").astype(int))
    parts = [numbers[:7000].astype({"y": "int8", "one": "float32"}), numbers[7000:].astype({"y": "bool"})]
    lazy = dd.concat([dd.from_pandas(part, npartitions=2) for part in parts])
    both = pd.concat([part.astype({"y": int, "one": float}) for part in parts])
    found, here = scale.threshold_counts("y", "one", data=lazy, **HERE), ce.threshold_counts(both["y"],
            both["one"])
    assert found == here


def test_a_scheduler_of_dasks_own_configuration_is_respected(monkeypatch):
    monkeypatch.setattr(scale, "_two_processes", lambda distributed: pytest.fail("two processes"))
    y, seen = np.arange(8) % 2, []
    with dask.config.set(scheduler="synchronous"):
        assert scale.confusion_counts(da.from_array(y, chunks=4),
                                      da.from_array(y, chunks=4)) == ce.confusion_counts(y, y)

    def own(dsk, keys, **options):
        seen.append(keys)
        return dask.get(dsk, keys, **options)
    with dask.config.set(scheduler=own):
        assert scale.confusion_counts(da.from_array(y, chunks=4),
                                      da.from_array(y, chunks=4)) == ce.confusion_counts(y, y)
    assert seen


def test_nobody_at_the_address():
    start = time.time()
    with pytest.raises(ValueError, match="nobody answers at tcp://127.0.0.1:9"):
        scale.confusion_counts(da.ones(4, chunks=2), da.ones(4, chunks=2), scheduler="tcp://127.0.0.1:9")
    assert time.time() - start < 30


@pytest.fixture(scope="module")
def client():
    "Two local processes."
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1,
                                  dashboard_address=":0") as local, distributed.Client(local) as client:
        yield client


WITH_WORKERS = [(module, name) for module, name, option in options.every_option() if option == "n_jobs"]


@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize("module, name", WITH_WORKERS)
def test_simulations_run_on_dask_unchanged(module, name, client):
    "All public functions with workers, as test_options.py calls them."
    function, case = dict(options.public_functions(module))[name], options.CASES[module][name]
    seed = {"rng": 0} if "rng" in inspect.signature(function).parameters else {}

    def result(jobs):
        return options.outcome(options.call(module, name, function, case, {"n_jobs": jobs} | seed))

    want = result(1)
    with joblib.parallel_config("dask"):
        assert result(2) == want


@pytest.mark.xdist_group("dask")
def test_reproductions_run_on_dask_unchanged(client):
    "Two items that need no data."
    items = ["bootstrap/table1", "expected_cost/section3.1"]
    want = reproduce.run(items, jobs=1)
    with joblib.parallel_config("dask"):
        found = reproduce.run(items, jobs=2)
    assert [(r.name, r.words) for r in found] == [(r.name, r.words) for r in want]
    for one, other in zip(found, want):
        pd.testing.assert_frame_equal(one.table, other.table, check_exact=True)


@pytest.mark.xdist_group("dask")
def test_two_local_processes_by_default(capsys, monkeypatch):
    monkeypatch.setattr(scale, "_active", lambda distributed: None)
    monkeypatch.setattr(scale, "_SMALL", 39)
    y = np.arange(40) % 2
    assert scale.confusion_counts(da.from_array(y, chunks=10),
                                  da.from_array(y, chunks=10)) == ce.confusion_counts(y, y)
    said = capsys.readouterr().out
    assert said.startswith("two local processes; dashboard: http://127.0.0.1:") and "100% Completed" in said


def slow_block(values):
    time.sleep(.1)
    return values


@pytest.mark.xdist_group("dask")
def test_the_client_in_use_is_used_and_a_killed_worker_loses_nothing(scored, client):
    folder, frame = scored
    y, d = (frame[c].to_numpy() for c in ("y", "rule"))
    assert scale.confusion_counts(*[da.from_array(v, chunks=9000) for v in (y, d)]) == ce.confusion_counts(y,
            d)
    lazy = [da.from_array(v, chunks=1000).map_blocks(slow_block, dtype=v.dtype) for v in (y, d)]
    pids = list(client.run(os.getpid).values())
    threading.Timer(.8, lambda: os.kill(pids[0], signal.SIGKILL)).start()
    found = scale.confusion_counts(*lazy, scheduler=client)
    assert found == ce.confusion_counts(y, d)
    assert pids[0] not in client.run(os.getpid).values(), "the worker was killed in mid-run"


def test_other_engines_hand_over_their_group_by(scored):
    folder, frame = scored
    want = ce.confusion_counts(frame["y"], frame["rule"])
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    # the lines of the chapter
    rows = polars.scan_parquet(f"{folder}/*.parquet").group_by("y", "rule").len().collect()
    table = rows.pivot(on="rule", index="y", values="len").to_pandas().set_index("y")
    assert ce.ConfusionCounts(table.fillna(0).astype(int).loc[["no", "yes"], ["no", "yes"]]) == want
    rows = duckdb.sql(f"pivot '{folder}/*.parquet' on rule using count(*) group by y").df()
    assert ce.ConfusionCounts(rows.set_index("y").loc[["no", "yes"], ["no", "yes"]]) == want
    rows = duckdb.sql(f"select y, rule, one > .5 as bold, count(*) as n from '{folder}/*.parquet' group by "
                      f"all").df()
    report = ce.evaluate_counted(rows["y"], {"rule": rows["rule"], "bold": np.where(rows["bold"], "yes",
            "no")}, COSTS, rows["n"], rng=0)
    here = ce.evaluate(frame["y"].to_numpy(), {"rule": frame["rule"].to_numpy(), "bold": np.where(frame["one"]
            > .5, "yes", "no")}, COSTS, rng=0)
    assert report.best["cost"].tolist() == pytest.approx(here.best["cost"].tolist())
    assert Path(folder).exists()


def test_a_script_without_a_guard_is_told_what_it_lacks(monkeypatch):
    """Each local process reads the script again; the call in it must not start two more, and the first call
    says why it failed."""
    import types
    distributed = pytest.importorskip("distributed")
    started = []
    monkeypatch.setattr(distributed, "LocalCluster", lambda **options: started.append(options))
    monkeypatch.setattr(distributed, "get_client", lambda: (_ for _ in ()).throw(ValueError("no client")))
    monkeypatch.setattr(scale, "_SMALL", 1)
    # as while a new process reads the script
    monkeypatch.setitem(sys.modules, "__mp_main__", types.ModuleType("__mp_main__"))
    with pytest.raises(RuntimeError, match="if __name__ == '__main__':`, or say scheduler='threads'"):
        scale.confusion_counts(da.from_array([0, 1]), da.from_array([0, 1]))
    assert not started
    monkeypatch.delitem(sys.modules, "__mp_main__")

    def fails(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", fails)
    with pytest.raises(RuntimeError, match="scheduler: two local processes could not be started"):
        scale.confusion_counts(da.from_array([0, 1]), da.from_array([0, 1]))


def test_missing_labels_are_refused_in_the_words_of_the_other_doors():
    frame = pd.DataFrame({"ill": [0, 1, None, 1] * 5, "m": [.1, .8, .3, .6] * 5})
    lazy = dask.dataframe.from_pandas(frame, npartitions=2)
    for call in (lambda: scale.evaluate("ill", {"m": "m"}, [[0, 1], [5, 0]], data=lazy, rng=0,
                                        **HERE), lambda: scale.confusion_counts("ill", "m", data=lazy,
            **HERE)):
        with pytest.raises(ValueError,
                           match="ill: missing values in partition.*verification "
                                 "bias.*bounds_without_labels"):
            call()


def test_little_work_is_done_in_threads_also_from_a_script_without_a_guard(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text("import dask.array as da, dask.dataframe as dd, numpy as np, pandas as pd\n"
                      "import cost_eval.scale as scale\n"
                      "y = np.arange(300) % 2\n"
                      "lazy = dd.from_pandas(pd.DataFrame({'y': y, 'd': y}), npartitions=3)\n"
                      "for found in (scale.confusion_counts(da.from_array(y), da.from_array(y)), "
                      "scale.confusion_counts('y', 'd', data=lazy)):\n"
                      "    print(found.array.tolist())\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines() == ["[[150, 0], [0, 150]]"] * 2, done.stderr


def test_rows_of_series_meet_by_index_or_are_refused():
    "Blocks are compared row by row; in memory the same is refused (B1)."
    rng = np.random.default_rng(0)
    y = pd.Series(rng.integers(0, 2, 300), rng.permutation(300), name="y")
    d, w = (y ^ (rng.random(300) < .1)).rename("d"), pd.Series(rng.random(300), y.index)

    def lazy(values, **how):
        return dask.dataframe.from_pandas(values, **{"npartitions": 3, "sort": False} | how)

    want = ce.confusion_counts(y, d)
    assert scale.confusion_counts(lazy(y), lazy(d), **HERE) == want
    other = d.sample(frac=1, random_state=1)
    assert scale.confusion_counts(lazy(y, sort=True), lazy(other, sort=True), **HERE) == want
    shuffled = lazy(other)
    with pytest.raises(ValueError,
                       match=r"decisions \(block \d\): its index .* has other rows than that of y_true "
                             r".*set_index.*repartition"):
        scale.confusion_counts(lazy(y), shuffled, **HERE)
    with pytest.raises(ValueError, match="in another order.*set_index"):
        scale.confusion_counts(lazy(y, npartitions=1), lazy(other, npartitions=1), **HERE)
    for call in (lambda: scale.threshold_counts(lazy(y), shuffled, **HERE), lambda: scale.confusion_counts(
        lazy(y), lazy(d), sample_weight=lazy(w[::-1]), **HERE),
                 lambda: scale.losses(lazy(y), lazy(d),
                                      {"fp": 1, "fn": lazy(w[::-1])}).compute(scheduler="synchronous"),
                 lambda: scale.evaluate(lazy(y), {"m": shuffled}, COSTS, **HERE), lambda: scale.evaluate(
                     lazy(y), {"m": lazy(d)}, COSTS, clusters=shuffled, **HERE)):
        with pytest.raises(ValueError,
                           match="its index .*(other rows than that|in another order).*repartition"):
            call()
    # whether or not a client of another test is still there
    with dask.config.set({"dataframe.shuffle.method": "tasks"}):
        told = [v.to_frame().reset_index().set_index("index").repartition(divisions=[0, 100, 200,
                299])[v.name] for v in (lazy(y), shuffled)]
    assert scale.confusion_counts(*told, **HERE) == want


def test_ids_are_read_as_in_memory(scored, monkeypatch):
    """`scale.evaluate` had no `ids=`: duplicates were not said, and rows in another order than their ids were
    taken without a word."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"y": rng.integers(0, 2, 300), "id": rng.permutation(300) + 5000})
    frame["p"] = np.clip(.5 * frame["y"] + .5 * rng.random(300), .01, .99)
    lazy, few = dd.from_pandas(frame, npartitions=3), {"rng": 0, **HERE}
    inside = ce.evaluate(frame["y"], {"m": frame["p"]}, COSTS.array, ids=frame["id"], rng=0)
    assert scale.evaluate("y", {"m": "p"}, COSTS.array, ids="id", data=lazy, **few) == inside
    assert scale.evaluate(lazy["y"], {"m": lazy["p"]}, COSTS.array, ids=lazy["id"], **few) == inside
    frame.loc[200:, "id"] = frame["id"][:100].to_numpy()
    twice, said = dd.from_pandas(frame, npartitions=3), "100 of the 300 rows have an id that stood before"
    for gather in (1000, 10):  # beyond memory the ids are counted over all blocks
        found = scale.evaluate("y", {"m": "p"}, COSTS.array, ids="id", data=twice, gather=gather, **few)
        assert sum(said in note for note in found.notes) == 1
        kept = scale.evaluate("y", {"m": "p"}, COSTS.array, ids="id", clusters="id", data=twice,
                              gather=gather, **few)
        assert not any(said in note for note in kept.notes)
    by_id = frame[:200].set_index("id")
    parts = [dd.from_pandas(v, npartitions=1, sort=False)
             for v in (by_id["y"], by_id["p"][::-1], frame["id"][:200])]
    with pytest.raises(ValueError, match="its index has the rows of .* in another order"):
        scale.evaluate(parts[0], {"m": parts[0]}, COSTS.array,
                       ids=dd.from_pandas(frame["id"][:200][::-1].reset_index(drop=True), npartitions=1),
                       **few)
    with pytest.raises(ValueError, match="its index has the rows of y_true .* in another order"):
        scale.evaluate(parts[0], {"m": parts[1]}, COSTS.array, ids=parts[2], **few)


def test_costs_of_single_rows_are_refused_in_words_where_they_cannot_be_taken():
    rng = np.random.default_rng(0)
    y, w = pd.Series(rng.integers(0, 2, 90), rng.permutation(90) + 1000), rng.random(90)
    lazy, amounts = dd.from_pandas(y, npartitions=3, sort=False), dd.from_pandas(pd.Series(w, y.index),
            npartitions=3, sort=False)
    own = ce.ExampleCosts(fp=1, fn=pd.Series(w, y.index))
    for costs in ({"fp": 1, "fn": amounts}, {"fp": 1, "fn": "amount"}):
        with pytest.raises(ValueError,
                           match="costs, fn of single rows: one matrix for all is needed "
                                 "here.*decisions.best_threshold"):
            scale.best_threshold(lazy, lazy, costs, **HERE)
    assert ce.best_threshold(y, y, own).cost == 0  # the remedy
    with pytest.raises(ValueError,
                       match="costs: of 90 rows in memory beside 3 blocks of rows; give a mapping"):
        scale.losses(lazy, lazy, own)
    assert (scale.losses(lazy, 1 - lazy, {"fp": 1, "fn": amounts}).compute(**HERE) == ce.losses(y, 1 - y,
            own)).all()


@pytest.mark.parametrize("gather", [10, 10**6])
@pytest.mark.parametrize("more", ["", "clusters", "groups"])
def test_rows_of_weight_0_are_not_there(gather, more):
    "Nor do they move the random halves, the batches, or the range of losses."
    draw, sizes = np.random.default_rng(0), (1000, 1200, 800)
    y, w, own = (draw.random(3000) < .3).astype(int), draw.integers(0, 4, 3000) * 1., draw.integers(0, 400,
            3000)
    s, kept = (draw.normal(size=3000) + 1.2 * y) * np.where(w == 0, 100, 1), w > 0
    left = tuple(int(part.sum()) for part in np.split(kept, np.cumsum(sizes)[:-1]))
    with_, without = (lambda v: da.from_array(v, chunks=(sizes,))), (lambda v: da.from_array(v[kept],
            chunks=(left,)))
    reports = [scale.evaluate(of(y), {"s": of(s)}, [[0, 1], [5, 0]], sample_weight=of(w), rng=0,
                              method="normal", gather=gather, **({more: of(own % 3 if more == "groups"
            else own)} if more else {}), **HERE) for of in (with_, without)]
    pd.testing.assert_frame_equal(reports[0].best, reports[1].best)
    assert reports[0].n == reports[1].n
    ends = [scale.loss_interval(of(s), sample_weight=of(w), rng=0, gather=gather, **HERE)
            for of in (with_, without)]
    assert (ends[0].low, ends[0].high) == (ends[1].low, ends[1].high)
