"""Mapping: every form of uncertainty, units, names, quality, and the three trades' payloads."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from monitor.config import SettingsError, load, parse
from monitor.config.core_plan import router_of
from monitor.core.model import Event, Reading, Reference
from monitor.decode import Rejected
from monitor.decode.mapping import Mapped
from monitor.decode.records import Arrival
from monitor.decode.spec import MapSpec, SeriesSpec

CONFIGS = Path(__file__).parents[2] / "configs"
T = 1_772_298_600.0  # 2026-02-28T17:10:00Z
RECEIVED = T + 1e6
FIELDS = {"sensor": "s", "subject": "s", "quantity": "q"}


def mapped(kind="reading", unit="", names=("sensor",), series=None, **spec):
    series = [{"value": "v", "u": "u"}] if series is None else series
    whole = MapSpec(series=tuple(SeriesSpec(**each) for each in series), **{"time": "t"} | spec)
    return Mapped(whole, kind, names, unit)


def observe(payload, **spec):
    seen = mapped(**spec).observe(payload, Arrival(dict(FIELDS), RECEIVED))
    return [found for each in seen for found in each.found]


def reading(payload, **series):
    (found,) = observe({"t": T, **payload}, series=[series])
    if isinstance(found, Rejected):
        raise found
    return found


def stated(found):
    return tuple(
        None if math.isnan(x) else round(x, 9)
        for x in (found.value, found.u, found.lower, found.upper, found.p)
    )


# Of [2, 4, 9]: s = sqrt(13); the truth is one more of four, and t has 2 degrees of freedom.
ONE_MORE_OF_THREE = round(math.sqrt(13.0 * 4.0 / 3.0) * 4.302652729749464 / 1.959963984540054, 9)


# -- forms of uncertainty -------------------------------------------------------------------------

FORMS = [
    # payload, mapping of the series, value, u, lower, upper, p: computed by hand
    ({"v": 10, "u": 2}, {"value": "v", "u": "u"}, (10, 2, None, None, None)),
    ({"v": 10}, {"value": "v", "u": 0.5}, (10, 0.5, None, None, None)),
    ({"v": 10, "U": 3, "k": 2}, {"value": "v", "U": "U", "k": "k"}, (10, 1.5, None, None, None)),
    ({"v": 10, "U": 3}, {"value": "v", "U": "U"}, (10, 1.5, None, None, None)),
    # the normal's 0.975 quantile is 1.959963985
    (
        {"v": 10, "U": 1.959963984540054, "p": 0.95},
        {"value": "v", "U": "U", "p": "p"},
        (10, 1, None, None, None),
    ),
    (
        {"v": 10, "lo": 7, "hi": 14},
        {"value": "v", "lower": "lo", "upper": "hi", "p": 0.9},
        (10, None, 7, 14, 0.9),
    ),
    ({"lo": 7, "hi": 14}, {"lower": "lo", "upper": "hi"}, (10.5, None, 7, 14, None)),
    (
        {"v": 10, "e": 0.5},
        {"value": "v", "plus_minus": "e", "p": 0.95},
        (10, None, 9.5, 10.5, 0.95),
    ),
    # 2 % of 50 is 1, half of it is 0.5; of a negative value the size counts
    ({"v": 50}, {"value": "v", "percent": 2, "k": 2}, (50, 0.5, None, None, None)),
    ({"v": -50}, {"value": "v", "percent": 2, "k": 1}, (-50, 1, None, None, None)),
    # asymmetric around the value; the inner pair is not used
    (
        {"q": {"5": 7, "25": 9, "50": 10, "75": 12, "95": 20}},
        {
            "quantiles": {
                "0.05": "q.5",
                "0.25": "q.25",
                "0.5": "q.50",
                "0.75": "q.75",
                "0.95": "q.95",
            }
        },
        (10, None, 7, 20, 0.9),
    ),
    (
        {"v": 11, "a": 7, "b": 20},
        {"value": "v", "quantiles": {"0.1": "a", "0.9": "b"}},
        (11, None, 7, 20, 0.8),
    ),
    # mean of 2, 4, 9 is 5; squares 9 + 1 + 16 = 26, over 2 is 13
    ({"x": [2, 4, 9]}, {"samples": "x"}, (5, ONE_MORE_OF_THREE, None, None, None)),
    (
        {"v": 6, "x": [2, 4, 9]},
        {"value": "v", "samples": "x"},
        (6, ONE_MORE_OF_THREE, None, None, None),
    ),
    ({"v": 10, "u": 2, "lo": 7, "hi": 14},
     {"value": "v", "u": "u", "lower": "lo", "upper": "hi", "p": 0.9},
     (10, 2, 7, 14, 0.9)),
]  # fmt: skip


@pytest.mark.parametrize(("payload", "series", "expected"), FORMS)
def test_a_form_of_uncertainty_gives_the_numbers_computed_by_hand(payload, series, expected):
    assert stated(reading(payload, **series)) == expected
    assert reading(payload, **series).assumed is False


def test_an_assumed_uncertainty_is_a_formula_of_the_value_and_marked():
    found = reading({"v": -9}, value="v", assumed="max(0.1, 0.02 * abs(value) + sqrt(4))")

    assert found.u == pytest.approx(2.18)
    assert found.assumed is True


def test_an_uncertainty_that_is_stated_is_not_assumed():
    found = reading({"v": 1, "lo": 0, "hi": 3}, value="v", lower="lo", upper="hi", assumed="9")

    assert math.isnan(found.u)
    assert found.assumed is False


def test_a_formula_that_fails_for_one_value_costs_that_record():
    found = observe(
        {"t": T, "x": [{"v": 0}, {"v": 2}]},
        each="x", time="$.t", series=[{"value": "v", "assumed": "1 / value"}],
    )  # fmt: skip

    assert [type(each) for each in found] == [Rejected, Reading]
    assert found[0].reason == "bad_uncertainty"


# -- records, names, quality ----------------------------------------------------------------------


def test_a_scalar_payload_is_the_value_at_its_time_of_arrival():
    (found,) = observe(512, time="arrival", series=[{"value": "$", "u": 2}])

    assert (found.value, found.time) == (512, RECEIVED)


def test_numbers_in_texts_are_taken_where_the_settings_say_so():
    (refused,) = observe({"t": T, "v": "1.5", "u": 1})
    (found,) = observe({"t": T, "v": " 1.5 ", "u": "1e-1"}, number_texts=True)

    assert refused.reason == "bad_field"
    assert "number_texts" in refused.detail
    assert (found.value, found.u) == (1.5, 0.1)


@pytest.mark.parametrize("text", ["inf", "1_0", "0x10", "1,5,0", "1.000,5", "1e999999", "٣"])
def test_what_is_no_plain_number_is_refused(text):
    (found,) = observe({"t": T, "v": text, "u": 1}, number_texts=True)

    assert found.reason in ("bad_field", "not_finite")


def test_a_mistake_in_a_map_is_told_with_its_place():
    text = """sources:
