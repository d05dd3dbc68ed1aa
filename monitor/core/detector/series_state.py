"""The state of a series: one record, and the forms that earlier versions of it had."""

from __future__ import annotations

from typing import Final

import numpy as np

from monitor.core.detector import whitening
from monitor.core.detector.e_values import BETS
from monitor.core.detector.scales import SCALES, STATE_FIELDS

STATE: Final = np.dtype(
    [
        ("evidence", np.float64, BETS),  # weight * M of each bet
        ("discounted", np.float64),  # D: compared across the fleet
        ("d1", np.float64),  # fading sums of squared differences of clipped z, lag 1 and 2
        ("d2", np.float64),
        ("n", np.float64),  # how many differences
        ("far", np.float64),  # the same at lag FAR
        ("n_far", np.float64),
        ("middle", np.float64),  # fading sum of the bet that knows how narrow errors are
        ("block", np.float64, SCALES),  # sum of the whitened z of the block that is filling
        ("before", np.float64, SCALES),  # that of the block before it
        ("steps", np.float64, SCALES),  # sum of squared differences of blocks
        ("n_steps", np.float64, SCALES),
        ("z1", np.float64),  # last z, and the one before
        ("z2", np.float64),
        ("seen", np.int64),  # pairs since the epoch began
        ("alarm", np.int64),  # which of them raised the alert that fires, from 1; 0: none
        ("reverse", np.float64),  # evidence that the fault is gone
        ("moments", np.float64, 3),  # of the fault
        ("calm", np.float64, 3),  # those of the pairs since the fault may be gone
        # While ok, how many calm pairs ended the last alert; while firing, the most that did not.
        ("stretch", np.float64),
        ("held", np.int16),  # last z a replay may use
        ("refining", np.int8),  # pairs that still sharpen the fault's moments
        ("state", np.int8),
        ("family", np.int8),  # that led when the alert fired
    ],
    align=True,
)


def _without(now: np.dtype[np.void], fields: tuple[str, ...]) -> np.dtype[np.void]:
    kept = [name for name in now.names or () if name not in fields]
    return np.dtype([(name, now[name].base, now[name].shape) for name in kept], align=True)


# Earlier forms of saved states: without shapes and relapses; before that, without a test of the
# pairs after a fault; before that, without dependence at several scales.
_WITHOUT_RELAPSE: Final = _without(STATE, ("middle", "stretch"))
_WITHOUT_CALM: Final = _without(_WITHOUT_RELAPSE, ("calm",))
_WITHOUT_SCALES: Final = _without(_WITHOUT_CALM, STATE_FIELDS)


def with_relapse(state: bytes) -> bytes:
    """Upgrade a saved state without shape and relapse; what it had learnt of z is dropped."""
    found = _converted(state, _WITHOUT_RELAPSE, STATE)
    new = np.frombuffer(found, STATE, 1).copy()
    # The sum must cover all pairs counted so far: each enters with the bet's largest value.
    new["middle"] = new["n"] * whitening.MIDDLE_MOST
    return new.tobytes() + found[STATE.itemsize :]


def with_calm(state: bytes) -> bytes:
    """Upgrade a saved state without calm; no pair since a fault is counted yet."""
    return _converted(state, _WITHOUT_CALM, _WITHOUT_RELAPSE)


def with_scales(state: bytes) -> bytes:
    """Upgrade a saved state without scales to the next form; nothing is learnt of them yet."""
    return _converted(state, _WITHOUT_SCALES, _WITHOUT_CALM)


def _converted(state: bytes, before: np.dtype[np.void], after: np.dtype[np.void]) -> bytes:
    old, new = np.frombuffer(state, before, 1), np.zeros(1, after)
    for name in before.names or ():
        new[name] = old[name]
    return new.tobytes() + state[before.itemsize :]
