"""cost-eval evaluate: the report from files, and one line for each mistake."""
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cost_eval import __main__ as command, datasets, reproduce
from cost_eval.__main__ import main
from cost_eval.costs import CostMatrix
from cost_eval.report import evaluate


@pytest.fixture
def scores(tmp_path):
    "A CSV of 300 samples and its frame."
    rng = np.random.default_rng(0)
    ill = rng.random(300) < .3
    frame = pd.DataFrame({"id": range(300), "label": np.where(ill, "ill", "well"), "site": rng.choice(["a", "b"], 300)})
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
    code, out, _ = call(capsys, path, "--fp", 1, "--fn", 9, "--positive", "ill", "--prevalence", ".1", "--group", "site", "--scores", "one,two",
                        "--json", tmp_path / "r.json", "--html", tmp_path / "r.html")
    costs = CostMatrix.binary(fp=1, fn=9, classes=["well", "ill"])
    here = evaluate(frame["label"].to_numpy(), {m: frame[m].to_numpy() for m in ("one", "two")}, costs, priors=[.9, .1], groups=frame["site"].to_numpy(), rng=0)
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
    code, out, err = call(capsys, tmp_path / "a.parquet", tmp_path / "b.parquet", "--costs", tmp_path / "costs.csv", "--scores", "rule", "--posteriors", "p",
                          "--priors", "ill=.2,well=.8")
    assert code == 0 and "300 samples" in out and "rule" in out and "p " in out, err


def test_columns_are_guessed_and_said(scores, capsys):
    path, _ = scores
    code, out, _ = call(capsys, path, "--fp", 1, "--fn", 2)
    assert code == 0 and "column 'label' (guessed" in out and "'one', 'two' (guessed" in out


@pytest.mark.parametrize("change, arguments, says", [
    (None, ["--fp", 1], "--fp and --fn"),
    (None, ["--fp", 1, "--fn", 2, "--label", "lable"], "did you mean 'label'"),
    (None, ["--fp", 1, "--fn", 2, "--scores", "tow"], "did you mean 'two'"),
    (None, ["--fp", 1, "--fn", 2, "--prevalence", 5], "--prevalence: must lie in (0, 1)"),
    (None, ["--fp", 1, "--fn", 2, "--positive", "sick"], "--positive"),
    (None, ["--fp", 1, "--fn", 2, "--html", "/nowhere/r.html"], "cannot be written"),
    (None, ["--fp", 1, "--fn", 2, "--scores", "site"], "holds text"),
    (None, ["--fp", 1, "--fn", 2, "--priors", "ill"], "--priors"),
    (lambda f: f.assign(one=f["one"].where(f["id"] > 3)), ["--fp", 1, "--fn", 2], "missing values, the first in row 1"),
    (lambda f: f.drop(columns="label").assign(site="a"), ["--fp", 1, "--fn", 2], "--label: none of the columns"),
    (lambda f: f.assign(flag=f["id"] > 9).rename(columns={"label": "was"}), ["--fp", 1, "--fn", 2], "several have two values"),
    (lambda f: f.assign(one=f["one"].astype(object).where(f["id"] != 4, "n/k")), ["--fp", 1, "--fn", 2, "--scores", "one"], "holds text, 'n/k' in row 5"),
    (lambda f: f.assign(one=np.inf), ["--fp", 1, "--fn", 2, "--scores", "one"], "models['one']: inf at position 0"),
    (lambda f: f.assign(label="ill"), ["--fp", 1, "--fn", 2], "two classes are needed"),
    (None, ["--fp", -1, "--fn", 2], "--fp: -1 is no more than the right decision costs"),
    (None, ["--fp", 1, "--fn", 2, "--tp", 3], "--fn: 2 is no more than the right decision costs (--tp: 3)"),
    (None, ["--costs", "none.csv"], "--costs: none.csv: no such file"),
    (None, ["--fp", 1, "--fn", 2, "--label", "label", "--scores", "tow"], "did you mean 'two'"),
    (None, ["--fp", 1, "--fn", 2, "--confidence", 95], "95 % is .95"),
    (lambda f: f[:0], ["--fp", 1, "--fn", 2], "no rows"),
    (lambda f: f[["label"]], ["--fp", 1, "--fn", 2], "--scores: no column of numbers"),
    (lambda f: f.rename(columns={"two": "one"}), ["--fp", 1, "--fn", 2], "stands twice")])
