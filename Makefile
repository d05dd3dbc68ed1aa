# Two commands on a fresh machine: `make demo` and `make test`.
# Both install the versions of uv.lock: with uv, else with python3 -m venv and pip (Debian 12's do).
# `make check` is the quick one while you work (CONTRIBUTING.md says what to run for which change).
# `make test-long` runs further seeds and kinds of the simulations,
# `make test T=tests/core` runs a part, `make test-3.13` uses another Python, `make test-lowest` and
# `make test-newest` other versions of the libraries, `make test-bare` hides every other program.
# `make bench` runs every row of the table in docs/evidence/performance.md (about forty minutes), `make bench
# ROW=name` one; `make bench ROW=--list` names them. It needs Debian's mosquitto, mosquitto-clients,
# prometheus and prometheus-mqtt-exporter, and fetches two peers from PyPI into build/peers.
# `make verdicts` holds what is said of simulated and recorded sensors to the truth (some minutes;
# STREAMS=0.2 for a fifth of the streams).
# `make alarms` holds false alarms, delays and all-clears to their goals, beside other detectors, and
# writes its tables into docs/evidence/detection.md (some six minutes; STREAMS=0.2 for a fifth, unwritten).
# `make neighbours` drifts sensors of simulated towns and writes how soon their neighbours tell, and how
# often wrongly, into docs/evidence/beyond.md (some ten minutes; TOWNS=2 for a sixth, unwritten).
# `make generated` writes every file that is made from the code: settings, metrics, rules, dashboards,
# adds new names to the lists of tests/small/stable, and lowers the sizes in ARCHITECTURE.md.
# `make docs` writes the documentation as HTML into build/site, and fails at a link that leads nowhere.
# `make soak` kills, floods and wears it for four to six hours and writes docs/evidence/reliability.md; what
# was broken off goes on from build/soak at the next call.
# `make mutants` plants defects in copies of the last commit, one by one, and writes which test finds
# each into docs/evidence/mutants.md.
# `make dist` builds wheel and sdist, the same bytes wherever it runs.
# `make sbom` lists what is in it and under which licences, into build/; `make audit` holds what is
# locked against the published advisories, and the code against bandit's rules.
# `make lock` writes uv.lock, and deploy/constraints*.txt from it (UPGRADE=1: with the newest of all).
# lock, test-lowest, test-newest, test-3.13, sbom and audit need uv.

S ?=
STREAMS ?=
TOWNS ?=
T ?=
ROW ?=
UPGRADE ?=
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)
VENV = .venv
RUN = $(VENV)/bin/python

# Tests, demo and benchmarks start hundreds of processes: without bytecode on the disk each of them
# compiles every module anew, which takes seconds.
export PYTHONDONTWRITEBYTECODE =

# Three workers for two cores, since many tests wait for the programs that they start; worksteal
# moves tests to the workers that have none left.
PARALLEL = -n $(shell expr 3 '*' `getconf _NPROCESSORS_ONLN` / 2) --dist worksteal
LIVES = tests/acceptance/test_simulation.py::test_lives_lose_nothing_and_end_with_the_bits_of_an_undisturbed_one
CHECKED = tests/test_contracts.py tests/test_house.py tests/core tests/journal/test_journal.py \
    tests/journal/test_store.py tests/journal/test_writing.py tests/mqtt/test_codec.py \
    tests/mqtt/test_connection.py tests/mqtt/test_source.py tests/mqtt/test_inbox.py tests/mqtt/test_receiver.py \
    tests/mqtt/test_confirmations.py tests/daemon/test_redeliveries.py tests/http/test_access.py tests/http/test_host_names.py \
    tests/acceptance/test_conservation.py $(LIVES)
# What libraries matter to: numbers, decoding, settings, frames, notebooks, journal, HTTP and MQTT.
SHARE = tests/core/scores/test_proper_scores.py tests/core/scores/test_normal.py \
    tests/core/scores/test_statistics.py tests/core/windows/test_windows.py \
    tests/core/test_columns.py tests/core/detector/test_detector.py \
    tests/core/detector/test_accumulation.py tests/core/detector/test_lifecycle.py \
    tests/core/state/test_network.py tests/decode/formats tests/decode/test_mapping.py \
    tests/decode/test_fields.py tests/decode/test_quantity.py tests/decode/test_records.py \
    tests/decode/test_units.py \
    tests/config tests/test_package.py tests/frames \
    tests/test_notebook.py tests/journal/test_journal.py tests/mqtt/test_connection.py \
    tests/http tests/alerts/test_webhook.py tests/client/test_client.py

.PHONY: check demo test test-long test-bare test-lowest test-newest soak cluster-test bench verdicts alarms neighbours mutants docs generated lock dist sbom audit always clean

demo: $(VENV)/demo.stamp
	$(VENV)/bin/monitor demo $(if $(S),--seconds $(S))

# Style, types, import contracts, the tests of what most changes touch and of what README promises
# (durable before acknowledged, counted once, no page for strangers), with a tenth of the examples,
# three random lives, and without those that are marked slow.
check: PARALLEL = -n auto --dist worksteal
check: $(VENV)/dev.stamp
	$(RUN) -m pytest $(PARALLEL) --quiet --hypothesis-profile quick --lives 3 -m "not slow" \
	    --durations 5 $(CHECKED)

# All of it on all cores; what needs a program that is not installed skips and names its package.
test: $(VENV)/dev.stamp
	$(RUN) -m pytest $(PARALLEL) $(T)

