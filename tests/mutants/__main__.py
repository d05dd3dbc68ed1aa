"""``python -m tests.mutants``: plant all defects, and write docs/evidence/mutants.md.

``--only WORDS`` tries the defects whose name or area has these words, and writes no page. Results
are kept in build/mutants.json: a run that was broken off resumes, and a defect that a test found is
tried again once its file or that test's has changed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Final

PROJECT: Final = Path(__file__).parents[2]
sys.path.insert(0, str(PROJECT / "tests"))

from mutants.defects import Defect, defects  # noqa: E402 - as the tests import it
from mutants.trying import Tried, digest_of, page, tried  # noqa: E402

_RESULTS: Final = PROJECT / "build" / "mutants.json"
_SURVIVE_MOST: Final = 0.05


def main() -> int:
    """Try defects; return 1 if a defect survives that has no reason, or too many do."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORDS", help="defects to try")
    parser.add_argument("--workers", type=int, default=2, help="copies to work in")
    given = parser.parse_args()
    chosen = [each for each in defects() if given.only in f"{each.area}: {each.what}"]
    with TemporaryDirectory() as folder:
        copies = [Path(folder, str(number)) for number in range(given.workers)]
        try:
            results = _all_tried(chosen, copies)
        finally:
            for copy in copies:
                _git("worktree", "remove", "--force", str(copy))
    survivors = [each.defect for each in results if not each.found_by]
    if not given.only:
        file = PROJECT / "docs" / "evidence" / "mutants.md"
        file.write_text(page(results), encoding="utf-8")
    print(f"{len(results)} planted, {len(survivors)} survived")
    is_too_many = len(survivors) > _SURVIVE_MOST * len(results)
    return int(is_too_many or not all(each.reason for each in survivors))


def _all_tried(chosen: Sequence[Defect], copies: Sequence[Path]) -> list[Tried]:
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in copies:
        _git("worktree", "add", "--quiet", "--detach", str(copy))
        free.put(copy)
    former = json.loads(_RESULTS.read_text(encoding="utf-8")) if _RESULTS.exists() else {}
    _RESULTS.parent.mkdir(exist_ok=True)

    def one(defect: Defect) -> Tried:
        copy = free.get()
        try:
            found_by, digest = former.get(defect.what, ("", ""))
            if found_by and digest == digest_of(defect, found_by, copy):
                return Tried(defect, found_by)
            result = tried(defect, copy, found_by)
            digest = digest_of(defect, result.found_by, copy)
        finally:
            free.put(copy)
        former[defect.what] = result.found_by, digest
        _RESULTS.write_text(json.dumps(dict(former), indent=1), encoding="utf-8")
        print(f"{defect.area}: {defect.what}: {result.found_by or 'SURVIVES'}", flush=True)
        return result

    with ThreadPoolExecutor(len(copies)) as workers:
        return list(workers.map(one, chosen))


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=PROJECT, check=False)


if __name__ == "__main__":
    sys.exit(main())
