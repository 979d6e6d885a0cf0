"""Nothing on a page contradicts anything else on it; and what a verdict may not depend on."""
import re
from functools import partial
from itertools import permutations

import numpy as np
import pytest

from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Posteriors, Scores
from html import unescape

N = r"(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)"
ENDS = rf"interval {N} to {N}"


def says(text, value):
    "Do the printed digits say this number?"
    return f"{float(text.replace(',', '')):.4g}" == f"{value + 0.0:.4g}"


def read(pattern, text, *values):
    "The only match of a pattern, its numbers being those given (None: not looked at)."
    found = re.findall(pattern, text)
    assert len(found) == 1, (pattern, text)
    groups = found[0] if isinstance(found[0], tuple) else (found[0],)
    for group, value in zip(groups, values):
        assert value is None or (says(group, value) if not isinstance(value, str)
                                 else group == value), (groups, values, text)
    return groups


COSTS = CostMatrix.binary(fp=1, fn=6)
evaluate = partial(evaluate, draws=2)  # the pages of the first seeds take as many as there are by themselves


# ---- pages of all kinds

def made(seed):
    """A report: of its number depend the rule, priors, weights, clusters, costs, groups, capacity, and how
    many models there are."""
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(80, 160)), 3 if seed % 8 == 5 else 2
    y = rng.choice(K, n, p=[.6, .3, .1] if K == 3 else [.7, .3])
    S, rule = (1, 2, 5 if K == 2 else 2)[seed % 3], ("calibrated", "tuned", "bayes", "as given",
                                                     None)[seed % 5]
    models = {f"m{k}": _output(rng, y, K, "posteriors" if rule in ("bayes", "as given") else ("scores",
            "posteriors", "decisions", "rounded")[(seed + k) % 4], 2 * k / S) for k in range(S)}
    options = {"rule": rule if not (rule == "tuned" and K == 3) else "calibrated", "rng": seed, "draws": None
               if seed < 7 else 2}
    if rule is None:
        options["rule"] = {name: "calibrated" if K == 3 or k % 2 else "tuned"
                           for k, name in enumerate(models)}
    if seed % 4 in (1, 3):
        options["priors"] = rng.dirichlet(np.full(K, 4)) if seed % 4 == 1 or K > 2 else .1
    if seed % 7 in (1, 4) and (S < 5 or "priors" not in options):
        options["sample_weight"] = rng.uniform(.2, 3, n)
    if seed % 6 in (2, 4):
        options["clusters"] = rng.integers(0, n // 3, n)
    if seed % 5 in (0, 3):
        options["groups"] = np.array(["north", "south", "west"])[rng.integers(0, 2 + seed % 2, n)]
    if seed % 11 in (3, 6) and K == 2:
        options["capacity"] = (20, .15)[seed % 2]
    fn, fp = float(rng.choice([.5, 2, 5, 9, 20])), float(rng.choice([1, 1, 3]))
    costs = CostMatrix.binary(fp=fp, fn=fn, tn=.3 * (seed % 3 == 0)) if K == 2 else CostMatrix([[0, 1, 2, .4],
            [5, 0, 1, .4], [9, 9, 0, .4]], decisions=[0, 1, 2, "ask"])
    if seed % 9 in (4, 8) and K == 2:
        costs = ExampleCosts(fp=fp, fn=fn * rng.gamma(2, .5, n))
    return evaluate(y, models, costs, **options)


def _output(rng, y, K, kind, signal):
    hidden = rng.normal(size=(len(y), K)) + signal * np.eye(K)[y]
    p = np.exp(1.5 * hidden) / np.exp(1.5 * hidden).sum(1, keepdims=True)
    if K == 3:
        return Decisions(p.argmax(1)) if kind == "decisions" else Posteriors(p)
    p = p[:, 1]
    return {"scores": Scores(100 * hidden[:, 1]), "posteriors": Posteriors(p), "decisions": Decisions(p > .4),
            "rounded": Posteriors(p.round(1))}[kind]


def apart(table, confidence):
    """Told apart if and only if the p-value is small, if and only if 0 is outside; intervals hold their
    numbers."""
    column = "difference" if "difference" in table else "saving"
    for row in table.to_dict("records"):
        assert row["low"] <= row[column] + 1e-12 and row[column] <= row["high"] + 1e-12
        assert row["told_apart"] == (row["p_value"] < 1 - confidence)
        assert row["told_apart"] == ((row["low"] >= 0 or row["high"] <= 0) and row[column] != 0)


def tables_agree(r):
    main = r.ladder[r.ladder["main"]].set_index("model")
    cost, best = main["cost"], r.best.set_index("model")
    assert sorted(best.index) == sorted(cost.index) and (np.diff(best["cost"]) >=
            -1e-12).all() and best["cost"].iloc[0] == cost.min()
    assert (best["rule"] == main.loc[best.index, "rule"]).all()
    columns = ["cost", "low", "high"]  # the transform of a lattice has a length of its own in each stack
    np.testing.assert_allclose(best[columns].astype(float), main.loc[best.index, columns].astype(float), rtol=1e-11)
    assert r.rule == (main["rule"].iloc[0] if main["rule"].nunique() == 1 else main["rule"].to_dict())
    constant, oracle = r.ladder[r.ladder["rule"] == "constant"].set_index("model")["cost"], r.ladder[
        "cost"].iloc[-1]
    assert (r.ladder["low"] <= r.ladder["cost"] + 1e-9).all() and (r.ladder["cost"] <= r.ladder["high"]
            + 1e-9).all()
    np.testing.assert_allclose(r.ladder["gap_closed"], (constant.min() - r.ladder["cost"]) / (constant.min()
            - oracle), atol=1e-9)
    if r.winner is not None:
        w, top = r.winner, r.best.iloc[0]
        assert (w.model[0], w.estimate[0]) == (top["model"], pytest.approx(top["cost"]))
        assert w.model[1:].tolist() == r.best["model"].tolist()
        assert w.low[0] == pytest.approx(best["low"].min()) and w.high[0] >= top["high"] - 1e-9
    for row in r.differences.to_dict("records"):
        assert row["difference"] == pytest.approx(cost[row["first"]] - cost[row["second"]], abs=1e-9)
        assert row["cheaper"] == (row["first"] if row["difference"] < 0 else row["second"]
                                  if row["difference"] > 0 else "")
    for row in r.against_constant.to_dict("records"):
        assert row["saving"] == pytest.approx(constant.min() - cost[row["model"]],
                                              abs=1e-9) and row["against"] == constant.idxmin()
    rungs = r.ladder.set_index(["model", "rule"])["cost"]
    for row in r.alternatives.to_dict("records"):
        assert row["saving"] == pytest.approx(rungs[row["model"], row["against"]] - cost[row["model"]],
                                              abs=1e-9)
    for table in (r.differences, r.against_constant, r.alternatives, r.group_differences):
        apart(table, r.confidence)
    for name in best.index:
        parts = r.breakdown(name)
        for kind, part in parts.groupby("part"):
            assert part["cost"].sum() == pytest.approx(cost[name], abs=1e-9), kind
    groups = r.groups.set_index(["model", "group"])
    for row in r.group_differences.to_dict("records"):
        if row["second"] != "the others" and row["what"] != "cost":
            column = row["what"].lower()
            assert row["difference"] == pytest.approx(groups[column][row["model"], row["first"]]
                                                      - groups[column][row["model"], row["second"]], abs=1e-9)
        elif row["second"] != "the others":
            column = "cost_at_priors" if row["shares"] == "the deployment's" else "cost"
            assert row["difference"] == pytest.approx(groups[column][row["model"], row["first"]]
                                                      - groups[column][row["model"], row["second"]], abs=1e-9)


QUESTIONS = ["Read", "Verdict", "How sure", "What would change it", "What to check"]


def sentences_agree(r):
    "Five lines; what they say is computed here from the tables."
    said, top = dict(line.split(": ", 1) for line in r.summary().splitlines()), r.best.iloc[0]
    assert list(said) == QUESTIONS and not re.search(r"-0\b(?!\.)|p = 0\b|nan|\binf\b", r.summary())
    read(r"^(\d+) samples ", said["Read"], r.n)
    assert {rule for rule in re.findall(r"'([a-z ]+)' \(", said["Read"])} == set(r.best["rule"])
    assert ("Every model decides by the rule" in said["Read"]) == (r.best["rule"].nunique() == 1)
    for label, seen, p in zip(r.classes, r.sample_priors, r.priors):
        assert f"{label} {100 * seen:.3g} %" in said["Read"] and f"{label} {100 * p:.3g} %" in said["Read"]
    naive = r.ladder[r.ladder["rule"] == "constant"].sort_values("cost", kind="stable").iloc[0]
    saved = r.against_constant.set_index("model").loc[top["model"]]
    verdict, ends = said["Verdict"], (top["low"], top["high"])
    ends = ends if r.winner is None else (r.winner.low[0], r.winner.high[0])
    wider = f", widened because it is the best of {len(r.best)}" if r.winner is not None else ""
    if top["low"] != top["high"]:
        read(rf"costs {N} per case \(95% interval {N} to {N}{wider}\)", verdict.partition(top["model"])[2],
             top["cost"], *ends)
    assert ("Use no model" in verdict) == (top["cost"] >= naive["cost"] - 1e-12)
    assert (f"Use {top['model']}" in verdict) == bool(saved["told_apart"] and saved["saving"] > 0)
    assert ("do not show that it saves" in verdict) == bool(saved["saving"] > 1e-12
            and not saved["told_apart"])
    if f"Use {top['model']}" in verdict:
        read(rf"saves {N} against (always \S+)\.", verdict, saved["saving"], naive["model"])
    cut = re.findall(rf"decides (\S+) from {N} on", verdict)
    rule = r.ladder[r.ladder["main"] & (r.ladder["model"] == top["model"])].iloc[0]
    at = r.decision_rule(top["model"]).threshold if hasattr(r, "decision_rule") else rule["threshold"]
    assert not cut or says(cut[0][1], at) and cut[0][0] == str(r.decisions[1])
    assert bool(cut) == (np.isfinite(at) and len(r.decisions) == 2 and "Use no model" not in verdict
                         and "No verdict" not in verdict)
    assert (f", the cheapest of {len(r.best)} models" in verdict) == (len(r.best) > 1)
    sure_agrees(r, said["How sure"], top, naive, saved)
    assert all(note.rstrip(".") in said["What to check"] or "more in the notes" in said["What to check"]
               for note in r.notes)


def sure_agrees(r, said, top, naive, saved):
    "Both lines of both comparisons, the right way round."
    pair = rf"{N} to {N} \(conservative(?:\) or {N} to {N} \(approximate\)|; too few costly cases for an approximate line\)), (not told apart|told apart)"
    found = re.findall(rf"(cheaper|dearer) than (.+?)(?:, the next model,)? by {pair}", said)
    asked = [("saving", naive["model"], saved["low"], saved["high"], saved["told_apart"])]
    if len(r.best) > 1:
        second = r.best.iloc[1]["model"]
        d = next(p for p in r.differences.to_dict("records") if {p["first"], p["second"]} == {top["model"],
                second})
        ends = (-d["high"], -d["low"]) if d["first"] == top["model"] else (d["low"], d["high"])
        asked.append(("difference", second, *ends, d["told_apart"]))
    assert len(found) == len(asked) and said.startswith(f"At 95%, {top['model']} is ")
    assert ("Below 0 it is dearer." in said) == any(low < 0 <= high for _, _, low, high, _ in asked)
    for (way, name, low, high, near_low, near_high, told), (question, other, *ends, apart) in zip(found, asked):
        sign = -1 if way == "dearer" else 1
        ends = sorted(sign * end for end in ends)
        assert (way == "dearer") == (sign * ends[0] < 0 and sign * ends[1] < 0)
        assert (name == other and says(low, ends[0]) and says(high, ends[1]) and (told == "told apart")
                == apart)
        line = r.approximate[r.approximate["question"] == question]
        line = next(one for one in line.to_dict("records") if {one["model"], one["against"]} == {top["model"],
                other})
        assert bool(near_low) == np.isfinite(line["low"])
        if near_low:
            turned = question == "difference" and line["model"] == top["model"]
            near = sorted((-1 if turned else 1) * sign * line[end] for end in ("low", "high"))
            assert says(near_low, near[0]) and says(near_high, near[1])
            assert ("The lines differ" in said) or (line["p_value"] < .05) == apart


def map_agrees(r):
    if "map" not in r.panels:
        return
    found = r.robustness()
    words, (i, j) = found.words(), (np.argmin(abs(found.cost_ratios - found.at[0])),
                                    np.argmin(abs(found.prevalences - found.at[1])))
    c = r.cost_array
    base, unit = r.priors @ np.diag(c), c[0, 1] - c[0, 0]
    here = r.best.set_index("model")["cost"]
    for k, name in enumerate(found.models):
        assert found.cost[k, i, j] * unit + base == pytest.approx(here[name], abs=1e-9), name
    constant = r.ladder[r.ladder["rule"] == "constant"].sort_values("cost", kind="stable").iloc[0]
    cheapest = r.best.iloc[0]["model"] if r.best.iloc[0]["cost"] < constant["cost"] - 1e-12 else {
        "always 0": "always negative", "always 1": "always positive"}[constant["model"]]
    told = re.findall(r"% are positive, (.+?) is the cheapest(?:, and its lead is clear)?\. At", words)
    assert told == [cheapest] or here.iloc[0] == pytest.approx(constant["cost"]) or np.sum(here < here.iloc[0]
            + 1e-9) > 1, (told, cheapest)
    assert found.names[found.winner[i, j]] == told[0] and f"% are positive, {told[0]} is" in words
    assert ("its lead is clear" in words) == bool(found.sure[i, j])
    assert set(re.findall(r"'([a-z ]+)'", words)) == set(
        r.best["rule"])
    product = np.multiply.outer(found.cost_ratios, found.prevalences / (1 - found.prevalences))
    assert says(re.findall(rf"here {N}:", words)[0], float(f"{product[i, j]:.3g}"))
    if r.priors is not r.sample_priors and len(here) == 2 and found.winner[i, j] < 2 and found.cost[2:, i,
            j].min() > found.cost[:2, i, j].max() and r._case.shifted and r._case.counted:
        assert found.sure[i, j] == r.differences["told_apart"][0], "the map and the table ask one question"


def page_agrees(r, page):
    "Each sentence stands on the page, and each table is that of the report to four digits."
    for line in r.summary().splitlines():
        assert line in page
    from cost_eval.page import sections
    parts = dict(re.findall(r"^## (.+)\n\n((?:\|.*\n?)+)", page, re.M))
    for title, frame in sections(r):
        rows = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                for line in parts[title].strip().splitlines()]
        assert rows[0] == list(map(str, frame.columns)) and len(rows) == len(frame) + 2
        for got, wanted in zip(rows[2:], frame.itertuples(index=False)):
            for text, value in zip(got, wanted):
                assert text == str(value) if not isinstance(value, float) else (text == "" if value != value
                        else says(text, value)), (title, text, value)


