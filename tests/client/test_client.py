"""``doctor``, ``export`` and ``report`` ask a daemon that encrypts and wants a password."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import bcrypt
import pytest
from harness.certificates import Authority
from harness.daemon import Daemon
from harness.programs import free_port, until

from monitor.cli import main
from monitor.client.client import (
    PASSWORD,
    USER,
    ClientError,
    DaemonClient,
    client_arguments,
    client_of,
)
from monitor.config import parse
from monitor.mqtt.publish import BrokerPublisher

WORD = "correct horse: ü"
HASH = bcrypt.hashpw(WORD.encode(), bcrypt.gensalt(4)).decode()
SETTINGS = """
mqtt: {{port: {port}, client_id: asked}}
journal: {{path: "{folder}/journal.sqlite"}}
http: {{port: {http}, host: "{host}", web_config: "{folder}/web.yml"}}
publish: {{interval_seconds: 0.1}}
pairing: {{mode: key}}
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("authority"))
    made.issue("server", "monitor.example")
    made.issue("local", "127.0.0.1")
    made.issue("reader", "reader.example")
    return made


def web_config(folder: Path, authority: Authority, name: str = "server", more: str = "") -> None:
    place = authority.ca_file.parent
    (folder / "web.yml").write_text(
        f"tls_server_config:\n  cert_file: {place}/{name}.pem\n  key_file: {place}/{name}.key\n"
        f"{more}basic_auth_users:\n  anna: {HASH}\n",
        encoding="utf-8",
    )


@pytest.fixture
def made(tmp_path, mosquitto):
    """Return a daemon that is not started."""
    daemon = Daemon(tmp_path, mosquitto.port)
    daemon.settings.write_text(
        SETTINGS.format(port=mosquitto.port, folder=tmp_path, http=free_port(), host="0.0.0.0")
    )
    (tmp_path / "word").write_text(f"{WORD}\nanother line\n", encoding="utf-8")
    yield daemon
    daemon.kill()


