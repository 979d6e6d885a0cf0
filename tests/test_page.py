"""The five sentences and the page: what they say holds at both sides of every limit."""
import re
from html import unescape

import numpy as np
import pytest
from test_verdicts import COSTS, N, map_agrees, says, sentences_agree

import cost_eval.page as page
from cost_eval.bootstrap import difference, independent_difference
from cost_eval.core import Note, holm
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.metrics import net_benefit
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Posteriors, Scores


def two(n0=400, n1=100, alarms=(40, 60), misses=(10, 5), **options):
    "Two models with fixed decisions, whose errors do not overlap where they fit beside each other."
    y = np.repeat([0, 1], [n0, n1])
    models = {}
    for k, name in enumerate(("a", "b")):
        wrong0 = np.roll(np.arange(n0) < alarms[k], k * alarms[0])
        models[name] = Decisions(y ^ np.r_[wrong0, np.roll(np.arange(n1) < misses[k], k * misses[0])])
    return evaluate(y, models, options.pop("costs", COSTS), rng=0, **options)


def said(r):
    return page.answers(r)


# ---- what would change it

def change_agrees(r):
    "The nearest other winner is where the map has it; without a map it is said why there is none."
    text = said(r)["What would change it"]
    if not np.isfinite(r.ladder["gap_closed"][0]):
        return
    if "map" not in r.panels:
        assert text == f"This is not known: {page.why_no_map(r)}."
        return
    ratio, prevalence, factor = r.costs.cost_ratio, r.priors[1], np.geomspace(.01, 100, 401)
    odds = factor * prevalence / (1 - prevalence)
    found = r.robustness(ratio * factor, [prevalence, (1 + prevalence) / 2])
    names = [*found.models, f"always {r.decisions[0]}", f"always {r.decisions[1]}"]
    winner = found.winner[:, 0]
    other = np.flatnonzero(winner != winner[200])
    if not len(other):
        assert text.startswith(f"{names[winner[200]]} stays the cheapest wherever ")
        return
    near = [*other[other < 200][-1:], *other[other > 200][:1]]
    sides = [("more" if k > 200 else "less", names[winner[k]]) for k in near]
    who, price, here, often, share = re.fullmatch(
        r"(.+) would be the cheapest if a miss cost (.+) false alarms \(today (.+?)\), or if (.+) of the "
        r"cases were positive \(today (.+?) %\)\.", text).groups()
    assert says(here, ratio) and says(share, 100 * prevalence)
    each = " and ".join(f"{name} (where it is {side})" for side, name in sides)
    alone = sides[0][1] if len({name for _, name in sides}) == 1 else each
    assert who.replace("Always", "always") == alone
    for part, values in ((price, factor * ratio), (often, 100 * odds / (1 + odds))):
        for k, (side, _), words in zip(near, sides, part.split(" or ")):
            out, shown = 1 if side == "more" else -1, re.findall(N, words)
            end = next((j for j in range(k, 401 if out > 0 else -1, out) if winner[j] != winner[k]), None)
            assert words.startswith(f"{side} than " if end is None else ("between", "about"))
            for at, border in zip((k, end), shown[::out]):  # between the points that decide otherwise
                ends = sorted((values[at], values[at - out]))
                assert .95 * ends[0] <= float(border.replace(",", "")) <= 1.05 * ends[1]
                assert border in found.words()


