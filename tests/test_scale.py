"""On Dask: equal to the in-memory package over random partitionings, orders and dtypes; failures whole."""
import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import refuses

dd = pytest.importorskip("dask.dataframe")

import dask  # noqa: E402

import cost_eval.api as ce  # noqa: E402
from cost_eval.bootstrap import loss_difference  # noqa: E402
from cost_eval import scale  # noqa: E402
from cost_eval.decisions import best_threshold_counted  # noqa: E402

COSTS = ce.CostMatrix.binary(fp=1, fn=7, classes=["no", "yes"])
pytestmark = [pytest.mark.usefixtures("few_draws"),
              pytest.mark.filterwarnings("ignore:The inplace keyword")]  # what Dask asks of pandas


@pytest.fixture(autouse=True)
def one_thread(request):
    "Dask's own configuration decides where the work is done."
    if "client" in request.fixturenames:
        yield
        return
    with dask.config.set(scheduler="synchronous"):
        yield


def cut(rng, n):
    "Random chunks of n rows, empty ones among them."
    ends = np.sort(rng.integers(0, n + 1, rng.integers(0, 5)))
    return tuple(int(k) for k in np.diff(np.concatenate([[0], ends, [n]])))


def lazily(chunks, **columns):
    "A Dask frame of these columns, in blocks of these sizes."
    frame = pd.DataFrame(columns)
    parts = [dask.delayed(frame.iloc[end - size:end]) for size, end in zip(chunks, np.cumsum(chunks))]
    return dd.from_delayed(parts, meta=frame.iloc[:0])


# ---- counts

@given(st.integers(0, 10**6), st.sampled_from(["int8", "uint8", "bool", "str", "float64"]),
       st.booleans())
@settings(max_examples=10, deadline=None)
def test_counts_over_random_partitions(seed, dtype, weighted):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    chunks = cut(rng, n)
    y, d, e = (rng.integers(0, 2, n).astype(dtype) for _ in range(3))
    w = rng.integers(0, 4, n).astype(float)
    lazy = lazily(chunks, y=y, d=d, e=e, w=w)
    weights, memory = ({"sample_weight": "w"}, {"sample_weight": w}) if weighted else ({}, {})
    labels = {"classes": [False, True]} if dtype == "bool" else {}
    found = scale.confusion_counts("y", "d", data=lazy, **labels, **weights)
    assert found == ce.confusion_counts(y, d, **labels, **memory)
    assert found.array.dtype == (float if weighted else np.int64)
    joint = scale.joint_counts("y", "d", "e", data=lazy, **labels, **weights)
    assert joint == ce.joint_counts(y, d, e, **labels, **memory)


def test_categories_abstention_and_groups():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.choice(["a", "b", "c"], 300), "g": rng.choice([1, 2], 300)})
    frame["d"] = np.where(rng.random(300) < .2, "ask", frame["y"])
    costs = ce.CostMatrix(1 - np.eye(3), classes=["a", "b", "c"]).with_abstain(.3, "ask")
    lazy = dd.from_pandas(frame.astype({"y": "category", "d": "category"}), npartitions=7)
    whole = ce.confusion_counts(frame["y"], frame["d"], classes=costs)
    assert scale.confusion_counts("y", "d", classes=costs, data=lazy) == whole
    found = scale.confusion_counts("y", "d", classes=costs, groups="g", data=lazy)
    assert list(found) == [1, 2]
    for g, counts in found.items():
        part = frame[frame["g"] == g]
        assert counts == ce.confusion_counts(part["y"], part["d"], classes=costs)
    pair = scale.joint_counts("y", "d", "y", classes=costs, data=lazy)
    assert pair == ce.joint_counts(frame["y"], frame["d"], frame["y"], classes=costs)
    lost = scale.losses("y", "d", costs, data=lazy).compute()
    assert lost.tolist() == ce.losses(frame["y"], frame["d"], costs).tolist()


def test_more_rows_than_a_float_counts_one_by_one():
    "Sums of whole numbers stay whole beyond 2 ** 53."
    rows = pd.DataFrame({"y_true": [0, 1], "count": [2**53, 1]})
    assert scale._added([rows, rows.assign(count=1)])["count"].tolist() == [2**53 + 1, 2]


# ---- thresholds

