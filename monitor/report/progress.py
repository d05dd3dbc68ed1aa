"""Progress for a person who waits longer than two seconds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from monitor.files import Watch, unwatched

_SECONDS: Final = 2.0


@contextmanager
def rows_read() -> Iterator[Watch]:
    """Give a function to call with the number of rows read; a bar shows them on a terminal."""
    if not sys.stderr.isatty():
        yield unwatched
        return
    from tqdm import tqdm  # noqa: PLC0415 - for people only

    with tqdm(unit=" rows", delay=_SECONDS, leave=False) as bar:
        yield bar.update


@contextmanager
def step(words: str) -> Iterator[None]:
    """Show the current step on a terminal once it has taken longer than two seconds."""
    if not sys.stderr.isatty():
        yield
        return
    timer = threading.Timer(_SECONDS, sys.stderr.write, [f"{words} ...\n"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
