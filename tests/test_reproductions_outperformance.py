"""Zhao et al.: what no row of the board can show of its blocks, against independent sources."""

from types import SimpleNamespace

import numpy as np
import pytest

sk = pytest.importorskip("sklearn.metrics")


from cost_eval.curves import sample_directed_binary_tree
from cost_eval.outperformance import outperformance
from cost_eval.reproduce import published
from cost_eval.reproductions import outperformance as paper


# ---- the published numbers


# ---- formulas


# ---- scores from published values


def test_rounding_holds_every_value():
    score = lambda v: outperformance("f_beta", v, 0.091)
    middle, off = paper._rounded(score, 0.408)
    inside = score(0.408 + np.random.default_rng(0).uniform(-0.0005, 0.0005, 500))
    assert (np.abs(inside - middle) <= off + 1e-12).all() and 0 < off < 0.001
    assert np.abs(inside - middle).max() > 0.9 * off


def test_step_sums_at_finite_depth_by_a_loop():
    values = ("pr", 0.354, 0.091), ("lift", 1.8, 0.3)
    found = paper._below(values, "step", 3, 200, 5)
    fpr, fnr = sample_directed_binary_tree(200, 3, np.random.default_rng(5))
    below = np.zeros((2, 200), bool)
    for g, (alpha, beta) in enumerate(zip(fpr, fnr)):
        for k, (curve, area, pi) in enumerate(values):
            share = pi * (1 - beta) + (1 - pi) * alpha
            heights, widths = (1 - beta[1:]) / share[1:], np.diff(share)
            if curve == "pr":
                heights, widths = pi * heights, -np.diff(beta)
            below[k, g] = (heights * widths).sum() < area
    np.testing.assert_array_equal(found, below)


# ---- splits and measures


def test_split_is_a_partition_with_the_given_sizes_and_prevalences():
    rng = np.random.default_rng(0)
    task = paper._Task(None, (rng.random(2000) < 0.3).astype(int), rng.random(2000) < 0.4, 1.0, 2)
    parts = paper._make_split(task, [200, 150, 300], [0.1, 0.2, 0.3], 7)
    assert sorted(np.concatenate(list(parts.values()))) == list(range(2000))
    assert [len(parts[i]) for i in range(3)] == [200, 150, 300]
    assert [task.y[parts[i]].sum() for i in range(3)] == [20, 30, 90]
    assert task.special[parts[1]].all() and not task.special[parts[0]].all()
    again = paper._make_split(task, [200, 150, 300], [0.1, 0.2, 0.3], 7)
    assert all((parts[k] == again[k]).all() for k in parts)


def test_measure_against_scikit_learn_with_ties():
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.2).astype(int)
    scores = np.round(rng.normal(size=3000) + 1.3 * y, 1)  # with ties
    best = sk.f1_score(y, scores >= paper._best_f1_cut(y, scores))
    assert best == pytest.approx(max(sk.f1_score(y, scores >= c) for c in np.unique(scores)))
    found, _ = paper._measure(y, scores, 0.8, 300)
    z = scores >= 0.8
    assert (found["f1"], found["MCC"]) == pytest.approx((sk.f1_score(y, z), sk.matthews_corrcoef(y, z)))
    assert found["AUC(PRC)"] == pytest.approx(sk.average_precision_score(y, scores), abs=0.02)
    fpr, recall, _ = sk.roc_curve(y, scores, drop_intermediate=False)
    p = y.mean()
    share = p * recall + (1 - p) * fpr
    at = np.interp(0.1, share, recall)
    assert found["Lift"] == pytest.approx(at / 0.1)
    assert found["Precision of lift"] == pytest.approx(at * p / 0.1)
    grid = np.linspace(0, 1, 200_001)[1:]
    lift_area = np.mean(np.interp(grid, share, recall) / grid)
    assert found["AUC(Lift)"] == pytest.approx(lift_area, abs=1e-3)
    assert found["NAUC(Lift)"] == pytest.approx(lift_area / (1 - np.log(p)), abs=1e-3)
    alpha = np.interp(0.9, recall, fpr)
    assert found["Precision of PRC"] == pytest.approx(0.9 * p / (0.9 * p + alpha * (1 - p)), abs=1e-6)


# two errors that no band over splits can show: a printed F1 of 1,000 positives has an error of .013
SPLITS = {
    "as it is": lambda parts: parts,
    "trained on a fifth": lambda parts: parts | {"train": parts["validation"], "validation": parts["train"]},
    "the threshold chosen on the first test set": lambda parts: parts | {"validation": parts[0]},
}


@pytest.mark.parametrize("planted", SPLITS)
def test_a_split_trains_on_four_fifths_of_the_rest_and_chooses_on_the_fifth(monkeypatch, planted):
    rng, n, fitted, measured = np.random.default_rng(0), 6000, [], []
    y = (rng.random(n) < 0.3).astype(int)
    x = np.column_stack([rng.normal(size=n) + y, np.arange(n)])
    model = SimpleNamespace(fit=lambda x, y: fitted.extend(x[:, 1].astype(int)),
                            predict_proba=lambda x: x[:, [1, 0]])

    def measure(y, scores, threshold, top):
        measured.append((scores, threshold))
        return {}, ()

    xgboost = SimpleNamespace(XGBClassifier=lambda **settings: model)
    task = paper._Task(x, y, rng.random(n) < 0.5, n / 253_680, 2)
    split = paper._make_split
    for name, stand_in in {"optional_import": lambda *a, **k: xgboost, "_load_task": lambda *a: task,
                           "_measure": measure, "_make_split": lambda *a: SPLITS[planted](split(*a))}.items():
        monkeypatch.setattr(paper, name, stand_in)
    sets = paper._fit_split.__wrapped__("heart", None, 0, 1.0, "small steps")
    (threshold,) = {values["threshold"] for values, _ in sets}
    printed = published("outperformance", "table5").set_index("cell")["published"]["threshold"]
    assert len(sets) == 3 and {t for _, t in measured} == {printed}
    tested = np.flatnonzero(np.isin(x[:, 0], np.concatenate([scores for scores, _ in measured])))
    rest = np.setdiff1d(np.arange(n), [*fitted, *tested])
    right = len(fitted) == pytest.approx(4 * len(rest), abs=5)
    assert (right and threshold == paper._best_f1_cut(y[rest], x[rest, 0])) == (planted == "as it is")


@pytest.mark.parametrize("known, p, n", [(np.inf, 0.1, 40_000), (5000, 0.15, 12_500)])
def test_sets_are_drawn_as_the_hypergeometric_law_says(known, p, n):
    "Without return; where 5,000 are known, each counts 2.5 times, and their share has its error."
    size = min(known, n)
    member = np.arange(2 * size) < size
    task = paper._Task(None, (np.arange(2 * size) < p * size).astype(int), member, size / n, 22)
    drawn = paper._drawn_prevalences(task, 1, 4000, n=3000)
    sd = np.sqrt(p * (1 - p) * (1 / known + (n - 4000) / (n - 1) / 4000))
    assert drawn.mean() == pytest.approx(p, abs=5 * sd / np.sqrt(3000))
    assert drawn.std() == pytest.approx(sd, rel=0.06)
