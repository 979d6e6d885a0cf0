"Sample size and power: against simulation, listing of every test set, and the test that will judge."
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, multinomial, norm

from cost_eval import planning as pl
from cost_eval.bootstrap import difference
from cost_eval.confusion import JointCounts
from cost_eval.costs import CostMatrix

COSTS = np.array([[0, 1, 4.], [2, 0, 50], [1, 3, 0]])


# sample size

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
    power = pl.paired_power(*trade(.02, ratio, .5, .02), sizes, method="normal", n_sets=20_000)
    assert power == pytest.approx([rejections(*trade(.02, ratio, .5, .02), n) for n in sizes], abs=.015)


def test_power_of_many_kinds_is_simulated():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(27, .3)).reshape(3, 3, 3)
    power = pl.paired_power(p, COSTS, [200, 500], n_sets=20_000, method="normal")
    assert power == pytest.approx([rejections(p, COSTS, n, seed=1) for n in (200, 500)], abs=.015)
    assert pl.paired_power(p, COSTS, 300, n_sets=100, rng=1, method="normal") != pl.paired_power(p, COSTS,
            300, n_sets=100, rng=2, method="normal")
    assert pl.paired_power(*trade(.02, 20, .5, .4), 10**6, method="normal") == pytest.approx(1, abs=.01)


@pytest.mark.parametrize("method", ["normal", "auto", "bdelta_cost"])
def test_power_is_that_of_difference(method):
    joint, costs = trade(.04, 5, .5, .02)
    sets = np.random.default_rng(3).multinomial(400, joint.ravel(), 300).reshape(-1, 2, 2, 2)
    rate = np.mean(difference(sets, costs, method=method, n_resamples=200, rng=0, confidence=.9).rejects)
    power = pl.paired_power(joint, costs, 400, method=method, n_sets=1000, n_resamples=200, confidence=.9)
    assert power == pytest.approx(rate, abs=.09)


def test_power_knows_labels_pilots_shapes_and_levels():
    joint, costs = trade(.02, 20, .5, .02)
    pilot = JointCounts(np.rint(joint * 1000).astype(int))
    assert pl.paired_power(pilot, costs, 500, method="normal") == pytest.approx(pl.paired_power(joint, costs,
            500, method="normal"))
    turned = JointCounts(np.rint(joint * 1000).astype(int)[::-1, ::-1, ::-1], classes=(1, 0),
                         decisions=(1, 0))
    assert pl.paired_power(turned, CostMatrix(costs), 500, method="normal") == pytest.approx(
        pl.paired_power(joint, costs, 500, method="normal"))
    assert np.shape(pl.paired_power(joint, costs, [[100, 200], [300, 400]])) == (2,
            2) and isinstance(pl.paired_power(joint, costs, 100), float)
    assert pl.paired_power(joint, costs, 500, confidence=.99) < pl.paired_power(joint, costs, 500) - .05
    no_difference = (joint + np.swapaxes(joint, 1, 2)) / 2
    assert pl.paired_power(no_difference, costs, 5000, n_sets=20_000, method="normal") == pytest.approx(.05,
            abs=.006)


# the test that will judge

def test_a_power_is_as_sure_as_it_says_and_its_sizes_have_the_same_draws():
    """Where the models differ one way, the z test rejects from four disagreements on: a binomial chance,
    found to .5 / sqrt(n_sets); no disagreement possible, no power; more samples, or a larger saving, more."""
    joint = np.array([[[.98, 0], [0, 0]], [[0, .02], [0, 0]]])
    for confidence, least in ((.95, 4), (.99, 7)):
        found = [pl.paired_power(joint, [[0, 1], [9, 0]], 300, confidence=confidence, method="normal",
                                 rng=seed) for seed in range(20)]
        assert np.sqrt(np.mean((found - binom.sf(least - 1, 300, .02))**2)) < .5 / np.sqrt(2000)
    alike = np.array([[[.5, 0], [0, .1]], [[0, 0], [0, .4]]])
    assert pl.paired_power(alike, [[0, 1], [5, 0]], 500) == 0
    sizes, case = np.geomspace(200, 5000, 12).astype(int), trade(.02, 20, .5, .02)
    power = np.array([pl.paired_power(*case, sizes, saving=saving, n_sets=200) for saving in (.1, .15, .2)])
    assert (np.diff(power, axis=1) >= 0).all() and (np.diff(power, axis=0) >= 0).all()


def test_required_pairs_fall_with_the_saving_rise_with_the_power_and_are_stable():
    case = trade(.02, 20, .5, .02)
    found = np.array([[pl.required_pairs(*case, saving=saving, power=power, n_sets=500) for power in
                       (.5, .7, .8, .85, .9, .95)] for saving in (.1, .2, .4)])
    assert (np.diff(found, axis=1) > 0).all() and (np.diff(found, axis=0) < 0).all()
    again = [pl.required_pairs(*case, saving=.2, rng=seed) for seed in range(6)]
    assert np.std(again) < .03 * np.mean(again)


def judged(joint, costs, n, n_sets, seed=0):
    "Share of drawn test sets, cell by cell, that the default of `difference` rejects."
    sets = np.random.default_rng(seed).multinomial(n, joint.ravel(), n_sets)
    return (difference(sets.reshape(-1, *joint.shape), costs).p_value < .05).mean()


