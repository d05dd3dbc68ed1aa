"""A client of a running daemon's HTTP interface, with TLS and a password if its settings ask.

Rules of this file: it only reads; a certificate is always checked; a password comes from a file or
the environment, never from the command line, and is never shown; any answer but the document is an
error, and only without an answer the journal can be read instead.
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

import msgspec
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ProtocolError, SSLError

from monitor.config.settings import Settings
from monitor.errors import UNAVAILABLE, USAGE, MonitorError
from monitor.http.access import certificate_of
from monitor.mqtt.connection import is_loopback

USER: Final = "MONITOR_HTTP_USER"
PASSWORD: Final = "MONITOR_HTTP_PASSWORD"  # noqa: S105 - the name of a variable
_TIMEOUT_SECONDS: Final = 30.0
_SAID_CHARACTERS_MAX: Final = 300
_CERTIFICATE_END: Final = "-----END CERTIFICATE-----"


class ClientError(MonitorError):
    """The daemon cannot be queried; the message says what to do."""

    exit_code = UNAVAILABLE


class DaemonClient(NamedTuple):
    """A daemon's URL, how its certificate is checked, the client's credentials and patience."""

    url: str
    tls: ssl.SSLContext | None = None
    authorization: str = ""
    timeout_seconds: float = _TIMEOUT_SECONDS

    def __repr__(self) -> str:
        """Show no password."""
        return f"DaemonClient({self.url})"

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return a client of the daemon with these settings on this machine; raises AccessError.

        Its certificate must be the one that its web configuration names.
        """
        web_config = settings.http.web_config
        shown = None if web_config is None else certificate_of(Path(web_config))
        host = _asked_at(settings.http.host)
        place = f"[{host}]" if ":" in host else host
        scheme = "http" if shown is None else "https"
        tls = None if shown is None else _trusting_one(shown)
        return cls(f"{scheme}://{place}:{settings.http.port}", tls)

    def get(self, path: str) -> dict[str, Any] | None:
        """Return the document at a path below /api/v1/, None if no daemon answers.

        Raises ClientError if one answers that is not trusted, or with anything but the document.
        """
        try:
            status, body = self._get(f"/api/v1/{path}")
        except ssl.SSLError as error:
            raise ClientError(f"{self.url}: {_distrust(error)}") from None
        except (OSError, HTTPError):
            return None
        if status in _CLOSED:
            raise ClientError(f"{self.url}: {_CLOSED[status]}")
        try:
            answer = msgspec.json.decode(body)
        except (ValueError, RecursionError):
            answer = None
        if status != HTTPStatus.OK or not isinstance(answer, dict):
            raise ClientError(f"{self.url}: {_refusal(path, status, answer, body)}")
        return answer

    def asked(self, path: str) -> dict[str, Any]:
        """Return the document at a path below /api/v1/; raises ClientError if no daemon answers."""
        answer = self.get(path)
        if answer is None:
            raise ClientError(f"no daemon answers on {self.url}; start it with `monitor run`")
        return answer

    def require_journal(self, journal: str | Path) -> None:
        """Raise ClientError if there is no journal to read in place of a daemon: none is made."""
        if not Path(journal).is_file():
            raise ClientError(
                f"no daemon answers on {self.url}, and there is no {journal}; start `monitor run`, "
                "or, where it runs, see that http.port and journal.path are those it runs with"
            )

    def unreachable(self, journal: str | Path) -> ClientError:
        """Return the error for a daemon that holds the journal but does not answer at this URL."""
        return ClientError(
            f"the daemon has the journal {journal} open but does not answer on {self.url}; is "
            "http.port the one it runs with? If not, give its address with --url"
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
                raise ClientError(f"{self.url}: {_CUT_OFF}") from error
        return answer.status, answer.data

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        host, port = parts.hostname or "", parts.port
        if self.tls is None:
            return HTTPConnection(host, port, timeout=self.timeout_seconds)
        return HTTPSConnection(
            host,
            port,
            timeout=self.timeout_seconds,
            ssl_context=self.tls,
            assert_hostname=None if self.tls.check_hostname else False,
        )


def _refusal(path: str, status: int, answer: object, body: bytes) -> str:
    """Return what an answer says that is not the document."""
    if status == HTTPStatus.OK:
        return "the server there is not a monitor daemon; give the daemon's address with --url"
    detail = answer.get("detail") if isinstance(answer, dict) else body.decode("utf-8", "replace")
    if status == HTTPStatus.NOT_FOUND and detail == "Not Found":
        return (
            f"has no /api/v1/{path.partition('?')[0]}; turn on the extension that serves it in the "
            "settings of the daemon (docs/settings.md), and start it again"
        )
    return f"answers {status}: {' '.join(str(detail).split())[:_SAID_CHARACTERS_MAX]}"


_CUT_OFF: Final = "closed the connection; does it require a client certificate (--cert and --key)?"
_CLOSED: Final[Mapping[int, str]] = {
    401: "requires a user name and password, or these are wrong: set the environment variables "
    f"{USER} and {PASSWORD}; all commands but `monitor accept` also take --user and "
    "--password-file",
    403: "denies access",
    429: "too many passwords are being tried at the moment; try again",
}


def client_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for a daemon with TLS or passwords."""
    client = parser.add_argument_group(
        "a daemon with TLS or passwords (http.web_config)",
        f"The password is the first line of a file, or the environment variable {PASSWORD}.",
    )
    client.add_argument("--url", help="address of the daemon (default: from the settings)")
    client.add_argument(
        "--ca",
        metavar="FILE",
        help="CA certificates to trust (default: exactly the certificate in http.web_config; with "
        "--url, the system's CA certificates)",
    )
    client.add_argument("--cert", metavar="FILE", help="client certificate, if required")
    client.add_argument("--key", metavar="FILE", help="private key of that certificate")
    client.add_argument("--user", metavar="NAME", help=f"user name (default: ${USER})")
    client.add_argument("--password-file", metavar="FILE", help="its first line is the password")


def client_of(
    settings: Settings, options: argparse.Namespace, environment: Mapping[str, str] = os.environ
) -> DaemonClient:
    """Return the client for settings, options and environment; raises ClientError."""
    client = (
        DaemonClient(options.url.rstrip("/"), _by_authority(""))
        if options.url
        else DaemonClient.of(settings)
    )
    scheme = _scheme(client.url)
    if scheme not in ("http", "https"):
        raise _usage(f"--url {options.url}: write http://host:port or https://host:port")
    tls = None if scheme == "http" else _by_authority(options.ca) if options.ca else client.tls
    if tls is not None and options.cert:
        _show(tls, options.cert, options.key)
    authorization = _authorization(options, environment)
    if authorization and tls is None and not is_loopback(urlsplit(client.url).hostname or ""):
        raise _usage(f"{client.url}: a password is sent to another machine only over https")
    return DaemonClient(client.url, tls, authorization)


def _scheme(url: str) -> str:
    """Return the scheme of an address, empty if its host or its port is none."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return ""
    return parts.scheme if host else ""


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
    """Trust certificates signed by the CAs in ``file``; without one, by the system's."""
    try:
        return ssl.create_default_context(cafile=file or None)
    except OSError as error:
        raise _usage(f"--ca {file}: {_unusable(error)}") from None


def _trusting_one(file: Path) -> ssl.SSLContext:
    """Trust exactly this certificate, under whatever host name it is reached."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        first, end, _ = file.read_text(encoding="ascii").partition(_CERTIFICATE_END)
        context.load_verify_locations(cadata=first + end)
    except (OSError, ValueError) as error:
        raise _usage(f"{file}, of http.web_config: {_unusable(error)}; give --ca") from None
    return context


def _show(tls: ssl.SSLContext, certificate: str, key: str | None) -> None:
    try:
        tls.load_cert_chain(certificate, key, password="")  # else OpenSSL asks the terminal
    except (OSError, ValueError) as error:
        raise _usage(f"--cert {certificate}, --key {key}: {_unusable(error)}") from None


def _unusable(error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error) or "contains no certificate"
    return f"cannot be used ({reason})"


def _usage(detail: str) -> ClientError:
    error = ClientError(detail)
    error.exit_code = USAGE
    return error


def _distrust(error: ssl.SSLError) -> str:
    """Return why the TLS handshake failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not trusted ({error.verify_message}); give its CA with "
            "--ca. If it was renewed, the daemon presents the new one after a restart"
        )
    return f"does not speak TLS ({error.reason}); was it restarted since http.web_config was set?"


def _asked_at(host: str) -> str:
    """Return the address of a daemon that listens on ``host``; loopback if that is any address."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return host
    return "::1" if address.version == 6 else "127.0.0.1"
