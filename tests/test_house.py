"""The house: layout, packaging, arrows between modules, the state of the notebooks, and the scripts in .ci that keep them."""
import ast
import importlib
import importlib.util
import json
import re
import runpy
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "nbs").glob("[!_]*.ipynb"))
MODULES = sorted(file for file in (ROOT / "cost_eval").rglob("*.py") if file.name[0] != "_")
HEAVY = {"matplotlib", "pandas", "sklearn", "ipywidgets", "IPython", "dask", "pooch"}


def script(name):
    "A script of .ci as a module."
    spec = importlib.util.spec_from_file_location(f"ci_{name}", ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
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


def directives(cell):
    "Directive -> value."
    lines = [line[2:].partition(":") for line in source(cell).splitlines() if line.startswith("#|")]
    return {name.split()[0]: " ".join([*name.split()[1:], value.strip()]).strip() for name, _, value in lines if name.split()}


def module_name(file):
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)


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
    expected = {"nbs", "cost_eval", "tests", "settings.ini", "setup.py", "_quarto.yml", "README.md", "Makefile", "LICENSE",
                "CITATION.cff", "CONTRIBUTING.md", ".ci", ".github", ".gitignore"}
    assert {Path(name).parts[0] for name in tracked()} == expected


def setup_arguments(monkeypatch):
    "What setup.py hands to setuptools (which need not be installed)."
    given = {}
    fake, command = ModuleType("setuptools"), ModuleType("setuptools.command.sdist")
    fake.setup, fake.find_packages, command.sdist = given.update, lambda **kwargs: [], object
    for name, module in (("setuptools", fake), ("setuptools.command", ModuleType("setuptools.command")), ("setuptools.command.sdist", command)):
        monkeypatch.setitem(sys.modules, name, module)
    runpy.run_path(str(ROOT / "setup.py"))
    return given


def project_names(requirements):
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def test_base_install_is_numpy_and_scipy(monkeypatch):
    assert project_names(setup_arguments(monkeypatch)["install_requires"]) == {"numpy", "scipy"}


def test_extras(monkeypatch):
    extras = setup_arguments(monkeypatch)["extras_require"]
    assert set(extras) == {"book", "data", "site", "scale", "dev"}
    assert set(extras["data"]) <= set(extras["book"])
    for name, requirements in extras.items():
        assert set(requirements) <= set(extras["dev"]), name
    assert {"jupyterlab", "ipywidgets", "matplotlib", "pandas", "scikit-learn"} <= project_names(extras["book"])
    assert {"nbdev==2.4.14", "execnb<0.2", "fastcore<2"} <= set(extras["site"])


def test_notebooks_import_what_the_book_installs(monkeypatch):
    "`make book` executes the imports of every notebook with the extras book and site, not with dev."
    arguments = setup_arguments(monkeypatch)
    requirements = [*arguments["install_requires"], *arguments["extras_require"]["book"], *arguments["extras_require"]["site"]]
    along = {"sklearn", "IPython", "matplotlib_inline", "requests", "cost_eval"}  # other names, and what the extras bring along
    known = {name.replace("-", "_") for name in project_names(requirements)} | along | sys.stdlib_module_names
    for notebook in NOTEBOOKS:
        lines = "\n".join(source(cell) for cell in cells(notebook, "code")).splitlines()
        imported = {found[1] for line in lines if (found := re.match(r"\s*(?:from|import) (\w+)", line))}
        assert imported <= known, (notebook.name, imported - known)


def test_one_version():
    version = settings()["version"]
    assert importlib.import_module("cost_eval").__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_notebook_is_in_the_sidebar_once():
    listed = re.findall(r"\w+\.ipynb", (ROOT / "_quarto.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == [notebook.name for notebook in NOTEBOOKS]


def test_every_module_has_its_notebook():
    assert sorted(homes()) == sorted(map(module_name, MODULES))


# ---- imports

@pytest.mark.parametrize("module", ["cost_eval", *map(module_name, MODULES)])
def test_imports_are_light(module):
    code = f"import sys, {module}; print(*({HEAVY!r} | {{'numpy'}}) & set(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert set(loaded) <= (set() if module == "cost_eval" else {"numpy"})


def imported(file):
    "Modules of the package that a module imports, at the top or inside functions."
    package = module_name(file).split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("cost_eval."))
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[:len(package) - node.level + 1]) if node.level else ""
            full = ".".join(filter(None, [base, node.module]))
            if full.split(".")[0] == "cost_eval":
                yield from ([full] if full in homes() else [f"{full}.{alias.name}" for alias in node.names])


