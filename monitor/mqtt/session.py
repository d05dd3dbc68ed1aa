"""A persistent session with a broker: connect, subscribe, stay connected, come back.

Rules of this file: one thread; no callback parses, blocks or raises; network trouble is a state,
not an exception.
"""

from __future__ import annotations

import logging
import random
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from monitor.errors import BAD_SETTINGS, CONNECTION, UNAVAILABLE
from monitor.mqtt.connection import MqttSettings, SourceRefusedError, tls_context
from monitor.mqtt.paho_batch import BatchClient
from monitor.mqtt.tls import TlsSocket

_log: Final = logging.getLogger("monitor.mqtt")

CONNACK_SECONDS: Final = 15.0
SUBACK_SECONDS: Final = 10.0
BACKOFF_FIRST_SECONDS: Final = 0.2
BACKOFF_CAP_SECONDS: Final = 30.0
COMPLAIN_EVERY_SECONDS: Final = 60.0
TAKEOVERS_SAID_MAX: Final = 3
TAKEOVERS_MAX: Final = 10
TAKEOVER_WINDOW_SECONDS: Final = 60.0
TAKEOVER_SOON_SECONDS: Final = 10.0
_TAKEN_OVER: Final = 0x8E
_UNSPECIFIED: Final = 0x80  # also what paho says of a connection that ended without a word
_NO_ANSWER: Final = (
    "the broker ends the connection before it answers; check mqtt.port, and mqtt.tls: whether it "
    "wants an encrypted connection, and a certificate of this client (cert_file)"
)


