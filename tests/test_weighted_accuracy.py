"""Weighted accuracy: closed forms, brute force, mpmath, SciPy and the package hmeasure; elicitation; weighted Spearman; the study's engine."""
from fractions import Fraction
from itertools import permutations
from math import fsum

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

pytest.importorskip("pandas")
pytest.importorskip("matplotlib").use("Agg")

from cost_eval import metrics
from cost_eval import weighted_accuracy as wa
from cost_eval.confusion import BinaryCounts
from cost_eval.metrics import METRICS
from cost_eval.weighted_accuracy import ExampleCosts, churn_costs, cost_correlation, draw_predictions, study_ranks, weight_range_from_ranking

few = settings(max_examples=25, deadline=None)
share = st.floats(.01, .99)
cost = st.floats(.01, 100)
cells = st.integers(1, 10_000)
shape = st.floats(.1, 40)
seeds = st.integers(0, 10**6)
WEIGHTED = [None, 0., 2., 7.5]


# ---- weights and prevalences

@given(cost, cost, cells, cells, cells, cells)
@few
def test_cost_weight_makes_the_saved_part_of_the_bill(fn_cost, fp_cost, tp, fp, fn, tn):
    w = wa.cost_weight(fn_cost, fp_cost)
    saved = 1 - (fn_cost * fn + fp_cost * fp) / (fn_cost * (tp + fn) + fp_cost * (fp + tn))
    assert_allclose(metrics.weighted_accuracy(BinaryCounts(tp, fp, fn, tn), w), saved, rtol=1e-9, atol=1e-12)
    assert_allclose(w + wa.cost_weight(fp_cost, fn_cost), 1)
    assert_allclose(wa.cost_weight(8 * fn_cost, 8 * fp_cost), w)


def test_cost_weight_broadcasts():
    assert_allclose(wa.cost_weight([[1.], [4.]], [1, 3, 9]), [[1 / 2, 1 / 4, 1 / 10], [4 / 5, 4 / 7, 4 / 13]])
    assert np.ndim(wa.cost_weight(35, 1)) == 0


@given(share, share, share, share, share)
@few
def test_target_weight_moves_weighted_accuracy_to_another_prevalence(w, here, there, tpr, tnr):
    moved = wa.target_weight(w, here, there)
    def value(weight, prevalence):
        return metrics.weighted_accuracy(BinaryCounts(prevalence * tpr, (1 - prevalence) * (1 - tnr), prevalence * (1 - tpr), (1 - prevalence) * tnr), weight)
    assert_allclose(value(moved, here), value(w, there), rtol=1e-9)
    assert_allclose(wa.target_weight(moved, there, here), w, rtol=1e-9)
    assert_allclose(wa.target_weight(w, here, here), w, rtol=1e-9)
    assert_allclose(value(wa.target_weight(.5, here, .5), here), (tpr + tnr) / 2, rtol=1e-9)
    assert_allclose(wa.target_weight(1 - w, 1 - here, 1 - there), 1 - moved, rtol=1e-9)
    assert wa.target_weight(0., here, there) == 0 and wa.target_weight(1., here, there) == 1


@given(share, share, share, share)
@few
def test_plain_accuracy_at_the_neutral_prevalence(w, there, tpr, tnr):
    pi = wa.neutral_prevalence(w, there)
    assert_allclose(pi * tpr + (1 - pi) * tnr, (w * there * tpr + (1 - w) * (1 - there) * tnr) / (w * there + (1 - w) * (1 - there)), rtol=1e-9)
    assert_allclose(wa.target_weight(w, pi, there), .5, rtol=1e-9)


# ---- uncertain weights

def share_by_mpmath(pi, a, b):
    "Mean of w pi/(w pi + (1 - w)(1 - pi)) over Beta(a, b)."
    with mpmath.workdps(40):
        odds, a, b = mpmath.mpf(pi) / (1 - mpmath.mpf(pi)), mpmath.mpf(a), mpmath.mpf(b)
        return float(a / (a + b) * odds * mpmath.hyp2f1(1, a + 1, a + b + 1, 1 - odds))


@given(st.floats(1e-4, .9999), shape, shape)
@few
def test_expected_share_is_gauss_hypergeometric(pi, a, b):
    assert_allclose(wa.expected_positive_share(pi, a, b), share_by_mpmath(pi, a, b), rtol=1e-9, atol=1e-12)


@given(st.floats(.001, .999), st.floats(60, 5000), st.floats(60, 5000))
@few
def test_expected_share_of_concentrated_weights(pi, a, b):
    "a + b above 100, by SciPy's quadrature over the quantiles."
    density, (low, high) = stats.beta(a, b), stats.beta(a, b).ppf([1e-15, 1 - 1e-15])
    total, _ = integrate.quad(lambda w: density.pdf(w) * w * pi / (w * pi + (1 - w) * (1 - pi)), low, high, epsabs=1e-13, epsrel=1e-12, limit=200)
    assert_allclose(wa.expected_positive_share(pi, a, b), total, rtol=1e-8)


@given(st.lists(st.floats(.001, .999), min_size=2, max_size=6), st.floats(.1, 200), st.floats(.1, 200))
@few
def test_expected_share_swaps_with_the_classes_and_grows(pi, a, b):
    pi = np.unique(pi)
    one = wa.expected_positive_share(pi, a, b)
    assert_allclose(one, 1 - wa.expected_positive_share(1 - pi, b, a), rtol=1e-9, atol=1e-12)
    assert one.shape == pi.shape and (np.diff(one) > -1e-12).all() and ((one > 0) & (one < 1)).all()
    assert_allclose(wa.expected_positive_share(.5, a, b), a / (a + b), rtol=1e-9)


@given(cells, cells, cells, cells, st.floats(1, 40), st.floats(1, 40))
@few
def test_expected_weighted_accuracy_three_ways(tp, fp, fn, tn, a, b):
    c = BinaryCounts(tp, fp, fn, tn)
    s, u = float(wa.expected_positive_share(c.prevalence, a, b)), stats.beta(a, b).pdf
    value = wa.expected_weighted_accuracy_over([[tn, fp], [fn, tp]], lambda w: 7 * u(w))  # seven times a density
    assert_allclose(value, s * c.tpr + (1 - s) * c.tnr, rtol=1e-6)
    assert_allclose(value, wa.expected_weighted_accuracy(c, a, b), rtol=1e-6)


