"""The key of an X.509 certificate, and signatures by its holder with XMLDSig's algorithms.

Rules of this file: it does not check whether a certificate is to be trusted or was valid. SHA-1 is
in no table: signatures with it can be forged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from monitor.certificates.signatures import SignatureError, crypto_library

if TYPE_CHECKING:
    from cryptography.x509 import Certificate as X509Certificate

_MORE: Final = "http://www.w3.org/2001/04/xmldsig-more#"
_MGF1: Final = "http://www.w3.org/2007/05/xmldsig-more#"
# By the name in XML signatures (RFC 6931, RFC 9231): method and hash.
_ALGORITHMS: Final[Mapping[str, tuple[str, str]]] = {
    **{f"{_MORE}rsa-sha{bits}": ("rsa", f"SHA{bits}") for bits in (256, 384, 512)},
    **{f"{_MORE}ecdsa-sha{bits}": ("ecdsa", f"SHA{bits}") for bits in (256, 384, 512)},
    **{f"{_MGF1}sha{bits}-rsa-MGF1": ("pss", f"SHA{bits}") for bits in (256, 384, 512)},
    "http://www.w3.org/2021/04/xmldsig-more#eddsa-ed25519": ("ed25519", "SHA512"),
}
_OWNER_CHARACTERS: Final = 300


class CertifiedKey:
    """The public key of a certificate; ``owner`` says whose it is and who issued it."""

    def __init__(self, certificate: X509Certificate) -> None:
        self._key: Final = certificate.public_key()
        subject, issuer = certificate.subject, certificate.issuer
        told = f"{subject.rfc4514_string()} (issued by {issuer.rfc4514_string()})"
        self.owner: Final = told[:_OWNER_CHARACTERS]

    def has_signed(self, algorithm: str, data: bytes, signature: bytes) -> bool | None:
        """Return whether its holder signed ``data``; None for an unknown algorithm."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra

        if algorithm not in _ALGORITHMS:
            return None
        try:
            return self._verified(*_ALGORITHMS[algorithm], data, signature)
        except (InvalidSignature, ValueError):
            return False

    def _verified(self, how: str, name: str, data: bytes, signature: bytes) -> bool:
        """Return False for a key of another kind; raises InvalidSignature, ValueError."""
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric import (  # noqa: PLC0415
            ec,
            ed25519,
            padding,
            rsa,
            utils,
        )

        by: Mapping[str, hashes.HashAlgorithm] = {
            "SHA256": hashes.SHA256(),
            "SHA384": hashes.SHA384(),
            "SHA512": hashes.SHA512(),
        }
        digest, key = by[name], self._key
        if how == "rsa" and isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, data, padding.PKCS1v15(), digest)
        elif how == "pss" and isinstance(key, rsa.RSAPublicKey):
            length = digest.digest_size
            key.verify(signature, data, padding.PSS(padding.MGF1(digest), length), digest)
        elif how == "ecdsa" and isinstance(key, ec.EllipticCurvePublicKey):
            half = len(signature) // 2
            r, s = (int.from_bytes(each, "big") for each in (signature[:half], signature[half:]))
            key.verify(utils.encode_dss_signature(r, s), data, ec.ECDSA(digest))
        elif how == "ed25519" and isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, data)
        else:
            return False
        return True


def certified_key(der: bytes) -> CertifiedKey:
    """Return the key of a certificate in DER; raises SignatureError."""
    crypto_library()
    from cryptography import x509  # noqa: PLC0415 - an extra
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415

    try:
        return CertifiedKey(x509.load_der_x509_certificate(der))
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SignatureError("the certificate of its key cannot be read") from error
