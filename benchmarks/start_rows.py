"""Rows of the table about the start: what is imported, and what a journal is read back to.

``start_late`` leaves its journals as a kill does: nothing is closed or saved at the end.
"""

from __future__ import annotations

import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from engine_rows import MILLION, START, Source, apart
from harness.late_stream import RATE, LateStream
from harness.publishing import Said
from rows import Goal, Line, line, ratio

from monitor.config import Settings
from monitor.core.model import PAIR, event_order, in_portions
from monitor.core.registry import KnownSeries
from monitor.daemon.assembly import assemble
from monitor.daemon.checkpoints import save_evidence
from monitor.journal import Batch, Journal

SERIES = 1000
ROUNDS = 3
LATE_SECONDS = 300
PUBLISH_SECONDS = 10
KEEP_SECONDS = 60
# A pair as SQLite gives it: its integers have a sign.
_SIGNED = np.dtype([(name, kind.replace("u8", "i8")) for name, kind in PAIR.descr])


def start() -> list[Line]:
    """A journal of 10^6 pairs of 1000 series: read back, and the whole recovery."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fill(folder / "journal.sqlite")
        rows = _rows(folder / "rows.sqlite", folder / "journal.sqlite")
        settings = Settings.model_validate({"journal": {"path": str(folder / "journal.sqlite")}})
        read, whole, theirs = [], [], []
        for _ in range(ROUNDS):
            journal = Journal(folder / "journal.sqlite")
            began = time.process_time()
            pairs = journal.pairs()
            ordered = sum(part.size for part in in_portions(pairs, event_order(pairs)))
            read.append(time.process_time() - began)
            assert ordered == MILLION
            journal.close()
            del pairs
            began = time.process_time()
            made = np.array(rows.execute("select * from pairs").fetchall(), dtype=_SIGNED)
            theirs.append(time.process_time() - began)
            assert made.size == MILLION
            del made
            began = time.process_time()
            parts = assemble(settings, START)
            whole.append(time.process_time() - began)
            parts.journal.close()
            del parts
        rows.close()
    peer = "SQLite, a row a pair, read only"
    return [
        line(Goal("10^6 pairs read from the journal, checked and ordered", peer, 10, 20,
                  "105 MB out of SQLite, checksums, one copy in order"), read, theirs, "s"),
        line(Goal("10^6 pairs recovered: windows, evidence, indices", peer,
                  limit="the detector's steps through all pairs, more than half of it"),
             whole, theirs, "s"),
    ]  # fmt: skip


def _fill(path: Path) -> None:
    source, journal = Source(SERIES), Journal(path)
    known = [KnownSeries(row, f"s{row}", "mass", "kg", START) for row in range(SERIES)]
    for at in range(0, MILLION, 5000):
        pairs = source.batch(5000)
        journal.append(Batch(START, pairs=pairs, series=known if at == 0 else ()))
    journal.close()


def start_late() -> list[Line]:
    """A start after a kill: all references late, a fifth revised; and the same in order of time."""
    seconds, stream = range(LATE_SECONDS), LateStream(START)
    late = [stream.second() for _ in seconds]
    in_time = sorted((said for each in late for said in each), key=_due)
    in_order = [in_time[at * RATE : (at + 1) * RATE] for at in seconds]
    ours, itself = [], []
    with tempfile.TemporaryDirectory() as name:
        for number, said in enumerate((late, in_order)):
            apart(partial(_killed, str(Path(name) / f"{number}.sqlite"), said))
        for _ in range(ROUNDS):
            for number, costs in enumerate((ours, itself)):
                costs.append(apart(partial(_started, str(Path(name) / f"{number}.sqlite"))))
    goal = Goal(
        f"a start after a kill, {LATE_SECONDS * RATE:,} messages held, references up to 5 minutes "
        "late or revised",
        "itself, the same messages in order of time",
        limit="readings and references that wait are read, checked and held again",
    )
    return [line(goal, ours, itself, "s")]


def _due(said: Said) -> tuple[str, int]:
    body = json.loads(said.payload)
    return body["time"], body.get("rev", -1)


def _settings_of(path: str) -> Settings:
    return Settings.model_validate(
        {
            "journal": {"path": path},
            "series": {"max": 1000, "max_new_per_minute": 1_000_000},
            "pairing": {"mode": "nearest", "tolerance_seconds": 5, "max_wait_hours": 0.25},
        }
    )


def _killed(path: str, seconds: Sequence[Sequence[Said]]) -> float:
    """Take a stream as a daemon does, and leave its journal as it is then."""
    parts = assemble(_settings_of(path), START)
    for second, said in enumerate(seconds, start=1):
        now = START + second
        parts.intake.commit(parts.intake.prepare(said, now))
        if second % PUBLISH_SECONDS == 0:
            parts.network.evaluate(now, 128)
            parts.network.drain_transitions()
        if second % KEEP_SECONDS == 0:
            save_evidence(parts.network, parts.journal)
            parts.journal.compact()
    return float(parts.intake.counts.committed)


def _started(path: str) -> float:
    began = time.process_time()
    parts = assemble(_settings_of(path), START + LATE_SECONDS)
    spent = time.process_time() - began
    assert parts.network.pairing.readings > 0
    return spent


def _rows(path: Path, journal: Path) -> sqlite3.Connection:
    """Return a database with the same pairs, a row each."""
    opened = Journal(journal)
    pairs = opened.pairs()
    opened.close()
    database = sqlite3.connect(path)
    database.execute(f"create table pairs ({', '.join(PAIR.names or ())})")
    places = ", ".join("?" * len(PAIR.names or ()))
    rows = (tuple(map(_signed, row)) for row in pairs.tolist())
    database.executemany(f"insert into pairs values ({places})", rows)  # noqa: S608
    database.commit()
    return database


def _signed(number: float) -> float:
    return number - (1 << 64) if isinstance(number, int) and number >> 63 else number


_IMPORTED = {
    "run": "imports of `monitor run`",
    "help": "`monitor --help`, all of it",
    "explain": "imports of `monitor explain`",
    "check": "`monitor check-config configs/air.yaml`, all of it",
}


def imports() -> list[Line]:
    """What is imported before a command does anything, beside numpy alone.

    With byte code at hand, as an installed program has it.
    """
    run = "import monitor.cli, monitor.commands.run, sys; assert 'scipy.special' not in sys.modules"
    works = {
        "run": run,
        "help": "import contextlib, io, monitor.cli as cli\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    cli.main(['--help'])",
        "explain": "import monitor.cli, monitor.commands.explain",
        "check": "import contextlib, io, monitor.cli as cli\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    assert cli.main(['check-config', 'configs/air.yaml']) == 0",
        "numpy": "import numpy",
        "nothing": "pass",
    }
    costs: dict[str, list[float]] = {name: [] for name in works}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for turn in range(8):
            for name, code in works.items():
                before = _children()
                subprocess.run([sys.executable, "-c", code], check=True, env=environment)
                if turn:  # the first one makes the byte code
                    costs[name].append(_children() - before)
    bare = statistics.median(costs["nothing"])
    models = "numpy, pydantic and its models"
    limits = {
        "run": f"{models}; scipy.special (200 ms) with the first pair, HTTP in a thread of its own",
        "help": "argparse and the arguments of every command",
        "explain": f"{models}, the decoders",
        "check": f"{models}, made and filled; the core's tables of what settings may name",
    }
    theirs = [each - bare for each in costs["numpy"]]
    found = []
    for name, limit in limits.items():
        ours = [each - bare for each in costs[name]]
        mine, other = (f"{1e3 * statistics.median(each):.0f} ms" for each in (ours, theirs))
        goal = Goal(_IMPORTED[name], "import numpy", limit=limit)
        found.append(Line(goal, mine, other, ratio(ours, theirs)))
    return found


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