def test_expected_weighted_accuracy_over_a_uniform_weight():
    c = BinaryCounts(np.array([[30, 5], [20, 17]]), np.array([[40, 0], [1, 9]]), np.array([[7, 50], [3, 2]]), np.array([[100, 6], [4, 80]]))
    got = wa.expected_weighted_accuracy_over(c, lambda w: 1, (.2, .6))
    for at in np.ndindex(2, 2):
        one = BinaryCounts(c.tp[at], c.fp[at], c.fn[at], c.tn[at])
        direct = integrate.quad(lambda w: (w * one.tp + (1 - w) * one.tn) / (w * (one.tp + one.fn) + (1 - w) * (one.tn + one.fp)), .2, .6)[0] / .4
        assert got[at] == pytest.approx(direct, rel=1e-9)
    assert got.shape == (2, 2)


# ---- Hand's H

def scored(seed, n=60, levels=12):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < rng.uniform(.2, .8)
    y[:2] = True, False
    return y.astype(int), np.clip(np.round(rng.normal(levels / 2 + y, levels / 6)), 0, levels) / levels


@given(seeds, st.sampled_from([.1, .5, 1., 2., 7.]))
@few
def test_hand_h_against_the_package(seed, ratio):
    hmeasure = pytest.importorskip("hmeasure")
    y, s = scored(seed)
    assert wa.hand_h_measure(y, s, 2, 1 + 1 / ratio) == pytest.approx(hmeasure.h_score(y, s, severity_ratio=ratio), abs=1e-9)


@given(seeds, st.floats(.5, 6), st.floats(.5, 6))
@few
def test_hand_h_by_the_best_threshold_for_each_cost(seed, a, b):
    y, s = scored(seed, 30, 6)
    pi, c = y.mean(), stats.beta(a, b).ppf((np.arange(20_000) + .5) / 20_000)
    least = np.full(len(c), np.inf)
    for t in [*np.unique(s), np.inf]:
        least = np.minimum(least, c * (1 - pi) * (s >= t)[y == 0].mean() + (1 - c) * pi * (s < t)[y == 1].mean())
    trivial = np.minimum(c * (1 - pi), (1 - c) * pi)
    assert wa.hand_h_measure(y, s, a, b) == pytest.approx(1 - least.mean() / trivial.mean(), abs=2e-5)


@given(seeds, st.floats(.3, 9), st.floats(.3, 9), st.permutations(range(60)))
@few
def test_hand_h_bounds_and_invariances(seed, a, b, order):
    y, s = scored(seed)
    h = wa.hand_h_measure(y, s, a, b)
    assert -1e-12 <= h <= 1 + 1e-12
    for other in (wa.hand_h_measure(y, np.exp(5 * s) - 3, a, b), wa.hand_h_measure(y[list(order)], s[list(order)], a, b), wa.hand_h_measure(1 - y, -s, b, a),
                  wa.hand_h_measure(np.tile(y, 3), np.tile(s, 3), a, b)):
        assert other == pytest.approx(h, abs=1e-12)
    assert wa.hand_h_measure(y, y, a, b) == pytest.approx(1) and wa.hand_h_measure(y, 0 * s, a, b) == pytest.approx(0, abs=1e-12)
    assert wa.hand_h_measure(y, -y, a, b) == pytest.approx(0, abs=1e-12)


# ---- costs of each sample's own

def random_costs(seed, n=25):
    rng = np.random.default_rng(seed)
    tp, tn = rng.normal(size=(2, n))
    return rng.integers(2, size=n), dict(fn_costs=tp + rng.lognormal(size=n), fp_costs=tn + rng.lognormal(size=n), tp_costs=tp, tn_costs=tn), \
        rng.integers(2, size=(3, 4, n))


@given(seeds)
@few
def test_bill_and_its_parts_by_a_loop(seed):
    y, c, decisions = random_costs(seed)
    costs = ExampleCosts(**c)
    parts, n, c = costs.parts(y, decisions), len(y), {name[:2]: v for name, v in c.items()}
    c_fn, c_fp = fsum(c["fn"] - c["tp"]) / n, fsum(c["fp"] - c["tn"]) / n
    assert costs.mean_costs == pytest.approx((c_fn, c_fp)) and costs.weight == pytest.approx(c_fn / (c_fn + c_fp))
    assert_allclose(costs.avoidable, [c["fn"] - c["tp"], c["fp"] - c["tn"]])
    bill = wa.total_cost(y, decisions, c["fn"], c["fp"], tp_costs=c["tp"], tn_costs=c["tn"])
    for at in np.ndindex(3, 4):
        d, sums = decisions[at], [0.] * 4
        for i in range(n):
            sums[0] += c["tp" if y[i] else "tn"][i]
            if y[i] and not d[i]: sums[1], sums[2] = sums[1] + c_fn, sums[2] + c["fn"][i] - c["tp"][i] - c_fn
            if d[i] and not y[i]: sums[1], sums[3] = sums[1] + c_fp, sums[3] + c["fp"][i] - c["tn"][i] - c_fp
        direct = fsum(c[("tn", "fp", "fn", "tp")[2 * y[i] + d[i]]][i] for i in range(n))
        assert_allclose([part[at] for part in parts], sums, atol=1e-9)
        assert_allclose([parts.total[at], bill[at]], direct, atol=1e-9)
    assert bill.shape == parts.perfect.shape == (3, 4) and (bill >= parts.perfect - 1e-9).all()
    assert np.shape(costs.parts(y, decisions[0, 0]).total) == ()


@given(seeds)
@few
def test_equal_costs_leave_weighted_accuracy_and_no_fluctuation(seed):
    y, _, decisions = random_costs(seed)
    assume(0 < y.sum() < len(y))
    parts = ExampleCosts(np.full(len(y), 9.), 2., 1., .5).parts(y, decisions)
    assert_allclose(parts.fn_fluctuation, 0, atol=1e-12)
    assert_allclose(parts.fp_fluctuation, 0, atol=1e-12)
    counts = BinaryCounts.from_labels(y, decisions.reshape(-1, len(y))[0])
    most = 8 * y.sum() + 1.5 * (1 - y).sum()
    assert 1 - parts.average[0, 0] / most == pytest.approx(metrics.weighted_accuracy(counts, 8 / 9.5))
    assert_allclose(wa.total_cost(y, decisions, 9., 2., tp_costs=1., tn_costs=.5), parts.total)
    assert_allclose(ExampleCosts(9., 2., 1., .5).parts(y, decisions), parts, atol=1e-12)