def may_import(number, other):
    "The rule of CONTRIBUTING.md, by the numbers of the notebooks."
    if number >= 90:
        return other < 10 or 90 <= other < number
    if other >= 90:
        return number >= 10
    if 10 <= number < 60:
        return other < 10 or (number % 10 > 0 and other == number // 10 * 10)
    return other < number


@pytest.mark.parametrize("number, other, allowed", [
    (1, 0, True), (0, 1, False), (3, 4, False), (10, 3, True), (10, 90, True), (11, 10, True), (10, 11, False), (20, 10, False),
    (21, 10, False), (21, 91, True), (60, 50, True), (61, 60, True), (90, 3, True), (90, 4, True), (90, 10, False), (91, 90, True), (90, 91, False), (4, 90, False)])
def test_the_rule_itself(number, other, allowed):
    assert may_import(number, other) is allowed


@pytest.mark.parametrize("file", MODULES, ids=module_name)
def test_arrows_point_downwards(file):
    number = homes()
    for other in imported(file):
        assert other in number, f"{module_name(file)} imports {other}, which no notebook makes"
        assert may_import(number[module_name(file)], number[other]), f"{module_name(file)} may not import {other}"


# ---- the public names other people import

CONTRACT = {
    "confusion": "confusion_counts joint_counts BinaryCounts threshold_counts ThresholdCounts",
    "costs": "CostMatrix",
    "metrics": "METRICS Metric accuracy recall precision specificity npv f_beta informedness markedness mcc cohen_kappa g_mean balanced_accuracy"
               " class_balance_accuracy imbalance_accuracy p4 b_roc weighted_class_accuracy weighted_relative_accuracy accuracy_cost_distance"
               " cost_score mean_subjective_utility h_measure weighted_accuracy expected_weighted_accuracy net_benefit"
               " likelihood_ratio_positive expected_cost normalized_expected_cost evaluate_metrics",
    "decisions": "bayes_decisions naive_decision bayes_threshold implied_costs best_threshold ThresholdChoice AffineCalibrator cross_calibrate",
    "expected_cost": "expected_cost normalized_expected_cost naive_cost soft_expected_cost equal_error_rate roc_auc",
    "outperformance": "outperformance outperformance_curve_auc outperformance_curve_point sample_directed_binary_tree performance_curve normalized_auc"
                      " outperformance_interval",
    "cost_score": "cost_score cost_score_from_rates isocost_precision isocost_slope f1_cost multiclass_cost_score tune_threshold ThresholdTuning plot_isocost",
    "weighted_accuracy": "weighted_accuracy cost_weight target_weight expected_weighted_accuracy h_measure total_cost weight_range_from_ranking weighted_spearman"
                         " cost_correlation",
    "bootstrap": "bcost CostInterval bdelta_cost CostDifference normal_interval normal_difference bca_interval dirichlet_interval exact_interval",
    "comparisons": "simultaneous_differences equivalence_test non_inferiority_test uncertain_cost_interval required_sample_size paired_power",
    "datasets": "load available describe DataNotAvailable",
    "reproduce": "reproduces run scoreboard",
}
MEMBERS = {
    "confusion.BinaryCounts": "p n total prevalence tpr fpr fnr tnr precision from_labels from_matrix from_rates to_matrix",
    "costs.CostMatrix": "zero_one inverse_prior binary from_utilities from_frame standardized cost_ratio weight array",
    "decisions.AffineCalibrator": "fit transform",
}


@pytest.mark.parametrize("module, name", [(module, name) for module, names in CONTRACT.items() for name in names.split()])
def test_public_names(module, name):
    module = importlib.import_module(f"cost_eval.{module}")
    assert hasattr(module, name)
    assert name in module.__all__


@pytest.mark.parametrize("owner, member", [(owner, member) for owner, members in MEMBERS.items() for member in members.split()])
def test_public_members(owner, member):
    module, name = owner.split(".")
    cls = getattr(importlib.import_module(f"cost_eval.{module}"), name)
    assert hasattr(cls, member) or member in getattr(cls, "__dataclass_fields__", {})


# ---- the notebooks

@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_hold_no_error_and_no_warning(notebook):
    for cell in cells(notebook, "code"):
        for output in cell["outputs"]:
            assert output["output_type"] != "error", source(cell)
            assert not (output.get("name") == "stderr" and "Warning: " in "".join(output["text"])), source(cell)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_were_run(notebook):
    "A notebook has its figures: every labelled figure cell holds an output."
    for cell in cells(notebook, "code"):
        if directives(cell).get("label", "").startswith("fig-"):
            assert any(kind.startswith("image/") for output in cell["outputs"] for kind in output.get("data", {})), source(cell)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_form(notebook):
    first = source(cells(notebook)[0])
    assert re.match(r"# .+\n\n?> .+", first), "a notebook starts with its title and a line that says what it is about"
    for cell in cells(notebook, "code"):
        flags = directives(cell)
        if flags.get("label", "").startswith("fig-"):
            assert flags.get("fig-cap") and flags.get("fig-alt"), source(cell)
        if "export" in flags:
            assert len(source(cell).strip().splitlines()) <= 31, source(cell)
            assert not {"label", "echo"} & flags.keys(), source(cell)


def leftovers():
    "Patterns, put together so that this file does not hold them."
    marks = "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "coming " + "soon", "lorem " + "ipsum", "break" + "point()"])
    places = "|".join(["/ho" + "me/", "/Use" + "rs/", "/ro" + "ot/", "/wo" + "rk/", "/tmp/tm" + "p"])
    return re.compile(rf"(?<![A-Za-z])(?:{marks})(?![A-Za-z])|(?<![\w.])(?:{places})")


def test_no_leftovers():
    "No reminders to oneself, and no path of somebody's machine."
    found = []
    for name in tracked():
        file = ROOT / name
        if file.suffix in {".py", ".ipynb", ".md", ".yml", ".ini", ".cff", ".css", ".js"} and file.is_file():
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                if len(line) < 5000 and (match := leftovers().search(line)):
                    found.append(f"{name}:{number}: {match[0]}")
    assert not found


def test_readme_is_in_sync():
    made = script("readme").render(json.loads((ROOT / "nbs" / "index.ipynb").read_text(encoding="utf-8")))
    assert made == (ROOT / "README.md").read_text(encoding="utf-8"), "python .ci/readme.py writes it"


# ---- the scripts of .ci

def notebook_of(*sources):
    "A notebook of code cells, a cell that starts with # being text."
    def cell(number, text):
        kind = "markdown" if text.startswith("# ") else "code"
        return {"cell_type": kind, "id": f"cell{number}", "metadata": {}, "source": text} | ({"outputs": [], "execution_count": None} if kind == "code" else {})
    kernel = {"display_name": "python3", "language": "python", "name": "python3"}
    return {"cells": [cell(*pair) for pair in enumerate(sources)], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def test_readme_rendering():
    notebook = notebook_of("# Title\n\n[costs](02_costs.ipynb#sec-x)", "#| hide\nsecret", "#| echo: false\nunseen", "6 * 7", "plot()")
    notebook["cells"][2]["outputs"] = [{"output_type": "display_data", "data": {"text/markdown": ["| a |\n", "| - |"], "text/plain": "no"}}]
    notebook["cells"][3]["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": "42"}}]
    notebook["cells"][4]["outputs"] = [{"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "<Figure>"}}]
    text = script("readme").render(notebook)
    assert text.endswith("# Title\n\n[costs](nbs/02_costs.ipynb#sec-x)\n\n| a |\n| - |\n\n```python\n6 * 7\n```\n\n```text\n42\n```\n\n```python\nplot()\n```\n")
    assert "secret" not in text and "unseen" not in text


SAMPLE = ["# Sample\n> for a test", "import matplotlib.pyplot as plt\nimport ipywidgets as widgets\nfrom IPython.display import display",
          "%config InlineBackend.figure_formats = ['svg']\nplt.plot([1, 3, 2], label='line')\nplt.legend();", "object()",
          "%config InlineBackend.figure_formats = ['png']\nslider = widgets.FloatSlider(description='x')\n"
          "def draw(x):\n    plt.plot([0, x])\n    plt.show()\n    print('x is', x)\n"
          "widgets.VBox([slider, widgets.interactive_output(draw, {'x': slider})])",
          "#| slow\nraise RuntimeError('a slow cell was run')", "#| eval: false\nraise RuntimeError('a cell not to be evaluated was run')"]


def test_notebooks_are_stored_byte_for_byte_alike(tmp_path):
    path = tmp_path / "sample.ipynb"
    notebook = notebook_of(*SAMPLE)
    notebook["cells"][5]["outputs"] = [{"name": "stdout", "output_type": "stream", "text": "kept\n"}]
    path.write_text(json.dumps(notebook))
    notebooks, stored = script("notebooks"), []
    for outcome in ("changed", "as before"):
        assert notebooks.process(path)[1] == outcome
        stored.append(path.read_bytes())
    assert stored[0] == stored[1]
    text, done = stored[0].decode(), json.loads(stored[0])
    models = done["metadata"]["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    shown = done["cells"][4]["outputs"][0]["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert shown in models and all(int(name, 16) < len(models) for name in models)
    drawn = [output["data"]["image/png"] for model in models.values() for output in model["state"].get("outputs", []) if "data" in output]
    assert len(drawn) == 1, "the figure inside the widget is stored"
    assert "x is 0.0" in text and "<svg" in text and "<dc:date>" not in text and " at 0x" not in text and "U29mdHdhcm" not in drawn[0]
    assert done["cells"][5]["outputs"][0]["text"] == ["kept\n"]
    assert all(cell.get("execution_count") is None for cell in done["cells"])


@pytest.mark.parametrize("cell, reason", [("1 / 0", "ZeroDivisionError"), ("import warnings\nwarnings.warn('look out')", "look out")])
def test_a_notebook_that_fails_or_warns_is_left_alone(tmp_path, cell, reason):
    path = tmp_path / "sample.ipynb"
    path.write_text(json.dumps(notebook_of(cell)))
    before = path.read_bytes()
    _, outcome, _, text = script("notebooks").process(path)
    assert outcome == "FAILED" and reason in text
    assert path.read_bytes() == before


def small_project(folder):
    "A project of one notebook, exported and clean."
    (folder / "nbs").mkdir()
    (folder / "cost_eval").mkdir()
    (folder / "settings.ini").write_text((ROOT / "settings.ini").read_text(encoding="utf-8"), encoding="utf-8")
    notebook = notebook_of("# One\n\n> one", "#| default_exp one", "#| export\ndef f():\n    'One.'\n    return 1", "f()")
    (folder / "nbs" / "00_one.ipynb").write_text(json.dumps(notebook))
    made = script("in_sync").exported_and_cleaned(folder)
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


def test_what_is_out_of_step_is_found(tmp_path):
    small_project(tmp_path)
    module, notebook = tmp_path / "cost_eval" / "one.py", tmp_path / "nbs" / "00_one.ipynb"
    in_sync = script("in_sync")
    assert "return 1" in module.read_text()
    assert list(in_sync.differences(tmp_path)) == []
    module.write_text(module.read_text().replace("return 1", "return 2"))
    notebook.write_text(notebook.read_text().replace('"execution_count": null', '"execution_count": 7'))
    found = list(in_sync.differences(tmp_path))
    assert [line.split(":")[0] for line in found] == ["cost_eval/one.py", "nbs/00_one.ipynb"]
    assert "nbdev_export" in found[0] and "nbdev_clean" in found[1]
    assert "return 2" in module.read_text(), "nothing was touched"


def test_an_old_python_is_told_so():
    code = f"import runpy, sys; sys.version_info = (3, 9, 1); sys.argv[:] = ['make.py', 'book']; runpy.run_path({str(ROOT / '.ci' / 'make.py')!r}, run_name='__main__')"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 1
    assert "needs Python 3.11 or later" in result.stderr and "make PYTHON=" in result.stderr


def test_the_install_is_not_repeated(tmp_path, monkeypatch):
    make, calls = script("make"), []
    monkeypatch.setattr(make, "VENV", tmp_path)
    monkeypatch.setattr(make, "PYTHON", tmp_path / "python")
    monkeypatch.setattr(make, "make_venv", lambda folder: (tmp_path / "python").touch())
    monkeypatch.setattr(make, "pip_install", lambda *what: calls.append(what[-1].rpartition("[")[2]) or 1)
    assert make.environment({"book", "site"}) == "1 packages installed"
    assert make.environment({"book", "site"}) == "up to date"
    make.environment({"dev"})
    assert make.environment({"book", "site"}) == "up to date", "dev holds all the others"
    monkeypatch.setattr(make, "read", lambda name: "changed")
    make.environment({"book", "site"})
    assert calls == ["book,site]", "book,dev,site]", "book,site]"]
