"""``monitor correct``: recorded readings corrected as they would have been, with intervals."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from monitor.commands.options import recorded_argument
from monitor.core.formatting import instant, safe_cell
from monitor.core.pairing.series_rules import SeriesRules
from monitor.errors import CannotWriteError, UsageError
from monitor.extensions.corrected.corrections import CorrectedSeries, corrected_lines, corrections
from monitor.files.layout import layout_arguments, layout_of
from monitor.files.whole_file import whole_file
from monitor.report.progress import step
from monitor.report.recorded import read_with_notes

_COLUMNS: Final = (
    *("time", "sensor", "quantity", "unit", "value", "u", "reference"),
    *("corrected_value", "corrected_u", "lower", "upper"),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    recorded_argument(parser)
    layout_arguments(parser)
    parser.add_argument(
        "--level",
        type=float,
        default=0.9,
        help="share of references that intervals should contain (default: 0.9)",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="write the pairs with their corrected values as CSV",
    )


def run(options: argparse.Namespace) -> int:
    """Print the gain from corrections, and write the corrected pairs."""
    if not 0.0 < options.level < 1.0:
        raise UsageError(f"--level {options.level:g}: must be between 0 and 1; 90 % is 0.9")
    rules = SeriesRules()
    recorded = read_with_notes(Path(options.file), rules, layout_of(options))
    if not recorded.names:
        raise UsageError(f"{options.file}: no reading has a reference; check times and names")
    with step(f"correcting {len(recorded.names)} series"):
        series = corrections(recorded, options.level)
    print("\n".join(corrected_lines(series)))
    if options.out is not None:
        _write(options.out, series)
    return 0


def _write(path: Path, corrected_series: Sequence[CorrectedSeries]) -> None:
    try:
        with whole_file(path) as new, new.open("w", encoding="utf-8", newline="") as out:
            table = csv.writer(out, lineterminator="\n")
            table.writerow(_COLUMNS)
            for each in corrected_series:
                table.writerows(_rows(each))
    except OSError as error:
        raise CannotWriteError(f"{path}: cannot be written: {error.strerror or error}") from error


def _rows(of: CorrectedSeries) -> Iterator[tuple[str | float, ...]]:
    p, one, name = of.pairs, of.corrected, of.name
    columns = (p.time, p.value, p.u, p.reference, one.value, one.u, one.lower, one.upper)
    for time, *numbers in zip(*(each.tolist() for each in columns), strict=True):
        when = instant(time) if p.timed else ""
        yield (when, *map(safe_cell, (name.sensor, name.quantity, name.unit)), *numbers)
