"""The interval engine as its callers use it: stacks, priors, every option of every function, losses and
clusters, notes, warnings, errors."""
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose as close
from scipy.stats import norm

from conftest import refuses
from cost_eval import bootstrap as bs
from cost_eval import mean_law
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.costs import CostMatrix, losses
from cost_eval.metrics import expected_cost, naive_cost, normalized_expected_cost

COUNTS = np.array([[70, 5, 2], [4, 60, 1], [3, 2, 53]])
COSTS = np.array([[0, 1, 4.], [2, 0, 30], [1, 3, 0]])
PRIORS = np.array([.2, .3, .5])
RNG = np.random.default_rng(0)
STACK = RNG.multinomial(200, COUNTS.ravel() / COUNTS.sum(), 5).reshape(-1, 3, 3)
JOINTS = RNG.multinomial(300, RNG.dirichlet(np.full(27, .5)), 4).reshape(-1, 3, 3, 3)
BILL, TWENTY = np.array([[0, 1.], [5, 0]]), np.array([[0, 1.], [20, 0]])
SINGLE = [name for name, record in bs.METHODS.items() if record.single]
PAIRED = [name for name, record in bs.METHODS.items() if record.paired]
BOTH = [(bs.interval, name, STACK) for name in SINGLE] + [(bs.difference, name, JOINTS) for name in PAIRED]
IDS = [f"{f.__name__}-{name}" for f, name, _ in BOTH]
every_use = pytest.mark.parametrize("f, name, tables", BOTH, ids=IDS)
SURE = ["normal", "clopper_pearson", "betting"]  # draw nothing


def ends(found):
    return [found.low, found.high]


def test_a_guarantee_is_told_for_each_kind_of_sample():
    told = [bs.METHODS["clopper_pearson"].guarantee_for(kind).partition(":")[0] for kind in bs.KINDS]
    assert told == ["proved", "conjectured", "measured", "conjectured", "conjectured", "measured", "none"]
    assert all(record.guarantee_for("range seen").startswith("none") for record in bs.METHODS.values())
    found = bs.loss_interval([0, 0, 0, 0, 0, 10.], bounds=([0] * 6, [1] * 5 + [10]))  # fails in .0252 of all sets
    assert found.low > .0252 * 10 / 6 and found.guarantee.startswith("measured")


# ---- what all methods share

@every_use
@pytest.mark.parametrize("priors", [None, PRIORS])
def test_a_stack_is_its_members_drawn_one_after_the_other(f, name, tables, priors):
    rng, options = np.random.default_rng(3), {"method": name, "priors": priors}
    found, each = f(tables, COSTS, rng=3, **options), [f(one, COSTS, rng=rng, **options) for one in tables]
    for field in ("low", "high", "mean", "standard_error"):
        close(getattr(found, field), [getattr(one, field) for one in each], rtol=1e-6, atol=1e-10)
    assert isinstance(each[0].low, float)


@every_use
def test_more_confidence_is_wider_and_the_seed_decides(f, name, tables):
    found = [f(tables[0], COSTS, method=name, confidence=level, rng=0) for level in (.5, .8, .95, .99)]
    assert all(a.low >= b.low and a.high <= b.high and a.high - a.low < b.high - b.low
               for a, b in zip(found, found[1:]))
    assert f(tables[0], COSTS, method=name, confidence=.8, rng=0) == found[1]
    changed = f(tables[0], COSTS, method=name, confidence=.8, rng=1) != found[1]
    assert changed == bs.METHODS[name].needs_rng == (found[0].distribution.size == 1000)


@every_use
def test_all_methods_refuse_halves_and_misspelt_options(f, name, tables):
    with pytest.raises(ValueError, match="whole.*loss_"):
        f(tables[0] + .5, COSTS, method=name)
    with pytest.raises((ValueError, TypeError), match="laplace" if bs.METHODS[name].options else "lapalce"):
        f(tables[0], COSTS, method=name, lapalce=1)


