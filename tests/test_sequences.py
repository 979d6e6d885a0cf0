"""Looking again and watching: against other ways to compute the same, listing of every path, and simulation
at thousands of looks."""
from itertools import permutations, product

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import fisher_exact

from cost_eval import core
from cost_eval import mean_law as ml
from cost_eval import planning as pl
from cost_eval.costs import ExampleCosts
from cost_eval.bootstrap import independent_difference, interval, loss_interval
from cost_eval.confusion import ConfusionCounts
from cost_eval.costs import CostMatrix
from conftest import refuses, ROOT
import json

STAKES, SHARES = ml.STAKES, np.exp(ml.LOG_SHARES)


def stream(n=400, seed=0):
    return np.random.default_rng(seed).choice([0, 1, 20.], n, p=[.9, .07, .03])


# the ends, computed otherwise

def capital(y, b, v):
    "Gamblers' capital against a mean of v, bet by bet."
    each = np.ones(len(STAKES))
    for one, weight in zip(y, b):
        each = each * ((1 + STAKES * one) / (1 + STAKES * v))**weight
    return SHARES @ each


def least(y, b, tail):
    if capital(y, b, 0) < 1 / tail:
        return 0
    return brentq(lambda v: np.log(capital(y, b, v) * tail), 0, 1, xtol=1e-14)


@pytest.mark.parametrize("confidence", [.95, .5, .999])
@pytest.mark.parametrize("low, high", [(0, 20), (-5, 40)])
def test_the_ends_are_where_the_capital_reaches_the_bar(low, high, confidence):
    x, tail = stream(60), (1 - confidence) / 2
    found = pl.confidence_sequence(x, bounds=(low, high), confidence=confidence)
    y = (x - low) / (high - low)
    for n in (1, 2, 17, 60):
        ends = least(y[:n], np.ones(n), tail), least(1 - y[:n], np.ones(n), tail)
        assert found.low[n - 1] == pytest.approx(low + (high - low) * ends[0], abs=1e-9)
        assert found.high[n - 1] == pytest.approx(high - (high - low) * ends[1], abs=1e-9)
    assert found.mean == pytest.approx(np.cumsum(x) / np.arange(1, 61))


def test_newton_stays_on_the_safe_side(monkeypatch):
    "However few its steps, an end never passes the root."
    x, root, ends = stream(300), ml._root, []
    for steps in (0, 1, 2, 3, 40):
        monkeypatch.setattr(ml, "_root", lambda capital, start: root(capital, start, most=steps))
        found = pl.confidence_sequence(x, bounds=(0, 20))
        ends.append((found.low, -found.high, loss_interval(x, bounds=(0, 20), method="betting").low))
    for before, after in zip(ends, ends[1:]):
        assert (all(np.all(one <= other + 1e-13) for one, other in zip(before, after))
                and before[0][-1] < after[0][-1])


def test_own_bounds_are_where_their_capital_reaches_the_bar():
    rng = np.random.default_rng(0)
    high = rng.choice([.5, 1, 3, 100], 80)
    low = -rng.choice([0, .2], 80)
    x = low + (high - low) * rng.choice([0, .3, 1], 80, p=[.8, .1, .1])
    found = pl.confidence_sequence(x, bounds=(low, high))

    def logs(x, low, high, m):
        stakes, _place, logs = STAKES / (high - low)[0], .5, np.log(SHARES)
        for i, (one, a, c) in enumerate(zip(x, low, high - low)):
            guess, t = (.5 + sum((x[:i] - low[:i]) / (high - low)[:i])) / (i + 1), stakes * c
            z = (one - a) / c - guess
            bernstein = np.array([-np.log(1 - s) - s if s < .5 else np.nan for s in t]) * z**2
            logs = logs + stakes * (one - m) - np.where(t < .5, bernstein, t**2 / 8)
        return np.log(np.exp(logs - logs.max()).sum()) + logs.max()

    for n in (1, 5, 80):
        for end, sign in ((found.low[n - 1], 1), (found.high[n - 1], -1)):
            a, b = (low, high) if sign == 1 else (-high, -low)
            if abs(end - (low if sign == 1 else high)[:n].mean()) > 1e-9:
                assert logs(sign * x[:n], a[:n], b[:n], sign * end) == pytest.approx(np.log(40), abs=1e-7)
    assert (found.low <= found.high).all() and (found.low >= np.cumsum(low) / np.arange(1, 81) - 1e-12).all()


