"""Which settings the pairs of a series follow, as marks, and u that settings assume, made again.

Rules of this file: settings with the same marks make the same pairs of the same messages. What may
come from several sources that differ has no mark, since nobody knows which of them it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec

from monitor.config.core_plan import may_carry
from monitor.config.settings import Settings
from monitor.config.sources import Source, named_sources
from monitor.core.model import Reading
from monitor.core.pairing.identities import digest
from monitor.core.pairing.series_rules import PairUncertainty, Rules
from monitor.decode.checks import Rejected
from monitor.decode.spec import SeriesSpec
from monitor.decode.uncertainty import formula

if TYPE_CHECKING:
    from monitor.core.state.core_settings import CoreSettings

MARKS: Final = 3
"""Of the pairing, of what is read as a reading, of what is read as a reference."""
_WORD: Final = 0xFFFF_FFFF

MarksOf = Callable[[str, str], tuple[int, int, int]]


def marks_of(settings: Settings, plan: CoreSettings) -> MarksOf:
    """Return a function from (sensor, quantity) to marks of 32 bits; 0 where it is not known."""

    @lru_cache(maxsize=1024)
    def of_sources(quantity: str) -> tuple[int, int, tuple[str, ...]]:
        readings, references = (
            {_mark(each) for each in _reads(settings, kind, quantity)}
            for kind in ("reading", "reference")
        )
        return _only(readings), _only(references), _formulas(settings, quantity)

    matched = sorted(plan.match_on)

    def marks(sensor: str, quantity: str) -> tuple[int, int, int]:
        readings, references, formulas = of_sources(quantity)
        pairing = plan.rules_of(sensor, quantity).pairing
        rules = _stated(pairing), _stated(pairing.uncertainty)
        return _mark((rules, matched, plan.concerns_of(sensor), formulas)), readings, references

    return marks


def assumed_anew(settings: Settings) -> Callable[[Reading], Reading]:
    """Return what gives a reading whose u the settings assume the u that they assume now.

    It stays as it is where several formulas may be meant, or none.
    """

    @lru_cache(maxsize=1024)
    def formula_of(quantity: str) -> Callable[[float], float] | None:
        formulas = _formulas(settings, quantity)
        return formula(formulas[0], ()) if len(formulas) == 1 else None

    def assume(reading: Reading) -> Reading:
        u_of = formula_of(reading.quantity)
        if u_of is None:
            return reading
        try:
            return msgspec.structs.replace(reading, u=u_of(reading.value))
        except Rejected:
            return reading

    return assume


def _formulas(settings: Settings, quantity: str) -> tuple[str, ...]:
    """Return the formulas of u of the sources that may carry readings of ``quantity``."""
    series = (
        each
        for source in settings.sources
        if source.kind == "reading" and source.map is not None
        for each in source.map.series
        if each.assumed and may_carry(source, each.quantity, quantity)
    )
    return tuple(sorted({each.assumed for each in series}))


def _reads(settings: Settings, kind: str, quantity: str) -> Iterator[tuple[Any, ...]]:
    """Yield how each source that may carry a quantity makes numbers of its payloads."""
    for source in named_sources(settings.sources, kind):
        yield from _numbers(source, quantity)


def _numbers(source: Source, quantity: str) -> Iterator[tuple[Any, ...]]:
    own = source.decoder, source.unit
    if source.map is None:
        if may_carry(source, "", quantity):
            yield own
        return
    times = source.map.time_zone, source.map.duration_seconds, source.map.stamp
    for each in source.map.series:
        if may_carry(source, each.quantity, quantity):
            yield (*own, *times, _stated(each._replace(quantity="", assumed="", error_values=())))


def _stated(settings: Rules | PairUncertainty | SeriesSpec) -> list[tuple[str, object]]:
    """Return what differs from its default, so that a new setting alone changes no mark."""
    usual = settings._field_defaults
    named = settings._asdict().items()
    return [
        (name, value) for name, value in named if value != usual[name] and name != "uncertainty"
    ]


def _mark(settings: object) -> int:
    return digest(settings) & _WORD or 1


def _only(marks: set[int]) -> int:
    return marks.pop() if len(marks) == 1 else 0
