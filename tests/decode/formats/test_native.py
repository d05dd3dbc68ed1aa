"""Hostile payloads in the native format: one reason each, a detail that names the place."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.core.model import (
    Event,
    Observation,
    Reading,
    Reference,
)
from monitor.decode import (
    REASONS,
    Rejected,
    Route,
    Router,
    router,
)

NOW = 1_780_000_000.0  # 2026-05-28
TIME = "2026-01-01T00:00:00Z"
SECONDS = 1_767_225_600.0  # of TIME
BYTES_MAX = 1 << 20
GOOD = {"time": TIME, "value": 1.0, "u": 0.5}
TOPICS = {
    "reading": "monitor/s/q/reading",
    "reference": "monitor/s/q/reference",
    "event": "monitor/s/event",
}
KINDS = {"reading": Reading, "reference": Reference, "event": Event}
ROUTES = (
    Route("reading", "native", "kg", "monitor/{sensor}/{quantity}/reading"),
    Route("reference", "native", "kg", "monitor/{subject}/{quantity}/reference"),
    Route("event", "native", "", "monitor/{sensor}/event"),
)
ROUTER = Router(ROUTES, BYTES_MAX)


def spoilt(**fields) -> bytes:
    """Return the good payload with some fields set, or taken away by ``...``."""
    body = {name: value for name, value in {**GOOD, **fields}.items() if value is not ...}
    return json.dumps(body).encode()


def number(field: str, text: str) -> bytes:
    """Return the good payload with a field's number written as ``text``."""
    return spoilt(**{field: "?"}).replace(b'"?"', text.encode())


def refusal(topic: str, payload: bytes) -> Rejected:
    (found,) = ROUTER.decode(topic, payload, NOW)
    assert isinstance(found, Rejected), found
    return found


