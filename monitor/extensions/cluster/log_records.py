"""One message in the form of the log: its blocks, its arrival, topic and payload.

Rules of this file: a record is self-contained; its bytes contain their version. An empty list of
blocks means every block of the record's partition. What no bridge wrote becomes a message without
topic, which a block refuses, counts and keeps as a dead letter.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from monitor.errors import UNAVAILABLE, MonitorError

VERSION: Final = 2  # version 1 had whole seconds

PACKED_BYTES: Final = 64 << 20  # messages that the source packs at once; Arrow takes 2 GiB
_MESSAGE_BYTES: Final = 32  # of a packed message besides topic and payload
_log: Final = logging.getLogger("monitor.extensions.cluster")

# What the bridge knew about its clock.
TRUSTED: Final = 0  # messages agree with it
UNPROVEN: Final = 1  # no message has agreed yet: nothing expires by it
IN_DOUBT: Final = 2  # messages disagree: nothing expires or is refused as future by it


class LogMessage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message that came from the broker at ``received``, s since 1970 UTC.

    ``clock`` says whether that time is reliable: TRUSTED, UNPROVEN or IN_DOUBT; ``retain`` whether
    the broker had kept the message, which a log written before this flag does not say.
    """

    received: float
    topic: str
    payload: bytes
    clock: int = TRUSTED
    retain: bool = False


class LogRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The content of one record of the log."""

    version: int
    blocks: list[int]
    message: LogMessage


class RecordError(ValueError):
    """Bytes in the log that no bridge wrote."""


class NewerRecordError(MonitorError):
    """A record of a newer version: skipping it would lose a message."""

    exit_code = UNAVAILABLE


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(LogRecord).decode
_decode_any: Final = msgspec.msgpack.Decoder(list[object]).decode
unpack_messages: Final = msgspec.msgpack.Decoder(list[LogMessage]).decode  # of pack_messages


def dump_record(blocks: Sequence[int], message: LogMessage) -> bytes:
    """Return the bytes of a record for some blocks of a partition, for all if none is given."""
    return _encode(LogRecord(VERSION, list(blocks), message))


def load_record(body: bytes | None) -> LogRecord:
    """Return the content of a record; raises RecordError, NewerRecordError."""
    try:
        version = _decode_any(body or b"")[0]
        if isinstance(version, int) and version > VERSION:
            raise NewerRecordError(
                f"the log holds a record of version {version}, newer than this program's "
                f"{VERSION}; run the program that wrote it"
            )
        return _decode(body or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, IndexError) as error:
        raise RecordError(f"no bridge has written this: {error}") from error


def packed_by_block(
    bodies: Iterable[bytes | None], own: Sequence[int], most: int = PACKED_BYTES
) -> Iterator[Mapping[int, bytes]]:
    """Yield the messages of records by block, packed, of some ``most`` bytes at once.

    ``own`` are the blocks of the records' partition.
    """
    messages: dict[int, list[LogMessage]] = {}
    size, foreign, last = 0, 0, 0.0
    for body in bodies:
        try:
            record = load_record(body)
        except RecordError as error:
            if not foreign:
                _log.error("the log holds records that are left out: %s", error)
            foreign += 1
            record = LogRecord(VERSION, [own[0]], LogMessage(last, "", body or b"", UNPROVEN))
        blocks, message = record.blocks or own, record.message
        last = message.received
        for block in blocks:
            messages.setdefault(block, []).append(message)
        size += len(blocks) * (_MESSAGE_BYTES + len(message.topic) + len(message.payload))
        if size >= most:
            yield {block: pack_messages(those) for block, those in messages.items()}
            messages, size = {}, 0
    if messages:
        yield {block: pack_messages(those) for block, those in messages.items()}
    if foreign:
        _log.error("%d records that no bridge wrote were left out", foreign)


def pack_messages(messages: Iterable[LogMessage]) -> bytes:
    """Return the messages of one block as one value."""
    return _encode(list(messages))
