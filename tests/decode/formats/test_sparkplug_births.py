"""Sparkplug's births: names of metrics, kept and learnt again."""

from __future__ import annotations

import pytest

from monitor.config import parse
from monitor.config.core_plan import router_of
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.formats.sparkplug_payload import Payload
from tests.decode.formats.test_formats import RECEIVED, T, router
from tests.decode.formats.test_senml import reasons
from tests.decode.formats.test_sparkplug import DENSITY, EXCEPTION, MS, U95, birth, sparkplug


def data(value=842.0, **more):
    return sparkplug(
        [
            {"alias": DENSITY, "double_value": value, "timestamp": MS + 1000, **more},
            {"alias": U95, "double_value": 0.6, "timestamp": MS + 1000},
        ]
    )


def test_aliases_are_those_of_the_birth_and_kept_over_a_restart():
    births = Births()
    before = router(births)
    (born,) = before.decode("spBv1.0/g/DBIRTH/e/s", birth(), RECEIVED)
    kept = Births()
    kept.load(births.dump())

    (found,) = router(kept).decode("spBv1.0/g/DDATA/e/s", data(), RECEIVED)
    (other,) = router(kept).decode("spBv1.0/g/DDATA/other/s", data(), RECEIVED)[:1]

    assert (born.value, born.time) == (841.2, T)
    assert (found.value, found.time) == (842.0, T + 1)
    assert found.u == pytest.approx(0.6 / 1.959963985)
    assert (other.reason, "alias 7" in other.detail) == ("unknown_alias", True)


def with_properties(**metric):
    """Return a message with one metric whose properties are numbers."""
    numbers = metric.pop("numbers", {})
    payload = Payload(timestamp=MS, seq=1)
    added = payload.metrics.add(**metric)
    for name, number in numbers.items():
        added.properties.keys.append(name)
        added.properties.values.add(type=10, double_value=number)
    return payload.SerializeToString()


def test_what_a_birth_alone_states_holds_for_the_data_that_follow_also_after_a_restart():
    """Sparkplug sends by exception: an uncertainty that never changes stands in the birth."""
    births = Births()
    first = router_of(parse(EXCEPTION, "f"), births)
    first.decode("spBv1.0/g/DBIRTH/e/s", birth(), RECEIVED)
    kept = Births()
    kept.load_notes({**births.notes()}.get)
    alone = sparkplug([{"alias": DENSITY, "double_value": 842.0, "timestamp": MS + 1000}])

    for known in (births, kept):
        daemon = router_of(parse(EXCEPTION, "f"), known)
        (found,) = daemon.decode("spBv1.0/g/DDATA/e/s", alone, RECEIVED)
        assert (found.value, found.u) == (842.0, pytest.approx(0.6 / 1.959963985))
    (other,) = router_of(parse(EXCEPTION, "f"), births).decode(
        "spBv1.0/g/DDATA/e/other",
        sparkplug([{"name": "density/value", "datatype": 10, "double_value": 842.0}]),
        RECEIVED,
    )
    assert other.reason == "missing_field"


def test_a_topic_may_name_the_device_where_the_payload_names_the_sensor():
    settings = b"""
sources:
  - topic: "spBv1.0/{group}/{message}/{edge}/{device}"
    kind: reading
    decoder: sparkplug
    map:
      sensor: "{edge}-{device}"
      series: [{quantity: density, value: values.density/value, u: 1}]
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
"""
    daemon = router_of(parse(settings, "f"), Births())
    daemon.decode("spBv1.0/g/DBIRTH/e/s", birth(), RECEIVED)

    (found,) = daemon.decode("spBv1.0/g/DDATA/e/s", data(), RECEIVED)

    assert (found.sensor, found.value) == ("e-s", 842.0)


def test_numeric_properties_of_a_metric_are_read_those_of_its_birth_where_none_are_sent():
    daemon = router_of(parse(EXCEPTION, "f"), Births())
    level = {"name": "level", "alias": 3, "datatype": 10}
    births = with_properties(**level, double_value=1.0, numbers={"u": 0.25})
    (born,) = daemon.decode("spBv1.0/g/DBIRTH/e/s", births, RECEIVED)
    (plain,) = daemon.decode(
        "spBv1.0/g/DDATA/e/s", with_properties(alias=3, double_value=2.0), RECEIVED
    )
    (own,) = daemon.decode(
        "spBv1.0/g/DDATA/e/s",
        with_properties(alias=3, double_value=3.0, numbers={"u": 0.5}),
        RECEIVED,
    )

    assert [each.u for each in (born, plain, own)] == [0.25, 0.25, 0.5]


def test_another_birth_of_a_device_replaces_what_the_first_stated():
    births = Births()
    daemon = router_of(parse(EXCEPTION, "f"), births)
    daemon.decode("spBv1.0/g/DBIRTH/e/s", birth(), RECEIVED)
    null = {"name": "density/U95", "alias": U95, "datatype": 10, "is_null": True}
    value = {"name": "density/value", "alias": DENSITY, "datatype": 10, "double_value": 841.2}
    daemon.decode("spBv1.0/g/DBIRTH/e/s", sparkplug([value, null]), RECEIVED + 1)
    alone = sparkplug([{"alias": DENSITY, "double_value": 842.0, "timestamp": MS + 1000}])

    (found,) = daemon.decode("spBv1.0/g/DDATA/e/s", alone, RECEIVED + 2)
    assert found.reason == "missing_field"


def test_a_birth_of_the_node_forgets_its_aliases():
    births = Births()
    daemon = router(births)
    daemon.decode("spBv1.0/g/DBIRTH/e/s", birth(), RECEIVED)

    assert daemon.decode("spBv1.0/g/NBIRTH/e", sparkplug([]), RECEIVED) == []
    assert reasons(daemon.decode("spBv1.0/g/DDATA/e/s", data(), RECEIVED)) == [
        "unknown_alias",
        "unknown_alias",
    ]


def test_a_dump_of_other_bytes_is_refused():
    with pytest.raises(ValueError, match=r"\S"):
        Births().load(b"\x01")
