"""Formats: what each decoder makes of its payloads, and that no bytes break one."""

from __future__ import annotations

import json
import math
import re
from contextlib import closing
from pathlib import Path

import cbor2
import msgspec
import pytest
from fuzz import seeds
from fuzz.messages import MESSAGES
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monitor.config import parse
from monitor.config.core_plan import router_of
from monitor.core.model import Event, Reading, Reference
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.decode import DECODERS, REASONS, Rejected
from monitor.http.telemetry import Figures, families
from monitor.http.text_format import render
from monitor.journal.in_memory import InMemoryStore

CONFIGS = Path(__file__).parents[3] / "configs"
T = 1_772_298_600.0
RECEIVED = T + 1e6

SETTINGS = """sources:
- {topic: "ref/{subject}/{quantity}", kind: reference}
- {topic: "native/{sensor}/{quantity}", kind: reading}
- {topic: "json/{sensor}/{quantity}", kind: reading, decoder: json,
   map: {each: list, time: t, key: key, number_texts: true,
         series: [{value: v, u: u, unit_path: unit, to_unit: kg}]}}
- {topic: "senml/{sensor}/{quantity}", kind: reading, decoder: senml,
   map: {select: {local: [kg]}, series: [{value: value, u: beside.kg_u, unit_path: unit}]}}
- {topic: "lp/{sensor}", kind: reading, decoder: lineprotocol,
   map: {time_unit: ns, key: tags.eid, defaults: {tags.eid: ""},
         series: [{quantity: weight, value: fields.kg, u: fields.u}]}}
- {topic: "csv/{sensor}", kind: reading, decoder: csv,
   map: {columns: [t, v, "", sd], delimiter: ";", time: t,
         series: [{value: v, u: sd, assumed: "0.1 * abs(value)"}]}}
- {topic: "display/{sensor}", kind: reading, decoder: display,
   map: {time: arrival, series: [{value: value, u: 1}]}}
- {topic: "msgpack/{sensor}", kind: reading, decoder: msgpack,
   map: {columnar: $, time: t, series: [{value: v, u: u}]}}
- {topic: "spBv1.0/{group}/{message}/{edge}/{sensor}", kind: reading, decoder: sparkplug,
   map: {optional: true, time_unit: ms, where: {quality.density/value: [GOOD]},
         series: [{quantity: density, value: values.density/value,
                   U: values.density/U95, p: 0.95}]}}
- {topic: "spBv1.0/{group}/{message}/{edge}", kind: reading, decoder: sparkplug,
   map: {optional: true, sensor: "{edge}", time_unit: ms, series: [{value: values.x, u: 1}]}}
"""
TOPICS = {
    "native": "native/s/q",
    "json": "json/s/q",
    "senml": "senml/s/q",
    "lineprotocol": "lp/s",
    "csv": "csv/s",
    "display": "display/s",
    "msgpack": "msgpack/s",
    "sparkplug": "spBv1.0/g/DDATA/e/s",
}


def router(births=None):
    return router_of(parse(SETTINGS.encode(), "f"), births)


def decode(name, payload):
    return router().decode(TOPICS[name], payload, RECEIVED)


# -- the page -------------------------------------------------------------------------------------


PAGE = (CONFIGS.parent / "docs" / "formats.md").read_text(encoding="utf-8")


def test_the_settings_on_the_page_of_formats_can_be_used():
    examples = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)

    shown = {parse(each.encode(), "f").sources[0].decoder for each in examples}

    assert shown == set(DECODERS)
    assert all(f"\n## {name}\n" in PAGE for name in DECODERS)


ROW = re.compile(r"(?m)^\| `(\{.*\})` \| `(\{.*\})` \| (.*\d.*) \|$")


@pytest.mark.parametrize(("payload", "entry", "becomes"), ROW.findall(PAGE))
def test_each_form_of_uncertainty_becomes_what_the_page_says(payload, entry, becomes):
    mapping = f"{{time: arrival, series: [{entry}]}}"
    source = f"{{topic: 'x/{{sensor}}', kind: reading, decoder: json, map: {mapping}}}"
    reference = "{topic: 'ref/{subject}/{quantity}', kind: reference}"
    mapped = parse(f"sources: [{source}, {reference}]".encode(), "f")
    (reading,) = router_of(mapped).decode("x/s", payload.encode(), RECEIVED)
    stated = f"u = {reading.u:.4g}"
    if math.isfinite(reading.lower):
        stated = f"[{reading.lower:g}, {reading.upper:g}], p = {reading.p:g}"
    value = "" if "value:" in entry else f"{reading.value:g}, "

    assert becomes == value + stated + ", marked as assumed" * reading.assumed


def test_the_page_of_formats_has_every_form_of_uncertainty():
    assert len(ROW.findall(PAGE)) == 9


# -- hostile payloads -----------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(width=32) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["t", "v", "u", "list", "key", "unit", "n", "bn", "bt", "s", "time"])
            | st.integers(-7, 8).map(str),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


def checked(found):
    for each in found:
        if isinstance(each, Rejected):
            assert each.reason in REASONS
            assert each.reason != "unexpected", each.detail
        elif isinstance(each, Reading):
            assert math.isfinite(each.time)
            assert math.isfinite(each.value)
            assert math.isfinite(each.u) or math.isfinite(each.lower + each.upper)
        else:
            assert isinstance(each, Reference | Event)


def survives(daemon, topic, payload):
    try:
        checked(daemon.decode(topic, payload, RECEIVED))
    except Rejected as refused:
        checked([refused])


