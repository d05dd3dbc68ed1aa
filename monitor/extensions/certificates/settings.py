"""The key ``sources[].certificate``: the calibration certificate of references."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import AfterValidator, Field

from monitor.config.kinds import Section, setting
from monitor.config.sources import Source
from monitor.core.setting import Contradiction, File
from monitor.extensions.certificates.validity import ValidityError, parse_day, parse_period


def _valid_for(text: str) -> str:
    try:
        parse_period(text)
    except ValidityError as error:
        raise ValueError("is not a length of time; write 12mo, 1y, 26w or 90d") from error
    return text


def _valid_until(text: str) -> str:
    try:
        parse_day(text)
    except ValidityError as error:
        raise ValueError("is not a date; write one such as 2027-03-01") from error
    return text


class ReferenceCertificate(Section):
    """The calibration certificate of a reference (docs/certificates.md)."""

    path: File = Field(description="Digital calibration certificate (DCC 3.x, XML).")
    valid_for: Annotated[str, AfterValidator(_valid_for)] | None = setting(
        None, "How long it is valid, such as 12mo, 1y, 26w or 90d; null for what it says itself."
    )
    valid_until: Annotated[str, AfterValidator(_valid_until)] | None = setting(
        None, "Its last day, such as 2027-03-01, instead of valid_for."
    )
    result: Annotated[str, Field(max_length=200)] = setting(
        "", "Name or type (refType) of the result that is meant, if there are several."
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that only one setting gives the end of its validity."""
        if self.valid_for is not None and self.valid_until is not None:
            yield Contradiction(("valid_for",), "conflicts with valid_until; give one of the two")


class SourceWithCertificate(Source):
    """A source whose references may have a certificate."""

    certificate: ReferenceCertificate | None = setting(
        None,
        "Calibration certificate of these references: gives u to those that state none, and the "
        "date on which it expires (docs/certificates.md#in-the-settings).",
    )

    def contradictions(self) -> Iterator[Contradiction]:
        """Check that a certificate is of references whose unit and form are known."""
        if self.certificate is not None:
            yield from _of_certificate(self)
        yield from super().contradictions()


def named_certificate(source: Source) -> ReferenceCertificate | None:
    """Return the certificate that a source names, None if it names none."""
    named: ReferenceCertificate | None = getattr(source, "certificate", None)
    return named


def _of_certificate(source: Source) -> Iterator[Contradiction]:
    if source.kind != "reference":
        yield Contradiction(("certificate",), "is for references; this source has another kind")
    if not source.unit:
        reason = "is missing; a source with a certificate names the unit of its values"
        yield Contradiction(("unit",), reason)
    if source.map is None and source.decoder != "native":
        reason = f"needs the decoder native or a map, not {source.decoder} alone"
        yield Contradiction(("certificate",), reason)
