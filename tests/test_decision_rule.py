"""The one way out: a rule that is installed is the rule that was judged, as an object, as a file, and in a
process that has numpy alone."""
import json
import re
import subprocess
import sys

from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom

import cost_eval.api as ce
from cost_eval import policies
from cost_eval.__main__ import main
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.decisions import bayes_decisions
from cost_eval.planning import check_rule
from cost_eval.policies import CrossFit, DecisionRule, fit_rule, rule_of
from cost_eval.runner import read_rule, run_rule
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Posteriors, Scores, read_samples
from conftest import refuses
from problems import decide

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
    "scores, calibrated": (L, Scores(S), COSTS, "calibrated"),
    "scores, tuned": (L, Scores(S), COSTS, "tuned"), "grades": (L, Scores(G), COSTS, "calibrated"),
    "posteriors, bayes": (L, P, COSTS, "bayes"), "posteriors, calibrated": (L, P, COSTS, "calibrated"),
    "posteriors, tuned": (L, P, COSTS, "tuned"), "float32": (L, P.astype(np.float32), COSTS, "bayes"),
    "other class": (L, Posteriors(1 - P, classes=["well"]), COSTS, "bayes"),
    "most probable": (Y, P, CostMatrix.binary(fp=1, fn=5), "as given"),
    "decisions": (L, Decisions(np.array(COSTS.decisions)[(S > .5) * 1]), COSTS, "as given"),
    "three, abstain, bayes": (Y3, P3, THREE, "bayes"), "three, abstain": (Y3, P3, THREE, "calibrated"),
    "three, as given": (Y3, P3, CostMatrix.zero_one(3), "as given"),
    "ninths of ties": (Y, np.round(9 * P) / 9, CostMatrix.from_ratio(8), "bayes"),
    "tiny costs": (Y, P, [[0, 1e-320], [5e-320, 0]], "bayes"),
    "each row's costs": (Y, P, ExampleCosts(fp=1, fn=LOW), "calibrated"),
    "falls": (L, P, CostMatrix([[1, 0], [0, 5]], classes=["well", "ill"], decisions=["treat", "wait"]),
              "calibrated"),
}


def stated(values, classes):
    "Columns with the names of the classes."
    return Posteriors(values, classes=classes) if np.ndim(values) == 2 else values


def fitted(case, **options):
    y, model, costs, rule = CASES[case]
    samples = read_samples(y, model, costs)
    return samples, rule_of(samples, "model", rule=rule, **options)


@pytest.mark.parametrize("priors", [None, "moved"])
@pytest.mark.parametrize("case", CASES)
def test_a_rule_and_its_file_decide_as_the_policy_does(case, priors):
    """The policy of the other half is the reference: it goes through `bayes_decisions`, calibrators and
    thresholds, the rule through its file."""
    y, model, costs, rule = CASES[case]
    samples = read_samples(y, model, costs)
    K = len(samples.costs.classes)
    priors = None if priors is None else np.r_[.9, np.full(K - 1, .1 / (K - 1))]
    found = rule_of(samples, "model", rule=rule, priors=priors, folds=np.arange(N) % 5)
    again = DecisionRule.from_json(found.to_json())
    assert again == found and again.to_json() == found.to_json()
    values, own = samples.models["model"].values, samples.own
    values = np.array(samples.costs.decisions, object)[values] if found.kind == "decisions" else values
    half = np.arange(N) % 2  # fitted on one half, as a fold is; decides about the other
    there = half == 1
    part = found if rule == "bayes" else rule_of(samples.take(~there), "model", rule=rule, priors=priors)
    policy = CrossFit(samples, folds=half, rng=0).decide("model", rule, priors=priors)
    told = part.columns(stated(values[there], part.classes), None if own is None else own[there])
    np.testing.assert_array_equal(policy.decisions[there], told)
    decided = again.decide(stated(values, again.classes), own)
    named = np.array(found.decisions, object)[found.columns(stated(values, found.classes), own)]
    assert (decided == named).all()
    if found.kind != "decisions":
        run = run_rule(json.loads(found.to_json()), values, None if own is None else own.array)
        np.testing.assert_array_equal(run, decided)
    if rule == "bayes" and priors is None and found.content["right_at"] is None:
        given = model if case == "float32" else values
        given = np.column_stack([1 - given, given]) if given.ndim == 1 else given
        np.testing.assert_array_equal(bayes_decisions(given, samples.costs, labels=True), decided)


