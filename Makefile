# The only door: everything anybody runs here is a target of this file.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test check check-generated format generate oracle test-oracle record test-crash test-robustness bench campaign clean

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# uv makes the environment from the lock file. A machine without uv gets it in a corner of its own, .venv-uv.
# uv chooses among the interpreters that are there; UV_PYTHON=3.13 make ... chooses for it.
$(READY): pyproject.toml uv.lock
	@if uv --version >/dev/null 2>&1; then uv=uv; else \
	  uv=$(VENV)-uv/bin/uv; \
	  test -x $$uv || { echo 'Fetching uv into $(VENV)-uv ...' && \
	    $(PYTHON) -m venv $(VENV)-uv && $(VENV)-uv/bin/pip install --quiet 'uv>=0.9'; } || exit 1; \
	fi; \
	echo 'Making $(VENV) ...' && \
	$$uv sync --quiet --frozen --group dev --no-python-downloads && touch $@

demo: $(READY) ## the product's main job on an embedded cluster; ends by itself
	@$(BIN)/python examples/demo.py

test: $(READY) ## the tests; needs neither Go nor kubectl
	@$(BIN)/pytest -n 2 -q

check: $(READY) ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(READY) ## put the code into shape
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

GENERATED := src/springtide/local/schema/generated src/springtide/local/apiserver/generated src/springtide/local/access/generated
CONTROL_PLANE := $(BIN)/python hack/oracle/control_plane.py

generate: $(READY) ## write the generated files anew from the oracle (needs Go and etcd)
	@cd hack/oracle && go run ./typedump > $(CURDIR)/$(VENV)/types.json
	@$(BIN)/python hack/generate_types.py $(VENV)/types.json
	@$(CONTROL_PLANE) run -- sh -c '$(BIN)/python hack/generate_discovery.py $$SPRINGTIDE_ORACLE_SERVER $$SPRINGTIDE_ORACLE_TOKEN && \
	  $(BIN)/python hack/generate_bootstrap_roles.py $$SPRINGTIDE_ORACLE_KUBECONFIG $$SPRINGTIDE_TOOLS/kubectl'

check-generated: generate ## fail when a generated file is not what the oracle says
	@test -z "$$(git status --porcelain -- $(GENERATED))" || { git --no-pager diff --stat -- $(GENERATED); git status --short -- $(GENERATED); exit 1; }

# Other people's clients live in an environment of their own, so that `make test` never waits for them.
JUDGES := $(VENV)-conformance
$(JUDGES)/.ready: $(READY)
	@PATH="$$PATH:$(CURDIR)/$(VENV)-uv/bin" UV_PROJECT_ENVIRONMENT=$(JUDGES) \
	  uv sync --quiet --frozen --group dev --group conformance --no-python-downloads && touch $@

oracle: $(READY) ## build the real control plane, kubectl old and new, KWOK and Helm (needs Go and etcd; once)
	@$(CONTROL_PLANE) build

# Without controllers: two servers can only be compared while nobody but the suite writes to them.
test-oracle: oracle $(JUDGES)/.ready ## the embedded server against the real one, and stock clients as its judges
	@$(CONTROL_PLANE) --bare run -- $(JUDGES)/bin/pytest -n 2 -q tests/conformance tests/integration/kube tests/docs

record: oracle ## write the contract suite's recorded answers anew from the real server
	@$(CONTROL_PLANE) --bare run -- $(BIN)/python -m tests.contract.apiserver.recording

bench: $(READY) ## the embedded and the real API server side by side; builds the latter
	@$(BIN)/python hack/oracle/control_plane.py build
	@$(BIN)/python benchmarks/apiserver.py

# The tests/crash rounds: each kills a real server a few times. SEEDS=7 or SEEDS=0-19 chooses them.
SEEDS ?= 0-19
test-crash: $(READY) ## kill -9 of the server under load, 20 seeded rounds
	@SPRINGTIDE_CRASH_SEEDS=$(SEEDS) $(BIN)/pytest -n 2 -q tests/crash

CAMPAIGN ?= .campaign.jsonl
campaign: $(READY) ## the same with 200 rounds, and a table of what happened; some fifteen minutes
	@rm -f $(CAMPAIGN)
	@SPRINGTIDE_CRASH_SEEDS=1000-1199 SPRINGTIDE_CRASH_REPORT=$(CAMPAIGN) $(BIN)/pytest -n 2 -q tests/crash; \
		code=$$?; $(BIN)/python -m tests.crash.report $(CAMPAIGN); exit $$code

test-robustness: $(READY) ## bad input, bad connections, a full disk, generated requests
	@PATH="$$PATH:$(CURDIR)/$(VENV)-uv/bin" uv sync --quiet --frozen --group dev --group robustness
	@$(BIN)/pytest -n 2 -q tests/robustness
