"""The pairs of a file or a frame as checked columns: the input for scoring recorded data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from monitor.core.model import Float, Int

_NO_COVARIATES: Final[Mapping[str, Float]] = {}


class PairTable(NamedTuple):
    """The pairs of a file, in its order; arrays have one number per row.

    ``names`` and ``units`` are by series ((sensor, quantity) and unit, empty if none); ``series``
    indexes them. ``time`` is s UTC, or the row's number if the file has none (``timed``). ``u``,
    ``lower``, ``upper`` and ``p`` (1 - alpha) are NaN if not stated, ``u_ref`` and ``reference_id``
    are 0; pairs with the same reference have the same ``reference_id``. ``crps`` is that of
    quantiles or members, NaN if none are stated; ``covariates`` are the requested columns, by name.
    ``notes`` says what in the file is not used.
    """

    names: tuple[tuple[str, str], ...]
    units: tuple[str, ...]
    series: Int
    time: Float
    value: Float
    u: Float
    lower: Float
    upper: Float
    p: Float
    reference: Float
    u_ref: Float
    reference_id: npt.NDArray[np.uint64]
    crps: Float
    notes: tuple[str, ...]
    timed: bool
    covariates: Mapping[str, Float] = _NO_COVARIATES
