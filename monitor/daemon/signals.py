"""Signals: SIGTERM and SIGINT stop the daemon in good order, SIGHUP reloads its settings.

Rules of this file: a handler only sets a flag; the loop acts on it between two batches.
"""

from __future__ import annotations

import logging
import signal
from types import FrameType
from typing import Final

_log: Final = logging.getLogger("monitor")


class Signals:
    """State: whether to stop, and whether to reload."""

    def __init__(self) -> None:
        self.stop = False
        self.reload = False

    def install(self) -> None:
        """Install the handlers of SIGTERM, SIGINT and SIGHUP."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_reload)

    def _on_stop(self, number: int, frame: FrameType | None) -> None:
        del frame
        _log.info("%s: stopping after the current batch is committed", signal.Signals(number).name)
        self.stop = True

    def _on_reload(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.reload = True
