"""A running daemon asked over HTTP, encrypted and with a password where its settings want it.

Rules of this file: it only reads; a certificate is always checked; a password comes from a file or
the environment, never from the command line, and is never shown; a daemon that is there and does
not let us in is an error, one that is not there is none: its journal can be read instead.
"""

from __future__ import annotations

import argparse
import base64
import os
import ssl
from collections.abc import Mapping
from contextlib import closing
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlsplit

import orjson
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ProtocolError, SSLError

from monitor.config import Settings
from monitor.config.kinds import is_loopback
from monitor.errors import UNAVAILABLE, USAGE, MonitorError
from monitor.http.access import certificate_of

USER: Final = "MONITOR_HTTP_USER"
PASSWORD: Final = "MONITOR_HTTP_PASSWORD"  # noqa: S105 - the name of a variable
_TIMEOUT_SECONDS: Final = 30.0
_CERTIFICATE_END: Final = "-----END CERTIFICATE-----"


class AskingError(MonitorError):
    """The daemon cannot be asked; the message says what to do."""

    exit_code = UNAVAILABLE


class Door(NamedTuple):
    """Where a daemon answers, how its certificate is checked, and what lets us in."""

    url: str
    tls: ssl.SSLContext | None = None
    authorization: str = ""

    def __repr__(self) -> str:
        """Show no password."""
        return f"Door({self.url})"

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the door of the daemon with these settings on this machine; raises AccessError.

        Its certificate must be the one that its web configuration names.
        """
        web_config = settings.http.web_config
        shown = None if web_config is None else certificate_of(Path(web_config))
        host = _asked_at(settings.http.host)
        place = f"[{host}]" if ":" in host else host
        scheme = "http" if shown is None else "https"
        tls = None if shown is None else _trusting_one(shown)
        return cls(f"{scheme}://{place}:{settings.http.port}", tls)

    def ask(self, path: str) -> dict[str, Any] | None:
        """Return what the daemon says at a path below /api/v1/, None if none answers there.

        Raises AskingError if one answers and cannot be trusted, or does not let us in.
        """
        try:
            status, body = self._get(f"/api/v1/{path}")
        except ssl.SSLError as error:
            raise AskingError(f"{self.url}: {_distrust(error)}") from None
        except (OSError, HTTPError):
            return None
        if status in _CLOSED:
            raise AskingError(f"{self.url}: {_CLOSED[status]}")
        try:
            found: dict[str, Any] = orjson.loads(body)
        except ValueError:
            return None
        return found if status == HTTPStatus.OK else None

    def silent(self, journal: str | Path) -> AskingError:
        """Return what is wrong where the journal is held by somebody who does not answer here."""
        return AskingError(
            f"the daemon has the journal {journal} open but does not answer on {self.url}; is "
            "http.port the one it has? Else say with --url where it answers"
        )

    def _get(self, path: str) -> tuple[int, bytes]:
        headers = {"Authorization": self.authorization} if self.authorization else {}
        address = urlsplit(self.url).path.rstrip("/") + path
        with closing(self._connection()) as connection:
            connection.connect()
            try:
                connection.request("GET", address, headers=headers)
                answer = connection.getresponse()
            except (ConnectionError, ssl.SSLError, ProtocolError, SSLError) as error:
                if self.tls is None:
                    raise
                raise AskingError(f"{self.url}: {_CUT_OFF}") from error
        return answer.status, answer.data

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        host, port = parts.hostname or "", parts.port
        if self.tls is None:
            return HTTPConnection(host, port, timeout=_TIMEOUT_SECONDS)
        return HTTPSConnection(
            host,
            port,
            timeout=_TIMEOUT_SECONDS,
            ssl_context=self.tls,
            assert_hostname=None if self.tls.check_hostname else False,
        )


_CUT_OFF: Final = "ends the connection; does it want a certificate of ours (--cert and --key)?"
_CLOSED: Final[Mapping[int, str]] = {
    401: f"wants a name and a password, or these are wrong: --user with --password-file, or the "
    f"environment variables {USER} and {PASSWORD}",
    403: "does not let us in",
    429: "too many passwords are being tried at the moment; ask again",
}


def door_arguments(parser: argparse.ArgumentParser) -> None:
    """Say how a daemon can be asked that encrypts or wants a password."""
    door = parser.add_argument_group(
        "a daemon with TLS or passwords (http.web_config)",
        f"The password is the first line of a file, or in the environment ({PASSWORD}).",
    )
    door.add_argument("--url", help="where it answers (default: as the settings say)")
    door.add_argument(
        "--ca",
        metavar="FILE",
        help="authority that vouches for its certificate (default: the certificate must be the "
        "one in http.web_config; with --url this machine's authorities)",
    )
    door.add_argument("--cert", metavar="FILE", help="our own certificate, where it wants one")
    door.add_argument("--key", metavar="FILE", help="the key of that certificate")
    door.add_argument("--user", metavar="NAME", help=f"our name there (default: {USER})")
    door.add_argument("--password-file", metavar="FILE", help="its first line is the password")


def door_of(
    settings: Settings, options: argparse.Namespace, environment: Mapping[str, str] = os.environ
) -> Door:
    """Return the door that settings, options and environment say; raises AskingError."""
    door = Door(options.url.rstrip("/"), _by_authority("")) if options.url else Door.of(settings)
    scheme = urlsplit(door.url).scheme
    if scheme not in ("http", "https") or not urlsplit(door.url).hostname:
        raise _usage(f"--url {options.url}: write http://host:port or https://host:port")
    tls = None if scheme == "http" else _by_authority(options.ca) if options.ca else door.tls
    if tls is not None and options.cert:
        _show(tls, options.cert, options.key)
    authorization = _authorization(options, environment)
    if authorization and tls is None and not is_loopback(urlsplit(door.url).hostname or ""):
        raise _usage(f"{door.url}: a password goes to another machine by https only")
    return Door(door.url, tls, authorization)


def _authorization(options: argparse.Namespace, environment: Mapping[str, str]) -> str:
    user = options.user or environment.get(USER, "")
    if not user:
        return ""
    password = environment.get(PASSWORD, "")
    if options.password_file:
        password = _first_line(options.password_file)
    if not password:
        raise _usage(f"{user!r} has no password: --password-file, or {PASSWORD}")
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _first_line(file: str) -> str:
    try:
        with Path(file).open(encoding="utf-8") as stream:
            return stream.readline(65_536).rstrip("\r\n")
    except OSError as error:
        raise _usage(f"--password-file {file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _usage(f"--password-file {file}: is not UTF-8 text") from None


def _by_authority(file: str) -> ssl.SSLContext:
    """Trust who this authority vouches for; without a file, this machine's authorities."""
    try:
        return ssl.create_default_context(cafile=file or None)
    except OSError as error:
        raise _usage(f"--ca {file}: {_unusable(error)}") from None


