"""The section ``mqtt``: the broker, and how to be its client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from monitor.config.kinds import Contradiction, File, Host, Name, Port, Section, Variable, setting


class Tls(Section):
    """An encrypted connection to the broker; ``tls: {}`` trusts what this machine trusts."""

    ca_file: File | None = setting(
        None, "Certificates (PEM) of those who may vouch for the broker; null for the system's."
    )
    cert_file: File | None = setting(
        None, "The daemon's own certificate (PEM), where the broker asks for one."
    )
    key_file: File | None = setting(None, "The key (PEM) of cert_file.")

    def contradictions(self) -> Iterator[Contradiction]:
        """A certificate and its key come together."""
        if self.cert_file is not None and self.key_file is None:
            yield Contradiction(("cert_file",), "needs its key; give key_file too")
        if self.key_file is not None and self.cert_file is None:
            yield Contradiction(("key_file",), "needs its certificate; give cert_file too")


class Mqtt(Section):
    """The broker, and how to be its client."""

    host: Host = setting("127.0.0.1", "Name or address of the broker.")
    port: Port = setting(1883, "Port of the broker; 8883 is usual with TLS.")
    protocol: Literal["5", "3.1.1"] = setting("5", "Version of MQTT, in quotes.")
    client_id: Name = setting(
        "monitor", "Name of the session at the broker; two daemons need two names."
    )
    username: Annotated[str, Field(min_length=1, max_length=1024)] | None = setting(
        None, "User name at the broker; null for none."
    )
    username_env: Variable | None = setting(
        None, "Environment variable that holds the user name, instead of username."
    )
    password_file: File | None = setting(
        None,
        "File that holds the password and nothing else; a relative path is looked for in "
        "$CREDENTIALS_DIRECTORY first.",
    )
    password_env: Variable | None = setting(
        None, "Environment variable that holds the password, instead of password_file."
    )
    keepalive_seconds: int = setting(
        15, "A connection silent for one and a half times this long is given up.", ge=1, le=65_535
    )
    session_expiry_seconds: int = setting(
        604_800,
        "How long the broker keeps messages for a daemon that is away (MQTT 5).",
        ge=0,
        le=4_294_967_295,
    )
    receive_maximum: int = setting(
        20_000,
        "How many messages may be under way before they are durable (MQTT 5).",
        ge=1,
        le=65_535,
    )
    max_packet_bytes: int = setting(65_536, "Largest message that is read.", ge=128, le=268_435_455)
    connect_timeout_seconds: float = setting(
        3.0, "How long one attempt to connect may take.", gt=0, le=120
    )
    tls: Tls | None = setting(None, "Encryption; null for none.")

    def contradictions(self) -> Iterator[Contradiction]:
        """A name and a password each have one place, and 3.1.1 knows no password without a name."""
        if self.username is not None and self.username_env is not None:
            yield Contradiction(("username_env",), "stands beside username; give one of the two")
        if self.password_file is not None and self.password_env is not None:
            yield Contradiction(
                ("password_env",), "stands beside password_file; give one of the two"
            )
        password = next((at for at in ("password_file", "password_env") if getattr(self, at)), None)
        if self.protocol == "3.1.1" and password and not (self.username or self.username_env):
            yield Contradiction((password,), "MQTT 3.1.1 needs a user name with a password")
