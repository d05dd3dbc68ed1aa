"""What a decoder is told of the source a message came from."""

from __future__ import annotations

from typing import NamedTuple

from monitor.decode.mapping import Mapped
from monitor.decode.sparkplug_births import Births
from monitor.decode.specification import Kind

__all__ = ["Kind", "Route"]


class Route(NamedTuple):
    """One source of the settings: what its messages are and how they are read.

    ``mapped`` finds the observations in decoded payloads; ``births`` is what Sparkplug's births
    have said, the same object for every route of a daemon.
    """

    kind: Kind
    decoder: str
    unit: str = ""
    template: str = ""
    mapped: Mapped | None = None
    births: Births | None = None
