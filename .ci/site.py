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
SET = {"loader": {"load": ["input/tex", "output/chtml", "a11y/assistive-mml"]}, "chtml": {"scale": 1.1, "matchFontHeight": False}}
STEPS = ["Processing the notebooks", "Translating them", "Building the pages", "Writing _docs"]
LEVELS = ["built", "read", "sampled", "seen"]  # how closely the finished pages were looked at: not, as text, some or all in the browser


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
        self.nbs, self.docs, self.build = self.root / self.cfg["nbs_path"], self.root / self.cfg["doc_path"], self.root / "build/site"
        self.processed = self.root / "_proc"
        self.site_url = urljoin(self.cfg["doc_host"] + "/", self.cfg["doc_baseurl"])
        self.blob_url = f"{self.cfg['git_url']}/blob/{self.cfg['branch']}/"
        self.quarto = yaml.safe_load((self.root / "_quarto.yml").read_text(encoding="utf-8"))

    def sidebar(self):
        "[(section, entries)] from _quarto.yml; an entry is a page that may hold further ones."
        out = [("", [])]
        for item in self.quarto["website"]["sidebar"]["contents"]:
            if isinstance(item, dict) and "section" in item and "href" not in item:
                out.append((item["section"], [sidebar_entry(e) for e in item["contents"]]))
            else:
                out[0][1].append(sidebar_entry(item))
        return out

    def stems(self):
        "Every page of the sidebar, in reading order."
        return [stem for _, entries in self.sidebar() for entry in entries for stem in (entry.stem, *(e.stem for e in entry.entries))]

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
        digest.update(repr([version(name) for name in ("nbdev", "sphinx", "myst-nb", "sphinx-book-theme", MATHJAX)]).encode())
        return digest.hexdigest()


class Entry(NamedTuple):
    "A line of the sidebar, and the lines below it."
    stem: str
    text: str | None
    entries: list


def sidebar_entry(item):
    item = {"href": item} if isinstance(item, str) else item
    return Entry(Path(item["href"]).stem, item.get("text") or item.get("section"), [sidebar_entry(e) for e in item.get("contents", [])])


FAULTS = {
    r"!\[\s*\]\(|<img(?![^>]*\balt=)": "an image without alternative text",
    r"<(?:script|iframe|object|embed|link)\b|<\w[^>]*\s(?:on\w+=|(?:href|src)=[\"']?\s*javascript:)|\]\(\s*javascript:": "a page holds no scripts or frames of its own",
}
LARGEST = 3e6  # bytes of one output; pages may have 4


def check_notebooks(project):
    "What a notebook itself says wrong: file, cell, words."
    import translate
    import yaml
    found = []
    for path in sorted(project.nbs.glob("[!_.]*.ipynb")):
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        except (ValueError, KeyError) as error:
            raise Failure(f"{path.name} is not a notebook ({type(error).__name__}: {error}); git checkout {path.name} brings the last one back") from None
        for cell in cells:
            said, text = f"{path.name}, cell {cell.get('id')}: ", "".join(cell["source"])
            try:
                translate.split_options(text) if cell["cell_type"] == "code" else ""
            except yaml.YAMLError as error:
                raise Failure(f"{said}cell options are not YAML: {error}") from None
            prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S) if cell["cell_type"] == "markdown" else ""
            found += [f"{said}{fault}: {prose[m.start():m.start() + 60]!r}" for mark, fault in FAULTS.items() if (m := re.search(mark, prose))]
            sizes = [len(json.dumps(output)) for output in cell.get("outputs", ())]
            found += [f"{said}an output of {size / 1e6:.1f} MB, more than {LARGEST / 1e6:g}" for size in sizes if size > LARGEST]
    return found


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
        lines += [f"- [{p.title}]({project.site_url}/{p.name}.html): {p.description}"
                  for entry in entries for s in (entry.stem, *(e.stem for e in entry.entries)) if (p := by_stem.get(s))]
    return "\n".join(lines) + "\n"


def read_pages(project, folder):
    "The processed notebooks, in the order of the sidebar."
    import translate
    pages = []
    for stem in project.stems():
        if (folder / f"{stem}.ipynb").exists():
            pages.append(translate.Page(stem=stem, name=project.page_name(stem), nb=json.loads((folder / f"{stem}.ipynb").read_text(encoding="utf-8"))))
        elif (folder / f"{stem}.qmd").exists():
            _, front, text = (folder / f"{stem}.qmd").read_text(encoding="utf-8").split("---\n", 2)
            cells = [{**translate.markdown_cell(f"---\n{front}---"), "cell_type": "raw"}, translate.markdown_cell(text)]
            pages.append(translate.Page(stem=stem, name=project.page_name(stem), nb=dict(cells=cells, metadata={})))
    return pages


def build_with_sphinx(project):
    "Process, translate, build, copy."
    import sphinx_site
    step = (print(f"[{k}/{len(STEPS)}] {text} ...", flush=True) for k, text in enumerate(STEPS, 1))
    next(step)
    process_notebooks(project)
    next(step)
    shutil.rmtree(project.build, ignore_errors=True)
    pages = read_pages(project, project.processed)
    write_sources(project, pages)
    next(step)
    complaints = run_sphinx(project, pages)
    next(step)
    shutil.rmtree(project.docs, ignore_errors=True)
    shutil.copytree(project.build / "html", project.docs, ignore=shutil.ignore_patterns(".buildinfo*", "objects.inv"))
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
    import translate
    reading.keep_code()
    nbdev.serve.proc_nbs(n_workers=0, force=True)
    try:
        reading.prepare(project)
    except translate.Problem as problem:
        raise Failure(str(problem)) from None


