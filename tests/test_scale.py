"""On Dask: equal to the in-memory package over random partitionings, orders and dtypes; sketches within their bounds; failures whole."""
import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

import dask  # noqa: E402

import cost_eval.api as ce  # noqa: E402
from cost_eval import scale  # noqa: E402

COSTS = ce.CostMatrix.binary(fp=1, fn=7, classes=["no", "yes"])
HERE = {"scheduler": "synchronous"}


def cut(rng, n):
    "Random chunks of n rows, empty ones among them."
    ends = np.sort(rng.integers(0, n + 1, rng.integers(0, 5)))
    return tuple(int(k) for k in np.diff(np.concatenate([[0], ends, [n]])))


def chunked(values, chunks, unknown=False):
    "A Dask array with these chunks, their sizes known or not."
    ends = np.cumsum(chunks)
    parts = [dask.delayed(values[end - size:end]) for size, end in zip(chunks, ends)]
    sizes = [np.nan if unknown else size for size in chunks]
    return da.concatenate([da.from_delayed(p, shape=(s, *values.shape[1:]), dtype=values.dtype) for p, s in zip(parts, sizes)])


@given(st.integers(0, 10**6), st.sampled_from(["int8", "uint8", "bool", "str", "object", "float64"]), st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_counts_over_random_partitions(seed, dtype, weighted, unknown):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    chunks = cut(rng, n)
    y, d, e = (rng.integers(0, 2, n).astype(dtype) for _ in range(3))
    w = rng.integers(0, 4, n).astype(float)
    lazy = [chunked(v, chunks, unknown) for v in (y, d, e, w)]
    weights, memory = ({"sample_weight": lazy[3]}, {"sample_weight": w}) if weighted else ({}, {})
    labels = {"classes": [False, True]} if dtype == "bool" else {}
    assert scale.confusion_counts(lazy[0], lazy[1], **labels, **weights, **HERE) == ce.confusion_counts(y, d, **labels, **memory)
    assert scale.joint_counts(*lazy[:3], **labels, **weights, **HERE) == ce.joint_counts(y, d, e, **labels, **memory)
    order = rng.permutation(n)
    again = scale.confusion_counts(chunked(y[order], chunks), chunked(d[order], chunks), **labels, **HERE)
    assert again == ce.confusion_counts(y, d, **labels)


def test_categories_abstention_and_groups():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.choice(["a", "b", "c"], 300), "g": rng.choice([1, 2], 300)})
    frame["d"] = np.where(rng.random(300) < .2, "ask", frame["y"])
    costs = ce.CostMatrix(1 - np.eye(3), classes=["a", "b", "c"]).with_abstain(.3, "ask")
    lazy = dd.from_pandas(frame.astype({"y": "category", "d": "category"}), npartitions=7)
    assert scale.confusion_counts("y", "d", classes=costs, data=lazy, **HERE) == ce.confusion_counts(frame["y"], frame["d"], classes=costs)
    found = scale.confusion_counts("y", "d", classes=costs, groups="g", data=lazy, **HERE)
    for g in (1, 2):
        part = frame[frame["g"] == g]
        assert found[g] == ce.confusion_counts(part["y"], part["d"], classes=costs)
    assert scale.losses("y", "d", costs, data=lazy).compute().tolist() == ce.losses(frame["y"], frame["d"], costs).tolist()


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["float32", "float64"]))
@settings(max_examples=40, deadline=None)
def test_thresholds_over_random_partitions(seed, weighted, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 80))
    chunks = cut(rng, n)
    y = rng.random(n) < .4
    s = np.where(rng.random(n) < .3, rng.choice([0., .5, -np.inf, np.inf], n), rng.normal(size=n)).astype(dtype)
    w = rng.integers(0, 4, n).astype(float) if weighted else None
    weights = {} if w is None else {"sample_weight": chunked(w, chunks)}
    lazy = chunked(y, chunks), chunked(s, chunks)
    exact = scale.threshold_counts(*lazy, **weights, **HERE)
    direct = ce.threshold_counts(y, s, sample_weight=w)
    assert exact.thresholds.tolist() == direct.thresholds.tolist() and np.allclose(exact.counts.tp, direct.counts.tp)
    sketch = scale.threshold_counts(*lazy, bins=5, **weights, **HERE)
    for t, tp, fp in zip(sketch.thresholds[1:-1], sketch.counts.tp[1:-1], sketch.counts.fp[1:-1]):
        mass = np.ones(n) if w is None else w
        assert tp == pytest.approx(mass[y & (s >= t)].sum()) and fp == pytest.approx(mass[~y & (s >= t)].sum())
    if not (np.isfinite(s).all() and (w is None or (w[y].sum() > 0 and w[~y].sum() > 0)) and 0 < y.sum() < n):
        return
    costs = np.array([[0, 1], [rng.uniform(.2, 9), 0]])
    best, mine = ce.best_threshold(y, s, costs, sample_weight=w), scale.best_threshold(*lazy, costs, bins=6, **weights, **HERE)
    assert mine.cost == pytest.approx(best.cost, rel=1e-12)
    bound = scale.sketch_error(sketch, costs)
    assert bound.cost - bound.error - 1e-12 <= best.cost <= bound.cost + 1e-12
    if w is None:
        assert (mine.low, mine.high) == (best.low, best.high)


