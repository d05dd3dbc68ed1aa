"""``monitor run`` as a process, its page and its metrics."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from harness.programs import WAIT_SECONDS, until, written

SETTINGS = """
mqtt: {{port: {port}, client_id: "{client}", protocol: "{protocol}"{mqtt}}}
journal: {{path: "{folder}/journal.sqlite"}}
http: {{port: 0{http}}}
publish: {{interval_seconds: {interval}}}
{more}
"""


class Daemon:
    """A daemon on a broker; ``start`` may be called again after ``stop`` or ``kill``."""

    def __init__(
        self,
        folder: Path,
        port: int,
        more: str = "",
        client: str = "test",
        protocol: str = "5",
        interval: float = 0.2,
        mqtt: str = "",
        *,
        http: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Write the settings; ``mqtt`` and ``http`` are further keys, as ``key: value, ...``."""
        self._folder = folder
        # As an installed program it keeps its bytecode: without, each start compiles for seconds.
        kept = {"PYTHONDONTWRITEBYTECODE": ""}
        self._environment = {**os.environ, **kept, **(environment or {})}
        text = SETTINGS.format(
            folder=folder,
            port=port,
            more=more,
            client=client,
            protocol=protocol,
            interval=interval,
            mqtt=f", {mqtt}" if mqtt else "",
            http=f", {http}" if http else "",
        )
        self.settings = written(folder, "settings.yaml", text)
        self._log = folder / "daemon.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.under: tuple[str, ...] = ()
        """A program that runs the daemon in its turn, with its options."""
        self.headers: Mapping[str, str] = {}
        self.tls: ssl.SSLContext | None = None

    def start(self, *, ready: bool = True) -> None:
        """Start it; wait for the page, and for the broker unless told not to."""
        own = ("-m", "monitor", "run", "--config", str(self.settings))
        command = [*self.under, sys.executable, *own]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log, env=self._environment)
        found = until("the daemon says its address", self._address)
        self.url = str(found)
        if ready:
            until(f"the daemon is ready: {self.log()}", self._is_ready)

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log()
        return self.get("/readyz")[0] == 200

    def _address(self) -> str:
        assert self.process is not None
        assert self.process.poll() is None, self.log()
        found = re.search(r"page and metrics on (\S+)", self.log())
        return found[1] if found else ""

    def log(self) -> str:
        """Return what it wrote so far."""
        return self._log.read_text(encoding="utf-8")

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body of a page; status 0 if nobody answers."""
        try:
            asked = urllib.request.Request(self.url + path, headers=dict(self.headers))
            with urllib.request.urlopen(asked, timeout=WAIT_SECONDS, context=self.tls) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()
        except OSError:
            return 0, b""

    def json(self, path: str) -> dict:
        """Return a JSON answer."""
        return json.loads(self.get(path)[1])

    def metrics(self) -> dict[str, float]:
        """Return the samples of /metrics by their text, none before anything is published."""
        status, page = self.get("/metrics")
        lines = page.decode().splitlines() if status == 200 else []
        samples = (line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, value in samples}

    def value(self, name: str) -> float:
        """Return one sample of /metrics, -1 while it is not there."""
        return self.metrics().get(name, -1.0)

    def stop(self) -> int:
        """Ask it to end and return its exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT_SECONDS)

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(WAIT_SECONDS)
