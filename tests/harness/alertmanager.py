"""A real Alertmanager on a free port of the loopback, with the shipped configuration."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from urllib.request import urlopen

from harness.programs import WAIT_SECONDS, answers, free_port, need, until, written


class Alertmanager:
    """A running Alertmanager; ``target`` is where Prometheus finds it."""

    def __init__(self, folder: Path, configuration: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.target = f"127.0.0.1:{port}"
        file = written(folder, "alertmanager.yml", configuration)
        command = [need("prometheus-alertmanager"), f"--config.file={file}"]
        command += [f"--storage.path={folder}/data", f"--web.listen-address={self.target}"]
        command += ["--cluster.listen-address="]
        self._command, self._log, self._port = command, folder / "alertmanager.log", port
        self.start()

    def start(self) -> None:
        """Start it, with what it had stored."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        until("Alertmanager listens", lambda: answers(self._port))

    def alerts(self) -> list[dict]:
        """Return the alerts that it has, those that end too."""
        with urlopen(f"http://{self.target}/api/v2/alerts", timeout=WAIT_SECONDS) as answer:
            return json.load(answer)

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(WAIT_SECONDS)
