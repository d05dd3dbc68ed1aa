"""While the journal is read the page answers that the daemon is still starting."""

from __future__ import annotations

import sys

import pytest
from harness import endless_start
from harness.daemon import Daemon
from harness.programs import free_port


@pytest.fixture
def daemon(tmp_path):
    made = Daemon(tmp_path, free_port())
    made.under = (sys.executable, endless_start.__file__)
    yield made
    made.kill()


def test_the_page_says_that_it_is_still_starting_and_a_signal_ends_it_at_once(daemon):
    daemon.start(ready=False)

    assert daemon.get("/readyz") == (503, b"still starting\n")
    assert daemon.get("/healthz") == (200, b"ok\n")
    assert daemon.get("/metrics")[0] == 503
    status, page = daemon.get("/")
    assert (status, b"still starting" in page) == (200, True)

    assert daemon.stop() == 0
    assert "SIGTERM: stopping; the journal is as it was" in daemon.log()
    daemon.under = ()
    daemon.start(ready=False)  # nobody holds the journal
    assert daemon.stop() == 0
