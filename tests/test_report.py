"""The report: its numbers against the chapters' own functions and other packages, and what it refuses."""
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit
from sklearn.metrics import precision_score, recall_score, roc_auc_score

from asked import best_of, simultaneous_differences
from conftest import refuses
from cost_eval import report as report_module
from cost_eval.bootstrap import difference, independent_difference, interval, loss_difference, loss_interval
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.costs import CostMatrix, ExampleCosts, attainable, losses
from cost_eval.decisions import bayes_decisions, best_threshold
from cost_eval.metrics import expected_cost, normalized_expected_cost
from cost_eval.policies import RULES, CrossFit
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Posteriors, Scores, read_samples

evaluate = partial(evaluate, draws=1)  # whose subject are not the draws of the folds (test_policies)
COSTS = CostMatrix.binary(fp=1, fn=8, classes=["well", "ill"], decisions=["home", "treat"])
PLAIN = [[0, 1], [5, 0]]


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


@pytest.fixture(scope="module")
def pair(case):
    "The report on a model that is calibrated and one that decides."
    y, models = case
    return evaluate(y, {"good": models["good"], "rule": models["rule"]}, COSTS, rng=0)


def row(report, model, rule):
    return report.ladder.set_index(["model", "rule"]).loc[(model, rule)]


def by_rule(y, models, rule="calibrated", **options):
    "Labels of the decisions of all models that can follow a rule, from the module that decides."
    fits = CrossFit(read_samples(y, models, COSTS), rng=0)
    able = [name for name in models if rule in fits.rules(name) or fits.rules(name) == ("as given",)]
    return {name: np.array(COSTS.decisions)[fits.decide(name, rule, **options).decisions] for name in able}


@pytest.mark.parametrize("priors", [None, {"ill": .05, "well": .95}])
def test_the_ladder_is_the_expected_cost(case, priors):
    y, models = case
    report, shares = evaluate(y, models, COSTS, priors=priors, rng=0), dict(pd.Series(y).value_counts(True))
    decided = {(name, rule): of for rule in ("calibrated", "tuned")
               for name, of in by_rule(y, models, rule, priors=priors).items() if name != "rule"}
    moved = {} if priors is None else {"priors": priors, "train_priors": shares}
    for name in ("good", "bad"):
        p = np.column_stack([1 - models[name], models[name]])
        decided[name, "bayes"] = bayes_decisions(p, COSTS, labels=True, **moved)
    decided["rule", "as given"] = models["rule"]
    for rung, labels in decided.items():
        counts, found = confusion_counts(y, labels, classes=COSTS), row(report, *rung)
        ends = interval(counts, COSTS, priors=priors)
        nec = normalized_expected_cost(counts, COSTS, priors=priors)
        wanted = [expected_cost(counts, COSTS, priors=priors), nec, ends.low, ends.high]
        assert found[["cost", "nec", "low", "high"]].tolist() == pytest.approx(wanted)
        if priors is None:
            both = y == "ill", np.asarray(labels) == "treat"
            assert found["recall"] == pytest.approx(recall_score(*both))
            assert found["precision"] == pytest.approx(precision_score(*both))
    main = report.ladder[report.ladder["main"]]
    assert list(main["model"]) == list(models) and list(main["rule"]) == ["calibrated"] * 3 + ["as given"]
    assert row(report, "oracle", "knows the class")["cost"] == 0
    ill = shares["ill"] if priors is None else .05
    assert row(report, "always home", "constant")["cost"] == pytest.approx(8 * ill)


def test_all_that_is_uncertain_of_a_constant_is_the_frequency(case):
    "By SciPy: Clopper and Pearson's interval, at the level that was asked for."
    y, models = case
    ends = stats.binomtest(int((y == "ill").sum()), 400).proportion_ci(.8, "exact")
    found = row(evaluate(y, {"rule": models["rule"]}, COSTS, confidence=.8, rng=0), "always home", "constant")
    assert [found["low"], found["high"]] == pytest.approx([8 * ends.low, 8 * ends.high])