@given(seeds, share, st.floats(.01, .99))
@few
def test_churn(seed, p_eff, part):
    rng = np.random.default_rng(seed)
    revenues, y, d = rng.lognormal(size=40), rng.integers(2, size=40), rng.integers(2, size=40)
    call = part * p_eff * revenues.mean()
    costs = churn_costs(revenues, call, p_eff)
    assert costs.parts(y, d).total == pytest.approx(call * d.sum() + p_eff * fsum(revenues[(y == 1) & (d == 0)]))
    assert costs.weight == pytest.approx(1 - part)
    assert churn_costs(revenues, part * .25 * revenues.mean()).weight == pytest.approx(1 - part)


def test_coherence_of_each_or_of_the_mean():
    fn, tp = np.array([1., 5., 6.]), np.array([2., 1., 1.])
    with pytest.raises(ValueError, match="fn_costs.*position 0"): ExampleCosts(fn, 1., tp)
    assert ExampleCosts(fn, 1., tp, coherent="mean").mean_costs == pytest.approx((8 / 3, 1))
    with pytest.raises(ValueError, match="fn_costs"): ExampleCosts(fn, 1., [2., 9., 9.], coherent="mean")
    with pytest.raises(ValueError, match="fp_costs"): wa.total_cost([1, 0], [0, 0], 1., 1., tn_costs=[0., 1.])
    assert wa.total_cost([1, 0], [0, 0], 1., 1., tn_costs=[0., 1.], coherent="mean") == 2


# ---- weights from a ranking

def exact_range(chains, models, pi):
    "Least and largest weight in (0, 1) at which all stated orders hold, in fractions; None if there is none. Chains of groups, worst first."
    value = lambda name, w: w * pi * models[name][0] + (1 - w) * (1 - pi) * models[name][1]
    def agrees(w):
        return all(value(a, w) == value(group[0], w) for chain in chains for group in chain for a in group) and all(
            value(low[0], w) <= value(high[0], w) for chain in chains for low, high in zip(chain[:-1], chain[1:]))
    names, crossings = list(models), {Fraction(0), Fraction(1)}
    for a in names:
        for b in names:
            gain, loss = pi * (models[a][0] - models[b][0]), (1 - pi) * (models[b][1] - models[a][1])
            if gain + loss and 0 < loss / (gain + loss) < 1: crossings.add(loss / (gain + loss))
    edges = sorted(crossings)
    found = [w for w in edges[1:-1] if agrees(w)]
    for low, high in zip(edges[:-1], edges[1:]):
        if agrees((low + high) / 2): found += [low, high]
    return (min(found), max(found)) if found else None


@given(seeds, st.booleans())
@settings(max_examples=150, deadline=None)
def test_weights_by_brute_force_over_random_models_and_rankings(seed, as_list):
    rng = np.random.default_rng(seed)
    names = ["one", "two", "three", "four", "five"][:rng.integers(2, 6)]
    models = {name: tuple(Fraction(int(v), 10) for v in rng.integers(0, 11, 2)) for name in names}
    pi = Fraction(int(rng.integers(1, 20)), 20)
    level = dict(zip(names, rng.permutation(len(names)) if rng.random() < .7 else rng.integers(0, 4, len(names))))
    chains = []
    for _ in range(rng.integers(1, 4)):
        some = list(rng.permutation(names)[:rng.integers(2, len(names) + 1)])
        chains.append([[n for n in some if level[n] == k] for k in sorted({level[n] for n in some})])
    text = [" < ".join(" = ".join(group) for group in chain) for chain in chains]
    ranking = text if as_list else "; ".join(text)
    if as_list and len(chains) == 1: ranking = [group[0] if len(group) == 1 else tuple(group) for group in chains[0]]
    found = weight_range_from_ranking(ranking, float(pi), models={k: (float(r), float(s)) for k, (r, s) in models.items()})
    expected = exact_range(chains, models, pi)
    assert found.empty == (expected is None)
    if expected is None: assert np.isnan([found.low, found.high, *found.cost_ratio]).all()
    else:
        assert_allclose([found.low, found.high], [float(v) for v in expected], atol=1e-9)
        assert_allclose(found.cost_ratio, [float(w / (1 - w)) if w < 1 else np.inf for w in expected], rtol=1e-6)


@given(share, share, st.permutations(["M+", "M-", "Mbad", "Mbad-", "Mbad+"]))
@few
def test_weights_of_emblematic_models_on_a_grid(alpha, pi, order):
    found, models = weight_range_from_ranking(order, pi, alpha), wa.emblematic_models(alpha)
    grid = np.linspace(0, 1, 1001)[1:-1]
    values = np.array([metrics.weighted_accuracy(BinaryCounts.from_rates(1, pi, 1 - models[m][1], 1 - models[m][0]), grid) for m in order])
    agree = (np.diff(values, axis=0) >= 0).all(0)
    inside = np.zeros(len(grid), bool) if found.empty else (grid >= found.low) & (grid <= found.high)
    near = np.isclose(grid[:, None], [c.bound for c in found.constraints], rtol=0, atol=1e-9).any(1)  # equal but for rounding
    assert_array_equal(agree[~near], inside[~near])


def test_emblematic_models_have_the_rates_of_table_3():
    assert_allclose(list(wa.emblematic_models(.3).values()), [(1, 0), (0, 1), (.7, .7), (1, .7), (.7, 1)])
    assert list(wa.emblematic_models(.3)) == ["M+", "M-", "Mbad", "Mbad-", "Mbad+"]


def test_constraints_and_conflicts_are_named():
    found = weight_range_from_ranking("M+ < M-; M- < Mbad-", .2, .5)
    assert [(c.worse, c.better, c.kind) for c in found.constraints] == [("M+", "M-", "upper"), ("M-", "Mbad-", "lower")] and not found.conflicts
    assert (found.low, found.high) == pytest.approx((2 / 3, .8))  # w pi >= (1 - w)(1 - pi)/2, w pi <= (1 - w)(1 - pi)
    clash = weight_range_from_ranking("M+ < M-; M- < Mbad", .2, .9)
    assert clash.empty and [tuple(c.worse for c in pair) for pair in clash.conflicts] == [("M-", "M+")]
    never = weight_range_from_ranking("good < bad", .5, models={"good": (.9, .9), "bad": (.8, .9)})
    assert never.empty and [[c.kind for c in pair] for pair in never.conflicts] == [["never"]]
    always = weight_range_from_ranking("bad < good", .5, models={"good": (.9, .9), "bad": (.8, .9)})
    assert (always.low, always.high) == (0, 1) and always.constraints[0].kind == "always" and np.isnan(always.constraints[0].bound)


@pytest.mark.parametrize("ranking", ["M+ < M-; M- < M+", "M+ < M-; M- < Mbad; Mbad < M+", "M+ = M-; M+ < M-", "M+ = M-; Mbad = M-; M+ < Mbad"])
def test_circles_are_refused(ranking):
    with pytest.raises(ValueError, match="ranking: it goes in a circle"): weight_range_from_ranking(ranking, .05)


