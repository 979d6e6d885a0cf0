"""Margineantu & Dietterich's experiments: each building block against a slow or independent way."""
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

sk = pytest.importorskip("sklearn")

from cost_eval.reproductions import bootstrap as paper

_SHARES = np.array([.2102, .4473, .2568, .0016, .0841])  # Table 3, typed here on purpose


@pytest.fixture(scope="module")
def small():
    return paper.population(0, 0, 20_000)


# Domains

@pytest.mark.parametrize("domain", range(5))
def test_areas_are_table_3(domain):
    rng = np.random.default_rng(domain)
    counts = np.bincount(paper.DOMAINS[domain].classify(rng.random((400_000, 2))), minlength=5)
    assert stats.chisquare(counts, _SHARES * 400_000).pvalue > 1e-3


# Costs and trees

@pytest.mark.parametrize("model", paper.MODELS)
def test_costs_follow_table_4(model):
    off = {"M1": 10, "M2": 100, "M3": 100, "M4": 1000, "M5": 1e4, "M6": 1000, "M7": 1000, "M8": 1e4,
           "M9": 2000}[model]
    on = {"M3": 10, "M8": 1000, "M9": 1000}.get(model, 0)
    costs = paper.draw_costs(model, 3000, rng=0)
    for true in range(5):
        for predicted in range(5):
            ratio = {"M6": 1, "M9": 1, "M7": -1}.get(model, 0)
            top = on if true == predicted else off * (_SHARES[predicted] / _SHARES[true])**ratio
            cell = costs[:, true, predicted]
            assert not cell.any() if top == 0 else stats.kstest(cell / top, "uniform").pvalue > 1e-4


def test_tree_decides_as_scikit_learn_says(small):
    points = np.random.default_rng(1).random((1000, 2), dtype=np.float32)
    tree = paper.weighted_tree(points, paper.DOMAINS[0].classify(points), small.costs[60])
    new = np.random.default_rng(2).random((3000, 2), dtype=np.float32)
    np.testing.assert_array_equal(paper.tree_decisions(tree, new), tree.predict(new))


def test_weighting_is_repetition():
    "Integer weights do what repeating the examples does: the same first split of the same mixture."
    points = np.random.default_rng(1).random((300, 2), dtype=np.float32)
    labels, each = paper.DOMAINS[0].classify(points), np.array([1, 2, 3, 7, 1])
    costs = np.outer(each, np.ones(5)) - np.diag(each)  # mean of a row is 0.8 times its weight
    repeated = np.repeat(np.arange(300), each[labels])
    tree = paper.weighted_tree(points, labels, costs, least=0)
    plain = sk.tree.DecisionTreeClassifier(criterion="entropy", random_state=0)
    plain.fit(points[repeated], labels[repeated])
    for name in ("threshold", "impurity", "value"):
        np.testing.assert_allclose(getattr(tree.tree_, name)[0], getattr(plain.tree_, name)[0], rtol=1e-6)
    new = np.random.default_rng(2).random((3000, 2), dtype=np.float32)
    assert (tree.predict(new) == plain.predict(new)).mean() > .97  # ties further down may fall either way


def test_population_is_counted_and_costed_right(small):
    from sklearn.metrics import confusion_matrix
    for i in (0, 55, 89):
        counts = confusion_matrix(small.labels, small.decisions[:, i], labels=range(5))
        np.testing.assert_array_equal(small.counts[i], counts)
        each = small.costs[i][small.labels, small.decisions[:, i]]
        assert small.true_cost[i] == pytest.approx(each.mean())
        np.testing.assert_allclose(next(small.sets(1, 200))[:, i], each[:200], rtol=1e-6)


# Replicates


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_holds_is_sorting(seed):
    rng = np.random.default_rng(seed)
    sums = rng.integers(0, 6, (100, 30)).astype(np.float32) * (rng.random(30) < .8)  # many ties
    value = rng.integers(0, 6, 30).astype(np.float32)
    low, high = np.sort(sums, axis=0)[[2, 97]]
    np.testing.assert_array_equal(paper.holds(sums, value), (low <= value) & (value <= high))


@pytest.mark.parametrize("laplace", [0., .1, 2.])
def test_replicates_have_the_moments_of_a_multinomial(small, laplace):
    "Mean and variance of n draws from (M + lambda)/(n + 25 lambda), in closed form."
    examples, pseudo = next(small.sets(1, 500))[:, :3], small.costs[:3].reshape(3, 25).T
    weights = paper.example_weights(500, 25, laplace, n_resamples=20_000, rng=3)
    sums = weights @ np.concatenate([examples, pseudo])
    for i in range(3):
        counts = np.bincount(5 * small.labels[:500] + small.decisions[:500, i], minlength=25)
        p = (counts + laplace) / (500 + 25 * laplace)
        mean, second = p @ pseudo[:, i], p @ pseudo[:, i]**2
        sd = np.sqrt(500 * (second - mean**2))
        assert sums[:, i].mean() == pytest.approx(500 * mean, abs=5 * sd / np.sqrt(20_000))
        assert sums[:, i].std() == pytest.approx(sd, rel=.03)


