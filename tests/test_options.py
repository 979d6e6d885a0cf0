"""Every option of every public function matters: with another value some call of calls.py says something
else, or is refused. A loop over the signatures; an option without another value fails."""
import inspect
import os
import warnings

import numpy as np
import pandas as pd
import pytest

import calls
from answers import flat
from problems import Problem, ce

N = 60
PLAIN = Problem(1, classes=2, n=N, says={"draws", "ties"})
GIVEN = Problem(2, classes=2, n=N, says={"draws", "weight", "clusters", "groups", "own", "shown", "priors",
                                         "strata"})
THREE = Problem(3, classes=3, n=N, says={"draws", "priors", "named"})
# whether to report, where to draw; a result for each group: test_scale.py
# what only lets pass: test_known_costs.py
NO_OPTION = {"progress", "style", "axes", "ax", "costs_known", "scale.confusion_counts.groups"}
LEFT_OUT = {  # names whose options are tried elsewhere
    **dict.fromkeys(["run_item", "compare", "published", "places", "by_paper"], "test_reproduce.py"),
    **dict.fromkeys(["describe", "names"], "test_datasets.py"), "main": "test_command_line.py",
    **dict.fromkeys(["explorer", "explore_metric_study"], "test_widgets.py"),
    "Report.to_html": "test_report.py", "read_file": "test_samples.py",
    "Report.to_markdown": "test_wishes.py",
}
PAIRS, THIRDS, OWN = np.arange(N) // 2, np.arange(N) % 3, ce.ExampleCosts(fp=1, fn=np.arange(N))
# another value of each option, by its name or by function and name; of a problem where it is a function
OTHER = {
    "confidence": .8, "priors": [.9, .1], "train_priors": [.7, .3], "sample_weight": THIRDS + 1.,
    "clusters": PAIRS, "groups": THIRDS % 2, "strata": THIRDS % 2, "shares": {0: .9, 1: .1}, "rng": 3,
    "classes": lambda p: p.classes[::-1], "decisions": ["stay", "go"],
    "decision_labels": lambda p: [*p.choices[::-1], "later"], "undefined": .7, "log": True, "positive": 0,
    "folds": 2, "cv": 4, "repeats": 1, "draws": 4, "points": 3, "bins": 4, "rule": "tuned",
    "method": "normal", "n_resamples": 150, "n_sets": 50, "n_samples": 4, "n_curves": 20, "n_draws": 300,
    "n_jobs": 2, "n_units": 10, "n0": 5., "n": 50, "depth": 3, "boxes": 3, "normalized": True, "laplace": 2.,
    "factor": 1.5, "average": "micro", "a": 5., "b": 5., "beta": 3., "abstain": .1, "alpha": .3,
    "acceptance": .6, "recovered": .5, "defaulters": .3, "standard": .2, "high": .3, "p_eff": .5, "up_to": .5,
    "tp": -2., "tn": -2., "fp": 3., "fn": 7., "fp_cost": 2., "fn_cost": 2., "separation": 1., "threshold": .7,
    "cost_ratio": 7., "weight": .6, "prevalence": .3, "cost_ratios": [1., 5.], "prevalences": [.1, .3],
    "skill": 2., "slip": True, "support": (.2, .4), "unit": "worst", "of": "mean", "strength": .1, "risk": .4,
    "thresholds": [.6, .8], "power": .9, "false_alarms": .1, "propensity": .5, "heaviest": 50.,
    "largest": 1e4, "largest_cluster": 30, "capacity": 5, "require": {"workload": .1}, "otherwise": 1,
    "reference": "better than chance", "return_error": True, "x": [.2, .3], "curve": "pr", "one": True,
    "by_class": False, "first": 1, "second": 1, "labels": False, "log_odds": True, "shifted": True,
    "posteriors": False, "calibration": None, "label": "later", "sizes": [1, 0],
    "path": os.devnull, "rows": 20, "bounds": (-99., 99.), "max_cost": 2., "min_rates": {"recall": .5},
    "saving": .1, "weighted": "worst", "population": 100 * np.arange(1., 40), "ids": PAIRS,
    "names": ["accuracy"], "metrics": ["mcc"], "kind": "pr", "versus": lambda p: p.decided(1)[::-1],
    "scores": lambda p: p.scores(1), "y_true": lambda p: 1 - p.codes,
    "costs": lambda p: 2 * p.prices + np.triu(np.ones_like(p.prices), 1),
    "scenarios": lambda p: {"dear": 2 * p.prices}, "models": {"m": "score"}, "sep": ";", "decimal": ",",
    "index_col": 0, "taken": ("score",), "panel": "ladder", "systems": lambda p: {"b": p.counts(1)},
}
OTHER_OF = {
    "evaluate.baseline": lambda p: p.named_costs.decisions[-1], "labelled_rows.unknown": 1,
    "bounds_without_labels.posteriors": lambda p: p.bare(1), "fit_rule.folds": THIRDS,
    "certified_threshold.require": {"precision": .6},
    "best_threshold_counted.kind": "float16", "equal_error_rate.method": "hull",
    "metric_interval.method": "percentile", "bootstrap_coverage.method": "inversion",
    "cost_scorer.decisions": "predict", "capacity_curve.rule": "bayes",
    "outperformance_curve_auc.n_curves": 256, "curve_auc.rule": "step", "sample_tree_aucs.rule": "step",
    "CostMatrix.zero_one.classes": ["a", "b"], "as_costs.classes": ce.CostMatrix.binary(classes=["no",
        "yes"]),
    "given_folds.clusters": THIRDS,
    "training_variation.groups": PAIRS,
    "weight_range_from_ranking.models": {"x": (1, .1), "y": (.1, 1), "z": (.5, .6)},
    "read_table.costs": pd.DataFrame([[0, 1], [5, 0]], [0, 1], ["ask", "tell"]),
    "read_table.label": "decided", "read_table.taken": ("other",),
    "DecisionRule.decide.costs": OWN, "check_rule.costs": OWN,
    "run_rule.costs": OWN.array, "CrossFit.queue.rule": "bayes",
    "metric.bounds": (0, 2), "metric.greater_is_better": False, "metric.symmetric": True,
    "metric.cost_parameter": "weight", "metric.parts": len, "metric.uniform_cdf": len,
    "read_samples.positive": "well", "DecisionRule.decide.capacity": 3, "DecisionRule.columns.capacity": 3,
}
EXPECTED = {  # of an option, or of one function's: what it does instead, and why
    "positive": ("refused", "costs by position say which class is positive"),
    "n_jobs": ("same", "more processors, the same numbers"), "log": ("refused",
        "posteriors are no logarithms"),
    "check_coherence.of": ("same", "it lets pass what is refused: test_weighted_accuracy.py"),
    "labelled_rows.unknown": ("same", "only where no label is known: test_wishes.py"),
    "as_costs.y_true": ("same", "only counted"), "as_costs.one": ("refused",
        "columns of costs are not one matrix"),
    "as_priors.sizes": ("refused", "a class without samples has no share"),
    "micro_f_beta.beta": ("same", "it is the accuracy, whatever beta"),
    "given_folds.n": ("refused", "folds that do not fit are not taken"),
    "given_folds.clusters": ("refused", "folds that part a cluster are not taken"),
    **dict.fromkeys(["read_table.sep", "read_table.decimal"], ("same", "a frame has no marks")),
}