def test_a_tie_may_be_stated_twice():
    assert weight_range_from_ranking("M+ = M-; M- = M+; M+ < Mbad-", .05).low == pytest.approx(.95)


@pytest.mark.parametrize("ranking", ["M+ < Mbad < M- < Mbad- < Mbad+", "M+ < M-; M- < Mbad", "Mbad- < M+", "M+ = M-"])
def test_plot_of_a_weight_range(ranking):
    found = weight_range_from_ranking(ranking, .2, .9 if ";" in ranking else .6)
    ax = wa.plot_weight_range(found)
    title = "".join(ax.get_title(loc) for loc in ("left", "center", "right"))  # wherever the style puts it
    assert title.startswith("no weight agrees" if found.empty else f"{found.low:.3f}")
    assert len(ax.texts) == sum(c.kind != "always" for c in found.constraints)
    assert wa.plot_weight_range(found, ax) is ax
    import matplotlib.pyplot as plt
    plt.close(ax.figure)


def test_ranking_widget_follows_its_menus():
    widget = wa.explore_ranking()
    controls, image = widget.children
    before = image.value
    controls.children[0].value, controls.children[1].value = "Mbad", "M+"  # in between one name stands twice
    assert image.value != before


# ---- rank correlation

values_with_ties = st.lists(st.integers(-4, 4), min_size=1, max_size=12)


@given(st.lists(values_with_ties.map(tuple), min_size=1, max_size=3).filter(lambda rows: len({len(r) for r in rows}) == 1))
@few
def test_mean_ranks_are_scipys(rows):
    v = np.array(rows, float)
    assert_array_equal(wa.mean_ranks(v), stats.rankdata(-v, axis=-1))
    assert_array_equal(wa.mean_ranks(v[0]), stats.rankdata(-v[0]))
    assert_array_equal(wa.mean_ranks(v.astype(np.int16)), wa.mean_ranks(v))


def test_mean_ranks_of_unsigned_integers():
    assert_array_equal(wa.mean_ranks(np.array([1, 2, 0], np.uint8)), [2, 1, 3])


def plain_coefficient(x, y, n0):
    "The definition, item by item."
    x, y = stats.rankdata([-v for v in x]), stats.rankdata([-v for v in y])
    w = [1. if n0 is None else (a + n0) ** -2 + (b + n0) ** -2 for a, b in zip(x, y)]
    mx, my = fsum(i * a for i, a in zip(w, x)) / fsum(w), fsum(i * b for i, b in zip(w, y)) / fsum(w)
    return fsum(i * (a - mx) * (b - my) for i, a, b in zip(w, x, y)) / (fsum(i * (a - mx)**2 for i, a in zip(w, x)) * fsum(i * (b - my)**2 for i, b in zip(w, y)))**.5


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=15), st.sampled_from(WEIGHTED), seeds)
@few
def test_weighted_spearman_by_its_definition(pairs, n0, seed):
    x, y = np.array(pairs, float).T
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    got = float(wa.rank_correlation(wa.mean_ranks(x), wa.mean_ranks(y), n0))
    assert got == pytest.approx(plain_coefficient(x, y, n0), abs=1e-9)
    assert -1 - 1e-12 <= got <= 1 + 1e-12
    if n0 is None: return
    order = np.random.default_rng(seed).permutation(len(x))
    assert wa.weighted_spearman(x, y, n0) == got
    for other in (wa.weighted_spearman(y, x, n0), wa.weighted_spearman(np.exp(x), y**3, n0), wa.weighted_spearman(x[order], y[order], n0)):
        assert other == pytest.approx(got, abs=1e-12)
    assert wa.weighted_spearman(x, x, n0) == pytest.approx(1)
    assert wa.weighted_spearman(np.stack([x, -x]), y, n0) == pytest.approx([got, plain_coefficient(-x, y, n0)], abs=1e-9)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=30))
@few
def test_without_weights_or_with_equal_ones_it_is_spearman(pairs):
    x, y = np.array(pairs, float).T
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    expected = stats.spearmanr(x, y).statistic
    assert wa.rank_correlation(wa.mean_ranks(x), wa.mean_ranks(y)) == pytest.approx(expected, abs=1e-12)
    assert wa.weighted_spearman(x, y, 1e7) == pytest.approx(expected, abs=1e-4)


def test_the_top_counts_more():
    ideal = np.arange(10, 0, -1.)
    top, bottom = ideal.copy(), ideal.copy()
    top[:2], bottom[-2:] = top[1::-1], bottom[:-3:-1]
    assert wa.weighted_spearman(ideal, top, 0) < wa.weighted_spearman(ideal, top, 2) < stats.spearmanr(ideal, top).statistic < wa.weighted_spearman(ideal, bottom)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n0", WEIGHTED)
def test_constants_have_no_rank_correlation(n0):
    "For every length: a mean that is off by a rounding error would make up a correlation."
    got = [wa.rank_correlation(wa.mean_ranks(np.ones(n)), wa.mean_ranks(np.arange(n)), n0) for n in range(3, 40)]
    assert np.isnan(got).all()


# ---- standardised

def all_coefficients(n, n0):
    ranks = np.array(list(permutations(range(1, n + 1))), float)
    return wa.rank_correlation(np.broadcast_to(ranks[0], ranks.shape), ranks, n0)


@pytest.mark.parametrize("n", range(3, 8))
@pytest.mark.parametrize("n0", [0., 2., 30.])
def test_moments_by_enumeration(n, n0):
    gamma = all_coefficients(n, n0)
    d = gamma - gamma.mean()
    m = wa.spearman_moments(n, n0)
    assert (m.mean, m.lower, m.upper, m.error) == pytest.approx((gamma.mean(), (np.minimum(d, 0)**2).mean(), (np.maximum(d, 0)**2).mean(), 0), abs=1e-12)
    assert m.lower + m.upper == pytest.approx(gamma.var())


def test_moments_of_random_permutations_within_their_error():
    gamma, m = all_coefficients(9, 2.), wa.spearman_moments(9)
    assert m.error == pytest.approx(gamma.std() / np.sqrt(1 << 17), rel=.02)
    assert abs(m.mean - gamma.mean()) < 4 * m.error and m.lower + m.upper == pytest.approx(gamma.var(), rel=.02)
    assert wa.spearman_moments(12, n_draws=1000).error == pytest.approx(wa.spearman_moments(12).error * np.sqrt((1 << 17) / 1000), rel=.1)


