"""nbdev's processed notebooks, written for Quarto, said again in MyST for Sphinx.

| what | the reader's need |
| --- | --- |
| `collect`, `link` | links between notebooks that lead to their place; the author's: the cell of one that does not |
| `div`, `equation`, `heading` | callouts, folded solutions, numbered equations, the addresses that Quarto gives |
| `code`, `captions` | folds, figures with numbers and words for who cannot see them |
| `keywords`, `index_entries` | a search that finds phrases and terms |
"""
import html
import itertools
import re
import shlex
from dataclasses import dataclass, field

import yaml

CALLOUTS = ("note", "tip", "warning", "important", "caution")
OPTION = re.compile(r"^#\|(.*)$")
FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*(.*)$")
PLACE = re.compile(r'<span id="([^"]+)"></span>')
DIV = re.compile(r"^\s*:{3,}\s*(\{.*\}|[\w.-]+)?\s*$")
HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*(\{[^{}]*\})?\s*#*\s*$")
ASIDE = re.compile(r"(`+)(?!`)(?:(?!\n\s*\n).)*?(?<!`)\1(?!`)|<!--.*?-->"
                   r"|(?<![\\$])\$(?![\s$])(?:\\.|(?!\n\s*\n)[^$\\])+?(?<!\s)\$(?!\d)", re.S)
TARGET = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)((?:\s+\"[^\"]*\")?)\)(\{[^{}]*\})?", re.S)
# mathematics that begins a text whose last character is a digit: the parser takes the last character for the
# one before
FIRST = re.compile(r"(?:(?<=^)|(?<=\| ))(?=\$[^$|\n]+\$[^|\n]*\d[ \t]*(?:\||$))", re.M)
HIDDEN = "\x00{}\x00"


class Problem(Exception):
    "Something in a notebook that the site cannot show."


@dataclass
class Page:
    "One notebook on its way to a page."
    stem: str                                    # 10_expected_cost
    name: str                                    # expected_cost, the page is expected_cost.html
    title: str = ""
    description: str = ""
    keywords: str = ""                           # what people type who look for this page
    nb: dict = field(default_factory=dict)
    ids: set = field(default_factory=set)        # what a link may point at, as Quarto names it
    numbers: dict = field(default_factory=dict)  # fig-line -> Figure 1
    problems: list = field(default_factory=list)  # the page cannot be made
    cell: str = ""                               # where the translation is

    @staticmethod
    def unique(id, taken):
        "The id, with -1, -2 if it is taken, as Pandoc counts them; now it is."
        new = next(new for n in itertools.count() if (new := f"{id}-{n}" if n else id) not in taken)
        taken.add(new)
        return new

    def label(self, id):
        "The site-wide name of a target on this page; in the reference what Sphinx calls it."
        return id if self.name == "reference" and id != "top" else f"{self.name}--{id}"

    def problem(self, text):
        self.problems.append(f"{self.stem}.ipynb{self.cell}: {text}")


def source(cell):
    "A cell's text, whether stored as one string or as lines."
    return joined(cell.get("source") or "")


def split_options(text):
    "(options, code) of a code cell: `#| key: value` lines parsed as YAML, nbdev's bare `#| flags` dropped."
    lines = text.splitlines()
    said = [m.group(1) for line in lines if (m := OPTION.match(line))]
    code = "\n".join(line for line in lines if not OPTION.match(line)).strip("\n")
    keyed = [line.removeprefix(" ") for line in said if re.match(r"\s*[\w-]+:|\s{2,}\S", line)]
    return yaml.safe_load("\n".join(keyed)) or {}, code


def attributes(text):
    "(id, classes, {key: value}) of a Pandoc attribute block."
    id, classes, values = "", [], {}
    for word in shlex.split((text or "").strip().strip("{}")):
        if word.startswith("#"):
            id = word[1:]
        elif "=" in word:
            key, _, values[key] = word.partition("=")
        else:
            classes.append(word.removeprefix("."))
    return id, classes, values


def slug(title):
    "The id Pandoc gives a heading."
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*$]", r"\1", title)
    text = re.sub(r"[^\w\s.-]", "", text.lower())
    return re.sub(r"^[^a-z]+", "", re.sub(r"\s+", "-", text.strip())) or "section"


