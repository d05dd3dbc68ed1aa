"""``monitor explain``: what it shows of each format and refusal, and that the page is true."""

from __future__ import annotations

import io
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import cbor2
import msgspec
import pytest
from harness.programs import need
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from monitor.cli import main
from monitor.config import load, parse
from monitor.decode import DECODERS, REASONS
from monitor.decode.formats.sparkplug_payload import Payload
from monitor.explain import Message, explain
from monitor.explain.text import explanation_lines

PROJECT = Path(__file__).parents[2]
CONFIGS = PROJECT / "configs"
PAGE = PROJECT / "docs" / "formats.md"
NOW = "2026-03-01T12:00Z"
NOW_SECONDS = 1_772_366_400.0
WEIGHING, AIR, PROCESS = (str(CONFIGS / f"{name}.yaml") for name in ("weighing", "air", "process"))
VENDOR = (
    "wow/otago/north/p03/reading",
    (
        '{"eid":"982 000412345678","ts":"2026-03-01T06:12:44+13:00","kg":512,"lo":489,"hi":538,'
        '"level":0.9,"fw":"2.4"}'
    ),
)
KALMAN = (
    "wow/otago/north/p03/kalman",
    '{"eid":"982000412345678","ts":1772298764.2,"mean":507.1,"sd":11.8}',
)
STATIC = (
    "wow/otago/crush/static",
    '{"eid":"982000412345678","ts":"2026-03-01T07:40:10+13:00","kg":503.5,"u":0.6}',
)
LEGACY = ("wow/otago/north/p03/line", ",860,LB,$,GR,03/09/04,08:58,j")
NODE = (
    "aq/v2/dunedin/n0412/obs",
    (
        '{"t":1772298600,"int":600,"pm25":{"v":14.2,"u":3.1},"no2":{"v":22.0,"lo":11,"hi":35,'
        '"p":0.95},"rh":71,"loc":[-45.87,170.5]}'
    ),
)
LAB = (
    "lims/PlantA/result",
    (
        '{"sample":"S-88121","tag":"AT-4012.density","sampled_at":"2026-03-01T04:05:00Z",'
        '"reported_at":"2026-03-01T11:47:00Z","value":0.8412,"U":0.0006,"k":2,"unit":"g/cm3",'
        '"method":"D4052","status":"prelim"}'
    ),
)
ANALYSER = "spBv1.0/PlantA/{}/edge7/AT-4012"
SAMPLED_MS = 1_772_337_900_000  # 2026-03-01T04:05:00Z


def hour(start="2026-03-01T05:00Z", **more):
    body = {"start": start, "end": "2026-03-01T06:00Z", "pm25": 13.0, "u": 1.3, "flag": "V"}
    return "ref/S3/hourly", json.dumps({**body, "rev": 1, **more})


def sparkplug(metrics):
    payload = Payload(timestamp=SAMPLED_MS + 10_000, seq=1)
    for metric in metrics:
        payload.metrics.add(**metric)
    return f"hex:{payload.SerializeToString().hex()}"


BIRTH = (
    ANALYSER.format("DBIRTH"),
    sparkplug(
        [
            {"name": "density/value", "alias": 7, "datatype": 10},
            {"name": "density/U95", "alias": 8, "datatype": 10},
            {"name": "quality", "alias": 9, "datatype": 12},
        ]
    ),
)


def data(quality="GOOD"):
    metrics = [
        {"alias": 7, "double_value": 841.5},
        {"alias": 8, "double_value": 0.6},
        {"alias": 9, "string_value": quality},
    ]
    return ANALYSER.format("DDATA"), sparkplug(metrics)


class Told(SimpleNamespace):
    """What the command printed: ``code``, ``out``, ``err``, and ``said`` by label."""

    def said(self, label):
        """Return the lines under ``label``, continuation lines put together."""
        found, at = [], None
        for line in self.out.splitlines():
            if line[:13].strip():
                at = line[:13].strip() == label
                found += [""] * at
            elif not line:
                at = None
            if at:
                found[-1] = f"{found[-1]} {line[13:]}".strip()
        return found


@pytest.fixture
def tell(capsys):
    def run(config, message, *earlier, options=()):
        withs = [part for each in earlier for part in ("--with", *each)]
        code = main(["explain", "--config", config, "--now", NOW, *options, *withs, *message])
        out, err = capsys.readouterr()
        return Told(code=code, out=out, err=err)

    return run


