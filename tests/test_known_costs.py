"""Costs that tell the class: refused where a rule reads a row's own costs, and honest ones are not.

The columns of HONEST and LEAKS, each drawn 400 times, are refused (`refused`) in shares of

    n                                    20     60    400  4,000
    amounts                           0.000  0.000  0.000  0.000
    amounts rounded                   0.003  0.000  0.000  0.000
    amounts that grow with the risk   0.000  0.000  0.000  0.000
    three steps                       0.000  0.000  0.000  0.000
    empty for a fifth                 0.000  0.000  0.000  0.000
    a fee of 0 for all                0.000  0.000  0.000  0.000
    prepaid products                  0.000  0.000  0.000  0.000
    both amounts                      0.000  0.000  0.000  0.000
    zeros                             0.993  1.000  1.000  1.000
    cents                             0.338  1.000  1.000  1.000
    a tenth kept                      0.255  0.993  1.000  1.000
    half emptied                      0.000  0.160  1.000  1.000
    both filled by outcome            0.993  1.000  1.000  1.000
    gains of those found              0.993  1.000  1.000  1.000
    a miss raised                     0.338  1.000  1.000  1.000
    amounts, three classes            0.000  0.000  0.000  0.000
    empty for a fifth, three classes  0.000  0.000  0.000  0.000
    zeros, three classes              0.845  0.998  1.000  1.000
    cents, three classes              0.045  0.958  1.000  1.000
    a tenth kept, three classes       0.175  0.762  1.000  1.000
    half emptied, three classes       0.000  0.007  1.000  1.000

prevalence .1, of n = 20 and 60 .2 (three classes: .7, .2, .1). Leaks of few rows pass, and the report says
so: below 60 rows, or 10 of a class.
"""

import numpy as np
import pandas as pd
import pytest

import cost_eval.api as ce
from cost_eval import scale
from cost_eval.__main__ import main
from cost_eval.costs import ExampleCosts
from cost_eval.planning import check_rule
from cost_eval.policies import CrossFit, fit_rule, rule_of
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Posteriors, read_samples, told_by_costs
from problems import decide


def drawn(n, rng, K=2):
    "Classes, and an amount a row that has nothing to do with them."
    shares = [.7, .2, .1] if K == 3 else [.8, .2] if n < 100 else [.9, .1]
    return rng.choice(K, n, p=shares), rng.lognormal(4, .8, n)


def three(fill):
    "Costs of three classes: each error of the last one costs the amount, as it is filled in."
    def costs(y, amount, rng):
        table = np.broadcast_to(5. * (1 - np.eye(3)), (len(y), 3, 3)).copy()
        table[:, 2, :2] = fill(y == 2, amount, rng)[:, None]
        return ExampleCosts.from_array(table)
    return costs


def of_misses(fill):
    return lambda y, amount, rng: ExampleCosts(fp=5, fn=fill(y == 1, amount, rng))


def chance(rng, amount, share):
    return rng.random(len(amount)) < share


FILLED = {
    "zeros": lambda y, a, rng: a * y, "cents": lambda y, a, rng: np.where(y, a, rng.random(len(a)).round(2)),
    "a tenth kept": lambda y, a, rng: a * (y | chance(rng, a, .1)),
    "half emptied": lambda y, a, rng: a * (y | chance(rng, a, .5)),
}
HONEST = {
    "amounts": of_misses(lambda y, a, rng: a),
    "amounts rounded": of_misses(lambda y, a, rng: np.round(a, -1)),
    "amounts that grow with the risk": of_misses(lambda y, a, rng: a * np.where(y, 1.5, 1)),
    "three steps": of_misses(lambda y, a, rng: np.digitize(a, [40, 80]) * 30. + 10),
    "empty for a fifth": of_misses(lambda y, a, rng: a * chance(rng, a, .8)),
    "a fee of 0 for all": lambda y, a, rng: ExampleCosts(fp=0, fn=a),
    "prepaid products": of_misses(lambda y, a, rng: a * (chance(rng, a, .6) | (y & chance(rng, a, .5)))),
    "both amounts": lambda y, a, rng: ExampleCosts(fp=.1 * a, fn=a, tp=1),
}
LEAKS = {name: of_misses(fill) for name, fill in FILLED.items()} | {
    "both filled by outcome": lambda y, a, rng: ExampleCosts(fp=a * (y == 0), fn=a * y),
    "gains of those found": lambda y, a, rng: ExampleCosts(fp=5, fn=5, tp=-a * y),
    "a miss raised": lambda y, a, rng: ExampleCosts(fp=a, fn=a * rng.random(len(a)) + 2000 * y),
}
HONEST3 = {"amounts": three(lambda y, a, rng: a),
           "empty for a fifth": three(lambda y, a, rng: a * chance(rng, a, .8))}
LEAKS3 = {name: three(fill) for name, fill in FILLED.items()}


def refused(costs, n, seed, K=2):
    rng = np.random.default_rng([seed, n])
    y, amount = drawn(n, rng, K)
    return bool(told_by_costs(costs(y, amount, rng), y))


