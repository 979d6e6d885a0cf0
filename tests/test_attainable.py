"""What can occur: one account of it (`attainable`), and that every door asks it."""
import itertools

import numpy as np
import pytest

import cost_eval.api as ce
from cost_eval.bootstrap import loss_difference
from cost_eval.samples import labelled_rows
from cost_eval.comparisons import Decided, Losses, ask

C = np.array([[0., 1], [20, 0]])


# ---- the least and the largest, against every row, class and pair of decisions

def subsets(M, rng):
    return sorted(rng.choice(M, rng.integers(1, M + 1), replace=False).tolist())


@pytest.mark.parametrize("seed", range(12))
def test_no_row_class_or_pair_of_decisions_costs_more_or_less(seed):
    rng = np.random.default_rng(seed)
    K, M, n = rng.integers(2, 5), rng.integers(2, 5), rng.integers(1, 9)
    own = np.round(rng.normal(size=(n, K, M)), rng.integers(0, 3))
    labels = [f"d{j}" for j in range(M)]
    priced = ce.ExampleCosts.from_array(own, classes=range(K), decisions=labels)
    first, second = subsets(M, rng), subsets(M, rng)
    a, b = ([labels[j] for j in side] for side in (first, second))
    for costs, rows in ((priced, own), (ce.CostMatrix(own[0] + np.eye(K, M), decisions=labels,
                                                      classes=range(K)), own[:1] + np.eye(K, M))):
        for k in range(K):
            apart = [row[k, i] - row[k, j] for row in rows for i in first for j in second]
            one = [row[k, i] for row in rows for i in first]
            ends, alone = ce.attainable(costs, a, b, by_class=True), ce.attainable(costs, a, by_class=True)
            assert (ends[0][k], ends[1][k], alone[0][k], alone[1][k]) == (min(apart), max(apart), min(one),
                    max(one))
        assert ce.attainable(costs, a, b) == (ends[0].min(), ends[1].max())
        assert ce.attainable(costs, a, b, heaviest=3) == (3 * ends[0].min(), 3 * ends[1].max())
        assert ce.attainable(costs, second=labels) == tuple(sign * np.ptp(rows, axis=2).max()
                for sign in (-1, 1))
        assert ce.attainable(costs, labels[0]) == ce.attainable(costs, [labels[0]])


def test_blocks_of_rows_are_one_table(monkeypatch):
    own = np.random.default_rng(0).normal(size=(50, 2, 3))
    whole = ce.attainable(ce.ExampleCosts.from_array(own), 0, [1, 2])
    monkeypatch.setattr("cost_eval.core.BLOCK_BYTES", 1000)
    assert ce.attainable(ce.ExampleCosts.from_array(own), 0, [1, 2]) == whole


def test_a_cap_lets_what_varies_be_anything_up_to_it():
    """Against every corner of what the cells can be: a constant cell stays, a cell that varies keeps the
    signs seen in it."""
    own = np.array([[[0, 1, -3], [20, 0, 5]], [[0, 2, 4], [300, 0, 5]]], float)
    cells = [[0], [0, 500], [-500, 500], [0, 500], [0], [5]]
    corners = np.array(list(itertools.product(*cells))).reshape(-1, 2, 3)
    for first, second in itertools.product([[0], [1], [0, 2], [0, 1, 2]], repeat=2):
        apart = corners[..., first, None] - corners[..., None, second]
        assert ce.attainable(ce.ExampleCosts.from_array(own), first, second, largest=500) == (apart.min(),
                apart.max())
    assert ce.attainable(ce.ExampleCosts.from_array(own), 1, largest=500) == (0, 500)


@pytest.mark.parametrize("given, words", [
    (dict(costs=C, largest=9), "one matrix says"),
    (dict(costs=ce.ExampleCosts(fp=1, fn=[2, 50]), largest=9), "a sample costs 50; the cap is at least that"),
    (dict(costs=C, first=2), "first: label 2 is not in the decisions = [0, 1]"),
    (dict(costs=C, second="review"), "second: label 'review' is not in the decisions"),
    (dict(costs=C, second=[]), "second: at least one is needed"),
    (dict(costs=C, heaviest=0), "heaviest"),
])
def test_what_cannot_be_is_refused(given, words):
    with pytest.raises(ValueError) as error:
        ce.attainable(**given)
    assert words in str(error.value)


# ---- the same through every door

