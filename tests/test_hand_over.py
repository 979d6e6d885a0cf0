"""Handing over: risk and coverage, a certified threshold (its level by enumeration)."""
import itertools
import re

import numpy as np
import pytest
from scipy.stats import binom, binomtest, multinomial

from conftest import refuses
import cost_eval.api as ce
from cost_eval.hand_over import certified_threshold, risk_coverage

rng = np.random.default_rng(0)
N = 300
Y = rng.integers(3, size=N)
P = np.floor(rng.dirichlet([.6] * 3, N) * 26 + 36
             * np.eye(3)[np.where(rng.random(N) < .8, Y, rng.integers(3, size=N))])
P[:, 0] += 64 - P.sum(1)
P /= 64  # exact, with ties
NAMES = np.array(["world", "sports", "business"])


# ---- risk and coverage

def test_every_point_of_the_curve_is_a_count_and_its_exact_interval():
    found = risk_coverage(Y, P, confidence=.9)
    sure, said = P.max(1), 2 - P[:, ::-1].argmax(1)
    assert found.thresholds.tolist() == sorted(set(sure), reverse=True) and len(set(sure)) < N, "scores tie"
    for point in found.to_frame().itertuples():
        answered = sure >= point.threshold
        n, k = answered.sum(), (said != Y)[answered].sum()
        assert (point.answered, point.wrong, point.coverage) == (n, k, answered.mean())
        ends = binomtest(int(k), int(n)).proportion_ci(.9, "exact")
        assert [point.risk, point.low, point.high] == pytest.approx([k / n, ends.low, ends.high])


@pytest.mark.parametrize("given", [
    lambda said: risk_coverage(NAMES[Y], ce.Posteriors(P, classes=NAMES.tolist())),
    lambda said: risk_coverage(NAMES[Y], NAMES[said], P.max(1)),
    lambda said: risk_coverage(Y, P, np.exp(P.max(1)), thresholds=np.exp(P.max(1)))])
def test_labels_posteriors_and_decisions_with_scores_are_one_thing(given):
    whole, found = risk_coverage(Y, P), given(2 - P[:, ::-1].argmax(1))
    np.testing.assert_array_equal(found.wrong, whole.wrong)
    np.testing.assert_array_equal(found.coverage, whole.coverage)


def test_two_classes_by_one_probability_and_nothing_answered():
    p = np.array([.2, .5, .9, .6])
    found = risk_coverage(["a", "b", "b", "a"], p, positive="b", thresholds=[.95, .6])
    assert risk_coverage([0, 1, 1, 0], p, [.8, .5, .9, .6], thresholds=[.6]).wrong == [1]
    assert found.answered.tolist() == [0, 3] and found.wrong.tolist() == [0,
            1] and np.isnan(found.risk[0]), "one half is no answer surer than .6"
    assert (found.low[0], found.high[0]) == (0, 1)
    decimal = risk_coverage([0] * 100, np.arange(100) / 100, thresholds=np.arange(50, 101) / 100)
    assert decimal.answered.tolist() == [1, *range(3, 100, 2), 100], "1 - .07 is .93"
    assert risk_coverage([0, 1], np.float32([.4, .6]), thresholds=[np.inf, .6]).answered.tolist() == [0, 2]
    assert risk_coverage([0, 0, 0], [0, 0, 0], [3, 1, 2]).wrong.tolist() == [0, 0, 0], "one label in all"


# ---- a certified threshold

ROWS, LIMIT, SURE = 7, .3, .85  # 6 answers without an error are enough


def outcomes(**options):
    """Each sample of seven rows with three scores: rows and errors at each score, and the loosest score
    certified (3: none)."""
    for n in itertools.product(range(ROWS + 1), repeat=3):
        if sum(n) == ROWS:
            for k in itertools.product(*(range(m + 1) for m in n)):
                wrong = np.concatenate([np.arange(m) < j for m, j in zip(n, k)])
                found = certified_threshold(0 * wrong, wrong.astype(int), np.repeat([2, 1, 0], n), risk=LIMIT,
                                            confidence=SURE, **options)
                yield n, k, 3 if np.isnan(found.threshold) else int(2 - found.threshold)


def chance_of_a_false_promise(found, share, error):
    "Exactly: the probability that the threshold certified has a risk above the limit."
    n, k, loosest = (np.array(part) for part in zip(*found))
    chance = multinomial.pmf(n, ROWS, share) * np.prod([binom.pmf(k[:, j], n[:, j], error[j])
                                                        for j in range(3)], 0)
    risk = np.append(np.cumsum(np.multiply(share, error)) / np.cumsum(share), 0)
    assert chance.sum() == pytest.approx(1)
    return chance[risk[loosest] > LIMIT + 1e-12].sum()


