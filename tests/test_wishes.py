"""What people asked for: today's rule, ranges of costs, one sheet, a gate, log-likelihood ratios, no label at
all, a certified precision, own amounts with few misses. Each against numbers of our own."""
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom, binomtest

import cost_eval.api as ce
from cost_eval.__main__ import main
from cost_eval.comparisons import Decided, Losses, amount_scenario
from cost_eval.scores import act_dcf, cllr, min_dcf

RNG = np.random.default_rng(0)
Y = (RNG.random(400) < .3).astype(int)
MODELS = {k: np.where(RNG.random(400) < error, 1 - Y, Y) for k, error in dict(old=.3, new=.1, odd=.5).items()}
PRICES = {"fp": 1, "fn": 5}


def bill(decided, fp=1, fn=5):
    return np.where(Y == 1, fn * (decided == 0), fp * (decided == 1)).mean()


@pytest.mark.parametrize("baseline, name, cost", [("old", "old", bill(MODELS["old"])), (0, "always 0", bill(0 * Y)),
                                                  ("always 1", "always 1", bill(0 * Y + 1))])
def test_savings_and_page_speak_of_todays_rule(baseline, name, cost):
    report = ce.evaluate(Y, MODELS, PRICES, baseline=baseline, rng=0)
    row = report.against_constant.query("model == 'new' and against == @name").iloc[0]
    assert row["saving"] == pytest.approx(cost - bill(MODELS["new"]))
    assert report.today["model"] == name and report.today["cost"] == pytest.approx(cost)
    assert f"today's rule ({name})" in report.summary().lower() or f"{name} (today's rule)" in report.summary()
    assert report.with_costs({"fp": 1, "fn": 9}).today["model"] == name
    says = rf"On 1,000 cases a year, new saves [\d,.]+ to [\d,.]+ euros against[^.]*{name}"
    for page in (report.to_html, report.to_markdown):
        assert re.search(says, page(currency="euros", per_year=1000))


def test_the_page_begins_with_one_sheet():
    page = ce.evaluate(Y, MODELS, PRICES, baseline="old", rng=0).to_html().partition("<details>")[0]
    sheet = re.sub(r"(?s)<style>.*?</style>|<[^>]+>", " ", page)
    assert len(sheet.split()) < 280 and sheet.count("Use new") == 1
    assert not re.search("told apart|conservative|rung|ladder|held together", sheet)


def test_a_range_is_judged_at_its_middle_and_told_at_its_ends():
    report = ce.evaluate(Y, MODELS, {"fp": 1, "fn": (.5, 8)}, rng=0)
    assert report.cost_array[1, 0] == pytest.approx(2)
    found = report.scenarios.set_index(["scenario", "model"])["cost"]
    for price in (.5, 8):
        for name, decided in MODELS.items():
            assert found[f"fn {price:g}", name] == pytest.approx(bill(decided, fn=price))
    ends = [f"{bill(MODELS['new'], fn=price):.2g}" for price in (.5, 8)]
    assert f"new {' to '.join(ends)}" in report.summary() and "lead is" in report.summary()
    assert report.with_costs(PRICES).scenarios.empty, "other costs, other ranges"


@pytest.fixture()
def files(tmp_path):
    frame = pd.DataFrame({"id": np.arange(400), "label": Y, **MODELS})
    frame.to_csv(tmp_path / "all.csv", index=False)
    for name in ("old", "new"):
        part = frame[["id", "label", name]].rename(columns={name: "said"})
        part.sample(frac=1, random_state=len(name)).to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("pair, margin, code", [
    (("new", "old"), 0, 0), (("old", "new"), 0, 1), (("odd", "old"), .5, 3),
    (("new", "old"), "-.14 --fn 1:25", 3), (("new", "old"), "0 --scenario dear=1:50", 0),
    (("odd", "old"), ".5 --scenario dear=1:50", 1)])
def test_the_gate_says_by_its_code(files, capsys, pair, margin, code):
    call = f"compare {files}/all.csv --new {pair[0]} --old {pair[1]} --fp 1 --fn 5 --margin {margin}"
    assert main(call.split()) == code
    gap = bill(MODELS[pair[0]]) - bill(MODELS[pair[1]])
    assert f"{gap:.4g} per case" in capsys.readouterr().out


def test_two_files_meet_by_their_ids(files, capsys):
    call = f"compare {files}/old.csv {files}/new.csv --join id --new said_new --old said_old --fp 1 --fn 1"
    assert main(call.split()) == 0
    wrong = [MODELS[name] != Y for name in ("new", "old")]
    alone = (wrong[0] & ~wrong[1]).sum(), (wrong[1] & ~wrong[0]).sum()
    assert f"p = {binomtest(alone[0], sum(alone)).pvalue:.2g}" in capsys.readouterr().out
    for bad, words in ((call.replace("--old said_old", "--old said_new"), "--new"), (call.replace(f" {files}/new.csv", ""),
                       "--join"), (call.replace("--join id", "--join label"), "twice")):
        assert main(bad.split()) == 2 and words in capsys.readouterr().err
    assert main(call.replace("new.csv", (files / "new.csv").rename(files / "old.txt").name).split()) == 0


