"""The order of rows tells the two occurrences of an hour apart; the truth is a clock in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from monitor.files import FileLayout, read_pairs, read_stream

BERLIN = ZoneInfo("Europe/Berlin")
HERE = FileLayout(time_zone="Europe/Berlin")
NIGHT = datetime(2026, 10, 24, 22, 10, tzinfo=UTC)  # clocks are set back at 01:00 UTC


def night(minutes: int, hours: int = 6) -> list[datetime]:
    return [NIGHT + timedelta(minutes=at) for at in range(0, 60 * hours, minutes)]


def local(time: datetime) -> str:
    return f"{time.astimezone(BERLIN):%Y-%m-%d %H:%M:%S}"


def read(written, times, sensors="a", layout=HERE):
    rows = [f"{local(time)},{sensor},1,1,1" for sensor in sensors for time in times]
    table = read_pairs(written("\n".join(["time,sensor,value,u,reference", *rows])), layout)
    return table.time.tolist(), table.notes


@pytest.mark.parametrize("minutes", [1, 7, 10, 25, 30, 60])
@pytest.mark.parametrize("newest_first", [False, True])
def test_each_row_has_the_time_at_which_it_was_written(written, minutes, newest_first):
    times = night(minutes)[:: -1 if newest_first else 1]

    found, notes = read(written, times, "ab")

    assert found == [each.timestamp() for each in times] * 2
    again = sum(1 for each in times if each.astimezone(BERLIN).fold) * 2
    assert notes[0].endswith(
        f"clocks in Europe/Berlin show an hour twice; by the order of rows {again} of them are of "
        "its second occurrence"
    )


def test_rows_of_equal_times_stay_together(written):
    times = [each for each in night(20) for _ in range(3)]

    assert read(written, times)[0] == [each.timestamp() for each in times]


def test_a_row_a_little_out_of_order_is_no_second_occurrence(written):
    times = night(10)
    times[1], times[2] = times[2], times[1]
    times[8], times[9] = times[9], times[8]

    assert read(written, times)[0] == [each.timestamp() for each in times]


def test_a_time_with_its_offset_and_an_hour_that_comes_once_are_left_alone(written):
    rows = [f"{each.astimezone(BERLIN).isoformat()},1,1,1" for each in night(30)[::-1]]
    table = read_pairs(written("\n".join(["time,value,u,reference", *rows])), HERE)
    assert table.time.tolist() == [each.timestamp() for each in night(30)[::-1]]
    assert table.notes == ()
    fixed = FileLayout(time_zone="Etc/GMT-1")
    rows = [f"{each.astimezone(ZoneInfo('Etc/GMT-1')):%Y-%m-%d %H:%M},1,1,1" for each in night(30)]
    table = read_pairs(written("\n".join(["time,value,u,reference", *rows])), fixed)
    assert table.time.tolist() == [each.timestamp() for each in night(30)]


def test_readings_and_references_of_a_stream_are_placed_alike(written):
    rows = [f"{local(each)},{kind},1,1" for each in night(60) for kind in ("reading", "reference")]
    stream = read_stream(written("\n".join(["time,kind,value,u", *rows])), HERE)

    assert [each.time for each in stream] == [
        each.timestamp() for each in night(60) for _ in range(2)
    ]
    assert "show an hour twice" in stream.notes[0]


def test_parquet_and_spreadsheets_are_placed_too(tmp_path, written):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"time": [each.astimezone(BERLIN).replace(tzinfo=None) for each in night(10)]}
    ).assign(value=1.0, u=1.0, reference=1.0)
    frame.to_parquet(tmp_path / "pairs.parquet")
    wanted = [each.timestamp() for each in night(10)]

    assert read_pairs(tmp_path / "pairs.parquet", HERE).time.tolist() == wanted
    days = (frame["time"] - pd.Timestamp("1899-12-30")) / pd.Timedelta("1D")
    table = read_pairs(written(frame.assign(time=days).to_csv(index=False)), HERE)
    assert table.time.tolist() == wanted
    assert table.notes[0].endswith("times are the days of a spreadsheet, in Europe/Berlin")
    frame.assign(time=days).to_parquet(tmp_path / "days.parquet")
    assert read_pairs(tmp_path / "days.parquet", HERE).time.tolist() == wanted
