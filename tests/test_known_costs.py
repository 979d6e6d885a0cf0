"""Costs that tell the class: refused where a rule reads a row's own costs, and honest ones are not.

The columns of HONEST and LEAKS, each drawn 400 times (`python tests/test_known_costs.py`), refused in shares of

MEASURED

prevalence .1, of n = 20 and 60 .2 (three classes: .7, .2, .1). Leaks of few rows pass, and the report says so:
below 60 rows, or 10 of a class.
"""
import sys

import numpy as np
import pandas as pd
import pytest

import cost_eval.api as ce
from cost_eval import scale
from cost_eval.__main__ import main
from cost_eval.costs import ExampleCosts
from cost_eval.estimators import CostSensitiveClassifier, cost_scorer
from cost_eval.planning import count_rule
from cost_eval.policies import CrossFit, decide, fit_rule
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, Posteriors, read_samples, told_by_costs


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
    "amounts": of_misses(lambda y, a, rng: a), "amounts rounded": of_misses(lambda y, a, rng: np.round(a, -1)),
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
HONEST3 = {name: three(fill) for name, fill in {
    "amounts": lambda y, a, rng: a, "empty for a fifth": lambda y, a, rng: a * chance(rng, a, .8)}.items()}
LEAKS3 = {name: three(fill) for name, fill in FILLED.items()}
SIZES = 20, 60, 400, 4000


def refused(costs, n, seed, K=2):
    rng = np.random.default_rng([seed, n])
    y, amount = drawn(n, rng, K)
    return bool(told_by_costs(y, costs(y, amount, rng)))


if __name__ == "__main__":
    for K, tables in ((2, (HONEST, LEAKS)), (3, (HONEST3, LEAKS3))):
        for name, costs in ((name, costs) for table in tables for name, costs in table.items()):
            shares = [np.mean([refused(costs, n, seed, K) for seed in range(400)]) for n in SIZES]
            print(f"    {name + ', three classes' * (K == 3):32}", *(f"{share:6.3f}" for share in shares))
    sys.exit()