def outside_fences(text):
    "Yield (index, line, fenced) where fenced lines belong to a code block."
    fence = None
    for i, line in enumerate(text.splitlines()):
        m = FENCE.match(line)
        if fence:
            yield i, line, True
            if m and m.group(1).startswith(fence) and not m.group(2):
                fence = None
        elif m:
            fence = m.group(1)
            yield i, line, True
        else:
            yield i, line, False


# Pass 1: what can be pointed at ------------------------------------------------------------------

def collect(page):
    "Read title, ids and numbers of a page."
    for cell in page.nb["cells"]:
        text, page.cell = source(cell), f", cell {cell['id']}" if "id" in cell else ""
        if cell["cell_type"] == "raw" and text.startswith("---"):
            front = yaml.safe_load(text.strip().strip("-")) or {}
            page.title = str(front.get("title") or page.stem)
            page.description = str(front.get("description") or "")
            page.keywords = str(front.get("keywords") or "")
        elif cell["cell_type"] == "markdown":
            collect_markdown(page, text)
        elif cell["cell_type"] == "code":
            collect_code(page, cell)


def collect_markdown(page, text):
    "Headings, in reading order."
    for _, line, fenced in outside_fences(text):
        if fenced:
            continue
        if m := HEADING.match(line):
            page.unique(attributes(m.group(3))[0] or slug(m.group(2)), page.ids)
        page.ids |= {*PLACE.findall(line)}


def collect_code(page, cell):
    "A labelled cell."
    options, _ = split_options(source(cell))
    label = str(options.get("label", ""))
    if label.startswith("fig-"):
        if label in page.numbers:
            page.problem(f"the label {label} is given twice")
        page.ids.add(label)
        page.numbers[label] = f"Figure {1 + len(page.numbers)}"


# Pass 2: the text --------------------------------------------------------------------------------

