"""Units of measurement: from the one that a payload states to the one of its series.

Rules of this file: a series and its references are kept in one unit, so that no subtraction mixes
two. The settings name it, else the first message that states one does; that unit is kept in the
journal, so that a restart changes no meaning. A value in another unit is converted, its uncertainty
by the factor alone, or refused with both units named. Where a reference may concern sensors of
other names, all series of a quantity share its unit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import msgspec

from monitor.decode.checks import UNIT_CHARACTERS_MAX, Rejected
from monitor.decode.unit_spellings import DEFINITIONS, hint, readings, unclear

if TYPE_CHECKING:
    from pint import UnitRegistry

_AFFINE: Final = 1e-9  # of the numbers converted, how far a third may be off the line of two
_UNITS_MAX: Final = 20_000

Key = tuple[str, str]  # a name and a quantity


class Conversion(NamedTuple):
    """new = scale * old + offset; an uncertainty only scales."""

    scale: float = 1.0
    offset: float = 0.0


@lru_cache(maxsize=1024)
def conversion(stated: str, wanted: str) -> Conversion:
    """Return how to convert; raises Rejected where the units measure different things."""
    if stated == wanted or not stated or not wanted:
        return Conversion()
    long = max(stated, wanted, key=len)
    is_short = len(long) <= UNIT_CHARACTERS_MAX  # nothing longer is kept
    outcome = _outcome(stated, wanted) if is_short else _not_read(long, stated, wanted)
    if isinstance(outcome, str):
        raise Rejected("unit", outcome, field="unit")
    return outcome


@lru_cache(maxsize=1024)
def _outcome(stated: str, wanted: str) -> Conversion | str:
    """Return how to convert, or why not: a sensor may send the same wrong unit all day."""
    if readings(stated)[:1] == readings(wanted)[:1] != ():
        return Conversion()
    units, targets = (list(filter(_is_known, readings(each))) for each in (stated, wanted))
    for each, meant in ((stated, units), (wanted, targets)):
        if not meant:
            return _not_read(each, stated, wanted)
    import pint  # noqa: PLC0415 - it takes longer to import than most programs run

    apart = ""
    # One of the two is what it says first: G to T is no gram to a tonne.
    likely = [(each, targets[0]) for each in units] + [(units[0], each) for each in targets[1:]]
    for unit, target in likely:
        try:
            return _converted(unit, target)
        except pint.DimensionalityError as error:
            hints = (f"{each!r} {hint(each)}" for each in (stated, wanted) if hint(each))
            why = next(hints, str(error))
            apart = apart or f"{stated!r} cannot be converted to {wanted!r}: {why}"
        except Exception:  # noqa: BLE001 - pint raises many kinds of errors
            return _not_affine(stated, wanted)
    return apart


def _converted(unit: str, target: str) -> Conversion:
    """Return how the parser converts; raises ValueError where it is no line, and pint's errors."""
    quantity = _registry().Quantity
    zero, one, two = (
        float(quantity(number, unit).to(target).magnitude) for number in (0.0, 1.0, 2.0)
    )
    if not abs(two - 2.0 * one + zero) <= _AFFINE * (abs(two) + abs(one) + abs(zero)):
        raise ValueError(f"{unit} to {target} is no line")
    return Conversion(one - zero, zero)


def _not_affine(stated: str, wanted: str) -> str:
    detail = f"{stated!r} is not converted to {wanted!r}: it takes more than a factor and an offset"
    return f"{detail}, as between a level in decibels and a power; send the unit of the series"


def is_same_unit(one: str, other: str) -> bool:
    """Return whether two units are one, however they are spelled; one not stated is any."""
    try:
        return conversion(one, other) == Conversion()
    except Rejected:
        return False


def converts(stated: str, wanted: str) -> bool:
    """Return whether values in one unit can be kept in another."""
    try:
        conversion(stated, wanted)
    except Rejected:
        return False
    return True


def components(unit: str) -> tuple[tuple[str, int], ...]:
    """Return the factors of a unit: their English names, with prefix, and their powers.

    Raises Rejected for a unit that is not understood.
    """
    for each in readings(unit):
        if (factors := _parsed(each)) is not None:
            return factors
    raise Rejected("unit", _not_understood(unit), field="unit")


