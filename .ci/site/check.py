"""What a strict build looks for on the finished pages, whoever built them.

| what | the reader's need |
| --- | --- |
| `read`, as text | links that lead somewhere, figures and tables that can be heard, no left-over markup, pages that load fast |
| `look`, in Chromium, where it is to be had | no errors, nothing that jumps while the page loads, nothing cut off at three sizes of screen, words of 9 px in figures, formulas in their column |
| axe-core there | contrasts, names and keyboard, light and dark |
| `judged` | the author's: which page, and what |
"""
import contextlib
import gzip
import http.server
import importlib.resources
import re
import shutil
import threading
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from typing import NamedTuple
from urllib.parse import unquote, urlparse

QUIET = ("script", "style", "pre", "code", "svg")
HEAVIEST, HOME = 1.5e6, 1e6  # bytes as sent: no page more, the first one; .54e6 are icons that all share
LEFT_OVER = ":::  {{<  ?@  {#  {.callout  @fig-  @eq-  @tbl-  $$  #|  {target=  ](#".split()
RAW = re.compile(r"(?<!\w)\$[^$\s][^$\n]{0,80}?[^$\s]?\$(?![\w$])|`[^`\n]+`|\b(Figure|Table) \d+: \1\b")
WIDTHS = (1440, 820, 390)
JUMPS = .1  # layout shift while a page loads, as browsers count it
SMALLEST = 9  # pixels, the size of type in a figure: figures.py aims a little higher
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]


class Parsed(NamedTuple):
    """Ids, links, loaded files, images (their attributes), how many heads of tables and names of folds are empty, how
    many formulas, and the text outside code and mathematics."""
    ids: list
    links: list
    loaded: list
    images: list
    empty: int
    formulas: int
    text: str


EMPTY = ("//th[not(normalize-space(translate(., '\u00a0', '')) or .//img)]"
         "| //summary[not(normalize-space() or @aria-label)]")


@lru_cache(None)
def parsed(path):
    import lxml.html
    tree = lxml.html.parse(path, parser=lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)).getroot()
    loads = "//link[not(@rel='canonical')]/@href | //*[not(self::input)]/@src | //*/@srcset"
    images = [dict(image.attrib) for image in tree.iter("img") if "logo__image" not in image.classes]
    found = [[str(value) for value in tree.xpath(path)] for path in ("//@id", "//a/@href", loads)]
    empty = len(tree.xpath(EMPTY))
    formulas = [e for e in tree.iter("span", "div") if "math" in e.classes]
    for quiet in [*formulas, *tree.xpath("|".join(f"//{tag}" for tag in (*QUIET, "comment()")))]:
        quiet.drop_tree()
    return Parsed(*found, images, empty, len(formulas), tree.text_content())


def read(docs, names):
    "Complaints about the pages as text."
    found, weights = [], {name: weight(docs, docs / f"{name}.html") for name in names}
    for name in names:
        found += [f"{name}.html: {fault}" for fault in faults(docs, docs / f"{name}.html")]
        if weights[name] > (most := HOME if name == "index" else HEAVIEST):
            found.append(f"{name}.html weighs {weights[name] / 1e6:.1f} MB, more than {most / 1e6:g}")
    return found, weights


def faults(docs, path):
    "What is wrong with a page as text."
    page = parsed(path)
    yield from (f"the link {link} leads nowhere" for link in dead_links(docs, path))
    yield from (f"an image without alternative text: {image.get('src', '')[:60]}"
                for image in page.images if not described(image))
    if page.empty:
        yield f"{page.empty} tables' heads or folds without words"
    for mark in (mark for mark in LEFT_OVER if mark in page.text):
        yield f"left-over markup {mark!r} in {around(page.text, page.text.index(mark))!r}"
    for found in RAW.finditer(page.text):
        yield f"raw markup in {around(page.text, found.start())!r}"


def dead_links(docs, path):
    dead = []
    for link in parsed(path).links:
        url = urlparse(link)
        if url.scheme or url.netloc:
            continue
        target = docs / unquote(url.path) if url.path else path
        place = unquote(url.fragment) if target.suffix == ".html" else ""
        if not target.exists() or place and place not in parsed(target).ids:
            dead.append(link)
    return dead


def described(image):
    alt = image.get("alt", "")
    return image.get("role") == "presentation" or len(alt) > 3 and not alt.startswith(("_images", "../"))


def around(text, at):
    return " ".join(text[max(0, at - 30):at + 60].split())


def weight(docs, path):
    "Bytes of a page with the files of ours that it names, as hosts send them: compressed."
    ours = [urlparse(url) for url in parsed(path).loaded]
    files = {docs / unquote(url.path) for url in ours if not url.netloc and url.scheme != "data"}
    return sent(path) + sum(sent(file) for file in files if file.is_file())


@lru_cache(None)
def sent(file):
    "The size of a file on its way."
    text = file.suffix in (".html", ".css", ".js", ".svg", ".json")
    return len(gzip.compress(file.read_bytes(), 6)) if text else file.stat().st_size


