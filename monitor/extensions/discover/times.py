"""Which field is the time, and the zone of times that state none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC
from statistics import median
from typing import Final, NamedTuple

from monitor.decode.checks import Rejected
from monitor.decode.time import is_number, layouts_of, parsed, reader
from monitor.extensions.discover.heard import Said, name_at, number_of
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
_DAY_SECONDS: Final = 86_400.0
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
        zone, remark = _zone(fields, path, _layout(fields, path, now) or "")
        if zone == "arrival":
            return Timing({**keys, "time": "arrival"}, [*why, remark])
        keys["time"] = path
        if layout := _layout(fields, path, now):
            keys["time_layout"] = layout
        if zone:
            keys["time_zone"] = zone
        by_value = ", because it moves with the arrival" if named is None else ""
        return Timing(keys, [*why, f"{path} is the time{by_value}{remark}"])
    if "end" in keys:
        return Timing(keys, why)
    reason = _unread(fields) or "the payload states no time"
    return Timing({**keys, "time": "arrival"}, [*why, f"{reason}: the time of arrival is taken"])


def _best(fields: Fields, words: tuple[str, ...], now: float) -> str | None:
    """Return the path that is a time in all messages; of several, the most usual name."""
    candidates = [
        (words.index(normal(name_at(path))), path.count("."), path)
        for path in fields.paths
        if is_one_of(name_at(path), words)
        and _is_in_reach(fields, path)
        and (layout := _layout(fields, path, now)) is not None
        and (not layout or words is TIMES)
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
        live = _live(fields, path)
        layout = _layout(fields, path, now) if live and _moves(live, path) else None
        if layout is not None:
            distances[path] = median(_distance(each, path, layout) for each in live)
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


def _distance(message: Said, path: str, layout: str) -> float:
    """Return the seconds between a time and its arrival, whole hours aside if it has no zone."""
    gap = _read(message.leaves[path], layout) - message.heard.time
    try:
        _READ(message.leaves[path], "it")
    except Rejected:
        gap -= 3600.0 * round(gap / 3600.0)
    return abs(gap)


def _layout(fields: Fields, path: str, now: float) -> str | None:
    """Return the layout of all times at a path, "" for ISO 8601 and numbers, None for no times.

    If several read them, it is the one by which they are of the day of their arrival.
    """
    values, live = fields.paths[path], _live(fields, path)
    if all(_is_time(each, "", now) for each in values):
        return ""
    usual = layouts_of(str(values[0]))
    layouts = [each for each in usual if all(_is_time(value, each, now) for value in values)]
    if len(layouts) > 1:
        layouts = [each for each in layouts if live and _is_of_arrival(live, path, each)]
    return layouts[0] if len(layouts) == 1 else None


def _is_of_arrival(messages: Sequence[Said], path: str, layout: str) -> bool:
    gaps = (_read(each.leaves[path], layout) - each.heard.time for each in messages)
    return all(abs(gap) < _DAY_SECONDS for gap in gaps)


def _unread(fields: Fields) -> str:
    """Return why a text that is named as a time is none, "" if there is no such text."""
    for path, values in fields.paths.items():
        layouts = layouts_of(str(values[0]))
        is_named = is_one_of(name_at(path), (*TIMES, *STARTS, *ENDS) if layouts else TIMES)
        is_text = number_of(values[0]) is None and any(map(str.isdigit, str(values[0])))
        if is_named and is_text and _is_in_reach(fields, path):
            such = f", such as {' or '.join(layouts[:2])}" if layouts else ""
            return (
                f"{path} is in neither form that is read by itself, ISO 8601 or a number since "
                f"1970; name its layout{such}, as time_layout"
            )
    return ""


def _is_time(stated: object, layout: str, now: float) -> bool:
    try:
        time = _read(stated, layout)
    except (Rejected, ValueError):
        return False
    return now - _ERA_SECONDS < time < now + _DAY_SECONDS


def _read(stated: object, layout: str) -> float:
    """Return a time, in UTC if it has no zone; raises Rejected or ValueError."""
    return _naive(stated, layout) if layout else _READ_UTC(stated, "it")


def _is_day(stated: object) -> bool:
    if not isinstance(stated, str) or is_number(stated.strip()):
        return False
    return len(stated.strip()) <= _DAY_CHARACTERS


def _zone(fields: Fields, path: str, layout: str) -> tuple[str, str]:
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
    gaps = [_naive(each.leaves[path], layout) - each.heard.time for each in _live(fields, path)]
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


def _live(fields: Fields, path: str) -> list[Said]:
    return [each for each in _holders(fields, path) if not each.heard.retained]


def _naive(stated: object, layout: str) -> float:
    time = parsed(str(stated), layout)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
