"""cost_eval.estimators: scikit-learn's own checks, and numbers by hand."""
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_validate
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from conftest import refuses
from cost_eval.confusion import confusion_counts
from cost_eval.costs import CostMatrix, ExampleCosts, losses
from cost_eval.decisions import AffineCalibrator, bayes_decisions
from cost_eval.estimators import CostSensitiveClassifier, cost_scorer
from cost_eval.metrics import expected_cost


KINDS = np.array(["setosa", "versicolor", "virginica"])
costs_3 = CostMatrix(
    [[0, 4, 9], [1, 0, 3], [20, 5, 0]], classes=["virginica", "setosa", "versicolor"]
).with_abstain([1, .5, 2], label="ask")


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[:, :2], KINDS[y]


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :4], 1 - y


# ---- scikit-learn's own checks: none is excluded

@pytest.mark.parametrize("model", [
    CostSensitiveClassifier(LogisticRegression(), None, cv=3),
    CostSensitiveClassifier(LogisticRegression(), None, calibration=None),
    CostSensitiveClassifier(LinearSVC(), None),
], ids=["affine", "raw", "decision function"])
@pytest.mark.filterwarnings("ignore")
def test_check_estimator_whole(model):
    results = check_estimator(model, on_fail=None, on_skip=None)
    assert len(results) > 50
    assert [(r["check_name"], r["exception"]) for r in results
            if r["status"] not in ("passed", "skipped")] == []
    # a variable of the shell
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {"check_array_api_input"}


# ---- the classifier

def test_predict_is_the_bayes_decision_of_calibrated_posteriors(iris):
    X, y = iris
    model = CostSensitiveClassifier(GaussianNB(), costs_3, cv=StratifiedKFold(4)).fit(X, y)
    logs = np.log(cross_val_predict(GaussianNB(), X, y, cv=StratifiedKFold(4), method="predict_proba"))
    by_hand = AffineCalibrator().fit(logs, np.searchsorted(KINDS, y))
    posteriors = by_hand.transform(np.log(GaussianNB().fit(X, y).predict_proba(X)))
    np.testing.assert_allclose(model.predict_proba(X), posteriors, rtol=1e-9)
    rows = [costs_3.classes.index(kind) for kind in KINDS]
    cost = posteriors @ costs_3.array[rows]
    decided = model.predict(X)
    assert decided.tolist() == [costs_3.decisions[j] for j in cost.argmin(1)]
    assert len(set(decided)) == 4 and "ask" in decided
    assert model.classes_.tolist() == KINDS.tolist() and model.costs_.decisions == costs_3.decisions
    assert model.score(X, y) == pytest.approx(-losses(y, decided, costs_3).mean())


def test_other_priors(iris):
    X, y = iris
    shares = {"setosa": .1, "versicolor": .7, "virginica": .2}, [.2, .1, .7], None  # in the costs' order
    model, plain, here = (CostSensitiveClassifier(GaussianNB(), costs_3, priors=priors).fit(X, y)
                          for priors in shares)
    rows = [costs_3.classes.index(kind) for kind in KINDS]
    p = model.predict_proba(X)
    np.testing.assert_allclose(p, here.predict_proba(X))
    shifted = p * [.1, .7, .2] / np.bincount(np.searchsorted(KINDS, y)) * len(y)
    cost = shifted / shifted.sum(1, keepdims=True) @ costs_3.array[rows]
    cheapest = [costs_3.decisions[j] for j in cost.argmin(1)]
    assert model.predict(X).tolist() == plain.predict(X).tolist() == cheapest
    counts = confusion_counts(y, model.predict(X), classes=costs_3)
    assert model.score(X, y) == pytest.approx(-expected_cost(counts, costs_3, priors=model.priors))


