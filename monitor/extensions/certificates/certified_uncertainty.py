"""The standard uncertainty that a reference gets from its certificate.

Rules of this file: the largest u of all points of one quantity, because a reference is used between
them too; so none of them may be one that cannot be read. The user may have to name the quantity; it
is never guessed among several.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from monitor.decode.checks import Rejected
from monitor.decode.units import conversion
from monitor.extensions.certificates.certified_values import CertifiedValue
from monitor.extensions.certificates.dcc import Certificate

# Names of the result of a calibration in DCC's good practice, in the order of search.
_RESULTS: Final = ("basic_measurementError", "basic_correction", "basic_measuredValue")


class CertifiedUncertainty(NamedTuple):
    """Standard uncertainty ``u`` in ``unit``, of the quantity ``name``, divided by ``k``."""

    u: float
    unit: str
    k: float
    name: str


class NoUncertaintyError(ValueError):
    """A certificate does not give the requested u; the message says what to do."""


class UnclearQuantityError(NoUncertaintyError):
    """It would if one of its quantities was named."""


def certified_uncertainty(
    certificate: Certificate, quantity: str = "", unit: str = ""
) -> CertifiedUncertainty:
    """Return the largest u of a quantity, in ``unit`` (its own if empty).

    ``quantity`` is a name or a type (refType) in the certificate; empty if there is only one.
    Raises NoUncertaintyError.
    """
    with_u = [each for each in certificate.values if each.u > 0.0]
    if not with_u:
        why = f"; {certificate.mistakes[0]}" if certificate.mistakes else ""
        raise NoUncertaintyError(
            f"states no uncertainty above 0; ask the laboratory for U and k of its results{why}"
        )
    _check_whole(certificate, quantity)
    meant = _meant(with_u, quantity)
    for each in meant:
        _check_whole(certificate, each.quantity)
    wanted = unit or meant[0].unit
    try:
        converted = [(each.u * abs(conversion(each.unit, wanted).scale), each) for each in meant]
    except Rejected as error:
        raise NoUncertaintyError(f"{meant[0].name or quantity}: {error.detail}") from error
    u, widest = max(converted, key=lambda each: each[0])
    return CertifiedUncertainty(u, wanted, widest.k, widest.quantity)


def _check_whole(certificate: Certificate, quantity: str) -> None:
    if quantity in certificate.left_out:
        raise NoUncertaintyError(
            f"{certificate.left_out[quantity]}; this value of {quantity!r} may have the largest "
            "uncertainty, so ask the laboratory for a file that can be read"
        )


def _meant(with_u: list[CertifiedValue], quantity: str) -> list[CertifiedValue]:
    if quantity:
        matched = [each for each in with_u if quantity in (each.name, *each.ref_types)]
        if not matched:
            raise UnclearQuantityError(
                f"has no quantity {quantity!r} with an uncertainty; it has {_names(with_u)}"
            )
        return matched
    if len({each.quantity for each in with_u}) == 1:
        return with_u
    for kind in _RESULTS:
        matched = [each for each in with_u if kind in each.ref_types]
        if len({each.quantity for each in matched}) == 1:
            return matched
    raise UnclearQuantityError(f"has several quantities: {_names(with_u)}; choose one")


def _names(values: list[CertifiedValue]) -> str:
    return ", ".join(repr(each) for each in dict.fromkeys(each.quantity for each in values))


def factor_text(k: float) -> str:
    """Return the words on a coverage factor."""
    return "k not stated" if math.isnan(k) else f"k = {k:g}"
