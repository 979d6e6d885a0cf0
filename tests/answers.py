"""Does the package answer as it did? The questions of calls.py are put to an earlier commit and to this tree.

    python tests/answers.py [REV] [--cases N] [--seed S] [--only TEXT] [--show K]

REV is by default what stands in answers_base.txt. Both sides are asked at the same time, each in a process of
its own, the earlier one with the package that `git archive` unpacks. Compared is every number, by column, and
every label; prose is not.

  same     within 1e-9 of the column's largest; 1e-6 for outperformance scores and ends of metrics
  outward  where several samples meet in one law, which is rounded to that side: an end that lies further from
           the estimate by at most half a percent of the half width, a p that has grown by as much
  mended   what crashed at the base is answered or refused
  MOVED    anything else: another number or label, another kind of error, a refusal on one side only
  gone     a name, table or column that this tree no longer has

Exit 1 if anything MOVED or is gone that no row of moved.csv names: a regular expression, searched in
"case: path", and the words of CHANGELOG.md that say so. Exit 2 if the base did not answer: fewer answers than
questions, or more than 5 % errors that are no refusals. Then nothing was compared.
"""
import argparse
import collections
import csv
import io
import json
import math
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd

import calls

HERE = Path(__file__).resolve().parent
ROUGH = re.compile(r"outperformance|^metric_interval|\bops|_ops\b")
SEVERAL = re.compile(r"priors|independent|group|strata|powered|change")
ENDS = {"low": -1, "high": 1}
KINDS = ("same", "outward", "mended", "named", "MOVED", "gone")
SILENT = {"notes", "guarantee", "provenance", "quantity", "read_as", "sentence", "made", "version", "summary",
          "distribution", "sample", "seen", "history", "method", "checksum", "drift", "again", "date"}


# ---- what an answer says

def flat(value, path="", silent=SILENT):
    "Everything that a result says, by where it says it: arrays of numbers, or of labels."
    if path.rpartition("/")[2] in silent or value is None:
        return {}
    if isinstance(value, (str, bool, int, float, np.generic)):
        return of_array(np.array([value]), path)
    if isinstance(value, pd.DataFrame):
        return of_frame(value, path, silent)
    if isinstance(value, (np.ndarray, pd.Series, pd.Index)):
        return of_array(np.asarray(value), path)
    return {at: one for name, part in parts(value) for at, one in flat(part, f"{path}/{name}",
        silent).items()}


def parts(value):
    "(name, value) of a mapping, a sequence, a record, a table with labels."
    if hasattr(value, "items"):
        return value.items()
    if hasattr(value, "__dataclass_fields__") or hasattr(value, "_fields"):
        names = getattr(value, "_fields", None) or value.__dataclass_fields__
        return [(name, getattr(value, name)) for name in names if name[0] != "_"]
    if not isinstance(value, (list, tuple)):
        names = ("array", "classes", "decisions", "values")
        return [(name, getattr(value, name)) for name in names if hasattr(value, name)]
    if value and all(isinstance(one, dict) for one in value):
        return [("rows", pd.DataFrame(value))]
    if all(one is None or isinstance(one, (str, bool, int, float, np.generic)) for one in value):
        return [("list", np.array(value, None if {type(one) for one in value} <= {int, float} else object))]
    return list(enumerate(value))


def of_frame(frame, path, silent):
    "Cell by cell; a row is called what its labels say."
    labels = [c for c in frame.columns if c not in SILENT and all(isinstance(one, str) for one in frame[c])]
    numbered, seen, found = pd.api.types.is_numeric_dtype(frame.index), collections.Counter(), {}
    for name, row in frame.iterrows():
        key = "|".join([*([] if numbered else [str(name)]), *(row[c] for c in labels)]).replace("/", "|")
        seen[key] += 1
        for column in frame.columns.difference(labels, sort=False):
            found |= flat(row[column], f"{path}/{key}#{seen[key]}/{column}", silent)
    return {f"{path}/rows": np.array([len(frame)]), **found}


def of_array(array, path):
    "Numbers or labels; prose is left out."
    if array.dtype.kind in "biuf":
        return {path: array.astype(float)}
    values = [None if one is None else str(one) for one in array.ravel().tolist()]
    return {} if any(len(one or "") > 60 for one in values) else {path: np.array(values, object)}


