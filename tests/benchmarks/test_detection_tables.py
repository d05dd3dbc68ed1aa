"""The detector's tables: each benchmark runs in its short form, and the page has what it made."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from harness.cases import further

PROJECT = Path(__file__).parents[2]
PAGE = PROJECT / "docs" / "evidence" / "detection.md"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["thresholds", "conventions", *further("references")],
)
def test_a_table_in_its_short_form_has_the_pages_columns_and_rows(name):
    command = [sys.executable, "benchmarks/detection.py", "--quick", "--only", name]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True, text=True)
    made, written = (shape(text) for text in (done.stdout, table(name)))

    assert made == written


def table(name: str) -> str:
    return PAGE.read_text("utf-8").split(f"<!-- table {name} -->")[1].split("<!-- end")[0]


def shape(text: str) -> tuple[list[str], list[str]]:
    """Return a table's columns and the names of its rows."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    head = [cell.strip() for cell in lines[0].split("|")]
    return head, [line.split("|")[1] for line in lines[2:]]


def test_no_figure_of_the_page_falls_short_of_what_is_wanted():
    assert "FAIL" not in PAGE.read_text("utf-8")


def test_every_table_of_the_page_is_filled():
    for name in re.findall(r"<!-- table ([a-z-]+) -->", PAGE.read_text("utf-8")):
        assert len(shape(table(name))[1]) >= 3, name