@pytest.mark.parametrize("n0", [0., 2., 30., 1e6])
@pytest.mark.parametrize("n", range(4, 9))
def test_standardised_coefficients_of_all_permutations_have_mean_0(n, n0):
    moments, gamma = wa.spearman_moments(n, n0), all_coefficients(n, n0)
    assert wa.standardize_spearman(gamma, moments).mean() == pytest.approx(0, abs=1e-9)
    assert_allclose(wa.standardize_spearman([-1, 1], moments), [-1, 1], atol=1e-12)
    assert (np.diff(wa.standardize_spearman(np.linspace(-1, 1, 2001), moments)) > -1e-12).all()
    assert_allclose(wa.standardize_spearman([-1, 1], moments, slip=True), [-1, 1], atol=1e-12)


@pytest.mark.parametrize("n", range(4, 9))
def test_with_the_slip_the_mean_is_not_0(n):
    assert abs(wa.standardize_spearman(all_coefficients(n, 2.), wa.spearman_moments(n), slip=True).mean()) > 1e-3


@given(st.permutations(range(7)))
@few
def test_standardised_weighted_spearman(order):
    raw = wa.weighted_spearman(range(7), order)
    got = wa.weighted_spearman(range(7), order, standardized=True)
    assert got == pytest.approx(wa.standardize_spearman(raw, wa.spearman_moments(7)), abs=1e-12)
    m = wa.spearman_moments(7)
    assert m.mean < 0 and (got > 0 or raw < 0)  # random rankings lie below 0, so that 0 becomes positive


# ---- the study's engine

def test_matched_beta_has_the_moments():
    for w in (.05, .5, .93):
        density = stats.beta(*wa.matched_beta(w, 200, .46))
        assert (density.mean(), density.std()) == pytest.approx((1 - w, (1 - w) * .46 / np.sqrt(200)))
    a, b = wa.matched_beta(.3, 50, 0.)
    assert a + b == pytest.approx(1e8, rel=1e-6)
    slip = stats.beta(*wa.matched_beta(.5, 200, .46, as_published=True))
    assert (slip.mean(), slip.var()) == pytest.approx((.5, .5 * .46 / np.sqrt(200)))  # the standard deviation for the variance
    a, b = wa.matched_beta(.99, 200, .46, as_published=True)
    assert a == 2 and a / (a + b) == pytest.approx(.01)
    with pytest.raises(ValueError, match="spread"): wa.matched_beta(.5, 4, 3.)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40), seeds)
@few
def test_dense_ranks_ignore_rounding_errors(v, seed):
    v = np.array(v, float)
    noise = 1 + np.random.default_rng(seed).uniform(-5e-15, 5e-15, len(v))
    expected = stats.rankdata(v, method="dense") - 1
    for scale in (1., 1e-9, 1e12): assert_array_equal(wa.dense_ranks(scale * v * noise), expected)
    assert_array_equal(wa.dense_ranks(v[:, None]), expected[:, None])


def test_dense_ranks_at_the_edge_of_a_rounding():
    assert_array_equal(wa.dense_ranks(np.array([2.**-14, np.nextafter(2.**-14, 1), 1.])), [0, 0, 1])


def test_dense_ranks_of_many_values():
    v = np.random.default_rng(0).permutation(70_000).astype(float).reshape(70, 1000)
    assert_array_equal(wa.dense_ranks(v), v)


@given(st.integers(1, 30), st.integers(1, 30), st.floats(1.5, 6), st.floats(1.5, 6))
@few
def test_published_values_are_the_metrics_but_for_1e_9(p, n, a, b):
    tp, fp = np.meshgrid(np.arange(p + 1.), np.arange(n + 1.), indexing="ij")
    c, informed = BinaryCounts(tp, fp, p - tp, n - fp), METRICS["h_measure"]
    for name in ("precision", "npv", "markedness", "b_roc", "p4", "mcc"):
        theirs = wa.published_value(name, c, a, b)
        ours = METRICS[name](c, undefined=np.nan)
        defined = np.isfinite(ours)
        assert_allclose(theirs[defined], ours[defined], atol=1e-6)
    assert_allclose(wa.published_value("h_informed", c, a, b), informed(c, a=a, b=b), atol=1e-3)
    ratio = wa.published_value("expected_weighted_accuracy", c, a, b)[1:] / wa.expected_weighted_accuracy(c, b, a)[1:]
    assert_allclose(ratio, ratio[0, 0], rtol=2e-3)  # c has a and b in this order, w = 1 - c the other way round
    for name in ("accuracy", "recall", "h_measure", "weighted_accuracy", "cohen_kappa"): assert wa.published_value(name, c, a, b) is None


def test_the_study_has_the_23_metrics_of_the_paper():
    assert len(wa.STUDY_METRICS) == len(set(wa.STUDY_METRICS)) == 23
    assert set(wa.STUDY_METRICS) - {"h_informed"} <= set(METRICS)


@given(st.integers(3, 20), st.data(), st.sampled_from([0., 1.5, (0., 3.)]))
@few
def test_draws_are_possible(n, data, skill):
    p, seed = data.draw(st.integers(1, n - 1)), data.draw(seeds)
    revenues = np.random.default_rng(seed).lognormal(size=n)
    tp, lost = draw_predictions(revenues, p, 30, skill, np.random.default_rng(seed))
    k, missed, ascending = np.arange(n + 1), p - tp, np.sort(revenues)
    assert tp.shape == lost.shape == (30, n + 1)
    assert (tp >= np.maximum(0, k - (n - p))).all() and (tp <= np.minimum(k, p)).all()
    least, most = np.r_[0, np.cumsum(ascending)][missed], np.r_[0, np.cumsum(ascending[::-1])][missed]
    assert (lost >= least - 1e-9).all() and (lost <= most + 1e-9).all()
    assert (lost <= lost[:, :1] + 1e-9).all()  # all predictions of a sample have the same leavers; number 0 calls none of them
    assert_array_equal(tp[:, -1], p)
    again = draw_predictions(revenues, p, 30, skill, np.random.default_rng(seed))
    assert_array_equal(tp, again[0])
    assert_array_equal(lost, again[1])