# Kind, payload, reason, and what of the detail tells the place.
HOSTILE = [
    # numbers
    *(("reading", number("value", text), "not_finite", "$.value") for text in ("1e999", "-1e999")),
    *(("reading", number("u", text), "not_finite", "$.u") for text in ("1e999", "-1e999")),
    ("reading", number("value", "1" + "0" * 400), "not_finite", "$.value"),
    ("reading", number("value", "1e400"), "not_finite", "is inf; send a finite number (JSON such"),
    ("reference", number("value", "1e999"), "not_finite", "$.value"),
    ("reference", number("rev", "1" + "0" * 400), "bad_field", "$.rev"),
    *(
        ("reading", number("value", text), "bad_payload", "byte 4")
        for text in ("NaN", "Infinity", "+1", ".5", "'1'")
    ),
    *(
        ("reading", number("value", text), "bad_payload", "byte 4")
        for text in ("-", "01", "nan", "0x1")
    ),
    ("reading", spoilt(value=1e16), "out_of_range", "value is 1e+16"),
    ("reading", spoilt(value=-1e300), "out_of_range", "value is -1e+300"),
    ("reading", number("value", "9" * 30), "out_of_range", "value is 1e+30"),
    ("reading", spoilt(lower=-1e16, upper=1.0), "out_of_range", "lower is -1e+16"),
    ("reading", spoilt(lower=0.0, upper=1e16), "out_of_range", "upper is 1e+16"),
    ("reference", spoilt(value=-1e16), "out_of_range", "value is -1e+16"),
    # uncertainties
    *(
        ("reading", spoilt(u=u), "bad_uncertainty", "u is")
        for u in (0, -0.0, -1.0, 1e-13, 1e-320, 5e-324)
    ),
    *(("reference", spoilt(u=u), "bad_uncertainty", "u is") for u in (-1.0, 1e-13, 5e-324)),
    ("reading", spoilt(u=1e16), "out_of_range", "u is 1e+16"),
    *(
        (kind, spoilt(u=..., U=1.0, k=k), "bad_uncertainty", "k is")
        for kind in ("reading", "reference")
        for k in (0, -2.0, 1e-320)
    ),
    ("reading", spoilt(u=..., U=0.0, k=2.0), "bad_uncertainty", "u is 0"),
    ("reading", spoilt(u=..., U=-1.0), "bad_uncertainty", "u is -0.5"),
    ("reading", spoilt(u=..., U=1e15, k=1e-12), "out_of_range", "u is 1e+27"),
    ("reading", spoilt(u=..., U=1e-12, k=1e15), "bad_uncertainty", "u is 1e-27"),
    ("reading", spoilt(u=...), "missing_uncertainty", "state u"),
    ("reading", spoilt(u=None), "missing_uncertainty", "state u"),
    # intervals
    ("reading", spoilt(lower=2.0, upper=1.0), "inverted_interval", "lower 2 is above upper 1"),
    ("reading", spoilt(u=..., lower=2.0, upper=1.0), "inverted_interval", "lower 2"),
    ("reading", spoilt(lower=1.0, upper=1.0), "zero_width", "lower and upper are both 1"),
    ("reading", spoilt(lower=1.0, upper=1.0 + 1e-13), "zero_width", "lower and upper"),
    ("reading", spoilt(lower=0.0), "missing_field", "lower and upper"),
    ("reading", spoilt(upper=0.0), "missing_field", "lower and upper"),
    ("reading", spoilt(value=..., u=..., lower=0.0), "missing_field", "$.value"),
    *(
        ("reading", spoilt(lower=0.0, upper=1.0, p=p), "bad_level", "p is")
        for p in (0, 1, 2, -1, 1e-320, 1e-10, 1.0 - 1e-10)
    ),
    *(
        (kind, spoilt(u=..., U=1.0, p=p), "bad_level", "p is")
        for kind in ("reading", "reference")
        for p in (0, 1, 2, -1, 1e-320, 0.9999999999999999)
    ),
    # times
    *(
        (kind, spoilt(time="2026-01-01T00:00:00", event="moved"), "naive_time", "$.time")
        for kind in KINDS
    ),
    ("reference", spoilt(end="2026-01-01T00:00:00"), "naive_time", "$.end"),
    ("reference", spoilt(start="2026-01-01T00:00:00"), "naive_time", "$.start"),
    *(
        (kind, spoilt(time=time, event="moved"), "future", "time is")
        for kind in KINDS
        for time in (
            *("2026-05-28T20:31:40.000001Z", "2026-12-01T00:00:00Z"),
            *("9999-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00"),
        )
    ),
    ("reference", spoilt(end="9999-12-31T23:59:59Z"), "future", "end is"),
    *(
        (kind, spoilt(time="0001-01-01T00:00:00+14:00", event="moved"), "out_of_range", "time is")
        for kind in KINDS
    ),
    *(
        ("reading", spoilt(time=time), "bad_field", "$.time")
        for time in (
            *("", "x", "2026-01-01", "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z"),
            *("2026-01-01T24:00:01Z", "2026-01-01T23:59:60Z", "2026-01-01T00:00:00+25:00"),
            *("10000-01-01T00:00:00Z", 0, 1e9, 10**30, True, [], {}),
        )
    ),
    ("reading", spoilt(time=None), "missing_field", "$.time"),
    # types and missing fields
    *(
        ("reading", spoilt(**{field: value}), "bad_field", f"$.{field}")
        for field, values in {
            "value": ("1", True, [], {}, [1.0]),
            "u": ("0.5", False, [0.5]),
            "lower": ("0",),
            "p": ("0.9",),
            "key": (1.5, [], {}, True),
            "seq": (1.5,),
            "unit": (1, []),
            "sensor": (1, {}),
        }.items()
        for value in values
    ),
    ("reference", spoilt(rev=1.5), "bad_field", "$.rev"),
    ("reference", spoilt(rev="1"), "bad_field", "$.rev"),
    *(("reference", spoilt(rev=n), "bad_field", "$.rev") for n in (-1, 2**62, 2**64, -(2**63))),
    ("reference", spoilt(status="gone"), "bad_field", "$.status"),
    ("reference", spoilt(status=1), "bad_field", "$.status"),
    *(("event", spoilt(event=event), "bad_field", "$.event") for event in (True, 1.5, [])),
    ("event", spoilt(event="moved", note=[]), "bad_field", "$.note"),
    ("reading", b"{}", "missing_field", "$.time"),
    ("reading", spoilt(time=...), "missing_field", "$.time"),
    ("reading", spoilt(value=...), "missing_field", "$.value"),
    ("reading", spoilt(value=None), "no_reading", "$.value"),
    ("reference", spoilt(time=...), "missing_field", "$.time"),
    ("reference", spoilt(value=...), "missing_field", "$.value"),
    ("event", spoilt(), "missing_field", "$.event"),
    ("event", spoilt(time=..., event="moved"), "missing_field", "$.time"),
    # what takes a reference back names it, by an identity or its time
    ("reference", b'{"status": "void"}', "missing_field", "$.time"),
    ("reference", b'{"status": "void", "id": ""}', "missing_field", "$.time"),
    ("reference", b'{"status": "final", "id": "a"}', "missing_field", "$.time"),
    # names and units
    ("reading", spoilt(sensor="another"), "name_mismatch", "'another'"),
    ("reading", spoilt(quantity="Q"), "name_mismatch", "'Q'"),
    ("reading", spoilt(sensor="x" * 5000), "name_mismatch", "sensor"),
    *((kind, spoilt(unit="lb"), "unit", "'lb'") for kind in ("reading", "reference")),
    *(
        ("reading", spoilt(key=key), "bad_name", "key")
        for key in ("\0", "a\nb", "\u202e", "x" * 257)
    ),
    ("reading", spoilt(key=10**400), "bad_name", "key"),
    *(("reading", spoilt(seq=seq), "bad_name", "seq") for seq in ("\x1b[2J", "x" * 257)),
    *(("reference", spoilt(id=name), "bad_name", "id") for name in ("\0", "x" * 257)),
    ("reference", spoilt(key="\x7f"), "bad_name", "key"),
    *(
        ("event", spoilt(event=name), "bad_name", "event")
        for name in ("", " ", "a b", "<script>", 'q"', "\n", "x" * 129)
    ),
    *((kind, b"", "no_reading", "empty") for kind in KINDS),
    # not JSON, not an object, not UTF-8
    *(
        (kind, payload, "bad_payload", "not JSON")
        for kind in KINDS
        for payload in (b" ", b"{", b'{"time"', b"\0", b"\xff", b"\xff\xfe{\0}\0", b"hello")
    ),
    ("reading", b"\xef\xbb\xbf" + spoilt(), "bad_payload", "not JSON"),
    ("reading", spoilt() + spoilt(), "bad_payload", f"byte {len(spoilt())}"),
    *(("reading", payload, "bad_field", "object") for payload in (b"null", b"7", b'"x"', b"[]")),
    *(
        ("reading", spoilt(key="?").replace(b"?", key), "bad_payload", place)
        for key, place in (
            (b"\xff", "not UTF-8"),
            (b"\xed\xa0\x80", "not UTF-8"),
            (rb"\ud800", "not JSON"),
            (rb"\udc00", "not JSON"),
            (rb"\ud800\u0041", "not JSON"),
            (b"\n", "not JSON"),
        )
    ),
    # size and depth
    ("reading", b" " * (BYTES_MAX + 1), "oversize", str(BYTES_MAX)),
    ("reference", spoilt(reference_id="a\nb"), "bad_name", "reference_id"),
    *(
        (kind, b'{"x":' + opening * 100_000, "bad_payload", "nested too deeply")
        for kind in KINDS
        for opening in (b"[", b'{"x":', b'{"time":')
    ),
    ("reading", b"[" * 100_000, "bad_payload", "nested too deeply"),
    ("reading", spoilt(x="?").replace(b'"?"', b"[" * 101 + b"]" * 101), "bad_payload", "nested"),
    # half of an interval, and one upside down
    ("reference", spoilt(u=..., lower=0.0), "missing_field", "$.upper"),
    ("reference", spoilt(u=..., upper=2.0), "missing_field", "$.lower"),
    ("reference", spoilt(u=..., lower=2.0, upper=0.0), "inverted_interval", "$.lower"),
    # a member that stands twice
    *(
        ("reading", payload, "bad_payload", place)
        for payload, place in (
            (spoilt()[:-1] + b', "value": 1.0}', "$.value"),
            (spoilt(time="x")[:-1] + f', "time": "{TIME}"}}'.encode(), "$.time"),
            (spoilt()[:-1] + rb', "tim\u0065": "x"}', "$.time"),
            (spoilt()[:-1] + b', "x": [{"a": {"b": 1, "b": 1}}]}', "$.x[0].a.b"),
            (spoilt()[:-1] + b', "x": {"": 1, "": 2}}', '$.x[""]'),
        )
    ),
]