# In the browser ----------------------------------------------------------------------------------

def axe():
    "axe-core's script, from the package that carries it, or nothing."
    try:
        return (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    except (ImportError, OSError):
        return ""


def chromium():
    return next(filter(None, map(shutil.which, CHROMIUM)), None)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(docs):
    "The address of a folder of pages, as long as it is needed."
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=docs))
    server.handle_error = lambda *_: None  # a browser that has moved on
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


SAMPLE = ("index", "scoreboard", "expected_cost", "report", "scale", "glossary", "cost_eval.scores")


def look(docs, names, jobs=2):
    "{name: what the browser measured}; nothing without Chromium and Playwright."
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return {}
    if not chromium() or not names:
        return {}
    with served(docs) as site, ProcessPoolExecutor(jobs) as pool:
        parts = pool.map(partial(look_at, site), (names[i::jobs] for i in range(jobs)))
        return {name: seen for part in parts for name, seen in part.items()}


def look_at(site, names):
    from playwright.sync_api import sync_playwright
    script, out = axe(), {}
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium(), args=FLAGS)
        for name in names:
            page = browser.new_page(viewport={"width": WIDTHS[0], "height": 900})
            page.set_default_timeout(180_000)
            out[name] = measured(page, f"{site}/{name}.html", script)
            page.close()
        browser.close()
    return out


def measured(page, url, script):
    """Errors, shift, overflow by width, formulas wider than their column, the height of the first figure, and
    axe's faults by scheme."""
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
    page.on("response", lambda r: errors.append(f"{r.status} {r.url}") if r.status >= 400 else None)
    near = (url.rpartition("/")[0], "data:", "blob:")
    page.on("request", lambda r: errors.append(f"loads {r.url}") if not r.url.startswith(near) else None)
    shift = {}
    for width in (WIDTHS[-1], WIDTHS[0]):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(url)
        page.wait_for_load_state("networkidle")
        page.evaluate("window.MathJax?.startup?.promise")
        shift[width] = page.evaluate(SHIFT)
    page.evaluate(OPEN)
    seen = dict(errors=errors, shift=shift, overflow={}, hidden={}, figures={}, faults={}, lightness={})
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        seen["overflow"][width] = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        seen["hidden"][width] = page.evaluate(CUT)
        seen["figures"][width] = page.evaluate(FIGURES)
        if width == WIDTHS[0]:
            seen |= page.evaluate(MEASURE)
    if script:
        settle(page)
        page.evaluate(script)
        seen["faults"]["phone"] = page.evaluate(AXE, "phone")
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    settle(page)
    page.add_style_tag(content="* { transition: none !important; }")
    page.evaluate(TRIM)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        with contextlib.suppress(Exception):
            page.wait_for_function(f"{LIGHTNESS} {'>' if scheme == 'light' else '<'} .5", timeout=5000)
        seen["lightness"][scheme] = page.evaluate(LIGHTNESS)
        if script:
            seen["faults"][scheme] = page.evaluate(AXE, scheme)
    return seen


def settle(page):
    "site.js makes what scrolls reachable once the sidebars have come to rest: wait for it, but not for ever."
    page.wait_for_timeout(300)
    with contextlib.suppress(Exception):
        page.wait_for_function(REACHED, timeout=5000)


OPEN = "document.querySelectorAll('details.rest').forEach(fold => { fold.open = true; })"

# whether the keyboard reaches everything that scrolls
REACHED = """() => [...document.querySelectorAll('main :is(table, pre, figure, .cell_output)')].every(e =>
    !e.tabIndex || e.scrollWidth < e.clientWidth + 14 || !/auto|scr/.test(getComputedStyle(e).overflowX))"""

# how much has jumped since the page began to load: score, and what moved farthest
SHIFT = """() => new Promise((done) => setTimeout(() => {
    const all = [];
    const watch = new PerformanceObserver((list) => all.push(...list.getEntries()));
    watch.observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => {
        const worst = all.sort((a, b) => b.value - a.value)[0]?.sources.map(s => s.node).find(n => n);
        done([+all.reduce((sum, e) => sum + e.value, 0).toFixed(3), (worst?.textContent ?? '').slice(0, 60)]);
    }, 50);
}, 300))"""

# elements that stick out of the page to the right and cannot be scrolled to
CUT = """() => [...document.querySelectorAll('main *')].filter(e => {
    const box = e.getBoundingClientRect();
    if (!box.width || box.right <= innerWidth + 1 || getComputedStyle(e).position === 'fixed') return false;
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
        if (/auto|scroll|hidden/.test(getComputedStyle(p).overflowX)) return false;
    return true;
}).slice(0, 5).map(e => e.tagName + '.' + e.className + ' ' + e.textContent.trim().slice(0, 40))"""