def test_detection_costs_are_their_formulas():
    llr, prior, fp, fn = RNG.normal(size=400) + 2 * Y, .05, 1, 10
    at = {t: fn * prior * (llr[Y == 1] < t).mean() + fp * (1 - prior) * (llr[Y == 0] >= t).mean()
          for t in (*llr, np.inf, np.log(fp * (1 - prior) / (fn * prior)))}
    least, bits = min(fn * prior, fp * (1 - prior)), np.log2(1 + np.exp(np.where(Y, -llr, llr)))
    costs = {"fp": fp, "fn": fn}
    assert min_dcf(Y, llr, costs, priors=prior) == pytest.approx(min(at.values()) / least)
    assert act_dcf(Y, llr, costs, priors=prior) == pytest.approx([*at.values()][-1] / least)
    assert cllr(Y, llr) == pytest.approx((bits[Y == 1].mean() + bits[Y == 0].mean()) / 2)
    for measure in (min_dcf, act_dcf):
        with pytest.raises(ValueError, match="so it would be paid for"):
            measure(Y, llr, {"fp": 1, "fn": -1}, priors=prior)
    decided = ce.evaluate(np.where(Y, "ill", "well"), {"m": ce.Posteriors.from_llr(llr)}, costs, rule="bayes",
                          priors=prior, positive="ill", rng=0)
    assert decided.best["cost"][0] == pytest.approx([*at.values()][-1])
    assert ((llr >= float(re.search(r"ratio of (\S+)\)", decided.summary())[1])) == (llr >= [*at][-1])).all()


def test_before_any_label_the_bounds_are_the_cheapest_and_the_costliest_class():
    p, decided = RNG.random(50), np.arange(50) % 2
    found = ce.bounds_without_labels([None] * 50, decided, PRICES, posteriors=p)
    assert (found.low, found.high, found.labelled) == (0, pytest.approx((5 + 1) / 2), 0)
    assert found.if_calibrated == pytest.approx(np.where(decided, 1 - p, 5 * p).mean())
    named = ce.bounds_without_labels([None] * 50, np.where(decided, "ill", "well"), PRICES, positive="ill", posteriors=p)
    assert named == found
    assert ce.bounds_without_labels([None] * 50, ["ill"] * 50, PRICES, positive="ill").high == 1


def test_a_certified_precision_is_a_binomial_test_of_those_flagged():
    score = RNG.normal(size=400) + 3 * Y
    found = ce.certified_threshold(Y, ce.Scores(score), require={"precision": .8}, thresholds=[4, 3, 2, 1])
    for t, p, certified in zip(found.thresholds, found.p_values, found.certified):
        flagged = Y[score >= t]
        assert p == pytest.approx(binom.cdf((flagged == 0).sum(), len(flagged), .2))
        assert certified == all(found.p_values[found.thresholds >= t] <= .05)
    p, most = 1 / (1 + np.exp(-score)), {"require": {"precision": .8}, "thresholds": [.9, .7]}
    table, ill = ce.Posteriors(np.stack([p, 1 - p], 1), classes=["ill", "a"]), np.where(Y, "ill", "a")
    assert ce.certified_threshold(ill, table, positive="ill", **most) == ce.certified_threshold(Y, p, **most)
    with pytest.raises(ValueError, match="require"):
        ce.certified_threshold(Y, ce.Scores(score), require={"recall": .8})


@pytest.mark.parametrize("rise, shown", [(0, True), (1, False)])
def test_the_scenario_of_amounts_is_shown_only_where_nothing_speaks_against_it(rise, shown):
    rng = np.random.default_rng(3)
    amounts, y = rng.lognormal(0, 1, 3000), (rng.random(3000) < .3).astype(int)
    missed = rng.random(3000) < .2 * amounts**rise / np.mean(amounts**rise)
    own = ce.ExampleCosts(fp=1, fn=amounts).array
    losses = Losses(y, np.array([.7, .3]), False, costs=ce.CostMatrix(own.mean(0)), own=own)
    found = amount_scenario(losses, Decided("m", "as given", y * ~missed))
    assert (found is not None) == shown
    if shown:
        m = (missed & (y == 1)).sum()
        ends = beta.ppf([.0125, .9875], [m, m + 1], [3001 - m, 3000 - m]) * amounts.mean()
        assert found.low == pytest.approx(ends[0]) and found.p_value >= .1 and found.power >= .8
        assert found.high == pytest.approx(ends[1] + beta.ppf(.9875, 1, 3000))
        assert found.low < (.2 * .3 * amounts).mean() < found.high < found.high_rising
