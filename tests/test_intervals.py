"""The interval engine as its callers use it: stacks, labels, priors, every option of every function, losses
and clusters, notes, warnings, errors."""
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from scipy.stats import binom
from numpy.testing import assert_allclose

from cost_eval import bootstrap as bs
from cost_eval import mean_law
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.costs import CostMatrix, losses
from cost_eval.metrics import METRICS, expected_cost, naive_cost, normalized_expected_cost
from cost_eval.confusion import BinaryCounts
from conftest import refuses

COUNTS = np.array([[70, 5, 2], [4, 60, 1], [3, 2, 53]])
COSTS = np.array([[0, 1, 4.], [2, 0, 30], [1, 3, 0]])
PRIORS = np.array([.2, .3, .5])
RNG = np.random.default_rng(0)
STACK = RNG.multinomial(200, COUNTS.ravel() / COUNTS.sum(), 5).reshape(-1, 3, 3)
JOINTS = RNG.multinomial(300, RNG.dirichlet(np.full(27, .5)), 4).reshape(-1, 3, 3, 3)
SINGLE = [name for name, record in bs.METHODS.items() if record.single]
PAIRED = [name for name, record in bs.METHODS.items() if record.paired]
BOTH = [(bs.interval, name, COUNTS) for name in SINGLE] + [(bs.difference, name, JOINTS[0])
        for name in PAIRED]
IDS = [f"{f.__name__}-{name}" for f, name, _ in BOTH]


def ends(found): return [found.low, found.high]


def test_a_guarantee_is_told_for_each_kind_of_sample():
    assert [bs.METHODS["clopper_pearson"].guarantee_for(kind).partition(":")[0] for kind
            in bs.KINDS] == ["proved", "conjectured", "measured", "conjectured", "conjectured", "none"]
    assert {record.guarantee_for("range seen").partition(":")[0]
            for record in bs.METHODS.values()} == {"none"}


@pytest.mark.parametrize("priors", [None, PRIORS])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("name", SINGLE)
def test_a_stack_is_its_members(name, priors, normalized):
    options, rng = dict(method=name, priors=priors, normalized=normalized), np.random.default_rng(3)
    found, each = bs.interval(STACK, COSTS, rng=3, **options), [bs.interval(m, COSTS, rng=rng, **options)
            for m in STACK]
    for field in ("low", "high", "mean", "standard_error", "distribution"):
        assert_allclose(getattr(found, field), [getattr(one, field) for one in each], rtol=1e-9, atol=1e-10)
    assert found.notes == () and isinstance(each[0].low, float)


