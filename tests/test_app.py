"""The app: its state against the library, bad input, and the page in a real browser under Voila."""
import base64
import contextlib
import datetime
import io
import re
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pandas as pd
import pytest
from conftest import CHROMIUM, FLAGS

from cost_eval.app import App, example_frame, read_upload
from cost_eval.costs import CostMatrix
from cost_eval.report import evaluate


def library(frame, fn, priors=None):
    "What the library says of the example."
    costs = CostMatrix.binary(fp=1, fn=fn, classes=["well", "ill"])
    models = {name: frame[name].to_numpy() for name in ("model_a", "model_b")}
    return evaluate(frame["label"].to_numpy(), models, costs, priors=priors, rng=0)


def test_the_page_shows_the_librarys_numbers():
    app = App()
    assert app.report.ladder.equals(library(example_frame(), 10).ladder)
    app.fn.value = 25.
    app.prevalence.value = "2 %"
    direct = library(example_frame(), 25, [.98, .02])
    assert app.report.ladder.equals(direct.ladder)
    for line in direct.summary().splitlines():
        assert line.replace("<", "&lt;") in app.says.value
    app._prepare(None)
    assert "base64," in app.link.value and app.images["map"].value[1:4] == b"PNG" and not app.images["roc"].value
    app.more.value = True
    assert app.images["roc"].value[1:4] == b"PNG" and app.images["roc"].layout.display is None


def test_sliders_are_the_numbers():
    app = App()
    app.drag_fn.value, app.drag_prevalence.value = 40., .03
    assert app.fn.value == 40 and app.prevalence.value == "0.03"
    assert app.report.ladder.equals(library(example_frame(), 40, [.97, .03]).ladder)


def test_new_columns_are_read_anew():
    app = App()
    app.models.value = ("model_b",)
    assert app.report.best["model"].tolist() == ["model_b"]
    app.positive.value = "well"
    costs = CostMatrix.binary(fp=1, fn=10, classes=["ill", "well"])
    frame = example_frame()
    assert app.report.ladder.equals(evaluate(frame["label"].to_numpy(), {"model_b": frame["model_b"].to_numpy()}, costs, rng=0).ladder)


def test_what_cannot_be_gets_a_sentence():
    app = App()
    for control, value, says in ((app.prevalence, "lots", "is not a number"), (app.prevalence, "3", "prevalence: must lie in"),
                                 (app.prevalence, "__import__('os').system('x')", "is not a number"), (app.fn, -1., "a miss costs"),
                                 (app.models, (), "at least one model")):
        before = control.value
        control.value = value
        assert app.report is None and says in app.says.value and "Traceback" not in app.says.value, says
        control.value = before
        assert app.report is not None
    app.label.value = "model_a"
    assert app.report is None and "different values" in app.says.value


def test_files():
    frame = example_frame()
    assert read_upload("x.csv", frame.to_csv(index=False).encode()).shape == frame.shape
    for name, content, says in (("x.csv", b"", "cannot be read"), ("x.parquet", b"PAR1", "cannot be read"), ("x.csv", b"a\n1\n", "1 columns"),
                                ("x.csv", b"a,b\n", "0 rows"), ("x.csv", b"label,m\n1,.5\n0,.1,7,8\n", "cannot be read"), ("x.csv", b"label,m,m\n1,.5,.2\n", "stands twice"),
                                ("x.csv", b"\xff\xfe\x00\x01", "cannot be read"), ("x.csv", b"%PDF-1.7 \x80\x81\n1 0 obj", "x.csv")):
        with pytest.raises(ValueError, match=says):
            read_upload(name, content)
    app = App()
    app.load(pd.DataFrame({"y": [0, 1, 0, 1], "m": [.1, np.nan, .2, .9]}))
    assert "1 rows have missing values, the first is row 2" in app.says.value
    app.load(pd.DataFrame({"<b>": [0, 1, 2, 1], "m": [.1, .2, .2, .9]}))
    assert "'<b>'" not in app.says.value
    for frame, says in ((pd.DataFrame({"label": [0, 1] * 5, "m": ["a", "b"] * 5}), "at least one model"),
                        (pd.DataFrame({"label": [1] * 9, "m": range(9)}), "1 different values"),
                        (pd.DataFrame({"label": range(80), "m": range(80)}), "50 or more different values"),
                        (pd.DataFrame({"label": [0, 0, 0, 1], "m": [3., -2., 5., 7.]}), "two samples of each class")):
        app.load(frame)
        assert app.report is None and says in app.says.value and "Traceback" not in app.says.value, says


@pytest.fixture
def unpainted(monkeypatch):
    "Pictures that only say which panel they are."
    monkeypatch.setattr(App, "_picture", lambda self, panel: f"{panel} of {self.report.n}".encode())


def sent(name, content):
    "What the browser hands over."
    return ({"name": name, "type": "text/csv", "size": len(content), "content": memoryview(content), "last_modified": datetime.datetime(2026, 1, 1)},)


