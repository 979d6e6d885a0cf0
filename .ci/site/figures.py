"""How wide a figure is shown: never so small that its words cannot be read.

A figure is drawn for the column of a page. Where the column is narrower, on a phone, the figure shrinks with it until its smallest words
are SMALLEST pixels high, and then it scrolls in its own frame. Each image of the finished pages carries that width (`--least`, for the
style sheets) and its size, so that nothing jumps while it loads. Both builders' pages get it, stills and widgets alike.
"""
import re
from functools import lru_cache, partial
from urllib.parse import unquote

SMALLEST = 8.5  # pixels, the size of type
IMAGE = re.compile(r'<img\b[^>]*?\bsrc="((?:[^":]+\.svg|data:image/svg\+xml,[^"]*))"[^>]*>')


def sized(docs):
    "Write size and least width beside every drawing of the finished pages."
    for path in docs.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        new = IMAGE.sub(partial(with_size, docs), text)
        if new != text:
            path.write_text(new, encoding="utf-8")


def with_size(docs, found):
    "The image's tag with its width, height and least width in pixels; one whose drawing has no words is left alone."
    tag, source = found[0], found[1]
    size = measure(unquote(source.partition(",")[2]).replace("'", '"')) if source.startswith("data:") else of_file(docs / unquote(source))
    if not size or "--least" in tag:
        return tag
    width, height, words = size
    tag = re.sub(r' (?:width|height|style)="[^"]*"', "", tag)
    return tag.replace("<img", f'<img width="{width:.0f}" height="{height:.0f}" style="--least: {-(-width * SMALLEST // words):.0f}px"', 1)


@lru_cache(None)
def of_file(path):
    return measure(path.read_text(encoding="utf-8")) if path.is_file() else None


def measure(svg):
    "Width, height and the smallest size of type of a drawing of matplotlib's, in pixels at its natural size; or None."
    box = re.search(r'<svg[^>]* viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    sizes = [float(scale) for scale in re.findall(r'transform="[^"]*scale\(([\d.]+) -', svg)]  # glyphs are drawn at size 100
    if not box or not sizes:
        return None
    width, height, words = (4 / 3 * v for v in (float(box[1]), float(box[2]), 100 * min(sizes)))  # points to pixels
    return width, height, words
