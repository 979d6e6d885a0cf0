"""cost-eval evaluate: the report from files, and one line for each mistake."""
import json
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cost_eval import __main__ as command
from cost_eval.__main__ import main
from cost_eval.costs import CostMatrix
from cost_eval.page import answers
from cost_eval.report import evaluate
from cost_eval.samples import example_frame, read_file
from cost_eval import datasets
import os
import sys


@pytest.fixture
def scores(tmp_path):
    "A CSV of 300 samples and its frame."
    rng = np.random.default_rng(0)
    ill = rng.random(300) < .3
    frame = pd.DataFrame({"id": range(300), "label": np.where(ill, "ill", "well"),
                          "site": rng.choice(["a", "b"], 300)})
    for name, skill in (("one", 1.), ("two", 2.)):
        frame[name] = (1 / (1 + np.exp(1 - skill * (rng.normal(size=300) + ill)))).round(6)
    frame.to_csv(tmp_path / "s.csv", index=False)
    return tmp_path / "s.csv", frame


def call(capsys, *arguments):
    code = main(["evaluate", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_report_of_a_file_is_the_librarys(scores, tmp_path, capsys):
    path, frame = scores
    code, out, _ = call(capsys, path, "--fp", 1, "--fn", 9, "--positive", "ill", "--prevalence", ".1",
                        "--group", "site", "--scores", "one,two",
                        "--json", tmp_path / "r.json", "--html", tmp_path / "r.html")
    costs = CostMatrix.binary(fp=1, fn=9, classes=["well", "ill"])
    here = evaluate(frame["label"].to_numpy(), {m: frame[m].to_numpy() for m in ("one", "two")}, costs,
                    priors=[.9, .1], groups=frame["site"].to_numpy(), rng=0)
    assert code == 0 and here.summary() in out
    assert json.loads((tmp_path / "r.json").read_text()) == json.loads(json.dumps(here.to_dict()))
    assert "<table" in (tmp_path / "r.html").read_text()


def test_parquet_shards_decisions_and_posteriors(scores, tmp_path, capsys):
    path, frame = scores
    frame["rule"] = np.where(frame["one"] > .4, "ill", "well")
    frame["p_ill"], frame["p_well"] = frame["two"], 1 - frame["two"]
    frame[:100].to_parquet(tmp_path / "a.parquet")
    frame[100:].to_parquet(tmp_path / "b.parquet")
    pd.DataFrame([[0, 1], [9, 0]], ["well", "ill"], ["well", "ill"]).to_csv(tmp_path / "costs.csv")
    code, out, err = call(capsys, tmp_path / "a.parquet", tmp_path / "b.parquet", "--costs",
                          tmp_path / "costs.csv", "--scores", "rule", "--posteriors", "p",
                          "--priors", "ill=.2,well=.8", "--positive", "ill")
    assert code == 0 and "300 samples" in out and "rule" in out and "p " in out, err


def test_columns_are_guessed_and_said(scores, capsys):
    path, _ = scores
    code, out, _ = call(capsys, path, "--fp", 1, "--fn", 2, "--positive", "ill")
    assert code == 0 and out.startswith(
        "Read: true labels 'label'; models 'one', 'two'; left out 'id' (its name), 'site' (no numbers). "
        "(--label")


FP, ILL = ("--fp", 1, "--fn", 2), ("--fp", 1, "--fn", 2, "--positive", "ill")
BAD = {
    "no costs": (None, ["--fp", 1], "--fn missing: say what errors cost; for example: cost-eval evaluate"),
    "no costs of three classes": (lambda f: f.assign(label=np.resize(["a", "b", "c"], 300)), [],
                                  "there are 3 classes; write a table with the line 'class,a,b,c' on top"),
    "both costs": (None, ["--fp", 1, "--costs", "c.csv"], "--costs: c.csv and --fp both price errors"),
    "no positive": (None, FP,
                    "say --positive=well or --positive=ill, or name the classes of the costs"),
    "no positive: the option": (None, FP, "--label: the labels ['ill', 'well'] do not"),
    "unknown positive": (None, [*FP, "--positive", "sick"],
                         "--positive: 'sick' is unknown; there are ill, well (here: "
                         "--positive"),
    "unknown label": (None, [*ILL, "--label", "lable"], "did you mean 'label'? (here: --label"),
    "unknown model": (None, [*ILL, "--scores", "tow"],
                      "cost-eval: model 'tow': 'tow' is unknown; there are id, label, site, one, two"),
    "unknown posteriors": (None, [*ILL, "--posteriors", "q"], "no column begins with 'q_'; there are ['id'"),
    "unknown class of a column": (None, [*ILL, "--posteriors", "one=sick"],
                                  "the one class whose probability this is must be of ['well', 'ill'], got ['sick']"),
    "unknown group": (None, [*ILL, "--group", "sight"], "--group: 'sight' is unknown; there are id, label, site"),
    "unknown rule": (None, [*ILL, "--rule", "bays"],
                     "rule: 'bays' is unknown; did you mean 'bayes'? (here: --rule"),
    "half a rule": (None, [*ILL, "--rule", "one="], "--rule: want MODEL=RULE,..., got 'one='"),
    "no number for a cost": (None, ["--fp", "1,5", "--fn", 2],
                             "'1,5' is not a number; write it as 20, 0.5 or 5%, or name a column: --fp: "
                             "'1,5' is unknown"),
    "both priors": (None, [*ILL, "--priors", "ill=.1,well=.9", "--prevalence", ".1"],
                    "--prevalence says the same"),
    "a page nowhere": (None, [*ILL, "--html", "/nowhere/r.html"], "cannot be written"),
    "weights that are text": (None, [*ILL, "--weight", "site"],
                              "--weight: expected numbers, got "),
    "costs in a folder": (None, ["--costs", "."], "--costs: .: a folder; name the files in it, ./*"),
    "costs of JSON": (None, ["--costs", "c.json"],
                      "--costs: JSON does not say which labels are classes; give a table as CSV"),
    "a class called NA": (lambda f: f.replace({"label": {"well": "NA"}}), ILL,
                          "In a CSV file a class called NA, None or null is read as missing: rename it (here: --label"),
    "no cost file": (None, ["--costs", "none.csv"], "none.csv: no such file"),
    "no label": (lambda f: f.drop(columns="label").assign(site="a"), ILL, "label: none of the columns"),
    "two labels": (lambda f: f.assign(flag=f["id"] > 9).rename(columns={"label": "was"}), ILL,
                   "name the one, --label=was; for example: cost-eval evaluate"),
    "no number in row 5": (lambda f: f.assign(one=f["one"].astype(object).where(f["id"] != 4, "n/k")),
                           [*ILL, "--scores", "one"],
                           "model 'one': 'n/k' is not in the costs' decisions = ['well', 'ill'] (position "
                           "4)"),
    "another mark": (lambda f: f.set_axis(["id;label", *f.columns[1:]], axis=1)[["id;label"]], ILL,
                     "give --sep=';' (and --decimal=, where commas are decimal marks)"),
    "commas in numbers": (lambda f: f.assign(one=f["one"].astype(str).str.replace(".", ",")), ILL,
                          "models: ['one']: holds text, '0,43762': read the file with --decimal="),
    "a feature": (lambda f: f.assign(income=900 + f["id"] % 7), ILL,
                  "['income']: numbers beyond [0, 1] beside probabilities, ['one', 'two']"),
    "no rows": (lambda f: f[:0], ILL, "no rows"),
    "no model": (lambda f: f[["label", "id"]].assign(age=40), ILL,
                 "models: no column beside the true labels is one; left out: 'id' (its name), 'age' "
                 "(its name)"),
    "a column twice": (lambda f: f.rename(columns={"two": "one"}), ILL, "occurs twice"),
}


TWO_LABELS = lambda f: f.assign(was=f["label"],
                                flag=np.where(f["id"] > 9, "x", "y")).drop(columns="label")  # noqa: E731
# what is left out -> another file, what is given, the options that the error names
MISSING = {
    "costs": (None, [], ["--positive=ill", "--fp=1", "--fn=20"]),
    "a miss": (None, ["--fp", "3", "--positive", "ill"], ["--fn=60"]),
    "a false alarm": (None, ["--fn", "60", "--positive", "well"], ["--fp=1"]),
    "costs of 0 and 1": (lambda f: f.assign(label=1 * (f["label"] == "ill")), [], ["--fp=1", "--fn=20"]),
    "costs of -1 and 1": (lambda f: f.assign(label=np.where(f["label"] == "ill", -1, 1)), [],
                          ["--positive=-1", "--fp=1", "--fn=20"]),
    "the label": (TWO_LABELS, ["--fp", "1", "--fn", "2", "--positive", "ill"], ["--label=was"]),
    "all": (TWO_LABELS, ["--prevalence", "5%"], ["--label=was", "--positive=ill", "--fp=1", "--fn=20"]),
    "a cost a row": (lambda f: f.assign(amount=5.5), ["--fp", "amount"], ["--positive=ill", "--fn=20"])}


@pytest.mark.parametrize("change, given, options", MISSING.values(), ids=MISSING)
def test_what_is_missing_is_named_in_a_line_that_works(scores, capsys, change, given, options):
    path, frame = scores
    frame = frame if change is None else change(frame)
    frame[["id", *[c for c in frame.columns if c not in ("id", "site")]]].to_csv(path, index=False)
    code, _, err = call(capsys, path, *given)
    line = shlex.split(err.partition("; for example: ")[2])
    assert code == 2 and line == ["cost-eval", "evaluate", str(path), *given, *options], err
    assert main(line[1:]) == 0


def test_one_example_and_one_set_of_numbers_in_readme_and_chapters(tmp_path, capsys, monkeypatch):
    "The README's own two lines; what they print stands in README and 95."
    monkeypatch.chdir(tmp_path)
    root = Path(__file__).parents[1]
    readme = (root / "README.md").read_text()
    example, judged = (re.search(f"^(cost-eval {verb} [^#]*?) +#", readme, re.M)[1]
                       for verb in ("example", "evaluate"))
    assert main(shlex.split(example)[1:]) == 0 and capsys.readouterr().out.rstrip().endswith(judged)
    assert pd.read_csv("scores.csv").equals(example_frame())
    assert main(shlex.split(judged)[1:]) == 0
    out = capsys.readouterr().out.rstrip()
    assert f"```text\n$ {judged}\n{out}\n```" in readme
    cells = json.loads((root / "nbs" / "95_judge.ipynb").read_text())["cells"]
    said = ["".join(o.get("text", "")).split() for cell in cells for o in cell.get("outputs", ())]
    assert f"$ {judged}\n{out}".split() in said
    for file, says in (("scores.csv", "there is such a file already; name another one"),
                       ("scores.parquet", "name it scores.csv"), ("no/scores.csv", "cannot be written")):
        assert main(["example", file]) == 2 and says in capsys.readouterr().err


@pytest.mark.parametrize("option, given, says", [("--prevalence", "some", "'some' is not a number"),
                                                 ("--seed", "-1", "'-1' is not a whole number"),
                                                 ("--colour", "red", "'--colour' is unknown; there are --label"),
                                                 ("--sores", "one",
                                                  "'--sores' is unknown; did you mean '--scores'")])
def test_options_that_are_none(scores, capsys, option, given, says):
    with pytest.raises(SystemExit) as stop:
        call(capsys, scores[0], *ILL, f"{option}={given}" if option == "--seed" else option,
             *([] if option == "--seed" else [given]))
    err = capsys.readouterr().err
    assert stop.value.code == 2 and says in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("change, arguments, says", BAD.values(), ids=BAD)
def test_mistakes(scores, tmp_path, capsys, change, arguments, says):
    path, frame = scores
    if change:
        change(frame).to_csv(path, index=False)
    code, _, err = call(capsys, path, *arguments)
    assert code == 2 and says in err and "Traceback" not in err and len(err.strip().splitlines()) == 1


def test_the_same_file_through_every_door(tmp_path, capsys):
    "Python and the command: the same question, the same verdict, word for word."
    example_frame().to_csv(tmp_path / "scores.csv")
    frame, options = example_frame(), ("--fp", 1, "--fn", 20, "--prevalence", ".05")
    models = {name: frame[name] for name in ("model_a", "model_b")}
    with pytest.raises(ValueError) as asked:
        evaluate(frame["label"], models, dict(fp=1, fn=20), priors=.05, rng=0)
    question = str(asked.value).partition(";")[0].replace("y_true:", "cost-eval: --label:")
    assert question in call(capsys, tmp_path / "scores.csv", *options)[2]
    for rule, capacity in (("calibrated", None), ("tuned", None), ("bayes", 150), ("as given", .1)):
        here = evaluate(frame["label"], models, dict(fp=1, fn=20), positive="ill", priors=.05, rule=rule,
                        capacity=capacity, rng=0)
        limit = [] if capacity is None else ["--capacity", capacity]
        out = call(capsys, tmp_path / "scores.csv", *options, "--positive", "ill", "--rule", rule, *limit)[1]
        assert (" ".join(answers(here, command._said).values()) in " ".join(
            line.partition(": ")[2] for line in out.splitlines()) and "the cheapest of 2 models" in out)


def test_columns_of_the_classes_are_one_model_through_every_door(tmp_path, capsys):
    "The command and a frame say of them what they say of the one column."
    rng = np.random.default_rng(3)
    yes = rng.random(200) < .4
    p = (1 / (1 + np.exp(.6 - rng.normal(1.5 * yes)))).round(6)
    frame = pd.DataFrame({"target": np.where(yes, "Yes", "No"), "net_No": 1 - p, "net_Yes": p,
                          "fold": np.arange(200) % 5})
    frame.to_csv(tmp_path / "s.csv", index=False)
    out = call(capsys, tmp_path / "s.csv", "--fp", 1, "--fn", 2, "--positive", "Yes")[1]
    twin = evaluate(frame["target"], {"net": p}, dict(fp=1, fn=2), positive="Yes", rng=0).summary()
    read = "model 'net' (probabilities: 'net_No' for No, 'net_Yes' for Yes); left out 'fold' (its name)."
    assert twin in out and out.startswith(f"Read: true labels 'target'; {read}")
    models = frame[["net_No", "net_Yes", "fold"]]
    here = evaluate(frame["target"], models, dict(fp=1, fn=2), positive="Yes", rng=0).summary()
    assert here.startswith("Read: model 'net' (") and here.endswith(twin.removeprefix("Read: "))


def test_pages_and_numbers_are_written(scores, tmp_path, capsys):
    out = {name: tmp_path / f"r.{name}" for name in ("html", "markdown", "json")}
    given = [part for name, path in out.items() for part in (f"--{name}", path)]
    code, said, _ = call(capsys, scores[0], *ILL, "--group", "site", *given)
    assert (code == 0 and all(f"written: {path}" in said
                             for path
                             in out.values()) and "By group, 95 % intervals:" in said
                             and "Between groups" in said)
    assert json.loads(out["json"].read_text())["best"][0]["cost"] > 0


def test_whose_probability_and_only_the_order(scores, tmp_path, capsys):
    path, frame = scores
    plain = call(capsys, path, *ILL, "--scores", "two")[1]
    frame.assign(two=1 - frame["two"]).to_csv(tmp_path / "t.csv", index=False)
    noted = call(capsys, tmp_path / "t.csv", *ILL, "--scores", "two")[1]
    assert "higher values go with 'well'" in noted and "give --posteriors COLUMN='well'" in noted
    assert plain.splitlines()[-4:] == call(capsys, tmp_path / "t.csv", *ILL, "--posteriors", "two=well",
                                           "--label", "label")[1].splitlines()[-4:]
    ranks = call(capsys, path, *ILL, "--ranks", "two")[1]
    assert "bayes" not in ranks.split("samples")[0] and "Use two: it decides ill from" in ranks


def test_one_class_is_told(scores, tmp_path, capsys):
    path, frame = scores
    frame.assign(label="ill").to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = call(capsys, tmp_path / "t.csv", *ILL)
    assert code == 0 and "Every label is 'ill': nothing can be said about errors on other classes." in out


def test_decisions_folds_clusters_and_percent(scores, tmp_path, capsys):
    path, frame = scores
    frame = frame.assign(verdict=np.where(frame["one"] > .4, "ill", "well"), part=frame["id"] // 3 % 5,
                         ward=frame["id"] // 3, w=frame["id"] % 3 + 1.)
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = call(capsys, tmp_path / "t.csv", *ILL, "--fold", "part", "--cluster", "ward", "--weight", "w",
               "--prevalence", "10%", "--rule", "one=bayes,two=tuned")[1]
    models = {name: frame[name] for name in ("one", "two", "verdict")}
    rows = {"folds": frame["part"], "clusters": frame["ward"], "sample_weight": frame["w"]}
    here = evaluate(frame["label"], models, dict(fp=1, fn=2), positive="ill", priors=.1,
                    rule={"one": "bayes", "two": "tuned"}, rng=0, **rows)
    assert here.summary().rpartition("\n")[0] in out and "pooled from cross-validation" in out


def test_spreadsheets(scores, tmp_path, capsys, monkeypatch):
    path, frame = scores
    (tmp_path / "c.xlsx").write_bytes(b"PK no sheet")
    for given in ((tmp_path / "c.xlsx", *ILL), (path, "--costs", tmp_path / "c.xlsx", "--positive", "ill")):
        code, _, err = call(capsys, *given)
        assert code == 2 and "c.xlsx: cannot be read as Excel" in err and len(err.splitlines()) == 1
    with pytest.raises(ValueError, match="c.xlsx: cannot be read as Excel"):
        read_file(tmp_path / "c.xlsx")
    table = pd.DataFrame([[0, 1], [9, 0]], ["well", "ill"], ["well", "ill"])
    names = [list(frame)]
    monkeypatch.setattr(pd, "read_excel", lambda source, index_col=None, header=0, **_: pd.DataFrame(
        names) if header is None else frame if index_col is None else table)
    code, out, _ = call(capsys, tmp_path / "c.xlsx", "--costs", tmp_path / "c.xlsx", "--positive", "ill")
    assert code == 0 and evaluate(frame["label"], frame[["one", "two"]], table, positive="ill",
                                  rng=0).summary() in out
    names[0] = ["label", "one", "one"]  # which pandas calls one and one.1
    assert "column 'one' occurs twice; rename one" in call(capsys, tmp_path / "c.xlsx", "--positive",
            "ill")[2]


def test_other_files(tmp_path, capsys, scores):
    path, frame = scores
    assert call(capsys, tmp_path / "none.csv", "--fp", 1, "--fn", 2)[2].endswith("no such file\n")
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    assert "cannot be read as parquet" in call(capsys, tmp_path / "x.parquet", "--fp", 1, "--fn", 2)[2]
    frame.rename(columns={"two": "three"}).to_csv(tmp_path / "t.csv", index=False)
    assert "but" in call(capsys, path, tmp_path / "t.csv", "--fp", 1, "--fn", 2)[2]
    table = pd.DataFrame([[0, 1, .2], [9, 0, .2]], ["well", "ill"], ["well", "ill", "ask"])
    table.T.to_csv(tmp_path / "turned.csv")
    assert "rows must be true classes" in call(capsys, path, "--costs", tmp_path / "turned.csv", "--positive", "ill")[2]
    table.to_csv(tmp_path / "costs.csv")
    assert call(capsys, path, "--costs", tmp_path / "costs.csv", "--positive", "ill")[1] != ""


@pytest.mark.parametrize("text, says",
                         [(",well,ill\nwell,0,one\nill,9,0\n", "'one' in row 'well', column 'ill'"),
                          (",well,ill\nwell,0,\nill,9,0\n", "want a number"),
                          (",well,ill\nwell,0,1\nill,9,0\n", "say --positive=well or --positive=ill"),
                                        (",well,well\nwell,0,1\nill,9,0\n", "occurs twice"),
                                        (",no,yes\nno,0,1\nyes,9,0\n",
                                         "label 'well' is not in the costs' classes = ['no', 'yes']"),
                                         ("", "cannot be read")])
def test_cost_files(tmp_path, capsys, scores, text, says):
    (tmp_path / "costs.csv").write_text(text)
    code, _, err = call(capsys, scores[0], "--costs", tmp_path / "costs.csv")
    assert code == 2 and says in err and len(err.strip().splitlines()) == 1


def test_other_separators_and_decimal_marks_are_said(tmp_path, capsys, scores):
    path, frame = scores
    given = ("--fp", 1, "--fn", 9, "--positive", "ill", "--scores", "one,two")
    plain = call(capsys, path, *given)[1]
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "t.txt", index=False, sep="\t")
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    costs = pd.DataFrame([[0, 1], [9.5, 0]], ["well", "ill"], ["well", "ill"])
    costs.to_csv(tmp_path / "c.csv", sep=";", decimal=",")
    for name, *marks in (("t.tsv",), ("t.txt", "--sep", "\\t"), ("t.csv", "--sep", ";", "--decimal", ",")):
        assert call(capsys, tmp_path / name, *given, *marks)[:2] == (0, plain)
    out = call(capsys, tmp_path / "t.csv", "--costs", tmp_path / "c.csv", "--positive", "ill", *marks)[1]
    assert evaluate(frame["label"], frame[["one", "two"]], costs, positive="ill", rng=0).summary() in out


def test_any_header_can_be_named(tmp_path, capsys):
    """With equals signs, commas and spaces in it; one column, or all of a model; the ladder is that of the
    plain column."""
    rng = np.random.default_rng(4)
    y, p = np.arange(200) % 3 == 0, rng.random(200).round(6)
    kind, T = rng.choice(list("abc"), 200), rng.dirichlet([1, 1, 1], 200).round(6)
    frame = pd.DataFrame({"Churn": np.where(y, "Yes", "No"), "P (Churn=No)": 1 - p, "P (Churn=Yes)": p,
                          "age, in words": "x", "loss=EUR": 5., "kind": kind, **dict(zip("abc", T.T)),
                          "plain": p, "p, net": p})
    frame.to_csv(tmp_path / "s.csv", index=False)
    pd.DataFrame([[0, 1, 9], [2, 0, 1], [1, 4, 0.]], list("abc"), list("abc")).to_csv(tmp_path / "c.csv")
    yes = tmp_path / "s.csv", "--label", "Churn", "--positive", "Yes", "--fp", 1, "--fn", 5
    numbers = lambda *given: [line.split()[-5:] for line in call(capsys, *given)[1].splitlines()
                              if re.search(r" calibrated +[.0-9]", line)]
    wanted = numbers(*yes, "--scores", "plain")
    assert len(wanted) == 1
    for given in (["--scores", '"p, net"'], ["--posteriors", "P (Churn=Yes)=Yes"],
                  ["--posteriors", "P (Churn=No)=No,P (Churn=Yes)=Yes"], ["--posteriors", "P (Churn=No)=No"],
                  ["--scores", "P (Churn=Yes)", "--rule", "P (Churn=Yes)=calibrated"]):
        assert numbers(*yes, *given) == wanted, given
    assert numbers(*yes, "--scores", "plain", "--fn", "loss=EUR")[0][0] == wanted[0][0]
    three = tmp_path / "s.csv", "--label", "kind", "--costs", tmp_path / "c.csv"
    assert len(numbers(*three, "--posteriors", "c=c,a=a,b=b")) == 1
    assert "name them with their classes, COL=CLASS" in call(capsys, *yes, "--posteriors", "plain")[2]
    assert "--fn: 'lossEUR' is unknown; did you mean 'loss=EUR'?" in call(capsys, *yes, "--fn", "lossEUR")[2]


def test_ids_that_repeat_are_said_in_the_words_of_the_shell(scores, tmp_path, capsys):
    path, frame = scores
    frame.assign(id=np.arange(300) % 250).to_csv(tmp_path / "t.csv", index=False)
    out = call(capsys, tmp_path / "t.csv", *ILL, "--id", "id")[1]
    assert ("50 of the 300 rows have an id that stood before" in out
            and "Give the column of the ids as --cluster, too, or" in out)
    assert "stood before" not in call(capsys, tmp_path / "t.csv", *ILL, "--id", "id", "--cluster", "id")[1]


WAYS = {  # how a table is written -> the end of the file's name
    ".csv": lambda f, to: f.to_csv(to, index=False), ".csv.gz": lambda f, to: f.to_csv(to, index=False),
    ".csv.xz": lambda f, to: f.to_csv(to, index=False),
    ".bom.csv": lambda f, to: f.to_csv(to, index=False, encoding="utf-8-sig"),
    ".tsv": lambda f, to: f.to_csv(to, index=False, sep="\t"), ".tsv.bz2": lambda f, to: f.to_csv(to,
        index=False, sep="\t"), ".csv.zip": lambda f, to: f.to_csv(to, index=False),
    ".json": lambda f, to: f.to_json(to, orient="records"), ".columns.json": lambda f, to: f.to_json(to),
    ".jsonl": lambda f, to: f.to_json(to, orient="records", lines=True),
    ".blank.csv": lambda f, to: to.write_text(f.to_csv(index=False).replace(",", ", ")),
    ".bom.jsonl": lambda f, to: to.write_text(f.to_json(orient="records", lines=True), encoding="utf-8-sig"),
    ".ndjson.gz": lambda f, to: f.to_json(to, orient="records", lines=True),
    ".parquet": lambda f, to: f.to_parquet(to), ".feather": lambda f, to: f.to_feather(to)}


@pytest.mark.parametrize("end", WAYS)
def test_a_file_of_any_kind_is_its_table(scores, tmp_path, end):
    _, frame = scores
    WAYS[end](frame, tmp_path / f"s{end}")
    (tmp_path / f"S{end}".upper()).write_bytes((tmp_path / f"s{end}").read_bytes())
    for name in (f"s{end}", f"S{end}".upper()):
        pd.testing.assert_frame_equal(read_file(tmp_path / name), frame, check_dtype=False)


@pytest.mark.parametrize("name, content, index_col, wanted", [
    ("a.csv", b"label,1,1.0\n1,.5,.2\n0,.3,.4\n", None, {"label": [1, 0], "1": [.5, .3], "1.0": [.2, .4]}),
    ("a.csv", b"-1,1.0\n.5,.5\n.3,.7\n", None, {"-1": [.5, .3], "1.0": [.5, .7]}),
    ("c.csv", b"class,0,1\n0,0,1\n1,5,0\n", 0, {"0": [0, 5], "1": [1, 0]}),
    ("a.json", b'{"score": [0.25, 0.5]}', None, {"score": [.25, .5]}),
    ("a.csv", b"#label,m\n1,.5\n", None, {"#label": [1], "m": [.5]}),
    ("a.csv", b"yes,m\nno,.5\nyes,.25\n", None, {"yes": ["no", "yes"], "m": [.5, .25]})])
def test_near_misses_of_files_that_are_refused_are_read(tmp_path, name, content, index_col, wanted):
    """Names that are numbers, as models and classes have them; a column alone; a name that begins as comments
    do."""
    (tmp_path / name).write_bytes(content)
    assert read_file(tmp_path / name, index_col=index_col).to_dict("list") == wanted


@pytest.mark.parametrize("name, content, says", [
    ("a.csv", b"label,m\n1,.5\n0,.1,7,8\n", "Expected 2 fields in line 3, saw 4; save it as CSV"),
    ("a.csv", b"label,m\n1,.5,\n0,.1,\n", "Expected 2 fields in line 2, saw 3"),
    ("a.csv", b"label;m\n1;2,3\n0;3,4\n", "first line, 'label;m', is one column where ',' separates them"),
    ("a.csv", 'label,m\n"caf\xe9",2\n'.encode("latin-1"), "save it as CSV in UTF-8"),
    ("a.csv", b'label,m\n1,"2\n0,3\n', "EOF inside string starting at row 1"),
    ("a.csv", b"", "No columns to parse from file; save it as CSV"),
    ("a.csv", b"label,m,m\n1,.5,.2\n", "column 'm' occurs twice; rename one"),
    ("a.csv.gz", b"label,m\n1,2\n", "cannot be read as CSV: Not a gzipped file"),
    ("a.json", b"{", "cannot be read as JSON"), ("a.feather", b"FEA1", "cannot be read as feather"),
    ("a.pkl", b"\x80\x04\x95\x00", "save it as CSV in UTF-8"),
    ("a.csv", b"no,.5\nyes,.7\n", "its first line holds the value .5; put a line of names above it")])
def test_what_is_no_table_is_refused_with_the_line_and_a_remedy(tmp_path, capsys, name, content, says):
    (tmp_path / name).write_bytes(content)
    code, _, err = call(capsys, tmp_path / name, *FP)
    assert code == 2 and f"{name}: cannot be read as" in err and says in err and "; " in err and len(
        err.splitlines()) == 1
    with pytest.raises(ValueError, match=f"{name}: cannot be read as"):
        read_file(tmp_path / name)


def test_nothing_half_written(tmp_path, capsys, scores, monkeypatch):
    monkeypatch.setattr("cost_eval.report.Report.to_html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call(capsys, scores[0], *ILL, "--html", tmp_path / "r.html")
    assert [p.name for p in tmp_path.iterdir()] == ["s.csv"]


def test_priors_need_their_classes(scores, tmp_path, capsys):
    path, frame = scores
    frame.assign(label=np.resize(["a", "b", "c"], 300), q_a=.2, q_b=.3, q_c=.5).to_csv(tmp_path / "three.csv",
            index=False)
    pd.DataFrame(1 - np.eye(3), [*"abc"], [*"abc"]).to_csv(tmp_path / "costs.csv")
    three = tmp_path / "three.csv", "--costs", tmp_path / "costs.csv"
    said = call(capsys, *three, "--posteriors", "q", "--prevalence", .1)[2]
    assert "priors: one number is for two classes, there are 3; give one each (here: --prevalence P, or --priors CLASS=P,...)" in said
    assert "model 'one': one number per sample for 3 classes" in call(capsys, *three)[2]
    assert "--positive: 'a', but the costs name ['a', 'b', 'c'], the last of two is the positive one; leave positive out" in call(
        capsys, *three, "--positive", "a")[2]


@pytest.mark.parametrize("absent, extra, arguments", [
    ("matplotlib", "book", ["reproduce"]), ("matplotlib", "book", ["list"]),
    ("jinja2", "book", ["evaluate", "@", "--fp", "1", "--fn", "2", "--positive", "ill", "--html", "y.html"]),
    ("pandas", "data", ["evaluate", "@", "--fp", "1", "--fn", "2"]), ("pandas", "data", ["example", "x.csv"]),
    ("pandas", "data", ["decide", "@", "--rule", "r.json", "--out", "z.csv"])])
def test_a_missing_library_is_named_and_nothing_is_written(scores, tmp_path, monkeypatch, capsys, absent, extra,
                                                            arguments):
    monkeypatch.chdir(tmp_path)
    asked = ["--fp", "1", "--fn", "2", "--positive", "ill", "--save-rule", "r.json"]
    assert main(["evaluate", str(scores[0]), *asked]) == 0
    monkeypatch.setitem(sys.modules, absent, None)
    assert main([str(scores[0]) if one == "@" else one for one in arguments]) == 2
    assert f'{absent} is needed for this: pip install "cost_eval[{extra}]"' in capsys.readouterr().err
    assert not any(Path(name).exists() for name in ("y.html", "x.csv", "z.csv", "z.csv.part"))


def test_fetch_says_a_line_each(monkeypatch, capsys):
    def fetch(name, **options):
        if name == "telco":
            raise datasets.DataNotAvailable("telco", "nobody answers")
        return [Path("a") / name]
    monkeypatch.setattr(datasets, "names", lambda names, small: ["heart", "telco"][:1 if names else 2])
    monkeypatch.setattr(datasets, "fetch", fetch)
    assert main(["data", "fetch"]) == 1
    first, second, last, how = capsys.readouterr().out.splitlines()
    assert first.split() == ["heart", str(Path("a/heart"))] and second.split("not fetched: ")[
        1] == f"nobody answers; by hand: {datasets.data_set('telco').page}"
    assert last.startswith("1 of 2 data sets") and "COST_EVAL_DATA" in how
    assert main(["data", "fetch", "--small"]) == 0  # the small ones are a service, not a promise
    capsys.readouterr()
    assert main(["data", "fetch", "heart"]) == 0 and "data sets" not in capsys.readouterr().out


def test_one_that_interrupts(monkeypatch, capfd):
    def run(arguments): raise KeyboardInterrupt
    monkeypatch.setattr(command, "_list", run)
    assert main(["list"]) == 130 and capfd.readouterr().err == "cost-eval: interrupted\n"


def test_a_reader_that_leaves_changes_neither_files_nor_the_exit_code(tmp_path):
    "As `head` does; a rule that breaks its promise says so to the shell."
    example_frame().to_csv(tmp_path / "all.csv", index=False)
    judged = ("--label", "label", "--fp", "1", "--fn", "10", "--positive", "ill")
    for code, *words in ((0, "evaluate", "all.csv", *judged, "--save-rule", "rule.json"),
                         (1, "check", "all.csv", "--rule", "rule.json", "--max-cost", ".001"), (0, "list")):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([sys.executable, "-u", "-m", "cost_eval", *words], stdout=writer,
                              stderr=subprocess.PIPE, text=True, cwd=tmp_path)
        os.close(writer)
        assert (done.returncode, done.stderr) == (code, "")
    assert (tmp_path / "rule.json").exists()


@pytest.fixture
def mail(tmp_path):
    "Three classes, of which the data show two or three, and posteriors of two models."
    rng = np.random.default_rng(0)
    y, frame = rng.choice(["ham", "spam", "virus"], 200, p=[.6, .3, .1]), {}
    for name in ("net", "tree"):
        p = rng.dirichlet([2, 2, 1], 200).round(9)
        p[:, 2] = 1 - p[:, 0] - p[:, 1]
        frame |= {f"{name}_{c}": column for c, column in zip(["ham", "spam", "virus"], p.T)}
    frame = pd.DataFrame({"label": y, **frame, "w": rng.integers(1, 4, 200)})
    costs = pd.DataFrame([[0, 3, 1], [2, 0, 1], [90, 9, 1.]], ["ham", "spam", "virus"],
                         ["deliver", "delete", "ask"])
    costs.to_csv(tmp_path / "costs.csv")
    frame.to_csv(tmp_path / "mail.csv", index=False)
    frame[frame["label"] != "virus"].to_csv(tmp_path / "clean.csv", index=False)
    return tmp_path, frame, costs


def test_posteriors_are_guessed_and_a_prefix_may_end_as_the_columns_do(mail, capsys):
    folder, *_ = mail
    given = folder / "mail.csv", "--costs", folder / "costs.csv", "--weight", "w"
    said = [call(capsys, *given, *more) for more in (["--posteriors", "net,tree"],
                                                     ["--posteriors", "net_,tree_"], [])]
    assert [code for code, *_ in said] == [0, 0, 0], said
    ladder = said[0][1].split("model ", 1)[1]
    assert all(out.split("model ", 1)[1] == ladder for _, out, _ in said)
    assert "models 'net' (probabilities: 'net_ham' for ham, 'net_spam' for spam, 'net_virus' for virus), 'tree' (" in said[2][1]
    # of a class without samples, too
    assert "models 'net' (probabilities: " in call(capsys, folder / "clean.csv", *given[1:])[1]


def test_a_class_of_the_costs_may_be_missing_in_the_data(mail, capsys):
    folder, frame, costs = mail
    given = folder / "clean.csv", "--costs", folder / "costs.csv", "--posteriors", "net,tree"
    code, out, err = call(capsys, *given, "--priors", "ham=.7,spam=.3,virus=0")
    clean = frame[frame["label"] != "virus"]
    models = {name: clean[[f"{name}_{c}" for c in costs.index]].set_axis(costs.index, axis=1)
              for name in ("net", "tree")}
    table = CostMatrix(costs.to_numpy(), classes=list(costs.index), decisions=list(costs.columns))
    here = evaluate(clean["label"].to_numpy(), models, table, priors={"ham": .7, "spam": .3, "virus": 0},
                    rng=0)
    assert code == 0 and here.summary() in out, err
    assert "no sample of virus, whose prior is above 0" in call(capsys, *given, "--priors",
            "ham=.7,spam=.2,virus=.1")[2]
    # the classes across and one more decision below are a table on its side, not a class without samples
    pd.DataFrame([[0, 2], [3, 0], [1, 1.]], ["ham", "spam", "ask"],
                 ["ham", "spam"]).to_csv(folder / "costs.csv")
    assert "rows must be true classes" in call(capsys, *given[:3], "--posteriors", "net")[2]


def test_scenarios_are_those_of_python(scores, tmp_path, capsys):
    path, frame = scores
    frame["fee"] = 5 + np.arange(300) % 7
    frame.to_csv(path, index=False)
    risk = pd.DataFrame([[0., 1], [40, 0]], ["well", "ill"], ["well", "ill"])
    risk.to_csv(tmp_path / "ri:sk=1.csv")
    given = ["--fp", 1, "--fn", 9, "--positive", "ill", "--scores", "one,two"]
    code, out, _ = call(capsys, path, *given, "--scenario", f"risk={tmp_path / 'ri:sk=1.csv'}", "--scenario",
                        "sales=4:1", "--scenario", "own=2:fee", "--json", tmp_path / "r.json")
    scenarios = {"risk": risk, "sales": {"fp": 4, "fn": 1}, "own": {"fp": 2, "fn": frame["fee"]}}
    here = evaluate(frame["label"], frame[["one", "two"]], {"fp": 1, "fn": 9}, positive="ill",
                    scenarios=scenarios, rng=0)
    assert code == 0 and here.summary().splitlines()[
        -1] in out and "Under other costs, 95 % intervals:" in out
    assert json.loads((tmp_path / "r.json").read_text())["scenarios"] == json.loads(
        json.dumps(here.to_dict()["scenarios"]))
    for scenario, words in (("risk=none.csv", "--scenario: none.csv"),
                            ("risk", "--scenario: want NAME=FILE or NAME=FP:FN, got 'risk'"),
                            ("own=1:fees", "'fees' is unknown; did you mean 'fee'?"),
                            ("risk=1:-3", "--scenario 'risk': costs: ")):
        code, out, err = call(capsys, path, *given, "--scenario", scenario)
        assert code == 2, scenario
        assert words in err and "--scenario" in err
    assert "two have one name" in call(capsys, path, *given, "--scenario", "a=1:2", "--scenario", "a=1:3")[2]


def test_a_requirement_is_that_of_python(scores, capsys):
    path, frame = scores
    given = [path, "--fp", 1, "--fn", 9, "--positive", "ill", "--scores", "one,two"]
    code, out, _ = call(capsys, *given, "--require", "recall=.9,workload=95%")
    here = evaluate(frame["label"], frame[["one", "two"]], {"fp": 1, "fn": 9}, positive="ill",
                    require={"recall": .9, "workload": .95}, rng=0)
    assert (code == 0 and here.summary().splitlines()[
        1] in out and "one has out of fold recall" in here.summary() and "What is required, and its price"
        in out)
    for text, words in (("recall", "--require: want RATE=LIMIT,..., got 'recall'"),
                        ("recall=much", "--require: 'much' is not a number"),
                        ("rcall=.9", "did you mean 'recall'? (here: --require RATE=LIMIT,...)")):
        code, _, err = call(capsys, *given, "--require", text)
        assert code == 2 and words in err
