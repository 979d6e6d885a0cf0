"""Build the site into _docs/.

The notebooks, processed by nbdev and translated to MyST, with Sphinx, myst-nb and sphinx-book-theme; nothing is fetched, then or
when a page is read. With --quarto the processed notebooks go through Quarto as they are. The root _quarto.yml defines both.

| what | whose need |
| --- | --- |
| `check_notebooks` | the reader's: no page with scripts of its own, or of 3 MB |
| `llms` | a language model's |
| `write_sources`, `toctrees`, `run_sphinx` | who has Python only |
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from configparser import ConfigParser
from importlib.metadata import files, version
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

HERE = Path(__file__).resolve().parent / "site"
sys.path[0] = str(HERE)
MATHJAX = "sphinx-mathjax-offline"
SET = {"loader": {"load": ["input/tex", "output/chtml", "a11y/assistive-mml"]},
       "chtml": {"scale": 1.1, "matchFontHeight": False}}


class Failure(SystemExit):
    "The site cannot be built; the message says why."

    def __init__(self, text):
        super().__init__(f"\nThe site is not built:\n{text}")


class Project:
    "Where things are and what settings.ini and _quarto.yml say."

    def __init__(self, root):
        import yaml
        self.root = Path(root).resolve()
        config = ConfigParser(delimiters=["="])
        config.read(self.root / "settings.ini", encoding="utf-8")
        self.cfg = config["DEFAULT"]
        self.nbs, self.docs = self.root / self.cfg["nbs_path"], self.root / self.cfg["doc_path"]
        self.build, self.processed = self.root / "build/site", self.root / "_proc"
        self.site_url = urljoin(self.cfg["doc_host"] + "/", self.cfg["doc_baseurl"])
        self.blob_url = f"{self.cfg['git_url']}/blob/{self.cfg['branch']}/"
        self.quarto = yaml.safe_load((self.root / "_quarto.yml").read_text(encoding="utf-8"))

    def sidebar(self):
        "[(section, entries)] from _quarto.yml; an entry is a page that may hold further ones."
        items = self.quarto["website"]["sidebar"]["contents"]
        groups = [item for item in items if isinstance(item, dict) and "href" not in item]
        top = [sidebar_entry(item) for item in items if item not in groups]
        return [("", top), *((one["section"], [*map(sidebar_entry, one["contents"])]) for one in groups)]

    def stems(self):
        "Every page of the sidebar, in reading order."
        return [stem for _, entries in self.sidebar() for entry in entries for stem in entry.stems()]

    @staticmethod
    def page_name(stem):
        "The page of a notebook, as nbdev names it: 10_expected_cost is expected_cost.html."
        return re.sub(r"^\d+[a-zA-Z0-9]*_", "", stem.lower())

    def digest(self):
        "Changes when anything changes that the site is made of."
        digest = hashlib.sha256()
        package = self.root / self.cfg["lib_path"]
        inputs = [*self.nbs.glob("*"), *package.rglob("*.py"), *HERE.rglob("*"), Path(__file__),
                  self.root / "settings.ini", self.root / "_quarto.yml"]
        for path in sorted(p for p in inputs if p.is_file() and p.suffix != ".pyc"):
            digest.update(f"{path}\0".encode() + path.read_bytes())
        for name in ("nbdev", "sphinx", "myst-nb", "sphinx-book-theme", MATHJAX):
            digest.update(version(name).encode())
        return digest.hexdigest()


class Entry(NamedTuple):
    "A line of the sidebar, and the lines below it."
    stem: str
    text: str | None
    entries: list

    def stems(self):
        "Its page, and those below it."
        return [self.stem, *(entry.stem for entry in self.entries)]


def sidebar_entry(item):
    item = {"href": item} if isinstance(item, str) else item
    below = [sidebar_entry(entry) for entry in item.get("contents", [])]
    return Entry(Path(item["href"]).stem, item.get("text") or item.get("section"), below)


SCRIPTS = (r"<(?:script|iframe|object|embed|link)\b|\]\(\s*javascript:"
           r"|<\w[^>]*\s(?:on\w+=|(?:href|src)=[\"']?\s*javascript:)")
FAULTS = {r"!\[\s*\]\(|<img(?![^>]*\balt=)": "an image without alternative text",
          SCRIPTS: "a page holds no scripts or frames of its own"}
LARGEST = 3e6  # bytes of one output; pages may have 4


def check_notebooks(project):
    "What a notebook itself says wrong: file, cell, words."
    for path in sorted(project.nbs.glob("[!_.]*.ipynb")):
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        except (ValueError, KeyError) as error:
            raise Failure(f"{path.name} is not a notebook: {error!r}; git checkout {path.name}") from None
        for cell in cells:
            yield from (f"{path.name}, cell {cell.get('id')}: {fault}" for fault in check_cell(cell))


def check_cell(cell):
    import translate
    import yaml
    text = "".join(cell["source"])
    if cell["cell_type"] == "code":
        try:
            translate.split_options(text)
        except yaml.YAMLError as error:
            yield f"cell options are not YAML: {error}"
    else:
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
        found = {fault: re.search(mark, prose) for mark, fault in FAULTS.items()}
        yield from (f"{fault}: {place[0]!r}" for fault, place in found.items() if place)
    for size in (len(json.dumps(output)) for output in cell.get("outputs", ())):
        if size > LARGEST:
            yield f"an output of {size / 1e6:.1f} MB, more than {LARGEST / 1e6:g}"


# The pages ---------------------------------------------------------------------------------------

def finish(project, pages):
    "What stands beside the pages: llms.txt, nothing for Jekyll to do; and the least width of each figure."
    import figures
    figures.sized(project.docs)
    (project.docs / ".nojekyll").touch()
    (project.docs / "llms.txt").write_text(llms(project, pages), encoding="utf-8")


def llms(project, pages):
    "The list of pages for language models (llmstxt.org)."
    by_stem = {p.stem: p for p in pages}
    lines = [f"# {project.cfg['title']}", "", f"> {project.cfg['description']}"]
    for section, entries in project.sidebar():
        lines += ["", f"## {section or 'Start'}", ""]
        for page in (by_stem[stem] for entry in entries for stem in entry.stems() if stem in by_stem):
            lines.append(f"- [{page.title}]({project.site_url}/{page.name}.html): {page.description}")
    return "\n".join(lines) + "\n"


def read_pages(project, folder):
    "The processed notebooks, in the order of the sidebar."
    import translate
    pages = []
    for stem in project.stems():
        notebook, text = folder / f"{stem}.ipynb", folder / f"{stem}.qmd"
        if notebook.exists():
            nb = json.loads(notebook.read_text(encoding="utf-8"))
        elif text.exists():
            _, front, body = text.read_text(encoding="utf-8").split("---\n", 2)
            head = translate.markdown_cell(f"---\n{front}---") | {"cell_type": "raw"}
            nb = {"cells": [head, translate.markdown_cell(body)], "metadata": {}}
        else:
            continue
        pages.append(translate.Page(stem=stem, name=project.page_name(stem), nb=nb))
    return pages


def build_with_sphinx(project):
    "Process, translate, build, copy."
    import sphinx_site
    print("Processing the notebooks ...", flush=True)
    process_notebooks(project)
    shutil.rmtree(project.build, ignore_errors=True)
    pages = read_pages(project, project.processed)
    write_sources(project, pages)
    print("Building the pages ...", flush=True)
    complaints = run_sphinx(project, pages)
    shutil.rmtree(project.docs, ignore_errors=True)
    left = shutil.ignore_patterns(".buildinfo*", "objects.inv")
    shutil.copytree(project.build / "html", project.docs, ignore=left)
    sphinx_site.mend(project.docs)
    finish(project, pages)
    return pages, complaints


def render_with_quarto(project):
    "The processed notebooks as Quarto makes them of itself; it prints what it warns of."
    import nbdev.quarto
    nbdev.quarto.refresh_quarto_yml()  # nbs/nbdev.yml, from settings.ini
    process_notebooks(project)
    subprocess.run(["quarto", "render", "--no-cache"], cwd=project.processed, check=True)
    shutil.rmtree(project.docs, ignore_errors=True)
    shutil.move(project.processed / project.docs.name, project.docs)


def process_notebooks(project):
    "nbdev's processing into _proc/ (links, hidden cells; no Quarto needed), and the reading view of it."
    import nbdev.serve
    import reading
    reading.keep_code()
    nbdev.serve.proc_nbs(n_workers=0, force=True)
    reading.prepare(project)


def write_sources(project, pages):
    """MyST notebooks for Sphinx, the list of modules, of which it makes the reference, and the pictures beside
    them."""
    import sphinx_site
    import translate
    source = project.build / "source"
    notebooks = translate.translate(pages, {path.name for path in project.nbs.glob("*")})
    for name, tree in toctrees(project, pages).items():
        notebooks[name]["cells"].append(translate.markdown_cell(tree))
    source.mkdir(parents=True)
    if notebooks.pop("reference", None):
        (source / "reference.rst").write_text(sphinx_site.reference(project), encoding="utf-8")
    for name, nb in notebooks.items():
        (source / f"{name}.ipynb").write_text(json.dumps(nb, indent=1), encoding="utf-8")
    for path in project.nbs.glob("*"):
        if path.suffix in (".svg", ".png", ".jpg", ".jpeg", ".gif"):
            shutil.copyfile(path, source / path.name)


def toctrees(project, pages):
    "{page: the pages below it}, hidden at its end; the first page holds the sidebar."
    names, trees = {p.stem: p.name for p in pages}, {"index": []}

    def tree(entries, caption=""):
        lines = [f"{e.text} <{names[e.stem]}>" if e.text else names[e.stem] for e in entries
                 if names.get(e.stem, "index") != "index"]
        head = f":caption: {caption}\n" if caption else ""
        return ["```{toctree}\n:hidden:\n" + head + "\n" + "\n".join(lines) + "\n```"] if lines else []

    for section, entries in project.sidebar():
        trees["index"] += tree(entries, section)
        for entry in entries:
            trees.setdefault(names[entry.stem], []).extend(tree(entry.entries))
    return {name: "\n\n".join(below) for name, below in trees.items() if below}


def run_sphinx(project, pages):
    "Build build/site/html; returns the warnings."
    import io

    import sphinx_site
    from sphinx.application import Sphinx
    build, stream = project.build, io.StringIO()
    shutil.copytree(HERE / "static", build / "static")
    mathjax(build / "static/mathjax")
    Sphinx(build / "source", None, build / "html", build / "doctrees", "html", status=None, warning=stream,
           confoverrides=sphinx_site.config(project, pages, SET)).build()
    return [line for line in re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines() if line.strip()]


def mathjax(to):
    "What the pages need of MathJax, out of the Python package that carries it."
    there = next(file.locate() for file in files(MATHJAX) if file.match("static/mathjax/startup.js"))
    for part in ("startup.js", "core.js", "input/tex.js", "input/tex/extensions", "output/chtml.js",
                 "output/chtml/fonts/tex.js", "output/chtml/fonts/woff-v2", "a11y/assistive-mml.js"):
        source = Path(there).parent / part
        (to / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copyfile)(source, to / part)


# Command line ------------------------------------------------------------------------------------

def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--strict", action="store_true", help="look at the pages, and fail on any warning")
    parser.add_argument("--unseen", action="store_true", help="as text only, not in a browser")
    parser.add_argument("--sample", action="store_true", help="a sample of them only in the browser")
    parser.add_argument("--quarto", action="store_true", help="let Quarto make the pages, plainly")
    parser.add_argument("--root", default=Path(__file__).resolve().parents[1], help="the project")
    arguments = parser.parse_args(argv)
    project = Project(arguments.root)
    os.chdir(project.root)
    sys.path.insert(1, str(project.root))
    import translate
    try:
        return render_with_quarto(project) if arguments.quarto else build(project, arguments)
    except translate.Problem as problem:
        raise Failure(str(problem)) from None


def build(project, arguments):
    "Build what has changed, look at what was not looked at as closely."
    strict = arguments.strict
    level = 0 if not strict else 1 if arguments.unseen else 2 if arguments.sample else 3
    stamp, digest = project.build / "stamp.json", project.digest()
    old = json.loads(stamp.read_text()) if stamp.exists() and (project.docs / "index.html").exists() else {}
    built = old.get("digest") == digest and not (strict and old["complaints"])
    if built and old["level"] >= level:
        return print(f"The site is up to date: {project.docs}/index.html")
    complaints = [*check_notebooks(project)]
    if strict and complaints:
        raise Failure("\n".join(complaints))
    pages, more = (read_pages(project, project.processed), []) if built else build_with_sphinx(project)
    complaints += more + (checked(project, pages, level) if strict else [])
    if strict and complaints:
        raise Failure("\n".join(complaints))
    project.build.mkdir(parents=True, exist_ok=True)
    stamp.write_text(json.dumps(dict(digest=digest, level=level, complaints=complaints)))
    for line in complaints:
        print("warning:", line, file=sys.stderr)
    print(f"{len(pages)} pages: {project.docs}/index.html")


def checked(project, pages, level):
    """Everything that is wrong with the finished pages: read as text, a sample (2) or all (3) looked at in the
    browser."""
    import check
    start, stems = time.perf_counter(), {page.name: page.stem for page in pages}
    names = sorted(path.stem for path in project.docs.glob("*.html") if path.stem not in ("404", "search"))
    complaints, weights = check.read(project.docs, names)
    looked = names if level == 3 else [name for name in names if name in check.SAMPLE] if level == 2 else []
    seen = check.look(project.docs, looked)
    for name, measured in seen.items():
        complaints += check.judged(name, measured, stems.get(name, ""))
    print(f"checked {len(names)} pages, {len(seen)} in the browser, in {time.perf_counter() - start:.0f} s; "
          f"the heaviest weighs {max(weights.values()) / 1e6:.1f} MB")
    if looked and not seen:
        print("left out: the pages were not looked at: Chromium or Playwright is missing")
    elif looked and not check.axe():
        print('left out: accessibility was not looked at: pip install "cost_eval[dev]" brings axe-core')
    elif len(seen) < len(names):
        print(f"left out: {len(names) - len(seen)} of {len(names)} pages were not looked at in the browser: "
              "make site STRICT=1 or make test FULL=1 sees all")
    return complaints


if __name__ == "__main__":
    sys.exit(main())
