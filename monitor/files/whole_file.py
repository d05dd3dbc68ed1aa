"""A file that appears only once it is complete, so that an interrupted command leaves no half."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copymode

from monitor.errors import CannotWriteError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to that replaces ``path`` when the block ends without error.

    The old file at ``path`` stays until then, and for good if the block raises. A pipe or a device
    is written to directly. Raises OSError.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    new = path.with_name(f".{path.name}.part")
    try:
        yield new
        if path.exists():
            copymode(path, new)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def write_page(path: Path, page: str) -> None:
    """Write a page of HTML; raises CannotWriteError."""
    try:
        with whole_file(path) as new:
            new.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CannotWriteError(f"{path}: cannot be written: {error.strerror}") from error
