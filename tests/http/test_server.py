"""Connections of the page: many at once, silent ones, those that do not read, strangers to TLS."""

from __future__ import annotations

import asyncio
import logging
import select
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import uvicorn
from harness.certificates import Authority
from harness.programs import WAIT_SECONDS, until
from harness.yard import fleet
from starlette.types import ASGIApp

from monitor.http.published import Page
from monitor.http.server import UNSENT_BYTES_MAX, HttpConnection, InParts, QuietServer
from monitor.http.service import Service

ASKED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LARGE = 16 << 20  # bytes; more than the system takes of a sender whose reader does not read


class App:
    """Answers with ``size`` bytes; while ``gate`` is not set the event loop waits."""

    def __init__(self, size: int = 2) -> None:
        self.size = size
        self.gate = threading.Event()
        self.gate.set()
        self.asked = 0

    async def __call__(self, _scope: object, _receive: object, send) -> None:
        self.asked += 1
        self.gate.wait(WAIT_SECONDS)
        headers = [(b"content-length", b"%d" % self.size)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"x" * self.size})


class Served:
    """A server in a thread, and its address."""

    def __init__(self, server: QuietServer, address: tuple[str, int]) -> None:
        self.server = server
        self.address = address

    @property
    def connections(self) -> list[HttpConnection]:
        """Those that have a place."""
        return self.server._connections()

    def of(self, source: str) -> int:
        """Return how many places an address has."""
        return sum(each.address == source for each in self.connections)


@contextmanager
def served(
    app: ASGIApp, most: int, head_seconds: float = WAIT_SECONDS, tls: ssl.SSLContext | None = None
) -> Iterator[Served]:
    """Serve ``app`` in a thread."""
    settings = uvicorn.Config(InParts(app), lifespan="off", log_config=None)
    settings.load()
    settings.ssl = tls
    server = QuietServer(settings, most, head_seconds)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        serving.start()
        try:
            until("it listens", lambda: server.started)
            yield Served(server, listening.getsockname())
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


def asking(
    address: tuple[str, int], many: int, stack: ExitStack, source: str = "127.0.0.1"
) -> list[socket.socket]:
    """Return so many open connections, all of which have asked once all are open."""
    clients = connected(address, many, stack, source)
    for each in clients:
        each.sendall(ASKED)
    return clients


def read_whole(client: socket.socket, size: int) -> int:
    """Return how many of at least ``size`` bytes came."""
    left = size
    while left > 0 and (part := client.recv(1 << 20)):
        left -= len(part)
    return size - max(left, 0)


def rest_of(client: socket.socket) -> bytes:
    """Return what still comes until the connection is closed."""
    rest = b""
    try:
        while part := client.recv(1 << 16):
            rest += part
    except ConnectionError:
        pass
    return rest


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


def test_whoever_reads_has_the_metrics_while_seventy_do_not_read(monkeypatch):
    """None of the seventy gives up its place meanwhile."""
    monkeypatch.setattr("monitor.http.server.PROGRESS_SECONDS", 10 * WAIT_SECONDS)
    service = Service("127.0.0.1", 0, header_timeout_seconds=10 * WAIT_SECONDS)
    service.publish(Page(fleet(2000)))
    service.tick(WAIT_SECONDS)
    service.start()
    address = ("127.0.0.1", int(service.url.rpartition(":")[2]))
    with ExitStack() as stack:
        stack.callback(service.stop)
        readers = connected(address, 70, stack)
        for each in readers:
            each.sendall(ASKED.replace(b"/", b"/metrics", 1))
        assert {each.recv(12)[9:] for each in readers} == {b"200"}
        scrapes = []
        for _ in range(8):
            with urllib.request.urlopen(f"{service.url}/metrics", timeout=WAIT_SECONDS) as answer:
                scrapes.append(len(answer.read()))

        assert len(scrapes) == 8
        assert min(scrapes) > 5_000_000
        assert not any(select.select([each], [], [], 0.0)[0] == [] for each in readers)


