"""TLS, passwords and limits of the pages, in the format of Prometheus' web configuration."""

from __future__ import annotations

import asyncio
import base64
import http.client
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import bcrypt
import pytest
from harness.certificates import Authority
from harness.programs import WAIT_SECONDS, until
from harness.yard import fleet

from monitor.http.access import (
    OPEN,
    Access,
    AccessError,
    access_of,
    read_web_config,
)
from monitor.http.published import Page
from monitor.http.server import Authenticated
from monitor.http.service import Service

WORD = "correct horse"
# With a salt of its own each worker would name one of the tests another way.
HASH = bcrypt.hashpw(WORD.encode(), b"$2b$04$LuQpt3pIwUb6B3q7ZRrtHO").decode()
PATHS = ("/", "/metrics", "/healthz", "/readyz", "/api/v1/series", "/api/v1/openapi.json", "/none")


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    made = Authority(tmp_path_factory.mktemp("authority"))
    made.issue("server", "localhost", "127.0.0.1")
    made.issue("reader", "reader.example")
    return made


def web_config(folder: Path, authority: Authority, extra: str = "", users: str = "") -> Path:
    file = folder / "web.yml"
    place = authority.ca_file.parent
    tls = f"tls_server_config:\n  cert_file: {place}/server.pem\n  key_file: {place}/server.key\n"
    file.write_text(f"{tls}{extra}{users}", encoding="utf-8")
    return file


USERS = f"basic_auth_users:\n  prometheus: {HASH}\n  anna: {HASH}\n"


def served(access: Access) -> Iterator[Service]:
    service = Service("127.0.0.1", 0, access=access, header_timeout_seconds=1.0)
    service.start()
    try:
        until("the service to listen", lambda: _listens(service))
        yield service
    finally:
        service.stop()


def _listens(service: Service) -> bool:
    return service._server is not None and service._server.started


def port(service: Service) -> int:
    return int(service.url.rpartition(":")[2])


def ask(
    service: Service,
    path: str,
    tls: ssl.SSLContext | None = None,
    given: bytes | None = None,
    method: str = "GET",
) -> http.client.HTTPResponse:
    """Return the answer, read whole."""
    if tls is None:
        connection = http.client.HTTPConnection("127.0.0.1", port(service), timeout=WAIT_SECONDS)
    else:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", port(service), timeout=WAIT_SECONDS, context=tls
        )
    headers = {} if given is None else {"Authorization": given}
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer
    finally:
        connection.close()


def text(service: Service, path: str, given: bytes | None = None) -> bytes:
    """Return the body of an answer."""
    headers = {} if given is None else {"Authorization": given.decode()}
    asked = urllib.request.Request(service.url + path, headers=headers)
    try:
        with urllib.request.urlopen(asked, timeout=WAIT_SECONDS) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        return error.read()


def basic(name: str, word: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{name}:{word}".encode())


@pytest.fixture
def with_users() -> Iterator[Service]:
    yield from served(Access(None, {"anna": HASH.encode()}))


# -- the file -----------------------------------------------------------------------------------


def test_a_file_as_prometheus_takes_it_is_read(authority, tmp_path):
    more = "  min_version: TLS13\n  client_auth_type: NoClientCert\n"
    access = read_web_config(web_config(tmp_path, authority, more, USERS))

    assert access.tls.minimum_version is ssl.TLSVersion.TLSv1_3
    assert access.users == {"prometheus": HASH.encode(), "anna": HASH.encode()}
    assert access.is_closed


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tls_server_config: {cert_file: no.pem, key_file: no.key}", "No such file"),
        ("tls_server_config: {cert_file: a.pem}", "key_file: field required"),
        ("http_server_config: {http2: true}", "http_server_config: is not known here"),
        ("basic_auth_users: {anna: plain-secret}", "must be a bcrypt hash"),
        ("basic_auth_users: {anna: $2y$31$" + "a" * 53 + "}", "must be a bcrypt hash"),
        ('basic_auth_users: {"a:b": ' + HASH + "}", "basic_auth_users.a:b"),
        ("basic_auth_users: [anna]", "basic_auth_users"),
        ("users: &a [*a]", "1:8"),
        ("- 1", "web.yml"),
    ],
)
def test_a_wrong_file_is_refused_without_a_word_of_its_secrets(text, why, tmp_path):
    file = tmp_path / "web.yml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(AccessError) as refused:
        read_web_config(file)

    assert why in str(refused.value)
    assert str(file) in str(refused.value)
    assert "secret" not in str(refused.value)
    assert refused.value.exit_code == 78