def test_draws_are_hypergeometric_and_the_missed_a_random_sample():
    n, p, m = 12, 5, 20_000
    revenues = np.random.default_rng(0).lognormal(size=n)
    tp, lost = draw_predictions(revenues, p, m, 0., np.random.default_rng(1))
    for k in range(n + 1):
        law = stats.hypergeom(n, p, k)
        assert abs(tp[:, k].mean() - p * k / n) <= 4.5 * law.std() / np.sqrt(m)
        possible = np.arange(max(0, k - n + p), min(k, p) + 1)
        if len(possible) > 1: assert stats.chisquare(np.bincount(tp[:, k], minlength=p + 1)[possible], m * law.pmf(possible)).pvalue > 1e-4
    for missed in range(1, p + 1):  # mean and variance of a sum of revenues drawn without replacement
        sums = lost[:, 6][p - tp[:, 6] == missed]
        sd = np.sqrt(missed * revenues.var(ddof=1) * (1 - missed / n))
        assert abs(sums.mean() - missed * revenues.mean()) < 4.5 * sd / np.sqrt(len(sums))
        assert sums.std() == pytest.approx(sd, rel=.15)


@pytest.mark.parametrize("skill", [0., .5, 2.])
def test_skill_is_the_distance_of_two_normal_distributions(skill):
    "The area under the ROC curve, from the hits among the first k, is Phi(skill/sqrt 2)."
    n, p, m = 15, 6, 3000
    tp, _ = draw_predictions(np.ones(n), p, m, skill, np.random.default_rng(0))
    area = (tp.sum(1) - p * (p - 1) / 2 - p) / (p * (n - p))
    assert abs(area.mean() - stats.norm.cdf(skill / np.sqrt(2))) < 4 * area.std() / np.sqrt(m)


def test_skill_raises_the_hits():
    hits = [draw_predictions(np.ones(15), 6, 1000, skill, np.random.default_rng(0))[0][:, 6].mean() for skill in (0., 1., (1., 3.), 3.)]
    assert hits[0] + .5 < hits[1] and hits[1] + .3 < hits[2] and hits[2] + .3 < hits[3]


@pytest.fixture(scope="module")
def revenues():
    return np.random.default_rng(7).uniform(18, 118, 30)


def column(table):
    return table.set_index(["metric", "prevalence", "weight"])["mean"]


def test_study_by_a_plain_simulation():
    "Loops, churn costs sample by sample and SciPy's coefficient, with other random numbers: equal up to the Monte Carlo error."
    rng, r, m = np.random.default_rng(11), np.random.default_rng(3).uniform(1, 9, 16), 300
    for prevalence, weight in ((.25, .8), (.5, .3)):
        p = round(16 * prevalence)
        costs = churn_costs(r, .25 * r.mean() * (1 - weight))
        assert costs.weight == pytest.approx(weight)
        found = {"weighted_accuracy": [], "recall": [], "informedness": []}
        for _ in range(m):
            y = rng.permutation(np.arange(16) < p)
            d = np.zeros((17, 16), bool)
            for k in range(17): d[k, rng.permutation(16)[:k]] = True
            bill, tpr, fpr = costs.parts(y, d).total, d[:, y].mean(1), d[:, ~y].mean(1)
            merit = {"weighted_accuracy": weight * p * tpr - (1 - weight) * (16 - p) * fpr, "recall": tpr, "informedness": tpr - fpr}
            for name in found: found[name].append(stats.spearmanr(np.round(merit[name], 9), -np.round(bill, 9)).statistic)
        ours = cost_correlation(r, prevalence, weight, metrics=list(found), n_samples=m, rng=0).set_index("metric")
        for name, sample in found.items():
            assert abs(ours["mean"][name] - np.mean(sample)) < 4 * np.sqrt((ours["std"][name]**2 + np.var(sample)) / m)
            assert ours["std"][name] == pytest.approx(np.std(sample), rel=.2)


@pytest.mark.parametrize("as_published", [False, True])
def test_weighted_study_is_the_standardised_coefficient(as_published):
    r, name = np.random.default_rng(5).uniform(1, 9, 7), "accuracy"
    table = cost_correlation(r, .4, .6, metrics=name, n_samples=20, weighted=True, as_published=as_published, rng=9)
    (seed,) = np.random.default_rng(9).bit_generator.seed_seq.spawn(1)
    tp, lost = draw_predictions(r, 3, 20, 0., np.random.default_rng(seed))
    calls = np.arange(8)
    merit, bill = np.round(2 * tp - calls, 9), np.round(r.mean() * .4 * calls + lost, 9)
    sign = -1 if as_published else 1  # as published, the worst end is weighted
    gamma = np.array([plain_coefficient(sign * a, -sign * b, 2.) for a, b in zip(merit, bill)])
    expected = wa.standardize_spearman(gamma, wa.spearman_moments(8), slip=as_published)
    assert (table["mean"][0], table["std"][0]) == pytest.approx((expected.mean(), expected.std()), abs=1e-9)


def test_study_is_reproducible_and_independent_of_jobs(revenues):
    pytest.importorskip("joblib")
    given = dict(metrics=["mcc", "weighted_accuracy", "h_informed"], n_samples=10)
    one = cost_correlation(revenues, [.2, .7], [.3, .6, .9], rng=4, **given)
    two, other = (cost_correlation(revenues, [.2, .7], [.3, .6, .9], rng=rng, n_jobs=jobs, **given) for rng, jobs in ((4, 2), (5, 1)))
    assert one.equals(two) and not one.equals(other)
    assert list(one.columns) == ["metric", "prevalence", "weight", "mean", "std"] and len(one) == 18 and one["mean"].between(-1, 1).all()
    alone = cost_correlation(revenues, .2, .6, metrics="mcc", n_samples=10, rng=4)
    assert alone["mean"].item() == column(one)["mcc", .2, .6]  # other weights and metrics change nothing


@pytest.mark.parametrize("scale, p_eff", [(1, .9), (8, .25), (1e-3, .25), (1e6, .25), (1e-10, .25)])
def test_study_has_no_unit(revenues, scale, p_eff):
    given = dict(metrics=["mcc", "weighted_accuracy", "expected_weighted_accuracy"], n_samples=10, rng=4)
    one = cost_correlation(revenues, [.2, .7], [.3, .9], **given)
    other = cost_correlation(scale * revenues, [.2, .7], [.3, .9], p_eff=p_eff, **given)
    assert_allclose(other["mean"], one["mean"], rtol=1e-12)


@pytest.mark.parametrize("revenue", [1., 1 / 3, 1e7 / 3, 1e-8 / 3])
def test_with_equal_revenues_weighted_accuracy_is_perfect(revenue):
    table = cost_correlation(np.full(30, revenue), [.1, .5, .8], [.1, .35, .7], metrics=["weighted_accuracy", "expected_weighted_accuracy", "recall"], n_samples=5, rng=0)
    assert_allclose(table.query("metric == 'weighted_accuracy'")["mean"], 1, rtol=1e-12)
    assert (table.query("metric == 'recall'")["mean"] < .999).all()
    assert (table.query("metric == 'expected_weighted_accuracy'")["mean"] > .99).all()  # the weight is known to four digits


