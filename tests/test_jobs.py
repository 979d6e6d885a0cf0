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
from conftest import refuses
from cost_eval.__main__ import main


COOKBOOK = Path(__file__).parents[1] / "nbs/97_cookbook.ipynb"
CELLS = [("".join(cell["source"]), cell)
         for cell in json.loads(COOKBOOK.read_text(encoding="utf-8"))["cells"]]
JOBS = [(text, *CELLS[k + 1]) for k, (text, cell) in enumerate(CELLS) if text.startswith("### ")]


Y, TOO_MUCH = np.arange(40) % 2, {"fp": 1e308, "fn": 1e308}
test_what_cannot_be_added_up_is_refused = refuses({
    "costs": (lambda: ce.evaluate(Y, {"a": Y}, TOO_MUCH), r"costs: 1e\+308 is too large to be added up"),
    "costs of rows": (lambda: ce.evaluate(Y, {"a": Y}, ce.ExampleCosts(fp=1, fn=np.full(40, 1e307))),
                      r"costs: 1e\+307 is too large"),
    "costs of calls": (lambda: ce.capacity_curve(Y, ce.Scores(Y), TOO_MUCH), "costs: .*too large"),
    "weights": (lambda: ce.evaluate(Y, {"a": Y}, {"fp": 1, "fn": 5}, sample_weight=np.full(40, 1e307)),
                "sample_weight: .*too large"),
})
SOUGHT = """lightgbm xgboost catboost scale_pos_weight class_weight pytorch keras logits temperature isotonic
    svm LLM judge annotators raters multi-class multi-label csv excel parquet SageMaker R sql duckdb polars
    mlflow word latex imbalanced smote fraud sensitivity survey weights cluster missing inference bias
    threshold cut-off capacity abstain reject cost-sensitive gridsearchcv optuna cross-validation F1 recall
    precision AUC mcnemar a/b sample power non-inferiority calibration brier decision-curve net-benefit
    fairness drift monitoring retrain dask confidence-interval""".split()


@pytest.mark.parametrize("word", SOUGHT)
def test_what_people_type_leads_to_a_job(word):
    typed = re.compile(r"(?<![a-z0-9])" + "[- ]".join(map(re.escape, word.split("-"))), re.I)
    assert any(typed.search(text) for text, *_ in JOBS), word


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
