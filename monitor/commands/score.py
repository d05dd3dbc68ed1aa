"""``monitor score``: statistics of a file of pairs or of a stream, sensor by sensor."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np

from monitor.core.analysis.resampling import bca_rce, bca_zms
from monitor.core.columns import Columns
from monitor.core.formatting import finite
from monitor.core.model import Observation
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.scores.intervals import (
    Interval,
    abc_rce,
    verdict,
    zms_interval,
)
from monitor.core.scores.statistics import STATISTICS, compute
from monitor.core.verdict import Verdict, document
from monitor.errors import USAGE, MonitorError
from monitor.report.incidents import incidents_of, judgements
from monitor.report.recorded import Recorded, blocks, read

SEED: Final = 20_240_210
REPLICATES: Final = 10_000
VERSION: Final = 2
HEADS: Final = (
    *("sensor", "quantity", "n", "bias", "CRPS", "of claim", "ZMS", "95 % interval"),
    *("coverage", "information"),
)
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
        "file", metavar="FILE", help="pairs or a stream: CSV or JSON lines, also gzipped"
    )
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
    recorded = read(Path(options.file), SeriesRules(level=level), _progress)
    for note in recorded.notes:
        print(note, file=sys.stderr)
    if not recorded.names:
        raise ScoreError(
            f"{options.file}: no reading has a reference within 60 s of the same sensor and "
            "quantity; check times and names"
        )
    windows = recorded.columns(level)
    statistics = compute(windows, STATISTICS)
    intervals = _intervals(windows, bca=options.bca)
    in_time = [
        blocks(windows.take(np.array([row])), options.blocks, options.density)
        for row in range(len(recorded.names) if options.blocks else 0)
    ]
    if options.json:
        found = _document(recorded, windows, statistics, intervals)
        for series, parts in zip(found["series"], in_time, strict=False):
            series["blocks"] = parts
        print(json.dumps(found, allow_nan=False))
    else:
        _print_table(recorded, windows, statistics, intervals, options.density)
        _print_verdicts(recorded, judgements(recorded, windows))
        _print_incidents(incidents_of(recorded, windows))
        _print_blocks(recorded, in_time)
    return 0


def _progress(observations: Iterable[Observation]) -> Iterable[Observation]:
    """Show a bar where somebody watches."""
    if not sys.stderr.isatty():
        return observations
    from tqdm import tqdm  # noqa: PLC0415 - for people only

    bar: Iterable[Observation] = tqdm(observations, unit=" rows", leave=False)
    return bar


def _intervals(windows: Columns, *, bca: bool) -> dict[str, Interval]:
    if bca:
        return {
            "zms": bca_zms(windows, seed=SEED, replicates=REPLICATES),
            "rce": bca_rce(windows, seed=SEED, replicates=REPLICATES),
        }
    return {"zms": zms_interval(windows), "rce": abc_rce(windows)}


def _document(
    recorded: Recorded,
    windows: Columns,
    statistics: dict[str, Any],
    intervals: dict[str, Interval],
) -> dict[str, Any]:
    judged = judgements(recorded, windows)
    found: dict[str, Any] = {
        "version": VERSION,
        "series": [
            {
                "sensor": name.sensor,
                "quantity": name.quantity,
                "unit": name.unit,
                "n": int(windows.counts[row]),
                "verdict": document(judged[row], name.unit),
                "statistics": {key: finite(each[row]) for key, each in statistics.items()},
                "intervals": {
                    key: entry
                    for key, each in intervals.items()
                    if (entry := _interval(each, row)) is not None
                },
            }
            for row, name in enumerate(recorded.names)
        ],
    }
    return found | {"alerts": incidents_of(recorded, windows)} if recorded.timed else found


def _interval(interval: Interval, row: int) -> dict[str, Any] | None:
    if not math.isfinite(interval.lower[row]):
        return None
    zeta = finite(interval.zeta[row])
    return {
        "method": interval.method,
        "level": interval.level,
        "lower": finite(interval.lower[row]),
        "upper": finite(interval.upper[row]),
        "zeta": zeta,
        "verdict": verdict(float(interval.zeta[row])),
        "replicates": interval.replicates,
        "seed": interval.seed,
    }


def _print_table(
    recorded: Recorded,
    windows: Columns,
    statistics: dict[str, Any],
    intervals: dict[str, Interval],
    density: str,
) -> None:
    hat = "_tophat" if density == "tophat" else ""
    lines: list[tuple[str, ...]] = [HEADS]
    for row, name in enumerate(recorded.names):
        zms = intervals["zms"]
        lines.append(
            (
                name.sensor,
                name.quantity,
                str(windows.counts[row]),
                f"{_text(statistics['bias'][row])} {name.unit}".strip(),
                _text(statistics[f"crps{hat}"][row]),
                _text(statistics[f"crps{hat}_expected_ratio"][row]),
                _text(statistics["zms"][row]),
                f"[{_text(zms.lower[row])}, {_text(zms.upper[row])}]",
                _text(statistics["coverage"][row]),
                _text(statistics["auucc_partial_gain"][row]),
            )
        )
    _print_lines(lines)


def _print_verdicts(recorded: Recorded, judged: list[Verdict]) -> None:
    """Print what the pairs of each series say as a whole, and what would mend it."""
    print("\nover all pairs")
    for name, found in zip(recorded.names, judged, strict=True):
        advice = f"; to mend it: {found.advice}" if found.advice else ""
        print(f"{name.sensor} {name.quantity}: {found.sentence}{advice}")


def _print_incidents(incidents: list[dict[str, Any]]) -> None:
    """Print what the daemon would have raised, in the order of their beginning."""
    if incidents:
        print("\nincidents the daemon would have raised")
    for each in incidents:
        until = "it still lasts" if each["until"] is None else f"until {each['until']}"
        print(f"{each['since']}, {until}: {each['sentence']} ({each['quantity']})")


def _print_blocks(recorded: Recorded, in_time: list[list[dict[str, Any]]]) -> None:
    """Print a table a series, a line a block."""
    for name, parts in zip(recorded.names, in_time, strict=False):
        figures = [
            [_text(math.nan if each is None else each) for each in part["statistics"].values()]
            for part in parts
        ]
        print(f"\n{name.sensor} {name.quantity}, block by block")
        _print_lines(
            [
                BLOCK_HEADS,
                *(
                    (part["since"], part["until"], str(part["n"]), *numbers)
                    for part, numbers in zip(parts, figures, strict=True)
                ),
            ]
        )


def _print_lines(lines: list[tuple[str, ...]]) -> None:
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    for line in lines:
        cells = zip(line, widths, strict=True)
        print("  ".join(cell.ljust(width) for cell, width in cells).rstrip())


def _text(number: float) -> str:
    return f"{number:.4g}" if math.isfinite(number) else "-"
