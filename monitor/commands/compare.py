"""``monitor compare``: two sensors of a file on their common events, or one before and after."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import Any

from monitor.commands.options import (
    alpha_option,
    density_option,
    instant_of,
    json_option,
    recorded_argument,
)
from monitor.core.analysis.ranking import PROFILES, WORDS
from monitor.core.analysis.side_by_side import MISS, SAVINGS
from monitor.core.pairing.series_rules import SeriesRules
from monitor.files.layout import layout_arguments, layout_of
from monitor.report.comparisons import CompareError, Comparing, comparison_of
from monitor.report.progress import step
from monitor.report.recorded import read_with_notes


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    recorded_argument(parser)
    layout_arguments(parser)
    parser.add_argument(
        "--sensors",
        nargs="+",
        metavar="SENSOR",
        required=True,
        help="two sensors to compare on common events, or one: its first half against its second",
    )
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="with one sensor: compare before and after this time (ISO 8601)",
    )
    parser.add_argument("--quantity", help="required if the sensors have several")
    parser.add_argument(
        "--profile", choices=PROFILES, default="balanced", help="what sensors are ranked by"
    )
    density_option(parser, "normal")
    alpha_option(parser, 0.1)
    parser.add_argument(
        "--miss",
        type=float,
        default=MISS,
        help=f"miss rate at which widths are compared (default: {MISS})",
    )
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the comparison."""
    for name in ("alpha", "miss"):
        if not 0.0 < getattr(options, name) < 1.0:
            raise CompareError(f"--{name}: must be between 0 and 1, such as 0.1")
    if options.at is not None and len(options.sensors) > 1:
        raise CompareError("--at: compares one sensor before and after; give one sensor")
    level = 1.0 - options.alpha
    asked = Comparing(
        options.sensors,
        quantity=options.quantity,
        at=None if options.at is None else instant_of(options.at, "--at"),
        density=options.density,
        profile=options.profile,
        level=level,
        miss=options.miss,
    )
    recorded = read_with_notes(Path(options.file), SeriesRules(level=level), layout_of(options))
    with step("comparing on the common events"):
        compared = comparison_of(recorded, asked)
    print(json.dumps(compared, allow_nan=False) if options.json else _text(compared))
    return 0


def _text(compared: dict[str, Any]) -> str:
    """Return the sentences and a table."""
    lines = [*compared["sentences"], ""]
    if compared["scores"]:
        lines.append(_line("", compared["first"], compared["second"], "p"))
    for name, each in compared["scores"].items():
        lines.append(_line(f"mean {WORDS[name]}", each["first"], each["second"], each["p"]))
    curve = compared["uncertainty"]
    if curve is not None:
        labels = {"auucc": "area under the curve", "auucc_gain": "area saved by u"}
        row = (curve["first"], curve["second"], curve["p"])
        lines.append(_line(labels[curve["measure"]], *row))
        at = f"width saved at {compared['miss']:g} missed"
        lines.append(_line(at, curve["saved_at_first"], curve["saved_at_second"], ""))
    lines += [f"{SAVINGS[name]}: {_saving(saved)}" for name, saved in compared["savings"].items()]
    if compared["scores"]:
        block, replicates, seed = compared["block"], compared["replicates"], compared["seed"]
        lines.append(f"\npermutation of {block} at a time, {replicates} replicates, seed {seed}")
    return "\n".join(lines).rstrip()


def _line(label: str, first: object, second: object, p: object) -> str:
    cells = (_number(each) for each in (first, second, p))
    return f"{label:<32}" + "  ".join(f"{cell:>20}" for cell in cells).rstrip()


def _saving(saved: float | None) -> str:
    if saved is None:
        return "cannot be compared"
    if not round(saved, 6):
        return "the same in both"
    return f"{abs(100.0 * saved):.3g} % {'less' if saved >= 0.0 else 'more'} in the first"


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if math.isfinite(value) else "-"
    return "-" if value is None else str(value)
