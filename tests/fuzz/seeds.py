"""Valid inputs of every format, what their mappings are, and words that are odd in each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import cbor2
import msgspec

from monitor.decode.formats.sparkplug_payload import Payload

from .mutations import NUMBERS, TEXTS

T: Final = 1_772_298_600
ISO: Final = "2026-03-01T06:12:44+13:00"
MS: Final = T * 1000

# Mappings that use what the settings of the three trades do not.
SETTINGS: Final = b"""sources:
- {topic: "ref/{subject}/{quantity}", kind: reference}
- {topic: "forms/{sensor}/{quantity}", kind: reading, decoder: json, unit: kg,
   map: {each: list, time: t, time_zone: Pacific/Auckland, key: $.eid, key_remove: " ",
         key_case: upper, sequence: n, number_texts: true, optional: true,
         names: {tag: "{a}.{b}.{c}.{d}/{quantity}"},
         select: {kind: [w, 1, true]}, where: {$.state: [GOOD, 192]},
         defaults: {kind: w, $.state: GOOD, tag: a.b.c.d/q, $.eid: ""},
         series: [
           {quantity: a, value: a.v, U: a.U, k: a.k, unit_path: a.unit},
           {quantity: b, value: b.v, percent: b.pc, p: 0.95, lower: b.lo, upper: b.hi},
           {quantity: c, samples: c.x},
           {quantity: d, quantiles: {"0.05": "d[0]", "0.5": "d[1]", "0.95": "d[2]"}},
           {quantity: e, value: e, assumed: "sqrt(abs(value)) / (value - 1)", unit: lb},
           {quantity: f, value: f.v, plus_minus: f.pm, p: f.p, error_values: [-127, 5]},
           {quantity: "{quantity}", value: g.v, u: g.u, unit: degC, to_unit: K}]}}
- {topic: "done/{sensor}", kind: event, decoder: json,
   map: {time: at, event: what, note: why, time_layout: "%d.%m.%Y %H:%M:%S%z"}}
- {topic: "beside/{sensor}", kind: collocation, decoder: json,
   map: {subject: "{station}", names: {at: "{station}@{place}"}, start: from, end: to,
         distance_m: m}}
- {topic: "lab/{subject}", kind: reference, decoder: json,
   map: {time: [d, c], time_layout: "%Y%m%d %H%M", time_zone: Europe/Berlin, identity: id,
         revision: rev, status: st, start: s, end: e, void_where: {gone: [true]},
         series: [{quantity: x, value: x, lower: lo, upper: hi, p: p},
                  {quantity: y, value: y, U: 0.5, k: k}]}}
- {topic: "senml/{sensor}/{quantity}", kind: reading, decoder: senml,
   map: {select: {local: [kg]}, where: {beside.ok: [true]}, defaults: {beside.ok: true},
         names: {name: "{prefix}:{local}"}, key: base,
         series: [{value: value, u: beside.kg_u, unit_path: unit, to_unit: kg}]}}
- {topic: "lp/{sensor}", kind: reading, decoder: lineprotocol,
   map: {time_unit: ns, key: tags.eid, defaults: {tags.eid: ""}, where: {tags.ok: [yes]},
         series: [{quantity: weight, value: fields.kg, u: fields.u}]}}
- {topic: "csv/{sensor}", kind: reading, decoder: csv,
   map: {columns: [t, v, "", sd], delimiter: ";", time: t,
         series: [{quantity: q, value: v, u: sd, assumed: "0.1 * abs(value)"}]}}
- {topic: "display/{sensor}", kind: reading, decoder: display,
   map: {time: arrival, where: {stable: [true]}, defaults: {stable: true, unit: kg},
         series: [{quantity: mass, value: value, unit_path: unit, u: 0.01}]}}
- {topic: "msgpack/{sensor}", kind: reading, decoder: msgpack,
   map: {columnar: $, time: t, key: k, defaults: {k: ""}, series: [{quantity: q, value: v, u: u}]}}
