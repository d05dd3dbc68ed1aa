# Two commands on a fresh machine: `make demo` and `make test`.
# With uv they use uv.lock; without it python3 -m venv and pip (Debian 12's do).
# `make bench` runs every row of the table in docs/performance.md (about half an hour), `make bench
# ROW=name` one; `make bench ROW=--list` names them. It needs Debian's mosquitto, mosquitto-clients,
# prometheus and prometheus-mqtt-exporter, and fetches two peers from PyPI into build/peers.
# `make verdicts` holds what is said of simulated and recorded sensors to the truth (some minutes;
# SHARE=0.2 for fewer streams).
# `make soak` kills, floods and wears it for an hour or two and writes docs/reliability.md.
# `make test-3.13` tests with another Python (T=tests/core only a part), `make sbom` lists what is in
# it and under which licences, into build/; `make audit` holds what is locked against the published
# advisories, and the code against bandit's rules. They need uv.

S ?=
SHARE ?=
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

.PHONY: demo test test-% soak bench verdicts sbom audit clean

demo: $(if $(UV),,.venv/demo.stamp)
	$(DEMO) demo $(if $(S),--seconds $(S))

test: $(if $(UV),,.venv/dev.stamp)
	$(TEST) pytest $(T)

test-%:
	uv run --quiet --isolated --locked --python $* --extra dev pytest $(T)

bench: $(if $(UV),,.venv/dev.stamp)
	$(BENCH) benchmarks/table.py $(ROW)

verdicts: $(if $(UV),,.venv/dev.stamp)
	OPENBLAS_NUM_THREADS=1 $(BENCH) benchmarks/verdicts.py $(if $(SHARE),--share $(SHARE))

# Needs Java 17 and mosquitto; some four minutes and 3 GB.
cluster-test: $(if $(UV),,.venv/cluster-test.stamp)
	$(if $(UV),uv run --quiet --locked --extra cluster-test --extra dev python,.venv/bin/python) \
	    benchmarks/cluster_trial.py

soak: $(if $(UV),,.venv/dev.stamp)
	$(if $(UV),$(TEST) python -m,$(TEST)) tests.reliability --share full --write

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