def test_a_file_that_is_not_there_or_no_certificate_is_refused(tmp_path):
    with pytest.raises(AccessError, match="cannot be read"):
        read_web_config(tmp_path / "none.yml")
    (tmp_path / "a.pem").write_text("not a certificate", encoding="utf-8")
    file = tmp_path / "web.yml"
    file.write_text("tls_server_config: {cert_file: a.pem, key_file: a.pem}", encoding="utf-8")
    with pytest.raises(AccessError, match="cannot be used"):
        read_web_config(file)


def test_readers_certificates_need_their_authority(authority, tmp_path):
    more = "  client_auth_type: RequireAndVerifyClientCert\n"
    with pytest.raises(AccessError, match="needs client_ca_file"):
        read_web_config(web_config(tmp_path, authority, more))


def test_hashes_are_in_no_representation(authority, tmp_path):
    access = read_web_config(web_config(tmp_path, authority, "", USERS))
    assert HASH not in repr(access) + str(vars(Service("127.0.0.1", 0, access=access)))


@pytest.mark.parametrize(
    ("extra", "users", "allow", "is_refused"),
    [
        ("", USERS, False, False),
        ("", "", False, True),
        ("", "", True, False),
        ("  client_auth_type: RequireAndVerifyClientCert\n", "", False, False),
        ("  client_auth_type: VerifyClientCertIfGiven\n", "", False, True),
        ("  client_auth_type: VerifyClientCertIfGiven\n", USERS, False, False),
    ],
)
def test_other_machines_need_encryption_and_a_password(
    extra, users, allow, is_refused, authority, tmp_path
):
    extra += f"  client_ca_file: {authority.ca_file}\n" if extra else ""
    file = str(web_config(tmp_path, authority, extra, users))
    assert access_of(file, "127.0.0.1", is_local=True, allow_remote=False).tls is not None
    if is_refused:
        with pytest.raises(AccessError, match=r"http\.host 0\.0\.0\.0 lets other machines read"):
            access_of(file, "0.0.0.0", is_local=False, allow_remote=allow)
    else:
        access_of(file, "0.0.0.0", is_local=False, allow_remote=allow)


def test_passwords_without_encryption_do_not_open_the_pages_to_other_machines(tmp_path):
    file = tmp_path / "web.yml"
    file.write_text(USERS, encoding="utf-8")
    with pytest.raises(AccessError, match="not both"):
        access_of(str(file), "::", is_local=False, allow_remote=False)
    assert access_of(None, "127.0.0.1", is_local=True, allow_remote=False) is OPEN


# -- passwords ----------------------------------------------------------------------------------


PROBED = ("/healthz", "/readyz")
BESIDE = (
    "/healthz/",
    "/healthzz",
    "/healthz/metrics",
    "/readyz/../metrics",
    "/readyz%2f",
    "/health",
)


def test_nothing_is_shown_without_the_password(with_users):
    for path, method in product((*PATHS, *BESIDE), ("GET", "HEAD", "POST")):
        if path not in PROBED or method == "POST":
            answer = ask(with_users, path, method=method)
            assert answer.status == 401
            assert answer.headers["www-authenticate"].startswith("Basic ")


@pytest.mark.parametrize(
    "given",
    [
        basic("anna", "wrong"),
        basic("bert", WORD),
        basic("", WORD),
        basic("anna", WORD + "\0"),
        basic("anna", WORD + "x" * 100),
        basic("anna" * 500, WORD),
        b"Basic !!!",
        b"Basic",
        b"Basic " + base64.b64encode(b"\xff\xfe:x"),
        b"Bearer " + base64.b64encode(f"anna:{WORD}".encode()),
    ],
)
def test_no_other_word_opens(given, with_users):
    for _ in range(2):
        assert ask(with_users, "/healthz", given=given).status == 401


