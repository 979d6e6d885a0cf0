"""The site in a real browser (Chromium, driven by Playwright)."""
import contextlib
import re
import shutil
import threading
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