@pytest.mark.parametrize(
    ("kind", "payload", "reason", "place"),
    HOSTILE,
    ids=[f"{kind}-{reason}-{bytes(payload[:60])!r}" for kind, payload, reason, _ in HOSTILE],
)
def test_a_hostile_payload_is_refused_for_its_reason_at_its_place(kind, payload, reason, place):
    refused = refusal(TOPICS[kind], payload)

    assert refused.reason == reason, refused
    assert place in (refused.place if place[0] in "$b" else refused.detail)
    assert len(refused.detail) < 400


def test_the_good_payload_that_they_were_made_of_is_accepted():
    (reading,) = ROUTER.decode(TOPICS["reading"], spoilt(), NOW)
    (reference,) = ROUTER.decode(TOPICS["reference"], spoilt(), NOW)
    (event,) = ROUTER.decode(TOPICS["event"], spoilt(event="moved"), NOW)

    assert isinstance(reading, Reading)
    assert isinstance(reference, Reference)
    assert (reading.sensor, reading.time, reading.value, reading.u) == ("s", SECONDS, 1.0, 0.5)
    assert (reference.subject, reference.time, reference.u) == ("s", SECONDS, 0.5)
    assert event == Event("s", SECONDS, "moved")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"value": 1e15}, {"value": 1e15}),
        ({"u": 1e-12}, {"u": 1e-12}),
        ({"time": "2000-01-01T00:00:00Z"}, {"time": 946_684_800.0}),
        ({"time": "2026-05-28T20:31:40Z"}, {"time": NOW + 300.0}),
        ({"time": "2026-01-01T13:00:00+13:00"}, {"time": SECONDS}),
        ({"key": "x" * 256}, {"key": "x" * 256}),
        ({"key": "\U0001f404"}, {"key": "\U0001f404"}),
        ({"key": 982000412345678}, {"key": "982000412345678"}),
        ({"key": 0, "seq": 0}, {"key": "0", "sequence": "0"}),
        ({"key": None, "seq": None}, {"key": "", "sequence": ""}),
        ({"value": -0.0}, {"value": 0.0}),
        ({"time": "2026-01-01t00:00:00.1234567z"}, {"time": SECONDS + 0.123457}),
        ({"time": "2026-01-01T00:00Z"}, {"time": SECONDS}),
        ({"x": {"deep": [[]] * 200}}, {"value": 1.0}),
        ({"lower": 0.0, "upper": 1e-12}, {"lower": 0.0, "upper": 1e-12}),
        ({"value": ..., "u": ..., "lower": 1.0, "upper": 4.0}, {"value": 2.5}),
        ({"u": ..., "U": 1.0}, {"u": 0.5}),
        ({"u": ..., "U": 1.0, "p": 0.6826894921370859}, {"u": pytest.approx(1.0, rel=1e-12)}),
    ],
)
def test_what_is_just_within_the_limits_is_taken_as_it_stands(fields, expected):
    (reading,) = ROUTER.decode(TOPICS["reading"], spoilt(**fields), NOW)

    assert {name: getattr(reading, name) for name in expected} == expected


