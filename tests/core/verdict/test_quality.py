"""The words of other trades."""

from __future__ import annotations

import pytest

from monitor.core.verdict import FAULT, FAULTS, IS_RIGHT, UNDECIDED, Verdict, quality_of
from monitor.core.verdict.quality import GOOD, UNCHECKED

# The two bits of severity of OPC UA's status codes (OPC 10000-4, 7.39).
SEVERITIES = {"Good": 0, "Uncertain": 1, "Bad": 2}


@pytest.mark.parametrize(
    "quality", [GOOD, UNCHECKED, *(each.quality for each in FAULTS.values())], ids=str
)
def test_the_three_trades_agree_on_how_bad_it_is(quality):
    (severity,) = (at for name, at in SEVERITIES.items() if quality["opc_ua"].startswith(name))

    assert quality["qartod"] in (1, 2, 3, 4)
    assert quality["lwm2m"] in range(5)
    assert (severity == 0) == (quality["qartod"] == 1) == (quality["lwm2m"] == 4)
    assert (severity == 2) == (quality["qartod"] == 4) == (quality["lwm2m"] == 1)
    assert (quality["qartod"] == 2) == (quality["lwm2m"] == 0)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (Verdict(IS_RIGHT), (1, 4, "Good")),
        (Verdict(UNDECIDED), (2, 0, "Uncertain")),
        (Verdict(FAULT, "offset"), (3, 2, "UncertainSensorNotAccurate")),
        (Verdict(FAULT, "understated"), (3, 3, "Uncertain")),
        (Verdict(FAULT, "overstated"), (1, 4, "Good")),
        (Verdict(FAULT, "stuck"), (4, 1, "BadSensorFailure")),
    ],
)
def test_readings_are_as_good_as_their_verdict_says(verdict, expected):
    assert tuple(quality_of(verdict).values()) == expected
