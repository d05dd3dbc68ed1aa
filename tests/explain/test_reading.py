"""Times, values and uncertainties as a mapping reads them."""

from __future__ import annotations

import math
import re
from datetime import datetime

import pytest
from harness.explained import (
    AIR,
    BIRTH,
    LAB,
    NOW_SECONDS,
    PROCESS,
    RULES,
    WEIGHING,
    data,
    hour,
    native,
)

from monitor.config import parse
from monitor.explain import Message, explain
from monitor.explain.text import explanation_lines

LEGACY = ("wow/otago/north/p03/line", ",860,LB,$,GR,03/09/04,08:58,j")
NODE = (
    "aq/v2/dunedin/n0412/obs",
    (
        '{"t":1772298600,"int":600,"pm25":{"v":14.2,"u":3.1},"no2":{"v":22.0,"lo":11,"hi":35,'
        '"p":0.95},"rh":71,"loc":[-45.87,170.5]}'
    ),
)


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


@pytest.mark.parametrize(
    ("now", "kept", "says"),
    [
        ("2026-10-25T00:30:40", "2026-10-25T00:30:00Z", "the first time, +02:00, is nearest"),
        ("2026-10-25T01:30:40", "2026-10-25T01:30:00Z", "the second time, +01:00, is nearest"),
        ("2026-10-27T00:00:00", "2026-10-25T01:30:00Z", "the second time, +01:00, is nearest"),
    ],
)
def test_of_the_hour_that_clocks_show_twice_it_says_which_was_taken_and_why(now, kept, says):
    """Clocks in Berlin showed 02:30 at 00:30 UTC, and at 01:30 UTC again."""
    settings = parse(
        b"sources: [{topic: 'a/{sensor}', kind: reading, decoder: json, map: {time: ts, "
        b"time_zone: Europe/Berlin, series: [{quantity: t, value: v, u: u}]}}, "
        b"{topic: 'r/{subject}/{quantity}', kind: reference}]",
        "settings.yaml",
    )
    arrival = datetime.fromisoformat(f"{now}+00:00").timestamp()

    def told(stamp: str) -> str:
        payload = f'{{"ts": "{stamp}", "v": 20, "u": 1}}'.encode()
        lines = explanation_lines(explain(settings, Message("a/s", payload), arrival))
        return " ".join(" ".join(lines).split())

    assert f"kept as {kept}" in told("2026-10-25 02:30")
    assert f"clocks show this hour twice: {says} the arrival" in told("2026-10-25 02:30")
    assert "clocks show this hour twice" not in told("2026-10-25 01:30")
    assert "clocks show this hour twice" not in told(f"2026-10-25 02:30:00{says[-19:-13]}")
