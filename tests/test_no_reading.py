"""What devices send when they have no value, and numbers in texts."""

from __future__ import annotations

import json

import pytest

from monitor.config import parse
from monitor.config.core_plan import router_of
from monitor.core.model import Reading
from monitor.decode import Rejected

NOW = 1.8e9
SETTINGS = b"""
sources:
  - topic: "text/{sensor}"
    kind: reading
    decoder: json
    map: {time: arrival, number_texts: true, series: [{quantity: t, value: $, u: 1}]}
  - topic: "plain/{sensor}"
    kind: reading
    decoder: json
    map: {time: arrival, series: [{quantity: t, value: $, u: 1}]}
  - topic: "object/{sensor}"
    kind: reading
    decoder: json
    map:
      time: arrival
      series: [{quantity: t, value: t, u: 1}, {quantity: h, value: h, u: 1}]
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
  - {topic: "monitor/{sensor}/{quantity}/reference", kind: reference}
"""
NATIVE = {"time": "2026-01-01T00:00:00Z", "value": 1.0, "u": 1.0}


def decoded(topic: str, payload: str | bytes) -> list[Reading | Rejected]:
    body = payload if isinstance(payload, bytes) else payload.encode()
    return router_of(parse(SETTINGS, "f")).decode(topic, body, NOW)


@pytest.mark.parametrize("topic", ["text/a", "plain/a"])
@pytest.mark.parametrize(
    "payload",
    ["nan", "NaN", "-nan", '"nan"', "unavailable", '"Unavailable"', "unknown\n", "None", '"n/a"'],
)
def test_a_word_that_says_there_is_no_value_is_no_reading(topic, payload):
    (found,) = decoded(topic, payload)

    assert (found.reason, found.place) == ("no_reading", "$")


@pytest.mark.parametrize("value", [None, "nan", "unavailable", "UNKNOWN"])
def test_a_native_value_that_is_none_is_no_reading_also_among_others(value):
    payload = json.dumps({**NATIVE, "value": value})
    (found,) = decoded("monitor/a/t/reading", payload)
    router = router_of(parse(SETTINGS, "f"))
    many = [json.dumps(NATIVE).encode()] * 150 + [payload.encode()]
    together = router.decode_all(["monitor/a/t/reading"] * 151, many, NOW)

    assert (found.reason, found.place) == ("no_reading", "$.value")
    assert [(at, each.reason) for at, each in together.refused] == [(150, "no_reading")]


def test_null_alone_is_no_reading():
    (found,) = decoded("plain/a", "null")

    assert found.reason == "no_reading"


def test_of_several_values_the_others_are_read():
    (refused,) = [
        x for x in decoded("object/a", '{"t":"unavailable","h":4}') if type(x) is Rejected
    ]
    (reading,) = [x for x in decoded("object/a", '{"t":"unavailable","h":4}') if type(x) is Reading]

    assert refused.reason == "no_reading"
    assert (reading.quantity, reading.value) == ("h", 4.0)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("21,5", 21.5),
        ('"21,5"', 21.5),
        ('"-0,25"', -0.25),
        ('"1,234"', 1.234),
        ('" 3,5e2 "', 350.0),
    ],
)
def test_a_decimal_comma_is_understood_where_texts_are_numbers(text, number):
    (found,) = decoded("text/a", text)

    assert found.value == number


@pytest.mark.parametrize("text", ['"1,234.5"', '"1.234,5"', '"1,2,3"', '","', '"1,"', '"x"'])
def test_what_could_mean_two_numbers_is_refused(text):
    (found,) = decoded("text/a", text)

    assert found.reason == "bad_field"


def test_a_missing_or_odd_u_is_no_reason_to_say_that_there_is_no_reading():
    for u in (None, "nan", "unknown"):
        (found,) = decoded("monitor/a/t/reading", json.dumps({**NATIVE, "u": u}))
        assert found.reason in ("missing_uncertainty", "bad_field")
    (found,) = decoded("monitor/a/t/reading", json.dumps({**NATIVE, "time": "unknown"}))
    assert found.reason == "bad_field"


def test_a_text_in_place_of_a_number_is_told_what_to_do():
    for stated in ("21.5", "21,5"):
        (found,) = decoded("monitor/a/t/reading", json.dumps({**NATIVE, "value": stated}))
        assert "send 21.5 without quotes" in found.detail
        assert "number_texts: true" in found.detail
