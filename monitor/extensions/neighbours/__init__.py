"""Judging between references: what the neighbours of a sensor say of it.

A network has one station and a reference a month; its sensors send every minute. Other sensors of
the group, or within a distance, are weak references: biased, and noisy by the air between them.
``weak_references`` learns how a sensor reads beside the median of its corrected neighbours on days
near references, and says who differs from that since by more than means over days to weeks differ
in the whole fleet. ``neighbourhoods`` says who neighbours whom, ``day_blocks`` keeps hours and days
instead of readings, ``live_neighbours`` is the daemon's part, ``command`` the same for a file.

Invariants: an opinion follows from closed days, pairs and who is suspected; it never changes a
verdict that pairs made, and pages nobody. Notes in the journal hold blocks, and readings that came
after the last note are added again from what the journal holds of them, so a crash loses none.

Tried and rejected (simulated towns, ``benchmarks/neighbours.py``): ranks of daily differences among
those of other days (40 % of honest sensors: days are not exchangeable); the same of differences
whitened by an AR(1) (no false claims, and a drift takes half a year: whitening eats it); a baseline
that follows each reference (a slow drift hides in it).

What breaks first: a fleet in which a third errs alike; its median errs with it.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="neighbours",
    summary="what its neighbours say of a sensor between references",
    page="beyond.md",
    settings={"neighbours": "monitor.extensions.neighbours.settings:SECTION"},
    contradictions="monitor.extensions.neighbours.settings:contradictions",
    commands={
        "neighbours": Command(
            "say which sensors left their neighbours since their last reference",
            "monitor.extensions.neighbours.command",
            "files",
        ),
    },
    listener="monitor.extensions.neighbours.live_neighbours:neighbours_listener",
    members="monitor.extensions.neighbours.fleet_opinions:NeighbourMembers",
    metrics="monitor.extensions.neighbours.live_neighbours:METRICS",
    families="monitor.extensions.neighbours.live_neighbours:EVERY_FAMILY",
)
