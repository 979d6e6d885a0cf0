"""Missing labels: bounds that hold always, weights, guess and correction; what is refused."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_eval.bootstrap import loss_interval
from cost_eval.costs import CostMatrix, ExampleCosts, losses
from cost_eval.missing_labels import bounds_without_labels, prediction_powered
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, labelled_rows

pd = pytest.importorskip("pandas")
rng = np.random.default_rng(0)
N = 120
Y = (rng.random(N) < .3).astype(int)
P = 1 / (1 + np.exp(-(1.5 * rng.normal(Y) - 1.5)))
A, B = (P > .2).astype(int), (P > .5).astype(int)
COSTS = CostMatrix.binary(fp=1, fn=5)
CHANCE = np.where(A == 1, .9, .4)
HAS = rng.random(N) < CHANCE
PART = np.where(HAS, Y, np.nan)
OWN = ExampleCosts(fp=rng.uniform(1, 2, N), fn=rng.uniform(1, 9, N))


# ---- labels with gaps

@pytest.mark.parametrize("gap", [None, np.nan, pd.NA], ids=str)
def test_missing_is_none_nan_or_na(gap):
    labels = np.array([gap if not h else v for h, v in zip(HAS, Y.tolist())], object)
    part = labelled_rows(labels, CHANCE)
    np.testing.assert_array_equal(part.rows, np.flatnonzero(HAS))
    np.testing.assert_allclose(part.sample_weight, 1 / CHANCE[HAS])
    for call in (lambda y: bounds_without_labels(y, A, COSTS), lambda y: prediction_powered(y, A, COSTS, P)):
        assert call(labels) == call(PART) == call(pd.Series(labels))


def test_the_helper_gives_what_evaluate_takes():
    "A propensity is nothing but weights, and the heaviest that a row can weigh, with a label or without."
    worth = 1. + np.arange(N)
    part = labelled_rows(PART, CHANCE, sample_weight=worth)
    np.testing.assert_allclose(part.sample_weight, worth[HAS] / CHANCE[HAS])
    np.testing.assert_allclose(part.weight, np.where(HAS, worth / CHANCE, 0))
    assert part.n == N and part.heaviest() == pytest.approx((worth / CHANCE).max())
    assert (part.y_true[part.rows] == Y[HAS]).all() and not pd.isna(part.y_true).any()
    part = labelled_rows(PART, CHANCE)
    here = loss_interval(losses(Y, A, COSTS)[HAS], sample_weight=part.sample_weight, bounds=(0, 5),
                         heaviest=part.heaviest())
    words = np.array(["ill" if v == 1 else "well" if v == 0 else None for v in PART.tolist()], object)
    said = Decisions(np.where(A == 1, "ill", "well"))
    for y, model, positive in ((PART, Decisions(A), None), (words, said, "ill")):
        found = evaluate(y, {"m": model}, dict(fp=1, fn=5), propensity=CHANCE, positive=positive, rng=0)
        ends = found.best.loc[0, ["low", "cost", "high"]].tolist()
        assert ends == pytest.approx([here.low, here.mean, here.high])


# ---- bounds

@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_bounds_hold_whatever_the_labels_are(seed):
    rng = np.random.default_rng(seed)
    n, K, M = rng.integers(2, 40), rng.integers(2, 4), rng.integers(2, 4)
    y, a, b = rng.integers(K, size=n), rng.integers(M, size=n), rng.integers(M, size=n)
    table = rng.random((K, M)) if seed % 2 else rng.random((n, K, M))
    right = np.arange(min(K, M))
    table[..., right, right] = 0
    costs = CostMatrix(table) if seed % 2 else ExampleCosts.from_array(table)
    gap = rng.random(n) < .5
    gap[0] = False
    part = np.where(gap, np.nan, y)
    la, lb = (losses(y, d, costs) for d in (a, b))
    for found, truth in ((bounds_without_labels(part, a, costs), la),
                         (bounds_without_labels(part, a, costs, versus=b), la - lb)):
        assert found.low - 1e-9 <= truth.mean() <= found.high + 1e-9
        assert found.interval_low <= found.low + 1e-9 and found.high - 1e-9 <= found.interval_high
    each = np.broadcast_to(table, (n, K, M))[np.arange(n), :, a]
    worst = np.where(gap, each.max(1), la).mean()
    assert bounds_without_labels(part, a, costs).high == pytest.approx(worst), "the ends are reached"


def test_bounds_need_labels_only_where_two_disagree():
    apart = A != B
    part = np.where(apart, Y, np.nan)
    found, gap = bounds_without_labels(part, A, COSTS, versus=B), losses(Y, A, COSTS) - losses(Y, B, COSTS)
    assert found.low == found.high == pytest.approx(gap.mean()) and found.labelled == apart.mean()
    sure = bounds_without_labels(*(np.tile(v, 40) for v in (part, A)), COSTS, versus=np.tile(B, 40))
    assert sure.decides == ("first" if gap.mean() < 0 else "second") and sure.decides in repr(sure)
    assert bounds_without_labels(part, A, COSTS).decides == ""
    grouped, weight = bounds_without_labels(PART, A, COSTS, clusters=np.arange(N) // 3), rng.integers(1, 4, N)
    plain = bounds_without_labels(PART, A, COSTS)
    assert grouped.low == pytest.approx(plain.low) and grouped.interval_high > plain.interval_high
    weighted = bounds_without_labels(Y, A, COSTS, sample_weight=weight)
    assert weighted.low == pytest.approx(np.average(losses(Y, A, COSTS), weights=weight))


def test_with_all_labels_everything_is_the_ordinary_interval():
    plain = loss_interval(losses(Y, A, COSTS), bounds=(0, 5))
    bounds, powered = bounds_without_labels(Y, A, COSTS), prediction_powered(Y, A, COSTS, P)
    for low, high in ((bounds.interval_low, bounds.interval_high), (powered.low, powered.high)):
        assert (low, high) == pytest.approx((plain.low, plain.high), abs=1e-9)


# ---- weights, guess and correction


def test_the_guess_is_corrected():
    has = np.zeros(N, bool)
    has[np.random.default_rng(3).choice(N, 40, replace=False)] = True
    part, f = np.where(has, Y, np.nan), has.mean()
    loss, guess = losses(Y, A, COSTS), np.where(A == 1, 1 - P, 5 * P)
    of_rows = np.where(A == 1, (1 - P) * OWN.array[:, 0, 1], P * OWN.array[:, 1, 0])

    def by_hand(loss, guess, strength):
        use = strength * (1 - f)
        return (loss - use * guess)[has].mean() + (use * guess)[~has].mean()

    for strength in (0, .4, 1):
        found = prediction_powered(part, A, COSTS, P, strength=strength)
        assert found.mean == pytest.approx(by_hand(loss, guess, strength))
    own = prediction_powered(part, A, OWN, P, strength=1)
    assert own.mean == pytest.approx(by_hand(losses(Y, A, OWN), of_rows, 1))
    slope = np.clip(np.cov(loss[has], guess[has])[0, 1] / np.var(guess[has], ddof=1), 0, 1)
    auto = prediction_powered(part, A, COSTS, P)
    assert f"strength {slope:.2f}" in auto.notes[0] and auto.low < auto.mean < auto.high
    assert auto.mean == pytest.approx(by_hand(loss, guess, slope))
    pair = prediction_powered(part, A, COSTS, np.column_stack([1 - P, P]), versus=B)
    assert 0 <= pair.p_value <= 1 and pair.low < pair.high


def guesses(y, p, draws):
    "From perfect to random, and worse."
    noise, odds = draws.random(len(y)), np.log(p / (1 - p))
    return [y * 1., np.where(draws.random(len(y)) < .9, y, noise), 1 / (1 + np.exp(-3 * odds)), p,
            (p + noise) / 2, draws.permutation(p), np.full(len(y), p.mean()), 1 - p]


@pytest.mark.parametrize("n, labels", [(60, 6), (400, 40), (300, 100)])
@pytest.mark.parametrize("paired", [False, True])
def test_no_guess_makes_the_interval_a_tenth_wider(n, labels, paired):
    """Each direction in which a guess can fail unseen is paid for: the truth as guess was 1.37 times as wide
    as no guess."""
    draws, costs = np.random.default_rng(n + 20), CostMatrix.binary(fp=1, fn=20)
    y, p, d = population(n, draws)
    d, versus = (p > 1 / 21).astype(int), (p > .5).astype(int) if paired else None
    few = draws.choice(n, labels, replace=False)
    part = np.full(n, np.nan)
    part[few] = y[few]
    alone = prediction_powered(part, d, costs, p, versus=versus, strength=0)
    if not paired:
        plain = loss_interval(losses(y[few], d[few], costs), bounds=(0, 20))
        assert (alone.low, alone.high) == pytest.approx((plain.low, plain.high), abs=1e-9)
    for guess in guesses(y, p, draws):
        found = prediction_powered(part, d, costs, guess, versus=versus)
        assert found.high - found.low < 1.1 * (alone.high - alone.low)
        assert found.low <= found.mean <= found.high
        assert not paired or (found.p_value < .05) == (found.low > 0 or found.high < 0)


def test_a_perfect_guess_of_many_labels_helps():
    y, p, d = population(20_000, np.random.default_rng(0))
    part = np.where(np.random.default_rng(1).permutation(20_000) < 2000, y, np.nan)
    alone = prediction_powered(part, d, COSTS, p, strength=0)
    for method, least in (("auto", .75), ("normal", .5)):
        found = prediction_powered(part, d, COSTS, y * 1., method=method)
        assert found.high - found.low < least * (alone.high - alone.low)


def population(n, rng):
    y = (rng.random(n) < .2).astype(int)
    score = rng.normal(1.5 * y)
    p = 1 / (1 + np.exp(-(1.5 * score - 1.125 + np.log(.25))))
    return y, p, (p > 1 / 6).astype(int)


def coverage(n, repeats):
    "Of weights and of the prediction-powered interval, dropping as a contrast."
    y, _, d = population(400_000, np.random.default_rng(99))
    truth, hits = losses(y, d, COSTS).mean(), np.zeros(3)
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        y, p, d = population(n, rng)
        chance = np.where(d == 1, .9, .25)
        one = labelled_rows(np.where(rng.random(n) < chance, y, np.nan), chance)
        even = np.full(n, np.nan)
        few = rng.choice(n, n // 4, replace=False)
        even[few] = y[few]
        seen = losses(y[one.rows], d[one.rows], COSTS)
        weights = {"sample_weight": one.sample_weight, "heaviest": one.heaviest()}
        found = [loss_interval(seen, bounds=(0, 5), **weights), prediction_powered(even, d, COSTS, p),
                 loss_interval(seen, bounds=(0, 5))]
        hits += [i.low <= truth <= i.high for i in found]
    return hits / repeats


def test_coverage_small():
    held = coverage(500, 20)
    assert (held[:2] >= .9).all() and held[2] < .9


@pytest.mark.slow
def test_coverage():
    held = coverage(800, 500)
    assert (held[:2] >= .94).all() and held[2] < .5
