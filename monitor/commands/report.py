"""``monitor report``: a page on a file of pairs, a stream, or the journal of a stopped daemon."""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from monitor.core.rules import SeriesRules
from monitor.errors import CANNOT_CREATE, USAGE, MonitorError
from monitor.recorded import Recorded, read
from monitor.reporting import Source, report


class ReportError(MonitorError):
    """The report cannot be made; the message says what to do."""

    exit_code = USAGE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Say what may be asked for."""
    parser.add_argument("file", metavar="FILE", help="pairs or a stream; CSV, JSON lines, gzip")
    parser.add_argument("--out", required=True, metavar="REPORT", help="HTML file to write")
    parser.add_argument("--density", choices=("normal", "tophat"), default="normal")
    parser.add_argument("--alpha", type=float, default=0.1, help="miss probability (default 0.1)")


def run(options: argparse.Namespace) -> int:
    """Write the report and say where it is."""
    if not 0.0 < options.alpha < 1.0:
        raise ReportError(f"--alpha {options.alpha}: it must lie between 0 and 1, such as 0.1")
    path = Path(options.file)
    level = 1.0 - options.alpha
    recorded = read(path, SeriesRules(level=level))
    if not recorded.names:
        raise ReportError(f"{path}: no reading has a reference of the same sensor and quantity")
    _write(Path(options.out), recorded, Source(path.name, level, options.density))
    return 0


def _write(out: Path, recorded: Recorded, source: Source) -> None:
    page = report(recorded, source, datetime.now(UTC).isoformat(timespec="seconds"))
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        refused = ReportError(f"{out}: cannot be written: {error.strerror}")
        refused.exit_code = CANNOT_CREATE
        raise refused from error
    sys.stderr.write(f"{out}: {len(recorded.names)} series, {recorded.pairs.size} pairs\n")
