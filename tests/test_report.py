"""The report: its numbers against the chapters' own functions, what it says, what it refuses, and its speed's
shape."""
import re
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit
from sklearn.metrics import precision_score, recall_score, roc_auc_score

from conftest import refuses
from cost_eval import report as report_module
from cost_eval.bootstrap import difference, independent_difference, interval, loss_difference, loss_interval
from asked import best_of, simultaneous_differences
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.costs import CostMatrix, ExampleCosts, attainable, losses
from cost_eval.decisions import bayes_decisions, best_threshold
from cost_eval.metrics import expected_cost, normalized_expected_cost
from cost_eval.page import answers
from cost_eval.policies import RULES, CrossFit
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Posteriors, Scores, read_samples

evaluate = partial(evaluate, draws=1)  # whose subject are not the draws of the folds (test_policies)
COSTS = CostMatrix.binary(fp=1, fn=8, classes=["well", "ill"], decisions=["home", "treat"])


@pytest.fixture(scope="module")
def case():
    "400 samples, a good and a bad model with posteriors, one with scores, one with decisions."
    rng = np.random.default_rng(0)
    ill = rng.random(400) < .3
    p = {k: 1 / (1 + np.exp(-(s * (rng.normal(size=400) + 2 * ill - 1.2))))
         for k, s in (("good", 2.), ("bad", .7))}
    models = {**p, "score": Scores(30 + 10 * rng.normal(size=400) + 12 * ill),
              "rule": np.where(rng.random(400) < .8, np.where(ill, "treat", "home"), "home")}
    return np.where(ill, "ill", "well"), models


def row(report, model, rule):
    return report.ladder.set_index(["model", "rule"]).loc[(model, rule)]


def bayes(p, **options):
    return bayes_decisions(np.column_stack([1 - p, p]), COSTS, labels=True, **options)


def by_rule(y, models, rule="calibrated", **options):
    "Labels of the decisions of all models that can follow a rule, from the module that decides."
    fits = CrossFit(read_samples(y, models, COSTS), rng=0)
    able = [name for name in models if rule in fits.rules(name) or fits.rules(name) == ("as given",)]
    return {name: np.array(COSTS.decisions)[fits.decide(name, rule, **options).decisions] for name in able}


@pytest.mark.parametrize("priors", [None, {"ill": .05, "well": .95}])
def test_the_ladder_is_the_expected_cost(case, priors):
    y, models = case
    report = evaluate(y, models, COSTS, priors=priors, rng=0)
    options = {} if priors is None else {"priors": priors,
                                         "train_priors": dict(pd.Series(y).value_counts(normalize=True))}
    for name in ("good", "bad"):
        counts = confusion_counts(y, bayes(models[name], **options), classes=COSTS)
        assert row(report, name, "bayes")["cost"] == pytest.approx(expected_cost(counts, COSTS,
                priors=priors))
    for name, rule in (("good", "bayes"), ("good", "calibrated"), ("score", "calibrated"), ("bad", "tuned"),
                       ("score", "tuned")):
        counts = confusion_counts(y, by_rule(y, models, rule, priors=priors)[name], classes=COSTS)
        found, method = row(report, name, rule), interval(counts, COSTS, priors=priors)
        assert found["cost"] == pytest.approx(expected_cost(counts, COSTS, priors=priors))
        assert found["nec"] == pytest.approx(normalized_expected_cost(counts, COSTS, priors=priors))
        assert [found["low"], found["high"]] == pytest.approx([method.low, method.high])
    main = report.ladder[report.ladder["main"]]
    assert list(main["model"]) == list(models) and list(main["rule"]) == ["calibrated"] * 3 + ["as given"]
    given = confusion_counts(y, models["rule"], classes=COSTS)
    assert row(report, "rule", "as given")["cost"] == pytest.approx(expected_cost(given, COSTS,
            priors=priors))
    assert row(report, "oracle", "knows the class")["cost"] == 0
    ill = np.mean(y == "ill") if priors is None else .05
    assert row(report, "always home", "constant")["cost"] == pytest.approx(8 * ill)
    assert (report.ladder["low"] <= report.ladder["cost"] + 1e-12).all() and (report.ladder["high"]
            >= report.ladder["cost"] - 1e-12).all()


def test_all_that_is_uncertain_of_a_constant_is_the_frequency(case):
    "By SciPy: Clopper and Pearson's interval, at the level that was asked for."
    y, models = case
    ends = stats.binomtest(int((y == "ill").sum()), 400).proportion_ci(.8, "exact")
    assert row(evaluate(y, models, COSTS, confidence=.8, rng=0), "always home",
               "constant")[["low", "high"]].tolist() == pytest.approx([8 * ends.low, 8 * ends.high])


@pytest.mark.parametrize("order", [("good", "bad", "rule"), ("rule", "bad", "good"), ("bad", "good", "rule"),
                                   ("rule", "good", "bad")])
def test_the_lead_is_told_of_the_right_pair_whatever_the_order(case, order):
    y, models = case
    report = evaluate(y, {name: models[name] for name in order}, COSTS, rng=0)
    (first, second), cost = report.best["model"][:2], report.best["cost"].to_numpy()
    assert (np.diff(cost) >= 0).all() and (first, second) == ("bad", "good")
    (told,) = (line for line in report.summary().splitlines() if line.startswith("How sure: "))
    d = simultaneous_differences(y, by_rule(y, {name: models[name] for name in order}), COSTS)
    place = [{a, b} == {first, second} for a, b in zip(d.model, d.against)].index(True)
    ends = sorted(abs(v) * (1 if v * d.estimate[place] > 0 else -1) for v in (d.low[place], d.high[place]))
    for said in (f"At 95%, {first} is cheaper than always",
                 f"; cheaper than {second}, the next model, by {ends[0]:.4g} to {ends[1]:.4g} (conservative)"):
        assert said in told
    assert told.endswith("not told apart. Below 0 it is dearer.")


def test_a_costliest_error_never_seen_is_said_of_the_model_that_has_none():
    y = np.repeat(["well", "ill"], 50)
    models = {"never misses": np.full(100, "treat"), "misses one": np.where(np.arange(100) == 99, "home",
            "treat"), "overlooks": np.full(100, "home")}
    said = [line for line in evaluate(y, models, COSTS, rng=0).notes if "never seen" in line]
    assert len(said) == 1 and "(ill decided home)" in said[0] and "for never misses" in said[0]


def test_metrics_are_scikit_learns(case):
    y, models = case
    report = evaluate(y, models, COSTS, rng=0)
    found, decided = row(report, "rule", "as given"), models["rule"] == "treat"
    assert found["recall"] == pytest.approx(recall_score(y == "ill", decided))
    assert found["precision"] == pytest.approx(precision_score(y == "ill", decided))


