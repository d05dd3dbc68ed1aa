"""The contract of a store, whatever its implementation, and the batches that it takes.

Three implementations: :class:`monitor.journal.journal.Journal` (SQLite, the daemon's),
:class:`monitor.journal.in_memory.InMemoryStore` (recorded files, explanations, tests) and the
cluster's ``BlockStore`` (the state of one block of sensors). One test suite runs over all of them:
``tests/journal/test_store.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import numpy as np

from monitor.core.detector.kept_evidence import KeptEvidence
from monitor.core.model import BESIDE, PAIR, Collocation, Event, Records
from monitor.core.pairing.observations import Durable
from monitor.core.pairing.reference_revisions import History
from monitor.core.registry import KnownSeries

NO_PAIRS: Final[Records] = np.zeros(0, dtype=PAIR)
NO_PAIRS.flags.writeable = False
NO_NUMBERS: Final[Records] = np.zeros(0, dtype=BESIDE)
NO_NUMBERS.flags.writeable = False


class DeadLetter(NamedTuple):
    """A message that was refused, kept for a person to look at.

    ``place`` is a path in the payload, or a key of the settings; empty for all of it.
    """

    received: float
    topic: str
    reason: str
    detail: str
    place: str
    payload: bytes


class Batch(NamedTuple):
    """One step of appending; ``received`` is when its messages arrived, s since 1970 UTC.

    ``pairs`` are changes: of rows with the same series and id the last one counts, and a pair that
    gets another time or another reference is removed first. ``totals`` are the counters of messages
    that have a new value, ``notes`` what else must outlive a restart. ``covariates`` are numbers
    beside pairs (of ``BESIDE``), ``evidence`` the states that starts continue from, as of
    everything appended.
    """

    received: float = 0.0
    observations: Sequence[Durable] = ()
    pairs: Records = NO_PAIRS
    series: Sequence[KnownSeries] = ()
    dead_letters: Sequence[DeadLetter] = ()
    totals: Mapping[str, int] = MappingProxyType({})
    events: Sequence[Event] = ()
    collocations: Sequence[Collocation] = ()
    notes: Mapping[str, bytes] = MappingProxyType({})
    covariates: Records = NO_NUMBERS
    evidence: Sequence[KeptEvidence] = ()


class Store(History, Protocol):
    """Accepted observations and the pairs they made, until they are forgotten.

    Promises:

    * **Atomic.** ``append`` stores a whole batch or, where it raises, nothing of it; the same batch
      may be appended again.
    * **Durable before return.** A batch is durable when ``append`` returns: in a journal it
      survives a power cut; in memory it lives as long as the store, or as the last :meth:`copy`.
    * **Ordered.** Observations are read in the order of appending, and so are the changes of each
      pair. A series, event, collocation or note that is appended again stands once, as the last
      batch had it. Nothing else is deduplicated: what counts as a duplicate is decided before.
    * **True.** The evidence that is kept of a series rests on its pairs and events up to a time. It
      is dropped in the same step that changes or forgets one of them.
    * **Exact.** What is read is what was appended, bit for bit. Where a checksum of a journal
      differs, reading raises JournalDamagedError; nothing is ever skipped.
    """

    # -- append -----------------------------------------------------------------------------

    def append(self, batch: Batch) -> None:
        """Make a batch durable; raises JournalFullError (nothing was written), JournalError."""

    # -- read, besides what History has -----------------------------------------------------

    def series(self) -> list[KnownSeries]:
        """Return every series, by row."""

    def observations(self) -> Iterator[tuple[float, list[Durable]]]:
        """Yield (time of arrival, observations) of each batch that had some."""

    def pairs(self) -> Records:
        """Return all changes of pairs; those of one series in the order they were made."""

    def covariates(self) -> Records:
        """Return all numbers beside pairs; those of one series in the order they were made."""

    def covariates_of(self, series: int) -> Records:
        """Return the numbers beside the pairs of one series in the order they were made."""

    def evidence(self) -> list[KeptEvidence]:
        """Return the evidence that is kept, one of a series, by row."""

    def events(self) -> list[Event]:
        """Return every event, by time."""

    def collocations(self) -> list[Collocation]:
        """Return every collocation, by sensor, subject and start."""

    def totals(self) -> dict[str, int]:
        """Return the counters of messages as of the last batch."""

    def note(self, name: str) -> bytes:
        """Return the last note of a name, empty if there is none."""

    def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """Return the newest dead letters that are kept, newest first."""

    # -- expire -----------------------------------------------------------------------------

    def expire(self, *, observations_before: float, pairs_before: float) -> bool:
        """Drop observations that arrived before a time, and pairs older than an event time.

        Return whether there were such pairs.

        Pairs are dropped from the first that was made, up to one that is young enough, so that none
        outlives the change that replaced or removed it; numbers beside them likewise. Kept evidence
        is dropped along with pairs. Revisions of references that arrived before ``pairs_before``
        may go too.
        """

    # -- copy -------------------------------------------------------------------------------

    def copy(self) -> bytes:
        """Return all of it as of the last append; a store of the same kind opens from the bytes.

        Dead letters, which are for a person to look at, need not be in it, nor need evidence, which
        pairs and events give again.
        """


class Notification(NamedTuple):
    """One transition of an alert: its number, the alert (sensor, quantity, name), its body.

    ``is_active`` says that the alert is pending or firing from now on.
    """

    seq: int
    alert: tuple[str, str, str]
    is_active: bool
    body: bytes
