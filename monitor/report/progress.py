"""How far it has come, for a person who waits longer than two seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from monitor.files import Watch, unwatched

_SECONDS: Final = 2.0


@contextmanager
def rows_read() -> Iterator[Watch]:
    """Give what to tell of so many more rows; a bar shows them on a terminal."""
    if not sys.stderr.isatty():
        yield unwatched
        return
    from tqdm import tqdm  # noqa: PLC0415 - for people only

    with tqdm(unit=" rows", delay=_SECONDS, leave=False) as bar:
        yield bar.update
