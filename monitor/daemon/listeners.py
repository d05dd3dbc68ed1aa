"""The places of an extension in the daemon: one listener, whose methods the loop calls in turn.

A listener sees each batch before it is written and adds to its transaction, sees each snapshot
before it is published, works between publications, and owns a connection or a thread if it needs
one. All methods run on the data's thread; none may wait.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from monitor.config.settings import Settings
from monitor.core.model import Event, Records, Sample
from monitor.core.pairing.observations import Durable
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.state.network import Network
from monitor.decode.router import Decoded
from monitor.http.published import Page
from monitor.http.text_format import Family
from monitor.journal.store import NO_NUMBERS, Store

if TYPE_CHECKING:
    from monitor.mqtt.publish import BrokerPublisher, Retained


class OpenBroker(Protocol):
    """Opens a connection to the settings' broker under a name of its own, with a last will."""

    def __call__(self, name: str, will: Retained | None = None) -> BrokerPublisher:
        """Return a publisher whose client identifier is the daemon's and ``name``."""


class ListenerContext(NamedTuple):
    """The input of a listener. ``counts`` outlive a reload; their keys are its own."""

    settings: Settings
    network: Network
    store: Store
    counts: dict[str, int]


class Taken(NamedTuple):
    """A batch that is about to be written: what was decoded, accepted and paired.

    ``received`` is when it came, s since 1970 UTC.
    """

    decoded: Decoded
    measured: Sequence[Durable]
    events: Sequence[Event]
    pairs: Records
    received: float


class Addendum(NamedTuple):
    """A listener's additions to a batch.

    ``samples`` are numbers that wait for pairs, ``beside`` those beside its pairs, ``repeated`` the
    messages that said nothing but what was known, ``notes`` what must outlive a restart.
    """

    samples: Sequence[Sample] = ()
    beside: Records = NO_NUMBERS
    repeated: Collection[int] = ()
    notes: Mapping[str, bytes] = {}


NOTHING = Addendum()


class Listener:
    """Does nothing; an extension overrides what it needs."""

    wait_more_seconds = 0.0
    """How much longer than readings the observations must stay that it restores."""

    def restore(self, received: float, observations: Sequence[Durable]) -> None:
        """Take what a journal kept, that arrived at ``received``; before the first batch."""

    def recovered(self) -> None:
        """Note that the network has its series and pairs again; before the first batch."""

    def prepare(self, taken: Taken) -> Addendum:  # noqa: ARG002 - overridden
        """Return what to write with a batch."""
        return NOTHING

    def committed(self) -> None:
        """Note that the batch prepared last is durable."""

    def see(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot with what this extension adds to it, before anybody else sees it."""
        return snapshot

    def publish(self, page: Page) -> None:
        """Publish a page, all of which is durable."""

    def work(self, now: float) -> None:
        """Do a little between two publications; ``now`` is s of a monotonic clock."""

    def expire(self, before: float) -> None:
        """Drop what waits for pairs and arrived before a time, s since 1970 UTC."""

    def notices(self, now: float) -> Iterator[str]:  # noqa: ARG002 - overridden
        """Yield sentences on what needs somebody at ``now``, s since 1970 UTC."""
        return iter(())

    def families(self) -> Iterator[Family]:
        """Yield metrics of its own."""
        return iter(())

    def start(self, connect: OpenBroker) -> None:
        """Begin to publish."""

    def end(self) -> None:
        """Begin to stop, without waiting."""

    def stop(self, seconds: float) -> None:
        """Stop within ``seconds``."""


MakeListener = Callable[[ListenerContext], Listener | None]
