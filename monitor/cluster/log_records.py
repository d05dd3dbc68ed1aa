"""One message as the log carries it: the blocks it is for, when it came, topic and payload.

Rules of this file: a record is self-contained; the bytes of a record say their version. An empty
list of blocks means every block of the partition the record is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

VERSION: Final = 1

# What the bridge knew of its clock.
TRUSTED: Final = 0  # messages agree with it
UNPROVEN: Final = 1  # none has agreed yet: nothing expires by it
IN_DOUBT: Final = 2  # messages disagree: nothing expires by it or is refused as of the future


class LogMessage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message as it came from the broker at ``received``, whole seconds since 1970 UTC.

    ``clock`` says whether that can be believed: TRUSTED, UNPROVEN or IN_DOUBT.
    """

    received: int
    topic: str
    payload: bytes
    clock: int = TRUSTED


class LogRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one record of the log holds."""

    version: int
    blocks: list[int]
    message: LogMessage


class RecordError(ValueError):
    """Bytes in the log that no bridge of this version, or of an earlier one, has written."""


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(LogRecord).decode
_decode_all: Final = msgspec.msgpack.Decoder(list[LogMessage]).decode


def dump_record(blocks: Sequence[int], message: LogMessage) -> bytes:
    """Return the bytes of a record for some blocks of a partition, all of them if none is named."""
    return _encode(LogRecord(VERSION, list(blocks), message))


def load_record(body: bytes) -> LogRecord:
    """Return what a record says; raises RecordError."""
    try:
        record = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(f"the log holds a record that no bridge has written: {error}") from error
    if record.version != VERSION:
        raise RecordError(f"the log holds a record of version {record.version}, not {VERSION}")
    return record


def pack_messages(messages: Iterable[LogMessage]) -> bytes:
    """Return the messages of one block as one value."""
    return _encode(list(messages))


def unpack_messages(body: bytes) -> list[LogMessage]:
    """Return the messages that :func:`pack_messages` made one value of."""
    return _decode_all(body)
