"""What a state means, in one plain sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from monitor.core.judgements import Judgement
from monitor.core.model import Float

U_REF_RATIO_MAX: Final = 1.0 / 3.0


def sentence(
    state: str, judgement: Judgement | None, pairs: int, numbers: Mapping[str, float]
) -> str:
    """Return what is known of one series; ``numbers`` are its published statistics."""
    if state == "stale":
        return "no readings any more"
    told = _told(state, judgement, pairs)
    blurred = numbers.get("calibration_u_ref_ratio", 0.0)
    if blurred > U_REF_RATIO_MAX:
        return f"{told} (seen through a reference {blurred:.2g} times as uncertain as itself)"
    return told


def _told(state: str, judgement: Judgement | None, pairs: int) -> str:
    if state == "unknown" or (judgement is None and state != "ok"):
        return f"not clear yet ({pairs} pairs)"
    if state == "firing" and judgement is not None:
        return judgement.sentence
    if state == "pending" and judgement is not None:
        return f"something may be wrong, not sure yet: {judgement.sentence}"
    return "as right as it says"


def column(statistics: Mapping[str, Float], row: int) -> dict[str, float]:
    """Return one series' numbers out of the columns."""
    return {name: float(values[row]) for name, values in statistics.items()}
