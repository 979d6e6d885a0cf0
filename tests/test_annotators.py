"""Several annotators: the cost against a loop over items, samples as units, and what is refused."""
import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from conftest import refuses
from cost_eval.__main__ import main
from cost_eval.bootstrap import loss_interval
from cost_eval.costs import ExampleCosts, losses
from cost_eval.policies import decide
from cost_eval.report import evaluate
from cost_eval.samples import Annotators, Decisions

N = 120
RNG = np.random.default_rng(0)
TRUE = RNG.random(N) < .3
LABELS = pd.DataFrame({name: np.where(RNG.random(N) < wrong, ~TRUE, TRUE).astype(object)
                       for name, wrong in (("ann", .1), ("ben", .2), ("cleo", .3))})
LABELS.loc[RNG.random(N) < .4, "cleo"] = None
D, P, W = (RNG.random(N) < np.where(TRUE, .8, .1)).astype(int), np.round(.5 * TRUE + .5 * RNG.random(N),
        6), RNG.integers(1, 4, N)
FN = RNG.uniform(2, 9, N).round(3)


def by_item(decided, fn):
    "Costs of items by a loop: at random, under the majority (ties shared), least, largest."
    found = []
    for labels, d, miss in zip(LABELS.to_numpy(), decided, fn):
        paid = {y: 0. if y == d else miss if y else 1. for y in (False, True)}
        given = [bool(y) for y in labels if y is not None]
        votes = Counter(given)
        first = [y for y in votes if votes[y] == max(votes.values())]
        costs = [paid[y] for y in given]
        found.append((np.mean(costs), np.mean([paid[y] for y in first]), min(costs), max(costs)))
    return np.array(found)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_costs_are_those_of_a_loop_over_items(own, weighted):
    fn = FN if own else np.full(N, 5.)
    weight = W if weighted else None
    report = evaluate(Annotators(LABELS), {"rule": Decisions(D), "model": P}, {"fp": 1, "fn": FN if own
            else 5}, sample_weight=weight, draws=1, rng=0)
    entries = {e.model: e.decisions for e in report._entries if e.main}
    assert all(np.ptp(entries["model"][report._annotated.rows == i]) == 0
               for i in range(N)), "an item is decided once"
    first = np.unique(report._annotated.rows, return_index=True)[1]
    for name, decided in entries.items():
        wanted = np.average(by_item(decided[first], fn), axis=0, weights=weight)
        got = report.annotators.query("model == @name")
        assert got["truth"].tolist() == ["random annotator", "majority", "least",
                                         "largest"] and got["cost"].to_numpy() == pytest.approx(wanted)
        assert got["cost"].iloc[0] == pytest.approx(report.best.set_index("model").loc[name, "cost"])
    assert report.n == N and "120 samples have " in report.summary() and f"would cost {report.annotators.query('model == @report.best.model[0]')['cost'].iloc[1]:.4g}" in report.summary()


def test_the_interval_counts_items_and_not_labels():
    "That of the items' mean losses; a second copy of every annotator makes nothing surer."
    report = evaluate(Annotators(LABELS), {"rule": Decisions(D)}, {"fp": 1, "fn": 5}, rng=0)
    for column, row in ((0, 0), (1, 1)):
        wanted = loss_interval(by_item(D, np.full(N, 5.))[:, column], bounds=(0, 5))
        assert report.annotators.loc[row, ["low", "high"]].tolist() == pytest.approx([wanted.low,
                wanted.high], rel=1e-6)
    twice = evaluate(Annotators(pd.concat([LABELS, LABELS.add_suffix("2")], axis=1)), {"rule": Decisions(D)},
                     {"fp": 1, "fn": 5}, rng=0)
    pd.testing.assert_frame_equal(twice.annotators, report.annotators)
    turned = evaluate(Annotators(LABELS[["cleo", "ann", "ben"]]), {"rule": Decisions(D)}, {"fp": 1, "fn": 5},
                      rng=0)
    pd.testing.assert_frame_equal(turned.annotators, report.annotators)


@pytest.mark.parametrize("model", [P, Decisions(D)], ids=["posteriors", "decisions"])
def test_annotators_who_agree_are_one(model):
    one = evaluate(LABELS["ann"].astype(bool), {"m": model}, {"fp": 1, "fn": 5}, clusters=np.arange(N), rng=0)
    three = pd.DataFrame({name: LABELS["ann"] for name in "abc"})  # which makes other folds
    for same in (LABELS[["ann"]].to_numpy(), LABELS[["ann"]].to_dict("list"),
                 *[three] * isinstance(model, Decisions)):
        many = evaluate(Annotators(same), {"m": model}, {"fp": 1, "fn": 5}, rng=0)
        assert many.best[["cost", "low", "high"]].to_numpy() == pytest.approx(one.best[["cost", "low",
                "high"]].to_numpy())
        assert many.annotators["cost"].to_numpy() == pytest.approx(
            one.best["cost"][0]) and one.annotators.empty