@pytest.mark.parametrize("ratio, n", [(1, 100), (5, 200), (5, 1500), (20, 60), (20, 500), (50, 700)])
def test_power_of_the_default_is_delivered(ratio, n):
    joint, costs = trade(.02, ratio, .5, .02)
    assert pl.paired_power(joint, costs, n) == pytest.approx(judged(joint, costs, n, 600),
            abs=4 * .5 / np.sqrt(600))


@pytest.mark.parametrize("n", [8, 25])
def test_power_of_the_default_by_listing_every_test_set(n):
    "Three kinds of differences: every outcome judged by `difference`, also where the second is the costlier."
    costs = np.array([[0, 1.], [3, 0]])
    joint = np.zeros((2, 2, 2))
    joint[1, 0, 1], joint[0, 0, 1], joint[0, 0, 0] = .3, .25, .45
    for p in (joint, np.swapaxes(joint, 1, 2)):
        total = 0.
        tables, chance = [], []
        for a, b in product(range(n + 1), repeat=2):
            if a + b <= n:
                table = np.zeros((2, 2, 2), int)
                table[(1, 0, 1) if p[1, 0, 1] else (1, 1, 0)], table[(0, 0, 1) if p[0, 0, 1]
                        else (0, 1, 0)], table[0, 0, 0] = a, b, n - a - b
                tables.append(table)
                chance.append(multinomial.pmf([a, b, n - a - b], n, [.3, .25, .45]))
        total = np.array(chance) @ (difference(np.stack(tables), costs).p_value < .05)
        sure = 4 * .5 / np.sqrt(20_000)
        assert pl.paired_power(p, costs, n, n_sets=20_000) == pytest.approx(total, abs=sure)


def test_the_z_test_promises_what_the_default_does_not_keep():
    for ratio in (5, 20, 50):
        joint, costs = trade(.02, ratio, .5, .02)
        assert pl.paired_power(joint, costs, 500) < .9 * pl.paired_power(joint, costs, 500, method="normal")


@pytest.mark.parametrize("ratio, saving", [(5, .02), (5, .1), (20, .1), (20, .5), (50, 1.)])
def test_required_pairs_are_enough_and_not_too_many(ratio, saving):
    joint, costs = trade(.02, ratio, .5, .02)
    n = pl.required_pairs(joint, costs, saving=saving)
    p = pl._with_saving(joint, costs, saving)
    assert (p * (costs[:, :, None] - costs[:, None, :])).sum() == pytest.approx(saving)
    assert judged(p, costs, n, 500) == pytest.approx(.8, abs=.08)
    assert pl.paired_power(joint, costs, n, saving=saving) == pytest.approx(.8, abs=.04)
    assert pl.required_pairs(joint, costs, saving=saving, method="normal") < n


def test_pilots_with_many_differences_are_planned_by_simulation():
    rng = np.random.default_rng(0)
    pilot = JointCounts(rng.multinomial(400, rng.dirichlet(np.full(27, .4))).reshape(3, 3, 3))
    n = pl.required_pairs(pilot, COSTS, saving=.4, n_sets=300)
    p = pl._with_saving(pilot.array / 400, COSTS, .4)
    assert judged(p, COSTS, n, 300, seed=1) == pytest.approx(.8, abs=.12)
    assert pl.required_pairs(pilot, COSTS, saving=.8, n_sets=300) < n < pl.required_pairs(pilot, COSTS,
            saving=.4, power=.95, n_sets=300)


def test_a_saving_of_either_sign():
    joint, costs = trade(.02, 20, .5, .02)
    turned = np.swapaxes(joint, 1, 2)
    assert pl.required_pairs(joint, costs, saving=.3) == pytest.approx(pl.required_pairs(turned, costs,
            saving=-.3), rel=.01)


def test_the_nearest_probabilities():
    "Against a search over all probabilities of three kinds with that mean."
    q = np.array([.9, .06, .04])
    joint = np.zeros((1, 3, 3))
    joint[0, 0, 0], joint[0, 0, 1], joint[0, 2, 0] = q
    costs = np.array([[0, 1., 5.]])
    found = pl._with_saving(joint, costs, .5)[0]
    c = np.linspace(.1001, .25, 200_000)  # share of the last; the second follows from the mean
    b = 5 * c - .5
    a = 1 - b - c
    with np.errstate(all="ignore"):
        distance = a * np.log(a / q[0]) + b * np.log(b / q[1]) + c * np.log(c / q[2])
    best = np.nanargmin(np.where((a > 0) & (b > 0), distance, np.nan))
    assert (found[0, 0], found[0, 1], found[2, 0]) == pytest.approx((a[best], b[best], c[best]), abs=2e-5)

# what each side can do

FRAUD = CostMatrix([[0, 1], [20, 0]], classes=["genuine", "fraud"], decisions=["pass", "block"])


def against_pass():
    "Joint probabilities of a rule and of a second that always passes."
    p = np.zeros((2, 2, 2))
    p[:, :, 0] = [[.97, .02], [.004, .006]]
    return p


def test_priors_by_label_reach_the_interval_that_is_planned():
    share = {"genuine": .9, "fraud": .1}
    kept = {"n_sets": 50, "method": "normal"}
    assert 0 < pl.paired_power(against_pass(), FRAUD, 3000, priors=share, **kept) == pl.paired_power(
        against_pass(), FRAUD, 3000, priors=[.9, .1], **kept)
