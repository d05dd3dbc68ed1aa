"""References that are new, and newer than all of their bucket: most are.

Rules of this file: what is taken here leaves what :class:`monitor.core.pairing.Pairing` would leave
with it; whatever might touch another reference's pairs, or more than one lane, is left to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from monitor.core.lanes import Bucket, reference_identity
from monitor.core.matching import Matching
from monitor.core.model import Observation, Reference
from monitor.core.references import Held, References
from monitor.core.settling import Settling

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

    def take(self, candidates: Sequence[Candidate], received: float) -> list[int]:
        """Take those that are such; return their places.

        All of the lanes of their buckets must be where it can be seen. It is one loop, since every
        reference of a fleet goes through it.
        """
        modes, begin = self._matching.modes, self._references.begin
        settle, touch = self._settling.begin, self._matching.touch
        taken = []
        for at, reference, bucket in candidates:
            times, lanes = bucket.times, bucket.lanes
            if times and not reference.time > times[-1]:
                continue
            lane = None
            if lanes:
                lane = lanes[0]
                if len(lanes) > 1 or (
                    times and modes[lane.series].takes_from_last(lane, bucket, reference.time)
                ):
                    continue
            identity = reference_identity(reference)
            if not begin(identity, Held(reference, bucket, received)):
                continue
            touch(bucket)
            bucket.append(reference, identity)
            if lane is not None:
                settle(lane, bucket)
            taken.append(at)
        return taken