def test_costs_of_single_samples(tumours):
    X, y = tumours
    fn = np.random.default_rng(0).gamma(1, 30, len(y))
    own = ExampleCosts(fp=1, fn=fn)
    model = CostSensitiveClassifier(GaussianNB(), CostMatrix.binary(fp=1, fn=30)).fit(X, y)
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X, own), (p * fn > 1 - p).astype(int))
    np.testing.assert_array_equal(model.predict(X, own.array), model.predict(X, own))
    assert (model.predict(X, own) != model.predict(X)).any()
    assert -model.score(X, y, costs=own) == pytest.approx(losses(y, model.predict(X, own), own).mean())


def test_weights_reach_classifier_calibration_and_priors(tumours):
    X, y = tumours
    weight = np.where(y == 1, 3, 1)
    model = CostSensitiveClassifier(GaussianNB(), None, priors=[.9, .1], cv=3).fit(X, y, sample_weight=weight)
    share = 3 * y.sum() / weight.sum()
    raw = CostSensitiveClassifier(GridSearchCV(make_pipeline(GaussianNB()), {}), None, calibration=None)
    inner = raw.fit(X, y, sample_weight=weight).estimator_.best_estimator_[-1]
    assert model.train_priors_[1] == pytest.approx(share) == inner.class_prior_[1]
    assert model.predict_proba(X)[:, 1] @ weight / weight.sum() == pytest.approx(share, abs=.02)


def test_a_class_that_the_training_data_lack(iris):
    X, y = iris
    some = y != "virginica"
    model = CostSensitiveClassifier(GaussianNB(), costs_3).fit(X[some], y[some])
    assert "virginica" not in model.classes_ and model.predict_proba(X).shape == (150, 2)
    assert model.score(X, y) == pytest.approx(-losses(y, model.predict(X), costs_3).mean())
    with pytest.raises(ValueError, match="priors: .* only .* are in y"):
        CostSensitiveClassifier(GaussianNB(), costs_3, priors=[.2, .4, .4]).fit(X[some], y[some])


def test_pipelines_clones_pickles_and_frames(iris):
    X, y = pd.DataFrame(iris[0], columns=["length", "width"]), iris[1]
    inner = make_pipeline(StandardScaler(), LogisticRegression()).set_output(transform="pandas")
    model = CostSensitiveClassifier(inner, costs_3, cv=3).fit(X, y)
    last = CostSensitiveClassifier(LogisticRegression(), costs_3, cv=3)
    outer = make_pipeline(StandardScaler(), last).set_output(transform="pandas").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), outer.predict(X))
    assert list(model.feature_names_in_) == list(outer[-1].feature_names_in_) == ["length", "width"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(outer)).predict(X), outer.predict(X))
    copy = clone(outer)
    assert copy[-1].costs == costs_3 and not hasattr(copy[-1], "estimator_")
    assert copy.get_params()["costsensitiveclassifier__costs"] == costs_3
    scorer = cost_scorer(costs_3, priors=[.2, .3, .5])
    score = scorer(model, X, y)
    assert pickle.loads(pickle.dumps(scorer))(model, X, y) == score < 0
    assert clone(GridSearchCV(GaussianNB(), {}, scoring=scorer)).scoring(model, X, y) == score


def test_frozen_and_other_calibrations(tumours):
    X, y = tumours
    frozen = pytest.importorskip("sklearn.frozen")
    fitted, costs = GaussianNB().fit(X[::2], y[::2]), CostMatrix.from_ratio(5)
    model = CostSensitiveClassifier(frozen.FrozenEstimator(fitted), costs).fit(X[1::2], y[1::2])
    by_hand = AffineCalibrator().fit(np.log(np.maximum(fitted.predict_proba(X[1::2]), 1e-300)), y[1::2])
    assert model.calibrator_.alpha_ == pytest.approx(by_hand.alpha_, rel=1e-6)
    isotonic = CalibratedClassifierCV(GaussianNB(), method="isotonic")
    model = CostSensitiveClassifier(isotonic, costs, calibration=None).fit(X, y)
    surely = clone(isotonic).fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X), (surely > 1 / 6).astype(int))


# ---- the scorer

def folds(y):
    return list(StratifiedKFold(3, shuffle=True, random_state=0).split(y, y))


