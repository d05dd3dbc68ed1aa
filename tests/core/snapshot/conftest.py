"""A network that weighed animals."""

from __future__ import annotations

import numpy as np
import pytest

from monitor.core.model import Reading, Reference
from monitor.core.pairing.series_rules import Rules, SeriesRules
from monitor.core.registry import Limits
from monitor.core.state.core_settings import CoreSettings
from monitor.core.state.network import Network
from monitor.journal.in_memory import InMemoryStore

U = 5.0
KEYED = SeriesRules(unit="kg", pairing=Rules("all", 3600.0))


def weighed(rules: SeriesRules) -> Network:
    """Two carts weigh thirty animals each; a third was silent. Cart b states intervals only."""
    made = Network(
        CoreSettings(lambda _s, _q: rules, match_on=frozenset({"key"}), limits=Limits(10, 1000)),
        InMemoryStore(),
    )
    chance = np.random.default_rng(1)
    observations: list = [Reading("c", "mass", 0.0, 1.0, u=1.0, key="never weighed")]
    for animal in range(30):
        truth, time = chance.normal(500.0, 50.0), 100.0 * animal
        a, b = (truth + U * chance.standard_normal(2)).tolist()
        observations += [
            Reading("a", "mass", time, a, u=U, key=f"tag {animal}"),
            Reading("b", "mass", time + 5.0, b, lower=b - 8.0, upper=b + 8.0, key=f"tag {animal}"),
            Reference("crush", "mass", time + 9.0, truth, 0.5, f"tag {animal}", f"W{animal}"),
        ]
    made.apply(made.observe(observations, 0.0).pairs)
    return made


@pytest.fixture
def network() -> Network:
    return weighed(KEYED)
