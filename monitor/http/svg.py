"""A chart as SVG text: axes, ticks and marks, with classes for the style sheet and no styles.

Non-finite values are left out and values beyond an axis are pinned to its edge, so every coordinate
is a finite number within the drawing. All texts are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

import numpy as np

from monitor.core.formatting import date_time
from monitor.core.model import Bool, Float
from monitor.http.label_places import LETTER, LabelPlaces, Place

WIDTH: Final = 640.0
LEFT: Final = 76.0
RIGHT: Final = 28.0
TOP: Final = 10.0
BOTTOM: Final = 40.0
_TICKS: Final = 6
_LONGEST: Final = 40  # letters of a label in a drawing
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86_400.0
_STEPS_SECONDS: Final = (
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(_MINUTE * n for n in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 5, 10, 30, 90, 365, 1825, 36_525)),
)

Ticks = list[tuple[float, str]]


class Axis(NamedTuple):
    """A range of the data, ``low`` < ``high``, with its ticks and its name.

    ``kind`` is number, time (s UTC), log (base 2) or none (numbers of bins, lines of names).
    """

    low: float
    high: float
    ticks: Ticks
    label: str = ""
    kind: str = "none"

    def share(self, values: Float) -> Float:
        """Return where values lie along the axis, 0 to 1; values beyond its ends are pinned."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)


def number_axis(low: float, high: float, label: str = "", *, margin: float = 0.05) -> Axis:
    """Return an axis of numbers that holds ``low`` to ``high`` with some room at both ends."""
    low, high = _apart(low, high)
    room = margin * (high - low)
    low, high = low - room, high + room
    step = _nice((high - low) / _TICKS)
    first = math.ceil(low / step)
    places = [step * n for n in range(first, first + 3 * _TICKS) if step * n <= high]
    return Axis(low, high, [(place, tick(place, step)) for place in places], label, "number")