@pytest.fixture
def document(tell):
    def run(config, message, *earlier):
        told = tell(config, message, *earlier, options=["--json"])
        return json.loads(told.out)

    return run


# -- the three trades -----------------------------------------------------------------------------


def test_a_pass_over_the_platform_and_the_static_weighing_are_a_pair(tell, document):
    told = tell(WEIGHING, VENDOR, STATIC)

    assert told.code == 0
    assert told.said("source")[0].startswith(
        "sources[0], wow/{farm}/{race}/{platform}/reading, a reading, decoder json"
    )
    assert told.said("fields") == ["farm = otago, race = north, platform = p03"]
    assert told.said("not read") == ["$.fw"]
    assert (
        ", kept as 2026-02-28T17:12:44Z (sent with the offset +13:00; 18 h 47 min before now)"
        in (told.said("time")[0])
    )
    assert '$.eid "982 000412345678", kept as 982000412345678' in told.said("key")[0]
    assert told.said("uncertainty") == ["coverage interval, kept as [489, 538] kg, p = 0.9"]
    assert told.said("series")[0].startswith("group otago; each reading with the reference")
    assert "at most 6 h away" in told.said("series")[0]
    assert "the last 60 pairs" in told.said("series")[0]

    (pair,) = document(WEIGHING, VENDOR, STATIC)["observed"][0]["pairs"]
    u = (538 - 489) / 2 / 1.6448536269514722
    assert pair["change"] == "made"
    assert (pair["value"], pair["reference"], pair["error"]) == (512, 503.5, 8.5)
    assert pair["u"] == pytest.approx(u)
    u_pair = 4.0 * math.sqrt(5246 / 3600)  # from 06:12:44 to 07:40:10
    assert pair["z"] == pytest.approx(8.5 / math.hypot(u, 0.6, u_pair))
    assert pair["sentence"] == "0.5 u_eff above the reference"
    assert (pair["u_stated"], pair["inside"]) == (False, True)


def test_the_reference_that_comes_last_makes_the_same_pairs(document):
    (observed,) = document(WEIGHING, STATIC, VENDOR, KALMAN)["observed"]

    assert observed["kind"] == "reference"
    assert sorted(pair["sensor"] for pair in observed["pairs"]) == [
        "otago.north.p03.kalman",
        "otago.north.p03.vendor",
    ]


def test_a_legacy_line_has_its_zone_its_unit_and_its_uncertainty_from_the_settings(tell, document):
    told = tell(WEIGHING, LEGACY)
    (observed,) = document(WEIGHING, LEGACY)["observed"]

    assert observed["value"] == pytest.approx(860 * 0.45359237)
    assert observed["uncertainty"]["u"] == pytest.approx(0.02 * 860 * 0.45359237 + 0.23)
    assert observed["uncertainty"]["assumed"] is True
    assert observed["time"]["utc"] == "2004-03-08T19:58:00Z"
    assert "no zone was sent: time_zone Pacific/Auckland" in told.said("time")[0]
    assert '$.weight "860", kept as 390.0894 kg (lb to kg: x 0.4535924)' in told.said("value")
    assert "assumed by the settings: 0.02 * abs(value) + 0.23" in told.said("uncertainty")[0]


def test_a_node_gives_two_readings_and_says_why_neither_has_a_pair(tell):
    told = tell(AIR, NODE, hour())

    assert (told.code, told.said("reading")) == (0, ["n0412, pm25", "n0412, no2"])
    assert told.said("verdict") == ["would be used: 2 readings"]
    assert told.said("not read") == ["$.int, $.rh, $.loc"]
    assert "seconds since 1970 UTC: time_unit" in told.said("time")[0]
    subject, quantity = told.said("pair")
    assert "another subject: the reference is about 'S3', the reading is of 'n0412'" in subject
    assert "another quantity: 'pm25' beside the reading's 'no2'" in quantity


def test_a_station_s_hour_has_identity_revision_and_can_be_taken_back(document):
    (made,) = document(AIR, hour())["observed"]
    taken, _no2 = document(AIR, hour(flag="I", rev=2), hour())["observed"]

    assert (made["identity"], made["revision"], made["status"]) == ("2026-03-01T05:00Z", 1, "")
    assert [read["kept"] for read in made["reads"] if read["what"] in ("start", "end")] == [
        "2026-03-01T05:00:00Z",
        "2026-03-01T06:00:00Z",
    ]
    assert (taken["revision"], taken["status"]) == (2, "void")


