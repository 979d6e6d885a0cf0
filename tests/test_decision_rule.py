"""The one way out: a rule that is installed is the rule that was judged, as an object, as a file, and in a process that has numpy alone."""
import inspect
import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

from cost_eval import policies
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.decisions import bayes_decisions
from cost_eval.policies import CrossFit, DecisionRule, decide, fit_rule, run_rule
from cost_eval.report import evaluate, evaluate_counted
from cost_eval.samples import Decisions, Posteriors, Scores, read_samples

rng = np.random.default_rng(7)
N = 600
Y = (rng.random(N) < .3).astype(int)
S = rng.normal(1.5 * Y)
P = 1 / (1 + np.exp(-S))
G = np.clip(np.round(S), -1, 3) + 0.
COSTS = CostMatrix.binary(fp=1, fn=5, classes=["well", "ill"], decisions=["wait", "treat"])
L = np.array(COSTS.classes)[Y]
Y3 = rng.integers(0, 3, N)
P3 = rng.dirichlet([1, 1, 1], N) * .6 + .4 * np.eye(3)[Y3]
THREE = CostMatrix.zero_one(3).with_abstain(.3, "review")
LOW = np.random.default_rng(1).integers(1, 30, N)
CASES = {
    "scores, calibrated": (L, Scores(S), COSTS, "calibrated"), "scores, tuned": (L, Scores(S), COSTS, "tuned"), "grades": (L, Scores(G), COSTS, "calibrated"),
    "posteriors, bayes": (L, P, COSTS, "bayes"), "posteriors, calibrated": (L, P, COSTS, "calibrated"), "posteriors, tuned": (L, P, COSTS, "tuned"),
    "float32": (L, P.astype(np.float32), COSTS, "bayes"), "whole percent": (L, P.round(2), CostMatrix.binary(fp=1, fn=9, classes=["well", "ill"]), "bayes"),
    "other class": (L, Posteriors(1 - P, classes=["well"]), COSTS, "bayes"),
    "most probable": (Y, P, CostMatrix.binary(fp=1, fn=5), "as given"), "decisions": (L, Decisions(np.array(COSTS.decisions)[(S > .5) * 1]), COSTS, "as given"),
    "three, abstain, bayes": (Y3, P3, THREE, "bayes"), "three, abstain": (Y3, P3, THREE, "calibrated"), "three, as given": (Y3, P3, CostMatrix.zero_one(3), "as given"),
    "ninths of ties": (Y, np.round(9 * P) / 9, CostMatrix.from_ratio(8), "bayes"), "tiny costs": (Y, P, [[0, 1e-320], [5e-320, 0]], "bayes"),
    "each row's costs": (Y, P, ExampleCosts(fp=1, fn=LOW), "calibrated"), "falls": (L, P, CostMatrix([[1, 0], [0, 5]], classes=["well", "ill"], decisions=["treat", "wait"]), "calibrated"),
}


def fitted(case, **options):
    y, model, costs, rule = CASES[case]
    samples = read_samples(y, model, costs)
    return samples, fit_rule(samples, rule=rule, **options)


