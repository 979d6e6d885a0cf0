"""A long page in parts, none much longer than sixteen screens.

A chapter is cut behind its summary and before its reference; a part that is still too long is cut at its headings into pages of about the
same length. Only references stay whole, as they are looked up and not read. The first page lists what the others hold, under the addresses
that these sections have on an undivided page, so that links from outside lead on.
"""
import math
import re
from typing import NamedTuple

from translate import joined, markdown_cell, slug, source

SCREEN = 900  # pixels
LONG, SLACK, SHORT = 16, 17, 4  # screens of a page; only what is longer than SLACK is cut at any heading; a shorter one than SHORT is none
WHOLE = ("reference", "cookbook")
HEADING = re.compile(r"^\((?P<label>[\w-]+--(?P<id>\S+))\)=\n(?P<level>##|###) (?P<title>.*)$", re.M)
BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


class Section(NamedTuple):
    "Cells from one heading to the next, and how many screens they take."
    heading: re.Match | None
    cells: list
    screens: float

    @property
    def title(self):
        return plain(self.heading["title"]) if self.heading else ""


def divided(page, notebook):
    "{name of the part: notebook}, the first under the page's own name; the title of each further one is its first heading."
    blocks = [part for block in blocks_of(sections(notebook["cells"])) for part in evenly(block)]
    if len(blocks) == 1 or page.name in WHOLE:
        return {page.name: notebook}
    names = [page.name, *(f"{page.name}_{k}" for k in range(2, len(blocks) + 1))]
    cells = [[cell for section in block for cell in section.cells] for block in blocks]
    cells[0] = [*cells[0], markdown_cell(listed(blocks[1:], slug(page.title)))]
    for block, part in zip(blocks[1:], cells[1:]):
        head, back = block[0].heading, f'<div class="subtitle">\n\nContinued from [{page.title}](#{page.label("top")}).\n\n</div>'
        new = f"({head['label']})=\n# {page.title}: {head['title']}\n\n{back}"
        part[0] = {**part[0], "source": source(part[0]).replace(head[0], new, 1)}
    return {name: {**notebook, "cells": [{**cell, "id": f"c{n}"} for n, cell in enumerate(part)]} for name, part in zip(names, cells)}


def own_title(page, notebook):
    "The title of a further part without that of its page, for the sidebar."
    return plain(re.search(rf"^# {re.escape(page.title)}: (.*)$", source(notebook["cells"][0]), re.M)[1])


def plain(title):
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)


def sections(cells):
    "The cells, cut before each heading of the second and third level."
    found = [(None, [])]
    for cell in cells:
        text = source(cell)
        heads = list(HEADING.finditer(text)) if cell["cell_type"] == "markdown" else []
        ends = [m.start() for m in heads]
        for head, start, end in zip([None, *heads], [0, *ends], [*ends, len(text)]):
            if head:
                found.append((head, []))
            if text[start:end].strip() or cell["cell_type"] == "code":
                found[-1][1].append({**cell, "source": text[start:end]} if heads else cell)
    return [Section(head, inside, sum(map(height, inside)) / SCREEN) for head, inside in found]


def height(cell):
    "About how many pixels a cell takes, in a column of 780: within a sixth for a page, measured on all of them."
    text, tags = source(cell), cell["metadata"].get("tags", ())
    if cell["cell_type"] == "markdown":
        return 22 + of_text(re.sub(r"<details.*?</details>|<[^>]*>", "", text, flags=re.S))
    code = 0 if {"remove-input", "hide-input"} & set(tags) else 18 * (text.count("\n") + 2)
    return 22 + code + sum(map(of_output, cell["outputs"]))


def of_text(text):
    "Lines of 85 letters, rows of tables."
    lines = [line for line in text.splitlines() if line.strip()]
    return sum(44 * max(1, len(line) / 90) if line.startswith("|") else 23 * math.ceil(len(line) / 85) for line in lines)


def of_output(output):
    data = {kind: joined(text) for kind, text in output.get("data", {}).items() if isinstance(text, str | list)}
    if box := BOX.search(data.get("image/svg+xml", "")):
        width, height = map(float, box.groups())
        return 4 / 3 * height * min(1.25, 780 * 3 / 4 / width)
    if "text/html" in data:
        return 450 if "ce-widget" in data["text/html"] else 51 * data["text/html"].count("<tr")
    if "text/markdown" in data:
        return of_text(data["text/markdown"])
    return 18 * (joined(data.get("text/plain", output.get("text", ""))).count("\n") + 2)


def screens(block):
    return sum(section.screens for section in block)


def blocks_of(found):
    "The story with its summary, what follows, the reference; neighbours that fit on one page together, and what is no page by itself."
    blocks, summed = [[]], False
    for section in found:
        top = section.heading and section.heading["level"] == "##"
        if top and (section.title == "Reference" or summed):
            blocks.append([])
        blocks[-1].append(section)
        summed = section.title == "Summary" if top else summed
    for joins in (lambda before, block: screens(before) + screens(block) <= LONG, lambda _, block: screens(block) < SHORT):
        taken = blocks[:1]
        for block in blocks[1:]:
            taken = [*taken[:-1], taken[-1] + block] if joins(taken[-1], block) else [*taken, block]
        blocks = taken
    return blocks


def evenly(block):
    "Parts of about the same length; a section of the second level is cut only where it alone is too long."
    if screens(block) <= SLACK or block[0].title == "Reference":
        return [block]
    groups = []
    for section in block:
        below = section.heading and section.heading["level"] == "###"
        if groups and below and screens(groups[-1]) + section.screens <= LONG:
            groups[-1].append(section)
        else:
            groups.append([section])
    share, before, parts = screens(block) / math.ceil(screens(block) / LONG), 0, {}
    for group in groups:
        parts.setdefault(int((before + screens(group) / 2) / share), []).extend(group)
        before += screens(group)
    return list(parts.values())


def listed(blocks, taken):
    "What the further pages hold, a line each; `taken` is the address of the page's title."
    def link(heading, title):
        anchor = f'<span id="{heading["id"]}"></span>' if heading["id"] != taken else ""
        return f"{anchor}[{title}](#{heading['label']})"

    lines = [", ".join(link(section.heading, section.title) for section in block) for block in blocks]
    return "\n## On the next pages\n\n" + "\n".join(f"- {line}" for line in lines)
