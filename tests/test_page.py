"""The five sentences and the page: what they say holds at both sides of every limit, and slips planted into
them are noticed."""
import inspect
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from test_verdicts import COSTS, N, made, map_agrees, says, sentences_agree

import cost_eval.page as page
import cost_eval.report as report_module
from cost_eval.bootstrap import difference, independent_difference
from cost_eval.core import NOTES, Note, four_digits, holm
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.metrics import net_benefit
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Posteriors, Scores
import ast
import json

ROOT = Path(__file__).resolve().parent.parent


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
    if "map" in r.panels:
        ratio, prevalence = r.costs.cost_ratio, r.priors[1]
        factor = np.geomspace(.01, 100, 401)
        found = r.robustness(ratio * factor, [prevalence, (1 + prevalence) / 2])
        names = [*found.models, f"always {r.decisions[0]}", f"always {r.decisions[1]}"]
        winner = found.winner[:, 0]
        other = np.flatnonzero(winner != winner[200])
        if not len(other):
            assert text.endswith(f"{names[winner[200]]} stays the cheapest.")
            return
        near = [*other[other < 200][-1:], *other[other > 200][:1]]
        told = re.fullmatch(r"At a cost ratio (.+) \(here (.+?)\), or a prevalence (.+) \(here (.+?) %\), (.+)"
                            r" would be the cheapest(.*)\.", text).groups()
        assert [float(told[k].replace(",", "")) for k in (1, 3)] == [
            float(f"{value:.3g}") for value in (ratio, 100 * prevalence)]
        sides = [("above" if k > 200 else "below", names[winner[k]]) for k in near]
        one = len({name for _, name in sides}) == 1
        assert told[4] == (sides[0][1] if one else "another")
        assert told[5] == ("" if one else ": " + ", ".join(f"{name} {side}" for side, name in sides))
        for part, value in ((told[0], lambda k: factor[k] * ratio), (told[2], lambda k: 100 * (
                odds := factor[k] * prevalence / (1 - prevalence)) / (1 + odds))):
            borders = re.findall(rf"(below|above) about {N}", part)
            assert [side for side, _ in borders] == [side for side, _ in sides]
            for k, (_, border) in zip(near, borders):  # between the points that decide otherwise
                ends = sorted((value(k), value(k + (1 if k < 200 else -1))))
                assert .995 * ends[0] <= float(border.replace(",", "")) <= 1.005 * ends[1]
                assert border in found.words()
        return
    assert text == f"This is not known: {page.why_no_map(r)}."


