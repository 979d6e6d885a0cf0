"""The study of metrics: rank correlations by their definitions and SciPy, the standardised coefficient by
enumeration, the engine by plain loops."""
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats


from conftest import refuses
from cost_eval import metric_study as study
from cost_eval.confusion import BinaryCounts
from cost_eval.metric_study import cost_correlation, rank_correlation, study_ranks
from cost_eval.metrics import METRICS
from cost_eval.weighted_accuracy import churn_costs, cost_parts

few = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 10**6)
WEIGHTED = [None, 0., 2., 7.5]


# ---- rank correlation


@given(hnp.arrays(float, st.tuples(st.integers(1, 3), st.integers(1, 12)), elements=st.integers(-4, 4)))
@few
def test_mean_ranks_are_scipys(v):
    assert_array_equal(study._mean_ranks(v), stats.rankdata(-v, axis=-1))
    for kind in (np.int16, np.uint8):  # unsigned, a minus would wrap
        assert_array_equal(study._mean_ranks((v + 4).astype(kind)), study._mean_ranks(v))


def plain_coefficient(x, y, n0):
    "The definition: the correlation of ranks whose items have weights."
    x, y = (stats.rankdata(-np.asarray(v)) for v in (x, y))
    w = np.ones(len(x)) if n0 is None else (x + n0)**-2 + (y + n0)**-2
    ((xx, xy), (_, yy)) = np.cov(x, y, aweights=w)
    return xy / np.sqrt(xx * yy)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=15),
       st.sampled_from(WEIGHTED))
@few
def test_rank_correlation_is_its_definition_and_spearmans_where_all_items_weigh_the_same(pairs, n0):
    x, y = np.array(pairs, float).T
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    expected = [plain_coefficient(x, y, n0), plain_coefficient(-x, y, n0)]
    assert rank_correlation(np.stack([x, -x]), y, n0=n0) == pytest.approx(expected, abs=1e-9)
    spearman = stats.spearmanr(x, y).statistic
    assert rank_correlation(x, y) == pytest.approx(spearman, abs=1e-12)
    assert rank_correlation(x, y, n0=1e7) == pytest.approx(spearman, abs=1e-4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n0", WEIGHTED)
def test_constants_have_no_rank_correlation(n0):
    "For every length: a mean that is off by a rounding error would make up a correlation."
    got = [rank_correlation(np.ones(n), np.arange(n), n0=n0) for n in range(3, 40)]
    assert np.isnan(got).all()


# ---- standardised

def all_coefficients(n, n0):
    ranks = np.array(list(permutations(range(1, n + 1))), float)
    return rank_correlation(-ranks[0], -ranks, n0=n0)


@pytest.mark.parametrize("n", range(3, 8))
@pytest.mark.parametrize("n0", [0., 2., 30.])
def test_moments_by_enumeration(n, n0):
    gamma = all_coefficients(n, n0)
    d = gamma - gamma.mean()
    m = study.spearman_moments(n, n0)
    assert (m.mean, m.lower, m.upper, m.error) == pytest.approx((gamma.mean(), (np.minimum(d, 0)**2).mean(),
            (np.maximum(d, 0)**2).mean(), 0), abs=1e-12)
    assert m.lower + m.upper == pytest.approx(gamma.var())


def test_moments_of_random_permutations_within_their_error():
    gamma, m = all_coefficients(9, 2.), study.spearman_moments(9)
    assert m.error == pytest.approx(gamma.std() / np.sqrt(1 << 17), rel=.02)
    assert abs(m.mean - gamma.mean()) < 4 * m.error and m.lower + m.upper == pytest.approx(gamma.var(),
            rel=.02)
    assert study.spearman_moments(12, n_draws=1000).error == pytest.approx(study.spearman_moments(12).error
            * np.sqrt((1 << 17) / 1000), rel=.1)


@pytest.mark.parametrize("n0", [0., 2., 1e6])
@pytest.mark.parametrize("n", range(4, 8))
def test_standardised_coefficients_of_all_permutations_have_mean_0_but_for_the_slip(n, n0):
    moments, gamma = study.spearman_moments(n, n0), all_coefficients(n, n0)
    assert study.standardize_spearman(gamma, moments).mean() == pytest.approx(0, abs=1e-9)
    assert (np.diff(study.standardize_spearman(np.linspace(-1, 1, 2001), moments)) > -1e-12).all()
    assert n0 != 2 or abs(study.standardize_spearman(gamma, moments, slip=True).mean()) > 1e-3
    for slip in (False, True):
        assert_allclose(study.standardize_spearman([-1, 1], moments, slip=slip), [-1, 1], atol=1e-12)


def increasing_forms(moments):
    """By brute force: the values at the mean with which a curve of two parabolas with mean 0 and ends -1, 1
    increases."""
    below, above = 1 + moments.mean, 1 - moments.mean
    g0 = np.linspace(-1, 1, 4001)
    # = g1 times what follows
    mean = g0 + moments.upper * (1 - g0) / above**2 - moments.lower * (1 + g0) / below**2
    with np.errstate(divide="ignore", invalid="ignore"):
        g1 = mean / (moments.upper / above - moments.lower / below)
    ends = 2 * (1 + g0) / below - g1, 2 * (1 - g0) / above - g1  # slopes at -1 and 1
    return g0[(g1 > 1e-3) & (ends[0] > 1e-3) & (ends[1] > 1e-3)]


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=8))
def test_the_standardised_form_increases_where_any_does(values):
    gamma = np.array(values)
    d = gamma - gamma.mean()
    assume(gamma.std() > .05 and abs(gamma.mean()) < .9)
    squares = (float(part.mean()) for part in (np.minimum(d, 0)**2, np.maximum(d, 0)**2))
    moments = study.SpearmanMoments(float(gamma.mean()), *squares, 0.)
    curve = study.standardize_spearman(np.linspace(-1, 1, 501), moments)
    assert_allclose(curve[[0, -1]], [-1, 1], atol=1e-9)
    assert study.standardize_spearman(gamma, moments).mean() == pytest.approx(0, abs=1e-6)
    at_mean = increasing_forms(moments)
    if len(at_mean):
        assert (np.diff(curve) > -1e-9).all()
        nearest = abs(study.standardize_spearman(moments.mean, moments))  # to 0, of all
        assert nearest <= np.abs(at_mean).min() + 1e-6


