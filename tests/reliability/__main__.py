"""Try what the daemon is promised to survive: python -m tests.reliability --share ci.

Prints one line a finding. ``--only NAME ...`` runs some trials; ``--write`` puts what they found in
the place of what is known of them, and writes docs/evidence/reliability.md. ``--share full`` is
four to six hours' work on two cores; with ``--keep FOLDER`` each trial leaves its findings there
(the longest ones after each of twenty portions), and what is there is not run again until it is
deleted. Ends with 1 if something did not hold. Run it from the project's folder, with the project's
Python.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from reliability.document import document
from reliability.records import Record, joined, keep, kept, record_all, recorded
from reliability.shares import SHARES, Share
from reliability.trials import IN_PORTIONS, PROJECT, TRIALS, Found


def main() -> int:
    """Run the command."""
    given = _arguments()
    folder = None if given.keep is None else given.keep / given.share
    records = [_record(name, given.share, folder) for name in given.only or TRIALS]
    if given.write:
        page = PROJECT / "docs" / "evidence" / "reliability.md"
        page.write_text(document(record_all(records)), encoding="utf-8")
    return int(not all(each.holds for record in records for each in record.found))


def _record(name: str, share: str, folder: Path | None) -> Record:
    """Run a trial and say what it finds, or say what is known of it already."""
    portions = SHARES[share].each_portion() if name in IN_PORTIONS else [SHARES[share]]
    done = []
    for at, each in enumerate(portions):
        portion = f" {at + 1} of {len(portions)}" if len(portions) > 1 else ""
        done.append(_of_portion(name, share, each, portion, folder))
    return joined(done)


def _of_portion(name: str, share: str, amount: Share, portion: str, folder: Path | None) -> Record:
    record = None if folder is None else kept(name, folder, portion)
    if record is None:
        record = recorded(name, share, [_said(each) for each in _found(name, amount)])
        if folder is not None:
            keep(record, folder, portion)
    else:
        print(f"{name}{portion}: kept in {folder}, of {record.commit}", flush=True)
        for each in record.found:
            _said(each)
    return record


def _said(found: Found) -> Found:
    mark = "held" if found.holds else "NOT HELD"
    figures = f"{found.held}/{found.of} {found.what}: {found.figures}"
    print(f"{found.goal:4} {mark:9} {figures}", flush=True)
    return found


def _found(name: str, share: Share) -> Iterator[Found]:
    """Yield what a trial finds; one that comes to no end has not held."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield from TRIALS[name](share, Path(folder))
        except (AssertionError, pytest.fail.Exception) as error:
            yield Found("R1", f"{name}, broken off", 0, 1, " ".join(str(error).split())[:300])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.reliability",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--share", choices=SHARES, default="ci", help="how much (default ci)")
    parser.add_argument("--only", nargs="+", choices=TRIALS, metavar="NAME", help=", ".join(TRIALS))
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep what each trial finds, and go on from it"
    )
    parser.add_argument("--write", action="store_true", help="write docs/evidence/reliability.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
