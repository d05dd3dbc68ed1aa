"""Advice that an event accepts comes back from its note, and holds until another event."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from monitor.core.model import Event
from monitor.core.registry import SeriesKey, SeriesName
from monitor.core.windows.windows import Epochs
from monitor.decode.checks import NOTE_CHARACTERS_MAX
from monitor.extensions.corrected.acceptances import ACCEPTED, accepted, advice_in, advice_on
from monitor.extensions.corrected.corrected import Amendment
from monitor.mqtt.topic_templates import valid_name

NAME = SeriesName("cart", "mass", "kg")
numbers = some.floats(-1e15, 1e15)
amendments = some.builds(
    Amendment, numbers, numbers.filter(bool), some.floats(0, 1e15, exclude_min=True)
)
quantities = some.text(min_size=1, max_size=128).filter(valid_name)


def accepting(time: float, shift: float, quantity: str = "mass") -> Event:
    advice = advice_on(SeriesName("cart", quantity, "kg"), Amendment(shift))
    return Event("cart", time, ACCEPTED, advice.note)


@given(amendments, quantities)
def test_a_note_holds_all_of_the_advice(amendment, quantity):
    advice = advice_on(SeriesName("cart", quantity), amendment)

    event = Event("cart", 0.0, ACCEPTED, advice.note)
    assert advice_in(event) == advice
    assert event.concerns(quantity)
    assert not event.concerns(f"{quantity}s")
    assert len(advice.note) <= NOTE_CHARACTERS_MAX


@pytest.mark.parametrize(
    "note",
    [
        "",
        "advice 0123: -3.0 + 1.0 v, u times 1.0, of mass",
        "advice 01234567: nan + 1.0 v, u times 1.0, of mass",
        "advice 01234567: -3.0 + 0.0 v, u times 1.0, of mass",
        "advice 01234567: -3.0 + 1.0 v, u times -1.0, of mass",
        "advice 01234567: x + 1.0 v, u times 1.0, of mass",
    ],
)
def test_any_other_note_accepts_nothing(note):
    assert advice_in(Event("cart", 0.0, ACCEPTED, note)) is None


def test_it_holds_until_an_event_that_accepts_nothing_or_the_next_of_its_quantity():
    first, second, other = accepting(1, -3.0), accepting(3, -5.0), accepting(2, 9.0, "length")
    moved = Event("cart", 4.0, "moved")
    epochs = Epochs()
    mass, length = (SeriesKey("cart", quantity) for quantity in ("mass", "length"))
    in_force = [[accepted(epochs.of(of)) for of in (mass, length)]]
    for event in (first, other, second, moved):
        epochs.add(event)
        in_force.append([accepted(epochs.of(of)) for of in (mass, length)])

    on_mass, on_length, then = map(advice_in, (first, other, second))
    assert in_force == [
        [None, None],
        [on_mass, None],
        [on_mass, on_length],
        [then, on_length],
        [None, None],
    ]
    assert [epochs.start_of(of) for of in (mass, length)] == [4.0, 4.0]


def test_advice_keeps_its_name_while_two_digits_of_its_numbers_agree():
    names = [advice_on(NAME, Amendment(shift)).advice for shift in (-39.61, -39.64, -41.0)]

    assert names[0] == names[1] != names[2]
    assert advice_on(SeriesName("other", "mass", "kg"), Amendment(-39.61)).advice != names[0]
