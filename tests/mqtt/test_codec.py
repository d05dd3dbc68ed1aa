"""The codec of MQTT's packets, beside paho's: what it writes, what it reads, what both refuse."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress

import paho.mqtt.client as paho
import pytest
from harness.mqtt_packets import packet, publish
from harness.programs import WAIT_SECONDS
from hypothesis import given, settings
from hypothesis import strategies as st
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from monitor.mqtt.codec import decode, encode
from monitor.mqtt.packets import (
    CONNACK_311,
    Connack,
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
    Version,
    reason_text,
)
from monitor.mqtt.primitives import MalformedError, varint_at

V3, V5 = Version.V3_1_1, Version.V5
VERSIONS = [V3, V5]
PAHO = {V3: MQTTProtocolVersion.MQTTv311, V5: MQTTProtocolVersion.MQTTv5}


class Peer:
    """paho's client, and the end of the connection that a broker has."""

    def __init__(self, version: Version, **options) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        clean = {"clean_session": False} if version == V3 else {}
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=options.pop("client_id", "reader"),
            protocol=PAHO[version],
            reconnect_on_failure=False,
            **clean,
        )
        if "username" in options:
            self.client.username_pw_set(options.pop("username"), options.pop("password"))
        self.client.connect(*self._listening.getsockname(), **options)
        self._connection, _ = self._listening.accept()
        self._connection.settimeout(WAIT_SECONDS)

    def heard(self) -> bytes:
        """Return the next packet of the client; all of these are short."""
        head = self._connection.recv(2, socket.MSG_WAITALL)
        return head + self._connection.recv(head[1], socket.MSG_WAITALL)

    def say(self, data: bytes) -> None:
        """Let the client read something of a broker."""
        self._connection.sendall(data)
        self.client.loop(1.0)

    def close(self) -> None:
        for each in (self._connection, self._listening):
            each.close()
        self.client.loop(0.0)


@pytest.fixture
def peer() -> Iterator[Callable[..., Peer]]:
    made: list[Peer] = []

    def start(version: Version, **options) -> Peer:
        made.append(Peer(version, **options))
        return made[-1]

    yield start
    for each in made:
        each.close()


# -- what a client sends --------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("more", [{}, {"username": "ü", "password": "s3cret"}])
def test_connect_is_written_as_paho_writes_it(version, more, peer):
    options = {"keepalive": 15, **more}
    if version == V5:
        wanted = Properties(PacketTypes.CONNECT)
        wanted.SessionExpiryInterval = 604_800
        wanted.ReceiveMaximum = 20_000
        options |= {"clean_start": False, "properties": wanted}

    ours = encode(Connect("reader", 15, *more.values(), **EXPECTED), version)

    assert ours == peer(version, **options).heard()


EXPECTED = {
    "session_expiry_seconds": 604_800,
    "receive_maximum": 20_000,
}


@pytest.mark.parametrize("version", VERSIONS)
def test_all_else_is_written_as_paho_writes_it(version, peer):
    other = peer(version)
    other.heard()
    other.say(b"\x20\x03\0\0\0" if version == V5 else b"\x20\x02\0\0")
    once = SubscribeOptions(qos=2, retainHandling=SubscribeOptions.RETAIN_SEND_IF_NEW_SUB)
    filters = [("a/+", once), ("b/#", once)] if version == V5 else [("a/+", 2), ("b/#", 2)]
    none = None if version == V3 else b""

    other.client.subscribe(filters)
    assert encode(Subscribe(1, (("a/+", 2), ("b/#", 2))), version) == other.heard()
    other.client.unsubscribe(["a/+", "c"])
    assert encode(Unsubscribe(2, ("a/+", "c")), version) == other.heard()
    other.say(publish(b"a/x", b"1", 1, 7, properties=none))
    assert encode(Puback(7), version) == other.heard()
    other.say(publish(b"a/x", b"1", 2, 8, properties=none))
    assert encode(Pubrec(8), version) == other.heard()
    other.say(b"\x62\2\0\x08")
    assert encode(Pubcomp(8), version) == other.heard()
    other.client.publish("a", b"2", qos=2)
    other.heard()
    other.say(b"\x50\2\0\3")
    assert encode(Pubrel(3), version) == other.heard()
    other.client.disconnect()
    assert encode(Disconnect(), version) == other.heard()
    assert encode(Pingreq(), version) == b"\xc0\0"


