"""Widgets where readers meet them: on the pages, which have no Python, and in JupyterLab. What they show is
compared with the library."""
import ast
import contextlib
import functools
import html
import importlib
import io
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binom, norm

from conftest import CHROMIUM, ROOT
from cost_eval import plotting
from test_browser import browser, opened, site  # noqa: F401 (fixtures)
from test_house import notebook_of

pytestmark = pytest.mark.skipif(CHROMIUM is None,
                                reason="SKIPPED BROWSER TESTS: no Chromium, apt-get install chromium")


# What the library says --------------------------------------------------------------------------------
# {notebook: function(readout) -> words that the figure must carry}; the other controls stand where the
# chapter puts them.

def decisions(ratio, prevalence):
    from sklearn.datasets import load_breast_cancer

    cancer = load_breast_cancer()
    ill, texture = cancer.target == 0, cancer.data[:, 1]
    at = np.unique(texture)
    tpr, fpr = (np.array([(texture[kind] >= t).mean() for t in at]) for kind in (ill, ~ill))
    cost = (1 - prevalence) * fpr + prevalence * ratio * (1 - tpr)
    lowest = min(cost.min(), 1 - prevalence, prevalence * ratio) / min(1 - prevalence, prevalence * ratio)
    found = [f"{lowest:.2f} of the naive"]
    if lowest < 1:  # else a constant decision
        found.append(f"TPR {tpr[cost.argmin()]:.2f}, FPR {fpr[cost.argmin()]:.2f}")
    return found


def expected_cost(fn_cost):
    best = 1.1 + (np.log(4) - np.log(fn_cost)) / 2.2
    cost = [.8 * norm.sf(t) + .2 * fn_cost * norm.cdf(t - 2.2) for t in (2, best)]
    return ["NEC {:.3f} at your threshold, {:.3f} at Bayes'".format(*np.array(cost) / min(.8, .2 * fn_cost))]


def loan(acceptance, defaulters):
    good = [max(0, 20 * acceptance - 10) + 10, max(0, 10 - 20 * acceptance), max(0, 20 * acceptance - 10)]
    bad, counts = [0, 10, 17.5], {"model A": [[90, 210, 600], [60, 30, 10]],
                                  "model B": [[20, 180, 700], [20, 55, 25]]}
    costs = {name: (1 - defaulters) * g + defaulters * b
             for name, g, b in zip(["always deny", "always high rate", "always standard"], good, bad)}
    costs |= {name: (1 - defaulters) * np.dot(n[0], good) / 900 + defaulters * np.dot(n[1], bad) / 100
              for name, n in counts.items()}
    name = min(costs, key=costs.get)
    return [f"cheapest: {name}, {round(costs[name], 9):.2f}"]  # half a cent stays half a cent


def two_scores(miss, frauds):
    t = np.linspace(-8, 12, 20_001)
    p = frauds / 1000
    found = [((1 - p) * 10 * norm.sf(t) + p * miss * norm.cdf((t - m) / s)).min() / min((1 - p) * 10,
            p * miss) for m, s in ((2, 1), (2.6, 2))]
    return ["NEC {:.3f} with A, {:.3f} with B".format(*found)]


def comparisons(models, n):
    k = np.arange(n + 1)
    above = binom.sf(k - 1, n, .1) ** models
    mean = above[1:].sum() / n  # of the least of so many binomial shares
    return [f"the cheapest of {models:.0f} shows {mean:.4f} on average, luck {.1 - mean:.4f}"]


def training(repeats, folds):
    from scipy.stats import t

    J, rho = folds * repeats, .2
    error = np.sqrt(rho + (1 - rho) / J)  # of the mean; S is sqrt(1 - rho) on average
    covers = [1 - 2 * t.sf(t.ppf(.975, J - 1) * np.sqrt((1 / J + c) * (1 - rho)) / error, J - 1)
              for c in (1 / (folds - 1), 0)]
    wide = [t.ppf(.975, J - 1) * np.sqrt((1 / J + c) * (1 - rho)) for c in (1 / (folds - 1), 0)]
    return ["covers {:.3f} corrected, {:.3f} not".format(*covers),
            "half width {:.2f} corrected, {:.2f} not".format(*wide)]


def cost_score(ratio, prevalence):
    t = np.linspace(-6, 8, 100_001)
    odds = (1 - prevalence) / prevalence
    lowest = (odds * norm.sf(t) + ratio * norm.cdf(t - 2)).min()
    return [f"cheapest {lowest:.3g}, no alarms {ratio:.3g}; slope {odds / ratio:.3g}"]


