"""Settings for a broker that an address names, instead of a settings file."""

from __future__ import annotations

import argparse
import json
from typing import Any, Final

from monitor.commands.options import connected
from monitor.config import Settings, parse
from monitor.errors import UsageError

BROKER_ADDRESS: Final = (
    "HOST or HOST:PORT; mqtts://HOST:PORT with TLS, ws://HOST:PORT/PATH and wss://HOST:PORT/PATH "
    "for WebSocket"
)
_PORT: Final = 1883
# Schemes of an address: whether TLS and WebSocket are used, and the usual port.
_SCHEMES: Final = {
    "mqtt": (False, False, _PORT),
    "mqtts": (True, False, 8883),
    "ws": (False, True, 80),
    "wss": (True, True, 443),
}
_PATH: Final = "/mqtt"


def settings_at(address: str, options: argparse.Namespace, **more: str) -> Settings:
    """Return settings with the broker at ``address`` and the options of its connection.

    ``more`` are further keys of the section mqtt.
    """
    if "://" not in address and (options.ca or options.cert):
        address = f"mqtts://{address}"
    mqtt = json.dumps({**broker_keys(address), **more})
    return connected(parse(f"mqtt: {mqtt}".encode(), "BROKER"), options)


def broker_keys(text: str) -> dict[str, Any]:
    """Return the keys of the section mqtt that an address implies."""
    scheme, separator, rest = text.rpartition("://")
    wanted = _SCHEMES.get(scheme.lower() or "mqtt")
    if wanted is None or (separator and not scheme):
        raise UsageError(f"broker {text!r}: write one of {', '.join(_SCHEMES)} before ://")
    is_encrypted, is_websocket, usual = wanted
    place, _, path = rest.partition("/") if is_websocket else (rest.rstrip("/"), "", "")
    host, port = _address(place, usual)
    keys: dict[str, Any] = {"host": host, "port": port}
    if is_encrypted:
        keys["tls"] = {}
    if is_websocket:
        keys["websocket_path"] = f"/{path}" if path else _PATH
    return keys


def _address(text: str, usual: int) -> tuple[str, int]:
    """Return host and port of ``HOST`` or ``HOST:PORT``."""
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):
        host, port = text, str(usual)
    host = host.strip("[]")
    if not host or "/" in host or "@" in host or not port.isdigit():
        raise UsageError(
            f"broker {text!r}: write HOST or HOST:PORT; --username, --password-file and --ca give "
            "the rest"
        )
    return host, int(port)
