"""Connections of the page: many at once, silent ones, slow readers, strangers to TLS."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import uvicorn
from harness.certificates import Authority
from harness.programs import WAIT_SECONDS, until
from starlette.types import ASGIApp

from monitor.http.admission import Connections, InTurn
from monitor.http.server import QuietServer

ASKED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = 16 << 20  # bytes; more than the system takes of a sender whose reader does not read


class App:
    """Answers with ``size`` bytes.

    While ``gate`` is not set every answer waits, and while ``blocking`` is not the event loop does.
    """

    def __init__(self, size: int = 2) -> None:
        self.size = size
        self.gate = threading.Event()
        self.gate.set()
        self.blocking = threading.Event()
        self.blocking.set()
        self.answering = 0
        self.asked = 0
        self.most = 0

    async def __call__(self, _scope: object, _receive: object, send) -> None:
        self.asked += 1
        self.answering += 1
        self.most = max(self.most, self.answering)
        self.blocking.wait(WAIT_SECONDS)
        if not self.gate.is_set():
            await asyncio.to_thread(self.gate.wait)
        length = str(self.size).encode()
        headers = [(b"content-length", length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"x" * self.size})
        self.answering -= 1


@contextmanager
def served(
    app: ASGIApp, connections: Connections, tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, int]]:
    """Serve ``app`` in a thread; the address."""
    answering = InTurn(app) if isinstance(app, App) else app
    settings = uvicorn.Config(answering, lifespan="off", log_config=None)
    settings.load()
    settings.ssl = tls
    server = QuietServer(settings, connections)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        serving.start()
        try:
            until("it listens", lambda: server.started)
            yield listening.getsockname()
        finally:
            server.end()
            serving.join(WAIT_SECONDS)


def connected(
    address: tuple[str, int], many: int, stack: ExitStack, source: str = "127.0.0.1"
) -> list[socket.socket]:
    """Return so many open connections, which the stack closes."""
    own = (source, 0)
    return [
        stack.enter_context(socket.create_connection(address, WAIT_SECONDS, own))
        for _ in range(many)
    ]


def asking(address: tuple[str, int], many: int, stack: ExitStack) -> list[socket.socket]:
    """Return so many open connections, all of which have asked once all are open."""
    clients = connected(address, many, stack)
    for each in clients:
        each.sendall(ASKED)
    return clients


def status_of(client: socket.socket) -> bytes:
    """Return the status of the answer that comes next, nothing if the connection is closed."""
    try:
        return client.recv(12)[9:]
    except ConnectionError:
        return b""


def closed(clients: list[socket.socket]) -> int:
    """Return how many of them, none of which was answered, were closed."""
    return len(select.select(clients, [], [], 0.0)[0])


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return what a server has, and a client that trusts it."""
    authority = Authority(tmp_path / "authority")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*authority.issue("server", "localhost"))
    return tls, ssl.create_default_context(cafile=str(authority.ca_file))


def test_of_more_who_ask_at_once_than_are_answered_at_a_time_each_has_an_answer():
    app, limits = App(), Connections(16, WAIT_SECONDS)
    app.gate.clear()
    with served(app, limits) as address, ExitStack() as stack:
        clients = asking(address, 16, stack)
        until("four are being answered", lambda: app.answering == 4)
        app.gate.set()

        assert [status_of(each) for each in clients] == [b"200"] * len(clients)
    assert app.most == 4


def test_many_who_come_at_the_same_instant_do_not_push_each_other_out():
    """All have connected and asked before the server accepts the first of them."""
    app = App()
    with served(app, Connections(16, WAIT_SECONDS)) as address, ExitStack() as stack:
        (first,) = connected(address, 1, stack)
        app.blocking.clear()
        first.sendall(ASKED)
        until("its loop stands still", lambda: app.answering == 1)
        clients = asking(address, 160, stack)
        app.blocking.set()

        assert [status_of(each) for each in clients] == [b"200"] * len(clients)


