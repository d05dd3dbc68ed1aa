"""Compares the state of a series in memory with the state computed from its history.

Rules of this file: nothing is changed; window, evidence and statistics are compared bit for bit. A
series whose evidence waits to be recomputed is not compared, nor are statistics that the next
snapshot has yet to compute.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

import numpy as np

from monitor.core.detector.replay import Replayer
from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.model import Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.snapshot.series_stats import SeriesStats
from monitor.core.steps import Steps
from monitor.core.windows.windows import Windows

_DIGEST_BYTES: Final = 8
_FIRST: Final = np.zeros(1, dtype=np.int64)


class Compared(NamedTuple):
    """What differs (usually nothing), the pairs of the history, and digests of both states.

    ``first`` and ``last`` are the event times of the first and the last pair, s since 1970 UTC.
    """

    differing: tuple[str, ...]
    pairs: int
    first: float
    last: float
    live: str
    journal: str


class CheckedStages(NamedTuple):
    """Where both sides of a comparison come from."""

    windows: Windows
    replayer: Replayer
    columns_of: SeriesColumns
    stats: SeriesStats


def compare_states(
    stages: CheckedStages, row: int, rules: SeriesRules, history: Records, *, is_whole: bool
) -> Steps[Compared]:
    """Compare a series with its ``history``: all its pairs, unless ``is_whole`` is false.

    Then the oldest are missing, and evidence, which rests on all of them, is not compared, nor are
    statistics if pairs of the window are missing as well. What is compared is as of the first step,
    whatever comes between the others.
    """
    windows, one = stages.windows, np.array([row])
    epoch = history[history["time"] >= windows.epoch(row)]
    rows = windows.as_kept(epoch)[-windows.size :]
    held = windows.rows(row)[-windows.size :]
    if is_missing := not is_whole and rows.size < held.size:
        held = held[held.size - rows.size :]
    sides = {"window": (held.tobytes(), rows.tobytes())}
    if rows.size and not is_missing and stages.stats.is_current(row):
        shown = rows[-rules.window_pairs :]
        shown = shown[shown["time"] >= shown["time"][-1] - rules.window_seconds]
        columns = stages.columns_of.columns(one, _FIRST, shown)
        density = stages.columns_of.densities(one)[0]
        sides["statistics"] = stages.stats.both(row, density, columns)
    if is_whole:
        live = stages.replayer.evidence_bits(row)
        sides["evidence"] = live, (yield from stages.replayer.evidence_by(row, history))
    times = history["time"]
    return Compared(
        tuple(name for name, (live, journal) in sides.items() if live != journal),
        history.size,
        float(times[0]) if times.size else np.nan,
        float(times[-1]) if times.size else np.nan,
        _digest(live for live, _ in sides.values()),
        _digest(journal for _, journal in sides.values()),
    )


def _digest(parts: Iterable[bytes]) -> str:
    made = blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        made.update(len(part).to_bytes(8, "little") + part)
    return made.hexdigest()
