"""References that are new, and newer than all of their bucket: most are.

Rules of this file: what is taken here leaves what :class:`.engine.Pairing` would leave
with it; whatever might touch another reference's pairs, or more than one lane, is left to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from monitor.core.model import Observation, Reference
from monitor.core.pairing import staging
from monitor.core.pairing.buffers import (
    Bucket,
    Lane,
    Near,
    reference_identity,
)
from monitor.core.pairing.join_index import Matching
from monitor.core.pairing.reconcile import Settling
from monitor.core.pairing.reference_revisions import Held, References

Candidate = tuple[int, Reference, Bucket]  # with its place in the batch


class Newest:
    """Takes such references; it owns nothing."""

    def __init__(self, matching: Matching, references: References, settling: Settling) -> None:
        self._matching: Final = matching
        self._references: Final = references
        self._settling: Final = settling

    def candidates(self, observations: Sequence[Observation]) -> list[Candidate]:
        """Return the references without name, revision or interval, with their buckets."""
        bucket = self._matching.bucket
        return [
            (at, each, bucket(each.subject, each.quantity, each.key))
            for at, each in enumerate(observations)
            if type(each) is Reference
            and not (each.identity or each.revision or each.void or each.start < each.end)
        ]

    def nearest(self, candidates: Sequence[Candidate]) -> list[Near | None]:
        """Return the reading nearest to each, None where it is to be looked for in its lane."""
        if len(candidates) <= staging.FEW:
            return [None] * len(candidates)
        fronts = [self._front(bucket.lanes) for _, _, bucket in candidates]
        times = np.array([reference.time for _, reference, _ in candidates])
        return self._matching.fresh.nearest(np.array(fronts), times)

    def _front(self, lanes: Sequence[Lane]) -> int:
        """Return the number of the only lane if its mode asks for the nearest reading, else -1."""
        if len(lanes) == 1 and self._matching.modes[lanes[0].series].newest is not None:
            return lanes[0].front
        return -1

    def take(
        self, candidates: Sequence[Candidate], near: Sequence[Near | None], received: float
    ) -> list[int]:
        """Take those that are such; return their places.

        Where the reading ``near`` one is not known, all of its lane must be where it can be seen.
        It is one loop, since every reference of a fleet goes through it.
        """
        modes, begin = self._matching.modes, self._references.begin
        settle, touch = self._settling.begin, self._matching.touch
        taken = []
        for (at, reference, bucket), reading in zip(candidates, near, strict=True):
            time, times, lanes = reference.time, bucket.times, bucket.lanes
            if len(lanes) > 1 or (times and not time > times[-1]):
                continue
            lane = lanes[0] if lanes else None
            if lane is not None and times:
                before, last = bucket.taken, times[-1]
                if before == before:  # noqa: PLR0124 - it is known
                    is_safe = abs(before - last) < abs(before - time)
                else:
                    is_safe = not modes[lane.series].takes_from_last(lane, bucket, time)
                if not is_safe:
                    continue
            identity = reference_identity(reference)
            if not begin(identity, Held(reference, bucket, received)):
                continue
            touch(bucket)
            bucket.append(reference, identity)
            if lane is not None:
                settle(lane, bucket, reading)
            taken.append(at)
        return taken
