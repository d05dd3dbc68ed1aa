"""The wire: bytes as they come, over TLS beside the library's own socket on the other side."""

from __future__ import annotations

import fcntl
import resource
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from harness.certificates import Authority
from harness.programs import WAIT_SECONDS

from monitor.mqtt.tls import RECORD_BYTES
from monitor.mqtt.wire import READ_BYTES, EndedError, Wire

SECONDS = WAIT_SECONDS


class Ends(NamedTuple):
    """Both ends of a connection: ours, and the other one, which blocks."""

    ours: Wire
    theirs: socket.socket


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def trusting(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.ca_file))


def other_side(
    authority: Authority, folder: Path, plain: socket.socket, name: str
) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*map(str, authority.issue("broker", name)))
    plain.settimeout(SECONDS)
    return context.wrap_socket(plain, server_side=True, suppress_ragged_eofs=False)


def connected(
    accept: Callable[[socket.socket], socket.socket], context: ssl.SSLContext | None
) -> Ends:
    """Connect a wire to what ``accept`` makes of the other end."""
    made: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=lambda: made.append(accept(listening.accept()[0])))
        thread.start()
        port = listening.getsockname()[1]
        try:
            ours = Wire.connect("localhost", port, SECONDS, context)
        finally:
            thread.join(SECONDS)
    return Ends(ours, made[0])


@pytest.fixture(params=["plain", "tls"])
def ends(request, authority: Authority, tmp_path: Path) -> Iterator[Ends]:
    if request.param == "plain":
        made = connected(lambda plain: plain, None)
    else:
        made = connected(
            lambda plain: other_side(authority, tmp_path, plain, "localhost"), trusting(authority)
        )
        made.theirs.sendall(b"!")
        assert received(made.ours, 1) == b"!"  # and the tickets of TLS 1.3 with it
    yield made
    made.ours.close()
    made.theirs.close()


def received(ours: Wire, wanted: int) -> bytes:
    """Return so many bytes, waiting for them as the source does."""
    found = b""
    while len(found) < wanted:
        assert ours.wait(1, SECONDS), "nothing comes"
        found += ours.receive()
    return found


def test_many_records_are_one_read(ends: Ends):
    sent = [bytes([at % 256]) * (at % 50 + 1) for at in range(500)]
    for each in sent:
        ends.theirs.sendall(each)
    total = sum(map(len, sent))
    assert ends.ours.wait(total, SECONDS)  # of TLS more is there: each record has a head
    reads, found = 0, b""
    while len(found) < total:
        found += ends.ours.receive()
        reads += 1

    assert found == b"".join(sent)
    assert reads <= 4  # a connection of this kind may hold back a part