def test_a_probe_needs_no_password_and_learns_the_state_alone(with_users):
    why, no = "no connection to broker.plant.example", b"no; the reason needs a password\n"
    for page, status, words, reason in (
        (None, 503, no, b"still starting\n"),
        (Page(fleet(0), not_ready=why), 503, no, f"{why}\n".encode()),
        (Page(fleet(0), catching_up="catching up"), 200, b"ok\n", b"catching up\n"),
        (Page(fleet(0)), 200, b"ok\n", b"ready\n"),
    ):
        if page is not None:
            with_users.publish(page)
        for method in ("GET", "HEAD"):
            assert ask(with_users, "/healthz", method=method).status == 200
            assert ask(with_users, "/readyz", method=method).status == status
        assert text(with_users, "/readyz") == words
        assert text(with_users, "/readyz", basic("anna", WORD)) == reason
    assert text(with_users, "/healthz") == b"ok\n"


def test_the_right_password_opens_again_and_again(with_users):
    for _ in range(3):
        assert ask(with_users, "/healthz", given=basic("anna", WORD)).status == 200
        assert ask(with_users, "/healthz", given=basic("anna", "wrong")).status == 401


class Asked:
    """Asks an application behind passwords; ``costs`` has those of the hashes that it computed."""

    def __init__(self, patch: pytest.MonkeyPatch, **more: bytes) -> None:
        self.statuses: list[int] = []
        self.costs: list[bytes] = []
        check = bcrypt.checkpw

        def checkpw(password: bytes, hash_: bytes) -> bool:
            self.costs.append(hash_[4:6])
            return check(password, hash_)

        self.door = Authenticated(self._app, {"anna": HASH.encode(), **more})
        patch.setattr(bcrypt, "checkpw", checkpw)

    async def ask(self, password: str, address: str = "192.0.2.1", name: str = "anna") -> int:
        """Return the status of an answer."""
        headers = [(b"authorization", basic(name, password))]
        scope = {"type": "http", "path": "/", "headers": headers, "client": (address, 1)}
        found: list[int] = []

        async def send(message: dict) -> None:
            found.append(message["status"])

        await self.door(scope, None, lambda message: send({"status": 0, **message}))
        return found[0]

    async def _app(self, _scope: object, _receive: object, send) -> None:
        await send({"status": 200})


def test_wrong_passwords_do_not_push_out_the_right_one_and_none_is_kept_as_itself(monkeypatch):
    asked = Asked(monkeypatch)

    async def tried() -> int:
        assert await asked.ask(WORD) == 200
        for number in range(300):
            assert await asked.ask(f"{number}") == 401
        before = len(asked.costs)
        assert await asked.ask(WORD) == 200
        return len(asked.costs) - before

    assert asyncio.run(tried()) == 0
    assert WORD not in repr(vars(asked.door))


def test_an_attempt_costs_the_same_work_whoever_it_names(monkeypatch):
    """Else the time of an answer would tell which names there are."""
    dear = bcrypt.hashpw(WORD.encode(), bcrypt.gensalt(6))
    attempts = {
        ("anna", "wrong"): 401, ("dora", "wrong"): 401, ("nobody", "wrong"): 401,
        ("nobody", WORD): 401, ("anna", WORD): 200, ("dora", WORD): 200,
    }  # fmt: skip

    async def work_of(name: str, password: str) -> tuple[int, list[bytes]]:
        asked = Asked(monkeypatch, dora=dear)
        return await asked.ask(password, name=name), sorted(asked.costs)

    for attempt, status in attempts.items():
        assert asyncio.run(work_of(*attempt)) == (status, [b"04", b"06"]), attempt


def test_whoever_has_been_in_is_let_in_however_many_try_passwords(monkeypatch):
    asked = Asked(monkeypatch)

    async def crowd() -> list[int]:
        await asked.ask(WORD)
        guesses = [asyncio.ensure_future(asked.ask(str(at))) for at in range(60)]
        await asyncio.sleep(0)
        found = [await asked.ask(WORD) for _ in range(20)]
        await asyncio.gather(*guesses)
        return found

    assert asyncio.run(crowd()) == [200] * 20


