"Tests with a margin, several models, uncertain costs, sample size and power."
import numpy as np
import pytest
from scipy.stats import binom, norm

from cost_eval import bootstrap as bs, comparisons as cp

COUNTS = np.array([[80, 6, 1], [5, 60, 0], [2, 3, 43]])
COSTS = np.array([[0, 1, 4.], [2, 0, 50], [1, 3, 0]])
JOINT = np.array([[[85, 4], [3, 8]], [[2, 6], [5, 37]]])
BILL = np.array([[0, 1.], [5, 0]])


# margins

def test_equivalence_is_two_one_sided_tests():
    d = (BILL[:, :, None] - BILL[:, None, :])
    n, mean = JOINT.sum(), (JOINT * d).sum() / JOINT.sum()
    error = bs.difference(JOINT, BILL, "normal").standard_error
    just = abs(mean) + norm.ppf(.95) * error
    assert cp.equivalence_test(JOINT, BILL, just * 1.02, method="normal").passes
    assert not cp.equivalence_test(JOINT, BILL, just * .98, method="normal").passes


def test_non_inferiority_passes_for_a_large_margin_only():
    big = JOINT * 100
    passed = [cp.non_inferiority_test(big, BILL, m).passes for m in (0, .5, 5)]
    assert passed == sorted(passed) and passed[-1]
    cost = [(big.sum(axis=a) * BILL).sum() / big.sum() for a in (2, 1)]  # of A, of B
    assert cp.non_inferiority_test(big, BILL, .1).interval.mean == pytest.approx(cost[1] - 1.1 * cost[0])


def test_non_inferiority_level_at_the_margin():
    p = np.array([[[.70, .02], [.03, .05]], [[.02, .01], [.01, .16]]])
    a, b = ((p.sum(axis=axis) * BILL).sum() for axis in (2, 1))
    m = b / a - 1 if b > a else None
    if m is None: p, m = np.swapaxes(p, 1, 2), a / b - 1
    sets = np.random.default_rng(0).multinomial(800, p.ravel(), 1500).reshape(-1, 2, 2, 2)
    rate = np.mean([cp.non_inferiority_test(s, BILL, m).passes for s in sets])
    assert .03 < rate < .075


# several models

def test_holm_is_right_by_hand():
    assert list(cp._holm(np.array([.01, .04, .03]))) == pytest.approx([.03, .06, .06])
    assert list(cp._holm(np.array([.9, .8]))) == pytest.approx([1, 1])


@pytest.mark.parametrize("method", ["max-t", "holm"])
def test_familywise_error(method):
    rng, false = np.random.default_rng(0), 0
    for i in range(120):
        y = rng.integers(0, 2, 200)
        votes = np.where(rng.random((4, 200)) < .2, 1 - y, y)
        false += cp.simultaneous_differences(y, votes, BILL, method=method, n_resamples=200, rng=i).rejects.any()
    assert false <= binom.ppf(.999, 120, .05)


def test_simultaneous_differences_of_identical_models():
    y = np.array([0, 1] * 20)
    votes = np.stack([y, y, 1 - y])
    found = cp.simultaneous_differences(y, votes, BILL, rng=0)
    assert found.difference[0] == found.low[0] == found.high[0] == 0 and not found.rejects[0] and found.rejects[1:].all()
    assert len(found.to_frame()) == 3


# uncertain costs, sample size, power

def test_uncertain_costs_that_are_certain_are_bcost():
    found = cp.uncertain_cost_interval(COUNTS, lambda rng, size: np.tile(COSTS, (size, 1, 1)), n_resamples=40_000, rng=0)
    exact = bs.exact_interval(COUNTS, COSTS, laplace=.1)
    assert (found.mean, found.standard_error) == pytest.approx((exact.mean, exact.standard_error), rel=.03)


def test_uncertain_costs_variance():
    found = cp.uncertain_cost_interval(COUNTS, lambda rng, size: rng.normal(COSTS, .5, (size, 3, 3)), laplace=0, n_resamples=40_000, rng=0)
    p, c, n = COUNTS.ravel() / COUNTS.sum(), COSTS.ravel(), COUNTS.sum()
    variance = (p @ c**2 - (p @ c)**2) / n + .25 * (p @ p + (p - p**2).sum() / n)
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=.02)


def test_required_sample_size_of_a_proportion():
    assert cp.required_sample_size([[.95, .05], [0, 0]], [[0, 3], [3, 0]]) == np.ceil(norm.ppf(.975)**2 * .95 / .05 / .01)


def test_required_sample_size_reaches_its_precision():
    p, costs = np.array([.7, .2, .1]), np.array([0., 1, 8])
    n = cp.required_sample_size(np.array([[.7, .2, .1], [0, 0, 0]]), [costs, [0, 0, 0]])
    means = np.random.default_rng(0).multinomial(n, p, 20_000) @ costs / n
    assert (abs(means / (p @ costs) - 1) < .1).mean() == pytest.approx(.95, abs=.01)


def test_power_against_simulation():
    p, d = (JOINT / JOINT.sum()).ravel(), (BILL[:, :, None] - BILL[:, None, :]).ravel()
    p = .8 * p + .2 * np.eye(8)[2]
    p /= p.sum()
    sets = np.random.default_rng(0).multinomial(400, p, 5000)
    means = sets @ d / 400
    z = means / np.sqrt((sets @ d**2 / 400 - means**2) / 400)
    assert (abs(z) > norm.ppf(.975)).mean() == pytest.approx(cp.paired_power(p.reshape(2, 2, 2), BILL, 400), abs=.04)


def test_explore_power_redraws():
    pytest.importorskip("ipywidgets")
    box = cp.explore_power()
    slider, image = box.children[0].children[0], box.children[1]
    before = image.value
    slider.value = slider.max
    assert image.value != before


# bad input

@pytest.mark.parametrize("call,word", [
    (lambda: cp.equivalence_test(JOINT, BILL, 0), "margin"),
    (lambda: cp.equivalence_test(JOINT, BILL, 1, alpha=.5), "alpha"),
    (lambda: cp.non_inferiority_test(JOINT, BILL, -.1), "margin"),
    (lambda: cp.non_inferiority_test(JOINT, -BILL), "costs"),
    (lambda: cp.simultaneous_differences([0, 1], [[0, 1]], BILL), "decisions"),
    (lambda: cp.simultaneous_differences([0, 2], [[0, 1], [1, 1]], BILL), "y"),
    (lambda: cp.simultaneous_differences([0, 1], [[0, 1], [1, 1]], BILL, method="tukey"), "method"),
    (lambda: cp.uncertain_cost_interval(COUNTS, lambda rng, size: COSTS), "cost_sampler"),
    (lambda: cp.uncertain_cost_interval(COUNTS, lambda rng, size: np.tile(COSTS, (size, 1, 1)), laplace=-1), "laplace"),
    (lambda: cp.required_sample_size([[.5, .1], [0, 0]], BILL), "probabilities"),
    (lambda: cp.required_sample_size([1, 0], BILL), "probabilities"),
    (lambda: cp.required_sample_size([[.5, 0], [0, .5]], BILL), "costs"),
    (lambda: cp.required_sample_size([[.5, .1], [0, .4]], BILL, 0), "relative_precision"),
    (lambda: cp.paired_power(JOINT, BILL, 100), "probabilities"),
    (lambda: cp.paired_power(JOINT / JOINT.sum(), BILL, 100, alpha=1), "alpha"),
])
def test_bad_input(call, word):
    with pytest.raises(ValueError, match=word): call()
