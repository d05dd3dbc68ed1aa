"""Every row of the table in docs/evidence/performance.md, by one command each.

    python benchmarks/table.py [ROW ...] [--list] [--dry] [--of OUTPUT ...]

Without a name all rows are run, each in a process of its own. Ours and the peers take turns in one
run; figures are medians of processor time (user + system), ratios are peer / ours, so that more is
better for us. The lines of the rows that were run are written between the markers of
docs/evidence/performance.md, unless ``--dry``. No figure is a pass mark: the floors and aims stand
beside.

``--of`` runs nothing: it reads what several runs printed, and writes for each line that of the run
with the median ratio, and the lowest ratio of all runs beside it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rows import Goal, Line, figure

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the harness, for the rows

PAGE = Path(__file__).parents[1] / "docs" / "evidence" / "performance.md"
BEGIN, END = "<!-- rows -->", "<!-- end rows -->"
HEAD = "| row | what | ours | peer | | ratio | lowest | floor | aim | reached | what limits it |"
RATIO, LOWEST = 6, 7  # places of its cells
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
    "start-late": ("start_rows", "start_late", 150),
    "import": ("start_rows", "imports", 20),
    "files": ("file_rows", "files", 120),
    "scores": ("statistics_rows", "scores", 5),
    "interval": ("statistics_rows", "interval", 10),
    "curve": ("statistics_rows", "curve", 5),
    "exposition": ("publishing_rows", "exposition", 80),
    "scrape": ("publishing_rows", "scrape", 110),
    "stall": ("publishing_rows", "stall", 100),
    "paint": ("page", "first_paint", 30),
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
    numbers.insert(1, "")  # the lowest ratio, of several runs
    row = [name, goal.what, line.ours, goal.peer, line.theirs, *numbers, reached, goal.limit]
    return "| " + " | ".join(row) + " |"


def joined(outputs: Sequence[str]) -> dict[str, list[str]]:
    """Return the lines of each row of what several runs printed.

    A line is that of the run with the median ratio, with the lowest of all runs in its cell. Raises
    ValueError where a run has other lines of a row than the first one.
    """
    runs = [_rows_of(output) for output in outputs]
    found: dict[str, list[str]] = {}
    for name in ROWS:
        each_run = [run[name] for run in runs if name in run]
        for number, each in enumerate(zip(*each_run, strict=True)):
            if len({row[2] for row in each}) > 1:
                raise ValueError(f"row {name}, line {number + 1}: the outputs differ in what it is")
            ordered = sorted(each, key=_ratio_of)
            median = [*ordered[(len(ordered) - 1) // 2]]
            if median[RATIO] and len(ordered) > 1:
                median[LOWEST] = ordered[0][RATIO]
            found.setdefault(name, []).append("| " + " | ".join(median[1:-1]) + " |")
    return found


def _rows_of(output: str) -> dict[str, list[list[str]]]:
    """Return the cells of the lines that a run printed, by row."""
    found: dict[str, list[list[str]]] = {}
    for line in output.splitlines():
        row = [each.strip() for each in line.split("|")]
        if len(row) == HEAD.count("|") + 1 and row[1] in ROWS:
            found.setdefault(row[1], []).append(row)
    return found


def _ratio_of(row: Sequence[str]) -> float:
    return float(row[RATIO].replace(",", "") or 0.0)


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
    parser.add_argument("--of", nargs="+", type=Path, metavar="OUTPUT", help="join former runs")
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
    if chosen.of:
        found = joined([each.read_text(encoding="utf-8") for each in chosen.of])
        print("\n".join(line for lines in found.values() for line in lines))
        write(found, dry=chosen.dry)
        return
    for name in chosen.rows or ROWS:
        began = time.monotonic()
        lines = [cells(name, line) for line in measured(name)]
        print("\n".join(lines), f"({time.monotonic() - began:.0f} s)", flush=True)
        write({name: lines}, dry=chosen.dry)


def write(found: dict[str, list[str]], *, dry: bool) -> None:
    """Put the lines of some rows into the page, unless ``dry``."""
    if not dry:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(written(page, found), encoding="utf-8")


if __name__ == "__main__":
    main()
