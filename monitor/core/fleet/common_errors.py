"""The error that the sensors of a round share: the reference's, seen by all of them at once.

Rules of this file: pure functions of the pairs with one reference. A round's common error is a
robust centre of its sensors' errors, so that a few wrong ones hardly move it. It reveals a
reference that is noisier than it says, stands still, or has a gain, which no single sensor can
distinguish from a fault of its own; and it clears the sensors that are as right as they say once it
is subtracted from their errors. Any other common cause (the weather) looks the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

import numpy as np

from monitor.core.model import Float, Int

Kind = Literal["offset", "noise", "stuck", "gain", "lag"]

_SEEN: Final = 3  # sensors that a round needs for a common error
_AS_SEEN: Final = 4.0  # pairs that the u shown by the other sensors counts as
_CLIP: Final = 1.5  # u from the median at which a sensor's influence is capped
_LOSS: Final = 1.1  # variance of the robust centre over that of the mean, normal errors
_FAR: Final = 3.0  # standard errors beyond which a sensor has a fault of its own
_SQUARES: Final = 1.4  # standard deviation of a squared z, with z cut off at 3
_CUT: Final = 9.0
_STILL: Final = 4  # rounds with one value that make a standstill
FEW: Final = 6  # rounds needed to recognise noise or a gain
_STEEP: Final = 6.0  # standard errors from which a slope is a gain
_GOES_ALONG: Final = 0.6  # share of the common errors' variance that follows the level, for a gain
_MOVES: Final = 10.0  # least variance of the level over that of the common errors
_NOISY: Final = 3.0  # standard errors from which a variance is noise


class Meetings(NamedTuple):
    """Pairs of one reference in order of (round, time): series, round and what was measured."""

    series: Int
    round: Int
    time: Float
    error: Float
    u: Float  # of the sensor and the pairing
    u_shared: Float  # of the reference, the same within a round
    value: Float  # of the reference; NaN where it is unknown

    def where(self, rows: Int) -> Meetings:
        """Return some of the pairs."""
        return Meetings(
            self.series[rows],
            self.round[rows],
            self.time[rows],
            self.error[rows],
            self.u[rows],
            self.u_shared[rows],
            self.value[rows],
        )


class Rounds(NamedTuple):
    """The rounds that three sensors or more met: one entry each."""

    time: Float
    error: Float  # common to all sensors
    variance: Float  # of that, from the sensors' own errors as stated
    u_shared: Float
    value: Float
    of_pair: Int  # which round each pair is of, -1 for none

    @property
    def z(self) -> Float:
        """The common errors in units of the uncertainty that reference and sensors state."""
        return self.error / np.sqrt(np.maximum(self.u_shared**2 + self.variance, 1e-300))


def as_shown(pairs: Meetings) -> Float:
    """Return u of each pair, not below what its sensor's distance from the others shows.

    The mean square of a sensor's distances from its rounds' medians, in units of its u^2, is shrunk
    towards the median of all sensors, which dominates for a sensor with one pair. Sensors that
    understate u would also understate the uncertainty of their common error, and so accuse an
    honest reference.
    """
    begins, counts, number = _begun(pairs.round)
    own = np.maximum(pairs.u, 1e-300)
    away = (pairs.error - _medians(pairs, begins, counts, number)[number]) / own
    enough = counts[number] >= _SEEN
    _, series = np.unique(pairs.series, return_inverse=True)
    squares = np.bincount(series, np.where(enough, np.minimum(away * away, 1e12), 0.0))
    times = np.bincount(series, enough)
    if not enough.any():
        return pairs.u
    others = max(1.0, float(np.median((squares / np.maximum(times, 1.0))[times > 0])))
    factor = np.sqrt(np.maximum((_AS_SEEN * others + squares) / (_AS_SEEN + times), 1.0))
    u: Float = pairs.u * factor[series]
    return u


def _begun(rounds: Int) -> tuple[Int, Int, Int]:
    """Return where each round begins, its pairs, and which round each pair is of."""
    begins = np.flatnonzero(np.append(True, rounds[1:] != rounds[:-1]))
    counts = np.diff(begins, append=rounds.size)
    return begins, counts, np.repeat(np.arange(begins.size), counts)


def _medians(pairs: Meetings, begins: Int, counts: Int, number: Int) -> Float:
    """Return the median error of each round."""
    ascending = pairs.error[np.lexsort((pairs.error, number))]
    middle: Float = 0.5 * (ascending[begins + (counts - 1) // 2] + ascending[begins + counts // 2])
    return middle


def rounds_of(pairs: Meetings) -> Rounds:
    """Return the common error of each round: one step of Huber's estimator from the median."""
    begins, counts, number = _begun(pairs.round)
    middle = _medians(pairs, begins, counts, number)
    weight = 1.0 / np.maximum(pairs.u, 1e-300) ** 2
    away = np.clip(pairs.error - middle[number], -_CLIP * pairs.u, _CLIP * pairs.u)
    total = np.add.reduceat(weight, begins)
    error = middle + np.add.reduceat(weight * away, begins) / total
    enough = counts >= _SEEN
    place = np.where(enough, np.cumsum(enough) - 1, -1)
    return Rounds(
        pairs.time[begins][enough],
        error[enough],
        _LOSS / total[enough],
        pairs.u_shared[begins][enough],
        pairs.value[begins][enough],
        place[number],
    )


class Peers(NamedTuple):
    """Sensors held against the others of their rounds.

    ``cleared`` are the series that are as right as they say among the others; ``far`` says by how
    much each of ``names`` is not.
    """

    names: Int
    far: Float
    cleared: Int


