# Everything a fresh machine needs is Python and make.
#   make demo    create the environment, install, run the main job on real data
#   make test    create the environment, install, run the tests
#   make docs    create the environment, install, build the pages
#   make test-engines    the tests on Spark, which needs Java
#   make test-oldest     some tests on the lowest versions that pyproject.toml declares
#   make test-wheel  build the package, install it without extras, use it without these sources
#   make test-python PYTHON=python3.12  the tests on another Python, in an environment of its own
#   make mutants     change the sources at random, and print the changes that no test notices
#   make golden  store anew what the command and the estimators give (tests/golden)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-bounds test-oldest test-engines test-wheel test-python mutants golden check docs clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.command: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[cli,report]'
	touch $@

$(VENV)/.documentation: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

$(VENV)/.development: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.command $(VENV)/.documentation

demo: $(VENV)/.command
	$(BIN)/naively demo --out naively-demo

test: $(VENV)/.development
	$(BIN)/python -m pytest -n 2 --dist loadfile --max-worker-restart 0

# Kernels are compiled with a check of every index, which they do without elsewhere.
test-bounds: $(VENV)/.development
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/checked-kernels \
	  $(BIN)/python -m pytest -n 2 --dist loadfile --max-worker-restart 0

# The lowest declared versions of everything that is run or tested, in an environment of their own.
# Their deprecations are of what others released later, so they are no errors; other warnings are.
OLDEST := .venv-oldest
OLDEST_TESTS := cli matrix read_files work_records statistics

$(OLDEST)/.ready: pyproject.toml tests/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --editable '.[test]' --constraint tests/oldest.txt
	touch $@

test-oldest: $(OLDEST)/.ready
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/kernels $(OLDEST)/bin/python -m pytest -n 2 --dist loadfile \
	  -W default::DeprecationWarning -W default::PendingDeprecationWarning -W default::FutureWarning \
	  $(OLDEST_TESTS:%=tests/test_%.py)

# First the wheel alone, then with what the command needs; nothing of this folder is in reach (-I).
WHEEL := .venv-wheel
test-wheel:
	rm -rf $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)
	$(PYTHON) -m venv $(WHEEL)/tools
	$(WHEEL)/tools/bin/python -m pip install --quiet hatchling
	$(WHEEL)/tools/bin/python -m hatchling build --directory $(WHEEL)/dist
	$(WHEEL)/bin/python -m pip install --quiet $(WHEEL)/dist/*.whl
	$(WHEEL)/bin/python -I tests/wheel.py $(WHEEL)/dist
	$(WHEEL)/bin/python -m pip install --quiet "$$(echo $(WHEEL)/dist/*.whl)[cli]"
	$(WHEEL)/bin/python -I tests/wheel.py --command

test-python:
	$(MAKE) test PYTHON=$(PYTHON) VENV=.venv-$(notdir $(PYTHON))

# Spark takes a minute to start and needs Java 17 or later: not part of every run.
test-engines: $(VENV)/.development
	$(BIN)/python -m pip install --quiet --editable '.[spark]'
	$(BIN)/python -m pytest -m engines

# Hours; in two processes: python -m tests.mutants 1/2, and 2/2. What is kept is in .mutants/.
mutants: $(VENV)/.development
	$(BIN)/python -m pip install --quiet cosmic-ray
	$(BIN)/python -m tests.mutants
	$(BIN)/python -m tests.mutants report

# What tests/test_golden*.py compare with. A change that moves a stored value says why in its commit.
# Some entries only: make golden ONLY='select_hybrid bernoulli'
golden: $(VENV)/.development
	$(BIN)/python -m tests.golden $(ONLY)

check: $(VENV)/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Warnings are errors; nothing is downloaded, neither now nor when the pages are read. The pages are docs/_build/html/index.html.
docs: $(VENV)/.documentation
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	! grep -rlE '<(script|img|link)[^>]*(src|href)="https?:' --include='*.html' docs/_build/html

clean:
	rm -rf $(VENV) .venv-* naively-demo docs/_build docs/auto_examples docs/reference