def curves(separation):
    from cost_eval.curves import outperformance_curve_auc

    t = np.linspace(9, -9, 200_001)
    recall, fpr = norm.sf(t - separation), norm.sf(t)
    area = np.trapezoid(.1 * recall / (.1 * recall + .9 * fpr), recall)
    score = outperformance_curve_auc("pr", area, .1, n_curves=1 << 12)
    return [f"area {area:.3f} beats {score:.1%}"]


def capacity(kept, call=40):
    from scipy.optimize import brentq

    one_more = lambda t: kept * .25 * norm.pdf(t - 1.2) / (.25 * norm.pdf(t - 1.2) + .75 * norm.pdf(t)) - call
    t = brentq(one_more, -9, 9) if call < kept else 9
    called = .25 * norm.sf(t - 1.2) + .75 * norm.sf(t)
    saved = .25 * kept * norm.sf(t - 1.2) - call * called
    return [f"{1000 * called:.0f} calls save most: {1000 * saved:.0f}"]


def missing(verified, sensitivity):
    share, alarms, misses = verified / 100, .9 * .1, .1 * (1 - sensitivity)
    seen, flagged = alarms + 20 * share * misses, alarms + .1 * sensitivity
    verified, most = seen / (flagged + share * (1 - flagged)), seen + 20 * (1 - share) * (1 - flagged)
    true = alarms + 20 * misses
    return [f"true {true:.3f}, of those verified {verified:.3f}, bounds {seen:.3f} to {most:.3f}"]


def demonstration(recall, precision):
    return [f"F1 = {2 * recall * precision / (recall + precision):.3f}"]


class Widget(NamedTuple):
    """A chapter's widget: the sliders that move (one or two), the function that makes it ("": the chapter's cells),
    what the library says, how precisely where the readout is rounded."""
    sliders: tuple
    made: str = ""
    says: Callable | None = None
    tolerance: float = 0

    def box(self):
        module, _, function = self.made.rpartition(".")
        return getattr(importlib.import_module(f"cost_eval.{module}"), function)()


WIDGETS = {
    "index": Widget(("what does a miss cost?",)),
    "01_confusion": Widget(("threshold",)),
    "02_costs": Widget(("price of a review, euro",)),
    "03_metrics": Widget(("share of frauds",)),
    "04_decisions": Widget(("a miss costs ... false alarms", "share of malignant"), "", decisions, .01),
    "05_plotting": Widget(("recall", "precision"), "", demonstration),
    "10_expected_cost": Widget(("share that takes", "share of def"), "expected_cost.explore_loan", loan),
    "11_rivals": Widget(("cost of a miss",), "rivals.explore_expected_cost", expected_cost),
    "12_scores": Widget(("a missed fraud costs (euros)", "frauds per 1,000"), "scores.explore_two_scores",
                        two_scores, .01),
    "20_bootstrap": Widget(("a costly error", "test examples"), "bootstrap.explore_interval"),
    "21_comparisons": Widget(("models tried", "test samples"), "comparisons.explore_luck", comparisons),
    "22_how_many": Widget(("true saving",), "planning.explore_stopping"),
    "23_training": Widget(("repeats", "folds"), "training.explore_repeats", training, .002),
    "30_cost_score": Widget(("cost of a miss", "prevalence"), "cost_score.explore_isocost", cost_score, .01),
    "40_weighted_accuracy": Widget(("prevalence", "α"), "weighted_accuracy.explore_ranking"),
    "41_metric_study": Widget(("metric",), "metric_study.explore_metric_study"),
    "50_outperformance": Widget(("value", "prevalence"), "outperformance.explore_outperformance"),
    "51_curves": Widget(("separation",), "curves.explore_tree_curves", curves, .01),
    "63_hand_over": Widget(("price of a person",)),
    "64_capacity": Widget(("a hit is worth",), "capacity.explore_capacity", capacity, .02),
    "65_missing_labels": Widget(("of those not flagged, verified, %", "sensitivity"),
                                "missing_labels.explore_missing", missing),
}
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]\d+)?"


@functools.cache
def said(says, *values):
    "What the library says; a page in motion is looked at many times."
    return says(*values)