@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["float32", "float64"]))
@settings(max_examples=12, deadline=None)
def test_thresholds_over_random_partitions(seed, weighted, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 80))
    chunks = cut(rng, n)
    y = rng.random(n) < .4
    odd = rng.choice([0., .5, -np.inf, np.inf], n)
    s = np.where(rng.random(n) < .3, odd, rng.normal(size=n)).astype(dtype)
    w = rng.integers(0, 4, n).astype(float) if weighted else None
    weights = {} if w is None else {"sample_weight": "w"}
    found = scale.threshold_counts("y", "s", data=lazily(chunks, y=y, s=s, w=w), **weights)
    here = ce.threshold_counts(y, s, sample_weight=w)
    assert found.thresholds.tolist() == here.thresholds.tolist()
    for cell in ("tp", "fp", "fn", "tn"):
        np.testing.assert_allclose(getattr(found.counts, cell), getattr(here.counts, cell), atol=1e-12)


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["float32", "float64"]))
@settings(max_examples=12, deadline=None)
def test_the_best_threshold_of_the_counts_is_the_in_memory_one(seed, shifted, dtype):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 60))
    chunks, y = cut(rng, n), np.arange(n) % 3 == 0
    s = rng.normal(size=n).round(1).astype(dtype)
    costs = ce.CostMatrix.binary(fp=1, fn=float(rng.integers(1, 9)), tp=float(rng.integers(-2, 1)))
    given = {"priors": [.7, .3]} if shifted else {}
    curve = scale.threshold_counts("y", "s", data=lazily(chunks, y=y, s=s))
    here = ce.best_threshold(y, s, costs, **given)
    found = best_threshold_counted(curve, costs, kind=dtype, **given)
    assert (found.threshold, found.low, found.high) == (here.threshold, here.low, here.high)
    assert found.counts == here.counts and found.cost == pytest.approx(here.cost, rel=1e-12, abs=1e-15)


# ---- losses

@given(st.integers(0, 10**6))
@settings(max_examples=4, deadline=None)
def test_losses_of_every_row_over_random_partitions(seed):
    "And the line of the chapter: distinct losses give the interval of all rows."
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 120))
    y, a, b = (rng.integers(0, 2, n) for _ in range(3))
    amount = rng.integers(0, 9, n).astype(float)
    lazy, own = lazily(cut(rng, n), y=y, a=a, b=b, amount=amount), ce.ExampleCosts(fp=2, fn=amount)
    first, second = (scale.losses("y", d, {"fp": 2, "fn": "amount"}, data=lazy) for d in "ab")
    here = [ce.losses(y, d, own) for d in (a, b)]
    assert first.compute().tolist() == here[0].tolist()
    gap = dd.from_dask_array(first - second).value_counts().compute()
    found, whole = ce.interval([gap], [gap.index]), loss_difference(*here)
    assert (found.low, found.high) == pytest.approx((whole.low, whole.high), rel=1e-9, abs=1e-12)


# ---- evaluate

@given(st.integers(0, 10**6), st.sampled_from(["calibrated", "tuned", "bayes", "as given"]), st.booleans(),
       st.sampled_from([[1, 0], [0, 1], ["b", "a"]]))
