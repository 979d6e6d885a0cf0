"""Figures and widgets: the ink is the data, and a page without Python shows what a kernel draws."""
import importlib
import json
import pkgutil
import re
from itertools import product

import lxml.etree
import lxml.html
import ipywidgets as widgets
import matplotlib
import numpy as np
import pytest

import cost_eval
from cost_eval import plotting
from cost_eval.plotting import COLORS, DASHES, LINES, ensure_axes, explorer, for_page, live_figure
from cost_eval.plotting import slider, use_style


def test_lines_differ_without_colour():
    "Two strong colours, then greys; each line has its own dashes."
    use_style()
    ax = ensure_axes(figsize=(4, 3))
    shown = [matplotlib.colors.to_hex(ax.plot([0, 1], [k, k])[0].get_color()) for k in range(5)]
    assert shown == [*LINES] and shown[:2] == [*COLORS[:2]] and len({*COLORS}) == 10
    assert all(np.ptp(matplotlib.colors.to_rgb(color)) < .1 for color in shown[2:])
    kinds = matplotlib.rcParams["axes.prop_cycle"].by_key()["linestyle"]
    assert kinds == [*DASHES] and len({*map(str, kinds)}) == 5
    assert not ax.spines["top"].get_visible() and ax.figure.get_layout_engine() is not None
    assert ensure_axes(ax) is ax and ensure_axes().figure is not ax.figure
    assert [tuple(one.figure.get_size_inches()) for one in (ax, ensure_axes())] == [(4, 3), (4.9, 3.2)]


# Live figures

def chapter(columns=1, kept=None):
    "A line and a point that moves, as chapters make them; the Axes are kept in a list."
    def draw(axes):
        ax = axes if columns == 1 else axes[0]
        [] if kept is None else kept.append(ax)
        ax.plot([0, 9], [0, 81], label="line")
        ax.set_title("$n$ = 5", loc="right")
        return ax, ax.plot([2], [4], "o")[0]

    def move(axes, artists, x):
        ax, point = artists
        point.set_data([x], [x * x])
        ax.set_title(f"square of {x:.0f} & <root>: {x * x:.0f}")
    return live_figure(draw, move, (3, 2), columns=columns)


def test_a_live_figure_says_and_draws_its_values():
    kept, seen = [], {}
    image, show = chapter(kept=kept)
    assert not image.value and image.layout.width == "288px"  # 3 inches of 96
    for x in (1, 4, 9, 1):
        show(x=x)
        svg = bytes(image.value).decode()
        assert seen.setdefault(x, svg) == svg
        title = lxml.etree.fromstring(svg).findtext("{http://www.w3.org/2000/svg}title")
        assert title == f"square of {x} & <root>: {x * x}; n = 5"
        place = re.findall(r"<use href='#m\w+' x='([\d.]+)' y='([\d.]+)' style='fill", svg)[-1]
        at = kept[0].transData.transform((x, x * x))  # points from the upper left corner
        assert [float(v) for v in place] == pytest.approx([at[0], 144 - at[1]], abs=.011)
    assert "viewBox='0 0 216 144'" in svg and '"' not in svg and "<!--" not in svg
    assert not re.search(r"\d\.\d{3,}", re.sub(r"<defs>.*?</defs>", "", svg.split("</style>")[1]))


@pytest.mark.parametrize("step, low, high, value, text", [(1, 0, 20, 5, "5"), (.05, 0, 1, .3, "0.30"),
                                                          (.001, 0, 1, .25, "0.250"), (2.5, 0, 10, 5, "5.0")])
def test_sliders_show_the_decimals_of_their_steps(step, low, high, value, text):
    control = slider("share", value, low, high, step)
    assert plotting._readout(control) == text and control.description == "share"
    assert (control.min, control.max, control.step, control.value) == (low, high, step, value)


