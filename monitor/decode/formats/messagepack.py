"""MessagePack: one map, an array of maps (``each: $``), or columns (``columnar: $``)."""

from __future__ import annotations

from typing import Final

import msgspec

from monitor.decode.checks import Rejected
from monitor.decode.route import Call, Decoder

_msgpack: Final = msgspec.msgpack.Decoder().decode


def parse(call: Call) -> object:
    """Return the MessagePack value in a payload; raises Rejected."""
    try:
        return _msgpack(call.payload)
    except (ValueError, RecursionError, TypeError) as error:  # TypeError: a map as a map's key
        raise Rejected("bad_payload", f"not MessagePack: {error}") from error


decode: Final = Decoder(parse, many=False, help="MessagePack")
