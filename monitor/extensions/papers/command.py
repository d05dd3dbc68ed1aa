"""``monitor reproduce``: the tables and figures of the three papers, ours beside theirs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from monitor.core.scores.intervals import MIN_PAIRS
from monitor.errors import UsageError
from monitor.extensions.papers import martin, navratil, pernot
from monitor.extensions.papers.data_folder import DataFolder
from monitor.extensions.papers.paper_page import Reproduction, terminal, write_paper

_PAPERS: Final = {
    "martin": "arXiv 1411.4354: scores of sensors that report uncertainty",
    "pernot": "arXiv 2402.10043v2: average calibration, ZMS and RCE",
    "navratil": "arXiv 2106.00858: uncertainty characteristics curves",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    papers = parser.add_subparsers(required=True, metavar="PAPER", dest="paper")
    for name, title in _PAPERS.items():
        paper = papers.add_parser(name, help=title, description=f"{title}.")
        paper.add_argument(
            "--data", metavar="FOLDER", type=Path, help="recorded data (docs/evidence/figures.md)"
        )
        paper.add_argument(
            "--out", metavar="FOLDER", type=Path, help="write a Markdown page and SVG figures too"
        )
        if name == "pernot":
            paper.add_argument(
                "--sets",
                type=int,
                default=pernot.SETS_DRAWN,
                help="sets per point of Fig. 3 (default: %(default)s)",
            )
            paper.add_argument(
                "--pairs",
                type=int,
                default=pernot.PAIRS,
                help="pairs per set of Fig. 3 (default: %(default)s)",
            )
        if name == "navratil":
            paper.add_argument(
                "--cost",
                type=float,
                metavar="C",
                default=navratil.COST,
                help="weight of width or excess, 0 to 1 (default: %(default)s)",
            )


def run(options: argparse.Namespace) -> int:
    """Print the tables, and write page and figures if requested."""
    made = _made(options, DataFolder(options.data))
    written = [] if options.out is None else write_paper(made, options.paper, options.out)
    print("\n".join(terminal(made)))
    if written:
        print(f"{written[0]}, with {len(written) - 1} figures beside it", file=sys.stderr)
    return 0


def _made(options: argparse.Namespace, data: DataFolder) -> Reproduction:
    if options.paper == "martin":
        return martin.reproduce(data)
    if options.paper == "navratil":
        if not 0.0 <= options.cost <= 1.0:
            raise UsageError(f"--cost {options.cost}: must be 0 to 1, such as {navratil.COST}")
        return navratil.reproduce(data, options.cost)
    if options.sets < 1 or options.pairs < MIN_PAIRS:
        raise UsageError(
            f"--sets {options.sets} --pairs {options.pairs}: needs at least 1 set, of at least "
            f"{MIN_PAIRS} pairs for an interval"
        )
    asked = pernot.SetsAsked(options.sets, options.pairs, watched=_watched)
    return pernot.reproduce(data, asked)


def _watched(points: Sequence[float]) -> Iterable[float]:
    """Show the progress to a waiting person."""
    from tqdm import tqdm  # noqa: PLC0415 - for people only

    return tqdm(points, "Fig. 3", delay=2.0, leave=False, disable=not sys.stderr.isatty())