@pytest.mark.parametrize("confidence", [.95, .6])
def test_differences_are_the_paired_method(case, confidence):
    y, models = case
    report = evaluate(y, {"good": models["good"], "rule": models["rule"]}, COSTS, confidence=confidence,
                      rng=0)
    assert bayes(models["good"]).tolist() != by_rule(y, {"good": models["good"],
            "rule": models["rule"]})["good"].tolist()
    found, joint = report.differences.iloc[0], joint_counts(y, by_rule(y,
            {"good": models["good"], "rule": models["rule"]})["good"], models["rule"], classes=COSTS)
    method = difference(joint, COSTS, confidence=confidence)
    assert [found["low"], found["high"], found["p_value"]] == pytest.approx([method.low, method.high,
            method.p_value])
    assert found["difference"] == pytest.approx(expected_cost(joint.first, COSTS)
                                                - expected_cost(joint.second, COSTS))
    several, decided = evaluate(y, models, COSTS, confidence=confidence, rng=0), by_rule(y, models)
    together = simultaneous_differences(y, decided, COSTS, confidence=confidence)
    chosen = best_of(y, decided, COSTS, confidence=confidence, rng=0)
    for column, name in (("first", "model"), ("second", "against")):
        assert several.differences[column].tolist() == getattr(together, name).tolist()
    ends = {"difference": "estimate", "low": "low", "high": "high", "p_value": "p_value"}
    for column, name in ends.items():
        assert several.differences[column].tolist() == pytest.approx(getattr(together, name).tolist())
    assert several.differences["told_apart"].tolist() == together.told_apart.tolist()
    winner = several.winner
    assert winner.model.tolist() == chosen.model.tolist()
    for name in ("estimate", "low", "high"):
        assert getattr(winner, name) == pytest.approx(getattr(chosen, name))
    assert several.best["model"].tolist() == chosen.model[1:].tolist()
    assert several.best["low"].tolist() == pytest.approx(chosen.low[1:].tolist())


@pytest.mark.parametrize("capacity", [0, 3, 9, 10, 11, .1, .3])
def test_the_oracle_takes_what_its_capacity_holds_and_not_one_less(capacity):
    y, p = np.arange(30) < 10, np.random.default_rng(0).random(30)
    oracle = row(evaluate(y, p, dict(fp=1, fn=8), capacity=capacity, rng=0), "oracle", "knows the class")
    held = capacity if isinstance(capacity, int) else round(30 * capacity)
    assert oracle["cost"] == pytest.approx(8 * max(10 - held, 0) / 30)


def test_a_tuned_threshold_is_not_judged_on_its_own_data(case):
    y, models = case
    rng = np.random.default_rng(1)
    # knows nothing: tuned on its own data it would look better than the constant decision
    noise = rng.normal(size=400)
    report = evaluate(y, {"noise": noise, "score": models["score"]}, COSTS, rule="tuned", rng=0)
    own = best_threshold(y == "ill", noise, COSTS.array)
    naive = min(row(report, f"always {label}", "constant")["cost"] for label in COSTS.decisions)
    for rule in ("tuned", "calibrated"):
        assert row(report, "noise", rule)["cost"] >= naive >= own.cost
    # both constants cost about the same
    even = CostMatrix.binary(fp=1, fn=2.81, classes=COSTS.classes, decisions=COSTS.decisions)
    luck = best_threshold(y == "ill", noise, even.array).cost
    draws = [row(evaluate(y, {"noise": noise}, even, rule="tuned", rng=seed), "noise", "tuned")["cost"]
             for seed in range(6)]
    assert np.mean(draws) > luck + .01
    assert report.best.loc[report.best["model"] == "noise", "cost"].item() == row(report, "noise",
            "tuned")["cost"]
    flat = row(report, "score", "tuned")
    whole = best_threshold(y == "ill", models["score"].values, COSTS.array)
    assert [flat["threshold"], flat["same_from"], flat["same_to"]] == pytest.approx([whole.threshold,
            whole.low, whole.high])


def test_costs_of_single_samples_are_told_as_those_of_all_when_equal(case):
    "The numbers: test_doors.py, and by hand test_policies.py."
    y, models = case
    own = ExampleCosts(fp=np.ones(400), fn=np.full(400, 8.), classes=COSTS.classes, decisions=COSTS.decisions)
    a, b = evaluate(y, models, COSTS, rng=0), evaluate(y, models, own, rng=0)
    told = [{**answers(r), "What would change it": ""} for r in (a, b)]  # by the map, or by counting cases
    # costs of rows have no common cut
    told[0]["Verdict"] = re.sub("it decides treat from [0-9.]+ on, costs", "it costs", told[0]["Verdict"])
    assert told[0] == told[1] and set(a.ladder["rule"]) >= set(RULES) - {"as given"}


def test_groups_are_at_their_own_shares_and_at_the_deployments(case):
    y, models = case
    group, rule = np.arange(400) % 2, {"rule": models["rule"]}
    shifted, plain = (evaluate(y, rule, COSTS, groups=group, priors=priors, rng=0)
                      for priors in ([.9, .1], None))
    own = [c for c in plain.groups if not c.endswith(("_at", "at_priors"))]
    pd.testing.assert_frame_equal(shifted.groups[own], plain.groups[own])
    for report, priors in ((shifted, [.9, .1]), (plain, plain.sample_priors)):
        found = report.groups.set_index("group")
        tables = [confusion_counts(y[group == g], models["rule"][group == g], classes=COSTS) for g in (0, 1)]
        for g, counts in enumerate(tables):
            at = interval(counts, COSTS, priors=priors)
            assert found.loc[g, ["cost_at_priors", "low_at", "high_at"]].tolist() == pytest.approx(
                [expected_cost(counts, COSTS, priors=priors), at.low, at.high])
            wrong = counts.array[[0, 1], [1, 0]] / counts.array.sum(1)
            assert found.loc[g, ["fpr", "fnr"]].tolist() == pytest.approx(wrong)
        for shares, given in (("each group's own", None), ("the deployment's", priors)):
            between = report.group_differences.set_index("shares").loc[[shares]]
            assert between[["first", "second"]].values.tolist() == [[0, "1"]], "two groups are compared once"
            method = independent_difference(*tables, COSTS, priors=given)
            assert between[["difference", "low", "high", "p_value"]].values[0] == pytest.approx([method.mean,
                    method.low, method.high, method.p_value])
    assert evaluate(y, rule, COSTS, rng=0).groups.empty