- {topic: "rows/{sensor}", kind: reading, decoder: msgpack,
   map: {each: $, time: t, time_unit: s, where: {ok: [true]},
         series: [{quantity: q, value: v, lower: lo, upper: hi}]}}
- {topic: "spBv1.0/{group}/{message}/{edge}/{sensor}", kind: reading, decoder: sparkplug,
   map: {optional: true, time_unit: ms, sequence: seq, where: {quality.density/value: [GOOD]},
         series: [{quantity: density, value: values.density/value, U: values.density/U95,
         p: 0.95}]}}
- {topic: "spBv1.0/{group}/{message}/{edge}", kind: reading, decoder: sparkplug,
   map: {optional: true, sensor: "{edge}", time_unit: ms,
         series: [{quantity: x, value: values.x, u: 1}]}}
"""
NATIVE_SETTINGS: Final = b"""sources:
- {topic: "own/{sensor}/{quantity}", kind: reading}
- {topic: "beside/{sensor}", kind: collocation}
- {topic: "ref/{subject}/{quantity}", kind: reference}
"""


def _json(*values: Any) -> tuple[bytes, ...]:
    return tuple(json.dumps(value).encode() for value in values)


READING: Final = _json(
    {"time": ISO, "value": 512.0, "u": 12.0, "key": "982000412345678", "seq": 7, "unit": "kg"},
    {"time": "2026-03-01T06:00:00.5Z", "lower": 489, "upper": 538, "p": 0.9, "key": 982},
    {"time": ISO, "value": -1e3, "U": 3, "k": 2, "sensor": "s-1", "quantity": "mass"},
    {"time": ISO, "value": 0, "U": 3, "p": 0.95, "lower": -1, "upper": 4, "seq": "x"},
)
REFERENCE: Final = _json(
    {"time": ISO, "value": 503.5, "u": 0.6, "key": "982", "id": "S-1", "rev": 2, "status": "final"},
    {"start": "2026-03-01T05:00:00Z", "end": "2026-03-01T06:00:00Z", "value": 13, "U": 2.6, "k": 2},
    {"id": "S-1", "status": "void", "rev": 3},
    {"time": ISO, "value": 1, "U": 0.1, "p": 0.95, "status": "prelim", "id": 9, "unit": "kg"},
)
EVENT: Final = _json({"time": ISO, "event": "adjusted", "note": "after the storm"})
COLLOCATION: Final = _json(
    {
        "subject": "S3",
        "start": "2026-03-01T05:00:00Z",
        "end": "2026-04-01T05:00:00Z",
        "distance_m": 12.5,
    }
)
VENDOR: Final = _json(
    {"eid": "982 000412345678", "ts": ISO, "kg": 512, "lo": 489, "hi": 538, "level": 0.9, "fw": "2"}
)
KALMAN: Final = _json({"eid": "982000412345678", "ts": T + 164.2, "mean": 507.1, "sd": 11.8})
STATIC: Final = _json({"eid": "982000412345678", "ts": ISO, "kg": 503.5, "u": 0.6})
AIR: Final = _json(
    {"t": T, "int": 600, "pm25": {"v": 14.2, "u": 3.1}, "loc": [-45.87, 170.5],
     "no2": {"v": 22.0, "lo": 11, "hi": 35, "p": 0.95}, "rh": 71},
    {"t": str(T), "pm25": None, "no2": {"v": 2, "lo": 1, "hi": 3}},
)  # fmt: skip
HOUR: Final = _json(
    {"start": "2026-03-01T05:00Z", "end": "2026-03-01T06:00Z", "pm25": 13.0, "u": 1.3, "flag": "V",
     "rev": 1},
    {"start": "2026-03-01T05:00Z", "flag": "I", "rev": 2},
)  # fmt: skip
LIMS: Final = _json(
    {"sample": "S-88121", "tag": "AT-4012.density", "sampled_at": "2026-03-01T04:05:00Z",
     "value": 0.8412, "U": 0.0006, "k": 2, "unit": "g/cm3", "status": "prelim"},
    {"sample": "S-88121", "status": "void"},
)  # fmt: skip
FORMS: Final = _json(
    {"eid": "a b", "state": "GOOD", "list": [
        {"t": "2026-03-01T06:12:44", "n": 7, "kind": "w", "tag": "a.b.c.d/rh",
         "a": {"v": "1.5", "U": 2, "k": 2, "unit": "lb"},
         "b": {"v": 50, "pc": 2, "lo": 49, "hi": 52}, "c": {"x": [2, 4, 9]}, "d": [7, 10, 20]},
        {"t": T, "n": 8, "kind": 1, "e": 3, "f": {"v": 10, "pm": 0.5, "p": 0.9}, "g": {"v": 20,
        "u": 1}}]},
    {"list": [{"t": T, "n": "x", "tag": "......./q", "a": {"v": 1, "U": 1, "unit": "kg"}}] * 3},
)  # fmt: skip
DONE: Final = _json({"at": "01.03.2026 06:12:44+1300", "what": "moved", "why": "mud"})
BESIDE: Final = _json({"at": "S3@hill", "from": T, "to": T + 10_000_000, "m": 120})
LAB: Final = _json(
    {"d": "20260301", "c": "0612", "id": "S-1", "rev": 1, "st": "prelim", "x": 1, "lo": 0.5,
     "hi": 1.5, "p": 0.9, "y": 2, "k": 2, "s": T - 3600, "e": T},
    {"id": "S-1", "st": "void", "rev": 2}, {"id": "S-1", "rev": 4, "gone": True, "d": "20260301",
    "c": "0612"},
)  # fmt: skip
PACKS: Final[Sequence[Any]] = (
    [{"bn": "urn:dev:1:", "bt": T, "bu": "kg", "bver": 10, "n": "kg", "v": 512},
     {"n": "kg_u", "v": 11}, {"n": "kg", "v": 513, "t": 60}, {"n": "kg_u", "v": 12, "t": 60}],
    [{"bn": "urn:dev:1:", "bv": 500, "bs": 1, "n": "kg", "v": 12, "t": -5, "u": "lb"},
     {"n": "kg_u", "v": -499, "t": -5}, {"n": "ok", "vb": True, "t": -5}, {"n": "kg", "s": 3}],
    [{"n": "kg", "vs": "512", "t": T}, {"n": "x", "vd": "aGk="}, {"n": "kg", "v": 1, "ut": 5}],
)  # fmt: skip
_LABELS: Final = {
    "bver": -1, "bn": -2, "bt": -3, "bu": -4, "bv": -5, "bs": -6,
    "n": 0, "u": 1, "v": 2, "vs": 3, "vb": 4, "s": 5, "t": 6, "ut": 7, "vd": 8,
}  # fmt: skip
SENML_JSON: Final = _json(*PACKS)
SENML_CBOR: Final = tuple(
    cbor2.dumps([{_LABELS[name]: each for name, each in record.items()} for record in pack])
    for pack in PACKS
)
LINES: Final = (
    f"wow,eid=982,ok=yes kg=512.5,u=11 {T}000000000\n# note\nwow,ok=yes kg=1i,u=1\n".encode(),
    b'w\\ o\\,w,ok=yes,b\\=c=d\\ e kg=1e3,u=2u,s="a \\"b\\" \\\\ c",f=t,g=FALSE 1\nx kg=1',
)
DISPLAY: Final = (
    b"ST,NT,+  1.234kg\r\nUS,GS,+  0.820kg\r\n", b"S S     12.34 kg", b"+ 0000.0003",
    b"OL,+9999999E+19",
)  # fmt: skip
CELLS: Final = (
    b'2026-03-01T06:00Z;10;x;0.5\r\n2026-03-01T06:01Z; 20 ;"y;""z""";\n1;2\n',
    f"\ufeff{T};-1e3;;1".encode(),
)
HEAD: Final = (b",860,LB,$,GR,03/09/04,08:58,j", b",860,LB,$,GR,12/31/68,23:59,j\n,1,KG,$,NT,,,")
COLUMNS: Final = (
    msgspec.msgpack.encode({"t": [T, T + 1, T + 2], "v": [1, 2.5, -3], "u": 0.5, "k": "a"}),
    msgspec.msgpack.encode({"t": [ISO], "v": [1], "u": [2], "k": ["982"]}),
)
ROWS: Final = (
    msgspec.msgpack.encode([{"t": T, "v": 1, "lo": 0, "hi": 2, "ok": True}] * 3),
    msgspec.msgpack.encode([{"t": ISO, "v": 1, "lo": 0, "hi": 2, "ok": False}]),
)


