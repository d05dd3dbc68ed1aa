"""What would have been with other settings or other readings: a journal, replayed beside itself.

``other_settings`` reads the settings to try, and those that the journal's daemon ran with, which it
keeps as a note. ``replay`` starts a daemon's core on a copy of the journal, as a start does:
pairs are made again where the journal holds what made them, and the alerts of all pairs are raised
again in event order. ``comparison`` puts two replays side by side.

Invariants: the journal is only read, and a running daemon does not notice; a replay shows what
``monitor run`` with these settings would show on this journal, bit for bit, so one with unchanged
settings shows what is there already.

What breaks first: the disk, which needs room for a copy of the journal.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="what_if",
    summary="what other settings or readings would have changed, from the journal",
    page="beyond.md",
    commands={
        "what-if": Command(
            "replay a daemon's journal with other settings, beside what was",
            "monitor.extensions.what_if.command",
            "every day",
        ),
    },
)