@pytest.mark.parametrize("confidence", [.95, .6])
def test_differences_are_the_paired_method(case, confidence):
    y, models = case
    decided = by_rule(y, models)
    two, several = (evaluate(y, some, COSTS, confidence=confidence, rng=0)
                    for some in ({"good": models["good"], "rule": models["rule"]}, models))
    joint = joint_counts(y, decided["good"], models["rule"], classes=COSTS)
    method, found = difference(joint, COSTS, confidence=confidence), two.differences.iloc[0]
    gap = expected_cost(joint.first, COSTS) - expected_cost(joint.second, COSTS)
    told = found[["difference", "low", "high", "p_value"]].tolist()
    assert told == pytest.approx([gap, method.low, method.high, method.p_value])
    together = simultaneous_differences(y, decided, COSTS, confidence=confidence)
    for column, name in (("first", "model"), ("second", "against"), ("told_apart", "told_apart")):
        assert several.differences[column].tolist() == getattr(together, name).tolist()
    for column, name in (("difference", "estimate"), *((one, one) for one in ("low", "high", "p_value"))):
        assert several.differences[column].tolist() == pytest.approx(getattr(together, name).tolist())
    chosen, winner = best_of(y, decided, COSTS, confidence=confidence, rng=0), several.winner
    assert winner.model.tolist() == chosen.model.tolist()
    assert several.best["model"].tolist() == chosen.model[1:].tolist()
    for name in ("estimate", "low", "high"):
        assert getattr(winner, name) == pytest.approx(getattr(chosen, name))
    assert several.best["low"].tolist() == pytest.approx(chosen.low[1:].tolist())


@pytest.mark.parametrize("capacity", [3, 9, 10, 11, .1, .3])
def test_the_oracle_takes_what_its_capacity_holds_and_not_one_less(capacity):
    y, p = np.arange(30) < 10, np.random.default_rng(0).random(30)
    oracle = row(evaluate(y, p, dict(fp=1, fn=8), capacity=capacity, rng=0), "oracle", "knows the class")
    held = capacity if isinstance(capacity, int) else round(30 * capacity)
    assert oracle["cost"] == pytest.approx(8 * max(10 - held, 0) / 30)


def test_a_tuned_threshold_is_not_judged_on_its_own_data(case):
    "Of noise it would look better than the constant decision there."
    y, models = case
    noise, even = np.random.default_rng(1).normal(size=400), CostMatrix(COSTS.array * [[1, 1], [2.81 / 8, 1]],
            classes=COSTS.classes, decisions=COSTS.decisions)  # both constants cost about the same
    report = evaluate(y, {"noise": noise, "score": models["score"]}, COSTS, rule="tuned", rng=0)
    naive = min(row(report, f"always {label}", "constant")["cost"] for label in COSTS.decisions)
    for rule in ("tuned", "calibrated"):
        found = row(report, "noise", rule)["cost"]
        assert found >= naive >= best_threshold(y == "ill", noise, COSTS.array).cost
    draws = [row(evaluate(y, {"noise": noise}, even, rule="tuned", rng=seed), "noise", "tuned")["cost"]
             for seed in range(4)]
    assert np.mean(draws) > best_threshold(y == "ill", noise, even.array).cost + .01
    whole = best_threshold(y == "ill", models["score"].values, COSTS.array)
    told = row(report, "score", "tuned")[["threshold", "same_from", "same_to"]].tolist()
    assert told == pytest.approx([whole.threshold, whole.low, whole.high])


# ---- groups

