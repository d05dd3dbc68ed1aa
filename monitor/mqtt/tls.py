"""TLS over a connection, read by the buffer: a broker sends a record of its own for each message.

Rules of this file: it behaves as a socket; what the library wants to write goes out before anything
else is written; what the system does not take at once waits for the next call.

``ssl.SSLSocket`` asks the system twice for each record, for its head and for its body. Here much is
read at once, and the library takes record by record out of memory.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import Any

CIPHERTEXT_BYTES = 262_144
RECORD_BYTES = 16_384  # what a record of TLS holds at most (RFC 8446 section 5.1)


class TlsSocket(socket.socket):
    """A connection with TLS; :meth:`over` makes one of a connection without."""

    _incoming: ssl.MemoryBIO
    _outgoing: ssl.MemoryBIO
    _tls: ssl.SSLObject
    _unsent: bytes
    _has_more: bool

    @classmethod
    def over(
        cls, plain: socket.socket, context: ssl.SSLContext, host: str, timeout: float
    ) -> TlsSocket:
        """Return ``plain``, which is used up, with TLS; its peer has proved to be ``host``.

        Raises what a handshake raises, ssl.SSLError and OSError; TimeoutError after ``timeout``
        seconds without an answer.
        """
        made = cls(plain.family, plain.type, plain.proto, fileno=plain.detach())
        made._incoming, made._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        made._unsent, made._has_more = b"", False
        made.settimeout(timeout)
        try:
            made._tls = context.wrap_bio(made._incoming, made._outgoing, server_hostname=host)
            made._shake_hands()
        except BaseException:
            made.close()
            raise
        return made

    def getpeercert(self) -> dict[str, Any] | None:
        """Return the certificate of the other side, as :mod:`ssl` does."""
        return self._tls.getpeercert()

    def pending(self) -> int:
        """Return 1 if there may be more to receive of which the system knows nothing, else 0."""
        return int(self._has_more)

    @property
    def has_unsent(self) -> bool:
        """Whether something waits for the system to take it."""
        return bool(self._unsent)

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        """Return up to ``bufsize`` bytes, b"" at the end; raises BlockingIOError without any."""
        del flags
        found: list[bytes] = []
        left, ended = bufsize, False
        while left > 0 and not ended:
            try:
                part = self._tls.read(min(left, RECORD_BYTES))
            except ssl.SSLWantReadError:
                if not self._fill(must=not found):
                    break
            except ssl.SSLEOFError:
                ended = True
            else:
                ended = not part
                found.append(part)
                left -= len(part)
        self._has_more = left <= 0
        with suppress(OSError):  # of a lost connection the next call will tell
            self.flush()
        return b"".join(found)

    def send(self, data: Any, flags: int = 0) -> int:  # noqa: ANN401 - whatever has a buffer
        """Send some of ``data`` and return how much; raises BlockingIOError if nothing can be."""
        del flags
        self.flush()
        if self._unsent:
            raise BlockingIOError
        try:
            sent = self._tls.write(data)
        except ssl.SSLWantReadError as error:
            raise BlockingIOError from error
        self.flush()
        return sent

    def flush(self) -> None:
        """Hand over to the system what it did not take yet."""
        self._unsent += self._outgoing.read()
        while self._unsent:
            try:
                sent = super().send(self._unsent)
            except BlockingIOError:
                return
            self._unsent = self._unsent[sent:]

    # -- inside -----------------------------------------------------------------------------

    def _fill(self, *, must: bool) -> bool:
        """Take what the system has, the end too; False, or if it ``must`` an error, without any."""
        try:
            data = super().recv(CIPHERTEXT_BYTES)
        except OSError:
            if must:
                raise
            return False
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
        return True

    def _shake_hands(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self.flush()
                self._fill(must=True)
            except ssl.SSLError:
                self.flush()  # the other side is told why
                raise
            else:
                self.flush()
                return
