"""The work behind the Makefile: `python3 .ci/make.py env|peers|book|change|test|lab`, in numbered steps, each with its time.

STACK=oldest works in .venv-oldest, with exactly the lower bounds of settings.ini; FULL=1 runs also what is marked slow.
Needs nothing but a Python (any Python 3 can read this file, so that an old one gets a message and not a SyntaxError).
"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STACKS = {"newest": ".venv", "oldest": ".venv-oldest"}
STACK = os.environ.get("STACK") or "newest"
FULL = os.environ.get("FULL", "0") not in ("", "0")
VENV = ROOT / STACKS.get(STACK, ".venv")
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / "python"
OLDEST = (3, 11)
UV = ROOT / "build" / "uv"
EXTRAS = {"book": {"book", "site"}, "test": {"dev"}, "change": {"dev"}}


class Failed(Exception):
    """A step that did not succeed: the reason, for the summary."""


# ---- the environment

def environment(extras):
    """Make the virtual environment and install the project (editable) with `extras`, unless that was done before."""
    stamp = VENV / "installed.json"
    parts = [sys.version, str(ROOT), STACK, read("settings.ini"), read("setup.py")]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    done = json.loads(stamp.read_text()) if stamp.exists() and PYTHON.exists() else {}
    have = set(done.get("extras", ())) if done.get("digest") == digest else set()
    if extras <= have or "dev" in have:  # dev holds all the others
        return "up to date"
    if done.get("python") != sys.version or done.get("root") != str(ROOT):
        say("making %s with Python %s" % (VENV.name, sys.version.split()[0]))
        shutil.rmtree(str(VENV), ignore_errors=True)  # `uv venv --clear` is for newer ones only
        uv("venv", "--python", sys.executable, VENV)
    wanted = sorted(have | extras)
    oldest = ["--resolution", "lowest-direct"] if STACK == "oldest" else []
    text = uv("pip", "install", "--python", PYTHON, *oldest, "-e", "%s[%s]" % (ROOT, ",".join(wanted)))
    stamp.write_text(json.dumps({"digest": digest, "extras": wanted, "python": sys.version, "root": str(ROOT)}))
    return "%d packages installed" % len(re.findall(r"^ \+ ", text, re.M))


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def uv(*words):
    """Run uv and return what it says. Where it is not on PATH it is put into build/uv, by an environment's pip or the system's."""
    program = shutil.which("uv") or str(UV / "bin" / "uv")
    if not Path(program).exists():
        own = run_quietly(sys.executable, "-m", "venv", "--clear", UV)  # Debian's Python may lack either venv or pip
        pip = [UV / "bin" / "python", "-m", "pip", "install"] if own else [sys.executable, "-m", "pip", "install", "--target", UV]
        told(*pip, "--no-input", "--disable-pip-version-check", "uv")
    return told(program, *words)


def told(*command):
    """What a program says; if it fails, its last lines and what to do."""
    words, names = [str(word) for word in command], {"PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_FIND_LINKS": "UV_FIND_LINKS"}
    env = {**{theirs: os.environ[ours] for ours, theirs in names.items() if os.environ.get(ours)}, **os.environ}  # uv does not read pip's settings
    try:
        done = subprocess.run(words, cwd=str(ROOT), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as error:
        raise Failed("%s: %s" % (words[0], error.strerror))
    text = done.stdout.decode(errors="replace")
    if done.returncode:
        print("\n".join(text.strip().splitlines()[-12:]))
        raise Failed("`%s` failed (above are its last lines): %s" % (" ".join(words[:3]).replace(str(ROOT) + os.sep, ""), REMEDY))
    return text


REMEDY = ("is there a network (HTTPS_PROXY, PIP_INDEX_URL and SSL_CERT_FILE are heeded), 2 GB of room, leave to write here, and pip "
          "(Debian: apt-get install python3-pip)? `make clean` removes a half-made environment")


def peers():
    """Install the libraries of the benchmark one by one, without touching what is there; peers.json tells the notebook which do not fit, and why."""
    config = ConfigParser(delimiters=["="])
    config.read_string(read("settings.ini"))
    wanted, notes = config["DEFAULT"]["bench_requirements"].split(), VENV / "peers.json"
    known = json.loads(notes.read_text()) if notes.exists() else {}
    if set(known) != set(wanted):
        frozen = VENV / "frozen.txt"
        listed = uv("pip", "freeze", "--python", PYTHON).splitlines()
        frozen.write_text("".join(line + "\n" for line in listed if re.match(r"(?!setuptools==)[\w.-]+==", line)))
        known = {}
        for peer in wanted:
            try:
                uv("pip", "install", "--python", PYTHON, "-c", frozen, peer)
                known[peer] = ""
            except Failed as failure:
                known[peer] = str(failure)
        notes.write_text(json.dumps(known))
    failed = [peer for peer, text in known.items() if text]
    say("these do not install beside the rest: %s" % (", ".join(failed) or "none"))
    return "%d of %d libraries to compare with" % (len(known) - len(failed), len(known))


# ---- running things

def say(text):
    print("      " + text, flush=True)


def run_quietly(*command):
    return subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def run(*command):
    """Run a program of the virtual environment in the project's folder, with its output shown; Failed if it fails."""
    start = time.time()
    code = started(*command).wait()
    if code:
        program = " ".join([Path(command[0]).name, *map(str, command[1:2])])
        raise Failed("%s ended with code %d after %.0f s" % (program, code, time.time() - start))


