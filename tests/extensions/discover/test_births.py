"""What devices announce."""

from __future__ import annotations

import pytest
from harness.device_messages import sent

from tests.extensions.discover.test_proposal import heard, proposed


def test_home_assistants_discovery_names_what_a_payload_does_not():
    device = {"identifiers": ["x"], "name": "x"}
    config = {
        "dev": device,
        "o": {"name": "x"},
        "cmps": {
            "a": {"p": "sensor", "dev_cla": "temperature", "unit_of_meas": "°F",
                  "val_tpl": "{{ value_json.a1 }}"},
            "b": {"p": "sensor", "dev_cla": "humidity", "unit_of_meas": "%",
                  "val_tpl": "{{ value_json.b['1.h'] }}"},
            "c": {"p": "sensor", "dev_cla": "temperature", "ent_cat": "diagnostic",
                  "val_tpl": "{{ value_json.chip }}"},
        },
        "~": "boxes/box-7",
        "stat_t": "~/data",
    }  # fmt: skip
    body = {"a1": 70.0, "b": {"1.h": 40}, "chip": 55.0}
    announcement = sent("homeassistant/device/x/config", config, retain=True)
    found = proposed(heard(announcement, sent("boxes/box-7/data", body)))

    assert set(found.trial.content.readings) == {("box-7", "temperature"), ("box-7", "humidity")}
    (reading,) = found.trial.content.readings["box-7", "temperature"]
    assert reading.value == pytest.approx((70.0 - 32.0) / 1.8)
