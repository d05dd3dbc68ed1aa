"""The broker's side of the daemon: what came, and the word that it is durable.

Rules of this file: one thread; an acknowledgement belongs to the connection its message came on;
to wake up costs more than to wait, so that what comes together is read together: the system wakes
us once enough has come (SO_RCVLOWAT) or the time is over, and not for each message.
"""

from __future__ import annotations

import random
import select
import socket as tcp
import time
from collections.abc import Callable, Sequence
from socket import socket as Socket  # noqa: N812 - a class
from typing import Final

import paho.mqtt.client as paho
from paho.mqtt.enums import MQTTErrorCode

from monitor.mqtt.coalescing import MESSAGE_BYTES, Portions
from monitor.mqtt.connection import (
    MqttSettings,
    SourceRefusedError,
    Subscription,
    Tls,
    tls_context,
)
from monitor.mqtt.inbox import Arrivals, Message, owed
from monitor.mqtt.session import Session
from monitor.mqtt.tls import TlsSocket

__all__ = [
    "Message",
    "MqttSettings",
    "MqttSource",
    "SourceRefusedError",
    "Subscription",
    "Tls",
    "tls_context",
]

MESSAGES_MAX: Final = 16_384
SLICE_SECONDS: Final = 0.002
ENOUGH_BYTES: Final = 2_097_152
# Messages that brokers commonly send a 3.1.1 client before an acknowledgement.
PORTION_311: Final = 20


class MqttSource(Session):
    """Messages of a persistent session. :meth:`receive` also keeps the connection alive."""

    def __init__(
        self,
        settings: MqttSettings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        chance: random.Random | None = None,
    ) -> None:
        super().__init__(settings, monotonic=monotonic, chance=chance)
        self._wall: Final = wall
        self.stale_acknowledgements = 0
        self.last_message: dict[str, float] = {}
        self._names: Sequence[str] = ()
        self._came_by: dict[int, int] = {}  # numbers of filters, by the place of a topic in names
        self._filters: Final[dict[tuple[str, ...], int]] = {}
        most = settings.receive_maximum
        usual = most if settings.protocol == "5" else PORTION_311
        self._portions: Final = Portions(most, usual, ENOUGH_BYTES)
        self._was_enough = True
        twice = any(each.qos == 2 for each in settings.subscriptions)
        self._coalesce_seconds: Final = SLICE_SECONDS if twice else settings.coalesce_seconds
        self._flows = False
        self._read_at = -float("inf")

    def receive(self, timeout: float) -> Sequence[Message]:
        """Return what came within ``timeout`` seconds, at most a few thousand messages.

        What comes is let wait for more, a little beyond the time out; with 0 nothing is waited for.
        Raises SourceRefusedError where trying again would not help.
        """
        deadline = self._monotonic() + timeout
        while True:
            self._keep_up()
            if self._refused is not None:
                raise self._refused
            wait = max(0.0, deadline - self._monotonic())
            if not self._open:
                pause = min(wait, max(0.0, self._next_attempt - self._monotonic()))
                time.sleep(min(pause, 0.25))
            else:
                self._listen(wait, is_patient=timeout > 0.0)
                if self._client.arrived:
                    return self._take()
            if self._monotonic() >= deadline:
                return []

    def acknowledge(self, messages: Sequence[Message]) -> int:
        """Tell the broker that ``messages`` are durable; those of a former connection are not."""
        sent = self._client.acknowledge(messages)
        self.stale_acknowledgements += owed(messages) - sent
        return sent

    # -- reading ----------------------------------------------------------------------------

    def _listen(self, seconds: float, *, is_patient: bool) -> None:
        """Wait for something to come and then a little for more; read all there is.

        While messages keep coming the first one is not waited for: that would be a wake-up more. A
        broker that sends little at a time is read every few milliseconds at most.
        """
        if not self._flows and not self._wait_for(1, seconds):
            return
        if self.connected:
            if is_patient:
                self._let_gather()
            else:
                self._was_enough = True  # nothing is waited for, so nothing in vain
            _acknowledge_at_once(self._client.socket())
        if self._open:
            code = self._client.read(MESSAGES_MAX)
            if code != MQTTErrorCode.MQTT_ERR_SUCCESS and self._open:
                self._lost(paho.error_string(code))
        self._flows = self.connected and bool(self._client.arrived)

    def _let_gather(self) -> None:
        """Wait a little for enough to be read at once."""
        portions = self._portions
        if portions.again_bytes and self._wait_for(portions.again_bytes, SLICE_SECONDS):
            portions.came_again()
        self._was_enough = self._wait_for(portions.enough_bytes, self._coalesce_seconds)
        if (pause := self._read_at + SLICE_SECONDS - self._monotonic()) > 0.0:
            time.sleep(pause)
        self._read_at = self._monotonic()

    def _wait_for(self, count: int, seconds: float) -> bool:
        """Wait until so many bytes, or the end of the connection, can be read; False if not yet."""
        socket = self._client.socket()
        if socket is None:
            self._lost("the connection is closed")
            return False
        if isinstance(socket, TlsSocket) and socket.pending():
            return True
        if isinstance(socket, Socket):
            socket.setsockopt(tcp.SOL_SOCKET, tcp.SO_RCVLOWAT, count)
        writing = [socket] if self._client.want_write() else []
        readable, _, _ = select.select([socket], writing, [], seconds)
        return bool(readable)

    def _take(self) -> Arrivals:
        messages = self._client.take()
        names, count = messages.names, min(len(messages), 16)
        size = sum(len(names[number]) for number in messages.numbers[:count])
        size += sum(map(len, messages.payloads.part(range(count))))
        self._portions.took(
            len(messages), size / count + MESSAGE_BYTES, was_enough=self._was_enough
        )
        if names is not self._names:
            self._names, self._came_by = names, {}
        numbers, known, now = set(messages.numbers), self._came_by, self._wall()
        for number in numbers.difference(known):
            known[number] = self._filters_of(names[number])
        came_by = set(map(known.__getitem__, numbers))
        for at, filters in enumerate(self._filters):
            if at in came_by:
                self.last_message.update(dict.fromkeys(filters, now))
        return messages

    def _filters_of(self, topic: str) -> int:
        """Return the number of the filters that a topic came by."""
        wanted = (each.filter for each in self._settings.subscriptions)
        filters = tuple(each for each in wanted if paho.topic_matches_sub(each, topic))
        return self._filters.setdefault(filters, len(self._filters))


def _acknowledge_at_once(socket: object) -> None:
    """Let TCP acknowledge what came without delay: a broker may hold small packets back for it."""
    if isinstance(socket, Socket) and hasattr(tcp, "TCP_QUICKACK"):
        socket.setsockopt(tcp.IPPROTO_TCP, tcp.TCP_QUICKACK, 1)
