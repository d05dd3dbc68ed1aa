"""The proposal: sources, how they join, the expected pairs and what is missing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import filterfalse
from math import isnan
from typing import Final, NamedTuple

from monitor.core.formatting import duration, instant
from monitor.core.pairing.unpaired import CAUSES
from monitor.core.registry import SeriesKey
from monitor.decode.checks import NO_FAULT, Rejected
from monitor.decode.formats.mapped_json import parse
from monitor.decode.paths import steps
from monitor.discover.births import Fact, announced, datastreams, is_announcement, statestream
from monitor.discover.families import TopicFamily, are_values, topic_families
from monitor.discover.heard import Heard, Said, is_own, number_of, said
from monitor.discover.joining import joining, linked
from monitor.discover.other_formats import hints, is_of_other_format
from monitor.discover.settings_text import Broker, Joining, settings_text
from monitor.discover.source_guesses import Source, guessed_sources
from monitor.discover.sparkplug_metrics import is_sparkplug, sparkplug_sources
from monitor.discover.trial import TrialRun, trial_run
from monitor.discover.vocabulary import is_housekeeping, quantity_of
from monitor.mqtt.topic_templates import Template

_LISTED: Final = 10
# A number alone with its unit, or after a name as in line protocol.
_IN_LINE: Final = re.compile(r"(?:\A|=)\s*[+-]?\d+(?:[.,]\d+)?(?:[\s,i]|\Z)")


class Proposal(NamedTuple):
    """Settings as text, their results on the messages, and what is missing, as sentences."""

    text: str
    findings: list[str]
    missing: list[str]
    trial: TrialRun


def propose(heard: Sequence[Heard], now: float, broker: Broker) -> Proposal:
    """Return settings for the messages; ``now`` is s since 1970 UTC."""
    everything = sorted(heard, key=lambda each: (each.topic, each.time))
    own = list(filter(is_own, everything))
    heard = list(filterfalse(is_own, everything))
    sources = _sources(heard, now)
    first = trial_run(settings_text(broker, sources), heard, now)
    sources = linked(sources, {sensor for sensor, _ in first.readings})
    second = trial_run(settings_text(broker, sources), heard, now)
    joined = joining(second)
    trial = trial_run(settings_text(broker, sources, joined), heard, now)
    findings = [*_findings(heard, sources, trial, joined), *_of_own(own)]
    missing = list(_missing(heard, trial, joined))
    head = ["Proposed by `monitor discover`; comments say what each guess rests on.", ""]
    head += [f"* {each}" for each in (*findings, *(f"MISSING: {each}" for each in missing))]
    return Proposal(settings_text(broker, sources, joined, head), findings, missing, trial)


# -- sources --------------------------------------------------------------------------------------


def _sources(heard: Sequence[Heard], now: float) -> list[Source]:
    facts: dict[tuple[str, str], Fact] = announced(heard)
    streams, used = statestream([each for each in heard if _can_be_template(each.topic)])
    sparkplug = [each for each in heard if is_sparkplug(each.topic)]
    rest = [
        each
        for each in heard
        if each.topic not in used
        and not is_announcement(each.topic)
        and not is_sparkplug(each.topic)
        and not each.topic.startswith("$")
        and _can_be_template(each.topic)
    ]
    messages = [found for each in rest if (found := said(each)) is not None]
    named = datastreams(messages)
    grouped = [
        part
        for each in topic_families(_without(messages, named))
        for part in _named_streams(each, named)
    ]
    topics = {each.topic for each in heard}
    sources = [
        source
        for family in (*grouped, *streams)
        for source in guessed_sources(family, topics, facts, now)
    ]
    return _in_order([*sources, *sparkplug_sources(sparkplug)])


def _can_be_template(topic: str) -> bool:
    """Return whether a topic can be written as a template: plain text without braces."""
    return topic != "" and topic.isprintable() and not set(topic) & set("{}+#")


def _without(messages: Iterable[Said], named: Mapping[str, Fact]) -> list[Said]:
    """Leave out the messages that describe SensorThings' Datastreams."""
    return [each for each in messages if each.heard.topic.rpartition("/")[2] not in named]


