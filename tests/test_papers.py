"""Every table that the papers' texts print, parsed again and held against the transcribed numbers."""
import math
import re
from functools import partial

import pytest
from conftest import paper_text

from cost_eval.reproduce import published

NUMBER = re.compile(r"(?<![\w.^])\d[\d,]*(?:\.\d+)?")
BLOCKS = {"Heart": ("General", "Elder", "Hospital"), "Loan": ("General", "Low-income", "Risky")}
# symbols and formulas
WITHOUT_NUMBERS = {"expected": "", "bootstrap": "", "cscore": "1234", "outperformance": "123",
                   "weighted": "123"}


def numbers(text):
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def lines(paper, first, last):
    "The lines of a paper from one that matches to the next that does."
    every = paper_text(paper).splitlines()
    start = next(k for k, line in enumerate(every) if re.search(first, line))
    return every[start : next(k for k in range(start + 1, len(every)) if re.search(last, every[k]))]


def rows(paper, first, last, names, columns):
    """Name/column -> number, of lines that begin with one of the names; each has as many numbers as there are
    columns."""
    found = {}
    for name in names:
        (line,) = (line for line in lines(paper, first, last) if re.match(rf" *{re.escape(name)}\s", line))
        values = numbers(re.sub(r"\(\$.*?\)", "", line.strip()[len(name):]))
        named = zip(columns, values, strict=True)
        found |= {f"{name}/{column}" if column else name: value for column, value in named}
    return found


def ferrer_1():
    columns = [f"{m}/{what}" for m in ("C01", "CinvP", "Cimb", "Cabs1", "Cabs2")
               for what in ("EC", "NEC", *["abs"] * m.startswith("Cabs"))]
    found = rows("expected", r"^Decision algorithm", "^for the expression", ("Naive", "Argmax", "Bayes"),
                 columns)
    return {"{1}/{0}/{2}".format(*cell.split("/")): value for cell, value in found.items()}


def ferrer_2():
    "What the text holds of it: the conversion from PDF has lost some fields, and of some the second number."
    columns, found, dataset = ("C01", "CinvP", "Cimb", "1-ACC", "MC1", "MC2", "Bin", "1-AUC", "EER"), {}, ""
    for line in lines("expected", r"^Dataset\tSystem\tproc", "^calibrated, the EER"):
        if "\traw cal\t" in line:
            name, system, _, *fields = line.split("\t")
            dataset = name or dataset
            for column, field in zip(columns, fields):
                found |= {f"{dataset}/{system}/{scores}/{column}": v
                          for scores, v in zip(("raw", "cal"), numbers(field))}
    return found


def ferrer_3():
    found = {}
    for line in lines("expected", r"^Dataset\t#Classes", "^Table 3")[1:-1]:
        name, classes, samples, priors = line.split("\t")
        shares = {"prior of every class": numbers(priors)[0]} if "all classes" in priors else {
            f"prior {k}": value for k, value in enumerate(numbers(priors), 1)}
        sizes = {"classes": float(classes), "samples": float(samples)}
        found |= {f"{name}/{what}": value for what, value in {**sizes, **shares}.items()}
    return found


def md_1():
    found = rows("bootstrap", "^\t1\t2\t3", "^$", "1234", "1234")
    return {"C({},{})".format(*cell.split("/")): value for cell, value in found.items()}


def md_2():
    text = " ".join(lines("bootstrap", r"lb = ", "end BCOST"))
    n, plus = (int(v) for v in re.search(r"times (\d+) .rfloor \+ (\d+)", text).groups())
    low = math.floor(.05 / 2 * n + 1e-9) + plus
    return {"lower order statistic at 95 %": low,
            "upper order statistic at 95 %": int(re.search(r"ub = (\d+) - lb", text)[1]) - low}


def md_4():
    found = {}
    for line in lines("bootstrap", "^M1\t.*Unif", "^$"):
        model, off, on = line.split("\t")
        found |= {f"{model}/off the diagonal": numbers(off)[1], f"{model}/on the diagonal": numbers(on)[-1]}
        power = {"P(i)/P(j)": 1, "P(j)/P(i)": -1}
        found |= {f"{model}/exponent of P(i)/P(j)": sign for text, sign in power.items() if text in off}
    return found


def by_model(first):
    return lambda: rows("bootstrap", first, "^$", [f"M{k}" for k in range(1, 10)], [""])


MARWAH = ("UNSW-NB15", "Credit card fraud", "KDD cup 99", "Phishing data", "Internal data")


def marwah_6():
    found, left = {}, ("F1 threshold", "F1 precision", "F1 recall")
    right = ("F1 C_score", "threshold", "precision", "recall", "C_score", "saving")
    table = [line for line in lines("cscore", "^ Dataset +Cost ratio", "^4.3.3") if "%" in line]
    assert len(table) == 15
    for name, three in zip(MARWAH, zip(*[iter(table)] * 3)):
        assert three[1].strip().startswith(name)
        for line in three:
            ratio, *values = numbers(line.replace(name, ""))
            found |= {f"{name}/{column}": value for column, value in zip(left, values[:-6])}
            here = zip(right, values[-6:], strict=True)
            found |= {f"{name}/{ratio:g}/{column}": value for column, value in here}
    return found