def check_words(widget, readouts, words):
    "The figure's words hold the library's."
    for part in said(widget.says, *map(float, readouts)) if widget.says else []:
        found = re.search(re.sub(NUMBER, lambda _: f"({NUMBER})",
                                 re.escape(part).replace(r"\-", "-").replace(r"\.", ".")), words)
        told = f"at {readouts} the library says {part!r}, the figure {words!r}"
        assert found, told
        numbers = [[float(n) for n in re.findall(NUMBER, text)] for text in (part, found[0])]
        assert numbers[0] == pytest.approx(numbers[1], rel=widget.tolerance, abs=0), told


# On the page ------------------------------------------------------------------------------------------

def test_every_notebook_with_a_widget_is_looked_at():
    there = {p.stem for p in (ROOT / "nbs").glob("*.ipynb") if 'class=\\"ce-widget\\"'
             in p.read_text(encoding="utf-8")}
    assert there == {*WIDGETS}


def state(widget):
    "What a reader sees of a widget: its sliders' readouts, its picture, the picture's words."
    image = widget.locator("img.ce-shown").first
    image.evaluate("image => image.decode()")
    return tuple(widget.locator("output").all_text_contents()), image.get_attribute(
        "src"), image.get_attribute("alt")


@pytest.mark.parametrize("stem", WIDGETS)
def test_a_slider_moves_the_page(browser, site, stem):  # noqa: F811
    """By mouse and by keyboard; readouts, picture and words follow; no other control is there; they stand right
    above the picture, the others are a line below."""
    name = re.sub(r"^[0-9]+_", "", stem)
    with opened(browser, f"{site}/{name}.html", math=False) as page:
        # one is the answer to a guess
        page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        widget = page.locator(".ce-widget").first
        sliders = widget.locator("> label input").all()
        assert len(sliders) == len(WIDGETS[stem].sliders)
        assert widget.evaluate("e => e.outerHTML.length") < 600_000
        frames = np.prod([int(slider.get_attribute("max")) + 1 for slider in sliders])
        assert frames >= (25, 60)[len(sliders) - 1] or stem == "41_metric_study", "the study has 23 metrics"
        assert widget.locator(":is(input, select, button)").count() == len(sliders)
        below = [part.bounding_box()["y"] for part in (*sliders, widget.locator("img").first,
                                                       *widget.locator(".ce-more").all())]
        assert below == sorted(below) and below[len(sliders)] - below[len(sliders) - 1] < 60
        for slider, name in zip(sliders, WIDGETS[stem].sliders):
            assert slider.evaluate("e => e.labels[0].innerText").strip().startswith(
                name) and slider.bounding_box()["width"] >= 250
            seen = [state(widget)]
            slider.focus()
            for key in ("Home", "ArrowRight", "End"):
                slider.press(key)
                seen.append(state(widget))
            box = slider.bounding_box()
            page.mouse.click(box["x"] + .4 * box["width"], box["y"] + box["height"] / 2)
            seen.append(state(widget))
            assert min(len({at for at, _, _ in seen}), len({src for _, src, _ in seen})) >= 4, stem
            for at, _, words in seen:
                check_words(WIDGETS[stem], at, words)
            assert slider.get_attribute("aria-valuetext") in seen[-1][0]


def outside(figure):
    "Marks and bars of a figure that the frames of its axes cut off, or hide."
    found = []
    for ax in figure.axes:
        low, high = np.sort([ax.get_xlim(), ax.get_ylim()], axis=1).T
        low, high = low - 1e-6 * (high - low), high + 1e-6 * (high - low)
        for line in ax.lines:
            if line.get_marker() not in ("None", "", None) and line.get_transform() == ax.transData:
                points = np.array(line.get_xydata(), float)
                found += [("mark", *point) for point in points[np.isfinite(points).all(1)]
                          if (point < low).any() or (point > high).any()]
        for bar in (patch for patch in ax.patches if hasattr(patch, "get_width")):
            corners = bar.get_extents().transformed(ax.transData.inverted()).get_points()
            seen = (np.ptp(corners, axis=0) > .005 * (high - low)).all()
            found += [("bar", *corners[1])] * bool(seen and bar.get_visible() and (corners[1] > high).any())
    return found + cut_words(figure)


@pytest.fixture
def style():
    "The book's, for one test."
    import matplotlib

    with matplotlib.rc_context():
        plotting.use_style()
        yield


def cut_words(figure):
    "Axes that stick out of the drawing with their titles, words, and labels of ticks."
    figure.draw_without_rendering()
    needed = [ax.get_tightbbox().extents for ax in figure.axes]
    return [("words", *np.round(box)) for box in needed if (box[:2] < -1).any()
            or (box[2:] > figure.bbox.max + 1).any()]


