"""The quantities of a record: name, value and uncertainty in the unit each is kept in."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.core.model import NAN
from monitor.decode.checks import (
    Rejected,
    check_interval,
    expanded_to_standard,
    states_interval,
)
from monitor.decode.paths import (
    MISSING,
    Fetch,
    Fetchers,
    Place,
    Text,
    number_and_unit,
    shown,
    type_of,
)
from monitor.decode.records import Compose, composer
from monitor.decode.spec import Kind, MapError, MapSpec, SeriesSpec
from monitor.decode.uncertainty import (
    Form,
    Stated,
    forms,
    formula,
)
from monitor.decode.units import Units, conversion


class Measured(NamedTuple):
    """A value with its stated uncertainty, in a unit; "" if none is known."""

    stated: Stated
    assumed: bool
    unit: str


class Quantity:
    """Reads one quantity of records; raises MapError where ``spec`` cannot be used.

    ``unit`` is that of its source, ``place`` is where the settings define it.
    """

    def __init__(self, spec: SeriesSpec, unit: str, fetchers: Fetchers, place: Place) -> None:
        fetchers = fetchers.scaled(spec.scale, spec.offset)
        number = fetchers.number_if_stated if spec.stated else fetchers.number
        self._value: Final = number(spec.value, (*place, "value")) if spec.value else None
        self._errors: Final = {spec.scale * each + spec.offset: each for each in spec.error_values}
        stating = forms(spec, fetchers, place)
        self._forms: Final = [_or_nothing(form) for form in stating] if spec.assumed else stating
        if self._value is None and not (spec.samples or spec.lower or spec.quantiles):
            raise MapError((*place, "value"), "is missing; write the path of the value")
        self._assume: Final = formula(spec.assumed, (*place, "assumed")) if spec.assumed else None
        self._wanted: Final = spec.to_unit or unit or spec.unit
        self._unit: Final = _stated_unit(spec, self._wanted, fetchers, place)
        has_unit = bool(spec.value) and fetchers.number_texts
        self._in_text: Final = _unit_in_text(spec.value, fetchers, place) if has_unit else None
        self.present: Final = presence(spec, fetchers, place)
        self._raw: Final = [fetchers.raw(path, place) for path in _numbers_of(spec)]
        self.name: Final = shown(spec.value or spec.samples or spec.lower or "quantiles")
        self._paths: Final = _paths(spec, place)
        self._fetchers: Final = fetchers

    def measure(
        self, root: object, record: object, key: tuple[str, str], units: Units | None
    ) -> Measured:
        """Return a quantity of a record, ``key`` being (name, quantity); raises Rejected."""
        value = NAN if self._value is None else self._value(root, record)
        if value in self._errors:
            detail = f"value at `{self.name}` is {self._errors[value]:.12g}, one of error_values"
            raise Rejected("no_reading", detail, self.name)
        stated = Stated(value)
        for form in self._forms:
            stated = form(root, record, stated)
        if math.isnan(stated.value):
            where = f" at `{self.name}`" if self._value else ": neither mapped nor a quantile 0.5"
            raise Rejected("missing_field", f"value is missing{where}", self.name)
        in_text = "" if self._in_text is None else self._in_text(root, record)
        unit = in_text or self._unit(root, record)
        own = target = self._wanted or unit
        if units is not None:
            target = units.settled(*key, own)
        if unit != own:
            conversion(unit, own)
        scale, offset = conversion(unit, target)
        if scale != 1.0 or offset != 0.0:
            stated = _converted(stated, scale, offset)
        if self._assume is not None and math.isnan(stated.u) and math.isnan(stated.lower):
            u = self._assume(stated.value)
            return Measured(stated._replace(u=u), assumed=True, unit=target)
        return Measured(stated, assumed=False, unit=target)

    def is_null(self, root: object, record: object) -> bool:
        """Return whether a record names the quantity, and says that it has no value."""
        return any(find(root, record) is None for find in self._raw)

    def place_of(self, field: str, root: object, record: object) -> str:
        """Return the path from which a field was read; of several, one that exists.

        "" where it was read nowhere.
        """
        paths = self._paths.get(field, ())
        for path in paths:
            if path.startswith("$") and len(paths) > 1:
                value = self._fetchers.fetch(path, ())(root, record)
                if value is not MISSING:
                    return path
        return paths[0] if paths else ""


def _or_nothing(form: Form) -> Form:
    """Return ``form`` for settings under which it may find nothing, since a u is assumed then."""

    def find(root: object, record: object, stated: Stated) -> Stated:
        try:
            return form(root, record, stated)
        except Rejected as error:
            if error.reason != "missing_field":
                raise
            return stated

    return find


def u_of_reference(stated: Stated) -> float:
    """Return the standard uncertainty of a reference, also where an interval is stated."""
    if math.isnan(stated.u) and states_interval(stated.lower, stated.upper):
        lower, upper = check_interval(stated.lower, stated.upper)
        half = (upper - lower) / 2.0
        return expanded_to_standard(half, None, None if math.isnan(stated.p) else stated.p)
    return stated.u


def presence(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Fetch:
    """Return what finds the first of a quantity's numbers, MISSING if the record has none."""
    fetches = [fetchers.fetch(path, place) for path in _numbers_of(spec)]

    def find(root: object, record: object) -> object:
        for fetch in fetches:
            value = fetch(root, record)
            if value is not MISSING:
                return value
        return MISSING

    return find


