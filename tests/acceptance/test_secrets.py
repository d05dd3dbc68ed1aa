"""Secrets given to a running daemon are nowhere in what it writes, shows or keeps."""

from __future__ import annotations

import base64
import json
import logging
import urllib.request
from pathlib import Path

import bcrypt
from harness.broker import Mosquitto
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, until

from monitor.cli import main

CANARY = "canary-7f3a91"
HASH = bcrypt.hashpw(CANARY.encode(), bcrypt.gensalt(4))
PATHS = (
    "/",
    "/metrics",
    "/status",
    "/readyz",
    "/api/v1/series",
    "/api/v1/status",
    "/api/v1/settings",
    "/api/v1/deadletters",
    "/api/v1/doctor",
    "/api/v1/openapi.json",
    "/none",
)


def shown(daemon: Daemon, paths: tuple[str, ...]) -> bytes:
    """Return all that the pages show to whoever has the password."""
    given = b"Basic " + base64.b64encode(b"anna:" + CANARY.encode())
    told = b""
    for path in paths:
        request = urllib.request.Request(
            daemon.url + path, headers={"Authorization": given.decode()}
        )
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:
                told += answer.read()
        except urllib.error.HTTPError as error:
            with error:
                told += error.read() + str(error.headers).encode()
    return told


def test_a_canary_is_in_no_log_page_metric_or_file_of_the_daemons(tmp_path: Path):
    users, web = tmp_path / "passwords", tmp_path / "web.yml"
    broker_folder, folder = tmp_path / "broker", tmp_path / "daemon"
    broker_folder.mkdir()
    folder.mkdir()
    (folder / "password").write_text(CANARY, encoding="utf-8")
    users.write_text("", encoding="utf-8")
    web.write_text(f"basic_auth_users: {{anna: {HASH.decode()}}}\n", encoding="utf-8")
    broker = Mosquitto(broker_folder, f"password_file {users}\n", anonymous=False)
    daemon = Daemon(
        folder,
        broker.port,
        mqtt=f'username: daemon, password_file: "{folder}/password"',
        more="log: {level: debug}",
    )
    text = daemon.settings.read_text(encoding="utf-8")
    daemon.settings.write_text(
        text.replace("http: {port: 0}", f'http: {{port: 0, web_config: "{web}"}}'), encoding="utf-8"
    )
    try:
        daemon.start(ready=False)
        until("the first metrics are out", lambda: b"\nmonitor_" in shown(daemon, ("/metrics",)))
        pages = shown(daemon, PATHS)
        assert daemon.stop() == 0
    finally:
        daemon.kill()
        broker.stop()

    assert b"\nmonitor_" in pages
    kept = b"".join(
        path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "password"
    )
    for secret in (CANARY.encode(), HASH, base64.b64encode(b"anna:" + CANARY.encode())):
        assert secret not in pages
        assert secret not in kept


def test_a_canary_is_in_no_word_of_the_commands(tmp_path: Path, capsys, caplog):
    caplog.set_level(logging.DEBUG)
    password = tmp_path / "password"
    password.write_text(CANARY, encoding="utf-8")
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        json.dumps(
            {
                "mqtt": {"port": 9, "username": "daemon", "password_file": str(password)},
                "journal": {"path": str(tmp_path / "journal.sqlite")},
                "http": {"port": 9},
            }
        ),
        encoding="utf-8",
    )
    config = ["--config", str(settings)]
    for command in (
        ["check-config", str(settings)],
        ["doctor", *config],
        ["doctor", *config, "--json"],
        ["event", *config, "cart-01", "adjusted"],
        ["journal", "check", *config],
    ):
        main(command)
    printed = capsys.readouterr()

    assert "no mistakes" in printed.out
    assert CANARY not in printed.out + printed.err + caplog.text
