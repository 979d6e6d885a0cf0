"""Lombardo et al.: printed formulas against scikit-learn and definitions, and one cell replayed."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

pd = pytest.importorskip("pandas")
sk = pytest.importorskip("sklearn.metrics")

from cost_eval import datasets
from cost_eval.metric_study import STUDY_GRID, cost_correlation, rank_correlation
from cost_eval.metrics import METRICS
from cost_eval.reproductions import weighted_accuracy as paper

AT_HAND = datasets.available("telco") and datasets.available("weighted_accuracy_published")
with_data = pytest.mark.skipif(not AT_HAND, reason="no Telco data or no numbers of the authors")
cells = st.integers(1, 400)


# The published numbers

def test_the_authors_moments():
    found = paper._authors_moments()
    assert (found.mean, found.lower, found.upper) == pytest.approx((-.54595911, .00703672, .01026667))


# Printed formulas

@given(cells, cells, cells, cells)
@settings(max_examples=25, deadline=None)
def test_printed_standard_metrics_are_scikit_learns(tp, fp, fn, tn):
    y, d, w = [1, 0, 1, 0], [1, 1, 0, 0], [tp, fp, fn, tn]
    got = paper.printed(tp, fp, fn, tn)
    recall, specificity, precision, npv = tp / (tp + fn), tn / (tn + fp), tp / (tp + fp), tn / (tn + fn)
    by_rates = {"specificity": specificity, "NPV": npv, "informedness": recall + specificity - 1,
                "markedness": precision + npv - 1, "G-mean": (recall * specificity)**.5}
    score = {"accuracy": sk.accuracy_score, "recall": sk.recall_score, "precision": sk.precision_score,
             "F-measure": sk.f1_score, "MCC": sk.matthews_corrcoef,
             "kappa": sk.cohen_kappa_score, "ROC-AUC": sk.balanced_accuracy_score}
    expected = by_rates | {name: f(y, d, sample_weight=w) for name, f in score.items()}
    assert {name: got[name] for name in expected} == pytest.approx(expected, abs=1e-12)


@given(cells, cells, cells, cells)
@settings(max_examples=25, deadline=None)
def test_printed_recent_metrics_by_their_definitions(tp, fp, fn, tn):
    rows, columns, right = (tp + fn, fp + tn), (tp + fp, fn + tn), (tp, tn)
    expected = {"CBA": np.mean([v / max(r, c) for v, r, c in zip(right, rows, columns)]),
                "IAM": np.mean([(v - max(r - v, c - v)) / max(r, c)
                                for v, r, c in zip(right, rows, columns)]),
                "P4": stats.hmean([tp / (tp + fn), tn / (tn + fp), tp / (tp + fp), tn / (tn + fn)]),
                "B-ROC": (tp / (tp + fn) + tp / (tp + fp)) / 2}
    got = paper.printed(tp, fp, fn, tn)
    assert {name: got[name] for name in expected} == pytest.approx(expected, abs=1e-12)


@given(cells, cells, cells, cells, st.floats(.1, 10), st.floats(.1, 10), st.floats(0, 50))
@settings(max_examples=25, deadline=None)
def test_printed_costly_metrics_by_their_definitions(tp, fp, fn, tn, fn_cost, fp_cost, unavoidable):
    p, n = tp + fn, fp + tn
    most, error = fn_cost * p + fp_cost * n, (fp + fn) / (p + n)
    got = paper.printed(tp, fp, fn, tn, fn_cost, fp_cost, unavoidable)
    assert got["ACD"] == pytest.approx(np.hypot(error, (fn_cost * fn + fp_cost * fp + unavoidable) / most))
    assert got["MSU"] == pytest.approx((fn_cost * tp + fp_cost * tn) / most)
    assert got["WCA"] == pytest.approx((fn_cost * tp / p + fp_cost * tn / n) / (fn_cost + fp_cost))
    assert got["C-score"] * p * fp_cost == pytest.approx(fn_cost * fn + fp_cost * fp + unavoidable)
    s = n * fp_cost / (p * fn_cost)
    assert got["WRA"] == pytest.approx(4 * s / (1 + s)**2 * (tp / p - fp / n))


@given(cells, cells, cells, cells, st.floats(1.5, 5), st.floats(1.5, 5))
@settings(max_examples=25, deadline=None)
def test_printed_h_by_quadrature(tp, fp, fn, tn, a, b):
    u = stats.beta(a, b).pdf
    top, bottom = (integrate.quad(lambda c: u(c) * (c * x + (1 - c) * y), 0, 1)[0]
                   for x, y in ((fp, fn), (fp + tn, tp + fn)))
    assert paper.printed_h(tp, fp, fn, tn, a, b) == pytest.approx(1 - top / bottom, abs=1e-5)


# The study

def test_revenues_without_data_are_labelled_synthetic(no_data, tmp_path):
    revenues, everyone, source = paper.study_revenues(60, tmp_path)
    assert "SYNTHETIC" in source and len(set(revenues)) == 60 and set(revenues) <= set(everyone)
    assert len(everyone) == 7043 and (everyone > 0).all()
    assert (everyone.mean(), everyone.std()) == pytest.approx((64.75, 30.1), abs=.05)


@with_data
def test_revenues_are_telco_charges():
    revenues, everyone, source = paper.study_revenues(200)
    assert source == "Telco customers" and np.array_equal(everyone, datasets.load("telco")["MonthlyCharges"])
    assert revenues.mean() == pytest.approx(63.626, abs=5e-4) and len(revenues) == 200


@pytest.mark.parametrize("weighted", [None, "best"])
def test_the_mended_study_is_the_public_function(weighted):
    "One implementation: what the figures are made with, without the published slips, is what users call."
    revenues, everyone, _ = paper.study_revenues(200)
    options = dict(population=everyone, metrics=["mcc", "expected_weighted_accuracy"], n_samples=3, rng=0)
    theirs = cost_correlation(revenues, STUDY_GRID, STUDY_GRID, weighted=weighted, **options)
    both = theirs.merge(paper._study(weighted, False, n_samples=3), on=["metric", "prevalence", "weight"])
    assert len(both) == 242
    assert_array_equal(both[["mean_x", "std_x"]], both[["mean_y", "std_y"]])


def test_published_forms_are_the_metrics_but_for_ties():
    p, n = 12, 17
    tp, fp = np.meshgrid(np.arange(p + 1.), np.arange(n + 1.), indexing="ij")
    c = paper.BinaryCounts(tp, fp, p - tp, n - fp)
    for name in ("precision", "npv", "markedness", "b_roc", "p4", "mcc"):
        theirs, ours = paper._with_broken_ties(name, c, .5), METRICS[name](c, undefined=np.nan)
        defined = np.isfinite(ours)
        assert_allclose(theirs[defined], ours[defined], atol=1e-6)
        ranks = paper._published_form(name)(c, np.eye(2))
        assert rank_correlation(ranks.ravel(), theirs.ravel()) == pytest.approx(1) and ranks.dtype.kind == "i"
    assert_allclose(paper._beta_sums("h_informed", c, 3., 4.), METRICS["h_measure"](c, a=3., b=4.), atol=1e-3)
    ratio = paper._beta_sums("expected_weighted_accuracy", c, 3.,
                             4.)[1:] / METRICS["expected_weighted_accuracy"](c, a=4., b=3.)[1:]
    # c has a and b in this order, w = 1 - c the other way round
    assert_allclose(ratio, ratio[0, 0], rtol=2e-3)
    assert paper._published_form("accuracy") == "accuracy"


@with_data
def test_first_cell_replayed_with_the_authors_random_numbers(monkeypatch):
    "To the sixth digit, in the first cell of Figure 1; the whole replay takes minutes."
    monkeypatch.setattr(paper, "STUDY_GRID", (.01,))
    got = paper._replay.__wrapped__(None)
    monkeypatch.undo()
    table = paper._published_cells("fig1").query("prevalence == .01 and weight == .01").set_index("metric")[
        "published"]
    off = {m: abs(got["fig1", m, .01, .01][0] - table[m]) for m in paper.NAMES if m not in paper._SUMS}
    assert len(off) == 20 and max(off.values()) < 5.1e-7
    for m in paper._SUMS:  # metrics whose ties the published computation breaks by rounding
        ours, low, high = got["fig1", m, .01, .01]
        assert low - 1e-6 <= table[m] <= high + 1e-6 and low <= ours <= high < low + .01
