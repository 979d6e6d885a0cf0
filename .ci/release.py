"""Is this commit what its version says? Then: build it into dist/ and tag it, here only; what publishes it is printed, not done.

    python .ci/release.py [--check]        --check: only say what speaks against it
"""
import datetime
import json
import re
import shutil
import subprocess
import sys
import tempfile
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def git(root, *words):
    "What git says; None if it fails."
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
    return None if done.returncode else done.stdout.strip()


def read(root, name):
    return (root / name).read_text(encoding="utf-8") if (root / name).exists() else ""


def version(root):
    config = ConfigParser(delimiters=["="])
    config.read_string(read(root, "settings.ini"))
    return config["DEFAULT"]["version"]


def notes(root):
    "The newest section of CHANGELOG.md: its heading, its text."
    _, heading, text = re.match(r"(?s)(.*?)^## (.*?)$(.*?)(?=^## |\Z)", read(root, "CHANGELOG.md") + "\n## ", re.M).groups()
    return heading.strip(), text.strip()


def objections(root=ROOT, today=None):
    "What speaks against a release, each with its remedy."
    ours, today = version(root), today or datetime.date.today()
    if git(root, "status", "--porcelain") != "":
        yield "the working tree is not clean: commit first"
    if git(root, "rev-parse", "--verify", "--quiet", f"refs/tags/v{ours}"):
        yield f"v{ours} is tagged already: set the next version in settings.ini, CITATION.cff and CHANGELOG.md"
    cited = dict(re.findall(r"(?m)^(version|date-released): [\"']?([^\s\"']+)", read(root, "CITATION.cff")))
    if cited.get("version") != ours:
        yield f"CITATION.cff is of version {cited.get('version')}, settings.ini of {ours}"
    exported = re.search(r"__version__ = \"(.*?)\"", read(root, "cost_eval/__init__.py"))
    if not exported or exported[1] != ours:
        yield f"cost_eval.__version__ is {exported and exported[1]}, settings.ini says {ours}: nbdev_export"
    heading, text = notes(root)
    dated = re.fullmatch(re.escape(ours) + r" \((\d{4}-\d\d-\d\d)\)", heading)
    if not dated:
        yield f"the newest section of CHANGELOG.md is '{heading}', and has to be '{ours} ({today})'"
    elif cited.get("date-released") != dated[1]:
        yield f"CITATION.cff says date-released {cited.get('date-released')}, CHANGELOG.md {dated[1]}"
    elif dated[1] > str(today):
        yield f"{dated[1]} is still to come"
    if not text:
        yield "the newest section of CHANGELOG.md is empty"
    if tested(root) != git(root, "rev-parse", "HEAD"):
        yield "the tests were not seen to pass on this commit: make test"
    script = root / ".ci" / "in_sync.py"
    if script.exists() and (done := subprocess.run([sys.executable, script], cwd=root, capture_output=True, text=True)).returncode:
        yield done.stdout + done.stderr


def tested(root):
    "The commit on which all steps of `make test` last passed, with the newest libraries."
    return json.loads(read(root, "build/tested.json") or "{}").get("newest")


def release(root=ROOT):
    "Build and tag what nothing speaks against."
    from package import build
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder).resolve())
        shutil.rmtree(root / "dist", ignore_errors=True)
        shutil.copytree(Path(folder) / "dist", root / "dist")
    tag = put_tag(root)
    print(f"dist/ holds {', '.join(sorted(file.name for file in (root / 'dist').iterdir()))}; {tag} is tagged here. Nothing is published. That takes:\n"
          f"    git push origin {tag}\n    twine check --strict dist/* && twine upload dist/*\n(git tag -d {tag} takes the tag back)")


def put_tag(root):
    "An annotated tag that holds the notes."
    tag, (heading, text) = f"v{version(root)}", notes(root)
    if git(root, "tag", "-a", tag, "--cleanup=verbatim", "-m", f"{heading}\n\n{text}\n") is None:
        sys.exit(f"git could not make the tag {tag}; does it know your name (git config user.name)?")
    return tag


if __name__ == "__main__":
    if found := list(objections()):
        sys.exit(f"{version(ROOT)} is not released:\n" + "\n".join(f"- {each}" for each in found))
    if "--check" in sys.argv:
        print(f"nothing speaks against {version(ROOT)}")
    else:
        release()
