"""Cases of a parametrized test that `make test` leaves to `make test-long`."""

from __future__ import annotations

import pytest


def further(*cases: object) -> list[object]:
    """Return the cases marked ``long``, to stand behind the few that `make test` runs.

    A case is one argument; several arguments are ``pytest.param(..., marks=pytest.mark.long)``.
    """
    return [pytest.param(case, marks=pytest.mark.long) for case in cases]
