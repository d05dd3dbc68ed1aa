"""Fixtures of the tests that start real programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.broker import Mosquitto


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """Return a running broker."""
    folder = tmp_path / "broker"
    folder.mkdir()
    broker = Mosquitto(folder)
    yield broker
    broker.stop()