def test_who_tries_many_passwords_keeps_nobody_out_who_comes_from_elsewhere(monkeypatch):
    asked = Asked(monkeypatch)

    async def crowd() -> int:
        guesses = [asyncio.ensure_future(asked.ask(str(at))) for at in range(40)]
        await asyncio.sleep(0)
        found = await asked.ask(WORD, "192.0.2.2")
        await asyncio.gather(*guesses)
        return found

    assert asyncio.run(crowd()) == 200


def test_many_who_try_passwords_wait_in_a_short_line():
    statuses: list[int] = []

    async def app(_scope: object, _receive: object, _send: object) -> None:
        statuses.append(200)

    async def send(message: dict) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    async def receive() -> dict:
        return {}

    async def crowd() -> None:
        asked = Authenticated(app, {"anna": HASH.encode()})
        scopes = [
            {"type": "http", "path": "/", "headers": [(b"authorization", basic("anna", str(at)))]}
            for at in range(40)
        ]
        await asyncio.gather(*(asked(scope, receive, send) for scope in scopes))

    asyncio.run(crowd())
    assert statuses.count(429) == 24
    assert statuses.count(401) == 16


# -- encryption ---------------------------------------------------------------------------------


@pytest.fixture
def encrypted(authority, tmp_path) -> Iterator[Service]:
    yield from served(read_web_config(web_config(tmp_path, authority, "", USERS)))


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.ca_file))


def test_pages_come_encrypted_to_whoever_trusts_the_certificate(encrypted, authority):
    assert encrypted.url.startswith("https://")
    tls = trusting(authority)
    assert ask(encrypted, "/healthz", tls, basic("anna", WORD)).status == 200
    assert ask(encrypted, "/metrics", tls).status == 401
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(encrypted, "/healthz", ssl.create_default_context())


def test_who_speaks_tls_to_a_plain_port_is_told_of_in_the_log_once(caplog):
    for service in served(OPEN):
        for _ in range(3):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                ask(service, "/healthz", ssl.create_default_context())
        assert ask(service, "/healthz").status == 200

    told = [record.getMessage() for record in caplog.records if "TLS" in record.getMessage()]
    (said,) = told
    assert said.startswith("http: 127.0.0.1 speaks TLS, but the page is served without: use http")
    assert "http.web_config (see docs/security.md)" in said


def test_nothing_is_answered_unencrypted(encrypted):
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        ask(encrypted, "/healthz", None, basic("anna", WORD))


def test_old_encryption_is_refused(encrypted, authority):
    old = trusting(authority)
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    assert ask(encrypted, "/healthz", old, basic("anna", WORD)).status == 200
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        ask(encrypted, "/healthz", old, basic("anna", WORD))


def test_only_readers_with_a_certificate_are_let_in(authority, tmp_path):
    more = (
        f"  client_ca_file: {authority.ca_file}\n  client_auth_type: RequireAndVerifyClientCert\n"
    )
    for service in served(read_web_config(web_config(tmp_path, authority, more))):
        tls = trusting(authority)
        with pytest.raises((ssl.SSLError, http.client.HTTPException, ConnectionError)):
            ask(service, "/healthz", tls)
        place = authority.ca_file.parent
        tls.load_cert_chain(place / "reader.pem", place / "reader.key")
        assert ask(service, "/healthz", tls).status == 200


def test_whoever_never_greets_is_cut_off(encrypted, authority):
    silent = [socket.create_connection(("127.0.0.1", port(encrypted))) for _ in range(100)]
    try:
        answer = ask(encrypted, "/healthz", trusting(authority), basic("anna", WORD))
        assert answer.status == 200
        for each in silent:
            each.settimeout(WAIT_SECONDS)
            assert each.recv(1) == b""
    finally:
        for each in silent:
            each.close()


# -- nothing can be changed ---------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_whoever_has_the_password_can_still_only_read(method, with_users):
    for path in PATHS[:-1]:
        assert ask(with_users, path, given=basic("anna", WORD), method=method).status == 405
