"""Packs of SenML."""

from __future__ import annotations

import pytest
from harness.device_messages import at, sent

from tests.extensions.discover.test_proposal import NOW, heard, proposed


def test_packs_of_senml_are_read_with_the_units_and_uncertainties_that_they_state():
    messages = [
        each
        for name, kelvin in (("n1", 294.15), ("n2", 295.15))
        for each in heard(
            sent(
                f"senml/{name}",
                [
                    {
                        "bn": f"urn:dev:{name}:",
                        "bt": NOW,
                        "n": "temperature",
                        "u": "K",
                        "v": kelvin,
                    },
                    {"n": "temperature_u", "u": "K", "v": 0.4},
                    {"n": "humidity", "u": "%RH", "v": 44.0},
                    {"n": "battery", "u": "%EL", "v": 97.0},
                    {"n": "zaehlrate", "v": 31.5},
                ],
            )
        )
    ]
    found = proposed([*messages, *heard(sent("lab/temperature", {"time": at(NOW), "value": 21.0}))])

    read = {key: readings[0] for key, readings in found.trial.content.readings.items()}
    assert set(read) == {(name, of) for name in ("n1", "n2") for of in ("temperature", "humidity")}
    first = read["n1", "temperature"]
    assert (first.value, first.u, first.time) == (pytest.approx(21.0), pytest.approx(0.4), NOW)
    assert (read["n2", "humidity"].value, read["n2", "humidity"].assumed) == (44.0, True)
    assert found.trial.pairs["n1", "temperature"] == found.trial.pairs["n2", "temperature"] == 1
    assert "is a measurement among beside.zaehlrate?" in found.text
    assert not any("SenML" in each for each in found.missing)
