"""``monitor run`` against a real broker that asks who is there: certificates, names, passwords."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.certificates import Authority
from harness.daemon import Daemon
from harness.programs import WAIT_SECONDS, answers, free_port, need, until, written

from monitor.mqtt.publish import BrokerPublisher, PublishError

HOST = "127.0.0.1"
NOT_AFTER = datetime(2037, 5, 6, 7, 8, 9, tzinfo=UTC)
EXPIRY = "monitor_tls_peer_not_after_seconds"
PASSWORD = "s3cret-of-the-herd"
WRONG = "wr0ng-of-the-herd"
READING = {"time": "2026-01-01T00:00:00Z", "value": 1.5, "u": 1.0}
REFERENCE = {"time": "2026-01-01T00:00:00Z", "value": 1.0}

Start = Callable[..., Daemon]
Brokers = Callable[..., Mosquitto]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Brokers]:
    """Return a function that starts a broker with some lines of its configuration."""
    running: list[Mosquitto] = []

    def start(more: str, **options) -> Mosquitto:
        folder = tmp_path / "broker"
        folder.mkdir()
        running.append(Mosquitto(folder, more, **options))
        return running[0]

    yield start
    for each in running:
        each.stop()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a daemon on a port with further keys of ``mqtt``."""
    running: list[Daemon] = []

    def start(port: int, mqtt: str, *, ready: bool = True, **options) -> Daemon:
        folder = tmp_path / "daemon"
        folder.mkdir()
        running.append(Daemon(folder, port, mqtt=mqtt, **options))
        running[0].start(ready=ready)
        return running[0]

    yield start
    for each in running:
        each.kill()


def identity(authority: Authority, *hosts: str) -> str:
    certificate, key = authority.issue("broker", *hosts, not_after=NOT_AFTER)
    return f"cafile {authority.ca_file}\ncertfile {certificate}\nkeyfile {key}"


def trusting(authority: Authority, name: str = "") -> str:
    """Return the key ``tls`` of the settings, with a certificate of its own if it has a name."""
    own = authority.issue(name, name) if name else ()
    files = {
        "ca_file": authority.ca_file,
        **dict(zip(("cert_file", "key_file"), own, strict=False)),
    }
    return f"tls: {json.dumps({key: str(file) for key, file in files.items()})}"


def with_passwords(folder: Path, password: str) -> Path:
    """Write mosquitto's file of passwords, where only ``herd`` is known."""
    path = folder / "passwords"
    command = [need("mosquitto_passwd"), "-b", "-c", str(path), "herd", password]
    subprocess.run(command, check=True)
    path.chmod(0o644)
    return path


def not_ready(daemon: Daemon, *words: str) -> str:
    """Wait until the daemon says in words why it is not ready, and return its sentence."""

    def said() -> str:
        status, body = daemon.get("/readyz")
        sentence = body.decode()
        return sentence if status == 503 and all(each in sentence for each in words) else ""

    return str(until(f"not ready because of {words}: {daemon.get('/readyz')}", said))


def assert_a_pair_arrives(daemon: Daemon, publisher: BrokerPublisher) -> None:
    with publisher as out:
        out.publish("monitor/a/x/reading", json.dumps(READING).encode())
        out.publish("monitor/a/x/reference", json.dumps(REFERENCE).encode())
        out.flush()
    pairs = 'monitor_window_pairs{sensor="a",quantity="x"}'
    until("the pair is there", lambda: daemon.value(pairs) == 1)


def assert_never_shown(daemon: Daemon, *secrets: str) -> None:
    """No page and no line of the log holds a secret."""
    pages = ["/", "/metrics", "/readyz", "/healthz", "/api/v1/series", "/api/v1/deadletters"]
    shown = daemon.log() + "".join(daemon.get(page)[1].decode() for page in pages)

    assert "monitor_mqtt_connected" in shown
    assert not [secret for secret in secrets if secret in shown]


