"""The house: layout, packaging, arrows between modules, documentation, the state of the notebooks, and the
scripts in .ci that keep them."""
import ast
import doctest
import functools
import importlib
import importlib.util
import inspect
import io
import json
import os
import re
import runpy
import subprocess
import sys
import tokenize
from configparser import ConfigParser
from pathlib import Path
from types import ModuleType

import pytest
from numpydoc.docscrape import NumpyDocString

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "nbs").glob("[!_]*.ipynb"))
MODULES = sorted(file for file in (ROOT / "cost_eval").rglob("*.py") if file.name[0] != "_"
                 or file.name == "__main__.py")
HEAVY = {*"matplotlib pandas sklearn ipywidgets IPython dask joblib pooch requests tqdm".split()}


def script(name):
    "A script of .ci as a module, as it is where nothing is asked of `make`: neither STACK nor FULL."
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for setting in ("STACK", "FULL", "EDIT", "CI"):
            patch.delenv(setting, raising=False)
        spec.loader.exec_module(module)
    return module


def settings():
    config = ConfigParser(delimiters=["="])
    config.read(ROOT / "settings.ini", encoding="utf-8")
    return config["DEFAULT"]


def cells(notebook, kind=None):
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if kind in (None, cell["cell_type"])]


def source(cell):
    return "".join(cell["source"])


def without_magics(text):
    "Code that Python itself can read, with as many lines."
    return re.sub(r"^( *)[%!].*", r"\1pass", text, flags=re.M)


def directives(cell):
    "Directive -> value."
    lines = [line[2:].partition(":") for line in source(cell).splitlines() if line.startswith("#|")]
    return {name.split()[0]: " ".join([*name.split()[1:], value.strip()]).strip() for name, _, value in lines
            if name.split()}


def module_name(file):
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


@functools.cache
def homes():
    "Module -> number of the notebook it comes from."
    found = {}
    for notebook in NOTEBOOKS:
        for cell in cells(notebook, "code"):
            if "default_exp" in directives(cell):
                found["cost_eval." + directives(cell)["default_exp"]] = int(notebook.name[:2])
    return found


# ---- layout and packaging

def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return listed.stdout.splitlines()


def test_nothing_unexpected_at_the_top():
    expected = {"nbs", "cost_eval", "tests", "settings.ini", "setup.py", "_quarto.yml", "README.md",
                "Makefile", "LICENSE",
                "CITATION.cff", "CONTRIBUTING.md", "CHANGELOG.md", ".ci", ".github", ".gitignore"}
    assert {Path(name).parts[0] for name in tracked()} == expected


def setup_arguments(monkeypatch):
    "What setup.py hands to setuptools (which need not be installed)."
    given = {}
    fake, command = ModuleType("setuptools"), ModuleType("setuptools.command.sdist")
    fake.setup, fake.find_packages, command.sdist = given.update, lambda **kwargs: [], object
    for name, module in (("setuptools", fake), ("setuptools.command", ModuleType("setuptools.command")),
                         ("setuptools.command.sdist", command)):
        monkeypatch.setitem(sys.modules, name, module)
    runpy.run_path(str(ROOT / "setup.py"))
    return given


def project_names(requirements):
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def test_the_base_install_and_its_extras(monkeypatch):
    arguments = setup_arguments(monkeypatch)
    extras = arguments["extras_require"]
    assert project_names(arguments["install_requires"]) == {"numpy", "scipy"}
    assert set(extras) == {"book", "data", "colab", "site", "scale", "dev", "bench"}
    assert set(extras["data"]) <= set(extras["colab"]) <= set(
        extras["book"]) and "nbdev" not in project_names(extras["book"])
    assert {name for name in extras if not set(extras[name]) <= set(extras["dev"])} == {"bench"}


def test_every_project_has_one_lower_bound():
    "The oldest stack is made of these."
    asked = " ".join(value for key, value in settings().items() if key.endswith("requirements")).split()
    bounds = {}
    for name, bound in (found for pin in asked for found in re.findall(r"^([\w-]+)\S*?[>=]=([\d.]+)", pin)):
        bounds.setdefault(name, set()).add(bound)
    assert all(len(found) == 1 for found in bounds.values())
    assert project_names(asked) - bounds.keys() == {"execnb"}, "nbdev brings it; only the upper bound is ours"


