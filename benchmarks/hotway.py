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
from collections.abc import Iterator, Sequence
from pathlib import Path

import paho.mqtt.client as paho
from firehose import packet
from messages import readings_and_references
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from monitor.config import Settings
from monitor.daemon.assembly import Parts, assemble
from monitor.daemon.gc_tuning import settle
from monitor.http.metrics import Exposition
from monitor.mqtt.paho_batch import BatchClient

READ_MESSAGES = 2000
MESSAGES = 60_000
ROUNDS = 5
START = 1_767_225_600.0


class Fed(BatchClient):
    """A client that is handed its bytes, and throws its answers away."""

    def __init__(self) -> None:
        super().__init__(
            callback_api_version=CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5
        )
        self.given: Iterator[bytes] = iter(())

    def _sock_recv(self, bufsize: int) -> bytes:
        del bufsize
        try:
            return next(self.given)
        except StopIteration:
            raise BlockingIOError from None

    def _packet_queue(self, *_packet: object, **_more: object) -> paho.MQTTErrorCode:
        return paho.MQTTErrorCode.MQTT_ERR_SUCCESS


def settings(folder: Path) -> Settings:
    """Return the defaults with a journal in ``folder``."""
    return Settings.model_validate(
        {
            "journal": {"path": str(folder / "journal.sqlite")},
            "series": {"max_new_per_minute": 1_000_000},
        }
    )


def run(parts: Parts, client: Fed, reads: Sequence[bytes]) -> dict[str, float]:
    """Return the seconds of processor time that each part took for all ``reads``."""
    spent: dict[str, float] = defaultdict(float)
    clock = time.process_time
    for data in reads:
        client.given = iter((data,))
        at = clock()
        client.read(1 << 30)
        messages = client.take()
        spent["split"] += -at + (at := clock())
        batch = parts.intake.prepare(messages, START + 20_000_000.0)
        spent["decode, pair"] += -at + (at := clock())
        parts.intake.commit(batch)
        spent["durable, windows, detector"] += -at + (at := clock())
        client.acknowledge(messages)
        spent["acknowledge"] += clock() - at
    return spent


def main() -> None:
    """Print the table."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else READ_MESSAGES
    rounds: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as name:
        parts, client = assemble(settings(Path(name)), START), Fed()
        exposition = Exposition()
        settle()
        for number in range(ROUNDS):
            sent = [
                packet(topic, payload, at, properties=True)
                for at, (topic, payload) in enumerate(
                    readings_and_references(number * 10_000, MESSAGES)
                )
            ]
            reads = [b"".join(sent[at : at + size]) for at in range(0, len(sent), size)]
            spent = run(parts, client, reads)
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
