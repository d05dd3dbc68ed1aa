"""SenML (RFC 8428): the values of a pack stand beside each other, as the fields of an object do.

Rules of this file: one record of a pack is selected, and each value is read beside it. Where the
packs of a topic have several base names, the part in which these differ names the sensor. A pack
with several base names is left to a person.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from monitor.decode.checks import Rejected
from monitor.decode.formats.senml import parse
from monitor.decode.paths import below
from monitor.decode.route import Call, Route
from monitor.extensions.discover.births import Fact
from monitor.extensions.discover.families import TopicFamily, topic_families
from monitor.extensions.discover.heard import Heard, Said, name_at
from monitor.extensions.discover.other_formats import is_senml
from monitor.extensions.discover.payload_fields import Fields, by_path, guessed_series
from monitor.extensions.discover.source_guesses import (
    Source,
    by_announced_unit,
    by_quantity,
    free_level,
    left_over,
    narrowed,
)
from monitor.extensions.discover.vocabulary import reference_words
from monitor.mqtt.topic_templates import Template

_ROOT: Final = "beside"
_ROUTE: Final = Route("reading", "senml")
_Facts = dict[tuple[str, str], Fact]


def senml_sources(heard: Iterable[Heard], topics: Collection[str]) -> Iterator[Source]:
    """Yield the sources that read packs, and leave the other ``topics`` alone."""
    facts: _Facts = {}
    packs: dict[str, list[Said]] = defaultdict(list)
    bases: dict[str, set[str]] = defaultdict(set)
    for each in heard:
        records = _records(each)
        of_pack = {str(record["base"]) for record in records}
        if len(of_pack) == 1:
            packs[each.topic].append(_said(each, records, facts))
            bases[each.topic] |= of_pack
    shared = {topic: _names_in(of_topic) for topic, of_topic in bases.items()}
    for topic in [topic for topic, name in shared.items() if name]:
        yield from _sources(_bridged(topic, packs.pop(topic)), facts, shared[topic])
    messages = [
        pack for topic, of_topic in packs.items() if len(bases[topic]) == 1 for pack in of_topic
    ]
    for family in topic_families(messages):
        for of_quantity in by_quantity(family._replace(project="SenML", root=_ROOT)):
            for narrow in narrowed(of_quantity, topics):
                for part in by_announced_unit(narrow, facts):
                    yield from _sources(part, facts)


def _names_in(bases: Collection[str]) -> str:
    """Return a template of several base names, whose part that differs is the sensor, else ""."""
    parts = [re.split(r"([:/.])", each) for each in sorted(bases)]
    if len(parts) < 2 or len({*map(len, parts)}) > 1:
        return ""
    columns = [sorted({*column}) for column in zip(*parts, strict=True)]
    if sum(len(column) > 1 for column in columns) > 1:
        return ""
    return "".join(column[0] if len(column) == 1 else "{sensor}" for column in columns)


def _bridged(topic: str, packs: Sequence[Said]) -> TopicFamily:
    is_reference = any(map(reference_words, topic.split("/")))
    return TopicFamily("SenML", topic, is_reference, tuple(packs), _ROOT)


def _records(heard: Heard) -> list[dict[str, object]]:
    if not is_senml(heard.payload):
        return []
    try:
        records = list(parse(Call(heard.payload, {}, _ROUTE, heard.time)))
    except Rejected:
        return []
    return [each for each in records if isinstance(each, dict) and each.get("local")]


def _said(heard: Heard, records: list[dict[str, object]], facts: _Facts) -> Said:
    """Return a pack as an object of its values; notes their units as ``facts``."""
    leaves = {}
    for record in records:
        path = below(_ROOT, str(record["local"]))
        leaves[path] = record.get("value")
        if unit := str(record.get("unit", "")):
            facts[heard.topic, path] = Fact("", unit, is_diagnostic=False)
    return Said(heard, records, leaves)


def _sources(family: TopicFamily, facts: _Facts, base: str = "") -> Iterator[Source]:
    """Yield the source of a family; ``base`` is the template of base names that name sensors."""
    fields = Fields(family, by_path(family), facts, set())
    series = guessed_series(fields)
    if not series:
        return
    who = "subject" if family.is_reference else "sensor"
    counts = Counter(path for each in family.said for path in each.leaves)
    anchor = max(series, key=lambda each: counts[str(each.keys["value"])])
    alike = [each for each in series if each.quantity == anchor.quantity]
    local = [name_at(str(each.keys["value"])) for each in alike]
    mapping: dict[str, object] = {"select": {"local": local}, "optional": True}
    why = [f"packs without {' or '.join(local)} are skipped; its record has all values beside it"]
    if base:
        mapping["names"] = {"base": base.replace("{sensor}", f"{{{who}}}")}
        why.append(f"base names name the {who}")
    elif family.sensor:
        mapping[who] = family.sensor
    elif who not in Template.parse(family.template).names:
        mapping[who] = free_level(family)
        why.append(f"nothing names the {who}; it is called {mapping[who]}")
    kind = "reference" if family.is_reference else "reading"
    why += left_over(fields, series)
    yield Source(family, kind, "senml", mapping, series, why, fields)