def doors(y, costs, clusters=True):
    "Options that say nothing: weights of 1, clusters of one, the matrix for each row, a propensity of 1."
    n, costs = len(y), np.asarray(costs, float)
    yield "plain", {"costs": costs}
    yield "weights", {"costs": costs, "sample_weight": np.ones(n)}
    if clusters:
        yield "clusters", {"costs": costs, "clusters": np.arange(n)}
    yield "own costs", {"costs": ce.ExampleCosts.from_array(np.broadcast_to(costs, (n, *costs.shape)))}


def test_a_class_that_was_not_seen_is_possible_through_all_doors():
    """With no positive among 60 a positive still costs 20: the upper end once was .0596 as soon as weights,
    clusters or own costs were given."""
    z = np.zeros(60, int)
    for name, given in [*doors(z, C), ("propensity", {"costs": C, "propensity": 1.})]:
        report = ce.evaluate(z, {"a": ce.Decisions(z)}, **given, rng=0)
        ladder = report.ladder.set_index("model")
        assert report.best["high"][0] == pytest.approx(1.19259, abs=1e-5), name
        assert ladder.loc["always 0", "high"] == pytest.approx(1.19259, abs=1e-5) and ladder.loc["oracle",
                "high"] == 0, name
    half = ce.evaluate(z, {"a": ce.Decisions(z)}, C, propensity=.5, rng=0)
    assert half.best["high"][0] == pytest.approx(1.19259, abs=1e-5)


def test_against_a_constant_no_more_can_be_lost_than_that_constant_allows():
    """A rule against 'block nobody' can lose no more than a false alarm; the lower end once allowed for a
    miss that 'nobody' makes, too."""
    y = np.repeat([0, 1], [990, 10])
    d = y.copy()
    d[:10], d[990:995] = 1, 0
    for name, given in [*doors(y, C), ("propensity", {"costs": C, "propensity": 1.})]:
        saved = ce.evaluate(y, {"a": ce.Decisions(d)}, **given, rng=0).against_constant.iloc[0]
        assert saved[["low", "high", "p_value"]].tolist() == pytest.approx([.02108, .22279, .000983],
                abs=1e-5), name
    by_losses = loss_difference(C[y, 0], C[y, d], bounds=ce.attainable(C, 0, [0, 1]))
    assert [by_losses.low, by_losses.p_value] == pytest.approx([saved["low"], saved["p_value"]])
    fraud = ce.ExampleCosts(fp=1, fn=np.where(np.arange(1000) == 3, 2000., 50))  # of one *negative* row
    one = ce.evaluate(y, {"a": ce.Decisions(d)}, fraud, rng=0).against_constant.iloc[0]
    assert one["low"] > -.03 and 2 < one["high"] < 3  # a false alarm more; the row of 2,000 might be caught


def test_a_part_of_the_cost_is_what_that_part_can_cost():
    "27 of 900 at cost 2: a share of 3 % times 2, whatever other cells cost; once up to .734."
    y = np.zeros(900, int)
    d = np.where(np.arange(900) < 27, 1, 0)
    dear = ce.evaluate(y, {"a": ce.Decisions(d)}, [[0, 2], [20, 0]], rng=0).breakdown().set_index("name")
    own = ce.evaluate(y, {"a": ce.Decisions(d)}, ce.ExampleCosts(fp=2, fn=np.full(900, 20.)),
                      rng=0).breakdown().set_index("name")
    level = 1 - .05 / len(dear)
    share = ce.interval([[873, 27]], [[0, 2]], confidence=level)
    for table in (dear, own):
        assert table.loc["0 decided 1", ["low", "high"]].tolist() == pytest.approx([share.low, share.high])
        assert table.loc["0", ["low", "high"]].tolist() == pytest.approx([share.low, share.high])
    assert [share.low, share.high] == pytest.approx([.0361, .0930], abs=1e-4)


def test_a_constant_that_was_observed_may_still_do_otherwise():
    y, d = np.repeat([0, 1], [990, 10]), np.zeros(1000, int)
    report = ce.evaluate(y, {"a": ce.Decisions(d)}, C, rng=0)
    saved, ladder = report.against_constant.iloc[0], report.ladder.set_index("model")
    assert saved["low"] < 0 < saved["high"] and ladder.loc["a", "high"] == ladder.loc["always 0", "high"]
    assert ladder.loc["a", "low"] == ladder.loc["always 0", "low"]


def test_a_method_of_the_engine_takes_no_account_of_cells_that_cannot_be():
    case = Losses(np.repeat([0, 1], [90, 10]), np.array([.9, .1]), False, costs=ce.CostMatrix([[1, 2], [1, 0]]))
    known = ask([case.asks(Decided("always 0", "constant", np.zeros(100, int), can=0))])
    assert (known.low[0], known.estimate[0], known.high[0]) == (1, 1, 1)


