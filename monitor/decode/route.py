"""A decoder's knowledge of a message's source, and the maker of a format's decoders.

Rules of this file: a format turns bytes into values or records, a mapping turns those into
observations. A decoder yields what it sees record by record; the content of a message is all of it
in order. Readings that a sensor sent during its maintenance are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from monitor.core.model import Observation, Reading
from monitor.core.setting import Contradiction, no_contradictions
from monitor.decode.checks import Rejected
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.mapping import Mapped
from monitor.decode.records import Arrival, Found, Seen
from monitor.decode.spec import Kind, MapSpec
from monitor.decode.units import Units

# -- sources and decoders -------------------------------------------------------------------------


class Route(NamedTuple):
    """One source of the settings: what its messages are and how they are read.

    ``mapped`` finds the observations in decoded payloads; ``births`` is what Sparkplug's births
    said and ``units`` the units of quantities, the same objects for every route. ``covariate`` is
    the name of the covariate whose numbers the messages are.
    """

    kind: Kind
    decoder: str
    unit: str = ""
    template: str = ""
    mapped: Mapped | None = None
    births: Births | None = None
    units: Units | None = None
    covariate: str = ""

    def declared_unit(self) -> str:
        """Return the unit in the settings, for sources that can be accelerated."""
        if self.mapped is None or not self.mapped.spec.series:
            return self.unit
        series = self.mapped.spec.series[0]
        return series.to_unit or self.unit or series.unit


class Call(NamedTuple):
    """One message: its payload, the fields of its topic, its source and when it came.

    ``received`` and ``clock`` are those of :class:`Arrival`.
    """

    payload: bytes
    fields: dict[str, str]
    route: Route
    received: float
    clock: float | None = None


Records = Callable[[Call], Iterable[object]]


class Decoder:
    """Decodes the messages of a format, and says what the settings have to know of it.

    ``parse`` returns the value of a payload, or its records where it has ``many``: a Rejected
    replaces one that cannot be read. ``help`` describes the format. ``mapping`` makes the mapping
    of a source (its kind, unit and topic template) where the format has its own; all others need
    one from the settings, and ``contradictions`` returns what is wrong with it or with the names in
    the topic template. ``number_texts`` says that the format writes numbers as texts,
    ``takes_arrival`` that a record without a time has that of its arrival, and ``has_births`` that
    some of its messages define how to read later ones.
    """

    def __init__(
        self,
        parse: Records | Callable[[Call], object],
        *,
        many: bool,
        help: str,  # noqa: A002 - as PairingRule has it
        mapping: Callable[[Kind, str, str], Mapped] | None = None,
        contradictions: Callable[
            [MapSpec, Collection[str]], Iterable[Contradiction]
        ] = no_contradictions,
        number_texts: bool = False,
        takes_arrival: bool = False,
        has_births: bool = False,
    ) -> None:
        self._parse: Final = parse
        self._many: Final = many
        self.help: Final = help
        self.mapping: Final = mapping
        self.contradictions: Final = contradictions
        self.number_texts: Final = number_texts
        self.takes_arrival: Final = takes_arrival
        self.has_births: Final = has_births

    def records(self, call: Call) -> Iterator[Seen]:
        """Yield the records of a message with their content; raises Rejected for all of it."""
        mapped = mapping_of(call.route)
        arrival = Arrival(call.fields, call.received, call.route.units, call.clock)
        if not self._many:
            yield from mapped.observe(self._parse(call), arrival)
            return
        for record in self._parse(call):  # type: ignore[attr-defined]
            if isinstance(record, Rejected):
                yield Seen(None, None, [record.bare()])
                continue
            try:
                yield from mapped.observe(record, arrival)
            except Rejected as error:
                yield Seen(record, record, [error.bare()])


def flat(records: Sequence[Seen]) -> list[Found]:
    """Return the content of all records in order; refusals carry the number of their record."""
    if len(records) == 1:
        return records[0].found
    for number, each in enumerate(records):
        for one in each.found:
            if isinstance(one, Rejected):
                one.record = number
    return [one for each in records for one in each.found]


def mapping_of(route: Route) -> Mapped:
    """Return the route's mapping."""
    if route.mapped is None:
        raise ValueError(f"source {route.template!r} has the decoder {route.decoder!r} but no map")
    return route.mapped


# -- maintenance ----------------------------------------------------------------------------------


class Work(NamedTuple):
    """Maintenance from ``start`` to before ``end`` (s since 1970 UTC) of sensors by pattern."""

    sensor: str
    start: float
    end: float


class Maintenance:
    """Knows which sensors are under maintenance, and when."""

    def __init__(self, works: Iterable[Work]) -> None:
        self._works: Final = tuple(works)

    def without(self, decoded: Sequence[Observation | Rejected]) -> list[Observation | Rejected]:
        """Return ``decoded`` with a Rejected for each reading of a sensor under maintenance."""
        return [self._refused(each) if isinstance(each, Reading) else each for each in decoded]

    def _refused(self, reading: Reading) -> Reading | Rejected:
        for work in self._works:
            if work.start <= reading.time < work.end and fnmatchcase(reading.sensor, work.sensor):
                why = f"{reading.sensor} was under maintenance then (maintenance {work.sensor!r})"
                return Rejected("maintenance", why)
        return reading
