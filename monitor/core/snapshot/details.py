"""More than a line of the snapshot, made on request: a series, a contest or an occasion in full.

They are immutable values of at most the last ``PAIRS_MAX`` pairs each. Reading changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np

from monitor.core.analysis.ranking import Profile
from monitor.core.columns import Columns
from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.model import (
    Event,
    Int,
    Records,
    Reference,
    pair_records,
)
from monitor.core.pairing.engine import Pairing
from monitor.core.pairing.identities import Row
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Registry, SeriesKey, SeriesName
from monitor.core.scores.proper_scores import Density
from monitor.core.windows.windows import Epochs, Windows

PAIRS_MAX: Final = 5_000
CONTENDERS_MAX: Final = 200

Made = tuple[Reference, Row]
StatedBy = Literal["u", "interval", "both"]


class Origin(NamedTuple):
    """Where a pair's reference came from; empty and NaN once the reference has been evicted."""

    key: str = ""
    identity: str = ""
    subject: str = ""
    time: float = float("nan")


@dataclass(frozen=True)
class Detail:
    """The window of one series with what its plots need.

    ``pairs`` is None while there are none; ``origins`` and ``stated_by`` have one entry a pair. The
    window has ``total`` pairs, of which the last are here. ``events`` are all known events of the
    sensor, in time order. ``level`` is the coverage probability assigned to a sensor that states u
    only.
    """

    time: float
    name: SeriesName
    pairs: Columns | None
    origins: tuple[Origin, ...]
    total: int
    events: tuple[Event, ...]
    fault_report: FaultReport | None
    density: Density
    level: float
    patience: float
    stated_by: tuple[StatedBy, ...] = ()


@dataclass(frozen=True)
class Occasion:
    """Pairs of all series whose references share a key or an identity.

    One entry a pair in ``names``, ``origins`` and ``stated_by``; ``pairs`` (one series a pair) is
    None if nothing of that name is held any more. ``densities`` are those of the pairs' scores.
    """

    time: float
    key: str
    names: tuple[SeriesName, ...]
    origins: tuple[Origin, ...]
    pairs: Columns | None
    densities: tuple[Density, ...] = ()
    stated_by: tuple[StatedBy, ...] = ()


class Contest(NamedTuple):
    """Which series are to be ranked: of one quantity, a group (None: all), sensors (empty: all)."""

    quantity: str
    group: str | None = None
    sensors: tuple[str, ...] = ()

    def invites(self, name: SeriesName) -> bool:
        """Return whether a series is to be ranked."""
        return (
            name.quantity == self.quantity
            and self.group in (None, name.group)
            and (not self.sensors or name.sensor in self.sensors)
        )


@dataclass(frozen=True)
class Contenders:
    """The windows of series that are to be ranked; ``event`` numbers the reference of a pair.

    One entry a series in ``names``, one a pair in ``event``. ``left_out`` counts invited series
    beyond the limit; those with most pairs are here. ``pairs`` is None if no series has any.
    ``profile`` is the one that most of their settings name.
    """

    time: float
    contest: Contest
    names: tuple[SeriesName, ...]
    pairs: Columns | None
    event: Int
    density: Density
    left_out: int
    profile: Profile = "balanced"

    def turned(self) -> Contenders:
        """Return two contenders in the other order."""
        if self.pairs is None:
            return replace(self, names=self.names[::-1])
        first = int(self.pairs.counts[0])
        event = np.concatenate([self.event[first:], self.event[:first]])
        pairs = self.pairs.take(np.array([1, 0]))
        return replace(self, names=self.names[::-1], pairs=pairs, event=event)


def usual(profiles: Sequence[Profile]) -> Profile:
    """Return the most frequent profile, the first on a tie; balanced if there are none."""
    return max(profiles, key=profiles.count, default="balanced")


def origin(reference: Reference) -> Origin:
    """Return where a pair with ``reference`` came from."""
    return Origin(reference.key, reference.identity, reference.subject, reference.time)


def origins(ids: Int, made: Iterable[Made]) -> tuple[Origin, ...]:
    """Return the origin of each of ``ids`` (identities of pairs) as far as ``made`` knows."""
    known = {row[1]: origin(reference) for reference, row in made}
    nothing = Origin()
    return tuple(known.get(identity, nothing) for identity in ids.tolist())


