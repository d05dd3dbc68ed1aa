"""What is written is read again, bit for bit."""

from __future__ import annotations

import msgspec
import pytest

from monitor.files import read_stream, write_stream
from tests.files.test_pair_table import SMALL


@pytest.mark.parametrize("layout", ["csv", "jsonl"])
@pytest.mark.parametrize("source", ["stream.csv", "stream.jsonl"])
def test_a_stream_written_and_read_again_is_the_same_bit_for_bit(tmp_path, source, layout):
    first = read_stream(SMALL / source)
    observations = list(first)
    path = tmp_path / f"again.{layout}"
    with path.open("w", newline="") as out:
        write_stream(out, observations, first.units, layout)

    again = read_stream(path)

    assert msgspec.json.encode(list(again)) == msgspec.json.encode(observations)
    assert again.units == first.units
