"""Units of measurement: from the one a payload states to the one a series is kept in."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from monitor.decode.checks import Rejected

if TYPE_CHECKING:
    from pint import UnitRegistry

# m3 is written for m^3 everywhere but in unit libraries; there are two letters mu.
_POWER: Final = re.compile(r"(?<=[A-Za-zµ\u03bc])(-?\d)")
# What may be handed to a parser of expressions: no towers of powers, nothing long.
_PLAIN: Final = re.compile(
    r"\A(?:[A-Za-zµ\u03bcΩ°%_]+(?:\^?-?\d)?|1)"
    r"(?:[ */·](?:[A-Za-zµ\u03bcΩ°%_]+(?:\^?-?\d)?)){0,7}\Z"
)


class Conversion(NamedTuple):
    """new = scale * old + offset; an uncertainty only scales."""

    scale: float = 1.0
    offset: float = 0.0


@lru_cache(maxsize=1024)
def conversion(stated: str, wanted: str) -> Conversion:
    """Return how to convert; raises Rejected where the units measure different things."""
    if stated == wanted or not stated or not wanted:
        return Conversion()
    for unit in (stated, wanted):
        if len(unit) > 60 or _PLAIN.match(unit) is None:
            raise Rejected("unit", f"unit {unit[:60]!r} is not understood")
    import pint  # noqa: PLC0415 - it takes longer to import than most programs run

    try:
        registry = _registry()
        unit, target = _POWER.sub(r"^\1", stated), _POWER.sub(r"^\1", wanted)
        zero = registry.Quantity(0.0, unit).to(target).magnitude
        one = registry.Quantity(1.0, unit).to(target).magnitude
    except pint.DimensionalityError as error:
        raise Rejected("unit", f"{stated!r} cannot be converted to {wanted!r}: {error}") from error
    except Exception as error:  # pint's parser lets many kinds of error through
        raise Rejected("unit", f"unit {stated[:60]!r} is not understood") from error
    return Conversion(float(one - zero), float(zero))


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[float]:
    import pint  # noqa: PLC0415

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True, cache_folder=None)
