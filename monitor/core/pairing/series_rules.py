"""The settings that the core needs to know, as plain values."""

from __future__ import annotations

from typing import Literal, NamedTuple

from monitor.core.pairing.pairing_rules import Rules


class SeriesRules(NamedTuple):
    """The settings that hold for one series."""

    group: str = ""
    unit: str = ""
    density: Literal["auto", "normal", "tophat"] = "auto"
    level: float = 0.9
    profile: Literal["accuracy", "coverage", "balanced"] = "balanced"
    window_pairs: int = 500
    window_seconds: float = float("inf")
    patience: float = 1000.0
    stale_after_seconds: float = 3600.0
    reference_stale_seconds: float = 86_400.0
    rejected_share: float = 0.05
    pairing: Rules = Rules()
