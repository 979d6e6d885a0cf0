"""What Sphinx needs to know, and what its theme gets wrong.

| what | the reader's need |
| --- | --- |
| `config` | one definition of the site for both builders |
| `real_notebook_names`, `real_notebooks` | edit, source, Colab and download lead to the notebook itself |
| `page_not_found` | a way on from a dead address |
| `lighten`, `drawing` | 1.6 MB of script a page less, colours from the first paint on, folds named by their words |
"""
import re
import shutil
from pathlib import Path

import reading

PROVED = ("index", "10_expected_cost", "60_report")  # where all cells were run on Colab's packages


def config(project, pages, mathjax):
    "The configuration, from settings.ini and _quarto.yml."
    cfg, stems = project.cfg, {p.name: p.stem for p in pages}
    return dict(
        project=cfg["title"], author=cfg["author"], copyright=cfg["copyright"], release=cfg["version"], language="en",
        extensions=["sphinx.ext.mathjax", "myst_nb", "sphinx_site"],
        html_theme="sphinx_book_theme", html_title=cfg["title"],
        html_static_path=[str(project.build / "static")], html_css_files=["page.css", "site.css"], html_js_files=[("site.js", {"defer": "defer"})],
        html_favicon=str(project.nbs / "logo.svg"),
        html_baseurl=project.site_url + "/", html_copy_source=True, html_show_sphinx=False, html_show_sourcelink=False,
        html_context={"default_mode": "auto"}, html_use_index=False, html_domain_indices=False, html_permalinks_icon="#",
        html_theme_options=dict(
            repository_url=cfg["git_url"], repository_branch=cfg["branch"], path_to_docs=cfg["nbs_path"],
            launch_buttons=dict(colab_url="https://colab.research.google.com"), use_repository_button=True, use_source_button=True, use_edit_page_button=True, use_issues_button=True,
            home_page_in_toc=True, show_navbar_depth=1, show_toc_level=2, navigation_with_keys=False, navbar_persistent=[], toc_title="On this page",
            logo=dict(text=cfg["title"], image_light=str(project.nbs / "logo.svg"), image_dark=str(project.nbs / "logo.svg")),
        ),
        nb_execution_mode="off", nb_merge_streams=True, nb_render_markdown_format="myst",
        nb_code_prompt_show="Code", nb_code_prompt_hide="Code", nb_render_image_options={"align": "center"},
        myst_enable_extensions=["dollarmath", "amsmath", "deflist", "colon_fence", "attrs_inline", "strikethrough", "tasklist"],
        myst_dmath_double_inline=True, myst_dmath_allow_space=False, myst_dmath_allow_digits=False,
        mathjax_path="mathjax/startup.js", mathjax3_config=mathjax,
        suppress_warnings=["myst.header"],  # an API entry may be an H3 right under the H1
        site_stems={path.stem: stems[project.whole(path.stem)] for path in (project.build / "source").glob("*.ipynb")}, site_notebooks=str(project.nbs),
    )