def test_a_class_without_samples_may_have_the_prior_0(case):
    """As the error for its other priors says; its posteriors, then, decide nothing."""
    rng = np.random.default_rng(0)
    costs = CostMatrix([[0, 1, 9], [4, 0, 9], [50, 50, 0]], classes=["a", "b", "rare"])
    y, p = rng.choice(["a", "b"], 200), rng.dirichlet([2, 2, .5], 200)
    with pytest.raises(ValueError,
                       match="no sample of rare, whose prior is above 0; set it to 0"):
        evaluate(y, {"m": p}, costs, priors={"a": .6, "b": .3, "rare": .1})
    report = evaluate(y, {"m": p}, costs, priors={"a": .6, "b": .4, "rare": 0}, rng=0)
    share = np.array([(y == "a").mean(), (y == "b").mean()])
    decided = (p[:, :2] * [.6, .4] / share @ costs.array[:2]).argmin(1)
    loss = costs.array[(y == "b").astype(int), decided]
    assert report.best["cost"][0] == pytest.approx(.6 * loss[y == "a"].mean() + .4 * loss[y == "b"].mean())


@pytest.mark.parametrize("how", ["rows", "clusters", "weighted clusters"])
def test_groups_of_weighted_and_clustered_samples(case, how):
    """Costs and differences are those of a weighted regression on membership; ends are those of the engine,
    and wider than Wald's."""
    y, models = case
    rng = np.random.default_rng(4)
    group, cluster = rng.choice(["a", "b", "c"], 400, p=[.6, .3, .1]), rng.integers(0, 90, 400)
    cluster = np.arange(400) if how == "rows" else cluster
    weight = rng.uniform(.2, 3, 400) if how == "weighted clusters" else np.ones(400)
    options = {"rows": {}, "clusters": {"clusters": cluster}, "weighted clusters": {"clusters": cluster,
            "sample_weight": weight}}[how]
    report = evaluate(y, {"rule": models["rule"]}, COSTS, groups=group, rng=0, **options)
    table, between = report.groups.set_index("group"), report.group_differences
    between = between[between["shares"] == "each group's own"].set_index("first")
    loss, bounds = losses(y, models["rule"], COSTS), (COSTS.array.min(), COSTS.array.max())
    single = {}
    for name in "abc":
        inside, found, against = group == name, table.loc[name], between.loc[name]
        x = np.column_stack([np.ones(400), inside]).astype(float)
        bread = np.linalg.inv(x.T @ (weight[:, None] * x))
        beta = bread @ x.T @ (weight * loss)
        score = np.zeros((400, 2))
        np.add.at(score, cluster, (weight * (loss - x @ beta))[:, None] * x)
        error = np.sqrt((bread @ score.T @ score @ bread)[1, 1])
        assert [found["cost"], against["difference"]] == pytest.approx([beta.sum(), beta[1]])
        own = loss_interval(loss[inside], bounds=bounds, **{k: v[inside] for k, v in options.items()})
        assert [found["low"], found["high"]] == pytest.approx([own.low, own.high])
        apart = loss_interval(loss, bounds=bounds, strata=inside, shares={True: 1, False: -1},
                              confidence=1 - .05 / 3, **options)
        assert [against["low"], against["high"]] == pytest.approx([apart.low,
                apart.high]) and against["second"] == "the others"
        assert against["high"] - against["low"] > 2 * 2.393980 * error
        assert against["told_apart"] == (against["p_value"] < .05) == (against["low"] >= 0
                or against["high"] <= 0)
        single[name] = against["p_value"]
    assert len(single) == len(between) == 3


def test_the_map_is_the_expected_cost(case):
    y, models = case
    report = evaluate(y, {"good": models["good"], "rule": models["rule"]}, COSTS, rng=0)
    found = report.robustness(cost_ratios=[1, 8, 50], prevalences=[.01, .3, .8])
    assert found.cost.shape == (4, 3, 3) and found.winner.shape == (3, 3)
    counts = confusion_counts(y, models["rule"], classes=COSTS).array
    alarm, miss = counts[0, 1] / counts[0].sum(), counts[1, 0] / counts[1].sum()
    for i, r in enumerate(found.cost_ratios):
        for j, p in enumerate(found.prevalences):
            assert found.cost[1, i, j] == pytest.approx((1 - p) * alarm + p * r * miss)
            assert found.cost[2, i, j] == pytest.approx(p * r) and found.cost[3, i, j] == pytest.approx(1 - p)
    here = report.robustness(cost_ratios=[7.9, 8, 8.1], prevalences=[.2, report.priors[1], .4])
    calibrated = row(report, "good", "calibrated")["cost"]
    assert here.cost[0, 1, 1] == pytest.approx(calibrated)
    assert here.cost[0, 1, 1] >= 0 and "cheapest" in here.words()


@pytest.mark.filterwarnings("error")
def test_the_map_of_weighted_samples_has_an_error_in_every_cell():
    "Where all of a class are wrong the weights add up to 1 + 2e-16, whose variance is none."
    for seed in range(4):
        rng, y = np.random.default_rng(seed), np.arange(200) % 3 == 0
        weight = rng.uniform(.2, 2, 200)
        found = evaluate(y, {"a": rng.random(200) + y, "b": rng.random(200) + .5 * y}, [[0, 1], [5, 0]],
                         sample_weight=weight, rng=0).robustness()
        assert np.isfinite(found.standard_error).all() and (found.standard_error[-2:] == 0).all()


def test_the_map_knows_what_is_noise(case):
    y, models = case
    same = evaluate(y, {"a": models["good"], "b": models["good"]}, COSTS, rng=0).robustness()
    assert not same.sure.any()
    z = evaluate(y, {"good": models["good"], "rule": models["rule"]}, COSTS, rng=0)
    found = z.robustness(cost_ratios=[7.99, 8.01], prevalences=np.array([.999, 1.001]) * z.priors[1])
    y1, y0 = y == "ill", y == "well"
    sample = np.random.default_rng(0)
    cost = []
    decided = by_rule(y, {"good": models["good"], "rule": models["rule"]})["good"] == "treat"
    wrong = {"good": np.where(y1, ~decided, decided), "rule": np.where(y1, models["rule"] == "home",
            models["rule"] == "treat")}
    for _ in range(600):
        draw = np.concatenate([sample.choice(np.flatnonzero(c), c.sum()) for c in (y0, y1)])
        rates = {k: [w[draw][y0[draw]].mean(), w[draw][y1[draw]].mean()] for k, w in wrong.items()}
        cost.append([(1 - z.priors[1]) * a + z.priors[1] * 8 * b for a, b in rates.values()])
    gap = np.diff(cost).ravel()
    assert found.sure[0, 0] == (abs(gap.mean()) > 1.96 * gap.std()), "stratified bootstrap says the same"


