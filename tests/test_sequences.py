"""Looking again and watching: against other ways to compute the same, listing of every path, and simulation
at thousands of looks."""
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq

from conftest import refuses
from cost_eval import core
from cost_eval import mean_law as ml
from cost_eval import planning as pl
from cost_eval.bootstrap import interval, loss_interval
from cost_eval.costs import ExampleCosts

# (8.5) as it is written down
STAKES = 10**np.arange(-4, 4.1, .2)
SHARES = 1 / (1 + ((np.log10(STAKES) + .5) / .7)**2)
SHARES = SHARES / SHARES.sum()


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
    x, root, before = stream(300), ml._root, None
    for steps in (0, 1, 2, 3, 40):
        monkeypatch.setattr(ml, "_root", lambda capital, start: root(capital, start, most=steps))
        found = pl.confidence_sequence(x, bounds=(0, 20))
        once = loss_interval(x, bounds=(0, 20), method="betting").low
        ends = np.array([*found.low, *-found.high, once])
        assert before is None or (before <= ends + 1e-13).all() and before[299] < ends[299]
        before = ends


def test_clusters_move_it_when_they_are_complete():
    label = np.repeat(list("abcdefghij"), [1, 5, 2, 3, 1, 8, 2, 2, 1, 5])
    y = np.random.default_rng(1).choice([0, 1.], len(label), p=[.4, .6])
    options = {"bounds": (0, 1), "clusters": label, "confidence": .5}
    found, wider = (pl.confidence_sequence(y, largest_cluster=most, **options) for most in (8, 20))
    ends = np.flatnonzero(np.append(label[1:] != label[:-1], True))
    share, size = ([f(y[label == k]) for k in "abcdefghij"] for f in (np.mean, len))
    for k, end in enumerate(ends, 1):
        assert found.low[end] == pytest.approx(least(share[:k], np.array(size[:k]) / 8, .25), abs=1e-9)
    inside = np.setdiff1d(np.arange(1, len(y)), ends)
    assert np.array_equal(found.low[inside], found.low[inside - 1]) and found.low[0] >= 0
    assert wider.high[-1] - wider.low[-1] > found.high[-1] - found.low[-1]


# one look is the last of all looks

@pytest.mark.parametrize("values, p, bounds", [
    ([0, 1], [.9, .1], (0, 1)), ([0, 1, 100], [.94, .05, .01], (0, 100)), ([0, 1], [.8, .2], (-1000, 1e6)),
    ([-20, -1, 0, 1, 20], [.01, .1, .79, .08, .02], (-20, 20)), ([-1, 0, 20], [.2, .79, .01], (-1, 20)),
    ([-5, -1, 0], [.1, .4, .5], (-5, 0)), ([9.8, 10, 10.1], [.3, .4, .3], (0, 20)), ([0], [1], (0, 20))])
def test_one_look_is_the_last_of_all_looks(values, p, bounds):
    "Which does not depend on the order."
    for n, confidence in product((2, 40, 1000), (.2, .95, .9999)):
        x = np.random.default_rng(n).choice(values, n, p=p).astype(float)
        once = loss_interval(x, bounds=bounds, method="betting", confidence=confidence)
        last = pl.confidence_sequence(x[::-1], bounds=bounds, confidence=confidence)
        rounding = 1e-12 * np.ptp(bounds)
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
@pytest.mark.parametrize("confidence", [.3, .8])
def test_every_path_listed(p, confidence):
    """The probability to leave out the mean at some of 12 looks, summed over all 4,096 paths; of any number:
    Ville, if the stakes share out no more than 1."""
    shares = np.exp(ml.LOG_SHARES)
    assert shares.sum() <= 1 + 1e-12 and (shares > 0).all() and (ml.STAKES > 0).all()
    paths, looks = np.array(list(product([0, 1], repeat=12))), np.arange(1, 13)
    y, left_out = paths.cumsum(1), np.zeros(len(paths), bool)
    for hits, v in ((y, p), (looks - y, 1 - p)):
        logs = hits[..., None] * np.log1p(STAKES) - looks[:, None] * np.log1p(STAKES * v)
        left_out |= (np.exp(logs) @ SHARES >= 2 / (1 - confidence)).any(1)
    assert np.prod(np.where(paths, p, 1 - p), axis=1) @ left_out <= 1 - confidence
    for k in (0, 5, 1000, 4095):
        found = pl.confidence_sequence(paths[k], bounds=(0, 1), confidence=confidence)
        assert left_out[k] == ((found.low > p) | (found.high < p)).any()


def test_signs_blocks_and_differences_do_not_matter(monkeypatch):
    a, b = stream(seed=1), stream(seed=2)
    found, turned = (pl.difference_sequence(*pair, bounds=(-20, 20)) for pair in ((a, b), (b, a)))
    alone = pl.confidence_sequence(a - b, bounds=(-20, 20))
    assert np.array_equal(found.low, alone.low) and found.low == pytest.approx(-turned.high)
    assert found.first_outside() is None and found.first_outside(19) == np.argmax(found.high < 19) + 1
    frame = found.to_frame()
    assert list(frame) == ["low", "mean", "high"] and frame.index[0] == 1 and len(frame) == 400
    assert "400 looks" in repr(found) and found.plot().get_xlim() == (1, 400)
    monkeypatch.setattr(core, "BLOCK_BYTES", 50_000)
    small = pl.difference_sequence(a, b, bounds=(-20, 20))
    np.testing.assert_allclose([small.low, small.high], [found.low, found.high], atol=1e-12)


