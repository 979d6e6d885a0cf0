"""The built site: complete, self-contained, no dead link, nothing of Quarto's notation left over; and a broken one is refused."""
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from conftest import build_site

yaml = pytest.importorskip("yaml", reason='needs pip install "cost_eval[dev]"')
pytest.importorskip("myst_nb", reason='needs pip install "cost_eval[dev]"')

ROOT = Path(__file__).resolve().parents[1]
with_quarto = shutil.which("quarto") is not None
sphinx_only = pytest.mark.skipif(with_quarto, reason="Quarto is on PATH and makes the pages itself")


class Parsed(HTMLParser):
    "Ids, links, loaded files, images, and the text outside code."

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loaded, self.images, self.text, self.classes = [], [], [], [], [], []
        self.skip = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        self.ids += [a["id"]] if a.get("id") else []
        self.classes += (a.get("class") or "").split()
        self.links += [a["href"]] if tag == "a" and a.get("href") else []
        self.loaded += [a[k] for k in ("src", "srcset") if a.get(k)] if tag in LOADS else []
        self.loaded += [a["href"]] if tag == "link" and a.get("rel") != "canonical" and "href" in a else []
        self.images += [a] if tag == "img" and "logo__image" not in (a.get("class") or "") else []
        self.skip += tag in QUIET

    def handle_endtag(self, tag):
        self.skip -= tag in QUIET

    def handle_data(self, data):
        if not self.skip:
            self.text.append(data)


LOADS = ("script", "img", "iframe", "source", "video", "audio", "embed")
QUIET = ("script", "style", "pre", "code")


@lru_cache(None)
def parsed(path):
    return Parsed(path)


def listed():
    "Notebook stems in the sidebar of _quarto.yml."
    contents = yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))["website"]["sidebar"]["contents"]
    entries = [e for item in contents for e in (item["contents"] if isinstance(item, dict) and "section" in item else [item])]
    return [(e["href"] if isinstance(e, dict) else e).removesuffix(".ipynb") for e in entries]


def page_of(stem):
    return re.sub(r"^\d+_", "", stem) + ".html"


PAGES = [page_of(stem) for stem in listed()]


@pytest.fixture(params=PAGES)
def page(docs, request):
    return docs / request.param


def test_one_page_for_each_notebook(docs):
    notebooks = {p.stem for p in (ROOT / "nbs").glob("*.ipynb")}
    assert set(listed()) == notebooks
    made = {p.name for p in docs.glob("*.html")} - {"404.html", "search.html", "scoreboard.html"}
    assert made == set(PAGES)


def test_links_lead_somewhere(page, docs):
    dead = []
    for link in parsed(page).links:
        url = urlparse(link)
        if url.scheme or url.netloc:
            continue
        target = docs / unquote(url.path) if url.path else page
        if not target.exists():
            dead.append(link)
        elif url.fragment and target.suffix == ".html" and unquote(url.fragment) not in parsed(target).ids:
            dead.append(link)
    assert not dead


@sphinx_only
def test_no_id_is_given_twice(page):
    "Two styled tables with one uuid would share their colours."
    ids = parsed(page).ids
    assert not {i for i in ids if ids.count(i) > 1}


def test_links_to_the_repository_name_files_that_exist(page):
    "The edit, source and launch buttons, and the source links of API entries with their line."
    for link in parsed(page).links:
        m = re.match(r"https://github\.com/[\w-]+/\w+/(?:blob|edit)/\w+/([^#?]+)(?:#L(\d+))?$", link)
        if m:
            file = ROOT / m.group(1)
            assert file.is_file(), link
            assert not m.group(2) or re.match(r"\s*(@|def |class |async )", file.read_text(encoding="utf-8").splitlines()[int(m.group(2)) - 1]), link


@sphinx_only
def test_nothing_is_loaded_from_elsewhere(page, docs):
    for url in parsed(page).loaded:
        parts = urlparse(url)
        assert not parts.netloc and parts.scheme in ("", "data"), url
        assert parts.scheme or (docs / unquote(parts.path)).is_file(), url


