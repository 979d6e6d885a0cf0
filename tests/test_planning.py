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


def trade(costly, ratio, saved, added):
    joint = np.zeros((2, 2, 2))
    joint[0, 1, 1], joint[0, 0, 1], joint[0, 0, 0] = .05, added, .45 - added
    joint[1, 0, 0], joint[1, 0, 1], joint[1, 1, 1] = costly * (1 - saved), costly * saved, .5 - costly
    return joint, np.array([[0, 1.], [ratio, 0]])


CASE = trade(.02, 20, .5, .02)


def drawn(joint, n, n_sets, seed=0):
    return np.random.default_rng(seed).multinomial(n, joint.ravel(), n_sets).reshape(-1, *joint.shape)


def rejections(joint, costs, n):
    "Simulated, from the samples' differences: how often the z test rejects."
    sets, d = drawn(joint, n, 20_000).reshape(20_000, -1), (costs[:, :, None] - costs[:, None, :]).ravel()
    mean = sets @ d / n
    s = np.sqrt(np.maximum((sets * (d - mean[:, None])**2).sum(axis=1) / (n - 1), 0))
    return np.mean(np.abs(mean) > norm.isf(.025) * s / np.sqrt(n) * (1 + 1e-9))


@pytest.mark.parametrize("ratio", [1, 5, 300, 1e9])
def test_power_over_its_whole_range(ratio):
    sizes = [20, 50, 300, 1000, 30_000]
    power = pl.paired_power(*trade(.02, ratio, .5, .02), sizes, method="normal", n_sets=20_000)
    assert power == pytest.approx([rejections(*trade(.02, ratio, .5, .02), n) for n in sizes], abs=.015)


def test_power_of_many_kinds_is_simulated():
    p = np.random.default_rng(0).dirichlet(np.full(27, .3)).reshape(3, 3, 3)
    power = pl.paired_power(p, COSTS, [200, 500], n_sets=20_000, method="normal")
    assert power == pytest.approx([rejections(p, COSTS, n) for n in (200, 500)], abs=.015)
    once, again = (pl.paired_power(p, COSTS, 300, n_sets=100, rng=seed, method="normal") for seed in (1, 2))
    assert once != again and pl.paired_power(*CASE, 10**6, method="normal") == pytest.approx(1, abs=.01)


@pytest.mark.parametrize("method", ["normal", "auto", "bdelta_cost"])
def test_power_is_that_of_difference(method):
    joint, costs = trade(.04, 5, .5, .02)
    options = {"method": method, "n_resamples": 200, "confidence": .9}
    rate = difference(drawn(joint, 400, 300, seed=3), costs, rng=0, **options).rejects.mean()
    assert pl.paired_power(joint, costs, 400, n_sets=1000, **options) == pytest.approx(rate, abs=.09)


def test_power_knows_labels_pilots_shapes_levels_and_priors():
    joint, costs = CASE
    pilot, options = np.rint(joint * 1000).astype(int), {"method": "normal", "n_sets": 200}
    wanted = pl.paired_power(joint, costs, 500, **options)
    assert pl.paired_power(JointCounts(pilot), costs, 500, **options) == pytest.approx(wanted)
    turned = JointCounts(pilot[::-1, ::-1, ::-1], classes=(1, 0), decisions=(1, 0))
    assert pl.paired_power(turned, CostMatrix(costs), 500, **options) == pytest.approx(wanted)
    assert np.shape(pl.paired_power(joint, costs, [[100, 200], [300, 400]], n_sets=20)) == (2, 2)
    assert pl.paired_power(joint, costs, 500, confidence=.99) < pl.paired_power(joint, costs, 500) - .05
    alike = (joint + np.swapaxes(joint, 1, 2)) / 2
    level = pl.paired_power(alike, costs, 5000, n_sets=20_000, method="normal")
    assert level == pytest.approx(.05, abs=.006)
    named = CostMatrix(costs, classes=["fair", "fraud"])
    by_label = [pl.paired_power(joint, named, 500, priors=priors, **options)
                for priors in ({"fraud": .1, "fair": .9}, [.9, .1])]
    assert 0 < by_label[0] == by_label[1] != wanted


def test_a_power_is_as_sure_as_it_says_and_its_sizes_have_the_same_draws():
    """Where the models differ one way, the z test rejects from four disagreements on: a binomial chance,
    found to .5 / sqrt(n_sets); no disagreement possible, no power; more samples, or a larger saving, more."""
    joint = np.array([[[.98, 0], [0, 0]], [[0, .02], [0, 0]]])
    for confidence, least in ((.95, 4), (.99, 7)):
        options = {"confidence": confidence, "method": "normal"}
        found = [pl.paired_power(joint, [[0, 1], [9, 0]], 300, rng=seed, **options) for seed in range(20)]
        assert np.sqrt(np.mean((found - binom.sf(least - 1, 300, .02))**2)) < .5 / np.sqrt(2000)
    alike = np.array([[[.5, 0], [0, .1]], [[0, 0], [0, .4]]])
    assert pl.paired_power(alike, [[0, 1], [5, 0]], 500) == 0
    sizes = np.geomspace(200, 5000, 6).astype(int)
    power = np.array([pl.paired_power(*CASE, sizes, saving=saving, n_sets=100) for saving in (.1, .2)])
    assert (np.diff(power, axis=1) >= 0).all() and (np.diff(power, axis=0) >= 0).all()