def zhao_rows(first, last):
    "Data set, label and numbers of a table that has both data sets, each under its title."
    data = ""
    for line in lines("outperformance", first, last):
        data = next((d for d in BLOCKS if line.startswith(f"{d} D")), data)
        label, _, rest = re.sub(r" Set \(.*?\)", "", line).partition("\t")
        if data and numbers(rest):
            yield data, label, numbers(rest)


def zhao_4():
    found = zhao_rows("^Heart Disease Dataset", "^Table 4")
    return {f"{data} {name}/{what}": value for data, what, values in found
            for name, value in zip(BLOCKS[data], values, strict=True)}


def zhao_5():
    found = {f"{data} {name}/{column}": value for data, name, values in zhao_rows("^Test Sets\tf1", "^Table")
             for column, value in zip(("f1", "OPS(f1)", "MCC", "OPS(MCC)"), values, strict=True)}
    caption = paper_text("outperformance").partition("Table 5:")[2].partition("\n")[0]
    return found | {"threshold": numbers(caption)[0]}


def zhao(table, data):
    text = paper_text("outperformance").partition(f"Table {table}: ")[0].splitlines()
    found, names = {}, {"OPS(AUC or NAUC)": "OPS(AUC)", "OPS(Lift or Precision)": "OPS(Lift)"}
    for line in text[max(k for k, line in enumerate(text) if line.startswith("\tGeneral Set")):]:
        label, *values = line.split("\t")
        if label and len(values) == 3 and all(values):
            label = names.get(label, label.replace(" curve", ""))
            found |= {f"{data} {name}/{label}": float(value) for name, value in zip(BLOCKS[data], values)}
    return found


TABLES = {  # paper, table, items of the CSV -> parser
    ("expected", "1", "expected_cost/table1"): ferrer_1,
    ("expected", "2", "expected_cost/table2"): ferrer_2,
    ("expected", "3", "expected_cost/table3"): ferrer_3,
    ("bootstrap", "1", "bootstrap/table1"): md_1,
    ("bootstrap", "2", "bootstrap/table2"): md_2,
    ("bootstrap", "3", "bootstrap/table3"): lambda: {f"class {k}": v for k, v in rows("bootstrap",
        "^Class\tFreq", "^$", "01234", [""]).items()},
    ("bootstrap", "4", "bootstrap/table4"): md_4,
    ("bootstrap", "5", "bootstrap/table5"): by_model("included in the c.i."),
    ("bootstrap", "6", "bootstrap/table6"): by_model("not rejected .out of"),
    ("cscore", "5", "cost_score/table5"): lambda: rows("cscore", "^Summary of datasets", "^ +taken because",
                                                       MARWAH, ("class 0", "class 1", "features")),
    ("cscore", "6", "cost_score/table6+table6-study"): marwah_6,
    ("outperformance", "4", "outperformance/table4"): zhao_4,
    ("outperformance", "5", "outperformance/table5"): zhao_5,
    **{("outperformance", str(k), f"outperformance/table{k}"): partial(zhao, k, data)
       for k, data in ((6, "Heart"), (7, "Loan"), (8, "Heart"), (9, "Loan"))},
}
# cells that sentences about a table give
IN_TEXT = {"bootstrap/table1": "text: ", "bootstrap/table4": "M9/C(1,3)", "cost_score/table5": (
    "KDD cup 99/unique", "KDD cup 99/classes", "Phishing data/pages", "UNSW-NB15/types",
    "Internal data/instances", "Internal data/class 1 in", "Credit card fraud/transactions",
    "Credit card fraud/legitimate", "Credit card fraud/class 1 below")}

ILLEGIBLE = {"expected_cost/table2": 33}


@pytest.mark.parametrize("paper, table, items", TABLES, ids=lambda v: str(v))
def test_a_printed_table_is_what_was_transcribed(paper, table, items):
    name, _, parts = items.partition("/")
    transcribed = {}
    for item in parts.split("+"):
        transcribed |= published(name, item).set_index("cell")["published"].to_dict()
    transcribed = {cell: value for cell, value in transcribed.items()
                   if not cell.startswith(IN_TEXT.get(items, "no cell"))}
    parsed = TABLES[paper, table, items]()
    assert parsed == {cell: transcribed.get(cell) for cell in parsed}
    assert len(transcribed) - len(parsed) == ILLEGIBLE.get(items, 0)


@pytest.mark.parametrize("paper", WITHOUT_NUMBERS)
def test_no_printed_table_is_left_out(paper):
    captions = set(re.findall(r"(?m)(?:^ *|\. ?|A\.3 )Table (\d)(?:[.:]|$)", paper_text(paper)))
    assert captions == {table for name, table, _ in TABLES if name == paper} | set(WITHOUT_NUMBERS[paper])
