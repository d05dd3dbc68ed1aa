"""A recorded file as pairs and alerts, as the daemon would have found them, without a broker.

Rules of this file: the same core, in event order; the clock is the event time. The alerts that the
daemon would have raised, and who needs a reference next at one moment, become plain values at the
end.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from monitor.core.analysis.correlation import correlation
from monitor.core.analysis.remarks import outside, zms_in_bins
from monitor.core.columns import Columns, in_blocks, pair_columns
from monitor.core.detector.replay import AlertChange
from monitor.core.formatting import duration, finite, instant
from monitor.core.model import (
    PAIR,
    Event,
    Float,
    Int,
    Observation,
    Records,
    Reference,
    in_event_order,
    time_of,
)
from monitor.core.pairing.identities import digest, reference_digest
from monitor.core.pairing.reference_revisions import is_revisable
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import Limits, SeriesName
from monitor.core.scores.calibration import z_square
from monitor.core.scores.proper_scores import Density, of_density
from monitor.core.scores.statistics import compute
from monitor.core.snapshot.additions import Addition
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.core.windows.rings import combined
from monitor.files import FileError, FileLayout, PairTable, Watch, detect, read_pairs, read_stream
from monitor.files.layout import AS_USUAL, early_times
from monitor.files.paired_columns import NameNumbers
from monitor.files.time_layouts import with_found_times
from monitor.journal.in_memory import InMemoryStore
from monitor.journal.store import Batch
from monitor.report.progress import rows_read, step

# -- the daemon without a broker ------------------------------------------------------------------

_BATCH: Final = 4096
_BARE: Final = (
    "sigma and an interval without its alpha in one row: sigma counts, the interval does not; "
    "add a column alpha if it should"
)
_SERIES_MAX: Final = 100_000
_NO_COVARIATES: Final[Mapping[str, Float]] = {}


class Recorded(NamedTuple):
    """The standing pairs of a file, in the order (series, time, id), and what alerts did.

    Without times (not ``timed``) the pairs have their numbers instead. ``rules`` are those of each
    series, ``covariates`` the requested numbers of each pair by name: places in the
    ``categories`` of that name where it has any.
    """

    names: tuple[SeriesName, ...]
    pairs: Records
    changes: list[AlertChange]
    notes: tuple[str, ...]
    rules: tuple[SeriesRules, ...]
    timed: bool = True
    covariates: Mapping[str, Float] = _NO_COVARIATES
    categories: Mapping[str, tuple[str, ...]] = {}

    def columns(self, level: float) -> Columns:
        """Return the pairs as columns for the statistics; every series has at least one."""
        starts = np.unique(self.pairs["series"], return_index=True)[1]
        return pair_columns(self.pairs, starts, level)


def read(
    path: Path,
    rules: SeriesRules,
    layout: FileLayout = AS_USUAL,
    covariates: Sequence[str] = (),
) -> Recorded:
    """Return the content of a file of pairs or of a stream; raises FileError.

    ``layout`` says how it is written, ``covariates`` names further columns.
    """
    with rows_read() as watch:
        kind = detect(path, layout)
        if kind == "messages":
            how = "`monitor replay --direct` brings them into a journal, `monitor export` out of it"
            raise FileError(f"{path}: holds raw messages, not pairs; {how}")
        if kind == "stream":
            if covariates:
                raise FileError(f"{path}: is a stream; only a file of pairs has a covariate")
            return _of_stream(path, rules, watch, with_found_times(path, layout))
        table = read_pairs(path, with_found_times(path, layout), watch, covariates)
    with step(f"looking for incidents in {table.time.size} pairs"):
        recorded = of_pairs(table, rules)
    return with_covariates(recorded, table)


def read_with_notes(
    path: Path,
    rules: SeriesRules,
    layout: FileLayout = AS_USUAL,
    covariates: Sequence[str] = (),
) -> Recorded:
    """Return what :func:`read` returns, and print on stderr what in the file is not used."""
    recorded = read(path, rules, layout, covariates)
    for note in recorded.notes:
        sys.stderr.write(f"{note}\n")
    return recorded


def with_covariates(recorded: Recorded, table: PairTable) -> Recorded:
    """Return the result of a table with the covariates of its pairs."""
    rows = recorded.pairs["id"]
    columns = {name: numbers[rows] for name, numbers in table.covariates.items()}
    return recorded._replace(covariates=columns, categories=table.categories)


def replayed(
    names: Sequence[tuple[str, str]],
    pairs: Records,
    rules_of: Callable[[str, str], SeriesRules],
    events: Sequence[Event] = (),
    notes: Sequence[str] = (),
) -> Recorded:
    """Return standing pairs with the alerts over them.

    ``names`` are (sensor, quantity) by the row numbers in ``pairs`` (of ``PAIR``).
    """
    memory = InMemoryNetwork(rules_of, 32)
    for name in names:
        memory.network.registry.add(*name)
    if events:
        memory.apply(memory.network.observe(events, max(each.time for each in events)).pairs)
    memory.apply(pairs)
    return memory.recorded(notes)


class InMemoryNetwork:
    """A network whose store is in memory; ``additions`` are those of an extension."""

    def __init__(
        self,
        rules_of: Callable[[str, str], SeriesRules],
        window: int,
        additions: tuple[Callable[[], Addition], ...] = (),
    ) -> None:
        limits = Limits(_SERIES_MAX, _SERIES_MAX)
        plan = CoreSettings(rules_of, limits=limits, window_pairs_max=window, additions=additions)
        self._store: Final = InMemoryStore()
        self.network: Final = Network(plan, self._store)

    def apply(self, pairs: Records, observations: Iterable[Observation] = ()) -> None:
        """Apply pairs; keep their changes, and references that can be revised."""
        references = [
            each for each in observations if isinstance(each, Reference) and is_revisable(each)
        ]
        self._store.append(Batch(observations=references, pairs=pairs))
        self.network.apply(pairs)

    def recorded(self, notes: Iterable[str]) -> Recorded:
        """Return everything, without series that have no pair."""
        self.network.evaluate(0.0)
        pairs = in_event_order(self._store.pairs())
        paired, index = np.unique(pairs["series"], return_inverse=True)
        renumbered = {int(row): at for at, row in enumerate(paired)}
        pairs["series"] = index
        names = self.network.names()
        return Recorded(
            tuple(names[row] for row in paired),
            pairs,
            [
                change._replace(series=renumbered[change.series])
                for change in self.network.drain_transitions()
                if change.series in renumbered
            ],
            tuple(notes),
            tuple(self.network.rules[row] for row in paired),
        )


def of_pairs(table: PairTable, rules: SeriesRules) -> Recorded:
    """Return the pairs of a table with the alerts over them; ``rules`` apply to all series."""
    units = dict(zip(table.names, table.units, strict=True))
    pairs = np.zeros(table.series.size, dtype=PAIR)
    pairs["id"] = np.arange(table.series.size)
    pairs["series"] = table.series
    bare = ~np.isnan(table.u) & ~np.isnan(table.lower) & np.isnan(table.p)
    lower, upper = (np.where(bare, np.nan, end) for end in (table.lower, table.upper))
    stated = (table.time, table.value, table.u, lower, upper, table.p)
    for field, column in zip(("time", "value", "u", "lower", "upper", "p"), stated, strict=True):
        pairs[field] = column
    pairs["reference"], pairs["u_ref"] = table.reference, table.u_ref
    pairs["reference_id"], pairs["crps"] = _measurements(table), table.crps
    recorded = replayed(
        table.names,
        pairs,
        lambda sensor, quantity: rules._replace(unit=units[sensor, quantity]),
        notes=(*table.notes, *([_BARE] if bare.any() else [])),
    )._replace(timed=table.timed)
    again = _repeated(recorded.pairs) if table.timed else 0
    if not again:
        return recorded
    repeat = "row repeats" if again == 1 else "rows repeat"
    copies = f"{again} {repeat} the time, value and reference of the row before"
    note = f"{copies}; all are counted; delete any that are copies"
    return recorded._replace(notes=(*recorded.notes, note))


def _measurements(table: PairTable) -> NameNumbers:
    """Return the identity of each pair's reference, 0 where the file names none.

    It is that of ``reference_event``; what one ``reference_id`` measured is one for each quantity,
    time and value, whichever sensor's row says so.
    """
    numbers = table.reference_event.copy()
    at = np.flatnonzero((numbers == 0) & (table.reference_id != 0))
    if at.size:
        quantities = np.array([digest(quantity) for _, quantity in table.names], dtype=np.uint64)
        its = combined(quantities[table.series[at]], table.reference_id[at])
        for column in (table.time, table.reference) if table.timed else (table.reference,):
            its = combined(its, (column[at] + 0.0).view(np.uint64))  # 0 and -0 are equal
        numbers[at] = its
    return numbers


def _repeated(pairs: Records) -> int:
    """Return how many pairs say what the one before them says; they are in order of time."""
    same = np.ones(max(pairs.size - 1, 0), np.bool_)
    for field in ("series", "time", "value", "reference"):
        same &= pairs[field][1:] == pairs[field][:-1]
    return int(np.count_nonzero(same))


def _of_stream(path: Path, rules: SeriesRules, watch: Watch, layout: FileLayout) -> Recorded:
    stream = read_stream(path, layout)

    def rules_of(sensor: str, quantity: str) -> SeriesRules:
        return rules._replace(unit=stream.units.get((sensor, quantity), ""))

    observations: list[Observation] = []
    for batch in _batches(stream):
        watch(len(batch))
        observations += batch
    observations.sort(key=time_of)  # whatever the order of the rows, nothing waits too long
    occasions = _occasions(observations)
    memory, paired = InMemoryNetwork(rules_of, 32), set[int]()
    for batch in _batches(observations):
        received = time_of(batch[-1])
        pairs = memory.network.observe(batch, received).pairs
        identities = pairs["reference_id"].tolist()
        paired.update(identities)
        pairs["reference_id"] = [occasions[each] for each in identities]
        memory.apply(pairs, batch)
        memory.network.expire(received)
    notes = [*stream.notes]
    if observations and (early := early_times(time_of(observations[-1]))):
        notes.append(f"{path}: {early}")
    if alone := len(occasions) - len(paired):
        within = duration(rules.pairing.tolerance_seconds)
        detail = f"{alone} of {len(occasions)} references found no reading within {within}"
        notes.append(f"{path}: {detail}")
    return memory.recorded(notes)


def _occasions(observations: Iterable[Observation]) -> dict[int, int]:
    """Return by each reference's identity what those of several sensors share.

    Measurements of one time, key and value are one event, whichever sensor's row says so.
    """
    return {
        reference_digest(each): digest(each.quantity, each.key, each.time, each.value)
        for each in observations
        if isinstance(each, Reference)
    }


def _batches(observations: Iterable[Observation]) -> Iterator[list[Observation]]:
    iterator = iter(observations)
    while batch := list(itertools.islice(iterator, _BATCH)):
        yield batch


# -- what it would have raised --------------------------------------------------------------------


def events_of(recorded: Recorded, identities: Records | None = None) -> Int:
    """Return the occasion of each pair: its reference's identity, or its time and reference.

    Pairs of two quantities have none in common. ``identities`` stand for the pairs' own.
    """
    rows = recorded.pairs
    events = (rows["reference_id"] if identities is None else identities).astype(np.int64)
    bare = np.flatnonzero(events == 0)
    both = rows["time"][bare] + 1j * rows["reference"][bare]  # sort ten times faster than rows
    numbers = np.unique(both, return_inverse=True)[1].ravel()
    events[bare] = numbers if bare.size == events.size else -1 - numbers  # apart from identities
    quantities, of = np.unique([each.quantity for each in recorded.names], return_inverse=True)
    if quantities.size > 1:
        numbers = np.unique(events, return_inverse=True)[1].ravel()
        events = numbers * quantities.size + of[rows["series"]]
    return np.asarray(events)


def blocks(one: Columns, count: int, density: Density, *, timed: bool) -> list[dict[str, Any]]:
    """Return the figures of the only series of ``one`` block by block in time (C-32).

    Blocks have nearly equal counts, at most one per pair; without times they have no ends in time.
    """
    parts, crps = in_blocks(one, count), of_density("crps", density)
    wanted = {
        "bias": "bias",
        "crps": crps,
        "crps_expected_ratio": f"{crps}_expected_ratio",
        "interval": "interval",
        "zms": "zms",
        "coverage": "coverage",
        "auucc_partial_gain": "auucc_partial_gain",
    }
    computed = compute(parts, list(wanted.values()))
    ends = parts.starts + parts.counts - 1
    return [
        {
            "since": instant(float(parts.time[first])) if timed else None,
            "until": instant(float(parts.time[last])) if timed else None,
            "n": int(last - first + 1),
            "statistics": {key: finite(computed[name][at]) for key, name in wanted.items()},
        }
        for at, (first, last) in enumerate(zip(parts.starts.tolist(), ends.tolist(), strict=True))
    ]


def bins_of(one: Columns, covariate: Float) -> dict[str, Any]:
    """Return ZMS of the only series of ``one`` in bins of nearly equal count along a covariate.

    Pairs whose covariate is NaN are in no bin (B-21, B-22). ``dependence``: the rank correlation of
    z^2 with the covariate, and its p-value for independent pairs.
    """
    known = np.flatnonzero(~np.isnan(covariate))
    if not known.size:
        return {"sentence": "no pair has the covariate", "without": covariate.size, "bins": []}
    part = one.select(known, np.zeros(1, dtype=np.int64))
    binned = zms_in_bins(part, covariate[known])
    ends = (binned.low, binned.high, binned.zms, binned.lower, binned.upper)
    bins = [
        {"from": low, "to": high, "n": int(n), "zms": zms, "zms_lower": lower, "zms_upper": upper}
        | {"verdict": _told(zms, verdict)}
        for n, verdict, low, high, zms, lower, upper in zip(
            binned.pairs, binned.verdicts, *(map(finite, each) for each in ends), strict=True
        )
    ]
    text = outside(binned)
    if len(bins) == 1:
        is_constant = binned.low[0] == binned.high[0]
        text = "the same in all pairs" if is_constant else "too few pairs for more than one bin"
    along = correlation(covariate[known], z_square(part))
    if math.isfinite(along.p):
        text += f"; rank correlation of z² with it {along.spearman:.2f}, p = {along.p:.2g}"
    return {
        "sentence": text,
        "without": int(covariate.size - known.size),
        "dependence": {"spearman": finite(along.spearman), "p": finite(along.p)},
        "bins": bins,
    }


def _told(zms: float | None, verdict: str) -> str:
    if zms is None or verdict not in ("valid", "invalid"):
        return "undecided"
    wrong = "understated" if zms > 1.0 else "overstated"
    return "right" if verdict == "valid" else wrong