# -- certificates -------------------------------------------------------------------------------


# paho leaves the socket of a handshake that failed to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_tls_at_a_plain_port_is_told_with_what_to_change(authority, broker, daemon):
    plain = broker("")
    running = daemon(plain.port, trusting(authority), ready=False)

    assert "mqtt.port" in not_ready(running, "the broker does not speak TLS there")
    trust = ssl.create_default_context(cafile=str(authority.ca_file))
    with (
        pytest.raises(PublishError, match=r"the broker does not speak TLS there; check mqtt\.port"),
        BrokerPublisher(HOST, plain.port, tls=trust),
    ):
        pass


def test_a_plain_client_at_a_port_for_tls_is_told_with_what_to_change(authority, broker, daemon):
    encrypted = broker(identity(authority, HOST))
    running = daemon(encrypted.port, "", ready=False)

    assert "mqtt.tls" in not_ready(running, "ended the connection before it answered")
    with (
        pytest.raises(PublishError, match=r"before it answered; check mqtt\.port, and mqtt\.tls"),
        BrokerPublisher(HOST, encrypted.port),
    ):
        pass


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_messages_come_over_tls_and_the_metrics_say_when_the_certificate_ends(
    protocol, authority, broker, daemon
):
    port = broker(identity(authority, HOST)).port
    running = daemon(port, trusting(authority), protocol=protocol)
    trusted = ssl.create_default_context(cafile=str(authority.ca_file))

    assert_a_pair_arrives(running, BrokerPublisher(HOST, port, tls=trusted))
    assert running.value("monitor_mqtt_connected") == 1
    assert running.value(EXPIRY) == NOT_AFTER.timestamp()
    assert running.stop() == 0


def test_without_tls_there_is_no_certificate_to_expire(mosquitto, daemon):
    assert EXPIRY not in daemon(mosquitto.port, "keepalive_seconds: 20").metrics()


def test_a_broker_that_asks_for_a_certificate_is_shown_one(authority, broker, daemon):
    lines = f"{identity(authority, HOST)}\nrequire_certificate true\nuse_identity_as_username true"
    started = broker(lines, anonymous=False)
    running = daemon(started.port, trusting(authority, "herd-monitor"))

    assert running.value(EXPIRY) == NOT_AFTER.timestamp()
    assert "u'herd-monitor'" in started.log()


@pytest.mark.parametrize("shown", ["nothing", "of another authority"])
def test_a_daemon_that_the_broker_does_not_let_in_says_what_to_look_at(
    shown, authority, tmp_path, broker, daemon
):
    port = broker(f"{identity(authority, HOST)}\nrequire_certificate true").port
    mqtt = trusting(authority)
    if shown != "nothing":
        certificate, key = Authority(tmp_path / "other").issue("stranger", "stranger")
        mqtt = mqtt.replace("}", f', "cert_file": "{certificate}", "key_file": "{key}"}}')
    running = daemon(port, mqtt, ready=False)

    not_ready(running, f"{HOST}:{port}", "ended the connection", "cert_file")
    assert running.get("/healthz")[0] == 200
    assert running.stop() == 0


def test_a_daemon_without_tls_on_a_port_with_tls_says_so(authority, broker, daemon):
    running = daemon(broker(identity(authority, HOST)).port, "", ready=False)

    not_ready(running, "mqtt.tls", "encrypted")


def test_an_untrusted_broker_is_told_in_words_and_trusted_once_it_can_be(
    authority, tmp_path, broker, daemon
):
    stranger = Authority(tmp_path / "stranger")
    certificate, key = stranger.issue("broker", HOST)
    started = broker(f"certfile {certificate}\nkeyfile {key}")
    running = daemon(started.port, trusting(authority), ready=False)

    not_ready(running, "certificate is not trusted")
    assert running.metrics()["monitor_mqtt_connected"] == 0
    assert EXPIRY not in running.metrics()
    assert running.log().count("certificate is not trusted") == 1
    until("it tries again", lambda: started.log().count("unknown ca") >= 3)
    good, good_key = authority.issue("broker", HOST, not_after=NOT_AFTER)
    started.stop()
    certificate.write_bytes(good.read_bytes())
    key.write_bytes(good_key.read_bytes())
    started.start()
    until("it is ready", lambda: running.get("/readyz")[0] == 200)
    until("the expiry is told", lambda: running.value(EXPIRY) == NOT_AFTER.timestamp())