def _named_streams(family: TopicFamily, named: Mapping[str, Fact]) -> Iterator[TopicFamily]:
    """Yield a family for each Datastream whose quantity is known, and one for all others."""
    if family.project != "SensorThings":
        yield family
        return
    by_level: dict[str, list[Said]] = defaultdict(list)
    for each in family.said:
        level = each.heard.topic.split("/")[1]
        by_level[level if level in named and named[level].quantity else ""].append(each)
    for level, messages in by_level.items():
        if not level:
            yield family._replace(said=tuple(messages))
            continue
        fact = named[level]
        yield family._replace(
            template=messages[0].heard.topic,
            said=tuple(messages),
            quantity=fact.quantity,
            unit=fact.unit,
            sensor=level,
        )


def _in_order(sources: list[Source]) -> list[Source]:
    """Return sources in an order where none takes the messages of a narrower one after it.

    The first that fits reads a message; of two with the same filter the first is kept.
    """
    by_topic: dict[str, Source] = {}
    for each in sources:
        by_topic.setdefault(Template.parse(each.topic).filter, each)
    return sorted(by_topic.values(), key=lambda each: each.topic.count("{"))


# -- what would pair ------------------------------------------------------------------------------


def _findings(
    heard: Sequence[Heard], sources: Sequence[Source], trial: TrialRun, joined: Joining
) -> Iterator[str]:
    topics = {each.topic for each in heard}
    sensors = {sensor for sensor, _ in trial.readings}
    yield (
        f"{_count(len(heard), 'message')} heard on {_count(len(topics), 'topic')}; "
        f"{_count(len(sources), 'source')} read {len(trial.read)} of them: "
        f"{_count(len(sensors), 'sensor')}, "
        f"{_count(len({about for about, _ in trial.references}), 'subject')} of references"
    )
    for subject, quantity in sorted(trial.references):
        concerned = _concerned(trial, joined, subject, quantity)
        paired = [each for each in concerned if trial.pairs.get(SeriesKey(each, quantity), 0)]
        if concerned:
            yield (
                f"{quantity}: {len(paired)} of {_count(len(concerned), 'sensor')} paired with the "
                f"reference {subject} while listening{_not_yet(concerned, paired)}"
            )
    own = {
        each.topic
        for each in _unread(heard, trial)
        if any(map(is_housekeeping, each.topic.split("/"))) and _is_value(each)
    }
    if own:
        yield f"left out, because they tell of the device itself: {_listed(own)}"


def _of_own(own: Collection[Heard]) -> Iterator[str]:
    if own:
        yield (
            f"left out, because `monitor` itself publishes them: {_count(len(own), 'message')} on "
            f"{_listed({each.topic for each in own})}"
        )


def _not_yet(concerned: Sequence[str], paired: Sequence[str]) -> str:
    left = [each for each in concerned if each not in paired]
    if not left or not paired:
        return ""
    return f"; not yet: {', '.join(left[:_LISTED])}{', ...' * (len(left) > _LISTED)}"


def _concerned(trial: TrialRun, joined: Joining, subject: str, quantity: str) -> list[str]:
    """Return the sensors of a quantity that the references of a subject concern."""
    sensors = trial.sensors_of(quantity)
    for area, _ in joined.areas:
        if area["subject"] == subject:
            listed = area["sensors"]
            names = listed if isinstance(listed, list) else []
            return sensors if names == ["*"] else [each for each in sensors if each in names]
    return [each for each in sensors if each == subject]


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


# -- what is missing ------------------------------------------------------------------------------


def _missing(heard: Sequence[Heard], trial: TrialRun, joined: Joining) -> Iterator[str]:
    if not heard:
        yield "nothing was heard: listen longer, or see whether this user may read the topics"
        return
    if not trial.readings:
        yield (
            "no reading was found: give a source by hand (docs/formats.md), and try a message with "
            "`monitor explain`"
        )
    yield from _of_references(trial, joined)
    yield from _of_pairs(trial)
    yield from _of_refusals(trial)
    yield from _of_topics(heard, trial)


