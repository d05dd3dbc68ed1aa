"""A real Alertmanager on a free port of the loopback, with the shipped configuration."""

from __future__ import annotations

import subprocess
from pathlib import Path

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
        with (folder / "alertmanager.log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        until("Alertmanager listens", lambda: answers(port))

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(WAIT_SECONDS)
