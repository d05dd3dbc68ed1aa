"""The mapping's reading, again: each path, its content, and the kept value.

Rules of this file: it shows and never decides; kept values come from the observation that the
decoder made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from monitor.core.model import (
    Collocation,
    Observation,
    Reading,
    Reference,
    time_of,
)
from monitor.decode.checks import central
from monitor.decode.fields import ARRIVAL
from monitor.decode.mapping import Mapped
from monitor.decode.paths import MISSING, Fetchers, number_and_unit, path_of, shown, steps
from monitor.decode.quantity import presence
from monitor.decode.records import Seen
from monitor.decode.spec import MapSpec, Scalar, SeriesSpec
from monitor.decode.time import parsed, second_occurrence
from monitor.decode.units import Conversion, Units, conversion
from monitor.explain.excerpt import Spelled, leaves
from monitor.explain.explanation import (
    Read,
    Uncertainty,
    amount_text,
    as_json,
    seven_digits,
    shortened,
    utc,
)

_EXACT: Final = "none is stated: taken as exact"
_FORMS: Final = ("u", "U", "percent", "samples", "lower", "plus_minus", "quantiles")
_PARTS: Final = ("u", "U", "percent", "plus_minus", "lower", "upper", "k", "p")
_TEXTS: Final = (
    "sequence",
    "identity",
    "reference_id",
    "revision",
    "status",
    "event",
    "note",
    "distance_m",
)
_UNIT_OF_NUMBER: Final = {"s": "seconds", "ms": "ms", "us": "us", "ns": "ns"}


class MappedRecord:
    """One record, read again by the paths of its mapping."""

    def __init__(self, mapped: Mapped, row: Seen, units: Units) -> None:
        self.spec: Final = mapped.spec
        self.seen: Final = row
        self._unit: Final = mapped.unit
        self._units: Final = units
        self._bare: Final = Fetchers({}, number_texts=mapped.spec.number_texts)

    def at(self, setting: float | str) -> Spelled:
        """Return the content of a path, or the constant in its place."""
        if not isinstance(setting, str):
            whole = int(setting) if setting.is_integer() else setting
            return Spelled("", whole, "settings")
        value = self._bare.fetch(setting, ())(self.seen.root, self.seen.record)
        if value is not MISSING:
            return Spelled(shown(setting), value, "payload")
        default = self.spec.defaults.get(setting, MISSING)
        return Spelled(shown(setting), default, "missing" if default is MISSING else "default")

    def series(self) -> list[SeriesSpec]:
        """Return the quantities of this record, as the mapping chooses them."""
        fetchers = Fetchers(self.spec.defaults, number_texts=self.spec.number_texts)
        every = self.spec.series
        return [
            each
            for each in every
            if not (len(every) > 1 or self.spec.optional)
            or presence(each, fetchers, ())(self.seen.root, self.seen.record) is not MISSING
        ]

    def series_of(self, place: int) -> SeriesSpec | None:
        """Return the quantity behind the part at ``place``, None if it concerns the record."""
        if isinstance(self.seen.found[place], Reference) and self.seen.found[place].void:  # type: ignore[union-attr]
            return None
        wanted = self.series()
        each = wanted[place] if len(wanted) == len(self.seen.found) else None
        return self._narrowed(each) if each is not None and each.stated else each

    def _narrowed(self, each: SeriesSpec) -> SeriesSpec:
        """Return a quantity that takes only stated values, with only those that are stated."""
        there = {name for name in (*_PARTS, "value") if self._is_stated(getattr(each, name))}
        if "u" in there:
            there -= {"U", "k"}
        if not {"lower", "upper"} <= there:
            there -= {"lower", "upper"}
        left_out: dict[str, Any] = {name: "" for name in (*_PARTS, "value") if name not in there}
        return each._replace(**left_out)

    def _is_stated(self, path: float | str) -> bool:
        return path != "" and self.at(path).there

    # -- the record as a whole --------------------------------------------------------------

    def common(self, observation: Observation) -> Iterator[Read]:
        """Yield what is read besides the quantities: conditions, time, key, identity."""
        for path, template in self.spec.names.items():
            spelled = self.at(path)
            if spelled.there:
                yield spelled.read("names", note=f"split as {template}")
        for setting in ("select", "where", "void_where"):
            choices: Mapping[str, tuple[Scalar, ...]] = getattr(self.spec, setting)
            for path, values in choices.items():
                note = f"{_CHOOSES[setting]} {', '.join(map(str, values))}"
                yield self.at(path).read(setting, note=note)
        yield from self._times(observation)
        yield from self._texts(observation)

    def _times(self, observation: Observation) -> Iterator[Read]:
        stored = utc(time_of(observation))
        spelled = self.time()
        if len(spelled) == 1 and spelled[0].path == ARRIVAL:
            yield Read("time", "", "", "settings", stored, "time of arrival")
        for each in spelled:
            if each.path != ARRIVAL and each.there:
                yield each.read("time", stored)
        if isinstance(observation, Reference | Collocation):
            for name in ("start", "end"):
                path, time = getattr(self.spec, name), getattr(observation, name)
                if path and not math.isnan(time):
                    yield self.at(path).read(name, utc(time))

    def _texts(self, observation: Observation) -> Iterator[Read]:
        if self.spec.key and isinstance(observation, Reading | Reference):
            spelled = self.at(self.spec.key)
            if spelled.says:
                yield spelled.read("key", observation.key, self._key_note())
        for name in _TEXTS:
            path = getattr(self.spec, name)
            if path != "" and self.at(path).says:
                yield self.at(path).read(name)

    def _key_note(self) -> str:
        removed = f"key_remove {self.spec.key_remove!r}" if self.spec.key_remove else ""
        case = f"key_case {self.spec.key_case}" if self.spec.key_case else ""
        return ", ".join(filter(None, (removed, case)))

    def time(self) -> list[Spelled]:
        """Return the sources of the time; for a reference without one, of its end."""
        if isinstance(self.seen.found[0], Collocation):
            return [self.at(self.spec.start)]
        if self.spec.time == ARRIVAL:
            return [Spelled(ARRIVAL, MISSING, "settings")]
        paths = (self.spec.time,) if isinstance(self.spec.time, str) else self.spec.time
        spelled = [self.at(path) for path in paths]
        if not all(each.there for each in spelled) and self.spec.end:
            spelled = [self.at(self.spec.end)]
        return spelled

    def zone(self, stored: float) -> str:
        """Describe the zone, or the clock, of the time, ``stored`` in s since 1970 UTC."""
        spelled = self.time()
        if spelled[0].path == ARRIVAL:
            return "this machine's clock: time: arrival; a retained message is not used"
        if not all(each.there for each in spelled):
            return ""
        if len(spelled) > 1:
            return self._zone_of_text(" ".join(str(each.found) for each in spelled), stored)
        stated = spelled[0].found
        if isinstance(stated, datetime):
            return self._zone_of(stated, stored)
        return self._zone_of_text(stated, stored) if isinstance(stated, str) else self._counted()

    def _zone_of_text(self, text: str, stored: float) -> str:
        try:
            return self._zone_of(parsed(text, self.spec.time_layout), stored)
        except ValueError:
            return self._counted()

    def _zone_of(self, time: datetime, stored: float) -> str:
        offset = time.utcoffset()
        if time.tzinfo is None or offset is None:
            return (
                f"no zone was sent: time_zone {self.spec.time_zone}{self._occurrence(time, stored)}"
            )
        if not offset:
            return "sent in UTC"
        return f"sent with the offset {time.isoformat()[-6:]}"

    def _occurrence(self, time: datetime, stored: float) -> str:
        """Return which occurrence of an hour that clocks show twice was taken, and why."""
        first = time.replace(tzinfo=ZoneInfo(self.spec.time_zone), fold=0)
        second = second_occurrence(first)
        if second is None:
            return ""
        is_second = abs(stored - second.timestamp()) < abs(stored - first.timestamp())
        ordinal, taken = ("second", second) if is_second else ("first", first)
        return (
            f"; clocks show this hour twice: the {ordinal} time, {taken.isoformat()[-6:]}, is "
            "nearest the arrival"
        )

    def _counted(self) -> str:
        if self.spec.time_unit != "auto":
            return f"{_UNIT_OF_NUMBER[self.spec.time_unit]} since 1970 UTC: time_unit"
        return "a number since 1970 UTC, its unit told by its size"

    # -- one quantity -----------------------------------------------------------------------

    def measured(self, each: SeriesSpec, reading: Reading | Reference) -> Iterator[Read]:
        """Yield the numbers of one quantity as sent, the value also as kept."""
        if each.unit_path and self.at(each.unit_path).there:
            yield self.at(each.unit_path).read("unit")
        if each.value:
            yield self._value(each, reading)
        if each.samples:
            yield self.at(each.samples).read("samples")
        for name in _PARTS:
            setting = getattr(each, name)
            if setting != "" and self.at(setting).there:
                yield self.at(setting).read(name)
        for level, path in each.quantiles.items():
            yield self.at(path).read(f"quantile {level}")

    def _value(self, each: SeriesSpec, reading: Reading | Reference) -> Read:
        unit, kept_unit, convert = self.units(each, reading)
        stored = amount_text(reading.value, kept_unit)
        notes = []
        if (each.scale, each.offset) != (1.0, 0.0):
            notes.append(f"as sent {_line(each.scale, each.offset)}")
        if convert != Conversion():
            notes.append(f"{unit} to {kept_unit}: {_line(*convert)}")
        shown_as = stored if kept_unit or notes else ""
        return self.at(each.value).read("value", shown_as, "; ".join(notes))

    def units(self, each: SeriesSpec, of: Reading | Reference) -> tuple[str, str, Conversion]:
        """Return the unit as sent, the unit kept, and how to convert."""
        wanted = each.to_unit or self._unit or each.unit
        unit = each.unit or wanted
        if each.unit_path:
            stated = self.at(each.unit_path)
            if isinstance(stated.found, str):
                unit = stated.found
        value = self.at(each.value).found if each.value and self.spec.number_texts else None
        unit = (number_and_unit(value)[1] if isinstance(value, str) else "") or unit
        own = wanted or unit
        name = of.subject if isinstance(of, Reference) else of.sensor
        stored = self._units.settled(name, of.quantity, own)
        return unit, stored, conversion(unit, stored)

    def uncertainty(self, each: SeriesSpec, observed: Reading | Reference) -> Uncertainty:
        """Return how the uncertainty was stated, and its kept value."""
        if isinstance(observed, Reference):
            form = self._form(each, reference=True)
            if form == _EXACT and observed.u > 0.0:
                form = "none is stated: that of the source's certificate"
            return Uncertainty(form, observed.u)
        if observed.assumed:
            form = f"assumed by the settings: {each.assumed}"
            return Uncertainty(form, observed.u, assumed=True)
        form = self._form(each, reference=False)
        if not math.isnan(observed.lower) and math.isnan(observed.p):
            form += "; p is not stated: scoring.level holds"
        return Uncertainty(form, observed.u, observed.lower, observed.upper, observed.p)

    def _form(self, each: SeriesSpec, *, reference: bool) -> str:
        forms = [
            self._form_words(name, each)
            for name in _FORMS
            if getattr(each, name) not in ("", {}) and self._is_there(name, each)
        ]
        if not forms:
            return _EXACT if reference else "none is stated"
        alone = reference and not (each.u or each.U or each.percent or each.samples)
        return "; ".join(forms) + ("; a reference's u is that of the normal" if alone else "")

    def _is_there(self, name: str, each: SeriesSpec) -> bool:
        if name == "quantiles":
            return all(self.at(path).there for path in each.quantiles.values())
        return self.at(getattr(each, name)).there

    def _form_words(self, name: str, each: SeriesSpec) -> str:
        if name == "u":
            return "standard uncertainty"
        if name in ("U", "percent"):
            start = "expanded uncertainty"
            start += ", in percent of the value" if name == "percent" else ""
            return f"{start}, {self._factor(each)}"
        if name == "samples":
            samples = self.at(each.samples).found
            count = len(samples) if isinstance(samples, list | tuple) else 0
            return f"mean and u of {count} samples"
        if name == "quantiles":
            levels = sorted(each.quantiles, key=float)
            low, high = central([float(each) for each in levels]) or (0, -1)
            return f"quantiles {levels[low]} to {levels[high]}"
        return "coverage interval" if name == "lower" else "interval around the value"

    def _factor(self, each: SeriesSpec) -> str:
        if each.k != "":
            return f"k = {shortened(as_json(self.at(each.k).found))}"
        if each.p != "":
            return f"p = {shortened(as_json(self.at(each.p).found))}, through the normal"
        return "k = 2, because neither k nor p is stated"

    # -- what is left -----------------------------------------------------------------------

    def not_read(self) -> list[str]:
        """Return the paths in the record that nothing uses."""
        asked = {path for path in _paths(self.spec) if isinstance(path, str)}
        asked = {_one_spelling(path) for path in asked}
        return [
            shown(leaf)
            for leaf in leaves(self.seen.record, "")
            if not any(_is_below(leaf, path) or _is_below(path, leaf) for path in asked)
        ]


def _line(scale: float, offset: float) -> str:
    return f"x {seven_digits(scale)}{f' {offset:+.7g}' if offset else ''}"


def _is_below(leaf: str, path: str) -> bool:
    return leaf == path or leaf.startswith((f"{path}.", f"{path}["))


def _one_spelling(path: str) -> str:
    try:
        return path_of(steps(path))
    except ValueError:
        return path


_CHOOSES: Final = {
    "select": "looked at if it is",
    "where": "used if it is",
    "void_where": "withdraws if it is",
}


def _paths(spec: MapSpec) -> Iterator[object]:
    yield from (spec.time,) if isinstance(spec.time, str) else spec.time
    for name in ("key", "sequence", "identity", "reference_id", "revision"):
        yield getattr(spec, name) or None
    for name in ("status", "start", "end"):
        yield getattr(spec, name) or None
    yield from (spec.event or None, spec.note or None, spec.distance_m or None)
    for each in (spec.names, spec.agree, spec.select, spec.where, spec.void_where):
        yield from each
    for one in spec.series:
        yield from (getattr(one, name) or None for name in (*_PARTS, "value", "samples"))
        yield one.unit_path or None
        yield from one.quantiles.values()
