"""What each accelerator of the decoders buys: messages read with it and without, paired.

Processor time a message, the least of some rounds; a batch of records counts as one message.
Run: python benchmarks/accelerators.py
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from messages import readings_and_references

from monitor.decode import Route, Router, Units
from monitor.decode.mapping import Mapped
from monitor.decode.router import DECODED
from monitor.decode.spec import MapSpec, SeriesSpec

ROUNDS = 5
NOW = 2e9
Sent = list[tuple[str, bytes]]


def native_router() -> Router:
    """Return a router of native readings and references."""
    units = Units()
    reading, reference = (f"monitor/{{{name}}}/{{quantity}}" for name in ("sensor", "subject"))
    routes = [
        Route("reading", "native", "", f"{reading}/reading", None, None, units),
        Route("reference", "native", "", f"{reference}/reference", None, None, units),
    ]
    return Router(routes, 1 << 20)


def record_router() -> Router:
    """Return a router of arrays of records."""
    spec = MapSpec(series=(SeriesSpec(value="value", u="u"),), each="$")
    mapped = Mapped(spec, "reading", ("sensor", "quantity"))
    return Router([Route("reading", "json", "", "{sensor}/{quantity}", mapped)], 1 << 20)


def seconds(made: Callable[[], Router], sent: Sent, size: int) -> float:
    """Return the processor time that a message takes in reads of ``size``."""
    router = made()
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for first in range(0, len(sent), size):
            topics, payloads = zip(*sent[first : first + size], strict=True)
            router.decode_all(topics, payloads, NOW)
        best = min(best, time.process_time() - began)
    return best / len(sent)


def main() -> None:
    """Print a row for each kind of message and size of a read."""
    plain = readings_and_references(0, 6000)
    keyed = [(topic, payload[:-1] + b', "key": "982"}') for topic, payload in plain]
    records = [{"time": 1_772_272_800 + at, "value": at / 4, "u": 1.0} for at in range(100)]
    arrays = [(f"s{at}/q", json.dumps(records).encode()) for at in range(600)]
    kinds: dict[str, tuple[Callable[[], Router], Sent]] = {
        "plain native": (native_router, plain),
        "native with a key": (native_router, keyed),
        "arrays of 100 records": (record_router, arrays),
    }
    way = Router._way  # noqa: SLF001 - who accelerates is decided there
    for name, (made, sent) in kinds.items():
        for size in (20, 200, 1500):
            with_it = seconds(made, sent, size)
            Router._way = lambda *_: DECODED  # type: ignore[method-assign]  # noqa: SLF001
            without = seconds(made, sent, size)
            Router._way = way  # type: ignore[method-assign]  # noqa: SLF001
            print(
                f"{name:22} {size:5} a read: {1e6 * with_it:7.2f} us, "
                f"without {1e6 * without:8.2f} us"
            )


if __name__ == "__main__":
    main()
