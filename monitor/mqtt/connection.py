"""How to reach a broker: address, credentials, subscriptions, TLS files; its final refusal."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, NamedTuple

from annotated_types import doc

from monitor.core.setting import File
from monitor.errors import BAD_SETTINGS, MonitorError
from monitor.mqtt.packets import Connect
from monitor.mqtt.topic_templates import covers


def is_loopback(host: str) -> bool:
    """Whether ``host`` is a loopback address; the only such name is ``localhost``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class SourceRefusedError(MonitorError):
    """The broker will not serve this client, and trying again would not help."""

    def __init__(self, exit_code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


class Tls(NamedTuple):
    """An encrypted connection to the broker; ``tls: {}`` trusts the system's CA certificates."""

    ca_file: Annotated[
        File | None, doc("CA certificates (PEM) to trust for the broker; null for the system's.")
    ] = None
    cert_file: Annotated[
        File | None, doc("The daemon's own certificate (PEM), if the broker asks for one.")
    ] = None
    key_file: Annotated[File | None, doc("Private key (PEM) of cert_file.")] = None


@dataclass(frozen=True)
class Subscription:
    """One topic filter and its quality of service; the broker may refuse an optional one."""

    filter: str
    qos: int = 1
    is_optional: bool = False


def without_overlaps(wanted: Sequence[Subscription]) -> tuple[Subscription, ...]:
    """Return the subscriptions that bring each topic once, where one filter covers another.

    A broker may send a message once for each filter that matches it. A filter that covers others
    has the highest quality of service of them; an optional one may be refused, and covers only
    what is optional too.
    """
    distinct: list[Subscription] = []
    for at, each in enumerate(wanted):
        others = [*wanted[:at], *(of for of in wanted[at + 1 :] if of.filter != each.filter)]
        if not any(
            covers(of.filter, each.filter) and of.is_optional <= each.is_optional for of in others
        ):
            qos = max(of.qos for of in wanted if covers(each.filter, of.filter))
            distinct.append(replace(each, qos=qos))
    return tuple(distinct)


@dataclass(frozen=True)
class MqttSettings:
    """How to reach the broker. ``protocol`` is "5" or "3.1.1"; times in seconds."""

    host: str
    port: int
    client_id: str
    subscriptions: tuple[Subscription, ...]
    protocol: str = "5"
    username: str | None = None
    password: str | None = None
    keepalive_seconds: int = 15
    session_expiry_seconds: int = 604_800
    receive_maximum: int = 20_000
    max_packet_bytes: int = 65_536
    connect_timeout_seconds: float = 3.0
    coalesce_seconds: float = 0.25
    tls: Tls | None = None
    websocket_path: str | None = None

    def __repr__(self) -> str:
        return f"MqttSettings({self.host}:{self.port}, client_id={self.client_id!r})"


def connect_packet(settings: MqttSettings) -> Connect:
    """Return the packet that opens a connection."""
    return Connect(
        settings.client_id,
        settings.keepalive_seconds,
        settings.username,
        settings.password if settings.username is not None else None,
        settings.session_expiry_seconds,
        settings.receive_maximum,
    )


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Return a context that always checks the broker's certificate and host name."""
    try:
        context = ssl.create_default_context(cafile=tls.ca_file)
        if tls.cert_file:
            context.load_cert_chain(tls.cert_file, tls.key_file)
    except (OSError, ssl.SSLError) as error:
        files = [Path(each) for each in (tls.ca_file, tls.cert_file, tls.key_file) if each]
        missing = ", ".join(str(each) for each in files if not each.exists())
        reason = f"({', '.join(map(str, files))}): {error}"
        if missing:
            reason = f"cannot be found: {missing}"
        raise SourceRefusedError(
            BAD_SETTINGS, f"the TLS files {'' if missing else 'cannot be used '}{reason}"
        ) from error
    return context