@pytest.mark.parametrize("priors", [None, "moved"])
@pytest.mark.parametrize("case", CASES)
def test_a_rule_and_its_file_decide_as_the_policy_does(case, priors):
    "The policy of all rows in one fold is the reference: it goes through `bayes_decisions`, calibrators and thresholds, the rule through its file."
    y, model, costs, rule = CASES[case]
    samples = read_samples(y, model, costs)
    K = len(samples.costs.classes)
    priors = None if priors is None else np.r_[.9, np.full(K - 1, .1 / (K - 1))]
    found = fit_rule(samples, rule=rule, priors=priors, folds=np.arange(N) % 5)
    again = DecisionRule.from_json(found.to_json())
    assert again == found and again.to_json() == found.to_json() and repr(found).startswith("<DecisionRule 'model', ")
    values, own = samples.models["model"].values, samples.own
    values = np.array(samples.costs.decisions, object)[values] if found.kind == "decisions" else values
    half = np.arange(N) % 2  # fitted on one half, as a fold is; decides about the other
    part = found if rule == "bayes" else fit_rule(samples.take(half == 0), rule=rule, priors=priors)
    policy = CrossFit(samples, folds=half, rng=0).decide("model", rule, priors=priors)
    told = part.columns(values[half == 1], None if own is None else own[half == 1])
    gap = np.zeros(len(told), bool)
    if rule == "tuned":  # between the two that enclose the threshold ranks and values may differ
        gap = (values[half == 1].reshape(len(told), -1)[:, -1] > part.same_from) & (values[half == 1].reshape(len(told), -1)[:, -1] < part.same_to)
    np.testing.assert_array_equal(policy.decisions[half == 1][~gap], told[~gap])
    assert gap.mean() < .02
    decided = again.decide(values, own)
    assert set(decided) <= set(samples.costs.decisions) and (decided == np.array(found.decisions, object)[found.columns(values, own)]).all()
    if found.kind != "decisions":
        np.testing.assert_array_equal(run_rule(json.loads(found.to_json()), values, None if own is None else own.array), decided)
    if rule == "bayes" and priors is None and found.content["right_at"] is None:
        given = model if case == "float32" else values
        given = np.column_stack([1 - given, given]) if given.ndim == 1 else given
        np.testing.assert_array_equal(bayes_decisions(given, samples.costs, labels=True), decided)


def test_the_threshold_is_the_least_value_that_is_decided_positive():
    for case in CASES:
        _, rule = fitted(case, folds=np.arange(N) % 5)
        values = CASES[case][1]
        known = not case.startswith(("three", "each", "falls", "decisions"))
        assert (np.isnan(rule.threshold), np.isnan(rule.same_from), np.isnan(rule.over_folds[0])) == (not known,) * 3, case
        if known and case != "other class":
            x = np.asarray(getattr(values, "values", values), float)
            positive = rule.columns(x) == 1
            assert (positive == (x >= rule.threshold)).all() and rule.same_from == x[~positive].max(initial=-np.inf) and rule.same_to == x[positive].min()
            assert rule.same_from < rule.threshold <= rule.same_to and rule.over_folds[0] <= rule.over_folds[1]
        if known and case == "posteriors, calibrated":
            assert rule.columns([rule.threshold, np.nextafter(rule.threshold, 0)]).tolist() == [1, 0]
            a, b, t = rule.content["calibration"]["alpha"], rule.content["calibration"]["beta"], 1 / 6
            odds = (np.log(t / (1 - t)) - b[1] + b[0]) / a  # by hand
            assert rule.threshold == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-12)
    grades = fitted("grades")[1]
    assert (grades.threshold, grades.same_from) == (1, 0) and decide(Scores(G), Y, [[0, 1], [5, 0]], rule="tuned", rng=0).same_to == 1
    assert fit_rule(read_samples(Y, 1 - P, [[0, 1], [5, 0]])).threshold != fit_rule(read_samples(Y, 1 - P, [[0, 1], [5, 0]])).threshold  # falls: NaN
    assert fit_rule(read_samples(Y, P, [[0, 1], [5, 0]]), rule="tuned", threshold=.25).decide([.24, .25]).tolist() == [0, 1]  # any cut


def test_the_threshold_over_folds_is_that_of_each_complement():
    samples, fold = read_samples(L, Scores(S), COSTS), np.arange(N) % 4
    apart = [fit_rule(samples.take(fold != k), rule="tuned").threshold for k in range(4)]
    assert fit_rule(samples, rule="tuned", folds=fold).over_folds == (min(apart), max(apart))


