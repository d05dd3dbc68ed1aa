"""What a mapping is told by the settings: plain values, paths as they are written.

Rules of this file: a text is a path unless said otherwise; a path that is empty is not used; where
a number may stand instead of a path it is a constant.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

Kind = Literal["reading", "reference", "event", "collocation"]
Scalar = str | int | float | bool
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class SeriesSpec(NamedTuple):
    """One quantity of a record: where its value and uncertainty stand.

    ``quantity`` is a composition of fields, such as ``pm25`` or ``{quantity}``; ``unit`` and
    ``to_unit`` are units; ``assumed`` is a formula of ``value``.
    """

    quantity: str = ""
    value: str = ""
    unit: str = ""
    unit_path: str = ""
    to_unit: str = ""
    u: float | str = ""
    U: float | str = ""
    percent: float | str = ""
    k: float | str = ""
    p: float | str = ""
    lower: str = ""
    upper: str = ""
    plus_minus: float | str = ""
    quantiles: Mapping[str, str] = _NOTHING
    samples: str = ""
    assumed: str = ""


class MapSpec(NamedTuple):
    """How the records of one source become observations.

    ``sensor`` and ``subject`` are compositions of the fields of topic and ``names``.
    """

    series: tuple[SeriesSpec, ...] = ()
    each: str = ""
    columnar: str = ""
    time: str | tuple[str, ...] = "time"
    time_unit: str = "auto"
    time_zone: str = ""
    time_layout: str = ""
    sensor: str = "{sensor}"
    subject: str = "{subject}"
    names: Mapping[str, str] = _NOTHING
    key: str = ""
    key_remove: str = ""
    key_case: str = ""
    sequence: str = ""
    identity: str = ""
    reference_id: str = ""
    revision: str = ""
    status: str = ""
    start: str = ""
    end: str = ""
    distance_m: float | str = ""
    event: str = ""
    note: str = ""
    select: Mapping[str, tuple[Scalar, ...]] = _NOTHING
    where: Mapping[str, tuple[Scalar, ...]] = _NOTHING
    void_where: Mapping[str, tuple[Scalar, ...]] = _NOTHING
    defaults: Mapping[str, Scalar] = _NOTHING
    optional: bool = False
    number_texts: bool = False
    columns: tuple[str, ...] = ()
    delimiter: str = ","


class MapError(ValueError):
    """A mapping cannot be used; ``place`` is the key that says so, the message what to write."""

    def __init__(self, place: tuple[str | int, ...], what: str) -> None:
        super().__init__(what)
        self.place = place
