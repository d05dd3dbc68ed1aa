"""The sink ``log``: a line for each transition."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Final

from monitor.alerts.transition import Transition

_log: Final = logging.getLogger("monitor")


class LogSink:
    """Writes to the daemon's own log."""

    def deliver(self, transition: Transition) -> None:
        """Write a line."""
        when = datetime.fromtimestamp(transition.time, UTC).strftime("%Y-%m-%d %H:%M:%S")
        level = logging.WARNING if transition.is_news else logging.INFO
        of = transition
        _log.log(level, "%s  %s [%s: %s to %s, %s]", when, of, of.alert, of.before, of.after, of.id)

    def close(self) -> None:
        """Do nothing."""