class Translator:
    "Translates the cells of one page, knowing all pages."

    def __init__(self, page, pages, files, words):
        self.page, self.files, self.words = page, files, words
        self.by_stem = {p.stem: p for p in pages}
        self.used, self.open = set(), []

    def cells(self):
        "The page's cells in MyST."
        page, out = self.page, []
        top = f"# {page.title}\n"
        if page.description:
            said = f"{index_entries(self.words)}\n{self.markdown(page.description)}"
            top += f'\n<div class="subtitle">\n{said}\n\n</div>\n'
        out.append(markdown_cell(top))
        for cell in page.nb["cells"]:
            page.cell = f", cell {cell['id']}" if "id" in cell else ""
            if cell["cell_type"] == "markdown" and not source(cell).startswith("<!-- WARNING"):
                out.append(markdown_cell(self.markdown(source(cell))))
            elif cell["cell_type"] == "code":
                out += self.code(cell)
        if self.open:
            _, line, page.cell = self.open[-1]
            page.problem(f"never closed: {line}")
        page.cell = ""
        return out

    # Markdown, line by line
    def markdown(self, text):
        lines, out, prose, i = text.splitlines(), [], [], 0
        fenced = {i: f for i, _, f in outside_fences(text)}

        def flush():
            if prose:
                out.append(self.inline("\n".join(prose)))
                prose.clear()

        while i < len(lines):
            line, used = lines[i], 1
            block = None
            if fenced[i]:
                block = [re.sub(r"^(\s*(?:`{3,}|~{3,}))\s*\{\.?(\w+)[^}]*\}", r"\1\2", line)]
            elif re.match(r"^\s*\$\$", line):
                block, used = self.equation(lines, i)
            elif m := DIV.match(line):
                block, used = self.div(lines, i, m.group(1))
            elif m := HEADING.match(line):
                block = self.heading(m)
            if block is None:
                if places := PLACE.findall(line):
                    prose += ["", *(f"({self.page.label(id)})=" for id in places)]
                prose.append(line)
            else:
                flush()
                out += block
            i += used
        flush()
        return "\n".join(out)

    def heading(self, m):
        new = self.page.unique(attributes(m.group(3))[0] or slug(m.group(2)), self.used)
        # the id that Quarto gives, for links from outside
        anchor = [] if re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", new) else [f'<span id="{new}"></span>', ""]
        recipe = ""
        if self.page.name == "cookbook":  # as people type it
            words = re.split(r"\s*[:,?()]+\s*| with | and ", m.group(2).replace("`", ""))
            recipe = index_entries([*filter(None, words)])
        return ["", f"({self.page.label(new)})=", f"{m.group(1)} {self.inline(m.group(2))}", recipe, *anchor]

    def equation(self, lines, i):
        "The lines up to the closing dollars."
        indent = re.match(r"\s*", lines[i]).group()
        for j in range(i, len(lines)):
            text = "\n".join(line.removeprefix(indent) for line in lines[i:j + 1])
            m = re.match(r"^\$\$(.*?)\$\$\s*(.*)$", text, re.S)
            if m:
                break
        else:
            self.page.problem(f"$$ is never closed: {lines[i]!r}")
            return ["", *lines[i:]], len(lines) - i
        body = "\n".join(line for line in m.group(1).strip().splitlines() if line.strip())
        after = [indent + self.inline(m.group(2))] if m.group(2) else []
        if "\\\\" in body and "\\tag" in body:  # Sphinx' split environment takes none
            text = f"\\begin{{equation*}}\n{body}\n\\end{{equation*}}"
            return ["", *(indent + line for line in text.splitlines()), "", *after], j - i + 1
        return ["", *(indent + line for line in f"$$\n{body}\n$$".splitlines()), "", *after], j - i + 1

    def div(self, lines, i, opening):
        "Callouts become admonitions, folded ones <details>, other blocks a plain div."
        if not opening:
            if not self.open:
                self.page.problem("::: closes a block that was never opened")
                return [""], 1
            return ["", self.open.pop()[0], ""], 1
        id, classes, values = attributes(opening)
        kind = next((c.removeprefix("callout-") for c in classes if c.startswith("callout-")), None)
        if kind is None:
            self.open.append(("</div>", lines[i], self.page.cell))
            return ["", f'<div class="{html.escape(" ".join(classes))}">', ""], 1
        if kind not in CALLOUTS:
            self.page.problem(f"unknown callout {kind!r}, there are {', '.join(CALLOUTS)}")
        title, used = values.get("title"), 1
        if title is None:  # the title may be a heading, first thing in the callout
            j = next((j for j in range(i + 1, len(lines)) if lines[j].strip()), None)
            if j is not None and (m := HEADING.match(lines[j])):
                title, used = m.group(2), j - i + 1
        folds = values.get("collapse") == "true"
        tag, head = ("details", "summary") if folds else ("div", "div")
        self.open.append((f"</{tag}>", lines[i], self.page.cell))
        role = "" if folds else ' role="note"'
        return ["", f'<{tag} class="admonition {kind}"{role}>', f'<{head} class="admonition-title">', "",
                self.inline(title or kind.capitalize()), "", f"</{head}>", ""], used

    # Inline: links, outside code and mathematics
    def inline(self, text):
        kept = []

        def hide(m):
            kept.append(m.group(0))
            return HIDDEN.format(len(kept) - 1)

        text = TARGET.sub(self.link, ASIDE.sub(hide, text))
        text = re.sub("\x00(\\d+)\x00", lambda m: kept[int(m.group(1))], text)
        return FIRST.sub("&#8203;", text)

    def link(self, m):
        image, label, target, title, _ = m.groups()
        return f"{image}[{label}]({self.target(image, target)}{title})"

    def target(self, image, target):
        "Where a link leads: a label of ours, or the world; an image is a file of ours."
        if re.match(r"[a-z][a-z0-9+.-]*:", target, re.I) and not image:
            return target
        path, _, id = target.partition("#")
        page = self.by_stem.get(re.sub(r"\.(ipynb|qmd)$", "", path)) if path else self.page
        if page is None:
            if target not in self.files:
                self.page.problem(f"the link {target} leads nowhere")
            return target
        if id and id not in page.ids:
            self.page.problem(f"no #{id} in {page.stem}.ipynb")
        return "#" + page.label(id or "top")

    # Code cells
    def code(self, cell):
        "A code cell with its options said as tags and metadata."
        options, code = split_options(source(cell))
        if options.get("include") is False:
            return []
        outputs = [self.output(o) for o in cell.get("outputs", [])]
        tags = {"remove-input": options.get("echo") is False, "hide-input": options.get("code-fold"),
                "remove-output": options.get("output") is False}
        config = {}
        if summary := options.get("code-summary"):
            config["code_prompt_show"] = str(summary)
        new = dict(cell_type="code", execution_count=None, id="0", outputs=outputs, source=code)
        after = self.captions(options, outputs, config)
        new["metadata"] = {"tags": [tag for tag in tags if tags[tag]], "mystnb": config}
        return [new, *after]

    def captions(self, options, outputs, config):
        "Caption and alternative text of a labelled cell: in its `config`, or the cells after it."
        label, caption = str(options.get("label", "")), options.get("fig-cap")
        if alt := options.get("fig-alt"):
            config["image"] = {"alt": str(alt)}
        number = self.page.numbers.get(label)
        text = ": ".join(filter(None, [number, self.inline(str(caption or ""))]))
        if not text:
            return []
        target = f"({self.page.label(label)})=\n" if number else ""
        rich = [o for o in outputs if o["output_type"] in ("display_data", "execute_result")]
        if len(rich) == 1 and any(k.startswith("image/") for k in rich[0]["data"]):
            config["figure"] = {"caption": text, **({"name": self.page.label(label)} if number else {})}
            return []
        return [markdown_cell(f'<div class="figure-caption">\n\n{target}{text}\n\n</div>')]

    def output(self, output):
        "An output whose markdown is translated too."
        data = output.get("data", {})
        if "text/markdown" in data:
            data = {**data, "text/markdown": self.markdown(joined(data["text/markdown"]))}
            return {**output, "data": data}
        return output