TWINS = [("informedness", "single_point_auc"), ("accuracy", "h_measure"), ("weighted_accuracy", "mean_subjective_utility"), ("weighted_accuracy", "cost_score"),
         ("informedness", "weighted_relative_accuracy")]


@pytest.mark.parametrize("one, other", TWINS)
def test_twins_rank_alike(revenues, one, other):
    table = column(cost_correlation(revenues, [.2, .6], [.2, .5, .9], metrics=[one, other, "recall"], n_samples=6, weighted=True, rng=1))
    assert_allclose(table[one], table[other], atol=1e-12)
    assert not np.allclose(table[one], table["recall"])


def test_at_weight_one_half_weighted_accuracy_is_accuracy(revenues):
    table = column(cost_correlation(revenues, [.2, .6], [.2, .5], metrics=["accuracy", "weighted_accuracy"], n_samples=6, rng=1)).unstack("weight")
    assert_array_equal(table.loc["accuracy", .5], table.loc["weighted_accuracy", .5])
    assert not np.allclose(table.loc["accuracy", .2], table.loc["weighted_accuracy", .2])


@pytest.mark.parametrize("name", [*wa.STUDY_METRICS, "likelihood_ratio_positive", "diagnostic_odds_ratio", "cost_score"])
def test_study_ranks_are_those_of_the_metric_and_of_the_bill(revenues, name):
    by_metric, by_bill = study_ranks(revenues, .3, .7, name, rng=5)
    tp, lost = (v[0] for v in draw_predictions(revenues, 9, 1, 0., np.random.default_rng(5)))
    calls = np.arange(31)
    fp = calls - tp
    beta = wa.matched_beta(.7, 30, revenues.std() / revenues.mean())
    options = {"h_informed": dict(a=beta[0], b=beta[1]), "expected_weighted_accuracy": dict(a=beta[1], b=beta[0])}.get(name, {})
    metric = METRICS["h_measure" if name == "h_informed" else name]
    value = metric(BinaryCounts(tp, fp, 9 - tp, 21 - fp), [[0, .3], [.7, 0]], undefined=0., **options)
    best = name == "h_informed" or metric.greater_is_better
    assert_array_equal(by_metric, stats.rankdata(-np.round(value, 10) if best else np.round(value, 10)))
    assert_array_equal(by_bill, stats.rankdata(np.round(revenues.mean() * .3 * calls + lost, 9)))


def test_mean_costs_of_a_population(revenues):
    "With the revenues themselves as population nothing changes; with dearer ones a call costs more, and the bill favours fewer calls."
    given = dict(metrics="accuracy", n_samples=20, rng=0)
    same, dear = (cost_correlation(revenues, .3, .8, population=v, **given)["mean"].item() for v in (revenues, 5 * revenues))
    assert same == cost_correlation(revenues, .3, .8, **given)["mean"].item() and dear != same
    _, by_bill = study_ranks(revenues, .3, .8, "accuracy", population=50 * revenues, rng=0)
    assert_array_equal(by_bill, np.arange(1, 32))  # calls cost ten times what they bring


# ---- bad input

NAN, Y, S = np.nan, [0, 1, 1], [.1, .5, .7]
MODELS = {"a": (.5, .5), "b": (.6, .4)}
R = np.linspace(1, 2, 10)


