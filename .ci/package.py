"""Does the package work away from its sources? Builds an sdist and from it a wheel, installs that into an empty environment, imports all."""
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("matplotlib", "pandas", "sklearn", "ipywidgets", "IPython", "joblib", "dask", "tqdm", "pooch", "nbdev", "fastcore")

IMPORT_EVERYTHING = f"""
import importlib, pathlib, pkgutil, sys
import cost_eval
at_the_top = {{"cost_eval." + name for name in ("estimators", "scale", "app")}}  # these import their library, which their extra brings
names = [m.name for m in pkgutil.walk_packages(cost_eval.__path__, "cost_eval.") if m.name not in at_the_top]
for name in names:
    importlib.import_module(name)
    heavy = sorted(set({HEAVY!r}) & set(sys.modules))
    assert not heavy, f"{{name}} imports {{heavy}}"
where = pathlib.Path(cost_eval.__file__)
assert pathlib.Path(sys.prefix) in where.parents, f"imported from {{where}}, not from the wheel"
print(f"{{len(names)}} modules imported from the wheel, with numpy and scipy only")
"""


def project_files():
    "What git tracks or would track: a build in the checkout could pick up leftovers of an earlier one."
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:  # no git here: an unpacked sdist
        return [file for file in ROOT.rglob("*") if file.is_file() and not {".venv", "_docs", "_proc", "build"} & set(file.relative_to(ROOT).parts)]
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def step(text, *command, cwd):
    "Run a command; its output is shown if it fails."
    start = time.time()
    result = subprocess.run([str(part) for part in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(f"      {text}: {'ok' if not result.returncode else 'FAILED'}, {time.time() - start:.1f} s", flush=True)
    if result.returncode:
        sys.exit(result.stdout)
    return result.stdout


def build(scratch):
    "The wheel made from the sdist made from a copy of the project."
    copy = scratch / "source"
    for file in project_files():
        target = copy / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.read_bytes())
    step("sdist, and a wheel from it", sys.executable, "-m", "build", "--outdir", scratch / "dist", copy, cwd=scratch)
    wheel, = (scratch / "dist").glob("*.whl")
    return wheel


def check_contents(wheel):
    "Everything of the package is in the wheel, the published numbers too, and nothing else."
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {str(file.relative_to(ROOT)) for file in project_files() if file.relative_to(ROOT).parts[0] == "cost_eval"}
    if packed != wanted:
        sys.exit(f"{wheel.name} lacks {sorted(wanted - packed)}, and has too much: {sorted(packed - wanted)}")
    print(f"      {wheel.name}: {len(packed)} files, {wheel.stat().st_size / 1024:.0f} kB")


def check_sources(sdist):
    "The sdist carries all that the package is made from and its tests need; GitHub's files stay there."
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {str(file.relative_to(ROOT)) for file in project_files() if file.relative_to(ROOT).parts[0] not in (".github", ".gitignore")}
    if not wanted <= packed:
        sys.exit(f"{sdist.name} lacks {sorted(wanted - packed)}")
    print(f"      {sdist.name}: {len(packed)} files, {sdist.stat().st_size / 1e6:.1f} MB")


def check_install(wheel, scratch):
    "Install into an empty environment, import every module there, run the command."
    venv = scratch / "venv"
    step("an empty environment", sys.executable, "-m", "venv", "--without-pip", venv, cwd=scratch)
    python = venv / "bin" / "python"
    step("pip install of the wheel", sys.executable, "-m", "pip", "--python", python, "install", "--no-input", wheel, cwd=scratch)
    installed = {line.split("==")[0] for line in step("pip freeze", sys.executable, "-m", "pip", "--python", python, "freeze", cwd=scratch).split() if "==" in line}
    if installed != {"numpy", "scipy"}:
        sys.exit(f"the wheel brings {sorted(installed)}; numpy and scipy are all it may need")
    print("      " + step("imports", python, "-I", "-c", IMPORT_EVERYTHING, cwd=scratch).strip())
    for name in ("cost_eval.api", "cost_eval.report"):
        code = f"import time; start = time.process_time(); import {name}; print(time.process_time() - start)"
        took = [float(subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True).stdout) for _ in range(3)]
        print(f"      import {name}: {min(took):.2f} s of processor time", flush=True)
    step("cost-eval --version", venv / "bin" / "cost-eval", "--version", cwd=scratch)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder).resolve()
        wheel = build(folder)
        check_contents(wheel)
        check_sources(*wheel.parent.glob("*.tar.gz"))
        check_install(wheel, folder)
