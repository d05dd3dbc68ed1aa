"""Copies of a journal, also of one that a daemon writes."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys

import pytest
from harness.batches import batch, numbered
from harness.damaged_journals import COPYING, everything, spoil

from monitor.cli import main
from monitor.config import Settings
from monitor.daemon.assembly import open_journal
from monitor.journal import Journal
from monitor.journal.copying import backup


def test_a_running_daemon_is_backed_up_and_goes_on(running, path, capsys):
    target = path.parent / "copies" / "journal.sqlite"
    assert main(["journal", "backup", "--journal", str(path), str(target)]) == 75
    assert f"there is no folder {target.parent}; create it" in capsys.readouterr().err
    target.parent.mkdir()
    assert main(["journal", "backup", "--journal", str(path), str(target)]) == 0
    assert main(["journal", "check", "--journal", str(path)]) == 0
    assert running.poll() is None
    said = capsys.readouterr().out
    assert "written and verified: 3 series" in said
    assert "(a copy, taken while the daemon runs)" in said
    assert [each.name for each in target.parent.iterdir()] == [target.name]
    copied = everything(target)
    assert numbered(1, 500).tobytes() in copied["pairs"]
    assert copied["totals"]["received"] == 9


def test_a_copy_during_which_the_journal_changed_is_taken_again(path, tmp_path, monkeypatch):
    copied, copyfile = [], shutil.copyfile

    def copy_and_change(source, goal):
        copyfile(source, goal)
        if not copied:
            journal = Journal(path)
            journal.append(batch(9.0, numbered(5, 900)))
            journal.close()
        copied.append(source)

    monkeypatch.setattr(shutil, "copyfile", copy_and_change)
    backup(path, tmp_path / "copy.sqlite")

    assert copied == [path, path]
    assert everything(tmp_path / "copy.sqlite") == everything(path)


def test_what_a_killed_backup_left_goes_with_the_next_one_or_a_start(path, tmp_path):
    """And stays as long as the backup is under way."""
    for folder, successor in ((tmp_path, "start"), (tmp_path / "copies", "backup")):
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-c", COPYING, str(path), str(folder)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout.readline() == "copied\n"
            (grown,) = folder.glob(".journal.copy.*/*.sqlite")
            backup(path, folder / "meanwhile.sqlite")
            assert grown.exists()
            process.kill()

        if successor == "start":
            open_journal(Settings(journal={"path": str(path)})).close()
        else:
            backup(path, folder / "next.sqlite")
        assert not grown.parent.exists()
        assert (folder / "meanwhile.sqlite").exists()


def test_nothing_else_is_done_while_a_daemon_runs(running, path, capsys):
    copy = path.parent / "copy.sqlite"
    assert main(["journal", "backup", "--journal", str(path), str(copy)]) == 0
    for command in (["repair"], ["restore", str(copy)]):
        at = ["journal", command[0], "--journal", str(path), *command[1:]]
        assert main(at) == 73
        assert "another process has this journal open" in capsys.readouterr().err
    assert running.poll() is None


def test_a_backup_is_restored_and_what_was_there_is_kept(path, capsys):
    wanted = everything(path)
    copy = path.parent / "copy.sqlite"
    assert main(["journal", "backup", "--journal", str(path), str(copy)]) == 0
    journal = Journal(path)
    journal.append(batch(9.0, numbered(5, 900)))
    journal.close()
    changed = everything(path)
    assert main(["journal", "restore", "--journal", str(path), str(copy)]) == 0
    (aside,) = path.parent.glob("*.replaced.*")

    assert everything(path) == wanted
    assert everything(aside) == changed
    assert f"kept as {aside}" in capsys.readouterr().out
    assert main(["journal", "backup", "--journal", str(path), str(copy)]) == 75
    assert "already exists; give another name" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["restore", "repair"])
def test_what_root_puts_in_place_is_the_account_s_that_had_the_journal(path, monkeypatch, action):
    """Else the daemon, which runs as another account, cannot open it."""
    copy, given = path.parent / "copy.sqlite", []
    assert main(["journal", "backup", "--journal", str(path), str(copy)]) == 0
    had = path.stat()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda _path, *owner: given.append(owner))
    more = [str(copy)] * (action == "restore")
    assert main(["journal", action, "--journal", str(path), *more]) == 0

    assert given == [(had.st_uid, had.st_gid)]
    assert path.stat().st_mode & 0o077 == 0


def test_a_damaged_backup_is_not_restored(path, capsys):
    copy = path.parent / "copy.sqlite"
    shutil.copy(path, copy)
    db = sqlite3.connect(copy)
    db.execute("update pairs set count = 3 where batch = 1")
    db.commit()
    db.close()
    content = path.read_bytes()
    assert main(["journal", "restore", "--journal", str(path), str(copy)]) == 65
    assert f"{copy}: batch 1 of pairs is damaged" in capsys.readouterr().err
    assert path.read_bytes() == content


def test_a_damaged_journal_fails_the_check_and_gives_no_backup(path, capsys):
    spoil(path, len(path.read_bytes()) // 2, 40)
    for command in (["check"], ["backup"]):
        target = [str(path.parent / "copy.sqlite")] * (command == ["backup"])
        assert main(["journal", *command, "--journal", str(path), *target]) == 65
        assert "monitor journal repair" in capsys.readouterr().err
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert main(["journal", "repair", "--journal", str(path)]) == 0
    assert main(["journal", "check", "--journal", str(path)]) == 0
