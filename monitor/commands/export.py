"""``monitor export``: the pairs of a daemon as a file that ``monitor score`` reads."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

import numpy as np

from monitor.client.client import client_arguments, client_of
from monitor.client.current_pairs import current_pairs
from monitor.commands.options import config_option
from monitor.config import load
from monitor.core.formatting import count_of, safe_cell
from monitor.core.model import Records
from monitor.errors import CannotWriteError, UsageError
from monitor.files.cells import arrow
from monitor.files.exporting import FORMS, write_parquet, write_text
from monitor.files.whole_file import whole_file
from monitor.report.progress import step
from monitor.report.recorded import Recorded

_STDOUT: Final = "-"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    config_option(parser, "settings of the daemon; its journal is read if it is not running")
    parser.add_argument(
        "--format", choices=FORMS, default="csv", help="format of the file (default: csv)"
    )
    parser.add_argument(
        "--out", default=_STDOUT, metavar="FILE", help="file to write, - for stdout (default)"
    )
    client_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Write the pairs and print how many."""
    if options.format == "parquet":
        arrow("parquet")
        if options.out == _STDOUT:
            raise UsageError("Parquet cannot be written to a terminal; give --out FILE")
    settings = load(options.config)
    with step("reading the pairs"):
        current = current_pairs(settings, client_of(settings, options))
    if not current.names:
        raise UsageError("there are no pairs; `monitor doctor` says why")
    try:
        with step(f"writing {current.pairs.size} pairs"):
            _write(options, current)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CannotWriteError(
            f"--out {options.out}: cannot be written: {error.strerror or error}"
        ) from error
    names = {each.sensor for each in current.names if safe_cell(each.sensor) != each.sensor}
    if names and options.format == "csv":
        named = f"{min(names)!r}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
        sys.stderr.write(f"a spreadsheet takes {named} for a formula: import the names as text\n")
    for note in current.notes:
        sys.stderr.write(f"{note}\n")
    sys.stderr.write(f"{len(current.names)} series, {count_of(current.pairs.size, 'pair')}\n")
    return 0


def _write(options: argparse.Namespace, recorded: Recorded) -> None:
    pairs = _with_levels(recorded)
    if options.out == _STDOUT:
        write_text(sys.stdout, recorded.names, pairs, options.format)
        return
    with whole_file(Path(options.out)) as new:
        if options.format == "parquet":
            write_parquet(new, recorded.names, pairs)
        else:
            with new.open("w", encoding="utf-8", newline="") as out:
                write_text(out, recorded.names, pairs, options.format)


def _with_levels(recorded: Recorded) -> Records:
    """Return the pairs, in which an interval without a level has that of the settings."""
    pairs = recorded.pairs.copy()
    bare = np.isnan(pairs["p"]) & ~np.isnan(pairs["lower"])
    pairs["p"][bare] = np.array([each.level for each in recorded.rules])[pairs["series"][bare]]
    return pairs
