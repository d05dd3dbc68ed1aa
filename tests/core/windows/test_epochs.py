"""Epochs: a set of events for each sensor, in time order whatever way they came."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from monitor.core.model import Event
from monitor.core.registry import SeriesKey
from monitor.core.windows.windows import Epochs

events = st.builds(
    Event,
    st.sampled_from(["a", "b"]),
    st.sampled_from([0.0, 1.0, 2.5, -7.0]),
    st.sampled_from(["adjusted", "moved"]),
    st.sampled_from(["", "by hand"]),
)


def plain(event: Event) -> tuple[float, str, str]:
    return (event.time, event.event, event.note)


@given(arrivals=st.lists(events, max_size=30), order=st.randoms(use_true_random=False))
def test_whatever_the_order_and_repetition_they_are_a_set_in_time_order(arrivals, order):
    shuffled = [*arrivals, *arrivals[::2]]
    order.shuffle(shuffled)
    epochs = Epochs()
    new = [event for event in shuffled if epochs.add(event)]

    for sensor in "ab":
        wanted = sorted({plain(event) for event in arrivals if event.sensor == sensor})
        found = epochs.of(SeriesKey(sensor, "any"))
        assert [plain(event) for event in found] == wanted
        assert {event.sensor for event in found} <= {sensor}
        start = max((time for time, _, _ in wanted), default=-math.inf)
        assert epochs.start_of(SeriesKey(sensor, "any")) == start
    assert len(new) == len({(event.sensor, *plain(event)) for event in arrivals})


def test_an_event_that_came_before_says_so():
    epochs = Epochs()
    event = Event("a", 5.0, "adjusted", "in the lab")

    assert epochs.add(event)
    assert not epochs.add(Event("a", 5.0, "adjusted", "in the lab"))
    assert epochs.add(Event("a", 5.0, "adjusted", "in the field"))
    assert epochs.add(Event("a", 5.0, "moved", "in the lab"))
    assert epochs.add(Event("b", 5.0, "adjusted", "in the lab"))


def test_every_quantity_of_a_sensor_begins_anew_and_no_other_sensor():
    epochs = Epochs()
    epochs.add(Event("a", 5.0, "adjusted"))
    epochs.add(Event("a", 3.0, "moved"))

    assert epochs.start_of(SeriesKey("a", "x")) == epochs.start_of(SeriesKey("a", "y")) == 5.0
    assert epochs.start_of(SeriesKey("b", "x")) == -math.inf
    assert epochs.of(SeriesKey("b", "x")) == []