def _of_references(trial: TrialRun, joined: Joining) -> Iterator[str]:
    if trial.readings and not trial.references:
        yield (
            "no topic looks like a reference: publish better-known values, by hand with "
            "`monitor reference SENSOR QUANTITY VALUE`, or write its source with kind: reference"
        )
        return
    of_references = {of for _, of in trial.references}
    for quantity in sorted({of for _, of in trial.readings} - of_references):
        close = get_close_matches(quantity, of_references, 1)
        hint = f"; there are some of {close[0]}" if close else ""
        yield f"{quantity} has no reference{hint}"
    for subject, quantity in sorted(trial.references):
        if not _concerned(trial, joined, subject, quantity):
            yield (
                f"the reference {subject} measures {quantity}, and no sensor that it concerns "
                "does: name the sensors in areas, or the quantity in the source's map"
            )


def _of_pairs(trial: TrialRun) -> Iterator[str]:
    for each in trial.unpaired:
        if each.cause in ("paired", "no_readings", "no_references"):
            continue
        gap = "" if isnan(each.gap_seconds) else f", by {duration(abs(each.gap_seconds))}"
        times = [
            reference.time
            for (_, of), found in trial.references.items()
            for reference in found
            if of == each.quantity
        ]
        last = f"; the newest reference is of {instant(max(times), 'seconds')}" if times else ""
        yield (
            f"no pair of {each.quantity} yet: {CAUSES[each.cause]}{gap}{last}. References that "
            "come while sensors send will pair; `monitor doctor` says this about the running daemon"
        )


def _of_refusals(trial: TrialRun) -> Iterator[str]:
    refused = [each for each in trial.refused.items() if each[0].reason not in NO_FAULT]
    for refusal, count in refused[:_LISTED]:
        yield f"{_count(count, 'message')} on {refusal.topic} refused: {refusal.detail}"


def _unread(heard: Sequence[Heard], trial: TrialRun) -> list[Heard]:
    """Return the messages on topics that no source reads and that no other topic repeats."""
    senders = {each.split("/")[0] for each in trial.read if each.endswith("/events/rpc")}
    told = {f"{each.split('/devices/')[0]}/events" for each in trial.read if "/devices/" in each}
    return [
        each
        for each in heard
        if each.topic not in trial.read | told
        and each.topic.split("/")[0] not in senders
        and not is_announcement(each.topic)
    ]


def _of_topics(heard: Sequence[Heard], trial: TrialRun) -> Iterator[str]:
    """Report topics with numbers that no source reads."""
    unread = _unread(heard, trial)
    yield from hints(unread)
    refused = {each.topic for each in trial.refused}
    left = {
        each.topic
        for each in unread
        if each.topic not in refused
        and not any(map(is_housekeeping, each.topic.split("/")))
        and not is_of_other_format(each)
        and _has_measurement(each)
    }
    if left:
        yield (
            f"not read because no quantity was recognised there: {_listed(left)}. If one is a "
            "measurement, write a source for it (docs/formats.md)"
        )


def _listed(topics: Collection[str]) -> str:
    return ", ".join(sorted(topics)[:_LISTED]) + ", ..." * (len(topics) > _LISTED)


def _is_value(heard: Heard) -> bool:
    found = None if is_sparkplug(heard.topic) else said(heard)
    return found is not None and are_values(found)


def _has_measurement(heard: Heard) -> bool:
    """Return whether a payload has a number that is not about the device itself."""
    if is_sparkplug(heard.topic):
        return False
    found = said(heard)
    if found is None or not found.leaves:
        return _has_lines_or_records(heard.payload)
    return any(
        isinstance(number, int | float)
        and not isinstance(number, bool)
        and not any(map(is_housekeeping, map(str, steps(path))))
        for path, number in found.leaves.items()
    )


def _has_lines_or_records(payload: bytes) -> bool:
    """Return whether a payload has quantities in records, or numbers in a line of text."""
    try:
        return _has_quantity(parse(payload))
    except Rejected:
        return _IN_LINE.search(payload.decode("utf-8", "replace")) is not None


def _has_quantity(content: object) -> bool:
    if isinstance(content, list):
        return any(map(_has_quantity, content))
    return isinstance(content, dict) and any(
        _has_quantity(each) or (quantity_of(name) is not None and number_of(each) is not None)
        for name, each in content.items()
    )
