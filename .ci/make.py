"""The work behind the Makefile: `python3 .ci/make.py env|peers|book|change|test|lab`, in numbered steps.

STACK=oldest works in .venv-oldest, with exactly the lower bounds of settings.ini. CI (a variable that every CI sets)
adds what does not fit into seven minutes on two cores, FULL=1 also what is marked slow.
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
CI = FULL or os.environ.get("CI", "0") not in ("", "0", "false")
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
    """Make the virtual environment and install the project (editable) with `extras`, unless that was done
    before."""
    stamp = VENV / "installed.json"
    parts = [sys.version, str(ROOT), STACK, read("settings.ini"), read("setup.py")]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    done = json.loads(stamp.read_text()) if stamp.exists() and PYTHON.exists() else {}
    have = set(done["extras"]) if done.get("digest") == digest else set()
    if extras <= have or "dev" in have:  # dev holds all the others
        return "up to date"
    if done.get("python") != sys.version or done.get("root") != str(ROOT):
        say("making %s with Python %s" % (VENV.name, sys.version.split()[0]))
        shutil.rmtree(str(VENV), ignore_errors=True)  # `uv venv --clear` is for newer ones only
        uv("venv", "--python", sys.executable, VENV)
    wanted = sorted(have | extras)
    oldest = ["--resolution", "lowest-direct"] if STACK == "oldest" else []
    text = uv("pip", "install", "--python", PYTHON, *oldest, "-e", "%s[%s]" % (ROOT, ",".join(wanted)))
    done = {"digest": digest, "extras": wanted, "python": sys.version, "root": str(ROOT)}
    stamp.write_text(json.dumps(done))
    return "%d packages installed" % len(re.findall(r"^ \+ ", text, re.M))


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def uv(*words):
    """Run uv and return what it says. Where it is not on PATH it is put into build/uv, by an environment's pip
    or the system's."""
    program = shutil.which("uv") or str(UV / "bin" / "uv")
    if not Path(program).exists():
        pip = [sys.executable, "-m", "pip", "install", "--target", UV]  # Debian's Python may lack venv or pip
        if run_quietly(sys.executable, "-m", "venv", "--clear", UV):
            pip = [UV / "bin" / "python", "-m", "pip", "install"]
        told(*pip, "--no-input", "--disable-pip-version-check", "uv")
    return told(program, *words)


