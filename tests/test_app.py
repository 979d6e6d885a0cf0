"""The app: its state against the library, bad input, and the page in a real browser under Voila."""
import base64
import contextlib
import datetime
import os
import re
import socket
import subprocess
import sys
import time
import types
import urllib.request
from html import unescape

import numpy as np
import pandas as pd
import psutil
import pytest
from conftest import CHROMIUM, FLAGS

from cost_eval.app import App, read_upload
from cost_eval.costs import CostMatrix
from cost_eval.page import answers
from cost_eval.policies import DecisionRule
from cost_eval.report import evaluate
from cost_eval.samples import example_frame


def library(frame, fn, priors=None):
    "What the library says of the example."
    costs = CostMatrix.binary(fp=1, fn=fn, classes=["well", "ill"])
    models = {name: frame[name].to_numpy() for name in ("model_a", "model_b")}
    return evaluate(frame["label"].to_numpy(), models, costs, priors=priors, rng=0)


def picked(app, value):
    "The page with a positive class."
    app.positive.value = value
    return app


def test_the_page_shows_the_librarys_numbers():
    app = App()
    assert app.report.ladder.equals(library(example_frame(), 10).ladder)
    app.fn.value = 25.
    app.prevalence.value = "2 %"
    direct = library(example_frame(), 25, [.98, .02])
    assert app.report.ladder.equals(direct.ladder)
    for name, line in answers(direct).items():
        assert f"<b>{name}:</b> {line.replace('<', '&lt;')}" in app.says.value + app.more.value
    # the same first three lines through every door
    first = [re.sub("<.*?>", "", line) for line in re.findall("<p>(.*?)</p>", app.says.value)]
    assert first == direct.summary().splitlines()[:3]
    page = unescape(re.sub("<.*?>", "", direct.to_html()))
    assert all(answers(direct)[name] in page for name in ("Read", "Verdict", "How sure"))
    ladder = bytes(app.image.value)
    assert (b"<svg" in ladder and b"<image" not in ladder and app.panel.options == direct.panels
            and not app.caption.value)
    app.panel.value = "map"
    assert b"<svg" in bytes(app.image.value) and bytes(
        app.image.value) != ladder and direct.robustness().words().split("<")[0] in app.caption.value
    assert app.lines() == [*direct.summary().splitlines(), direct.robustness().words()]


def test_the_positive_class_is_asked_for_where_a_guess_would_be_one():
    app = App(example_frame())
    with pytest.raises(ValueError) as asked:
        evaluate(example_frame()["label"], example_frame()[["model_a", "model_b"]], dict(fp=1, fn=10))
    assert "say positive='well' or positive='ill'" in str(asked.value)
    assert (app.report is None and app.positive.value is None and "Which is the positive class"
            in app.says.value)
    assert dict(app.positive.options) == {"ill": "ill", "well": "well"}
    assert picked(app, "ill").report.ladder.equals(library(example_frame(), 10).ladder)
    for values in ([0, 1], [False, True], [0., 1.]):
        app.load(pd.DataFrame({"y": values * 20, "m": [.1, .8] * 20}))
        assert app.positive.value == 1 and app.report.n == 40
    app.load(pd.DataFrame({"y": [-1, 1] * 20, "m": [.1, .8] * 20}))
    assert app.report is None and "Which is the positive class" in app.says.value
    assert picked(app, -1).report.n == 40


def test_what_cannot_be_gets_a_sentence():
    app = App()
    for control, value, says in ((app.prevalence, "lots", "is not a number"),
                                 (app.prevalence, "3", "priors: must lie in [0, 1], got 3"),
                                 (app.prevalence, "__import__('os').system('x')", "is not a number"),
                                 (app.fn, -1., "a miss costs"),
                                 (app.models.children[0], False, ""), (app.fp, -1., "false alarm costs")):
        before = control.value
        control.value = value
        assert (app.report is None
                or not says) and says in app.says.value and "Traceback" not in app.says.value, says
        control.value = before
        assert app.report is not None
    for box in app.models.children:
        box.value = False
    assert app.report is None and "models: tick at least one" in app.says.value and app.lines() == []
    app.label.value = "model_a"
    assert (app.report is None and "were y_true and a model swapped" in app.says.value
            or "different values" in app.says.value)


