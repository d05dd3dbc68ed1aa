"""Which of many sensors to call a person for: the list with few honest sensors in it.

Rules of this file: pure functions of columns, one entry a series. A sensor's own evidence is a
warning; a page is a place on the list, which the evidence of all sensors together decides. Sources:
Wang, Ramdas, False discovery rate control with e-values (arXiv 2009.02824); Benjamini, Hochberg
1995; that no list can have both a worst-case rate and a finite time between false alarms:
Dandapanthula, Ramdas (arXiv 2501.04130).
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, doc

from monitor.core.model import Bool, Float

# Simulated: P(D > d) <= 5 / d from d = 30 on (docs/evidence/detection.md).
_TAIL: Final = 5.0
_TAIL_FROM: Final = 30.0


class FleetRules(NamedTuple):
    """When the evidence of the whole fleet is strong enough to page a person."""

    q: Annotated[
        float,
        Gt(0),
        Lt(1),
        doc("Maximum mean share of honest sensors among those listed."),
    ] = 0.1
    horizon: Annotated[
        float,
        Ge(10),
        Le(1e9),
        doc("Evidence older than this many pairs hardly counts towards the list."),
    ] = 1000.0
    fdr: Annotated[
        Literal["e-bh", "bh"],
        doc(
            "e-bh keeps the promise of q always; bh is faster, but keeps it only if sensors err "
            "independently."
        ),
    ] = "e-bh"


def call_list(
    discounted: Float, eligible: Bool, counted: Bool, rules: FleetRules, others: int = 0
) -> Bool:
    """Return which series to call a person for.

    ``discounted`` is the evidence D of each; only ``eligible`` series may be listed (the others
    count as having none). The number of series tested is that of the ``counted`` ones plus
    ``others``, which are not eligible. With ``e-bh`` the list has, at any time fixed beforehand, a
    mean share of honest sensors of at most ``q``, however the sensors depend on each other; with
    ``bh`` only if they are nearly independent and P(D > d) <= 5 / d.
    """
    own = np.where(eligible & counted, discounted, 0.0)
    total = int(counted.sum()) + others
    chosen = _by_e_values(own / rules.horizon, total, rules.q)
    if rules.fdr == "bh":
        p = np.where(own > _TAIL_FROM, _TAIL / np.maximum(own, _TAIL), 1.0)
        chosen = _by_p_values(p, total, rules.q)
    return chosen & eligible & counted


def _by_e_values(e: Float, total: int, q: float) -> Bool:
    """Return the k largest for the greatest k with the k-th largest >= total / (q k)."""
    # A smaller value could not pass even as the last of all.
    descending = np.sort(e[e >= total / (q * max(e.size, 1))])[::-1]
    ranks = np.arange(1, descending.size + 1)
    passed = np.flatnonzero(descending >= total / (q * ranks))
    return e >= descending[passed[-1]] if passed.size else np.zeros(e.size, np.bool_)


def _by_p_values(p: Float, total: int, q: float) -> Bool:
    """Return the k smallest for the greatest k with the k-th smallest <= q k / total."""
    ascending = np.sort(p)
    ranks = np.arange(1, p.size + 1)
    passed = np.flatnonzero(ascending <= q * ranks / max(total, 1))
    return p <= ascending[passed[-1]] if passed.size else np.zeros(p.size, np.bool_)