def run(capsys, *command: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(command)
    told = capsys.readouterr()
    assert WORD not in told.out + told.err
    return code, told.out + told.err


def test_all_three_commands_ask_with_certificate_and_password(made, authority, tmp_path, capsys):
    web_config(tmp_path, authority)
    made.start(ready=False)
    config = ("--config", str(made.settings))
    known = ("--user", "anna", "--password-file", str(tmp_path / "word"))
    port = int(made.url.rpartition(":")[2])

    until("it has an answer", lambda: run(capsys, "doctor", *config, *known)[0] != 69)
    code, told = run(capsys, "doctor", *config, *known)
    assert (code, "no message has been received" in told) == (1, True)
    with BrokerPublisher("127.0.0.1", _broker(made)) as out:
        for at in range(5):
            stated = {"time": f"2026-01-01T00:00:{at:02}Z", "key": f"k{at}", "value": 1.0, "u": 1.0}
            for what in ("reading", "reference"):
                out.publish(f"monitor/a/mass/{what}", json.dumps(stated).encode())
    until("pairs came", lambda: run(capsys, "doctor", *config, *known)[0] == 0)

    pairs = tmp_path / "pairs.csv"
    assert run(capsys, "export", *config, *known, "--out", str(pairs))[0] == 0
    assert len(pairs.read_text().splitlines()) == 6
    page = tmp_path / "page.html"
    assert run(capsys, "report", *config, *known, "--out", str(page))[0] == 0
    assert "pairs in its windows" in page.read_text()

    for given in ((), ("--user", "anna", "--password-file", str(authority.ca_file))):
        code, told = run(capsys, "doctor", *config, *given)
        assert (code, "requires a user name and password" in told) == (69, True)
        assert "MONITOR_HTTP_PASSWORD; all commands but `monitor accept` also take --user" in told
    code, told = run(capsys, "export", *config, *known, "--ca", str(authority.ca_file))
    assert (code, "its certificate is not trusted (IP address mismatch" in told) == (69, True)
    code, told = run(capsys, "doctor", *config, "--url", f"https://127.0.0.1:{port}", *known)
    assert (code, "give its CA with --ca" in told) == (69, True)
    web_config(tmp_path, authority, "local")
    code, told = run(capsys, "doctor", *config, *known)
    assert (code, "after a restart" in told) == (69, True)


def _broker(daemon: Daemon) -> int:
    return parse(daemon.settings.read_bytes(), "f").mqtt.port


def test_an_authority_and_a_client_certificate_are_accepted(
    made, authority, tmp_path, capsys, monkeypatch
):
    place = authority.ca_file.parent
    more = (
        f"  client_ca_file: {authority.ca_file}\n  client_auth_type: RequireAndVerifyClientCert\n"
    )
    web_config(tmp_path, authority, "local", more)
    made.start(ready=False)
    monkeypatch.setenv(USER, "anna")
    monkeypatch.setenv(PASSWORD, WORD)
    asked = ("doctor", "--config", str(made.settings), "--ca", str(authority.ca_file))
    own = ("--cert", str(place / "reader.pem"), "--key", str(place / "reader.key"))

    until("it has an answer", lambda: run(capsys, *asked, *own)[0] != 69)
    assert "no message has been received" in run(capsys, *asked, *own)[1]
    assert "does it require a client certificate" in run(capsys, *asked)[1]
    assert made.stop() == 0
    assert "the daemon is not running" in run(capsys, *asked, *own)[1]


def test_a_daemon_that_does_not_encrypt_yet_is_told_so(made, authority, tmp_path, capsys):
    plain = made.settings.read_text()
    made.settings.write_text(
        plain.replace(f', web_config: "{tmp_path}/web.yml"', "").replace("0.0.0.0", "127.0.0.1")
    )
    made.start(ready=False)
    made.settings.write_text(plain)
    web_config(tmp_path, authority)

    code, told = run(capsys, "doctor", "--config", str(made.settings))

    assert (code, "does not speak TLS" in told) == (69, True)


def given(*words: str, environment: dict[str, str] | None = None) -> DaemonClient:
    parser = argparse.ArgumentParser()
    client_arguments(parser)
    settings = parse(b"http: {port: 4711}", "f")
    return client_of(settings, parser.parse_args(words), environment or {})


def test_the_settings_the_options_and_the_environment_say_where_and_who(tmp_path):
    word = tmp_path / "word"
    word.write_text("from the file\n")
    env = {USER: "bert", PASSWORD: "from the environment"}

    assert given()[:3] == ("http://127.0.0.1:4711", None, "")
    assert given("--url", "http://[::1]:80/at/").url == "http://[::1]:80/at"
    assert given("--url", "https://else.example", environment=env).tls is not None
    assert given(environment=env) == given("--user", "bert", environment=env)
    assert given("--password-file", str(word), environment=env) != given(environment=env)
    assert "environment" not in repr(given(environment=env))
    assert given(environment=env).authorization not in repr(given(environment=env))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--url", "ftp://a"), "write http://host:port"),
        (("--url", "https://"), "write http://host:port"),
        (("--url", "http://127.0.0.1:91o8"), "write http://host:port"),
        (("--url", "http://127.0.0.1:91080"), "write http://host:port"),
        (("--url", "http://[::1"), "write http://host:port"),
        (("--url", "https://a", "--ca", "/none"), "--ca /none: cannot be used"),
        (("--url", "https://a", "--ca", "/dev/null"), "--ca /dev/null: cannot be used"),
        (("--url", "https://a", "--cert", "/none"), "--cert /none"),
        (("--user", "anna"), "has no password"),
        (("--user", "anna", "--password-file", "/none"), "/none: cannot be read"),
        (("--url", "http://else.example", "--user", "anna"), "only over https"),
    ],
)
def test_what_cannot_be_used_is_told(words, said):
    environment = {PASSWORD: "x"} if "over https" in said else {}
    with pytest.raises(ClientError, match=said) as refused:
        given(*words, environment=environment)
    assert refused.value.exit_code == 2


@contextmanager
def answering(status: int, body: bytes) -> Iterator[DaemonClient]:
    """Give a client of a server that answers everything alike."""

    class Alike(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Alike) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield DaemonClient(f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (503, b'{"detail": "the daemon is still starting"}', "answers 503: the daemon is still"),
        (421, b"the name in this address\nis not known\n", "421: the name in this address is not"),
        (404, b'{"detail": "there is no such series"}', "answers 404: there is no such series"),
        (404, b'{"detail": "Not Found"}', "turn on the extension that serves it in the settings"),
        (500, b"[1]", r"answers 500: \[1\]"),
        (200, b"<html>", "not a monitor daemon; give the daemon's"),
    ],
)
def test_an_answer_that_is_not_the_document_is_told_and_no_journal_is_read(status, body, said):
    with answering(status, body) as client, pytest.raises(ClientError, match=said):
        client.get("doctor")
