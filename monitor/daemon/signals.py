"""What the process is told by signals: to end in good order, or to read its settings again.

Rules of this file: a handler notes and returns; an order stays until it is carried out, whoever
carries it out.
"""

from __future__ import annotations

import logging
import signal
from types import FrameType
from typing import Final

_log: Final = logging.getLogger("monitor")


class Orders:
    """State: whether to end, and whether to renew."""

    def __init__(self) -> None:
        self.end = False
        self.renew = False

    def heed_signals(self) -> None:
        """Let SIGTERM and SIGINT mean to end, and SIGHUP to renew."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_end)
        signal.signal(signal.SIGHUP, self._on_renew)

    def _on_end(self, number: int, frame: FrameType | None) -> None:
        del frame
        _log.info("%s: committing what is at hand, then stopping", signal.Signals(number).name)
        self.end = True

    def _on_renew(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.renew = True
