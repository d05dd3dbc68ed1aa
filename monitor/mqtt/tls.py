"""TLS without I/O: ciphertext in, plaintext out, through the library's memory buffers.

``ssl.SSLSocket`` makes two system calls for each record, and a broker sends a record for each
message. Here everything that one read of the socket brings is decrypted at once, so that no data
stay in memory that the system does not know of.
"""

from __future__ import annotations

import ssl
from typing import Final

RECORD_BYTES: Final = 16_384  # the largest TLS record (RFC 8446 section 5.1)


class Encryption:
    """The client's side of one encrypted connection to ``host``."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming: Final = ssl.MemoryBIO()
        self._outgoing: Final = ssl.MemoryBIO()
        self._tls: Final = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)
        self.has_ended = False
        """Whether the peer has ended the connection, in good order or not."""

    def agrees(self, data: bytes = b"") -> bool:
        """Take ``data`` of the handshake; return whether it is complete.

        Raises ssl.SSLError, for example where the certificate cannot be trusted. Either way there
        may be something to send.
        """
        if data:
            self._incoming.write(data)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def to_send(self) -> bytes:
        """Return ciphertext for the peer."""
        return self._outgoing.read()

    def encrypt(self, data: bytes) -> None:
        """Queue ``data`` for sending."""
        self._tls.write(data)

    def decrypt(self, data: bytes) -> bytes:
        """Return the plaintext of what has come, ``b""`` at the end; raises ssl.SSLError."""
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
        parts: list[bytes] = []
        try:
            while part := self._tls.read(RECORD_BYTES):
                parts.append(part)
            self.has_ended = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLEOFError:
            self.has_ended = True
        return b"".join(parts)

    def not_after(self) -> float | None:
        """Return when the peer's certificate expires, in s since 1970 UTC."""
        stated = (self._tls.getpeercert() or {}).get("notAfter")
        return float(ssl.cert_time_to_seconds(stated)) if isinstance(stated, str) else None