def test_groups_are_at_their_own_shares_and_at_the_deployments(case):
    y, models = case
    group, rule = np.arange(400) % 2, {"rule": models["rule"]}
    tables = [confusion_counts(y[group == g], models["rule"][group == g], classes=COSTS) for g in (0, 1)]
    shifted, plain = (evaluate(y, rule, COSTS, groups=group, priors=priors, rng=0)
                      for priors in ([.9, .1], None))
    own = [c for c in plain.groups if not c.endswith(("_at", "at_priors"))]
    pd.testing.assert_frame_equal(shifted.groups[own], plain.groups[own])
    for report, priors in ((shifted, [.9, .1]), (plain, plain.sample_priors)):
        found = report.groups.set_index("group")
        for g, counts in enumerate(tables):
            at = interval(counts, COSTS, priors=priors)
            wanted = [expected_cost(counts, COSTS, priors=priors), at.low, at.high]
            assert found.loc[g, ["cost_at_priors", "low_at", "high_at"]].tolist() == pytest.approx(wanted)
            wrong = counts.array[[0, 1], [1, 0]] / counts.array.sum(1)
            assert found.loc[g, ["fpr", "fnr"]].tolist() == pytest.approx(wrong)
        for shares, given in (("each group's own", None), ("the deployment's", priors)):
            between = report.group_differences.set_index("shares").loc[[shares]]
            assert between[["first", "second"]].values.tolist() == [[0, "1"]], "two groups are compared once"
            method = independent_difference(*tables, COSTS, priors=given)
            told = between[["difference", "low", "high", "p_value"]].values[0]
            assert told == pytest.approx([method.mean, method.low, method.high, method.p_value])


@pytest.mark.parametrize("how", ["rows", "clusters", "weighted clusters"])
def test_groups_of_weighted_and_clustered_samples(case, how):
    """Costs and differences are those of a weighted regression on membership; ends are those of the engine,
    and wider than Wald's."""
    y, models = case
    rng = np.random.default_rng(4)
    group, cluster = rng.choice(["a", "b", "c"], 400, p=[.6, .3, .1]), rng.integers(0, 90, 400)
    options = {} if how == "rows" else {"clusters": cluster}
    if how == "weighted clusters":
        options["sample_weight"] = rng.uniform(.2, 3, 400)
    weight, cluster = options.get("sample_weight", np.ones(400)), options.get("clusters", np.arange(400))
    report = evaluate(y, {"rule": models["rule"]}, COSTS, groups=group, rng=0, **options)
    table, between = report.groups.set_index("group"), report.group_differences
    between = between[between["shares"] == "each group's own"].set_index("first")
    loss, bounds = losses(y, models["rule"], COSTS), (COSTS.array.min(), COSTS.array.max())
    assert len(between) == 3 and set(between["second"]) == {"the others"}
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
        apart = loss_interval(loss, bounds=bounds, strata=inside, shares={True: 1, False: -1},
                              confidence=1 - .05 / 3, **options)
        for told, wanted in ((found, own), (against, apart)):
            assert [told["low"], told["high"]] == pytest.approx([wanted.low, wanted.high])
        assert against["high"] - against["low"] > 2 * 2.393980 * error
        outside = against["low"] >= 0 or against["high"] <= 0
        assert against["told_apart"] == (against["p_value"] < .05) == outside


def test_a_group_that_lacks_a_class_is_not_judged_at_the_priors():
    """And is compared at its own shares only; its one sample has the interval of one sample, with weights or
    without."""
    costs, y, d, group = [[0, 2], [5, 1]], [0] * 19 + [1, 0], [0, 1] * 10 + [1], ["a"] * 20 + ["b"]
    one = interval([[0, 1], [0, 0]], costs)
    for weights in ({}, {"sample_weight": np.ones(21)}):
        report = evaluate(y, {"m": d}, costs, groups=group, rng=0, **weights)
        a, b = report.groups.to_dict("records")
        at = 20 / 21 * 18 / 19 + 1 / 21
        assert (a["cost"], a["cost_at_priors"]) == pytest.approx(((9 * 2 + 1) / 20, at)) and b["cost"] == 2
        assert np.isnan([b[name] for name in ("cost_at_priors", "low_at", "high_at")]).all()
        told = report.group_differences[["what", "shares"]].values.tolist()
        assert told == [["cost", "each group's own"], ["FPR", "within the class"]]
        assert [b["low"], b["high"]] == pytest.approx([one.low, one.high]) and one.low > 0
    weightless = evaluate(y + y, {"m": d + d}, costs, groups=group + ["c"] * 21, rng=0,
                          sample_weight=np.repeat([1, 0], 21))
    assert list(weightless.groups["group"]) == ["a", "b"]


