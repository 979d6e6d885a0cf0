"""How a figure is shown: never so small that its words cannot be read.

| what | the reader's need |
| --- | --- |
| `sized`, `put` | words of 9 px at any width, nothing that jumps while a picture loads |
| `panels` | on a phone panels one below the other |

A figure is drawn for the column of a page. Where the column is narrower, on a phone, its panels stand alone, one
below the other where they do not fit side by side (the same file, seen through another window:
`#svgView(viewBox(x,y,w,h))`). A panel shrinks with its column until its smallest words are SMALLEST pixels high, and
then it scrolls in its own frame. Each image of the finished pages carries that width (`--least`, for the style
sheets) and its size, so that nothing jumps while it loads, stills and widgets alike.
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
    """Of a drawing: width, height and the smallest words in pixels at its natural size, and its panels (x, y, width,
    height in units of the drawing), if it has several."""
    width: float
    height: float
    words: float
    panels: tuple


def sized(docs):
    """Write size and least width beside every drawing of the finished pages, and its panels after it; a
    table's head without words is no head."""
    for path in docs.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        new = NO_HEAD.sub(r"<td\1></td>", IMAGE.sub(partial(with_size, docs), text))
        if new != text:
            path.write_text(new, encoding="utf-8")


def with_size(docs, found):
    """The image's tag with its width, height and least width in pixels, and its panels; one whose drawing has
    no words is left alone."""
    tag, source = found[0], found[1]
    inline = source.startswith("data:")
    drawing = unquote(source.partition(",")[2]).replace("'", '"') if inline else ""
    size = measure(drawing) if inline else of_file(docs / unquote(source))
    if not size or "--least" in tag or "#svgView" in source:
        return tag
    bare = re.sub(r' (?:width|height|style)="[^"]*"', "", tag)
    grow = max(1, min(1.25, COLUMN / size.width))
    large = put(bare, grow * size.width, grow * size.height, grow * size.words)
    if not size.panels:
        return large
    parts = []
    for x, y, width, height in size.panels:
        view = f"#svgView(viewBox({x:g},{y:g},{width:g},{height:g});preserveAspectRatio(none))"
        # a widget's drawing is in the page once: site.js shows it through the windows
        new = f' data-view="{view}"' if inline else f' src="{source}{view}"'
        parts.append(put(bare.replace(f' src="{source}"', new), 4 / 3 * width, 4 / 3 * height, size.words))
        bare = re.sub(r' alt="[^"]*"', ' alt="" role="presentation"', bare)  # the first one speaks for all
    wide = "wide" if size.width * SMALLEST > 640 * size.words else ""  # too wide for a tablet
    whole = large.replace("<img", f'<img data-whole="{wide}"', 1)
    return f'{whole}<span class="panels">{"".join(parts)}</span>'


def put(tag, width, height, words):
    least = -(-width * SMALLEST // words)
    style = f'style="--least: {least:.0f}px; aspect-ratio: {width:.0f}/{height:.0f}"'
    return tag.replace("<img", f'<img width="{width:.0f}" height="{height:.0f}" {style}', 1)


@lru_cache(None)
def of_file(path):
    return measure(path.read_text(encoding="utf-8")) if path.is_file() else None


def measure(svg):
    "The Size of a drawing of matplotlib's; or None."
    box = re.search(r'<svg[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    # glyphs are drawn at size 100
    sizes = [float(scale) for scale in re.findall(r'transform="[^"]*scale\(([\d.]+) -', svg)]
    if not box or not sizes:
        return None
    width, height, words = float(box[1]), float(box[2]), 100 * min(sizes)  # in points
    return Size(4 / 3 * width, 4 / 3 * height, 4 / 3 * words, panels(svg, width, height))


# Panels ------------------------------------------------------------------------------------------

def panels(svg, width, height):
    "Boxes of the axes with all their words, what overlaps as one; none where they do not stand side by side."
    tree = lxml.etree.fromstring(svg.encode(), lxml.etree.XMLParser(huge_tree=True, recover=True))
    # of the figure: its ground, axes, words, legends; a widget's have no names
    parts = next(tree.iterchildren("{*}g"), ())
    whole = [part for part in parts if not part.get("id", "").startswith("subfigure")]
    parts = [*whole, *(e for part in parts if part not in whole for e in part[1:])]  # without its ground
    boxes = []
    for box in sorted(filter(None, map(extent, parts)), key=lambda box: -wide(box)):
        if wide(box) < .98 * width or box[3] - box[1] < .98 * height:
            boxes = joined(boxes, box, width)
    if len(boxes) < 2 or max(map(wide, boxes)) > .8 * width or min(map(wide, boxes)) < .12 * width:
        return ()
    rows = sorted(boxes, key=lambda box: (round(box[1] / height * 4), box[0]))
    return tuple(window(box, width, height) for box in rows)


def wide(box):
    return box[2] - box[0]


def joined(boxes, box, width, gap=3):
    """The boxes with one more: what overlaps belongs together, and what is narrow, a scale of colours, to what
    is beside it."""
    reach = gap if wide(box) > .12 * width else .05 * width
    while near := [other for other in boxes if close(other, box, reach, gap)]:
        boxes = [other for other in boxes if other not in near]
        box = tuple(end(ends) for end, ends in zip((min, min, max, max), zip(box, *near)))
        reach = gap
    return [*boxes, box]


def close(a, b, across, along):
    return (a[0] - across < b[2] and b[0] - across < a[2]) and (a[1] - along < b[3] and b[1] - along < a[3])


def window(box, width, height, margin=2):
    "Of a box: x, y, width and height, with a margin inside of the drawing."
    x0, y0 = (max(0, end - margin) for end in box[:2])
    x1, y1 = (min(most, end + margin) for most, end in zip((width, height), box[2:]))
    return tuple(round(value, 1) for value in (x0, y0, x1 - x0, y1 - y0))


def extent(group):
    """The box around a group: its frame, its words, and what is not clipped to the frame; nothing for an empty
    one."""
    xs, ys = [], []
    for e in group.iter("{*}path", "{*}g"):
        place = e.get("transform", "")
        if e.tag.endswith("}g") and (at := PLACED.match(place)) and " -" in place:
            scale, ends = float(re.search(r"scale\(([\d.]+) -", place)[1]), [0.0]
            for use in e.iter("{*}use"):
                ends.append(float(use.get("x") or (NUMBERS.findall(use.get("transform", "")) or [0])[0]))
            long, high, x, y = (max(ends) + 65) * scale, 80 * scale, float(at[1]), float(at[2])
            upright = abs(float(at[3] or 0)) > 45
            xs += [x - high, x + .25 * high] if upright else [x, x + long]
            ys += [y - long, y] if upright else [y - high, y + .25 * high]
        elif e.get("d") and not (e.get("clip-path") or place or [*e.iterancestors("{*}defs")]):
            numbers = [float(n) for n in NUMBERS.findall(e.get("d"))]
            xs, ys = xs + numbers[::2], ys + numbers[1::2]
    return (min(xs), min(ys), max(xs), max(ys)) if xs and ys else None
