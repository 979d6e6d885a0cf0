"""Tables and figures of Zhao et al.: building blocks against independent sources, and what happens without data or xgboost."""
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
sk = pytest.importorskip("sklearn.metrics")
pytest.importorskip("matplotlib").use("Agg")

from cost_eval import datasets
from cost_eval.confusion import BinaryCounts
from cost_eval.outperformance import outperformance, outperformance_curve_auc, sample_directed_binary_tree
from cost_eval.reproduce import ITEMS, published, run_item, verdict
from cost_eval.reproductions import outperformance as paper

WITHOUT_DATA = ["table2", "table3", "figure1", "figure2", "figure3", "table5", "table6", "table7", "table8", "table9"]
TRAINED = ["table5-heart", "table6-heart", "table8-heart", "table5-loan", "table7-loan", "table9-loan", "figure4", "figure5", "figure6", "figure7"]


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    monkeypatch.setenv("COST_EVAL_DATA", str(tmp_path))
    monkeypatch.setenv("COST_EVAL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def small_data(monkeypatch):
    "Random stand-ins of both data sets, a hundredth in size, with the columns that matter."
    def table(name, *, data_dir=None):
        rng, n = np.random.default_rng(3), 4000
        x = rng.normal(size=n)
        y = (rng.random(n) < 1 / (1 + np.exp(2.2 - x))).astype(int)
        noise = rng.normal(size=n)
        if name == "heart":
            return pd.DataFrame({"HeartDiseaseorAttack": y, "Age": rng.integers(1, 14, n), "BMI": x, "noise": noise})
        return pd.DataFrame({"Income": rng.integers(15_000, 150_000, n), "score": x, "noise": noise,
                             "kind": rng.choice(list("ab"), n), "Default": y})
    monkeypatch.setattr(paper.datasets, "load", table)
    monkeypatch.setitem(paper.PAPER_SIZES, "heart", 253_680 // 2)
    for cached in (paper.load_task, paper.train): cached.cache_clear()
    yield
    for cached in (paper.load_task, paper.train): cached.cache_clear()


def scored(n=3000, seed=0, prevalence=.2):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < prevalence).astype(int)
    return y, np.round(rng.normal(size=n) + 1.3 * y, 1)  # with ties


# The published numbers

def test_transcription_is_complete_and_has_three_decimals():
    sizes = published("outperformance").groupby("item").size().to_dict()
    assert sizes == {"table2": 4, "table3": 12, "figure1": 4, "figure2": 2, "figure3": 2, "table4": 12, "section4": 10,
                     "table5": 25, "table6": 12, "table7": 12, "table8": 18, "table9": 18}
    for item in ("table5", "table6", "table7", "table8", "table9"):
        rows = published("outperformance", item)
        rows = rows[rows["cell"] != "threshold"]
        assert (rows["decimals"] == 3).all() and rows["cell"].is_unique
        assert rows["published"][rows["cell"].str.contains("OPS")].between(.7, .95).all()


@pytest.mark.parametrize("item", ["table8", "table9"])
def test_transcribed_lift_precision_and_areas_hang_together(item):
    "A mistyped digit would break one of two identities of the paper's own numbers."
    value, sets = paper.numbers(item), paper.numbers("table4")
    names = [n for n in paper.SET_NAMES if f"{n}/Lift" in value]
    assert len(names) == 3
    for name in names:
        pi = sets[f"{name}/Prevalence"]
        assert value[f"{name}/Lift"] * pi == pytest.approx(value[f"{name}/Precision"], abs=.0005 * (1 + value[f"{name}/Lift"]))
        assert value[f"{name}/NAUC(Lift)"] * (1 - np.log(pi)) == pytest.approx(value[f"{name}/AUC(Lift)"], abs=.003)


# Formulas

def test_table_2_symbolically():
    sympy = pytest.importorskip("sympy")
    a, b, p = sympy.symbols("a b p", positive=True)
    tp, fp, fn, tn = p * (1 - b), (1 - p) * a, p * b, (1 - p) * (1 - a)
    right = (1 - a - b)**2 / ((1 - a + p / (1 - p) * b) * (1 - b + (1 - p) / p * a))
    printed = (1 - a - b)**2 / ((1 - a + p / (1 - p) * b) * (1 - b + p / (1 - p) * a))
    counts = (tp * tn - fp * fn)**2 / ((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    assert sympy.simplify(counts - right) == 0
    assert sympy.simplify(counts - printed) != 0
    assert sympy.simplify(2 * tp / (2 * tp + fp + fn) - 2 * p * (1 - b) / (p * (2 - b) + (1 - p) * a)) == 0


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=8, max_size=60))
def test_count_forms_are_scikit_learns(pairs):
    y, z = (np.array(v, int) for v in zip(*(pairs + [(True, True), (True, False), (False, True), (False, False)])))
    counts = BinaryCounts.from_labels(y, z)
    forms = paper.count_forms(counts)
    expected = {"Recall": sk.recall_score(y, z), "Precision": sk.precision_score(y, z), "f1_score": sk.f1_score(y, z), "MCC": sk.matthews_corrcoef(y, z)}
    assert {k: float(v) for k, v in forms.items()} == pytest.approx(expected)
    rates = paper.rate_forms(counts.fpr, counts.fnr, counts.prevalence)
    assert {k: float(rates[k]) for k in ("Recall", "Precision", "f1_score")} == pytest.approx({k: expected[k] for k in ("Recall", "Precision", "f1_score")})


def test_ideal_areas_by_numerical_integration():
    integrate = pytest.importorskip("scipy.integrate")
    for pi in (.05, .3, .8):
        lift = integrate.quad(lambda q: min(q / pi, 1) / q, 0, 1, points=[pi])[0]
        gain = integrate.quad(lambda q: min(q / pi, 1), 0, 1, points=[pi])[0]
        printed = paper.ideal_areas_printed(pi)
        assert (printed["Lift Curve"], printed["Gain Curve"]) == pytest.approx((lift, gain), abs=1e-6)


def test_equation_7_is_the_share_of_random_points():
    a, b = np.random.default_rng(1).random((2, 200_000))
    for pi, mu in ((.1, .15), (.1, .6), (.5, .6), (.8, .95)):
        f1 = 2 * pi * (1 - b) / (pi * (2 - b) + (1 - pi) * a)
        assert float(paper.f1_score_printed(mu, pi)) == pytest.approx(np.mean(f1 < mu), abs=.004)
    assert paper.f1_score_printed([0, 1], .3) == pytest.approx([0, 1])


# Scores from published values

def test_rounded_range_holds_every_value_in_the_box():
    middle, off = paper.rounded_range(lambda v, p: outperformance("f_beta", v, p), .408, .091)
    rng = np.random.default_rng(0)
    inside = outperformance("f_beta", .408 + rng.uniform(-.0005, .0005, 500), .091 + rng.uniform(-.0005, .0005, 500))
    assert (np.abs(inside - middle) <= off + 1e-12).all() and off < .002
    assert np.abs(inside - middle).max() > .5 * off


def test_step_sums_at_finite_depth_by_a_loop():
    values = [("pr", .354, .091), ("lift", 1.8, .3)]
    found = paper.tree_scores(values, 3, ("step",), n_curves=200, rng=5)["step"]
    fpr, fnr = sample_directed_binary_tree(200, 3, np.random.default_rng(5))
    below = np.zeros(2)
    for alpha, beta in zip(fpr, fnr):
        for k, (curve, area, pi) in enumerate(values):
            total = 0
            for j in range(1, len(alpha)):
                share = pi * (1 - beta[j]) + (1 - pi) * alpha[j]
                before = pi * (1 - beta[j - 1]) + (1 - pi) * alpha[j - 1]
                total += pi * (1 - beta[j]) / share * (beta[j - 1] - beta[j]) if curve == "pr" else (1 - beta[j]) / share * (share - before)
            below[k] += total < area
    assert found == pytest.approx(below / 200)


def test_published_scores_of_areas_are_off_as_step_sums_are():
    "Paired on one draw, the difference between step sums and exact areas has little noise."
    areas = paper.published_areas()
    assert len(areas) == 12
    drawn = paper.tree_scores(list(areas), 9, ("step", "exact"), n_curves=4096, rng=8)
    off = np.array([score - outperformance_curve_auc(*key) for key, score in areas.items()])
    assert (off[:6] < 0).all() and (off[6:] > 0).all()
    assert np.abs(drawn["step"] - drawn["exact"] - off).max() < .005 < np.abs(off).max()


def test_interchange_is_found_only_where_there_is_one():
    ours, errors, rows = paper.recompute("table7")
    first, second = paper.INTERCHANGED
    assert set(paper.interchanged(rows, ours, errors, first, second)) == {first, second}
    assert paper.interchanged(rows, ours, errors, "Loan General/OPS(AUC)", second) == {}
    straight = rows.assign(published=[{first: .813, second: .784}.get(c, v) for c, v in zip(rows["cell"], rows["published"])])
    assert paper.interchanged(straight, ours, errors, first, second) == {}


def test_a_wrong_published_score_is_not_explained_away():
    ours, errors, rows = paper.recompute("table8")
    wrong = rows.assign(published=rows["published"].where(rows["cell"] != "Heart Elder/OPS(AUC)", .87).where(rows["cell"] != "Heart Elder/OPS(Lift)", .80))
    notes = paper.score_notes("table8", wrong, ours, errors)
    assert "Heart Elder/OPS(AUC)" not in notes and "Heart Elder/OPS(Lift)" not in notes
    assert verdict(paper.compare_within(wrong, ours, errors, "rounded inputs", notes)) == "differs"


# Splits, measures, tolerances

def test_split_is_a_partition_with_the_given_sizes_and_prevalences():
    rng = np.random.default_rng(0)
    task = paper.Task(np.zeros((2000, 1)), (rng.random(2000) < .3).astype(int), rng.random(2000) < .4, 1., 2)
    parts = paper.make_split(task, [200, 150, 300], [.1, .2, .3], 7)
    assert sorted(np.concatenate(list(parts.values()))) == list(range(2000))
    assert [len(parts[i]) for i in range(3)] == [200, 150, 300]
    assert [task.y[parts[i]].sum() for i in range(3)] == [20, 30, 90]
    assert task.special[parts[1]].all() and not task.special[parts[0]].all()
    again = paper.make_split(task, [200, 150, 300], [.1, .2, .3], 7)
    assert all((parts[k] == again[k]).all() for k in parts)


def test_measure_against_scikit_learn_with_ties():
    y, scores = scored()
    found, (pr, lift) = paper.measure(y, scores, .8, 300)
    z = scores >= .8
    assert (found["f1"], found["MCC"]) == pytest.approx((sk.f1_score(y, z), sk.matthews_corrcoef(y, z)))
    assert found["AUC(PRC)"] == pytest.approx(sk.average_precision_score(y, scores), abs=.02)
    fpr, recall, _ = sk.roc_curve(y, scores, drop_intermediate=False)
    share = y.mean() * recall + (1 - y.mean()) * fpr
    at = np.interp(.1, share, recall)
    assert found["Lift"] == pytest.approx(at / .1) and found["Lift/Precision"] == pytest.approx(at * y.mean() / .1)
    grid = np.linspace(0, 1, 200_001)[1:]
    lift_area = np.mean(np.interp(grid, share, recall) / grid)
    assert found["AUC(Lift)"] == pytest.approx(lift_area, abs=1e-3)
    assert found["NAUC(Lift)"] == pytest.approx(lift_area / (1 - np.log(y.mean())), abs=1e-3)
    alpha = np.interp(.9, recall, fpr)
    assert found["PRC/Precision"] == pytest.approx(.9 * y.mean() / (.9 * y.mean() + alpha * (1 - y.mean())), abs=1e-6)


def test_best_cut_beats_every_other_threshold():
    y, scores = scored(seed=4)
    best = sk.f1_score(y, scores >= paper.best_f1_cut(y, scores))
    assert best == pytest.approx(max(sk.f1_score(y, scores >= c) for c in np.unique(scores)))


def test_prediction_margin_covers_and_shrinks_with_larger_test_sets():
    draws = np.random.default_rng(2).normal(5, 3, (3000, 6))
    inside = [abs(d[5] - d[:5].mean()) <= paper.prediction_margin(d[:5]) for d in draws]
    assert np.mean(inside) == pytest.approx(.99, abs=.008)
    assert paper.prediction_margin(draws[0, :5], scale=.15) < paper.prediction_margin(draws[0, :5])


def test_learning_curve_is_continued_along_a_line():
    values = .3 + .02 * np.log2(paper.PARTS)[:, None] + np.array([[-.01, 0., .01]])
    end, error, rise = paper.continued(values, .125)
    assert (end, rise) == pytest.approx((.36, .02)) and error == pytest.approx(.01 / np.sqrt(3))


# Items

@pytest.mark.parametrize("item", WITHOUT_DATA)
def test_items_without_data_hold(item, no_data):
    result = run_item(ITEMS[f"outperformance/{item}"])
    assert result.verdict == ("reproduced" if item in ("table3", "table5") or item.startswith("figure") else "explained"), result.note
    assert result.count(None) == 0


@pytest.mark.parametrize("item", ["table4", "section4", *TRAINED])
def test_without_data_the_command_is_named(item, no_data):
    result = run_item(ITEMS[f"outperformance/{item}"])
    assert result.verdict == "needs data" and result.note.startswith("cost-eval data fetch")


def test_every_item_is_listed_here():
    assert {i.item for i in ITEMS.values() if i.paper == "outperformance"} == {*WITHOUT_DATA, *TRAINED, "table4", "section4"}


def test_without_xgboost_trained_items_say_so(small_data, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    done = paper.table_6_heart()
    assert verdict(done.table) == "needs data" and "cost_eval[book]" in done.note
    assert paper.figure_7().figure is None


@pytest.mark.filterwarnings("ignore")
def test_pipeline_on_stand_ins(small_data, monkeypatch):
    "Every trained item, without the real data: shapes, and one training for all tables and figures."
    pytest.importorskip("xgboost")
    monkeypatch.setitem(paper.SPLITS, "quick", 2)
    fits = []
    fit = paper._fit_split
    monkeypatch.setattr(paper, "_fit_split", lambda *a: fits.append(a[-1]) or fit(*a))
    for name in ("table5-heart", "table6-heart", "figure4", "table8-heart"):
        done = ITEMS[f"outperformance/{name}"].function()
        assert done.table["ours"].notna().all() and (done.table["tolerance"] > 0).all()
    assert len(fits) == 2 * len(paper.PARTS)  # a subsample: two splits at three training sizes, nothing trained twice
    assert done.figure is None and paper.figure_4().figure.axes[0].get_xlabel() == "recall"
    values = paper.train("heart").values[0][0]
    assert values["Prevalence"] == pytest.approx(.091, abs=.005)


@pytest.mark.skipif(not datasets.available("heart"), reason="needs the heart data")
def test_elder_group_of_the_real_data():
    task = paper.load_task("heart")
    assert task.scale == 1 and task.columns == 22
    assert task.y.sum() == 23_893 and task.special.sum() == 56_876
