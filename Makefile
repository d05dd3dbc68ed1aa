# Two commands on a fresh machine: `make demo` and `make test`.
# With uv they use uv.lock; without it python3 -m venv and pip (Debian 12's do).
# `make check` is the quick one while you work (CONTRIBUTING.md says what to run for which change).
# `make test-long` runs further seeds and kinds of the simulations,
# `make test T=tests/core` runs a part, `make test-3.13` uses another Python, `make test-lowest` and
# `make test-newest` other versions of the libraries, `make test-bare` hides every other program.
# `make bench` runs every row of the table in docs/performance.md (about forty minutes), `make bench
# ROW=name` one; `make bench ROW=--list` names them. It needs Debian's mosquitto, mosquitto-clients,
# prometheus and prometheus-mqtt-exporter, and fetches two peers from PyPI into build/peers.
# `make verdicts` holds what is said of simulated and recorded sensors to the truth (some minutes;
# STREAMS=0.2 for a fifth of the streams).
# `make alarms` holds false alarms, delays and all-clears to their goals, beside other detectors, and
# writes its tables into docs/detection.md (some six minutes; STREAMS=0.2 for a fifth, unwritten).
# `make generated` writes every file that is made from the code: settings, metrics, rules, dashboards.
# `make docs` writes the documentation as HTML into build/site, and fails at a link that leads nowhere.
# `make soak` kills, floods and wears it for four to six hours and writes docs/reliability.md; what
# was broken off goes on from build/soak at the next call.
# `make sbom` lists what is in it and under which licences, into build/; `make audit` holds what is
# locked against the published advisories, and the code against bandit's rules. test-lowest,
# test-newest, test-3.13, sbom and audit need uv.

S ?=
STREAMS ?=
T ?=
ROW ?=
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)

ifdef UV
DEMO = uv run --quiet --locked --inexact --extra demo monitor
TEST = uv run --quiet --locked --inexact --extra dev
BENCH = $(TEST) python
else
DEMO = .venv/bin/monitor
TEST = .venv/bin/python -m
BENCH = .venv/bin/python
endif

# Tests, demo and benchmarks start hundreds of processes: without bytecode on the disk each of them
# compiles every module anew, which takes seconds.
export PYTHONDONTWRITEBYTECODE =

# Three workers for two cores, since many tests wait for the programs that they start; worksteal
# moves tests to the workers that have none left.
PARALLEL = -n $(shell expr 3 '*' `getconf _NPROCESSORS_ONLN` / 2) --dist worksteal
CHECKED = tests/test_contracts.py tests/core
# What libraries matter to: numbers, decoding, settings, frames, notebooks, journal, HTTP and MQTT.
SHARE = tests/core/test_scores.py tests/core/test_normal.py tests/core/test_statistics.py \
    tests/core/test_windows.py tests/core/test_detection.py tests/core/test_network.py \
    tests/test_formats.py tests/test_native.py tests/test_mapping.py tests/test_units.py \
    tests/test_config.py tests/test_package.py tests/test_frames.py tests/test_notebook.py \
    tests/shell/test_journal.py tests/shell/test_mqtt.py tests/shell/test_web.py \
    tests/shell/test_webhook.py tests/shell/test_client.py

.PHONY: check demo test test-long test-bare test-lowest test-newest soak cluster-test bench verdicts alarms docs generated sbom audit clean

demo: $(if $(UV),,.venv/demo.stamp)
	$(DEMO) demo $(if $(S),--seconds $(S))

# Style, types, import contracts, and the tests of what most changes touch, with a tenth of the
# examples and without those that are marked slow.
check: PARALLEL = -n auto --dist worksteal
check: $(if $(UV),,.venv/dev.stamp)
	$(TEST) pytest $(PARALLEL) --quiet --hypothesis-profile quick --lives 3 -m "not slow" \
	    --durations 5 $(CHECKED)

# All of it on all cores; what needs a program that is not installed skips and names its package.
test: $(if $(UV),,.venv/dev.stamp)
	$(TEST) pytest $(PARALLEL) $(T)

# What `make test` leaves out: further seeds and kinds of its simulations.
test-long: $(if $(UV),,.venv/dev.stamp)
	$(TEST) pytest $(PARALLEL) --long $(or $(T),-m long)

# The same as on a machine with Python alone: no other program is to be found.
test-bare: $(if $(UV),,.venv/dev.stamp)
	.ci/bare $(TEST) pytest $(PARALLEL) $(T)

# The least and the newest versions of the libraries that pyproject.toml allows.
test-lowest: FLOOR = --resolution lowest-direct
test-lowest test-newest:
	uv venv --quiet --clear build/$@
	uv pip install --quiet --python build/$@ $(FLOOR) --editable .
	uv pip install --quiet --python build/$@ --editable '.[dev]'
	build/$@/bin/python -m pytest -p no:anyio $(PARALLEL) $(or $(T),-m "not slow" --hypothesis-profile quick $(SHARE))

test-%:
	uv run --quiet --isolated --locked --python $* --extra dev pytest $(PARALLEL) $(T)

bench: $(if $(UV),,.venv/dev.stamp)
	$(BENCH) benchmarks/table.py $(ROW)

verdicts: $(if $(UV),,.venv/dev.stamp)
	OPENBLAS_NUM_THREADS=1 $(BENCH) benchmarks/verdicts.py $(if $(STREAMS),--share $(STREAMS))

alarms: $(if $(UV),,.venv/dev.stamp)
	OPENBLAS_NUM_THREADS=1 $(BENCH) benchmarks/alarms.py $(if $(STREAMS),--share $(STREAMS))

# Needs Java 17 and mosquitto; some four minutes and 3 GB.
cluster-test: $(if $(UV),,.venv/cluster-test.stamp)
	$(if $(UV),uv run --quiet --locked --extra cluster-test --extra dev python,.venv/bin/python) \
	    benchmarks/cluster_trial.py

soak: $(if $(UV),,.venv/dev.stamp)
	$(if $(UV),$(TEST) python -m,$(TEST)) tests.reliability --share full --keep build/soak --write

docs: $(if $(UV),,.venv/dev.stamp)
	$(if $(UV),$(TEST),.venv/bin/python -m) monitor docs --out build/site

# Every file that is made from the code, but figures, reliability, detection and performance.
generated: $(if $(UV),,.venv/dev.stamp)
	$(BENCH) -m monitor.config.settings_docs
	$(BENCH) -m monitor.http.metrics_docs
	$(BENCH) -m monitor.manual.reference
	PYTHONPATH=tests $(BENCH) tests/shell/test_exposition.py
	$(BENCH) deploy/prometheus/fault_rules.py
	$(BENCH) deploy/kubernetes/operator/rules.py
	$(BENCH) deploy/grafana/build.py

sbom:
	mkdir -p build
	uv export --quiet --locked --no-dev --format cyclonedx1.5 --output-file build/sbom.json
	uv run --quiet --isolated --locked --no-dev --no-editable --with pip-licenses \
	    pip-licenses --from=mixed --order=license --with-urls --format=csv \
	    --output-file build/licences.csv
	@echo "build/sbom.json (CycloneDX 1.5), build/licences.csv"

audit:
	mkdir -p build
	uv export --quiet --locked --all-extras --no-emit-project --output-file build/audited.txt
	uv run --quiet --isolated --no-project --with pip-audit \
	    pip-audit --strict --no-deps --disable-pip --requirement build/audited.txt
	uv run --quiet --locked --extra dev bandit --quiet --recursive --configfile pyproject.toml monitor

.venv/%.stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

clean:
	rm -rf .venv build dist
