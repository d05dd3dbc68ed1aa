"""Files of raw messages: JSON lines of topic, payload and time of arrival, as a broker saw them.

A text payload is in ``payload``, any other in ``payload_base64``; ``time`` is in s since 1970 UTC
and may be left out.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TextIO

import msgspec

from monitor.core.model import NAN
from monitor.files.input_file import FileError, opened
from monitor.simulate.playback import RawMessage


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    topic: str
    payload: str | None = None
    payload_base64: str | None = None
    time: float = NAN


_decode: Final = msgspec.json.Decoder(_Line).decode


def read_messages(path: Path) -> Iterator[RawMessage]:
    """Yield the messages of a file in its order; raises FileError with the line of a mistake."""
    with opened(path) as text:
        for number, line in enumerate(text, start=1):
            if line.strip():
                try:
                    yield _message(_decode(line))
                except (msgspec.DecodeError, ValueError, binascii.Error) as error:
                    raise FileError(
                        f'{path}:{number}: is not a message, {{"time": seconds since 1970, '
                        f'"topic": text, "payload": text}}: {error}'
                    ) from error


def _message(line: _Line) -> RawMessage:
    if (line.payload is None) == (line.payload_base64 is None):
        raise ValueError("state either payload or payload_base64")
    if line.payload_base64 is not None:
        payload = base64.b64decode(line.payload_base64, validate=True)
        return RawMessage(line.time, line.topic, payload)
    return RawMessage(line.time, line.topic, str(line.payload).encode())


def write_messages(out: TextIO, messages: Iterable[RawMessage]) -> None:
    """Write messages, one per line."""
    for message in messages:
        line: dict[str, str | float] = {"time": message.time, "topic": message.topic}
        try:
            line["payload"] = message.payload.decode()
        except UnicodeDecodeError:
            line["payload_base64"] = base64.b64encode(message.payload).decode()
        out.write(msgspec.json.encode(line).decode() + "\n")
