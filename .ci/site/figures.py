"""How a figure is shown: never so small that its words cannot be read, and in the dark in colours made for it.

| what | the reader's need |
| --- | --- |
| `sized`, `put` | words of 9 px at any width, nothing that jumps while a picture loads |
| `panels` | on a phone panels one below the other |
| `dark` | light ink on dark ground, with the strong colours as they are; words on colours that can be read |

A figure is drawn for the column of a page. Where the column is narrower, on a phone, its panels stand alone, one below the other where
they do not fit side by side (the same file, seen through another window: `#svgView(viewBox(x,y,w,h))`). A panel shrinks with its column
until its smallest words are SMALLEST pixels high, and then it scrolls in its own frame. Each image of the finished pages carries that
width (`--least`, for the style sheets) and its size, so that nothing jumps while it loads, stills and widgets alike.
"""
import base64
import colorsys
import io
import re
from functools import lru_cache, partial
from typing import NamedTuple
from urllib.parse import quote, unquote

import lxml.etree
import numpy as np
from PIL import Image

SMALLEST = 9.05  # pixels, the size of type
COLUMN = 780  # pixels, of text on a wide screen; a figure is shown up to a quarter larger than drawn
IMAGE = re.compile(r'<img\b[^>]*?\bsrc="((?:[^":]+\.svg|data:image/svg\+xml,[^"]*))"[^>]*>')
NO_HEAD = re.compile(r"<th\b([^>]*)>(?:\s|&nbsp;|</?p>)*</th>")
NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")
FILTER = "image{filter:invert(.9) hue-rotate(180deg) brightness(1.3)}"
GROUND = "#121212"  # of the dark pages
# what is painted: a picture of cells, an area, or words
PAINTED = re.compile(r'(?P<image><image [^>]*>)|<path d="(?P<path>[^"]*)"[^>]*style="fill: (?P<area>#[0-9a-f]{6})(?!; opacity: 0\.[0-4])[^"]*"'
                     r'|(?P<head><g (?:style="fill: (?P<word>#[0-9a-f]{6})[^"]*" )?)transform="translate\((?P<x>[-\d.]+) (?P<y>[-\d.]+)\)(?P<turn> rotate\([^)]*\))? '
                     r'scale\((?P<scale>[\d.]+) -[\d.]+\)">(?P<glyphs>.*?)</g>', re.S)
POINT = re.compile(r"(-?[\d.]+) (-?[\d.]+)")
PLACED = re.compile(r"translate\(([-\d.]+) ([-\d.]+)\)(?: rotate\(([-\d.]+)\))?")


class Size(NamedTuple):
    "Of a drawing: width, height and the smallest words in pixels at its natural size, and its panels (x, y, width, height in units of the drawing), if it has several."
    width: float
    height: float
    words: float
    panels: tuple


def sized(docs):
    "Write size and least width beside every drawing of the finished pages, and its panels after it; a table's head without words is no head."
    for path in docs.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        new = NO_HEAD.sub(r"<td\1></td>", IMAGE.sub(partial(with_size, docs), text))
        if new != text:
            path.write_text(new, encoding="utf-8")


def with_size(docs, found):
    "The image's tag with its width, height and least width in pixels, and its panels; one whose drawing has no words is left alone."
    tag, source = found[0], found[1]
    size = measure(unquote(source.partition(",")[2]).replace("'", '"')) if source.startswith("data:") else of_file(docs / unquote(source))
    if not size or "--least" in tag or "#svgView" in source:
        return tag
    bare = re.sub(r' (?:width|height|style)="[^"]*"', "", tag)
    grow = max(1, min(1.25, COLUMN / size.width))
    large = put(bare, grow * size.width, grow * size.height, grow * size.words)
    if not size.panels:
        return large
    parts = []
    for k, (x, y, width, height) in enumerate(size.panels):
        view, alone = f"#svgView(viewBox({x:g},{y:g},{width:g},{height:g});preserveAspectRatio(none))", bare
        if k:  # the first one speaks for all
            alone = re.sub(r' alt="[^"]*"', ' alt="" role="presentation"', alone)
        # a widget's drawing is in the page once: site.js shows it through the windows
        new = f' data-view="{view}"' if source.startswith("data:") else f' src="{source}{view}"'
        parts.append(put(alone.replace(f' src="{source}"', new), 4 / 3 * width, 4 / 3 * height, words=size.words))
    wide = "wide" if size.width * SMALLEST > 640 * size.words else ""  # too wide for a tablet
    whole = large.replace("<img", f'<img data-whole="{wide}"', 1)
    return f'{whole}<span class="panels">{"".join(parts)}</span>'


def put(tag, width, height, words):
    return tag.replace("<img", f'<img width="{width:.0f}" height="{height:.0f}" style="--least: {-(-width * SMALLEST // words):.0f}px; aspect-ratio: {width:.0f}/{height:.0f}"', 1)