@pytest.mark.parametrize("rule, kind, options", [
    ("calibrated", "posteriors", {}), ("calibrated", "scores", {}), ("tuned", "scores", {}),
    ("calibrated", "posteriors", {"priors": .02}), ("tuned", "posteriors", {"require": {"recall": .9}})])
def test_what_is_judged_is_what_is_installed(rule, kind, options):
    "No row is thinned before folds are cut, of so many either."
    rng = np.random.default_rng(3)
    y = (rng.random(60_000) < .3).astype(int)
    score = rng.normal(1.2 * y)
    model = Scores(score) if kind == "scores" else 1 / (1 + np.exp(1 - score))
    samples = read_samples(y, model, [[0, 1], [4, 0]])
    policy = CrossFit(samples, folds=3, rng=1).decide("model", rule, **options)
    for k in range(3):
        part, other = samples.take(policy.folds == k), samples.take(policy.folds != k)
        found = rule_of(other, "model", rule=rule, **options).columns(part.models["model"])
        np.testing.assert_array_equal(found, policy.decisions[policy.folds == k])


@pytest.mark.parametrize("case", CASES)
def test_the_threshold_is_the_least_value_that_is_decided_positive(case):
    _, rule = fitted(case, folds=np.arange(N) % 5)
    known = not case.startswith(("three", "each", "falls", "decisions"))
    assert np.isnan([rule.threshold, rule.same_from, rule.over_folds[0]]).tolist() == [not known] * 3
    if known and case != "other class":
        values = CASES[case][1]
        x = np.asarray(getattr(values, "values", values), float)
        positive = rule.columns(x) == 1
        assert (positive == (x >= rule.threshold)).all()
        assert rule.same_from == x[~positive].max(initial=-np.inf) and rule.same_to == x[positive].min()
        assert rule.same_from < rule.threshold <= rule.same_to and rule.over_folds[0] <= rule.over_folds[1]
    if case == "posteriors, calibrated":
        assert rule.columns([rule.threshold, np.nextafter(rule.threshold, 0)]).tolist() == [1, 0]
        a, b, t = rule.content["calibration"]["alpha"], rule.content["calibration"]["beta"], 1 / 6
        odds = (np.log(t / (1 - t)) - b[1] + b[0]) / a  # by hand
        assert rule.threshold == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-12)
    if case == "grades":
        assert (rule.threshold, rule.same_from) == (1, 0)


def test_classes_without_rows_and_without_prior_and_shares_that_are_stated():
    rules = [fit_rule([k] * 30, [.05, .1, .3] * 10, [[0, 1], [5, 0]], rule="bayes") for k in (0, 1)]
    assert [rule.threshold for rule in rules] == pytest.approx([1 / 6] * 2)
    never = fit_rule(Y, P * (1 + 2**-52) / P.max(), [[0, 1], [5, 0]], rule="bayes", priors=0)  # 1, rounded up
    assert never.threshold == np.inf and not never.columns([.5, 1, 1 + 2**-52]).any()
    fit_rule(L, Posteriors(P, priors=.5), COSTS).decide(Posteriors(P, priors=[.5, .5]))  # as it was fitted


def test_the_threshold_over_folds_is_that_of_each_complement():
    samples, fold = read_samples(L, Scores(S), COSTS), np.arange(N) % 4
    apart = [rule_of(samples.take(fold != k), "model", rule="tuned").threshold for k in range(4)]
    assert rule_of(samples, "model", rule="tuned", folds=fold).over_folds == (min(apart), max(apart))


def test_values_in_every_form():
    "Columns go by name; without names those that may stand either way are refused, with what to write."
    abc = CostMatrix(THREE.array, classes=list("abc"), decisions=["a", "b", "c", "review"])
    rule = fit_rule(np.array(list("abc"))[Y3], P3, abc)
    frame = pd.DataFrame(P3, columns=list("abc"))
    for values in (frame[["c", "a", "b"]].assign(id=1), Posteriors(P3[:, ::-1], classes=list("cba")),
                   Posteriors(P3), P3.tolist()):
        assert (rule.decide(values) == rule.decide(P3)).all()
    two, turned = fit_rule(L, P, COSTS), np.column_stack([P, 1 - P])  # as scikit-learn has them: ill, well
    for values in (P, pd.Series(P), stated(turned[:, ::-1], ["well", "ill"]), stated(turned, ["ill", "well"]),
                   pd.DataFrame(turned, columns=["ill", "well"]), Posteriors(1 - P, classes=["well"])):
        assert (two.decide(values) == two.decide(P)).all()
    for values in (turned, turned.tolist(), pd.DataFrame(turned), Posteriors(turned)):
        with pytest.raises(ValueError, match=r"values: columns without names .*classes=\['ill', 'well'\]"):
            two.decide(values)
    zero = fit_rule(Y, P, [[0, 1], [5, 0]])
    assert (zero.decide(pd.DataFrame({"1": P, "0": 1 - P})) == zero.decide(P)).all()
    assert zero.decide(P).dtype.kind == "i"
    own = fit_rule(Y, P, ExampleCosts(fp=1, fn=LOW))
    for costs in ({"fp": np.ones(N), "fn": LOW}, pd.DataFrame({"fp": 1., "fn": LOW})):
        assert (own.decide(P, costs) == own.decide(P, ExampleCosts(fp=1, fn=LOW))).all()
    assert 0 < (own.decide(P, own.costs) != own.decide(P, {"fp": 1, "fn": LOW})).sum()


