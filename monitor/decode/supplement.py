"""Additions of extensions to decoding: own topics, numbers beside readings, a default u."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from monitor.decode.records import Seen
from monitor.decode.route import Route


class RecordReader(Protocol):
    """Finds numbers in messages besides what the sources read.

    ``of_readings``: whether it looks into messages of readings, which then have no fast way;
    ``paths`` are where it looks in them.
    """

    @property
    def of_readings(self) -> bool:
        """Whether it looks into messages of readings."""

    @property
    def paths(self) -> frozenset[str]:
        """The paths, as in a mapping, that it reads in messages of readings."""

    def with_samples(self, route: Route, record: Seen) -> Seen:
        """Return a record with the numbers that it states."""


class OwnTopic(NamedTuple):
    """A topic that no source of the settings reads: ``place`` in the settings, unit and route."""

    place: str
    unit: str
    qos: int
    route: Route


class Supplement(NamedTuple):
    """One extension's additions to the router.

    ``default_u`` is the standard uncertainty of values that state none, in the unit of their
    source, by the number of the source.
    """

    topics: Sequence[OwnTopic] = ()
    reader: RecordReader | None = None
    default_u: Mapping[int, float] = {}
