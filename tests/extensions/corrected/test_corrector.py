"""Which readings are corrected, and for what."""

from __future__ import annotations

import numpy as np

from monitor.core.pairing.observations import Observed, PlainReadings
from monitor.daemon.listeners import Taken
from monitor.decode.router import Decoded
from monitor.extensions.corrected.corrector import Corrector
from tests.core.fleet.test_presence import TWO, Town

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
