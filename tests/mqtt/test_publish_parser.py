"""Packets taken apart by the column, beside a loop that goes from one to the next."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.mqtt import publish_parser
from monitor.mqtt.publish_parser import TopicIndex, parse_publishes

TOPICS = (b"a/b", b"a/" + b"c" * 125, b"\x01" * 300)
# Bytes that look like the beginning of a packet: first byte, length, zero before a topic.
ODD = (b"\x32", b"\x30", b"\x32\x05\0", b"\x32\x85\x01\0\x03a/b", b"\0", b"\0\0", b"\x80", b"text")
FIRSTS = (0x30, 0x32, 0x33)


def packet(first: int, topic: bytes, mid: int, payload: bytes, *, newest: bool) -> bytes:
    """A PUBLISH, written down from MQTT 5.0 section 3.3 once more."""
    body = len(topic).to_bytes(2, "big") + topic
    body += mid.to_bytes(2, "big") if first & 6 else b""
    body += b"\0" * newest + payload
    length, size = bytearray(), len(body)
    while size > 127:
        length.append(size % 128 + 128)
        size //= 128
    return bytes((first, *length, size)) + body


@st.composite
def streams(draw):
    """(first byte, topic, identifier, payload) of packets most of which are alike."""
    first = draw(st.sampled_from(FIRSTS))
    begin = draw(st.one_of(st.integers(0x3200, 0x3280), st.integers(1, 60_000)))
    payload = st.lists(st.sampled_from(ODD), max_size=40).map(b"".join)
    others = draw(st.sampled_from([(first,), FIRSTS]))
    each = st.tuples(st.sampled_from(others), st.sampled_from(TOPICS), payload)
    made = draw(st.lists(each, min_size=1, max_size=150))
    return [(kind, topic, begin + at, text) for at, (kind, topic, text) in enumerate(made)]


@given(sent=streams(), newest=st.booleans(), cut=st.integers(0, 30))
@settings(deadline=None, max_examples=400)
def test_packets_are_found_where_a_loop_finds_them(sent, newest, cut):
    stream = b"".join(packet(*each, newest=newest) for each in sent)
    data = stream[: max(4, len(stream) - cut)]
    index = TopicIndex()
    for topic in TOPICS:
        index.learn(len(topic).to_bytes(2, "big") + topic, topic.decode())
    mid_bytes = 2 if data[0] & 6 else 0

    found = parse_publishes(data, index, mid_bytes, 1 << 28, has_properties=newest)

    at, whole = 0, []
    for each in sent:
        size = len(packet(*each, newest=newest))
        if each[0] != data[0] or at + size > len(data):
            break
        whole.append(each)
        at += size
    if not whole:
        assert found is None
        return
    assert found.stop == at
    assert found.payloads.part(np.arange(len(whole))) == [text for *_, text in whole]
    assert [TOPICS[number] for number in found.numbers] == [topic for _, topic, *_ in whole]
    mids = [mid.to_bytes(2, "big") if mid_bytes else b"\0\0" for _, _, mid, _ in whole]
    assert found.mids == b"".join(mids)


@pytest.mark.parametrize("size", [10, 100, 117, 118, 119, 120, 200, 2000])
@pytest.mark.parametrize("newest", [True, False])
def test_next_to_all_are_found_by_the_column(size, newest):
    sent = [packet(0x32, b"a/b", 1 + at, b"x" * size, newest=newest) for at in range(500)]

    assert publish_parser._chain(np.frombuffer(b"".join(sent), np.uint8)).size >= 500


def test_a_length_in_more_bytes_than_it_takes_is_read_as_it_is_written():
    short = packet(0x32, b"a/b", 7, b"x" * 117, newest=True)  # so long, it might be a short one
    longer = short[:1] + bytes((short[1] | 0x80, 0)) + short[2:]
    index = TopicIndex()
    index.learn(b"\0\3a/b", "a/b")

    found = parse_publishes(longer + short + short, index, 2, 1 << 28, has_properties=True)

    assert found.stop == len(longer) + 2 * len(short)
    assert found.payloads.part(np.arange(3)) == 3 * [b"x" * 117]


def packed(topic: str) -> bytes:
    text = topic.encode()
    return len(text).to_bytes(2, "big") + text


def found(index: TopicIndex, topics: list[str], between: bytes = b"") -> list[int] | None:
    data, starts, stops = b"", [], []
    for topic in topics:
        starts.append(len(data))
        data += packed(topic)
        stops.append(len(data))
        data += between
    places = (np.array(each, dtype=np.int64) for each in (starts, stops))
    numbers = index.find(data, *places)
    return None if numbers is None else numbers.tolist()


topics = st.text(min_size=1, max_size=6) | st.integers(100, 140).map("x".__mul__)


@given(
    parts=st.lists(st.lists(topics, unique=True, max_size=90), max_size=4),
    between=st.binary(max_size=3),
)
def test_topics_are_found_as_in_a_dictionary_while_they_grow_in_number(parts, between):
    index, known = TopicIndex(), {}
    for part in parts:
        for topic in part:
            if topic not in known:
                known[topic] = index.learn(packed(topic), topic)

        asked = [*known, *part]
        assert found(index, asked, between) == [known[topic] for topic in asked]
        assert found(index, [*asked, "\0" * 7], between) is None
    assert index.names == [*known]


@pytest.mark.parametrize("count", [63, 64, 65, 20_000])
def test_most_of_many_topics_are_found_by_the_column(count):
    index = TopicIndex()
    topics = [f"monitor/s{at}/mass/reading" for at in range(count)]
    for topic in topics:
        index.learn(packed(topic), topic)
    looked_for = []
    index._numbers = index._numbers.copy()
    get = index._numbers.get

    class Watched(dict):
        def get(self, *key):
            looked_for.append(key)
            return get(*key)

    index._numbers = Watched(index._numbers)

    assert found(index, topics, b"so that the last is whole" * 3) == list(range(count))
    assert len(looked_for) <= 0.15 * count
