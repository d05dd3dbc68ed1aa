"""Whose uncertainty is wrong: the variance of differences, split among sensors and reference.

Three or more views of the same events (sensors, and the reference) tell whose uncertainty is too
small: the variances of their pairwise differences are sums of the views' own.
``uncertainty_budget`` solves for them (docs/beyond.md); ``documents`` words the result, ``pages``
serve it, ``command`` prints it for a file.

A daemon serves the page only with ``budget: {page: true}``.

What breaks first: fewer than three views of common events. A sentence says so.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Command, Extension

EXTENSION: Final = Extension(
    name="budget",
    summary="whose uncertainty is wrong",
    page="beyond.md",
    settings={"budget": "monitor.extensions.budget.settings:SECTION"},
    commands={
        "budget": Command(
            "split the variance of differences among sensors and reference",
            "monitor.extensions.budget.command",
            "files",
        ),
    },
    routes="monitor.extensions.budget.pages:budget_routes",
    has_pages="monitor.extensions.budget.settings:has_pages",
    menu=(("/budget", "Budget"),),
)