def test_rows_and_columns_of_the_map(case):
    """Standard errors are those of two binomials; a column of the map is the net benefit; all of it depends
    on one product."""
    y, models = case
    report = evaluate(y, {"good": models["good"], "rule": models["rule"]}, COSTS, rng=0)
    found = report.robustness(cost_ratios=[1, 4, 8], prevalences=[.1, .3, .5])
    counts = confusion_counts(y, models["rule"], classes=COSTS).array
    n0, n1 = counts.sum(1)
    alarm, miss = counts[0, 1] / n0, counts[1, 0] / n1
    assert found.standard_error[1, 2, 1] == pytest.approx(np.sqrt(.49 * alarm * (1 - alarm) / n0
            + (.3 * 8) ** 2 * miss * (1 - miss) / n1))
    assert (found.standard_error[2:] == 0).all()
    threshold = 1 / (1 + found.cost_ratios)
    benefit = .3 * (1 - miss) - .7 * alarm * threshold / (1 - threshold)
    assert .3 - found.cost[1, :, 1] / found.cost_ratios == pytest.approx(benefit)
    odds = found.prevalences / (1 - found.prevalences)
    line = report.robustness(cost_ratios=np.unique(np.multiply.outer(found.cost_ratios, odds)),
                             prevalences=[.5, .6])
    for i, r in enumerate(found.cost_ratios):
        for j, o in enumerate(odds):
            k = int(np.abs(line.cost_ratios - r * o).argmin())
            assert found.cost[1, i, j] * (1 + o) == pytest.approx(2 * line.cost[1, k, 0]) and found.winner[i,
                    j] == line.winner[k, 0]


def test_other_costs_without_reading_again(case):
    y, models = case[0][:80], {"good": case[1]["good"][:80], "score": Scores(case[1]["score"].values[:80]),
                               "rule": case[1]["rule"][:80]}
    group = np.random.default_rng(3).choice(["a", "b"], 80)
    first = evaluate(y, models, COSTS, groups=group, rng=0)
    other = CostMatrix.binary(fp=2, fn=5, classes=COSTS.classes, decisions=COSTS.decisions)
    own = ExampleCosts(fp=1, fn=np.linspace(1, 20, 80), classes=COSTS.classes, decisions=COSTS.decisions)
    for costs, priors in ((other, [.9, .1]), (own, None), ([[0, 3], [4, 0]], {"ill": .2, "well": .8})):
        wanted = costs if not isinstance(costs, list) else CostMatrix(costs, classes=COSTS.classes,
                decisions=COSTS.decisions)
        assert first.with_costs(costs, priors=priors) == evaluate(y, models, wanted, priors=priors,
                groups=group, rng=0)
    first = evaluate(y, {"rule": models["rule"]}, COSTS, rng=0)
    second, turned = first.with_costs(other), CostMatrix([[0, 5], [2, 0]], classes=["ill", "well"],
            decisions=["treat", "home"])
    for costs in (turned, turned.to_frame(), {"fp": 2, "fn": 5}):
        assert first.with_costs(costs) == second  # labels travel; what has no names goes by position
    columns = {"fp": 1, "fn": np.linspace(1, 20, 80)}
    # whose decisions have names of their own
    some = {name: model for name, model in models.items() if name != "rule"}
    assert evaluate(y, some, columns, positive="ill", rng=0).with_costs({"fp": 2, "fn": 5}) == evaluate(y,
            some, {"fp": 2, "fn": 5}, positive="ill", rng=0)
    assert first.with_costs(columns) == first.with_costs(own)
    for costs, says in ((CostMatrix([[0, 1], [2, 0]], classes=["ill", "sick"]), "costs: classes"),
                        (np.ones((80, 4)) * [1, 2, 0, 0], "ExampleCosts"),
                        (CostMatrix([[0, 1, 1], [2, 0, 1]], classes=["well", "ill"],
                                    decisions=["home", "treat", "ask"]), "costs: decisions"),
                        (ExampleCosts(fp=1, fn=[1., 2.], classes=COSTS.classes, decisions=COSTS.decisions),
                         "of 2 samples")):
        with pytest.raises(ValueError, match=says):
            first.with_costs(costs)


def test_words_name_the_product(case):
    y, models = case
    report = evaluate(y, {"good": models["good"], "rule": models["rule"]}, COSTS, priors=[.8, .2], rng=0)
    assert "cost ratio times odds, here 2:" in report.robustness().words()
    dollars = CostMatrix.binary(fp=12_345, fn=98_765, classes=COSTS.classes, decisions=COSTS.decisions)
    assert "e+0" not in evaluate(y, {"rule": models["rule"]}, dollars, rng=0).summary()


def test_a_class_too_small_to_calibrate():
    y, p = [0] * 30 + [1], np.linspace(.1, .9, 31)
    for rule in ("calibrated", "tuned"):
        report = evaluate(y, {"a": p}, [[0, 1], [5, 0]], rule=rule, rng=0)
        assert set(report.ladder["rule"]) == {"constant", "as given", "bayes", "knows the class"}
        assert report.best["rule"].tolist() == [
            "bayes"] and report.rule == "bayes", "the page names what was done, not what was asked for"
        for said in ("Class 1 has 1 samples: nothing can be calibrated or tuned.",
                     "a: its posteriors were taken at their word.", "by the rule 'bayes'"):
            assert said in report.summary() + " ".join(report.notes)
        assert report.best["cost"][0] == pytest.approx(expected_cost(confusion_counts(y,
                (p > 1 / 6).astype(int)), [[0, 1], [5, 0]]))
        found = evaluate(y, {"a": Scores(10 * p)}, [[0, 1], [5, 0]], rule=rule, rng=0)
        assert ("a: scores need a threshold, so everybody got the decision that is best for everybody."
                in found.notes)
        assert found.best["cost"][0] == pytest.approx(5 / 31) == row(found, "always 0", "constant")["cost"]
    assert report.plot() is not None and "<img" in report.to_html()


def test_costs_without_a_choice():
    assert "nothing can cost less" in evaluate([0, 1] * 20, {"a": [0, 1] * 20}, [[0, 1], [1, 1]],
                                               rng=0).summary()