- {topic: "a/{sensor}", kind: reference, decoder: json, map: {series: [{value: v}]}}
- topic: b/{sensor}
  kind: reading
  decoder: json
  map:
    series:
    - {value: v, u: "a[x]"}
- {topic: "c/{sensor}", kind: reading, decoder: csv}
"""
    with pytest.raises(SettingsError) as caught:
        parse(text.encode(), "f")

    first, second = map(str, caught.value.mistakes)
    assert first.startswith("f:8:21: sources[1].map.series[0].u: 'a[x]' is not a path")
    assert second.startswith("f:9:49: sources[2].decoder: csv needs a mapping")


@pytest.mark.parametrize(
    ("series", "told"),
    [
        ("u: u, k: 2", "k: has no effect without U or percent"),
        ("u: u, p: 0.95", "p: has no effect without U or percent or lower or plus_minus"),
        ("lower: a, upper: b, k: k", "k: has no effect without U or percent"),
        ("upper: b", "upper: needs the other limit"),
        ("lower: a", "lower: needs the other limit"),
        ("U: U, k: k, lower: a, upper: b, p: 0.9", ""),
        ("percent: 2, p: p", ""),
        ("plus_minus: e, p: p", ""),
    ],
)
def test_a_factor_or_a_level_of_nothing_is_a_mistake(series, told):
    text = f"""sources:
- {{topic: "a/{{sensor}}", kind: reading, decoder: json,
   map: {{time: t, series: [{{quantity: q, value: v, {series}}}]}}}}
