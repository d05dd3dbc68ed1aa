"""A snapshot's columns."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.scores.statistics import OF_VERDICTS
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.steps import finish
from tests.core.snapshot.test_build import Town, life, same


def numbers(snapshot: Snapshot, row: int, *, is_reported: bool) -> tuple[object, ...]:
    """Return what is shown of one series that must be of one moment."""
    shown = [snapshot.last_pair, snapshot.last_reading, snapshot.evidence]
    # A report, with its numbers and the pairs that it is from, is of the moment it was made.
    if not is_reported:
        windows = {*snapshot.statistics} - {each.name for each in OF_VERDICTS}
        shown += [snapshot.window_pairs, *(snapshot.statistics[name] for name in sorted(windows))]
    return tuple(np.float64(column[row]).tobytes() for column in shown)


@pytest.mark.slow
@pytest.mark.parametrize("between", [1, 2, 3])
def test_in_steps_each_series_is_as_of_one_moment_of_the_work(between):
    """Messages come between the steps; a twin that is looked at after each knows every moment."""
    sliced, twin = Town(), Town()
    batches = life(between)
    moments: list[Snapshot] = []
    unlike = 0
    at = 0
    while at + between < len(batches):
        moments = moments[-1:]
        steps = sliced.network.steps(0.0)
        for batch in batches[at : at + between]:
            next(steps)
            sliced.take(batch, 0.0)
            twin.take(batch, 0.0)
            moments.append(twin.network.evaluate(0.0))
        snapshot = finish(steps)
        at += between
        for row in range(len(snapshot.names)):
            is_reported = row in snapshot.reports
            known = [
                numbers(each, row, is_reported=is_reported)
                for each in moments
                if row < len(each.names)
            ]
            shown = numbers(snapshot, row, is_reported=is_reported)
            assert shown in known or not known
            unlike += shown != known[-1]
    assert unlike  # some did change after they were looked at

    sliced.take(batches[at], 0.0)
    twin.take(batches[at], 0.0)
    same(sliced.network.evaluate(0.0), twin.network.evaluate(0.0))
