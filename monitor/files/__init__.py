"""Files of pairs, of streams and of raw messages: CSV, JSON lines and Parquet, also gzipped.

A pairs file has a reading and its reference in each row; a stream file has one or the other, as
they were recorded; a message file has topics and payloads. `detect` tells them apart.

Invariants: a row passes the same checks as a message to the daemon (`monitor.decode.checks`), so
the score of a file is one that the daemon could have given. As there, a mistake costs its row: it
is left out and counted by reason. A file without a good row is refused with its first mistakes
listed, each as ``file:line:column`` with what to write instead. Files written by `exporting` read
back to the same bits. Gzip is detected by its first bytes, never by the name.

Considered and rejected: pandas for reading (its guesses of types lose digits and times); refusing a
file for some wrong rows (the daemon does not, and loggers write them).

What breaks first: a pairs file is held in memory as columns; a stream file is read row by row.
"""

from __future__ import annotations

from monitor.files.cells import detect
from monitor.files.exporting import write_stream
from monitor.files.input_file import FileError
from monitor.files.layout import FileLayout
from monitor.files.messages import read_messages
from monitor.files.pair_table import Watch, read_pairs, unwatched
from monitor.files.paired_columns import PairTable
from monitor.files.stream import read_stream

__all__ = [
    "FileError",
    "FileLayout",
    "PairTable",
    "Watch",
    "detect",
    "read_messages",
    "read_pairs",
    "read_stream",
    "unwatched",
    "write_stream",
]