def test_bounds_shrink_with_bins():
    rng = np.random.default_rng(0)
    y = rng.random(20_000) < .2
    s = rng.normal(size=20_000) + 1.5 * y
    lazy = da.from_array(y, chunks=3000), da.from_array(s, chunks=3000)
    best = ce.best_threshold(y, s, COSTS.array).cost
    errors = [scale.sketch_error(scale.threshold_counts(*lazy, bins=b, **HERE), COSTS) for b in (10, 100, 1000)]
    assert errors[0].error > errors[1].error > errors[2].error > 0
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


def test_the_report_is_the_in_memory_one(scored):
    folder, frame = scored
    models = ("one", "two", "rule")
    found = scale.evaluate("y", {m: m for m in models}, COSTS, priors=[.97, .03], groups="group", data=str(folder), rng=0, **HERE)
    here = ce.evaluate(frame["y"].to_numpy(), {m: frame[m].to_numpy() for m in models}, COSTS, priors=[.97, .03], groups=frame["group"].to_numpy(), rng=0)
    assert found == here


def test_the_report_beyond_memory_counts_every_row(scored, monkeypatch):
    folder, frame = scored
    monkeypatch.setattr(scale, "_IN_MEMORY", 1000)
    monkeypatch.setattr(scale, "_SAMPLED", 8000)
    models = ("one", "two", "rule")
    found = scale.evaluate("y", {m: m for m in models}, COSTS, groups="group", data=str(folder), rng=0, **HERE)
    here = ce.evaluate(frame["y"].to_numpy(), {m: frame[m].to_numpy() for m in models}, COSTS, groups=frame["group"].to_numpy(), rng=0)
    a, b = (r.ladder.set_index(["model", "rule"]) for r in (found, here))
    for key in [("one", "Bayes"), ("two", "Bayes"), ("rule", "as given"), ("always no", "constant")]:
        assert a.loc[key, ["cost", "low", "high"]].tolist() == pytest.approx(b.loc[key, ["cost", "low", "high"]].tolist(), rel=1e-9)
    for key in [("one", "tuned threshold"), ("two", "Bayes, calibrated")]:
        assert a.loc[key, "cost"] == pytest.approx(b.loc[key, "cost"], rel=.05)
    pd.testing.assert_frame_equal(found.differences, here.differences, rtol=1e-9)
    pd.testing.assert_frame_equal(found.groups, here.groups, rtol=1e-9)
    assert found.n == 30_000


