"""Fast ways of reading the plainest messages: accelerators of the decoders, nothing else.

A source has one meaning: its specification, read by its decoder (:mod:`monitor.decode.router`). An
accelerator takes a message only where it provably reads what the decoder would, and hands back all
others; it refuses nothing and knows no reasons. So deleting one costs only speed.
``tests/decode/accelerators/test_differential.py`` compares what they read with what the decoder
reads of the same messages, and ``python -m tests.fuzz`` does so at length.

How a doubled member is detected without looking at members: a payload in which the struct found all
its members has at least two quotes for each name and two for each text. If it has no more than
that, it has no other member, no member twice and no escaped quote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Final, NamedTuple, cast

import msgspec
import numpy as np

from monitor.core.model import (
    Bool,
    Float,
    Int,
    Observation,
    Reading,
    Reference,
    Sample,
)
from monitor.core.pairing.observations import (
    NOTHING,
    Name,
    Observed,
    PlainReadings,
    columns_of,
    is_plain,
)
from monitor.decode.checks import U_MIN, Rejected
from monitor.decode.records import BadNumber
from monitor.decode.time import are_usable

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class TopicSeries(NamedTuple):
    """A topic: whom its messages are about, and the unit in which their values are kept."""

    name: Name
    unit: str


class MessageBatch(NamedTuple):
    """Messages of one kind that arrived together; their times may not be ahead of ``now``.

    ``streams`` returns whom each is about, ``which`` the place of its name; ``places`` are those of
    the messages in their batch.
    """

    streams: Callable[[], Sequence[TopicSeries]]
    which: Int
    payloads: Sequence[bytes]
    places: Int
    now: float  # s since 1970 UTC
    are_references: bool


class Rows(NamedTuple):
    """Observations that state a time, a value and u: whom each is about, and numbers."""

    which: Int
    times: Float
    values: Float
    us: Float


class Gathered:
    """The content of the messages so far: plain readings in parts, all others one by one.

    ``names`` are those that rows refer to.
    """

    __slots__ = ("names", "others", "parts", "places", "refused", "samples", "sources")

    def __init__(self, names: Sequence[Name]) -> None:
        self.names: Final = names
        self.parts: list[Rows] = []
        self.places: list[int] = []
        self.others: list[Observation] = []
        self.sources: list[int] = []
        self.refused: list[tuple[int, Rejected]] = []
        self.samples: list[tuple[int, Sample | BadNumber]] = []

    def add(self, place: int, observation: Observation) -> None:
        """Add the content of the message at ``place``."""
        self.others.append(observation)
        self.sources.append(place)

    def add_good(
        self, rows: Rows, places: Int, are_good: Bool, *, are_references: bool
    ) -> list[int]:
        """Add the good rows, each from the message at its place; return the places of others."""
        good = np.flatnonzero(are_good)
        if good.size < places.size:
            rows = Rows(rows.which[good], rows.times[good], rows.values[good], rows.us[good])
            left = places[~are_good]
            places = places[good]
        else:
            left = good[:0]
        add = self._add_references if are_references else self._add_readings
        # A zero has no sign.
        add(Rows(rows.which, rows.times + 0.0, rows.values + 0.0, rows.us + 0.0), places)
        return left.tolist()

    def _add_readings(self, rows: Rows, places: Int) -> None:
        self.parts.append(rows)
        self.places += places.tolist()

    def _add_references(self, rows: Rows, places: Int) -> None:
        names = map(self.names.__getitem__, rows.which.tolist())
        numbers = zip(rows.times.tolist(), rows.values.tolist(), rows.us.tolist(), strict=True)
        self.others += [
            Reference(*name, *three) for name, three in zip(names, numbers, strict=True)
        ]
        self.sources += places.tolist()

    def lay_out(self, place_of: Callable[[Name], int]) -> None:
        """Turn the plain readings that were decoded one by one into columns too.

        ``place_of`` returns the place of a name in ``names``.
        """
        if Reading not in set(map(type, self.others)):
            return
        are_plain = [
            isinstance(each, Reading) and not each.key and is_plain(each) for each in self.others
        ]
        if not any(are_plain):
            return
        plain = cast("list[Reading]", list(compress(self.others, are_plain)))
        places = [place_of((each.sensor, each.quantity)) for each in plain]
        self.parts.append(Rows(np.array(places, dtype=np.int64), *columns_of(plain)))
        self.places += compress(self.sources, are_plain)
        are_left = [not each for each in are_plain]
        self.others = list(compress(self.others, are_left))
        self.sources = list(compress(self.sources, are_left))

    def observed(self) -> Observed:
        """Return all of it, plain readings in the order of their messages."""
        if len(self.parts) > 1:
            order = np.argsort(self.places, kind="stable")
            columns = (np.concatenate(each)[order] for each in zip(*self.parts, strict=True))
            self.parts[:] = [Rows(*columns)]
            self.places = np.array(self.places)[order].tolist()
        plain = PlainReadings(self.names, *self.parts[0]) if self.parts else NOTHING
        return Observed(plain, self.others)


def are_good(times: Float, us: Float, received: float, *, are_references: bool) -> Bool:
    """Return which rows have a time and u that pass the checks; NaN does not."""
    are_us = us >= U_MIN
    if are_references:
        are_us |= us == 0.0
    return are_usable(times, received) & are_us