def test_values_in_every_form():
    rule = fit_rule(read_samples(np.array(list("abc"))[Y3], P3, CostMatrix(THREE.array, classes=list("abc"), decisions=["a", "b", "c", "review"])))
    frame = pd.DataFrame(P3, columns=list("abc"))
    for values in (frame[["c", "a", "b"]].assign(id=1), Posteriors(P3[:, ::-1], classes=list("cba")), Posteriors(P3), P3.tolist()):
        assert (rule.decide(values) == rule.decide(P3)).all()
    two = fit_rule(read_samples(L, P, COSTS))
    for values in (P, pd.Series(P), np.column_stack([1 - P, P]), pd.DataFrame({"ill": P, "well": 1 - P}), Posteriors(1 - P, classes=["well"]), Posteriors(P)):
        assert (two.decide(values) == two.decide(P)).all()
    zero = fit_rule(read_samples(Y, P, [[0, 1], [5, 0]]))
    assert (zero.decide(pd.DataFrame({"1": P, "0": 1 - P})) == zero.decide(P)).all() and zero.decide(P).dtype.kind == "i"
    own = fit_rule(read_samples(Y, P, ExampleCosts(fp=1, fn=LOW)))
    for costs in (ExampleCosts(fp=1, fn=LOW), {"fp": np.ones(N), "fn": LOW}, pd.DataFrame({"fp": 1., "fn": LOW})):
        assert (own.decide(P, costs) == own.decide(P, ExampleCosts(fp=1, fn=LOW))).all()
    assert 0 < (own.decide(P, own.costs) != own.decide(P, {"fp": 1, "fn": LOW})).sum()


