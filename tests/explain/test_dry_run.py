"""Which source reads a topic, and what becomes of messages in turn."""

from __future__ import annotations

import json

import pytest
from harness.explained import (
    AIR,
    BIRTH,
    KALMAN,
    LAB,
    NOW_SECONDS,
    PROCESS,
    RULES,
    STATIC,
    VENDOR,
    WEIGHING,
    data,
)

from monitor.config import parse
from monitor.explain import Message, explain


def test_a_revision_changes_the_pair_and_a_void_by_name_takes_it_back(document):
    final = json.dumps({**json.loads(LAB[1]), "value": 0.8421, "status": "final"})
    void = '{"sample":"S-88121","status":"void"}'
    before = (BIRTH, data(), LAB)

    (changed,) = document(PROCESS, (LAB[0], final), *before)["observed"][0]["pairs"]
    taken = document(PROCESS, (LAB[0], void), *before)["observed"][0]

    assert (changed["change"], changed["reference"]) == ("changed", pytest.approx(842.1))
    assert [pair["change"] for pair in taken["pairs"]] == ["taken back"]
    assert taken["status"] == "void"
    assert "withdraws the reference S-88121 of every subject" in taken["meaning"]


def test_an_outdone_revision_says_that_a_higher_one_stands(tell):
    final = json.dumps({**json.loads(LAB[1]), "status": "final"})

    assert tell(PROCESS, LAB, (LAB[0], final)).said("pair") == [
        "none: a higher revision of it is in force"
    ]


def test_a_correction_without_a_higher_rev_says_that_it_needs_one():
    settings, topic = parse(RULES.encode(), "f"), "monitor/AX-1/weight/reference"
    one, other = (
        Message(topic, b'{"time":"2026-03-01T10:00:00Z","value":%b}' % value)
        for value in (b"7.15", b"7.35")
    )
    told = [explain(settings, each, NOW_SECONDS, [other]).observed[0] for each in (one, other)]

    assert "a correction needs a higher rev" in told[0].unpaired
    assert told[1].unpaired == "it came before"


def test_an_event_says_that_it_begins_an_epoch_and_a_repetition_that_it_came_before():
    settings = parse(RULES.encode(), "f")
    event = Message("monitor/s/event", b'{"time":"2026-03-01T10:00:00Z","event":"adjusted"}')

    assert "begins an epoch" in explain(settings, event, NOW_SECONDS).observed[0].meaning
    again = explain(settings, event, NOW_SECONDS, [event])
    assert (again.outcome, again.observed[0].unpaired) == ("duplicate", "it came before")


def test_a_topic_of_no_source_shows_where_each_template_fails(tell):
    told = tell(WEIGHING, ("wow/otago/north/p03/readings", "{}"))

    (nearest,) = told.said("nearest")
    assert nearest.startswith(
        "sources[0], wow/{farm}/{race}/{platform}/reading: level 5 is 'readings'"
    )
    assert (
        "level 4 is 'p03', the template has 'static'; 5 does not fit either"
        in told.said("tried")[1]
    )
    (shorter,) = tell(AIR, ("ref/S3", "{}")).said("nearest")
    assert "level 3 is missing, the template has 'hourly'" in shorter


def test_empty_levels_of_a_topic_are_read_and_named_where_they_are_missing(tell, tmp_path):
    config = tmp_path / "wirenboard.yaml"
    config.write_text(
        """sources:
  - topic: /devices/{sensor}/controls/Temperature
    kind: reading
    decoder: json
    map: {time: arrival, series: [{quantity: t, value: $, unit: degC, assumed: "0.5"}]}
  - {topic: "/truth/{subject}/{quantity}/", kind: reference}
"""
    )
    reference = '{"time":"2026-03-01T11:59:00Z","value":21,"u":0.1}'

    told = tell(str(config), ("/devices/hall/controls/Temperature", "21.5"))
    assert told.code == 0
    assert "time: arrival; a retained message is not used" in told.out.replace("\n" + 13 * " ", " ")
    assert tell(str(config), ("/truth/hall/t/", reference)).code == 0
    (nearest,) = tell(str(config), ("/truth/hall/t", reference)).said("nearest")
    assert "level 5 is missing, the template has ''" in nearest


def test_the_first_source_that_fits_reads_a_message_and_others_are_named(tmp_path, tell):
    file = tmp_path / "two.yaml"
    file.write_text(f'{RULES}- {{topic: "monitor/{{sensor}}/weight/+", kind: reading}}\n')

    told = tell(str(file), ("monitor/s/weight/reading", "{}"))

    assert "sources[4] would fit too" in told.said("source")[0]


def test_what_came_before_is_told_with_its_fate(tell):
    told = tell(WEIGHING, VENDOR, STATIC, STATIC, ("x/y", "1"), (KALMAN[0], "[]"))

    used, again, unknown, bad = told.said("before")
    assert used.endswith("used: 1 reference")
    assert "a duplicate" in again
    assert "rejected: unknown_topic" in unknown
    assert "rejected: missing_field: time is missing at `$.ts`" in bad