def test_failures_are_whole(scored, tmp_path):
    folder, frame = scored
    dd.from_pandas(frame, npartitions=4).to_parquet(tmp_path / "p")
    victim = sorted((tmp_path / "p").glob("*.parquet"))[2]
    content = victim.read_bytes()
    victim.write_bytes(content[: len(content) // 2])
    with pytest.raises(Exception, match="(?i)parquet|part|magic|corrupt"):
        scale.confusion_counts("y", "rule", data=str(tmp_path / "p"), **HERE)
    victim.write_bytes(content)
    assert scale.confusion_counts("y", "rule", data=str(tmp_path / "p"), **HERE) == ce.confusion_counts(frame["y"], frame["rule"])
    victim.unlink()
    lazy = dd.from_pandas(frame, npartitions=3)
    cases = [
        (lambda: scale.confusion_counts("y", "rul", data=lazy, **HERE), "did you mean .*'rule'"),
        (lambda: scale.confusion_counts("y", "rul", data=str(folder), **HERE), "did you mean .*'rule'"),
        (lambda: scale.confusion_counts("y", "rule", data=str(tmp_path / "nowhere"), **HERE), "cannot be read as parquet"),
        (lambda: scale.confusion_counts(frame["y"], frame["rule"], **HERE), "Dask arrays or series"),
        (lambda: scale.confusion_counts(lazy["y"], lazy["rule"].repartition(npartitions=2), **HERE), "differ in number"),
        (lambda: scale.confusion_counts(da.ones(4, chunks=2), da.ones(5, chunks=3), **HERE), "5 rows, but y_true has 4"),
        (lambda: scale.confusion_counts("y", "rule", classes=["no"], data=lazy, **HERE), "label 'yes' is not in"),
        (lambda: scale.threshold_counts(da.from_array([0, 1], chunks=1), da.from_array([.1, np.nan], chunks=1), bins=3, **HERE), "NaN"),
        (lambda: scale.threshold_counts("y", "one", data=lazy, bins=[2, 1], **HERE), "ascending edges"),
        (lambda: scale.confusion_counts("y", "rule", data=dd.from_pandas(frame.assign(rule=None), npartitions=2), **HERE), "missing values")]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()


def test_nobody_at_the_address():
    start = time.time()
    with pytest.raises(ValueError, match="nobody answers at tcp://127.0.0.1:9"):
        scale.confusion_counts(da.ones(4, chunks=2), da.ones(4, chunks=2), scheduler="tcp://127.0.0.1:9")
    assert time.time() - start < 30


def slow_block(values):
    time.sleep(.3)
    return values


@pytest.mark.xdist_group("dask")
def test_a_killed_worker_loses_nothing(scored):
    distributed = pytest.importorskip("distributed")
    folder, frame = scored
    y, d = (frame[c].to_numpy() for c in ("y", "rule"))
    lazy = [da.from_array(v, chunks=1000).map_blocks(slow_block, dtype=v.dtype) for v in (y, d)]
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, distributed.Client(cluster) as client:
        pids = list(client.run(os.getpid).values())
        import threading
        threading.Timer(2.5, lambda: os.kill(pids[0], signal.SIGKILL)).start()
        found = scale.confusion_counts(*lazy, scheduler=client)
        after = list(client.run(os.getpid).values())
        assert scale.confusion_counts(*[da.from_array(v, chunks=9000) for v in (y, d)]) == found, "the active client is used"
    assert found == ce.confusion_counts(y, d)
    assert pids[0] not in after, "the worker was killed in mid-run"


def test_other_engines_hand_over_their_group_by(scored):
    folder, frame = scored
    want = ce.confusion_counts(frame["y"], frame["rule"])
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    rows = polars.read_parquet(f"{folder}/*.parquet").group_by("y", "rule").len().pivot(on="rule", index="y", values="len").to_pandas().set_index("y")
    assert ce.ConfusionCounts(rows.loc[["no", "yes"], ["no", "yes"]].fillna(0).astype(int)) == want
    rows = duckdb.sql(f"select y, rule, one > .5 as bold, count(*) as n from '{folder}/*.parquet' group by all").df()
    report = ce.evaluate_counted(rows["y"], {"rule": rows["rule"], "bold": np.where(rows["bold"], "yes", "no")}, COSTS, rows["n"], rng=0)
    here = ce.evaluate(frame["y"].to_numpy(), {"rule": frame["rule"].to_numpy(), "bold": np.where(frame["one"] > .5, "yes", "no")}, COSTS, rng=0)
    assert report.best["cost"].tolist() == pytest.approx(here.best["cost"].tolist())
    assert Path(folder).exists()
