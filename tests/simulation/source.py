"""The daemon's source on the model broker: the real splitting and acknowledging, no socket."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion

from monitor.mqtt.paho_batch import BatchClient

from .broker import Broker

_PUBLISHES_A_READ: Final = 5


class _Client(BatchClient):
    """The real client; bytes come from a model broker and go to it."""

    def __init__(self, broker: Broker) -> None:
        super().__init__(
            callback_api_version=CallbackAPIVersion.VERSION2,
            client_id="simulated",
            protocol=MQTTProtocolVersion.MQTTv5,
            manual_ack=True,
        )
        self._broker: Final = broker
        self._read_once = False

    def _sock_recv(self, size: int) -> bytes:
        """Return what one read of the socket returns, then say that there is no more."""
        self._read_once = not self._read_once
        data = self._broker.send(_PUBLISHES_A_READ) if self._read_once else b""
        if not data:
            self._read_once = False
            raise BlockingIOError
        return data

    def _packet_queue(self, command: int, packet: bytes, mid: int, qos: int) -> MQTTErrorCode:
        self._broker.hear(packet)
        return MQTTErrorCode.MQTT_ERR_SUCCESS


class ModelSource:
    """Stands where :class:`monitor.mqtt.source.MqttSource` stands; ``between`` runs before a read.

    A connection that is cut is there again at once, so that acknowledgements can come too late.
    """

    connected = True
    status = "simulated"

    def __init__(self, broker: Broker, between: Callable[[], None]) -> None:
        self._client: Final = _Client(broker)
        self._broker: Final = broker
        self._between: Final = between
        self.reconnect()

    def reconnect(self, *, restart: bool = False) -> None:
        """Lose the connection and have another one, perhaps since the broker restarts."""
        self._client.begin_generation()
        if restart:
            self._broker.restart()
        else:
            self._broker.begin_connection()

    def receive(self, timeout: float) -> Sequence[Any]:
        self._between()
        assert self._client.read(4096) == MQTTErrorCode.MQTT_ERR_SUCCESS
        return self._client.take()

    def acknowledge(self, messages: Sequence[Any]) -> int:
        return self._client.acknowledge(messages)

    def close(self) -> None:
        """Nothing to close."""
