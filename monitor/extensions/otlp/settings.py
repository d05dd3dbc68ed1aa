"""The section ``otlp``: where metrics are pushed to."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from monitor.config.kinds import Section, setting
from monitor.config.settings import Settings


class Otlp(Section):
    """Metrics pushed by OTLP over HTTP, for daemons that Prometheus cannot scrape."""

    endpoint: Annotated[str, Field(max_length=2048, pattern=r"^https?://[!-~]+$")] | None = setting(
        None,
        "URL to post to, such as http://127.0.0.1:4318/v1/metrics; null for none "
        "(docs/metrics.md).",
    )
    interval_seconds: float = setting(30.0, "Time between two pushes.", ge=0.1, le=86_400)
    timeout_seconds: float = setting(
        10.0, "Time limit of one push, retries included.", gt=0, le=600
    )


SECTION: Final = (
    Otlp,
    setting(Otlp(), "Metrics pushed by OTLP over HTTP, for daemons that Prometheus cannot scrape."),
)


def otlp_of(settings: Settings) -> Otlp:
    """Return the section of settings that have it."""
    section: Otlp = settings.section("otlp")
    return section
