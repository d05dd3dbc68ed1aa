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
from subscribers import Monitor, Subscriber, calm, mqtt2prometheus

ROUNDS = 2
SECONDS = 10.0
WARMING_ROUNDS = 100
_LIMIT = "readings after a reference go to their buffers one by one; reads of a sixth of a second"


def live() -> list[Line]:
    """The reading nearest to a reference came before it."""
    ours, theirs = _measured(BEFORE, is_peer_too=True)
    goal = Goal(
        f"{RATE:,} messages a second, one in ten a reference, nearest reading before",
        "mqtt2prometheus (Go)", 3, 6, _LIMIT,
    )  # fmt: skip
    return [line(goal, ours, theirs, "us", 1e6)]


def live_late() -> list[Line]:
    """The reading nearest to a reference comes after it: a pair that moves."""
    before, _ = _measured(BEFORE, is_peer_too=False)
    ours, theirs = _measured(AFTER, is_peer_too=True)
    what = "the same, nearest reading after the reference"
    goal = Goal(what, "mqtt2prometheus (Go)", limit=_LIMIT)
    itself = Goal("the same", "itself, nearest reading before", 1 / 1.5, 1.0, _LIMIT)
    words = (f"{figure(1e6 * statistics.median(each))} us" for each in (ours, before))
    more = statistics.median(before) / statistics.median(ours)
    return [line(goal, ours, theirs, "us", 1e6), Line(itself, *words, more)]


def _measured(seconds_after: float, *, is_peer_too: bool) -> tuple[list[float], list[float]]:
    """Return the seconds a message of monitor, and of mqtt2prometheus, in each round."""
    found: tuple[list[float], list[float]] = [], []
    with tempfile.TemporaryDirectory() as name:
        folder, broker = started_broker(name)
        own = Monitor(folder / "own", broker.port)
        readers: Sequence[Subscriber] = [own, mqtt2prometheus(folder, broker.port)]
        rounds = rounds_of(RATE * SECONDS)
        for number in range(ROUNDS):
            for reader, costs in zip(readers[: 1 + is_peer_too], found, strict=False):
                pid, first = reader.start(), number * 2 * (WARMING_ROUNDS + rounds)
                pour(broker.port, packets(live_messages(first, WARMING_ROUNDS, seconds_after)))
                made = packets(live_messages(first + WARMING_ROUNDS, rounds, seconds_after))
                used = -calm(pid)
                at_rate(broker.port, made, RATE)
                used += calm(pid)
                reader.stop()
                costs.append(used / len(made))
                print(f"  {reader.name}: {1e6 * costs[-1]:.2f} us", file=sys.stderr, flush=True)
        broker.stop()
    return found
