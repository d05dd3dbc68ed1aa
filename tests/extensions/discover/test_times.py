"""Times are told by their values, and their zone by their arrival."""

from __future__ import annotations

import json

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
