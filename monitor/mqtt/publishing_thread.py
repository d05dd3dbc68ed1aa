"""A thread that keeps publishing to a broker: when its connection is lost, it begins anew.

Rules of this file: the pauses between attempts double up to a limit and start over once a
connection has lasted longer than that. A complaint is logged once, until another one follows. No
fault ends the thread.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Final

from monitor.mqtt.connection import SourceRefusedError
from monitor.mqtt.publish import BrokerPublisher, PublishError

_FIRST_PAUSE_SECONDS: Final = 0.5
_PAUSE_SECONDS_MAX: Final = 30.0

_log: Final = logging.getLogger("monitor")


class PublishingThread(ABC):
    """Publishes from :meth:`start` to :meth:`stop`; what, subclasses say in :meth:`_rounds`.

    ``name`` is for the log; ``connect`` opens a connection. ``_published`` counts what the broker
    acknowledged, ``_lost`` what was on its way when a connection was lost.
    """

    def __init__(self, name: str, connect: Callable[[], BrokerPublisher]) -> None:
        self._what: Final = name
        self._connect: Final = connect
        self._published = self._lost = 0
        self._connected = False
        self._stopping: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to connect and publish."""
        self._thread.start()

    def end(self) -> None:
        """Begin to publish what is left and to disconnect."""
        self._stopping.set()

    def stop(self, seconds: float) -> None:
        """Publish what is left and disconnect, within ``seconds``."""
        self.end()
        if self._thread.is_alive():
            self._thread.join(seconds)

    @abstractmethod
    def _rounds(self, broker: BrokerPublisher) -> Iterator[float]:
        """Publish round by round until ``_stopping`` is set; yield how long to wait, in s.

        Raises PublishError or SourceRefusedError when the connection is refused or lost.
        """

    def _serve(self) -> None:
        with self._connect() as broker:
            before = self._published
            self._connected = True
            try:
                for seconds in self._rounds(broker):
                    broker.sleep(seconds)
                    self._published = before + broker.acknowledged
                broker.flush()
            finally:
                self._connected = False
                self._published = before + broker.acknowledged
                self._lost += broker.on_their_way

    def _run(self) -> None:
        pause, complained = _FIRST_PAUSE_SECONDS, ""
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._serve()
            except (PublishError, SourceRefusedError) as error:
                if str(error) != complained:
                    _log.warning("%s: %s; trying again", self._what, error)
                complained = str(error)
            except Exception:  # noqa: BLE001 - a fault here costs messages, not the daemon
                _log.exception("%s: an internal error; trying again", self._what)
            if time.monotonic() - began > _PAUSE_SECONDS_MAX:
                pause = _FIRST_PAUSE_SECONDS
            self._stopping.wait(pause)
            pause = min(2.0 * pause, _PAUSE_SECONDS_MAX)