# ---- the map

def test_the_map_is_the_expected_cost(pair, case):
    """Standard errors are those of two binomials; a column is the net benefit; all of it depends on one
    product."""
    y, models = case
    counts = confusion_counts(y, models["rule"], classes=COSTS).array
    n0, n1 = counts.sum(1)
    alarm, miss = counts[0, 1] / n0, counts[1, 0] / n1
    found = pair.robustness(cost_ratios=[1, 8, 50], prevalences=[.01, .3, .8])
    assert found.cost.shape == (4, 3, 3) and found.winner.shape == (3, 3)
    odds = found.prevalences / (1 - found.prevalences)
    products = np.multiply.outer(found.cost_ratios, odds)
    line = pair.robustness(cost_ratios=np.unique(products), prevalences=[.5, .6])
    for i, r in enumerate(found.cost_ratios):
        for j, p in enumerate(found.prevalences):
            wanted = [(1 - p) * alarm + p * r * miss, p * r, 1 - p]
            assert found.cost[1:, i, j] == pytest.approx(wanted)
            error = (1 - p)**2 * alarm * (1 - alarm) / n0 + (p * r)**2 * miss * (1 - miss) / n1
            assert found.standard_error[1:, i, j] == pytest.approx([np.sqrt(error), 0, 0])
            k = int(np.abs(line.cost_ratios - products[i, j]).argmin())
            assert wanted[0] * (1 + odds[j]) == pytest.approx(2 * line.cost[1, k, 0])
            assert found.winner[i, j] == line.winner[k, 0]
    threshold = 1 / (1 + found.cost_ratios)
    benefit = .3 * (1 - miss) - .7 * alarm * threshold / (1 - threshold)
    assert .3 - found.cost[1, :, 1] / found.cost_ratios == pytest.approx(benefit)
    here = pair.robustness(cost_ratios=[7.9, 8, 8.1], prevalences=[.2, pair.priors[1], .4])
    assert here.cost[0, 1, 1] == pytest.approx(row(pair, "good", "calibrated")["cost"])
    whole = pair.robustness()  # two decades each way
    for values, own in ((whole.cost_ratios, whole.at[0]),
                        (whole.prevalences / (1 - whole.prevalences), whole.at[1] / (1 - whole.at[1]))):
        np.testing.assert_allclose(values / own, 10 ** np.linspace(-2, 2, 101))


def test_the_map_knows_what_is_noise(case, pair):
    "As a stratified bootstrap does; a model leads nowhere against itself."
    y, models = case
    same = evaluate(y, {"a": models["rule"], "b": models["rule"]}, COSTS, rng=0).robustness()
    assert not same.sure[same.winner < 2].any()
    found = pair.robustness(cost_ratios=[7.99, 8.01], prevalences=np.array([.999, 1.001]) * pair.priors[1])
    decided = by_rule(y, {"good": models["good"]})["good"]
    gap = losses(y, decided, COSTS) - losses(y, models["rule"], COSTS)
    rows, sample = [np.flatnonzero(y == name) for name in COSTS.classes], np.random.default_rng(0)
    drawn = [gap[np.concatenate([sample.choice(of, len(of)) for of in rows])].mean() for _ in range(600)]
    assert found.sure[0, 0] == (abs(np.mean(drawn)) > 1.96 * np.std(drawn))


