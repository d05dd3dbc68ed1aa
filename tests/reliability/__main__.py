"""Try what the daemon is promised to survive: python -m tests.reliability --share ci.

Prints one line a finding and, with ``--write``, docs/reliability.md. ``--share full`` is two or
three hours' work on two cores. ``--only NAME ...`` runs some trials. Ends with 1 if something did
not hold. Run it from the project's folder, with the project's Python.
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
from reliability.shares import SHARES
from reliability.trials import PROJECT, TRIALS, Found


def main() -> int:
    """Run the command."""
    given = _arguments()
    found: list[Found] = []
    for name in given.only or TRIALS:
        for each in _found(name, given.share):
            found.append(each)
            mark = "held" if each.holds else "NOT HELD"
            print(
                f"{each.goal:4} {mark:9} {each.held}/{each.of} {each.what}: {each.figures}",
                flush=True,
            )
    if given.write:
        (PROJECT / "docs" / "reliability.md").write_text(
            document(found, given.share), encoding="utf-8"
        )
    return int(not all(each.holds for each in found))


def _found(name: str, share: str) -> Iterator[Found]:
    """Yield what a trial finds; one that comes to no end has not held."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield from TRIALS[name](SHARES[share], Path(folder))
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
    parser.add_argument("--write", action="store_true", help="write docs/reliability.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
