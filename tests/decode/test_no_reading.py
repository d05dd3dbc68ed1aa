"""What devices send when they have no value, and numbers in texts."""

from __future__ import annotations

import json
import math

import cbor2
import msgspec
import pytest

from monitor.config import parse
from monitor.config.core_plan import router_of
from monitor.core.model import Reading
from monitor.decode import Rejected
from monitor.decode.formats.sparkplug_payload import Payload

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
  - topic: "optional/{sensor}"
    kind: reading
    decoder: json
    map:
      time: arrival
      optional: true
      series: [{quantity: t, value: t, u: 1}, {quantity: q, samples: m}]
  - topic: "packed/{sensor}"
    kind: reading
    decoder: msgpack
    map: {time: arrival, series: [{quantity: t, value: t, u: 1}]}
  - topic: "senml/{sensor}"
    kind: reading
    decoder: senml
    map: {series: [{quantity: t, value: value, u: 1}]}
  - topic: "spBv1.0/{group}/{message}/{edge}/{sensor}"
    kind: reading
    decoder: sparkplug
    map: {time: arrival, optional: true, series: [{quantity: t, value: values.t, u: 1}]}
  - topic: "codes/{sensor}"
    kind: reading
    decoder: json
    map:
      {time: arrival, number_texts: true,
       series: [{quantity: t, value: t, u: 1, unit: degF, to_unit: degC,
                 error_values: [-127, 327.67]},
                {quantity: h, value: h, u: 1}]}
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
  - {topic: "monitor/{sensor}/{quantity}/reference", kind: reference}
"""
NATIVE = {"time": "2026-01-01T00:00:00Z", "value": 1.0, "u": 1.0}


def sparkplug(**metric: object) -> bytes:
    """Return a message with one metric."""
    payload = Payload(timestamp=int(NOW * 1000.0) - 1000, seq=1)
    payload.metrics.add(name="t", **metric)
    return payload.SerializeToString()


def decoded(topic: str, payload: str | bytes) -> list[Reading | Rejected]:
    body = payload if isinstance(payload, bytes) else payload.encode()
    return router_of(parse(SETTINGS, "f")).decode(topic, body, NOW)


@pytest.mark.parametrize("topic", ["text/a", "plain/a"])
@pytest.mark.parametrize(
    "payload",
    [
        "nan",
        "NaN",
        "-nan",
        '"nan"',
        "unavailable",
        '"Unavailable"',
        "unknown\n",
        "None",
        '"n/a"',
        '""',
        '"n.a."',
        '"\N{EM DASH}"',
    ],
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


@pytest.mark.parametrize(
    "topic", ["plain/a", "optional/a", "packed/a", "senml/a", "monitor/a/t/reading",
              "monitor/a/t/reference", "spBv1.0/g/DDATA/e/a"]
)  # fmt: skip
def test_an_empty_payload_clears_a_topic_and_is_no_reading(topic):
    (found,) = decoded(topic, b"")

    assert found.reason == "no_reading"


@pytest.mark.parametrize(
    ("payload", "place"),
    [('{"t": null}', "$.t"), ('{"m": null}', "$.m"), ('{"t": null, "m": null}', "$.t")],
)
def test_optional_values_that_are_all_null_are_no_reading(payload, place):
    (found,) = decoded("optional/a", payload)

    assert (found.reason, found.place) == ("no_reading", place)
    assert decoded("optional/a", '{"other": 1}') == []
    assert [each.quantity for each in decoded("optional/a", '{"t": null, "m": [4, 5]}')] == ["q"]


def test_several_values_that_are_all_null_are_no_reading():
    (found,) = decoded("object/a", '{"t":null,"h":null}')

    assert found.reason == "no_reading"


@pytest.mark.parametrize(
    ("topic", "payload"),
    [
        ("packed/a", msgspec.msgpack.encode({"t": math.nan})),
        ("packed/a", msgspec.msgpack.encode({"t": None})),
        ("senml/a", cbor2.dumps([{0: "x", 2: math.nan}])),
        ("senml/a", b'[{"n": "x", "v": null}]'),
        ("spBv1.0/g/DDATA/e/a", sparkplug(double_value=math.nan)),
        ("spBv1.0/g/DDATA/e/a", sparkplug(float_value=math.nan)),
        ("spBv1.0/g/DDATA/e/a", sparkplug(is_null=True)),
    ],
)
def test_nan_and_null_are_no_reading_in_every_format(topic, payload):
    (found,) = decoded(topic, payload)

    assert found.reason == "no_reading"


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_a_value_that_is_infinite_is_a_fault(value):
    (packed,) = decoded("packed/a", msgspec.msgpack.encode({"t": value}))
    (metric,) = decoded("spBv1.0/g/DDATA/e/a", sparkplug(double_value=value))

    assert packed.reason == metric.reason == "not_finite"


@pytest.mark.parametrize("value", ["-127", "-127.00", "327.67", '"-127,0"'])
def test_an_error_value_as_it_was_sent_is_no_reading_and_the_others_are_read(value):
    found = decoded("codes/a", f'{{"t":{value},"h":4}}')

    (refused,) = [each for each in found if isinstance(each, Rejected)]
    (reading,) = [each for each in found if isinstance(each, Reading)]
    assert (refused.reason, refused.place) == ("no_reading", "$.t")
    assert "one of error_values" in refused.detail
    assert (reading.quantity, reading.value) == ("h", 4.0)


def test_a_value_beside_error_values_is_read():
    values = [each.value for each in decoded("codes/a", '{"t":-126.99,"h":-127}')]

    assert values == [pytest.approx((-126.99 - 32.0) / 1.8), -127.0]


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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1.021,5", "without what separates its thousands"),
        ("1 021.5", "without what separates its thousands"),
        ("<0.5", "beyond a limit"),
    ],
)
def test_a_text_that_is_nearly_a_number_is_refused_with_what_it_is(text, says):
    (refused,) = decoded("text/a", json.dumps(text))

    assert refused.reason == "bad_field"
    assert says in refused.detail


def test_a_text_in_place_of_a_number_is_told_what_to_do():
    for stated in ("21.5", "21,5"):
        (found,) = decoded("monitor/a/t/reading", json.dumps({**NATIVE, "value": stated}))
        assert "send 21.5 without quotes" in found.detail
        assert "number_texts: true" in found.detail
