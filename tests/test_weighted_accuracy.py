"""Weighted accuracy: closed forms, brute force, mpmath, SciPy and the package hmeasure; costs of single
samples; elicitation; its pictures."""
from fractions import Fraction
from math import fsum

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats


from conftest import refuses
from cost_eval import metrics
from cost_eval import weighted_accuracy as wa
from cost_eval.confusion import BinaryCounts
from cost_eval.costs import CostMatrix, ExampleCosts, losses
from cost_eval.weighted_accuracy import check_coherence, cost_parts, weight_range_from_ranking
from cost_eval.weighted_accuracy import churn_costs
from numpy.testing import assert_array_equal

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
        return metrics.weighted_accuracy(BinaryCounts(prevalence * tpr, (1 - prevalence) * (1 - tnr),
                                                      prevalence * (1 - tpr), (1 - prevalence) * tnr), weight)
    assert_allclose(value(moved, here), value(w, there), rtol=1e-9)
    assert_allclose(wa.target_weight(moved, there, here), w, rtol=1e-9)
    assert_allclose(wa.target_weight(w, here, here), w, rtol=1e-9)
    assert_allclose(value(wa.target_weight(.5, here, .5), here), (tpr + tnr) / 2, rtol=1e-9)
    assert_allclose(wa.target_weight(1 - w, 1 - here, 1 - there), 1 - moved, rtol=1e-9)
    assert wa.target_weight(0., here, there) == 0 and wa.target_weight(1., here, there) == 1


@given(st.floats(.001, .999), st.floats(60, 5000), st.floats(60, 5000))
@few
def test_expected_share_of_concentrated_weights(pi, a, b):
    "a + b above 100, by SciPy's quadrature over the quantiles."
    density, (low, high) = stats.beta(a, b), stats.beta(a, b).ppf([1e-15, 1 - 1e-15])
    total, _ = integrate.quad(lambda w: density.pdf(w) * w * pi / (w * pi + (1 - w) * (1 - pi)), low, high,
                              epsabs=1e-13, epsrel=1e-12, limit=200)
    assert_allclose(positive_share(pi, a, b), total, rtol=1e-8)


# ---- uncertain weights

def positive_share(pi, a, b):
    "The weighted accuracy to expect of calling everybody positive."
    return metrics.expected_weighted_accuracy(BinaryCounts(tp=pi, fp=1 - pi, fn=0 * pi, tn=0 * pi), a, b)


def share_by_mpmath(pi, a, b):
    "Mean of w pi/(w pi + (1 - w)(1 - pi)) over Beta(a, b)."
    with mpmath.workdps(40):
        odds, a, b = mpmath.mpf(pi) / (1 - mpmath.mpf(pi)), mpmath.mpf(a), mpmath.mpf(b)
        return float(a / (a + b) * odds * mpmath.hyp2f1(1, a + 1, a + b + 1, 1 - odds))


@given(cells, cells, cells, cells, st.floats(1, 40), st.floats(1, 40))
@few
def test_expected_weighted_accuracy_three_ways(tp, fp, fn, tn, a, b):
    c = BinaryCounts(tp, fp, fn, tn)
    s, u = float(positive_share(c.prevalence, a, b)), stats.beta(a, b).pdf
    # seven times a density
    value = wa.expected_weighted_accuracy_over([[tn, fp], [fn, tp]], lambda w: 7 * u(w))
    assert_allclose(value, s * c.tpr + (1 - s) * c.tnr, rtol=1e-6)
    assert_allclose(value, metrics.expected_weighted_accuracy(c, a, b), rtol=1e-6)


def test_expected_weighted_accuracy_over_a_uniform_weight():
    c = BinaryCounts(np.array([[30, 5], [20, 17]]), np.array([[40, 0], [1, 9]]), np.array([[7, 50], [3, 2]]),
                     np.array([[100, 6], [4, 80]]))
    got = wa.expected_weighted_accuracy_over(c, lambda w: 1, (.2, .6))
    for at in np.ndindex(2, 2):
        one = BinaryCounts(c.tp[at], c.fp[at], c.fn[at], c.tn[at])
        direct = integrate.quad(lambda w: (w * one.tp + (1 - w) * one.tn) / (w * (one.tp + one.fn) + (1 - w)
                * (one.tn + one.fp)), .2, .6)[0] / .4
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
    assert wa.hand_h_measure(y, s, 2, 1 + 1 / ratio) == pytest.approx(hmeasure.h_score(y, s,
            severity_ratio=ratio), abs=1e-9)


