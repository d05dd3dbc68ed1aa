"""The daemon's core fed with simulated pairs, and the alerts it raises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from alarms_streams import Int, Sensors

from monitor.core.model import PAIR, Event, Records
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal.in_memory import InMemoryStore

BEGAN, STEP = 1.7e9, 3600.0
BLOCK = 100  # pairs of each sensor handed over at once
FIRING = "firing"


class Change(NamedTuple):
    """An alert began (``fires``) or ended at a pair of a sensor."""

    row: int
    pair: int
    fires: bool


def rules(s: Sensors) -> SeriesRules:
    """Return the settings of a series, which declare its systematic parts."""
    usual = SeriesRules()
    if not (s.systematic or s.of_reference):
        return usual
    shares = {"share": np.sqrt(s.systematic), "reference_share": s.of_reference}
    return usual._replace(systematic=usual.systematic._replace(**shares))


_NOTHING = InMemoryStore()


class _Store:
    """The pairs that a core may look back on: those of the sensors up to a pair."""

    def __init__(self, pairs: Records) -> None:
        self._pairs, self.until = pairs, 0

    def pairs_of(self, series: int) -> Records:
        return self._pairs[series, : self.until].copy()

    def pairs_of_each(self, series: Sequence[int], since: float = -math.inf) -> dict[int, Records]:
        found = {row: self.pairs_of(row) for row in series}
        return {row: pairs[pairs["time"] >= since] for row, pairs in found.items()}

    def __getattr__(self, name: str) -> object:
        return getattr(_NOTHING, name)


def records(s: Sensors) -> Records:
    """Return the pairs as the core has them, [sensors, pairs]."""
    count, length = s.value.shape
    pairs = np.zeros((count, length), PAIR)
    pairs["series"] = np.arange(count)[:, None]
    pairs["id"] = np.arange(1, count * length + 1).reshape(count, length)
    pairs["time"] = BEGAN + STEP * np.arange(length)
    for name in ("value", "u", "reference", "u_ref"):
        pairs[name] = getattr(s, name)
    pairs["lower"], pairs["upper"] = s.value - s.half, s.value + s.half
    pairs["p"] = np.where(np.isnan(s.half), np.nan, 0.9)
    pairs["reference_id"], pairs["crps"] = s.held.view(np.uint64), np.nan
    return pairs


class Core:
    """The core with one series for each of some sensors."""

    def __init__(self, s: Sensors) -> None:
        count = s.value.shape[0]
        self.pairs = records(s)
        self._store = _Store(self.pairs)
        plan = CoreSettings(
            lambda *_: rules(s),
            limits=Limits(count, count),
            window_pairs_max=32,
            replay_in_windows=False,
        )
        self.network = Network(plan, self._store)  # type: ignore[arg-type]
        for row in range(count):
            self.network.registry.add(f"sensor {row}", "quantity")

    def feed(self, rows: Int, first: int, last: int) -> list[Change]:
        """Return what changes by the pairs ``first`` to ``last`` (without it) of some sensors."""
        found = self.network.replayer.step([self.pairs[rows, first:last].ravel()])
        self._store.until = last
        return [
            Change(each.series, round((each.time - BEGAN) / STEP), each.after == FIRING)
            for each in found
            if FIRING in (each.before, each.after)
        ]

    def event(self, rows: Int, pair: int) -> None:
        """Let an operator say that something happened to some sensors before a pair."""
        time = BEGAN + STEP * (pair - 0.5)
        self.network.observe([Event(f"sensor {r}", time, "moved") for r in rows.tolist()], time)
        self.network.replayer.replay_disturbed(rows.tolist())


def first_alarms(s: Sensors, block: int = BLOCK) -> Int:
    """Return the pair of each sensor's first alarm, the number of pairs if there is none."""
    count, length = s.value.shape
    core, alarm, running = Core(s), np.full(count, length), np.arange(count)
    for first in range(0, length, block):
        if s.event and first == s.changed:
            core.event(running, first)
        for change in core.feed(running, first, min(first + block, length)):
            if change.fires and alarm[change.row] == length:
                alarm[change.row] = change.pair
        running = running[alarm[running] == length]
        if not running.size:
            break
    return alarm


def changes(s: Sensors) -> list[Change]:
    """Return all beginnings and ends of alerts, in the order of pairs for each sensor."""
    core, every = Core(s), np.arange(s.value.shape[0])
    found: list[Change] = []
    for first in range(0, s.value.shape[1], BLOCK):
        found += core.feed(every, first, min(first + BLOCK, s.value.shape[1]))
    return sorted(found, key=lambda each: (each.row, each.pair))