def explored(name):
    "A chapter's widget, and its sliders that move on the page."
    box = WIDGETS[name].box()
    return box, [next(c for c in plotting._controls(box) if c.description.startswith(words))
                 for words in WIDGETS[name].sliders]


@pytest.mark.parametrize("name", [name for name, widget in WIDGETS.items() if widget.made])
def test_a_picture_follows_the_hand_and_nothing_is_cut_off_at_either_end(style, monkeypatch, name):
    """A redraw, by the sliders that move on the page, takes at most 4.5 times what two plain panels take: the
    150 ms of a machine that draws these in 33.
    What is drawn, compared with the axes, and the axes with the drawing, in all corners of what moves on the
    page, and where it stands.
    """
    _, sliders = explored(name)
    starts = [s.value for s in sliders]
    plain = np.median([processor_time(two_plain_panels) for _ in range(3)])
    for slider in sliders:
        took = [processor_time(lambda value=value: setattr(slider, "value", value))
                for value in plotting._positions(slider)[:4]]
        assert np.median(took[1:]) < 4.5 * plain, slider.description
    figures = []
    monkeypatch.setattr(plotting, "_svg", lambda figure: figures.append(figure) or "<svg></svg>")
    for corner in (*itertools.product(*((plotting._positions(s)[0], plotting._positions(s)[-1])
                                        for s in sliders)), starts):
        for each, value in zip(sliders, corner):
            each.value = value
        assert outside(figures[-1]) == [], corner


def processor_time(act):
    "Of an act, in seconds."
    start = time.process_time()
    act()
    return time.process_time() - start


def two_plain_panels():
    from matplotlib.figure import Figure
    axes = Figure((5, 3.4)).subplots(1, 2)
    for ax in axes:
        ax.plot(range(50))
    axes[0].figure.savefig(io.BytesIO(), format="svg")


def test_without_scripts_the_page_shows_the_first_state(browser, site):  # noqa: F811
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{site}/plotting.html")
    widget = page.locator(".ce-widget")
    assert widget.locator("input:enabled").count() == 0 and widget.locator("output").all_text_contents() == [
        "0.40", "0.70"]
    box = widget.locator("img[data-whole]").bounding_box()
    assert box["width"] > 300 and box["height"] > 100 and "F1 = 0.509" in widget.locator(
        "img[data-whole]").get_attribute("alt")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_widget_fits_a_phone_and_shows_its_focus(browser, site, scheme):  # noqa: F811
    with opened(browser, f"{site}/scores.html", width=390, height=844, scheme=scheme) as page:
        widget = page.locator(".ce-widget")
        for slider in widget.locator("> label input").all():
            box = slider.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["width"] > 200
        slider.focus()
        slider.press("ArrowRight")
        assert slider.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"


# In JupyterLab ----------------------------------------------------------------------------------------

PATIENCE = 120  # seconds; a loaded machine with two cores needs them


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    "Address and folder of a JupyterLab with settings of its own."
    pytest.importorskip("jupyterlab", reason='needs pip install "cost_eval[dev]"')
    tmp_path = tmp_path_factory.mktemp("lab")
    (tmp_path / "nbs").mkdir()
    settings = tmp_path / "settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"windowingMode": "none"}')  # else cells that are out of sight are out of the page
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "RUNTIME")}
    own |= {f"JUPYTERLAB_{name}_DIR": str(tmp_path / name.lower()) for name in ("SETTINGS", "WORKSPACES")}
    env = os.environ | own | {"PYTHONPATH": str(ROOT), "COST_EVAL_STILL": "1", "IPYTHONDIR": str(tmp_path)}
    words = ["--no-browser", "--allow-root", f"--port={port}", "--IdentityProvider.token=",
             f"--ServerApp.root_dir={tmp_path / 'nbs'}", "--LabApp.news_url=None",
             "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    log = tmp_path / "lab.log"
    with log.open("w") as told:
        process = subprocess.Popen([sys.executable, "-m", "jupyterlab", *words], env=env, cwd=tmp_path,
                                   stdout=told, stderr=told)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers(f"{url}/api"), "JupyterLab does not start", lambda: log.read_text()[-3000:])
        yield url, tmp_path / "nbs"
    finally:
        process.terminate()
        process.wait(30)


def answers(url):
    with contextlib.suppress(OSError):
        return urllib.request.urlopen(url, timeout=5).status == 200


