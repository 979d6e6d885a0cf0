"""Training again: corrected intervals by hand and by simulation, repeated folds against loops written here,
nothing of the test fold in the policy, and what is refused."""
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import t as student
from scipy.stats import ttest_1samp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Perceptron, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from cost_eval import training
from cost_eval.bootstrap import difference, interval
from cost_eval.confusion import confusion_counts, joint_counts
from cost_eval.costs import CostMatrix, ExampleCosts
from cost_eval.estimators import CostSensitiveClassifier
from cost_eval.training import corrected_interval, resampled_coverage, training_variation

COSTS = CostMatrix.binary(fp=1, fn=6)


def data(n=120, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < .35).astype(int)
    return rng.normal(size=(n, 3)) + y[:, None], y


X, Y = data()
TWO = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=3)}


def varied(estimators=TWO, X=X, y=Y, costs=COSTS, **options):
    options = {"cv": 3, "repeats": 2, "rule": "bayes", "rng": 0} | options
    return training_variation(estimators, X, y, costs, **options)


# ---- the interval

def test_the_corrected_interval_is_the_t_interval_with_another_error():
    x = np.random.default_rng(0).normal(1, 2, (3, 12))
    theirs = ttest_1samp(x, 0, axis=1)
    ends = theirs.confidence_interval(.9)
    found, wide = (corrected_interval(x, share, confidence=.9) for share in (0, 1 / 3))
    np.testing.assert_allclose([found.low, found.high, found.p_value], [ends.low, ends.high, theirs.pvalue])
    error = np.sqrt((1 / 12 + 1 / 3) * x.var(axis=1, ddof=1))
    reach = student.ppf(.95, 11) * error
    np.testing.assert_allclose([wide.standard_error, wide.high], [error, x.mean(1) + reach])
    np.testing.assert_allclose(wide.p_value, 2 * student.sf(abs(x.mean(1)) / error, 11))


def test_equal_scores_have_no_interval():
    found = corrected_interval([[.1, .1, .1], [0, 0, 0], [1, 2, 3]], .5)
    assert np.isnan(found.low[:2]).all() and np.isnan(found.p_value[:2]).all() and np.isfinite(found.low[2])
    assert (found.standard_error[:2] == 0).all()


@pytest.mark.parametrize("J, share, rho", [(4, 0, .3), (25, .25, .5), (3, 1, 0)])
def test_coverage_by_simulation(J, share, rho):
    rng = np.random.default_rng(1)
    x = np.sqrt(rho) * rng.normal(size=(40_000, 1)) + np.sqrt(1 - rho) * rng.normal(size=(40_000, J))
    found = corrected_interval(x, share, confidence=.9)
    seen = np.mean((found.low <= 0) & (0 <= found.high))
    assert seen == pytest.approx(resampled_coverage(J, share, rho, confidence=.9), abs=.006)


# ---- repeated folds

def by_loop(model, folds, decide):
    "(R, F) costs per sample, written out."
    out = np.empty((len(folds), folds.max() + 1))
    for r, k in np.ndindex(out.shape):
        here = folds[r] == k
        fitted = clone(model).fit(X[~here], Y[~here])
        out[r, k] = COSTS.array[Y[here], decide(fitted, X[here])].mean()
    return out


@pytest.mark.parametrize("rule, decide", [
    ("bayes", lambda fitted, rows: (fitted.predict_proba(rows) @ COSTS.array).argmin(1)),
    ("as given", lambda fitted, rows: fitted.predict(rows))])
def test_costs_against_a_loop(rule, decide):
    found = varied({"nb": GaussianNB()}, cv=4, repeats=3, rule=rule)
    assert found.fold_costs[0] == pytest.approx(by_loop(GaussianNB(), found.folds, decide))
    assert found.folds.shape == (3, len(Y)) and (found.folds[0] != found.folds[1]).any()
    assert all(np.ptp(np.bincount(fold)) <= 1 for fold in found.folds)
    assert found.rules == (rule,) and found.names == ("nb",)


