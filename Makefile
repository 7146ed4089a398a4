# The two commands: `make up` brings a stack up on this machine, `make test` sets up and proves it. `make help` lists the rest.
#
#   STACK=local       which Pulumi.<stack>.yaml (local, lite, documents, dev); lite has no cluster, and so needs no Kubernetes
#   WEATHER=calm      with `make up`: in which weather the embedded Azure is started, rough (the default) or calm; kept until it is set again
#   ALL=1             with `make test`: the slow tests too, and property tests with all their examples
#   NIGHTLY=1         with `make test`: only those that ALL=1 leaves out, because they take long and rarely find something
#   TESTS=tests/...   with `make test`: only these
#   SESSIONS=slow     with `make test ALL=1`: only the slow ones; EXAMPLES=thorough: property tests with all their examples
#   WORKERS=N         with `make test`: how many run at a time
#   TIMES=N           with `make test`: the N slowest steps
#   LEVEL=validate    with `make conformance`: validate, cheap, gpu or change
#   CEILING=5         with `make conformance`: USD that a run may cost; LOCATION=eastus: where
#   EMBEDDED=1        with `make conformance`: the embedded Azure in place of the subscription of `az login`; CLEAN=1: only delete what runs left
#   SEED=N            with `make faults`: another campaign; FAULTS=N, KILLS=N: with so many
#   DATA=DIR          with `make bench-mnist`: MNIST's four files, in place of scikit-learn's digits; ROUNDS=N: pairs of each measurement
#   AZURE_GPU_TOOLS=W path, official or build: take tools from PATH, from their publishers' archives or from builds, and from nowhere else
#   RECORDINGS=...    with `make replay`: files and folders; else ../shared/recordings
#   SHOW=-v           with `make replay`: every difference; SHOW="--json FILE" writes all rows into FILE

# Python keeps what it compiled, also where a shell says not to: one `up` starts a dozen Pythons, and takes twice as long without.
export PYTHONDONTWRITEBYTECODE :=

STACK ?= local
LEVEL ?= validate
CEILING ?= 5
STATE := .local
TESTS ?= tests
SESSIONS ?= $(if $(NIGHTLY),nightly,quick $(if $(ALL),slow))
EXAMPLES ?= $(if $(ALL),thorough,quick)
CORES := $(shell nproc 2> /dev/null || sysctl -n hw.ncpu)
PYTHON := .venv/bin/python
UV := .venv/bin/uv
TERMINAL := $(PYTHON) -m tests.docs.terminal_pictures docs/images/terminal
EMBEDDED := $(PYTHON) -m localazure --state $(STATE)
# Every command that talks to the local stack runs with the connection environment of its folder, which is exported nowhere else.
CONNECTED := set -a; . $(STATE)/env; set +a;
CONFIG := --config-folder $(STATE)
# The stack to connect with the embedded Azure when it is started.
connected :=
# Kubernetes is built where a stack has clusters.
needed :=
KUBERNETES = $(shell grep -Eqs '^  azure-gpu:clusters:' Pulumi.$(STACK).yaml && echo kubernetes)
# JobSet and Kueue are built where it has groups of workers or queues.
GROUPS = $(shell grep -Eqs '^ {6}(queues:|groups: true)|^ {10}nodes: ([2-9]|1[0-9])' Pulumi.$(STACK).yaml && echo groups)
# Files go through the storage account of a stack that has one, as whoever is signed in.
STORAGE = $(shell grep -Eqs '^    storage:' Pulumi.$(STACK).yaml && echo storage)
# The documents' stack has no registry and services of 2018 and 2019: what its container groups print is its proof.
PROVED := $(filter-out documents,$(STACK))
# What tests and measurements find first on PATH.
TOOLS := $(CURDIR)/.venv/bin:$$(cat $(STATE)/engine-bin):$$(cat $(STATE)/kubernetes-bin)

.PHONY: help up quotas proof storage down preview status env shell test replay conformance lint renew bench bench-mnist bench-scoring bench-vector-add check-gpu disturbances mutants faults lock ready engine providers languages kubernetes groups azurite terminal-pictures dist clean
.DEFAULT_GOAL := help

help: ## what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

