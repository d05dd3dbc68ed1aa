"""What was made durable, as pairing and windows ask for it; and a past that is in memory only.

Rules of this file: a past answers from what it was given, in any order; it forgets nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec
import numpy as np

from monitor.core.model import (
    PAIR,
    Records,
    Reference,
    in_event_order,
)
from monitor.core.pairing.buffers import digest, reference_identity


class Past(Protocol):
    """What was made durable: pairs and references that memory may no longer hold."""

    def history(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""

    def made_by(self, reference_id: int) -> Records:
        """Return all standing pairs that one reference made, in event order."""

    def named(self, identity: str) -> Iterable[tuple[str, str]]:
        """Return (subject, quantity) of every reference that came with this identity."""

    def revision(self, reference_id: int) -> int:
        """Return the highest revision that came of a reference, -1 if none is known."""


class Memory:
    """A past in memory, for recorded files and explanations: pairs and observations kept here."""

    def __init__(self) -> None:
        self._made: list[Records] = []
        self._revisions: dict[int, int] = {}
        self._named: dict[str, set[tuple[str, str]]] = {}

    def keep(self, pairs: Records, references: Iterable[Reference] = ()) -> None:
        """Remember changes of pairs, in the order they were made, and what references came."""
        if pairs.size:
            self._made.append(pairs)
        for reference in references:
            note_revision(reference, self._revisions, self._named)

    def pairs(self) -> Records:
        """Return all changes in the order they were made."""
        if len(self._made) > 1:
            self._made = [np.concatenate(self._made)]
        return self._made[0] if self._made else np.zeros(0, dtype=PAIR)

    def history(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""
        made = self.pairs()
        return in_event_order(made[made["series"] == series])

    def made_by(self, reference_id: int) -> Records:
        """Return all standing pairs that one reference made."""
        standing = in_event_order(self.pairs())
        return standing[standing["reference_id"] == np.uint64(reference_id)]

    def named(self, identity: str) -> Iterable[tuple[str, str]]:
        """Return whom references of this identity were about."""
        return self._named.get(identity, ()) if identity else ()

    def revision(self, reference_id: int) -> int:
        """Return the highest revision that came of a reference, -1 if none is known."""
        return self._revisions.get(reference_id, -1)


def note_revision(
    reference: Reference, revisions: dict[int, int], named: dict[str, set[tuple[str, str]]]
) -> None:
    """Note that a reference came; one that can be neither named nor revised needs no note."""
    if not reference.identity and not reference.revision:
        return
    name = digest(*reference_identity(reference))
    by_name = revisions.get(name_alone(reference.identity), -1)
    revisions[name] = max(reference.revision, revisions.get(name, -1), by_name)
    known = named.setdefault(reference.identity, set())
    if not names_nobody(reference):
        known.add((reference.subject, reference.quantity))
        return
    for subject, quantity in known:
        each = msgspec.structs.replace(reference, subject=subject, quantity=quantity)
        name = digest(*reference_identity(each))
        revisions[name] = max(reference.revision, revisions[name])


def name_alone(identity: str) -> int:
    """Return the name by which a past knows a void that names a sample and nobody."""
    return digest("", "", identity)


def names_nobody(reference: Reference) -> bool:
    """Return whether a reference is a void that names a sample and nobody in particular."""
    return reference.void and not reference.subject and not reference.quantity
