"""Replaying: observations as messages, paced by their event times."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.cli import main
from monitor.core.model import (
    Collocation,
    Event,
    Reading,
    Reference,
)
from monitor.decode import Route, Router
from monitor.files import read_stream
from monitor.simulate.playback import (
    DEFAULT_TOPICS,
    KindTopics,
    ReplayError,
    native_message,
    replay,
    worded,
)

SMALL = Path(__file__).parents[1] / "small"
ROUTER = Router(
    [Route(kind, "native", "kg", template) for kind, template in DEFAULT_TOPICS._asdict().items()],
    payload_bytes_max=65_536,
)
NUMBERS = st.floats(min_value=-1e15, max_value=1e15).map(
    lambda number: number + 0.0
)  # -0.0 is kept as 0.0
UNCERTAINTIES = st.floats(min_value=1e-12, max_value=1e15)
START = 1_772_298_764.0
TIMES = st.integers(946_684_800_000_000, 4_000_000_000_000_000).map(
    lambda microseconds: microseconds / 1e6
)
NAMES = st.from_regex(r"\A[A-Za-z0-9_.:-]{1,20}\Z")
KEYS = st.text(st.characters(categories=("L", "N", "P", "S")), max_size=20)


class Clock:
    """Stands still but for those who sleep."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def decoded(observation, unit=""):
    topic, payload = native_message(observation, unit=unit)
    (observation,) = ROUTER.decode(topic, payload, math.inf)
    return observation


@given(NAMES, NAMES, TIMES, NUMBERS, UNCERTAINTIES, KEYS, KEYS)
def test_a_reading_is_the_same_bits_for_the_daemon(sensor, quantity, time, value, u, key, seq):
    reading = Reading(sensor, quantity, time, value, u=u, key=key, sequence=seq)

    assert msgspec.json.encode(decoded(reading, "kg")) == msgspec.json.encode(reading)


@given(
    TIMES, NUMBERS.filter(lambda x: abs(x) <= 1e14), st.floats(1.0, 1e14), st.floats(0.001, 0.999)
)
def test_an_interval_is_the_same_bits_for_the_daemon(time, value, half_width, p):
    lower, upper = value - half_width, value + half_width
    reading = Reading("a", "mass", time, value, lower=lower, upper=upper, p=p)

    assert msgspec.json.encode(decoded(reading)) == msgspec.json.encode(reading)


@given(TIMES, NUMBERS, UNCERTAINTIES, KEYS, st.integers(0, 9), st.sampled_from([0, 1]))
def test_a_reference_is_the_same_bits_for_the_daemon(time, value, u, key, revision, rank):
    reference = Reference(
        "crush", "mass", time, value, u=u, key=key, identity=key, revision=4 * revision + rank
    )

    assert msgspec.json.encode(decoded(reference)) == msgspec.json.encode(reference)


@pytest.mark.parametrize(
    "observation",
    [
        Reference("crush", "mass", math.nan, math.nan, identity="S-1", revision=2, void=True),
        Reference(
            "crush", "mass", START + 600.0, 13.0, identity="h", start=START, end=START + 600.0
        ),
        Event("cart-01", START + 12.5, "adjusted", "as left"),
        Collocation("n0412", "S3", 0.0, 3600.0, 0.002),
    ],
)
def test_voids_means_events_and_collocations_survive_the_message(observation):
    assert msgspec.json.encode(decoded(observation)) == msgspec.json.encode(observation)


def test_what_is_not_stated_is_left_out_of_the_payload():
    reading = Reading("cart-01", "mass", 1772298764.5, 507.1, u=0.1)

    topic, payload = native_message(reading, unit="kg")

    assert topic == "monitor/cart-01/mass/reading"
    assert json.loads(payload) == {
        "time": "2026-02-28T17:12:44.500000Z",
        "value": 507.1,
        "unit": "kg",
        "u": 0.1,
    }


def test_topics_follow_the_templates():
    topics = KindTopics("wow/{sensor}/reading", "wow/{sensor}/{quantity}/static")

    reading, _ = native_message(Reading("a", "mass", 0.0, 1.0, u=1.0), topics)
    reference, _ = native_message(Reference("a", "mass", 0.0, 1.0), topics)

    assert (reading, reference) == ("wow/a/reading", "wow/a/mass/static")


