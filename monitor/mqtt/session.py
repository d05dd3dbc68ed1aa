"""A persistent session with a broker: connect, subscribe, stay connected, reconnect.

Rules of this file: one thread; network trouble is a state, not an exception; whatever ends a
connection goes through :meth:`Session._drop`, after which nothing of it can be acknowledged.

QoS 2 is made safe: a message is handed over when its PUBLISH comes, PUBREC follows only once the
message is durable, and PUBREL is answered at once. A PUBLISH that is repeated until then is removed
by the journal's identity of the observation.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from monitor.errors import BAD_SETTINGS, CONNECTION, UNAVAILABLE
from monitor.mqtt.codec import encode
from monitor.mqtt.confirmations import Confirmations
from monitor.mqtt.connection import (
    MqttSettings,
    SourceRefusedError,
    connect_packet,
    tls_context,
    without_overlaps,
)
from monitor.mqtt.pacing import TAKEOVER_WINDOW_SECONDS, TAKEOVERS_MAX, Backoff, Takeovers
from monitor.mqtt.packets import (
    FAILURE,
    MALFORMED_PACKET,
    SESSION_TAKEN_OVER,
    Connack,
    Control,
    Disconnect,
    Pingreq,
    Pingresp,
    Pubcomp,
    Pubrel,
    Sent,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    Version,
    reason_text,
)
from monitor.mqtt.primitives import MalformedError
from monitor.mqtt.receiver import Receiver
from monitor.mqtt.wire import CHECK_PORT, NO_ANSWER, EndedError, Wire, plain_reason

_log: Final = logging.getLogger("monitor.mqtt")

CONNACK_SECONDS: Final = 15.0
SUBACK_SECONDS: Final = 10.0
COMPLAIN_EVERY_SECONDS: Final = 60.0
TAKEOVER_SOON_SECONDS: Final = 10.0
MESSAGES_MAX: Final = 16_384  # waiting to be taken; beyond that nothing more is read
_BYTES_MAX: Final = 4_194_304  # of one turn of reading
_NEVER: Final = float("inf")
# Of the keepalive, in which the answer to PINGREQ must come: so a connection is made anew within
# one and a half of the last sign of life.
_PONG_SHARE: Final = 0.4
_SUBSCRIBE_ID, _UNSUBSCRIBE_ID = 1, 2


class Session:
    """A persistent session with a broker; :meth:`_keep_up` keeps it alive."""

    def __init__(
        self,
        settings: MqttSettings,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        chance: random.Random | None = None,
    ) -> None:
        self._settings = settings
        self._wanted: Final = without_overlaps(settings.subscriptions)
        self._monotonic: Final = monotonic
        self.connected = False
        self.status = f"not yet connected to {settings.host}:{settings.port}"
        self.sessions_lost = 0
        self.reconnects = 0
        self.full_reads = 0  # that took all they may, so more waits
        self.denied: dict[str, str] = {}  # why, by optional filter
        self.tls_not_after: float | None = None
        self._version: Final = Version.V5 if settings.protocol == "5" else Version.V3_1_1
        self._context: Final = None if settings.tls is None else tls_context(settings.tls)
        self._receiver: Final = Receiver(self._version, settings.max_packet_bytes)
        self._wire: Wire | None = None
        self._backoff: Final = Backoff(chance or random.Random())  # noqa: S311 - jitter, no secret
        self._takeovers: Final = Takeovers()
        self._confirmations: Final = Confirmations()
        self._left: tuple[str, ...] = ()
        self._refused: SourceRefusedError | None = None
        self._ever_connected = self._ever_subscribed = self._is_answered = False
        self._has_session = False  # as far as this client knows
        self._next_attempt = self._complained = self._up_since = -_NEVER
        self._sent_at = self._received_at = -_NEVER
        self._deadline = _NEVER  # for the broker's answer
        self._keepalive = float(settings.keepalive_seconds)

    @property
    def client_id(self) -> str:
        """The client identifier."""
        return self._settings.client_id

    def identify(self, client_id: str) -> None:
        """Connect under this client identifier from now on."""
        self._settings = replace(self._settings, client_id=client_id)

    def expect_session(self) -> None:
        """Count the session as lost if the broker has none at the first connection either."""
        self._has_session = True

    def leave(self, filters: Sequence[str]) -> None:
        """End former subscriptions at every connection from now on."""
        self._left = tuple(filters)

    def close(self) -> None:
        """Disconnect from the broker; unacknowledged messages come again next time."""
        if self._wire is not None:
            self._send(Disconnect())
            until = self._monotonic() + 1.0
            while self._wire.has_unsent and self._monotonic() < until:
                time.sleep(0.01)
                self._wire.flush()
            self._hang_up()
            self.status = "closed"

    # -- connecting -------------------------------------------------------------------------

    def _keep_up(self) -> None:
        """Connect when it is time, end what takes too long, keep a quiet connection alive."""
        now, wire = self._monotonic(), self._wire
        if wire is None:
            if now >= self._next_attempt:
                self._connect()
            return
        wire.flush()
        if now >= self._deadline:
            if not wire.wait(1, 0.0):  # else the answer may be there, unread
                self._drop("the broker does not answer")
        elif self._is_quiet(now) or self._has_to_ask(now):
            self._send(Pingreq())
            self._confirmations.asked(now)
            self._deadline = now + _PONG_SHARE * self._keepalive

    def _is_quiet(self, now: float) -> bool:
        """Whether it is time to ask for a sign of life."""
        last = min(self._sent_at, self._received_at)
        return self.connected and self._deadline == _NEVER and now - last >= self._keepalive

    def _has_to_ask(self, now: float) -> bool:
        """Return whether to ask if the broker has the last acknowledgements."""
        return self.connected and self._deadline == _NEVER and self._confirmations.is_due(now)

    def _connect(self) -> None:
        settings = self._settings
        try:
            opening = encode(connect_packet(settings), self._version)
            self._wire = Wire.connect(
                settings.host,
                settings.port,
                settings.connect_timeout_seconds,
                self._context,
                settings.websocket_path,
            )
        except (OSError, ValueError) as error:
            self._retry_later(plain_reason(error))
            return
        self._is_answered = False
        self._deadline = self._monotonic() + CONNACK_SECONDS
        self.tls_not_after = self._wire.not_after()
        self._write(opening)

    def _retry_later(self, reason: str) -> None:
        """Plan the next attempt, and say why, once a minute."""
        now = self._monotonic()
        self._next_attempt = now + self._backoff.pause_seconds()
        self.status = f"no connection to {self._settings.host}:{self._settings.port}: {reason}"
        if now - self._complained >= COMPLAIN_EVERY_SECONDS:
            self._complained = now
            _log.warning("%s; trying again; see %s", self.status, CONNECTION)

    def _drop(self, reason: str) -> None:
        """End this connection and plan the next; none of it can be acknowledged any more."""
        was_connected = self.connected
        self._hang_up()
        if was_connected:
            _log.warning("connection lost: %s", reason)
        self._retry_later(reason)

    def _lost(self, reason: str) -> None:
        """Plan the next connection after the broker or the network ended this one."""
        self._drop(reason if self._is_answered else NO_ANSWER)

    def _hang_up(self) -> None:
        if self._wire is not None:
            self._wire.close()
        self._wire = None
        self.connected = False
        self._deadline = _NEVER
        self._receiver.begin_connection()
        self._confirmations.disconnected()

    # -- what goes over the wire ------------------------------------------------------------

    def _send(self, packet: Sent) -> None:
        self._write(encode(packet, self._version))

    def _write(self, data: bytes) -> None:
        if self._wire is not None:
            self._wire.write(data)
            self._wire.flush()
            self._sent_at = self._monotonic()

    def _read(self) -> int:
        """Read until nothing more is there, or enough messages wait; return how many bytes came."""
        size, is_enough = 0, False
        while self._wire is not None and size < _BYTES_MAX:
            try:
                data = self._wire.receive()
            except EndedError:
                self._lost(self._ended_by("the broker hung up", is_stated=False))
                break
            except OSError as error:
                self._lost(plain_reason(error))
                break
            if data:
                self._feed(data)
            size += len(data)
            is_enough = len(self._receiver.inbox) >= MESSAGES_MAX
            if not data or is_enough or self._wire is None or self._wire.is_drained:
                break
        self.full_reads += is_enough or size >= _BYTES_MAX
        return size

    def _feed(self, data: bytes) -> None:
        self._received_at = self._monotonic()
        if self.connected:
            self._deadline = _NEVER
        answers: list[bytes] = []
        try:
            for packet in self._receiver.feed(data):
                if isinstance(packet, Pubrel):
                    answers.append(encode(Pubcomp(packet.packet_id), self._version))
                elif self._wire is not None:
                    self._handle(packet)
        except MalformedError as error:
            if self._version == Version.V5:
                self._send(Disconnect(MALFORMED_PACKET))
            hint = "" if self._is_answered else f"; {CHECK_PORT}"
            self._drop(f"what answers there sent something that is not MQTT: {error}{hint}")
        if answers:
            self._write(b"".join(answers))

    def _handle(self, packet: Control) -> None:
        match packet:
            case Connack() if not self._is_answered:
                self._on_connack(packet)
            case Suback(packet_id=packet_id) if packet_id == _SUBSCRIBE_ID:
                self._on_suback(packet)
            case Disconnect():
                reason = reason_text(packet.code, packet.said)
                if packet.code == SESSION_TAKEN_OVER:
                    reason = self._ended_by(reason, is_stated=True)
                self._lost(reason)
            case Pingresp():
                self._confirmations.answered()
            case Unsuback():
                pass
            case _:
                raise MalformedError(f"nothing asked for its {type(packet).__name__.upper()}")

    # -- answers ----------------------------------------------------------------------------

    def _on_connack(self, answer: Connack) -> None:
        self._is_answered = True
        if answer.code >= FAILURE:
            reason = reason_text(answer.code, answer.said)
            self._drop(f"the broker refuses: {reason}; check user, password and client_id")
            return
        if not answer.session_present:
            self._confirmations.session_lost()
        if self._ever_connected:
            self.reconnects += 1
        else:
            self._compare_expiry(answer.session_expiry_seconds)
        if self._has_session and not answer.session_present:
            self.sessions_lost += 1
            _log.error("the broker lost this client's session; messages may be missing")
        self._ever_connected = self._has_session = True
        self._keepalive = float(answer.keepalive_seconds or self._settings.keepalive_seconds)
        self._deadline = self._monotonic() + SUBACK_SECONDS
        filters = tuple((each.filter, each.qos) for each in self._wanted)
        self._send(Subscribe(_SUBSCRIBE_ID, filters))
        if self._left:
            self._send(Unsubscribe(_UNSUBSCRIBE_ID, self._left))

    def _compare_expiry(self, granted: int | None) -> None:
        """Say it if the broker keeps the session for a shorter time than was asked for."""
        asked = self._settings.session_expiry_seconds
        if granted is not None and granted < asked:
            _log.warning(
                "the broker keeps messages for %d s while this client is away, not for the %d s of "
                "mqtt.session_expiry_seconds: raise its limit, or be back sooner",
                granted,
                asked,
            )

    def _on_suback(self, answer: Suback) -> None:
        wanted = self._wanted
        if len(answer.codes) != len(wanted):
            raise MalformedError(f"SUBACK answers {len(answer.codes)} of {len(wanted)} filters")
        self.denied.clear()
        for each, code in zip(wanted, answer.codes, strict=True):
            if code >= FAILURE or code < each.qos:
                is_failure = code >= FAILURE
                why = reason_text(code, answer.said) if is_failure else f"granted QoS {code} only"
                sentence = (
                    f"the broker does not let this client subscribe to {each.filter} with QoS "
                    f"{each.qos}: {why}; check the broker's access list and limits"
                )
                if not each.is_optional:
                    self._refuse(sentence)
                    return
                self.denied[each.filter] = why
                _log.warning("%s, or write by_hand: false", sentence)
        if self._backoff.attempts > 1:
            self._takeovers.clear()  # the broker was away for a while: no other client's doing
        self._ever_subscribed = self.connected = True
        self._up_since = self._monotonic()
        self._confirmations.connected(self._up_since)
        self._deadline = _NEVER
        self._backoff.succeeded()
        self._complained = -_NEVER
        self.status = f"connected to {self._settings.host}:{self._settings.port}"
        granted = len(wanted) - len(self.denied)
        _log.info("%s as %s, %d subscriptions", self.status, self.client_id, granted)

    def _refuse(self, sentence: str) -> None:
        """Drop a connection whose subscription was refused; at the start, give up for good."""
        if not self._ever_subscribed:
            self._refused = SourceRefusedError(BAD_SETTINGS, sentence)
        self._drop(sentence)

    def _ended_by(self, reason: str, *, is_stated: bool) -> str:
        """Count the end of a connection if another client may have taken over the session.

        A reset by the network does not count. Returns ``reason`` with the name of that client: MQTT
        5 says it (reason 0x8E); with 3.1.1 it is a guess from the second short-lived connection on.
        """
        now = self._monotonic()
        is_soon = self.connected and now - self._up_since <= TAKEOVER_SOON_SECONDS
        if not is_stated and not is_soon:
            return reason
        name = repr(self._settings.client_id)
        if self._takeovers.record(now, is_stated=is_stated):
            doubt = (
                ""
                if is_stated
                else f" (the broker does not say so, but hung up {TAKEOVERS_MAX} times within "
                f"{TAKEOVER_WINDOW_SECONDS:.0f} s, soon after it let this client in; if no other "
                "client does, look at the broker's log)"
            )
            self._refused = SourceRefusedError(
                UNAVAILABLE,
                f"another client uses the client id {name}: they take the session from each "
                f"other; stop it, or set another mqtt.client_id{doubt}",
            )
        if is_stated:
            return f"another client with the client id {name} took the session over ({reason})"
        if self._takeovers.are_several(now):
            return (
                f"{reason} again, soon after connecting; does another client use the client id "
                f"{name}?"
            )
        return reason
