"""Times, numbers and kinds of files."""

from __future__ import annotations

import gzip
from datetime import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.cli import main
from monitor.files import FileError, FileLayout, detect, read_pairs
from monitor.files.input_file import seconds
from tests.files.test_pair_table import SMALL, mistakes_of


def test_gzip_is_told_by_its_bytes_and_not_by_the_name(tmp_path):
    path = tmp_path / "pairs_u.csv"
    path.write_bytes(gzip.compress((SMALL / "pairs_u.csv").read_bytes()))

    packed = read_pairs(path)

    plain = read_pairs(SMALL / "pairs_u.csv")
    assert packed.value.tolist() == plain.value.tolist()
    assert packed.names == plain.names


@pytest.mark.parametrize(
    "begins", ["value,sigma,reference\n1,1,1\n", "", '{"value": 1}\n{"value": "', '{"topic": "']
)
def test_a_line_without_end_is_refused_before_it_fills_memory(begins, tmp_path, capsys):
    """A gzip file of 70 kB may have a line of 65 MiB, and one of 3 MB one of 3 GB."""
    bomb = tmp_path / "bomb.csv.gz"
    bomb.write_bytes(gzip.compress(begins.encode() + b"7" * (65 << 20), compresslevel=1))

    assert main(["score", str(bomb)]) == 65
    assert f"{bomb}: has a line of more than 64 MiB" in capsys.readouterr().err


def test_blank_lines_before_the_header_are_counted(tmp_path):
    path = tmp_path / "blank.csv"
    path.write_text("\n \n\nvalue,sigma,reference\n1,x,1\n", encoding="utf-8")

    with pytest.raises(FileError, match=r"blank\.csv:5:sigma"):
        read_pairs(path)


def test_files_that_are_no_text_or_not_there_are_refused_with_their_name(tmp_path):
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(b"value,sigma,reference\n" + b"1,1,1\n" * 1000)[:-20])
    latin = tmp_path / "latin.csv"
    latin.write_bytes("sensor,value,sigma,reference\nä,1,1,1\n".encode("latin-1"))
    empty = tmp_path / "empty.csv"
    empty.write_text("value,sigma,reference\n")

    said = {}
    for path in (cut, latin, empty, tmp_path / "none.csv", tmp_path):
        with pytest.raises(FileError) as caught:
            read_pairs(path)
        said[path.name] = str(caught.value)

    assert "damaged or cut short" in said["cut.csv.gz"]
    assert "not UTF-8" in said["latin.csv"]
    assert "no rows" in said["empty.csv"]
    assert "No such file" in said["none.csv"]
    assert "Is a directory" in said[tmp_path.name]


@given(st.datetimes(timezones=st.timezones()))
def test_a_time_is_the_number_that_the_payload_decoder_gets(time):
    text = time.isoformat()
    payload = msgspec.json.encode(text)

    try:
        expected = msgspec.json.decode(payload, type=datetime).timestamp()
    except msgspec.ValidationError:  # offsets with seconds, which RFC 3339 does not have
        expected = datetime.fromisoformat(text).timestamp()

    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00.127944Z", 0.127944),
        ("2026-03-01T06:12:44+13:00", 1772298764.0),
        ("2026-02-28T17:12Z", 1772298720.0),
        (" 2026-02-28T17:12Z ", 1772298720.0),
        ("2026-02-28 17:12:44z", 1772298764.0),
    ],
)
def test_times_are_read_in_every_form_of_rfc_3339(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize("zone", ["", "Europe/Berlin"])
def test_a_time_of_digits_is_a_number_of_seconds_or_of_less(written, zone):
    head, rows = "time,value,u,reference\n", "1772071200000,1,1,1\n1772071200,1,1,1\n"
    layout = FileLayout(time_zone=zone)

    assert read_pairs(written(head + rows), layout).time.tolist() == [1772071200.0] * 2
    (said,) = mistakes_of(lambda: read_pairs(written(f"{head}202602261712,1,1,1\n"), layout))
    assert "name the layout %Y%m%d%H%M (time_layout, of a file --time-format)" in said


def test_pairs_and_streams_are_told_apart_by_their_header(written):
    neither = written("a,b\n1,2\n", "neither.csv")

    assert detect(SMALL / "pairs_u.csv") == "pairs"
    assert detect(SMALL / "pairs_interval.csv") == "pairs"
    assert detect(SMALL / "stream.csv") == "stream"
    assert detect(SMALL / "stream.jsonl") == "stream"
    with pytest.raises(FileError, match="neither a file of pairs"):
        detect(neither)


def test_a_mistake_is_told_with_the_line_on_which_its_row_ends(tmp_path):
    """Also after blank lines and cells that go over several lines."""
    path = tmp_path / "pairs.csv"
    path.write_text(
        'value,u,reference,note\n1,1,,a\n\n\n2,1,,"two\nlines"\nx,1,3,b\n\n4,-1,4,"c\r\nd"\n'
    )

    with pytest.raises(FileError) as caught:
        read_pairs(path)

    assert [str(each).split(": ")[0] for each in str(caught.value).splitlines()] == [
        f"{path}:7:value",
        f"{path}:10:u",
    ]


@pytest.mark.parametrize(
    ("name", "text", "columns", "told"),
    [
        ("m.jsonl", '{"topic": "a/b", "payload": "1", "time": 1}\n', "", "holds raw messages"),
        ("p.jsonl", '{"y_pred": 1, "y_std": 1, "y_true": 1}\n', "", "say which column holds what"),
        ("s.csv", "timestamp,kind,value\n1,reading,1\n", "time=timestamp", "is a stream"),
    ],
)
def test_a_file_that_is_something_else_is_called_by_its_name(
    written, capsys, name, text, columns, told
):
    assert main(["score", str(written(text, name)), "--columns", columns]) == 65
    assert told in capsys.readouterr().err
