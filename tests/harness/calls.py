"""Work counted, not timed: a stopwatch on a shared machine says little."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls(work: Callable[[], Any]) -> tuple[int, int]:
    """Return how many functions in Python and in C ``work`` calls."""
    counts = {"call": 0, "c_call": 0}

    def count(frame: object, event: str, argument: object) -> None:
        del frame, argument
        if event in counts:
            counts[event] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counts["call"], counts["c_call"]


def lines(work: Callable[[], Any], of: str) -> int:
    """Return how many lines ``work`` runs in files whose names contain ``of``, each turn of a loop.

    So it sees loops that call nothing.
    """
    count = 0

    def run(frame: FrameType, event: str, argument: object) -> Any:
        del frame, argument
        nonlocal count
        count += event == "line"
        return run

    def enter(frame: FrameType, event: str, argument: object) -> Any:
        del event, argument
        return run if of in frame.f_code.co_filename else None

    sys.settrace(enter)
    try:
        work()
    finally:
        sys.settrace(None)
    return count