@pytest.mark.parametrize("fault", ["host", "expired"])
def test_a_certificate_for_another_host_or_of_the_past_is_not_trusted(
    fault, authority, broker, daemon
):
    hosts = ("elsewhere.example",) if fault == "host" else (HOST,)
    past = datetime(2020, 1, 1, tzinfo=UTC) if fault == "expired" else None
    certificate, key = authority.issue("broker", *hosts, not_after=past)
    port = broker(f"certfile {certificate}\nkeyfile {key}").port
    running = daemon(port, trusting(authority), ready=False)

    not_ready(running, "certificate is not trusted", "expired" if past else HOST)


def put(identity: tuple[Path, Path], files: tuple[Path, Path]) -> None:
    """Write a certificate and its key over those that a broker is configured with."""
    for new, file in zip(identity, files, strict=True):
        file.write_bytes(new.read_bytes())


def test_a_certificate_that_changes_under_a_daemon_is_trusted_as_far_as_its_authority_is(
    authority, tmp_path, broker, daemon
):
    """Renewed, of another authority, expired; what is published meanwhile comes later."""
    ends = [datetime(2040 + year, 1, 1, tzinfo=UTC) for year in range(3)]
    stranger = Authority(tmp_path / "stranger")
    files = authority.issue("broker", HOST, not_after=ends[0])
    started = broker(f"certfile {files[0]}\nkeyfile {files[1]}")
    trust = tmp_path / "trusted.pem"
    trust.write_bytes(authority.ca_file.read_bytes())
    running = daemon(started.port, f'tls: {{ca_file: "{trust}"}}')
    until("the expiry is told", lambda: running.value(EXPIRY) == ends[0].timestamp())

    def change(issuer: Authority, ends_at: datetime) -> None:
        started.stop()
        put(issuer.issue("next", HOST, not_after=ends_at), files)
        started.start()

    change(authority, ends[1])
    until("the new expiry is told", lambda: running.value(EXPIRY) == ends[1].timestamp())
    change(authority, datetime(2020, 1, 1, tzinfo=UTC))
    not_ready(running, "certificate is not trusted", "expired")
    change(stranger, ends[2])
    not_ready(running, "certificate is not trusted", "unable to get local issuer")
    assert running.value("monitor_mqtt_connected") == 0
    assert running.process.poll() is None
    both = ssl.create_default_context(cafile=str(stranger.ca_file))
    with BrokerPublisher(HOST, started.port, tls=both) as out:
        out.publish("monitor/a/x/reading", json.dumps(READING).encode())
        out.publish("monitor/a/x/reference", json.dumps(REFERENCE).encode())
        out.flush()

    trust.write_bytes(authority.ca_file.read_bytes() + stranger.ca_file.read_bytes())
    running.process.send_signal(signal.SIGHUP)

    until("it is trusted", lambda: running.value(EXPIRY) == ends[2].timestamp())
    pairs = 'monitor_window_pairs{sensor="a",quantity="x"}'
    until("what waited is there", lambda: running.value(pairs) == 1)
    assert running.value("monitor_session_lost_total") == 0
    assert running.stop() == 0