REFUSED = {
    "NaN": ("posteriors, bayes", [.2, np.nan], {}, r"values: nan in row 1 \(1 such rows\).*otherwise="),
    "None": ("scores, tuned", [None, 1.], {}, "values: nan in row 0"),
    "a column": ("three, abstain", pd.DataFrame(P3[:, :2], columns=[0, 2]), {}, "values: no column 1; there are"),
    "columns": ("three, abstain", P3[:, :2], {}, r"values: a column for each of the classes \[0, 1, 2\]"),
    "a decision": ("decisions", ["wait", "wait", "send"], {}, "values: send in row 2"),
    "text": ("scores, tuned", ["a"], {}, "values: expected numbers"),
    "percent": ("posteriors, bayes", [.2, 20.], {}, "values: 20 in row 1 is no probability"),
    "no distribution": ("three, abstain", P3 * 2, {}, "values: row 0 sums to"),
    "another kind": ("posteriors, bayes", Scores(S), {}, "values: scores, but the rule was fitted to posteriors"),
    "no costs": ("each row's costs", P, {}, r"costs: the rule was judged at each row's own costs"),
    "costs of others": ("each row's costs", P, {"costs": ExampleCosts(fp=1, fn=[2., 3.])}, "costs: of 2 rows, but there are 600 values"),
    "costs of a cut": ("scores, tuned", S, {"costs": ExampleCosts(fp=1, fn=LOW)}, "costs: decided by cut"),
    "capacity": ("three, abstain", P3, {"capacity": 5}, "capacity: limits the second of two decisions"),
    "half a call": ("posteriors, bayes", P, {"capacity": 2.5}, "capacity: .*whole number"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_decided_is_refused_with_its_row(what):
    case, values, options, words = REFUSED[what]
    with pytest.raises(ValueError, match=words):
        fitted(case)[1].decide(values, **options)


def test_rows_without_a_value_go_where_the_rule_says():
    for case, values in (("scores, tuned", [np.nan, 9, -9]), ("posteriors, bayes", [np.nan, 1, 0]), ("decisions", ["?", "treat", "wait"])):
        rule = DecisionRule.from_json(fitted(case, otherwise="treat")[1].to_json())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert rule.decide(values).tolist() == run_rule(rule.content, values).tolist() == ["treat", "treat", "wait"]
        assert rule.kind == "decisions" or "was declared for such cases" in rule.explain(values)["sentence"][0]
    three = fitted("three, abstain", otherwise="review")[1]
    assert three.decide([[.1, np.nan, .8], [0, 0, 1]]).tolist() == ["review", 2]
    with pytest.raises(ValueError, match=r"otherwise: 'call' is no decision of the costs.*with_abstain"):
        fitted("scores, tuned", otherwise="call")


def test_values_outside_what_was_seen_are_said():
    rule = fitted("scores, tuned")[1]
    with pytest.warns(UserWarning, match="2 of 3 values lie outside"):
        assert rule.decide([-99, 0, 99]).tolist() == ["wait", "wait", "treat"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rule.decide(S)


def test_a_list_of_the_day_holds_those_that_save_the_most():
    saving = np.column_stack([1 - P, P]) @ [-1, 5]
    rule = fitted("posteriors, bayes")[1]
    for room, share in ((40, 40), (60 / N, 60), (N + 9, N)):
        taken = np.flatnonzero(rule.decide(P, capacity=room) == "treat")
        assert set(taken) == set(np.argsort(-saving)[:min(share, (saving > 0).sum())])
    own = ExampleCosts(fp=1, fn=LOW)
    each = fit_rule(read_samples(Y, P, own), rule="bayes", capacity=40)
    taken = np.flatnonzero(DecisionRule.from_json(each.to_json()).decide(P, own))
    assert set(taken) == set(np.argsort(-(P * LOW - (1 - P)), kind="stable")[:40])
    with pytest.warns(UserWarning, match="ends among equal cases: those that stand first"):
        assert rule.decide([.9] * 5, capacity=2).tolist() == ["treat"] * 2 + ["wait"] * 3
    assert fitted("scores, tuned")[1].decide(S, capacity=1).tolist().index("treat") == S.argmax()


def test_explain_adds_up():
    for case in ("posteriors, calibrated", "scores, calibrated", "three, abstain", "each row's costs"):
        samples, rule = fitted(case)
        values, own = samples.models["model"].values, samples.own
        told = rule.explain(values, own)
        paid = told[[f"cost of {label}" for label in rule.decisions]].to_numpy()
        assert (np.array(rule.decisions, object)[paid.argmin(1)] == told["decision"]).mean() > .999 and (told["decision"] == rule.decide(values, own)).all()
    row = fitted("posteriors, calibrated")[1].explain(pd.Series([.9], index=["Anna"])).loc["Anna"]
    assert row["cost of wait"] == pytest.approx(5 * row["calibrated"]) and row["cost of treat"] == pytest.approx(1 - row["calibrated"])
    assert row["sentence"].startswith("Stated 0.9, calibrated 0.") and row["sentence"].endswith("so 'treat'.")
    assert "at or above" in fitted("scores, tuned")[1].explain([9.])["sentence"][0] and fitted("decisions")[1].explain(["wait"])["sentence"][0] == "The model decided 'wait'."


def damaged(content, **change):
    return json.dumps(content | change)


def test_files_that_are_none():
    rule = fitted("scores, calibrated")[1]
    c = rule.content
    knots = c["calibration"]
    bad = {
        r"version 2, written by cost_eval 9\.9": damaged(c, version=2, made={"package": "cost_eval 9.9"}), "no such file": "no/such.json",
        "no whole JSON": rule.to_json()[:200], "no rule that rule.to_json": "{}", "'costs' is missing": json.dumps({k: v for k, v in c.items() if k != "costs"}),
        "damaged rule.*classes": damaged(c, classes=["well"]), "damaged rule.*finite": damaged(c, costs=[[0, 1], [5, float("nan")]]), "damaged rule.*priors": damaged(c, priors=[.7, .7]),
        "do not ascend": damaged(c, calibration=knots | {"low": knots["low"][::-1]}), "damaged rule \\(by": damaged(c, by="magic"), "damaged rule \\(rule": damaged(c, rule="luck"),
        "a cut needs a threshold": damaged(c, by="cut", threshold=None), "damaged rule.*review": damaged(c, otherwise="review"), "damaged rule.*rows": damaged(c, seen={"low": 0, "high": 1}),
        "damaged rule.*capacity": damaged(c, capacity="many"), "damaged rule.*alpha": damaged(c, values="posteriors"),
    }
    for words, text in bad.items():
        with pytest.raises(ValueError, match=words):
            DecisionRule.from_json(text)
    days = pd.to_datetime(["2026-01-01", "2026-01-02"])
    with pytest.raises(ValueError, match="has no form in JSON; use text"):
        fit_rule(read_samples(pd.Series(days[Y]), P, CostMatrix([[0, 1], [5, 0]], classes=list(days)))).to_json()


def test_numpy_alone_runs_a_file(tmp_path):
    "A process that cannot import the package, pandas, scipy, scikit-learn or matplotlib: the text of three functions, and the file."
    text = "from __future__ import annotations\nimport json, sys\nimport numpy as np\n"
    text += "\n".join(inspect.getsource(getattr(policies, name)) for name in ("run_rule", "_chosen", "_believed"))
    text += "\nfor line in open(sys.argv[1]):\n    rule, values, costs = json.loads(line)\n    print(json.dumps(run_rule(rule, values, costs).tolist()))\n"
    text += "print(sorted({m.partition('.')[0] for m in sys.modules} & {'cost_eval', 'scipy', 'pandas', 'sklearn', 'matplotlib'}))\n"
    lines, want = [], []
    for case in CASES:
        samples, rule = fitted(case)
        values, own = samples.models["model"].values, samples.own
        values = np.array(samples.costs.decisions, object)[values] if rule.kind == "decisions" else values
        lines.append(json.dumps([rule.content, values.tolist(), None if own is None else own.array.tolist()]))
        want.append(rule.decide(values, own).tolist())
    (tmp_path / "rules.jsonl").write_text("\n".join(lines), encoding="utf-8")
    block = "import sys\nfor m in ('cost_eval', 'pandas', 'scipy', 'sklearn', 'matplotlib'): sys.modules[m] = None\n"
    (tmp_path / "service.py").write_text(text.replace("import json, sys\n", block + "import json\n", 1).replace("print(sorted({m.partition('.')[0] for m in sys.modules} &", "print(sorted({m for m, v in sys.modules.items() if v} &"), encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", "service.py", "rules.jsonl"], cwd=tmp_path, capture_output=True, text=True)
    *told, loaded = done.stdout.splitlines() or [done.stderr]
    assert [json.loads(line) for line in told] == want and loaded == "[]", done.stderr


def test_a_report_hands_over_what_it_judged():
    report = evaluate(L, {"p": P, "grade": Scores(G)}, COSTS, priors={"well": .9, "ill": .1}, capacity=90, rng=0)
    rule = report.decision_rule()
    row = report.best.iloc[0]
    assert (rule.model, rule.rule, rule.capacity) == (row["model"], row["rule"], 90) and rule.priors.tolist() == [.9, .1]
    assert [rule.expected[end] for end in ("cost", "low", "high")] == [row[end] for end in ("cost", "low", "high")]
    assert rule.made == report.provenance and rule.over_folds[0] <= rule.over_folds[1] and (rule.decide(P) == "treat").sum() == 90
    assert report.decision_rule("grade", otherwise="wait").otherwise == "wait" and "a case costs" in repr(rule)
    with pytest.raises(ValueError, match="name: .*unknown|name"):
        report.decision_rule("q")
    with pytest.raises(ValueError, match="made from counts"):
        evaluate_counted([0, 0, 1, 1], {"a": [0, 1, 0, 1]}, [[0, 1], [9, 0]], [90, 5, 1, 4]).decision_rule()
    few = evaluate(np.r_[np.zeros(30, int), 1], {"s": Scores(S[:31])}, [[0, 1], [5, 0]], rng=0)
    with pytest.raises(ValueError, match="nothing could be fitted for 's'"):
        few.decision_rule()
