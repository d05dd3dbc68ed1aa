"""The hour that clocks show twice when they are set back: the order of rows tells which it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Final

_NIGHT: Final = 3 * 3600.0  # times that are farther apart are of two nights
_STEP: Final = 1800.0  # by which rows that are not in order step back where clocks do


@dataclass(slots=True)
class _Series:
    """What the rows of one series showed: their last time and their order."""

    time: float
    is_repeated: bool = False
    is_second: bool = False
    order: int = 0  # 1: older rows first, -1: newer ones
    is_disordered: bool = False
    has_equal_times: bool = False


class RepeatedHours:
    """Places times by the rows before them; ``second`` counts those that came the second time.

    Within the hour, the rows of a series step back once, from its first occurrence to the second;
    where each time comes once, two equal times are one of each.
    """

    def __init__(self) -> None:
        self._series: Final[dict[Hashable, _Series]] = {}
        self.second = 0

    def placed(self, series: Hashable, time: float, shift: float) -> float:
        """Return when a row was written, whose clock shows the first or the second occurrence.

        ``time`` is the first one, ``shift`` by how much the second is later, 0 if there is none.
        """
        last = self._series.setdefault(series, _Series(time))
        step = time - last.time
        if shift and last.is_repeated and abs(step) < _NIGHT:
            back = -step * (last.order or 1)
            least = _STEP if last.is_disordered else 0.0
            if back > least or (step == 0.0 and not last.has_equal_times):
                last.is_second = last.order >= 0
        elif shift:
            last.is_second = last.order < 0
        elif not last.is_repeated and step:
            order = 1 if step > 0.0 else -1
            last.is_disordered |= order == -last.order
            last.order = last.order or order
        last.has_equal_times |= not step and not shift and not last.is_repeated and last.order != 0
        last.time, last.is_repeated = time, shift > 0.0
        is_second = shift > 0.0 and last.is_second
        self.second += is_second
        return time + shift if is_second else time

    def notes(self, zone: str) -> Iterator[str]:
        """Return a sentence on the rows of the second occurrence, if there are any."""
        if self.second:
            yield (
                f"clocks in {zone} show an hour twice; by the order of rows {self.second} of them "
                "are of its second occurrence"
            )