@pytest.mark.parametrize("template", ["wow/{farm}/{sensor}", "wow/+/{sensor}", "all/readings"])
def test_a_template_that_no_topic_can_be_made_of_is_refused(template):
    with pytest.raises(ReplayError, match="nothing can be published"):
        native_message(Reading("a", "mass", 0.0, 1.0, u=1.0), KindTopics(reading=template))


def test_a_revision_that_the_payload_cannot_say_is_refused():
    with pytest.raises(ReplayError, match="revision 3"):
        native_message(Reference("a", "mass", 0.0, 1.0, revision=3))


@pytest.mark.parametrize(("speed", "expected"), [(1.0, [2.0, 3.0]), (10.0, [0.2, 0.3])])
def test_messages_are_paced_by_their_event_times(speed, expected):
    clock, sent = Clock(), []
    readings = [Reading("a", "mass", time, 1.0, u=1.0) for time in (50.0, 52.0, 51.0, 55.0)]

    count = replay(
        worded(readings),
        lambda topic, _payload: sent.append((clock.now, topic)),
        speed=speed,
        clock=clock,
        sleep=clock.sleep,
    )

    assert count == 4
    assert clock.slept == pytest.approx(expected)
    assert [time - 1000.0 for time, _ in sent] == pytest.approx(
        [0.0, 2.0 / speed, 2.0 / speed, 5.0 / speed]
    )


def test_a_slow_publisher_is_not_waited_for_again():
    clock = Clock()
    readings = [Reading("a", "mass", time, 1.0, u=1.0) for time in (0.0, 1.0, 2.0, 10.0)]

    def publish(_topic, _payload):
        clock.now += 3.0

    replay(worded(readings), publish, speed=1.0, clock=clock, sleep=clock.sleep)

    assert clock.slept == [pytest.approx(1.0)]


def test_without_a_speed_nobody_sleeps_and_a_void_without_time_passes():
    clock, sent = Clock(), []
    void = Reference("a", "mass", math.nan, math.nan, identity="1", revision=2, void=True)
    reading = Reading("a", "mass", 1e6, 1.0, u=1.0)

    replay(
        worded([reading, void]),
        lambda *m: sent.append(m),
        speed=None,
        clock=clock,
        sleep=clock.sleep,
    )
    replay(
        worded([void, reading]),
        lambda *m: sent.append(m),
        speed=1.0,
        clock=clock,
        sleep=clock.sleep,
    )

    assert len(sent) == 4
    assert clock.slept == []


def test_a_recorded_stream_reaches_the_decoder_bit_for_bit_with_its_units():
    stream = read_stream(SMALL / "stream.csv")
    clock, received = Clock(), []

    replay(
        worded(stream, units=stream.units),
        lambda topic, payload: received.append((topic, payload)),
        speed=None,
        clock=clock,
        sleep=clock.sleep,
    )

    observations = list(read_stream(SMALL / "stream.csv"))
    assert [msgspec.json.encode(*ROUTER.decode(*message, math.inf)) for message in received] == [
        msgspec.json.encode(observation) for observation in observations
    ]
    assert {json.loads(payload)["unit"] for _, payload in received} == {"kg"}


ARRIVING = """
journal: {{path: {folder}/journal.sqlite}}
sources:
  - topic: "{{sensor}}/value"
    kind: reading
    decoder: json
    map: {{time: arrival, series: [{{quantity: mass, value: $, u: 1}}]}}
  - topic: "{{subject}}/reference"
    kind: reference
    decoder: json
    map: {{time: arrival, series: [{{quantity: mass, value: $}}]}}
"""


def test_recorded_messages_without_times_arrive_when_they_did(tmp_path, capsys):
    settings, file = tmp_path / "monitor.yaml", tmp_path / "messages.jsonl"
    settings.write_text(ARRIVING.format(folder=tmp_path))
    sent = [(0, "a/value", "10"), (600, "a/value", "20"), (600, "a/reference", "20.5")]
    start = 1_772_298_600
    file.write_text(
        "".join(
            json.dumps({"time": start + at, "topic": topic, "payload": payload}) + "\n"
            for at, topic, payload in sent
        )
    )

    assert main(["replay", str(file), "--config", str(settings), "--direct"]) == 0
    assert main(["export", "--config", str(settings), "--out", "-"]) == 0

    printed = capsys.readouterr().out
    assert "3 messages in the journal" in printed
    (pair,) = [line for line in printed.splitlines() if line.startswith("2026-")]
    assert ",20.0," in pair
    assert ",20.5," in pair