@given(seeds, st.floats(.5, 6), st.floats(.5, 6))
@few
def test_hand_h_by_the_best_threshold_for_each_cost(seed, a, b):
    y, s = scored(seed, 30, 6)
    pi, c = y.mean(), stats.beta(a, b).ppf((np.arange(20_000) + .5) / 20_000)
    least = np.full(len(c), np.inf)
    for t in [*np.unique(s), np.inf]:
        least = np.minimum(least, c * (1 - pi) * (s >= t)[y == 0].mean() + (1 - c) * pi
                           * (s < t)[y == 1].mean())
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
    c_fn, c_fp = fsum(each[:, 1, 0] - each[:, 1, 1]) / n, fsum(each[:, 0, 1] - each[:, 0, 0]) / n
    assert costs.mean().weight == pytest.approx(c_fn / (c_fn + c_fp))
    for at in np.ndindex(3, 4):
        d, sums = decisions[at], [0.] * 4
        for i in range(n):
            sums[0] += each[i, y[i], y[i]]
            if y[i] and not d[i]:
                sums[1], sums[2] = sums[1] + c_fn, sums[2] + each[i, 1, 0] - each[i, 1, 1] - c_fn
            if d[i] and not y[i]:
                sums[1], sums[3] = sums[1] + c_fp, sums[3] + each[i, 0, 1] - each[i, 0, 0] - c_fp
        direct = fsum(each[i, y[i], d[i]] for i in range(n))
        found = parts.perfect[at], parts.average[at], parts.fn_fluctuation[at], parts.fp_fluctuation[at]
        assert_allclose(found, sums, atol=1e-9)
        assert_allclose([parts.total[at], losses(y, d, costs).sum()], direct, atol=1e-9)
    assert parts.total.shape == parts.perfect.shape == (3, 4) and (parts.total >= parts.perfect - 1e-9).all()
    assert np.shape(cost_parts(y, decisions[0, 0], costs).total) == ()


@given(seeds)
@few
def test_equal_costs_leave_weighted_accuracy_and_no_fluctuation(seed):
    y, _, decisions = random_costs(seed)
    assume(0 < y.sum() < len(y))
    costs = ExampleCosts(fn=np.full(len(y), 9.), fp=2., tp=1., tn=.5)
    parts = cost_parts(y, decisions, costs)
    assert_allclose(parts.fn_fluctuation, 0, atol=1e-12)
    assert_allclose(parts.fp_fluctuation, 0, atol=1e-12)
    counts = BinaryCounts.from_labels(y, decisions.reshape(-1, len(y))[0])
    most = 8 * y.sum() + 1.5 * (1 - y).sum()
    assert 1 - parts.average[0, 0] / most == pytest.approx(metrics.weighted_accuracy(counts, 8 / 9.5))
    matrix = CostMatrix.binary(fn=9., fp=2., tp=1., tn=.5)
    assert losses(y, decisions[0, 0], matrix).sum() == pytest.approx(parts.total[0, 0])


def test_parts_go_by_the_labels_of_the_costs():
    costs = ExampleCosts(fp=[1., 2, 3], fn=[10., 20, 30], classes=["stays", "leaves"],
                         decisions=["wait", "offer"])
    parts = cost_parts(["leaves", "stays", "stays"], ["wait", "offer", "wait"], costs)
    assert parts.total == 12 and parts.average == 22
    assert parts == cost_parts(["leaves", "stays", "stays"], ["wait", "offer", "wait"],
                               costs) and "total" not in repr(parts)


@given(seeds, share, st.floats(.01, .99))
@few
def test_churn(seed, p_eff, part):
    rng = np.random.default_rng(seed)
    revenues, y, d = rng.lognormal(size=40), rng.integers(2, size=40), rng.integers(2, size=40)
    call = part * p_eff * revenues.mean()
    costs = churn_costs(revenues, call, p_eff)
    assert cost_parts(y, d, costs).total == pytest.approx(call * d.sum() + p_eff
            * fsum(revenues[(y == 1) & (d == 0)]))
    assert costs.mean().weight == pytest.approx(1 - part)
    assert churn_costs(revenues, part * .25 * revenues.mean()).mean().weight == pytest.approx(1 - part)
    assert check_coherence(costs, of="mean") is costs


def test_coherence_of_each_or_of_the_mean():
    costs = ExampleCosts(fn=[9., 1., 6.], fp=1., tp=[1., 2., 1.])
    with pytest.raises(ValueError, match="costs: .*sample 1 fn differs by -1"):
        check_coherence(costs)
    assert check_coherence(costs, of="mean") is costs
    with pytest.raises(ValueError, match="on average fn"):
        check_coherence(ExampleCosts(fn=[1., 5., 6.], fp=1., tp=[2., 9., 9.]), of="mean")
    with pytest.raises(ValueError, match="fp differs"):
        check_coherence(ExampleCosts(fn=1., fp=1., tn=[0., 1.]))


# ---- weights from a ranking