# the test that will judge

def judged(joint, costs, n, n_sets, seed=0, **options):
    "Share of drawn test sets, cell by cell, that the default of `difference` rejects."
    return (difference(drawn(joint, n, n_sets, seed), costs, **options).p_value < .05).mean()


@pytest.mark.parametrize("ratio, n", [(1, 100), (5, 1500), (20, 60), (50, 700)])
def test_power_of_the_default_is_delivered_and_less_than_the_z_test_promises(ratio, n):
    joint, costs = trade(.02, ratio, .5, .02)
    power = pl.paired_power(joint, costs, n)
    assert power == pytest.approx(judged(joint, costs, n, 600), abs=4 * .5 / np.sqrt(600))
    assert ratio == 1 or power < pl.paired_power(joint, costs, n, method="normal")


@pytest.mark.parametrize("n", [8, 25])
@pytest.mark.parametrize("turned", [False, True])
def test_power_of_the_default_by_listing_every_test_set(n, turned):
    "Three kinds of differences: every outcome judged by `difference`, also where the second is the costlier."
    a, b = np.array([k for k in product(range(n + 1), repeat=2) if sum(k) <= n]).T
    tables, p, costs = np.zeros((len(a), 2, 2, 2), int), np.zeros((2, 2, 2)), np.array([[0, 1.], [3, 0]])
    tables[:, 1, 0, 1], tables[:, 0, 0, 1], tables[:, 0, 0, 0] = a, b, n - a - b
    p[1, 0, 1], p[0, 0, 1], p[0, 0, 0] = .3, .25, .45
    if turned:
        tables, p = np.swapaxes(tables, 2, 3), np.swapaxes(p, 1, 2)
    chance = multinomial.pmf(np.c_[a, b, n - a - b], n, [.3, .25, .45])
    total = chance @ (difference(tables, costs).p_value < .05)
    assert pl.paired_power(p, costs, n, n_sets=20_000) == pytest.approx(total, abs=4 * .5 / np.sqrt(20_000))


@pytest.mark.parametrize("ratio, saving, priors, options", [
    (5, .02, None, {}), (20, .1, None, {}), (50, 1., None, {}), (20, .1, [.9, .1], {"method": "normal"})])
def test_required_pairs_are_enough_and_not_too_many(ratio, saving, priors, options):
    (joint, costs), asked = trade(.02, ratio, .5, .02), {"saving": saving, "priors": priors}
    n, p = pl.required_pairs(joint, costs, **asked, **options), pl._with_saving(joint, costs, saving, priors)
    mean = (p * (costs[:, :, None] - costs[:, None, :])).sum((1, 2)) / p.sum((1, 2))
    assert mean @ (priors or p.sum((1, 2))) == pytest.approx(saving)
    assert judged(p, costs, n, 500, priors=priors, **options) == pytest.approx(.8, abs=.08)
    assert pl.paired_power(joint, costs, n, **asked, **options) == pytest.approx(.8, abs=.04)
    assert pl.required_pairs(joint, costs, **asked, method="normal") < n + len(options)


def test_required_pairs_fall_with_the_saving_rise_with_the_power_and_are_stable():
    found = np.reshape([pl.required_pairs(*CASE, saving=saving, power=power, n_sets=200)
                        for saving, power in product((.1, .4), (.5, .9))], (2, 2))
    assert (np.diff(found, axis=1) > 0).all() and (np.diff(found, axis=0) < 0).all()
    again = [pl.required_pairs(*CASE, saving=.2, rng=seed) for seed in range(3)]
    assert np.std(again) < .03 * np.mean(again)
    turned = pl.required_pairs(np.swapaxes(CASE[0], 1, 2), CASE[1], saving=-.2)
    assert turned == pytest.approx(again[0], rel=.01)


def test_the_nearest_probabilities():
    "Against a search over all probabilities of three kinds with that mean."
    q, joint = np.array([.9, .06, .04]), np.zeros((1, 3, 3))
    joint[0, 0, 0], joint[0, 0, 1], joint[0, 2, 0] = q
    found = pl._with_saving(joint, np.array([[0, 1., 5.]]), .5)[0]
    c = np.linspace(.1001, .25, 200_000)  # share of the last; the second follows from the mean
    p = np.array([1.5 - 6 * c, 5 * c - .5, c])
    with np.errstate(all="ignore"):
        best = np.nanargmin((p * np.log(p / q[:, None])).sum(0))
    assert [found[0, 0], found[0, 1], found[2, 0]] == pytest.approx(p[:, best], abs=2e-5)
