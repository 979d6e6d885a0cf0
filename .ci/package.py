"""Does the package work away from its sources? Builds an sdist and from it a wheel, installs that into an empty environment, imports all."""
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
at_the_top = {"cost_eval." + name for name in ("estimators", "scale")}  # these import their library, which their extra brings
names = [m.name for m in pkgutil.walk_packages(cost_eval.__path__, "cost_eval.") if m.name not in at_the_top]
for name in names:
    importlib.import_module(name)
where = pathlib.Path(cost_eval.__file__)
assert pathlib.Path(sys.prefix) in where.parents, f"imported from {where}, not from the wheel"
print(f"{len(names)} modules imported from the wheel, with numpy and scipy only")
"""

NUMPY_ALONE = """
import sys
from cost_eval.runner import read_rule, run_rule
rule = dict(schema="cost_eval decision rule", version=2, values="scores", by="cut", threshold=2.5, classes=[0, 1], decisions=["wait", "treat"])
rule |= dict(own_costs=False, calibration=None, capacity=1, otherwise=None)
assert run_rule(rule, [3, 2, 4]).tolist() == ["wait", "wait", "treat"] and "scipy" not in sys.modules
"""


def tracked():
    "What git tracks or would track, but GitHub's files, which no archive needs."
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listed.stdout.split("\0") if name and not name.startswith(".git") and (ROOT / name).is_file()}


def build(scratch):
    "The sdist, made from a copy without leftovers of an earlier build, and the wheel made from it: both hold all they should."
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
    print(f"{wheel.name}: {len(packed)} files, {wheel.stat().st_size / 1024:.0f} kB; {sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB")
    return wheel


def check(wheel, venv):
    "Install into an empty environment, import every module there, run the command."
    uv("venv", "--python", sys.executable, venv)
    uv("pip", "install", "--python", venv, wheel)
    installed = {line.split("==")[0] for line in uv("pip", "freeze", "--python", venv).split() if "==" in line}
    if installed != {"numpy", "scipy"}:
        sys.exit(f"the wheel brings {sorted(installed)}; numpy and scipy are all it may need")
    alone = venv.with_name("alone")  # a rule runs with numpy and this package
    uv("venv", "--python", sys.executable, alone)
    uv("pip", "install", "--python", alone, "numpy")
    uv("pip", "install", "--python", alone, "--no-deps", wheel)
    subprocess.run([alone / "bin/python", "-I", "-c", NUMPY_ALONE], cwd=alone, check=True)
    for command in ([venv / "bin/python", "-I", "-c", IMPORT_EVERYTHING], [venv / "bin/cost-eval", "--version"]):
        subprocess.run(command, cwd=venv, check=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        check(build(Path(folder).resolve()), Path(folder).resolve() / "venv")