@pytest.mark.parametrize("name", SINGLE)
def test_counts_costs_and_priors_broadcast(name):
    costs = np.stack([COSTS, 3 * COSTS + 2])
    found, one = (bs.interval(counts, costs, method=name, rng=0) for counts in (STACK[:, None], COUNTS))
    assert found.low.shape == (5, 2) and found.distribution.shape[:2] == (5, 2)
    close(one.low[0], bs.interval(COUNTS, COSTS, method=name, rng=0).low)
    close([one.low[1], one.high[1]], [3 * one.low[0] + 2, 3 * one.high[0] + 2], rtol=2e-4)
    if name in SURE:
        turned = bs.interval(COUNTS, COSTS, priors=np.stack([PRIORS, PRIORS[::-1]]), method=name)
        close(turned.low[1], bs.interval(COUNTS, COSTS, priors=PRIORS[::-1], method=name).low)


@pytest.mark.parametrize("name", SINGLE)
def test_normalized_is_a_division(name):
    def found(**options):
        one = bs.interval(COUNTS, COSTS, method=name, rng=0, **options)
        return np.array([*ends(one), one.mean])

    close(found(priors=PRIORS, normalized=True), found(priors=PRIORS) / naive_cost(COSTS, PRIORS))
    own = found(normalized=True)
    close(own, found(normalized=True, priors=COUNTS.sum(1) / COUNTS.sum()))
    if not bs.METHODS[name].smoothing:
        close(own[2], normalized_expected_cost(COUNTS, COSTS))


@pytest.mark.parametrize("name", PAIRED)
def test_a_difference_of_pairs_or_test_sets_turns_round(name):
    pair = bs.difference(JOINTS[0], COSTS, method=name, factor=2., rng=0)
    first, second = (expected_cost(JOINTS[0].sum(axis), COSTS) for axis in (2, 1))
    apart = bs.independent_difference(COUNTS, STACK, COSTS, method=name, rng=0)
    assert ((apart.low < apart.mean) & (apart.mean < apart.high)).all()
    if not bs.METHODS[name].smoothing:
        close(pair.mean, first - 2 * second)
        close(apart.mean, expected_cost(COUNTS, COSTS) - expected_cost(STACK, COSTS))
    if name in SURE:
        turned = bs.independent_difference(STACK, COUNTS, COSTS, method=name, rng=0)
        close([apart.low, apart.high, apart.p_value], [-turned.high, -turned.low, turned.p_value], rtol=1e-9)
        one, other = (bs.difference(m, COSTS, method=name) for m in (JOINTS[0], np.swapaxes(JOINTS[0], 1, 2)))
        close([one.low, one.high, one.p_value], [-other.high, -other.low, other.p_value], rtol=1e-6)


@pytest.mark.parametrize("name", ["clopper_pearson", "betting", "binomial_ends"])
def test_ends_stay_where_costs_are_possible(name):
    """With half the weight on each class no classifier can cost more than (1 + 5) / 2, however few examples
    there are."""
    found = bs.interval([[3, 1], [1, 1]], BILL, priors=[.5, .5], method=name, rng=0, confidence=.99)
    assert 0 <= found.low < found.high <= 3 and (name != "betting" or found.high == 3)


def test_classes_without_prior_are_left_out():
    counts, two = np.vstack([COUNTS[:2], np.zeros(3, int)]), (COUNTS[:2], COSTS[:2])
    close(ends(bs.interval(counts, COSTS, priors=[.4, .6, 0])), ends(bs.interval(*two, priors=[.4, .6])))
    mixed = bs.interval(np.stack([COUNTS, counts]), COSTS, normalized=True)
    close(mixed.low[1], bs.interval(*two, normalized=True).low, rtol=1e-6)


# ---- losses

