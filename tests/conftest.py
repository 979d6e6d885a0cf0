"""Shared by all tests: hypothesis, tests that only the nightly run does, those of one notebook, and the site,
which is built once."""
import fcntl
import importlib
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".ci" / "site"))
import check  # noqa: E402

CHROMIUM, FLAGS = check.chromium(), check.FLAGS
matplotlib.use("Agg")  # here; kernels that tests start show figures in their own way
FULL = os.environ.get("FULL", "0") not in ("", "0")

# The same examples in every run and no clock (a loaded machine is not a failure); new examples every night.
settings.register_profile("project", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("nightly", deadline=None, max_examples=300, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("nightly" if FULL else "project"))


def pytest_configure(config):
    for line in ("slow: takes long; only `make test FULL=1` (nightly) runs it",
                 "ci: CI runs it besides, and `make test CI=1`; a plain `make test` does not",
                 "xdist_group(name): tests that run one after the other, in one process"):
        config.addinivalue_line("markers", line)


# --of 02_costs: the tests in the file of the module's name (or of one of these names), and of the common
# files the cases that begin with the module, the notebook,
# or a public name of the module. No test that needs a browser.
OTHER_NAMES = {
    "annotators": "samples", "forms": "samples", "known_costs": "samples",
    "confusion": "core", "costs": "core", "decisions": "core", "doors": "report runner",
    "constraints": "policies comparisons", "decision_rule": "runner policies planning",
    "engine_grid": "mean_law", "coverage": "mean_law bootstrap",
    "intervals": "bootstrap mean_law", "expected_cost": "metrics rivals scores",
    "sequences": "planning mean_law",
    "report": "page", "verdicts": "report page", "jobs": "api", "contract": "api",
    "wishes": "report page __main__ scores samples missing_labels hand_over comparisons",
    "command_line": "__main__", "chapters": "reproduce",
    "planted": "reproduce reproductions.bootstrap reproductions.cost_score reproductions.expected_cost "
               "reproductions.outperformance reproductions.weighted_accuracy"}
COMMON = ("house", "contract", "options", "refusals", "invariances", "widgets")


def pytest_addoption(parser):
    parser.addoption("--of", default="", metavar="NOTEBOOK,NOTEBOOK",
                     help="only what tests these notebooks, and needs no browser")
    parser.addoption("--without-ci", action="store_true", help="leave to CI what is marked so")


def made_by(notebook):
    "The module that a notebook makes, without the package's name; empty where it makes none."
    text = (ROOT / "nbs" / f"{notebook}.ipynb").read_text(encoding="utf-8")
    found = re.search(r"#\| *default_exp ([\w.]+)", text)
    return found[1] if found else ""


def is_of(path, notebooks):
    "Does a whole file of tests belong to the modules of these notebooks?"
    file = path.stem.removeprefix("test_")
    names = {module: module.replace(".", "_") for module in map(made_by, notebooks) if module}
    return any(file == name or file.startswith(f"{name}_") or module in OTHER_NAMES.get(file, "").split()
               for module, name in names.items())


def pytest_ignore_collect(collection_path, config):
    "With --of the files of other modules are not even read."
    notebooks, path = config.getoption("of"), collection_path
    if notebooks and path.name.startswith("test_") and path.stem.removeprefix("test_") not in COMMON:
        return not is_of(path, notebooks.split(",")) or None


def chosen(items, notebooks):
    "Those of the notebooks."
    modules = [module for module in map(made_by, notebooks) if module]
    names = {*notebooks, *modules}
    for module in modules:
        names |= {*getattr(importlib.import_module(f"cost_eval.{module}"), "__all__", ())}
    whole = {path: is_of(path, notebooks) for path in {item.path for item in items}}
    for item in items:
        first = re.split(r"[-. \]]", item.name.partition("[")[2].removeprefix("cost_eval."))[0]
        if not {"docs", "browser", "lab"} & {*item.fixturenames} and (whole[item.path] or first in names):
            yield item


# begun first, so that all workers end together
LONG = "test_widgets test_answers test_browser test_site test_scale test_planted test_types".split()
# what takes longest: CI asks it, and a plain `make test` asks the same of shorter calls
IN_CI = re.compile("|".join(r"""test_types killed_worker pandoc_finds every_control unchanged_months
false_promise toy_site every_fault report_over_random inverse$ mended_study make_change the_hand are_rare\[
stored_byte estimator_whole fine_grid stay_inside over_draws\[priors headline\[priors
(noticed|again)\[outperformance/(section3.3|table) (noticed|again)\[weighted_accuracy/(figure|c)
(invariances|options|forms).*\[evaluate(.own.costs|.require)?\]
(invariances|options|forms).*\[((metric_|outperformance_)interval|outperformance|training_variation)\]
(invariances|options|forms).*\[(Report.robustness|capacity_curve)\]""".split()))
# dealt out test by test
SPLIT = """test_widgets test_answers test_browser test_site test_scale test_invariances test_options
test_outperformance test_planted""".split()


def group(item):
    "Tests that run one after the other: what a file computes once is computed once a run, not once a process."
    if "lab" in item.fixturenames:  # one JupyterLab
        return "lab"
    return "" if item.path.stem in SPLIT or item.get_closest_marker("slow") else item.path.stem


@pytest.fixture(autouse=True)
def own_style():
    "What a test sets of matplotlib's style ends with it."
    with matplotlib.rc_context():
        yield


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(config, items):
    if config.getoption("of"):
        items[:] = chosen(items, config.getoption("of").split(","))
    items.sort(key=lambda item: item.path.stem not in LONG)
    left = {"slow": "slow: make test FULL=1 runs it"} if not FULL else {}
    left |= {"ci": "in CI besides, and by make test CI=1"} if config.getoption("without_ci") else {}
    for item in items:
        if {"browser", "lab"} & {*item.fixturenames} or IN_CI.search(item.nodeid):
            item.add_marker("ci")
        if not item.get_closest_marker("xdist_group") and group(item):
            item.add_marker(pytest.mark.xdist_group(group(item)))
        for reason in (reason for mark, reason in left.items() if item.get_closest_marker(mark)):
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter):
    "Every test that was left out, by name and reason; `make test` repeats these lines at its end."
    reasons = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        names = reasons.setdefault(reason.removeprefix("Skipped: "), {})
        name = report.nodeid.partition("[")[0].partition("@")[0].removeprefix("tests/")
        names[name] = names.get(name, 0) + 1
    for reason, names in reasons.items():
        told = (name + (f" ({count} cases)" if count > 1 else "") for name, count in names.items())
        terminalreporter.write_line(f"left out: {reason}: {', '.join(told)}")


