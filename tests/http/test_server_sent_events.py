"""Streams of changes to open pages, and how many there may be."""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from dataclasses import replace

import numpy as np
from harness.http_service import answers, get, page, published, serving, stream
from harness.programs import WAIT_SECONDS, until
from harness.yard import fleet

from monitor.http.service import Service


def test_a_stream_begins_with_all_lines_and_goes_on_with_those_that_changed(service):
    snapshot = fleet(30)
    published(service, snapshot)
    events = stream(service, "/live/fleet?sort=sensor")
    first = next(events)
    changed = [*snapshot.sentences]
    changed[7] = "reads nothing but <b>trouble</b>"
    published(service, replace(snapshot, sentences=tuple(changed)))
    second = next(events)
    events.close()

    assert first["order"] == [f"node-{row:05}/pm25" for row in range(30)]
    assert set(first["rows"]) == set(first["order"])
    assert set(second["rows"]) == {"node-00007/pm25"}
    assert "order" not in second
    assert "&lt;b&gt;trouble" in second["rows"]["node-00007/pm25"]


def test_a_stream_says_when_the_warnings_above_the_fleet_change(service):
    snapshot = fleet(3)
    snapshot = replace(snapshot, window_pairs=np.array([0, 5, 5]))
    doctor = {"pairing": ["no reference fits"]}

    def marked(notices: tuple[str, ...], doctor: dict[str, list[str]]) -> str:
        published(service, snapshot, notices=notices, doctor=doctor)
        found = re.search(rb'data-warnings="(\w+)"', get(service, "/")[1])
        assert found
        return found[1].decode()

    known = [
        marked(("certificate ends",), doctor),
        marked((), doctor),
        marked((), {"pairing": ["the keys differ"]}),
    ]
    events = stream(service, "/live/fleet")
    last = next(events)["warnings"]
    published(service, snapshot, notices=("certificate ends",), doctor=doctor)
    again = next(events)["warnings"]
    events.close()

    assert len(set(known)) == 3
    assert (last, again) == (known[2], known[0])


def test_streams_leave_connections_for_others():
    # Nobody is dropped for having said nothing, however long the others take.
    service = Service("127.0.0.1", 0, connections_max=20, header_timeout_seconds=WAIT_SECONDS)
    service.start()
    until("the service answers", lambda: answers(service))
    service.publish(page())
    port = int(service.url.rsplit(":", 1)[1])
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(service.connections_max)]
    try:
        for each in held[:-2]:
            each.sendall(b"GET /live/page HTTP/1.1\r\nHost: x\r\n\r\n")
        codes = [each.recv(64)[9:12] for each in held[:-2]]
        assert codes.count(b"200") == service.connections_max // 8
        assert set(codes) == {b"200", b"503"}
        held[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert held[-1].recv(64)[9:12] == b"200"
    finally:
        for each in held:
            each.close()
        service.stop()


def test_an_open_stream_does_not_hold_up_the_end(service):
    service.publish(page())
    with socket.create_connection(("127.0.0.1", int(service.url.rsplit(":", 1)[1]))) as listening:
        listening.sendall(b"GET /live/page HTTP/1.1\r\nHost: x\r\n\r\n")
        assert listening.recv(64)
        service.stop()

        until("its thread has ended", lambda: not serving())
        listening.settimeout(WAIT_SECONDS)
        with suppress(ConnectionResetError):
            while listening.recv(4096):
                pass
