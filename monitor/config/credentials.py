"""Name and password for the broker: read at the start from where the settings say they are.

Rules of this file: a secret is never part of a message, an exception or a repr.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import SecretStr

from monitor.config.document import BYTES_MAX, read_document
from monitor.config.mistakes import Mistake, SettingsError
from monitor.config.settings import Settings

_SECRET_BYTES_MAX: Final = 65_535  # MQTT 5 section 3.1.3.6: a password's length has two bytes


class Credentials(NamedTuple):
    """What the broker is told; ``password.get_secret_value()`` gives the password."""

    username: str | None
    password: SecretStr | None


class _UnreadableError(Exception):
    """A secret cannot be read; the message says why, and not what."""


def resolve_secret(
    settings: Settings,
    file: str | PathLike[str] = "",
    environment: Mapping[str, str] = os.environ,
) -> Credentials:
    """Return name and password as the settings of ``file`` say.

    Raises SettingsError with a mistake for each file or variable that is not there.
    """
    mqtt = settings.mqtt
    found: dict[str, str] = {}
    mistakes: list[Mistake] = []
    for key, read in (
        ("username_env", _from_environment),
        ("password_env", _from_environment),
        ("password_file", _from_file),
    ):
        source = getattr(mqtt, key)
        if source is not None:
            try:
                found[key.partition("_")[0]] = read(source, environment)
            except _UnreadableError as error:
                mistakes.append(_mistake(file, key, str(error)))
    if mistakes:
        raise SettingsError(mistakes)
    password = found.get("password")
    return Credentials(
        found.get("username", mqtt.username), None if password is None else SecretStr(password)
    )


def _from_environment(name: str, environment: Mapping[str, str]) -> str:
    secret = environment.get(name, "")
    if not secret:
        raise _UnreadableError(f"the environment variable {name} is not set, or empty")
    return secret


def _from_file(name: str, environment: Mapping[str, str]) -> str:
    """Return the first line of a file; systemd's folder of credentials is looked through first."""
    path = Path(environment.get("CREDENTIALS_DIRECTORY", ""), name)
    if not path.exists():
        path = Path(name)
    try:
        with path.open("rb") as stream:
            secret = stream.read(_SECRET_BYTES_MAX + 1).decode()
    except OSError as error:
        raise _UnreadableError(f"{name!r} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise _UnreadableError(f"{name!r} is not UTF-8 text") from None
    secret = secret.rstrip("\r\n")
    if not secret:
        raise _UnreadableError(f"{name!r} is empty")
    if len(secret.encode()) > _SECRET_BYTES_MAX:
        raise _UnreadableError(f"{name!r} is longer than a password may be")
    return secret


def _mistake(file: str | PathLike[str], key: str, what: str) -> Mistake:
    """Return a mistake at its place in ``file``, which is read again for that."""
    raw = b""
    if file and Path(file).is_file():
        with Path(file).open("rb") as stream:
            raw = stream.read(BYTES_MAX)
    place = read_document(raw).place(("mqtt", key))
    return Mistake(str(file) or "settings", place.line, place.column, f"mqtt.{key}", what)
