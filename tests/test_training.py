"""Training again: corrected intervals by hand and by simulation, repeated folds against loops written here,
nothing of the test fold in the policy, and what is refused."""
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

from cost_eval import training
from cost_eval.bootstrap import difference, interval
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.training import corrected_interval, resampled_coverage, training_variation
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.datasets import load_iris
from scipy import sparse

sklearn = pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")

from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.linear_model import Perceptron, RidgeClassifier  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.tree import DecisionTreeClassifier  # noqa: E402

COSTS = CostMatrix.binary(fp=1, fn=6)


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < .35).astype(int)
    return rng.normal(size=(n, 3)) + y[:, None], y


X, Y = data()
TWO = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=3)}


# ---- the interval

def test_without_correction_it_is_the_t_interval():
    x = np.random.default_rng(0).normal(1, 2, (3, 12))
    found = corrected_interval(x, 0, confidence=.9)
    for i, row in enumerate(x):
        theirs = ttest_1samp(row, 0)
        ends = theirs.confidence_interval(.9)
        assert [found.low[i], found.high[i], found.p_value[i]] == pytest.approx([ends.low, ends.high,
                theirs.pvalue])


def test_the_correction_by_hand():
    found = corrected_interval([3, 5, 4, 8], 1 / 3)
    error = np.sqrt((1 / 4 + 1 / 3) * 14 / 3)
    assert found.mean == 5 and found.standard_error == pytest.approx(error)
    assert [found.low, found.high] == pytest.approx([5 - student.ppf(.975, 3) * error,
                                                     5 + student.ppf(.975, 3) * error])
    assert found.p_value == pytest.approx(2 * student.sf(5 / error, 3))
    assert (found.p_value < .05) == (not found.low < 0 < found.high)


def test_equal_scores_have_no_interval():
    found = corrected_interval([[.1, .1, .1], [0, 0, 0], [1, 2, 3]], .5)
    assert np.isnan(found.low[:2]).all() and np.isnan(found.p_value[:2]).all() and (found.standard_error[:2]
            == 0).all()
    assert np.isfinite(found.low[2])


@pytest.mark.parametrize("J, share, rho", [(4, 0, .3), (10, .25, .2), (25, .25, .5), (3, 1, 0)])
def test_coverage_by_simulation(J, share, rho):
    rng = np.random.default_rng(1)
    x = np.sqrt(rho) * rng.normal(size=(40_000, 1)) + np.sqrt(1 - rho) * rng.normal(size=(40_000, J))
    found = corrected_interval(x, share, confidence=.9)
    seen = np.mean((found.low <= 0) & (0 <= found.high))
    assert seen == pytest.approx(resampled_coverage(J, share, rho, confidence=.9), abs=.006)


def test_the_right_correlation_gives_the_promise():
    rho = np.array([.1, .2, .5])
    assert resampled_coverage(30, rho / (1 - rho), rho) == pytest.approx(.95)
    assert resampled_coverage(7, 0, 0, confidence=.8) == pytest.approx(.8) == resampled_coverage(2, 0, 0,
            confidence=.8)


# ---- repeated folds

def by_loop(model, X, y, folds, costs, decide):
    "(R, F) costs per sample, written out."
    out = np.empty((len(folds), folds.max() + 1))
    for r, fold in enumerate(folds):
        for k in range(out.shape[1]):
            fitted = sklearn.base.clone(model).fit(X[fold != k], y[fold != k])
            out[r, k] = costs[y[fold == k], decide(fitted, X[fold == k])].mean()
    return out


@pytest.mark.parametrize("rule", ["bayes", "as given"])
def test_costs_against_a_loop(rule):
    found = training_variation({"nb": GaussianNB()}, X, Y, COSTS, cv=4, repeats=3, rule=rule, rng=0)

    def decide(fitted, rows):
        return (fitted.predict_proba(rows) @ COSTS.array).argmin(1) if rule == "bayes" else fitted.predict(
            rows)

    assert found.fold_costs[0] == pytest.approx(by_loop(GaussianNB(), X, Y, found.folds, COSTS.array, decide))
    assert found.folds.shape == (3, len(Y)) and (found.folds[0] != found.folds[1]).any()
    assert all(np.ptp(np.bincount(fold)) <= 1 for fold in found.folds)
    assert found.rules == (rule,) and found.names == ("nb",)