def thinned(found):
    "As lists, of a large array some entries, and its shape."
    said = {}
    for path, array in found.items():
        some = np.linspace(0, array.size - 1, min(array.size, 500)).astype(int)
        said |= {path: array.ravel()[some].tolist(), f"{path}/shape": list(array.shape)}
    return said


# ---- one side

def answer(function, call):
    "What a call says; an error is an answer, too."
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = call().answer(function())
    except Exception as error:
        kind, refusal = type(error).__name__, isinstance(error, (ValueError, TypeError))
        return {"error": kind, "refusal": refusal, "words": str(error)[:200]}
    return {"says": thinned(flat(found))}


def ask(options):
    "Put the questions to the package that is first on the path; an answer a line."
    import cost_eval
    if not Path(cost_eval.__file__).resolve().is_relative_to(Path(options.root).resolve()):
        sys.exit(f"{cost_eval.__file__} is not in {options.root}")
    with open(options.into, "w", encoding="utf-8") as out:
        for case, function, call in calls.questions(options.cases, options.seed, options.only):
            print(json.dumps({"case": case, **answer(function, call)}), file=out, flush=True)


def begin(root, options, into):
    "The process of one side."
    env = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    asked = ["--cases", options.cases, "--seed", options.seed, "--only", options.only]
    command = [sys.executable, __file__, "--root", root, "--into", into, *asked]
    return subprocess.Popen([*map(str, command)], env=env, cwd=tempfile.gettempdir())


def ended(process, file):
    "What the process of a side has written, line by line; None if it ended in an error."
    if process.wait():
        return None
    return {line["case"]: line for line in map(json.loads, file.read_text(encoding="utf-8").splitlines())}


def both_sides(options):
    "The answers of the base and of this tree."
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(["git", "archive", options.rev, "cost_eval"], cwd=HERE.parent,
                                capture_output=True, check=True).stdout
        tarfile.open(fileobj=io.BytesIO(packed)).extractall(folder, filter="data")
        files = [Path(folder, "base.jsonl"), Path(folder, "now.jsonl")]
        sides = [begin(root, options, into) for root, into in zip((folder, HERE.parent), files)]
        return [ended(side, file) for side, file in zip(sides, files)]


# ---- side by side

def unanswered(base, options):
    "Why nothing can be compared; empty if the base answered."
    if base is None:
        return "its process ended in an error"
    asked = sum(len(calls.numbers(name, options.cases)) for name in calls.CALLS)
    answered = {case.partition(")")[0] for case in base}
    crashed = [case for case, told in base.items() if "error" in told and not told["refusal"]]
    if not base or not options.only and len(answered) < asked:
        return f"it answered {len(answered)} of {asked} questions"
    if len(crashed) > .05 * len(base):
        return f"{len(crashed)} of {len(base)} answers are errors that are no refusals, such as {crashed[0]}"
    return ""


def compared(case, base, now):
    "(kind, path, at the base, now) of all that an answer says."
    if "error" in base or "error" in now:
        yield of_errors(base, now), "", base.get("error", "an answer"), told(now)
        return
    largest = collections.defaultdict(lambda: 1e-3)
    for path, values in base["says"].items():
        finite = [abs(one) for one in values if isinstance(one, (int, float)) and math.isfinite(one)]
        largest[column(path)] = max([largest[column(path)], *finite])
    for path, old in base["says"].items():
        new = now["says"].get(path)
        kind = "gone" if new is None else of_values(case, path, base["says"], new, largest[column(path)])
        yield kind, path, old, new


def told(now):
    return f"{now['error']}: {now['words']}" if "error" in now else "an answer"


def of_errors(base, now):
    if now.get("error") == "Absent":
        return "MOVED" if base.get("error") == "Absent" else "gone"
    if base.get("error") == now.get("error"):
        return "same"
    return "mended" if "error" in base and not base["refusal"] and now.get("refusal", True) else "MOVED"


def column(path):
    "Of which table and column a path is."
    return "".join(path.split("/")[1:2]), path.rpartition("/")[2]