def test_mistakes(scores, tmp_path, capsys, change, arguments, says):
    path, frame = scores
    if change:
        change(frame).to_csv(path, index=False)
    code, _, err = call(capsys, path, *arguments)
    assert code == 2 and says in err and "Traceback" not in err and len(err.strip().splitlines()) == 1


def test_other_files(tmp_path, capsys, scores):
    path, frame = scores
    assert call(capsys, tmp_path / "none.csv", "--fp", 1, "--fn", 2)[2].endswith("no such file\n")
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    assert "cannot be read as parquet" in call(capsys, tmp_path / "x.parquet", "--fp", 1, "--fn", 2)[2]
    frame.rename(columns={"two": "three"}).to_csv(tmp_path / "t.csv", index=False)
    assert "but" in call(capsys, path, tmp_path / "t.csv", "--fp", 1, "--fn", 2)[2]
    table = pd.DataFrame([[0, 1, .2], [9, 0, .2]], ["well", "ill"], ["well", "ill", "ask"])
    table.T.to_csv(tmp_path / "turned.csv")
    assert "rows must be" in call(capsys, path, "--costs", tmp_path / "turned.csv")[2]


@pytest.mark.parametrize("text, says", [(",well,ill\nwell,0,one\nill,9,0\n", "'one' in row 'well', column 'ill'"), (",well,ill\nwell,0,\nill,9,0\n", "want a number"),
                                        (",well,well\nwell,0,1\nill,9,0\n", "stands twice"), (",no,yes\nno,0,1\nyes,9,0\n", "rows must be the classes"), ("", "cannot be read")])
def test_cost_files(tmp_path, capsys, scores, text, says):
    (tmp_path / "costs.csv").write_text(text)
    code, _, err = call(capsys, scores[0], "--costs", tmp_path / "costs.csv")
    assert code == 2 and says in err and len(err.strip().splitlines()) == 1


def test_other_separators_counters_and_large_files(tmp_path, capsys, scores, monkeypatch):
    path, frame = scores
    plain = call(capsys, path, "--fp", 1, "--fn", 9, "--positive", "ill", "--scores", "one,two")[1]
    for mark, decimal in ((";", ","), ("\t", "."), (";", ".")):
        frame.to_csv(tmp_path / "t.csv", index=False, sep=mark, decimal=decimal)
        code, out, _ = call(capsys, tmp_path / "t.csv", "--fp", 1, "--fn", 9, "--positive", "ill", "--scores", "one,two")
        assert code == 0 and plain in out and f"separated by {mark!r}, decimal mark {decimal!r}" in out
    frame.rename(columns={"id": "txn", "label": "state"}).drop(columns="site").to_csv(tmp_path / "t.csv", index=False)
    out = call(capsys, tmp_path / "t.csv", "--fp", 1, "--fn", 9)[1]
    assert "true labels: column 'state'" in out and "left out: column 'txn'" in out and "models: columns 'one', 'two'" in out
    monkeypatch.setattr("cost_eval.__main__._LARGE", 10)
    code, out, err = call(capsys, path, "--fp", 1, "--fn", 9, "--positive", "ill", "--scores", "one,two", "--label", "label")
    assert code == 0 and "300 rows" in err and plain.split("positive class", 1)[1] in out


