"""The programs that tests start: which package brings them, a free port, a bounded wait.

Every test that starts a program asks :func:`need` for it, or :func:`need_script` for one that pip
installs. Where the program is missing, the test skips and names what to install. Continuous
integration installs everything, so there a missing program is a failure.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

import pytest

PACKAGES: Final = {
    "amtool": "prometheus-alertmanager",
    "bash": "bash",
    "chromium": "chromium",
    "curl": "curl",
    "fish": "fish",
    "java": "openjdk-17-jre-headless",
    "make": "make",
    "mosquitto": "mosquitto",
    "mosquitto_passwd": "mosquitto",
    "mosquitto_pub": "mosquitto-clients",
    "mount": "mount",
    "openssl": "openssl",
    "prometheus": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "promtool": "prometheus",
    "strace": "strace",
    "systemd-analyze": "systemd",
    "umount": "mount",
    "zsh": "zsh",
}
"""Each program with the Debian package that brings it."""

ELSEWHERE: Final = {
    "chromium": ("chromium-browser", "google-chrome"),
    "prometheus-alertmanager": ("alertmanager",),
}
"""The names some programs have where they do not come from Debian."""

SCRIPTS: Final = {
    "check-jsonschema": "deploy",
    "hadolint": "deploy",
    "kubectl": "deploy",
    "nats-server": "demo",
    "noida-db": "cluster-test",
}
"""Each program that comes as a Python package with the extra of this project that brings it."""

WAIT_SECONDS: Final = 900.0
"""How long anything is waited for. It ends a test that hangs; a slow machine never gets there."""

_POLL_SECONDS: Final = 0.02
_POLL_SECONDS_MOST: Final = 0.2
_POLL_SHARE: Final = 0.1  # of what was waited so far


def need(name: str) -> str:
    """Return the path of a program of :data:`PACKAGES`; skip without it, fail on CI."""
    for each in (name, *ELSEWHERE.get(name, ())):
        if found := shutil.which(each, path=_path()):
            return found
    return _missing(f"{name} is not installed (Debian: {PACKAGES[name]})", required=True)


def need_script(name: str) -> str:
    """Return the path of a program of :data:`SCRIPTS`; skip without it.

    CI must have those of the extra ``dev``, which leaves out the cluster's.
    """
    beside = str(Path(sys.executable).parent)
    if found := shutil.which(name, path=beside) or shutil.which(name):
        return found
    extra = SCRIPTS[name]
    required = "cluster" not in extra
    return _missing(f"{name} is not installed (pip install '.[{extra}]')", required=required)


def need_module(name: str, extra: str) -> None:
    """Go on if a Python module can be imported; skip without it."""
    if importlib.util.find_spec(name) is None:
        required = "cluster" not in extra
        _missing(f"{name} is not installed (pip install '.[{extra}]')", required=required)


def _missing(reason: str, *, required: bool) -> NoReturn:
    if required and os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _path() -> str:
    """Return PATH with the sbin beside each bin: Debian keeps sbin from ordinary users."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    beside = [str(Path(each).parent / "sbin") for each in folders if Path(each).name == "bin"]
    return os.pathsep.join([*folders, *beside])


def free_port() -> int:
    """Return a TCP port of the loopback that nobody listens on.

    The connection that is made and closed leaves the port in TIME_WAIT: for a minute the system
    gives it only to a server that asks for it by number. So tests that run at the same time never
    get the same port, and no client gets it before the server listens.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = int(server.getsockname()[1])
        with socket.create_connection(("127.0.0.1", port)):
            server.accept()[0].close()
    return port


def until(what: str, true: Callable[[], object], seconds: float = WAIT_SECONDS) -> object:
    """Return the first true result of ``true``; fail after ``seconds``.

    It asks every 20 ms at first, and less often the longer it waits: answering costs the daemon
    that is waited for time of its own.
    """
    began = time.monotonic()
    while (waited := time.monotonic() - began) < seconds:
        result = true()
        if result:
            return result
        time.sleep(min(max(_POLL_SECONDS, _POLL_SHARE * waited), _POLL_SECONDS_MOST))
    pytest.fail(f"waited {seconds} s in vain: {what}")


def answers(port: int) -> bool:
    """Return whether somebody listens on a port of the loopback."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def written(folder: Path, name: str, text: str) -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
