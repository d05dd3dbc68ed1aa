"""What the rows of the table of benchmarks are made of, and how two things are timed in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Goal(NamedTuple):
    """A line of the table: what is compared with whom, and how far ahead it is to be.

    ``floor`` and ``aim`` are ratios peer / ours, None where there is no goal.
    """

    what: str
    peer: str
    floor: float | None = None
    aim: float | None = None
    limit: str = ""


class Line(NamedTuple):
    """A goal with what was measured: ``ours`` and ``theirs`` in words, and the ratio."""

    goal: Goal
    ours: str
    theirs: str
    ratio: float | None = None


def spent(work: Callable[[], object]) -> float:
    """Return the seconds of processor time of one call."""
    began = time.process_time()
    work()
    return time.process_time() - began


def in_turn(*works: Callable[[], object], rounds: int = 3) -> list[list[float]]:
    """Return for each of ``works`` its seconds of processor time in each round, taken in turn."""
    turns = [[spent(work) for work in works] for _ in range(rounds)]
    return [list(each) for each in zip(*turns, strict=True)]


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median over the rounds of peer / ours."""
    return statistics.median(b / a for a, b in zip(ours, theirs, strict=True))


def figure(value: float) -> str:
    """Return a number with three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"


def line(
    goal: Goal, ours: Sequence[float], theirs: Sequence[float], unit: str, scale: float = 1.0
) -> Line:
    """Return the line of rounds in turn; ``scale`` makes ``unit`` of what was measured."""
    mine, other = (f"{figure(scale * statistics.median(each))} {unit}" for each in (ours, theirs))
    return Line(goal, mine, other, ratio(ours, theirs))
