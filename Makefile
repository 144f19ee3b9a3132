# Daiku: `make demo` shows it, `make test` and `make test-all` prove it. `make help` lists the rest.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
UV_VERSION := 0.13.8
BIN := .venv/bin
export UV_SYSTEM_CERTS := 1
export VIRTUAL_ENV := $(CURDIR)/.venv

UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
MEMBERS := controller components local
STAMP := .venv/.daiku-setup

PYTEST = $(BIN)/python -m pytest -n $(or $(WORKERS),2) --dist loadfile
# A file of a slow folder that is named here is run once, by `make test`.
FAST := tests/test_tidy.py tests/unit tests/conformance tests/properties tests/scenarios tests/infra tests/simulation \
  tests/e2e/test_first_light.py tests/world/test_kwok_cloud.py::test_a_deployment_is_scaled_out_and_in_again
SLOW := tests/e2e tests/world tests/simulation

.PHONY: python tools help setup lock demo test test-all check bench simulate clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Daiku needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Remedy: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11"; exit 1; }

.uv/bin/uv: | python
	@echo "uv is not on the PATH: installing uv $(UV_VERSION) into .uv/"
	@$(PYTHON) -m venv .uv && .uv/bin/pip install --quiet uv==$(UV_VERSION)

$(STAMP): requirements.lock $(MEMBERS:%=%/pyproject.toml) | python $(if $(filter .uv/bin/uv,$(UV)),.uv/bin/uv)
	@echo "installing the locked packages into .venv (about 30 s the first time)"
	@test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) .venv
	@$(UV) pip sync --quiet --require-hashes requirements.lock
	@$(UV) pip install --quiet --no-deps $(MEMBERS:%=-e %)
	@touch $@

setup: $(STAMP) ## install everything Python needs into .venv

lock: | $(if $(filter .uv/bin/uv,$(UV)),.uv/bin/uv) ## pin every package again (requirements.lock)
	@$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate --group dev --all-extras $(MEMBERS:%=%/pyproject.toml) -o requirements.lock

demo: setup ## build the local stack, scale a Deployment out and in, destroy it (KEEP=1 keeps it, REPORT=file writes JSON)
	@$(BIN)/daiku local demo

tools: setup # Kubernetes and Pulumi binaries, with progress, before anything waits for them in silence
	@$(BIN)/python -m daiku_local.toolchain > /dev/null

test: check tools ## every gate, and the tests that take minutes; WORKERS (2) files at a time
	@$(PYTEST) --histories 100 $(FAST)

test-all: tools ## every other test: whole worlds, faults, upgrades; CI runs it after `make test`
	@$(PYTEST) $(SLOW) $(patsubst %,--deselect=%,$(filter tests/e2e/% tests/world/%,$(FAST)))

check: setup ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports

bench: setup ## print figures as JSON lines (ONLY=name picks one; PEER=1 builds Karpenter and measures both)
	@PEER=$(PEER) $(BIN)/python tests/performance/bench.py $(ONLY)

simulate: setup ## replay one simulated history (SEED=7), or live through many (HISTORIES=10000)
	@$(BIN)/python -m pytest tests/simulation $(if $(HISTORIES),--histories $(HISTORIES) -n 2 -k whatever,--seed $(or $(SEED),0))

clean: ## stop the laptop world and remove what was made here (the tool cache stays)
	@test ! -x $(BIN)/daiku || $(BIN)/daiku local down
	@rm -rf .venv .uv .daiku .pytest_cache .ruff_cache .hypothesis .import_linter_cache
