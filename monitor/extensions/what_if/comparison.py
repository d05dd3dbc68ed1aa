"""Two replays of a journal side by side, as a document, as lines of text and as a page.

Rules of this file: lines and page show the same figures and the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from monitor import __version__
from monitor.core.formatting import aligned, date_time, grouped_count, significant
from monitor.core.registry import SeriesKey
from monitor.extensions.what_if.replay import Replay
from monitor.http.page_files import inline_style, templates
from monitor.report.incidents import lasting

_TO_THE_MINUTE: Final = "%Y-%m-%d %H:%M"
# A due date is no sharper; that of one series moves a little with the drift of all others.
_TO_THE_DAY: Final = "%Y-%m-%d"
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


class ReplaySide(NamedTuple):
    """What was, or what would have been, of a series: its figures and its words.

    ``news`` are the sentences that the other side has not.
    """

    name: str
    state: str
    figures: tuple[str, ...]
    sentences: list[str]
    news: list[str]


class ComparedSeries(NamedTuple):
    """A series as it is shown."""

    sensor: str
    quantity: str
    sides: tuple[ReplaySide, ...]

    @property
    def differs(self) -> bool:
        """Whether any figure or word does."""
        was, then = self.sides
        return was.figures != then.figures or was.sentences != then.sentences

    @property
    def told(self) -> Sequence[ReplaySide]:
        """The sides with words of their own: both, or one that stands for both."""
        was, then = self.sides
        alike = was.sentences == then.sentences and was.state == then.state
        return [was._replace(name="was and then")] if alike else self.sides


def comparison_lines(document: Mapping[str, Any]) -> list[str]:
    """Return what ``monitor what-if`` prints: the series whose printed figures or words differ."""
    series = [_shown(each) for each in document["series"]]
    lines = [f"{document['journal']}: {_reach(document)}", *document["limits"]]
    lines += [*_changes(document), _alerts(document)]
    differing = [each for each in series if each.differs]
    rows = [
        (*(("", "") if side.name == "then" else each[:2]), side.name, *side.figures)
        for each in differing
        for side in each.sides
    ]
    if rows:
        lines += ["", *aligned([_HEADS, *rows]), ""]
    for each in differing:
        words = [f"  {side.name}: {line}" for side in each.sides for line in side.news]
        lines += [f"{each.sensor} {each.quantity}", *words] if words else []
    return [*lines, _same(series)]


def comparison_page(document: Mapping[str, Any], date: str) -> str:
    """Return the same as a page that stands alone; ``date`` is on one line of it."""
    series = [_shown(each) for each in document["series"]]
    template = Path(__file__).with_name("what_if.html").read_text(encoding="utf-8")
    return (
        templates()
        .from_string(template)
        .render(
            journal=document["journal"],
            date=date,
            version=__version__,
            style=inline_style(),
            reach=_reach(document),
            limits=document["limits"],
            changes=_changes(document),
            alerts=_alerts(document),
            heads=_HEADS,
            differing=[each for each in series if each.differs],
            others=[each for each in series if not each.differs],
            same=_same(series),
        )
    )


def _changes(document: Mapping[str, Any]) -> list[str]:
    return [f"then: {change}" for change in document["changes"]]


def _alerts(document: Mapping[str, Any]) -> str:
    counts = [
        sum(len(each[side]["raised"]) for each in document["series"] if each[side] is not None)
        for side in _SIDES
    ]
    return f"alerts: {counts[0]} was, {counts[1]} then"


def _same(series: Sequence[ComparedSeries]) -> str:
    return f"{sum(not each.differs for each in series)} of {len(series)} series as before"


def _shown(series: Mapping[str, Any]) -> ComparedSeries:
    sentences = {side: _sentences(series[side]) for side in _SIDES}
    return ComparedSeries(
        series["sensor"],
        series["quantity"],
        tuple(
            ReplaySide(
                side,
                "" if series[side] is None else series[side]["state"],
                _figures(series[side]),
                sentences[side],
                [line for line in sentences[side] if line not in sentences[other]],
            )
            for side, other in zip(_SIDES, reversed(_SIDES), strict=True)
        ),
    )


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


def _figures(one: Mapping[str, Any] | None) -> tuple[str, ...]:
    if one is None:
        return ("-",) * (len(_HEADS) - 3)
    numbers, raised = one["statistics"], one["raised"]
    ends = [numbers.get(f"calibration_zms_{end}") for end in ("lower", "upper")]
    return (
        str(len(raised)),
        raised[0]["fired"][:16].replace("T", " ") if raised else "-",
        str(one["pairs"]),
        *(_number(numbers.get(name)) for name in _FIGURES),
        "-" if None in ends else f"[{', '.join(map(_number, ends))}]",
        "-" if one["due"] is None else date_time(one["due"], _TO_THE_DAY),
    )


def _number(number: float | None) -> str:
    return "-" if number is None else significant(number, 4)


def _sentences(one: Mapping[str, Any] | None) -> list[str]:
    """Return the verdict on a series and its alerts in words."""
    if one is None:
        return ["has no pair"]
    advice = f"; to fix it: {one['advice']}" if one["advice"] else ""
    alerts = [f"{each['alert']} {lasting(each)}: {each['sentence']}" for each in one["raised"]]
    return [f"{one['sentence']}{advice}", *alerts]
