"""Lombardo et al.: the study without its published slips is the public function; one cell replayed."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pd = pytest.importorskip("pandas")
sk = pytest.importorskip("sklearn.metrics")

from cost_eval import datasets
from cost_eval.metric_study import STUDY_GRID, cost_correlation, rank_correlation
from cost_eval.metrics import METRICS
from cost_eval.reproductions import weighted_accuracy as paper

AT_HAND = datasets.available("telco") and datasets.available("weighted_accuracy_published")
with_data = pytest.mark.skipif(not AT_HAND, reason="no Telco data or no numbers of the authors")


# The published numbers

def test_the_authors_moments():
    found = paper._authors_moments()
    assert (found.mean, found.lower, found.upper) == pytest.approx((-.54595911, .00703672, .01026667))


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
    assert_array_equal(both["mean_x"], both["mean_y"])
    assert_allclose(both["std_x"], both["std_y"] * (3 / 2) ** .5, rtol=1e-12)  # of a sample; as published


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
