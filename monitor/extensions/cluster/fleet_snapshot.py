"""A snapshot of the fleet from the blocks' lines, and the references that several blocks meet.

Rules of this file: blocks report the last pairs of each reference; these are combined as in one
daemon, and judged by the same function. Series are in the order of their names. After a start the
earlier findings are reported until all blocks behind them have reported their pairs again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from monitor.core.fleet.common_errors import Nature
from monitor.core.fleet.reference_stations import SeriesFacts, examined_reference, tail
from monitor.core.fleet.suspect_references import MEETING, SENSORS_MIN, Suspect, Whose
from monitor.core.model import Records
from monitor.core.registry import SeriesName
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import Estimate
from monitor.extensions.cluster.results import STATISTICS, SeriesLine, SeriesReport, StationEvidence

# -- references -----------------------------------------------------------------------------------

REFERENCES_MAX: Final = 10_000

Key = tuple[str, str, bool, str]  # quantity, reference, whether it has its own name, unit
Name = tuple[str, str]  # sensor, quantity


class Found(msgspec.Struct, array_like=True):
    """A reference that looks wrong, or did, as in :class:`.suspect_references.Suspect`.

    ``series`` are all that have it, in blocks ``blocks``; ``cleared`` those that are right among
    the others.
    """

    name: tuple[str, str, bool]
    unit: str
    estimate: Estimate
    since: float
    sensors: int
    agree: int
    series: list[Name]
    blocks: list[int]
    nature: Nature = Nature("offset")
    cleared: list[Name] = []
    until: float = math.inf
    whose: Whose = ""

    @property
    def key(self) -> Key:
        """Return what tells references apart."""
        return *self.name, self.unit


class _Held(NamedTuple):
    series: Sequence[Name]
    pairs: Records
    first: SeriesFacts


_encode: Final = msgspec.msgpack.Encoder(enc_hook=float).encode  # for numpy's numbers
_decode: Final = msgspec.msgpack.Decoder(list[Found]).decode


class References:
    """State: what each block reports of each reference, and which look wrong.

    ``left_out`` counts the reports on references beyond the limit.
    """

    def __init__(self, noted: bytes) -> None:
        self._parts: Final[dict[Key, dict[int, _Held]]] = {}
        self._of_block: Final[dict[int, set[Key]]] = {}
        self._found: Final[dict[Key, Found]] = {}
        self._before: Final = {each.key: each for each in _decode(noted)} if noted else {}
        self.left_out = 0

    def update(
        self, block: int, references: Iterable[Key], parts: Iterable[StationEvidence]
    ) -> set[Key]:
        """Take a block's report; return the references that must be judged again."""
        now, changed = set(references), set()
        for key in self._of_block.get(block, set()) - now:
            changed.add(key)
            self._parts.get(key, {}).pop(block, None)
        self._of_block[block] = now
        for part in parts:
            key = (part.quantity, part.reference, part.by_id, part.first.unit)
            if key not in self._parts and len(self._parts) >= REFERENCES_MAX:
                self.left_out += 1
                continue
            pairs = np.frombuffer(part.pairs, MEETING)
            held = _Held(part.series, pairs, part.first)
            self._parts.setdefault(key, {})[block] = held
            changed.add(key)
        return changed

    def judge(self, changed: Iterable[Key]) -> None:
        """Judge some references by everything that is known of them."""
        for key in changed:
            parts = self._parts.get(key, {})
            self._found.pop(key, None)
            if not parts:
                self._parts.pop(key, None)
            elif sum(len(part.series) for part in parts.values()) >= SENSORS_MIN:
                judged = _judged(key, parts)
                if judged is not None:
                    self._found[key] = judged
        for key in [*self._before]:
            if all(self._is_reported(key, block) for block in self._before[key].blocks):
                del self._before[key]

    def suspects(self) -> list[Found]:
        """Return the references that look wrong, in order of quantity and name.

        Errors that their sensors share are among them.
        """
        return [each for each in self._known() if math.isinf(each.until)]

    def former(self) -> list[Found]:
        """Return those that looked wrong, while alerts of some of their sensors may remain."""
        former = (each for each in self._known() if math.isfinite(each.until))
        return [each for each in former if each.whose != "sensors"]

    def note(self) -> bytes:
        """Return what a restarted driver needs to know."""
        return _encode(self._known())

    def _is_reported(self, key: Key, block: int) -> bool:
        """Whether a block has reported its pairs with a reference, or that it has none."""
        known = self._of_block.get(block)
        return known is not None and (key not in known or block in self._parts.get(key, {}))

    def _known(self) -> list[Found]:
        known = {**self._found, **self._before}
        return [known[key] for key in sorted(known)]