def test_reason_codes_are_written_with_mqtt_5_only():
    assert encode(Disconnect(0x81), V5) == b"\xe0\1\x81"
    assert encode(Disconnect(0x81), V3) == b"\xe0\0"
    assert encode(Pubcomp(7, 0x92), V5) == b"\x70\3\0\7\x92"


@pytest.mark.parametrize(
    ("packet", "why"),
    [
        (Connect("a" * 65_536, 1), "65536 bytes"),
        (Connect("a\0", 1), "U\\+0000"),
        (Subscribe(1, (("ü" * 40_000, 1),)), "80000 bytes"),
        (Unsubscribe(1, ("a\0b",)), "U\\+0000"),
        (Subscribe(1, (("a" * 65_000, 1),) * 4200), "variable byte integer"),
    ],
)
def test_what_mqtt_cannot_express_is_a_value_error(packet, why):
    with pytest.raises(ValueError, match=why):
        encode(packet, V5)


# -- what a broker sends --------------------------------------------------------------------------


def named_by_paho(kind: int) -> dict[int, str]:
    """Return paho's names of the reason codes of a packet."""
    found = {}
    for code in range(256):
        with suppress(KeyError, ValueError):
            found[code] = str(ReasonCode(kind, identifier=code))
    return found


@pytest.mark.parametrize("code", named_by_paho(PacketTypes.CONNACK))
def test_connack_is_read_as_by_paho(code, peer):
    other, told = peer(V5), []
    other.client.on_connect = lambda _client, _data, flags, reason, found: told.append(
        (
            *(flags.session_present, reason.value),
            *(found.ReasonString, found.ServerKeepAlive, found.SessionExpiryInterval),
        )
    )
    wanted = Properties(PacketTypes.CONNACK)
    wanted.ReasonString, wanted.ServerKeepAlive, wanted.SessionExpiryInterval = "because", 77, 9
    wanted.UserProperty = [("a", "b"), ("c", "d")]
    wanted.AssignedClientIdentifier, wanted.MaximumQoS = "x", 1
    body = bytes((0 if code else 1, code)) + wanted.pack()

    ours = decode(0x20, body, V5)
    other.heard()
    other.say(packet(0x20, body))

    assert ours == Connack(not code, code, "because", 77, 9)
    assert told == [tuple(ours)]


@pytest.mark.parametrize("code", range(6))
def test_what_connack_of_3_1_1_says_is_a_code_of_mqtt_5(code):
    named = {1: "Unsupported protocol version", 2: "Client identifier not valid"}
    named |= {3: "Server unavailable", 4: "Bad user name or password", 5: "Not authorized"}

    ours = decode(0x20, bytes((0, code)), V3)

    assert ours.code == CONNACK_311[code]
    assert (ours.code >= 0x80) == bool(code)
    assert reason_text(ours.code) == named.get(code, "Success")


@pytest.mark.parametrize("version", VERSIONS)
def test_suback_is_read_as_by_paho(version, peer):
    codes = (0, 1, 2, 0x80, 0x87) if version == V5 else (0, 1, 2, 0x80)
    other, told = peer(version), []
    other.client.on_subscribe = lambda _client, _data, mid, given, _found: told.append(
        (mid, tuple(each.value for each in given))
    )
    body = b"\0\1" + b"\0" * (version == V5) + bytes(codes)

    other.heard()
    other.say(b"\x20\x03\0\0\0" if version == V5 else b"\x20\x02\0\0")
    other.client.subscribe([("a", 1)] * len(codes))
    other.heard()
    other.say(packet(0x90, body))

    assert decode(0x90, body, version) == Suback(*told[0])


def test_disconnect_is_read_as_by_paho(peer):
    other, told = peer(V5), []
    other.client.on_disconnect = lambda _client, _data, _flags, code, found: told.append(
        (code.value, found.ReasonString)
    )
    wanted = Properties(PacketTypes.DISCONNECT)
    wanted.ReasonString = "x"
    body = b"\x8e" + wanted.pack()

    other.heard()
    other.say(b"\x20\x03\0\0\0")
    other.say(packet(0xE0, body))

    assert decode(0xE0, body, V5) == Disconnect(*told[0]) == Disconnect(0x8E, "x")


PUBLISHES = st.builds(
    lambda topic, payload, qos, mid, flags, content: (topic, payload, qos, mid, flags, content),
    st.text(min_size=1, max_size=20).filter(lambda text: not set(text) & set("+#\0\ufeff")),
    *(st.binary(max_size=200), st.integers(0, 2), st.integers(1, 65_535)),
    *(st.sampled_from([0, 1]), st.sampled_from([None, "json", "ü" * 100])),
)