def test_clusters_move_it_when_they_are_complete():
    x = stream(200)
    alone = pl.confidence_sequence(x, bounds=(0, 20))
    ones = pl.confidence_sequence(x, bounds=(0, 20), clusters=np.arange(200), largest_cluster=1)
    assert np.array_equal(alone.low, ones.low) and np.array_equal(alone.high, ones.high)
    label, rng = np.repeat(list("abcdefghij"), [1, 5, 2, 3, 1, 8, 2, 2, 1, 5]), np.random.default_rng(1)
    y = rng.choice([0, 1.], len(label), p=[.4, .6])
    found = pl.confidence_sequence(y, bounds=(0, 1), clusters=label, largest_cluster=8, confidence=.5)
    ends = np.flatnonzero(np.append(label[1:] != label[:-1], True))
    share, size = [np.array([f(y[label == k]) for k in "abcdefghij"]) for f in (np.mean, len)]
    for k, end in enumerate(ends):
        assert found.low[end] == pytest.approx(least(share[:k + 1], size[:k + 1] / 8, .25), abs=1e-9)
    inside = np.setdiff1d(np.arange(1, len(y)), ends)
    assert np.array_equal(found.low[inside], found.low[inside - 1]) and found.low[0] >= 0
    wider = pl.confidence_sequence(y, bounds=(0, 1), clusters=label, largest_cluster=20, confidence=.5)
    assert wider.high[-1] - wider.low[-1] > found.high[-1] - found.low[-1]


# one look is the last of all looks

ONCE = {  # losses, probabilities, bounds
    "errors": ([0, 1], [.9, .1], (0, 1)),
    "rare and costly": ([0, 1, 100], [.94, .05, .01], (0, 100)),
    "far bounds": ([0, 1], [.8, .2], (-1000, 1e6)),
    "difference": ([-20, -1, 0, 1, 20], [.01, .1, .79, .08, .02], (-20, 20)),
    "one way": ([-1, 0, 20], [.2, .79, .01], (-1, 20)),
    "gains": ([-5, -1, 0], [.1, .4, .5], (-5, 0)),
    "quiet": ([9.8, 10, 10.1], [.3, .4, .3], (0, 20)),
    "nothing": ([0], [1], (0, 20)),
}


@pytest.mark.parametrize("confidence", [.2, .95, .9999])
@pytest.mark.parametrize("name", ONCE)
def test_one_look_is_the_last_of_all_looks(name, confidence):
    "Which does not depend on the order."
    values, p, bounds = ONCE[name]
    for n in (2, 5, 40, 1000):
        x = np.random.default_rng(n).choice(values, n, p=p).astype(float)
        once = loss_interval(x, bounds=bounds, method="betting", confidence=confidence)
        last, rounding = pl.confidence_sequence(x, bounds=bounds,
                                                confidence=confidence), 1e-12 * np.ptp(bounds)
        assert [once.low, once.high] == pytest.approx([last.low[-1], last.high[-1]], abs=rounding)


def test_one_look_at_strata_is_the_last_of_their_sequence():
    "Rows of two classes, each with the weight by which it counts."
    costs, priors = np.array([[0, 1.], [20, 0]]), np.array([.97, .03])
    for table in np.random.default_rng(0).multinomial([60, 40], [[.9, .1], [.2, .8]], (20, 2)):
        once = interval(table, costs, priors=priors, method="betting")
        z = costs * (priors * table.sum() / table.sum(1))[:, None]
        last = pl.confidence_sequence(np.repeat(z, table.ravel()), bounds=(0, z.max()))
        assert [once.low, once.high] == pytest.approx([last.low[-1], last.high[-1]], abs=1e-12)