def decides(case, values, **options):
    return lambda: fitted(case)[1].decide(values, **options)


def reads(*left_out, **change):
    "A file with other content is read and decides; the runner refuses a changed one, too."
    def call():
        content = {k: v for k, v in fitted("posteriors, calibrated")[1].content.items() if k not in left_out}
        text = json.dumps(content | change)
        if change:
            with pytest.raises(ValueError):
                run_rule(read_rule(text), P)
        DecisionRule.from_json(text).decide(P)
    return call


WHOLE, PEOPLE = fitted("scores, calibrated")[1].to_json(), pd.Series(P, np.arange(N) + 7)
test_what_cannot_be_decided_read_or_made_is_refused = refuses({
    "NaN": (decides("posteriors, bayes", [.2, np.nan]), r"values: nan in row 1 \(1 such rows\).*otherwise="),
    "a column": (decides("three, abstain", pd.DataFrame(P3[:, :2])), r"columns \[0, 1\], .* of \[0, 1, 2\]"),
    "columns": (decides("three, abstain", P3[:, :2]), r"values: a column for each of \[0, 1, 2\]"),
    "a decision": (decides("decisions", ["wait", "wait", "send"]), "values: send in row 2"),
    "text": (decides("scores, tuned", ["a"]), "values: expected numbers"),
    "percent": (decides("posteriors, bayes", [.2, 20.]), "values: 0.2 to 20, .*divide percentages"),
    "whose class": (decides("posteriors, bayes", Posteriors(P, classes=["no"])), r"values: .* got \['no'\]"),
    "named twice": (decides("three, abstain", Posteriors(pd.DataFrame(P3), classes=[2, 1, 0])), "names its"),
    "elsewhere": (decides("posteriors, calibrated", Posteriors(P, priors=.5)), r"give shift_priors\(frame"),
    "no distribution": (decides("three, abstain", P3 * 2), "values: row 0 sums to"),
    "another kind": (decides("posteriors, bayes", Scores(S)), "values: scores, .* fitted to posteriors"),
    "no costs": (decides("each row's costs", P), "costs: judged at each row's own costs"),
    "costs of others": (decides("each row's costs", P, costs={"fp": 1, "fn": [2., 3.]}), "costs: of 2 rows"),
    "turned": (decides("each row's costs", PEOPLE, costs={"fp": 1, "fn": PEOPLE[::-1]}), "of values in"),
    "folds turned": (lambda: fit_rule(PEOPLE > .5, P, THREE.array[:2, :2], folds=PEOPLE[::-1]), "folds: its"),
    "costs of a cut": (decides("scores, tuned", S, costs={"fp": 1, "fn": LOW}), "costs: decided by cut"),
    "a queue of three": (decides("three, abstain", P3, capacity=5), "capacity: limits the second of two"),
    "half a call": (decides("posteriors, bayes", P, capacity=2.5), "capacity: .*whole number"),
    "half a call, made": (lambda: fitted("posteriors, bayes", capacity=2.5), "capacity: .*whole number"),
    "a queue of three, made": (lambda: fitted("three, abstain", capacity=5), "the second of two decisions"),
    "half a call, read": (reads(capacity=2.5), "capacity: must be a whole number"),
    "one or all, read": (reads(capacity=1.), "may be one sample or all"),
    "own costs, read": (reads(own_costs=True), "judged at each row's own costs"),
    "another version": (reads(version=9), "of version 9"), "another file": (reads(schema="no"), "no rule"),
    "NaN, read": (reads(costs=[[0, 1], [5, np.nan]]), "NaN is no number"),
    "the other class": (decides("posteriors, bayes", pd.Series(P, name="well")), "by its name the"),
    "without either": (reads("costs", "capacity"), "without .'capacity', 'costs'.; write it again"),
    "without costs": (reads("costs", "made", capacity=9), "without .'costs', 'made'.; write it again"),
    "no such file": (lambda: DecisionRule.from_json("no/such.json"), "no such file"),
    "half a file": (lambda: DecisionRule.from_json(WHOLE[:200]), "not complete JSON"),
    "a number": (lambda: DecisionRule.from_json(5), "path: a path or the text"),
    "no decision": (lambda: fitted("scores, tuned", otherwise="call"), "otherwise: 'call' .*with_abstain"),
    "a light cap": (lambda: check_rule(fit_rule(L, P, COSTS), L, P, sample_weight=WORTH["w"], max_cost=1,
                                       heaviest=1), "heaviest: .*a unit weighs 3"),
})


