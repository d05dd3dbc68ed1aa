"""A proposal as a settings file: YAML with a comment above or beside each guess."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from monitor.extensions.discover.source_guesses import Source

_COLUMNS: Final = 96
_EXAMPLE_CHARACTERS: Final = 160
_READINGS: Final = "monitor/{sensor}/{quantity}/reading"


class Broker(NamedTuple):
    """The keys of the settings' ``mqtt`` section."""

    keys: Mapping[str, object]


class Joining(NamedTuple):
    """Proposals besides the sources, with reasons: areas, pairing, overrides."""

    areas: list[tuple[dict[str, object], str]]
    pairing: dict[str, object]
    why: list[str]
    overrides: list[tuple[dict[str, object], str]]


NOTHING: Final = Joining([], {}, [], [])


def settings_text(
    broker: Broker, sources: Sequence[Source], joining: Joining = NOTHING, head: Iterable[str] = ()
) -> str:
    """Return the settings; ``head`` are sentences to begin with."""
    lines = [line for sentence in head for line in comment(sentence)]
    lines += ["", "mqtt:", *(f"  {key}: {value(each)}" for key, each in broker.keys.items())]
    lines += ["", "journal:", "  path: state/journal.sqlite", "", "http:", "  port: 9108", ""]
    lines += ["sources:"] if sources else []
    for source in sources:
        lines += _source(source)
    lines += _native(sources) if sources else []
    lines += _joining(joining)
    return "\n".join(lines) + "\n"


def _source(source: Source) -> Iterator[str]:
    family = source.family
    topics = family.topics
    count = f"{len(topics)} topic{'s' * (len(topics) > 1)}, such as {topics[0]}"
    yield from comment(f"{family.project or 'Devices'}: {count}", "  ")
    if source.decoder != "sparkplug":
        yield from comment(_example(source), "  ")
    for sentence in source.why:
        yield from comment(f"* {sentence}", "  ")
    yield f"  - topic: {value(source.topic)}"
    yield f"    kind: {source.kind}"
    if source.decoder == "native":
        return
    yield f"    decoder: {source.decoder}"
    yield "    map:"
    for key, each in source.mapping.items():
        yield f"      {key}: {value(each)}"
    yield "      series:"
    for series in source.series:
        yield from comment("; ".join(series.why), "        ")
        yield f"        - {value(series.keys)}"


def _native(sources: Sequence[Source]) -> Iterator[str]:
    """Say what needs no source, and read native readings where no others were found."""
    by_hand = "What `monitor reference` and `monitor event` publish is read without a source."
    yield from comment(by_hand, "  ")
    if "reading" not in {source.kind for source in sources}:
        yield from comment("No readings were found; native ones would be read here.", "  ")
        yield f'  - {{topic: "{_READINGS}", kind: reading}}'


def _example(source: Source) -> str:
    """Return the beginning of the payload that states most of the fields read."""
    paths = [str(each.keys["value"]) for each in source.series]
    fullest = max(source.family.said, key=lambda each: sum(path in each.leaves for path in paths))
    text = fullest.heard.payload.decode("utf-8", "replace")
    return text if len(text) <= _EXAMPLE_CHARACTERS else f"{text[:_EXAMPLE_CHARACTERS]}..."


def _joining(joining: Joining) -> Iterator[str]:
    if joining.areas:
        yield ""
        yield from comment("Sensors that references concern whose subject is not a sensor's name.")
        yield "areas:"
        for area, why in joining.areas:
            yield from comment(f"* {why}", "  ")
            yield f"  - {value(area)}"
    if joining.pairing:
        yield ""
        for sentence in joining.why:
            yield from comment(sentence)
        yield "pairing:"
        yield from (f"  {key}: {value(each)}" for key, each in joining.pairing.items())
    if joining.overrides:
        yield ""
        yield "overrides:"
        for override, why in joining.overrides:
            yield from comment(f"* {why}", "  ")
            yield f"  - {value(override)}"


def comment(sentence: str, indent: str = "") -> list[str]:
    """Return a sentence as lines of comment, in printable characters."""
    plain = "".join(each if each.isprintable() else " " for each in sentence)
    more = "  " if plain.startswith("* ") else ""
    return textwrap.wrap(
        plain,
        _COLUMNS,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}# {more}",
        break_on_hyphens=False,
    )


# Plain words that a reader of YAML 1.2 or 1.1 takes for something else than a text.
_YAML_WORDS: Final = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n"])


def value(content: object) -> str:
    """Return a value as YAML: JSON with unquoted keys where possible."""
    if isinstance(content, Mapping):
        inside = ", ".join(f"{_key(key)}: {value(each)}" for key, each in content.items())
        return f"{{{inside}}}"
    if isinstance(content, list | tuple):
        return f"[{', '.join(map(value, content))}]"
    text = json.dumps(content, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text)


def _key(key: object) -> str:
    text = str(key)
    is_plain = text.isidentifier() and text.isascii() and text.lower() not in _YAML_WORDS
    return text if is_plain else value(text)
