"""Exported code on the page: an API entry under each public definition, the rest folded.

The entry is made of the exported module, so no code of the notebook has to be run. The reader's need: a signature as it is written,
parameters as a table, the code and its line in the repository; nbdev's own entries show neither numpydoc nor members.
"""
import ast
import inspect
import re
from dataclasses import is_dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path

from nbdev.config import get_config
from nbdev.process import Processor
from nbdev.processors import FilterDefaults, exec_show_docs, rm_export
from numpydoc.docscrape import NumpyDocString
from translate import Problem

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
WIDTH = 88


def install():
    "Let nbdev's processing put our API entries in the place of its own, which needs no code to be run, and keep the exported code that has none."
    if not hasattr(FilterDefaults, "usual_procs"):
        FilterDefaults.usual_procs = FilterDefaults.base_procs
        ours = {exec_show_docs: [Entries], rm_export: [fold_private, rm_export]}
        FilterDefaults.base_procs = lambda self: [new for proc in FilterDefaults.usual_procs(self) for new in ours.get(proc, [proc])]


def fold_private(cell):
    "An exported cell of helpers and constants has no API entry: show its code, folded."
    if cell.cell_type != "code" or not {"export", "exporti"} & cell.directives_.keys() or "hide" in cell.directives_:
        return
    nodes = cell.parsed_() or []
    public = any(isinstance(n, DEFINITIONS) and not n.name.startswith("_") for n in nodes)
    if not public and not all(isinstance(n, (ast.Import, ast.ImportFrom)) for n in nodes):
        for flag in ("export", "exporti"):
            cell.directives_.pop(flag, None)
        cell.metadata["private"] = True  # for reading.gathered
        cell.source = f'#| code-fold: true\n#| code-summary: "Code"\n{cell.source}'


class Entries(Processor):
    "Fills the cells `show_doc(name)` of a notebook."

    def begin(self):
        config = get_config()
        said = [cell.directives_["default_exp"][0] for cell in self.nb.cells if "default_exp" in (cell.directives_ or {})]
        self.module = imported(f"{config.lib_name}.{said[0]}") if said else None
        self.url = f"{config.git_url}/blob/{config.branch}/{self.module.__name__.replace('.', '/')}.py" if said else ""

    def cell(self, cell):
        called = re.search(r"^show_doc\((\w+)", cell.source, re.M)
        if cell.cell_type != "code" or not called:
            return
        name = called[1]
        if not hasattr(self.module, name):
            raise Problem(f"{name} is not in {self.module.__name__}: run nbdev_export, which writes it from the notebook")
        doc = NumpyDocString(documentation(getattr(self.module, name)))
        text = f"### {name}\n\n{entry(getattr(self.module, name), doc, self.url)}"
        cell.metadata["entry"] = {"name": name, "summary": " ".join(doc["Summary"])}  # for reading.py and the search
        cell.outputs = [{"output_type": "display_data", "metadata": {}, "data": {"text/markdown": text}}]
        if name.startswith("_"):  # nbdev takes __getattr__ for public
            cell.source = None


def imported(name):
    "A module of the package."
    try:
        return import_module(name)
    except Exception as error:
        raise Problem(f"{name} cannot be imported ({type(error).__name__}: {error}); nbdev_export writes it from the notebook") from error


def entry(symbol, doc, url):
    "A card with source link, signature, the docstring's sections, the members of a class, the code."
    _, start, code = definition(symbol)
    parts = ["::: {.api}", f'<a class="api-source" href="{url}#L{start}" aria-label="source of {symbol.__name__}">source</a>',
             f"```python\n{signature(symbol)}\n```", *sections(doc), members(symbol),
             f'<details class="code"><summary>Code of {symbol.__name__}</summary>\n\n```python\n{code}\n```\n\n</details>', ":::"]
    return "\n\n".join(filter(None, parts))


def definition(symbol):
    "(syntax tree, first line, text with the decorators) of a function or class."
    return definitions(inspect.getsourcefile(inspect.unwrap(symbol)))[symbol.__qualname__]


