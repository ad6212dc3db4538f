# Two commands for everyone: `make book` and `make test`. Both make or update .venv by themselves.
.PHONY: book test bench clean
.DEFAULT_GOAL := book

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.bindery-stamp

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "Bindery needs Python 3.11 or newer; this is %d.%d (set PYTHON=python3.11)" % v[:2])'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "setting up .venv from requirements.lock (a few minutes the first time)"
	@$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . 2>/dev/null || \
	 $(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

book: $(STAMP)
	@$(BIN)/bindery build

test: $(STAMP)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy
	@$(BIN)/bindery build --profile smoke
	@$(BIN)/bindery build --profile paper --rehearse --no-book
	@$(BIN)/python -m pytest -n 2 --dist loadfile

bench: $(STAMP)
	@$(BIN)/python -m benchmarks

clean:
	rm -rf _build book/chapters .pytest_cache .mypy_cache .ruff_cache
