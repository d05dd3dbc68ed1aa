"""The section ``sinks``: whom the daemon tells when an alert begins or ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator, Field

from monitor.config.kinds import (
    Contradiction,
    File,
    Section,
    Variable,
    is_loopback,
    refusal,
    setting,
)

_PREFIX_CHARACTERS: Final = frozenset("+#$\0")


def _prefix(topic: str) -> str:
    levels = topic.split("/")
    if not topic.isprintable() or _PREFIX_CHARACTERS & set(topic) or "" in levels:
        raise refusal("is not the beginning of a topic; write levels with / between, such as a/b")
    return topic


def split_url(url: str) -> SplitResult | None:
    """Return the parts of an http or https address, None for anything else."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    plain = url.isascii() and url.isprintable() and not set(url) & set(' "<>\\^`{|}')
    return parts if fits and plain else None


def _url(url: str) -> str:
    parts = split_url(url)
    if parts is None:
        raise refusal("is not an address; write https://host/path")
    if parts.username is not None or parts.password is not None:
        raise refusal("holds a name or a password; give authorization_file or authorization_env")
    return url


Prefix = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_prefix)]
Url = Annotated[str, Field(max_length=2048), AfterValidator(_url)]
RetrySeconds = Annotated[float, Field(gt=0, le=86_400)]
GiveUpHours = Annotated[float, Field(gt=0, le=8784)]


class LogSink(Section):
    """Lines in the daemon's log: pending at level info, all else at warning."""

    retry_seconds_max: RetrySeconds = setting(60.0, "Longest pause between two attempts.")
    give_up_hours: GiveUpHours = setting(1.0, "One transition is tried for so long.")


class MqttSink(Section):
    """A retained message for each alert of each series, at the daemon's own broker."""

    topic: Prefix = setting(
        "monitor/alert", "Beginning of the topics; sensor, quantity and alert come after it."
    )
    resolved: Literal["keep", "clear"] = setting(
        "keep", "When an alert ends: keep a message that says so, or clear the retained one."
    )
    discovery: bool = setting(
        default=False, description="Whether Home Assistant is told of each alert (MQTT discovery)."
    )
    discovery_topic: Prefix = setting(
        "homeassistant", "Where Home Assistant listens for discovery."
    )
    retry_seconds_max: RetrySeconds = setting(300.0, "Longest pause between two attempts.")
    give_up_hours: GiveUpHours = setting(72.0, "One transition is tried for so long.")

    def contradictions(self) -> Iterator[Contradiction]:
        """Home Assistant reads the message that says that an alert is over."""
        if self.discovery and self.resolved == "clear":
            yield Contradiction(("resolved",), "must be keep, for Home Assistant reads it")


class WebhookSink(Section):
    """An HTTP POST of JSON for each transition (docs/alerts.md)."""

    url: Url | None = setting(
        None, "Address that is posted to; https, or http on this machine. Null where it is secret."
    )
    url_file: File | None = setting(None, "File that holds the address, instead of url.")
    url_env: Variable | None = setting(
        None, "Environment variable that holds the address, instead of url."
    )
    secret_file: File | None = setting(
        None, "File that holds the secret which signs what is posted; null for no signature."
    )
    secret_env: Variable | None = setting(
        None, "Environment variable that holds the secret, instead of secret_file."
    )
    authorization_file: File | None = setting(
        None, "File that holds the value of the header Authorization, such as `Bearer ...`."
    )
    authorization_env: Variable | None = setting(
        None, "Environment variable that holds it, instead of authorization_file."
    )
    ca_file: File | None = setting(
        None, "Certificates (PEM) of those who may vouch for the server; null for the system's."
    )
    allow_http: bool = setting(
        default=False,
        description="Whether http may leave this machine, where everybody on the way can read it.",
    )
    timeout_seconds: float = setting(10.0, "How long one attempt may take.", gt=0, le=120)
    retry_seconds_max: RetrySeconds = setting(300.0, "Longest pause between two attempts.")
    give_up_hours: GiveUpHours = setting(72.0, "One transition is tried for so long.")

    def contradictions(self) -> Iterator[Contradiction]:
        """There is one address, and each secret has one place."""
        given = [key for key in ("url", "url_file", "url_env") if getattr(self, key) is not None]
        if not given:
            yield Contradiction(("url",), "is needed: where to post to (or url_file, url_env)")
        for key in given[1:]:
            yield Contradiction((key,), f"stands beside {given[0]}; give one of the two")
        for what in ("secret", "authorization"):
            file, variable = f"{what}_file", f"{what}_env"
            if getattr(self, file) is not None and getattr(self, variable) is not None:
                yield Contradiction((variable,), f"stands beside {file}; give one of the two")
        if self.url is not None and not (self.allow_http or is_private(self.url)):
            yield Contradiction(
                ("url",), "is http to another machine; write https, or allow_http: true"
            )


def is_private(url: str) -> bool:
    """Whether what is posted to ``url`` is encrypted, or stays on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


class Sinks(Section):
    """Whom the daemon tells when an alert begins or ends, besides Prometheus."""

    history: int = setting(
        10_000,
        "How many transitions of alerts the journal keeps; a sink that is further behind loses.",
        ge=100,
        le=10_000_000,
    )
    log: LogSink | None = setting(LogSink(), "Lines in the log; null for none.")
    mqtt: MqttSink | None = setting(None, "Retained MQTT messages; null for none, {} for usual.")
    webhook: WebhookSink | None = setting(None, "HTTP POST; null for none.")
