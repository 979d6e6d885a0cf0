"""Several models, the best of them, tests with a margin: ends and means against computations of another
kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom

from asked import best_of, simultaneous_differences
from cost_eval import comparisons as cp
from cost_eval.bootstrap import difference, interval, loss_interval
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.core import kinds
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.decisions import read_requirements
from cost_eval.metrics import expected_cost

COSTS = np.array([[0, 1, 4.], [2, 0, 50], [1, 3, 0]])
BILL, ZERO_ONE = np.array([[0, 1.], [5, 0]]), np.array([[0, 1.], [1, 0]])


def a_set(n=400, seed=0, wrong=(.10, .12, .2), classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    return y, {f"m{i}": np.where(rng.random(n) < e, rng.integers(classes, size=n), y)
               for i, e in enumerate(wrong)}


# several models

def consistent(found):
    np.testing.assert_array_equal(found.told_apart, (found.low >= 0) | (found.high <= 0))
    np.testing.assert_array_equal(found.told_apart, found.p_value < 1 - found.confidence)
    assert (found.low <= found.estimate + 1e-12).all() and (found.estimate <= found.high + 1e-12).all()


@given(st.integers(0, 10_000), st.sampled_from([.5, .9, .99]))
@settings(max_examples=25)
def test_no_interval_contradicts_its_p_value(seed, confidence):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=rng.choice([2, 30, 200]))
    votes = np.where(rng.random((4, len(y))) < rng.choice([.05, .2, .5], size=(4, 1)), 1 - y, y)
    found = simultaneous_differences(y, votes, BILL, confidence=confidence)
    consistent(found)
    assert (found.low >= -5 - 1e-9).all() and (found.high <= 5 + 1e-9).all()


@pytest.mark.parametrize("priors", [None, [.7, .3]])
def test_differences_are_bonferronis_with_holms_p_but_for_ends_moved_to_0(priors):
    "Of the default of `difference`, at a level of a sixth."
    moved = 0
    for seed in range(12):
        y, votes = a_set(150, seed, (.02, .08, .25, .4))
        found = simultaneous_differences(y, votes, BILL, priors=priors)
        tables = [joint_counts(y, votes[a], votes[b]).array for a, b in zip(found.model, found.against)]
        wide = difference(np.stack(tables), BILL, confidence=1 - .05 / 6, priors=priors)
        order = np.argsort(wide.p_value)
        holm = np.minimum(np.maximum.accumulate(wide.p_value[order] * np.arange(6, 0, -1)), 1)
        assert found.p_value[order] == pytest.approx(holm) and found.estimate == pytest.approx(wide.mean)
        extra = found.told_apart & ~wide.rejects
        moved += extra.sum()
        for end in ("low", "high"):
            same = np.isclose(getattr(found, end), getattr(wide, end), rtol=1e-6, atol=1e-9)  # by a lattice
            assert same[~extra].all() and (getattr(found, end)[~same] == 0).all()
        assert bool(extra.any()) == any("moved to 0" in note for note in found.notes)
        consistent(found)
    assert moved > 0


def test_nobody_is_certain_at_two_or_where_all_samples_agree():
    """Two samples that both prefer the first: no p of 0, no interval of a point, and none without the other
    cost. Equal models are not called equal."""
    for y, costs in (([0, 0], BILL), ([0, 0], ZERO_ONE), ([1, 0], ZERO_ONE)):
        found = simultaneous_differences(y, [y, [1 - v for v in y]], costs)
        assert found.p_value[0] > .05 and not found.told_apart[0] and found.low[0] < -.9 and found.high[0] > 0
    assert best_of([0, 0], [[0, 0], [1, 1]], BILL, rng=0).high[0] > .5
    y = np.ones(30, int)
    found = simultaneous_differences(y, [y, y, 1 - y], BILL)
    assert found.estimate[1] == found.low[1] == -5 and found.high[1] > -5 and 0 < found.p_value[1] < .001
    assert found.estimate[0] == 0 and found.low[0] < 0 < found.high[0] and found.p_value[0] == 1
    assert found.told_apart.tolist() == [False, True, True]


@pytest.mark.parametrize("miss, fnr, level", [(1, [0] * 4, .2), (20, [.02, .01, 0, 0], .05),
                                              (1000, [.0002, .0001, 0, 0], .01)])
def test_familywise_error(miss, fnr, level):
    """Four models of equal cost at the clinic's size, of one kind or of unequal ones; the old bootstrap told
    some of them apart in a fifth, rare misses always."""
    y, rng, fnr, false = np.repeat([0, 1], [357, 212]), np.random.default_rng(0), np.array(fnr), 0
    fpr = level + miss * (fnr[0] - fnr) * 212 / 357
    for _ in range(40):
        u = rng.random((4, 569))
        votes = np.where(y == 0, u < fpr[:, None], u >= fnr[:, None]).astype(int)
        false += simultaneous_differences(y, votes, [[0, 1], [miss, 0]]).told_apart.any()
    assert false <= binom.ppf(.999, 40, .05)


def test_priors_are_those_of_the_expected_cost():
    y, votes = a_set(500, 1, classes=3)
    priors = {0: .6, 2: .3, 1: .1}
    counts = {name: confusion_counts(y, d, classes=range(3)) for name, d in votes.items()}
    means = {name: expected_cost(c, COSTS, priors=[.6, .1, .3]) for name, c in counts.items()}
    found, best = (ask(y, votes, COSTS, priors=priors) for ask in (simultaneous_differences, best_of))
    assert found.estimate == pytest.approx([means[a] - means[b] for a, b in zip(found.model, found.against)])
    assert best.model[0] == min(means, key=means.get)
    assert best.estimate[0] == pytest.approx(min(means.values()))
    with pytest.raises(ValueError, match="no sample"):
        simultaneous_differences([0, 1, 0], [[0, 1, 1], [1, 1, 1]], COSTS, priors=priors)


def test_costs_of_single_samples_and_a_million_of_few_kinds():
    y, votes = a_set(200)
    fn = np.random.default_rng(0).uniform(1, 20, 200)
    found = simultaneous_differences(y, votes, ExampleCosts(fp=1, fn=fn))
    each = [np.where((y == 1) & (d == 0), fn, (y == 0) & (d == 1)).mean() for d in votes.values()]
    assert found.estimate == pytest.approx([each[0] - each[1], each[0] - each[2], each[1] - each[2]])
    y, votes = a_set(1_000_000, 0, (.1, .1, .11, .12, .2))
    unit, first = kinds([y, *votes.values()])
    assert len(first) <= 64 and unit.max() + 1 == len(first)


# the best of several

def test_the_winners_interval_holds_although_it_was_chosen():
    rng, rows = np.random.default_rng(0), []
    for _ in range(40):
        y = (rng.random(1000) < .3).astype(int)
        wrong = rng.random((20, 1000)) < np.where(y, .03, .1)
        found = best_of(y, np.where(wrong, 1 - y, y), [[0, 1], [10, 0]], n_resamples=100, rng=rng)
        held = (found.low[:2] <= .16) & (.16 <= found.high[:2])
        rows.append([*held, .16 - found.estimate[0], found.luck])
    held, alone, optimism, luck = np.mean(rows, axis=0)
    assert binom.cdf(40 * held, 40, .95) > .001 and alone < .85
    # costly errors are rare, so costs are skew and the luck stated is low
    assert .6 * optimism < luck < 1.2 * optimism


def test_the_luck_of_clusters_is_that_of_a_bootstrap_of_clusters():
    """Twelve of unequal size, what they add to the cost resampled. (The ratio of sums and sizes would also
    count the bias of a ratio, which is no luck of a choice.)"""
    lucks = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        who = np.repeat(np.arange(12), rng.integers(2, 30, 12))
        y = (rng.random(len(who)) < .3).astype(int)
        wrong = rng.random((3, len(who))) < rng.beta(1, 4, (3, 12))[:, who]
        cost = wrong.mean(1)
        adds = np.stack([np.bincount(who, row) for row in wrong - cost[:, None]]) / len(who)
        drawn = cost + rng.multinomial(12, np.full(12, 1 / 12), 20_000) @ adds.T
        found = best_of(y, np.where(wrong, 1 - y, y), ZERO_ONE, clusters=who, n_resamples=20_000, rng=0)
        lucks.append([found.luck, np.sqrt(2) * (cost[drawn.argmin(1)] - drawn.min(1)).mean()])
    ours, wanted = np.transpose(lucks)
    assert ours == pytest.approx(wanted, abs=.01) and ours.sum() == pytest.approx(wanted.sum(), rel=.1)


@pytest.mark.parametrize("priors", [None, [.8, .2]])
def test_ends_of_the_best_are_those_of_interval(priors):
    y, votes = a_set(300, 1, (.1, .12, .15, .3))
    found = best_of(y, votes, BILL, confidence=.9, priors=priors, rng=0)
    tables = [confusion_counts(y, votes[name]) for name in found.model[1:]]
    alone = [interval(one, BILL, confidence=.9, priors=priors) for one in tables]
    top = interval(tables[0], BILL, confidence=1 - .1 / 4, priors=priors)
    assert found.high == pytest.approx([top.high, *(one.high for one in alone)])
    assert found.low[0] == pytest.approx(min(one.low for one in alone)) and found.model[0] == found.model[1]
    assert (np.diff(found.estimate[1:]) >= 0).all() and found.estimate[0] == found.estimate[1]
    assert not [note for note in found.notes if "cost the same" in note], "nobody is tied alone"
    assert found.part.tolist() == ["the cheapest of 4", *["by itself"] * 4]
    tied = best_of(y, {"b": y, "a": y, "c": 1 - y}, BILL, rng=0)
    assert tied.model[0] == "b" and "b, a cost the same" in tied.notes[-1]


def test_the_lowest_of_several_by_simulation():
    values, chance = cp._lowest_of(10, 500)
    sets = np.random.default_rng(0).binomial(500, .1, (20_000, 10)).min(axis=1) / 500
    assert chance.sum() == pytest.approx(1) and values @ chance == pytest.approx(sets.mean(), abs=1e-4 * 5)


# margins

@pytest.mark.parametrize("method", ["normal", "auto"])
def test_a_margin_keeps_its_level(method):
    "Is B at most a share costlier than A? A difference in which A's cost is scaled."
    p = np.array([[[.70, .02], [.03, .05]], [[.02, .01], [.01, .16]]])
    a, b = sorted((p.sum(axis=axis) * BILL).sum() for axis in (2, 1))
    p = p if (p.sum(axis=1) * BILL).sum() == a else np.swapaxes(p, 1, 2)  # the second is the cheaper one
    sets = np.random.default_rng(0).multinomial(800, p.ravel(), 200).reshape(-1, 2, 2, 2)
    rate = np.mean(difference(sets, BILL, factor=b / a, confidence=.9, method=method).high < 0)
    assert rate <= binom.ppf(.999, 200, .05) / 200 and (rate > .02 or method == "auto")


# house

def test_how_many_equal_samples_weighted_ones_are_worth():
    "Kish: the square of the sum of weights over the sum of squares, of each class."
    y, w = np.array([0, 0, 0, 1, 1]), np.array([1, 1, 4, 2, 2.])
    sizes = [cp.Losses(y, np.array([.6, .4]), False, weight=weight, costs=CostMatrix(BILL)).effective_sizes
             for weight in (w, None)]
    assert sizes[0] == pytest.approx([36 / 18, 2]) and sizes[1] == pytest.approx([3, 2])


def test_a_rate_has_the_interval_of_its_own_trials():
    shy = cp.Decided("shy", "as given", np.repeat([0, 1], [82, 18]))
    at = cp.Losses(np.repeat([0, 1], [80, 20]), np.array([.8, .2]), False, costs=CostMatrix(BILL))
    (recall,) = read_requirements({"recall": .9}, at.costs)
    for confidence in (.8, .99):
        tail = (1 - confidence) / 2
        ends = beta.ppf([tail, 1 - tail], [18, 19], [3, 2])  # Clopper and Pearson, 18 of 20
        assert cp.rate_of(at, shy, recall, confidence) == pytest.approx([.9, *ends])


@pytest.mark.parametrize("p, merged", [([.01, .03, .02], .04), ([.4, .9, .8], 1)])
def test_draws_are_merged_by_twice_the_middle(p, merged):
    rows = np.array([[2., 3, 4], [1, 2, 3], [3, 4, 6], p, [5, 3, 4]])
    assert cp._merged(rows).tolist() == [3, 2, 4, merged, 3]


def test_the_heaviest_cluster_keeps_its_weight_where_priors_are_restored():
    y, votes = a_set(200, 1)
    who, priors = np.arange(200) // 4, np.array([.7, .3])
    at = cp.Losses(y, priors, True, None, who, costs=CostMatrix(BILL), heaviest=6.0)
    found = cp.ask([at.asks(cp.Decided("m0", "as given", votes["m0"]))])
    weight = (priors / np.bincount(y) * 200)[y]
    same = loss_interval(BILL[y, votes["m0"]], sample_weight=weight, clusters=who, bounds=(0, 5),
                         heaviest=6 * weight.max())
    assert (found.low[0], found.high[0]) == pytest.approx((same.low, same.high))


@pytest.mark.parametrize("clusters", [np.arange(120), None])
def test_with_priors_the_amounts_of_a_class_are_drawn(clusters):
    """Large amounts that are rarely of the costly class: in two thirds of the sets none was, and the upper
    end lay below the truth, as the weights that restore the priors made small what the others could cost."""
    rng, sets, missed = np.random.default_rng(0), 30, 0
    amounts, risk = np.repeat([1., 100.], [100, 20]), np.repeat([.05, .02], [100, 20])
    own = np.zeros((120, 2, 2))
    own[:, 0, 1], own[:, 1, 0] = .01, amounts
    costs = CostMatrix(own.mean(0))
    for _ in range(sets):
        y = (rng.random(120) < risk).astype(int)
        y[:2] |= y.sum() < 2
        losses = cp.Losses(y, np.array([.1, .9]), True, None, clusters, costs=costs, own=own)
        found = cp.ask([losses.asks(cp.Decided("nobody", "as given", 0 * y))])
        missed += .9 * (risk @ amounts) / risk.sum() > found.high[0]
    assert missed <= .1 * sets
