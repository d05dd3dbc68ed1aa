"""A daemon that publishes its verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from harness.daemon import Daemon

VERDICTS = 'verdicts: {prefix: "site/m", home_assistant: {}}\nseries: {stale_after_seconds: 1e7}'


@pytest.fixture
def daemon(tmp_path: Path, mosquitto) -> Iterator[Daemon]:
    running = Daemon(tmp_path, mosquitto.port, VERDICTS, mqtt="keepalive_seconds: 1")
    yield running
    running.kill()
