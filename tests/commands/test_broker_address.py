"""Addresses of brokers."""

from __future__ import annotations

import pytest

from monitor.commands.broker_address import broker_keys
from monitor.errors import UsageError


@pytest.mark.parametrize(
    ("address", "keys"),
    [
        ("broker", {"host": "broker", "port": 1883}),
        ("mqtt://broker:1884/", {"host": "broker", "port": 1884}),
        ("mqtts://broker", {"host": "broker", "port": 8883, "tls": {}}),
        ("ws://broker:9001", {"host": "broker", "port": 9001, "websocket_path": "/mqtt"}),
        ("wss://[::1]/a/b", {"host": "::1", "port": 443, "tls": {}, "websocket_path": "/a/b"}),
    ],
)
def test_an_address_says_how_to_connect(address, keys):
    assert broker_keys(address) == keys


@pytest.mark.parametrize("address", ["http://b", "://b", "b:x", "user@b", "mqtt://", "b/c:1"])
def test_what_is_no_address_is_refused_with_what_to_write(address):
    with pytest.raises(UsageError, match="write"):
        broker_keys(address)