@pytest.fixture
def unpainted(monkeypatch):
    "Pictures that only say which panel they are."
    monkeypatch.setattr(App, "_picture", lambda self, panel: f"{panel} of {self.report.n}".encode())


def sent(name, content):
    "What the browser hands over."
    return ({"name": name, "type": "text/csv", "size": len(content), "content": memoryview(content),
             "last_modified": datetime.datetime(2026, 1, 1)},)


def test_an_upload_is_shown_or_refused(unpainted):
    frame = example_frame().iloc[:300].rename(columns={"label": "state"}).drop(columns="site")
    app = App()
    app.prevalence.value = "3 %"  # of another problem
    app.upload.value = sent("half.csv", frame.to_csv(index=False).encode())
    assert app.upload.value == () and app.prevalence.value == "" and app.label.value is None
    assert "Which column says what turned out to be true?" in app.says.value
    app.label.value = "state"
    assert app.chosen() == ("model_a", "model_b") and app.positive.value is None
    assert app.image.layout.display == "none"
    answered(app, "ill")
    assert ("models 'model_a', 'model_b'; left out 'id' (its name)." in app.more.value
            and "positive class" not in app.says.value)
    assert app.report.ladder.equals(library(frame.rename(columns={"state": "label"}), 10).ladder)
    assert app.image.layout.display is None
    for panel in app.panel.options:
        app.panel.value = panel
        assert bytes(app.image.value) == f"{panel} of 300".encode()
    app.panel.value = "differences"
    app.models.children[0].value = False
    assert app.panel.value == "ladder" and "differences" not in app.panel.options and bytes(
        app.image.value) == b"ladder of 300"
    app.upload.value = ()
    assert app.report.n == 300
    app.upload.value = sent("coded.csv",
                            frame.assign(state=(frame["state"] == "ill") * 1).rename(columns={
                                "state": "label"}).to_csv(index=False).encode())
    assert "What does a false alarm cost: to decide 1 where 0 is true?" in app.says.value
    answered(app)
    assert [box.description for box in app.models.children] == ["model_a",
            "model_b"] and app.positive.value == 1 and app.report.n == 300
    said = []
    app.says.observe(lambda change: said.append(change["new"]), "value")
    app.upload.value = sent("no.csv", b"a,b")
    assert "Reading no.csv" in said[0] and "no.csv has 0 rows" in app.says.value and not app.ladder.value
    assert app.image.layout.display == app.panel.layout.display == "none"


@pytest.mark.parametrize("name, content, kind, says", [
    ("no.csv", b"a,b", "text/csv", "no.csv has 0 rows"), ("x.parquet", b"PAR1", "", "cannot be read"),
    ("big.csv", b"", "too-large/600000000",
     "big.csv has 600 MB, and a browser hands over at most 500; start the page with the file: cost-eval app "
     "big.csv"),
    ("odd.csv", b"label,m\n1,.5\n0,.2\n", "text/csv", "")], ids=["no rows", "no parquet", "too large",
        "anything"])
def test_the_verdict_on_the_table_before_does_not_come_back(unpainted, monkeypatch, name, content, kind,
        says):
    app = picked(App(example_frame().iloc[:200]), "ill")
    if not says:  # whatever else goes wrong while a file is read
        monkeypatch.setattr("cost_eval.app.read_upload", lambda *args, **kwargs: 1 / 0)
    (file,) = sent(name, content)
    app.upload.value = ({**file, "type": kind},)
    assert app.report is None and (says or "division by zero") in app.says.value
    app.fn.value, app.prevalence.value = 30., "3 %"
    assert (app.report is None and "; load another file" in app.says.value and app.chosen() == ()
            and not app.label.options)
    monkeypatch.undo()
    app.upload.value = sent("y.csv", b"y,m\n" + b"1,.5\n0,.2\n" * 20)
    assert answered(app).report.n == 40


