"""Marwah et al.: what no row of the board can show of its blocks, against independent sources."""

import numpy as np
import pytest

sk = pytest.importorskip("sklearn.metrics")

from cost_eval.confusion import BinaryCounts
from cost_eval.reproductions import cost_score as paper


def toy_task(n=600, prevalence=0.2, seed=0, **changes):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < prevalence * n).astype(int)
    x = (rng.normal(size=(n, 4)) + y[:, None]).astype(np.float32)
    return paper._Task(x, y, np.full(n, -1), **changes)


# ---- contours and the model of Figure 2


def test_counterexample_to_the_footnote_is_a_possible_model_with_one_cost():
    recall, precision, fpr = paper._convex_counterexample(ratio=2.0, level=0.9, prevalence=0.2)
    counts = BinaryCounts.from_rates(1, 0.2, fpr, 1 - recall)
    np.testing.assert_allclose(counts.precision, precision)
    np.testing.assert_allclose((counts.fp + 2 * counts.fn) / counts.p, 0.9)
    assert (np.diff(precision, 2) > 0).all()


# ---- the arithmetic of Table 6


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


def test_run_rows_count_the_test_part_at_the_validation_thresholds():
    run = paper._train(toy_task(), seed=0, n_trees=20)
    rows = paper._run_rows(run, [0.1, 1.0, 10.0])
    y, scores = run.test.y, run.test.scores
    for k, ratio in enumerate([0.1, 1.0, 10.0]):
        flagged = scores >= rows["threshold"][1, k]
        assert rows["recall"][1, k] == pytest.approx(sk.recall_score(y, flagged))
        cost = [((scores >= t) & (y == 0)).sum() + ratio * ((scores < t) & (y == 1)).sum()
                for t in (rows["threshold"][1, k], rows["F1 threshold"][1, k])]
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
