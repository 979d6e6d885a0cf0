"""Marwah et al.'s tables and figures: each building block against an independent source, and what happens
without data."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
sk = pytest.importorskip("sklearn.metrics")

from cost_eval import datasets
from cost_eval.confusion import BinaryCounts, threshold_counts
from cost_eval.reproductions import cost_score as paper

def toy_task(n=600, prevalence=0.2, seed=0, **changes):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < prevalence * n).astype(int)
    x = (rng.normal(size=(n, 4)) + y[:, None]).astype(np.float32)
    return paper._Task(x, y, np.full(n, -1), **changes)


# ---- contours and the model of Figure 2


@given(st.floats(0.05, 1), st.floats(0.05, 1))
def test_f1_contour_inverts_scikit_learns_f1(precision, recall):
    f1 = 2 * precision * recall / (precision + recall)
    assert paper._f1_contour(recall, f1 * (1 - 1e-12)) == pytest.approx(precision, rel=1e-6)
    shares = np.array([recall * precision, recall * (1 - precision), precision * (1 - recall)])
    counts = np.rint(shares * 1e4).astype(int)  # tp, fp, fn
    y = np.repeat([1, 0, 1], counts)
    assert sk.f1_score(y, np.repeat([1, 1, 0], counts)) == pytest.approx(f1, abs=0.02)


@given(st.floats(0.1, 5), st.floats(0.02, 0.98), st.floats(0.02, 50))
@settings(deadline=None)
def test_best_threshold_of_the_normal_model_by_search(distance, prevalence, ratio):
    model = paper._NormalModel(distance, prevalence)
    best = model.best_threshold(ratio)

    def cost(t):
        c = model.counts(t)
        return c.fp + ratio * c.fn

    assert (cost(best) <= cost(best + np.linspace(-3, 3, 2001)) + 1e-12).all()


def test_counterexample_to_the_footnote_is_a_possible_model_with_one_cost():
    recall, precision, fpr = paper._convex_counterexample(ratio=2.0, level=0.9, prevalence=0.2)
    counts = BinaryCounts.from_rates(1, 0.2, fpr, 1 - recall)
    np.testing.assert_allclose(counts.precision, precision)
    np.testing.assert_allclose((counts.fp + 2 * counts.fn) / counts.p, 0.9)
    assert (np.diff(precision, 2) > 0).all()


@given(st.integers(0, 40), st.sampled_from([1, 2, 10]))
def test_family_of_table_4_in_exact_fractions(k, ratio):
    c = paper._family(BinaryCounts(tp=100, fp=60, fn=40, tn=900), ratio, k)
    tp, fp, fn = (Fraction(int(v)) for v in (c.tp, c.fp, c.fn))
    recall, precision = tp / (tp + fn), tp / (tp + fp)
    assert (1 / precision - 1) * recall + ratio * (1 - recall) == Fraction(60 + ratio * 40, 140)


# ---- the arithmetic of Table 6

three = st.sampled_from([0.1, 1.0, 10.0])


@given(st.integers(1, 999), st.integers(1, 999), three, st.floats(-1, 1), st.floats(-1, 1))
def test_score_interval_contains_every_pair_that_rounds_to_the_inputs(p, r, ratio, dp, dr):
    low, high = paper._score_interval(p / 1000, r / 1000, ratio)
    precision, recall = p / 1000 + 0.0005 * dp, r / 1000 + 0.0005 * dr
    score = (1 / precision - 1) * recall + ratio * (1 - recall)
    assert low - 1e-9 * high <= score <= high * (1 + 1e-9)


# ---- the study


def test_split_is_stratified_and_respects_roles():
    task = toy_task(1000, 0.1)
    part = paper._split(task, np.random.default_rng(3))
    assert np.bincount(3 * task.y + part).tolist() == [540, 180, 180, 60, 20, 20]
    role = np.where(np.arange(1000) < 100, -1, np.arange(1000) % 2)
    part = paper._split(task._replace(role=role), np.random.default_rng(3))
    assert set(part[role == 0]) == {0} and set(part[role == 1]) == {1, 2}
    assert np.bincount(part[role == 1]).tolist() == [0, 225, 225]


def test_training_sample_is_balanced_and_limited():
    task = toy_task(2000, 0.1)
    part = paper._split(task, np.random.default_rng(0))

    def sizes(task, **options):
        chosen = paper._training_sample(task, part, np.random.default_rng(0), **options)
        assert set(part[chosen]) == {0} and len(set(chosen)) == len(chosen)
        return np.bincount(task.y[chosen]).tolist()

    assert sizes(task) == [120, 120]
    assert sizes(task, most=50) == [25, 25]
    assert sizes(task._replace(share=0.01)) == [10, 10]


def test_weighted_part_has_the_prevalence_and_scikit_learns_precision():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(2, size=300), rng.integers(20, size=300) / 20
    part = paper._scored(y, scores, prevalence=0.01)
    for t in (0.2, 0.5, 0.9):
        expected = sk.precision_score(y, scores >= t, sample_weight=part.weight)
        assert paper._counts_at(part.curve, t).precision == pytest.approx(expected)
    np.testing.assert_allclose(part.curve.counts.prevalence, 0.01)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=4, max_size=40), three)
@settings(deadline=None)
def test_chosen_thresholds_beat_all_others(samples, ratio):
    y, scores = (np.array(v) for v in zip(*samples))
    if len(set(y)) < 2:
        return
    curve = threshold_counts(y, scores)
    f1_threshold, (threshold,) = paper._chosen_thresholds(curve, [ratio])

    def cost(t):
        return ((scores >= t) & (y == 0)).sum() + ratio * ((scores < t) & (y == 1)).sum()

    def f1(t):
        return sk.f1_score(y, scores >= t, zero_division=0)

    candidates = [np.inf, *np.unique(scores)]
    assert cost(threshold) == pytest.approx(min(map(cost, candidates)))
    assert f1(f1_threshold) == pytest.approx(max(map(f1, candidates)))


def test_run_rows_count_the_test_part_at_the_validation_thresholds():
    run = paper._train(toy_task(), seed=0, n_trees=20)
    rows = paper._run_rows(run, [0.1, 1.0, 10.0])
    y, scores = run.test.y, run.test.scores
    for k, ratio in enumerate([0.1, 1.0, 10.0]):
        flagged = scores >= rows["threshold"][1, k]
        assert rows["recall"][1, k] == pytest.approx(sk.recall_score(y, flagged))
        cost = [
            ((scores >= t) & (y == 0)).sum() + ratio * ((scores < t) & (y == 1)).sum()
            for t in (rows["threshold"][1, k], rows["F1 threshold"][1, k])
        ]
        assert rows["saving"][1, k] == pytest.approx(100 * (1 - cost[0] / cost[1]))
    assert (rows["saving"][0] >= 0).all()


def test_training_depends_on_the_seed_alone_and_validation_is_not_trained_on():
    task = toy_task(seed=1)
    first, again, other = (paper._train(task, s, n_trees=10) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.validation.scores, again.validation.scores)
    assert not np.array_equal(first.validation.scores, other.validation.scores)
    noise = task._replace(x=np.random.default_rng(0).normal(size=task.x.shape).astype(np.float32))
    runs = [paper._train(noise, s, n_trees=10) for s in range(8)]
    assert abs(np.mean([sk.roc_auc_score(r.test.y, r.test.scores) for r in runs]) - 0.5) < 0.1  # no leak


def test_movements_know_their_standard_error():
    ratios = [0.1, 1.0, 10.0]
    mean = pd.DataFrame({"precision": [0.9, 0.8, 0.5], "recall": [0.5, 0.6, 0.9]}, index=ratios)
    mean = mean.assign(**{"F1 precision": 0.8, "F1 recall": 0.61})
    error = pd.DataFrame({"precision": 0.01, "recall": 0.02, "F1 precision": 0, "F1 recall": 0}, index=ratios)
    down, up, near, far = paper._movements(mean, error)
    assert down.value == pytest.approx(0.1) and down.error == pytest.approx(0.02 * np.sqrt(2))
    assert near.value == pytest.approx(0.005 - 0.01) and far.value == pytest.approx(-0.05)
    assert up.value == pytest.approx(0.29)


def test_claims_7_notice_a_curve_of_another_shape():
    v = np.abs(paper._EXPONENTS) * 40 + np.arange(3)[:, None]
    (good,), (bad,) = (
        paper._claims_7({"KDD cup 99": np.stack([curve, v])}).values() for curve in (v, 80 - v)
    )
    assert all(m.value > 3 * m.error for m in good)
    assert all(m.value < -3 * m.error for m in bad)


def test_what_is_said_of_each_set_has_the_names_of_the_cells():
    found = paper._said("figure4", {"KDD cup 99": "abcd", "UNSW-NB15": "e"})
    assert found["UNSW-NB15/threshold falls as the ratio grows"] == "e" and len(found) == 5
    assert found["KDD cup 99/C_score rises towards threshold 1 the more the larger the ratio"] == "c"


def unsw_table(partitions):
    kinds = ("Normal", "Normal", "Backdoor", "Exploits", "Reconnaissance", "Generic", "DoS")
    rows = [(c, p) for p in partitions for c in kinds for _ in range(10)]
    table = pd.DataFrame(rows, columns=["attack_cat", "partition"])
    attack = (table["attack_cat"] != "Normal").astype(int)
    return table.assign(id=range(len(table)), proto=["tcp", "udp"] * (len(table) // 2), dur=0.5, label=attack)


def test_unsw_with_both_partitions_trains_on_the_larger():
    both, one = (paper._prepared("UNSW-NB15", unsw_table(p)) for p in (["small", "large"], ["small"]))
    assert both.x.shape == (100, 2) and np.bincount(both.y).tolist() == [
        40,
        60,
    ]  # Generic and DoS are left out
    part = paper._split(both, np.random.default_rng(0))
    assert set(part[both.role == 0]) == {0} and np.bincount(part[both.role == 1]).tolist() == [0, 25, 25]
    assert not both.remark and "one of the paper's two partitions" in one.remark and one.role == -1


# ---- items and data


@pytest.mark.skipif(not datasets.available("kdd"), reason="no KDD data")
def test_kdd_task_and_forests_do_not_depend_on_the_number_of_seeds(monkeypatch):
    task = paper._load_task("KDD cup 99")
    assert task.x.shape == (145585, 41) and np.bincount(task.y).tolist() == [87832, 57753]
    assert np.isfinite(task.x).all()
    monkeypatch.setitem(paper._SEEDS, "quick", 2)
    two = paper._study("KDD cup 99")
    monkeypatch.setitem(paper._SEEDS, "quick", 3)
    three = paper._study("KDD cup 99")
    pd.testing.assert_frame_equal(two, three.loc[two.index])
    direct = paper._train(task, [1, list(paper._SOURCES).index("KDD cup 99")], most=paper._MOST["quick"])
    np.testing.assert_array_equal(paper._runs("KDD cup 99")[1].validation.scores, direct.validation.scores)


@pytest.mark.skipif(not datasets.available("creditcard"), reason="no credit card data")
def test_creditcard_evaluation_has_the_prevalence_of_the_complete_file():
    task = paper._load_task("Credit card fraud")
    for part in paper._train(task, 0, n_trees=5):
        assert part.curve.counts.prevalence[0] == pytest.approx(492 / 284807, rel=0.05)
    assert task.x.shape[1] == 29