@pytest.mark.parametrize("call, message", [
    (lambda: wa.cost_weight(0, 1), "fn_cost"), (lambda: wa.cost_weight(NAN, 1), "fn_cost"), (lambda: wa.cost_weight(1, [1, -1]), "fp_cost"),
    (lambda: wa.cost_weight(1, np.inf), "fp_cost"),
    (lambda: wa.target_weight(1.1, .5, .5), "^weight"), (lambda: wa.target_weight(NAN, .5, .5), "^weight"), (lambda: wa.target_weight(.5, 0, .5), "^prevalence"),
    (lambda: wa.target_weight(.5, .5, 1), "^target_prevalence"), (lambda: wa.neutral_prevalence(-.1, .5), "^weight"),
    (lambda: wa.neutral_prevalence(.1, 1), "^target_prevalence"),
    (lambda: wa.expected_positive_share(1, 2, 2), "^prevalence"), (lambda: wa.expected_positive_share([.5, NAN], 2, 2), "^prevalence"),
    (lambda: wa.expected_positive_share(.5, 0, 2), "^a:"), (lambda: wa.expected_positive_share(.5, 2, np.inf), "^b:"),
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: 1, (.6, .2)), "^support"),
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: 1, (0, 1.2)), "^support"),
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: w - .5), "^density"),
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: 0), "^density"),
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: NAN), "^density"),
    (lambda: wa.expected_weighted_accuracy_over([[1, -2], [3, 4]], lambda w: 1), "^counts"),
    (lambda: wa.hand_h_measure([1, 1], [1, 2]), "^y_true"), (lambda: wa.hand_h_measure([0, 2], [1, 2]), "^y_true"),
    (lambda: wa.hand_h_measure(Y, [1, NAN, 2]), "^scores"),
    (lambda: wa.hand_h_measure(Y, [1, 2]), "^scores"), (lambda: wa.hand_h_measure(Y, S, 0), "^a:"), (lambda: wa.hand_h_measure(Y, S, 1, -1), "^b:"),
    (lambda: ExampleCosts(1, 1, coherent="sum"), "^coherent"), (lambda: ExampleCosts([1, NAN], 1), "^fn_costs.*position 1"),
    (lambda: ExampleCosts(1, 1, tn_costs=[0, -np.inf]), "^tn_costs.*position 1"),
    (lambda: ExampleCosts([1, 1, 1], [1, 1]), "^fp_costs"), (lambda: ExampleCosts([[1, 1]], 1), "^fn_costs"),
    (lambda: ExampleCosts([1, 2], 1, tp_costs=[0, 2]), "^fn_costs.*position 1"),
    (lambda: ExampleCosts([1, 2], 1).parts(Y, Y), "^y_true"), (lambda: ExampleCosts([1, 1, 2], 1).parts(Y, [0, 1]), "^y_pred"),
    (lambda: ExampleCosts([1, 1, 2], 1).parts(Y, [0, 1, 5]), "^y_pred"),
    (lambda: ExampleCosts([1, 1, 2], 1).parts([0, 1, 3], Y), "^y_true"), (lambda: wa.total_cost(Y, Y, [1, 2], 1), "_costs|^y_true"),
    (lambda: wa.total_cost(Y, Y, [1, 2, NAN], 1), "^fn_costs"),
    (lambda: wa.total_cost(Y, Y, 1, 2, tp_costs=1), "^fn_costs"), (lambda: wa.total_cost(Y, Y, 1, 2, tn_costs=3), "^fp_costs"),
    (lambda: wa.total_cost(Y, Y[:2], 1, 2), "^y_pred"),
    (lambda: churn_costs([1, 0], .1), "^revenues"), (lambda: churn_costs([1, NAN], .1), "^revenues"),
    (lambda: churn_costs(R, 0), "^retention_cost"),
    (lambda: churn_costs(R, .5), "^retention_cost"), (lambda: churn_costs(R, .1, 0), "^p_eff"), (lambda: churn_costs(R, .1, 1.1), "^p_eff"),
    (lambda: wa.emblematic_models(0), "^alpha"), (lambda: wa.emblematic_models(1), "^alpha"), (lambda: weight_range_from_ranking("M+ < M-", .5, 1.), "^alpha"),
    (lambda: weight_range_from_ranking("M+ < M-", 0), "^prevalence"), (lambda: weight_range_from_ranking("M+ < M-", 1), "^prevalence"),
    (lambda: weight_range_from_ranking("M+ < M-", NAN), "^prevalence"),
    (lambda: weight_range_from_ranking("M+ < Mgood", .5), "^ranking.*'Mgood'"), (lambda: weight_range_from_ranking("M+ < M- < M+", .5), "^ranking.*twice"),
    (lambda: weight_range_from_ranking("M+ = M+", .5), "^ranking.*twice"), (lambda: weight_range_from_ranking("M+", .5), "^ranking.*two models"),
    (lambda: weight_range_from_ranking("", .5), "^ranking.*two models"), (lambda: weight_range_from_ranking([], .5), "^ranking.*two models"),
    (lambda: weight_range_from_ranking("M+ < M-", .5, models=MODELS), "^ranking.*'M\\+'"),
    (lambda: weight_range_from_ranking("a < b", .5, models=MODELS | {"c": (1.1, .2)}), "models\\['c'\\]"),
    (lambda: wa.weighted_spearman([1, 2, NAN], [1, 2, 3]), "^x:"), (lambda: wa.weighted_spearman([1, 2, 3], [NAN, 2, 3]), "^y:"),
    (lambda: wa.weighted_spearman([1, 2, 3], [1, 2]), "^y:"),
    (lambda: wa.weighted_spearman([1, 2], [1, 2]), "^x:"), (lambda: wa.weighted_spearman(1, 2), "^y:"), (lambda: wa.weighted_spearman([1, 2, 3], [1, 2, 3], -1), "^n0"),
    (lambda: wa.weighted_spearman([1, 2, 3], [1, 2, 3], NAN), "^n0"), (lambda: wa.spearman_moments(2), "^n:"), (lambda: wa.spearman_moments(5, -1.), "^n0"),
    (lambda: wa.weighted_spearman([1, 2, 3], [1, 2, 3], np.inf), "^n0"), (lambda: wa.spearman_moments(12, n_draws=10), "^n_draws"),
    (lambda: wa.matched_beta(1., 5, .1), "^weight"),
    (lambda: wa.cost_weight([1, 2], [1, 2, 3]), "^fn_cost, fp_cost"), (lambda: wa.target_weight([.1, .2], [.3, .4, .5], .5), "^weight, prevalence"),
    (lambda: wa.expected_positive_share(.5, [1, 2], 2), "^a:"), (lambda: weight_range_from_ranking("a < b", .5, models={"a": (1, 0), "b": (.5,)}), "models\\['b'\\]"),
    (lambda: weight_range_from_ranking("M+ < M-", [.2, .5]), "^prevalence"), (lambda: cost_correlation(R, .5, .5, skill=-1), "^skill"),
    (lambda: cost_correlation(R, .5, .5, skill=(2, 1)), "^skill"),
    (lambda: cost_correlation(R, .5, .5, skill=NAN), "^skill"), (lambda: cost_correlation(R, .5, .5, population=[]), "^population"),
    (lambda: cost_correlation(R, .5, 0), "^weights"), (lambda: cost_correlation(R, .5, [.5, 1]), "^weights"), (lambda: cost_correlation(R, .5, NAN), "^weights"),
    (lambda: cost_correlation(R, 1, .5), "^prevalences"), (lambda: cost_correlation(R, [.5, -.1], .5), "^prevalences"),
    (lambda: cost_correlation(R, .04, .5), "^prevalences.*class empty"),
    (lambda: cost_correlation(R, .96, .5), "^prevalences.*class empty"), (lambda: cost_correlation(R, .5, .5, metrics="acuracy"), "^metrics.*acuracy"),
    (lambda: cost_correlation(R, .5, .5, metrics=["accuracy", "wa"]), "^metrics.*wa"), (lambda: cost_correlation([1, 2, NAN], .5, .5), "^revenues"),
    (lambda: cost_correlation([1, 2, -3], .5, .5), "^revenues"),
    (lambda: cost_correlation([1, 2], .5, .5), "^revenues"), (lambda: cost_correlation([[1, 2, 3]], .5, .5), "^revenues"),
    (lambda: cost_correlation(R, .5, .5, n_samples=1), "^n_samples"),
    (lambda: cost_correlation(R, .5, .5, p_eff=0), "^p_eff"), (lambda: cost_correlation(R, .5, .5, p_eff=2), "^p_eff"),
    (lambda: cost_correlation(R, .5, .5, population=[1, NAN]), "^population"),
    (lambda: study_ranks(R, .5, 1, "accuracy"), "^weights"), (lambda: study_ranks(R, .01, .5, "accuracy"), "^prevalences"),
    (lambda: study_ranks(R, .5, .5, "nothing"), "^metrics"),
    (lambda: study_ranks([0, 1, 2], .5, .5, "accuracy"), "^revenues")])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message): call()


@pytest.mark.parametrize("call, message", [
    (lambda: wa.cost_weight("much", 1), "^fn_cost"), (lambda: wa.target_weight(.5, "half", .5), "^prevalence"),
    (lambda: wa.weighted_spearman(["a", "b", "c"], [1, 2, 3]), "^x:"),
    (lambda: weight_range_from_ranking("a < b", .5, models=[("a", .5)]), "^models"), (lambda: cost_correlation(["a", "b", "c"], .5, .5), "^revenues")])
def test_what_is_no_number(call, message):
    with pytest.raises(TypeError, match=message): call()
