"""Packaging: everything is read from settings.ini, the file nbdev reads too."""
from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.sdist import sdist

here = Path(__file__).parent
config = ConfigParser(delimiters=["="])
config.read(here / "settings.ini", encoding="utf-8")
cfg = config["DEFAULT"]


class SdistWithSources(sdist):
    """The source distribution carries what the package is made from, and what its tests need: all but the papers' data, which are not ours."""

    sources = ("settings.ini", "Makefile", "_quarto.yml", "*.md", "*.cff", "nbs/[!.]*.*", "tests/*.*", ".ci/*", ".ci/site/**/*")

    def make_release_tree(self, base_dir, files):
        """Add them to what setuptools finds."""
        found = {str(path) for pattern in self.sources for path in Path().glob(pattern) if path.is_file() and path.suffix != ".pyc"}
        super().make_release_tree(base_dir, sorted({*files, *found}))


extras = {name: cfg[f"{name}_requirements"].split() for name in ("data", "book", "colab", "site", "scale")}
extras["dev"] = sorted({r for requirements in extras.values() for r in requirements} | set(cfg["dev_requirements"].split()))
extras["bench"] = cfg["bench_requirements"].split()  # on top of dev, for `make bench` alone

setup(
    name=cfg["lib_name"],
    version=cfg["version"],
    description=cfg["description"],
    long_description=(here / "README.md").read_text(encoding="utf-8").replace("](nbs/", f"]({cfg['git_url']}/blob/{cfg['branch']}/nbs/"),
    long_description_content_type="text/markdown",
    author=cfg["author"],
    author_email=cfg["author_email"],
    url=cfg["git_url"],
    project_urls={"Documentation": f"{cfg['doc_host']}{cfg['doc_baseurl']}/", "Changes": f"{cfg['git_url']}/blob/{cfg['branch']}/CHANGELOG.md"},
    license="Apache-2.0",
    keywords=cfg["keywords"].split(),
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Intended Audience :: Science/Research",
        "Framework :: Jupyter",
        "Operating System :: OS Independent",
        "Programming Language :: Python :: 3",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)),
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
    python_requires=">=" + cfg["min_python"],
    packages=find_packages(include=["cost_eval", "cost_eval.*"]),
    package_data={"cost_eval": ["py.typed", "report.html", "published/*.csv", "published/*.npy", "reproductions/*.csv"]},
    install_requires=cfg["requirements"].split(),
    extras_require=extras,
    entry_points={"console_scripts": cfg["console_scripts"].split(), "nbdev": ["cost_eval=cost_eval._modidx:d"]},
    cmdclass={"sdist": SdistWithSources},
)