def test_three_classes_with_abstention():
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], 300)
    p = rng.dirichlet(np.ones(3), 300) * .5 + .5 * (y[:, None] == np.array(["a", "b", "c"]))
    costs = CostMatrix(1 - np.eye(3), classes=["a", "b", "c"]).with_abstain(.2, "ask")
    report = evaluate(y, {"m": pd.DataFrame(p, columns=["a", "b", "c"])}, costs, rng=0)
    counts = confusion_counts(y, bayes_decisions(p, costs, labels=True), classes=costs)
    assert row(report, "m", "bayes")["cost"] == pytest.approx(expected_cost(counts, costs))
    with pytest.raises(ValueError, match="two classes"):
        report.robustness()
    assert report.plot() is not None and "<table" in report.to_html()


Y, P = [0, 1, 0, 1], [.1, .9, .2, .8]
BAD = {
    "infinite": (lambda: evaluate(Y, {"a": Posteriors([.1, np.inf, .2, .3])}, COSTS.array),
                 "0.1 to inf, but probabilities lie in"),
    "twice": (lambda: evaluate(Y, {"a": pd.DataFrame(np.ones((4, 2)) / 2, columns=[0, 0])}, COSTS.array),
              r"\[0, 0\]"),
    "rule of nobody": (lambda: evaluate(Y, {"a": P}, COSTS.array, rule={"b": "tuned"}),
                       "rule: of 'b', but the models are"),
    "one class": (lambda: evaluate([0, 0], {"a": [.1, .2]}, COSTS.array, priors=[.5, .5]), "no sample of 1"),
}


test_bad_input = refuses(BAD)


def test_the_map_spans_two_decades_each_way(case):
    y, models = case
    found = evaluate(y, {"good": models["good"], "bad": models["bad"]}, COSTS, rng=0).robustness()
    ratio, prevalence = found.at
    for values, own in ((found.cost_ratios, ratio), (found.prevalences / (1 - found.prevalences),
                                                     prevalence / (1 - prevalence))):
        np.testing.assert_allclose(values / own, 10 ** np.linspace(-2, 2, 101))


def test_small_classes_are_noted_up_to_29():
    for size, noted in ((29, True), (30, False)):
        y = np.array(["ill"] * size + ["well"] * 200)
        report = evaluate(y, {"m": np.where(np.arange(len(y)) % 7, np.where(y == "ill", "treat", "home"),
                                            "treat")}, COSTS, rng=0)
        assert any(note == f"Class ill has only {size} samples." for note in report.notes) is noted


@pytest.mark.parametrize("axes, said", [({"prevalences": [-.1, .5]}, "prevalences: must lie in"),
                                        ({"prevalences": [.5, 1]}, "prevalences: must lie in"),
                                        ({"cost_ratios": [0, 1]}, "cost_ratios: must lie"),
                                        ({"cost_ratios": [2, 1]}, "cost_ratios: at least two ascending"),
                                        ({"prevalences": [.5]}, "prevalences: at least two"),
                                        ({"cost_ratios": [1, 1]}, "ascending")])
def test_bad_axes_of_the_map(case, axes, said):
    y, models = case
    with pytest.raises(ValueError, match=said):
        evaluate(y, {"rule": models["rule"]}, COSTS, rng=0).robustness(**axes)


def leaves(value):
    "All that stands in nested lists and dictionaries."
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if inner is None else [leaf for part in inner for leaf in leaves(part)]


def test_the_dictionary_holds_the_frames_in_plain_values(case):
    y, models = case
    report, again = (evaluate(y, models, COSTS, priors={"ill": .1, "well": .9}, groups=np.arange(400) % 2,
                              rng=0) for _ in range(2))
    assert report == again, "the same seed, the same report"
    found = report.to_dict()
    assert report.to_frame() is report.ladder
    for name in ("ladder", "differences", "best", "groups"):
        frame, table = getattr(report, name), pd.DataFrame(found[name])
        assert list(table) == list(frame) and len(table) == len(frame) > 0
        for column in frame:
            plain = [None if v != v or v in (np.inf, -np.inf) else v for v in frame[column].tolist()]
            assert [row[column] for row in found[name]] == plain
    assert {type(leaf) for leaf in leaves(found)} <= {str, int, float, bool,
                                                      type(None)} and None in leaves(found)
    assert (found["n"], found["confidence"], found["classes"], found["decisions"]) == (400, .95,
            ["well", "ill"], ["home", "treat"])
    assert found["costs"] == COSTS.array.tolist() and found["priors"] == [.9,
            .1] and found["summary"] == report.summary().split("\n")
    assert found["sample_priors"][1] == pytest.approx(np.mean(y == "ill")) and found["notes"] == list(
        report.notes)
    assert "per case" in repr(report) and "<table" in report._repr_html_()


def test_groups_may_have_labels_of_any_kind():
    assert set(evaluate(Y, {"a": P}, COSTS.array, groups=[1, "a", "a", 1], rng=0).groups["group"]) == {1, "a"}


