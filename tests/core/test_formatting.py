"""Times, lengths of time and numbers as text, whatever they are."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.core.formatting import (
    amount,
    date_time,
    duration,
    finite,
    instant,
    probability,
    safe_cell,
    significant,
)


@given(st.floats(0.0, 4e9), st.sampled_from(["auto", "milliseconds", "microseconds", "shortest"]))
def test_an_instant_is_read_back_as_the_same_time_to_its_precision(time, precision):
    read = datetime.fromisoformat(instant(time, precision))

    assert read.tzinfo == UTC
    off = abs(read.timestamp() - time)
    assert off < (1e-3 if precision in ("milliseconds", "shortest") else 2e-6)


@pytest.mark.parametrize(
    ("time", "precision", "text"),
    [
        (1772345520.0, "auto", "2026-03-01T06:12:00Z"),
        (1772345520.25, "auto", "2026-03-01T06:12:00.250000Z"),
        (1772345520.25, "shortest", "2026-03-01T06:12:00.250Z"),
        (1772345520.25, "seconds", "2026-03-01T06:12:00Z"),
        (1772345520.0, "milliseconds", "2026-03-01T06:12:00.000Z"),
        (math.nan, "auto", ""),
        (1e18, "auto", "1000000000000000000 s from 1970"),
    ],
)
def test_an_instant_is_in_rfc_3339(time, precision, text):
    assert instant(time, precision) == text


def test_a_time_for_people_is_a_hyphen_where_there_is_none():
    assert date_time(0.0) == "1970-01-01 00:00:00"
    assert [date_time(time) for time in (1e18, math.nan, math.inf)] == ["-", "-", "-"]


@pytest.mark.parametrize(
    ("seconds", "two", "one"),
    [
        (0.25, "0.25 s", "0.25 s"),
        (45.0, "45 s", "45 s"),
        (59.97, "1 min", "1 min"),
        (math.nan, "-", "-"),
        (-math.inf, "-", "-"),
        (90.0, "1 min 30 s", "1 min"),
        (7620.0, "2 h 7 min", "2 h"),
        (-7620.0, "2 h 7 min", "2 h"),
        (3 * 86_400.0, "72 h", "72 h"),
        (5.5 * 86_400.0, "5 d 12 h", "5 d"),
    ],
)
def test_a_length_of_time_has_its_largest_units(seconds, two, one):
    assert (duration(seconds), duration(seconds, parts=1)) == (two, one)


def test_a_number_has_as_many_significant_digits_as_asked_and_all_before_the_point():
    assert [significant(x) for x in (0.0123, 6.25, -62.5, 1234.5, -1234.5, 1e20)] == [
        "0.012", "6.2", "-62", "1234", "-1234", "1e+20",
    ]  # fmt: skip
    assert significant(12_345_678.9, 7) == "12345679"
    assert [significant(x) for x in (99.4, 99.5, -99.7, 100.0)] == ["99", "100", "-100", "100"]
    assert [significant(x, 4) for x in (9999.4, 9999.6)] == ["9999", "10000"]
    assert amount(3.0, "") == "3"


def test_a_probability_is_certain_only_if_it_is_1():
    assert [probability(x) for x in (0.0, 0.0123, 0.5, 0.994, 0.996, 1.0)] == [
        "0 %", "1.2 %", "50 %", "99 %", "more than 99 %", "100 %",
    ]  # fmt: skip


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_what_is_not_finite_is_none(x):
    assert finite(x) == (x if math.isfinite(x) else None)
    assert significant(x)


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t"])
def test_no_text_becomes_a_formula_in_a_spreadsheet(begin):
    assert safe_cell(f"{begin}1+1") == f"'{begin}1+1"
    assert safe_cell("982 000") == "982 000"
