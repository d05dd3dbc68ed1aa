"""The daemon's alerts in your own program, which passes pairs as they arrive."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from monitor.core.detector.replay import AlertChange
from monitor.core.formatting import finite
from monitor.core.model import PAIR, Float, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import document
from monitor.decode.checks import TIME_END, TIME_MIN, U_MIN, VALUE_MAX
from monitor.files.pair_checks import row_faults
from monitor.frames.pair_frames import FrameError, array_of, refuse_other_order, refuse_share
from monitor.report.recorded import InMemoryNetwork

Numbers = npt.ArrayLike
_FIRING: Final = "firing"
_NUMBERS: Final = "buifO"  # the kinds of arrays that may hold numbers
_ALWAYS: Final = 1e15  # seconds: a watch has no clock, so its series never become stale
# The least and the largest number, and what to do about others.
_TIMES: Final = (TIME_MIN, TIME_END - 1.0, "pass s since 1970 UTC, in the years 1 to 9999")
_NUMBERS_WITHIN: Final = (
    *(-VALUE_MAX, VALUE_MAX),
    f"leave out what is missing, infinite or beyond {VALUE_MAX:g}",
)


class Alert(NamedTuple):
    """An alert began to fire, or ended.

    ``time`` (s UTC) is the event time of the pair that triggered the change, or the number of that
    pair where pairs have no times.

    ``sentence`` says what is wrong, ``advice`` what would correct it (empty if that is not known).
    """

    sensor: str
    quantity: str
    fault: str
    is_firing: bool
    time: float
    sentence: str
    advice: str


class Watch:
    """Watches the pairs of any number of sensors and raises the alerts that the daemon would raise.

    ``patience``: minimum mean number of pairs between two false alarms of an honest sensor.
    ``window``: number of most recent pairs from which statistics are computed. ``level``: coverage
    probability of intervals that state none. ``unit``: unit of the quantity, for sentences.
    ``tolerance``: largest allowed error; the sentence on a drift says when the error will exceed
    it.
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
        refuse_share("level", level)
        limits = (("patience", patience, 2), ("window", window, 1), ("tolerance", tolerance, U_MIN))
        for name, number, least in limits:
            if number is not None and not number >= least:
                raise FrameError(f"{name}={number}: must be at least {least:g}")
        rules = SeriesRules(
            unit=unit,
            level=level,
            window_pairs=window,
            patience=patience,
            tolerance=tolerance,
            stale_after_seconds=_ALWAYS,
            reference_stale_seconds=_ALWAYS,
        )
        self._timed: bool | None = None  # None until the first pairs
        self._memory: Final = InMemoryNetwork(
            lambda _sensor, _quantity: rules._replace(timed=bool(self._timed)), window
        )
        self._unit: Final = unit
        self._pairs = 0
        self._newest: Final[dict[int, float]] = {}  # the time of each sensor's newest pair
        self._firing: Final[dict[int, str]] = {}  # the fault under which each alert began
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
        """Add pairs, one or several of one sensor, and return the alerts that fired or ended.

        The arguments are numbers, or arrays of equal length, with the meaning they have in
        :func:`monitor.score`. ``time`` is in s since 1970 UTC. Pass it with all pairs of a watch or
        with none: without it pairs are numbered and nothing is dated. A late pair has the same
        effect as one that arrived in time. Several pairs are taken in order of time, with the same
        result as one after the other: each alert has the sentence and the advice of the moment at
        which it began or ended, and ends under the fault under which it began. Raises FrameError (a
        ValueError) for what is no number and numbers that are missing or impossible, and then adds
        none of the pairs.
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
        row = self._row_of(sensor, quantity)
        pairs["series"] = row
        self._pairs += pairs.size
        pairs = pairs[np.argsort(pairs["time"], kind="stable")]
        late = int(np.searchsorted(pairs["time"], self._newest.get(row, -math.inf)))
        raised = []
        if late:
            raised += self._taken(pairs[:late])
        if late < pairs.size:
            self._newest[row] = float(pairs["time"][-1])
            newer = pairs[late:]
            for first, end in itertools.pairwise([0, *self._changes(newer), newer.size]):
                raised += self._taken(newer[first:end]) if first < end else []
        return raised

    def verdict(self, sensor: str = "data", quantity: str = "value") -> dict[str, Any]:
        """Return the verdict on a sensor in the form of the daemon's API; raises KeyError."""
        now, row = self._row(sensor, quantity)
        return {**document(now.verdict(row), self._unit)}

    def statistics(self, sensor: str = "data", quantity: str = "value") -> dict[str, float | None]:
        """Return the live statistics of a sensor's window by name; raises KeyError."""
        now, row = self._row(sensor, quantity)
        return {name: finite(column[row]) for name, column in now.statistics.items()}

    def _row(self, sensor: str, quantity: str) -> tuple[Snapshot, int]:
        row = self._memory.network.registry.get(sensor, quantity)
        if row is None or self._now is None:
            raise KeyError(f"no pair of {sensor} {quantity} was taken")
        return self._now, row

    def _row_of(self, sensor: str, quantity: str) -> int:
        registry = self._memory.network.registry
        row = registry.get(sensor, quantity)
        return registry.add(sensor, quantity) if row is None else row

    def _changes(self, newer: Records) -> list[int]:
        """Return how many of the newest pairs came up to each change of an alert."""
        if newer.size == 1:
            return []
        changes = self._memory.network.replayer.preview(newer)
        times = [each.time for each in changes if _FIRING in (each.before, each.after)]
        return (np.flatnonzero(np.isin(newer["time"], times)) + 1).tolist()

    def _taken(self, pairs: Records) -> list[Alert]:
        """Add pairs, and return what changed by the last one."""
        network, last = self._memory.network, float(pairs["time"][-1])
        network.liveness.record(pairs["series"], pairs["time"], last)
        self._memory.apply(pairs)
        self._now = network.evaluate(last)
        return [
            self._alert(self._now, change)
            for change in network.drain_transitions()
            if _FIRING in (change.before, change.after)
        ]

    def _alert(self, now: Snapshot, change: AlertChange) -> Alert:
        row, is_firing = change.series, change.after == _FIRING
        name, report = now.names[row], now.reports.get(row)
        fault = change.family if report is None else report.alert
        if is_firing:
            self._firing[row] = fault
        else:
            fault = self._firing.pop(row, fault)
        return Alert(
            sensor=name.sensor,
            quantity=name.quantity,
            fault=fault,
            is_firing=is_firing,
            time=change.time,
            sentence=now.sentences[row],
            advice=now.advice[row],
        )

    def _checked(self, stated: Mapping[str, Numbers | None]) -> Records:
        """Return the pairs, numbered from the last one on; raises FrameError."""
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


