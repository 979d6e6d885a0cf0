"""Exported code on the page, for Quarto and for Sphinx alike: an API entry under each public definition, the rest folded."""
import ast
import inspect
import re
from functools import cached_property, lru_cache

from fastcore.docments import docments
from nbdev import showdoc
from nbdev.config import get_config
from nbdev.doclinks import NbdevLookup
from nbdev.processors import FilterDefaults, rm_export

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
EMPTY = inspect.Parameter.empty
UNDERLINED = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}[ \t]*$", re.M)
WIDTH = 88


def install():
    "Let nbdev print API entries our way, and keep the exported code that has none."
    showdoc.BasicMarkdownRenderer = Entry
    if not hasattr(FilterDefaults, "usual_procs"):
        FilterDefaults.usual_procs = FilterDefaults.base_procs
        FilterDefaults.base_procs = lambda self: insert_before(FilterDefaults.usual_procs(self), rm_export, fold_private)


def insert_before(items, item, new):
    at = items.index(item)
    return [*items[:at], new, *items[at:]]


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
        cell.source = f'#| code-fold: true\n#| code-summary: "Code: {", ".join(names(nodes)) or "helpers"}"\n{cell.source}'


def names(nodes):
    "What top-level statements define."
    found = [n.name for n in nodes if isinstance(n, DEFINITIONS)]
    targets = [t for n in nodes if isinstance(n, (ast.Assign, ast.AnnAssign)) for t in getattr(n, "targets", None) or [n.target]]
    return found + [t.id for t in targets if isinstance(t, ast.Name)]


class Entry(showdoc.BasicMarkdownRenderer):
    "Heading, source link, signature as it is called, what it does, a row per parameter, the members of a class, the code."

    def __init__(self, sym, *args, **kwargs):
        try:
            super().__init__(sym, *args, **kwargs)
        except ValueError as error:  # fastcore compares defaults with !=
            raise TypeError(f"{sym.__qualname__} has an array as a default, which nbdev cannot document: take None for it") from error

    def _repr_markdown_(self):
        source = NbdevLookup().code(self.fn)
        parts = ["---", f"{'#' * self.title_level} {self.nm}"]
        if source:
            parts.append(f'[source]({source}){{target="_blank" style="float:right; font-size:smaller"}}')
        if self.sig:
            parts.append(f"```python\n{signature_text(self.sym, self.nm, self.sig, written(self.code()))}\n```")
        parts += [*docstring_parts(self.sym, table=self.parameter_table()), member_table(self.sym), self.folded_code()]
        return "\n\n".join(part for part in parts if part)

    def parameter_table(self):
        "A row per documented parameter; nothing when none is documented."
        notes = {k: v["docment"] for k, v in docments(self.sym, full=True).items()} if self.sig else {}
        rows = [(f"`{name}`", notes[name]) for name in getattr(self.sig, "parameters", ()) if notes.get(name)]
        if rows and notes.get("return"):
            rows.append(("**returns**", notes["return"]))
        return table(("parameter", "what it is"), rows)


    def code(self):
        "The definition as it was exported, or None."
        known = NbdevLookup()[self.fn]
        return definitions_in(known[1]).get(self.nm) if isinstance(known, tuple) else None

    def folded_code(self):
        "The exported code: nbdev leaves it out of the page, a book should not."
        code = self.code()
        return f"<details class=\"code\"><summary>Code</summary>\n\n```python\n{code}\n```\n\n</details>" if code else ""


@lru_cache(None)
def definitions_in(path):
    "{qualified name: source text} of a module of the package, decorators included."
    text = (get_config().config_path / path).read_text(encoding="utf-8")
    lines, found = text.splitlines(), {}

    def visit(nodes, prefix=""):
        for node in nodes:
            if isinstance(node, DEFINITIONS):
                start = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
                found[prefix + node.name] = inspect.cleandoc("\n" + "\n".join(lines[start:node.end_lineno]))
                if isinstance(node, ast.ClassDef):
                    visit(node.body, f"{prefix}{node.name}.")

    visit(ast.parse(text).body)
    return found


def table(head, rows):
    "A pipe table, or nothing."
    if not rows:
        return ""
    lines = ["| " + " | ".join(cell(c) for c in row) + " |" for row in (head, ["---"] * len(head), *rows)]
    return "\n".join(lines)


def cell(text):
    "One line, with its bars escaped."
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(str(text).split()))