@pytest.mark.parametrize("y, priors", [(Y, [1, 0]), ([1, 1, 1, 1], None), ([0, 0, 0, 0], None)])
def test_without_both_classes_there_is_no_map_and_the_page_does_without(y, priors, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = evaluate(y, {"a": P}, COSTS.array, priors=priors, rng=0)
        report.to_html(tmp_path / "r.html")
        assert "<table" in (tmp_path / "r.html").read_text()
        with pytest.raises(ValueError, match="robustness: the map needs both classes"):
            report.robustness()


def test_a_page_of_scores_that_separate_the_classes_warns_of_nothing(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(y, {"s": .5 * y + .5 * rng.random(60)}, [[0, 1], [9, 0]], rng=0).to_html(tmp_path / "r.html")


def test_the_breakdown_is_told_cell_by_cell():
    "By hand: what each cell costs, and no row for a cell that costs nothing."
    y, d = np.repeat([0, 0, 1, 1], [6, 3, 2, 4]), np.repeat([0, 1, 0, 1], [6, 3, 2, 4])
    found = evaluate(y, {"a": d}, [[0, 1], [5, 0]], rng=0).breakdown()
    cells = found[found["part"] == "cell"]
    assert cells["n"].tolist() == [3, 2] and cells["cost"].to_numpy() == pytest.approx([3 / 15, 10 / 15])
    # two cells and two classes, held together
    few, many = (stats.binomtest(k, 15).proportion_ci(1 - .05 / 4, "exact") for k in (3, 2))
    assert [*cells["low"], cells["high"].iloc[1]] == pytest.approx([few.low, 5 * many.low, 5 * many.high])


@pytest.mark.parametrize("grouped", [False, True])
def test_areas_and_their_intervals_are_delongs(grouped):
    "From all pairs; what samples of one cluster add to the error adds up."
    rng = np.random.default_rng(0)
    y, who = np.repeat([0, 1], [50, 30]), rng.integers(0, 25, 80)
    score = rng.integers(0, 9, 80) + 2 * y
    wins = (score[y == 1][:, None] > score[y == 0]) + (score[y == 1][:, None] == score[y == 0]) / 2
    area = roc_auc_score(y, score)
    off = np.concatenate([(wins.mean(0) - area) / 50, (wins.mean(1) - area) / 30])
    sums = np.array([off[who == w].sum() for w in np.unique(who)]) if grouped else off
    reach = stats.norm.ppf(.975) * np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / (area
            * (1 - area))
    found = evaluate(y, {"d": y, "s": Scores(score)}, CostMatrix.binary(fp=1, fn=5), clusters=who if grouped
                     else None, rng=0).areas
    assert found.values.tolist() == [["s", *(pytest.approx(v)
                                             for v in (area, *expit(logit(area) + [-reach, reach])))]]


def test_one_sample_of_a_class_has_an_area_and_none_has_not():
    costs, score = CostMatrix.binary(fp=1, fn=5), Scores([2., 1., 4., 3.])
    assert evaluate([0, 0, 0, 1], {"s": score}, costs, rng=0).areas["auc"].tolist() == [pytest.approx(2 / 3)]
    assert len(evaluate([1] * 4, {"s": score}, costs, rng=0).areas) == 0


def test_a_group_that_lacks_a_class_is_not_judged_at_the_priors():
    """And is compared at its own shares only; its one sample has the interval of one sample, with weights or
    without."""
    y, d, group = [0] * 19 + [1, 0], [0, 1] * 10 + [1], ["a"] * 20 + ["b"]
    for weights in ({}, {"sample_weight": np.ones(21)}):
        report = evaluate(y, {"m": d}, [[0, 2], [5, 1]], groups=group, rng=0, **weights)
        a, b = report.groups.to_dict("records")
        assert (a["cost"], a["cost_at_priors"]) == pytest.approx(((9 * 2 + 1) / 20, 20 / 21 * 18 / 19
                + 1 / 21)) and b["cost"] == 2
        assert np.isnan([b[name] for name in ("cost_at_priors", "low_at", "high_at")]).all()
        assert report.group_differences[["what", "shares"]].values.tolist() == [["cost", "each group's own"],
                ["FPR", "within the class"]]
        one = interval([[0, 1], [0, 0]], [[0, 2], [5, 1]])
        assert [b["low"], b["high"]] == pytest.approx([one.low, one.high]) and one.low > 0
    weightless = evaluate(y + y, {"m": d + d}, [[0, 2], [5, 1]], groups=group + ["c"] * 21,
                          sample_weight=np.repeat([1, 0], 21), rng=0)
    assert list(weightless.groups["group"]) == ["a", "b"] and weightless.group_differences.query(
        "what == 'cost'")["first"].tolist() == ["a"]
    alone, other = (evaluate(y[:20] * 2, {"m": d[:20] * 2}, [[0, 2], [5, 1]], groups=["a"] * 20 + ["b"] * 20,
                             rng=0, sample_weight=w).group_differences for w in (None, np.ones(40)))
    assert alone["shares"][1] == "the deployment's"
    pd.testing.assert_frame_equal(alone, other)


def test_missing_labels_leave_the_rows_that_have_one():
    """Whatever holds a row for each sample: the report is that of the labelled rows, weighted by one over the
    chance of a label; what can occur
    is that of all rows: their heaviest unit, and amounts of rows without a label.
    """
    rng = np.random.default_rng(0)
    y, p, d, chance = np.arange(90) % 2, rng.random(90), rng.integers(0, 2, 90), rng.uniform(.3, 1, 90)
    has = np.flatnonzero(rng.random(90) < chance)
    part = np.where(np.isin(np.arange(90), has), y, np.nan)
    fn, who, group, fold = rng.uniform(1, 9, 90), np.arange(90) // 2, np.where(d, "x",
            "y"), np.arange(90) // 2 % 3
    heaviest = np.bincount(who, 1 / chance).max()
    for costs, few in ((ExampleCosts(fp=1, fn=fn), ExampleCosts(fp=1, fn=fn[has])), ([[0, 1], [5, 0]],) * 2):
        given = {"clusters": who.tolist(), "groups": pd.Series(group), "folds": fold}
        found = evaluate(part, {"p": Posteriors(p), "s": pd.Series(8 * p), "d": d.tolist()}, costs,
                         propensity=chance, rng=0, **given)
        here = evaluate(y[has], {"p": Posteriors(p[has]), "s": 8 * p[has], "d": d[has]}, few,
                        sample_weight=1 / chance[has], clusters=who[has], groups=group[has], folds=fold[has],
                        heaviest=heaviest, rng=0)
        for table in ("ladder", "differences", "groups", "areas"):
            one, other = getattr(found, table), getattr(here, table)
            if isinstance(costs, ExampleCosts) and table != "areas":
                for end, sign in ((end, sign) for end, sign in zip(("low", "high", "low_at", "high_at"),
                        (1, -1, 1, -1)) if end in one):
                    assert (sign * one[end] <= sign * other[end] + 1e-9)[one[end].notna()].all()
                one, other = ([column for column in each if not column.startswith(("low", "high", "p_value"))]
                              for each in (one, other))
                one, other = getattr(found, table)[one], getattr(here, table)[other]
            pd.testing.assert_frame_equal(one, other)


def test_missing_labels_leave_the_table_of_costs_as_it_is():
    rng = np.random.default_rng(0)
    y, p, chance = rng.integers(0, 2, 90).astype(object), rng.random(90), np.full(90, .5)
    y[45:] = None
    table = np.array([[0, 1], [5, 0]])
    one = evaluate(y, {"p": p}, CostMatrix(table), propensity=chance, rng=0)
    for costs in (table, table.tolist(), pd.DataFrame(table), {"fp": 1, "fn": 5}):
        assert evaluate(y, {"p": p}, costs, propensity=chance, rng=0).best.equals(one.best)
    each = [evaluate(y, {"p": p}, costs, propensity=chance, rng=0).best
            for costs in ({"fp": 1, "fn": np.full(90, 5)}, pd.DataFrame({"fp": np.ones(90), "fn": 5}),
                          ExampleCosts(fp=np.ones(90), fn=5))]
    assert all(found.equals(each[0]) for found in each)
    three = [[0, 1, 3], [5, 0, 3], [9, 9, 0]]  # as many classes as rows up to the last one with a label
    given = {"d": Decisions([1, 1, 1, 1])}
    pd.testing.assert_frame_equal(evaluate([None, 1, 0, None], given, three, propensity=1, rng=0).ladder,
                                  evaluate([1, 0], {"d": Decisions([1, 1])}, three, sample_weight=[1, 1], rng=0).ladder)


@pytest.mark.parametrize("length", [70, 100])
def test_missing_labels_hide_no_other_length(length):
    "Of 90 samples 60 have a label, so that the labelled rows of 70 and of 100 values could be taken."
    y = np.where(np.arange(90) < 60, np.arange(90) % 2, np.nan)
    whole, other = np.linspace(0, 1, 90), np.linspace(0, 1, length)
    given = {"models": {"p": whole}, "costs": [[0, 1], [5, 0]]}
    for name, value, said in (("models", {"p": other}, r"models\['p'\]"), ("models",
            pd.DataFrame({"p": other}), "models"), ("models", Posteriors(other), r"models\['model'\]"),
                              ("costs", {"fp": 1, "fn": 1 + other}, "costs"), ("costs",
            ExampleCosts(fp=1, fn=1 + other), "costs"), ("clusters", other, "clusters"),
                              ("groups", other > .5, "groups"), ("folds", np.arange(length) % 3, "folds"),
                              ("sample_weight", other, "sample_weight")):
        with pytest.raises(ValueError,
                           match=f"{said}: .*{length} .* 90"):
            evaluate(y, propensity=.5, rng=0, **given | {name: value})


def test_missing_labels_hide_no_other_order():
    rng = np.random.default_rng(0)
    rows, customers = rng.permutation(90), [f"c{k}" for k in range(90)]
    y, p = pd.Series(np.where(np.arange(90) < 60, np.arange(90) % 2, np.nan),
                     index=customers), pd.Series(rng.random(90), index=customers)
    costs, chance = [[0, 1], [5, 0]], pd.Series(rng.uniform(.3, 1, 90), index=customers)
    found = evaluate(y, {"p": p}, costs, propensity=chance, rng=0)
    for labels, models, propensity in ((y, {"p": p.iloc[rows]}, chance), (y.to_numpy(), {"p": p},
            chance.iloc[rows]), (y.to_numpy(), {"p": p, "q": p.iloc[rows]}, .5)):
        with pytest.raises(ValueError, match="its index has the rows of .* in another order"):
            evaluate(labels, models, costs, propensity=propensity, rng=0)
    numbered = evaluate(y.reset_index(drop=True), {"p": p}, costs, propensity=chance.to_numpy(), rng=0)
    assert numbered.best.equals(found.best) and "were taken in the order they stand in" in " ".join(
        numbered.notes)


@pytest.mark.parametrize("own", [False, True])
def test_the_approximate_lines_are_those_of_the_engine(own):
    """Of costs, of savings and of differences, the last two held together; with own costs given these rows'
    amounts; both are named."""
    rng = np.random.default_rng(4)
    y = (rng.random(3000) < .2).astype(int)
    a, b = (np.where(rng.random(3000) < wrong, 1 - y, y) for wrong in (.06, .1))
    fn = rng.lognormal(1, .5, 3000) if own else np.full(3000, 4.)
    costs = ExampleCosts(fp=1, fn=fn) if own else CostMatrix.binary(fp=1, fn=4)
    report = evaluate(y, {"a": Decisions(a), "b": Decisions(b)}, costs, rng=0)
    lines, paid, zero = report.approximate.set_index(["question", "model", "against"]), [losses(y, d, costs)
            for d in (a, b, 0 * y)], np.zeros(3000)
    most = np.maximum(fn, 1)
    expected = {("cost", "a", ""): loss_interval(paid[0], bounds=(zero, most)),
                ("saving", "a", "always 0"): loss_difference(paid[2], paid[0], bounds=(-np.ones(3000), fn),
            confidence=.975),
                ("difference", "a", "b"): loss_difference(paid[0], paid[1], bounds=(-most, most))}
    for key, found in expected.items():
        line, known = lines.loc[key], found.approximate
        assert np.allclose([line["low"], line["high"], line["costly_cases"]],
                           [known.low, known.high, known.seen])
        assert np.isnan(line["p_value"]) if key[0] == "cost" else np.isclose(line["p_value"],
                known.p_value * (2 if key[0] == "saving" else 1))
    assert report.summary().count("(approximate)") == 2 and "approximate" not in report.ladder
    few = evaluate(y[:40], {"a": Decisions(a[:40])}, CostMatrix.binary(fp=1, fn=4000), rng=0)
    assert np.isnan(few.approximate["low"][
        0]) and "too few costly cases for an approximate line" in few.summary()
    by_t = evaluate(y, {"a": a, "b": b}, costs, method="normal", rng=0).summary()
    assert "(method 'normal')" in by_t and "conservative" not in by_t
    assert report.guarantee == loss_interval(paid[0], bounds=(0, 9e9)).guarantee
    assert evaluate(y, {"a": .2 + .6 * a}, costs, rng=0).guarantee.startswith("measured at best")


@pytest.mark.parametrize("more", [{}, {"weights": True}, {"priors": [.7, .3]}, {"clusters": True}])
def test_a_group_of_one_row_stops_no_report(more):
    """Of a group too small for the method there is no interval; the others have theirs, and the comparisons
    that can be made."""
    draws = np.random.default_rng(0)
    y, group = draws.integers(0, 2, 101), np.array(["a", "b"] * 50 + ["c"])
    d = np.where(draws.random(101) < .2, 1 - y, y)
    options = {"sample_weight": draws.random(101) + .5} if "weights" in more else {
        "clusters": np.arange(101) // 2} if "clusters" in more else more
    report = evaluate(y, {"m": Decisions(d)}, [[0, 1], [5, 0]], groups=group, method="normal", rng=0, **options)
    table = report.groups.set_index("group")
    assert np.isnan(table.loc["c", ["low", "high"]].astype(float)).all() and table.loc[["a", "b"],
            ["low", "high"]].notna().all(axis=None)
    assert table.loc["c", "cost"] == [[0, 1], [5, 0]][y[-1]][d[-1]]
    assert set(report.group_differences["first"]) == {"a", "b"}
    pair = evaluate(y[98:], {"m": Decisions(d[98:])}, [[0, 1], [5, 0]], groups=np.array(["b", "b", "c"]),
                    method="normal", rng=0)
    assert len(pair.groups) == 2 and not len(pair.group_differences)


def test_what_nobody_declared_is_computed_when_it_is_asked_for(case, monkeypatch):
    (y, models), asked = case, []
    decide = CrossFit.decide
    monkeypatch.setattr(CrossFit, "decide", lambda self, name, rule, **options: asked.append(rule)
                        or decide(self, name, rule, **options))
    report = evaluate(y, models, COSTS, rng=0)
    report.summary()
    assert set(asked) == {"calibrated", "bayes"}  # the second says whether posteriors look miscalibrated
    assert set(report.ladder["rule"]) >= {*RULES} and set(asked) == {*RULES}
    seen = len(asked)
    assert len(report.alternatives) and report.ladder is report.ladder and len(asked) == seen


@pytest.mark.parametrize("options", [{}, {"priors": [.9, .1]}, {"draws": 3}, {"groups": True, "draws": 2}])
def test_rows_that_are_counted_are_the_rows(case, monkeypatch, options):
    """Equal rows stand for each other wherever nothing but counts matters: the report is that of the single
    rows."""
    y, models = case
    options = options | ({"groups": np.arange(400) % 3} if "groups" in options else {})
    counted = evaluate(y, models, COSTS, rng=0, **options)
    assert len(counted._few[0].y) < 200 and counted._few[0].n == 400
    monkeypatch.setattr(report_module, "_condensed", lambda *given: given)
    single = evaluate(y, models, COSTS, rng=0, **options)
    assert len(single._few[
        0].y) == 400 and counted.summary() == single.summary() and counted.notes == single.notes
    for name in ("best", "ladder", "differences", "against_constant", "groups", "group_differences",
                 "alternatives", "approximate"):
        pd.testing.assert_frame_equal(getattr(counted, name), getattr(single, name), rtol=1e-10)
    pd.testing.assert_frame_equal(counted.breakdown(), single.breakdown(), rtol=1e-10)


def _with_scores(n=300, draws=6, **options):
    "A report of scores and of posteriors, and its draws of the scores' decisions."
    rng = np.random.default_rng(5)
    y = (rng.random(n) < 0.3).astype(int)
    scores, group = rng.normal(size=n) + 2 * y, np.where(rng.random(n) < 0.5, "f", "m")
    models = {"s": Scores(scores), "p": expit(scores + rng.normal(size=n) - 1)}
    found = evaluate(y, models, [[0, 1], [5, 0]], groups=group, draws=draws, rng=0, **options)
    fits = CrossFit(read_samples(y, models, [[0, 1], [5, 0]]), draws=found.draws, rng=0)
    return found, y, group, fits.decide("s").decisions


def _middle(low, high):
    "The middle one of each, of an even number the outer one."
    return np.sort(low, 0)[(len(low) - 1) // 2], np.sort(high, 0)[len(high) // 2]


def test_draws_of_scores_are_tested_one_by_one():
    "The middle of the ends at half the level, and twice the middle p-value, by the engine on each draw."
    found, y, group, draws = _with_scores()
    counts = np.stack([np.bincount(2 * y + d, minlength=4).reshape(2, 2) for d in draws])
    alone = interval(counts, [[0, 1], [5, 0]], confidence=0.975)
    row = found.best.set_index("model").loc["s"]
    assert np.allclose(row[["low", "high"]].to_numpy(float), _middle(alone.low, alone.high), atol=1e-12)
    assert np.isclose(row["cost"], alone.mean.mean())
    constant = np.full(len(y), found.decisions.index(int(found.against_constant["against"][0][-1])))
    prices = np.array([[0, 1], [5, 0]])
    ends = attainable(prices, int(constant[0]), [0, 1])
    each = [loss_difference(prices[y, constant], prices[y, d], bounds=ends, confidence=1 - 0.05 / 2 / 2) for d in draws]
    single = pd.concat([one.to_frame() for one in each])
    saving = found.against_constant.set_index("model").loc["s"]
    low, high = _middle(single.low, single.high)
    assert np.allclose(saving[["low", "high"]].to_numpy(float), [low, high], atol=1e-12)
    p = 2 * np.sort(single.p_value)[len(draws) // 2]
    assert saving["p_value"] in (pytest.approx(p), pytest.approx(2 * p)) and saving["told_apart"]
    for label in "fm":
        of = np.stack([np.bincount(2 * y[group == label] + d[group == label], minlength=4) for d in draws])
        alone = interval(of.reshape(-1, 2, 2), [[0, 1], [5, 0]], confidence=0.975)
        table = found.groups[(found.groups["group"] == label) & (found.groups["model"] == "s")]
        assert np.allclose(table[["low", "high"]].to_numpy()[0], _middle(alone.low, alone.high), atol=1e-12)


def test_weights_of_one_change_nothing_where_draws_are_merged():
    (one, *_), all_ = _with_scores(), ("best", "differences", "against_constant", "groups",
                                       "group_differences")
    for given, tables in ({"sample_weight": np.ones(300)}, all_), ({"clusters": np.arange(300)}, all_[:3]):
        other, *_ = _with_scores(**given)
        for table in tables:
            pd.testing.assert_frame_equal(getattr(one, table), getattr(other, table), atol=1e-7, rtol=1e-6)
        pd.testing.assert_frame_equal(one.breakdown(), other.breakdown(), atol=1e-9, rtol=1e-9)


def test_a_rule_in_steps_moves_no_other():
    "The interval of calibrated posteriors is that of the mean of draws, whoever stands beside them."
    rng = np.random.default_rng(2)
    y = (rng.random(200) < 0.4).astype(int)
    score = rng.normal(size=200) + y
    ends = [
        evaluate(y, models, [[0, 1], [5, 0]], draws=5, rng=0).best.set_index("model").loc["p",
            ["low", "high"]]
        for models in ({"p": expit(score)}, {"p": expit(score), "s": Scores(score)})
    ]
    assert np.allclose(*[one.to_numpy(float) for one in ends])
    tuned = evaluate(y, {"p": expit(score)}, [[0, 1], [5, 0]], rule="tuned", draws=5, rng=0)
    assert "merged" in tuned.guarantee and "merged" not in evaluate(y, {"p": y * 1.0},
            [[0, 1], [5, 0]]).guarantee


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_the_unit_of_costs_moves_no_draw(unit):
    "The Monte Carlo error of 1e300 overflowed, that of 1e-300 was 0."
    y = np.tile([0, 0, 1, 0, 1], 40)
    p = expit(np.random.default_rng(1).normal(size=200) + y)
    one, other = (evaluate(y, {"p": p}, [[0, u], [5 * u, 0]], draws=None, rng=0) for u in (1.0, unit))
    columns = ["cost", "low", "high", "draw_error"]
    assert one.draws == other.draws and one.best["draw_error"][0] > 0
    assert np.allclose(one.best[columns].to_numpy(float), other.best[columns].to_numpy(float) / unit)
