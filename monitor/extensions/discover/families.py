"""Topics of one shape are one family: the levels that vary become placeholders.

Rules of this file: the layouts of known projects come first, because one device alone does not show
which level names it. All other topics are joined if their payloads have the same paths and they
differ in one level, or in two below a common beginning.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from monitor.extensions.discover.heard import Said, name_at
from monitor.extensions.discover.vocabulary import (
    DEVICE_FIELDS,
    VALUES,
    is_housekeeping,
    is_one_of,
    is_plain_level,
    quantity_in,
    quantity_of,
    reference_words,
)
from monitor.mqtt.topic_templates import Template


class Layout(NamedTuple):
    """Where a project writes names into topics; ``needs`` are paths of its payloads.

    ``root`` is the path below which its values are; ``fields`` are paths whose texts make up
    ``sensor``, together with levels of the topic.
    """

    project: str
    template: str
    needs: tuple[str, ...] = ()
    root: str = ""
    sensor: str = ""
    fields: tuple[str, ...] = ()


class TopicFamily(NamedTuple):
    """Topics of one shape with the messages on them.

    ``quantity`` is given where neither topic nor payload names it in a usual way; ``sensor`` is
    composed of fields where one level alone does not name it.
    """

    project: str
    template: str
    is_reference: bool
    said: tuple[Said, ...]
    root: str = ""
    quantity: str = ""
    unit: str = ""
    sensor: str = ""
    fields: tuple[str, ...] = ()

    @property
    def topics(self) -> list[str]:
        """The topics with messages, in order."""
        return list(dict.fromkeys(each.heard.topic for each in self.said))

    @property
    def is_scalar(self) -> bool:
        """Whether payloads are plain numbers."""
        return set(self.said[0].leaves) == {"$"}


LAYOUTS: Final = (
    Layout("native payload", "monitor/{sensor}/{quantity}/reading", ("value", "time")),
    Layout("native payload", "monitor/{subject}/{quantity}/reference", ("value", "time")),
    Layout("Tasmota", "tele/{sensor}/SENSOR", ("Time",)),
    Layout("Zigbee2MQTT", "zigbee2mqtt/{sensor}", ("linkquality",)),
    Layout(
        "Zigbee2MQTT", "zigbee2mqtt/{room}/{sensor}", ("linkquality",), sensor="{room} {sensor}"
    ),
    Layout("Shelly, first generation", "shellies/{sensor}/sensor/{quantity}", ("$",)),
    Layout("Shelly, RPC notifications", "{sensor}/events/rpc", ("params.ts",), "params"),
    Layout("Shelly, status", "{sensor}/status/temperature:0", ("tC",)),
    Layout("Shelly, status", "{sensor}/status/humidity:0", ("rh",)),
    Layout(
        "Shelly, status",
        "{sensor}/status/{component}",
        ("apower",),
        sensor="{sensor}.{component}",
    ),
    Layout(
        "rtl_433",
        "rtl_433/+/devices/{model}/{channel}/{id}/{quantity}",
        ("$",),
        sensor="{model}.{channel}.{id}",
    ),
    Layout(
        "rtl_433",
        "rtl_433/+/devices/{model}/{id}/{quantity}",
        ("$",),
        sensor="{model}.{id}",
    ),
    Layout(
        "rtl_433, events",
        "rtl_433/+/events",
        ("model", "id"),
        sensor="{model}.{id}",
        fields=("model", "id"),
    ),
    Layout("ESPHome", "{sensor}/sensor/{quantity}/state", ("$",)),
    Layout(
        "The Things Stack",
        "v3/+/devices/{sensor}/up",
        ("received_at",),
        "uplink_message.decoded_payload",
    ),
    Layout(
        "ChirpStack",
        "application/+/device/{sensor}/event/up",
        ("deduplicationId",),
        "object",
    ),
    Layout("AirGradient", "airgradient/readings/{sensor}", ("serialno",)),
    Layout("SensorThings", "+/{sensor}/Observations", ("result",)),
)
# What Layout.needs of Shelly's status, one each.
_SHELLY_NUMBERS: Final = ("tC", "rh", "apower")
_TEMPLATES: Final = [(each, Template.parse(each.template)) for each in LAYOUTS]


def topic_families(messages: Iterable[Said]) -> list[TopicFamily]:
    """Return the families of messages, those of known projects first."""
    known: dict[int, list[Said]] = defaultdict(list)
    others: dict[str, list[Said]] = defaultdict(list)
    for each in messages:
        at = _layout_of(each)
        if at is None:
            others[each.heard.topic].append(each)
        else:
            known[at].append(each)
    families = [_known(LAYOUTS[at], known[at]) for at in sorted(known)]
    return [*_without_doubles(families), *_generic(others)]


def _layout_of(message: Said) -> int | None:
    for at, (layout, template) in enumerate(_TEMPLATES):
        fits = template.match(message.heard.topic) is not None
        if fits and all(path in message.leaves for path in layout.needs):
            return at
    return None


def _known(layout: Layout, messages: Sequence[Said]) -> TopicFamily:
    is_reference = layout.template.endswith("/reference")
    return TopicFamily(
        layout.project,
        layout.template,
        is_reference,
        tuple(messages),
        layout.root,
        sensor=layout.sensor,
        fields=layout.fields,
    )


def _without_doubles(known: list[TopicFamily]) -> Iterator[TopicFamily]:
    """Leave out what is also on another topic.

    Shelly's notifications state the time, its status does not; the topics of rtl_433 name the
    device, its events do not.
    """
    notified = {
        (each.heard.topic.split("/")[0], path)
        for family in known
        if family.project == "Shelly, RPC notifications"
        for each in family.said
        for path in each.leaves
    }
    hosts = {
        topic.split("/")[1] for each in known if each.project == "rtl_433" for topic in each.topics
    }
    for each in known:
        if each.project == "Shelly, status":
            yield from _not_notified(each, notified)
        elif each.project != "rtl_433, events" or not hosts.issuperset(
            topic.split("/")[1] for topic in each.topics
        ):
            yield each


def _not_notified(family: TopicFamily, notified: set[tuple[str, str]]) -> Iterator[TopicFamily]:
    """Yield the status topics of devices whose notifications lack that number.

    Where some devices notify it and others do not, each of the others has a family of its own.
    """
    topics: dict[str, list[Said]] = defaultdict(list)
    for each in family.said:
        sender, _, component = each.heard.topic.split("/")
        number = next(path for path in _SHELLY_NUMBERS if path in each.leaves)
        if (sender, f"params.{component}.{number}") not in notified:
            topics[each.heard.topic].append(each)
    if set(topics) == set(family.topics):
        yield family
        return
    for topic, messages in topics.items():
        yield of_topic(family, topic, messages)


def of_topic(family: TopicFamily, topic: str, messages: Sequence[Said]) -> TopicFamily:
    """Return the family of one topic alone, whose sensor keeps its name."""
    who = "{subject}" if family.is_reference else "{sensor}"
    names = Template.parse(family.template).match(topic) or {}
    sensor = (family.sensor or who).format_map(names) if names else family.sensor
    return family._replace(template=topic, said=tuple(messages), sensor=sensor)


# -- shapes ---------------------------------------------------------------------------------------


def _generic(by_topic: dict[str, list[Said]]) -> Iterator[TopicFamily]:
    joined = _Joined(by_topic)
    shapes: dict[tuple[object, ...], str] = {}
    near: dict[tuple[str | None, ...], list[str]] = defaultdict(list)
    for topic, messages in by_topic.items():
        levels = topic.split("/")
        shape = (len(levels), frozenset(messages[0].leaves), _is_named_reference(topic))
        for places in _masks(levels):
            masked = tuple(None if at in places else each for at, each in enumerate(levels))
            joined.join(topic, shapes.setdefault((shape, masked), topic))
            if len(places) == 1:
                near[masked].append(topic)
    merged: dict[tuple[str, bool], list[Said]] = defaultdict(list)
    groups = [
        each
        for group in joined.groups()
        for each in (_measured(group) if are_values(by_topic[group[0]][0]) else [group])
    ]
    varying = {topic: at for group in groups for at in [_varying(group)] for topic in group}
    for topics in groups:
        messages = [each for topic in topics for each in by_topic[topic]]
        differing = _differing(topics, near, by_topic, varying)
        template, is_reference = _template(topics, messages, differing)
        merged[template, is_reference] += messages
    for (template, is_reference), messages in merged.items():
        yield TopicFamily("", template, is_reference, tuple(messages), sensor=_composed(template))


def _masks(levels: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield which levels may differ: one, or two below the first."""
    yield from ((at,) for at in range(len(levels)))
    yield from combinations(range(1, len(levels)), 2)