def test_a_reader_that_takes_nothing_is_closed_and_a_slow_one_is_not():
    """The times are those that the server is told, not those of a clock."""
    with served(App(LARGE), 16) as it, ExitStack() as stack:
        (reader,) = asking(it.address, 1, stack)
        until("it is sent as much as the system takes", lambda: stalled(it.connections))
        (connection,) = it.connections
        now = connection.since
        looked(it, now := now + 1.0)
        for _ in range(5):
            assert reader.recv(1 << 21)
            until("the system sent more", lambda at=now + 4.0: looked(it, at) == at)
            now = connection.since
        looked(it, connection.since + 4.9)
        assert it.connections
        until(
            "it is closed 5 s after the system sent the last of it",
            lambda: looked(it, connection.since + 5.0) and not it.connections,
        )


def stalled(connections: list[HttpConnection]) -> bool:
    """Return whether all of them wait for their readers."""
    return bool(connections) and all(
        each.flow is not None and each.flow.write_paused for each in connections
    )


def looked(it: Served, now: float) -> float:
    """Let a server look at its connection, if it has one, as if at ``now``; when it progressed."""

    async def look() -> float:
        for connection in it.connections:
            connection.look(now)
        return max((connection.since for connection in it.connections), default=now)

    return asyncio.run_coroutine_threadsafe(look(), it.server._loop).result(WAIT_SECONDS)


def test_a_reader_that_takes_nothing_gives_up_its_place_by_itself(monkeypatch):
    monkeypatch.setattr("monitor.http.server.PROGRESS_SECONDS", 0.3)
    with served(App(LARGE), 16) as it, ExitStack() as stack:
        asking(it.address, 3, stack)
        until(
            "all have been closed",
            lambda: (
                it.server.server_state.total_requests
                or (not it.connections and not it.server.server_state.tasks)
            ),
        )

        assert not it.server.server_state.total_requests


