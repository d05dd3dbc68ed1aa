"""Simulate lives of the daemon: python -m tests.simulation --seeds 100000 --workers 2.

Each seed is one life: what publishers send, when the connection is cut, the broker restarts, the
disk is full or fails, the process is killed at which statement. It must come to an end with every
message acknowledged, each counted once, and the same bits as in an undisturbed life. ``--plant``
puts one of eight known mistakes in and ends once a seed finds it. Prints how many seeds held and
those that did not, and ends with 1 if any did not (with ``--plant``: if none found it). Run it from
the project's folder, with the project's Python.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from .plants import PLANTS, simulate_with
from .world import STEPS, Wrong

_CHUNK = 50


def main() -> int:
    """Run the command."""
    given = _arguments()
    began = time.monotonic()
    count, found = 0, []
    for wrong in _outcomes(given):
        count += 1
        if wrong is not None:
            found.append(wrong)
            print(f"seed {wrong.seed}: {wrong.what}", flush=True)
            if given.plant:
                break
    rate = count / (time.monotonic() - began)
    print(f"{count} seeds, {len(found)} with findings, {rate:.0f} seeds/s")
    return int(not found if given.plant else bool(found))


def _outcomes(given: argparse.Namespace) -> Iterator[Wrong | None]:
    live = partial(simulate_with, steps=given.steps, plant=given.plant)
    seeds = range(given.first, given.first + given.seeds)
    if given.workers == 1:
        yield from map(live, seeds)
        return
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as workers:
        yield from workers.map(live, seeds, chunksize=_CHUNK)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.simulation",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seeds", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--steps", type=int, default=STEPS, help="happenings a life")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--plant", choices=sorted(PLANTS), help="a mistake to put in")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
