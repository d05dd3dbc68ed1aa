"""What every real program needs: to be there, a free port, a bounded wait."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest


def need(*names: str) -> str:
    """Return the path of a program, by any of its names; skip without it, fail on CI."""
    for name in names:
        found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        if found:
            return found
    reason = f"{names[0]} is not installed (Debian has a package of it)"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    """Return a TCP port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(what: str, true: Callable[[], object], seconds: float = 30.0) -> object:
    """Return the first true result of ``true``; fail after ``seconds``."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        result = true()
        if result:
            return result
        time.sleep(0.02)
    pytest.fail(f"waited {seconds} s in vain: {what}")


def answers(port: int) -> bool:
    """Return whether somebody listens on a port of the loopback."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def written(folder: Path, name: str, text: str) -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