def answered(app, positive=None):
    "The page after its questions, costs of 1 and 10."
    assert app.report is None
    if positive is not None:
        app.positive.value = positive
    for control, cost in ((app.fp, 1.), (app.fn, 10.)):
        assert app.report is None
        control.value = cost
    return app


def test_a_yes_no_file_is_asked_about_one_thing_at_a_time(unpainted, tmp_path):
    frame = example_frame().iloc[:300].replace({"label": {"ill": "Yes", "well": "No"}}).rename(
        columns={"label": "left in May"})
    frame.assign(region=np.where(frame.index % 2, "north", "south")).drop(columns="site").to_csv(
        tmp_path / "churn.csv", index=False)
    app = App(tmp_path / "churn.csv")  # as `cost-eval app churn.csv` does
    asked = []
    for control, answer in ((app.label, "left in May"), (app.positive, "Yes"), (app.fp, 2.), (app.fn, 30.)):
        asked.append(app.says.value)
        assert app.report is None
        control.value = answer
    for text, says in zip(asked, ("Which column says what turned out to be true?",
                                  "Which is the positive class",
                                  "What does a false alarm cost: to decide 'Yes' where 'No' is true?",
                                  "And a miss")):
        assert says in text
    here = evaluate(frame["left in May"], frame[["model_a", "model_b"]], dict(fp=2, fn=30), positive="Yes",
                    rng=0)
    assert app.report.ladder.equals(here.ladder)
    app.prepare.click()
    rule = base64.b64decode(re.search(r'download="rule.json" href="data:application/json;base64,([^"]+)"',
                                      app.link.value)[1]).decode()
    (tmp_path / "rule.json").write_text(rule)
    assert (DecisionRule.from_json(tmp_path / "rule.json").decide(frame["model_a"])
            == here.decision_rule().decide(frame["model_a"])).all()
    app.fn.value = 0.  # not said any more
    assert app.report is None and "And a miss" in app.says.value


def test_what_the_memory_does_not_hold_is_refused_and_no_labels(unpainted, monkeypatch):
    frame = example_frame()
    monkeypatch.setattr("psutil.virtual_memory", lambda: types.SimpleNamespace(available=1e5))
    with pytest.raises(ValueError,
                       match="x.csv needs about 0.0.* GB of memory, and 0.0001 GB are free; close other "
                             "programs"):
        read_upload("x.csv", frame.to_csv(index=False).encode())
    # the remedy
    assert len(read_upload("x.csv", frame.sample(300, random_state=0).to_csv(index=False).encode())) == 300
    app = App(frame.iloc[:300])
    assert picked(app, "ill").report is None and "the report on 300 rows needs about" in app.says.value
    monkeypatch.undo()
    app = App(pd.DataFrame({"label": [None] * 4, "m": [.1, .2, .3, .4]}))
    assert app.report is None and "4 of 4 values are missing" in app.says.value


@contextlib.contextmanager
def served(tmp_path):
    "The address of `cost-eval app`, and its process."
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    call = [sys.executable, "-m", "cost_eval", "app", "--port", str(port), "--no-browser"]
    log = (tmp_path / "log").open("w")
    process = subprocess.Popen(call, stdout=log, stderr=log, cwd=tmp_path)
    try:
        for _ in range(240):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/voila/static/", timeout=2)
            with contextlib.suppress(urllib.error.HTTPError, OSError), socket.create_connection(("127.0.0.1",
                    port), 1):
                break
            time.sleep(.5)
        yield f"http://127.0.0.1:{port}/", psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(120)
        with pytest.raises(OSError):  # what it served has ended with it
            for _ in range(20):
                socket.create_connection(("127.0.0.1", port), 1).close()
                time.sleep(.5)