def stated_by(rows: Records) -> tuple[StatedBy, ...]:
    """Return by what each of some rows states its uncertainty; columns derive the rest from it."""
    has_u, has_interval = ~np.isnan(rows["u"]), ~np.isnan(rows["lower"])
    return tuple(
        "both" if u and interval else "u" if u else "interval"
        for u, interval in zip(has_u.tolist(), has_interval.tolist(), strict=True)
    )


def last(rows: Records) -> Records:
    """Return the rows that a detail has room for."""
    newest: Records = rows[-PAIRS_MAX:]
    return newest


class DetailSources(NamedTuple):
    """The parts of a network that details are read from."""

    registry: Registry
    rules: Sequence[SeriesRules]
    names: Callable[[], Sequence[SeriesName]]
    epochs: Epochs
    pairing: Pairing
    windows: Windows
    columns_of: SeriesColumns
    fault_report: Callable[[int], FaultReport | None]


class DetailReader:
    """Reads details of a network on request."""

    def __init__(self, detail_sources: DetailSources) -> None:
        self._seen: Final = detail_sources

    def detail(self, key: SeriesKey, now: float) -> Detail | None:
        """Return one series in full at ``now``, None if there is no such series."""
        row = self._seen.registry.get(*key)
        if row is None:
            return None
        one, rules = np.array([row]), self._seen.rules[row]
        pairs, total = None, 0
        traced: tuple[Origin, ...] = ()
        forms: tuple[StatedBy, ...] = ()
        if self._seen.windows.counts(one)[0]:
            starts, rows = self._seen.columns_of.window_rows(one)
            total, rows = rows.size, last(rows)
            pairs = self._seen.columns_of.columns(one, starts, rows)
            traced = origins(rows["id"], self._seen.pairing.pairs_of_series(row))
            forms = stated_by(rows)
        return Detail(
            time=now,
            name=self._seen.names()[row],
            pairs=pairs,
            origins=traced,
            total=total,
            events=tuple(self._seen.epochs.of(key)),
            fault_report=self._seen.fault_report(row),
            density=self._seen.columns_of.densities(one)[0],
            level=rules.level,
            patience=rules.patience,
            stated_by=forms,
        )

    def contenders(self, contest: Contest, now: float) -> Contenders:
        """Return the windows of the series that a contest invites and that have a pair."""
        invited = [row for row, name in enumerate(self._seen.names()) if contest.invites(name)]
        every = np.array(invited, dtype=np.int64)
        every = every[self._seen.windows.counts(every) > 0]
        most = every[np.argsort(-self._seen.windows.counts(every), kind="stable")][:CONTENDERS_MAX]
        series, pairs, event = np.sort(most), None, np.zeros(0, dtype=np.int64)
        if series.size:
            starts, rows = self._seen.columns_of.window_rows(series)
            pairs, event = (
                self._seen.columns_of.columns(series, starts, rows),
                rows["reference_id"].view(np.int64),
            )
        densities = set(self._seen.columns_of.densities(series))
        return Contenders(
            time=now,
            contest=contest,
            names=tuple(self._seen.names()[row] for row in series.tolist()),
            pairs=pairs,
            event=event,
            density="tophat" if densities == {"tophat"} else "normal",
            left_out=every.size - series.size,
            profile=usual([self._seen.rules[row].profile for row in series.tolist()]),
        )

    def occasion(self, name: str, now: float) -> Occasion:
        """Return the pairs of all series whose references have a key or an identity in common."""
        made = [
            (reference, row)
            for reference, row in self._seen.pairing.pairs_of_reference(name)
            if not row[-1]
        ]
        made.sort(key=lambda each: (self._seen.registry.keys[each[1][0]], each[1][2]))
        del made[PAIRS_MAX:]
        rows = pair_records([row for _, row in made])
        pairs = None
        if rows.size:
            pairs = self._seen.columns_of.columns(
                rows["series"], np.arange(rows.size), self._seen.windows.as_kept(rows)
            )
        return Occasion(
            time=now,
            key=name,
            names=tuple(self._seen.names()[row[0]] for _, row in made),
            origins=tuple(origin(reference) for reference, _ in made),
            pairs=pairs,
            densities=tuple(self._seen.columns_of.densities(rows["series"])),
            stated_by=stated_by(rows),
        )
