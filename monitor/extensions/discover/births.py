"""Announcements of devices: Home Assistant's discovery, its statestream, SensorThings.

Rules of this file: announcements are facts about a topic and a path in its payload; they are never
readings themselves. https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery has the
abbreviations of keys.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.decode.paths import path_of, steps
from monitor.extensions.discover.families import TopicFamily
from monitor.extensions.discover.heard import Heard, Said, said
from monitor.extensions.discover.vocabulary import quantity_by_unit, quantity_in, quantity_of

_CONFIG: Final = re.compile(r"[^/]+/(?:sensor|device|number)/(?:[^/]+/)?[^/]+/config")
_PATH: Final = re.compile(r"value_json((?:\.\w+|\[['\"][^'\"]+['\"]\])+)")
_LONG: Final = {
    "stat_t": "state_topic",
    "val_tpl": "value_template",
    "unit_of_meas": "unit_of_measurement",
    "dev_cla": "device_class",
    "cmps": "components",
    "ent_cat": "entity_category",
}
_STATE: Final = re.compile(r"(?P<base>.+/)?(?:sensor|number)/(?P<name>[^/]+)/(?P<what>[a-z_]+)")
_ATTRIBUTES: Final = ("unit_of_measurement", "device_class", "last_updated", "friendly_name")


class Fact(NamedTuple):
    """An announced fact about a path of a topic, "$" being the whole payload."""

    quantity: str
    unit: str
    is_diagnostic: bool


Facts = Mapping[tuple[str, str], Fact]


def is_announcement(topic: str) -> bool:
    """Return whether Home Assistant's discovery uses a topic."""
    return _CONFIG.fullmatch(topic) is not None


def announced(messages: Iterable[Said]) -> dict[tuple[str, str], Fact]:
    """Return the facts in the announcements of Home Assistant's discovery."""
    facts: dict[tuple[str, str], Fact] = {}
    for each in messages:
        if not is_announcement(each.heard.topic) or not isinstance(each.content, dict):
            continue
        config = _spelled_out(each.content)
        components = config.get("components")
        parts = components.values() if isinstance(components, dict) else [config]
        for part in parts:
            if isinstance(part, dict):
                facts.update(_facts({**config, **_spelled_out(part)}))
    return facts


def _spelled_out(config: Mapping[str, object]) -> dict[str, object]:
    return {_LONG.get(key, key): value for key, value in config.items()}


def _facts(config: Mapping[str, object]) -> Iterator[tuple[tuple[str, str], Fact]]:
    topic, base = str(config.get("state_topic", "")), str(config.get("~", ""))
    topic = topic.replace("~", base) if base else topic
    if not topic:
        return
    match = _PATH.search(str(config.get("value_template", "")))
    path = path_of(steps(match[1].removeprefix("."))) if match else "$"
    known = quantity_of(str(config.get("device_class", "")))
    yield (
        (topic, path),
        Fact(
            "" if known is None else known.name,
            str(config.get("unit_of_measurement", "")),
            config.get("entity_category") == "diagnostic",
        ),
    )


# -- statestream ----------------------------------------------------------------------------------


def statestream(heard: Sequence[Heard]) -> tuple[list[TopicFamily], set[str]]:
    """Return a family for each entity that Home Assistant's statestream publishes, and its topics.

    Each entity has its own topics, so that its sensor and its quantity are given.
    """
    attributes: dict[tuple[str, str], dict[str, list[Heard]]] = defaultdict(dict)
    for each in heard:
        match = _STATE.fullmatch(each.topic)
        if match:
            entity = (match["base"] or "", match["name"])
            attributes[entity].setdefault(match["what"], []).append(each)
    families, used = [], set()
    for (_, name), parts in attributes.items():
        if "state" not in parts or not any(each in parts for each in _ATTRIBUTES):
            continue
        used |= {each.topic for messages in parts.values() for each in messages}
        family = _entity(name, parts)
        if family is not None:
            families.append(family)
    return families, used


def _entity(name: str, parts: Mapping[str, list[Heard]]) -> TopicFamily | None:
    unit = _text(parts.get("unit_of_measurement", ()))
    known = quantity_of(_text(parts.get("device_class", ())))
    named = quantity_in(name)
    known = known or (named[0] if named else None) or quantity_by_unit(unit)
    numbers = tuple(filter(None, map(said, parts["state"])))
    if known is None or not numbers or set(numbers[0].leaves) != {"$"}:
        return None
    sensor = named[1] if named and named[0] == known and named[1] else name
    template = parts["state"][0].topic
    return TopicFamily(
        "Home Assistant, statestream",
        template,
        is_reference=bool(_speaks_of_reference(name)),
        said=numbers,
        quantity=known.name,
        unit=unit,
        sensor=sensor,
    )


def _speaks_of_reference(name: str) -> bool:
    return bool({"reference", "ref", "truth"} & set(name.lower().split("_")))


def _text(heard: Sequence[Heard]) -> str:
    """Return a text that was sent as JSON."""
    try:
        text = json.loads(heard[-1].payload) if heard else ""
    except ValueError:
        return heard[-1].payload.decode("utf-8", "replace")
    return text if isinstance(text, str) else ""


# -- SensorThings ---------------------------------------------------------------------------------


def datastreams(messages: Iterable[Said]) -> dict[str, Fact]:
    """Return what SensorThings' Datastreams, if received, state about the level with their name."""
    facts = {}
    for each in messages:
        leaves = each.leaves
        unit = str(leaves.get("unitOfMeasurement.symbol", ""))
        if "unitOfMeasurement.symbol" not in leaves:
            continue
        name = str(leaves.get("name", ""))
        words = [name, *name.split(), str(leaves.get("ObservedProperty.name", ""))]
        known = next(filter(None, map(quantity_of, words)), None) or quantity_by_unit(unit)
        fact = Fact("" if known is None else known.name, unit, is_diagnostic=False)
        facts[each.heard.topic.rpartition("/")[2]] = fact
    return facts