def test_a_new_client_takes_the_place_of_the_oldest_that_says_nothing():
    most = 8
    with served(App(), Connections(8, WAIT_SECONDS)) as address, ExitStack() as stack:
        clients = connected(address, most + 3, stack)
        until("three are closed", lambda: closed(clients) == 3)

        assert closed(clients[:3]) == 3
        for each in clients[3:]:
            each.sendall(ASKED)
            assert status_of(each) == b"200"


def test_as_many_as_there_are_places_stay():
    limits = Connections(8, WAIT_SECONDS)
    with served(App(), limits) as address, ExitStack() as stack:
        clients = []
        for number in range(1, 9):
            clients += connected(address, 1, stack)
            until("it is let in", lambda most=number: len(limits._open) == most)

        assert not closed(clients)


def test_of_addresses_with_as_many_silent_ones_the_first_makes_room():
    limits = Connections(4, WAIT_SECONDS)
    with served(App(), limits) as address, ExitStack() as stack:
        clients = []
        for number, last in enumerate((5, 9, 2, 7, 3), start=1):
            clients += connected(address, 1, stack, f"127.0.0.{last}")
            until("it is let in", lambda most=number: len(limits._open) == min(most, 4))
        until("one is closed", lambda: closed(clients) == 1)

        assert closed(clients[:1]) == 1


def test_who_leaves_while_waiting_for_a_turn_is_not_answered():
    app, limits = App(), Connections(8, WAIT_SECONDS)
    app.gate.clear()
    with served(app, limits) as address, ExitStack() as stack:
        answered = asking(address, 2, stack)
        until("two are being answered", lambda: app.answering == 2)
        for _ in range(20):
            with socket.create_connection(address, WAIT_SECONDS) as leaving:
                leaving.sendall(ASKED)
                until("it waits", lambda: limits._waiting)
                # A reset, so that the server knows at once that nobody is there.
                leaving.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            until("its place is free", lambda: len(limits._open) == 2)
        app.gate.set()

        assert [status_of(each) for each in answered] == [b"200"] * 2
    assert app.most == 2
    assert app.asked == 2


def test_many_silent_ones_push_out_nobody_who_comes_from_elsewhere():
    with served(App(), Connections(8, WAIT_SECONDS)) as address, ExitStack() as stack:
        slow = connected(address, 3, stack)
        strangers = connected(address, 20, stack, "127.0.0.2")
        until("fifteen are closed", lambda: closed(strangers) == 15)

        for each in slow:
            each.sendall(ASKED)
            assert status_of(each) == b"200"


def test_while_all_are_being_answered_the_next_one_waits():
    app, limits = App(), Connections(4, WAIT_SECONDS)
    app.gate.clear()
    with served(app, limits) as address, ExitStack() as stack:
        clients = asking(address, 4, stack)
        until("all have asked", lambda: app.answering == 1 and not limits._silent)
        clients += connected(address, 1, stack)
        clients[-1].sendall(ASKED)
        assert not closed(clients)
        app.gate.set()

        assert [status_of(each) for each in clients] == [b"200"] * len(clients)


def test_who_waits_for_a_password_to_be_checked_keeps_nobody_out():
    """A password takes a while; guesses from many addresses would fill every place."""
    app, limits = App(), Connections(8, WAIT_SECONDS)
    checked = threading.Event()

    async def door(scope: dict, receive: object, send: object) -> None:
        if scope["path"] == "/guess":
            await asyncio.to_thread(checked.wait)
        await InTurn(app)(scope, receive, send)

    with served(door, limits) as address, ExitStack() as stack:
        stack.callback(checked.set)
        guessers = connected(address, 4, stack, "127.0.0.2") + connected(
            address, 4, stack, "127.0.0.3"
        )
        for each in guessers:
            each.sendall(ASKED.replace(b"/", b"/guess", 1))
        until("all places are taken", lambda: len(limits._open) == 8)
        (reader,) = connected(address, 1, stack)
        reader.sendall(ASKED)

        assert status_of(reader) == b"200"
        assert closed(guessers) == 1


