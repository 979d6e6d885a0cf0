"""Marwah et al.'s tables and figures: each building block against an independent source, and what happens without data."""
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
sk = pytest.importorskip("sklearn.metrics")
pytest.importorskip("matplotlib").use("Agg")

from cost_eval import datasets
from cost_eval.confusion import BinaryCounts, threshold_counts
from cost_eval.reproduce import ITEMS, published, run_item
from cost_eval.reproductions import cost_score as paper

ALL = [name for name in ITEMS if name.startswith("cost_score/")]
NEED_NONE = ["figure1", "figure2", "table4", "table6", "sentences"]


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("COST_EVAL_DATA", str(tmp_path))
    monkeypatch.setenv("COST_EVAL_CACHE", str(tmp_path / "cache"))


def toy_task(n=600, prevalence=.2, seed=0, **changes):
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < prevalence * n).astype(int)
    x = (rng.normal(size=(n, 4)) + y[:, None]).astype(np.float32)
    return paper.Task(x, y, np.full(n, -1), **changes)


# The published numbers

def test_published_table_6_is_complete_and_in_range():
    rows = paper.published_table_6()
    assert rows.shape == (15, 9) and rows.notna().all().all()
    assert rows[["F1 precision", "F1 recall", "precision", "recall", "threshold"]].stack().between(0, 1).all()
    assert (rows["C_score"] <= rows["F1 C_score"]).all()


@pytest.mark.parametrize("item, cells", [("table6", 105), ("table5", 24), ("figure2", 16)])
def test_published_cells_are_distinct(item, cells):
    cell = published("cost_score", item)["cell"]
    assert len(cell) == len(set(cell)) == cells


def test_every_published_item_is_registered_and_the_other_way_round():
    assert {name.partition("/")[2] for name in ALL} == set(published("cost_score")["item"]) | {"table6-study"}  # the study is held against the same cells


# Contours and the model of Figure 2

@given(st.floats(.05, 1), st.floats(.05, 1))
def test_f1_contour_inverts_scikit_learns_f1(precision, recall):
    f1 = 2 * precision * recall / (precision + recall)
    assert paper.f1_contour(recall, f1 * (1 - 1e-12)) == pytest.approx(precision, rel=1e-6)
    counts = np.rint(np.array([recall * precision, recall * (1 - precision), precision * (1 - recall)]) * 1e4).astype(int)  # tp, fp, fn
    y = np.repeat([1, 0, 1], counts)
    assert sk.f1_score(y, np.repeat([1, 1, 0], counts)) == pytest.approx(f1, abs=.02)


@given(st.floats(.1, 5), st.floats(.02, .98), st.floats(.02, 50))
@settings(deadline=None)
def test_best_threshold_of_the_normal_model_by_search(distance, prevalence, ratio):
    model = paper.NormalModel(distance, prevalence)
    best = model.best_threshold(ratio)
    def cost(t):
        c = model.counts(t)
        return c.fp + ratio * c.fn
    assert (cost(best) <= cost(best + np.linspace(-3, 3, 2001)) + 1e-12).all()


@given(st.floats(1, 4), st.floats(.01, .6))
@settings(deadline=None, max_examples=25)
def test_f1_of_calibrated_scores_implies_the_cost_ratio(distance, prevalence):
    "At the largest F1 the posterior, computed here from the densities, is half of it; there the cost score saves nothing."
    model = paper.NormalModel(distance, prevalence)
    best, saved = paper.model_savings(model, np.array([.1, 10.]))
    ratio = paper.implied_cost_ratio(best)
    t = model.best_threshold(ratio)
    odds = prevalence / (1 - prevalence) * np.exp(distance * t - distance**2 / 2)
    assert odds / (1 + odds) == pytest.approx(best / 2, abs=1e-9)
    c = model.counts(t)
    assert 2 * c.tp / (2 * c.tp + c.fp + c.fn) == pytest.approx(best, abs=1e-6)
    assert paper.model_savings(model, np.array([ratio]))[1] == pytest.approx(0, abs=1e-3) and (saved >= 0).all()


