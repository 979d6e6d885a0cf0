"Several models, tests with a margin, uncertain costs, sample size and power: ends and means against computations of another kind."
import inspect
import time
import warnings
from itertools import product
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate
from scipy.stats import beta, binom, multinomial, norm

from cost_eval import comparisons as cp
from cost_eval.bootstrap import difference, interval
from cost_eval.confusion import JointCounts, confusion_counts, joint_counts
from cost_eval.core import kinds
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.metrics import expected_cost

COUNTS = np.array([[80, 6, 1], [5, 60, 0], [2, 3, 43]])
COSTS = np.array([[0, 1, 4.], [2, 0, 50], [1, 3, 0]])
JOINT = np.array([[[85, 4], [3, 8]], [[2, 6], [5, 37]]])
BILL = np.array([[0, 1.], [5, 0]])
LABELLED = CostMatrix(BILL[::-1, ::-1], classes=("yes", "no"), decisions=("act", "wait"))


def a_set(n=400, seed=0, wrong=(.10, .12, .2), classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    votes = {f"m{i}": np.where(rng.random(n) < e, rng.integers(classes, size=n), y) for i, e in enumerate(wrong)}
    return y, votes


def costs_of(y, votes, costs):
    "By a loop over samples."
    return np.array([[costs[i][j] for i, j in zip(y, d)] for d in votes.values()])


# several models

def test_differences_and_errors_are_those_of_the_samples():
    y, votes = a_set(classes=3)
    found, each = cp.simultaneous_differences(y, votes, COSTS, method="holm"), costs_of(y, votes, COSTS)
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert found.first.tolist() == ["m0", "m0", "m1"] and found.second.tolist() == ["m1", "m2", "m2"]
    p = []
    for k, (a, b) in enumerate(pairs):
        d = each[a] - each[b]
        error = d.std(ddof=1) / np.sqrt(len(d))
        assert found.difference[k] == pytest.approx(d.mean())
        assert (found.low[k], found.high[k]) == pytest.approx(norm.interval(1 - .05 / 3, d.mean(), error))
        p.append(2 * norm.sf(abs(d.mean()) / error))
    by_hand, highest = {}, 0
    for rank, k in enumerate(np.argsort(p)):
        highest = max(highest, min(1, p[k] * (3 - rank)))
        by_hand[k] = highest
    assert found.p_value == pytest.approx([by_hand[k] for k in range(3)])
    np.testing.assert_array_equal(found.rejects, found.p_value <= .05)


def test_max_t_is_the_bootstrap_of_rows():
    "Rows drawn one by one, by another route: indices, means, the largest standardised deviation."
    y, votes = a_set(300, 3)
    found = cp.simultaneous_differences(y, votes, BILL, n_resamples=20_000, rng=0)
    each = costs_of(y, votes, BILL)
    d = np.stack([each[0] - each[1], each[0] - each[2], each[1] - each[2]])
    error = d.std(axis=1, ddof=1) / np.sqrt(300)
    draws = d[:, np.random.default_rng(1).integers(300, size=(4000, 300))].mean(axis=2)
    largest = (np.abs(draws - d.mean(axis=1)[:, None]) / error[:, None]).max(axis=0)
    assert (found.high - found.difference) / error == pytest.approx(np.full(3, np.quantile(largest, .95)), rel=.04)
    assert found.p_value == pytest.approx([(largest >= abs(m) / e).mean() for m, e in zip(d.mean(axis=1), error)], abs=.03)


def test_one_pair_is_the_plain_bootstrap():
    y, votes = a_set(300, 4, (.1, .2))
    found = cp.simultaneous_differences(y, votes, BILL, n_resamples=20_000, rng=0)
    z = (found.high - found.difference) / cp.simultaneous_differences(y, votes, BILL, method="holm").high.__sub__(found.difference)
    assert z[0] == pytest.approx(1, abs=.05)  # both are about 1.96 standard errors


@given(st.integers(0, 10_000), st.sampled_from([.5, .8, .9, .95, .99]), st.integers(1, 400))
@settings(max_examples=120)
def test_max_t_never_contradicts_its_interval(seed, confidence, n_resamples):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=30)
    votes = np.where(rng.random((4, 30)) < rng.choice([.05, .2, .5]), 1 - y, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cp.simultaneous_differences(y, votes, BILL, confidence=confidence, n_resamples=n_resamples, rng=rng)
    np.testing.assert_array_equal(found.rejects, (found.low > 0) | (found.high < 0))
    np.testing.assert_array_equal(found.rejects, found.p_value <= 1 - confidence + 1e-12)
    assert (found.low <= found.difference).all() and (found.difference <= found.high).all()


def test_holm_is_right_by_hand():
    from cost_eval.core import holm
    assert list(holm(np.array([.01, .04, .03]))) == pytest.approx([.03, .06, .06])
    assert list(holm(np.array([.9, .8]))) == pytest.approx([1, 1])


@pytest.mark.parametrize("priors", [None, [.7, .3]])
def test_bonferroni_is_the_default_of_difference(priors):
    y, votes = a_set(300, 5, (.05, .05, .2))
    found = cp.simultaneous_differences(y, votes, BILL, method="bonferroni", confidence=.9, priors=priors)
    for k, (a, b) in enumerate((("m0", "m1"), ("m0", "m2"), ("m1", "m2"))):
        one = difference(joint_counts(y, votes[a], votes[b]), BILL, confidence=1 - .1 / 3, priors=priors)
        assert (found.low[k], found.high[k], found.difference[k]) == pytest.approx((one.low, one.high, one.mean))
        assert found.p_value[k] == pytest.approx(min(1, 3 * one.p_value)) and found.rejects[k] == one.rejects
    words = {name: np.where(d == 1, "act", "wait") for name, d in votes.items()}
    labelled = cp.simultaneous_differences(np.where(y == 1, "yes", "no"), words, LABELLED, method="bonferroni", confidence=.9,
                                           priors=priors and {"yes": .3, "no": .7})
    assert labelled.low == pytest.approx(found.low)
    for change, message in ((dict(sample_weight=np.ones(300)), "sample_weight"), (dict(costs=ExampleCosts(fp=1, fn=np.ones(300))), "one matrix")):
        with pytest.raises(ValueError, match=message):
            cp.simultaneous_differences(**(dict(y_true=y, decisions=votes, costs=BILL, method="bonferroni") | change))


@pytest.mark.parametrize("method", ["max-t", "holm", "bonferroni"])
def test_familywise_error(method):
    rng, false = np.random.default_rng(0), 0
    for i in range(150):
        y = rng.integers(0, 2, 200)
        votes = np.where(rng.random((4, 200)) < .2, 1 - y, y)
        false += cp.simultaneous_differences(y, votes, BILL, method=method, n_resamples=200, rng=i).rejects.any()
    assert false <= binom.ppf(.999, 150, .05)


def test_max_t_finds_what_is_there():
    y, votes = a_set(2000, 0, (.1, .1, .3))
    assert cp.simultaneous_differences(y, votes, BILL, rng=0).rejects.tolist() == [False, True, True]


def test_identical_models_get_a_point_and_a_note():
    y = np.array([0, 1] * 20)
    found = cp.simultaneous_differences(y, np.stack([y, y, 1 - y]), BILL, rng=0)
    assert found.difference[0] == found.low[0] == found.high[0] == 0 and not found.rejects[0] and found.p_value[0] == 1
    assert found.rejects[1:].all() and "does not show" in found.notes[0] and len(found.to_frame()) == 3


def test_too_few_replicates_for_the_level():
    y, votes = a_set()
    with pytest.warns(UserWarning, match="99 or more") as caught:
        found = cp.simultaneous_differences(y, votes, BILL, confidence=.99, n_resamples=50, rng=0)
    assert np.isinf(found.high).all() and not found.rejects.any() and "99 or more" in found.notes[0] and caught[0].filename == __file__
    y, votes = np.array([0, 1] * 20), np.array([[0, 1] * 20] * 2)
    with pytest.warns(UserWarning):
        assert cp.simultaneous_differences(y, votes, BILL, confidence=.99, n_resamples=50).low.tolist() == [0]


@pytest.mark.parametrize("function", [cp.simultaneous_differences, cp.probability_best])
def test_labels_names_and_containers_do_not_change_the_numbers(function):
    pd = pytest.importorskip("pandas")
    y, votes = a_set()
    plain = function(y, votes, BILL, rng=0)
    words = {name: np.where(d == 1, "act", "wait") for name, d in votes.items()}
    same = [function(y, np.stack(list(votes.values())), BILL, rng=0), function(y, pd.DataFrame(votes), BILL, rng=0),
            function(y, list(votes.values()), BILL, rng=0), function(np.where(y == 1, "yes", "no"), words, LABELLED, rng=0)]
    for other in same:
        for field in ("difference", "p_value") if function is cp.simultaneous_differences else ("expected_cost",):
            assert getattr(other, field) == pytest.approx(getattr(plain, field), abs=.02)
    assert function(y, votes, BILL, rng=0) == plain
    first = same[0].first if function is cp.simultaneous_differences else same[0].name
    assert first.dtype.kind == "i" and first[0] == 0


def test_priors_are_those_of_the_expected_cost():
    y, votes = a_set(500, 1, classes=3)
    priors = [.6, .1, .3]
    counts = {name: confusion_counts(y, d, classes=range(3)) for name, d in votes.items()}
    means = {name: expected_cost(c, COSTS, priors=priors) for name, c in counts.items()}
    found = cp.simultaneous_differences(y, votes, COSTS, priors=priors, n_resamples=4000, rng=0)
    assert found.difference == pytest.approx([means[a] - means[b] for a, b in zip(found.first, found.second)])
    each = costs_of(y, votes, COSTS)
    d, draws, rng = each[0] - each[1], np.zeros(4000), np.random.default_rng(0)
    for k in range(3):  # each class resampled by itself
        own = d[y == k]
        draws += priors[k] * own[rng.integers(len(own), size=(4000, len(own)))].mean(axis=1)
    error = np.sqrt(sum(priors[k]**2 * d[y == k].var(ddof=1) / (y == k).sum() for k in range(3)))
    assert error == pytest.approx(draws.std(), rel=.05)
    holm = cp.simultaneous_differences(y, votes, COSTS, priors=priors, method="holm")
    assert holm.high[0] - holm.difference[0] == pytest.approx(norm.isf(.025 / 3) * error)
    best = cp.probability_best(y, votes, COSTS, priors={0: .6, 2: .3, 1: .1}, n_resamples=4000, rng=0)
    assert best.expected_cost == pytest.approx(list(means.values()), abs=4 * error / np.sqrt(4000) * 3)
    with pytest.raises(ValueError, match="no sample"):
        cp.simultaneous_differences([0, 1, 0], [[0, 1, 1], [1, 1, 1]], COSTS, priors=priors)
    assert cp.simultaneous_differences([0, 1, 0], [[0, 1, 1], [1, 1, 1]], COSTS, priors=[.5, .5, 0]).difference[0] == pytest.approx(-.25)


def test_weights_are_those_of_the_mean():
    y, votes = a_set(300, 2)
    w = np.random.default_rng(0).choice([0, 1, 3], size=300)
    found, each = cp.simultaneous_differences(y, votes, BILL, sample_weight=w, rng=0), costs_of(y, votes, BILL)
    assert found.difference[0] == pytest.approx(np.average(each[0] - each[1], weights=w))
    kept = cp.simultaneous_differences(y[w > 0], {k: v[w > 0] for k, v in votes.items()}, BILL, sample_weight=w[w > 0], rng=0)
    assert found == kept  # weight 0 leaves a sample out
    d, mean = (each[0] - each[1])[w > 0], np.average(each[0] - each[1], weights=w)
    u = w[w > 0]
    draws = np.random.default_rng(1).integers(len(u), size=(8000, len(u)))
    spread = ((u * d)[draws].sum(axis=1) / u[draws].sum(axis=1)).std()
    holm = cp.simultaneous_differences(y, votes, BILL, sample_weight=w, method="holm")
    assert (holm.high[0] - mean) / norm.isf(.025 / 3) == pytest.approx(spread, rel=.05)
    best = cp.probability_best(y, votes, BILL, sample_weight=w, rng=0)
    assert best.expected_cost == pytest.approx(np.average(each, axis=1, weights=w), rel=.1)


def test_costs_of_single_samples():
    y, votes = a_set(200)
    fn = np.random.default_rng(0).uniform(1, 20, 200)
    single = ExampleCosts(fp=1, fn=fn)
    found = cp.simultaneous_differences(y, votes, single, rng=0)
    each = [np.where((y == 1) & (d == 0), fn, (y == 0) & (d == 1)) for d in votes.values()]
    assert found.difference == pytest.approx([(each[a] - each[b]).mean() for a, b in ((0, 1), (0, 2), (1, 2))])
    same = ExampleCosts.from_array(np.broadcast_to(BILL, (200, 2, 2)))
    assert cp.simultaneous_differences(y, votes, same, rng=0) == cp.simultaneous_differences(y, votes, BILL, rng=0)
    assert cp.probability_best(y, votes, same, rng=0) == cp.probability_best(y, votes, BILL, rng=0)


def test_a_million_samples_in_seconds():
    y, votes = a_set(1_000_000, 0, (.1, .1, .11, .12, .2))
    start = time.perf_counter()
    found = cp.simultaneous_differences(y, votes, BILL, rng=0)
    assert time.perf_counter() - start < 10 and len(found.first) == 10
    unit, first = kinds([y, *votes.values()])
    assert len(first) <= 64 and unit.max() + 1 == len(first)


@given(st.integers(0, 1000))
@settings(max_examples=30)
def test_kinds_are_the_distinct_rows(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(3, size=(4, 60)) * rng.choice([1., .1, 7e9], size=(4, 1))
    unit, first = kinds(list(rows))
    distinct, counts = np.unique(rows.T, axis=0, return_counts=True)
    found = sorted((*rows[:, i], c) for i, c in zip(first, np.bincount(unit)))
    assert found == sorted((*row, c) for row, c in zip(distinct, counts))


@pytest.mark.parametrize("change, message", [
    (dict(decisions=[[0, 1] * 20]), "two or more models"), (dict(decisions=np.zeros(40, int)), "expected"), (dict(method="maxt"), "max-t"),
    (dict(confidence=95), "confidence"), (dict(n_resamples=0), "n_resamples"), (dict(decisions={"a": [0, 1] * 20, "b": [0, 7] * 20}), "decisions of 'b'"),
    (dict(decisions={"a": [0, 1] * 20, "b": [0, 1]}), "'b'"), (dict(y_true=[0, 3] * 20), "y_true"), (dict(sample_weight=[-1] * 40), "sample_weight"),
    (dict(sample_weight=[1] + [0] * 39), "positive weight"), (dict(priors=[.5, .6]), "priors"), (dict(costs=[[1, 1], [1, 1]]), "costs")])
def test_bad_input_of_several_models(change, message):
    given = dict(y_true=[0, 1] * 20, decisions=np.array([[0, 1] * 20, [1, 1] * 20]), costs=BILL) | change
    with pytest.raises(ValueError, match=message):
        cp.simultaneous_differences(**given)


# probability of being best

def test_probability_of_two_models_by_enumeration():
    "Two models that disagree on 6 and 9 of 40 samples, costs 1: trinomial, listed."
    y = np.zeros(40, int)
    a, b = np.zeros(40, int), np.zeros(40, int)
    a[:6], b[6:15] = 1, 1
    found = cp.probability_best(y, {"a": a, "b": b}, BILL, n_resamples=200_000, rng=0)
    chance = regret = 0.
    for i, j in product(range(41), repeat=2):
        if i + j <= 40:
            p = factorial(40) / (factorial(i) * factorial(j) * factorial(40 - i - j)) * .15**i * .225**j * .625**(40 - i - j)
            chance += p * ((i < j) + .5 * (i == j))
            regret += p * max(i - j, 0) / 40
    assert found.probability == pytest.approx([chance, 1 - chance], abs=.005)
    assert found.regret[0] == pytest.approx(regret, abs=4e-4)
    assert found.expected_cost == pytest.approx([.15, .225], abs=1e-3)


def test_uncertain_costs_decide_where_the_models_do_not():
    "10,000 samples: a has only false alarms, b only misses; which is cheaper depends on the ratio alone."
    y = np.array([0, 1] * 5000)
    a, b = y.copy(), y.copy()
    a[:1600:2], b[1:401:2] = 1, 0  # 800 false alarms against 200 misses: a is better if a miss costs more than 4
    draw = lambda rng, size: np.array([[0, 1], [1, 0]]) * np.stack([np.ones(size), rng.uniform(0, 10, size)], 1)[..., None]
    found = cp.probability_best(y, {"a": a, "b": b}, draw, n_resamples=4000, rng=0)
    assert found.probability[0] == pytest.approx(.6, abs=.03)
    assert found.expected_cost == pytest.approx([.08, .1], rel=.03)
    stack = draw(np.random.default_rng(1), 3000)
    assert cp.probability_best(y, {"a": a, "b": b}, stack, n_resamples=4000, rng=0).probability[0] == pytest.approx(.6, abs=.04)
    rare = cp.probability_best(y, {"a": a, "b": b}, draw, priors=[.9, .1], n_resamples=4000, rng=0)
    assert rare.probability[0] == pytest.approx(0, abs=.01)  # .9 x .16 against .1 x .04 x 10 at most


def test_uncertain_costs_that_are_certain_are_costs():
    y, votes = a_set(300)
    sure = cp.probability_best(y, votes, BILL[None], n_resamples=4000, rng=0)
    plain = cp.probability_best(y, votes, BILL, n_resamples=4000, rng=0)
    assert sure.probability == pytest.approx(plain.probability, abs=.03) and sure.regret == pytest.approx(plain.regret, abs=.01)


def test_ties_are_shared_and_probabilities_sum_to_one():
    y = np.array([0, 1] * 20)
    assert cp.probability_best(y, [y, y, y], BILL, rng=0).probability == pytest.approx([1 / 3] * 3)
    y, votes = a_set()
    found = cp.probability_best(y, votes, BILL, rng=0)
    assert found.probability.sum() == pytest.approx(1) and (found.regret >= 0).all()


@pytest.mark.parametrize("costs, message", [(lambda rng, size: np.ones((3, 2, 2)), "costs"), (lambda rng, size: np.tile(BILL, (2, 1, 1)), "returned shape"),
                                           (np.ones((4, 2, 2)), "costs"), (lambda rng, size: np.full((size, 2, 2), np.nan), "NaN")])
def test_bad_uncertain_costs(costs, message):
    with pytest.raises(ValueError, match=message):
        cp.probability_best([0, 1], [[0, 1], [1, 1]], costs)


# margins

def test_equivalence_is_two_one_sided_tests():
    n, d = JOINT.sum(), (BILL[:, :, None] - BILL[:, None, :])
    mean = (JOINT * d).sum() / n
    error = np.sqrt((JOINT * (d - mean)**2).sum() / (n - 1) / n)
    for confidence in (.9, .95):
        just = abs(mean) + norm.ppf(confidence) * error
        assert cp.equivalence_test(JOINT, BILL, just * 1.001, method="normal", confidence=confidence).passes
        assert not cp.equivalence_test(JOINT, BILL, just * .999, method="normal", confidence=confidence).passes


@pytest.mark.parametrize("options", [{}, {"method": "bdelta_cost", "n_resamples": 200, "rng": 1}, {"priors": [.8, .2]}, {"priors": {1: .2, 0: .8}, "method": "normal"},
                                     {"method": "exact_bootstrap", "laplace": .2}])
def test_margin_tests_hand_everything_on(options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = difference(JOINT, BILL, confidence=.8, **options)
        found = cp.equivalence_test(JOINT, BILL, 1, confidence=.9, **options)
        lower = cp.non_inferiority_test(JOINT, BILL, 0, confidence=.9, **options)
    assert found.interval == expected and found.notes == expected.notes and found.margin == 1
    tolerance = .1 if "rng" in options else 1e-9
    assert (lower.interval.low, lower.interval.high) == pytest.approx((-expected.high, -expected.low), abs=tolerance)


def test_non_inferiority_passes_for_a_large_margin_only():
    big = JOINT * 100
    passed = [cp.non_inferiority_test(big, BILL, m).passes for m in (0, .5, 5)]
    assert passed == sorted(passed) and passed[-1]
    cost = [(big.sum(axis=a) * BILL).sum() / big.sum() for a in (2, 1)]  # of A, of B
    assert cp.non_inferiority_test(big, BILL, .1).interval.mean == pytest.approx(cost[1] - 1.1 * cost[0])
    labelled = JointCounts(big[::-1, ::-1, ::-1], classes=LABELLED.classes, decisions=LABELLED.decisions)
    turned = JointCounts(big, classes=("no", "yes"), decisions=("wait", "act"))
    assert cp.non_inferiority_test(labelled, LABELLED, .1) == cp.non_inferiority_test(turned, LABELLED, .1)
    assert cp.non_inferiority_test(labelled, LABELLED, .1).interval.high == pytest.approx(cp.non_inferiority_test(big, BILL, .1).interval.high)


@pytest.mark.parametrize("method", ["normal", "auto"])
def test_non_inferiority_level_at_the_margin(method):
    p = np.array([[[.70, .02], [.03, .05]], [[.02, .01], [.01, .16]]])
    a, b = ((p.sum(axis=axis) * BILL).sum() for axis in (2, 1))
    if b < a:
        p, a, b = np.swapaxes(p, 1, 2), b, a
    sets = np.random.default_rng(0).multinomial(800, p.ravel(), 500).reshape(-1, 2, 2, 2)
    rate = np.mean([cp.non_inferiority_test(s, BILL, b / a - 1, method=method).passes for s in sets])
    assert rate <= binom.ppf(.999, 500, .05) / 500 and (rate > .02 or method == "auto")


@pytest.mark.parametrize("call, message", [
    (lambda: cp.equivalence_test(JOINT, BILL, 0), "margin"), (lambda: cp.equivalence_test(JOINT, BILL, .1, confidence=.4), "confidence"),
    (lambda: cp.non_inferiority_test(JOINT, -BILL), "negative cost"), (lambda: cp.non_inferiority_test(JOINT, BILL, -.1), "margin"),
    (lambda: cp.non_inferiority_test(JOINT[0], BILL), "joint"), (lambda: cp.equivalence_test(JOINT, BILL, .1, method="clopper"), "method")])
def test_bad_input_of_margins(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# uncertain costs

def test_costs_that_never_vary_give_clopper_pearson():
    found = cp.uncertain_cost_interval([[90, 10], [0, 0]], [[[0, 1], [1, 0]]], n_resamples=400_000, rng=0)
    assert (found.low, found.high) == pytest.approx((beta.ppf(.025, 10, 91), beta.ppf(.975, 11, 90)), abs=6e-4)  # Clopper-Pearson
    assert (found.mean, found.standard_error) == pytest.approx((.1, np.sqrt(.09 / 101)), rel=.01)  # of a Beta(10, 90)
    many = cp.uncertain_cost_interval(COUNTS, COSTS[None], n_resamples=400_000, rng=0, confidence=.9)
    exact = interval(COUNTS, COSTS, method="clopper_pearson", confidence=.9)
    assert (many.low, many.high) == pytest.approx((exact.low, exact.high), rel=.01)
    strata = cp.uncertain_cost_interval(COUNTS, COSTS[None], n_resamples=400_000, rng=0, priors=[.7, .2, .1])
    rng, top = np.random.default_rng(5), 0  # class by class, another way
    for k, share in enumerate((.7, .2, .1)):
        more = np.array(COUNTS[k], float)
        more[COSTS[k].argmax()] += 1
        top = top + share * rng.dirichlet(np.maximum(more, 1e-9), 400_000) @ COSTS[k]
    assert strata.high == pytest.approx(np.quantile(top, .975), rel=.01)
    assert strata.mean == pytest.approx(expected_cost(COUNTS, COSTS, priors=[.7, .2, .1]))


def test_a_common_factor_by_quadrature():
    "All costs times a uniform factor U: P(end <= x) is the mean over U of a Beta distribution."
    draw = lambda rng, size: rng.uniform(.5, 1.5, size)[:, None, None] * np.array([[0, 1], [1, 0]])
    found = cp.uncertain_cost_interval([[90, 10], [0, 0]], draw, n_resamples=400_000, rng=0)
    above = integrate.quad(lambda u: beta.sf(found.high / u, 11, 90), .5, 1.5)[0]
    below = integrate.quad(lambda u: beta.cdf(found.low / u, 10, 91), .5, 1.5)[0]
    assert (above, below) == pytest.approx((.025, .025), abs=.001)
    wide = cp.uncertain_cost_interval([[90, 10], [0, 0]], draw, confidence=.99, n_resamples=400_000, rng=0)
    assert integrate.quad(lambda u: beta.sf(wide.high / u, 11, 90), .5, 1.5)[0] == pytest.approx(.005, abs=.0005)


def test_uncertain_costs_of_bcost():
    found = cp.uncertain_cost_interval(COUNTS, COSTS[None], method="bcost", laplace=.1, n_resamples=100_000, rng=0)
    exact = interval(COUNTS, COSTS, method="exact_bootstrap", laplace=.1)
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=.03)
    other = cp.uncertain_cost_interval(COUNTS, COSTS[None], method="bcost", laplace=1., n_resamples=100_000, rng=0)
    assert other.high > found.high + .3  # laplace matters
    p = (COUNTS + 1) / (COUNTS + 1).sum()
    assert other.mean == pytest.approx((p * COSTS).sum()) and other.low < other.mean < other.high


def test_uncertain_costs_variance():
    draw = lambda rng, size: rng.normal(COSTS, .5, (size, 3, 3))
    found = cp.uncertain_cost_interval(COUNTS, draw, method="bcost", laplace=0, n_resamples=40_000, rng=0)
    p, c, n = COUNTS.ravel() / COUNTS.sum(), COSTS.ravel(), COUNTS.sum()
    variance = (p @ c**2 - (p @ c)**2) / n + .25 * (p @ p + (p - p**2).sum() / n)
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=.02)
    assert found.mean == pytest.approx(p @ c, abs=.02) and len(found.distribution) == 40_000


@pytest.mark.parametrize("method", ["clopper_pearson", "bcost"])
def test_uncertain_costs_cover(method):
    "Test set and costs drawn together, 400 times: cheap errors, a costly one with a cost known within a factor of three."
    rng, p, held = np.random.default_rng(0), np.array([.85, .1, .05]), 0
    draw = lambda rng, size: np.stack([np.zeros(size), np.ones(size), rng.uniform(5, 15, size)], -1)[:, None, :]
    for _ in range(400):
        true = p @ draw(rng, 1)[0, 0]
        found = cp.uncertain_cost_interval(rng.multinomial(300, p)[None], draw, method=method, n_resamples=500, rng=rng)
        held += found.low <= true <= found.high
    assert binom.cdf(held, 400, .95) > .001


@pytest.mark.parametrize("method", ["clopper_pearson", "bcost"])
def test_uncertain_difference(method):
    stack = np.stack([np.array([[0, 1], [r, 0]]) for r in np.linspace(2, 20, 40)])
    found = cp.uncertain_cost_difference(JOINT, stack, method=method, n_resamples=20_000, rng=0)
    back = cp.uncertain_cost_difference(np.swapaxes(JOINT, 1, 2), stack, method=method, n_resamples=20_000, rng=0)
    assert (back.low, back.high, back.p_value) == pytest.approx((-found.high, -found.low, found.p_value), abs=.06)
    first, second = (cp.uncertain_cost_interval(JOINT.sum(axis=a), stack, method=method, laplace=0, n_resamples=20_000, rng=0).mean for a in (2, 1))
    assert found.mean == pytest.approx(first - second, abs=1e-9)
    fixed = cp.uncertain_cost_difference(JOINT, BILL[None], method=method, n_resamples=100_000, rng=0)
    exact = difference(JOINT, BILL, method={"bcost": "exact_bootstrap"}.get(method, method))
    assert (fixed.low, fixed.high) == pytest.approx((exact.low, exact.high), abs=.02)
    clear = JOINT.copy()
    clear[1, 0, 1] = 60  # the first misses, the second does not
    sure = cp.uncertain_cost_difference(clear, stack, method=method, n_resamples=20_000, rng=0)
    assert sure.rejects and sure.p_value < .05 and sure.low > 0
    for confidence in (.5, .9, .99):
        level = cp.uncertain_cost_difference(JOINT, stack, method=method, confidence=confidence, n_resamples=20_000, rng=0)
        assert level.rejects == (level.p_value < 1 - confidence)


def test_bad_input_of_uncertain_costs():
    for call, message in ((lambda: cp.uncertain_cost_interval(COUNTS, lambda rng, size: np.tile(COSTS, (size, 1, 1))[:, :2]), "costs"),
                          (lambda: cp.uncertain_cost_interval(COUNTS + .5, COSTS[None]), "whole"), (lambda: cp.uncertain_cost_interval(COUNTS, COSTS), "B, K, M"),
                          (lambda: cp.uncertain_cost_interval(COUNTS, COSTS[None], confidence=95), "confidence"), (lambda: cp.uncertain_cost_interval(COUNTS, COSTS[None], n_resamples=1), "n_resamples"),
                          (lambda: cp.uncertain_cost_interval(COUNTS, COSTS[None], method="normal"), "method"), (lambda: cp.uncertain_cost_interval(COUNTS, COSTS[None], laplace=-1), "laplace"),
                          (lambda: cp.uncertain_cost_interval(0 * COUNTS, COSTS[None]), "no example"), (lambda: cp.uncertain_cost_difference(COUNTS, BILL[None]), "joint")):
        with pytest.raises(ValueError, match=message):
            call()


# sample size

def test_first_guess_is_the_textbooks():
    share = np.array([[.8, .05], [.01, .14]])
    n = cp.required_sample_size(share, [[0, 1], [20, 0]], .2, method="z")
    sd = np.sqrt(.05 * 1 + .01 * 400 - .25**2)
    assert n == int(np.ceil((norm.ppf(.975) * sd / .2 / .25)**2))
    assert cp.required_sample_size([[.9, .1], [0, 0]], [[0, 1], [1, 0]], method="z") == 3458  # 1.96^2 x 9 / .01
    pilot = cp.required_sample_size(np.array([[80, 5], [1, 14]]), [[0, 1], [20, 0]], .2, method="z")
    labelled = confusion_counts(["no"] * 85 + ["yes"] * 15, ["wait"] * 80 + ["act"] * 5 + ["wait"] + ["act"] * 14, classes=("no", "yes"), decision_labels=("wait", "act"))
    costs = CostMatrix([[0, 20], [1, 0]], classes=("yes", "no"), decisions=("act", "wait"))
    assert pilot == n == cp.required_sample_size(labelled, costs, .2, method="z")
    assert cp.required_sample_size(share, [[0, 1], [20, 0]], .2, method="z", confidence=.8) < n / 2


@pytest.mark.parametrize("miss, ratio, precision", [(.01, 20, .1), (.001, 1000, .5), (.001, 1000, 1.5), (.2, 1, .3)])
@pytest.mark.parametrize("method", ["normal", "auto", "likelihood_ratio"])
def test_sample_size_reaches_the_precision(miss, ratio, precision, method):
    "Fresh test sets of the size found: the mean half width is the one asked for, also where (21.5) fails."
    p, c = np.array([[.45, .05], [miss, .5 - miss]]), np.array([[0, 1.], [ratio, 0]])
    n = cp.required_sample_size(p, c, precision, method=method, n_sets=400)
    sets = np.random.default_rng(99).multinomial(n, p.ravel(), 400).reshape(-1, 2, 2)
    found = interval(sets, c, method=method)
    assert np.mean(found.high - found.low) / 2 / (p * c).sum() == pytest.approx(precision, rel=.15)


def test_options_of_the_sample_size_matter():
    p, c = [[.45, .05], [.01, .49]], [[0, 1], [20, 0]]
    base = cp.required_sample_size(p, c, .5, n_sets=100)
    assert base != cp.required_sample_size(p, c, .5, n_sets=100, rng=7) and base == cp.required_sample_size(p, c, .5, n_sets=100)
    assert cp.required_sample_size(p, c, .5, n_sets=100, method="bcost", n_resamples=200, laplace=2.) != cp.required_sample_size(p, c, .5, n_sets=100, method="bcost", n_resamples=200)
    for call, message in ((lambda: cp.required_sample_size(p, c, 0), "relative_precision"), (lambda: cp.required_sample_size([[.5, .5]], c), "probabilities"),
                          (lambda: cp.required_sample_size([[.5, .6], [0, 0]], c), "probabilities"), (lambda: cp.required_sample_size([[1., 0], [0, 0]], c), "expected cost is 0"),
                          (lambda: cp.required_sample_size(p, c, n_sets=1), "n_sets"), (lambda: cp.required_sample_size(p, c, method="zz"), "method")):
        with pytest.raises(ValueError, match=message):
            call()


# power

def trade(costly, ratio, saved, added):
    joint = np.zeros((2, 2, 2))
    joint[0, 1, 1], joint[0, 0, 1], joint[0, 0, 0] = .05, added, .45 - added
    joint[1, 0, 0], joint[1, 0, 1], joint[1, 1, 1] = costly * (1 - saved), costly * saved, .5 - costly
    return joint, np.array([[0, 1.], [ratio, 0]])


def rejections(joint, costs, n, n_sets=20_000, confidence=.95, seed=0):
    "Simulated, from the samples' differences."
    p, d = joint.ravel(), (costs[:, :, None] - costs[:, None, :]).ravel()
    sets = np.random.default_rng(seed).multinomial(n, p, n_sets)
    mean = sets @ d / n
    s = np.sqrt(np.maximum((sets * (d - mean[:, None])**2).sum(axis=1) / (n - 1), 0))
    return np.mean(np.abs(mean) > norm.isf((1 - confidence) / 2) * s / np.sqrt(n) * (1 + 1e-9))


@pytest.mark.parametrize("ratio", [1, 2, 5, 20, 300, 1e9])
def test_power_over_its_whole_range(ratio):
    sizes = [20, 50, 100, 300, 1000, 3000, 30_000]
    power = cp.paired_power(*trade(.02, ratio, .5, .02), sizes)
    assert power == pytest.approx([rejections(*trade(.02, ratio, .5, .02), n) for n in sizes], abs=.015)


def test_power_of_the_findings():
    assert cp.paired_power(*trade(.02, 20, .5, .02), [100, 1000]) == pytest.approx([.07, .92], abs=.005)
    assert cp.paired_power(*trade(.02, 1e9, .5, .02), 1000) == pytest.approx(.99, abs=.002)


@pytest.mark.parametrize("n", [2, 5, 7])
def test_power_by_listing_every_test_set(n):
    "Four kinds of samples with differences 3, -1, 0 (twice): all n-tuples of kinds."
    joint = np.zeros((2, 2, 2))
    joint[1, 0, 1], joint[0, 0, 1], joint[0, 0, 0], joint[1, 1, 1] = .3, .2, .4, .1
    costs, chance = np.array([[0, 1.], [3, 0]]), 0.
    values, p = np.array([3., -1, 0, 0]), np.array([.3, .2, .4, .1])
    for drawn in product(range(4), repeat=n):
        d = values[list(drawn)]
        s = d.std(ddof=1)
        chance += prod(p[list(drawn)]) * (abs(d.mean()) > norm.isf(.025) * s / np.sqrt(n) * (1 + 1e-9))
    assert cp.paired_power(joint, costs, n) == pytest.approx(chance, abs=1e-12)


def test_power_of_many_kinds_is_simulated():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(27, .3)).reshape(3, 3, 3)
    power = cp.paired_power(p, COSTS, [200, 500], n_sets=20_000)
    assert power == pytest.approx([rejections(p, COSTS, n, seed=1) for n in (200, 500)], abs=.015)
    assert cp.paired_power(p, COSTS, 300, n_sets=100, rng=1) != cp.paired_power(p, COSTS, 300, n_sets=100, rng=2)
    big = cp.paired_power(*trade(.02, 20, .5, .4), 10**6)  # too many to list
    assert big == pytest.approx(1, abs=.01)


@pytest.mark.parametrize("method", ["normal", "auto", "likelihood_ratio", "bdelta_cost"])
def test_power_is_that_of_difference(method):
    joint, costs = trade(.04, 5, .5, .02)
    sets = np.random.default_rng(3).multinomial(400, joint.ravel(), 300).reshape(-1, 2, 2, 2)
    rate = np.mean(difference(sets, costs, method=method, n_resamples=200, rng=0, confidence=.9).rejects)
    power = cp.paired_power(joint, costs, 400, method=method, n_sets=1000, n_resamples=200, confidence=.9)
    assert power == pytest.approx(rate, abs=.09)


def test_power_knows_labels_pilots_shapes_and_levels():
    joint, costs = trade(.02, 20, .5, .02)
    pilot = JointCounts(np.rint(joint * 1000).astype(int))
    assert cp.paired_power(pilot, costs, 500) == pytest.approx(cp.paired_power(joint, costs, 500))
    turned = JointCounts(np.rint(joint * 1000).astype(int)[::-1, ::-1, ::-1], classes=(1, 0), decisions=(1, 0))
    assert cp.paired_power(turned, CostMatrix(costs), 500) == pytest.approx(cp.paired_power(joint, costs, 500))
    assert np.shape(cp.paired_power(joint, costs, [[100, 200], [300, 400]])) == (2, 2) and isinstance(cp.paired_power(joint, costs, 100), float)
    assert cp.paired_power(joint, costs, 500, confidence=.99) < cp.paired_power(joint, costs, 500) - .05
    no_difference = (joint + np.swapaxes(joint, 1, 2)) / 2
    assert cp.paired_power(no_difference, costs, 5000, n_sets=20_000) == pytest.approx(.05, abs=.006)
    for call, message in ((lambda: cp.paired_power(joint, costs, 1), "n:"), (lambda: cp.paired_power(joint, costs, 10.5), "whole"), (lambda: cp.paired_power(2 * joint, costs, 10), "probabilities"),
                          (lambda: cp.paired_power(joint[0], costs, 10), "probabilities"), (lambda: cp.paired_power(joint, costs, 10, method="z"), "method")):
        with pytest.raises(ValueError, match=message):
            call()


def test_seven_disagreements_at_one_percent():
    joint = np.array([[[.98, 0], [0, 0]], [[0, .02], [0, 0]]])
    for confidence, least in ((.95, 4), (.99, 7)):
        assert cp.paired_power(joint, [[0, 1], [9, 0]], 2000, confidence=confidence) == pytest.approx(binom.sf(least - 1, 2000, .02), abs=1e-9)


# house

def test_results_have_values_frames_and_pictures():
    pytest.importorskip("matplotlib").use("Agg")
    y, votes = a_set()
    for found in (cp.simultaneous_differences(y, votes, BILL, rng=0), cp.probability_best(y, votes, BILL, rng=0)):
        assert found == found and len(found.to_frame()) == 3 and found.plot().get_xlabel() and "<table" in found._repr_html_()
    test = cp.equivalence_test(JOINT, BILL, 1)
    assert test == cp.equivalence_test(JOINT, BILL, 1) and test != cp.equivalence_test(JOINT, BILL, 2) and "passes" in repr(test)


@pytest.mark.parametrize("n, shares", [(1, (.3, .2)), (30, (.3, .7)), (200, (.01, .05)), (1000, (.02, 0.))])
def test_probabilities_of_two_kinds_are_multinomial(n, shares):
    first, second = cp._likely(n, np.array(shares))
    a, b = (v.ravel() for v in np.meshgrid(first, second, indexing="ij"))
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = multinomial.pmf(np.column_stack([a, b, n - a - b]), n, [*shares, 1 - sum(shares)])
    found = cp._trinomial(n, *shares)
    assert found.ravel() == pytest.approx(np.where(a + b <= n, np.nan_to_num(chance), 0), abs=1e-12) and found.sum() == pytest.approx(1, abs=1e-12)


def test_one_table_of_probabilities_serves_every_cost_ratio():
    cp._trinomial.cache_clear()
    cp._power_by_ratio.__wrapped__(.03, .5, .02)
    assert cp._trinomial.cache_info()[:2] == (49, 1)



def test_widget_starts_where_its_still_stands():
    pytest.importorskip("ipywidgets")
    plt = pytest.importorskip("matplotlib.pyplot")
    widget = cp.explore_power()
    sliders, image = widget.children[0].children, widget.children[1]
    assert [s.value for s in sliders] == [20, 20, .5, 20]
    before = image.value
    sliders[1].value = 200
    assert image.value != before
    fig, axes = plt.subplots(1, 2)
    lines = cp._draw_power(axes)
    cp._move_power(axes, lines, 20, 20, .5, 20)
    x, power = lines[0].get_data()
    assert power == pytest.approx(cp.paired_power(*trade(.02, 20, .5, .02), x.astype(int)))
    assert lines[2].get_ydata()[0] == pytest.approx(cp.paired_power(*trade(.02, 20, .5, .02), 1000))
    plt.close(fig)


@pytest.mark.parametrize("name", [n for n in cp.__all__ if inspect.isfunction(getattr(cp, n))])
def test_every_parameter_is_documented(name):
    function = getattr(cp, name)
    for parameter in inspect.signature(function).parameters:
        assert f"    {parameter} :" in function.__doc__ or f"**{parameter}" in function.__doc__, parameter


def test_a_difference_that_every_sample_shows_leaves_out_0_at_every_level():
    y = np.ones(30, int)
    found = cp.simultaneous_differences(y, [y, 1 - y], BILL, rng=0)
    assert found.low[0] == found.high[0] == found.difference[0] == -BILL[1][0] and found.p_value[0] == 0 and found.rejects[0]
