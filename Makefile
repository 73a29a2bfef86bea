# Every command that is run here is a target of this file.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Suites start thousands of processes. Where no byte code may be written, each would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

# What tests are run by, if not by pytest itself: CI has those that fail run once more.
AGAIN ?=

.DEFAULT_GOAL := help
.PHONY: help demo install uninstall test test-unit test-clusters test-docs test-pythons check check-generated format generate lock oracle test-oracle record test-pods test-crash test-crash-elastic test-takeover test-programs test-robustness test-robustness-pods e2e e2e-horovod e2e-elastic fetch bench bench-pods bench-operator bench-resize bench-allreduce bench-cli campaign

help: ## what there is
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

# uv makes the environments, from constraints.txt. A machine without uv gets it in a corner of its own, .venv-uv.
# Any Python from 3.11 on will do; UV_PYTHON=3.13 make ... chooses one that this machine has, and so does a path.
OWN_UV := .venv-uv/bin/uv
UV = $(or $(shell uv --version >/dev/null 2>&1 && command -v uv),$(OWN_UV))
REQUEST := $(or $(UV_PYTHON),$(PYTHON))
# $(call environment,FOLDER,GROUPS): made if missing, then everything installed that the groups name
environment = UV_PYTHON='$(REQUEST)' hack/make_environment.sh $(UV) $(1) $(2)
# An environment of another interpreter than the one that was asked for is not ready.
ifneq ($(REQUEST),)
OTHER_PYTHON := $(shell hack/find_python.sh --is '$(REQUEST)' $(BIN)/python || echo other-python)
.PHONY: other-python
endif

$(OWN_UV):
	@echo 'Fetching uv into .venv-uv ...'
	@python=$$(hack/find_python.sh '$(REQUEST)') && "$$python" -m venv .venv-uv && .venv-uv/bin/pip install --quiet --disable-pip-version-check 'uv>=0.9'

$(READY): pyproject.toml constraints.txt $(OTHER_PYTHON) | $(UV)
	@echo 'Making $(VENV) ...'
	@$(call environment,$(VENV),dev) && touch $@

lock: | $(UV) ## choose the newest versions of all dependencies
	@eval "$$("$$(hack/find_python.sh '$(REQUEST)')" -I src/springtide/local/environments/pip_settings.py)" && unset UV_PYTHON && \
	  $(UV) pip compile --quiet --universal --upgrade --no-header --no-annotate pyproject.toml \
	  --group dev --group conformance --group robustness --output-file constraints.txt

# Less than 100 MB the first time: what only tests need is fetched by them.
$(VENV)/.ready-demo: pyproject.toml constraints.txt $(OTHER_PYTHON) | $(UV)
	@echo 'Making $(VENV) ...'
	@$(call environment,$(VENV),demo) && touch $@

demo: $(VENV)/.ready-demo ## the product's main job on an embedded cluster; ends by itself
	@$(BIN)/python examples/demo.py

# PREFIX=/usr/local make install puts them elsewhere.
PREFIX ?= $(HOME)/.local
installer = python=$$(hack/find_python.sh '$(REQUEST)') && "$$python" hack/install.py --uv $(UV) --prefix '$(PREFIX)'

install: | $(UV) ## tide and tiderun on your PATH: links in ~/.local/bin (PREFIX=DIR: DIR/bin)
	@$(installer) install

uninstall: ## remove what make install has installed; clusters are kept
	@$(installer) uninstall

test: $(READY) ## the tests, but for those that take their time; needs neither Go nor kubectl
	@$(AGAIN) $(BIN)/pytest -n 3 -q -m "not clusters"

UNIT ?= -n 2
test-unit: $(READY) ## the unit tests alone
	@$(AGAIN) $(BIN)/pytest $(UNIT) -q tests/unit

test-clusters: $(READY) ## those that start clusters, node agents, containers and launchers
	@$(AGAIN) $(BIN)/pytest -n 4 --dist worksteal -q -m clusters tests/integration

# Each in an environment of its own. The one that .venv is made of has had both by `make demo` and `make test`. In one
# process, without the many generated cases, because it goes on beside other work.
PYTHONS ?= 3.11 3.14
test-pythons: $(READY) ## the demo and the unit tests on the oldest and the newest Python, fetched if missing (needs mvn then)
	@for version in $(PYTHONS); do \
		if hack/find_python.sh --is $$version $(BIN)/python; then echo "$(VENV) is of Python $$version: make demo and make test"; continue; fi; \
		echo "=== Python $$version"; \
		hack/find_python.sh $$version >/dev/null 2>&1 || $(BIN)/python hack/fetch_python.py $$version || exit 1; \
		$(MAKE) --no-print-directory VENV=.venv-$$version UV_PYTHON=$$version UNIT='-n 0 -m "not one_python"' demo test-unit || exit 1; done

check: $(READY) ## format, lint, types, layers
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(READY) ## put the code into shape
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

