"""What is neither pair nor evidence and must outlive a restart: summaries, as notes of the journal.

Rules of this file: a summary is small and goes with the next batch after it changed, at most once
a second; the last second may be lost, an alert that stands on it stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from monitor.core.detector.thresholds import Crossings
from monitor.core.fleet.eviction import Summary as Silent
from monitor.core.fleet.refusals import Summary
from monitor.core.state.network import Network
from monitor.journal import Store

_EVERY_SECONDS: Final = 1.0
_EARLY: Final = frozenset(("silence",))


class _Kept(NamedTuple):
    """One summary: the note's name and form, how often it changed, what it is, how it is taken."""

    name: str
    form: Any
    changed: Callable[[], int]
    summary: Callable[[], object]
    recall: Callable[[Any], None]


class Remembering:
    """State: which summaries of a network changed since they were noted, and when they were."""

    def __init__(self, network: Network) -> None:
        refusals, thresholds, silence = network.refusals, network.thresholds, network.silence
        self._kept: Final = (
            _Kept("refusals", Summary, lambda: refusals.changed, refusals.summary, refusals.recall),
            _Kept(
                "thresholds",
                Crossings,
                lambda: thresholds.changed,
                thresholds.crossings,
                thresholds.recall,
            ),
            _Kept("silence", Silent, lambda: silence.changed, silence.summary, silence.recall),
        )
        self._noted: Final = {each.name: each.changed() for each in self._kept}
        self._last = -_EVERY_SECONDS

    def notes(self, now: float) -> Mapping[str, bytes]:
        """Return the notes that are due at ``now``, s since 1970 UTC."""
        due = [each for each in self._kept if each.changed() != self._noted[each.name]]
        if not due or 0.0 <= now - self._last < _EVERY_SECONDS:
            return {}
        self._last = now
        self._noted.update({each.name: each.changed() for each in due})
        return {each.name: msgspec.json.encode(each.summary()) for each in due}

    def recall(self, store: Store, *, early: bool = False) -> None:
        """Take what was noted; the network knows its series again.

        ``early`` is what must be known before their readings and pairs come, the rest is after it.
        """
        for each in self._kept:
            noted = store.note(each.name)
            if noted and early is (each.name in _EARLY):
                each.recall(msgspec.json.decode(noted, type=each.form))