# ---- what the interval is for: these rows, or a population with a cap

def missed(n_sets, draw):
    "In which share of drawn sets an interval's ends lie on the wrong side of the truth."
    below = above = 0
    for seed in range(n_sets):
        truth, found = draw(np.random.default_rng(seed))
        below, above = below + (found.low > truth), above + (found.high < truth)
    return below / n_sets, above / n_sets


def weighted(labels, propensity):
    "The interval of what it costs to decide 0 for all, a label standing for one over its propensity."
    part = labelled_rows(labels, propensity)
    lost = ce.losses(labels[part.rows].astype(int), np.zeros(len(part.rows), int), C)
    return ce.loss_interval(lost, sample_weight=part.sample_weight, heaviest=part.heaviest(), bounds=(0, 20))


def test_a_weight_that_no_label_shows_follows_from_the_propensities():
    """One row in fifty costs 20 and is looked up in one of 50 cases: the interval once left the truth out in
    44 % of such sets."""
    def draw(rng):
        rare = np.arange(400) % 10 == 0  # looked up with probability .02, and wrong in half of the cases
        y = (rare & (rng.random(400) < .5)).astype(int)
        seen = rng.random(400) < np.where(rare, .02, 1)
        labels = np.where(seen, y.astype(object), None)
        return 20 * .05, weighted(labels, np.where(rare, .02, 1.))

    below, above = missed(60, draw)
    assert below <= .05 and above <= .05
    y = np.array([0, 0, 0, 1, None, None] * 10, object)
    low = np.where(y == None, .01, 1.)  # noqa: E711 - no row of a low propensity has a label
    heavy = ce.evaluate(y, {"a": ce.Decisions(np.zeros(60, int))}, C, propensity=low, rng=0)
    alike = ce.evaluate(y, {"a": ce.Decisions(np.zeros(60, int))}, C, propensity=1., rng=0)
    single = weighted(y, low)
    assert heavy.best["high"][0] == pytest.approx(single.high) and single.high > alike.best["high"][0] + 4
    assert any("no weight exceeds 100" in note for note in heavy.notes) and "proved" not in single.guarantee


def test_with_a_propensity_the_amounts_of_unlabelled_rows_may_come():
    y = np.array([0, 1, 0, 0, None, None] * 10, object)
    amounts = np.where(y == None, 500., 20.)  # noqa: E711
    d = ce.Decisions(np.zeros(60, int))
    dear, cheap = (ce.evaluate(y, {"a": d}, ce.ExampleCosts(fp=1, fn=fn), propensity=.5,
                               rng=0).best["high"][0] for fn in (amounts, np.full(60, 20.)))
    assert dear > cheap + 20


def test_the_heaviest_cluster_of_a_population_can_be_stated():
    """Of clusters of 1, 2 or 50 rows the large ones decide, and forty may show none: with heaviest=50 the
    upper end holds."""
    def draw(rng, heaviest=50):
        size = rng.choice([1, 2, 50], 40, p=[.6, .37, .03])
        wrong = np.repeat(np.where(size == 50, rng.random(40) < .5, rng.random(40) < .05), size)
        truth = (.03 * 50 * .5 + (.6 + .74) * .05) / (.6 + .74 + 1.5)
        return truth, ce.loss_interval(wrong * 1., clusters=np.repeat(np.arange(40), size), bounds=(0, 1),
                                       heaviest=heaviest)

    assert missed(60, draw)[1] <= .05
    assert missed(60, lambda rng: draw(rng, None))[1] > .1
    y, d, clusters = np.zeros(60, int), np.zeros(60, int), np.repeat(np.arange(40), [1] * 20 + [2] * 20)
    plain, capped = (ce.evaluate(y, {"a": ce.Decisions(d)}, C, clusters=clusters, heaviest=cap, rng=0)
                     for cap in (None, 50))
    assert capped.best["high"][0] > 5 * plain.best["high"][0]
    assert "no weight of a unit exceeds 50" in " ".join(
        capped.notes) and "cluster sizes are those of these rows" in " ".join(plain.notes)
    assert capped.with_costs([[0, 1], [20, 0]]).best["high"][0] == capped.best["high"][0]


