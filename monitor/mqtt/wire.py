"""A connection to a broker that never blocks once it is made: plain bytes, with or without TLS.

Waking up costs more than waiting: the system wakes this process once enough bytes have arrived
(SO_RCVLOWAT) or the time is over, not for each message. Written bytes wait until
:meth:`Wire.flush`, so that many small packets leave in one write.
"""

from __future__ import annotations

import select
import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

from monitor.mqtt.dialling import Dialled
from monitor.mqtt.tls import Encryption

if TYPE_CHECKING:
    from monitor.mqtt.websocket import WebSocket

READ_BYTES: Final = 262_144
NO_TLS: Final = (
    "the broker does not speak TLS there; check mqtt.port, which is usually 8883 for TLS, or leave "
    "mqtt.tls out"
)
_TLS_VERSION: Final = (
    "the broker's TLS is older than 1.2, which is not safe; let it offer 1.2 or 1.3 (mosquitto: "
    "tls_version)"
)
_TLS_CIPHERS: Final = (
    "the broker and this daemon have no cipher in common: it may offer only ones that do not "
    "encrypt or are not safe any more (mosquitto: ciphers)"
)
# What OpenSSL calls it: by the peer's alert, or found here.
_IN_WORDS: Final = {
    **dict.fromkeys(("TLSV1_ALERT_PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL"), _TLS_VERSION),
    **dict.fromkeys(("SSLV3_ALERT_HANDSHAKE_FAILURE", "WRONG_CIPHER_RETURNED"), _TLS_CIPHERS),
}
_PLAIN_ANSWERS: Final = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
CHECK_PORT: Final = (
    "check mqtt.port, and mqtt.tls: whether it wants an encrypted connection, and a certificate of "
    "this client (cert_file); a port for WebSocket needs mqtt.websocket_path"
)
NO_ANSWER: Final = f"the broker ended the connection before it answered; {CHECK_PORT}"


class EndedError(Exception):
    """The peer has ended the connection; the network is not at fault."""


