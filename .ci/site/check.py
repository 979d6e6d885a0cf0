"""What a strict build looks for on the finished pages, whoever built them.

| what | the reader's need |
| --- | --- |
| `read`, as text | links that lead somewhere, figures and tables that can be heard, no left-over markup, pages that load fast |
| `look`, in Chromium, where it is to be had | no errors, nothing that jumps while the page loads, nothing cut off at three sizes of screen, words of 9 px in figures, formulas in their column |
| axe-core there | contrasts, names and keyboard, light and dark |
| `judged`, `place` | the author's: which page, notebook and cell |
"""
import contextlib
import gzip
import http.server
import re
import shutil
import threading
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from typing import NamedTuple
from urllib.parse import unquote, urlparse

LOADS, QUIET = ("script", "img", "iframe", "source", "video", "audio", "embed"), ("script", "style", "pre", "code", "svg")
HEAVIEST, HOME = 1.5e6, 1e6  # bytes as sent: no page more, the first one; .54e6 are the theme's icons, which all pages share
LEFT_OVER = (":::", "{{<", "?@", "{#", "{.callout", "@fig-", "@eq-", "@tbl-", "$$", "#| ", "{target=", "](#")
RAW = re.compile(r"(?<!\w)\$[^$\s][^$\n]{0,80}?[^$\s]?\$(?![\w$])|`[^`\n]+`|\b(Figure|Table) \d+: \1\b")
WIDTHS = (1440, 820, 390)
JUMPS = .1  # layout shift while a page loads, as browsers count it
SMALLEST = 9  # pixels, the size of type in a figure: figures.py aims a little higher
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]


class Parsed(NamedTuple):
    "Ids, links, loaded files, images (their attributes), how many heads of tables and names of folds are empty, how many formulas, and the text outside code and mathematics."
    ids: list
    links: list
    loaded: list
    images: list
    empty: int
    formulas: int
    text: str


@lru_cache(None)
def parsed(path):
    import lxml.html
    tree = lxml.html.parse(path, parser=lxml.html.HTMLParser(encoding="utf-8", huge_tree=True)).getroot()
    loads = "|".join(f"//{tag}/@src|//{tag}/@srcset" for tag in LOADS) + "|//link[not(@rel='canonical')]/@href"
    images = [dict(image.attrib) for image in tree.iter("img") if "logo__image" not in image.classes]
    found = [[str(value) for value in tree.xpath(path)] for path in ("//@id", "//a/@href", loads)]
    empty = len(tree.xpath("//th[not(normalize-space(translate(., '\u00a0', '')) or .//img)] | //summary[not(normalize-space() or @aria-label)]"))
    formulas = [e for e in tree.iter("span", "div") if "math" in e.classes]
    for quiet in [*formulas, *tree.xpath("|".join(f"//{tag}" for tag in (*QUIET, "comment()")))]:
        quiet.drop_tree()
    return Parsed(*found, images, empty, len(formulas), tree.text_content())


def read(docs, names):
    "Complaints about the pages as text."
    found, weights = [], {}
    for name in names:
        path = docs / f"{name}.html"
        page, said = parsed(path), partial("{}.html: {}".format, name)
        found += [said(f"the link {link} leads nowhere") for link in dead_links(docs, path)]
        found += [said(f"an image without alternative text: {image.get('src', '')[:60]}") for image in page.images if not described(image)]
        found += [said(f"{page.empty} tables' heads or folds without words")] if page.empty else []
        found += [said(f"left-over markup {mark!r} in {around(page.text, page.text.index(mark))!r}") for mark in LEFT_OVER if mark in page.text]
        found += [said(f"raw markup in {around(page.text, m.start())!r}") for m in RAW.finditer(page.text)]
        weights[name] = weight(docs, path)
    most = {name: HOME if name == "index" else HEAVIEST for name in names}
    found += [f"{name}.html weighs {w / 1e6:.1f} MB, more than {most[name] / 1e6:g}" for name, w in weights.items() if w > most[name]]
    return found, weights


def dead_links(docs, path):
    dead = []
    for link in parsed(path).links:
        url = urlparse(link)
        if url.scheme or url.netloc:
            continue
        target = docs / unquote(url.path) if url.path else path
        if not target.exists() or url.fragment and target.suffix == ".html" and unquote(url.fragment) not in parsed(target).ids:
            dead.append(link)
    return dead


def described(image):
    alt = image.get("alt")
    return alt == "" and image.get("role") == "presentation" or len(alt or "") > 3 and not alt.startswith(("_images", "../"))


def around(text, at):
    return " ".join(text[max(0, at - 30):at + 60].split())


def weight(docs, path):
    "Bytes of a page with the files of ours that it names, as hosts send them: compressed."
    files = {docs / unquote(urlparse(url).path) for url in parsed(path).loaded if not urlparse(url).netloc and urlparse(url).scheme != "data"}
    return sent(path) + sum(sent(file) for file in files if file.is_file())


