"""From families to entries of ``sources``: the topic, the mapping, and the reason for each part.

Rules of this file: a placeholder of a topic stands where any word is welcome. A quantity has a
source of its own, because its unit and its assumed u are its own; a level that other devices use
for something else lists its words.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.extensions.discover.births import Facts
from monitor.extensions.discover.families import TopicFamily, of_topic
from monitor.extensions.discover.heard import Said, first_of, name_at, number_of
from monitor.extensions.discover.payload_fields import (
    Fields,
    Series,
    by_path,
    claim_of,
    common_companions,
    guessed_series,
    is_of_device,
    plain_texts,
    quantity_path,
    unused_numbers,
)
from monitor.extensions.discover.times import timing
from monitor.extensions.discover.vocabulary import (
    DEVICE_FIELDS,
    IDENTITIES,
    SENSORS,
    is_housekeeping,
    is_one_of,
    normal,
    quantity_in,
    reference_words,
    unit_named_in,
)
from monitor.mqtt.topic_templates import Template

_LISTED: Final = 8
_WORDS_MAX: Final = 20  # beyond that, what a wide template refuses is told instead
_NATIVE: Final = frozenset(
    """
    time value unit u U k p lower upper key seq sensor quantity id rev status start end
    reference_id
    """.split()  # noqa: SIM905 - a page of words
)
_STATED: Final = frozenset(("u", "U", "lower"))
_STATUSES: Final = frozenset(("prelim", "final", "void"))


class Source(NamedTuple):
    """An entry of ``sources``; ``mapping`` holds the keys before its series."""

    family: TopicFamily
    kind: str
    decoder: str
    mapping: dict[str, object]
    series: list[Series]
    why: list[str]
    fields: Fields

    @property
    def topic(self) -> str:
        """The topic template."""
        return self.family.template


def guessed_sources(
    family: TopicFamily, topics: Collection[str], facts: Facts, now: float
) -> Iterator[Source]:
    """Yield the sources that read a family, none if no quantity is found in it.

    They leave the other ``topics`` alone, as far as templates can.
    """
    is_native = _is_native(_fields(family, facts))
    for of_quantity in [family] if is_native else by_quantity(family):
        for narrow in narrowed(of_quantity, topics):
            for part in by_announced_unit(narrow, facts):
                source = _source_of(part, facts, now)
                if source is not None:
                    yield source


def _fields(family: TopicFamily, facts: Facts) -> Fields:
    return Fields(family, by_path(family), facts, set())


def _source_of(family: TopicFamily, facts: Facts, now: float) -> Source | None:
    fields = _fields(family, facts)
    kind = "reference" if family.is_reference else "reading"
    if _is_native(fields):
        return Source(family, kind, "native", {}, [], _reasons(family), fields)
    names, why = _names(fields)
    timed = timing(fields, now)
    beside = _of_reference(fields) if family.is_reference else {}
    fields.used.update(str(path) for path in beside.values())
    series = guessed_series(fields)
    if not series:
        return None
    mapping: dict[str, object] = {**names, **timed.keys, **beside}
    start = str(mapping.get("start", ""))
    if family.is_reference and start and _are_names(fields.paths[start]):
        mapping.setdefault("identity", start)
    if _has_text_numbers(fields, series):
        mapping["number_texts"] = True
        why.append("numbers stand in texts")
    if _is_sparse(fields, series):
        mapping["optional"] = True
        why.append("messages without any of these quantities are skipped")
    if defaults := _defaults(fields, series):
        mapping["defaults"] = defaults
    reasons = [*_reasons(family), *why, *timed.why, *left_over(fields, series)]
    return Source(family, kind, "json", mapping, series, reasons, fields)


def left_over(fields: Fields, series: Sequence[Series]) -> Iterator[str]:
    """Yield the numbers that the source does not read, those that may be of use as questions."""
    left = unused_numbers(fields)
    claims = {path: key for path in left if (key := claim_of(path))}
    common = common_companions(fields, str(series[0].keys["value"])) if series else {}
    whole = {each: key for key, each in common.items() if key in ("U", "k")}
    quantities = " or of ".join(each.quantity.strip("{}") for each in series[:_LISTED])
    for path, claimed in claims.items():
        key = whole.get(path, claimed)
        both = whole if path in whole else {path: key}
        written = ", ".join(f"{each}: {beside}" for beside, each in both.items())
        yield (
            f"QUESTION: is {path} the {key} of {quantities}? Then write {written} into its "
            "line in place of assumed"
        )
    own = [path for path in left if is_of_device(fields, path)]
    if others := [path for path in left if path not in {*own, *claims, *whole}]:
        yield (
            f"QUESTION: is a measurement among {first_of(others, _LISTED)}? Then give it a line of "
            "its own in series"
        )
    if own:
        yield f"numbers left out: {first_of(own, _LISTED)}"


def _defaults(fields: Fields, series: Sequence[Series]) -> dict[str, object]:
    """Return the probabilities and factors that only some messages state, if all agree."""
    defaults: dict[str, object] = {}
    for each in series:
        for path in (str(each.keys[key]) for key in ("p", "k") if key in each.keys):
            stated = {number_of(value) for value in fields.paths[path]}
            if len(fields.paths[path]) < len(fields.family.said) and len(stated) == 1:
                defaults[path] = stated.pop()
    return defaults


def _reasons(family: TopicFamily) -> list[str]:
    if not family.is_reference:
        return []
    words = sorted(
        {word for level in family.template.split("/") for word in reference_words(level)}
    )
    if words:
        return [f"taken as references because the topic says {', '.join(words)}"]
    if family.project == "Home Assistant, statestream":
        return ["taken as references because the entity's name says so"]
    return ["taken as references because payloads state what results do: status, sample, interval"]


def _is_native(fields: Fields) -> bool:
    paths, names = set(fields.paths), Template.parse(fields.family.template).names
    if not paths <= _NATIVE or not {"time", "value"} <= paths or "quantity" not in names:
        return False
    if not {"sensor", "subject"} & set(names):
        return False
    if not all(isinstance(each, str) for each in fields.paths["time"]):
        return False
    if not all(isinstance(each.content, dict) for each in fields.family.said):
        return False
    return fields.family.is_reference or bool(paths & _STATED)


def _names(fields: Fields) -> tuple[dict[str, object], list[str]]:
    """Return how sensor or subject and quantity of a record are named, and why."""
    family = fields.family
    who = "subject" if family.is_reference else "sensor"
    levels = Template.parse(family.template).names
    mapped: dict[str, object] = {}
    split: dict[str, str] = {}
    why: list[str] = []
    if family.sensor:
        mapped[who] = family.sensor
        split |= {path: f"{{{path}}}" for path in family.fields}
        fields.used.update(family.fields)
    elif who not in levels:
        path = _name_path(fields)
        if path is not None:
            split[path] = f"{{{who}}}"
            fields.used.add(path)
            why.append(f"{path} names the {who}")
        else:
            mapped[who] = free_level(family)
            why.append(f"nothing names the {who}; it is called {mapped[who]}")
    named = quantity_path(fields)
    if named is not None and "quantity" not in levels and not family.quantity:
        split[named] = "{quantity}"
        fields.used.add(named)
        why.append(f"{named} names the quantity")
    if split:
        mapped["names"] = split
    return mapped, why


def _name_path(fields: Fields) -> str | None:
    candidates = [
        (SENSORS.index(normal(name_at(path))), path)
        for path, values in fields.paths.items()
        if is_one_of(name_at(path), SENSORS) and all(_is_name(each, path) for each in values)
    ]
    return min(candidates)[1] if candidates else None


def _is_name(value: object, path: str) -> bool:
    """Return whether a text, or the number of a device, may name a sensor."""
    if isinstance(value, int) and not isinstance(value, bool):
        return is_one_of(name_at(path), DEVICE_FIELDS)
    return isinstance(value, str) and bool(value)


def free_level(family: TopicFamily) -> str:
    """Return the last fixed level, if possible one that does not name the quantity."""
    levels = [each for each in family.template.split("/") if "{" not in each]
    free = [each for each in levels if not family.quantity or quantity_in(each) is None]
    return (free or levels or ["device"])[-1][:128]


def _of_reference(fields: Fields) -> dict[str, object]:
    """Return the paths of what else references state: identity, status, revision."""
    mapped: dict[str, object] = {}
    for path, values in fields.paths.items():
        name = normal(name_at(path))
        if name == "status" and {str(each).lower() for each in values} <= _STATUSES:
            mapped["status"] = path
        elif name in ("rev", "revision") and all(isinstance(each, int) for each in values):
            mapped["revision"] = path
        elif name in IDENTITIES and _are_names(values):
            mapped.setdefault("identity", path)
    return mapped


def _are_names(values: Sequence[object]) -> bool:
    """Return whether all values may be identities: texts or whole numbers."""
    return all(plain_texts([each]) for each in values)


def _has_text_numbers(fields: Fields, series: Sequence[Series]) -> bool:
    paths = [str(path) for each in series for path in each.keys.values()]
    return any(
        isinstance(value, str) and number_of(value) is not None
        for path in paths
        for value in fields.paths.get(path, ())
    )


def _is_sparse(fields: Fields, series: Sequence[Series]) -> bool:
    """Return whether a message may lack all of the quantities."""
    if fields.family.project and not fields.family.is_scalar:
        return True
    paths = [str(each.keys["value"]) for each in series]
    return any(not all(path in each.leaves for path in paths) for each in fields.family.said)


def unused_texts(source: Source) -> Mapping[str, set[str]]:
    """Return the texts at paths that the source does not read."""
    return {
        path: texts
        for path, values in source.fields.paths.items()
        if path not in source.fields.used and path != "$" and (texts := plain_texts(values))
    }


# -- levels of a topic that must be fixed words ---------------------------------------------------


def by_quantity(family: TopicFamily) -> Iterator[TopicFamily]:
    """Yield a family for each quantity that a level names, with that word fixed."""
    levels = family.template.split("/")
    if "{quantity}" not in levels:
        yield family
        return
    at = levels.index("{quantity}")
    by_level = _by_level(family, at)
    known = {level: _known_level(level) for level in by_level}
    for level, messages in by_level.items():
        name, rest = known[level]
        if not name:
            continue
        others = [each for each in by_level if known[each][0] == name and each != level]
        sender = "{subject}" if "{subject}" in levels else "{sensor}"
        mine = {_without(each.heard.topic, at) for each in messages}
        doubled = any(
            _without(each.heard.topic, at) in mine for other in others for each in by_level[other]
        )
        yield family._replace(
            template="/".join((*levels[:at], level, *levels[at + 1 :])),
            said=tuple(messages),
            quantity=name,
            unit=family.unit or unit_named_in(level),
            sensor=f"{family.sensor or sender}.{rest}" if doubled and rest else family.sensor,
        )


def by_announced_unit(family: TopicFamily, facts: Facts) -> Iterator[TopicFamily]:
    """Yield the family, and one for each topic whose announced units are not the usual ones."""
    by_topic: dict[str, list[Said]] = defaultdict(list)
    for each in family.said:
        by_topic[each.heard.topic].append(each)
    units: dict[str, dict[str, str]] = {
        topic: {path: fact.unit for path in said[0].leaves if (fact := facts.get((topic, path)))}
        for topic, said in by_topic.items()
    }
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for announced in units.values():
        for path, unit in announced.items():
            counts[path][unit] += 1
    usual = {path: max(sorted(of), key=of.__getitem__) for path, of in counts.items()}
    others = {
        topic
        for topic, announced in units.items()
        if any(unit != usual[path] for path, unit in announced.items())
    }
    if len(others) < len(by_topic):
        alike = tuple(each for each in family.said if each.heard.topic not in others)
        yield family._replace(said=alike)
    for topic in sorted(others):
        yield of_topic(family, topic, by_topic[topic])


def _by_level(family: TopicFamily, at: int) -> dict[str, list[Said]]:
    levels: dict[str, list[Said]] = defaultdict(list)
    for each in family.said:
        levels[each.heard.topic.split("/")[at]].append(each)
    return levels


def _known_level(level: str) -> tuple[str, str]:
    known = None if is_housekeeping(level) else quantity_in(level)
    return ("", "") if known is None else (known[0].name, known[1])


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
        for word, messages in by_level.items():
            part = family._replace(
                template="/".join((*levels[:at], word, *levels[at + 1 :])),
                said=tuple(messages),
                sensor=family.sensor.replace(level, word),
            )
            yield from narrowed(part, strangers)
        return
    yield family
