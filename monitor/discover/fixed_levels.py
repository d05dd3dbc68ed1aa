"""Levels of a family that must be fixed words: quantities, and words that keep other topics out.

Rules of this file: a placeholder stands where any word is welcome. A quantity has a source of its
own, because its unit and its assumed u are its own; a level that other devices use for something
else lists its words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from monitor.discover.families import TopicFamily
from monitor.discover.heard import Said
from monitor.discover.vocabulary import is_housekeeping, quantity_in
from monitor.mqtt.topic_templates import Template

_WORDS_MAX: Final = 20  # beyond that, what a wide template refuses is told instead


def by_quantity(family: TopicFamily) -> Iterator[TopicFamily]:
    """Yield a family for each quantity that a level names, with that word fixed."""
    levels = family.template.split("/")
    if "{quantity}" not in levels:
        yield family
        return
    at = levels.index("{quantity}")
    by_level = _by_level(family, at)
    known = {level: _known_level(level) for level in by_level}
    for level, said in by_level.items():
        name, rest = known[level]
        if not name:
            continue
        others = [each for each in by_level if known[each][0] == name and each != level]
        sender = "{subject}" if "{subject}" in levels else "{sensor}"
        mine = {_without(each.heard.topic, at) for each in said}
        doubled = any(
            _without(each.heard.topic, at) in mine for other in others for each in by_level[other]
        )
        yield family._replace(
            template="/".join((*levels[:at], level, *levels[at + 1 :])),
            said=tuple(said),
            quantity=name,
            sensor=f"{family.sensor or sender}.{rest}" if doubled and rest else family.sensor,
        )


def _by_level(family: TopicFamily, at: int) -> dict[str, list[Said]]:
    found: dict[str, list[Said]] = defaultdict(list)
    for each in family.said:
        found[each.heard.topic.split("/")[at]].append(each)
    return found


def _known_level(level: str) -> tuple[str, str]:
    found = None if is_housekeeping(level) else quantity_in(level)
    return ("", "") if found is None else (found[0].name, found[1])


def _without(topic: str, at: int) -> str:
    levels = topic.split("/")
    return "/".join((*levels[:at], *levels[at + 1 :]))


def narrowed(family: TopicFamily, topics: Iterable[str]) -> Iterator[TopicFamily]:
    """Yield families that leave other ``topics`` alone, as far as fixing levels can.

    The level that names the sensor stays open: a new sensor is read without an edit.
    """
    levels = family.template.split("/")
    if not any(level.startswith("{level") for level in levels):
        yield family
        return
    template, own = Template.parse(family.template), set(family.topics)
    strangers = [each for each in topics if each not in own and template.match(each)]
    for at, level in enumerate(levels):
        by_level = _by_level(family, at) if level.startswith("{level") else {}
        is_in_vain = all(each.split("/")[at] in by_level for each in strangers)
        if not by_level or is_in_vain or len(by_level) > _WORDS_MAX:
            continue
        for word, said in by_level.items():
            part = family._replace(
                template="/".join((*levels[:at], word, *levels[at + 1 :])),
                said=tuple(said),
                sensor=family.sensor.replace(level, word),
            )
            yield from narrowed(part, strangers)
        return
    yield family