def test_a_void_needs_an_identity_or_a_time_and_nothing_else():
    (named,) = ROUTER.decode(TOPICS["reference"], b'{"status": "void", "id": "a"}', NOW)
    by_time = json.dumps({"status": "void", "time": TIME}).encode()
    (timed,) = ROUTER.decode(TOPICS["reference"], by_time, NOW)
    (shouted,) = ROUTER.decode(TOPICS["reference"], by_time.replace(b"void", b"VOID"), NOW)

    assert (named.void, named.identity, math.isnan(named.time)) == (True, "a", True)
    assert (timed.void, timed.identity, timed.time) == (True, "", SECONDS)
    assert shouted == timed


@pytest.mark.parametrize("rank", [("prelim", 0), ("final", 1), ("void", 2)])
def test_the_highest_revision_that_is_taken_can_be_kept(rank):
    status, within = rank
    (reference,) = ROUTER.decode(TOPICS["reference"], spoilt(rev=2**53, status=status), NOW)
    kept = msgspec.msgpack.encode(reference)

    assert reference.revision == 4 * 2**53 + within
    assert msgspec.msgpack.decode(kept, type=Reference).revision == reference.revision


@pytest.mark.parametrize(
    ("topic", "reason", "place"),
    [
        *((topic, "unknown_topic", repr(topic)) for topic in ("", "x", "monitor/s/q", "$SYS/a")),
        ("monitor/s/q/reading/", "unknown_topic", "reading/"),
        ("y" * 65_535, "unknown_topic", "yyy"),
        *(
            (f"monitor/{name}/q/reading", "bad_name", "sensor")
            for name in (
                *("", "a\nb", "x" * 129, "a\0", "\u202e", "\ud800", "+", "#", "a\n", "\x1b[2J"),
            )
        ),
        ("monitor/s/#x/reading", "bad_name", "quantity"),
        ("monitor/a\x7fb/q/reference", "bad_name", "subject"),
        ("monitor/s\n/event", "bad_name", "sensor"),
    ],
)
def test_a_hostile_topic_is_refused_for_its_reason(topic, reason, place):
    refused = refusal(topic, spoilt(event="moved"))

    assert refused.reason == reason
    assert place in refused.detail
    assert len(refused.detail) < 400
    assert refused.detail.isprintable()


