"""Lines of scales and other displays."""

from __future__ import annotations

import pytest
from harness.device_messages import at, sent

from tests.extensions.discover.test_proposal import NOW, heard, proposed

LINES = [
    ("ST,NT,+  1.234kg", 1.234),
    ("ST,+00012.34  g", 0.01234),
    ("S S     12.34 kg", 12.34),
    ("     0.665 g", 0.000665),
    ("-   29.182 g", -0.029182),
    ("+ 0000.0003 kg", 0.0003),
    ("12.34 lb", 12.34 * 0.45359237),
]


@pytest.mark.parametrize(("line", "kilograms"), LINES)
@pytest.mark.parametrize("topic", ["hall/{}/net", "{}/weight", "yard/{}"])
def test_lines_of_scales_are_read_as_masses_with_a_step_as_their_u(topic, line, kilograms):
    lines = [sent(topic.format(name), f"{line}\r\n") for name in ("s1", "s2")]
    truth = sent("truth/s1/mass", {"time": at(NOW), "value": 1.0, "u": 0.001})
    found = proposed(heard(*lines, truth))

    readings = found.trial.content.readings
    assert set(readings) == {("s1", "mass"), ("s2", "mass")}
    assert readings["s1", "mass"][0].value == pytest.approx(kilograms, rel=1e-9)
    assert readings["s1", "mass"][0].u <= 0.01
    assert "one step of the display" in found.text
    assert found.trial.pairs["s1", "mass"] == 1


def test_what_a_display_calls_unstable_or_overload_is_no_reading():
    lines = ["US,GS,+  0.820kg", "ST,GS,+  0.830kg", "OL,NT,+-------kg", "S I", "ST,GS,+  0.84kg"]
    found = proposed(heard(*(sent("scales/hall", line) for line in lines)))

    assert [each.value for each in found.trial.content.readings["hall", "mass"]] == [0.83, 0.84]


def test_the_quantity_is_that_of_the_topic_or_of_the_unit():
    lines = [
        sent("oven/door/temperature", "200.1 F"),
        sent("gate/x", "21.5 °C"),
        sent("p/q", "7 V"),
    ]
    found = proposed(heard(*lines))

    assert {key: each[0].value for key, each in found.trial.content.readings.items()} == {
        ("door", "temperature"): pytest.approx((200.1 - 32.0) / 1.8),
        ("x", "temperature"): 21.5,
        ("q", "value"): 7.0,
    }
