"""The certificates of references that the settings name: their content and their consequences.

Rules of this file: a certificate that cannot be read, whose end is not stated anywhere, or that
gives no u in the unit of its source is a mistake in the settings. An expired one is not, because
the daemon must start: a metric, an alert and a notice report it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from monitor.config.mistakes import Mistake, SettingsError
from monitor.config.settings import Settings
from monitor.daemon.listeners import Listener, ListenerContext
from monitor.decode.supplement import Supplement
from monitor.extensions.certificates.certificate_text import validity_sentence
from monitor.extensions.certificates.certified_uncertainty import (
    NoUncertaintyError,
    UnclearQuantityError,
    certified_uncertainty,
)
from monitor.extensions.certificates.dcc import CertificateError, read_certificate
from monitor.extensions.certificates.safe_xml import BYTES_MAX
from monitor.extensions.certificates.settings import ReferenceCertificate, named_certificate
from monitor.extensions.certificates.validity import (
    OWNER,
    SOON_DAYS,
    Validity,
    ValidityError,
    validity_of,
)
from monitor.http.text_format import Family, by, gauges

_KEY: Final = "certificate"


class CertifiedSource(NamedTuple):
    """A source of references with a certificate: ``u`` is in the unit of the source."""

    topic: str
    identifier: str
    validity: Validity
    u: float


def certified_sources(settings: Settings) -> dict[int, CertifiedSource]:
    """Return what the certificates state for the sources that name one, by source number.

    Raises SettingsError with every mistake, at the place in the certificate where there is one.
    """
    sources: dict[int, CertifiedSource] = {}
    mistakes: list[Mistake] = []
    for at, source in enumerate(settings.sources):
        named = named_certificate(source)
        if named is None:
            continue
        try:
            sources[at] = _certified(source.topic, source.unit, named)
        except ValueError as error:
            path = f"sources[{at}].{_KEY}"
            mistakes.append(Mistake(named.path, 1, 1, path, str(error)))
    if mistakes:
        raise SettingsError(mistakes)
    return sources


def _certified(topic: str, unit: str, asked: ReferenceCertificate) -> CertifiedSource:
    """Return what a certificate states; raises ValueError with what to do."""
    try:
        with Path(asked.path).open("rb") as stream:
            data = stream.read(BYTES_MAX + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror or error}") from error
    try:
        certificate = read_certificate(data, asked.path)
        u = certified_uncertainty(certificate, asked.result, unit).u
        validity = validity_of(
            certificate.performed,
            certificate.recalibration,
            valid_for=asked.valid_for,
            valid_until=asked.valid_until,
        )
    except CertificateError as error:
        raise ValueError(str(error)) from error
    except NoUncertaintyError as error:
        hint = " (result)" if isinstance(error, UnclearQuantityError) else ""
        raise ValueError(f"{error}{hint}") from error
    except ValidityError as error:
        raise ValueError(f"valid_for {error}") from error
    if certificate.signature is not None and certificate.signature.is_broken:
        raise ValueError(certificate.signature.sentence)
    if validity is None:
        raise ValueError("states no end of validity; add valid_for or valid_until")
    if validity.said_by == OWNER:
        validity = validity._replace(said_by="the settings")
    return CertifiedSource(topic, certificate.identifier, validity, u)


def certificate_notices(certified: Sequence[CertifiedSource], now: float) -> Iterator[str]:
    """Yield a sentence for each certificate that has expired or will soon; ``now`` is s UTC."""
    for each in certified:
        if each.validity.days_left(now) <= SOON_DAYS:
            sentence = validity_sentence(each.validity, now)
            yield f"certificate {each.identifier} of the references on {each.topic}: {sentence}"


def supplement(settings: Settings) -> Supplement:
    """Return the u of references that state none; raises SettingsError."""
    return Supplement(default_u={at: each.u for at, each in certified_sources(settings).items()})


class Certificates(Listener):
    """Says when certificates of references end."""

    def __init__(self, certified: Sequence[CertifiedSource]) -> None:
        self._certified: Final = certified

    def notices(self, now: float) -> Iterator[str]:
        """Yield a sentence for each certificate that has expired or will soon."""
        return certificate_notices(self._certified, now)

    def families(self) -> Iterator[Family]:
        """Yield when the certificates expire."""
        return families({each.identifier: each.validity.expiry for each in self._certified})


def families(expiry: Mapping[str, float]) -> Iterator[Family]:
    """Yield the metric of certificates: when each expires, s since 1970 UTC, by its number."""
    yield gauges(
        "certificate_expiry_timestamp_seconds",
        "When the calibration of references expires, by the number of their certificate.",
        ("certificate",),
        by(expiry),
    )


EVERY_FAMILY: Final = tuple(families({"": 0.0}))


def certificates_listener(context: ListenerContext) -> Certificates:
    """Return the listener."""
    return Certificates([*certified_sources(context.settings).values()])


def remarks(settings: Settings) -> Iterator[str]:
    """Yield what check-config says: the certificates that have expired or will soon."""
    return certificate_notices([*certified_sources(settings).values()], time.time())
