"""Simulated sensors for the tests of verdicts: honest pairs, and faults with their truth."""

from __future__ import annotations

import numpy as np

from monitor.core.verdict import Pairs, Verdict, judge_whole

HOUR = 3600.0
START = 1.77e9


def whole(pairs: Pairs, unit: str = "") -> Verdict:
    """Return the verdict on all pairs of one series of which no alert fires."""
    return judge_whole([pairs], unit=[unit])[0]


def sensor(
    seed,
    n=300,
    *,
    predictive=False,
    spread=3.0,
    slow=0.0,
    shape="normal",
    scale=1.0,
    fault=None,
    u=2.0,
    u_ref=0.4,
):
    """Return pairs of an honest sensor about 50, then as ``fault`` (value, truth) makes them.

    ``scale`` multiplies its errors beyond what it states, one number or one a pair.
    """
    random = np.random.default_rng(seed)
    carrier = 50.0 + u * spread * autoregressive(random.standard_normal(n), slow)
    noise = random.standard_t(4, n) / np.sqrt(2.0) if shape == "t4" else random.standard_normal(n)
    noise = autoregressive(noise, 0.5 if shape == "AR" else 0.0)
    stated = u * np.exp(random.normal(0.0, 0.2, n))
    error = scale * stated * noise
    truth = carrier - error if predictive else carrier
    value = truth + error
    if fault is not None:
        value = fault(value, truth, random)
    return Pairs(
        time=START + HOUR * np.arange(n),
        value=value,
        u=stated,
        reference=truth + u_ref * random.standard_normal(n),
        u_ref=np.full(n, u_ref),
    )


def autoregressive(rows, rho):
    """Return rows of the same spread with lag-1 correlation ``rho``."""
    rows = rows.copy()
    for i in range(1, rows.size if rho else 0):
        rows[i] = rho * rows[i - 1] + np.sqrt(1.0 - rho * rho) * rows[i]
    return rows


def since(onset, change):
    """Return a fault that lets ``change`` (value, pairs since) alter pairs from onset on."""

    def fault(value, truth, _):
        after = value.copy()
        late = np.arange(value.size - onset)
        after[onset:] = change(value[onset:], late)
        return after

    return fault


def widened(n, onset, factor):
    """Return the scale of errors that are ``factor`` times as large from ``onset`` on."""
    return np.where(np.arange(n) < onset, 1.0, factor)
