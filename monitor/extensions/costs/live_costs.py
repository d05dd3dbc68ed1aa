"""Costs of the series whose settings weigh them, kept up to date with their windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

import numpy as np
from pydantic import Field
from typing_extensions import TypedDict

from monitor.config.kinds import setting
from monitor.core.columns import Columns
from monitor.core.diagnosis.columns_of import SeriesColumns
from monitor.core.formatting import finite
from monitor.core.model import Float, Int
from monitor.core.scores.characteristics import Costs, costs_with
from monitor.core.setting import About, Number
from monitor.core.snapshot.additions import Added, FleetFacts, OwnFindings
from monitor.core.snapshot.snapshot import Snapshot
from monitor.core.snapshot.window_results import WindowResults
from monitor.core.steps import Steps

KEY: Final = "cost_weight"  # of the settings, in scoring
SETTING: Final = (
    Annotated[float, Field(ge=0, lt=1)] | None,
    setting(
        None,
        "Weight of an interval's half-width in the cost that is yours; the distance by which it "
        "misses weighs the rest of 1. Null for no such metrics (docs/data.md).",
    ),
)

_HELPS: Final = {
    "ucc_weighted_cost": "Cost of the stated intervals with the weight `scoring.cost_weight` of "
    "their half-width, in the quantity's unit.",
    "ucc_weighted_scale_optimal": "Factor on the stated uncertainty with the least such cost.",
    "ucc_weighted_cost_optimal": "That least cost.",
}
METRICS: Final = {f"monitor_{name}": words for name, words in _HELPS.items()}
_SERIES_AT_ONCE: Final = 64


class WeighedCosts(TypedDict):
    """What the intervals of a series cost by the user's weight, in the quantity's unit."""

    c: Annotated[float, About("The weight of the half-width.")]
    cost: Annotated[Number, About("Of the intervals as stated.")]
    scale_optimal: Annotated[Number, About("The factor on stated uncertainty of least cost.")]
    cost_optimal: Annotated[Number, About("That cost.")]


class CostMembers(TypedDict, total=False):
    """The member; there with `scoring.cost_weight`."""

    costs: Annotated[WeighedCosts | None, About("Null for a series without a weight or pairs.")]


class _Findings(OwnFindings):
    def __init__(self, costs: Mapping[int, tuple[float, Costs]]) -> None:
        self._costs: Final = costs

    def document(self, now: Snapshot, row: int) -> CostMembers:
        """Return the key ``costs``, as that of ``monitor score --cost``."""
        if row not in self._costs or now.withdrawn[row]:
            return CostMembers(costs=None)
        weight, costs = self._costs[row]
        cost, scale, least = (finite(number[0]) for number in costs)
        return CostMembers(
            costs=WeighedCosts(c=weight, cost=cost, scale_optimal=scale, cost_optimal=least)
        )


class LiveCosts:
    """State: the costs of each series that has a weight."""

    name: Final = "costs"

    def __init__(self) -> None:
        self._costs: Final = WindowResults[tuple[float, Costs]]()

    def steps(
        self, changed: Int, columns_of: SeriesColumns, facts: FleetFacts, snapshot: Snapshot
    ) -> Steps[Added | None]:
        """Return the costs of all series, None if no settings weigh any."""
        asked = enumerate(each.asked(KEY) for each in facts.rules[: len(facts.names)])
        weights = {row: weight for row, weight in asked if weight is not None}
        if not weights:
            return None

        def weighed(row: int, own: Columns) -> tuple[float, Costs]:
            return weights[row], costs_with(weights[row], own)

        yield from self._costs.steps(
            weights, changed, columns_of, snapshot.window_pairs, weighed, _SERIES_AT_ONCE
        )
        return Added(_Findings(self._costs.of), self._laid_out(len(facts.names)), _HELPS)

    def _laid_out(self, count: int) -> dict[str, Float]:
        columns = {name: np.full(count, np.nan) for name in _HELPS}
        for row, (_, costs) in self._costs.of.items():
            for column, number in zip(columns.values(), costs, strict=True):
                column[row] = number[0]
        return columns
