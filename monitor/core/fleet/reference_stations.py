"""Which references several sensors share, and which of those look wrong.

Rules of this file: a verdict is a function of the windows and of the references held, so a restart
changes nothing. A reference is examined again when the window of one of its series changes. A pair
whose reference was evicted counts only where its series has a single reference. Measurements that
come under several subjects belong to one reference if their messages say so (``reference_id``).
Series of two quantities or units never judge a reference together: a name may be that of a station
with several instruments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from monitor.core.columns import Columns
from monitor.core.diagnosis.fault_reports import Clock
from monitor.core.fleet.former_suspicions import former_suspicion
from monitor.core.fleet.late_clocks import late_clock
from monitor.core.fleet.suspect_references import (
    MEETING,
    PAIRS,
    PAIRS_MOST,
    SENSORS_MIN,
    Suspect,
    Suspicion,
    met,
    suspicion,
)
from monitor.core.model import Bool, Int, Records
from monitor.core.pairing.buffers import ReferenceBuffer, Scope
from monitor.core.pairing.series_rules import Systematic
from monitor.core.steps import Steps, finish, portions
from monitor.core.verdict import Estimate

_BUFFERS_AT_ONCE: Final = 8192
_TAIL_MIN: Final = 8  # least number of last pairs of each series that are looked at
# Most of the last pairs of each series that show whether a reference was wrong, or its clock is.
_FORMER: Final = 96

ReferenceBuffers = Mapping[tuple[str, str, str], ReferenceBuffer]
# (series, last pairs of each) -> (those that have any, starts, rows)
Gather = Callable[[Int, int], tuple[Int, Int, Records]]
Complete = Callable[[Int, Int, Records], Columns]
# (subject, series) -> whether it is shared; the subject is "" where a reference has a name
IsShared = Callable[[str, Collection[int]], bool]


class Station(NamedTuple):
    """A reference that at least five series share.

    ``rows`` are those series, of one ``unit``; ``measured`` names the measurements that are held;
    ``alone`` marks series with no other reference. ``by_id``: a measurement may come under several
    subjects.
    """

    reference: str
    quantity: str
    rows: Int
    measured: Int
    alone: Bool
    by_id: bool = False
    unit: str = ""


class SeriesFacts(NamedTuple):
    """The name, unit and patience of one series, and its declared systematic effects."""

    name: tuple[str, str]
    unit: str
    patience: float
    systematic: Systematic = Systematic()


class MeetingPairs(NamedTuple):
    """The last pairs (``MEETING``) with one reference, of all its series.

    Pairs are in event order, series by series; ``first`` describes the first series by name.
    """

    pairs: Records
    first: SeriesFacts


def _of_many(subject: str, series: Collection[int]) -> bool:
    del subject
    return len(series) >= SENSORS_MIN


def shared(
    reference_buffers: ReferenceBuffers, is_shared: IsShared, unit_of: Callable[[int], str]
) -> list[Station]:
    """Return the references that are shared, once for each unit of their series."""
    stations = finish(_sharing(reference_buffers, is_shared))
    return [part for each in stations for part in _by_unit(each, unit_of)]


def _by_unit(station: Station, unit_of: Callable[[int], str]) -> list[Station]:
    units = np.array([unit_of(row) for row in station.rows.tolist()])
    return [
        station._replace(rows=station.rows[some], alone=station.alone[some], unit=str(unit))
        for unit in np.unique(units)
        for some in [units == unit]
    ]


def _sharing(reference_buffers: ReferenceBuffers, is_shared: IsShared) -> Steps[list[Station]]:
    named: dict[tuple[str, str], list[ReferenceBuffer]] = {}
    with_ids: list[tuple[str, ReferenceBuffer]] = []
    buffers, keys = [*reference_buffers.values()], [*reference_buffers]  # a pair of each costs more
    for part in portions(range(len(keys)), _BUFFERS_AT_ONCE):
        for at in part:
            references, (quantity, subject, _) = buffers[at], keys[at]
            if is_shared(subject, references.scope.series):
                named.setdefault((quantity, subject), []).append(references)
            if references.has_reference_ids:
                with_ids.append((quantity, references))
        yield
    by_id = _by_id(with_ids, is_shared)
    if not (named or by_id):
        return []
    scopes: dict[int, Scope] = {}
    for group in portions(buffers, _BUFFERS_AT_ONCE):
        scopes.update((id(each.scope), each.scope) for each in group if each.scope.times)
        yield
    referred = Counter(chain.from_iterable(scope.series for scope in scopes.values()))
    yield
    of_subjects = [
        each
        for (quantity, subject), group in named.items()
        for each in _stations(quantity, subject, group, referred)
    ]
    return of_subjects + [
        _station_by_id(quantity, name, group, referred) for (quantity, name), group in by_id.items()
    ]


def _by_id(
    reference_buffers: Iterable[tuple[str, ReferenceBuffer]], is_shared: IsShared
) -> dict[tuple[str, str], list[ReferenceBuffer]]:
    """Return buffers by (quantity, reference_id); each contains references with one."""
    by_id: dict[tuple[str, str], list[ReferenceBuffer]] = {}
    for quantity, references in reference_buffers:
        for name in sorted({each.reference_id for each in references.references()} - {""}):
            by_id.setdefault((quantity, name), []).append(references)
    return {
        key: those
        for key, those in by_id.items()
        if is_shared("", {row for each in those for row in each.scope.series})
    }


def _station_by_id(
    quantity: str, name: str, reference_buffers: list[ReferenceBuffer], referred: dict[int, int]
) -> Station:
    rows: dict[int, bool] = {}
    measured: list[int] = []
    for references in reference_buffers:
        theirs = [each.reference_id == name for each in references.references()]
        measured += (one for one, its in zip(references.identities, theirs, strict=True) if its)
        for row in references.scope.series:
            rows[row] = rows.get(row, True) and all(theirs) and referred.get(row, 0) <= 1
    order = sorted(rows)
    return Station(
        name,
        quantity,
        np.array(order, dtype=np.int64),
        np.array(measured, dtype=np.uint64),
        np.array([rows[row] for row in order]),
        by_id=True,
    )


def _stations(
    quantity: str, subject: str, reference_buffers: list[ReferenceBuffer], referred: dict[int, int]
) -> list[Station]:
    """Return one station, or one a subject if references of all subjects concern the series."""
    rows = np.array(sorted(reference_buffers[0].scope.series), dtype=np.int64)
    by_subject: dict[str, list[int]] = {subject: []} if subject else {}
    for references in reference_buffers:
        for reference, name in zip(references.references(), references.identities, strict=True):
            if not reference.reference_id:
                by_subject.setdefault(subject or reference.subject, []).append(name)
    named = any(references.has_reference_ids for references in reference_buffers)
    by_subject = {name: its for name, its in by_subject.items() if its or not named}
    own = int(bool(reference_buffers[0].scope.times))
    alone = np.array([referred.get(row, 0) <= own and not named for row in rows.tolist()])
    return [
        Station(
            name,
            quantity,
            rows,
            np.array(measured, dtype=np.uint64),
            alone & (len(by_subject) == 1),
        )
        for name, measured in by_subject.items()
    ]


class ReferenceStations:
    """State: the references that look wrong, or did until recently."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], Suspect] = {}
        self._alone: dict[tuple[str, str, str], list[int]] = {}

    def clocks(self) -> dict[int, Clock]:
        """Return the clock of the only reference of a series where that is wrong now."""
        now = {key: each.clock for key, each in self._found.items() if np.isinf(each.until)}
        return {row: one for key, one in now.items() if one for row in self._alone[key]}

    def suspects(self) -> tuple[Suspect, ...]:
        """Return the references that look wrong, and the errors that their sensors share."""
        return tuple(each for each in self._found.values() if np.isinf(each.until))

    def former(self) -> tuple[Suspect, ...]:
        """Return the references that looked wrong and may still explain alerts of sensors."""
        former = (each for each in self._found.values() if np.isfinite(each.until))
        return tuple(each for each in former if each.whose != "sensors")

    def steps(
        self,
        changed: Int,
        reference_buffers: ReferenceBuffers,
        gather: Gather,
        complete: Complete,
        facts_of: Callable[[int], SeriesFacts],
    ) -> Steps[None]:
        """Examine the references of ``changed`` series again; ``facts_of(row)`` describes one."""
        if not changed.size:
            return
        stations = yield from _sharing(reference_buffers, _of_many)
        known = {(each.quantity, each.reference) for each in stations}
        self._found = {key: each for key, each in self._found.items() if key[:2] in known}
        for station in stations:
            if not np.isin(station.rows, changed).any():
                continue
            for part in _by_unit(station, lambda row: facts_of(row).unit):
                suspect = _examine(part, gather, complete, facts_of)
                self._found.pop((part.quantity, part.reference, part.unit), None)
                if suspect is not None:
                    self._found[part.quantity, part.reference, part.unit] = suspect
                    alone = part.rows[part.alone].tolist()
                    self._alone[part.quantity, part.reference, part.unit] = alone
                yield


