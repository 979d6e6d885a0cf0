"""The forty jobs of the cookbook, which its own cells check: found by what people type, a few lines each, as a formatter leaves them."""
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cost_eval.api as ce
from cost_eval.__main__ import main
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.datasets import make_classification


COOKBOOK = Path(__file__).parents[1] / "nbs/97_cookbook.ipynb"
CELLS = [("".join(cell["source"]), cell) for cell in json.loads(COOKBOOK.read_text(encoding="utf-8"))["cells"]]
JOBS = [(text, *CELLS[k + 1]) for k, (text, cell) in enumerate(CELLS) if text.startswith("### ")]
SOUGHT = """lightgbm xgboost catboost scale_pos_weight class_weight pytorch tensorflow keras logits temperature isotonic svm anomaly LLM judge annotators raters multi-class multi-label csv excel parquet
    H2O SageMaker Azure KNIME WEKA R caret sql duckdb polars spark mlflow wandb word latex slides powerpoint imbalanced smote undersampling fraud sensitivity survey weights cluster missing inference bias
    threshold cut-off capacity abstain reject cost-sensitive gridsearchcv optuna hyperparameters cross-validation F1 recall precision AUC mcnemar a/b sample power non-inferiority equivalence calibration
    brier decision-curve net-benefit fairness drift monitoring retrain dask confidence-interval""".split()


@pytest.fixture(scope="module")
def churn():
    "Labels and two models' probabilities of leaving."
    X, y = make_classification(700, 12, n_informative=5, weights=[.75], random_state=0)
    p = [cross_val_predict(LogisticRegression(C=c), X[:, :k], y, cv=4, method="predict_proba")[:, 1] for c, k in ((1, 6), (1, 12))]
    return y, *p


def test_churn_with_two_models(churn):
    y, a, b = churn
    fees = np.random.default_rng(0).uniform(20, 120, len(y))
    # job
    models, next_year = {"small": a, "large": b}, [.95, .05]
    report = ce.evaluate(y, models, ce.CostMatrix.from_ratio(5), priors=next_year, rng=0)
    by_customer = report.with_costs(ce.ExampleCosts(fp=10, fn=fees), priors=next_year)
    # done
    assert set(report.best["model"]) == {"small", "large"} and "per case" in report.summary()
    assert by_customer == ce.evaluate(y, models, ce.ExampleCosts(fp=10, fn=fees), priors=next_year, rng=0) and len(by_customer.differences) == 1


def test_leaderboard_under_uncertain_costs(churn):
    y, a, b = churn
    rng = np.random.default_rng(0)
    models = {f"m{k}": np.clip(a + k / 200 * rng.normal(size=len(y)), 0, 1) for k in range(20)}
    # job
    report = ce.evaluate(y, models, ce.CostMatrix.from_ratio(5), rng=0)
    board = report.uncertain_costs(lambda rng, n: np.stack([ce.CostMatrix.from_ratio(r).array for r in rng.uniform(2, 10, n)]), rng=0)
    # done
    assert len(board) == 20 and board["probability_best"].sum() == pytest.approx(1)


def test_counts_and_thresholds_from_shards(churn):
    y, a, _ = churn
    shards = [(y[k::4], a[k::4]) for k in range(4)]
    # job
    counts = sum(ce.confusion_counts(t, (s > .3).astype(int), classes=[0, 1]) for t, s in shards)
    curve = sum(ce.threshold_counts(t, s) for t, s in shards)
    # done
    assert counts == ce.confusion_counts(y, (a > .3).astype(int)) and curve == ce.threshold_counts(y, a)


def test_odd_dtypes_and_fifty_classes():
    rng = np.random.default_rng(0)
    y = pd.Categorical(rng.choice([f"c{k}" for k in range(50)], 3000))
    d = pd.Series(np.where(rng.random(3000) < .9, y, "c0"), dtype="string")
    # job
    costs = ce.CostMatrix(np.abs(np.subtract.outer(range(50), range(50))), classes=[f"c{k}" for k in range(50)])
    found = ce.interval(ce.confusion_counts(y, d, classes=costs), costs)
    # done
    assert found.low < found.mean < found.high


def test_every_metric_and_its_percentile(churn):
    y, a, _ = churn
    # job
    counts = ce.BinaryCounts.from_labels(y, a > .3)
    values = ce.evaluate_metrics(counts, ce.CostMatrix.from_ratio(5))
    rank = ce.outperformance("f_beta", values["f_beta"], counts.prevalence)
    # done
    assert len(values) > 30 and 0 < rank < 1


def test_a_group_that_lacks_a_class_is_no_obstacle(churn):
    y, a, b = churn
    first = np.arange(len(y)) < 20
    # job
    where = np.where(first, "new branch", "old branch")
    report = ce.evaluate(np.where(first, 0, y), {"a": a, "b": b}, {"fp": 1, "fn": 10}, groups=where, rng=0)
    # done
    new = report.groups[report.groups["group"] == "new branch"]
    assert new["cost"].notna().all() and new["fnr"].isna().all() and new["cost_at_priors"].isna().all()
    assert "the deployment's" not in set(report.group_differences["shares"])
    assert len(ce.evaluate(y, {"a": a}, {"fp": 1, "fn": 10}, groups=y, rng=0).groups) == 2


