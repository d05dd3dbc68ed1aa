"""Findings of the doctor on a daemon at its limits."""

from __future__ import annotations

import pytest

from monitor.daemon.examination import examined
from monitor.explain.doctor import doctor_report, text
from tests.daemon.test_examination import START, both, message, opened, sensors, take


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ("series: {max: 3}", "series.max is reached (3)"),
        ("series: {max_new_per_minute: 3}", "5 new series wait, as series.max_new_per_minute is 3"),
    ],
)
def test_the_doctor_names_the_limit_and_calls_no_sensor_misspelt(tmp_path, more, wanted):
    with opened(tmp_path, more) as parts:
        take(parts, [each for name in sensors(8) for each in both(name, START)], START)
        told = text(doctor_report(examined(parts, START), None))

    assert wanted in told
    assert "agree" not in told
    assert "s-0004" not in told.replace("'monitor/s-0004/x/reading'", "")


def test_a_misspelt_subject_is_named_where_no_limit_is_reached(tmp_path):
    with opened(tmp_path) as parts:
        take(parts, [each for name in sensors(8) for each in both(name, START)], START)
        take(parts, [message("reading", "cart-4", START, 9.0, u=1.0)], START)
        take(parts, [message("reference", "Cart 4", START, 9.0)], START)
        told = text(doctor_report(examined(parts, START), None))

    assert "('cart-4' and 'Cart 4' nearly agree)" in told
    assert "series.max" not in told
