"""docs/evidence/papers.md names what exists (functions, statistics, tests) and has every row."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from monitor.cli import all_commands
from monitor.core.scores.proper_scores import SCORES
from monitor.core.scores.statistics import STATISTICS
from monitor.extensions.costs import live_costs
from monitor.http.metrics import METRICS

PROJECT = Path(__file__).parents[3]
PAGE = (PROJECT / "docs" / "evidence" / "papers.md").read_text(encoding="utf-8")
ROWS = {
    cells[0]: cells
    for line in PAGE.splitlines()
    if re.match(r"\| [ABCE]-?\d", line)
    for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
}
BY_HAND = {"monitor_alert_active", "monitor_alert_evidence"}


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def test_every_row_of_the_papers_is_on_the_page_once():
    want = [
        *(f"A-{n:02}" for n in range(1, 26)),
        *(f"B-{n:02}" for n in range(1, 24)),
        *(f"C-{n:02}" for n in range(1, 34)),
        *(f"E{n}" for n in range(1, 19)),
    ]

    assert re.findall(r"^\| ([ABCE]-?\d+) ", PAGE, flags=re.MULTILINE) == want


def found(name):
    """Return what a dotted name below monitor.core, or monitor, stands for."""
    parts = name.split(".")
    for root in ("monitor.core", "monitor"):
        module = ".".join([root, *parts[:-1]])
        try:
            return getattr(importlib.import_module(module), parts[-1])
        except (ImportError, AttributeError):
            continue
    raise AssertionError(f"{name} is not there")


@cache
def defined_in(path):
    tree = ast.parse((PROJECT / "tests" / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS)
def test_what_a_row_names_exists(row):
    functions = [] if row.startswith("E") else quoted(ROWS[row][2])
    tests = quoted(ROWS[row][-1])

    for name in functions:
        assert found(name) is not None
    for name in tests:
        path, test = name.split("::")
        assert test in defined_in(path), name
    assert functions or row.startswith("E") or "*not yet*" in ROWS[row][2]
    assert tests or ROWS[row][-1] in {"*not yet*", "in words only"}


@pytest.mark.parametrize("row", [row for row in ROWS if not row.startswith("E")])
def test_where_a_row_is_seen_exists(row):
    for name in quoted(ROWS[row][3]):
        if name.startswith("monitor_"):
            assert name in (METRICS | live_costs.METRICS).keys() | BY_HAND, name
        elif name.startswith("python "):
            assert (PROJECT / name.split()[1]).exists(), name
        elif name.startswith("monitor "):
            assert name.split()[1] in all_commands(), name
        else:
            assert name in STATISTICS, name


# The row of a score names the score, not each of these.
SUMMARIES = {f"{score}_{of}" for score in SCORES for of in ("median", "trimmed", "expected_ratio")}


@pytest.mark.parametrize("name", [name for name in STATISTICS if name not in SUMMARIES])
def test_a_statistic_of_the_papers_is_named_in_its_row(name):
    names = {name, *(f"monitor_{each}" for each in STATISTICS[name].names(name))}

    for row in re.findall(r"[ABC]-\d\d", STATISTICS[name].source):
        assert names & {*quoted(ROWS[row][3])}, row
