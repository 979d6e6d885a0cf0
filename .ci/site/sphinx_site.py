"""What Sphinx needs to know, and what its theme gets wrong.

| what | the reader's need |
| --- | --- |
| `config` | one definition of the site for both builders |
| `reference` | a page a module, made by Sphinx' autosummary |
| `fold_the_rest` | a chapter on one page: what follows its summary waits behind its headings |
| `real_notebook_names`, `real_notebooks` | edit, source, Colab and download lead to the notebook itself |
| `page_not_found` | a way on from a dead address |
| `mend` | folds named by their words |
"""
import re
import shutil
from pathlib import Path

import reading
from docutils import nodes

PROVED = ("index", "10_expected_cost", "60_report")  # where all cells were run on Colab's packages


def config(project, pages, mathjax):
    "The configuration, from settings.ini and _quarto.yml."
    cfg, logo = project.cfg, str(project.nbs / "logo.svg")
    buttons = dict.fromkeys(["use_repository_button", "use_source_button", "use_edit_page_button",
                             "use_issues_button", "home_page_in_toc"], True)
    return dict(
        project=cfg["title"], author=cfg["author"], copyright=cfg["copyright"], release=cfg["version"],
        language="en", templates_path=[str(Path(__file__).parent / "templates")],
        extensions=["sphinx.ext.mathjax", "sphinx.ext.autosummary", "sphinx.ext.autodoc", "numpydoc",
                    "myst_nb", "sphinx_site"],
        autosummary_context={"told": told(project)},
        autodoc_member_order="bysource", autodoc_typehints="none", default_role="literal",
        numpydoc_show_class_members=False, add_module_names=False,
        html_theme="sphinx_book_theme", html_title=cfg["title"], html_favicon=logo,
        html_static_path=[str(project.build / "static")], html_css_files=["page.css", "site.css"],
        html_js_files=[("site.js", {"defer": "defer"})], html_baseurl=project.site_url + "/",
        html_show_sphinx=False, html_show_sourcelink=False, html_context={"default_mode": "auto"},
        html_use_index=False, html_domain_indices=False, html_permalinks_icon="#",
        html_theme_options=buttons | dict(
            repository_url=cfg["git_url"], repository_branch=cfg["branch"], path_to_docs=cfg["nbs_path"],
            launch_buttons=dict(colab_url="https://colab.research.google.com"), show_navbar_depth=1,
            show_toc_level=2, navigation_with_keys=False, navbar_persistent=[], toc_title="On this page",
            logo=dict(text=cfg["title"], image_light=logo, image_dark=logo),
        ),
        nb_execution_mode="off", nb_merge_streams=True, nb_render_markdown_format="myst",
        nb_code_prompt_show="Code", nb_code_prompt_hide="Code", nb_render_image_options={"align": "center"},
        myst_enable_extensions=["dollarmath", "amsmath", "deflist", "colon_fence", "attrs_inline",
                                "strikethrough", "tasklist"],
        myst_dmath_double_inline=True, myst_dmath_allow_space=False, myst_dmath_allow_digits=False,
        mathjax_path="mathjax/startup.js", mathjax3_config=mathjax,
        site_stems={page.name: page.stem for page in pages}, site_notebooks=str(project.nbs),
    )


def told(project):
    "{module: where its story is}."
    made = reading.modules(project).items()
    return {module: f"Told in :doc:`{project.page_name(stem)}`." for stem, module in made}


REFERENCE = ("Reference\n=========\n\nWhat each module exports, in the order of the book.\n\n"
             ".. autosummary::\n   :toctree: .\n\n")


def reference(project):
    "The page from which autosummary makes a page of each module that defines something."
    named = [module for module in reading.modules(project).values() if reading.documented(module)]
    return REFERENCE + "".join(f"   {module}\n" for module in named)


def setup(app):
    app.add_config_value("site_stems", {}, "html")
    app.add_config_value("site_notebooks", "", "html")
    app.connect("autodoc-process-docstring", as_rst, priority=400)  # before numpydoc
    app.connect("doctree-resolved", fold_the_rest)
    app.connect("html-page-context", real_notebook_names, priority=900)
    app.connect("html-collect-pages", page_not_found)
    app.connect("build-finished", real_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def as_rst(app, what, name, obj, options, lines):
    "A docstring is written as the book is: formulas stand between dollars, and an asterisk is one."
    text = re.sub(r"(`[^`]*`|>>> .*)|\$([^$\n]+)\$|(\*)(?=[\w*,])", said_in_rst, "\n".join(lines))
    lines[:] = text.split("\n")


def said_in_rst(found):
    kept, formula, _ = found.groups()
    return kept or (f":math:`{formula}`" if formula else r"\*")


def fold_the_rest(app, doctree, docname):
    """The sections behind a page's summary (exercises, sources, how it is made) are folded; their headings
    stay."""
    page = next(doctree.findall(nodes.section), ())
    parts = [node for node in page if isinstance(node, nodes.section)]
    at = next((k for k, part in enumerate(parts) if part[0].astext() == "Summary"), len(parts))
    for part in parts[at + 1:]:
        before, between, after = (nodes.raw("", text, format="html") for text
                                  in ('<details class="rest"><summary>', "</summary>", "</details>"))
        part[:] = [before, part[0], between, *part[1:], after]


def real_notebook_names(app, pagename, templatename, context, doctree):
    """Edit, source and launch buttons lead to nbs/10_expected_cost.ipynb, not to nbs/expected_cost.ipynb;
    generated pages have none, unproved ones none of Colab."""
    stem = app.config.site_stems.get(pagename)
    there = stem and (Path(app.config.site_notebooks) / f"{stem}.ipynb").exists()

    def wanted(button):
        url, below = button.get("url", ""), button.get("buttons")
        if below is not None:
            below[:] = filter(wanted, below)
        if "_sources/" in url or not re.search(rf"/{pagename}\.(ipynb|rst)(\?|$)", url):
            return below != []
        button["url"] = url.replace(f"/{pagename}.ipynb", f"/{stem}.ipynb")
        return there and ("colab." not in url or stem in PROVED)

    if "header_buttons" in context:
        context["header_buttons"][:] = filter(wanted, context["header_buttons"])


def page_not_found(app):
    "404.html, for hosts that show it."
    home = rf'<a href="{app.config.html_baseurl}\2.html">\1</a>'
    text = re.sub(r"\[(.*?)\]\((\w+)\.ipynb\)", home, reading.NOT_FOUND)
    yield "404", {"title": "No such page", "body": f"<h1>No such page</h1><p>{text}</p>"}, "page.html"


def real_notebooks(app, exception):
    "The download button gives the notebook one can run, not its translation."
    for name, stem in app.config.site_stems.items():
        notebook = Path(app.config.site_notebooks) / f"{stem}.ipynb"
        if exception is None and notebook.exists():
            shutil.copyfile(notebook, app.outdir / "_sources" / f"{name}.ipynb")


WORDS = {  # of the theme's that say less than what they stand for, or something else
    '<summary aria-label="Toggle hidden content">': "<summary>",
    '<summary><span class="toc': '<summary aria-label="further pages"><span class="toc',
}


def mend(docs):
    "The finished pages with the words that the theme gets wrong."
    for path in docs.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        for theirs, ours in WORDS.items():
            text = text.replace(theirs, ours)
        path.write_text(text, encoding="utf-8")
