"""What settings name is found beside them, wherever the daemon is started, and its log says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.programs import until

from monitor.cli import main
from monitor.mqtt.publish import BrokerPublisher


class Elsewhere(Daemon):
    """A daemon whose working directory is not the folder of its settings."""

    def first_line(self) -> str:
        return str(until("it says something", lambda: self.log().partition("\n")[0]))


@pytest.fixture
def daemon(tmp_path, mosquitto, monkeypatch):
    folder, elsewhere = tmp_path / "mine", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    made = Elsewhere(folder, mosquitto.port)
    text = made.settings.read_text().replace(f"{folder}/journal.sqlite", "state/journal.sqlite")
    made.settings.write_text(text)
    made.settings = Path("..", "mine", made.settings.name)
    yield made
    made.kill()


def test_the_journal_is_beside_the_settings_and_the_first_line_says_what_is_in_it(
    daemon, mosquitto, tmp_path
):
    journal = tmp_path / "mine" / "state" / "journal.sqlite"
    daemon.start()
    assert daemon.first_line().endswith(f"INFO    journal {journal}: new")
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for sensor in range(30):
            for at in range(40):
                for kind in ("reading", "reference"):
                    stated = {"time": f"2026-01-01T00:{at:02}:00Z", "value": 5.0, "u": 1.0}
                    out.publish(f"monitor/p{sensor}/weight/{kind}", json.dumps(stated).encode())
        out.flush()
    until("all came", lambda: daemon.value("monitor_messages_committed_total") == 2400)
    daemon.kill()
    daemon.start()

    assert daemon.first_line().endswith(f"INFO    journal {journal}: 1 200 pairs of 30 sensors")
    assert daemon.stop() == 0
    assert [*(tmp_path / "elsewhere").iterdir()] == []
    target = tmp_path / "disk.sqlite"
    journal.rename(target)
    journal.symlink_to(target)
    daemon.start()
    line = f"journal {journal}, a link to {target}: 1 200 pairs of 30 sensors"
    assert daemon.first_line().endswith(line)


def test_check_config_tries_the_folder_of_the_journal_and_leaves_nothing_there(
    daemon, tmp_path, capsys
):
    folder = tmp_path / "mine"
    before = [*folder.iterdir()]
    assert main(["check-config", str(daemon.settings)]) == 0
    assert "journal" not in capsys.readouterr().out.replace("../mine", "")
    assert [*folder.iterdir()] == before

    (folder / "state").write_text("a file\n")
    assert main(["check-config", str(daemon.settings)]) == 0
    said = capsys.readouterr().out
    assert "on this machine: ../mine/state/journal.sqlite: the journal (journal.path)" in said
    assert f"{tmp_path}/mine/state: Not a directory" in said


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(daemon, tmp_path, capsys):
    (tmp_path / "mine").chmod(0o500)

    assert main(["check-config", str(daemon.settings)]) == 0
    assert f"{tmp_path}/mine: Permission denied" in capsys.readouterr().out
    (tmp_path / "mine").chmod(0o700)


def test_settings_from_a_pipe_start_from_the_working_directory(tmp_path):
    command = [sys.executable, "-m", "monitor", "check-config", "/dev/stdin"]
    done = subprocess.run(
        command, input="journal: {path: mine/j.sqlite}\n", cwd=tmp_path, text=True,
        check=True, capture_output=True,
    )  # fmt: skip

    assert "on this machine" not in done.stdout
