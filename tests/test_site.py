"""The built site: complete, self-contained, no dead link, nothing of Quarto's notation left over; and a
broken one is refused."""
import hashlib
import importlib
import inspect
import json
import re
from urllib.parse import unquote, urlparse

import lxml.html
import pytest
from conftest import ROOT, build_site
from test_house import MODULES, module_name, script

yaml = pytest.importorskip("yaml", reason='needs pip install "cost_eval[dev]"')
pytest.importorskip("myst_nb", reason='needs pip install "cost_eval[dev]"')

import figures  # noqa: E402 (conftest knows where)
from check import parsed  # noqa: E402
from translate import DIV, outside_fences  # noqa: E402

SITE = script("site")
LISTED = SITE.Project(ROOT).stems()
GENERATED = {"scoreboard", "reference"}


def page_of(stem):
    return re.sub(r"^\d+_", "", stem) + ".html"


PAGES = [page_of(stem) for stem in LISTED]


def modules():
    "The pages of the reference."
    return {module_name(file) for file in MODULES}


def test_one_page_for_each_notebook_and_module(docs):
    notebooks = {p.stem for p in (ROOT / "nbs").glob("*.ipynb")}
    assert sorted(LISTED) == sorted(notebooks | GENERATED) and len(set(PAGES)) == len(PAGES)
    there = {p.name for p in docs.glob("*.html")} - {"404.html", "search.html"}
    assert there >= set(PAGES) and {name.removesuffix(".html") for name in there - set(PAGES)} <= modules()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_leads_to_files_that_exist_and_loads_nothing_from_elsewhere(docs, page):
    "Buttons; no id is given twice."
    page = parsed(docs / page)
    ours = re.findall(r"https://github\.com/[\w-]+/\w+/(?:blob|edit)/\w+/([^#?\s]+)", "\n".join(page.links))
    assert not [file for file in ours if not (ROOT / file).is_file()]
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


def test_the_scoreboard_is_the_committed_one(docs):
    "Home and scoreboard tell the same."
    from cost_eval.reproduce import scoreboard
    text, home = (" ".join(parsed(docs / name).text.split()) for name in ("scoreboard.html", "index.html"))
    text, items = text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"), scoreboard()
    assert all(title.split("$")[0].strip() in text for title in items["title"])
    assert re.search(rf"{len(items)} items, \d+ rows: [^;.]*", text)[0] in home


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
    links = [link.partition(".html")[0] for link in parsed(docs / "reference.html").links]
    for module in sorted(modules() - {"cost_eval.api", "cost_eval.core"}):
        public = importlib.import_module(module)
        values = {name: inspect.unwrap(getattr(public, name)) for name in public.__all__}
        own = [name for name, value in values.items() if getattr(value, "__module__", "") == module
               and (inspect.isroutine(value) or inspect.isclass(value))]
        page = parsed(docs / f"{module}.html")
        assert {f"{module}.{name}" for name in own} <= {*page.ids}, module
        assert module in links and "Told in" in page.text and {*PAGES} & {*page.links}, module
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


def test_a_page_shows_the_code_of_its_own_module(docs):
    from cost_eval.reproductions import bootstrap
    text = lxml.html.parse(docs / "bootstrap_reproduced.html").getroot().text_content()
    assert "".join(inspect.getsource(bootstrap.table_2).split()) in "".join(text.split())


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
    labels = re.findall(r"(?m)^#\| label: (\S+)", "\n".join("".join(cell["source"]) for cell in cells))
    data = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    shown = [bundle.get("text/markdown", "") for bundle in data]
    prose = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    return "\n\n".join(map("".join, prose + shown)), {*labels}


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
    for cell in (cell for file in files for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]):
        data = [output.get("data", {}) for output in cell.get("outputs", [])]
        shown = [text for bundle in data for kind, text in bundle.items() if kind.startswith("text/")]
        for lines in (cell["source"], *shown):
            assert isinstance(lines, list) and all("\n" not in line[:-1] for line in lines), cell["id"]
        text = "".join(cell["source"])
        options = re.findall(r"(?m)^#\|\s*([\w-]+):", text) if cell["cell_type"] == "code" else []
        assert len(options) == len(set(options)), (cell["id"], options)
        callouts += cell["cell_type"] == "markdown" and text.count("{.callout")
    for file in files:
        lines = [line for _, line, fenced in outside_fences(texts(file)[0]) if not fenced and DIV.match(line)]
        opened = [bool(DIV.match(line)[1]) for line in lines]
        assert opened.count(True) == opened.count(False), (file.name, lines)
    assert callouts > 150


