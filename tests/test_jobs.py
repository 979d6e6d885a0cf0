"""The jobs of the cookbook, which its own cells check: found by what people type, a few lines each, as
a formatter leaves them."""
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cost_eval.api as ce
from problems import decide
from asked import best_of
from cost_eval.__main__ import main
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.datasets import make_classification


COOKBOOK = Path(__file__).parents[1] / "nbs/97_cookbook.ipynb"
CELLS = [("".join(cell["source"]), cell)
         for cell in json.loads(COOKBOOK.read_text(encoding="utf-8"))["cells"]]
JOBS = [(text, *CELLS[k + 1]) for k, (text, cell) in enumerate(CELLS) if text.startswith("### ")]
SOUGHT = """lightgbm xgboost catboost scale_pos_weight class_weight pytorch tensorflow keras logits temperature isotonic svm anomaly LLM judge annotators raters multi-class multi-label csv excel parquet
    H2O SageMaker Azure KNIME R caret sql duckdb polars spark mlflow wandb word latex slides powerpoint imbalanced smote undersampling fraud sensitivity survey weights cluster missing inference bias
    threshold cut-off capacity abstain reject cost-sensitive gridsearchcv optuna hyperparameters cross-validation F1 recall precision AUC mcnemar a/b sample power non-inferiority calibration
    brier decision-curve net-benefit fairness drift monitoring retrain dask confidence-interval""".split()


@pytest.fixture(scope="module")
def churn():
    "Labels and two models' probabilities of leaving."
    X, y = make_classification(700, 12, n_informative=5, weights=[.75], random_state=0)
    p = [cross_val_predict(LogisticRegression(C=c), X[:, :k], y, cv=4, method="predict_proba")[:, 1]
         for c, k in ((1, 6), (1, 12))]
    return y, *p


@pytest.mark.parametrize("call, says", [
    (lambda y, p: ce.evaluate(y, {"a": p}, {"fp": 1e308, "fn": 1e308}),
     r"costs: 1e\+308 is too large to be added up"),
    (lambda y, p: ce.evaluate(y, {"a": p}, ce.ExampleCosts(fp=1, fn=np.full(len(y), 1e307))),
     r"costs: 1e\+307 is too large"),
    (lambda y, p: best_of(y, {"a": y, "b": 1 - y}, [[0, 1e308], [1e308, 0]]), "costs: .*too large"),
    (lambda y, p: ce.capacity_curve(y, p, {"fp": 1e308, "fn": 1e308}), "costs: .*too large"),
    (lambda y, p: decide(p, y, {"fp": 1, "fn": 5}, sample_weight=np.full(len(y), 1e306)),
     "sample_weight: .*too large"),
])
def test_a_slip_is_named(churn, call, says):
    with pytest.raises(ValueError, match=says):
        call(churn[0], churn[1])


@pytest.mark.parametrize("word", SOUGHT)
def test_what_people_type_leads_to_a_job(word):
    pattern = r"(?<![a-z0-9])" + "[- ]".join(map(re.escape, word.split("-")))
    assert any(re.search(pattern, text, re.I) for text, *_ in JOBS), word


@pytest.mark.parametrize("text, code, cell", JOBS, ids=[text[4:40].partition("\n")[0] for text, *_ in JOBS])
def test_a_job_is_a_few_lines_that_were_run(text, code, cell):
    lines = [line for line in code.splitlines() if line.strip()
             and not line.startswith(("#|", "import ", "from "))]
    assert cell["cell_type"] == "code" and 0 < len(lines) <= 9 and len(text.partition("\n\n")[2]) > 20
    assert cell["outputs"], "every job shows what comes out"


def test_the_jobs_are_as_many_as_the_first_line_says_and_stand_as_a_formatter_leaves_them():
    assert f"> {len(JOBS)} jobs under the words" in CELLS[0][0]
    assert len({text.partition("\n")[0] for text, *_ in JOBS}) == len(JOBS)
    ruff = str(Path(sys.executable).with_name("ruff"))
    assert subprocess.run([ruff, "format", "--check", "--line-length", "110", str(COOKBOOK)],
                          capture_output=True).returncode == 0


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
    assert names["report"].best.equals(ce.evaluate(table["label"], table[["model_a", "model_b"]],
                                                   names["costs"], positive="ill", rng=0).best)


@pytest.mark.filterwarnings("error")
def test_posteriors_of_exactly_0_and_1_make_no_noise():
    "As naive Bayes and boosting state them; a wrong certainty is miscalibrated, whatever it saves."
    rng = np.random.default_rng(0)
    y = rng.random(400) < .3
    p = np.where(rng.random(400) < .9, y, ~y).astype(float) + 0
    p[:40] = .2
    assert "cheaper than" in ce.evaluate(y, {"a": p}, {"fp": 1, "fn": 20}, rng=0).summary()