# the promise

@pytest.mark.parametrize("p", [.02, .1, .3, .5, .8])
@pytest.mark.parametrize("confidence", [.3, .6, .8])
def test_every_path_listed(p, confidence):
    """The probability to leave out the mean at some of 12 looks, summed over all 4,096 paths; of any number:
    Ville, if the stakes share out no more than 1."""
    n = 12
    assert SHARES.sum() <= 1 + 1e-12 and (SHARES > 0).all() and (STAKES > 0).all()
    paths = np.array(list(product([0, 1], repeat=n)))
    chance = np.prod(np.where(paths, p, 1 - p), axis=1)
    y, looks = paths.cumsum(1), np.arange(1, n + 1)
    tail, left_out = (1 - confidence) / 2, np.zeros(len(paths), bool)
    for hits, v in ((y, p), (looks - y, 1 - p)):
        logs = hits[..., None] * np.log1p(STAKES) - looks[:, None] * np.log1p(STAKES * v)
        left_out |= (np.exp(logs) @ SHARES >= 1 / tail).any(1)
    assert chance @ left_out <= 1 - confidence
    for k in (0, 5, 1000, 4095):
        found = pl.confidence_sequence(paths[k], bounds=(0, 1), confidence=confidence)
        assert left_out[k] == ((found.low > p) | (found.high < p)).any()


def test_clusters_that_say_something_by_their_size():
    "The mean of rows, where large clusters cost more; and own bounds that drift."
    rng, left_out = np.random.default_rng(0), 0
    true = (20 * .3 + 8 * .05) / 28
    for _ in range(30):
        size = rng.choice([1, 2, 5, 20], 150)
        wrong = rng.random(150) < np.where(size == 20, .3, .05)
        code = np.repeat(np.arange(150), size)
        found = pl.confidence_sequence(wrong[code] * 1., bounds=(0, 1), clusters=code, largest_cluster=20)
        left_out += ((found.low > true) | (found.high < true)).any()
    assert left_out <= 4
    left_out = 0
    for _ in range(30):
        high = rng.exponential(1, 800) + .1
        p = .02 + .3 * (np.arange(800) % 300 > 150)
        found = pl.confidence_sequence(high * (rng.random(800) < p), bounds=(0 * high, high))
        true = np.cumsum(high * p) / np.arange(1, 801)
        left_out += ((found.low > true) | (found.high < true)).any()
    assert left_out <= 4


# properties

def test_signs_order_and_blocks_do_not_matter(monkeypatch):
    x, rng = stream(), np.random.default_rng(0)
    base = pl.confidence_sequence(x, bounds=(0, 20))
    turned = pl.confidence_sequence(-x, bounds=(-20, 0))
    assert turned.low == pytest.approx(-base.high) and turned.high == pytest.approx(-base.low)
    again = pl.confidence_sequence(rng.permutation(x), bounds=(0, 20))
    assert (again.low[-1], again.high[-1]) == pytest.approx((base.low[-1], base.high[-1]), abs=1e-12)
    own = pl.confidence_sequence(x, bounds=(np.zeros(400), np.full(400, 20.)))
    monkeypatch.setattr(core, "BLOCK_BYTES", 50_000)
    for name, bounds in ((base, (0, 20)), (own, (np.zeros(400), np.full(400, 20.)))):
        small = pl.confidence_sequence(x, bounds=bounds)
        assert small.low == pytest.approx(name.low, abs=1e-12) and small.high == pytest.approx(name.high,
                abs=1e-12)