def _numbers_of(spec: SeriesSpec) -> list[str]:
    """Return the paths of the numbers of which a quantity has at least one."""
    paths = [spec.value, spec.samples, spec.lower, *spec.quantiles.values()]
    return [path for path in paths if path]


def _paths(spec: SeriesSpec, place: Place) -> Mapping[str, Sequence[str]]:
    """Return the paths from which each field of an observation may be read, settings last."""
    settings = f"map.series[{place[-1]}]"
    quantiles = [path for _, path in sorted(spec.quantiles.items(), key=lambda one: float(one[0]))]
    given = {
        "value": (spec.value, spec.samples, spec.lower),
        "u": (spec.u, spec.U, spec.percent, spec.samples),
        "lower": (spec.lower, spec.plus_minus, *quantiles[:1]),
        "upper": (spec.upper, spec.plus_minus, *quantiles[-1:]),
        "unit": (spec.unit_path,),
        **{name: (getattr(spec, name),) for name in ("k", "p", "plus_minus")},
    }
    places = {
        name: (*(shown(path) for path in paths if isinstance(path, str) and path), settings)
        for name, paths in given.items()
    }
    whole = "$" if spec.stated else settings
    return {**places, "uncertainty": (whole,), "assumed u": (f"{settings}.assumed",)}


def _converted(stated: Stated, scale: float, offset: float) -> Stated:
    """Return ``stated`` in another unit: an uncertainty only scales."""
    limits = stated.lower * scale + offset, stated.upper * scale + offset
    lower, upper = limits if scale > 0 else limits[::-1]
    value = stated.value * scale + offset
    claim = None if stated.claim is None else stated.claim.converted(scale, offset)
    return Stated(value, stated.u * abs(scale), lower, upper, stated.p, claim)


def _stated_unit(spec: SeriesSpec, wanted: str, fetchers: Fetchers, place: Place) -> Text:
    """Return the function that finds a record's unit, "" if none is stated; raises MapError."""
    try:
        conversion(spec.unit, wanted)
    except Rejected as error:
        raise MapError((*place, "to_unit" if spec.to_unit else "unit"), error.detail) from error
    unit = spec.unit or wanted
    if not spec.unit_path:
        return lambda _root, _record: unit
    fetch, name = fetchers.fetch(spec.unit_path, (*place, "unit_path")), shown(spec.unit_path)

    def find(root: object, record: object) -> str:
        stated = fetch(root, record)
        if stated is MISSING:
            if spec.unit or not wanted:
                return unit
            detail = f"unit is missing at `{name}`; the series is in {wanted!r}"
            raise Rejected("unit", detail, name)
        if not isinstance(stated, str):
            detail = f"unit at `{name}` is {type_of(stated)}, not a text"
            raise Rejected("bad_field", detail, name)
        if spec.unit and stated != spec.unit:
            detail = f"unit at `{name}` is {stated[:60]!r}, the source declares {spec.unit!r}"
            raise Rejected("unit", detail, name)
        return stated

    return find


def _unit_in_text(path: str, fetchers: Fetchers, place: Place) -> Text:
    """Return the function that finds the unit in the text of a value, "" if it names none."""
    fetch = fetchers.fetch(path, place)

    def find(root: object, record: object) -> str:
        value = fetch(root, record)
        return number_and_unit(value)[1] if isinstance(value, str) else ""

    return find


class One(NamedTuple):
    """One quantity: how it is named and measured."""

    name: Compose
    quantity: Quantity


def quantities(
    spec: MapSpec, kind: Kind, fetchers: Fetchers, known: Collection[str], unit: str
) -> list[One]:
    """Return the quantities of a record; ``unit`` is the source's where a series names none."""
    if kind == "collocation":
        return []
    if kind == "event":
        if not spec.event:
            raise MapError(("event",), "is missing; write the path of the event's name")
        return []
    if not spec.series:
        raise MapError(("series",), "is missing; write at least one entry with its value")
    return [
        _one(each, ("series", at), fetchers, known, unit) for at, each in enumerate(spec.series)
    ]


def _one(
    each: SeriesSpec, place: Place, fetchers: Fetchers, known: Collection[str], unit: str
) -> One:
    quantity = Quantity(each, unit, fetchers, place)  # first: its mistakes have better places
    return One(composer(each.quantity or "{quantity}", known, (*place, "quantity")), quantity)
