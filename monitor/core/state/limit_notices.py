"""What is said of limits that keep sensors without a series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from monitor.core.state.network import Network


def limit_notices(network: Network, rejected: Mapping[str, int]) -> Iterator[str]:
    """Yield a sentence for each limit that keeps sensors without a series."""
    limits = network.settings.limits
    if waiting := len(network.waiting.by_series):
        yield (
            f"{waiting} new series wait, as series.max_new_per_minute is {limits.new_per_minute}: "
            "their readings are in the journal, and pair once they begin"
        )
    if is_refusing(network, rejected):
        yield (
            f"series.max is reached ({limits.maximum}): readings of further sensors are rejected, "
            "so their references find no reading; raise series.max, or name the sensors in "
            "series.allow"
        )


def is_refusing(network: Network, rejected: Mapping[str, int]) -> bool:
    """Return whether ``series.max`` keeps sensors out."""
    return network.registry.is_full and rejected["series_limit"] > 0
