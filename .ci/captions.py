"""Does a caption say what its figure shows? Each number in a caption or alternative text must be one of the drawing.

A number of the drawing is one that is written in it, or one that its data turn at: the ends, the extremes and where
they are, the crossings of two lines, the values of short lines, points and bars, the limits and ticks of the axes,
how many there are of each. What is not drawn but set (1,000 replicates, a seed) must stand in the code of the cell.
In between, where a long line passes through everything, nothing counts: else no number could be wrong.
"""
import ast
import json
import re

import drawn
import numpy as np

SHORT = 40  # a line of so many points shows each of them
WORDS_OF_A_FIGURE = re.compile(r"^#\| (fig-cap|fig-alt): *(.*)$", re.M)
NUMBER = re.compile(r"(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?![\w])")
PLACE = r"(?:Table|Figure|Fig\.|Section|Equation|Eq\.|Appendix|chapter)s? [\dA-Z.]+(?:(?: and|,| to) [\d.]+)*"
OTHERWISE = re.compile(rf"\$[^$]*\$|`[^`]*`|\]\([^)]*\)|{PLACE}|\(\d+(?:\.\d+)?\)")
FRACTION = re.compile(r"(?<![\w.,/])(\d+)/(\d+)(?![\w/])")
SOURCE_NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e-?\d+)?|(?<![\w.\d])\.\d+")


def said(text):
    """The numbers in a text, as written: [(number, half a unit of its last digit)]. Equations, links and names
    of figures do not count."""
    text = OTHERWISE.sub(" ", text)
    found = [(int(a) / int(b), 1e-9, f"{a}/{b}") for a, b in FRACTION.findall(text)]
    for match in NUMBER.finditer(FRACTION.sub(" ", text)):
        word = match.group().replace("−", "-")
        if not re.search(r"\d", word):
            continue
        digits = len(word.partition(".")[2])
        found.append((float(word.replace(",", "")), 0.5 * 10.0**-digits, word))
    return found


def turns(x, y):
    "Where a line begins, ends, turns, and how high; all of a short one."
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    if not len(x):
        return []
    if len(x) <= SHORT:
        return [*x, *y]
    at = [0, len(x) - 1, int(y.argmin()), int(y.argmax()), int(x.argmin()), int(x.argmax())]
    return [*x[at], *y[at]]


def crossings(lines):
    "Where two lines over the same x cross: x and y."
    found = []
    for k, (x, y) in enumerate(lines):
        for u, v in lines[k + 1:]:
            if len(x) < 2 or len(u) < 2 or (np.diff(x) < 0).any() or (np.diff(u) < 0).any():
                continue
            grid = np.union1d(x, u)
            grid = grid[(grid >= max(x[0], u[0])) & (grid <= min(x[-1], u[-1]))]
            gap = np.interp(grid, x, y) - np.interp(grid, u, v)
            k0 = np.flatnonzero(np.sign(gap[:-1]) * np.sign(gap[1:]) <= 0)[:20]
            for i in k0:
                share = gap[i] / (gap[i] - gap[i + 1]) if gap[i] != gap[i + 1] else 0
                at = grid[i] + share * (grid[i + 1] - grid[i])
                found += [at, np.interp(at, x, y)]
    return found


def plain(values):
    return np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)


def shown(fig):
    "Every number that a figure shows."
    values, counts = [], [len(fig.axes)]
    for ax in fig.axes:
        lines = []
        for line in ax.get_lines():
            x, y = (plain(v).ravel() for v in line.get_data(orig=False))
            values += turns(x, y)
            lines.append((x, y))
        if len(lines) <= 30:
            values += crossings(lines)
        points = [np.asarray(c.get_offsets(), dtype=float) for c in ax.collections if len(c.get_offsets())]
        for p in points:
            values += turns(*p.T)
        for patch in ax.patches:
            inside = ax.transData.inverted()
            box = patch.get_bbox() if hasattr(patch, "get_width") else patch.get_extents().transformed(inside)
            values += [box.x0, box.x1, box.y0, box.y1, box.width, box.height]
        for image in [*ax.images, *(c for c in ax.collections if c.get_array() is not None)]:
            a = plain(image.get_array())
            values += [np.nanmin(a), np.nanmax(a), *a.shape, a.size] if a.size else []
            values += list(a.ravel()) if a.size <= 400 else []
        values += [*ax.get_xlim(), *ax.get_ylim(), *ax.get_xticks(), *ax.get_yticks()]
        counts += [len(lines), len(ax.patches), len(ax.texts), *map(len, points), *(len(x) for x, _ in lines)]
    values = np.array(values, dtype=float)
    return np.concatenate([values, 100 * values, np.array(counts, dtype=float)])


