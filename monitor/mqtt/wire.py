"""A connection to a broker that never blocks once it is made: bytes as they come, TLS or not.

To wake up costs more than to wait: the system wakes this process once enough has come
(SO_RCVLOWAT) or the time is over, not for each message. What is written waits until
:meth:`Wire.flush`, so that many small packets leave in one write.
"""

from __future__ import annotations

import select
import socket
import ssl
from contextlib import suppress
from typing import Final, Self

from monitor.mqtt.tls import Encryption
from monitor.mqtt.websocket import RIGHT_PORT, WebSocket, WebSocketError

READ_BYTES: Final = 262_144
NO_TLS: Final = (
    "TLS is not spoken there; check mqtt.port, which for TLS is mostly 8883, or leave mqtt.tls out"
)
_PLAIN_ANSWERS: Final = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
NO_ANSWER: Final = (
    "the broker ends the connection before it answers; check mqtt.port, and mqtt.tls: whether it "
    "wants an encrypted connection, and a certificate of this client (cert_file); a port for "
    "WebSocket wants mqtt.websocket_path"
)


class EndedError(Exception):
    """The peer has ended the connection; no fault of the network."""


class Wire:
    """State: the socket, what the peer has to get, and whether more may have come."""

    def __init__(
        self,
        connected: socket.socket,
        encryption: Encryption | None = None,
        frames: WebSocket | None = None,
    ) -> None:
        connected.settimeout(0.0)
        self._socket: Final = connected
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
        """Connect, and agree on TLS if there is a context and on WebSocket if there is a path.

        It waits at most ``seconds`` each time.
        Raises OSError, of which ssl.SSLError is one, and ValueError where ``host`` is no name.
        """
        connected = socket.create_connection((host, port), timeout=seconds)
        try:
            # Packets are gathered before they are written: holding back small ones only delays.
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            encryption = None
            if context is not None:
                encryption = _agreed(connected, Encryption(context, host))
            frames = None
            if websocket_path is not None:
                named = f"[{host}]" if ":" in host else host
                frames = WebSocket(f"{named}:{port}", websocket_path)
                _upgraded(connected, encryption, frames)
            return cls(connected, encryption, frames)
        except BaseException:
            connected.close()
            raise

    @property
    def has_unsent(self) -> bool:
        """Whether something waits for the system to take it."""
        return bool(
            self._unsent or self._written or (self._frames is not None and self._frames.has_to_send)
        )

    def not_after(self) -> float | None:
        """Return when the peer's certificate ends, None without TLS."""
        return self._encryption.not_after() if self._encryption is not None else None

    def wait(self, count: int, seconds: float) -> bool:
        """Wait until ``count`` bytes, or the end of the connection, can be read; False if not yet.

        Returns early where something waits to be sent and can be.
        """
        if self._has_ended:
            return True
        if count != self._low_water:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
            self._low_water = count
        writing = [self._socket] if self.has_unsent else []
        readable, _, _ = select.select([self._socket], writing, [], seconds)
        return bool(readable)

    def receive(self) -> bytes:
        """Return what has come, ``b""`` if nothing has; raises EndedError or OSError at the end."""
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
        """Let TCP acknowledge without delay: a broker may hold small packets back for it."""
        if hasattr(socket, "TCP_QUICKACK"):
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def write(self, data: bytes) -> None:
        """Have something sent with the next :meth:`flush`."""
        self._written += data

    def flush(self) -> None:
        """Hand over to the system what waits, as far as it takes it.

        A connection that is lost is not noticed here but when it is read. The system tells of a
        reset once, to whoever asks first: it is kept until then. BrokenPipeError is none, the peer
        had hung up before.
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
        """Hang up."""
        self._socket.close()


def _agreed(connected: socket.socket, encryption: Encryption) -> Encryption:
    """Return the encryption once both sides have agreed on it; raises OSError where they do not."""
    try:
        is_done = encryption.agrees()
        while not is_done:
            connected.sendall(encryption.to_send())
            data = connected.recv(READ_BYTES)
            if not data:
                raise ConnectionResetError("the peer hung up while TLS was agreed on")
            is_done = encryption.agrees(data)
    except OSError as error:
        if speaks_no_tls(error):
            raise ConnectionResetError(NO_TLS) from error
        raise
    finally:
        with suppress(OSError):
            connected.sendall(encryption.to_send())  # if this side refuses, the other is told why
    return encryption


def _upgraded(connected: socket.socket, encryption: Encryption | None, frames: WebSocket) -> None:
    """Agree on WebSocket; raises OSError where the peer does not."""
    is_done = False
    while not is_done:
        request = frames.to_send()
        if encryption is None:
            connected.sendall(request)
        else:
            if request:
                encryption.encrypt(request)
            connected.sendall(encryption.to_send())
        try:
            data = connected.recv(READ_BYTES)
        except OSError as error:
            what = error.strerror or error
            raise WebSocketError(f"no answer to a WebSocket: {what}; {RIGHT_PORT}") from error
        if not data:
            raise WebSocketError(f"the peer hung up at a WebSocket; {RIGHT_PORT}")
        if encryption is not None:
            data = encryption.decrypt(data)
        is_done = bool(data) and frames.agrees(data)


def speaks_no_tls(error: Exception) -> bool:
    """Whether a peer took the beginning of TLS for something else: it hung up, or answered plainly.

    A broker that speaks it and refuses says so in an alert.
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
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
