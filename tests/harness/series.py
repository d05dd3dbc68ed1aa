"""Small sets of pairs that the tests of the statistics are run on."""

from __future__ import annotations

import numpy as np

from monitor.core.columns import Columns, columns


def pairs(
    value, reference, u=None, lower=None, upper=None, *, p=None, u_ref=0.0, starts=(0,), level=0.9
):
    """Return columns of series that begin at ``starts``; what is not given is not stated."""
    value = np.asarray(value, dtype=float)

    def filled(rows, missing=np.nan):
        rows = missing if rows is None else rows
        return np.broadcast_to(np.asarray(rows, dtype=float), value.shape).copy()

    return columns(
        np.asarray(starts),
        time=np.arange(value.size, dtype=float),
        value=value,
        reference=filled(reference),
        u=filled(u),
        lower=filled(lower),
        upper=filled(upper),
        p=filled(p),
        u_ref=filled(u_ref),
        level=level,
    )


def drawn(
    seed=0, counts=(200,), *, spread=0.4, heavy=False, skewed=False, u_ref=0.0, dependent=0.0
) -> Columns:
    """Return honest series of random pairs; ``skewed`` ones state an interval off its middle."""
    random = np.random.default_rng(seed)
    n = int(np.sum(counts))
    u = np.exp(random.normal(0.0, spread, n))
    noise = random.standard_t(4, n) / np.sqrt(2.0) if heavy else random.normal(size=n)
    for i in range(1, n if dependent else 0):
        noise[i] = dependent * noise[i - 1] + np.sqrt(1.0 - dependent**2) * noise[i]
    value = random.normal(0.0, 10.0, n)
    reference = value + np.hypot(u, u_ref) * noise
    starts = np.cumsum([0, *counts[:-1]])
    if not skewed:
        return pairs(value, reference, u, u_ref=u_ref, starts=starts)
    sides = random.uniform(0.5, 2.5, (2, n))
    return pairs(
        value,
        reference,
        None,
        value - sides[0] * u,
        value + sides[1] * u,
        u_ref=u_ref,
        starts=starts,
    )
