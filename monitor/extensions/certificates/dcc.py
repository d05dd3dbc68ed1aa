"""A digital calibration certificate (DCC, schema 3.x of PTB) as plain values.

Rules of this file: bytes in, values out; no file, clock or network. What cannot be used is reported
with its line and what to do, never guessed: a file that is not a certificate raises
CertificateError, an unusable quantity in it is left out and listed in ``mistakes``. Elements are
identified by their local names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Final, NamedTuple

from monitor.errors import BAD_INPUT, MonitorError
from monitor.extensions.certificates.certified_values import (
    CertifiedValue,
    FileMistakes,
    english,
    values_of,
)
from monitor.extensions.certificates.safe_xml import XmlElement, XmlError, read_xml
from monitor.extensions.certificates.validity import ValidityError, parse_duration
from monitor.extensions.certificates.xml_signatures import XmlSignature, xml_signature_of

DCC: Final = "https://ptb.de/dcc"
RECALIBRATION: Final = "basic_recalibration"
_VERSION: Final = re.compile(r"3\.\d{1,3}(\.\d{1,3})?([-.]?[A-Za-z0-9.]{1,20})?")
_DATE: Final = re.compile(r"(\d{4}-\d{2}-\d{2})(Z|[+-]\d{2}:\d{2})?")


class CertificateError(MonitorError):
    """A file is not a usable calibration certificate; the message says where and why."""

    exit_code = BAD_INPUT


class Certificate(NamedTuple):
    """The content of a certificate, and the ``mistakes`` in it as sentences with their lines.

    ``performed`` is the last day of the calibration, ``recalibration`` the day until which, by the
    certificate itself, the item must be calibrated again, None if it says nothing. ``signature`` is
    what is known of its XML signature, None if it has none. ``left_out`` has the first mistake of
    each quantity of which a value could not be read, by its name.
    """

    identifier: str
    version: str
    laboratory: str
    items: tuple[str, ...]
    performed: date
    recalibration: date | None
    values: tuple[CertifiedValue, ...]
    signature: XmlSignature | None
    mistakes: tuple[str, ...]
    left_out: Mapping[str, str]


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
    wrong = FileMistakes(file)
    values = tuple(values_of(root, wrong))
    if not values and not wrong.found:
        raise CertificateError(
            f"{file}: has no result that is a number with a unit (measurementResults); a "
            "certificate that holds a PDF or text only cannot be read"
        )
    administrative = root.first("administrativeData")
    return Certificate(
        identifier[:200],
        version,
        english(root.first("administrativeData", "calibrationLaboratory", "contact", "name")),
        () if administrative is None else tuple(_items(administrative)),
        performed,
        _recalibration(root, performed, wrong),
        values,
        xml_signature_of(data),
        tuple(wrong.found),
        wrong.left_out,
    )


def _version_of(root: XmlElement, file: str) -> str:
    if (root.namespace, root.name) != (DCC, "digitalCalibrationCertificate"):
        raise CertificateError(
            f"{file}:{root.line}: is not a digital calibration certificate (its root is "
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
    element = core.first(name)
    if element is None:
        raise CertificateError(f"{file}:{core.line}: has no {name}; ask for a complete file")
    day = day_of(element.text)
    if day is None:
        raise CertificateError(
            f"{file}:{element.line}: {name} {element.text[:40]!r} is not a date, such as 2026-03-01"
        )
    return day


def day_of(text: str) -> date | None:
    """Return the day that an xs:date names, None for any other text; its time zone is ignored.

    The day is taken as one in UTC.
    """
    matched = _DATE.fullmatch(text.strip())
    try:
        return None if matched is None else date.fromisoformat(matched[1])
    except ValueError:
        return None


def _items(administrative: XmlElement) -> Iterator[str]:
    for item in administrative.named("items", "item"):
        numbers = [
            each.text_of("value") for each in item.named("identifications", "identification")
        ]
        named = ", ".join(each for each in numbers if each)[:200]
        name = english(item.first("name"))
        yield f"{name} ({named})" if name and named else name or named


def _recalibration(root: XmlElement, performed: date, wrong: FileMistakes) -> date | None:
    """Return the earliest day that a statement on recalibration names."""
    days: list[date] = []
    for each in root.named("administrativeData", "statements", "statement"):
        if RECALIBRATION not in each.attributes.get("refType", "").split():
            continue
        stated, period = each.first("date"), each.first("period")
        if stated is not None:
            day = day_of(stated.text)
            if day is None:
                reason = f"date of recalibration {stated.text[:40]!r} is not a date"
                wrong.add(stated.line, f"{reason}; state --valid-until or --valid-for")
            else:
                days.append(day)
        elif period is not None:
            try:
                days.append(parse_duration(period.text).after(performed))
            except ValidityError as error:
                wrong.add(period.line, f"period until recalibration {error}")
    return min(days, default=None)