@settings(max_examples=4, deadline=None)
def test_the_report_over_random_partitions(seed, rule, more, classes):
    "Whatever the blocks, the classes' order, and what models hand over: the in-memory report."
    rng = np.random.default_rng(seed)
    n = int(rng.integers(80, 160))
    hidden = rng.random(n) < .4
    kind = object if isinstance(classes[0], str) else int
    y = np.where(hidden, classes[1], classes[0]).astype(kind)
    p = (.2 + .6 * rng.random(n) * np.where(hidden, 1, .7)).astype(rng.choice(["float32", "float64"]))
    values = {"p": p, "d": np.where(p > .5, classes[1], classes[0]).astype(kind)}
    own = {"folds": (rng.random(n) * 3).astype(int), "sample_weight": rng.random(n)}
    if more:
        own = {"clusters": np.arange(n) // 2, "groups": rng.choice(["u", "v"], n).astype(object)}
    lazy = lazily(cut(rng, n), y=y, q=1 - p, **values, **own)
    costs = ce.CostMatrix.binary(fp=1, fn=float(rng.uniform(.5, 6)), classes=classes)
    options = {"rule": rule, "priors": .3 if more else None, "rng": 0, "confidence": .9}
    columns, two = {name: name for name in own}, np.column_stack([1 - p, p])
    said = {"say": ce.Posteriors(p, classes=[classes[0]]), "two": ce.Posteriors(two, classes=classes)}
    asked = {"say": ce.Posteriors("p", classes=[classes[0]]), "two": ["q", "p"]}
    found = scale.evaluate("y", {"p": "p", "d": "d"} | asked, costs, data=lazy, **options, **columns)
    assert found == ce.evaluate(y, values | said, costs, **options, **own)


def test_more_rows_than_are_read_are_a_random_part_which_does_not_depend_on_the_blocks():
    rng = np.random.default_rng(0)
    y = rng.random(2000) < .3
    d, w = y ^ (rng.random(2000) < .2), rng.random(2000)
    kept = scale._row_numbers(2000, 500, 3)
    assert len(set(kept)) == 500 and (np.diff(kept) > 0).all()
    here = ce.evaluate(y[kept], {"d": d[kept]}, [[0, 1], [5, 0]], rng=3, sample_weight=w[kept])
    for chunks in ((2000,), (700, 0, 1300), cut(rng, 2000)):
        call = {"models": {"d": "d"}, "costs": [[0, 1], [5, 0]], "data": lazily(chunks, y=y, d=d, w=w)}
        found = scale.evaluate("y", **call, rows=500, rng=3, sample_weight="w")
        pd.testing.assert_frame_equal(found.ladder, here.ladder)
    said = "Of the 2,000 rows 500 were evaluated, drawn at random (rows=)."
    assert found.notes[0] == found.with_costs([[0, 1], [9, 0]]).notes[0] == said
    limited = scale.evaluate("y", **call | {"models": "w"}, rows=500, rng=3, capacity=200).best
    assert limited.equals(ce.evaluate(y[kept], {"w": w[kept]}, [[0, 1], [5, 0]], rng=3, capacity=50).best)
    other = scale.evaluate("y", **call, rows=500, rng=4)
    assert other.best["cost"][0] != found.best["cost"][0]
    whole = scale.evaluate("y", **call, rows=2000, rng=3)
    assert whole == ce.evaluate(y, {"d": d}, [[0, 1], [5, 0]], rng=3)


def test_every_row_is_drawn_as_often():
    drawn = np.concatenate([scale._row_numbers(7, 5, seed) for seed in range(3000)])
    np.testing.assert_allclose(np.bincount(drawn) / 3000, 5 / 7, atol=.03)


def test_columns_by_name_ids_and_costs_of_single_rows():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"y": rng.integers(0, 2, 300), "id": rng.permutation(300) + 5000})
    frame["p"] = np.clip(.5 * frame["y"] + .5 * rng.random(300), .01, .99)
    frame["lost"] = rng.integers(1, 30, 300)
    lazy, models = dd.from_pandas(frame, npartitions=3), {"m": frame["p"]}
    inside = ce.evaluate(frame["y"], models, COSTS.array, ids=frame["id"], rng=0)
    assert scale.evaluate("y", {"m": "p"}, COSTS.array, ids="id", data=lazy, rng=0) == inside
    own = scale.evaluate("y", {"m": "p"}, {"fp": 1, "fn": "lost"}, data=lazy, rng=0)
    costs = ce.ExampleCosts(fp=1, fn=frame["lost"])
    assert own.best.equals(ce.evaluate(frame["y"], models, costs, rng=0).best)


# ---- what is refused, and what breaks

@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    "10,000 rows of parquet in four parts, and the frame."
    rng = np.random.default_rng(0)
    y = rng.random(10_000) < .1
    frame = pd.DataFrame({"y": np.where(y, "yes", "no"), "one": rng.normal(size=10_000) + 1.5 * y})
    frame["rule"] = np.where(frame["one"] > 1, "yes", "no")
    folder = tmp_path_factory.mktemp("scores")
    dd.from_pandas(frame, npartitions=4).to_parquet(folder)
    return folder, frame


