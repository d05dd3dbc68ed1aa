"""A digital calibration certificate (DCC, schema 3.x of PTB) as plain values.

Rules of this file: bytes in, values out; no file, clock or network. What cannot be used is told
with its line and what to do, never guessed: a certificate that is none raises CertificateError, a
quantity in it that cannot be used is left out and stands in ``mistakes``. Elements are known by
their local names; both D-SI 1.x (``expandedUnc``) and 2.x (``expandedMU``) are read. Only results
are values of the certificate: influence conditions (the air, the state before an adjustment) and
metadata (limits, nominal values) are not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date
from typing import Final, NamedTuple, TypeVar

from monitor.certificates.dsi_units import DsiUnitError, unit_of_dsi
from monitor.certificates.safe_xml import XmlElement, XmlError, read_xml
from monitor.certificates.validity import ValidityError, parse_duration
from monitor.core.model import NAN
from monitor.errors import BAD_INPUT, MonitorError

Entry = TypeVar("Entry")

DCC: Final = "https://ptb.de/dcc"
SIGNATURES: Final = "http://www.w3.org/2000/09/xmldsig#"
RECALIBRATION: Final = "basic_recalibration"
_VERSION: Final = re.compile(r"3\.\d{1,3}(\.\d{1,3})?([-.]?[A-Za-z0-9.]{1,20})?")
_DATE: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(Z|[+-]\d{2}:\d{2})?")
_VALUES_MAX: Final = 10_000
_MISTAKES_MAX: Final = 20
_LIST: Final = "XMLList"
# Where a standard uncertainty or an expanded one stands beside a value, and its own name there.
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


class CertificateError(MonitorError):
    """A file is no calibration certificate that can be used; the message says where and why."""

    exit_code = BAD_INPUT


class CertifiedValue(NamedTuple):
    """One value of a certificate with its standard uncertainty.

    ``u`` = U/``k`` is in ``unit``, that of the value; ``u``, ``k`` and ``p`` are NaN where none is
    stated. ``ref_types`` are what DCC's vocabulary calls it, such as basic_measurementError.
    """

    name: str
    ref_types: tuple[str, ...]
    value: float
    unit: str
    u: float
    k: float
    p: float
    line: int


class Certificate(NamedTuple):
    """What a certificate says, and the ``mistakes`` in it as sentences with their lines.

    ``performed`` is the last day of the calibration, ``recalibration`` the day until which the
    certificate itself says that the item be calibrated again, None if it says nothing.
    ``signature`` tells of an XML signature: "" for none, else by whom.
    """

    identifier: str
    version: str
    laboratory: str
    items: tuple[str, ...]
    performed: date
    recalibration: date | None
    values: tuple[CertifiedValue, ...]
    signature: str
    mistakes: tuple[str, ...]


class _Mistakes:
    """State: what is wrong, with its place in the file."""

    def __init__(self, file: str) -> None:
        self.file: Final = file
        self.found: Final[list[str]] = []

    def add(self, line: int, what: str) -> None:
        if len(self.found) < _MISTAKES_MAX:
            self.found.append(f"{self.file}:{line}: {what}")


def read_certificate(data: bytes, file: str) -> Certificate:
    """Return the certificate in ``data``, the content of ``file``; raises CertificateError."""
    try:
        root = read_xml(data)
    except XmlError as error:
        place = f"{file}:{error.line}" if error.line else file
        raise CertificateError(f"{place}: {error}") from error
    version = _version_of(root, file)
    core = root.first("administrativeData", "coreData")
    if core is None:
        raise CertificateError(f"{file}:{root.line}: has no coreData; ask for a complete file")
    identifier = core.text_of("uniqueIdentifier")
    if not identifier:
        raise CertificateError(
            f"{file}:{core.line}: has no uniqueIdentifier; a certificate without a number proves "
            "nothing"
        )
    performed = _date(core, "endPerformanceDate", file)
    wrong = _Mistakes(file)
    values = tuple(_values(root, wrong))
    if not values and not wrong.found:
        raise CertificateError(
            f"{file}: has no result that is a number with a unit (measurementResults); a "
            "certificate that holds a PDF or text only cannot be read"
        )
    administrative = root.first("administrativeData")
    return Certificate(
        identifier[:200],
        version,
        _words(root.first("administrativeData", "calibrationLaboratory", "contact", "name")),
        () if administrative is None else tuple(_items(administrative)),
        performed,
        _recalibration(root, performed, wrong),
        values,
        _signature(root, wrong),
        tuple(wrong.found),
    )


def _version_of(root: XmlElement, file: str) -> str:
    if (root.namespace, root.name) != (DCC, "digitalCalibrationCertificate"):
        raise CertificateError(
            f"{file}:{root.line}: is no digital calibration certificate (its root is "
            f"{root.name[:60]!r}, not digitalCalibrationCertificate of {DCC})"
        )
    version = root.attributes.get("schemaVersion", "")
    if _VERSION.fullmatch(version) is None:
        raise CertificateError(
            f"{file}:{root.line}: has schemaVersion {version[:20]!r}; versions 3.x are read, so "
            "ask the laboratory for one of those"
        )
    return version


def _date(core: XmlElement, name: str, file: str) -> date:
    found = core.first(name)
    if found is None:
        raise CertificateError(f"{file}:{core.line}: has no {name}; ask for a complete file")
    day = day_of(found.text)
    if day is None:
        raise CertificateError(
            f"{file}:{found.line}: {name} {found.text[:40]!r} is no date, such as 2026-03-01"
        )
    return day


def day_of(text: str) -> date | None:
    """Return the day that an xs:date names, None if it is none; its time zone counts for nothing.

    A day is taken as one in UTC.
    """
    found = _DATE.fullmatch(text.strip())
    try:
        return None if found is None else date.fromisoformat(found[1])
    except ValueError:
        return None


def _words(element: XmlElement | None) -> str:
    """Return a text in English if there is one, else in no or the first language."""
    if element is None:
        return ""
    by_language = {each.attributes.get("lang", ""): each.text for each in element.named("content")}
    found = by_language.get("en") or by_language.get("") or next(iter(by_language.values()), "")
    return " ".join(found.split())[:200]


def _items(administrative: XmlElement) -> Iterator[str]:
    for item in administrative.named("items", "item"):
        numbers = [
            each.text_of("value") for each in item.named("identifications", "identification")
        ]
        named = ", ".join(each for each in numbers if each)[:200]
        name = _words(item.first("name"))
        yield f"{name} ({named})" if name and named else name or named


def _recalibration(root: XmlElement, performed: date, wrong: _Mistakes) -> date | None:
    """Return the earliest day that a statement on recalibration names."""
    days: list[date] = []
    for each in root.named("administrativeData", "statements", "statement"):
        if RECALIBRATION not in each.attributes.get("refType", "").split():
            continue
        stated, period = each.first("date"), each.first("period")
        if stated is not None:
            day = day_of(stated.text)
            if day is None:
                what = f"date of recalibration {stated.text[:40]!r} is no date"
                wrong.add(stated.line, f"{what}; state --valid-until or --valid-for")
            else:
                days.append(day)
        elif period is not None:
            try:
                days.append(parse_duration(period.text).after(performed))
            except ValidityError as error:
                wrong.add(period.line, f"period until recalibration {error}")
    return min(days, default=None)


def _signature(root: XmlElement, wrong: _Mistakes) -> str:
    """Return by whom an XML signature says to be, "" if there is none."""
    found = [each for each in root.named("Signature") if each.namespace == SIGNATURES]
    for each in found:
        if not each.text_of("SignatureValue") or each.first("SignedInfo", "Reference") is None:
            wrong.add(
                each.line,
                "has a broken XML signature, without SignatureValue or Reference; ask the "
                "laboratory for the file as it was signed",
            )
    if not found:
        return ""
    subject = found[0].text_of("KeyInfo", "X509Data", "X509SubjectName")
    return " ".join(subject.split())[:200] or "an unnamed signer"


# -- values ---------------------------------------------------------------------------------------


def _values(root: XmlElement, wrong: _Mistakes) -> Iterator[CertifiedValue]:
    count = 0
    for data in root.named("measurementResults", "measurementResult", "results", "result", "data"):
        for quantity in _quantities(data):
            for each in _of_quantity(quantity, wrong):
                count += 1
                if count > _VALUES_MAX:
                    what = f"has more than {_VALUES_MAX} values; the rest is left out"
                    wrong.add(quantity.line, what)
                    return
                yield each


def _quantities(data: XmlElement) -> Iterator[XmlElement]:
    for child in data.children:
        if child.name == "quantity":
            yield child
        elif child.name == "list":
            yield from _quantities(child)


def _of_quantity(quantity: XmlElement, wrong: _Mistakes) -> Iterator[CertifiedValue]:
    name = _words(quantity.first("name"))
    types = tuple(quantity.attributes.get("refType", "").split())
    shown = name or " ".join(types) or "a quantity"
    for number in _numbers(quantity):
        if number.name in _NO_NUMBERS:
            continue
        try:
            yield from _rows(number, quantity, (name, types))
        except _WrongValueError as error:
            wrong.add(error.line, f"{shown}: {error}; it is left out")


class _WrongValueError(ValueError):
    """A quantity cannot be used."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line: Final = line


