"""What grows with the fleet, and what with the journal: a plot and a table of four costs.

    python benchmarks/growth.py [--most 1000000] [--stored 10000000] [--write]

Each point is a daemon's core in a process of its own that starts from a journal: with more and more
series that have a million pairs together, and with 1000 series that have more and more pairs. The
costs are processor time: a start, with the evidence that a daemon kept before it ended, and the
first one, without; a pair (a reading and its reference, from bytes to the journal's
fdatasync, windows and detector); the publication after 1000 pairs of random series; and a reference
whose reading came six readings before, its share of the next publication included. Each series had
a late reference before: the first one in its life reads its history once. ``--write`` puts the
table and the plot into docs/evidence/performance.md. An exponent of 1 is proportional growth.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from engine_rows import START, Source, sensor
from harness.publishing import Said

from monitor.config import Settings
from monitor.core.registry import KnownSeries
from monitor.daemon.assembly import Parts, assemble
from monitor.daemon.checkpoints import save_evidence
from monitor.daemon.runtime import collect_rarely, freeze_after_start
from monitor.extensions.papers.paper_figures import Panel, sheet
from monitor.http.svg import Axis, Chart
from monitor.journal import Batch, Journal

DOCS: Final = Path(__file__).parents[1] / "docs" / "evidence"
IMAGE: Final = "growth.svg"
BEGIN, END = "<!-- growth -->", "<!-- end growth -->"
SERIES: Final = 1000
STORED: Final = 1_000_000
PAIRS: Final = 1000  # a round
ROUNDS: Final = 5
AHEAD: Final = 5  # newer pairs of a series, when a late reference of it comes
JUDGED: Final = 128
_FILLED_AT_ONCE: Final = 5000
_EVERY_SECONDS: Final = 10.0  # between two readings of a sensor
_HEIGHT: Final = 300.0
_RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Costs(NamedTuple):
    """Processor time, s: of a start, the first one, a pair, a publication, a late reference."""

    start: float
    first: float
    pair: float
    publication: float
    late: float


NAMES: Final = {
    "start": "a start",
    "first": "a start without evidence that was kept",
    "pair": "a pair",
    "publication": "a publication, 1000 pairs new",
    "late": "a late reference, published",
}


def measured(series: int, stored: int) -> Costs:
    """Return what one size costs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.sqlite"
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
            first = apart.submit(_left, path, series, stored).result()
        parts, start = _started(path, series)
        freeze_after_start()
        _publish(parts, START)
        random = np.random.default_rng(1)
        rounds = [_round(parts, number, random) for number in range(ROUNDS + 1)][1:]
        parts.journal.close()
    pair, publication, late = np.median(rounds, axis=0).tolist()
    return Costs(start, first, pair, publication, late)


def _left(path: Path, series: int, stored: int) -> float:
    """Fill a journal, start from it and leave it as a daemon does; return s of the start."""
    _fill(path, series, stored)
    parts, start = _started(path, series)
    _publish(parts, START)
    while save_evidence(parts.network, parts.journal):
        pass
    parts.journal.close()
    return start


def _started(path: Path, series: int) -> tuple[Parts, float]:
    """Start from a journal; return also the processor time that it took, s."""
    settings = Settings.model_validate(
        {
            "journal": {"path": str(path)},
            "series": {"max": series, "max_new_per_minute": series},
            "windows": {"pairs": 100, "precision": "single", "replay_pairs": 100},
        }
    )
    collect_rarely()
    began = time.process_time()
    parts = assemble(settings, START)
    return parts, time.process_time() - began


def _fill(path: Path, series: int, stored: int) -> None:
    """Fill a journal; the first pair of every series comes last, as where references are late."""
    source, journal = Source(series), Journal(path)
    known = [KnownSeries(row, sensor(row), "mass", "kg", START) for row in range(series)]
    journal.append(Batch(START, series=known))
    late = source.batch(series, np.arange(series))
    for at in range(series, stored, _FILLED_AT_ONCE):
        size = min(_FILLED_AT_ONCE, stored - at)
        batch = source.batch(size, np.arange(at, at + size) % series)
        journal.append(Batch(START, pairs=batch))
    journal.append(Batch(START, pairs=late))
    journal.close()


def _round(parts: Parts, number: int, random: np.random.Generator) -> tuple[float, float, float]:
    """Return s a pair, a publication, and a late reference, of random series."""
    names = [sensor(row) for row in random.integers(0, len(parts.network.registry.keys), PAIRS)]
    names = [*dict.fromkeys(names)]
    first = START + 100_000.0 + number * 1000.0
    said = _said(names, first, random, ("reading", "reference"))
    pair = _spent(lambda: _take(parts, said, first)) / len(names)
    publication = _spent(lambda: _publish(parts, first))
    late = first + _EVERY_SECONDS
    _take(parts, _said(names, late, random, ("reading",)), late)
    for ahead in range(1, AHEAD + 1):
        now = late + ahead * _EVERY_SECONDS
        _take(parts, _said(names, now, random, ("reading", "reference")), now)
    _publish(parts, now)
    said = _said(names, late, random, ("reference",))
    spent = _spent(lambda: (_take(parts, said, now + 1.0), _publish(parts, now + 1.0)))
    return pair, publication, spent / len(names)


