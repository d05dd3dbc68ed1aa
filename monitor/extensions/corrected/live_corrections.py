"""The present correction of every series, updated as pairs are made.

Rules of this file: rows are those of the registry. A pair moves the state of its series once, when
it is made, if it is later than all pairs that moved it before; a pair that is made late or again (a
reference that comes late, or is revised) moves nothing. An event begins or ends a correction and
leaves the factor. So the state depends on pairs, events and the remedies known when they came, and
is stored with them: after a crash it is the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import pair_columns
from monitor.core.model import Bool, Float, Int, Records, in_event_order
from monitor.core.pairing.series_rules import STATED_LEVEL
from monitor.core.scores.entries import Live
from monitor.core.verdict import Pairs, Remedy
from monitor.core.verdict.pairs import Spread
from monitor.extensions.corrected.corrected import (
    AS_SENT,
    Adopted,
    Adoption,
    Amendment,
    Corrected,
    Told,
    corrected,
    first_log_factors,
    half_width_in_words,
    in_words,
)

REMEMBERED: Final = 1000  # last pairs that the published coverage covers
_CORRECTION: Final = np.dtype(
    [
        ("pairs", np.int64),  # that moved the state
        ("time", np.float64),  # of the last one, s UTC, and its id
        ("id", np.uint64),
        ("level", np.float64),
        ("log_factor", np.float64),
        ("intercept", np.float64),
        ("slope", np.float64),
        ("scale", np.float64),
        ("evidence", np.float64),
        ("pause", np.int64),
        ("hits", np.uint8, REMEMBERED // 8),  # one bit a pair, cyclically
    ]
)
_GROUP: Final = 64  # series in one note
_NAME: Final = "corrections.{}"


# The numbers published of a series whose readings are corrected.
OF_CORRECTIONS: Final = (
    Live(
        "corrected_coverage_ratio",
        "Share of the last 1000 references that lay within the interval of the corrected reading; "
        "it should be near `correct.level`.",
    ),
    Live(
        "corrected_interval_factor",
        "Half width of that interval in the corrected standard uncertainty.",
    ),
)
METRICS: Final = {f"monitor_{each.name}": each.help for each in OF_CORRECTIONS}


class Correcting(NamedTuple):
    """Present corrections: value' = intercept + slope value, u' = scale u [series].

    The interval is value' -+ ``factor`` u'; ``is_known`` once a pair has moved the state.
    """

    intercept: Float
    slope: Float
    scale: Float
    factor: Float
    is_known: Bool


class LiveCorrections:
    """State: the correction of each series, with intervals of ``level``.

    ``stated_level`` returns the level of a row's stated intervals that come without one.
    """

    def __init__(
        self, level: float, stated_level: Callable[[int], float] = lambda _row: STATED_LEVEL
    ) -> None:
        self.level: Final = level
        self._stated_level: Final = stated_level
        self._first: Final = float(first_log_factors(1, level)[0])
        self._state = np.zeros(0, _CORRECTION)

    def follow(self, pairs: Records, remedy_of: Callable[[int], Remedy | None]) -> dict[str, bytes]:
        """Follow pairs (of ``PAIR``) that were made; return the notes to write with them.

        ``remedy_of`` returns what a row's alerts want: a remedy, which may be adopted; None where
        no fault's alert fires, which takes the correction back; ``NO_REMEDY`` where nothing new is
        known, so that what was adopted stays.
        """
        stands = in_event_order(pairs)
        if not stands.size:
            return {}
        self._grow(int(stands["series"][-1]) + 1)
        starts = np.flatnonzero(np.diff(stands["series"], prepend=-1))
        groups = set()
        for some in np.split(stands, starts[1:]):
            row = int(some["series"][0])
            fresh = some[self._is_later(row, some)]
            if fresh.size:
                self._advance(row, fresh, remedy_of(row))
                groups.add(row // _GROUP)
        return {_NAME.format(each): self._group(each).tobytes() for each in sorted(groups)}

    def adopt(self, row: int, amendment: Amendment) -> dict[str, bytes]:
        """Amend the readings of a series from now on; return the notes to write."""
        self._grow(row + 1)
        of = self._state[row]
        for name, number in amendment._asdict().items():
            of[name] = number
        of["evidence"], of["pause"] = 0.0, 0
        return {_NAME.format(row // _GROUP): self._group(row // _GROUP).tobytes()}

    def load(self, note: Callable[[str], bytes], series: int) -> None:
        """Set the state of the first ``series`` series from the notes that were written last."""
        self._grow(series)
        for group in range(math.ceil(series / _GROUP)):
            saved = np.frombuffer(note(_NAME.format(group)), _CORRECTION)
            self._group(group)[: saved.size] = saved[: self._group(group).size]
        other = self._state["level"] != self.level  # the settings had another level before
        self._state["log_factor"][other] = self._first
        self._state["hits"][other] = 0
        self._state["pairs"][other] = 0
        self._state["level"] = self.level

    def now(self, rows: Int) -> Correcting:
        """Return the corrections of some series."""
        self._grow(int(rows.max(initial=-1)) + 1)
        some = self._state[rows]
        return Correcting(
            some["intercept"],
            some["slope"],
            some["scale"] * np.abs(some["slope"]),
            np.exp(some["log_factor"]),
            some["pairs"] > 0,
        )

    def amendment(self, row: int) -> Amendment:
        """Return what is done to the readings of a series."""
        if row >= self._state.size:
            return AS_SENT
        return Amendment(*(float(self._state[name][row]) for name in Amendment._fields))

    def coverage(self, series: int) -> Float:
        """Return the share of the last pairs of each series that lie within their intervals.

        For the first ``series`` series; NaN for one without a pair yet.
        """
        self._grow(series)
        some = self._state[:series]
        hits = np.unpackbits(some["hits"], axis=1).sum(axis=1).astype(np.float64)
        count = np.minimum(some["pairs"], REMEMBERED)
        return np.divide(hits, count, out=np.full(series, np.nan), where=count > 0)

    def sentence(self, row: int, unit: str, spread: Spread) -> str:
        """Return what is done to the readings of a series; empty if it has no pair yet.

        ``spread`` is what its sensor states its uncertainty by.
        """
        if row >= self._state.size or not self._state["pairs"][row]:
            return ""
        doing = in_words(self.amendment(row), unit, spread) or "as sent"
        half = half_width_in_words(math.exp(self._state["log_factor"][row]), spread)
        pairs = min(int(self._state["pairs"][row]), REMEMBERED)
        held = 100.0 * float(self.coverage(row + 1)[row])
        return (
            f"{doing}; {half} to either side held {held:.3g} % of the last {pairs} references "
            f"(wanted {100.0 * self.level:g} %)"
        )

    # -- inside -------------------------------------------------------------------------------

    def _grow(self, series: int) -> None:
        more = series - self._state.size
        if more > 0:
            fresh = np.zeros(max(more, _GROUP), _CORRECTION)
            fresh["level"], fresh["log_factor"] = self.level, self._first
            fresh["slope"] = fresh["scale"] = 1.0
            fresh["time"] = -math.inf
            self._state = np.concatenate([self._state, fresh])

    def _group(self, group: int) -> Records:
        return self._state[group * _GROUP : (group + 1) * _GROUP]

    def _is_later(self, row: int, pairs: Records) -> Bool:
        last = self._state[row]
        later: Bool = pairs["time"] > last["time"]
        return later | ((pairs["time"] == last["time"]) & (pairs["id"] > last["id"]))

    def _advance(self, row: int, fresh: Records, remedy: Remedy | None) -> None:
        of = self._state[row]
        amendment = Amendment(*(float(of[name]) for name in Amendment._fields))
        adopted = Adopted((Adoption(0, amendment),), float(of["evidence"]), int(of["pause"]))
        pairs = Pairs.of(pair_columns(fresh, np.zeros(1, np.int64), self._stated_level(row)))
        made = corrected(pairs, [Told(-1, remedy)], self.level, (adopted, float(of["log_factor"])))
        for place, hit in _hits(made, pairs, int(of["pairs"])):
            byte, bit = divmod(place % REMEMBERED, 8)
            mask = 0x80 >> bit
            held = int(of["hits"][byte])
            of["hits"][byte] = held | mask if hit else held & ~mask
        of["pairs"] += np.count_nonzero(np.isfinite(made.lower))
        of["time"], of["id"] = fresh["time"][-1], fresh["id"][-1]
        of["log_factor"] = made.log_factor
        of["evidence"], of["pause"] = made.adopted.evidence, made.adopted.pause
        for name, number in made.adopted.amendment._asdict().items():
            of[name] = number


def _hits(corrected: Corrected, pairs: Pairs, before: int) -> Iterator[tuple[int, bool]]:
    """Yield the number of each pair that has an interval, and whether it holds the reference."""
    known = np.flatnonzero(np.isfinite(corrected.lower))
    yield from enumerate(corrected.within(pairs.reference)[known].tolist(), before)
