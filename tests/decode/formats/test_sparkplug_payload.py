"""Sparkplug's payloads in protobuf."""

from __future__ import annotations

from monitor.decode.formats.sparkplug_payload import Payload


def test_the_bytes_of_a_sparkplug_payload_are_those_of_the_specification():
    # timestamp = 1 (field 1), one metric (field 2) of name "a" (1), datatype 10 (4), double 1 (13)
    raw = bytes.fromhex("0801 120e 0a0161 200a 69000000000000f03f 1803".replace(" ", ""))

    read = Payload.FromString(raw)

    assert (read.timestamp, read.seq, read.metrics[0].name) == (1, 3, "a")
    assert (read.metrics[0].datatype, read.metrics[0].double_value) == (10, 1.0)
