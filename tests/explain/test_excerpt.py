"""A refusal shows its place in the payload."""

from __future__ import annotations

import re

import msgspec
import pytest
from harness.explained import T, sparkplug

from monitor.decode import REASONS

REFUSALS = {
    # case: topic, payload, reason, place, what is marked in the payload
    "no such topic": ("one/s/t", "1", "unknown_topic", "topic", ""),
    "oversize": ("one/s", " " * 3000, "oversize", "mqtt.max_packet_bytes", ""),
    "not JSON": ("one/s", '{"t":x}', "bad_payload", "byte 5", "x"),
    "cut off": ("one/s", '{"t":1', "bad_payload", "byte 6", ""),
    "no zone": ("one/s", '{"t":"2026-03-01T10:00:00","v":1}', "naive_time", "$.t", None),
    "no such time": ("one/s", '{"t":"noon","v":1,"e":{"u":1}}', "bad_field", "$.t", '"noon"'),
    "future": ("one/s", '{"t":"2027-01-01T00:00Z","v":1,"e":{"u":1}}', "future", "$.t", None),
    "no value": ("one/s", f'{{{T},"V":1}}', "missing_field", "$.v", ""),
    "no u": ("one/s", f'{{{T},"v":1,"e":{{"sd":1}}}}', "missing_field", "$.e.u", '{"sd":1}'),
    "text": ("one/s", f'{{{T},"v":"1","e":{{"u":1}}}}', "bad_field", "$.v", '"1"'),
    "u of 0": ("one/s", f'{{{T},"v":1,"e":{{"u":0}}}}', "bad_uncertainty", "$.e.u", "0"),
    "huge": ("one/s", f'{{{T},"v":1e300,"e":{{"u":1}}}}', "out_of_range", "$.v", "1e300"),
    "other unit": ("one/s", f'{{{T},"v":1,"e":{{"u":1}},"unit":"V"}}', "unit", "$.unit", '"V"'),
    "quality": ("one/s", f'{{{T},"v":1,"q":"BAD"}}', "quality", "$.q", '"BAD"'),
    "key": ("one/s", f'{{{T},"v":1,"k":"a\\u0007"}}', "bad_name", "$.k", '"a\\u0007"'),
    "split": ("one/s", f'{{{T},"v":1,"tag":"ab"}}', "bad_name", "$.tag", '"ab"'),
    "name": ("one/s\x7fs", "1", "bad_name", "topic", ""),
    "inverted": ("wide/s", f'{{{T},"v":1,"lo":3,"hi":2}}', "inverted_interval", "$.lo", "3"),
    "no width": ("wide/s", f'{{{T},"v":2,"lo":2,"hi":2,"p":0.9}}', "zero_width", "$.lo", "2"),
    "level": ("wide/s", f'{{{T},"v":1,"lo":0,"hi":2,"p":90}}', "bad_level", "$.p", "90"),
    "nothing stated": (
        "none/s", f'{{{T},"v":1}}', "missing_uncertainty", "sources[4].map.series[0]", "",
    ),
    "no list": ("many/s", f"{{{T}}}", "missing_field", "$.list", ""),
    "one of many": (
        "many/s", f'{{{T},"list":[{{"v":1,"u":-1}}]}}', "bad_uncertainty", "$.u", "-1",
    ),
    "time of many": ("many/s", '{"t":1e99,"list":[{"v":1,"u":1}]}', "out_of_range", "$.t", "1e99"),
    "maintenance": ("one/m", f'{{{T},"v":1,"e":{{"u":1}}}}', "maintenance", "maintenance", ""),
    "allow": ("one/z", f'{{{T},"v":1,"e":{{"u":1}}}}', "not_allowed", "series.allow", ""),
    "native": ("native/s/q", '{"time":"2026-03-01T10:00:00Z","value":true}', "bad_field", "$.value",
               "true"),
    "native u": ("native/s/q", '{"time":"2026-03-01T10:00:00Z","value":1,"sigma":1}',
                 "missing_uncertainty", "$", ""),
    "native interval": (
        "native/s/q", '{"time":"2026-03-01T10:00:00Z","lower":2,"upper":1}',
        "inverted_interval", "$.lower", "2"),
    "native unit": ("native/s/q", '{"time":"2026-03-01T10:00:00Z","value":1,"u":1,"unit":"lb"}',
                    "unit", "$.unit", '"lb"'),
    "native name": ("native/s/q", '{"time":"2026-03-01T10:00:00Z","value":1,"u":1,"sensor":"t"}',
                    "name_mismatch", "$.sensor", '"t"'),
    "native status": ("natref/s/q", '{"time":"2026-03-01T10:00:00Z","value":1,"status":"ok"}',
                      "bad_field", "$.status", '"ok"'),
    "senml": ("senml/s/q", '[{"bn":"a","bt":1772298600,"n":"kg","v":1},{"n":"kg_u","v":-1}]',
              "bad_uncertainty", "$.beside.kg_u", "-1.0"),
    "senml pack": ("senml/s/q", "{}", "bad_payload", "", ""),
    "line protocol": ("lp/s", "wow kg=1,u=-2", "bad_uncertainty", "$.fields.u", "-2.0"),
    "no line": ("lp/s", "wow", "bad_payload", "", ""),
    "csv": ("csv/s", "2026-03-01T10:00Z,1,x", "bad_field", "$.u", '"x"'),
    "cells": ("csv/s", "1,2", "bad_payload", "", ""),
    "msgpack": ("msgpack/s", "hex:82a17401a17692", "bad_payload", "", ""),
    "rows": (
        "msgpack/s",
        "hex:" + msgspec.msgpack.encode({"t": [1772298600], "v": ["a"], "u": [1]}).hex(),
        "bad_field", "$.v", '"a"',
    ),
    "sparkplug": ("spBv1.0/g/DDATA/e/s", "hex:ffff", "bad_payload", "", ""),
    "sparkplug null": (
        "spBv1.0/g/DDATA/e/s", sparkplug([{"name": "x", "datatype": 12, "string_value": "7"}]),
        "bad_field", "$.values.x", '"7"',
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_says_its_reason_with_the_place_and_shows_it(case, formats, tell, document):
    topic, payload, reason, place, marked = REFUSALS[case]

    told = tell(formats, (topic, payload))
    first = document(formats, (topic, payload))["refused"][0]

    assert told.code == 1
    assert (first["reason"], first["place"]) == (reason, place)
    assert first["meaning"] == REASONS[reason]
    assert told.said("rejected")[0].startswith(reason)
    assert re.sub(r"\s+", "", first["detail"]) in re.sub(r"\s+", "", told.out)
    assert not place or told.said("place")[0] == place
    if marked is not None:
        assert first["shown"]["at"] == marked
    line, under = next(
        (each, after)
        for each, after in zip(told.out.splitlines(), [*told.out.splitlines()[1:], ""], strict=True)
        if each.startswith("payload")
    )
    if first["shown"]["at"]:
        assert line[under.index("^") : under.rindex("^") + 1] == first["shown"]["at"]


def test_a_missing_field_names_those_that_are_there(formats, tell):
    told = tell(formats, ("one/s", f'{{{T},"V":1}}'))

    assert told.said("hint")[0].startswith("did you mean `$.V`? There are `t`, `V`")


def test_a_hint_for_a_name_with_a_point_is_a_path_that_works(tmp_path, tell):
    file = tmp_path / "monitor.yaml"
    settings = """sources:
- {topic: "t/{sensor}", kind: reading, decoder: json,
   map: {time: arrival, series: [{value: %s, u: 1}]}}
- {topic: "ref/{subject}/{quantity}", kind: reference}
"""
    message = ("t/s", '{"PMS":{"PM2.5":3,"PM10":4}}')

    file.write_text(settings % "PMS.PM25")
    path = tell(str(file), message).said("hint")[0].split("`")[1]

    assert path == '$.PMS["PM2.5"]'
    file.write_text(settings % f"'{path}'")
    assert "would be used" in tell(str(file), message).out
