# Two commands matter: `make demo` and `make test`. Both need only python3 and make.
PYTHON ?= python3
BIN := .venv/bin
CORE := .venv/.core
READY := .venv/.ready

.PHONY: demo test quick lint format reference docs bench fuzz search clean

demo: $(CORE)  ## score the shipped example world, offline
	$(BIN)/answerkey demo

test: $(READY) lint  ## everything, as CI runs it
	$(BIN)/pytest -n 3 --dist loadgroup

quick: $(READY)  ## the fast tests only
	$(BIN)/pytest -n 3 --dist loadgroup -m "not slow"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python tools/style_figures.py --check

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reference: $(READY)  ## write docs/reference again from the code
	$(BIN)/python tools/make_reference.py

docs: $(READY)  ## the documentation as a site in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

bench: $(READY)  ## the benchmarks beside the peers; writes benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA))

fuzz: $(READY)  ## hostile inputs for MINUTES; what fails is saved in tests/fuzz/cases
	$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),20)

$(CORE): pyproject.toml constraints.txt
	@echo "installing answerkey into .venv (about 220 MB; no developers' tools) …"
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable .
	@touch $(CORE)

$(READY): $(CORE)
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --constraint constraints.txt --editable . --group dev
	$(BIN)/python -m compileall -q src  # where Python may not write bytecode itself, each command would compile the code again
	touch $(READY)

search: $(READY)  ## property tests with new random examples; add what fails to its test with @example
	ANSWERKEY_HYPOTHESIS=search $(BIN)/pytest -n 2 --dist loadgroup -m "not slow" $$(grep -rl --include='test_*.py' 'from hypothesis' tests)

clean:
	rm -rf .venv .venvs build dist
