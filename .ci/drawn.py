"""Is a figure drawn in the book's way? Names as people write them, at most two strong colours a panel, words at the
lines, no legend box.

A figure that needs more says why, in a comment of the cell that shows it: `# colours: one a class`,
`# legend: the lines meet`, `# names: of functions that are timed`.
"""
import colorsys
import re

import numpy as np

STRONG = 0.3  # of the difference between the largest and the smallest of red, green and blue, on white
ONE_HUE = 10 / 360  # a paler or darker form of a colour is no second one
REASON = re.compile(r"^ *# (colours|legend|names): *\S", re.M)
CODE = re.compile(r"\b[a-z]\w*_\w+")


def written(fig):
    "The texts of a figure that show."
    from matplotlib.text import Text
    return [t.get_text() for t in fig.findobj(Text) if t.get_visible() and t.get_text().strip()]


def code_names(text, names):
    """What in a text is a name of the code: a word with underscores, or a key of `names` that people write
    otherwise."""
    bare = re.sub(r"\$[^$]*\$", " ", text)
    found = CODE.findall(bare)
    for key, name in names.items():
        words = key.replace("_", " ")
        if words != name and re.search(rf"(?<![\w-]){re.escape(words)}(?![\w-])", bare):
            found.append(words)
    return found


def painted(ax):
    "The colours of a panel, as RGBA; what a scale of colours gives is one look, not many."
    from matplotlib.colors import to_rgba, to_rgba_array

    found = []
    for line in ax.get_lines():
        if line.get_visible() and len(line.get_xdata()):
            inked = [line.get_color()] * (line.get_linestyle() != "None")
            if line.get_marker() not in ("None", "", " ", None):
                inked += [line.get_markerfacecolor(), line.get_markeredgecolor()]
            found += [to_rgba(c, line.get_alpha()) for c in inked if str(c) != "none"]
    found += [t.get_color() for t in ax.texts if t.get_visible() and t.get_text().strip()]
    for patch in filter(lambda patch: patch.get_visible(), ax.patches):
        found += [patch.get_facecolor(), *[patch.get_edgecolor()] * bool(patch.get_linewidth())]
    for group in ax.collections:
        if group.get_visible() and group.get_array() is None:
            edged = len(group.get_linewidths()) and max(group.get_linewidths()) > 0
            found += [*group.get_facecolors(), *(group.get_edgecolors() if edged else ())]
    return to_rgba_array(found) if found else np.empty((0, 4))


def strong_hues(colors):
    "How many different hues stand out on white."
    rgb = 1 - colors[:, 3:] * (1 - colors[:, :3])
    hues = sorted(colorsys.rgb_to_hsv(*c)[0] for c in rgb[np.ptp(rgb, axis=1) >= STRONG])
    return sum(b - a > ONE_HUE for a, b in zip(hues, hues[1:] + [hues[0] + 1])) or 1 if hues else 0


def faults(fig, source):
    "What is not in the book's way, in a figure that a cell shows."
    from cost_eval.plotting import NAMES

    excused = set(REASON.findall(source))
    named = {text: code_names(text, NAMES) for text in written(fig)} if "names" not in excused else {}
    found = [f"a name of the code: {', '.join(names)}" for names in named.values() if names]
    if "colours" not in excused:
        found += [f"{n} strong colours in a panel" for n in map(strong_hues, map(painted, fig.axes)) if n > 2]
    if "legend" not in excused and (fig.legends or any(ax.get_legend() for ax in fig.axes)):
        found.append("a legend box")
    return list(dict.fromkeys(found))