def test_difference_sequence():
    a, b = stream(seed=1), stream(seed=2)
    found, turned = pl.difference_sequence(a, b, bounds=(-20, 20)), pl.difference_sequence(b, a,
            bounds=(-20, 20))
    alone = pl.confidence_sequence(a - b, bounds=(-20, 20))
    assert np.array_equal(found.low, alone.low) and found.low == pytest.approx(-turned.high)
    assert found.first_outside() is None and found.first_outside(19) == np.argmax(found.high < 19) + 1
    frame = found.to_frame()
    assert list(frame) == ["low", "mean", "high"] and frame.index[0] == 1 and len(frame) == 400
    assert found == pl.difference_sequence(a, b, bounds=(-20, 20)) and "400 looks" in repr(found)
    assert pl.confidence_sequence(a, bounds=(0, 20)).plot().get_xlim() == (1, 400)


def test_bounds_without_width_and_losses_without_spread():
    zero = np.zeros(5)
    assert pl.confidence_sequence(zero, bounds=(zero, zero)).high.tolist() == [0] * 5
    late = pl.confidence_sequence([0, 0, 1, 0, 1], bounds=(zero, np.array([0, 0, 1, 1, 1.])))
    assert late.high[1] == 0 and late.high[4] <= .6 + 1e-12
    same = pl.confidence_sequence([3.] * 5000, bounds=(0, 10))
    assert same.low[-1] < 3 < same.high[-1] and same.high[-1] - same.low[-1] < .5


X = [0, 1, 0, 1.]


test_bad_input = refuses([
    (lambda: pl.confidence_sequence(X, bounds=(0, np.inf)), "bounds: .*inf.*from the costs"),
    (lambda: pl.confidence_sequence(X, bounds=(1, 0)), "bounds: low must be below high"),
    (lambda: pl.confidence_sequence(X, bounds=(0, .5)), "losses: 1 at position 1 is outside bounds 0 to 0.5"),
    (lambda: pl.confidence_sequence(X, bounds=(0, 1), clusters=[0, 1, 0, 2], largest_cluster=2),
     "clusters: the rows of 0 are not together"),
    (lambda: pl.confidence_sequence(X, bounds=(0, 1), clusters=[0, 0, 1, 2]),
     "largest_cluster: None.*here up to 2"),
    (lambda: pl.confidence_sequence(X, bounds=(0, 1), clusters=[0, 0, 1, 2], largest_cluster=1),
     "largest_cluster: must be at least 2"),
    (lambda: pl.confidence_sequence(X, bounds=(np.zeros(4), np.ones(4)), clusters=[0, 0, 1, 1],
                                    largest_cluster=2), "bounds: arrays, with clusters="),
    (lambda: pl.difference_sequence(X, X[:3], bounds=(-1, 1)), "losses_b: 3 losses"),
    (lambda: pl.difference_sequence([2, 3], [0, 0], bounds=(-1, 1)), "losses_a - losses_b: 2 at position 0"),
    (lambda: pl.cost_alarm(X, bounds=(np.zeros(4), np.ones(4)), limit=.1), "bounds: two numbers"),
    (lambda: pl.cost_change([[9, 1], [1, 5]], [[9, 1], [0, 0]], [[0, 1], [5, 0]]).interval("rates"),
     "part: 'rates', but a class is missing"),
    (lambda: pl.cost_change([[9, 1], [1, 5]], [[9, 1], [1, 1]], [[0, 1], [5, 0]]).interval("amounts"),
     "part: .*amounts"),
    (lambda: pl.cost_change([[9.5, 1], [1, 5]], [[9, 1], [1, 1]], [[0, 1], [5, 0]]).interval(), "counts_b"),
    (lambda: pl.cost_alarm(X, bounds=(0, 1), limit=.1, looks=2),
     "looks: are planned for losses of two values"),
    (lambda: pl.cost_alarm(X, bounds=(0, 2), reference=X, looks=2),
     "looks: are planned for losses of two values"),
    (lambda: pl.cost_alarm(X, costs=[[0, 1], [.5, 0]], reference=X, looks=2),
     "looks: are planned for losses of two values"),
    (lambda: pl.cost_alarm(X, bounds=(0, 1), reference=X, looks=[1, 3]), "looks: the last is after 3 of 4"),
    (lambda: pl.cost_alarm(X, bounds=(0, 1), reference=X, looks=[3, 1, 4]), "looks: .*ascending"),
    (lambda: pl.cost_alarm(X, bounds=(0, 1), reference=X, looks=5), "looks: must be from 1 to 4"),
    (lambda: pl.cost_alarm(X, bounds=(0, 1), reference=[0, np.nan]), "reference"),
    (lambda: pl.required_reference(.5, 3, 100), "times: 3 times 0.5 is above 1"),
    (lambda: pl.required_reference(.01, 1.1, 50, n_sets=50),
     "rows: of 50 rows no reference gives a power of 0.8"),
    (lambda: pl.cost_change([[0, 0], [0, 0]], [[1, 1], [1, 1]], [[0, 1], [5, 0]]),
     "reference: a period without examples"),
])