def test_a_lab_result_is_converted_and_pairs_with_the_analyser(tell, document):
    told = tell(PROCESS, LAB, BIRTH, data())
    (observed,) = document(PROCESS, LAB, BIRTH, data())["observed"]

    assert "$.value 0.8412, kept as 841.2 kg/m3 (g/cm3 to kg/m3: x 1000)" in told.said("value")
    assert told.said("uncertainty") == ["expanded uncertainty, k = 2, kept as u = 0.3 kg/m3"]
    assert told.said("not read") == ["$.reported_at, $.method"]
    (pair,) = observed["pairs"]
    u = 0.6 / 1.959963984540054
    assert pair["u"] == pytest.approx(u)
    assert pair["z"] == pytest.approx((841.5 - 841.2) / math.hypot(u, 0.3))
    assert pair["warning"].startswith("u_ref is 98% of u")


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


def test_an_alias_needs_its_birth(tell):
    told = tell(PROCESS, data())

    assert (told.code, told.said("verdict")) == (1, ["rejected: unknown_alias"])
    assert "--with TOPIC PAYLOAD" in told.said("hint")[0]


def test_what_says_nothing_is_not_rejected(tell):
    told = tell(PROCESS, (ANALYSER.format("DDEATH"), "hex:00"))

    assert (told.code, told.said("verdict")[0][:14]) == (0, "nothing to use")


# -- why no pair ----------------------------------------------------------------------------------

RULES = """sources:
- {topic: "monitor/{sensor}/{quantity}/reading", kind: reading, unit: kg}
- {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
- {topic: "monitor/{sensor}/collocation", kind: collocation}
- {topic: "monitor/{sensor}/event", kind: event}
"""
REFERENCE = {"time": "2026-03-01T10:00:00Z", "value": 500, "u": 1}


def native(kind, name="s", quantity="weight", **body):
    return Message(f"monitor/{name}/{quantity}/{kind}", json.dumps(body).encode())


def reading(time="2026-03-01T10:00:00Z", **more):
    return native("reading", **{"time": time, "value": 510, "u": 10, **more})


def why(more, message, *earlier):
    said = explain(parse((RULES + more).encode(), "f"), message, NOW_SECONDS, earlier)
    (observed,) = said.observed
    assert observed.pairs == []
    return observed.unpaired


NEAREST = "pairing: {tolerance_seconds: 60}"
WHYS = {
    "nothing came": (NEAREST, reading(), [], "no reference has come"),
    "quantity": (NEAREST, reading(), [("height", {})], "another quantity: 'height' beside"),
    "subject": (NEAREST, reading(), [("weight", {"name": "t"})], "another subject: the reference"),
    "key": (NEAREST, reading(key="1"), [("weight", {"key": "2"})], "another key: the reading has"),
    "spelling": (
        NEAREST,
        reading(key="98 2"),
        [("weight", {"key": "982"})],
        "they differ only in spaces or signs: key_remove",
    ),
    "case": (
        NEAREST,
        reading(key="ab"),
        [("weight", {"key": "AB"})],
        "differ only in case: key_case in the mapping makes them equal",
    ),
    "nearest of several": (
        NEAREST,
        reading(key="98 2"),
        [("height", {}), ("weight", {"key": "7"}), ("weight", {"key": "982"})],
        "key_remove",
    ),
    "tolerance": (
        NEAREST,
        reading("2026-03-01T10:01:30Z"),
        [("weight", {})],
        "30 s too far apart in time: reading and reference are 1 min 30 s apart, at most 1 min",
    ),
    "lag": (
        "pairing: {tolerance_seconds: 60, lag_seconds: 300}",
        reading(),
        [("weight", {})],
        "4 min too far apart in time",
    ),
    "asof": (
        "pairing: {mode: asof, tolerance_seconds: 60}",
        reading("2026-03-01T10:00:20Z"),
        [("weight", {})],
        "the reading is 20 s after the reference; asof takes those before it",
    ),
    "interpolate": (
        "pairing: {mode: interpolate, tolerance_seconds: 60}",
        reading("2026-03-01T10:00:20Z"),
        [("weight", {})],
        "no reading before the reference yet",
    ),
    "interval": (
        "pairing: {mode: mean_over_reference_interval, reading_seconds: 600}",
        reading(),
        [("weight", {})],
        "states no interval",
    ),
    "too few": (
        "pairing: {mode: mean_over_reference_interval, reading_seconds: 600}",
        reading("2026-03-01T09:30:00Z"),
        [("weight", {"start": "2026-03-01T09:00:00Z", "end": "2026-03-01T10:00:00Z"})],
        "too few readings yet: 5 of 10 min each are needed to cover 75 % of the reference's 1 h",
    ),
    "outside": (
        "pairing: {mode: mean_over_reference_interval, reading_seconds: 600}",
        reading("2026-03-01T08:30:00Z"),
        [("weight", {"start": "2026-03-01T09:00:00Z", "end": "2026-03-01T10:00:00Z"})],
        "30 min outside the reference's interval",
    ),
}