@lru_cache(None)
def of_file(path):
    return measure(path.read_text(encoding="utf-8")) if path.is_file() else None


def measure(svg):
    "The Size of a drawing of matplotlib's; or None."
    box = re.search(r'<svg[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    sizes = [float(scale) for scale in re.findall(r'transform="[^"]*scale\(([\d.]+) -', svg)]  # glyphs are drawn at size 100
    if not box or not sizes:
        return None
    width, height, words = float(box[1]), float(box[2]), 100 * min(sizes)  # in points
    return Size(4 / 3 * width, 4 / 3 * height, 4 / 3 * words, panels(svg, width, height))


# Panels ------------------------------------------------------------------------------------------

def panels(svg, width, height, gap=3):
    "Boxes of the axes with all their words, what overlaps as one; none where they do not stand side by side."
    tree = lxml.etree.fromstring(svg.encode(), lxml.etree.XMLParser(huge_tree=True, recover=True))
    parts = next(tree.iterchildren("{*}g"), ())  # of the figure: its ground, axes, words, legends; a widget's have no names
    parts = [e for part in parts for e in (part[1:] if part.get("id", "").startswith("subfigure") else [part])]  # without its ground
    found = [extent(e) for e in parts]
    parts = [box for box in found if box and (box[2] - box[0] < .98 * width or box[3] - box[1] < .98 * height)]
    boxes = []
    for box in sorted(parts, key=lambda b: b[0] - b[2]):  # what overlaps belongs together, and what is narrow, a scale of colours, to what is beside it
        reach = gap if box[2] - box[0] > .12 * width else .05 * width
        while near := [b for b in boxes if b[0] - reach < box[2] and box[0] - reach < b[2] and b[1] - gap < box[3] and box[1] - gap < b[3]]:
            boxes = [b for b in boxes if b not in near]
            box = tuple(f(v) for f, v in zip((min, min, max, max), zip(box, *near)))
            reach = gap
        boxes.append(box)
    if len(boxes) < 2 or max(x1 - x0 for x0, _, x1, _ in boxes) > .8 * width or min(x1 - x0 for x0, _, x1, _ in boxes) < .12 * width:
        return ()
    rows = sorted(boxes, key=lambda b: (round(b[1] / height * 4), b[0]))
    return tuple(tuple(round(v, 1) for v in (max(0, x0 - 2), max(0, y0 - 2), min(width, x1 + 2) - max(0, x0 - 2), min(height, y1 + 2) - max(0, y0 - 2)))
                 for x0, y0, x1, y1 in rows)


def extent(group):
    "The box around a group: its frame, its words, and what is not clipped to the frame; nothing for an empty one."
    xs, ys = [], []
    for e in group.iter("{*}path", "{*}g", "{*}use", "{*}image"):
        place = e.get("transform", "")
        if e.tag.endswith("}g") and (at := PLACED.match(place)) and " -" in place:
            scale, ends = float(re.search(r"scale\(([\d.]+) -", place)[1]), [0.0]
            for use in e.iter("{*}use"):
                ends.append(float(use.get("x") or (NUMBERS.findall(use.get("transform", "")) or [0])[0]))
            long, high, x, y = (max(ends) + 65) * scale, 80 * scale, float(at[1]), float(at[2])
            upright = abs(float(at[3] or 0)) > 45
            xs += [x - high, x + .25 * high] if upright else [x, x + long]
            ys += [y - long, y] if upright else [y - high, y + .25 * high]
        elif e.tag.endswith("}path") and not e.get("clip-path") and not e.get("transform") and next(e.iterancestors("{*}defs"), None) is None:
            numbers = [float(n) for n in NUMBERS.findall(e.get("d", ""))]
            xs, ys = xs + numbers[::2], ys + numbers[1::2]
    return (min(xs), min(ys), max(xs), max(ys)) if xs and ys else None


# In the dark -------------------------------------------------------------------------------------

def dark(svg):
    "The drawing with a style sheet for dark pages, which holds for it as an image, too (a browser that does not know shows it as the system is)."
    return re.sub(r"<svg [^>]*>", lambda head: head[0] + style(svg, FILTER * pale(svg)), with_words_on_colours(svg), count=1)


def with_words_on_colours(svg):
    "The drawing with the words that would not show on what lies under them in the dark marked as black or white there."
    from cost_eval.plotting import contrast
    areas, pieces, end, turned = [], [], 0, pale(svg)
    for found in PAINTED.finditer(svg):
        if found["image"]:
            areas.append((picture(found["image"], turned), box_of(found["image"])))
        elif found["path"]:
            areas.append((lambda *_, color=found["area"]: for_dark(color), [tuple(map(float, point)) for point in POINT.findall(found["path"])]))
        else:
            scale, x, y = (float(found[key]) for key in ("scale", "x", "y"))
            long = 30 * scale + .5 * scale * float((re.findall(r'<use[^>]*(?:translate\(| x=")([\d.]+)', found["glyphs"]) or [0])[-1])
            at = (x, y - long) if found["turn"] else (x + long, y - 35 * scale)
            ground = next((color(*at) for color, edge in reversed(areas) if within(at, edge)), GROUND)
            if contrast(for_dark(found["word"] or "#000000", words=True), ground) < 4.5:
                ink = max("#000000", "#ffffff", key=lambda ink: contrast(ink, ground))
                pieces += [svg[end:found.start("head")], found["head"].replace("<g ", f'<g class="ink{ink[1]}" ')]
                end = found.end("head")
    return "".join([*pieces, svg[end:]])


def pixels(image):
    "The colours of a picture of cells, its lowest row first as matplotlib stores it."
    cells = np.asarray(Image.open(io.BytesIO(base64.b64decode(re.search(r"base64,([^\"]*)", image)[1]))).convert("RGBA")) / 255
    return 1 - cells[..., 3:] * (1 - cells[..., :3])  # on white


def box_of(image):
    "The corners of a picture, from the upper left one on, in either way in which matplotlib says it."
    def said(key):
        return float(found[1]) if (found := re.search(rf" {key}=\"(-?[\d.]+)", image)) else 0

    numbers = re.search(r' transform="([^"]*)', image)[1]
    if "matrix" in numbers:
        a, _, _, d, left, bottom = map(float, NUMBERS.findall(numbers))
        right, top = left + a * said("width"), bottom + d * said("height")
    else:
        left, top, right = said("x"), -said("y"), said("x") + said("width")
        bottom = top + said("height")
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def pale(svg):
    "Whether the pictures of a drawing are pale: these are turned over in the dark; a scale from dark to bright stays."
    means = [pixels(found["image"]).mean() for found in PAINTED.finditer(svg) if found["image"]]
    return bool(means and np.median(means) > .7)


def picture(image, turned):
    "The colour of a picture at a place, as the dark page shows it."
    cells, edge = pixels(image), box_of(image)
    (left, top), (right, bottom) = edge[0], edge[2]

    def color(x, y):
        rows, columns = cells.shape[:2]
        value = cells[min(int((bottom - y) / (bottom - top) * rows), rows - 1), min(int((x - left) / (right - left) * columns), columns - 1)]
        if turned:  # as the filter does, but for the hue
            value = np.clip(1.3 * (.9 - .8 * np.repeat(value @ [.213, .715, .072], 3)), 0, 1)
        return "#" + "".join(f"{round(255 * part):02x}" for part in value)
    return color


def within(point, edge):
    "Whether a point is inside of an outline."
    (x, y), inside = point, False
    for (x0, y0), (x1, y1) in zip(edge, edge[1:] + edge[:1]):
        inside ^= (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0)
    return inside


def style(svg, pictures=""):
    "White is the ground, greys and tints turn over, strong colours stay, lighter where they would not stand out."
    rules = [f":root{{fill:{for_dark('#000000')}}}", pictures]
    for kind, color in sorted(set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", svg))):
        at = f"[style*='{kind}: {color}']"
        rules.append(f"{at}{{{kind}:{for_dark(color)}!important}}")
        if kind == "fill" and re.search(rf"<g style=[\"']fill: {color}", svg):
            rules.append(f"g{at}{{fill:{for_dark(color, words=True)}!important}}")
    inks = "g.ink0{fill:#000!important}g.inkf{fill:#fff!important}"
    return f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}{inks}}}</style>"