@lru_cache(None)
def sent(file):
    "The size of a file on its way."
    return len(gzip.compress(file.read_bytes(), 6)) if file.suffix in (".html", ".css", ".js", ".svg", ".json") else file.stat().st_size


# In the browser ----------------------------------------------------------------------------------

def axe():
    "axe-core's script, from the package that carries it, or nothing."
    try:
        from importlib.resources import files
        return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
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


SAMPLE = ("index", "scoreboard", "expected_cost", "report", "scale", "glossary")


def look(docs, names, jobs=2, sample=()):
    "{name: what the browser measured}, of a sample of the pages, if one is given; nothing without Chromium and Playwright."
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return {}
    if not chromium():
        return {}
    wanted = [name for name in names if not sample or name in sample]
    with served(docs) as site, ProcessPoolExecutor(jobs) as pool:
        return {name: seen for part in pool.map(partial(look_at, site), (wanted[i::jobs] for i in range(jobs))) for name, seen in part.items()}


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
    "Errors, shift, overflow by width, formulas wider than their column, the height of the first figure, and axe's faults by scheme."
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda m: errors.append(m.text) if m.type == "error" and "Failed to load" not in m.text else None)
    page.on("response", lambda r: None if r.status < 400 else errors.append(f"{r.status} {r.url}"))
    page.on("request", lambda r: errors.append(f"loads {r.url}") if r.url.startswith("http") and r.url.split("/")[2] != url.split("/")[2] else None)
    shift = {}
    for width in (WIDTHS[-1], WIDTHS[0]):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(url)
        page.wait_for_load_state("networkidle")
        page.evaluate("window.MathJax?.startup?.promise")
        shift[width] = page.evaluate(SHIFT)
    page.evaluate("document.querySelectorAll('details.rest').forEach(fold => { fold.open = true; })")
    seen = dict(errors=errors, shift=shift, overflow={}, hidden={}, figures={}, faults={}, lightness={})
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        seen["overflow"][width] = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
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


# whether the keyboard reaches everything that scrolls
REACHED = """() => [...document.querySelectorAll('main :is(table, pre, figure, .cell_output)')].every(e =>
    e.scrollWidth <= e.clientWidth + 13 || !['auto', 'scroll'].includes(getComputedStyle(e).overflowX) || e.tabIndex === 0)"""

# how much has jumped since the page began to load: score, and what moved farthest
SHIFT = """() => new Promise((done) => setTimeout(() => {
    const all = [];
    const watch = new PerformanceObserver((list) => all.push(...list.getEntries()));
    watch.observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => {
        const worst = all.sort((a, b) => b.value - a.value)[0]?.sources.map(s => s.node).find(n => n);
        done([+all.reduce((sum, e) => sum + e.value, 0).toFixed(3), (worst?.textContent ?? '').trim().slice(0, 60)]);
    }, 50);
}, 300))"""

# elements that stick out of the page to the right and cannot be scrolled to
CUT = """() => [...document.querySelectorAll('main *')].filter(e => {
    const box = e.getBoundingClientRect();
    if (!box.width || box.right <= innerWidth + 1 || getComputedStyle(e).position === 'fixed') return false;
    for (let p = e.parentElement; p; p = p.parentElement)
        if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(p).overflowX) && p !== document.body && p !== document.documentElement) return false;
    return true;
}).slice(0, 5).map(e => e.tagName + '.' + e.className + ' ' + e.textContent.trim().slice(0, 40))"""

# of each drawing of matplotlib's, as it is shown: the smallest size of type in pixels, and whether it is wider than its frame
FIGURES = """async () => {
    const found = [];
    for (const image of document.querySelectorAll(':is(article, main) img')) {
        const width = image.getBoundingClientRect().width, frame = image.closest('figure') ?? image.parentElement;
        if (!width || !/\\.svg$|^data:image\\/svg/.test(image.src)) continue;
        const svg = await (await fetch(image.src)).text(), box = svg.match(/viewBox=["']0 0 ([\\d.]+)/);
        const sizes = [...svg.matchAll(/scale\\(([\\d.]+) -/g)].map(glyphs => 100 * glyphs[1]);
        const seen = image.src.match(/svgView\\(viewBox\\(([^)]*)/)?.[1].split(',')[2] ?? box?.[1];
        if (box && sizes.length) found.push({ words: +(Math.min(...sizes) * width / seen).toFixed(2), wide: width > frame.clientWidth + 1,
            name: (frame.id || 'a figure') + ' (' + image.alt.slice(0, 50) + ')' });
    }
    return found;
}"""

LIGHTNESS = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((all, one) => all + +one, 0) / 765"

