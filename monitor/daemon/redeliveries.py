"""Recognises packets that the broker delivers again although they were committed.

Most messages have an identity of their own: a time, a sequence number, an identity. Of those that
have none, because their time is that of their arrival or because other messages say what they mean
(Sparkplug's aliases), the packet itself is remembered until the broker is known to have its
acknowledgement.

Rules of this file: a packet comes again if the broker says so (DUP), and its identifier and its
content are those of a packet that is held. MQTT has all three (MQTT 5.0 sections 3.3.1.1 and 4.4);
less would take a new message for an old one where a broker gives the lowest free identifier to an
equal value. The packets of a batch are written with the batch, in one of a few notes, so that a
batch costs its own packets and not all that are held.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np

from monitor.core.model import Int
from monitor.decode.router import Router
from monitor.mqtt.inbox import Inbox

_NOTES: Final = 16
_NAME: Final = "packets.{}"
_IDENTIFIERS: Final = 1 << 16
_HEAD: Final = struct.Struct("<qq")  # of a note: its round, and the last round that is confirmed
_PACKET: Final = np.dtype([("id", "<u2"), ("crc", "<u4")])
_QOS: Final = 0x06
_AGAIN: Final = 0x08


class Held(NamedTuple):
    """Which messages of a read have come before, and the notes to write with the others."""

    again: Sequence[int] = ()
    notes: dict[str, bytes] = {}  # noqa: RUF012 - never changed


class Redeliveries:
    """State: for each packet identifier, the last message's content and the round it came in.

    A round is a batch that has such messages; ``round`` is the last one. ``router`` says for which
    messages only the packet distinguishes a redelivery from a new one, ``note`` returns what was
    written before under a name, empty if nothing was.
    """

    def __init__(self, router: Router, note: Callable[[str], bytes]) -> None:
        self._router: Final = router
        self._crcs: Final = np.zeros(_IDENTIFIERS, np.uint32)
        self._rounds: Final = np.zeros(_IDENTIFIERS, np.int64)
        self._written: Final = [0] * _NOTES  # the round of each note
        self._confirmed = 0
        self._topics = _TopicChecksums(router)
        self._load(note)
        self.round = max(self._written)

    def hold(self, messages: object) -> Held:
        """Return which of ``messages`` have come before; hold the packets of all."""
        if not self._router.any_needs_packet or not isinstance(messages, Inbox):
            return Held()
        flags = np.frombuffer(messages.flags, np.uint8)
        places = self._topics.places(messages)
        places = places[flags[places] & _QOS != 0]
        if not places.size:
            return Held()
        ids = np.frombuffer(messages.mids, ">u2")[places].astype(np.int64)
        crcs = self._topics.checksums(messages, places)
        is_again = (flags[places] & _AGAIN != 0) & (self._crcs[ids] == crcs)
        is_again &= self._rounds[ids] > self._confirmed
        self.round += 1
        self._crcs[ids], self._rounds[ids] = crcs, self.round
        return Held(places[is_again].tolist(), self._note(ids))

    def confirm(self, number: int) -> None:
        """Drop the packets of all rounds up to one: the broker has their acknowledgements."""
        self._confirmed = max(self._confirmed, number)

    def _note(self, ids: Int) -> dict[str, bytes]:
        """Return the note of the last round; where all are in use it takes over what they hold."""
        place = int(np.argmin(self._written))
        if self._written[place] > self._confirmed:
            ids = np.flatnonzero(self._rounds > self._confirmed)
            self._rounds[ids] = self.round
            self._written[:] = [0] * _NOTES
        self._written[place] = self.round
        packets = np.zeros(ids.size, _PACKET)
        packets["id"], packets["crc"] = ids, self._crcs[ids]
        return {_NAME.format(place): _HEAD.pack(self.round, self._confirmed) + packets.tobytes()}

    def _load(self, note: Callable[[str], bytes]) -> None:
        notes = [note(_NAME.format(place)) for place in range(_NOTES)]
        heads = [_HEAD.unpack_from(each) if each else (0, 0) for each in notes]
        self._confirmed = max(confirmed for _, confirmed in heads)
        self._written[:] = [number for number, _ in heads]
        for (number, _), written in sorted(zip(heads, notes, strict=True)):
            if number > self._confirmed:
                packets = np.frombuffer(written, _PACKET, offset=_HEAD.size)
                self._crcs[packets["id"]] = packets["crc"]
                self._rounds[packets["id"]] = number


class _TopicChecksums:
    """State: for each topic of a connection, whether it matters, and its checksum, made once."""

    def __init__(self, router: Router) -> None:
        self._router: Final = router
        self._names: Sequence[str] = ()
        self._crcs: list[int] = []
        self._matter = np.zeros(0, np.bool_)

    def places(self, messages: Inbox) -> Int:
        """Return the places of the messages that matter."""
        if messages.names is not self._names:
            self._names, self._crcs, self._matter = messages.names, [], np.zeros(0, np.bool_)
        if new := self._names[len(self._crcs) :]:
            self._crcs += [crc32(topic.encode()) for topic in new]
            matter = np.fromiter(map(self._router.needs_packet, new), np.bool_, len(new))
            self._matter = np.concatenate((self._matter, matter))
        return np.flatnonzero(self._matter[np.frombuffer(messages.numbers, np.int64)])

    def checksums(self, messages: Inbox, places: Int) -> Int:
        """Return the checksums of topic and payload of the messages at some places."""
        numbers, crcs = messages.numbers, self._crcs
        return np.array(
            [
                crc32(payload, crcs[numbers[at]])
                for at, payload in zip(places.tolist(), messages.payloads.part(places), strict=True)
            ],
            np.uint32,
        )
