"""A mapping's specification: where a payload holds what. docs/formats.md shows mappings.

Each field defines its setting completely: default, range and meaning; the section ``map`` of a
source, its schema and its documentation are made from the fields (monitor.config.kinds).

Rules of this file: a text is a path unless said otherwise; an empty path is not used; where a
number may replace a path it is a constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple

from annotated_types import Ge, Gt, Le, MaxLen, MinLen, doc

from monitor.core.setting import Check

Kind = Literal["reading", "reference", "event", "collocation"]
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def _path_or_number(value: object) -> object:
    if isinstance(value, str):
        if len(value) > 200:
            raise ValueError("must have at most 200 characters")
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise ValueError("must be a path or a finite number")


def _scalar(value: object) -> object:
    if isinstance(value, str | int | float) and not (
        isinstance(value, float) and not math.isfinite(value)
    ):
        return value
    raise ValueError("must be a text, a finite number, true or false")


def _paths(value: object) -> object:
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and 1 <= len(value) <= 4:
        parts = tuple(value)
        if all(isinstance(part, str) for part in parts):
            return parts
    raise ValueError("must be a path, or a list of up to four paths whose texts are joined")


def _unit(unit: str) -> str:
    if not unit.isprintable():
        raise ValueError("is not a unit; use printable characters, such as kg")
    return unit


Path = Annotated[str, MaxLen(200)]
Scalar = Annotated[str | int | float | bool, Check(_scalar, is_whole=True)]
PathOrNumber = Annotated[float | Path, Check(_path_or_number, is_whole=True)]
Paths = Annotated[Path | tuple[Path, ...], Check(_paths, is_whole=True)]
Choices = Annotated[
    Mapping[Path, Annotated[tuple[Scalar, ...], MinLen(1), MaxLen(100)]], MaxLen(20)
]
Composition = Annotated[str, MaxLen(200)]
Unit = Annotated[str, MaxLen(32), Check(_unit)]


class SeriesSpec(NamedTuple):
    """One quantity of a record: its value and how its uncertainty is stated."""

    quantity: Annotated[
        Composition,
        doc("Name of the quantity; may contain fields such as {quantity}; empty for the topic's."),
    ] = ""
    value: Annotated[
        Path,
        doc("Path of the value; not needed with samples, quantiles, or lower and upper."),
    ] = ""
    error_values: Annotated[
        tuple[float, ...],
        MaxLen(20),
        doc("Values by which a sensor says that it has none, such as [-127, 85]; in its unit."),
    ] = ()
    scale: Annotated[
        float,
        Gt(0.0),
        doc("Factor of the numbers that are sent, such as 0.1 for tenths of the unit."),
    ] = 1.0
    offset: Annotated[float, doc("What is added to the values after that, in the unit.")] = 0.0
    unit: Annotated[Unit, doc("Unit of the payload.")] = ""
    unit_path: Annotated[Path, doc("Path of the unit, where the payload states it.")] = ""
    to_unit: Annotated[
        Unit, doc("Unit of the series; empty for the source's, else the payload's.")
    ] = ""
    u: Annotated[PathOrNumber, doc("Standard uncertainty.")] = ""
    U: Annotated[
        PathOrNumber, doc("Expanded uncertainty, with k or p; k is 2 if neither is given.")
    ] = ""
    percent: Annotated[PathOrNumber, doc("Expanded uncertainty in percent of the value, as U.")] = (
        ""
    )
    k: Annotated[PathOrNumber, doc("Coverage factor of U or percent.")] = ""
    p: Annotated[PathOrNumber, doc("Coverage probability of the interval, or of U or percent.")] = (
        ""
    )
    lower: Annotated[Path, doc("Lower limit of the coverage interval.")] = ""
    upper: Annotated[Path, doc("Upper limit of the coverage interval.")] = ""
    plus_minus: Annotated[PathOrNumber, doc("Half the width of the interval around the value.")] = (
        ""
    )
    quantiles: Annotated[
        Mapping[str, Path],
        MaxLen(100),
        doc("Paths of quantiles, each under its level in quotes (docs/formats.md#uncertainty)."),
    ] = _NOTHING
    samples: Annotated[Path, doc("Path of an ensemble: its mean, and u of one more member.")] = ""
    assumed: Annotated[
        str,
        MaxLen(200),
        doc(
            "Formula of u where the payload states none, of `value` in the unit of the series, "
            "with abs, sqrt, max and min."
        ),
    ] = ""
    # Whether only the value, interval and u that a record states count, u before U; native's own.
    stated: bool = False


class MapSpec(NamedTuple):
    """Where the fields are in a payload: paths such as pm25.v or list[0].x; docs/formats.md."""

    series: Annotated[
        tuple[SeriesSpec, ...],
        MaxLen(200),
        doc("The quantities of a record."),
    ] = ()
    each: Annotated[
        Path, doc("Path of an array whose entries are the records; $ for the payload.")
    ] = ""
    columnar: Annotated[Path, doc("Path of a map of arrays whose rows are the records.")] = ""
    time: Annotated[
        Paths,
        doc(
            "Path of the time, or paths of texts to put together; arrival for the time of arrival."
        ),
    ] = "time"
    time_unit: Annotated[
        Literal["auto", "s", "ms", "us", "ns"],
        doc("Unit of times that are numbers; auto decides by their size."),
    ] = "auto"
    time_zone: Annotated[
        str,
        MaxLen(64),
        doc("Zone of times without one, such as Pacific/Auckland; without it they are rejected."),
    ] = ""
    time_layout: Annotated[
        str, MaxLen(64), doc("Layout of times that are not ISO 8601, as strptime reads it.")
    ] = ""
    sensor: Annotated[
        Composition, doc("Name of the sensor, made of the topic's fields or names.")
    ] = "{sensor}"
    subject: Annotated[
        Composition,
        doc("Subject of a reference or a collocation, made of the topic's fields or names."),
    ] = "{subject}"
    names: Annotated[
        Mapping[Path, Composition],
        MaxLen(8),
        doc("Texts of the payload that are split into fields: path and {subject}.{quantity}."),
    ] = _NOTHING
    key: Annotated[Path, doc("Path of the key.")] = ""
    key_remove: Annotated[str, MaxLen(32), doc("Characters that are removed from the key.")] = ""
    key_case: Annotated[Literal["", "upper", "lower"], doc("Case of the key.")] = ""
    sequence: Annotated[Path, doc("Path of the sequence number.")] = ""
    identity: Annotated[Path, doc("Path of the identity of a reference.")] = ""
    reference_id: Annotated[
        Path,
        doc("Path of the name of the instrument that measured the reference; else the subject."),
    ] = ""
    revision: Annotated[Path, doc("Path of the reference's revision, a whole number.")] = ""
    status: Annotated[Path, doc("Path of the reference's status: prelim, final or void.")] = ""
    start: Annotated[
        Path,
        doc("Path of the start of a mean's interval, or of a collocation."),
    ] = ""
    end: Annotated[
        Path,
        doc("Path of its end; also the time of the reference, if it states no other."),
    ] = ""
    duration_seconds: Annotated[
        float,
        Ge(0.0),
        Le(31_622_400.0),
        doc(
            "Length of a mean's interval where a record states one time, such as 3600; 0 for none."
        ),
    ] = 0.0
    stamp: Annotated[
        Literal["start", "middle", "end"],
        doc("Which point of that interval the stated time is."),
    ] = "end"
    distance_m: Annotated[
        PathOrNumber, doc("How far a sensor stands from the reference while collocated, in metres.")
    ] = ""
    event: Annotated[Path, doc("Path of the name of an event.")] = ""
    note: Annotated[Path, doc("Path of the note of an event.")] = ""
    select: Annotated[Choices, doc("Values by path; other records are skipped.")] = _NOTHING
    where: Annotated[Choices, doc("Values by path; other records are rejected (quality).")] = (
        _NOTHING
    )
    void_where: Annotated[Choices, doc("Values by path that withdraw a reference.")] = _NOTHING
    defaults: Annotated[
        Mapping[Path, Scalar], MaxLen(100), doc("Values by path, for fields that a record lacks.")
    ] = _NOTHING
    optional: Annotated[bool, doc("Whether records without any of the values are skipped.")] = False
    number_texts: Annotated[
        bool, doc("Whether numbers may be texts, values with their unit; csv: always.")
    ] = False
    columns: Annotated[
        tuple[Path, ...],
        MaxLen(1000),
        doc("Names of the cells of a CSV line; an empty one is not read."),
    ] = ()
    delimiter: Annotated[Literal[",", ";", "\t", "|"], doc("Separator of CSV cells.")] = ","
    # Native's own: paths where a record may repeat a field of its topic; whether numbers are times.
    agree: Mapping[Path, str] = _NOTHING
    number_times: bool = True


class MapError(ValueError):
    """A mapping cannot be used; ``place`` is the key at fault, the message says what to write."""

    def __init__(self, place: tuple[str | int, ...], detail: str) -> None:
        super().__init__(detail)
        self.place = place
