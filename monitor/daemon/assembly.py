"""From settings to parts: which part of the daemon needs which setting."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from monitor.config.concerns import places_by_sensor
from monitor.config.core_plan import plan_of, router_of, units_of
from monitor.config.credentials import Credentials
from monitor.config.loading import shown_settings
from monitor.config.pair_marks import assumed_anew, marks_of
from monitor.config.settings import Settings
from monitor.config.sources import Place
from monitor.core.formatting import grouped_count
from monitor.core.model import Records, by_series, in_portions
from monitor.core.pairing.observations import observed
from monitor.core.state.limit_notices import limit_notices
from monitor.core.state.network import Network
from monitor.daemon.checkpoints import Checkpoints
from monitor.daemon.clock_guard import ClockGuard
from monitor.daemon.connecting import CLIENT_ID_PREFIX, publisher_of, subscriptions_of
from monitor.daemon.intake import UNITS, Intake, recover
from monitor.daemon.listeners import Listener, ListenerContext, MakeListener, OpenBroker, Taken
from monitor.daemon.made_with import NOTE as MADE_WITH
from monitor.daemon.made_with import MadeWith, OtherPairs
from monitor.daemon.newest_letters import LETTERS_MOST, NewestLetters
from monitor.daemon.self_check import SelfCheck
from monitor.decode.checks import FUTURE_SECONDS
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.router import Decoded
from monitor.extensions import hooks
from monitor.journal.failures import JournalFullError, target_of
from monitor.journal.journal import Journal
from monitor.journal.opening import remove_left_folders
from monitor.journal.store import NO_NUMBERS, NO_PAIRS, Batch
from monitor.mqtt.connection import without_overlaps

if TYPE_CHECKING:
    from monitor.core.state.core_settings import CoreSettings
    from monitor.mqtt.publish import BrokerPublisher, Retained

SUBSCRIPTIONS: Final = "subscriptions"  # name of the journal's note
CLIENT_ID: Final = "client_id"  # another one
SESSION_OF: Final = "session_of"  # another one, the identifier last used
SETTINGS: Final = "settings"  # another one, those last run with, without credentials
LAST_MESSAGES: Final = "last_messages"  # another one, when one last came on each filter
_LEFT_MAX: Final = 100
_CHANGES_AT_ONCE: Final = 1 << 22  # of pairs, 0.4 GB; SQLite takes a blob of 1 GB
_CLIENT_ID_BYTES: Final = 4


class Parts(NamedTuple):
    """The parts that data pass through.

    ``remade`` says how many pairs were made again at the start, ``others`` which could not be.
    """

    settings: Settings
    network: Network
    journal: Journal
    intake: Intake
    clock: ClockGuard
    self_check: SelfCheck
    made_with: MadeWith
    others: OtherPairs
    remade: str
    letters: NewestLetters
    listeners: tuple[Listener, ...] = ()
    places: Mapping[str, Place] = {}


def open_journal(settings: Settings) -> Journal:
    """Open the settings' journal; raises JournalError."""
    path = Path(settings.journal.path)
    remove_left_folders(target_of(path).parent)
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
    *,
    every_pair: bool = False,
) -> Parts:
    """Rebuild the network from the settings' journal, opened if need be; raises JournalError.

    Pairs that other settings made are made again first, as far as that is possible; ``every_pair``,
    whatever made it. ``counts`` of extensions outlive a reload.
    """
    journal = open_journal(settings) if journal is None else journal
    units = units_of(settings)
    if noted := journal.note(UNITS):
        units.load(noted)
    places = places_by_sensor(settings)
    plan = plan_of(settings, units, places)._replace(known_series=len(journal.series()))
    newest = journal.newest()
    # Nothing may expire by a clock that is ahead; housekeeping drops what should expire.
    earliest = now if newest == -math.inf else min(now, newest)
    assume = assumed_anew(settings)
    made_with, remade = _follow_settings(settings, plan, journal, earliest, every=every_pair)
    network = Network(plan, journal)
    context = ListenerContext(settings, network, journal, {} if counts is None else counts)
    listeners = tuple(_listeners(context))
    recover(network, journal, earliest, listeners=listeners, assume=assume)
    network.evict_not_allowed()
    for listener in listeners:
        listener.recovered()
    births = Births()
    births.load_notes(journal.note)
    clock = ClockGuard(newest)
    router = router_of(settings, births, units)
    letters = NewestLetters(journal.dead_letters(LETTERS_MOST))
    intake = Intake(router, network, journal, births, clock, listeners, letters)
    check = SelfCheck(network, Random())  # noqa: S311 - chooses series, guards nothing
    others = OtherPairs(made_with, network, journal)
    made = made_with, others, remade, letters
    return Parts(settings, network, journal, intake, clock, check, *made, listeners, places)


