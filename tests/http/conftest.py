"""Fixtures for the tests of http."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from harness.http_service import SPREADS, answers
from harness.programs import until
from harness.yard import Yard

from monitor.extensions import all_extensions
from monitor.http.service import Service


@contextmanager
def running_service() -> Iterator[Service]:
    running = Service(
        "127.0.0.1",
        0,
        connections_max=20,
        header_timeout_seconds=0.5,
        extensions=[each for each in all_extensions() if each.routes],
    )
    running.start()
    until("the service answers", lambda: answers(running))
    yield running
    running.stop()


@contextmanager
def working_yard(service: Service) -> Iterator[Yard]:
    made = Yard(service)
    made.work(150.0)
    made.run(0.1)
    yield made
    made.stop()


@pytest.fixture
def service() -> Iterator[Service]:
    with running_service() as running:
        yield running


@pytest.fixture
def yard(service: Service) -> Iterator[Yard]:
    """Return a fleet that is at work, and answers what is asked of it."""
    with working_yard(service) as made:
        yield made


@pytest.fixture(scope="module")
def shown() -> Iterator[Service]:
    """Return a service with a fleet at work, for tests that only read."""
    with running_service() as running, working_yard(running):
        yield running


@pytest.fixture
def race(service: Service) -> Iterator[Yard]:
    """Return three platforms of one race that weighed sixty animals."""
    made = Yard(service, carts=(), match_on=frozenset({"key"}))
    made.race(SPREADS, 60)
    made.run(0.0)
    until("the race is published", lambda: service.page() is not None)
    yield made
    made.stop()
