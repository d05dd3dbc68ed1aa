"""Advice that somebody accepted: an event that says what is done to readings from then on.

Rules of this file: the event's note holds all numbers, so that the journal alone says what was
accepted. It concerns the quantity that the note names, and holds until the next event that concerns
this quantity. Advice has the same name as long as its numbers agree to two digits.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, NamedTuple

from typing_extensions import TypedDict

from monitor.config.sources import Source
from monitor.core.formatting import significant
from monitor.core.model import Event
from monitor.core.registry import SeriesName
from monitor.core.setting import About
from monitor.core.snapshot.additions import Press
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.verdict import Remedy
from monitor.core.verdict.faults import FAULTS
from monitor.core.verdict.verdict import NO_REMEDY
from monitor.extensions.corrected.corrected import AS_SENT, Amendment, amendment_of, in_words
from monitor.mqtt.topic_templates import Template, topic_level

ACCEPTED: Final = "accepted"  # the word of the event
BUTTON: Final = "accept advice"
_DIGITS: Final = 8
_NOTE: Final = re.compile(
    r"advice (?P<advice>[0-9a-f]{8}): (?P<intercept>\S+) \+ (?P<slope>\S+) v, "
    r"u times (?P<scale>\S+), of .+"
)


class Advice(NamedTuple):
    """What is advised for the readings of a quantity of a sensor, with a name to accept it by."""

    advice: str
    quantity: str
    amendment: Amendment

    @property
    def note(self) -> str:
        """The note of the event that accepts it."""
        intercept, slope, scale = self.amendment
        does = f"{intercept!r} + {slope!r} v, u times {scale!r}"
        return f"advice {self.advice}: {does}, of {self.quantity}"


def advice_on(name: SeriesName, amendment: Amendment) -> Advice:
    """Return an amendment of a series as advice."""
    numbers = ",".join(significant(number) for number in amendment)
    named = f"{name.sensor}\0{name.quantity}\0{numbers}".encode()
    return Advice(hashlib.sha256(named).hexdigest()[:_DIGITS], name.quantity, amendment)


def advice_in(event: Event) -> Advice | None:
    """Return the advice that an event accepts, None for any other event."""
    parts = _NOTE.fullmatch(event.note) if event.event == ACCEPTED else None
    if parts is None:
        return None
    try:
        amendment = Amendment(*(float(parts[name]) for name in Amendment._fields))
    except ValueError:
        return None
    is_usable = all(map(math.isfinite, amendment)) and amendment.slope and amendment.scale > 0.0
    return Advice(parts["advice"], event.quantity, amendment) if is_usable else None


def accepted(events: Sequence[Event]) -> Advice | None:
    """Return the advice on a series that is accepted, given the events that concern it in order."""
    return advice_in(events[-1]) if events else None


def remedy_told(now: Snapshot | None, row: int) -> Remedy | None:
    """Return what the alerts of a series want: None where none fires, NO_REMEDY for nothing new.

    Other alerts, such as that of a wrong reference, do not say that the sensor is wrong.
    """
    if now is None or row >= len(now.names):
        return NO_REMEDY
    if not any(now.alerts[fault][row] for fault in FAULTS):
        return None
    report = now.reports.get(row)
    return NO_REMEDY if report is None else report.verdict.remedy or NO_REMEDY


class OfferDocument(TypedDict):
    """Advice in force that is not accepted yet, with the event that accepts it."""

    advice: Annotated[str, About("Its name; it changes with the second digit of its numbers.")]
    sentence: str
    event: str
    note: str


class CorrectedMembers(TypedDict, total=False):
    """The members; there with `correct.publish`."""

    corrected: Annotated[str, About("What is done to its readings; empty before its first pair.")]
    accept: Annotated[OfferDocument | None, About("What may be accepted.")]


class Offer(NamedTuple):
    """Advice on a series that is in force and not accepted yet, in words, and its button."""

    name: SeriesName
    advice: Advice
    words: str
    press: Press | None

    def document(self) -> OfferDocument:
        """Return it as plain values, with the event that accepts it."""
        named, note = self.advice.advice, self.advice.note
        return OfferDocument(advice=named, sentence=self.words, event=ACCEPTED, note=note)


NO_OFFERS: Final[Mapping[int, Offer]] = {}


def offers_in(now: Snapshot, known: Mapping[int, Advice], topic: str) -> dict[int, Offer]:
    """Return the advice that a snapshot offers, by rows; ``known`` is what was accepted."""
    offers = {}
    for row in now.reports:
        amendment = amendment_of(remedy_told(now, row))
        name = now.names[row]
        advice = advice_on(name, amendment)
        before = known.get(row)
        if amendment != AS_SENT and (before is None or before.advice != advice.advice):
            words = in_words(amendment, name.unit, now.spread(row))
            offers[row] = Offer(name, advice, words, _press(advice, name.sensor, topic))
    return offers


def _press(advice: Advice, sensor: str, topic: str) -> Press | None:
    """Return the button of a sensor that is usable as a level of a topic."""
    if not topic or topic_level(sensor) != sensor:
        return None
    return Press(topic.replace("{sensor}", sensor), ACCEPTED, advice.note)


def event_topic(sources: Iterable[Source]) -> str:
    """Return the topic of the first native source of events of any sensor, empty for none."""
    for source in sources:
        names = {*Template.parse(source.topic).names}
        is_complete = names == {"sensor"} and not set(source.topic) & set("+#")
        if (source.kind, source.decoder) == ("event", "native") and is_complete:
            return source.topic
    return ""
