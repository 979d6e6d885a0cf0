"""Last month's report again: the recipe, this month beside last with an interval, and the same from the
shell."""
import json
import re

import numpy as np
import pandas as pd
import pytest

from cost_eval.__main__ import main
from cost_eval.bootstrap import independent_difference, loss_difference
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Scores

C = [[0, 1], [10, 0]]
COST = "cost per case"


def month(n=300, seed=0, worse=0., names=("a", "b")):
    "Labels, and two models' decisions."
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < .3).astype(int)
    return y, {name: Decisions(np.where(rng.random(n) < .1 + worse * y, 1 - y, y)) for name in names}


def costs_of(change):
    "The rows of the cost."
    return change[change["what"] == COST].set_index("model")


Y, MODELS = month()
W = np.random.default_rng(1).random(300) + .5
FN = np.arange(300) % 7 + 3.


@pytest.mark.parametrize("costs, given, again", [
    (C, {}, []), (C, {"priors": .1, "confidence": .9}, []),
    (C, {"priors": {0: .8, 1: .2}, "method": "percentile", "rng": np.int64(3)}, []),
    (CostMatrix(C, classes=["no", "yes"], decisions=["wait", "act \"now\""]), {"rule": {"a": "as given"}},
     []),
    (C, {"clusters": np.arange(300) // 2, "heaviest": 3}, ["clusters"]),
    (C, {"sample_weight": W, "groups": Y}, ["groups", "sample_weight"]),
    (C, {"scenarios": {"dear": [[0, 1], [90, 0]], "cheap": {"fp": 1, "fn": 2}}}, ["scenarios"]),
    (C, {"folds": np.arange(300) % 3}, ["folds"]),
    (ExampleCosts(fp=1, fn=FN), {"largest": 20}, []), (ExampleCosts(fp=1, fn=FN), {"priors": .2}, []),
    (C, {"require": {(1, 0): .2, "recall": .5}}, []),
])
def test_a_recipe_asks_the_same_again_and_against_itself_nothing_has_changed(costs, given, again):
    named = isinstance(costs, CostMatrix) and costs.classes == ("no", "yes")
    y, models = (np.where(Y, "yes", "no"), {n: Decisions(np.where(m.values, costs.decisions[1], "wait"))
                                            for n, m in MODELS.items()}) if named else (Y, MODELS)
    report = evaluate(y, models, costs, **(given := {"rng": 3} | given))
    recipe = report.recipe()
    assert recipe["again"] == again and json.loads(json.dumps(recipe)) == recipe
    assert evaluate(y, models, costs, **recipe["settings"], **{name: given[name] for name in again}) == report
    counted = {"clusters", "sample_weight"}.isdisjoint(given) and not isinstance(costs, ExampleCosts)
    assert (set(recipe["models"]) == set(models)) == counted == bool(recipe["models"])
    for last in (report, recipe) if counted else ():
        same = report.compare(last)
        assert not same["change"].fillna(0).any() and len(same) == 2 * 7
        assert (costs_of(same)["low"] <= 0).all() and (0 <= costs_of(same)["high"]).all()


@pytest.mark.parametrize("draws", [3, None])
def test_with_several_draws_of_the_folds_rows_are_the_units(draws):
    "A row costs its mean over draws."
    scores = {"s": Scores(np.random.default_rng(3).normal(Y * 1.)), "a": MODELS["a"]}
    report = evaluate(Y, scores, C, draws=draws, rng=0)
    recipe = report.recipe()
    assert recipe["settings"].get("draws") == draws and report.draws > 1
    assert evaluate(Y, scores, C, **recipe["settings"]) == report
    paid = report.best.set_index("model")["cost"]
    for name, kept in recipe["models"].items():
        cost = sum(np.dot(C[k], shares) * many for k, shares, many in kept) / 300
        assert cost == pytest.approx(paid[name]) and sum(many for *_, many in kept) == 300
    row = costs_of(report.compare(recipe)).loc["s"]
    assert row["then"] == pytest.approx(paid["s"]) and row["low"] < 0 < row["high"]


def test_neither_a_row_nor_a_generator_is_in_a_recipe():
    y, models = month(20_000)
    recipe = evaluate(y, models, C, groups=y, ids=np.arange(20_000), rng=np.random.default_rng(0)).recipe()
    assert len(json.dumps(recipe)) < 1000 and recipe["again"] == ["groups", "ids"]
    assert recipe["rows"] == 20_000 and "rng" not in recipe["settings"]


@pytest.mark.parametrize("priors", [None, [.9, .1]])
def test_a_change_is_that_of_two_samples(priors):
    (then_y, then), (now_y, now) = month(), month(600, 5, worse=.25)
    old, new = (evaluate(y, models, C, priors=priors, rng=0) for y, models in ((then_y, then), (now_y, now)))
    found = new.compare(old)
    assert list(costs_of(found).index) == list(new.best["model"])
    counts = {name: [np.histogram2d(y, m[name].values, 2)[0].astype(int) for y, m in ((then_y, then),
              (now_y, now))] for name in "ab"}
    for name, (before, after) in counts.items():
        row, of = costs_of(found).loc[name], found[found["model"] == name].set_index("what")
        whole = independent_difference(after, before, C, priors=priors)
        assert row[["low", "high"]].tolist() == pytest.approx([whole.low, whole.high])
        assert row["change"] == pytest.approx(row["now"] - row["then"])
        assert row[["then", "now"]].tolist() == pytest.approx([one.best.set_index("model")["cost"][name]
                                                               for one in (old, new)])
        for k in (0, 1):
            rates = [table[k, 1 - k] / table[k].sum() for table in (before, after)]
            assert of.loc[f"errors in {k}", ["then", "now"]].tolist() == pytest.approx(rates)
            shares = [priors[k]] * 2 if priors else [y.mean() if k else 1 - y.mean() for y in (then_y, now_y)]
            assert of.loc[f"prevalence of {k}", ["then", "now"]].tolist() == pytest.approx(shares)
            assert of.loc[f"cost of an error in {k}", ["then", "now"]].tolist() == [C[k][1 - k]] * 2
    back = costs_of(old.compare(new))
    assert back["low"].to_dict() == pytest.approx((-costs_of(found)["high"]).to_dict())


def test_other_prices_other_priors_and_other_models():
    dear = {"a": MODELS["a"], "c": MODELS["b"]}
    old, new = evaluate(Y, MODELS, C, rng=0), evaluate(Y, dear, [[0, 1], [30, 0]], rng=0)
    found = new.compare(old).set_index("what")
    assert set(found["model"]) == {"a"} and found.loc[COST, "change"] > 0
    moved = found.index[found["change"] != 0]
    assert list(moved) == [COST, "cost of an error in 1"]
    assert found.loc["cost of an error in 1", ["then", "now"]].tolist() == [10, 30]
    there = evaluate(Y, MODELS, C, priors=.05, rng=0)
    paid = np.array(C)[Y, MODELS["a"].values]  # then one sample of both classes, now a sample a class
    both = loss_difference(np.r_[paid, paid], np.zeros(2 * len(Y)), strata=np.r_[2 + 0 * Y, Y],
                           shares={2: -1., 0: .95, 1: .05}, bounds={2: (0, 10), 0: (0, 1), 1: (0, 10)})
    row = costs_of(there.compare(old)).loc["a"]
    assert row[["low", "change", "high"]].tolist() == pytest.approx([both.low, both.mean, both.high], abs=1e-4)


def test_labels_in_another_order_are_refused():
    y, decided = np.where(Y, "yes", "no"), {"a": np.where(MODELS["a"].values, "act", "wait")}
    one = evaluate(y, decided, CostMatrix(C, classes=["no", "yes"], decisions=["wait", "act"]), rng=0)
    turned = CostMatrix([[0, 10], [1, 0]], classes=["yes", "no"], decisions=["act", "wait"])
    with pytest.raises(ValueError, match=r"last: its classes are \['no', 'yes'\], but this report has \['yes', 'no'\]"):
        evaluate(y, decided, turned, rng=0).compare(one)


@pytest.mark.parametrize("last, message", [
    (3, "last: a Report or its recipe"), ({}, "last: a Report or its recipe"),
    (lambda: evaluate(Y, {"z": MODELS["a"]}, C), r"models are \['z'\], but this report has"),
    (lambda: evaluate(Y, MODELS, CostMatrix([[0, 1, 2], [10, 0, 2]], decisions=[0, 1, "look"])),
     "its decisions are .*'look'.* but this report has"),
    (lambda: evaluate(Y, MODELS, C, sample_weight=W), "last: weights, clusters and costs of single rows leave no counts"),
    (lambda: evaluate(Y, MODELS, ExampleCosts(fp=1, fn=FN)), "evaluate the rows of both months at once"),
])
def test_what_is_no_last_time_is_refused(last, message):
    with pytest.raises(ValueError, match=message):
        evaluate(Y, MODELS, C).compare(last() if callable(last) else last)


def test_the_remedy_for_weights_clusters_and_costs_of_rows():
    "Both months in one report, with groups= the month."
    y, models = month(300, 5, worse=.25)
    both = {"a": Decisions(np.r_[MODELS["a"].values, models["a"].values])}
    months = {"sample_weight": np.r_[W, W], "groups": np.repeat(["May", "June"], 300)}
    gap = evaluate(np.r_[Y, y], both, C, **months).group_differences.iloc[0]
    before, after = (evaluate(labels, {"a": of["a"]}, C, sample_weight=W).best["cost"][0]
                     for labels, of in ((Y, MODELS), (y, models)))
    assert (gap["what"], gap["first"], gap["second"]) == ("cost", "June", "May")
    assert gap["difference"] == pytest.approx(after - before) and gap["told_apart"]


# the shell

@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k, name in enumerate(("may", "june")):
        rng = np.random.default_rng(k)
        y = rng.random(300) < .3
        p = np.clip(.3 * y + rng.random(300) * .7, 0, 1)
        pd.DataFrame({"left": np.where(y, "yes", "no"), "p": p, "fee": rng.integers(5, 20, 300),
                      "site": rng.choice(["n", "s"], 300), "q": p ** 2}).to_csv(f"{name}.csv", index=False)
    pd.DataFrame(C, ["no", "yes"], ["no", "yes"]).to_csv("costs.csv")
    return tmp_path


@pytest.mark.parametrize("options", [
    ["--scores", "p,q", "--fp", "1", "--fn", "fee", "--positive", "yes", "--group", "site"],
    ["--costs", "costs.csv", "--scores", "p", "--positive", "yes", "--prevalence", "10%", "--rule", "tuned"],
    ["--costs", "costs.csv", "--posteriors", "p=yes", "--scenario", "risk=1:50", "--seed", "3"],
    ["--ranks", "q", "--fp", "1", "--fn", "9", "--positive", "yes", "--capacity", "10%"]])
def test_the_next_file_is_asked_the_same_and_stands_beside_the_last(files, options, capsys):
    asked = ["--label", "left", *options]
    assert main(["evaluate", "may.csv", *asked, "--save-recipe", "last.json", "--json", "may.json"]) == 0
    assert main(["evaluate", "june.csv", *asked, "--json", "wanted.json"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "june.csv", "--recipe", "last.json", "--save-recipe", "last.json", "--json",
                 "june.json"]) == 0
    said = capsys.readouterr().out
    wanted, found, may = (json.loads((files / f"{name}.json").read_text())
                          for name in ("wanted", "june", "may"))
    for one in (wanted, found):
        one.pop("provenance")
    assert found == wanted
    beside = said.partition("Beside last.json:")[2]
    if "fee" in options:
        assert "not compared: last: weights, clusters and costs" in beside and "in groups by month" in beside
    else:
        best = may["best"][0]
        then = re.search(rf"{best['model']} +{COST} +(\S+)", beside)[1]
        assert then == f"{best['cost']:.4g}"
    assert json.loads((files / "last.json").read_text())["rows"] == 300


def test_an_option_wins_over_the_recipe_and_a_column_that_is_gone_is_named(files, capsys):
    assert main(["evaluate", "may.csv", "--label", "left", "--scores", "p,q", "--fp", "1", "--fn", "fee",
                 "--positive", "yes", "--group", "site", "--save-recipe", "last.json"]) == 0
    june = pd.read_csv("june.csv")
    june.rename(columns={"q": "r", "site": "place"}).to_csv("june.csv", index=False)
    assert main(["evaluate", "june.csv", "--recipe", "last.json"]) == 2
    assert "--group: 'site' is unknown; there are left, p, fee, place, r" in capsys.readouterr().err
    # the remedy
    assert main(["evaluate", "june.csv", "--recipe", "last.json", "--scores", "p", "--group", "place",
                 "--rule", "bayes", "--fn", "7"]) == 0
    assert "bayes" in capsys.readouterr().out
    june.to_csv("june.csv", index=False)
    assert main(["evaluate", "june.csv", "--recipe", "last.json", "--costs", "costs.csv", "--save-recipe",
                 "table.json"]) == 0
    assert main(["evaluate", "june.csv", "--recipe", "table.json", "--fp", "1", "--fn", "7"]) == 0
    for text, words in (("{}", "holds no options"), ('{"options": 3}', "holds no options"),
                        ("= 3", "is not complete JSON")):
        (files / "bad.json").write_text(text)
        assert main(["evaluate", "june.csv", "--recipe", "bad.json"]) == 2
        assert words in capsys.readouterr().err
    assert main(["evaluate", "june.csv", "--recipe", "no.json"]) == 2
    assert main(["evaluate", "june.csv", "--recipe", "last.json", "--save-recipe", "nowhere/last.json"]) == 2