OF_ROWS, POOR = ExampleCosts(fp=1, fn=np.linspace(2, 9, 500)), {"alarms": (300, 350), "misses": (60, 55)}
CHANGES = {
    "a map": {}, "a map, priors": {"priors": .05}, "a capacity": {"capacity": 100}, "no model": POOR,
    "the other side": {"alarms": (10, 60), "misses": (40, 5)}, "own costs": {"costs": OF_ROWS},
    "own costs, priors": {"costs": OF_ROWS, "priors": .1}, "own costs, no model": POOR | {"costs": OF_ROWS},
    "weights": {"costs": OF_ROWS, "sample_weight": np.linspace(.5, 2, 500)},
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_would_change_it(name):
    r = two(**CHANGES[name])
    change_agrees(r)
    sentences_agree(r)
    map_agrees(r)


# ---- both sides of every limit

FREE = CostMatrix([[0, 1], [0, 1]], decisions=["wait", "act"])


def test_what_is_said_at_both_sides_of_told_apart():
    "Use, not shown, no model, no verdict, no need."
    none = np.zeros(60, int)
    edge = two(n0=80, n1=20, alarms=(10, 40), misses=(7, 19))
    assert not edge.against_constant["told_apart"][0] and edge.against_constant["saving"][0] > 0
    for report, begins in (
            (two(n0=80, n1=20, alarms=(2, 40), misses=(1, 19)), "Use a. It costs 0.08 "),
            (two(n0=80, n1=20, alarms=(60, 40), misses=(10, 19)), "Use no model: always 1. It costs 0.8 ("),
            (edge, "These data do not show that a model is cheaper than always 1. a, the cheapest"),
            (evaluate(none, Decisions(none), COSTS, rng=0), "No verdict. Whether a model is needed is open"),
            (evaluate(none, {"a": np.full(60, "wait")}, FREE, rng=0), "Use no model: always wait")):
        assert said(report)["Verdict"].startswith(begins)
    assert "cases a year" not in two(**POOR).to_html(per_year=1000)
    never = two(alarms=(60, 40), misses=(10, 5), baseline="a")
    assert "b stays at least as cheap as a wherever a miss costs 0.06 to 600 " in said(never)["What would change it"]


@pytest.mark.parametrize("errors, apart", [((30, 42), False), ((30, 48), False), ((30, 50), True)])
def test_the_map_is_sure_where_the_two_sided_test_is(errors, apart):
    "Among these are p-values between one and two tails of 5 %."
    r = two(n0=1000, n1=1000, alarms=errors, misses=(0, 0), costs=CostMatrix.binary(fp=1, fn=1), priors=.5)
    joint = joint_counts(np.repeat([0, 1], 1000), *(e.decisions for e in r._entries if e.main))
    found = r.robustness()
    asked = difference(joint, [[0, 1], [1, 0]], priors=[.5, .5]).p_value < .05
    clear = "its lead is clear" in found.words()
    assert found.sure[50, 50] == asked == apart == clear == r.differences["told_apart"][0]


def test_caveats_at_both_sides():
    for size, small in ((29, True), (30, False)):
        noted = f"Class 1 has only {size} samples." in map(str, two(n1=size, misses=(3, 4)).notes)
        assert noted == small
    for misses, unseen in ((0, True), (1, False)):
        notes = two(misses=(misses, 5)).notes
        assert any("(1 decided 0) was never seen for a;" in note for note in notes) == unseen
    turned = {"argument": "models['m']", "other": "w", "area": .1, "turned": "'w'"}
    notes = ["x", Note("few", label=1, size=9), "b", Note("turned probabilities", **turned)]
    assert page.grave_first(notes) == [notes[3], notes[1], "x.", "b."]


@pytest.mark.parametrize("rule, kind", [("bayes", Posteriors), ("calibrated", Scores), ("tuned", Posteriors)])
def test_the_cut_is_that_of_the_rule_to_install(rule, kind):
    y = np.arange(300) % 3 == 0
    p = 1 / (1 + np.exp(-np.random.default_rng(3).normal(3 * y - 1, 1)))
    r = evaluate(y * 1, {"m": kind(p)}, COSTS, rule=rule, rng=0)
    installed = r.decision_rule()
    moves = re.findall(r"the cut moves from (\S+) to (\S+)\.", said(r)["Verdict"])
    assert np.allclose(np.array([*moves, installed.over_folds][0], float), installed.over_folds, rtol=.05)
    cut = re.search(r"Use m and decide 1 from (\S+) on", r.to_html())[1]
    assert installed.same_from < float(cut) <= installed.same_to


# ---- groups and net benefit

def grouped():
    rng = np.random.default_rng(2)
    y, group = (rng.random(900) < .4) * 1, np.array(["n", "s", "w"])[rng.integers(0, 3, 900)]
    decided = np.where(rng.random(900) < np.where(group == "n", .3, .1), 1 - y, y)
    return y, group, decided, evaluate(y, {"m": Decisions(decided)}, COSTS, groups=group, rng=0)


def test_gaps_of_error_rates_are_held_together():
    "By Holm over the groups and Bonferroni over both rates; each gap that of two independent proportions."
    y, group, decided, r = grouped()
    gaps = r.group_differences.set_index(["what", "first"])
    for k, what in enumerate(("FPR", "FNR")):
        alone = []
        for name in "nsw":
            sides = (y == k) & (group == name), (y == k) & (group != name)
            wrong = [[(decided == y)[side].sum(), (decided != y)[side].sum()] for side in sides]
            tables = [[rates, [0, 0]] for rates in wrong]
            alone.append(independent_difference(*tables, [[0, 1], [0, 1]], confidence=1 - .05 / 6))
        p = np.minimum(2 * holm(np.array([one.p_value for one in alone])), 1)
        for name, one, least in zip("nsw", alone, p):
            row, ends = gaps.loc[[(what, name)]].iloc[0], [one.low, one.high]
            # told apart by Holm's steps alone: the end next to 0 is moved to it
            if least < .05 and one.low < 0 < one.high:
                ends = [0, one.high] if one.mean > 0 else [one.low, 0]
            found = row[["difference", "low", "high", "p_value"]].tolist()
            assert found == pytest.approx([one.mean, *ends, least], abs=1e-6)
            assert row["told_apart"] == (row["p_value"] < .05)
    (told,) = (note for note in r.notes if "misses per 100 positive cases among n than among the others" in note)
    shown = map(page._two, 100 * gaps.loc[[("FNR", "n")]].iloc[0][["difference", "low", "high"]])
    assert told.startswith("m makes {} ({} to {}) more".format(*shown))
    assert gaps.loc["FNR"]["difference"].abs().idxmax() == "n" and told.endswith("others.")
    assert page.gap_lines(r.group_differences)[1] == told


def test_net_benefit_of_each_rung():
    "At the threshold that the costs imply, by the metric of chapter 3; nothing for other problems."
    r = two(priors=.05, costs=CostMatrix.binary(fp=2, fn=18))
    y = np.repeat([0, 1], [400, 100])
    for e in r._entries:
        counts = confusion_counts(y, e.decisions, classes=[0, 1]).binary().with_prevalence(.05)
        row = r.ladder[r.ladder["model"] == e.model].iloc[0]
        assert row["net_benefit"] == pytest.approx(float(net_benefit(counts, threshold=.1)))
    assert r.ladder["net_benefit"].iloc[0] == 0 and r.ladder["net_benefit"].iloc[-1] == pytest.approx(.05)
    assert "net_benefit" not in two(costs=ExampleCosts(fp=1, fn=np.linspace(1, 3, 500))).ladder


# ---- the page

def test_the_page_is_a_document(tmp_path):
    y, group, decided, _ = grouped()
    score = np.random.default_rng(0).normal(size=900) + 2 * y + .8 * (group == "n")
    models = {"<b>bold & shy": Scores(score), "m": Posteriors(1 / (1 + np.exp(2 - score)))}
    r = evaluate(y, models, COSTS, groups=group, draws=1, rng=0)
    html = r.to_html(tmp_path / "r.html", title="Loans <of> May", currency="€", per_year=20_000)
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == html
    assert "<title>Loans &lt;of&gt; May</title>" in html and "<b>" not in html and "<script" not in html
    assert not re.search(r"(src|href)=\"(?!data:)", html) and not re.search(r">[a-z]+_[a-z_]+<", html)
    assert html.count("<img") == html.count('alt="') == 1 + len(r.panels)
    text = unescape(re.sub(r"<[^>]+>", "\n", html.partition("</style>")[2]))
    parts = ("Loans <of> May", "cases", f"Use {r.best['model'][0]}", "How sure is that?",
             "What would change this?", "What to check", "Details", "Pictures", "Tables")
    order = [text.index(words) for words in parts]
    assert order == sorted(order)
    saved = r.against_constant.set_index("model").loc[r.best["model"][0]]
    low, high = (page._two(20_000 * saved[name]) for name in ("low", "high"))
    assert f"On 20,000 cases a year, {r.best['model'][0]} saves {low} to {high} € against always" in text
    assert page.gap_lines(r.group_differences)[0] in text and "prefers-color-scheme: dark" in html
    for wrong in (0, -3, "many"):
        with pytest.raises(ValueError, match="per_year"):
            r.to_html(per_year=wrong)


def test_p_values_in_tables_are_never_zero():
    assert [page._p(p) for p in (0., 1e-310, 9.9e-5, 1e-4, .0123, np.nan)] == ["< .0001"] * 3 + ["0.0001",
            "0.012", ""]


# ---- what was false as said

@pytest.mark.parametrize("wrong, apart", [((40, 80), True), ((60, 64), False)])
@pytest.mark.parametrize("label", [0, 1])
def test_two_runs_of_a_benchmark_get_the_verdict_of_the_pair(wrong, apart, label):
    "Every label is 'right': whether a model is needed is open, which is the better one is not."
    y = np.full(400, label)
    models = {name: np.where(np.arange(400) % 397 < k, 1 - y, y) for name, k in zip("ab", wrong)}
    r = evaluate(y, models, [[0, 1], [1, 0]], rng=0)
    row, verdict = r.differences.iloc[0], said(r)["Verdict"]
    assert row["told_apart"] == apart and ("Use a rather than b" in verdict) == apart
    assert ("No verdict between a and b" in verdict) != apart and "a model is needed is open" in verdict
    sign = 1 if row["first"] == "b" else -1
    low, high = (page._two(abs(end)) for end in sorted((sign * row["low"], sign * row["high"])))
    sure = f"a saves {low} to {high} per case against b", f"a is between {high} cheaper and {low} dearer"
    assert sure[not apart] in said(r)["How sure"]
