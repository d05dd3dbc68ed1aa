"""Dotted paths into decoded payloads: ``pm25.v``, ``metrics[0].value``, ``$.eid``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

_STEP: Final = re.compile(r"\A([^.\[\]]+)((?:\[-?\d+\])*)\Z")
_INDEX: Final = re.compile(r"\[(-?\d+)\]")

Getter = Callable[[object], object]
Step = str | int


class Missing:
    """What a path finds where there is nothing."""

    def __repr__(self) -> str:
        return "missing"


MISSING: Final = Missing()


def steps(path: str) -> tuple[Step, ...]:
    """Return the steps of a path; raises ValueError with a sentence."""
    found: list[Step] = []
    for part in path.removeprefix("$.").split("."):
        match = _STEP.match(part)
        if match is None:
            raise ValueError(
                f"{path!r} is not a path; write names with dots and indices in brackets, "
                "such as pm25.v or metrics[0].value"
            )
        found.append(match[1])
        found.extend(int(index) for index in _INDEX.findall(match[2]))
    return tuple(found)


def getter(path: str) -> Getter:
    """Return a function that finds ``path`` in a decoded payload, MISSING where it is not."""
    walk = steps(path)
    if len(walk) == 1:
        name = walk[0]

        def pick(record: object) -> object:
            return record.get(name, MISSING) if isinstance(record, Mapping) else MISSING

        return pick

    def find(record: object) -> object:
        for step in walk:
            if isinstance(step, int):
                if not isinstance(record, list) or not -len(record) <= step < len(record):
                    return MISSING
                record = record[step]
            elif isinstance(record, Mapping) and step in record:
                record = record[step]
            else:
                return MISSING
        return record

    return find