@pytest.mark.parametrize("y, priors", [([0, 1, 0, 1], [1, 0]), ([1, 1, 1, 1], None), ([0, 0, 0, 0], None)])
def test_without_both_classes_there_is_no_map_and_the_page_does_without(y, priors):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = evaluate(y, {"a": [.1, .9, .2, .8]}, COSTS.array, priors=priors, rng=0)
        assert "<table" in report.to_html()
    with pytest.raises(ValueError, match="robustness: the map needs both classes"):
        report.robustness()


# ---- other costs, other classes

def test_other_costs_without_reading_again(case):
    y, models = case[0][:80], {"good": case[1]["good"][:80], "rule": case[1]["rule"][:80]}
    labels, group = {"classes": COSTS.classes, "decisions": COSTS.decisions}, np.arange(80) % 3
    other, miss = CostMatrix([[0, 2], [5, 0]], **labels), np.linspace(1, 20, 80)
    own = ExampleCosts(fp=1, fn=miss, **labels)
    first = evaluate(y, models, COSTS, groups=group, rng=0)
    for costs, priors in ((other, [.9, .1]), (own, None), (other, {"ill": .2, "well": .8})):
        again = evaluate(y, models, costs, priors=priors, groups=group, rng=0)
        assert first.with_costs(costs, priors=priors) == again
    first = evaluate(y, {"rule": models["rule"]}, COSTS, rng=0)
    turned = CostMatrix([[0, 5], [2, 0]], classes=["ill", "well"], decisions=["treat", "home"])
    for costs in (turned, turned.to_frame(), {"fp": 2, "fn": 5}, [[0, 2], [5, 0]]):
        assert first.with_costs(costs) == first.with_costs(other)  # labels travel
    assert first.with_costs({"fp": 1, "fn": miss}) == first.with_costs(own)
    for costs, says in ((CostMatrix(PLAIN, classes=["ill", "sick"]), "costs: classes"),
                        (np.ones((80, 4)) * [1, 2, 0, 0], "ExampleCosts"),
                        (COSTS.with_abstain(1, "ask"), "costs: decisions"),
                        (ExampleCosts(fp=1, fn=[1., 2.], **labels), "of 2 samples")):
        with pytest.raises(ValueError, match=says):
            first.with_costs(costs)


def test_a_class_without_samples_may_have_the_prior_0():
    """As the error for its other priors says; its posteriors, then, decide nothing."""
    rng = np.random.default_rng(0)
    costs = CostMatrix([[0, 1, 9], [4, 0, 9], [50, 50, 0]], classes=["a", "b", "rare"])
    y, p = rng.choice(["a", "b"], 200), rng.dirichlet([2, 2, .5], 200)
    with pytest.raises(ValueError, match="no sample of rare, whose prior is above 0; set it to 0"):
        evaluate(y, {"m": p}, costs, priors={"a": .6, "b": .3, "rare": .1})
    report = evaluate(y, {"m": p}, costs, priors={"a": .6, "b": .4, "rare": 0}, rng=0)
    share = np.array([(y == "a").mean(), (y == "b").mean()])
    decided = (p[:, :2] * [.6, .4] / share @ costs.array[:2]).argmin(1)
    loss = costs.array[(y == "b").astype(int), decided]
    assert report.best["cost"][0] == pytest.approx(.6 * loss[y == "a"].mean() + .4 * loss[y == "b"].mean())


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


def axes(**given):
    return lambda: evaluate(Y, {"a": Decisions(Y)}, COSTS.array, rng=0).robustness(**given)


