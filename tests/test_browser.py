"""The site in a real browser (Chromium, driven by Playwright); that every page looks right, a strict build
has seen (.ci/site/check.py)."""
import contextlib
import time

import pytest
from conftest import CHROMIUM, FLAGS, check
playwright = pytest.importorskip("playwright.sync_api",
                                 reason='SKIPPED BROWSER TESTS: pip install "cost_eval[dev]"')
pytestmark = pytest.mark.skipif(CHROMIUM is None,
                                reason="SKIPPED BROWSER TESTS: no Chromium, apt-get install chromium")


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def site(docs):
    "The address of the site."
    with check.served(docs) as url:
        yield url


@contextlib.contextmanager
def opened(browser, url, *, width=1400, height=900, scheme="light", math=True):
    """A page that must load without a complaint and from nowhere else; without `math` its formulas stay as
    they are, which saves seconds."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    host, complaints = url.split("/")[2], []
    page.on("console", lambda m: complaints.append(f"{m.type}: {m.text}") if m.type in ("error", "warning")
            else None)
    page.on("pageerror", lambda e: complaints.append(f"exception: {e}"))
    # a page that is left, as by a search, aborts the icon that it still loads: not a failure of the site
    page.on("requestfailed", lambda r: "ABORTED" in r.failure or complaints.append(f"failed: {r.url}"))
    page.on("response", lambda r: complaints.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
    page.on("request", lambda r: complaints.append(f"elsewhere: {r.url}") if r.url.startswith("http")
            and r.url.split("/")[2] != host else None)
    if not math:
        page.route("**/mathjax/**", lambda route: route.fulfill(body="", content_type="text/javascript"))
    page.goto(url)
    if math:
        page.wait_for_load_state("networkidle")
        page.evaluate("window.MathJax?.startup?.promise")
    yield page
    page.close()
    assert not complaints, complaints


SEARCHED = dict(line.split(": ") for line in """how to choose threshold: decisions
optimal threshold: decisions; F1 vs cost: rivals; F1 score: metrics
Cohen's kappa: metrics; what is a good F1 score: outperformance; multiclass: expected_cost
class imbalance: metrics; prevalence shift: expected_cost; which metric: which_metric
cost of false positives: costs; calibration: decisions; abstain: hand_over; capacity: capacity
missing labels: missing_labels; confidence interval for cost: bootstrap; bootstrap: bootstrap
compare two models: comparisons; multiple testing: comparisons; sample size: how_many
cross-validation: training; sensitivity analysis: page; fairness: report; class weights: estimators
ROC curve: curves; evaluate my model: judge; CostMatrix: cost_eval.costs""".replace("\n", "; ").split("; "))


@pytest.fixture(scope="module")
def led(browser, site):
    "Words to the pages to which the search leads, best first; it is reached by the keyboard."
    with opened(browser, f"{site}/plotting.html", math=False) as page:
        page.keyboard.press("Control+k")
        field = page.locator("#pst-search-dialog input[type=search]")
        field.fill("xylophone")
        field.press("Enter")
        page.wait_for_url("**/search.html?q=xylophone*", wait_until="networkidle")
        found = page.evaluate("""all => { window.fetch = () => new Promise(() => {});  // the pages' own words
            window.setTimeout = (next, ms) => ms < 100 && next();  // the results at once
            return all.map(words => {
                Search.performSearch(words);
                return [...Search.output.querySelectorAll('a')].map(a => a.pathname.slice(1, -5));
            });
        }""", list(SEARCHED))
        return {words: list(dict.fromkeys(pages)) for words, pages in zip(SEARCHED, found)}


@pytest.mark.parametrize("words", SEARCHED)
def test_the_words_people_type_find_the_page_that_answers(led, words):
    assert SEARCHED[words] in led[words][:2], led[words][:5]


def test_one_switch_opens_all_code(browser, site):
    with opened(browser, f"{site}/expected_cost.html") as page:
        closed = "details.hide:not([open])"
        assert page.locator(closed).count() > 10
        page.get_by_role("button", name="Show all code").click()
        assert page.locator(closed).count() == 0
        page.get_by_role("button", name="Hide all code").click()
        assert page.locator(closed).count() > 10


@pytest.mark.parametrize("width", [1280, 390])
def test_the_keyboard_reaches_every_control_and_shows_where_it_is(browser, site, width):
    """Navigation, search, theme, the switch and the marks of code, a slider; what is inside of a closed fold
    is none."""
    with opened(browser, f"{site}/cost_score.html", width=width, math=False) as page:
        page.evaluate("addEventListener('focusin', e => { e.target.dataset.seen = "
                      "getComputedStyle(e.target).outlineStyle; })")
        controls = page.locator("a[href], button, input, summary").locator("visible=true")
        for _ in range(controls.count() + 30):  # what scrolls is reached, too
            page.keyboard.press("Tab")
        assert page.locator("main input[type=range][data-seen=solid]").count()
        assert page.locator("summary[data-seen=solid]").count() > 10
        missed = controls.locator(":scope:not([data-seen=solid])").evaluate_all(
            "all => all.map(e => e.outerHTML.slice(0, 90))")
        assert not missed, missed


def test_on_a_phone_panels_stand_alone_and_move(browser, site):
    """In a widget, too, whose drawings are data of the page; on a wide screen they are hidden, and nothing is
    written into them: markup there was a second drawing of the page."""
    with opened(browser, f"{site}/cost_score.html", width=390, height=844) as page:
        widget = page.locator(".ce-widget")
        whole, panels = widget.locator("img[data-whole]"), widget.locator(".panels img").all()
        assert not whole.is_visible() and len(panels) == 2 and all(panel.is_visible() for panel in panels)
        assert all(panel.bounding_box()["width"] <= 380 for panel in panels)
        before = [panel.get_attribute("src") for panel in panels]
        widget.locator("input").first.press("End")
        after = [panel.get_attribute("src") for panel in panels]
        assert all(a != b and "#svgView" in b for a, b in zip(before, after))
        page.set_viewport_size({"width": 1200, "height": 900})
        widget.locator("input").first.press("Home")
        assert whole.is_visible() and not panels[0].is_visible() and widget.locator("img > *").count() == 0


def test_on_a_phone_a_wide_table_of_few_rows_is_cards(browser, site):
    "Nothing is lost: each value stands after the name of its column; with room it is a table again."
    with opened(browser, f"{site}/metrics.html", width=390, height=844) as page:
        page.evaluate(check.OPEN)
        page.wait_for_selector("table.cards")
        cells = page.locator("table.cards tbody :is(td, th)").evaluate_all("""all => all.map(e => [
            e.closest('table').tHead.rows[0].cells[e.cellIndex].textContent.trim(), e.dataset.name,
            getComputedStyle(e, '::before').content, e.offsetHeight || !e.textContent.trim(),
            e.scrollWidth - e.clientWidth])""")
        assert len(cells) > 30 and all(head == name and name in before and shown and wider <= 1
                                       for head, name, before, shown, wider in cells)
        page.set_viewport_size({"width": 1200, "height": 900})
        page.wait_for_selector("table.cards", state="detached")
        assert page.locator("thead").locator("visible=true").count() > 8


def test_on_a_phone_a_wide_formula_goes_on_below(browser, site):
    "At what parts two formulas, and before each relation of a chain; its number stays."
    with opened(browser, f"{site}/weighted_accuracy.html", width=390, height=844) as page:
        page.wait_for_selector("html.set")
        page.evaluate(check.OPEN)
        page.wait_for_timeout(600)
        formulas = page.evaluate("""[...MathJax.startup.document.math].filter(m => m.display).map(m => [
            m.math, m.typesetRoot.innerHTML.includes('merror'),
            [m.typesetRoot, m.typesetRoot.parentElement].some(e => e.scrollWidth > e.clientWidth + 1)])""")
        stacked = [tex for tex, *_ in formulas if "{gathered}" in tex]
        assert len(stacked) > 4 and not any(wrong or wide for _, wrong, wide in formulas), formulas
        assert all(tex.count("{") == tex.count("}") and tex.count("\\tag") == 1 and tex.rstrip().endswith("}")
                   for tex in stacked), stacked


def test_formulas_that_come_late_move_no_table(browser, site):
    "On a slow phone they take seconds; the glossary's symbols stood at other places then."
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.route("**/mathjax/core.js", lambda route: (time.sleep(5), route.continue_()))
    page.goto(f"{site}/glossary.html")
    page.wait_for_selector("html.set")
    assert page.evaluate(check.SHIFT)[0] <= check.JUMPS
    page.close()


def test_a_chapter_prints_clean(browser, site):
    "White paper also where the page is dark; the story and its solutions, without what one clicks on."
    with opened(browser, f"{site}/confusion.html", scheme="dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        for hidden in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer",
                       "article details.hide", ".defined"):
            assert not page.locator(hidden).first.is_visible(), hidden
        solution = page.locator("details.admonition:not(.hide)").first
        assert solution.get_attribute("open") is None
        assert solution.locator(":scope > p").last.bounding_box()["height"] > 10
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