def test_table_differences_and_noises_by_hand():
    found = varied(TWO | {"forest": RandomForestClassifier(3)}, cv=5, repeats=4, confidence=.9)
    paid = COSTS.array[Y, found.decisions]

    def ends(flat, tail, alone):
        "The wider of the corrected interval and the mean of those of each repeat."
        error = np.sqrt((1 / 20 + found.test_share) * flat.var(ddof=1))
        half, mean = student.ppf(1 - tail, 19) * error, flat.mean()
        low, high = np.mean([[one.low, one.high] for one in alone], axis=0)
        return [mean, min(mean - half, low), max(mean + half, high)]

    for i, row in enumerate(found.table.itertuples()):
        alone = [interval(confusion_counts(Y, d), COSTS, confidence=.9) for d in found.decisions[i]]
        assert [row.cost, row.low, row.high] == pytest.approx(ends(found.fold_costs[i].ravel(), .05, alone))
        assert row.test_noise == pytest.approx(paid[i].std(-1, ddof=1).mean() / np.sqrt(len(Y)))
        assert row.training_noise == pytest.approx(found.fold_costs[i].mean(1).std(ddof=1))
    for row, (i, j) in zip(found.differences.itertuples(), combinations(range(3), 2)):
        tables = [joint_counts(Y, *found.decisions[[i, j], r]) for r in range(4)]
        alone = [difference(one, COSTS, confidence=1 - .1 / 3) for one in tables]  # three pairs hold together
        flat = (found.fold_costs[i] - found.fold_costs[j]).ravel()
        assert [row.difference, row.low, row.high] == pytest.approx(ends(flat, .1 / 6, alone))
        assert (row.first, row.second) == (found.names[i], found.names[j])
        assert row.test_noise == pytest.approx((paid[i] - paid[j]).std(-1, ddof=1).mean() / np.sqrt(len(Y)))
    assert found.test_share == pytest.approx(24 / 96) and found.to_frame().equals(found.table)


