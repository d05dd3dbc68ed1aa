"""Readers of the pages, and their encryption: Prometheus' web configuration file.

Rules of this file: the format is that of Prometheus' exporter-toolkit; an unknown key is refused,
not ignored; passwords exist as bcrypt hashes only, and neither they nor the hashes are ever shown.
Source: https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from monitor.config.document import read_document
from monitor.errors import BAD_SETTINGS, MonitorError

_VERSIONS: Final = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CLIENTS: Final = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_BCRYPT: Final = r"\A\$2[aby]\$(0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}\z"
Version = Literal["TLS12", "TLS13"]
FileName = Annotated[str, Field(min_length=1, max_length=4096)]


class AccessError(MonitorError):
    """The web configuration cannot be used; the message says why and what to do."""

    exit_code = BAD_SETTINGS


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class TlsServer(_Part):
    """The server's certificate, and whether readers must present one."""

    cert_file: FileName
    key_file: FileName
    client_ca_file: FileName | None = None
    client_auth_type: Literal[
        "NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"
    ] = "NoClientCert"
    min_version: Version = "TLS12"
    max_version: Version = "TLS13"


class WebConfiguration(_Part):
    """The content of the file; users have bcrypt hashes."""

    tls_server_config: TlsServer | None = None
    basic_auth_users: Mapping[
        Annotated[str, Field(min_length=1, max_length=255, pattern=r"\A[^:\x00-\x1f]+\z")],
        Annotated[str, Field(pattern=_BCRYPT, repr=False)],
    ] = Field(default={}, repr=False, max_length=1000)


class Access:
    """How connections are made and who may read; without a file everybody, unencrypted."""

    def __init__(self, tls: ssl.SSLContext | None, users: Mapping[str, bytes]) -> None:
        self.tls: Final = tls
        self.users: Final = users

    @property
    def is_closed(self) -> bool:
        """Whether connections are encrypted and need a password or a certificate."""
        if self.tls is None:
            return False
        return bool(self.users) or self.tls.verify_mode is ssl.CERT_REQUIRED


OPEN: Final = Access(None, {})


def access_of(web_config: str | None, host: str, *, is_local: bool, allow_remote: bool) -> Access:
    """Read the web configuration; raises AccessError.

    An address that other machines reach needs TLS and a password (or the readers' certificates),
    or ``allow_remote``.
    """
    access = OPEN if web_config is None else read_web_config(Path(web_config))
    if not (is_local or allow_remote or access.is_closed):
        raise AccessError(
            f"{web_config}: http.host {host} lets other machines read the pages, but there is not "
            "both tls_server_config and basic_auth_users; add what is missing, or set "
            "http.allow_remote: true if you want that"
        )
    return access


def read_web_config(file: Path) -> Access:
    """Read a web configuration file; names in it start from its folder. Raises AccessError."""
    config = _parsed(file)
    tls = None if config.tls_server_config is None else _context(config.tls_server_config, file)
    return Access(tls, {name: hash_.encode() for name, hash_ in config.basic_auth_users.items()})


def certificate_of(file: Path) -> Path | None:
    """Return the path of the server's certificate, None for none; raises AccessError.

    The key is not read, since the caller need not be the daemon's user.
    """
    tls = _parsed(file).tls_server_config
    return None if tls is None else file.parent / tls.cert_file


def _parsed(file: Path) -> WebConfiguration:
    try:
        document = read_document(file.read_bytes())
    except OSError as error:
        raise AccessError(
            f"{file}: cannot be read ({error.strerror}); see http.web_config"
        ) from None
    if document.flaws:
        flaw = document.flaws[0]
        raise AccessError(f"{file}:{flaw.place.line}:{flaw.place.column}: {flaw.what}")
    try:
        return WebConfiguration.model_validate(document.values or {})
    except ValidationError as error:
        raise AccessError(f"{file}: {_mistakes(error)}") from None


def _mistakes(error: ValidationError) -> str:
    """Return the mistakes without the values, which may be secret."""
    flaws = []
    for each in error.errors(include_input=False, include_url=False, include_context=False):
        place = ".".join(str(step) for step in each["loc"] if step != "[key]")
        is_hash = each["type"] == "string_pattern_mismatch" and each["loc"][0] == "basic_auth_users"
        known = "is not known here; remove it"
        reason = {"extra_forbidden": known}.get(each["type"], each["msg"].lower())
        flaws.append(f"{place}: {'must be a bcrypt hash of cost 4 to 14' if is_hash else reason}")
    return "; ".join(flaws)


def _context(tls: TlsServer, file: Path) -> ssl.SSLContext:
    folder = file.parent
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.minimum_version = _VERSIONS[tls.min_version]
        context.maximum_version = _VERSIONS[tls.max_version]
        # Without this password, OpenSSL would ask for that of an encrypted key on the terminal.
        context.load_cert_chain(folder / tls.cert_file, folder / tls.key_file, password="")
        if tls.client_ca_file is not None:
            context.load_verify_locations(folder / tls.client_ca_file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise AccessError(
            f"{file}: tls_server_config: the certificate, its key or client_ca_file cannot be used "
            f"({reason}); file names are relative to the folder of this file"
        ) from None
    context.verify_mode = _CLIENTS[tls.client_auth_type]
    if context.verify_mode is not ssl.CERT_NONE and tls.client_ca_file is None:
        raise AccessError(f"{file}: client_auth_type {tls.client_auth_type} needs client_ca_file")
    return context
