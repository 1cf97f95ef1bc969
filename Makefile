# The two main commands are `make demo` and `make test`. Both install what they need and skip what is already done.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help demo posts test test-quick test-rest test-long test-changed test-builds check fix lab release clean env server chromium axe plotly sysbench postgres lock

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: server plotly ## run the small benchmark on a real server and build its post
	@$(BIN)/ibench run experiments/demo.yaml
	@$(BIN)/ibench post papermill_params/insert_benchmark/demo.yml

posts: plotly ## build every post in papermill_params/, and the site that lists them
	@$(BIN)/ibench posts papermill_params/; built=$$?; $(BIN)/ibench site && exit $$built

test: server chromium axe plotly sysbench postgres ## run the tests: four at a time, then, one at a time, those that measure time; within 10 minutes
	@$(BIN)/python tools/run_tests.py test

test-quick: env ## run the tests that need no server, browser or lake, in a minute
	@$(BIN)/python tools/run_tests.py quick

test-long: server chromium axe plotly sysbench postgres ## run the tests that take too long for test
	@$(BIN)/python tools/run_tests.py long

test-rest: server chromium axe plotly sysbench postgres ## run what test-quick leaves out of test and test-long
	@$(BIN)/python tools/run_tests.py rest

test-changed: server chromium axe plotly sysbench postgres ## run the tests, long ones too, that the changes since BASE (origin/main) can reach
	@BASE=$(BASE) $(BIN)/python tools/run_tests.py changed

test-builds: server sysbench postgres ## install every server build from its registry and run on it; profile one with perf
	@$(BIN)/python tools/run_tests.py builds

check: env ## lint, format, types, docs, import rules; changes nothing
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python tools/sql_lint.py
	@$(BIN)/mypy
	@$(BIN)/python tools/notebooks.py --check
	@$(BIN)/python tools/write_docs.py --check
	@$(BIN)/python -m pytest -q tests/test_repository.py tests/test_imports.py

fix: env ## fix the problems of `make check` that a tool can fix
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/python tools/notebooks.py
	@$(BIN)/python tools/write_docs.py

lab: env ## open JupyterLab in the project, on notebooks/explore.ipynb
	@$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) --ServerApp.root_dir=. --LabApp.default_url=/lab/tree/notebooks/explore.ipynb

release: check ## build the wheel and the source distribution into dist/, and check them
	@$(BIN)/python tools/release.py

clean: ## remove caches and built posts; never a measurement in data/runs
	@rm -rf data/posts data/builds/.arriving-* data/builds/.datadirs .mypy_cache .ruff_cache .pytest_cache
	@find . -path ./.venv -prune -o -path ./data -prune -o -name __pycache__ -type d -exec rm -rf {} +

env: ## make the Python environment in .venv
	@$(PYTHON) tools/environment.py

server: env ## install a database server if there is none
	@$(BIN)/python tools/provide.py server

chromium: env ## install headless Chromium for the tests if there is none
	@$(BIN)/python tools/provide.py chromium

axe: env ## install axe-core, which checks pages in the tests, if it is missing (npm)
	@$(BIN)/python tools/provide.py axe

plotly: env ## get the third of plotly.js that most pages can do with, if npm is here
	@$(BIN)/python tools/provide.py plotly

sysbench: env ## install sysbench if there is none: the workload of that name drives it
	@$(BIN)/python tools/provide.py sysbench

postgres: env ## unpack the distribution's PostgreSQL for the tests if there is none (npm's where apt has none)
	@$(BIN)/python tools/provide.py postgres

lock: ## update requirements.lock and environment.yml from pyproject.toml (needs uv)
	uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 --fork-strategy fewest \
		--generate-hashes --no-header --no-annotate -o requirements.lock
	@$(PYTHON) tools/conda.py
