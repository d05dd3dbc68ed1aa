"""``monitor export``: the pairs of a daemon as a file that ``monitor score`` reads."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Final, TextIO

from monitor.client.client import client_arguments, client_of
from monitor.client.current_pairs import current_pairs
from monitor.config import load
from monitor.errors import CANNOT_CREATE, USAGE, MonitorError
from monitor.files.cells import arrow
from monitor.files.exporting import FORMS, write_parquet, write_text

_STDOUT: Final = "-"


class ExportError(MonitorError):
    """The file cannot be written; the message says what to do."""

    exit_code = USAGE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "--config",
        required=True,
        metavar="FILE",
        help="settings of the daemon, whose journal is read if it does not run",
    )
    parser.add_argument(
        "--format", choices=FORMS, default="csv", help="format of the file (default: csv)"
    )
    parser.add_argument(
        "--out", default=_STDOUT, metavar="FILE", help="file to write, - for stdout (default)"
    )
    client_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Write the pairs and say how many."""
    if options.format == "parquet":
        arrow("parquet")
        if options.out == _STDOUT:
            raise ExportError("Parquet cannot be written to a terminal; give --out FILE")
    settings = load(options.config)
    found = current_pairs(settings, client_of(settings, options))
    if not found.names:
        raise ExportError("there are no pairs; `monitor doctor` says why")
    try:
        if options.format == "parquet":
            write_parquet(Path(options.out), found.names, found.pairs)
        else:
            with _opened(options.out) as out:
                write_text(out, found.names, found.pairs, options.format)
    except BrokenPipeError:
        raise
    except OSError as error:
        refused = ExportError(f"--out {options.out}: cannot be written: {error.strerror or error}")
        refused.exit_code = CANNOT_CREATE
        raise refused from error
    for note in found.notes:
        sys.stderr.write(f"{note}\n")
    sys.stderr.write(f"{len(found.names)} series, {found.pairs.size} pairs\n")
    return 0


def _opened(name: str) -> nullcontext[TextIO] | TextIO:
    if name == _STDOUT:
        return nullcontext(sys.stdout)
    return Path(name).open("w", encoding="utf-8", newline="")