class Wire:
    """State: the socket, the bytes to send, and whether more may have come."""

    def __init__(
        self,
        connected: socket.socket,
        encryption: Encryption | None = None,
        frames: WebSocket | None = None,
    ) -> None:
        connected.settimeout(0.0)
        self._socket: Final = connected
        self._poll: Final = select.poll()  # select() takes no descriptor beyond 1023
        self._encryption: Final = encryption
        self._frames: Final = frames
        self._written = bytearray()
        self._unsent = b""
        self._has_ended = False
        self._reset: ConnectionResetError | None = None
        self._low_water = 1
        self.is_drained = True
        """Whether the last :meth:`receive` took all there was."""

    @classmethod
    def connect(
        cls,
        host: str,
        port: int,
        seconds: float,
        context: ssl.SSLContext | None = None,
        websocket_path: str | None = None,
    ) -> Self:
        """Connect; with a context agree on TLS, with a path on WebSocket.

        All of it takes at most ``seconds``. Raises OSError (ssl.SSLError is one), and ValueError
        where ``host`` is not a host name.
        """
        dialled = Dialled.to(host, port, seconds)
        connected = dialled.socket
        try:
            # Packets are already gathered before they are written: Nagle's algorithm would only
            # delay them.
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            encryption = None
            if context is not None:
                encryption = _agreed(dialled, Encryption(context, host))
            frames = None
            if websocket_path is not None:
                from monitor.mqtt.websocket import WebSocket  # noqa: PLC0415 - few want it

                named = f"[{host}]" if ":" in host else host
                frames = WebSocket(f"{named}:{port}", websocket_path)
                _upgraded(dialled, encryption, frames)
            return cls(connected, encryption, frames)
        except BaseException:
            connected.close()
            raise

    @property
    def has_unsent(self) -> bool:
        """Whether written bytes wait for the system to take them."""
        return bool(
            self._unsent or self._written or (self._frames is not None and self._frames.has_to_send)
        )

    def not_after(self) -> float | None:
        """Return when the peer's certificate expires, None without TLS."""
        return self._encryption.not_after() if self._encryption is not None else None

    def wait(self, count: int, seconds: float) -> bool:
        """Wait until ``count`` bytes, or the end of the connection, can be read; False if not yet.

        Returns early if unsent bytes can be sent.
        """
        if self._has_ended:
            return True
        if count != self._low_water:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            self._low_water = count
        wanted = select.POLLIN | (select.POLLOUT if self.has_unsent else 0)
        self._poll.register(self._socket, wanted)
        return any(found & ~select.POLLOUT for _, found in self._poll.poll(1000.0 * seconds))

    def receive(self) -> bytes:
        """Return what has come, ``b""`` if nothing; raises EndedError or OSError at the end."""
        if self._has_ended:
            raise self._reset or EndedError
        try:
            data = self._socket.recv(READ_BYTES)
        except BlockingIOError:
            self.is_drained = True
            return b""
        self.is_drained = len(data) < READ_BYTES
        if self._encryption is not None:
            data = self._encryption.decrypt(data)
            self._has_ended = self._encryption.has_ended
        else:
            self._has_ended = not data
        if self._frames is not None:
            data = self._frames.unwrap(data) if data or self._has_ended else b""
            self._has_ended |= self._frames.has_ended
        if self._has_ended and not data:
            raise self._reset or EndedError
        return data

    def acknowledge_at_once(self) -> None:
        """Let TCP acknowledge at once: a broker may hold back small packets until then."""
        if hasattr(socket, "TCP_QUICKACK"):
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def write(self, data: bytes) -> None:
        """Queue ``data`` for the next :meth:`flush`."""
        self._written += data

    def flush(self) -> None:
        """Hand the waiting bytes to the system, as far as it takes them.

        A lost connection is noticed not here but at the next read. The system reports a reset only
        once, to the first call: the error is kept until that read. BrokenPipeError is not such a
        report: the peer had closed the connection before.
        """
        try:
            written = bytes(self._written)
            self._written.clear()
            if self._frames is not None:
                if written:
                    self._frames.wrap(written)
                written = self._frames.to_send()
            if self._encryption is None:
                self._unsent += written
            else:
                if written:
                    self._encryption.encrypt(written)
                self._unsent += self._encryption.to_send()
            while self._unsent:
                sent = self._socket.send(self._unsent)
                self._unsent = self._unsent[sent:]
        except ConnectionResetError as error:
            self._reset = error
        except OSError:
            pass

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def _agreed(dialled: Dialled, encryption: Encryption) -> Encryption:
    """Return the encryption once both sides have agreed on it; raises OSError if they do not."""
    try:
        is_done = encryption.agrees()
        while not is_done:
            dialled.send(encryption.to_send())
            data = dialled.receive()
            if not data:
                raise ConnectionResetError("the peer hung up during the TLS handshake")
            is_done = encryption.agrees(data)
    except OSError as error:
        if speaks_no_tls(error):
            raise ConnectionResetError(NO_TLS) from error
        raise
    finally:
        with suppress(OSError):
            dialled.send(encryption.to_send())  # if this side refuses, the peer learns why
    return encryption


def _upgraded(dialled: Dialled, encryption: Encryption | None, frames: WebSocket) -> None:
    """Agree on WebSocket; raises OSError where the peer does not."""
    is_done = False
    while not is_done:
        request = frames.to_send()
        if encryption is None:
            dialled.send(request)
        else:
            if request:
                encryption.encrypt(request)
            dialled.send(encryption.to_send())
        try:
            data = dialled.receive()
        except OSError as error:
            reason = error.strerror or error
            raise frames.no_answer(f"no answer to a WebSocket: {reason}") from error
        if not data:
            raise frames.no_answer("the peer hung up on a WebSocket")
        if encryption is not None:
            data = encryption.decrypt(data)
        is_done = bool(data) and frames.agrees(data)


def speaks_no_tls(error: Exception) -> bool:
    """Whether a peer does not speak TLS: it closed the connection, or answered in plain text.

    A broker that speaks TLS and refuses sends an alert.
    """
    if isinstance(error, ssl.SSLEOFError):
        return True
    if isinstance(error, ssl.SSLError):
        return error.reason in _PLAIN_ANSWERS
    return isinstance(error, ConnectionResetError | ConnectionAbortedError | BrokenPipeError)


def plain_reason(error: Exception) -> str:
    """Return why a connection failed, in words for a status line."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the broker's certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason in _IN_WORDS:
        return f"{_IN_WORDS[error.reason]} ({error.reason})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