def test_a_slow_reader_has_the_time_of_an_answer_and_not_that_of_a_head():
    app, limits = App(LARGE), Connections(16, 0.2)
    with served(app, limits) as address, ExitStack() as stack:
        (reader,) = connected(address, 1, stack)
        reader.sendall(ASKED)
        until("it is answered", lambda: app.most == 1 and not app.answering)
        time.sleep(0.6)
        left = LARGE
        while left > 0 and (part := reader.recv(1 << 20)):
            left -= len(part)

        assert left <= 0
        reader.settimeout(WAIT_SECONDS)
        assert status_of(reader) == b""  # said nothing more, for longer than a head may take


def test_the_rest_of_an_answer_over_tls_has_the_time_of_an_answer(contexts):
    """What TLS has handed on is not seen to be unsent; how much that is hangs on the system."""
    sizes = range(2_600_000, 3_400_000, 50_000)
    tls, trusting = contexts

    async def sized(scope: dict, receive: object, send: object) -> None:
        await InTurn(App(int(scope["path"][1:])))(scope, receive, send)

    with served(sized, Connections(256, 0.2), tls) as address, ExitStack() as stack:
        readers = []
        for size in sizes:
            plain = stack.enter_context(socket.socket())
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            plain.connect(address)
            plain.settimeout(WAIT_SECONDS)
            reader = stack.enter_context(trusting.wrap_socket(plain, server_hostname="localhost"))
            reader.sendall(ASKED.replace(b"/", b"/%d" % size, 1))
            readers.append(reader)
        time.sleep(1.0)
        for size, reader in zip(sizes, readers, strict=True):
            got = 0
            while got < size and (part := reader.recv(1 << 16)):
                got += len(part)
            assert got >= size


def test_a_head_after_an_answer_has_its_time_too():
    with served(App(), Connections(4, 0.2)) as address, ExitStack() as stack:
        (client,) = connected(address, 1, stack)
        client.sendall(ASKED)
        assert client.recv(1 << 16)
        client.sendall(ASKED[:10])
        assert status_of(client) == b""


def test_slow_readers_are_answered_only_so_many_at_a_time():
    """What is unsent takes memory, as much as an answer has."""
    app, limits = App(LARGE), Connections(8, WAIT_SECONDS)
    with served(app, limits) as address, ExitStack() as stack:
        readers = asking(address, 3, stack)
        until("two are answered", lambda: app.most >= 1 and not app.answering)
        begun = [bool(select.select([each], [], [], 0.3)[0]) for each in readers]
        assert begun.count(True) == 2

        readers[begun.index(True)].close()
        assert status_of(readers[begun.index(False)]) == b"200"


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01"])
def test_clients_that_end_no_handshake_take_no_more_places_than_others(contexts, said):
    most = 16
    tls, trusting = contexts
    with served(App(), Connections(16, WAIT_SECONDS), tls) as address, ExitStack() as stack:
        strangers = connected(address, 3 * most, stack)
        for each in strangers[-most:]:
            each.sendall(said)
        until("the oldest are closed", lambda: closed(strangers) == 2 * most)
        (plain,) = connected(address, 1, stack)
        with trusting.wrap_socket(plain, server_hostname="localhost") as client:
            client.sendall(ASKED)
            assert status_of(client) == b"200"
        assert closed(strangers) == 2 * most + 1


def test_a_client_that_begins_no_handshake_is_closed_in_the_time_of_a_head(contexts):
    tls, _ = contexts
    with served(App(), Connections(16, 0.2), tls) as address, ExitStack() as stack:
        (stranger,) = connected(address, 1, stack)
        assert status_of(stranger) == b""
