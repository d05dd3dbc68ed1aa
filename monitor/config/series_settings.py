"""What holds for one series: the settings, its group's, and the overrides that fit it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from typing import Final, TypeVar

from monitor.config.kinds import Section
from monitor.config.sections import (
    Density,
    Pairing,
    PairUncertainty,
    Profile,
)
from monitor.config.settings import (
    Group,
    Part,
    Parts,
    Settings,
)
from monitor.config.sources import Source
from monitor.mqtt.topic_templates import Template

# A topic that names no quantity gives its readings this one.
UNNAMED_QUANTITY: Final = "value"
TOLERANCE_SECONDS: Final = 60.0

S = TypeVar("S", bound=Section)


@dataclass(frozen=True)
class SeriesSettings:
    """The settings of one series; ``group`` and ``unit`` are empty where there is none.

    ``pairing_mode`` and ``tolerance_seconds`` are those the core pairs by: in modes nearest and key
    the candidates decide.
    """

    group: str
    unit: str
    density: Density
    level: float
    profile: Profile
    window_pairs: int
    window_days: float | None
    patience: float
    pairing_mode: str
    tolerance_seconds: float
    lag_seconds: float
    reading_seconds: float
    completeness: float
    correlation: float
    uncertainty: PairUncertainty
    stale_after_seconds: float
    reference_stale_hours: float
    rejected_share: float


def for_series(settings: Settings, sensor: str, quantity: str) -> SeriesSettings:
    """Return what holds for a series: the first group that fits, then overrides, later ones win."""
    group = next((each for each in settings.groups if _belongs(each, sensor, quantity)), None)
    layers: list[Parts] = [] if group is None else [group]
    layers += [
        each
        for each in settings.overrides
        if _fits(each.sensor, sensor) and _fits(each.quantity, quantity)
    ]
    pairing = _laid_over(settings.pairing, [each.pairing for each in layers])
    windows = _laid_over(settings.windows, [each.windows for each in layers])
    scoring = _laid_over(settings.scoring, [each.scoring for each in layers])
    alerts = _laid_over(settings.alerts, [each.alerts for each in layers])
    series = _laid_over(settings.series, [each.series for each in layers])
    return SeriesSettings(
        group="" if group is None else group.name,
        unit=_unit(settings, quantity),
        density=scoring.density,
        level=scoring.level,
        profile=scoring.profile,
        window_pairs=windows.pairs,
        window_days=windows.days,
        patience=alerts.patience,
        pairing_mode=_core_mode(pairing),
        tolerance_seconds=_tolerance_seconds(pairing),
        lag_seconds=pairing.lag_seconds,
        reading_seconds=pairing.reading_seconds,
        completeness=pairing.completeness,
        correlation=pairing.correlation,
        uncertainty=pairing.uncertainty,
        stale_after_seconds=series.stale_after_seconds,
        reference_stale_hours=alerts.reference_stale_hours,
        rejected_share=alerts.rejected_share,
    )


def _core_mode(pairing: Pairing) -> str:
    if pairing.mode == "nearest":
        return pairing.candidates or "nearest"
    if pairing.mode == "key":
        return pairing.candidates or "all"
    return pairing.mode


def _tolerance_seconds(pairing: Pairing) -> float:
    if pairing.tolerance_seconds is not None:
        return pairing.tolerance_seconds
    return pairing.max_wait_hours * 3600.0 if pairing.mode == "key" else TOLERANCE_SECONDS


def _laid_over(section: S, parts: list[Part | None]) -> S:
    """Return ``section`` with what ``parts`` set, later ones over earlier ones."""
    given = {
        key: getattr(part, key)
        for part in parts
        if part is not None
        for key in part.model_fields_set
    }
    return section.model_copy(update=given) if given else section


def _belongs(group: Group, sensor: str, quantity: str) -> bool:
    return any(_fits(pattern, sensor) for pattern in group.sensors) and any(
        _fits(pattern, quantity) for pattern in group.quantities
    )


def _fits(pattern: str, name: str) -> bool:
    return pattern == "*" or _compiled(pattern).match(name) is not None


@lru_cache(maxsize=8192)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def _unit(settings: Settings, quantity: str) -> str:
    """Return the unit of the sources that may carry readings of ``quantity``, if they agree."""
    units = {
        unit
        for source in settings.sources
        if source.kind == "reading"
        for unit in _units(source, quantity)
    }
    return units.pop() if len(units) == 1 else ""


def _units(source: Source, quantity: str) -> Iterator[str]:
    named = "quantity" in Template.parse(source.topic).names
    if source.map is None:
        if named or quantity == UNNAMED_QUANTITY:
            yield source.unit
        return
    for each in source.map.series:
        own = each.quantity or ("{quantity}" if named else UNNAMED_QUANTITY)
        if "{" in own or own == quantity:
            yield each.to_unit or source.unit or each.unit