def metrics(*given: dict[str, Any]) -> bytes:
    """Return a payload of Sparkplug B; ``quality`` of a metric is its property."""
    payload = Payload(timestamp=MS, seq=1)
    for each in given:
        plain = dict(each)
        quality = plain.pop("quality", None)
        added = payload.metrics.add(**plain)
        if quality is not None:
            added.properties.keys.append("Quality")
            added.properties.values.add(type=3, int_value=quality)
    return bytes(payload.SerializeToString())


BIRTH: Final = metrics(
    {"name": "density/value", "alias": 7, "datatype": 10, "double_value": 841.2, "quality": 192},
    {"name": "density/U95", "alias": 8, "datatype": 10, "double_value": 0.6},
    {"name": "quality", "alias": 9, "datatype": 12, "string_value": "GOOD"},
    {"name": "x", "alias": 1, "datatype": 3, "int_value": 2**32 - 5},
)
DATA: Final = (
    metrics(
        {"alias": 7, "double_value": 842.0, "timestamp": MS + 1000, "quality": 192},
        {"alias": 8, "float_value": 0.5, "timestamp": MS + 1000, "is_historical": True},
        {"alias": 9, "string_value": "GOOD", "timestamp": MS + 1000},
    ),
    metrics(
        {"name": "density/value", "datatype": 4, "long_value": 2**64 - 1, "quality": 500},
        {"name": "density/U95", "datatype": 1, "int_value": 200, "is_null": False},
        {"alias": 99, "boolean_value": True}, {"alias": 1, "is_null": True},
    ),
)  # fmt: skip
UNITS: Final = tuple(
    unit.encode()
    for unit in ("lb", "g/cm3", "kg m/s^2", "ug/m3", "degC", "\u00b5g\u00b7m-3", "1", "%", "1/m3")
)
TOPICS: Final = tuple(
    pair.encode()
    for pair in (
        "wow/{farm}/{race}/{sensor}/reading\nwow/a/b/c/reading",
        "+/{sensor}/#\na/b/c/d", "#\n$SYS/x", "$SYS/{a}/b\n$SYS//b", "{a}/{b}\n/",
        "a/#\na", "a.*b/{x_1}\na.*b/\u00e9",
    )
)  # fmt: skip
_PATHS: Final = (
    "/", "/metrics", "/healthz", "/readyz", "/about", "/alerts", "/compare?a=cart-01&b=cart-02",
    "/doctor", "/ranking?profile=balanced", "/series/cart-01/mass", "/events/x%2Fy",
    "/api/v1/series?page=1", "/api/v1/series?sort=zms&search=cart", "/api/v1/deadletters",
    "/api/v1/series/cart-01/mass", "/api/v1/series/cart-01/mass/pairs", "/api/v1/alerts",
    "/api/v1/series/cart-01/mass/ucc", "/api/v1/compare?a=cart-01/mass&b=cart-02/mass",
    "/api/v1/ranking", "/api/v1/settings", "/static/monitor.css", "/live/page", "/live/fleet",
)  # fmt: skip
HTTP: Final = (
    *(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode() for path in _PATHS),
    b"HEAD / HTTP/1.0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHo\x1est: a\r\n\r\n\x1fGET / HTTP/1.1\r\n\x1f1Host: a\r\n\r\n",
    b"\x1f\x1f\x1f\x1f\x1fGET / HTTP/1.1\r\nHost: a\r\n\r\n\x1f1GET / HTTP/1.1\r\nHost: a\r\n\r\n",
)
HTTP_TOKENS: Final = (
    *NUMBERS,
    *TEXTS,
    b"\x1f",
    b"\x1f0",
    b"\x1e",
    b"\r\n",
    b"\r\n\r\n",
    b"\n\n",
    b" ",
    b":",
    b"%",
    b"%00",
    b"%ff",
    b"%2e%2e%2f",
    b"../",
    b"//",
    b"?",
    b"&",
    b"=",
    b"#",
    b"\x00",
    b"GET ",
    b"HEAD ",
    b"POST ",
    b"TRACE ",
    b"CONNECT ",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"HTTP/1.1",
    b"HTTP/1.0",
    b"HTTP/9.9",
    b"Host: a\r\n",
    b"Host: a\r\n" * 200,
    b"Content-Length: 5\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Expect: 100-continue\r\n",
    b"Upgrade: websocket\r\nConnection: upgrade\r\n",
    b"Range: bytes=0-\r\n",
    b"Accept: text/html\r\n",
    b"Accept: application/openmetrics-text\r\n",
    b"If-None-Match: *\r\n",
    b"Authorization: Basic YTpi\r\n",
    b"Cookie: " + b"a" * 70_000,
    b"a" * 70_000,
    b"page=",
    b"sort=",
    b"search=",
    b"window=",
    b"alpha=",
    b"k=",
    b"nan",
    b"inf",
    b"-1",
    b"1e999",
)
ROUTED: Final = (
    b"monitor/s-1/mass/reading", b"monitor/s-1/mass/reference", b"monitor/s-1/event",
    b"ref/x/y", b"forms/s/q", b"spBv1.0/g/DDATA/e/s", b"spBv1.0/g/NBIRTH/e", b"csv/s", b"$SYS/a",
)  # fmt: skip