@lru_cache(None)
def definitions(path):
    "{qualified name: (syntax tree, first line, text)} of a module."
    lines, found = Path(path).read_text(encoding="utf-8").splitlines(), {}

    def visit(nodes, prefix=""):
        for node in nodes:
            if isinstance(node, DEFINITIONS):
                start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                found[prefix + node.name] = node, start, "\n".join(lines[start - 1:node.end_lineno])
                visit(node.body, f"{prefix}{node.name}.")

    visit(ast.parse("\n".join(lines)).body)
    return found


def documentation(symbol):
    "The docstring; nothing for the one that dataclass makes, which repeats the signature."
    doc = inspect.getdoc(symbol) or ""
    return "" if doc.startswith(f"{symbol.__name__}(") else doc


def signature(symbol):
    "How a function or a class is called, as it is written; of a record its fields; with the parameter that a decorator adds."
    function = symbol.__init__ if inspect.isclass(symbol) else symbol
    parameters = [p for p in inspect.signature(symbol).parameters.values() if not p.name.startswith("_")]
    if not is_dataclass(symbol) and inspect.isfunction(function) and {p.name for p in parameters} <= set(inspect.signature(inspect.unwrap(function)).parameters):
        return header(symbol.__name__, function).removesuffix(" -> None")
    text = str(inspect.Signature(parameters))
    if len(text) > WIDTH:
        text = "(\n    " + ",\n    ".join(map(str, parameters)) + ",\n)"
    text = re.sub(r": '([^']+)'", r": \1", text)  # a type as it is written, not as text
    return symbol.__name__ + re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", text)  # ndarray, not numpy.ndarray


def header(name, function):
    "The line, or the lines, that begin a function, without `def` and `self`."
    node, start, code = definition(function)
    text = inspect.cleandoc("\n" + "\n".join(code.splitlines()[node.lineno - start:node.body[0].lineno - start])).removesuffix(":")
    return re.sub(r"^def \w+\((\s*)(?:(?:self|cls)\b(?:,\s*)?)?", rf"{name}(\1", text)


def sections(doc):
    "The sections of a docstring that say something: parameters and attributes as a table, the rest as text."
    text = {title: "\n".join(doc[title]).strip() for title in ("Summary", "Extended Summary", "Notes", "References", "Examples")}
    yield from (text["Summary"], text["Extended Summary"])
    for title in ("Parameters", "Attributes"):
        yield table((title.lower()[:-1], "what it is"), [(f"`{name}`", " ".join(said)) for name, _, said in doc[title]])
    for title in ("Returns", "Yields", "Raises"):
        items = [f"`{kind}`: {' '.join(said)}" for _, kind, said in doc[title]]
        yield f"**{title}.** {'; '.join(items)}" if items else ""
    for title in ("Notes", "References"):
        yield text[title] and f"**{title}.** {text[title]}"
    yield text["Examples"] and f"**Examples.**\n\n{fenced(text['Examples'])}"


def fenced(examples):
    "Doctest examples (from >>> to the next empty line) as blocks of code; Markdown would take >>> for a quotation."
    return re.sub(r"(?m)^>>> .*(?:\n(?!\s*$).*)*", lambda found: f"```python\n{found[0]}\n```", examples)


def members(cls):
    "Public methods and properties that a class defines, each with the first line of its docstring."
    rows = []
    for name, raw in vars(cls).items() if inspect.isclass(cls) else ():
        is_property = isinstance(raw, (property, cached_property))
        function = (raw.func if isinstance(raw, cached_property) else raw.fget) if is_property else getattr(raw, "__func__", raw)
        if inspect.isfunction(function) and function.__doc__ and not name.startswith("_"):
            call = name if is_property else re.sub(r",?\s+(?=\))|(?<=\()\s+", "", header(name, function))
            rows.append((f"`.{call}`", inspect.getdoc(function).split("\n\n")[0]))
    return table(("member", "what it is"), rows)


def table(head, rows):
    "A pipe table, or nothing."
    lines = ["| " + " | ".join(cell(c) for c in row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines) if rows else ""


def cell(text):
    "One line, with its bars escaped."
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(str(text).split()))
