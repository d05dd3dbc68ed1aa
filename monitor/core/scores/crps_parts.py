"""Mean CRPS in three parts: reliability - resolution + uncertainty (Hersbach 2000).

Rules of this file: one number a series, unit: quantity; the parts sum to the mean CRPS of what was
stated. Hersbach's bins lie between the members of an ensemble. A sensor that states value and u, or
an interval, states a whole distribution: every probability is a bin of its own, which is as wide
for a pair as its u, or its interval. So what is observed at a stated probability is the
distribution of the standardised references, each weighted by that width. Potential CRPS is what
would be left if the stated probabilities were replaced by those observed; reliability is the rest.
Uncertainty is the CRPS of a claim that is always the distribution of the window's references.

Of quantiles and ensembles a window holds the CRPS only, so that these are judged by their u.

Source: Hersbach, Weather and Forecasting 15 (2000), eq. 35 to 39.
"""

from __future__ import annotations

import numpy as np

from monitor.core.columns import Columns
from monitor.core.model import Float
from monitor.core.scores.bins import order_within
from monitor.core.scores.proper_scores import crps_normal, crps_tophat


def _spread(c: Columns, rows: Float, weights: Float) -> Float:
    """Return the integral of F (1 - F), F the weighted distribution of ``rows`` of each series."""
    order = order_within(c, rows)
    gaps = np.diff(rows[order], append=0.0)
    gaps[c.starts + c.counts - 1] = 0.0
    grid = c.grid(weights[order], 0.0)
    # Sums from both ends: the little that is left beyond nearly all of the weight may be far.
    below, from_here = np.cumsum(grid, axis=1), np.cumsum(grid[:, ::-1], axis=1)[:, ::-1]
    beside = below * np.append(from_here[:, 1:], np.zeros((c.starts.size, 1)), axis=1)
    flat = beside.reshape(-1) if c.equal_counts else beside.reshape(-1)[c.cells]
    return c.sum(gaps * flat) / np.square(below[:, -1])


def _potential_normal(c: Columns) -> Float:
    return c.mean(c.u) * _spread(c, -c.error / c.u, c.u)


def _potential_tophat(c: Columns) -> Float:
    return c.mean(c.width) * _spread(c, (c.reference - c.lower) / c.width, c.width)


def uncertainty(c: Columns) -> Float:
    """CRPS of the references' own distribution, half their mean distance; resolution's limit."""
    return _spread(c, c.reference, np.ones_like(c.reference))


def reliability_normal(c: Columns) -> Float:
    """Part of the CRPS of N(value, u) that other stated probabilities would save; 0 when right."""
    return np.maximum(c.mean(c.once(crps_normal)) - c.once(_potential_normal), 0.0)


def reliability_tophat(c: Columns) -> Float:
    """Part of the CRPS of the top hat that other stated probabilities would save."""
    return np.maximum(c.mean(c.once(crps_tophat)) - c.once(_potential_tophat), 0.0)


def resolution_normal(c: Columns) -> Float:
    """What readings with their u tell of the references beyond the distribution of these."""
    return c.once(uncertainty) - c.once(_potential_normal)


def resolution_tophat(c: Columns) -> Float:
    """What stated intervals tell of the references beyond the distribution of these."""
    return c.once(uncertainty) - c.once(_potential_tophat)
