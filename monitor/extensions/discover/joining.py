"""How references join readings: names and keys in common, areas, pairing modes and tolerances.

Rules of this file: nothing depends on the names of fields. A text of a reference that equals a
sensor's name is its subject; texts that readings and references have in common are keys.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Final, cast

from monitor.core.formatting import duration
from monitor.core.model import Reference
from monitor.extensions.discover.payload_fields import plain_texts
from monitor.extensions.discover.settings_text import Joining
from monitor.extensions.discover.source_guesses import Source, free_level, unused_texts
from monitor.extensions.discover.trial import Content
from monitor.extensions.discover.vocabulary import normal

_TOLERANCE_SECONDS: Final = 60.0
_TOLERANCE_SECONDS_MAX: Final = 3600.0
_ASSUMED_SECONDS: Final = 60.0
_KEY_SECONDS_MAX: Final = 86_400.0
_CHARACTERS_MIN: Final = 3
_BESIDE_ALL_MAX: Final = (
    8  # of more references it cannot be true that each stands beside all sensors
)
_SPLIT: Final = re.compile(r"(.+)([./:|])([^./:|]+)")


def joining(content: Content) -> Joining:
    """Return areas for references that name no sensor, and how each quantity is paired."""
    overrides, instants = [], []
    for quantity in sorted({of for _, of in content.references}):
        references = [
            each
            for key, found in content.references.items()
            if key[1] == quantity
            for each in found
        ]
        measured = [each for each in references if not each.void]
        if measured and all(_has_span(each) for each in measured):
            overrides.append(_over_intervals(quantity, cadence(content, quantity)))
        elif gaps := _gaps_of_keys(content, quantity, measured):
            overrides.append(_by_key(quantity, gaps))
        elif measured:
            instants.append(quantity)
    pairing, why = _nearest(content, instants)
    return Joining(_areas(content), pairing, why, overrides)


def _has_span(reference: Reference) -> bool:
    return not (math.isnan(reference.start) or math.isnan(reference.end))


def cadence(content: Content, quantity: str) -> float:
    """Return the seconds between readings of a quantity; NaN if no sensor sent two."""
    gaps = [
        median(later - earlier for earlier, later in pairwise(times))
        for (_, of), found in content.readings.items()
        if of == quantity and len(times := sorted({each.time for each in found})) > 1
    ]
    return median(gaps) if gaps else math.nan


def _over_intervals(quantity: str, seconds: float) -> tuple[dict[str, object], str]:
    if math.isnan(seconds):
        why = (
            f"references of {quantity} are means over an interval. ASSUMED: a reading stands for "
            f"{duration(_ASSUMED_SECONDS)}, because none came twice"
        )
        seconds = _ASSUMED_SECONDS
    else:
        seconds = max(1.0, float(round(seconds)))
        why = (
            f"references of {quantity} are means over an interval; a reading came every "
            f"{duration(seconds)} and is taken to stand for that"
        )
    pairing = {"mode": "mean_over_reference_interval", "reading_seconds": seconds}
    return {"quantity": quantity, "pairing": pairing}, why


def _gaps_of_keys(content: Content, quantity: str, references: Sequence[Reference]) -> list[float]:
    """Return the distance of each reference from the nearest reading with its key, s."""
    times: dict[str, list[float]] = defaultdict(list)
    for (_, of), readings in content.readings.items():
        for each in readings:
            if of == quantity and each.key:
                times[each.key].append(each.time)
    return [
        min(abs(time - each.time) for time in times[each.key])
        for each in references
        if each.key in times
    ]


def _by_key(quantity: str, gaps: Sequence[float]) -> tuple[dict[str, object], str]:
    tolerance = min(max(_TOLERANCE_SECONDS, 2.0 * max(gaps)), _KEY_SECONDS_MAX)
    why = (
        f"references of {quantity} have keys; those heard are up to {duration(max(gaps))} from the "
        "reading of the same key"
    )
    return {
        "quantity": quantity,
        "pairing": {"mode": "nearest", "tolerance_seconds": float(math.ceil(tolerance))},
    }, why


def _nearest(content: Content, quantities: Sequence[str]) -> tuple[dict[str, object], list[str]]:
    """Return the pairing of instantaneous references; nothing if there are none."""
    if not quantities:
        return {}, []
    known = [gap for each in quantities if not math.isnan(gap := cadence(content, each))]
    tolerance = min(max([_TOLERANCE_SECONDS, *known]), _TOLERANCE_SECONDS_MAX)
    why = "A reference pairs with the reading nearest to it in time"
    if tolerance > _TOLERANCE_SECONDS:
        why += f"; readings come every {duration(tolerance)} at most"
    return {"mode": "nearest", "tolerance_seconds": float(math.ceil(tolerance))}, [f"{why}."]


def _areas(content: Content) -> list[tuple[dict[str, object], str]]:
    """Return which sensors references concern that do not have a sensor's name."""
    measured: dict[str, set[str]] = defaultdict(set)
    spelled: dict[str, set[str]] = defaultdict(set)
    about: dict[str, set[str]] = defaultdict(set)
    for sensor, quantity in content.readings:
        measured[quantity].add(sensor)
        spelled[normal(sensor)].add(sensor)
    for subject, quantity in content.references:
        about[subject].add(quantity)
    areas: list[tuple[dict[str, object], str]] = []
    beside: list[tuple[dict[str, object], str]] = []
    for subject in sorted(filter(None, about)):
        quantities = sorted(about[subject] & measured.keys())
        if not quantities or any(subject in measured[of] for of in quantities):
            continue
        near = spelled[normal(subject)]
        if alike := sorted(each for each in near if any(each in measured[of] for of in quantities)):
            why = f"{subject} is {alike[0]} but for its spelling"
            areas.append(({"subject": subject, "sensors": alike}, why))
        else:
            why = (
                f"ASSUMED: {subject} stands beside all sensors that measure "
                f"{' and '.join(quantities)}, because none has its name; list those that do stand "
                "beside it"
            )
            beside.append(({"subject": subject, "sensors": ["*"]}, why))
    return areas + (beside if len(beside) <= _BESIDE_ALL_MAX else [])


