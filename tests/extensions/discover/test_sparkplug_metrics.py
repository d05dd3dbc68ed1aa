"""Sparkplug's metrics as sources."""

from __future__ import annotations

from monitor.extensions.discover.heard import Heard
from monitor.extensions.discover.sparkplug_metrics import DEVICES, sparkplug_sources
from tests.decode.formats.test_sparkplug import sparkplug
from tests.extensions.discover.test_proposal import NOW


def test_a_device_is_a_sensor_and_what_data_omit_is_that_of_its_birth():
    metrics = [("temperature/value", 21.5), ("temperature/u", 0.2), ("bad.name", 1.0)]
    born = sparkplug([{"name": name, "double_value": value} for name, value in metrics])
    data = sparkplug([{"name": "temperature/value", "double_value": 21.6}])
    topics = {"DBIRTH": born, "DDATA": data}
    heard = [Heard(f"spBv1.0/g/{kind}/edge/d1", body, NOW) for kind, body in topics.items()]
    (source,) = sparkplug_sources([*heard, Heard("other/topic", born, NOW)])

    assert (source.topic, source.decoder, source.kind) == (DEVICES, "sparkplug", "reading")
    (series,) = source.series
    assert series.quantity == "temperature"
    assert series.keys["value"] == "values.temperature/value"
    assert series.keys["u"] == "birth.temperature/u"
    assert sparkplug_sources([Heard("spBv1.0/g/DDATA/edge/d1", b"\xff", NOW)]) == []
