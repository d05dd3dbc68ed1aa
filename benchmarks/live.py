"""A live stream in which the reading nearest to a reference comes before it, or after it.

Readings of a fleet every ten seconds of event time, one message in ten a reference between two
readings, in the order of their times. Run: python benchmarks/live.py [--profile]: what a message
costs without broker and socket, a publication every two seconds of the stream included.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from firehose import packet

from monitor.config import Settings
from monitor.daemon.assembly import assemble
from monitor.daemon.runtime import freeze_after_start
from monitor.mqtt.packets import Version
from monitor.mqtt.receiver import Receiver

SENSORS = 200
READING_SECONDS = 10.0
READINGS_A_REFERENCE = 9
BEFORE, AFTER = 3.0, 7.0  # s from a reading to the reference that follows it
RATE = 6000  # messages a second
READS = (1500, 120)  # messages at a time: as they gather, and while a publication is under way
PUBLISH_SECONDS = 2.0
START = 1_767_225_600.0
U, U_REF = 5.0, 0.5
SECONDS = 60.0
WARMING_SECONDS = 10.0
SHOWN = 30


def live_messages(first: int, rounds: int, seconds_after: float) -> list[tuple[str, bytes]]:
    """Return (topic, payload) of so many readings of each sensor, the ``first`` of them given.

    A reference comes ``seconds_after`` the reading before it: nearest is that one, or the next one.
    """
    chance = random.Random(first)
    due: list[tuple[float, str, float, float]] = []
    for at in range(first, first + rounds):
        for sensor in range(SENSORS):
            stamp = START + READING_SECONDS * (at + sensor / SENSORS)
            value = round(chance.gauss(500.0, U), 2)
            due.append((stamp, f"monitor/s{sensor}/mass/reading", value, U))
            if (at + sensor) % READINGS_A_REFERENCE == 0:
                topic = f"monitor/s{sensor}/mass/reference"
                due.append((stamp + seconds_after, topic, 500.0, U_REF))
    return [
        (topic, json.dumps({"time": _stamp(time), "value": value, "u": u}).encode())
        for time, topic, value, u in sorted(due)
    ]


def _stamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def rounds_of(messages: float) -> int:
    """Return how many readings of each sensor make about so many messages."""
    return round(messages / SENSORS * READINGS_A_REFERENCE / (READINGS_A_REFERENCE + 1))


class Cost(NamedTuple):
    """Microseconds of a message, and seconds of the longest publication."""

    message: float
    publication: float


def run(
    folder: Path, seconds_after: float, size: int, profile: cProfile.Profile | None = None
) -> Cost:
    """Return what a stream costs that is read so many messages at a time."""
    settings = {
        "journal": {"path": str(folder / "journal.sqlite")},
        "series": {"max_new_per_minute": 1_000_000},
    }
    parts = assemble(Settings.model_validate(settings), START)
    freeze_after_start()
    receiver = Receiver(Version.V5, 65_536)
    made = live_messages(0, rounds_of(RATE * (WARMING_SECONDS + SECONDS)), seconds_after)
    sent = [packet(*each, at, properties=True) for at, each in enumerate(made)]
    warming, every = (round(RATE * each / size) for each in (WARMING_SECONDS, PUBLISH_SECONDS))
    longest = 0.0
    began, first = 0.0, 0
    for number, at in enumerate(range(0, len(sent), size)):
        if number == warming:
            began, first = time.process_time(), at
            if profile is not None:
                profile.enable()
        receiver.feed(b"".join(sent[at : at + size]))
        parts.intake.commit(parts.intake.prepare(receiver.take(), START + 20_000_000.0))
        if number % every == every - 1:
            before = time.process_time()
            parts.network.evaluate(START, 128)
            parts.network.drain_transitions()
            longest = max(longest, time.process_time() - before)
    if profile is not None:
        profile.disable()
    spent = time.process_time() - began
    counts = parts.intake.counts
    assert counts.committed == counts.received == len(sent), counts.totals()
    parts.journal.close()
    return Cost(1e6 * spent / (len(sent) - first), longest)


def main(arguments: Sequence[str]) -> None:
    """Print what both streams cost."""
    for size in READS:
        for words, seconds_after in (("before", BEFORE), ("after", AFTER)):
            profile = cProfile.Profile() if "--profile" in arguments else None
            with tempfile.TemporaryDirectory() as name:
                cost = run(Path(name), seconds_after, size, profile)
            print(
                f"{size:4} messages a read, nearest reading {words}: {cost.message:.1f} us a "
                f"message, longest publication {cost.publication:.3f} s"
            )
            if profile is not None:
                pstats.Stats(profile).sort_stats("tottime").print_stats(SHOWN)


if __name__ == "__main__":
    main(sys.argv[1:])
