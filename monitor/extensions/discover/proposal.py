"""The proposal: sources, how they join, the expected pairs and what is missing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, NamedTuple, cast

from monitor.core.formatting import duration, instant
from monitor.core.pairing.unpaired import CAUSES
from monitor.core.registry import SeriesKey
from monitor.decode.checks import NO_FAULT, Rejected
from monitor.decode.formats.mapped_json import parse
from monitor.decode.paths import steps
from monitor.extensions.discover.births import (
    Fact,
    announced,
    datastreams,
    is_announcement,
    statestream,
)
from monitor.extensions.discover.display_lines import display_sources
from monitor.extensions.discover.draft import Draft, checked
from monitor.extensions.discover.families import TopicFamily, are_values, topic_families
from monitor.extensions.discover.heard import Heard, Said, first_of, is_own, number_of, said
from monitor.extensions.discover.joining import joining, linked
from monitor.extensions.discover.other_formats import hints, is_of_other_format
from monitor.extensions.discover.senml_packs import senml_sources
from monitor.extensions.discover.settings_text import Broker, Joining
from monitor.extensions.discover.source_guesses import Source, guessed_sources
from monitor.extensions.discover.sparkplug_metrics import is_sparkplug, sparkplug_sources
from monitor.extensions.discover.trial import Content, RefusedTopic, TrialRun, content_of, trial_run
from monitor.extensions.discover.vocabulary import is_housekeeping, quantity_of
from monitor.mqtt.topic_templates import Template

# A number alone with its unit, or after a name as in line protocol.
_IN_LINE: Final = re.compile(r"(?:\A|=)\s*[+-]?\s*\d+(?:[.,]\d+)?(?:[\s,i]|\Z)")


class Proposal(NamedTuple):
    """Settings as text, their results on the messages, and what is missing, as sentences."""

    text: str
    findings: list[str]
    missing: list[str]
    trial: TrialRun


def propose(heard: Sequence[Heard], now: float, broker: Broker) -> Proposal:
    """Return settings for the messages; ``now`` is s since 1970 UTC."""
    everything = [(each, said(each)) for each in sorted(heard, key=lambda x: (x.topic, x.time))]
    own = [each for each, whole in everything if is_own(whole)]
    others = [(each, whole) for each, whole in everything if not is_own(whole)]
    heard = [each for each, _ in others]
    sources = _sources(heard, list(filter(None, (whole for _, whole in others))), now)
    draft, settings = checked(Draft(broker, sources))
    content = content_of(settings, heard)
    joined = linked(draft.sources, {sensor for sensor, _ in content.readings})
    if joined != draft.sources:
        draft, settings = checked(draft._replace(sources=joined))
        content = content_of(settings, heard)
    draft, settings = checked(draft._replace(joining=joining(content)))
    trial = trial_run(settings, content)
    missing = [*_missing(heard, draft, trial), *draft.refused]
    findings = [*_findings(heard, draft, trial, missing), *_of_own(own)]
    head = ["Proposed by `monitor discover`; comments say what each guess rests on.", ""]
    head += [f"* {each}" for each in (*findings, *(f"MISSING: {each}" for each in missing))]
    return Proposal(draft.text(head), findings, missing, trial)


# -- sources --------------------------------------------------------------------------------------


def _sources(heard: Sequence[Heard], messages: Sequence[Said], now: float) -> list[Source]:
    facts: dict[tuple[str, str], Fact] = announced(messages)
    streams, used = statestream([each for each in heard if _can_be_template(each.topic)])
    used |= {each.topic for each in heard if is_announcement(each.topic)}
    messages = [
        each
        for each in messages
        if each.heard.topic not in used
        and not is_sparkplug(each.heard.topic)
        and not each.heard.topic.startswith("$")
        and _can_be_template(each.heard.topic)
    ]
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
    sparkplug = sparkplug_sources(each for each in heard if is_sparkplug(each.topic))
    texts = [
        each
        for each in heard
        if _can_be_template(each.topic)
        and not is_sparkplug(each.topic)
        and each.topic[0] != "$"
        and each.topic not in used
    ]
    packs, lines = senml_sources(texts, topics), display_sources(texts, topics)
    return _in_order([*sources, *packs, *lines, *sparkplug])


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

    The first that fits reads a message; of two with the same filter the first is kept. Of two with
    as many fields the one that begins with plain words is narrower, such as ref/{subject}/state.
    """
    by_topic: dict[str, Source] = {}
    for each in sources:
        by_topic.setdefault(Template.parse(each.topic).filter, each)
    fields = ([level[:1] == "{" for level in each.topic.split("/")] for each in by_topic.values())
    keyed = zip(fields, by_topic.values(), strict=True)
    return [each for _, each in sorted(keyed, key=lambda pair: (sum(pair[0]), pair[0]))]


