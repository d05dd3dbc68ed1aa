"""``monitor journal`` on a sound journal, and where there is none."""

from __future__ import annotations

import sqlite3

from harness.batches import batch, numbered

from monitor.cli import main
from monitor.journal import Journal


def test_check_counts_rows_as_sqlite_does_and_a_missing_journal_is_not_made(tmp_path, capsys):
    path = tmp_path / "journal.sqlite"
    assert main(["journal", "check", "--journal", str(path)]) != 0
    assert not path.exists()
    assert str(path) in capsys.readouterr().err

    journal = Journal(path)
    for start in (0, 10, 20):
        journal.append(batch(1.0, numbered(10, start)))
    journal.close()
    with sqlite3.connect(path) as db:
        ((rows,),) = db.execute("select count(*) from pairs")
    db.close()

    assert main(["journal", "check", "--journal", str(path)]) == 0
    assert capsys.readouterr().out == (f"{path}: sound: 3 batches of pairs\n")
    assert rows == 3
