"""Files of pairs of air sensors, made for the tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np


def file_of(
    folder: Path,
    rows: Iterable[tuple[object, ...]],
    head: str = "time,sensor,quantity,unit,value,u,reference",
) -> str:
    path = folder / "pairs.csv"
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return str(path)


def hourly(
    count: int = 200, *, unit: str = "ug/m3", quantity: str = "no2", noise: float = 10.0,
    gain: float = 1.0, offset: float = 0.0, highest: float = 300.0, seed: int = 1,
) -> list[tuple[object, ...]]:  # fmt: skip
    """Return rows of one sensor whose errors are independent."""
    random = np.random.default_rng(seed)
    x = random.uniform(highest / 60.0, highest, count)
    y = offset + gain * x + noise * random.standard_normal(count)
    return [
        (f"2026-03-{1 + at // 24:02}T{at % 24:02}:00:00Z", "n1", quantity, unit, y[at], 5, x[at])
        for at in range(count)
    ]
