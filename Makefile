# Everything a fresh machine needs is Python and make.
#   make demo    create the environment, install, run the main job on real data
#   make test    create the environment, install, run the tests
#   make test-engines    the tests on Spark, which needs Java
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-engines check clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.command: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	touch $@

$(VENV)/.development: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.command

demo: $(VENV)/.command
	$(BIN)/naively demo --out naively-demo

test: $(VENV)/.development
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Spark takes a minute to start and needs Java 17 or later: not part of every run.
test-engines: $(VENV)/.development
	$(BIN)/python -m pip install --quiet --editable '.[spark]'
	$(BIN)/python -m pytest -m engines

check: $(VENV)/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) naively-demo
