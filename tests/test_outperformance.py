"""Outperformance scores against simulation, numerical integration and enumeration, and the properties any percentile must have."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from sklearn import metrics as sk

from cost_eval import outperformance as op
from cost_eval.confusion import BinaryCounts
from cost_eval.costs import CostMatrix
from cost_eval.metrics import METRICS, Metric, count_terms

COSTS = CostMatrix.binary(fp=1, fn=4)
NAMES = sorted(METRICS)
prevalences = st.floats(.01, .99)
rates = st.floats(.01, .99)
names = st.sampled_from(NAMES)


def arguments(name):
    return {"costs": COSTS} if METRICS[name].needs_costs else {}


def value_at(name, prevalence, fpr, fnr):
    return METRICS[name](BinaryCounts.from_rates(1, prevalence, fpr, fnr), **arguments(name))


# ---- labelling metrics

@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("prevalence", [.03, .5, .8])
def test_against_a_fine_grid(name, prevalence):
    "The share of a 1000 x 1000 grid of midpoints: an independent integral with an error of about the length of the border over 1000."
    grid = (np.arange(1000) + .5) / 1000
    values = value_at(name, prevalence, grid[:, None], grid[None, :])
    for q in (.1, .5, .97):
        v = np.quantile(values, q)
        worse = np.mean(values < v) if METRICS[name].greater_is_better else np.mean(values > v)
        assert op.outperformance(name, v, prevalence, **arguments(name)) == pytest.approx(worse, abs=1.5e-3)


@given(names, prevalences, rates, rates)
def test_is_a_share_and_improves_with_the_rates(name, prevalence, fpr, fnr):
    fprs, fnrs = np.array([fpr, fpr, fpr * .9]), np.array([fnr, fnr * .9, fnr])
    scores = op.outperformance(name, value_at(name, prevalence, fprs, fnrs), prevalence, **arguments(name))
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (scores[1:] >= scores[0] - 1e-7).all()


@given(names, prevalences)
def test_ends_of_the_range(name, prevalence):
    low, high = op.metric_range(name, prevalence, **arguments(name))
    worst, best = (low, high) if METRICS[name].greater_is_better else (high, low)
    assert op.outperformance(name, best, prevalence, **arguments(name)) == pytest.approx(1, abs=1e-6)
    assert op.outperformance(name, worst, prevalence, **arguments(name)) == pytest.approx(0, abs=1e-6)


@given(names, prevalences, st.floats(.001, .999))
@settings(max_examples=20, deadline=None)
def test_the_inverse(name, prevalence, score):
    value = op.outperformance_value(name, score, prevalence, **arguments(name))
    assert op.outperformance(name, value, prevalence, **arguments(name)) == pytest.approx(score, abs=1e-6)


@given(st.sampled_from(["f_beta", "mcc", "p4", "expected_cost", "likelihood_ratio_positive", "error_rate"]), prevalences, rates, rates,
       st.floats(.01, 100), st.floats(-10, 10))
def test_linear_invariance(name, prevalence, fpr, fnr, scale, shift):
    m = METRICS[name]
    def function(counts, *, undefined=np.nan, **kwargs): return scale * m(counts, **arguments(name)) + shift
    other = Metric("other", "M", "M", function, m.greater_is_better, -np.inf, np.inf, False, None, "", "")
    value = value_at(name, prevalence, fpr, fnr)
    assert op.outperformance(other, scale * value + shift, prevalence) == pytest.approx(op.outperformance(name, value, prevalence, **arguments(name)), abs=2e-6)


@given(prevalences, rates, rates)
def test_equivalent_metrics_share_their_score(prevalence, fpr, fnr):
    for group in (("f_beta", "jaccard"), ("precision", "lift", "likelihood_ratio_positive"), ("npv", "likelihood_ratio_negative"),
                  ("informedness", "balanced_accuracy", "weighted_relative_accuracy", "balanced_error_rate", "single_point_auc"),
                  ("accuracy", "error_rate"), ("expected_cost", "normalized_expected_cost", "weighted_accuracy", "cost_score", "mean_subjective_utility")):
        scores = [op.outperformance(name, value_at(name, prevalence, fpr, fnr), prevalence, **arguments(name)) for name in group]
        assert np.ptp(scores) < 1e-7, group


@given(prevalences, rates, rates)
@settings(max_examples=15, deadline=None)
def test_symmetric_metrics_do_not_care_which_class_is_positive(prevalence, fpr, fnr):
    for name in ("mcc", "accuracy", "p4", "g_mean", "diagnostic_odds_ratio", "markedness", "class_balance_accuracy", "imbalance_accuracy"):
        one = op.outperformance(name, value_at(name, prevalence, fpr, fnr), prevalence)
        other = op.outperformance(name, value_at(name, 1 - prevalence, fnr, fpr), 1 - prevalence)
        assert one == pytest.approx(other, abs=1e-5 if name == "p4" else 1e-9), name


def test_mcc_against_numerical_integration():
    def inner(x, mu, pi):
        good = lambda y: METRICS["mcc"](BinaryCounts.from_rates(1, pi, y, 1 - x)) >= mu
        low, high = 0., 1.
        for _ in range(32):
            mid = (low + high) / 2
            low, high = (mid, high) if good(mid) else (low, mid)
        return low
    for mu, pi in ((.348, .091), (-.2, .3)):
        area = integrate.quad(inner, 0, 1, args=(mu, pi), epsabs=1e-7, limit=200)[0]
        assert op.outperformance("mcc", mu, pi) == pytest.approx(1 - area, abs=1e-6)


def test_published_examples():
    "Example 1's numbers, and cells of Table 5."
    assert op.outperformance("f_beta", .408, .091) == pytest.approx(.892, abs=1e-3)
    assert op.outperformance("mcc", .348, .091) == pytest.approx(.874, abs=1e-3)
    assert op.outperformance("f_beta", .514, .3) == pytest.approx(.735, abs=1e-3)


def test_broadcasts_and_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    values, pis = rng.random((50, 1)), rng.uniform(.1, .9, 40)
    whole = op.outperformance("f_beta", values, pis, beta=2)
    assert whole.shape == (50, 40)
    monkeypatch.setattr(op, "_BLOCK", 7)
    np.testing.assert_array_equal(op.outperformance("f_beta", values, pis, beta=2), whole)
    betas = np.array([.5, 1, 2])
    got = op.outperformance("f_beta", .5, .2, beta=betas)
    np.testing.assert_allclose(got, [op.outperformance("f_beta", .5, .2, beta=b) for b in betas])
    weights = np.array([.5, .9])
    got = op.outperformance("accuracy_cost_distance", .3, .2, weight=weights)  # by the integral
    np.testing.assert_allclose(got, [op.outperformance("accuracy_cost_distance", .3, .2, weight=w) for w in weights])
    assert isinstance(op.outperformance("f_beta", .5, .2), float)
    assert op.outperformance("f_beta", np.empty(0), .2).shape == (0,)


def test_infinite_ratios():
    assert op.outperformance("likelihood_ratio_positive", np.inf, .2) == 1
    assert op.outperformance("diagnostic_odds_ratio", [0, 1, np.inf], .2) == pytest.approx([0, .5, 1])


# ---- references

@pytest.mark.parametrize("name", ["f_beta", "mcc", "p4", "markedness", "expected_cost", "g_mean"])
def test_references_against_samples(name):
    rng, n = np.random.default_rng(1), 200_000
    fpr, fnr = rng.random((2, n))
    better = fpr < 1 - fnr
    cases = {"better than chance": (fpr[better], fnr[better]), "pair": (rng.beta(1, 3, n), rng.beta(2, 5, n))}
    for key, (a, b) in cases.items():
        reference = (stats.beta(1, 3), stats.beta(2, 5)) if key == "pair" else key
        values = value_at(name, .2, a, b)
        chosen = np.quantile(values, [.1, .5, .9])
        sampled = [np.mean(values < v) if METRICS[name].greater_is_better else np.mean(values > v) for v in chosen]
        np.testing.assert_allclose(op.outperformance(name, chosen, .2, reference=reference, **arguments(name)), sampled, atol=5e-3)


@given(st.sampled_from(["f_beta", "accuracy", "expected_cost", "cohen_kappa", "npv"]), prevalences, rates, rates)
@settings(max_examples=30, deadline=None)
def test_the_integral_agrees_with_the_closed_forms(name, prevalence, fpr, fnr):
    m, kwargs = METRICS[name], op._arguments(METRICS[name], arguments(name))
    value, pi = np.array([value_at(name, prevalence, fpr, fnr)]), np.array([prevalence])
    for reference in ("uniform", "better than chance"):
        integral = op._quadrature(m, value, pi, kwargs, op._find_reference(reference))
        assert integral[0] == pytest.approx(op.outperformance(name, value, pi, reference=reference, **arguments(name))[0], abs=2e-6)


def test_tree_reference_against_curves():
    rng, n = np.random.default_rng(2), 20_000
    fpr, recall = op._grow(rng, n, 8)
    u = rng.random(n)
    a, _ = op._cross("pr", fpr, recall, .1, u)
    values = value_at("f_beta", .1, a, 1 - u)
    chosen = np.quantile(values, [.1, .5, .9])
    np.testing.assert_allclose(op.outperformance("f_beta", chosen, .1, reference="tree"), [.1, .5, .9], atol=.015)


def test_a_sampler_as_reference():
    sampler = lambda n, rng: rng.random((2, n))
    exact = op.outperformance("f_beta", [.2, .6], [.1, .4])
    np.testing.assert_allclose(op.outperformance("f_beta", [.2, .6], [.1, .4], reference=sampler, rng=0), exact, atol=6e-3)
    assert op.outperformance_value("f_beta", .8, .1, reference=sampler, rng=0) == pytest.approx(op.outperformance_value("f_beta", .8, .1), abs=.01)
    with pytest.raises(ValueError, match="sampler"): op.outperformance("f_beta", .5, .1, reference=lambda n, rng: (np.full(n, 2.), np.zeros(n)))


# ---- curves

@given(st.integers(0, 2**32 - 1), st.integers(2, 60))
def test_curves_agree_with_scikit_learn(seed, n):
    rng = np.random.default_rng(seed)
    y = np.append(rng.random(n) < .4, [True, False])
    scores = rng.integers(0, 8, n + 2) / 2  # many ties
    roc, pr = (op.performance_curve(y, scores, kind) for kind in ("roc", "pr"))
    assert roc.auc() == pytest.approx(sk.roc_auc_score(y, scores))
    assert roc.auc("trapezoid") == pytest.approx(roc.auc())
    assert pr.auc("step") == pytest.approx(sk.average_precision_score(y, scores))
    gain = op.performance_curve(y, scores, "gain")
    assert gain.auc() == pytest.approx(gain.prevalence / 2 + (1 - gain.prevalence) * roc.auc())
    for kind in op.CURVES:
        c = op.performance_curve(y, scores, kind)
        assert op.worst_auc(kind, c.prevalence) - 1e-9 <= c.auc() <= op.ideal_auc(kind, c.prevalence) + 1e-9
        assert op.normalized_auc(kind, c.auc(), c.prevalence) <= 1 + 1e-9
        again = op.performance_curve(np.repeat(y, 2), np.repeat(scores, 2), kind)
        np.testing.assert_allclose(again.y, c.y)


@given(st.integers(0, 2**32 - 1))
def test_exact_area_does_not_depend_on_cuts(seed):
    rng = np.random.default_rng(seed)
    fpr, recall = (np.sort(np.append(rng.random(4), [0, 1])) for _ in range(2))
    between = np.linspace(0, 5, 41)
    cut = [np.interp(between, np.arange(6), r) for r in (fpr, recall)]
    for kind in op.CURVES: assert op.curve_auc(kind, *cut, .2) == pytest.approx(op.curve_auc(kind, fpr, recall, .2), abs=1e-10)
    fine = [np.interp(np.linspace(0, 5, 50_001), np.arange(6), r) for r in (fpr, recall)]
    assert op.curve_auc("lift", *fine, .2, rule="trapezoid") == pytest.approx(op.curve_auc("lift", fpr, recall, .2), abs=1e-4)


@given(rates, rates, rates, rates, prevalences)
def test_chords_lie_above_where_precision_falls(a, b, c, d, pi):
    (f0, f1), (r0, r1) = sorted([a, b]), sorted([c, d])
    q0, q1 = pi * r0 + (1 - pi) * f0, pi * r1 + (1 - pi) * f1
    chord = (r0 / q0 + r1 / q1) / 2 * pi * (r1 - r0)
    gap = chord - float(op._segment("pr", f0, r0, f1, r1, pi))
    assert gap * (r0 / q0 - r1 / q1) >= -1e-9


def test_value_of_a_curve_between_its_points():
    y, s = np.array([1, 1, 0, 1, 0, 0]), np.array([5, 4, 3, 3, 2, 1.])
    pr, roc = op.performance_curve(y, s, "pr"), op.performance_curve(y, s)
    assert pr.at(1.)[0] == pytest.approx(3 / 4)
    assert pr.at(2 / 3)[0] == pytest.approx(1)
    assert pr.at(5 / 6)[1] == pytest.approx(1 / 6)  # half way along the tie
    assert roc.at(0.)[0] == pytest.approx(2 / 3) and roc.at(1.)[0] == 1


# ---- the tree

def test_sampler_is_reproducible_and_uniform_at_the_root():
    fpr, fnr = op.sample_directed_binary_tree(20_000, 3, rng=5)
    again = op.sample_directed_binary_tree(20_000, 3, rng=5)
    np.testing.assert_array_equal(fpr, again[0])
    assert fpr.shape == fnr.shape == (20_000, 9)
    assert (np.diff(fpr) >= 0).all() and (np.diff(fnr) <= 0).all()
    assert stats.kstest(fpr[:, 4], "uniform").pvalue > 1e-3 and stats.kstest(fnr[:, 4], "uniform").pvalue > 1e-3
    assert stats.kstest(fpr[:, 2] / fpr[:, 4], "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(fpr[:, 4], fnr[:, 4])[0, 1]) < .03


def test_cached_draw_has_the_exact_moments():
    areas = op.curve_auc("roc", *op._tree_draw(op._CURVES_DRAWN, op._DEPTH), .5)
    assert areas.mean() == pytest.approx(.5, abs=1e-3)
    assert areas.var() == pytest.approx(3 / 56, abs=3e-4)


@pytest.mark.parametrize("curve, auc, prevalence", [("pr", .354, .091), ("lift", 1.806, .3), ("roc", .8, .2)])
def test_area_scores_against_plain_monte_carlo(curve, auc, prevalence):
    areas = op.sample_tree_aucs([curve], prevalence, 40_000, depth=7, rng=3)[0]
    score, error = op.outperformance_curve_auc(curve, auc, prevalence, return_error=True)
    assert error < .002
    assert score == pytest.approx(np.mean(areas < auc), abs=4 * .5 / 200)


def test_areas_of_normalized_curves_share_their_score():
    "OPS(AUC) = OPS(NAUC): a change of scale moves the reference along."
    pi, auc = .2, 2.
    fpr, recall = op._tree_draw(op._CURVES_DRAWN, op._DEPTH)
    nauc = op.normalized_auc("lift", op.curve_auc("lift", fpr[:, :4000], recall[:, :4000], pi), pi)
    areas = op.curve_auc("lift", fpr[:, :4000], recall[:, :4000], pi)
    assert np.mean(nauc < op.normalized_auc("lift", auc, pi)) == np.mean(areas < auc)


# ---- points

def test_shipped_table_is_what_the_code_makes():
    with (op.files("cost_eval") / "published" / "tree_points.npy").open("rb") as file: shipped = np.load(file)
    np.testing.assert_allclose(shipped, op.solve_point_table(), atol=1e-6)


def test_point_table_solves_its_equation():
    "The fixed-point equation itself, by two-dimensional quadrature."
    def right_side(t, u):
        upper = integrate.dblquad(lambda r, a: op._point_share(t / a, u / r), t, 1, u, 1, epsabs=2e-5, epsrel=1e-4)[0]
        lower = integrate.dblquad(lambda r, a: op._point_share((t - a) / (1 - a), (u - r) / (1 - r)), 0, t, 0, u, epsabs=2e-5, epsrel=1e-4)[0]
        return t * (1 - u) + upper + lower
    assert right_side(.3, .6) == pytest.approx(float(op._point_share(.3, .6)), abs=1e-4)


@pytest.mark.parametrize("t, u", [(.1, .3), (.5, .8), (.02, .2), (.7, .4)])
def test_points_against_curves(t, u):
    fpr, recall = op._grow(np.random.default_rng(4), 20_000, 8)
    _, at_t = op._cross("roc", fpr, recall, .1, t)
    assert op.outperformance_curve_point("roc", t, u, .5) == pytest.approx(np.mean(at_t < u), abs=4 * .5 / np.sqrt(20_000))


@given(st.floats(1e-4, .9999), st.floats(1e-4, .9999), prevalences)
def test_one_point_has_one_score(t, u, pi):
    q, tp = pi * u + (1 - pi) * t, pi * u
    expected = op.outperformance_curve_point("roc", t, u, pi)
    assert expected == pytest.approx(1 - op.outperformance_curve_point("roc", u, t, pi), abs=1e-5)
    for curve, x, y in (("pr", u, tp / q), ("lift", q, u / q), ("gain", q, u)):
        assert op.outperformance_curve_point(curve, x, y, pi) == pytest.approx(expected, abs=1e-5)


def test_standardized_curve():
    rng = np.random.default_rng(6)
    y = rng.random(500) < .3
    s = rng.normal(size=500) + y
    for kind in op.CURVES:
        c = op.performance_curve(y, s, kind)
        x, scores = op.outperformance_curve(c)
        np.testing.assert_allclose(scores[:-1], op.outperformance_curve_point(kind, x, c.at(x)[0], c.prevalence)[:-1], atol=1e-6)


# ---- intervals, ties, labels

def test_interval_shrinks_with_the_test_set():
    base = np.array([[140, 20], [10, 30]])
    found = op.outperformance_interval("mcc", base * np.array([1, 4, 16])[:, None, None], rng=0)
    assert np.ptp(found.score) < 1e-12
    length = found.high - found.low
    assert length[:-1] / length[1:] == pytest.approx(2, abs=.3)
    assert ((found.low < found.score) & (found.score < found.high)).all()


def test_interval_against_the_delta_method():
    counts = BinaryCounts.from_rates(100_000, .2, .1, .3)
    found = op.outperformance_interval("informedness", counts, rng=0, n_samples=20_000)
    deviation = .4 * np.sqrt(.1 * .9 / 80_000 + .3 * .7 / 20_000)  # OPS = 1 - (1 - J)^2 / 2
    assert found.high - found.low == pytest.approx(2 * 1.96 * deviation, rel=.03)


def test_curve_interval_covers_the_estimate():
    rng = np.random.default_rng(7)
    y = rng.random(300) < .3
    s = np.round(rng.normal(size=300) + y, 1)
    for x in (None, .5):
        for kind in ("roc", "pr", "lift"):
            found = op.outperformance_curve_interval(kind, y, s, x=x, n_resamples=200, rng=0)
            assert found.low < found.score < found.high
            assert found.high - found.low < .35


@given(st.sampled_from(["f_beta", "accuracy", "mcc", "error_rate"]), st.integers(1, 6), st.integers(1, 6), st.data())
@settings(max_examples=40)
def test_small_tables_by_enumeration(name, p, n, data):
    tp, fp = data.draw(st.integers(0, p)), data.draw(st.integers(0, n))
    m = METRICS[name]
    value = lambda a, b: float(m(count_terms(BinaryCounts(a, b, p - a, n - b))))
    all_values = [v for a in range(p + 1) for b in range(n + 1) if not np.isnan(v := value(a, b))]
    own = value(tp, fp)
    if np.isnan(own): return
    sign = 1 if m.greater_is_better else -1
    below = np.mean([sign * v < sign * own - 1e-9 for v in all_values])
    equal = np.mean([abs(v - own) <= 1e-9 for v in all_values])
    got = [op.outperformance_counts(name, BinaryCounts(tp, fp, p - tp, n - fp), ties=t) for t in ("below", "half", "above")]
    assert got == pytest.approx([below, below + equal / 2, below + equal])


def test_labels():
    counts = BinaryCounts.from_rates(1000, np.array([.05, .3]), .1, .2)
    scores, mean = op.multilabel_outperformance("f_beta", counts, weights=[1, 3])
    assert scores == pytest.approx([op.outperformance("f_beta", METRICS["f_beta"](counts[i]), p) for i, p in enumerate((.05, .3))])
    assert mean == pytest.approx((scores[0] + 3 * scores[1]) / 4)
    assert op.multilabel_outperformance("expected_cost", counts, costs=COSTS)[0].shape == (2,)


# ---- bad input

@pytest.mark.parametrize("call, message", [
    (lambda: op.outperformance("f1", .5, .1), "metric: 'f1' is unknown"),
    (lambda: op.outperformance(None, .5, .1), "metric"),
    (lambda: op.outperformance("f_beta", 1.2, .1), r"value: 1.2 is outside \[0, 1\]"),
    (lambda: op.outperformance("cohen_kappa", -.9, .1), "value: -0.9 is outside"),
    (lambda: op.outperformance("lift", 11, .1), "value: 11 is outside"),
    (lambda: op.outperformance("f_beta", [.5, np.nan], .1), "value: NaN"),
    (lambda: op.outperformance("f_beta", .5, 0), "prevalence"),
    (lambda: op.outperformance("f_beta", .5, [.5, 1]), "prevalence"),
    (lambda: op.outperformance("f_beta", .5, np.nan), "prevalence"),
    (lambda: op.outperformance("f_beta", .5, .1, reference="gaussian"), "reference: 'gaussian' is unknown"),
    (lambda: op.outperformance("cost_score", .5, .1), "needs costs"),
    (lambda: op.outperformance("f_beta", .5, .1, beta=-1), "beta"),
    (lambda: op.outperformance_value("f_beta", 1.5, .1), "score: 1.5 is outside"),
    (lambda: op.outperformance_curve_point("pr", 1.1, .5, .1), "x: 1.1 is outside"),
    (lambda: op.outperformance_curve_point("pr", .8, .01, .1), "y: 0.01 is outside"),
    (lambda: op.outperformance_curve_point("lift", .5, 3, .1), "y: 3 is outside"),
    (lambda: op.outperformance_curve_point("det", .5, .5, .1), "curve: 'det' is unknown"),
    (lambda: op.outperformance_curve_auc("pr", 1.01, .1), "auc: 1.01 is outside"),
    (lambda: op.outperformance_curve_auc("pr", np.nan, .1), "auc: NaN"),
    (lambda: op.outperformance_curve_auc("pr", .5, 1), "prevalence"),
    (lambda: op.outperformance_curve_auc("pr", .5, .1, n_curves=10), "n_curves"),
    (lambda: op.performance_curve([0, 1], [.1, np.nan]), "scores: NaN"),
    (lambda: op.performance_curve([1, 1], [.1, .2]), "both classes"),
    (lambda: op.curve_auc("pr", [0, 1], [0, 1], .5, rule="simpson"), "rule"),
    (lambda: op.sample_directed_binary_tree(0, 3), "n_samples"),
    (lambda: op.sample_directed_binary_tree(5, 2.5), "depth"),
    (lambda: op.outperformance_interval("f_beta", BinaryCounts(5, 0, 5, 0)), "both classes"),
    (lambda: op.outperformance_interval("f_beta", BinaryCounts(5, 1, 5, 9), confidence=95), "confidence"),
    (lambda: op.outperformance_counts("f_beta", BinaryCounts(5, 1, 5, 9), ties="no"), "ties"),
    (lambda: op.multilabel_outperformance("f_beta", BinaryCounts(5, 1, 5, 9)), "one confusion matrix per label"),
])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message): call()


def test_types():
    with pytest.raises(TypeError, match="value"): op.outperformance("f_beta", "high", .1)
    with pytest.raises(TypeError, match="takes no argument"): op.outperformance("mcc", .5, .1, beta=2)
    with pytest.raises(TypeError, match="prevalence"): op.outperformance("f_beta", .5, "rare")


# ---- widgets

def test_widgets_move():
    for make, moves in ((op.explore_outperformance, {"value, in its range": .2}), (op.explore_tree_curves, {"separation": 2.}),
                        (op.explore_monitoring, {"rise of the error rates": .3})):
        box = make()
        controls, image = box.children[0].children, box.children[1]
        for label, value in moves.items():
            before = image.value
            next(c for c in controls if c.description == label).value = value
            assert image.value != before
        for control in controls:
            if hasattr(control, "options"): control.value = control.options[-1]
