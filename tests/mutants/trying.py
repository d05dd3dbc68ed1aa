"""Plants a defect in a copy of the project, and tells which test fails with it."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from mutants.defects import Defect

_SECONDS: Final = 1800.0
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[.*)?(?: - .*)?$", re.MULTILINE)
_HEAD: Final = """\
# Planted defects

Made by `make mutants`, which plants one defect after the other in copies of the last commit and
runs the tests of its area: operators, boundaries, the order of steps, and lost lines. Each must
fail a test. What was found stays as it is until the file of the defect or of the test changes.

"""
# Python compiles a file again if its size or the second of its change differ.
_CHANGES: Final = itertools.count(1_000_000_000)


class Tried(NamedTuple):
    """A defect, and the test that found it; empty if none did."""

    defect: Defect
    found_by: str


class GoneError(Exception):
    """The text of a defect is no longer in its file exactly once."""


def tried(defect: Defect, copy: Path, former: str = "") -> Tried:
    """Plant a defect in a copy of the project and run its tests; the copy is as before then.

    The test that found it the last time is tried first, then the tests of the file. A test that
    fails without the defect too ends everything.
    """
    file = copy / "monitor" / defect.file
    sound = file.read_text(encoding="utf-8")
    if (count := sound.count(defect.old)) != 1:
        raise GoneError(f"{defect.file}: {defect.what}: its text occurs {count} times, not once")
    there = [test for test in (former, defect.own_test) if test and (copy / file_of(test)).exists()]
    _write(file, sound.replace(defect.old, defect.new))
    try:
        runs = (first_failure(tests, copy) for tests in (*([test] for test in there), defect.tests))
        found_by = next(filter(None, runs), "")
    finally:
        _write(file, sound)
    if found_by and first_failure([found_by], copy):
        raise SystemExit(f"{found_by} fails without any defect; mend it first")
    return Tried(defect, found_by)


def file_of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def digest_of(defect: Defect, found_by: str, project: Path) -> str:
    """Return a digest of a defect, its file, and the file of the test that found it."""
    files = (project / "monitor" / defect.file, project / file_of(found_by))
    contents = [file.read_bytes() if file.is_file() else b"" for file in files]
    parts = (defect.old.encode(), defect.new.encode(), *contents)
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def first_failure(tests: Sequence[str], copy: Path) -> str:
    """Return the first test that fails in a copy of the project, empty if none does."""
    asked = ("-q", "-x", "-p", "no:cacheprovider", "--hypothesis-profile", "unshrunk", *tests)
    command = [sys.executable, "-m", "pytest", *asked]
    # Options of the run that asks are not options of the copy: its conftest may not know them.
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    environment["PYTHONPATH"] = os.pathsep.join((str(copy), str(copy / "tests")))
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, timeout=_SECONDS,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise SystemExit(f"{' '.join(tests)}: no end within {_SECONDS:g} s") from error
    if not done.returncode:
        return ""
    if failed := _FAILED.search(done.stdout):
        return failed[1]
    output = f"{done.stdout}{done.stderr}"
    raise SystemExit(f"{' '.join(tests)}: pytest ended with {done.returncode}: {output}")


def page(results: Sequence[Tried]) -> str:
    """Return docs/evidence/mutants.md."""
    survivors = [each for each in results if not each.found_by]
    lines = [
        _HEAD,
        f"{len(results)} defects were planted; {len(survivors)} survived.\n\n",
        "| area | defect | file | found by |\n|---|---|---|---|\n",
    ]
    for defect, found_by in results:
        how = (
            f"`{found_by}`" if found_by else f"**survives**: {defect.reason or 'no test finds it'}"
        )
        lines.append(f"| {defect.area} | {defect.what} | `{defect.file}` | {how} |\n")
    return "".join(lines)


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    now = next(_CHANGES)
    os.utime(file, (now, now))
