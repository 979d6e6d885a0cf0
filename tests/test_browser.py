"""The site and JupyterLab in a real browser (Chromium, driven by Playwright)."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
playwright = pytest.importorskip("playwright.sync_api", reason='SKIPPED BROWSER TESTS: pip install "cost_eval[dev]"')
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="SKIPPED BROWSER TESTS: no Chromium, apt-get install chromium")

PAGES = sorted(re.sub(r"^\d+_", "", p.stem) for p in (ROOT / "nbs").glob("*.ipynb"))
SCREENS = {"light": (1400, 900, "light"), "dark": (1400, 900, "dark"), "narrow": (390, 844, "light")}
WITH_WIDGETS = sorted(p.stem for p in (ROOT / "nbs").glob("*.ipynb") if "application/vnd.jupyter.widget-view+json" in p.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(docs):
    "The address of the site."
    if shutil.which("quarto"):
        pytest.skip("Quarto is on PATH: its pages load scripts from elsewhere")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=docs))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@contextlib.contextmanager
def opened(browser, url, *, width=1400, height=900, scheme="light", allow=()):
    "A page that must load without a complaint and from nowhere else."
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    host, complaints = url.split("/")[2], []
    page.on("console", lambda m: complaints.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda e: complaints.append(f"exception: {e}"))
    page.on("requestfailed", lambda r: complaints.append(f"failed: {r.url}"))
    page.on("response", lambda r: complaints.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
    page.on("request", lambda r: complaints.append(f"elsewhere: {r.url}") if r.url.startswith("http") and r.url.split("/")[2] != host else None)
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.evaluate("window.MathJax?.startup?.promise")
    yield page
    page.close()
    assert not complaints, complaints


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", PAGES)
def test_page_looks_right(browser, site, name, screen):
    "No error, nothing from elsewhere, mathematics typeset, no sideways scrolling, the asked colours."
    width, height, scheme = SCREENS[screen]
    with opened(browser, f"{site}/{name}.html", width=width, height=height, scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        marked, typeset = (page.locator(s).count() for s in ("article .math", "article mjx-container"))
        assert typeset >= marked and page.locator("mjx-merror").count() == 0, page.locator("mjx-merror").all_text_contents()
        lightness = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0) / 765")
        assert (lightness < .3) == (scheme == "dark")


@pytest.mark.parametrize("stem", WITH_WIDGETS)
def test_widgets_show_their_saved_state(browser, site, stem):
    with opened(browser, f"{site}/{re.sub(r'^[0-9]+_', '', stem)}.html") as page:
        page.wait_for_function("document.documentElement.dataset.widgets === 'shown'")
        places = page.locator(".widget-static")
        assert places.count() == (ROOT / f"nbs/{stem}.ipynb").read_text(encoding="utf-8").count('"application/vnd.jupyter.widget-view+json"')
        for i in range(places.count()):
            box = places.nth(i).locator(".jupyter-widgets").first.bounding_box()
            assert box["width"] > 100 and box["height"] > 20
        assert page.get_by_text("cannot be shown here").count() == 0


def test_search_finds_pages(browser, site):
    with opened(browser, f"{site}/index.html") as page:
        page.keyboard.press("Control+k")
        field = page.locator("#pst-search-dialog input[type=search]")
        field.fill("expected cost")
        field.press("Enter")
        page.wait_for_selector("#search-results li a")
        assert "expected_cost.html" in " ".join(page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)"))


def test_the_theme_can_be_switched(browser, site):
    with opened(browser, f"{site}/index.html") as page:
        for mode in ("Dark", "Light"):
            page.locator("button.theme-switch-button:visible").first.click()
            page.get_by_role("button", name=mode, exact=True).click()
            assert page.evaluate("document.documentElement.dataset.theme") == mode.lower()


def test_folded_code_opens(browser, site):
    with opened(browser, f"{site}/confusion.html") as page:
        fold = page.locator(".api details.code").first
        assert not fold.locator("pre").is_visible()
        fold.locator("summary").click()
        assert fold.locator("pre").is_visible()


# JupyterLab ------------------------------------------------------------------------------------------

PATIENCE = 120  # seconds; a loaded machine with two cores needs them


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def lab(tmp_path):
    "JupyterLab on a copy of the notebooks, with settings of its own."
    pytest.importorskip("jupyterlab", reason='needs pip install "cost_eval[dev]"')
    shutil.copytree(ROOT / "nbs", tmp_path / "nbs", ignore=shutil.ignore_patterns(".*"))
    shutil.copyfile(ROOT / "settings.ini", tmp_path / "settings.ini")
    settings = tmp_path / "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"windowingMode": "none"}')  # else cells that are out of sight are out of the page
    (tmp_path / "CONFIG").mkdir()
    (tmp_path / "CONFIG/jupyter_lab_config.json").write_text('{"LabApp": {"news_url": null}}')  # no question about news over the page
    port = free_port()
    env = {**os.environ, "PYTHONPATH": str(ROOT), **{f"JUPYTER_{d}_DIR": str(tmp_path / d) for d in ("CONFIG", "DATA", "RUNTIME")},
           "IPYTHONDIR": str(tmp_path / "ipython"), "JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "settings"),
           "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "workspaces")}
    log = (tmp_path / "lab.log").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token=", f"--ServerApp.root_dir={tmp_path / 'nbs'}",
         "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
        env=env, cwd=tmp_path, stdout=log, stderr=subprocess.STDOUT)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers(f"{url}/api"), "JupyterLab does not start", lambda: (tmp_path / "lab.log").read_text()[-3000:])
        yield url
    finally:
        process.terminate()
        process.wait(30)
        log.close()


def answers(url):
    with contextlib.suppress(OSError):
        return urllib.request.urlopen(url, timeout=5).status == 200


def wait_for(condition, complaint, detail=lambda: "", patience=PATIENCE):
    "Poll until it is true."
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"{complaint} in {patience} s: {detail()}"
        time.sleep(.5)


SHOWN = """() => [...document.querySelectorAll('.jp-OutputArea-output .jupyter-widgets :is(.widget-html-content, .widget-image, .jp-OutputArea-output)')]
    .map(e => e.outerHTML).join()"""  # what widgets show, without their sliders


def settled(page):
    "What the widgets show once it stays the same for a second."
    seen = [None]

    def stays():
        seen.append(page.evaluate(SHOWN))
        time.sleep(.5)
        return seen[-1] and seen[-1] == page.evaluate(SHOWN)
    wait_for(stays, "the widgets do not come to rest")
    return seen[-1]


def test_a_slider_moves_the_chapter_in_jupyterlab(browser, lab):
    "Open the chapter, run all of it, drag a slider: what the widget shows changes."
    page = browser.new_page(viewport={"width": 1500, "height": 1000})
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"{lab}/lab/tree/10_expected_cost.ipynb?reset")
    idle = page.locator("#jp-main-statusbar").get_by_text(re.compile(r"\| Idle"))
    idle.wait_for()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    wait_for(lambda: idle.count() and "[*]" not in page.content(), "the notebook does not finish")
    handle = page.locator(".jp-OutputArea-output .noUi-handle").first
    handle.scroll_into_view_if_needed()
    before, box = settled(page), handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y, steps=6)
    page.mouse.up()
    wait_for(lambda: settled(page) != before, "the widget shows the same after its slider was dragged")
    page.close()
