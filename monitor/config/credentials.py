"""User names, passwords and other secrets, read at the start from the files and variables named.

Rules of this file: a secret is never part of a message, an exception or a repr.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from pydantic import SecretBytes, SecretStr

from monitor.config.document import BYTES_MAX, read_document
from monitor.config.mistakes import (
    KeyPath,
    Mistake,
    SettingsError,
    path_text,
)
from monitor.config.settings import Settings
from monitor.config.sink_settings import is_private, split_url

T = TypeVar("T")
_BASE64_PREFIX: Final = "whsec_"
_SECRET_BYTES_MAX: Final = 65_535  # MQTT 5 section 3.1.3.6: a password's length has two bytes


class Credentials(NamedTuple):
    """User name and password for the broker; ``password.get_secret_value()`` gives the latter."""

    username: str | None
    password: SecretStr | None


class SinkSecrets(NamedTuple):
    """The sinks' secrets: the webhook's URL, its signing key, the value of a header."""

    url: SecretStr = SecretStr("")
    key: SecretBytes | None = None
    authorization: SecretStr | None = None


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
    section = settings.sinks.webhook
    if section is None:
        return SinkSecrets()
    reader = _Reader(file, environment, ("sinks", "webhook"))
    url = reader.read(section, "url", lambda text: _address(text, allow_http=section.allow_http))
    key = reader.read(section, "secret", _signing_key)
    authorization = reader.read(section, "authorization", _header)
    reader.finish()
    return SinkSecrets(
        SecretStr(section.url or url or ""),
        None if key is None else SecretBytes(key),
        None if authorization is None else SecretStr(authorization),
    )


class _Reader:
    """Reads the secrets of one section, each from the file or variable that a key names."""

    def __init__(
        self, file: str | PathLike[str], environment: Mapping[str, str], path: KeyPath
    ) -> None:
        self._file: Final = file
        self._environment: Final = environment
        self._path: Final = path
        self._mistakes: list[Mistake] = []

    def read(self, section: object, what: str, form: Callable[[str], T]) -> T | None:
        """Return the secret ``what`` converted by ``form``, None if no key names a source."""
        for key, read in ((f"{what}_env", _from_environment), (f"{what}_file", _from_file)):
            place = getattr(section, key, None)
            if place is not None:
                try:
                    return form(read(place, self._environment))
                except _UnreadableError as error:
                    self._mistakes.append(_mistake(self._file, (*self._path, key), str(error)))
        return None

    def finish(self) -> None:
        """Raise SettingsError if anything was wrong."""
        if self._mistakes:
            raise SettingsError(self._mistakes)


def _signing_key(secret: str) -> bytes:
    """Return the key in a secret: base64 after ``whsec_``, else the text itself."""
    if not secret.startswith(_BASE64_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_BASE64_PREFIX), validate=True)
    except binascii.Error:
        raise _UnreadableError("is not base64 after whsec_") from None


def _address(url: str, *, allow_http: bool) -> str:
    parts = split_url(url)
    if parts is None or parts.username is not None or parts.password is not None:
        raise _UnreadableError("does not hold a URL; write https://host/path")
    if not (allow_http or is_private(url)):
        raise _UnreadableError(
            "is unencrypted http to another machine; write https, or set allow_http: true"
        )
    return url


def _header(value: str) -> str:
    if not (value.isascii() and value.isprintable()):
        raise _UnreadableError("cannot be a header's value; use printable ASCII on one line")
    return value


def _from_environment(name: str, environment: Mapping[str, str]) -> str:
    secret = environment.get(name, "")
    if not secret:
        raise _UnreadableError(f"the environment variable {name} is not set, or empty")
    return secret


def _from_file(name: str, environment: Mapping[str, str]) -> str:
    """Return the first line of a file; systemd's credentials directory is searched first."""
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


def _mistake(file: str | PathLike[str], path: KeyPath, what: str) -> Mistake:
    """Return a mistake at its place in ``file``, which is read again to find it."""
    raw = b""
    if file and Path(file).is_file():
        with Path(file).open("rb") as stream:
            raw = stream.read(BYTES_MAX)
    place = read_document(raw).place(path)
    return Mistake(str(file) or "settings", place.line, place.column, path_text(path), what)