@pytest.mark.parametrize("case", WHYS)
def test_without_a_pair_it_says_why(case):
    more, message, references, expected = WHYS[case]
    earlier = [
        native("reference", quantity=quantity, **{**REFERENCE, **changed})
        for quantity, changed in references
    ]

    assert expected in why(more, message, *earlier)


def test_it_says_the_same_of_a_reference_without_a_reading():
    reference = native("reference", **REFERENCE)

    assert "no reading has come" in why(NEAREST, reference)
    assert "30 s too far apart in time" in why(NEAREST, reference, reading("2026-03-01T10:01:30Z"))
    assert "another reading or reference is nearer" in why(
        NEAREST,
        reading("2026-03-01T10:00:20Z"),
        native("reference", **REFERENCE),
        reading("2026-03-01T10:00:10Z"),
    )


def test_a_collocation_makes_the_pair_that_it_allows():
    settings = parse((RULES + NEAREST).encode(), "f")
    elsewhere = native("reference", name="S3", **REFERENCE)
    window = {"subject": "S3", "start": "2026-03-01T09:00:00Z", "end": "2026-03-01T11:00:00Z"}
    collocation = Message("monitor/s/collocation", json.dumps(window).encode())

    said = explain(settings, collocation, NOW_SECONDS, [elsewhere, reading()])
    half_past = "2026-03-01T11:30:00Z"
    too_late = native("reference", name="S3", **{**REFERENCE, "time": half_past})
    later = explain(settings, reading(half_past), NOW_SECONDS, [collocation, collocation, too_late])

    assert [pair.sentence for pair in said.observed[0].pairs] == ["1.0 u_eff above the reference"]
    stood = "S3 from 2026-03-01T09:00:00Z to 2026-03-01T11:00:00Z"
    assert later.observed[0].series.concerns == [stood]
    assert later.observed[0].unpaired == "'S3' did not stand beside 's' at that time"


def test_an_event_says_that_it_begins_an_epoch_and_a_repetition_that_it_came_before():
    settings = parse(RULES.encode(), "f")
    event = Message("monitor/s/event", b'{"time":"2026-03-01T10:00:00Z","event":"adjusted"}')

    assert "begins an epoch" in explain(settings, event, NOW_SECONDS).observed[0].meaning
    again = explain(settings, event, NOW_SECONDS, [event])
    assert (again.outcome, again.observed[0].unpaired) == ("duplicate", "it came before")


# -- refusals -------------------------------------------------------------------------------------