def of_values(case, path, base, new, largest):
    "What the values of one path come to, the worst of them."
    old, within = base[path], (1e-6 if ROUGH.search(f"{case}: {path}") else 1e-9) * largest
    if len(old) != len(new):
        return "MOVED"
    far = [k for k, (a, b) in enumerate(zip(old, new)) if not near(a, b, within)]
    outward = SEVERAL.search(f"{case}: {path}") and all(allowed(path, base, k, new[k]) for k in far)
    return "same" if not far else "outward" if outward else "MOVED"


def near(a, b, within):
    if not (isinstance(a, (int, float)) and isinstance(b, (int, float))):
        return a == b
    return a == b or abs(a - b) <= within or math.isnan(a) and math.isnan(b)


def allowed(path, base, k, new):
    "Is it an end that moved outward, or a p that grew, as the law of several samples may?"
    stem, _, name = path.rpartition("/")
    old, (begin, _, end) = base[path][k], name.rpartition("_")
    if not all(isinstance(one, (int, float)) and math.isfinite(one) for one in (old, new)):
        return False
    if name in ("p", "p_value", "p_values"):
        return old <= new <= grown(old)
    if end not in ENDS:
        return False
    low, high = (base.get(f"{stem}/{begin}{'_' * bool(begin)}{other}", [math.nan])[k:k + 1] for other in ENDS)
    return bool(low and high) and 0 <= ENDS[end] * (new - old) <= .005 * (high[0] - low[0]) / 2


def grown(p):
    "The p of a test whose level has moved by half a percent of the half width of 95 %."
    normal = NormalDist()
    return max(1e-8, 2 * normal.cdf(normal.inv_cdf(max(p, 1e-300) / 2) + .005 * normal.inv_cdf(.975)))


# ---- the verdict

def meant():
    "What moved.csv names."
    with open(HERE / "moved.csv", encoding="utf-8", newline="") as file:
        return [re.compile(row["pattern"]) for row in csv.DictReader(file)]


def judged(base, now, patterns):
    "(kind, case, path, at the base, now) of all answers of the base, what is meant named."
    nothing = {"error": "no answer", "refusal": False, "words": "the process ended"}
    for case, old in base.items():
        for kind, path, a, b in compared(case, old, now.get(case, nothing)):
            named = kind in ("MOVED", "gone") and any(one.search(f"{case}: {path}") for one in patterns)
            yield "named" if named else kind, case, path, a, b


def shown(options, rows, seconds):
    "Print what moved, what is gone, and how many of each kind; the exit code."
    kinds = collections.Counter(kind for kind, *_ in rows)
    for kind, case, path, a, b in [row for row in rows if row[0] == "MOVED"][:options.show]:
        print(f"MOVED  {case}: {path}: {str(a)[:90]} -> {str(b)[:150]}")
    gone = collections.Counter((case.split(" (")[0].rpartition(" ")[0], *column(path))
                               for kind, case, path, *_ in rows if kind == "gone")
    for (name, table, last), times in gone.most_common(options.show):
        print(f"gone   {name}: {table} {last} ({times} times)")
    counted = ", ".join(f"{kinds[kind]:,} {kind}" for kind in KINDS)
    asked = len({case for _, case, *_ in rows})
    print(f"{asked:,} questions to {options.rev} and to this tree in {seconds:.0f} s: {counted}")
    return int(bool(kinds["MOVED"] or kinds["gone"]))


def read_options():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    base = (HERE / "answers_base.txt").read_text().strip()
    parser.add_argument("rev", nargs="?", default=base, help=f"the earlier commit (default: {base})")
    parser.add_argument("--cases", type=int, default=6, help="problems a name is asked about (default: 6)")
    parser.add_argument("--seed", type=int, default=1, help="other problems (default: 1)")
    parser.add_argument("--only", default="", help='only cases that hold this text, such as "interval 12"')
    parser.add_argument("--show", type=int, default=20, help="how many moves are printed (default: 20)")
    for hidden in ("--root", "--into"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = read_options()
    if options.root:
        return ask(options)
    start = time.perf_counter()
    base, now = both_sides(options)
    if why := unanswered(base, options):
        print(f"nothing was compared: {options.rev}: {why}")
        return 2
    return shown(options, list(judged(base, now or {}, meant())), time.perf_counter() - start)


if __name__ == "__main__":
    sys.exit(main())
