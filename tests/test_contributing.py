"""What CONTRIBUTING.md says: its commands run, or at least resolve; a change in three steps, tried on a copy; a release that refuses what is not true."""
import datetime
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, made_by
from test_house import NOTEBOOKS, script

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent
BLOCKS = [line for block in re.findall(r"(?s)```sh\n(.*?)```", TEXT) for line in block.splitlines()]
COMMANDS = list(dict.fromkeys(BLOCKS + re.findall(r"`((?:make|\.venv/bin/\S+) [^`]*)`", TEXT)))
MADE = {command for command in COMMANDS if command.startswith("make ")}


def run(*words, cwd=ROOT, **more):
    return subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, env=os.environ | more)


# ---- the commands

def test_nothing_is_told_that_is_not_tried():
    assert len(MADE) > 12 and set(COMMANDS) - MADE == set(TRIED)
    assert not [line for line in BLOCKS if not line.startswith(("make ", ".venv/bin/"))]


@pytest.mark.parametrize("command", sorted(MADE))
def test_a_target_is_there_and_its_settings_mean_something(command):
    if not shutil.which("make"):
        pytest.skip("no make here")
    _, *words = shlex.split(command)
    done = run("make", "-n", *words)
    assert done.returncode == 0, done.stderr
    make = script("make")
    known = {"NB": lambda name: (ROOT / "nbs" / name).exists(), "STACK": lambda name: name in make.STACKS, "MODULES": lambda name: (ROOT / f"cost_eval/{name}.py").exists(),
             "STEPS": lambda name: name in dict(make.steps("test")), "SLOW": str.isdigit, "EDIT": str.isdigit, "FULL": str.isdigit, "STRICT": str.isdigit, "N": str.isdigit}
    for name, value in (word.split("=") for word in words if "=" in word):
        assert all(map(known[name], value.split())), (name, value)
        assert f"$({name})" in (text := (ROOT / "Makefile").read_text(encoding="utf-8")) or f"$(if $({name})" in text or name in text.partition("export ")[2].partition("\n")[0]


TRIED = {  # with which words more a command is tried; None: elsewhere, or only what it names is looked for
    ".venv/bin/python -m pytest tests/test_costs.py": None,  # as the next
    ".venv/bin/python -m pytest tests/test_costs.py -k frames": ["-q"],
    ".venv/bin/python -m pytest tests --of 02_costs": None,  # make change does, below
    ".venv/bin/cost-eval data list": [],
    ".venv/bin/cost-eval data fetch": ["--help"],
    ".venv/bin/python -m mypy --config-file .ci/mypy.ini": None,  # tests/test_types.py does
    ".venv/bin/ruff format --line-length 110": ["--help"],
    ".venv/bin/pre-commit install -c .ci/pre-commit-config.yaml": ["--help"],
    ".venv/bin/python .ci/site/check.py _docs expected_cost": None,  # of a site that was built
}


@pytest.mark.parametrize("command", TRIED)
def test_a_program_is_there_and_runs(command):
    program, *words = shlex.split(command)
    assert (BIN / Path(program).name).exists()
    assert all((ROOT / word).exists() for word in words if word.startswith((".ci/", "tests/")))
    if TRIED[command] is not None:
        done = run(BIN / Path(program).name, *words, *TRIED[command], PYTEST_ADDOPTS="-p no:cacheprovider -p no:xdist")
        assert done.returncode == 0, done.stdout + done.stderr


def test_files_and_arguments_it_names_are_there():
    for name in re.findall(r"`((?:\.ci|tests|nbs|cost_eval)/[\w./]+)`", TEXT):
        assert (ROOT / name).exists() or name in ("nbs/N0_topic.ipynb",), name
    from cost_eval.reproduce import OUTCOMES, compare, reproduces
    taken = {*inspect.signature(compare).parameters, *inspect.signature(reproduces).parameters}
    assert {"with_cause", "own_inputs", "reasons"} <= taken and {"needs", "mutants"} <= taken
    assert "`differs`" not in TEXT and "`open`" in TEXT and "open" in OUTCOMES
    assert "at most 160" in TEXT and len(__import__("cost_eval.api").api.__all__) <= 160


