"""Stand-in until the registry of statistics is here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Float


def live(columns: Columns, densities: Sequence[str]) -> dict[str, Float]:
    """Return a few statistics."""
    del densities
    return {
        "calibration_bias": columns.mean(columns.error),
        "calibration_zms": columns.mean(np.square(columns.z)),
    }