# of each drawing of matplotlib's, as it is shown: the smallest size of type in pixels, and whether it is
# wider than its frame
FIGURES = """async () => {
    const found = [];
    for (const image of document.querySelectorAll(':is(article, main) img')) {
        const width = image.getBoundingClientRect().width;
        const frame = image.closest('figure') ?? image.parentElement;
        if (!width || !/\\.svg$|^data:image\\/svg/.test(image.src)) continue;
        const svg = await (await fetch(image.src)).text(), box = svg.match(/viewBox=["']0 0 ([\\d.]+)/);
        const sizes = [...svg.matchAll(/scale\\(([\\d.]+) -/g)].map(glyphs => 100 * glyphs[1]);
        const seen = image.src.match(/svgView\\(viewBox\\(([^)]*)/)?.[1].split(',')[2] ?? box?.[1];
        if (box && sizes.length) found.push({
            words: +(Math.min(...sizes) * width / seen).toFixed(2), wide: width > frame.clientWidth + 1,
            name: `${frame.id || 'a figure'} (${image.alt.slice(0, 50)})` });
    }
    return found;
}"""

LIGHTNESS = "getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] / 255"  # of its red

MEASURE = """() => {
    const main = document.querySelector('article, main');
    const screen = e => e ? +((e.getBoundingClientRect().top + scrollY) / innerHeight).toFixed(2) : null;
    const figure = [...main.querySelectorAll('img')].find(e => e.getBoundingClientRect().height > 60);
    const summary = [...main.querySelectorAll('h2')].find(e => e.textContent.startsWith('Summary'));
    const wider = e => e && e.scrollWidth > e.clientWidth + 1;
    const all = [...(window.MathJax?.startup?.document?.math ?? [])].filter(m => m.display);
    const wide = all.filter(m => [m.typesetRoot, m.typesetRoot?.parentElement].some(wider)).map(m => m.math);
    const count = which => document.querySelectorAll(which).length;
    return { figure: screen(figure), story: screen(summary), wide, merror: count('mjx-merror'),
             unset: count('article .math') - count('article mjx-container') };
}"""

# much of the same tells axe-core nothing new, and takes it a minute: rows, listings and set formulas after
# the first ones
TRIM = """() => {
    document.querySelectorAll('mjx-container').forEach(e => e.replaceChildren());
    [...document.querySelectorAll('.highlight pre')].slice(10).forEach(e => { e.textContent = 'x'; });
    document.querySelectorAll('table').forEach(e => [...e.rows].slice(8).forEach(row => row.remove()));
}"""

AXE = """async (scheme) => {
    const said = n => `${n.target.join(' ')}: ${n.html.slice(0, 90)} ${n.any[0]?.message ?? ''}`;
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const rules = { phone: ['scrollable-region-focusable'], dark: ['color-contrast', 'link-in-text-block'] };
    const options = { resultTypes: ['violations'], preload: false, runOnly: rules[scheme] ?? tags };
    const found = await axe.run({ exclude: [['mjx-container']] }, options);
    return found.violations.filter(v => ['serious', 'critical'].includes(v.impact))
        .map(v => ({ id: v.id, where: said(v.nodes[0]) }));
}"""


CHAPTER = re.compile(r"(0[1-4]|[1-6][0-3])_")
STORY = 20  # screens at the most


def judged(name, seen, stem=""):
    "Complaints about what the browser measured."
    found = [*told(seen), *(of_chapter(seen) if CHAPTER.match(stem) else ())]
    return [f"{name}.html: {fault}" for fault in found]


def told(seen):
    yield from (f"an error in the browser: {error[:200]}" for error in seen["errors"])
    for width, (score, what) in seen["shift"].items():
        if score > JUMPS:
            yield f"a layout shift of {score} at {width} px, of {what!r}"
    for width in WIDTHS:
        if seen["overflow"][width] > 0:
            yield f"{seen['overflow'][width]} px too wide at {width} px"
        yield from (f"sticks out at {width} px: {what}" for what in seen["hidden"][width])
        for figure in seen["figures"][width]:
            if figure["words"] < SMALLEST:
                yield f"words of {figure['words']} px at {width} px in {figure['name']}"
            if figure["wide"]:
                yield f"wider than its column at {width} px: {figure['name']}"
    for tex in seen["wide"]:
        yield f"a formula wider than its column: {' '.join(tex.split())[:80]}"
    for scheme, value in seen["lightness"].items():
        if (value > .5) != (scheme == "light"):
            yield f"not {scheme} where it should be"
    for count, fault in ((seen["merror"], "that MathJax refuses"), (seen["unset"], "that are not typeset")):
        if count > 0:
            yield f"{count} formulas {fault}"
    for scheme, faults in seen["faults"].items():
        yield from (f"accessibility, {scheme}: {fault['id']}, as in {fault['where']}" for fault in faults)


def of_chapter(seen):
    if seen["figure"] is None or seen["figure"] >= 1:
        yield "no figure begins on the first screen"
    if (seen["story"] or 0) > STORY:
        yield f"{seen['story']:.0f} screens before the summary, at most {STORY}: what is more goes behind it"
