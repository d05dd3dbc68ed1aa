"""From settings to parts: which part of the daemon needs which setting."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.config.concerns import places_by_sensor
from monitor.config.core_plan import plan_of, router_of, units_of
from monitor.config.credentials import Credentials
from monitor.config.settings import Settings
from monitor.config.sources import Place
from monitor.core.state.limit_notices import limit_notices
from monitor.core.state.network import Network
from monitor.daemon.clock_guard import ClockGuard
from monitor.daemon.connecting import CLIENT_ID_PREFIX, publisher_of, subscriptions_of
from monitor.daemon.intake import UNITS, Intake, recover
from monitor.daemon.listeners import Listener, ListenerContext, MakeListener, OpenBroker
from monitor.daemon.self_check import SelfCheck
from monitor.decode.formats.sparkplug_births import Births
from monitor.extensions import hooks
from monitor.journal.copying import remove_left_copies
from monitor.journal.failures import target_of
from monitor.journal.journal import Journal
from monitor.journal.store import Batch

if TYPE_CHECKING:
    from monitor.mqtt.publish import BrokerPublisher, Retained

SUBSCRIPTIONS: Final = "subscriptions"  # name of the journal's note
CLIENT_ID: Final = "client_id"  # another one
SESSION_OF: Final = "session_of"  # another one, the identifier last used
LAST_MESSAGES: Final = "last_messages"  # another one, when one last came on each filter
_LEFT_MAX: Final = 100
_CLIENT_ID_BYTES: Final = 4


class Parts(NamedTuple):
    """The parts that data pass through."""

    settings: Settings
    network: Network
    journal: Journal
    intake: Intake
    clock: ClockGuard
    self_check: SelfCheck
    listeners: tuple[Listener, ...] = ()
    places: Mapping[str, Place] = {}


def open_journal(settings: Settings) -> Journal:
    """Open the settings' journal; raises JournalError."""
    path = Path(settings.journal.path)
    remove_left_copies(target_of(path).parent)
    return Journal(
        path,
        dead_letters_kept=settings.journal.dead_letters,
        transitions_kept=settings.sinks.history,
    )


def assemble(
    settings: Settings,
    now: float,
    journal: Journal | None = None,
    counts: dict[str, int] | None = None,
) -> Parts:
    """Rebuild the network from the settings' journal, opened if need be; raises JournalError.

    ``counts`` of extensions outlive a reload.
    """
    journal = open_journal(settings) if journal is None else journal
    units = units_of(settings)
    if noted := journal.note(UNITS):
        units.load(noted)
    places = places_by_sensor(settings)
    plan = plan_of(settings, units, places)._replace(known_series=len(journal.series()))
    network = Network(plan, journal)
    newest = journal.newest()
    context = ListenerContext(settings, network, journal, {} if counts is None else counts)
    listeners = tuple(_listeners(context))
    # Nothing may expire by a clock that is ahead; housekeeping drops what should expire.
    earliest = now if newest == -math.inf else min(now, newest)
    recover(network, journal, earliest, listeners=listeners)
    for listener in listeners:
        listener.recovered()
    births = Births()
    births.load_notes(journal.note)
    clock = ClockGuard(newest)
    router = router_of(settings, births, units)
    intake = Intake(router, network, journal, births, clock, listeners)
    check = SelfCheck(network, Random())  # noqa: S311 - chooses series, guards nothing
    return Parts(settings, network, journal, intake, clock, check, listeners, places)


def _listeners(context: ListenerContext) -> Iterator[Listener]:
    """Yield the listeners of the extensions that the settings ask for."""
    makers: Iterator[MakeListener] = hooks(context.settings.extensions, "listener")
    for make in makers:
        listener = make(context)
        if listener is not None:
            yield listener


def notices_of(parts: Parts, now: float) -> Iterator[str]:
    """Yield sentences on what needs somebody at ``now``, s since 1970 UTC."""
    yield from limit_notices(parts.network, parts.intake.counts.rejected)
    for listener in parts.listeners:
        yield from listener.notices(now)


def client_id_of(parts: Parts) -> str:
    """Return the client identifier at the broker: that of the settings, else the journal's own.

    It is made once per journal, so that the same settings with another journal never take over
    the session of the first.
    """
    noted = parts.journal.note(CLIENT_ID).decode()
    if not noted:
        noted = f"{CLIENT_ID_PREFIX}-{secrets.token_hex(_CLIENT_ID_BYTES)}"
        parts.journal.append(Batch(notes={CLIENT_ID: noted.encode()}))
    return parts.settings.mqtt.client_id or noted


def has_session(parts: Parts, client_id: str) -> bool:
    """Return whether the broker should hold a session of this client from before; note the client.

    It should if messages came in an earlier life, under the same identifier.
    """
    former = parts.journal.note(SESSION_OF).decode()
    if former != client_id:
        parts.journal.append(Batch(notes={SESSION_OF: client_id.encode()}))
    is_kept = parts.settings.mqtt.session_expiry_seconds > 0
    return is_kept and former == client_id and parts.intake.counts.received > 0


def note_subscriptions(parts: Parts) -> list[str]:
    """Record the subscriptions; return earlier ones that the settings no longer name.

    A broker keeps the subscriptions of a session until the client ends them.
    """
    wanted = [each.filter for each in subscriptions_of(parts.settings)]
    noted = parts.journal.note(SUBSCRIPTIONS)
    former = msgspec.json.decode(noted, type=list[str]) if noted else []
    left = [each for each in former if each not in wanted][-_LEFT_MAX:]
    if [*wanted, *left] != former:
        note = msgspec.json.encode([*wanted, *left])
        parts.journal.append(Batch(notes={SUBSCRIPTIONS: note}))
    return left


def last_messages(parts: Parts) -> dict[str, float]:
    """Return when a message last came on each filter of the settings, s UTC, as far as known."""
    noted = parts.journal.note(LAST_MESSAGES)
    known = msgspec.json.decode(noted, type=dict[str, float]) if noted else {}
    wanted = {each.filter for each in subscriptions_of(parts.settings)}
    return {topics: at for topics, at in known.items() if topics in wanted}


def connect_of(settings: Settings, credentials: Credentials, client_id: str) -> OpenBroker:
    """Return what opens an extension's own connection to the settings' broker.

    Its client identifier is that of the daemon, at its other connection, and a name; it stays, so
    that a new connection ends one that is half open.
    """

    def connect(name: str, will: Retained | None = None) -> BrokerPublisher:
        own = f"{client_id}-{name}"
        return publisher_of(settings, credentials, client_id=own, will=will)

    return connect
