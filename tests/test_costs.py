"""Costs: construction, orientation, standard form, every form in which people write them, and what can
occur: one account of it (`attainable`), and that every door asks it."""
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import beta
from sklearn.metrics import balanced_accuracy_score, zero_one_loss

import cost_eval.api as ce
from conftest import refuses
from cost_eval.bootstrap import interval, loss_difference, loss_interval
from cost_eval.comparisons import Decided, Losses, ask
from cost_eval.confusion import confusion_counts
from cost_eval.costs import CostMatrix, ExampleCosts, as_costs, as_priors, attainable, losses
from cost_eval.decisions import best_threshold
from cost_eval.report import evaluate
from cost_eval.samples import Decisions, labelled_rows, read_samples

positive = st.floats(1e-6, 1e6)
matrices = hnp.arrays(float, st.tuples(st.integers(1, 4), st.integers(2, 5)),
                      elements=st.integers(-50, 50)).filter(lambda c: (c != c[:, :1]).any())


# ---- matrices

@given(matrices, st.data())
def test_standard_form(costs, draw):
    shift = draw.draw(hnp.arrays(float, len(costs), elements=st.integers(-50, 50)))
    a, b = CostMatrix(costs).standardized(), CostMatrix(costs + shift[:, None]).standardized()
    assert a == b == a.standardized() and (a.array.min(1) == 0).all()
    np.testing.assert_array_equal(a.right, CostMatrix(costs).right)


@given(positive, positive, positive)
def test_ratio_and_weight(fp, fn, scale):
    costs = CostMatrix.binary(fp=fp, fn=fn)
    assert costs.cost_ratio == pytest.approx(fn / fp) and costs.weight == pytest.approx(fn / (fn + fp))
    assert CostMatrix(costs.array * scale).weight == pytest.approx(costs.weight)
    assert CostMatrix(costs.array[::-1, ::-1]).weight == pytest.approx(1 - costs.weight)
    assert CostMatrix.from_ratio(costs.cost_ratio).weight == pytest.approx(costs.weight)
    turned = CostMatrix.from_weight(costs.weight)
    assert turned.weight == pytest.approx(costs.weight) and turned.array.sum() == pytest.approx(1)


def test_special_matrices_give_the_known_rates():
    y, d = np.random.default_rng(0).integers(0, 4, (2, 500))
    share, priors = confusion_counts(y, d).array / 500, np.bincount(y) / 500
    assert (share * CostMatrix.zero_one(4).array).sum() == pytest.approx(zero_one_loss(y, d))
    balanced = (share * CostMatrix.inverse_prior(priors).array).sum()
    assert balanced == pytest.approx(1 - balanced_accuracy_score(y, d))
    gains = np.array([[0., .1, .2], [0., -.5, -.7]])
    assert CostMatrix.from_utilities(gains).array == pytest.approx(gains.max(1, keepdims=True) - gains)
    assert CostMatrix.binary(tp=-3, tn=-1).array.tolist() == [[-1, 1], [1, -3]]
    assert CostMatrix([[1, 3], [9, 2]]).error_costs == (2, 7)


def test_abstention_is_a_column():
    costs = CostMatrix.zero_one(3, abstain=.05)
    assert costs.decisions == (0, 1, 2, "abstain") and (costs.array[:, 3] == .05).all()
    assert CostMatrix.binary(1, 5).with_abstain([.1, .4], "review").array[:, 2].tolist() == [.1, .4]
    assert NAMED.with_abstain(pd.Series({"ill": .4, "well": .1})).array[:, 2].tolist() == [.1, .4]


