"""A message means the same alone, among others, and to explain: accelerators add speed alone."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from fuzz import differential
from fuzz.differential import RECEIVED, Daemon, Difference, campaign, compare, compare_explained

from monitor.config import parse
from monitor.core.model import Reading, Reference
from monitor.decode import Rejected, Route, Router
from monitor.decode.accelerators import Gathered, batch_native, batch_records

BATCHES = {1: 400, 2: 200, 101: 12, 1000: 2}
SETTINGS = parse(
    b"""sources:
- {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
- {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
- {topic: "mapped/{sensor}/{quantity}", kind: reading, decoder: json,
   map: {each: $, time_unit: s, series: [{value: value, u: u}]}}
- {topic: "mapped/{subject}/{quantity}/reference", kind: reference, decoder: json,
   map: {time: t, series: [{value: v, u: s}]}}
""",
    "f",
)
READING, REFERENCE = "monitor/s/mass/reading", "monitor/s/mass/reference"
MAPPED, MAPPED_REFERENCE = "mapped/s/mass", "mapped/s/mass/reference"
TIME = "2026-02-28T10:00:00Z"


@pytest.mark.parametrize("size", BATCHES)
def test_messages_say_together_what_they_say_alone(size):
    tally = campaign(f"tests {size}", BATCHES[size], [size], explained=0.1)

    assert tally.accepted > tally.messages / 4


def native(**changed):
    return json.dumps({"time": TIME, "value": 1.5, "u": 0.5, **changed}).encode()


def text(**changed):
    """Return a payload with members as they are written."""
    members = {"time": f'"{TIME}"', "value": "1.5", "u": "0.5", **changed}
    return (
        f"{{{', '.join(f'{json.dumps(name)}: {each}' for name, each in members.items())}}}".encode()
    )


PLAIN = [
    *(native(value=value) for value in (51.5, -1.5, 0, -0.0, 1e15, -1e15)),
    *(text(value=value) for value in ("-0", "0.12345678901234567", "1E+2", "5e-324", "1e-400")),
    *(native(u=u) for u in (1e-12, 1e15)),
    native(unit="kg"),
    native(key="k"),
    native(key="a", seq="7"),
    native(lower=1.0, upper=2.0, p=0.9),
    *(
        native(time=time)
        for time in (
            "2026-02-28T10:00:00.1234567Z",
            "2026-02-28T10:00:00.9999999Z",
            "2026-02-28t10:00:01z",
            "2026-02-28 23:00:00.25+13:00",
            "0001-01-01T00:00:00Z",
        )
    ),
]
ODD = [
    *(text(value=value) for value in ("01.5", "1e999", "NaN", "-", '"1.5"', "1" * 400, "null")),
    *(text(u=u) for u in ("0", "-0.0", "1e-13", "1e16", '"1"')),
    *(native(key=key) for key in ("a\n", "k" * 257, 7, None, "")),
    *(native(unit=unit) for unit in ("g", "lb", "K", "", "k9", 1, None)),
    *(
        native(time=time)
        for time in ("x", "2026-02-28T10:00:00", "2027-01-01T00:00:00Z", "2026-02-28", 7, None)
    ),
    native(time="0001-01-01T00:00:00+13:00"),
    native(lower=2.0, upper=1.0),
    native(U=1.0),
    native(id="s1"),
    native(rev=1),
    native(other={"a": [1]}),
    native()[:-1] + b', "value": 1.5}',
    b'{"time": "x", ' + native()[1:],
    native()[:-1] + b', "tim\\u0065": "x"}',
    native()[:-1] + b', "x": {"a": 1, "a": 1}}',
    native() + b"}",
    native() + b" ",
    b"\xef\xbb\xbf" + native(),
    native(key="?").replace(b"?", rb"\ud800"),
    native(key="?").replace(b"?", rb"\""),
    native(key="?").replace(b"?", b"\xff"),
    native().decode().encode("utf-16"),
    b"",
]


@pytest.mark.parametrize("topic", [READING, REFERENCE])
@pytest.mark.parametrize("payload", [*PLAIN, *ODD], ids=lambda payload: str(payload[:80]))
def test_a_native_payload_says_the_same_at_every_size_of_a_read(topic, payload):
    for many in (1, 2, 101, 1000):
        sent = [(topic, native(value=at)) for at in range(many)]
        sent[many // 2] = (topic, payload)
        one, together = Daemon.of(SETTINGS), Daemon.of(SETTINGS)

        assert compare(one, together, sent, many) >= many - 1
    compare_explained(SETTINGS, (topic, payload))


@pytest.mark.parametrize(
    "body",
    [
        '{"time": 1772272800, "time": 1772272801, "value": 1, "u": 1}',
        '{"time": "x", "value": 1, "u": 1, "time": 1772272800}',
        '{"time": 1772272800, "value": 1, "u": 1, "more": {"a": 1, "a": 2}}',
        '{"time": 1772272800, "value": 1, "u": 1, "more": [{"a": 1, "\\u0061": 2}]}',
        '{"time": 1772272800, "value": 1, "u": 1, "more": "\\ud800"}',
        '{"time": 1772272800, "value": 1, "u": 1, "more": "\udc80"}',
    ],
)
@pytest.mark.parametrize("many", [1, 2, 101, 1000])
def test_a_record_that_hides_something_is_refused_at_every_size_of_a_read(body, many):
    good = '{"time": 1772272800, "value": 1, "u": 1, "more": {"a": {"a": 1}}}'
    payloads = [f"[{good}]".encode()] * many
    payloads[many // 2] = f"[{good}, {body}]".encode("utf-8", "surrogateescape")
    daemon = Daemon.of(SETTINGS)

    found = daemon.router.decode_all([MAPPED] * many, payloads, RECEIVED)

    assert [(at, refused.reason) for at, refused in found.refused] == [(many // 2, "bad_payload")]
    assert len(found.observations) == many - 1


def test_a_reference_with_seven_digits_is_one_reference_by_every_way():
    stamp = "2026-02-28T10:00:00.1234567Z"
    mapped = json.dumps({"t": stamp, "v": 5.0, "s": 0.5}).encode()
    daemon = Daemon.of(SETTINGS)
    first = daemon.router.decode_all([MAPPED_REFERENCE], [mapped], RECEIVED).observations
    later = daemon.router.decode_all([MAPPED_REFERENCE] * 2, [mapped] * 2, RECEIVED).observations
    ((seen,), _) = daemon.router.trace(MAPPED_REFERENCE, mapped, RECEIVED)

    assert [*first, *later, *seen.found] == [first[0]] * 4
    assert isinstance(first[0], Reference)


# -- what it would find ---------------------------------------------------------------------------


def test_plain_messages_go_by_accelerators(monkeypatch):
    """Else nothing would be compared."""
    count = Counter()
    add_good = Gathered.add_good

    def counted(self, rows, places, are_good, *, are_references):
        count[are_references] += int(are_good.sum())
        return add_good(self, rows, places, are_good, are_references=are_references)

    monkeypatch.setattr(Gathered, "add_good", counted)
    daemon = Daemon.of(SETTINGS)
    mapped = b'[{"time": 1772272800, "value": 1, "u": 1}]'
    sent = [(READING, native()), (REFERENCE, native()), (MAPPED, mapped)]
    daemon.together(sent * 10, 30)

    assert count == {False: 20, True: 10}


@pytest.mark.parametrize(
    ("module", "name", "wrong"),
    [
        (batch_records.Arrays, "_is_sound", lambda *_: True),
        (batch_native, "is_key", lambda _: True),
        (batch_native, "_QUOTES", 8),
        (differential, "written", lambda found: repr(found) + str(id(found))),
    ],
)
def test_a_fault_that_is_planted_is_found(monkeypatch, module, name, wrong):
    monkeypatch.setattr(module, name, wrong)

    with pytest.raises(Difference):
        campaign("planted", 3000, [1, 2], explained=0.0)


def test_readings_keep_their_order_whoever_reads_them():
    daemon = Daemon.of(SETTINGS)
    values = [float(at) if at % 7 else at + 0.125 for at in range(1000, 2500)]

    payloads = [native(value=value) for value in values]
    found = daemon.router.decode_all([READING] * len(values), payloads, RECEIVED)

    assert [each.value for each in found.observations] == values
    assert found.sources == list(range(len(values)))


def test_a_message_by_itself_is_a_batch_of_one():
    router = Router([Route("reading", "native", "", "monitor/{sensor}/{quantity}/reading")], 1000)
    (found,) = router.decode(READING, native(), RECEIVED)
    (refused,) = router.decode(READING, native(u=-1), RECEIVED)
    (unknown,) = router.decode("x", native(), RECEIVED)

    assert isinstance(found, Reading)
    assert isinstance(refused, Rejected)
    assert (refused.reason, refused.place) == ("bad_uncertainty", "$.u")
    assert (unknown.reason, unknown.place) == ("unknown_topic", "topic")