def paper_text(file):
    """The text of a paper, whose file begins like this; on a machine that does not have it the test is
    skipped."""
    folder = Path(os.environ.get("COST_EVAL_DATA", ROOT.parent / "shared" / "data")).parent / "papers"
    found = sorted(folder.glob(f"{file}*"))
    if not found:
        pytest.skip("the papers' texts are not on this machine")
    return found[0].read_text(encoding="utf-8")


def item_result(item):
    "What an item of a paper gives: as its notebook got it in the same `make test`, else computed here."
    from cost_eval.reproduce import run_item
    kept = Path(os.environ.get("COST_EVAL_NUMBERS", os.devnull)) / item.name.replace("/", "-")
    return pickle.loads(kept.read_bytes()) if kept.is_file() else run_item(item)


def refuses(cases):
    "The test that each call (of pairs, by name or not) is refused with a ValueError that says these words."
    named = cases if isinstance(cases, dict) else {str(k): case for k, case in enumerate(cases)}

    @pytest.mark.parametrize("call, words", named.values(), ids=named)
    def test(call, words):
        with pytest.raises(ValueError, match=words):
            call()
    return test


@pytest.fixture(autouse=True)
def no_figure_is_left():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module")
def few_draws():
    "Two draws of the folds, where the question is not how many a report takes."
    from cost_eval import report
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "_FIRST", 2)
        patch.setattr(report, "_MOST", 2)
        yield


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    "A machine without the papers' data."
    monkeypatch.setenv("COST_EVAL_DATA", str(tmp_path))
    monkeypatch.setenv("COST_EVAL_CACHE", str(tmp_path / "cache"))


def build_site(root, *options):
    "Run .ci/site.py."
    words = [sys.executable, str(ROOT / ".ci/site.py"), "--strict", "--unseen", "--root", str(root)]
    return subprocess.run([*words, *options], capture_output=True, text=True)


@pytest.fixture(scope="session")
def docs():
    """The site; built here only if nobody has (`make test` has), or if something changed since; by one process at a
    time."""
    pytest.importorskip("myst_nb", reason='needs pip install "cost_eval[dev]"')
    (ROOT / "build").mkdir(exist_ok=True)
    with open(ROOT / "build/site.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = build_site(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "_docs"
