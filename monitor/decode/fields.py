"""The fields of a record besides its numbers: who, when, and the key."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.core.model import NAN
from monitor.decode.checks import (
    NOTE_CHARACTERS_MAX,
    Rejected,
    check_era,
    check_key,
    unknown_age,
)
from monitor.decode.paths import (
    MISSING,
    Fetch,
    Fetchers,
    Number,
    Text,
    shown,
    type_of,
)
from monitor.decode.records import Compose, Fields, composer, names_in
from monitor.decode.spec import (
    Kind,
    MapError,
    MapSpec,
)
from monitor.decode.time import Reader, check_past, likelier_occurrence, reader

ARRIVAL: Final = "arrival"
_CASES: Final[Mapping[str, Callable[[str], str]]] = {
    "": str,
    "upper": str.upper,
    "lower": str.lower,
}
_TEXTS: Final = ("sequence", "identity", "reference_id", "status", "event", "note")

Instant = Callable[[object, object, float], float]
Ends = Callable[[object, object], tuple[float, float]]


class Collocated(NamedTuple):
    """How a collocation names its subject, and how far apart they are."""

    subject: Compose
    distance_km: Number


def named(spec: MapSpec, kind: Kind, known: Collection[str]) -> Compose:
    """Return the function that names the sensor of a record, or the subject of a reference."""
    if kind == "reference":
        return composer(spec.subject, known, ("subject",))
    return composer(spec.sensor, known, ("sensor",))


def instant_reader(spec: MapSpec, fetchers: Fetchers, kind: Kind) -> Instant:
    """Return the function that finds a record's time, of a reference its end; s since 1970 UTC."""
    if spec.time == ARRIVAL:
        return _arrival
    paths = (spec.time,) if isinstance(spec.time, str) else tuple(spec.time)
    if not paths or not all(paths):
        raise MapError(("time",), "is empty; write a path, or arrival")
    seconds = _reader(spec)
    fetches = [fetchers.fetch(path, ("time",)) for path in paths]
    end = fetchers.fetch(spec.end, ("end",)) if spec.end and kind == "reference" else None

    def past(time: float, stated: object, field: str) -> float:
        return check_past(time, stated, spec.time_unit, field)

    def read(root: object, record: object, received: float) -> float:
        values = [fetch(root, record) for fetch in fetches]
        if MISSING in values and end is not None and end(root, record) is not MISSING:
            return past(_at(spec.end, seconds, end(root, record), "end"), end(root, record), "end")
        if MISSING in values:
            at = shown(paths[min(values.index(MISSING), len(paths) - 1)])
            raise Rejected("missing_field", f"time is missing at `{at}`", at)
        stated = values[0] if len(values) == 1 else _joined(paths, values)
        time = past(_at(paths[0], seconds, stated, "time"), stated, "time")
        return likelier_occurrence(time, stated, spec, received)

    return read


def _arrival(_root: object, _record: object, received: float) -> float:
    if math.isnan(received):
        raise unknown_age()
    return received


def _joined(paths: Sequence[str], values: Sequence[object]) -> str:
    """Return the texts that make up a time, joined."""
    for path, each in zip(paths, values, strict=True):
        if not isinstance(each, str):
            detail = f"time is joined from texts, not from {type_of(each)}"
            raise Rejected("bad_field", detail, shown(path))
    return " ".join(map(str, values))


def _at(path: str, seconds: Reader, stated: object, field: str) -> float:
    """Return a time; a refusal of it names its path."""
    try:
        return seconds(stated, field)
    except Rejected as error:
        raise error.at(shown(path)) from None


def _reader(spec: MapSpec) -> Reader:
    unit = spec.time_unit if spec.number_times else "none"
    return reader(unit, spec.time_zone, spec.time_layout)


def ends(spec: MapSpec, fetchers: Fetchers) -> Ends:
    """Return the function that finds start and end of a reference's averaging span, else NaN."""
    seconds = _reader(spec)
    start, end = (
        fetchers.fetch(path, (name,)) if path else None
        for name, path in (("start", spec.start), ("end", spec.end))
    )

    def read(fetch: Fetch | None, name: str, root: object, record: object) -> float:
        stated = MISSING if fetch is None else fetch(root, record)
        if stated is MISSING:
            return NAN
        return check_era(_at(getattr(spec, name), seconds, stated, name), name)

    return lambda root, record: (
        read(start, "start", root, record),
        read(end, "end", root, record),
    )


