"""docs/reliability.md, made of what the trials found and of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from .catalogue import CATALOGUE
from .trials import Found

GOALS: Final = {
    "R1": "what the broker was told is safe is never lost, and nothing counts twice",
    "R2": "no acknowledgement before its message is on the disk",
    "R3": "received = committed + duplicate + rejected, at every commit",
    "R4": "the same bits as in an undisturbed life",
    "R5": "simulated lives: real loop, intake and journal; model broker, disk and clock",
    "R6": "it comes back: after a kill within 2 s, else within 30 s; a partition is seen in 30 s",
    "R7": "bounded memory: at most 150 MiB more, whatever comes",
    "R8": "no input ends it",
    "R9": "no damage of its file is read as something else",
    "R10": "SIGTERM ends it in good order within 5 s",
    "R11": "nobody gets in, and no secret gets out",
    "R12": "a scrape is answered within 1 s, except while the process is gone",
    "N1": "what is published is right to 1e-12 of the size of its terms",
    "N2": "a huge value that has left the window leaves no trace",
    "N3": "differences of near numbers keep their digits, or are remarked on",
    "N4": "nothing within the bounds over- or underflows",
}
_HEAD: Final = """\
# What it survives

Made by `python -m tests.reliability --share {share} --write`, which does these things to the real
daemon with a real mosquitto, a proxy between them, a publisher that keeps its own record of what
the broker promised, and strace, and then reads what is left. A share of it runs with the tests;
`make soak` runs all of it.

The broker is asked to keep its promises too: persistence on, long queues (see
[operations](operations.md)). What a broker loses by itself (mosquitto killed within its autosave
interval, a full queue) cannot be had back; the daemon counts a lost session and says so.

## Trials

| goal | what was done | held | figures |
|---|---|---|---|
"""
_CATALOGUE: Final = """
## What may go wrong, and what happens then

| # | failure | what the daemon does | shown by |
|---|---|---|---|
"""


def document(found: Sequence[Found], share: str) -> str:
    """Return the page, for a run of so much."""
    lines = [_HEAD.format(share=share)]
    for goal, meaning in GOALS.items():
        own = [each for each in found if each.goal == goal]
        if own:
            lines.append(f"| **{goal}** | **{meaning}** | | |\n")
            lines += [f"| | {e.what} | {e.held} of {e.of} | {e.figures} |\n" for e in own]
    lines.append(_CATALOGUE)
    lines += _rows()
    return "".join(lines)


def _rows() -> Iterable[str]:
    for number, row in enumerate(CATALOGUE, 1):
        shown = (f"tests/{each}" if "::" in each else each for each in row.shown_by)
        tests = ", ".join(f"`{each}`" for each in shown)
        yield f"| {number} | {row.failure} | {row.behaviour} | {tests} |\n"
