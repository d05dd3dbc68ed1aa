"""What is shown to somebody who looks closely: one series in full, a contest, an occasion.

Rules of this file: it reads the parts of a network and changes none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from monitor.core.bets import COVERAGE
from monitor.core.details import (
    CONTENDERS_MAX,
    PAIRS_MAX,
    Contenders,
    Contest,
    Detail,
    Occasion,
    Origin,
    last,
    origin,
    origins,
    usual,
)
from monitor.core.detection import Detector
from monitor.core.epochs import Epochs
from monitor.core.framing import Frames
from monitor.core.judgements import Judgement
from monitor.core.model import pair_records
from monitor.core.pairing import Pairing
from monitor.core.registry import Registry, SeriesKey
from monitor.core.rules import SeriesRules
from monitor.core.snapshot import SeriesName
from monitor.core.windows import Windows


class Seen(NamedTuple):
    """The parts of a network that are looked into."""

    registry: Registry
    rules: Sequence[SeriesRules]
    names: Callable[[], Sequence[SeriesName]]
    epochs: Epochs
    pairing: Pairing
    windows: Windows
    frames: Frames
    detector: Detector
    judgement: Callable[[int], Judgement | None]


class Views:
    """Looks into a network on request."""

    def __init__(self, seen: Seen) -> None:
        self._seen: Final = seen

    def detail(self, key: SeriesKey, now: float) -> Detail | None:
        """Return one series in full as it is at ``now``, None if there is no such series."""
        row = self._seen.registry.get(*key)
        if row is None:
            return None
        one, rules = np.array([row]), self._seen.rules[row]
        pairs, total = None, 0
        found: tuple[Origin, ...] = ()
        if self._seen.windows.counts(one)[0]:
            starts, rows = self._seen.frames.window_rows(one)
            total, rows = rows.size, last(rows)
            pairs = self._seen.frames.columns(one, starts, rows)
            found = origins(rows["id"], self._seen.pairing.made_in(row))
        return Detail(
            time=now,
            name=self._seen.names()[row],
            pairs=pairs,
            origins=found,
            total=total,
            events=tuple(self._seen.epochs.of(key)),
            judgement=self._seen.judgement(row),
            density=self._seen.frames.densities(one)[0],
            level=rules.level,
            patience=rules.patience,
        )

    def contenders(self, contest: Contest, now: float) -> Contenders:
        """Return the windows of the series that a contest invites, if they have any pair."""
        invited = [row for row, name in enumerate(self._seen.names()) if contest.invites(name)]
        every = np.array(invited, dtype=np.int64)
        every = every[self._seen.windows.counts(every) > 0]
        most = every[np.argsort(-self._seen.windows.counts(every), kind="stable")][:CONTENDERS_MAX]
        series, pairs, event = np.sort(most), None, np.zeros(0, dtype=np.int64)
        if series.size:
            starts, rows = self._seen.frames.window_rows(series)
            pairs, event = (
                self._seen.frames.columns(series, starts, rows),
                rows["reference_id"].view(np.int64),
            )
        bare = self._seen.detector.path[series] == COVERAGE
        return Contenders(
            time=now,
            contest=contest,
            names=tuple(self._seen.names()[row] for row in series.tolist()),
            pairs=pairs,
            event=event,
            density="tophat" if bare.size and bare.all() else "normal",
            left_out=every.size - series.size,
            profile=usual([self._seen.rules[row].profile for row in series.tolist()]),
        )

    def occasion(self, name: str, now: float) -> Occasion:
        """Return the pairs of all series whose references have a key or an identity in common."""
        made = [
            (reference, row) for reference, row in self._seen.pairing.made_of(name) if not row[-1]
        ]
        made.sort(key=lambda each: (self._seen.registry.keys[each[1][0]], each[1][2]))
        del made[PAIRS_MAX:]
        rows = pair_records([row for _, row in made])
        pairs = None
        if rows.size:
            pairs = self._seen.frames.columns(
                rows["series"], np.arange(rows.size), self._seen.windows.as_kept(rows)
            )
        return Occasion(
            time=now,
            key=name,
            names=tuple(self._seen.names()[row[0]] for _, row in made),
            origins=tuple(origin(reference) for reference, _ in made),
            pairs=pairs,
            densities=tuple(self._seen.frames.densities(rows["series"])),
        )
