"""The references held, their revisions, voids that name a sample only, and the history behind them.

Rules of this file: the highest revision of a reference counts, in any order of arrival. A void that
names a sample and no subject voids every reference with that identity, later ones too unless their
revision is higher. Evicted references are looked up in the history.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Final, Protocol

import msgspec
import numpy as np

from monitor.core.model import NAN, PAIR, Records, Reference
from monitor.core.pairing.buffers import ReferenceBuffer, Tally
from monitor.core.pairing.identities import (
    Identity,
    digest,
    same_content,
)

# -- the history ----------------------------------------------------------------------------------


class History(Protocol):
    """Durable pairs and references, which memory may no longer hold."""

    def pairs_of(self, series: int) -> Records:
        """Return all standing pairs of one series in event order."""

    def pairs_of_each(self, series: Sequence[int], since: float = -math.inf) -> dict[int, Records]:
        """Return :meth:`pairs_of` of each series, in one pass, from an event time on."""

    def changes_of(self, series: int) -> int:
        """Return how many changes of pairs of one series are kept: made, replaced and removed."""

    def made_by(self, reference_id: int) -> Records:
        """Return all standing pairs that a reference made, in event order.

        It may return none for a reference that came without an identity and a revision.
        """

    def named(self, identity: str) -> Iterable[tuple[str, str]]:
        """Return (subject, quantity) of every reference that came with this identity, sorted."""

    def revisions(self, reference_ids: Collection[int]) -> dict[int, int]:
        """Return the highest revision received of each reference, without unknown references."""

    def has_voids_by_name(self) -> bool:
        """Return whether a void that names an identity and no subject may be kept."""


def is_revisable(reference: Reference) -> bool:
    """Return whether a later message can revise a reference: it has an identity or a revision."""
    return bool(reference.identity or reference.revision)


def name_alone(identity: str) -> int:
    """Return the key of a void that names an identity and no subject."""
    return digest("", "", identity)


def names_nobody(reference: Reference) -> bool:
    """Return whether a reference is a void that names an identity and no subject."""
    return reference.void and not reference.subject and not reference.quantity


# -- references held ------------------------------------------------------------------------------

_SEEN_MAX: Final = 64  # contents that are remembered of one reference


class HeldReference(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A reference, its buffer, its time of arrival, and the last contents it superseded.

    ``seen`` holds their digests, the newest last. A content that has left it and comes again
    changes nothing, as its rank is too low, but counts as committed.
    """

    reference: Reference
    references: ReferenceBuffer
    received: float
    seen: tuple[int, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the columns of its buffer hold all of it."""
        return not self.seen and self.references.is_plain(self.reference)

    def has_seen(self, reference: Reference) -> bool:
        """Return whether the same message came before."""
        return same_content(reference, self.reference) or digest(reference) in self.seen

    def seen_with(self, *superseded: Reference) -> tuple[int, ...]:
        """Return what was seen once these are superseded too."""
        return (*self.seen, *map(digest, superseded))[-_SEEN_MAX:]


class ReferenceStore:
    """State: the references that no column holds alone, and the voids that name a sample only.

    ``buffers`` have the others, ``tally`` how many these are.
    """

    def __init__(
        self, history: History, buffers: Mapping[Any, ReferenceBuffer], tally: Tally
    ) -> None:
        self._history: Final = history
        self._buffers: Final = buffers
        self._tally: Final = tally
        self._held: dict[Identity, HeldReference] = {}
        self._named: dict[str, set[Identity]] = {}
        self._voids: dict[str, tuple[Reference, float]] = {}
        self._looked_up: dict[int, int] = {}
        self._name_ids: dict[str, int] = {}

    def __len__(self) -> int:
        return self._tally.plain + len(self._held) + len(self._voids)

    def get(self, identity: Identity) -> HeldReference | None:
        """Return a reference that no column holds alone, else None."""
        return self._held.get(identity)

    def __contains__(self, identity: Identity) -> bool:
        return identity in self._held

    def find(
        self, came: Reference, identity: Identity, references: ReferenceBuffer
    ) -> HeldReference | None:
        """Return what is held of a reference that came again, and belongs in a buffer."""
        held = self._held.get(identity)
        at = -1 if held or came.identity else references.place_of(came.time, identity)
        if at < 0:
            return held
        return HeldReference(references.reference(at), references, references.received[at])

    def put(self, identity: Identity, held: HeldReference) -> None:
        """Hold a reference as a whole, or its latest revision."""
        if identity not in self._held and held.reference.identity:
            self._named.setdefault(held.reference.identity, set()).add(identity)
        self._held[identity] = held

    def append_if_new(
        self, reference: Reference, identity: Identity, references: ReferenceBuffer, received: float
    ) -> bool:
        """Hold a reference that states no identity and is later than all others of its buffer."""
        if identity in self._held:
            return False
        is_plain = references.is_plain(reference)
        if not is_plain:
            self.put(identity, HeldReference(reference, references, received))
        references.append(reference, identity, received, is_plain=is_plain)
        return True

    def __iter__(self) -> Iterator[tuple[Identity, HeldReference]]:
        return iter(list(self._held.items()))

    def voids_of(self, quantity: str, most: int) -> int:
        """Return how many of the last ``most`` references held as a whole are voids of it."""
        last = islice(reversed(self._held.values()), most)
        return sum(each.reference.void and each.reference.quantity == quantity for each in last)

    def expire(self, received_before: float) -> None:
        """Evict what arrived before a time, except what is in a column alone."""
        for identity, held in self:
            if held.received < received_before:
                self.evict(identity)
        for name, (_, received) in list(self._voids.items()):
            if received < received_before:
                del self._voids[name]

    def evict(self, identity: Identity) -> None:
        """Drop a reference that is held as a whole."""
        held = self._held.pop(identity)
        named = self._named.get(held.reference.identity)
        if named is not None:
            named.discard(identity)
            if not named:
                del self._named[held.reference.identity]

    def arrivals(self) -> list[float]:
        """Return the time of arrival of each reference and void."""
        of_voids = [held.received for held in self._held.values() if held.reference.void]
        columns = (references.received for references in self._buffers.values())
        return [*chain(of_voids, *columns), *(received for _, received in self._voids.values())]

    def look_up(self, ids: Iterable[int], names: Iterable[str]) -> None:
        """Read from the history, in one pass, the references of ``ids`` and the voids by ``names``.

        The answer is used until the next call: nothing about these may become durable before.
        """
        distinct = list(set(names)) if self._history.has_voids_by_name() else []
        self._name_ids = dict(zip(distinct, map(name_alone, distinct), strict=True))
        wanted = {*ids, *self._name_ids.values()}
        revisions = self._history.revisions(wanted) if wanted else {}
        self._looked_up = {**dict.fromkeys(wanted, -1), **revisions}

    def void_by_name(
        self, void: Reference, received: float, *, recalled: bool
    ) -> list[Reference] | None:
        """Void all references of one identity: return a void for each, None for a duplicate.

        ``recalled`` marks a void that a journal restores: evicted references are voided already.
        """
        known = self._voids.get(void.identity)
        if known is not None and known[0].revision >= void.revision:
            return None
        self._voids[void.identity] = (void, received)
        named = (self._held[each].reference for each in self._named.get(void.identity, ()))
        concerned = {(each.subject, each.quantity) for each in named}
        if not recalled:
            concerned.update(self._history.named(void.identity))
        return [_void_of(void, *each) for each in sorted(concerned)]

    def effective(self, reference: Reference) -> Reference:
        """Return ``reference``, voided if its name was voided at its revision or above."""
        if not reference.identity:
            return reference
        known = self._voids.get(reference.identity)
        if known:
            voided = known[0].revision
        elif not self._history.has_voids_by_name():  # as nearly always, and each name costs a look
            return reference
        else:
            name = self._name_ids.get(reference.identity) or name_alone(reference.identity)
            voided = self._revision(name)
        if voided < reference.revision:
            return reference
        return msgspec.structs.replace(reference, void=True, value=NAN, revision=voided)

    def evicted_revision(self, identity: Identity) -> int:
        """Return the highest revision of an evicted reference, -1 if there is none."""
        return self._revision(identity)

    def _revision(self, reference_id: int) -> int:
        revision = self._looked_up.get(reference_id)
        if revision is None:
            revision = self._history.revisions((reference_id,)).get(reference_id, -1)
        return revision

    def is_outdated(self, reference_id: int, held: HeldReference) -> bool:
        """Return whether an evicted revision superseded the reference of that digest."""
        reference = held.reference
        return is_revisable(reference) and self._revision(reference_id) > reference.revision

    def evicted_pairs(self, identity: Identity) -> Records:
        """Return the pairs of an evicted reference."""
        return self._history.made_by(identity)

    def evicted_pairs_of(self, identity: Identity, series: Sequence[int], since: float) -> Records:
        """Return the same, found among the pairs of some series from an event time on.

        It takes longer, and finds the pairs of a reference that nobody was expected to revise.
        """
        reference_id = np.uint64(identity)
        parts = self._history.pairs_of_each(series, since).values()
        pairs = np.concatenate([np.zeros(0, dtype=PAIR), *parts])
        return pairs[pairs["reference_id"] == reference_id]


def _void_of(void: Reference, subject: str, quantity: str) -> Reference:
    return msgspec.structs.replace(void, subject=subject, quantity=quantity)


def rank(reference: Reference) -> tuple[object, ...]:
    """Order of the revisions of one reference; on equal revisions the content decides."""
    return (reference.revision, reference.void, msgspec.msgpack.encode(reference))


def is_in_place(old: Reference, new: Reference) -> bool:
    """Return whether a revision changes only the value of the reference."""
    places = [(each.time, each.key, repr(each.start), repr(each.end)) for each in (old, new)]
    return not (old.void or new.void) and places[0] == places[1]
