"""What a decoder is told of the source a message came from."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["reading", "reference", "event"]


class Route(NamedTuple):
    """One source of the settings: what its messages are and how they are read."""

    kind: Kind
    decoder: str
    unit: str = ""
    template: str = ""
