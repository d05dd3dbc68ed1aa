"""The defects of defects.toml: each changes one text of the code, and a test must fail with it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final, NamedTuple

_FILE: Final = Path(__file__).with_name("defects.toml")


class Defect(NamedTuple):
    """A text that occurs once in a file of ``monitor``, what takes its place, tests of the area.

    ``reason`` is why no test can find it, if that is so.
    """

    area: str
    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    reason: str = ""

    @property
    def own_test(self) -> str:
        """The tests of the file itself, which are tried first."""
        path = Path("tests", self.file)
        return str(path.with_name(f"test_{path.name}"))


def defects() -> list[Defect]:
    """Return all of them."""
    listed = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    areas = listed["areas"]
    return [
        Defect(**{**each, "tests": tuple(each.get("tests", areas[each["area"]]["tests"]))})
        for each in listed["defects"]
    ]