MEASURE = """() => {
    const main = document.querySelector('article, main'), top = main.getBoundingClientRect().top;
    const screen = e => e ? +((e.getBoundingClientRect().top + scrollY) / innerHeight).toFixed(2) : null;
    const figure = [...main.querySelectorAll('img, .cell_output svg')].find(e => e.getBoundingClientRect().height > 60);
    const wide = [...(window.MathJax?.startup?.document?.math ?? [])].filter(m => m.display).filter(m => {
        const box = m.typesetRoot, column = box?.parentElement?.closest('section, .bd-article, main, div.math, p');
        return box && box.scrollWidth > box.clientWidth + 1 || box?.parentElement && box.parentElement.scrollWidth > box.parentElement.clientWidth + 1;
    }).map(m => m.math);
    const summary = [...main.querySelectorAll('h2')].find(e => e.textContent.startsWith('Summary'));
    return { figure: screen(figure), story: screen(summary), wide, screens: +(document.documentElement.scrollHeight / innerHeight).toFixed(1),
             merror: document.querySelectorAll('mjx-merror').length,
             unset: document.querySelectorAll('article .math').length - document.querySelectorAll('article mjx-container').length };
}"""

# much of the same tells axe-core nothing new, and takes it a minute: rows, listings and set formulas after the first ones
TRIM = """() => {
    document.querySelectorAll('mjx-container').forEach(e => e.replaceChildren());
    [...document.querySelectorAll('.highlight pre')].slice(10).forEach(e => { e.textContent = 'x'; });
    document.querySelectorAll('table').forEach(e => [...e.rows].slice(8).forEach(row => row.remove()));
}"""

AXE = """async (scheme) => {
    const rules = scheme === 'phone' ? { type: 'rule', values: ['scrollable-region-focusable'] } : scheme === 'dark' ? { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }
        : { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] };
    const found = await axe.run({ exclude: [['mjx-container']] }, { resultTypes: ['violations'], preload: false, runOnly: rules });
    return found.violations.filter(v => ['serious', 'critical'].includes(v.impact))
        .map(v => ({ id: v.id, impact: v.impact, count: v.nodes.length, where: v.nodes.slice(0, 4).map(n => n.target.join(' ') + ': ' + n.html.slice(0, 90)
            + ' ' + (n.any[0]?.message ?? '').slice(0, 110)) }));
}"""


CHAPTER = re.compile(r"(0[1-4]|[1-6][0-3])_")
STORY = 20  # screens at the most


def judged(name, seen, nb=None, stem=""):
    "Complaints about what the browser measured."
    said = partial("{}: {}".format, f"{name}.html")
    found = [said(f"an error in the browser: {error[:200]}") for error in seen["errors"]]
    found += [said(f"a layout shift of {score} at {width} px, of {what!r}") for width, (score, what) in seen["shift"].items() if score > JUMPS]
    found += [said(f"{over} px too wide at {width} px") for width, over in seen["overflow"].items() if over > 0]
    found += [said(f"sticks out at {width} px: {what}") for width, all in seen["hidden"].items() for what in all]
    found += [said(f"words of {fig['words']} px at {width} px in {fig['name']}") for width, all in seen["figures"].items() for fig in all if fig["words"] < SMALLEST]
    found += [said(f"wider than its column at {width} px: {fig['name']}") for width, all in seen["figures"].items() for fig in all if fig["wide"]]
    found += [said(f"a formula wider than its column at {WIDTHS[0]} px{place(nb, tex)}: {' '.join(tex.split())[:80]}") for tex in seen["wide"]]
    found += [said(f"not {scheme} where it should be") for scheme, value in seen["lightness"].items() if (value > .5) != (scheme == "light")]
    if CHAPTER.match(stem) and (seen["figure"] is None or seen["figure"] >= 1):
        found.append(said("there is no figure" if seen["figure"] is None else f"the first figure begins on screen {1 + seen['figure']:.1f}"))
    if CHAPTER.match(stem) and (seen.get("story") or 0) > STORY:
        found.append(said(f"{seen['story']:.0f} screens before the summary; at most {STORY}: what is secondary goes behind it, under Going further"))
    found += [said(f"{seen['merror']} formulas that MathJax refuses")] if seen["merror"] else []
    found += [said(f"{seen['unset']} formulas are not typeset")] if seen["unset"] > 0 else []
    found += [said(f"{fault['impact']} fault of accessibility, {scheme}: {fault['id']} ({fault['count']}), as in {fault['where'][0]}")
              for scheme, faults in seen["faults"].items() for fault in faults]
    return found


def place(nb, tex):
    "The cell a formula stands in."
    bare = re.sub(r"\\begin\{(?:split|aligned|equation\*?)\}|\\end\{\w+\*?\}|\s", "", tex)[:60]
    for cell in (nb or {}).get("cells", []):
        if bare in re.sub(r"\s", "", "".join(cell.get("source") or "")):
            return f", cell {cell.get('id')}"
    return ""
