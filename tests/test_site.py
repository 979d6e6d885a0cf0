"""The built site: complete, self-contained, no dead link, nothing of Quarto's notation left over; and a
broken one is refused."""
import hashlib
import importlib
import inspect
import json
import re
import shutil
from urllib.parse import unquote, urlparse

import lxml.html
import pytest
from conftest import ROOT, build_site

yaml = pytest.importorskip("yaml", reason='needs pip install "cost_eval[dev]"')
pytest.importorskip("myst_nb", reason='needs pip install "cost_eval[dev]"')

import figures  # noqa: E402 (conftest knows where)
from check import parsed  # noqa: E402
from translate import DIV, outside_fences  # noqa: E402


def listed():
    "Stems of the pages in the sidebar of _quarto.yml, in reading order."
    def stems(item):
        item = {"href": item} if isinstance(item, str) else item
        own = [item["href"].rpartition(".")[0]] if "href" in item else []
        return own + [stem for below in item.get("contents", []) for stem in stems(below)]
    return stems(yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))["website"]["sidebar"])


GENERATED = {"scoreboard", "reference"}


def page_of(stem):
    return re.sub(r"^\d+_", "", stem) + ".html"


PAGES = [page_of(stem) for stem in listed()]


@pytest.fixture(params=PAGES)
def page(docs, request):
    return parsed(docs / request.param)


def modules():
    "The pages of the reference."
    return {f"cost_eval.{path.stem}" if path.parent.name == "cost_eval" else f"cost_eval.reproductions.{path.stem}"
            for path in (ROOT / "cost_eval").rglob("*.py") if not path.stem.startswith("_")} | {"cost_eval.__main__"}


def test_one_page_for_each_notebook_and_module(docs):
    notebooks = {p.stem for p in (ROOT / "nbs").glob("*.ipynb")}
    assert sorted(listed()) == sorted(notebooks | GENERATED) and len(set(PAGES)) == len(PAGES)
    there = {p.name for p in docs.glob("*.html")} - {"404.html", "search.html"}
    assert there >= set(PAGES) and {name.removesuffix(".html") for name in there - set(PAGES)} <= modules()


def test_a_page_leads_to_files_that_exist_and_loads_nothing_from_elsewhere(page, docs):
    "Buttons; no id is given twice."
    for link in page.links:
        if m := re.match(r"https://github\.com/[\w-]+/\w+/(?:blob|edit)/\w+/([^#?]+)", link):
            assert (ROOT / m.group(1)).is_file(), link
    assert len(set(page.ids)) == len(page.ids)
    for url in map(urlparse, page.loaded):
        assert not url.netloc and url.scheme in ("", "data"), url
        assert url.scheme or (docs / unquote(url.path)).is_file(), url


def test_a_chapter_is_one_page_whose_foot_is_folded(docs):
    "What follows the summary waits behind its headings; every chapter has such a foot."
    for name in ("expected_cost", "bootstrap", "cost_score", "weighted_accuracy", "outperformance", "report"):
        page = lxml.html.parse(docs / f"{name}.html").getroot()
        folds = page.xpath("//details[@class='rest']")
        assert "summary" in parsed(docs / f"{name}.html").ids and folds, name
        assert all(fold.get("open") is None and fold.xpath("./summary/h2") for fold in folds), name
        sections = page.xpath("//section[contains(@id, '-summary')]/following-sibling::section")
        assert len(sections) == len(folds), name


