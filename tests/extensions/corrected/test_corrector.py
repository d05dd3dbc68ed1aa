"""Which readings are corrected, and for what."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.model import PAIR, Event
from monitor.core.pairing.observations import Observed, PlainReadings
from monitor.daemon.listeners import Taken
from monitor.decode.router import Decoded
from monitor.extensions.corrected.corrector import Corrector
from tests.core.fleet.test_presence import HOUR, ONE, TWO, Town

NO_PAIRS = np.zeros(0, PAIR)
NOTHING_DECODED = Decoded(Observed(PlainReadings([], *np.zeros((4, 0))), []), [], [])


def test_readings_are_corrected_for_a_fault_of_the_sensor_not_of_its_reference():
    town = Town(TWO)
    corrector = Corrector(town.network, town.store, 0.9)
    town.take(town.hours(0, 30, 1))
    wrong = town.hours(30, 80, 2, station_off={"B": 3.0}, sensor_off={"s1": 5.0, "t2": -9.0})
    for first in range(0, len(wrong), 160):
        corrector.see(town.network.evaluate(0.0))
        some = wrong[first : first + 160]
        pairs = town.take(some)
        corrector.prepare(Taken(NOTHING_DECODED, some, (), pairs, 0.0))

    seen = corrector.see(town.network.evaluate(0.0))
    done = [seen.additions["corrected"].document(seen, row)["corrected"] for row in range(14)]
    changed = {
        name.sensor: said.split(";")[0]
        for name, said in zip(town.network.names(), done, strict=True)
        if not said.startswith("as sent")
    }
    assert changed.keys() == {"s1", "t2"}
    assert changed["s1"].startswith("subtract 5") or changed["s1"].startswith("subtract 4.")
    assert changed["t2"].startswith("add 1")  # 9 of its own and 3 of its reference


@pytest.mark.parametrize("hour", [80.0, 79.5, 60.5])
def test_an_event_ends_a_correction_before_the_next_reference(hour):
    town = Town(ONE)
    corrector = Corrector(town.network, town.store, 0.9)
    notes = {}

    def take(observations, events=(), received=0.0):
        pairs = town.take([*events, *observations], received)
        taken = Taken(NOTHING_DECODED, observations, events, pairs, received)
        notes.update(corrector.prepare(taken).notes)

    def shift(of=corrector.corrections):
        return of.amendment(0).intercept

    wrong = town.hours(0, 80, 2, sensor_off={"s0": 9.0})
    for first in range(0, len(wrong), 90):
        corrector.see(town.network.evaluate(0.0))
        take(wrong[first : first + 90])
    assert shift() == pytest.approx(-9.0, abs=1.0)

    take([], [Event("s0", 5.5 * HOUR, "firmware")], 1.0)
    take([], [Event("s0", hour * HOUR, "adjusted")], 2.0)
    assert shift() == 0.0
    again = Corrector(town.network, town.store, 0.9)
    again.corrections.load(lambda name: notes.get(name, b""), 8)
    assert shift(again.corrections) == 0.0

    take(town.hours(80, 81, 3), received=3.0)  # the newest snapshot is from before the event
    assert shift() == 0.0
    corrector.see(town.network.evaluate(4.0))
    take(town.hours(81, 82, 4), received=5.0)
    assert corrector.corrections.amendment(1).intercept == 0.0


def test_an_event_from_before_the_newest_ends_no_correction():
    town = Town(ONE)
    corrector = Corrector(town.network, town.store, 0.9)
    adjusted = [Event("s0", 20.0 * HOUR, "adjusted")]
    wrong = town.hours(0, 80, 2, sensor_off={"s0": 9.0})
    town.take([*adjusted, *wrong[:-90]])
    corrector.see(town.network.evaluate(0.0))
    corrector.prepare(Taken(NOTHING_DECODED, [], (), town.take(wrong[-90:]), 0.0))
    before = corrector.corrections.amendment(0)
    assert before.intercept == pytest.approx(-9.0, abs=1.0)

    older = [Event("s0", 10.0 * HOUR, "firmware")]
    town.take(older)
    corrector.prepare(Taken(NOTHING_DECODED, [], older, NO_PAIRS, 1.0))
    assert corrector.corrections.amendment(0) == before
