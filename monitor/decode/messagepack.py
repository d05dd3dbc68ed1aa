"""MessagePack: one map, an array of maps (``each: $``), or columns (``columnar: $``)."""

from __future__ import annotations

from typing import Final

import msgspec

from monitor.decode.checks import Rejected
from monitor.decode.reading import of_one

_msgpack: Final = msgspec.msgpack.Decoder().decode


def parse(payload: bytes) -> object:
    """Return the MessagePack value in ``payload``; raises Rejected."""
    try:
        return _msgpack(payload)
    except (ValueError, RecursionError, TypeError) as error:  # TypeError: a map as a map's key
        raise Rejected("bad_payload", f"not MessagePack: {error}") from error


decode: Final = of_one(parse)