@pytest.mark.parametrize("priors", [None, [.2, .3, .5]])
def test_bayes_scorer_by_hand(iris, priors):
    X, y = iris
    got = cross_val_score(GaussianNB(), X, y, scoring=cost_scorer(costs_3, priors=priors), cv=folds(y))
    for (train, test), score in zip(folds(y), got):
        fitted = GaussianNB().fit(X[train], y[train])
        p = fitted.predict_proba(X[test])[:, [list(fitted.classes_).index(c) for c in costs_3.classes]]
        share = [np.mean(y[train] == c) for c in costs_3.classes]
        decided = bayes_decisions(p, costs_3, priors=priors, train_priors=priors and share, labels=True)
        counts = confusion_counts(y[test], decided, classes=costs_3)
        assert score == pytest.approx(-expected_cost(counts, costs_3, priors=priors), rel=1e-12)


@pytest.mark.parametrize("priors", [None, {0: .95, 1: .05}])
def test_predict_scorer_by_hand(tumours, priors):
    X, y = tumours
    costs, weight = CostMatrix.binary(fp=2, fn=9, tn=1), np.random.default_rng(0).random(len(y))
    fitted, in_order = GaussianNB().fit(X, y), priors and [.95, .05]
    counts = confusion_counts(y, fitted.predict(X), classes=costs, sample_weight=weight)
    wanted = -expected_cost(counts, costs, priors=priors)
    for scorer in (cost_scorer(costs, priors=priors, decisions="predict"),
                   cost_scorer(costs.array, priors=in_order, decisions="predict")):
        assert scorer(fitted, X, y, sample_weight=weight) == pytest.approx(wanted)
    model = CostSensitiveClassifier(GaussianNB(), costs, priors=priors).fit(X, y)
    assert scorer(model, X, y) == pytest.approx(model.score(X, y))


def test_posteriors_are_moved_from_the_shares_of_training():
    """Trained on halves, scored at one in twenty: the shares of what is scored are not those the posteriors
    were trained for."""
    rng = np.random.default_rng(0)
    y_train, y = np.repeat([0, 1], 500), np.repeat([0, 1], [1900, 100])
    X_train, X = (rng.normal(1.5 * labels)[:, None] for labels in (y_train, y))
    costs, priors = CostMatrix.from_ratio(5), [.95, .05]
    bayes, unknown = GaussianNB().fit(X_train, y_train), LogisticRegression().fit(X_train, y_train)

    def right(train):
        decided = bayes_decisions(bayes.predict_proba(X), costs, priors=priors, train_priors=train)
        return -expected_cost(confusion_counts(y, decided), costs, priors=priors)

    scorer, halves = cost_scorer(costs, priors=priors), right([.5, .5])
    assert halves > right([.95, .05]) + .1
    for model in (bayes, make_pipeline(GaussianNB()).fit(X_train, y_train),
                  GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}).fit(X_train, y_train)):
        assert scorer(model, X, y) == pytest.approx(halves)
    with pytest.raises(ValueError, match="priors: LogisticRegression .* score CostSensitiveClassifier"):
        scorer(unknown, X, y)
    model = CostSensitiveClassifier(LogisticRegression(), costs, priors=priors).fit(X_train, y_train)
    assert scorer(model, X, y) == pytest.approx(model.score(X, y))


def test_searches_and_tuned_thresholds(tumours):
    X, y = tumours
    costs, tried = CostMatrix.binary(fp=1, fn=20), [1e-9, 1e-3, 1]
    by_bayes, by_predict = cost_scorer(costs), cost_scorer(costs, decisions="predict")
    search = GridSearchCV(GaussianNB(), {"var_smoothing": tried}, scoring=by_bayes, cv=3).fit(X, y)
    each = [cross_val_score(GaussianNB(var_smoothing=v), X, y, scoring=by_bayes, cv=3).mean() for v in tried]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], each)
    assert search.best_index_ == int(np.argmax(each))
    out = cross_validate(GaussianNB(), X, y, scoring={"bayes": by_bayes, "predicted": by_predict}, cv=3)
    assert (out["test_bayes"] > out["test_predicted"]).all()
    assert TunedThresholdClassifierCV(GaussianNB(), scoring=by_predict, cv=3).fit(X, y).best_threshold_ < .3
    with pytest.raises(AttributeError, match="use cost_scorer"):
        TunedThresholdClassifierCV(GaussianNB(), scoring=by_bayes, cv=3).fit(X, y)