def _differing(
    topics: Sequence[str],
    near: Mapping[tuple[str | None, ...], Sequence[str]],
    by_topic: Mapping[str, Sequence[Said]],
    varying: Mapping[str, Sequence[int]],
) -> list[int]:
    """Return the level in which another topic differs from the only one: payloads share half.

    ``near`` has the topics that differ in one level, None, alone; ``varying`` the levels in which a
    topic's own group differs. A level that tells readings from references names no device, but the
    levels that vary on the other side do.
    """
    if len(topics) > 1:
        return []
    levels, own = topics[0].split("/"), by_topic[topics[0]]
    beyond: list[int] = []
    for at, level in enumerate(levels):
        others = near[(*levels[:at], None, *levels[at + 1 :])]
        for other in sorted({*others} - {topics[0]}):
            mine, its = set(own[0].leaves), set(by_topic[other][0].leaves)
            if 2 * len(mine & its) < min(len(mine), len(its)):
                continue
            if _is_reference(topics, own) != _is_reference([other], by_topic[other]):
                beyond = beyond or [each for each in varying[other] if each != at]
            elif not is_plain_level(level):
                return [at]
    return beyond


def _varying(topics: Sequence[str]) -> list[int]:
    """Return the levels in which topics differ."""
    columns = zip(*(topic.split("/") for topic in topics), strict=True)
    return [at for at, column in enumerate(columns) if len(set(column)) > 1]