FORMATS = """sources:
- {topic: "native/{sensor}/{quantity}", kind: reading, unit: kg}
- {topic: "natref/{subject}/{quantity}", kind: reference}
- {topic: "one/{sensor}", kind: reading, decoder: json, unit: kg,
   map: {names: {tag: "{plant}.{unitname}"}, time: t, key: k, where: {q: [GOOD]},
         defaults: {q: GOOD, k: "", tag: a.b},
         series: [{value: v, u: e.u, unit_path: unit, unit: kg}]}}
- {topic: "wide/{sensor}", kind: reading, decoder: json,
   map: {time: t, series: [{value: v, lower: lo, upper: hi, p: p}], defaults: {p: 0.9}}}
- {topic: "none/{sensor}", kind: reading, decoder: json, map: {time: t, series: [{value: v}]}}
- {topic: "many/{sensor}", kind: reading, decoder: json,
   map: {each: list, time: $.t, series: [{value: v, u: u}]}}
- {topic: "senml/{sensor}/{quantity}", kind: reading, decoder: senml,
   map: {select: {local: [kg]}, series: [{value: value, u: beside.kg_u, unit_path: unit}]}}
- {topic: "lp/{sensor}", kind: reading, decoder: lineprotocol,
   map: {time_unit: ns, series: [{value: fields.kg, u: fields.u}]}}
- {topic: "csv/{sensor}", kind: reading, decoder: csv,
   map: {columns: [t, v, u], time: t, series: [{value: v, u: u}]}}
- {topic: "msgpack/{sensor}", kind: reading, decoder: msgpack,
   map: {columnar: $, time: t, series: [{value: v, u: u}]}}
- {topic: "spBv1.0/{group}/{message}/{edge}/{sensor}", kind: reading, decoder: sparkplug,
   map: {optional: true, time_unit: ms, where: {quality.x: [GOOD]},
         series: [{value: values.x, u: 1}]}}
maintenance: [{sensor: m, start: 2026-03-01T00:00Z, end: null}]
series: {allow: ["[!z]*"]}
mqtt: {max_packet_bytes: 2000}
"""
T = '"t":"2026-03-01T10:00:00Z"'
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


@pytest.fixture(scope="session")
def formats(tmp_path_factory):
    file = tmp_path_factory.mktemp("explain") / "formats.yaml"
    kinds = '- {topic: "r/{subject}/{quantity}", kind: reference}\n'
    file.write_text(FORMATS.replace("maintenance:", kinds + "maintenance:"))
    return str(file)


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


def test_good_records_are_used_and_bad_ones_shown(formats, tell):
    body = f'{{{T},"list":[{{"v":1,"u":1}},{{"v":2,"u":0}},{{"v":3,"u":1}}]}}'
    told = tell(formats, ("many/s", body))

    assert (told.code, told.said("verdict")) == (0, ["would be used: 2 readings"])
    assert told.said("reading") == ["s, value (record 0)", "s, value (record 2)"]
    assert told.said("rejected")[0].startswith("bad_uncertainty (record 1)")


def test_a_long_batch_is_cut_and_counted(formats, tell):
    batch = {"t": [1772298600 + at for at in range(130)], "v": list(range(130)), "u": 1}
    message = ("msgpack/s", "hex:" + msgspec.msgpack.encode(batch).hex())

    told = tell(formats, message)
    whole = tell(formats, message, options=["--all"])

    assert (len(told.said("reading")), len(whole.said("reading"))) == (5, 130)
    assert "... and 125 more observed; --all shows them" in told.out
    assert "more observed" not in whole.out


# -- forms of uncertainty beyond the page ---------------------------------------------------------


@pytest.mark.parametrize(
    ("series", "body", "form"),
    [
        ("{value: v, U: U}", '{"v":10,"U":3}', "k = 2, because neither k nor p is stated"),
        ("{value: v, lower: lo, upper: hi}", '{"v":1,"lo":0,"hi":3}', "scoring.level holds"),
        ('{value: v, u: u, assumed: "2"}', '{"v":10,"u":3}', "standard uncertainty, kept as u = 3"),
        ('{value: v, u: u, assumed: "2"}', '{"v":10}', "assumed by the settings: 2, kept as u = 2"),
        (
            "{value: v, u: u, lower: lo, upper: hi, p: 0.9}",
            '{"v":1,"u":2,"lo":0,"hi":3}',
            "standard uncertainty; coverage interval, kept as u = 2 and [0, 3], p = 0.9",
        ),
        ("{value: v, u: 2}", '{"v":1}', "standard uncertainty, kept as u = 2"),
        (
            "{value: v, u: u, unit: degF, to_unit: degC}",
            '{"v":212,"u":9}',
            "212, kept as 100 degC (degF to degC: x 0.5555556 -17.77778)",
        ),
    ],
)
def test_the_form_of_the_uncertainty_is_told(series, body, form):
    text = (
        f'sources:\n- {{topic: "a/{{sensor}}", kind: reading, decoder: json, '
        f"map: {{time: arrival, series: [{series}]}}}}\n"
        '- {topic: "r/{subject}/{quantity}", kind: reference}\n'
    )
    said = explain(parse(text.encode(), "f"), Message("a/s", body.encode()), NOW_SECONDS)

    assert form in re.sub(r"\s+", " ", "\n".join(explanation_lines(said)))