def test_labels_go_through_every_constructor():
    kept = {"classes": ["n", "p"], "decisions": ["no", "yes"]}
    single = ExampleCosts(fp=[1, 4], fn=[2, 3.0], tn=.5, **kept)
    plain = CostMatrix.binary(1, 5, **kept)
    for made in (plain, plain.standardized(), CostMatrix.from_utilities([[1, 0], [0, 9]], **kept), single,
                 single[[1]], single[0], single.mean(), ExampleCosts.from_array(single.array, **kept),
                 CostMatrix(plain, classes=["n", "p"]), CostMatrix(plain, decisions=["no", "yes"]),
                 ExampleCosts.from_array(single), CostMatrix.from_utilities(-plain.to_frame())):
        assert (made.classes, made.decisions) == (("n", "p"), ("no", "yes"))
    assert CostMatrix.zero_one(3, classes="abc").classes == tuple("abc")
    assert CostMatrix.inverse_prior({"a": .2, "b": .8}).classes == ("a", "b")
    assert CostMatrix(CostMatrix([[-0., 1], [2, 0]], classes="ab"), classes="cd").decisions == ("c", "d")
    frame = single.mean().to_frame()
    assert ce.ConfusionCounts(frame, classes="pn").array.tolist() == [[2.5, 0], [.5, 2.5]]  # its rows turned
    assert (frame.index.name, frame.columns.name, frame.loc["p", "no"]) == ("class", "decision", 2.5)


def test_costs_of_single_examples():
    single = ExampleCosts(fp=[1, 4], fn=[2, 3.0], tn=.5)
    assert single.array.tolist() == [[[.5, 1], [2, 0]], [[.5, 4], [3, 0]]] and len(single) == 2
    assert single[1].array.tolist() == [[.5, 4], [3, 0]] and single[1:].array.tolist() == [[[.5, 4], [3, 0]]]
    assert single.mean([3, 1]).array.tolist() == [[.5, 1.75], [2.25, 0]]
    assert ExampleCosts(fp=1, fn=5).shape == (1, 2, 2)
    assert repr(single) == "ExampleCosts(<2 samples, 2 x 2>, classes=[0, 1], decisions=[0, 1])"


# ---- one door: every form of costs and priors

NAMED = CostMatrix([[0, 3], [40, 1]], classes=["well", "ill"], decisions=["wait", "treat"])
LOAN = CostMatrix([[0, 5, 20], [100, 15, 0]], classes=["pays", "defaults"], decisions=["grant", "ask", "no"])
OWN = {"fp": [1., 2., 3.], "fn": [5., 6., 7.], "tp": .5}


def flat(costs):
    "The classes in a column of their own."
    columns = {str(d): costs.array[:, j] for j, d in enumerate(costs.decisions)}
    return {"class": [str(c) for c in costs.classes]} | columns


@pytest.mark.parametrize("costs", [NAMED, LOAN])
@pytest.mark.parametrize("form", [
    lambda costs: costs, lambda costs: costs.to_frame(), lambda costs: costs.to_frame().iloc[::-1, ::-1],
    lambda costs: pd.DataFrame(costs.array, list(costs.classes), list(costs.decisions)),
    lambda costs: costs.to_frame().rename_axis(index="truth \\ response", columns=None),
    lambda costs: pd.DataFrame(flat(costs)), lambda costs: pl.DataFrame(flat(costs))])
def test_every_form_is_one_matrix(form, costs):
    read = as_costs(form(costs), y_true=list(costs.classes) * 2)
    assert read.to_frame().loc[list(costs.classes), list(costs.decisions)].equals(costs.to_frame())


def test_what_is_said_by_outcome_or_for_each_row():
    matrix = CostMatrix(NAMED.array)
    assert as_costs(dict(fp=3, fn=40, tp=1)) == as_costs([[0, 3], [40, 1]], y_true=[0, 1]) == matrix
    for form in (OWN, pd.DataFrame(OWN), ExampleCosts(**OWN)):
        assert as_costs(form) == as_costs(form, y_true=[0, 1, 0]) == ExampleCosts(**OWN)
    numbered = pd.DataFrame([[0, 1, .5], [9, 0, .5]], [0, 1], [0, 1, "wait"])
    assert CostMatrix.from_frame(numbered).decisions == (0, 1, "wait")
    three = np.array([[0, 1, 2], [3, 0, 4], [5, 6, 0.]])  # as many rows as classes
    assert read_samples([0, 1, 2], {"a": Decisions([0, 1, 1])}, three).costs == CostMatrix(three)
    assert as_costs([[0, 1], [2, 3], [1, 0]], y_true=[0, 2, 0, 0]).shape == (3, 2)  # a class without samples


