"""BCOST, BDELTACOST and the classical intervals: against enumeration, scipy and resampled examples, and their properties."""
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cost_eval import bootstrap as bs
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.expected_cost import expected_cost

COUNTS = np.array([[70, 5, 2], [4, 60, 1], [3, 2, 53]])
COSTS = np.array([[0, 1, 4.], [2, 0, 30], [1, 3, 0]])
EXAMPLES = np.repeat(COSTS.ravel(), COUNTS.ravel())


@pytest.fixture
def joint():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    a, b = (np.where(rng.random(400) < good, y, rng.integers(3, size=400)) for good in (.8, .9))
    return joint_counts(y, a, b, classes=range(3), decision_labels=range(3))


# ---- BCOST

def test_replicates_have_the_multinomial_moments():
    found = bs.bcost(COUNTS, COSTS, laplace=.5, n_resamples=100_000, rng=0)
    p = ((COUNTS + .5) / (COUNTS + .5).sum()).ravel()
    law = scipy.stats.multinomial(COUNTS.sum(), p)
    variance = COSTS.ravel() @ law.cov() @ COSTS.ravel() / COUNTS.sum() ** 2
    assert_allclose([found.mean, found.standard_error], [p @ COSTS.ravel(), np.sqrt(variance)])
    assert_allclose([found.distribution.mean(), found.distribution.std()], [found.mean, found.standard_error], rtol=.01)


def test_distribution_is_the_binomial_for_one_kind_of_error():
    found = bs.bcost([[37, 3], [0, 0]], [[0, 1], [1, 0]], laplace=0, n_resamples=200_000, rng=0)
    values, times = np.unique(np.rint(found.distribution * 40), return_counts=True)
    assert_allclose(times / 200_000, scipy.stats.binom(40, 3 / 40).pmf(values), atol=.004)


@pytest.mark.parametrize("confidence, rank", [(.95, 25), (.9, 50), (.99, 5), (.8, 100)])
def test_order_statistics_of_the_paper(confidence, rank):
    found = bs.bcost(COUNTS, COSTS, confidence=confidence, rng=3)
    assert_array_equal([found.low, found.high], np.sort(found.distribution)[[rank, 999 - rank]])


def test_many_matrices_are_each_by_itself():
    stack = np.random.default_rng(1).exponential(3, (2, 5, 3, 3))
    found = bs.bcost(COUNTS, stack, rng=2)
    assert found.low.shape == (2, 5) and found.distribution.shape == (2, 5, 1000)
    one = bs.bcost(COUNTS, stack[1, 3], rng=2)
    assert_allclose([found.low[1, 3], found.high[1, 3], found.mean[1, 3], found.standard_error[1, 3]], [one.low, one.high, one.mean, one.standard_error])
    assert len(found.to_frame()) == 10 and "10 intervals" in repr(found)


@given(st.floats(.1, 50), st.floats(-5, 5))
def test_currency_and_a_constant(scale, shift):
    plain, moved = bs.bcost(COUNTS, COSTS, rng=0), bs.bcost(COUNTS, scale * COSTS + shift, rng=0)
    assert_allclose([moved.low, moved.high, moved.mean], [scale * v + shift for v in (plain.low, plain.high, plain.mean)], rtol=1e-9, atol=1e-9)


def test_more_confidence_is_wider_and_reproducible():
    ends = [bs.bcost(COUNTS, COSTS, confidence=c, rng=0) for c in (.5, .8, .95, .99)]
    assert all(a.low >= b.low and a.high <= b.high for a, b in zip(ends, ends[1:]))
    assert_array_equal(ends[2].distribution, bs.bcost(COUNTS, COSTS, rng=0).distribution)