class Session:
    """A persistent session with a broker; :meth:`_keep_up` keeps it alive."""

    def __init__(
        self,
        settings: MqttSettings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        chance: random.Random | None = None,
    ) -> None:
        self._settings: Final = settings
        self._monotonic: Final = monotonic
        self._chance: Final = chance or random.Random()  # noqa: S311 - jitter, no secret
        self.connected = False
        self.status = f"not yet connected to {settings.host}:{settings.port}"
        self.sessions_lost = 0
        self.reconnects = 0
        self.tls_not_after: float | None = None
        self._ever_connected = False
        self._ever_subscribed = False
        self._attempt = 0
        self._next_attempt = -float("inf")
        self._deadline = float("inf")
        self._complained = -float("inf")
        self._up_since = -float("inf")
        self._takeovers: deque[float] = deque(maxlen=TAKEOVERS_MAX)
        self._left: list[str] = []
        self._open = False
        self._answered = False
        self._refused: SourceRefusedError | None = None
        self._client: Final = self._make_client()

    def leave(self, filters: Sequence[str]) -> None:
        """End subscriptions of former times at every connection from now on."""
        self._left = list(filters)

    def close(self) -> None:
        """Say good-bye to the broker; what was not acknowledged comes again next time."""
        if self._open:
            self._open = self.connected = False
            self._client.disconnect()
            until = self._monotonic() + 1.0
            while self._client.want_write() and self._monotonic() < until:
                self._client.loop_write()
                time.sleep(0.01)
            if self._client.socket() is not None:
                self._client._sock_close()  # noqa: SLF001 - paho has no public way to hang up
            self.status = "closed"

    # -- connecting -------------------------------------------------------------------------

    def _make_client(self) -> BatchClient:
        settings = self._settings
        newest = settings.protocol == "5"
        client = BatchClient(
            callback_api_version=CallbackAPIVersion.VERSION2,
            client_id=settings.client_id,
            protocol=MQTTProtocolVersion.MQTTv5 if newest else MQTTProtocolVersion.MQTTv311,
            clean_session=None if newest else False,
            manual_ack=True,
            reconnect_on_failure=False,
        )
        client.connect_timeout = settings.connect_timeout_seconds
        if settings.username is not None:
            client.username_pw_set(settings.username, settings.password)
        if settings.tls is not None:
            client.tls_set_context(tls_context(settings.tls))
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_disconnect = self._on_disconnect
        return client

    def _keep_up(self) -> None:
        """Connect if it is time to, end what takes too long, keep a quiet connection alive."""
        now = self._monotonic()
        if not self._open:
            if now >= self._next_attempt:
                self._connect()
            return
        if now > self._deadline:
            self._drop("the broker does not answer")
            return
        self._client.loop_misc()
        if self._open and self._client.want_write():
            self._client.loop_write()

    def _connect(self) -> None:
        settings = self._settings
        self._client.begin_generation()
        options: dict[str, Any] = {}
        if settings.protocol == "5":
            options = {"clean_start": False, "properties": self._connect_properties()}
        try:
            self._client.connect(
                settings.host, settings.port, keepalive=settings.keepalive_seconds, **options
            )
        except (OSError, ValueError) as error:
            self._retry_later(_plain(error))
            return
        self._open = True
        self._answered = False
        self._deadline = self._monotonic() + CONNACK_SECONDS
        self._note_certificate()

    def _connect_properties(self) -> Properties:
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        properties.SessionExpiryInterval = self._settings.session_expiry_seconds
        properties.ReceiveMaximum = self._settings.receive_maximum
        properties.MaximumPacketSize = self._settings.max_packet_bytes
        return properties

    def _note_certificate(self) -> None:
        socket = self._client.socket()
        if isinstance(socket, TlsSocket):
            stated = socket.getpeercert() or {}
            if isinstance(not_after := stated.get("notAfter"), str):
                self.tls_not_after = float(ssl.cert_time_to_seconds(not_after))

    def _retry_later(self, reason: str) -> None:
        """Plan the next attempt with full jitter, and say why, once a minute."""
        span = min(BACKOFF_CAP_SECONDS, BACKOFF_FIRST_SECONDS * 2.0 ** min(self._attempt, 20))
        self._attempt += 1
        now = self._monotonic()
        self._next_attempt = now + self._chance.uniform(0.0, span)
        self.status = f"no connection to {self._settings.host}:{self._settings.port}: {reason}"
        if now - self._complained >= COMPLAIN_EVERY_SECONDS:
            self._complained = now
            _log.warning("%s; trying again; see %s", self.status, CONNECTION)

    def _drop(self, reason: str) -> None:
        """End this connection and plan the next; nothing of it is acknowledged any more."""
        self._client.begin_generation()
        was_connected = self.connected
        self._open = self.connected = False
        self._deadline = float("inf")
        if self._client.socket() is not None:
            self._client._sock_close()  # noqa: SLF001 - paho has no public way to hang up
        if was_connected:
            _log.warning("connection lost: %s", reason)
        self._retry_later(reason)

    def _lost(self, reason: str) -> None:
        """Plan the next connection, the broker having ended this one."""
        self._drop(reason if self._answered else _NO_ANSWER)

    # -- paho's callbacks: they note and return ----------------------------------------------

    def _on_connect(
        self,
        _client: paho.Client,
        _data: object,
        flags: Any,
        code: Any,
        _more: object,
    ) -> None:
        self._answered = True
        if code.is_failure:
            self._drop(f"the broker refuses: {code}; check user, password and client_id")
            return
        if self._ever_connected:
            self.reconnects += 1
            if not flags.session_present:
                self.sessions_lost += 1
                _log.error("the broker lost this client's session; messages may be missing")
        self._ever_connected = True
        self._deadline = self._monotonic() + SUBACK_SECONDS
        self._subscribe()

    def _subscribe(self) -> None:
        wanted = self._settings.subscriptions
        if self._settings.protocol == "5":
            once = SubscribeOptions.RETAIN_SEND_IF_NEW_SUB
            asked: list[Any] = [
                (each.filter, SubscribeOptions(qos=each.qos, retainHandling=once))
                for each in wanted
            ]
        else:
            asked = [(each.filter, each.qos) for each in wanted]
        self._client.subscribe(asked)
        if self._left:
            self._client.unsubscribe(self._left)

    def _on_subscribe(
        self,
        _client: paho.Client,
        _data: object,
        _mid: int,
        codes: Any,
        _more: object,
    ) -> None:
        for wanted, code in zip(self._settings.subscriptions, codes, strict=False):
            if code.is_failure or code.value < wanted.qos:
                said = code if code.is_failure else f"granted QoS {code.value} only"
                sentence = (
                    f"the broker does not let this client subscribe to {wanted.filter} with QoS "
                    f"{wanted.qos}: {said}; check the broker's access list and limits"
                )
                if not self._ever_subscribed:
                    self._refused = SourceRefusedError(BAD_SETTINGS, sentence)
                self._drop(sentence)
                return
        if self._attempt > 1:
            self._takeovers.clear()  # it was away for a while: no other client's doing
        self._ever_subscribed = self.connected = True
        self._up_since = self._monotonic()
        self._deadline = float("inf")
        self._attempt = 0
        self._complained = -float("inf")
        self.status = f"connected to {self._settings.host}:{self._settings.port}"
        _log.info("%s, %d subscriptions", self.status, len(self._settings.subscriptions))

    def _on_disconnect(
        self,
        _client: paho.Client,
        _data: object,
        _flags: object,
        code: Any,
        _more: object,
    ) -> None:
        if not self._open:
            return
        number = getattr(code, "value", 0)
        self._suspect_takeover(said=number == _TAKEN_OVER)
        self._lost("the broker hung up" if number == _UNSPECIFIED else str(code))

    def _suspect_takeover(self, *, said: bool) -> None:
        """Count a connection that another client of the same name took over.

        Not every broker says so. Where it does not, a connection counts that the broker ends soon
        though it takes us back at once; a broker that restarts looks alike, so it takes more of
        them. What a network resets does not count.
        """
        now = self._monotonic()
        soon = self.connected and now - self._up_since <= TAKEOVER_SOON_SECONDS
        if not said and not (soon and self._client.was_ended):
            return
        self._takeovers.append(now)
        enough = TAKEOVERS_SAID_MAX if said else TAKEOVERS_MAX
        often = len(self._takeovers) >= enough
        if often and now - self._takeovers[-enough] <= TAKEOVER_WINDOW_SECONDS:
            self._refused = SourceRefusedError(
                UNAVAILABLE,
                f"another client uses the client id {self._settings.client_id!r}: they take "
                "the session from each other; stop it, or set another mqtt.client_id",
            )


def _plain(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the broker's certificate is not trusted: {error.verify_message}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
