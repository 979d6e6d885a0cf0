"""cost-eval evaluate: the report from files, and one line for each mistake."""
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cost_eval import __main__ as command
from cost_eval import datasets
from cost_eval.__main__ import main
from cost_eval.page import answers
from cost_eval.report import evaluate
from cost_eval.samples import example_frame, read_file

ROOT = Path(__file__).parents[1]


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


@pytest.fixture
def one_draw(monkeypatch):
    "Where the question is not how often folds are drawn."
    monkeypatch.setattr("cost_eval.report._FIRST", 1)
    monkeypatch.setattr("cost_eval.report._MOST", 1)


def call(capsys, *arguments):
    code = main(["evaluate", *map(str, arguments)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_report_of_a_file_is_the_librarys(scores, tmp_path, capsys, one_draw):
    path, frame = scores
    out = {name: tmp_path / f"r.{name}" for name in ("html", "markdown", "json")}
    given = ["--title", "Ward 7", "--per-year", 1000, *(x for k in out for x in (f"--{k}", out[k]))]
    code, said, _ = call(capsys, path, "--fp", 1, "--fn", 9, "--positive", "ill", "--prevalence", ".1",
                         "--group", "site", "--scores", "one,two", *given)
    here = evaluate(frame["label"], frame[["one", "two"]], {"fp": 1, "fn": 9}, positive="ill", priors=.1,
                    groups=frame["site"], rng=0)
    assert code == 0 and here.summary() in said and all(f"written: {to}" in said for to in out.values())
    assert "By group" in said and "Between groups" in said
    written = json.loads(out["json"].read_text())
    assert written["best"] == json.loads(json.dumps(here.to_dict()["best"]))
    assert all(words in out[k].read_text() for k in list(out)[:2] for words in ("Ward 7", "On 1,000", "Use "))


def test_parquet_shards_decisions_and_posteriors(scores, tmp_path, capsys, one_draw):
    path, frame = scores
    frame["rule"] = np.where(frame["one"] > .4, "ill", "well")
    frame["p_ill"], frame["p_well"] = frame["two"], 1 - frame["two"]
    frame[:100].to_parquet(tmp_path / "a.parquet")
    frame[100:].to_parquet(tmp_path / "b.parquet")
    costs = pd.DataFrame([[0, 1], [9, 0]], ["well", "ill"], ["well", "ill"])
    costs.to_csv(tmp_path / "costs.csv")
    code, out, err = call(capsys, tmp_path / "a.parquet", tmp_path / "b.parquet", "--costs",
                          tmp_path / "costs.csv", "--scores", "rule", "--posteriors", "p",
                          "--priors", "ill=.2,well=.8", "--positive", "ill")
    models = {"rule": frame["rule"], "p": frame["two"]}
    here = evaluate(frame["label"], models, costs, positive="ill", priors=.2, rng=0)
    assert code == 0 and here.summary().splitlines()[1] in out, err


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

    "no positive": (None, FP, "--label: the labels ['ill', 'well'] do not"),
    "unknown positive": (None, [*FP, "--positive", "sick"], "there are ill, well (here: --positive"),
    "unknown label": (None, [*ILL, "--label", "lable"], "did you mean 'label'? (here: --label"),
    "unknown model": (None, [*ILL, "--scores", "tow"], "'tow' is unknown; there are id, label, site, one"),
    "unknown posteriors": (None, [*ILL, "--posteriors", "q"], "no column begins with 'q_'; there are ['id'"),
    "unknown class of a column": (None, [*ILL, "--posteriors", "one=sick"], "must be of ['well', 'ill']"),
    "whose posteriors": (None, [*ILL, "--posteriors", "one"], "name them with their classes, COL=CLASS"),

    "unknown rule": (None, [*ILL, "--rule", "bays"], "did you mean 'bayes'? (here: --rule"),

    "no number for a cost": (None, ["--fp", "1,5", "--fn", 2], "no range (5:20) and no column"),
    "both priors": (None, [*ILL, "--priors", "ill=.1,well=.9", "--prevalence", ".1"], "--prevalence says"),
    "a title of nothing": (None, [*ILL, "--title", "June"], "give --html FILE or --markdown FILE, too"),
    "a decision's name": (lambda f: f.rename(columns={"two": "always ill"}), ILL, "judged anyway; rename"),
    "a page nowhere": (None, [*ILL, "--html", "/nowhere/r.html"], "cannot be written"),
    "weights that are text": (None, [*ILL, "--weight", "site"], "--weight: expected numbers, got "),
    "costs in a folder": (None, ["--costs", "."], "--costs: .: a folder; name the files in it, ./*"),
    "costs of JSON": (None, ["--costs", "c.json"], "--costs: JSON does not say which labels are classes"),
    "no cost file": (None, ["--costs", "none.csv"], "none.csv: no such file"),
    "a class called NA": (lambda f: f.replace({"label": {"well": "NA"}}), ILL, "NA, None or null .*rename"),
    "no number in row 5": (lambda f: f.assign(one=f["one"].astype(object).where(f["id"] != 4, "n/k")),
                           [*ILL, "--scores", "one"], "model 'one': 'n/k' is not in .* (position 4)"),
    "a comma in row 5": (lambda f: f.assign(one=f["one"].astype(object).where(f["id"] != 4, "0,4")), ILL,
                         "column 'one' has '0,4' in row 5, the other numbers the mark '.'"),
    "another mark": (lambda f: f.set_axis(["id;label", *f.columns[1:]], axis=1)[["id;label"]], ILL,
                     "give --sep=';' (and --decimal=, where commas are decimal marks)"),
    "commas in numbers": (lambda f: f.assign(one=f["one"].astype(str).str.replace(".", ",")), ILL,
                          "models: ['one']: holds text, '0,43762': read the file with --decimal="),
    "a feature": (lambda f: f.assign(income=900 + f["id"] % 7), ILL, "['income']: numbers beyond [0, 1]"),
    "no rows": (lambda f: f[:0], ILL, ".csv: no rows"),
    "no model": (lambda f: f[["label", "id"]].assign(age=40), ILL, "left out: 'id' (its name), 'age'"),
    "a column twice": (lambda f: f.rename(columns={"two": "one"}), ILL, "occurs twice"),
    "half a scenario": (None, [*ILL, "--scenario", "risk"], "want NAME=FILE or NAME=FP:FN, got 'risk'"),
    "a scenario of nobody": (None, [*ILL, "--scenario", "own=1:sit"], "no column; did you mean 'site'"),
    "text as a price": (None, ["--fp", 1, "--fn", "site"], "--fn: 'site' holds text, "),
    "a scenario twice": (None, [*ILL, "--scenario", "a=1:2", "--scenario", "a=1:3"], "two have one name"),
    "half a requirement": (None, [*ILL, "--require", "recall"], "--require: want RATE=LIMIT,..., got"),
    "another rate": (None, [*ILL, "--require", "sensitivity=.9"], "'recall'? (here: --require RATE=LIMIT,...)"),
    "costs of others": (",no,yes\nno,0,1\nyes,9,0\n", ["--costs", "costs.csv"], "classes = ['no', 'yes']"),
    **{f"costs, {text}": (text, ["--costs", "costs.csv", "--positive", "ill"], says) for text, says in (
        (",well,ill\nwell,0,one\nill,9,0\n", "'one' in row 'well', column 'ill'"),
        (",well,ill\nwell,0,\nill,9,0\n", "want a number"),
        (",well,well\nwell,0,1\nill,9,0\n", "occurs twice"),
        ("", "cannot be read"),
        (",well,ill\nwell,0,9\nill,1,0\nask,.2,.2\n", "rows must be true classes"))},
}


TWO_LABELS = lambda f: f.assign(was=f["label"],
                                flag=np.where(f["id"] > 9, "x", "y")).drop(columns="label")  # noqa: E731
# what is left out -> another file, what is given, the options that the error names
MISSING = {
    "costs": (None, [], ["--positive=ill", "--fp=1", "--fn=20"]),
    "a miss": (None, ["--fp", "3", "--positive", "ill"], ["--fn=60"]),
    "costs of -1 and 1": (lambda f: f.assign(label=np.where(f["label"] == "ill", -1, 1)), [],
                          ["--positive=-1", "--fp=1", "--fn=20"]),
    "all": (TWO_LABELS, ["--prevalence", "5%"], ["--label=was", "--positive=ill", "--fp=1", "--fn=20"]),
    "a cost a row": (lambda f: f.assign(amount=5.5), ["--fp", "amount"], ["--positive=ill", "--fn=20"])}


@pytest.mark.parametrize("change, given, options", MISSING.values(), ids=MISSING)
def test_what_is_missing_is_named_in_a_line_that_works(scores, capsys, one_draw, change, given, options):
    path, frame = scores
    frame = frame if change is None else change(frame)
    frame.drop(columns="site").to_csv(path, index=False)
    code, _, err = call(capsys, path, *given)
    line = shlex.split(err.partition("; for example: ")[2])
    assert code == 2 and line == ["cost-eval", "evaluate", str(path), *given, *options], err
    assert main(line[1:]) == 0


def test_one_example_and_one_set_of_numbers_in_readme_and_chapters(tmp_path, capsys, monkeypatch):
    "The README's own two lines; what they print stands in README and 95."
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text()
    example, judged = (re.search(f"^(cost-eval {verb} [^#]*?) +#", readme, re.M)[1]
                       for verb in ("example", "evaluate"))
    assert main(shlex.split(example)[1:]) == 0 and capsys.readouterr().out.rstrip().endswith(judged)
    assert pd.read_csv("scores.csv").equals(example_frame())
    assert main(shlex.split(judged)[1:]) == 0
    out = capsys.readouterr().out.rstrip()
    assert f"```text\n$ {judged}\n{out}\n```" in readme
    cells = json.loads((ROOT / "nbs" / "95_judge.ipynb").read_text())["cells"]
    said = ["".join(o.get("text", "")).split() for cell in cells for o in cell.get("outputs", ())]
    assert f"$ {judged}\n{out}".split() in said
    for file, says in (("scores.csv", "there is such a file already; name another one"),
                       ("scores.parquet", "name it scores.csv"), ("no/scores.csv", "cannot be written")):
        assert main(["example", file]) == 2 and says in capsys.readouterr().err


@pytest.mark.parametrize("given, says", [(["--prevalence", "some"], "'some' is not a number"),
                                         (["--seed=-1"], "'-1' is not a whole number"),
                                         (["--colour", "red"], "'--colour' is unknown; there are --label"),
                                         (["--sores", "one"], "unknown; did you mean '--scores'")])
def test_options_that_are_none(scores, capsys, given, says):
    with pytest.raises(SystemExit) as stop:
        call(capsys, scores[0], *ILL, *given)
    err = capsys.readouterr().err
    assert stop.value.code == 2 and says in err and len(err.strip().splitlines()) == 1


@pytest.mark.parametrize("change, arguments, says", BAD.values(), ids=BAD)
def test_mistakes(scores, tmp_path, capsys, monkeypatch, change, arguments, says):
    path, frame = scores
    monkeypatch.chdir(tmp_path)
    if isinstance(change, str):
        (tmp_path / "costs.csv").write_text(change)
    elif change:
        change(frame).to_csv(path, index=False)
    code, _, err = call(capsys, path, *arguments)
    pattern = ".*".join(map(re.escape, says.split(".*")))
    assert code == 2 and re.search(pattern, err) and len(err.strip().splitlines()) == 1, err


@pytest.mark.parametrize("rule, capacity", [("calibrated", None), ("tuned", None), ("bayes", 150)])
def test_the_same_file_through_every_door(tmp_path, capsys, one_draw, rule, capacity):
    "Python and the command: the same verdict, word for word."
    frame, priced = example_frame(), dict(fp=1, fn=20)
    frame.to_csv(tmp_path / "scores.csv")
    here = evaluate(frame["label"], frame[["model_a", "model_b"]], priced, positive="ill", priors=.05,
                    rule=rule, capacity=capacity, rng=0)
    limit = [] if capacity is None else ["--capacity", capacity]
    out = call(capsys, tmp_path / "scores.csv", "--fp", 1, "--fn", 20, "--prevalence", ".05",
               "--positive", "ill", "--rule", rule, *limit)[1]
    told = " ".join(line.partition(": ")[2] for line in out.splitlines())
    assert " ".join(answers(here, command._said).values()) in told


def test_whose_probability_and_only_the_order(scores, tmp_path, capsys, one_draw):
    path, frame = scores
    plain = call(capsys, path, *ILL, "--scores", "two")[1]
    frame.assign(two=1 - frame["two"]).to_csv(tmp_path / "t.csv", index=False)
    assert "give --posteriors COLUMN='well'" in call(capsys, tmp_path / "t.csv", *ILL, "--scores", "two")[1]
    remedied = call(capsys, tmp_path / "t.csv", *ILL, "--posteriors", "two=well", "--label", "label")[1]
    assert plain.splitlines()[-4:] == remedied.splitlines()[-4:]
    ranks = call(capsys, path, *ILL, "--ranks", "two")[1]
    assert " bayes " not in ranks.split(" cases, ")[0] and "Use two and decide ill from" in ranks


def test_decisions_folds_clusters_and_percent(scores, tmp_path, capsys):
    path, frame = scores
    frame = frame.assign(verdict=np.where(frame["one"] > .4, "ill", "well"), part=frame["id"] // 3 % 5,
                         ward=frame["id"] // 3, w=frame["id"] % 3 + 1.)
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = call(capsys, tmp_path / "t.csv", *ILL, "--fold", "part", "--cluster", "ward", "--weight", "w",
               "--prevalence", "10%", "--rule", "one=bayes,two=tuned")[1]
    here = evaluate(frame["label"], frame[["one", "two", "verdict"]], dict(fp=1, fn=2), positive="ill",
                    priors=.1, rule={"one": "bayes", "two": "tuned"}, rng=0, folds=frame["part"],
                    clusters=frame["ward"], sample_weight=frame["w"])
    assert here.summary().split("\n")[1] in out and "pooled from cross-validation" in out


def test_spreadsheets(scores, tmp_path, capsys, monkeypatch, one_draw):
    path, frame = scores
    sheet, table = tmp_path / "c.xlsx", pd.DataFrame([[0, 1], [9, 0]], ["well", "ill"], ["well", "ill"])
    sheet.write_bytes(b"PK no sheet")
    for given in ((sheet, *ILL), (path, "--costs", sheet, "--positive", "ill")):
        code, _, err = call(capsys, *given)
        assert code == 2 and "c.xlsx: cannot be read as Excel" in err and len(err.splitlines()) == 1

    def read_excel(source, index_col=None, header=0, **_):
        return pd.DataFrame([list(frame)]) if header is None else frame if index_col is None else table

    monkeypatch.setattr(pd, "read_excel", read_excel)
    code, out, _ = call(capsys, sheet, "--costs", sheet, "--positive", "ill")
    here = evaluate(frame["label"], frame[["one", "two"]], table, positive="ill", rng=0)
    assert code == 0 and here.summary() in out


def test_other_separators_and_decimal_marks_are_said(tmp_path, capsys, scores, one_draw):
    path, frame = scores
    given = ("--fp", 1, "--fn", 9.5, "--positive", "ill", "--scores", "one,two")
    plain = call(capsys, path, *given)[1]
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "t.txt", index=False, sep="\t")
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    costs = pd.DataFrame([[0, 1], [9.5, 0]], ["well", "ill"], ["well", "ill"])
    costs.to_csv(tmp_path / "c.csv", sep=";", decimal=",")
    for name, *marks in (("t.tsv",), ("t.txt", "--sep", "\\t"), ("t.csv", "--sep", ";", "--decimal", ",")):
        assert call(capsys, tmp_path / name, *given, *marks)[:2] == (0, plain)
    priced = tmp_path / "t.csv", "--costs", tmp_path / "c.csv", *given[4:], *marks
    assert call(capsys, *priced)[1].splitlines()[1:] == plain.splitlines()[1:]


def test_any_header_can_be_named(tmp_path, capsys, one_draw):
    "With equals signs, commas and spaces in it; the ladder is that of the plain column."
    rng = np.random.default_rng(4)
    y, p, file = np.arange(200) % 3 == 0, rng.random(200).round(6), tmp_path / "s.csv"
    pd.DataFrame({"Churn": np.where(y, "Yes", "No"), "P (Churn=No)": 1 - p, "P (Churn=Yes)": p, "plain": p,
                  "age, in words": "x", "loss=EUR": 5., "p, net": p}).to_csv(file, index=False)

    def rung(*given, miss=5):
        out = call(capsys, file, "--label", "Churn", "--positive", "Yes", "--fp", 1, "--fn", miss, *given)[1]
        (found,) = re.findall(r" calibrated +([.0-9].*)", out)
        return found.split()

    wanted = rung("--scores", "plain")
    for given in (["--scores", '"p, net"'], ["--posteriors", "P (Churn=Yes)=Yes"],
                  ["--posteriors", "P (Churn=No)=No,P (Churn=Yes)=Yes"], ["--posteriors", "P (Churn=No)=No"],
                  ["--scores", "P (Churn=Yes)", "--rule", "P (Churn=Yes)=calibrated"]):
        assert rung(*given) == wanted, given
    assert rung("--scores", "plain", miss="loss=EUR")[0] == wanted[0]


WAYS = {  # how a table is written -> the end of the file's name
    ".csv": lambda f, to: f.to_csv(to, index=False), ".csv.gz": lambda f, to: f.to_csv(to, index=False),
    ".bom.csv": lambda f, to: f.to_csv(to, index=False, encoding="utf-8-sig"),
    ".tsv.bz2": lambda f, to: f.to_csv(to, index=False, sep="\t"),
    ".csv.zip": lambda f, to: f.to_csv(to, index=False), ".columns.json": lambda f, to: f.to_json(to),
    ".json": lambda f, to: f.to_json(to, orient="records"),
    ".blank.csv": lambda f, to: to.write_text(f.to_csv(index=False).replace(",", ", ")),
    ".bom.jsonl": lambda f, to: to.write_text(f.to_json(orient="records", lines=True), encoding="utf-8-sig"),
    ".ndjson.gz": lambda f, to: f.to_json(to, orient="records", lines=True),
    ".parquet": lambda f, to: f.to_parquet(to), ".feather": lambda f, to: f.to_feather(to)}


@pytest.mark.parametrize("end", WAYS)
def test_a_file_of_any_kind_is_its_table(scores, tmp_path, end):
    frame, lower, upper = scores[1], tmp_path / f"s{end}", tmp_path / f"S{end}".upper()
    WAYS[end](frame, lower)
    upper.write_bytes(lower.read_bytes())
    for file in (lower, upper):
        pd.testing.assert_frame_equal(read_file(file), frame, check_dtype=False)


@pytest.mark.parametrize("name, content, index_col, wanted", [
    ("a.csv", b"label,1,1.0\n1,.5,.2\n0,.3,.4\n", None, {"label": [1, 0], "1": [.5, .3], "1.0": [.2, .4]}),
    ("a.csv", b"-1,1.0\n.5,.5\n.3,.7\n", None, {"-1": [.5, .3], "1.0": [.5, .7]}),
    ("c.csv", b"class,0,1\n0,0,1\n1,5,0\n", 0, {"0": [0, 5], "1": [1, 0]}),

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
    ("a.csv", b"no,.5\nyes,.7\n", "its first line holds the value .5; put a line of names above it"),
    ("a.csv.gz", b"label,m\n1,2\n", "CSV: Not a gzipped file"), ("a.json", b"{", "JSON"),
    ("a.feather", b"FEA1", "feather"), ("a.parquet", b"PAR1", "parquet"),
    ("a.pkl", b"\x80\x04\x95\x00", "save it as CSV in UTF-8")])
def test_what_is_no_table_is_refused_with_the_line_and_a_remedy(tmp_path, capsys, name, content, says):
    (tmp_path / name).write_bytes(content)
    code, _, err = call(capsys, tmp_path / name, *FP)
    assert code == 2 and f"{name}: cannot be read as" in err and says in err and "; " in err
    assert len(err.splitlines()) == 1


def test_nothing_half_written(tmp_path, capsys, scores, monkeypatch):
    monkeypatch.setattr("cost_eval.report.Report.to_html", lambda self, **given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call(capsys, scores[0], *ILL, "--html", tmp_path / "r.html")
    assert [p.name for p in tmp_path.iterdir()] == ["s.csv"]


@pytest.mark.parametrize("absent, extra, arguments", [
    ("matplotlib", "book", ["reproduce"]), ("matplotlib", "book", ["list"]),
    ("jinja2", "book", ["evaluate", "@", *map(str, ILL), "--html", "y.html"]),
    ("pandas", "data", ["evaluate", "@", "--fp", "1", "--fn", "2"]), ("pandas", "data", ["example", "x.csv"]),
    ("pandas", "data", ["decide", "@", "--rule", "r.json", "--out", "z.csv"])])
def test_a_missing_library_is_named_and_nothing_is_written(scores, tmp_path, monkeypatch, capsys, one_draw,
                                                           absent, extra, arguments):
    monkeypatch.chdir(tmp_path)
    if "decide" in arguments:
        call(capsys, scores[0], *ILL, "--save-rule", "r.json")
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
    def run(arguments):
        raise KeyboardInterrupt
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
    rng, names = np.random.default_rng(0), ["ham", "spam", "virus"]
    frame = pd.DataFrame({"label": rng.choice(names, 200, p=[.6, .3, .1]), "w": rng.integers(1, 4, 200)})
    for model in ("net", "tree"):
        p = rng.dirichlet([2, 2, 1], 200).round(9)
        p[:, 2] = 1 - p[:, 0] - p[:, 1]
        frame[[f"{model}_{name}" for name in names]] = p
    costs = pd.DataFrame([[0, 3, 1], [2, 0, 1], [90, 9, 1.]], names, ["deliver", "delete", "ask"])
    costs.to_csv(tmp_path / "costs.csv")
    frame.to_csv(tmp_path / "mail.csv", index=False)
    frame[frame["label"] != "virus"].to_csv(tmp_path / "clean.csv", index=False)
    return tmp_path, frame, costs


def test_posteriors_are_guessed_and_a_prefix_may_end_as_the_columns_do(mail, capsys, one_draw):
    folder, *_ = mail
    given = folder / "mail.csv", "--costs", folder / "costs.csv", "--weight", "w"
    said = [call(capsys, *given, *more) for more in (["--posteriors", "net,tree"],
                                                     ["--posteriors", "net_,tree_"], [])]
    assert [code for code, *_ in said] == [0, 0, 0], said
    assert len({out.split("model ", 1)[1] for _, out, _ in said}) == 1
    assert "'net_spam' for spam, 'net_virus' for virus), 'tree' (" in said[2][1]
    # of a class without samples, too
    assert "models 'net' (probabilities: " in call(capsys, folder / "clean.csv", *given[1:])[1]


def test_a_class_of_the_costs_may_be_missing_in_the_data(mail, capsys, one_draw):
    folder, frame, costs = mail
    given = folder / "clean.csv", "--costs", folder / "costs.csv", "--posteriors", "net,tree", "--priors"
    code, out, err = call(capsys, *given, "ham=.7,spam=.3,virus=0")
    clean = frame[frame["label"] != "virus"]
    models = {name: clean[[f"{name}_{c}" for c in costs.index]].set_axis(costs.index, axis=1)
              for name in ("net", "tree")}
    here = evaluate(clean["label"], models, costs, priors={"ham": .7, "spam": .3, "virus": 0}, rng=0)
    assert code == 0 and here.summary() in out, err
    assert "no sample of virus, whose prior" in call(capsys, *given, "ham=.7,spam=.2,virus=.1")[2]


def test_scenarios_and_requirements_are_those_of_python(scores, tmp_path, capsys, one_draw):
    path, frame = scores
    frame["fee"] = 5 + np.arange(300) % 7
    frame.to_csv(path, index=False)
    risk = pd.DataFrame([[0., 1], [40, 0]], ["well", "ill"], ["well", "ill"])
    risk.to_csv(tmp_path / "ri:sk=1.csv")
    scenarios = {"risk": risk, "sales": {"fp": 4, "fn": 1}, "own": {"fp": 2, "fn": frame["fee"]}}
    words = [f"risk={tmp_path / 'ri:sk=1.csv'}", "sales=4:1", "own=2:fee"]
    said = [part for word in words for part in ("--scenario", word)]
    kept = {"recall": .9, "workload": .95}
    for given, options in ((said, {"scenarios": scenarios}),
                           (["--require", "recall=.9,workload=95%"], {"require": kept})):
        code, out, _ = call(capsys, path, "--fp", 1, "--fn", 9, "--positive", "ill", "--scores", "one,two",
                            "--json", tmp_path / "r.json", *given)
        here = evaluate(frame["label"], frame[["one", "two"]], {"fp": 1, "fn": 9}, positive="ill", rng=0,
                        **options)
        assert code == 0 and here.summary().splitlines()[1] in out
        written, wanted = (tmp_path / "r.json").read_text(), json.dumps(here.to_dict())
        written, wanted = json.loads(written), json.loads(wanted)
        assert all(written[name] == wanted[name] for name in ("best", "scenarios", "constraint"))