# watching

def test_parts_of_a_change_are_averages_over_all_orders():
    rng = np.random.default_rng(0)
    old, new = rng.integers(1, 50, (2, 3, 4))
    c, d = rng.normal(size=(2, 3, 4))
    found = pl.cost_change(old, new, c, now_costs=d)

    def factors(table):
        return table.sum(1, keepdims=True) / table.sum(), table / table.sum(1, keepdims=True)

    before, after, parts = [*factors(old), c], [*factors(new), d], np.zeros(3)
    for order in permutations(range(3)):
        now = list(before)
        for k in order:
            start = (now[0] * now[1] * now[2]).sum()
            now[k] = after[k]
            parts[k] += ((now[0] * now[1] * now[2]).sum() - start) / 6
    assert [found.prevalence, found.rates, found.amounts] == pytest.approx(parts.tolist(), abs=1e-12)
    assert found.total == pytest.approx(parts.sum(), abs=1e-12) == pytest.approx(found.now - found.reference,
            abs=1e-12)
    assert found.cells.shape == (3, 4, 3) and found.cells.sum((0, 1)) == pytest.approx(parts, abs=1e-12)
    turned = pl.cost_change(new, old, d, now_costs=c)
    assert turned.rates == pytest.approx(-found.rates) and turned.total == pytest.approx(-found.total)


def test_one_cause_alone_has_the_whole_change():
    base, costs = np.array([[90, 10], [5, 15]]), np.array([[0, 1], [20, 0.]])
    more = pl.cost_change(base, [[45, 5], [10, 30]], costs)
    assert more.prevalence == pytest.approx(more.total) and more.rates == pytest.approx(
        0) and more.amounts == 0
    worse = pl.cost_change(base, [[80, 20], [10, 10]], costs)
    assert worse.rates == pytest.approx(worse.total) and worse.prevalence == pytest.approx(0)
    costlier = pl.cost_change(base, base, costs, now_costs=2 * costs)
    assert costlier.amounts == pytest.approx(costlier.total) == pytest.approx(costlier.reference)
    gone = pl.cost_change(base, [[90, 10], [0, 0]], costs)
    assert gone.rates == 0 and gone.prevalence == pytest.approx(gone.total)
    never = pl.cost_change([[9, 1], [0, 0]], [[8, 2], [0, 0]], costs)
    assert never.total == pytest.approx(.1) == pytest.approx(never.rates)


