"""Matches: the pairs that references made with the readings of one buffer, as columns.

Rules of this file: nearly every reference has one pair. It is a packed row beside the reference's
time and identity, in the order of the times: an object for each would take three times the memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from itertools import starmap
from typing import Final

import msgspec
import numpy as np

from monitor.core.pairing.identities import PACKED, Identity, Row

_SIZE: Final = PACKED.size


class Match(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The pairs of one reference, ``packed``; ``time`` is that of the first pair's reading.

    ``frozen`` once a reading that it used has been evicted: from then on only revisions of the
    reference change them.
    """

    packed: bytes
    frozen: bool = False

    def __len__(self) -> int:
        return len(self.packed) // _SIZE

    @property
    def rows(self) -> list[Row]:
        """The pairs as rows."""
        return list(PACKED.iter_unpack(self.packed))

    @property
    def time(self) -> float:
        """The time of the first pair's reading."""
        time: float = PACKED.unpack_from(self.packed)[2]
        return time


class Matches:
    """State: the matches of references, each found by the reference's time and identity.

    Of a reference with several pairs ``_rows`` has the first, ``_several`` all.
    """

    __slots__ = ("_frozen", "_identities", "_rows", "_several", "_times")

    def __init__(self) -> None:
        self._times = array("d")
        self._identities = array("Q")
        self._rows = bytearray()
        self._frozen: set[Identity] = set()
        self._several: dict[Identity, bytes] = {}

    def __len__(self) -> int:
        """How many references have pairs."""
        return len(self._times)

    @property
    def pairs(self) -> int:
        """How many pairs all references made."""
        several = sum(map(len, self._several.values())) // _SIZE
        return len(self._times) - len(self._several) + several

    def get(self, time: float, identity: Identity) -> Match | None:
        """Return the pairs of a reference, None if it has none."""
        place = self._find(time, identity)
        if place < 0:
            return None
        packed = self._several.get(identity) if self._several else None
        if packed is None:
            packed = bytes(self._rows[_SIZE * place : _SIZE * (place + 1)])
        return Match(packed, identity in self._frozen)

    def put(self, time: float, identity: Identity, packed: bytes) -> None:
        """Keep the pairs of a reference, at least one, in the place of those it had."""
        times = self._times
        if not times or time > times[-1]:  # as nearly always
            times.append(time)
            self._identities.append(identity)
            self._rows += packed[:_SIZE]
        elif (place := self._find(time, identity)) < 0:
            place = bisect_left(times, time)
            times.insert(place, time)
            self._identities.insert(place, identity)
            self._rows[_SIZE * place : _SIZE * place] = packed[:_SIZE]
        else:
            self._rows[_SIZE * place : _SIZE * (place + 1)] = packed[:_SIZE]
            self._several.pop(identity, None)
        if len(packed) > _SIZE:
            self._several[identity] = packed

    def freeze(self, identity: Identity) -> None:
        """Freeze the pairs of a reference that has some."""
        self._frozen.add(identity)

    def drop(self, names: Iterable[tuple[float, Identity]]) -> None:
        """Drop the pairs of some references, named by time and identity, if they have any."""
        places = [place for place in starmap(self._find, names) if place >= 0]
        for place in places:
            self._several.pop(self._identities[place], None)
            self._frozen.discard(self._identities[place])
        if len(places) == 1:
            (place,) = places
            del self._times[place], self._identities[place]
            del self._rows[_SIZE * place : _SIZE * (place + 1)]
        elif places:
            rows = np.frombuffer(self._rows, np.dtype((np.void, _SIZE)))
            self._times = array("d", np.delete(self._times, places).tobytes())
            self._identities = array("Q", np.delete(self._identities, places).tobytes())
            self._rows = bytearray(np.delete(rows, places).tobytes())

    def clear(self) -> None:
        """Drop all."""
        self.__init__()  # type: ignore[misc]

    def _find(self, time: float, identity: Identity) -> int:
        """Return the place of a reference, -1 if it has no pairs."""
        times, identities = self._times, self._identities
        if times and identities[-1] == identity:
            return len(times) - 1
        place = bisect_left(times, time)
        while place < len(times) and times[place] == time:
            if identities[place] == identity:
                return place
            place += 1
        return -1