CHANGES = {
    "a map": lambda: two(), "a map, priors": lambda: two(priors=.05),
    "the other side": lambda: two(alarms=(10, 60), misses=(40, 5)),
    "no model": lambda: two(alarms=(300, 350), misses=(60, 55)),
    "own costs": lambda: two(costs=ExampleCosts(fp=1, fn=np.linspace(2, 9, 500))),
    "own costs, priors": lambda: two(costs=ExampleCosts(fp=1, fn=np.linspace(2, 9, 500)), priors=.1),
    "own costs, no model": lambda: two(alarms=(300, 350), misses=(60, 55),
                                       costs=ExampleCosts(fp=1, fn=np.linspace(2, 9, 500))),
    "weights": lambda: two(costs=ExampleCosts(fp=1, fn=np.linspace(2, 9, 500)),
                           sample_weight=np.linspace(.5, 2, 500)),
    "a capacity": lambda: two(capacity=100),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_would_change_it(name):
    change_agrees(CHANGES[name]())


# ---- both sides of every limit

FREE = CostMatrix([[0, 1], [0, 1]], decisions=["wait", "act"])


def test_what_is_said_at_both_sides_of_told_apart():
    "Use, not shown, no model, no verdict, no need; 'saves' only where an interval says so."
    verdicts = {name: said(two(n0=80, n1=20, alarms=(a, 40), misses=(m, 19)))["Verdict"]
                for name, a, m in (("use", 2, 1), ("unsure", 26, 14), ("none", 60, 10))}
    assert (verdicts["use"].startswith(
        "Use a, the cheapest of 2 models: it costs 0.08 per case") and "saves 0.72 against always 1"
        in verdicts["use"])
    assert verdicts["none"].startswith(
        "Use no model: always 1 costs 0.8 per case") and "saves" not in verdicts["none"]
    edge = two(n0=80, n1=20, alarms=(10, 40), misses=(7, 19))
    assert not edge.against_constant["told_apart"][0] and edge.against_constant["saving"][0] > 0
    assert (said(edge)["Verdict"].startswith(
        "a, the cheapest of 2 models, costs")
        and "do not show that it saves anything against always 1 (0.8 per case)" in said(edge)["Verdict"])
    z = np.zeros(60, int)
    assert said(evaluate(z, {"a": Decisions(z)}, COSTS, rng=0))["Verdict"].startswith(
        "No verdict: always 0 costs 0 per case (95% interval 0 to ")
    assert "right for every class" in said(evaluate(z, {"a": np.full(60, "wait")}, FREE, rng=0))["Verdict"]


@pytest.mark.parametrize("errors, apart", [((30, 38), False), ((30, 42), False), ((30, 48), False),
                                           ((30, 50), True), ((30, 60), True)])
def test_the_map_is_sure_where_the_two_sided_test_is(errors, apart):
    "Among these are p-values between one and two tails of 5 %."
    r = two(n0=1000, n1=1000, alarms=errors, misses=(0, 0), costs=CostMatrix.binary(fp=1, fn=1), priors=.5)
    y = np.repeat([0, 1], 1000)
    asked = difference(joint_counts(y, *(e.decisions for e in r._entries if e.main)), [[0, 1], [1, 0]],
                       priors=[.5, .5])
    found = r.robustness()
    words = found.words()
    assert bool(found.sure[50, 50]) == bool(asked.p_value < .05) == apart == ("its lead is clear"
            in words) == r.differences["told_apart"][0]


def test_caveats_at_both_sides():
    for size, small in ((29, True), (30, False)):
        assert any(note == f"Class 1 has only {size} samples."
                   for note in two(n1=size, misses=(3, 4)).notes) == small
    for misses, unseen in ((0, True), (1, False)):
        assert any("(1 decided 0) was never seen for a;" in note
                   for note in two(misses=(misses, 5)).notes) == unseen
    turned = {"argument": "models['m']", "other": "w", "area": .1, "turned": "'w'"}
    notes = ["x", Note("few", label=1, size=9), "b", Note("turned probabilities", **turned)]
    assert page.grave_first(notes) == [notes[3], notes[1], "x.", "b."]


# ---- slips

SLIPS = {
    "forest for lasso": (page, "_verdict", 'model = top["model"]', 'model = report.best["model"].iloc[-1]'),
    "the costliest constant": (page, "_verdict", "idxmin", "idxmax"),
    "told apart is not asked for": (page, "_verdict", 'saved["told_apart"]', "True"),
    "its own interval, though it was chosen": (page, "_verdict", "if winner is None", "if True"),
    "cost for saving": (page, "_decide", "four_digits(v.saving)", "four_digits(v.cost)"),
    "the wrong rival": (page, "_decide", "against {v.naive}", "against {v.next}"),
    "cheaper and costlier exchanged": (page, "_sure", '-1 if pair["first"] == v.model else 1',
                                       '1 if pair["first"] == v.model else -1'),
    "names exchanged": (page, "_lines", "than {pair[1]}", "than {pair[0]}"),
    "dearer where it is not": (page, "_lines", "-1 if high < 0", "-1 if low < 0"),
    "not told apart is told apart": (page, "_lines", '"told apart" if row["told_apart"]',
                                     '"told apart" if not row["told_apart"]'),
    "approximate the other way round": (page, "_lines", "turned = -way if", "turned = way if"),
    "one line for the other": (page, "_lines", "_ends(near, turned)", "_ends(row, sign)"),
    "above is below": (page, "_what_changes", '"above" if factor > 1 else "below"',
                       '"below" if factor > 1 else "above"'),
    "prevalence for odds": (page, "_what_changes", "odds / (1 + odds)", "odds"),
    "here for there": (page, "_what_changes", "names[other] for", "names[here] for"),
    "constants exchanged": (page, "_change", "in report.decisions", "in report.decisions[::-1]"),
    "nearest for farthest": (page, "_nearest_changes", "[-1:], 1)", "[:1], 1)"),
    "a tie to the model": (page, "_nearest_changes", "np.ones_like(product)", "0 * product"),
    "one-sided": (page, "_rejects", "2 * share_above", "share_above"),
    "told where it is not": (page, "_map_in_words", "bool(clear)", "(not clear)"),
    "the loser wins": (page, "_map_in_words", "names[found.changes[0]]", "names[found.changes[0] - 1]"),
    "another limit of classes": (page, "caveats", "size < 30", "size < 29"),
    "seen is unseen": (page, "_never_seen", "== 0)", "== 1)"),
    "the narrowest gap": (page, "gap_lines", "idxmax", "idxmin"),
    "light notes first": (page, "grave_first", "place.get(", "-place.get("),
    "a gap without a factor": (report_module, "_between_groups", 'times = 1 if what == "cost" else 2',
                               "times = 1"),
}


@pytest.fixture(scope="module")
def kept():
    return [two(), two(priors=.05), *(made(seed) for seed in (3, 4, 7, 10))]


def guards(kept):
    for r in kept:
        r._kept.pop("change", None)
        sentences_agree(r)
        map_agrees(r)
        change_agrees(r)
    test_what_is_said_at_both_sides_of_told_apart()
    for errors, apart in (((30, 48), False), ((30, 50), True)):
        test_the_map_is_sure_where_the_two_sided_test_is(errors, apart)
    test_caveats_at_both_sides()
    for name in ("the other side", "own costs", "own costs, priors"):
        test_what_would_change_it(name)
    test_gaps_of_error_rates_are_held_together()


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_in_a_sentence_is_noticed(kept, monkeypatch, name):
    module, function, right, wrong = SLIPS[name]
    source = inspect.getsource(getattr(module, function))
    assert source.count(right) >= 1, "the slip fits the code no longer"
    planted = {}
    exec("from __future__ import annotations\n" + source.replace(right, wrong), vars(module), planted)
    for at in (page, report_module):
        if hasattr(at, function):
            monkeypatch.setattr(at, function, planted[function])
    with pytest.raises((AssertionError, AttributeError, TypeError, LookupError, ValueError, StopIteration)):
        guards(kept)


def test_the_guards_pass_without_a_slip(kept):
    guards(kept)


@pytest.mark.parametrize("rule", ["bayes", "calibrated", "tuned"])
@pytest.mark.parametrize("kind", [Posteriors, Scores])
def test_the_cut_is_that_of_the_rule_to_install(rule, kind):
    if (rule, kind) == ("bayes", Scores):
        return
    rng = np.random.default_rng(3)
    y = np.arange(300) % 3 == 0
    p = 1 / (1 + np.exp(-rng.normal(3 * y - 1, 1)))
    r = evaluate(y * 1, {"m": kind(np.column_stack([1 - p, p]) if kind is Posteriors else p)}, COSTS,
                 rule=rule, rng=0)
    cut = four_digits(r.decision_rule().threshold)
    assert f" it decides 1 from {cut} on, costs " in said(r)["Verdict"].replace("m decides",
            "it decides") and ("decide 1", f"from {cut} on", "") in page._card(r, "", None)["facts"]


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
        sides = [((y == k) & (group == name), (y == k) & (group != name)) for name in "nsw"]
        tables = [[confusion_counts(np.zeros(side.sum(), int), (decided != y)[side] * 1, classes=[0, 1]).array
                   for side in of] for of in sides]
        alone = [independent_difference(*of, [[0, 1], [0, 1]], confidence=1 - .05 / 6) for of in tables]
        p = 2 * holm(np.array([one.p_value for one in alone]))
        for name, one, least in zip("nsw", alone, np.minimum(p, 1)):
            row, ends = gaps.loc[[(what, name)]].iloc[0], [one.low, one.high]
            # told apart by Holm's steps alone: the end next to 0 is moved to it
            if least < .05 and one.low < 0 < one.high:
                ends = [0, one.high] if one.mean > 0 else [one.low, 0]
            assert [row["difference"], row["low"], row["high"], row["p_value"]] == pytest.approx([one.mean,
                    *ends, least], abs=1e-6)
            assert row["told_apart"] == (row["p_value"] < .05)
    widest = gaps.loc["FNR"]["difference"].abs().idxmax()
    told = [note for note in r.notes if note.startswith("FNR of m: n minus the others is ")]
    assert widest == "n" and len(told) == 1 and told[0].endswith("told apart.") and said(r)[
        "What to check"].count(" minus ") == 2
    assert page.gap_lines(r.group_differences)[1] == told[0]


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


PLAIN = (set("""
a about above after against all always amount amounts an and anew another anything are as at auto be below best but by can case cases change cheaper cheapest check checks
class come cost costliest costs data decided decides decisions depends differ difference do each every f few first for found from g has have here how hundred
hundredth in is it its known largest lead less like line lines looks loss lowest method minus model models more most need needed never next no not notes nothing occur
of on one ones only or order other over own per possible rate rather read records report right s sample samples saves saving second seen show side small stand stays
sure taken tell than that the their these they this times to too undo unseen unsure up use uses verdict was what whether which while with word would wrong
""".split()))


def test_every_term_of_the_summary_stands_in_the_glossary():
    "Words of the sentences' own texts: plain English that is listed here, or a term of the glossary."
    cells = json.loads((ROOT / "nbs" / "94_glossary.ipynb").read_text(encoding="utf-8"))["cells"]
    table = next(text for text in ("".join(cell["source"]) for cell in cells) if "| term | in plain words |"
                 in text)
    terms = " ".join(line.split("|")[1].lower() for line in table.splitlines() if line.startswith("| "))
    functions = ("_read", "_rules", "_interval", "_decide", "_sure", "_lines", "_change", "_check",
                 "caveats", "_never_seen", "gap_lines", "answers")
    words = set()
    for name in functions:
        tree = ast.parse(inspect.getsource(getattr(page, name))).body[0]
        keys = {id(node.slice) for node in ast.walk(tree)
                if isinstance(node, ast.Subscript)} | {id(tree.body[0].value)}
        keys |= {id(arg) for call in ast.walk(tree) if isinstance(call, ast.Call) for arg in ast.walk(call)
                 if isinstance(call.func, ast.Attribute) and call.func.attr in ("get", "removeprefix",
                "groupby", "set_index", "endswith")}
        keys |= {id(call.args[0]) for call in ast.walk(tree) if isinstance(call, ast.Call) and call.args
                 and isinstance(call.func, ast.Name) and call.func.id == "Note"}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in keys:
                words |= set(re.findall(r"[a-z]+(?:-[a-z]+)*", node.value.lower()))
    own = ("few", "never seen", "miscalibrated", "gap")
    for text in (*page.RULES_IN_WORDS.values(), *(re.sub(r"{.*?}", "", NOTES[code]) for code in own)):
        words |= set(re.findall(r"[a-z]+", text.lower()))
    unknown = {word for word in words - PLAIN if not re.search(rf"\b{word.removesuffix('s')}", terms)}
    assert not unknown, "neither plain English nor a term of the glossary"
    for term in ("told apart", "widened because", "conservative line", "approximate line",
                 "cut", "luck"):
        assert term in terms


# ---- words

# ---- the page

def test_the_page_is_a_document(tmp_path):
    y, group, decided, _ = grouped()
    score = np.random.default_rng(0).normal(size=900) + 2 * y + .8 * (group == "n")
    models = {"<b>bold & shy": Scores(score), "m": Posteriors(1 / (1 + np.exp(2 - score)))}
    r = evaluate(y, models, COSTS, groups=group, rng=0)
    path = tmp_path / "r.html"
    html = r.to_html(path, title="Loans <of> May", currency="€", per_year=20_000)
    assert (path.read_text(
        encoding="utf-8") == html and "<title>Loans &lt;of&gt; May</title>" in html and "<script" not in html
        and 'src="http' not in html and "<b>" not in html)
    assert not re.search(r"(src|href)=\"(?!data:)", html) and html.count("<img") == len(
        r.panels) and html.count('alt="') == len(r.panels)
    text = unescape(re.sub(r"<[^>]+>", "\n", html.partition("</style>")[2]))
    order = [text.index(word) for word in ("Loans <of> May", "samples", f"Use {r.best['model'][0]}",
                                           "How sure is that?", "What would change this?", "What to check",
                                           "Pictures", "Tables")]
    assert order == sorted(order)
    saved = r.against_constant.set_index("model").loc[r.best["model"][0]]
    assert f"{page.four_digits(20_000 * saved['saving'])} € a year" in text and f"{page.four_digits(20_000 * saved['low'])} € to {page.four_digits(20_000 * saved['high'])} € (95%)" in text
    assert page.gap_lines(r.group_differences)[0] in text and not re.search(r">[a-z]+_[a-z_]+<",
            html), "no machine names"
    assert "@media print" in html and "size: A4" in html and "prefers-color-scheme: dark" in html
    for wrong in (0, -3, "many"):
        with pytest.raises(ValueError, match="per_year"):
            r.to_html(per_year=wrong)
    plain = r.to_html()
    assert "a year" not in plain and "What the predictions cost" in plain


def test_p_values_in_tables_are_never_zero():
    assert [page._p(p) for p in (0., 1e-310, 9.9e-5, 1e-4, .0123, np.nan)] == ["< .0001"] * 3 + ["0.0001",
            "0.012", ""]


# ---- what was false as said

@pytest.mark.parametrize("models, dear", [((300, 60), True), ((2, 1), False)])
def test_what_is_dearer_is_said_to_be_dearer(models, dear):
    "On both lines and on the card: no saving below 0 is called cheaper."
    r = two(alarms=(models[0], 350), misses=(models[1], 61))
    row = r.against_constant.iloc[0]
    assert (row["high"] < 0) == dear and (row["low"] > 0) != dear
    way, low, high = re.search(rf"a is (\w+) than always \d by {N} to {N} \(", said(r)["How sure"]).groups()
    ends = sorted(abs(row[end]) for end in ("low", "high"))
    assert way == ("dearer" if dear else "cheaper") and says(low, ends[0]) and says(high, ends[1])
    assert "Below 0" not in said(r)["How sure"].partition(";")[0]
    yearly = [fact for fact in page._card(r, "", 1000.0)["facts"] if fact[1].endswith("a year")]
    assert not yearly if dear else yearly[0][2].startswith("saved a year: ")


@pytest.mark.parametrize("wrong, apart", [((40, 80), True), ((60, 64), False)])
@pytest.mark.parametrize("label", [0, 1])
def test_two_runs_of_a_benchmark_get_the_verdict_of_the_pair(wrong, apart, label):
    "Every label is 'right': whether a model is needed is open, which is the better one is not."
    y = np.full(400, label)
    models = {name: np.where(np.arange(400) % 397 < k, 1 - y, y) for name, k in zip("ab", wrong)}
    r = evaluate(y, models, [[0, 1], [1, 0]], rng=0)
    (told,) = r.differences["told_apart"]
    verdict, sure = said(r)["Verdict"], said(r)["How sure"]
    assert told == apart and ("Use a rather than b" in verdict) == apart
    assert ("do not tell it from b" in verdict) != apart and "No verdict on whether a model is needed" in verdict
    assert f"cheaper than b, the next model, by {_ends_of(r)}" in sure
    assert (page._card(r, "", None)["do"] == "Use a rather than b") == apart


def _ends_of(r):
    row = r.differences.iloc[0]
    sign = 1 if row["first"] == "b" else -1
    return " to ".join(four_digits(end) for end in sorted((sign * row["low"], sign * row["high"])))