up: needed := $(KUBERNETES) $(GROUPS)
up preview: connected := --stack $(STACK)
up: ready ## bring STACK up on the embedded Azure, then prove each of its services, in a table
	@$(CONNECTED) $(PYTHON) -m operations up --stack $(STACK) $(CONFIG)
	@$(MAKE) -s --no-print-directory -j2 $(if $(PROVED),proof $(STORAGE),quotas)

# Work needs quotas, and reaches blobs once a role works; each takes a while, and a proof needs no blobs.
quotas:
	@$(EMBEDDED) request-quotas

proof: quotas
	@$(CONNECTED) $(PYTHON) -m operations prove --stack $(STACK) $(CONFIG)

storage:
	@$(CONNECTED) $(PYTHON) -m operations access --grant --stack $(STACK) $(CONFIG)

preview: ready ## what `up` would change
	@$(CONNECTED) $(PYTHON) -m operations preview --stack $(STACK) $(CONFIG)

down: ready ## destroy every stack on the embedded Azure and stop it: no resource, no process, no port is left
	@$(CONNECTED) $(PYTHON) -m operations down --all --yes $(CONFIG)
	@$(EMBEDDED) stop

status: .venv/ready ## whose tools are used; is the embedded Azure running, and where
	@python3 engine/build.py --used
	@$(EMBEDDED) status

env: .venv/ready ## the connection environment: eval "$$(make -s env)"
	@$(EMBEDDED) env

shell: ready ## your shell with the Azure CLI, signed in to the embedded Azure
	@$(CONNECTED) $(PYTHON) -m operations shell

# The quick tests need Python and nothing else; the slow ones start what `make up` starts. Each kind has a session of its own, so that
# neither upsets the other. Pytest ends with 5 where TESTS has none of a kind.
test: .venv/ready $(if $(ALL)$(NIGHTLY),engine kubernetes azurite groups) ## the tests that aren't slow; ALL=1: the slow ones too; NIGHTLY=1: the rest
	@ended=5; $(foreach kind,$(SESSIONS),$(call session,$(kind)); code=$$?; [ $$code = 5 ] || [ $$ended != 5 -a $$code = 0 ] || ended=$$code;) exit $$ended

# Slow tests wait for processes that they start: one more than there are cores, which keeps all of them busy.
session = PATH="$(if $(ALL)$(NIGHTLY),$(TOOLS),$(CURDIR)/.venv/bin):$$PATH" $(PYTHON) -m pytest -m "$(marks_$(1))" --hypothesis-profile=$(EXAMPLES) \
  $(if $(filter quick,$(1)),-n $(or $(WORKERS),$(CORES)),-n $(or $(WORKERS),$$(($(CORES) + 1))) -p tests.support.distribution) \
  --dist loadfile $(if $(TIMES),--durations=$(TIMES)) $(TESTS)
marks_quick := not slow
marks_slow := slow and not nightly
marks_nightly := nightly

replay: .venv/ready kubernetes azurite ## send recorded sessions with the real Azure to the embedded one: what it answers differently
	@$(PYTHON) -m tests.recorded.replay $(SHOW) $(RECORDINGS)

conformance: .venv/ready engine azurite ## this project's requests sent to a subscription, see docs/conformance.md; EMBEDDED=1 for the embedded Azure
	@PATH="$(TOOLS):$$PATH" $(PYTHON) -m tests.conformance --level $(LEVEL) --ceiling $(CEILING) $(if $(LOCATION),--location $(LOCATION)) $(if $(EMBEDDED),--embedded) $(if $(CLEAN),--clean)

lint: .venv/ready ## format, style, types, workflows
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	.venv/bin/pyrefly check --threads $(CORES)
	.venv/bin/zizmor -q --offline .github
	@folder="$$(python3 engine/build.py actionlint)"; code=$$?; \
	  if [ $$code = 2 ]; then echo "the workflows aren't checked by actionlint: Go is missing" >&2; exit 0; fi; \
	  [ $$code = 0 ] && set -x && "$$folder/actionlint" -shellcheck .venv/bin/shellcheck -pyflakes ""

