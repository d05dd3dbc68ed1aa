"""The data sets beside the project as columns, and the figures they must give."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from monitor.core.columns import Columns, columns


def columns_of(rows: list[dict[str, str]], *, stated: bool = False, level: float = 0.9) -> Columns:
    """Return one series of pairs from rows of a CSV file.

    The file's interval counts where no u stands, or where the ``stated`` one is asked for: those
    of the air quality files are rounded to five decimals, which shows in the seventh digit.
    """

    def numbers(name: str) -> np.ndarray:
        return np.array([float(row[name]) if row.get(name) else np.nan for row in rows])

    bare = stated or "sigma" not in rows[0]
    absent = np.full(len(rows), np.nan)
    return columns(
        np.array([0]),
        time=np.arange(len(rows), dtype=float),
        value=numbers("value"),
        reference=numbers("reference"),
        u=numbers("sigma"),
        lower=numbers("lower") if bare else absent,
        upper=numbers("upper") if bare else absent,
        p=absent,
        u_ref=np.zeros(len(rows)),
        level=level,
    )


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file, compressed or not."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return list(csv.DictReader(text.splitlines()))


@pytest.fixture(scope="session")
def expected(shared_data):
    return json.loads((shared_data / "expected.json").read_text())["sets"]


@pytest.fixture(scope="session")
def read(shared_data):
    """Return a function that reads a file of the data sets as rows."""
    return lambda name: rows_of(shared_data / name)


@pytest.fixture(scope="session")
def as_columns():
    return columns_of
