"""Messages of three trades, and what ``monitor explain`` prints of them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

from monitor.decode.formats.sparkplug_payload import Payload
from monitor.explain import Message

PROJECT = Path(__file__).parents[2]
CONFIGS = PROJECT / "configs"
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


RULES = """sources:
- {topic: "monitor/{sensor}/{quantity}/reading", kind: reading, unit: kg}
- {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
- {topic: "monitor/{sensor}/collocation", kind: collocation}
- {topic: "monitor/{sensor}/event", kind: event}
"""


def native(kind, name="s", quantity="weight", **body):
    return Message(f"monitor/{name}/{quantity}/{kind}", json.dumps(body).encode())


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
