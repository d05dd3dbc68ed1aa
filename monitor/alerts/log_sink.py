"""The sink ``log``: a log line for each transition."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from monitor.alerts.outlet import GiveUpHours, RetrySeconds, SinkKind
from monitor.alerts.transition import Transition, log_fields
from monitor.core.formatting import date_time

_log: Final = logging.getLogger("monitor")


class LogSettings(NamedTuple):
    """Lines in the daemon's log: pending at level info, all else at warning."""

    retry_seconds_max: RetrySeconds = 60.0
    give_up_hours: GiveUpHours = 1.0


class LogSink:
    """Writes to the daemon's own log."""

    def deliver(self, transition: Transition) -> None:
        """Write a line."""
        when = date_time(transition.time)
        level = logging.WARNING if transition.is_news else logging.INFO
        of = transition
        words = (when, of, of.alert, of.before, of.after, of.id)
        _log.log(level, "%s  %s [%s: %s to %s, %s]", *words, extra=log_fields(of))

    def close(self) -> None:
        """Do nothing."""


LOG: Final = SinkKind(
    "Log lines; null for none.",
    LogSettings,
    lambda _settings, _context: LogSink(),
    default=LogSettings(),
)
