"""How a figure is shown: never so small that its words cannot be read.

| what | the reader's need |
| --- | --- |
| `sized`, `put` | words of 9 px at any width, nothing that jumps while a picture loads |
| `panels` | on a phone panels one below the other |

A figure is drawn for the column of a page. Where the column is narrower, on a phone, its panels stand alone, one below the other where
they do not fit side by side (the same file, seen through another window: `#svgView(viewBox(x,y,w,h))`). A panel shrinks with its column
until its smallest words are SMALLEST pixels high, and then it scrolls in its own frame. Each image of the finished pages carries that
width (`--least`, for the style sheets) and its size, so that nothing jumps while it loads, stills and widgets alike.
"""
import re
from functools import lru_cache, partial
from typing import NamedTuple
from urllib.parse import unquote

import lxml.etree

SMALLEST = 9.05  # pixels, the size of type
COLUMN = 780  # pixels, of text on a wide screen; a figure is shown up to a quarter larger than drawn
IMAGE = re.compile(r'<img\b[^>]*?\bsrc="((?:[^":]+\.svg|data:image/svg\+xml,[^"]*))"[^>]*>')
NO_HEAD = re.compile(r"<th\b([^>]*)>(?:\s|&nbsp;|</?p>)*</th>")
NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")
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
