"""A real Prometheus on a free port of the loopback, scraping one address every second."""

from __future__ import annotations

import json
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

from harness.programs import WAIT_SECONDS, free_port, need, until, written

SETTINGS = """
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: monitor
    static_configs: [{{targets: ["{target}"]}}]
"""


class Prometheus:
    """A running Prometheus; ``query`` asks it. It may have settings and options of its own."""

    def __init__(self, folder: Path, target: str, settings: str = "", *options: str) -> None:
        self._port = free_port()
        text = settings or SETTINGS.format(target=target)
        settings = str(written(folder, "prometheus.yml", text))
        command = [need("prometheus"), f"--config.file={settings}"]
        command += [f"--storage.tsdb.path={folder}/tsdb"]
        command += [f"--web.listen-address=127.0.0.1:{self._port}", *options]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until("Prometheus is ready", self._ready)

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self._port}/-/ready", timeout=WAIT_SECONDS
            ):
                return True
        except OSError:
            return False

    def query(self, expression: str) -> list[dict]:
        """Return the samples of an instant query."""
        words = urllib.parse.urlencode({"query": expression})
        url = f"http://127.0.0.1:{self._port}/api/v1/query?{words}"
        with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as answer:
            return json.loads(answer.read())["data"]["result"]

    def kinds(self) -> dict[str, str]:
        """Return the kind of each metric, by the name that its family had where it was scraped."""
        url = f"http://127.0.0.1:{self._port}/api/v1/metadata"
        with urllib.request.urlopen(url, timeout=WAIT_SECONDS) as answer:
            found = json.loads(answer.read())["data"]
        return {name: of[0]["type"] for name, of in found.items()}

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(WAIT_SECONDS)
