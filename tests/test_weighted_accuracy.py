"""Weighted accuracy: closed forms, brute force, mpmath, SciPy and the package hmeasure; costs of single
samples; elicitation; its pictures."""
from fractions import Fraction
from itertools import permutations
from math import fsum

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats


from conftest import refuses
from cost_eval import metrics
from cost_eval import weighted_accuracy as wa
from cost_eval.confusion import BinaryCounts
from cost_eval.costs import ExampleCosts, losses
from cost_eval.weighted_accuracy import check_coherence, churn_costs, cost_parts, weight_range_from_ranking

few = settings(max_examples=25, deadline=None)
share = st.floats(.01, .99)
cost = st.floats(.01, 100)
cells = st.integers(1, 10_000)
seeds = st.integers(0, 10**6)


# ---- weights and prevalences

@given(cost, cost, cells, cells, cells, cells)
@few
def test_cost_weight_makes_the_saved_part_of_the_bill(fn_cost, fp_cost, tp, fp, fn, tn):
    w = wa.cost_weight(fn_cost, fp_cost)
    saved = 1 - (fn_cost * fn + fp_cost * fp) / (fn_cost * (tp + fn) + fp_cost * (fp + tn))
    assert_allclose(metrics.weighted_accuracy(BinaryCounts(tp, fp, fn, tn), w), saved, rtol=1e-9, atol=1e-12)


@given(share, share, share, share, share)
@few
def test_target_weight_moves_weighted_accuracy_to_another_prevalence(w, here, there, tpr, tnr):
    moved = wa.target_weight(w, here, there)
    counts = lambda prevalence: BinaryCounts.from_rates(1, prevalence, 1 - tnr, 1 - tpr)
    value = lambda weight, prevalence: metrics.weighted_accuracy(counts(prevalence), weight)
    assert_allclose(value(moved, here), value(w, there), rtol=1e-9)
    assert_allclose(wa.target_weight(moved, there, here), w, rtol=1e-9)
    assert_allclose(value(wa.target_weight(.5, here, .5), here), (tpr + tnr) / 2, rtol=1e-9)
    assert wa.target_weight(0., here, there) == 0 and wa.target_weight(1., here, there) == 1


# ---- uncertain weights

def positive_share(pi, a, b):
    "The weighted accuracy to expect of calling everybody positive."
    return metrics.expected_weighted_accuracy(BinaryCounts(tp=pi, fp=1 - pi, fn=0 * pi, tn=0 * pi), a, b)


def share_by_mpmath(pi, a, b):
    "Mean of w pi/(w pi + (1 - w)(1 - pi)) over Beta(a, b)."
    with mpmath.workdps(40):
        odds, a, b = mpmath.mpf(pi) / (1 - mpmath.mpf(pi)), mpmath.mpf(a), mpmath.mpf(b)
        return float(a / (a + b) * odds * mpmath.hyp2f1(1, a + 1, a + b + 1, 1 - odds))


@pytest.mark.parametrize("a, b, prevalence", [
    (1.63632739, 172.309079, 1 - 2.6888e-5), (176.191607, 1.28494587, 1.47242593e-06),
    (0.200826057, 177.589902, 0.999768865), (60, 5000, .001), (5000, 60, .999), (700, 900, .3)])
def test_positive_share_of_extreme_and_of_nearly_known_weights(a, b, prevalence):
    assert_allclose(positive_share(prevalence, a, b), share_by_mpmath(prevalence, a, b), rtol=1e-6)


@given(cells, cells, cells, cells, st.floats(1, 40), st.floats(1, 40))
@settings(max_examples=6)
def test_expected_weighted_accuracy_three_ways(tp, fp, fn, tn, a, b):
    c = BinaryCounts(tp, fp, fn, tn)
    s, u = float(positive_share(c.prevalence, a, b)), stats.beta(a, b).pdf
    # seven times a density
    value = wa.expected_weighted_accuracy_over([[tn, fp], [fn, tp]], lambda w: 7 * u(w))
    assert_allclose(value, s * c.tpr + (1 - s) * c.tnr, rtol=1e-6)
    assert_allclose(value, metrics.expected_weighted_accuracy(c, a, b), rtol=1e-6)


