"""The settings and secrets of the sink ``webhook``; monitor.alerts.webhook posts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Annotated, Final, NamedTuple
from urllib.parse import SplitResult, urlsplit

from annotated_types import Gt, Le, MaxLen, doc

from monitor.alerts.outlet import GiveUpHours, RetrySeconds, Sink, SinkContext, SinkKind
from monitor.core.setting import Check, Contradiction, File, Variable
from monitor.mqtt.connection import is_loopback

# Keys of every sink that posts.
AuthorizationFile = Annotated[
    File | None, doc("File that holds the value of the Authorization header, such as `Bearer ...`.")
]
AuthorizationVariable = Annotated[
    Variable | None,
    doc("Environment variable that holds that value, instead of authorization_file."),
]
CaFile = Annotated[
    File | None, doc("CA certificates (PEM) to trust for the server; null for the system's.")
]
AllowHttp = Annotated[bool, doc("Whether to allow unencrypted http to another machine.")]
TimeoutSeconds = Annotated[float, Gt(0), Le(120), doc("Time limit of one attempt.")]
_BASE64_PREFIX: Final = "whsec_"
PLAIN_HTTP: Final = "is unencrypted http to another machine; write https, or set allow_http: true"


def _split(url: str) -> SplitResult:
    """Return the parts of an http or https URL; raises ValueError for anything else."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not url.isascii() or not url.isprintable() or set(url) & set(' "<>\\^`{|}'):
        raise ValueError("is not a URL; write https://host/path")
    return parts


def plain_url(url: str) -> str:
    """Return an http or https URL without credentials; raises ValueError for anything else."""
    parts = _split(url)
    if parts.username is not None or parts.password is not None:
        fault = "contains a user name or password; give authorization_file or authorization_env"
        raise ValueError(fault)
    return url


class WebhookSettings(NamedTuple):
    """An HTTP POST of JSON for each transition (docs/alerts.md)."""

    url: Annotated[
        Annotated[str, MaxLen(2048), Check(plain_url)] | None,
        doc("URL to post to: https, or http on this machine; null if it is secret."),
    ] = None
    url_file: Annotated[File | None, doc("File that holds the URL, instead of url.")] = None
    url_env: Annotated[
        Variable | None, doc("Environment variable that holds the URL, instead of url.")
    ] = None
    secret_file: Annotated[
        File | None, doc("File that holds the signing secret; null for no signature.")
    ] = None
    secret_env: Annotated[
        Variable | None,
        doc("Environment variable that holds the signing secret, instead of secret_file."),
    ] = None
    authorization_file: AuthorizationFile = None
    authorization_env: AuthorizationVariable = None
    ca_file: CaFile = None
    allow_http: AllowHttp = False
    timeout_seconds: TimeoutSeconds = 10.0
    retry_seconds_max: RetrySeconds = 300.0
    give_up_hours: GiveUpHours = 72.0


def _contradictions(settings: WebhookSettings) -> Iterator[Contradiction]:
    if settings.url is None and settings.url_file is None and settings.url_env is None:
        yield Contradiction(("url",), "is missing; give url, url_file or url_env")
    if settings.url is not None and not is_private(settings.url, allow_http=settings.allow_http):
        yield Contradiction(("url",), PLAIN_HTTP)


def is_private(url: str, *, allow_http: bool) -> bool:
    """Whether what is posted to ``url`` is encrypted, stays on this machine, or may be read."""
    parts = urlsplit(url)
    return allow_http or parts.scheme == "https" or is_loopback(parts.hostname or "")


def _secret_url(url: str, settings: WebhookSettings) -> str:
    parts = _split(url)
    if parts.username is not None or parts.password is not None:
        raise ValueError("is not a URL; write https://host/path")
    if not is_private(url, allow_http=settings.allow_http):
        raise ValueError(PLAIN_HTTP)
    return url


def _signing_key(secret: str, _settings: WebhookSettings) -> bytes:
    """Return the key in a secret: base64 after ``whsec_``, else the text itself."""
    if not secret.startswith(_BASE64_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_BASE64_PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("is not base64 after whsec_") from None


def header_value(value: str, _settings: object) -> str:
    """Return the value of a header; raises ValueError if it cannot be one."""
    if not (value.isascii() and value.isprintable()):
        raise ValueError("cannot be a header's value; use printable ASCII on one line")
    return value


def _open(settings: WebhookSettings, context: SinkContext) -> Sink:
    from monitor.alerts.posting import Target  # noqa: PLC0415 - loads an HTTP client
    from monitor.alerts.webhook import WebhookSink  # noqa: PLC0415

    secrets = context.secrets
    return WebhookSink(
        Target(
            url=settings.url or secrets["url"],
            key=secrets.get("secret"),
            authorization=secrets.get("authorization"),
            ca_file=settings.ca_file,
            timeout_seconds=settings.timeout_seconds,
            public_url=context.public_url,
        )
    )


WEBHOOK: Final = SinkKind(
    "Signed HTTP POST; null for none.",
    WebhookSettings,
    _open,
    contradictions=_contradictions,
    secrets={"url": _secret_url, "secret": _signing_key, "authorization": header_value},
)
