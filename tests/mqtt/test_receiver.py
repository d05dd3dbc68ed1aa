"""From bytes to messages: cut anywhere, by the column or one by one, too large, or not MQTT."""

from __future__ import annotations

import itertools
import tracemalloc
from contextlib import suppress

import pytest
from harness.mqtt_packets import packet, publish
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.mqtt import receiver as module
from monitor.mqtt.codec import decode
from monitor.mqtt.packets import Pingresp, Publish, Pubrel, Version
from monitor.mqtt.primitives import MalformedError, varint_at
from monitor.mqtt.receiver import Receiver

BYTES_MAX = 300
VERSIONS = [Version.V3_1_1, Version.V5]
# Properties of a PUBLISH: none, a content type, three user properties.
PROPERTIES = (b"", b"\x03\0\4json", 3 * b"\x26\0\1a\0\2bc")


def one_by_one(data: bytes, version: Version) -> tuple[list[tuple], list[object]]:
    """Return messages and other packets of a stream, each packet decoded by itself."""
    found, others, at = [], [], 0
    while len(data) - at >= 2:
        header = varint_at(data, at + 1)
        if header is None or sum(header) > len(data):
            break
        length, body = header
        each = decode(data[at], data[body : body + length], version)
        if isinstance(each, Publish):
            mid = each.packet_id.to_bytes(2, "big") if each.first & 6 else b""
            found.append((each.topic, each.payload[: BYTES_MAX + 1], each.first, mid))
        else:
            others.append(each)
        at = body + length
    return found, others


