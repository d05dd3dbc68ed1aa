"""What a recipe has sent: nothing is lost by a kill, nothing sent twice, revised rows count."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.core.model import Reference
from monitor.files.reference_table import ReferenceRow
from monitor.files.sent_rows import SentRows, SentRowsError


@pytest.fixture
def log(tmp_path) -> Path:
    return tmp_path / "station.yaml.sent"


def row(hour: int, value: float, revision: int = 0, unit: str = "") -> ReferenceRow:
    reference = Reference("s", "x", 3600.0 * hour, value, revision=revision)
    return ReferenceRow(reference, unit)


def due(sent: SentRows, *rows: ReferenceRow, again: bool = False) -> list[tuple[float, int]]:
    """Return value and revision of what would be sent."""
    found = sent.due(rows, again=again)
    return [(each.row.reference.value, each.row.reference.revision) for each in found]


def send(sent: SentRows, *rows: ReferenceRow, name: str = "") -> None:
    sent.begin(sent.due(rows))
    sent.end(name, b"")


def test_a_row_is_sent_once_and_a_revised_one_above_what_came_before(log):
    with SentRows(log) as sent:
        assert due(sent, row(1, 1.0), row(1, 2.0), row(2, 3.0)) == [(2.0, 0), (3.0, 0)]
        send(sent, row(1, 2.0), row(2, 3.0))
    with SentRows(log) as sent:
        assert due(sent, row(1, 2.0), row(2, 3.0)) == []
        assert due(sent, row(1, 2.0), row(2, 3.0), again=True) == [(2.0, 0), (3.0, 0)]
        assert due(sent, row(1, 2.5), row(2, 3.0, unit="ppb")) == [(2.5, 4), (3.0, 4)]
        send(sent, row(1, 2.5))
        assert due(sent, row(1, 2.0)) == [(2.0, 8)]  # back to what it was
        assert due(sent, row(1, 2.5, revision=1)) == [(2.5, 9)]  # final, of the next revision
        assert due(sent, row(1, 7.0, revision=20)) == [(7.0, 20)]  # the table's own is higher


def test_what_a_kill_left_open_is_sent_again_as_it_was_or_revised(log):
    with SentRows(log) as sent:
        send(sent, row(1, 1.0))
        sent.begin(sent.due([row(2, 2.0), row(3, 3.0), row(1, 1.5)]))
    with SentRows(log) as sent:
        assert due(sent, row(2, 2.0), row(3, 3.5), row(1, 1.5)) == [(2.0, 0), (3.5, 4), (1.5, 4)]
        send(sent, row(4, 4.0))  # closes nothing else
    with SentRows(log) as sent:
        assert due(sent, row(2, 2.0), row(3, 3.0), row(4, 4.0)) == [(2.0, 0), (3.0, 0)]


def test_a_file_is_known_by_its_name_and_content(log):
    with SentRows(log) as sent:
        send(sent, row(1, 1.0), name="a.csv")
        assert (sent.has_file("a.csv", b""), sent.has_file("a.csv", b"x")) == (True, False)
        assert not sent.has_file("b.csv", b"")


def test_a_log_that_was_cut_anywhere_sends_again_and_loses_nothing(log):
    rows = [row(hour, float(hour)) for hour in range(3)]
    with SentRows(log) as sent:
        send(sent, *rows, name="a.csv")
    whole = log.read_bytes()
    for length in range(len(whole)):
        log.write_bytes(whole[:length])
        with SentRows(log) as sent:
            assert due(sent, *rows) == [(0.0, 0), (1.0, 0), (2.0, 0)]
            assert not sent.has_file("a.csv", b"")
            send(sent, *rows)
        with SentRows(log) as sent:
            assert due(sent, *rows) == []


def test_one_process_has_the_log_and_one_that_cannot_be_written_is_named(log, tmp_path):
    with SentRows(log), pytest.raises(SentRowsError, match="another process"), SentRows(log):
        pass
    with pytest.raises(SentRowsError, match=r"none.*cannot be written: No such file"):
        SentRows(tmp_path / "none" / "log")