# What `make test` leaves out: further seeds and kinds of its simulations.
test-long: $(VENV)/dev.stamp
	$(RUN) -m pytest $(PARALLEL) --long $(or $(T),-m long)

# The same on a machine with Python alone, from the installation on: no other program is to be found.
test-bare:
	.ci/bare $(MAKE) test VENV=build/bare PYTHON="$$(command -v $(PYTHON))"

# The least and the newest versions of the libraries that pyproject.toml allows.
# The SDK of `monitor mcp` has higher floors than the program, and would lift those tried here.
test-lowest: FLOOR = --resolution lowest-direct
test-lowest: WITHOUT = mcp
test-lowest test-newest:
	uv venv --quiet --clear build/$@
	uv pip install --quiet --python build/$@ $(FLOOR) --editable .
	echo "$(WITHOUT)" | uv pip install --quiet --python build/$@ --excludes - --editable '.[dev]'
	build/$@/bin/python -m pytest -p no:anyio $(PARALLEL) $(or $(T),-m "not slow" --hypothesis-profile quick $(SHARE))

test-%:
	uv run --quiet --isolated --locked --python $* --extra dev pytest $(PARALLEL) $(T)

bench: $(VENV)/dev.stamp
	$(RUN) benchmarks/table.py $(ROW)

verdicts: $(VENV)/dev.stamp
	OPENBLAS_NUM_THREADS=1 $(RUN) benchmarks/verdicts.py $(if $(STREAMS),--share $(STREAMS))

alarms: $(VENV)/dev.stamp
	OPENBLAS_NUM_THREADS=1 $(RUN) benchmarks/alarms.py $(if $(STREAMS),--share $(STREAMS))

neighbours: $(VENV)/dev.stamp
	OPENBLAS_NUM_THREADS=1 $(RUN) benchmarks/neighbours.py $(if $(TOWNS),--towns $(TOWNS),--write)

# Needs Java 17 and mosquitto; some six minutes and 3 GB. Spark's libraries are not those of `dev`.
cluster-test: build/cluster/cluster-test.stamp
	build/cluster/bin/python -m pytest $(PARALLEL) tests/extensions/cluster
	build/cluster/bin/python benchmarks/cluster_trial.py

soak: $(VENV)/dev.stamp
	$(RUN) -m tests.reliability --share full --keep build/soak --write

mutants: $(VENV)/dev.stamp
	$(RUN) -m tests.mutants

docs: $(VENV)/dev.stamp
	$(RUN) -m monitor docs --out build/site

# Every file that is made from the code, but figures, reliability, detection and performance.
generated: $(VENV)/dev.stamp
	$(RUN) -m monitor.config.settings_docs
	$(RUN) -m monitor.http.metrics_docs
	$(RUN) -m monitor.manual.reference
	PYTHONPATH=.:tests $(RUN) tests/http/test_metrics.py
	$(RUN) deploy/prometheus/fault_rules.py
	$(RUN) deploy/kubernetes/operator/rules.py
	$(RUN) deploy/grafana/build.py
	$(RUN) tests/harness/stable.py
	$(RUN) tests/harness/house.py

# What a release uploads: the same bytes wherever it is built, dated by its commit.
dist: $(VENV)/dev.stamp
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(RUN) -m hatchling build -d dist
	cd dist && sha256sum *.whl *.tar.gz >SHA256SUMS

sbom:
	mkdir -p build
	uv export --quiet --locked --no-dev --format cyclonedx1.5 --output-file build/sbom.json
	uv run --quiet --isolated --locked --no-dev --no-editable --with pip-licenses \
	    pip-licenses --from=mixed --order=license --with-urls --format=csv \
	    --output-file build/licences.csv
	@echo "build/sbom.json (CycloneDX 1.5), build/licences.csv"

audit: $(VENV)/dev.stamp
	uv run --quiet --isolated --no-project --with pip-audit pip-audit --strict --no-deps --disable-pip \
	    --requirement deploy/constraints.txt --requirement deploy/constraints-cluster.txt
	$(RUN) -m bandit --quiet --recursive --configfile pyproject.toml monitor

EXPORT = uv export --quiet --locked --no-hashes --no-annotate --no-emit-project
lock:
	uv lock --quiet $(if $(UPGRADE),--upgrade)
	$(EXPORT) --extra dev --output-file deploy/constraints.txt
	$(EXPORT) --extra cluster-test --output-file deploy/constraints-cluster.txt

# An environment with an extra of the package; uv looks each time whether all is there. What pip
# builds the package with is held by PIP_CONSTRAINT too, since pip 25.3 by PIP_BUILD_CONSTRAINT.
%.stamp: CONSTRAINTS = deploy/constraints.txt
%/cluster-test.stamp: CONSTRAINTS = deploy/constraints-cluster.txt
%.stamp: pyproject.toml deploy/constraints.txt deploy/constraints-cluster.txt $(if $(UV),always)
ifdef UV
	@UV_PROJECT_ENVIRONMENT=$(@D) uv sync --quiet --locked --inexact --extra $(*F)
else
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv $(@D)
	PIP_CONSTRAINT=$(CONSTRAINTS) PIP_BUILD_CONSTRAINT=$(CONSTRAINTS) $(@D)/bin/python -m pip install \
	    --quiet --disable-pip-version-check --editable '.[$(*F)]'
endif
	@touch $@
always:

clean:
	rm -rf .venv build dist