@pytest.mark.parametrize("value, low, high, step", [(5, 0, 1.7, .05), (9, -1, 1.5, .05), (1000, 0, 3, .1)])
def test_a_logarithmic_slider_begins_on_one_of_its_steps(value, low, high, step):
    "Else the browser moves it there, and the picture with it."
    control = slider("ratio", value, low, high, step, log=True)
    steps = (np.array([np.log10(control.value), control.max]) - control.min) / control.step
    assert steps == pytest.approx(np.rint(steps), abs=1e-9) and (control.value, control.min) == (value, low)
    assert (control.max, control.step) == pytest.approx((high, step), abs=step / 2)


# On a page without Python

@pytest.mark.parametrize("value", [0, .37, 1])
def test_positions_are_steps_and_hold_the_own_one(value):
    found = plotting._positions(widgets.FloatSlider(value=value, min=0, max=1, step=.01))
    assert {0, value, 1} <= {*found} and len(found) in (27, 28) and found == sorted(found)
    assert np.array(found) * 100 == pytest.approx(np.rint(np.array(found) * 100))
    assert max(np.diff(found)) <= .04 + 1e-9
    assert plotting._positions(widgets.IntSlider(value=2, min=1, max=3)) == [1, 2, 3]
    assert plotting._positions(widgets.SelectionSlider(options=[("low", .1), ("high", .9)])) == [.1, .9]


def bundle(box):
    "The page's elements, its frames, and what stands where no page is shown."
    shown = box._repr_mimebundle_()
    text = re.search(r'<script type="application/json">(.*?)</script>', shown["text/html"], re.S)
    # nothing that ends the script or looks like a table
    assert not text or "</" not in text[1] and "<t" not in text[1]
    return lxml.html.fromstring(shown["text/html"]), text and json.loads(text[1]), shown


def played(pieces, ranges):
    "What the page puts together."
    ends = [[int(k) for k in part.split("-")] for part in ranges.split(",")]
    return "".join(pieces[k] for part in ends for k in range(part[0], part[-1] + 1))


def without(what, svg):
    return re.sub(rf"<{what}>.*?</{what}>", "", svg)


def test_every_frame_of_a_page_is_what_the_kernel_draws():
    image, show = chapter()
    control, note = slider("x <b>more", 2, 0, 9, 1), widgets.HTML()

    def both(x):
        show(x=x)
        note.value = f"<table><tr><td>root {x:g}</td></tr></table>"
    page, data, shown = bundle(explorer({"x": control}, image, both, note, moves="x", alt="A parabola."))
    assert control.value == 2 and shown["text/plain"] == "x <b>more 2"
    assert data["says"] == [[str(k) for k in range(10)]]
    for k, ((ranges, words), told) in enumerate(data["frames"]):
        control.value = k
        still = played(data["pieces"], ranges)
        assert without("defs", still) == without("title", without("defs", bytes(image.value).decode()))
        assert {*re.findall(r"href='#(\w+)'", still)} <= {*re.findall(r"id='(\w+)'", still)}
        assert played(data["pieces"], words) == note.value
        assert told == [f"A parabola. square of {k} & <root>: {k * k}; n = 5", "A parabola."]
    field = page.find(".//input")
    told = [field.get(name) for name in ("max", "value", "aria-valuetext", "type")]
    assert told == ["9", "2", "2", "range"]
    texts = [page.find(f".//{path}").text for path in ("output", "label/span", "td")]
    assert texts == ["2", "x <b>more", "root 2"] and page.find(".//fieldset") is None
    assert page.find(".//img").get("alt") == "A parabola. square of 2 & <root>: 4; n = 5"
    assert page.find(".//img").get("src").startswith("data:image/svg+xml,%3Csvg")