@pytest.mark.parametrize("options", [{}, {"priors": .5}, {"groups": np.arange(120) // 2}])
def test_costly_errors_that_no_fold_saw_are_admitted(options):
    """A model that is always right in the data has no t interval, and may still miss somebody: the bound of
    Clopper and Pearson, if rows are one sample."""
    y, most = np.arange(120) % 2, 6 * (1 - .025 ** (1 / 120))
    found = varied(X=18.0 * y[:, None], y=y, rule="as given", **options).table
    assert (found["low"] == 0).all() and (found["high"] >= most - 1e-9).all()
    assert options or found["high"].to_numpy() == pytest.approx(most)


@pytest.mark.parametrize("rule", ["calibrated", "tuned", "bayes"])
def test_a_test_fold_plays_no_part_in_its_own_decisions(rule, monkeypatch):
    "Its labels may be anything."
    fold, drawn = np.arange(len(Y)) % 4, training._folds
    models = {"nb": GaussianNB()} | ({"ridge": RidgeClassifier()} if rule != "bayes" else {})
    monkeypatch.setattr(training, "_folds", lambda samples, k, seed, at_most=False: (
        drawn(samples, k, seed, at_most=True) if at_most else fold))
    one = varied(models, cv=4, repeats=1, rule=rule).decisions
    for k in (0, 2):
        other = np.where(fold == k, np.random.default_rng(k).permutation(Y), Y)
        two = varied(models, y=other, cv=4, repeats=1, rule=rule).decisions
        same = (one == two).all((0, 1))
        assert same[fold == k].all() and not same[fold != k].all()


class Cubed(GaussianNB):
    def predict_proba(self, X):
        p = super().predict_proba(X)[:, 1] ** 3
        return np.column_stack([1 - p, p])


def test_a_tuned_rule_does_not_depend_on_the_form_of_the_scores():
    both, rules = {"as it is": GaussianNB(), "cubed": Cubed()}, {"cubed": "tuned", "as it is": "bayes"}
    tuned, raw, mixed = (varied(both, rule=rule) for rule in ("tuned", "bayes", rules))
    assert (tuned.decisions[0] == tuned.decisions[1]).all() and (raw.decisions[0] != raw.decisions[1]).any()
    assert (mixed.decisions[1] == tuned.decisions[1]).all() and (mixed.decisions[0] == raw.decisions[0]).all()
    assert mixed.rules == ("bayes", "tuned")


def test_workers_names_and_order_change_nothing_and_another_seed_does():
    import joblib
    forest = {"f": RandomForestClassifier(3), "nb": GaussianNB()}
    one, other = (varied(forest, rng=seed) for seed in (3, 4))
    with joblib.parallel_config("threading"):
        assert one == varied(forest, rng=3, n_jobs=2)
    turned = varied({"x": GaussianNB(), "y": RandomForestClassifier(3)}, rng=3)
    assert (one.decisions == turned.decisions[::-1]).all() and (one.decisions != other.decisions).any()


def test_seeds_are_drawn_anew_and_given_ones_do_not_hold(monkeypatch):
    monkeypatch.setattr(training, "_folds", lambda *_: np.arange(len(Y)) % 3)
    fixed = make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0))
    found, again = (varied(fixed, repeats=3, rule="as given") for _ in "ab")
    assert (found.decisions[0, 0] != found.decisions[0, 1]).any() and found == again
    assert fixed[-1].random_state == 0
    steady = varied(GaussianNB(), repeats=3, rule="as given")
    assert (steady.decisions == steady.decisions[:, :1]).all() and steady.table["training_noise"][0] == 0
    once = varied(repeats=1)
    assert once.table["training_noise"].isna().all() and any("One repeat" in note for note in once.notes)


def test_groups_stay_whole_and_count_as_units():
    group = np.array([f"g{i}" for i in np.arange(len(Y)) // 4])
    found = varied(repeats=1, groups=group)
    assert all(len(set(found.folds[0][group == g])) == 1 for g in set(group))
    paid = COSTS.array[Y, found.decisions[0, 0]]
    sums = paid.reshape(-1, 4).sum(1) - 4 * paid.mean()
    assert found.test_noise[0] == pytest.approx(np.sqrt((sums**2).sum() / len(Y) ** 2 * 30 / 29), rel=.02)


def test_priors_and_own_costs():
    found, plain = varied(priors=.1), varied()
    for i, r, k in np.ndindex(2, 2, 3):
        here = found.folds[r] == k
        paid = [COSTS.array[c, found.decisions[i, r, here & (Y == c)]].mean() for c in (0, 1)]
        assert found.fold_costs[i, r, k] == pytest.approx(.9 * paid[0] + .1 * paid[1])
    assert (found.decisions == 1).sum() < (plain.decisions == 1).sum(), "fewer alarms at a tenth"
    own = ExampleCosts(fp=np.ones(len(Y)), fn=np.linspace(1, 12, len(Y)))
    each = varied(costs=own)
    paid = own.array[np.arange(len(Y)), Y, each.decisions[0, 1]]
    assert each.fold_costs[0, 1, 2] == pytest.approx(paid[each.folds[1] == 2].mean())


WORDS = np.array(["well", "ill"])[Y]  # the positive one is the first of the alphabet
NAMED = CostMatrix.binary(fp=1, fn=6, classes=("well", "ill"), decisions=("wait", "biopsy"))


@pytest.mark.parametrize("given", [
    (X, WORDS, NAMED, {}), (pd.DataFrame(X), pd.Series(WORDS), NAMED, {}),
    (sparse.csr_matrix(X), WORDS, NAMED, {}), (X, WORDS, {"fp": 1, "fn": 6}, {"positive": "ill"})])
def test_labels_and_forms_of_features(given):
    options = {"repeats": 1, "rule": "calibrated"}
    plain = varied(RidgeClassifier(), **options)
    found = varied(RidgeClassifier(), *given[:3], **options, **given[3])
    assert found.fold_costs == pytest.approx(plain.fold_costs, abs=.1)
    assert given[0] is not X or (found.decisions == plain.decisions).all()


IRIS = dict(zip(("X", "y"), load_iris(return_X_y=True)), costs=CostMatrix.zero_one(3))


def test_texts_searches_three_classes_and_decisions_of_others():
    texts = ["cheap pills" if v else "dear friend" for v in Y]
    letters = varied(make_pipeline(CountVectorizer(), MultinomialNB()), texts, repeats=1).table
    assert letters["cost"][0] == 0 == letters["low"][0] < letters["high"][0]
    three = CostMatrix.zero_one(3).with_abstain(.2, label="ask")
    flowers = varied({"nb": GaussianNB(), "again": GaussianNB()}, IRIS["X"], IRIS["y"], three, repeats=1)
    assert set(np.unique(flowers.decisions)) == {0, 1, 2, 3} and flowers.differences["difference"][0] == 0
    search = GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, cv=2)
    assert np.isfinite(varied(search, cv=2, repeats=1).fold_costs).all()
    named = CostMatrix.binary(fp=1, fn=6, decisions=("wait", "biopsy"))
    given = varied(CostSensitiveClassifier(GaussianNB(), named), costs=named, repeats=1, rule="as given")
    assert given.table["cost"][0] < varied(GaussianNB(), repeats=1, rule="as given").table["cost"][0]


class Says(ClassifierMixin, BaseEstimator):
    "Decides what its first feature says, whatever it was trained on, and says no more: its cost is known."

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X[:, 0].astype(int)


@pytest.mark.parametrize("change, said", [
    ({"cv": 60}, "cv: 60 folds of 120 samples, but of 2 classes the smallest has"),
    ({"y": np.repeat(0, 120)}, "cv: 3 folds of 120 samples, but of 1 classes"),
    ({"y": np.repeat([0, 1], [118, 2]), "cv": 2, "rule": "calibrated"}, "two in each training set to fit a"),
    ({"y": np.r_[2, 1, 0, 2, 1, np.zeros(115, int)], "costs": CostMatrix.zero_one(3), "cv": 2,
      "groups": np.r_[0, 0, 0, 1, 2, 3 + np.arange(115)]}, "groups: those of a class are in one fold only"),
    ({"estimators": {"p": Perceptron()}}, "no predict_proba, which rule='bayes' needs"),
    ({"estimators": {"s": Says()}, "rule": "calibrated"}, "as given"),
    ({"rule": {"bayes": "tuned"}}, "rule"),
    ({"costs": 1 - np.eye(3), "rule": "calibrated"}, "no sample"),
    ({"X": pd.DataFrame(X), "y": pd.Series(Y, index=np.arange(120)[::-1])}, "in another order"),
    ({"y": WORDS, "costs": NAMED, "rule": "as given"}, "predict: label '(ill|well)' is not in the decisions"),
    (IRIS | {"rule": "tuned"}, "tuned"), (IRIS | {"estimators": RidgeClassifier()}, "has no predict_proba"),
])
def test_what_cannot_be_is_refused(change, said):
    with pytest.raises(ValueError, match=said):
        varied(**change)


@pytest.mark.slow
def test_the_interval_covers_the_expected_difference():
    "Two hundred training sets; the learners differ, and the truth is the mean over all sets."
    ends, truth, far = [], [], data(4000, seed=10**6)
    for seed in range(200):
        rows = data(150, seed=seed)
        found = varied(TWO, *rows, cv=5, repeats=3, rng=seed).differences.iloc[0]
        ends.append((found.low, found.high))
        fitted = [clone(model).fit(rows[0][:120], rows[1][:120]) for model in TWO.values()]
        decided = [(model.predict_proba(far[0]) @ COSTS.array).argmin(1) for model in fitted]
        cost = [COSTS.array[far[1], one].mean() for one in decided]
        truth.append(cost[0] - cost[1])
    low, high = np.transpose(ends)
    assert .93 < np.mean((low <= np.mean(truth)) & (np.mean(truth) <= high)) <= 1


def test_where_misses_are_rare_the_ends_cover_and_are_costs_that_can_be():
    """The t ends alone covered .46 of such sets, and lay below 0 in .8 of them; here no set of 40 may lie
    more than two standard errors of .95 below it, and each reaches what a miss could cost."""
    rng, truth, covers, alone = np.random.default_rng(1), .5 * (20 * .01 + .05), [], []
    costs = CostMatrix.binary(fp=1, fn=20)
    for _ in range(40):
        y = (rng.random(100) < .5).astype(int)
        wrong = rng.random(100) < np.where(y, .01, .05)
        found = varied(Says(), np.column_stack([y ^ wrong, y]), y, costs, cv=5, rule="as given")
        row, t = found.table.iloc[0], corrected_interval(found.fold_costs.ravel(), found.test_share)
        assert 0 <= row["low"] <= row["cost"] <= row["high"] <= 20
        covers.append(row["low"] <= truth <= row["high"])
        alone.append(0 <= t.low <= truth <= t.high)
    assert np.mean(covers) >= .95 - 2 * (.05 * .95 / 40)**.5 and np.mean(alone) < .9