def test_a_reference_without_uncertainty_is_taken_as_exact():
    settings = parse(RULES.encode(), "f")
    said = explain(settings, native("reference", time="2026-03-01T10:00:00Z", value=1), NOW_SECONDS)

    assert said.observed[0].uncertainty.form == "none is stated: taken as exact"
    assert said.observed[0].uncertainty.u == 0.0


# -- arguments ------------------------------------------------------------------------------------


def test_a_payload_may_be_a_file_standard_input_hex_or_base64(tmp_path, monkeypatch, tell):
    file = tmp_path / "payload.json"
    file.write_bytes(KALMAN[1].encode())
    body = KALMAN[1].encode()

    def read(argument):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(body)))
        return tell(WEIGHING, (KALMAN[0], argument)).out

    plain = tell(WEIGHING, KALMAN).out
    base64 = "base64:" + __import__("base64").b64encode(body).decode()
    assert {read(each) for each in ("-", f"@{file}", f"hex:{body.hex()}", base64)} == {plain}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["a/b", "@/no/such/file"], "cannot be read"),
        (["a/b", "hex:0"], "is not hex"),
        (["a/b", "base64:?"], "is not base64"),
        (["a/+", "1"], "without + and #"),
        (["--now", "noon", "a", "1"], "write ISO 8601, such as"),
        (["--now", "2026-03-01T00:00", "a", "1"], "has no zone"),
        (["--with", "a", "-", "b", "-"], "only one payload"),
    ],
)
def test_a_mistake_in_the_arguments_ends_with_2(options, what, capsys):
    assert main(["explain", "--config", WEIGHING, *options]) == 2
    assert what in capsys.readouterr().err


def test_a_mistake_in_the_settings_ends_with_2(tmp_path, capsys):
    file = tmp_path / "wrong.yaml"
    file.write_text("mqtt: {prot: 1}\n")

    assert main(["explain", "--config", str(file), "a", "1"]) == 2
    assert "mqtt.prot" in capsys.readouterr().err


def test_what_came_before_is_told_with_its_fate(tell):
    told = tell(WEIGHING, VENDOR, STATIC, STATIC, ("x/y", "1"), (KALMAN[0], "[]"))

    used, again, unknown, bad = told.said("before")
    assert used.endswith("used: 1 reference")
    assert "a duplicate" in again
    assert "rejected: unknown_topic" in unknown
    assert "rejected: missing_field: time is missing at `$.ts`" in bad


# -- hostile payloads -----------------------------------------------------------------------------

UNPRINTABLE = "\x1b]0;x\x07 \x9b31m \u202e \x7f \r\b \u2028"


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize(
    ("topic", "payload"),
    [
        ("wow/otago/north/p03/reading", UNPRINTABLE),
        ("wow/otago/north/p03/reading", json.dumps({"eid": UNPRINTABLE, "ts": UNPRINTABLE})),
        ("wow/otago/north/p03/reading", json.dumps({UNPRINTABLE: 1}, ensure_ascii=False)),
        ("wow/otago/north/p03/line", f"{UNPRINTABLE},1,LB,$,{UNPRINTABLE},03/09/04,08:58,j"),
        (f"wow/{UNPRINTABLE}/north/p03/reading", VENDOR[1]),
        (UNPRINTABLE, UNPRINTABLE),
        ("wow/otago/north/p03/kalman", f"hex:{UNPRINTABLE.encode('latin-1', 'replace').hex()}"),
    ],
)  # fmt: skip
def test_nothing_that_a_terminal_obeys_is_printed(topic, payload, options, tell):
    told = tell(WEIGHING, (topic, payload), (topic, payload), options=options)

    assert told.code in (0, 1)
    assert all(line.isprintable() for line in told.out.split("\n"))


