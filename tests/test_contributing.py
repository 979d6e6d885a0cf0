"""What CONTRIBUTING.md says: its commands run, or at least resolve; a change in three steps, tried on a
copy."""
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


def run(*words, cwd=ROOT, **more):
    return subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True,
                          env=os.environ | more)


# ---- the commands

@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_there(command):
    program, *words = shlex.split(command)
    if program == "make":
        if not shutil.which("make"):
            pytest.skip("no make here")
        assert run("make", "-n", *words).returncode == 0
    else:
        assert (BIN / Path(program).name).exists() and all((ROOT / word).exists() for word in words
                if word.startswith((".ci/", "tests/")))


def test_the_steps_are_those_of_make_test():
    assert re.findall(r"(?m)^\| `([\w-]+)` \|", TEXT) == list(dict(script("make").steps("test")))


# ---- a change in three steps

def test_every_module_has_its_tests():
    "What `make change` runs is not nothing."
    from conftest import is_of
    files = sorted((ROOT / "tests").glob("test_*.py"))
    assert [notebook.stem for notebook in NOTEBOOKS if made_by(notebook.stem)
            and not any(is_of(file, [notebook.stem]) for file in files)] == []


BOLD = """from cost_eval.costs import CostMatrix
def test_bold():
    assert "<td><b>" in CostMatrix.zero_one(2)._repr_html_()
"""
HOUSE = """import pytest
@pytest.mark.parametrize("notebook", ["02_costs"])
def test_form(notebook): pass
"""


def changed_copy(folder):
    """What `make change` needs of the project, with a slip in a module that its notebook does not notice and
    its tests do."""
    for part in ("cost_eval", ".ci"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("settings.ini", "nbs/_quarto.yml", "nbs/02_costs.ipynb", "tests/conftest.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "tests/test_costs.py").write_text(BOLD)
    (folder / "tests/test_house.py").write_text(HOUSE)
    notebook = folder / "nbs/02_costs.ipynb"
    text = notebook.read_text(encoding="utf-8")
    assert text.count("<b>{c:g} ✓</b>") == 1
    cells = json.loads(text.replace("<b>{c:g} ✓</b>", "{c:g} ✓"))
    cells["cells"].append({"cell_type": "code", "id": "added", "metadata": {}, "source": ["print(6 * 7)"],
                           "outputs": [], "execution_count": 3})
    notebook.write_text(json.dumps(cells), encoding="utf-8")
    return notebook


CHANGE = """import sys; sys.path.insert(0, ".ci")
from pathlib import Path
import make
make.BIN, make.PYTHON, make.VENV = Path({bin!r}), Path({python!r}), Path({folder!r})
make.PYTEST[3], make.environment = "0", lambda extras: "at hand"
sys.exit(make.main("change", "02_costs.ipynb"))
"""


def test_make_change_exports_runs_stores_and_tests(tmp_path):
    notebook = changed_copy(tmp_path)
    code = CHANGE.format(bin=str(BIN), python=sys.executable, folder=str(tmp_path))
    done = run(sys.executable, "-c", code, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert "{c:g} ✓</b>" not in (tmp_path / "cost_eval/costs.py").read_text(encoding="utf-8"), "exported"
    stored = json.loads(notebook.read_text(encoding="utf-8"))["cells"][-1]
    assert stored["outputs"][0]["text"] == ["42\n"] and stored["execution_count"] is None, "run and clean"
    assert done.returncode == 1 and "failed: tests" in done.stdout and "test_bold" in done.stdout, done.stdout
