"""References that looked wrong and no longer do, and the sensors whose alerts date from that time.

An alert ends when its sensor's own pairs have shown that its fault is gone, which takes some thirty
pairs longer than the suspicion of the reference lasts. Until then the fault is still the
reference's.

Rules of this file: pure functions of the pairs with one reference, over more pairs than a suspicion
uses. The rounds whose common errors depart most from what is stated are one stretch; the pairs up
to its end must accuse the reference as they did then. A sensor is cleared if it was right among the
others up to there and has been right since.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.fleet.common_errors import Meetings, among_peers, as_shown, rounds_of
from monitor.core.fleet.late_clocks import late_clock
from monitor.core.fleet.suspect_references import PAIRS, PAIRS_MOST, Suspicion, suspicion
from monitor.core.model import Float
from monitor.core.pairing.series_rules import Systematic

_USUAL: Final = 4.0  # square of a round's z below which it speaks for the reference
_MOST: Final = 25.0
_CLEAR: Final = 2.0 * float(np.log(1000.0))  # excess of a stretch's squares over the usual


def former_suspicion(pairs: Meetings, patience: float, systematic: Systematic) -> Suspicion | None:
    """Return what was wrong with a reference that is not suspected now, and ``until`` when.

    None where the pairs do not show that it was wrong, or where it is wrong to their end.
    """
    stated = pairs.u
    pairs = pairs._replace(u=as_shown(pairs))
    rounds = rounds_of(pairs)
    end = _most_wrong(rounds.z)
    if end is None:
        return None
    last = int(np.flatnonzero(rounds.of_pair == end)[-1])
    before, after = np.arange(last + 1), np.arange(last + 1, stated.size)
    then = pairs._replace(u=stated).where(before[-PAIRS:])
    doubt = late_clock(pairs._replace(u=stated).where(before)) or suspicion(
        then, patience, systematic
    )
    if doubt is None:
        return None
    was, since = (
        among_peers(part, rounds_of(part), stated[some])
        for some in (before, after)
        for part in [pairs.where(some)]
    )
    at_fault = np.setdiff1d(since.names, since.cleared)
    cleared = np.setdiff1d(was.cleared, at_fault)
    return doubt._replace(cleared=cleared, until=float(rounds.time[end]))


def suspicions_over(pairs: Meetings, patience: float, systematic: Systematic) -> list[Suspicion]:
    """Return each time at which a reference was wrong over the pairs of a whole file, in order.

    ``until`` is inf where it is wrong to the end.
    """
    shown = pairs._replace(u=as_shown(pairs))
    rounds = rounds_of(shown)
    suspicions = []
    for begin, end in _stretches(rounds.z):
        last = int(np.flatnonzero(rounds.of_pair == end)[-1])
        then = np.arange(last + 1)
        one = late_clock(pairs.where(then[-PAIRS_MOST:])) or suspicion(
            pairs.where(then[-PAIRS:]), patience, systematic
        )
        if one is not None:
            until = float(rounds.time[end]) if end < rounds.time.size - 1 else np.inf
            suspicions.append(one._replace(since=float(rounds.time[begin]), until=until))
    return suspicions


def _stretches(z: Float) -> list[tuple[int, int]]:
    """Return first and last round of the stretches whose squares exceed the usual.

    A stretch is over once the rounds after it show so; one usual round at the end is not enough.
    """
    stretches, begin, end, total, most = [], 0, 0, 0.0, 0.0
    for at, beyond in enumerate((np.minimum(z * z, _MOST) - _USUAL).tolist()):
        if total <= 0.0:
            begin, total, most = at, 0.0, 0.0
        total += beyond
        if total > most:
            end, most = at, total
        if most > _CLEAR and (total < most - _CLEAR or at == z.size - 1):
            is_over = total < most - _CLEAR
            stretches.append((begin, end if is_over else at))
            total = 0.0
    return stretches


def _most_wrong(z: Float) -> int | None:
    """Return the last round of the stretch whose squares exceed the usual most, None if none."""
    if not z.size:
        return None
    beyond = np.minimum(z * z, _MOST) - _USUAL
    total = np.cumsum(beyond)
    best = total - np.minimum.accumulate(np.append(0.0, total[:-1]))
    end = int(np.argmax(best))
    return end if best[end] > _CLEAR else None
