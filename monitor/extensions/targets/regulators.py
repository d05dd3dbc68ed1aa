"""The rules of regulators as tables: limit values, data quality objectives, performance targets.

Rules of this file: a number stands here as its source has it, in the source's unit; an uncertainty
is a share of the limit value. What could not be checked against its source says so, here and in
docs/evidence/beyond.md. Pollutants are recognised by the name of a quantity, or of a sensor where
the quantity has a name of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from monitor.core.registry import SeriesName

HOUR: Final = 3600.0
DAY: Final = 86_400.0
COMPLETENESS: Final = 0.75  # of an average: 2008/50 annex XI; EPA/600/R-20/279 and 280


class Level(NamedTuple):
    """A use of measurements, and the largest relative expanded uncertainty that it allows."""

    name: str
    at_most: float


class LimitRule(NamedTuple):
    """A pollutant in EU rules: the value at which its uncertainty counts, of averages of a period.

    ``u_ref`` is the standard uncertainty of a reference that states none. ``u_between`` is the
    largest uncertainty between units, NaN where the rules have none. Levels are in ascending order.
    """

    value: float
    unit: str
    seconds: float
    levels: tuple[Level, ...]
    u_ref: float = 0.0
    u_between: float = math.nan


class TargetRange(NamedTuple):
    """A range in which a figure must lie; targets of one ``aspect`` are alternatives.

    ``unit`` is that of the pollutant's rules; empty for a number without one.
    """

    aspect: str
    figure: str
    at_least: float = -math.inf
    at_most: float = math.inf
    unit: str = ""


class PerformanceRule(NamedTuple):
    """A pollutant in the EPA's rules: the targets of averages of a period."""

    unit: str
    seconds: float
    targets: tuple[TargetRange, ...]


# -- EU -------------------------------------------------------------------------------------------


def _levels_2008(fixed: float, indicative: float, estimated: float) -> tuple[Level, ...]:
    """Return the data quality objectives of 2008/50/EC annex I A with the classes of CEN/TS 17660.

    Class 1 is the objective of indicative measurements, class 2 that of objective estimation. The
    200 % of class 3 is as the literature quotes the specification, which is not public.
    """
    return (
        Level("fixed measurements", fixed),
        Level("class 1", indicative),
        Level("class 2", estimated),
        Level("class 3", 2.0),
    )


_GAS: Final = _levels_2008(0.15, 0.25, 0.75)
_OZONE: Final = _levels_2008(0.15, 0.30, 0.75)
_BENZENE: Final = _levels_2008(0.25, 0.30, 1.0)
_PARTICLES: Final = _levels_2008(0.25, 0.50, 1.0)
# Of one reference sampler, and most between two candidates: the guide of 2010.
_U_SAMPLER, _U_BETWEEN = 0.67, 2.5


def _levels_2024(fixed: float, indicative: float) -> tuple[Level, ...]:
    """Return the objectives of 2024/2881 annex V for limit values of hours and days."""
    return Level("fixed measurements", fixed), Level("indicative measurements", indicative)


EU: Final[Mapping[str, Mapping[str, LimitRule]]] = {
    "eu": {
        "no2": LimitRule(200.0, "ug/m3", HOUR, _GAS),
        "so2": LimitRule(350.0, "ug/m3", HOUR, _GAS),
        "co": LimitRule(10.0, "mg/m3", HOUR, _GAS),
        "o3": LimitRule(120.0, "ug/m3", HOUR, _OZONE),
        "benzene": LimitRule(5.0, "ug/m3", HOUR, _BENZENE),
        "pm10": LimitRule(50.0, "ug/m3", DAY, _PARTICLES, _U_SAMPLER, _U_BETWEEN),
        "pm25": LimitRule(30.0, "ug/m3", DAY, _PARTICLES, _U_SAMPLER, _U_BETWEEN),
    },
    "eu-2024": {
        "no2": LimitRule(200.0, "ug/m3", HOUR, _levels_2024(0.15, 0.25)),
        "so2": LimitRule(350.0, "ug/m3", HOUR, _levels_2024(0.15, 0.25)),
        "co": LimitRule(10.0, "mg/m3", HOUR, _levels_2024(0.10, 0.20)),
        "o3": LimitRule(120.0, "ug/m3", HOUR, _levels_2024(0.15, 0.25)),
        "pm10": LimitRule(45.0, "ug/m3", DAY, _levels_2024(0.25, 0.50), _U_SAMPLER, _U_BETWEEN),
        "pm25": LimitRule(25.0, "ug/m3", DAY, _levels_2024(0.25, 0.35), _U_SAMPLER, _U_BETWEEN),
    },
}

# -- EPA ------------------------------------------------------------------------------------------


def _performance(
    unit: str, seconds: float, r2: float, slope: float, rmse: float, *, or_nrmse: bool
) -> PerformanceRule:
    either = [TargetRange("error", "NRMSE", at_most=0.30)] if or_nrmse else []
    return PerformanceRule(
        unit,
        seconds,
        (
            TargetRange("linearity", "R2", at_least=r2),
            TargetRange("slope", "slope", 1.0 - slope, 1.0 + slope),
            TargetRange("intercept", "intercept", -5.0, 5.0, unit),
            TargetRange("error", "RMSE", at_most=rmse, unit=unit),
            *either,
            TargetRange("precision", "SD", at_most=5.0, unit=unit),
            TargetRange("precision", "CV", at_most=0.30),
        ),
    )


EPA: Final[Mapping[str, PerformanceRule]] = {
    "pm25": _performance("ug/m3", DAY, 0.70, 0.35, 7.0, or_nrmse=True),
    "o3": _performance("ppb", HOUR, 0.80, 0.20, 5.0, or_nrmse=False),
}

RULES: Final = (*EU, "epa")

# -- names ----------------------------------------------------------------------------------------

_NAMES: Final = {
    "no2": "no2 nitrogendioxide",
    "so2": "so2 sulphurdioxide sulfurdioxide",
    "co": "co carbonmonoxide",
    "o3": "o3 ozone",
    "benzene": "benzene c6h6",
    "pm10": "pm10 pm10p0 pm100",
    "pm25": "pm25 pm2p5",
}
_BY_NAME: Final = {name: key for key, names in _NAMES.items() for name in names.split()}


def pollutants_of(rules: str) -> tuple[str, ...]:
    """Return the pollutants for which these rules say something."""
    return tuple(EPA if rules == "epa" else EU[rules])


def pollutant_of(name: SeriesName) -> str:
    """Return the pollutant that a series measures, by its names; empty for none."""
    plain = (re.sub(r"[^a-z0-9]", "", each.casefold()) for each in (name.quantity, name.sensor))
    return next((_BY_NAME[each] for each in plain if each in _BY_NAME), "")
