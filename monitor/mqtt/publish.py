"""Publishing to a broker at QoS 1, with a bound on the messages in flight.

Rules of this file: one thread, no background loop; the connection is served while ``publish``,
``sleep`` or ``flush`` runs. A message counts once the broker has acknowledged it. A user that keeps
its connection may leave a last will with the broker and receive messages on some topics.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Literal, NamedTuple, Self

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.reasoncodes import ReasonCode

from monitor.errors import CONNECTION, UNAVAILABLE, MonitorError
from monitor.mqtt.wire import NO_ANSWER, NO_TLS, speaks_no_tls

Protocol = Literal["5", "3.1.1"]

_PROTOCOLS: Final = {"5": mqtt.MQTTv5, "3.1.1": mqtt.MQTTv311}
_STEP_SECONDS: Final = 0.1


class PublishError(MonitorError):
    """The broker cannot be reached, refuses, or has gone; the message says what to do."""

    exit_code = UNAVAILABLE


class Retained(NamedTuple):
    """A message that the broker keeps (retained); an empty payload makes it forget the topic."""

    topic: str
    payload: bytes


class BrokerPublisher:
    """Publishes to one broker; at most ``window`` messages wait for their acknowledgement.

    Use it as a context: it connects on entry, and waits for all acknowledgements on a good exit.
    The broker publishes ``will``, retained, if the connection ends without a goodbye or is silent
    for one and a half times ``keepalive_seconds``.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        protocol: Protocol = "3.1.1",
        client_id: str = "",
        username: str | None = None,
        password: str | None = None,
        tls: ssl.SSLContext | None = None,
        window: int = 500,
        timeout_seconds: float = 15.0,
        keepalive_seconds: int = 30,
        will: Retained | None = None,
        websocket_path: str | None = None,
    ) -> None:
        self._address: Final = (host, port)
        self._window: Final = window
        self._timeout_seconds: Final = timeout_seconds
        self._keepalive_seconds: Final = keepalive_seconds
        self._waiting: set[int] = set()
        self._refused: str = ""
        self._connected = False
        self.acknowledged = 0
        client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            protocol=_PROTOCOLS[protocol],
            transport="tcp" if websocket_path is None else "websockets",
            reconnect_on_failure=False,
        )
        if websocket_path is not None:
            client.ws_set_options(path=websocket_path)
        client.max_inflight_messages_set(window)
        client.max_queued_messages_set(window + 1)
        if username is not None:
            client.username_pw_set(username, password)
        self._is_encrypted: Final = tls is not None
        if tls is not None:
            client.tls_set_context(tls)
        if will is not None:
            client.will_set(will.topic, will.payload, qos=1, retain=True)
        client.on_connect = self._on_connect
        client.on_publish = self._on_publish
        self._client: Final = client

    def __enter__(self) -> Self:
        try:
            self.connect()
        except PublishError:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def connect(self) -> None:
        """Connect and wait until the broker agrees; raises PublishError."""
        try:
            self._client.connect(*self._address, keepalive=self._keepalive_seconds)
        except (OSError, ValueError, mqtt.WebsocketConnectionError) as error:
            reason = getattr(error, "strerror", None) or error
            if self._is_encrypted and speaks_no_tls(error):
                raise PublishError(f"{self._where}: {NO_TLS}; see {CONNECTION}") from error
            raise PublishError(
                f"{self._where}: {reason}; is the broker running, and are address and port right? "
                f"See {CONNECTION}"
            ) from error
        self._work_until(lambda: self._connected, "did not answer")

    def subscribe(self, filters: Sequence[str], heard: Callable[[str, bytes], None]) -> None:
        """Receive what arrives on ``filters`` while this connection works: topic and payload.

        ``heard`` may not call this object. Raises PublishError when the broker is gone.
        """
        self._client.on_message = lambda _client, _data, came: heard(
            came.topic, bytes(came.payload)
        )
        code, _ = self._client.subscribe([(each, 1) for each in filters])
        if code != mqtt.MQTT_ERR_SUCCESS:
            raise self._lost(mqtt.error_string(code))

    def unsubscribe(self, filters: Sequence[str]) -> None:
        """Receive nothing more on ``filters``."""
        self._client.unsubscribe([*filters])

    @property
    def on_their_way(self) -> int:
        """Messages that the broker has not acknowledged."""
        return len(self._waiting)

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        """Send one message, first waiting while ``window`` are in flight.

        With ``retain`` the broker keeps the message for later subscribers.

        Raises PublishError when the broker refuses or is gone.
        """
        if len(self._waiting) >= self._window:
            self._work_until(lambda: len(self._waiting) < self._window, "stopped acknowledging")
        sent = self._client.publish(topic, payload, qos=1, retain=retain)
        if sent.rc != mqtt.MQTT_ERR_SUCCESS:
            raise self._lost(mqtt.error_string(sent.rc))
        self._waiting.add(sent.mid)

    def sleep(self, seconds: float) -> None:
        """Wait, and keep the connection alive meanwhile; raises PublishError when it is lost."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            self._work(min(left, _STEP_SECONDS))

    def flush(self) -> None:
        """Wait until the broker has acknowledged every message; raises PublishError."""
        self._work_until(lambda: not self._waiting, "stopped acknowledging")

    def close(self) -> None:
        """Say goodbye to the broker; what it has not acknowledged is given up."""
        self._client.disconnect()
        # The callbacks hold this object, and it holds the client: break the cycle to close its
        # sockets.
        self._client.on_connect = None
        self._client.on_publish = None
        self._client.on_message = None

    @property
    def _where(self) -> str:
        return f"broker {self._address[0]}:{self._address[1]}"

    def _work(self, seconds: float) -> None:
        try:
            code = self._client.loop(seconds)
        except Exception as error:  # paho lets any exception through, such as KeyError
            raise self._lost(f"its answer is not MQTT: {type(error).__name__}") from error
        if self._refused:
            raise PublishError(f"{self._where} refuses: {self._refused}")
        if code != mqtt.MQTT_ERR_SUCCESS and not self._connected:
            raise PublishError(f"{self._where}: {NO_ANSWER}; see {CONNECTION}")
        if code != mqtt.MQTT_ERR_SUCCESS:
            raise self._lost(mqtt.error_string(code))

    def _work_until(self, done: Callable[[], bool], fault: str) -> None:
        progress = self.acknowledged
        until = time.monotonic() + self._timeout_seconds
        while not done():
            self._work(_STEP_SECONDS)
            if self.acknowledged > progress:
                progress = self.acknowledged
                until = time.monotonic() + self._timeout_seconds
            if time.monotonic() > until:
                raise self._lost(f"it {fault} for {self._timeout_seconds:.0f} s")

    def _lost(self, why: str) -> PublishError:
        return PublishError(
            f"{self._where}: connection lost ({why}) after {self.acknowledged} acknowledged "
            f"messages, {len(self._waiting)} were on their way; start again when it is back"
        )

    def _on_connect(
        self, _client: mqtt.Client, _data: object, _flags: object, code: ReasonCode, _more: object
    ) -> None:
        self._connected = not code.is_failure
        if code.is_failure:
            self._refused = f"the connection: {code}; check user, password and protocol"

    def _on_publish(
        self, _client: mqtt.Client, _data: object, mid: int, code: ReasonCode, _more: object
    ) -> None:
        self._waiting.discard(mid)
        if code.is_failure:
            self._refused = f"a message: {code}; may this user publish on these topics?"
        else:
            self.acknowledged += 1