def test_no_address_has_more_than_a_quarter_of_the_places_while_others_wait():
    async def endless(_scope: object, _receive: object, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await asyncio.sleep(WAIT_SECONDS)

    with served(endless, 16) as it, ExitStack() as stack:
        clients = asking(it.address, 16, stack, "127.0.0.2")
        assert [status_of(each) for each in clients] == [b"200"] * 16
        for number in (3, 4, 5):
            for _ in range(4):
                (client,) = asking(it.address, 1, stack, f"127.0.0.{number}")
                assert status_of(client) == b"200"

        assert [it.of(f"127.0.0.{number}") for number in (2, 3, 4, 5)] == [4, 4, 4, 4]


def test_a_hundred_who_come_at_the_same_instant_as_strangers_are_all_answered():
    """All have connected and asked before the server accepts the first of them."""
    app = App()
    with served(app, 256) as it, ExitStack() as stack:
        (first,) = connected(it.address, 1, stack)
        app.gate.clear()
        first.sendall(ASKED)
        until("its loop stands still", lambda: app.asked == 1)
        connected(it.address, 150, stack, "127.0.0.2")
        clients = asking(it.address, 100, stack)
        connected(it.address, 150, stack, "127.0.0.2")
        app.gate.set()

        assert [status_of(each) for each in clients] == [b"200"] * 100


def test_who_has_asked_is_answered_while_strangers_that_say_nothing_push_each_other_out():
    with served(App(), 8) as it, ExitStack() as stack:
        slow = connected(it.address, 3, stack)
        strangers = connected(it.address, 20, stack, "127.0.0.2")
        until("fifteen are closed", lambda: closed(strangers) == 15)

        assert closed(strangers[:15]) == 15
        for each in slow:
            each.sendall(ASKED)
            assert status_of(each) == b"200"


def test_as_many_as_there_are_places_stay():
    with served(App(), 8) as it, ExitStack() as stack:
        clients = connected(it.address, 8, stack)
        until("all are let in", lambda: len(it.connections) == 8)

        assert not closed(clients)


def test_who_waits_for_a_password_to_be_checked_keeps_nobody_out():
    """A password takes a while; guesses from many addresses would fill every place."""
    checked = threading.Event()

    async def door(scope: dict, receive: object, send: object) -> None:
        if scope["path"] == "/guess":
            await asyncio.to_thread(checked.wait)
        await App()(scope, receive, send)

    with served(door, 8) as it, ExitStack() as stack:
        stack.callback(checked.set)
        guessers = [
            client
            for source in ("127.0.0.2", "127.0.0.3")
            for client in connected(it.address, 4, stack, source)
        ]
        for each in guessers:
            each.sendall(ASKED.replace(b"/", b"/guess", 1))
        until("all places are taken", lambda: len(it.connections) == 8)
        (reader,) = asking(it.address, 1, stack)

        assert status_of(reader) == b"200"
        assert closed(guessers) == 1


def test_what_is_unsent_takes_a_bounded_memory_and_who_reads_has_all():
    with served(App(LARGE), 64) as it, ExitStack() as stack:
        for _ in range(12):
            (silent,) = asking(it.address, 1, stack)
            assert status_of(silent) == b"200"
            (reader,) = asking(it.address, 1, stack)
            assert read_whole(reader, LARGE) == LARGE
            assert sum(each.unsent for each in it.connections) <= UNSENT_BYTES_MAX
            reader.close()


def test_a_slow_reader_has_the_time_of_an_answer_and_not_that_of_a_head():
    with served(App(LARGE), 16, 0.2) as it, ExitStack() as stack:
        (reader,) = asking(it.address, 1, stack)
        until(
            "it is sent as much as the system takes",
            lambda: stalled(it.connections),
        )
        time.sleep(0.6)

        assert read_whole(reader, LARGE) == LARGE
        # Said nothing more, for longer than a head may take.
        assert not rest_of(reader).strip(b"x")


def test_the_rest_of_an_answer_over_tls_has_the_time_of_an_answer(contexts):
    """What TLS has handed on is not seen to be unsent; how much that is hangs on the system."""
    sizes = range(2_600_000, 3_400_000, 50_000)
    tls, trusting = contexts

    async def sized(scope: dict, receive: object, send: object) -> None:
        await App(int(scope["path"][1:]))(scope, receive, send)

    with served(sized, 256, 0.2, tls) as it, ExitStack() as stack:
        readers = []
        for size in sizes:
            plain = stack.enter_context(socket.socket())
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            plain.connect(it.address)
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
    with served(App(), 4, 0.2) as it, ExitStack() as stack:
        (client,) = connected(it.address, 1, stack)
        client.sendall(ASKED)
        assert client.recv(1 << 16)
        client.sendall(ASKED[:10])
        assert status_of(client) == b""


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01"])
def test_clients_that_end_no_handshake_take_no_more_places_than_others(contexts, said):
    most = 16
    tls, trusting = contexts
    with served(App(), 16, WAIT_SECONDS, tls) as it, ExitStack() as stack:
        strangers = connected(it.address, 3 * most, stack)
        for each in strangers[-most:]:
            each.sendall(said)
        until("the oldest are closed", lambda: closed(strangers) == 2 * most)
        (plain,) = connected(it.address, 1, stack)
        with trusting.wrap_socket(plain, server_hostname="localhost") as client:
            client.sendall(ASKED)
            assert status_of(client) == b"200"
        assert closed(strangers) == 2 * most + 1


def test_a_client_that_begins_no_handshake_is_closed_in_the_time_of_a_head(contexts):
    tls, _ = contexts
    with served(App(), 16, 0.2, tls) as it, ExitStack() as stack:
        (stranger,) = connected(it.address, 1, stack)
        assert status_of(stranger) == b""


@pytest.mark.parametrize("method", [b"GET", b"POST"])
@pytest.mark.parametrize("size", [2, LARGE])
def test_a_broken_chunk_after_a_request_leaves_no_traceback(method, size, caplog):
    asked = b"%b / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" % method
    with served(App(size), 4) as it, ExitStack() as stack:
        for parts in ((asked + b"nonsense\r\n",), (asked, b"nonsense\r\n")):
            (client,) = connected(it.address, 1, stack)
            for part in parts:
                client.sendall(part)
                if len(parts) > 1 and part is asked:
                    assert status_of(client) == b"200"
            with suppress(ConnectionError):
                while client.recv(1 << 20):
                    pass

    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


def test_a_request_cut_by_the_end_of_the_server_leaves_no_traceback(caplog):
    asked = threading.Event()

    async def endless(_scope: object, _receive: object, _send: object) -> None:
        asked.set()
        await asyncio.sleep(WAIT_SECONDS)

    with served(endless, 4) as it, ExitStack() as stack:
        asking(it.address, 1, stack)
        assert asked.wait(WAIT_SECONDS)

    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]
