"""A message means the same alone, among others, and to explain: accelerators add speed alone."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from fuzz import differential
from fuzz.differential import RECEIVED, Daemon, Difference, campaign

from monitor.config import parse
from monitor.core.model import Reading
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

    with pytest.raises(Difference):  # chance finds the rarest in some 1500 batches
        campaign("planted", 30_000, [1, 2], explained=0.0)


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