NOTATION = re.compile(r"[$`]|:::|\{[.#]|\]\(|@(fig|eq|sec)-")


def test_pandoc_finds_every_target(docs):
    """Quarto reads the pages with Pandoc. By its parse, too, links between pages have their targets, and no
    notation is left as text."""
    pypandoc = pytest.importorskip("pypandoc", reason='needs pip install "cost_eval[dev]"')
    targets, links, left = {}, [], []
    for path in sorted(path for path in (ROOT / "_proc").iterdir() if path.suffix in (".ipynb", ".qmd")):
        text, labels = texts(path)
        found = list(elements(json.loads(pypandoc.convert_text(text, "json", format="markdown"))))
        at = {"Header": 1, "Div": 0, "Span": 0}
        targets[path.name] = labels | {content[at[kind]][0] for kind, content in found if kind in at}
        links += [(path.name, content[2][0]) for kind, content in found if kind == "Link"]
        left += [word for kind, word in found if kind == "Str" and NOTATION.search(word)]
    assert left == []
    places = [(link.partition("#")[0] or page, link.partition("#")[2]) for page, link in links]
    assert [(to, place) for to, place in places if place and place not in targets.get(to, [place])] == []
    assert sum(to in targets for to, _ in places) > 1500
    # they would leave the reader's own copy
    assert not [link for _, link in links if "github.io/cost_eval/" in link and ".html" in link]


# A small project of its own -------------------------------------------------------------------------

QUARTO = """project: {type: website}
website:
  sidebar:
    contents: [index.ipynb, {section: One, contents: [10_first.ipynb]}]
"""


def notebook(*cells):
    "Cells as text (markdown) or tuples: kind, text, an output {mime type: data}."
    made = []
    for n, cell in enumerate(cells):
        kind, text, *data = ("markdown", cell) if isinstance(cell, str) else cell
        outputs = [dict(output_type="display_data", metadata={}, data=d) for d in data]
        made.append(dict(cell_type=kind, id=f"cell{n}", metadata={}, source=text,
                         **(dict(outputs=outputs, execution_count=None) if kind == "code" else {})))
    kernel = {"display_name": "python3", "language": "python", "name": "python3"}
    return json.dumps(dict(cells=made, nbformat=4, nbformat_minor=5, metadata={"kernelspec": kernel}))


@pytest.fixture
def toy(tmp_path):
    "A project of two notebooks; returns a function that writes the first chapter from its cells."
    settings = (ROOT / "settings.ini").read_text(encoding="utf-8").replace("cost_eval", "toy")
    written = {"settings.ini": settings, "_quarto.yml": QUARTO, "README.md": "toy", "toy/_modidx.py": "",
               "toy/__init__.py": '__version__ = "1.0"\n', "nbs/logo.svg": "<svg/>",
               "nbs/_quarto.yml": "metadata-files: [nbdev.yml, ../_quarto.yml]\n",
               "nbs/index.ipynb": notebook("# toy\n\n> a toy", "See [first](10_first.ipynb).")}
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    def chapter(*cells):
        (tmp_path / "nbs/10_first.ipynb").write_text(notebook("# First\n\n> one", *cells))
        return tmp_path
    return chapter


FINE = ("""## A section {#sec-a}

See (1.1) and [this](#sec-a) and [that](index.ipynb).

$$
a = b \\tag{1.1}
$$

::: {.callout-tip collapse="true" title="Solution with $x$"}
Inside $y$.

::: {.callout-note}
nested
:::
:::

| a | b |
|---|---|
| 1 | $c$ is 2 |""",
        ("code", '#| echo: false\n1 + 1'), ("code", '#| code-fold: true\n#| code-summary: "Look"\n2 + 2'))