renew: .venv/ready ## write again all that is generated: recorded bodies, replacements, settings, components, their package schema, policies, catalog, coverage, weather, commands, the stack's diagram
	$(PYTHON) -m localazure.evidence.shapes_file > localazure/shapes/shapes.json.new
	mv localazure/shapes/shapes.json.new localazure/shapes/shapes.json
	$(PYTHON) -m localazure.shapes.bodies > components/azure_gpu/formats/arm_bodies.json.new
	mv components/azure_gpu/formats/arm_bodies.json.new components/azure_gpu/formats/arm_bodies.json
	@$(PYTHON) -m tests.renew
	$(PYTHON) -m azure_gpu.stack.settings_reference schema > docs/settings.schema.json
	$(PYTHON) -m azure_gpu.stack.settings_reference reference > docs/settings.md
	$(PYTHON) -m azure_gpu.stack.component_reference docs/components
	$(PYTHON) -m azure_gpu.host --schema > components/azure_gpu/host/schema.json.new
	mv components/azure_gpu/host/schema.json.new components/azure_gpu/host/schema.json
	$(PYTHON) -m azure_gpu_operations.catalog_page > docs/catalog.md
	$(PYTHON) -m tests.replacements.table > docs/replacements.md
	PYTHONPATH=components/policy $(PYTHON) -m azure_gpu_policies.page > docs/policies.md
	$(PYTHON) -m localazure.weather.page > docs/weather.md
	$(PYTHON) -m localazure.evidence.coverage > docs/coverage.md
	$(PYTHON) -m azure_gpu_operations.verbs docs/commands.md
	$(PYTHON) -m operations graph --stack local --config-folder . --mermaid > docs/local.mermaid
	$(PYTHON) -c "from azure_gpu_operations.graph.diagrams import mermaid; from tests.support import graphs; print(mermaid(graphs.graph('example.private-team')))" > docs/private-team.mermaid

bench: .venv/ready engine kubernetes azurite ## the figures of docs/results.md, as ratios in one run
	@PATH="$(TOOLS):$$PATH" $(PYTHON) -m tests.bench

# Python alone, since a machine with a GPU may have nothing else of the project.
bench-vector-add: ## the vector addition on a GPU as ratios to a copy on it, into docs/results.md
	@python3 -m tests.bench.vector_add

check-gpu: ## what only a GPU can show of the vector addition, in under 8 minutes, see workloads/vector_add/README.md
	@workloads/vector_add/check_gpu.sh

bench-mnist: .venv/ready ## the training beside Keras' fit, two workers, the start, into docs/results.md; DATA=DIR: MNIST's files
	@$(PYTHON) -m tests.bench.mnist $(if $(DATA),--data $(DATA)) $(if $(ROUNDS),--rounds $(ROUNDS))

bench-scoring: .venv/ready ## scoring beside the inference server's own ways, into docs/results.md
	@$(PYTHON) -m tests.bench.scoring $(if $(ROUNDS),--rounds $(ROUNDS))

disturbances: .venv/ready ## groups of four training workers, killed at random twenty times: each has to end with the same weights
	@$(PYTHON) -m tests.workloads.disturbances $(if $(SEED),--seed $(SEED))

mutants: .venv/ready ## 120 small changes of the library and 60 of localazure and operations, which the quick tests have to notice
	@PYTHONPATH=.:components:operations $(PYTHON) -m tests.mutation

faults: .venv/ready engine kubernetes azurite ## stacks under failing requests, kills, full disks and broken files, see docs/faults.md: 60 minutes
	@PATH="$(TOOLS):$$PATH" $(PYTHON) -m tests.faults $(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--faults $(FAULTS)) $(if $(KILLS),--kills $(KILLS)) --report docs/faults.md

lock: .venv/ready ## renew the locked files after a change of versions in requirements.txt or one of the pyproject.toml
	grep -v -e '^-e' requirements.txt > .local/versions.txt
	$(UV) pip compile -q --universal components/pyproject.toml --extra kubernetes -c .local/versions.txt --python-version 3.11 \
	  --generate-hashes --no-header -o requirements-deploy.txt
	$(UV) pip compile -q --universal components/pyproject.toml --extra operations --group pyproject.toml:tests \
	  -c .local/versions.txt --python-version 3.11 --generate-hashes --no-header -o requirements-local.txt
	$(UV) pip compile -q --universal operations/azure_gpu_operations/shell/azure-cli.in --python-version 3.11 \
	  --generate-hashes --no-header -o operations/azure_gpu_operations/shell/azure-cli.lock