def replicates(rng, cells, costs, laplace=0.):
    "Word for word: draw so many of the cells' counts, cost them, sort."
    p = np.bincount(cells, minlength=costs.size) + laplace
    return np.sort(rng.multinomial(1000, p / p.sum(), 1000) @ costs.ravel()) / 1000


def test_coverage_is_that_of_the_pseudo_code(small):
    "The whole of Table 5 on twenty test sets."
    rng, sets, columns = np.random.default_rng(0), np.arange(20_000).reshape(20, 1000), (0, 20, 65)
    slow = np.empty((20, 3), bool)
    for i, k in np.ndindex(slow.shape):
        j, points = columns[k], sets[i]
        sums = replicates(rng, 5 * small.labels[points] + small.decisions[points, j], small.costs[j], .1)
        slow[i, k] = sums[25] <= small.true_cost[j] <= sums[974]
    fast = paper.bcost_holds(small, .1, 20, rng=1)
    # the ends are Monte Carlo: a test set on the edge may fall either way
    assert (fast[:, columns] == slow).mean() >= .95 and fast.shape == (20, 90)


def test_permuted_decisions_keep_the_confusion_matrix(small):
    other = paper.permuted(small, rng=0)
    np.testing.assert_array_equal(paper.count_all(other.labels, other.decisions), small.counts)
    assert (other.decisions != small.decisions).any(axis=0).all()


def test_bdelta_is_the_pseudo_code_on_joint_counts(small):
    other, rng, agree = paper.permuted(small, rng=0), np.random.default_rng(0), []
    fast = paper.bdelta_accepts(small, other, 0., 15, rng=1)
    for i, j in itertools.product(range(15), (3, 50)):
        points, costs = slice(1000 * i, 1000 * i + 1000), small.costs[j]
        rows = 5 * small.labels[points].astype(int) + small.decisions[points, j]
        cells = 5 * rows + other.decisions[points, j]
        sums = replicates(rng, cells, costs[:, :, None] - costs[:, None, :])
        agree.append((sums[25] <= 0 <= sums[974]) == fast[i, j])
    assert np.mean(agree) >= .93


def test_normal_readings():
    moments = np.array([[[1., 1.]], [[2., 2.]]])  # mean 1, s 2
    z = stats.norm.ppf(.975)
    for reading, se in zip(paper._READINGS, (2 / 1000**.5, 2 / 1000**.25, 4 / 1000**.5, 2., 4., 6., 20.),
                           strict=True):
        value = np.array([1 + .999 * z * se, 1 + 1.001 * z * se])
        assert paper._normal_holds(moments, value, reading).tolist() == [[True, False]]


# Power

def test_half_power():
    shares = np.array([0, .1, .2])
    rates = np.array([[.05, .05, .7], [.3, .1, .8], [.7, .2, .9]])
    half = paper.half_power(shares, rates)
    assert half[0] == pytest.approx(.15) and np.isnan(half[1])


def test_ratio_by_changing_every_label(small):
    cost = np.zeros(90)
    for shift in range(1, 5):  # each other label, equally often
        cost += paper.Population(small.costs, small.labels, None,
                                 paper.count_all(small.labels, (small.decisions + shift) % 5)).true_cost / 4
    np.testing.assert_allclose(paper.ratio_at_one(small), np.abs(cost - small.true_cost) / small.true_cost)


def test_a_test_that_is_merely_liberal_gains_nothing_at_equal_size():
    """The same statistic on two scales has the same power, although one would reject four times as many true
    hypotheses; a sharper one keeps its lead."""
    rng = np.random.default_rng(0)
    sets, blunt = rng.normal(size=(400, 3, 27)), 2 * rng.normal(size=(400, 3, 27))
    sharp, merely = (np.abs(sets + np.reshape([0, 1, 3], (3, 1)) + more) for more in (0, blunt))
    assert (sharp > 1).mean() > 4 * (sharp > 1.96)[:, 0].mean()
    np.testing.assert_allclose(paper.at_equal_size(sharp**3), paper.at_equal_size(sharp))
    sized = paper.at_equal_size(sharp)
    assert sized.shape == (3, 9) and sized[0] == pytest.approx(np.full(9, .05))
    beyond = stats.norm.cdf([-.96, 1.04]) + stats.norm.cdf([-2.96, -4.96])  # of |x + 1|, |x + 3| over 1.96
    assert sized[1:].mean(axis=1) == pytest.approx(beyond, abs=.03)
    assert (sized[1:] > paper.at_equal_size(merely)[1:]).all()


