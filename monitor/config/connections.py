"""The sections ``mqtt`` and ``sinks``: the broker, and where alerts are sent.

The keys of ``sinks`` are made from the registry of sinks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from monitor.alerts.outlet import SinkKind
from monitor.alerts.sinks import SINKS
from monitor.config.kinds import Derived, Host, Port, Section, Word, setting
from monitor.core.setting import Contradiction, File, Variable
from monitor.mqtt.connection import Tls

# -- the broker -----------------------------------------------------------------------------------


def _tls_contradictions(tls: Tls) -> Iterator[Contradiction]:
    """Check that a certificate comes with its key, and a key with its certificate."""
    if tls.cert_file is not None and tls.key_file is None:
        yield Contradiction(("cert_file",), "needs its key; give key_file too")
    if tls.key_file is not None and tls.cert_file is None:
        yield Contradiction(("key_file",), "needs its certificate; give cert_file too")


class Mqtt(Section):
    """How to connect to the broker."""

    host: Host = setting("127.0.0.1", "Name or address of the broker.")
    port: Port = setting(1883, "Port of the broker; 8883 is usual with TLS.")
    protocol: Literal["5", "3.1.1"] = setting("5", 'Version of MQTT, "5" or "3.1.1", in quotes.')
    client_id: Word | None = setting(
        None, "Client identifier, different for each daemon; null for one that the journal keeps."
    )
    username: Annotated[str, Field(min_length=1, max_length=1024)] | None = setting(
        None, "User name at the broker; null for none."
    )
    username_env: Variable | None = setting(
        None, "Environment variable that holds the user name, instead of username."
    )
    password_file: File | None = setting(
        None,
        "File that holds the password and nothing else, looked up in $CREDENTIALS_DIRECTORY first.",
    )
    password_env: Variable | None = setting(
        None, "Environment variable that holds the password, instead of password_file."
    )
    keepalive_seconds: int = setting(
        15,
        "Keep-alive interval; a connection is closed after one and a half times of silence.",
        ge=1,
        le=65_535,
    )
    session_expiry_seconds: int = setting(
        604_800,
        "How long the broker queues messages while the daemon is offline (MQTT 5).",
        ge=0,
        le=4_294_967_295,
    )
    receive_maximum: int = setting(
        20_000,
        "How many messages may wait for their acknowledgement (MQTT 5).",
        ge=1,
        le=65_535,
    )
    max_packet_bytes: int = setting(
        65_536,
        "Largest packet to accept; larger ones are skipped and counted.",
        ge=128,
        le=268_435_455,
    )
    connect_timeout_seconds: float = setting(
        3.0,
        "Time limit of one connection attempt, for which the main loop waits.",
        gt=0,
        le=30,
    )
    websocket_path: (
        Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^/[!-~]*$")] | None
    ) = setting(None, "Path of the broker's WebSocket, such as /mqtt; null for plain MQTT.")
    tls: Annotated[Tls, Derived(_tls_contradictions)] | None = setting(
        None, "TLS; null for an unencrypted connection, {} to trust the system's CA certificates."
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that user name and password have one source each; 3.1.1 needs both or neither."""
        if self.username is not None and self.username_env is not None:
            yield Contradiction(("username_env",), "conflicts with username; give one of the two")
        if self.password_file is not None and self.password_env is not None:
            yield Contradiction(
                ("password_env",), "conflicts with password_file; give one of the two"
            )
        password = next((at for at in ("password_file", "password_env") if getattr(self, at)), None)
        if self.protocol == "3.1.1" and password and not (self.username or self.username_env):
            yield Contradiction((password,), "MQTT 3.1.1 needs a user name with a password")


# -- the sinks ------------------------------------------------------------------------------------


def _with_sinks(section: type[Section]) -> type[Section]:
    """Add a key for each kind of sink to ``section``."""
    sinks: Any = {name: _key(kind) for name, kind in SINKS.items()}
    return create_model(section.__name__, __base__=section, __doc__=section.__doc__, **sinks)


def _key(kind: SinkKind) -> tuple[Any, Any]:
    def contradictions(settings: Any) -> Iterator[Contradiction]:  # noqa: ANN401 - of any sink
        yield from kind.contradictions(settings)
        for secret in kind.secrets:
            given = [key for key in secret_keys(secret) if getattr(settings, key, None) is not None]
            for key in given[1:]:
                yield Contradiction((key,), f"conflicts with {given[0]}; give one of the two")

    section: Any = Annotated[kind.settings, Derived(contradictions)]
    return section | None, setting(kind.default, kind.meaning)


def secret_keys(secret: str) -> tuple[str, str, str]:
    """Return the keys that may hold a secret or name its source."""
    return secret, f"{secret}_file", f"{secret}_env"


@_with_sinks
class Sinks(Section):
    """Where alerts are sent, besides Prometheus."""

    history: int = setting(
        10_000,
        "How many alert transitions the journal keeps, and may wait for a sink.",
        ge=100,
        le=10_000_000,
    )
