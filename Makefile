# Everyday commands. Relative paths only, so that the checkout may lie anywhere, also below a folder with spaces.

PYTHON ?= python3
WORKLOAD ?= high-depth
RUN ?= results/latest
VENV := .venv
INSTALLED := $(VENV)/installed

.DEFAULT_GOAL := help
.PHONY: help setup sim accept analyze replay doctor lint test bench hostile torture clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

setup: $(INSTALLED)  ## create .venv and install the pinned packages (the other targets do it when needed)
	@:

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("simrunner needs Python 3.11 or newer; name one: make setup PYTHON=python3.11")'
	@echo "setup: installing the packages of requirements.lock into $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --requirement requirements.lock
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(INSTALLED)

sim: $(INSTALLED)  ## run a workload: WORKLOAD=high-depth [DESIGN=...] [SEED=...] [MODE=stepped|rounds]
	@$(VENV)/bin/simrunner run "$(WORKLOAD)" $(if $(DESIGN),--design "$(DESIGN)") $(if $(SEED),--seed "$(SEED)") $(if $(MODE),--mode "$(MODE)")

accept: $(INSTALLED)  ## run every experiment of the acceptance and decide: [DESIGN=reference] [SEED=1]
	@$(VENV)/bin/simrunner accept $(if $(DESIGN),--design "$(DESIGN)") $(if $(SEED),--seed "$(SEED)")

analyze: $(INSTALLED)  ## judge a stored run again, without a database: [RUN=results/latest]
	@$(VENV)/bin/simrunner analyze "$(RUN)"

replay: $(INSTALLED)  ## repeat a stored run step by step: [RUN=results/latest]
	@$(VENV)/bin/simrunner replay "$(RUN)"

doctor: $(INSTALLED)  ## find out whether runs can be made here: [DESIGN=...]
	@$(VENV)/bin/simrunner doctor $(if $(DESIGN),--design "$(DESIGN)")

lint: $(INSTALLED)  ## check style, types and layers
	@$(VENV)/bin/ruff check --quiet --output-format concise
	@$(VENV)/bin/ruff format --check --quiet
	@$(VENV)/bin/python -m mypy --no-error-summary
	@$(VENV)/bin/lint-imports --no-logo --no-cache > $(VENV)/layers.txt || { cat $(VENV)/layers.txt; exit 1; }

test: $(INSTALLED)  ## run the tests on two processors
	@$(VENV)/bin/python -m pytest -n 2 --dist loadfile

bench: $(INSTALLED)  ## measure how fast schedules are run, beside isolationtester; writes results/bench.json
	@$(VENV)/bin/python -m tests.bench

hostile: $(INSTALLED)  ## read 2,000 spoilt inputs of each kind and print a table: half an hour
	@$(VENV)/bin/python -m tests.hostile

torture: $(INSTALLED)  ## kill commands 200 times and servers 50 times, and look at what is left: half an hour
	@$(VENV)/bin/python -m tests.torture --coordinator 200 --server 50

clean:  ## remove .venv and caches; results stay
	@rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find simrunner tests -name __pycache__ -type d -prune -exec rm -rf {} +
