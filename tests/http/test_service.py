"""The HTTP service: health, limits, and pages that hostile names cannot break."""

from __future__ import annotations

import asyncio
import http.client
import re
import socket
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing, suppress
from email.utils import parsedate_to_datetime

import pytest
import uvicorn
from harness.http_service import answers, get, page, serving
from harness.programs import WAIT_SECONDS, until

from monitor.http.server import HttpConnection, QuietServer
from monitor.http.service import Service, ServiceError


def test_it_says_once_when_all_that_it_needs_is_loaded():
    said: list[bool] = []
    service = Service("127.0.0.1", 0, loaded=lambda: said.append("uvicorn" in sys.modules))
    service.start()
    try:
        until("the service answers", lambda: answers(service))
        assert said == [True]
    finally:
        service.stop()


def test_its_thread_sleeps_until_somebody_asks_and_every_answer_has_a_date(service):
    date = parsedate_to_datetime(get(service, "/healthz")[2]["Date"])
    loop = service._server._loop

    def has_no_timer() -> bool:
        return all(each.cancelled() for each in [*loop._scheduled])

    until("no timer is set", has_no_timer)
    assert has_no_timer()
    assert abs(date.timestamp() - time.time()) < 3600.0


def test_slow_connections_are_dropped_and_do_not_keep_others_out(service):
    service.publish(page())
    port = int(service.url.rsplit(":", 1)[1])
    slow = []
    try:
        for _ in range(100):
            slow.append(socket.create_connection(("127.0.0.1", port)))
            slow[-1].sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n")
            assert get(service, "/metrics")[0] == 200
        for each in slow:
            each.settimeout(WAIT_SECONDS)
            try:
                assert each.recv(1) == b""
            except ConnectionError:
                continue
    finally:
        for each in slow:
            each.close()


def test_an_idle_connection_may_ask_again_within_the_limit(service):
    service.publish(page())
    connection = http.client.HTTPConnection(service.url.removeprefix("http://"))
    for _ in range(3):
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok\n"
        time.sleep(0.1)
    connection.close()


def test_a_request_that_came_with_another_has_the_time_of_an_answer(service, monkeypatch):
    monkeypatch.setattr("monitor.http.answers.WAIT_SECONDS", 1.0)  # twice the head's
    service.publish(page())
    host, port = service.url.removeprefix("http://").split(":")
    paths = ("/healthz", "/api/v1/series/cart-01/mass/pairs")
    asked = "".join(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n" for path in paths)
    with socket.create_connection((host, int(port)), WAIT_SECONDS) as asking:
        asking.sendall(asked.encode())
        answers, told = b"", b"ask again"
        while told not in answers and (more := asking.recv(4096)):
            answers += more

    assert told in answers


def test_a_taken_address_is_said_with_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        service = Service("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(ServiceError, match=r"set http\.port"):
            service.start()


def test_stopping_ends_its_thread_and_nobody_answers_any_more(service):
    assert serving()
    service.stop()

    until("its thread has ended", lambda: not serving())
    assert get(service, "/healthz")[0] == 0


def test_the_documentation_is_searched_and_what_is_asked_is_only_text(service):
    service.publish(page())
    text = get(service, "/docs?q=no+pairs")[1].decode()
    hostile = get(service, "/docs?q=%3Cscript%3E")[1].decode()

    assert re.findall(r'href="(/docs/[\w.-]+#[\w-]+)"', text)[0] == "/docs/pairing#no-pairs"
    assert "<script>" not in hostile
    assert "No section holds all of these words" in hostile


def test_an_answers_body_does_not_wait_for_the_receipt_of_its_head(monkeypatch):
    """Nagle's algorithm and delayed acknowledgements would add 40 ms to every answer."""
    found = []
    made = HttpConnection.connection_made

    def look(self: HttpConnection, transport: asyncio.Transport) -> None:
        connection = transport.get_extra_info("socket")
        found.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(HttpConnection, "connection_made", look)
    service = Service("127.0.0.1", 0)
    service.start()
    try:
        with urllib.request.urlopen(
            f"{service.url}/static/monitor.css", timeout=WAIT_SECONDS
        ) as answer:
            answer.read()
    finally:
        service.stop()

    assert found
    assert all(found)


def test_a_client_that_is_accepted_while_the_service_ends_is_closed():
    """Its connection would be lost unclosed, which a ResourceWarning tells."""
    settings = uvicorn.Config(lambda *_: None, lifespan="off", log_config=None)
    served = QuietServer(settings)
    listening = socket.create_server(("127.0.0.1", 0))
    clients = []

    def come_at_the_end() -> None:
        clients.append(socket.create_connection(listening.getsockname(), timeout=WAIT_SECONDS))
        served.end()

    async def serve() -> None:
        asyncio.get_running_loop().call_later(0.05, come_at_the_end)
        await served.serve(sockets=[listening])

    asyncio.run(serve())
    with closing(clients[0]) as client, suppress(ConnectionResetError):
        assert client.recv(1) == b""
