"""Readings with a verdict's remedy applied, and intervals around them that hold their level.

Two rules follow the pairs of a series in event order (:mod:`.corrected`). One decides which remedy
applies: the verdict's remedy while an alert fires, until the alert ends or corrected readings are
further off than uncorrected ones. The other moves the width of the interval after each pair, so
that it contains the reference as often as it says, whatever the errors do. A pair is corrected from
the pairs before it, never from itself.

Advice that somebody accepts (:mod:`.acceptances`) is applied until the sensor's next event, whether
or not an alert fires, unless it no longer helps. Nothing is ever accepted by itself.

What breaks first: a jump larger than seven of the widths before it, which takes some thirty pairs.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="corrected",
    summary="readings corrected as their verdict advises, with intervals that hold their level",
    page="beyond.md",
    settings={"correct": "monitor.extensions.corrected.settings:SECTION"},
    contradictions="monitor.extensions.corrected.settings:contradictions",
    commands={
        "correct": Command(
            "correct recorded readings as a daemon would have done, with valid intervals",
            "monitor.extensions.corrected.command",
            "files",
        ),
        "accept": Command(
            "accept the advice on a sensor: its correction lasts, and a new epoch begins",
            "monitor.extensions.corrected.accept_command",
            "every day",
        ),
    },
    listener="monitor.extensions.corrected.corrector:corrected_listener",
    members="monitor.extensions.corrected.acceptances:CorrectedMembers",
    metrics="monitor.extensions.corrected.live_corrections:METRICS",
    families="monitor.extensions.corrected.corrected_readings:EVERY_FAMILY",
)