PLAIN: Final = (*NUMBERS, *TEXTS)
JSON_TOKENS: Final = (
    *PLAIN, b"[" * 3000, b'{"a":' * 600, b"[[]]", b"{}", b'""', b'"\\ud800"', b'"\\u0000"',
    b"\xff\xfe",
    b"/*x*/", b",", b":", b'"time":', b'"value":', b'"u":', b"1 ", b"\\", b"'", b'{"$ref":"#"}',
)  # fmt: skip
CBOR_TOKENS: Final = (
    *PLAIN,
    *map(
        bytes.fromhex,
        ("9f", "bf", "5f", "7f", "ff", "9fff", "bfff", "5f4161ff", "7f6161ff", "f6", "f7", "f8ff",
         "f97e00", "f97c00", "fa7f800000", "fb7ff0000000000000", "fbfff8000000000000",
         "1bffffffffffffffff",
         "3bffffffffffffffff", "9bffffffffffffffff", "bb00000000ffffffff", "5b7fffffffffffffff",
         "7a7fffffff", "9a00010000", "c0", "c1", "c249", "c24aff", "c482",
         "c5821b7fffffffffffffff03", "d81c",
         "d81d00", "d81e8201", "d823", "d824", "d90102", "d9010080", "d9d9f7",
         "dbffffffffffffffff", "c4821b7fffffffffffffff01",
         "a1", "81" * 500, "d81c81d81d00", "fc", "1c", "3f", "61ff"),
    ),
)  # fmt: skip
MSGPACK_TOKENS: Final = (
    *PLAIN,
    *map(
        bytes.fromhex,
        ("c0", "c1", "c2", "c3", "c4ff", "c6ffffffff", "c70005", "c9ffffffff01", "ca7fc00000",
         "cb7ff0000000000000", "cb7ff8000000000000", "cfffffffffffffffff", "d38000000000000000",
         "d4ff00",
         "d6ff00000000", "d7ffffffffffffffffff", "c70cff3b9aca00000000000000000000",
         "c70cff000000007fffffffffffffff",
         "d8", "d9ff", "dbffffffff", "dc0000", "ddffffffff", "de0000", "dfffffffff", "91" * 500,
         "8191", "81c0"),
    ),
)  # fmt: skip
PROTOBUF_TOKENS: Final = (
    *PLAIN,
    *map(
        bytes.fromhex,
        ("08ffffffffffffffffff01", "ffffffffffffffffffff", "12ffffffff0f", "1200", "0b", "0c",
        "1203",
         "0a01ff", "10ffffffffffffffffff01", "69000000000000f07f", "69000000000000f87f",
         "650000807f",
         "4a06 0a0751", "7801", "3801", "0d", "f8ffffff0f00", "000000"),
    ),
)  # fmt: skip
LINE_TOKENS: Final = (
    *PLAIN, b"\\", b"\\ ", b"\\,", b'"', b'"a', b" ", b",", b"=", b"i", b"u", b"1i", b"1u", b"t",
    b"\n",
    b"\r", b"#", b"\x00", b"kg=1", b",ok=yes", b"a" * 9000, b"9" * 30 + b"i", b"-1u",
    b" 99999999999999999999",
)  # fmt: skip
DISPLAY_TOKENS: Final = (
    *PLAIN, b"ST,", b"US,", b"OL", b"S S ", b"S D ", b"S +", b"GS,", b"NT", b"+ ", b"-", b"kg",
    b" g", b"?", b"\xb0C", b"\x02", b"1,234.5", b"9" * 400, b"1e400", b"----", b"\r\n", b"Err",
)  # fmt: skip
CELL_TOKENS: Final = (
    *PLAIN, b'"', b'""', b";", b";;", b",", b"\r", b"\n", b"\x00", b"\x0b", b"\x1c", b"\xc2\x85",
    b'"' + b"x" * 140_000, b"08:58", b"03/09/04", b"LB", b"GR",
)  # fmt: skip
TOPIC_TOKENS: Final = (
    *TEXTS, b"{", b"}", b"{}", b"{a}", b"{sensor}", b"+", b"#", b"/", b"//", b"$", b"$SYS",
    b"$share/g/",
    b"(?P<a>", b".*", b"[", b"(a+)+$", b"\\", b"{" + b"a" * 33 + b"}", b"{A}", b"{a}/" * 40,
    b"/#", b"\n",
)  # fmt: skip
YAML_TOKENS: Final = (
    *PLAIN, b"&a ", b"*a", b"!!python/object:os.system", b"!!int ", b"!x ", b"<<: *a", b"? ",
    b"---\n",
    b"...\n", b"%YAML 1.1\n", b"|\n", b">-\n", b"~", b"[", b"]", b"{", b"}", b"\t", b"- ", b": ",
    b"#",
    b"yes", b"0o17", b"1:30", b".inf", b".nan", b"[" * 40, b"{a: " * 40, b"'", b'"\\x00"',
    b'"\\ud800"',
    b"{quantity}", b"{sensor}", b"$.", b"a[0]", b"map: {}", b"(a+)+$", b"**", b"[!a]",
    b"2 ** 9 ** 9 ** 9",
    b"value ** value", b"'a' * 9999999", b"max(value)", b"lambda: 1", b"decoder: json",
    b"decoder: csv",
    b"null", b"\xef\xbb\xbf", b"kind: collocation", b"%H%H", b"%Q", b"%", b"%Y",
)  # fmt: skip
UNIT_TOKENS: Final = (
    *TEXTS, b"kg", b"^9", b"-9", b"*", b"/", b" ", b"\xc2\xb7", b"\xc2\xb5", b"%", b"1", b"e",
    b"dB", b"pi",
    b"delta_degC", b"degF", b"kilo", b"__class__", b"**9", b"(", b"ppm", b"pH", b"m",
    b"yottayotta", b"_",
)  # fmt: skip
