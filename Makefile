# `make demo` and `make test` are all a newcomer needs; each sets up its own .venv.
PY ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAGE ?= dev

.PHONY: demo test check lint bench fuzz e2e clean

demo: $(VENV)/.local-ready
	$(BIN)/python -m runtime.cli.demo

test: $(VENV)/.dev-ready
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: lint test

lint: $(VENV)/.dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/bin/python:
	$(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.9

$(VENV)/.local-ready: runtime/requirements-local.txt | $(VENV)/bin/python
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r runtime/requirements-local.txt
	touch $@

$(VENV)/.dev-ready: requirements-dev.txt requirements.txt runtime/requirements-local.txt | $(VENV)/bin/python
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements-dev.txt
	touch $@ $(VENV)/.local-ready

clean:
	rm -rf $(VENV) build cdk.out .mypy_cache .ruff_cache .pytest_cache .hypothesis
