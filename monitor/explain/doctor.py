"""Why are there no pairs? What was received, rejected and held, and what to do about it.

Rules of this file: a report is made from what the daemon holds and counts, on the data's thread; it
is plain values, so that it can be served, printed, and read by a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import isnan
from typing import Any, Final, NamedTuple, Protocol

from monitor.config.settings import Settings
from monitor.config.sources import ByHand
from monitor.core.formatting import count_of, duration
from monitor.core.pairing.unpaired import Unpaired, examine
from monitor.core.pairing.unpaired_members import Member, examine_members
from monitor.core.state.limit_notices import is_refusing
from monitor.core.state.network import Network
from monitor.decode.checks import REASONS
from monitor.errors import (
    CONNECTION,
    NO_PAIRS,
    NOTHING_COMES,
    REFUSALS,
)
from monitor.explain.doctor_members import (
    apart,
    member_findings,
    nearly,
    shared_findings,
    standing_out,
    unmet,
)
from monitor.journal.store import DeadLetter
from monitor.mqtt.topic_templates import Template

_SKEW_SECONDS: Final = 30.0
LETTERS_EXAMINED: Final = 100
_TOPICS_NAMED: Final = 3


class Connection(Protocol):
    """The doctor's knowledge of the source of messages."""

    connected: bool
    status: str
    denied: dict[str, str]
    last_message: dict[str, float]


class Counted(Protocol):
    """Messages received and their outcomes, over the life of the journal."""

    received: int
    committed: int
    rejected: dict[str, int]
    records_rejected: dict[str, int]


class Examined(NamedTuple):
    """The doctor's input; ``delays`` are medians by topic filter, s.

    ``notices`` are sentences on what needs attention, such as certificates that expire; ``shared``
    are the topics of each series that has several.
    """

    settings: Settings
    network: Network
    counts: Counted
    delays: Mapping[str, float]
    letters: Sequence[DeadLetter]
    notices: Sequence[str] = ()
    shared: Mapping[tuple[str, str], Sequence[str]] = {}


@dataclass(frozen=True)
class Filter:
    """One subscription; times in s, None until a message matches it.

    ``denied`` is why the broker does not grant it.
    """

    filter: str
    kind: str
    last_message: float | None
    delay_seconds: float | None
    by_hand: bool = False
    denied: str = ""