def surroundings():
    """The environment of every program: the virtual environment first, output at once, what is imported kept compiled, each worker its share of the cores."""
    env = dict(os.environ, PATH=str(BIN) + os.pathsep + os.environ.get("PATH", ""), VIRTUAL_ENV=str(VENV), PYTHONUNBUFFERED="1")
    env.pop("PYTHONHOME", None)
    # a program compiles thousands of files if nobody has kept them compiled: kept, but not in the checkout
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["PYTHONPYCACHEPREFIX"] = str(VENV / "pycache")
    threads = str(max(1, cores() // WORKERS))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        env.setdefault(name, threads)
    beside = ROOT.parent / "shared" / "data"
    if not env.get("COST_EVAL_DATA") and beside.is_dir():
        env["COST_EVAL_DATA"] = str(beside)
    return env


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


WORKERS = min(4, cores())


def tree_state():
    """What git sees as changed, and the changes; None without git."""
    try:
        return [subprocess.run(["git", *words], cwd=str(ROOT), capture_output=True, check=True).stdout.decode(errors="replace")
                for words in (["status", "--porcelain"], ["diff", "HEAD"])]
    except (OSError, subprocess.CalledProcessError):
        return None


# ---- make book

def book_data():
    data = surroundings().get("COST_EVAL_DATA")
    say("data: %s" % (data + " (COST_EVAL_DATA)" if data else "no COST_EVAL_DATA; the cache and the public files only"))
    run(BIN / "cost-eval", "data", "fetch", "--small", "--timeout", "10")


def book_reproduce():
    run(BIN / "cost-eval", "reproduce", "--jobs", min(2, cores()))
    return "_reproduced/scoreboard_rows.csv"


def site():
    run(PYTHON, ".ci/site.py")
    return "_docs/index.html"


# ---- make lab

LAB = ROOT / "build" / "lab"


def lab(*arguments):
    """JupyterLab on a working copy of the notebooks' reader's edition, so that reading and running them changes nothing that git watches."""
    folder = ROOT / "nbs"
    if os.environ.get("EDIT", "0") in ("", "0"):
        folder = LAB / "notebooks"
        run(PYTHON, ".ci/edition.py", LAB / "edition")
        for line in working_copy(LAB / "edition", folder):
            say(line)
        say("you read a copy, in %s; to edit the notebooks themselves: make lab EDIT=1" % folder.relative_to(ROOT))
    config = {"LabApp.default_url": "/lab/tree/index.ipynb", "ServerApp.root_dir": str(folder), "ServerApp.allow_root": True,
              "NotebookNotary.db_file": str(LAB / "signatures.db"), "NotebookNotary.secret_file": str(LAB / "secret")}
    quiet = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}  # it asks about news
    (LAB / "config" / "labconfig").mkdir(parents=True, exist_ok=True)
    (LAB / "config" / "labconfig" / "page_config.json").write_text(json.dumps(quiet))
    (LAB / "config" / "jupyter_lab_config.py").write_text("".join("c.%s = %r\n" % item for item in config.items()))
    env = surroundings()
    env["JUPYTER_CONFIG_PATH"] = os.pathsep.join([str(LAB / "config"), *filter(None, [env.get("JUPYTER_CONFIG_PATH")])])
    env["COST_EVAL_STILL"] = "" if folder == ROOT / "nbs" else "1"
    env["JUPYTERLAB_WORKSPACES_DIR"] = str(LAB / "workspaces")
    return subprocess.run([str(BIN / "jupyter"), "lab", *arguments], cwd=str(folder), env=env).returncode


def working_copy(source, target):
    """Bring the copy up to date: what the reader changed is kept, under another name once the original has changed as well."""
    record = target.parent / "copied.json"
    copied, lines = json.loads(record.read_text()) if record.exists() else {}, []
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.glob("[!_.]*")):
        mine, digest = target / file.name, hashlib.sha256(file.read_bytes()).hexdigest()
        touched = mine.exists() and hashlib.sha256(mine.read_bytes()).hexdigest() != copied.get(file.name)
        if touched and copied.get(file.name) == digest:
            continue
        if touched:
            kept = mine.with_name("my_" + mine.name)
            mine.replace(kept)
            lines.append("%s has changed; yours is %s" % (mine.name, kept.name))
        shutil.copyfile(str(file), str(mine))
        copied[file.name] = digest
    record.write_text(json.dumps(copied))
    return lines


