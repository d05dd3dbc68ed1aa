"""Times read by the column against msgspec one by one, and against the calendar of the library."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.decode import instants as module
from monitor.decode.instants import Instant, read_instants

MIDNIGHT = datetime(2026, 2, 28, tzinfo=UTC)


def alone(text: str) -> float:
    try:
        return msgspec.json.decode(msgspec.json.encode(text), type=Instant).timestamp()
    except msgspec.ValidationError:
        return math.nan


def same(found, texts):
    return all(
        a == b or (math.isnan(a) and math.isnan(b))
        for a, b in zip(found.tolist(), map(alone, texts), strict=True)
    )


@given(
    day=st.dates(min_value=date(1700, 1, 1), max_value=date(2250, 1, 1)),
    clocks=st.lists(st.times(), min_size=1, max_size=30),
    digits=st.sampled_from([0, 1, 3, 6]),
)
def test_times_of_one_day_are_what_the_library_says(day, clocks, digits):
    exact = [
        datetime.combine(day, clock, UTC).replace(
            microsecond=clock.microsecond // 10 ** (6 - digits) * 10 ** (6 - digits)
        )
        for clock in clocks
    ]
    texts = [
        f"{each:%Y-%m-%dT%H:%M:%S}".rjust(19, "0")
        + (f".{each.microsecond:06}"[: digits + 1] if digits else "")
        + "Z"
        for each in exact
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_one_by_one", None)  # not one of them goes alone

        assert read_instants(texts).tolist() == [each.timestamp() for each in exact]


odd = st.sampled_from(
    [
        "",
        "\n",
        "2026-02-28T24:00:00Z",
        "2026-02-28T23:60:00Z",
        "2026-02-28T23:59:60Z",
        "2026-02-30T10:00:00Z",
        "2026-02-28t10:00:00z",
        "2026-02-28 10:00:00Z",
        "2026-02-28T10:00:00+00:00",
        "2026-02-28T10:00:00",
        "2026-02-28T1:00:000Z",
        "2026-02-28T10-00-00Z",
        "2026-02-28T10:00:00.Z",
        "2026-02-28T10:00:00,5Z",
        "2026-02-28T10:00:00.1234567Z",
        "2026-02-28T10:00:0٣Z",
        "2026-02-28T10:00:00Z\n2026-02-28T10:00:00Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
    ]
)
usual = st.integers(0, 200_000).map(lambda at: f"{MIDNIGHT + timedelta(seconds=at):%FT%TZ}")
offset = st.integers(0, 80_000).map(
    lambda at: (
        MIDNIGHT.astimezone(timezone(timedelta(hours=2))) + timedelta(seconds=at)
    ).isoformat()
)


@given(texts=st.lists(st.one_of(usual, usual, odd, offset, st.text(max_size=25)), max_size=8))
def test_whatever_is_written_is_read_as_it_is_alone(texts):
    assert same(read_instants(texts), texts)


@given(text=odd, place=st.integers(0, 4))
def test_one_odd_time_spoils_none_of_the_others(text, place):
    texts = [f"2026-02-28T10:00:0{at}Z" for at in range(4)]
    texts.insert(place, text)

    assert same(read_instants(texts), texts)


@given(
    text=usual,
    at=st.integers(0, 19),
    octet=st.integers(32, 126).map(chr),
    several=st.integers(1, 3),
)
def test_one_changed_letter_is_seen(text, at, octet, several):
    texts = [text, *[text[:at] + octet + text[at + 1 :]] * several]

    assert same(read_instants(texts), texts)
    assert same(read_instants(texts[::-1]), texts[::-1])