@pytest.mark.parametrize("form", [dict, pd.DataFrame, lambda own: ExampleCosts(**own)])
def test_costs_of_rows_in_another_order_are_refused_in_every_form(form):
    """A frame of the columns fp and fn has an index, as series have: it was taken in the order in which it
    stood."""
    y, d = pd.Series([0, 1, 0], list("abc")), pd.Series([1, 0, 1], list("abc"))
    turned = form({name: pd.Series([3., 2, 1], list("cba")) for name in ("fp", "fn")})
    for call in (lambda: losses(y, d, turned), lambda: losses(y.to_numpy(), d, turned),
                 lambda: as_costs(turned, y_true=y), lambda: best_threshold(y, d * 1., turned)):
        with pytest.raises(ValueError, match="in another order"):
            call()


def test_every_form_of_priors():
    named = {"ill": .25, "well": .75}
    for form in (.25, np.float64(.25), [.75, .25], named, pd.Series(named)):
        for options in ({}, {"sizes": [1, 1]}):
            assert as_priors(form, ["well", "ill"], **options).tolist() == [.75, .25]
    assert as_priors({"0": .75, "1": .25}, 2).tolist() == [.75, .25]
    assert as_priors(None, 2, sizes=[3, 1]).tolist() == [.75, .25]


test_bad_input = refuses({
    "transposed by labels": (lambda: CostMatrix(np.eye(3, 2), classes="ab", decisions="abc"), "transposed"),
    "decisions in rows": (lambda: CostMatrix.from_frame(NAMED.to_frame().T), "rows must be true classes"),
    "more rows than columns": (lambda: as_costs(pd.DataFrame(np.eye(3, 2), ["a", "b", "c"], ["a", "b"])),
                               "rows must be true classes"),
    "abstention of another length": (lambda: NAMED.with_abstain([1, 2, 3]), "cost: one number or one per"),
    "weights of 0": (lambda: ExampleCosts(**OWN).mean([0, 0, 0]), "every weight is zero"),
    "one class": (lambda: CostMatrix.zero_one(1), "K: .*at least two classes"),
    "prior 0": (lambda: CostMatrix.inverse_prior([0, 1]), "one above 0 for each"),
    "no ratio": (lambda: CostMatrix([[0, 1, 2], [1, 0, 3]]).cost_ratio, "two classes and decisions"),
    "swapped columns": (lambda: CostMatrix([[1, 0], [0, 1]]).cost_ratio, "columns swapped"),
    "half swapped": (lambda: CostMatrix([[0, 1], [1, 1]]).error_costs, "columns swapped"),
    "no axis of rows": (lambda: ExampleCosts.from_array(np.ones((2, 2))), r"\(N, K, M\)"),
    "infinite": (lambda: ExampleCosts(fp=[1, np.nan, np.inf], fn=1), "sample 1;"),
    "misspelt": (lambda: as_costs(dict(fp=1, fm=2)), "costs: .*fn is missing"),
    "one outcome too many": (lambda: as_costs(dict(fp=1, fn=2, cost=3)), "costs: .*there are fp, fn, tp, tn"),
    "one prior for three": (lambda: as_priors(.5, classes=3), "one number is for two classes, there are 3"),
    "priors of nobody": (lambda: as_priors(.5, classes="ab", sizes=[1, 0]), "no sample of b"),
    "a cap of one matrix": (lambda: attainable(NAMED, largest=9), "one matrix says"),
    "a cap below what was seen": (lambda: attainable(ExampleCosts(fp=1, fn=[2, 50]), largest=9),
                                  "a sample costs 50; the cap is at least that"),
    "an unknown decision": (lambda: attainable(NAMED, second="x"), "second: label 'x' is not in the dec"),
    "a range": (lambda: as_costs(dict(fp=1, fn=(2, 5))), "costs: fn=.2, 5. is a range, which only evaluate"),
    "no decision": (lambda: attainable(NAMED, second=[]), "second: at least one is needed"),
})


