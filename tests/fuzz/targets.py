"""What is fuzzed: every decoder in its uses, topics, units and settings, and the HTTP service.

Rules of this file: a target is one line in ``TARGETS``; it is given bytes, raises BrokenError (or
whatever should not have been raised) where something does not hold, and else returns what came out
twice: in words to be counted, and as a value that is equal where the same came out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from monitor.config import (
    Credentials,
    SettingsError,
    load,
    parse,
    settings_hash,
)
from monitor.config.core_plan import plan_of, router_of
from monitor.daemon.connecting import mqtt_settings
from monitor.decode import Rejected
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.units import conversion
from monitor.mqtt.topic_templates import Template, TemplateError

from . import seeds, values
from .invariants import RECEIVED, check_observation, check_refusal, holds, same, words
from .messages import MESSAGES, Messages
from .mutations import Mutation
from .web import Web

CONFIGS: Final = Path(__file__).parents[2] / "configs"
_TRADES: Final = ("default", "weighing", "air", "process")


class Outcome(NamedTuple):
    """What came out of one input."""

    words: frozenset[str]
    value: object
    novelty: object


class Target(NamedTuple):
    """``decoder`` is the group it belongs to, ``share`` how much it is fuzzed beside the others."""

    decoder: str
    run: Callable[[bytes], Outcome]
    seeds: Sequence[bytes]
    tokens: Sequence[bytes]
    codec: Mutation | None = None
    share: float = 1.0


_BIRTHS: Final = Births()
_SETTINGS: Final = {
    **{name: load(CONFIGS / f"{name}.yaml") for name in _TRADES},
    "own": parse(seeds.SETTINGS, "own"),
    "native": parse(seeds.NATIVE_SETTINGS, "native"),
}
_ROUTERS: Final = {name: router_of(each, _BIRTHS) for name, each in _SETTINGS.items()}


def _born() -> bytes:
    """Return what is known after births of every edge the targets name."""
    decode = _ROUTERS["own"].decode
    decode("spBv1.0/g/NBIRTH/e", seeds.BIRTH, RECEIVED)
    decode("spBv1.0/PlantA/DBIRTH/edge7/AT-4012", seeds.BIRTH, RECEIVED)
    return _BIRTHS.dump()


_BORN: Final = _born()
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"|\d+|[^\x20-\x7e]+")


def _decoded(name: str, topic: str, payload: bytes) -> Outcome:
    try:
        found = list(_ROUTERS[name].decode(topic, payload, RECEIVED))
    except Rejected as refused:
        found = [refused]
    for each in found:
        if isinstance(each, Rejected):
            check_refusal(each)
        else:
            check_observation(each)
    novelty = frozenset(
        (each.reason, _QUOTED.sub("", each.detail)) if isinstance(each, Rejected) else type(each)
        for each in found
    )
    return Outcome(words(found) or frozenset({"nothing"}), [same(each) for each in found], novelty)


def message(name: str, topic: str) -> Callable[[bytes], Outcome]:
    """Return what decodes a payload that came on ``topic`` by the settings of that name."""
    return lambda payload: _decoded(name, topic, payload)


def sparkplug(name: str, topic: str) -> Callable[[bytes], Outcome]:
    """Return the same where births are known; what a birth taught can be kept and loaded."""

    def run(payload: bytes) -> Outcome:
        _BIRTHS.load(_BORN)
        found = _decoded(name, topic, payload)
        dumped = _BIRTHS.dump()
        again = Births()
        again.load(dumped)
        holds(again.dump() == dumped, "births are others when they were kept")
        return Outcome(found.words, (found.value, dumped), found.novelty)

    return run


def routing(raw: bytes) -> Outcome:
    """Any topic, with a payload that is good for some."""
    topic = raw.decode("utf-8", "replace")
    outcomes = [_decoded(name, topic, seeds.READING[0]) for name in ("default", "own")]
    for router in _ROUTERS.values():
        holds("{" not in router.filter_of(topic), "a filter has a field in it")
    both = frozenset().union(*(each.words for each in outcomes))
    return Outcome(both, [each.value for each in outcomes], both)


def template(raw: bytes) -> Outcome:
    """A template and a topic in two lines, against the rules of MQTT written another way."""
    text, _, topic = raw.decode("utf-8", "replace").partition("\n")
    try:
        parsed = Template.parse(text)
    except TemplateError as error:
        holds(bool(str(error)), "an error says nothing")
        return Outcome(frozenset({"refused"}), str(error), _QUOTED.sub("", str(error)))
    levels = text.split("/")
    subscribed = "/".join("+" if each.startswith("{") else each for each in levels)
    holds(parsed.filter == subscribed, "filter")
    found = parsed.match(topic)
    holds((found is not None) == _mqtt_matches(parsed.filter, topic), "match is not that of MQTT")
    if found is not None:
        named = {
            level[1:-1]: part
            for level, part in zip(levels, topic.split("/"), strict=False)
            if level.startswith("{")
        }
        holds(found == named, "fields are not the levels")
    said = frozenset({"template", "match" if found is not None else "no match"})
    return Outcome(said, (parsed.filter, found), (parsed.names, found is None))


def _mqtt_matches(wanted: str, topic: str) -> bool:
    """MQTT 5, 4.7: level by level."""
    if topic.startswith("$") and wanted[0] in "+#":
        return False
    filters, levels = wanted.split("/"), topic.split("/")
    for at, each in enumerate(filters):
        if each == "#":
            return True
        if at >= len(levels) or each not in ("+", levels[at]):
            return False
    return len(filters) == len(levels)


def units(raw: bytes) -> Outcome:
    """A unit's text to and from kg/m3: a conversion of finite numbers, or a refusal."""
    text = raw.decode("utf-8", "replace")
    found: list[object] = []
    said: set[str] = set()
    for wanted in ("kg", "ug/m3", "K"):
        try:
            scale, offset = conversion(text, wanted)
        except Rejected as refused:
            check_refusal(refused)
            said.add(refused.reason)
            found.append(same(refused))
        else:
            holds(math.isfinite(scale) and scale != 0.0, f"a scale is {scale}")
            holds(math.isfinite(offset), f"an offset is {offset}")
            said.add("converted")
            found.append((scale, offset))
    return Outcome(frozenset(said), found, frozenset(said))


