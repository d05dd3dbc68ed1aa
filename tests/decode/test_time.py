"""Times as payloads state them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from msgspec import ValidationError

from monitor.decode import Rejected
from monitor.decode.records import Arrival
from monitor.decode.time import reader, second_of, seconds_of
from tests.decode.test_mapping import mapped, observe


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1772071200000", 1772071200.0),
        ("1772071200000000", 1772071200.0),
        ("1772071200", 1772071200.0),
        (" 1772071200.25 ", 1772071200.25),
        ("-5.5", -5.5),
        ("20260228", 1772236800.0),
        ("177207120000", 177207120.0),
        ("2026-02-26T02:00:00", 1772071200.0),
    ],
)
def test_a_text_of_digits_is_a_number_except_for_the_eight_of_a_date(text, seconds):
    assert reader(zone="UTC")(text, "time") == seconds


@pytest.mark.parametrize(
    ("text", "layout"), [("202602281712", "%Y%m%d%H%M"), ("20260228171244", "%Y%m%d%H%M%S")]
)
def test_digits_that_may_be_date_and_clock_or_a_number_need_a_layout(text, layout):
    with pytest.raises(Rejected, match="time_layout, of a file --time-format") as caught:
        reader(zone="UTC")(text, "time")

    assert f"name the layout {layout} (" in caught.value.detail
    assert reader(zone="UTC", layout=layout)(text, "time") // 60 == 1772298720 // 60
    assert reader("ms", "UTC")(text, "time") == int(text) / 1e3


@pytest.mark.parametrize(
    "text",
    [
        "01.03.2026 17:45",
        "13/03/2026 17:45:12",
        "03/13/2026 5:45 PM",
        "Sun Mar 01 17:45:12 2026",
        "2026-03-01 17:45 Europe/Berlin",
        "2026-03-01T17:45:12[Europe/Berlin]",
        "2026-03-01 17:45:12 CET",
    ],
)
def test_the_layout_that_a_refusal_names_reads_the_text(text):
    with pytest.raises(Rejected) as caught:
        reader(zone="UTC")(text, "time")
    layout = re.search(r"name the layout (.+) \(time_layout", caught.value.detail)[1]

    if "Europe/Berlin" in text:
        assert "set time_zone to Europe/Berlin" in caught.value.detail
    time = datetime.fromtimestamp(reader(zone="UTC", layout=layout)(text, "time"), UTC)
    assert (time.month, time.hour, time.minute) == (3, 17, 45)


@pytest.mark.parametrize("text", ["01/03/2026 17:45", "yesterday", "1/2", "2026-03-01 25:00"])
def test_where_no_layout_or_several_fit_none_is_named(text):
    with pytest.raises(Rejected, match="; name its layout \\(time_layout"):
        reader(zone="UTC")(text, "time")


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("%Y%m%d%H%M", "20260301120000"),
        ("%Y%m%d%H%M%S", "2026030112"),
        ("%d.%m.%Y %H:%M", "46082.5"),
    ],
)
def test_digits_of_another_layout_are_no_number_of_seconds(layout, text):
    with pytest.raises(Rejected, match="is not of the layout"):
        reader(zone="UTC", layout=layout)(text, "time")


@pytest.mark.parametrize(
    "layout", ["%d.%m.%Y", "%m/%d/%y %I:%M %p", "%c", "%x %X", "%Y-%j", "%d %B %Y %H:%M:%S.%f%z"]
)
def test_a_layout_with_a_full_date_is_taken(layout):
    reader(layout=layout)


@pytest.mark.parametrize(
    ("stated", "unit", "says"),
    [
        (
            1772071200,
            "ms",
            "is 1970-01-21T12:14:31Z with time_unit ms; it is likely in s: set time_",
        ),
        ("1772071200", "us", "it is likely in s: set time_unit: s"),
        (1772071200000, "ns", "it is likely in ms: set time_unit: ms"),
        (12345, "auto", "the sensor's clock is not set"),
        ("1970-01-01T00:03:25Z", "auto", "the sensor's clock is not set"),
        ("1999-12-31T23:59:59Z", "auto", "is 1999-12-31T23:59:59Z; the sensor's clock"),
    ],
)
def test_a_time_before_2000_is_refused_and_the_likely_unit_named(stated, unit, says):
    for kind in ("reading", "reference"):
        (refused,) = observe({"t": stated, "v": 1, "u": 1}, kind=kind, time_unit=unit)
        assert (refused.reason, refused.place) == ("past", "$.t")
        assert says in refused.detail


@pytest.mark.parametrize("time", ["2000-01-01T00:00:00Z", 946684800])
def test_the_first_second_of_2000_is_a_time_and_so_is_any_start_of_an_interval(time):
    (found,) = observe({"t": time, "v": 1, "u": 1})
    assert found.time == 946684800.0
    spans = {"s": "1999-12-31T23:00:00Z", "e": time, "v": 1}
    (mean,) = observe(spans, kind="reference", start="s", end="e", series=[{"value": "v"}])
    assert mean.end - mean.start == 3600.0


@pytest.mark.parametrize(
    ("stated", "received", "seconds"),
    [
        # Clocks in Berlin showed 02:30 at 00:30 UTC, and at 01:30 UTC again.
        ("2026-10-25T02:30:00", "2026-10-25T00:30:05Z", "2026-10-25T00:30:00Z"),
        ("2026-10-25T02:30:00", "2026-10-25T01:30:05Z", "2026-10-25T01:30:00Z"),
        ("2026-10-25T02:30:00", "2026-10-28T00:00:00Z", "2026-10-25T01:30:00Z"),
        ("2026-10-25T02:30:00+02:00", "2026-10-25T01:30:05Z", "2026-10-25T00:30:00Z"),
        ("2026-10-25T01:30:00", "2026-10-25T01:30:05Z", "2026-10-24T23:30:00Z"),
        ("2026-10-25T03:30:00", "2026-10-25T02:30:05Z", "2026-10-25T02:30:00Z"),
        ("2026-10-25 02:30", "2026-10-25T01:30:05Z", "2026-10-25T01:30:00Z"),
        ("2026-10-25T00:30:00Z", "2026-10-25T01:30:05Z", "2026-10-25T00:30:00Z"),
    ],
)
def test_of_the_hour_that_clocks_show_twice_it_is_the_one_nearest_the_arrival(
    stated, received, seconds
):
    arrival = Arrival({"sensor": "s", "subject": "s", "quantity": "q"}, reader()(received, "time"))
    (seen,) = mapped(time_zone="Europe/Berlin").observe({"t": stated, "v": 1, "u": 1}, arrival)

    assert seen.found[0].time == reader()(seconds, "time")


@pytest.mark.parametrize("stated", ["2016-12-31T23:59:60Z", "2017-01-01T00:59:60.5+01:00"])
def test_a_leap_second_is_refused_as_what_it_is_and_the_next_one_is_read(stated):
    with pytest.raises(Rejected, match="do not count leap seconds"):
        reader()(stated, "time")
    assert reader()("2017-01-01T00:00:00Z", "time") == 1_483_228_800.0


@pytest.mark.parametrize("stated", ["0001-01-01T00:00:00", "9999-12-31T23:59:59"])
def test_a_local_time_at_the_ends_of_the_calendar_is_refused_and_no_fault_of_the_decoder(stated):
    (refused,) = observe({"t": stated, "v": 1, "u": 1}, time_zone="Pacific/Auckland")

    assert refused.reason in ("past", "out_of_range", "future")


# -- many at once ---------------------------------------------------------------------------------

ALIKE = 100
CHARACTERS = "0123456789-:.TtZz+ /;é"


def stamps(random: Random, fraction: int) -> list[str]:
    made = []
    for _ in range(ALIKE):
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=random.randrange(4_102_444_800))
        digits = f".{random.randrange(10**fraction):0{fraction}}" if fraction else ""
        made.append(f"{at:%Y-%m-%dT%H:%M:%S}{digits}Z")
    return made


def one_by_one(texts: list[str]) -> list[float] | None:
    try:
        return [second_of(each) for each in texts]
    except ValidationError:
        return None


@pytest.mark.parametrize("fraction", range(10))
def test_times_written_alike_are_to_the_bit_those_read_one_by_one(fraction):
    texts = stamps(Random(fraction), fraction)

    assert seconds_of(texts).tolist() == one_by_one(texts)
    assert seconds_of(texts[:3]).tolist() == one_by_one(texts[:3])
    if fraction <= 6:
        parsed = [datetime.fromisoformat(each) for each in texts]
        assert seconds_of(texts).tolist() == [each.timestamp() for each in parsed]


@pytest.mark.parametrize("fraction", [0, 1, 3, 6])
def test_a_time_that_is_unlike_the_others_is_read_or_refused_as_alone(fraction):
    random, outcomes = Random(fraction), set()
    for _ in range(2000):
        texts = stamps(random, fraction)
        at, place = random.randrange(ALIKE), random.randrange(len(texts[0]))
        texts[at] = texts[at][:place] + random.choice(CHARACTERS) + texts[at][place + 1 :]
        if random.random() < 0.1:  # so that all of it is as long as before
            texts[at], texts[at - 1] = texts[at] + texts[at - 1][:2], texts[at - 1][2:]
        wanted = one_by_one(texts)
        outcomes.add(wanted is None)
        if wanted is None:
            with pytest.raises(ValidationError):
                seconds_of(texts)
        else:
            assert seconds_of(texts).tolist() == wanted
    assert outcomes == {False, True}


@pytest.mark.parametrize(
    "odd",
    [
        *("2026-02-29T00:00:00Z", "2026-00-10T00:00:00Z", "2026-13-10T00:00:00Z"),
        *("2026-04-31T00:00:00Z", "2026-04-00T00:00:00Z", "2026-01-01T24:00:00Z"),
        *("2026-01-01T23:60:00Z", "2026-06-30T23:59:60Z", "1969-12-31T23:59:59Z"),
        *("2024-02-29T23:59:59Z", "2099-12-31T23:59:59Z", "2100-01-01T00:00:00Z"),
        *("0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2000-02-29T00:00:00Z"),
    ],
)
def test_the_ends_of_months_days_and_years_are_as_alone(odd):
    texts = ["2026-01-01T00:00:00Z"] * ALIKE + [odd]

    wanted = one_by_one(texts)
    if wanted is None:
        with pytest.raises(ValidationError):
            seconds_of(texts)
    else:
        assert seconds_of(texts).tolist() == wanted
