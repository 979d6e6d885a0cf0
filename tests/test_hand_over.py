"""Handing over: risk and coverage, a certified threshold (its level by enumeration), a cascade (against the
best cut, by trying all)."""
import itertools

import numpy as np
import pytest
from scipy.stats import binom, binomtest, multinomial

from conftest import refuses
import cost_eval.api as ce
from cost_eval.hand_over import cascade, certified_threshold, risk_coverage

pd = pytest.importorskip("pandas")
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
    accuracy_score = pytest.importorskip("sklearn.metrics").accuracy_score
    sure, said = P.max(1), 2 - P[:, ::-1].argmax(1)
    assert found.thresholds.tolist() == sorted(set(sure), reverse=True) and len(found.table) == len(
        set(sure)) < N, "scores tie"
    for t, share, risk, low, high, n, k in zip(*(getattr(found, name) for name in ("thresholds", "coverage",
            "risk", "low", "high", "answered", "wrong"))):
        answered = sure >= t
        assert (n, k, share) == (answered.sum(), (said != Y)[answered].sum(), answered.mean())
        assert risk == pytest.approx(1 - accuracy_score(Y[answered], said[answered]))
        assert (low, high) == pytest.approx(tuple(binomtest(int(k), int(n)).proportion_ci(.9, "exact")))


@pytest.mark.parametrize("given", [
    lambda: risk_coverage(NAMES[Y], pd.DataFrame(P[:, ::-1], columns=NAMES[::-1])), lambda: risk_coverage(
        NAMES[Y], ce.Posteriors(P, classes=NAMES.tolist())),
    lambda: risk_coverage(NAMES[Y], NAMES[2 - P[:, ::-1].argmax(1)], P.max(1)), lambda: risk_coverage(Y,
        ce.Decisions(2 - P[:, ::-1].argmax(1)), P.max(1)),
    lambda: risk_coverage(Y, P, np.exp(P.max(1)), thresholds=np.exp(P.max(1))),
])
def test_labels_posteriors_and_decisions_with_scores_are_one_thing(given):
    whole, found = risk_coverage(Y, P), given()
    np.testing.assert_array_equal(found.wrong, whole.wrong)
    np.testing.assert_array_equal(found.coverage, whole.coverage)


def test_two_classes_by_one_probability_and_nothing_answered():
    p = np.array([.2, .5, .9, .6])
    found = risk_coverage(["a", "b", "b", "a"], p, positive="b", thresholds=[.95, .6])
    assert found.answered.tolist() == [0, 3] and found.wrong.tolist() == [0,
            1] and np.isnan(found.risk[0]), "one half is no answer surer than .6"
    assert (found.low[0], found.high[0]) == (0, 1)
    decimal = risk_coverage([0] * 100, np.arange(100) / 100, thresholds=np.arange(50, 101) / 100)
    assert decimal.answered.tolist() == [1, *range(3, 100, 2), 100], "1 - .07 is .93"
    assert risk_coverage([0, 0, 0], [0, 0, 0], [3, 1, 2]).wrong.tolist() == [0, 0, 0], "one label in all"


# ---- a certified threshold

ROWS, LIMIT, SURE = 8, .3, .85  # 6 answers without an error are enough


