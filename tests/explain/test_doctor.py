"""Findings of the doctor on a daemon at its limits."""

from __future__ import annotations

import json

import pytest

from monitor.daemon.examination import examined
from monitor.explain.doctor import doctor_report, text
from tests.daemon.test_examination import START, Message, both, message, opened, sensors, take


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("series: {max: 3}", "series.max is reached (3)"),
        ("series: {max_new_per_minute: 3}", "5 new series wait, as series.max_new_per_minute is 3"),
    ],
)
def test_the_doctor_names_the_limit_and_calls_no_sensor_misspelt(tmp_path, more, wanted):
    with opened(tmp_path, more) as parts:
        take(parts, [each for name in sensors(8) for each in both(name, START)], START)
        told = text(doctor_report(examined(parts, START), None))

    assert wanted in told
    assert "agree" not in told
    assert "s-0004" not in told.replace("'monitor/s-0004/x/reading'", "")


def test_a_misspelt_subject_is_named_where_no_limit_is_reached(tmp_path):
    with opened(tmp_path) as parts:
        take(parts, [each for name in sensors(8) for each in both(name, START)], START)
        take(parts, [message("reading", "cart-4", START, 9.0, u=1.0)], START)
        take(parts, [message("reference", "Cart 4", START, 9.0)], START)
        told = text(doctor_report(examined(parts, START), None))

    assert "('cart-4' and 'Cart 4' nearly agree)" in told
    assert "series.max" not in told


def test_a_wrong_time_zone_and_a_median_gap_are_told_as_they_are(tmp_path):
    with opened(tmp_path) as parts:
        for minute in range(60):
            time = START + 60.0 * minute
            take(parts, [message("reading", "s", time + 46_800.0, 9.0, u=1.0)], START + 50_400.0)
            if minute % 5 == 0:
                take(parts, [message("reference", "s", time, 8.0)], START + 50_400.0)
        told = text(doctor_report(examined(parts, START), None))

    assert "the nearest reading is 12 h 32 min after its reference (median), the tolerance" in told
    assert "; 13 h earlier, the readings would meet their references: is a time zone wrong?" in told


def test_references_of_another_time_than_the_collocation_and_withdrawn_ones_are_told(tmp_path):
    window = {"subject": "S3", "start": "2025-12-01T00:00:00Z", "end": "2025-12-02T00:00:00Z"}
    more = """
sources:
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
  - {topic: "monitor/{sensor}/collocation", kind: collocation}
"""
    with opened(tmp_path, more) as parts:
        take(parts, [Message("monitor/n1/collocation", json.dumps(window).encode())], START)
        take(parts, [message("reading", "n1", START, 9.0, u=1.0)], START)
        voids = [message("reference", "n1", START, 8.0, id=f"{n}", status="void") for n in range(3)]
        take(parts, voids, START)
        withdrawn = text(doctor_report(examined(parts, START), None))
        take(parts, [message("reference", "S3", START, 8.0)], START)
        elsewhere = text(doctor_report(examined(parts, START), None))

    assert "1 reading and 0 references may still pair" in withdrawn
    assert "no reference of this quantity is left (withdrawn: 3)" in withdrawn
    assert (
        "its subject stood beside the sensor. Sensors: 'n1'; the references are about 'S3'. Corr"
        in (elsewhere)
    )


FLOORS = """
sources:
  - topic: "home/{floor}/{sensor}/t"
    kind: reading
    decoder: json
    map: {time: ts, SENSORseries: [{quantity: t, value: t, u: MORE}]}
  - {topic: "PLAIN", kind: reading}
"""
NAMED_APART = 'sensor: "{floor}.{sensor}", '


@pytest.mark.parametrize("u", ["u", "u, scale: 1.5"])  # read in batches, and one by one
@pytest.mark.parametrize(
    ("topics", "sensor", "wanted"),
    [
        (["home/attic/hall/t", "home/cellar/hall/t"], "", 'such as "{floor}.{sensor}"'),
        (["home/attic/hall/t", "home/cellar/hall/t"], NAMED_APART, ""),
        (["home/attic/hall/t", "home/cellar/loft/t"], "", ""),
        (["home/attic/hall/t", "home/cellar/hall/t!"], "", ""),  # the second is never readable
        (["a/1/hall/t", "a/2/hall/t"], "", 'such as "upstairs.{sensor}"'),
        (["a/1/hall/t", "a/1/hall/x"], "", ""),
        (["home/attic/hall/t", "a/1/hall/t"], "", 'such as "upstairs.{sensor}"'),
    ],
)
def test_a_sensor_read_on_two_topics_is_named_with_both(tmp_path, u, topics, sensor, wanted):
    more = FLOORS.replace("SENSOR", sensor).replace("PLAIN", "a/+/{sensor}/{quantity}")
    with opened(tmp_path, more.replace("MORE", u)) as parts:
        for second in range(4):
            stamp = f"2026-01-01T00:00:0{second}Z"
            texts = [
                f'{{"ts": "{stamp}", "time": "{stamp}", "t": {second}, "value": {second}, "u": 1}}'
                for _ in topics
            ]
            messages = [
                Message(topic.rstrip("!"), b"off" if topic.endswith("!") else body.encode())
                for topic, body in zip(topics, texts, strict=True)
            ]
            take(parts, messages, START + 10.0)
        assert parts.intake.counts.committed
        said = text(doctor_report(examined(parts, START + 10.0), None))

    one, other = sorted(topics)
    assert (f"t: 'hall' is read on 2 topics, such as {one!r} and {other!r}" in said) == bool(wanted)
    assert wanted in said
    assert ("two sensors" in said) == bool(wanted)


def test_of_many_sensors_with_two_topics_a_few_are_described_and_ten_more_named(tmp_path):
    more = 'sources: [{topic: "a/+/{sensor}/{quantity}", kind: reading}]'
    with opened(tmp_path, more) as parts:
        body = b'{"time": "2026-01-01T00:00:00Z", "value": 1, "u": 1}'
        topics = [f"a/{place}/s{at:02}/t" for place in "xy" for at in range(15)]
        take(parts, [Message(topic, body) for topic in topics], START)
        lines = text(doctor_report(examined(parts, START), None)).splitlines()

    assert [line[:9] for line in lines if "is read on 2 topics" in line] == [
        f"* t: 's{at:02}" for at in range(3)
    ]
    names = ", ".join(f"'s{at:02}'" for at in range(3, 13))
    assert f"* several topics also carry {names}, ..." in lines