SEEDS = (0, 3, 4, 6, 7, 10, 12, 16, 26, 56)
SEEDS += tuple(pytest.param(seed, marks=pytest.mark.slow) for seed in range(57) if seed not in SEEDS)


@pytest.fixture(scope="module")
def pages():
    kept = {}
    return lambda seed: kept.setdefault(seed, made(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_tables_agree(pages, seed):
    tables_agree(pages(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_sentences_agree_with_the_tables(pages, seed):
    sentences_agree(pages(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_map_agrees_with_the_tables(pages, seed):
    map_agrees(pages(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_page_agrees_with_the_report(pages, seed):
    r = pages(seed)
    page_agrees(r, r.to_markdown())
    assert r.to_dict()["summary"] == r.summary().splitlines()

def test_the_web_page_says_the_same(pages):
    r = pages(7)
    page = unescape(r.to_html())
    told = [line.split(": ", 1)[1] for line in r.summary().splitlines()]
    assert all(f">{line}</p>" in page for line in [*told[:4], r.robustness().words()]) and all(f"<li>{note}"
            in page for note in r.notes)
    body = re.search(r"The ladder</h3>.*?<tbody>(.*?)</tbody>", page, re.S)[1]
    last = re.findall(r"<td>(.*?)</td>", body.split("<tr>")[-1])
    assert last[0] == "oracle" and says(last[2], r.ladder["cost"].iloc[-1])


# ---- what a verdict may not depend on

@pytest.fixture(scope="module")
def ill():
    rng = np.random.default_rng(5)
    y = (rng.random(240) < .3) * 1
    anomaly = rng.normal(size=240) + 1.6 * y
    p = 1 / (1 + np.exp(1 - anomaly - .5 * rng.normal(size=240)))
    return y, {"anomaly": Scores(anomaly), "column": Scores(rng.random(240)), "model": Posteriors(p)}


RESCALED = {"a tenth": lambda s: .1 * (s - s.min()) / np.ptp(s), "exp": np.exp, "points": lambda s: 600 + 60
            * s,
            "the first and the last at infinity": lambda s: np.where(s == s.max(), np.inf,
        np.where(s == s.min(), -np.inf, s))}


def verdict(r):
    "What a page says and shows, apart from thresholds in the units of a score."
    names = r.ladder.drop(columns=["threshold", "same_from", "same_to"])
    said = re.sub(rf" decides \S+ from {N} on,", "", r.summary())
    return said, r.robustness().words(), names, r.best, r.differences, r.against_constant, r.areas


def same_verdict(a, b):
    for one, other in zip(verdict(a), verdict(b)):
        assert one == other if isinstance(one, str) else one.equals(other)


@pytest.mark.parametrize("rule", ["calibrated", "tuned"])
def test_a_rescaled_score_changes_no_word(ill, rule):
    """B1: an anomaly score multiplied into [0, .1] was a posterior, and a column of random numbers the
    cheapest."""
    y, models = ill
    models = {name: models[name] for name in ("anomaly", "column")}
    plain = evaluate(y, models, COSTS, rule=rule, rng=1)
    assert plain.best["model"][0] == "anomaly"
    for change in RESCALED.values():
        same_verdict(plain, evaluate(y, models | {"anomaly": Scores(change(models["anomaly"].values))}, COSTS,
                                     rule=rule, rng=1))
    bare = evaluate(y, {name: RESCALED["a tenth"](model.values) for name, model in models.items()}, COSTS,
                    rng=1)
    assert "probabilities" in bare.taken["anomaly"], "a wrong guess is named"
    assert bare.best["model"][0] == "anomaly" and bare.best["cost"][0] < plain.best["cost"][
        0] + .1, "and costs little"


def test_names_of_models_change_names_alone(ill):
    y, models = ill
    plain = evaluate(y, models, COSTS, rng=3)
    renamed = evaluate(y, {"q" + name: model for name, model in models.items()}, COSTS, rng=3)
    text = renamed.summary()
    for name in models:
        text = text.replace(f"q{name}", name)
    assert text == plain.summary()


def test_models_that_cost_the_same_are_said_to():
    "Costs that are no whole numbers add up to the same but for rounding: no model leads by that."
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [70, 30])
    wrong = np.r_[np.arange(70) < 7, np.arange(30) < 3]
    models = {"b": y ^ wrong, "a": y ^ np.r_[wrong[:70][::-1], wrong[70:][::-1]], "worse": 0 * y}
    for costs in (CostMatrix.binary(fp=.1, fn=.7), ExampleCosts(fp=.1, fn=np.full(100, .7))):
        for order in (np.arange(100), rng.permutation(100)):
            own = costs[order] if isinstance(costs, ExampleCosts) else costs
            r = evaluate(y[order], {k: v[order] for k, v in models.items()}, own, rng=0)
            assert r.best["model"].tolist() == ["b", "a", "worse"] and r.winner.model[0] == "b"
            assert "b, a cost the same in the sample; the first of them is named" in " ".join(r.notes)
            assert not r.differences["told_apart"][0] and (r.differences["low"][0] <= 0
                    <= r.differences["high"][0])
            assert "be the cheapest: the order depends" not in " ".join(r.notes)


# ---- the last step, as it was found to fail (B)

def test_another_prior_is_decided_anew(ill):
    "B5: at the sample's own priors `with_costs` finds what `evaluate` finds there."
    y, models = ill
    shifted, plain = (evaluate(y, models, COSTS, priors=priors, draws=1, rng=2) for priors in (.02, None))
    one, other = (r.best.set_index("model")["cost"] for r in (shifted.with_costs(COSTS), plain))
    assert one.to_dict() == pytest.approx(other.to_dict())


def test_pooled_predictions_and_missing_labels_are_named(ill):
    "B6."
    y, models = ill
    assert "pooled from cross-validation" in evaluate(y, models, COSTS, folds=np.arange(len(y)) % 5,
                                                      rng=0).summary()
    assert "pooled" not in " ".join(evaluate(y, models, COSTS, rng=0).notes)


def test_a_constant_is_not_certain_of_costs_that_two_samples_show():
    """With own costs and priors: of these rows' amounts it holds, labels drawn anew; of all to come it says
    nothing without a cap."""
    rng = np.random.default_rng(0)
    y, left_out = [0, 0, 1, 1], 0
    for _ in range(60):
        costs = ExampleCosts(fp=rng.uniform(1, 2, 4), fn=rng.uniform(3, 9, 4))[rng.permutation(4)]
        report = evaluate(y, {"m": Decisions(y)}, costs, positive=1, priors=.3, rng=0)
        ladder = report.ladder.set_index("model")
        truth = {"always 0": .3 * costs.array[:, 1, 0].mean(), "always 1": .7 * costs.array[:, 0, 1].mean()}
        left_out += sum(not ladder.low[name] <= cost <= ladder.high[name] for name, cost in truth.items())
        assert "Each sample has its own costs. The amounts are those of these rows, labels and decisions are drawn anew: nothing is claimed of a population with larger ones." in report.notes
    assert left_out <= .05 * 120


@pytest.mark.parametrize("prices", [[[0, 1, 2], [3, 0, 1], [8, 4, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]])
def test_three_classes_listed_in_any_order_get_one_verdict(prices):
    """Calibration is fitted on random folds; these follow from what the rows hold, not from which class is
    listed first."""
    rng = np.random.default_rng(0)
    y = rng.choice(list("abc"), 300, p=[.5, .3, .2])
    seen = [rng.normal(size=(300, 3)) + 1.4 * (y[:, None] == list("abc")) for _ in range(2)]
    posteriors = [np.exp(z) / np.exp(z).sum(1, keepdims=True) for z in seen]
    said = set()
    for order in permutations(range(3)):
        labels = ["abc"[k] for k in order]
        costs = CostMatrix(np.array(prices)[np.ix_(order, order)], classes=labels, decisions=labels)
        models = {name: Posteriors(p[:, order], classes=labels) for name, p in zip("pq", posteriors)}
        report = evaluate(y, models | {"d": np.array(list("abc"))[seen[1].argmax(1)]}, costs, rng=0)
        said.add(str(report.best[["model", "cost", "low", "high"]].round(9).values.tolist()))
    assert len(said) == 1