def test_counterexample_to_the_footnote_is_a_possible_model_with_one_cost():
    recall, precision, fpr = paper.convex_counterexample(ratio=2., level=.9, prevalence=.2)
    counts = BinaryCounts.from_rates(1, .2, fpr, 1 - recall)
    np.testing.assert_allclose(counts.precision, precision)
    np.testing.assert_allclose((counts.fp + 2 * counts.fn) / counts.p, .9)
    assert (np.diff(precision, 2) > 0).all()


@given(st.integers(0, 40), st.sampled_from([1, 2, 10]))
def test_family_of_table_4_in_exact_fractions(k, ratio):
    start = BinaryCounts(tp=100, fp=60, fn=40, tn=900)
    c = paper.family(start, ratio, k)
    tp, fp, fn = (Fraction(int(v)) for v in (c.tp, c.fp, c.fn))
    recall, precision = tp / (tp + fn), tp / (tp + fp)
    assert (1 / precision - 1) * recall + ratio * (1 - recall) == Fraction(60 + ratio * 40, 140)


# The arithmetic of Table 6

@given(st.integers(1, 999), st.integers(1, 999), st.sampled_from([.1, 1., 10.]), st.floats(-1, 1), st.floats(-1, 1))
def test_score_interval_contains_every_pair_that_rounds_to_the_inputs(p, r, ratio, dp, dr):
    low, high = paper.score_interval(p / 1000, r / 1000, ratio)
    precision, recall = p / 1000 + .0005 * dp, r / 1000 + .0005 * dr
    assert low - 1e-9 * high <= (1 / precision - 1) * recall + ratio * (1 - recall) <= high * (1 + 1e-9)


def test_only_the_known_slips_are_off():
    result = run_item(ITEMS["cost_score/table6"])
    off = result.table["cell"][[a is False for a in result.table["agrees"]]]
    assert set(off) == {"UNSW-NB15/10/saving", "Phishing data/10/F1 C_score"} and result.verdict == "explained"


@pytest.mark.parametrize("cell, change", [("KDD cup 99/10/C_score", .02), ("Internal data/0.1/saving", 2.), ("Credit card fraud/1/F1 C_score", .01)])
def test_a_slip_anywhere_else_would_be_found(monkeypatch, cell, change):
    "A wrong digit put into a published cell makes the item differ: the tolerance is not so wide that everything fits."
    def altered(name, item=None):
        table = published(name, item)
        table.loc[table["cell"] == cell, "published"] += change
        return table
    monkeypatch.setattr(paper, "published", altered)
    assert run_item(ITEMS["cost_score/table6"]).verdict == "differs"


@given(st.integers(1, 400), st.integers(0, 400), st.integers(0, 400), st.integers(0, 3000))
@settings(deadline=None, max_examples=40)
def test_numbers_of_real_counts_fit_together(tp, fp, fn, _):
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    index = pd.MultiIndex.from_product([["made"], [.1, 1., 10.]])
    rows = pd.DataFrame({"F1 precision": round(precision, 3), "F1 recall": round(recall, 3),
                         "F1 C_score": [round((fp + r * fn) / (tp + fn), 3) for r in (.1, 1., 10.)]}, index=index)
    if precision < .001 or recall < .001: return  # rounds to 0
    assert paper.fits_together(rows, 1 + 1e-6)
    wrong = rows.assign(**{"F1 C_score": rows["F1 C_score"] + [0, .1, 0]})
    assert not paper.fits_together(wrong)


def test_whole_counts_finds_the_counts_behind_rounded_rates():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(5, 120))
        tp = rng.integers(1, n + 1, 4)
        fp = np.array([rng.integers(0, t + 1) for t in tp])
        precision, recall = np.round(tp / (tp + fp), 3), np.round(tp / n, 3)
        hits, alarms = paper.whole_counts(precision, recall, n)
        np.testing.assert_allclose(hits, tp)  # n < 500: a recall of three digits has one count
        np.testing.assert_allclose(hits / (hits + alarms), precision, atol=.00051)