@pytest.mark.parametrize("size", [1, 1000, RECORD_BYTES, 3 * READ_BYTES + 7])
def test_whatever_is_sent_at_once_the_bytes_are_the_same(ends: Ends, size: int):
    sent = (bytes(range(256)) * (1 + size // 256))[:size]
    writer = threading.Thread(target=lambda: ends.theirs.sendall(sent))
    writer.start()

    assert received(ends.ours, len(sent)) == sent
    writer.join(SECONDS)
    assert not ends.ours.wait(1, 0.0)
    assert ends.ours.receive() == b""
    assert ends.ours.is_drained


def test_a_read_that_may_have_left_something_says_so(ends: Ends):
    writer = threading.Thread(target=lambda: ends.theirs.sendall(b"x" * 4 * READ_BYTES))
    writer.start()
    left, was_full = 4 * READ_BYTES, 0
    while left:
        assert ends.ours.wait(READ_BYTES if left >= 2 * READ_BYTES else 1, SECONDS)
        left -= len(ends.ours.receive())
        was_full += not ends.ours.is_drained
    writer.join(SECONDS)

    assert was_full


@pytest.mark.parametrize("politely", [True, False])
def test_the_end_is_seen_after_what_came_before_it(ends: Ends, *, politely: bool):
    ends.theirs.sendall(b"last words")
    if politely and isinstance(ends.theirs, ssl.SSLSocket):
        ends.theirs.settimeout(0.0)
        with pytest.raises(ssl.SSLWantReadError):
            ends.theirs.unwrap()
    ends.theirs.close()

    assert received(ends.ours, 10) == b"last words"
    for _ in range(2):
        assert ends.ours.wait(100, SECONDS)
        with pytest.raises(EndedError):
            ends.ours.receive()


def test_a_connection_that_is_reset_is_an_error_of_the_network(ends: Ends):
    linger = b"\1\0\0\0\0\0\0\0"
    ends.theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    ends.theirs.close()

    assert ends.ours.wait(1, SECONDS)
    with pytest.raises(ConnectionResetError):
        ends.ours.receive()
    ends.ours.write(b"into the void")
    ends.ours.flush()  # is no error: the next read tells


def test_a_reset_that_a_write_meets_first_is_an_error_of_the_network_too(ends: Ends):
    linger = b"\1\0\0\0\0\0\0\0"
    ends.theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    ends.theirs.close()

    assert ends.ours.wait(1, SECONDS)
    for _ in range(2):
        ends.ours.write(b"into the void")
        ends.ours.flush()
    for _ in range(2):
        with pytest.raises(ConnectionResetError):
            ends.ours.receive()


def test_who_hung_up_has_not_reset_the_connection_whatever_is_written_then(ends: Ends):
    ends.theirs.close()

    assert ends.ours.wait(1, SECONDS)
    for _ in range(3):  # the answer to the first is a reset
        ends.ours.write(b"into the void")
        ends.ours.flush()
        time.sleep(0.05)
    with pytest.raises(EndedError):
        ends.ours.receive()


def test_what_the_system_does_not_take_waits_and_is_sent_in_order(ends: Ends):
    part, written = bytes(range(256)) * 1000, 0
    while not ends.ours.has_unsent:
        ends.ours.write(part)
        ends.ours.flush()
        written += len(part)
    ends.ours.write(b"and more")

    found = b""
    while len(found) < written + 8:
        ends.ours.flush()
        assert select.select([ends.theirs], [], [], SECONDS)[0]
        found += ends.theirs.recv(1 << 16)
    assert found == part * (written // len(part)) + b"and more"
    assert not ends.ours.has_unsent


def test_whoever_waits_to_read_is_woken_where_something_can_be_sent(ends: Ends):
    ends.ours.write(b"x")

    assert not ends.ours.wait(1, SECONDS)
    ends.ours.flush()
    assert ends.theirs.recv(10) == b"x"


def test_the_end_of_the_certificate_is_told(ends: Ends):
    is_encrypted = isinstance(ends.theirs, ssl.SSLSocket)

    assert (ends.ours.not_after() is not None) == is_encrypted


@pytest.mark.parametrize("name", ["elsewhere", "localhost"])
def test_who_cannot_be_trusted_is_refused_and_told_so(authority, tmp_path, name):
    stranger = Authority(tmp_path / "stranger") if name == "localhost" else authority
    errors: list[BaseException] = []

    def serve(plain: socket.socket) -> socket.socket:
        try:
            other_side(stranger, tmp_path, plain, name).close()
        except ssl.SSLError as error:
            errors.append(error)
        plain.close()
        return plain

    with pytest.raises(ssl.SSLCertVerificationError):
        connected(serve, trusting(authority))
    assert "alert" in str(errors[0]).lower()


def test_a_peer_that_says_nothing_is_given_up(authority):
    with socket.create_server(("127.0.0.1", 0)) as listening, pytest.raises(TimeoutError):
        Wire.connect("localhost", listening.getsockname()[1], 0.05, trusting(authority))


@pytest.mark.parametrize("what", ["tls", "websocket"])
def test_a_peer_that_keeps_a_handshake_going_is_given_up_too(what, authority):
    """It drips the head of a TLS record, or of an answer to a WebSocket, byte by byte."""
    sent, dripping = 0, threading.Event()
    drips = b"\x16\x03\x03\x3f\xff" + bytes(60_000) if what == "tls" else b"HTTP/1.1 101 " * 4000
    context = trusting(authority) if what == "tls" else None

    def drip(listening: socket.socket) -> None:
        nonlocal sent
        with listening.accept()[0] as plain, suppress(OSError):
            for at in range(len(drips)):
                plain.sendall(drips[at : at + 1])
                sent = at
                if dripping.wait(0.01):
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=[listening])
        thread.start()
        try:
            path = None if what == "tls" else "/mqtt"
            with pytest.raises(OSError, match="timed out"):
                Wire.connect("127.0.0.1", listening.getsockname()[1], 0.3, context, path)
        finally:
            dripping.set()
            thread.join(SECONDS)
    assert 0 < sent < len(drips) - 1


def test_a_wire_has_any_number():
    """Also one above 1023, as in a process with many files or connections open."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = 1500
    if most[1] <= number:
        pytest.skip("no process may open so many files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(number + 1, most[0]), most[1]))
    theirs, ours = socket.socketpair()
    try:
        with ours, theirs, socket.socket(fileno=fcntl.fcntl(ours, fcntl.F_DUPFD, number)) as far:
            wire = Wire(far)
            assert not wire.wait(1, 0.0)
            theirs.sendall(b"!")
            assert wire.wait(1, SECONDS)
            assert wire.receive() == b"!"
            theirs.shutdown(socket.SHUT_WR)
            assert wire.wait(1, SECONDS)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_a_peer_that_hangs_up_amid_the_handshake_is_an_error(authority):
    def hang_up(plain: socket.socket) -> socket.socket:
        plain.close()
        return plain

    with pytest.raises(OSError):
        connected(hang_up, trusting(authority))
