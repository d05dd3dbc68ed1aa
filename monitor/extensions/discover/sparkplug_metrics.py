"""Sparkplug B: the births list the metrics; a device is a sensor.

Metrics whose names contain a point or a bracket cannot be addressed by a path and are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Final

from monitor.decode.checks import Rejected
from monitor.decode.formats.sparkplug import parse
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.route import Call, Route
from monitor.extensions.discover.families import TopicFamily
from monitor.extensions.discover.heard import Heard, Said
from monitor.extensions.discover.payload_fields import Fields, Series, by_path, guessed_series
from monitor.extensions.discover.source_guesses import Source
from monitor.mqtt.topic_templates import Template

DEVICES: Final = "spBv1.0/{group}/{message}/{edge}/{sensor}"
NODES: Final = "spBv1.0/{group}/{message}/{edge}"
_ROOT: Final = "values"


def is_sparkplug(topic: str) -> bool:
    """Return whether Sparkplug B uses a topic."""
    return topic.startswith("spBv1.0/")


def sparkplug_sources(heard: Iterable[Heard]) -> list[Source]:
    """Return the sources that read the devices and nodes whose metrics were received."""
    births = Births()
    sent: dict[str, list[Said]] = defaultdict(list)
    for each in heard:
        for template in (DEVICES, NODES):
            fields = Template.parse(template).match(each.topic)
            if fields is not None:
                sent[template] += _records(each, {"sensor": "", **fields}, births)
    sources = [_source(template, sent[template]) for template in (DEVICES, NODES) if sent[template]]
    if [each for each in sources if each.series]:
        return _with_nodes(sources)
    return []


def _records(heard: Heard, fields: dict[str, str], births: Births) -> list[Said]:
    route = Route("reading", "sparkplug", births=births)
    try:
        records = list(parse(Call(heard.payload, fields, route, heard.time)))
    except Rejected:
        return []
    messages = []
    for record in records:
        values = record.get("values", {}) if isinstance(record, dict) else {}
        leaves = {
            ".".join((_ROOT, *name.split("/"))): value
            for name, value in values.items()
            if not set(".[]") & set(name) and all(name.split("/"))
        }
        if leaves:
            messages.append(Said(heard, values, leaves))
    return messages


def _source(template: str, heard: list[Said]) -> Source:
    """Return a source; births of nodes without quantities only define aliases."""
    family = TopicFamily("Sparkplug B", template, is_reference=False, said=tuple(heard), root=_ROOT)
    fields = Fields(family, by_path(family), {}, set())
    sent = {path for each in heard if "BIRTH" not in each.heard.topic for path in each.leaves}
    series = [_by_metric(each, sent) for each in guessed_series(fields)]
    mapping: dict[str, object] = {"sensor": "{edge}"} if template == NODES else {}
    mapping |= {"time_unit": "ms", "optional": True}
    why = ["metrics are those of the births; messages without any of these are skipped"]
    return Source(family, "reading", "sparkplug", mapping, series, why, fields)


def _by_metric(series: Series, sent: Collection[str]) -> Series:
    """Return a series with the names of metrics; ``sent`` are the paths in data messages.

    Companions of the value that data messages omit are in the birth alone: Sparkplug reports by
    exception.
    """
    is_sent = series.keys["value"] in sent
    keys = dict(series.keys)
    why = list(series.why)
    for key, value in series.keys.items():
        if isinstance(value, str) and value.startswith(f"{_ROOT}."):
            of_birth = is_sent and value not in sent
            keys[key] = _metric(value, "birth" if of_birth else _ROOT)
            if of_birth:
                why.append(f"{key} is that of the birth, because data messages do not state it")
    return series._replace(keys=keys, why=why)


def _metric(path: str, where: str) -> str:
    return f"{where}.{path.removeprefix(f'{_ROOT}.').replace('.', '/')}"


def _with_nodes(sources: list[Source]) -> list[Source]:
    """Add the births of nodes for their aliases, even where nodes measure nothing."""
    series = next(each.series for each in sources if each.series)
    return [
        each
        if each.series
        else each._replace(
            series=series, why=["births of nodes define aliases; they measure nothing themselves"]
        )
        for each in sources
    ]