def load(page, path):
    "Choose a file, as a person does."
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="CSV").click()
    chooser.value.set_files(path)


def answer(page, positive, *costs):
    "What the page asks, one after the other."
    if positive is not None:
        page.get_by_text("Which is the positive class").wait_for()
        page.get_by_label("positive is").select_option(positive)
    asked = ("What does a false alarm cost", "false alarm costs"), ("And a miss", "a miss costs")
    for cost, (question, control) in zip(costs, asked):
        page.get_by_text(question).wait_for()
        page.get_by_label(control).fill(cost)
        page.get_by_label(control).press("Enter")


@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason="SKIPPED BROWSER TESTS: no Chromium, apt-get install chromium")
def test_upload_and_change_costs_in_a_browser(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api",
                                     reason='SKIPPED BROWSER TESTS: pip install "cost_eval[dev]"')
    pytest.importorskip("voila", reason='SKIPPED BROWSER TESTS: pip install "cost_eval[app]"')
    axe = pytest.importorskip("axe_playwright_python.sync_playwright",
                              reason='SKIPPED BROWSER TESTS: pip install "cost_eval[dev]"').Axe
    frame = example_frame().iloc[::2].reset_index(drop=True)
    frame.to_csv(tmp_path / "half.csv", index=False)
    other = frame.rename(columns={"label": "outcome"}).assign(id=range(1000), age=40)
    other[["id", "age", "outcome", "model_b", "model_a"]].to_csv(tmp_path / "other.csv", index=False)
    pd.DataFrame({"y": [0, 1] * 50, "m": np.linspace(0, 1, 100)}).to_csv(tmp_path / "few.csv", index=False)

    def number_of(text):
        return float(re.search(r"the cheapest of 2 models.+? costs ([\d.e+-]+) per case", text)[1])

    def expected(fn):
        return number_of(library(frame, fn).summary())

    with served(tmp_path) as (url, process), playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1300, "height": 1100})
        page.set_default_timeout(180_000)
        raised = []
        page.on("pageerror", lambda error: raised.append(str(error)))
        page.on("console", lambda said: raised.append(said.text) if said.type == "error"
                and "Failed to load resource" not in said.text else None)
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        page.get_by_text("the cheapest of 2 models").first.wait_for()
        load(page, tmp_path / "half.csv")
        answer(page, "ill", "1", "10")
        page.get_by_text("1000 samples").wait_for()
        assert number_of(page.inner_text("body")) == expected(10.)
        box = page.get_by_label("a miss costs")
        box.fill("40")
        box.press("Enter")
        page.wait_for_function("wanted => document.body.innerText.includes(wanted)",
                               arg=f"{expected(40.):.4g} per case")
        assert number_of(page.inner_text("body")) == expected(40.)
        (tmp_path / "broken.csv").write_text("y,m\n1,.5\n0,.2,7,8\n0,.1\n")
        (tmp_path / "endless.csv").touch()
        os.truncate(tmp_path / "endless.csv", 600_000_000)
        # 40 MB: Tornado lets 10 pass unless told
        pd.DataFrame({"y": np.arange(150_000) % 2, "m": np.arange(150_000) / 15e4,
                      "note": "x" * 250}).to_csv(tmp_path / "long.csv", index=False)
        cost = "What does a false alarm cost"
        for name, says in (("few", cost), ("other", "Which is the positive class"),
                           ("broken", "Expected 2 fields in line 3, saw 4"), ("long", cost),
                           ("endless", "endless.csv has 600 MB"), ("few", cost)):
            page.evaluate("""() => {
                const verdict = "the cheapest of", says = document.querySelector(".ce-says");
                window.stale = [];
                new MutationObserver(() => window.stale.push([...document.querySelectorAll(".ce-main")]
                    .some(part => getComputedStyle(part).visibility !== "hidden" && part.innerText.includes(verdict))))
                    .observe(says, {childList: true, subtree: true});
            }""")
            load(page, tmp_path / f"{name}.csv")
            page.locator(".ce-says").get_by_text(says).wait_for()
            assert not any(page.evaluate("window.stale")) and "C error" not in page.inner_text("body")
        answer(page, None, "1", "5")
        page.get_by_text("100 samples").first.wait_for()
        assert [address for address in asked if not address.startswith((url, "data:", "blob:"))] == []
        page.get_by_label("picture").select_option("map")
        page.screenshot(path=tmp_path / "app.png", full_page=True)
        assert page.locator("h1").count() == 1 and not raised, raised
        # each control, the picture too, has a name, and everything stands in the page's main part
        for width in (1300, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert axe().run(page).response["violations"] == []
            assert page.evaluate("document.documentElement.scrollWidth") == width
        next(part for part in process.children(recursive=True)
             if "ipykernel" in " ".join(part.cmdline())).kill()
        page.get_by_text("The program has ended").wait_for()
        page.reload()
        page.get_by_text("the cheapest of 2 models").first.wait_for()
        assert "The program has ended" not in page.inner_text("body")
        process.terminate()
        page.get_by_text("The connection to the program is lost").wait_for()
        assert page.locator(".ce-controls").evaluate("e => e.inert")
        browser.close()


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason="SKIPPED BROWSER TESTS: no Chromium, apt-get install chromium")
def test_two_hundred_megabytes_and_a_connection_that_is_lost_on_the_way(tmp_path):
    """The page says what it does all the time, and the old verdict is gone from the start; the program stays
    below 25 times the file."""
    playwright = pytest.importorskip("playwright.sync_api",
                                     reason='SKIPPED BROWSER TESTS: pip install "cost_eval[dev]"')
    rows = np.arange(4_100_000)
    y = rows % 10 == 0
    pd.DataFrame({"id": rows, "label": y * 1, "model_a": (rows * .618034 % 1 + y) / 2,
                  "model_b": (rows * .754878 % 1 + y) / 2}).to_csv(tmp_path / "large.csv", index=False)
    assert (tmp_path / "large.csv").stat().st_size > 2e8
    with served(tmp_path) as (url, process), playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        page.set_default_timeout(400_000)
        page.goto(url)
        page.get_by_text("the cheapest of 2 models").first.wait_for()
        page.evaluate("() => { window.said = new Set(); setInterval(() => "
                      "window.said.add(document.querySelector('.ce-progress').innerText.split(' ')[0]), "
                      "100); }")
        load(page, tmp_path / "large.csv")
        assert not page.get_by_text("the cheapest of 2 models").first.is_visible()
        answer(page, None, "1", "10")
        page.get_by_text("4100000 samples").wait_for()
        assert {"Sending", "Reading", "Computing"} <= set(page.evaluate("[...window.said]"))
        assert max(part.memory_info().rss for part in process.children(recursive=True)) < 5e9
        load(page, tmp_path / "large.csv")
        page.get_by_text(re.compile("(Sending|Reading) large.csv")).first.wait_for()
        for part in [process, *process.children(recursive=True)]:
            part.kill()
        page.get_by_text("The connection was lost before large.csv had been read: load it again.").wait_for()
        browser.close()


@pytest.mark.parametrize("label", [0, 1, False, 0.])
def test_a_file_of_one_class_has_the_verdict_of_the_library(label):
    "The only class of the file was taken for the positive one."
    frame = pd.DataFrame({"label": [label] * 40, "m": np.linspace(.1, .8, 40), "k": np.linspace(.9, .3, 40)})
    app = App(frame)
    app.fp.value, app.fn.value = 1., 5.
    here = evaluate(frame["label"], {"m": frame["m"], "k": frame["k"]}, dict(fp=1, fn=5), rng=0)
    assert app.report.summary() == here.summary()
