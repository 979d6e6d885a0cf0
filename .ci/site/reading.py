"""The reading view: what a reader sees of the notebooks that nbdev has processed.

Exported code folds to a mark, beside a line that says what it defines; what else folds says `#| code-fold: true` in its notebook.
The pages that no notebook makes are written here, too: the scoreboard, the reference, 404.

| what | the reader's need |
| --- | --- |
| `exported`, `solved` | the story without machinery, no answer outside of its solution |
| `named` | the way from a name to its code, and from the code to the reference |
| `typeset`, `laid_out` | formulas in tables, tables as one reads them |
| `for_quarto` | who makes the pages with Quarto: pages that it does not wreck |
| `scoreboard`, `reference` | what came out, paper by paper; what there is, module by module |
"""
import ast
import importlib
import inspect
import json
import re
import shutil
from functools import lru_cache
from pathlib import Path

import lxml.html
import translate
from translate import markdown_cell, slug, source

STATIC = Path(__file__).resolve().parent / "static"
NUMBER = re.compile(r"(?i)\bnan\b|\binf\b|\de[-+]?\d")  # letters in numbers
WORD = re.compile(r"[^\W\d_]")
# for the README; a page would fetch it from elsewhere
BADGE = re.compile(r"\[!\[[^\]]*\]\(https?://[^)\s]*\)\]\([^)\s]*\)[ \t]*\n?")
# of an exercise; of "Guess first"
HIDDEN = re.compile(r'::: \{\.callout-tip collapse="true" title="(?:Solution|Answer)"\}')


def keep_code():
    """Let nbdev's processing leave exported code on its page; it makes no entries of its own, for which it
    would run the cells."""
    from nbdev.processors import FilterDefaults, add_show_docs, exec_show_docs, rm_export

    if not hasattr(FilterDefaults, "usual_procs"):
        FilterDefaults.usual_procs = FilterDefaults.base_procs
        ours = {add_show_docs: [], exec_show_docs: [], rm_export: [exported, rm_export]}
        FilterDefaults.base_procs = lambda self: [
            new for proc in FilterDefaults.usual_procs(self) for new in ours.get(proc, [proc])]


