"""One series in full, and one occasion in full: for who wants more than a line of the snapshot.

Rules of this file: immutable values, made on request only; at most ``PAIRS_MAX`` pairs each, the
last ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.judgements import Judgement
from monitor.core.lanes import Row
from monitor.core.model import Event, Float, Int, Records, Reference
from monitor.core.ranking import Profile
from monitor.core.scores import Density
from monitor.core.snapshot import SeriesName

PAIRS_MAX: Final = 5_000
CONTENDERS_MAX: Final = 200
# The last z of each series that the snapshot carries, for a line of the fleet.
RECENT: Final = 20

Made = tuple[Reference, Row]


class Origin(NamedTuple):
    """Where a pair's reference came from; empty and NaN once the reference is let go."""

    key: str = ""
    identity: str = ""
    subject: str = ""
    time: float = float("nan")


@dataclass(frozen=True)
class Detail:
    """The window of one series with what its plots need.

    ``pairs`` is None while there is none; ``origins`` has one entry a pair. ``total`` pairs are in
    the window, of which the last are here. ``events`` are all that is known of the sensor, in time
    order. ``level`` is the coverage probability given to a sensor that states u only.
    """

    time: float
    name: SeriesName
    pairs: Columns | None
    origins: tuple[Origin, ...]
    total: int
    events: tuple[Event, ...]
    judgement: Judgement | None
    density: Density
    level: float
    patience: float


@dataclass(frozen=True)
class Occasion:
    """Pairs of all series whose references share a key or an identity.

    One entry a pair in ``names`` and ``origins``; ``pairs`` (one series a pair) is None where
    nothing is held of that name any more. ``densities`` are those of the pairs' scores.
    """

    time: float
    key: str
    names: tuple[SeriesName, ...]
    origins: tuple[Origin, ...]
    pairs: Columns | None
    densities: tuple[Density, ...] = ()


class Contest(NamedTuple):
    """Which series are to be ranked: of one quantity, a group (None: all) or some sensors."""

    quantity: str
    group: str | None = None
    sensors: tuple[str, ...] = ()

    def invites(self, name: SeriesName) -> bool:
        """Return whether a series is meant."""
        return (
            name.quantity == self.quantity
            and self.group in (None, name.group)
            and (not self.sensors or name.sensor in self.sensors)
        )


@dataclass(frozen=True)
class Contenders:
    """The windows of series that are to be ranked; ``event`` says whose reference a pair has.

    One entry a series in ``names``, one a pair in ``event``. ``left_out`` were too many: of those
    invited the ones with most pairs are here. ``pairs`` is None where nobody has any.
    ``profile`` is what most of their settings say counts.
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
    """Return the profile that most have; the first of equals, balanced for none."""
    return max(profiles, key=profiles.count, default="balanced")


def origin(reference: Reference) -> Origin:
    """Return where a pair with ``reference`` came from."""
    return Origin(reference.key, reference.identity, reference.subject, reference.time)


def origins(ids: Int, made: Iterable[Made]) -> tuple[Origin, ...]:
    """Return the origin of each of ``ids`` (identities of pairs) as far as ``made`` knows."""
    known = {row[1]: origin(reference) for reference, row in made}
    nothing = Origin()
    return tuple(known.get(identity, nothing) for identity in ids.tolist())


def last(rows: Records) -> Records:
    """Return the rows that a detail has room for."""
    kept: Records = rows[-PAIRS_MAX:]
    return kept


def recent_z(windows: Columns) -> Float:
    """Return the last ``RECENT`` z of each series (series x RECENT), NaN before the first."""
    ends = windows.starts + windows.counts
    rows = ends[:, None] - np.arange(RECENT, 0, -1)
    known = rows >= windows.starts[:, None]
    return np.where(known, windows.z[np.maximum(rows, 0)], np.nan)