def test_style_sheets_load_nothing_from_elsewhere(docs):
    sheets = list(docs.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        assert not re.search(r"(url\(|@import)\s*['\"]?\s*(https?:)?//",
                             sheet.read_text(encoding="utf-8")), sheet


def test_mathematics_is_marked_for_mathjax(docs):
    seen = 0
    for stem in set(listed()) - GENERATED:
        nb = json.loads((ROOT / f"nbs/{stem}.ipynb").read_text(encoding="utf-8"))
        prose = "\n".join("".join(c["source"]) for c in nb["cells"] if c["cell_type"] == "markdown")
        equations = len(re.findall(r"^\s*\$\$(?=[\s\S])", re.sub(r"```.*?```", "", prose, flags=re.S),
                                   re.M)) and prose.count("$$") // 2
        page = parsed(docs / page_of(stem))
        if equations:
            seen += 1
            assert any("mathjax" in url for url in page.loaded), stem
            assert page.formulas >= equations, stem
    assert seen and (docs / "_static/mathjax/startup.js").is_file()


def test_widgets_are_on_the_pages_as_html(docs):
    for stem in set(listed()) - GENERATED:
        cells = json.loads((ROOT / f"nbs/{stem}.ipynb").read_text(encoding="utf-8"))["cells"]
        stored = ["".join(o["data"].get("text/html", "")) for c in cells for o in c.get("outputs", [])
                  if "data" in o]
        html = (docs / page_of(stem)).read_text(encoding="utf-8")
        assert html.count('<div class="ce-widget">') == sum('<div class="ce-widget">' in text
                for text in stored), stem
        assert "application/vnd.jupyter.widget" not in html, stem


def test_the_scoreboard_is_the_committed_one(docs):
    text = " ".join(parsed(docs / "scoreboard.html").text.split()).replace("\N{RIGHT SINGLE QUOTATION MARK}",
            "'")
    from cost_eval.reproduce import scoreboard
    items = scoreboard()
    assert f"{len(items)} items" in text and all(title.split("$")[0].strip() in text
                                                 for title in items["title"])
    home = " ".join(parsed(docs / "index.html").text.split())
    board = re.search(rf"{len(items)} items, \d+ rows: [^;.]*", text)
    assert board and board[0] in home, "home and scoreboard tell the same"


def test_the_search_leads_to_places_that_exist(docs):
    text = (docs / "searchindex.js").read_text(encoding="utf-8")
    found = json.loads(text[text.index("(") + 1:text.rindex(")")])
    places = [(found["docnames"][number], anchor) for entries in found["indexentries"].values()
              for number, anchor, *_ in entries]
    assert len(places) > 100
    assert [(page, anchor) for page, anchor in places
            if anchor not in parsed(docs / f"{page}.html").ids] == []


def test_home_says_what_it_is_for(docs):
    """A sentence, the picture, the slider; one line to install; three doors; code comes later. The README
    shows the same picture, as a file."""
    home = lxml.html.parse(docs / "index.html").getroot()
    article = home.find_class("bd-article")[0]
    seen = list(article.iter("img", "input", "pre", "a"))
    picture, install = (next(k for k, e in enumerate(seen) if e.tag == tag) for tag in ("img", "pre"))
    assert seen[picture - 1].get("type") == "range" and picture < install and "cheaper" in seen[picture].get(
        "alt")
    assert " ".join(seen[install].text_content().split()).startswith('pip install "cost_eval[book]')
    doors = {e.text_content(): e.get("href").partition("#")[0] for e in seen[install:] if e.tag == "a"}
    assert [doors[name] for name in ("Learn", "Judge my model", "Check the papers")] == ["expected_cost.html",
            "judge.html", "reproduce.html"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.index("](nbs/home.svg)") < readme.index("pip install") < readme.index("```python")
    lxml.etree.parse(ROOT / "nbs/home.svg")


def test_every_public_name_has_an_entry(docs):
    "With its words; the reference leads to the page of its module, and that to the chapter that tells it."
    links = {*parsed(docs / "reference.html").links}
    for module in sorted(modules() - {"cost_eval.api", "cost_eval.core"}):
        public = importlib.import_module(module)
        values = {name: inspect.unwrap(getattr(public, name)) for name in public.__all__}
        own = [name for name, value in values.items() if getattr(value, "__module__", "") == module
               and (inspect.isroutine(value) or inspect.isclass(value))]
        page = parsed(docs / f"{module}.html")
        assert {f"{module}.{name}" for name in own} <= {*page.ids}, module
        assert any(link.startswith(f"{module}.html") for link in links), module
        assert "Told in" in page.text and {page_of(stem) for stem in listed()} & {*page.links}, module
        for name in own:
            said = inspect.getdoc(getattr(public, name)) or ""
            assert re.sub(r"\W", "", re.split(r"[`$*\n]", said)[0]) in re.sub(r"\W", "", page.text), name


def test_folds_of_code_show_no_name_of_the_code(docs):
    "A mark that opens it, or words of the author's; what was checked is counted."
    for file in docs.glob("*.html"):
        found = [e.text_content().strip() for e in lxml.html.parse(file).getroot().iterfind(
            ".//details/summary") if "hide" in e.getparent().classes]
        assert not [words for words in found if not words or re.search(r"^Code:|Show code|[a-z]\w*_\w",
                words)], file.name


@pytest.mark.parametrize("paper", ["expected_cost", "bootstrap", "cost_score", "weighted_accuracy",
                                   "outperformance"])
def test_a_page_shows_the_code_of_its_own_module(docs, paper):
    "All five have a table 2 or 4 of their own."
    module = importlib.import_module(f"cost_eval.reproductions.{paper}")
    lines = inspect.getsource(next(getattr(module, name) for name in ("table_2", "table_4") if hasattr(module, name)))
    text = lxml.html.parse(docs / f"{paper}_reproduced.html").getroot().text_content()
    assert "".join(lines.split()) in "".join(text.split())


# What a strict build finds -----------------------------------------------------------------------

PHONE = 366  # pixels of a column on a screen of 390


@pytest.mark.parametrize("path", sorted((ROOT / "nbs").glob("[0-9i]*.ipynb")), ids=lambda path: path.stem)
def test_figures_fit_a_phone(path):
    "No stored figure, or panel of it, is wider than the column when its smallest words are 9 pixels high."
    wide = set()
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        label = re.search(r"#\| label: (\S+)", "".join(cell["source"]))
        for output in cell.get("outputs", []):
            data = {kind: "".join(text) for kind, text in output.get("data", {}).items()
                    if kind in ("image/svg+xml", "text/html")}
            drawings = [unquote(source).replace("'", '"') for source
                        in re.findall(r'src="data:image/svg\+xml,([^"]*)"', data.get("text/html", ""))]
            for size in filter(None, map(figures.measure, [data.get("image/svg+xml", ""), *drawings])):
                width = max([4 / 3 * panel[2] for panel in size.panels] or [size.width])
                if width * figures.SMALLEST / size.words > PHONE:
                    wide.add(label[1] if label else cell["id"])
    assert not wide


def test_no_output_stands_outside_of_a_closed_solution(docs):
    pages = [lxml.html.parse(path) for path in docs.glob("*.html")]
    cells = [cell for page in pages for cell in page.iterfind(".//details/*") if "cell" in cell.classes]
    after = [e for page in pages for e in page.iterfind(".//details") if "admonition" in e.classes
             and (e.getnext() is not None and "cell" in e.getnext().classes)]
    assert len(cells) > 100
    assert after == []


def texts(path):
    "The markdown of a processed page, and the labels of its figures."
    if path.suffix == ".qmd":
        return path.read_text(encoding="utf-8").split("---\n", 2)[2], set()
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    labels = {label for cell in cells if cell["cell_type"] == "code"
              for label in re.findall(r"(?m)^#\| label: (\S+)", "".join(cell["source"]))}
    shown = [output["data"]["text/markdown"] for cell in cells for output in cell.get("outputs", [])
             if "text/markdown" in output.get("data", {})]
    return "\n\n".join("".join(text) for text in [*(cell["source"] for cell in cells
                                                    if cell["cell_type"] == "markdown"), *shown]), labels


def elements(tree):
    "(kind, content) of every element in Pandoc's tree."
    if isinstance(tree, dict) and "t" in tree:
        yield tree["t"], tree.get("c")
    for below in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from elements(below)


def test_what_goes_to_quarto_is_as_it_takes_it(docs):
    """Of a source that is one string it drops the line ends (callouts and tables are gone), at an option said
    twice it stops, a block left open swallows the rest."""
    files, callouts = sorted((ROOT / "_proc").glob("*.ipynb")), 0
    assert {file.stem for file in files} == {p.stem for p in (ROOT / "nbs").glob("*.ipynb")}
    for file in files:
        blocks = []
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            where = f"{file.name}, cell {cell.get('id')}"
            texts = [cell["source"], *(text for out in cell.get("outputs", []) for kind, text
                                       in out.get("data", {}).items() if kind.startswith("text/"))]
            for lines in texts:
                assert isinstance(lines, list) and all("\n" not in line[:-1] for line in lines), where
            if cell["cell_type"] == "code":
                options = re.findall(r"(?m)^#\|\s*([\w-]+):", "".join(cell["source"]))
                assert len(options) == len(set(options)), (where, options)
            else:
                for _, line, fenced in outside_fences("".join(cell["source"])):
                    if found := not fenced and DIV.match(line):
                        callouts += "callout" in line
                        blocks.append(line) if found[1] else blocks.pop()
        assert not blocks, (file.name, blocks)
    assert callouts > 150
    assert yaml.safe_load((ROOT / "_quarto.yml").read_text(encoding="utf-8"))["format"]["html"][
        "html-table-processing"] == "none", "else it breaks widgets"


def test_pandoc_finds_every_target(docs):
    """Quarto reads the pages with Pandoc. By its parse, too, links between pages have their targets, and no
    notation is left as text."""
    pypandoc = pytest.importorskip("pypandoc", reason='needs pip install "cost_eval[dev]"')
    targets, links, left = {}, [], []
    for path in sorted(path for path in (ROOT / "_proc").iterdir() if path.suffix in (".ipynb", ".qmd")):
        text, labels = texts(path)
        found = list(elements(json.loads(pypandoc.convert_text(text, "json", format="markdown"))))
        targets[path.name] = labels | {content[1][0] for kind, content in found if kind == "Header"} | {
            content[0][0] for kind, content in found if kind in ("Div", "Span")}
        links += [(path.name, content[2][0]) for kind, content in found if kind == "Link"]
        left += [(path.name, content) for kind, content in found if kind == "Str"
                 and re.search(r"[$`]|:::|\{[.#]|\]\(|@(fig|eq|sec)-", content)]
    assert left == []
    places = [(page, link.partition("#")[0] or page, link.partition("#")[2]) for page, link in links]
    assert [place for place in places if place[1] in targets and place[2]
            and place[2] not in targets[place[1]]] == []
    assert sum(to in targets for _, to, _ in places) > 1500
    # they would leave the reader's own copy
    assert not [link for _, link in links if "github.io/cost_eval/" in link and ".html" in link]


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


FINE = ("## A section {#sec-a}\n\nSee (1.1) and [this](#sec-a) and [that](index.ipynb).\n\n$$\na = b "
        "\\tag{1.1}\n$$\n\n"
        "::: {.callout-tip collapse=\"true\" title=\"Solution with $x$\"}\nInside $y$.\n\n::: "
        "{.callout-note}\nnested\n:::\n:::\n\n"
        "| a | b |\n|---|---|\n| 1 | $c$ is 2 |",
        ("code", '#| echo: false\n1 + 1'), ("code", '#| code-fold: true\n#| code-summary: "Look"\n2 + 2'))


def test_toy_site_is_built_and_leaves_the_tree_clean(toy):
    root = toy(*FINE)
    (root / "toy/_modidx.py").write_text("d = {'syms': {}, 'settings': {}}\n")
    before = tree(root)
    done = build_site(root, "--strict", "--unseen")
    assert done.returncode == 0, done.stdout + done.stderr
    assert tree(root) == before
    html = (root / "_docs/first.html").read_text(encoding="utf-8")
    assert "a = b \\tag{1.1}" in html and re.search(r'href="#first-sec-a"', html)
    assert re.search(r'<details class="admonition tip">\s*<summary class="admonition-title">\s*<p>Solution '
                     r'with <span class="math', html)
    assert re.search(r'<div class="admonition note" role="note">\s*<div '
                     r'class="admonition-title">\s*<p>Note</p>', html)
    assert r"\(c\)</span> is 2" in html
    assert html.count("</details>") == html.count("<details") and "1 + 1" not in re.sub("<.*?>", "",
            html) and "Look" in html


def tree(root):
    "Hashes of everything outside the folders that the build owns."
    own = ("_proc", "_docs", "build", "__pycache__")
    return {p.relative_to(root): hashlib.sha256(p.read_bytes()).hexdigest() for p in root.rglob("*")
            if p.is_file() and not set(own) & set(p.relative_to(root).parts)}


BROKEN = {
    "See [x](#sec-none).": "no #sec-none in 10_first.ipynb",
    "See [x](index.ipynb#none).": "no #none in index.ipynb",
    "See [x](11_gone.ipynb).": "11_gone.ipynb leads nowhere",
    "![a figure](gone.png)": "the link gone.png leads nowhere",
    "![far away](https://example.org/x.png)": "the link https://example.org/x.png leads nowhere",
    "text\n\n:::": "never opened",
    "$$ a = b": "$$ is never closed",
    "::: {.callout-danger}\nx\n:::": "unknown callout",
    "::: {.panel-tabset}\nx\n:::": "tabsets need Quarto",
    ("code", "#| label: fig-a\n2"): "the label fig-a is given twice",
    "::: {.callout-note}\nleft open": "never closed: ::: {.callout-note}",
}


def test_broken_references_fail_the_build(toy):
    "All at once: one message for each."
    done = build_site(toy(("code", "#| label: fig-a\n1"), *BROKEN))
    assert done.returncode != 0
    missing = [said for said in BROKEN.values() if said not in done.stderr]
    assert not missing, done.stderr
    assert done.stderr.count("10_first.ipynb, cell cell") == len(BROKEN)


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMPERFECT = {
    "left-over markup":  "A literal \\#| and ::: in text.",
    "raw markup in": "Costs \\$c_i\\$ here.",
    "image without alternative text": ("code", "draw()", {"image/png": PIXEL}),
    "left-over markup '{{<'": "{{< include x.qmd >}}",
    "footnote": "A footnote.[^nowhere]",
    "left-over markup '@eq-'": "By equation @eq-a.",
}


def test_imperfect_pages_fail_a_strict_build(toy):
    done = build_site(toy(*IMPERFECT.values()), "--strict", "--unseen")
    assert done.returncode and all(said in done.stderr.lower().replace("`", "")
                                   for said in IMPERFECT), done.stderr


@pytest.mark.parametrize("file, text, said", [
    ("nbs/10_first.ipynb", '{"cells": [', "10_first.ipynb is not a notebook"),
    ("nbs/10_first.ipynb", notebook(("code", "#| label: fig-x\n#| fig-cap: [unclosed\n1")),
     "10_first.ipynb, cell cell0: cell options are not YAML"),
    ("toy/first.py", "1 / 0", "toy.first cannot be imported (ZeroDivisionError: division by zero)"),
    ("toy/first.py", "g = 1", "f is not in toy.first: run nbdev_export"),
], ids=["no notebook", "no options", "broken module", "another module"])
def test_what_cannot_be_built_is_named(toy, file, text, said):
    root = toy(("code", "#| default_exp first"), ("code", "#| export\ndef f():\n    return 1"))
    (root / "toy/first.py").write_text("def f():\n    return 1\n")
    (root / file).write_text(text)
    done = build_site(root, "--strict", "--unseen")
    assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr


REFUSED = {
    "an image without alternative text: '![](logo.svg)'": "![](logo.svg)",
    "an image without alternative text: '<img ": '<img src="logo.svg">',
    "a page holds no scripts or frames of its own: '<script ": 'x <script src="https://example.org/x.js"></script>',
    "a page holds no scripts or frames of its own: '<iframe ": '<iframe src="https://example.org"></iframe>',
    "a page holds no scripts or frames of its own: '<b on": '<b onclick="alert(1)">x</b>',
    "a page holds no scripts or frames of its own: '](javascript": "[x](javascript:alert(1))",
    "an output of 3.1 MB, more than 3": ("code", "draw()", {"image/png": "A" * 3_100_000}),
}


def test_what_no_page_may_hold_is_named_with_its_cell(toy):
    done = build_site(toy("Fine: `<script>`, ![a line](logo.svg).", *REFUSED.values()), "--strict")
    assert done.returncode != 0
    missing = [said for k, said in enumerate(REFUSED, 2) if f"10_first.ipynb, cell cell{k}: {said}"
               not in done.stderr]
    assert not missing and done.stderr.count("10_first.ipynb, cell") == len(REFUSED), done.stderr
