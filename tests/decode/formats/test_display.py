"""Lines as indicators and balances show them."""

from __future__ import annotations

import pytest

from monitor.commands.init import starter
from monitor.config import parse
from monitor.config.core_plan import router_of
from monitor.decode import REASONS
from monitor.decode.checks import NO_FAULT

RECEIVED = 1.8e9


@pytest.fixture
def shown():
    """Return a function from a payload to what the starter for scales makes of it."""
    router = router_of(parse(starter("scales").encode(), "starter"))
    return lambda payload: router.decode("scales/hall-2", payload, RECEIVED)


@pytest.mark.parametrize(
    ("line", "kg"),
    [
        ("ST,NT,+  2.345kg\r\n", 2.345),
        ("ST,+00054.32  g", 0.05432),
        ("QT,GS,-   0,5 kg", -0.5),
        ("+ 0000.0007", 0.0007),
        ("S S     98.76 kg", 98.76),
        ("S S    -98.76 g", -0.09876),
        ("     0.123 g", 0.000123),
        ("-   31.007 g", -0.031007),
        ("N     +  45.678 g", 0.045678),
        ("G+  12.5kg", 12.5),
        ("ST,GS,   1.5,kg", 1.5),
        ("10 lb GR", 4.5359237),
        ("\x02 7.5 kg  NET\x03", 7.5),
        ("12 T", 12_000.0),
        ("ST,NT,2 kg", 2.0),
        ("\u22123.5 kg", -3.5),
        ("wn00012.34kg", 12.34),
        ("ww00012.34kg", 12.34),
        ("12.34 kg S", 12.34),
        ("12.34 kg G S", 12.34),
        ("ZR  0.00 kg", 0.0),
    ],
)
def test_a_line_becomes_its_weight_in_the_unit_of_the_series(shown, line, kg):
    (reading,) = shown(line.encode())

    assert reading.value == pytest.approx(kg, rel=1e-12)
    assert reading.time == RECEIVED


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *((line, "quality") for line in ("US,GS,+  0.82kg", "S D  98.7 kg", "1.2 g ?", "1.2 g?")),
        ("1.2 kg M", "quality"),
        *((line, "overload") for line in ("OL,+999E+19", "S +", "S -", "Stat  High", "---", "UL")),
        *((line, "no_reading") for line in ("S I", "ERR 3", "Error", "ES", "EL", "E1", "Err03")),
    ],
)  # fmt: skip
def test_what_is_no_weight_is_counted_and_no_fault_of_the_scale(shown, line, reason):
    (refused,) = shown(line.encode())

    assert (refused.reason, reason in NO_FAULT, reason in REASONS) == (reason, True, True)


@pytest.mark.parametrize(
    "line",
    [
        "1.0 2.0 kg",
        "1,234.5 kg",
        "ST 12.3.4 kg",
        "12:30:05",
        "2026-03-01",
        "no. 7",
        "EX",
        "12.3 -",
        "",
    ],
)
def test_a_line_of_another_sort_is_refused_and_never_half_read(shown, line):
    (refused,) = shown(line.encode() + b"\n\n\t")

    assert refused.reason in ("bad_payload", "no_reading" * (not line))


def test_a_bad_line_costs_only_itself(shown):
    first, second, refused = shown(b"ST,NT,+  1.000kg\r\nwhat\r\n\r\nST,NT,+  2.000kg\r\n")

    assert ([first.value, second.value], refused.record) == ([1.0, 2.0], 1)


def test_the_load_and_the_unit_of_the_line_are_there_for_conditions():
    settings = """sources:
- {topic: "scales/{sensor}", kind: reading, decoder: display,
   map: {time: arrival, select: {load: [net]},
         series: [{value: value, u: 1, unit_path: unit, to_unit: kg}]}}
- {topic: "ref/{subject}/{quantity}", kind: reference}
"""
    found = router_of(parse(settings.encode(), "f")).decode(
        "scales/a", "ST,GS,3 kg\nST,NT,2 kg\nST,TR,1 kg\nST,NT,4 °C".encode(), RECEIVED
    )

    assert found[0].value == 2.0
    assert (found[1].reason, "°C" in found[1].detail) == ("unit", True)