def test_frauds_in_the_published_credit_card_rows_by_brute_force():
    precision, recall = paper.fraud_points(paper.published_table_6())
    def fits(n):
        return all(any(abs(tp / n - r) <= .0005 + 1e-9 and any(abs(tp / (tp + fp) - p) <= .0005 + 1e-9 for fp in range(n + 1)) for tp in range(1, n + 1))
                   for p, r in zip(precision, recall))
    assert [n for n in range(1, 130) if fits(n)] == [96] == paper.possible_positives(precision, recall, 130)


def test_nested_costs_is_a_case_bootstrap():
    low, high = BinaryCounts(tp=8, fp=5, fn=2, tn=15), BinaryCounts(tp=5, fp=1, fn=5, tn=19)
    cost_low = np.r_[np.zeros(8), np.full(2, 3.), np.ones(5), np.zeros(15)]
    cost_high = np.r_[np.zeros(5), np.full(5, 3.), np.ones(1), np.zeros(19)]
    rng = np.random.default_rng(0)
    cases = rng.integers(30, size=(20_000, 30))
    for got, cost in zip(paper.nested_costs(low, high, 3, rng=1), (cost_low, cost_high)):
        direct = cost[cases].sum(axis=1)
        assert got.mean() == pytest.approx(direct.mean(), abs=.15) and got.std() == pytest.approx(direct.std(), rel=.03)
    both = np.corrcoef(*paper.nested_costs(low, high, 3, rng=1))[0, 1]
    assert both == pytest.approx(np.corrcoef(cost_low[cases].sum(1), cost_high[cases].sum(1))[0, 1], abs=.03)


def test_against_doing_nothing_uses_the_cheaper_of_nobody_and_everybody():
    rows = paper.published_table_6().loc[["Internal data"]]
    ladder = paper.against_doing_nothing(rows, {"Internal data": .2})
    assert ladder["no model"].tolist() == pytest.approx([.1, 1, 4])
    assert ladder["saving against the better of both, %"].tolist() == pytest.approx([100 * (1 - .084 / .1), 100 * (1 - .764 / .923), 100 * (1 - 3.289 / 4)])


# The study

def test_split_is_stratified_and_respects_roles():
    task = toy_task(1000, .1)
    part = paper.split(task, np.random.default_rng(3))
    assert np.bincount(3 * task.y + part).tolist() == [540, 180, 180, 60, 20, 20]
    role = np.where(np.arange(1000) < 100, -1, np.arange(1000) % 2)
    part = paper.split(task._replace(role=role), np.random.default_rng(3))
    assert set(part[role == 0]) == {0} and set(part[role == 1]) == {1, 2}
    assert np.bincount(part[role == 1]).tolist() == [0, 225, 225]


@pytest.mark.parametrize("balanced, sizes", [(True, [120, 120]), (False, [1080, 120])])
def test_training_sample(balanced, sizes):
    task = toy_task(2000, .1)
    part = paper.split(task, np.random.default_rng(0))
    chosen = paper.training_sample(task, part, np.random.default_rng(0), balanced)
    assert np.bincount(task.y[chosen]).tolist() == sizes and set(part[chosen]) == {0} and len(set(chosen)) == sum(sizes)
    small = paper.training_sample(task._replace(share=.01), part, np.random.default_rng(0), balanced)
    assert len(small) == 20 and np.bincount(task.y[small]).tolist() == ([10, 10] if balanced else [18, 2])


def test_weighted_part_has_the_prevalence_and_scikit_learns_precision():
    rng = np.random.default_rng(0)
    y, scores = rng.integers(2, size=300), rng.integers(20, size=300) / 20
    part = paper.scored(y, scores, prevalence=.01)
    for t in (.2, .5, .9):
        assert paper.counts_at(part.curve, t).precision == pytest.approx(sk.precision_score(y, scores >= t, sample_weight=part.weight))
    np.testing.assert_allclose(part.curve.counts.prevalence, .01)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=4, max_size=40), st.sampled_from([.1, 1., 10.]))