def test_expected_weighted_accuracy_over_a_uniform_weight():
    tp, fp, fn, tn = np.random.default_rng(0).integers(1, 99, (4, 2, 2))
    got = wa.expected_weighted_accuracy_over(BinaryCounts(tp, fp, fn, tn), lambda w: 1, (.2, .6))
    mean = np.vectorize(lambda tp, fp, fn, tn: integrate.quad(lambda w: (w * tp + (1 - w) * tn) / (
        w * (tp + fn) + (1 - w) * (tn + fp)), .2, .6)[0] / .4)
    assert_allclose(got, mean(tp, fp, fn, tn), rtol=1e-9)


# ---- Hand's H

def scored(seed, n=60, levels=12):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < rng.uniform(.2, .8)
    y[:2] = True, False
    return y.astype(int), np.clip(np.round(rng.normal(levels / 2 + y, levels / 6)), 0, levels) / levels


@given(seeds, st.sampled_from([.1, .5, 1., 2., 7.]))
@settings(max_examples=8)
def test_hand_h_against_the_package(seed, ratio):
    y, s = scored(seed)
    expected = pytest.importorskip("hmeasure").h_score(y, s, severity_ratio=ratio)
    assert wa.hand_h_measure(y, s, 2, 1 + 1 / ratio) == pytest.approx(expected, abs=1e-9)


@given(seeds, st.floats(.5, 6), st.floats(.5, 6))
@few
def test_hand_h_by_the_best_threshold_for_each_cost(seed, a, b):
    y, s = scored(seed, 30, 6)
    pi, c = y.mean(), stats.beta(a, b).ppf((np.arange(20_000) + .5) / 20_000)
    decided = s >= np.r_[np.unique(s), np.inf][:, None]
    fpr, fnr = decided[:, y == 0].mean(1), 1 - decided[:, y == 1].mean(1)
    least = (np.outer(fpr, c * (1 - pi)) + np.outer(fnr, (1 - c) * pi)).min(0)
    trivial = np.minimum(c * (1 - pi), (1 - c) * pi)
    assert wa.hand_h_measure(y, s, a, b) == pytest.approx(1 - least.mean() / trivial.mean(), abs=2e-5)


# ---- costs of each sample's own

def random_costs(seed, n=25):
    rng = np.random.default_rng(seed)
    tp, tn = rng.normal(size=(2, n))
    costs = ExampleCosts(fn=tp + rng.lognormal(size=n), fp=tn + rng.lognormal(size=n), tp=tp, tn=tn)
    return rng.integers(2, size=n), costs, rng.integers(2, size=(3, 4, n))


@given(seeds)
@few
def test_bill_and_its_parts_by_a_loop(seed):
    y, costs, decisions = random_costs(seed)
    parts, n, each = cost_parts(y, decisions, costs), len(y), costs.array
    miss, alarm = each[:, 1, 0] - each[:, 1, 1], each[:, 0, 1] - each[:, 0, 0]
    c_fn, c_fp = fsum(miss) / n, fsum(alarm) / n
    assert costs.mean().weight == pytest.approx(c_fn / (c_fn + c_fp))
    for at in np.ndindex(3, 4):
        d, rows = decisions[at], range(n)
        missed, alarmed = ([i for i in rows if (y[i], d[i]) == wrong] for wrong in ((1, 0), (0, 1)))
        perfect, total = (fsum(each[i, y[i], decided[i]] for i in rows) for decided in (y, d))
        expected = (perfect, c_fn * len(missed) + c_fp * len(alarmed), fsum(miss[i] - c_fn for i in missed),
                    fsum(alarm[i] - c_fp for i in alarmed), total)
        names = ("perfect", "average", "fn_fluctuation", "fp_fluctuation", "total")
        assert_allclose([getattr(parts, name)[at] for name in names], expected, atol=1e-9)
        assert losses(y, d, costs).sum() == pytest.approx(total, abs=1e-9)


