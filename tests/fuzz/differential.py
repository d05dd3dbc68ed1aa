"""Messages together against the same messages alone: python -m tests.fuzz --batches 1000000.

Rules of this file: alone is what the decoder says of one message after the other, with no
accelerator between; together is what a router says that met the topics before, in reads of any
size, some of them retained by the broker. Of every message observations and refusals must be the
same, bit for bit, with reason, sentence, place and record; so must be what both learned, births and
units. ``monitor explain`` must say of a message alone what a daemon without a past says of it.

Batches are made by chance of one seed: mostly good messages of a few topics, among them hostile
times, numbers, doubled members, escapes, byte order marks, units, and mutated inputs of the other
formats.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

import msgspec

from monitor.config import Settings, parse
from monitor.config.core_plan import router_of, units_of
from monitor.decode import Decoded, Found, Rejected, Router
from monitor.decode.formats.sparkplug_births import Births
from monitor.explain import SHOWN_MAX, Message, explain

from . import seeds
from .messages import MESSAGES, Messages
from .mutations import Pool, mutated

RECEIVED: Final = 1_780_000_000.0  # 2026-05-28, after every good time
SIZES: Final = (1, 2, 101, 1000)
_BATCHES_A_DAEMON: Final = 100
Sent = tuple[str, bytes]

_SOURCES: Final = """sources:
- {topic: "plain/{sensor}/{quantity}/reading", kind: reading}
- {topic: "plain/{subject}/{quantity}/reference", kind: reference}
- {topic: "kg/{sensor}/{quantity}/reading", kind: reading, unit: kg}
- {topic: "kg/{subject}/{quantity}/reference", kind: reference, unit: kg}
- {topic: "native/{sensor}/event", kind: event}
- {topic: "native/{sensor}/collocation", kind: collocation}
- {topic: "one/{sensor}/{quantity}", kind: reading, decoder: json,
   map: {series: [{value: value, u: u}]}}
- {topic: "oneref/{subject}/{quantity}", kind: reference, decoder: json,
   map: {series: [{value: value, u: u}]}}
- {topic: "ms/{sensor}/{quantity}", kind: reading, decoder: json, unit: kg,
   map: {time_unit: ms, series: [{value: value, u: u}]}}
- {topic: "lb/{sensor}/{quantity}", kind: reading, decoder: json, unit: lb,
   map: {series: [{value: value, u: u}]}}
- {topic: "many/{sensor}/{quantity}", kind: reading, decoder: json,
   map: {each: $, series: [{value: value, u: u}]}}
- {topic: "data/{sensor}/{quantity}", kind: reading, decoder: json,
   map: {each: data, series: [{value: value, u: u}]}}
- {topic: "dataref/{subject}/{quantity}", kind: reference, decoder: json,
   map: {each: data, series: [{value: value, u: u}]}}
- {topic: "stated/{sensor}/{quantity}", kind: reading, decoder: json,
   map: {key: key, defaults: {key: ""}, series: [{value: value, u: u, unit_path: unit}]}}
- {topic: "arrival/{sensor}/{quantity}", kind: reading, decoder: json,
   map: {time: arrival, series: [{value: value, u: u}]}}
- {topic: "arrivalref/{subject}/{quantity}", kind: reference, decoder: json,
   map: {each: $, time: arrival, series: [{value: value, u: u}]}}
