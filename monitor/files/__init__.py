"""Files of pairs, of streams and of raw messages: CSV and JSON lines, gzip too.

A pairs file has a reading and its reference in each row; a stream file has one or the other, as
they were recorded; a file of messages has topics and payloads. :func:`detect` tells them apart.
"""

from __future__ import annotations

from monitor.files.messages import read_messages, write_messages
from monitor.files.opening import FileError, detect
from monitor.files.pairs import PairTable, read_pairs
from monitor.files.stream import Stream, read_stream
from monitor.files.writing import write_stream

__all__ = [
    "FileError",
    "PairTable",
    "Stream",
    "detect",
    "read_messages",
    "read_pairs",
    "read_stream",
    "write_messages",
    "write_stream",
]
