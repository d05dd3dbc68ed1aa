"""The messages of three trades, worded as their own systems do: recordings with a known truth.

Rules of this package: pure functions of a numpy Generator; one file per trade, one line in
``TRADES``; messages are in the order of arrival. configs/NAME.yaml reads each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from monitor.simulate.playback import Recording
from monitor.simulate.trades.air import air
from monitor.simulate.trades.process import process
from monitor.simulate.trades.weighing import weighing

TRADES: Final[Mapping[str, Callable[[np.random.Generator], Recording]]] = {
    "weighing": weighing,
    "air": air,
    "process": process,
}

__all__ = ["TRADES", "Recording"]
