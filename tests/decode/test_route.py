"""Readings from a time of maintenance."""

from __future__ import annotations

from monitor.config import parse
from monitor.config.core_plan import router_of
from tests.decode.test_mapping import LATE


def test_readings_from_a_time_of_maintenance_are_refused():
    text = """sources:
- {topic: "a/{subject}", kind: reference}
- {topic: "b/{sensor}", kind: reading}
maintenance:
- {sensor: "x*", start: 2026-03-01T06:00Z, end: 2026-03-01T07:00Z}
"""
    router = router_of(parse(text.encode(), "f"))

    def verdict(sensor, clock):
        payload = b'{"time":"2026-03-01T%sZ","value":1,"u":1}' % clock
        (found,) = router.decode(f"b/{sensor}", payload, LATE)
        return getattr(found, "reason", "used")

    assert verdict("x1", b"06:00:00") == "maintenance"
    assert verdict("x1", b"07:00:00") == "used"
    assert verdict("x1", b"05:59:59") == "used"
    assert verdict("y1", b"06:30:00") == "used"
