"""A private broker for the demonstration and for tests: nats-server speaking MQTT 3.1.1.

Rules of this file: loopback only, a free port, a store that is thrown away; the broker never
outlives this process, however it ends (docs/adr/0002). For real work run a broker of your own.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Final

from monitor.errors import UNAVAILABLE, MonitorError, install_hint

HOST: Final = "127.0.0.1"

_SETTINGS: Final = """\
server_name: "monitor-embedded"
listen: "127.0.0.1:-1"
log_file: "{folder}/log"
jetstream {{ store_dir: "{folder}/store", max_memory_store: 64MB, max_file_store: 1GB }}
mqtt {{ listen: "127.0.0.1:-1", ack_wait: "2s", max_ack_pending: 2000 }}
"""
# The shell ends the broker when its standard input closes; the kernel closes it if we die.
_WATCH: Final = """
exec 3<&0
"$1" --config "$2/settings" 3<&- </dev/null >/dev/null 2>"$2/errors" & broker=$!
(read -r _ <&3; : >"$2/over"; kill "$broker") 2>/dev/null & watch=$!
wait "$broker"; code=$?
kill "$watch" 2>/dev/null
[ -e "$2/over" ] && command -p rm -rf -- "$2"
exit "$code"
"""
_LISTENING: Final = re.compile(r"Listening for MQTT clients on mqtt://127\.0\.0\.1:(\d+)")
_READY: Final = "Server is ready"
_CONNECT: Final = b"\x10\x13\x00\x04MQTT\x04\x02\x00\x0a\x00\x07monitor"  # MQTT 3.1.1, 3.1
_CONNECTED: Final = b"\x20\x02\x00\x00"
_DISCONNECT: Final = b"\xe0\x00"
_LOOK_SECONDS: Final = 0.01
_START_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 5.0


class EmbeddedBrokerError(MonitorError):
    """The embedded broker is not installed or does not start; the message says what to do."""

    exit_code = UNAVAILABLE


class EmbeddedBroker:
    """One broker on a free port of this machine's loopback; use it as a context or start and stop.

    It speaks MQTT 3.1.1, QoS 0 to 2, and keeps persistent sessions while it runs. ``folder`` holds
    its settings, log and store until it stops.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = Path()

    def start(self) -> tuple[str, int]:
        """Start the broker and return (host, port) once it answers; raises EmbeddedBrokerError."""
        if self._process is not None:
            raise EmbeddedBrokerError("the embedded broker runs already; stop it first")
        program = _program()
        self.folder = Path(tempfile.mkdtemp(prefix="monitor-broker-"))
        (self.folder / "settings").write_text(_SETTINGS.format(folder=self.folder))
        self._process = subprocess.Popen(  # noqa: S603 - our own script, our own program
            ["/bin/sh", "-c", _WATCH, "monitor-broker", str(program), str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for this process: the broker ends last
        )
        try:
            port = self._answering_port()
        except BaseException:
            self.stop()
            raise
        return HOST, port

    def stop(self) -> None:
        """End the broker and remove its store; harmless if it is not running."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int | None:
        """Process that watches over the broker and ends with it, None if it is not running."""
        return None if self._process is None else self._process.pid

    def __enter__(self) -> tuple[str, int]:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _answering_port(self) -> int:
        until = time.monotonic() + _START_SECONDS
        while time.monotonic() < until:
            log = self._said("log")
            listening = _LISTENING.search(log)
            if listening is not None and _READY in log and _answers(int(listening[1])):
                return int(listening[1])
            if self._process is None or self._process.poll() is not None:
                break
            time.sleep(_LOOK_SECONDS)
        last = (self._said("errors") + self._said("log")).strip().splitlines()[-3:]
        raise EmbeddedBrokerError(
            f"the embedded broker did not start within {_START_SECONDS:.0f} s; "
            f"use a broker of your own instead. It said: {' / '.join(last) or 'nothing'}"
        )

    def _said(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""


def _program() -> Path:
    """Return the nats-server of this Python's environment, else the one on the path."""
    folders = (sysconfig.get_path("scripts"), str(Path(sys.executable).parent), None)
    for folder in folders:
        program = shutil.which("nats-server", path=folder)
        if program is not None:
            return Path(program)
    raise EmbeddedBrokerError(
        f"the embedded broker is not installed: {install_hint('demo')} (it brings nats-server), "
        "or use a broker of your own with: monitor run --config FILE"
    )


def _answers(port: int) -> bool:
    """Return whether an MQTT 3.1.1 CONNECT is accepted at ``port``."""
    try:
        with socket.create_connection((HOST, port), timeout=1.0) as link:
            link.sendall(_CONNECT)
            accepted = link.recv(4, socket.MSG_WAITALL) == _CONNECTED
            link.sendall(_DISCONNECT)
    except OSError:
        return False
    return accepted
