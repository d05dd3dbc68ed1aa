"""No web page reads a daemon on loopback by letting its own name point there."""

from __future__ import annotations

import http.client
from collections.abc import Iterator

import pytest
from harness.programs import WAIT_SECONDS, until

from monitor.commands.run import _service
from monitor.config import parse
from monitor.http.service import Service


def asked(service: Service, host: str, path: str = "/healthz") -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(
        service.url.removeprefix("http://"), timeout=WAIT_SECONDS
    )
    try:
        connection.request("GET", path, headers={"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()


def answers(service: Service) -> bool:
    """Return whether a service answers; its first answer may take longer than a stall."""
    service.tick()
    return asked(service, "127.0.0.1")[0] == 200


@pytest.fixture
def made() -> Iterator[object]:
    running: list[Service] = []

    def make(http_section: str) -> Service:
        settings = parse(f"http: {{port: 0, {http_section}}}".encode(), "test.yaml")
        service = _service(settings)
        running.append(service)
        until("the service answers", lambda: answers(service))
        return service

    yield make
    for each in running:
        each.stop()


FOREIGN = (
    "evil.example",
    "evil.example:9108",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "evillocalhost",
    "evil-localhost:9108",
    "evillocalhost.",
)


@pytest.mark.parametrize("path", ["/", "/metrics", "/healthz", "/api/v1/series"])
def test_a_foreign_name_is_refused_on_loopback_with_what_to_set(path, made):
    service = made("host: 127.0.0.1")

    for host in FOREIGN:
        status, said = asked(service, host, path)
        assert status == 421
        assert b"http.host_names" in said


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9108", "a.localhost", "127.0.0.1:9108", "[::1]:1", "10.0.0.7"]
)
def test_addresses_and_localhost_are_answered(host, made):
    assert asked(made("host: 127.0.0.1"), host)[0] == 200


def test_names_that_are_set_are_answered_through_a_proxy_too(made):
    service = made("host_names: [Sensors.example]")

    assert asked(service, "sensors.example")[0] == 200
    assert asked(service, "SENSORS.example:443")[0] == 200
    assert asked(service, "other.example")[0] == 421


def test_on_other_addresses_names_are_checked_only_if_there_are_some(made):
    remote = "host: 0.0.0.0, allow_remote: true"
    assert asked(made(remote), "monitor.example")[0] == 200
    assert asked(made(f"{remote}, host_names: [a.example]"), "monitor.example")[0] == 421