def test_losses_of_counts_are_the_counts():
    y, d = RNG.integers(3, size=(2, 400))
    other = np.where(RNG.random(400) < .7, y, d)
    each, found = losses(y, d, COSTS), bs.interval(confusion_counts(y, d), COSTS)
    close(ends(bs.loss_interval(each, bounds=(0, 30))), ends(found), rtol=1e-9)
    paired = bs.difference(joint_counts(y, d, other, classes=range(3)), COSTS)
    rows = bs.loss_difference(each, losses(y, other, COSTS), bounds=(-30, 30))
    close([*ends(rows), rows.p_value, rows.mean], [*ends(paired), paired.p_value, paired.mean], rtol=1e-9)


X, G = RNG.exponential(size=120), np.repeat(np.arange(40), 3)
W = RNG.random(120) + .5


def test_clusters_and_weights_linearised():
    a, b, mean = np.bincount(G, W * X), np.bincount(G, W), W @ X / W.sum()
    error = np.sqrt(((a - mean * b)**2).sum() * 40 / 39) / W.sum()
    found = bs.loss_interval(X, sample_weight=W, clusters=[f"patient {g}" for g in G], method="normal")
    close([found.mean, found.standard_error, *ends(found)], [mean, error, *norm.interval(.95, mean, error)])
    other = X + RNG.normal(.3, .2, 120)
    z = scipy.stats.ttest_1samp(np.bincount(G, X - other) / 3, 0).statistic
    found = bs.loss_difference(X, other, clusters=G, method="normal")
    close([found.mean / found.standard_error, found.p_value], [z, 2 * norm.sf(abs(z))])
    assert found.rejects and bs.loss_difference(X, X, clusters=G).p_value == 1


def test_the_unit_of_weights_does_not_matter():
    "Clusters of two samples against each other: 2.4917 became 2.4846 when all weights were doubled."
    rng = np.random.default_rng(0)
    x, who = rng.choice([0, 1, 7.], 400, p=[.75, .15, .1]), rng.integers(0, 15, 400)
    side = rng.random(400) < .33
    given = {"strata": side, "shares": {True: 1, False: -1}, "bounds": (0, 7), "clusters": who}
    want = ends(bs.loss_difference(x, 0 * x, **given))
    for unit in (2, .5, 1 / 17):
        found = bs.loss_difference(x, 0 * x, sample_weight=np.full(400, unit), **given)
        assert ends(found) == pytest.approx(want, rel=1e-10)


# ---- what is known is no noise

TOLL = np.array([[40.], [-7]])  # what every example of a class costs, whatever is decided
TABLE, SHARE = np.array([[450, 50], [5, 495]]), np.array([.9, .1])


@pytest.mark.parametrize("name", SINGLE)
def test_what_every_example_of_a_class_costs_is_no_noise(name):
    """With priors it is known exactly, so it moves the interval and leaves its width alone; in standard form
    it is not paid."""
    options = {"method": name, "priors": SHARE, "rng": 0, "n_resamples": 300}
    plain, moved = (bs.interval(TABLE, costs, **options) for costs in (TWENTY, TWENTY + TOLL))
    close([*ends(moved), moved.mean], np.array([*ends(plain), plain.mean]) + SHARE @ TOLL[:, 0], rtol=1e-5)
    moved = bs.interval(TABLE, TWENTY + TOLL, normalized=True, **options)
    close(ends(moved), np.array(ends(plain)) / (SHARE @ TWENTY).min(), rtol=1e-5)


@pytest.mark.parametrize("name", SURE)
@pytest.mark.parametrize("priors", [None, SHARE])
def test_what_every_example_costs_does_not_tell_two_test_sets_apart(name, priors):
    found = [bs.independent_difference(TABLE, [[860, 140], [6, 994]], costs, method=name, priors=priors)
             for costs in (TWENTY, TWENTY + 30)]
    close(*([*ends(one), one.p_value] for one in found), atol=1e-6)
    joint = [[[900, 10], [10, 30]], [[5, 8], [8, 929]]]
    plain, moved = (bs.difference(joint, costs, factor=1.1, priors=SHARE) for costs in (BILL, BILL + TOLL))
    # non-inferiority pays it, too
    close(ends(moved), np.array(ends(plain)) - .1 * SHARE @ TOLL[:, 0], rtol=1e-6)


