"""Readings that enter a pairing one by one."""

from __future__ import annotations

from monitor.core.model import Reading
from monitor.core.pairing.engine import Added, Pairing


def add_reading(pairing: Pairing, reading: Reading, series: int, received: float) -> Added:
    """Ingest one reading of ``series``."""
    readings = pairing.buffer_of(reading) or pairing.open_buffer(reading, series)
    return pairing.ingest_reading(readings, reading, received)