def received(
    pieces: list[bytes], version: Version, enough: int
) -> tuple[list[tuple], list[object]]:
    """Return the same of a receiver; reads of ``enough`` bytes are taken by the column."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ENOUGH_BYTES", enough)
        receiver = Receiver(version, BYTES_MAX)
        others = [each for piece in pieces for each in receiver.feed(piece)]
    return [(m.topic, m.payload, m.flags, m.mid) for m in receiver.take()], others


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(stream), *(min(at, len(stream)) for at in cuts)})
    return [stream[a:b] for a, b in itertools.pairwise(places)]


@st.composite
def streams(draw, version: Version):
    """Packets most of which are alike, as a broker sends them to one subscriber."""
    topics = [b"a", "ü/x".encode(), b"a/" + b"b" * draw(st.sampled_from([1, 130, 500]))]
    qos = draw(st.integers(0, 2))
    none = None if version == Version.V3_1_1 else b""
    mids = st.integers(1, 65_535)
    usual = st.builds(
        lambda topic, payload, mid: publish(topic, payload, qos, mid, properties=none),
        *(st.sampled_from(topics), st.binary(max_size=150), mids),
    )
    odd = st.builds(
        lambda topic, payload, kind, mid, properties, flags: publish(
            topic, payload, kind, mid, properties=none and properties, flags=flags
        ),
        *(st.sampled_from(topics), st.binary(max_size=2 * BYTES_MAX), st.integers(0, 2), mids),
        *(st.sampled_from(PROPERTIES), st.sampled_from([0, 1, 8])),
    )
    other = st.sampled_from([b"\xd0\0", b"\x62\2\0\7"])
    return b"".join(draw(st.lists(st.one_of(usual, usual, usual, odd, other), max_size=40)))


stream_of = st.sampled_from(VERSIONS).flatmap(lambda each: st.tuples(st.just(each), streams(each)))


@given(made=stream_of, cuts=st.lists(st.integers(0, 9000), max_size=10))
@settings(deadline=None, max_examples=300)
def test_packets_cut_anywhere_and_taken_by_the_column_are_those_decoded_one_by_one(made, cuts):
    version, stream = made
    wanted = one_by_one(stream, version)

    for enough in (1, 1 << 30):
        assert received(cut(stream, cuts), version, enough) == wanted
        twice = received([stream, stream], version, enough)  # topics are known then
        assert twice == (2 * wanted[0], 2 * wanted[1])


@given(made=stream_of, at=st.integers(0, 9000), by=st.integers(0, 255))
@settings(deadline=None, max_examples=300)
def test_a_stream_that_is_spoilt_comes_to_the_same_either_way(made, at, by):
    version, good = made
    bad = bytearray(good or b"\0")
    bad[at % len(bad)] = by
    found = []
    for enough in (1, 1 << 30):
        try:
            found.append(received([good, bytes(bad)], version, enough))
        except MalformedError as error:
            found.append(str(error))
    assert found[0] == found[1]


@given(garbage=st.binary(min_size=1, max_size=200), version=st.sampled_from(VERSIONS))
@settings(deadline=None, max_examples=500)
def test_what_is_not_mqtt_is_one_kind_of_error(garbage, version):
    receiver = Receiver(version, BYTES_MAX)
    with suppress(MalformedError):
        receiver.feed(garbage)
        assert all(len(message.payload) <= len(garbage) for message in receiver.take())


@pytest.mark.parametrize("enough", [1, 1 << 30])
@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (publish(b"a", b"x", 1, 0, properties=b""), "identifier 0"),
        (publish(b"", b"x", 0, 0, properties=b""), "a topic is empty"),
        (publish(b"a/+", b"x", 0, 0, properties=b""), "wildcard"),
        (publish(b"a\0", b"x", 0, 0, properties=b""), "U\\+0000"),
        (publish(b"\xff", b"x", 0, 0, properties=b""), "not UTF-8"),
        (packet(0x30, b"\0"), "within its topic"),
        (packet(0x32, b"\0\1a\0\1"), "before its payload"),
        (packet(0x30, b"\0\1a\x7f"), "before its payload"),
        (packet(0x30, b"\0\1a\xff\xff\xff\xff\xff"), "more than four bytes"),
        (packet(0x36, b"\0\1a\0\1\0"), "no packet from a broker begins with 0x36"),
        (b"\x30\xff\xff\xff\xff\x01", "more than four bytes"),
        (packet(0x10, b""), "no packet from a broker begins with 0x10"),
        (packet(0x60, b"\0\1"), "no packet from a broker begins with 0x60"),
        (b"\x20\x81\x80\x04", "a packet that is not a PUBLISH has 65537 bytes"),
    ],
)
def test_each_way_of_being_malformed_is_told(bad, why, enough):
    good = publish(b"a", b"x", 1, 7, properties=b"")
    with pytest.raises(MalformedError, match=why):
        received([good, bad, good], Version.V5, enough)


def test_a_new_connection_forgets_what_was_left_of_the_last_one():
    receiver = Receiver(Version.V5, BYTES_MAX)
    whole = publish(b"a", b"x" * 100, 1, 7, properties=b"")
    receiver.feed(whole + whole[:50])
    receiver.begin_connection()
    receiver.feed(whole)

    found = receiver.take()
    assert [message.payload for message in found] == [b"x" * 100]
    assert found.generation == 1


def test_other_packets_come_in_their_order():
    receiver = Receiver(Version.V5, BYTES_MAX)
    message = publish(b"a", b"x", 2, 7, properties=b"")

    found = receiver.feed(b"\x62\2\0\1" + message + b"\xd0\0" + message + b"\x62\2\0\2")

    assert found == [Pubrel(1), Pingresp(), Pubrel(2)]
    assert len(receiver.take()) == 2


# -- messages that are too large ------------------------------------------------------------------


@given(
    size=st.integers(BYTES_MAX - 2, 3 * BYTES_MAX),
    topic=st.sampled_from([b"a", b"a" * 200, b"a" * 5000]),
    qos=st.integers(0, 2),
    properties=st.sampled_from([None, *PROPERTIES, b"\x26\0\1a\1\x90" + b"b" * 400]),
    cuts=st.lists(st.integers(0, 6500), max_size=6),
)
@settings(deadline=None, max_examples=300)
def test_of_a_message_too_large_enough_is_kept_to_refuse_and_acknowledge_it(
    size, topic, qos, properties, cuts
):
    version = Version.V3_1_1 if properties is None else Version.V5
    large = publish(topic, b"x" * size, qos, 9, properties=properties)
    small = publish(b"b", b"small", 1, 10, properties=None if properties is None else b"")
    for enough in (1, 1 << 30):
        found, _ = received(cut(large + small, cuts), version, enough)

        (name, payload, flags, mid), after = found
        assert after == ("b", b"small", 0x32, b"\0\x0a")
        assert (name, flags, mid) == (topic.decode(), 0x30 | qos << 1, b"\0\x09" if qos else b"")
        has_long_properties = properties is not None and len(properties) > BYTES_MAX
        assert len(payload) == BYTES_MAX + 1 if has_long_properties else min(size, BYTES_MAX + 1)
        assert has_long_properties or payload == b"x" * len(payload)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_message_of_any_announced_size_costs_bounded_memory(version):
    properties = b"" if version == Version.V5 else None
    kept = Receiver(version, 65_536)
    head = b"\x32\xff\xff\xff\x7f" + publish(b"a", b"", 1, 9, properties=properties)[2:]
    chunk, left = b"x" * 65_536, 268_435_455 - len(head) + 5

    tracemalloc.start()
    kept.feed(head)
    while left:
        part = chunk[:left]
        kept.feed(part)
        left -= len(part)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    kept.feed(publish(b"a", b"next", 1, 10, properties=properties))

    assert peak < 1_000_000
    assert [(len(m.payload), m.mid) for m in kept.take()] == [(65_537, b"\0\x09"), (4, b"\0\x0a")]


def test_a_large_message_that_is_allowed_is_put_together_once(monkeypatch):
    kept = Receiver(Version.V5, 50_000_000)
    whole = publish(b"a", b"x" * 40_000_000, 1, 9, properties=b"")
    looked_at = []
    places = module.varint_at
    monkeypatch.setattr(
        module, "varint_at", lambda data, at: looked_at.append(len(data)) or places(data, at)
    )

    for at in range(0, len(whole), 65_536):
        kept.feed(whole[at : at + 65_536])

    assert [len(m.payload) for m in kept.take()] == [40_000_000]
    assert sum(set(looked_at)) < 2 * len(whole)
