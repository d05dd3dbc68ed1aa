"""Fixtures for the tests of files."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def written(tmp_path):
    def write(text: str, name: str = "pairs.csv") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