def test_table_differences_and_noises_by_hand():
    found = training_variation(TWO | {"near": KNeighborsClassifier(5)}, X, Y, COSTS, rule="bayes", repeats=4,
                               confidence=.9, rng=0)
    costs, table, pairs = found.fold_costs, found.table, found.differences
    losses = COSTS.array[Y, found.decisions]
    assert found.to_frame().equals(table)
    for i in range(3):
        flat = costs[i].ravel()
        error = np.sqrt((1 / 20 + found.test_share) * flat.var(ddof=1))
        row, half = table.iloc[i], student.ppf(.95, 19) * error
        assert [row.cost, row.standard_error] == pytest.approx([flat.mean(), error])
        assert row.test_noise == pytest.approx(losses[i].std(-1, ddof=1).mean() / np.sqrt(len(Y)))
        assert row.training_noise == pytest.approx(costs[i].mean(1).std(ddof=1))
        alone = [interval(confusion_counts(Y, found.decisions[i, r]), COSTS, confidence=.9) for r in range(4)]
        wider = [np.mean([one.low for one in alone]), np.mean([one.high for one in alone])]
        ends = min(flat.mean() - half, wider[0]), max(flat.mean() + half, wider[1])
        assert (row.low, row.high) == pytest.approx(ends)
    for row, (i, j) in zip(pairs.itertuples(), combinations(range(3), 2)):
        flat, apart = (costs[i] - costs[j]).ravel(), losses[i] - losses[j]
        half = student.ppf(1 - .1 / 6, 19) * np.sqrt((1 / 20 + found.test_share) * flat.var(ddof=1))
        assert (row.first, row.second) == (found.names[i],
                                           found.names[j]) and row.difference == pytest.approx(flat.mean())
        tables = [joint_counts(Y, found.decisions[i, r], found.decisions[j, r]) for r in range(4)]
        alone = [difference(one, COSTS, confidence=1 - .1 / 3) for one in tables]  # three pairs hold together
        assert row.low == pytest.approx(min(row.difference - half, np.mean([one.low for one in alone])))
        assert row.high == pytest.approx(max(row.difference + half, np.mean([one.high for one in alone])))
        assert row.test_noise == pytest.approx(apart.std(-1, ddof=1).mean() / np.sqrt(len(Y)))
    assert found.test_share == pytest.approx(24 / 96)


