"""The references that are known: their revisions, and what was taken back by name alone.

Rules of this file: the highest revision of a reference stands, in any order of arrival; a void that
names a sample and nobody in particular takes back every reference of that name, those that come
later too unless their revision is higher. What is no longer held is asked of the history.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from monitor.core.model import NAN, Records, Reference
from monitor.core.pairing.buffers import (
    Bucket,
    Identity,
    digest,
    same_content,
)
from monitor.core.pairing.history import History, name_alone


class Held(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A reference that is known, its bucket, when it came, and its outdone revisions."""

    reference: Reference
    bucket: Bucket
    received: float
    outdone: tuple[Reference, ...] = ()

    def knows(self, reference: Reference) -> bool:
        """Return whether this very message came before."""
        return any(same_content(reference, each) for each in (self.reference, *self.outdone))


class References:
    """State: the references held by their identity, and the voids that name a sample only."""

    def __init__(self, history: History) -> None:
        self._history: Final = history
        self._held: dict[Identity, Held] = {}
        self._named: dict[str, set[Identity]] = {}
        self._voids: dict[str, tuple[Reference, float]] = {}

    def __len__(self) -> int:
        return len(self._held) + len(self._voids)

    def get(self, identity: Identity) -> Held | None:
        """Return what is held of a reference."""
        return self._held.get(identity)

    def keep(self, identity: Identity, held: Held) -> None:
        """Hold a reference, or what now stands of it."""
        if identity not in self._held and held.reference.identity:
            self._named.setdefault(held.reference.identity, set()).add(identity)
        self._held[identity] = held

    def begin(self, identity: Identity, held: Held) -> bool:
        """Hold a reference without a name of its own; return whether it is new."""
        return self._held.setdefault(identity, held) is held

    def __iter__(self) -> Iterator[tuple[Identity, Held]]:
        return iter(list(self._held.items()))

    def arrived_before(self, time: float) -> dict[Identity, Held]:
        """Return what arrived before a time."""
        return {name: held for name, held in self._held.items() if held.received < time}

    def expire(self, gone: Iterable[Identity], received_before: float) -> None:
        """Let go of the references ``gone``, and of voids by name that arrived before a time."""
        for identity in gone:
            self.let_go(identity)
        for name, (_, received) in list(self._voids.items()):
            if received < received_before:
                del self._voids[name]

    def let_go(self, identity: Identity) -> None:
        """Hold a reference no longer."""
        held = self._held.pop(identity)
        named = self._named.get(held.reference.identity)
        if named is not None:
            named.discard(identity)
            if not named:
                del self._named[held.reference.identity]

    def arrivals(self) -> list[float]:
        """Return when each of them came."""
        return [held.received for held in self._held.values()] + [
            received for _, received in self._voids.values()
        ]

    def void_by_name(
        self, void: Reference, received: float, *, recalled: bool
    ) -> list[Reference] | None:
        """Take back all of one name: return what that means for each, None if it was known.

        ``recalled`` says that it is not new: what is no longer held has been taken back before.
        """
        known = self._voids.get(void.identity)
        if known is not None and known[0].revision >= void.revision:
            return None
        self._voids[void.identity] = (void, received)
        concerned = {identity[:2] for identity in self._named.get(void.identity, ())}
        if not recalled:
            concerned.update(self._history.named(void.identity))
        return [_void_of(void, *each) for each in sorted(concerned)]

    def as_it_stands(self, reference: Reference) -> Reference:
        """Return ``reference``, voided if its name was taken back at its revision or above."""
        if not reference.identity:
            return reference
        known = self._voids.get(reference.identity)
        voided = (
            known[0].revision if known else self._history.revision(name_alone(reference.identity))
        )
        if voided < reference.revision:
            return reference
        return msgspec.structs.replace(reference, void=True, value=NAN, revision=voided)

    def revision_let_go(self, identity: Identity) -> int:
        """Return the highest revision that came of a reference that is no longer held, else -1."""
        return self._history.revision(digest(*identity))

    def is_outdated(self, identity: Identity, held: Held) -> bool:
        """Return whether a reference was revised by a message that is no longer held."""
        reference = held.reference
        if not reference.identity and not reference.revision:
            return False
        return self.revision_let_go(identity) > reference.revision

    def pairs_let_go(self, identity: Identity) -> Records:
        """Return the pairs of a reference that is no longer held."""
        return self._history.made_by(digest(*identity))


def _void_of(void: Reference, subject: str, quantity: str) -> Reference:
    return msgspec.structs.replace(void, subject=subject, quantity=quantity)


def rank(reference: Reference) -> tuple[object, ...]:
    """Order of the revisions of one reference; on equal revisions the content decides."""
    return (reference.revision, reference.void, msgspec.msgpack.encode(reference))


def is_in_place(old: Reference, new: Reference) -> bool:
    """Return whether a revision changes the reference's value alone."""
    places = [(each.time, each.key, repr(each.start), repr(each.end)) for each in (old, new)]
    return not (old.void or new.void) and places[0] == places[1]


def by_bucket(leaving: Mapping[Identity, Held]) -> dict[Bucket, dict[Identity, Reference]]:
    """Return references by the bucket they are of."""
    found: dict[Bucket, dict[Identity, Reference]] = {}
    for identity, held in leaving.items():
        found.setdefault(held.bucket, {})[identity] = held.reference
    return found
