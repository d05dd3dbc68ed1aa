"""What a regulator asks of an air sensor: a number at the limit value, and targets met or missed.

``regulators`` has the rules as tables: for the EU the limit values, the data quality objectives of
the directives and the classes of CEN/TS 17660; for the EPA its performance targets. A pair counts
in the average of its hour or day (``period_averages``). ``moment_figures`` makes everything of five
means over these averages: the orthogonal regression of the "Guide to the demonstration of
equivalence of ambient air monitoring methods" (2010) with the expanded uncertainty at the limit
value, and the EPA's R2, slope, intercept, RMSE and NRMSE; ``jackknife`` gives them intervals.
``assessment`` puts each figure beside its target; ``several_units`` compares sensors that stood
beside one another. ``recorded_targets`` and ``command`` do it for files and reports,
``live_targets`` for each series of a daemon (``scoring.targets``).

Invariants: a figure is a function of the pairs that a series' other statistics are from, so a file
of these pairs has the same; a target counts as met or missed only if the whole interval says so;
no number of a regulator stands anywhere but in ``regulators``.

Considered and rejected: percentiles of a block bootstrap. 1000 replicates of 500 averages take 4 to
11 ms, the jackknife 0.3 ms, and each series is computed at every publication that changes it.

What breaks first: a window that is shorter than the averages that a rule asks for.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="targets",
    summary="expanded uncertainty at a limit value, and targets, as regulators ask",
    page="beyond.md",
    settings={
        "scoring.targets": "monitor.extensions.targets.settings:RULES",
        "scoring.limit_value": "monitor.extensions.targets.settings:LIMIT_VALUE",
        "scoring.limit_u_ref": "monitor.extensions.targets.settings:LIMIT_U_REF",
    },
    commands={
        "targets": Command(
            "hold recorded pairs against what a regulator asks of an air sensor",
            "monitor.extensions.targets.command",
            "files",
        ),
    },
    plan="monitor.extensions.targets.live_targets:LiveTargets",
    members="monitor.extensions.targets.assessment:TargetMembers",
    report="monitor.extensions.targets.recorded_targets:report_sentences",
    metrics="monitor.extensions.targets.live_targets:METRICS",
)