def test_two_sliders_move_together():
    "Frames stand in the order of a table, the second slider along its rows; both are back where they were."
    note = widgets.HTML()
    sliders = {"a": slider("a", 1, 0, 2, 1), "b": slider("b", 100, 0, 3, 1, log=True),
               "c": slider("c", 7, 0, 9, 1)}

    def say(a, b, c):
        note.value = f"{a:g} {b:g} {c:g}"
    page, data, _ = bundle(explorer(sliders, note, say, moves=("b", "a")))
    assert data["says"] == [["1", "10", "100", "1000"], ["0", "1", "2"]] and note.value == "1 100 7"
    frames = [played(data["pieces"], values[0]) for values, _ in data["frames"]]
    assert frames == [f"{a} {b} 7" for b, a in product((1, 10, 100, 1000), range(3))]
    assert [(e.get("value"), e.get("max"), e.getparent()[0].text, e.getnext().text)
            for e in page.findall(".//input")] == [("2", "3", "b", "100"), ("1", "2", "a", "1")]
    assert page.find(".//p").text == "In JupyterLab these move, too: c 7."
    with pytest.raises(ValueError, match="moves.*'d'"):
        explorer(sliders, note, lambda **values: None, moves=("a", "d"))


@pytest.mark.parametrize("path", ["M 1.23 4.56 L 2.34 4.46 L 2.36 -9.01 z M 0.04 100 L 0 10 ",
                                  "M 0 0 L 0.1 0.1 L -0.2 0 "])
def test_a_line_by_steps_goes_through_its_points(path):
    places, here = [], np.zeros(2)
    for kind, x, y in re.findall(r"([Ml])(-?[\d.]+)[ ]?(-?[\d.]+)", plotting._by_steps(path)):
        here = np.array([float(x), float(y)]) + (here if kind == "l" else 0)
        places.append(here)
    points = np.array(re.findall(r"[ML] (\S+) (\S+)", path), float)
    assert np.array(places) == pytest.approx(points, abs=.05 + 1e-9)
    assert plotting._by_steps(path).count("z") == path.count("z")


def test_what_cannot_move_is_no_control_on_the_page():
    """Every kind of control is named in one line below the picture, with where it stands; what is hidden is
    left out."""
    drawing = widgets.Image(value=b"<svg><title>Here.</title></svg>", format="svg+xml")
    kinds = [slider("share", .4, 0, 1, .1), drawing,
             widgets.Dropdown(options=["<b>"], value="<b>", description="drop"),
             widgets.Dropdown(options=["a"], value=None, description="none"),
             widgets.Button(description="Go & see"), widgets.HTML("<b>words</b>"),
             widgets.Text("secret", layout=widgets.Layout(display="none"))]
    page, data, shown = bundle(for_page(widgets.VBox([widgets.HBox(kinds[:3]), *kinds[3:]]), alt="A dot."))
    assert page.find(".//p").text == "In JupyterLab these move: share 0.4; drop <b>; none; Go & see."
    assert not any(page.findall(f".//{tag}") for tag in ("input", "select", "button", "fieldset", "label"))
    assert "secret" not in shown["text/html"] + shown["text/plain"] and page.find(".//b").text == "words"
    assert page.find(".//img").get("alt") == "A dot. Here."
    assert shown["text/html"].index('<p class') > shown["text/html"].index("<img")


# The chapters' widgets

MADE = [f"{module.name}.{name}" for module in pkgutil.iter_modules(cost_eval.__path__)
        if module.name not in ("api", "__main__", "_modidx")
        for name in getattr(importlib.import_module(f"cost_eval.{module.name}"), "__all__", ())
        if name.startswith("explore_")]


def parts(box, kind):
    found = [part for child in getattr(box, "children", ()) for part in parts(child, kind)]
    return [box, *found] if isinstance(box, kind) else found


@pytest.mark.parametrize("name", MADE)
def test_every_control_moves_the_picture(name):
    module, _, maker = name.rpartition(".")
    box = getattr(importlib.import_module(f"cost_eval.{module}"), maker)()
    image, = parts(box, widgets.Image)
    for control in parts(box, (widgets.FloatSlider, widgets.FloatLogSlider, widgets.IntSlider,
                               widgets.Dropdown, widgets.SelectionSlider)):
        before, start = bytes(image.value), control.value
        if hasattr(control, "options"):
            control.index = 0 if control.index else len(control.options) - 1
        else:
            ends = np.array([control.min, control.max])
            low, high = (control.base**ends if isinstance(control, widgets.FloatLogSlider) else ends).tolist()
            control.value = high if start == low else low
        assert bytes(image.value) != before, control.description
        control.value = start
