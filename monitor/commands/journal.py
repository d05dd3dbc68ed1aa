"""``monitor journal``: check, back up, restore or repair the journal, or its pairs."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Final

from monitor.config import load
from monitor.journal import copying
from monitor.journal.failures import JournalError
from monitor.journal.repairing import repair
from monitor.journal.schema import rows_in_words

_ACTIONS = {
    "check": "verify the checksum of every row; also while the daemon runs",
    "backup": "write a verified copy; also while the daemon runs",
    "restore": "replace the journal with a verified copy; the previous one is kept beside it",
    "repair": "move a damaged journal aside and recover its intact rows",
    "repair-pairs": "make pairs again with the settings, from the readings that are still held",
}
_BY_SETTINGS: Final = frozenset(("repair-pairs",))


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    actions = parser.add_subparsers(required=True, metavar="ACTION", dest="action")
    for name, summary in _ACTIONS.items():
        action = actions.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
        )
        place = action.add_mutually_exclusive_group(required=True)
        place.add_argument("--config", metavar="FILE", help="settings file that names the journal")
        if name not in _BY_SETTINGS:
            place.add_argument("--journal", metavar="PATH", help="path of the journal")
        if name in ("backup", "restore"):
            action.add_argument("copy", metavar="COPY", help="path of the copy")


def run(options: argparse.Namespace) -> int:
    """Run the action and print its result; raises JournalError."""
    path = journal_of(options)
    try:
        for line in _ACTS[options.action](path, options):
            print(line)
    except OSError as error:
        raise JournalError(
            f"{error.filename or path}: {error.strerror}; check the path, its permissions and "
            "the free space"
        ) from error
    return 0


def journal_of(options: argparse.Namespace) -> Path:
    """Return the requested journal."""
    if path := vars(options).get("journal"):
        return Path(path)
    return Path(load(options.config).journal.path)


def stamp() -> str:
    """Return the time, UTC, as part of a file's name."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())


def _check(path: Path, options: argparse.Namespace) -> list[str]:
    del options
    rows, is_running = copying.check_copy(path)
    how = " (a copy, taken while the daemon runs)" if is_running else ""
    return [f"{path}: sound{how}: {rows_in_words(rows) or 'empty'}"]


def _backup(path: Path, options: argparse.Namespace) -> list[str]:
    rows = copying.backup(path, Path(options.copy))
    return [f"{options.copy}: written and verified: {rows_in_words(rows) or 'empty'}"]


def _restore(path: Path, options: argparse.Namespace) -> list[str]:
    rows, aside = copying.restore(Path(options.copy), path, stamp())
    former = [] if aside is None else [f"the previous journal is kept as {aside}"]
    return [f"{path}: restored: {rows_in_words(rows) or 'empty'}", *former]


def _repair(path: Path, options: argparse.Namespace) -> list[str]:
    del options
    return [f"{path}: {line}" for line in repair(path, stamp()).sentences()]


def _repair_pairs(path: Path, options: argparse.Namespace) -> list[str]:
    from monitor.daemon.assembly import assemble  # noqa: PLC0415 - the others need no daemon

    if not path.exists():
        raise JournalError(f"{path}: there is no journal whose pairs could be made again")
    parts = assemble(load(options.config), time.time(), every_pair=True)
    try:
        remade = parts.remade or "all pairs that can be made again are as the settings make them"
        return [f"{path}: {line}" for line in (remade, *parts.others.sentences())]
    finally:
        parts.journal.close()


_ACTS: Final = {
    "check": _check,
    "backup": _backup,
    "restore": _restore,
    "repair": _repair,
    "repair-pairs": _repair_pairs,
}