def exact_range(chains, models, pi):
    """Least and largest weight in (0, 1) at which all stated orders hold, in fractions; None if there is
    none. Chains of groups, worst first."""
    value = lambda name, w: w * pi * models[name][0] + (1 - w) * (1 - pi) * models[name][1]
    def agrees(w):
        return all(value(a, w) == value(group[0], w) for chain in chains for group in chain
                   for a in group) and all(
            value(low[0], w) <= value(high[0], w) for chain in chains
            for low, high in zip(chain[:-1], chain[1:]))
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
@settings(max_examples=60, deadline=None)
def test_weights_by_brute_force_over_random_models_and_rankings(seed, as_list):
    rng = np.random.default_rng(seed)
    names = ["one", "two", "three", "four", "five"][:rng.integers(2, 6)]
    models = {name: tuple(Fraction(int(v), 10) for v in rng.integers(0, 11, 2)) for name in names}
    pi = Fraction(int(rng.integers(1, 20)), 20)
    level = dict(zip(names, rng.permutation(len(names)) if rng.random() < .7
                     else rng.integers(0, 4, len(names))))
    chains = []
    for _ in range(rng.integers(1, 4)):
        some = list(rng.permutation(names)[:rng.integers(2, len(names) + 1)])
        chains.append([[n for n in some if level[n] == k] for k in sorted({level[n] for n in some})])
    text = [" < ".join(" = ".join(group) for group in chain) for chain in chains]
    ranking = text if as_list else "; ".join(text)
    if as_list and len(chains) == 1: ranking = [group[0] if len(group) == 1 else tuple(group)
                                                for group in chains[0]]
    found = weight_range_from_ranking(ranking, float(pi), models={k: (float(r), float(s))
            for k, (r, s) in models.items()})
    expected = exact_range(chains, models, pi)
    assert found.empty == (expected is None)
    if expected is None: assert np.isnan([found.low, found.high, *found.cost_ratio]).all()
    else:
        assert_allclose([found.low, found.high], [float(v) for v in expected], atol=1e-9)
        assert_allclose(found.cost_ratio, [float(w / (1 - w)) if w < 1 else np.inf for w in expected],
                        rtol=1e-6)


@given(share, share, st.permutations(["M+", "M-", "Mbad", "Mbad-", "Mbad+"]))
@few
def test_weights_of_emblematic_models_on_a_grid(alpha, pi, order):
    found, models = weight_range_from_ranking(order, pi, alpha), wa.emblematic_models(alpha)
    grid = np.linspace(0, 1, 1001)[1:-1]
    values = np.array([metrics.weighted_accuracy(BinaryCounts.from_rates(1, pi, 1 - models[m][1],
            1 - models[m][0]), grid) for m in order])
    agree = (np.diff(values, axis=0) >= 0).all(0)
    inside = np.zeros(len(grid), bool) if found.empty else (grid >= found.low) & (grid <= found.high)
    # equal but for rounding
    near = np.isclose(grid[:, None], [c.bound for c in found.constraints], rtol=0, atol=1e-9).any(1)
    assert_array_equal(agree[~near], inside[~near])


def test_constraints_and_conflicts_are_named():
    found = weight_range_from_ranking("M+ < M-; M- < Mbad-", .2, .5)
    assert [(c.worse, c.better, c.kind) for c in found.constraints] == [("M+", "M-", "upper"),
            ("M-", "Mbad-", "lower")] and not found.conflicts
    # w pi >= (1 - w)(1 - pi)/2, w pi <= (1 - w)(1 - pi)
    assert (found.low, found.high) == pytest.approx((2 / 3, .8))
    clash = weight_range_from_ranking("M+ < M-; M- < Mbad", .2, .9)
    assert clash.empty and [tuple(c.worse for c in pair) for pair in clash.conflicts] == [("M-", "M+")]
    never = weight_range_from_ranking("good < bad", .5, models={"good": (.9, .9), "bad": (.8, .9)})
    assert never.empty and [[c.kind for c in pair] for pair in never.conflicts] == [["never"]]
    always = weight_range_from_ranking("bad < good", .5, models={"good": (.9, .9), "bad": (.9, .8)})
    assert (always.low, always.high) == (0, 1) and always.constraints[0].kind == "always"
    never = weight_range_from_ranking("good < bad", .5, models={"good": (.9, .9), "bad": (.9, .8)})
    assert never.empty and never.constraints[0].kind == "never"
    always = weight_range_from_ranking("bad < good", .5, models={"good": (.9, .9), "bad": (.8, .9)})
    assert (always.low, always.high) == (0, 1) and always.constraints[0].kind == "always" and np.isnan(
        always.constraints[0].bound)


