"""Runs the daemon with its house kept every tenth of a second, and a line in the log each time.

``python hurried.py PYTHON -m monitor run ...`` is ``PYTHON -m monitor run ...`` in a hurry.
"""

from __future__ import annotations

import logging
import sys

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
