"""Runs a daemon whose journal takes for ever to be read, once it is open.

``python endless_start.py PYTHON -m monitor run ...`` is ``PYTHON -m monitor run ...`` in that case.
"""

from __future__ import annotations

import itertools
import sys
import time

import monitor.daemon.loop
from monitor.cli import main


def read_for_ever(*_given: object) -> None:
    """Never come to an end."""
    for _ in itertools.count():
        time.sleep(0.01)


if __name__ == "__main__":
    monitor.daemon.loop.assemble = read_for_ever
    sys.exit(main(sys.argv[4:]))