"""
    if not told:
        parse(text.encode(), "f")
        return
    with pytest.raises(SettingsError) as caught:
        parse(text.encode(), "f")

    (mistake,) = map(str, caught.value.mistakes)
    assert f"sources[0].map.series[0].{told}" in mistake


# -- references and events ------------------------------------------------------------------------


def test_a_reference_has_identity_revision_and_status():
    spec = {"kind": "reference", "identity": "id", "revision": "rev", "status": "s"}
    payload = {"t": T, "v": 1, "u": 1, "id": 7}

    (prelim,) = observe({**payload, "s": "prelim"}, **spec, defaults={"rev": 0})
    (final,) = observe({**payload, "s": "final", "rev": 3}, **spec)
    (void,) = observe({"id": 7, "s": "void", "rev": 3}, **spec)
    (odd,) = observe({**payload, "s": "maybe", "rev": 3}, **spec)
    (half,) = observe({**payload, "rev": 1.5}, **spec)

    assert (prelim.identity, prelim.revision, final.revision) == ("7", 0, 13)
    assert (void.void, void.revision, void.identity) == (True, 14, "7")
    assert math.isnan(void.time)
    assert (odd.reason, half.reason) == ("bad_field", "bad_field")


def test_an_event_is_mapped():
    (found,) = observe(
        {"t": T, "what": "adjusted", "who": "me"}, kind="event", event="what", note="who"
    )

    assert found == Event("s", T, "adjusted", "me")


# -- the trades -----------------------------------------------------------------------------------

LATE = 1_780_000_000.0


def decode(config, topic, payload):
    router = router_of(load(CONFIGS / config))
    raw = payload if isinstance(payload, str) else json.dumps(payload)
    return router.decode(topic, raw.encode(), LATE)


def test_the_platforms_of_the_weighing_trade_are_read():
    (vendor,) = decode(
        "weighing.yaml",
        "wow/otago/north/p03/reading",
        '{"eid":"982 000412345678","ts":"2026-03-01T06:12:44+13:00","kg":512,"lo":489,"hi":538,'
        '"level":0.9,"fw":"2.4"}',
    )
    (kalman,) = decode(
        "weighing.yaml",
        "wow/otago/north/p03/kalman",
        '{"eid":"982000412345678","ts":1772298764.2,"mean":507.1,"sd":11.8}',
    )
    (static,) = decode(
        "weighing.yaml",
        "wow/otago/crush/static",
        '{"eid":"982000412345678","ts":"2026-03-01T07:40:10+13:00","kg":503.5,"u":0.6}',
    )

    assert (vendor.sensor, vendor.quantity) == ("otago.north.p03.vendor", "weight")
    assert stated(vendor) == (512, None, 489, 538, 0.9)
    assert vendor.time == 1_772_298_764.0  # 2026-02-28T17:12:44Z
    assert kalman == Reading(
        "otago.north.p03.kalman", "weight", 1772298764.2, 507.1, 11.8,
        kalman.lower, kalman.upper, kalman.p, "982000412345678",
    )  # fmt: skip
    assert static.key == vendor.key == kalman.key
    assert (static.subject, static.value, static.u) == ("otago.crush", 503.5, 0.6)


def test_the_line_of_a_legacy_head_is_read():
    (found,) = decode("weighing.yaml", "wow/otago/north/p03/line", ",860,LB,$,GR,03/09/04,08:58,j")

    assert found.value == pytest.approx(390.0894382)
    assert found.u == pytest.approx(0.02 * 390.0894382 + 0.23)
    assert found.assumed
    assert found.time == 1_078_775_880.0  # 2004-03-09 08:58 at +13:00


def test_the_nodes_and_hours_of_the_air_trade_are_read():
    pm25, no2 = decode(
        "air.yaml",
        "aq/v2/dunedin/n0412/obs",
        '{"t":1772298600,"int":600,"pm25":{"v":14.2,"u":3.1},'
        '"no2":{"v":22.0,"lo":11,"hi":35,"p":0.95},"rh":71,"loc":[-45.87,170.5]}',
    )
    hour = (
        '{"start":"2026-03-01T05:00Z","end":"2026-03-01T06:00Z","pm25":13.0,"u":1.3,'
        '"flag":"V","rev":1}'
    )
    (first,) = decode("air.yaml", "ref/S3/hourly", hour)
    void, other = decode("air.yaml", "ref/S3/hourly", hour.replace('"V","rev":1', '"I","rev":2'))
    (calibrating,) = decode("air.yaml", "ref/S3/hourly", hour.replace('"V"', '"C"'))

    assert (pm25.quantity, *stated(pm25)) == ("pm25", 14.2, 3.1, None, None, None)
    assert (no2.quantity, *stated(no2)) == ("no2", 22, None, 11, 35, 0.95)
    assert pm25.sensor == no2.sensor == "n0412"
    assert pm25.time == 1772298600.0
    assert (first.subject, first.value, first.u, first.revision) == ("S3", 13, 1.3, 4)
    assert (first.end - first.start, first.time) == (3600, first.end)
    assert (void.void, void.identity) == (True, first.identity)
    assert [each.quantity for each in (void, other)] == ["pm25", "no2"]
    assert void.revision > first.revision
    assert calibrating.reason == "quality"


def test_the_laboratory_of_the_process_trade_is_read():
    result = {
        "sample": "S-88121", "tag": "AT-4012.density", "sampled_at": "2026-03-01T04:05:00Z",
        "reported_at": "2026-03-01T11:47:00Z", "value": 0.8412, "U": 0.0006, "k": 2,
        "unit": "g/cm3", "method": "D4052", "status": "prelim",
    }  # fmt: skip

    (prelim,) = decode("process.yaml", "lims/PlantA/result", result)
    (final,) = decode(
        "process.yaml",
        "lims/PlantA/result",
        result | {"value": 0.8421, "status": "final", "supersedes": "prelim"},
    )
    (void,) = decode("process.yaml", "lims/PlantA/result", {"sample": "S-88121", "status": "void"})

    assert isinstance(prelim, Reference)
    assert (prelim.subject, prelim.quantity, prelim.identity) == ("AT-4012", "density", "S-88121")
    assert prelim.time == 1_772_337_900.0  # when it was sampled
    assert (prelim.value, prelim.u) == (pytest.approx(841.2), pytest.approx(0.3))
    assert final.value == pytest.approx(842.1)
    assert prelim.revision < final.revision < void.revision
    assert (void.void, void.identity, void.subject, void.quantity) == (True, "S-88121", "", "")