def _judged(key: Key, parts: dict[int, _Held]) -> Found | None:
    """Return the judgement on the series of all blocks together."""
    blocks = sorted(parts)
    series = [name for block in blocks for name in parts[block].series]
    places = np.empty(len(series), dtype=np.int64)
    places[sorted(range(len(series)), key=series.__getitem__)] = np.arange(len(series))
    begin, joined = 0, []
    for block in blocks:
        pairs = parts[block].pairs.copy()
        pairs["series"] = places[begin + pairs["series"]]
        begin += len(parts[block].series)
        joined.append(pairs[pairs["back"] < tail(len(series))])
    pairs = np.concatenate(joined)
    pairs = pairs[np.argsort(pairs["series"], kind="stable")]
    first = min(part.first for part in parts.values())
    verdict = examined_reference(pairs, first, len(series), by_id=key[2])
    if verdict is None:
        return None
    series.sort()
    cleared = [series[place] for place in verdict.cleared.tolist()]
    about = verdict.nature, cleared, verdict.until, verdict.whose
    return Found(key[:3], key[3], *verdict[:4], series, blocks, *about)


# -- the snapshot ---------------------------------------------------------------------------------


class SeriesVerdict(NamedTuple):
    """The alerts and the sentence of a series as the driver knows them; ``page``: call a person."""

    alerts: list[str]
    sentence: str
    page: bool


def snapshot_of(
    time: float,
    lines: Sequence[SeriesLine],
    verdicts: Sequence[SeriesVerdict],
    alerts: Sequence[str],
    suspects: Sequence[Found],
    former: Sequence[Found],
    lasting: Sequence[float],
) -> Snapshot:
    """Return the snapshot of some series, with the names of all ``alerts``."""
    table = np.array([line.statistics for line in lines], dtype=np.float64)
    table = table.reshape(len(lines), len(STATISTICS)).T
    rows = {(line.sensor, line.quantity): row for row, line in enumerate(lines)}
    return Snapshot(
        time=time,
        names=tuple(series_name(line) for line in lines),
        statistics=dict(zip(STATISTICS, table, strict=True)),
        states=tuple(line.state for line in lines),
        alerts={
            name: np.array([name in each.alerts for each in verdicts], dtype=np.bool_)
            for name in alerts
        },
        evidence=np.array([line.evidence for line in lines]),
        sentences=tuple(each.sentence for each in verdicts),
        advice=tuple(line.advice for line in lines),
        window_pairs=np.array([line.window_pairs for line in lines], dtype=np.int64),
        last_reading=np.array([line.last_reading for line in lines]),
        last_pair=np.array([line.last_pair for line in lines]),
        withdrawn=np.array([line.withdrawn for line in lines], dtype=np.bool_),
        paged=np.array([each.page for each in verdicts], dtype=np.bool_),
        suspects=tuple(suspect_of(each, rows) for each in suspects),
        former_suspects=tuple(suspect_of(each, rows) for each in former),
        lasting=np.array(lasting, dtype=np.float64),
        right=np.array([line.right for line in lines], dtype=np.bool_),
    )


def series_name(line: SeriesLine) -> SeriesName:
    """Return the name of the series of a line."""
    return SeriesName(line.sensor, line.quantity, line.unit, line.group)


def calm_report(line: SeriesLine) -> SeriesReport:
    """Return the report of a series that its block did not report."""
    return SeriesReport(
        line,
        fault_report=None,
        firing=False,
        discounted=0.0,
        rejected=0.0,
        uncompared_seconds=0.0,
        changed_at=float("nan"),
        taken_back=False,
        medians=[],
    )


def suspicions(suspects: Sequence[Found]) -> dict[Name, str]:
    """Return for each series with a suspect reference the sentence on it."""
    return {name: suspect_of(each, {}).sentence for each in suspects for name in each.series}


def suspect_of(suspect: Found, rows: Mapping[Name, Any]) -> Suspect:
    """Return a suspect reference; ``rows`` are the rows of the series in a snapshot."""
    quantity, reference, _ = suspect.name
    return Suspect(
        reference,
        quantity,
        suspect.unit,
        suspect.estimate,
        suspect.since,
        suspect.sensors,
        suspect.agree,
        tuple(rows[name] for name in suspect.series if name in rows),
        suspect.nature,
        tuple(sorted(rows[name] for name in suspect.cleared if name in rows)),
        suspect.until,
        suspect.whose,
    )