def test_months_labels_and_frames_of_changes():
    costs = CostMatrix.binary(fp=1, fn=20, classes=("well", "ill"), decisions=("wait", "act"))
    old = ConfusionCounts([[90, 10], [5, 15]], classes=("well", "ill"), decisions=("wait", "act"))
    new = ConfusionCounts([[15, 5], [10, 70]], classes=("ill", "well"), decisions=("act", "wait"))
    assert pl.cost_change(old, new, costs).total == pytest.approx(110 / 100 - 110 / 120)
    months = np.array([[[90, 10], [5, 15]], [[80, 20], [10, 10]]])
    found = pl.cost_change(months[0], months, costs.array)
    assert found.total.shape == (2,) and found.total[0] == 0 and list(found.to_frame())[:6] == ["total",
            "prevalence", "rates", "amounts", "reference", "now"]
    assert len(found.plot().patches) == 6 and len(pl.cost_change(months[0], months[1],
            costs.array).plot().patches) == 3


def test_the_alarm_is_what_gamblers_have_who_begin_one_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    y, v = rng.random(50), rng.uniform(.2, .6, 50)
    found = pl.cost_alarm(20 * y - 5, bounds=(-5, 15), limit=20 * v - 5)
    left = 1 / (1 + np.log(np.arange(1, 52)))
    factor = (1 + STAKES * y[:, None]) / (1 + STAKES * v[:, None])
    for n in (1, 7, 50):
        begun = sum((left[k] - left[k + 1]) * (SHARES @ factor[k:n].prod(0)) for k in range(n))
        assert found.capital[n - 1] == pytest.approx(begun + left[n])
    monkeypatch.setattr(core, "BLOCK_BYTES", 20_000)
    assert pl.cost_alarm(20 * y - 5, bounds=(-5, 15),
                         limit=20 * v - 5).capital == pytest.approx(found.capital)


def test_false_alarms_are_as_rare_as_promised_and_a_late_rise_is_noticed():
    rng, false, noticed = np.random.default_rng(0), 0, []
    for _ in range(60):
        old, x = rng.choice([0, 1, 20.], (2, 2000), p=[.93, .05, .02])
        false += pl.cost_alarm(x, bounds=(0, 20), limit=.45, false_alarms=.2).at is not None
        false += pl.cost_alarm(x, bounds=(0, 20), reference=old, false_alarms=.2).at is not None
    assert false / 120 <= .2
    for _ in range(20):
        x = np.concatenate([rng.random(3000) < .1, rng.random(1000) < .3]) * 1.
        noticed.append(pl.cost_alarm(x, bounds=(0, 1), limit=.12).at)
    assert all(at is not None and 3000 < at < 3300 for at in noticed)
    steady = pl.cost_alarm(x, bounds=(0, 1), limit=.12)
    assert steady.bar == 20 and "rings after" in repr(steady) and steady.plot().get_yscale() == "log"
    assert steady.to_frame().shape[0] == 4000 and pl.cost_alarm(x[:2000], bounds=(0, 1), limit=.2).at is None
    assert pl.cost_alarm(x, bounds=(0, 2), reference=x[:3000]).bar == 40


def test_the_parts_of_a_change_have_the_intervals_of_two_samples():
    costs, old, new = np.array([[0, 1], [20, 0.]]), np.array([[900, 100], [5, 45]]), np.array([[790, 110],
            [30, 70]])
    found = pl.cost_change(old, new, costs)
    assert found.interval() == independent_difference(new, old, costs)
    at = independent_difference(new, old, costs, priors=(old.sum(1) / old.sum() + new.sum(1) / new.sum()) / 2)
    rates, mix = found.interval("rates"), found.interval("prevalence", confidence=.9)
    assert [rates.low, rates.high, rates.mean] == pytest.approx([at.low, at.high,
            found.rates]) and mix.confidence == .9
    assert mix.mean == pytest.approx(found.prevalence) and mix.low < found.prevalence < mix.high
    still = pl.cost_change(old, [[1800, 200], [10, 90]], costs)
    assert not any(still.interval(part).rejects for part in ("total", "prevalence", "rates"))
    dearer = pl.cost_change(old, old, costs, now_costs=5 * costs)
    assert dearer.interval().mean == pytest.approx(dearer.total) and dearer.interval().low > 0
    stack = pl.cost_change(old, np.stack([new, old]), costs).interval("rates")
    assert (stack.low[0], stack.high[0]) == pytest.approx((rates.low, rates.high)) and not stack.rejects[1]
    gone = pl.cost_change(old, [[90, 10], [0, 0]], costs)
    assert gone.interval("prevalence").high < 0 and gone.rising[1] == 1 and np.isnan(pl.cost_change(old * 1.5,
            new, costs).rising).all()
    misses = fisher_exact([[5, 45], [30, 70]], "less").pvalue
    assert found.rising == pytest.approx([min(1, 3 * fisher_exact([[100, 900], [110, 790]], "less").pvalue),
                                          1.5 * misses])


