"""What the daemon knows at one instant, immutable: the only thing readers ever see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from monitor.core.analysis.ranking import Profile
from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.fleet.suspect_references import Suspect
from monitor.core.model import Bool, Float, Int
from monitor.core.registry import SeriesName


@dataclass(frozen=True)
class Snapshot:
    """Derived numbers of every series, one entry a series in each column, ordered as ``names``.

    ``statistics`` maps a statistic's name (``STATISTICS``) to one number a series, NaN where it is
    undefined. ``sentences`` say what is, ``advice`` what would mend it. ``alerts`` maps an alert's
    name to whether it is active, ``paged`` marks series of which a fleet's list says that somebody
    should be called; ``suspects`` are references that look wrong, and the offsets they explain are
    no alerts. ``withdrawn`` marks series that stopped: their state stays, their numbers are no
    longer shown. ``reports`` are those on series that are not calm. ``recent_z`` (series x a few)
    are the last z of each in event order, NaN where there are fewer; ``intervals_only`` marks
    series that state no u; ``profiles`` say what counts, balanced where there are none; ``gone``
    are the rows of series that memory let go of, of which nothing is shown.
    """

    time: float
    names: tuple[SeriesName, ...]
    statistics: Mapping[str, Float]
    states: tuple[str, ...]
    alerts: Mapping[str, Bool]
    evidence: Float
    sentences: tuple[str, ...]
    advice: tuple[str, ...]
    window_pairs: Int
    last_reading: Float
    last_pair: Float
    withdrawn: Bool
    reports: Mapping[int, FaultReport] = field(default_factory=dict)
    extra: Mapping[str, float] = field(default_factory=dict)
    recent_z: Float | None = None
    intervals_only: Bool | None = None
    paged: Bool | None = None
    suspects: tuple[Suspect, ...] = ()
    profiles: tuple[Profile, ...] = ()
    gone: frozenset[int] = frozenset()

    def present(self) -> Bool:
        """Return which series there are: all but those that are gone."""
        present = np.ones(len(self.names), dtype=np.bool_)
        present[list(self.gone)] = False
        return present
