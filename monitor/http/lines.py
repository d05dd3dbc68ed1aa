"""One series as a line of the fleet: numbers rounded as people read them, a dash for none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from markupsafe import Markup

from monitor.core.formatting import amount, date_time, series_path
from monitor.core.snapshot.snapshot import Snapshot
from monitor.http import plots
from monitor.http.selection import (
    error_shown,
    evidence_shown,
    leading,
    of_leading,
    score_ratio,
    shown_states,
    statistic,
)

NONE: Final = "\N{EN DASH}"
MINUS: Final = "\N{MINUS SIGN}"
_RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_NUMBERS: Final = {
    "crps": "score_crps_mean",
    "zms": "calibration_zms",
    "lower": "calibration_zms_lower",
    "upper": "calibration_zms_upper",
    "zeta": "calibration_zms_zeta",
    "coverage": "calibration_coverage_ratio",
    "stated": "calibration_coverage_stated",
    "information": "ucc_partial_gain_ratio",
    "availability": "availability_ratio",
}
_SCORES: Final = {
    "crps": "mean CRPS; above 1\N{MULTIPLICATION SIGN} it is farther off than it says",
    "quadratic": "mean quadratic score; above 1\N{MULTIPLICATION SIGN} it is worse than it says",
    "interval": "mean interval score; above 1\N{MULTIPLICATION SIGN} it is worse than it says",
}


class Line(NamedTuple):
    """The content of a line of the fleet, and its link."""

    key: str
    href: str
    sensor: str
    quantity: str
    group: str
    state: str
    sentence: str
    advice: str
    pairs: int
    bias: str
    score: str
    score_name: str
    ratio: str
    zms: str
    zms_interval: str
    zms_off: bool
    coverage: str
    due: str
    information: str
    availability: str
    evidence: str
    last_pair: str
    last_day: str
    spark: Markup


def lines(now: Snapshot, rows: Iterable[int]) -> Iterator[Line]:
    """Yield the lines of some series."""
    columns = {word: statistic(now, key) for word, key in _NUMBERS.items()}
    columns["bias"] = error_shown(now)
    columns["evidence"] = evidence_shown(now)
    columns["ratio"] = score_ratio(now)
    columns["score"] = of_leading(now, "mean")
    shown = shown_states(now)
    for row in rows:
        numbers = {word: float(values[row]) for word, values in columns.items()}
        yield _line(now, row, shown[row], numbers)


def _line(now: Snapshot, row: int, state: str, of: Mapping[str, float]) -> Line:
    name = now.names[row]
    score = leading(now, row)
    last, pairs = float(now.last_pair[row]), int(now.window_pairs[row])
    return Line(
        key=f"{name.sensor}/{name.quantity}",
        href=series_path(name.sensor, name.quantity),
        sensor=name.sensor,
        quantity=name.quantity,
        group=name.group,
        state=state,
        sentence=now.sentences[row],
        advice=now.advice[row],
        pairs=pairs,
        bias=signed(_rounded(of["bias"], of["crps"], pairs), name.unit),
        score=sized(of["score"], f"per {name.unit or 1}" if score == "quadratic" else name.unit),
        score_name=_SCORES[score],
        ratio=short_number(of["ratio"], "\N{MULTIPLICATION SIGN}"),
        zms=short_number(of["zms"]),
        zms_interval=_between(of["lower"], of["upper"]),
        zms_off=abs(of["zeta"]) > 1.0,
        coverage=percent(of["coverage"]),
        due=f"of {percent(of['stated'])}" if math.isfinite(of["stated"]) else "",
        information=percent(of["information"]),
        availability=percent(of["availability"]),
        evidence=evidence_figure(of["evidence"]),
        last_pair=date_time(last, "%H:%M"),
        last_day=date_time(last, "%m-%d") if math.isfinite(last) else "",
        spark=_spark(now, row),
    )


def _spark(now: Snapshot, row: int) -> Markup:
    """Return the last z as a drawing, which consists of numbers only."""
    return Markup("" if now.recent_z is None else plots.sparkline(now.recent_z[row]))  # noqa: S704


def _rounded(bias: float, crps: float, pairs: int) -> float:
    """Return a bias without the digits that are roughly below its standard error."""
    if not (math.isfinite(bias) and crps > 0.0 and pairs > 0):
        return bias
    return round(bias, -math.floor(math.log10(crps / math.sqrt(pairs))))


def signed(value: float, unit: str) -> str:
    """Return a number with its sign and unit."""
    if not math.isfinite(value):
        return NONE
    sign = MINUS if value < 0.0 else "+" if value > 0.0 else ""
    return f"{sign}{amount(abs(value), unit)}"


def sized(value: float, unit: str) -> str:
    """Return a number, two digits, with its unit."""
    return amount(value, unit).replace("-", MINUS) if math.isfinite(value) else NONE


def short_number(value: float, after: str = "") -> str:
    """Return a number near 1 with two decimals, others with three digits in all."""
    if not math.isfinite(value):
        return NONE
    text = f"{value:.2f}" if abs(value) < 100.0 else f"{value:.3g}"
    return text.replace("-", MINUS) + after


def placed(value: float | None, u: float | None) -> str:
    """Return a number with the decimals of its standard uncertainty at two digits."""
    if value is None or u is None:
        return NONE
    places = max(0, min(12, 1 - math.floor(math.log10(u))))
    return f"{value:.{places}f}".replace("-", MINUS) if abs(value) < 1e9 else f"{value:.6g}"


def brief(value: float | None) -> str:
    """Return a number with three digits, a dash for none."""
    return NONE if value is None else f"{value:.3g}".replace("-", MINUS)


def percent(share: float) -> str:
    """Return a share in per cent."""
    if not math.isfinite(share):
        return NONE
    return f"{100.0 * share:.0f} %".replace("-0 %", "0 %").replace("-", MINUS)


def percent_or_dash(value: float | None) -> str:
    """Return a share in per cent, a dash for none."""
    return NONE if value is None else percent(value)


def evidence_figure(value: float) -> str:
    """Return evidence: one decimal below ten, none above, a power of ten if it is long."""
    if not math.isfinite(value):
        return NONE
    if value < 10.0:
        return f"{value:.1f}"
    if value < 1e6:
        return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    digit, _, power = f"{value:.0e}".partition("e")
    return f"{digit} \N{MULTIPLICATION SIGN} 10{str(int(power)).translate(_RAISED)}"


def _between(lower: float, upper: float) -> str:
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return ""
    return f"{short_number(lower)} to {short_number(upper)}"