def test_a_circle_says_that_all_are_equal():
    there, back = weight_range_from_ranking("M+ < M-; M- < M+", .05), weight_range_from_ranking("M+ = M-", .05)
    assert (there.low, there.high) == (back.low, back.high) == pytest.approx((.95, .95))
    assert weight_range_from_ranking("M+ < M-; M- < Mbad; Mbad < M+", .05).empty


def test_a_tie_may_be_stated_twice():
    assert weight_range_from_ranking("M+ = M-; M- = M+; M+ < Mbad-", .05).low == pytest.approx(.95)


# ---- uncertain weights

def bill_of(w, fn, fp):
    return w * fn + (1 - w) * fp


@given(st.lists(st.tuples(st.floats(.01, .99), st.floats(.1, 10)), min_size=1, max_size=6),
       st.floats(.02, .98), st.sampled_from(["sum", "worst", "constant", "given"]), seeds)
@few
def test_an_average_of_scaled_bills_ranks_as_one_weight(states, pi, unit, seed):
    """By definition: each state's bill over its scale, averaged, for random tables; and the bill at the
    effective weight."""
    w, given_scale = np.array(states).T
    scale = {"sum": 1 + 0 * w, "worst": w * pi + (1 - w) * (1 - pi),
             "constant": np.minimum(w * pi, (1 - w) * (1 - pi)), "given": given_scale}[unit]
    at = wa.effective_weight(w, pi, unit=given_scale if unit == "given" else unit)
    assert w.min() - 1e-12 <= at <= w.max() + 1e-12
    fn, fp = np.random.default_rng(seed).random((2, 20, 1)) * [[[pi]], [[1 - pi]]]
    averaged = (bill_of(w, fn, fp) / scale).mean(1)
    assert_allclose(averaged, bill_of(at, fn, fp)[:, 0] * (1 / scale).mean(), rtol=1e-9)


def test_money_is_the_weight_of_the_mean_costs():
    miss, call = np.array([50., 320.]), 40.
    w = miss / (miss + call)
    assert wa.effective_weight(w, .2, unit=1 / (miss + call)) == pytest.approx(wa.cost_weight(miss.mean(),
            call))
    assert wa.effective_weight(w, .2) == pytest.approx(w.mean())


@given(st.floats(1.5, 30), st.floats(1.5, 30), st.floats(.05, .95))
@few
def test_effective_weights_of_a_beta_density_are_those_of_its_closed_forms(a, b, pi):
    w = stats.beta(a, b).ppf((np.arange(20_000) + .5) / 20_000)
    share_ = positive_share(pi, a, b)
    odds = share_ / (1 - share_) * (1 - pi) / pi
    assert wa.effective_weight(w, pi, unit="worst") == pytest.approx(odds / (1 + odds), abs=2e-3)
    assert wa.effective_weight(w, pi) == pytest.approx(a / (a + b), abs=1e-3)


# ---- bad input

NAN = np.nan
MODELS = {"a": (.5, .5), "b": (.6, .4)}


test_bad_input = refuses([
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: 1, (.6, .2)), "^support"),
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: 1, (0, 1.2)), "^support"),
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: w - .5), "^density"),
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: 0), "^density"),
    (lambda: wa.expected_weighted_accuracy_over([[1, 2], [3, 4]], lambda w: NAN), "^density"),
    (lambda: weight_range_from_ranking("M+ < M- < M+", .5), "^ranking.*twice"),
    (lambda: weight_range_from_ranking("M+ = M+", .5), "^ranking.*twice"),
    (lambda: weight_range_from_ranking("M+", .5), "^ranking.*two models"),
    (lambda: weight_range_from_ranking("", .5), "^ranking.*two models"),
    (lambda: weight_range_from_ranking([], .5), "^ranking.*two models"),
    (lambda: weight_range_from_ranking("a < b", .5, models=MODELS | {"c": (1.1, .2)}), "models\\['c'\\]"),
    (lambda: wa.cost_weight([1, 2], [1, 2, 3]), "^fn_cost, fp_cost"),
    (lambda: wa.target_weight([.1, .2], [.3, .4, .5], .5), "^weight, prevalence"),
    (lambda: weight_range_from_ranking("a < b", .5, models={"a": (1, 0), "b": (.5,)}), "models\\['b'\\]"),
    (lambda: wa.effective_weight([.5, .6], .5, unit=[1, -1]), "^unit"),
])


@pytest.mark.parametrize("a, b, prevalence", [(1.63632739, 172.309079, 1 - 2.6888e-5), (176.191607,
        1.28494587, 1.47242593e-06), (0.200826057, 177.589902, 0.999768865)])
def test_positive_share_where_the_hypergeometric_function_overflows(a, b, prevalence):
    assert_allclose(positive_share(prevalence, a, b), share_by_mpmath(prevalence, a, b),
                    rtol=1e-6)
