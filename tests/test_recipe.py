"""Last month's report again: the recipe, this month beside last with intervals, the alarm of one look, and
the same from the shell."""
import json
import tomllib

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from cost_eval.__main__ import main
from cost_eval.bootstrap import independent_difference
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.report import evaluate, evaluate_counted
from cost_eval.samples import Decisions, Scores

C = [[0, 1], [10, 0]]


def month(n=300, seed=0, worse=0., names=("a", "b")):
    "Labels, and two models' decisions."
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < .3).astype(int)
    return y, {name: Decisions(np.where(rng.random(n) < .1 + worse * y, 1 - y, y)) for name in names}


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
    (C, {"scenarios": {"dear": [[0, 1], [90, 0]], "cheap": {"fp": 1, "fn": 2}}}, []),
    (C, {"folds": np.arange(300) % 3}, ["folds"]),
    (ExampleCosts(fp=1, fn=FN), {"largest": 20}, []), (ExampleCosts(fp=1, fn=FN), {"priors": .2}, []),
    (C, {"scenarios": {"each": ExampleCosts(fp=1, fn=FN)}}, ["scenarios"]),
    (C, {"scenarios": {"turned": CostMatrix([[0, 9], [2, 0]], classes=[1, 0], decisions=[1, 0])}}, []),
    (C, {"require": {(1, 0): .2, ("recall", 1): .5}}, []),
])
def test_a_recipe_asks_the_same_again_and_against_itself_nothing_has_changed(costs, given, again, tmp_path):
    named = isinstance(costs, CostMatrix) and costs.classes == ("no", "yes")
    y, models = (np.where(Y, "yes", "no"), {n: Decisions(np.where(m.values, costs.decisions[1], "wait"))
                                            for n, m in MODELS.items()}) if named else (Y, MODELS)
    report = evaluate(y, models, costs, **(given := {"rng": 3} | given))
    recipe = report.recipe(tmp_path / "last.toml")
    assert recipe["again"] == again and json.loads(json.dumps(recipe)) == recipe
    assert tomllib.loads((tmp_path / "last.toml").read_text(encoding="utf-8")) == recipe
    assert evaluate(y, models, costs, **recipe["settings"], **{name: given[name] for name in again}) == report
    for last in (report, recipe, str(tmp_path / "last.toml")):
        same = report.compare(last)
        assert not same.table[["change", "mix", "rates", "amounts"]].to_numpy().any() and not same.rates[
            "alarm"].any()
        assert (same.table["low"] <= 0).all() and (0 <= same.table["high"]).all()


@pytest.mark.parametrize("costs", [C, ExampleCosts(fp=1, fn=FN)])
@pytest.mark.parametrize("draws", [3, None])
def test_with_several_draws_of_the_folds_rows_are_the_units(costs, draws):
    """A row costs its mean over draws: no intervals of the parts; the alarm counts the cases of the first
    draw."""
    scores = {"s": Scores(np.random.default_rng(3).normal(Y * 1.)), "a": MODELS["a"]}
    report = evaluate(Y, scores, costs, draws=draws, rng=0)
    recipe = report.recipe()
    assert recipe["settings"]["draws"] == report.draws > 1 and evaluate(Y, scores, costs,
            **recipe["settings"]) == report
    for name, one in recipe["last"]["models"].items():
        assert sum(loss * many for _, loss, many in one["losses"]) / 300 == pytest.approx(one["cost"])
        assert (np.array(one["amounts"]) * one["counts"]).sum() / 300 == pytest.approx(one["cost"]), name
    found = report.compare(recipe)
    row = found.table.set_index("model").loc["s"]
    assert row["change"] == row["rates"] == 0 and row["low"] < 0 < row["high"] and np.isnan(row["rates_low"])
    first = evaluate(Y, scores, costs, draws=1, rng=0).compare(evaluate(Y, scores, costs, draws=1, rng=0))
    assert found.rates["p_value"].tolist() == first.rates["p_value"].tolist() and (found.rates["p_value"]
            > .4).all()