def test_scorer_with_a_fold_that_lacks_a_class(iris):
    X, y = iris  # sorted by kind: KFold(3) trains without the kind it tests
    options = {"cv": KFold(3), "error_score": "raise"}
    scores = cross_val_score(GaussianNB(), X, y, scoring=cost_scorer(costs_3), **options)
    assert np.isfinite(scores).all() and (scores < -.4).all()
    with pytest.raises(ValueError, match="class .* has prior 0"):
        cross_val_score(GaussianNB(), X, y, scoring=cost_scorer(costs_3, priors=[.2, .3, .5]), **options)
    known, scorer = GaussianNB().fit(X, y), cost_scorer(costs_3, priors=[0, .5, .5], decisions="predict")
    assert scorer(known, X, y, sample_weight=np.full(150, 1e-3)) == pytest.approx(scorer(known, X, y))


def test_single_costs_and_weights_by_metadata_routing(tumours):
    X, y = tumours
    rng = np.random.default_rng(1)
    own, weight = ExampleCosts(fp=1, fn=rng.gamma(1, 30, len(y))), rng.random(len(y))
    average = CostMatrix.binary(fp=1, fn=30)
    without = CostSensitiveClassifier(GaussianNB(), average, cv=3).fit(X, y, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        scorer = cost_scorer(average).set_score_request(costs=True, sample_weight=True)
        params = {"costs": own, "sample_weight": weight}
        inner = GaussianNB().set_fit_request(sample_weight=True)
        got = cross_validate(inner, X, y, scoring=scorer, cv=folds(y), params=params)
        for (train, test), score in zip(folds(y), got["test_score"]):
            p = GaussianNB().fit(X[train], y[train], sample_weight=weight[train]).predict_proba(X[test])[:, 1]
            each = losses(y[test], (p * own.array[test, 1, 0] > 1 - p).astype(int), own[test])
            assert score == pytest.approx(-np.average(each, weights=weight[test]), rel=1e-12)
        as_array = cross_validate(inner, X, y, scoring=scorer, cv=folds(y),
                                  params=params | {"costs": own.array})
        np.testing.assert_allclose(as_array["test_score"], got["test_score"])
        search = GridSearchCV(inner, {"var_smoothing": [1e-9]}, scoring=scorer, cv=folds(y))
        scored = search.fit(X, y, **params).cv_results_["split0_test_score"]
        np.testing.assert_allclose(scored[0], got["test_score"][0])
        model = CostSensitiveClassifier(inner, average, cv=3).set_fit_request(sample_weight=True)
        pipe = make_pipeline(FunctionTransformer(), model.set_predict_request(costs=True))
        pipe.fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(pipe.predict(X, costs=own), without.predict(X, own))
    np.testing.assert_allclose(pipe[-1].predict_proba(X), without.predict_proba(X))


# ---- bad input

X_5, y_5 = make_classification(60, 4, random_state=0)
fitted_5 = CostSensitiveClassifier(GaussianNB(), CostMatrix.from_ratio(2)).fit(X_5, y_5)


def fit(estimator=None, costs=None, y=None, rows=60, **options):
    "Fit to the rows; whatever is not said is right."
    model = CostSensitiveClassifier(estimator or GaussianNB(), costs, **options)
    return model.fit(X_5[:rows], y_5[:rows] if y is None else y)


test_bad_input_is_named = refuses([
    (lambda: fit(costs=[[0, 1, .2], [1, 0, .2]]), r"costs: shape \(2, 3\) for 2 classes; name"),
    (lambda: fit(costs=ExampleCosts(fp=1, fn=y_5 + 1)), "costs: .*one matrix for all is needed"),
    (lambda: fit(costs=CostMatrix.binary(classes=["a", "b"])), "y: label 0 is not in the costs' classes"),
    (lambda: fit(costs=[[0, 1], [20, 0]], y=["ill", "well"] * 30), "y: .*'ill', 'well'. do not say"),
    (lambda: fit(y=np.zeros(60)), "y: samples of one class only, 0.0"),
    (lambda: fit(y=[1] + [0] * 59), "y: calibration needs two samples of each class"),
    (lambda: fit(StandardScaler()), "estimator: .* has neither predict_proba"),
    (lambda: fit(SVC(decision_function_shape="ovo"), y=np.arange(60) % 4),
     "decision_function has 6 columns for 4 classes"),

    (lambda: fitted_5.predict(X_5, ExampleCosts(fp=1, fn=np.ones(60), decisions=["no", "yes"])),
     "costs: decisions"),
    (lambda: fitted_5.predict(X_5, np.arange(120.).reshape(60, 2)), "costs: shape .* say ExampleCosts"),
    (lambda: fitted_5.score(X_5, y_5 + 5), "y_true: label [56] is not"),
    (lambda: cost_scorer(CostMatrix.from_ratio(2))(LinearSVC().fit(X_5, y_5), X_5, y_5),
     "estimator: LinearSVC has no predict_proba; wrap it"),

    (lambda: cost_scorer(CostMatrix.from_ratio(2), decisions="predict", priors=[.5, .5])(
        fitted_5, X_5[y_5 == 1], y_5[y_5 == 1]), "y_true: no sample of 0, whose prior is above 0"),
])


# ---- samples that belong together, and weights in pipelines

def patients(many=60, images=8):
    """Each patient has a face that the nearest neighbour remembers, and a class that has nothing to do with
    it."""
    rng = np.random.default_rng(3)
    who = rng.permutation(np.repeat(np.arange(many), images))
    return who, rng.normal(size=(many, 3))[who] + .01 * rng.normal(size=(many * images, 3)), (rng.random(many)
            < .4)[who].astype(int)


def test_groups_stay_together_in_the_calibration():
    "With images of one patient in several folds the model seems to know."
    who, X, y = patients()
    by_patient = list(GroupKFold(5).split(X, y, who))
    fits = [CostSensitiveClassifier(KNeighborsClassifier(3), None, cv=cv).fit(X, y) for cv in (5, by_patient)]
    apart, together = (np.ptp(model.predict_proba(X)[:, 1]) for model in fits)
    assert apart > .8 and together < .25


@pytest.mark.parametrize("calibration", [None, "affine"])
def test_weights_reach_the_last_step_of_a_pipeline(calibration):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X, weight = rng.normal(size=(200, 2)) + y[:, None], np.where(y, 5., 1.)
    piped = make_pipeline(FunctionTransformer(), LogisticRegression())
    inside = RFE(LogisticRegression(), n_features_to_select=2)
    asked = (LogisticRegression(), weight), (inside, weight), (piped, weight), (piped, None)
    one, chosen, other, without = (CostSensitiveClassifier(model, None, calibration=calibration).fit(
        X, y, sample_weight=w).predict_proba(X) for model, w in asked)
    np.testing.assert_allclose([one, chosen], [other, other], rtol=1e-6)
    assert without[:, 1].mean() < other[:, 1].mean() - .1


def test_weights_are_not_lost_without_a_word():
    who, X, y = patients()
    weight = np.where(y, 5., 1.)
    raw, calibrated = (CostSensitiveClassifier(KNeighborsClassifier(), None, calibration=how)
                       for how in (None, "affine"))
    with pytest.raises(ValueError, match="sample_weight: KNeighborsClassifier is not known to take"):
        raw.fit(X, y, sample_weight=weight)
    with pytest.warns(UserWarning, match="for the calibration only"):
        calibrated.fit(X, y, sample_weight=weight)
