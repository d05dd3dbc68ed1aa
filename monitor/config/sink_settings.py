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
        raise refusal("is not a topic prefix; write levels separated by /, such as a/b")
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
        raise refusal("is not a URL; write https://host/path")
    if parts.username is not None or parts.password is not None:
        raise refusal(
            "contains a user name or password; give authorization_file or authorization_env"
        )
    return url


Prefix = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_prefix)]
Url = Annotated[str, Field(max_length=2048), AfterValidator(_url)]
RetrySeconds = Annotated[float, Field(gt=0, le=86_400)]
GiveUpHours = Annotated[float, Field(gt=0, le=8784)]


class LogSink(Section):
    """Lines in the daemon's log: pending at level info, all else at warning."""

    retry_seconds_max: RetrySeconds = setting(60.0, "Longest pause between two attempts.")
    give_up_hours: GiveUpHours = setting(1.0, "How long delivery of one transition is retried.")


class MqttSink(Section):
    """A retained message for each alert of each series, at the daemon's own broker."""

    topic: Prefix = setting("monitor/alert", "Topic prefix; sensor, quantity and alert follow it.")
    resolved: Literal["keep", "clear"] = setting(
        "keep", "When an alert ends: keep a message that says so, or clear the retained one."
    )
    discovery: bool = setting(
        default=False,
        description="Whether to announce each alert to Home Assistant (MQTT discovery).",
    )
    discovery_topic: Prefix = setting("homeassistant", "Home Assistant's discovery prefix.")
    retry_seconds_max: RetrySeconds = setting(300.0, "Longest pause between two attempts.")
    give_up_hours: GiveUpHours = setting(72.0, "How long delivery of one transition is retried.")

    def contradictions(self) -> Iterator[Contradiction]:
        """Home Assistant needs the message that says that an alert ended."""
        if self.discovery and self.resolved == "clear":
            yield Contradiction(
                ("resolved",), "must be keep, because Home Assistant reads that message"
            )


class WebhookSink(Section):
    """An HTTP POST of JSON for each transition (docs/alerts.md)."""

    url: Url | None = setting(
        None, "URL to post to: https, or http on this machine; null if it is secret."
    )
    url_file: File | None = setting(None, "File that holds the URL, instead of url.")
    url_env: Variable | None = setting(
        None, "Environment variable that holds the URL, instead of url."
    )
    secret_file: File | None = setting(
        None, "File that holds the signing secret; null for no signature."
    )
    secret_env: Variable | None = setting(
        None, "Environment variable that holds the signing secret, instead of secret_file."
    )
    authorization_file: File | None = setting(
        None, "File that holds the value of the Authorization header, such as `Bearer ...`."
    )
    authorization_env: Variable | None = setting(
        None, "Environment variable that holds that value, instead of authorization_file."
    )
    ca_file: File | None = setting(
        None, "CA certificates (PEM) to trust for the server; null for the system's."
    )
    allow_http: bool = setting(
        default=False,
        description="Whether to allow unencrypted http to another machine.",
    )
    timeout_seconds: float = setting(10.0, "Time limit of one attempt.", gt=0, le=120)
    retry_seconds_max: RetrySeconds = setting(300.0, "Longest pause between two attempts.")
    give_up_hours: GiveUpHours = setting(72.0, "How long delivery of one transition is retried.")

    def contradictions(self) -> Iterator[Contradiction]:
        """There is one URL, and each secret has one source."""
        given = [key for key in ("url", "url_file", "url_env") if getattr(self, key) is not None]
        if not given:
            yield Contradiction(("url",), "is missing; give url, url_file or url_env")
        for key in given[1:]:
            yield Contradiction((key,), f"conflicts with {given[0]}; give one of the two")
        for what in ("secret", "authorization"):
            file, variable = f"{what}_file", f"{what}_env"
            if getattr(self, file) is not None and getattr(self, variable) is not None:
                yield Contradiction((variable,), f"conflicts with {file}; give one of the two")
        if self.url is not None and not (self.allow_http or is_private(self.url)):
            yield Contradiction(
                ("url",),
                "is unencrypted http to another machine; write https, or set allow_http: true",
            )


def is_private(url: str) -> bool:
    """Whether what is posted to ``url`` is encrypted, or stays on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or is_loopback(parts.hostname or "")


class Sinks(Section):
    """Where alerts are sent when they begin or end, besides Prometheus."""

    history: int = setting(
        10_000,
        "How many alert transitions the journal keeps; a sink that falls further behind loses "
        "the oldest.",
        ge=100,
        le=10_000_000,
    )
    log: LogSink | None = setting(LogSink(), "Log lines; null for none.")
    mqtt: MqttSink | None = setting(
        None, "Retained MQTT messages at the broker above; null for none, {} for the defaults."
    )
    webhook: WebhookSink | None = setting(None, "Signed HTTP POST; null for none.")