def wait_for(condition, complaint, detail):
    "Poll until it is true."
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{complaint} in {PATIENCE} s: {detail()}"
        time.sleep(.5)


def stored(tree):
    "Names that some code assigns or takes as arguments."
    return {node.id if isinstance(node, ast.Name) else node.arg for node in ast.walk(tree)
            if isinstance(node, ast.arg) or isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def leaned_on(trees):
    "The notebook's names that its last cell leans on, through the functions that the cells define."
    functions = {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)}
    todo, found = [trees[-1]], set()
    while todo:
        code = todo.pop()
        inside = stored(code) if isinstance(code, ast.FunctionDef) else set()
        names = {node.id for node in ast.walk(code) if isinstance(node, ast.Name)} - inside - found
        found |= names
        todo += [functions[name] for name in names if name in functions]
    return found


def anew(tree, exported):
    "Names that a cell gives another meaning; the functions and tables it exports mean the same as before."
    return {name for node in tree.body for name in ({node.name} if isinstance(node, ast.ClassDef) else
            stored(node) if not exported and not isinstance(node, ast.FunctionDef) else set())}


@pytest.mark.parametrize("stem", WIDGETS)
def test_a_widget_still_moves_when_all_cells_have_run(stem):
    """What its functions lean on is not defined anew by a cell below it: not even a class by the cell that
    exports it."""
    cells = [cell for cell in json.loads((ROOT / f"nbs/{stem}.ipynb").read_text(encoding="utf-8"))["cells"]
             if cell["cell_type"] == "code"]
    texts = ["".join(cell["source"]) for cell in cells]
    trees = [ast.parse(re.sub(r"^( *)[%!].*", r"\1pass", text, flags=re.M)) for text in texts]
    for k in (k for k, cell in enumerate(cells) if 'class=\\"ce-widget\\"' in json.dumps(cell["outputs"])):
        lent = leaned_on(trees[:k + 1]) - stored(trees[k])
        for tree, text in zip(trees[k + 1:], texts[k + 1:]):
            assert not lent & anew(tree, text.startswith("#| export")), text[:80]


MADE = [stem for stem, widget in WIDGETS.items() if widget.made]


def test_sliders_move_the_widgets_in_jupyterlab(browser, lab):  # noqa: F811
    """Run the cells, move the slider by the keyboard: picture and words follow, and say what the library says;
    no label is cut off."""
    url, folder = lab
    sources = ["from cost_eval import plotting\nplotting.use_style()"]
    for module, _, function in (WIDGETS[stem].made.rpartition(".") for stem in MADE):
        sources.append(f"from cost_eval.{module} import {function}\n{function}()")
    (folder / "chapters.ipynb").write_text(json.dumps(notebook_of(*sources)), encoding="utf-8")
    page, complaints = browser.new_page(viewport={"width": 1500, "height": 1000}), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"{url}/lab/tree/chapters.ipynb?reset")
    idle = page.locator("#jp-main-statusbar").get_by_text(re.compile(r"\| Idle"))
    idle.wait_for()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    outputs = page.locator(".jp-OutputArea-output:has(img.widget-image)")
    wait_for(lambda: outputs.count() == len(MADE) and idle.count(), "not all are shown", outputs.count)
    for k, stem in enumerate(MADE):
        move_in_lab(page, outputs.nth(k), WIDGETS[stem])
    page.close()
    assert not complaints


def move_in_lab(page, output, widget):
    "Move the slider of one widget; wait until it agrees with the library."
    image = output.locator("img.widget-image")
    sliders = output.locator(".widget-inline-hbox:has(.noUi-target)")
    row = sliders.filter(has_text=widget.sliders[0]).last
    readout, handle = row.locator(".widget-readout"), row.locator(".noUi-handle")
    before = image.get_attribute("src"), readout.text_content()
    at_end = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
    handle.focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")
    whole = "all => all.every(e => e.scrollWidth <= e.clientWidth)"
    assert output.locator(".widget-label").evaluate_all(whole)

    def seen():
        text = image.evaluate("async image => (await fetch(image.src)).text()")
        rows = [sliders.filter(has_text=name).last for name in widget.sliders]
        return [one.locator(".widget-readout").text_content() for one in rows], html.unescape(
            re.search("<title>(.*?)</title>", text)[1])

    def agrees():
        if image.get_attribute("src") == before[0] or readout.text_content() == before[1]:
            return False
        with contextlib.suppress(AssertionError):
            check_words(widget, *seen())
            return True
    wait_for(agrees, "the widget does not move to what the library says", seen)
