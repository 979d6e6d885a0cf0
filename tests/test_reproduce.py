"""The registry of reproductions, comparisons and verdicts, the published numbers, and the command line."""
import csv
import math
import os
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_eval import reproduce
from cost_eval.reproduce import (COLUMNS, ITEMS, Reproduction, Result, compare, main, published, reproduces, run, run_item, scoreboard, select,
                                 verdict, write)

pd = pytest.importorskip("pandas")
pytest.importorskip("joblib")
matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    """No registered items, no data, an empty cache; the registry is restored afterwards."""
    saved = dict(ITEMS)
    ITEMS.clear()
    monkeypatch.setattr(reproduce, "discover", lambda: [])
    monkeypatch.delenv("COST_EVAL_DATA", raising=False)
    monkeypatch.setenv("COST_EVAL_CACHE", str(tmp_path / "cache"))
    yield
    ITEMS.clear()
    ITEMS.update(saved)


def numbers(**cells):
    """Published numbers as the package reads them."""
    return pd.DataFrame({"cell": list(cells), "published": [float(t) if t else math.nan for t in cells.values()],
                         "decimals": [len(t.partition(".")[2]) for t in cells.values()]})


# -- compare and verdict -----------------------------------------------------------------------------------------------------------------------

@given(st.integers(-10**6, 10**6), st.integers(0, 5))
def test_every_number_agrees_with_its_own_rounding(units, decimals):
    text = f"{units / 10**decimals:.{decimals}f}"
    half = .5 * 10.**-decimals
    for shift, agrees in ((0, True), (.99, True), (-.99, True), (1.01, False), (-1.01, False)):
        table = compare(numbers(a=text), {"a": float(text) + shift * half})
        assert table["agrees"][0] is agrees
        assert table["tolerance"][0] == pytest.approx(half)


@given(st.floats(-100, 100), st.integers(0, 4))
def test_a_value_agrees_with_what_it_rounds_to(value, decimals):
    assert compare(numbers(a=f"{value:.{decimals}f}"), {"a": value})["agrees"][0] is True


def test_monte_carlo_error_widens_and_is_stated():
    table = compare(numbers(a="0.32", b="0.32"), {"a": .33, "b": .33}, monte_carlo_error={"a": .006})
    assert table["agrees"].tolist() == [True, False]
    assert "0.005 rounding + 0.006 Monte Carlo" in table["note"][0] and table["note"][1] == ""
    assert table["tolerance"].tolist() == pytest.approx([.011, .005])
    assert verdict(table) == "differs"
    table = compare(numbers(a="0.32"), {"a": .9}, monte_carlo_error=.006)
    assert verdict(table) == "differs", "the statement of the tolerance is not an explanation"


def test_columns_and_order():
    table = compare(numbers(b="1", a="2", c=""), {"a": 2, "b": 1, "c": 5})
    assert list(table.columns) == COLUMNS and table["cell"].tolist() == ["b", "a", "c"]
    assert table["agrees"].tolist() == [True, True, None]


@pytest.mark.parametrize("ours, notes, expected", [
    ({"a": 1, "b": 2}, {}, "reproduced"),
    ({"a": 1, "b": 3}, {}, "differs"),
    ({"a": 1, "b": 3}, {"b": "a slip"}, "explained"),
    ({"a": 1, "b": 3}, {"a": "a slip"}, "differs"),
    ({"a": 1, "b": math.nan}, {}, "differs"),
    ({"a": 1}, {}, "differs"),
    ({"a": 1}, {"b": "needs data"}, "reproduced"),
    ({}, {"*": "needs data"}, "needs data"),
])
def test_verdicts(ours, notes, expected):
    assert verdict(compare(numbers(a="1", b="2", lost=""), ours, notes=notes)) == expected


def test_nothing_published_is_shown():
    assert verdict(compare(numbers(a=""), {"a": 1})) == "shown"


def test_mistakes_in_a_comparison():
    with pytest.raises(ValueError, match="no published cell 'x'"):
        compare(numbers(a="1"), {"x": 1})
    with pytest.raises(ValueError, match="'x\\*' matches no published cell"):
        compare(numbers(a="1"), {"a": 1}, notes={"x*": "why"})
    with pytest.raises(ValueError, match="monte_carlo_error"):
        compare(numbers(a="1"), {"a": 1}, monte_carlo_error={"x": 1})
    with pytest.raises(ValueError, match="monte_carlo_error.*negative"):
        compare(numbers(a="1"), {"a": 1}, monte_carlo_error=-1)


# -- published numbers ---------------------------------------------------------------------------------------------------------------------------

