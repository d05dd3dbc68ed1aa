"""TLS read by the buffer against the library's own socket on the other side."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from harness.certificates import Authority

from monitor.mqtt.tls import RECORD_BYTES, TlsSocket

SECONDS = 10.0


class Ends(NamedTuple):
    """Both ends of a connection: ours, which does not block, and the other one, which does."""

    ours: TlsSocket
    theirs: ssl.SSLSocket


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        one = socket.create_connection(listening.getsockname())
        other, _ = listening.accept()
    return one, other


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.ca_file))


def other_side(
    authority: Authority, folder: Path, plain: socket.socket, name: str
) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*map(str, authority.issue("broker", name)))
    plain.settimeout(SECONDS)
    return context.wrap_socket(plain, server_side=True, suppress_ragged_eofs=False)


@pytest.fixture
def ends(authority: Authority, tmp_path: Path) -> Iterator[Ends]:
    one, other = connected()
    made: list[ssl.SSLSocket] = []
    thread = threading.Thread(
        target=lambda: made.append(other_side(authority, tmp_path, other, "localhost"))
    )
    thread.start()
    ours = TlsSocket.over(one, trusting(authority), "localhost", SECONDS)
    thread.join(SECONDS)
    ours.settimeout(0.0)
    made[0].sendall(b"!")
    assert received(ours, 1) == b"!"  # and the tickets of TLS 1.3 with it
    yield Ends(ours, made[0])
    ours.close()
    made[0].close()


def received(ours: TlsSocket, wanted: int, size: int = 1 << 20) -> bytes:
    """Return so many bytes, waiting for them as the source does."""
    found = b""
    while len(found) < wanted:
        if not ours.pending():
            assert select.select([ours], [], [], SECONDS)[0], "nothing comes"
        try:
            part = ours.recv(size)
        except BlockingIOError:
            continue
        assert part
        found += part
    return found


def test_many_records_are_one_read(ends: Ends, monkeypatch: pytest.MonkeyPatch):
    sent = [bytes([at % 256]) * (at % 50 + 1) for at in range(500)]
    for each in sent:
        ends.theirs.sendall(each)
    ends.ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, sum(map(len, sent)))
    assert select.select([ends.ours], [], [], SECONDS)[0]
    reads = []
    monkeypatch.setattr(
        TlsSocket,
        "_fill",
        lambda self, *, must, fill=TlsSocket._fill: reads.append(1) or fill(self, must=must),
    )

    assert ends.ours.recv(1 << 20) == b"".join(sent)
    assert len(reads) <= 4  # a connection of this kind may hold back a part; the last is empty


@pytest.mark.parametrize("size", [1, 7, 1000, RECORD_BYTES, 1 << 20])
def test_whatever_is_asked_for_at_once_the_bytes_are_the_same(ends: Ends, size: int):
    sent = bytes(range(256)) * (8 if size < 100 else 400)
    writer = threading.Thread(target=lambda: ends.theirs.sendall(sent))
    writer.start()

    assert received(ends.ours, len(sent), size) == sent
    writer.join(SECONDS)
    assert not ends.ours.pending() or size < len(sent)


def test_what_is_left_of_a_record_is_pending_and_nothing_is_once_all_is_read(ends: Ends):
    ends.theirs.sendall(b"abcdef")
    select.select([ends.ours], [], [], SECONDS)

    assert ends.ours.recv(4) == b"abcd"
    assert ends.ours.pending()
    assert ends.ours.recv(4) == b"ef"
    assert not ends.ours.pending()
    with pytest.raises(BlockingIOError):
        ends.ours.recv(4)


@pytest.mark.parametrize("politely", [True, False])
def test_the_end_is_seen_after_what_came_before_it(ends: Ends, *, politely: bool):
    ends.theirs.sendall(b"last words")
    if politely:
        ends.theirs.settimeout(0.0)
        with pytest.raises(ssl.SSLWantReadError):
            ends.theirs.unwrap()
    ends.theirs.close()
    select.select([ends.ours], [], [], SECONDS)

    assert ends.ours.recv(100) == b"last words"
    assert ends.ours.recv(100) == b""
    assert ends.ours.recv(100) == b""


def test_a_connection_that_is_reset_is_an_error_after_what_came_before(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
):
    ends.theirs.sendall(b"last words")
    select.select([ends.ours], [], [], SECONDS)
    real, calls = TlsSocket._fill, []

    def fill(self: TlsSocket, *, must: bool) -> bool:
        calls.append(must)
        if len(calls) == 1:
            return real(self, must=must)
        if must:
            raise ConnectionResetError
        return False

    monkeypatch.setattr(TlsSocket, "_fill", fill)

    assert ends.ours.recv(100) == b"last words"
    with pytest.raises(ConnectionResetError):
        ends.ours.recv(100)


def test_what_the_system_does_not_take_waits_and_is_sent_in_order(ends: Ends):
    said, taken = bytes(range(256)) * 64, 0
    while not ends.ours.has_unsent:
        taken += ends.ours.send(said[:10_000])
    with pytest.raises(BlockingIOError):
        ends.ours.send(b"too much")

    found = b""
    while len(found) < taken:
        ends.ours.flush()
        found += ends.theirs.recv(1 << 16)
    assert found == said[:10_000] * (taken // 10_000)
    assert not ends.ours.has_unsent
    assert ends.ours.send(b"and more") == 8
    assert ends.theirs.recv(100) == b"and more"


def test_the_certificate_is_told(ends: Ends):
    certificate = ends.ours.getpeercert()

    assert certificate is not None
    assert ("DNS", "localhost") in certificate["subjectAltName"]


@pytest.mark.parametrize("name", ["elsewhere", "localhost"])
def test_who_cannot_be_trusted_is_refused_and_told_so(authority, tmp_path, name):
    stranger = Authority(tmp_path / "stranger") if name == "localhost" else authority
    one, other = connected()
    errors: list[BaseException] = []

    def serve() -> None:
        try:
            other_side(stranger, tmp_path, other, name).close()
        except ssl.SSLError as error:
            errors.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(ssl.SSLCertVerificationError):
        TlsSocket.over(one, trusting(authority), "localhost", SECONDS)
    thread.join(SECONDS)
    other.close()

    assert one.fileno() == -1


def test_a_peer_that_says_nothing_is_given_up(authority):
    one, other = connected()
    with pytest.raises(TimeoutError):
        TlsSocket.over(one, trusting(authority), "localhost", 0.05)
    other.close()


def test_a_peer_that_hangs_up_amid_the_handshake_is_an_error(authority):
    one, other = connected()
    other.close()

    with pytest.raises(OSError):
        TlsSocket.over(one, trusting(authority), "localhost", SECONDS)
