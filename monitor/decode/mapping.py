"""From the records of a payload to observations, as the settings map them.

Rules of this file: a mapping is compiled once and then only called; one bad record costs that
record, a bad frame (no such array) the message; every refusal names a path.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from monitor.core.model import (
    NAN,
    Collocation,
    Distribution,
    Event,
    Observation,
    Reading,
    Reference,
)
from monitor.core.scores.ensembles import packed
from monitor.decode.arrays import arrays
from monitor.decode.checks import (
    Rejected,
    check_collocation,
    check_key,
    check_name,
    check_number,
    check_reading,
    check_span,
    check_time,
    check_u,
)
from monitor.decode.choices import choices
from monitor.decode.fetching import Fetchers, shown
from monitor.decode.fields import (
    Fields,
    Split,
    names_in,
    splitter,
)
from monitor.decode.framing import framing
from monitor.decode.measuring import u_of_reference
from monitor.decode.parts import (
    Collocated,
    One,
    collocated,
    ends,
    instant,
    key,
    named,
    quantities,
    texts,
)
from monitor.decode.paths import MISSING
from monitor.decode.specification import Kind, MapSpec
from monitor.decode.uncertainty import Claim

_RANKS: Final = {"": 0, "prelim": 0, "final": 1, "void": 2}
_REVISION_MAX: Final = 1 << 53

Found = Observation | Rejected


class Mapped:
    """A compiled mapping; raises MapError where ``spec`` cannot be used.

    ``topic_names`` are the fields of the source's topic template, ``unit`` that of its values.
    """

    def __init__(
        self, spec: MapSpec, kind: Kind, topic_names: Collection[str] = (), unit: str = ""
    ) -> None:
        self.spec: Final = spec
        self.arrays: Final = arrays(spec, unit) if kind in ("reading", "reference") else None
        self._kind: Final = kind
        fetchers = Fetchers(spec.defaults, number_texts=spec.number_texts)
        self._frame: Final = framing(spec)
        self._choices: Final = choices(spec, fetchers)
        self._splits: Final[list[Split]] = [
            splitter(path, template, fetchers, ("names", path))
            for path, template in spec.names.items()
        ]
        known = {*topic_names, "quantity", "subject"} | {
            name for template in spec.names.values() for name in names_in(template)
        }
        self._sensor: Final = named(spec, kind, known)
        self._collocated: Final = collocated(spec, kind, fetchers, known)
        self._time: Final = instant(spec, fetchers, kind)
        self._ends: Final = ends(spec, fetchers)
        self._key: Final = key(spec, fetchers)
        self._texts: Final = texts(spec, fetchers)
        self._revision: Final = (
            fetchers.number(spec.revision, ("revision",)) if spec.revision else None
        )
        self._series: Final = quantities(spec, kind, fetchers, known, unit)

    def observe(self, payload: object, fields: Fields, received: float) -> Sequence[Found]:
        """Return what the records of a decoded payload say; a Rejected for each bad one."""
        found: list[Found] = []
        for record in self._frame(payload):
            try:
                self._observe(payload, record, fields, received, found)
            except Rejected as error:
                found.append(error.bare())
        return found

    def observe_each(
        self, records: Iterable[object], fields: Fields, received: float
    ) -> Sequence[Found]:
        """Return what each of ``records`` says, a payload of its own or a Rejected already."""
        found: list[Found] = []
        for record in records:
            if isinstance(record, Rejected):
                found.append(record)
                continue
            try:
                found += self.observe(record, fields, received)
            except Rejected as error:
                found.append(error.bare())
        return found

    def _observe(
        self, root: object, record: object, fields: Fields, received: float, found: list[Found]
    ) -> None:
        if not self._choices.selects(root, record):
            return
        self._choices.check(root, record)
        voided = self._choices.voids(root, record) or self._status(root, record) == "void"
        if self._splits:
            fields = dict(fields)
            if not (voided and self._kind == "reference"):
                for split in self._splits:
                    split(root, record, fields)
            else:
                self._split_if_there(root, record, fields)
        if self._kind == "event":
            found.append(self._event(root, record, fields, received))
        elif self._collocated is not None:
            found.append(self._collocation(self._collocated, root, record, fields))
        elif self._kind == "reference" and voided:
            found.extend(self._voids(root, record, fields, received))
        else:
            self._measure(root, record, fields, received, found)

    def _split_if_there(self, root: object, record: object, fields: Fields) -> None:
        """A void may leave out whom it was about: its identity says that."""
        for split in self._splits:
            try:
                split(root, record, fields)
            except Rejected as error:
                if error.reason != "missing_field":
                    raise
                fields["quantity"] = fields["subject"] = ""

    def _measure(
        self, root: object, record: object, fields: Fields, received: float, found: list[Found]
    ) -> None:
        several = len(self._series) > 1
        wanted = [
            one
            for one in self._series
            if not (several or self.spec.optional) or one.present(root, record) is not MISSING
        ]
        if not wanted:
            if self.spec.optional:
                return
            names = ", ".join(f"`{one.name}`" for one in self._series)
            raise Rejected("missing_field", f"value is missing: none of {names} is there")
        common = self._common(root, record, received)
        make = self._reading if self._kind == "reading" else self._reference
        for one in wanted:
            try:
                found.append(make(one, root, record, fields, received, common))
            except Rejected as error:
                found.append(error.bare())

    def _common(self, root: object, record: object, received: float) -> tuple[float, str]:
        return self._time(root, record, received), self._key(root, record)

    def _reading(
        self,
        one: One,
        root: object,
        record: object,
        fields: Fields,
        received: float,
        common: tuple[float, str],
    ) -> Reading:
        stated, assumed = one.measure(root, record)
        time, own_key = common
        reading = Reading(
            check_name("sensor", self._sensor(fields)),
            check_name("quantity", one.quantity(fields)),
            time,
            *stated[:5],
            own_key,
            self._text("sequence", root, record),
            assumed,
        )
        checked = check_reading(reading, received)
        return checked if stated.claim is None else _with_claim(checked, stated.claim)

    def _reference(
        self,
        one: One,
        root: object,
        record: object,
        fields: Fields,
        received: float,
        common: tuple[float, str],
    ) -> Reference:
        stated, _ = one.measure(root, record)
        u = u_of_reference(stated)
        time, own_key = common
        start, end = check_span(*self._ends(root, record))
        if not math.isnan(end):
            check_time(end, received, "end")
        return Reference(
            _subject(self._sensor(fields)),
            check_name("quantity", one.quantity(fields)),
            check_time(time, received),
            check_number("value", stated.value),
            0.0 if math.isnan(u) or u == 0.0 else check_u("u", u),
            own_key,
            self._text("identity", root, record),
            self._revision_of(root, record),
            start=start,
            end=end,
            reference_id=self._text("reference_id", root, record),
        )

    def _voids(
        self, root: object, record: object, fields: Fields, received: float
    ) -> Iterable[Reference]:
        """Yield what takes a reference back: no value is needed, nor a time beside an identity."""
        identity = self._text("identity", root, record)
        try:
            time, own_key = self._common(root, record, received)
        except Rejected as error:
            if error.reason != "missing_field" or not identity:
                raise
            time, own_key = NAN, ""
        if not math.isnan(time):
            check_time(time, received)
        revision = self._revision_of(root, record)
        revision += 2 - revision % 4
        for one in self._series:
            quantity = one.quantity(fields)
            yield Reference(
                _subject(self._sensor(fields)),
                check_name("quantity", quantity) if quantity else "",
                time,
                NAN,
                key=own_key,
                identity=identity,
                revision=revision,
                void=True,
            )

    def _event(self, root: object, record: object, fields: Fields, received: float) -> Event:
        return Event(
            check_name("sensor", self._sensor(fields)),
            check_time(self._time(root, record, received), received),
            check_name("event", self._text("event", root, record)),
            self._text("note", root, record),
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
        return "" if text is None else check_key(text(root, record))

    def _status(self, root: object, record: object) -> str:
        status = self._text("status", root, record).lower()
        if status not in _RANKS:
            raise Rejected(
                "bad_field",
                f"status at `{shown(self.spec.status)}` is {status[:60]!r}; "
                "use prelim, final or void",
            )
        return status

    def _revision_of(self, root: object, record: object) -> int:
        """Return 4 times the revision plus the rank of the status."""
        stated = 0.0 if self._revision is None else self._revision(root, record)
        if not (0 <= stated <= _REVISION_MAX and stated == int(stated)):
            raise Rejected(
                "bad_field",
                f"revision at `{shown(self.spec.revision)}` is {stated:g}; use 0, 1, 2, ...",
            )
        return 4 * int(stated) + _RANKS[self._status(root, record)]


def _with_claim(reading: Reading, claim: Claim) -> Distribution:
    return Distribution(
        **msgspec.structs.asdict(reading),
        places=packed(claim.places),
        levels=packed(claim.levels),
    )


def _subject(name: str) -> str:
    """Return whom a reference is about; nobody in particular where pairing is by key alone."""
    return check_name("subject", name) if name else name
