"""What the operations page promises: a copy of the journal is a backup, commands are ours."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import until

from monitor.cli import all_commands
from monitor.mqtt.publish import BrokerPublisher
from tests.deploy.installation import PROJECT

PAGES = [PROJECT / "docs" / name for name in ("operations.md", "alerts.md")]
PAIRS = 'monitor_window_pairs{sensor="a",quantity="x"}'
ZMS = 'monitor_calibration_zms{sensor="a",quantity="x"}'


@pytest.fixture
def mosquitto(tmp_path: Path):
    folder = tmp_path / "broker"
    folder.mkdir()
    running = Mosquitto(folder)
    yield running
    running.stop()


def test_a_copy_of_the_stopped_daemons_journal_is_all_of_it(tmp_path, mosquitto):
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    first = Daemon(folders[0], mosquitto.port)
    second = Daemon(folders[1], mosquitto.port, client="restored")
    try:
        first.start()
        with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
            for at in range(40):
                stated = {"time": f"2026-01-01T00:{at:02}:00Z", "value": at % 7 - 3.0, "u": 2.0}
                out.publish("monitor/a/x/reading", json.dumps(stated).encode())
                out.publish("monitor/a/x/reference", json.dumps({**stated, "value": 0.0}).encode())
        until("all pairs are there", lambda: first.value(PAIRS) == 40)
        measured = first.value(ZMS)
        assert first.stop() == 0
        shutil.copy(folders[0] / "journal.sqlite", folders[1] / "journal.sqlite")
        second.start()
        until("all pairs are there again", lambda: second.value(PAIRS) == 40)

        assert second.value(ZMS) == measured > 0
    finally:
        first.kill()
        second.kill()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_files_that_a_page_names_are_there(page):
    text = page.read_text(encoding="utf-8")
    commands = set(re.findall(r"(?:^|`|/)monitor ([a-z-]+)", text, re.MULTILINE))
    links = re.findall(r"\]\(((?!https:)[^)#]+)\)", text)

    assert {"check-config", "doctor", "run", "replay", "event"} & commands
    assert commands <= set(all_commands())
    assert links
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_shipped_files_are_all_on_the_operations_page():
    text = PAGES[0].read_text(encoding="utf-8")
    shipped = {
        path.name
        for path in (PROJECT / "deploy").iterdir()
        if path.name not in {"secrets", ".mypy_cache"} and path.suffix != ".dockerignore"
    }

    assert [name for name in shipped if name not in text] == []