test_bad_input = refuses({
    "infinite": (lambda: evaluate(Y, {"a": Posteriors([.1, np.inf, .2, .3])}, COSTS.array),
                 "0.1 to inf, but probabilities lie in"),
    "rule of nobody": (lambda: evaluate(Y, {"a": P}, COSTS.array, rule={"b": "tuned"}),
                       "rule: of 'b', but the models are"),
    "below 0": (axes(prevalences=[-.1, .5]), "prevalences: must lie in"),
    "all": (axes(prevalences=[.5, 1]), "prevalences: must lie in"),
    "nothing": (axes(cost_ratios=[0, 1]), "cost_ratios: must lie"),
    "falling": (axes(cost_ratios=[2, 1]), "cost_ratios: at least two ascending"),
    "twice": (axes(cost_ratios=[1, 1]), "ascending"), "one": (axes(prevalences=[.5]), "at least two"),
})


# ---- tables

def leaves(value):
    "All that stands in nested lists and dictionaries."
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if inner is None else [leaf for part in inner for leaf in leaves(part)]


def test_the_dictionary_holds_the_frames_in_plain_values(case):
    y, models = case
    report = evaluate(y, models, COSTS, priors={"ill": .1, "well": .9}, groups=np.arange(400) % 2, rng=0)
    found = report.to_dict()
    for name in ("ladder", "differences", "best", "groups"):
        frame, table = getattr(report, name), pd.DataFrame(found[name])
        assert list(table) == list(frame) and len(table) == len(frame) > 0
        for column in frame:
            plain = [None if v != v or v in (np.inf, -np.inf) else v for v in frame[column].tolist()]
            assert [row[column] for row in found[name]] == plain
    kinds = {type(leaf) for leaf in leaves(found)}
    assert kinds <= {str, int, float, bool, type(None)} and None in leaves(found)
    assert (found["n"], found["confidence"], found["priors"]) == (400, .95, [.9, .1])
    assert found["classes"] == ["well", "ill"] and found["decisions"] == ["home", "treat"]
    assert found["costs"] == COSTS.array.tolist() and found["notes"] == list(report.notes)
    assert found["sample_priors"][1] == pytest.approx(np.mean(y == "ill"))


def test_the_breakdown_is_told_cell_by_cell():
    "By hand: what each cell costs, and no row for a cell that costs nothing."
    y, d = np.repeat([0, 0, 1, 1], [6, 3, 2, 4]), np.repeat([0, 1, 0, 1], [6, 3, 2, 4])
    found = evaluate(y, {"a": d}, PLAIN, rng=0).breakdown()
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
    error = np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1))
    reach = stats.norm.ppf(.975) * error / (area * (1 - area))
    costs, clusters = CostMatrix.binary(fp=1, fn=5), who if grouped else None
    found = evaluate(y, {"d": y, "s": Scores(score)}, costs, clusters=clusters, rng=0).areas
    assert found["model"].tolist() == ["s"]
    wanted = [area, *expit(logit(area) + [-reach, reach])]
    assert found.iloc[0, 1:].tolist() == pytest.approx(wanted)
    few = Scores([2., 1., 4., 3.])
    assert evaluate([0, 0, 0, 1], {"s": few}, costs, rng=0).areas["auc"].tolist() == [pytest.approx(2 / 3)]
    assert len(evaluate([1] * 4, {"s": few}, costs, rng=0).areas) == 0


# ---- missing labels

RNG = np.random.default_rng(0)
TRUE, GUESS, D, CHANCE = np.arange(90) % 2, RNG.random(90), RNG.integers(0, 2, 90), RNG.uniform(.3, 1, 90)
HAS = np.flatnonzero(RNG.random(90) < CHANCE)
PART = np.where(np.isin(np.arange(90), HAS), TRUE, np.nan)


