"""Two replays of a journal side by side, as a document and as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from monitor.core.formatting import aligned, date_time, grouped_count, significant
from monitor.core.registry import SeriesKey
from monitor.extensions.what_if.replay import Replay
from monitor.report.incidents import lasting

_TO_THE_MINUTE: Final = "%Y-%m-%d %H:%M"
_HEADS: Final = (
    *("sensor", "quantity", "", "alerts", "first, UTC", "pairs", "coverage"),
    *("CRPS", "quadratic", "interval", "ZMS", "95 % interval", "due, UTC"),
)
_FIGURES: Final = (
    *("calibration_coverage_ratio", "score_crps_mean", "score_quadratic_mean"),
    *("score_interval_mean", "calibration_zms"),
)
_SIDES: Final = ("was", "then")


def replays_compared(was: Replay, then: Replay) -> list[dict[str, Any]]:
    """Return for each series what was and what would have been, None where it is not there."""
    return [
        {
            "sensor": key.sensor,
            "quantity": key.quantity,
            "differs": sides["was"] != sides["then"],
            **sides,
        }
        for key in sorted({**was.entries, **then.entries})
        for sides in ({"was": _side(was, key), "then": _side(then, key)},)
    ]


def _side(replay: Replay, key: SeriesKey) -> dict[str, Any] | None:
    """Return the interface's document of a series, with its alerts and its due date, s UTC."""
    own = replay.entries.get(key)
    if own is None:
        return None
    seconds = own["statistics"].get("due_seconds")
    due = None if seconds is None else replay.time + seconds
    return {"raised": replay.raised.get(key, []), "due": due, **own}


def comparison_lines(document: Mapping[str, Any]) -> list[str]:
    """Return what ``monitor what-if`` prints: the series whose printed figures or words differ."""
    counts = [sum(len(each["raised"]) for each in _of(document, side)) for side in _SIDES]
    lines = [
        f"{document['journal']}: {_reach(document)}",
        *document["limits"],
        *(f"then: {change}" for change in document["changes"]),
        f"alerts: {counts[0]} was, {counts[1]} then",
    ]
    rows: list[tuple[str, ...]] = []
    sentences: list[str] = []
    same = 0
    for each in document["series"]:
        cells = [_cells(each[side]) for side in _SIDES]
        words = [*_in_words(each)]
        if cells[0] == cells[1] and not words:
            same += 1
            continue
        named = (each["sensor"], each["quantity"])
        rows += [(*named, "was", *cells[0]), ("", "", "then", *cells[1])]
        sentences += [f"{each['sensor']} {each['quantity']}", *words] if words else []
    if rows:
        lines += ["", *aligned([_HEADS, *rows]), ""]
    return [*lines, *sentences, f"{same} of {len(document['series'])} series as before"]


def _of(document: Mapping[str, Any], side: str) -> Iterator[dict[str, Any]]:
    return (each[side] for each in document["series"] if each[side] is not None)


def _reach(document: Mapping[str, Any]) -> str:
    """Return in words how far back a journal goes."""
    begin, end = (date_time(document[name], _TO_THE_MINUTE) for name in ("since", "until"))
    reach = f"{grouped_count(document['pairs'], 'pair')} from {begin} to {end} UTC"
    if document["held_since"] is None:
        return f"{reach}; no reading is held any more, so all pairs stay as they were made"
    held = date_time(document["held_since"], _TO_THE_MINUTE)
    return (
        f"{reach}; readings and references are held that arrived since {held}, so earlier pairs "
        "stay as they were made"
    )


def _cells(one: Mapping[str, Any] | None) -> tuple[str, ...]:
    if one is None:
        return ("-",) * (len(_HEADS) - 3)
    numbers, raised = one["statistics"], one["raised"]
    ends = ("calibration_zms_lower", "calibration_zms_upper")
    return (
        str(len(raised)),
        raised[0]["fired"][:16].replace("T", " ") if raised else "-",
        str(one["pairs"]),
        *(_number(numbers.get(name)) for name in _FIGURES),
        f"[{', '.join(_number(numbers.get(name)) for name in ends)}]",
        "-" if one["due"] is None else date_time(one["due"], _TO_THE_MINUTE),
    )


def _number(number: float | None) -> str:
    return "-" if number is None else significant(number, 4)


def _in_words(series: Mapping[str, Any]) -> Iterator[str]:
    """Yield the sentences and the alerts of a series that one side has and the other has not."""
    sides = {side: _sentences(series[side]) for side in _SIDES}
    for side, other in zip(_SIDES, reversed(_SIDES), strict=True):
        yield from (f"  {side}: {line}" for line in sides[side] if line not in sides[other])


def _sentences(one: Mapping[str, Any] | None) -> list[str]:
    if one is None:
        return ["has no pair"]
    advice = f"; to fix it: {one['advice']}" if one["advice"] else ""
    alerts = [f"{each['alert']} {lasting(each)}: {each['sentence']}" for each in one["raised"]]
    return [f"{one['sentence']}{advice}", *alerts]