@pytest.mark.parametrize(("stated", "name"), [("S3", "S3"), (7, "7"), ("", ""), (..., "")])
def test_a_reference_may_name_what_measured_it(stated, name):
    (found,) = ROUTER.decode(TOPICS["reference"], spoilt(reference_id=stated), NOW)

    assert (found.subject, found.reference_id) == ("s", name)


@pytest.mark.parametrize(
    ("p", "k"), [(0.95, 1.959963984540054), (0.9, 1.6448536269514722), (..., 2)]
)
def test_the_interval_of_a_reference_is_its_uncertainty(p, k):
    (found,) = ROUTER.decode(TOPICS["reference"], spoilt(u=..., lower=0.0, upper=2.0, p=p), NOW)

    assert found.u == pytest.approx(1.0 / k, rel=1e-12)


# -- whatever comes -----------------------------------------------------------------------------

FIELDS = [
    *("time", "value", "u", "lower", "upper", "p", "U", "k", "unit", "key", "seq", "sensor"),
    *("quantity", "id", "rev", "status", "start", "end", "reference_id", "event", "note", "x"),
]
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(
        [TIME, "0001-01-01T00:00:00+14:00", "kg", "s", "q", "void", "final", "\ud800"]
    )
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
needed = {
    "time": st.datetimes().map(lambda time: f"{time.isoformat()}Z"),
    "value": st.floats(),
    "u": st.floats(),
}
likely = {
    "lower": st.floats(),
    "upper": st.floats(),
    "p": st.floats(0.0, 1.0),
    "U": st.floats(),
    "k": st.floats(),
    "rev": st.integers(-(2**70), 2**70),
    "status": st.sampled_from(["", "prelim", "final", "void"]),
    "id": st.text(max_size=3) | st.integers(),
    "end": st.datetimes().map(lambda time: f"{time.isoformat()}+14:00"),
    "event": st.sampled_from(["moved", "adjusted", ""]),
}
objects = (
    st.dictionaries(st.sampled_from(FIELDS), values)
    | st.fixed_dictionaries({}, optional=needed | likely)
    | st.fixed_dictionaries(needed, optional=likely)
)