@pytest.mark.parametrize("case, values", [
    ("scores, tuned", [np.nan, 9, -9]), ("posteriors, bayes", [np.nan, 1, 0]),
    ("decisions", ["?", "treat", "wait"])])
@pytest.mark.filterwarnings("ignore:.*lie outside")
def test_rows_without_a_value_go_where_the_rule_says(case, values):
    rule = DecisionRule.from_json(fitted(case, otherwise="treat")[1].to_json())
    wanted, told = ["treat", "treat", "wait"], rule.explain(values)
    assert rule.decide(values).tolist() == run_rule(rule.content, values).tolist() == wanted
    assert told["decision"].tolist() == wanted and told["calibrated"].isna()[0]
    three = fitted("three, abstain", otherwise="review")[1]
    assert three.decide([[.1, np.nan, .8], [0, 0, 1]]).tolist() == ["review", 2]


def test_a_list_of_the_day_holds_those_that_save_the_most():
    saving = np.column_stack([1 - P, P]) @ [-1, 5]
    rule = fitted("posteriors, bayes")[1]
    for room, share in ((40, 40), (60 / N, 60), (N + 9, N)):
        taken = np.flatnonzero(rule.decide(P, capacity=room) == "treat")
        assert set(taken) == set(np.argsort(-saving)[:min(share, (saving > 0).sum())])
    own = ExampleCosts(fp=1, fn=LOW)
    each = DecisionRule.from_json(fit_rule(Y, P, own, rule="bayes", capacity=40).to_json())
    taken = np.flatnonzero(each.decide(P, own))
    assert set(taken) == set(np.argsort(-(P * LOW - (1 - P)), kind="stable")[:40])
    with pytest.warns(UserWarning, match="ends among equal cases: those that stand first"):
        assert rule.decide([.9] * 5, capacity=2).tolist() == ["treat"] * 2 + ["wait"] * 3
    assert fitted("scores, tuned")[1].decide(S, capacity=1).tolist().index("treat") == S.argmax()
    # a rule that cuts orders its queue by its values, when it is judged, too
    policy = decide(P, Y, ExampleCosts(fp=1, fn=LOW ** 2.), rule="tuned", capacity=50, rng=0)
    assert P[policy.decisions == 1].min() >= np.sort(P)[-50]


def test_explain_adds_up():
    for case in ("posteriors, calibrated", "scores, calibrated", "three, abstain", "each row's costs"):
        samples, rule = fitted(case)
        values, own = stated(samples.models["model"].values, rule.classes), samples.own
        told = rule.explain(values, own)
        paid = told[[f"cost of {label}" for label in rule.decisions]].to_numpy()
        assert (np.array(rule.decisions, object)[paid.argmin(1)] == told["decision"]).mean() > .999
        assert (told["decision"] == rule.decide(values, own)).all()
    row = fitted("posteriors, calibrated")[1].explain(pd.Series([.9], index=["Anna"])).loc["Anna"]
    paid, p = [row["cost of wait"], row["cost of treat"]], row["calibrated"]
    assert paid == pytest.approx([5 * p, 1 - p]) and (row["stated"], row["decision"]) == (.9, "treat")
    for case, values, told in (("scores, tuned", [9.], [9., "treat"]), ("decisions", ["wait"], ["wait"] * 2)):
        found = fitted(case)[1].explain(values)
        assert found.loc[0, ["stated", "decision"]].tolist() == told
        assert found.filter(like="cost of").isna().all(axis=None)
    rule = fit_rule(Y, P, [[0, 1], [5, 0]], capacity=50)  # what a capacity takes away is no decision
    for room in ({}, {"capacity": N}):
        assert (rule.explain(P, **room)["decision"] == rule.decide(P, **room)).all()


