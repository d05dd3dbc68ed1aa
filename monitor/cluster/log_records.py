"""One message in the form of the log: its blocks, its arrival, topic and payload.

Rules of this file: a record is self-contained; its bytes contain their version. An empty list of
blocks means every block of the record's partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

VERSION: Final = 2
_FIRST: Final = 1  # had whole seconds

# What the bridge knew about its clock.
TRUSTED: Final = 0  # messages agree with it
UNPROVEN: Final = 1  # no message has agreed yet: nothing expires by it
IN_DOUBT: Final = 2  # messages disagree: nothing expires or is refused as future by it


class LogMessage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message that came from the broker at ``received``, s since 1970 UTC.

    ``clock`` says whether that time is reliable: TRUSTED, UNPROVEN or IN_DOUBT.
    """

    received: float
    topic: str
    payload: bytes
    clock: int = TRUSTED


class LogRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The content of one record of the log."""

    version: int
    blocks: list[int]
    message: LogMessage


class RecordError(ValueError):
    """Bytes in the log that no bridge of this or an earlier version wrote."""


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(LogRecord).decode
_decode_all: Final = msgspec.msgpack.Decoder(list[LogMessage]).decode


def dump_record(blocks: Sequence[int], message: LogMessage) -> bytes:
    """Return the bytes of a record for some blocks of a partition, for all if none is given."""
    return _encode(LogRecord(VERSION, list(blocks), message))


def load_record(body: bytes) -> LogRecord:
    """Return the content of a record; raises RecordError."""
    try:
        record = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"the log holds a record that no bridge has written: {error}") from error
    if not _FIRST <= record.version <= VERSION:
        raise RecordError(f"the log holds a record of version {record.version}, not {VERSION}")
    return record


def pack_messages(messages: Iterable[LogMessage]) -> bytes:
    """Return the messages of one block as one value."""
    return _encode(list(messages))


def unpack_messages(body: bytes) -> list[LogMessage]:
    """Return the messages in a value of :func:`pack_messages`."""
    return _decode_all(body)