# ---- the least and the largest, against every row, class and pair of decisions

C = np.array([[0., 1], [20, 0]])


@pytest.mark.parametrize("seed", range(12))
def test_no_row_class_or_pair_of_decisions_costs_more_or_less(seed):
    rng = np.random.default_rng(seed)
    K, M, n = rng.integers(2, 5), rng.integers(2, 5), rng.integers(1, 9)
    rows, labels = np.round(rng.normal(size=(n, K, M)), rng.integers(0, 3)), [f"d{j}" for j in range(M)]
    first, second = (sorted(rng.choice(M, rng.integers(1, M + 1), replace=False)) for _ in "ab")
    a, b = ([labels[j] for j in side] for side in (first, second))
    named = {"classes": range(K), "decisions": labels}
    one = CostMatrix(rows[0] + np.eye(K, M), **named)
    for costs, seen in ((ExampleCosts.from_array(rows, **named), rows), (one, one.array[None])):
        apart = (seen[..., first, None] - seen[..., None, second]).reshape(len(seen), K, -1)
        low, high = attainable(costs, a, b, by_class=True)
        assert (low == apart.min((0, 2))).all() and (high == apart.max((0, 2))).all()
        low, high = attainable(costs, a, by_class=True)
        assert (low == seen[..., first].min((0, 2))).all() and (high == seen[..., first].max((0, 2))).all()
        assert attainable(costs, a, b) == (apart.min(), apart.max())
        assert attainable(costs, a, b, heaviest=3) == (3 * apart.min(), 3 * apart.max())
        assert attainable(costs, second=labels)[1] == np.ptp(seen, axis=2).max()
        assert attainable(costs, labels[0]) == attainable(costs, [labels[0]])


def test_a_cap_lets_what_varies_be_anything_up_to_it(monkeypatch):
    """Against every corner of what the cells can be: a constant cell stays, a cell that varies keeps the
    signs seen in it. Blocks of rows are one table."""
    priced = ExampleCosts.from_array(np.array([[[0, 1, -3], [20, 0, 5]], [[0, 2, 4], [300, 0, 5]]], float))
    cells = [[0], [0, 500], [-500, 500], [0, 500], [0], [5]]
    corners = np.array(list(itertools.product(*cells))).reshape(-1, 2, 3)
    for first, second in itertools.product([[0], [1], [0, 2], [0, 1, 2]], repeat=2):
        apart = corners[..., first, None] - corners[..., None, second]
        assert attainable(priced, first, second, largest=500) == (apart.min(), apart.max())
    assert attainable(priced, 1, largest=500) == (0, 500)
    many = ExampleCosts.from_array(np.random.default_rng(0).normal(size=(50, 2, 3)))
    whole = attainable(many, 0, [1, 2])
    monkeypatch.setattr("cost_eval.core.BLOCK_BYTES", 1000)
    assert attainable(many, 0, [1, 2]) == whole


# ---- the same through every door

def doors(y, costs):
    "Options that say nothing: weights of 1, clusters of one, the matrix for each row, a propensity of 1."
    each = ExampleCosts.from_array(np.broadcast_to(costs, (len(y), *costs.shape)))
    return [{"costs": costs}, {"costs": costs, "sample_weight": np.ones(len(y))}, {"costs": each},
            {"costs": costs, "clusters": np.arange(len(y))}, {"costs": costs, "propensity": 1.}]


def judged(y, d, *args, **given):
    return evaluate(y, {"a": Decisions(d)}, *args, **given, rng=0)


