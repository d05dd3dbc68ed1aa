"""The data model of the core: observations, and pairs as structured arrays.

Rules of this file: plain values, and the order of pairs. Times are seconds since 1970-01-01 UTC as
float; a number that was not stated is NaN, never None, so that a record is a row of numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
Records = npt.NDArray[np.void]

NAN: Final = math.nan
_OF_ONE: Final = re.compile(r"advice [0-9a-f]{8}: .+?, of (.+)")  # a note that names a quantity


class Reading(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=0):
    """One sensor's value with its stated uncertainty, at a time.

    At least one of ``u`` (standard uncertainty) and ``lower``/``upper`` (coverage interval with
    coverage probability ``p``) is stated; what is not stated is NaN. All in the series' unit.
    ``assumed`` says that ``u`` is from the settings because the sensor states none.
    """

    sensor: str
    quantity: str
    time: float
    value: float
    u: float = NAN
    lower: float = NAN
    upper: float = NAN
    p: float = NAN
    key: str = ""
    sequence: str = ""
    assumed: bool = False


class Distribution(Reading, frozen=True, array_like=True, gc=False, tag=4):
    """A reading whose sensor states a distribution, from which u and interval were derived.

    ``places`` are its quantiles at ``levels``, both ascending, or the members of an ensemble if
    ``levels`` is empty; each is packed with eight bytes a number.
    """

    places: bytes = b""
    levels: bytes = b""


class Reference(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=1):
    """A trusted value of the same measurand ("static measurement").

    ``subject`` names what it is about (a sensor unless the settings say otherwise);
    ``identity`` with ``revision`` lets a later message correct or void it (highest revision wins).
    ``reference_id`` names what measured it, such as a station, if that is not the subject.
    """

    subject: str
    quantity: str
    time: float
    value: float
    u: float = 0.0
    key: str = ""
    identity: str = ""
    revision: int = 0
    void: bool = False
    start: float = NAN
    end: float = NAN
    reference_id: str = ""


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=2):
    """Something that happened to a sensor: ``adjusted``, ``moved``, ``replaced``, ``firmware``.

    It begins a new epoch: windows and evidence hold only pairs from ``time`` on. Advice is
    ``accepted`` for the quantity that the note names.
    """

    sensor: str
    time: float
    event: str
    note: str = ""

    @property
    def quantity(self) -> str:
        """The quantity that it concerns, empty where it concerns all of its sensor."""
        named = _OF_ONE.fullmatch(self.note) if self.event == "accepted" else None
        return "" if named is None else named[1]

    def concerns(self, quantity: str) -> bool:
        """Return whether it begins an epoch of a quantity of its sensor."""
        return self.quantity in ("", quantity)


class Collocation(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=3):
    """A sensor stands beside a reference: references of ``subject`` concern it for a while."""

    sensor: str
    subject: str
    start: float
    end: float
    distance_km: float = 0.0


class Sample(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=6):
    """The value of a covariate at a time; readings are judged along covariates.

    It holds for the readings of ``sensor`` and ``quantity``; an empty name stands for all.
    """

    covariate: str
    sensor: str
    quantity: str
    time: float
    number: float


Observation = Reading | Distribution | Reference | Event | Collocation


def time_of(observation: Observation) -> float:
    """Return the event time of an observation, s since 1970 UTC; NaN if it has none."""
    return observation.start if isinstance(observation, Collocation) else observation.time


# One pair: a reading with its reference. The order of a series' pairs is (time, id). The last row
# of an id counts; a pair that gets another time is removed first, at the time it had.
PAIR: Final = np.dtype(
    [
        ("series", np.int64),  # row of the series in the registry
        ("id", np.uint64),  # identity: the same pair made twice has the same id
        ("time", np.float64),  # event time of the reading, s since 1970 UTC
        ("value", np.float64),
        ("u", np.float64),  # stated standard uncertainty, NaN if none
        ("lower", np.float64),  # stated coverage interval, NaN if none
        ("upper", np.float64),
        ("p", np.float64),  # its coverage probability
        ("reference", np.float64),
        ("u_ref", np.float64),  # standard uncertainty of the reference
        ("u_pair", np.float64),  # of the pairing: distance in time and space
        ("reference_id", np.uint64),  # identity of the reference, for corrections
        ("crps", np.float64),  # of the distribution that was stated, NaN if none was
        ("removed", np.bool_),  # this pair no longer stands
    ]
)


# A number beside a pair, by the pair's identity; with another time it is another pair. The first
# row of a series, id, time and covariate counts.
BESIDE: Final = np.dtype(
    [
        ("series", np.int64),
        ("id", np.uint64),
        ("time", np.float64),
        ("covariate", np.uint64),  # identity of its name
        ("number", np.float64),
    ]
)


_PORTION_PAIRS: Final = 16_384  # with their temporaries they fit the cache


def pair_records(rows: list[tuple[Any, ...]]) -> Records:
    """Return ``rows`` (tuples in the order of ``PAIR``) as one structured array."""
    return np.array(rows, dtype=PAIR)


def in_event_order(pairs: Records) -> Records:
    """Return the pairs that stand, once each, in the order (series, time, id).

    ``pairs`` are changes in the order they were made; the last row of an id counts.
    """
    return some_rows(pairs, event_order(pairs))


def event_order(pairs: Records) -> Int:
    """Return the places of the pairs of :func:`in_event_order`, in its order."""
    order = net_order(pairs)
    stands = ~pairs["removed"][order]
    return order if stands.all() else order[stands]


def net_order(pairs: Records) -> Int:
    """Return the places of the net changes of pairs, in the order (series, time, id).

    The last row of an id and time counts; it may remove the pair, as before a pair gets another
    time. Only series whose rows are not in the order of their times are sorted by time.
    """
    order, twisted = by_series(pairs)
    if not twisted.size:
        return order
    within = _among(pairs["series"][order], twisted)
    order[within], is_last = _by_time(pairs, order[within])
    is_net = np.ones(order.size, dtype=np.bool_)
    is_net[within] = is_last
    return order[is_net]


def _by_time(pairs: Records, order: Int) -> tuple[Int, Bool]:
    """Return places that are by series by (time, id) as well, and which is the last of its pair.

    Mostly times ascend already, which a stable sort of them makes use of; few pairs are tied.
    """
    order = order[np.argsort(pairs["time"][order], kind="stable")]
    order = order[by_number(pairs["series"][order])]
    series, times = pairs["series"][order], pairs["time"][order]
    is_first = np.ones(order.size, dtype=np.bool_)
    is_first[1:] = (series[1:] != series[:-1]) | (times[1:] != times[:-1])
    is_last = np.ones(order.size, dtype=np.bool_)
    is_tied = ~is_first
    is_tied[:-1] |= is_tied[1:]
    tied = np.flatnonzero(is_tied)
    if tied.size:
        moments: Int = np.cumsum(is_first, dtype=np.int64)[tied]
        ids = pairs["id"][order[tied]]
        by_id = np.lexsort((ids, moments))
        order[tied] = order[tied][by_id]
        is_last[tied] = _is_last(ids[by_id], moments)
    return order, is_last


def by_series(pairs: Records) -> tuple[Int, Int]:
    """Return the order of pairs by series, and the series whose times do not always ascend.

    Within a series the order of arrival is kept; a series may be returned more than once.
    """
    series, time = (np.ascontiguousarray(pairs[name]) for name in ("series", "time"))
    order = by_number(series)
    names, times = series[order], time[order]
    return order, names[1:][(names[1:] == names[:-1]) & (times[1:] <= times[:-1])]


def by_number(numbers: Int) -> Int:
    """Return the stable order of numbers from 0 to 2^32 - 1, sorted by 16 bits at a time.

    numpy sorts 16 bits in one pass, which takes a tenth of the time of a 64-bit sort.
    """
    order: Int = np.argsort(numbers.astype(np.uint16), kind="stable")
    above = (numbers >> 16).astype(np.uint16)
    return order[np.argsort(above[order], kind="stable")] if above.any() else order


def _among(series: Int, some: Int) -> Bool:
    """Return which rows are of ``some`` series; ``series`` ascend."""
    marks = np.zeros(int(series[-1]) + 1, dtype=np.bool_)
    marks[some] = True
    return marks[series]


def _is_last(*columns: Int | Float) -> Bool:
    """Return which rows are followed by one that differs in any column."""
    last = np.zeros(columns[0].size, dtype=np.bool_)
    last[-1] = True
    for column in columns:
        last[:-1] |= column[1:] != column[:-1]
    return last


def in_portions(pairs: Records, order: Int, most: int = _PORTION_PAIRS) -> Iterator[Records]:
    """Yield ``pairs`` in the :func:`event_order` in portions of whole series.

    A portion has at most ``most`` pairs, or one series.
    """
    names = pairs["series"][order]
    stops = np.append(np.flatnonzero(names[1:] != names[:-1]) + 1, order.size)
    first = 0
    while first < order.size:
        within = np.searchsorted(stops, [first, first + most], side="right")
        last = int(stops[max(within[0], within[1] - 1)])
        yield some_rows(pairs, order[first:last])
        first = last


def some_rows(pairs: Records, rows: Int) -> Records:
    """Return the rows numbered ``rows``, copied whole: many times faster than by field."""
    bare = np.dtype((np.void, pairs.dtype.itemsize))
    return pairs.view(bare).take(rows).view(pairs.dtype)
