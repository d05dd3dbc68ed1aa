"""The section ``sinks``, made from the registry of sinks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import create_model

from monitor.alerts.sink_settings import SinkKind
from monitor.alerts.sinks import SINKS
from monitor.config.derived import Derived
from monitor.config.kinds import Section, setting
from monitor.core.setting import Contradiction


def _with_sinks(section: type[Section]) -> type[Section]:
    """Add a key for each kind of sink to ``section``."""
    sinks: Any = {name: _key(kind) for name, kind in SINKS.items()}
    return create_model(section.__name__, __base__=section, __doc__=section.__doc__, **sinks)


def _key(kind: SinkKind) -> tuple[Any, Any]:
    def contradictions(settings: Any) -> Iterator[Contradiction]:  # noqa: ANN401 - of any sink
        yield from kind.contradictions(settings)
        for secret in kind.secrets:
            given = [key for key in secret_keys(secret) if getattr(settings, key, None) is not None]
            for key in given[1:]:
                yield Contradiction((key,), f"conflicts with {given[0]}; give one of the two")

    section: Any = Annotated[kind.settings, Derived(contradictions)]
    return section | None, setting(kind.default, kind.meaning)


def secret_keys(secret: str) -> tuple[str, str, str]:
    """Return the keys that may hold a secret or name its source."""
    return secret, f"{secret}_file", f"{secret}_env"


@_with_sinks
class Sinks(Section):
    """Where alerts are sent when they begin or end, besides Prometheus."""

    history: int = setting(
        10_000,
        "How many alert transitions the journal keeps; a sink that falls further behind loses the "
        "oldest.",
        ge=100,
        le=10_000_000,
    )