def test_nothing_half_written(tmp_path, capsys, scores, monkeypatch):
    monkeypatch.setattr("cost_eval.report.Report.to_html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call(capsys, scores[0], "--fp", 1, "--fn", 9, "--html", tmp_path / "r.html")
    assert [p.name for p in tmp_path.iterdir()] == ["s.csv"]


def test_priors_need_their_classes(scores, tmp_path, capsys):
    path, frame = scores
    frame.assign(label=np.resize(["a", "b", "c"], 300)).to_csv(tmp_path / "three.csv", index=False)
    pd.DataFrame(1 - np.eye(3), [*"abc"], [*"abc"]).to_csv(tmp_path / "costs.csv")
    three = tmp_path / "three.csv", "--costs", tmp_path / "costs.csv"
    assert "--prevalence: for two classes; give --priors" in call(capsys, *three, "--prevalence", .1)[2]
    assert "no column begins with 'q_'; there are ['id'" in call(capsys, *three, "--posteriors", "q")[2]


def test_missing_libraries_are_named_at_once(monkeypatch, capsys):
    there, absent = command.importlib.util.find_spec, []
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None if name in absent else there(name))
    for absent, arguments, says in ((["voila", "matplotlib", "pandas"], ["app"], 'voila, matplotlib, pandas needed for this: pip install "cost_eval[app]"'),
                                    (["voila", "matplotlib", "tqdm"], ["reproduce"], 'tqdm, matplotlib needed for this: pip install "cost_eval[book]"'),
                                    (["matplotlib"], ["evaluate", "x.csv", "--fp", "1", "--fn", "2", "--html", "y.html"], 'matplotlib needed for this: pip install "cost_eval[book]"'),
                                    (["pandas"], ["evaluate", "x.csv", "--fp", "1", "--fn", "2"], 'pandas needed for this: pip install "cost_eval[data]"')):
        assert main(arguments) == 2 and says in capsys.readouterr().err


def test_a_table_needs_no_plots(monkeypatch, capsys, tmp_path):
    there = command.importlib.util.find_spec
    monkeypatch.setattr(command.importlib.util, "find_spec", lambda name: None if name == "matplotlib" else there(name))
    (tmp_path / "s.csv").write_text("label,a,b\n" + "0,.1,.1\n1,.8,.7\n" * 8)
    assert main(["evaluate", str(tmp_path / "s.csv"), "--fp", "1", "--fn", "5"]) == 0
    assert "It saves 0 per case" in capsys.readouterr().out  # both models cost the same; not -0


def test_reproduce_hands_over_and_says_what_failed(monkeypatch, capsys):
    asked = []
    results = [SimpleNamespace(name="p/good", verdict="agrees", note="", fails=False), SimpleNamespace(name="p/bad", verdict="failed", note="1 / 0", fails=True)]
    monkeypatch.setattr(reproduce, "run", lambda items, **options: asked.append((items, options)) or results[:1 + ("p" in items)])
    monkeypatch.setattr(reproduce, "scoreboard", lambda found, form: f"{form}: {len(found)}")
    assert main(["reproduce", "p", "--budget", "full", "--jobs", "2", "--data", "d", "--out", "o"]) == 1
    said = capsys.readouterr()
    assert "p/bad failed\n1 / 0" in said.err and "p/good" not in said.err and "text: 2" in said.out and "written to o/" in said.out
    assert asked == [(["p"], {"budget": "full", "data_dir": "d", "jobs": 2, "out": "o", "progress": True})]
    assert main(["reproduce"]) == 0 and asked[1][1] == {"budget": "quick", "data_dir": None, "jobs": 1, "out": "_reproduced", "progress": True}


def test_fetch_says_a_line_each(monkeypatch, capsys):
    def fetch(name, **options):
        if name == "telco":
            raise datasets.DataNotAvailable("telco", "nobody answers")
        return [Path("a") / name]
    monkeypatch.setattr(datasets, "names", lambda names, small: ["heart", "telco"][:1 if names else 2])
    monkeypatch.setattr(datasets, "fetch", fetch)
    assert main(["data", "fetch"]) == 1
    first, second, last, how = capsys.readouterr().out.splitlines()
    assert first.split() == ["heart", str(Path("a/heart"))] and second.split("not fetched: ")[1] == f"nobody answers; by hand: {datasets.data_set('telco').page}"
    assert last.startswith("1 of 2 data sets") and "COST_EVAL_DATA" in how
    assert main(["data", "fetch", "--small"]) == 0  # the small ones are a service, not a promise
    capsys.readouterr()
    assert main(["data", "fetch", "heart"]) == 0 and "data sets" not in capsys.readouterr().out