def setup(app):
    app.add_config_value("site_stems", {}, "html")
    app.add_config_value("site_notebooks", "", "html")
    app.connect("html-page-context", real_notebook_names, priority=900)
    app.connect("html-collect-pages", page_not_found)
    app.connect("build-finished", real_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def real_notebook_names(app, pagename, templatename, context, doctree):
    "Edit, source and launch buttons lead to nbs/10_expected_cost.ipynb, not to nbs/expected_cost.ipynb; generated pages have none, unproved ones none of Colab."
    stem = app.config.site_stems.get(pagename)
    there = stem and (Path(app.config.site_notebooks) / f"{stem}.ipynb").exists()

    def wanted(button):
        url, below = button.get("url", ""), button.get("buttons")
        if below is not None:
            below[:] = filter(wanted, below)
        if "_sources/" in url or not url.partition("?")[0].endswith(f"/{pagename}.ipynb"):
            return below != []
        button["url"] = url.replace(f"/{pagename}.ipynb", f"/{stem}.ipynb")
        return there and ("colab." not in url or stem in PROVED)

    if "header_buttons" in context:
        context["header_buttons"][:] = filter(wanted, context["header_buttons"])


def page_not_found(app):
    "404.html, for hosts that show it."
    text = re.sub(r"\[(.*?)\]\((\w+)\.ipynb\)", rf'<a href="{app.config.html_baseurl}\2.html">\1</a>', reading.NOT_FOUND)
    body = f"<h1>No such page</h1><p>{text}</p>"
    yield "404", {"title": "No such page", "body": body}, "page.html"


def real_notebooks(app, exception):
    "The download button gives the notebook one can run, not its translation."
    for name, stem in app.config.site_stems.items():
        notebook, target = Path(app.config.site_notebooks) / f"{stem}.ipynb", app.outdir / "_sources" / f"{name}.ipynb"
        if exception is None and target.parent.exists() and notebook.exists():
            shutil.copyfile(notebook, target)


SCRIPT = re.compile(r'<script[^>]* src="(_static/scripts/)fontawesome\.js[^"]*"[^>]*></script>')
RULE = """[class*="fa-"]::before { content: ""; display: inline-block; width: 1em; height: 1em; vertical-align: -.125em; background: currentColor;
  mask: var(--icon) center / contain no-repeat; }
.fa-lg { font-size: 1.25em; } .fa-fw { display: inline-block; width: 1.25em; text-align: center; }
"""


def lighten(docs):
    "The theme carries all of Font Awesome, 1.6 MB of script a page: the pages get the icons that they show, as a style sheet."
    script = docs / "_static/scripts/fontawesome.js"
    if not script.exists():
        return
    all_icons = script.read_text(encoding="utf-8")
    pages = {path: path.read_text(encoding="utf-8") for path in docs.glob("*.html")}
    themes = "".join(path.read_text(encoding="utf-8") for path in script.parent.glob("*theme.js"))
    used = sorted({name for text in [*pages.values(), themes] for name in re.findall(r"\bfa-([a-z][a-z-]+)", text)})
    rules = [f'.fa-{name} {{ --icon: url("data:image/svg+xml,{icon}"); }}' for name in used if (icon := drawing(all_icons, name))]
    (docs / "_static/icons.css").write_text("\n".join([RULE, *rules]), encoding="utf-8")
    for path, text in pages.items():
        text = re.sub(r"<link[^>]*/webfonts/[^>]*>", "", text)  # fetched early on every page, needed on few
        text = text.replace('<div id="pst-primary-sidebar"', '<div id="pst-primary-sidebar" role="complementary" aria-label="the book"')
        text = text.replace('<summary aria-label="Toggle hidden content">', "<summary>")  # a fold is named by its words
        text = text.replace('getItem("theme") || "auto"', 'getItem("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")')  # colours from the first paint on
        text = re.sub(r'(search-button-field [^>]*?) title="Search" aria-label="Search"', r"\1", text)
        text = SCRIPT.sub('<link rel="stylesheet" href="_static/icons.css">', text)
        text = text.replace('<summary><span class="toctree-toggle"', '<summary aria-label="further pages"><span class="toctree-toggle"')
        path.write_text(text, encoding="utf-8")
    for path in [script, *docs.glob("_static/**/*.map")]:
        path.unlink()


def drawing(all_icons, name):
    "An icon as SVG for a style sheet; of several styles the solid one, which the script holds last."
    key = rf'[{{,]"?(?:{name}"?:\[(\d+),(\d+),\[[^\]]*\]|[a-z-]+"?:\[(\d+),(\d+),\[[^\]]*"{name}"[^\]]*\]),"[0-9a-f]+","([^"]+)"\]'
    found = re.findall(key, all_icons)
    if not found:
        return ""
    *sizes, path = found[-1]
    width, height = [size for size in sizes if size]
    return f"%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'%3E%3Cpath d='{path}'/%3E%3C/svg%3E"
