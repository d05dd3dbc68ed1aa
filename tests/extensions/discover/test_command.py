"""``monitor discover`` at brokers of every sort."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from harness.broker import Mosquitto
from harness.certificates import Authority
from harness.daemon import Daemon
from harness.device_messages import FAMILIES, MORE_FAMILIES, Sent, references
from harness.programs import free_port, need, until, written

from monitor.cli import main
from monitor.config import load
from monitor.mqtt.publish import BrokerPublisher
from tests.extensions.discover.test_proposal import MEASURED


@pytest.fixture
def mosquitto(tmp_path):
    (tmp_path / "broker").mkdir()
    broker = Mosquitto(tmp_path / "broker")
    yield broker
    broker.stop()


@contextmanager
def sending(port: int, *families: Callable[[float], list[Sent]]) -> Iterator[None]:
    """Publish what families of devices and their references send, twice a second."""
    done = threading.Event()

    def publish() -> None:
        with BrokerPublisher("127.0.0.1", port) as publisher:
            while not done.is_set():
                for make in (*families, references):
                    for each in make(time.time()):
                        publisher.publish(each.topic, each.payload, retain=each.retain)
                publisher.flush()
                publisher.sleep(0.5)

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_the_command_listens_to_a_broker_and_writes_settings_that_check(
    mosquitto, tmp_path, capsys
):
    out = tmp_path / "found.yaml"
    with sending(mosquitto.port, *FAMILIES.values()):
        code = main(
            ["discover", f"127.0.0.1:{mosquitto.port}", "--seconds", "4", "--out", str(out)]
        )
    said = capsys.readouterr()

    assert code == 0, said.err
    assert "temperature: 12 of 12 sensors paired with the reference hall" in said.err
    assert main(["check-config", str(out)]) == 0
    assert load(out).mqtt.port == mosquitto.port
    assert main(["discover", "--out", str(out)]) == 73


def test_lines_texts_and_packs_are_proposed_and_pair_under_the_daemon(mosquitto, tmp_path, capsys):
    names = ("displays", "texts", "embedded", "units-in-names", "senml-bridge")
    wanted = {
        key for name in names for key in MEASURED[name] if key[1] in ("temperature", "humidity")
    }
    out, daemon = tmp_path / "found.yaml", Daemon(tmp_path, mosquitto.port)
    with sending(mosquitto.port, *(MORE_FAMILIES[name] for name in names)):
        address = f"127.0.0.1:{mosquitto.port}"
        assert main(["discover", address, "--seconds", "4", "--out", str(out)]) == 0
        assert main(["check-config", str(out)]) == 0
        assert "not read" not in capsys.readouterr().err
        text = out.read_text(encoding="utf-8").replace("9108", str(free_port()))
        daemon.settings.write_text(
            text.replace("state/journal.sqlite", f"{tmp_path}/journal.sqlite"), encoding="utf-8"
        )
        daemon.start()
        try:
            until("all sensors have paired", lambda: paired(daemon) >= wanted)
        finally:
            daemon.kill()


def paired(daemon: Daemon) -> set[tuple[str, str]]:
    """Return the sensors and quantities that have pairs."""
    return {
        (name.partition('sensor="')[2].split('"')[0], name.partition('quantity="')[2].split('"')[0])
        for name, value in daemon.metrics().items()
        if name.startswith("monitor_window_pairs{") and value > 0.0
    }


@pytest.mark.parametrize("way", ["ws", "mqtts", "mqtts by options"])
def test_the_command_listens_over_websocket_and_tls_and_proposes_the_same(tmp_path, capsys, way):
    is_encrypted = way != "ws"
    authority, port = Authority(tmp_path / "authority"), free_port()
    certificate, key = authority.issue("broker", "127.0.0.1")
    more = f"listener {port} 127.0.0.1\n"
    more += f"certfile {certificate}\nkeyfile {key}\n" if is_encrypted else "protocol websockets\n"
    (tmp_path / "broker").mkdir()
    broker = Mosquitto(tmp_path / "broker", more)
    out, given = tmp_path / "found.yaml", tmp_path / "given.yaml"
    given.write_text(
        f'mqtt: {{host: 127.0.0.1, port: {port}, tls: {{ca_file: "{authority.ca_file}"}}}}\n'
    )
    where = {
        "ws": [f"ws://127.0.0.1:{port}/mqtt"],
        "mqtts": ["--config", str(given)],
        "mqtts by options": [f"127.0.0.1:{port}", "--ca", str(authority.ca_file)],
    }[way]
    try:
        with BrokerPublisher("127.0.0.1", broker.port) as publisher:
            for each in references(time.time()):
                publisher.publish(each.topic, each.payload, retain=True)
        main(["discover", *where, "--seconds", "2", "--out", str(out)])
    finally:
        broker.stop()

    assert "lab/hygrometer" in out.read_text(encoding="utf-8"), capsys.readouterr().err
    found = load(out).mqtt
    assert found.port == port
    assert (found.tls is not None, found.websocket_path) == (
        (True, None) if is_encrypted else (False, "/mqtt")
    )


def test_the_command_takes_user_name_and_password_and_proposes_them(tmp_path, capsys, monkeypatch):
    (tmp_path / "broker").mkdir()
    passwords = tmp_path / "passwords"
    command = [need("mosquitto_passwd"), "-b", "-c", str(passwords), "herd", "a secret"]
    subprocess.run(command, check=True, capture_output=True)
    broker = Mosquitto(tmp_path / "broker", f"password_file {passwords}", anonymous=False)
    monkeypatch.chdir(written(tmp_path, "mine", "a secret\n").parent)
    try:
        with BrokerPublisher(
            "127.0.0.1", broker.port, username="herd", password="a secret"
        ) as publisher:
            publisher.publish("attic/temperature", b"21.5", retain=True)
        main(
            [
                *("discover", f"127.0.0.1:{broker.port}", "--username", "herd"),
                *("--password-file", "mine", "--seconds", "2", "--out", "found.yaml"),
            ]
        )
    finally:
        broker.stop()

    text = (tmp_path / "found.yaml").read_text(encoding="utf-8")
    assert "attic/temperature" in text, capsys.readouterr().err
    assert "a secret" not in text
    mqtt = load(tmp_path / "found.yaml").mqtt
    assert (mqtt.username, mqtt.password_file) == ("herd", str(tmp_path / "mine"))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--password-file", "mine"], "give --username too"),
        (["--cert", "mine.crt"], "give both"),
    ],
)
def test_options_that_need_another_are_told(given, says, capsys):
    assert main(["discover", "127.0.0.1:1", *given]) == 2
    assert says in capsys.readouterr().err


def test_a_broker_that_is_not_there_or_no_address_is_told(capsys):
    assert main(["discover", "http://host:1883"]) == 2
    assert "write one of mqtt, mqtts, ws, wss before ://" in capsys.readouterr().err
    assert main(["discover", "mqtt://u:p@host:1883"]) == 2
    assert "write HOST or HOST:PORT" in capsys.readouterr().err
    assert main(["discover", "host", "--out", "no-such-folder/found.yaml"]) == 73
    assert "there is no such folder" in capsys.readouterr().err
    address = f"127.0.0.1:{free_port()}"
    assert main(["discover", address, "--seconds", "1"]) == 69
    said = capsys.readouterr().err
    assert f"no connection to {address}: Connection refused; tried for 1 s. Start the " in said
    assert "such as monitor discover HOST:PORT, with --username, --password-file" in said