@pytest.mark.parametrize("level", [0., 1., -1e4])
def test_what_all_examples_cost_takes_no_digits_from_several_samples(level):
    "Costs that differ in the ninth digit: the common part is known, of either test set."
    counts, own = [[1, 5, 0], [0, 2, 7]], np.tile([0, 1e-9, 3e-10], (2, 1))
    free, found = (np.array(ends(bs.interval(counts, own + toll, priors=[.3, .7]))) for toll in (0, level))
    close(found - level, free, rtol=0, atol=max(1e-6 * np.ptp(free), 4e-16 * abs(level)))


def test_two_samples_of_few_units_one_of_them_heavy():
    """The level of a sum is that of an integral over one law, of both the exact ones; where an unseen unit
    weighs many times the others ends were short by half of the half width and more."""
    n, b = np.array([[[1., 2, 0], [2, 1, 0]]]), np.array([[[.5, 1, 20], [1, .3, 20]]])
    a, levels = b * [[[.2, 0, 1], [0, .6, 1]]], np.linspace(0, 1, 4001)
    one, other = (mean_law.share_above(*(np.repeat(part[:, [s]], 4001, axis=0) for part in (n, a, b)), levels)
                  for s in (0, 1))
    drawn = np.interp((np.arange(2000) + .5) / 2000, 1 - one, levels)
    low, high = (sign * mean_law.upper_level(n, sign * a, b, np.array([.025]))[0] for sign in (-1, 1))
    above, inside = (np.interp(x - drawn, levels, other, left=1, right=0).mean()
                     for x in (high, high - .0025 * (high - low)))
    assert above <= .025 <= inside + 1e-4


@pytest.mark.parametrize("priors", [None, [.5, .5], [1e-300, 1 - 1e-300]])
@pytest.mark.parametrize("miss", [1e-300, 1e-30, 1e30, 1e300])
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
    if priors == [.5, .5] and abs(np.log10(miss)) == 300:
        alone = bs.interval([[90, 5]] if miss < 1 else [[2, 3]], [[0, 1.]] if miss < 1 else [[miss, 0]])
        close(2 * np.array(ends(single)), ends(alone), rtol=1e-9)


# ---- fewer units

LEVEL, WEIGHT = 3 * RNG.beta(.3, 2, 30_000), RNG.uniform(.5, 2, 30_000)


@pytest.mark.parametrize("a, b, options, most, powers", [
    (LEVEL, np.ones(30_000), {}, 1500, [(1, 0), (2, 0), (3, 0), (0, 0)]),
    (WEIGHT * RNG.choice([.1, .5], 30_000), WEIGHT, {}, 1500, [(1, 0), (2, 0), (3, 0), (0, 1), (0, 3)]),
    (WEIGHT * LEVEL, WEIGHT, {"fine": 4}, 15_000, [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]),
], ids=["costs", "ratios of few values", "two continuous parts"])
def test_fewer_units_have_the_same_moments(a, b, options, most, powers):
    "Mean, variance and third moment of either part; of two continuous ones means and covariance."
    n = np.random.default_rng(1).integers(1, 4, 30_000)
    m, x, y = mean_law.compressed(n, a, b, 0, 3, **options)
    assert len(m) < most
    for i, j in powers:
        assert (m * x**i * y**j).sum() == pytest.approx((n * a**i * b**j).sum(), rel=1e-12)


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


# ---- warnings, notes, errors

