"""The layout of times is found where one alone reads them all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from monitor.core.pairing.series_rules import SeriesRules
from monitor.files import FileError, FileLayout
from monitor.files.input_file import Mistakes
from monitor.files.time_layouts import found_format
from monitor.report.recorded import read

FIRST = datetime(2026, 2, 27, 13, 45, 10, tzinfo=UTC)
TIMES = [FIRST + timedelta(hours=5 * row) for row in range(12)]
AUTO = FileLayout(time_zone="UTC", time_format="auto")


@pytest.mark.parametrize(
    "form",
    [
        *("%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M %p", "%Y/%m/%d %H:%M:%S", "%d-%b-%Y %H:%M"),
        *("%d.%m.%y %H:%M:%S", "%B %d, %Y %H:%M", "%d/%m/%YT%H:%M %z", "%d %b %y %H"),
    ],
)
def test_the_one_layout_that_reads_all_times_is_found(form):
    texts = [(row, time.strftime(form)) for row, time in enumerate(TIMES, 2)]

    found = found_format(texts, Mistakes(Path("table.csv")), "time")

    read = [datetime.strptime(text, found).replace(tzinfo=UTC) for _, text in texts]
    assert read == [datetime.strptime(text, form).replace(tzinfo=UTC) for _, text in texts]


@pytest.mark.parametrize(
    "texts", [["2026-03-01T05:00Z", "2026-03-01 06:00"], ["1772341200"], ["46082.5"], [""], []]
)
def test_iso_8601_and_numbers_need_no_layout(texts):
    assert found_format(enumerate(texts, 2), Mistakes(Path("table.csv")), "time") == ""


def test_pairs_and_streams_are_read_so_too(written):
    rows = [f"{time:%d/%m/%Y %H:%M:%S}" for time in TIMES]
    pairs = written("time,value,u,reference\n" + "".join(f"{row},1,1,1\n" for row in rows))
    stream = written(
        "time,sensor,kind,value,u\n"
        + "".join(f"{row},a,reading,1,1\n{row},a,reference,1,\n" for row in rows),
        "stream.csv",
    )
    seconds = [time.timestamp() for time in TIMES]
    for path in (pairs, stream):
        assert read(path, SeriesRules(), AUTO).pairs["time"].tolist() == seconds


def test_an_encoding_and_columns_by_their_number_are_read_in_every_table(tmp_path):
    table = tmp_path / "pairs.csv"
    table.write_bytes("Zeit,Größe,u,Soll,Soll\n2026-03-01T05:00Z,2,1,3,4\n".encode("cp1252"))
    named = FileLayout({"value": "größe", "reference": "5"}, encoding="cp1252")

    recorded = read(table, SeriesRules(), named)

    assert (recorded.pairs["value"][0], recorded.pairs["reference"][0]) == (2.0, 4.0)
    with pytest.raises(FileError, match="name its encoding, such as --encoding cp1252"):
        read(table, SeriesRules(), named._replace(encoding=""))


@pytest.mark.parametrize(
    ("form", "zone", "texts", "wanted"),
    [
        ("auto", "Europe/Berlin", ["28.03.2026 24:00", "29.03.2026 24:00"], ["28T23", "29T22"]),
        ("%d/%m/%y %H.%M.%S", "UTC", ["28/02/26 24.00.00"], ["01T00"]),
        ("", "UTC", ["2026-03-29 24:00"], ["30T00"]),
        ("", "", ["2026-03-29T24:00:00+02:00"], ["29T22"]),
    ],
)
def test_the_end_of_a_day_is_the_begin_of_the_next_by_its_clock(written, form, zone, texts, wanted):
    path = written("time,value,u,reference\n" + "".join(f"{text},1,1,1\n" for text in texts))

    recorded = read(path, SeriesRules(), FileLayout(time_zone=zone, time_format=form))

    times = [datetime.fromtimestamp(time, UTC) for time in recorded.pairs["time"]]
    assert [f"{time:%dT%H}" for time in times] == wanted


@pytest.mark.parametrize("text", ["2026-03-29T24:01Z", "2026-03-29T24:00:01Z", "2026-24-00T00:00Z"])
def test_no_other_minute_has_the_hour_24(written, text):
    path = written(f"time,value,u,reference\n{text},1,1,1\n")
    with pytest.raises(FileError, match="is not a time"):
        read(path, SeriesRules())