def test_notebooks_import_what_the_book_installs(monkeypatch):
    "`make book` executes the imports of every notebook with the extras book and site, not with dev."
    arguments = setup_arguments(monkeypatch)
    requirements = [*arguments["install_requires"], *arguments["extras_require"]["book"],
                    *arguments["extras_require"]["site"]]
    # other names, and what the extras bring along
    along = {"sklearn", "IPython", "matplotlib_inline", "requests", "distributed", "cost_eval"}
    known = {name.replace("-", "_") for name in project_names(requirements)} | along | sys.stdlib_module_names
    for notebook in NOTEBOOKS:
        nodes = [node for cell in cells(notebook, "code")
                 for node in ast.walk(ast.parse(without_magics(source(cell))))]
        names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
        imported = {name.partition(".")[0] for name in names}
        assert imported <= known, (notebook.name, imported - known)


COLAB = """#| hide
#| eval: false
import sys

if "google.colab" in sys.modules:
    %pip install -q "cost_eval[colab] @ git+{url}\""""


@pytest.mark.slow
def test_without_data_every_notebook_runs(tmp_path):
    "Those that ask whether data are at hand, with none at hand and nowhere to fetch any."
    asking = [notebook for notebook in NOTEBOOKS if any("available(" in source(cell)
                                                        for cell in cells(notebook, "code"))]
    nowhere = {"COST_EVAL_DATA": "", "XDG_CACHE_HOME": str(tmp_path), "HTTPS_PROXY": "http://127.0.0.1:9",
               "NO_PROXY": "127.0.0.1"}
    done = subprocess.run([sys.executable, ".ci/notebooks.py", "--check", *map(str, asking)], cwd=ROOT,
                          env=os.environ | nowhere, capture_output=True, text=True)
    assert len(asking) > 5 and done.returncode == 0, done.stdout


