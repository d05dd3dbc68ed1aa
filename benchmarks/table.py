"""Every row of the table in docs/performance.md, by one command each.

    python benchmarks/table.py [ROW ...] [--list] [--dry]

Without a name all rows are run, each in a process of its own. Ours and the peers take turns in one
run; figures are medians of processor time (user + system), ratios are peer / ours, so that more is
better for us. The lines of the rows that were run are written between the markers of
docs/performance.md, unless ``--dry``. No figure is a pass mark: the floors and aims stand beside.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rows import Goal, Line, figure

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the harness, for the rows

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- rows -->", "<!-- end rows -->"
HEAD = "| row | what | ours | peer | | ratio | floor | aim | reached | what limits it |"
RESULT = "result "
# Module and function of each row, and the seconds it takes about.
ROWS: dict[str, tuple[str, str, int]] = {
    "qos-1": ("ingest_rows", "qos_1", 260),
    "qos-0": ("ingest_rows", "qos_0", 100),
    "qos-2": ("ingest_rows", "qos_2", 150),
    "mqtt-3.1.1": ("ingest_rows", "mqtt_311", 120),
    "tls": ("ingest_rows", "tls", 90),
    "arrays": ("ingest_rows", "arrays", 65),
    "low-rates": ("ingest_rows", "low_rates", 115),
    "live": ("live_rows", "live", 100),
    "live-late": ("live_rows", "live_late", 150),
    "engine": ("engine_rows", "engine", 20),
    "growth": ("engine_rows", "growth", 150),
    "memory": ("engine_rows", "memory", 110),
    "million": ("million", "million", 300),
    "start": ("start_rows", "start", 80),
    "import": ("start_rows", "imports", 20),
    "files": ("file_rows", "files", 120),
    "scores": ("statistics_rows", "scores", 5),
    "interval": ("statistics_rows", "interval", 10),
    "curve": ("statistics_rows", "curve", 5),
    "exposition": ("publishing_rows", "exposition", 80),
    "scrape": ("publishing_rows", "scrape", 110),
    "stall": ("publishing_rows", "stall", 100),
    "limits": ("limits_rows", "limits", 10),
}


def measured(name: str) -> list[Line]:
    """Run one row in a process of its own and return its lines; exits where it fails."""
    command = [sys.executable, __file__, "--run", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"row {name} failed")
    found: list[Any] = json.loads(done.stdout.rsplit(RESULT, 1)[1])
    return [Line(Goal(*goal), *more) for goal, *more in found]


def run(name: str) -> None:
    """Measure a row here and print what was found for the process that asked."""
    module, function, _ = ROWS[name]
    print(RESULT + json.dumps(getattr(importlib.import_module(module), function)()))


def cells(name: str, line: Line) -> str:
    """Return a line as the table has it."""
    goal = line.goal
    reached = ""
    if line.ratio is not None and goal.floor is not None:
        reached = "no" if line.ratio < goal.floor else "floor"
        if goal.aim is not None and line.ratio >= goal.aim:
            reached = "aim"
    numbers = ["" if each is None else figure(each) for each in (line.ratio, goal.floor, goal.aim)]
    row = [name, goal.what, line.ours, goal.peer, line.theirs, *numbers, reached, goal.limit]
    return "| " + " | ".join(row) + " |"


def written(page: str, found: dict[str, list[str]]) -> str:
    """Return the page with the lines of the rows that were run in place of the former ones."""
    before, rest = page.split(BEGIN)
    table, after = rest.split(END)
    former: dict[str, list[str]] = {}
    for line in table.strip().splitlines()[2:]:
        former.setdefault(line.split("|")[1].strip(), []).append(line)
    kept = [line for name in ROWS for line in found.get(name, former.get(name, []))]
    rule = "|---" * (HEAD.count("|") - 1) + "|"
    return f"{before}{BEGIN}\n" + "\n".join([HEAD, rule, *kept]) + f"\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="all of them without a name")
    parser.add_argument("--list", action="store_true", help="names, and the seconds they take")
    parser.add_argument("--dry", action="store_true", help="print, write nothing")
    parser.add_argument("--run", choices=[*ROWS], help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    unknown = [name for name in chosen.rows if name not in ROWS]
    if unknown:
        parser.error(f"no such row: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    if chosen.run:
        run(chosen.run)
        return
    if chosen.list:
        for name, (_, _, seconds) in ROWS.items():
            print(f"{name:12} about {seconds} s")
        print(f"{'all':12} about {sum(each[2] for each in ROWS.values()) / 60:.0f} min")
        return
    for name in chosen.rows or ROWS:
        began = time.monotonic()
        lines = [cells(name, line) for line in measured(name)]
        print("\n".join(lines), f"({time.monotonic() - began:.0f} s)", flush=True)
        if not chosen.dry:
            page = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(written(page, {name: lines}), encoding="utf-8")


if __name__ == "__main__":
    main()
