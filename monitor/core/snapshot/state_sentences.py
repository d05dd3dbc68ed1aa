"""The meaning of a state, in one plain sentence a series.

A sentence also depends on what is known besides the series' own pairs: its references, its
messages, the thresholds of the settings. Texts are copied for readers only when one of them has
changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.diagnosis.fault_reports import FaultReport
from monitor.core.formatting import duration, probability, significant
from monitor.core.model import Bool, Float, Int
from monitor.core.scores.statistics import ASSUMED
from monitor.core.verdict import FAULT
from monitor.core.verdict.words import counted

# -- sentences ------------------------------------------------------------------------------------

U_REF_RATIO_MAX: Final = 1.0 / 3.0
BLURRED: Final = "calibration_u_ref_ratio"  # the statistic that a sentence depends on
DOUBTED: Final = "cannot be judged"  # under a suspect reference


class Circumstances(NamedTuple):
    """Facts besides a series' own pairs; 0 and "" where there is nothing to say.

    ``uncompared_seconds`` since its last pair, if that is too long; ``rejected`` is the share of
    its messages, if too large; ``suspicion`` is the sentence on its reference; ``beyond`` names the
    thresholds of the settings that it exceeds; ``calm`` says within what it is right if no alert
    fires or is pending.
    """

    uncompared_seconds: float = 0.0
    rejected: float = 0.0
    suspicion: str = ""
    beyond: tuple[str, ...] = ()
    calm: str = ""


NOTHING: Final = Circumstances()


def state_sentence(
    state: str,
    fault_report: FaultReport | None,
    pairs: int,
    numbers: Mapping[str, float],
    about: Circumstances = NOTHING,
) -> str:
    """Return the sentence on one series; ``numbers`` are its published statistics."""
    text = _of_series(state, fault_report, pairs, numbers, about)
    if about.rejected:
        text = f"{text}; {probability(about.rejected)} of its messages could not be used"
    if about.beyond:
        text = f"{text}; beyond the threshold {', '.join(about.beyond)}"
    return f"{text} ({about.suspicion})" if about.suspicion else text


def _of_series(
    state: str,
    fault_report: FaultReport | None,
    pairs: int,
    numbers: Mapping[str, float],
    about: Circumstances,
) -> str:
    if about.uncompared_seconds:
        since = duration(about.uncompared_seconds, parts=1)
        text = f"has had no reference for {since}, so it is not known whether it is right"
        return _before(text, fault_report)
    if state == "stale":
        return _before("has stopped sending usable readings", fault_report)
    text = _told(state, fault_report, pairs, about)
    blurred = numbers.get(BLURRED, 0.0)
    if blurred > U_REF_RATIO_MAX:
        times = significant(blurred)
        times = "" if times == "1" else f"{times} times "
        text = f"{text} (its reference is {times}as uncertain as the sensor)"
    is_assumed = numbers.get(ASSUMED.name) == 1.0
    return f"{text} (the settings assume its uncertainty)" if is_assumed else text


def _before(text: str, fault_report: FaultReport | None) -> str:
    return text if fault_report is None else f"{text}; before: {fault_report.verdict.sentence}"


def _told(state: str, fault_report: FaultReport | None, pairs: int, about: Circumstances) -> str:
    if about.suspicion and (fault_report is None or fault_report.verdict.state != FAULT):
        return DOUBTED
    if fault_report is not None:
        return fault_report.verdict.sentence
    is_calm = about.calm and state in ("ok", "unknown")
    return about.calm if is_calm else f"no fault found yet ({counted(pairs)})"


def column(statistics: Mapping[str, Float], row: int) -> dict[str, float]:
    """Return the numbers of one series from the columns."""
    return {name: float(values[row]) for name, values in statistics.items()}


# -- circumstances of many series -----------------------------------------------------------------


class CircumstanceColumns(NamedTuple):
    """Facts of each series besides its pairs; 0, False or absent for nothing."""

    uncompared: Float
    rejected: Float
    beyond: Mapping[str, Bool]
    suspicion: Mapping[int, str]
    calm: Any

    def is_any(self) -> Bool:
        """Return the series of which anything but calm words is known."""
        flags = (self.uncompared != 0.0) | (self.rejected != 0.0)
        for crossed in self.beyond.values():
            flags |= crossed
        flags[[*self.suspicion]] = True
        return flags

    def of(self, row: int) -> Circumstances:
        """Return what is known of one series."""
        return Circumstances(
            uncompared_seconds=float(self.uncompared[row]),
            rejected=float(self.rejected[row]),
            suspicion=self.suspicion.get(row, ""),
            beyond=tuple(name for name, crossed in self.beyond.items() if crossed[row]),
            calm=str(self.calm[row]),
        )

    def changed_since(self, before: CircumstanceColumns) -> Int:
        """Return the series whose circumstances were different ``before``."""
        known = before.uncompared.size
        other = self.uncompared[:known] != before.uncompared
        other |= self.rejected[:known] != before.rejected
        other |= (self.calm[:known] != before.calm).astype(np.bool_)
        for name, crossed in self.beyond.items():
            other |= crossed[:known] != before.beyond[name]
        rows = [
            row
            for row in self.suspicion.keys() | before.suspicion.keys()
            if self.suspicion.get(row) != before.suspicion.get(row)
        ]
        return np.union1d(np.flatnonzero(other), np.array(rows, dtype=np.int64))


# -- texts of many series -------------------------------------------------------------------------


class SeriesTexts:
    """State: one text a series; readers get a tuple, the same object while no text changes."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._shown: tuple[str, ...] = ()
        self._is_changed = False

    def __len__(self) -> int:
        return len(self._texts)

    def grow(self, count: int) -> None:
        """Hold texts of ``count`` series; new texts are empty."""
        self._texts += [""] * (count - len(self._texts))
        self._is_changed |= len(self._shown) != count

    def set(self, row: int, text: str) -> None:
        """Replace the text of one series."""
        if text != self._texts[row]:
            self._texts[row] = text
            self._is_changed = True

    def all(self) -> tuple[str, ...]:
        """Return the texts of all series."""
        if self._is_changed:
            self._shown, self._is_changed = tuple(self._texts), False
        return self._shown