def test_blocks_do_not_change_the_law(monkeypatch):
    monkeypatch.setattr(bs, "_blocks", lambda n, cells: [7] * (n // 7) + [n % 7])
    found = bs.bcost(COUNTS, COSTS, n_resamples=5000, rng=0)
    assert found.distribution.shape == (5000,)
    assert_allclose(found.distribution.mean(), found.mean, rtol=.03)


def test_by_class_keeps_the_class_sizes():
    found = bs.bcost(COUNTS, np.array([[1, 1, 2.], [5, 5, 5], [9, 9, 9]]), laplace=0, stratified=True, rng=0)  # only the first class can vary
    size = COUNTS.sum(1)
    p = COUNTS[0, 2] / size[0]
    assert_allclose(found.standard_error, np.sqrt(p * (1 - p) * size[0]) / COUNTS.sum())
    priors = [.2, .3, .5]
    assert_allclose(bs.bcost(COUNTS, COSTS, laplace=0, priors=priors, rng=0).mean, expected_cost(COUNTS, COSTS, priors=priors))
    sampled = bs.bcost(COUNTS, COSTS, laplace=.1, priors=priors, n_resamples=100_000, rng=0)
    assert_allclose(sampled.distribution.std(), sampled.standard_error, rtol=.01)


# ---- BDELTACOST

def test_difference_against_examples(joint):
    found = bs.bdelta_cost(joint, COSTS, n_resamples=20_000, rng=0)
    cells = (COSTS[:, :, None] - COSTS[:, None, :]).ravel()
    examples = np.repeat(cells, joint.ravel())
    peer = scipy.stats.bootstrap((examples,), np.mean, method="percentile", n_resamples=10_000, batch=500, rng=1)
    assert_allclose([found.low, found.high], peer.confidence_interval, atol=.1 * found.standard_error)
    assert_allclose(found.mean, expected_cost(joint.sum(2), COSTS) - expected_cost(joint.sum(1), COSTS))
    assert bool(found.rejects) == (found.low > 0 or found.high < 0)


def test_type_one_error_is_near_its_level():
    rng = np.random.default_rng(0)
    p = np.array([[.45, .04, .04, .02], [.02, .05, .05, .33]]).reshape(2, 2, 2)  # exchangeable models
    rejected = [bs.bdelta_cost(rng.multinomial(500, p.ravel()).reshape(2, 2, 2), [[0, 1], [4, 0]], rng=rng).rejects for _ in range(600)]
    assert .025 < np.mean(rejected) < .08  # 0.05 with a standard error of 0.009


def test_many_matrices_for_differences(joint):
    stack = np.stack([COSTS, 2 * COSTS])
    found = bs.bdelta_cost(joint, stack, rng=0)
    assert_allclose(found.high[1], 2 * found.high[0])
    assert_allclose(found.low[0], bs.bdelta_cost(joint, COSTS, rng=0).low)
    assert found.rejects.shape == (2,) and "rejects" in found.to_frame()


# ---- the classical ones

def test_normal_is_the_textbook():
    found = bs.normal_interval(COUNTS, COSTS, confidence=.9)
    ends = scipy.stats.norm.interval(.9, EXAMPLES.mean(), scipy.stats.sem(EXAMPLES))
    assert_allclose([found.low, found.high, found.standard_error], [*ends, scipy.stats.sem(EXAMPLES)])


def test_normal_difference_is_the_paired_z(joint):
    cells = (COSTS[:, :, None] - COSTS[:, None, :]).ravel()
    examples = np.repeat(cells, joint.ravel())
    found = bs.normal_difference(joint, COSTS)
    assert_allclose([found.low, found.high], scipy.stats.norm.interval(.95, examples.mean(), scipy.stats.sem(examples)))


@pytest.mark.parametrize("ours, method", [(bs.percentile_interval, "percentile"), (bs.bca_interval, "BCa")])
def test_against_scipy(ours, method):
    "At 80 %: with this skewness BCa's upper end of 95 % is the quantile .9993, which is mostly noise in either."
    found = ours(COUNTS, COSTS, confidence=.8, n_resamples=50_000, rng=0)
    peer = scipy.stats.bootstrap((EXAMPLES,), np.mean, method=method, confidence_level=.8, n_resamples=20_000, batch=1000, rng=1).confidence_interval
    assert_allclose([found.low, found.high], peer, atol=.08 * found.standard_error)


def test_bootstrap_t_against_examples():
    found = bs.bootstrap_t_interval(COUNTS, COSTS, n_resamples=100_000, rng=0)
    draws = np.random.default_rng(1).choice(EXAMPLES, (20_000, len(EXAMPLES)))
    t = (draws.mean(1) - EXAMPLES.mean()) / scipy.stats.sem(draws, axis=1)
    ends = EXAMPLES.mean() - np.quantile(t, [.975, .025]) * scipy.stats.sem(EXAMPLES)
    assert_allclose([found.low, found.high], ends, atol=.1 * found.standard_error)


@pytest.mark.parametrize("method", [bs.percentile_interval, bs.bca_interval, bs.bootstrap_t_interval])
def test_nothing_varies_nothing_is_wide(method):
    found = method([[50, 0], [0, 0]], [[0, 1], [1, 0]], rng=0)
    assert (found.low, found.high) == (0, 0)


# ---- any metric, objects, widget

def test_metric_intervals():
    counts = [[880, 40], [25, 55]]
    cost = bs.metric_interval(counts, "expected_cost", costs=[[0, 1], [9, 0]], n_resamples=20_000, rng=0)
    same = bs.percentile_interval(counts, [[0, 1], [9, 0]], n_resamples=20_000, rng=1)
    assert_allclose([cost.low, cost.high], [same.low, same.high], atol=.1 * same.standard_error)
    recall = bs.metric_interval(counts, lambda n, **kwargs: n[..., 1, 1] / n[..., 1, :].sum(-1), stratified=True, n_resamples=20_000, rng=0)
    assert_allclose([recall.low, recall.high], scipy.stats.binom(80, 55 / 80).ppf([.025, .975]) / 80, atol=1 / 80)


def test_objects_print_plot_and_frame(joint):
    import matplotlib
    matplotlib.use("Agg")
    for found in (bs.bcost(COUNTS, COSTS, rng=0), bs.normal_interval(COUNTS, COSTS), bs.bdelta_cost(joint, COSTS, rng=0)):
        assert f"{found.low:.4g}" in repr(found) and len(found.to_frame()) == 1 and "<table" in found._repr_html_()
        ax = found.plot()
        assert any(np.allclose(line.get_xdata(), [found.low, found.high]) for line in ax.lines if len(line.get_xdata()) == 2)
    with pytest.raises(AttributeError): found.low = 0
    with pytest.raises(ValueError, match="one interval"): bs.bcost(COUNTS, np.stack([COSTS, COSTS]), rng=0).plot()


def test_widget_follows_and_explains():
    widget = bs.explore_interval()
    grids, controls, image = widget.children
    seen = [image.value]
    for control, value in ((grids.children[0].children[1].children[6], 30), (controls.children[0], "bca"), (controls.children[2], .6),
                           (grids.children[0].children[1].children[0], -1)):
        control.value = value
        assert image.value not in seen
        seen.append(image.value)


# ---- bad input

@pytest.mark.parametrize("call, message", [
    (lambda: bs.bcost(COUNTS + .5, COSTS), "whole"), (lambda: bs.bcost(-COUNTS, COSTS), "counts"), (lambda: bs.bcost(0 * COUNTS, COSTS), "all are 0"),
    (lambda: bs.bcost(COUNTS, COSTS[:2, :2]), "costs"), (lambda: bs.bcost(COUNTS[None], COSTS), "counts"), (lambda: bs.bcost(COUNTS, 0 * COSTS), "costs"),
    (lambda: bs.bcost(COUNTS, COSTS, confidence=1), "confidence"), (lambda: bs.bcost(COUNTS, COSTS, confidence=95), "confidence"),
    (lambda: bs.bcost(COUNTS, COSTS, laplace=-.1), "laplace"), (lambda: bs.bcost(COUNTS, COSTS, laplace=np.nan), "laplace"), (lambda: bs.bcost(COUNTS, COSTS, n_resamples=99), "n_resamples"),
    (lambda: bs.bcost(COUNTS, COSTS, priors=[.5, .5]), "priors"), (lambda: bs.bcost([[1, 1], [0, 0]], [[0, 1], [1, 0]], stratified=True), "class 1 has no example"),
    (lambda: bs.bdelta_cost(np.ones((3, 3, 2)), COSTS), "joint"), (lambda: bs.bdelta_cost(-np.ones((3, 3, 3)), COSTS), "joint"), (lambda: bs.bdelta_cost(np.zeros((3, 3, 3)), COSTS), "joint"),
    (lambda: bs.bdelta_cost(np.ones((3, 3, 3)), COSTS, n_resamples=1), "n_resamples"), (lambda: bs.normal_interval(COUNTS, COSTS, confidence=0), "confidence"),
    (lambda: bs.normal_interval([[1, 0], [0, 0]], [[0, 1], [1, 0]]), "at least 2"), (lambda: bs.normal_interval(COUNTS, np.stack([COSTS, COSTS])), "one matrix"),
    (lambda: bs.percentile_interval(COUNTS, COSTS, n_resamples=5), "n_resamples"), (lambda: bs.bca_interval(COUNTS, COSTS, confidence=2), "confidence"),
    (lambda: bs.metric_interval([[5, 1], [1, 5]], "f1"), "METRICS"), (lambda: bs.metric_interval([[5, 0], [3, 0]], "precision", rng=0), "undefined in every")])
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message): call()
