"""Slips that were in the package (FINDINGS of its third edition), as they were, to be put back by a test: plant(monkeypatch), and the checks that see each."""
import contextlib

import numpy as np
from scipy.special import expit
from scipy.stats import norm

import cost_eval.bootstrap as bs
import cost_eval.comparisons as cp
import cost_eval.missing_labels as ml
import cost_eval.policies as po
import cost_eval.report as re
import cost_eval.scale as sc
import invariances as iv
from cost_eval.core import check_binary, encode


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


# ---- A1: the contour that was bent over a hill; NaN entered the bracket, and a row's end depended on its neighbours

def _saddle(a, b, u):
    largest = b.max(-1)
    low, high = np.full(largest.shape, -45.0), np.full(largest.shape, 36.0)
    for _ in range(80):
        share = expit(u)
        r = b / (1 - b * (share / largest)[..., None])
        s = share / largest
        slope, curve = (a * r).sum(-1) * s - 1, (a * r * r).sum(-1) * s**2 + 1
        low, high = np.where(slope > 0, low, u), np.where(slope > 0, u, high)
        new = u + np.clip(-slope / (curve * (1 - share)), -3, 3)
        new = np.where((new <= low) | (new >= high), (low + high) / 2, new)
        close, u = np.abs(new - u).max(initial=0) < 1e-3, new
        if close:
            break
    return expit(u) / largest, u


def _dirichlet_tail(a, c, x, u, step=0.07):
    b = c - x[:, None]
    s, u = _saddle(a, b, u)
    g = 1 - b * s[:, None]
    r = b / g
    width = 1 / np.sqrt((a * r * r).sum(-1) + 1 / s**2)
    bend = np.clip(2 / 3 * (a * r**3).sum(-1) * width**3, -0.6, 0.6)[:, None]
    r, a_g = (r * width[:, None])[:, None], (a / g)[:, None]
    log_peak = -(a * np.log1p(-b * s[:, None])).sum(-1)
    total, slope = np.zeros(len(s)), np.zeros(len(s))
    at_once = int(np.clip(2**18 / a.size, 1, 128))
    for start in range(0, 1024, at_once):
        v = step * np.arange(start, start + at_once)
        right, up = bend * (np.cosh(v) - 1), np.broadcast_to(np.sinh(v), (len(s), at_once))
        p, q = -r * right[..., None], -r * up[..., None]
        size = 2 * p + p * p + q * q
        value = np.exp(-0.5 * (a[:, None] * np.log1p(size)).sum(-1) - 1j * (a[:, None] * np.arctan2(q, 1 + p)).sum(-1))
        value *= width[:, None] * np.where(v == 0, step / 2, step) * (np.cosh(v) - 1j * bend * np.sinh(v))
        part = value / (s[:, None] + width[:, None] * (right + 1j * up))
        total += part.real.sum(-1)
        slope -= (value * (a_g * (1 + p - 1j * q) / (1 + size)).sum(-1)).real.sum(-1)
        if (np.abs(part[:, -1]) <= 1e-16 * np.abs(total)).all():
            break
    return log_peak + np.log(total / np.pi), slope / total, u


def _high(m, c, tail):
    a, high = m + (np.arange(c.shape[-1]) == c.argmax(-1)[:, None]), c.max(-1)
    low = np.where(a > 0, c, np.inf).min(-1)
    c = np.where(a > 0, c, low[:, None])
    total = a.sum(-1)
    mean = (a * c).sum(-1) / total
    sd = np.sqrt((a * (c - mean[:, None]) ** 2).sum(-1) / total / (total + 1))
    x, u, busy = np.minimum(mean + norm.isf(tail) * sd, (mean + high) / 2), np.zeros(len(a)), np.flatnonzero(high > low)
    x[high == low] = high[high == low]
    with np.errstate(all="ignore"):
        for _ in range(80):
            if not len(busy):
                break
            log_tail, slope, u[busy] = _dirichlet_tail(a[busy], c[busy], x[busy], u[busy])
            gap = log_tail - np.log(tail[busy])
            low[busy], high[busy] = np.where(gap > 0, x[busy], low[busy]), np.where(gap > 0, high[busy], x[busy])
            new = x[busy] - gap / slope
            new = np.where((new > low[busy]) & (new < high[busy]), new, (low[busy] + high[busy]) / 2)
            done = (np.abs(gap) < 1e-11) | (np.abs(new - x[busy]) <= 1e-15 * np.abs(new))
            x[busy] = np.where(done, x[busy], new)
            busy = busy[~done]
    return x


def bent_contour(monkeypatch):
    "The ends of one sample by the old integral."
    method = bs.METHODS["clopper_pearson"]

    def ends_of(m, c, b=None):
        fit = method.function(m, c, b)
        n, a, _, lead = bs.Sample(m, c, b).rows
        if b is not None or m.shape[-2] > 1:
            return fit
        n, z = n[:, 0].astype(float), a[:, 0]

        def ends(tail):
            tail = np.broadcast_to(np.asarray(tail, float), lead).reshape(-1)
            return (-_high(n, -z, tail)).reshape(lead), _high(n, z, tail).reshape(lead)

        return fit._replace(ends=ends)

    monkeypatch.setitem(bs.METHODS, "clopper_pearson", iv.dataclasses.replace(method, function=ends_of))


# ---- A4: weights, clusters and single costs left the engine for a bootstrap that sees no rare error

def another_engine(monkeypatch):
    for module in (re, cp, ml):
        for name in ("loss_interval", "loss_difference"):
            if hasattr(module, name):
                def old(*losses, function=getattr(bs, name), **options):
                    options = {key: value for key, value in options.items() if key not in ("method", "bounds", "heaviest")}
                    return function(*losses, **options, method="bootstrap_t")
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


# ---- C1: on Dask the positive class was 1, whatever the costs call their second class

def positive_is_one(monkeypatch):
    def positive(labels, classes):
        if classes is not None and labels.dtype.kind not in "biuf":
            return encode(labels, list(classes), "y_true", "the costs' classes") == 1
        return check_binary(labels)

    monkeypatch.setattr(sc, "positive_labels", positive)


SLIPS = {
    "A1 wrong ends": (bent_contour, [("interval", "ends"), ("difference", "ends")]),
    "A4 one keyword leaves the engine": (another_engine, [("evaluate", "own costs"), ("evaluate", "weights"), ("evaluate", "clusters"), ("best_of", "own costs"),
                                                          ("simultaneous_differences", "clusters")]),
    "B1 policies by looks": (rule_by_looks, [("evaluate", "scores"), ("decide", "scores")]),
    "C1 the wrong class on Dask": (positive_is_one, [("scale.best_threshold", "Dask")]),
}