@pytest.mark.parametrize("with_file", [False, True])
def test_app_serves_a_notebook_of_one_cell(monkeypatch, scores, with_file, capsys):
    pytest.importorskip("voila")
    seen = []

    def serve(call):
        cell, = json.loads(Path(call[3]).read_text())["cells"]
        seen.append((call[:3], call[4:], cell["source"]))
        return SimpleNamespace(returncode=7)
    monkeypatch.setattr(command.subprocess, "run", serve)
    monkeypatch.setattr("cost_eval.app.App._picture", lambda self, panel: b"")
    path, frame = scores
    assert main(["app", *([str(path)] if with_file else []), "--port", "99", *["--no-browser"] * with_file]) == 7
    (program, options, source), = seen
    assert program == [sys.executable, "-m", "voila"] and options == ["--port=99", "--Voila.ip=127.0.0.1", *["--no-browser"] * with_file]
    names = {}
    exec(source, names)
    assert names["app"].report.n == (300 if with_file else 2000) and source.endswith("app.box")
    assert main(["app", str(path) + "x"]) == 2 and "s.csvx: no such file" in capsys.readouterr().err


def test_a_reader_that_leaves_and_one_that_interrupts(monkeypatch, capfd):
    def stopped(error):
        def run(arguments): raise error
        return run
    monkeypatch.setattr(command, "_list", stopped(KeyboardInterrupt()))
    assert main(["list"]) == 130 and capfd.readouterr().err == "cost-eval: interrupted\n"
    kept = os.dup(1)
    monkeypatch.setattr(command, "_list", stopped(BrokenPipeError()))
    try:
        with open(1, "w", closefd=False) as out:
            monkeypatch.setattr(sys, "stdout", out)
            assert main(["list"]) == 0
            os.write(1, b"more")  # goes nowhere
    finally:
        os.dup2(kept, 1)
        os.close(kept)
    assert capfd.readouterr() == ("", "")


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
    costs = pd.DataFrame([[0, 3, 1], [2, 0, 1], [90, 9, 1.]], ["ham", "spam", "virus"], ["deliver", "delete", "ask"])
    costs.to_csv(tmp_path / "costs.csv")
    frame.to_csv(tmp_path / "mail.csv", index=False)
    frame[frame["label"] != "virus"].to_csv(tmp_path / "clean.csv", index=False)
    return tmp_path, frame, costs


def test_posteriors_are_guessed_and_a_prefix_may_end_as_the_columns_do(mail, capsys):
    folder, *_ = mail
    given = folder / "mail.csv", "--costs", folder / "costs.csv", "--weight", "w"
    said = [call(capsys, *given, *more) for more in (["--posteriors", "net,tree"], ["--posteriors", "net_,tree_"], [])]
    assert [code for code, *_ in said] == [0, 0, 0], said
    ladder = said[0][1].split("model ", 1)[1]
    assert all(out.split("model ", 1)[1] == ladder for _, out, _ in said)
    assert "models: posteriors 'net', 'tree' (guessed; --posteriors and --scores name others)" in said[2][1]


def test_a_class_of_the_costs_may_be_missing_in_the_data(mail, capsys):
    folder, frame, costs = mail
    given = folder / "clean.csv", "--costs", folder / "costs.csv", "--posteriors", "net,tree"
    code, out, err = call(capsys, *given, "--priors", "ham=.7,spam=.3,virus=0")
    clean = frame[frame["label"] != "virus"]
    models = {name: clean[[f"{name}_{c}" for c in costs.index]].set_axis(costs.index, axis=1) for name in ("net", "tree")}
    table = CostMatrix(costs.to_numpy(), classes=list(costs.index), decisions=list(costs.columns))
    here = evaluate(clean["label"].to_numpy(), models, table, priors={"ham": .7, "spam": .3, "virus": 0}, rng=0)
    assert code == 0 and here.summary() in out, err
    assert "no sample of virus although the priors give weight to it" in call(capsys, *given, "--priors", "ham=.7,spam=.2,virus=.1")[2]
    # the classes across and one more decision below are a table on its side, not a class without samples
    pd.DataFrame([[0, 2], [3, 0], [1, 1.]], ["ham", "spam", "ask"], ["ham", "spam"]).to_csv(folder / "costs.csv")
    assert "columns decisions; pass frame.T" in call(capsys, *given[:3], "--posteriors", "net")[2]
