"""Batches for stores, and all that a store gives back, in a form that compares."""

from __future__ import annotations

import msgspec
import numpy as np

from monitor.core.detector.kept_evidence import KeptEvidence
from monitor.core.model import BESIDE, PAIR, Collocation, Event, Reading, Records, Reference
from monitor.journal import Batch, DeadLetter, Store
from monitor.journal.store import NO_PAIRS

READINGS = [
    Reading("a", "x", float(at), at + 0.5, u=1.0, key="k", sequence=str(at)) for at in range(3)
]
REFERENCE = Reference("a", "x", 1.0, 2.0, 0.1, identity="lab-7", revision=6, start=0.5, end=1.5)
EVENTS = [Event("b", 7.0, "moved", "to the barn"), Event("a", 5.0, "adjusted")]
COLLOCATION = Collocation("a", "station", 1.0, float("inf"), 0.3)
EVIDENCE = [KeptEvidence(0, 1.5, b"\x01"), KeptEvidence(2, 2000.0, b"")]
LETTER = DeadLetter(3.0, "monitor/\u202e/x", "bad_name", "sensor", "topic", b"\x00\xff{")


def pairs(*rows: tuple[float, ...]) -> np.ndarray:
    """Return pairs of (series, id, time, value[, reference id, removed])."""
    made = np.zeros(len(rows), dtype=PAIR)
    for row, (series, number, time, value, *more) in zip(made, rows, strict=True):
        row["series"], row["id"], row["time"], row["value"] = series, number, time, value
        row["u"], row["lower"], row["p"] = 0.5, np.nan, np.nan
        row["reference_id"], row["removed"] = (*more, 0, False)[:2]
    return made


def batch(received: float = 0.0, made: np.ndarray = NO_PAIRS, **parts) -> Batch:
    """Return a batch that arrived at a time, with changes of pairs and what else is given."""
    return Batch(received, pairs=made, **parts)


def numbered(count: int, start: int = 0) -> np.ndarray:
    """Return so many pairs, each with an identity of its own, of three series in turn."""
    return pairs(*((at % 3, at, float(at), at / 7.0) for at in range(start, start + count)))


def beside(*rows: tuple[float, ...]) -> np.ndarray:
    """Return numbers beside pairs: (series, id, time, covariate, number)."""
    return np.array(list(rows), dtype=BESIDE)


def by_series(made: Records) -> Records:
    """Order pairs by series; those of one series stay in the order they were made."""
    return made[np.argsort(made["series"], kind="stable")]


def contents(store: Store) -> dict[str, object]:
    """Return all that a store holds, in a form that compares."""
    encode = msgspec.msgpack.encode
    return {
        "series": store.series(),
        "observations": [(time, encode(each)) for time, each in store.observations()],
        "pairs": by_series(store.pairs()).tobytes(),
        "covariates": by_series(store.covariates()).tobytes(),
        "letters": store.dead_letters(1_000_000),
        "events": store.events(),
        "collocations": store.collocations(),
        "totals": store.totals(),
        "evidence": store.evidence(),
    }