def span(spec: MapSpec, time: float) -> tuple[float, float]:
    """Return start and end of a mean over a duration with time stamp ``time``; all in s."""
    before = {"start": 0.0, "middle": 0.5, "end": 1.0}[spec.stamp] * spec.duration_seconds
    return time - before, time - before + spec.duration_seconds


def key(spec: MapSpec, fetchers: Fetchers) -> Text:
    """Return the function that finds a record's key in its one spelling, empty if unmapped."""
    if not spec.key:
        return lambda _root, _record: ""
    text = fetchers.text(spec.key, ("key",))
    removed = str.maketrans("", "", spec.key_remove)
    case = _CASES[spec.key_case]
    return lambda root, record: check_key(case(text(root, record).translate(removed)))


def agreement(spec: MapSpec, fetchers: Fetchers) -> Callable[[object, object, Fields], None]:
    """Return the function that refuses a record whose names differ from its topic."""
    paths = [
        (shown(path), field, fetchers.fetch(path, ("agree", path)))
        for path, field in spec.agree.items()
    ]

    def check(root: object, record: object, fields: Fields) -> None:
        for path, field, fetch in paths:
            stated = fetch(root, record)
            if stated is MISSING or stated == fields[field]:
                continue
            if not isinstance(stated, str):
                detail = f"{field} at `{path}` is {type_of(stated)}, not a text"
                raise Rejected("bad_field", detail, path)
            detail = f"payload says {field} {stated[:60]!r}, topic {fields[field]}"
            raise Rejected("name_mismatch", detail, path)

    return check


def texts(spec: MapSpec, fetchers: Fetchers) -> dict[str, Text]:
    """Return the functions that find the mapped texts; some of a reference may be left out."""
    given = ((name, getattr(spec, name)) for name in _TEXTS)
    readers = {name: fetchers.text(path, (name,)) for name, path in given if path}
    for name in readers.keys() & {"status", "reference_id"}:
        fetch = fetchers.fetch(getattr(spec, name), (name,))
        readers[name] = _if_there(fetch, readers[name])
    if "note" in readers:
        note = readers["note"]
        readers["note"] = lambda root, record: note(root, record)[:NOTE_CHARACTERS_MAX]
    return readers


def paths_of(spec: MapSpec) -> dict[str, str]:
    """Return the path of each field of an observation that is not a number."""
    time = spec.time if isinstance(spec.time, str) else next(iter(spec.time), "")
    paths = {"time": "" if time == ARRIVAL else time, "start": spec.start, "end": spec.end}
    paths |= {name: getattr(spec, name) for name in ("key", "revision", *_TEXTS)}
    if isinstance(spec.distance_m, str):
        paths["distance_m"] = spec.distance_m
    paths = {name: shown(path) for name, path in paths.items() if path}
    composed = {"sensor": spec.sensor, "subject": spec.subject}
    return paths | {name: name_path(spec, text) for name, text in composed.items()}


def name_path(spec: MapSpec, composed: str) -> str:
    """Return the path of the text that a name was split from, else ``topic``."""
    wanted = set(names_in(composed))
    splits = (path for path, template in spec.names.items() if wanted & set(names_in(template)))
    return next(map(shown, splits), "topic")


def _if_there(fetch: Fetch, text: Text) -> Text:
    return lambda root, record: "" if fetch(root, record) is MISSING else text(root, record)


def collocated(
    spec: MapSpec, kind: Kind, fetchers: Fetchers, known: Collection[str]
) -> Collocated | None:
    """Return the reader of a collocation, None if messages are not collocations."""
    if kind != "collocation":
        return None
    for name in ("start", "end"):
        if not getattr(spec, name):
            raise MapError((name,), f"is missing; write the path of a collocation's {name}")
    subject = composer(spec.subject, known, ("subject",))
    if spec.distance_m == "":
        return Collocated(subject, lambda _root, _record: 0.0)
    metres = fetchers.number(spec.distance_m, ("distance_m",))
    return Collocated(subject, lambda root, record: metres(root, record) / 1000.0)
