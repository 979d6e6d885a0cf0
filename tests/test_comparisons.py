"""Several models, the best of them, tests with a margin, uncertain costs: ends and means against computations
of another kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom

from asked import best_of, simultaneous_differences
from cost_eval import comparisons as cp
from cost_eval.bootstrap import difference, interval, loss_interval
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.decisions import read_requirements
from cost_eval.metrics import expected_cost
from cost_eval.core import kinds

COUNTS = np.array([[80, 6, 1], [5, 60, 0], [2, 3, 43]])
COSTS = np.array([[0, 1, 4.], [2, 0, 50], [1, 3, 0]])
JOINT = np.array([[[85, 4], [3, 8]], [[2, 6], [5, 37]]])
BILL = np.array([[0, 1.], [5, 0]])
def a_set(n=400, seed=0, wrong=(.10, .12, .2), classes=2):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    votes = {f"m{i}": np.where(rng.random(n) < e, rng.integers(classes, size=n), y)
             for i, e in enumerate(wrong)}
    return y, votes


def costs_of(y, votes, costs):
    "By a loop over samples."
    return np.array([[costs[i][j] for i, j in zip(y, d)] for d in votes.values()])


# several models

def test_holm_by_hand_on_the_default_tests():
    y, votes = a_set(300, 5, (.05, .07, .2))
    found = simultaneous_differences(y, votes, BILL)
    assert found.model.tolist() == ["m0", "m0", "m1"] and found.against.tolist() == ["m1", "m2", "m2"]
    tables = [joint_counts(y, votes[a], votes[b]) for a, b in zip(found.model, found.against)]
    p = np.array([difference(t, BILL).p_value for t in tables])
    by_hand, highest = np.empty(3), 0
    for rank, k in enumerate(np.argsort(p)):
        highest = max(highest, min(1, p[k] * (3 - rank)))
        by_hand[k] = highest
    assert found.p_value == pytest.approx(by_hand)
    each = costs_of(y, votes, BILL)
    assert found.estimate == pytest.approx([(each[0] - each[1]).mean(), (each[0] - each[2]).mean(),
                                              (each[1] - each[2]).mean()])


def consistent(found):
    inside = (found.low < 0) & (0 < found.high)
    np.testing.assert_array_equal(found.told_apart, ~inside)
    np.testing.assert_array_equal(found.told_apart, found.p_value < 1 - found.confidence)
    assert (found.low <= found.estimate + 1e-12).all() and (found.estimate <= found.high + 1e-12).all()


@given(st.integers(0, 10_000), st.sampled_from([.5, .8, .9, .95, .99]))
@settings(max_examples=60, deadline=None)
def test_no_interval_contradicts_its_p_value(seed, confidence):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([2, 30, 200]))
    y = rng.integers(2, size=n)
    votes = np.where(rng.random((4, n)) < rng.choice([.05, .2, .5], size=(4, 1)), 1 - y, y)
    found = simultaneous_differences(y, votes, BILL, confidence=confidence)
    consistent(found)
    assert (found.low >= -5 - 1e-9).all() and (found.high <= 5 + 1e-9).all()


@pytest.mark.parametrize("priors", [None, [.7, .3]])
def test_ends_are_bonferronis_but_for_those_moved_to_0(priors):
    "Of the default of `difference`, at a level of a sixth."
    moved = 0
    for seed in range(40):
        y, votes = a_set(150, seed, (.02, .08, .25, .4))
        found = simultaneous_differences(y, votes, BILL, priors=priors)
        tables = [joint_counts(y, votes[a], votes[b]).array for a, b in zip(found.model, found.against)]
        wide = difference(np.stack(tables), BILL, confidence=1 - .05 / 6, priors=priors)
        assert (6 * wide.p_value >= found.p_value - 1e-9).all() and (found.told_apart >= wide.rejects).all()
        extra = found.told_apart & ~wide.rejects
        moved += extra.sum()
        for end in ("low", "high"):
            same = np.isclose(getattr(found, end), getattr(wide, end), rtol=1e-6, atol=1e-9)  # by a lattice
            assert same[~extra].all() and (getattr(found, end)[~same] == 0).all()
        assert found.estimate == pytest.approx(wide.mean)
        assert bool(extra.any()) == any("moved to 0" in note for note in found.notes)
        consistent(found)
    assert moved > 0


def test_nobody_is_certain_at_two():
    """Two samples that both prefer the first: no p of 0, no interval of a point, and none without the other
    cost."""
    for y, costs in (([0, 0], BILL), ([0, 0], [[0, 1], [1, 0]]), ([1, 0], [[0, 1], [1, 0]])):
        found = simultaneous_differences(y, [y, [1 - v for v in y]], costs)
        assert found.p_value[0] > .05 and not found.told_apart[0] and found.low[0] < -.9 and found.high[0] > 0
    assert best_of([0, 0], [[0, 0], [1, 1]], BILL, rng=0).high[0] > .5


def test_familywise_error_of_unequal_kinds():
    """Five models of equal cost at the clinic's size; the old bootstrap told some of them apart in a fifth,
    rare misses always."""
    y, rng, ill = np.repeat([0, 1], [357, 212]), np.random.default_rng(0), 212 / 569
    for miss, fnr, level in ((20, np.array([.02, .02, .01, 0, 0]), .05),
                             (1000, np.array([2, 2, 1, 0, 0]) / 1e4, .01)):
        fpr = ((1 - ill) * level + ill * miss * (fnr[0] - fnr)) / (1 - ill)
        false = 0
        for _ in range(60):
            u = rng.random((5, 569))
            votes = np.where(y == 0, u < fpr[:, None], u >= fnr[:, None]).astype(int)
            false += simultaneous_differences(y, votes, [[0, 1], [miss, 0]]).told_apart.any()
        assert false <= binom.ppf(.999, 60, .05)


def test_familywise_error_of_one_kind():
    rng, false = np.random.default_rng(0), 0
    for _ in range(150):
        y = rng.integers(0, 2, 200)
        votes = np.where(rng.random((4, 200)) < .2, 1 - y, y)
        false += simultaneous_differences(y, votes, BILL).told_apart.any()
    assert false <= binom.ppf(.999, 150, .05)


def test_identical_models_are_not_called_equal():
    y = np.array([0, 1] * 20)
    found = simultaneous_differences(y, np.stack([y, y, 1 - y]), BILL)
    assert found.estimate[0] == 0 and found.low[0] < 0 < found.high[0] and not found.told_apart[0]
    assert found.p_value[0] == 1 and found.told_apart[1:].all() and len(found.to_frame()) == 3


def test_priors_are_those_of_the_expected_cost():
    y, votes = a_set(500, 1, classes=3)
    priors = [.6, .1, .3]
    counts = {name: confusion_counts(y, d, classes=range(3)) for name, d in votes.items()}
    means = {name: expected_cost(c, COSTS, priors=priors) for name, c in counts.items()}
    found = simultaneous_differences(y, votes, COSTS, priors=priors)
    assert found.estimate == pytest.approx([means[a] - means[b]
                                              for a, b in zip(found.model, found.against)])
    best = best_of(y, votes, COSTS, priors={0: .6, 2: .3, 1: .1}, rng=0)
    assert best.estimate[0] == pytest.approx(min(means.values())) and best.model[0] == min(means, key=means.get)
    with pytest.raises(ValueError, match="no sample"):
        simultaneous_differences([0, 1, 0], [[0, 1, 1], [1, 1, 1]], COSTS, priors=priors)


def test_costs_of_single_samples():
    y, votes = a_set(200)
    fn = np.random.default_rng(0).uniform(1, 20, 200)
    single = ExampleCosts(fp=1, fn=fn)
    found = simultaneous_differences(y, votes, single)
    each = [np.where((y == 1) & (d == 0), fn, (y == 0) & (d == 1)) for d in votes.values()]
    assert found.estimate == pytest.approx([(each[a] - each[b]).mean()
                                              for a, b in ((0, 1), (0, 2), (1, 2))])


def test_a_million_samples_are_a_few_kinds():
    y, votes = a_set(1_000_000, 0, (.1, .1, .11, .12, .2))
    assert len(simultaneous_differences(y, votes, BILL).model) == 10
    unit, first = kinds([y, *votes.values()])
    assert len(first) <= 64 and unit.max() + 1 == len(first)


# the best of several

def winners(models, n, n_sets, seed, better=0.0):
    rng, error = np.random.default_rng(seed), np.full(models, .1)
    error[0] -= better
    true, rows = .7 * error + .9 * error, []
    for _ in range(n_sets):
        y = (rng.random(n) < .3).astype(int)
        wrong = rng.random((models, n)) < error[:, None] * np.where(y, .3, 1)
        found = best_of(y, np.where(wrong, 1 - y, y), [[0, 1], [10, 0]], n_resamples=100, rng=rng)
        t = true[found.model[0]]
        chosen, alone = (found.low[:2] <= t) & (t <= found.high[:2])
        rows.append([chosen, alone, t - found.estimate[0], found.luck])
    return np.array(rows, float)


def test_the_winners_interval_holds_although_it_was_chosen():
    rows = winners(20, 2000, 60, 0)
    held, alone, optimism, luck = rows.mean(0)
    assert binom.cdf(rows[:, 0].sum(), 60, .95) > .001 and alone < .85
    # costly errors are rare, so costs are skew and the luck stated is low
    assert .6 * optimism < luck < 1.2 * optimism


def test_the_luck_of_symmetric_costs_is_right_on_average():
    "Errors of cost 1 and probability one half: (21.3) is exact up to the normal approximation."
    rng, rows = np.random.default_rng(0), []
    y = np.zeros(400, int)
    for _ in range(120):
        found = best_of(y, rng.integers(2, size=(8, 400)), [[0, 1], [1, 0]], n_resamples=100, rng=rng)
        rows.append([.5 - found.estimate[0], found.luck])
    optimism, luck = np.mean(rows, axis=0)
    error = np.std([a - b for a, b in rows]) / np.sqrt(120)
    assert luck == pytest.approx(optimism, abs=4 * error) and luck > .02


def test_the_luck_of_clusters_is_that_of_a_bootstrap_of_clusters():
    """Twelve of unequal size, what they add to the cost resampled. (The ratio of sums and sizes would also count
    the bias of a ratio, which is no luck of a choice.)"""
    lucks = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        who = np.repeat(np.arange(12), rng.integers(2, 30, 12))
        y = (rng.random(len(who)) < .3).astype(int)
        wrong = rng.random((3, len(who))) < rng.beta(1, 4, (3, 12))[:, who]
        cost = wrong.mean(1)
        adds = np.stack([np.bincount(who, row) for row in wrong - cost[:, None]]) / len(who)
        drawn = cost + rng.multinomial(12, np.full(12, 1 / 12), 20_000) @ adds.T
        found = best_of(y, np.where(wrong, 1 - y, y), [[0, 1], [1, 0]], clusters=who, n_resamples=20_000,
                        rng=0)
        lucks.append([found.luck, np.sqrt(2) * (cost[drawn.argmin(1)] - drawn.min(1)).mean()])
    ours, wanted = np.transpose(lucks)
    assert ours == pytest.approx(wanted, abs=.01) and ours.sum() == pytest.approx(wanted.sum(), rel=.1)


def test_a_model_far_ahead_owes_nothing_to_luck():
    y, votes = a_set(2000, 0, (.02, .4, .5))
    found = best_of(y, votes, BILL, rng=0)
    assert found.model[0] == "m0" and abs(found.luck) < .01


@pytest.mark.parametrize("priors", [None, [.8, .2]])
def test_ends_of_the_best_are_those_of_interval(priors):
    y, votes = a_set(300, 1, (.1, .12, .15, .3))
    found = best_of(y, votes, BILL, confidence=.9, priors=priors, rng=0)
    tables = {name: confusion_counts(y, d) for name, d in votes.items()}
    alone = {name: interval(t, BILL, confidence=.9, priors=priors) for name, t in tables.items()}
    top = interval(tables[found.model[0]], BILL, confidence=1 - .1 / 4, priors=priors)
    assert found.high[0] == pytest.approx(top.high) and found.low[0] == pytest.approx(min(one.low
            for one in alone.values()))
    each = slice(1, None)
    assert found.high[each] == pytest.approx([alone[name].high for name in found.model[each]])
    assert (np.diff(found.estimate[each]) >= 0).all() and found.estimate[0] == found.estimate[1]
    assert found.model[0] == found.model[1]
    assert not [note for note in found.notes if "cost the same" in note], "nobody is tied alone"
    assert found.part.tolist() == ["the cheapest of 4", *["by itself"] * 4]


def test_ties_are_named():
    y = np.array([0, 1] * 30)
    found = best_of(y, {"b": y, "a": y, "c": 1 - y}, BILL, rng=0)
    assert found.model[0] == "b" and "b, a cost the same" in found.notes[-1]


# margins

@pytest.mark.parametrize("method", ["normal", "auto"])
def test_a_margin_keeps_its_level(method):
    "Is B at most a share costlier than A? A difference in which A's cost is scaled."
    p = np.array([[[.70, .02], [.03, .05]], [[.02, .01], [.01, .16]]])
    a, b = ((p.sum(axis=axis) * BILL).sum() for axis in (2, 1))
    if b < a:
        p, a, b = np.swapaxes(p, 1, 2), b, a
    sets = np.random.default_rng(0).multinomial(800, p.ravel(), 500).reshape(-1, 2, 2, 2)
    rate = np.mean([difference(np.swapaxes(s, 1, 2), BILL, factor=b / a, confidence=.9, method=method).high < 0
                    for s in sets])
    assert rate <= binom.ppf(.999, 500, .05) / 500 and (rate > .02 or method == "auto")


# house

def test_a_difference_that_every_sample_shows_is_not_certain():
    y = np.ones(30, int)
    found = simultaneous_differences(y, [y, 1 - y], BILL)
    assert found.estimate[0] == found.low[0] == -BILL[1][0] and found.high[0] > found.low[0]
    assert 0 < found.p_value[0] < .001 and found.told_apart[0]


def test_the_lowest_of_several_by_simulation():
    values, chance = cp._lowest_of(10, 500)
    sets = np.random.default_rng(0).binomial(500, .1, (20_000, 10)).min(axis=1) / 500
    assert chance.sum() == pytest.approx(1) and values @ chance == pytest.approx(sets.mean(), abs=1e-4 * 5)


def test_how_many_equal_samples_weighted_ones_are_worth():
    "Kish: the square of the sum of weights over the sum of squares, of each class."
    y, w = np.array([0, 0, 0, 1, 1]), np.array([1, 1, 4, 2, 2.])
    sizes = [cp.Losses(y, np.array([.6, .4]), False, weight=weight, costs=CostMatrix(BILL)).effective_sizes
             for weight in (w, None)]
    assert sizes[0] == pytest.approx([36 / 18, 2]) and sizes[1] == pytest.approx([3, 2])


def test_a_rate_has_the_interval_of_its_own_trials():
    y = np.repeat([0, 1], [80, 20])
    shy = cp.Decided("shy", "as given", np.where(np.arange(100) < 82, 0, 1))
    at = cp.Losses(y, np.array([.8, .2]), False, costs=CostMatrix.binary(fp=1, fn=10))
    (recall,) = read_requirements({"recall": .9}, at.costs)
    for confidence in (.8, .99):
        tail = (1 - confidence) / 2
        ends = beta.ppf([tail, 1 - tail], [18, 19], [3, 2])  # Clopper and Pearson, 18 of 20
        assert cp.rate_of(at, shy, recall, confidence) == pytest.approx([.9, *ends])


def test_draws_are_merged_by_twice_the_middle():
    rows = np.array([[2., 3, 4], [1, 2, 3], [3, 4, 6], [.01, .03, .02], [5, 3, 4]])
    assert cp._merged(rows).tolist() == [3, 2, 4, .04, 3]
    rows[3] = .4, .9, .8
    assert cp._merged(rows)[3] == 1


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
    """Large amounts that are rarely of the costly class: in two thirds of the sets none was, and the upper end
    lay below the truth, as the weights that restore the priors made small what the others could cost."""
    rng, sets, missed = np.random.default_rng(0), 60, 0
    amounts, risk = np.repeat([1., 100.], [100, 20]), np.repeat([.05, .02], [100, 20])
    own = np.zeros((120, 2, 2))
    own[:, 0, 1], own[:, 1, 0] = .01, amounts  # (row, class, decision)
    for _ in range(sets):
        y = (rng.random(120) < risk).astype(int)
        y[:2] = [1, 1] if y.sum() < 2 else y[:2]
        losses = cp.Losses(y, np.array([.1, .9]), True, None, clusters, costs=CostMatrix(own.mean(0)), own=own)
        found = cp.ask([losses.asks(cp.Decided("nobody", "as given", 0 * y))])
        missed += .9 * (risk @ amounts) / risk.sum() > found.high[0]
    assert missed <= .1 * sets