def test_a_broken_file_is_an_error_that_names_its_block(scored, tmp_path):
    folder, frame = scored
    dd.from_pandas(frame, npartitions=4).to_parquet(tmp_path / "p")
    victim = sorted((tmp_path / "p").glob("*.parquet"))[2]
    content = victim.read_bytes()
    zeros = content[:50] + b"\0" * (len(content) - 3000) + content[len(content) - 2950:]
    for broken in (content[: len(content) // 2], zeros, b""):
        victim.write_bytes(broken)
        with pytest.raises(ValueError, match="^block 2: "):
            scale.confusion_counts("y", "rule", data=tmp_path / "p")
    victim.write_bytes(content)
    want = ce.confusion_counts(frame["y"], frame["rule"])
    for path in (tmp_path / "p", f"{tmp_path}/p/*.parquet"):
        assert scale.confusion_counts("y", "rule", data=path) == want, "a second run starts clean"


FRAME = pd.DataFrame({"y": ["no", "yes"] * 30, "rule": ["yes", "no", "no"] * 20, "p": np.linspace(0, 1, 60)})
LAZY = dd.from_pandas(FRAME, npartitions=3)
NUMBERS = lazily([3, 3], y=np.arange(6) % 2, s=[0, 0, 0, 0, 0, np.nan])

test_bad_input = refuses({  # what only blocks have, and what stands in one is named with it
    "column": (lambda: scale.confusion_counts("y", "rul", data=LAZY), "did you mean .*'rule'"),
    "values beside data": (lambda: scale.confusion_counts("y", FRAME["rule"], data=LAZY),
                           "decisions: the name of a column of data= is needed"),
    "frame": (lambda: scale.evaluate("y", {"m": LAZY[["y", "rule"]]}, COSTS, data=LAZY),
              r"models\['m'\]: the name of a column"),
    "no rows": (lambda: scale.confusion_counts("y", "y", data=lazily([0], y=[])), "y_true: no rows"),
    "missing": (lambda: scale.confusion_counts("y", "rule", data=LAZY.assign(rule=None)),
                "block 0: decisions: missing values; give these rows"),
    "missing truth": (lambda: scale.evaluate("y", {"m": "p"}, COSTS, data=LAZY.assign(y=None)),
                      "block 0: y_true: missing values.*verification bias.*bounds_without_labels"),
    "NaN score": (lambda: scale.threshold_counts("y", "s", data=NUMBERS), "block 1: scores: missing"),

    "weight": (lambda: scale.confusion_counts("y", "rule", sample_weight="p", data=LAZY.assign(p=-1.)),
               "block 0: sample_weight: -1 at position 0"),

    "a limit": (lambda: scale.evaluate("y", {"m": "p"}, COSTS, data=LAZY, rows=9, capacity=5), "rows=60"),
    "rows=": (lambda: scale.evaluate("y", {"m": "rule"}, COSTS, data=LAZY, rows=0), "rows"),
    "costs in memory": (lambda: scale.losses("y", "y", ce.ExampleCosts(fp=1, fn=np.ones(6)), data=NUMBERS),
                        "costs: of 6 rows"),
})


def test_unknown_divisions_and_types_that_differ_between_partitions(scored):
    folder, frame = scored
    numbers = frame.assign(y=(frame["y"] == "yes").astype(int))
    parts = [numbers[:7000].astype({"y": "int8", "one": "float32"}), numbers[7000:].astype({"y": "bool"})]
    lazy = dd.concat([dd.from_pandas(part, npartitions=2) for part in parts]).clear_divisions()
    both = pd.concat([part.astype({"y": int, "one": float}) for part in parts])
    assert scale.threshold_counts("y", "one", data=lazy) == ce.threshold_counts(both["y"], both["one"])


# ---- where the work is done

@pytest.fixture(scope="module")
def client():
    "Two local processes."
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1,
                                  dashboard_address=":0") as local, distributed.Client(local) as client:
        yield client


def slow_block(values):
    time.sleep(.1)
    return values


@pytest.mark.xdist_group("dask")
def test_the_client_in_use_is_used_and_a_killed_worker_loses_nothing(scored, client):
    folder, frame = scored
    y, d = (frame[c].to_numpy() for c in ("y", "rule"))
    lazy = dd.from_pandas(frame[["y", "rule"]], chunksize=300).map_partitions(slow_block)
    pids = list(client.run(os.getpid).values())
    threading.Timer(.8, lambda: os.kill(pids[0], signal.SIGKILL)).start()
    assert scale.confusion_counts("y", "rule", data=lazy) == ce.confusion_counts(y, d)
    assert pids[0] not in client.run(os.getpid).values(), "the worker was killed in mid-run"


@pytest.mark.slow
def test_other_engines_hand_over_their_group_by(scored):
    "The lines of the chapter."
    folder, frame = scored
    want = ce.confusion_counts(frame["y"], frame["rule"])
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    rows = polars.scan_parquet(f"{folder}/*.parquet").group_by("y", "rule").len().collect()
    table = rows.sort("y").pivot(on="rule", index="y", values="len", sort_columns=True)
    assert ce.ConfusionCounts(table.to_pandas().set_index("y").fillna(0).astype(int)) == want
    rows = duckdb.sql(f"pivot '{folder}/*.parquet' on rule using count(*) group by y order by y").df()
    assert ce.ConfusionCounts(rows.set_index("y")) == want