@pytest.mark.parametrize("mean, lower", [(.8, .05), (-.8, .05 * .2 / 1.8), (0, .2), (.3, .1)])
def test_the_standardised_form_where_its_slope_is_free(mean, lower):
    """Equal shares of both sides in the condition on the mean: any slope has mean 0; the curve must still
    rise from -1 to 1."""
    moments = study.SpearmanMoments(mean, lower, lower * (1 - mean) / (1 + mean), 0.)
    curve = study.standardize_spearman(np.linspace(-1, 1, 501), moments)
    assert_allclose(curve[[0, -1]], [-1, 1], atol=1e-9)
    assert (np.diff(curve) > -1e-9).all()
    g0, _, left, right = study._standard_form(moments)
    assert g0 + left * moments.lower + right * moments.upper == pytest.approx(0, abs=1e-12)


# ---- the study's engine

def test_matched_beta_has_the_moments():
    for w in (.05, .5, .93):
        density = stats.beta(*study.matched_beta(w, 200, .46))
        assert (density.mean(), density.std()) == pytest.approx((1 - w, (1 - w) * .46 / np.sqrt(200)))
    a, b = study.matched_beta(.3, 50, 0.)
    assert a + b == pytest.approx(1e8, rel=1e-6)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=40), seeds)
@few
def test_dense_ranks_ignore_rounding_errors(v, seed):
    v = np.array(v, float)
    noise = 1 + np.random.default_rng(seed).uniform(-5e-15, 5e-15, len(v))
    for scale in (1., 1e-9, 1e12):
        assert_array_equal(study._dense_ranks(scale * v * noise), stats.rankdata(v, method="dense") - 1)
    edge = np.array([2.**-14, np.nextafter(2.**-14, 1), 1.])
    assert_array_equal(study._dense_ranks(edge), [0, 0, 1])


def test_dense_ranks_of_many_values_in_several_columns():
    v = np.random.default_rng(0).permutation(70_000).astype(float).reshape(70, 1000)
    assert_array_equal(study._dense_ranks(v), v)


@pytest.mark.filterwarnings("ignore:divide by zero")  # SciPy, of a kurtosis that nobody asked for
def test_draws_are_hypergeometric_and_the_missed_a_random_sample():
    n, p, m = 12, 5, 20_000
    revenues = np.random.default_rng(0).lognormal(size=n)
    tp, lost = study._draw_predictions(revenues, p, m, 0., np.random.default_rng(1))
    for k in range(n + 1):
        law = stats.hypergeom(n, p, k)
        assert abs(tp[:, k].mean() - p * k / n) <= 4.5 * law.std() / np.sqrt(m)
        possible = np.arange(max(0, k - n + p), min(k, p) + 1)
        if len(possible) > 1: assert stats.chisquare(np.bincount(tp[:, k], minlength=p + 1)[possible],
                                                     m * law.pmf(possible)).pvalue > 1e-4
    for missed in range(1, p + 1):  # mean and variance of a sum of revenues drawn without replacement
        sums = lost[:, 6][p - tp[:, 6] == missed]
        sd = np.sqrt(missed * revenues.var(ddof=1) * (1 - missed / n))
        assert abs(sums.mean() - missed * revenues.mean()) < 4.5 * sd / np.sqrt(len(sums))
        assert sums.std() == pytest.approx(sd, rel=.15)


