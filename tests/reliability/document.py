"""docs/evidence/reliability.md, made of what the trials found and of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from .attacks import ATTACKS
from .catalogue import CATALOGUE, Row
from .records import Record

GOALS: Final = {
    "R1": "what the broker was told is safe is never lost, and nothing counts twice",
    "R2": "no acknowledgement before its message is on the disk",
    "R3": "received = committed + duplicate + rejected, at every commit",
    "R4": "the same bits as in an undisturbed life",
    "R5": "simulated lives: real loop, intake and journal; model broker, disk and clock",
    "R6": "it comes back: commits 2 s after a kill, else within 30 s; a partition is seen in 30 s",
    "R7": "bounded memory: at most 150 MiB more, whatever comes; with mosquitto within 512 MiB",
    "R8": "no input ends it",
    "R9": "no damage of its file is read as something else",
    "R10": "SIGTERM ends it in good order within 5 s",
    "R11": "nobody gets in, and no secret gets out",
    "R12": "a scrape is answered within 1 s, except while the process is gone",
    "R13": "late references and backlogs hold up no publication: within 2 s of work, never older "
    "than 10 s",
    "N1": "what is published is right to 1e-12 of the size of its terms",
    "N2": "a huge value that has left the window leaves no trace",
    "N3": "differences of near numbers keep their digits, or are remarked on",
    "N4": "nothing within the bounds over- or underflows",
    "N5": "an interval holds the truth as often as it says, or is not shown",
}
# What shows a goal that a run had no trial for: tests of the suite.
SHOWN_BY: Final[dict[str, tuple[str, ...]]] = {
    "R3": (
        "acceptance/test_conservation.py::test_what_is_received_is_committed_duplicate_or_rejected",
    ),
    "R9": (
        "journal/test_repairing.py::test_no_flipped_bit_is_read_as_something_else",
        "journal/test_repairing.py::test_a_file_cut_at_any_page_is_refused",
        "journal/test_log_end.py::test_a_log_that_is_gone_is_told_until_a_repair",
    ),
    "R11": (
        "deploy/test_mosquitto.py::test_nobody_publishes_what_is_not_theirs",
        "mqtt/test_tls.py::test_user_and_password_open_the_door_and_are_never_shown",
        "http/test_access.py::test_other_machines_need_encryption_and_a_password",
    ),
    "N3": (
        "core/scores/test_numerics.py::test_z_is_taken_of_the_difference_and_is_right_to_the_inputs_spacing",
        "core/scores/test_numerics.py::test_values_too_large_beside_their_uncertainty_are_remarked",
    ),
    "N5": (
        "core/scores/test_intervals.py::test_no_interval_below_twenty_pairs_or_without_spread",
        "core/scores/test_intervals.py::test_live_interval_holds_zms_nineteen_times_in_twenty_under_autocorrelation",
    ),
}
_HEAD: Final = """\
# What it survives

Made by `make soak`, which does these things to the real daemon with a real mosquitto, a proxy
between them, a publisher that keeps its own record of what the broker promised, and strace, and
then reads what is left. How much of it was tried last, and of which commit, [stands
below](#last-tried). A share of it runs with the tests.

The broker is asked to keep its promises too: persistence on, long queues (see
[operations](../operations.md)). What a broker loses by itself (mosquitto killed within its autosave
interval, a full queue) cannot be recovered; the daemon counts a lost session and says so.

## Trials

| goal | what was done | held | figures |
|---|---|---|---|
"""
_RUNS: Final = """
## Last tried

| trial | share | commit | day | load of the machine at its end |
|---|---|---|---|---|
"""
_CATALOGUE: Final = """
## What may go wrong, and what happens then

| # | failure | what the daemon does | shown by |
|---|---|---|---|
"""
_ATTACKS: Final = """
## What attacks broke once, and what holds now

| # | what broke | what the daemon does now | shown by |
|---|---|---|---|
"""


def document(records: Sequence[Record]) -> str:
    """Return the page."""
    lines = [_HEAD]
    found = [each for record in records for each in record.found]
    for goal, meaning in GOALS.items():
        own = [each for each in found if each.goal == goal]
        if own or goal in SHOWN_BY:
            lines.append(f"| **{goal}** | **{meaning}** | | |\n")
            lines += [f"| | {e.what} | {e.held} of {e.of} | {e.figures} |\n" for e in own]
        if not own and goal in SHOWN_BY:
            lines.append(f"| | with every run of the tests | | {_tests(SHOWN_BY[goal])} |\n")
    lines.append(_RUNS)
    lines += [f"| {e.trial} | {e.share} | {e.commit} | {e.day} | {e.load} |\n" for e in records]
    return "".join((*lines, *catalogues()))


def catalogues() -> Iterable[str]:
    """Yield the part of the page that no run changes."""
    yield _CATALOGUE
    yield from _rows(CATALOGUE)
    yield _ATTACKS
    yield from _rows(ATTACKS)


def _rows(rows: Sequence[Row]) -> Iterable[str]:
    for number, row in enumerate(rows, 1):
        yield f"| {number} | {row.failure} | {row.behaviour} | {_tests(row.shown_by)} |\n"


def _tests(shown_by: Sequence[str]) -> str:
    shown = (f"tests/{each}" if "::" in each else each for each in shown_by)
    return ", ".join(f"`{each}`" for each in shown)
