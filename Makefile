# Two commands to know: `make demo` and `make test`. Both bring what they need; what is done is not done again.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo posts test test-quick test-rest test-builds check fix lab clean env server chromium axe lock

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: server ## run the small benchmark on a real server and build its post
	@$(BIN)/ibench run experiments/demo.yaml
	@$(BIN)/ibench post papermill_params/insert_benchmark/demo.yml

posts: env ## build every post in papermill_params/, and the site that lists them
	@$(BIN)/ibench posts papermill_params/; built=$$?; $(BIN)/ibench site && exit $$built

test: server chromium axe ## run all tests: two at a time, then those that measure time alone
	@$(BIN)/python tools/run_tests.py all

test-quick: env ## run the tests that need no server and no browser, in a minute
	@$(BIN)/python tools/run_tests.py quick

test-rest: server chromium axe ## run the tests that test-quick leaves out of test
	@$(BIN)/python tools/run_tests.py rest

test-builds: server ## fetch every server build from its registry and run on it; profile one with perf
	@$(BIN)/python tools/run_tests.py builds

check: env ## lint, format, types, docs, import rules; changes nothing
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python tools/notebooks.py --check
	@$(BIN)/python tools/write_docs.py --check
	@$(BIN)/python -m pytest -q tests/test_repository.py tests/test_imports.py

fix: env ## mend what `make check` finds and a tool can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/python tools/notebooks.py
	@$(BIN)/python tools/write_docs.py

lab: env ## open JupyterLab on notebooks/explore.ipynb
	@$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/explore.ipynb

clean: ## remove caches and built posts; never a measurement in data/runs
	@rm -rf data/posts data/builds/.arriving-* data/builds/.datadirs .mypy_cache .ruff_cache .pytest_cache
	@find . -path ./.venv -prune -o -path ./data -prune -o -name __pycache__ -type d -exec rm -rf {} +

env: ## make the Python environment in .venv
	@$(PYTHON) tools/environment.py

server: env ## get a database server when there is none
	@$(BIN)/python tools/provide.py server

chromium: env ## get headless Chromium, which the tests need, when there is none
	@$(BIN)/python tools/provide.py chromium

axe: env ## get axe-core, which the tests hold pages against, when it is not there (npm)
	@$(BIN)/python tools/provide.py axe

lock: ## resolve requirements.lock and environment.yml anew from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --fork-strategy fewest \
		--generate-hashes --no-header --no-annotate -o requirements.lock
	@$(PYTHON) tools/conda.py
