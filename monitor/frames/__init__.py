"""Frames of pandas, Polars or Arrow, and arrays, scored in Python: the same core as the daemon's.

``monitor.score`` evaluates the pairs of a frame as ``monitor score`` does those of a file, bit for
bit; ``monitor.compare`` puts two sensors side by side as ``monitor compare`` does;
``monitor.Watch`` takes pairs as they come and raises what the daemon would raise.

A frame becomes the table of pairs that a file becomes (`monitor.files.PairTable`), and everything
after that is common. Frames are read through narwhals, so that no library of frames is imported
unless the caller did.

Invariants: a frame is never changed; a row is used as it stands, or left out and counted by reason
in the notes. A frame without a good row is refused with a sentence that names column and row.

Considered and rejected: statistics as functions of plain arrays (the verdict needs all columns of a
pair, and their order); guessing times without a zone (an hour is most of a drift).

What breaks first: pairs are held in memory as columns, some 100 bytes each.
"""

from __future__ import annotations

from monitor.frames.pair_frames import FrameError
from monitor.frames.scores import Scores, compare, score, ucc
from monitor.frames.watch import Alert, Watch

__all__ = ["Alert", "FrameError", "Scores", "Watch", "compare", "score", "ucc"]
