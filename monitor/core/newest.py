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


class Newest:
    """Takes such references; it owns nothing."""

    def __init__(self, matching: Matching, references: References, settling: Settling) -> None:
        self._matching: Final = matching
        self._references: Final = references
        self._settling: Final = settling

    def candidates(
        self, observations: Sequence[Observation]
    ) -> list[tuple[int, Reference, Bucket]]:
        """Return the references without name, revision or interval, their places and buckets."""
        bucket_of = self._matching.bucket_of
        return [
            (at, each, bucket_of(each))
            for at, each in enumerate(observations)
            if type(each) is Reference
            and not (each.identity or each.revision or each.void or each.start < each.end)
        ]

    def take(self, reference: Reference, bucket: Bucket, received: float) -> bool:
        """Take a reference if it is such, all of its bucket's lanes being where it can be seen."""
        times, lanes = bucket.times, bucket.lanes
        if len(lanes) > 1 or (times and not reference.time > times[-1]):
            return False
        lane = lanes[0] if lanes else None
        if lane is not None and times:
            mode = self._matching.modes[lane.series]
            if mode.takes_from_last(lane, bucket, reference.time):
                return False
        identity = reference_identity(reference)
        if not self._references.begin(identity, Held(reference, bucket, received)):
            return False
        self._matching.touch(bucket)
        at = bucket.insert(reference, identity)
        if lane is not None:
            self._settling.begin(lane, bucket, at)
        return True
