"""Changes too late for a block: older than all pairs that it keeps of a series.

Rules of this file: pure functions. A daemon looks such pairs up in its journal; a block has only
the evidence before the first pair that it keeps, the root of its replays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np

from monitor.core.model import Bool, Records, Reference
from monitor.core.pairing.identities import reference_digest
from monitor.core.pairing.observations import Durable
from monitor.core.pairing.reference_revisions import History, names_nobody
from monitor.core.state.network import Network


def late_changes(changes: Records, network: Network) -> Bool:
    """Return which changes of pairs are too late."""
    late = np.zeros(changes.size, dtype=np.bool_)
    for row in np.unique(changes["series"]).tolist():
        late |= (changes["series"] == row) & (changes["time"] <= _root(network, row))
    return late


def late_revisions(observations: Sequence[Durable], network: Network, history: History) -> int:
    """Return how many accepted revisions are of references as old as dropped pairs."""
    return sum(
        _is_dropped(each, network, history)
        for observation in observations
        if type(observation) is Reference and (observation.revision or observation.void)
        for each in _revised(observation, history)
    )


def _revised(reference: Reference, history: History) -> Sequence[Reference]:
    """Return a revision of each reference that one revises."""
    if not names_nobody(reference):
        return [reference]
    return [
        msgspec.structs.replace(reference, subject=subject, quantity=quantity)
        for subject, quantity in history.named(reference.identity)
    ]


def _is_dropped(revision: Reference, network: Network, history: History) -> bool:
    """Whether its series have no pairs as old as a reference any more.

    A block does not know whether the reference ever made one.
    """
    keys = network.registry.keys
    own = network.registry.get(revision.subject, revision.quantity)
    rows = [own] if own is not None else range(len(keys))
    roots = [_root(network, row) for row in rows if keys[row].quantity == revision.quantity]
    is_old = revision.time <= min(roots, default=-math.inf)
    return is_old and not history.made_by(reference_digest(revision)).size


def _root(network: Network, row: int) -> float:
    """Return the event time up to which pairs of a series are dropped, -inf for none."""
    root = network.replayer.root(row)
    return -math.inf if root is None else root.time