@dataclass(frozen=True)
class Refusal:
    """Messages that were rejected for one reason, and the last of them."""

    reason: str
    count: int
    topic: str = ""
    detail: str = ""
    place: str = ""
    other_topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """The findings as sentences, the most important first, and the numbers behind them."""

    findings: tuple[str, ...]
    received: int
    committed: int
    readings_held: int
    references_held: int
    expired_unpaired: int
    limited_references: int
    filters: tuple[Filter, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    quantities: tuple[Unpaired, ...] = field(default=())
    members: tuple[Member, ...] = ()
    pairing: tuple[str, ...] = ()
    """Those of the findings that say what does not pair."""

    def document(self) -> dict[str, Any]:
        """Return the report for JSON, with its text; undefined numbers are null."""
        document = asdict(self) | {"text": text(self)}
        document["quantities"] = [_document(each) for each in self.quantities]
        document["members"] = [_document(each) for each in self.members]
        return document


def doctor_report(examined: Examined, connection: Connection | None) -> Report:
    """Return the report on a daemon; ``connection`` is None if none is running."""
    filters = tuple(_filters(examined, connection))
    refusals = tuple(_refusals(examined))
    held, counts = examined.network.pairing, examined.counts
    quantities = tuple(examine(held))
    members = tuple(standing_out(examine_members(held, _lacking_series(examined)), quantities))
    lacking = [_of_quantity(each) for each in quantities if each.cause != "paired"]
    pairing = (*lacking, *member_findings(members))
    findings = [
        *_of_connection(connection),
        *examined.notices,
        *(_of_filters(filters) if connection is not None and connection.connected else ()),
        *pairing,
        *(_of_quantity(each) for each in quantities if each.cause == "paired"),
        *_of_delays(filters),
        *shared_findings(examined.shared, [each.topic for each in examined.settings.sources]),
        *_of_refusals(refusals),
    ]
    if not counts.received:
        findings.append("no message has been received since the journal was created")
    return Report(
        tuple(findings),
        counts.received,
        counts.committed,
        held.readings + examined.network.waiting.readings,
        sum(len(each.times) for each in held.reference_buffers.values()),
        held.expired_unpaired,
        held.limited_references,
        filters,
        refusals,
        quantities,
        members,
        pairing,
    )


def text(report: Report) -> str:
    """Return a report as text."""
    received = f"{count_of(report.received, 'message')} received, {report.committed} in the journal"
    held = _held(report.readings_held, report.references_held)
    lines = [f"{received}; {held} may still pair"]
    if report.expired_unpaired:
        lines.append(f"{count_of(report.expired_unpaired, 'reading')} expired without a reference")
    if report.limited_references:
        limited = count_of(report.limited_references, "reference")
        lines.append(
            f"{limited} reached pairing.max_pairs_per_reference; further readings of the "
            "same series pair only where they are nearer in time"
        )
    lines.append("")
    lines += [f"* {finding}" for finding in report.findings]
    return "\n".join(lines)


# -- what was found ------------------------------------------------------------------------------


def _lacking_series(examined: Examined) -> Callable[[str], bool]:
    """Return whether a sensor may send readings that have no series, because of a limit."""
    if is_refusing(examined.network, examined.counts.rejected):
        return lambda _sensor: True
    return {sensor for sensor, _ in examined.network.waiting.by_series}.__contains__


def _filters(examined: Examined, connection: Connection | None) -> Iterable[Filter]:
    last_message = {} if connection is None else connection.last_message
    denied = {} if connection is None else connection.denied
    for source in examined.settings.sources:
        topics = Template.parse(source.topic).filter
        yield Filter(
            topics,
            source.kind,
            last_message.get(topics),
            examined.delays.get(topics),
            isinstance(source, ByHand),
            denied.get(topics, ""),
        )


def _refusals(examined: Examined) -> Iterable[Refusal]:
    last = {letter.reason: letter for letter in reversed(examined.letters)}
    counts = examined.counts
    for reason in REASONS:
        count = counts.rejected[reason] + counts.records_rejected[reason]
        if count:
            letter = last.get(reason)
            if letter is None:
                yield Refusal(reason, count)
                continue
            topics = dict.fromkeys(each.topic for each in examined.letters if each.reason == reason)
            others = tuple(topic for topic in topics if topic != letter.topic)
            yield Refusal(reason, count, letter.topic, letter.detail, letter.place, others)


def _document(each: Unpaired | Member) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and isnan(value) else value
        for name, value in each._asdict().items()
    }


# -- in words ------------------------------------------------------------------------------------


def _of_connection(connection: Connection | None) -> Iterable[str]:
    if connection is None:
        yield "the daemon is not running; this is the state in its journal"
    elif not connection.connected:
        yield f"the broker is not connected: {connection.status}; see {CONNECTION}"


def _of_filters(filters: Sequence[Filter]) -> Iterable[str]:
    sent = {each.kind for each in filters if not each.by_hand}
    for each in filters:
        if each.denied:
            yield (
                f"the broker does not let this daemon subscribe to {each.filter}: {each.denied}; "
                f"`monitor {each.kind}` does not reach it. Grant it, or write by_hand: false"
            )
        elif each.last_message is not None or each.kind not in ("reading", "reference"):
            continue
        elif each.by_hand and each.kind not in sent:
            yield (
                f"no {each.kind} has been received, and the settings name no source of them: "
                f"`monitor {each.kind}` publishes one measured by hand"
            )
        elif not each.by_hand:
            yield (
                f"no {each.kind} has been received on {each.filter}, though the "
                "broker granted the subscription: does anything publish there, and may this user "
                f"read it (an access list may deny silently)? See {NOTHING_COMES}"
            )


