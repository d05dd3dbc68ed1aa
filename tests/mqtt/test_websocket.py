"""A broker behind WebSocket is a broker: plain and encrypted, at a real mosquitto."""

from __future__ import annotations

import gc
import json
import random
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from harness.broker import Mosquitto
from harness.cases import further
from harness.certificates import Authority
from harness.daemon import Daemon
from harness.programs import answers, free_port, until
from hypothesis import given
from hypothesis import strategies as some
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)

from monitor.mqtt.publish import BrokerPublisher, PublishError
from monitor.mqtt.websocket import WebSocket, WebSocketError

PAIRS = 'monitor_window_pairs{sensor="s",quantity="x"}'


def send(out: BrokerPublisher, first: int, count: int) -> None:
    for at in range(first, first + count):
        stated = {"time": f"2026-01-01T{at // 60:02}:{at % 60:02}:00Z", "value": 1.0, "u": 1.0}
        out.publish("monitor/s/x/reading", json.dumps(stated).encode())
        out.publish("monitor/s/x/reference", json.dumps(stated).encode())


@pytest.mark.parametrize(
    "session", [("ws", "5"), ("wss", "3.1.1"), *further(("ws", "3.1.1"), ("wss", "5"))], ids=str
)
def test_a_daemon_lives_on_a_websocket(tmp_path: Path, session):
    is_encrypted, protocol = session[0] == "wss", session[1]
    port = free_port()
    more = f"listener {port} 127.0.0.1\nprotocol websockets\n"
    mqtt = "websocket_path: /mqtt"
    if is_encrypted:
        authority = Authority(tmp_path / "authority")
        certificate, key = authority.issue("broker", "127.0.0.1")
        more += f"certfile {certificate}\nkeyfile {key}\n"
        mqtt += f', tls: {{ca_file: "{authority.ca_file}"}}'
    (tmp_path / "broker").mkdir()
    broker = Mosquitto(tmp_path / "broker", more)
    daemon = Daemon(
        tmp_path, port, "verdicts: {prefix: m}", mqtt=f"{mqtt}, keepalive_seconds: 1",
        protocol=protocol,
    )  # fmt: skip
    try:
        daemon.start()
        with BrokerPublisher("127.0.0.1", broker.port) as out:
            send(out, 0, 500)
        until("the pairs are in", lambda: daemon.value(PAIRS) == 500)
        until("verdicts go out", lambda: daemon.value("monitor_verdict_connected") == 1.0)
        broker.stop()
        broker.start()
        with BrokerPublisher("127.0.0.1", broker.port) as out:
            send(out, 500, 1)
        until("it came back", lambda: daemon.value("monitor_messages_committed_total") == 1002)
        assert daemon.stop() == 0
    finally:
        daemon.kill()
        broker.stop()


def test_a_publisher_speaks_websocket_and_says_where_it_does_not(tmp_path):
    port = free_port()
    broker = Mosquitto(tmp_path, f"listener {port} 127.0.0.1\nprotocol websockets\n")
    try:
        until("WebSocket listens", lambda: answers(port))
        with BrokerPublisher("127.0.0.1", port, websocket_path="/mqtt") as out:
            send(out, 0, 20)
            out.flush()
            assert out.acknowledged == 40
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # paho leaves its socket open
            with pytest.raises(PublishError, match="is the broker running"):
                BrokerPublisher("127.0.0.1", broker.port, websocket_path="/mqtt").connect()
            gc.collect()
    finally:
        broker.stop()


def test_a_port_without_websocket_is_said(tmp_path, mosquitto):
    daemon = Daemon(tmp_path, mosquitto.port, mqtt="websocket_path: /mqtt")
    daemon.start(ready=False)
    try:
        until("it says why", lambda: "WebSocket" in daemon.get("/readyz")[1].decode())
    finally:
        daemon.kill()


# -- frames ---------------------------------------------------------------------------------------


class Server:
    """The other side, by the library's own server."""

    def __init__(self) -> None:
        self.connection = WSConnection(ConnectionType.SERVER)
        self.client = WebSocket("h:1", "/mqtt")
        self.connection.receive_data(self.client.to_send())
        (self.request,) = self.connection.events()

    def accept(self) -> None:
        answer = self.connection.send(AcceptConnection(subprotocol="mqtt"))
        assert not self.client.agrees(answer[:20])
        assert self.client.agrees(answer[20:])


def test_the_request_asks_for_mqtt():
    server = Server()
    assert isinstance(server.request, Request)
    assert (server.request.target, server.request.subprotocols) == ("/mqtt", ["mqtt"])
    assert server.request.host == "h:1"


@given(data=some.binary(max_size=3000), cut=some.lists(some.integers(1, 500)), seed=some.integers())
def test_bytes_come_out_as_they_went_in_however_they_are_cut(data, cut, seed):
    server, chance = Server(), random.Random(seed)
    server.accept()
    sent, at = bytearray(), 0
    while at < len(data):
        size = chance.randrange(1, 700)
        finished = chance.random() < 0.7 or at + size >= len(data)
        part = data[at : at + size]
        sent += server.connection.send(BytesMessage(data=part, message_finished=finished))
        if finished:
            sent += server.connection.send(Ping(payload=b"?"))
        at += size
    found = bytearray()
    for size in [*cut, len(sent) + 1]:
        if part := bytes(sent[:size]):
            found += server.client.unwrap(part)
        del sent[:size]
    assert bytes(found) == data
    server.connection.receive_data(server.client.to_send())
    assert all(isinstance(event, Pong) for event in server.connection.events())

    server.client.wrap(data)
    server.connection.receive_data(server.client.to_send())
    back = [each.data for each in server.connection.events() if isinstance(each, BytesMessage)]
    assert b"".join(map(bytes, back)) == data


def test_a_close_is_answered_and_ends():
    server = Server()
    server.accept()
    data = server.connection.send(BytesMessage(data=b"last")) + server.connection.send(
        CloseConnection(code=1000)
    )
    assert server.client.unwrap(data) == b"last"
    assert server.client.has_ended
    server.connection.receive_data(server.client.to_send())
    assert [type(event) for event in server.connection.events()] == [CloseConnection]


@pytest.mark.parametrize("answer", [b"\x20\x02\x00\x00", b"HTTP/1.1 200 OK\r\n\r\n", b"\xff" * 99])
def test_who_speaks_something_else_is_refused_with_a_sentence(answer):
    with pytest.raises(WebSocketError, match="WebSocket"):
        Server().client.agrees(answer + b"\r\n\r\n")


def test_a_refusal_and_text_are_said():
    server = Server()
    with pytest.raises(WebSocketError, match="answers 404 to a WebSocket at /mqtt"):
        server.client.agrees(server.connection.send(RejectConnection(status_code=404)))
    server = Server()
    server.accept()
    with pytest.raises(WebSocketError, match="text"):
        server.client.unwrap(server.connection.send(TextMessage(data="hello")))


@given(some.binary(max_size=200))
def test_any_bytes_are_bytes_or_a_refusal(data):
    server = Server()
    server.accept()
    with suppress(WebSocketError):
        assert len(server.client.unwrap(data)) <= len(data)
