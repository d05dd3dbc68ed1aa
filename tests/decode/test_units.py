"""A series and its references are kept in one unit: converted, or refused with both named."""

from __future__ import annotations

import json

import numpy as np
import pytest
from harness.calls import calls

from monitor.config import parse
from monitor.config.core_plan import router_of, units_of
from monitor.core.model import Reading
from monitor.daemon.assembly import assemble
from monitor.decode import Rejected, Units
from monitor.decode.units import components, conversion
from monitor.explain import Message, explain

NOW = 1_780_000_000.0
TIME = "2026-02-28T10:00:00Z"
READING, REFERENCE = "monitor/s/heat/reading", "monitor/s/heat/reference"
DEFAULT = """sources:
- {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
- {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
"""


def router(text=DEFAULT, units=None):
    settings = parse(text.encode(), "f")
    return router_of(settings, None, units_of(settings) if units is None else units)


def body(**members):
    return json.dumps({"time": TIME, "value": 1.0, "u": 0.5, **members}).encode()


def say(made, topic, **members):
    (found,) = made.decode(topic, body(**members), NOW)
    return found


@pytest.mark.parametrize("first", [READING, REFERENCE])
def test_the_first_unit_stated_is_that_of_readings_and_references(first):
    made = router()
    second = REFERENCE if first == READING else READING

    kelvin = say(made, first, value=300.0, u=0.5, unit="K")
    celsius = say(made, second, value=26.85, u=0.5, unit="degC")
    without = say(made, second, value=300.0)

    assert (kelvin.value, kelvin.u) == (300.0, 0.5)
    assert (celsius.value, celsius.u) == (pytest.approx(300.0), 0.5)
    assert without.value == 300.0


def test_an_uncertainty_is_converted_by_the_factor_alone():
    made = router()
    say(made, READING, unit="degC")

    reading = say(made, READING, value=212.0, u=9.0, lower=32.0, upper=392.0, unit="degF")

    assert (reading.value, reading.u) == (pytest.approx(100.0), pytest.approx(5.0))
    assert (reading.lower, reading.upper) == (pytest.approx(0.0, abs=1e-9), pytest.approx(200.0))


@pytest.mark.parametrize(("stated", "place"), [("kg", "$.unit"), ("furlongs", "$.unit")])
def test_what_cannot_be_converted_is_refused_with_both_units_named(stated, place):
    made = router()
    say(made, READING, unit="K")

    for topic in (READING, REFERENCE):
        refused = say(made, topic, unit=stated)

        assert isinstance(refused, Rejected)
        assert (refused.reason, refused.place) == ("unit", place)
        assert repr(stated) in refused.detail
        assert "'K'" in refused.detail


def test_a_message_that_is_refused_says_nothing_of_the_unit():
    made = router()
    say(made, READING, unit="degF", u=-1.0)
    say(made, READING, unit="degF", time="2027-01-01T00:00:00Z")

    assert say(made, READING, value=300.0, unit="K").value == 300.0


def test_pounds_and_kilograms_of_two_sources_are_kept_in_one():
    text = """sources:
- {topic: "a/{sensor}/{quantity}", kind: reading, unit: kg}
- {topic: "b/{subject}/{quantity}", kind: reference, unit: lb}
- {topic: "c/{subject}/{quantity}", kind: reference, unit: K}
"""
    made = router(text)

    assert say(made, "b/s/mass").value == pytest.approx(0.45359237)
    assert say(made, "a/s/mass").value == 1.0
    assert say(made, "a/s/mass", unit="lb").reason == "unit"  # the source declares kg
    refused = say(made, "c/s/mass")  # whoever stated it: kelvin are not subtracted from kilograms
    assert refused.reason == "unit"
    assert "'K' cannot be converted to 'kg'" in refused.detail


@pytest.mark.parametrize(
    ("stated", "wanted", "scale", "offset"),
    [
        ("µg/m³", "ug/m3", 1.0, 0.0),
        ("\u03bcg m⁻³", "mg/m3", 1e-3, 0.0),
        ("s⁻¹", "Hz", 1.0, 0.0),
        ("m²", "cm2", 1e4, 0.0),
        ("℃", "K", 1.0, 273.15),
        ("ºC", "degC", 1.0, 0.0),
        ("℉", "°C", 1 / 1.8, -32 / 1.8),
        ("%RH", "%", 1.0, 0.0),
        ("% rH", "percent", 1.0, 0.0),
    ],
)
def test_a_unit_may_be_written_as_people_write_it(stated, wanted, scale, offset):
    assert conversion(stated, wanted) == pytest.approx((scale, offset))
    back = conversion(wanted, stated)
    assert back == pytest.approx((1 / scale, -offset / scale))
    assert components(stated)


