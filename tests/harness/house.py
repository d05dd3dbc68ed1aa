"""The size of the house: modules and lines of each room, and what a default daemon loads.

A row of ARCHITECTURE.md names modules and folders of ``monitor/`` and the most modules and lines
that they may have. ``python tests/harness/house.py`` lowers the numbers of what became smaller. It
raises none: that is an edit, and its commit says why. Lines are counted in steps of fifty, so that
a mend needs no edit.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

PROJECT: Final = Path(__file__).parents[2]
ARCHITECTURE: Final = PROJECT / "ARCHITECTURE.md"
PACKAGE: Final = PROJECT / "monitor"
STEP: Final = 50
HOUSE, EXTENSIONS, ALL, LOADED = TOTALS = (
    "the house",
    "extensions",
    "all",
    "loaded by `monitor run` with default settings",
)

_ROW: Final = re.compile(r"(?m)^\| (.+?) \| (\d+) \| (\d+) \| ")
_NAME: Final = re.compile(r"`([\w/]+)`")

# A daemon with default settings, up to its first message.
_STARTS: Final = """
import json, sys
from pathlib import Path
import monitor.commands.run
from monitor.daemon.assembly import assemble
from monitor.daemon.loop import read_settings

Path("monitor.yaml").write_text("{}")
settings = read_settings("monitor.yaml").settings
assemble(settings, 0.0)
from monitor.http.application import application
from monitor.http.published import Published

application(Published(), 64, extensions=settings.with_pages)
print(json.dumps({name: str(each.__file__) for name, each in sys.modules.items()
                  if getattr(each, "__file__", None)}))
"""


class Size(NamedTuple):
    """Numbers of modules and of lines."""

    modules: int
    lines: int


def limits(page: str) -> dict[str, Size]:
    """Return the most that each row of a page allows, by its first cell."""
    return {name: Size(int(modules), int(lines)) for name, modules, lines in _ROW.findall(page)}


def modules_of(row: str, package: Path = PACKAGE) -> list[Path]:
    """Return the modules that a row names: ``cli`` is a module, ``http/`` all below a folder."""
    modules: list[Path] = []
    for name in _NAME.findall(row):
        folder = package / name
        modules += folder.rglob("*.py") if name.endswith("/") else [package / f"{name}.py"]
    return modules


def every_module(package: Path = PACKAGE) -> list[Path]:
    """Return all modules of the package."""
    return sorted(package.rglob("*.py"))


def size_of(modules: Iterable[Path]) -> Size:
    """Return the size of modules."""
    lines = [path.read_bytes().count(b"\n") for path in modules]
    return Size(len(lines), sum(lines))


def sizes(rows: Iterable[str], package: Path = PACKAGE) -> dict[str, Size]:
    """Return the sizes of rooms and totals by their rows."""
    return {row: size_of(_counted(row, package)) for row in rows}


def _counted(row: str, package: Path) -> Iterable[Path]:
    if row == LOADED:
        return (Path(file) for name, file in loaded().items() if name.split(".")[0] == "monitor")
    if row not in TOTALS:
        return modules_of(row, package)
    of_extensions = set(modules_of("`extensions/`", package))
    modules = set(every_module(package))
    return {HOUSE: modules - of_extensions, EXTENSIONS: of_extensions, ALL: modules}[row]


@cache
def loaded() -> Mapping[str, str]:
    """Return the modules that a daemon with default settings loads, and their files."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _STARTS]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules: dict[str, str] = json.loads(done.stdout)
    return modules


def grown(page: str, package: Path = PACKAGE) -> list[str]:
    """Return a sentence on each row whose rooms are larger than it allows."""
    allowed = limits(page)
    return [
        f"{row}: {now.modules} modules and {now.lines} lines, its row allows "
        f"{allowed[row].modules} and {allowed[row].lines}; make it smaller, or raise the number "
        "in ARCHITECTURE.md and say why in the commit"
        for row, now in sizes(allowed, package).items()
        if now.modules > allowed[row].modules or now.lines > allowed[row].lines
    ]


def lowered(page: str, package: Path = PACKAGE) -> str:
    """Return a page whose rows allow no more than there is, in steps."""
    now = sizes(limits(page), package)

    def row(match: re.Match[str]) -> str:
        size = now[match[1]]
        modules = min(int(match[2]), size.modules)
        lines = min(int(match[3]), -(-size.lines // STEP) * STEP)
        return f"| {match[1]} | {modules} | {lines} | "

    return _ROW.sub(row, page)


if __name__ == "__main__":
    ARCHITECTURE.write_text(lowered(ARCHITECTURE.read_text(encoding="utf-8")), encoding="utf-8")