# ---- make change

def change_notebooks(stems):
    """Run the cells and store the outputs, clean; beside them the tests of the modules, on both cores once the cells have run."""
    BESIDE["tests"] = kept(*tests_of(stems, PYTEST), "tests", "--ignore=tests/test_house.py")
    run(PYTHON, ".ci/notebooks.py", *(stem + ".ipynb" for stem in stems))
    if "index" in stems:
        run(PYTHON, ".ci/readme.py")


def tests_of(stems, how):
    return PYTHON, *how, "-q", "--of", ",".join(stems)


def change_house(stems):
    """What the house asks of a notebook and its module: form, outputs, arrows, documentation, examples."""
    return watched(*tests_of(stems, ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"]), "tests/test_house.py")[-1]


def change_tests():
    return awaited("tests")[-1]


# ---- make test

# one worker more than cores, as some wait for a browser
PYTEST = ["-m", "pytest", "-n", str(WORKERS + 1), "--dist", "loadgroup", "-p", "no:cacheprovider"]
LEFT_OUT = []  # lines on what a run did not do, for the end of the summary
NUMBERS = ROOT / "build" / "numbers"
BESIDE = {}  # programs that run beside a step, and the files that keep what they say
SITE = [PYTHON, ".ci/site.py", "--strict"] + ([] if FULL else ["--sample"])


def test_in_sync():
    """Are modules, notebooks and README.md in step? What is not is mended here, and named."""
    before = tree_state()
    for words in ([BIN / "nbdev_export"], [BIN / "nbdev_clean"], [PYTHON, ".ci/readme.py"]):
        run(*words)
    if before != tree_state():
        raise Failed("modules, notebooks and README.md were not in step; now they are: look at `git diff`, and commit")


def test_notebooks(beside):
    """The notebooks' cells; `beside` them the site is built, which leaves one core idle most of the time."""
    if beside:
        BESIDE["site"] = kept(*SITE)
    shutil.rmtree(str(NUMBERS), ignore_errors=True)
    NUMBERS.mkdir(parents=True)
    os.environ["COST_EVAL_NUMBERS"] = str(NUMBERS)  # the papers' numbers, computed once a run: the tests read what the notebooks got
    lines = watched(PYTHON, ".ci/notebooks.py", "--check", "--jobs", WORKERS, *(["--slow"] if FULL else []))
    return lines[-1]


def test_pytest(beside):
    """pytest on both cores; its closing line is kept for the summary. `beside` it the package is built and installed, which waits for the registry."""
    if beside:
        BESIDE["package"] = kept(PYTHON, ".ci/package.py")
    lines = watched(PYTHON, *PYTEST, "tests", "-ra", "--durations=15")
    return lines[-1].strip("= ").partition(" in ")[0]


def started(*command, **output):
    """A program that was begun, and does not wait; `output` says where its lines go."""
    words = [str(word) for word in command]
    say("$ " + " ".join(words).replace(str(ROOT) + os.sep, ""))
    return subprocess.Popen(words, cwd=str(ROOT), env=surroundings(), stdin=subprocess.DEVNULL, **output)


def kept(*command):
    """A program that was begun, and the file that keeps what it says."""
    log = tempfile.TemporaryFile()
    return started(*command, stdout=log, stderr=subprocess.STDOUT), log


def awaited(name):
    """The lines of a program that runs beside, shown when it has ended."""
    process, log = BESIDE.pop(name)
    process.wait()
    log.seek(0)
    return shown(log, process)


def watched(*command):
    """Run a program with its output shown as it comes: its lines."""
    process = started(*command, stdout=subprocess.PIPE)
    return shown(process.stdout, process)


def shown(stream, process):
    """Show the lines of a program's output; they come back without colours. Those marked as left out are kept for the summary."""
    lines = []
    for line in stream:
        sys.stdout.buffer.write(line)
        sys.stdout.flush()
        text = re.sub(r"\x1b\[[0-9;]*m", "", line.decode(errors="replace")).rstrip()
        lines += [text] if text else []
        if text.startswith("left out: "):
            LEFT_OUT.append(text[len("left out: "):])
    code = process.wait()
    if code:
        raise Failed(lines[-1].strip("= ").partition(" in ")[0] if lines else "ended with code %d" % code)
    return lines


def test_package():
    awaited("package") if "package" in BESIDE else run(PYTHON, ".ci/package.py")


def test_site():
    awaited("site") if "site" in BESIDE else watched(*SITE)
    return "_docs/index.html"


def test_tree(before):
    """Nothing above may have changed a file that git watches; in CI the checkout has to be clean as well."""
    after = tree_state()
    if after is None:
        return "no git here"
    if after != before:
        raise Failed("the run changed the working tree:\n" + after[0])
    if os.environ.get("CI") and after[0]:
        raise Failed("the working tree is not clean:\n" + after[0])
    return "clean" if not after[0] else "as before (%d uncommitted changes)" % len(after[0].splitlines())


# ---- the steps

def steps(command, only=()):
    first = ("install", lambda: environment(EXTRAS[command]))
    if command == "book":
        return [first, ("data", book_data), ("reproduce", book_reproduce), ("site", site)]
    before = tree_state()
    beside = {name: not only or name in only for name in ("site", "package")}
    checks = [("in-sync", test_in_sync), ("notebooks", lambda: test_notebooks(beside["site"])), ("site", test_site),
              ("pytest", lambda: test_pytest(beside["package"] and STACK == "newest")),
              ("package", test_package), ("tree", lambda: test_tree(before))]
    return [first] + [(name, step) for name, step in checks if STACK == "newest" or name not in ("in-sync", "package")]


def perform(command, only=()):
    """Run the steps in order, go on after a failure (except of the install), print the summary; the exit code."""
    known = steps(command, only)
    unknown = set(only) - {name for name, _ in known}
    if unknown:
        sys.exit("no step is called %s; there are %s" % (", ".join(sorted(unknown)), ", ".join(name for name, _ in known)))
    failed = worked(command, [(name, step) for name, step in known if not only or name in only or name == "install"])
    return int(bool(failed))


def change(*notebooks):
    """Export, run, test what was edited: a minute or a few, where `make test` takes many."""
    stems = [Path(name).stem for name in notebooks]
    absent = [stem for stem in stems if not (ROOT / "nbs" / (stem + ".ipynb")).exists()]
    if absent or not stems:
        sys.exit("no such notebook: %s" % ", ".join(absent) if absent else "which notebook? make change NB=02_costs.ipynb")
    return int(bool(worked("change", [("install", lambda: environment(EXTRAS["change"])), ("export", lambda: run(BIN / "nbdev_export")),
                             ("notebook", lambda: change_notebooks(stems)), ("house", lambda: change_house(stems)), ("tests", change_tests)])))


def worked(command, todo):
    """Go through the steps, print the summary: the names of those that failed."""
    outcome = []
    for number, (name, step) in enumerate(todo, 1):
        print("\n[%d/%d] %s" % (number, len(todo), name), flush=True)
        start, used = time.time(), processor_time()
        try:
            verdict, detail = "ok", step() or ""
        except Failed as failure:
            verdict, detail = "FAILED", str(failure)
        outcome.append((name, verdict, time.time() - start, processor_time() - used, detail))
        say("%s, %.1f s, %.1f of processor time %s" % (verdict, outcome[-1][2], outcome[-1][3], detail and "(%s)" % detail))
        if verdict != "ok" and name == "install":
            break
    return summary(command, outcome)


def processor_time():
    """Seconds that the programs which have ended took on all cores: a busy machine stretches the others."""
    times = os.times()
    return times.children_user + times.children_system


def summary(command, outcome):
    failed = [name for name, verdict, *_ in outcome if verdict != "ok"]
    print("\nmake %s%s%s" % (command, " STACK=oldest" if STACK == "oldest" else "", " FULL=1" if FULL else ""))
    for name, verdict, seconds, used, detail in outcome:
        print("  %-10s %-6s %6.1f s %6.1f of processor time  %s" % (name, verdict, seconds, used, detail.partition("\n")[0]))
    if LEFT_OUT:
        print("left out%s:" % ("" if FULL else " (make test FULL=1 runs what is marked slow)"))
        for line in LEFT_OUT:
            print("  " + line)
    print("%s in %.0f s" % ("failed: " + ", ".join(failed) if failed else "all steps ok", sum(row[2] for row in outcome)), flush=True)
    return failed


def main(command, *arguments):
    if sys.version_info < OLDEST:
        sys.exit("cost_eval needs Python %d.%d or later; %s is %s.\nPoint to another one: make PYTHON=/path/to/python3.12 %s"
                 % (OLDEST + (sys.executable, sys.version.split()[0], command)))
    if STACK not in STACKS:
        sys.exit("STACK=%s: there are %s" % (STACK, ", ".join(sorted(STACKS))))
    if command == "env":
        print("%s: %s" % (VENV.name, environment(EXTRAS[arguments[0]])))
        return 0
    if command == "peers":
        print("%s: %s" % (VENV.name, peers()))
        return 0
    if command == "run":  # a program of the virtual environment, in the same surroundings as the steps
        return subprocess.run([str(BIN / arguments[0]), *arguments[1:]], cwd=str(ROOT), env=surroundings()).returncode
    if command in ("lab", "change"):
        return {"lab": lab, "change": change}[command](*arguments)
    return perform(command, arguments)


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except Failed as failure:
        sys.exit("      " + str(failure))
    except KeyboardInterrupt:
        sys.exit("interrupted")
