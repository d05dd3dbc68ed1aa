"""The content of a certificate, in sentences and as plain values: the same words everywhere.

Rules of this file: an end that has passed, or that is not stated, is a sentence with what to do;
:func:`shortcomings` has all reasons why a certificate cannot be used as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from monitor.core.formatting import finite
from monitor.extensions.certificates.certified_uncertainty import CertifiedUncertainty, factor_text
from monitor.extensions.certificates.certified_values import CertifiedValue
from monitor.extensions.certificates.dcc import Certificate
from monitor.extensions.certificates.validity import CERTIFICATE, SOON_DAYS, Validity


def certificate_text(
    certificate: Certificate, validity: Validity | None, now: float
) -> Iterator[str]:
    """Yield the content of a certificate, line by line; ``now`` is s since 1970 UTC."""
    by = f" by {certificate.laboratory}" if certificate.laboratory else ", of an unnamed laboratory"
    yield f"certificate {certificate.identifier}{by} (DCC {certificate.version})"
    yield from (f"of {each}" for each in certificate.items)
    yield f"calibrated on {certificate.performed}; {validity_sentence(validity, now)}"
    yield from (_value_line(each) for each in certificate.values)


def validity_sentence(validity: Validity | None, now: float) -> str:
    """Return until when a certificate is valid, or what to do."""
    if validity is None:
        return (
            "no end of validity is stated: give --valid-for 12mo or --valid-until DATE "
            "(valid_for, valid_until in the settings)"
        )
    left = validity.days_left(now)
    verb = "says" if validity.said_by == CERTIFICATE else "say"
    until = f"{validity.until}, as {validity.said_by} {verb}"
    if left <= 0.0:
        remedy = "have the reference calibrated, and use the new certificate"
        return f"was valid until {until}, and has expired: {remedy}"
    if left <= SOON_DAYS:
        return f"valid until {until}: {_days(left)} left, plan its calibration"
    return f"valid until {until}: {_days(left)} left"


def _days(days: float) -> str:
    whole = math.ceil(days)
    return "1 day" if whole == 1 else f"{whole} days"


def _value_line(value: CertifiedValue) -> str:
    types = f" [{' '.join(value.ref_types)}]" if value.ref_types else ""
    unit = "" if value.unit == "1" else f" {value.unit}"
    stated = f"  {value.name or 'a quantity'}{types}: {value.value:.10g}{unit}"
    if math.isnan(value.u):
        return f"{stated}, without an uncertainty"
    if math.isnan(value.k):
        return f"{stated}, u = {value.u:.4g}{unit}"
    p = "" if math.isnan(value.p) else f", p = {value.p:g}"
    return (
        f"{stated}, u = {value.u:.4g}{unit} (U = {value.u * value.k:.4g}{unit}, k = {value.k:g}{p})"
    )


def shortcomings(
    certificate: Certificate, validity: Validity | None, now: float, file: str
) -> list[str]:
    """Return why a certificate cannot be used as it is, a sentence each with its place."""
    flaws = list(certificate.mistakes)
    if certificate.signature is not None and certificate.signature.is_broken:
        flaws.append(f"{file}: {certificate.signature.sentence}")
    if validity is None or validity.days_left(now) <= 0.0:
        flaws.append(f"{file}: {validity_sentence(validity, now)}")
    return flaws


def signature_sentence(certificate: Certificate) -> str:
    """Return a sentence on the signature within a certificate."""
    signature = certificate.signature
    return "it has no XML signature" if signature is None else signature.sentence


def settings_lines(uncertainty: CertifiedUncertainty, certificate: Certificate) -> list[str]:
    """Return the settings for the reference of a certificate.

    The calibration error is the same in every reference, so that all of u is systematic.
    """
    unit = (
        ""
        if uncertainty.unit == "1"
        else f", unit: {json.dumps(uncertainty.unit, ensure_ascii=False)}"
    )
    return [
        f"# certificate {certificate.identifier}, {factor_text(uncertainty.k)}: {uncertainty.name}",
        "# of the reference's source: what its messages do not state themselves",
        f"map: {{series: [{{value: value, u: {uncertainty.u:.6g}{unit}}}]}}",
        "# of these series (overrides): what every reference is wrong by alike",
        f"scoring: {{u_systematic: {{reference_value: {uncertainty.u:.6g}}}}}",
    ]


def certificate_document(certificate: Certificate, validity: Validity | None) -> dict[str, Any]:
    """Return a certificate as plain values for JSON; what is not stated is null."""
    return {
        "version": 1,
        "identifier": certificate.identifier,
        "schema_version": certificate.version,
        "laboratory": certificate.laboratory,
        "items": list(certificate.items),
        "performed": certificate.performed.isoformat(),
        "valid_until": None if validity is None else validity.until.isoformat(),
        "valid_until_said_by": None if validity is None else validity.said_by,
        "signature": None if certificate.signature is None else certificate.signature._asdict(),
        "values": [
            {
                "name": each.name,
                "types": list(each.ref_types),
                "value": finite(each.value),
                "unit": each.unit,
                "u": finite(each.u),
                "k": finite(each.k),
                "p": finite(each.p),
                "line": each.line,
            }
            for each in certificate.values
        ],
        "mistakes": list(certificate.mistakes),
    }
