"""A journal whose path is a link: SQLite's log lies beside the file, and so must all of ours."""

from __future__ import annotations

import json

import pytest
from harness.daemon import Daemon
from harness.programs import until

from monitor.cli import main
from monitor.journal import Journal
from monitor.mqtt.publish import BrokerPublisher


@pytest.fixture
def linked(tmp_path):
    """Return a link to where a journal shall be, and that place."""
    link, target = tmp_path / "journal.sqlite", tmp_path / "disk" / "data.sqlite"
    target.parent.mkdir()
    link.symlink_to(target)
    return link, target


def publish(port: int, times: range) -> None:
    with BrokerPublisher("127.0.0.1", port) as out:
        for at in times:
            for kind in ("reading", "reference"):
                stated = {"time": f"2026-01-01T00:{at:02}:00Z", "value": 5.0, "u": 1.0}
                out.publish(f"monitor/p03/weight/{kind}", json.dumps(stated).encode())
        out.flush()


def test_a_daemon_goes_on_after_a_kill_and_its_journal_can_be_backed_up_and_repaired(
    linked, mosquitto, tmp_path, capsys
):
    link, target = linked
    daemon = Daemon(tmp_path, mosquitto.port)
    daemon.start()
    try:
        publish(mosquitto.port, range(10))
        pairs = 'monitor_window_pairs{sensor="p03",quantity="weight"}'
        until("all pairs are there", lambda: daemon.value(pairs) == 10)
        daemon.kill()
        publish(mosquitto.port, range(10, 20))
        daemon.start()
        until("the others, too", lambda: daemon.value(pairs) == 20)
        copy = tmp_path / "copy.sqlite"
        assert main(["journal", "check", "--config", str(daemon.settings)]) == 0
        assert main(["journal", "backup", "--config", str(daemon.settings), str(copy)]) == 0
    finally:
        daemon.kill()
    assert main(["journal", "check", "--journal", str(copy)]) == 0

    content = bytearray(target.read_bytes())
    content[20:40] = bytes(20)
    target.write_bytes(content)
    assert main(["journal", "check", "--config", str(daemon.settings)]) == 65
    assert main(["journal", "repair", "--config", str(daemon.settings)]) == 0
    assert main(["journal", "check", "--config", str(daemon.settings)]) == 0
    assert main(["journal", "restore", "--config", str(daemon.settings), str(copy)]) == 0
    assert "kept as" in capsys.readouterr().out

    assert link.readlink() == target
    assert [each.name for each in tmp_path.glob("journal.sqlite*")] == ["journal.sqlite"]
    assert len(list(target.parent.glob("data.sqlite.*.*"))) >= 2  # what was replaced
    journal = Journal(link)
    assert (journal.path, journal.pairs().size) == (target, 20)
    journal.close()


def test_a_link_may_be_there_before_its_file_and_lead_over_others(linked, tmp_path):
    link, target = linked
    further = tmp_path / "further.sqlite"
    further.symlink_to(link.name)
    journal = Journal(further)
    journal.close()

    assert journal.path == target
    assert target.is_file()
    assert link.is_symlink()


def test_a_link_to_itself_is_refused_with_a_sentence(tmp_path, capsys):
    link = tmp_path / "journal.sqlite"
    link.symlink_to(link)

    assert main(["journal", "check", "--journal", str(link)]) == 75
    assert str(link) in capsys.readouterr().err