def test_equally_likely_costs_are_taken_as_an_array(churn):
    y, a, b = churn
    report, matrices = ce.evaluate(y, {"a": a, "b": b}, {"fp": 1, "fn": 10}, rng=0), [[[0, 1], [c, 0]] for c in (5, 10, 20)]
    # job
    found = report.uncertain_costs(matrices, rng=0)
    # done
    drawn = report.uncertain_costs(lambda rng, size: np.array(matrices, float)[rng.integers(3, size=size)], rng=0)
    assert found.equals(drawn) and found["probability_best"].sum() == pytest.approx(1)
    with pytest.raises(ValueError, match=r"cost_sampler: uncertain costs are a function .* got shape \(2, 2\)"):
        report.uncertain_costs(matrices[0])


@pytest.mark.parametrize("call, says", [
    (lambda y, p: ce.evaluate(y, {"a": p}, {"fp": 1e308, "fn": 1e308}), r"costs: 1e\+308 is too large to be added up"),
    (lambda y, p: ce.evaluate(y, {"a": p}, ce.ExampleCosts(fp=1, fn=np.full(len(y), 1e307))), r"costs: 1e\+307 is too large"),
    (lambda y, p: ce.best_of(y, {"a": y, "b": 1 - y}, [[0, 1e308], [1e308, 0]]), "costs: .*too large"),
    (lambda y, p: ce.capacity_curve(y, p, {"fp": 1e308, "fn": 1e308}), "costs: .*too large"),
    (lambda y, p: ce.decide(p, y, {"fp": 1, "fn": 5}, sample_weight=np.full(len(y), 1e306)), "sample_weight: .*too large"),
])
def test_a_slip_is_named(churn, call, says):
    with pytest.raises(ValueError, match=says):
        call(churn[0], churn[1])


def test_the_unit_of_weights_changes_no_decision(churn):
    y, a, _ = churn
    weight = np.random.default_rng(0).uniform(1, 3, len(y))
    found = [ce.decide(ce.Scores(a), y, {"fp": 1, "fn": 5}, sample_weight=weight * unit, rng=0).decisions for unit in (1, 2.0**-1000)]
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("word", SOUGHT)
def test_what_people_type_leads_to_a_job(word):
    pattern = r"(?<![a-z0-9])" + "[- ]".join(map(re.escape, word.split("-")))
    assert any(re.search(pattern, text, re.I) for text, *_ in JOBS), word


@pytest.mark.parametrize("text, code, cell", JOBS, ids=[text[4:40].partition("\n")[0] for text, *_ in JOBS])
def test_a_job_is_a_few_lines_that_were_run(text, code, cell):
    lines = [line for line in code.splitlines() if line.strip() and not line.startswith(("#|", "import ", "from "))]
    assert cell["cell_type"] == "code" and 0 < len(lines) <= 9 and len(text.partition("\n\n")[2]) > 20
    assert cell["outputs"], "every job shows what comes out"


def test_the_jobs_are_forty_and_stand_as_a_formatter_leaves_them():
    assert len(JOBS) >= 40 and len({text.partition("\n")[0] for text, *_ in JOBS}) == len(JOBS)
    ruff = str(Path(sys.executable).with_name("ruff"))
    assert subprocess.run([ruff, "format", "--check", "--line-length", "110", str(COOKBOOK)], capture_output=True).returncode == 0


def test_jobs_that_the_notebook_does_not_run(tmp_path, monkeypatch):
    "Those of libraries that only the tests have; the others run with the notebook."
    pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    main(["example", "scores.csv"])
    left = [code for text, *_ in JOBS for code in re.findall(r"```python\n(.*?)```", text, re.S)]
    names = {"ce": ce, "pd": pd, "np": np, "costs": {"fp": 1, "fn": 20}}
    assert len(left) == 1
    exec(left[0], names)
    table = pd.read_csv("scores.csv")
    assert names["report"].best.equals(ce.evaluate(table["label"], table[["model_a", "model_b"]], names["costs"], positive="ill", rng=0).best)


@pytest.mark.filterwarnings("error")
def test_posteriors_of_exactly_0_and_1_make_no_noise():
    "As naive Bayes and boosting state them; a wrong certainty is miscalibrated, whatever it saves."
    rng = np.random.default_rng(0)
    y = rng.random(400) < .3
    p = np.where(rng.random(400) < .9, y, ~y).astype(float) + 0
    p[:40] = .2
    assert "cheaper than" in ce.evaluate(y, {"a": p}, {"fp": 1, "fn": 20}, rng=0).summary()