def _trusting_one(file: Path) -> ssl.SSLContext:
    """Trust the holder of this very certificate, under whatever name it is reached."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        first, found, _ = file.read_text(encoding="ascii").partition(_CERTIFICATE_END)
        context.load_verify_locations(cadata=first + found)
    except (OSError, ValueError) as error:
        raise _usage(f"{file}, of http.web_config: {_unusable(error)}; say --ca") from None
    return context


def _show(tls: ssl.SSLContext, certificate: str, key: str | None) -> None:
    try:
        tls.load_cert_chain(certificate, key, password="")  # else OpenSSL asks the terminal
    except (OSError, ValueError) as error:
        raise _usage(f"--cert {certificate}, --key {key}: {_unusable(error)}") from None


def _unusable(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or "holds no certificate"
    return f"cannot be used ({reason})"


def _usage(what: str) -> AskingError:
    error = AskingError(what)
    error.exit_code = USAGE
    return error


def _distrust(error: ssl.SSLError) -> str:
    """Say why no encrypted connection came about."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({error.verify_message}); give the authority with "
            "--ca. If it was renewed, the daemon shows the new one after a restart"
        )
    return f"does not speak TLS ({error.reason}); was it restarted since http.web_config was set?"


def _asked_at(host: str) -> str:
    """Return where a daemon that listens at ``host`` is asked: on loopback if it is everywhere."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return host
    return "::1" if address.version == 6 else "127.0.0.1"
