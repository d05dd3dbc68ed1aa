"""A broker that speaks Kafka's protocol: noida-db from PyPI, on a free port of the loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from harness.programs import WAIT_SECONDS, answers, free_port, need_module, need_script, until


def need_log() -> str:
    """Return the program, or skip with the reason why it is not there."""
    need_module("confluent_kafka", "cluster-test")
    return need_script("noida-db")


class TestLog:
    """A log with one node; what it acknowledged survives a stop."""

    __test__ = False

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def servers(self) -> str:
        """Where it is."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with (self._folder / "log.txt").open("ab") as log:
            folder, port = str(self._folder / "noida"), str(self.port)
            self._process = subprocess.Popen(
                [
                    need_log(),
                    "start",
                    "--data-dir",
                    folder,
                    "--only",
                    "kafka",
                    "--kafka-port",
                    port,
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until("the log listens", lambda: answers(self.port))

    def stop(self) -> None:
        """End it, and wait until it is gone.

        The program that was started kills the broker after a quarter of a second, whatever it has
        not written yet: so the broker is told itself, and first.
        """
        if self._process is None:
            return
        for number in (signal.SIGINT, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(WAIT_SECONDS)
                break
        self._process = None