# -- names and keys in payloads -------------------------------------------------------------------


def linked(sources: Sequence[Source], sensors: Collection[str]) -> list[Source]:
    """Return the sources with the names and keys that their payloads have in common."""
    read = [each for each in sources if each.kind == "reading" and each.decoder == "json"]
    known = {_spelled(x) for each in read for found in unused_texts(each).values() for x in found}
    named = [
        _named(_freed(each, sensors, known), sensors) if _is_mapped_reference(each) else each
        for each in sources
    ]
    return list(_keyed(named))


def _is_mapped_reference(source: Source) -> bool:
    return source.kind == "reference" and source.decoder == "json"


def _freed(source: Source, sensors: Collection[str], known: set[str]) -> Source:
    """Return references without the name of a subject that readings state too: it is a key."""
    names = dict(cast("Mapping[str, str]", source.mapping.get("names", {})))
    for path in [path for path, composed in names.items() if composed == "{subject}"]:
        texts = plain_texts(source.fields.paths[path])
        if texts.isdisjoint(sensors) and _common({path: texts}, known) is not None:
            del names[path]
            source.fields.used.discard(path)
            subject = free_level(source.family)
            rest = {key: each for key, each in source.mapping.items() if key != "names"}
            mapping = {"subject": subject, **({"names": names} if names else {}), **rest}
            why = [each for each in source.why if each != f"{path} names the subject"]
            why.append(f"nothing names the subject; it is called {subject}")
            return source._replace(mapping=mapping, why=why)
    return source


def _named(source: Source, sensors: Collection[str]) -> Source:
    for path, texts in unused_texts(source).items():
        if texts <= set(sensors):
            return _with_names(source, path, "{subject}", "it holds names of sensors")
        split = [match for text in texts if (match := _SPLIT.fullmatch(text))]
        between = {match[2] for match in split}
        if len(split) == len(texts) and len(between) == 1 and {m[1] for m in split} & set(sensors):
            composed = f"{{subject}}{between.pop()}{{quantity}}"
            return _with_names(source, path, composed, "it holds names of sensors and quantities")
    return source


def _with_names(source: Source, path: str, composed: str, why: str) -> Source:
    names = source.mapping.get("names", {})
    before = dict(names) if isinstance(names, Mapping) else {}
    others = {key: each for key, each in before.items() if "{subject}" not in str(each)}
    mapping = {key: each for key, each in source.mapping.items() if key not in ("subject", "names")}
    series = source.series
    if "{quantity}" in composed:
        series = [each._replace(keys={**each.keys, "quantity": "{quantity}"}) for each in series]
    source.fields.used.add(path)
    reasons = [each for each in source.why if not each.startswith("nothing names the subject")]
    return source._replace(
        mapping={"names": {**others, path: composed}, **mapping},
        series=series,
        why=[*reasons, f"{path} names the subject: {why}"],
    )


def _keyed(sources: Sequence[Source]) -> Iterator[Source]:
    """Yield the sources, with a key where a text occurs in both readings and references."""
    texts = [unused_texts(each) if each.decoder == "json" else {} for each in sources]
    for at, source in enumerate(sources):
        others = {
            _spelled(text)
            for source_, found in zip(sources, texts, strict=True)
            if source_.kind != source.kind
            for values in found.values()
            for text in values
        }
        path = _common(texts[at], others)
        yield source if path is None else _with_key(source, path, texts[at][path])


def _common(texts: Mapping[str, set[str]], others: set[str]) -> str | None:
    """Return the path most of whose texts occur on the other side too, None if there is none."""
    shares = []
    for path, values in texts.items():
        spelled = {_spelled(text) for text in values}
        common = {each for each in spelled & others if len(each) >= _CHARACTERS_MIN}
        if common and (len(spelled) > 1 or any(each.isdigit() for each in "".join(common))):
            shares.append((len(common) / len(spelled), path))
    return max(shares)[1] if shares else None


def _spelled(text: str) -> str:
    return text.replace(" ", "").upper()


def _with_key(source: Source, path: str, texts: set[str]) -> Source:
    mapping: dict[str, object] = {**source.mapping, "key": path}
    if any(" " in text for text in texts):
        mapping["key_remove"] = " "
    if any(text.upper() != text for text in texts):
        mapping["key_case"] = "upper"
    source.fields.used.add(path)
    if len(source.fields.paths[path]) < len(source.family.said):
        before = mapping.get("defaults", {})
        mapping["defaults"] = {**(before if isinstance(before, Mapping) else {}), path: ""}
    why = f"{path} is the key: the same texts stand in readings and in references"
    return source._replace(mapping=mapping, why=[*source.why, why])