DAEMON, FUZZED = router(), router_of(parse(seeds.SETTINGS, "own"))
NATIVE = b'{"time":"2026-03-01T06:00:00Z","value":1,"u":1}'
# A router, a topic that it reads, and a good payload: every format is here, as it is fuzzed.
GOOD = {
    name: (FUZZED, each.topic, each.seeds[0])
    for name, each in MESSAGES.items()
    if each.settings == "own"
} | {"native": (DAEMON, TOPICS["native"], NATIVE)}


@pytest.mark.parametrize("name", GOOD)
def test_a_refused_message_is_let_go_at_once(name):
    """A refusal with its traceback keeps the whole read until cycles are collected: 200 MB once."""
    daemon, topic, good = GOOD[name]
    payloads = [good[: len(good) // 2], b"{" * 99, b"\xff", b"[[1", good + b"\xff"]
    found = daemon.decode_all([topic] * len(payloads), payloads, RECEIVED)
    kept = [
        refused
        for _, refused in found.refused
        if refused.__traceback__ or refused.__context__ or refused.__cause__
    ]

    assert found.refused
    assert kept == []


@settings(max_examples=150, deadline=None)
@example(value={"list": [{"t": T, "v": 10**400, "u": 1}]})
@example(value=[{"n": "kg", "v": 1e308, "bv": 1e308}])
@example(value=[{"n": "kg", "s": 1.0}])
@given(value=JSON)
def test_any_value_gives_finite_numbers_or_a_reason(value):
    text = json.dumps(value).encode()
    for topic in ("json/s/q", "senml/s/q", "native/s/q"):
        survives(DAEMON, topic, text)
    survives(DAEMON, "senml/s/q", cbor2.dumps(value))
    if isinstance(value, dict):
        try:
            packed = msgspec.msgpack.encode(value)
        except (OverflowError, ValueError):
            return
        survives(DAEMON, "msgpack/s", packed)


@pytest.mark.parametrize("payload", [b"[" * 50_000, b"\x91" * 50_000, b"\x81" * 50_000])
def test_towers_of_brackets_are_refused(payload):
    for daemon, topic, _ in GOOD.values():
        survives(daemon, topic, payload)


# -- the words of refusals ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("true", "a boolean"),
        ("{}", "an object"),
        ("[1]", "an array"),
        ('"x"', "a text"),
    ],
)
def test_a_value_of_a_wrong_type_is_told_in_the_words_of_json(value, told):
    body = f'{{"time":"2026-03-01T06:00Z","value":{value},"u":1}}'
    (refused,) = decode("native", body.encode())

    assert refused.detail == f"value at `$.value` is {told}, not a number"


def test_a_time_without_a_zone_is_refused_with_what_its_decoder_can_do():
    (native,) = decode("native", NATIVE.replace(b"Z", b""))
    (mapped,) = decode("json", b'{"list":[{"t":"2026-03-01T06:00:00","v":"1","u":1}]}')

    assert native.detail.endswith(
        "; send one, or read it with decoder json and time_zone in its map"
    )
    assert mapped.detail.endswith("; send one, or set time_zone for the source")


# -- a message that means something else at another time ------------------------------------------


def test_a_format_whose_messages_mean_something_else_later_says_so():
    """Else a message that comes again counts twice: it has no identity without its packet."""
    own = [each for each in MESSAGES.values() if each.settings == "own"]
    depend = set()
    for each in own:
        for payload in each.seeds:
            now, later = (
                [str(found) for found in FUZZED.decode(each.topic, payload, RECEIVED + seconds)]
                for seconds in (0.0, 7.0)
            )
            if now != later:
                depend.add(each.decoder)
                assert FUZZED.needs_packet(each.topic), each.decoder

    marked = {each.decoder for each in own if FUZZED.needs_packet(each.topic)}
    assert depend
    assert depend == {name for name in marked if not DECODERS[name].has_births}


# -- a message counts once ------------------------------------------------------------------------


def test_a_message_counts_once_and_its_bad_records_apart(tmp_path):
    from monitor.daemon.intake import Intake
    from monitor.journal import Journal

    class Message:
        def __init__(self, topic, *records):
            self.topic = topic
            self.payload = json.dumps({"list": records}).encode()

    good = {"t": T, "v": 1, "u": 1, "key": "a", "unit": "kg"}
    bad = good | {"u": 0}
    odd = good | {"v": "x"}
    new = good | {"t": T + 1}
    with closing(Journal(tmp_path / "j.sqlite")) as journal:
        network = Network(CoreSettings(lambda *_: SeriesRules()), InMemoryStore())
        intake = Intake(router(), network, journal)
        batch = intake.prepare(
            [
                Message("json/s/q", good, bad, odd),
                Message("json/s/q", good, bad),
                Message("json/s/q", odd, bad),
                Message("json/s/q", good, new),
                Message("spBv1.0/g/NDEATH/e"),
            ],
            RECEIVED,
        )
        intake.commit(batch)
        counts = intake.counts

        assert (counts.received, counts.committed, counts.duplicate) == (5, 3, 1)
        assert {reason: n for reason, n in counts.rejected.items() if n} == {"bad_field": 1}
        assert {reason: n for reason, n in counts.records_rejected.items() if n} == {
            "bad_uncertainty": 2,
            "bad_field": 1,
        }
        assert len(journal.dead_letters()) == 5
        assert journal.totals()["records_rejected.bad_uncertainty"] == 2


def test_bad_records_have_a_metric():
    page = render(families(Figures(records_rejected={"quality": 3})))

    assert b'monitor_records_rejected_total{reason="quality"} 3.0' in page
