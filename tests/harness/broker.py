"""A real mosquitto: start, kill, start again with the same configuration."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from harness.programs import WAIT_SECONDS, answers, free_port, need, until, written

SETTINGS = """
listener {port} 127.0.0.1
allow_anonymous {anonymous}
max_queued_messages 1000000
persistence true
persistence_location {folder}/
autosave_interval 1
autosave_on_changes false
{more}
"""


class Mosquitto:
    """A mosquitto on a free port of the loopback; keeps its sessions over a restart."""

    def __init__(self, folder: Path, more: str = "", *, anonymous: bool = True) -> None:
        self.port = free_port()
        self._folder = folder
        if os.geteuid() == 0:
            more += "\nuser root"  # else it gives up root, and with it this folder
        text = SETTINGS.format(
            port=self.port, folder=folder, more=more, anonymous=str(anonymous).lower()
        )
        self._settings = written(folder, "mosquitto.conf", text)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with (self._folder / "mosquitto.log").open("ab") as log:
            self._process = subprocess.Popen(
                [need("mosquitto"), "-c", str(self._settings)], stdout=log, stderr=log
            )
        until("mosquitto listens", lambda: answers(self.port))

    @property
    def pid(self) -> int:
        """The process that runs."""
        assert self._process is not None
        return self._process.pid

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it with a signal, and wait until it is gone."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(WAIT_SECONDS)
            self._process = None

    def signal(self, number: int) -> None:
        """Send it a signal and go on; SIGHUP makes it read its passwords again."""
        assert self._process is not None
        self._process.send_signal(number)

    def log(self) -> str:
        """Return what it wrote so far."""
        return (self._folder / "mosquitto.log").read_text(encoding="utf-8")
