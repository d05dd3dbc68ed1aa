"""From the broker to the log: a message is acknowledged once the log has it.

Rules of this file: one thread; for back-pressure the socket is not read; nothing durable is kept
here, so that a bridge may die at any instant: unacknowledged messages come again, and the blocks
recognise those they have had. They cannot recognise messages that only the packet distinguishes:
for those the bridge remembers the packets as long as it lives, as the daemon does. ``received`` is
that of the whole read, as in the daemon.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from monitor.daemon.clock_guard import TOPICS_MAX, ClockGuard, decode_guarded, stamps_of
from monitor.daemon.redeliveries import Redeliveries
from monitor.daemon.runtime import Signals
from monitor.extensions.cluster.kafka_log import Appender, LogError
from monitor.extensions.cluster.log_records import (
    IN_DOUBT,
    TRUSTED,
    UNPROVEN,
    LogMessage,
    dump_record,
)
from monitor.extensions.cluster.placing import Placing
from monitor.mqtt.inbox import InboxMessage, retained_among, topics_and_payloads
from monitor.mqtt.source import MessageSource

_log: Final = logging.getLogger("monitor.bridge")

RECEIVE_SECONDS: Final = 0.5
RETRY_SECONDS: Final = 1.0
# Arrival of the newest earlier message: a bridge keeps none, and -inf would expire all at once.
_UNKNOWN: Final = 0.0


@dataclass
class Passed:
    """A bridge's work since it began; times in s."""

    messages: int = 0
    redelivered: int = 0
    records: int = 0
    oversize: int = 0
    retries: int = 0
    log_seconds: float = 0.0
    last_message: float = 0.0


class Bridge:
    """Moves messages from a broker to the log until it is told to stop."""

    def __init__(
        self,
        source: MessageSource,
        log: Appender,
        placing: Placing,
        *,
        signals: Signals | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._source: Final = source
        self._to: Final = log
        self._placing: Final = placing
        self._clock: Final = clock
        self._monotonic: Final = monotonic
        self.guard: Final = ClockGuard(_UNKNOWN)
        self._doubt = ""
        self._pause: Final = pause
        self._redeliveries: Final = Redeliveries(placing.router, lambda _name: b"")
        self.passed: Final = Passed()
        self.signals: Final = signals or Signals()

    def stop(self) -> None:
        """Let :meth:`run` end; may be called from any thread."""
        self.signals.stop = True

    def run(self) -> None:
        """Work until stopped; raises SourceRefusedError."""
        try:
            while not self.signals.stop:
                self.work(RECEIVE_SECONDS)
        finally:
            self._source.close()

    def work(self, seconds: float) -> None:
        """Pass on the messages of the next ``seconds``."""
        messages = self._source.receive(seconds)
        self.guard.look(self._clock(), self._monotonic())
        if messages:
            self._pass_on(messages)
        if self.guard.doubt != self._doubt:
            self._doubt = self.guard.doubt
            if self._doubt:
                _log.error("%s; the blocks expire nothing by it", self._doubt)
            else:
                _log.warning("this machine's clock is trusted again")
        self._redeliveries.confirm(self._source.confirmed)

    def _pass_on(self, messages: Sequence[InboxMessage]) -> None:
        again = frozenset(self._redeliveries.hold(messages).again)
        if self._append(messages, again):
            self._source.acknowledge(messages)
            self._source.confirm(self._redeliveries.round)
            self.passed.redelivered += len(again)
            self.passed.messages += len(messages)
            self.passed.last_message = self.guard.now

    def _append(self, messages: Sequence[InboxMessage], again: frozenset[int]) -> bool:
        """Append messages to the log, retrying until it has them; False if told to stop before.

        The log already has those at the places ``again``.
        """
        records = list(self._records(messages, again))
        while not self.signals.stop:
            began = time.perf_counter()
            try:
                oversize = self._to.append(records)
            except LogError as error:
                _log.error("%s; trying again", error)
                self.passed.retries += 1
                self._pause(RETRY_SECONDS)
            else:
                self.passed.log_seconds += time.perf_counter() - began
                self.passed.records += len(records) - oversize
                self.passed.oversize += oversize
                return True
        return False

    def _records(
        self, messages: Sequence[InboxMessage], again: frozenset[int]
    ) -> Iterator[tuple[int, bytes]]:
        topics, payloads = topics_and_payloads(messages)
        guard, placing = self.guard, self._placing
        router, now = placing.router, guard.now
        retained = retained_among(messages)
        decoded, received = decode_guarded(router, guard, topics, payloads, now, retained)
        guard.hear(stamps_of(topics, decoded, len(decoded.sources) // TOPICS_MAX + 1))
        clock = IN_DOUBT if guard.doubt else UNPROVEN
        if guard.may_expire(placing.wait_seconds):
            clock = TRUSTED
        places = placing.places(topics, decoded)
        partitioned = placing.partitioned
        for at, (topic, payload, blocks) in enumerate(zip(topics, payloads, places, strict=True)):
            if at in again:
                continue
            message = LogMessage(received, topic, bytes(payload), clock, at in retained)
            for partition, named in partitioned(blocks).items():
                yield partition, dump_record(named, message)