X, OWN = [0, 1, 0, 1.], ExampleCosts(fp=1, fn=np.r_[np.linspace(2, 30, 199), 40], classes=["fair", "fraud"])


def clustered(clusters, most):
    return pl.confidence_sequence(X, bounds=(0, 1), clusters=clusters, largest_cluster=most)


test_bad_input = refuses([
    (lambda: pl.confidence_sequence(X, bounds=(0, np.inf)), "bounds: .*inf.*from the costs"),
    (lambda: pl.confidence_sequence(X, bounds=(1, 0)), "bounds: low must be below high"),
    (lambda: pl.confidence_sequence(X, bounds=(0, .5)), "losses: 1 at position 1 is outside bounds 0 to 0.5"),
    (lambda: clustered([0, 1, 0, 2], 2), "clusters: the rows of 0 are not together"),
    (lambda: clustered([0, 0, 1, 2], None), "largest_cluster: None.*here up to 2"),
    (lambda: clustered([0, 0, 1, 2], 1), "largest_cluster: must be at least 2"),
    (lambda: pl.confidence_sequence(X, bounds=(np.zeros(4), np.ones(4))), "bounds: .*shape"),
    (lambda: pl.difference_sequence([2, 3], [0, 0], bounds=(-1, 1)), "losses_a - losses_b: 2 at position 0"),
    (lambda: pl.confidence_sequence(X), "bounds: None"),
    (lambda: pl.cost_alarm(X, limit=.5, bounds=(0, 1), costs=OWN), "bounds, costs: give one of them"),
    (lambda: pl.cost_alarm(X, limit=.5, costs=[[0, .5], [.5, 0]]), "outside bounds 0 to 0.5"),
])


@pytest.mark.parametrize("costs, end", [([[0, 1], [20, 0]], 20), ({"fp": 1, "fn": 20}, 20), (OWN, 40)])
def test_sequences_and_alarms_ask_the_costs_what_can_occur(costs, end):
    a, b = np.random.default_rng(3).choice([0, 1], 200), np.zeros(200)
    assert pl.difference_sequence(a, b, costs=costs) == pl.difference_sequence(a, b, bounds=(-end, end))
    assert pl.confidence_sequence(a, costs=costs) == pl.confidence_sequence(a, bounds=(0, end))
    assert pl.cost_alarm(a, costs=costs, limit=.2) == pl.cost_alarm(a, bounds=(0, end), limit=.2)


# watching

def test_the_alarm_is_what_gamblers_have_who_begin_one_by_one(monkeypatch):
    rng = np.random.default_rng(0)
    y, v = rng.random(50), rng.uniform(.2, .6, 50)
    left = 1 / (1 + np.log(np.arange(1, 52)))
    factor = (1 + STAKES * y[:, None]) / (1 + STAKES * v[:, None])
    for block in (core.BLOCK_BYTES, 20_000):
        monkeypatch.setattr(core, "BLOCK_BYTES", block)
        found = pl.cost_alarm(20 * y - 5, bounds=(-5, 15), limit=20 * v - 5)
        for n in (1, 7, 50):
            begun = sum((left[k] - left[k + 1]) * (SHARES @ factor[k:n].prod(0)) for k in range(n))
            assert found.capital[n - 1] == pytest.approx(begun + left[n])


def test_false_alarms_are_as_rare_as_promised_and_a_late_rise_is_noticed():
    rng, false, noticed = np.random.default_rng(0), 0, []
    for _ in range(40):
        old, x = rng.choice([0, 1, 20.], (2, 2000), p=[.93, .05, .02])
        false += pl.cost_alarm(x, bounds=(0, 20), limit=.45, false_alarms=.2).at is not None
        learned = loss_interval(old, bounds=(0, 20), method="betting", confidence=.8).high
        false += pl.cost_alarm(x, bounds=(0, 20), limit=learned, false_alarms=.1).at is not None
    assert false / 80 <= .2
    for _ in range(12):
        x = np.concatenate([rng.random(3000) < .1, rng.random(1000) < .3]) * 1.
        found = pl.cost_alarm(x, bounds=(0, 1), limit=.12)
        noticed.append(found.at)
    assert all(at is not None and 3000 < at < 3300 for at in noticed)
    assert found.bar == 20 and "rings after" in repr(found) and found.plot().get_yscale() == "log"
    assert found.to_frame().shape[0] == 4000 and pl.cost_alarm(x[:2000], bounds=(0, 1), limit=.2).at is None


def test_the_mix_of_classes_may_change_where_each_has_its_limit():
    rng, false = np.random.default_rng(2), 0
    for _ in range(30):
        ill = rng.random(3000) < np.linspace(.1, .6, 3000)
        x = np.where(ill, 5., 1.) * (rng.random(3000) < np.where(ill, .3, .1))
        assert pl.cost_alarm(x, bounds=(0, 5), limit=.25).at is not None
        false += pl.cost_alarm(x, bounds=(0, 5), limit=np.where(ill, 1.5, .1)).at is not None
    assert false <= 3
