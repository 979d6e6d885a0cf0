"""Does the package work away from its sources? Builds an sdist and from it a wheel, installs that, imports all."""
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from make import ROOT, uv

IMPORT_EVERYTHING = """
import importlib, pathlib, pkgutil, sys, time
start = time.process_time()
import cost_eval.api
print(f"import cost_eval.api: {time.process_time() - start:.2f} s of processor time")
at_the_top = {"cost_eval.estimators", "cost_eval.scale"}  # these import what their extra brings
names = [m.name for m in pkgutil.walk_packages(cost_eval.__path__, "cost_eval.") if m.name not in at_the_top]
for name in names:
    importlib.import_module(name)
where = pathlib.Path(cost_eval.__file__)
assert pathlib.Path(sys.prefix) in where.parents, f"imported from {where}, not from the wheel"
print(f"{len(names)} modules imported from the wheel, with numpy and scipy only")
"""

def tracked():
    "What git tracks or would track, but GitHub's files, which no archive needs."
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True)
    return {name for name in listed.splitlines() if not name.startswith(".git") and (ROOT / name).is_file()}


def build(scratch):
    """The sdist, made from a copy without leftovers of an earlier build, and the wheel made from it: both hold
    all they should."""
    copy = scratch / "source"
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
    uv("build", "--out-dir", scratch / "dist", copy)
    (wheel,), (sdist,) = (scratch / "dist").glob("*.whl"), (scratch / "dist").glob("*.tar.gz")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    if packed != (wanted := {name for name in tracked() if name.startswith("cost_eval/")}):
        sys.exit(f"{wheel.name} lacks {sorted(wanted - packed)}, and has too much: {sorted(packed - wanted)}")
    with tarfile.open(sdist) as archive:
        if lacking := tracked() - {name.partition("/")[2] for name in archive.getnames()}:
            sys.exit(f"{sdist.name} lacks {sorted(lacking)}")
    print(f"{wheel.name}: {len(packed)} files, {wheel.stat().st_size / 1e3:.0f} kB")
    return wheel


def check(wheel, venv):
    "Install into an empty environment, import every module there, run the command."
    uv("venv", "--python", sys.executable, venv)
    uv("pip", "install", "--python", venv, wheel)
    installed = set(re.findall(r"(?m)^([\w-]+)==", uv("pip", "freeze", "--python", venv)))
    if installed != {"numpy", "scipy"}:
        sys.exit(f"the wheel brings {sorted(installed)}; numpy and scipy are all it may need")
    subprocess.run([venv / "bin/python", "-I", "-c", IMPORT_EVERYTHING], cwd=venv, check=True)
    subprocess.run([venv / "bin/cost-eval", "--version"], cwd=venv, check=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        check(build(Path(folder).resolve()), Path(folder).resolve() / "venv")