def test_a_class_that_was_not_seen_is_possible_through_all_doors():
    "With no positive among 60 a positive still costs 20: Clopper and Pearson's end; it once was .0596."
    z, end = np.zeros(60, int), 20 * beta.isf(.025, 1, 60)
    for door in [*doors(z, C), {"costs": C, "propensity": .5}]:
        report = judged(z, z, **door)
        ladder = report.ladder.set_index("model")["high"]
        assert report.best["high"][0] == pytest.approx(end)
        assert ladder["always 0"] == pytest.approx(end) and ladder["oracle"] == 0
    said = report.summary()
    assert "it is wrong for some classes (1)." in said and "Use no model" not in said
    free = CostMatrix([[0, 1], [0, 1]], decisions=["wait", "act"])
    assert "for it is right for every class" in judged(z, np.full(60, "wait"), free).summary()


def test_against_a_constant_no_more_can_be_lost_than_that_constant_allows():
    """A rule against 'block nobody' can lose no more than a false alarm; the lower end once allowed for a
    miss that 'nobody' makes, too."""
    y = np.repeat([0, 1], [990, 10])
    d = np.repeat([1, 0, 1, 0], [10, 980, 5, 5])
    wanted = loss_difference(C[y, 0], C[y, d], bounds=attainable(C, 0, [0, 1]))
    for door in doors(y, C):
        saved = judged(y, d, **door).against_constant.iloc[0]
        told = saved[["low", "high", "p_value"]].tolist()
        assert told == pytest.approx([wanted.low, wanted.high, wanted.p_value], rel=1e-6)
    fraud = ExampleCosts(fp=1, fn=np.where(np.arange(1000) == 3, 2000., 50))  # of one *negative* row
    one = judged(y, d, fraud).against_constant.iloc[0]
    assert one["low"] > -.03 and 2 < one["high"] < 3  # a false alarm more; the row of 2,000 might be caught
    nobody = judged(y, 0 * y, C)  # a constant that was observed may still do otherwise
    saved, ladder = nobody.against_constant.iloc[0], nobody.ladder.set_index("model")[["low", "high"]]
    assert saved["low"] < 0 < saved["high"] and ladder.loc["a"].tolist() == ladder.loc["always 0"].tolist()


def test_a_part_of_the_cost_is_what_that_part_can_cost():
    "27 of 900 at cost 2: a share of 3 % times 2, whatever other cells cost; once up to .734."
    y, d = np.zeros(900, int), np.repeat([1, 0], [27, 873])
    for costs in ([[0, 2], [20, 0]], ExampleCosts(fp=2, fn=np.full(900, 20.))):
        table = judged(y, d, costs).breakdown().set_index("name")
        tail = .025 / len(table)
        share = 2 * beta.ppf([tail, 1 - tail], [27, 28], [874, 873])
        for name in ("0 decided 1", "0"):
            assert table.loc[name, ["low", "high"]].tolist() == pytest.approx(share)


def test_what_is_known_has_no_width_and_zero_no_sign():
    costs = CostMatrix([[1, 2], [1, 0]])
    case = Losses(np.repeat([0, 1], [90, 10]), np.array([.9, .1]), False, costs=costs)
    known = ask([case.asks(Decided("always 0", "constant", np.zeros(100, int), can=0))])
    assert (known.low[0], known.estimate[0], known.high[0]) == (1, 1, 1)
    assert not np.signbit(interval([[50, 0], [0, 50]], C).low)


# ---- what the interval is for: these rows, or a population with a cap

def missed(n_sets, draw):
    "In which share of drawn sets an interval's ends lie on the wrong side of the truth."
    drawn = [draw(np.random.default_rng(seed)) for seed in range(n_sets)]
    return np.mean([[found.low > truth, found.high < truth] for truth, found in drawn], axis=0)


def weighted(labels, propensity):
    "The interval of what it costs to decide 0 for all, a label standing for one over its propensity."
    part = labelled_rows(labels, propensity)
    lost = C[labels[part.rows].astype(int), 0]
    return loss_interval(lost, sample_weight=part.sample_weight, heaviest=part.heaviest(), bounds=(0, 20))


