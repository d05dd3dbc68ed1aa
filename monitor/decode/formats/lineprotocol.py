"""InfluxDB line protocol: ``measurement``, ``tags``, ``fields`` and ``time`` of each line.

A line without a timestamp has the time of its arrival, as the protocol says (in ns).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from line_protocol_parser import LineFormatError, parse_line

from monitor.decode.checks import Rejected, unknown_age
from monitor.decode.route import Call, Decoder, mapping_of

_UNITS_A_SECOND: Final = {"auto": 1.0, "s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


def parse(call: Call) -> Iterator[object]:
    """Yield one record per line; a Rejected for a line that breaks the protocol."""
    try:
        text = call.payload.decode()
    except UnicodeDecodeError as error:
        detail = f"not UTF-8: {error}"
        raise Rejected("bad_payload", detail, byte=error.start) from error
    if "\0" in text:
        raise Rejected("bad_payload", "a zero byte is not allowed in line protocol")
    lines = [line for line in map(str.strip, text.split("\n")) if line and line[0] != "#"]
    if not lines:
        raise Rejected("bad_payload", "there is no line")
    arrival = call.received * _UNITS_A_SECOND[mapping_of(call.route).spec.time_unit]
    for line in lines:
        yield _record(line, arrival)


def _record(line: str, arrival: float) -> object:
    try:
        record: dict[str, object] = parse_line(line)
    except (LineFormatError, ValueError, TypeError, OverflowError) as error:
        return Rejected("bad_payload", f"line {line[:60]!r} is not line protocol: {error}")
    if record.get("time") is None:
        if math.isnan(arrival):
            return unknown_age()
        record["time"] = arrival
    return record


decode: Final = Decoder(parse, many=True, help="InfluxDB line protocol", takes_arrival=True)