def words_in(fig):
    "The numbers written in a figure."
    from matplotlib.text import Text

    texts = [t.get_text() for t in fig.findobj(Text)]
    bare = " ; ".join(texts).replace("$", " ").replace("\\mathdefault", "")
    return [number for number, *_ in said(bare)]


A_NUMBER = (int, float, np.number)


def numbers_of(value):
    """The numbers in a value that a cell names: itself, its size, its entries if they are few, its numeric
    fields."""
    if isinstance(value, A_NUMBER):
        return [float(value)]
    if isinstance(value, (list, tuple, set, dict, np.ndarray)) or hasattr(value, "to_numpy"):
        size = [float(len(value))] if getattr(value, "shape", True) else []  # a number alone has none
        inside = value.values() if isinstance(value, dict) else np.ravel(np.asarray(value, dtype=object))
        return size + [float(e) for e in inside if isinstance(e, A_NUMBER) and len(inside) <= SHORT]
    return [float(v) for v in getattr(value, "__dict__", {}).values() if isinstance(v, A_NUMBER)]


def set_in(code, names):
    "The numbers that a cell sets or names."
    code = "\n".join(line for line in code.splitlines() if not line.lstrip().startswith(("#|", "%", "!")))
    found = [float(n.replace("_", "")) for n in SOURCE_NUMBER.findall(code)]
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name) and node.id in names:
            found += numbers_of(names[node.id])
    return found


def unsupported(text, fig, code, names):
    "The numbers of a text that its figure does not show and its code neither sets nor names."
    setting = np.array(set_in(code, names))
    usual = [95]  # per cent, of every interval that says no other
    known = np.concatenate([shown(fig), words_in(fig), setting, 100 * setting, usual])
    close = {word: max(half, 1e-9 * abs(value)) * (1 + 1e-9) for value, half, word in said(text)}
    return [word for value, _, word in said(text) if not (abs(known - value) <= close[word]).any()]


def watch(told):
    """From now on every figure that a cell shows is held against its caption, its alternative text and the book's way
    to draw (drawn.py); `told` collects what is wrong."""
    import IPython.core.pylabtools as tools
    from cost_eval import plotting
    from execnb.shell import CaptureShell

    cell = {"source": "", "names": {}}
    run, draw, live = CaptureShell.run, tools.print_figure, plotting._svg

    def remember(self, code=None, *args, **kwargs):
        cell.update(source=code or "", names=self.user_ns)
        return run(self, code, *args, **kwargs)

    def label():
        return (re.search(r"#\| label: (\S+)", cell["source"]) or ["", "a figure"])[1]

    def way(fig):
        new = [f"{label()}: {fault}" for fault in drawn.faults(fig, cell["source"])]
        told.extend(line for line in new if line not in told)

    def look(fig, *args, **kwargs):
        way(fig)
        for what, text in WORDS_OF_A_FIGURE.findall(cell["source"]):
            plain = json.loads(text) if text.startswith('"') else text
            if missing := unsupported(plain, fig, cell["source"], cell["names"]):
                told.append(f"{label()}, {what}: not in the drawing: {', '.join(missing)}\n    {text}")
        return draw(fig, *args, **kwargs)

    def look_live(fig):
        way(fig)
        return live(fig)

    CaptureShell.run, tools.print_figure, plotting._svg = remember, look, look_live
