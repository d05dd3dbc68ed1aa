"""The daemon's source on the model broker: the real splitting and acknowledging, no socket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from monitor.mqtt.inbox import inbox_of
from monitor.mqtt.packets import Version
from monitor.mqtt.receiver import Receiver

from .broker import Broker

_PUBLISHES_A_READ: Final = 5
_PAYLOAD_BYTES_MAX: Final = 65_536


class ModelSource:
    """Stands where :class:`monitor.mqtt.source.MqttSource` stands; ``between`` runs before a read.

    A connection that is cut is there again at once, so that acknowledgements can come too late.
    """

    connected = True
    status = "simulated"

    def __init__(
        self, broker: Broker, between: Callable[[], None], *, keeps_names: bool = False
    ) -> None:
        self._keeps_names: Final = keeps_names
        self.confirmed = self._number = 0
        self.last_message: Final[dict[str, float]] = {}
        self.receiver: Final = Receiver(Version.V5, _PAYLOAD_BYTES_MAX)
        self._broker: Final = broker
        self._between: Final = between
        self.reconnect()

    def reconnect(self, *, restart: bool = False) -> None:
        """Lose the connection and have another one, perhaps since the broker restarts."""
        self.receiver.begin_connection()
        if restart:
            self._broker.restart(keeps_names=self._keeps_names)
        else:
            self._broker.begin_connection()

    def receive(self, timeout: float) -> Sequence[Any]:
        self._between()
        assert self.receiver.feed(self._broker.send(_PUBLISHES_A_READ)) == []
        if self._broker.is_silent:
            self.confirmed = self._number
        return self.receiver.take()

    def acknowledge(self, messages: Sequence[Any]) -> int:
        sent, packets = inbox_of(messages, self.receiver.generation).acknowledgements()
        self._broker.hear(packets)
        return sent

    def confirm(self, number: int) -> None:
        self._number = number

    def close(self) -> None:
        """Nothing to close."""
