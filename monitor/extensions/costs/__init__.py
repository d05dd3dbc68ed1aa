"""What stated intervals cost by the user's own weight of their width, live (C-12, C-13).

``live_costs`` has the key ``scoring.cost_weight`` and keeps the costs of the series that have one.
The costs are the house's (:func:`monitor.core.scores.characteristics.costs_with`), as ``monitor
score --cost`` prints them.

Invariants: a cost is a function of the pairs that a series' other statistics are from and of its
weight, so a file of these pairs has the same; a series without a weight costs nothing.

What breaks first: weights of which nobody remembers what they mean; c = alpha/(1 + alpha) is the
interval score.
"""

from __future__ import annotations

from typing import Final

from monitor.extensions import Extension

EXTENSION: Final = Extension(
    name="costs",
    summary="what intervals cost by a weight of your own, live",
    page="data.md",
    settings={"scoring.cost_weight": "monitor.extensions.costs.live_costs:SETTING"},
    plan="monitor.extensions.costs.live_costs:LiveCosts",
    members="monitor.extensions.costs.live_costs:CostMembers",
    metrics="monitor.extensions.costs.live_costs:METRICS",
)
