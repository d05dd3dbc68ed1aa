# Two commands on a fresh machine: `make demo` and `make test`.
# With uv they use uv.lock; without it python3 -m venv and pip (Debian 12's do).

S ?=
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null)

ifdef UV
DEMO = uv run --quiet --locked --inexact --extra demo monitor
TEST = uv run --quiet --locked --inexact --extra dev
else
DEMO = .venv/bin/monitor
TEST = .venv/bin/python -m
endif

.PHONY: demo test clean

demo: $(if $(UV),,.venv/demo.stamp)
	$(DEMO) demo $(if $(S),--seconds $(S))

test: $(if $(UV),,.venv/dev.stamp)
	$(TEST) pytest

.venv/%.stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

clean:
	rm -rf .venv build dist