@settings(deadline=None)
def test_chosen_thresholds_beat_all_others(samples, ratio):
    y, scores = (np.array(v) for v in zip(*samples))
    if len(set(y)) < 2: return
    curve = threshold_counts(y, scores)
    f1_threshold, (threshold,) = paper.chosen_thresholds(curve, [ratio])
    cost = lambda t: ((scores >= t) & (y == 0)).sum() + ratio * ((scores < t) & (y == 1)).sum()
    f1 = lambda t: sk.f1_score(y, scores >= t, zero_division=0)
    candidates = [np.inf, *np.unique(scores)]
    assert cost(threshold) == pytest.approx(min(map(cost, candidates)))
    assert f1(f1_threshold) == pytest.approx(max(map(f1, candidates)))


def test_run_rows_count_the_test_part_at_the_validation_thresholds():
    run = paper.train(toy_task(), seed=0, n_trees=20)
    rows = paper.run_rows(run, [.1, 1., 10.])
    for k, ratio in enumerate([.1, 1., 10.]):
        flagged = run.test.scores >= rows["threshold"][1, k]
        assert rows["recall"][1, k] == pytest.approx(sk.recall_score(run.test.y, flagged))
        cost = lambda t: ((run.test.scores >= t) & (run.test.y == 0)).sum() + ratio * ((run.test.scores < t) & (run.test.y == 1)).sum()
        assert rows["saving"][1, k] == pytest.approx(100 * (1 - cost(rows["threshold"][1, k]) / cost(rows["F1 threshold"][1, k])))
    assert (rows["saving"][0] >= 0).all()


def test_training_depends_on_the_seed_alone_and_validation_is_not_trained_on():
    task = toy_task(seed=1)
    first, again, other = (paper.train(task, s, n_trees=10) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.validation.scores, again.validation.scores)
    assert not np.array_equal(first.validation.scores, other.validation.scores)
    noise = task._replace(x=np.random.default_rng(0).normal(size=task.x.shape).astype(np.float32))
    auc = [sk.roc_auc_score(r.test.y, r.test.scores) for r in (paper.train(noise, s, n_trees=10) for s in range(8))]
    assert abs(np.mean(auc) - .5) < .1  # nothing to learn: a leak would show


def test_one_run_error_is_a_prediction_interval():
    rng = np.random.default_rng(0)
    sample, other = rng.normal(3, 2, size=(4000, 4)), rng.normal(3, 2, size=4000)
    inside = np.abs(other - sample.mean(axis=1)) <= [paper.one_run_error(s) for s in sample]
    assert np.mean(inside) == pytest.approx(.95, abs=.012)


def test_statements_7_notice_a_curve_of_another_shape():
    v = np.abs(paper.EXPONENTS) * 40
    good = paper.statements_7({"KDD cup 99": np.stack([v, v])[:, None]})
    bad = paper.statements_7({"KDD cup 99": np.stack([80 - v, v])[:, None]})
    assert all(good.values()) and not any(bad.values())


