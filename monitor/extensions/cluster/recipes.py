"""From settings to recipes of blocks.

Rules of this file: limits of the whole become limits of a block with room to spare, since a hash
spreads sensors unevenly; the limit on new series per minute depends on the order of arrival, so a
block has none: its maximum number of series bounds the cost of invented sensors. Judgements that
need the whole fleet are not a block's: it reports what the driver needs for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from monitor.config.core_plan import plan_of, router_of, units_of
from monitor.config.loading import parse
from monitor.config.settings import Settings
from monitor.core.detector.thresholds import Threshold, over_fleet
from monitor.core.state.core_settings import CoreSettings
from monitor.core.windows.windows import spare_of
from monitor.decode.formats.sparkplug_births import Births
from monitor.decode.router import DECODERS, Router
from monitor.extensions.cluster.block import Recipe
from monitor.extensions.cluster.placing import OwnRouter, block_of, default_u_only
from monitor.extensions.cluster.settings import cluster_of

_ROOM: Final = 4  # times the mean
_SERIES_MIN: Final = 256
_PENDING_MIN: Final = 10_000
_WORST_MIN: Final = 4


def for_workers(file: Path) -> str:
    """Return a settings file as workers get it: its path, where relative ones start, and text."""
    return f"{file.absolute()}\n{file.read_text(encoding='utf-8')}"


def settings_in(text: str) -> Settings:
    """Return the settings in what :func:`for_workers` made, which was checked on the driver."""
    file, _, content = text.partition("\n")
    return parse(content.encode(), file)


def recipe_of(settings: Settings) -> Recipe:
    """Return how blocks are made; raises SettingsError if a file named by the settings is bad.

    Each block decodes for itself: it knows the units of its own quantities. Births (Sparkplug) go
    to every block, and each takes those of its own sensors.
    """
    blocks = cluster_of(settings).blocks
    has_births = any(DECODERS[source.decoder].has_births for source in settings.sources)

    def router(births: Births, number: int | None) -> Router:
        made: Callable[..., Router] = Router
        if number is not None and has_births:
            made = partial(OwnRouter, lambda sensor: block_of(sensor, blocks) == number)
        return router_of(
            settings, births, units_of(settings), supplements=default_u_only(settings), make=made
        )

    plan = plan_of(settings)
    thresholds, longest = plan.thresholds, plan.window_pairs_max
    first_pairs = (each.baseline_pairs for each in thresholds if each.against == "baseline")
    # Enough to fill the longest window and its spare again, whatever is dropped.
    window = longest + spare_of(longest) + 1
    return Recipe(
        block_plan(settings),
        router,
        max(cluster_of(settings).history_pairs, window, *first_pairs),
        frozenset(area.subject for area in settings.areas),
        tuple(sorted({each.statistic for each in over_fleet(thresholds)})),
    )


def block_plan(settings: Settings) -> CoreSettings:
    """Return the plan of one block of sensors."""
    plan, blocks = plan_of(settings), cluster_of(settings).blocks
    series = block_share(plan.limits.maximum, blocks, _SERIES_MIN)
    return plan._replace(
        limits=plan.limits._replace(maximum=series, new_per_minute=series),
        thresholds=tuple(_within(each) for each in plan.thresholds),
        max_pending=block_share(plan.max_pending, blocks, _PENDING_MIN),
    )


def _within(threshold: Threshold) -> Threshold:
    """Return a threshold as a block judges it: for no series, if it needs the whole fleet."""
    return threshold._replace(sensors=()) if over_fleet([threshold]) else threshold


def worst_of_a_block(settings: Settings) -> int:
    """Return how many calm series a block reports to the driver, which shows the worst of all."""
    return block_share(cluster_of(settings).job.worst, cluster_of(settings).blocks, _WORST_MIN)


def block_share(whole: int, blocks: int, least: int) -> int:
    """Return the share of a limit that one block may use."""
    return min(whole, max(least, math.ceil(_ROOM * whole / blocks)))
