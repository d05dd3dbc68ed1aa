"""Pairs as they come: the daemon's alerts in your own program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from monitor.core.formatting import finite
from monitor.core.model import PAIR, Float, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import document
from monitor.decode.checks import U_MIN, VALUE_MAX
from monitor.frames.pair_frames import FrameError
from monitor.report.recorded import InMemoryNetwork

Numbers = npt.ArrayLike
_FIRING: Final = "firing"
_ALWAYS: Final = 1e15  # seconds: a watch is never stale, because it has no clock


class Alert(NamedTuple):
    """An alert fired, or the one that fired ended; ``time`` is that of the pair that told (s UTC).

    Without times it is the number of that pair.

    ``sentence`` says what is wrong, ``advice`` what would mend it (empty where that is open).
    """

    sensor: str
    quantity: str
    fault: str
    is_firing: bool
    time: float
    sentence: str
    advice: str


class Watch:
    """Watches the pairs of any number of sensors and raises what the daemon would raise.

    ``patience``: pairs that an honest sensor goes, on average at least, between two false alarms.
    ``window``: how many of the last pairs statistics are of. ``level``: the coverage probability of
    intervals that come without one. ``unit``: the quantity's, for sentences. ``tolerance``: the
    largest error that is allowed, for when a drift leaves it.
    """

    def __init__(
        self,
        *,
        patience: float = 1000.0,
        window: int = 500,
        level: float = 0.9,
        unit: str = "",
        tolerance: float | None = None,
    ) -> None:
        rules = SeriesRules(
            unit=unit,
            level=level,
            window_pairs=window,
            patience=patience,
            tolerance=tolerance,
            stale_after_seconds=_ALWAYS,
            reference_stale_seconds=_ALWAYS,
        )
        self._timed: bool | None = None  # as the first pairs are
        self._memory: Final = InMemoryNetwork(
            lambda _sensor, _quantity: rules._replace(timed=bool(self._timed)), window
        )
        self._unit: Final = unit
        self._pairs = 0
        self._now: Snapshot | None = None

    def update(
        self,
        value: Numbers,
        reference: Numbers,
        *,
        u: Numbers | None = None,
        lower: Numbers | None = None,
        upper: Numbers | None = None,
        p: Numbers | None = None,
        u_reference: Numbers = 0.0,
        time: Numbers | None = None,
        sensor: str = "data",
        quantity: str = "value",
    ) -> list[Alert]:
        """Take one pair, or several of one sensor, and return the alerts that fired or ended.

        Numbers or arrays of one length, as :func:`monitor.score` has them. ``time`` in s since 1970
        UTC, for all pairs of a watch or for none: without it pairs are numbered, and nothing is
        dated. Pairs that come late count as if they had come in time. Raises FrameError (a
        ValueError) for numbers that are missing or impossible; nothing is taken then.
        """
        pairs = self._checked(
            {
                "value": value,
                "reference": reference,
                "u": u,
                "lower": lower,
                "upper": upper,
                "p": p,
                "u_ref": u_reference,
                "time": time,
            }
        )
        if self._timed not in (None, time is not None):
            raise FrameError("pass time= with all pairs of a watch, or with none of them")
        self._timed = time is not None
        network = self._memory.network
        row = network.registry.get(sensor, quantity)
        pairs["series"] = network.registry.add(sensor, quantity) if row is None else row
        self._pairs += pairs.size
        network.liveness.record(pairs["series"], pairs["time"], float(pairs["time"].max()))
        self._memory.apply(pairs)
        self._now = network.evaluate(float(pairs["time"].max()))
        return [
            self._alert(self._now, change.series, change.family, change.time, change.after)
            for change in network.drain_transitions()
            if _FIRING in (change.before, change.after)
        ]

    def verdict(self, sensor: str = "data", quantity: str = "value") -> dict[str, Any]:
        """Return what is known of a sensor, as the daemon's API has it; raises KeyError."""
        now, row = self._row(sensor, quantity)
        return document(now.verdict(row), self._unit)

    def statistics(self, sensor: str = "data", quantity: str = "value") -> dict[str, float | None]:
        """Return the live statistics of the last pairs of a sensor by name; raises KeyError."""
        now, row = self._row(sensor, quantity)
        return {name: finite(column[row]) for name, column in now.statistics.items()}

    def _row(self, sensor: str, quantity: str) -> tuple[Snapshot, int]:
        row = self._memory.network.registry.get(sensor, quantity)
        if row is None or self._now is None:
            raise KeyError(f"no pair of {sensor} {quantity} was taken")
        return self._now, row

    def _alert(self, now: Snapshot, row: int, family: str, time: float, after: str) -> Alert:
        name, report = now.names[row], now.reports.get(row)
        return Alert(
            sensor=name.sensor,
            quantity=name.quantity,
            fault=family if report is None else report.alert,
            is_firing=after == _FIRING,
            time=time,
            sentence=now.sentences[row],
            advice=now.advice[row],
        )

    def _checked(self, stated: Mapping[str, Numbers | None]) -> Records:
        """Return the pairs, numbered on; raises FrameError."""
        known = _of_one_length(stated)
        _refuse_impossible(known)
        pairs = np.zeros(known["value"].size, dtype=PAIR)
        pairs["id"] = self._pairs + np.arange(pairs.size)
        pairs["time"] = pairs["id"]
        for name in ("u", "lower", "upper", "p", "crps"):
            pairs[name] = math.nan
        for name, column in known.items():
            pairs[name] = column
        return pairs


def _of_one_length(stated: Mapping[str, Numbers | None]) -> dict[str, Float]:
    columns = {
        name: np.atleast_1d(np.asarray(each, dtype=np.float64))
        for name, each in stated.items()
        if each is not None
    }
    try:
        rows = np.broadcast_arrays(*columns.values())
    except ValueError as error:
        raise FrameError(f"numbers of different lengths: {error}") from error
    return dict(zip(columns, rows, strict=True))


def _refuse_impossible(known: Mapping[str, Float]) -> None:
    if ("lower" in known) != ("upper" in known):
        raise FrameError("lower and upper are the two ends of an interval: pass both of them")
    if "u" not in known and "lower" not in known:
        raise FrameError("no uncertainty is stated: pass u, or lower and upper")
    for name, column in known.items():
        least = U_MIN if name == "u" else -VALUE_MAX
        wrong = ~((column >= least) & (column <= VALUE_MAX))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise FrameError(f"{name}[{at}] is {column[at]:g}: leave out what is missing")
    if "lower" in known and (known["upper"] - known["lower"] < U_MIN).any():
        raise FrameError("lower must lie below upper")
