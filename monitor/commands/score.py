"""``monitor score``: statistics of a file of pairs or of a stream, sensor by sensor."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any, Final

import numpy as np

from monitor.commands.options import (
    alpha_option,
    covariates_option,
    density_option,
    json_option,
    recorded_argument,
)
from monitor.core.formatting import aligned, finite
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.scores.characteristics import costs_with
from monitor.errors import UsageError
from monitor.files.input_file import FileError, column_name
from monitor.files.layout import layout_arguments, layout_of
from monitor.report.progress import step
from monitor.report.recorded import Recorded, bins_of, blocks, read_with_notes
from monitor.report.scored import REPLICATES, Scored, covariates_of, figure, in_file

BLOCK_HEADS: Final = (
    *("since", "until", "n", "bias", "CRPS", "/ expected", "interval score", "ZMS", "coverage"),
    "information",
)
COST_HEADS: Final = ("sensor", "quantity", "c", "cost", "best factor on u", "cost with it")
BIN_HEADS: Final = ("from", "to", "n", "ZMS", "95 % interval", "verdict")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.epilog = "What else such a file gives, as for a regulator: see `monitor --help`."
    recorded_argument(parser)
    layout_arguments(parser)
    json_option(parser, "all statistics")
    parser.add_argument(
        "--bca",
        action="store_true",
        help=f"BCa intervals of independent pairs from {REPLICATES} replicates",
    )
    density_option(parser, "normal")
    parser.add_argument(
        "--blocks",
        type=int,
        metavar="N",
        default=None,
        help="also statistics of N consecutive parts",
    )
    parser.add_argument(
        "--bins-by",
        metavar="COLUMN",
        default="",
        help="also ZMS in bins along a column of numbers, such as a humidity",
    )
    parser.add_argument(
        "--cost",
        type=float,
        metavar="C",
        default=None,
        help="also costs: C of the half-width, 1 - C of the distance missed by; 0 <= C < 1",
    )
    covariates_option(parser)
    alpha_option(parser, 0.1)


def run(options: argparse.Namespace) -> int:
    """Print the statistics."""
    if not 0.0 < options.alpha < 1.0:
        raise UsageError(f"--alpha {options.alpha}: must be between 0 and 1, such as 0.1")
    if options.blocks is not None and options.blocks < 1:
        raise UsageError(f"--blocks {options.blocks}: must be a number of parts, such as 10")
    if options.cost is not None and not 0.0 <= options.cost < 1.0:
        raise UsageError(f"--cost {options.cost}: must be 0 or more and below 1, such as 0.1")
    level = 1.0 - options.alpha
    layout = layout_of(options)
    along = [options.bins_by] if options.bins_by.strip() else []
    names = [*dict.fromkeys((*in_file(covariates_of(options.covariates)), *along))]
    recorded = read_with_notes(Path(options.file), SeriesRules(level=level), layout, names)
    if not recorded.names:
        raise UsageError(
            f"{options.file}: no reading has a reference within 60 s of the same sensor and "
            "quantity; check times and names"
        )
    with step(f"scoring {len(recorded.names)} series"):
        print(_answer(recorded, level, options))
    return 0


def _answer(recorded: Recorded, level: float, options: argparse.Namespace) -> str:
    scored = Scored(recorded, level, bca=options.bca, covariates=covariates_of(options.covariates))
    in_time = [
        blocks(
            scored.windows.take(np.array([row])),
            options.blocks,
            options.density,
            timed=recorded.timed,
        )
        for row in range(len(recorded.names) if options.blocks else 0)
    ]
    binned = _bins(scored, column_name(options.bins_by))
    priced = [] if options.cost is None else _costs(scored, options.cost)
    if not options.json:
        lines = [*scored.lines(options.density), *_block_lines(recorded, in_time)]
        lines += _bin_lines(recorded, binned, options.bins_by)
        return "\n".join([*lines, *_cost_lines(recorded, priced)])
    document = scored.document()
    for series, parts in zip(document["series"], in_time, strict=False):
        series["blocks"] = parts
    for series, each in zip(document["series"], binned, strict=False):
        series["bins_by"] = {"column": options.bins_by, **each}
    for series, each in zip(document["series"], priced, strict=False):
        series["costs"] = each
    return json.dumps(document, allow_nan=False)


def _costs(scored: Scored, weight: float) -> list[dict[str, float | None]]:
    priced = costs_with(weight, scored.windows)._asdict()
    return [
        {"c": weight, **{name: finite(float(numbers[row])) for name, numbers in priced.items()}}
        for row in range(len(scored.recorded.names))
    ]


def _cost_lines(recorded: Recorded, priced: list[dict[str, float | None]]) -> list[str]:
    """Return a table of what intervals cost as stated, and at the scale that costs least."""
    rows = [
        (name.sensor, name.quantity, *(_number(number) for number in each.values()))
        for name, each in zip(recorded.names, priced, strict=False)
    ]
    return ["", *aligned([COST_HEADS, *rows])] if rows else []


def _bins(scored: Scored, by: str) -> list[dict[str, Any]]:
    if not by:
        return []
    if texts := scored.recorded.categories.get(by):
        raise FileError(f"--bins-by {by}: {texts[0]!r} is not a number; name a column of numbers")
    covariate, windows = scored.recorded.covariates[by], scored.windows
    ends = windows.starts + windows.counts
    return [
        bins_of(windows.take(np.array([row])), covariate[first:end])
        for row, (first, end) in enumerate(zip(windows.starts, ends, strict=True))
    ]


def _bin_lines(recorded: Recorded, binned: list[dict[str, Any]], column: str) -> list[str]:
    """Return a sentence and a table per series, one line per bin."""
    lines = []
    for name, each in zip(recorded.names, binned, strict=False):
        left = f"; {each['without']} pairs have none" if each["without"] else ""
        lines += ["", f"{name.sensor} {name.quantity}, ZMS by {column}: {each['sentence']}{left}"]
        rows = [
            (
                *(_number(bin_["from"]), _number(bin_["to"]), str(bin_["n"]), _number(bin_["zms"])),
                f"[{_number(bin_['zms_lower'])}, {_number(bin_['zms_upper'])}]",
                bin_["verdict"],
            )
            for bin_ in each["bins"]
        ]
        lines += aligned([BIN_HEADS, *rows]) if rows else []
    return lines


def _number(number: float | None) -> str:
    return figure(math.nan if number is None else number)


def _block_lines(recorded: Recorded, in_time: list[list[dict[str, Any]]]) -> list[str]:
    """Return a table per series, one line per block."""
    lines = []
    for name, parts in zip(recorded.names, in_time, strict=False):
        rows = [
            (
                *(part["since"] or "-", part["until"] or "-", str(part["n"])),
                *map(_number, part["statistics"].values()),
            )
            for part in parts
        ]
        lines += ["", f"{name.sensor} {name.quantity}, block by block"]
        lines += aligned([BLOCK_HEADS, *rows])
    return lines
