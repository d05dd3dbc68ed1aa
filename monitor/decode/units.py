"""Units of measurement: from the one a payload states to the one its quantity is kept in.

Rules of this file: a quantity is kept in one unit, so that a reading and a reference are never
subtracted in two. The settings name it, else the first message that states one does; that is kept
in the journal, so that a restart changes no meaning. What states another unit is converted, its
uncertainty by the factor alone, or refused with both units named.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from monitor.decode.checks import UNIT_CHARACTERS_MAX, Rejected

if TYPE_CHECKING:
    from pint import UnitRegistry

# m3 is written for m^3 everywhere but in unit libraries; there are two letters mu.
_POWER: Final = re.compile(r"(?<=[A-Za-zµ\u03bc])(-?\d)")
# What may be handed to a parser of expressions: no towers of powers, nothing long.
_PLAIN: Final = re.compile(
    r"\A(?:[A-Za-zµ\u03bcΩ°%_]+(?:\^?-?\d)?|1)"
    r"(?:[ */·](?:[A-Za-zµ\u03bcΩ°%_]+(?:\^?-?\d)?)){0,7}\Z"
)
_QUANTITIES_MAX: Final = 1000


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
        if len(unit) > UNIT_CHARACTERS_MAX or _PLAIN.match(unit) is None:
            raise Rejected("unit", _not_understood(unit, stated, wanted), field="unit")
    import pint  # noqa: PLC0415 - it takes longer to import than most programs run

    try:
        registry = _registry()
        unit, target = _POWER.sub(r"^\1", stated), _POWER.sub(r"^\1", wanted)
        zero = registry.Quantity(0.0, unit).to(target).magnitude
        one = registry.Quantity(1.0, unit).to(target).magnitude
    except pint.DimensionalityError as error:
        what = f"{stated!r} cannot be converted to {wanted!r}: {error}"
        raise Rejected("unit", what, field="unit") from error
    except Exception as error:  # pint's parser lets many kinds of error through
        what = _not_understood(stated, stated, wanted)
        raise Rejected("unit", what, field="unit") from error
    return Conversion(float(one - zero), float(zero))


def _not_understood(unit: str, stated: str, wanted: str) -> str:
    what = f"unit {unit[:60]!r} is not understood"
    return f"{what}; {stated[:60]!r} is not converted to {wanted[:60]!r}"


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[float]:
    import pint  # noqa: PLC0415

    return pint.UnitRegistry(autoconvert_offset_to_baseunit=True, cache_folder=None)


class Units:
    """State: the unit that each quantity is kept in.

    ``declared`` returns the one that the settings name for a quantity, "" for none. ``changed``
    counts what was learned, so that the shell knows when to dump.
    """

    def __init__(self, declared: Callable[[str], str] = lambda _quantity: "") -> None:
        self._declared: Final = declared
        self._learned: dict[str, str] = {}
        self.changed = 0

    def unit_of(self, quantity: str) -> str:
        """Return the unit that a quantity is kept in, "" while none is known."""
        return self._declared(quantity) or self._learned.get(quantity, "")

    def settled(self, quantity: str, stated: str, *, by_settings: bool) -> str:
        """Return the unit that what is stated in ``stated`` is to be kept in; raises Rejected.

        A unit that the settings of a source name is its own where it measures something else: two
        sources may call what they measure the same.
        """
        kept = self.unit_of(quantity)
        if not kept and stated and len(self._learned) >= _QUANTITIES_MAX:
            what = f"unit {stated[:60]!r}: {_QUANTITIES_MAX} quantities state theirs already"
            raise Rejected("unit", f"{what}; name it in the settings", field="unit")
        if not kept or not stated or kept == stated:
            return kept or stated
        try:
            conversion(stated, kept)
        except Rejected:
            if by_settings:
                return stated
            raise
        return kept

    def learn(self, quantity: str, unit: str) -> None:
        """Keep a quantity in ``unit`` from now on, unless it has one."""
        if unit and not self.unit_of(quantity):
            self._learned[quantity] = unit
            self.changed += 1

    def dump(self) -> bytes:
        """Return what was learned, for :meth:`load`."""
        return msgspec.msgpack.encode(self._learned)

    def load(self, dumped: bytes) -> None:
        """Know what was dumped, and nothing else; raises ValueError for other bytes."""
        self._learned = msgspec.msgpack.decode(dumped, type=dict[str, str])
