"""Numbers and texts of MQTT."""

from __future__ import annotations

import struct
from contextlib import suppress

from harness.mqtt_packets import varint
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from paho.mqtt import MQTTException
from paho.mqtt.properties import Properties

from monitor.mqtt import primitives
from monitor.mqtt.primitives import MalformedError, Reader, dump_varint, read_properties, varint_at

# Of the maxima 0x21 and 0x27 paho checks the range too; no part of this program asks for them.
IDENTIFIERS = st.sampled_from([0x11, 0x12, 0x13, 0x15, 0x16, 0x1A, 0x1C, 0x1F, 0x22, 0x24, 0x2A])


PROPERTY = st.one_of(
    st.tuples(IDENTIFIERS | st.integers(0x2B, 255), st.binary(max_size=6)).map(
        lambda each: bytes((each[0],)) + each[1]
    ),
    st.tuples(st.sampled_from([0x12, 0x15, 0x1A, 0x1C, 0x1F, 0x26]), st.text(max_size=5)).map(
        lambda each: bytes((each[0],)) + (1 + (each[0] == 0x26)) * _text(each[1])
    ),
)


def _text(text: str) -> bytes:
    return len(text.encode()).to_bytes(2, "big") + text.encode()


@given(made=st.lists(PROPERTY, max_size=4), kind=st.sampled_from([2, 4, 5, 6, 7, 9, 11, 14]))
@example(made=[b"\x13\0\x0a"], kind=2)
@example(made=[b"\x26\0\1a\0\1b", b"\x26\0\1a\0\1c"], kind=9)
@settings(max_examples=1000)
def test_properties_are_read_or_refused_as_by_paho(made, kind):
    body = b"".join(made)
    assume(not {b"\x21", b"\x27", b"\xef"} & {body[at : at + 1] for at in range(len(body))})
    data = varint(len(body)) + body
    theirs = _theirs(data, kind)
    try:
        ours = read_properties(Reader(data), kind)
    except MalformedError:
        assert theirs is None
        return
    assert theirs is not None
    names = {0x11: "SessionExpiryInterval", 0x13: "ServerKeepAlive", 0x1F: "ReasonString"}
    for identifier, name in names.items():
        assert ours.get(identifier) == getattr(theirs, name, None)


def _theirs(data: bytes, kind: int) -> Properties | None:
    """Return what paho reads, None where it refuses; what it reads beyond the end is a refusal."""
    found = Properties(kind)
    try:
        found.unpack(data)
        left = found.pack()
    except (MQTTException, LookupError, ValueError, AttributeError, NameError, struct.error):
        return None
    return found if len(left) <= len(data) else None


@given(value=st.integers(0, 268_435_455))
@example(value=127)
@example(value=128)
@example(value=16_384)
@example(value=268_435_455)
def test_variable_byte_integers_are_written_and_read(value):
    assert dump_varint(value) == varint(value)
    assert varint_at(b"x" + varint(value), 1) == (value, 1 + len(varint(value)))
    assert varint_at(varint(value)[:-1], 0) is None


def test_no_property_is_read_that_belongs_elsewhere():
    for kind in range(16):
        with suppress(MalformedError):
            found = read_properties(Reader(b"\x03\x13\0\x0a"), kind)
            assert (kind, found.number(primitives.SERVER_KEEP_ALIVE)) == (primitives.CONNACK, 10)