def _said(
    names: Sequence[str], at: float, random: np.random.Generator, kinds: Sequence[str]
) -> list[Said]:
    stamp = datetime.fromtimestamp(at, UTC).isoformat()
    found = []
    for kind in kinds:
        noise = random.normal(0.0, 5.0 if kind == "reading" else 0.0, len(names)).tolist()
        for name, error in zip(names, noise, strict=True):
            u = 5.0 if kind == "reading" else 0.5
            body = {"time": stamp, "value": 500.0 + error, "u": u}
            found.append(Said(f"monitor/{name}/mass/{kind}", json.dumps(body).encode()))
    return found


def _take(parts: Parts, said: Sequence[Said], now: float) -> None:
    counts = parts.intake.counts
    before = counts.committed
    parts.intake.commit(parts.intake.prepare(said, now))
    assert counts.committed == before + len(said), counts.totals()


def _publish(parts: Parts, now: float) -> None:
    for _ in parts.network.steps(now, JUDGED):
        pass
    parts.network.drain_transitions()


def _spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def exponent(sizes: Sequence[int], costs: Sequence[float]) -> float:
    """Return the largest exponent between neighbouring sizes, costs growing as size ** exponent."""
    steps = np.diff(np.log(costs)) / np.diff(np.log(sizes))
    return float(steps.max())


def table(found: Sequence[tuple[str, list[int], list[Costs]]]) -> str:
    """Return the table: a line a cost and sweep."""
    lines = []
    for what, sizes, costs in found:
        lines.append("| " + " | ".join([what, *(f"{size:,}" for size in sizes), "exponent"]) + " |")
        lines.append("|---" * (len(sizes) + 2) + "|")
        for name, words in NAMES.items():
            each = [getattr(one, name) for one in costs]
            cells = [words, *map(_seconds, each), f"{exponent(sizes, each):.2f}"]
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _seconds(cost: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if cost * scale >= 1.0:
            return f"{cost * scale:.3g} {unit}"
    return f"{1e6 * cost:.3g} µs"


def plot(found: Sequence[tuple[str, list[int], list[Costs]]]) -> str:
    """Return the costs beside those of the smallest size, and n log n, on logarithmic axes."""
    panels = []
    for what, sizes, costs in found:
        across = np.log10(np.array(sizes, dtype=float))
        steepest = np.log10(np.array([n * np.log(n) for n in sizes]))
        steepest -= steepest[0]
        top = float(np.ceil(steepest[-1]))
        powers = range(int(across[0]), int(across[-1]) + 1)
        ticks = [(float(n), f"10{str(n).translate(_RAISED)}") for n in powers]
        up = [(float(n), f"{10.0**n:g}") for n in range(-1, int(top) + 1)]
        chart = Chart(
            f"What grows with {what}",
            Axis(across[0] - 0.1, across[-1] + 0.9, ticks, what),
            Axis(-1.0, top, up, "times the smallest"),
            _HEIGHT,
        )
        chart.line(across, steepest, "expected")
        chart.ending(float(across[-1]), float(steepest[-1]), "n log n")
        ends = []
        for name in NAMES:
            each = np.log10(np.array([getattr(one, name) for one in costs]))
            chart.line(across, each - each[0], "seen")
            ends.append((float(each[-1] - each[0]), name))
        place = -np.inf
        for end, name in sorted(ends):
            place = max(end, place + 0.06 * (top + 1.0))
            chart.ending(float(across[-1]), place, {"late": "late reference"}.get(name, name))
        panels.append(Panel(chart.render(), _HEIGHT))
    return sheet(panels, 2)


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=1_000_000, help="series")
    parser.add_argument("--stored", type=int, default=10_000_000, help="pairs")
    parser.add_argument("--write", action="store_true", help="into docs/evidence/performance.md")
    asked = parser.parse_args()
    series = [10**n for n in range(3, 10) if 10**n <= asked.most]
    stored = [10**n for n in range(4, 10) if 10**n <= asked.stored]
    spawned = get_context("spawn")  # a point finds nothing that another one left
    with ProcessPoolExecutor(1, mp_context=spawned, max_tasks_per_child=1) as pool:
        of_series = [*pool.map(measured, series, [max(STORED, 2 * each) for each in series])]
        of_stored = [*pool.map(measured, [SERIES] * len(stored), stored)]
    found = [("series", series, of_series), ("stored pairs", stored, of_stored)]
    text = table(found)
    print(text)
    if asked.write:
        page = (DOCS / "performance.md").read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        _, after = rest.split(END)
        (DOCS / "performance.md").write_text(
            f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8"
        )
        (DOCS / "images" / IMAGE).write_text(plot(found), encoding="utf-8")


if __name__ == "__main__":
    main()