# -- what would pair ------------------------------------------------------------------------------


def _findings(
    heard: Sequence[Heard], draft: Draft, trial: TrialRun, missing: Sequence[str]
) -> Iterator[str]:
    content, topics = trial.content, {each.topic for each in heard}
    sensors = {sensor for sensor, _ in content.readings}
    yield (
        f"{_count(len(heard), 'message')} heard on {_count(len(topics), 'topic')}; "
        f"{_count(len(draft.sources), 'source')} read {len(content.read)} of them: "
        f"{_count(len(sensors), 'sensor')}, "
        f"{_count(len({about for about, _ in content.references}), 'subject')} of references"
    )
    yield from _of_pairing(draft, trial)
    whys = [why for source in draft.sources for why in source.why]
    questions = sum("QUESTION" in each for each in (*whys, *missing))
    if questions:
        yield f"{_count(questions, 'question')} in the file, marked QUESTION"
    if content.undated:
        yield (
            f"{_count(content.undated, 'value')} retained by the broker, of an unknown time: they "
            "pair with nothing"
        )
    own = {
        each.topic
        for each in _unread(heard, content)
        if any(map(is_housekeeping, each.topic.split("/"))) and _is_value(each)
    }
    if own:
        yield f"left out, because they tell of the device itself: {first_of(own)}"


def _of_pairing(draft: Draft, trial: TrialRun) -> Iterator[str]:
    """Yield how many sensors paired, a sentence a quantity."""
    subjects: dict[str, list[str]] = defaultdict(list)
    sensors: dict[str, set[str]] = defaultdict(set)
    for (subject, quantity), concerned in _concerned(draft.joining, trial.content).items():
        if concerned:
            subjects[quantity].append(subject)
            sensors[quantity].update(concerned)
    for quantity, concerned_at_all in sorted(sensors.items()):
        count, (subject, *more) = len(concerned_at_all), subjects[quantity]
        left = {
            sensor
            for sensor in concerned_at_all
            if not trial.pairs.get(SeriesKey(sensor, quantity))
        }
        partner = f"{1 + len(more)} references" if more else f"the reference {subject}"
        yield (
            f"{quantity}: {count - len(left)} of {_count(count, 'sensor')} paired with {partner} "
            "while listening" + f"; not yet: {first_of(left)}" * (0 < len(left) < count)
        )


def _of_own(own: Collection[Heard]) -> Iterator[str]:
    if own:
        yield (
            f"left out, because `monitor` itself publishes them: {_count(len(own), 'message')} on "
            f"{first_of({each.topic for each in own})}"
        )


def _concerned(joining: Joining, content: Content) -> dict[tuple[str, str], list[str]]:
    """Return the sensors of its quantity that the references of each subject concern."""
    sensors: dict[str, list[str]] = defaultdict(list)
    for sensor, quantity in content.readings:
        sensors[quantity].append(sensor)
    areas = {area["subject"]: area["sensors"] for area, _ in joining.areas}
    paired: dict[tuple[str, str], list[str]] = {}
    for subject, quantity in sorted(content.references):
        named = cast("list[str]", areas.get(subject, [subject]))
        names = sensors[quantity] if named == ["*"] else named
        paired[subject, quantity] = [
            sensor for sensor in names if SeriesKey(sensor, quantity) in content.readings
        ]
    return paired


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


# -- what is missing ------------------------------------------------------------------------------


def _missing(heard: Sequence[Heard], draft: Draft, trial: TrialRun) -> Iterator[str]:
    if not heard:
        yield "nothing was heard: listen longer, or see whether this user may read the topics"
        return
    content = trial.content
    if not content.readings:
        yield (
            "no reading was found: give a source by hand (docs/formats.md), and try a message with "
            "`monitor explain`"
        )
    yield from _of_references(content, draft)
    yield from _of_pairs(trial)
    yield from _of_refusals(content)
    yield from _of_topics(heard, content)


