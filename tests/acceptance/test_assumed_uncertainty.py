"""An uncertainty that the settings assume is marked wherever it is shown."""

from __future__ import annotations

import json

import numpy as np
import pytest

from monitor.commands.report import assumed_notes
from monitor.config import parse
from monitor.config.core_plan import plan_of, router_of, units_of
from monitor.core.model import Reading, Reference
from monitor.core.state.network import Network
from monitor.http import documents
from monitor.http.lines import lines
from monitor.http.metrics import Exposition
from monitor.journal.in_memory import InMemoryStore
from tests.http.test_metrics import value

SETTINGS = """
sources:
  - topic: scale/{sensor}
    kind: reading
    decoder: json
    map: {time: t, series: [{quantity: mass, value: v, u: u, assumed: "0.02 * value"}]}
  - {topic: "monitor/{sensor}/{quantity}/reference", kind: reference}
pairing: {mode: nearest, tolerance_seconds: 0.5}
"""
PAIRS = 40
START = 1.77e9
SAID = "(the settings assume its uncertainty)"


def published(u_of):
    """Return a network that took in the messages of sensors, decoded by the settings.

    ``u_of(sensor, number)`` is the u in a message, None if it has none.
    """
    settings = parse(SETTINGS.encode(), "monitor.yaml")
    units = units_of(settings)
    router = router_of(settings, units=units)
    network = Network(plan_of(settings, units), InMemoryStore())
    chance = np.random.default_rng(6)
    observations = []
    for at in range(PAIRS):
        truth = chance.normal(500.0, 20.0)
        for sensor in ("a", "b"):
            body = {
                "t": START + at,
                "v": truth + 10.0 * chance.standard_normal(),
                "u": u_of(sensor, at),
            }
            observations += router.decode(f"scale/{sensor}", json.dumps(body).encode(), START + at)
            observations.append(Reference(sensor, "mass", START + at + 0.1, truth))
    network.apply(network.observe(observations, START + PAIRS).pairs)
    return network


def marked(network):
    """Return the mark of each sensor: on /metrics, in the API, in its sentence, on the page."""
    now = network.evaluate(START + PAIRS)
    page = Exposition().render(now)
    found = {}
    for row, name in enumerate(now.names):
        told = documents.entry(now, row)
        (line,) = lines(now, [row])
        found[name.sensor] = (
            value(page, "monitor_uncertainty_assumed", sensor=name.sensor, quantity="mass"),
            told["uncertainty"],
            SAID in told["sentence"],
            SAID in line.sentence,
        )
    return found


def test_a_sensor_that_states_no_uncertainty_is_marked_and_one_that_does_is_not():
    found = marked(published(lambda sensor, _: 10.0 if sensor == "a" else None))

    assert found == {"a": (None, "stated", False, False), "b": (1.0, "assumed", True, True)}


def test_the_last_reading_counts():
    """Sensor a states its u from the middle on, b up to there."""
    found = marked(published(lambda sensor, at: 10.0 if (sensor == "a") == (at > 20) else None))

    assert (found["a"][1], found["b"][1]) == ("stated", "assumed")


@pytest.mark.parametrize("turned", [False, True])
def test_the_mark_does_not_hang_on_the_order_of_messages(turned):
    settings = parse(SETTINGS.encode(), "monitor.yaml")
    network = Network(plan_of(settings), InMemoryStore())
    both = [
        Reading("a", "mass", 1.0, 5.0, u=1.0),
        Reading("a", "mass", 2.0, 5.0, u=1.0, assumed=True),
    ]
    for each in reversed(both) if turned else both:
        network.observe([each], 3.0)
    now = network.evaluate(3.0)

    assert documents.entry(now, 0)["uncertainty"] == "assumed"


def test_a_report_on_a_daemon_names_the_formula():
    settings = parse(SETTINGS.encode(), "monitor.yaml")

    assert list(assumed_notes(settings)) == [
        "Uncertainty assumed: by scale/{sensor}, where mass states none, u is 0.02 * value."
    ]