def tail(series: int) -> int:
    """Return how many last pairs each of ``series`` series contributes."""
    return max(_newest(series), min(_FORMER, PAIRS_MOST // series))


def _newest(series: int) -> int:
    """Return how many of these pairs a suspicion uses."""
    return max(_TAIL_MIN, 2 * PAIRS // series)


def gathered(
    station: Station,
    gather: Gather,
    complete: Complete,
    facts_of: Callable[[int], SeriesFacts],
) -> MeetingPairs | None:
    """Return the last pairs with one reference, None if its series have none."""
    present, starts, rows = gather(station.rows, tail(station.rows.size))
    counts = np.diff(starts, append=rows.size)
    series = np.repeat(present, counts)
    back = np.repeat(starts + counts, counts) - np.arange(rows.size) - 1
    theirs = np.isin(series, station.rows[station.alone])
    theirs |= np.isin(rows["reference_id"], station.measured)
    series, rows, back = series[theirs], rows[theirs], back[theirs]
    if not series.size:
        return None
    present, begins = np.unique(series, return_index=True)
    columns = complete(present, begins, rows)
    pairs = np.zeros(series.size, dtype=MEETING)
    pairs["series"], pairs["back"], pairs["measured"] = series, back, rows["reference_id"]
    for name in ("time", "reference", "error", "u_eff", "u_ref"):
        pairs[name] = getattr(columns, name)
    return MeetingPairs(pairs, min(map(facts_of, present.tolist())))


def examined_reference(
    pairs: Records, first: SeriesFacts, series: int, *, by_id: bool
) -> Suspicion | None:
    """Return what is wrong with a reference, and by how much it reads high; None if it is right.

    With an ``until`` it is what was wrong. ``series`` is how many series share the reference.
    ``first`` describes the first of them by name, whose patience and declarations apply.
    ``pairs`` (``MEETING``) are in event order, series by series in the order of their names: pairs
    of one instant are read in that order.
    """
    if np.unique(pairs["series"]).size < SENSORS_MIN:
        return None
    newest = pairs[pairs["back"] < _newest(series)]
    meetings = met(newest, _rounds(newest) if by_id else newest["measured"])
    every = met(pairs, _rounds(pairs) if by_id else pairs["measured"], PAIRS_MOST)
    doubt = late_clock(every) or suspicion(meetings, first.patience, first.systematic)
    if doubt is None:
        doubt = former_suspicion(every, first.patience, first.systematic)
    if doubt is None:
        return None
    value, lower, upper = doubt.estimate
    return doubt._replace(estimate=Estimate(-value, -upper, -lower))


def _examine(
    station: Station,
    gather: Gather,
    complete: Complete,
    facts_of: Callable[[int], SeriesFacts],
) -> Suspect | None:
    known = gathered(station, gather, complete, facts_of)
    if known is None:
        return None
    pairs = known.pairs
    present = np.unique(pairs["series"])
    names = [facts_of(row).name for row in present.tolist()]
    ranks = np.argsort(np.array(sorted(range(len(names)), key=names.__getitem__)))
    pairs["series"] = ranks[np.searchsorted(present, pairs["series"])]
    pairs = pairs[np.argsort(pairs["series"], kind="stable")]
    doubt = examined_reference(pairs, known.first, station.rows.size, by_id=station.by_id)
    if doubt is None:
        return None
    rows = tuple(station.rows.tolist())
    cleared = tuple(sorted(present[np.argsort(ranks)][doubt.cleared].tolist()))
    return Suspect(
        station.reference,
        station.quantity,
        station.unit,
        *doubt[:4],
        rows,
        doubt.nature,
        cleared,
        doubt.until,
        doubt.whose,
    )


def _rounds(pairs: Records) -> Int:
    """Return which measurement each pair belongs to, where its name differs between subjects.

    One measurement has one value and uncertainty, and a series meets it once: the k-th pair of a
    series with a value belongs to the k-th measurement of that value.
    """
    series = pairs["series"]
    stated = np.stack([pairs["reference"], pairs["u_ref"]])
    value = np.unique(stated, axis=1, return_inverse=True)[1].ravel()
    order = np.lexsort((pairs["time"], series, value))
    first = np.ones(order.size, np.bool_)
    first[1:] = (np.diff(value[order]) != 0) | (np.diff(series[order]) != 0)
    begins = np.flatnonzero(first)
    turn = np.empty(order.size, dtype=np.int64)
    turn[order] = np.arange(order.size) - np.repeat(begins, np.diff(begins, append=order.size))
    return np.asarray(np.unique(np.stack([value, turn]), axis=1, return_inverse=True)[1].ravel())
