"""The settings of a network as plain values and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from monitor.core.detector.detector import RING
from monitor.core.detector.thresholds import Threshold
from monitor.core.fleet.call_out import FleetRules
from monitor.core.pairing.join_index import Concern
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Limits
from monitor.core.snapshot.additions import Addition
from monitor.core.windows.rings import Precision


class CoreSettings(NamedTuple):
    """Rules for each series, and limits.

    ``concerns_of(sensor)`` names the references that concern a sensor besides its own. A journal
    may have more series (``known_series``) than the limits admit now. A replay of evidence looks
    back on ``replay_pairs``, taken from the windows if they hold so many and
    ``replay_in_windows``. ``rows_spare`` more series may be admitted while others are evicted.
    Evidence that another version of the ``program`` kept is of no use. ``additions`` make what
    extensions add to snapshots.
    """

    rules_of: Callable[[str, str], SeriesRules]
    concerns_of: Callable[[str], Iterable[Concern]] = lambda _sensor: ()
    match_on: frozenset[str] = frozenset(("subject", "key"))
    limits: Limits = Limits()
    window_pairs_max: int = 500
    window_precision: Precision = "double"
    replay_pairs: int = RING
    replay_in_windows: bool = True
    rows_spare: int = 0
    max_wait_seconds: float = 72 * 3600.0
    max_pending: int = 500_000
    known_series: int = 0
    fleet: FleetRules = FleetRules()
    thresholds: tuple[Threshold, ...] = ()
    program: str = ""
    additions: tuple[Callable[[], Addition], ...] = ()

    @property
    def capacity(self) -> int:
        """How many rows there may be at most."""
        return max(self.limits.maximum, self.known_series) + self.rows_spare