def test_published_reads_text_and_digits():
    table = published("expected_cost", "table1").set_index("cell")
    assert table.loc["Cabs1/Bayes/NEC", ["published", "decimals"]].tolist() == [.35, 2]
    assert table.loc["Cabs1/Bayes/abs", ["published", "decimals"]].tolist() == [25, 0]
    with pytest.raises(ValueError, match="no published numbers of 'expected_cots'.*expected_cost"):
        published("expected_cots")
    with pytest.raises(ValueError, match="'table9'.*table1"):
        published("expected_cost", "table9")


def test_every_published_file_is_well_formed():
    for file in (files("cost_eval") / "published").iterdir():
        if file.name.endswith(".csv"):
            rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
            assert rows and set(rows[0]) >= {"item", "cell", "published", "unit", "source"}, file.name
            keys = [(row["item"], row["cell"]) for row in rows]
            assert len(set(keys)) == len(keys), f"{file.name}: a cell twice"
            for row in rows:
                assert row["item"] and row["cell"] and row["unit"] and row["source"], (file.name, row)
                assert row["published"] == "" or math.isfinite(float(row["published"])), (file.name, row)
            assert published(file.name.removesuffix(".csv")).shape[0] == len(rows)


def test_ferrer_tables_are_complete_and_consistent():
    """Relations that the paper's own definitions force on its tables, within rounding: a slip in the transcription would break one."""
    table = {item: published("expected_cost", item).set_index("cell")["published"] for item in ("table1", "table2", "table3")}
    t1, t2, t3 = (table[item] for item in table)
    assert (len(t1), len(t2), len(t3)) == (36, 300, 66) and not t2.isna().any()
    for matrix in ("C01", "CinvP", "Cimb", "Cabs1", "Cabs2"):
        for rule in ("Naive", "Argmax", "Bayes"):
            ec, nec, naive = t1[f"{matrix}/{rule}/EC"], t1[f"{matrix}/{rule}/NEC"], t1[f"{matrix}/Naive/EC"]
            assert (ec - .005) / (naive + .005) <= nec + .005 and nec - .005 <= (ec + .005) / (naive - .005), (matrix, rule)
    for cell, nec in t2.items():
        data, system, proc, metric = cell.split("/")
        if metric != "C01":
            continue
        priors = t3[[c for c in t3.index if c.startswith(f"{data}/prior")]]
        error, naive = t2[f"{data}/{system}/{proc}/1-ACC"], 1 - priors.max()
        # NEC of the 0-1 costs is the error rate over that of always choosing the largest class
        assert (error - .0006) / (naive + .0051) <= nec + .0006 and nec - .0006 <= (error + .0006) / (naive - .0051), cell
    for data in {c.partition("/")[0] for c in t3.index}:
        priors = t3[[c for c in t3.index if c.startswith(f"{data}/prior")]]
        total = priors.sum() * (t3[f"{data}/classes"] if len(priors) == 1 else 1)
        assert total == pytest.approx(1, abs=.005 * t3[f"{data}/classes"])


# -- registry ------------------------------------------------------------------------------------------------------------------------------------

def good():
    """A table that agrees"""
    return Reproduction(compare(numbers(a="0.32"), {"a": .3249}), note="said")


def register_some():
    @reproduces("toy", "table1")
    def one():
        """A table and a figure"""
        from matplotlib.figure import Figure
        figures = {}
        for name in ("left", "right"):
            figures[name] = Figure(figsize=(2, 1))
            figures[name].subplots().plot([0, 1])
        return Reproduction(compare(numbers(a="0.32", b="7"), {"a": .3249, "b": 9}, notes={"b": "a slip | with a bar <b>"}), figures)

    @reproduces("toy", "table2", needs=("telco", "ferrer/sitw_plda"))
    def two(data_dir):
        """Needs data"""

    @reproduces("toy", "figure3", budget="full")
    def three(budget):
        """Takes long"""
        return Reproduction(compare(numbers(a="1"), {"a": 1}), note=budget)

    reproduces("other", "table1")(good)


def test_run_and_verdicts():
    register_some()
    results = {r.name: r for r in run()}
    assert {n: r.verdict for n, r in results.items()} == {
        "toy/table1": "explained", "toy/table2": "needs data", "toy/figure3": "not run", "other/table1": "reproduced"}
    assert results["toy/table2"].note == "cost-eval data fetch telco ferrer/sitw_plda"
    full = run("toy/figure3", budget="full")
    assert [(r.verdict, r.note) for r in full] == [("reproduced", "full")]


def test_exceptions_fail_one_item_only():
    register_some()

    @reproduces("toy", "table0")
    def bug():
        """Has a bug"""
        raise RuntimeError("the oven is cold")

    @reproduces("toy", "table00")
    def nothing():
        """Returns nothing"""

    results = {r.name: r for r in run()}
    assert results["toy/table0"].verdict == "failed" and "RuntimeError: the oven is cold" in results["toy/table0"].note
    assert results["toy/table00"].verdict == "failed"
    assert results["other/table1"].verdict == "reproduced"