@lru_cache(maxsize=4096)
def _parsed(unit: str) -> tuple[tuple[str, int], ...] | None:
    """Return the factors of a unit as the parser writes it, None where it knows no such unit."""
    try:
        items = _registry().Quantity(1.0, unit).unit_items()
        return tuple((name, round(cast("float", power))) for name, power in items)
    except Exception:  # noqa: BLE001 - pint's parser raises many kinds of errors
        return None


def _is_known(unit: str) -> bool:
    return _parsed(unit) is not None


def is_understood(unit: str) -> bool:
    """Return whether a unit is one, as devices write it."""
    return len(unit) <= UNIT_CHARACTERS_MAX and any(map(_is_known, readings(unit)))


def _not_read(unit: str, stated: str, wanted: str) -> str:
    detail = f"{stated[:60]!r} is not converted to {wanted[:60]!r}"
    return f"{_not_understood(unit)}; {detail}"


def _not_understood(unit: str) -> str:
    return f"unit {unit[:60]!r} {unclear(unit) or hint(unit) or 'is not understood'}"


@lru_cache(maxsize=1)
def _registry() -> UnitRegistry[float]:
    import pint  # noqa: PLC0415

    registry: UnitRegistry[float] = pint.UnitRegistry(
        autoconvert_offset_to_baseunit=True, cache_folder=None
    )
    for each in DEFINITIONS:
        registry.define(each)
    return registry


class Units:
    """State: the unit in which each series and its references are kept.

    ``declared`` returns the unit that the settings name for a quantity, "" for none. With
    ``is_shared`` all names of a quantity are kept in one unit, else each name (of a sensor, or of a
    reference's subject) in its own. ``changed`` counts the units learned, so that the shell knows
    when to dump.
    """

    def __init__(
        self, declared: Callable[[str], str] = lambda _quantity: "", *, is_shared: bool = False
    ) -> None:
        self._declared: Final = declared
        self._is_shared: Final = is_shared
        self._learned: dict[Key, str] = {}
        self._news: Final[list[Key]] = []

    def unit_of(self, name: str, quantity: str) -> str:
        """Return the unit in which a quantity of a name is kept, "" while none is known."""
        return self._declared(quantity) or self._learned.get(self.key(name, quantity), "")

    def key(self, name: str, quantity: str) -> Key:
        """Return the key that all series sharing a unit have in common."""
        return ("" if self._is_shared else name, quantity)

    @property
    def changed(self) -> int:
        """The number of units learned from messages."""
        return len(self._news)

    def learned_since(self, changed: int) -> list[Key]:
        """Return the keys whose unit was learned since ``changed`` had this value."""
        return self._news[changed:]

    def settled(self, name: str, quantity: str, stated: str) -> str:
        """Return the unit in which a value stated in ``stated`` is to be kept; raises Rejected.

        Whoever stated it, the message or the settings of its source: what does not convert is
        refused, since a reference of another sort may never be subtracted.
        """
        unit = self.unit_of(name, quantity)
        if not unit and stated and len(self._learned) >= _UNITS_MAX:
            detail = f"unit {stated[:60]!r}: {_UNITS_MAX} series have stated theirs already"
            raise Rejected("unit", f"{detail}; name it in the settings", field="unit")
        if not unit or not stated or unit == stated:
            return unit or stated
        conversion(stated, unit)
        return unit

    def learn(self, name: str, quantity: str, unit: str) -> None:
        """Keep a quantity of a name in ``unit`` from now on, unless it has one."""
        if unit and not self.unit_of(name, quantity):
            key = self.key(name, quantity)
            self._learned[key] = unit
            self._news.append(key)

    def dump(self) -> bytes:
        """Return what was learned, for :meth:`load`."""
        return msgspec.msgpack.encode([(*key, unit) for key, unit in self._learned.items()])

    def load(self, dumped: bytes) -> None:
        """Restore what was dumped, and nothing else; raises ValueError for other bytes."""
        rows = msgspec.msgpack.decode(dumped, type=list[tuple[str, str, str]])
        self._learned = {(name, quantity): unit for name, quantity, unit in rows}