@pytest.mark.parametrize("priors", [None, PRIORS])
@pytest.mark.parametrize("name", PAIRED)
def test_a_stack_of_differences_is_its_members(name, priors):
    rng = np.random.default_rng(3)
    found = bs.difference(JOINTS, COSTS, method=name, priors=priors, rng=3)
    each = [bs.difference(m, COSTS, method=name, priors=priors, rng=rng) for m in JOINTS]
    for field in ("low", "high", "mean", "p_value", "rejects"):
        assert_allclose(getattr(found, field), [getattr(one, field) for one in each], rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("name", SINGLE)
def test_counts_and_costs_broadcast(name):
    costs = np.stack([COSTS, 3 * COSTS + 2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = bs.interval(STACK[:, None], costs, method=name, rng=0)
        assert found.low.shape == (5, 2) and found.distribution.shape[:2] == (5, 2)
        one = bs.interval(COUNTS, costs, method=name, rng=0)
        assert_allclose(one.low[0], bs.interval(COUNTS, COSTS, method=name, rng=0).low)
        assert_allclose([one.low[1], one.high[1]], [3 * one.low[0] + 2, 3 * one.high[0] + 2], rtol=2e-4)
    if not bs.METHODS[name].needs_rng: assert_allclose(found.low[:, 1], 3 * found.low[:, 0] + 2, rtol=2e-4)


def test_priors_broadcast_too():
    found = bs.interval(COUNTS, COSTS, priors=np.stack([PRIORS, PRIORS[::-1]]))
    assert_allclose(found.low[1], bs.interval(COUNTS, COSTS, priors=PRIORS[::-1]).low)


@pytest.mark.parametrize("f, name, counts", BOTH, ids=IDS)
def test_more_confidence_is_wider_and_the_seed_decides(f, name, counts):
    found = [f(counts, COSTS, method=name, confidence=level, rng=0) for level in (.5, .8, .95, .99)]
    assert all(a.low >= b.low and a.high <= b.high and a.high - a.low < b.high - b.low
               for a, b in zip(found, found[1:]))
    assert f(counts, COSTS, method=name, confidence=.8, rng=0) == found[1]
    changed = f(counts, COSTS, method=name, confidence=.8, rng=1) != found[1]
    assert changed == bs.METHODS[name].needs_rng == (found[0].distribution.size == 1000)


# ---- stacks

# ---- what all methods share

@pytest.mark.parametrize("name", SINGLE)
def test_normalized_is_a_division(name):
    plain = bs.interval(COUNTS, COSTS, method=name, priors=PRIORS, rng=0)
    found = bs.interval(COUNTS, COSTS, method=name, priors=PRIORS, normalized=True, rng=0)
    assert_allclose([*ends(found), found.mean], np.array([*ends(plain), plain.mean]) / naive_cost(COSTS,
            PRIORS))
    own = bs.interval(COUNTS, COSTS, method=name, normalized=True, rng=0)
    given = bs.interval(COUNTS, COSTS, method=name, normalized=True, priors=COUNTS.sum(1) / COUNTS.sum(),
                        rng=0)
    assert_allclose(ends(own), ends(given))
    if not bs.METHODS[name].smoothing: assert_allclose(own.mean, normalized_expected_cost(COUNTS, COSTS))
    assert own.plot().get_xlabel() == "normalized cost"


@pytest.mark.parametrize("name", PAIRED)
def test_a_difference_turns_round(name):
    one = bs.difference(JOINTS[0], COSTS, method=name, rng=0)
    other = bs.difference(np.swapaxes(JOINTS[0], 1, 2), COSTS, method=name, rng=0)
    assert_allclose(one.mean, -other.mean, atol=1e-12)
    if not bs.METHODS[name].needs_rng: assert_allclose(ends(one), [-other.high, -other.low], atol=2e-3)
    assert_allclose(one.p_value, other.p_value, atol=.12)
    scaled = bs.difference(JOINTS[0], COSTS, method=name, factor=2., rng=0)
    first, second = (expected_cost(JOINTS[0].sum(axis), COSTS) for axis in (2, 1))
    if not bs.METHODS[name].smoothing: assert_allclose([one.mean, scaled.mean],
                                                       [first - second, first - 2 * second])


def test_a_difference_is_the_interval_of_the_differences():
    cells = (COSTS[:, :, None] - COSTS[:, None, :]).reshape(3, -1)
    for name in ("normal", "clopper_pearson", "betting"):
        for priors in (None, PRIORS):
            paired = bs.difference(JOINTS[1], COSTS, method=name, priors=priors)
            flat, weight = (JOINTS[1].reshape(1, -1), 1) if priors is None else (JOINTS[1].reshape(3, -1),
                    PRIORS[:, None])
            fit = bs.METHODS[name].function(flat, np.reshape(cells * weight, flat.shape))
            assert_allclose([*ends(paired), paired.mean], [*np.ravel(fit.ends(.025)), fit.mean], atol=1e-12)


def test_independent_difference_has_both_sets():
    for name in PAIRED:
        found = bs.independent_difference(COUNTS, STACK, COSTS, method=name, rng=0)
        if not bs.METHODS[name].smoothing: assert_allclose(found.mean, expected_cost(COUNTS, COSTS)
                - expected_cost(STACK, COSTS))
        assert ((found.low < found.mean) & (found.mean < found.high)).all()
        swapped = bs.independent_difference(STACK, COUNTS, COSTS, method=name, rng=0)
        if not bs.METHODS[name].needs_rng: assert_allclose(swapped.high, -found.low, atol=2e-3)


def test_reversed_costs_reverse_the_interval():
    for name in ("normal", "clopper_pearson", "betting"):
        for priors in (None, PRIORS):
            one, other = (bs.interval(COUNTS, sign * COSTS, method=name, priors=priors) for sign in (1, -1))
            # betting takes what is cheapest as paid by all, of gains the largest
            if priors is None or name != "betting":
                assert_allclose(ends(one), [-other.high, -other.low], atol=1e-9)
            one, other = (bs.difference(JOINTS[0], sign * COSTS, method=name, priors=priors)
                          for sign in (1, -1))
            assert_allclose(ends(one), [-other.high, -other.low], atol=1e-9)


@pytest.mark.parametrize("name", ["clopper_pearson", "betting", "binomial_ends"])
def test_ends_stay_where_costs_are_possible(name):
    """With half the weight on each class no classifier can cost more than (1 + 5) / 2, however few examples
    there are."""
    found = bs.interval([[3, 1], [1, 1]], [[0, 1], [5, 0]], priors=[.5, .5], method=name, rng=0,
                        confidence=.99)
    assert 0 <= found.low < found.high <= 3
    if name == "betting": assert found.high == 3


def test_binary_counts():
    counts, costs = [[90, 8], [1, 5]], [[0, 1], [20, 0]]
    assert bs.interval(BinaryCounts.from_matrix(counts), costs) == bs.interval(counts, costs)


# ---- labels and kinds of input

def test_classes_without_prior_are_left_out():
    counts = np.vstack([COUNTS[:2], np.zeros(3, int)])
    found = bs.interval(counts, COSTS, priors=[.4, .6, 0])
    assert_allclose(ends(found), ends(bs.interval(COUNTS[:2], COSTS[:2], priors=[.4, .6])))
    mixed = bs.interval(np.stack([COUNTS, counts]), COSTS, normalized=True)
    assert_allclose(mixed.low[1], bs.interval(COUNTS[:2], COSTS[:2], normalized=True).low, rtol=1e-6)


# ---- losses

def test_losses_of_counts_are_the_counts():
    y, d = RNG.integers(3, size=400), RNG.integers(3, size=400)
    other = np.where(RNG.random(400) < .7, y, d)
    by_counts, each = bs.interval(confusion_counts(y, d), COSTS), losses(y, d, COSTS)
    assert_allclose(ends(bs.loss_interval(each, bounds=(0, 30))), ends(by_counts), rtol=1e-9)
    paired = bs.difference(joint_counts(y, d, other, classes=range(3)), COSTS)
    found = bs.loss_difference(each, losses(y, other, COSTS), bounds=(-30, 30))
    assert_allclose([*ends(found), found.p_value, found.mean], [*ends(paired), paired.p_value, paired.mean],
                    rtol=1e-9)


@pytest.mark.parametrize("name", ["normal", "clopper_pearson", "betting"])
def test_losses_as_cells(name):
    x = np.round(RNG.exponential(size=60), 1)
    values, times = np.unique(x, return_counts=True)
    assert_allclose(ends(bs.loss_interval(x, method=name)), ends(bs.interval([times], [values], method=name)))
    wider = bs.loss_interval(x, method=name, bounds=(0, 50))
    assert "only losses in the range seen" in bs.loss_interval(x).notes[0] and wider.notes == ()
    if name != "normal": assert wider.high > bs.loss_interval(x, method=name).high


X, G = RNG.exponential(size=120), np.repeat(np.arange(40), 3)
W = RNG.random(120) + .5


def cluster_sums(): return np.bincount(G, W * X), np.bincount(G, W)


def test_clusters_and_weights_linearised():
    a, b = cluster_sums()
    mean = (W @ X) / W.sum()
    error = np.sqrt(((a - mean * b)**2).sum() * 40 / 39) / W.sum()
    found = bs.loss_interval(X, sample_weight=W, clusters=[f"patient {g}" for g in G], method="normal",
                             confidence=.9)
    assert_allclose([found.mean, found.standard_error, *ends(found)],
                    [mean, error, *scipy.stats.norm.interval(.9, mean, error)])


def test_loss_difference_with_clusters():
    other = X + RNG.normal(.3, .2, 120)
    found = bs.loss_difference(X, other, clusters=G, method="normal")
    each = np.bincount(G, X - other) / 3
    assert_allclose([found.mean, found.p_value],
                    [each.mean(), 2 * scipy.stats.norm.sf(abs(each.mean()) / scipy.stats.sem(each))])
    assert found.rejects and bs.loss_difference(X, X, clusters=G, rng=0).p_value == 1


# ---- warnings and notes

def test_confidence_beyond_the_replicates_warns():
    with pytest.warns(UserWarning, match="n_resamples=2000 is the least, 40000 is better"): bs.bcost(COUNTS,
            COSTS, confidence=.999, rng=0)
    with pytest.warns(UserWarning, match="n_resamples=2000 is the least") as found: bs.interval(COUNTS, COSTS,
            method="percentile", confidence=.999, rng=0)
    assert found[0].filename == __file__, "the warning points at the caller's line"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bs.bcost(COUNTS, COSTS, confidence=.999, n_resamples=2000, rng=0)
        bs.interval(COUNTS, COSTS, confidence=1 - 1e-6)


def test_notes_name_what_was_not_seen():
    counts, costs = [[450, 50], [0, 500]], CostMatrix([[0, 1], [1000, 0]], classes=["well", "sick"])
    note, = bs.interval(counts, costs).notes
    assert "class 'sick' decided as 'well' (costs 1000)" in note and "1000; the upper end" in note
    assert bs.interval([[450, 50], [1, 499]], costs).notes == () == bs.interval(counts, costs,
            method="normal").notes


# ---- the widget

# ---- the registry

def test_fewer_units_have_the_same_moments():
    "Mean, variance and third moment, of costs of a skewed law and of ratios of few values."
    rng = np.random.default_rng(1)
    n, x, w = rng.integers(1, 4, 20_000), 3 * rng.beta(.3, 2, 20_000) ** 2, rng.uniform(.5, 2, 20_000)
    for a, b in ((x, np.ones(20_000)), (w * rng.choice([.1, .5], 20_000), w)):
        fewer = mean_law.compressed(n, a, b, 0, 3)
        assert len(fewer[0]) < 1500
        for power in range(4):
            assert [(fewer[0] * part**power).sum() for part
                    in fewer[1:]] == pytest.approx([(n * part**power).sum() for part in (a, b)], rel=1e-12)


def test_fewer_units_of_two_continuous_parts_have_the_same_means_and_covariance():
    rng = np.random.default_rng(2)
    n, b = rng.integers(1, 4, 30_000), rng.uniform(.5, 2, 30_000)
    a = b * 3 * rng.beta(.3, 2, 30_000)
    fewer = mean_law.compressed(n, a, b, 0, 3, fine=4)
    assert len(fewer[0]) < 15_000
    for i, j in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)):
        assert (fewer[0] * fewer[1]**i * fewer[2]**j).sum() == pytest.approx((n * a**i * b**j).sum(),
                rel=1e-12)


# ---- speed

@pytest.mark.parametrize("shape", [(2, 2), (3, 4)])
def test_the_default_asks_its_integral_a_few_times(shape, monkeypatch):
    "Both ends of a table, and of a thousand tables, in at most a dozen passes: Newton from a good start."
    costs = RNG.exponential(10, shape)
    sets = RNG.multinomial(1000, RNG.dirichlet(np.full(costs.size, .4)), 1000).reshape(-1, *shape)
    passes, log_above = [], mean_law._log_above
    monkeypatch.setattr(mean_law, "_log_above", lambda *parts: passes.append(0) or log_above(*parts))
    bs.interval(sets[0], costs)
    assert 2 <= len(passes) <= 12
    passes.clear()
    bs.interval(sets, costs)
    assert len(passes) <= 40


# ---- bad input

@pytest.mark.parametrize("f, name, counts", BOTH, ids=IDS)
def test_all_methods_refuse_halves_and_misspelt_options(f, name, counts):
    with pytest.raises(ValueError, match="whole.*loss_"):
        f(counts + .5, COSTS, method=name)
    with pytest.raises((ValueError, TypeError), match="laplace" if bs.METHODS[name].options else "lapalce"):
        f(counts, COSTS, method=name, lapalce=1)


test_bad_input = refuses([
    (lambda: bs.interval(COUNTS, COSTS, method="bdelta_cost"), "not for one classifier's cost"),
    (lambda: bs.difference(JOINTS[0], COSTS, method="bcost"), "not for differences.*bdelta_cost"),
    (lambda: bs.interval(COUNTS, COSTS, laplace=.1),
     "'clopper_pearson' has no such option; .*bcost"),
    (lambda: bs.interval([[1, 0], [0, 0]], [[0, 1], [1, 0]], method="normal"), "2 examples.*clopper_pearson"),
    (lambda: bs.interval(COUNTS, [[0, 1, 1], [0, 2, 3], [0, 1, 1]], normalized=True),
     "best fixed decision costs nothing"),
    (lambda: bs.interval([[5, 1], [0, 0]], [[0, 1], [1, 0]], priors=[.5, .5]), "class 1 has no example"),
    (lambda: bs.loss_interval([1, 2], clusters=[1, 1]), "2 examples"),
    (lambda: bs.loss_interval([1, 2, 3], clusters=[1, 1, 2], method="betting"), "betting.*clopper_pearson"),
    (lambda: bs.loss_interval([1, 2, 3], sample_weight=[0, 2, 2], clusters=[0, 1, 1]), "got 1"),
    (lambda: bs.loss_interval([1, 2], strata=[1, 2], shares={1: 1}), "shares: no weight for 2"),
    (lambda: bs.loss_interval([1, 2], strata=[1, 2], shares={1: 1, 2: 1, 3: 1}), "shares: no example of 3"),
    (lambda: bs.loss_interval([1, 2], bounds=(0, 1)), "bounds"),
])


@pytest.mark.parametrize("method", ["normal", "percentile"])
def test_the_unit_of_clustered_losses_does_not_matter(method):
    rng = np.random.default_rng(3)
    values, clusters = rng.exponential(size=200), rng.integers(0, 40, 200)
    one, small = (bs.loss_interval(values * unit, clusters=clusters, method=method, rng=0)
                  for unit in (1, 1e-4))
    assert [small.low, small.mean, small.high] == pytest.approx([1e-4 * one.low, 1e-4 * one.mean,
            1e-4 * one.high], rel=1e-9)
    light = bs.loss_interval(values, sample_weight=np.full(200, 1e-6), clusters=clusters, method=method,
                             rng=0)
    assert [light.low, light.mean, light.high] == pytest.approx([one.low, one.mean, one.high],
            rel=1e-9), "nor that of the weights"


TOLL = np.array([[40.], [-7]])  # what every example of a class costs, whatever is decided


@pytest.mark.parametrize("name", [name for name, record in bs.METHODS.items() if record.single])
@pytest.mark.parametrize("normalized", [False, True])
def test_what_every_example_of_a_class_costs_is_no_noise(name, normalized):
    """With priors it is known exactly, so it moves the interval and leaves its width alone."""
    counts, costs, priors = np.array([[450, 50], [5, 495]]), np.array([[0, 1.], [20, 0]]), np.array([.9, .1])
    options = {"method": name, "priors": priors, "rng": 0, "n_resamples": 300}
    plain, moved = (bs.interval(counts, c, **options) for c in (costs, costs + TOLL))
    toll = priors @ TOLL[:, 0]
    if normalized:
        moved = bs.interval(counts, costs + TOLL, normalized=True, **options)
        # in standard form it is not paid
        assert ends(moved) == pytest.approx(np.array(ends(plain)) / (priors @ costs).min(), rel=1e-5)
    else:
        assert ends(moved) == pytest.approx(np.array(ends(plain)) + toll, rel=1e-5)
        assert moved.mean == pytest.approx(plain.mean + toll)


@pytest.mark.parametrize("name", ["clopper_pearson", "betting", "normal"])
@pytest.mark.parametrize("priors", [None, [.9, .1]])
def test_what_every_example_costs_does_not_tell_two_test_sets_apart(name, priors):
    first, second, costs = [[450, 50], [5, 495]], [[860, 140], [6, 994]], np.array([[0, 1.], [20, 0]])
    found = [bs.independent_difference(first, second, c, method=name, priors=priors)
             for c in (costs, costs + 30)]
    assert ends(found[1]) == pytest.approx(ends(found[0]), abs=1e-6)
    assert found[1].p_value == pytest.approx(found[0].p_value, abs=1e-6)


def test_non_inferiority_with_priors_pays_the_toll_too():
    joint, costs, priors = [[[900, 10], [10, 30]], [[5, 8], [8, 929]]], np.array([[0, 1.],
            [5, 0]]), np.array([.9, .1])
    plain, moved = (bs.difference(joint, c, factor=1.1, priors=priors) for c in (costs, costs + TOLL))
    assert ends(moved) == pytest.approx(np.array(ends(plain)) - .1 * priors @ TOLL[:, 0], rel=1e-6)


def test_notes_name_what_an_error_costs_not_its_share_by_the_priors():
    counts, costs = [[900, 50], [0, 50]], [[0, 1], [1000, 0]]
    note, = bs.interval(counts, costs, priors=[.99, .01]).notes
    assert "class 1 decided as 0 (costs 1000) was seen among 1000" in note
    joint = [[[900, 40], [10, 0]], [[0, 0], [0, 50]]]
    assert "(costs 1000)" in " ".join(bs.difference(joint, costs, priors=[.99, .01]).notes)
    said = " ".join(bs.independent_difference(counts, counts, costs, priors=[.99, .01]).notes)
    assert ("class 1 decided as 0 (costs 1000) on the first test set" in said
            and "(costs 1000) on the second test set" in said)


def test_the_unit_of_weights_does_not_matter():
    "Clusters of two samples against each other: 2.4917 became 2.4846 when all weights were doubled."
    rng = np.random.default_rng(0)
    who, side, x = rng.integers(0, 15, 400), rng.random(400) < .33, rng.choice([0, 1, 7.], 400,
            p=[.75, .15, .1])
    given = {"strata": side, "shares": {True: 1, False: -1}, "bounds": (0, 7), "clusters": who}
    want = bs.loss_difference(x, 0 * x, **given)
    for unit in (2, .5, 3, 1 / 17):
        found = bs.loss_difference(x, 0 * x, sample_weight=np.full(400, unit), **given)
        assert (found.low, found.high) == pytest.approx((want.low, want.high), rel=1e-10)


def test_the_heaviest_unit_that_can_occur():
    rng = np.random.default_rng(0)
    x, batch = rng.choice([0, 1, 60.], 20_000, p=[.9, .0995, .0005]), rng.integers(0, 1000, 20_000)
    rows = bs.loss_interval(x, bounds=(0, 60))
    batches, wide = (bs.loss_interval(x, clusters=batch, bounds=(0, 60), heaviest=heaviest)
                     for heaviest in (1, None))
    assert batches.high - batches.low == pytest.approx(rows.high - rows.low, rel=.1)
    assert wide.high - wide.low > 3 * (rows.high - rows.low), "a batch of thirty-five rows, all at 60"
    with pytest.raises(ValueError, match="an example of weight 1 was seen"):
        bs.loss_interval(x, heaviest=.5)


def test_weighted_losses_that_are_equal_in_a_class():
    """Ratios w x / w that differ in their last digit are one value: an integral over their differences has no
    digits."""
    for seed in range(12):
        w = np.random.default_rng(seed).uniform(.2, 3, 120)
        options = {"strata": np.repeat([0, 1], [84, 36]), "shares": {0: .9, 1: .1},
                   "bounds": {0: (0, 3.), 1: (0, .5)}}
        found = bs.loss_interval(np.r_[np.zeros(84), np.full(36, .5)], sample_weight=w, **options)
        # at the low end nothing of class 1 is certain
        only = bs.loss_interval(np.zeros(84), sample_weight=w[:84], strata=np.zeros(84), bounds={0: (0, 3.)})
        assert found.high == pytest.approx(.05 + .9 * only.high,
                                           abs=1e-9) and 0 < found.low < .05 < found.high


@pytest.mark.parametrize("level", [0., 1., -1e4])
def test_what_all_examples_cost_takes_no_digits_from_several_samples(level):
    "Costs that differ in the ninth digit: the common part is known, of either test set."
    own = np.array([[0, 1e-9, 3e-10]])
    free, found = (bs.interval(np.stack([[[1, 5, 0]], [[0, 2, 7]]], 1)[0].reshape(2, 3), costs,
                               priors=[.3, .7])
                   for costs in (np.tile(own, (2, 1)), np.tile(own, (2, 1)) + level))
    width = free.high - free.low
    assert found.low - level == pytest.approx(free.low, abs=max(1e-6 * width, 4e-16 * abs(level)))
    assert found.high - level == pytest.approx(free.high, abs=max(1e-6 * width, 4e-16 * abs(level)))

@pytest.mark.parametrize("weight", [2., 20., 500.])
def test_two_samples_of_few_units_one_of_them_heavy(weight):
    """The level of a sum is that of an integral over one law, of both the exact ones; where an unseen unit weighs
    many times the others ends were short by half of the half width and more."""
    n, b = np.array([[[1., 2, 0], [2, 1, 0]]]), np.array([[[.5, 1, weight], [1, .3, weight]]])
    a, middle = b * [[[.2, 0, 1], [0, .6, 1]]], (np.arange(4000) + .5) / 4000
    levels = np.linspace(0, 1, 20_001)
    one, other = (
        np.concatenate([mean_law.share_above(*(np.repeat(part[:, s:s + 1], 5000, axis=0) for part in (n, a, b)),
                                             some) for some in (*np.split(levels[:-1], 4), np.ones(5000))])[:20_001]
        for s in (0, 1)
    )
    drawn = np.interp(middle, 1 - one, levels)
    low, high = (-mean_law.upper_level(n, -a, b, np.array([.025]))[0], mean_law.upper_level(n, a, b, np.array([.025]))[0])
    inside = high - .005 * (high - low) / 2
    above = [np.interp(x - drawn, levels, other, left=1, right=0).mean() for x in (high, inside)]
    assert above[0] <= .025 <= above[1] + 1e-4


def test_six_samples_of_costs_that_are_nearly_the_same():
    "Two test sets of three classes; the common .97 took a hundredth of the width of 1e-9."
    n = np.array([[1., 0, 0], [1, 0, 0], [0, 100000, 0], [2, 0, 0], [1, 0, 0], [1, 0, 0]])[None]
    prices = np.array([[.02608151423351941, .02608151424356889, .026081514239886517],
                       [.9678238361172286, .9678238359995271, .9678238355139972],
                       [.0060946507138551105, .006094650707799364, .006094650710882562]])
    a, tail = np.concatenate([prices, -prices])[None], np.array([.25])
    least = a.min(-1, keepdims=True)
    found, right = (mean_law.upper_level(n, costs, np.ones(a.shape), tail)[0] for costs in (a, a - least))
    assert found == pytest.approx(right + least.sum(), abs=1e-15)  # 4.544e-10; it was 4.486e-10


@pytest.mark.parametrize("priors", [None, [.5, .5], [1e-300, 1 - 1e-300]])
@pytest.mark.parametrize("miss", [1e-300, 1e-150, 1e-30, 1e30, 1e150, 1e300])
def test_no_number_overflows_on_the_way(priors, miss):
    "A stratum that is beyond the last digit of another one is none to be uncertain of."
    costs, joint = np.array([[0, 1.], [miss, 0]]), [[[85, 4], [3, 8]], [[2, 6], [5, 37]]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        single = bs.interval([[90, 5], [2, 3]], costs, priors=priors)
        paired = bs.difference(joint, costs, priors=priors)
        apart = bs.independent_difference([[90, 5], [2, 3]], [[80, 15], [2, 3]], costs, priors=priors)
    for found in (single, paired, apart):
        assert found.low < found.mean < found.high
    if priors == [.5, .5] and miss != 1e-30 and miss != 1e30:
        alone = bs.interval([[90, 5]] if miss < 1 else [[2, 3]], [[0, 1.]] if miss < 1 else [[miss, 0]])
        assert_allclose([2 * single.low, 2 * single.high], [alone.low, alone.high], rtol=1e-9)


# ---- the approximate line

AMOUNT = np.random.default_rng(7).lognormal(0, 1.1, 5000)
PAID = np.where(np.random.default_rng(8).random(5000) < .06, AMOUNT,
                np.where(np.random.default_rng(9).random(5000) < .05, .2, 0))
LINE = ("low", "high", "p_value", "seen")


def line(found): return [getattr(found.approximate, name) for name in LINE]


def test_the_approximate_line_costs_nothing_until_it_is_asked():
    found = bs.difference(JOINTS[0], COSTS)
    assert "approximate" not in vars(
        found) and found.approximate is found.approximate and "approximate" in vars(found)
    assert pickle.loads(pickle.dumps(bs.difference(JOINTS[0], COSTS))).approximate == found.approximate
    assert repr(found) == repr(bs.difference(JOINTS[0], COSTS)) and found == bs.difference(JOINTS[0], COSTS)


@pytest.mark.parametrize("priors", [None, PRIORS])
def test_a_stack_of_approximate_lines_is_its_members(priors):
    for stack, function in ((100 * STACK, bs.interval), (100 * JOINTS, bs.difference)):
        found = line(function(stack, COSTS, priors=priors))
        assert_allclose(found, np.transpose([line(function(one, COSTS, priors=priors)) for one in stack]),
                        rtol=1e-12)
        assert np.isfinite(found[0]).all()


def test_weights_of_1_clusters_of_1_and_bounds_of_each_row_are_the_plain_sample():
    "In all, with the class that was not seen; and moving, scaling, renaming rows changes nothing."
    x, n = np.where(PAID > .2, 2., PAID), len(PAID)
    plain, rng = line(bs.loss_interval(x, bounds=(0, 4))), np.random.default_rng(1)
    order = rng.permutation(n)
    for options in (dict(sample_weight=np.ones(n)), dict(clusters=np.arange(n)), dict(clusters=order),
                    dict(strata=np.zeros(n))):
        for bounds in ((0, 4), (np.zeros(n), 4), (np.zeros(n), np.full(n, 4.))):
            assert_allclose(line(bs.loss_interval(x, bounds=bounds, **options)), plain, rtol=1e-9)
    assert_allclose(line(bs.loss_interval(PAID[order], bounds=(0, AMOUNT[order] + .2))),
                    line(bs.loss_interval(PAID, bounds=(0, AMOUNT + .2))), rtol=1e-9)
    assert_allclose(line(bs.loss_interval(1e9 * x + 5, bounds=(5, 4e9 + 5)))[:2], 1e9 * np.array(plain[:2])
                    + 5, rtol=1e-6)


def test_the_approximate_test_is_its_interval():
    "p below the level if and only if 0 is outside; first minus second is minus the reverse."
    rng = np.random.default_rng(3)
    tables, outside = rng.multinomial(600, rng.dirichlet(np.full(8, .7), 60)).reshape(60, 2, 2, 2), 0
    for level in (.5, .95, .999):
        found = bs.difference(tables, [[0, 1], [4, 0]], confidence=level)
        here, other = found.approximate, bs.difference(tables.swapaxes(-1, -2), [[0, 1], [4, 0]],
                                                       confidence=level).approximate
        out = (here.low > 0) | (here.high < 0)
        assert (out == (here.p_value < 1 - level))[here.offered].all() and np.isnan(
            here.p_value[~here.offered]).all()
        assert_allclose([here.low, here.high, here.p_value], [-other.high, -other.low, other.p_value])
        outside += out.sum()
    assert 20 < outside < 160


def test_when_no_approximate_line_is_offered_it_says_why():
    few = bs.interval([[900, 90], [1, 9]], [[0, 1], [1000, 0]]).approximate
    assert not few.offered and np.isnan(
        few.low) and 0 < few.seen < 2 and "2 are needed" in few.reason and few.reason in repr(few)
    unknown = bs.loss_interval(PAID).approximate
    assert not unknown.offered and "bounds=" in unknown.reason and np.isnan(unknown.least_coverage)
    assert bs.loss_interval(PAID, bounds=(0, AMOUNT + .2)).approximate.offered  # as the words advise
    # any row may cost that much
    assert not bs.loss_interval(PAID, bounds=(0, 100 * AMOUNT.max())).approximate.offered
    assert not bs.loss_interval(np.zeros(50), bounds=(0, 1)).approximate.offered
    # a class of one example
    assert not bs.interval([[5, 0], [1, 0]], COSTS[:2, :2], priors=[.5, .5]).approximate.offered
    assert not bs.metric_interval([[90, 8], [3, 40]], "informedness").approximate.offered
    whole = bs.interval(100 * STACK, COSTS).approximate
    assert "5 offered" in repr(whole) and list(whole.to_frame()["low"]) == list(whole.low)


def test_a_heavier_unit_that_can_occur_is_a_costlier_case():
    x, w = np.where(PAID > .2, 2., PAID), np.random.default_rng(2).choice([1., 2], len(PAID))
    plain = bs.loss_interval(x, sample_weight=w, bounds=(0, 4)).approximate
    heavier = bs.loss_interval(x, sample_weight=w, bounds=(0, 4), heaviest=6).approximate
    assert_allclose(heavier.seen / plain.seen, ((w**3).sum() / (w**2).sum() / 6)**2, rtol=1e-9)
    assert heavier.high > plain.high


def test_where_the_two_lines_disagree_a_sentence_says_why():
    """A fee for all against misses that may cost any row's amount; a rule that can lose no more than a false
    alarm."""
    paid = [bs.loss_difference(PAID, np.full(5000, times * PAID.mean()), bounds=(-1, AMOUNT + .2))
            for times in (1.2, 1.4, 1.7)]
    assert [found.rejects for found in paid] == [False, False, True]
    assert [found.approximate.p_value < .05 for found in paid] == [False, True, True]
    assert [bool(found.approximate.reason) for found in paid] == [False, True,
            False] and "unseen" in paid[1].approximate.reason
    gain = bs.loss_difference(np.repeat([-19., 1, 0], [6, 20, 2974]), np.zeros(3000), bounds=(-19, 1))
    assert gain.rejects and gain.approximate.p_value > .05 and "only small losses" in gain.approximate.reason


@pytest.mark.parametrize("bounds, words", [
    ((np.zeros(5000), AMOUNT / 2), "at position"), ((0, np.full(5000, np.inf)), "at position"),
])
def test_bounds_of_each_row_are_checked(bounds, words):
    with pytest.raises(ValueError, match="bounds: .*" + words):
        bs.loss_interval(PAID, bounds=bounds)


def amounts_of(seed, n=60):
    "Losses and what each row can cost at least and at most, weights and clusters; a few rows weigh much."
    rng = np.random.default_rng(seed)
    most, least = rng.lognormal(0, 1.2, n), -rng.lognormal(-1, 1.2, n) * rng.integers(2)
    losses = np.where(rng.random(n) < .15, most, np.where(rng.random(n) < .1, least, 0))
    return losses, (least, most), rng.lognormal(0, .8, n), rng.integers(12, size=n)


@pytest.mark.parametrize("given", ["rows", "weights", "clusters", "both"])
@pytest.mark.parametrize("level", [.9, .95, .99])
def test_ranges_of_units_are_inside_what_the_largest_allows(given, level):
    "`heaviest` says that any unit may weigh as much as the heaviest seen, and cost as much as any other."
    for seed in range(25):
        losses, bounds, weight, group = amounts_of(seed)
        how = {"sample_weight": weight} if given in ("weights", "both") else {}
        how |= {"clusters": group} if given in ("clusters", "both") else {}
        mass = how.get("sample_weight", np.ones(60))
        heaviest = (np.bincount(group, mass) if "clusters" in how else mass).max()
        own = bs.loss_interval(losses, bounds=bounds, confidence=level, **how)
        any_ = bs.loss_interval(losses, bounds=(bounds[0].min(), bounds[1].max()), heaviest=heaviest,
                                confidence=level, **how)
        slack = (1e-9 if level > .9 else .02) * (any_.high - any_.low)  # three may cost the most, log(20) < 3
        assert any_.low - slack <= own.low < own.mean < own.high <= any_.high + slack


def test_ranges_of_rows_are_the_largest_ones_capped_and_added():
    "The upper end by hand: the capped rows with their part of the size, and what any of them can cost."
    for seed in range(10):
        losses, (_, most), weight, _ = amounts_of(seed)
        for w in (np.ones(60), weight):
            x, u = w * np.maximum(losses, 0), w * most
            cap = np.sort(u)[-4]
            part = w * np.minimum(1, cap / u)
            units = np.append(np.minimum(x, cap), np.minimum(u, cap)), np.tile(part, 2)
            capped = bs.Sample(np.repeat([[1, 0]], 60, 1), *(one[None] for one in units), kind="weights")
            found = bs.loss_interval(np.maximum(losses, 0), bounds=(0, most), sample_weight=w)
            high = bs.sample_interval(capped).high * part.sum() + np.maximum(u - cap, 0).sum()
            assert found.high == pytest.approx(high / w.sum(), rel=1e-9)


def test_rows_that_all_cost_the_most_are_known():
    most = np.random.default_rng(0).lognormal(0, 1, 30)
    assert bs.loss_interval(most, bounds=(0 * most, most)).high == pytest.approx(most.mean(), rel=1e-12)
    known = bs.loss_interval(most, bounds=(most, most), sample_weight=most)
    assert [known.low, known.high] == pytest.approx([known.mean] * 2, rel=1e-12)


@pytest.mark.parametrize("hazard", [1.5, 3.6])
@pytest.mark.parametrize("sizes", ["rows", "clusters"])
def test_ranges_cover_where_the_largest_are_missed_the_most(hazard, sizes):
    "A risk of 1 - l / u of the largest makes the cost as large as it can be where it is rarely seen."
    rng, missed, sets = np.random.default_rng(3), 0, 300
    for _ in range(sets):
        group = np.arange(250) if sizes == "rows" else np.repeat(np.arange(50), 5)
        most = rng.lognormal(0, 1, 250)
        whole = np.bincount(group, most)
        worst = np.sort(whole)[::-1]
        gaps = np.cumsum(np.log(worst)) - np.arange(1, len(worst) + 1) * np.log(np.append(worst[1:], 1e-9))
        k = np.searchsorted(gaps, hazard) + 1  # so many of the largest are at risk
        level = np.exp((np.log(worst[:k]).sum() - hazard) / k)
        risk = np.maximum(.01, 1 - level / whole)
        losses = np.where((rng.random(len(whole)) < risk)[group], most, 0)
        found = bs.loss_interval(losses, bounds=(0 * most, most), clusters=None if sizes == "rows" else group)
        truth = (risk[group] * most).mean()
        missed += not found.low <= truth <= found.high
    assert binom.cdf(missed - 1, sets, .05) < .999


# ---- masses are floats

def exact(counts, costs):
    "Mean, variance of the mean (over n and over n - 1) of counts of costs, in rational arithmetic."
    n = sum(counts)
    mean = sum(Fraction(k) * Fraction(c) for k, c in zip(counts, costs)) / n
    squares = sum(k * (Fraction(c) - mean)**2 for k, c in zip(counts, costs))
    return mean, squares / n**2, squares / n / (n - 1)


@pytest.mark.parametrize("size", [10**9, 3_037_000_501, 10**10, 10**12, 10**13, 10**15])
def test_masses_are_those_of_rational_arithmetic(size):
    "An int64 squared overflows from 3.04e9 on: the error was nan, or up to 700 times too large."
    rare = [size - size // 9 - 7, size // 9, 7, 0]
    table, paid = np.reshape(rare, (2, 2)), np.array([[0, 1.], [20, 0]])
    joint = np.reshape([*rare, *rare[::-1]], (2, 2, 2))
    apart = (np.array([[0, 1.], [20, 0]])[..., None] - np.array([[0, 1.], [20, 0]])[:, None]).ravel()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, unbiased in (("clopper_pearson", 1), ("percentile", 1), ("normal", 2)):
            options = dict(rng=0) if bs.METHODS[name].needs_rng else {}
            found = bs.interval(table, paid, method=name, **options), bs.difference(joint, paid, method=name,
                                                                                    **options)
            for one, counts, costs in zip(found, (rare, joint.ravel().tolist()), (paid.ravel(), apart)):
                mean, *variance = exact(counts, costs)
                assert one.mean == pytest.approx(float(mean), rel=1e-12, abs=1e-18)
                assert one.standard_error == pytest.approx(float(variance[unbiased - 1])**.5, rel=1e-9)
                assert one.low <= one.mean <= one.high
            each = [exact(row, costs) for row, costs in zip(([rare[0], rare[1]], [7, 3]), ([0, 1], [20, 0]))]
            classes = bs.interval([[rare[0], rare[1]], [7, 3]], paid, priors=[.75, .25], method=name,
                                  **options)
            variance = sum(w**2 * one[unbiased] for w, one in zip((Fraction(3, 4), Fraction(1, 4)), each))
            assert classes.standard_error == pytest.approx(float(variance)**.5, rel=1e-9)
        two = bs.independent_difference(table, table[:, ::-1], paid)
        sides = [exact(rare, paid.ravel()), exact(table[:, ::-1].ravel().tolist(), paid.ravel())]
        assert two.mean == pytest.approx(float(sides[0][0] - sides[1][0]), rel=1e-12)
        assert two.standard_error == pytest.approx(float(sides[0][1] + sides[1][1])**.5, rel=1e-9)
        line = bs.interval(table, paid).approximate
        assert line.offered and line.low < float(exact(rare, paid.ravel())[0]) < line.high


@pytest.mark.parametrize("size", [10**9, 10**12, 10**15])
def test_metrics_of_very_many_are_those_of_few(size):
    "Products of counts (MCC, kappa, odds ratios) would overflow from 3.04e9 on in whole numbers."
    few = np.array([[90, 8], [1, 3]])
    for name, metric in METRICS.items():
        given = metric.parameters([[0, 1], [20, 0]])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = metric(few * (size // 102), **given)
        assert_allclose(found, metric(few, **given), rtol=1e-12, err_msg=name)
