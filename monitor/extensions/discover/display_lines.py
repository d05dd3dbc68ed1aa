"""Lines of scales and other displays: a source with the decoder ``display`` for each family.

Rules of this file: the decoder itself says what is such a line. The unit that lines show names a
quantity that no level of the topic names; the assumed u of a scale is one step of its display.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from monitor.decode.checks import Rejected
from monitor.decode.formats.display import parse
from monitor.decode.route import Call, Route
from monitor.decode.units import conversion, is_understood
from monitor.extensions.discover.families import TopicFamily, topic_families
from monitor.extensions.discover.heard import Heard, Said, said
from monitor.extensions.discover.payload_fields import (
    Fields,
    Series,
    assumed_u,
    by_path,
    convertible,
    guessed_series,
)
from monitor.extensions.discover.source_guesses import (
    Source,
    by_quantity,
    free_level,
    narrowed,
)
from monitor.extensions.discover.vocabulary import UNKNOWN, is_housekeeping, quantity_in
from monitor.mqtt.topic_templates import Template

_ROUTE: Final = Route("reading", "display")
_BY_UNIT: Final = {"kg": "mass", "degC": "temperature", "hPa": "pressure"}
_STEP: Final = UNKNOWN._replace(assumed="{least}")


def display_sources(heard: Iterable[Heard], topics: Collection[str]) -> Iterator[Source]:
    """Yield the sources that read lines of displays, and leave the other ``topics`` alone."""
    lines = [line for each in heard if (line := _said(each)) is not None]
    for family in topic_families(lines):
        measured = _measured(family)
        for of_quantity in by_quantity(measured) if measured.said else ():
            for narrow in narrowed(of_quantity, topics):
                yield from _sources(narrow)


def _said(heard: Heard) -> Said | None:
    """Return what the first line of a payload shows, None if it is none of a display."""
    if said(heard) is not None or b";" in heard.payload:  # cells, as CSV has them
        return None
    try:
        record = next(iter(parse(Call(heard.payload, {}, _ROUTE, heard.time))))
    except Rejected:
        return None
    if not isinstance(record, dict) or not is_understood(str(record.get("unit", "kg"))):
        return None
    return Said(heard, record, record)


def _measured(family: TopicFamily) -> TopicFamily:
    """Return a family with the quantity of its units where its topics name none.

    It is empty where nothing names one.
    """
    family = family._replace(project="Display")
    levels = [level for topic in family.topics for level in topic.split("/")]
    if any(quantity_in(level) and not is_housekeeping(level) for level in levels):
        return family
    if not any(len(each.leaves) > 1 for each in family.said):
        return family._replace(said=())  # numbers alone: nothing says of what
    units = {str(each.leaves.get("unit", "kg")) for each in family.said}
    named = (name for unit, name in _BY_UNIT.items() if all(convertible(x, unit) for x in units))
    return family._replace(quantity=next(named, ""))


def _sources(family: TopicFamily) -> Iterator[Source]:
    fields = Fields(family, by_path(family), {}, {"stable", "load"})
    series = guessed_series(fields)
    if not series:
        return
    who = "subject" if family.is_reference else "sensor"
    mapping: dict[str, object] = {"time": "arrival"}
    why = ["a line states no time: the time of arrival is taken"]
    if family.sensor:
        mapping[who] = family.sensor
    elif who not in Template.parse(family.template).names:
        mapping[who] = free_level(family)
        why.append(f"nothing names the {who}; it is called {mapping[who]}")
    defaults: dict[str, object] = {}
    if "stable" in fields.paths:
        mapping["where"] = {"stable": [True]}
        defaults["stable"] = True
        why.append("what the scale calls unstable is left out")
    units = Counter(map(str, fields.paths.get("unit", ())))
    if 0 < units.total() < len(family.said):
        defaults["unit"] = units.most_common(1)[0][0]
    if defaults:
        mapping["defaults"] = defaults
    kind = "reference" if family.is_reference else "reading"
    steps = [_with_step(each, family) for each in series]
    yield Source(family, kind, "display", mapping, steps, why, fields)


def _with_step(series: Series, family: TopicFamily) -> Series:
    """Return the series of a scale with one step of its display as the u that is assumed."""
    if series.quantity != "mass" or "assumed" not in series.keys:
        return series
    shown = (
        float(f"{number * conversion(str(each.leaves.get('unit', 'kg')), 'kg').scale:.9g}")
        for each in family.said
        if isinstance(number := each.leaves.get("value"), float)
    )
    step = assumed_u(_STEP, shown)
    why = [each for each in series.why if "ASSUMED" not in each]
    why.append(f"ASSUMED u = {step}, one step of the display, because none is stated: put yours")
    return series._replace(keys={**series.keys, "assumed": step}, why=why)