def test_confidence_beyond_the_replicates_warns():
    with pytest.warns(UserWarning, match="n_resamples=2000 is the least, 40000 is better"):
        bs.bcost(COUNTS, COSTS, confidence=.999, rng=0)
    with pytest.warns(UserWarning, match="n_resamples=2000 is the least") as found:
        bs.interval(COUNTS, COSTS, method="percentile", confidence=.999, rng=0)
    assert found[0].filename == __file__, "the warning points at the caller's line"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bs.bcost(COUNTS, COSTS, confidence=.999, n_resamples=2000, rng=0)
        bs.interval(COUNTS, COSTS, confidence=1 - 1e-6)


def test_notes_name_what_was_not_seen_and_what_it_costs_not_its_share_by_the_priors():
    counts, costs = [[900, 50], [0, 50]], CostMatrix([[0, 1], [1000, 0]], classes=["well", "sick"])
    for priors in (None, [.99, .01]):
        note, = bs.interval(counts, costs, priors=priors).notes
        assert "class 'sick' decided as 'well' (costs 1000) was seen among 1000" in note
        said = " ".join(bs.independent_difference(counts, counts, costs, priors=priors).notes)
        for which in ("first", "second"):
            assert f"class 'sick' decided as 'well' (costs 1000) on the {which} test set" in said
    joint = [[[900, 40], [10, 0]], [[0, 0], [0, 50]]]
    assert "(costs 1000)" in " ".join(bs.difference(joint, costs, priors=[.99, .01]).notes)
    assert bs.interval([[450, 50], [1, 499]], costs).notes == ()
    assert bs.interval(counts, costs, method="normal").notes == ()


AMOUNT = np.random.default_rng(7).lognormal(0, 1.1, 5000)
PAID = np.where(np.random.default_rng(8).random(5000) < .06, AMOUNT,
                np.where(np.random.default_rng(9).random(5000) < .05, .2, 0))

test_bad_input = refuses([
    (lambda: bs.interval(COUNTS, COSTS, method="bdelta_cost"), "not for one classifier's cost"),
    (lambda: bs.difference(JOINTS[0], COSTS, method="bcost"), "not for differences.*bdelta_cost"),
    (lambda: bs.interval(COUNTS, COSTS, laplace=.1), "'clopper_pearson' has no such option; .*bcost"),
    (lambda: bs.interval([[1, 0], [0, 0]], BILL, method="normal"), "2 examples.*clopper_pearson"),
    (lambda: bs.interval(TABLE, [[0, 1], [0, 2]], normalized=True), "best fixed decision costs nothing"),
    (lambda: bs.interval([[5, 1], [0, 0]], BILL, priors=[.5, .5]), "class 1 has no example"),
    (lambda: bs.metric_interval(TABLE, lambda counts: counts[1, 1]), "metric: .* makes .* of counts"),
    (lambda: bs.metric_interval(TABLE, "f_beta", beta=[1, 2]), "beta: one number is needed"),
    (lambda: bs.loss_interval([1, 2], clusters=[1, 1]), "2 examples"),
    (lambda: bs.loss_interval([1, 2, 3], clusters=[1, 1, 2], method="betting"), "betting.*clopper_pearson"),
    (lambda: bs.loss_interval([1, 2, 3], sample_weight=[0, 2, 2], clusters=[0, 1, 1]), "got 1"),
    (lambda: bs.loss_interval([1, 2], strata=[1, 2], shares={1: 1}), "shares: no weight for 2"),
    (lambda: bs.loss_interval([1, 2], strata=[1, 2], shares={1: 1, 2: 1, 3: 1}), "shares: no example of 3"),
    (lambda: bs.loss_interval([1, 2], bounds=(0, 1)), "bounds"),
    (lambda: bs.loss_interval(PAID, bounds=(np.zeros(5000), AMOUNT / 2)), "bounds: .*at position"),
    (lambda: bs.loss_interval([1, 2], heaviest=.5), "an example of weight 1 was seen"),
])


