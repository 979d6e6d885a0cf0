# Every target first sees to the virtual environment in .venv (made once, quick when it is up to date).
# Another Python: make PYTHON=/path/to/python3.12 book

PYTHON ?= python3
MAKE_PY = @$(PYTHON) .ci/make.py
export STACK FULL EDIT CI

.PHONY: help book change test coverage mutants lab site bench notebooks clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

book:  ## install, reproduce the papers with the data at hand, build the site into _docs/
	$(MAKE_PY) book

change:  ## after editing a notebook: export it, run it, store its outputs, run its tests; NB="02_costs.ipynb ..." names it
	$(MAKE_PY) change $(NB)

test:  ## install, run every check; STEPS="in-sync pytest" runs only some, STACK=oldest with the oldest versions, FULL=1 also what is slow
	$(MAKE_PY) test $(STEPS)

coverage: export COVERAGE_RCFILE = $(CURDIR)/.ci/coverage.ini
coverage:  ## install, run tests and notebooks, say which lines and branches of the package they reach; TESTS="tests/test_costs.py" runs only some tests
	$(MAKE_PY) env test
	rm -rf build/coverage
	mkdir -p build/coverage
	$(MAKE_PY) run coverage run -m pytest -n auto --dist loadgroup -p no:cacheprovider -q $(or $(TESTS),tests)
	$(if $(TESTS),,$(MAKE_PY) run coverage run .ci/notebooks.py --check)
	$(MAKE_PY) run coverage combine -q
	$(MAKE_PY) run coverage report
	$(MAKE_PY) run coverage json -q -o build/coverage/found.json
	$(if $(TESTS),,$(MAKE_PY) run python .ci/cover.py build/coverage/found.json)

mutants:  ## install, change the numeric modules at random and see whether a test notices; N=300, SEED=0, MODULES="costs metrics"
	$(MAKE_PY) env test
	$(MAKE_PY) run python .ci/mutants.py $(if $(N),-n $(N)) $(if $(SEED),--seed $(SEED)) $(MODULES)

lab:  ## install, open a working copy of the notebooks in JupyterLab; EDIT=1 opens the notebooks themselves
	$(MAKE_PY) env book
	$(MAKE_PY) lab

site:  ## install, build the site into _docs/ (Quarto if it is on PATH, else Sphinx); STRICT=1 looks at Sphinx's pages, too
	$(MAKE_PY) env book
	$(MAKE_PY) run python .ci/site.py $(if $(STRICT),--strict,$(if $(shell command -v quarto),--quarto))

bench:  ## install, also the libraries to compare with; run the benchmarks and store what they give
	$(MAKE_PY) env test
	$(MAKE_PY) peers
	$(MAKE_PY) run python .ci/notebooks.py --slow 80_benchmarks.ipynb

notebooks:  ## install, export, re-run all notebooks in place; NB="index.ipynb ..." runs only some, SLOW=1 also their slow cells
	$(MAKE_PY) env test
	$(MAKE_PY) run nbdev_export
	$(MAKE_PY) run python .ci/notebooks.py $(if $(SLOW),--slow) $(NB)
	$(MAKE_PY) run python .ci/readme.py

clean:  ## remove what the targets above made
	rm -rf .venv .venv-oldest _docs _proc _reproduced build dist .pytest_cache .hypothesis .ruff_cache *.egg-info
