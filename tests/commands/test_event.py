"""Events and collocations reach a running daemon as messages, and are known after a crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness.daemon import Daemon
from harness.programs import until

from monitor.cli import main
from monitor.errors import USAGE
from monitor.mqtt.publish import BrokerPublisher

PAIRS = 'monitor_window_pairs{sensor="cart",quantity="mass"}'


def stated(second: int, **more) -> bytes:
    return json.dumps({"time": f"2026-01-01T00:00:{second:02}Z", "value": 5.0, **more}).encode()


def publish(port: int, subject: str = "cart", seconds: range = range(30)) -> None:
    with BrokerPublisher("127.0.0.1", port) as out:
        for second in seconds:
            out.publish("monitor/cart/mass/reading", stated(second, u=0.5))
            out.publish(f"monitor/{subject}/mass/reference", stated(second, u=0.1))


@pytest.fixture
def daemon(tmp_path: Path, mosquitto):
    more = """
pairing: {match_on: [subject], tolerance_seconds: 0.4}
sources:
  - {topic: "monitor/{sensor}/{quantity}/reading", kind: reading}
  - {topic: "monitor/{subject}/{quantity}/reference", kind: reference}
  - {topic: "monitor/{sensor}/event", kind: event}
  - {topic: "monitor/{sensor}/collocation", kind: collocation}
"""
    running = Daemon(tmp_path, mosquitto.port, more)
    running.start()
    yield running
    running.kill()


def test_an_event_told_by_command_cuts_the_window_for_good(daemon, mosquitto, capsys):
    publish(mosquitto.port)
    until("the pairs are in", lambda: daemon.value(PAIRS) == 30)
    told = ["event", "--config", str(daemon.settings), "cart", "adjusted"]
    assert main([*told, "--time", "2026-01-01T00:00:20Z", "--note", "as left"]) == 0
    assert "cart adjusted at 2026-01-01T00:00:20Z" in capsys.readouterr().out

    until("the window is cut", lambda: daemon.value(PAIRS) == 10)
    assert main([*told, "--time", "2026-01-01T00:00:20Z", "--note", "as left"]) == 0
    until("it came twice", lambda: daemon.value("monitor_messages_duplicate_total") == 1)
    daemon.kill()
    daemon.start()
    until("it is known again", lambda: daemon.value(PAIRS) == 10)


def test_an_event_of_a_sensor_that_the_daemon_does_not_know_is_told(daemon, mosquitto, capsys):
    publish(mosquitto.port, seconds=range(2))
    until("the pairs are in", lambda: daemon.value(PAIRS) == 2)
    where = f"http: {{port: {daemon.url.rpartition(':')[2].strip('/')}}}"
    settings = daemon.settings.with_name("told.yaml")
    settings.write_text(daemon.settings.read_text().replace("http: {port: 0}", where))
    told = ["event", "--config", str(settings)]

    assert main([*told, "kart", "adjusted"]) == 0
    out, err = capsys.readouterr()
    assert "kart adjusted at " in out
    assert "knows no sensor 'kart' (is it 'cart'?)" in err
    assert main([*told, "cart", "adjusted"]) == 0
    assert not capsys.readouterr().err
    daemon.kill()
    assert main([*told, "kart", "adjusted"]) == 0
    assert not capsys.readouterr().err


def test_a_collocation_pairs_what_was_there_already(daemon, mosquitto):
    publish(mosquitto.port, subject="S3")
    until("all came", lambda: daemon.value("monitor_messages_committed_total") == 60)
    assert daemon.value(PAIRS) in (0, -1)
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        beside = {"subject": "S3", "start": "2026-01-01T00:00:10Z", "end": "2026-01-01T00:00:19Z"}
        out.publish("monitor/cart/collocation", json.dumps(beside).encode())

    until("the pairs of those ten seconds are made", lambda: daemon.value(PAIRS) == 10)
    daemon.kill()
    daemon.start()
    until("they are known again", lambda: daemon.value(PAIRS) == 10)
    publish(mosquitto.port, "S3", range(15, 25))
    until("all came again", lambda: daemon.value("monitor_messages_duplicate_total") == 20)
    assert daemon.value(PAIRS) == 10


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["cart", "adjusted", "--time", "yesterday"], "ISO 8601"),
        (["cart", "adjusted", "--time", "2026-01-01T00:00:20"], "has no zone"),
        (
            ["cart", "adjusted", "--time", "2126-01-01T00:00:20Z"],
            " ahead of this machine's clock",
        ),
        (["two/carts", "adjusted"], "two/carts"),
    ],
)
def test_an_event_that_cannot_be_is_refused_with_what_to_write(tmp_path, capsys, words, says):
    settings = tmp_path / "settings.yaml"
    settings.write_text("mqtt: {port: 1}\n")

    assert main(["event", "--config", str(settings), *words]) == USAGE
    assert says in capsys.readouterr().err


def test_a_reference_typed_by_hand_is_paired_as_any(daemon, mosquitto, capsys):
    with BrokerPublisher("127.0.0.1", mosquitto.port) as out:
        out.publish("monitor/cart/mass/reading", stated(7, u=0.5))
    until("the reading is in", lambda: daemon.value("monitor_pending_readings") == 1)
    typed = ["reference", "--config", str(daemon.settings), "cart", "mass", "4,7500005"]
    assert main([*typed, "--u", "0.1", "--time", "2026-01-01T00:00:07Z"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("cart mass 4.7500005 at 2026-01-01T00:00:07Z (u 0.1); published on ")

    until("the pair is in", lambda: daemon.value(PAIRS) == 1)
    (pair,) = daemon.json("/api/v1/series/cart/mass/pairs")["pairs"]
    assert (pair["reference"], pair["u_ref"]) == (4.7500005, 0.1)
    assert pair["error"] == pytest.approx(0.2499995)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["cart", "mass", "heavy"], "is not a number; write 21.5 or 21,5"),
        (["cart", "mass", "nan"], "VALUE"),
        (["cart", "mass", "5", "--u", "-1"], "--u"),
        (["cart", "mass", "5", "--time", "2026-01-01T00:00:20"], "has no zone"),
        (["two/carts", "mass", "5"], "two/carts"),
        (["cart", "mass", "1,234.5"], "is not a number"),
    ],
)
def test_a_reference_that_cannot_be_is_refused_with_what_to_write(tmp_path, capsys, words, says):
    settings = tmp_path / "settings.yaml"
    settings.write_text("mqtt: {port: 1}\n")

    assert main(["reference", "--config", str(settings), *words]) == USAGE
    assert says in capsys.readouterr().err
