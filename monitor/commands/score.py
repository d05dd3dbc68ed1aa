"""``monitor score``: statistics of a file of pairs or of a stream, sensor by sensor."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

from monitor.core.pairing.series_rules import SeriesRules
from monitor.errors import USAGE, MonitorError
from monitor.files.pair_fields import COLUMNS_HELP, parse_columns
from monitor.report.progress import step
from monitor.report.recorded import Recorded, blocks, read
from monitor.report.scored import REPLICATES, Scored, aligned, figure

BLOCK_HEADS: Final = (
    *("since", "until", "n", "bias", "CRPS", "of claim", "interval score", "ZMS", "coverage"),
    "information",
)


class ScoreError(MonitorError):
    """The command's options cannot be used together with the file."""

    exit_code = USAGE


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "file", metavar="FILE", help="pairs or a stream: CSV, JSON lines or Parquet, also gzipped"
    )
    parser.add_argument("--columns", metavar="FIELD=COLUMN,...", default="", help=COLUMNS_HELP)
    parser.add_argument("--json", action="store_true", help="print all statistics as JSON")
    parser.add_argument(
        "--bca",
        action="store_true",
        help=f"BCa intervals of independent pairs from {REPLICATES} replicates",
    )
    parser.add_argument("--density", choices=("normal", "tophat"), default="normal")
    parser.add_argument(
        "--blocks", type=int, metavar="N", default=0, help="also statistics of N consecutive parts"
    )
    parser.add_argument("--alpha", type=float, default=0.1, help="miss probability (default: 0.1)")


def run(options: argparse.Namespace) -> int:
    """Print the statistics."""
    if not 0.0 < options.alpha < 1.0:
        raise ScoreError(f"--alpha {options.alpha}: must be between 0 and 1, such as 0.1")
    if options.blocks < 0:
        raise ScoreError(f"--blocks {options.blocks}: must be a number of parts, such as 10")
    level = 1.0 - options.alpha
    recorded = read(Path(options.file), SeriesRules(level=level), parse_columns(options.columns))
    for note in recorded.notes:
        print(note, file=sys.stderr)
    if not recorded.names:
        raise ScoreError(
            f"{options.file}: no reading has a reference within 60 s of the same sensor and "
            "quantity; check times and names"
        )
    with step(f"scoring {len(recorded.names)} series"):
        print(_answer(recorded, level, options))
    return 0


def _answer(recorded: Recorded, level: float, options: argparse.Namespace) -> str:
    found = Scored(recorded, level, bca=options.bca)
    in_time = [
        blocks(found.windows.take(np.array([row])), options.blocks, options.density)
        for row in range(len(recorded.names) if options.blocks else 0)
    ]
    if not options.json:
        return "\n".join([*found.lines(options.density), *_block_lines(recorded, in_time)])
    document = found.document()
    for series, parts in zip(document["series"], in_time, strict=False):
        series["blocks"] = parts
    return json.dumps(document, allow_nan=False)


def _block_lines(recorded: Recorded, in_time: list[list[dict[str, Any]]]) -> list[str]:
    """Return a table a series, a line a block."""
    lines = []
    for name, parts in zip(recorded.names, in_time, strict=False):
        rows = [
            (
                *(part["since"], part["until"], str(part["n"])),
                *(
                    figure(math.nan if each is None else each)
                    for each in part["statistics"].values()
                ),
            )
            for part in parts
        ]
        lines += ["", f"{name.sensor} {name.quantity}, block by block"]
        lines += aligned([BLOCK_HEADS, *rows])
    return lines