@pytest.mark.parametrize("looks", [(2, 4, 8), (1, 2, 3, 4, 5, 6, 7, 8), (8,)])
def test_false_alarms_of_counts_over_all_looks_are_within_the_rate_for_every_rate_of_errors(looks,
        monkeypatch):
    "All 65,536 courses of 8 + 8 rows, also where only few errors are listed; fewer errors never ring sooner."
    rows = (np.arange(2**16)[:, None] >> np.arange(16)) & 1
    sizes, spent = pl._planned(looks, 8, 8)
    for listed in (200, 5):
        monkeypatch.setattr(pl, "_LISTED", listed)
        for rate in (.05, .3):
            rings = (pl._evidence(rows[:, :8].sum(1), rows[:, 8:].cumsum(1)[:, sizes - 1], 8, sizes,
                                  rate * spent) >= 1).any(1)
            for p in np.linspace(.02, .98, 25):
                assert rings @ (p ** rows.sum(1) * (1 - p) ** (16 - rows.sum(1))) <= rate
            if listed == 200:
                assert rings.any()
                for k in range(8, 16):  # one error more among the new rows
                    assert (rings <= rings[np.arange(2**16) | (1 << k)]).all()


def test_misses_that_have_tripled_are_noticed():
    "A10: at .004 with 1,000 reference rows; Fisher's test in one look after 4,000 further has power .76."
    rng, R = np.random.default_rng(0), 2000
    for looks, least, first in ((16, .68, 9), (None, .38, None), (1, .72, 1)):
        sizes, spent = pl._planned(looks, 1000, 4000)
        old = rng.binomial(1000, .004, R)
        more, same = (rng.binomial(np.diff(sizes, prepend=0), p, (R, len(sizes))).cumsum(1)
                      for p in (.012, .004))
        rings, false = (pl._evidence(old, x, 1000, sizes, .05 * spent) >= 1 for x in (more, same))
        assert rings.any(1).mean() > least and false.any(1).mean() < .05
        assert first is None or np.median(rings[rings.any(1)].argmax(1)) + 1 <= first
    x, before = (rng.permutation(np.repeat([20., 0], [k, n - k])) for k, n in ((60, 4000), (3, 1000)))
    found = pl.cost_alarm(x, costs=[[0, 20], [20, 0]], reference=before, looks=16)
    sizes, spent = pl._planned(16, 1000, 4000)
    assert found.at == sizes[np.argmax(pl._evidence(np.array([3]), (x > 0).cumsum()[None, sizes - 1], 1000,
                                                    sizes, .05 * spent) >= 1)]
    assert found.bar == 20 and found.limit[0] == pytest.approx(.06) and found.capital[found.at
            - 2] < 20 and found.capital[0] == 1
    # the same plan, while it runs
    half = pl.cost_alarm(x[:found.at], costs=[[0, 20], [20, 0]], reference=before, looks=sizes)
    assert half.at == found.at
    late = np.concatenate([rng.random(5000) < .1, rng.random(700) < .3]) * 1.
    assert 5000 < pl.cost_alarm(late, bounds=(0, 1), reference=(rng.random(1000) < .1) * 1.).at