@pytest.mark.parametrize("version", VERSIONS)
def test_messages_are_read_as_by_paho(version, peer):
    other, told = peer(version), []
    other.client.on_message = lambda _client, _data, each: told.append(
        (each.topic, each.payload, each.qos, each.mid, each.retain)
    )
    other.heard()
    other.say(b"\x20\x03\0\0\0" if version == V5 else b"\x20\x02\0\0")

    @given(sent=PUBLISHES)
    @settings(deadline=None, max_examples=150)
    def reads_the_same(sent: tuple) -> None:
        topic, payload, qos, mid, flags, content = sent
        wanted = Properties(PacketTypes.PUBLISH)
        if content is not None:
            wanted.ContentType, wanted.UserProperty = content, ("a", content)
        inside = wanted.pack()
        told.clear()
        made = publish(
            topic.encode(), payload, qos, mid,
            properties=None if version == V3 else inside[varint_at(inside, 0)[1] :], flags=flags,
        )  # fmt: skip
        other.say(made)
        if qos:
            other.heard()
        if qos == 2:
            other.say(b"\x62\2" + mid.to_bytes(2, "big"))
            other.heard()

        _, body = varint_at(made, 1)
        ours = decode(made[0], made[body:], version)

        assert isinstance(ours, Publish)
        qos, retain = ours.first >> 1 & 3, bool(ours.first & 1)
        assert told == [(ours.topic, ours.payload, qos, ours.packet_id, retain)]

    reads_the_same()


@pytest.mark.parametrize(
    ("first", "body", "version", "wanted"),
    [
        (0x40, b"\0\7", V5, Puback(7)),
        (0x40, b"\0\7\x97", V5, Puback(7, 0x97)),
        (0x50, b"\0\7\x10\0", V5, Pubrec(7, 0x10)),
        (0x62, b"\0\7\x92\4\x1f\0\1x", V5, Pubrel(7, 0x92)),
        (0x70, b"\1\0", V3, Pubcomp(256)),
        (0xB0, b"\0\2\0\0\x11", V5, Unsuback(2, (0, 0x11))),
        (0xB0, b"\0\2", V3, Unsuback(2)),
        (0xD0, b"", V3, Pingresp()),
        (0xE0, b"", V5, Disconnect()),
        (0xE0, b"\x8b", V5, Disconnect(0x8B)),
        (0x20, b"\1\0", V3, Connack(session_present=True, code=0)),
        (0x20, b"\0\7", V3, Connack(session_present=False, code=0x87)),
    ],
)
def test_packets_from_the_standard_are_read(first, body, version, wanted):
    assert decode(first, body, version) == wanted


@pytest.mark.parametrize(
    ("first", "body", "version"),
    [
        (0x20, b"\0", V3),  # too short
        (0x20, b"\2\0\0", V5),  # reserved flags
        (0x20, b"\0\0", V5),  # no properties
        (0x20, b"\0\0\0\0", V3),  # too long
        (0x20, b"\0\0\3\x24\1", V5),  # properties that end early
        (0x20, b"\0\0\2\x24\1\0", V5),  # properties that end late
        (0x20, b"\0\0\4\x24\1\x24\1", V5),  # twice
        (0x20, b"\0\0\2\x01\1", V5),  # of PUBLISH
        (0x20, b"\0\0\2\x7f\1", V5),  # unknown
        (0x20, b"\0\0\4\x1f\0\1\xff", V5),  # not UTF-8
        (0x20, b"\0\0\4\x1f\0\1\0", V5),  # U+0000
        (0x40, b"\0\0", V3),  # identifier 0
        (0x41, b"\0\1", V3),  # reserved flags
        (0x60, b"\0\1", V3),  # PUBREL without its flag
        (0x90, b"\0", V3),
        (0xD0, b"x", V3),
        (0xC0, b"", V3),  # PINGREQ, which a broker does not send
        (0xF0, b"", V5),  # AUTH, which nothing asked for
        (0x00, b"", V5),
    ],
)
def test_what_is_malformed_is_refused(first, body, version):
    with pytest.raises(MalformedError):
        decode(first, body, version)


@given(first=st.integers(0, 255), body=st.binary(max_size=40), version=st.sampled_from(VERSIONS))
@settings(max_examples=2000)
def test_any_bytes_are_a_packet_or_malformed(first, body, version):
    with suppress(MalformedError):
        assert decode(first, body, version) is not None
