"""The usual metrics of a process, as prometheus_client collects them."""

from __future__ import annotations

from prometheus_client import GC_COLLECTOR, CollectorRegistry, generate_latest
from prometheus_client.process_collector import ProcessCollector


class ProcessMetrics:
    """Renders ``process_`` and, if asked for, ``python_gc_`` metrics."""

    def __init__(self, *, with_collector: bool = True) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._registry)
        if with_collector:
            self._registry.register(GC_COLLECTOR)

    def render(self) -> bytes:
        """Return them as they are now."""
        return generate_latest(self._registry)
