"""The results of a certificate: real numbers with their units and standard uncertainties.

Rules of this file: both D-SI 1.x (``expandedUnc``) and 2.x (``expandedMU``) are read. A quantity
that cannot be used is left out and reported with its line, never guessed. Only results count:
influence conditions (the air, the state before an adjustment) and metadata (limits, nominal values)
do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeVar

from monitor.core.model import NAN
from monitor.extensions.certificates.dsi_units import DsiUnitError, unit_of_dsi
from monitor.extensions.certificates.safe_xml import XmlElement

Entry = TypeVar("Entry")

_VALUES_MAX: Final = 10_000
_MISTAKES_MAX: Final = 20
_LIST: Final = "XMLList"
# Where a standard or expanded uncertainty is found beside a value, and its name there.
_UNCERTAINTIES: Final = (
    (("measurementUncertaintyUnivariate", "expandedMU"), "valueExpandedMU", True),
    (("expandedUnc",), "uncertainty", True),
    (("measurementUncertaintyUnivariate", "standardMU"), "valueStandardMU", False),
    (("measurementUncertaintyUnivariate", "coverageIntervalMU"), "valueStandardMU", False),
    (("coverageInterval",), "standardUnc", False),
)
_NO_NUMBERS: Final = frozenset(("noQuantity", "charsXMLList"))
_BESIDE: Final = frozenset(
    (
        *("name", "description", "relativeUncertainty", "usedMethods", "usedSoftware"),
        *("measuringEquipments", "influenceConditions", "measurementMetaData"),
    )
)


class CertifiedValue(NamedTuple):
    """One value of a certificate with its standard uncertainty.

    ``u`` = U/``k`` is in ``unit``, that of the value; ``u``, ``k`` and ``p`` are NaN if none is
    stated. ``ref_types`` are its types in DCC's vocabulary, such as basic_measurementError.
    """

    name: str
    ref_types: tuple[str, ...]
    value: float
    unit: str
    u: float
    k: float
    p: float
    line: int

    @property
    def quantity(self) -> str:
        """Its name, else its types, else its unit."""
        return _called(self.name, self.ref_types) or self.unit


class FileMistakes:
    """State: the mistakes, with their places in the file.

    ``left_out`` has the first mistake of each quantity of which a value was left out, by its name.
    """

    def __init__(self, file: str) -> None:
        self.file: Final = file
        self.found: Final[list[str]] = []
        self.left_out: Final[dict[str, str]] = {}

    def add(self, line: int, reason: str) -> None:
        """Note one mistake; those after the first twenty are not kept."""
        if len(self.found) < _MISTAKES_MAX:
            self.found.append(f"{self.file}:{line}: {reason}")

    def leave_out(self, line: int, quantity: str, reason: str) -> None:
        """Note that a value of a quantity is left out."""
        self.add(line, f"{quantity or 'a quantity'}: {reason}; it is left out")
        self.left_out.setdefault(quantity, f"{self.file}:{line}: {reason}")


def english(element: XmlElement | None) -> str:
    """Return a text in English if there is one, else in no language or the first."""
    if element is None:
        return ""
    by_language: dict[str, str] = {}
    for each in element.named("content"):
        by_language.setdefault(each.attributes.get("lang", ""), each.text)
    text = by_language.get("en") or by_language.get("") or next(iter(by_language.values()), "")
    return " ".join(text.split())[:200]


def values_of(root: XmlElement, wrong: FileMistakes) -> Iterator[CertifiedValue]:
    """Yield the values of all results, and note in ``wrong`` what could not be used."""
    count = 0
    for data in root.named("measurementResults", "measurementResult", "results", "result", "data"):
        for quantity in _quantities(data):
            for each in _of_quantity(quantity, wrong):
                count += 1
                if count > _VALUES_MAX:
                    reason = f"has more than {_VALUES_MAX} values; the rest is left out"
                    wrong.add(quantity.line, reason)
                    wrong.left_out.setdefault(each.quantity, f"{wrong.file}: {reason}")
                    return
                yield each


def _quantities(data: XmlElement) -> Iterator[XmlElement]:
    for child in data.children:
        if child.name == "quantity":
            yield child
        elif child.name == "list":
            yield from _quantities(child)


def _of_quantity(quantity: XmlElement, wrong: FileMistakes) -> Iterator[CertifiedValue]:
    name = english(quantity.first("name"))
    types = tuple(quantity.attributes.get("refType", "").split())
    for number in _numbers(quantity):
        if number.name in _NO_NUMBERS:
            continue
        try:
            yield from _rows(number, quantity, (name, types))
        except _WrongValueError as error:
            wrong.leave_out(error.line, _called(name, types), str(error))


def _called(name: str, types: Sequence[str]) -> str:
    return name or " ".join(types)


class _WrongValueError(ValueError):
    """A quantity cannot be used."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line: Final = line


