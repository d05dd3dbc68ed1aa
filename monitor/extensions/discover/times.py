"""Which field is the time, and the zone of times that state none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC
from statistics import median
from typing import Final, NamedTuple

from monitor.decode.checks import Rejected
from monitor.decode.time import is_number, parsed, reader
from monitor.extensions.discover.heard import Said, name_at
from monitor.extensions.discover.payload_fields import Fields
from monitor.extensions.discover.vocabulary import (
    ENDS,
    STARTS,
    TIMES,
    is_housekeeping,
    is_one_of,
    normal,
)

_READ: Final = reader()
_READ_UTC: Final = reader(zone="UTC")
_ERA_SECONDS: Final = 20 * 31_557_600.0
_AHEAD_SECONDS: Final = 300.0
_NEAR_SECONDS: Final = 120.0
_QUARTER: Final = 900.0
_STILL_SECONDS: Final = 5.0
_DAY_CHARACTERS: Final = len("2026-03-01")


class Timing(NamedTuple):
    """Keys of the settings' ``map`` about time, and why."""

    keys: dict[str, str]
    why: list[str]


def timing(fields: Fields, now: float) -> Timing:
    """Return where the time of a family's records is; marks the paths as used.

    A reference may have a start and an end instead. ``now`` is s since 1970 UTC.
    """
    keys: dict[str, str] = {}
    why: list[str] = []
    if fields.family.is_reference:
        span = {
            key: path
            for key, words in (("start", STARTS), ("end", ENDS))
            if (path := _best(fields, words, now)) is not None
        }
        if len(span) == 2:
            keys |= span
            fields.used.update(span.values())
            why.append(f"the mean over {span['start']} to {span['end']}")
    named = _best(fields, TIMES, now)
    path = _by_value(fields, now) if named is None else named
    if path is not None:
        fields.used.add(path)
        zone, remark = _zone(fields, path)
        if zone == "arrival":
            return Timing({**keys, "time": "arrival"}, [*why, remark])
        keys["time"] = path
        if zone:
            keys["time_zone"] = zone
        by_value = ", because it moves with the arrival" if named is None else ""
        return Timing(keys, [*why, f"{path} is the time{by_value}{remark}"])
    if "end" in keys:
        return Timing(keys, why)
    reason = "the payload states no time: the time of arrival is taken"
    return Timing({**keys, "time": "arrival"}, [*why, reason])


def _best(fields: Fields, words: tuple[str, ...], now: float) -> str | None:
    """Return the path that is a time in all messages; of several, the most usual name."""
    candidates = [
        (words.index(normal(name_at(path))), path.count("."), path)
        for path, values in fields.paths.items()
        if is_one_of(name_at(path), words)
        and _is_in_reach(fields, path)
        and all(_is_time(each, now) for each in values)
    ]
    return min(candidates)[2] if candidates else None


def _is_in_reach(fields: Fields, path: str) -> bool:
    """Return whether a path may be the time of the values.

    A payload whose values are below a root has its time there or at its top: what stands beside
    may be of those who passed it on, such as a counter of a gateway.
    """
    root = fields.family.root
    return not root or "." not in path or path.startswith(f"{root}.")


def _by_value(fields: Fields, now: float) -> str | None:
    """Return the path whose values are nearest to the arrival and move with it, whatever its name.

    What stays as it was while messages come is no time of theirs, such as that of the last start.
    """
    distances: dict[str, float] = {}
    for path, values in fields.paths.items():
        is_known = path in fields.used or is_housekeeping(name_at(path))
        if is_known or not _is_in_reach(fields, path) or any(map(_is_day, values)):
            continue
        live = [each for each in _holders(fields, path) if not each.heard.retained]
        if live and all(_is_time(each, now) for each in values) and _moves(live, path):
            distances[path] = median(_distance(each, path) for each in live)
    near = [path for path, distance in distances.items() if distance < _AHEAD_SECONDS]
    return min(near, key=lambda path: (distances[path], path), default=None)


def _moves(messages: Sequence[Said], path: str) -> bool:
    """Return whether on each topic that was heard for a while the value changed."""
    stated: dict[str, set[str]] = defaultdict(set)
    arrivals: dict[str, list[float]] = defaultdict(list)
    for each in messages:
        stated[each.heard.topic].add(str(each.leaves[path]))
        arrivals[each.heard.topic].append(each.heard.time)
    return all(
        len(stated[topic]) > 1 or max(times) - min(times) < _STILL_SECONDS
        for topic, times in arrivals.items()
    )


def _distance(message: Said, path: str) -> float:
    """Return the seconds between a time and its arrival, whole hours aside if it has no zone."""
    gap = _READ_UTC(message.leaves[path], "it") - message.heard.time
    try:
        _READ(message.leaves[path], "it")
    except Rejected:
        gap -= 3600.0 * round(gap / 3600.0)
    return abs(gap)


def _is_time(stated: object, now: float) -> bool:
    try:
        time = _READ_UTC(stated, "it")
    except Rejected:
        return False
    return now - _ERA_SECONDS < time < now + 86_400.0


def _is_day(stated: object) -> bool:
    if not isinstance(stated, str) or is_number(stated.strip()):
        return False
    return len(stated.strip()) <= _DAY_CHARACTERS


def _zone(fields: Fields, path: str) -> tuple[str, str]:
    """Return the zone of times that state none, and why; ``arrival`` if it cannot be found."""
    try:
        _READ(fields.paths[path][0], "it")
    except Rejected:
        pass
    else:
        ahead = [
            _READ(each.leaves[path], "it") - each.heard.time for each in _holders(fields, path)
        ]
        if ahead and max(ahead) > _AHEAD_SECONDS:
            return "arrival", f"{path} is ahead of the arrival: the time of arrival is taken"
        return "", ""
    if all(_is_day(stated) for stated in fields.paths[path]):
        return "arrival", f"{path} is a day without an hour: the time of arrival is taken"
    gaps = _gaps(fields, path)
    away = _QUARTER * round(median(gaps) / _QUARTER) if gaps else 0.0
    if not gaps or abs(median(gaps) - away) > _NEAR_SECONDS or away % 3600.0:
        return "arrival", f"{path} has no zone, so the time of arrival is taken; or set time_zone"
    if away == 0.0:
        return "UTC", ", without a zone; it is UTC by the time of arrival"
    hours = int(away / 3600.0)
    zone = f"Etc/GMT{'-' if hours > 0 else '+'}{abs(hours)}"
    remark = f", without a zone; {hours:+d} h by the time of arrival. Name the zone if its clocks "
    return zone, remark + "change in summer, such as Europe/Berlin"


def _holders(fields: Fields, path: str) -> list[Said]:
    return [each for each in fields.family.said if path in each.leaves]


def _gaps(fields: Fields, path: str) -> list[float]:
    """Return by how much zoneless times, read as UTC, are ahead of the arrival of live messages."""
    return [
        _naive(each.leaves[path]) - each.heard.time
        for each in _holders(fields, path)
        if not each.heard.retained
    ]


def _naive(stated: object) -> float:
    time = parsed(str(stated))
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