def among_peers(pairs: Meetings, rounds: Rounds, stated: Float) -> Peers:
    """Return which series are right, by the u they have ``stated``, without the common errors.

    The common errors were weighted by the u of ``pairs``, which sensors show (:func:`as_shown`).
    A sensor's own part of the common error is allowed for. Autocorrelated errors count for less
    (the correlation is taken over all sensors).
    """
    rows = np.flatnonzero(rounds.of_pair >= 0)
    at, u, series = rounds.of_pair[rows], stated[rows], pairs.series[rows]
    mean_variance = rounds.variance[at] / _LOSS
    share = mean_variance * (u / np.maximum(pairs.u[rows], 1e-300)) ** 2
    left = u * u - 2.0 * share + rounds.variance[at]
    z = (pairs.error[rows] - rounds.error[at]) / np.sqrt(np.maximum(left, 1e-6 * u * u + 1e-300))
    order = np.lexsort((at, series))
    z, series = z[order], series[order]
    inflated = _inflation(z, series)
    names, number, counts = np.unique(series, return_inverse=True, return_counts=True)
    mean = np.bincount(number, np.clip(z, -10.0, 10.0)) / counts
    square = np.bincount(number, np.minimum(z * z, _CUT)) / counts
    by_mean = np.abs(mean) * np.sqrt(counts / inflated)
    by_square = (square - 1.0) / _SQUARES * np.sqrt(counts / inflated)
    far = np.maximum(by_mean, by_square)
    return Peers(names, far, names[far <= _FAR])


def _inflation(z: Float, series: Int) -> float:
    """Return the factor from dependence (lag-1 correlation) on the variance of a mean."""
    clipped = np.clip(z, -3.0, 3.0)
    same = series[1:] == series[:-1]
    products, squares = (clipped[1:] * clipped[:-1])[same].sum(), (clipped[1:] ** 2)[same].sum()
    rho = float(np.clip(products / max(squares, 1e-9), 0.0, 0.9)) if same.any() else 0.0
    return (1.0 + rho) / (1.0 - rho)


class Nature(NamedTuple):
    """The fault of a reference: an offset, or noise, a standstill, a gain, a lag of this ``size``.

    The size is the standard deviation of its errors, the value it stands at, its gain, or by how
    many seconds its clock is late (``pairs`` of each sensor; ahead if negative); NaN for an offset.
    ``stated`` is the standard deviation that it states.
    """

    kind: Kind
    size: float = np.nan
    stated: float = np.nan
    pairs: int = 0


def nature(rounds: Rounds, since: float) -> Nature:
    """Return what the common errors from a time on (s UTC) look like."""
    late = rounds.time >= since
    error, value = rounds.error[late], rounds.value[late]
    stated = float(np.median(rounds.u_shared[late])) if late.any() else np.nan
    if _stands_still(value, error, rounds.variance[late]):
        return Nature("stuck", float(value[-1]), stated)
    if error.size < FEW:
        return Nature("offset", stated=stated)
    level = value + error  # as the sensors report it
    x, y = level - level.mean(), error - error.mean()
    along = float(x @ y) / max(float(x @ x), 1e-300)
    rest = y - along * x
    of_slope = float(np.sqrt(rest @ rest / (error.size - 2) / max(float(x @ x), 1e-300)))
    explained = 1.0 - float(rest @ rest) / max(float(y @ y), 1e-300)
    moves = float(x @ x) > _MOVES * float(rounds.variance[late].sum())
    if moves and abs(along) > _STEEP * of_slope and explained > _GOES_ALONG:
        return Nature("gain", 1.0 - along, stated)
    variance = _from_round_to_round(error)
    expected = float((rounds.u_shared[late] ** 2 + rounds.variance[late]).mean())
    if (variance / max(expected, 1e-300) - 1.0) * np.sqrt((error.size - 1) / 3.0) > _NOISY:
        own = variance - float(rounds.variance[late].mean())
        return Nature("noise", float(np.sqrt(max(own, 0.0))), stated)
    return Nature("offset", stated=stated)


def _from_round_to_round(error: Float) -> float:
    """Return the variance of errors from their differences; the largest, a jump, does not count."""
    steps = np.diff(error) ** 2
    return 0.5 * float(steps.sum() - steps.max()) / (steps.size - 1)


def _stands_still(value: Float, error: Float, variance: Float) -> bool:
    """Whether the last rounds have one value while the sensors see more than one."""
    others = np.flatnonzero(value != value[-1]) if value.size else np.zeros(0, np.int64)
    first = int(others[-1]) + 1 if others.size else 0
    still, own = error[first:], variance[first:]
    if still.size < _STILL:
        return False
    spread = ((still - still.mean()) ** 2 / np.maximum(own, 1e-300)).sum()
    return bool(spread > _MOVES * still.size)


def erratic(
    pairs: Meetings, rounds: Rounds, stated: Float, fires: Callable[[Float], bool]
) -> Peers | None:
    """Return how sensors compare with each other if they accuse their reference, else None.

    ``pairs`` have the u that their sensors show, ``stated`` is what they state; ``fires`` says
    whether the detector fires at the last of some z. The tenth of the sensors that agrees least
    with the others, and one more, are left out, and the rest must accuse the reference alone; most
    sensors must be right among each other.
    """
    if rounds.time.size < _SEEN or not fires(rounds.z):
        return None
    peers = among_peers(pairs, rounds, stated)
    if 2 * peers.cleared.size < peers.names.size:
        return None
    few = 1 + int(np.ceil(0.1 * peers.names.size))
    out = peers.names[np.argsort(-peers.far, kind="stable")[:few]]
    others = rounds_of(pairs.where(np.flatnonzero(~np.isin(pairs.series, out))))
    return peers if others.time.size and fires(others.z) else None