def _numbers(quantity: XmlElement) -> list[XmlElement]:
    """Return the elements that hold its numbers; of a hybrid one, the first that states u.

    The parts of a hybrid are the same quantity in several units.
    """
    found = [each for each in quantity.children if each.name not in _BESIDE]
    if len(found) == 1 and found[0].name == "hybrid":
        parts = found[0].children
        return [next((each for each in parts if _uncertainty(each)), parts[0])] if parts else []
    if len(found) == 1 and found[0].name == "list":
        return list(found[0].named("real"))
    return found


def _rows(
    number: XmlElement, quantity: XmlElement, named: tuple[str, tuple[str, ...]]
) -> list[CertifiedValue]:
    if number.name not in ("real", "constant", f"real{_LIST}", f"realList{_LIST}"):
        what = f"numbers of the kind {number.name[:40]!r} are not read, only real ones"
        raise _WrongValueError(number.line, what)
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
        found = number.first(*(f"{each}{tail}" for each in path))
        if found is not None:
            return found, value, is_expanded
    return None


def _stated(
    number: XmlElement, quantity: XmlElement, tail: str
) -> tuple[list[float], list[float], list[float]]:
    """Return u, k and p, each one number or one a value; NaN where none is stated."""
    found = _uncertainty(number)
    if found is None:
        relative = quantity.first("relativeUncertainty")
        if relative is not None:
            what = "states its uncertainty as a relative one only, which is not read"
            raise _WrongValueError(relative.line, what)
        return [NAN], [NAN], [NAN]
    element, value, is_expanded = found
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
        what = f"its coverage probability {max(p):g} is not between 0 and 1"
        raise _WrongValueError(element.line, what)
    return u, k, p


def _texts(element: XmlElement, name: str) -> list[str]:
    found = element.first(name)
    if found is None:
        raise _WrongValueError(element.line, f"has no {name}")
    return found.text.split() or [""]


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
        if not math.isfinite(number) or "_" in text:
            raise _WrongValueError(place.line, f"{name} {text[:40]!r} is not a finite number")
        numbers.append(number)
    return numbers


def _spread(column: list[Entry], wide: int, place: XmlElement, what: str) -> list[Entry]:
    """Return one entry a value: as they are, or the only one for all."""
    if len(column) == 1:
        return column * wide
    if len(column) != wide:
        raise _WrongValueError(place.line, f"has {wide} values, and {len(column)} of {what}")
    return column
