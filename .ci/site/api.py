"""API entries: what `show_doc` prints under an exported cell, for Quarto and for Sphinx alike."""
import ast
import inspect
import re
from functools import cached_property, lru_cache

from fastcore.docments import docments
from nbdev import showdoc
from nbdev.config import get_config
from nbdev.doclinks import NbdevLookup

EMPTY = inspect.Parameter.empty
UNDERLINED = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}[ \t]*$", re.M)
WIDTH = 88


def install():
    "Let nbdev print API entries our way."
    showdoc.BasicMarkdownRenderer = Entry


class Entry(showdoc.BasicMarkdownRenderer):
    "Heading, source link, signature as it is called, what it does, a row per parameter, the members of a class, the code."

    def _repr_markdown_(self):
        source = NbdevLookup().code(self.fn)
        parts = ["---", f"{'#' * self.title_level} {self.nm}"]
        if source:
            parts.append(f'[source]({source}){{target="_blank" style="float:right; font-size:smaller"}}')
        if self.sig:
            parts.append(f"```python\n{signature_text(self.sym, self.nm, self.sig)}\n```")
        parts += [*docstring_parts(self.sym, table=self.parameter_table()), member_table(self.sym), self.folded_code()]
        return "\n\n".join(part for part in parts if part)

    def parameter_table(self):
        "A row per documented parameter; nothing when none is documented."
        notes = {k: v["docment"] for k, v in docments(self.sym, full=True).items()} if self.sig else {}
        rows = [(f"`{name}`", notes[name]) for name in getattr(self.sig, "parameters", ()) if notes.get(name)]
        if rows and notes.get("return"):
            rows.append(("**returns**", notes["return"]))
        return table(("parameter", "what it is"), rows)


    def folded_code(self):
        "The exported code: nbdev leaves it out of the page, a book should not."
        known = NbdevLookup()[self.fn]
        code = definitions_in(known[1]).get(self.nm) if isinstance(known, tuple) else None
        return f"<details class=\"code\"><summary>Code</summary>\n\n```python\n{code}\n```\n\n</details>" if code else ""


@lru_cache(None)
def definitions_in(path):
    "{qualified name: source text} of a module of the package, decorators included."
    text = (get_config().config_path / path).read_text(encoding="utf-8")
    lines, found = text.splitlines(), {}

    def visit(nodes, prefix=""):
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
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


def default_text(value):
    "A default as one would type it; objects without a stable repr become dots."
    text = getattr(value, "__name__", None) or repr(value)
    return "..." if " at 0x" in text else text


def annotation_text(annotation):
    "`ndarray`, not `numpy.ndarray`."
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", inspect.formatannotation(annotation).strip("'\""))


def parameter_text(parameter):
    "`weight: float = 0.5`, without the quotes of postponed annotations."
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = stars + parameter.name
    if parameter.annotation is not EMPTY:
        text += ": " + annotation_text(parameter.annotation)
    if parameter.default is not EMPTY:
        text += (" = " if parameter.annotation is not EMPTY else "=") + default_text(parameter.default)
    return text


def parameter_texts(sig):
    "All parameters, with the bare `*` and `/` that say how they may be passed."
    texts, kinds = [], [p.kind for p in sig.parameters.values()]
    P = inspect.Parameter
    for i, parameter in enumerate(sig.parameters.values()):
        if parameter.kind == P.KEYWORD_ONLY and P.KEYWORD_ONLY not in kinds[:i] and P.VAR_POSITIONAL not in kinds[:i]:
            texts.append("*")
        texts.append(parameter_text(parameter))
        if parameter.kind == P.POSITIONAL_ONLY and P.POSITIONAL_ONLY not in kinds[i + 1:]:
            texts.append("/")
    return texts


def signature_text(sym, name, sig):
    "The call on one line when it fits, else one parameter a line."
    first = next(iter(sig.parameters), None)
    if first in ("self", "cls"):
        sig = sig.replace(parameters=list(sig.parameters.values())[1:])
    texts = parameter_texts(sig)
    returns = "" if inspect.isclass(sym) or sig.return_annotation in (EMPTY, None) else f" -> {annotation_text(sig.return_annotation)}"
    line = f"{name}({', '.join(texts)}){returns}"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n    " + ",\n    ".join(texts) + f",\n){returns}"


def docstring_parts(sym, table):
    "The docstring as markdown, its parameter section replaced by the table."
    doc = inspect.getdoc(sym) or ""
    if inspect.isclass(sym) and doc.startswith(f"{sym.__name__}("):  # made by dataclass, repeats the signature
        doc = ""
    pieces = UNDERLINED.split(doc)
    parts = [paragraphs(pieces[0]), table]
    for title, body in zip(pieces[1::2], pieces[2::2]):
        known = title in ("Parameters", "Returns") and table
        if not known and title != "Attributes":
            parts.append(f"**{title}.** {definitions(body)}")
    return parts


def paragraphs(text):
    "Docstring prose; a further indented block stays as it is."
    return text.strip()


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