def unsw_table(partitions):
    rows = [(c, p) for p in partitions for c in ("Normal", "Normal", "Backdoor", "Exploits", "Reconnaissance", "Generic", "DoS") for _ in range(10)]
    table = pd.DataFrame(rows, columns=["attack_cat", "partition"])
    return table.assign(id=range(len(table)), proto=["tcp", "udp"] * (len(table) // 2), dur=.5, label=(table["attack_cat"] != "Normal").astype(int))


def test_unsw_with_both_partitions_trains_on_the_larger():
    both, one = paper._unsw_task(unsw_table(["small", "large"])), paper._unsw_task(unsw_table(["small"]))
    assert both.x.shape == (100, 2) and np.bincount(both.y).tolist() == [40, 60]  # Generic and DoS are left out
    part = paper.split(both, np.random.default_rng(0))
    assert set(part[both.role == 0]) == {0} and np.bincount(part[both.role == 1]).tolist() == [0, 25, 25]
    assert not both.remark and "one of the paper's two partitions" in one.remark and set(one.role) == {-1}


def card_table(n_uniform, n_early):
    table = pd.DataFrame({"Class": [1] * 10 + [0] * (n_uniform + n_early), "sample": ["all"] * (10 + n_uniform) + ["early"] * n_early})
    return table.assign(Time=1, weight=1., Amount=2.5, **{f"V{k}": .1 for k in range(1, 29)})


def test_complete_credit_card_file_is_used_as_it_is(monkeypatch):
    monkeypatch.setattr(datasets, "GENUINE", 200)
    whole, part = paper._creditcard_task(card_table(200, 0)), paper._creditcard_task(card_table(50, 30))
    assert set(whole.role) == {-1} and whole.prevalence is None and not whole.remark and whole.x.shape == (210, 29)
    assert np.bincount(part.role[part.y == 0]).tolist() == [30, 50] and part.prevalence == pytest.approx(492 / 284807)
    counted = paper._table_5_creditcard(card_table(200, 0))
    assert (counted["class 0"], counted["class 1"], counted["features"], counted["transactions"]) == (200, 10, 29, 210)
    assert "class 0" not in paper._table_5_creditcard(card_table(50, 30))


def test_an_off_cell_of_kdd_has_a_cause_only_if_the_other_sampling_reaches_it(monkeypatch):
    rows = {"F1 threshold": [.4, .42, .38, .41] * 2}
    index = pd.MultiIndex.from_product([("validation", "test"), range(4), (1.,)], names=["part", "seed", "cost ratio"])
    table = pd.DataFrame(rows | {c: .5 for c in (*paper.ONCE[1:], *paper.EACH)}, index=index)
    monkeypatch.setattr(paper, "study", lambda *_, balanced: None if balanced else table)
    cells = {"KDD cup 99/F1 threshold": .41, "KDD cup 99/1/recall": .9, "KDD cup 99/F1 flat in the middle": 1.}
    assert list(paper._kdd_cause(cells, "quick", None)) == ["KDD cup 99/F1 threshold"]


# Items

@pytest.mark.parametrize("item", NEED_NONE)
def test_items_that_need_no_data_run_without(no_data, item):
    assert run_item(ITEMS[f"cost_score/{item}"]).verdict in ("reproduced", "explained")


@pytest.mark.parametrize("item", sorted({name.partition("/")[2] for name in ALL} - {*NEED_NONE, "table5"}))
def test_without_data_the_rest_names_the_command(no_data, item):
    result = run_item(ITEMS[f"cost_score/{item}"])
    assert result.verdict == "needs data" and "cost-eval data fetch" in result.note and "unsw" in result.note


def test_table_5_without_data_still_checks_the_paper_against_itself(no_data):
    result = run_item(ITEMS["cost_score/table5"])
    note = result.table.set_index("cell")["note"]
    assert result.verdict == "explained" and "cost-eval data fetch kdd" in note["KDD cup 99/class 0"]
    assert result.count(False) == 3


@pytest.mark.skipif(not datasets.available("kdd"), reason="no KDD data")
def test_kdd_task_and_forests_do_not_depend_on_the_number_of_seeds():
    task = paper.load_task("KDD cup 99")
    assert task.x.shape == (145585, 41) and np.bincount(task.y).tolist() == [87832, 57753] and np.isfinite(task.x).all()
    two, three = paper.study("KDD cup 99", 2), paper.study("KDD cup 99", 3)
    pd.testing.assert_frame_equal(two, three.loc[two.index])
    direct = paper.train(task, [1, list(paper.SOURCES).index("KDD cup 99")])
    np.testing.assert_array_equal(paper.runs("KDD cup 99", 2)[1].validation.scores, direct.validation.scores)


@pytest.mark.skipif(not datasets.available("creditcard"), reason="no credit card data")
def test_creditcard_evaluation_has_the_prevalence_of_the_complete_file():
    task = paper.load_task("Credit card fraud")
    run = paper.train(task, 0, n_trees=5)
    for part in run:
        assert part.curve.counts.prevalence[0] == pytest.approx(492 / 284807, rel=.05)
    assert task.x.shape[1] == 29
