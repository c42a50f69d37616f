# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
WORKERS ?= 2

.PHONY: demo test test-all test-fl lint bench docs clean

demo: $(VENV)/.ready
	$(BIN)/shuffledp account --eps0 2 --n 100000 --delta 1e-6 --plot demo.png
	@echo "Picture: demo.png"

test: lint
	$(BIN)/python -m pytest -n $(WORKERS)

test-all: lint
	$(BIN)/python -m pytest -n $(WORKERS) -m "slow or not slow"

# Flower pins older versions of what we pin, so it gets an environment of its own
test-fl:
	$(PYTHON) -m venv $(VENV)-fl
	$(VENV)-fl/bin/python -m pip --quiet install -e '.[fl]' pytest hypothesis scipy
	$(VENV)-fl/bin/python -m pytest -m "slow or not slow" -W default tests/training/test_flower.py

lint: $(VENV)/.ready
	$(BIN)/ruff check src tests bench docs
	$(BIN)/ruff format --check src tests bench docs
	$(BIN)/mypy

bench: $(VENV)/.ready
	$(PIP) install -c constraints.txt -e '.[bench]'
	$(BIN)/python bench/accounting.py
	$(BIN)/python bench/engine.py
	$(BIN)/python bench/tradeoff.py
	$(BIN)/python bench/gaussian.py
	$(BIN)/python bench/personalized.py
	$(BIN)/python bench/training.py
	$(BIN)/python bench/composition.py

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "Site: build/docs/index.html"

clean:
	rm -rf $(VENV) build demo.png .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e '.[plot,test]'
	@touch $@

$(VENV)/.docs: $(VENV)/.ready
	$(PIP) install -c constraints.txt -e '.[docs]'
	@touch $@