def test_no_row_is_in_a_recipe():
    "Of own costs it has the distinct losses, with how often each occurred."
    n = 20_000
    y, models = month(n)
    recipe = evaluate(y, models, ExampleCosts(fp=1, fn=np.arange(n) % 7 + 3.), groups=y,
                      ids=np.arange(n)).recipe()
    losses = recipe["last"]["models"]["a"]["losses"]
    assert sum(many for *_, many in losses) == n and len(losses) == 2 + 8 and len(json.dumps(recipe)) < 4000
    assert sum(loss * many
               for _, loss, many in losses) / n == pytest.approx(recipe["last"]["models"]["a"]["cost"])


def test_a_change_is_that_of_two_samples_with_its_parts_and_an_alarm():
    old, new = evaluate(Y, MODELS, C, rng=0), evaluate(*month(600, 5, worse=.25), C, rng=0)
    found = new.compare(old)
    assert list(found.table["model"]) == list(new.best["model"])
    for _, row in found.table.iterrows():
        then, now = (r.recipe()["last"]["models"][row["model"]]["counts"] for r in (old, new))
        whole = independent_difference(now, then, C)
        assert (row["low"], row["high"]) == pytest.approx((whole.low,
                whole.high)) and row["change"] == pytest.approx(row["now"] - row["then"])
        assert row["change"] == pytest.approx(row["mix"] + row["rates"]
                                              + row["amounts"]) and row["rates_low"] > 0
        misses = found.rates[(found.rates["model"] == row["model"]) & (found.rates["class"] == 1)].iloc[0]
        (ok, bad), (more_ok, more) = (table[1][::-1] for table in (then, now))
        assert misses["p_value"] == pytest.approx(1.5 * fisher_exact([[bad, ok], [more, more_ok]],
                "less").pvalue) and misses["alarm"]
        assert misses["now"] == pytest.approx(more / (more + more_ok))
    assert "The alarm rings: errors in class 1 rose from" in found.sentence and repr(found).startswith(
        new.best["model"][0])
    back = old.compare(new)  # misses have become rarer
    assert not back.rates["alarm"].any() and "The alarm is silent" in back.sentence
    assert back.table.set_index("model")["low"].to_dict() == pytest.approx(
        (-found.table.set_index("model")["high"]).to_dict())


