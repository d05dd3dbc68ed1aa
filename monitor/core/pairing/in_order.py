"""Accelerator: new references that are later than all others of their buffer, as most are.

It takes a batch's references without identity, revision or interval, where at most one reading
buffer is joined. Without it a message costs 7 % more at 200 messages a read and 17 % more at 1500
(``benchmarks/hotway.py``). Deleting it changes only speed: whatever might affect another
reference's pairs is left to :meth:`.engine.Pairing.add_reference`, and a test checks that both
agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

import numpy as np

from monitor.core.model import Observation, Reference
from monitor.core.pairing import staging
from monitor.core.pairing.buffers import NearestReading, ReferenceBuffer
from monitor.core.pairing.identities import digest, reference_identity
from monitor.core.pairing.join_index import JoinIndex
from monitor.core.pairing.pairing_rules import PAIRING_RULES
from monitor.core.pairing.reconcile import Reconciler
from monitor.core.pairing.reference_revisions import ReferenceStore

Candidate = tuple[int, Reference, ReferenceBuffer]  # with its place in the batch


class InOrderPath:
    """Ingests such references; it has no state."""

    def __init__(
        self, index: JoinIndex, references: ReferenceStore, reconciler: Reconciler
    ) -> None:
        self._index: Final = index
        self._references: Final = references
        self._reconciler: Final = reconciler

    def candidates(self, observations: Sequence[Observation]) -> list[Candidate]:
        """Return the references without identity, revision or interval, with their buffers."""
        references = self._index.reference_buffer
        return [
            (at, each, references(each.subject, each.quantity, each.key))
            for at, each in enumerate(observations)
            if type(each) is Reference
            and not (each.identity or each.revision or each.void or each.start < each.end)
        ]

    def nearest(self, candidates: Sequence[Candidate]) -> list[NearestReading | None]:
        """Return the reading nearest to each, None where its buffer must be searched."""
        if len(candidates) <= staging.SCALAR_MAX:
            return [None] * len(candidates)
        watermarks = []  # of the only reading buffer, -1 where its rule does not pair the newest
        for _, _, references in candidates:
            buffers = references.reading_buffers
            only = buffers[0] if len(buffers) == 1 else None
            if only is None or PAIRING_RULES[only.rules.mode].pair_newest is None:
                watermarks.append(-1)
            else:
                watermarks.append(only.watermark)
        times = np.array([reference.time for _, reference, _ in candidates])
        return self._index.staging.nearest(np.array(watermarks), times)

    def ingest(
        self,
        candidates: Sequence[Candidate],
        near: Sequence[NearestReading | None],
        received: float,
    ) -> list[int]:
        """Ingest the candidates that affect no other reference; return their places.

        Where the reading ``near`` a candidate is not known, its reading buffer must be flushed.
        It is one loop for speed: every reference of a fleet goes through it.
        """
        append_if_new, mark_changed = self._references.append_if_new, self._index.mark_changed
        pair_newest = self._reconciler.pair_newest
        taken = []
        for (at, reference, references), reading in zip(candidates, near, strict=True):
            time, reading_buffers = reference.time, references.reading_buffers
            last = references.times[-1] if references.times else -inf
            if len(reading_buffers) > 1 or not time > last:
                continue
            readings = reading_buffers[0] if reading_buffers else None
            if readings is not None and last > -inf:
                before = references.last_match_time
                if before == before:  # noqa: PLR0124 - it is known
                    is_safe = abs(before - last) < abs(before - time)
                else:
                    is_safe = not PAIRING_RULES[readings.rules.mode].last_is_affected(
                        readings, references, time
                    )
                if not is_safe:
                    continue
            identity = digest(*reference_identity(reference))
            if not append_if_new(reference, identity, references, received):
                continue
            mark_changed(references)
            if readings is not None:
                pair_newest(readings, references, reading)
            taken.append(at)
        return taken