def _of_references(content: Content, draft: Draft) -> Iterator[str]:
    named = [each.topic for each in draft.sources if each.kind == "reference"]
    if content.readings and named and not content.references:
        yield f"no reference was read of those on {first_of(named)}"
        return
    if content.readings and not content.references:
        yield (
            "no topic looks like a reference: publish better-known values, by hand with "
            "`monitor reference SENSOR QUANTITY VALUE`, from tables (monitor docs references), or "
            "write its source with kind: reference"
        )
        return
    of_references = {of for _, of in content.references}
    for quantity in sorted({of for _, of in content.readings} - of_references):
        close = get_close_matches(quantity, of_references, 1)
        hint = f"; there are some of {close[0]}" if close else ""
        yield f"{quantity} has no reference{hint}"
    alone: dict[str, list[str]] = defaultdict(list)
    for (subject, quantity), concerned in _concerned(draft.joining, content).items():
        if not concerned:
            alone[quantity].append(subject)
    for quantity, subjects in alone.items():
        yield (
            f"no sensor of {quantity} is concerned by references of {first_of(subjects)}: name the "
            "sensors in areas, or the quantity in the source's map"
        )


def _of_pairs(trial: TrialRun) -> Iterator[str]:
    times: dict[str, list[float]] = defaultdict(list)
    for (_, quantity), references in trial.content.references.items():
        times[quantity] += [reference.time for reference in references]
    for each in trial.unpaired:
        if each.cause in ("paired", "no_readings", "no_references"):
            continue
        gap = f", by {duration(abs(each.gap_seconds))}" if each.cause == "tolerance" else ""
        last = ""
        if each.quantity in times:
            last = f"; the newest reference is of {instant(max(times[each.quantity]), 'seconds')}"
        yield (
            f"no pair of {each.quantity} yet: {CAUSES[each.cause]}{gap}{last}. References that "
            "come while sensors send will pair; `monitor doctor` says this about the running daemon"
        )


def _of_refusals(content: Content) -> Iterator[str]:
    """Yield why messages were refused, a sentence a reason with the first of them."""
    refused: dict[str, list[tuple[RefusedTopic, int]]] = defaultdict(list)
    for refusal, count in content.refused.items():
        if refusal.reason not in NO_FAULT:
            refused[refusal.reason].append((refusal, count))
    for refusals in refused.values():
        topics = {refusal.topic for refusal, _ in refusals}
        messages = _count(sum(count for _, count in refusals), "message")
        yield f"{messages} on {first_of(topics)} refused: {refusals[0][0].detail}"


def _unread(heard: Sequence[Heard], content: Content) -> list[Heard]:
    """Return the messages on topics that no source reads and that no other topic repeats."""
    read = content.read
    senders = {each.split("/")[0] for each in read if each.endswith("/events/rpc")}
    read = read | {f"{each.split('/devices/')[0]}/events" for each in read if "/devices/" in each}
    return [
        each
        for each in heard
        if each.topic not in read
        and each.topic.split("/")[0] not in senders
        and not is_announcement(each.topic)
    ]


def _of_topics(heard: Sequence[Heard], content: Content) -> Iterator[str]:
    """Report topics with numbers that no source reads."""
    unread = _unread(heard, content)
    yield from hints(unread)
    refused = {each.topic for each in content.refused}
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
            f"not read because no quantity was recognised there: {first_of(left)}. QUESTION: is "
            "one a measurement? Then write a source for it (docs/formats.md)"
        )


def _is_value(heard: Heard) -> bool:
    message = None if is_sparkplug(heard.topic) else said(heard)
    return message is not None and are_values(message)


def _has_measurement(heard: Heard) -> bool:
    """Return whether a payload has a number that is not about the device itself."""
    if is_sparkplug(heard.topic):
        return False
    message = said(heard)
    if message is None or not message.leaves:
        return _has_lines_or_records(heard.payload)
    return any(
        isinstance(number, int | float)
        and not isinstance(number, bool)
        and not any(map(is_housekeeping, map(str, steps(path))))
        for path, number in message.leaves.items()
    )


def _has_lines_or_records(payload: bytes) -> bool:
    """Return whether a payload has quantities in records, numbers in a line, or is no text."""
    try:
        return _has_quantity(parse(payload))
    except Rejected:
        text = payload.decode("utf-8", "replace")
        is_broken = "\ufffd" in text or text.lstrip().startswith(("{", "["))
        return is_broken or _IN_LINE.search(text) is not None


def _has_quantity(content: object) -> bool:
    if isinstance(content, list):
        return any(map(_has_quantity, content))
    return isinstance(content, dict) and any(
        _has_quantity(each) or (quantity_of(name) is not None and number_of(each) is not None)
        for name, each in content.items()
    )