@pytest.mark.parametrize(
    ("offered", "says"),
    [
        (("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"), "the broker's TLS is older than 1.2"),
        (("-tls1_2", "-cipher", "eNULL:@SECLEVEL=0"), "only ones that do not encrypt"),
    ],
)
def test_a_broker_that_offers_no_safe_tls_is_refused_and_told_what_to_change(
    offered, says, authority, daemon
):
    certificate, key = authority.issue("broker", HOST)
    port = free_port()
    command = [need("openssl"), "s_server", "-accept", f"{HOST}:{port}", "-cert", str(certificate)]
    with subprocess.Popen(
        [*command, "-key", str(key), *offered],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as server:  # fmt: skip
        until("it listens", lambda: answers(port))
        running = daemon(port, f"{trusting(authority)}, username: herd, password_env: WORD",
                         ready=False, environment={"WORD": PASSWORD})  # fmt: skip
        not_ready(running, f"{HOST}:{port}", says)
        server.kill()
        shown = server.stdout.read()

    assert says in running.log()
    assert "herd" not in shown


def test_tls_files_that_cannot_be_used_end_the_daemon_with_their_names(tmp_path):
    rubbish = written(tmp_path, "rubbish.pem", "no certificate")
    settings = written(tmp_path, "settings.yaml", f'mqtt: {{tls: {{ca_file: "{rubbish}"}}}}\n')
    command = [sys.executable, "-m", "monitor", "run", "--config", str(settings)]
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=WAIT_SECONDS, cwd=tmp_path
    )

    assert ended.returncode == 78
    assert str(rubbish) in ended.stderr
    assert "Traceback" not in ended.stderr


# -- names and passwords ------------------------------------------------------------------------


@pytest.mark.parametrize("kept", ["file", "environment"])
def test_user_and_password_open_the_door_and_are_never_shown(kept, tmp_path, broker, daemon):
    port = broker(f"password_file {with_passwords(tmp_path, PASSWORD)}", anonymous=False).port
    if kept == "file":
        secret = written(tmp_path, "secret", f"{PASSWORD}\n")
        mqtt, environment = f'username: herd, password_file: "{secret}"', {}
    else:
        mqtt = "username_env: HERD_USER, password_env: HERD_PASSWORD"
        environment = {"HERD_USER": "herd", "HERD_PASSWORD": PASSWORD}
    running = daemon(port, mqtt, environment=environment, more="log: {level: debug}")

    assert_a_pair_arrives(running, BrokerPublisher(HOST, port, username="herd", password=PASSWORD))
    assert_never_shown(running, PASSWORD)
    assert running.stop() == 0


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_a_wrong_password_is_told_in_words_and_tried_again_until_it_is_right(
    protocol, tmp_path, broker, daemon
):
    passwords = with_passwords(tmp_path, PASSWORD)
    started = broker(f"password_file {passwords}", anonymous=False)
    running = daemon(
        started.port,
        "username: herd, password_env: HERD_PASSWORD",
        ready=False,
        environment={"HERD_PASSWORD": WRONG},
        protocol=protocol,
        more="log: {level: debug}",
    )

    not_ready(running, f"{HOST}:{started.port}", "refuses", "check user, password")
    until("it tries again", lambda: started.log().count("not authorised") >= 3)
    assert running.get("/healthz")[0] == 200
    assert running.value("monitor_mqtt_connected") == 0
    assert_never_shown(running, WRONG, PASSWORD)
    with_passwords(tmp_path, WRONG)
    started.signal(signal.SIGHUP)
    until("it is ready", lambda: running.get("/readyz")[0] == 200)
    assert_never_shown(running, WRONG)


def test_over_tls_a_password_is_asked_for_too(authority, tmp_path, broker, daemon):
    passwords = with_passwords(tmp_path, PASSWORD)
    lines = f"{identity(authority, HOST)}\npassword_file {passwords}"
    port = broker(lines, anonymous=False).port
    secret = written(tmp_path, "secret", PASSWORD)
    mqtt = f'{trusting(authority)}, username: herd, password_file: "{secret}"'
    running = daemon(port, mqtt)

    assert running.value(EXPIRY) == NOT_AFTER.timestamp()
    assert_never_shown(running, PASSWORD)
