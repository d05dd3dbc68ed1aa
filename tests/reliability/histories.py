"""From what a publisher was promised and what a journal holds to a verdict.

Rules of this file: it reads files that nobody writes any more; what was promised and is not there
is lost, what is there twice is doubled, what nobody sent is strange. The figures of the journal are
compared, bit for bit, with those of a network that was told each message once, in order.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from harness.publishing import SENSORS, Publishing, round_of

from monitor.config import load
from monitor.core.model import in_event_order
from monitor.daemon.assembly import Parts, assemble

_BATCH = 500


class History(NamedTuple):
    """What is left of a run: how many readings were promised, lost, doubled, strange."""

    promised: int
    lost: int
    doubled: int
    strange: int
    same_bits: bool

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return self.same_bits and not (self.lost or self.doubled or self.strange)

    def __str__(self) -> str:
        bits = "the same bits" if self.same_bits else "other bits"
        return (
            f"{self.promised} readings acknowledged: {self.lost} lost, {self.doubled} twice, "
            f"{self.strange} that nobody sent, {bits} as undisturbed"
        )


def together(lives: Sequence[History]) -> History:
    """Return what several runs left, as one."""
    counts = (sum(each) for each in zip(*(life[:4] for life in lives), strict=True))
    return History(*counts, same_bits=all(life.same_bits for life in lives))


def history(settings: Path, publishing: Publishing, folder: Path) -> History:
    """Read what a daemon with these settings left; it must have ended."""
    left = _assembled(settings, None)
    try:
        rows = in_event_order(left.journal.pairs())
        names = [key.sensor for key in left.network.registry.keys]
        found = Counter((names[row["series"]], float(row["reference"])) for row in rows)
        wanted = {(s, float(number)) for number in publishing.acknowledged for s in SENSORS}
        begun = {
            (s, float(number))
            for number in range(max(publishing.begun, publishing.besides))
            for s in SENSORS
        }
        calm = _undisturbed(settings, folder, sorted({int(number) for _, number in found}), found)
        try:
            same = _figures(left) == _figures(calm)
        finally:
            calm.journal.close()
        return History(
            promised=len(wanted),
            lost=len(wanted - found.keys()),
            doubled=sum(count - 1 for count in found.values()),
            strange=len(found.keys() - begun),
            same_bits=same,
        )
    finally:
        left.journal.close()


def _undisturbed(
    settings: Path, folder: Path, rounds: Iterable[int], found: Counter[tuple[str, float]]
) -> Parts:
    """Return the parts of a daemon that was told the same pairs, each message once, in order."""
    parts = _assembled(settings, folder / "undisturbed.sqlite")
    said = [
        message
        for number in rounds
        for sensor in SENSORS
        if (sensor, float(number)) in found
        for message in round_of(number, (sensor,))
    ]
    for at in range(0, len(said), _BATCH):
        batch = parts.intake.prepare(said[at : at + _BATCH], time.time())
        parts.intake.commit(batch)
    return parts


def _assembled(settings: Path, journal: Path | None) -> Parts:
    read = load(str(settings))
    if journal is not None:
        journal.unlink(missing_ok=True)
        own = read.journal.model_copy(update={"path": str(journal)})
        read = read.model_copy(update={"journal": own})
    return assemble(read, time.time())


def _figures(parts: Parts) -> dict[str, dict[str, bytes]]:
    """Return every figure of every series that has pairs, as bits."""
    snapshot = parts.network.evaluate(time.time())
    columns = {**snapshot.statistics, "evidence": snapshot.evidence}
    columns.pop("availability_ratio", None)  # readings whose reference was cut off count there
    return {
        name.sensor: {what: np.asarray(column)[row].tobytes() for what, column in columns.items()}
        for row, name in enumerate(snapshot.names)
        if snapshot.window_pairs[row]
    }
