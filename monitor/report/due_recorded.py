"""Who needs a reference next, from recorded pairs: the daemon's network at one moment."""

from __future__ import annotations

from monitor.core.snapshot.snapshot import Snapshot
from monitor.report.recorded import InMemoryNetwork, Recorded

_WINDOW = 500


def due_snapshot(recorded: Recorded, now: float | None = None) -> Snapshot:
    """Return what a daemon with these pairs would publish at ``now`` (s UTC), else after the last.

    The rules of the series must ask for due dates.
    """
    rules = dict(
        zip(((each.sensor, each.quantity) for each in recorded.names), recorded.rules, strict=True)
    )
    memory = InMemoryNetwork(lambda sensor, quantity: rules[sensor, quantity], _WINDOW)
    for name in recorded.names:
        memory.network.registry.add(name.sensor, name.quantity)
    memory.apply(recorded.pairs)
    last = float(recorded.pairs["time"].max())
    return memory.network.evaluate(last if now is None else now)