# ---- the approximate line

def line(found):
    return [getattr(found.approximate, name) for name in ("low", "high", "p_value", "seen")]


def test_the_approximate_line_costs_nothing_until_it_is_asked():
    found, again = (bs.difference(JOINTS[0], COSTS) for _ in "ab")
    assert "approximate" not in vars(found) and found.approximate is found.approximate
    assert pickle.loads(pickle.dumps(again)).approximate == found.approximate
    assert repr(found) == repr(again) and found == again


def test_weights_of_1_clusters_of_1_and_bounds_of_each_row_are_the_plain_sample():
    x, n = np.where(PAID > .2, 2., PAID), len(PAID)
    plain, order = line(bs.loss_interval(x, bounds=(0, 4))), np.random.default_rng(1).permutation(n)
    for options in ({"sample_weight": np.ones(n)}, {"clusters": order}, {"strata": np.zeros(n)}):
        for bounds in ((0, 4), (np.zeros(n), np.full(n, 4.))):
            close(line(bs.loss_interval(x, bounds=bounds, **options)), plain, rtol=1e-9)


def test_the_approximate_test_is_its_interval():
    "p below the level if and only if 0 is outside; first minus second is minus the reverse."
    rng = np.random.default_rng(3)
    tables = rng.multinomial(600, rng.dirichlet(np.full(8, .7), 60)).reshape(60, 2, 2, 2)
    for level in (.5, .95, .999):
        here, other = (bs.difference(part, [[0, 1], [4, 0]], confidence=level).approximate
                       for part in (tables, tables.swapaxes(-1, -2)))
        out = (here.low > 0) | (here.high < 0)
        assert (out == (here.p_value < 1 - level))[here.offered].all() and 3 < out.sum() < 57
        assert np.isnan(here.p_value[~here.offered]).all()
        close([here.low, here.high, here.p_value], [-other.high, -other.low, other.p_value])


def test_when_no_approximate_line_is_offered_it_says_why():
    few = bs.interval([[900, 90], [1, 9]], [[0, 1], [1000, 0]]).approximate
    assert not few.offered and np.isnan(few.low) and 0 < few.seen < 2
    assert "2 are needed" in few.reason and few.reason in repr(few)
    unknown = bs.loss_interval(PAID).approximate
    assert not unknown.offered and "bounds=" in unknown.reason and np.isnan(unknown.least_coverage)
    assert bs.loss_interval(PAID, bounds=(0, AMOUNT + .2)).approximate.offered  # as the words advise
    for found in (bs.loss_interval(PAID, bounds=(0, 100 * AMOUNT.max())),  # any row may cost that much
                  bs.loss_interval(np.zeros(50), bounds=(0, 1)),
                  bs.interval([[5, 0], [1, 0]], BILL, priors=[.5, .5]),  # a class of one example
                  bs.metric_interval([[90, 8], [3, 40]], "informedness")):
        assert not found.approximate.offered
    whole = bs.interval(100 * STACK, COSTS).approximate
    assert "5 offered" in repr(whole) and list(whole.to_frame()["low"]) == list(whole.low)


def test_a_heavier_unit_that_can_occur_is_a_costlier_case():
    x, w = np.where(PAID > .2, 2., PAID), np.random.default_rng(2).choice([1., 2], len(PAID))
    plain, heavier = (bs.loss_interval(x, sample_weight=w, bounds=(0, 4), heaviest=one).approximate
                      for one in (None, 6))
    close(heavier.seen / plain.seen, ((w**3).sum() / (w**2).sum() / 6)**2, rtol=1e-9)
    assert heavier.high > plain.high


