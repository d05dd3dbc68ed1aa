"""What the settings of every sink are made of, and what describes a kind of sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from annotated_types import Gt, Le, doc

from monitor.alerts.outlet import Sink
from monitor.core.setting import Contradiction

if TYPE_CHECKING:  # whoever loads settings need not load the client of the broker
    from monitor.mqtt.publish import BrokerPublisher

RetrySeconds = Annotated[float, Gt(0), Le(86_400), doc("Longest pause between two attempts.")]
GiveUpHours = Annotated[
    float, Gt(0), Le(8784), doc("How long delivery of one transition is retried.")
]


class SinkContext(NamedTuple):
    """What a sink is opened with besides its settings.

    ``connect`` makes a connection to the daemon's broker; ``secrets`` are those that the sink's
    settings name. Do not print it.
    """

    connect: Callable[[], BrokerPublisher]
    secrets: Mapping[str, Any]

    def __repr__(self) -> str:
        return "SinkContext(...)"


def _agree(_settings: Any) -> Iterable[Contradiction]:  # noqa: ANN401 - of any sink
    return ()


class SinkKind(NamedTuple):
    """A kind of sink: all that the settings file, the daemon and the documentation need.

    ``settings`` is a NamedTuple as :mod:`monitor.core.setting` describes, with the fields
    ``retry_seconds_max`` and ``give_up_hours``. Each secret ``x`` among ``secrets`` has the fields
    ``x_file`` and ``x_env`` that say where it is; the function converts what is found there, and
    raises ValueError, without the secret, if it cannot be used. ``default`` is the sink that runs
    without being asked for.
    """

    meaning: str
    settings: type
    open: Callable[[Any, SinkContext], Sink]
    default: Any = None
    contradictions: Callable[[Any], Iterable[Contradiction]] = _agree
    secrets: Mapping[str, Callable[[str, Any], object]] = {}