@lru_cache(None)
def for_dark(color, words=False):
    "A colour for dark ground: what is pale or grey as dark as it was light; what is not keeps its hue and, as words do, has a contrast of 4.5 to the ground."
    from cost_eval.plotting import contrast
    rgb = [int(color[k:k + 2], 16) / 255 for k in (1, 3, 5)]
    hue, light, strength = colorsys.rgb_to_hls(*rgb)
    if light > .97:
        return GROUND
    pale = max(rgb) - min(rgb) < .2 or light > .8
    light, least = .1 + .82 * (1 - light) if pale else light, 1 if pale and not words else 4.5

    def made(light):
        return "#" + "".join(f"{round(255 * value):02x}" for value in colorsys.hls_to_rgb(hue, light, .5 * strength if pale else strength))

    while contrast(made(light), GROUND) < least:
        light += .01
    return made(light)


def dark_widget(page):
    "A widget's page with one style sheet in all its drawings: the one that is shown, and the beginnings of those to come, which stand in JSON."
    sheet = style(unquote(page), FILTER * pale(unquote(page)))
    page = re.sub(r"(?<=svg\+xml,)%3Csvg.*?%3E", lambda head: head[0] + quote(sheet), page)
    return re.sub(r'(?<=")<svg [^>]*>', lambda head: head[0] + sheet.replace("</", "<\\/"), page)
