"""The notebooks of docs/notebooks print what they show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.notebook import outputs, stored

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_prints_what_it_shows(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))

    assert any(stored(notebook))
    assert outputs(notebook) == stored(notebook)
