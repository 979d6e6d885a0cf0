"""The check of captions against figures notices a number that is not in the drawing, and takes those that
are."""
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / ".ci"))
import captions  # noqa: E402
import drawn  # noqa: E402

CODE = "n = 1_000\nax.set(xlabel='x')"


@pytest.fixture(scope="module")
def figure():
    "A falling and a rising line of many points, which cross at (2.5, 5), and a word."
    fig = Figure()
    ax, x = fig.subplots(), np.linspace(0, 7.3, 400)
    ax.plot(x, 10 - 2 * x)
    ax.plot(x, 2 * x)
    ax.set(xlim=(0, 8), ylim=(-6, 16), xticks=[0, 8], yticks=[0], title="cheapest from 3.21 on")
    return fig


@pytest.mark.parametrize("text", ["from 10 to -4.6", "they cross at 2.5", "two lines over 0 to 7.3",
                                  "cheapest from 3.21 on", "of 1,000 examples", "by (20.7), $99$"])
def test_what_is_drawn_written_or_set_is_found(figure, text):
    assert captions.unsupported(text, figure, CODE, {}) == []


@pytest.mark.parametrize("text, missing", [("from 10 to -4.7", ["-4.7"]), ("they cross at 2.6", ["2.6"]),
                                           ("of 2,000 examples", ["2,000"]), ("at 5/17", ["5/17"])])
def test_what_is_not_is_named(figure, text, missing):
    assert captions.unsupported(text, figure, CODE, {}) == missing


# The book's way to draw

def panel(paint):
    "A figure on which `paint(ax)` has drawn."
    fig = Figure()
    paint(fig.subplots())
    return fig


COLOURS = ["#3f90da", "#ffa90e", "#bd1f01"]


def three_lines(ax):
    for k, color in enumerate(COLOURS):
        ax.plot([0, 1], [k, k], color=color, label=f"line {k}")


@pytest.mark.parametrize("words, names", [("best f_beta at 0.3", "f_beta"), ("cohen kappa", "cohen kappa"),
                                          ("mcc", "mcc"), ("Cohen's kappa", ""), ("$C_{FN}$ by $r_c$", ""),
                                          ("MCC, F-beta and P4", "")])
def test_names_of_the_code_are_found(words, names):
    fig = panel(lambda ax: ax.set_xlabel(words))
    assert drawn.faults(fig, "") == [f"a name of the code: {names}"] * bool(names)


@pytest.mark.parametrize("paint, faults", [
    (three_lines, ["3 strong colours in a panel"]),
    (lambda ax: (three_lines(ax), ax.legend()), ["3 strong colours in a panel", "a legend box"]),
    (lambda ax: [ax.axvspan(k, k + 1, color=color, alpha=.15) for k, color in enumerate(COLOURS)], []),
])
def test_a_third_strong_colour_and_a_legend_are_found(paint, faults):
    fig = panel(paint)
    assert drawn.faults(fig, "ax.plot(x)") == faults
    assert drawn.faults(fig, "# legend: the lines meet\n    # colours: one a class") == []