@pytest.mark.parametrize("costs, given", [(C, {}), (C, {"priors": .1}), (ExampleCosts(fp=1, fn=FN), {}),
                                          (ExampleCosts(fp=1, fn=FN), {"priors": .1}),
                                          (C, {"clusters": np.arange(300) // 2}), (C, {"sample_weight": W})])
def test_the_interval_of_a_change_holds_it_in_every_kind_of_sample(costs, given):
    "Five pairs of months in which nothing has changed, and one in which misses are .6 for .1."
    left = 0
    for seed in range(5):
        then, same = (evaluate(*month(300, 100 + 2 * seed + k, names="a"), costs, **given) for k in (0, 1))
        found = same.compare(then).table.iloc[0]
        left += not found["low"] <= 0 <= found["high"]
        assert costs is not C or found["amounts"] == 0 and "what errors cost" not in same.compare(
            then).sentence
    assert left <= 1 and evaluate(*month(300, 99, worse=.5, names="a"), costs,
                                  **given).compare(then).table["low"][0] > 0


def test_other_prices_other_priors_and_other_models():
    old, new = evaluate(Y, MODELS, C, rng=0), evaluate(Y, {"a": MODELS["a"], "c": MODELS["b"]},
                                                       [[0, 1], [30, 0]], rng=0)
    found = new.compare(old)
    row = found.table.iloc[0]
    assert list(found.table["model"]) == ["a"] and found.notes[:2] == ("Only then: b.", "Only now: c.")
    assert row["amounts"] == pytest.approx(row["change"]) and row["mix"] == row[
        "rates"] == 0 and "by what errors cost" in found.sentence
    moved = evaluate(Y, MODELS, C, priors=.05, rng=0).compare(old).table.iloc[0]
    assert moved["change"] == pytest.approx(moved["mix"]) and moved["low"] < moved["change"] < moved[
        "high"] and np.isnan(moved["mix_low"])
    names = {"classes": ["no", "yes"], "decisions": ["wait", "act"]}
    one = evaluate(np.where(Y, "yes", "no"), {"a": np.where(MODELS["a"].values, "act", "wait")},
                   CostMatrix(C, **names), rng=0)
    turned = CostMatrix([[0, 10], [1, 0]], classes=["yes", "no"], decisions=["act", "wait"])
    other = evaluate(np.where(Y, "yes", "no"), {"a": np.where(MODELS["a"].values, "act", "wait")}, turned,
                     rng=0)
    assert other.compare(one).table["change"][0] == 0 and other.compare(one).table["rates"][
        0] == pytest.approx(0)


@pytest.mark.parametrize("last, message", [
    (3, "last: a Report, its recipe"), ({}, "last: a Report, its recipe"), ({"recipe": 2,
        "package": "cost_eval 9"}, "version 2 of a recipe, of cost_eval 9; this one reads version 1"),
    ({"recipe": 1}, "the recipe has no 'settings'"), ("nowhere.toml", "last: nowhere.toml is no recipe"),
    (lambda: evaluate(Y, {"z": MODELS["a"]}, C), r"models are \['z'\], but this report has"),
    (lambda: evaluate(Y, MODELS, CostMatrix([[0, 1, 2], [10, 0, 2]], decisions=[0, 1, "look"])),
     "its decisions are .*'look'.* but this report has"),
    (lambda: evaluate_counted([0, 1], {"a": [0, 1]}, C, [9, 3]), "recipe: this report was made from counts"),
])
def test_what_is_no_last_time_is_refused(last, message):
    with pytest.raises(ValueError, match=message):
        evaluate(Y, MODELS, C).compare(last() if callable(last) else last)


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
    assert main(["evaluate", "may.csv", *asked, "--save-recipe", "last.toml", "--json", "may.json"]) == 0
    assert main(["evaluate", "june.csv", *asked, "--json", "wanted.json"]) == 0
    capsys.readouterr()
    (files / "costs.csv").unlink()  # the recipe has them
    assert main(["evaluate", "june.csv", "--recipe", "last.toml", "--save-recipe", "last.toml", "--json",
                 "june.json"]) == 0
    said = capsys.readouterr().out
    wanted, found, may = (json.loads((files / f"{name}.json").read_text())
                          for name in ("wanted", "june", "may"))
    for one in (wanted, found):
        one.pop("provenance")
    assert (found == wanted and "Beside last.toml:" in said and "alarm" in said
            and f"last time {may['best'][0]['cost']:.4g}"[:13] in said)
    assert tomllib.loads((files / "last.toml").read_text())["rows"] == 300


def test_an_option_wins_over_the_recipe_and_a_column_that_is_gone_is_named(files, capsys):
    assert main(["evaluate", "may.csv", "--label", "left", "--scores", "p,q", "--fp", "1", "--fn", "fee",
                 "--positive", "yes", "--group", "site", "--save-recipe", "last.toml"]) == 0
    june = pd.read_csv("june.csv")
    june.rename(columns={"q": "r", "site": "place"}).to_csv("june.csv", index=False)
    assert main(["evaluate", "june.csv", "--recipe", "last.toml"]) == 2
    told = capsys.readouterr().err
    assert "--recipe: last.toml asks for the columns ['q', 'site'], but there are ['left', 'p', 'fee', 'place', 'r']" in told
    # the remedy
    assert main(["evaluate", "june.csv", "--recipe", "last.toml", "--scores", "p", "--group", "place",
                 "--rule", "bayes", "--fn", "7"]) == 0
    assert "bayes" in capsys.readouterr().out
    june.to_csv("june.csv", index=False)
    assert main(["evaluate", "june.csv", "--recipe", "last.toml", "--costs", "costs.csv"]) == 0
    for text, words in (("", "names no columns"), ('command = "a"\ncosts = 3', "names no columns"),
                        ("= 3", "cannot be read")):
        (files / "bad.toml").write_text(text)
        assert main(["evaluate", "june.csv", "--recipe",
                     "bad.toml"]) == 2 and words in capsys.readouterr().err
    assert main(["evaluate", "june.csv", "--recipe", "last.toml", "--save-recipe", "nowhere/last.toml"]) == 2