def test_numpy_alone_runs_a_file(tmp_path):
    "A process that cannot import scipy, pandas, scikit-learn or matplotlib: the runner, and the file."
    lines, want = [], []
    for case in CASES:
        for limit in ({}, {"capacity": 9})[: 1 + (not case.startswith("three"))]:
            samples, rule = fitted(case, **limit)
            values, own = samples.models["model"].values, samples.own
            values = np.array(samples.costs.decisions, object)[values] if rule.kind == "decisions" else values
            costs = None if own is None else own.array.tolist()
            lines.append(json.dumps([json.loads(rule.to_json()), values.tolist(), costs]))
            told = rule.columns(stated(values, rule.classes), own)
            want.append(np.array(rule.decisions, object)[told].tolist())
    (tmp_path / "rules.jsonl").write_text("\n".join(lines), encoding="utf-8")
    service = f"""import json, sys
for name in ("pandas", "scipy", "sklearn", "matplotlib"):
    sys.modules[name] = None
sys.path.insert(0, {str(Path(policies.__file__).parents[1])!r})
from cost_eval.runner import read_rule, run_rule
for line in open("rules.jsonl"):
    rule, values, costs = json.loads(line)
    print(json.dumps(run_rule(rule, values, costs).tolist()))
print(sorted(name for name in sys.modules if name.startswith("cost_eval")))
"""
    done = subprocess.run([sys.executable, "-I", "-c", service], cwd=tmp_path, capture_output=True, text=True)
    *told, loaded = done.stdout.splitlines() or [done.stderr]
    assert [json.loads(line) for line in told] == want, done.stderr
    assert loaded == "['cost_eval', 'cost_eval.core', 'cost_eval.runner']"


def test_a_report_hands_over_what_it_judged():
    report = evaluate(L, {"p": P, "grade": Scores(G)}, COSTS, priors={"well": .9, "ill": .1}, capacity=90,
                      draws=1, rng=0)
    rule, row = report.decision_rule(), report.best.iloc[0]
    assert (rule.model, rule.rule, rule.capacity) == (row["model"], row["rule"], 90)
    assert rule.priors.tolist() == [.9, .1] and rule.made == report.provenance
    assert all(rule.expected[end] == row[end] for end in ("cost", "low", "high"))
    assert np.isnan(rule.over_folds).all() and (rule.decide(P) == "treat").sum() == 90
    assert report.decision_rule("grade", otherwise="wait").otherwise == "wait"
    with pytest.raises(ValueError, match="name: .*unknown|name"):
        report.decision_rule("q")
    few = evaluate(np.r_[np.zeros(30, int), 1], {"s": Scores(S[:31])}, [[0, 1], [5, 0]], rng=0)
    with pytest.raises(ValueError, match="nothing could be fitted for 's'"):
        few.decision_rule()


# ---- the shell: decide, check

