"""Which of some sorted times is nearest to another; the earlier one wins a tie."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def nearest(times: Sequence[float], time: float) -> int:
    """Return the place in sorted ``times`` (not empty) nearest to ``time``; the earlier on a tie.

    Among equal times the first place is returned.
    """
    after = bisect_left(times, time)
    if after == len(times):
        return bisect_left(times, times[-1])
    if after and time - times[after - 1] <= times[after] - time:
        return bisect_left(times, times[after - 1])
    return after


def is_nearest(times: Sequence[float], at: int, time: float) -> bool:
    """Return whether ``nearest(times, time)`` is ``at``, by a look at its neighbours only."""
    own = times[at]
    if at and not (times[at - 1] < own and time - times[at - 1] > own - time):
        return False
    if time <= own or at == len(times) - 1:
        return True
    later = times[at + 1]
    return time - own <= later - time if later > own else nearest(times, time) == at