@pytest.mark.parametrize("skill", [0., .5, 2., (1., 3.)])
def test_skill_is_the_distance_of_two_normal_distributions(skill):
    "The area under the ROC curve, from the hits among the first k, is Phi(skill/sqrt 2), or its mean."
    n, p, m = 15, 6, 3000
    tp, _ = study._draw_predictions(np.ones(n), p, m, skill, np.random.default_rng(0))
    area = (tp.sum(1) - p * (p - 1) / 2 - p) / (p * (n - p))
    expected = stats.norm.cdf(np.linspace(np.min(skill), np.max(skill), 1001) / np.sqrt(2)).mean()
    assert abs(area.mean() - expected) < 4 * area.std() / np.sqrt(m)


@pytest.fixture(scope="module")
def revenues():
    return np.random.default_rng(7).uniform(18, 118, 30)


def column(table):
    return table.set_index(["metric", "prevalence", "weight"])["mean"]


def test_study_by_a_plain_simulation():
    """Loops, churn costs sample by sample and SciPy's coefficient, with other random numbers: equal up to the
    Monte Carlo error."""
    rng, r, m = np.random.default_rng(11), np.random.default_rng(3).uniform(1, 9, 16), 300
    for prevalence, weight in ((.25, .8), (.5, .3)):
        p, names = round(16 * prevalence), ("weighted_accuracy", "recall", "informedness")
        costs = churn_costs(r, .25 * r.mean() * (1 - weight))
        found = []
        for _ in range(m):
            y = rng.permutation(np.arange(16) < p)
            d = np.zeros((17, 16), bool)
            for k in range(17):
                d[k, rng.permutation(16)[:k]] = True
            bill, tpr, fpr = cost_parts(y, d, costs).total, d[:, y].mean(1), d[:, ~y].mean(1)
            merits = (weight * p * tpr - (1 - weight) * (16 - p) * fpr, tpr, tpr - fpr)
            found.append([stats.spearmanr(np.round(v, 9), -np.round(bill, 9)).statistic for v in merits])
        ours = cost_correlation(r, prevalence, weight, metrics=[*names], n_samples=m, rng=0)
        mean, std = np.mean(found, axis=0), np.std(found, axis=0)
        assert (abs(ours["mean"] - mean) < 4 * np.sqrt((ours["std"]**2 + std**2) / m)).all()
        assert ours["std"].tolist() == pytest.approx(std, rel=.2)


@pytest.mark.parametrize("end", ["best", "worst"])
def test_weighted_study_is_the_standardised_coefficient(end):
    r, name = np.random.default_rng(5).uniform(1, 9, 7), "accuracy"
    table = cost_correlation(r, .4, .6, metrics=name, n_samples=20, weighted=end, rng=9)
    (seed,) = np.random.default_rng(9).bit_generator.seed_seq.spawn(1)
    tp, lost = study._draw_predictions(r, 3, 20, 0., np.random.default_rng(seed))
    calls = np.arange(8)
    merit, bill = np.round(2 * tp - calls, 9), np.round(r.mean() * .4 * calls + lost, 9)
    sign = -1 if end == "worst" else 1
    gamma = np.array([plain_coefficient(sign * a, -sign * b, 2.) for a, b in zip(merit, bill)])
    expected = study.standardize_spearman(gamma, study.spearman_moments(8))
    assert [*table.loc[0, ["mean", "std"]]] == pytest.approx([expected.mean(), expected.std(ddof=1)], abs=1e-9)


def test_other_weights_and_metrics_change_nothing_and_dearer_customers_the_bill(revenues):
    given = dict(metrics=["mcc", "weighted_accuracy", "h_informed"], n_samples=10, rng=4)
    one = cost_correlation(revenues, [.2, .7], [.3, .6, .9], population=revenues, **given)
    assert list(one.columns) == ["metric", "prevalence", "weight", "mean", "std"] and len(one) == 18
    alone = cost_correlation(revenues, .2, .6, **given | {"metrics": "mcc"})
    assert alone["mean"].item() == column(one)["mcc", .2, .6]
    # calls cost ten times what they bring
    ranks = study_ranks(revenues, .3, .8, "accuracy", population=50 * revenues, rng=0)
    assert_array_equal(ranks.by_bill, np.arange(1, 32))