def test_toy_site_is_built_and_leaves_the_tree_clean(toy):
    root = toy(*FINE)
    (root / "toy/_modidx.py").write_text("d = {'syms': {}, 'settings': {}}\n")
    before = tree(root)
    done = build_site(root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert tree(root) == before
    html = " ".join((root / "_docs/first.html").read_text(encoding="utf-8").split())
    for part in ("a = b \\tag{1.1}", 'href="#first-sec-a"', r"\(c\)</span> is 2", "Look", "<p>Solution with",
                 '<summary class="admonition-title">', '<div class="admonition note" role="note">'):
        assert part in html, part
    assert html.count("</details>") == html.count("<details") and "1 + 1" not in re.sub("<.*?>", "", html)


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
    ("code", "#| label: fig-a\n2"): "the label fig-a is given twice",
    "::: {.callout-note}\nleft open": "never closed: ::: {.callout-note}",
}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMPERFECT = {
    "A literal \\#| and ::: in text.": "left-over markup",
    "Costs \\$c_i\\$ here.": "raw markup in",
    ("code", "draw()", (("image/png", PIXEL),)): "image without alternative text",
    "{{< include x.qmd >}}": "left-over markup '{{<'",
    "A footnote.[^nowhere]": "footnote",
    "By equation @eq-a.": "left-over markup '@eq-'",
}


@pytest.mark.parametrize("faults, first", [(BROKEN, ("code", "#| label: fig-a\n1")), (IMPERFECT, "Fine.")],
                         ids=["references", "finished pages"])
def test_every_fault_fails_the_build_and_is_named(toy, faults, first):
    "All at once: one message for each."
    cells = [(*cell[:2], *map(dict, cell[2:])) if isinstance(cell, tuple) else cell for cell in faults]
    done = build_site(toy(first, *cells))
    told = done.stderr.replace("`", "")
    missing = [said for said in faults.values() if said not in told.lower() + told]
    assert done.returncode != 0 and not missing, told
    assert faults is IMPERFECT or told.count("10_first.ipynb, cell cell") == len(BROKEN)


@pytest.mark.parametrize("file, text, said", [
    ("nbs/10_first.ipynb", '{"cells": [', "10_first.ipynb is not a notebook"),
    ("nbs/10_first.ipynb", notebook(("code", "#| label: fig-x\n#| fig-cap: [unclosed\n1")),
     "10_first.ipynb, cell cell0: cell options are not YAML"),
    ("toy/first.py", "1 / 0", "toy.first cannot be imported: ZeroDivisionError('division by zero')"),
    ("toy/first.py", "g = 1", "f is not in toy.first: run nbdev_export"),
], ids=["no notebook", "no options", "broken module", "another module"])
def test_what_cannot_be_built_is_named(toy, file, text, said):
    root = toy(("code", "#| default_exp first"), ("code", "#| export\ndef f():\n    return 1"))
    (root / "toy/first.py").write_text("def f():\n    return 1\n")
    (root / file).write_text(text)
    done = build_site(root)
    assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("text, fault", {
    "![](logo.svg)": "an image without alternative text: '![]('",
    '<img src="logo.svg">': "an image without alternative text: '<img'",
    '<script src="https://example.org"></script>': "a page holds no scripts or frames of its own: '<script'",
    '<iframe src="https://example.org"></iframe>': "a page holds no scripts or frames of its own: '<iframe'",
    '<b onclick="alert(1)">x</b>': "a page holds no scripts or frames of its own: '<b onclick='",
    "[x](javascript:alert(1))": "a page holds no scripts or frames of its own: '](javascript:'",
}.items())
def test_what_no_page_may_hold_is_named(text, fault):
    for prose, said in ((text, [fault]), (f"`{text}`, ![a line](logo.svg)", [])):
        assert [*SITE.check_cell({"cell_type": "markdown", "source": prose})] == said


def test_an_output_of_many_megabytes_is_named():
    cell = {"cell_type": "code", "source": "draw()", "outputs": [{"data": {"image/png": "A" * 3_100_000}}]}
    assert [*SITE.check_cell(cell)] == ["an output of 3.1 MB, more than 3"]
