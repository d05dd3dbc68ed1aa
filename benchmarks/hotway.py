"""Where a message's time goes: each part of the daemon's way, without broker and socket.

The bytes that a broker would send are given to the daemon's own parts in reads of a given size:
split into messages, decoded and paired, made durable, taken into windows and detector, published.
Processor time a message, medians of rounds. Run: python benchmarks/hotway.py [messages a read]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from firehose import packet
from messages import readings_and_references

from monitor.config import Settings
from monitor.daemon.assembly import Parts, assemble
from monitor.daemon.runtime import freeze_after_start
from monitor.http.metrics import Exposition
from monitor.mqtt.inbox import inbox_of
from monitor.mqtt.packets import Version
from monitor.mqtt.receiver import Receiver

READ_MESSAGES = 2000
MESSAGES = 60_000
ROUNDS = 5
START = 1_767_225_600.0


def settings(folder: Path) -> Settings:
    """Return the defaults with a journal in ``folder``."""
    return Settings.model_validate(
        {
            "journal": {"path": str(folder / "journal.sqlite")},
            "series": {"max_new_per_minute": 1_000_000},
        }
    )


def run(parts: Parts, receiver: Receiver, reads: Sequence[bytes]) -> dict[str, float]:
    """Return the seconds of processor time that each part took for all ``reads``."""
    spent: dict[str, float] = defaultdict(float)
    clock = time.process_time
    for data in reads:
        at = clock()
        receiver.feed(data)
        messages = receiver.take()
        spent["split"] += -at + (at := clock())
        batch = parts.intake.prepare(messages, START + 20_000_000.0)
        spent["decode, pair"] += -at + (at := clock())
        parts.intake.commit(batch)
        spent["durable, windows, detector"] += -at + (at := clock())
        inbox_of(messages, receiver.generation).acknowledgements()
        spent["acknowledge"] += clock() - at
    return spent


def main() -> None:
    """Print the table."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else READ_MESSAGES
    rounds: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        parts = assemble(settings(Path(name)), START)
        receiver = Receiver(Version.V5, 65_536)
        exposition = Exposition()
        freeze_after_start()
        for number in range(ROUNDS):
            sent = [
                packet(topic, payload, at, properties=True)
                for at, (topic, payload) in enumerate(
                    readings_and_references(number * 10_000, MESSAGES)
                )
            ]
            reads = [b"".join(sent[at : at + size]) for at in range(0, len(sent), size)]
            spent = run(parts, receiver, reads)
            at = time.process_time()
            exposition.render(parts.network.evaluate(START))
            spent["publish, once"] = time.process_time() - at
            rounds.append({part: 1e6 * seconds / len(sent) for part, seconds in spent.items()})
        parts.journal.close()
    print(f"{size} messages a read; us of processor time a message")
    for part in rounds[0]:
        print(f"{part:28} {statistics.median(each[part] for each in rounds):6.2f}")
    print(f"{'sum':28} {statistics.median(sum(each.values()) for each in rounds):6.2f}")


if __name__ == "__main__":
    main()