def _column(name: str, stated: Numbers) -> Float:
    try:
        given = np.atleast_1d(array_of(stated))
        is_text = any(isinstance(each, str | bytes) for each in given.flat[:1])
        column = given.astype(np.float64) if given.dtype.kind in _NUMBERS and not is_text else None
    except (TypeError, ValueError):
        column = None
    if column is None:
        raise FrameError(f"{name} is no number, or array of numbers: {stated!r:.60}")
    if column.ndim > 1:
        raise FrameError(f"{name} has {column.ndim} dimensions: pass one number for each pair")
    return column


def _of_one_length(stated: Mapping[str, Numbers | None]) -> dict[str, Float]:
    refuse_other_order(stated)
    columns = {name: _column(name, each) for name, each in stated.items() if each is not None}
    try:
        rows = np.broadcast_arrays(*columns.values())
    except ValueError as error:
        raise FrameError(f"numbers of different lengths: {error}") from error
    if not rows[0].size:
        raise FrameError("there is no pair: value and reference are empty")
    return dict(zip(columns, rows, strict=True))


def _refuse_impossible(known: Mapping[str, Float]) -> None:
    if ("lower" in known) != ("upper" in known):
        raise FrameError("lower and upper are the two ends of an interval: pass both of them")
    if "u" not in known and "lower" not in known:
        raise FrameError("no uncertainty is stated: pass u, or lower and upper")
    for name, column in known.items():
        least, most, fault = _TIMES if name == "time" else _NUMBERS_WITHIN
        wrong = ~((column >= least) & (column <= most))
        if wrong.any():
            at = int(np.argmax(wrong))
            raise FrameError(f"{name}[{at}] is {column[at]:g}: {fault}")
    if "lower" in known and (known["upper"] - known["lower"] < U_MIN).any():
        raise FrameError("lower must lie below upper")
    absent = np.full_like(known["value"], math.nan)
    fields = {name: known.get(name, absent) for name in ("u", "lower", "upper", "p")}
    fields["u_reference"] = known.get("u_ref", absent)
    for rows, field, fault in row_faults(fields):
        if rows.any():
            at = int(np.argmax(rows))
            raise FrameError(f"{field}[{at}] is {fields[field][at]:g}: {fault}")