def test_the_reference_that_is_asked_for_delivers_its_power():
    m = pl.required_reference(.01, 3, 2000, looks=8, n_sets=400)
    sizes, spent = pl._planned(8, m, 2000)
    rng = np.random.default_rng(9)
    x = rng.binomial(250, .03, (2000, 8)).cumsum(1)
    assert (pl._evidence(rng.binomial(m, .01, 2000), x, m, sizes, .05 * spent)
            >= 1).any(1).mean() == pytest.approx(.8, abs=.06)
    assert pl.required_reference(.01, 4, 2000, looks=8, n_sets=400) < m


def test_the_mix_of_classes_may_change_where_each_has_its_limit():
    rng, false = np.random.default_rng(2), 0
    for _ in range(40):
        ill = rng.random(3000) < np.linspace(.1, .6, 3000)
        x = np.where(ill, 5., 1.) * (rng.random(3000) < np.where(ill, .3, .1))
        assert pl.cost_alarm(x, bounds=(0, 5), limit=.25).at is not None
        false += pl.cost_alarm(x, bounds=(0, 5), limit=np.where(ill, 1.5, .1)).at is not None
    assert false <= 4


def test_the_months_are_those_of_the_curves():
    "The year of 51 is told again, not another one."
    def source(stem, text):
        cells = json.loads((ROOT / f"nbs/{stem}.ipynb").read_text(encoding="utf-8"))["cells"]
        return next(code for cell in cells if cell["cell_type"] == "code"
                    and text in (code := "".join(cell["source"])))

    here, there = {"np": np, "cost_change": pl.cost_change, "test_close": lambda *a, **k: None}, {"np": np,
            "BinaryCounts": dict}
    exec(source("22_how_many", "def tables_of_a_year"), here)
    exec(source("51_curves", "year = BinaryCounts("), there)
    year = there["year"]
    told = np.moveaxis(np.array([[year["tn"], year["fp"]], [year["fn"], year["tp"]]]), -1, 0)
    assert np.array_equal(here["year"], told)


OWN = ExampleCosts(fp=1, fn=np.r_[np.linspace(2, 30, 199), 40], classes=["genuine", "fraud"])


@pytest.mark.parametrize("costs, second, ends", [
    ([[0, 1], [20, 0]], None, (-20, 20)), ([[0, 1], [20, 0]], 0, (-20, 1)),
    ({"fp": 1, "fn": 20}, 1, (-1, 20)),
    (OWN, None, (-40, 40)), (OWN, "genuine", (-40, 1)),
])
def test_sequences_and_alarms_ask_the_costs_what_can_occur(costs, second, ends):
    "Each of them took only `bounds=`, which a user had to work out; against a constant it is not symmetric."
    rng = np.random.default_rng(3)
    a, b = rng.choice([0, 1], 200), np.zeros(200)
    assert pl.difference_sequence(a, b, costs=costs, second=second) == pl.difference_sequence(a, b,
            bounds=ends)
    high = max(ends[1], -ends[0])
    assert pl.confidence_sequence(a, costs=costs) == pl.confidence_sequence(a, bounds=(0, high))
    assert pl.cost_alarm(a, costs=costs, limit=.2) == pl.cost_alarm(a, bounds=(0, high), limit=.2)


def test_bounds_or_costs():
    for options, said in (({}, "bounds: None"), ({"bounds": (0, 1), "costs": OWN},
                                                 "bounds, costs: give one of them"),
                                                 ({"costs": [[0, .5], [.5, 0]]}, "outside bounds 0 to 0.5")):
        for function, more in ((pl.confidence_sequence, {}), (pl.cost_alarm, {"limit": .5})):
            with pytest.raises(ValueError, match=said):
                function([0., 1, 0], **options, **more)
    with pytest.raises(ValueError, match="first, second: decisions of the costs, but costs= was not given"):
        pl.difference_sequence([0., 1], [0, 0], bounds=(-1, 1), first=0)