def _of_delays(filters: Iterable[Filter]) -> Iterable[str]:
    for each in filters:
        if each.delay_seconds is not None and each.delay_seconds < -_SKEW_SECONDS:
            yield (
                f"the clock of the senders on {each.filter} is ahead of this machine's by "
                f"{duration(-each.delay_seconds)}"
            )


def _of_refusals(refusals: Iterable[Refusal]) -> Iterable[str]:
    for each in sorted(refusals, key=lambda refusal: -refusal.count):
        place = f" at {each.place}" if each.place else ""
        last = f"; the last on {each.topic!r}{place}: {each.detail}" if each.topic else ""
        named = ", ".join(map(repr, each.other_topics[:_TOPICS_NAMED]))
        more = f" and {len(each.other_topics) - _TOPICS_NAMED} more topics"
        others = f"; also on {named}{more if len(each.other_topics) > _TOPICS_NAMED else ''}"
        advice = f"{REASONS[each.reason]}{last}{others if named else ''}{_page(each)}"
        yield f"{each.count} rejected, {each.reason}: {advice}"


def _page(refusal: Refusal) -> str:
    page = REFUSALS.get(refusal.reason)
    return f"; see {page}" if page else ""


def _of_quantity(unpaired: Unpaired) -> str:
    held = _held(unpaired.readings, unpaired.references)
    looked = f"part of what may still pair ({held})" if unpaired.partly else held
    if unpaired.cause == "paired":
        made = count_of(unpaired.paired, "pair")
        return f"{unpaired.quantity}: {made} of {looked}, which may make further ones"
    why = _CAUSES[unpaired.cause](unpaired)
    return f"{unpaired.quantity}: {looked}, no pair: {why}; see {NO_PAIRS}"


def _of_missing_side(unpaired: Unpaired) -> str:
    missing = "reference" if unpaired.cause == "no_references" else "reading"
    hint = f"; there are some of {unpaired.nearest[1]!r}" if unpaired.nearest else ""
    if unpaired.voided:
        return f"no reference of this quantity is left (withdrawn: {unpaired.voided}){hint}"
    return f"no {missing} of this quantity was received, or it has expired{hint}"


def _of_subjects(unpaired: Unpaired) -> str:
    return (
        "no reference is about a sensor that measures it. Sensors: "
        f"{_listed(unpaired.on_readings)}; the references are about "
        f"{_listed(unpaired.on_references)}{nearly(unpaired)}. Name their "
        "sensors in `areas`, or leave `subject` out of pairing.match_on"
    )


def _of_keys(unpaired: Unpaired) -> str:
    return (
        f"0 keys in common. Keys of readings: {_listed(unpaired.on_readings)}; of references: "
        f"{_listed(unpaired.on_references)}{nearly(unpaired)}. A mapping's key_remove and key_case "
        "give both the same spelling"
    )


def _of_collocations(unpaired: Unpaired) -> str:
    return (
        "no reference is of a time when its subject stood beside the sensor. Sensors: "
        f"{_listed(unpaired.on_readings)}; the references are about "
        f"{_listed(unpaired.on_references)}. Correct the collocation's start and end"
    )


def _of_times(unpaired: Unpaired) -> str:
    hours = unpaired.zone_hours
    hint = (
        f"; {abs(hours):g} h {'earlier' if hours > 0.0 else 'later'}, the readings would meet "
        "their references: is a time zone wrong?"
    )
    return f"the nearest reading is {apart(unpaired)}{hint if hours else ''}"


_CAUSES: Final = {
    "no_readings": _of_missing_side,
    "no_references": _of_missing_side,
    "subject": _of_subjects,
    "key": _of_keys,
    "collocation": _of_collocations,
    "tolerance": _of_times,
    "interval": unmet,
    "side": unmet,
    "several": unmet,
}


def _held(readings: int, references: int) -> str:
    return f"{count_of(readings, 'reading')} and {count_of(references, 'reference')}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) if name else "none stated" for name in names) or "none"