def settings(raw: bytes) -> Outcome:
    """A settings file: mistakes with places, or settings that every part can be made of."""
    try:
        good = parse(raw, "f")
        router_of(good)
        plan_of(good).rules_of("s", "q")
        mqtt_settings(good, Credentials(None, None))
    except SettingsError as error:
        _check_mistakes(error)
        shapes = frozenset(_QUOTED.sub("", each.what) for each in error.mistakes)
        return Outcome(frozenset({"mistakes"}), error.lines(), shapes)
    return Outcome(frozenset({"settings"}), settings_hash(good), good.model_fields_set.__len__())


def _check_mistakes(error: SettingsError) -> None:
    holds(bool(error.mistakes), "there are no mistakes")
    for mistake, line in zip(error.mistakes, error.lines(), strict=False):
        holds(mistake.line >= 1 and mistake.column >= 1, "a mistake has no place")
        holds(bool(mistake.what), "a mistake says nothing")
        holds(len(line) <= 5000, "a mistake is long")
        holds("\n" not in line, "a mistake is not one line")
        line.encode()


WEB: Final = Web()


def http(raw: bytes) -> Outcome:
    """A script of what strangers send to the service, answered by refusals and pages."""
    answers = WEB.answers(raw)
    said = frozenset("served" if status == 200 else str(status) for status, _ in answers)
    return Outcome(said or frozenset({"no answer"}), answers, (said, min(len(answers), 4)))


def _settings_seeds() -> tuple[bytes, ...]:
    whole = [(CONFIGS / f"{name}.yaml").read_bytes() for name in _TRADES]
    short = [re.sub(rb"(?m)^ *#.*\n", b"", each) for each in whole]
    return (*short, seeds.SETTINGS)


def _of(messages: Messages) -> Target:
    """Return the target that decodes such messages."""
    run = (sparkplug if messages.decoder == "sparkplug" else message)(*messages[:2])
    return Target(messages.decoder, run, messages.seeds, messages.tokens, messages.codec)


TARGETS: Final[Mapping[str, Target]] = {
    **{name: _of(each) for name, each in MESSAGES.items()},
    "topics": Target("topics", template, seeds.TOPICS, seeds.TOPIC_TOKENS),
    "routing": Target("topics", routing, seeds.ROUTED, seeds.TOPIC_TOKENS, share=0.5),
    "units": Target("units", units, seeds.UNITS, seeds.UNIT_TOKENS, share=0.2),
    "http": Target("http", http, seeds.HTTP, seeds.HTTP_TOKENS, share=0.1),
    "settings": Target(
        "settings", settings, _settings_seeds(), seeds.YAML_TOKENS, values.YAML, share=0.1
    ),
}
