"""Slips of kinds that were in the package (FINDINGS of its third edition), to be put back by a test:
plant(monkeypatch), and the checks that see each."""
import contextlib

import numpy as np

import cost_eval.bootstrap as bs
import cost_eval.comparisons as cp
import cost_eval.missing_labels as ml
import cost_eval.policies as po
import cost_eval.report as re
import invariances as iv


@contextlib.contextmanager
def afresh():
    "Nothing that was computed without the slip, and nothing with it afterwards."
    kept = iv.variants.kept.copy()
    iv.subjects.cache_clear()
    iv.variants.kept.clear()
    try:
        yield
    finally:
        iv.subjects.cache_clear()
        iv.variants.kept.clear()
        iv.variants.kept.update(kept)


# ---- A1: ends where the test does not turn (a contour had been bent over a hill)

def ends_a_thousandth_short(monkeypatch):
    method = bs.METHODS["clopper_pearson"]

    def short(m, c, b=None):
        fit = method.function(m, c, b)
        return fit._replace(ends=lambda tail: tuple(end + (fit.mean - end) / 1000 for end in fit.ends(tail)))

    monkeypatch.setitem(bs.METHODS, "clopper_pearson", iv.dataclasses.replace(method, function=short))


# ---- A4: weights, clusters and single costs left the engine for a bootstrap that sees no rare error

def another_engine(monkeypatch):
    for module in (re, cp, ml):
        for name in ("loss_interval", "loss_difference"):
            if hasattr(module, name):
                def old(*losses, function=getattr(bs, name), **options):
                    options = {key: value for key, value in options.items()
                               if key not in ("method", "bounds", "heaviest")}
                    return function(*losses, **options, method="percentile")
                monkeypatch.setattr(module, name, old)


# ---- B1: the rule depended on what the numbers look like: in [0, 1] taken at their word, others tuned

def rule_by_looks(monkeypatch):
    possible = po._Task.possible

    def by_looks(self, rule):
        rule = possible(self, rule)
        if rule != "calibrated" or self.rows.costs.shape != (2, 2):
            return rule
        values = self.model.values
        if self.kind == "scores" and ((values >= 0) & (values <= 1)).all():
            self.model, self.kind = po.Posteriors(np.column_stack([1 - values, values])), "posteriors"
        return "bayes" if self.kind == "posteriors" else "tuned"

    monkeypatch.setattr(po._Task, "possible", by_looks)


SLIPS = {
    "A1 wrong ends": (ends_a_thousandth_short, [("interval", "ends"), ("difference", "ends")]),
    "A4 one keyword leaves the engine": (another_engine, [("evaluate", "own costs"), ("evaluate", "weights"),
        ("evaluate", "clusters"), ("best_of", "own costs"),
                                                          ("simultaneous_differences", "clusters")]),
    "B1 policies by looks": (rule_by_looks, [("evaluate", "scores"), ("decide", "scores")]),
}
