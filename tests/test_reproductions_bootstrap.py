"""Margineantu & Dietterich's experiments: each building block against a slow or independent way, and the published numbers."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

pd = pytest.importorskip("pandas")
sk = pytest.importorskip("sklearn")
pytest.importorskip("matplotlib").use("Agg")

from cost_eval.reproduce import ITEMS, compare, published, run_item, verdict
from cost_eval.reproductions import bootstrap as paper

SHARES = np.array([.2102, .4473, .2568, .0016, .0841])  # Table 3, typed here on purpose


@pytest.fixture(scope="module")
def small():
    return paper.population(0, 0, 20_000)


# Published numbers: a second reading

def test_published_numbers_once_more():
    def numbers(item):
        return published("bootstrap", item)["published"].tolist()
    assert numbers("table5") == [956.1, 955.5, 953.1, 954.9, 953.9, 994.1, 971.7, 952.9, 995.6]
    assert numbers("table6") == [948.83, 950.5, 948.26, 950.46, 951.16, 934.03, 943.76, 949.96, 932.06]
    assert numbers("table3") == [21.02, 44.73, 25.68, .16, 8.41]
    assert numbers("table1")[:16] == [0, 3.2, 2.5, 12.7, 1, 0, 3, 100, 40.5, 2.2, 0, 5.5, 1, .1, 7.1, 0]
    assert numbers("table4")[:18:2] == [10, 100, 100, 1000, 10_000, 1000, 1000, 10_000, 2000]
    assert numbers("table4")[1:18:2] == [0, 0, 10, 0, 0, 0, 0, 1000, 1000]


def test_table_1_has_the_true_class_first():
    costs = paper.example_costs().array
    assert costs[3].tolist() == [12.7, 100, 5.5, 0] and costs[0].tolist() == [0, 1, 40.5, 1]


def test_least_chance_by_enumeration():
    costs = paper.example_costs()
    for other, expected in enumerate((1 / 13.7, .1 / 100.1, 7.1 / 12.6)):
        assert paper.least_chance(costs, 3, other) == pytest.approx(expected, abs=2e-5)


# Domains

@pytest.mark.parametrize("domain", range(5))
def test_areas_are_table_3(domain):
    rng = np.random.default_rng(domain)
    counts = np.bincount(paper.DOMAINS[domain].classify(rng.random((400_000, 2))), minlength=5)
    assert stats.chisquare(counts, SHARES * 400_000).pvalue > 1e-3


def test_area_of_a_bent_square_by_quadrature():
    "Along a horizontal line the first wave is a shift; integrate the width of class 3 over the lines."
    domain = paper.Domain(((.1, 1, .2), (0., 1, .0)), hosts=(1, 1))
    x = (np.arange(4000) + .5) / 4000
    def width(y): return np.mean(domain.classify(np.column_stack([x, np.full(len(x), y)])) == 3)
    left, right, bottom, top = domain.plan()[1][3]
    assert integrate.quad(width, bottom - .01, top + .01, points=[bottom, top])[0] == pytest.approx(.0016, abs=2e-5)


def test_domains_differ():
    points = np.random.default_rng(0).random((5000, 2))
    labels = [domain.classify(points) for domain in paper.DOMAINS]
    assert all((a != b).mean() > .2 for i, a in enumerate(labels) for b in labels[:i])


# Costs and trees

@pytest.mark.parametrize("model", paper.MODELS)
def test_costs_follow_table_4(model):
    off = {"M1": 10, "M2": 100, "M3": 100, "M4": 1000, "M5": 1e4, "M6": 1000, "M7": 1000, "M8": 1e4, "M9": 2000}[model]
    on = {"M3": 10, "M8": 1000, "M9": 1000}.get(model, 0)
    costs = paper.draw_costs(model, 3000, rng=0)
    for true in range(5):
        for predicted in range(5):
            ratio = {"M6": 1, "M9": 1, "M7": -1}.get(model, 0)
            top = on if true == predicted else off * (SHARES[predicted] / SHARES[true])**ratio
            cell = costs[:, true, predicted]
            assert not cell.any() if top == 0 else stats.kstest(cell / top, "uniform").pvalue > 1e-4


def test_tree_decides_as_scikit_learn_says(small):
    points = np.random.default_rng(1).random((1000, 2), dtype=np.float32)
    tree = paper.weighted_tree(points, paper.DOMAINS[0].classify(points), small.costs[60])
    new = np.random.default_rng(2).random((3000, 2), dtype=np.float32)
    np.testing.assert_array_equal(paper.tree_decisions(tree, new), tree.predict(new))


def test_weighting_is_repetition():
    "Integer weights do what repeating the examples does."
    points = np.random.default_rng(1).random((300, 2), dtype=np.float32)
    labels = paper.DOMAINS[0].classify(points)
    costs = np.outer([1, 2, 3, 7, 1], np.ones(5)) - np.diag([1, 2, 3, 7, 1])  # mean of a row is 0.8 times its weight
    weights = np.array([1, 2, 3, 7, 1])[labels]
    repeated = np.repeat(np.arange(300), weights)
    tree = paper.weighted_tree(points, labels, costs, least=0)
    plain = sk.tree.DecisionTreeClassifier(criterion="entropy", random_state=0).fit(points[repeated], labels[repeated])
    for a, b in zip((tree.tree_.threshold, tree.tree_.impurity), (plain.tree_.threshold, plain.tree_.impurity)):
        assert a[0] == pytest.approx(b[0])  # the same first split of the same mixture; ties further down may fall either way
    np.testing.assert_allclose(tree.tree_.value[0, 0], plain.tree_.value[0, 0])
    new = np.random.default_rng(2).random((3000, 2), dtype=np.float32)
    assert (tree.predict(new) == plain.predict(new)).mean() > .97


def test_population_is_counted_and_costed_right(small):
    from sklearn.metrics import confusion_matrix
    for i in (0, 55, 89):
        counts = confusion_matrix(small.labels, small.decisions[:, i], labels=range(5))
        np.testing.assert_array_equal(small.counts[i], counts)
        each = small.costs[i][small.labels, small.decisions[:, i]]
        assert small.true_cost[i] == pytest.approx(each.mean())
        np.testing.assert_allclose(small.example_costs(100, 300)[:, i], each[100:300], rtol=1e-6)


# Replicates

@pytest.mark.parametrize("confidence, n, expected", [(.95, 1000, (26, 975)), (.9, 1000, (51, 950)), (.99, 1000, (6, 995)), (.95, 200, (6, 195))])
def test_ranks_are_those_of_the_pseudo_code(confidence, n, expected):
    assert paper.interval_ranks(n, confidence) == expected


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_holds_is_sorting(seed):
    rng = np.random.default_rng(seed)
    sums = rng.integers(0, 6, (100, 30)).astype(np.float32) * (rng.random(30) < .8)  # many ties
    value = rng.integers(0, 6, 30).astype(np.float32)
    low, high = np.sort(sums, axis=0)[[2, 97]]
    np.testing.assert_array_equal(paper.holds(sums, value), (low <= value) & (value <= high))


@pytest.mark.parametrize("laplace", [0., .1, 2.])
def test_replicates_have_the_moments_of_a_multinomial(small, laplace):
    "Mean and variance of n draws from (M + lambda)/(n + 25 lambda), in closed form."
    examples, pseudo = small.example_costs(0, 500)[:, :3], small.costs[:3].reshape(3, 25).T
    sums = paper.replicate_sums(paper.example_weights(500, 25, laplace, n_resamples=20_000, rng=3), examples, pseudo)
    for i in range(3):
        counts = np.bincount(5 * small.labels[:500] + small.decisions[:500, i], minlength=25)
        p = (counts + laplace) / (500 + 25 * laplace)
        mean, second = p @ pseudo[:, i], p @ pseudo[:, i]**2
        sd = np.sqrt(500 * (second - mean**2))
        assert sums[:, i].mean() == pytest.approx(500 * mean, abs=5 * sd / np.sqrt(20_000))
        assert sums[:, i].std() == pytest.approx(sd, rel=.03)


def test_coverage_is_that_of_the_pseudo_code(small):
    "The whole of Table 5 on ten test sets, word for word: draw pairs, sort, look up."
    rng, n = np.random.default_rng(0), 1000
    fast = paper.bcost_holds(small, .1, 20, rng=1)
    columns, slow = (0, 20, 65), []
    for i in range(20):
        for j in columns:
            counts = np.bincount(5 * small.labels[n * i:n * i + n] + small.decisions[n * i:n * i + n, j], minlength=25)
            sums = np.sort(rng.multinomial(n, (counts + .1) / (n + 2.5), 1000) @ small.costs[j].ravel()) / n
            slow.append(sums[25] <= small.true_cost[j] <= sums[974])
    slow = np.reshape(slow, (20, 3))
    assert (fast[:, columns] == slow).mean() >= .95  # the ends are Monte Carlo: a test set on the edge may fall either way
    assert fast.shape == (20, 90)


def test_permuted_decisions_keep_the_confusion_matrix(small):
    other = paper.permuted(small, rng=0)
    np.testing.assert_array_equal(paper.count_all(other.labels, other.decisions), small.counts)
    assert (other.decisions != small.decisions).any(axis=0).all()


def test_bdelta_is_the_pseudo_code_on_joint_counts(small):
    other, n = paper.permuted(small, rng=0), 1000
    fast, rng, agree = paper.bdelta_accepts(small, other, 0., 15, rng=1), np.random.default_rng(0), []
    for j in (3, 50):
        delta = (small.costs[j][:, :, None] - small.costs[j][:, None, :]).ravel()
        for i in range(15):
            points = slice(n * i, n * i + n)
            cells = 25 * small.labels[points].astype(int) + 5 * small.decisions[points, j] + other.decisions[points, j]
            sums = np.sort(rng.multinomial(n, np.bincount(cells, minlength=125) / n, 1000) @ delta)
            agree.append((sums[25] <= 0 <= sums[974]) == fast[i, j])
    assert np.mean(agree) >= .93


def test_normal_readings():
    moments = np.array([[[1., 1.]], [[2., 2.]]])  # mean 1, s 2
    z = stats.norm.ppf(.975)
    for reading, se in zip(paper.READINGS, (2 / 1000**.5, 2 / 1000**.25, 4 / 1000**.5, 2.)):
        value = np.array([1 + .999 * z * se, 1 + 1.001 * z * se])
        assert paper.normal_holds(moments, value, reading).tolist() == [[True, False]]


def test_set_moments_are_numpys(small):
    moments = paper.set_moments(small, None, 3)
    costs = small.costs[7][small.labels[1000:2000], small.decisions[1000:2000, 7]]
    assert moments[0, 1, 7] == pytest.approx(costs.mean(), rel=1e-5) and moments[1, 1, 7] == pytest.approx(costs.std(ddof=1), rel=1e-4)


# Comparing

def test_sampling_error_is_that_of_many_tables():
    "Tables of ten matrices with their own coverage on 200 shared test sets: the error estimated within one is the spread over many."
    rng = np.random.default_rng(0)
    def one():
        p = np.repeat(rng.beta(20, 2, 90)[None], 200, axis=0)
        return rng.random((200, 90)) < p
    tables = [one() for _ in range(150)]
    spread = np.std([paper.by_model(t).mean(axis=(0, 2)) for t in tables], axis=0).mean()
    assert np.mean([paper.sampling_error(t, 200) for t in tables]) == pytest.approx(spread, rel=.12)


def test_a_number_out_of_reach_is_not_explained():
    results = [np.random.default_rng(i).random((400, 90)) < .95 for i in range(3)]
    table, each = paper.against_spread("table5", results)
    assert verdict(table) == "differs" and each.shape == (3, 9)
    assert "domains and training sets" in paper._domain_note(published("bootstrap", "table5"), np.array([[900.] * 9, [999.] * 9]), "M6")
    assert not paper._domain_note(published("bootstrap", "table5"), np.array([[900.] * 9, [990.] * 9]), "M6")


# Power

def test_half_power():
    shares = np.array([0, .1, .2])
    rates = np.array([[.05, .05, .7], [.3, .1, .8], [.7, .2, .9]])
    half = paper.half_power(shares, rates)
    assert half[0] == pytest.approx(.15) and np.isnan(half[1])


def test_ratio_by_changing_every_label(small):
    cost = np.zeros(90)
    for shift in range(1, 5):  # each other label, equally often
        cost += paper.Population(small.costs, small.labels, None, paper.count_all(small.labels, (small.decisions + shift) % 5)).true_cost / 4
    np.testing.assert_allclose(paper.ratio_at_one(small), np.abs(cost - small.true_cost) / small.true_cost)


def test_power_grows_from_the_level_to_one():
    result = paper.power(0, 0, 40, 1, (0., .03, .3))
    curve = result.curves(result.bootstrap)[0]
    assert curve[0, :5].mean() < .12 and curve[2, :5].min() > .95
    assert (result.curves(result.paired["s: no √n"])[0, :2] == 0).all()
    assert np.abs(curve - result.curves(result.paired["s/√n, correct"])[0])[:, :5].max() < .1


# The league table: every method against SciPy or brute force

COUNTS, COSTS = np.array([[60, 25, 0, 12, 3]]), np.array([0., 1., 40., 3., 10.])


@pytest.fixture(scope="module")
def ends():
    "All methods on one confusion matrix of five cells, 20,000 replicates."
    rng, n, n_resamples = np.random.default_rng(0), 100, 20_000
    smooth = paper.example_weights(n, 5, .1, n_resamples=n_resamples, rng=rng)
    draws = paper.Draws(paper._cumulative(paper.example_weights(n, 0, 0., n_resamples=n_resamples, rng=rng)), paper._cumulative(smooth[:, :n]),
                        smooth[:, n:].T.copy(), paper._cumulative(rng.exponential(size=(n_resamples, n))),
                        {"Dirichlet 0.1": rng.gamma(.1, size=(5, n_resamples)).astype(np.float32)})
    return {method: (low[0], high[0]) for method, (low, high) in paper.all_ends(COUNTS, COSTS, draws).items()}


EACH = np.repeat(COSTS, COUNTS[0])  # costs of the examples


def test_normal_is_scipys(ends):
    assert ends["normal"] == pytest.approx(stats.norm.interval(.95, EACH.mean(), stats.sem(EACH)))


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_bootstrap_is_scipys(ends, method):
    theirs = stats.bootstrap((EACH,), np.mean, method=method, n_resamples=20_000, rng=np.random.default_rng(1)).confidence_interval
    assert ends[method] == pytest.approx((theirs.low, theirs.high), abs=.04)


def test_bootstrap_t_by_resampling_examples(ends):
    rng = np.random.default_rng(2)
    made = EACH[rng.integers(100, size=(20_000, 100))]
    t = (made.mean(axis=1) - EACH.mean()) / (made.std(axis=1) / 10)
    low, high = np.quantile(t, [.025, .975])
    s = EACH.std(ddof=1) / 10
    assert ends["bootstrap-t"] == pytest.approx((EACH.mean() - high * s, EACH.mean() - low * s), abs=.05)


def test_smoothed_methods_by_direct_draws(ends):
    rng, p = np.random.default_rng(3), COUNTS[0] + .1
    for method, made in (("BCOST", rng.multinomial(100, p / p.sum(), 20_000) / 100), ("Dirichlet 0.1", rng.dirichlet(p, 20_000))):
        assert ends[method] == pytest.approx(np.quantile(made @ COSTS, [.025, .975]), abs=.12), method
    assert ends["BCOST"][1] > ends["percentile"][1] + .1  # the cell that was not seen


@pytest.mark.parametrize("counts, costs", [([20, 5, 3], [0, 1, 8]), ([30, 2, 0, 4], [1, 5, 40, 0]), ([12, 0, 7, 1], [3, 0, 2, 9]), ([60, 25, 0, 12, 3], [0, 1, 40, 3, 10])])
def test_likelihood_ratio_ends_are_where_the_profile_says(counts, costs):
    "The other way round: fix the expected cost, maximise the likelihood (a root in Lagrange's multiplier), read off chi-square."
    weights, costs = np.array(counts) + 1e-7, np.array(costs, float)  # cells never seen have a vanishing count
    def statistic(cost):
        gap = costs - cost
        inner, outer = -1 / gap.max(), -1 / gap.min()
        multiplier = optimize.brentq(lambda v: (weights * gap / (1 + v * gap)).sum(), inner * (1 - 1e-13), outer * (1 - 1e-13), xtol=1e-18)
        return 2 * (weights * np.log1p(multiplier * gap)).sum()
    for end in paper.likelihood_ratio_ends(np.array([counts]), costs)["likelihood ratio"]:
        assert statistic(end[0]) == pytest.approx(stats.chi2.ppf(.95, 1), abs=1e-3)


@given(st.lists(st.integers(0, 30), min_size=4, max_size=4), st.integers(0, 1000))
@settings(max_examples=30)
def test_likelihood_ratio_interval_moves_and_scales_with_the_costs(counts, seed):
    counts, costs = np.array([counts]) + [1, 0, 0, 0], np.random.default_rng(seed).random(4)
    low, high = paper.likelihood_ratio_ends(counts, costs)["likelihood ratio"]
    assert low[0] <= counts[0] @ costs / counts.sum() <= high[0]
    moved = np.array(paper.likelihood_ratio_ends(counts, 7 + 3 * costs)["likelihood ratio"])[:, 0]
    np.testing.assert_allclose(moved, [7 + 3 * low[0], 7 + 3 * high[0]], rtol=1e-5)


def test_likelihood_ratio_of_a_cell_never_seen():
    high = paper.likelihood_ratio_ends(np.array([[200, 0]]), np.array([0., 1.]))["likelihood ratio"][1][0]
    assert high == pytest.approx(1 - np.exp(-stats.chi2.ppf(.95, 1) / 400), rel=1e-4)


def test_cell_replicates_are_multinomial():
    cumulative = paper._cumulative(paper.example_weights(30, 0, 0., n_resamples=30_000, rng=0))
    first, second = paper.cell_replicates(cumulative, np.array([[10, 0, 20], [3, 26, 1]]))
    assert (first.sum(axis=0) == 30).all() and (first[1] == 0).all()
    for made, p in ((first[0], 1 / 3), (second[2], 1 / 30)):
        seen = np.bincount(made.astype(int), minlength=31) / 30_000
        np.testing.assert_allclose(seen, stats.binom.pmf(np.arange(31), 30, p), atol=.012)


def test_standing_is_a_summary_of_the_league():
    rows = [("a", 200, 0, "M1", 0, .9, 1.), ("a", 200, 0, "M6", 0, .5, 3.), ("b", 200, 0, "M1", 0, .95, 1.1), ("b", 200, 0, "M6", 0, .8, 5.)]
    board = paper.standing(pd.DataFrame(rows, columns=["method", "n", "domain", "model", "matrix", "covered", "width"]))
    assert board.index.tolist() == ["a", "b"] and board.loc["a"].tolist() == pytest.approx([.7, .5, .5, 1., 3.])


def test_league_ranks_what_sees_only_seen_cells_last():
    board = paper.standing(paper.league(10, 1, 200))
    seen_only = board.loc[["normal", "percentile", "BCa", "bootstrap-t"], "worst model and n"]
    assert seen_only.max() < .7 < .75 < board.loc[["BCOST", "likelihood ratio"], "worst model and n"].min()


# Items

@pytest.mark.parametrize("item", ["table1", "table2", "table3", "table4"])
def test_what_needs_no_simulation_is_reproduced(item):
    assert run_item(ITEMS[f"bootstrap/{item}"]).verdict == "reproduced"


def test_every_item_of_the_paper_is_registered():
    items = {name.partition("/")[2] for name in ITEMS if name.startswith("bootstrap/")}
    assert set(published("bootstrap")["item"]) <= items
    assert {"table1", "table3", "table4", "table5", "table6", *(f"figure{k}" for k in range(1, 6))} <= items


def test_figure_1_is_drawn():
    result = run_item(ITEMS["bootstrap/figure1"])
    assert result.verdict == "shown" and len(result.figure.axes) == 5


def test_table_5_reaches_the_published_numbers():
    result = run_item(ITEMS["bootstrap/table5"])
    assert result.verdict in ("reproduced", "explained"), result.table
    ours = result.table.set_index("cell")["ours"]
    assert ours[["M1", "M2", "M3", "M4", "M5", "M8"]].between(935, 970).all()
    six = run_item(ITEMS["bootstrap/table6"])
    assert six.verdict in ("reproduced", "explained"), six.table