def write_sources(project, pages):
    "MyST notebooks for Sphinx, the list of modules, of which it makes the reference, and the pictures beside them."
    import sphinx_site
    import translate
    source = project.build / "source"
    try:
        notebooks = translate.translate(pages, {path.name for path in project.nbs.glob("*")})
    except translate.Problem as problem:  # everything that cannot be shown
        raise Failure(str(problem)) from None
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
    Sphinx(build / "source", None, build / "html", build / "doctrees", "html", confoverrides=sphinx_site.config(project, pages, SET),
           status=None, warning=stream, verbosity=0).build()
    return [line for line in re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue()).splitlines() if line.strip()]


def mathjax(to):
    "What the pages need of MathJax, out of the Python package that carries it."
    there = next(Path(file.locate()).parent for file in files(MATHJAX) if file.match("static/mathjax/startup.js"))
    for part in ("startup.js", "core.js", "input/tex.js", "input/tex/extensions", "output/chtml.js", "output/chtml/fonts/tex.js", "output/chtml/fonts/woff-v2", "a11y/assistive-mml.js"):
        (to / part).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (there / part).is_dir() else shutil.copyfile)(there / part, to / part)


# Command line ------------------------------------------------------------------------------------

def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strict", action="store_true", help="check the finished pages and fail on any warning")
    parser.add_argument("--unseen", action="store_true", help="do not look at the pages in a browser (they are when --strict)")
    parser.add_argument("--sample", action="store_true", help="look at a sample of the pages only in the browser")
    parser.add_argument("--quarto", action="store_true", help="let Quarto make the pages, plainly")
    parser.add_argument("--root", default=Path(__file__).resolve().parents[1], help="the project (default: the one this script is in)")
    arguments = parser.parse_args(argv)
    project = Project(arguments.root)
    os.chdir(project.root)
    sys.path.insert(1, str(project.root))
    if arguments.quarto:
        return render_with_quarto(project)
    level = LEVELS[0 if not arguments.strict else 1 if arguments.unseen else 2 if arguments.sample else 3]
    stamp, state = project.build / "stamp.json", dict(digest=project.digest(), complaints=[], level=level)
    old = json.loads(stamp.read_text()) if stamp.exists() else {}
    built = (project.docs / "index.html").exists() and old.get("digest") == state["digest"] and not (arguments.strict and old["complaints"])
    if built and LEVELS.index(old["level"]) >= LEVELS.index(level):
        print(f"The site is up to date: {project.docs}/index.html")
        return 0
    complaints = check_notebooks(project)
    if arguments.strict and complaints:
        raise Failure("\n".join(complaints))
    if built:
        pages = read_pages(project, project.processed)
    else:
        pages, more = build_with_sphinx(project)
        complaints += more
    if arguments.strict:
        complaints += checked(project, pages, look=not arguments.unseen, sample=arguments.sample)
    state |= dict(complaints=complaints)
    if arguments.strict and complaints:
        raise Failure("\n".join([*complaints, "These are warnings; without --strict they would only be printed."]))
    project.build.mkdir(parents=True, exist_ok=True)
    stamp.write_text(json.dumps(state))
    for line in complaints:
        print("warning:", line, file=sys.stderr)
    print(f"{len(pages)} pages: {project.docs}/index.html")
    return 0


def checked(project, pages, look, sample):
    "Everything that is wrong with the finished pages; prints their weights and what the browser took."
    import check
    start, by_name = time.perf_counter(), {page.name: page for page in pages}
    names = sorted(path.stem for path in project.docs.glob("*.html") if path.stem not in ("404", "search"))
    complaints, weights = check.read(project.docs, names)
    seen = check.look(project.docs, names, sample=check.SAMPLE if sample else ()) if look else {}
    for name, measured in seen.items():
        page = by_name.get(name)
        complaints += check.judged(name, measured, page.nb, page.stem) if page else check.judged(name, measured)
    heaviest = max(weights, key=weights.get, default="none")
    print(f"checked {len(names)} pages{', ' + str(len(seen)) + ' of them in the browser,' if look else ''} in {time.perf_counter() - start:.0f} s; the median weighs "
          f"{sorted(weights.values())[len(weights) // 2] / 1e6:.1f} MB, {heaviest}.html {weights[heaviest] / 1e6:.1f} MB" if weights else "no page is there")
    if look and not seen:
        print("left out: the pages were not looked at: Chromium or Playwright is missing")
    elif look and not check.axe():
        print('left out: accessibility was not looked at: pip install "cost_eval[dev]" brings axe-core')
    elif look and sample:
        print(f"left out: {len(names) - len(seen)} of {len(names)} pages were not looked at in the browser: make site STRICT=1 or make test FULL=1 sees all")
    return complaints


if __name__ == "__main__":
    sys.exit(main())