@pytest.mark.parametrize("units", [("dBm", "mW"), ("mW", "dBm"), ("dBm", "W")])
def test_what_a_factor_and_an_offset_cannot_convert_is_refused_with_both_named(units):
    with pytest.raises(Rejected, match="it takes more than a factor and an offset") as caught:
        conversion(*units)

    assert caught.value.reason == "unit"
    assert all(repr(unit) in caught.value.detail for unit in units)


def test_the_unit_that_is_not_understood_is_the_one_named():
    with pytest.raises(Rejected, match="unit 'kgg' is not understood"):
        conversion("kg", "kgg")


@pytest.mark.parametrize("many", [1, 2, 150, 1000])
def test_a_unit_holds_within_a_read_and_in_the_next_ones(many):
    made = router()
    payloads = [body(value=300.0, unit="K"), *[body(value=26.85, unit="degC")] * many]

    for _ in range(2):
        found = made.decode_all([READING] * (many + 1), payloads, NOW)

        assert np.allclose(found.observations.plain.values, 300.0)
        assert not found.refused


@pytest.mark.parametrize(
    ("pairing", "kept"), [("[subject]", 300.0), ("[key]", pytest.approx(26.85))]
)
def test_sensors_share_a_unit_only_where_a_reference_may_concern_both(pairing, kept):
    made = router(f"pairing: {{match_on: {pairing}}}\n" + DEFAULT)
    say(made, READING, value=20.0, unit="degC")

    other = say(made, "monitor/other/heat/reading", value=300.0, unit="K")

    assert other.value == kept


@pytest.mark.parametrize("pairing", ["[subject]", "[key]"])
@pytest.mark.parametrize("kind", ["reading", "reference"])
def test_a_unit_learned_costs_the_topics_of_other_series_nothing(pairing, kind):
    made = router(f"pairing: {{match_on: {pairing}}}\n" + DEFAULT)
    others = [f"monitor/s{at}/heat{at}/{kind}" for at in range(1000)]
    new = f"monitor/s/mass/{kind}"
    plain, stating = [body()] * len(others), body(value=2.0, unit="kg")
    made.decode_all([*others, new], [*plain, body()], NOW)
    made.decode_all([*others, new], [*plain, stating], NOW)

    def read():
        found = made.decode_all([*others, new], [*plain, stating], NOW)
        assert len(found.sources) == len(others) + 1
        assert not found.refused

    after_learning, _ = calls(read)
    usual, _ = calls(read)
    assert after_learning < usual + 50  # to look all topics up again would take thousands


def test_what_is_in_the_unit_that_was_learned_is_accelerated_from_the_next_read_on():
    made = router()
    topics = [f"monitor/s{at}/heat/reading" for at in range(200)]
    payloads = [body(unit="K")] * len(topics)

    first, _ = calls(lambda: made.decode_all(topics, payloads, NOW))
    made.decode_all(topics, payloads, NOW)
    later, _ = calls(lambda: made.decode_all(topics, payloads, NOW))

    assert later < first / 5


def test_units_of_so_many_series_are_remembered_and_no_more():
    made = router()
    for at in range(20_000):
        made.units.learn("s", f"q{at}", "K")

    refused = say(made, "monitor/s/more/reading", unit="K")

    assert (refused.reason, "20000 series" in refused.detail) == ("unit", True)
    assert isinstance(say(made, "monitor/s/more/reading"), Reading)
    assert isinstance(say(made, "monitor/s/q7/reading", unit="K"), Reading)


def test_other_bytes_than_a_dump_are_refused():
    units = Units()
    units.learn("s", "heat", "K")
    again = Units()
    again.load(units.dump())

    assert again.unit_of("s", "heat") == "K"
    with pytest.raises(ValueError, match=r"\S"):
        again.load(b"\x01")


def test_a_restart_changes_no_unit(tmp_path):
    text = DEFAULT + f"journal: {{path: {tmp_path}/journal.sqlite}}\n"
    settings = parse(text.encode(), "f")

    def take(*sent):
        parts = assemble(settings, NOW)
        batch = parts.intake.prepare([Message(*each) for each in sent], NOW)
        parts.intake.commit(batch)
        pairs = [(float(row["value"]), float(row["reference"])) for row in batch.pairs]
        unit = parts.network.rules[0].unit if parts.network.rules else ""
        parts.journal.close()
        return pairs, unit

    take((READING, body(value=300.0, unit="K")))
    pairs, unit = take((REFERENCE, body(value=26.85, unit="degC")))

    assert unit == "K"
    ((value, reference),) = pairs
    assert value == 300.0
    assert reference == pytest.approx(300.0)


def test_explain_says_what_was_converted():
    settings = parse(DEFAULT.encode(), "f")
    before = Message(READING, body(value=300.0, unit="K"))

    said = explain(settings, Message(REFERENCE, body(unit="degC")), NOW, [before])

    (observed,) = said.observed
    assert (observed.unit, observed.value) == ("K", pytest.approx(274.15))
    (value,) = [each for each in observed.reads if each.what == "value"]
    assert value.note == "degC to K: x 1 +273.15"
