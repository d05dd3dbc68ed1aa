"""Runs the daemon with its house kept every tenth of a second, and a line in the log each time.

``python hurried.py PYTHON -m monitor run ...`` is ``PYTHON -m monitor run ...`` in a hurry. Its
wall clock is wrong by as many seconds as the file says that WRONG_CLOCK names; all of the daemon
reads the wall clock by ``time.time``. (Under libfaketime each wait for the interpreter's lock is a
busy one: the daemon worked ten times as long.)
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

if clock := os.environ.get("WRONG_CLOCK"):  # before anybody takes the function as a default
    right, wrong = time.time, Path(clock)
    time.time = lambda: right() + float(wrong.read_text(encoding="ascii"))

import monitor.daemon.loop
from monitor.cli import main

KEPT = "the house was kept"


def hurry() -> None:
    """Let every daemon of this process keep its house often."""
    monitor.daemon.loop.HOUSEKEEPING_SECONDS = 0.1
    keep = monitor.daemon.loop.Daemon._housekeep

    def told(daemon: monitor.daemon.loop.Daemon) -> None:
        keep(daemon)
        logging.getLogger("monitor").warning(KEPT)

    monitor.daemon.loop.Daemon._housekeep = told


if __name__ == "__main__":
    hurry()
    sys.exit(main(sys.argv[4:]))
