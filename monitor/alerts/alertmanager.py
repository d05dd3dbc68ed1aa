"""The sink ``alertmanager``: alerts with the verdict's own words at Alertmanager's API, version 2.

Rules of this file: Alertmanager forgets what is not said again, so all that fires is said again, as
the page says it then, and what ended lately with it. An alert keeps its labels from start to end:
Alertmanager knows it by them. Times are at most now, because references may be dated ahead.
https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from annotated_types import Gt, Le, MaxLen, doc

from monitor.alerts.outlet import (
    GiveUpHours,
    LaterError,
    RefusedError,
    RetrySeconds,
    Sink,
    SinkContext,
    SinkKind,
)
from monitor.alerts.transition import FIRING, Transition, links, rule_name, severity_of
from monitor.alerts.webhook_settings import (
    PLAIN_HTTP,
    AllowHttp,
    AuthorizationFile,
    AuthorizationVariable,
    CaFile,
    TimeoutSeconds,
    header_value,
    is_private,
    plain_url,
)
from monitor.core.formatting import instant
from monitor.core.setting import Check, Contradiction
from monitor.core.verdict import REFERENCE_SUSPECT, many_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monitor.alerts.posting import Poster

_PATH: Final = "/api/v2/alerts"
_POST_BYTES_MAX: Final = 64_000
_LASTS_SECONDS: Final = 3600.0  # after that Alertmanager ends an alert that nobody says again


class AlertmanagerSettings(NamedTuple):
    """Alerts at Prometheus' Alertmanager, in the words of the page (docs/alerts.md)."""

    url: Annotated[
        Annotated[str, MaxLen(2048), Check(plain_url)],
        doc("URL of Alertmanager: https, or http on this machine; /api/v2/alerts follows it."),
    ]
    instance: Annotated[
        Annotated[str, MaxLen(256)],
        doc("Label instance of the alerts, as Prometheus calls this daemon; job is monitor then."),
    ] = ""
    authorization_file: AuthorizationFile = None
    authorization_env: AuthorizationVariable = None
    ca_file: CaFile = None
    allow_http: AllowHttp = False
    timeout_seconds: TimeoutSeconds = 10.0
    repeat_seconds: Annotated[
        float, Gt(0), Le(600), doc("Time after which all that fires is sent again.")
    ] = 60.0
    retry_seconds_max: RetrySeconds = 60.0
    give_up_hours: GiveUpHours = 72.0


class AlertmanagerSink:
    """Posts alerts; what the server does not accept waits, for a proxy may have answered."""

    def __init__(
        self,
        poster: Poster,
        public_url: str = "",
        repeat_seconds: float = 60.0,
        instance: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.repeat_seconds: Final = repeat_seconds
        self._poster: Final = poster
        self._public_url: Final = public_url
        self._own: Final = {"job": "monitor", "instance": instance} if instance else {}
        self._clock: Final = clock

    def deliver(self, transition: Transition) -> None:
        """Post the alert of a transition; raises LaterError."""
        if transition.is_news:
            self.repeat([transition])

    def repeat(self, current: Sequence[Transition]) -> None:
        """Post alerts, a few dozen at a time; raises LaterError."""
        now = self._clock()
        alerts = [alert_of(each, now, self._public_url) for each in current]
        for alert in alerts:
            alert["labels"] |= self._own
        for content in bodies(alerts):
            self._post(content)

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()

    def _post(self, content: bytes) -> None:
        from monitor.alerts.posting import check_status  # noqa: PLC0415 - loads an HTTP client

        status, headers = self._poster.post(content)
        try:
            check_status(status, headers, self._clock())
        except RefusedError as error:
            raise LaterError(str(error)) from None
        if "html" in headers.get("content-type", ""):
            raise LaterError(f"the server answers {status} with a page, as Alertmanager never does")


def alert_of(of: Transition, now: float, public_url: str = "") -> dict[str, Any]:
    """Return an alert as Alertmanager takes it; empty labels and annotations are left out."""
    starts = min(now, of.began if of.began is not None else of.notified)
    ends = now + _LASTS_SECONDS if of.after == FIRING else max(starts, min(now, of.notified))
    labels = {
        "alertname": rule_name(of.alert),
        "sensor": of.sensor,
        "quantity": of.quantity,
        "unit": of.unit if of.alert == REFERENCE_SUSPECT else "",  # one in each may be suspect
        "fault": of.alert,
        "group": of.group,
        "site": of.site,
        "severity": severity_of(of),
    }
    annotations = {
        "summary": f"{of.sensor} ({of.quantity}) {of.sentence}",
        "sentence": of.sentence,
        "advice": of.advice,
        "many": many_of(of.looks_like or of.alert, of.estimate, of.unit),
        "of": str(of.peers or ""),
        **links(of, public_url),
    }
    return {
        "startsAt": instant(starts, "milliseconds"),
        "endsAt": instant(ends, "milliseconds"),
        "labels": _present(labels),
        "annotations": _present(annotations),
    }


def _present(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


def bodies(alerts: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Yield posts with all alerts, none above 64 kB unless one alert alone is."""
    size, part = 0, list[bytes]()
    for alert in alerts:
        text = json.dumps(alert, ensure_ascii=False, separators=(",", ":")).encode()
        if part and size + len(text) > _POST_BYTES_MAX:
            yield b"[%b]" % b",".join(part)
            size, part = 0, []
        size += len(text) + 1
        part.append(text)
    if part:
        yield b"[%b]" % b",".join(part)


def _contradictions(settings: AlertmanagerSettings) -> Iterator[Contradiction]:
    if not is_private(settings.url, allow_http=settings.allow_http):
        yield Contradiction(("url",), PLAIN_HTTP)
    if settings.url.rstrip("/").endswith(_PATH):
        yield Contradiction(("url",), f"ends with {_PATH}, which follows by itself; leave it out")


def _open(settings: AlertmanagerSettings, context: SinkContext) -> Sink:
    from monitor.alerts.posting import Poster, Target  # noqa: PLC0415 - loads an HTTP client

    target = Target(
        url=settings.url.rstrip("/") + _PATH,
        authorization=context.secrets.get("authorization"),
        ca_file=settings.ca_file,
        timeout_seconds=settings.timeout_seconds,
    )
    return AlertmanagerSink(
        Poster(target), context.public_url, settings.repeat_seconds, settings.instance
    )


ALERTMANAGER: Final = SinkKind(
    "Alerts at Alertmanager, in the words of the page; null for none.",
    AlertmanagerSettings,
    _open,
    contradictions=_contradictions,
    secrets={"authorization": header_value},
)