def test_ties_at_the_critical_value_are_decided_by_chance():
    "Counts of replicates: of ten sets one has 3, four have 2; so 1.5 in ten reject all of 3 and an eighth of 2."
    counts = np.array([3, 2, 2, 2, 2, 1, 1, 1, 0, 0]).repeat(3)
    under = np.tile(counts.reshape(10, 1, 1, 3), (1, 1, 9, 1))
    statistic = np.concatenate([under, under + 1], axis=1).reshape(10, 2, 27)
    assert paper.at_equal_size(statistic, .15) == pytest.approx(np.outer([.15, .5 + .3 / 8], np.ones(9)))


def test_the_statistics_of_a_set_decide_as_the_tests_do(small):
    "Fewer than 26 of 1,000 replicates beyond 0 is what `holds` says; the moments are numpy's."
    rng, weights = np.random.default_rng(0), paper.example_weights(1000, 0, 0., rng=1)
    own, other, worse = rng.exponential(size=(3, 1000, 27)).astype(np.float32)
    rank, shares = rng.permutation(1000) / 1000, (0., .3004, 1.)
    rarer, mean, s = paper._statistics(weights, shares, own, other, worse, rank)
    for k, q in enumerate(shares):
        d = own - np.where(rank[:, None] < q, worse, other)
        held = paper.holds(weights @ d, np.float32(0))
        np.testing.assert_array_equal(rarer[k] >= 26, held)
        np.testing.assert_allclose([mean[k], s[k]], [d.mean(0), d.std(0, ddof=1)], rtol=1e-3, atol=1e-6)
    assert (rarer < 26).any() and (rarer >= 26).any()


def a_power(half, ratio=1., width=0., last=1.):
    """Power that rises along a line to one half at `half` (9,), in the mean of matrices that are `width`
    apart, and is `last` at q = 1."""
    shares = np.array([0, .05, .2, .4, 1.])
    rates = np.minimum(shares[:, None] / (2 * half), 1)
    rates[-1] = last
    spread = np.array([-.5, 0, .5]) * np.reshape(width, (-1, 1)) * (shares[:, None, None] == .4)
    each = np.reshape(rates[:, :, None] + spread, (len(shares), 27))
    return paper._Power(shares, each, {}, np.repeat(np.broadcast_to(ratio, 9), 3), np.zeros((len(shares), 9)))


def test_the_gain_in_power_is_the_mean_over_shares_with_its_error_and_holm():
    runs = [a_power(np.ones(9))._replace(gain=np.outer([9., 1, 2, 3, 2], np.r_[np.zeros(6), .01 * i, 0, 0]
                                                       + np.linspace(-1e-4, 2e-4, 9) * (-1)**i))
            for i in range(4)]
    found = paper.power_gain(runs)
    assert found.loc["M7", "gain"] == pytest.approx(2 * .015)  # without q = 0
    assert found.loc["M7", "standard error"] == pytest.approx(2 * np.std([0, .01, .02, .03], ddof=1) / 2, rel=.02)
    p = stats.ttest_1samp([p.gain[1:, 6].mean() for p in runs], 0).pvalue
    assert found.loc["M7", "Holm's p"] == pytest.approx(min(9 * p, 1)) and found.loc["M1", "Holm's p"] == 1


def test_power_grows_from_the_level_to_one():
    result = paper.power(0, 0, 40, (0., .03, .3))
    curve = result.curves()
    assert curve[0, :5].mean() < .12 and curve[2, :5].min() > .95
    assert (result.curves("s: no √n")[:2] == 0).all()
    assert np.abs(curve - result.curves("s/√n, correct"))[:, :5].max() < .1


def test_budgets_are_kept(monkeypatch):
    "Every domain with every training set, domain by domain."
    monkeypatch.setattr(paper, "study", lambda *at: at)
    monkeypatch.setattr(paper, "power", lambda *at: at)  # domain, seed, test sets, shares
    assert paper.studies("quick") == [(d, s, 25, True) for d in range(5) for s in range(4)]
    assert paper.studies("full") == [(d, s, 1000, True) for d in range(5) for s in range(4)]
    assert paper.studies("quick", tests=False) == [(d, 0, 20, False) for d in range(5)]
    assert paper.powers("full") == [(d, s, 250, paper._SHARES) for d in range(5) for s in range(4)]
    assert paper.powers("quick") == [(d, 0, 100, paper._FEW_SHARES) for d in range(5)]