def index_entries(words):
    """Words under which the search finds what follows first. One anchor for all, and before text: of an empty
    one Sphinx's search makes an error."""
    return f"\n```{{index}} {', '.join(f'! {word}' for word in words)}\n```\n" if words else ""


TERM = re.compile(r"(?m)^\| ([^|]+?) \| [^|]+? \| \[[^\]]*\]\(([^)#]+)\.ipynb[^)]*\) \|$")


def keywords(pages):
    """[(word, page)] for the search: the glossary's terms and the keywords of the front matter lead to their
    pages."""
    found, by_stem = [], {page.stem: page.name for page in pages}
    for page in pages:
        found += [(phrase, page.name) for phrase in page.keywords.split(", ") if phrase]
        for text in map(source, page.nb["cells"] if page.name == "glossary" else ()):
            for term, stem in re.findall(TERM, text):
                term = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", term).replace("`", "")  # as people type it
                words = re.split(r"\s*[(),]\s*", term) if stem in by_stem else ()
                found += [(word, by_stem[stem]) for word in words if word]
    return found


def joined(text):
    return text if isinstance(text, str) else "".join(text)


def markdown_cell(text):
    return dict(cell_type="markdown", id="0", metadata={}, source=text)


def translate(pages, files):
    """{name: notebook in MyST} of all pages.

    `files` are the names that a page may link to beside the pages. Raises Problem, with every one found, for references and links that lead
    nowhere and for blocks that only Quarto knows.
    """
    for page in pages:
        collect(page)
    out = {}
    found = keywords(pages)
    for page in pages:
        words = [word for word, name in found if name == page.name]
        cells = Translator(page, pages, files, words).cells()
        cells[0]["source"] = f"({page.label('top')})=\n" + cells[0]["source"]
        for n, cell in enumerate(cells):
            cell["id"] = f"c{n}"
        out[page.name] = dict(cells=cells, nbformat=4, nbformat_minor=5, metadata={
            k: v for k, v in page.nb["metadata"].items() if k in ("kernelspec", "language_info")})
    if problems := [text for page in pages for text in page.problems]:
        raise Problem("\n".join(problems))
    return out