def told(*command):
    """What a program says; if it fails, its last lines and what to do."""
    words, env = [str(word) for word in command], dict(os.environ)
    for theirs, ours in (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_FIND_LINKS", "UV_FIND_LINKS")):
        if env.get(theirs):
            env.setdefault(ours, env[theirs])  # uv does not read pip's settings
    try:
        done = subprocess.run(words, cwd=str(ROOT), env=env, stdin=subprocess.DEVNULL, **TOGETHER)
    except OSError as error:
        raise Failed("%s: %s" % (words[0], error.strerror))
    text = done.stdout.decode(errors="replace")
    if done.returncode:
        print("\n".join(text.strip().splitlines()[-12:]))
        raise Failed("`%s` failed (above are its last lines): %s" % (relative(words[:3]), REMEDY))
    return text


TOGETHER = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
REMEDY = ("is there a network (HTTPS_PROXY, PIP_INDEX_URL and SSL_CERT_FILE are heeded), 2 GB of room, "
          "leave to write here, and pip (Debian: apt-get install python3-pip)? "
          "`make clean` removes a half-made environment")


def peers():
    """Install the libraries of the benchmark one by one, without touching what is there; peers.json tells the
    notebook which do not fit, and why."""
    config = ConfigParser(delimiters=["="])
    config.read_string(read("settings.ini"))
    frozen, notes = VENV / "frozen.txt", {}
    listed = uv("pip", "freeze", "--exclude-editable", "--python", PYTHON)
    frozen.write_text(re.sub(r"(?m)^setuptools==.*\n", "", listed))
    for peer in config["DEFAULT"]["bench_requirements"].split():
        try:
            uv("pip", "install", "--python", PYTHON, "-c", frozen, peer)
            notes[peer] = ""
        except Failed as failure:
            notes[peer] = str(failure)
    (VENV / "peers.json").write_text(json.dumps(notes))
    return "these do not install beside the rest: %s" % (", ".join(filter(notes.get, notes)) or "none")


# ---- running things

def say(text):
    print("      " + text, flush=True)


def relative(words):
    return " ".join(words).replace(str(ROOT) + os.sep, "")


def run_quietly(*command):
    return subprocess.run([str(part) for part in command], **TOGETHER).returncode == 0


def surroundings():
    """The environment of every program: the virtual environment first, output at once, what is imported kept
    compiled, each worker its share of the cores."""
    env = dict(os.environ, VIRTUAL_ENV=str(VENV), PYTHONUNBUFFERED="1")
    env["PATH"] = str(BIN) + os.pathsep + env.get("PATH", "")
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
        return [subprocess.check_output(["git", *words], cwd=str(ROOT)).decode(errors="replace")
                for words in (["status", "--porcelain"], ["diff", "HEAD"])]
    except (OSError, subprocess.CalledProcessError):
        return None


# ---- make book

def book_data():
    say("data: %s" % surroundings().get("COST_EVAL_DATA", "no COST_EVAL_DATA; cache and public files only"))
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
    """JupyterLab on a copy of the notebooks' reader's edition: reading and running them changes nothing that
    git watches."""
    folder = ROOT / "nbs"
    if os.environ.get("EDIT", "0") in ("", "0"):
        folder = working_copy(LAB / "edition", LAB / "notebooks")
        say("you read a copy, in %s; make lab EDIT=1 edits the notebooks" % relative([str(folder)]))
    config = {"LabApp.default_url": "/lab/tree/index.ipynb", "LabApp.news_url": None,
              "ServerApp.root_dir": str(folder), "ServerApp.allow_root": True,
              "NotebookNotary.data_dir": str(LAB)}
    LAB.mkdir(parents=True, exist_ok=True)
    (LAB / "jupyter_lab_config.py").write_text("".join("c.%s = %r\n" % item for item in config.items()))
    env = surroundings()
    env["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, [str(LAB), env.get("JUPYTER_CONFIG_PATH")]))
    env["COST_EVAL_STILL"] = "" if folder == ROOT / "nbs" else "1"
    env["JUPYTERLAB_WORKSPACES_DIR"] = str(LAB / "workspaces")
    return subprocess.run([str(BIN / "jupyter"), "lab", *arguments], cwd=str(folder), env=env).returncode


def working_copy(edition, copy):
    """The edition made anew, and the copy of it: a file that the reader has changed stays as it is."""
    copy.mkdir(parents=True, exist_ok=True)
    before = {file.name: file.read_bytes() for file in edition.glob("*.*")}
    run(PYTHON, ".ci/edition.py", edition)
    for file in edition.glob("*.*"):
        mine = copy / file.name
        if mine.exists() and mine.read_bytes() != before.get(file.name):
            say("%s is yours; remove it for the book's" % relative([str(mine)]))
        else:
            shutil.copyfile(str(file), str(mine))
    return copy


# ---- make change

def change_notebooks(stems):
    """Run the cells and store the outputs, clean; beside them the tests of the modules, on both cores once the
    cells have run."""
    BESIDE["tests"] = kept(*tests_of(stems, PYTEST), "tests", "--ignore=tests/test_house.py")
    run(PYTHON, ".ci/notebooks.py", *(stem + ".ipynb" for stem in stems))
    if "index" in stems:
        run(PYTHON, ".ci/readme.py")


def tests_of(stems, how):
    return PYTHON, *how, "-q", "--of", ",".join(stems)


def change_house(stems):
    """What the house asks of a notebook and its module: form, outputs, arrows, documentation, examples."""
    alone = tests_of(stems, ["-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"])
    return run(*alone, "tests/test_house.py")[-1]


def change_tests():
    return awaited("tests")[-1]


# ---- make test

# one worker more than cores, as some wait for a browser
PYTEST = ["-m", "pytest", "-n", str(WORKERS + 1), "--dist", "loadgroup", "-p", "no:cacheprovider"]
LEFT = [] if CI else ["--without-ci"]  # of notebooks and tests
LEFT_OUT = []  # lines on what a run did not do, for the end of the summary
NUMBERS = ROOT / "build" / "numbers"
BESIDE = {}  # programs that run beside a step, and the files that keep what they say
SITE = [PYTHON, ".ci/site.py", "--strict"] + ([] if FULL else ["--sample"] if CI else ["--unseen"])
IN_CI = "what CI adds (`make test CI=1` does it here)"


def test_in_sync():
    """Are modules, notebooks and README.md in step? What is not is mended here, and named."""
    before = tree_state()
    for words in ([BIN / "nbdev_export"], [BIN / "nbdev_clean"], [PYTHON, ".ci/readme.py"]):
        run(*words)
    if before != tree_state():
        raise Failed("modules, notebooks and README.md were not in step; now they are: commit them")


def test_notebooks(beside):
    """The notebooks' cells; `beside` them the site is built, which leaves one core idle most of the time."""
    if beside:
        BESIDE["site"] = kept(*SITE)
    shutil.rmtree(str(NUMBERS), ignore_errors=True)
    NUMBERS.mkdir(parents=True)
    os.environ["COST_EVAL_NUMBERS"] = str(NUMBERS)  # the papers', computed once a run: the tests read them
    return run(PYTHON, ".ci/notebooks.py", "--check", "--jobs", WORKERS, *(["--slow"] if FULL else LEFT))[-1]


def test_pytest(beside):
    """pytest on both cores; its closing line is kept for the summary. `beside` it the package is built and
    installed."""
    if beside:
        BESIDE["package"] = kept(PYTHON, ".ci/package.py")
    lines = run(PYTHON, *PYTEST, "tests", "-ra", "--durations=15", *LEFT)
    return lines[-1].strip("= ").partition(" in ")[0]


def started(*command, **output):
    """A program that was begun, and does not wait; `output` says where its lines go."""
    words = [str(word) for word in command]
    say("$ " + relative(words))
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


def run(*command):
    """Run a program of the virtual environment in the project's folder, with its output shown as it comes: its
    lines."""
    process = started(*command, stdout=subprocess.PIPE)
    return shown(process.stdout, process)


def shown(stream, process):
    """Show the lines of a program's output; they come back without colours. What it left out is kept for the
    summary."""
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


def test_package(wanted):
    if not wanted:
        LEFT_OUT.append(IN_CI + ": the package, built and installed")
    elif "package" in BESIDE:
        awaited("package")
    else:
        run(PYTHON, ".ci/package.py")


def test_site():
    awaited("site") if "site" in BESIDE else run(*SITE)
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
    before, package = tree_state(), CI and not only or "package" in only
    checks = [("in-sync", test_in_sync), ("notebooks", lambda: test_notebooks(not only or "site" in only)),
              ("site", test_site), ("pytest", lambda: test_pytest(package and STACK == "newest")),
              ("package", lambda: test_package(package)), ("tree", lambda: test_tree(before))]
    return [first] + [one for one in checks if STACK == "newest" or one[0] not in ("in-sync", "package")]


def perform(command, only=()):
    "Run the steps in order, go on after a failure (except of the install), print the summary; the exit code."
    known = steps(command, only)
    unknown = set(only) - set(dict(known))
    if unknown:
        sys.exit("no step is called %s; there are %s" % (", ".join(sorted(unknown)), ", ".join(dict(known))))
    return int(bool(worked(command, [one for one in known if not only or one[0] in (*only, "install")])))


def change(*notebooks):
    """Export, run, test what was edited: a minute or a few, where `make test` takes many."""
    stems = [Path(name).stem for name in notebooks]
    absent = [stem for stem in stems if not (ROOT / "nbs" / (stem + ".ipynb")).exists()]
    if absent or not stems:
        sys.exit("no such notebook: %s (make change NB=02_costs.ipynb)" % ", ".join(absent))
    todo = [("install", lambda: environment(EXTRAS["change"])), ("export", lambda: run(BIN / "nbdev_export")),
            ("notebook", lambda: change_notebooks(stems)), ("house", lambda: change_house(stems)),
            ("tests", change_tests)]
    return int(bool(worked("change", todo)))


def worked(command, todo):
    """Go through the steps, print the summary: the names of those that failed."""
    outcome, begun = [], time.time()
    for number, (name, step) in enumerate(todo, 1):
        print("\n[%d/%d] %s" % (number, len(todo), name), flush=True)
        start, used = time.time(), processor_time()
        try:
            verdict, detail = "ok", step() or ""
        except Failed as failure:
            verdict, detail = "FAILED", str(failure)
        spent = "%6.1f s %6.1f of processor time" % (time.time() - start, processor_time() - used)
        outcome.append((name, verdict, spent, detail.partition("\n")[0]))
        say("%s, %s %s" % (verdict, spent.strip(), detail and "(%s)" % detail))
        if verdict != "ok" and name == "install":
            break
    return summary(command, outcome, time.time() - begun)


def processor_time():
    """Seconds that the programs which have ended took on all cores: a busy machine stretches the others."""
    times = os.times()
    return times.children_user + times.children_system


def summary(command, outcome, seconds):
    failed = [name for name, verdict, *_ in outcome if verdict != "ok"]
    print("\nmake %s STACK=%s%s" % (command, STACK, " FULL=1" if FULL else ""))
    for row in outcome:
        print("  %-10s %-6s %s  %s" % row)
    if LEFT_OUT:
        print("left out%s:" % ("" if FULL else " (make test FULL=1 runs all of it)"))
        print("".join("  %s\n" % line for line in LEFT_OUT), end="")
    print("%s in %.0f s" % ("failed: " + ", ".join(failed) if failed else "all steps ok", seconds))
    return failed


def main(command, *arguments):
    if sys.version_info < OLDEST:
        told = OLDEST + (sys.executable, sys.version.split()[0], command)
        sys.exit("cost_eval needs Python %d.%d or later; %s is %s.\n"
                 "Point to another one: make PYTHON=/path/to/python3.12 %s" % told)
    if STACK not in STACKS:
        sys.exit("STACK=%s: there are %s" % (STACK, ", ".join(sorted(STACKS))))
    if command == "env":
        print("%s: %s" % (VENV.name, environment(EXTRAS[arguments[0]])))
        return 0
    if command == "peers":
        print("%s: %s" % (VENV.name, peers()))
        return 0
    if command == "run":  # a program of the virtual environment, in the same surroundings as the steps
        words = [str(BIN / arguments[0]), *arguments[1:]]
        return subprocess.run(words, cwd=str(ROOT), env=surroundings()).returncode
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
