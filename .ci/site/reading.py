"""The reading view: what a reader sees of the notebooks that nbdev has processed.

Imports, tests, helpers and exported code fold to a mark; a line beside it says what the code defines. The pages that no notebook makes are
written here, too: the scoreboard, the reference, 404.

| what | the reader's need |
| --- | --- |
| `folded`, `one_line`, `solved` | the story without machinery, a line for what was checked, no answer outside of its solution |
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
from translate import markdown_cell, slug, source, split_options

STATIC = Path(__file__).resolve().parent / "static"
TEST = re.compile(r"(?:np|numpy)\.testing\.|testing\.|test_|assert_|check_that")
CHECKS = re.compile(r"\d+ checks?")
NUMBER = re.compile(r"(?i)\bnan\b|\binf\b|\de[-+]?\d")  # letters in numbers
WORD = re.compile(r"[^\W\d_]")
BADGE = re.compile(r"\[!\[[^\]]*\]\(https?://[^)\s]*\)\]\([^)\s]*\)[ \t]*\n?")  # for the README; a page would fetch it from elsewhere
HIDDEN = re.compile(r'::: \{\.callout-tip collapse="true" title="(?:Solution|Answer)"\}')  # of an exercise; of "Guess first"
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def keep_code():
    "Let nbdev's processing leave exported code on its page; it makes no entries of its own, for which it would have to run the cells."
    from nbdev.processors import FilterDefaults, add_show_docs, exec_show_docs, rm_export

    if not hasattr(FilterDefaults, "usual_procs"):
        FilterDefaults.usual_procs = FilterDefaults.base_procs
        ours = {add_show_docs: [], exec_show_docs: [], rm_export: [exported, rm_export]}
        FilterDefaults.base_procs = lambda self: [
            new for proc in FilterDefaults.usual_procs(self) for new in ours.get(proc, [proc])]


def exported(cell):
    "A cell of exported code tells its public names."
    if cell.cell_type != "code" or not {"export", "exporti"} & cell.directives_.keys() or "hide" in cell.directives_:
        return
    nodes = cell.parsed_() or []
    if not all(isinstance(node, IMPORTS) for node in nodes):
        cell.metadata["exported"] = [node.name for node in nodes if "export" in cell.directives_
                                     and isinstance(node, DEFINITIONS) and not node.name.startswith("_")]
        for flag in ("export", "exporti"):
            cell.directives_.pop(flag, None)


def reading_view(nb, module=""):
    "The notebook as it is read."
    for cell in nb["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = BADGE.sub("", unnested(source(cell)))
    cells = [piece for at, cell in enumerate(nb["cells"]) for piece in folded(cell, nb["cells"][at + 1:])]
    nb["cells"] = list(named(solved(one_line(at_results(cells))), module))
    return nb


def unnested(text):
    "The author's link alone, where nbdev has put its own around the name that is the link's text."
    return re.sub(r"\[\[(`[^`\n]+`)\]\([^()\n]*\)\]\(", r"[\1](", text)


# Folds -------------------------------------------------------------------------------------------

def folded(cell, later):
    "A code cell in the pieces it is shown in: what tells the story, and its tests, folded to a line."
    if cell["cell_type"] != "code":
        return [cell]
    if "exported" in cell["metadata"]:
        return [fold(cell, "Code")]
    try:
        options, code = split_options(source(cell))
        parts = statements(code)
    except SyntaxError:  # magics
        return [cell]
    if not parts or options.get("echo") is False or options.get("include") is False or "code-summary" in options:
        return [cell]
    outputs = cell.get("outputs") or options.get("label")
    nodes = [node for node, _ in parts]
    tests = [node for node in nodes if is_test(node)]
    if all(isinstance(node, IMPORTS) for node in nodes):
        return [fold(cell, "Code")]
    if not tests:
        helpers = all(isinstance(node, (*IMPORTS, *DEFINITIONS)) for node in nodes)
        return [fold(cell, "Code")] if helpers and not outputs else [cell]
    summary = plural(sum(map(count_tests, tests)), "check")
    rest = [node for node in nodes if node not in tests]
    if not outputs and (not rest or not any(bound(rest) & loaded(c) for c in later)):
        return [fold(cell, summary)]
    if options.get("code-fold"):
        return [cell]
    story = with_code(cell, "\n".join(text for node, text in parts if node not in tests).strip("\n"))
    check = {**cell, "id": f"{cell.get('id', 'cell')}-checks", "outputs": [], "metadata": {},
             "source": "\n".join(text for node, text in parts if node in tests).strip("\n")}
    return [story, fold(check, summary)]


def fold(cell, summary):
    "The cell behind one line."
    lines = [line for line in source(cell).splitlines() if not re.match(r"#\|\s*code-(fold|summary):", line)]
    return {**cell, "source": "\n".join(["#| code-fold: true", f'#| code-summary: "{summary}"', *lines])}


def at_results(cells):
    "Code that shows nothing goes down to the next code: a mark alone between two paragraphs belongs to nothing."
    cells = list(cells)
    for k in reversed(range(len(cells))):
        above = next((source(cell) for cell in reversed(cells[:k]) if cell["cell_type"] == "markdown"), "")
        to = next((j for j in range(k + 1, len(cells)) if cells[j]["cell_type"] == "code"), k)
        if bare_fold(cells[k]) == "Code" and not defines(cells[k]) and not HIDDEN.search(above):
            cells.insert(to, cells[k])
            del cells[k]
    return cells


def one_line(cells):
    "Folds that follow each other become one: a single line to pass over on the way to what they lead to."
    out, before = [], None
    for cell in cells:
        summary = bare_fold(cell)
        if summary and before and source(cell):
            joined = one_summary(f"{before}; {summary}".split("; "))
            out[-1], summary = fold(together(out[-1], out[-1], cell), joined), joined
        elif before == "Code" and cell["cell_type"] == "code" and "#| code-fold: true" in source(cell):
            out[-1] = together(cell, out[-1], cell)
        elif not is_blank(cell) or not before:
            out.append(cell)
        before = summary if not is_blank(cell) else before
    return out


def together(kept, *cells):
    "The first one with the code and the exported names of the others."
    names = [name for cell in cells for name in defines(cell)]
    code = "\n\n".join(split_options(source(cell))[1] for cell in cells)
    return with_code({**kept, "metadata": {**kept["metadata"], "exported": names}}, code)


def defines(cell):
    "The public names that a cell exports."
    return cell["metadata"].get("exported", [])


def with_code(cell, code):
    "The cell with its own options and this code."
    return {**cell, "source": "\n".join([*(line for line in source(cell).splitlines() if line.startswith("#|")), code])}


def one_summary(words):
    "The lines of several folds as one: each kind once."
    checks = sum(int(word.split()[0]) for word in words if CHECKS.fullmatch(word))
    rest = [word for word in dict.fromkeys(words) if not CHECKS.fullmatch(word) and word != "Code"]
    return "; ".join([*rest, *[plural(checks, "check")] * bool(checks)]) or "Code"


def solved(cells):
    "A closed solution or answer holds the code after it, up to the next text: what is printed there gives it away."
    out, inside = [], False
    for cell, later in zip(cells, [*cells[1:], markdown_cell("")]):
        text = source(cell).rstrip()
        if inside and cell["cell_type"] != "code":
            out.append(markdown_cell(":::"))
            inside = False
        if cell["cell_type"] == "markdown" and HIDDEN.search(text) and text.endswith("\n:::") and later["cell_type"] == "code":
            cell, inside = {**cell, "source": text.removesuffix(":::")}, True
        out.append(cell)
    return [*out, markdown_cell(":::")] if inside else out


def bare_fold(cell):
    "The line of a folded cell that shows nothing, or None."
    if cell["cell_type"] != "code" or cell.get("outputs"):
        return None
    options = split_options(source(cell))[0]
    return options.get("code-summary", "Code") if options.get("code-fold") and not {"label", "echo", "include"} & set(options) else None


def statements(code):
    "[(statement, its lines with the comments above it)] of a cell."
    lines, parts, start = code.splitlines(), [], 0
    for node in ast.parse(code).body:
        parts.append((node, "\n".join(lines[start:node.end_lineno])))
        start = node.end_lineno
    if parts and start < len(lines):
        parts[-1] = (parts[-1][0], parts[-1][1] + "\n" + "\n".join(lines[start:]))
    return parts


def is_test(node):
    "A statement that only checks: assert, test_eq(...), or a block of nothing else."
    if isinstance(node, ast.Assert):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call) and bool(TEST.match(ast.unparse(node.value.func)))
    if isinstance(node, (ast.For, ast.With, ast.If)):
        inside = [*node.body, *getattr(node, "orelse", [])]
        return is_test(inside[-1]) and all(is_test(child) or isinstance(child, ast.Assign) for child in inside)
    return False


def count_tests(node):
    found = sum(isinstance(n, ast.Assert) or isinstance(n, ast.Expr) and is_test(n) for n in ast.walk(node))
    return max(found, 1)


def bound(nodes):
    "Names that statements define."
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} \
        | {n.name for n in nodes if isinstance(n, DEFINITIONS)}


def loaded(cell):
    "Names that a visible code cell uses."
    if cell["cell_type"] != "code":
        return set()
    try:
        parts = statements(split_options(source(cell))[1])
    except SyntaxError:
        return set()
    return {n.id for node, _ in parts if not is_test(node) for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def plural(n, word):
    return f"{n} {word}{'' if n == 1 else 's'}"


# Names -------------------------------------------------------------------------------------------

def named(cells, module):
    "The cells, with a line before code that defines something public; each name is an address, and leads to the reference."
    cells = list(cells)
    taken = {slug(found[1]) for cell in cells if cell["cell_type"] != "code"
             for found in re.finditer(r"(?m)^(?:#+|title:) (.*)$", source(cell))}
    for cell in cells:
        if names := defines(cell):
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
    for path in (project.nbs / f"{stem}.ipynb" for stem in project.stems()):
        text = "\n".join(map(source, json.loads(path.read_text(encoding="utf-8"))["cells"])) if path.exists() else ""
        if found := re.search(r"^#\|\s*default_exp\s+(\S+)", text, re.M):
            made[path.stem] = f"{project.cfg['lib_name']}.{found[1]}"
    return made


def documented(module):
    "{name: function or class} that a module defines for others."
    try:
        public = importlib.import_module(module)
    except Exception as error:
        raise translate.Problem(f"{module} cannot be imported ({type(error).__name__}: {error}); nbdev_export writes it from "
                                "the notebook") from error
    values = {name: getattr(public, name) for name in getattr(public, "__all__", vars(public)) if not name.startswith("_")}
    return {name: value for name, value in values.items() if getattr(value, "__module__", "") == module
            and (inspect.isclass(value) or inspect.isfunction(inspect.unwrap(value)))}


def is_blank(cell):
    return not source(cell).strip() or source(cell).startswith("<!--")


# All pages ---------------------------------------------------------------------------------------

def prepare(project):
    "Turn _proc/ into the reading view and add the pages that no notebook makes."
    made = modules(project)
    entries = {module: documented(module) for module in made.values()}
    to_entries = entry_links(project, made, entries)
    for path in sorted(project.processed.glob("*.ipynb")):
        module = made.get(path.stem, "")
        nb = reading_view(json.loads(path.read_text(encoding="utf-8")), module)
        if lost := {name for cell in nb["cells"] for name in defines(cell)} - entries.get(module, {}).keys():
            raise translate.Problem(f"{min(lost)} is not in {module}: run nbdev_export, which writes it from the notebook")
        refine(nb, to_entries)
        path.write_text(json.dumps(for_quarto(nb), indent=1), encoding="utf-8")
    listed = project.stems()
    pages = dict(scoreboard=scoreboard, reference=lambda _: reference(entries))
    for stem, write in pages.items():
        if stem in listed:
            (project.processed / f"{stem}.qmd").write_text(write(project), encoding="utf-8")
    for name in ("page.css", "site.js"):
        shutil.copyfile(STATIC / name, project.processed / name)
    (project.processed / "404.qmd").write_text(f"---\ntitle: No such page\n---\n\n{NOT_FOUND}\n", encoding="utf-8")


def for_quarto(nb):
    "Texts as lists of lines (of one string Quarto drops the line ends), each option of a cell once (a second one stops it), no lines of nbdev's own."
    for cell in nb["cells"]:
        lines, said = source(cell).splitlines(keepends=True), set()
        options = {k: m[1] for k, line in enumerate(lines) if cell["cell_type"] == "code" and (m := re.match(r"#\|\s*([\w-]+):", line))}
        cell["source"] = [line for k, line in enumerate(lines) if k not in options or not (options[k] in said or said.add(options[k]))]
        for data in (output["data"] for output in cell.get("outputs", []) if "data" in output):
            data.update({kind: translate.joined(text).splitlines(keepends=True) for kind, text in data.items() if kind.startswith("text/")})
    return nb


def entry_links(project, made, entries):
    "What turns nbdev's links to names, addresses of the public site, into links to the reference, or to the page."
    stems = {project.page_name(stem): stem for stem in project.stems()}
    places = {(stem, slug(name)): f"{module}.{name}" for stem, module in made.items() for name in entries[module]}
    link = re.compile(rf"\]\({re.escape(project.site_url)}/(\w+)\.html#([\w.]+)\)")

    def led(found):
        stem = stems[found[1]]
        place = places.get((stem, found[2]))
        return f"](reference.qmd#{place})" if place else f"]({stem}.ipynb)"

    return lambda text: link.sub(led, text)


def refine(nb, to_entries):
    "Texts with their links, drawings and tables as a page carries them."
    better = {"image/svg+xml": drawn, "text/html": typeset, "text/markdown": lambda text: turned(to_entries(unnested(text)))}
    for cell in nb["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = to_entries(source(cell))
        for data in (output["data"] for output in cell.get("outputs", []) if "data" in output):
            data.update({kind: better[kind](translate.joined(data[kind])) for kind in better if kind in data})


NOT_FOUND = "The page may have moved: try the search, or begin at the [first page](index.ipynb)."


def drawn(svg):
    "A drawing as a page carries it: light, its words dark enough to read on white."
    from cost_eval.plotting import _legible, _light
    return _legible(_light(svg))


def typeset(page):
    "The mathematics and the code that stand as text in the cells of a table; cells that hold a sentence are marked."
    def words(found):
        text = re.sub(r"`([^`<]+)`", r"<code>\1</code>", found[0])
        return re.sub(r"\$(?=\S)([^$<]+)(?<=\S)\$", r'<span class="math notranslate nohighlight">\\(\1\\)</span>', text)
    page = re.sub(r"<(td|th)>(?=[^<]{28})(?=[^<]*[a-z] [^<]*[a-z])", r'<\1 class="words">', page)
    page = re.sub(r'(?s)<table[^>]*class="dataframe.*?</table>', lambda found: laid_out(found[0]), page)
    return re.sub(r"(?<=<t[dh])[^<]*>[^<]*|(?<=<caption)[^<]*>[^<]*", words, page)


def laid_out(html):
    "A table of pandas as one reads it."
    table = lxml.html.fragment_fromstring(html)
    head, body = table.xpath("./thead/tr"), table.xpath("./tbody/tr")
    words_to_the_left(head, body)
    one_line_of_names(head)
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


def one_line_of_names(head):
    "The names of the index, which pandas puts below those of the columns, beside them."
    for above, names in zip(head, head[1:]):
        pairs = list(zip(above, names))
        if len(above) == len(names) and all(bool(text(a)) != bool(text(b)) for a, b in pairs):
            for a, b in pairs:
                if text(b):
                    above.replace(a, b)
                    b.set("class", "text")
            names.getparent().remove(names)


def without_numbers_of_lines(head, body):
    "An index without a name that only counts the lines is left out."
    if [text(row[0]) for row in body] == [str(k) for k in range(len(body))] and not any(text(row[0]) for row in head):
        for row in [*head, *body]:
            row.remove(row[0])


def text(element):
    return element.text_content().strip()


def reference(entries):
    "Every name with its docstring as it stands; Sphinx makes pages of its own of the modules."
    parts = ["---\ntitle: Reference\ndescription: What each module of cost_eval exports, in the order of the book.\n---\n"]
    for module, names in entries.items():
        parts.append(f"## `{module}` {{#{module}}}\n")
        for name, value in names.items():
            text = f"{name}{inspect.signature(value)}\n\n{inspect.getdoc(value)}"
            parts.append(f"### `{name}` {{#{module}.{name}}}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def scoreboard(project):
    "The committed board, paper by paper and item by item."
    from cost_eval.reproduce import ITEMS, scoreboard
    items = scoreboard()
    parts = ["---\ntitle: Scoreboard\ndescription: Every table and figure of the five papers, recomputed, and what came out.\n---\n",
             "This is the committed board: the full budget, with all the data. The rules are in [Reproductions](91_reproduce.ipynb), what the "
             "papers' own inputs refute in the [errata](93_errata.ipynb).\n",
             turned(scoreboard(form="markdown")) + "\n"]
    cell = lambda text: str(text).replace("|", chr(92) + "|")
    grouped = lambda names: ", ".join(dict.fromkeys(re.sub("/.*", "/*", name) for name in names))
    for paper, rows in items.groupby(items.index.str.partition("/").get_level_values(0), sort=False):
        stem = next((s for s in project.stems() if s.endswith(f"9_{paper}_reproduced")), None)
        named = {name: getattr(ITEMS[name].function, "__name__", "") for name in rows.index}  # a loop registers partials
        at = lambda name: f"{stem}.ipynb#{slug(named[name])}" if named[name] else f"{stem}.ipynb"
        link = lambda name, title: f"[{title}]({at(name)})" if stem else title
        lines = [f"| {link(name, cell(row.title))} | {row.rows} | {grouped(ITEMS[name].needs)} |" for name, row in rows.iterrows()]
        parts.append(f"## {paper.replace('_', ' ').capitalize()}\n\nAn item's title leads to the cell that computes it.\n\n"
                     "| item | rows | data |\n| --- | --- | --- |\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)