def test_one_version():
    ours = settings()["version"]
    assert importlib.import_module("cost_eval").__version__ == ours
    assert f"\nversion: {ours}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_notebook_is_in_the_sidebar_once():
    listed = re.findall(r"\w+\.ipynb", (ROOT / "_quarto.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == [notebook.name for notebook in NOTEBOOKS]


def test_every_module_has_its_notebook():
    assert sorted(homes()) == sorted(map(module_name, MODULES))


# ---- imports

HEAVY_AT_THE_TOP = {"cost_eval.estimators", "cost_eval.scale"}


def test_imports_are_light():
    """All modules in turn, in one new process: none loads more than NumPy and SciPy, the package itself and
    the flat name space not even that, and nothing else of ours."""
    names = ["cost_eval", "cost_eval.api", *(set(map(module_name, MODULES)) - HEAVY_AT_THE_TOP
                                             - {"cost_eval.api"})]
    code = f"""
import importlib, sys
for name in {names!r}:
    importlib.import_module(name)
    ours = [m for m in sys.modules if m.startswith('cost_eval.') and name == 'cost_eval.api' != m]
    print(name, *({HEAVY!r} | {{'numpy'}}) & set(sys.modules), *ours, sep=',')
"""
    lines = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.split()
    loaded = {name: set(rest) for name, *rest in (line.split(",") for line in lines)}
    assert len(loaded) == len(names)
    assert {name: found for name, found in loaded.items()
            if found - (set() if name in ("cost_eval", "cost_eval.api") else {"numpy"})} == {}


@pytest.mark.parametrize("module, library, extra", [("scale", "dask", "scale"),
                                                    ("estimators", "sklearn", "book")])
def test_what_a_module_lacks_is_named_with_the_extra_that_brings_it(module, library, extra):
    code = f"import sys; sys.modules[{library!r}] = None; import cost_eval.{module}"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert f'ImportError: {library} is needed for this: pip install "cost_eval[{extra}]"' in result.stderr


def absolute(file, node):
    "The module that a `from ... import` names, in full."
    package = module_name(file).split(".")[:-1]
    base = ".".join(package[:len(package) - node.level + 1]) if node.level else ""
    return ".".join(filter(None, [base, node.module]))


def imported(file):
    "Modules of the package that a module imports, at the top or inside functions."
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("cost_eval."))
        elif isinstance(node, ast.ImportFrom):
            full = absolute(file, node)
            if full.split(".")[0] == "cost_eval":
                yield from ([full] if full in homes() else [f"{full}.{alias.name}" for alias in node.names])


BOOTSTRAP = 20
ROOMS_OF_THE_REPORT = (55, 58)  # the map, the page: below 60, which joins them


def may_import(number, other):
    "The rule of CONTRIBUTING.md, by the numbers of the notebooks."
    chapter, room = divmod(number, 10)
    if other >= number:
        return number % 10 == 9 and number < 60 and other in (90, 91)
    if number >= 95:
        return True
    if other < 10:
        return True
    if number >= 90:
        return other >= 90
    if number >= 60 or number in ROOMS_OF_THE_REPORT:
        return other % 10 != 9
    return other // 10 == chapter or (other == BOOTSTRAP and room != 9)


@pytest.mark.parametrize("file", MODULES, ids=module_name)
def test_arrows_point_downwards(file):
    number = homes()
    for other in imported(file):
        assert other in number, f"{module_name(file)} imports {other}, which no notebook makes"
        assert may_import(number[module_name(file)],
                          number[other]), f"{module_name(file)} may not import {other}"


@pytest.mark.parametrize("file", MODULES, ids=module_name)
def test_no_private_name_crosses_modules(file):
    "Neither `from .costs import _x` nor `costs._x`; core is there to be used."
    tree, modules, found = ast.parse(file.read_text(encoding="utf-8")), set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and absolute(file, node).split(".")[0] == "cost_eval":
            full = absolute(file, node)
            modules |= {alias.asname or alias.name for alias in node.names if f"{full}.{alias.name}"
                        in homes()}
            found += [f"{full}.{alias.name}" for alias in node.names if is_private(alias.name)
                      and full != "cost_eval.core"]
        elif isinstance(node, ast.Import):
            modules |= {alias.asname for alias in node.names if alias.asname
                        and alias.name.startswith("cost_eval.")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and isinstance(node.value,
                ast.Name) and node.value.id in modules - {"core"}:
            found.append(f"{node.value.id}.{node.attr}")
    assert not found


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


# ---- documentation: what help() shows

def public(module):
    "Name -> function or class that a module defines and exports."
    module = importlib.import_module(module)
    found = {name: getattr(module, name) for name in module.__all__}
    return {name: thing for name, thing in found.items() if callable(thing)
            and getattr(thing, "__module__", None) == module.__name__}


def parameters(thing):
    names = inspect.signature(thing).parameters if inspect.isclass(thing) or inspect.isfunction(thing) else ()
    return {name for name in names if name not in ("self", "cls") and name[0] != "_"}


def undocumented(name, thing):
    "What help(thing) does not say."
    doc = NumpyDocString(inspect.getdoc(thing) or "")
    if not doc["Summary"]:
        yield f"{name}: no docstring"
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    takes, told = parameters(thing), {section: {part.strip(" *") for entry in doc[section]
                                                for part in entry.name.split(",")}
                                      for section in ("Parameters", "Attributes")}
    yield from (f"{name}: {part} not described" for part in takes - told["Parameters"] - told["Attributes"])
    if inspect.isfunction(thing):
        yield from (f"{name}: describes {part} and takes none" for part in told["Parameters"] - takes)
        gives = inspect.signature(thing).return_annotation not in (None, "None")
        if gives and not name.startswith("explore_") and not (doc["Returns"] or doc["Yields"]):
            yield f"{name}: no Returns section"
    record = inspect.isclass(thing) and (issubclass(thing, tuple) or hasattr(thing, "__dataclass_fields__"))
    if ">>>" not in "".join(doc["Examples"]) and not record and not name.startswith(("plot_", "explore_")):
        yield f"{name}: no example"
    for member, raw in vars(thing).items() if inspect.isclass(thing) else ():
        inside = [getattr(raw, kind, None) for kind in ("__func__", "fget", "func")]
        function = next(filter(None, inside), raw)
        if member[0] != "_" and inspect.isfunction(function) and not inspect.getdoc(getattr(thing, member)):
            yield f"{name}.{member}: no docstring"


WITHOUT_PUBLIC = {"cost_eval.core", "cost_eval.api"}  # nothing public; and nothing of its own


BOOK = "cost_eval.reproductions."  # the book's own machinery: a line that says what it is will do


@pytest.mark.parametrize("module", sorted(set(map(module_name, MODULES)) - WITHOUT_PUBLIC))
def test_every_public_name_is_documented(module):
    found = [line for name, thing in public(module).items() for line in undocumented(name, thing)]
    if module == "cost_eval.reproduce":  # what runs the papers is shown by the pages that do
        found = [line for line in found if not line.endswith("no example")]
    if module.startswith(BOOK):
        found = [line for line in found if re.fullmatch(r"\w+: no docstring", line)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("module", list(map(module_name, MODULES)))
def test_doctests(module):
    outcome = doctest.testmod(importlib.import_module(module))
    assert not outcome.failed


# ---- what CONTRIBUTING.md says of adding things

def example(heading):
    "The Python of a section of CONTRIBUTING.md, run; what it defined."
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    given, names = {}, {}
    for module in ("bootstrap", "metrics", "outperformance"):
        given |= vars(importlib.import_module(f"cost_eval.{module}"))
    code = re.search(rf"(?s)\n## {heading}\n.*?```python\n(.*?)```", text)[1]
    exec(code, given, names)
    return names, given


def test_a_metric_is_added_in_one_cell():
    names, known = example("Add a metric")
    counts = [[140, 20], [10, 30]]
    try:
        assert names["surplus"](counts) == .05
        assert known["evaluate_metrics"](counts)["surplus"] == .05
        half = known["outperformance"]("surplus", 0., .5)
        assert half == pytest.approx(.5), "half of all classifiers have fewer hits than false alarms"
        assert known["metric_interval"](counts, "surplus", rng=0).mean == pytest.approx(.05)
    finally:
        del known["METRICS"]["surplus"]


def test_an_interval_method_is_added_in_one_cell():
    _, known = example("Add an interval method")
    try:
        found = known["interval"]([[90, 8], [1, 1]], [[0, 1], [20, 0]], method="range")
        assert (found.low, found.high, found.mean) == (0, 20, pytest.approx(.28))
        assert known["difference"]([[[85, 4], [3, 8]], [[2, 6], [5, 37]]], [[0, 1], [5, 0]],
                                   method="range").low == -5
    finally:
        del known["METHODS"]["range"]


def test_a_reference_distribution_is_added_in_one_cell():
    _, known = example("Add a reference distribution")
    try:
        assert known["outperformance"]("specificity", .875, .1, reference="careful") == pytest.approx(.5)
    finally:
        del known["REFERENCES"]["careful"]


# ---- the notebooks


def moving(cell):
    "The HTML of a widget that moves on the page, if the cell shows one."
    texts = ["".join(output.get("data", {}).get("text/html", "")) for output in cell["outputs"]]
    return next((text for text in texts if 'class="ce-widget"' in text), "")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_form(notebook):
    """Its title, a line that says what it is about; alone it is enough; it was run, without error or warning;
    figures have captions and words, widgets frames."""
    assert re.match(r"# .+\n\n?> .+", source(cells(notebook)[0]))
    code = cells(notebook, "code")
    assert COLAB.format(url=settings()["git_url"]) in map(source, code[:2]) and not any("nbdev"
            in source(cell) for cell in code)
    for cell in code:
        flags, lines = directives(cell), source(cell).splitlines()
        for output in cell["outputs"]:
            assert output["output_type"] != "error" and not (output.get("name") == "stderr"
                    and "Warning: " in "".join(output["text"])), source(cell)
        pictures = any(kind.startswith("image/") for output in cell["outputs"]
                       for kind in output.get("data", {}))
        if pictures or "fig-cap" in flags or flags.get("label", "").startswith("fig-"):
            # a widget's words move with it
            words = flags.get("fig-alt") or re.search(r'<img[^>]* alt="[^"]', moving(cell))
            assert flags.get("label") and flags.get("fig-cap") and words and (pictures
                    or moving(cell)), source(cell)
        assert "export" not in flags or not {"label", "echo"} & flags.keys(), source(cell)
        assert not [line for line in lines if len(line) > 110 and not line.startswith("#|")]
        assert not [lines[number - 1] for number in statements_on_one_line(without_magics(source(cell)))]
    assert "application/vnd.jupyter.widget" not in notebook.read_text(encoding="utf-8"), "run make notebooks"


def statements_on_one_line(text):
    "Lines of code that hold two statements (a one-line `class Quiet: ...` counts, a lambda does not)."
    lines = [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    return sorted({line for line in lines if lines.count(line) > 1})


def test_equations_are_numbered_by_notebook():
    """One number means one equation in the whole book: the notebook's, then 1, 2, 3 in the order of the page;
    none is referred to that is not there."""
    tagged, used = set(), []
    for notebook in NOTEBOOKS:
        text = "\n".join(source(cell) for cell in cells(notebook, "markdown"))
        tags = re.findall(r"\\tag\{([^}]*)\}", text)
        assert not tags or tags == [f"{int(notebook.name[:2])}.{n}"
                                    for n in range(1, len(tags) + 1)], (notebook.name, tags)
        tagged |= set(tags)
        used += [(number, notebook.name) for number in re.findall(r"\(([1-9]\d?\.[1-9]\d?)\)", text)]
    assert tagged and not [pair for pair in used if pair[0] not in tagged]


def test_no_leftovers():
    "No reminders to oneself, and no path of somebody's machine; put together so that this file does not hold them."
    marks = "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "coming " + "soon", "lorem " + "ipsum"])
    places = "|".join(["/ho" + "me/", "/Use" + "rs/", "/ro" + "ot/", "/wo" + "rk/", "/tmp/tm" + "p"])
    left, found = re.compile(rf"(?<![A-Za-z])(?:{marks})(?![A-Za-z])|(?<![\w.])(?:{places})"), []
    kinds = re.compile(r"\.(py|ipynb|md|yml|ini|cff|css|js)$")
    for file in (ROOT / name for name in filter(kinds.search, tracked())):
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        found += [(file.name, line) for line in lines if len(line) < 5000 and left.search(line)]
    assert not found


# ---- the budgets of the house: what a new part adds, another has to leave

BUDGETS = {"cost_eval": 17_500, "tests": 14_000, ".ci": 2_200, "shown": 15_000, "names": 70, "words": 105_000}
WIDTH = 110
SILENT = {getattr(tokenize, kind) for kind in "COMMENT NL NEWLINE INDENT DEDENT ENDMARKER".split()}


def code_lines(text):
    "Lines of Python without docstrings, blanks and comments; one that is too wide counts as often as it wraps."
    kept = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kept |= {*range(token.start[0], token.end[0] + 1)} if token.type not in SILENT else set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            kept -= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    lines = text.splitlines()
    return sum(-(-len(lines[number - 1]) // WIDTH) or 1 for number in kept)


def test_the_house_stays_within_its_budgets():
    "What grows above one of them leaves elsewhere, or is not added."
    sizes = {}
    for part in ("cost_eval", "tests", ".ci"):
        files = [file for file in (ROOT / part).rglob("*.py") if file.name != "_modidx.py"]
        sizes[part] = sum(code_lines(file.read_text(encoding="utf-8")) for file in files)
    told = [source(cell) for notebook in NOTEBOOKS for cell in cells(notebook, "markdown")]
    shown = [source(cell) for notebook in NOTEBOOKS for cell in cells(notebook, "code")
             if not {"export", "exporti"} & directives(cell).keys()]
    lines = [line for text in shown for line in text.splitlines() if line.strip()[:1] not in ("", "#")]
    sizes["shown"] = sum(-(-len(line) // WIDTH) for line in lines)
    sizes["words"] = len(" ".join(told).split())
    sizes["names"] = len(importlib.import_module("cost_eval.api").__all__)
    assert not {part: size for part, size in sizes.items() if size > BUDGETS[part]}


# ---- the scripts of .ci

def notebook_of(*sources):
    "A notebook of code cells, a cell that starts with # being text."
    def cell(number, text):
        kind = "markdown" if text.startswith("# ") else "code"
        return {"cell_type": kind, "id": f"cell{number}", "metadata": {}, "source": text} | ({"outputs": [],
                "execution_count": None} if kind == "code" else {})
    kernel = {"display_name": "python3", "language": "python", "name": "python3"}
    return {"cells": [cell(*pair) for pair in enumerate(sources)], "metadata": {"kernelspec": kernel},
            "nbformat": 4, "nbformat_minor": 5}


SAMPLE = ["# Sample\n> for a test",
          "import matplotlib.pyplot as plt\nfrom cost_eval.plotting import explorer, live_figure, slider",
          "%config InlineBackend.figure_formats = ['svg']\nplt.plot([1, 3, 2], label='line')\nplt.legend();",
          "object()",
          "%config InlineBackend.figure_formats = ['png']\nplt.plot([3, 1])\n"
          "image, show = live_figure(lambda ax: None, lambda ax, artists, x: ax.set_title(f'x is {x}'), (3, "
          "2), columns=1)\n"
          "explorer({'x': slider('x', 1, 0, 4, 1)}, image, show, moves='x')",
          "#| slow\nraise RuntimeError('a slow cell was run')",
          "#| eval: false\nraise RuntimeError('a cell not to be evaluated was run')"]


def test_notebooks_are_stored_byte_for_byte_alike(tmp_path):
    path = tmp_path / "sample.ipynb"
    notebook = notebook_of(*SAMPLE)
    notebook["cells"][5]["outputs"] = [{"name": "stdout", "output_type": "stream", "text": "kept\n"}]
    path.write_text(json.dumps(notebook))
    notebooks, stored = script("notebooks"), []
    for outcome in ("outputs changed", "outputs as before"):
        assert notebooks.process(path)[0] == outcome
        stored.append(path.read_bytes())
    assert stored[0] == stored[1]
    text, done = stored[0].decode(), json.loads(stored[0])
    widget = done["cells"][4]["outputs"][0]["data"]
    assert "widgets" not in done["metadata"] and widget.keys() == {"text/html",
            "text/plain"}, "a widget is stored as HTML, without state"
    assert ("x is 0.0" in text and "x is 4.0" in text and "<svg" in text and "<dc:date>" not in text
            and " at 0x" not in text)
    assert done["cells"][5]["outputs"][0]["text"] == ["kept\n"]
    assert all(cell.get("execution_count") is None for cell in done["cells"])


BARE = "import ipywidgets\nipywidgets.FloatSlider()"


@pytest.mark.parametrize("cell, reason", [("1 / 0", "ZeroDivisionError"),
                                          ("import warnings\nwarnings.warn('look out')", "look out"),
                                          (BARE,
                                           "shows a widget without a form for pages: see plotting.for_page")])
def test_a_notebook_that_fails_or_warns_is_left_alone(tmp_path, cell, reason):
    path = tmp_path / "sample.ipynb"
    path.write_text(json.dumps(notebook_of(cell)))
    before = path.read_bytes()
    outcome, text = script("notebooks").process(path)
    assert outcome == "FAILED" and reason in text
    assert path.read_bytes() == before


def test_an_old_python_is_told_so():
    code = (f"import runpy, sys; sys.version_info = (3, 9, 1); sys.argv[:] = ['make.py', 'book']; "
            f"runpy.run_path({str(ROOT / '.ci/make.py')!r}, run_name='__main__')")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert "needs Python 3.11 or later" in result.stderr and "make PYTHON=" in result.stderr


def test_what_stops_an_install_is_told_with_a_remedy(tmp_path, monkeypatch):
    make = script("make")
    monkeypatch.setattr(make, "UV", tmp_path / "no uv")
    monkeypatch.setattr(make.shutil, "which", lambda name: None)
    monkeypatch.setattr(make, "run_quietly", lambda *command: False)  # no environment can be made
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(make.Failed,
                       match="network .* room, leave to write here, and pip .*`make clean` removes"):
        make.uv("--version")
    with pytest.raises(make.Failed, match="No such file or directory"):
        make.told(tmp_path / "absent")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_readers_edition_runs_the_same_lines(path):
    "No picture is fetched, no mark of the page is left."
    edition, nb = script("edition"), json.loads(path.read_text(encoding="utf-8"))
    read = edition.edition(nb)
    before, after = ["\n".join(line for cell in book["cells"] if cell["cell_type"] == "code"
                               and not edition.NOTHING.search(edition.source(cell))
                               for line in edition.source(cell).splitlines() if line.strip()
                               and not line.startswith("#|")) for book in (nb, read)]
    assert before == after
    for cell in read["cells"]:
        assert not re.search(r"^:::|^#\| |!\[[^\]]*\]\(https?:",
                             re.sub(r"(?s)<!--.*?-->", "", edition.source(cell)), re.M)