def test_data_dir_and_budget_are_passed_to_those_who_ask(tmp_path):
    seen = {}

    @reproduces("toy", "a")
    def asks(data_dir, budget):
        seen.update(data_dir=data_dir, budget=budget)
        return good()

    reproduces("toy", "b")(good)
    run(data_dir=tmp_path, budget="full")
    assert seen == {"data_dir": tmp_path, "budget": "full"}


def test_selection():
    register_some()
    names = lambda *patterns: [item.name for item in select(list(patterns))]
    assert names("toy") == ["toy/table1", "toy/table2", "toy/figure3"]
    assert names("*/table1", "toy/table1") == ["toy/table1", "other/table1"]
    assert names() == list(ITEMS)
    with pytest.raises(ValueError, match="'toy/tabel1'.*toy/table1"):
        select("toy/tabel1")


def test_bad_registrations():
    with pytest.raises(ValueError, match="no data set is called 'telcoo'; did you mean telco"):
        reproduces("toy", "x", needs=("telcoo",))
    with pytest.raises(ValueError, match="budget: got 'huge'"):
        reproduces("toy", "x", budget="huge")
    with pytest.raises(TypeError, match="data_dir"):
        reproduces("toy", "x", needs=("telco",))(good)
    reproduces("toy", "x")(good)
    reproduces("toy", "x")(good)  # a notebook cell run twice
    with pytest.raises(ValueError, match="toy/x is registered already"):
        reproduces("toy", "x")(test_selection)
    with pytest.raises(ValueError, match="budget: got 'huge'"):
        run(budget="huge")
    with pytest.raises(ValueError, match="jobs: got 0"):
        run(jobs=0)


def test_a_broken_module_is_reported(monkeypatch, tmp_path):
    monkeypatch.undo()
    package = __import__("cost_eval.reproductions", fromlist=["x"])
    (tmp_path / "broken_chapter.py").write_text("1 / 0\n")
    monkeypatch.setattr(package, "__path__", [str(tmp_path)])
    broken = reproduce.discover()
    assert [(r.name, r.verdict) for r in broken] == [("broken_chapter/*", "failed")] and "ZeroDivisionError" in broken[0].note
    assert main(["list"]) == 1


# -- scoreboard and files ------------------------------------------------------------------------------------------------------------------------

class Balanced(HTMLParser):
    """Counts open tags."""
    def __init__(self, page):
        super().__init__()
        self.open, self.seen = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_scoreboard_forms():
    register_some()
    results = run()
    table = scoreboard(results)
    assert table.loc["toy/table1", ["verdict", "agree", "off", "not compared"]].tolist() == ["explained", 1, 1, 0]
    text = scoreboard(results, "text").splitlines()
    assert text[0].split()[:3] == ["~", "toy/table1", "explained"] and text[-1].startswith("4 items: 1 reproduced, 1 explained, 1 needs data, 1 not run; 2 of 3")
    markdown = scoreboard(results, "markdown")
    assert all(line.replace("\\|", "").count("|") == 6 for line in markdown.splitlines()[:6])
    page = Balanced(scoreboard(results, "html"))
    assert page.open == [] and [tag for tag, _ in page.seen].count("details") == 4
    images = [(a["src"], a["alt"]) for tag, a in page.seen if tag == "img"]  # the thumbnail repeats the first figure: no text of its own
    assert images == [("toy/table1-left.png", ""), ("toy/table1-left.png", "A table and a figure: left"), ("toy/table1-right.png", "A table and a figure: right")]
    assert not any(tag in ("script", "link", "b") for tag, _ in page.seen)
    with pytest.raises(ValueError, match="form: got 'pdf'"):
        scoreboard(results, "pdf")
    assert "0 items" in scoreboard([], "text") and scoreboard([]).empty


def test_files_are_the_same_bytes_each_time(tmp_path):
    register_some()
    for out in ("a", "b"):
        run(out=tmp_path / out)
    content = [{p.relative_to(tmp_path / out): p.read_bytes() for p in (tmp_path / out).rglob("*.*")} for out in ("a", "b")]
    assert content[0] == content[1]
    assert {str(p) for p in content[0]} == {"scoreboard.html", "scoreboard.md", "other/table1.csv", "toy/table1.csv", "toy/table1-left.png",
                                            "toy/table1-left.svg", "toy/table1-right.png", "toy/table1-right.svg"}
    again = pd.read_csv(tmp_path / "a" / "toy" / "table1.csv")
    assert list(again.columns) == COLUMNS and again["agrees"].tolist() == [True, False]


# -- the command ---------------------------------------------------------------------------------------------------------------------------------

