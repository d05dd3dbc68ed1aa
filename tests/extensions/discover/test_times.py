"""Times are told by their values, and their zone by their arrival."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from harness.device_messages import FAMILIES, at, sent

from tests.extensions.discover.test_proposal import NOW, heard, proposed


def test_local_times_without_a_zone_are_told_by_their_arrival():
    body = {"time": at(NOW + 13 * 3600.0, ""), "temperature": 21.0}
    found = proposed(heard(sent("garden/shed-1/weather", body)))

    ((reading,),) = found.trial.content.readings.values()
    assert reading.time == NOW
    assert "Etc/GMT-13" in found.text


def test_a_day_without_an_hour_is_no_time():
    body = {"date": at(NOW)[:10], "temperature": 21.0}
    found = proposed(heard(sent("garden/shed-1/weather", body)))

    ((reading,),) = found.trial.content.readings.values()
    assert reading.time == NOW
    assert "date is a day without an hour: the time of arrival is taken" in found.text


@pytest.mark.parametrize(
    "stated",
    [
        lambda time: time,
        lambda time: int(time * 1e3),
        lambda time: str(int(time * 1e6)),
        lambda time: at(time, "+00:00"),
        lambda time: at(time - 5 * 3600.0, ""),
    ],
    ids=["s", "ms", "us in a text", "ISO 8601", "without a zone"],
)
def test_a_time_is_known_by_its_values_under_any_name(stated):
    messages = []
    for moment in (NOW, NOW + 30.0):
        body = {"began": NOW - 100.0, "zeit_der_probe": stated(moment - 2.0), "temperature": 21.0}
        messages += heard(sent("garden/shed-1/weather", body), time=moment)

    found = proposed(messages)

    ((first, second),) = found.trial.content.readings.values()
    assert (first.time, second.time) == (NOW - 2.0, NOW + 28.0)
    assert "zeit_der_probe is the time, because it moves with the arrival" in found.text


def test_what_stays_while_messages_come_or_is_far_from_now_is_no_time():
    body = {"began": NOW - 100.0, "due": at(NOW + 7200.0), "temperature": 21.0}
    found = proposed(
        [
            each
            for moment in (NOW, NOW + 30.0)
            for each in heard(sent("garden/shed-1/weather", body), time=moment)
        ]
    )

    ((first, second),) = found.trial.content.readings.values()
    assert (first.time, second.time) == (NOW, NOW + 30.0)


def test_a_counter_of_a_gateway_is_no_time():
    (uplink,) = FAMILIES["things-stack"](NOW)
    body = json.loads(uplink.payload)
    body["uplink_message"]["settings"]["timestamp"] = int(NOW) - 100 * 86_400  # microseconds, once
    found = proposed(heard(sent(uplink.topic, body)))

    assert found.trial.content.readings["attic-1", "temperature"][0].time == pytest.approx(
        NOW, abs=1.0
    )


@pytest.mark.parametrize("layout", ["%d.%m.%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M"])
def test_a_date_and_clock_in_another_layout_is_the_time(layout):
    moment = 1_799_366_400.0 + 7200.0  # 2027-01-08, in which day and month may be either
    body = {"date": datetime.fromtimestamp(moment, UTC).strftime(layout), "temperature": 21.0}
    found = proposed(heard(sent("garden/shed-1/weather", body), time=moment - 7200.0))

    ((reading,),) = found.trial.content.readings.values()
    assert reading.time == moment - 7200.0
    assert f'time_layout: "{layout}"' in found.text
    assert "Etc/GMT-2" in found.text


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ("14:00:00", "name its layout, as time_layout"),
        ("03/04/2026 14:00", "name its layout, such as %d/%m/%Y %H:%M or %m/%d/%Y %H:%M, as"),
    ],
    ids=["no date", "long ago"],
)
def test_of_a_date_that_is_not_read_it_says_which_forms_are(stated, told):
    body = {"date": stated, "temperature": 21.0}
    found = proposed(heard(sent("garden/shed-1/weather", body)))

    text = " ".join(found.text.replace("#", " ").split())
    assert "date is in neither form that is read by itself, ISO 8601 or a number since 1970" in text
    assert told in text
    assert "states no time" not in text


@pytest.mark.parametrize("number", [float, int])
def test_means_whose_intervals_are_numbers_are_read_over_them(number):
    hours = [
        {"start": number(NOW - 3600.0 * ago), "end": number(NOW - 3600.0 * (ago - 1)), "pm25": 12.5}
        for ago in (2, 1)
    ]
    body = {"t": NOW, "pm25": 13.5, "pm25_u": 3}
    found = proposed(
        heard(*(sent("ref/S1/hourly", each) for each in hours), sent("aq/n1/obs", body))
    )

    spans = [(x.start, x.end) for x in found.trial.content.references["S1", "pm25"]]
    assert spans == [(NOW - 7200.0, NOW - 3600.0), (NOW - 3600.0, NOW)]
    (missing,) = [each for each in found.missing if "no pair of pm25 yet" in each]
    assert "too little of it is covered by readings; the newest reference is of" in missing
