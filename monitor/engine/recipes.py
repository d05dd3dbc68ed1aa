"""Settings become recipes of blocks.

Rules of this file: limits of the whole become limits of a block with room to spare, since a hash
spreads sensors unevenly; the limit on new series a minute hangs on the order of arrival, so a block
has none: its greatest number of series bounds what invented sensors cost.
"""

from __future__ import annotations

import math
from typing import Final

from monitor.assembly import plan_of, router_of
from monitor.config import Settings
from monitor.core.network import Plan
from monitor.decode import Router
from monitor.decode.sparkplug_births import Births
from monitor.engine.block import Recipe
from monitor.engine.placing import OwnRouter, block_of

_ROOM: Final = 4  # times the mean
_SERIES_MIN: Final = 256
_PENDING_MIN: Final = 10_000


def recipe_of(settings: Settings) -> Recipe:
    """Return how blocks are made; raises SettingsError where a file named by the settings is bad.

    Blocks share one decoder, unless a source has births in each (Sparkplug): these go to every
    block, and each takes what they say of its own sensors.
    """
    blocks = settings.cluster.blocks
    has_births = any(source.decoder == "sparkplug" for source in settings.sources)
    shared = router_of(settings)

    def router(births: Births, number: int | None) -> Router:
        made = router_of(settings, births) if has_births else shared
        if number is None or not has_births:
            return made
        return OwnRouter(made, lambda sensor: block_of(sensor, blocks) == number)

    return Recipe(block_plan(settings), router, settings.cluster.history_pairs)


def block_plan(settings: Settings) -> Plan:
    """Return the plan of one block of sensors."""
    plan, blocks = plan_of(settings), settings.cluster.blocks
    series = share(plan.limits.maximum, blocks, _SERIES_MIN)
    return plan._replace(
        limits=plan.limits._replace(maximum=series, new_per_minute=series),
        max_pending=share(plan.max_pending, blocks, _PENDING_MIN),
    )


def share(whole: int, blocks: int, least: int) -> int:
    """Return how much of a limit one block may use."""
    return min(whole, max(least, math.ceil(_ROOM * whole / blocks)))
