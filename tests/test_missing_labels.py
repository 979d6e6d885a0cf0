"""Missing labels: bounds that hold always, weights, guess and correction, which labels to buy; what is
refused."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_eval.bootstrap import loss_interval
from cost_eval.costs import CostMatrix, ExampleCosts, losses
from cost_eval.missing_labels import bounds_without_labels, labels_to_buy, prediction_powered, tipping_point, weighted_by_propensity
from cost_eval.samples import Posteriors, labelled_rows

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
    for call in (lambda y: weighted_by_propensity(y, A, COSTS, CHANCE), lambda y: prediction_powered(y, A,
            COSTS, P)):
        assert call(labels).mean == call(PART).mean == call(pd.Series(labels)).mean


def test_the_helper_gives_what_evaluate_takes():
    part = labelled_rows(PART, CHANCE, sample_weight=1.0 + np.arange(N))
    np.testing.assert_allclose(part.sample_weight, (1 + np.arange(N))[HAS] / CHANCE[HAS])
    assert part.n == N and repr(part) == f"<{HAS.sum()} of {N} samples have a label>"
    by_hand = loss_interval(losses(Y, A, COSTS)[HAS], sample_weight=1 / CHANCE[HAS], bounds=(0, 5))
    found = weighted_by_propensity(PART, A, COSTS, CHANCE)
    assert (found.low, found.mean, found.high) == pytest.approx((by_hand.low, by_hand.mean, by_hand.high))
    named = CostMatrix.binary(fp=1, fn=5, classes=["well", "ill"])
    words = np.array(["ill" if v == 1 else "well" if v == 0 else None for v in PART.tolist()], object)
    again = weighted_by_propensity(words, np.where(A == 1, "ill", "well"), named, CHANCE)
    assert again.mean == found.mean
    assert weighted_by_propensity(words, np.where(A == 1, "ill", "well"), dict(fp=1, fn=5), CHANCE,
                                  positive="ill").mean == found.mean


# ---- bounds

@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_bounds_hold_whatever_the_labels_are(seed):
    rng = np.random.default_rng(seed)
    n, K, M = rng.integers(2, 40), rng.integers(2, 4), rng.integers(2, 4)
    y, a, b = rng.integers(K, size=n), rng.integers(M, size=n), rng.integers(M, size=n)
    table = rng.random((K, M)) if seed % 2 else rng.random((n, K, M))
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
    found, truth = bounds_without_labels(part, A, COSTS, versus=B), (losses(Y, A, COSTS)
            - losses(Y, B, COSTS)).mean()
    assert found.low == found.high == pytest.approx(truth) and found.labelled == apart.mean()
    many = [np.tile(v, 40) for v in (part, A, B)]
    sure = bounds_without_labels(many[0], many[1], COSTS, versus=many[2])
    assert sure.decides == ("first" if truth < 0 else "second") and sure.decides in repr(sure)
    assert bounds_without_labels(part, A, COSTS).decides == "" == bounds_without_labels(part, A, COSTS,
            versus=A).decides


def test_with_all_labels_everything_is_the_ordinary_interval():
    plain = loss_interval(losses(Y, A, COSTS), bounds=(0, 5))
    bounds, weighted = bounds_without_labels(Y, A, COSTS), weighted_by_propensity(Y, A, COSTS, 1)
    powered, bought = prediction_powered(Y, A, COSTS, P), prediction_powered(Y, A, COSTS, P, propensity=1.,
            strength=0)
    for low, high in ((bounds.interval_low, bounds.interval_high),
                      *((f.low, f.high) for f in (weighted, powered, bought))):
        assert (low, high) == pytest.approx((plain.low, plain.high), abs=1e-9)


# ---- weights, guess and correction

def test_clusters_and_weights_reach_the_engine():
    plain = weighted_by_propensity(PART, A, COSTS, CHANCE)
    grouped = weighted_by_propensity(PART, A, COSTS, CHANCE, clusters=np.arange(N) // 3)
    assert grouped.mean == pytest.approx(plain.mean) and grouped.high - grouped.low > plain.high - plain.low
    w = rng.integers(1, 4, N)
    assert weighted_by_propensity(PART, A, COSTS, CHANCE, sample_weight=w).mean == pytest.approx(
        np.average(losses(Y, A, COSTS)[HAS], weights=(w / CHANCE)[HAS]))
    assert bounds_without_labels(Y, A, COSTS, sample_weight=w).low == pytest.approx(np.average(losses(Y, A,
            COSTS), weights=w))


def test_the_guess_is_corrected():
    has = np.zeros(N, bool)
    has[np.random.default_rng(3).choice(N, 40, replace=False)] = True
    part, loss = np.where(has, Y, np.nan), losses(Y, A, COSTS)
    guess = np.where(A == 1, 1 - P, 5 * P)
    f = has.mean()
    for strength in (0, .4, 1):
        use = strength * (1 - f)
        by_hand = (loss - use * guess)[has].mean() + (use * guess)[~has].mean()
        assert prediction_powered(part, A, COSTS, P, strength=strength).mean == pytest.approx(by_hand)
    slope = np.clip(np.cov(loss[has], guess[has])[0, 1] / np.var(guess[has], ddof=1), 0, 1)
    auto = prediction_powered(part, A, COSTS, P)
    assert f"strength {slope:.2f}" in auto.notes[
        0] and auto.low < auto.mean < auto.high and auto.mean == pytest.approx(prediction_powered(part, A,
            COSTS, P, strength=slope).mean)
    z = guess + np.where(HAS, (loss - guess) / CHANCE, 0)
    assert prediction_powered(PART, A, COSTS, P, propensity=CHANCE,
                              strength=1).mean == pytest.approx(z.mean())
    w, known = np.where(HAS, 1 / CHANCE, 0), np.where(HAS, loss, 0)
    # the least variance of w loss - strength (w - 1) guess
    slope = np.cov(w * known, (w - 1) * guess)[0, 1] / np.var((w - 1) * guess, ddof=1)
    assert 0 < slope < 1
    bought = prediction_powered(PART, A, COSTS, P, propensity=CHANCE)
    assert bought.mean == pytest.approx(prediction_powered(PART, A, COSTS, P, propensity=CHANCE,
            strength=slope).mean)
    pair = prediction_powered(part, A, COSTS, np.column_stack([1 - P, P]), versus=B)
    assert 0 <= pair.p_value <= 1 and pair.low < pair.high
    own = prediction_powered(part, A, OWN, P, strength=1)
    each = np.where(A == 1, (1 - P) * OWN.array[:, 0, 1], P * OWN.array[:, 1, 0])
    assert own.mean == pytest.approx((losses(Y, A, OWN) - (1 - f) * each)[has].mean() + (1 - f)
                                     * each[~has].mean())
    frame = pd.DataFrame({1: P, 0: 1 - P})
    assert prediction_powered(part, A, COSTS, Posteriors(frame)).mean == pytest.approx(auto.mean)


def guesses(y, p, draws):
    "From perfect to random, and worse."
    noise, odds = draws.random(len(y)), np.log(p / (1 - p))
    return [y * 1., np.where(draws.random(len(y)) < .9, y, noise), 1 / (1 + np.exp(-3 * odds)), p,
            1 / (1 + np.exp(-.3 * odds)), (p + noise) / 2,
            draws.permutation(p), noise, np.full(len(y), p.mean()), 1 - p]


@pytest.mark.parametrize("n, labels", [(60, 6), (400, 40), (300, 100)])
@pytest.mark.parametrize("bought", ["drawn", "alike", "apart"])
@pytest.mark.parametrize("miss, paired", [(20, False), (20, True)])
def test_no_guess_makes_the_interval_a_tenth_wider(n, labels, bought, miss, paired):
    """Each direction in which a guess can fail unseen is paid for: the truth as guess was 1.37 times as wide
    as no guess; with a propensity
    1.23 times as wide as weighting the labels alone."""
    draws, costs = np.random.default_rng(n + miss), CostMatrix.binary(fp=1, fn=miss)
    y, p, d = population(n, draws)
    d, versus = (p > 1 / (1 + miss)).astype(int), (p > .5).astype(int) if paired else None
    chance = labels / n * ((.2 + 1.6 * draws.random(n)) if bought == "apart" else np.ones(n))
    has = draws.random(n) < chance if bought != "drawn" else np.isin(np.arange(n),
            draws.choice(n, labels, replace=False))
    part, bid = np.where(has, y, np.nan), {} if bought == "drawn" else {"propensity": chance}
    alone = prediction_powered(part, d, costs, p, versus=versus, strength=0, **bid)
    if bought != "drawn" or not paired:
        plain = weighted_by_propensity(part, d, costs, chance, versus=versus)
        assert (alone.low, alone.high) == pytest.approx((plain.low, plain.high), abs=1e-9)
    for guess in guesses(y, p, draws):
        found = prediction_powered(part, d, costs, guess, versus=versus, **bid)
        assert found.high - found.low < 1.1 * (alone.high
                                               - alone.low) and found.low <= found.mean <= found.high
        assert not paired or (found.p_value < .05) == (found.low > 0 or found.high < 0)


def test_a_perfect_guess_of_many_labels_helps():
    y, p, d = population(20_000, np.random.default_rng(0))
    part = np.where(np.random.default_rng(1).permutation(20_000) < 2000, y, np.nan)
    alone, found = prediction_powered(part, d, COSTS, p, strength=0), prediction_powered(part, d, COSTS,
            y * 1.)
    assert found.high - found.low < .75 * (alone.high - alone.low)
    normal = [prediction_powered(part, d, COSTS, g, method="normal") for g in (y * 1., p)]
    assert normal[0].confidence == found.confidence == .95 and normal[0].high - normal[0].low < .5 * (
        normal[1].high - normal[1].low)


def population(n, rng):
    y = (rng.random(n) < .2).astype(int)
    score = rng.normal(1.5 * y)
    p = 1 / (1 + np.exp(-(1.5 * score - 1.125 + np.log(.25))))
    return y, p, (p > 1 / 6).astype(int)


def coverage(n, repeats):
    "Of the weighted and of both prediction-powered intervals, dropping as a contrast."
    y, _, d = population(400_000, np.random.default_rng(99))
    truth, hits = losses(y, d, COSTS).mean(), np.zeros(4)
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        y, p, d = population(n, rng)
        chance = np.where(d == 1, .9, .25)
        part = np.where(rng.random(n) < chance, y, np.nan)
        even = np.full(n, np.nan)
        few = rng.choice(n, n // 4, replace=False)
        even[few] = y[few]
        seen = ~np.isnan(part)
        found = [weighted_by_propensity(part, d, COSTS, chance), prediction_powered(part, d, COSTS, p,
                propensity=chance),
                 prediction_powered(even, d, COSTS, p), loss_interval(losses(y[seen], d[seen], COSTS),
                bounds=(0, 5))]
        hits += [i.low <= truth <= i.high for i in found]
    return hits / repeats


def test_coverage_small():
    held = coverage(500, 20)
    assert (held[:3] >= .9).all() and held[3] < .9


@pytest.mark.slow
def test_coverage():
    held = coverage(800, 500)
    assert (held[:3] >= .94).all() and held[3] < .5


# ---- which labels

def test_labels_are_bought_where_the_loss_is_uncertain():
    plan = labels_to_buy(A, COSTS, P, 30)
    spread = np.where(A == 1, 1, 5) * np.sqrt(P * (1 - P))
    np.testing.assert_allclose(plan.spread, spread)
    assert plan.propensity.sum() == pytest.approx(30) and ((0 < plan.propensity)
            & (plan.propensity <= 1)).all()
    free = plan.propensity < 1 - 1e-9
    over = plan.propensity - .25 * 30 / N
    assert np.ptp((over / spread)[free]) < 1e-9 and plan.standard_error < plan.uniform_error
    pair = labels_to_buy(A, COSTS, P, 30, versus=B)
    assert np.allclose(pair.propensity[A == B], .25 * 30 / N) and (pair.spread[A == B] == 0).all()
    np.testing.assert_allclose(labels_to_buy(A, COSTS, P, 30, floor=1).propensity, 30 / N)
    np.testing.assert_allclose(labels_to_buy(A, COSTS, P, N).propensity, 1)
    np.testing.assert_allclose(labels_to_buy(A, COSTS, P, 30, versus=A).propensity, 30 / N)
    assert labels_to_buy(A, OWN, P, 30).spread[0] == pytest.approx((OWN.array[0, 0, 1] if A[0]
            else OWN.array[0, 1, 0]) * np.sqrt(P[0] * (1 - P[0])))
    many = np.mean([plan.draw(seed) for seed in range(2000)], axis=0)
    assert abs(many - plan.propensity).max() < .06 and (plan.draw(1) == plan.draw(1)).all()


def test_no_allocation_has_a_smaller_error():
    plan = labels_to_buy(A, COSTS, P, 30, floor=1e-9)
    best = np.sum(plan.spread**2 / plan.propensity)
    for seed in range(50):
        other = plan.propensity * np.exp(.3 * np.random.default_rng(seed).normal(size=N))
        other = np.minimum(other * 30 / other.sum(), 1)
        assert np.sum(plan.spread**2 / other) * (other.sum() / 30) >= best * (1 - 1e-9)


def test_rows_of_the_propensity_in_another_order_are_refused():
    names = [f"c{k}" for k in range(N)]
    for decisions, versus in ((pd.Series(A, index=names), None), (A, pd.Series(B, index=names))):
        with pytest.raises(ValueError, match="in another order"):
            weighted_by_propensity(PART, decisions, COSTS, pd.Series(CHANCE, index=names)[::-1],
                                   versus=versus)


# ---- the tipping point

@pytest.mark.parametrize("costs", [COSTS, CostMatrix([[0, 1], [3, .5]])])
def test_the_verdict_turns_with_so_many_positives_and_with_none_less(costs):
    "By trying every number of positives among the unlabelled of a cell, the other cells as their labels."
    found = tipping_point(PART, A, costs, versus=B)
    gap = costs.array[:, A] - costs.array[:, B]
    share = {cell: Y[HAS & (A == cell[0]) & (B == cell[1])].mean() for cell in {*zip(A.tolist(), B.tolist())}}
    p = np.array([share[cell] for cell in zip(A.tolist(), B.tolist())])
    total = lambda p: np.where(HAS, gap[Y, np.arange(N)], (1 - p) * gap[0] + p * gap[1]).sum()
    assert found.difference == pytest.approx(total(p) / N) and found.verdict == ("first" if total(p) < 0
            else "second")
    assert len(found.table) == sum(a != b for a, b in share)
    for a, b, n, turn in zip(found.first, found.second, found.unlabelled, found.turns_with):
        cell = (A == a) & (B == b)
        assert n == (cell & ~HAS).sum()
        turned = [k for k in range(n + 1) if total(np.where(cell, k / n, p)) * total(p) <= 1e-9]
        assert np.isnan(turn) if not turned else turn == min(turned, key=lambda k: abs(k - n * share[a, b]))


def test_a_cell_without_a_label_leaves_its_own_turn_only():
    y, a, b = [0, 1, 0, None, None], [0, 1, 0, 1, 1], [1, 1, 1, 0, 0]
    found = tipping_point(y, a, [[0, 1], [5, 0]], versus=b)
    assert np.isnan(found.difference) and found.verdict == "" and found.turns_at.tolist()[
        1] == 0.0 and np.isnan(found.turns_with).all()
    with pytest.raises(ValueError, match="costs: two classes are needed, got 3; see bounds_without_labels"):
        tipping_point([0, 1, 2, None], [0, 1, 2, 0], 1 - np.eye(3), versus=[0, 1, 1, 1])