def _numbers(quantity: XmlElement) -> list[XmlElement]:
    """Return the elements that hold its numbers; for a hybrid, the first that states u.

    The parts of a hybrid are the same quantity in several units.
    """
    numbers = [each for each in quantity.children if each.name not in _BESIDE]
    if len(numbers) == 1 and numbers[0].name == "hybrid":
        parts = numbers[0].children
        return [next((each for each in parts if _uncertainty(each)), parts[0])] if parts else []
    if len(numbers) == 1 and numbers[0].name == "list":
        return list(numbers[0].named("real"))
    return numbers


def _rows(
    number: XmlElement, quantity: XmlElement, named: tuple[str, tuple[str, ...]]
) -> list[CertifiedValue]:
    if number.name not in ("real", "constant", f"real{_LIST}", f"realList{_LIST}"):
        reason = f"numbers of the kind {number.name[:40]!r} are not read, only real ones"
        raise _WrongValueError(number.line, reason)
    tail = _LIST if number.name.endswith(_LIST) else ""
    values = _floats(number, f"value{tail}")
    units = _texts(number, f"unit{tail}")
    try:
        read = [unit_of_dsi(each) for each in units]
    except DsiUnitError as error:
        place = number.first(f"unit{tail}") or number
        raise _WrongValueError(place.line, f"unit {error}") from error
    u, k, p = _stated(number, quantity, tail)
    wide = len(values)
    u, k, p = (_spread(each, wide, number, "uncertainty") for each in (u, k, p))
    rows = zip(values, _spread(read, wide, number, "unit"), u, k, p, strict=True)
    name, types = named
    return [CertifiedValue(name, types, *row, number.line) for row in rows]


def _uncertainty(number: XmlElement) -> tuple[XmlElement, str, bool] | None:
    """Return the element of the uncertainty, the name of its value, and whether it is expanded."""
    tail = _LIST if number.name.endswith(_LIST) else ""
    for path, value, is_expanded in _UNCERTAINTIES:
        element = number.first(*(f"{each}{tail}" for each in path))
        if element is not None:
            return element, value, is_expanded
    return None


def _stated(
    number: XmlElement, quantity: XmlElement, tail: str
) -> tuple[list[float], list[float], list[float]]:
    """Return u, k and p, each one number or one per value; NaN if none is stated."""
    uncertainty = _uncertainty(number)
    if uncertainty is None:
        relative = quantity.first("relativeUncertainty")
        if relative is not None:
            reason = "states its uncertainty as a relative one only, which is not read"
            raise _WrongValueError(relative.line, reason)
        return [NAN], [NAN], [NAN]
    element, value, is_expanded = uncertainty
    size = _floats(element, f"{value}{tail}")
    p = _floats(element, f"coverageProbability{tail}", optional=True)
    if not is_expanded:
        k = [NAN]
        u = size
    else:
        k = _floats(element, f"coverageFactor{tail}")
        wide = max(len(size), len(k))
        sizes, factors = (_spread(each, wide, element, "coverage factor") for each in (size, k))
        if min(k) <= 0.0:
            raise _WrongValueError(element.line, f"its coverage factor {min(k):g} is not above 0")
        u = [size / factor for size, factor in zip(sizes, factors, strict=True)]
    if min(u) < 0.0:
        raise _WrongValueError(element.line, f"its uncertainty {min(u):g} is below 0")
    if any(not 0.0 < each < 1.0 for each in p if not math.isnan(each)):
        reason = f"its coverage probability {max(p):g} is not between 0 and 1"
        raise _WrongValueError(element.line, reason)
    return u, k, p


def _texts(element: XmlElement, name: str) -> list[str]:
    child = element.first(name)
    if child is None:
        raise _WrongValueError(element.line, f"has no {name}")
    texts = child.text.split()
    if len(texts) > _VALUES_MAX:
        raise _WrongValueError(child.line, f"has more than {_VALUES_MAX} entries in {name}")
    return texts or [""]


def _floats(element: XmlElement, name: str, *, optional: bool = False) -> list[float]:
    if optional and element.first(name) is None:
        return [NAN]
    place = element.first(name) or element
    numbers = []
    for text in _texts(element, name):
        try:
            number = float(text)
        except ValueError:
            number = NAN
        if not (math.isfinite(number) and text.isascii()) or "_" in text:
            raise _WrongValueError(place.line, f"{name} {text[:40]!r} is not a finite number")
        numbers.append(number)
    return numbers


def _spread(column: list[Entry], wide: int, place: XmlElement, name: str) -> list[Entry]:
    """Return one entry per value: the entries themselves, or the only one for all."""
    if len(column) == 1:
        return column * wide
    if len(column) != wide:
        raise _WrongValueError(place.line, f"has {wide} values, and {len(column)} of {name}")
    return column