def test_an_upload_is_shown_or_refused(unpainted):
    frame = example_frame().iloc[:300].rename(columns={"label": "state"}).assign(id=range(300))
    app = App()
    app.upload.value = sent("half.csv", frame.to_csv(index=False).encode())
    assert app.label.value == "state" and app.models.value == ("model_a", "model_b") and app.positive.value == "ill"
    assert app.report.ladder.equals(library(pd.read_csv(io.StringIO(frame.to_csv(index=False))).rename(columns={"state": "label"}), 10).ladder)
    shown = {panel for panel, image in app.images.items() if image.layout.display != "none"}
    assert shown == {"ladder", "map", "differences", "cost curve", "decision curve"} == {panel for panel, image in app.images.items() if bytes(image.value).endswith(b" of 300")}
    assert all(bytes(app.images[panel].value) == f"{panel} of 300".encode() for panel in shown)
    app.more.value = True
    assert {panel for panel, image in app.images.items() if image.layout.display != "none"} == {*app.report.panels} & {*app.images} > shown
    app.models.value = ("model_b",)
    assert app.images["differences"].layout.display == "none" and "differences" not in app.report.panels
    app.upload.value = ()
    assert app.report.n == 300
    app.upload.value = sent("coded.csv", frame.assign(state=(frame["state"] == "ill") * 1).to_csv(index=False).encode())
    assert app.models.options == ("model_a", "model_b", "id") and app.positive.value == 1
    app.upload.value = sent("no.csv", b"a,b")
    assert "no.csv has 0 rows" in app.says.value and not app.ladder.value and all(image.layout.display == "none" for image in app.images.values())


def test_the_link_holds_the_report(unpainted):
    app = App(example_frame().iloc[:200])
    app.prepare.click()
    found = re.search(r'download="report.html" href="data:text/html;base64,([^"]+)"', app.link.value)
    assert base64.b64decode(found[1]).decode() == app.report.to_html()
    app.fn.value = 20.  # another report: the old link goes
    assert app.link.value == "" and f"{app.report.ladder['cost'].max():.4g}" in app.ladder.value
    app.fn.value = -1.
    app._prepare(None)  # as the button does, whose errors nobody would see
    assert app.report is None and app.link.value == ""


def test_sliders_stand_where_the_numbers_are(unpainted):
    app = App(example_frame().iloc[:200])
    share = (example_frame()["label"].iloc[:200] == "ill").mean()
    assert app.drag_prevalence.value == pytest.approx(share) and app.drag_fn.value == 10
    app.fn.value, app.prevalence.value = 1e6, "0.5 %"
    assert app.drag_fn.value == 1e4 and app.drag_prevalence.value == pytest.approx(.005) and app.report.priors[1] == .005
    assert app.fn.value == 1e6  # the slider ends before


def test_too_many_rows_and_no_labels(unpainted, monkeypatch):
    monkeypatch.setattr("cost_eval.app._MAX_ROWS", 3)
    with pytest.raises(ValueError, match=r"x.csv has 4 rows; the page takes 3, the command"):
        read_upload("x.csv", b"y,m\n" + 4 * b"1,.5\n")
    assert len(read_upload("x.csv", b"y,m\n" + 3 * b"1,.5\n")) == 3
    app = App(pd.DataFrame({"label": [None] * 4, "m": [.1, .2, .3, .4]}))
    assert app.report is None and "has 0 different values" in app.says.value


@contextlib.contextmanager
def served(tmp_path):
    "The address of `cost-eval app`."
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
            with contextlib.suppress(urllib.error.HTTPError, OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(.5)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason="SKIPPED BROWSER TESTS: no Chromium, apt-get install chromium")
def test_upload_and_change_costs_in_a_browser(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason='SKIPPED BROWSER TESTS: pip install "cost_eval[dev]"')
    pytest.importorskip("voila", reason='SKIPPED BROWSER TESTS: pip install "cost_eval[app]"')
    frame = example_frame().iloc[::2].reset_index(drop=True)
    frame.to_csv(tmp_path / "half.csv", index=False)
    frame = pd.read_csv(tmp_path / "half.csv")

    def number_of(text):
        return float(re.search(r"is the cheapest: ([\d.e+-]+) per case", text)[1])

    def expected(fn):
        found = re.search(r"is the cheapest: ([\d.e+-]+) per case", library(frame, fn).summary())
        return float(found[1])

    with served(tmp_path) as url, playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1300, "height": 1100})
        page.goto(url, timeout=180_000)
        page.get_by_text("is the cheapest").first.wait_for(timeout=180_000)
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="CSV or parquet").click()
        chooser.value.set_files(tmp_path / "half.csv")
        page.get_by_text("1000 samples").wait_for(timeout=60_000)
        assert number_of(page.inner_text("body")) == expected(10.)
        box = page.get_by_label("a miss costs")
        box.fill("40")
        box.press("Enter")
        page.wait_for_function("wanted => document.body.innerText.includes(wanted)", arg=f"{expected(40.):.4g} per case", timeout=60_000)
        assert number_of(page.inner_text("body")) == expected(40.)
        page.screenshot(path=tmp_path / "app.png", full_page=True)
        browser.close()
