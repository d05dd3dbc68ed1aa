"""WebSocket without I/O: MQTT's bytes in binary frames, for brokers behind a web server.

MQTT 5 section 6 (RFC 6455): the subprotocol is "mqtt", messages are binary, and packets of MQTT are
not aligned with frames, so frames only carry bytes. wsproto reads and writes them and keeps nothing
of a frame that it has handed on, however long the frame says it is.
"""

from __future__ import annotations

from typing import Final

from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Message,
    Ping,
    RejectConnection,
    RejectData,
    Request,
)
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

SUBPROTOCOL: Final = "mqtt"
_RIGHT_PORT: Final = "is mqtt.websocket_path right, and is this the broker's port for WebSocket?"


class WebSocketError(ConnectionError):
    """The peer does not speak WebSocket, or not MQTT at this path; the message says why."""


class WebSocket:
    """The client's side of one connection; ``host`` is the host of the request, with its port."""

    def __init__(self, host: str, path: str) -> None:
        self._connection: Final = WSConnection(ConnectionType.CLIENT)
        self._path: Final = path
        request = Request(host=host, target=path, subprotocols=[SUBPROTOCOL])
        self._out = bytearray(self._connection.send(request))
        self._is_agreed = False
        self.has_ended = False
        """Whether the peer has closed the connection."""

    @property
    def has_to_send(self) -> bool:
        """Whether there is something to send to the peer."""
        return bool(self._out)

    def agrees(self, data: bytes) -> bool:
        """Take ``data`` of the answer to the request; return whether the peer agreed.

        Raises WebSocketError if the peer refuses.
        """
        self.unwrap(data)
        if self.has_ended and not self._is_agreed:
            raise WebSocketError("the peer hung up during the WebSocket handshake")
        return self._is_agreed

    def no_answer(self, problem: str) -> WebSocketError:
        """Return the error of a peer that did not answer the request."""
        return WebSocketError(f"{problem}; {_RIGHT_PORT}")

    def unwrap(self, data: bytes) -> bytes:
        """Return the content of the frames in ``data``, ``b""`` at the end; raises WebSocketError.

        Pings are answered with the next :meth:`to_send`.
        """
        parts: list[bytes] = []
        try:
            self._connection.receive_data(data or None)
            for event in self._connection.events():
                if isinstance(event, BytesMessage):
                    parts.append(bytes(event.data))
                else:
                    self._control(event)
        except (RemoteProtocolError, LocalProtocolError) as error:
            raise WebSocketError(f"the peer does not speak WebSocket: {error}") from error
        return b"".join(parts)

    def wrap(self, data: bytes) -> None:
        """Queue ``data`` for sending."""
        if not self.has_ended:
            self._out += self._connection.send(BytesMessage(data=data))

    def to_send(self) -> bytes:
        """Return the frames to send to the peer."""
        data = bytes(self._out)
        self._out.clear()
        return data

    def _control(self, event: Event) -> None:
        """Act on a frame that carries no MQTT; raises WebSocketError."""
        match event:
            case AcceptConnection():
                self._is_agreed = True
            case RejectConnection() | RejectData():
                self._refuse(event)
            case Ping():
                self._out += self._connection.send(event.response())
            case CloseConnection():
                self._end(event)
            case Message():
                raise WebSocketError("the peer sends text; MQTT is binary")
            case _:
                pass

    def _refuse(self, event: RejectConnection | RejectData) -> None:
        status = event.status_code if isinstance(event, RejectConnection) else 0
        raise WebSocketError(
            f"the server answers {status or 'no upgrade'} to a WebSocket at {self._path}; "
            f"{_RIGHT_PORT}"
        )

    def _end(self, event: CloseConnection) -> None:
        if not self.has_ended and event.code != _ABNORMAL:
            self._out += self._connection.send(event.response())
        self.has_ended = True


_ABNORMAL: Final = 1006  # RFC 6455 section 7.1.5: the connection ended without a closing frame
