"""The fleet in one picture: the offset and the scatter of each sensor, in units of its u; a map.

Both are statistics of z, the error over its uncertainty, over the window: the mean, and the
standard deviation about it, so that ZMS is the sum of their squares (B-08, B-09). A sensor that is
as right as it says lies at 0 and 1, whatever its unit. Each dot links to the page of its sensor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.config.sources import Place
from monitor.core.formatting import series_path
from monitor.core.model import Float
from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http import svg
from monitor.http.plots import NAMED_MAX, empty, robust_axis
from monitor.http.selection import shown_states, state_word, statistic
from monitor.http.svg import Chart

DOTS_MAX: Final = 2000
_SPREADS: Final = (1.0 / 64.0, 64.0)  # values beyond lie at the edge
_RADIUS: Final = {"firing": 6.0, "pending": 5.5}
_SMALL: Final = 4.0
_LINKED: Final = 150  # of those above the fleet's list, the most urgent
_HEIGHT: Final = 400.0
_LOW: Final = 260.0
_DEGREES_LEAST: Final = 0.001  # from south to north, some 100 m


class Dot(NamedTuple):
    """A series: offset and spread of z in the picture, degrees east and north on the map."""

    name: SeriesName
    title: str
    href: str
    state: str
    x: float
    y: float


def fleet_dots(now: Snapshot, rows: Sequence[int]) -> list[Dot]:
    """Return the dots of some series of a snapshot."""
    offset = statistic(now, "calibration_z_mean")
    spread = spread_of(offset, statistic(now, "calibration_zms"))
    shown = shown_states(now)
    return [
        dot(
            now.names[row],
            (shown[row], now.sentences[row]),
            (float(offset[row]), float(spread[row])),
            series_path(now.names[row].sensor, now.names[row].quantity),
        )
        for row in rows
    ]


def map_dots(now: Snapshot, rows: Sequence[int], places: Mapping[str, Place]) -> list[Dot]:
    """Return the dots of those series of a snapshot whose sensors have coordinates."""
    shown = shown_states(now)
    dots = []
    for row in rows:
        name, state = now.names[row], shown[row]
        place = places.get(name.sensor)
        if place is not None and place.longitude is not None and place.latitude is not None:
            title = _title(name, state, now.sentences[row])
            href = series_path(name.sensor, name.quantity)
            dots.append(Dot(name, title, href, state, place.longitude, place.latitude))
    return dots


def spread_of(z_mean: Float, zms: Float) -> Float:
    """Return the standard deviation of z about its mean (B-08)."""
    return np.sqrt(np.maximum(zms - z_mean * z_mean, 0.0))


def dot(name: SeriesName, known: tuple[str, str], at: tuple[float, float], href: str) -> Dot:
    """Return a dot; ``known`` are state and sentence, ``at`` offset and spread."""
    state, sentence = known
    place = f"offset {at[0]:+.2f} u, spread {at[1]:.2f} u".replace("-", "\N{MINUS SIGN}")
    return Dot(name, f"{_title(name, state, sentence)} ({place})", href, state, *at)


def _title(name: SeriesName, state: str, sentence: str) -> str:
    return f"{name.sensor} {name.quantity}, {state_word(state)}: {sentence}"


def fleet_picture(shown: Sequence[Dot], *, is_brief: bool = False) -> str:
    """Return the drawing; sensors that need attention lie on top, named where there is room.

    A sensor with several dots is named with the quantity of each. A brief drawing is lower, and has
    titles and links only for sensors that need attention.
    """
    known = [each for each in shown if np.isfinite(each.x) and np.isfinite(each.y)]
    if not known:
        return empty("No sensor has figures now: there is nothing to draw.")
    offset = np.array([each.x for each in known])
    spread = np.log2(np.clip([each.y for each in known], *_SPREADS))
    across = robust_axis(np.append(offset, [-2.0, 2.0]), "offset: mean error in its own u")
    low, high = min(-1.0, float(spread.min())), max(1.0, float(spread.max()))
    up = svg.powers(2.0**low, 2.0**high, "spread in its own u")
    chart = Chart("offset and spread of every sensor", across, up, _LOW if is_brief else _HEIGHT)
    chart.level(0.0, "zero", "as stated")
    chart.moment(0.0, "zero")
    return _drawn(chart, known, (offset, spread), is_brief=is_brief)


def fleet_map(shown: Sequence[Dot], *, is_brief: bool = False) -> str:
    """Return the map of one dot at least, drawn like the picture.

    Both axes have one scale at the mean latitude; where sensors are on both sides of the date line,
    degrees east go on beyond 180.
    """
    east, north = np.array([each.x for each in shown]), np.array([each.y for each in shown])
    center = float(np.angle(np.exp(1j * np.radians(east)).sum(), deg=True))
    east = center + (east - center + 180.0) % 360.0 - 180.0
    height = _LOW if is_brief else _HEIGHT
    shape = (svg.WIDTH - svg.LEFT - svg.RIGHT) / (height - svg.TOP - svg.BOTTOM)
    shape /= max(float(np.cos(np.radians(north.mean()))), 0.01)
    tall = max(float(np.ptp(north)), float(np.ptp(east)) / shape, _DEGREES_LEAST)
    across, up = _around(east, tall * shape, "degrees east"), _around(north, tall, "degrees north")
    chart = Chart("map of every sensor", across, up, height)
    return _drawn(chart, shown, (east, north), is_brief=is_brief)


def _around(values: Float, span: float, label: str) -> svg.Axis:
    middle = 0.5 * float(values.min() + values.max())
    return svg.number_axis(middle - 0.5 * span, middle + 0.5 * span, label)


def _drawn(chart: Chart, dots: Sequence[Dot], at: tuple[Float, Float], *, is_brief: bool) -> str:
    """Return the drawing of dots at x and y, those that need attention on top."""
    urgency = [(each.state == "firing") + 0.5 * (each.state == "pending") for each in dots]
    order = np.argsort(urgency, kind="stable")
    known, (x_of, y_of) = [dots[each] for each in order], (each[order] for each in at)
    plain = len(known) - min(_LINKED, sum(each.state in _RADIUS for each in known))
    plain = plain if is_brief else 0
    for state in dict.fromkeys(each.state for each in known[:plain]):
        alike = [at for at, each in enumerate(known[:plain]) if each.state == state]
        chart.dots(x_of[alike], y_of[alike], state)
    places = list(zip(known, x_of.tolist(), y_of.tolist(), strict=True))
    for each, x, y in places[plain:]:
        chart.link(
            x, y, f"dot {each.state}", (each.href, each.title, _RADIUS.get(each.state, _SMALL))
        )
    called = [each for each in places if each[0].state == "firing" or len(known) <= NAMED_MAX]
    for each, x, y in called:
        chart.keep_free(x, y, _radius(each))
    series = Counter(each.name.sensor for each in known)
    for each, x, y in called[-2 * NAMED_MAX :][::-1]:
        sensor, quantity = each.name.sensor, each.name.quantity
        chart.label(x, y, sensor if series[sensor] == 1 else f"{sensor} {quantity}")
    return chart.render("group")


def _radius(shown: Dot) -> float:
    return _RADIUS.get(shown.state, _SMALL)
