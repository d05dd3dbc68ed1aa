"""What links references to sensors besides their topics: names and keys in their payloads.

Rules of this file: nothing depends on the names of fields. A text of a reference that equals a
sensor's name is its subject; texts that readings and references have in common are keys.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from monitor.discover.source_guesses import Source, unused_texts

_CHARACTERS_MIN: Final = 3
_SPLIT: Final = re.compile(r"(.+)([./:|])([^./:|]+)")


def linked(sources: Sequence[Source], sensors: Collection[str]) -> list[Source]:
    """Return the sources with the names and keys that their payloads have in common."""
    named = [_named(each, sensors) if _is_mapped_reference(each) else each for each in sources]
    return list(_keyed(named))


def _is_mapped_reference(source: Source) -> bool:
    return source.kind == "reference" and source.decoder == "json"


def _named(source: Source, sensors: Collection[str]) -> Source:
    for path, found in unused_texts(source).items():
        if found <= set(sensors):
            return _with_names(source, path, "{subject}", "it holds names of sensors")
        split = [match for text in found if (match := _SPLIT.fullmatch(text))]
        between = {match[2] for match in split}
        if len(split) == len(found) and len(between) == 1 and {m[1] for m in split} & set(sensors):
            composed = f"{{subject}}{between.pop()}{{quantity}}"
            return _with_names(source, path, composed, "it holds names of sensors and quantities")
    return source


def _with_names(source: Source, path: str, composed: str, why: str) -> Source:
    names = source.mapping.get("names", {})
    before = dict(names) if isinstance(names, Mapping) else {}
    kept = {key: each for key, each in before.items() if "{subject}" not in str(each)}
    mapping = {key: each for key, each in source.mapping.items() if key not in ("subject", "names")}
    series = source.series
    if "{quantity}" in composed:
        series = [each._replace(keys={**each.keys, "quantity": "{quantity}"}) for each in series]
    source.fields.used.add(path)
    told = [each for each in source.why if not each.startswith("nothing names the subject")]
    return source._replace(
        mapping={"names": {**kept, path: composed}, **mapping},
        series=series,
        why=[*told, f"{path} names the subject: {why}"],
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
    for path, found in texts.items():
        spelled = {_spelled(text) for text in found}
        common = {each for each in spelled & others if len(each) >= _CHARACTERS_MIN}
        if common and (len(spelled) > 1 or any(each.isdigit() for each in "".join(common))):
            shares.append((len(common) / len(spelled), path))
    return max(shares)[1] if shares else None


def _spelled(text: str) -> str:
    return text.replace(" ", "").upper()


def _with_key(source: Source, path: str, found: set[str]) -> Source:
    mapping: dict[str, object] = {**source.mapping, "key": path}
    if any(" " in text for text in found):
        mapping["key_remove"] = " "
    if any(text.upper() != text for text in found):
        mapping["key_case"] = "upper"
    source.fields.used.add(path)
    if len(source.fields.paths[path]) < len(source.family.said):
        before = mapping.get("defaults", {})
        mapping["defaults"] = {**(before if isinstance(before, Mapping) else {}), path: ""}
    why = f"{path} is the key: the same texts stand in readings and in references"
    return source._replace(mapping=mapping, why=[*source.why, why])
