"""One quantity of a record: value and uncertainty in the unit of the series."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from monitor.core.model import NAN
from monitor.decode.checks import Rejected, expanded_to_standard
from monitor.decode.fetching import (
    Fetch,
    Fetchers,
    Place,
    shown,
    to_text,
)
from monitor.decode.paths import MISSING
from monitor.decode.specification import MapError, SeriesSpec
from monitor.decode.uncertainty import (
    Form,
    Stated,
    forms,
    formula,
)
from monitor.decode.units import Conversion, conversion


class Measured(NamedTuple):
    """A value with what is stated of its uncertainty, and whether the settings stated it."""

    stated: Stated
    assumed: bool


Measure = Callable[[object, object], Measured]
Convert = Callable[[object, object], Conversion]


def measure(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Measure:
    """Return what reads one quantity of a record; raises MapError."""
    value = fetchers.number(spec.value, (*place, "value")) if spec.value else None
    stating = forms(spec, fetchers, place)
    if spec.assumed:
        stating = [_or_nothing(form) for form in stating]
    if value is None and not (spec.samples or spec.lower or spec.quantiles):
        raise MapError((*place, "value"), "is missing; write the path of the value")
    assume = formula(spec.assumed, (*place, "assumed")) if spec.assumed else None
    convert = _converter(spec, fetchers, place)

    def read(root: object, record: object) -> Measured:
        stated = Stated(NAN if value is None else value(root, record))
        for form in stating:
            stated = form(root, record, stated)
        if math.isnan(stated.value):
            raise Rejected("missing_field", "value is missing: neither mapped nor a quantile 0.5")
        scale, offset = convert(root, record)
        if scale != 1.0 or offset != 0.0:
            stated = _converted(stated, scale, offset)
        if assume is not None and math.isnan(stated.u) and math.isnan(stated.lower):
            return Measured(stated._replace(u=assume(stated.value)), assumed=True)
        return Measured(stated, assumed=False)

    return read


def _or_nothing(form: Form) -> Form:
    """Return ``form`` where it may find nothing, for something is assumed then."""

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
    if math.isnan(stated.u) and not math.isnan(stated.lower):
        half = (stated.upper - stated.lower) / 2.0
        return expanded_to_standard(half, None, None if math.isnan(stated.p) else stated.p)
    return stated.u


def presence(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Fetch:
    """Return what finds the first of a quantity's numbers, MISSING if the record has none."""
    paths = [spec.value, spec.samples, spec.lower, *spec.quantiles.values()]
    fetches = [fetchers.fetch(path, place) for path in paths if path]

    def find(root: object, record: object) -> object:
        for fetch in fetches:
            found = fetch(root, record)
            if found is not MISSING:
                return found
        return MISSING

    return find


def _converted(stated: Stated, scale: float, offset: float) -> Stated:
    """Return ``stated`` in another unit: an uncertainty only scales."""
    limits = stated.lower * scale + offset, stated.upper * scale + offset
    lower, upper = limits if scale > 0 else limits[::-1]
    value = stated.value * scale + offset
    claim = None if stated.claim is None else stated.claim.converted(scale, offset)
    return Stated(value, stated.u * abs(scale), lower, upper, stated.p, claim)


def _converter(spec: SeriesSpec, fetchers: Fetchers, place: Place) -> Convert:
    wanted = spec.to_unit or spec.unit
    try:
        declared = conversion(spec.unit, wanted)
    except Rejected as error:
        raise MapError((*place, "to_unit" if spec.to_unit else "unit"), error.detail) from error
    if not spec.unit_path:
        return lambda _root, _record: declared
    fetch, name = fetchers.fetch(spec.unit_path, (*place, "unit_path")), shown(spec.unit_path)

    def convert(root: object, record: object) -> Conversion:
        found = fetch(root, record)
        if found is MISSING:
            if spec.unit or not wanted:
                return declared
            raise Rejected("unit", f"unit is missing at `{name}`; the series is in {wanted!r}")
        unit = to_text(f"unit at `{name}`", found)
        if spec.unit and unit != spec.unit:
            what = f"unit at `{name}` is {unit[:60]!r}, the source declares {spec.unit!r}"
            raise Rejected("unit", what)
        return conversion(unit, wanted)

    return convert