GENERATED := deploy/crds src/springtide/local/schema/generated src/springtide/local/apiserver/generated src/springtide/local/access/generated
CONTROL_PLANE := $(BIN)/python hack/oracle/control_plane.py

generate: $(READY) ## write the generated files anew from the kinds and the oracle (needs Go and etcd)
	@$(BIN)/python hack/generate_crds.py
	@cd hack/oracle && go run ./typedump > $(CURDIR)/$(VENV)/types.json
	@$(BIN)/python hack/generate_types.py $(VENV)/types.json
	@$(CONTROL_PLANE) run -- sh -c '$(BIN)/python hack/generate_discovery.py $$SPRINGTIDE_ORACLE_SERVER $$SPRINGTIDE_ORACLE_TOKEN && \
	  $(BIN)/python hack/generate_bootstrap_roles.py $$SPRINGTIDE_ORACLE_KUBECONFIG $$SPRINGTIDE_TOOLS/kubectl'

check-generated: generate ## fail when a generated file is not what the kinds and the oracle say
	@test -z "$$(git status --porcelain -- $(GENERATED))" || { git --no-pager diff --stat -- $(GENERATED); git status --short -- $(GENERATED); exit 1; }

# Other people's clients and fuzzers live in an environment of their own, so that `make test` never waits for them.
JUDGES := $(VENV)-judges
$(JUDGES)/.ready: $(READY)
	@$(call environment,$(JUDGES),dev conformance robustness) && touch $@

oracle: $(READY) ## build the real control plane, kubectl old and new, KWOK and Helm (needs Go and etcd; once)
	@$(CONTROL_PLANE) build

# Each suite fetches what it lacks by itself, too; this is for what goes on beside other work.
fetch: $(JUDGES)/.ready ## fetch and build, once, what the end-to-end tests and the judges need (Go, cmake, g++; 2 GB)
	@PYTHONPATH=. $(BIN)/python -m tests.e2e_elastic.fetching

# Without controllers: two servers can only be compared while nobody but the suite writes to them. More processes than
# cores, because most of them wait.
test-oracle: oracle $(JUDGES)/.ready ## the embedded server against the real one, and stock clients as its judges
	@$(CONTROL_PLANE) --bare run -- $(AGAIN) $(JUDGES)/bin/pytest -n 4 -q tests/conformance tests/integration/kube tests/integration/controllers

# Pages mostly wait for the jobs that they start.
test-docs: oracle ## the documents' commands, with stock kubectl
	@SPRINGTIDE_TOOLS=$$($(CONTROL_PLANE) build | tail -n 1) $(AGAIN) $(BIN)/pytest -n 4 -q -m clusters tests/docs

# Each of the two kinds of cluster, of root and of an ordinary user; SPRINGTIDE_PODS_KUBECONFIG leads to another instead.
test-pods: oracle ## what pods do, on the embedded cluster as root and as an ordinary user, with stock kubectl
	@SPRINGTIDE_TOOLS=$$($(CONTROL_PLANE) build) $(AGAIN) $(BIN)/pytest -n 4 -q tests/pods

record: oracle ## write the contract suite's recorded answers anew from the real server
	@$(CONTROL_PLANE) --bare run -- $(BIN)/python -m tests.contract.apiserver.recording
	@$(CONTROL_PLANE) --bare run -- $(BIN)/python -m tests.contract.apiserver.stream_rights

bench: $(READY) ## the embedded and the real API server side by side; builds the latter
	@$(BIN)/python hack/oracle/control_plane.py build
	@$(BIN)/python benchmarks/apiserver.py

bench-pods: oracle ## how fast pods start, stop and answer, with stock kubectl
	@SPRINGTIDE_TOOLS=$$($(CONTROL_PLANE) build | tail -n 1) $(BIN)/python benchmarks/pods.py

# Kubeflow's mpi-operator and training-operator stand beside ours; SPRINGTIDE_OTHER_OPERATOR and
# SPRINGTIDE_TRAINING_OPERATOR name other programs with the same flags. OPTIONS="--kind PyTorchJob --quick" measures less.
bench-operator: oracle ## our operator and Kubeflow's side by side: jobs a second, reaction, memory; some half an hour
	@SPRINGTIDE_OTHER_OPERATOR=$${SPRINGTIDE_OTHER_OPERATOR:-$$($(BIN)/python hack/oracle/mpi_operator.py)} \
	SPRINGTIDE_TRAINING_OPERATOR=$${SPRINGTIDE_TRAINING_OPERATOR:-$$($(BIN)/python hack/oracle/training_operator.py)} \
	$(BIN)/python benchmarks/operators.py $(OPTIONS)

bench-resize: $(READY) ## a training group that grows, shrinks and loses a rank, beside Horovod Elastic and torchrun
	@PYTHONPATH=. $(BIN)/python benchmarks/resize.py

