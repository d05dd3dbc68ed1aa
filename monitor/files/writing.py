"""Observations written as a stream file, so that reading it back gives the same bits."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, TextIO

import msgspec

from monitor.core.formatting import instant
from monitor.core.model import (
    NAN,
    Observation,
    Reading,
    Reference,
)

Layout = Literal["csv", "jsonl"]

COLUMNS: Final = (
    "time",
    "sensor",
    "quantity",
    "kind",
    "value",
    "lower",
    "upper",
    "alpha",
    "sigma",
    "unit",
    "key",
    "sequence",
)
_ALPHA_DIGITS: Final = 12  # 1 - 0.9 is written 0.1


def write_stream(
    out: TextIO,
    observations: Iterable[Observation],
    units: Mapping[tuple[str, str], str],
    layout: Layout = "csv",
    *,
    headed: bool = True,
) -> int:
    """Write readings and references to ``out``; return how many. Events have no place in it.

    ``units`` is by (sensor or subject, quantity); ``headed`` asks for the header of a CSV file.
    """
    write = _csv(out, headed=headed) if layout == "csv" else _json_lines(out)
    count = 0
    for observation in observations:
        if isinstance(observation, Reading | Reference):
            write(_row(observation, units))
            count += 1
    return count


def _csv(out: TextIO, *, headed: bool) -> Callable[[dict[str, str | float]], object]:
    rows = csv.DictWriter(out, COLUMNS, restval="", lineterminator="\n")
    if headed:
        rows.writeheader()
    return rows.writerow


def _json_lines(out: TextIO) -> Callable[[dict[str, str | float]], object]:
    return lambda row: out.write(msgspec.json.encode(row).decode() + "\n")


def _row(
    observation: Reading | Reference, units: Mapping[tuple[str, str], str]
) -> dict[str, str | float]:
    """Return what an observation states by column; what it does not state is left out."""
    if isinstance(observation, Reading):
        name, kind, alpha = observation.sensor, "reading", 1.0 - observation.p
        limits, sequence = (observation.lower, observation.upper), observation.sequence
        u = observation.u
    else:
        name, kind, alpha = observation.subject, "reference", NAN
        limits, sequence = (NAN, NAN), ""
        u = observation.u or NAN
    row: dict[str, str | float] = {
        "time": instant(observation.time),
        "sensor": name,
        "quantity": observation.quantity,
        "kind": kind,
        "value": observation.value,
        "lower": limits[0],
        "upper": limits[1],
        "alpha": round(alpha, _ALPHA_DIGITS),
        "sigma": u,
        "unit": units.get((name, observation.quantity), ""),
        "key": observation.key,
        "sequence": sequence,
    }
    return {
        name: one
        for name, one in row.items()
        if (one != "" if isinstance(one, str) else not math.isnan(one))
    }
