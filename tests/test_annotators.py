"""Several annotators: the long form, whose cost is that of a loop over items; items are the units."""
import numpy as np
import pandas as pd
import pytest


from cost_eval.bootstrap import loss_interval
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, long_form

N = 120
RNG = np.random.default_rng(0)
TRUE = RNG.random(N) < .3
LABELS = pd.DataFrame({name: np.where(RNG.random(N) < wrong, ~TRUE, TRUE).astype(object)
                       for name, wrong in (("ann", .1), ("ben", .2), ("cleo", .3))})
LABELS.loc[RNG.random(N) < .4, "cleo"] = None
D, P = (RNG.random(N) < np.where(TRUE, .8, .1)).astype(int), np.round(.5 * TRUE + .5 * RNG.random(N), 6)
W, FN = RNG.integers(1, 4, N), RNG.uniform(2, 9, N).round(3)
COLUMNS = ["cost", "low", "high"]


def judged(labels, models, fn=5, sample_weight=None, **given):
    "The report on the long form of labels, of models as arrays."
    long = long_form(labels, sample_weight=sample_weight)
    rows = long["row"].to_numpy()
    models = {name: type(model)(model.values[rows]) if isinstance(model, Decisions) else model[rows]
              for name, model in models.items()}
    costs = {"fp": 1, "fn": fn if np.ndim(fn) == 0 else fn[rows]}
    return evaluate(long["label"], models, costs, clusters=rows, sample_weight=long["sample_weight"], rng=0,
                    **given)


def by_item(decided, fn):
    "Mean cost of each item over its labels, by a loop."
    return np.array([np.mean([0 if y == d else miss if y else 1 for y in labels if y is not None])
                     for labels, d, miss in zip(LABELS.to_numpy(), decided, fn)])


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_costs_and_intervals_are_those_of_a_loop_over_items(own, weighted):
    "As the engine has them of one mean loss an item."
    fn, weight = FN if own else np.full(N, 5.), W if weighted else None
    report = judged(LABELS, {"rule": Decisions(D)}, FN if own else 5, weight)
    found, losses = report.best.iloc[0], by_item(D, fn)
    assert found["cost"] == pytest.approx(np.average(losses, weights=weight))
    assert f"{N} clusters are the units" in " ".join(report.notes)
    if not own:
        wanted = loss_interval(losses, sample_weight=weight, bounds=(0, 5))
        assert [found["low"], found["high"]] == pytest.approx([wanted.low, wanted.high], rel=1e-6)


def test_the_long_form_keeps_names_and_says_who_said_what():
    "Its index is that of the items, so that whatever has theirs meets it; the frame of a polars user, too."
    index = pd.Index([f"p{k:03d}" for k in range(N)], name="patient")
    long = long_form(LABELS.set_axis(index), sample_weight=pd.Series(W, index))
    assert (index[long["row"]] == long.index).all() and len(long) == LABELS.notna().sum().sum()
    said = zip(long["row"], long["label"], long["annotator"])
    assert all(LABELS.loc[row, who] == label for row, label, who in said)
    np.testing.assert_allclose(long.groupby("row")["sample_weight"].sum(), W)
    joined = long.join(pd.Series(P, index, name="m"))
    here = evaluate(joined["label"], joined[["m"]], {"fp": 1, "fn": 5}, clusters=long.index,
                    groups=joined["annotator"], sample_weight=joined["sample_weight"], rng=0)
    wanted = judged(LABELS, {"m": P}, sample_weight=W).best[COLUMNS].to_numpy()
    assert here.best[COLUMNS].to_numpy() == pytest.approx(wanted)
    assert set(here.groups["group"]) == {"ann", "ben", "cleo"}
    words = LABELS.replace({True: "spam", False: "ham"}).astype(object).where(LABELS.notna(), None)
    polars = pytest.importorskip("polars").DataFrame({c: words[c].tolist() for c in words})
    assert long_form(polars).equals(long_form(words))


def test_items_that_nobody_labelled_are_not_dropped():
    part = LABELS.copy()
    part.iloc[7] = None
    with pytest.raises(ValueError, match="labels: .* the first at position 7; .*verification bias"):
        long_form(part)