def decoded(topic: str, payload: bytes) -> Observation | Rejected:
    """Return what a message comes to; whatever else is raised ends the test."""
    (found,) = ROUTER.decode(topic, payload, NOW)
    return found


def assert_refused_or_usable(kind: str, payload: bytes) -> None:
    found = decoded(TOPICS[kind], payload)
    if isinstance(found, Rejected):
        assert found.reason in REASONS
        assert found.reason != "unexpected", found
        assert found.detail
        return
    assert type(found) is KINDS[kind]
    kept = msgspec.msgpack.decode(msgspec.msgpack.encode([found]), type=list[KINDS[kind]])
    assert msgspec.msgpack.encode(kept) == msgspec.msgpack.encode([found])
    assert not math.isinf(found.time)
    assert not found.time > NOW + 300.0
    if isinstance(found, Reading):
        assert abs(found.value) <= 1e15
        assert 1e-12 <= found.u <= 1e15 or found.lower < found.upper
        assert math.isnan(found.u) or 1e-12 <= found.u <= 1e15
        assert math.isnan(found.p) or 0.0 < found.p < 1.0
    if isinstance(found, Reference) and not found.void:
        assert abs(found.value) <= 1e15
        assert found.u == 0.0 or 1e-12 <= found.u <= 1e15


@given(kind=st.sampled_from(sorted(KINDS)), payload=st.binary())
@example(kind="reading", payload=spoilt())
@settings(deadline=None)
def test_whatever_bytes_come_are_refused_with_a_reason_or_usable(kind, payload):
    assert_refused_or_usable(kind, payload)


@given(kind=st.sampled_from(sorted(KINDS)), body=objects | values)
@settings(deadline=None, max_examples=400)
def test_whatever_json_comes_is_refused_with_a_reason_or_usable(kind, body):
    assert_refused_or_usable(kind, json.dumps(body).replace("Infinity", "1e999").encode())


@given(
    good=st.sampled_from([GOOD, {**GOOD, "event": "moved", "id": "x", "status": "void"}]),
    kind=st.sampled_from(sorted(KINDS)),
    at=st.integers(0, 200),
    byte=st.integers(0, 255),
    cut=st.booleans(),
)
@settings(deadline=None, max_examples=300)
def test_a_good_payload_with_one_byte_changed_or_cut_off_is_refused_or_usable(
    good, kind, at, byte, cut
):
    payload = bytearray(json.dumps(good).encode())
    at %= len(payload)
    payload[at:] = b"" if cut else bytes([byte]) + payload[at + 1 :]
    assert_refused_or_usable(kind, bytes(payload))


@given(
    topic=st.text()
    | st.lists(st.text(max_size=5), min_size=2, max_size=2).map(
        lambda names: f"monitor/{names[0]}/{names[1]}/reading"
    )
)
@settings(deadline=None)
def test_whatever_topic_comes_is_refused_with_a_reason_or_names_a_sensor(topic):
    found = decoded(topic, spoilt())
    if isinstance(found, Rejected):
        assert found.reason in ("unknown_topic", "bad_name")
    else:
        assert f"monitor/{found.sensor}/{found.quantity}/" in topic


# -- many topics ----------------------------------------------------------------------------------


def test_more_topics_than_are_remembered_keep_their_readings_apart(monkeypatch):
    monkeypatch.setattr(router, "_CACHED_TOPICS_MAX", 3)
    small = Router(ROUTES, BYTES_MAX)
    payload = json.dumps(GOOD).encode()

    for names in ("abc", "cda", "bdcae", "abcdefgh", "ahc"):
        topics = [f"monitor/{name}/mass/reading" for name in names]
        decoded = small.decode_all(topics, [payload] * len(topics), NOW)

        found = zip(decoded.sources, decoded.observations, strict=True)
        assert [each.sensor for _, each in sorted(found, key=lambda one: one[0])] == list(names)
