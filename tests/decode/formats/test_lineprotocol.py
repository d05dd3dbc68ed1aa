"""The line protocol."""

from __future__ import annotations

import pytest

from tests.decode.formats.test_formats import RECEIVED, T, decode


def test_line_protocol_has_many_lines_and_integer_nanoseconds():
    text = f"wow,eid=982 kg=512.5,u=11 {int(T)}000000000\n# note\nwow kg=1i,u=1\nnot a line"

    first, second, bad = decode("lineprotocol", text.encode())

    assert (first.time, first.value, first.u, first.key) == (T, 512.5, 11, "982")
    assert (second.time, second.value) == (pytest.approx(RECEIVED, abs=1e-6), 1)
    assert bad.reason == "bad_payload"