GOOD = {
    "native/s/q": b'{"time":"2026-03-01T10:00:00Z","value":1,"u":1,"unit":"kg"}',
    "natref/s/q": b'{"time":"2026-03-01T10:00:00Z","value":1,"id":"a","rev":3,"status":"final"}',
    "one/s": f'{{{T},"v":1,"e":{{"u":1}},"unit":"kg","k":"a"}}'.encode(),
    "many/s": f'{{{T},"list":[{{"v":1,"u":1}},{{"v":2,"u":0}}]}}'.encode(),
    "senml/s/q": cbor2.dumps([{-2: "a", -3: 1772298600, 0: "kg", 2: 1}, {0: "kg_u", 2: 1}]),
    "lp/s": b"wow,a=b kg=1,u=2 1772298600000000000",
    "csv/s": b"2026-03-01T10:00Z,1,2\n",
    "msgpack/s": msgspec.msgpack.encode({"t": [1772298600], "v": [1.0], "u": [1], 5: {b"a": 1}}),
    "spBv1.0/g/DDATA/e/s": bytes.fromhex(
        sparkplug([{"name": "x", "datatype": 10, "double_value": 1}])[4:]
    ),
}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(GOOD)), st.data())
def test_no_bytes_break_the_explanation(topic, chance):
    payload = bytearray(GOOD[topic])
    for _ in range(chance.draw(st.integers(0, 4))):
        at = chance.draw(st.integers(0, len(payload)))
        payload[at : at + chance.draw(st.integers(0, 3))] = chance.draw(st.binary(max_size=4))
    text = FORMATS.replace(
        "maintenance:", '- {topic: "r/{subject}/{quantity}", kind: reference}\nmaintenance:'
    )

    said = explain(parse(text.encode(), "f"), Message(topic, bytes(payload)),
                   NOW_SECONDS)  # fmt: skip

    assert said.outcome in ("used", "rejected", "nothing")
    assert (said.outcome == "rejected") == (said.refused_count > 0 and not said.observed_count)
    assert all(each.reason in REASONS and each.detail for each in said.refused)
    assert all(line.isprintable() for line in explanation_lines(said))
    msgspec.json.encode(said)


@example(b'{"t":"2026-03-01T10:00:00Z","v":1,"q":"`$[`"}')
@given(st.binary(max_size=60))
@settings(max_examples=50, deadline=None)
def test_a_payload_that_looks_like_a_place_is_only_shown(payload):
    text = FORMATS.replace(
        "maintenance:", '- {topic: "r/{subject}/{quantity}", kind: reference}\nmaintenance:'
    )

    said = explain(parse(text.encode(), "f"), Message("one/s", payload), NOW_SECONDS)

    assert [each.reason for each in said.refused] != ["unexpected"]


# -- the document and the page --------------------------------------------------------------------


def test_the_document_says_what_the_lines_say(tell, document):
    told, said = tell(WEIGHING, VENDOR, STATIC), document(WEIGHING, VENDOR, STATIC)

    assert (said["version"], said["outcome"], said["summary"]) == (1, "used", "1 reading")
    assert said["now"] == "2026-03-01T12:00:00Z"
    assert said["source"]["fields"] == {"farm": "otago", "race": "north", "platform": "p03"}
    (observed,) = said["observed"]
    for read in observed["reads"]:
        assert f"{read['path']} {read['found']}" in " ".join(told.out.split())
    assert observed["uncertainty"]["u"] is None
    assert observed["series"]["sentence"] in " ".join(told.said("series"))
    assert [each["fits"] for each in said["tried"]] == [True, *[False] * (len(said["tried"]) - 1)]
    assert len(said["tried"]) > 3


def commands():
    """Return (commands, output) of each block of the page that explains a message."""
    text = PAGE.read_text()
    return re.findall(r"```sh\n(monitor explain.*?)```\n\n```\n(.*?)```", text, re.DOTALL)


@pytest.fixture(scope="session")
def folder_of_the_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for part in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        found = re.search(r"```yaml\n(.*?)```", part, re.DOTALL)
        if found:
            (folder / f"{part.splitlines()[0].lower()}.yaml").write_text(found[1])
    return folder


@pytest.mark.parametrize("at", range(len(commands())))
def test_the_commands_of_the_page_print_what_the_page_shows(at, folder_of_the_page):
    command, output = commands()[at]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))

    done = subprocess.run(
        [need("bash"), "-c", command], cwd=folder_of_the_page, env={**os.environ, "PATH": path},
        check=False, capture_output=True, text=True,
    )  # fmt: skip

    assert (done.stderr, done.stdout) == ("", output)


def test_the_page_explains_every_decoder_and_every_block_of_it_is_run():
    text = PAGE.read_text()
    blocks = re.findall(r"```sh\n(monitor explain.*?)```", text, re.DOTALL)
    shown = "".join(command for command, _ in commands())

    assert len(blocks) == len(commands())
    assert [name for name in DECODERS if f"--config {name}.yaml" not in shown] == []
    assert load(CONFIGS / "default.yaml").sources
