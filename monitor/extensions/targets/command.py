"""``monitor targets``: recorded pairs against what a regulator asks of an air sensor."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from monitor.commands.options import json_option, recorded_argument
from monitor.commands.report import write_report
from monitor.core.formatting import aligned, instant
from monitor.core.pairing.series_rules import SeriesRules
from monitor.errors import UsageError
from monitor.extensions.targets.assessment import (
    Assessment,
    Question,
    assessment_document,
    interval_text,
    range_text,
)
from monitor.extensions.targets.recorded_targets import recorded_assessments, sentences_on
from monitor.extensions.targets.regulators import RULES, pollutants_of
from monitor.files.layout import layout_arguments, layout_of
from monitor.report.html_report import ReportSource
from monitor.report.recorded import Recorded, read_with_notes

_HEADS: Final = ("target", "figure", "it is (95 %)", "wanted", "")
_WORDS: Final = {True: "met", False: "missed", None: "not sure yet"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    recorded_argument(parser)
    layout_arguments(parser)
    parser.add_argument(
        "--for",
        dest="rules",
        choices=RULES,
        required=True,
        help="eu: 2008/50 and CEN/TS 17660; eu-2024: 2024/2881; epa: performance targets",
    )
    parser.add_argument(
        "--pollutant",
        choices=sorted({name for rules in RULES for name in pollutants_of(rules)}),
        default="",
        help="what all series measure (default: what their quantity or sensor is named)",
    )
    parser.add_argument("--limit-value", type=float, help="of eu rules, in the unit of the series")
    parser.add_argument(
        "--u-ref", type=float, help="standard uncertainty of averaged references, for eu rules"
    )
    parser.add_argument("--out", metavar="REPORT", type=Path, help="also write the HTML report")
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print each series with its figures beside their targets."""
    for option, number in (("--limit-value", options.limit_value), ("--u-ref", options.u_ref)):
        if number is None:
            continue
        if options.rules == "epa":
            raise UsageError(f"{option} is for eu rules; the EPA's targets have no limit value")
        if not (math.isfinite(number) and number >= 0.0) or number == options.limit_value == 0.0:
            raise UsageError(f"{option} {number:g}: must be a number above 0")
    recorded = read_with_notes(Path(options.file), SeriesRules(), layout_of(options))
    if not recorded.names:
        raise UsageError(f"{options.file}: no reading has a reference; check times and names")
    question = Question(options.rules, options.pollutant, options.limit_value, options.u_ref)
    rows = range(len(recorded.names))
    assessments = [*recorded_assessments(recorded, dict.fromkeys(rows, question)).values()]
    if options.out is not None:
        _report(recorded, assessments, options)
    print(_json(recorded, assessments) if options.json else _text(recorded, assessments))
    return 0


def _json(recorded: Recorded, assessments: Sequence[Assessment]) -> str:
    series = [
        {"sensor": name.sensor, "quantity": name.quantity, "unit": of.unit}
        | assessment_document(of)
        for name, of in zip(recorded.names, assessments, strict=True)
    ]
    return json.dumps({"version": 1, "series": series}, allow_nan=False)


def _text(recorded: Recorded, assessments: Sequence[Assessment]) -> str:
    parts = []
    for name, of in zip(recorded.names, assessments, strict=True):
        lines = [f"{name.sensor} {name.quantity}: {of.sentence}"]
        rows = [
            (
                each.target.aspect,
                each.target.figure,
                interval_text(each, of.unit),
                range_text(each, of.unit),
                _WORDS[each.is_met],
            )
            for each in of.figures
        ]
        lines += aligned([_HEADS, *rows]) if rows else []
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _report(
    recorded: Recorded, assessments: Sequence[Assessment], options: argparse.Namespace
) -> None:
    further = {row: sentences_on(of) for row, of in enumerate(assessments)}
    source = ReportSource(
        Path(options.file).name, recorded.rules[0].level, "normal", further=further
    )
    write_report(options.out, recorded, source, instant(time.time(), "seconds"))
