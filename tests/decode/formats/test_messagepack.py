"""Columns in MessagePack."""

from __future__ import annotations

import msgspec

from tests.decode.formats.test_formats import T, decode


def test_columns_in_messagepack_are_thousands_of_readings():
    count = 3000
    batch = {"t": [T + at for at in range(count)], "v": list(range(count)), "u": 0.5}

    found = decode("msgpack", msgspec.msgpack.encode(batch))

    assert len(found) == count
    assert (found[-1].time, found[-1].value) == (T + count - 1, count - 1)


def test_columns_of_different_lengths_are_refused():
    (refused,) = decode("msgpack", msgspec.msgpack.encode({"t": [1], "v": [1, 2]}))

    assert (refused.reason, refused.place) == ("bad_field", "$")
    assert "one length, not 1, 2" in refused.detail
