"""Cases of a parametrized test that `make test` leaves to `make test-long`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")


def short_and_long(cases: Iterable[T], is_short: Callable[[T], bool]) -> list[object]:
    """Return all cases, those that are not short marked ``long``: `make test` leaves them out.

    A simulation of many kinds or seeds keeps the few that stand for the others.
    """
    return [
        each if is_short(each) else pytest.param(each, marks=pytest.mark.long) for each in cases
    ]