# The engine builds while the packages of Python and Node install; each shows its own progress.
ready: prerequisites
	@$(MAKE) -s --no-print-directory -j3 engine .venv/ready azurite providers $(needed)
	@$(EMBEDDED) start $(if $(WEATHER),--weather $(WEATHER)) --engine-bin "$$(cat $(STATE)/engine-bin)" $(connected)

engine: prerequisites
	@mkdir -p -m 700 $(STATE)
	@python3 engine/build.py > $(STATE)/engine-bin

# Pulumi's own, where their checksums are pinned and they can be downloaded; else the embedded Azure has stand-ins.
providers: prerequisites
	@mkdir -p -m 700 $(STATE)
	@python3 engine/build.py azure-native kubernetes-provider > $(STATE)/providers-bin.new || true
	@mv $(STATE)/providers-bin.new $(STATE)/providers-bin

languages: prerequisites ## build what programs in TypeScript and YAML need, where Pulumi's own is missing: 2 minutes, once
	@mkdir -p -m 700 $(STATE)
	@python3 engine/build.py languages > $(STATE)/languages-bin

# The control plane of clusters, kubectl and kubelogin. The embedded Azure looks in this file each time.
kubernetes: prerequisites ## build what clusters on the embedded Azure need: about 5 minutes, once
	@mkdir -p -m 700 $(STATE)
	@python3 engine/build.py kubernetes > $(STATE)/kubernetes-bin.new && mv $(STATE)/kubernetes-bin.new $(STATE)/kubernetes-bin

# The controllers of JobSet and Kueue and their charts, where a stack has groups of workers or queues.
groups: prerequisites ## build JobSet and Kueue for groups of workers on the embedded Azure: 4 to 8 minutes, once
	@mkdir -p -m 700 $(STATE)
	@python3 engine/build.py groups > $(STATE)/groups-bin.new && mv $(STATE)/groups-bin.new $(STATE)/groups-bin

# Blob storage of the embedded Azure, from npm into the cache.
azurite: prerequisites
	@python3 -m localazure.blobs.installation > /dev/null

terminal-pictures: ready ## take docs/images/terminal-*.svg again, of STACK, which is up, and of RUN, a failed run on it
	@test -n "$(RUN)" || { echo "error: RUN isn't set; name a failed run: make terminal-pictures STACK=$(STACK) RUN=run-train-..." >&2; exit 2; }
	@$(TERMINAL)-prove.svg -- $(PYTHON) -m operations prove --stack $(STACK)
	@$(TERMINAL)-preflight.svg -- $(PYTHON) -m operations preflight --stack $(STACK) --need aci=V100@eastus
	@$(TERMINAL)-running.svg -- $(PYTHON) -m operations running --stack $(STACK)
	@$(TERMINAL)-explain.svg -- $(PYTHON) -m operations explain $(RUN) --stack $(STACK)
	@$(TERMINAL)-sizes.svg -- $(PYTHON) -m operations sizes --gpu T4

.venv/ready: requirements-local.txt components/pyproject.toml operations/pyproject.toml
	@sh engine/prerequisites.sh python
	@echo "installing the Python packages (about 20 seconds the first time)" >&2
	@python3 -m venv .venv
	@.venv/bin/pip install -q --disable-pip-version-check "$$(sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements-local.txt)"
	@$(UV) pip sync -q --python $(PYTHON) requirements-local.txt
	@$(UV) pip install -q --python $(PYTHON) --no-deps --no-build-isolation -e ./components -e ./operations
	@touch $@

# The source archive has what its wheel takes from the checkout, so that its wheel is the same.
.PHONY: dist
dist: .venv/ready ## build the library's wheel and source archive, and the wheel of its command, into dist/
	$(UV) build -q --no-build-isolation --python $(PYTHON) -o dist components
	$(UV) build -q --wheel --no-build-isolation --python $(PYTHON) -o dist operations

.PHONY: prerequisites
prerequisites:
	@sh engine/prerequisites.sh

clean: ## stop the embedded Azure, forget the local state and the virtual environment
	@[ ! -e $(STATE)/endpoint.json ] || $(EMBEDDED) stop
	rm -rf $(STATE) .venv build