@given(seeds, share, st.floats(.01, .99))
@few
def test_churn(seed, p_eff, part):
    rng = np.random.default_rng(seed)
    revenues, y, d = rng.lognormal(size=40), rng.integers(2, size=40), rng.integers(2, size=40)
    call = part * p_eff * revenues.mean()
    costs = churn_costs(revenues, call, p_eff)
    bill = call * d.sum() + p_eff * fsum(revenues[(y == 1) & (d == 0)])
    assert cost_parts(y, d, costs).total == pytest.approx(bill)
    assert costs.mean().weight == pytest.approx(1 - part)
    assert churn_costs(revenues, part * .25 * revenues.mean()).mean().weight == pytest.approx(1 - part)
    assert check_coherence(costs, of="mean") is costs


# ---- weights from a ranking


# ---- uncertain weights


EMBLEMATIC = {"M+": (1, 0), "M-": (0, 1), "Mbad": ("a", "a"), "Mbad-": (1, "a"), "Mbad+": ("a", 1)}  # Table 3


def exact_range(chains, models, pi):
    """Least and largest weight in (0, 1) at which all stated orders hold, in fractions; None if there is
    none. Chains of groups, worst first."""
    value = lambda name, w: w * pi * models[name][0] + (1 - w) * (1 - pi) * models[name][1]

    def agrees(w):
        tied = all(value(a, w) == value(group[0], w) for chain in chains for group in chain for a in group)
        return tied and all(value(low[0], w) <= value(high[0], w) for chain in chains
                            for low, high in zip(chain[:-1], chain[1:]))

    crossings = {Fraction(0), Fraction(1)}
    for a, b in permutations(models, 2):
        gain, loss = pi * (models[a][0] - models[b][0]), (1 - pi) * (models[b][1] - models[a][1])
        if gain + loss and 0 < loss / (gain + loss) < 1:
            crossings.add(loss / (gain + loss))
    edges = sorted(crossings)
    found = [w for w in edges[1:-1] if agrees(w)]
    for low, high in zip(edges[:-1], edges[1:]):
        found += [low, high] if agrees((low + high) / 2) else []
    return (min(found), max(found)) if found else None


@given(seeds, st.booleans())
@settings(max_examples=60, deadline=None)
def test_weights_by_brute_force_over_rankings_of_random_and_emblematic_models(seed, as_list):
    rng = np.random.default_rng(seed)
    models = {name: tuple(Fraction(int(v), 10) for v in rng.integers(0, 11, 2))
              for name in ["one", "two", "three", "four", "five"][:rng.integers(2, 6)]}
    good, pi = (Fraction(int(rng.integers(1, 20)), 20) for _ in range(2))
    options = {"models": {name: (float(r), float(s)) for name, (r, s) in models.items()}}
    if rng.random() < .3:
        models = {name: tuple(good if v == "a" else Fraction(v) for v in both)
                  for name, both in EMBLEMATIC.items()}
        options = {"alpha": float(1 - good)}
    names = list(models)
    levels = rng.permutation(len(names)) if rng.random() < .7 else rng.integers(0, 4, len(names))
    level = dict(zip(names, levels))
    chains = []
    for _ in range(rng.integers(1, 4)):
        some = list(rng.permutation(names)[:rng.integers(2, len(names) + 1)])
        chains.append([[n for n in some if level[n] == k] for k in sorted({level[n] for n in some})])
    text = [" < ".join(" = ".join(group) for group in chain) for chain in chains]
    ranking = text if as_list else "; ".join(text)
    if as_list and len(chains) == 1:
        ranking = [group[0] if len(group) == 1 else tuple(group) for group in chains[0]]
    found = weight_range_from_ranking(ranking, float(pi), **options)
    expected = exact_range(chains, models, pi)
    assert found.empty == (expected is None)
    ends = expected or (np.nan, np.nan)
    assert_allclose([found.low, found.high], [float(v) for v in ends], atol=1e-9)
    ratios = [float(w / (1 - w)) if w != 1 else np.inf for w in ends]
    assert_allclose(found.cost_ratio, ratios, rtol=1e-6)


