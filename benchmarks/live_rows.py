"""Rows of the table: live references whose nearest reading comes before them, or after them.

Through a real mosquitto, at the rate of a fleet; processor time a message, publications included.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence

from firehose import pour
from ingest_rows import at_rate, packets, started_broker
from live import AFTER, BEFORE, RATE, live_messages, rounds_of
from rows import Goal, Line, figure, line
from subscribers import Monitor, Subscriber, calm, mqtt2prometheus, plain

ROUNDS = 2
SECONDS = 10.0
WARMING_ROUNDS = 100
_LIMIT = "readings after a reference go to their buffers one by one; reads of a sixth of a second"


def live() -> list[Line]:
    """The reading nearest to a reference came before it."""
    ours, exporter, deques = _measured(BEFORE, peers=2)
    what = f"{RATE:,} messages a second, one in ten a reference, nearest reading before"
    goals = (
        (Goal(what, "mqtt2prometheus (Go)", 3, 6, _LIMIT), exporter),
        (Goal("the same", "paho + json + deque, keeps nothing", 5, 10, _LIMIT), deques),
    )
    return [line(goal, ours, theirs, "us", 1e6) for goal, theirs in goals]


def live_late() -> list[Line]:
    """The reading nearest to a reference comes after it: a pair that moves."""
    (before,) = _measured(BEFORE, peers=0)
    ours, theirs = _measured(AFTER, peers=1)
    what = "the same, nearest reading after the reference"
    goal = Goal(what, "mqtt2prometheus (Go)", limit=_LIMIT)
    itself = Goal("the same", "itself, nearest reading before", 1 / 1.5, 1.0, _LIMIT)
    words = (f"{figure(1e6 * statistics.median(each))} us" for each in (ours, before))
    more = statistics.median(before) / statistics.median(ours)
    return [line(goal, ours, theirs, "us", 1e6), Line(itself, *words, more)]


def _measured(seconds_after: float, *, peers: int) -> list[list[float]]:
    """Return the seconds a message in each round, of monitor and of the first so many peers."""
    with tempfile.TemporaryDirectory() as name:
        folder, broker = started_broker(name)
        own, port = Monitor(folder / "own", broker.port), broker.port
        everyone: Sequence[Subscriber] = [own, mqtt2prometheus(folder, port), plain(port)]
        readers = everyone[: 1 + peers]
        found: list[list[float]] = [[] for _ in readers]
        rounds = rounds_of(RATE * SECONDS)
        for number in range(ROUNDS):
            for reader, costs in zip(readers, found, strict=True):
                pid, first = reader.start(), number * 2 * (WARMING_ROUNDS + rounds)
                pour(port, packets(live_messages(first, WARMING_ROUNDS, seconds_after)))
                made = packets(live_messages(first + WARMING_ROUNDS, rounds, seconds_after))
                used = -calm(pid)
                at_rate(port, made, RATE)
                used += calm(pid)
                reader.stop()
                costs.append(used / len(made))
                print(f"  {reader.name}: {1e6 * costs[-1]:.2f} us", file=sys.stderr, flush=True)
        broker.stop()
    return found