def test_the_steps_are_those_of_make_test():
    assert re.findall(r"(?m)^\| `([\w-]+)` \|", TEXT) == list(dict(script("make").steps("test")))


# ---- a change in three steps

def test_every_module_has_its_tests():
    "What `make change` runs is not nothing."
    from conftest import is_of
    files = sorted((ROOT / "tests").glob("test_*.py"))
    assert [notebook.stem for notebook in NOTEBOOKS if made_by(notebook.stem) and not any(is_of(file, [notebook.stem]) for file in files)] == []


def changed_copy(folder):
    "What `make change` needs of the project, with a slip in a module that its notebook does not notice and its tests do."
    for part in ("cost_eval", ".ci", "settings.ini"):
        skip = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, folder / part, ignore=skip) if (ROOT / part).is_dir() else shutil.copy(ROOT / part, folder / part)
    for name in ("nbs/_quarto.yml", "nbs/02_costs.ipynb", "tests/conftest.py", "tests/forked.py", "tests/test_costs.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "tests/test_house.py").write_text("import pytest\n\n\n@pytest.mark.parametrize('notebook', ['02_costs'])\ndef test_form(notebook): pass\n")
    notebook = folder / "nbs/02_costs.ipynb"
    text = notebook.read_text(encoding="utf-8")
    assert text.count("<b>{c:g} ✓</b>") == 1
    cells = json.loads(text.replace("<b>{c:g} ✓</b>", "{c:g} ✓"))
    cells["cells"].append({"cell_type": "code", "id": "added", "metadata": {}, "source": ["print(6 * 7)"], "outputs": [], "execution_count": 3})
    notebook.write_text(json.dumps(cells), encoding="utf-8")
    return notebook


def test_make_change_exports_runs_stores_and_tests(tmp_path):
    notebook = changed_copy(tmp_path)
    there = f"make.BIN, make.PYTHON, make.VENV = Path({str(BIN)!r}), Path({sys.executable!r}), Path({str(tmp_path)!r})"
    code = f"import sys; sys.path.insert(0, '.ci'); from pathlib import Path; import make; {there}; make.environment = lambda extras: 'at hand'"
    done = run(sys.executable, "-c", f"{code}; sys.exit(make.main('change', '02_costs.ipynb'))", cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert "{c:g} ✓</b>" not in (tmp_path / "cost_eval/costs.py").read_text(encoding="utf-8"), "exported"
    stored = json.loads(notebook.read_text(encoding="utf-8"))["cells"][-1]
    assert stored["outputs"][0]["text"] == ["42\n"] and stored["execution_count"] is None, "run, stored, clean"
    assert done.returncode == 1 and "failed: tests" in done.stdout and "test_labels_repr_and_identity" in done.stdout, done.stdout + done.stderr


def test_make_change_asks_for_a_notebook():
    make = script("make")
    for names, told in (((), "which notebook"), (("03_costs.ipynb",), "no such notebook: 03_costs")):
        with pytest.raises(SystemExit, match=told):
            make.change(*names)


# ---- the release

TODAY = datetime.date(2026, 11, 23)


@pytest.fixture
def project(tmp_path, monkeypatch):
    "A small project whose version is true, and a function that writes a file of it and commits."
    for name, value in (("AUTHOR", "a"), ("COMMITTER", "a")):
        monkeypatch.setenv(f"GIT_{name}_NAME", value)
        monkeypatch.setenv(f"GIT_{name}_EMAIL", f"{value}@example.org")
    files = {"settings.ini": "[DEFAULT]\nversion = 0.2.0\n", "CITATION.cff": "version: 0.2.0\ndate-released: 2026-11-23\n", ".gitignore": "build\n",
             "cost_eval/__init__.py": '__version__ = "0.2.0"\n', "CHANGELOG.md": "# Changes\n\n## 0.2.0 (2026-11-23)\n\n- New: much.\n\n## 0.1.0 (2026-11-01)\n\nFirst.\n",
             ".ci/in_sync.py": "print('costs.py: nbdev_export changes it') or exit(open('settings.ini').read().count('out of step'))\n"}

    def write(tested=True, **changed):
        for name, text in (files | {name.replace("__", "/").replace("_at_", "."): text for name, text in changed.items()}).items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", "change", "--allow-empty")
        if tested:
            (tmp_path / "build").mkdir(exist_ok=True)
            (tmp_path / "build/tested.json").write_text(json.dumps({"newest": git(tmp_path, "rev-parse", "HEAD")}))
        return tmp_path
    git = script("release").git
    git(tmp_path, "init", "-q")
    return write


def against(root):
    return list(script("release").objections(root, TODAY))


def test_a_true_release_is_tagged_with_its_notes(project):
    root, release = project(), script("release")
    assert against(root) == []
    assert release.put_tag(root) == "v0.2.0" and release.git(root, "tag", "-l", "--format=%(contents)", "v0.2.0") == "0.2.0 (2026-11-23)\n\n- New: much."
    assert ["tagged already" in each for each in against(root)] == [True]


LOG = "# Changes\n\n## {}\n\n{}\n\n## 0.1.0 (2026-11-01)\n\nFirst.\n"


@pytest.mark.parametrize("name, text, told", [
    ("settings.ini", "[DEFAULT]\nversion = 0.3.0\n", ["CITATION.cff is of version 0.2.0, settings.ini of 0.3.0", "__version__ is 0.2.0", "section of CHANGELOG.md is '0.2.0"]),
    ("CITATION.cff", "version: 0.1.0\ndate-released: 2026-11-23\n", ["CITATION.cff is of version 0.1.0"]),
    ("CITATION.cff", "version: 0.2.0\n", ["date-released None"]),
    ("cost_eval/__init__.py", '__version__ = "0.1.0"\n', ["__version__ is 0.1.0"]),
    ("CHANGELOG.md", LOG.format("Unreleased", "- New"), ["section of CHANGELOG.md is 'Unreleased', and has to be '0.2.0 (2026-11-23)'"]),
    ("CHANGELOG.md", LOG.format("0.2.0", "- New"), ["is '0.2.0', and has to be"]),
    ("CHANGELOG.md", LOG.format("0.2.0 (2026-11-22)", "- New"), ["date-released 2026-11-23, CHANGELOG.md 2026-11-22"]),
    ("CHANGELOG.md", LOG.format("0.2.0 (2026-11-23)", ""), ["is empty"]),
    ("settings.ini", "# out of step\n[DEFAULT]\nversion = 0.2.0\n", ["nbdev_export changes it"]),
])
def test_an_untrue_release_is_refused(project, name, text, told):
    root = project()
    (root / name).write_text(text)
    release = script("release")
    release.git(root, "commit", "-qam", "untrue")
    (root / "build/tested.json").write_text(json.dumps({"newest": release.git(root, "rev-parse", "HEAD")}))
    found = list(release.objections(root, TODAY))
    assert len(found) == len(told) and all(part in each for part, each in zip(told, found)), found


def test_a_release_of_what_is_not_committed_tested_or_past_is_refused(project):
    root, release = project(), script("release")
    assert ["still to come" in each for each in release.objections(root, TODAY - datetime.timedelta(1))] == [True]
    (root / "CHANGELOG.md").write_text((root / "CHANGELOG.md").read_text() + "more\n")
    assert against(root) == ["the working tree is not clean: commit first"]
    release.git(root, "commit", "-qam", "more")
    assert against(root) == ["the tests were not seen to pass on this commit: make test"]
    (root / "build/tested.json").unlink()
    assert against(root) == ["the tests were not seen to pass on this commit: make test"]


def test_only_a_whole_clean_and_green_run_counts_as_tested(tmp_path, monkeypatch):
    make = script("make")
    monkeypatch.setattr(make, "ROOT", tmp_path)
    head = {"x": "abc"}
    monkeypatch.setattr(make, "head", lambda: head["x"])
    for only, failed, clean, kept in (((), [], True, True), (("pytest",), [], True, False), ((), ["site"], True, False), ((), [], False, False)):
        shutil.rmtree(tmp_path / "build", ignore_errors=True)
        make.note_tested(only, failed, clean)
        assert (tmp_path / "build/tested.json").exists() is kept
    make.note_tested((), [], True)
    assert json.loads((tmp_path / "build/tested.json").read_text()) == {make.STACK: "abc"}
