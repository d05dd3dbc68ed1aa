"""``monitor doctor``: of the running daemon over HTTP, of its journal when it is stopped."""

from __future__ import annotations

import html
import json
import re
import urllib.request
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.programs import free_port, until

from monitor.cli import main
from monitor.errors import UNAVAILABLE
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
    assert "no message has been received" in told

    publish(mosquitto.port, "reading", "982 000412345678")
    publish(mosquitto.port, "reading", "982 000412345679", u=-1.0)
    until("readings came", lambda: "; 1 reading and" in asked(daemon, capsys)[1])
    _, told = asked(daemon, capsys)
    assert "no reference has been received on monitor/+/+/reference, though" in told
    assert "no reference of this quantity was received" in told
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
    assert "is http.port the one it runs with?" in capsys.readouterr().err


def test_where_there_is_neither_daemon_nor_journal_it_says_so_and_makes_none(tmp_path, capsys):
    """Made by root, the journal could not be opened by the service's own account."""
    file, journal = tmp_path / "settings.yaml", tmp_path / "state" / "journal.sqlite"
    file.write_text(f"journal: {{path: {journal}}}\nhttp: {{port: {free_port()}}}\n")

    assert main(["doctor", "--config", str(file)]) == UNAVAILABLE
    assert f"and there is no {journal}; start `monitor run`" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == [file]


def test_one_sensor_that_does_not_pair_is_named_though_others_do(daemon, mosquitto, capsys):
    text = daemon.settings.read_text().replace("match_on: [key]", "match_on: [subject]")
    daemon.settings.write_text(text)
    assert daemon.stop() == 0
    daemon.start()
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        for sensor in ("p03", "p04", "Boiler north"):
            subject = sensor.replace("Boiler north", "boiler-north")
            stated = {"time": "2026-01-01T00:00:00Z", "value": 512.0, "u": 5.0}
            out.publish(f"monitor/{sensor}/weight/reading", json.dumps(stated).encode())
            out.publish(f"monitor/{subject}/weight/reference", json.dumps(stated).encode())

    until("it is named", lambda: "'Boiler north' has no pair" in asked(daemon, capsys)[1])
    code, told = asked(daemon, capsys)
    assert "('Boiler north' and 'boiler-north' nearly agree)" in told
    assert "2 pairs of 3 readings and 3 references, which may make further ones" in told
    assert code == 0  # every quantity pairs
    _, printed = asked(daemon, capsys, "--json")
    (member,) = json.loads(printed)["members"]
    assert (member["name"], member["cause"], member["gap_seconds"]) == (
        *("Boiler north", "subject"),
        None,
    )
    (said,) = json.loads(printed)["pairing"]
    assert said in told
    port = re.search(r"http: \{port: (\d+)\}", text)[1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
        page = html.unescape(answer.read().decode())
    assert "Not everything pairs" in page
    assert 'see <a href="/docs/pairing#no-pairs">' in page
    assert said in re.sub(r"</?a\b[^>]*>", "", page)
