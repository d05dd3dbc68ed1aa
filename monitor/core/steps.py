"""Work in steps: a generator that yields after each step, so that messages get their turn.

Rules of this file: a step takes a few milliseconds at most. The result is what the generator
returns, the same whether anything happened between the steps or not.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TypeVar

import numpy as np

from monitor.core.model import Int

T = TypeVar("T")
Steps = Generator[None, None, T]


def finish(steps: Steps[T]) -> T:
    """Run all remaining steps and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            returned: T = end.value
            return returned


def with_each(steps: Steps[T], before: Callable[[], object]) -> Steps[T]:
    """Return the same steps with a call of ``before`` ahead of each."""
    while True:
        before()
        try:
            next(steps)
        except StopIteration as end:
            returned: T = end.value
            return returned
        yield


def portions(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Yield ``items`` in order, at most ``most`` at a time."""
    for at in range(0, len(items), most):
        yield items[at : at + most]


def weighed(rows: Int, weights: Int, most: int) -> Iterator[Int]:
    """Yield ``rows`` in order, in groups that weigh at most ``most`` together, or of one row."""
    until = np.cumsum(weights)
    at = 0
    while at < rows.size:
        before = int(until[at - 1]) if at else 0
        end = max(at + 1, int(np.searchsorted(until, before + most, side="right")))
        yield rows[at:end]
        at = end
