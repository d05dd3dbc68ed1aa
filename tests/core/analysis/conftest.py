"""Table I as printed."""

from __future__ import annotations

import csv

import numpy as np
import pytest


@pytest.fixture
def read_table_1(shared_data):
    text = (shared_data / "seed000_table1.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    columns = {"crps": "crps_kg", "interval": "interval_kg", "brier": "brier_per_kg"}
    table = {
        name: np.array([float(row[column]) for row in rows]) for name, column in columns.items()
    }
    return table | {"method": [row["method"] for row in rows]}