@pytest.mark.parametrize("revenue", [1., 1e-8 / 3])
def test_with_equal_revenues_weighted_accuracy_is_perfect(revenue):
    table = cost_correlation(np.full(30, revenue), [.1, .5, .8], [.1, .35, .7], metrics=["weighted_accuracy",
            "expected_weighted_accuracy", "recall"], n_samples=5, rng=0)
    assert_allclose(table.query("metric == 'weighted_accuracy'")["mean"], 1, rtol=1e-12)
    assert (table.query("metric == 'recall'")["mean"] < .999).all()
    # the weight is known to four digits
    assert (table.query("metric == 'expected_weighted_accuracy'")["mean"] > .99).all()


@pytest.mark.parametrize("name", [*study.STUDY_METRICS, "likelihood_ratio_positive", "diagnostic_odds_ratio"])
def test_study_ranks_are_those_of_the_metric_and_of_the_bill(revenues, name):
    ranks = study_ranks(revenues, .3, .7, name, rng=5)
    tp, lost = (v[0] for v in study._draw_predictions(revenues, 9, 1, 0., np.random.default_rng(5)))
    calls = np.arange(31)
    fp = calls - tp
    a, b = study.matched_beta(.7, 30, revenues.std() / revenues.mean())
    options = {"h_informed": {"a": a, "b": b}, "expected_weighted_accuracy": {"a": b, "b": a}}.get(name, {})
    metric = METRICS["h_measure" if name == "h_informed" else name]
    value = metric(BinaryCounts(tp, fp, 9 - tp, 21 - fp), [[0, .3], [.7, 0]], undefined=0., **options)
    best = name == "h_informed" or metric.greater_is_better
    assert_array_equal(ranks.by_metric, stats.rankdata(np.round(-value if best else value, 10)))
    assert_array_equal(ranks.by_bill, stats.rankdata(np.round(revenues.mean() * .3 * calls + lost, 9)))


def test_samples_are_what_the_table_averages(revenues):
    grid, given = ([.2, .7], [.3, .6, .9]), dict(metrics=["mcc", "h_informed"], n_samples=7, rng=3)
    samples = study.correlation_samples(revenues, *grid, **given)
    table = cost_correlation(revenues, *grid, **given)
    assert samples.shape == (2, 3, 2, 7)
    assert_allclose(samples.mean(-1).ravel(), table["mean"])
    assert_allclose(samples.std(-1, ddof=1).ravel(), table["std"])
    ends = [None, "worst", "best"]
    alone = [study.correlation_samples(revenues, *grid, weighted=end, **given) for end in ends]
    assert_array_equal(study.correlation_samples(revenues, *grid, weighted=ends, **given), alone)


def test_a_metric_of_ones_own(revenues):
    "A function of counts and costs, by its name; the built-in metric under another name is the same."
    mine = {"own": lambda c, costs: costs[1, 0] * c.tp + costs[0, 1] * c.tn, "alias": "weighted_accuracy",
            "reversed": lambda c, costs: -c.tp, "recall": "recall"}
    table = column(cost_correlation(revenues, [.2, .6], [.3, .8], metrics=mine, n_samples=6, rng=1))
    assert_allclose(table["own"], table["alias"], atol=1e-9)
    assert_allclose(table["reversed"], -table["recall"], atol=1e-12)
    names = (mine["own"], "weighted_accuracy")
    assert_array_equal(*(study_ranks(revenues, .3, .7, name, rng=0).by_metric for name in names))


# ---- what cannot be ranked or studied

R = np.linspace(1, 2, 10)
test_what_has_no_answer_is_refused = refuses([
    (lambda: rank_correlation([1, 2], [1, 2]), "^x:"),
    (lambda: study.correlation_samples(R, .5, .5, weighted=[None, "bets"]), "^weighted: .*best"),
    (lambda: cost_correlation(R, .04, .5), "^prevalences.*class empty"),
    (lambda: cost_correlation(R, .96, .5), "^prevalences.*class empty"),
    (lambda: cost_correlation(R, .5, .5, metrics={}), "^metrics"),
    (lambda: cost_correlation(R, .5, .5, metrics={"mine": lambda c, costs: 1.}), "^metrics"),
    (lambda: cost_correlation(R, .5, .5, metrics={"mine": lambda c, costs: c.tp * np.nan}), "^metrics"),
    (lambda: rank_correlation(np.ones((2, 3)), np.ones((4, 3))), "^x, y"),
    (lambda: study.matched_beta(.5, 4, 3.), "spread"),
])