@sphinx_only
def test_style_sheets_load_nothing_from_elsewhere(docs):
    sheets = list(docs.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        assert not re.search(r"(url\(|@import)\s*['\"]?\s*(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_every_figure_has_an_alternative_text(page):
    for image in parsed(page).images:
        alt = image.get("alt") or ""
        assert len(alt) > 3 and not alt.startswith(("_images", "../")), image


def test_nothing_of_the_notation_is_left(page):
    text = "".join(parsed(page).text)
    for mark in (":::", "?@", "{#", "{.callout", "@fig-", "@eq-", "@tbl-", "$$", "#| ", "{target="):
        assert mark not in text, text[max(0, text.index(mark) - 60):][:120]


@sphinx_only
def test_mathematics_is_marked_for_mathjax(docs):
    seen = 0
    for stem in listed():
        nb = json.loads((ROOT / f"nbs/{stem}.ipynb").read_text(encoding="utf-8"))
        prose = "\n".join("".join(c["source"]) for c in nb["cells"] if c["cell_type"] == "markdown")
        equations = len(re.findall(r"^\s*\$\$(?=[\s\S])", re.sub(r"```.*?```", "", prose, flags=re.S), re.M)) and prose.count("$$") // 2
        page = parsed(docs / page_of(stem))
        if equations:
            seen += 1
            assert "math" in page.classes and any("mathjax" in url for url in page.loaded), stem
            assert page.classes.count("math") >= equations, stem
    assert seen and (docs / "_static/mathjax/tex-chtml.js").is_file()


@sphinx_only
def test_pages_with_widgets_carry_their_state(docs):
    for stem in listed():
        text = (ROOT / f"nbs/{stem}.ipynb").read_text(encoding="utf-8")
        html = (docs / page_of(stem)).read_text(encoding="utf-8")
        views = [o["data"]["application/vnd.jupyter.widget-view+json"]["model_id"] for c in json.loads(text)["cells"]
                 for o in c.get("outputs", []) if "application/vnd.jupyter.widget-view+json" in o.get("data", {})]
        for view in views:
            assert html.count(view) >= 2, f"{stem}: widget {view} is shown but its state is not saved; run make notebooks"
        assert ("widgets.js" in html) == bool(views), stem


@sphinx_only
def test_search_index_knows_every_page(docs):
    index = (docs / "searchindex.js").read_text(encoding="utf-8")
    assert {f'"{name.removesuffix(".html")}"' in index for name in PAGES} == {True}
    assert (docs / "search.html").is_file()


@sphinx_only
def test_previous_and_next_follow_the_sidebar(docs):
    for here, there in zip(PAGES, PAGES[1:]):
        assert re.search(rf'<a class="right-next"\s+href="{there}"', (docs / here).read_text(encoding="utf-8")), (here, there)
        assert re.search(rf'<a class="left-prev"\s+href="{here}"', (docs / there).read_text(encoding="utf-8")), (there, here)


def test_llms_txt_lists_every_page(docs):
    text = (docs / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# cost_eval\n") and all(f"/{name})" in text for name in PAGES)


def test_second_build_has_nothing_to_do(docs):
    "`docs` has seen to the first one."
    done = build_site(ROOT, "--strict")
    assert done.returncode == 0 and "up to date" in done.stdout


# A small project of its own -------------------------------------------------------------------------

SETTINGS = """[DEFAULT]
repo = toy
lib_name = toy
version = 1.0
lib_path = toy
nbs_path = nbs
doc_path = _docs
recursive = True
custom_sidebar = True
custom_quarto_yml = True
update_pyproject = False
readme_nb = index.ipynb
title = toy
description = A toy
author = nobody
author_email = nobody@example.org
user = nobody
branch = main
git_url = https://github.com/nobody/toy
doc_host = https://nobody.github.io
doc_baseurl = /toy
copyright = nobody
license = apache2
status = 3
min_python = 3.11
keywords = toy
language = English
"""

QUARTO = """project: {type: website}
website:
  sidebar:
    contents:
      - index.ipynb
      - section: "One"
        contents:
          - 10_first.ipynb
"""


def notebook(*cells):
    "Cells as text (markdown) or tuples: kind, text, an output {mime type: data}."
    made = []
    for n, cell in enumerate(cells):
        kind, text, *data = ("markdown", cell) if isinstance(cell, str) else cell
        outputs = [dict(output_type="display_data", metadata={}, data=d) for d in data]
        made.append(dict(cell_type=kind, id=f"cell{n}", metadata={}, source=text,
                         **(dict(outputs=outputs, execution_count=None) if kind == "code" else {})))
    return json.dumps(dict(cells=made, nbformat=4, nbformat_minor=5, metadata={
        "kernelspec": {"display_name": "python3", "language": "python", "name": "python3"}}))


@pytest.fixture
def toy(tmp_path):
    "A project of two notebooks; returns a function that writes the first chapter from its cells."
    for folder in ("nbs", "toy"):
        (tmp_path / folder).mkdir()
    (tmp_path / "settings.ini").write_text(SETTINGS)
    (tmp_path / "_quarto.yml").write_text(QUARTO)
    (tmp_path / "README.md").write_text("toy")
    (tmp_path / "toy/__init__.py").write_text('__version__ = "1.0"\n')
    (tmp_path / "nbs/_quarto.yml").write_text("metadata-files: [nbdev.yml, ../_quarto.yml]\n")
    shutil.copyfile(ROOT / "nbs/logo.svg", tmp_path / "nbs/logo.svg")
    (tmp_path / "nbs/index.ipynb").write_text(notebook("# toy\n\n> a toy", "See [first](10_first.ipynb)."))

    def chapter(*cells):
        (tmp_path / "nbs/10_first.ipynb").write_text(notebook("# First\n\n> one", *cells))
        return tmp_path
    return chapter


FINE = ("## A section {#sec-a}\n\nSee @eq-a and [this](#sec-a) and [that](index.ipynb).\n\n$$\na = b\n$$ {#eq-a}\n\n"
        "::: {.callout-tip collapse=\"true\" title=\"Solution with $x$\"}\nInside $y$.\n\n::: {.callout-note}\nnested\n:::\n:::\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n: The caption {#tbl-a}\n\nIn @tbl-a.",
        ("code", '#| echo: false\n1 + 1'), ("code", '#| code-fold: true\n#| code-summary: "Look"\n2 + 2'))


@sphinx_only
def test_toy_site_is_built_and_leaves_the_tree_clean(toy):
    root = toy(*FINE)
    (root / "toy/_modidx.py").write_text("d = {'syms': {}, 'settings': {}}\n")
    before = tree(root)
    done = build_site(root, "--strict")
    assert done.returncode == 0, done.stdout + done.stderr
    assert tree(root) == before
    html = (root / "_docs/first.html").read_text(encoding="utf-8")
    assert re.search(r'href="#equation-first-eq-a">Equation 1</a>', html) and 'id="equation-first-eq-a"' in html
    assert re.search(r'<details class="admonition tip">\s*<summary class="admonition-title">\s*<p>Solution with <span class="math', html)
    assert re.search(r'<div class="admonition note" role="note">\s*<div class="admonition-title">\s*<p>Note</p>', html)
    assert re.search(r'href="#first-tbl-a">Table 1</a>', html) and re.search(r'id="first-tbl-a">Table 1: The caption', html)
    assert html.count("</details>") == html.count("<details") and "1 + 1" not in re.sub("<.*?>", "", html) and "Look" in html


def tree(root):
    "Hashes of everything outside the folders that the build owns."
    own = ("_proc", "_docs", "build", "__pycache__")
    return {p.relative_to(root): hashlib.sha256(p.read_bytes()).hexdigest() for p in root.rglob("*")
            if p.is_file() and not set(own) & set(p.relative_to(root).parts)}


BROKEN = {
    "See @fig-none.": "@fig-none points at nothing",
    "See [x](#sec-none).": "no #sec-none in 10_first.ipynb",
    "See [x](index.ipynb#none).": "no #none in index.ipynb",
    "See [x](11_gone.ipynb).": "11_gone.ipynb leads nowhere",
    "![a figure](gone.png)": "no image gone.png",
    "![far away](https://example.org/x.png)": "no image https://example.org/x.png in nbs/",
    "text\n\n:::": "never opened",
    "$$ a = b": "$$ is never closed",
    ("code", "#| label: fig-x\n#| fig-cap: [unclosed\n1"): "not YAML",
    "::: {.callout-danger}\nx\n:::": "unknown callout",
    "{{< include x.qmd >}}": "for Quarto only",
    "## A {#sec-a}\n\nIn @sec-a.": "sections have no numbers",
    "$$\na\n$$ {#eq-a}\n\n$$\nb\n$$ {#eq-a}": "given twice",
    "::: {.callout-note}\nleft open": "never closed: ::: {.callout-note}",
}


@sphinx_only
def test_broken_references_fail_the_build(toy):
    "All at once: one message for each."
    done = build_site(toy(*BROKEN))
    assert done.returncode != 0
    missing = [said for said in BROKEN.values() if said not in done.stderr]
    assert not missing, done.stderr
    assert done.stderr.count("10_first.ipynb: ") == len(BROKEN)


@sphinx_only
@sphinx_only
def test_a_cell_that_fails_is_named(toy):
    done = build_site(toy(("code", "#| default_exp first"), ("code", "#| export\ndef f():\n    return 1\n\n1 / 0")))
    assert done.returncode != 0 and "1 / 0" in done.stderr and "ZeroDivisionError" in done.stderr


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMPERFECT = {
    "figure without #| fig-alt, in 'draw()'": ("code", "draw()", {"image/png": PIXEL}),
    "a widget is not saved": ("code", "slider", {"application/vnd.jupyter.widget-view+json": {"model_id": "abc"}}),
    "footnote": "A footnote.[^nowhere]",
    "'equation @eq-a' reads as the word twice": "By equation @eq-a.\n\n$$\na\n$$ {#eq-a}",
}


@sphinx_only
def test_imperfect_pages_fail_only_a_strict_build(toy):
    root = toy(*IMPERFECT.values())
    for options in ((), ("--strict",), ("--strict",)):  # the third: a build that skips what it has must not forget
        done = build_site(root, *options)
        assert bool(done.returncode) == bool(options)
        assert all(said in done.stderr.lower().replace("`", "") for said in IMPERFECT), done.stderr


@pytest.mark.parametrize("change, said", [
    ((QUARTO, QUARTO + "          - 20_gone.ipynb\n"), "20_gone.ipynb, which does not exist"),
    (("          - 10_first.ipynb", "          - index.ipynb"), "10_first.ipynb is not in the sidebar"),
], ids=["too many", "too few"])
def test_sidebar_and_notebooks_must_agree(toy, change, said):
    root = toy(*FINE)
    (root / "_quarto.yml").write_text(QUARTO.replace(*change))
    done = build_site(root, "--strict")
    assert done.returncode != 0 and said in done.stderr


# Quarto itself can't be installed here: a stand-in makes pages the way it does, or fails the way it does --------------

STAND_IN = """#!{python}
import pathlib, re, sys
log = {log!r}
out = pathlib.Path("_docs"); out.mkdir()
for nb in pathlib.Path(".").glob("*.ipynb"):
    name = re.sub(r"^\\d+_", "", nb.stem)
    if name not in {leave_out!r}:
        (out / (name + ".html")).write_text("<html><body>" + {body!r} + "</body></html>")
print(log, file=sys.stderr)
sys.exit({code})
"""


def stand_in(folder, *, log="", leave_out=(), body="fine", code=0):
    "A PATH where `quarto` is a script."
    folder.mkdir()
    script = folder / "quarto"
    script.write_text(STAND_IN.format(python=sys.executable, log=log, leave_out=leave_out, body=body, code=code))
    script.chmod(script.stat().st_mode | stat.S_IEXEC)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_with_quarto_a_dead_link_is_found(toy, tmp_path):
    done = build_site(toy("See [x](index.ipynb#none)."), path=stand_in(tmp_path / "bin"))
    assert done.returncode != 0 and "no #none in index.ipynb" in done.stderr


@pytest.mark.parametrize("behaviour, said", [
    (dict(), ""),
    (dict(log="WARN: Unable to resolve link target: x.ipynb"), "Unable to resolve link target"),
    (dict(body="as in ?@fig-gone"), "?@fig-gone"),
    (dict(leave_out=("first",)), "first.html is missing"),
    (dict(code=1), "exit code 1"),
], ids=["fine", "warning", "reference", "missing page", "exit code"])
def test_with_quarto_the_pages_are_checked(toy, tmp_path, behaviour, said):
    root = toy(*FINE)
    before = tree(root)
    done = build_site(root, "--strict", path=stand_in(tmp_path / "bin", **behaviour))
    if said:
        assert done.returncode != 0 and said in done.stderr
    else:
        assert done.returncode == 0, done.stdout + done.stderr
        assert (root / "_docs/first.html").is_file() and "[First](https://nobody.github.io/toy/first.html): one" in (root / "_docs/llms.txt").read_text()
        changed = {p: h for p, h in tree(root).items() if before.get(p) != h and p.parts[0] != "bin"}
        assert set(map(str, changed)) == {"nbs/nbdev.yml"}  # git-ignored; nbdev writes it from settings.ini