def functions():
    "Names of functions, and the lines that call them."
    found = {}
    for line in calls.CALLS:
        name = line.partition(" ")[0]
        if name not in LEFT_OUT and not name.startswith("explore_"):
            found.setdefault(name, []).append(line)
    return found


def options(name):
    "Parameters with a default, and what calls hand on in `**options`."
    known = calls.parameters(ce.find(name)).values()
    more = [option for line in functions()[name] for problem in (PLAIN, GIVEN)
            for call in calls.lines(line, problem).values() for option in call.options
            ] if name[:6] != "scale." and any(p.kind is p.VAR_KEYWORD for p in known) else []
    given = [p.name for p in known if p.default is not p.empty]
    required = [p.name for p in known if p.default is p.empty]
    left = {*NO_OPTION, *required}
    return [one for one in dict.fromkeys([*given, *more]) if not {one, f"{name}.{one}"} & left]


def said(function, call):
    "All that a result says, and what is looked at of it."
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = call.found(function)
        everything = {"found": found, "seen": call.look(found) if call.look else None}
        return {path: values.tolist() for path, values in flat(everything, silent=()).items()}


def attempts(name):
    "(problem, call) of each call of a function."
    for line in functions()[name]:
        for problem in (PLAIN, GIVEN) if line in calls.TWO else (PLAIN, GIVEN, THREE):
            yield from ((problem, call) for call in calls.lines(line, problem).values())


def effect(function, option, tries, value):
    "What another value does: changed, refused or same; `tries` are calls, and what they say."
    refused = []
    for problem, call, before in tries:
        other = value(problem) if inspect.isfunction(value) else value
        try:
            after = said(function, call.but(function, **{option: other}))
        except (ValueError, TypeError):
            refused.append(before)  # perhaps without it, too
            continue
        if repr(before()) != repr(after):
            return "changed"
    return "same" if all(isinstance(before(), str) for before in refused) else "refused"


def effects(name):
    "What each option of a function does."
    function = ce.find(name)
    tries = [(problem, call, remembered(function, call)) for problem, call in attempts(name)]
    for option in options(name):
        key = f"{name}.{option}"
        known = key in OTHER_OF or option in OTHER
        yield key, effect(function, option, tries, OTHER_OF.get(key,
            OTHER.get(option))) if known else "no other value"


@pytest.mark.parametrize("name", functions())
def test_each_option_matters(name):
    expected = {option: found for option, (found, _) in EXPECTED.items()}
    assert {key: found for key, found in effects(name)
            if found != expected.get(key, "changed") and found != expected.get(key.rpartition(".")[2])} == {}


def remembered(function, call):
    "What a call says, asked once and when it is needed; a call that is refused says so."
    known = []

    def before():
        if not known:
            try:
                known.append(said(function, call))
            except (ValueError, TypeError) as error:
                known.append(str(error))
        return known[0]
    return before


def test_the_test_sees_an_option_that_does_nothing():
    def deaf(counts, *, scale=1, priors=None):
        return scale * counts.sum()
    tries = [(PLAIN, call := calls.Call(PLAIN.stack), remembered(deaf, call))]
    assert effect(deaf, "priors", tries, [.9, .1]) == "same" and effect(deaf, "scale", tries, 2) == "changed"


if __name__ == "__main__":
    import re
    import sys
    import time
    for name in functions():
        if not sys.argv[1:] or re.match(sys.argv[1], name):
            start = time.process_time()
            try:
                print({key: found for key, found in effects(name) if found != "changed"}, end=" ")
            except Exception as error:
                print("XX", type(error).__name__, error, end=" ")
            print(f"{name} {time.process_time() - start:.1f} s", flush=True)