class _Joined:
    """State: which topics belong together."""

    def __init__(self, topics: Iterable[str]) -> None:
        self._above = {topic: topic for topic in topics}

    def _first(self, topic: str) -> str:
        while self._above[topic] != topic:
            topic = self._above[topic]
        return topic

    def join(self, one: str, other: str) -> None:
        """Put two topics into one group."""
        self._above[self._first(one)] = self._first(other)

    def groups(self) -> list[list[str]]:
        """Return the topics that belong together."""
        groups: dict[str, list[str]] = defaultdict(list)
        for topic in self._above:
            groups[self._first(topic)].append(topic)
        return list(groups.values())


# -- placeholders ---------------------------------------------------------------------------------


def _template(
    topics: Sequence[str], messages: Sequence[Said], differing: Sequence[int]
) -> tuple[str, bool]:
    """Return the template of topics, and whether they look like references.

    ``differing`` are levels in which other topics differ from the only one.
    """
    columns = list(zip(*(topic.split("/") for topic in topics), strict=True))
    is_reference = _is_reference(topics, messages)
    quantity = _quantity_level(columns)
    varying = [at for at, column in enumerate(columns) if len(set(column)) > 1 and at != quantity]
    if not varying and not _tells_devices_apart(messages):
        varying = [at for at in differing if at != quantity] or _guessed(columns, quantity)
    who = "subject" if is_reference else "sensor"
    names = {at: f"level{at + 1}" for at in varying[:-1]} | dict.fromkeys(varying[-1:], who)
    if quantity is not None:
        names[quantity] = "quantity"
    levels = [
        f"{{{names[at]}}}" if at in names else next(iter(set(column)))
        for at, column in enumerate(columns)
    ]
    return "/".join(levels), is_reference


def _tells_devices_apart(messages: Sequence[Said]) -> bool:
    """Return whether payloads of one topic name several devices."""
    paths = [path for path in messages[0].leaves if is_one_of(name_at(path), DEVICE_FIELDS)]
    return any(
        len({each.leaves[path] for each in messages if path in each.leaves}) > 1 for path in paths
    )


def are_values(message: Said) -> bool:
    """Return whether a payload is a value whose quantity the topic has to name."""
    return any(path == "$" or is_one_of(name_at(path), VALUES) for path in message.leaves)


def _measured(topics: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the topics that name a quantity, by the level that does; all if none does."""
    columns = list(zip(*(topic.split("/") for topic in topics), strict=True))
    counts = [sum(map(_is_quantity, column)) for column in columns]
    if _quantity_level(columns) is not None or not any(counts):
        yield topics
        return
    most = max(range(len(counts)), key=lambda at: (counts[at], at))
    named = [topic for topic in topics if _is_quantity(topic.split("/")[most])]
    yield named
    measured = set(named)
    others = [topic for topic in topics if topic not in measured]
    if any(_is_quantity(level) for topic in others for level in topic.split("/")):
        yield from _measured(others)


def _is_quantity(level: str) -> bool:
    return not is_housekeeping(level) and quantity_in(level) is not None


def _quantity_level(columns: Sequence[Sequence[str]]) -> int | None:
    """Return the level that names a quantity on all topics; the last if there are several."""
    fitting = [at for at, column in enumerate(columns) if all(map(quantity_in, column))]
    exact = [at for at in fitting if all(map(quantity_of, columns[at]))]
    return max(exact or fitting, default=None)


def _guessed(columns: Sequence[Sequence[str]], quantity: int | None) -> list[int]:
    """Return the levels that may name the only device: a level that is not a usual word."""
    free = [
        at
        for at, column in enumerate(columns)
        if at != quantity and not is_plain_level(column[0]) and (at or len(columns) == 1)
    ]
    numbered = [at for at in free if any(each.isdigit() for each in columns[at][0])]
    return (numbered or free)[-1:]


def _composed(template: str) -> str:
    """Return a template of unique sensor names if several levels vary, else ""."""
    names = Template.parse(template).names if _is_template(template) else ()
    others = [name for name in names if name.startswith("level")]
    who = next((name for name in names if name in ("sensor", "subject")), "")
    if not others or not who:
        return ""
    return ".".join(f"{{{name}}}" for name in (*others, who))


def _is_template(text: str) -> bool:
    try:
        Template.parse(text)
    except ValueError:
        return False
    return True


_STATUSES: Final = frozenset(("prelim", "preliminary", "final", "void"))


def _is_reference(topics: Iterable[str], messages: Sequence[Said]) -> bool:
    """Return whether topics or payloads are those of references."""
    return any(map(_is_named_reference, topics)) or _looks_like_reference(messages)


def _is_named_reference(topic: str) -> bool:
    return any(map(reference_words, topic.split("/")))


def _looks_like_reference(messages: Sequence[Said]) -> bool:
    """Return whether payloads have the fields of laboratory or station results."""
    leaves = messages[0].leaves
    signs = [
        str(leaves.get("status", "")).lower() in _STATUSES,
        "start" in leaves and "end" in leaves,
        any(name in leaves for name in ("sample", "sample_id", "lab_id", "sampled_at")),
        any(name in leaves for name in ("method", "rev", "revision")),
    ]
    return sum(signs) >= 2