def shell(capsys, *arguments):
    code = main([*map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    "A file of predictions, the rule that evaluate saved of it, and new labelled rows in both kinds of file."
    def rows(n, seed, worse=0.):
        draw = np.random.default_rng(seed)
        ill = draw.random(n) < .3
        score = draw.normal(1.5 * ill - worse * ill)
        return pd.DataFrame({"id": np.arange(n), "label": np.where(ill, "ill", "well"),
                             "p": 1 / (1 + np.exp(-score))})
    place = tmp_path_factory.mktemp("installed")
    rows(1500, 0).to_csv(place / "old.csv", index=False)
    said = [place / "old.csv", "--positive", "ill", "--fp", 1, "--fn", 5, "--save-rule", place / "rule.json"]
    assert main(["evaluate", *map(str, said), "--otherwise", "ill"]) == 0
    return place, rows


def test_decide_applies_the_rule_to_files(installed, capsys):
    place, rows = installed
    new, rule = rows(1000, 1).assign(label="NA", zip="007"), DecisionRule.from_json(place / "rule.json")
    new.loc[[3, 700], "p"] = np.nan
    new.to_csv(place / "new.csv", index=False)
    new.set_index("id").to_parquet(place / "new.parquet")
    new.to_csv(place / "german.csv", index=False, sep=";", decimal=",")
    new.rename(columns={"p": "q"}).to_csv(place / "q.csv", index=False)
    (place / "bom.json").write_text((place / "rule.json").read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert rule.content["columns"] == "p" and rule.otherwise == "ill" and rule.expected["n"] == 1500

    def decided(file, *options, made="rule.json", out="decided.csv"):
        said = place / file, "--rule", place / made, "--out", place / out, *options
        code, _, err = shell(capsys, "decide", *said)
        return (pd.read_csv(place / out, sep=",;"["--sep" in options]), err) if code == 0 else (code, err)

    for file, options, made in (("new.csv", [], "rule.json"), ("new.parquet", [], "rule.json"),
                                ("q.csv", ["--scores", "q"], "rule.json"),
                                ("german.csv", ["--sep", ";", "--decimal", ","], "bom.json")):
        told, err = decided(file, *options, made=made)
        assert err == "" and (told["decision"] == rule.decide(new["p"])).all()
        assert (told["id"] == new["id"]).all()
    assert (decided("new.csv", "--capacity", 20)[0]["decision"] == "ill").sum() == 20
    before, after = ((place / f).read_text().splitlines() for f in ("new.csv", "decided.csv"))
    assert [line.rpartition(",")[0] for line in after] == before
    for file, made, words in (("q.csv", "rule.json", "--scores: '"), ("no.csv", "rule.json", "no such file"),
                              ("decided.csv", "rule.json", "a column 'decision' already"),
                              ("new.csv", "new.csv", "no JSON|no such|not complete")):
        code, err = decided(file, made=made, out="y.csv")
        assert code == 2 and re.search(words, err), err
        assert not (place / "y.csv").exists() and not (place / "y.csv.part").exists()
    assert decided("new.csv", "--fp", 1, "--fn", "5:20", out="y.csv")[0] == 2, "a range is no price of a row"


def test_posteriors_in_columns_and_costs_of_each_row(tmp_path, capsys):
    three, own, costs = (tmp_path / name for name in ("three.csv", "own.csv", "costs.csv"))
    pd.DataFrame({"y": Y3, **{f"m_{k}": P3[:, k] for k in range(3)}}).to_csv(three, index=False)
    pd.DataFrame({"y": Y, "p": P, "llr": S, "amount": LOW}).to_csv(own, index=False)
    THREE.to_frame().to_csv(costs)
    prices = ["--fp", 1, "--fn", "amount"]
    made, out = ["--rule", tmp_path / "r.json"], ["--out", tmp_path / "out.csv"]
    for file, options, later, columns, given in (
            (own, ["--llr", "llr", "--fp", 1, "--fn", 5], [], "llr", [pd.Series(S)]),
            (three, ["--costs", costs], [], [[k, f"m_{k}"] for k in range(3)], [P3]),
            (own, ["--scores", "p", *prices], prices, "p", [P, {"fp": np.ones(N), "fn": LOW}])):
        assert shell(capsys, "evaluate", file, *options, "--save-rule", tmp_path / "r.json")[0] == 0
        rule = DecisionRule.from_json(tmp_path / "r.json")
        assert rule.content["columns"] == columns
        assert shell(capsys, "decide", file, *made, *out, *later)[0] == 0
        told = pd.read_csv(tmp_path / "out.csv")["decision"]
        assert (told.astype(str) == rule.decide(*given).astype(str)).all()
        assert shell(capsys, "check", file, *made, "--max-cost", 99, *later)[0] == 0
    code, _, err = shell(capsys, "decide", own, *made, *out)
    assert code == 2 and "judged at each row's own costs" in err


def test_check_answers_by_its_exit_status(installed, capsys):
    "A drift is planted: from the second file on the ill score as if they were nearly well."
    place, rows = installed
    rows(1500, 2).to_csv(place / "same.csv", index=False)
    rows(400, 3, worse=1.2).to_parquet(place / "worse.parquet")
    rows(30, 4).assign(target="ill").to_csv(place / "few.csv", index=False)
    keep = ["--max-cost", .6, "--min-recall", "80%"]
    for files, options, want, words in (
            (["same.csv"], keep, 0, "kept"), (["worse.parquet"], keep, 1, "A case costs"),
            (["few.csv"], [*keep, "--label", "label"], 3, "undecided"),
            (["same.csv", "few.csv"], keep, 0, "Read: true labels 'label'"),  # found once, in the first
            (["same.csv"], [], 2, "what is to be kept? Give a cost (here: --max-cost C, --min-recall R)"),
            (["same.csv"], ["--min-recall", "95"], 2, "--min-recall: must")):
        said = [*(place / file for file in files), "--rule", place / "rule.json", *options]
        code, out, err = shell(capsys, "check", *said)
        assert code == want and words in out + err, out + err


def test_a_recall_needs_so_many_positives_without_a_miss():
    rule = fit_rule(L, P, COSTS)
    for k, want in ((58, "undecided"), (59, "kept")):  # .95 ** 59 < .05 < .95 ** 58
        assert check_rule(rule, ["ill"] * k, [.99] * k, min_rates={"recall": .95}).verdict == want


WORTH = pd.DataFrame({"y": L, "p": P, "w": 1. + np.arange(N) % 3, "who": np.arange(N) // 2,
                      "lost": 1. + np.arange(N) % 9})


@pytest.mark.parametrize("kind", [{"sample_weight": "w"}, {"clusters": "who"}, {"sample_weight": "w",
        "clusters": "who"}, {"costs": {"fp": 1, "fn": "lost"}}], ids=" ".join)
def test_a_check_of_weights_clusters_and_costs_of_rows_is_the_engines(kind, tmp_path, capsys):
    "One look by `loss_interval`; the same by the command."
    costs = COSTS
    if "costs" in kind:
        costs = ExampleCosts(fp=1, fn=WORTH["lost"], classes=COSTS.classes, decisions=COSTS.decisions)
    rule = fit_rule(L, P, costs)
    units = {k: WORTH[v] for k, v in kind.items() if k != "costs"}
    given = {"costs": {"fp": 1, "fn": WORTH["lost"]}} if "costs" in kind else {}
    paid = ce.losses(L, rule.decide(P, *[costs] * ("costs" in kind)), costs)
    ends = ce.loss_interval(paid, bounds=(0, costs.array.max()), confidence=.9, **units)
    told = check_rule(rule, WORTH["y"], WORTH["p"], max_cost=9, **units, **given)
    row = told.table[["estimate", "low", "high"]].iloc[0].tolist()
    assert row == pytest.approx([ends.mean, ends.low, ends.high])
    assert any("Weights or clusters" in note for note in told.notes) == ("costs" not in kind)
    rule.to_json(tmp_path / "rule.json")
    WORTH.to_csv(tmp_path / "rows.csv", index=False)
    words = {"sample_weight": ["--weight", "w"], "clusters": ["--cluster", "who"],
             "costs": ["--fp", 1, "--fn", "lost"]}
    said = ["--rule", tmp_path / "rule.json", "--scores", "p", "--label", "y", "--max-cost", 9]
    more = (word for k in kind for word in words[k])
    code, out, err = shell(capsys, "check", tmp_path / "rows.csv", *said, *more)
    assert code == 0 and f"{told.table['high'][0]:.4g}" in out, out + err


def test_a_check_asks_what_the_rule_was_made_to_keep_to():
    rule = fit_rule(L, P, COSTS, require={"recall": .9}, rule="tuned")
    assert check_rule(rule, L, P).table["requirement"].tolist() == ["recall"]
    both = check_rule(rule, L, P, max_cost=9, min_rates={"recall": .5, "accuracy": .1}).table
    assert both["requirement"].tolist() == ["cost", "recall", "accuracy"]
    assert both["limit"].tolist() == [9, .5, .1]


def test_columns_of_a_frame_are_classes_by_their_name_in_whatever_order_the_costs_name_them():
    """Costs that list class 2 first: a column called 0 is class 0, in the rule, in the report and in
    `bayes_decisions`, not the first of the costs."""
    order, right = [2, 0, 1], Posteriors(P3, classes=[0, 1, 2])
    costs, frame = CostMatrix([[0, 1, 5], [1, 0, 2], [9, 3, 0]], classes=order), pd.DataFrame(P3)
    rule = fit_rule(Y3, right, costs, rule="bayes")
    assert (rule.decide(frame) == rule.decide(right)).all()
    assert (read_samples(Y3, frame, costs).models["model"].values == P3[:, order]).all()
    assert (np.array(order)[bayes_decisions(frame, costs)] == rule.decide(right)).all()


@pytest.mark.parametrize("rule, room", [("bayes", 60), ("calibrated", .1), ("tuned", 60)])
@pytest.mark.parametrize("priced", ["one matrix", "each row"])
def test_a_rule_with_a_capacity_decides_alike_everywhere_and_shows_no_cut(rule, room, priced):
    "A cut that calls more than the queue holds is not its own: report, rule, file, runner and check."
    costs = COSTS
    if priced == "each row":
        costs = ExampleCosts(fp=1, fn=LOW, classes=COSTS.classes, decisions=COSTS.decisions)
    report = evaluate(L, P, costs, rule=rule, capacity=room, draws=1, rng=0)
    found = report.decision_rule()
    given = costs if priced == "each row" and rule != "tuned" else None
    decided = found.decide(P, given)
    assert (decided == "treat").sum() == 60
    array = None if given is None else given.array
    for again in (found, DecisionRule.from_json(found.to_json())):
        assert (run_rule(json.loads(again.to_json()), P, array) == decided).all()
        assert (np.array(again.decisions)[again.columns(P, given)] == decided).all()
        assert check_rule(again, L, P, given, max_cost=9).counts[:, 1].sum() == 60
        assert np.isnan([again.threshold, again.same_from, again.same_to, *again.over_folds]).all()
        assert " from " not in repr(again) and "'treat' for at most" in repr(again)
    assert report.ladder["threshold"][report.ladder["main"]].isna().all()
    for text in (report.summary(), report.to_markdown()):
        assert not re.search(r"from [0-9.]+ on", text) and "can be decided treat" in text


# ---- what differs from the rows that a rule was fitted on

def month(n, seed, share=.1):
    "Labels and scores, and the probabilities that are right for them."
    rng = np.random.default_rng([seed, n])
    y = (rng.random(n) < share).astype(int)
    score = rng.normal(1.5 * y)
    return y, score, 1 / (1 + np.exp(1.125 - 1.5 * score) * (1 - share) / share)


@pytest.mark.parametrize("n", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_unchanged_months_raise_a_line_in_a_hundredth_at_most(n):
    """Over rules, each fitted on rows of its own; three standard errors of 100 months above .01, .04 in
    all."""
    sets, raised = 100, 0
    for seed in range(sets):
        kind = ("tuned", "bayes")[seed % 2]
        months = [month(size, 3 * seed + part) for part, size in enumerate((600, 600, n))]
        (y, values), old, new = ((y, score if kind == "tuned" else p) for y, score, p in months)
        rule = fit_rule(y, values, [[0, 1], [20, 0]], rule=kind)
        was = ce.interval(check_rule(rule, *old, max_cost=9).counts, [[0, 1], [20, 0]])
        rule.content["expected"] = {"cost": was.mean, "low": was.low, "high": was.high, "confidence": .95}
        raised += bool(check_rule(rule, *new, max_cost=9).drift)
    assert raised / sets <= .01 + 3 * (.01 * .99 / sets)**.5


def beyond(fitted, new, k):
    "Chance that k or more of `new` values lie above all `fitted` ones, by counting orders."
    return comb(fitted + new - k, fitted) / comb(fitted + new, fitted)


@pytest.mark.parametrize("n, k", [(200, 1), (200, 2), (200, 4), (1000, 8), (1000, 12)])
def test_values_beyond_are_told_by_the_law_of_any_order(n, k):
    y, score = np.arange(500) % 2, np.linspace(-1, 1, 500)
    rule = fit_rule(y, score, [[0, 1], [5, 0]], rule="tuned")
    for sign, side in ((1, "above"), (-1, "below")):
        new = np.where(np.arange(n) < k, sign * 2., 0)
        drift = check_rule(rule, np.arange(n) % 2, new, max_cost=5).drift
        lines = [line for line in drift if f"{k} of {n} values lie {side}" in line]
        assert bool(lines) == (beyond(500, n, k) < .01 / 3 / 2), (n, k, drift)
        assert all("of all rules" in line for line in lines)


def test_with_weights_or_clusters_no_line_is_raised():
    y, score, _ = month(400, 1)
    rule = fit_rule(y, score, [[0, 1], [20, 0]], rule="tuned")
    rule.content["expected"] = {"cost": .01, "low": .005, "high": .02, "confidence": .95}
    ask = rule, np.ones(300, int), np.full(300, -9.)
    assert len(check_rule(*ask, max_cost=9).drift) >= 3
    for given in (dict(sample_weight=np.ones(300)), dict(clusters=np.arange(300) // 2)):
        found = check_rule(*ask, **given, max_cost=9)
        assert found.drift == () and any("Weights or clusters" in note for note in found.notes)


def test_shares_are_compared_by_exact_tests():
    "Against scipy's, the tails of each class doubled; of three, three times the least."
    y, score, _ = month(600, 1, .03)
    rule = fit_rule(y, score, [[0, 1], [20, 0]], rule="tuned")
    for ill in range(0, 40):
        new = np.r_[np.ones(ill, int), np.zeros(200 - ill, int)]
        drift = check_rule(rule, new, np.zeros(200), max_cost=99).drift
        law = hypergeom(800, y.sum() + ill, 200)
        p = 2 * min(law.cdf(ill), law.sf(ill - 1))
        assert any("Classes have other shares" in line for line in drift) == (p < .01 / 6), ill