@pytest.mark.parametrize("name", [*HONEST, *LEAKS, *HONEST3, *LEAKS3])
def test_leaks_are_refused_and_honest_columns_are_not(name):
    for K, honest, leaks in ((2, HONEST, LEAKS), (3, HONEST3, LEAKS3)):
        for n in (60, 400, 4000) if name in honest else ():
            assert not any(refused(honest[name], n, seed, K) for seed in range(5)), (n, K)
        for n in (400, 4000) if name in leaks else ():
            assert all(refused(leaks[name], n, seed, K) for seed in range(5)), (n, K)


RNG = np.random.default_rng(1)
N = 4000
Y = RNG.random(N) < .03
AMOUNT = RNG.lognormal(4, .8, N)
NOISE = RNG.random(N) * .06
LEAK, KEPT = AMOUNT * Y, AMOUNT * (Y | (RNG.random(N) < .1))
WORDS = ("costs: fn is 0 in 3,.* rows of class 0 and in 0 of the 118 others.*"
         "what a miss would have cost in every row")


@pytest.mark.parametrize("fn", [LEAK, KEPT], ids=["zeros", "a tenth kept"])
def test_every_door_that_reads_a_rows_costs_refuses_them(fn):
    own, y = ExampleCosts(fp=5, fn=fn), Y * 1
    model = Posteriors(NOISE)
    rows = read_samples(y, model, own)
    honest = fit_rule(y, model, ExampleCosts(fp=5, fn=AMOUNT))
    doors = [lambda: evaluate(y, model, own),
             lambda: evaluate(y, NOISE, [[0, 1], [5, 0]], scenarios={"last year": own}),
             lambda: evaluate(y, NOISE, [[0, 1], [5, 0]]).with_costs(own),
             lambda: rule_of(rows, "model", rule="bayes"), lambda: rule_of(rows, "model"),
             lambda: decide(model, y, own), lambda: CrossFit(rows).queue("model"),
             lambda: ce.capacity_curve(y, NOISE, own), lambda: check_rule(honest, y, NOISE, own, max_cost=9)]
    for door in doors:
        with pytest.raises(ValueError, match=WORDS):
            door()


def test_what_does_not_read_a_rows_costs_passes():
    some = slice(600)
    own, y, model = ExampleCosts(fp=5, fn=LEAK[some]), Y[some] * 1, Posteriors(NOISE[some])
    assert told_by_costs(own, y)
    for given, options in ((model, {"rule": "tuned"}), (model, {"rule": "as given"}), (Decisions(y), {}),
                           (model, {"rule": "tuned", "capacity": 50}), (model, {"require": {"recall": .5}})):
        report = evaluate(y, given, own, rng=0, draws=1, **options)
        assert not {"bayes", "calibrated"} & {*report.ladder["rule"]} or isinstance(given, Decisions)
    assert fit_rule(y, model, own, rule="tuned").content["costs_checked"] is None


def test_costs_that_are_known_pass_and_that_is_said():
    own, y, model = ExampleCosts(fp=5, fn=LEAK), Y * 1, Posteriors(NOISE)
    report = evaluate(y, model, own, costs_known=True, draws=1, rng=0)
    assert any("fn is 0 in 3,882" in note and "declared" in note for note in report.notes)
    rule = report.decision_rule()
    assert rule.content["costs_checked"]["declared"] and "fn is 0" in rule.content["costs_checked"]["told"]
    assert check_rule(type(rule).from_json(rule.to_json()), y, NOISE, own, max_cost=9).n == N
    assert len(ce.capacity_curve(y, NOISE, own, costs_known=True, points=1).called(9)) == N
    plain = fit_rule(y, model, ExampleCosts(fp=5, fn=AMOUNT))
    assert plain.content["costs_checked"] == {"declared": False, "told": "", "few": False}


def test_clusters_that_share_an_amount_and_a_class_are_honest():
    "And one positive does not tell itself."
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(60), 20)
    y, amount = (np.arange(60) < 4)[cluster] * 1, rng.lognormal(4, .8, 60)[cluster]
    own, one = ExampleCosts(fp=5, fn=amount), np.array([0, 0, 1, 0])
    assert told_by_costs(own, y) and not told_by_costs(own, y, cluster)
    assert told_by_costs(ExampleCosts(fp=5, fn=amount * y), y, cluster)
    assert not told_by_costs(ExampleCosts(fp=5, fn=[20., 30, 40, 50]), one)
    assert told_by_costs(ExampleCosts(fp=5, fn=[0., 0, 40, 0]), one)


def test_dask_and_the_shell(tmp_path, capsys):
    frames = pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame({"label": Y * 1, "p": NOISE, "loss": LEAK})
    call = {"costs": {"fp": 5, "fn": "loss"}, "data": frames.from_pandas(rows, chunksize=1500)}
    with pytest.raises(ValueError, match=WORDS):
        scale.evaluate("label", {"a": "p"}, **call)
    assert scale.evaluate("label", {"a": "p"}, **call, costs_known=True, draws=1).n == N
    file = tmp_path / "rows.csv"
    rows[:400].to_csv(file, index=False)
    line = ["evaluate", str(file), "--scores", "p", "--fp", "5", "--fn", "loss"]
    assert main(line) == 2
    said = capsys.readouterr().err
    assert "fn is 0 in" in said and "--costs-known" in said and "--rule=tuned" in said
    for remedy in (["--costs-known"], ["--rule", "tuned"]):
        assert main([*line, *remedy]) == 0