def exported(cell):
    "A cell of exported code folds, and tells its public names."
    flags = {"export", "exporti"} & getattr(cell, "directives_", {}).keys()
    nodes = cell.parsed_() or [] if flags and "hide" not in cell.directives_ else []
    if not all(isinstance(node, (ast.Import, ast.ImportFrom)) for node in nodes):
        defined = [node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        cell.metadata["exported"] = [name for name in defined if "export" in flags and name[0] != "_"]
        cell.source = "#| code-fold: true\n" + cell.source.replace("#| code-fold: true\n", "")
        for flag in flags:
            cell.directives_.pop(flag)


def reading_view(nb, module=""):
    "The notebook as it is read."
    for cell in nb["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = BADGE.sub("", unnested(source(cell)))
    nb["cells"] = list(named(solved(nb["cells"]), module))
    return nb


def unnested(text):
    "The author's link alone, where nbdev has put its own around the name that is the link's text."
    return re.sub(r"\[\[(`[^`\n]+`)\]\([^()\n]*\)\]\(", r"[\1](", text)


def solved(cells):
    """A closed solution or answer holds the code after it, up to the next text: what is printed there gives it
    away."""
    out, inside = [], False
    for cell, later in zip(cells, [*cells[1:], markdown_cell("")]):
        text = source(cell).rstrip()
        if inside and cell["cell_type"] != "code":
            out.append(markdown_cell(":::"))
            inside = False
        if HIDDEN.search(text) and text.endswith("\n:::") and later["cell_type"] == "code":
            cell, inside = {**cell, "source": text.removesuffix(":::")}, True
        out.append(cell)
    return [*out, markdown_cell(":::")] if inside else out


# Names -------------------------------------------------------------------------------------------

def named(cells, module):
    """The cells, with a line before code that defines something public; each name is an address, and leads to
    the reference."""
    cells = list(cells)
    taken = {slug(found[1]) for cell in cells if cell["cell_type"] != "code"
             for found in re.finditer(r"(?m)^(?:#+|title:) (.*)$", source(cell))}
    for cell in cells:
        if names := cell["metadata"].get("exported"):
            new = dict.fromkeys(slug(name) for name in names if slug(name) not in taken)
            taken |= new.keys()
            places = "".join(f'<span id="{place}"></span>' for place in new)
            links = ", ".join(f"[`{name}`](reference.qmd#{module}.{name})" for name in names)
            yield markdown_cell(f"::: {{.defined}}\n{places}Defined here: {links}\n:::")
        yield cell


@lru_cache(None)
def modules(project):
    "{notebook: the module that it makes}, in reading order."
    made = {}
    for path in filter(Path.exists, (project.nbs / f"{stem}.ipynb" for stem in project.stems())):
        for cell in read(path)["cells"]:
            if found := re.search(r"^#\|\s*default_exp\s+(\S+)", source(cell), re.M):
                made[path.stem] = f"{project.cfg['lib_name']}.{found[1]}"
    return made


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def documented(module):
    "{name: function or class} that a module defines for others."
    try:
        public = importlib.import_module(module)
    except Exception as error:
        raise translate.Problem(f"{module} cannot be imported: {error!r}; nbdev_export writes it") from error
    values = {name: getattr(public, name) for name in getattr(public, "__all__", ())}
    return {name: value for name, value in values.items() if getattr(value, "__module__", "") == module
            and (inspect.isclass(value) or inspect.isfunction(inspect.unwrap(value)))}


# All pages ---------------------------------------------------------------------------------------

def prepare(project):
    "Turn _proc/ into the reading view and add the pages that no notebook makes."
    made = modules(project)
    entries = {module: documented(module) for module in made.values()}
    to_entries = entry_links(project, made, entries)
    for path in sorted(project.processed.glob("*.ipynb")):
        module = made.get(path.stem, "")
        nb = reading_view(read(path), module)
        told = {name for cell in nb["cells"] for name in cell["metadata"].get("exported", ())}
        if lost := told - entries.get(module, {}).keys():
            raise translate.Problem(f"{min(lost)} is not in {module}: run nbdev_export, which writes it")
        refine(nb, to_entries)
        path.write_text(json.dumps(for_quarto(nb), indent=1), encoding="utf-8")
    listed = project.stems()
    pages = dict(scoreboard=scoreboard, reference=lambda _: reference(entries))
    for stem, write in pages.items():
        if stem in listed:
            (project.processed / f"{stem}.qmd").write_text(write(project), encoding="utf-8")
    for name in ("page.css", "site.js"):
        shutil.copyfile(STATIC / name, project.processed / name)
    (project.processed / "404.qmd").write_text(f"---\ntitle: No such page\n---\n\n{NOT_FOUND}\n")


def for_quarto(nb):
    "Texts as lists of lines: of one string Quarto drops the line ends."
    for cell in nb["cells"]:
        cell["source"] = source(cell).splitlines(keepends=True)
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            for kind in (kind for kind in data if kind.startswith("text/")):
                data[kind] = translate.joined(data[kind]).splitlines(keepends=True)
    return nb


def entry_links(project, made, entries):
    """What turns nbdev's links to names, addresses of the public site, into links to the reference, or to the
    page."""
    stems = {project.page_name(stem): stem for stem in project.stems()}
    places = {(stem, slug(name)): f"{module}.{name}"
              for stem, module in made.items() for name in entries[module]}
    link = re.compile(rf"\]\({re.escape(project.site_url)}/(\w+)\.html#([\w.]+)\)")

    def led(found):
        stem = stems[found[1]]
        place = places.get((stem, found[2]))
        return f"](reference.qmd#{place})" if place else f"]({stem}.ipynb)"

    return lambda text: link.sub(led, text)


def refine(nb, to_entries):
    "Texts with their links, drawings and tables as a page carries them."
    better = {"image/svg+xml": drawn, "text/html": typeset,
              "text/markdown": lambda text: turned(to_entries(unnested(text)))}
    for cell in nb["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = to_entries(source(cell))
        for data in (output.get("data", {}) for output in cell.get("outputs", [])):
            for kind in better.keys() & data.keys():
                data[kind] = better[kind](translate.joined(data[kind]))


NOT_FOUND = "The page may have moved: try the search, or begin at the [first page](index.ipynb)."


def drawn(svg):
    "A drawing as a page carries it: light, its words dark enough to read on white."
    from cost_eval.plotting import _legible, _light
    return _legible(_light(svg))


def typeset(page):
    """The mathematics and the code that stand as text in the cells of a table; cells that hold a sentence are
    marked."""
    def words(found):
        text = re.sub(r"`([^`<]+)`", r"<code>\1</code>", found[0])
        return re.sub(r"\$(?=\S)([^$<]+)(?<=\S)\$", r'<span class="math nohighlight">\\(\1\\)</span>', text)
    page = re.sub(r"<(td|th)>(?=[^<]{28})(?=[^<]*[a-z] [^<]*[a-z])", r'<\1 class="words">', page)
    page = re.sub(r'(?s)<table[^>]*class="dataframe.*?</table>', lambda found: laid_out(found[0]), page)
    return re.sub(r"(?<=<t[dh])[^<]*>[^<]*|(?<=<caption)[^<]*>[^<]*", words, page)


def laid_out(html):
    "A table of pandas as one reads it."
    table = lxml.html.fragment_fromstring(html)
    head, body = table.xpath("./thead/tr"), table.xpath("./tbody/tr")
    words_to_the_left(head, body)
    without_numbers_of_lines(head, body)
    return lxml.html.tostring(table, encoding="unicode", with_tail=False)


def turned(text):
    "A table of Markdown that has more columns than a page has room for, with its columns as rows."
    found = re.match(r"(?:\|.*\n)+", text)
    rows = [re.split(r"\s*(?<!\\)\|\s*", line)[1:-1] for line in found[0].splitlines()] if found else []
    if len(rows) < 3 or not len(rows) <= len(rows[0]) > 6:
        return text
    head, *below = zip(rows[0], *rows[2:])
    rule = ["---", *["---:"] * len(rows[2:])]
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *below)) + text[found.end():]


def words_to_the_left(head, body):
    "Columns, counted from the right, as a label of several rows stands only once."
    width = max(map(len, body), default=0)
    for column in range(1, width + 1):
        cells = [row[-column] for row in body if len(row) >= column]
        if any(cell.tag == "td" and WORD.search(NUMBER.sub("", cell.text_content())) for cell in cells):
            for cell in [*cells, *(row[-column] for row in head if len(row) == width)]:
                cell.set("class", cell.get("class", "text"))


def without_numbers_of_lines(head, body):
    "An index without a name that only counts the lines is left out."
    if [*map(text, (row[0] for row in [*head, *body]))] == [""] * len(head) + [*map(str, range(len(body)))]:
        for row in [*head, *body]:
            row.remove(row[0])


def text(element):
    return element.text_content().strip()


def reference(entries):
    "Every name with its docstring as it stands; Sphinx makes pages of its own of the modules."
    parts = ["---\ntitle: Reference\ndescription: What each module of cost_eval exports.\n---\n"]
    for module, names in entries.items():
        parts.append(f"## `{module}` {{#{module}}}\n")
        for name, value in names.items():
            text = f"{name}{inspect.signature(value)}\n\n{inspect.getdoc(value)}"
            parts.append(f"### `{name}` {{#{module}.{name}}}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


BOARD = ("---\ntitle: Scoreboard\ndescription: Every table and figure of five papers, recomputed.\n---\n\n"
         "This is the committed board: the full budget, with all the data. The rules are in "
         "[Reproductions](91_reproduce.ipynb), what papers' own inputs refute in the [errata](93_errata.ipynb). "
         "An item's title leads to the cell that computes it.\n")


def scoreboard(project):
    "The committed board, paper by paper and item by item."
    from cost_eval.reproduce import ITEMS, scoreboard
    items, parts = scoreboard(), [BOARD, turned(scoreboard(form="markdown")) + "\n"]
    for paper, rows in items.groupby(items.index.str.partition("/").get_level_values(0), sort=False):
        stem = next(stem for stem in project.stems() if stem.endswith(f"9_{paper}_reproduced"))
        head = paper.replace("_", " ").capitalize()
        parts.append(f"## {head}\n\n| item | rows | data |\n| --- | --- | --- |")
        for name, row in rows.iterrows():
            computed = getattr(ITEMS[name].function, "__name__", "")  # a loop registers partials
            place = f"#{slug(computed)}" if computed else ""
            data = ", ".join(dict.fromkeys(re.sub("/.*", "/*", needed) for needed in ITEMS[name].needs))
            title = row.title.replace("|", r"\|")
            parts.append(f"| [{title}]({stem}.ipynb{place}) | {row.rows} | {data} |")
        parts.append("")
    return "\n".join(parts)