def test_the_largest_amount_of_a_population_can_be_stated():
    rng = np.random.default_rng(0)
    y, d = np.repeat([0, 1], [95, 5]), np.repeat([0, 1], [97, 3])
    fraud = ce.ExampleCosts(fp=1, fn=np.maximum(20 * rng.random(100), 5))
    groups = np.arange(100) % 2
    plain, capped = (ce.evaluate(y, {"a": ce.Decisions(d)}, fraud, largest=cap, groups=groups, rng=0)
                     for cap in (None, 1000))
    # rates have no amounts
    assert capped.groups[["fnr_high", "fpr_high"]].equals(plain.groups[["fnr_high", "fpr_high"]])
    assert capped.best["high"][0] > 10 * plain.best["high"][0]
    # a false alarm costs 1 in any population
    assert capped.against_constant["low"][0] == pytest.approx(plain.against_constant["low"][0])
    assert "no amount exceeds 1000" in " ".join(
        capped.notes) and "amounts are those of these rows" in " ".join(plain.notes)


@pytest.mark.parametrize("given, words", [
    (dict(heaviest=9), "heaviest: without weights and clusters each sample weighs 1"),
    (dict(heaviest=2, clusters=np.repeat(np.arange(20), 5)),
     "heaviest: must lie in [5, inf), got 2; a unit weighs 5"),
    (dict(largest=9), "largest: 9, but one matrix says"),
    (dict(method="bcost"), "method: 'bcost' is not for differences"),
    (dict(method="beting"), "method: 'beting' is unknown"),
])
def test_caps_and_methods_that_make_no_sense_are_refused(given, words):
    y = np.repeat([0, 1], [90, 10])
    with pytest.raises(ValueError) as error:
        ce.evaluate(y, {"a": ce.Decisions(y)}, C, rng=0, **given)
    assert words in str(error.value)


def test_the_method_is_that_of_every_table():
    y, rng = np.repeat([0, 1], [80, 20]), np.random.default_rng(0)
    models = {name: ce.Decisions(np.where(rng.random(100) < share, y, 1 - y))
              for name, share in (("a", .9), ("b", .8))}
    groups = np.arange(100) % 2
    auto, betting, again = (ce.evaluate(y, models, C, groups=groups, method=m, rng=0)
                            for m in ("auto", "betting", "betting"))
    for table in ("ladder", "best", "differences", "against_constant", "groups", "group_differences"):
        one, other = getattr(auto, table), getattr(betting, table)
        assert not np.allclose(one["high"], other["high"], equal_nan=True), table
        assert getattr(again, table).equals(other)
    assert not np.allclose(auto.breakdown()["high"], betting.breakdown()["high"])
    counts = ce.confusion_counts(y, models["a"].values, classes=ce.CostMatrix(C))
    single = ce.interval(counts, C, method="betting")
    assert betting.ladder.set_index("model").loc["a", "high"] == pytest.approx(single.high)
    drawn = [ce.evaluate(y, models, C, method="percentile", rng=0) for _ in range(2)]
    assert drawn[0].breakdown().equals(drawn[1].breakdown()) and drawn[0].alternatives.equals(
        drawn[1].alternatives)


def test_what_is_right_only_for_the_classes_that_were_seen_is_not_beyond_improvement():
    z = np.zeros(60, int)
    said = ce.evaluate(z, {"a": ce.Decisions(z)}, C, rng=0).summary()
    assert "No verdict: always 0 costs 0 per case (95% interval 0 to 1.193) and nothing costs less on these samples, but it is not right for every class (1)." in said
    assert "Use no model" not in said and "Samples of class 1 for which always 0 is wrong" in said
    free = ce.CostMatrix([[0, 1], [0, 1]], decisions=["wait", "act"])
    assert "for it is right for every class" in ce.evaluate(z, {"a": np.full(60, "wait")}, free,
            rng=0).summary()
    whatever = ce.ExampleCosts.from_array([[[0., 1], [0, 1]], [[0, 1], [5, 0]]] * 30)
    labels = np.arange(60) % 2 * 0
    assert "not right for every class (1)" in ce.evaluate(labels, {"a": ce.Decisions(z)}, whatever,
            rng=0).summary()


def test_capacity_takes_what_a_class_can_gain_from_all_rows():
    "At given priors, too, a row's own costs are possible whatever its class turned out to be."
    y, score = np.array([0, 1] * 60), np.tile([1., 3, 2, 4], 30)
    fn = np.where((np.arange(120) == 0), 900., 20.)  # a negative row
    wide, even = (ce.capacity_curve(y, score, ce.ExampleCosts(fp=1, fn=each), priors=[.5, .5],
                                    rng=0).at(30).saving for each in (fn, np.full(120, 20.)))
    assert wide.high > even.high
    matrix = ce.capacity_curve(y, score, C, priors=[.5, .5], rng=0).at(30).saving
    assert [even.low, even.high] == pytest.approx([matrix.low, matrix.high])