@pytest.mark.parametrize("own", [False, True])
def test_missing_labels_leave_the_rows_that_have_one(own):
    """Whatever holds a row for each sample: the report is that of the labelled rows, weighted by one over the
    chance of a label; what can occur is that of all rows: their heaviest unit, and amounts of rows without a
    label."""
    fn, who, fold = RNG.uniform(1, 9, 90), np.arange(90) // 2, np.arange(90) // 2 % 3
    group = np.where(D, "x", "y")
    costs, few = (ExampleCosts(fp=1, fn=fn), ExampleCosts(fp=1, fn=fn[HAS])) if own else (PLAIN, PLAIN)
    found = evaluate(PART, {"p": Posteriors(GUESS), "s": pd.Series(8 * GUESS), "d": D.tolist()}, costs,
                     propensity=CHANCE, clusters=who.tolist(), groups=pd.Series(group), folds=fold, rng=0)
    here = evaluate(TRUE[HAS], {"p": Posteriors(GUESS[HAS]), "s": 8 * GUESS[HAS], "d": D[HAS]}, few, rng=0,
                    sample_weight=1 / CHANCE[HAS], clusters=who[HAS], groups=group[HAS], folds=fold[HAS],
                    heaviest=np.bincount(who, 1 / CHANCE).max())
    for table in ("ladder", "differences", "groups", "areas"):
        one, other = getattr(found, table), getattr(here, table)
        if own and table != "areas":
            ends = [end for end in ("low", "high", "low_at", "high_at") if end in one]
            for end in ends:
                sign = 1 if end.startswith("low") else -1
                assert (sign * one[end] <= sign * other[end] + 1e-9)[one[end].notna()].all()
            one, other = (each.drop(columns=[*ends, "p_value"], errors="ignore") for each in (one, other))
            one, other = (each.drop(columns="told_apart", errors="ignore") for each in (one, other))
        pd.testing.assert_frame_equal(one, other)


def lacking(**given):
    rows = {"models": {"p": GUESS}, "costs": PLAIN, "propensity": .5, "rng": 0}
    return lambda: evaluate(**{"y_true": PART} | rows | given)


NAMES = [f"c{k}" for k in range(90)]
NAMED, SHUFFLED = pd.Series(GUESS, NAMES), pd.Series(GUESS, NAMES).iloc[RNG.permutation(90)]
LONG, SHORT = np.linspace(0, 1, 100), np.linspace(0, 1, len(HAS))
test_missing_labels_hide_no_other_length_or_order = refuses({
    **{f"{name}, {len(other)}": (lacking(**{name: value}), f"{said}: .*{len(other)} .* 90")
       for other in (LONG, SHORT) for name, value, said in (
           ("models", {"p": other}, r"models\['p'\]"), ("models", pd.DataFrame({"p": other}), "models"),
           ("costs", {"fp": 1, "fn": 1 + other}, "costs"), ("clusters", other, "clusters"),
           ("groups", other > .5, "groups"), ("sample_weight", other, "sample_weight"))},
    "models": (lacking(y_true=pd.Series(PART, NAMES), models={"p": SHUFFLED}), "in another order"),
    "propensity": (lacking(models={"p": NAMED}, propensity=SHUFFLED.clip(.1)), "in another order"),
    "none is known": (lacking(y_true=[np.nan] * 90), "none of the 90 labels is known; look some up"),
})


# ---- the approximate line, draws, counts of rows

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
    lines, most = report.approximate.set_index(["question", "model", "against"]), np.maximum(fn, 1)
    of_a, of_b, of_nobody = (losses(y, d, costs) for d in (a, b, 0 * y))
    saved = loss_difference(of_nobody, of_a, bounds=(-np.ones(3000), fn), confidence=.975)
    for key, found, times in (
            (("cost", "a", ""), loss_interval(of_a, bounds=(np.zeros(3000), most)), np.nan),
            (("saving", "a", "always 0"), saved, 2),
            (("difference", "a", "b"), loss_difference(of_a, of_b, bounds=(-most, most)), 1)):
        line, known = lines.loc[key], found.approximate
        told = [line["low"], line["high"], line["costly_cases"], line["p_value"]]
        p = times * known.p_value if times == times else np.nan
        assert np.allclose(told, [known.low, known.high, known.seen, p], equal_nan=True)
    few = evaluate(y[:40], {"a": Decisions(a[:40])}, CostMatrix.binary(fp=1, fn=4000), rng=0)
    assert np.isnan(few.approximate["low"][0])
    assert report.guarantee == loss_interval(of_a, bounds=(0 * most, np.where(own, most, 9e9))).guarantee
    assert evaluate(y, {"a": .2 + .6 * a}, costs, rng=0).guarantee.startswith("measured at best")


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


