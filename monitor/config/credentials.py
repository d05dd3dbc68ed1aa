"""User names, passwords and other secrets, read at the start from the files and variables named.

Rules of this file: a secret is never part of a message, an exception or a repr.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import Secret, SecretStr

from monitor.alerts.sinks import SINKS
from monitor.config.document import placed_mistake
from monitor.config.mistakes import Mistake, SettingsError
from monitor.config.settings import Settings
from monitor.core.setting import KeyPath

T = TypeVar("T")
_SECRET_BYTES_MAX: Final = 65_535  # MQTT 5 section 3.1.3.6: a password's length has two bytes


class Credentials(NamedTuple):
    """User name and password for the broker; ``password.get_secret_value()`` gives the latter."""

    username: str | None
    password: SecretStr | None


# Of each sink, the secrets that its settings name, converted.
SinkSecrets = Mapping[str, Mapping[str, Secret[Any]]]


class _UnreadableError(Exception):
    """A secret cannot be read; the message says why, without the secret."""


def resolve_secret(
    settings: Settings,
    file: str | PathLike[str] = "",
    environment: Mapping[str, str] = os.environ,
) -> Credentials:
    """Return user name and password for the broker as the settings of ``file`` name them.

    Raises SettingsError with a mistake for each file or variable that is missing.
    """
    mqtt = settings.mqtt
    reader = _Reader(file, environment, ("mqtt",))
    username, password = (reader.read(mqtt, what, str) for what in ("username", "password"))
    reader.finish()
    return Credentials(
        mqtt.username if username is None else username,
        None if password is None else SecretStr(password),
    )


def resolve_sink_secrets(
    settings: Settings,
    file: str | PathLike[str] = "",
    environment: Mapping[str, str] = os.environ,
) -> SinkSecrets:
    """Return the sinks' secrets as the settings of ``file`` name them.

    Raises SettingsError with a mistake for each file or variable that is missing or wrong.
    """
    secrets: dict[str, Mapping[str, Secret[Any]]] = {}
    for name, kind in SINKS.items():
        section = getattr(settings.sinks, name)
        if section is None:
            continue
        reader = _Reader(file, environment, ("sinks", name))
        read = {
            secret: reader.read(section, secret, partial(_converted, convert, section))
            for secret, convert in kind.secrets.items()
        }
        reader.finish()
        secrets[name] = {each: Secret(value) for each, value in read.items() if value is not None}
    return secrets


def _converted(convert: Callable[[str, Any], T], section: object, text: str) -> T:
    try:
        return convert(text, section)
    except ValueError as error:
        raise _UnreadableError(str(error)) from None


class _Reader:
    """Reads the secrets of one section, each from the file or variable that a key names."""

    def __init__(
        self, file: str | PathLike[str], environment: Mapping[str, str], path: KeyPath
    ) -> None:
        self._file: Final = file
        self._environment: Final = environment
        self._path: Final = path
        self._mistakes: list[Mistake] = []

    def read(self, section: object, secret: str, form: Callable[[str], T]) -> T | None:
        """Return the secret ``secret`` converted by ``form``, None if no key names a source."""
        for key, read in ((f"{secret}_env", _from_environment), (f"{secret}_file", _from_file)):
            place = getattr(section, key, None)
            if place is not None:
                try:
                    return form(read(place, self._environment))
                except _UnreadableError as error:
                    self._mistakes.append(
                        placed_mistake(self._file, (*self._path, key), str(error))
                    )
        return None

    def finish(self) -> None:
        """Raise SettingsError if anything was wrong."""
        if self._mistakes:
            raise SettingsError(self._mistakes)


def _from_environment(name: str, environment: Mapping[str, str]) -> str:
    secret = environment.get(name, "")
    if not secret:
        raise _UnreadableError(f"the environment variable {name} is not set, or empty")
    return secret


def _from_file(name: str, environment: Mapping[str, str]) -> str:
    """Return the first line of a file; systemd's credentials directory is searched first."""
    folder = environment.get("CREDENTIALS_DIRECTORY")
    given = None if folder is None else Path(folder, getattr(name, "written", name))
    path = given if given is not None and given.exists() else Path(name)
    try:
        with path.open("rb") as stream:
            secret = stream.read(_SECRET_BYTES_MAX + 1).decode("utf-8-sig")
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