bench-cli: oracle ## commands on a thousand jobs beside kubectl and Arena's own program, on both servers
	@SPRINGTIDE_TOOLS=$$($(CONTROL_PLANE) build | tail -n 1) $(BIN)/python benchmarks/cli.py --arena $$($(BIN)/python hack/oracle/arena.py)/arena

bench-allreduce: $(READY) ## sums over ranks beside gloo and Open MPI, and how soon eight ranks begin
	@PYTHONPATH=. $(BIN)/python benchmarks/allreduce.py

# tests/crash kills the server under load, tests/crash_pods all processes around 50 pods, tests/crash_jobs all that jobs
# depend on while they are resized, tests/crash_elastic ranks, agents and launchers of programs that learn. SEEDS=7 or
# SEEDS=0-19 chooses the rounds. One after the other: the second and third look for whatever is left of their clusters
# among their own children.
SEEDS ?= 0-19
crash-rounds = SPRINGTIDE_CRASH_SEEDS=$(2) SPRINGTIDE_CRASH_REPORT=$(3) $(AGAIN) $(BIN)/pytest -n 2 -q tests/$(1)
storms = SPRINGTIDE_STORM_SEEDS=$(1) $(AGAIN) $(BIN)/pytest -n 2 -q tests/integration/controllers/test_storms.py
test-crash: $(READY) ## kill -9 of the server under load, of all that pods, jobs, elastic programs depend on: 20 rounds each
	@$(call crash-rounds,crash,$(SEEDS))
	@$(call crash-rounds,crash_pods,$(SEEDS))
	@$(call crash-rounds,crash_jobs,$(SEEDS))
	@$(call crash-rounds,crash_elastic,$(SEEDS))
	@$(call storms,$(SEEDS))

test-crash-elastic: $(READY) ## the same for elastic programs under tiderun alone
	@$(call crash-rounds,crash_elastic,$(SEEDS))

# Which commit's cluster is taken over by this one.
BEFORE ?= HEAD~1
test-takeover: $(READY) ## a cluster with a job, started from BEFORE=COMMIT, is taken over by this checkout
	@SPRINGTIDE_BEFORE=$(BEFORE) $(AGAIN) $(BIN)/pytest -n 2 -q tests/takeover

CAMPAIGN ?= .campaign
campaign: $(READY) ## the same with 200 rounds each, and tables of what happened; some two hours
	@rm -f $(CAMPAIGN).*.jsonl
	@code=0; for part in crash crash_pods crash_jobs crash_elastic; do \
		$(call crash-rounds,$$part,1000-1199,$(CAMPAIGN).$$part.jsonl) || code=$$?; \
		$(BIN)/python -m tests.$$part.report $(CAMPAIGN).$$part.jsonl; done; \
		$(call storms,1000-1199) || code=$$?; exit $$code

# COMPLEXITY=sample tries every sixteenth of the long inputs, as CI does; all of them take ten minutes on two cores.
COMPLEXITY ?= all
test-robustness: $(JUDGES)/.ready ## bad input, bad connections, full disks, generated requests; measures, so run it alone
	@SPRINGTIDE_COMPLEXITY=$(COMPLEXITY) $(AGAIN) $(JUDGES)/bin/pytest -n 2 -q tests/robustness

test-robustness-pods: $(READY) ## full disks, hostile programs and killed processes around pods
	@$(AGAIN) $(BIN)/pytest -n 3 -q tests/robustness_pods

# One file of tests at a time per process: each has clusters of its own.
test-programs: oracle ## real programs in pods: MPI over exec and ssh, gangs, autoscaling, nodes that go (needs sshd)
	@SPRINGTIDE_TOOLS=$$($(CONTROL_PLANE) build | tail -n 1) $(AGAIN) $(BIN)/pytest -n 3 --dist loadfile -q tests/programs

e2e: oracle ## jobs on the embedded cluster: mpirun, the documents' manifests, resizes, lifecycles (needs sshd)
	@SPRINGTIDE_TOOLS=$$($(CONTROL_PLANE) build | tail -n 1) $(AGAIN) $(BIN)/pytest -n 3 --dist loadfile -q tests/e2e --ignore tests/e2e/horovod

e2e-horovod: oracle ## elastic training with Horovod, which is built once (needs Python 3.11, cmake and g++)
	@SPRINGTIDE_TOOLS=$$($(CONTROL_PLANE) build | tail -n 1) $(AGAIN) $(BIN)/pytest -q tests/e2e/horovod

# PyTorch is the registry's, without its libraries for GPUs: empty ones replace them, as in the preset.
e2e-elastic: oracle ## elastic training with PyTorch, TensorFlow and NumPy, in jobs, too (needs sshd; fetches 1 GB once)
	@SPRINGTIDE_TOOLS=$$($(CONTROL_PLANE) build | tail -n 1) $(AGAIN) $(BIN)/pytest -n 2 -q tests/e2e_elastic