@pytest.mark.parametrize("options", [{}, {"priors": [.9, .1]}, {"groups": np.arange(400) % 3, "draws": 2}],
                         ids=["plain", "priors", "groups"])
def test_rows_that_are_counted_are_the_rows(case, monkeypatch, options):
    """Equal rows stand for each other wherever nothing but counts matters: the report is that of the single
    rows."""
    y, models = case
    counted = evaluate(y, models, COSTS, rng=0, **options)
    assert len(counted._few[0].y) < 200 and counted._few[0].n == 400
    monkeypatch.setattr(report_module, "_condensed", lambda *given: given)
    single = evaluate(y, models, COSTS, rng=0, **options)
    assert len(single._few[0].y) == 400
    assert counted.summary() == single.summary() and counted.notes == single.notes
    for name in ("best", "ladder", "differences", "against_constant", "groups", "group_differences",
                 "alternatives", "approximate"):
        pd.testing.assert_frame_equal(getattr(counted, name), getattr(single, name), rtol=1e-10)
    pd.testing.assert_frame_equal(counted.breakdown(), single.breakdown(), rtol=1e-10)


def with_scores(**options):
    "A report of scores and of posteriors, labels, groups, and its draws of the scores' decisions."
    rng = np.random.default_rng(5)
    y = (rng.random(300) < 0.3).astype(int)
    scores, group = rng.normal(size=300) + 2 * y, np.where(rng.random(300) < 0.5, "f", "m")
    models = {"s": Scores(scores), "p": expit(scores + rng.normal(size=300) - 1)}
    found = evaluate(y, models, PLAIN, groups=group, draws=6, rng=0, **options)
    fits = CrossFit(read_samples(y, models, PLAIN), draws=found.draws, rng=0)
    return found, y, group, fits.decide("s").decisions


def middle(low, high):
    "The middle one of each, of an even number the outer one."
    return [np.sort(low, 0)[(len(low) - 1) // 2], np.sort(high, 0)[len(high) // 2]]


def test_draws_of_scores_are_tested_one_by_one():
    "The middle of the ends at half the level, and twice the middle p-value, by the engine on each draw."
    found, y, group, draws = with_scores()
    assert "merged" in found.guarantee

    def of(rows):
        counts = np.stack([np.bincount(2 * y[rows] + d[rows], minlength=4) for d in draws])
        return interval(counts.reshape(-1, 2, 2), PLAIN, confidence=0.975)

    whole, groups = of(y >= 0), found.groups.set_index(["model", "group"])
    for row, alone in ((found.best.set_index("model").loc["s"], whole),
                       *((groups.loc["s", label], of(group == label)) for label in "fm")):
        assert row[["low", "high"]].tolist() == pytest.approx(middle(alone.low, alone.high), abs=1e-12)
        assert row["cost"] == pytest.approx(alone.mean.mean())
    saving, prices = found.against_constant.set_index("model").loc["s"], np.array(PLAIN)
    constant = np.full(300, found.decisions.index(int(saving["against"][-1])))
    ends = attainable(prices, int(constant[0]), [0, 1])
    single = [loss_difference(prices[y, constant], prices[y, d], bounds=ends, confidence=1 - 0.05 / 2 / 2)
              for d in draws]
    low, high, p = ([getattr(one, name) for one in single] for name in ("low", "high", "p_value"))
    assert saving[["low", "high"]].tolist() == pytest.approx(middle(low, high), abs=1e-12)
    p = 2 * np.sort(p)[len(draws) // 2]
    assert saving["p_value"] in (pytest.approx(p), pytest.approx(2 * p)) and saving["told_apart"]
