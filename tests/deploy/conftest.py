"""Fixtures of the tests of what is shipped in deploy/."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.deploy.installation import Broker, Installation, Secrets, installed


@pytest.fixture(scope="session")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Secrets:
    """Return what prepare.sh made for two sensors."""
    return Secrets(tmp_path_factory.mktemp("prepared") / "secrets", "cart-01", "cart-02")


@pytest.fixture
def broker(tmp_path, secrets: Secrets) -> Iterator[Broker]:
    """Return a running broker as shipped."""
    running = Broker(tmp_path, secrets)
    yield running
    running.stop()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Return all that is shipped, running, once for all tests: most of the herd has crossed."""
    with installed(tmp_path_factory.mktemp("installation")) as running:
        running.publish(seconds_ago=20.0)
        yield running