"""
_MAINTENANCE: Final = """maintenance:
- {sensor: "s1*", start: 2026-02-01T00:00Z, end: 2026-03-01T00:00Z}
"""
_TOPICS: Final = (
    *("plain/s1/mass/reading", "plain/s2/mass/reading", "plain/s1/mass/reference"),
    *("plain/s3/heat/reading", "plain/s3/heat/reference", "plain/s 4/heat/reading"),
    *("kg/s1/mass/reading", "kg/s1/mass/reference", "nobody/s1"),
    *("native/s1/event", "native/s1/collocation"),
)
_MAPPED: Final = (
    *("one/s1/mass", "oneref/s1/mass", "ms/s2/mass", "lb/s1/mass", "many/s1/mass", "data/s1/mass"),
    *("dataref/s1/mass", "stated/s2/mass", "stated/s3/heat", "many/s3/heat"),
    *("arrival/s1/mass", "arrivalref/s1/mass"),
)
_TIMES: Final = (
    *('"2026-02-28T24:00:00Z"', '"2026-02-28T23:59:60Z"', '"2026-02-30T10:00:00Z"', '""', '"x"'),
    *('"0001-01-01T00:00:00+14:00"', '"9999-12-31T23:59:59.9999999Z"', '"2026-02-28"', "null"),
    *('"2026-02-28T10:00:00,5Z"', '"2026-02-28T10:00:00.Z"', '"2026-02-28T10:00:0\u0663Z"', "[]"),
    *('"2026-02-28T10:00Z"', '"20260228T100000Z"', '" 2026-02-28T10:00:00Z "', "1772330400"),
    *('"1772330400000"', '"1772330400"', '"20260228"', '"202602281000"', '"20260228100000"'),
    *("1772330400.25", "1772330400123", "1772330400123456789", "-5.5", "1e999", "true", "1e99"),
    *('"1772330400"', '"2026-02-28T10:00:00\\u005a"', '"2027-01-01T00:00:00Z"', '"\\ud800"'),
)
_NUMBERS: Final = (
    *("0", "-0", "-0.0", "1e15", "1.0000000001e15", "-1e15", "1e-12", "9.99e-13", "5e-324", "1E+2"),
    *("1e999", "-1e999", "NaN", "Infinity", "-Infinity", "01", "1.", ".5", "+1", "-", "0x1", "1_0"),
    *("true", "null", '"1"', "[1]", "{}", "9007199254740993", "0.1e1", "1" + "0" * 400, "9" * 30),
    *("1" * 5000, "0.12345678901234567890123456789", "4.9406564584124654e-324", "1e-400"),
)
_UNITS: Final = (
    '"kg"',
    '"lb"',
    '"g"',
    '"K"',
    '"degC"',
    '"degF"',
    '""',
    '"k\\u0067"',
    '"?"',
    "1",
    "null",
)
_KEYS: Final = (
    '"a"',
    '""',
    "7",
    '"a\\nb"',
    '"' + "k" * 257 + '"',
    "null",
    '"\\""',
    '"\\ud83d\\ude00"',
)
_EXTRA: Final = (
    *(
        '"x": 1',
        '"x": {"a": 1, "b": [1, {}]}',
        '"x": {"a": 1, "\\u0061": 2}',
        '"": 0',
        '"x": "\\""',
    ),
    *('"lower": 1', '"lower": 1, "upper": 9', '"upper": 1, "lower": 9', '"p": 0.9', '"p": 90'),
    *('"U": 3', '"U": 3, "k": 2', '"k": 0', '"id": "r"', '"rev": 1', '"status": "final"'),
    *('"status": "void"', '"seq": "1"', '"sensor": "s1"', '"sensor": "t"', '"reference_id": "S3"'),
    *('"end": "2026-02-28T11:00:00Z"', '"event": "moved"', '"note": "n"', '"x": "\\ud800"'),
    *('"subject": "S3"', '"start": "2026-02-28T09:00:00Z"', '"x": ' + "[" * 99 + "]" * 99),
    *('"x": ' + "[" * 200 + "]" * 200, '"x": "\udc80"', '"distance_m": 5'),
)


_CASES: Final = (
    *(each for each in MESSAGES.values() if each.settings == "own"),
    Messages("own", "plain/s1/mass/reading", seeds.READING, "native"),
    Messages("own", "plain/s1/mass/reference", seeds.REFERENCE, "native"),
    Messages("own", "native/s1/event", seeds.EVENT, "native"),
    Messages("own", "native/s1/collocation", seeds.COLLOCATION, "native"),
)


def _settings(more: str) -> Settings:
    others = seeds.SETTINGS.decode().removeprefix("sources:\n")
    return parse(f"{_SOURCES}{others}{more}".encode(), "f")


_SETTINGS: Final = (
    _settings(""),
    _settings("mqtt: {max_packet_bytes: 300}\n"),
    _settings(_MAINTENANCE),
)


class Difference(Exception):  # noqa: N818 - what is found, not a fault of the program
    """A message that says one thing alone and another together."""


class Daemon(NamedTuple):
    """A router with what it learned."""

    router: Router
    births: Births
    units_dump: Callable[[], bytes]

    @classmethod
    def of(cls, settings: Settings) -> Daemon:
        """Return a new one."""
        births, units = Births(), units_of(settings)
        return cls(router_of(settings, births, units), births, units.dump)

    def learned(self) -> tuple[bytes, bytes]:
        """Return births and units."""
        return self.births.dump(), self.units_dump()

    def alone(self, sent: Sequence[Sent], retained: Collection[int] = ()) -> list[list[str]]:
        """Return what each message says to the decoder."""
        found = []
        for at, (topic, payload) in enumerate(sent):
            seen, error = self.router.trace(topic, payload, RECEIVED, is_retained=at in retained)
            said = [error] if error is not None else [one for each in seen for one in each.found]
            found.append(sorted(map(written, said)))
        return found

    def together(
        self, sent: Sequence[Sent], size: int, retained: Collection[int] = ()
    ) -> list[list[str]]:
        """Return what each message says among so many."""
        found = []
        for first in range(0, len(sent), size):
            part = sent[first : first + size]
            topics, payloads = [topic for topic, _ in part], [payload for _, payload in part]
            old = [at for at in range(len(part)) if first + at in retained]
            decoded = self.router.decode_all(topics, payloads, RECEIVED, None, old)
            found += by_message(decoded, len(part))
        return found


def by_message(decoded: Decoded, count: int) -> list[list[str]]:
    """Return what each message of a batch said."""
    found: list[list[str]] = [[] for _ in range(count)]
    for at, each in zip(decoded.sources, decoded.observations, strict=True):
        found[at].append(written(each))
    for at, refused in decoded.refused:
        found[at].append(written(refused))
    return [sorted(each) for each in found]


def written(found: Found) -> str:
    """Return an observation bit for bit, or a refusal with all it says."""
    if isinstance(found, Rejected):
        return f"refused {found.reason} at {found.place!r} of {found.record}: {found.detail}"
    return f"{type(found).__name__} {msgspec.msgpack.encode(found).hex()}"


def compare(
    one: Daemon, all_: Daemon, sent: Sequence[Sent], size: int, retained: Collection[int] = ()
) -> int:
    """Compare messages alone with messages together, on daemons that had the same before.

    ``retained`` are the places of those that the broker had kept. Returns how many observations
    were accepted; raises Difference.
    """
    alone, together = one.alone(sent, retained), all_.together(sent, size, retained)
    for message, mine, theirs in zip(sent, alone, together, strict=True):
        if mine != theirs:
            raise Difference(f"{message}: alone {mine}, in reads of {size} {theirs}")
    if one.learned() != all_.learned():
        raise Difference(f"{sent}: {one.learned()} learned alone, {all_.learned()} together")
    return sum(not each.startswith("refused") for said in alone for each in said)


def compare_explained(settings: Settings, message: Sent) -> None:
    """Compare what explain says of a message with what a daemon without a past does."""
    topic, payload = message
    said = Daemon.of(settings).router.decode(topic, payload, RECEIVED)
    told = explain(settings, Message(topic, payload), RECEIVED)
    refused = [each for each in said if isinstance(each, Rejected)]
    source = "" if told.source is None else told.source.place
    expected = sorted(
        (each.reason, f"{source}.{each.place}" if each.place[:4] == "map." else each.place)
        for each in refused[:SHOWN_MAX]
    )
    if expected != sorted((each.reason, each.place) for each in told.refused):
        raise Difference(f"{message}: explain says {told.refused}, the daemon {expected}")
    if (len(said) - len(refused), len(refused)) != (told.observed_count, told.refused_count):
        raise Difference(f"{message}: explain says {told}, the daemon {said}")


# -- by chance ------------------------------------------------------------------------------------


def good_time(chance: random.Random) -> str:
    """Return a time as RFC 3339 writes it."""
    digits = chance.choice((0, 0, 0, 1, 3, 6, 7, 9, 12))
    fraction = "." + "".join(chance.choices("0123456789", k=digits)) if digits else ""
    if digits and chance.random() < 0.1:
        fraction = "." + "9" * digits
    zone = chance.choice(("Z", "Z", "Z", "z", "+00:00", "-00:00", "+13:00", "-0330"))
    clock = f"{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}"
    day = f"2026-{chance.randrange(1, 5):02}-{chance.randrange(1, 29):02}"
    return f'"{day}{chance.choice("TTTTt ")}{clock}{fraction}{zone}"'


def good_number(chance: random.Random) -> str:
    """Return a number that is not below zero."""
    kind = chance.randrange(5)
    if kind == 0:
        return str(chance.randrange(1000))
    if kind == 1:
        return repr(chance.random() * 10 ** chance.randrange(-5, 12))
    if kind == 2:
        return f"{chance.random():.{chance.randrange(1, 25)}f}"
    return f"{chance.uniform(0, 1000):.2f}"


def _name(chance: random.Random, name: str) -> str:
    if chance.random() < 0.02:
        at = chance.randrange(len(name))
        return f'"{name[:at]}\\u{ord(name[at]):04x}{name[at + 1 :]}"'
    return f'"{name}"'


def record(chance: random.Random, hostile: float) -> str:
    """Return a JSON object with a time, a value and u, as somebody might write it."""
    odd = chance.random() < hostile
    members = [
        ("time", chance.choice(_TIMES) if odd and chance.random() < 0.4 else good_time(chance)),
        (
            "value",
            chance.choice(_NUMBERS) if odd and chance.random() < 0.3 else good_number(chance),
        ),
        ("u", chance.choice(_NUMBERS) if odd and chance.random() < 0.3 else good_number(chance)),
    ]
    if chance.random() < 0.15:
        members.append(("unit", chance.choice(_UNITS) if odd else '"kg"'))
    if chance.random() < 0.1:
        members.append(("key", chance.choice(_KEYS) if odd else '"k1"'))
    if odd and chance.random() < 0.2:
        members.append((chance.choice(members)[0], chance.choice(members)[1]))
    if odd and chance.random() < 0.2:
        members.pop(chance.randrange(len(members)))
    if odd or chance.random() < 0.1:
        chance.shuffle(members)
    texts = [f"{_name(chance, name)}: {value}" for name, value in members]
    if odd and chance.random() < 0.4:
        texts.insert(chance.randrange(len(texts) + 1), chance.choice(_EXTRA))
    return "{" + chance.choice((", ", ",", " ,\n")).join(texts) + "}"


def payload_of(chance: random.Random, topic: str, hostile: float) -> bytes:
    """Return a payload for a source of native messages or of mapped JSON."""
    count = chance.choice((1, 1, 1, 2, 5))
    text = record(chance, hostile)
    if topic.startswith(("many", "data", "arrivalref")):
        text = f"[{','.join(record(chance, hostile / count) for _ in range(count))}]"
    if topic.startswith("data"):
        text = f'{{"data": {text}}}'
    if topic.startswith("arrival") and chance.random() < 0.5:
        text = text.replace('"time"', '"arrival"')  # a member of that name is no time
    raw = text.encode("utf-8", "surrogateescape")
    if chance.random() < 0.2 * hostile:
        at = chance.randrange(len(raw))
        raw = chance.choice(
            (
                b"\xef\xbb\xbf" + raw,
                raw[:at],
                raw + chance.choice((b"}", b" ", b"\0", raw)),
                raw[:at] + bytes([chance.randrange(256)]) + raw[at + 1 :],
                text.encode("utf-16", "replace"),
            )
        )
    return raw


def batch(chance: random.Random, count: int, pools: dict[int, Pool]) -> list[Sent]:
    """Return messages of a few topics."""
    hostile = chance.choice((0.0, 0.02, 0.5, 1.0))
    topics = chance.choices((*_TOPICS, *_MAPPED), k=chance.choice((1, 2, 6)))
    others = chance.random() < 0.3
    made: list[Sent] = []
    for _ in range(count):
        if others and chance.random() < 0.5:
            at = chance.randrange(len(_CASES))
            case = _CASES[at]
            pool = pools.setdefault(at, Pool(case.seeds))
            made.append((case.topic, mutated(chance, pool, case.tokens, case.codec)))
        else:
            topic = chance.choice(topics)
            made.append((topic, payload_of(chance, topic, hostile)))
        if chance.random() < 0.02:
            made[-1] = chance.choice(made)
    return made


class Tally(NamedTuple):
    """How much was compared."""

    batches: int
    messages: int
    accepted: int


def campaign(
    seed: str, batches: int, sizes: Sequence[int] | None = None, explained: float = 0.002
) -> Tally:
    """Compare so many batches; raises Difference.

    Without ``sizes`` most batches are small; of a share of batches one message is ``explained``.
    """
    chance = random.Random(seed)
    pools: dict[int, Pool] = {}
    messages = accepted = 0
    for number in range(batches):
        if number % _BATCHES_A_DAEMON == 0:
            settings = chance.choices(_SETTINGS, (8, 1, 1))[0]
            one, all_ = Daemon.of(settings), Daemon.of(settings)
        size = chance.choices(sizes or SIZES, None if sizes else (600, 390, 9, 1))[0]
        sent = batch(chance, max(1, int(size * chance.uniform(0.5, 1.5))), pools)
        messages += len(sent)
        share = chance.choice((0.0, 0.0, 0.1, 1.0))
        retained = frozenset(at for at in range(len(sent)) if chance.random() < share)
        accepted += compare(one, all_, sent, size, retained)
        if chance.random() < explained:
            compare_explained(settings, chance.choice(sent))
    return Tally(batches, messages, accepted)