def written(code):
    "{parameter: its annotation as written} of a function, or of a class by its __init__ or its fields: ArrayLike stays ArrayLike."
    if not code:
        return {}
    node = ast.parse(code).body[0]
    if isinstance(node, ast.ClassDef):
        init = next((n for n in node.body if isinstance(n, DEFINITIONS) and n.name == "__init__"), None)
        if init is None:
            return {n.target.id: ast.unparse(n.annotation) for n in node.body if isinstance(n, ast.AnnAssign)}
        node = init
    a = node.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]
    annotations = {arg.arg: ast.unparse(arg.annotation) for arg in every if arg.annotation}
    return annotations | ({"return": ast.unparse(node.returns)} if node.returns else {})


def annotation_text(annotation):
    "`ndarray`, not `numpy.ndarray`."
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", text.strip("'\""))


def default_text(value):
    "A default as one would type it; objects without a stable repr become dots."
    text = getattr(value, "__name__", None) or repr(value)
    return "..." if " at 0x" in text else text


def parameter_text(parameter):
    "`weight: float = 0.5`."
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = stars + parameter.name
    if parameter.annotation is not EMPTY:
        text += ": " + annotation_text(parameter.annotation)
    if parameter.default is not EMPTY:
        text += (" = " if parameter.annotation is not EMPTY else "=") + default_text(parameter.default)
    return text


def parameter_texts(sig):
    "All parameters, with the bare `*` and `/` that say how they may be passed."
    texts, P, parameters = [], inspect.Parameter, list(sig.parameters.values())
    kinds = [p.kind for p in parameters]
    for i, parameter in enumerate(parameters):
        if parameter.kind == P.KEYWORD_ONLY and not {P.KEYWORD_ONLY, P.VAR_POSITIONAL} & set(kinds[:i]):
            texts.append("*")
        texts.append(parameter_text(parameter))
        if parameter.kind == P.POSITIONAL_ONLY and P.POSITIONAL_ONLY not in kinds[i + 1:]:
            texts.append("/")
    return texts


def signature_text(sym, name, sig, annotations):
    "The call on one line when it fits, else one parameter a line; without self and the private fields of a record."
    parameters = [p.replace(annotation=annotations.get(p.name, p.annotation)) for p in sig.parameters.values()
                  if p.name not in ("self", "cls") and not p.name.startswith("_")]
    texts = parameter_texts(inspect.Signature(parameters))
    returned = annotations.get("return", sig.return_annotation)
    returns = "" if inspect.isclass(sym) or returned in (EMPTY, None, "None") else f" -> {annotation_text(returned)}"
    line = f"{name}({', '.join(texts)}){returns}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n    " + ",\n    ".join(texts) + f",\n){returns}"


def fenced_examples(doc):
    "Doctest examples (from >>> to the next empty line) as blocks of code; Markdown would take >>> for a quotation."
    return re.sub(r"(?m)^>>> .*(?:\n(?!\s*$).*)*", lambda found: f"```python\n{found[0]}\n```", doc)


def docstring_parts(sym, table):
    "The docstring as markdown, its parameter section replaced by the table."
    doc = inspect.getdoc(sym) or ""
    if inspect.isclass(sym) and doc.startswith(f"{sym.__name__}("):  # made by dataclass, repeats the signature
        doc = ""
    pieces = UNDERLINED.split(fenced_examples(doc))
    parts = [pieces[0].strip(), table]
    for title, body in zip(pieces[1::2], pieces[2::2]):
        known = title in ("Parameters", "Returns") and table
        if title == "Examples":
            parts.append(f"**Examples.**\n\n{body.strip()}")
        elif not known and title != "Attributes":
            parts.append(f"**{title}.** {definitions(body)}")
    return parts


def definitions(body):
    "numpydoc's `Name` with an indented description becomes `Name`: description."
    lines = re.sub(r"^(\S[^\n]*)\n[ \t]+", r"`\1`: ", body.strip(), flags=re.M)
    return re.sub(r"\n[ \t]+", "\n", lines)


def member_table(cls):
    "Public methods and properties that a class defines, each with the first line of its docstring."
    if not inspect.isclass(cls):
        return ""
    rows = []
    for name, raw in vars(cls).items():
        member = getattr(raw, "__func__", None) or getattr(raw, "fget", None) or getattr(raw, "func", None) or raw
        doc = inspect.getdoc(member) if inspect.isfunction(member) else None
        if name.startswith("_") or not doc:
            continue
        rows.append((f"`.{name}{'' if isinstance(raw, (property, cached_property)) else call_text(member)}`", doc.split("\n\n")[0]))
    return table(("member", "what it is"), rows)


def call_text(function):
    "`(y_true, y_pred, *, classes=None)`: how a method is called, without its annotations."
    parameters = list(inspect.signature(function).parameters.values())
    bare = [p.replace(annotation=EMPTY) for p in parameters if p.name not in ("self", "cls")]
    return f"({', '.join(parameter_texts(inspect.Signature(bare)))})"
