"""Nothing on a page contradicts anything else on it; and what a verdict may not depend on."""
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from cost_eval.comparisons import best_of, simultaneous_differences
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Posteriors, Scores

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
        assert value is None or (says(group, value) if not isinstance(value, str) else group == value), (groups, values, text)
    return groups


# ---- pages of all kinds

def made(seed):
    "A report: of its number depend the rule, priors, weights, clusters, costs, groups, capacity, and how many models there are."
    rng = np.random.default_rng(seed)
    n, K = int(rng.integers(90, 260)), 3 if seed % 8 == 5 else 2
    y = rng.choice(K, n, p=[.6, .3, .1] if K == 3 else [.7, .3])
    S, rule = (1, 2, 5)[seed % 3], ("calibrated", "tuned", "bayes", "as given", None)[seed % 5]
    models = {f"m{k}": _output(rng, y, K, "posteriors" if rule in ("bayes", "as given") else ("scores", "posteriors", "decisions", "rounded")[(seed + k) % 4], 2 * k / S) for k in range(S)}
    options = {"rule": rule if not (rule == "tuned" and K == 3) else "calibrated", "rng": seed}
    if rule is None:
        options["rule"] = {name: "calibrated" if K == 3 or k % 2 else "tuned" for k, name in enumerate(models)}
    if seed % 4 in (1, 3):
        options["priors"] = rng.dirichlet(np.full(K, 4)) if seed % 4 == 1 or K > 2 else .1
    if seed % 7 in (1, 4):
        options["sample_weight"] = rng.uniform(.2, 3, n)
    if seed % 6 in (2, 4):
        options["clusters"] = rng.integers(0, n // 3, n)
    if seed % 5 in (0, 3):
        options["groups"] = np.array(["north", "south", "west"])[rng.integers(0, 2 + seed % 2, n)]
    if seed % 11 in (3, 6) and K == 2:
        options["capacity"] = (20, .15)[seed % 2]
    fn, fp = float(rng.choice([.5, 2, 5, 9, 20])), float(rng.choice([1, 1, 3]))
    costs = CostMatrix.binary(fp=fp, fn=fn, tn=float(seed % 3 == 0)) if K == 2 else CostMatrix([[0, 1, 2, .4], [5, 0, 1, .4], [9, 9, 0, .4]], decisions=[0, 1, 2, "ask"])
    if seed % 9 in (4, 8) and K == 2:
        costs = ExampleCosts(fp=fp, fn=fn * rng.gamma(2, .5, n))
    return evaluate(y, models, costs, **options)


def _output(rng, y, K, kind, signal):
    hidden = rng.normal(size=(len(y), K)) + signal * np.eye(K)[y]
    p = np.exp(1.5 * hidden) / np.exp(1.5 * hidden).sum(1, keepdims=True)
    if K == 3:
        return Decisions(p.argmax(1)) if kind == "decisions" else Posteriors(p)
    p = p[:, 1]
    return {"scores": Scores(100 * hidden[:, 1]), "posteriors": Posteriors(p), "decisions": Decisions(p > .4), "rounded": Posteriors(p.round(1))}[kind]


def apart(table, confidence):
    "Told apart if and only if the p-value is small, if and only if 0 is outside; intervals hold their numbers."
    column = "difference" if "difference" in table else "saving"
    for row in table.to_dict("records"):
        assert row["low"] <= row[column] + 1e-12 and row[column] <= row["high"] + 1e-12
        assert row["told_apart"] == (row["p_value"] < 1 - confidence)
        assert row["told_apart"] == ((row["low"] >= 0 or row["high"] <= 0) and row[column] != 0)


def tables_agree(r):
    main = r.ladder[r.ladder["main"]].set_index("model")
    cost, best = main["cost"], r.best.set_index("model")
    assert sorted(best.index) == sorted(cost.index) and (np.diff(best["cost"]) >= -1e-12).all() and best["cost"].iloc[0] == cost.min()
    for column in ("rule", "cost", "low", "high"):
        assert (best[column] == main.loc[best.index, column]).all()
    assert r.rule == (main["rule"].iloc[0] if main["rule"].nunique() == 1 else main["rule"].to_dict())
    assert best["probability_best"].sum() == pytest.approx(1)
    constant, oracle = r.ladder[r.ladder["rule"] == "constant"].set_index("model")["cost"], r.ladder["cost"].iloc[-1]
    assert (r.ladder["low"] <= r.ladder["cost"] + 1e-9).all() and (r.ladder["cost"] <= r.ladder["high"] + 1e-9).all()
    np.testing.assert_allclose(r.ladder["gap_closed"], (constant.min() - r.ladder["cost"]) / (constant.min() - oracle), atol=1e-9)
    if r.winner is not None:
        w, top = r.winner, r.best.iloc[0]
        assert (w.winner, w.cost) == (top["model"], pytest.approx(top["cost"])) and w.name.tolist() == r.best["model"].tolist()
        assert w.low == pytest.approx(best["low"].min()) and w.high >= top["high"] - 1e-9
    for row in r.differences.to_dict("records"):
        assert row["difference"] == pytest.approx(cost[row["first"]] - cost[row["second"]], abs=1e-9)
        assert row["cheaper"] == (row["first"] if row["difference"] < 0 else row["second"] if row["difference"] > 0 else "")
    for row in r.against_constant.to_dict("records"):
        assert row["saving"] == pytest.approx(constant.min() - cost[row["model"]], abs=1e-9) and row["against"] == constant.idxmin()
    rungs = r.ladder.set_index(["model", "rule"])["cost"]
    for row in r.alternatives.to_dict("records"):
        assert row["saving"] == pytest.approx(rungs[row["model"], row["against"]] - cost[row["model"]], abs=1e-9)
    for table in (r.differences, r.against_constant, r.alternatives, r.group_differences):
        apart(table, r.confidence)
    for name in best.index:
        parts = r.breakdown(name)
        for kind, part in parts.groupby("part"):
            assert part["cost"].sum() == pytest.approx(cost[name], abs=1e-9), kind
    groups = r.groups.set_index(["model", "group"])
    for row in r.group_differences.to_dict("records"):
        if row["second"] != "the others":
            column = "cost_at_priors" if row["shares"] == "the deployment's" else "cost"
            assert row["difference"] == pytest.approx(groups[column][row["model"], row["first"]] - groups[column][row["model"], row["second"]], abs=1e-9)


def sentences_agree(r):
    top, lines, level = r.best.iloc[0], r.summary().splitlines(), "95%"
    row = r.ladder[r.ladder["main"] & (r.ladder["model"] == top["model"])].iloc[0]
    head, verdict, constant = lines[:3]
    read(rf"^(\d+) samples; ", head, r.n)
    assert {rule for rule in re.findall(r"'([a-z ]+)' \(", head)} == set(r.best["rule"])
    assert ("Every model decides by the rule" in head) == (r.best["rule"].nunique() == 1)
    for label, p in zip(r.classes, r.priors):
        assert f"{label} {100 * p:.3g} %" in head
    if r.winner is None:
        read(rf"^(\S+) costs {N} per case \({level} {ENDS}\), {N} per 1,000 cases\.$", verdict, top["model"], top["cost"], top["low"], top["high"], 1000 * top["cost"])
    else:
        w = r.winner
        values = top["model"], len(r.best), top["cost"], w.low, w.high
        read(rf"^(\S+) is the cheapest of (\d+): {N} per case \({level} interval as the chosen one {N} to {N}", verdict, *values)
        read(rf"\), {N} per 1,000 cases\.$", verdict, 1000 * top["cost"])
        assert ("of luck" in verdict) == (w.luck > 0) and (w.luck == 0 or read(rf"about {N} of luck", verdict, w.luck))
    naive = r.ladder[r.ladder["rule"] == "constant"].sort_values("cost", kind="stable").iloc[0]
    saved = r.against_constant.set_index("model").loc[top["model"]]
    read(rf"^(always .+) would cost {N}: (\S+) saves {N} against it \({level} {ENDS}, p = {N}", constant, naive["model"], naive["cost"], top["model"], saved["saving"], saved["low"], saved["high"])
    assert f"p = {saved['p_value']:.2g}" in constant
    assert ("not told apart" in constant) == (not saved["told_apart"])
    better = re.findall(rf"(closes|is worse by) {N} % of the gap", constant)[0]
    assert (better[0] == "closes") == (row["gap_closed"] >= 0) and f"{abs(100 * row['gap_closed']):.3g}" == better[1]
    said = [line for line in lines if " would be the cheapest: the order depends" in line]
    first = r.best.sort_values("cost_in_sample", kind="stable").iloc[0]
    assert bool(said) == (first["cost_in_sample"] < top["cost_in_sample"] - 1e-12) and all(f", {first['model']} would" in line for line in said)
    lead_agrees(r, top, lines, level)
    assert len([line for line in lines if re.search(r" is the cheapest( of|\.$|:)", line)]) == (r.winner is not None), "one model is called the cheapest, once"


def lead_agrees(r, top, lines, level):
    said = [line for line in lines if line.startswith("Against ")]
    assert len(said) == (len(r.best) > 1)
    for line in said:
        second = r.best.iloc[1]["model"]
        pair = next(p for p in r.differences.to_dict("records") if {p["first"], p["second"]} == {top["model"], second})
        ends = (-pair["high"], -pair["low"]) if pair["first"] == top["model"] else (pair["low"], pair["high"])
        saving = r.best.iloc[1]["cost"] - top["cost"]
        read(rf"^Against (\S+) it saves {N} per case \({level} {ENDS}, p = {N}", line, second, saving if saving > 1e-12 else None, *ends)
        assert f"p = {pair['p_value']:.2g}" in line and ("adjusted for all" in line) == (len(r.differences) > 1)
        assert ("The two are told apart." in line) == pair["told_apart"] != ("not told apart: the lead is inside the noise" in line)
        told = re.findall(rf"The probability that (\S+) is the cheapest is (?:(more than) )?(\d+) %", line)[0]
        assert told[0] == top["model"] and (abs(int(told[2]) - 100 * top["probability_best"]) <= .5 or told[1] and top["probability_best"] > .99)


def map_agrees(r):
    if "map" not in r.panels:
        return
    found = r.robustness()
    words, (i, j) = found.words(), (np.argmin(abs(found.cost_ratios - found.at[0])), np.argmin(abs(found.prevalences - found.at[1])))
    c = r.cost_array
    base, unit = r.priors @ np.diag(c), c[0, 1] - c[0, 0]
    here = r.best.set_index("model")["cost"]
    for k, name in enumerate(found.models):
        assert found.cost[k, i, j] * unit + base == pytest.approx(here[name], abs=1e-9), name
    constant = r.ladder[r.ladder["rule"] == "constant"].sort_values("cost", kind="stable").iloc[0]
    cheapest = r.best.iloc[0]["model"] if r.best.iloc[0]["cost"] < constant["cost"] - 1e-12 else {"always 0": "always negative", "always 1": "always positive"}[constant["model"]]
    told = re.findall(r"prevalence [\d.e-]+ % (.+?) is the cheapest\. At", words)
    assert told == [cheapest] or here.iloc[0] == pytest.approx(constant["cost"]) or np.sum(here < here.iloc[0] + 1e-9) > 1, (told, cheapest)
    assert found.names[found.winner[i, j]] == told[0] and f"{told[0]} is the cheapest for products" in words
    assert (f"told from the next for products" in words) == bool(found.sure[i, j])
    assert set(re.findall(r"'([a-z ]+)'", words)) == set(r.best["rule"]) and f"On {100 * found.sure.mean():.0f} % of the map" in words
    product = np.multiply.outer(found.cost_ratios, found.prevalences / (1 - found.prevalences))
    assert says(re.findall(rf"here {N}:", words)[0], float(f"{product[i, j]:.3g}"))
    if r.priors is not r.sample_priors and len(here) == 2 and found.winner[i, j] < 2 and found.cost[2:, i, j].min() > found.cost[:2, i, j].max() and r._case.shifted and r._case.counted:
        assert found.sure[i, j] == r.differences["told_apart"][0], "the map and the table ask one question"


def page_agrees(r, page):
    "Each sentence stands on the page, and each table is that of the report to four digits."
    for line in r.summary().splitlines():
        assert line in page
    from cost_eval.page import sections
    parts = dict(re.findall(r"^## (.+)\n\n((?:\|.*\n?)+)", page, re.M))
    for title, frame in sections(r):
        rows = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in parts[title].strip().splitlines()]
        assert rows[0] == list(map(str, frame.columns)) and len(rows) == len(frame) + 2
        for got, wanted in zip(rows[2:], frame.itertuples(index=False)):
            for text, value in zip(got, wanted):
                assert text == str(value) if not isinstance(value, float) else (text == "" if value != value else says(text, value)), (title, text, value)
    record = dict(row for row in re.findall(r"^\| (.+?) \| (.+) \|$", parts["For the record"], re.M))
    for row in r.areas.to_dict("records"):
        assert f"{row['model']} {row['auc']:.3f} ({row['low']:.3f} to {row['high']:.3f})" in record["discrimination"]
    if r.cost_array.shape == (2, 2):
        c, cost = r.cost_array, r.best.set_index("model")["cost"]
        for name in cost.index:
            read(rf"\b{name} {N}", record["net benefit"], (c[:, 0] @ r.priors - cost[name]) / (c[1, 0] - c[1, 1]))


SEEDS = range(33)


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
    plain, flat = r.to_dict(), r.metrics()
    assert plain["summary"] == r.summary().splitlines()
    for row in r.best.to_dict("records"):
        assert flat[f"{row['model']}/{row['rule'].replace(' ', '_')}/cost"] == row["cost"]
