"""Are modules, notebooks and README.md in step? Exports and cleans a copy of the project, so that nothing here is touched."""
import os
import shutil
import subprocess
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("nbs", "cost_eval", "settings.ini")


def snapshot(root):
    "Path -> text of every notebook and module."
    files = [*(root / "nbs").glob("*.ipynb"), *(root / "cost_eval").rglob("*.py")]
    return {str(file.relative_to(root)): file.read_text(encoding="utf-8") for file in files}


def exported_and_cleaned(root):
    "What `nbdev_export` and `nbdev_clean` make of the project."
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch).resolve() / root.name
        copy.mkdir()
        for part in PARTS:
            source = root / part
            skip = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", "_*.ipynb", "sidebar.yml")
            shutil.copytree(source, copy / part, ignore=skip, symlinks=True) if source.is_dir() else shutil.copy(source, copy / part)
        env = {name: value for name, value in os.environ.items() if name != "IN_TEST"} | {"PYTHONPATH": str(copy)}
        for module, function in (("nbdev.doclinks", "nbdev_export"), ("nbdev.clean", "nbdev_clean")):
            subprocess.run([sys.executable, "-c", f"from {module} import {function}; {function}()"], cwd=copy, env=env, check=True)
        return snapshot(copy)


def differences(root=ROOT):
    "What is out of step, each with its first differing lines and the command that mends it."
    here, there = snapshot(root), exported_and_cleaned(root)
    for name in sorted(here.keys() | there.keys()):
        old, new = here.get(name, ""), there.get(name, "")
        if old != new:
            remedy = "nbdev_clean" if name.endswith(".ipynb") else "nbdev_export"
            lines = list(unified_diff(old.splitlines(), new.splitlines(), "now", f"after {remedy}", n=0, lineterm=""))
            yield f"{name}: {remedy} changes it\n  " + "\n  ".join(line[:160] for line in lines[:8])


if __name__ == "__main__":
    found = list(differences())
    if subprocess.run([sys.executable, ROOT / ".ci" / "readme.py", "--check"]).returncode:
        found.append("README.md: python .ci/readme.py changes it")
    print("\n".join(found) or "modules, notebooks and README.md are in step")
    sys.exit(bool(found))
