"""A broker that answers what no standard knows, or hangs up: told in words."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from harness import mqtt_packets
from harness.wires import CONNACK, SUBACK, ScriptedWire, source_on_wire

from monitor.errors import UNAVAILABLE
from monitor.mqtt.connection import SourceRefusedError
from monitor.mqtt.publish import BrokerPublisher, PublishError
from monitor.mqtt.wire import EndedError


@contextmanager
def broker_that_answers(code: int) -> Iterator[int]:
    """Serve one client of MQTT 5.0; each packet after CONNECT gets a PUBACK of packet 1."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(CONNACK["5"])
                with suppress(ConnectionError):  # the client hangs up without reading all
                    while connection.recv(65_536):
                        connection.sendall(mqtt_packets.packet(0x40, bytes((0, 1, code, 0))))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(10.0)


@pytest.mark.parametrize("code", [0x01, 0x42, 0x9A, 0xFF])
def test_a_reason_code_that_no_standard_knows_is_a_refusal_in_words(code):
    with broker_that_answers(code) as port:
        out = BrokerPublisher("127.0.0.1", port, protocol="5", timeout_seconds=10.0)
        with pytest.raises(PublishError, match="connection lost"), out:
            out.publish("a/b", b"1")
        assert out.acknowledged == 0


def test_what_the_client_library_raises_at_an_answer_is_told_as_a_lost_connection(monkeypatch):
    """Versions of it raised KeyError at a reason code that they did not know."""
    with broker_that_answers(0) as port:
        out = BrokerPublisher("127.0.0.1", port, protocol="5", timeout_seconds=10.0)
        out.connect()
        out.publish("a/b", b"1")
        monkeypatch.setattr(out._client, "loop", lambda _seconds: {}[0x42])
        with pytest.raises(PublishError, match="its answer is not MQTT: KeyError"):
            out.flush()
        out.close()


class Hasty(ScriptedWire):
    """A broker that takes a client in and hangs up at once, without a word."""

    def receive(self) -> bytes:
        if not self.chunks:
            self.chunks.extend([CONNACK["5"], SUBACK["5"]])
            raise EndedError
        return self.chunks.popleft()


def test_many_hang_ups_end_with_a_sentence_that_does_not_claim_to_be_sure(monkeypatch):
    now = [0.0]

    def monotonic() -> float:
        now[0] += 0.01
        return now[0]

    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    source = source_on_wire(Hasty(), monkeypatch, monotonic=monotonic)

    def serve() -> None:
        for _ in range(10_000):
            source.receive(0.0)

    with pytest.raises(SourceRefusedError, match="another client uses the client id") as refused:
        serve()

    assert refused.value.exit_code == UNAVAILABLE
    assert source.reconnects == 9
    assert "the broker does not say so" in str(refused.value)
