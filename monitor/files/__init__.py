"""Files of pairs and of streams: CSV and JSON lines, gzip too.

A pairs file has a reading and its reference in each row; a stream file has one or the other, as
they were recorded. :func:`detect` tells them apart by the header.
"""

from __future__ import annotations

from monitor.files.opening import FileError, detect
from monitor.files.pairs import PairTable, read_pairs
from monitor.files.stream import Stream, read_stream
from monitor.files.writing import write_stream

__all__ = [
    "FileError",
    "PairTable",
    "Stream",
    "detect",
    "read_pairs",
    "read_stream",
    "write_stream",
]
