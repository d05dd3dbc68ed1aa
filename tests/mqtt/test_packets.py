"""Packets of MQTT."""

from __future__ import annotations

from paho.mqtt.packettypes import PacketTypes

from monitor.mqtt.packets import (
    REASONS,
    reason_text,
)
from tests.mqtt.test_codec import named_by_paho


def test_reasons_have_the_names_that_paho_gives_them():
    kinds = (PacketTypes.CONNACK, PacketTypes.PUBREL, PacketTypes.SUBACK, PacketTypes.DISCONNECT)
    theirs = {code: name for kind in kinds for code, name in named_by_paho(kind).items()}
    said_differently = {0x00, 0x04, 0x10, 0x11}

    assert {code: name for code, name in theirs.items() if code not in said_differently} == {
        code: name for code, name in REASONS.items() if code not in said_differently
    }
    assert reason_text(0xC3) == "reason code 0xc3"
    assert reason_text(0x87, "ask\nJo") == "Not authorized ('ask\\nJo')"
    assert len(reason_text(0x87, "long" * 999)) < 300