@pytest.mark.parametrize("options", [{}, {"priors": .5}, {"groups": np.arange(120) // 2}])
def test_costly_errors_that_no_fold_saw_are_admitted(options):
    """A model that is always right in the data has no t interval, and may still miss somebody: the bound of
    Clopper and Pearson, if rows are one sample."""
    y = np.arange(120) % 2
    found = training_variation(TWO, 18.0 * y[:, None], y, COSTS, cv=4 if "groups" not in options
                               else 3, repeats=2, rule="as given", rng=0, **options).table
    assert (found["low"] == 0).all() and (found["high"] >= 6 * (1 - .025 ** (1 / 120)) - 1e-9).all()
    assert options or found["high"].to_numpy() == pytest.approx(6 * (1 - .025 ** (1 / 120)))


@pytest.mark.parametrize("priors", [None, .5])
def test_no_end_is_where_no_cost_can_be(priors):
    "Two rows are wrong: the corrected interval goes below 0, where no cost is."
    y = np.arange(120) % 2
    x = np.where(np.isin(np.arange(120), [7, 8]), 1 - y, y) * 18.
    found = training_variation(GaussianNB(), x[:, None], y, COSTS, cv=4, repeats=2, rule="as given",
                               priors=priors, rng=0)
    wide = corrected_interval(found.fold_costs.ravel(), found.test_share)
    low, high = found.table[["low", "high"]].iloc[0]
    assert wide.low < 0 == low < wide.high <= high < 6


@pytest.mark.parametrize("rule", ["calibrated", "tuned", "bayes"])
def test_a_test_fold_plays_no_part_in_its_own_decisions(rule, monkeypatch):
    "Its labels may be anything."
    fold, models = np.arange(len(Y)) % 4, {"nb": GaussianNB(),
                                           "ridge": RidgeClassifier()} if rule != "bayes" else {
                                               "nb": GaussianNB()}
    drawn = training._folds
    monkeypatch.setattr(training, "_folds", lambda samples, k, seed, at_most=False: drawn(
        samples, k, seed, at_most=True) if at_most else fold)
    one = training_variation(models, X, Y, COSTS, cv=4, repeats=1, rule=rule, rng=0)
    for k in (0, 2):
        other = np.where(fold == k, np.random.default_rng(k).permutation(Y), Y)
        two = training_variation(models, X, other, COSTS, cv=4, repeats=1, rule=rule, rng=0)
        assert (one.decisions[..., fold == k] == two.decisions[..., fold == k]).all()
        assert (one.decisions[..., fold != k] != two.decisions[..., fold != k]).any()


def test_a_calibrated_rule_does_not_depend_on_the_scale_and_a_tuned_one_not_on_the_form():
    class Squeezed(GaussianNB):
        def predict_proba(self, X):
            p = super().predict_proba(X)[:, 1] ** 3
            return np.column_stack([1 - p, p])

    both = {"as it is": GaussianNB(), "cubed": Squeezed()}
    tuned = training_variation(both, X, Y, COSTS, repeats=2, rule="tuned", rng=0)
    assert (tuned.decisions[0] == tuned.decisions[1]).all()
    raw = training_variation(both, X, Y, COSTS, repeats=2, rule="bayes", rng=0)
    assert (raw.decisions[0] != raw.decisions[1]).any()
    mixed = training_variation(both, X, Y, COSTS, repeats=2, rule={"cubed": "tuned", "as it is": "bayes"},
                               rng=0)
    assert (mixed.decisions[1] == tuned.decisions[1]).all() and (mixed.decisions[0] == raw.decisions[0]).all()
    assert mixed.rules == ("bayes", "tuned")


def test_workers_names_and_order_change_nothing():
    import joblib
    forest = {"f": RandomForestClassifier(5), "nb": GaussianNB()}
    one = training_variation(forest, X, Y, COSTS, repeats=2, cv=3, rng=3)
    with joblib.parallel_config("threading"):
        two = training_variation(forest, X, Y, COSTS, repeats=2, cv=3, rng=3, n_jobs=2)
    turned = training_variation({"x": GaussianNB(), "y": RandomForestClassifier(5)}, X, Y, COSTS, repeats=2,
                                cv=3, rng=3)
    assert one == two
    assert (one.decisions == turned.decisions[::-1]).all()
    assert (one.decisions != training_variation(forest, X, Y, COSTS, repeats=2, cv=3, rng=4).decisions).any()


def test_seeds_are_drawn_anew_and_given_ones_do_not_hold(monkeypatch):
    fold = np.arange(len(Y)) % 3
    monkeypatch.setattr(training, "_folds", lambda *_: fold)
    fixed = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0))
    found = training_variation(fixed, X, Y, COSTS, cv=3, repeats=3, rule="as given", rng=0)
    assert (found.decisions[0, 0] != found.decisions[0, 1]).any()
    assert found == training_variation(fixed, X, Y, COSTS, cv=3, repeats=3, rule="as given", rng=0)
    assert fixed[-1].random_state == 0
    steady = training_variation(GaussianNB(), X, Y, COSTS, cv=3, repeats=3, rule="as given", rng=0)
    assert (steady.decisions == steady.decisions[:, :1]).all() and steady.table["training_noise"][0] == 0


def test_groups_stay_whole_and_count_as_units():
    group = np.array([f"g{i}" for i in np.arange(len(Y)) // 4])
    found = training_variation(TWO, X, Y, COSTS, cv=3, repeats=2, rule="calibrated", groups=group, rng=0)
    for fold in found.folds:
        assert all(len(set(fold[group == g])) == 1 for g in set(group))
    whole = training_variation(TWO, X, Y, COSTS, cv=3, repeats=1, rule="bayes", groups=group, rng=0)
    paid = COSTS.array[Y, whole.decisions[0, 0]]
    sums = paid.reshape(-1, 4).sum(1) - 4 * paid.mean()
    assert whole.test_noise[0] == pytest.approx(np.sqrt((sums**2).sum() / len(Y) ** 2 * 30 / 29), rel=.02)


def test_priors_and_own_costs():
    found = training_variation(TWO, X, Y, COSTS, cv=3, repeats=2, rule="bayes", priors=.1, rng=0)
    for i, r, k in np.ndindex(2, 2, 3):
        here = found.folds[r] == k
        paid = [COSTS.array[c, found.decisions[i, r, here & (Y == c)]].mean() for c in (0, 1)]
        assert found.fold_costs[i, r, k] == pytest.approx(.9 * paid[0] + .1 * paid[1])
    plain = training_variation(TWO, X, Y, COSTS, cv=3, repeats=2, rule="bayes", rng=0)
    assert (found.decisions == 1).sum() < (plain.decisions == 1).sum(), "fewer alarms at a tenth"
    own = ExampleCosts(fp=np.ones(len(Y)), fn=np.linspace(1, 12, len(Y)))
    each = training_variation(TWO, X, Y, own, cv=3, repeats=2, rule="bayes", rng=0)
    here = each.folds[1] == 2
    assert each.fold_costs[0, 1, 2] == pytest.approx(own.array[np.arange(len(Y)), Y,
            each.decisions[0, 1]][here].mean())


def test_labels_frames_texts_and_more_than_two_classes():
    words = np.array(["well", "ill"])[Y]  # the positive one is the first of the alphabet
    named = CostMatrix.binary(fp=1, fn=6, classes=("well", "ill"), decisions=("wait", "biopsy"))
    plain, ridge = (training_variation(RidgeClassifier(), X, *given, cv=3, repeats=1, rng=0)
                    for given in ((Y, COSTS), (words, named)))
    assert (plain.decisions == ridge.decisions).all() and ridge.labels == ("wait", "biopsy")
    for X_, y_, options in ((pd.DataFrame(X), pd.Series(words), {}), (X, words, {"positive": "ill"}),
                            (sparse.csr_matrix(X), words, {})):
        costs = {"fp": 1, "fn": 6} if options else named
        model = RidgeClassifier()
        assert training_variation(model, X_, y_, costs, cv=3, repeats=1, rng=0,
                                  **options).fold_costs == pytest.approx(plain.fold_costs, abs=.1)
    with pytest.raises(ValueError, match="predict: label '(ill|well)' is not in the decisions"):
        training_variation(GaussianNB(), X, words, named, cv=3, repeats=1, rule="as given", rng=0)
    named = CostMatrix.binary(fp=1, fn=6, classes=("well", "ill"))
    as_given = training_variation(GaussianNB(), X, words, named, cv=3, repeats=1, rule="as given", rng=0)
    assert (as_given.decisions == training_variation(GaussianNB(), X, Y, COSTS, cv=3, repeats=1,
                                                     rule="as given", rng=0).decisions).all()
    texts = ["cheap pills" if v else "dear friend" for v in Y]
    letters = training_variation(make_pipeline(CountVectorizer(), MultinomialNB()), texts, Y, COSTS, cv=3,
                                 repeats=1, rule="bayes", rng=0)
    assert letters.table["cost"][0] == 0 == letters.table["low"][0] < letters.table["high"][0]
    iris = load_iris(return_X_y=True)
    three = CostMatrix.zero_one(3).with_abstain(.2, label="ask")
    flowers = training_variation({"nb": GaussianNB(), "again": GaussianNB()}, *iris, three, cv=3, repeats=1,
                                 rng=0)
    assert set(np.unique(flowers.decisions)) == {0, 1, 2, 3} and flowers.differences["difference"][0] == 0


def test_searches_and_decisions_of_others():
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=2)
    found = training_variation({"search": search}, X, Y, COSTS, cv=2, repeats=1, rule="bayes", rng=0)
    assert np.isfinite(found.fold_costs).all()
    from cost_eval.estimators import CostSensitiveClassifier
    named = CostMatrix.binary(fp=1, fn=6, decisions=("wait", "biopsy"))
    given = training_variation(CostSensitiveClassifier(GaussianNB(), named), X, Y, named, cv=3, repeats=1,
                               rule="as given", rng=0)
    assert given.table["cost"][0] < training_variation(GaussianNB(), X, Y, COSTS, cv=3, repeats=1,
                                                       rule="as given", rng=0).table["cost"][0]


class Silent(ClassifierMixin, BaseEstimator):
    "Decides, and says no more."

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


@pytest.mark.parametrize("change, said", [
    ({"cv": 60}, "cv: 60 folds of 120 samples, but of 2 classes the smallest has"),
    ({"cv": 1}, "cv: must be at least 2"), ({"cv": np.arange(120) % 3}, "cv"),
    ({"groups": np.arange(120) // 60, "cv": 3}, "smallest has 2 groups"),
    ({"estimators": {"p": Perceptron()}, "rule": "bayes"}, "no predict_proba, which rule='bayes' needs"),
    ({"estimators": {"s": Silent()}}, "as given"),
    ({"estimators": {"s": Silent()}, "rule": "tuned"}, "no predict_proba"),
    ({"rule": {"bayes": "tuned"}}, "rule"), ({"estimators": {}}, "estimators"),
    ({"costs": 1 - np.eye(3)}, "no sample"),
    ({"X": pd.DataFrame(X), "y": pd.Series(Y, index=np.arange(120)[::-1])}, "in another order"),
    ({"X": X[:100]}, "X: 100 rows, but y has 120 labels"),
])
def test_what_cannot_be_is_refused(change, said):
    given = {"estimators": TWO, "X": X, "y": Y, "costs": COSTS, "repeats": 1, "rng": 0} | change
    with pytest.raises(ValueError, match=said):
        training_variation(**given)


def test_more_refusals():
    iris = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="tuned"):
        training_variation(GaussianNB(), *iris, CostMatrix.zero_one(3), rule="tuned")
    with pytest.raises(ValueError, match="has no predict_proba"):
        training_variation(RidgeClassifier(), *iris, CostMatrix.zero_one(3))
    few = np.r_[np.zeros(20, int), 1, 1]
    with pytest.raises(ValueError, match="two in each training set to fit a rule"):
        training_variation(GaussianNB(), X[:22], few, COSTS, cv=2, repeats=1, rng=0)
    y, group = np.r_[2, 1, 0, 2, 1, np.zeros(12, int)], np.r_[0, 0, 0, 1, 2, 3 + np.arange(12)]
    with pytest.raises(ValueError, match="groups: those of a class are in one fold only"):
        training_variation(GaussianNB(), X[:17], y, CostMatrix.zero_one(3), cv=2, rule="bayes", groups=group,
                           rng=0)
    with pytest.raises(TypeError, match="class"):
        training_variation({"nb": GaussianNB}, X, Y, COSTS, rule="as given", rng=0)


def test_one_repeat_shows_no_training_noise_and_says_so():
    once = training_variation(TWO, X, Y, COSTS, cv=3, repeats=1, rule="bayes", rng=0)
    assert once.table["training_noise"].isna().all() and any("One repeat" in note for note in once.notes)
    assert np.isfinite(once.table["low"]).all()


@pytest.mark.slow
def test_the_interval_covers_the_expected_difference():
    "Two hundred training sets; the learners differ, and the truth is the mean over all sets."
    ends, truth, far = [], [], data(4000, seed=10**6)
    for seed in range(200):
        rows = data(150, seed=seed)
        found = training_variation(TWO, *rows, COSTS, repeats=3, rule="bayes", rng=seed).differences.iloc[0]
        ends.append((found.low, found.high))
        fitted = [sklearn.base.clone(model).fit(rows[0][:120], rows[1][:120]) for model in TWO.values()]
        cost = [COSTS.array[far[1], (model.predict_proba(far[0]) @ COSTS.array).argmin(1)].mean()
                for model in fitted]
        truth.append(cost[0] - cost[1])
    low, high = np.transpose(ends)
    assert .93 < np.mean((low <= np.mean(truth)) & (np.mean(truth) <= high)) <= 1


@pytest.mark.parametrize("y, said", [([0] * 20, "cv: 2 folds of 20 samples, but of 1 classes"),
                                     ([0] * 19 + [1], "of 2 classes the smallest has 1 samples")])
def test_too_few_classes_are_named(y, said):
    with pytest.raises(ValueError, match=said):
        training_variation(GaussianNB(), np.arange(20.0)[:, None], y, [[0, 1], [5, 0]], cv=2, repeats=1)


class Echo(ClassifierMixin, BaseEstimator):
    "Says what its first feature says, whatever it was trained on: its cost is known."

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X): return X[:, 0].astype(int)


def echoed(n, miss, alarm, rng):
    y = (rng.random(n) < .5).astype(int)
    wrong = rng.random(n) < np.where(y, miss, alarm)
    return np.column_stack([y ^ wrong, y]), y


@pytest.mark.parametrize("n", [100, 400])
def test_where_misses_are_rare_the_ends_cover_and_are_costs_that_can_be(n):
    """The t ends alone covered .46 of the sets of 100, .85 of 400, and lay below 0 in .8 of them; here no set
    of 60 may lie more than two standard errors of .95 below it, and each reaches what a miss could cost."""
    rng, truth, covers, alone = np.random.default_rng(1), .5 * (20 * .01 + .05), [], []
    costs = CostMatrix.binary(fp=1, fn=20)
    for _ in range(60):
        found = training_variation({"echo": Echo()}, *echoed(n, .01, .05, rng), costs, repeats=2,
                                   rule="as given", rng=0)
        row, t = found.table.iloc[0], corrected_interval(found.fold_costs.ravel(), found.test_share)
        assert 0 <= row["low"] <= row["cost"] <= row["high"] <= 20
        covers.append(row["low"] <= truth <= row["high"])
        alone.append(t.low >= 0 and t.low <= truth <= t.high)
    assert np.mean(covers) >= .95 - 2 * (.05 * .95 / 60)**.5 and np.mean(alone) < .9