def outcomes(**options):
    """Each sample of eight rows with three scores: rows and errors at each score, and the loosest score
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
    assert one.threshold == .9 and one.coverage == 1 and one.needed == 149 and one.guarantee.startswith(
        "proved")
    assert np.isnan(other.threshold) and other.coverage == 0 and not other.certified.any()
    assert "no threshold is certified: the strictest threshold is met by 148 rows, and even without a wrong answer it takes 149" in repr(other)
    assert "took no part" in repr(one) and "took no part" in one.notes[0]
    wrong = certified_threshold(np.arange(200) < 9, [.1] * 200)
    assert "of the 200 answers at the strictest threshold 9 are wrong" in wrong.notes[-1]


def test_the_sequence_stops_at_the_first_failure():
    "A looser threshold that would pass by itself is not reached."
    score = np.repeat([3., 2, 1], [150, 10, 400])
    wrong = (score == 2) & (np.arange(560) < 154)
    found = certified_threshold(0 * score, wrong.astype(int), score, thresholds=[1, 3, 2, 2])
    assert found.thresholds.tolist() == [3, 2, 1] and found.certified.tolist() == [True, False,
            False] and found.p_values[2] <= .05
    assert found.threshold == 3 and found.coverage == 150 / 560
    assert certified_threshold(0 * score, wrong.astype(int), score,
                               thresholds=[1]).threshold == 1, "fixed beforehand, it needs no stricter one"
    assert found.table.columns.tolist() == ["threshold", "coverage", "risk", "answered", "wrong", "p_value",
                                            "certified"]


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


# ---- a cascade

def test_one_model_and_one_price_is_the_best_cut_of_all():
    "What the plan that was fitted on all rows pays is the least that any cut pays; ties are answered."
    y, p = (rng.random(60) < .3).astype(int), np.round(rng.random(60), 2)
    plan = cascade(y, {"small": p}, [[0, 1], [5, 0]], prices={"person": .4}, folds=2)
    bill = np.column_stack([p * 5, 1 - p])
    seen, paid = bill.min(1), np.where(bill.argmin(1) == 1, y == 0, 5 * y)
    sent = plan.send("small", seen) == "person"
    assert np.where(sent, .4, paid).sum() == pytest.approx(min(np.where(seen >= t, .4, paid).sum()
            for t in [*seen, 9]))
    even = cascade([0, 1] * 9, {"small": [.5] * 18}, [[0, 1], [1, 0]], prices={"person": .5}, folds=2)
    assert even.send("small", [.5]).tolist() == ["small"], "what costs the same is answered"


@pytest.mark.parametrize("prices, wanted", [({"large": .1, "person": 9}, "large"), ({"large": 3,
        "person": .5}, "person"), ({"large": 3, "person": 9}, "small")])
def test_readers_who_do_not_say_how_sure_they_are_are_asked_for_all_or_none(prices, wanted):
    y = np.arange(100) % 2
    models = {"small": ce.Decisions(np.where(np.arange(100) < 40, 1 - y, y)),
              "large": ce.Decisions(np.where(np.arange(100) < 4, 1 - y, y))}
    plan = cascade(y, models, 2 * (1 - np.eye(2)), prices=prices)
    assert plan.answers.tolist() == [float(name == wanted) for name in plan.readers] and plan.asked[0] == 1
    assert plan.cost.mean == pytest.approx({"large": .1 + .08, "person": .5,
                                            "small": .8}[wanted]) == pytest.approx(plan.losses.mean())


def test_with_true_posteriors_the_plan_pays_nearly_what_the_best_rule_pays():
    "Chow's rule for one model and a person; with a second look in between less than either model can do."
    draw = np.random.default_rng(3)
    y = draw.integers(2, size=20_000)
    z, more = (draw.normal(1.2 * (2 * y - 1)) for _ in range(2))
    small, large = (1 / (1 + np.exp(-2.4 * s)) for s in (z, z + more))
    costs = [[0, 1], [1, 0]]
    simple = cascade(y, {"small": small}, costs, prices={"person": .2})
    both = cascade(y, {"small": small, "large": large}, costs, prices={"large": .03, "person": .2})
    chow = np.where(np.minimum(small, 1 - small) > .2, .2, (small >= .5) != y).mean()
    assert simple.cost.mean == pytest.approx(chow, abs=.002)
    saved = ce.loss_difference(simple.losses, both.losses, bounds=(-1.03, 1))
    assert saved.low > 0 and set(both.send("small", [0, .1, .5])) == {"small",
            "large"} and set(both.send("large", [.01, .4])) == {"large", "person"}
    assert both.losses == pytest.approx(np.where(both.last == 2, .2 + .03, np.where(both.last == 1,
            .03 + ((large >= .5) != y), (small >= .5) != y)))
    assert list(both.table.columns) == ["readers", "price", "asked",
                                        "answers"] and both.answers.sum() == pytest.approx(1)


def test_each_row_may_have_its_own_costs():
    y, p = np.arange(200) % 2, np.tile([.1, .4, .45, .9], 50)
    same = ce.ExampleCosts(fp=np.full(200, 1.), fn=np.full(200, 5.))
    one, other = (cascade(y, {"m": p}, costs, prices={"person": .3}) for costs in ([[0, 1], [5, 0]], same))
    np.testing.assert_array_equal(one.losses, other.losses)
    assert cascade(y, {"m": p}, ce.ExampleCosts(fp=1, fn=np.where(np.arange(200) < 100, 5., 50)),
                   prices={"person": .3}).cost.mean != one.cost.mean


test_what_is_refused = refuses([
    (lambda: risk_coverage([0, 1], [0, 1]), "scores: of decisions it must be said how sure each is"),
    (lambda: risk_coverage([0, 1], [3., 7]),
     "model: numbers that are neither decisions nor posteriors; give posteriors, or decisions and scores="),
    (lambda: risk_coverage(Y, P, thresholds=[]), "thresholds: at least one is needed"),
    (lambda: risk_coverage(Y, P, P.max(1)[1:]), "scores: "),
    (lambda: certified_threshold(Y, P, risk=2), r"risk: must lie in \(0, 1\), got 2; 2 % is .02"),
    (lambda: certified_threshold(Y, P, confidence=.4),
     r"confidence: must lie in \(0.5, 1\), got 0.4; 95 % is .95"),
    (lambda: certified_threshold([0, 0], [.1, .2], priors=[.5, .5]),
     "y_true: no sample of 1, whose prior is above 0"),
    (lambda: cascade(Y, P, 1 - np.eye(3), prices={"p": 1}), "models: a mapping name -> posteriors is needed"),
    (lambda: cascade(Y, {"m": P}, 1 - np.eye(3), prices={"m": 1}),
     "prices: with a single reader nothing is to be planned"),
    (lambda: cascade(Y, {"m": P}, 1 - np.eye(3), prices={"p": -1}),
     r"prices\['p'\]: must lie in \[0, inf\), got -1"),
    (lambda: cascade([0, 1] * 9, {"m": ce.Scores(np.arange(18))}, 1 - np.eye(2), prices={"p": 1}),
     r"models\['m'\]: scores have no scale"),
    (lambda: cascade(Y, {"m": P}, 1 - np.eye(3), prices={"p": .1}).send("q", [.1]),
     r"reader: 'q' is unknown; there are \['m', 'p'\]"),
])
