"""Pairs that a journal kept, given back to the references that made them.

Rules of this file: a pair outlives the readings it was made of, so it is restored, never made
anew; whether it may still change is a function of the pairs and of what is held.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from monitor.core.model import Int, Records, some_rows
from monitor.core.pairing.buffers import ReadingBuffer
from monitor.core.pairing.identities import Identity, digest
from monitor.core.pairing.join_index import JoinIndex
from monitor.core.pairing.pair_rows import REFERENCE_ID, Match, Row
from monitor.core.pairing.reconcile import Reconciler
from monitor.core.pairing.reference_revisions import HeldReference, ReferenceStore
from monitor.core.pairing.retention import drop_reference, is_frozen


def restore_all(
    index: JoinIndex,
    reconciler: Reconciler,
    references: ReferenceStore,
    pairs: Records,
    standing: Int,
    names: Sequence[tuple[str, str]],
) -> None:
    """Give the references held the pairs they made, those at the places ``standing``.

    References that a later revision superseded are dropped: the journal has the pairs of that.
    """
    index.names.update(enumerate(names))
    held: dict[int, tuple[Identity, HeldReference]] = {}
    for identity, each in references:
        if references.is_outdated(identity, each):
            references.evict(identity)
            drop_reference(each.reference, each.references, identity)
        else:
            held[digest(*identity)] = identity, each
    for readings in index.reading_buffers.values():
        readings.matches.clear()
    made_by = pairs["reference_id"][standing]
    theirs = standing[np.isin(made_by, np.array([*held], dtype=np.uint64))]
    rows: dict[int, list[Row]] = {}
    for row in some_rows(pairs, theirs).tolist():
        rows.setdefault(row[REFERENCE_ID], []).append(row)
    for name, made in rows.items():
        restore_pairs(index, reconciler, *held[name], made)


def restore_pairs(
    index: JoinIndex,
    reconciler: Reconciler,
    identity: Identity,
    held: HeldReference,
    rows: Iterable[Row],
) -> None:
    """Give a reference the pairs it made before, each in the reading buffer it belongs to."""
    restored: list[ReadingBuffer] = []
    for row in rows:
        name = (*index.names[row[0]], held.reference.key if index.by_key else "")
        readings = index.reading_buffers.get(name) or index.open_buffer(name, row[0])
        if any(join.references is held.references for join in readings.joins):
            readings.matches.setdefault(identity, Match([])).rows.append(row)
            apart = abs(row[2] - readings.lag_seconds - held.reference.time)
            readings.apart_seconds = max(readings.apart_seconds, apart)
            restored.append(readings)
    for readings in restored:
        rules, match = index.rules[readings.series], readings.matches[identity]
        match.frozen = is_frozen(readings, identity, match, rules, reconciler.reproduces)
