"""JSON of any shape, and a number or text alone (a scalar payload)."""

from __future__ import annotations

from typing import Final

import msgspec

from monitor.decode.checks import Rejected
from monitor.decode.reading import of_one

_json: Final = msgspec.json.Decoder().decode


def parse(payload: bytes) -> object:
    """Return the JSON value in ``payload``; raises Rejected."""
    try:
        return _json(payload)
    except (ValueError, RecursionError) as error:  # msgspec's own errors are ValueErrors
        raise Rejected("bad_payload", f"not JSON: {error}") from error


decode: Final = of_one(parse)
