"""A thread that keeps publishing to a broker: when its connection is lost, it begins anew.

Rules of this file: the pauses between attempts double up to a limit and start over once a
connection has lasted longer than that. A complaint is logged once, until another one follows. No
fault ends the thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from monitor.mqtt.publish import PublishError
from monitor.mqtt.source import SourceRefusedError

_FIRST_PAUSE_SECONDS: Final = 0.5
_PAUSE_SECONDS_MAX: Final = 30.0

_log: Final = logging.getLogger("monitor")


class PublishingThread:
    """Calls ``serve`` from :meth:`start` to :meth:`stop`; ``what`` it publishes is for the log.

    ``serve`` connects, publishes until ``stopping`` is set, and raises PublishError or
    SourceRefusedError when the connection is refused or lost.
    """

    def __init__(
        self,
        what: str,
        serve: Callable[[], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what: Final = what
        self._serve: Final = serve
        self._monotonic: Final = monotonic
        self.stopping: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._run, name=what, daemon=True)

    def start(self) -> None:
        """Begin to connect and publish."""
        self._thread.start()

    def end(self) -> None:
        """Tell ``serve`` to end."""
        self.stopping.set()

    def stop(self, seconds: float) -> None:
        """Tell ``serve`` to end, and wait for that within ``seconds``."""
        self.end()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _run(self) -> None:
        pause, complained = _FIRST_PAUSE_SECONDS, ""
        while not self.stopping.is_set():
            began = self._monotonic()
            try:
                self._serve()
            except (PublishError, SourceRefusedError) as error:
                if str(error) != complained:
                    _log.warning("%s: %s; trying again", self._what, error)
                complained = str(error)
            except Exception:  # noqa: BLE001 - a fault here costs messages, not the daemon
                _log.exception("%s: an internal error; trying again", self._what)
            if self._monotonic() - began > _PAUSE_SECONDS_MAX:
                pause = _FIRST_PAUSE_SECONDS
            self.stopping.wait(pause)
            pause = min(2.0 * pause, _PAUSE_SECONDS_MAX)
