"""Fixtures for the tests of client."""

from __future__ import annotations

import pytest

from monitor.client.client import PASSWORD, USER


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    for name in (USER, PASSWORD):
        monkeypatch.delenv(name, raising=False)