def powers(low: float, high: float, label: str) -> Axis:
    """Return an axis of base-2 logarithms, labelled with the numbers themselves.

    ``low`` and ``high`` are the numbers, above 0.
    """
    first, last = math.floor(math.log2(low)), math.ceil(math.log2(high))
    first, last = min(first, last - 1), max(last, first + 1)
    every = max(1, (last - first) // _TICKS)
    ticks = [(float(n), f"{2.0**n:.4g}") for n in range(first, last + 1, every)]
    return Axis(first - 0.1, last + 0.1, ticks, label, "log")


def times(low: float, high: float) -> Axis:
    """Return an axis of times, s since 1970 UTC."""
    if not high - low > 1.0:
        low, high = low - 0.5, high + 0.5
    wanted = (high - low) / _TICKS
    step = next((step for step in _STEPS_SECONDS if step >= wanted), _STEPS_SECONDS[-1])
    first = math.ceil(low / step)
    places = [step * n for n in range(first, first + 2 * _TICKS) if step * n <= high]
    form = "%H:%M:%S" if step < _MINUTE else "%H:%M" if step < _DAY else "%Y-%m-%d"
    days = sorted({date_time(time, "%Y-%m-%d") for time in (low, high)})
    label = "UTC" if step >= _DAY else f"{' to '.join(days)}, UTC"
    return Axis(low, high, [(place, date_time(place, form)) for place in places], label, "time")


def tick(place: float, step: float) -> str:
    """Return the label of a tick, with the digits that the ``step`` between ticks needs."""
    if place == 0.0 or abs(place) < step * 1e-6:
        return "0"
    finest = math.floor(math.log10(step) + 1e-9)
    if step > 1e-6 and abs(place) < 1e6:
        text = f"{place:.{max(0, -finest)}f}"
    else:
        text = f"{place:.{max(1, math.floor(math.log10(abs(place))) - finest + 1)}g}"
    return text.replace("-", "−")  # noqa: RUF001 - a minus sign


def _apart(low: float, high: float) -> tuple[float, float]:
    """Return two ends that differ by more than rounding errors."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return 0.0, 1.0
    room = max(abs(low), abs(high), 1e-12) * 1e-6
    return (low - room, high + room) if high - low < room else (low, high)


def _nice(step: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is at least ``step``."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * n for n in (1.0, 2.0, 5.0, 10.0) if power * n >= step * (1.0 - 1e-9))


class Chart:
    """A chart under construction: later marks cover earlier ones."""

    def __init__(self, title: str, x: Axis, y: Axis, height: float = 220.0) -> None:
        self._title: Final = title
        self._x: Final = x
        self._y: Final = y
        self._height: Final = height
        self._marks: list[str] = []
        self._words: Final = LabelPlaces((LEFT, WIDTH), TOP, height - BOTTOM)

    def dots(self, x: Float, y: Float, kind: str) -> None:
        """Add a round dot for each point."""
        self._path("".join(f"M{a} {b}h0" for a, b in self._points(x, y)), f"dots {kind}")

    def crosses(self, x: Float, y: Float, kind: str) -> None:
        """Add a cross for each point."""
        path = "".join(f"M{a} {b}m-3-3l6 6m0-6l-6 6" for a, b in self._points(x, y))
        self._path(path, f"crosses {kind}")

    def pluses(self, x: Float, y: Float, kind: str) -> None:
        """Add an upright cross for each point."""
        path = "".join(f"M{a} {b}m-3 0h6m-3-3v6" for a, b in self._points(x, y))
        self._path(path, f"pluses {kind}")

    def line(self, x: Float, y: Float, kind: str) -> None:
        """Add a line through the finite points."""
        self._path(_joined(self._points(x, y)), f"line {kind}")

    def straight(self, slope: float, intercept: float, kind: str) -> None:
        """Add the line y = intercept + slope x from edge to edge of the drawing."""
        ends = np.array([self._x.low, self._x.high])
        if slope:
            with np.errstate(over="ignore"):
                inside = (np.array([self._y.low, self._y.high]) - intercept) / slope
            ends = np.array([max(ends[0], inside.min()), min(ends[1], inside.max())])
        if ends[0] < ends[1]:
            self.line(ends, intercept + slope * ends, kind)

    def steps(self, x: Float, y: Float, kind: str) -> None:
        """Add a line that keeps each y from its x to the next."""
        points = list(self._points(x, y))
        first = "".join(f"M{a} {b}" for a, b in points[:1])
        self._path(first + "".join(f"H{a}V{b}" for a, b in points[1:]), f"line {kind}")

    def bars(self, x: Float, low: Float, high: Float, kind: str) -> None:
        """Add a vertical bar for each point, from ``low`` to ``high``; thinner if many."""
        points = zip(self._points(x, low), self._points(x, high), strict=True)
        path = "".join(f"M{a} {b}V{c}" for (a, b), (_, c) in points)
        many = "many" if x.size > 150 else "some" if x.size > 40 else "few"
        self._path(path, f"bars {kind} {many}")

    def area(self, x: Float, low: Float, high: Float, kind: str) -> None:
        """Add the area between two lines."""
        there, back = self._points(x, high), list(self._points(x, low))
        path = _joined([*there, *reversed(back)])
        self._path(path and f"{path}Z", f"area {kind}")

    def columns(self, edges: Float, heights: Float, kind: str) -> None:
        """Add columns that stand on 0 between neighbouring ``edges``."""
        tops = zip(
            self._points(edges[:-1], heights), self._points(edges[1:], 0.0 * heights), strict=True
        )
        path = "".join(f"M{a} {c}V{b}H{d}V{c}Z" for (a, b), (d, c) in tops)
        self._path(path, f"columns {kind}")

    def level(self, y: float, kind: str, label: str = "") -> None:
        """Add a horizontal line."""
        ((_, at),) = self._points(np.array([self._x.low]), np.array([y]))
        self._path(f"M{LEFT:.0f} {at}H{WIDTH - RIGHT:.0f}", f"rule level {kind}")
        place = (WIDTH - RIGHT - 4, float(at) - 4, "end")
        self._word(label, [place], f"level {kind}")

    def moment(self, x: float, kind: str, label: str = "") -> None:
        """Add a vertical line from top to bottom."""
        if not self._x.low <= x <= self._x.high:
            return
        ((at, _),) = self._points(np.array([x]), np.array([self._y.low]))
        self._path(f"M{at} {TOP:.0f}V{self._height - BOTTOM:.0f}", f"rule {kind}")
        sides = [(float(at) + 4, "start"), (float(at) - 4, "end")]
        if float(at) > 0.75 * WIDTH:
            sides.reverse()
        rows = [TOP + 11 + 17 * row for row in range(4)]
        self._word(label, [(side[0], row, side[1]) for row in rows for side in sides], kind)

    def fade(self, x: float) -> None:
        """Fade everything to the left of ``x`` that has been added so far."""
        if self._x.low < x <= self._x.high:
            ends, whole = np.array([self._x.low, x]), np.ones(2)
            self.area(ends, self._y.low * whole, self._y.high * whole, "faded")

    def mark(self, x: float, y: float, kind: str, label: str) -> None:
        """Add one large dot with a label."""
        for a, b in self._points(np.array([x]), np.array([y])):
            self._marks.append(f'<circle class="mark {kind}" cx="{a}" cy="{b}" r="4.5"/>')
            self._word(label, _beside(float(a), float(b), 8.0), kind)

    def link(self, x: float, y: float, kind: str, to: tuple[str, str, float]) -> None:
        """Add a dot with a link; ``to``: address, title, and radius in px."""
        address, title, radius = to
        for a, b in self._points(np.array([x]), np.array([y])):
            self._marks.append(
                f'<a href="{escape(address)}"><circle class="{kind}" cx="{a}" cy="{b}" '
                f'r="{radius:g}"><title>{escape(title)}</title></circle></a>'
            )

    def keep_free(self, x: float, y: float, radius: float) -> None:
        """Keep labels added later off a dot of this radius; they may touch its rim."""
        for a, b in self._points(np.array([x]), np.array([y])):
            self._words.keep_free(float(a), float(b), radius - 2.0)

    def label(self, x: float, y: float, word: str) -> None:
        """Add a label beside a point."""
        for a, b in self._points(np.array([x]), np.array([y])):
            self._word(word, _beside(float(a), float(b), 4.0), "note")

    def ending(self, x: float, y: float, word: str) -> None:
        """Add a label to the right of a line's end; the caller keeps several apart."""
        for a, b in self._points(np.array([x]), np.array([y])):
            self._marks.append(_text(word, float(a) + 4.0, float(b) + 4.0, "start", "word note"))

    def render(self, role: str = "img") -> str:
        """Return the drawing; its role is "group" if it contains links."""
        box = f"{LEFT:.0f} {TOP:.0f} {WIDTH - RIGHT:.0f} {self._height - BOTTOM:.0f}"
        return (
            f'<svg class="plot" data-box="{box}" data-x="{_told(self._x)}" '
            f'data-y="{_told(self._y)}" viewBox="0 0 {WIDTH:.0f} {self._height:.0f}" role="{role}" '
            f'aria-label="{escape(self._title)}"><title>{escape(self._title)}</title>'
            f'{self._axes()}<g class="marks">{"".join(self._marks)}</g></svg>'
        )

    # -- inside -----------------------------------------------------------------------------

    def _axes(self) -> str:
        bottom, right = self._height - BOTTOM, WIDTH - RIGHT
        parts = [f'<path class="axis" d="M{LEFT:.0f} {TOP:.0f}V{bottom:.0f}H{right:.0f}"/>']
        places = np.array([place for place, _ in self._x.ticks])
        end = 0.0
        for at, (_, label) in zip(self._across(places), self._x.ticks, strict=True):
            parts.append(f'<path class="grid" d="M{at} {TOP:.0f}V{bottom:.0f}"/>')
            half = 0.5 * LETTER * len(label)
            if float(at) - half >= end:
                parts.append(_text(label, float(at), bottom + 15, "middle", "tick"))
                end = float(at) + half + 4.0
        places = np.array([place for place, _ in self._y.ticks])
        for at, (_, label) in zip(self._up(places), self._y.ticks, strict=True):
            parts.append(f'<path class="grid" d="M{LEFT:.0f} {at}H{right:.0f}"/>')
            parts.append(_text(label, LEFT - 6, float(at) + 4, "end", "tick"))
        middle = 0.5 * (LEFT + right)
        parts.append(_text(self._x.label, middle, self._height - 6, "middle", "label"))
        if self._y.label:
            at = f"13 {0.5 * (TOP + bottom):.1f}"
            parts.append(
                f'<text class="label" text-anchor="middle" transform="translate({at}) rotate(-90)">'
                f"{escape(self._y.label)}</text>"
            )
        return "".join(parts)

    def _points(self, x: Float, y: Float) -> list[tuple[str, str]]:
        """Return the places of the finite points."""
        sound: Bool = np.isfinite(x) & np.isfinite(y)
        return list(zip(self._across(x[sound]), self._up(y[sound]), strict=True))

    def _across(self, x: Float) -> Iterable[str]:
        return map(_place, (LEFT + (WIDTH - LEFT - RIGHT) * self._x.share(x)).tolist())

    def _up(self, y: Float) -> Iterable[str]:
        bottom = self._height - BOTTOM
        return map(_place, (bottom - (bottom - TOP) * self._y.share(y)).tolist())

    def _path(self, path: str, kind: str) -> None:
        if path:
            self._marks.append(f'<path class="{kind}" d="{path}"/>')

    def _word(self, word: str, places: Sequence[Place], kind: str) -> None:
        """Add a label at the first place where it hides no other, or none."""
        word = word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}\N{HORIZONTAL ELLIPSIS}"
        place = self._words.place(word, places) if word else None
        if place is not None:
            self._marks.append(_text(word, place[0], place[1], place[2], f"word {kind}"))


def _told(axis: Axis) -> str:
    """Return an axis in the form that the script reads: kind, low, high."""
    return f"{axis.kind} {float(axis.low)!r} {float(axis.high)!r}"


def _beside(x: float, y: float, gap: float) -> list[Place]:
    """Return where a label near a point may stand, the best place first."""
    places = [
        (x + side * gap, y + up, "start" if side > 0 else "end")
        for up in (-7.0, 4.0, 15.0, -20.0, 28.0)
        for side in (1.0, -1.0)
    ]
    return places if x < 0.75 * WIDTH else sorted(places, key=lambda place: place[2])


def _joined(points: Sequence[tuple[str, str]]) -> str:
    """Return a path through the points."""
    return "L".join(f"{a} {b}" for a, b in points).join(("M", "")) if points else ""


def _place(at: float) -> str:
    return f"{at:.1f}"


def _text(word: str, x: float, y: float, anchor: str, kind: str) -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(word)}</text>'
    )
