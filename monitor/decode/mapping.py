"""From the records of a payload to observations, as the settings map them.

Rules of this file: a mapping is compiled once and then only called; one bad record costs that
record, a bad frame (no such array) the message; every refusal names a path.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from monitor.core.model import (
    NAN,
    Collocation,
    Distribution,
    Event,
    Reading,
    Reference,
)
from monitor.core.scores.ensembles import packed
from monitor.decode.checks import (
    RETAINED,
    Rejected,
    check_collocation,
    check_event,
    check_key,
    check_name,
    check_number,
    check_reading,
    check_span,
    check_time,
    check_u,
)
from monitor.decode.fields import (
    Collocated,
    agreement,
    collocated,
    ends,
    instant_reader,
    key,
    name_path,
    named,
    paths_of,
    span,
    texts,
)
from monitor.decode.paths import MISSING, Fetchers, shown
from monitor.decode.quantity import One, quantities, u_of_reference
from monitor.decode.records import (
    Arrival,
    Fields,
    Found,
    Seen,
    Split,
    filters,
    framing,
    names_in,
    splitter,
)
from monitor.decode.spec import Kind, MapSpec
from monitor.decode.uncertainty import Claim
from monitor.decode.units import conversion

_RANKS: Final = {"": 0, "prelim": 0, "final": 1, "void": 2}


class Mapped:
    """A compiled mapping; raises MapError where ``spec`` cannot be used.

    ``topic_names`` are the fields of the source's topic template, ``unit`` that of its values.
    ``default_u`` is the standard uncertainty, in ``unit``, of references that state none.
    """

    def __init__(
        self,
        spec: MapSpec,
        kind: Kind,
        topic_names: Collection[str] = (),
        unit: str = "",
        *,
        default_u: float = NAN,
    ) -> None:
        self.spec: Final = spec
        self.texts: Final = frozenset(_texts_in(spec))
        self.unit: Final = unit
        self.default_u: Final = default_u
        self._kind: Final = kind
        fetchers = Fetchers(spec.defaults, number_texts=spec.number_texts)
        self._frame: Final = framing(spec)
        self._filters: Final = filters(spec, fetchers)
        self._splits: Final[list[Split]] = [
            splitter(path, template, fetchers, ("names", path))
            for path, template in spec.names.items()
        ]
        known = {*topic_names, "quantity", "subject"} | {
            name for template in spec.names.values() for name in names_in(template)
        }
        self._sensor: Final = named(spec, kind, known)
        self._collocated: Final = collocated(spec, kind, fetchers, known)
        self._time: Final = instant_reader(spec, fetchers, kind)
        self._ends: Final = ends(spec, fetchers)
        self._key: Final = key(spec, fetchers)
        self._texts: Final = texts(spec, fetchers)
        self._revision: Final = (
            fetchers.whole(spec.revision, ("revision",)) if spec.revision else None
        )
        self._check_agreement: Final = agreement(spec, fetchers)
        self._paths: Final = paths_of(spec)
        self._series: Final = quantities(spec, kind, fetchers, known, unit)

    def observe(self, payload: object, arrival: Arrival) -> Iterator[Seen]:
        """Yield the records of a decoded payload with their content; a Rejected for a bad one.

        Raises Rejected where the payload has no records.
        """
        for record in self._frame(payload):
            yield Seen(payload, record, self._found(payload, record, arrival))

    def _found(self, root: object, record: object, arrival: Arrival) -> list[Found]:
        decoded: list[Found] = []
        try:
            self._observe(root, record, arrival, decoded)
        except Rejected as error:
            decoded.append(self._placed(error, root, record))
        return decoded

    def _placed(
        self, error: Rejected, root: object, record: object, one: One | None = None
    ) -> Rejected:
        """Return a refusal with the place from which its field was read."""
        field = error.field
        if one is not None and field == "quantity":
            error.at(name_path(self.spec, self.spec.series[self._series.index(one)].quantity))
        if one is not None:
            error.at(one.quantity.place_of(field, root, record))
        return error.at(self._paths.get(field, "")).bare()

    def _observe(self, root: object, record: object, arrival: Arrival, into: list[Found]) -> None:
        if not self._filters.selects(root, record) or self._states_no_value(root, record):
            return
        self._filters.check(root, record)
        self._check_agreement(root, record, arrival.fields)
        voided = self._is_void(root, record)
        if self._splits:
            fields = dict(arrival.fields)
            if not (voided and self._kind == "reference"):
                for split in self._splits:
                    split(root, record, fields)
            else:
                self._split_if_there(root, record, fields)
            arrival = arrival._replace(fields=fields)
        if self._kind == "event":
            into.append(self._event(root, record, arrival))
        elif self._collocated is not None:
            into.append(self._collocation(self._collocated, root, record, arrival.fields))
        elif self._kind == "reference" and voided:
            into.extend(self._voids(root, record, arrival))
        else:
            self._measure(root, record, arrival, into)

    def _states_no_value(self, root: object, record: object) -> bool:
        """Return whether ``optional`` skips a record, whatever its quality: it states no value."""
        if not self.spec.optional or not self._series:
            return False
        for quantity in (one.quantity for one in self._series):
            if quantity.present(root, record) is not MISSING or quantity.is_null(root, record):
                return False
        return self._kind == "reading" or not self._is_void(root, record)

    def _is_void(self, root: object, record: object) -> bool:
        return self._filters.voids(root, record) or self._status(root, record) == "void"

    def _split_if_there(self, root: object, record: object, fields: Fields) -> None:
        """Split names if present: a void may omit its subject, which its identity implies."""
        for split in self._splits:
            try:
                split(root, record, fields)
            except Rejected as error:
                if error.reason != "missing_field":
                    raise
                fields["quantity"] = fields["subject"] = ""

    def _measure(self, root: object, record: object, arrival: Arrival, into: list[Found]) -> None:
        several = len(self._series) > 1
        wanted = [
            one
            for one in self._series
            if not (several or self.spec.optional)
            or one.quantity.present(root, record) is not MISSING
        ]
        if not wanted:
            for one in self._series:
                if one.quantity.is_null(root, record):
                    name = one.quantity.name
                    raise Rejected("no_reading", f"value at `{name}` is null", name)
            names = ", ".join(f"`{one.quantity.name}`" for one in self._series)
            detail = f"value is missing: none of {names} is present"
            raise Rejected("missing_field", detail, self._series[0].quantity.name)
        common = self._common(root, record, arrival.received)
        make = self._reading if self._kind == "reading" else self._reference
        for one in wanted:
            try:
                into.append(make(one, root, record, arrival, common))
            except Rejected as error:
                into.append(self._placed(error, root, record, one))

    def _common(self, root: object, record: object, received: float) -> tuple[float, str]:
        return self._time(root, record, received), self._key(root, record)

    def _reading(
        self, one: One, root: object, record: object, arrival: Arrival, common: tuple[float, str]
    ) -> Reading:
        quantity = check_name("quantity", one.name(arrival.fields))
        sensor = check_name("sensor", self._sensor(arrival.fields))
        units = arrival.units
        stated, assumed, unit = one.quantity.measure(root, record, (sensor, quantity), units)
        time, own_key = common
        if self.spec.duration_seconds:
            time = sum(span(self.spec, time)) / 2.0
        reading = Reading(
            sensor,
            quantity,
            time,
            *stated[:5],
            own_key,
            self._text("sequence", root, record),
            assumed,
        )
        checked = check_reading(reading, arrival.now)
        if units is not None:
            units.learn(sensor, quantity, unit)
        return checked if stated.claim is None else _with_claim(checked, stated.claim)

    def _reference(
        self, one: One, root: object, record: object, arrival: Arrival, common: tuple[float, str]
    ) -> Reference:
        quantity = check_name("quantity", one.name(arrival.fields))
        subject = _subject(self._sensor(arrival.fields))
        units = arrival.units
        stated, _, unit = one.quantity.measure(root, record, (subject, quantity), units)
        u = u_of_reference(stated)
        if math.isnan(u) and not math.isnan(self.default_u):
            u = self.default_u * abs(conversion(self.unit, unit).scale)
        time, own_key = common
        start, end = self._ends(root, record)
        if self.spec.duration_seconds and math.isnan(start) and math.isnan(end):
            start, end = span(self.spec, time)
        check_span(start, end)
        if not math.isnan(end):
            check_time(end, arrival.now, "end")
        reference = Reference(
            subject,
            quantity,
            check_time(time, arrival.now),
            check_number("value", stated.value),
            0.0 if math.isnan(u) or u == 0.0 else check_u("u", u),
            own_key,
            self._text("identity", root, record),
            self._revision_of(root, record),
            start=start,
            end=end,
            reference_id=self._text("reference_id", root, record),
        )
        if units is not None:
            units.learn(subject, quantity, unit)
        return reference

    def _voids(self, root: object, record: object, arrival: Arrival) -> Iterable[Reference]:
        """Yield the voids of references: they need no value, and with an identity no time."""
        identity = self._text("identity", root, record)
        try:
            time, own_key = self._common(root, record, arrival.received)
        except Rejected as error:
            if error.reason not in ("missing_field", RETAINED) or not identity:
                raise
            time, own_key = NAN, ""
        if not math.isnan(time):
            check_time(time, arrival.now)
        revision = self._revision_of(root, record)
        revision += 2 - revision % 4
        for one in self._series:
            quantity = one.name(arrival.fields)
            yield Reference(
                _subject(self._sensor(arrival.fields)),
                check_name("quantity", quantity) if quantity else "",
                time,
                NAN,
                key=own_key,
                identity=identity,
                revision=revision,
                void=True,
            )

    def _event(self, root: object, record: object, arrival: Arrival) -> Event:
        note = self._texts.get("note")
        return Event(
            check_name("sensor", self._sensor(arrival.fields)),
            check_time(self._time(root, record, arrival.received), arrival.now),
            check_event(self._text("event", root, record)),
            "" if note is None else note(root, record),
        )

    def _collocation(
        self, how: Collocated, root: object, record: object, fields: Fields
    ) -> Collocation:
        start, end = self._ends(root, record)
        distance_km = how.distance_km(root, record)
        sensor, subject = self._sensor(fields), how.subject(fields)
        return check_collocation(Collocation(sensor, subject, start, end, distance_km))

    def _text(self, name: str, root: object, record: object) -> str:
        text = self._texts.get(name)
        return "" if text is None else check_key(text(root, record), name)

    def _status(self, root: object, record: object) -> str:
        status = self._text("status", root, record).lower()
        if status not in _RANKS:
            place = shown(self.spec.status)
            detail = f"status at `{place}` is {status[:60]!r}; use prelim, final or void"
            raise Rejected("bad_field", detail, place)
        return status

    def _revision_of(self, root: object, record: object) -> int:
        """Return 4 times the revision plus the rank of the status."""
        stated = 0 if self._revision is None else self._revision(root, record)
        return 4 * stated + _RANKS[self._status(root, record)]


def _texts_in(part: object) -> Iterator[str]:
    """Yield all texts of a specification, among which are all paths."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Mapping):
        for key, value in part.items():
            yield from _texts_in(key)
            yield from _texts_in(value)
    elif isinstance(part, tuple):
        for each in part:
            yield from _texts_in(each)


def _with_claim(reading: Reading, claim: Claim) -> Distribution:
    return Distribution(
        **msgspec.structs.asdict(reading),
        places=packed(claim.places),
        levels=packed(claim.levels),
    )


def _subject(name: str) -> str:
    """Return the subject of a reference; nobody in particular where pairing is by key alone."""
    return check_name("subject", name) if name else name