def test_a_weight_that_no_label_shows_follows_from_the_propensities():
    """One row in fifty costs 20 and is looked up in one of 50 cases: the interval once left the truth out in
    44 % of such sets."""
    rare = np.where(np.arange(400) % 10 == 0, .02, 1)  # looked up so often, and wrong in half of the cases

    def draw(rng):
        y = ((rare < 1) & (rng.random(400) < .5)).astype(int)
        return 20 * .05, weighted(np.where(rng.random(400) < rare, y.astype(object), None), rare)

    assert missed(60, draw).max() <= .05
    y = np.array([0, 0, 0, 1, None, None] * 10, object)
    low = np.where(y == None, .01, 1.)  # noqa: E711 - no row of a low propensity has a label
    heavy, alike = (judged(y, np.zeros(60, int), C, propensity=one) for one in (low, 1.))
    assert heavy.best["high"][0] == pytest.approx(weighted(y, low).high)
    assert heavy.best["high"][0] > alike.best["high"][0] + 4
    assert any("no weight exceeds 100" in note for note in heavy.notes)


def test_the_heaviest_cluster_of_a_population_can_be_stated():
    """Of clusters of 1, 2 or 50 rows the large ones decide, and forty may show none: with heaviest=50 the
    upper end holds."""
    def draw(rng, heaviest=50):
        size = rng.choice([1, 2, 50], 40, p=[.6, .37, .03])
        wrong = np.repeat(np.where(size == 50, rng.random(40) < .5, rng.random(40) < .05), size)
        truth = (.03 * 50 * .5 + (.6 + .74) * .05) / (.6 + .74 + 1.5)
        clusters = np.repeat(np.arange(40), size)
        return truth, loss_interval(wrong * 1., clusters=clusters, bounds=(0, 1), heaviest=heaviest)

    assert missed(60, draw)[1] <= .05 and missed(60, lambda rng: draw(rng, None))[1] > .1
    y, clusters = np.zeros(60, int), np.repeat(np.arange(40), [1] * 20 + [2] * 20)
    plain, capped = (judged(y, y, C, clusters=clusters, heaviest=cap) for cap in (None, 50))
    assert capped.best["high"][0] > 5 * plain.best["high"][0]
    assert "no weight of a unit exceeds 50" in " ".join(capped.notes)
    assert "cluster sizes are those of these rows" in " ".join(plain.notes)


def test_the_largest_amount_of_a_population_can_be_stated():
    y, d, groups = np.repeat([0, 1], [95, 5]), np.repeat([0, 1], [97, 3]), np.arange(100) % 2
    fraud = ExampleCosts(fp=1, fn=np.maximum(20 * np.random.default_rng(0).random(100), 5))
    plain, capped = (judged(y, d, fraud, largest=cap, groups=groups) for cap in (None, 1000))
    rates = ["fnr_high", "fpr_high"]  # rates have no amounts
    assert capped.groups[rates].equals(plain.groups[rates])
    assert capped.best["high"][0] > 10 * plain.best["high"][0]
    lows = [one.against_constant["low"][0] for one in (plain, capped)]
    assert lows[1] == pytest.approx(lows[0])  # a false alarm costs 1 in any population
    assert "no amount exceeds 1000" in " ".join(capped.notes)
    assert "amounts are those of these rows" in " ".join(plain.notes)


def test_capacity_takes_what_a_class_can_gain_from_all_rows():
    "At given priors, too, a row's own costs are possible whatever its class turned out to be."
    y, score = np.array([0, 1] * 60), np.tile([1., 3, 2, 4], 30)
    fn = np.where(np.arange(120) == 0, 900., 20.)  # a negative row
    own = [ExampleCosts(fp=1, fn=each) for each in (fn, np.full(120, 20.))]
    wide, even, matrix = (ce.capacity_curve(y, score, costs, priors=[.5, .5], rng=0).at(30).saving
                          for costs in (*own, C))
    assert wide.high > even.high and [even.low, even.high] == pytest.approx([matrix.low, matrix.high])