def test_where_the_two_lines_disagree_a_sentence_says_why():
    """A fee for all against misses that may cost any row's amount; a rule that can lose no more than a false
    alarm."""
    paid = [bs.loss_difference(PAID, np.full(5000, times * PAID.mean()), bounds=(-1, AMOUNT + .2))
            for times in (1.2, 1.4, 1.7)]
    told = [(one.rejects, one.approximate.p_value < .05, bool(one.approximate.reason)) for one in paid]
    assert told == [(False, False, False), (False, True, True), (True, True, False)]
    assert "unseen" in paid[1].approximate.reason
    gain = bs.loss_difference(np.repeat([-19., 1, 0], [6, 20, 2974]), np.zeros(3000), bounds=(-19, 1))
    assert gain.rejects and gain.approximate.p_value > .05 and "only small losses" in gain.approximate.reason


# ---- units with ranges of their own

def amounts_of(seed, n=60):
    "Losses and what each row can cost at least and at most, weights and clusters; a few rows weigh much."
    rng = np.random.default_rng(seed)
    most, least = rng.lognormal(0, 1.2, n), -rng.lognormal(-1, 1.2, n) * rng.integers(2)
    losses = np.where(rng.random(n) < .15, most, np.where(rng.random(n) < .1, least, 0))
    return losses, (least, most), rng.lognormal(0, .8, n), rng.integers(12, size=n)


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
    assert bs.loss_interval(most, bounds=(0 * most, most)).high == pytest.approx(most.mean(), rel=1e-12)
    known = bs.loss_interval(most, bounds=(most, most), sample_weight=most)
    assert ends(known) == pytest.approx([known.mean] * 2, rel=1e-12)


# ---- masses are floats

def exact(counts, costs):
    "Mean, variance of the mean (over n and over n - 1) of counts of costs, in rational arithmetic."
    n = sum(counts)
    mean = sum(Fraction(k) * Fraction(c) for k, c in zip(counts, costs)) / n
    squares = sum(k * (Fraction(c) - mean)**2 for k, c in zip(counts, costs))
    return mean, squares / n**2, squares / n / (n - 1)


@pytest.mark.parametrize("size", [10**9, 3_037_000_501, 10**12, 10**15])
@pytest.mark.parametrize("name, unbiased", [("clopper_pearson", 1), ("percentile", 1), ("normal", 2)])
def test_masses_are_those_of_rational_arithmetic(size, name, unbiased):
    "An int64 squared overflows from 3.04e9 on: the error was nan, or up to 700 times too large."
    rare = [size - size // 9 - 7, size // 9, 7, 0]
    table, joint = np.reshape(rare, (2, 2)), np.reshape([*rare, *rare[::-1]], (2, 2, 2))
    apart = (TWENTY[..., None] - TWENTY[:, None]).ravel()
    whole, turned = exact(rare, TWENTY.ravel()), exact(table[:, ::-1].ravel().tolist(), TWENTY.ravel())
    each = [exact(row, costs) for row, costs in zip((rare[:2], [7, 3]), TWENTY)]
    pairs = list(zip((Fraction(3, 4), Fraction(1, 4)), each))
    by_class = [sum(w**power * one[k] for w, one in pairs) for power, k in ((1, 0), (2, unbiased))]
    paired, options = exact(joint.ravel().tolist(), apart), {"method": name, "rng": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = [(bs.interval(table, TWENTY, **options), whole[0], whole[unbiased]),
                (bs.difference(joint, TWENTY, **options), paired[0], paired[unbiased]),
                (bs.interval([rare[:2], [7, 3]], TWENTY, priors=[.75, .25], **options), *by_class),
                (bs.independent_difference(table, table[:, ::-1], TWENTY, **options), whole[0] - turned[0],
                 whole[unbiased] + turned[unbiased])]
        line = bs.interval(table, TWENTY).approximate
    assert line.offered and line.low < float(whole[0]) < line.high
    for found, mean, variance in told:
        assert found.mean == pytest.approx(float(mean), rel=1e-12, abs=1e-18)
        assert found.low <= found.mean <= found.high
        assert found.standard_error == pytest.approx(float(variance)**.5, rel=1e-9)
