"""``monitor neighbours``: what neighbours say of each sensor at the end of a stream."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from monitor.commands.options import json_option
from monitor.core.model import Float, Int, Reading
from monitor.core.pairing.series_rules import SeriesRules
from monitor.core.registry import SeriesName
from monitor.errors import UsageError
from monitor.extensions.neighbours.day_blocks import DAY, DayBlocks
from monitor.extensions.neighbours.fleet_opinions import (
    NO_OPINIONS,
    opinion_document,
    opinions_in,
)
from monitor.extensions.neighbours.neighbourhoods import fleets_by_group
from monitor.files import detect, read_stream
from monitor.files.layout import FileLayout, layout_of, notation_arguments
from monitor.files.time_layouts import with_found_times
from monitor.report.incidents import alert_spans
from monitor.report.progress import step
from monitor.report.recorded import Recorded, read_with_notes


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("file", metavar="FILE", help="a recorded stream: readings and references")
    notation_arguments(parser)
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print what neighbours say of each series."""
    path, layout = Path(options.file), layout_of(options)
    if detect(path, layout) == "pairs":
        reason = "has pairs only; between them it takes a stream, with a column kind"
        raise UsageError(f"{path}: {reason} (docs/data.md)")
    recorded = read_with_notes(path, SeriesRules(), layout)
    series = _judged(recorded, *_readings(path, layout))
    if options.json:
        print(json.dumps(series, allow_nan=False))
    else:
        print(
            "\n".join(f"{each['sensor']} {each['quantity']}: {each['sentence']}" for each in series)
        )
    return 0


def _readings(path: Path, layout: FileLayout) -> tuple[list[SeriesName], tuple[Int, Float, Float]]:
    """Return the series of a stream, and rows, times and values of its readings by time."""
    stream = read_stream(path, with_found_times(path, layout))
    rows: dict[tuple[str, str], int] = {}
    readings = [
        (rows.setdefault((each.sensor, each.quantity), len(rows)), each.time, each.value)
        for each in stream
        if isinstance(each, Reading)
    ]
    row, time, value = np.array(readings, dtype=np.float64).reshape(-1, 3).T
    order = np.argsort(time, kind="stable")
    names = [SeriesName(*name, stream.units.get(name, "")) for name in rows]
    return names, (row.astype(np.int64)[order], time[order], value[order])


def _judged(
    recorded: Recorded, names: Sequence[SeriesName], readings: tuple[Int, Float, Float]
) -> list[dict[str, object]]:
    """Return a document a series, in the order of their names."""
    row, time, value = readings
    fleets = fleets_by_group(names, ungrouped=True)
    rows = {(each.sensor, each.quantity): at for at, each in enumerate(names)}
    with step(f"judging {len(names)} series by their neighbours"):
        blocks = DayBlocks()
        starts = np.flatnonzero(np.diff(time // DAY, prepend=-np.inf))
        for some in np.split(np.arange(time.size), starts[1:]):
            blocks.add(row[some], time[some], value[some])
            blocks.close(lambda: fleets)
        blocks.close(lambda: fleets, everything=True)
        own = [rows[each.sensor, each.quantity] for each in recorded.names]
        pairs = recorded.pairs.copy()
        pairs["series"] = np.array(own, dtype=np.int64)[pairs["series"]]
        blocks.count_pairs(pairs)
        table = blocks.table()
        opinions = NO_OPINIONS
        if table is not None:
            trusted = np.ones(table.since.size, np.bool_)
            firing = {each.began.series for each in alert_spans(recorded) if each.ended is None}
            trusted[[own[at] for at in firing]] = False
            opinions = opinions_in(table, fleets, trusted)
    ends, last = (np.full(len(names), -np.inf) for _ in range(2))
    np.maximum.at(ends, row, time)
    np.maximum.at(last, pairs["series"], pairs["time"])
    return [
        {
            "sensor": name.sensor,
            "quantity": name.quantity,
            **opinion_document(opinions, at, name.unit, float(ends[at] - last[at])),
        }
        for at, name in sorted(enumerate(names), key=lambda each: each[1].sensor)
        if at in opinions.of
    ]