SCRIPT = '''
import sys
import numpy as np
from cost_eval import reproduce as r
import pandas as pd

r.discover = lambda: []
cells = pd.DataFrame({"cell": ["a"], "published": [.5], "decimals": [1]})

@r.reproduces("toy", "good")
def good():
    "Agrees"
    import matplotlib.pyplot as plt
    figure, ax = plt.subplots()
    ax.plot(np.random.default_rng(0).normal(size=9))
    return r.Reproduction(r.compare(cells, {"a": .5}), figure)

@r.reproduces("toy", "bad")
def bad():
    "Is off"
    return r.Reproduction(r.compare(cells, {"a": .6}))

@r.reproduces("toy", "data", needs="telco")
def data(data_dir):
    "Needs data"

sys.exit(r.main(sys.argv[1:]))
'''


def command(tmp_path, *arguments, script=None):
    """Runs cost-eval (or a script that registers toys) in an empty directory with an empty cache and no data."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COST_EVAL")}
    environment |= {"COST_EVAL_CACHE": str(tmp_path / "cache"), "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "no_proxy": ""}
    call = [sys.executable, "-c", "import sys; from cost_eval.reproduce import main; sys.exit(main())"]
    if script:
        (tmp_path / "script.py").write_text(script)
        call = [sys.executable, str(tmp_path / "script.py")]
    return subprocess.run([*call, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)


def test_command_reproduce(tmp_path):
    done = command(tmp_path, "reproduce", "toy/good", "toy/data", script=SCRIPT)
    assert done.returncode == 0, done.stderr
    assert "=  toy/good  reproduced" in done.stdout and "cost-eval data fetch telco" in done.stdout
    assert sorted(p.name for p in (tmp_path / "_reproduced").rglob("*.*")) == ["good.csv", "good.png", "good.svg", "scoreboard.html", "scoreboard.md"]
    assert "toy/good reproduced" in done.stderr, "progress goes to stderr"
    done = command(tmp_path, "reproduce", "--out", "there", "--jobs", "2", script=SCRIPT)
    assert done.returncode == 1 and "!  toy/bad   differs" in done.stdout
    for name in ("good.csv", "good.png", "good.svg"):  # the same bytes from two workers
        assert (tmp_path / "there" / "toy" / name).read_bytes() == (tmp_path / "_reproduced" / "toy" / name).read_bytes()


def test_command_mistakes(tmp_path):
    for arguments, says in ((["reproduce", "toy/god"], "toy/good"), (["reproduce", "--data", "nowhere"], "'nowhere' is not a directory"),
                            (["reproduce", "--jobs", "0"], "jobs: got 0"), (["reproduce", "--budget", "huge"], "invalid choice"),
                            (["data", "fetch", "telcoo"], "did you mean telco"), (["data", "fetch", "--timeout", "0"], "--timeout"), ([], "COMMAND")):
        done = command(tmp_path, *arguments, script=SCRIPT)
        assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr, arguments
    assert not (tmp_path / "_reproduced").exists()


def test_command_data_without_network(tmp_path):
    done = command(tmp_path, "data", "fetch", "--small", "--timeout", "2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 17 and all("not fetched:" in line for line in lines[:16]) and lines[-1].startswith("0 of 16 data sets")
    done = command(tmp_path, "data", "fetch", "telco", "--timeout", "2")
    assert done.returncode == 1 and "could not be reached" in done.stdout
    done = command(tmp_path, "data", "list")
    assert done.returncode == 0 and "creditcard" in done.stdout and str(tmp_path / "cache") in done.stdout


def test_command_list_and_version(tmp_path):
    done = command(tmp_path, "list", script=SCRIPT)
    assert done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()] == ["toy/good", "toy/bad", "toy/data"]
    done = command(tmp_path, "--version")
    assert done.returncode == 0 and done.stdout.startswith("cost-eval ")


def test_result_counts_only_published_cells():
    table = compare(numbers(a="1", b="2", c=""), {"a": 1, "c": 3})
    result = Result("p/i", "t", "explained", table)
    assert [result.count(a) for a in (True, False, None)] == [1, 0, 1]


def test_light_imports():
    code = "import sys, cost_eval.reproduce; print(sorted({'pandas', 'matplotlib', 'joblib', 'tqdm', 'ipywidgets', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_figures_are_left_to_those_who_show_them():
    plt = pytest.importorskip("matplotlib.pyplot")

    @reproduces("toy", "pyplot")
    def draws():
        figure, _ = plt.subplots()
        return Reproduction(compare(numbers(a="1"), {"a": 1}), figure)

    before = plt.get_fignums()
    result = run_item(ITEMS["toy/pyplot"])
    assert plt.get_fignums() == before and list(result.figures) == [""]


def test_write_needs_no_existing_directory(tmp_path):
    write([], tmp_path / "x" / "y")
    assert (tmp_path / "x" / "y" / "scoreboard.md").read_text().endswith("0 of 0 compared cells agree.\n")
    assert Path(tmp_path / "x" / "y" / "scoreboard.html").exists()
