"""CSV read by columns gives what CSV read row by row gives: the same bits, the same refusals."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from monitor.files import FileError, arrow_csv, cells, input_file, read_pairs
from monitor.files.paired_columns import PairTable

pytest.importorskip("pyarrow", reason="install it with: pip install '.[parquet]'")

NAMES = ["time", "sensor", "value", "u", "reference", "u_reference", "reference_id", "unit"]
PLAIN = {
    "time": ["2026-03-01T00:00:00Z", "2026-03-01T00:00:00.123456+13:00", "2026-03-01 07:00Z"],
    "sensor": ["a", "b", "007", "Küche 1"],
    "value": ["1", "2.5", "-3e2", "0.1", "12345678.9012345678", "1e-300"],
    "u": ["1", "0.25", "1e-3"],
    "reference": ["1.5", "2", "1e3"],
    "u_reference": ["", "0", "0.1"],
    "reference_id": ["", "17", "x9", "nan"],
    "unit": ["kg"],
}
ODD = {
    "time": [
        "",
        "2026-03-01",
        "2026-03-01T00:00:00",
        "now",
        "2026-03-01T00:00:60Z",
        "1e9",
        "1772330400",
        "1772330400123",
        "20260301",
        "202603010000",
        " 2026-03-01T00:00:00Z",
        "2026-03-01 07:00 UTC",
        "1 Mar 2026 06:00 GMT",
        "46082.25",
    ],
    "sensor": ["", "a/b", "\u202e"],
    "value": [
        "",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "1_0",
        " 1",
        "1 ",
        "0x10",
        "1e999",
        "\u0661",
        "x",
        "<1",
        "1 021",
        "5%",
    ],
    "u": ["", "0", "-1", "null", "1e16"],
    "reference": ["", "none", "1e16"],
    "u_reference": ["-1", "nan"],
    "reference_id": ["18446744073709551616", "1.0"],
    "unit": ["", "g"],
}
LINES = ["", "1,2", ",,,,,,,", 'a,"b",1,1,1,,,', "\ufeff", "\x00", "a;b"]


def by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_csv, "LEAST_BYTES", 1)
    for module in (arrow_csv, input_file):
        monkeypatch.setattr(module, "BLOCK_ROWS", 7)


def row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "arrow_csv", lambda _path: None)
    monkeypatch.setattr(input_file, "BLOCK_ROWS", 7)


def found(path: Path) -> PairTable | str:
    try:
        return read_pairs(path)
    except FileError as error:
        return str(error)


def alike(one: PairTable | str, other: PairTable | str) -> None:
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    for name, each, same in zip(one._fields, one, other, strict=True):
        if isinstance(each, np.ndarray):
            np.testing.assert_array_equal(each, same, err_msg=name)
        else:
            assert each == same, name


@pytest.mark.parametrize("seed", range(150))
def test_both_ways_read_and_refuse_alike(tmp_path, monkeypatch, seed):
    chance = random.Random(seed)
    odd = chance.choice([0.0, 0.0, 0.01, 0.2])
    names = chance.choice([NAMES, NAMES[:5], [each.upper() for each in NAMES], NAMES[2:5]])
    lines = [",".join(names)]
    for _ in range(chance.randint(0, 40)):
        made = ((ODD if chance.random() < odd else PLAIN)[name.lower()] for name in names)
        lines.append(",".join(map(chance.choice, made)))
    if chance.random() < 0.3 * (odd > 0.0):
        lines.insert(chance.randint(1, len(lines)), chance.choice(LINES))
    end = chance.choice(["\n", "\r\n"])
    path = tmp_path / "pairs.csv"
    path.write_bytes(
        chance.choice([b"", b"\xef\xbb\xbf"])
        + end.join(lines).encode()
        + chance.choice([b"", end.encode(), b"\n\n", b"\xff\n"])
    )

    row_by_row(monkeypatch)
    plain = found(path)
    monkeypatch.undo()
    by_columns(monkeypatch)
    alike(found(path), plain)


def test_a_plain_file_is_read_by_columns_and_others_are_handed_back(tmp_path, monkeypatch):
    by_columns(monkeypatch)
    path = tmp_path / "pairs.csv"

    path.write_text("value,u,reference\n1,1,1\n")
    assert arrow_csv.arrow_csv(path) is not None
    for text in (
        "value;u;reference\n1,5;1;1\n",
        'value,u,"reference"\n1,1,1\n',
        "value,u,reference\n1,1\n",
        "value,u,reference\n1,1,1\n\n",
        "value\tu\treference\n1\t1\t1\n",
        "value,u,reference",
    ):
        path.write_text(text)
        assert arrow_csv.arrow_csv(path) is None
    assert arrow_csv.arrow_csv(tmp_path / "none.csv") is None


def test_a_small_file_is_not_worth_it(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("value,u,reference\n1,1,1\n")

    assert arrow_csv.arrow_csv(path) is None
