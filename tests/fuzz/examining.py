"""One input through one target: twice, within limits, with everything checked.

Rules of this file: whatever goes wrong is a ``Fault``; two faults of one ``kind`` are one mistake.
"""

from __future__ import annotations

import traceback
from typing import Final, NamedTuple

from . import guards
from .invariants import BrokenError
from .targets import Outcome, Target

_TRIES_MAX: Final = 3000


class Fault(NamedTuple):
    """What went wrong: ``kind`` in short, ``detail`` with the traceback."""

    kind: str
    detail: str


def examine(target: Target, raw: bytes) -> Outcome | Fault:
    """Return what came out of ``raw``, or the fault; within :func:`guards.alarm`."""
    try:
        guards.begin()
        try:
            first = target.run(raw)
            second = target.run(raw)
        finally:
            guards.end()
    except guards.TooLong as error:
        return _fault("too long", error)
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        return _fault(str(error) if isinstance(error, BrokenError) else "raised", error)
    if first.value != second.value:
        return Fault("the same input gave another result", f"{first}\n{second}")
    return first


def _fault(what: str, error: BaseException) -> Fault:
    """Name a fault by the type of its first cause and the innermost lines of ours."""
    root = error
    while root.__cause__ is not None:
        root = root.__cause__
    ours = [
        f"{frame.filename.rsplit('/monitor/', 1)[1]}:{frame.name}"
        for frame in traceback.extract_tb(root.__traceback__)
        if "/monitor/" in frame.filename
    ]
    place = ours[-1] if ours and what != "too long" else ours[0] if ours else ""
    text = "".join(traceback.format_exception(error))
    return Fault(" ".join(filter(None, (what, type(root).__name__, place))), text[-4000:])


def minimised(target: Target, raw: bytes, kind: str) -> bytes:
    """Return a smaller input with a fault of the same kind, by taking parts out and again."""
    if kind.startswith("too long"):
        return raw
    tries = 0
    size = len(raw) // 2
    while size and tries < _TRIES_MAX:
        at, smaller = 0, False
        while at < len(raw) and tries < _TRIES_MAX:
            tries += 1
            candidate = raw[:at] + raw[at + size :]
            found = examine(target, candidate)
            if isinstance(found, Fault) and found.kind == kind:
                raw, smaller = candidate, True
            else:
                at += size
        size = size if smaller and size == 1 else size // 2
    return raw