# ranking, prevalence, share of errors or models: kinds of the constraints, conflicts by their worse, range
NAMED = {
    "two": ("M+ < M-; M- < Mbad-", .2, .5, ["upper", "lower"], [], (2 / 3, .8)),
    "clash": ("M+ < M-; M- < Mbad", .2, .9, ["upper", "lower"], [["M-", "M+"]], None),
    "never": ("a < b", .5, {"a": (.9, .9), "b": (.8, .9)}, ["never"], [["a"]], None),
    "always": ("b < a", .5, {"a": (.9, .9), "b": (.9, .8)}, ["always"], [], (0, 1)),
    "circle": ("M+ < M-; M- < M+", .05, .6, ["upper", "lower"], [], (.95, .95)),
    "tie said twice": ("M+ = M-; M- = M+", .05, .6, 2 * ["upper", "lower"], [], (.95, .95)),
}


@pytest.mark.parametrize("ranking, prevalence, models, kinds, conflicts, ends", NAMED.values(), ids=NAMED)
def test_constraints_and_conflicts_are_named(ranking, prevalence, models, kinds, conflicts, ends):
    options = {"models": models} if isinstance(models, dict) else {"alpha": models}
    found = weight_range_from_ranking(ranking, prevalence, **options)
    assert sorted(c.kind for c in found.constraints) == sorted(kinds)
    assert [[c.worse for c in pair] for pair in found.conflicts] == conflicts
    assert found.empty if ends is None else (found.low, found.high) == pytest.approx(ends)


@given(st.lists(st.tuples(st.floats(.01, .99), st.floats(.1, 10)), min_size=1, max_size=6),
       st.floats(.02, .98), st.sampled_from(["sum", "worst", "constant", "given"]), seeds)
@few
def test_an_average_of_scaled_bills_ranks_as_one_weight(states, pi, unit, seed):
    """By definition: each state's bill over its scale, averaged, for random tables; and the bill at the
    effective weight."""
    bill_of = lambda w, fn, fp: w * fn + (1 - w) * fp
    w, given_scale = np.array(states).T
    scale = {"sum": 1 + 0 * w, "worst": w * pi + (1 - w) * (1 - pi),
             "constant": np.minimum(w * pi, (1 - w) * (1 - pi)), "given": given_scale}[unit]
    at = wa.effective_weight(w, pi, unit=given_scale if unit == "given" else unit)
    assert w.min() - 1e-12 <= at <= w.max() + 1e-12
    fn, fp = np.random.default_rng(seed).random((2, 20, 1)) * [[[pi]], [[1 - pi]]]
    averaged = (bill_of(w, fn, fp) / scale).mean(1)
    assert_allclose(averaged, bill_of(at, fn, fp)[:, 0] * (1 / scale).mean(), rtol=1e-9)


test_what_has_no_answer_is_refused = refuses([
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: 1, (0, 1.2)), "^support"),
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: w - .5), "^density"),
    (lambda: weight_range_from_ranking("M+ < M- < M+", .5), "^ranking.*twice"),
    (lambda: weight_range_from_ranking("M+", .5), "^ranking.*two models"),
    (lambda: weight_range_from_ranking([], .5), "^ranking.*two models"),
    (lambda: weight_range_from_ranking("a < b", .5, models={"a": (1, 0), "b": (.5,)}), "models\\['b'\\]"),
    (lambda: weight_range_from_ranking("a < b", .5, models={"a": (1, 0), "b": (1.1, .2)}), "models\\['b'\\]"),
    (lambda: wa.effective_weight([.5, .6], .5, unit=[1, -1]), "^unit"),
    # costs at which a right decision is dearer than a wrong one: of one case, of the mean, of the negatives
    (lambda: check_coherence(ExampleCosts(fn=[9., 1., 6.], fp=1., tp=[1., 2., 1.])), "1 fn differs by -1"),
    (lambda: check_coherence(ExampleCosts(fn=[1., 5., 6.], fp=1., tp=[2., 9., 9.]), of="mean"), "average fn"),
    (lambda: check_coherence(ExampleCosts(fn=1., fp=1., tn=[0., 1.])), "fp differs"),
])
