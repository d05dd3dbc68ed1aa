"""History: the durable pairs and references that memory may no longer hold, as the core asks.

Also what identifies references for it: which of them can be revised at all, and the void that takes
back every reference of one identity without naming whom they are about.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

import numpy as np

from monitor.core.model import PAIR, Records, Reference
from monitor.core.pairing.identities import digest


class History(Protocol):
    """What was made durable: pairs and references that memory may no longer hold."""

    def pairs_of(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""

    def made_by(self, reference_id: int) -> Records:
        """Return all standing pairs that a reference made, in event order.

        References that cannot be revised need not be known: nobody asks for their pairs.
        """

    def named(self, identity: str) -> Iterable[tuple[str, str]]:
        """Return (subject, quantity) of every reference that came with this identity, sorted."""

    def revision(self, reference_id: int) -> int:
        """Return the highest revision that came of a reference, -1 if none is known."""


class _NoHistory:
    """The history where nothing was made durable yet."""

    def pairs_of(self, series: int) -> Records:
        """Return no pairs."""
        del series
        return np.zeros(0, dtype=PAIR)

    def made_by(self, reference_id: int) -> Records:
        """Return no pairs."""
        del reference_id
        return np.zeros(0, dtype=PAIR)

    def named(self, identity: str) -> Iterable[tuple[str, str]]:
        """Return nobody."""
        del identity
        return ()

    def revision(self, reference_id: int) -> int:
        """Return -1: no revision is known."""
        del reference_id
        return -1


NO_HISTORY: Final[History] = _NoHistory()


def is_revisable(reference: Reference) -> bool:
    """Return whether a later message can revise a reference: it has an identity or a revision."""
    return bool(reference.identity or reference.revision)


def name_alone(identity: str) -> int:
    """Return the name under which a void is known that gives an identity and no subject."""
    return digest("", "", identity)


def names_nobody(reference: Reference) -> bool:
    """Return whether a reference is a void that gives an identity and no subject."""
    return reference.void and not reference.subject and not reference.quantity
