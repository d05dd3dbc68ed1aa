"""``monitor doctor``: of the running daemon over HTTP, of its journal when it is stopped."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.programs import free_port, until

from monitor.cli import main
from monitor.mqtt.publish import BrokerPublisher

SETTINGS = """
mqtt: {{port: {port}, client_id: doctored}}
journal: {{path: "{folder}/journal.sqlite"}}
http: {{port: {http}}}
publish: {{interval_seconds: 0.1}}
pairing: {{match_on: [key]}}
"""


@pytest.fixture
def daemon(tmp_path: Path, mosquitto):
    running = Daemon(tmp_path, mosquitto.port)
    running.settings.write_text(
        SETTINGS.format(port=mosquitto.port, folder=tmp_path, http=free_port())
    )
    running.start()
    yield running
    running.kill()


def publish(port: int, what: str, key: str, **more) -> None:
    with BrokerPublisher("127.0.0.1", port) as out:
        stated = {"time": "2026-01-01T00:00:00Z", "value": 512.0, "u": 5.0, "key": key, **more}
        out.publish(f"monitor/p03/weight/{what}", json.dumps(stated).encode())


def asked(daemon: Daemon, capsys, *more: str) -> tuple[int, str]:
    code = main(["doctor", "--config", str(daemon.settings), *more])
    return code, capsys.readouterr().out


def test_it_names_the_cause_while_the_daemon_runs_and_after(daemon, mosquitto, capsys):
    code, told = asked(daemon, capsys)
    assert code == 1
    assert "no message has come" in told

    publish(mosquitto.port, "reading", "982 000412345678")
    publish(mosquitto.port, "reading", "982 000412345679", u=-1.0)
    until("readings came", lambda: "waiting: 1 reading and" in asked(daemon, capsys)[1])
    _, told = asked(daemon, capsys)
    assert "no reference has been received on monitor/+/+/reference since the start" in told
    assert "no reference of this quantity came" in told
    assert re.search(
        r"1 rejected, bad_uncertainty: .*'monitor/p03/weight/reading' at \$\.u: u is -1", told
    )

    publish(mosquitto.port, "reference", "982000412345678")
    until("the keys are compared", lambda: "0 keys in common" in asked(daemon, capsys)[1])
    _, told = asked(daemon, capsys)
    assert "('982 000412345678' and '982000412345678' nearly agree)" in told

    code, printed = asked(daemon, capsys, "--json")
    (weight,) = json.loads(printed)["quantities"]
    assert (code, weight["cause"]) == (1, "key")
    assert daemon.stop() == 0
    code, told = asked(daemon, capsys)
    assert "the daemon is not running" in told
    assert "0 keys in common" in told

    daemon.start()
    publish(mosquitto.port, "reading", "982000412345678")
    until("all is well", lambda: asked(daemon, capsys)[0] == 0)


def test_a_daemon_that_cannot_be_asked_is_told_apart(daemon, capsys, tmp_path):
    other = tmp_path / "other.yaml"
    text = daemon.settings.read_text()
    other.write_text(re.sub(r"http: \{port: \d+\}", f"http: {{port: {free_port()}}}", text))

    assert main(["doctor", "--config", str(other)]) != 0
    assert "is http.port the one it has?" in capsys.readouterr().err
