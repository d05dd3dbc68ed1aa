"""The daemon's source: messages of a persistent session, and their acknowledgement.

One thread; an acknowledgement belongs to the connection its message came on. Waking up costs more
than waiting, so messages that arrive together are read together: the system wakes this process once
enough bytes have arrived (SO_RCVLOWAT) or the time is over, not for each message.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from monitor.mqtt.connection import MqttSettings
from monitor.mqtt.inbox import Inbox, InboxMessage, inbox_of, owed
from monitor.mqtt.pacing import MESSAGE_BYTES, Coalescing
from monitor.mqtt.session import MESSAGES_MAX, Session
from monitor.mqtt.topic_templates import Template
from monitor.mqtt.wire import Wire

SLICE_SECONDS: Final = 0.002
ENOUGH_BYTES: Final = 2_097_152
# Messages that brokers commonly send a 3.1.1 client before an acknowledgement.
PORTION_311: Final = 20
_EXCHANGES_MAX: Final = 8  # of QoS 2 before a commit
_MEASURED_MAX: Final = 16  # messages of a read whose mean size stands for all


class MessageSource(Protocol):
    """A persistent session with a broker, such as :class:`MqttSource`.

    ``acknowledge`` declares messages durable. ``confirmed`` is the last number given to ``confirm``
    whose acknowledgements have arrived.
    """

    @property
    def confirmed(self) -> int:
        """The last number that is confirmed."""

    def receive(self, timeout: float) -> Sequence[InboxMessage]:
        """Return what came within ``timeout`` seconds."""

    def acknowledge(self, messages: Sequence[InboxMessage]) -> int:
        """Acknowledge ``messages``, which are durable."""

    def confirm(self, number: int) -> None:
        """Give what was acknowledged so far a ``number``."""

    def close(self) -> None:
        """End the connection."""


class MqttSource(Session):
    """Messages of a persistent session. :meth:`receive` also keeps the connection alive."""

    def __init__(
        self,
        settings: MqttSettings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        chance: random.Random | None = None,
    ) -> None:
        super().__init__(settings, monotonic=monotonic, chance=chance)
        self.stale_acknowledgements = 0
        self.last_message: dict[str, float] = {}
        """When a message last came, by the filter that it matched."""
        self._came_by: Final = _CameBy([each.filter for each in settings.subscriptions])
        most = settings.receive_maximum
        usual = most if settings.protocol == "5" else PORTION_311
        self._coalescing: Final = Coalescing(most, usual, ENOUGH_BYTES)
        self._was_enough = True
        self._is_exact: Final = any(each.qos == 2 for each in settings.subscriptions)
        self._coalesce_seconds: Final = settings.coalesce_seconds
        self._flows = False
        self._read_at = -float("inf")

    def receive(self, timeout: float) -> Sequence[InboxMessage]:
        """Return what came within ``timeout`` seconds, at most a few thousand messages.

        Once something has arrived, it may gather, a little beyond ``timeout``; with 0 there is no
        wait. Raises SourceRefusedError where trying again would not help.
        """
        deadline = self._monotonic() + timeout
        while True:
            self._keep_up()
            if self._refused is not None:
                raise self._refused
            wait = max(0.0, deadline - self._monotonic())
            if self._wire is None:
                pause = min(wait, max(0.0, self._next_attempt - self._monotonic()))
                time.sleep(min(pause, 0.25))
            else:
                self._listen(self._wire, wait, is_patient=timeout > 0.0)
                if self._receiver.inbox:
                    return self._take()
            if self._monotonic() >= deadline:
                return []

    def acknowledge(self, messages: Sequence[InboxMessage]) -> int:
        """Tell the broker that ``messages`` are durable; return how many were acknowledged.

        Those of a former connection are left out: their packet identifiers now mean other messages.
        """
        sent, packets = inbox_of(messages, self._receiver.generation).acknowledgements()
        if sent:
            self._write(packets)
        self.stale_acknowledgements += owed(messages) - sent
        return sent

    @property
    def confirmed(self) -> int:
        """The last number given to :meth:`confirm` whose acknowledgements the broker has."""
        return self._confirmations.confirmed

    def confirm(self, number: int) -> None:
        """Find out whether the broker has the acknowledgements up to now, numbered ``number``."""
        self._confirmations.acknowledged(number)

    # -- reading ----------------------------------------------------------------------------

    def _listen(self, wire: Wire, seconds: float, *, is_patient: bool) -> None:
        """Wait for something to come and then a little for more; read all there is.

        While messages keep coming, there is no wait for the first one: that would be one more
        wake-up. A broker that sends little at a time is read every few milliseconds at most.
        """
        if not self._flows and not wire.wait(1, seconds):
            return
        if self.connected and is_patient and self._is_exact:
            self._read_exchange(wire)
        else:
            self._read_once(wire, is_patient=is_patient)
        self._flows = self.connected and bool(self._receiver.inbox)

    def _read_once(self, wire: Wire, *, is_patient: bool) -> None:
        if self.connected:
            if is_patient:
                self._let_gather(wire)
            else:
                self._was_enough = True  # there is no wait, so none in vain
            wire.acknowledge_at_once()
        self._read()

    def _read_exchange(self, wire: Wire) -> None:
        """Read until the broker sends nothing more: QoS 2 takes four packets a message.

        A broker sends small packets and holds back the next until TCP has acknowledged the last; it
        sends further messages once PUBRELs are answered. All of them go into one commit.
        """
        for _ in range(_EXCHANGES_MAX):
            wire.acknowledge_at_once()
            wire.wait(ENOUGH_BYTES, SLICE_SECONDS)
            if (
                not self._read()
                or self._wire is not wire
                or len(self._receiver.inbox) >= MESSAGES_MAX
            ):
                return

    def _let_gather(self, wire: Wire) -> None:
        """Wait a little until enough can be read at once."""
        coalescing = self._coalescing
        if coalescing.again_bytes and wire.wait(coalescing.again_bytes, SLICE_SECONDS):
            coalescing.came_again()
        self._was_enough = wire.wait(coalescing.enough_bytes, self._coalesce_seconds)
        if (pause := self._read_at + SLICE_SECONDS - self._monotonic()) > 0.0:
            time.sleep(pause)
        self._read_at = self._monotonic()

    def _take(self) -> Inbox:
        messages = self._receiver.take()
        names, count = messages.names, min(len(messages), _MEASURED_MAX)
        size = sum(len(names[number]) for number in messages.numbers[:count])
        size += sum(map(len, messages.payloads.part(range(count))))
        self._coalescing.took(
            len(messages), size / count + MESSAGE_BYTES, was_enough=self._was_enough
        )
        now = time.time()
        for filters in self._came_by.filters(messages):
            self.last_message.update(dict.fromkeys(filters, now))
        return messages


class _CameBy:
    """State: which of some filters match each topic, found once per topic."""

    def __init__(self, filters: Sequence[str]) -> None:
        self._wanted: Final = [(each, Template.parse(_unshared(each))) for each in filters]
        self._names: Sequence[str] = ()
        self._known: dict[int, tuple[str, ...]] = {}  # by the place of a topic in names

    def filters(self, messages: Inbox) -> set[tuple[str, ...]]:
        """Return the filters that messages matched: a tuple for each set that occurs."""
        if messages.names is not self._names:
            self._names, self._known = messages.names, {}
        numbers, known = set(messages.numbers), self._known
        for number in numbers.difference(known):
            topic = messages.names[number]
            known[number] = tuple(
                each for each, made in self._wanted if made.match(topic) is not None
            )
        return set(map(known.__getitem__, numbers))


def _unshared(wanted: str) -> str:
    """Return the filter of a shared subscription (MQTT 5.0 section 4.8.2) without the share."""
    return wanted.split("/", 2)[2] if wanted.startswith("$share/") else wanted
