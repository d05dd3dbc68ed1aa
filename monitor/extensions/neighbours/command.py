"""``monitor neighbours``: what neighbours say of each sensor at the end of a stream."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
from monitor.files import PairTable, detect, read_pairs, read_stream
from monitor.files.layout import FileLayout, layout_arguments, layout_of
from monitor.files.time_layouts import with_found_times
from monitor.report.incidents import alert_spans
from monitor.report.progress import step
from monitor.report.recorded import Recorded, of_pairs, read_with_notes

_Readings = tuple[list[SeriesName], tuple[Int, Float, Float]]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "file", metavar="FILE", help="a recorded stream, or a table whose rows may lack a reference"
    )
    layout_arguments(parser)
    parser.add_argument(
        "--channels",
        metavar="QUANTITY,...",
        default="",
        help="quantities that are channels of one, such as pm25_a,pm25_b",
    )
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print what neighbours say of each series."""
    path, layout = Path(options.file), layout_of(options)
    if detect(path, layout) == "pairs":
        recorded, readings = _of_table(path, layout)
    else:
        recorded = read_with_notes(path, SeriesRules(), layout)
        readings = _of_stream(path, layout)
    channels = tuple(name.strip() for name in options.channels.split(",") if name.strip())
    series = _judged(recorded, *readings, channels)
    if options.json:
        print(json.dumps(series, allow_nan=False))
    else:
        print(
            "\n".join(f"{each['sensor']} {each['quantity']}: {each['sentence']}" for each in series)
        )
    return 0


def _of_table(path: Path, layout: FileLayout) -> tuple[Recorded, _Readings]:
    """Return the pairs of a table, and all of its readings as those of a stream."""
    table = read_pairs(path, with_found_times(path, layout)._replace(unpaired=True))
    if not table.timed:
        raise UsageError(f"{path}: has no times; name their column with --columns time=COLUMN")
    known = np.flatnonzero(~np.isnan(table.reference))
    columns = {name: getattr(table, name) for name in PairTable._fields}
    by_row: dict[str, Any] = {
        name: each[known] for name, each in columns.items() if isinstance(each, np.ndarray)
    }
    recorded = of_pairs(table._replace(**by_row), SeriesRules())
    for note in recorded.notes:
        sys.stderr.write(f"{note}\n")
    pairs = zip(table.names, table.units, strict=True)
    order = np.argsort(table.time, kind="stable")
    columns_by_time = (table.series[order], table.time[order], table.value[order])
    return recorded, ([SeriesName(*name, unit) for name, unit in pairs], columns_by_time)


def _of_stream(path: Path, layout: FileLayout) -> _Readings:
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
    recorded: Recorded,
    names: Sequence[SeriesName],
    readings: tuple[Int, Float, Float],
    channels: tuple[str, ...],
) -> list[dict[str, object]]:
    """Return a document a series, in the order of their names."""
    row, time, value = readings
    fleets = fleets_by_group(names, (channels,), ungrouped=True)
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
