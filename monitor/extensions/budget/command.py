"""``monitor budget``: whose uncertainty is wrong, from three or more views of recorded pairs."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np

from monitor.commands.options import json_option, recorded_argument
from monitor.core.analysis.side_by_side import SEED
from monitor.core.pairing.series_rules import SeriesRules
from monitor.errors import UsageError
from monitor.extensions.budget.documents import budget_document, budget_text
from monitor.extensions.budget.uncertainty_budget import uncertainty_budget
from monitor.files.layout import layout_arguments, layout_of
from monitor.report.recorded import events_of, read_with_notes


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    recorded_argument(parser)
    layout_arguments(parser)
    parser.add_argument("--quantity", help="default: the one most sensors have")
    parser.add_argument("--sensors", nargs="+", metavar="SENSOR", help="default: all")
    json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the budget."""
    rules = SeriesRules()
    recorded = read_with_notes(Path(options.file), rules, layout_of(options))
    counts = Counter(name.quantity for name in recorded.names)
    quantity = options.quantity or min(counts, key=lambda each: (-counts[each], each), default="")
    wanted = set(options.sensors or [name.sensor for name in recorded.names])
    rows = [
        row
        for row, name in enumerate(recorded.names)
        if name.quantity == quantity and name.sensor in wanted
    ]
    missing = sorted(wanted - {recorded.names[row].sensor for row in rows})
    if not rows or (options.sensors and missing):
        known = ", ".join(sorted({f"{each.sensor} ({each.quantity})" for each in recorded.names}))
        raise UsageError(f"{options.file}: has pairs of {known or 'no sensor'}")
    pairs = recorded.columns(rules.level).take(np.array(rows))
    event = events_of(recorded)[np.isin(recorded.pairs["series"], rows)]
    names = [recorded.names[row] for row in rows]
    budget = uncertainty_budget(pairs, event, names, SEED)
    document = budget_document(budget, quantity, {name.unit for name in names})
    print(json.dumps(document, allow_nan=False) if options.json else budget_text(document))
    return 0
