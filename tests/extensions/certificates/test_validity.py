"""How long a certificate counts."""

from __future__ import annotations

from datetime import date

import pytest
from harness.dcc_examples import certificate

from monitor.extensions.certificates.dcc import read_certificate
from monitor.extensions.certificates.validity import (
    Period,
    ValidityError,
    parse_duration,
    parse_period,
)
from tests.extensions.certificates.conftest import FILE


def test_lengths_of_time_keep_to_the_calendar():
    leap = date(2024, 2, 29)
    assert parse_period("12mo").after(leap) == date(2025, 2, 28)
    assert parse_period("1y") == parse_duration("P12M") == Period(months=12)
    assert parse_period("26w").after(leap) == date(2024, 8, 29)
    assert Period(months=1).after(date(2026, 12, 31)) == date(2027, 1, 31)
    for text in ("", "12", "0d", "1h", "-1y"):
        with pytest.raises(ValidityError):
            parse_period(text)
    with pytest.raises(ValidityError):
        parse_period("99999y").after(leap)


def test_a_period_counts_from_the_last_day_of_the_calibration():
    found = read_certificate(certificate(until="<dcc:period>P1Y6M</dcc:period>"), FILE)
    assert found.recalibration == date(2027, 9, 2)
    found = read_certificate(certificate(until="<dcc:period>soon</dcc:period>"), FILE)
    assert found.recalibration is None
    assert "period until recalibration 'soon' is not a duration" in found.mistakes[0]