def test_all_that_has_a_row_an_item_comes_along():
    "Clusters, groups, ids, folds, scenarios, other costs and priors; rows meet by index or are refused."
    patients, index = np.arange(N) // 2, pd.Index([f"p{k}" for k in range(N)])
    frame, models = LABELS.set_axis(index), {"rule": Decisions(pd.Series(D, index)),
                                             "model": pd.Series(P, index)}
    report = evaluate(Annotators(frame), models, {"fp": 1, "fn": 5}, clusters=patients,
                      groups=np.where(patients % 2, "a", "b"), ids=index, rng=0, folds=patients % 5,
                      scenarios={"own": ExampleCosts(fp=1, fn=FN), "dear": {"fp": 1, "fn": 9}})
    assert any("60 clusters are the units" in note for note in report.notes) and report.groups[
        "n"].sum() == 2 * len(report._annotated.rows) and set(report.scenarios["scenario"]) >= {"own", "dear"}
    own = report.with_costs(ExampleCosts(fp=1, fn=pd.Series(FN, index)))
    assert own.annotators.query("model == 'rule'")["cost"].to_numpy() == pytest.approx(by_item(D,
            FN).mean(0)) and own.n == N
    shifted = report.with_costs({"fp": 1, "fn": 5}, priors=.1).annotators
    assert shifted["cost"].isna().tolist() == [False, False, True, True] * 2
    turned = RNG.permutation(N)  # with an index it does not matter where a row stands
    again = evaluate(Annotators(frame.iloc[turned]), {name: m.iloc[turned] if name == "model"
                                                      else Decisions(m.values.iloc[turned]) for name, m
                                                      in models.items()}, {"fp": 1, "fn": 5}, rng=0)
    pd.testing.assert_frame_equal(again.annotators, evaluate(Annotators(frame), models, {"fp": 1, "fn": 5},
            rng=0).annotators)
    with pytest.raises(ValueError,
                       match=r"models\['model'\]: its index has the rows of y_true in another order"):
        evaluate(Annotators(frame), {"model": models["model"][::-1]}, {"fp": 1, "fn": 5})


def test_who_was_never_labelled_needs_a_propensity():
    part = LABELS.copy()
    part.iloc[7] = None
    with pytest.raises(ValueError,
                       match="no annotator labelled 1 of 120 samples, the first at position 7; dropping them "
                             "is verification bias"):
        evaluate(Annotators(part), {"rule": Decisions(D)}, {"fp": 1, "fn": 5})
    report = evaluate(Annotators(part), {"rule": Decisions(D)}, {"fp": 1, "fn": 5},
                      propensity=np.where(np.arange(N) < 9, .5, 1), rng=0)
    weight = np.where(np.arange(N) < 9, 2., 1)
    weight[7] = 0
    assert report.annotators["cost"].to_numpy() == pytest.approx(np.average(by_item(D, np.full(N, 5.)),
            axis=0, weights=weight))


test_what_is_refused = refuses([
    (lambda: evaluate(LABELS.fillna(False), {"rule": Decisions(D)}, {"fp": 1, "fn": 5}),
     r"if each column is one annotator's labels, Annotators\(y_true\)"),
    (lambda: evaluate(np.eye(2)[D], {"rule": Decisions(D)}, {"fp": 1, "fn": 5}),
     r"give numpy.argmax\(y_true, axis=1\); if each column is one annotator's labels, Annotators\(y_true\)"),
    (lambda: evaluate(Annotators(D), {"rule": Decisions(D)}, {"fp": 1, "fn": 5}),
     "Annotators takes a table, a column an annotator, got shape"),
    (lambda: evaluate(Annotators(LABELS), {"rule": D}, {"fp": 1, "fn": 5}, capacity=9),
     "capacity: it counts samples, and with Annotators a row is a label"),
    (lambda: losses(Annotators(LABELS), D, {"fp": 1, "fn": 5}),
     "Annotators stands elsewhere; give the labels or numbers themselves"),
    (lambda: evaluate(Annotators(LABELS), {"rule": Decisions(D)}, {"fp": 1, "fn": 5},
                      sample_weight=pd.Series(W, range(N))[::-1]),
                      "sample_weight: its index has the rows of y_true in another order"),
    (lambda: decide(P, Annotators(LABELS), {"fp": 1, "fn": 5}), "several labels a sample are for evaluate"),
    (lambda: evaluate(Annotators(LABELS[:9]), {"rule": D}, {"fp": 1, "fn": 5}),
     "120 values, but y_true has 9"),
])


def test_the_command_takes_a_column_an_annotator(tmp_path, capsys):
    frame = LABELS.replace({True: "spam", False: "ham"}).assign(judge=P)
    frame.to_csv(tmp_path / "s.csv", index=False)
    line = ["evaluate", str(tmp_path / "s.csv"), "--label", "ann,ben,cleo", "--fp", "1", "--fn", "5",
            "--positive", "spam", "--json", str(tmp_path / "r.json")]
    assert main(line) == 0
    out = capsys.readouterr().out
    here = evaluate(Annotators(frame[["ann", "ben", "cleo"]]), {"judge": P}, {"fp": 1, "fn": 5},
                    positive="spam", rng=0)
    assert (here.summary() in out and "Under its annotators, 95 % intervals:" in out
            and "random annotator" in out)
    assert json.loads((tmp_path / "r.json").read_text())["notes"] == list(here.notes)
    assert (main([part.replace("cleo", "leo")
                 for part
                 in line]) == 2 and "--label: 'leo' is unknown; did you mean 'cleo'?"
                 in capsys.readouterr().err)
