# `make demo` and `make test` are all a newcomer needs; each sets up its own .venv.
PY ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAGE ?= dev
STACK := llms-txt-auto-updates-$(STAGE)
ARGS ?=
CDK_CLI := build/cdk-cli/node_modules/aws-cdk/bin/cdk
NODE = $(shell $(BIN)/python -c 'from cdk import NODE; print(NODE)')
# app.py runs in the project's own environment, whatever is first in the caller's PATH.
CDK = PATH="$(CURDIR)/$(BIN):$$PATH" $(NODE) $(CDK_CLI)

.PHONY: demo test check lint bench bench-freshness fuzz mutation soak e2e synth bootstrap deploy diff destroy smoke lock clean

demo: $(VENV)/.local-ready
	$(BIN)/python -m runtime.cli.demo

test: $(VENV)/.dev-ready
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not e2e" tests

check: lint test

lint: $(VENV)/.dev-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

e2e: $(VENV)/.dev-ready $(CDK_CLI)
	$(BIN)/python -m pytest -m e2e tests/e2e

bench: $(VENV)/.dev-ready
	$(BIN)/python -m benchmarks

bench-freshness: $(VENV)/.dev-ready
	$(BIN)/python -m benchmarks.freshness

fuzz: $(VENV)/.dev-ready
	$(BIN)/python -m tests.fuzz --minutes 10 $(ARGS)

mutation: $(VENV)/.dev-ready
	$(BIN)/python -m tests.mutation $(ARGS)

soak: $(VENV)/.dev-ready
	$(BIN)/python -m tests.soak $(ARGS)

synth: $(VENV)/.deploy-ready $(CDK_CLI)
	$(CDK) synth --quiet -c stage=$(STAGE) $(ARGS)

bootstrap: $(VENV)/.deploy-ready $(CDK_CLI)
	$(CDK) bootstrap -c stage=$(STAGE) $(ARGS)

deploy: $(VENV)/.deploy-ready $(CDK_CLI)
	$(CDK) deploy $(STACK) -c stage=$(STAGE) $(ARGS)

diff: $(VENV)/.deploy-ready $(CDK_CLI)
	$(CDK) diff $(STACK) -c stage=$(STAGE) $(ARGS)

destroy: $(VENV)/.deploy-ready $(CDK_CLI)
	$(CDK) destroy $(STACK) -c stage=$(STAGE) $(ARGS)

smoke: $(VENV)/.deploy-ready
	$(BIN)/python -m cdk.smoke $(STAGE)

$(VENV)/bin/python:
	$(PY) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.9

$(VENV)/.local-ready: runtime/requirements-local.txt | $(VENV)/bin/python
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r runtime/requirements-local.txt
	touch $@

$(VENV)/.deploy-ready: requirements.txt runtime/requirements-local.txt | $(VENV)/bin/python
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements.txt
	touch $@ $(VENV)/.local-ready

$(VENV)/.dev-ready: requirements-dev.txt requirements.txt runtime/requirements-local.txt | $(VENV)/bin/python
	$(BIN)/uv pip install --quiet --python $(BIN)/python -r requirements-dev.txt
	touch $@ $(VENV)/.deploy-ready $(VENV)/.local-ready

$(CDK_CLI): | $(VENV)/.deploy-ready
	mkdir -p build/cdk-cli
	PATH="$(dir $(NODE)):$$PATH" $(NODE) $(dir $(NODE))../lib/node_modules/npm/bin/npm-cli.js \
	  install --silent --no-audit --no-fund --prefix build/cdk-cli aws-cdk@2.1148.1

# The Lambda's dependencies, locked with hashes for every platform.
lock: $(VENV)/.dev-ready
	$(BIN)/uv pip compile -q runtime/requirements.in --universal --python-version 3.11 --generate-hashes --no-header \
	  --no-annotate -o runtime/requirements.txt

clean:
	rm -rf $(VENV) build cdk.out .mypy_cache .ruff_cache .pytest_cache .hypothesis