@pytest.mark.parametrize("given", [True, False])
def test_a_false_promise_is_as_rare_as_it_says(given):
    """Given thresholds whatever the errors are; those that follow the scores where surer rows are not more
    often wrong."""
    found = list(outcomes(**({"thresholds": [2, 1, 0]} if given else {})))
    levels, worst = np.linspace(0, 1, 6), 0
    for share in ([.6, .2, .2], [.2, .6, .2], [.8, .1, .1], [1 / 3] * 3, [.05, .75, .2]):
        for error in itertools.product([*levels, LIMIT + 1e-9], repeat=3):
            if given or error[0] <= error[1] <= error[2]:
                worst = max(worst, chance_of_a_false_promise(found, share, error))
    assert .04 < worst <= 1 - SURE + 1e-9
    assert {loosest for *_, loosest in found} == {0, 1, 2, 3}


def test_none_of_149_and_what_is_said_of_148():
    one, other = (certified_threshold([0] * n, [.1] * n) for n in (149, 148))
    assert (one.threshold, one.coverage, one.needed) == (.9, 1, 149) and one.guarantee.startswith("proved")
    assert np.isnan(other.threshold) and other.coverage == 0 and not other.certified.any()
    assert "no threshold is certified" in repr(other) and re.search("148 rows.*it takes 149", repr(other))
    assert "took no part" in repr(one) and "took no part" in one.notes[0]
    wrong = certified_threshold(np.arange(200) < 9, [.1] * 200)
    assert re.search("200 answers .* 9 are wrong", wrong.notes[-1])


def test_the_sequence_stops_at_the_first_failure():
    "A looser threshold that would pass by itself is not reached."
    score = np.repeat([3., 2, 1], [150, 10, 400])
    wrong = (score == 2) & (np.arange(560) < 154)
    found = certified_threshold(0 * score, wrong.astype(int), score, thresholds=[1, 3, 2, 2])
    assert found.thresholds.tolist() == [3, 2, 1] and found.certified.tolist() == [True, False,
            False] and found.p_values[2] <= .05
    assert found.threshold == 3 and found.coverage == 150 / 560
    alone = certified_threshold(0 * score, wrong.astype(int), score, thresholds=[1])
    assert alone.threshold == 1, "fixed beforehand, it needs no stricter one"


def test_at_other_shares_the_engine_judges():
    """Certified where the upper end of the two-sided interval at twice the tail is not above 0; at the rows'
    own shares near the binomial test."""
    y = np.repeat([0, 1], [700, 300])
    score = np.random.default_rng(1).random(1000)
    said = np.where(np.random.default_rng(2).random(1000) < .12 * (1 - score), 1 - y, y)
    asked = {"risk": .05, "thresholds": np.linspace(0, .8, 9)}
    plain, same, other = (certified_threshold(y, said, score, priors=p, **asked)
                          for p in (None, [.7, .3], [.1, .9]))
    for found, share in ((same, [.7, .3]), (other, [.1, .9])):
        for t, p, risk, coverage in zip(found.thresholds, found.p_values, found.risks, found.coverages):
            kinds = [[((y == c) & (score >= t) & (said == y)).sum(), ((y == c) & (score >= t)
                    & (said != y)).sum(), ((y == c) & (score < t)).sum()] for c in (0, 1)]
            assert (p <= .05) == (ce.interval(kinds, [[-.05, .95, 0]] * 2, priors=share, confidence=.9).high
                                  <= 0)
            right, error, _ = share @ (np.array(kinds) / np.sum(kinds, 1, keepdims=True))
            assert (risk, coverage) == pytest.approx((error / (right + error), right + error))
    assert np.abs(same.p_values - plain.p_values).max() < .1 and len({found.threshold
            for found in (plain, same, other)}) == 3
    assert other.guarantee.startswith("measured") and "if rows of a higher score" not in plain.guarantee


test_what_is_refused = refuses([
    (lambda: risk_coverage([0, 1], [0, 1]), "scores: of decisions it must be said how sure each is"),
    (lambda: risk_coverage([0, 1], [3., 7]), "model: .*give posteriors, or decisions and scores="),
    (lambda: certified_threshold(Y, P, risk=2), r"risk: must lie in \(0, 1\), got 2; 2 % is .02"),
    (lambda: certified_threshold(["a"], ce.Posteriors([[1, 0]], classes=[*"ab"]), require={"precision": .8}),
     "positive: None, .* say which of"),
    (lambda: certified_threshold([0, 0], [.1, .2], priors=[.5, .5]), "y_true: no sample of 1"),
])