def _follow_settings(
    settings: Settings, plan: CoreSettings, journal: Journal, now: float, *, every: bool
) -> tuple[MadeWith, str]:
    """Make the pairs again that other settings made, as far as what a journal holds allows.

    ``every``: those of all series. The start then goes on from the journal, as after a correction.
    Returns a sentence on what changed, empty for nothing.
    """
    own = marks_of(settings, plan)
    made_with, series = MadeWith(own, journal.note(MADE_WITH)), journal.series()
    marks = made_with.in_force([(each.sensor, each.quantity) for each in series])
    is_other = made_with.differences(marks)
    if not (is_other.any() or every):
        return made_with, ""
    network, assume = Network(plan, journal), assumed_anew(settings)
    listeners = tuple(_listeners(ListenerContext(settings, network, journal, {})))
    recover(network, journal, now, is_resumed=True, listeners=listeners, assume=assume)
    checkpoints, pairs = Checkpoints(network), journal.pairs()
    rows = np.flatnonzero(is_other[:, 0] | every)
    changes, stay = network.pair_anew(pairs, rows, _whole_from(network, journal, made_with, now))
    ends = np.full(marks.shape, network.liveness.last_reading[: len(series), np.newaxis])
    np.fmax.at(ends, pairs["series"], pairs["time"][:, np.newaxis])
    ends[:, 0] = -np.inf
    np.maximum.at(ends[:, 0], stay["series"], stay["time"])
    made_with.follow(marks, ends)
    notes = {**checkpoints.notes(now), MADE_WITH: made_with.note()}
    try:
        _write_anew(journal, changes, listeners, notes, now)
    except JournalFullError as error:
        former = MadeWith(own, journal.note(MADE_WITH))
        return former, f"{error}; until the next start pairs stay as other settings made them"
    if not changes.size:
        return made_with, ""
    count = grouped_count(np.unique(changes[["series", "id"]]).size, "pair")
    names = {series[row].sensor for row in np.unique(changes["series"]).tolist()}
    sensors = grouped_count(len(names), "sensor")
    return made_with, f"{count} of {sensors} were made again with the settings in force"


def _write_anew(
    journal: Journal,
    changes: Records,
    listeners: Iterable[Listener],
    notes: Mapping[str, bytes],
    now: float,
) -> None:
    """Write pairs that were made again, with ``notes``, in one transaction if a blob may hold them.

    Of several the last one notes the settings: a process that dies before makes all pairs again.
    """
    left = [*in_portions(changes, by_series(changes)[0], _CHANGES_AT_ONCE)] or [NO_PAIRS]
    while left:
        portion = left.pop(0)
        taken = Taken(Decoded(observed(()), [], []), (), (), portion, now)
        beside = np.concatenate([NO_NUMBERS, *(each.prepare(taken).beside for each in listeners)])
        noted = {name: note for name, note in notes.items() if name != MADE_WITH or not left}
        journal.append(Batch(pairs=portion, covariates=beside, notes=noted))


def _whole_from(network: Network, journal: Journal, made_with: MadeWith, now: float) -> float:
    """Return the event time (s UTC) from which on nothing was dropped, once it is recovered.

    What was dropped had arrived before what is held, and was not ahead of its arrival by more than
    the clock guard allows.
    """
    dropped_before = max(now - network.settings.max_wait_seconds, network.held_from)
    oldest, is_whole = journal.oldest()
    if is_whole and not made_with.has_dropped and oldest >= dropped_before:
        return -math.inf
    return max(oldest, dropped_before) + FUTURE_SECONDS


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
    yield from parts.others.sentences()
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
    wanted = [each.filter for each in without_overlaps(subscriptions_of(parts.settings))]
    noted = parts.journal.note(SUBSCRIPTIONS)
    former = msgspec.json.decode(noted, type=list[str]) if noted else []
    left = [each for each in former if each not in wanted][-_LEFT_MAX:]
    if [*wanted, *left] != former:
        note = msgspec.json.encode([*wanted, *left])
        parts.journal.append(Batch(notes={SUBSCRIPTIONS: note}))
    return left


def note_settings(parts: Parts) -> None:
    """Record the settings in force, for comparisons with others."""
    note = msgspec.json.encode(shown_settings(parts.settings))
    if parts.journal.note(SETTINGS) != note:
        parts.journal.append(Batch(notes={SETTINGS: note}))


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
